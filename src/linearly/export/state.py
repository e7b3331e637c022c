"""What of a fitted estimator goes into a model file, and how the estimator is made again from it.

Each estimator has its parameters and its state: the attributes that it needs to predict, to be summarised, merged and
taken apart. Both are fixed lists; a file can name nothing that is not on them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.algorithm.logistic.optimizers import History
from linearly.dataset.rows.array_checks import as_labels
from linearly.dataset.rows.block import default_names
from linearly.export.agreement import (
    agreed_folds,
    agreed_likelihood,
    agreed_solution,
    agreed_training,
    derived_again,
)
from linearly.export.arrays import Numbers
from linearly.export.codec import (
    Bool,
    Codec,
    Float,
    Integer,
    InvalidFile,
    Label,
    ListOf,
    Number,
    NumberOr,
    Optional,
    Record,
    Sizes,
    Text,
    fields_schema,
    keys,
)
from linearly.export.summaries import CLASS_GRAMS, COURSE, FOLDS, LEAST_SQUARES_SUMMARY, SOLUTION, Course
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.linear_regression import COVARIANCES, METHODS
from linearly.models.logistic_regression import COVARIANCES as LOGISTIC_COVARIANCES
from linearly.models.logistic_regression import SOLVERS
from linearly.models.online_perceptrons import INITS, WEIGHTINGS
from linearly.models.pocket_perceptron import INITS as POCKET_INITS
from linearly.models.registry import MODELS


class Absent(Optional):
    """An attribute that the estimator may lack; null in the file."""


class Later(Optional):
    """An attribute that came later: written where it is not None, and None in the files written before it."""


@dataclass(frozen=True)
class Proof:
    """What a certificate of separability said; the rows that prove it are not in the file."""

    verdict: str
    text: str

    def describe(self) -> str:
        """The verdict, its proof and its meaning in words."""
        return self.text


class _ProofCodec(Record):
    def encode(self, value: Any) -> Any:
        return super().encode(Proof(value.verdict, value.describe()))


class EstimatorCodec(NamedTuple):
    """An estimator's parameters and state, and what follows from the state."""

    parameters: Mapping[str, Codec]
    state: Mapping[str, Codec]
    derive: Callable[[Any, dict[str, Any], Sizes], None] = lambda estimator, state, sizes: None
    given: Callable[[Any], dict[str, Any]] = lambda estimator: {}  # parts of the state that are no attributes

    def later(self) -> tuple[str, ...]:
        """The parts of the state that a file may lack."""
        return tuple(name for name, codec in self.state.items() if isinstance(codec, Absent | Later))

    def schema(self) -> dict[str, Any]:
        """What is written of the state."""
        parts = {name: codec.schema() for name, codec in self.state.items()}
        return fields_schema(
            {n: part for n, part in parts.items() if n not in self.later()}, {n: parts[n] for n in self.later()}
        )


_STATE = "estimator.state"


# --- least squares --------------------------------------------------------------------------------


def _read_solution(estimator: Any, state: dict[str, Any], sizes: Sizes) -> None:
    solution = state["solution_"]
    if len(solution.inverse_root) not in (sizes["p"], sizes["p"] + 1):
        raise InvalidFile("the root of the covariance has not as many rows as the model has terms")
    if (solution.centering == "centred") != (solution.mean is not None):
        raise InvalidFile("a centred solution needs the means of the features, and no other has them")
    estimator._multi_output = False
    if "folds_" in state:
        estimator.summary_ = state["folds_"].total()
    if estimator.summary_.n != solution.n:
        raise InvalidFile(f"the solution is of {solution.n} rows, and the summary of {estimator.summary_.n}")
    descended = getattr(estimator, "method", "") == "gradient_descent"
    solution = agreed_solution(estimator.summary_, solution, f"{_STATE}.solution_", descended=descended)
    if solution.aliased and solution.null is None:  # a file written before the null space was
        ask = RidgeProblem(solution.alpha, solution.centering != "plain", solution.centering == "constant")
        estimator.solution_ = solution = replace(solution, null=ask.solve(estimator.summary_).null)
    LeastSquaresBase._set_from_summary(estimator, solution)
    if hasattr(estimator, "fold_errors_"):
        estimator._average_errors()
        agreed_folds(estimator, _STATE)


