"""Which parameters and attributes of each estimator a model file holds, and how the estimator is restored from them.

The tables are complete: a file can name nothing that is not in them. The attributes are those that an estimator needs
to predict, to be summarised, to be merged and to be subtracted. What follows from them is derived again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta
from sklearn.utils import check_random_state

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.algorithm.logistic.optimizers import History
from linearly.dataset.design.serialization import InvalidFile, Record
from linearly.dataset.rows.array_checks import as_labels
from linearly.dataset.rows.block import default_names
from linearly.export.agreement import (
    STATE,
    check_derived,
    check_folds,
    check_likelihood,
    check_solution,
    check_training,
)
from linearly.export.records import (
    AnyFloat,
    AtLeast1,
    AtLeast2,
    Count,
    Counts,
    Finite,
    Label,
    NotNegative,
    Number,
    Sizes,
    Text,
    array,
    list_of,
    record,
    record_to_json,
    size,
    to_json,
)
from linearly.export.summaries import (
    CLASS_GRAMS,
    FOLD_SUMMARIES,
    LEAST_SQUARES_SUMMARY,
    SOLUTION,
    TRAINING,
    resume_training,
    training_record,
)
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.linear_regression import COVARIANCES, METHODS
from linearly.models.logistic_regression import COVARIANCES as LOGISTIC_COVARIANCES
from linearly.models.logistic_regression import SOLVERS
from linearly.models.perceptron import INITS
from linearly.models.pocket_perceptron import INITS as POCKET_INITS
from linearly.models.registry import MODELS
from linearly.models.voted_perceptron import WEIGHTINGS

_Fields = Mapping[str, Any]
_Numbers: Any = list_of(Number)


class Proof(Record, frozen=True):
    """What a certificate of separability states; the rows that prove it are not in the file."""

    verdict: Annotated[str, Meta(max_length=40)]
    text: Text

    def describe(self) -> str:
        """Return the verdict, its proof and its meaning in words."""
        return self.text


class StoredEstimator(NamedTuple):
    """Tables of an estimator's parameters, of its state and of the attributes that it may lack.

    `restore` derives what follows from the state; `given` returns parts of the state that are not attributes.
    """

    parameters: _Fields
    state: _Fields
    restore: Callable[[Any, Any, Sizes], None]
    absent: _Fields = MappingProxyType({})
    given: Callable[[Any], _Fields] = lambda estimator: {}


# --- least squares --------------------------------------------------------------------------------


def _restore_least_squares(estimator: Any, state: Any, sizes: Sizes) -> None:
    solution = state.solution_
    if len(solution.inverse_root) not in (sizes["p"], sizes["p"] + 1):
        raise InvalidFile("the root of the covariance has not as many rows as the model has terms")
    if (solution.centering == "centred") != (solution.mean is not None):
        raise InvalidFile("a centred solution needs the means of the features, and no other has them")
    estimator._multi_output = False
    if hasattr(estimator, "folds_"):
        estimator.summary_ = estimator.folds_.total()
    if estimator.summary_.n != solution.n:
        raise InvalidFile(f"the solution is of {solution.n} rows, and the summary of {estimator.summary_.n}")
    descended = getattr(estimator, "method", "") == "gradient_descent"
    solution = check_solution(estimator.summary_, solution, descended=descended)
    if solution.aliased and solution.null is None:
        problem = RidgeProblem(solution.alpha, solution.centering != "plain", solution.centering == "constant")
        solution = replace(solution, null=problem.solve(estimator.summary_).null)
    LeastSquaresBase._set_from_summary(estimator, solution)
    if hasattr(estimator, "fold_errors_"):
        estimator._average_errors()
        check_folds(estimator)


_SOLVED: _Fields = {"solution_": SOLUTION, "method_": Literal["gram", "extended", "qr"], "n_passes_": Count}
_LINEAR = StoredEstimator(
    {
        "alpha": Number,
        "fit_intercept": bool,
        "penalize_intercept": bool,
        "covariance": Literal[COVARIANCES],
        "method": Literal[METHODS],
    },
    {"summary_": LEAST_SQUARES_SUMMARY, **_SOLVED},
    _restore_least_squares,
    {"meat_": array("k", "rank", "rank", finite=False), "n_clusters_": AtLeast2},
)
_RIDGE = StoredEstimator(
    {"alphas": _Numbers | None, "cv": AtLeast2 | Literal["loo"], "fit_intercept": bool},
    {
        **_SOLVED,
        "alpha_": NotNegative,
        "alphas_": array("alphas"),
        "fold_errors_": array("alphas", "folds", finite=False),
    },
    _restore_least_squares,
    {"folds_": FOLD_SUMMARIES, "summary_": LEAST_SQUARES_SUMMARY},
    lambda estimator: {"summary_": UNSET} if hasattr(estimator, "folds_") else {},
)


# --- classifiers that are read off a summary ------------------------------------------------------


def _restore_indicator(estimator: Any, state: Any, sizes: Sizes) -> None:
    solution = check_solution(estimator.summary_.indicator_gram(), state.solution_)
    estimator.solution_, estimator.multilabel_ = solution, False
    estimator.coef_, estimator.intercept_ = solution.coef.T.copy(), solution.intercept.copy()
    if sizes["K"] == 2:
        estimator.coef_, estimator.intercept_ = estimator.coef_[1:], estimator.intercept_[1:] - 0.5


def _restore_gaussians(*compared: str) -> Callable[[Any, Any, Sizes], None]:
    names = (*compared, "priors_", "means_", "_center", "_constants", "shrinkage_")
    return lambda estimator, state, sizes: check_derived(estimator, vars(state), names)


_SHRUNK: _Fields = {"priors": _Numbers | None, "shrinkage": Number | None}
_CLASS_SUMMARY: _Fields = {"summary_": CLASS_GRAMS, "n_passes_": Count}
_MEANS: _Fields = {
    "priors_": array("K", positive=True),
    "means_": array("K", "p"),
    "_center": array("p"),
    "_constants": array("K"),
}
_LDA = StoredEstimator(
    _SHRUNK,
    {
        **_CLASS_SUMMARY,
        **_MEANS,
        "covariance_": array("p", "p"),
        "shrinkage_": NotNegative,
        "coef_": array("v", "p"),
        "intercept_": array("v"),
        "scalings_": array("p", "directions"),
        "explained_variance_ratio_": array("directions"),
        "_n_features_out": size("directions"),
        "_coefficients": array("p", "K"),
        "_common": array("p"),
    },
    _restore_gaussians("coef_", "intercept_"),
)
_QDA = StoredEstimator(
    _SHRUNK,
    {
        **_CLASS_SUMMARY,
        **_MEANS,
        "covariances_": array("K", "p", "p"),
        "shrinkage_": array("K"),
        "_roots": array("p", "roots"),
        "_moved": array("roots"),
    },
    _restore_gaussians("covariances_"),
)
_INDICATOR = StoredEstimator({"alpha": Number}, {**_CLASS_SUMMARY, "solution_": SOLUTION}, _restore_indicator)


# --- logistic regression --------------------------------------------------------------------------


def _restore_logistic(estimator: Any, state: Any, sizes: Sizes) -> None:
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
        estimator._unknown = ~estimator._root.any(axis=1)
    if estimator._null is not None and len(estimator._null) * len(columns) != terms:
        raise InvalidFile("the direction that the rows do not determine has not as many entries as there are terms")
    aliased = bool(estimator._aliased)
    if aliased != (estimator._null is not None) or aliased != (estimator._center is not None):
        raise InvalidFile(
            "columns that are combinations of others need a direction and a center, and no others have them"
        )
    check_likelihood(estimator)


def _given_logistic(estimator: Any) -> _Fields:
    proof = estimator.separation_
    return {"separation_": None if proof is None else Proof(proof.verdict, proof.describe())}


_HISTORY = record(
    "History",
    dict.fromkeys(("loss", "gradient_norm", "step"), list_of(AnyFloat)),
    of=History,
    build=lambda **lists: History(**{name: list(values) for name, values in lists.items()}),
)
_LOGISTIC = StoredEstimator(
    {
        "alpha": Number,
        "bias_reduction": Literal["firth"] | None,
        "reference": Label | None,
        "solver": Literal[SOLVERS],
        "fit_intercept": bool,
        "covariance": Literal[LOGISTIC_COVARIANCES],
    },
    {
        "coef_": array("logits", "p"),
        "intercept_": array("logits"),
        "n_rows_": Count,
        "n_passes_": Count,
        "converged_": bool,
        "log_likelihood_": Finite,
        "null_log_likelihood_": Finite,
        "condition_": AnyFloat,
        "separation_": Proof | None,
        "history_": _HISTORY,
        "_class_weights": array("K"),
        "_root": array("logit_terms", "rank", finite=False) | None,
        "_inner": array("rank", "rank", finite=False) | None,
        "_aliased": Counts,
        "_null": array("terms") | None,
        "_center": array("p") | None,
        "_unknown": list_of(bool) | None,
    },
    _restore_logistic,
    {"digits_": AnyFloat, "n_clusters_": AtLeast2},
    _given_logistic,
)


# --- perceptrons ----------------------------------------------------------------------------------


def _restore_online(estimator: Any, state: Any, sizes: Sizes) -> None:
    shuffle = check_random_state(estimator.random_state) if estimator.shuffle else None
    if (state.training.log is not None) != estimator.is_its_log:
        raise InvalidFile("a voted perceptron is its mistake log, and no other has one in the file")
    fitted = {"averaged": estimator.averaged, "intercept": bool(estimator.fit_intercept)}
    estimator._training = resume_training(state.training, **fitted, K=sizes["K"], shuffle=shuffle)
    estimator._set_fitted_attributes()
    check_training(estimator)


def _restore_counts(estimator: Any, state: Any, sizes: Sizes) -> None:
    estimator.mistakes_per_pass_ = list(estimator.mistakes_per_pass_)
    check_training(estimator)


def _given_online(estimator: Any) -> _Fields:
    return {"training": training_record(estimator._training, with_log=estimator.is_its_log)}


_RANDOM: _Fields = {"shuffle": bool, "random_state": Count | None}
_PASSES: _Fields = {"max_passes": AtLeast1, "tolerance": Count, "fit_intercept": bool, **_RANDOM}
_COUNTS: _Fields = {
    "coef_": array("v", "p"),
    "intercept_": array("v"),
    "n_passes_": Count,
    "n_updates_": Count,
    "mistakes_per_pass_": Counts,
    "stop_reason_": Text,
}
_ERROR: _Fields = {"training_error_": AnyFloat}
_ONLINE = ({"training": TRAINING, "stop_reason_": Text}, _restore_online, _ERROR, _given_online)

STORED: dict[str, StoredEstimator] = {
    "LinearRegression": _LINEAR,
    "RidgeCV": _RIDGE,
    "LogisticRegression": _LOGISTIC,
    "LinearDiscriminantAnalysis": _LDA,
    "QuadraticDiscriminantAnalysis": _QDA,
    "LeastSquaresClassifier": _INDICATOR,
    "Perceptron": StoredEstimator({**_PASSES, "init": Literal[INITS]}, *_ONLINE),
    "AveragedPerceptron": StoredEstimator(_PASSES, *_ONLINE),
    "VotedPerceptron": StoredEstimator({**_PASSES, "weighting": Literal[WEIGHTINGS]}, *_ONLINE),
    "BatchPerceptron": StoredEstimator(
        {"max_passes": AtLeast1, "epsilon": Number, "fit_intercept": bool}, _COUNTS, _restore_counts, _ERROR
    ),
    "PocketPerceptron": StoredEstimator(
        {"max_updates": AtLeast1, "fit_intercept": bool, "init": Literal[POCKET_INITS], **_RANDOM},
        {**_COUNTS, "best_update_": Count, "error_history_": array("updates", dtype="i8")},
        _restore_counts,
        _ERROR,
    ),
}


# --- from an estimator to JSON and back -----------------------------------------------------------

_PARAMETERS = {name: record(f"{name}Parameters", stored.parameters) for name, stored in STORED.items()}
_STATES = {name: record(f"{name}State", stored.state, stored.absent) for name, stored in STORED.items()}
_ESTIMATORS = {
    name: record(
        name,
        {"parameters": _PARAMETERS[name], "state": _STATES[name]},
        build=partial(SimpleNamespace, name=name),
        tag=name,
        tag_field="name",
    )
    for name in STORED
}
ESTIMATOR: Any = reduce(or_, _ESTIMATORS.values())


def estimator_to_json(estimator: Any) -> dict[str, Any]:
    """Return the name, parameters and state of a fitted estimator."""
    name = type(estimator).__name__
    if name not in STORED:
        raise InvalidFile(f"a {name} is none of the estimators that a model file can hold")
    state = record_to_json(_STATES[name], estimator, STORED[name].given(estimator))
    return {"name": name, "parameters": _parameters_to_json(estimator, _PARAMETERS[name]), "state": state}


def _parameters_to_json(estimator: Any, kind: Any) -> dict[str, Any]:
    data = {}
    for field in msgspec.structs.fields(kind):
        value = getattr(estimator, field.name)
        try:
            plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            data[field.name] = bool(value) if field.type is bool else to_json(plain)
            msgspec.convert(data[field.name], field.type)
        except (TypeError, ValueError):
            raise InvalidFile(
                f"the parameter {field.name} is {type(value).__name__}, which a model file cannot hold; set it to "
                f"something plain first: model.estimator.set_params({field.name}=…)"
            ) from None
    return data


def sizes_of(p: int, K: int) -> Sizes:
    """Return the sizes that are known of a model with p features and K classes, 0 for a regression."""
    m = p + 1 if K == 0 else p
    vectors = 1 if K == 2 else K
    return {"p": p, "K": K, "k": max(K, 1), "m": m, "1 + m": m + 1, "v": vectors, "logits": max(K - 1, 0)}


def restore_estimator(stored: Any, model: str, classes: tuple[Any, ...], names: tuple[str, ...], sizes: Sizes) -> Any:
    """Return the fitted estimator of an `ESTIMATOR` record, for a model with these classes and columns."""
    allowed = {MODELS[model].name, *((MODELS["linear"].name,) if model == "ridge" else ())}
    if stored.name not in allowed:
        raise InvalidFile(f"estimator.name must be {' or '.join(sorted(allowed))} for model {model}")
    (module,) = {entry.module for entry in MODELS.values() if entry.name == stored.name}
    parameters = {name: list(v) if isinstance(v, tuple) else v for name, v in vars(stored.parameters).items()}
    estimator = getattr(importlib.import_module(module), stored.name)(**parameters)
    estimator._check_parameters()
    estimator.n_features_in_ = len(names)
    if names != default_names(len(names)):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if classes:
        estimator.classes_ = as_labels(classes)
    for name, value in vars(stored.state).items():
        if value is not UNSET and (name.endswith("_") or name.startswith("_")):
            setattr(estimator, name, value)
    summary = getattr(estimator, "summary_", None)
    if isinstance(summary, ClassGrams) and len(summary.parts) != len(classes):
        raise InvalidFile(f"{STATE}.summary_.parts has {len(summary.parts)} entries, not {len(classes)}")
    if (getattr(estimator, "covariance", "") == "cluster") != hasattr(estimator, "n_clusters_"):
        raise InvalidFile("a clustered covariance, and no other, needs the number of clusters; fit the model anew")
    STORED[stored.name].restore(estimator, stored.state, sizes)
    return estimator