_LEAST_SQUARES: dict[str, Codec] = {
    "solution_": SOLUTION,
    "method_": Text(("gram", "extended", "qr")),
    "n_passes_": Integer(),
}
_LINEAR = EstimatorCodec(
    {
        "alpha": Number(0.0),
        "fit_intercept": Bool(),
        "penalize_intercept": Bool(),
        "covariance": Text(COVARIANCES),
        "method": Text(METHODS),
    },
    {
        "summary_": LEAST_SQUARES_SUMMARY,
        **_LEAST_SQUARES,
        "meat_": Absent(Numbers(("k", "rank", "rank"), finite=False)),
        "n_clusters_": Absent(Integer(2)),
    },
    _read_solution,
)
_RIDGE = EstimatorCodec(
    {
        "alphas": Optional(ListOf(Number(0.0))),
        "cv": NumberOr(Integer(2), Text(("loo",))),
        "fit_intercept": Bool(),
    },
    {
        "folds_": Absent(FOLDS),
        "summary_": Absent(LEAST_SQUARES_SUMMARY),
        **_LEAST_SQUARES,
        "alpha_": Float(least=0.0),
        "alphas_": Numbers(("alphas",)),
        "fold_errors_": Numbers(("alphas", "folds"), finite=False),
    },
    _read_solution,
    lambda estimator: {"summary_": None} if hasattr(estimator, "folds_") else {},
)


# --- classifiers that are read off a summary ------------------------------------------------------


def _read_indicator(estimator: Any, state: dict[str, Any], sizes: Sizes) -> None:
    solution = agreed_solution(estimator.summary_.indicator_gram(), state["solution_"], f"{_STATE}.solution_")
    estimator.solution_, estimator.multilabel_ = solution, False
    estimator.coef_, estimator.intercept_ = solution.coef.T.copy(), solution.intercept.copy()
    if sizes["K"] == 2:
        estimator.coef_, estimator.intercept_ = estimator.coef_[1:], estimator.intercept_[1:] - 0.5


_GAUSSIAN: dict[str, Codec] = {"priors": Optional(ListOf(Number(0.0))), "shrinkage": Optional(Number(0.0))}
_CLASS_GRAMS: dict[str, Codec] = {"summary_": CLASS_GRAMS, "n_passes_": Integer()}
_MEANS: dict[str, Codec] = {
    "priors_": Numbers(("K",), positive=True),
    "means_": Numbers(("K", "p")),
    "_center": Numbers(("p",)),
    "_constants": Numbers(("K",)),
}
_GAUSSIANS = ("priors_", "means_", "_center", "_constants", "shrinkage_")
_LDA = EstimatorCodec(
    _GAUSSIAN,
    {
        **_CLASS_GRAMS,
        **_MEANS,
        "covariance_": Numbers(("p", "p")),
        "shrinkage_": Float(least=0.0),
        "coef_": Numbers(("v", "p")),
        "intercept_": Numbers(("v",)),
        "scalings_": Numbers(("p", "directions")),
        "explained_variance_ratio_": Numbers(("directions",)),
        "_n_features_out": Integer(size="directions"),
        "_coefficients": Numbers(("p", "K")),
        "_common": Numbers(("p",)),
    },
    lambda estimator, state, sizes: derived_again(estimator, state, ("coef_", "intercept_", *_GAUSSIANS)),
)
_QDA = EstimatorCodec(
    _GAUSSIAN,
    {
        **_CLASS_GRAMS,
        **_MEANS,
        "covariances_": Numbers(("K", "p", "p")),
        "shrinkage_": Numbers(("K",)),
        "_roots": Numbers(("p", "roots")),
        "_moved": Numbers(("roots",)),
    },
    lambda estimator, state, sizes: derived_again(estimator, state, ("covariances_", *_GAUSSIANS)),
)
_INDICATOR = EstimatorCodec({"alpha": Number(0.0)}, {**_CLASS_GRAMS, "solution_": SOLUTION}, _read_indicator)


# --- logistic regression --------------------------------------------------------------------------


def _read_logits(estimator: Any, state: dict[str, Any], sizes: Sizes) -> None:
    K, p = sizes["K"], sizes["p"]
    reference = estimator._reference()
    columns = [k for k in range(K) if k != reference]
    estimator._coefficients, estimator._constants = np.zeros((p, K)), np.zeros(K)
    estimator._coefficients[:, columns] = estimator.coef_.T
    estimator._constants[columns] = estimator.intercept_
    estimator.reference_ = estimator.classes_[reference]
    estimator.multilabel_ = False
    terms = len(columns) * (p + int(estimator.fit_intercept))
    if estimator._root is not None and len(estimator._root) != terms:
        raise InvalidFile(f"the root of the covariance has {len(estimator._root)} rows, and the model {terms} terms")
    if estimator._unknown is not None:
        estimator._unknown = np.array(estimator._unknown)
        if len(estimator._unknown) != terms:
            raise InvalidFile(f"the model has {terms} terms, and {len(estimator._unknown)} are said to be known or not")
    elif estimator._root is not None and estimator.separation_ is None and not estimator._root.any(axis=1).all():
        estimator._unknown = ~estimator._root.any(axis=1)  # a file written before the null space was
    estimator._aliased = estimator._aliased or ()
    known = [part is None for part in (estimator._null, estimator._center)]
    if estimator._null is not None and len(estimator._null) * len(columns) != terms:
        raise InvalidFile("the direction that the rows do not determine has not as many entries as there are terms")
    if known[0] != known[1] or known[0] == bool(estimator._aliased):
        raise InvalidFile(
            "columns that are combinations of others need a direction and a center, and no others have them"
        )
    agreed_likelihood(estimator, _STATE)


_LOGISTIC = EstimatorCodec(
    {
        "alpha": Number(0.0),
        "bias_reduction": Optional(Text(("firth",))),
        "reference": Optional(Label()),
        "solver": Text(SOLVERS),
        "fit_intercept": Bool(),
        "covariance": Text(LOGISTIC_COVARIANCES),
    },
    {
        "coef_": Numbers(("logits", "p")),
        "intercept_": Numbers(("logits",)),
        "n_rows_": Integer(),
        "n_passes_": Integer(),
        "converged_": Bool(),
        "log_likelihood_": Float(),
        "null_log_likelihood_": Float(),
        "condition_": Float(finite=False),
        "digits_": Absent(Float(finite=False)),
        "separation_": Optional(_ProofCodec(Proof, {"verdict": Text(longest=40), "text": Text()})),
        "history_": Record(
            History,
            {
                "loss": Numbers(("passes",), finite=False),
                "gradient_norm": Numbers(("passes",), finite=False),
                "step": Numbers(("passes",), finite=False),
            },
        ),
        "_class_weights": Numbers(("K",)),
        "_root": Optional(Numbers(("logit_terms", "rank"), finite=False)),
        "_inner": Optional(Numbers(("rank", "rank"), finite=False)),
        "n_clusters_": Absent(Integer(2)),
        "_aliased": Later(ListOf(Integer())),
        "_null": Later(Numbers(("terms",))),
        "_center": Later(Numbers(("p",))),
        "_unknown": Later(ListOf(Bool(), size="logit_terms")),
    },
    _read_logits,
)


# --- perceptrons ----------------------------------------------------------------------------------


def _go_on(estimator: Any, state: dict[str, Any], sizes: Sizes) -> None:
    shuffle = check_random_state(estimator.random_state) if estimator.shuffle else None
    if (state["course"].log is not None) != estimator.is_its_log:
        raise InvalidFile("a voted perceptron is its mistake log, and no other has one in the file")
    estimator._training = state["course"].training(
        averaged=estimator.averaged, intercept=bool(estimator.fit_intercept), K=sizes["K"], shuffle=shuffle
    )
    estimator._set_fitted_attributes()
    agreed_training(estimator, _STATE)


def _listed_mistakes(estimator: Any, state: dict[str, Any], sizes: Sizes) -> None:
    agreed_training(estimator, _STATE)
    estimator.mistakes_per_pass_ = estimator.mistakes_per_pass_.tolist()


def _course(estimator: Any) -> dict[str, Any]:
    return {"course": Course.of(estimator._training, estimator.is_its_log)}


_RANDOM: dict[str, Codec] = {"shuffle": Bool(), "random_state": Optional(Integer())}
_TOLD: dict[str, Codec] = {"training_error_": Absent(Float(finite=False)), "stop_reason_": Text()}
_PASSES: dict[str, Codec] = {
    "max_passes": Integer(1),
    "tolerance": Integer(),
    "fit_intercept": Bool(),
    **_RANDOM,
}
_COUNTS: dict[str, Codec] = {
    "coef_": Numbers(("v", "p")),
    "intercept_": Numbers(("v",)),
    "n_passes_": Integer(),
    "n_updates_": Integer(),
    "mistakes_per_pass_": Numbers(("passes",), "i8"),
    **_TOLD,
}
_ONLINE: dict[str, Codec] = {"course": COURSE, **_TOLD}

KINDS: dict[str, EstimatorCodec] = {
    "LinearRegression": _LINEAR,
    "RidgeCV": _RIDGE,
    "LogisticRegression": _LOGISTIC,
    "LinearDiscriminantAnalysis": _LDA,
    "QuadraticDiscriminantAnalysis": _QDA,
    "LeastSquaresClassifier": _INDICATOR,
    "Perceptron": EstimatorCodec({**_PASSES, "init": Text(INITS)}, _ONLINE, _go_on, _course),
    "AveragedPerceptron": EstimatorCodec(_PASSES, _ONLINE, _go_on, _course),
    "VotedPerceptron": EstimatorCodec({**_PASSES, "weighting": Text(WEIGHTINGS)}, _ONLINE, _go_on, _course),
    "BatchPerceptron": EstimatorCodec(
        {"max_passes": Integer(1), "epsilon": Number(0.0), "fit_intercept": Bool()}, _COUNTS, _listed_mistakes
    ),
    "PocketPerceptron": EstimatorCodec(
        {"max_updates": Integer(1), "fit_intercept": Bool(), "init": Text(POCKET_INITS), **_RANDOM},
        {**_COUNTS, "best_update_": Integer(), "error_history_": Numbers(("updates",), "i8")},
        _listed_mistakes,
    ),
}


# --- from an estimator to plain JSON and back -----------------------------------------------------


def estimators_of(model: str) -> tuple[str, ...]:
    """The estimators that a model by this name may have: ridge with an alpha of its own is a linear model."""
    return (MODELS[model].name, MODELS["linear"].name) if model == "ridge" else (MODELS[model].name,)


def estimator_to_plain(estimator: Any) -> dict[str, Any]:
    """Name, parameters and state of a fitted estimator."""
    name = type(estimator).__name__
    if name not in KINDS:
        raise InvalidFile(f"a {name} is none of the estimators that a model file can hold")
    kind = KINDS[name]
    parameters = {n: _parameter(n, codec, getattr(estimator, n)) for n, codec in kind.parameters.items()}
    given = kind.given(estimator)
    state = {n: c.encode(given[n] if n in given else _attribute(estimator, n, c)) for n, c in kind.state.items()}
    state = {n: plain for n, plain in state.items() if not (plain is None and isinstance(kind.state[n], Later))}
    return {"name": name, "parameters": parameters, "state": state}


def estimator_from_plain(plain: Any, model: str, classes: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """The fitted estimator of `estimator_to_plain`, for a model with these classes and columns."""
    given = keys(plain, "estimator", ("name", "parameters", "state"))
    allowed = estimators_of(model)
    if given["name"] not in allowed:
        raise InvalidFile(f"estimator.name must be {' or '.join(allowed)} for model {model}")
    kind, sizes = KINDS[given["name"]], _sizes(len(names), len(classes))
    wanted = keys(given["parameters"], "estimator.parameters", tuple(kind.parameters))
    parameters = {n: c.decode(wanted[n], f"estimator.parameters.{n}", sizes) for n, c in kind.parameters.items()}
    estimator = _class(given["name"])(**{n: list(v) if isinstance(v, tuple) else v for n, v in parameters.items()})
    for check in ("_ask", "_check_parameters", "_check"):
        if hasattr(estimator, check):
            getattr(estimator, check)()
    estimator.n_features_in_ = len(names)
    if names != default_names(len(names)):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if classes:
        estimator.classes_ = as_labels(classes)
    required = tuple(name for name in kind.state if name not in kind.later())
    wanted = dict.fromkeys(kind.later()) | keys(given["state"], "estimator.state", required, kind.later())
    state: dict[str, Any] = {}
    for name, codec in kind.state.items():
        value = codec.decode(wanted[name], f"estimator.state.{name}", sizes)
        if value is None and isinstance(codec, Absent):
            continue
        state[name] = value
        if name.endswith("_") or name.startswith("_"):
            setattr(estimator, name, value)
    if (getattr(estimator, "covariance", "") == "cluster") != hasattr(estimator, "n_clusters_"):
        raise InvalidFile("a clustered covariance, and no other, needs the number of clusters; fit the model anew")
    kind.derive(estimator, state, sizes)
    return estimator


def _class(name: str) -> Any:
    (module,) = {entry.module for entry in MODELS.values() if entry.name == name}
    return getattr(importlib.import_module(module), name)


def _sizes(p: int, K: int) -> Sizes:
    m = p + 1 if K == 0 else p
    vectors = 1 if K == 2 else K
    return {"p": p, "K": K, "k": max(K, 1), "m": m, "1 + m": m + 1, "v": vectors, "logits": max(K - 1, 0)}


def _attribute(estimator: Any, name: str, codec: Codec) -> Any:
    return getattr(estimator, name, None) if isinstance(codec, Absent) else getattr(estimator, name)


def _parameter(name: str, codec: Codec, value: Any) -> Any:
    try:
        return codec.encode(value)
    except (TypeError, ValueError):
        raise InvalidFile(
            f"the parameter {name} is {type(value).__name__}, which a model file cannot hold; set it to something "
            f"plain first: model.estimator.set_params({name}=…)"
        ) from None
