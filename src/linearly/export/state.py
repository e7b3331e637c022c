"""Which parameters and attributes of each estimator a model file contains, and how the estimator is restored from them.

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

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.clusters import ClusterSums
from linearly.algorithm.least_squares.covariance_names import CLUSTERED, CORRECTED, COVARIANCES
from linearly.algorithm.least_squares.small_sample import ScoreMoments, SmallSample
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.algorithm.logistic.optimizers import History
from linearly.dataset.design.serialization import InvalidFile, Record
from linearly.dataset.rows.array_checks import as_labels
from linearly.dataset.rows.block import default_names
from linearly.export.agreement import (
    STATE,
    check_close,
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
from linearly.models.elastic_net_cv import RULES
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.linear_regression import METHODS
from linearly.models.logistic_regression import SOLVERS
from linearly.models.parameter_checks import random_generator
from linearly.models.perceptron import INITS
from linearly.models.pocket_perceptron import INITS as POCKET_INITS
from linearly.models.registry import MODELS, WITH_GIVEN_ALPHA
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
        raise InvalidFile("the root of the covariance must have as many rows as the model has terms")
    if (solution.centering == "centred") != (solution.mean is not None):
        raise InvalidFile("a solution must contain the means of the features exactly if it is centred")
    estimator.multi_output_ = False
    if hasattr(estimator, "folds_"):
        estimator.summary_ = estimator.folds_.total()
    if estimator.summary_.n != solution.n:
        raise InvalidFile(f"the solution has {solution.n} rows, but the summary has {estimator.summary_.n}")
    descended = getattr(estimator, "method", "") == "gradient_descent"
    solution = check_solution(estimator.summary_, solution, descended=descended)
    if solution.aliased and solution.null is None:
        problem = RidgeProblem(solution.alpha, solution.centering != "plain", solution.centering == "constant")
        solution = replace(solution, null=problem.solve(estimator.summary_).null)
    LeastSquaresBase.set_from_solution(estimator, solution)
    if hasattr(estimator, "fold_errors_"):
        estimator.average_errors()
        check_folds(estimator)


_SOLVED: _Fields = {"solution_": SOLUTION, "method_": Literal["gram", "extended", "qr"], "n_passes_": Count}
_MOMENTS = record(
    "ScoreMoments",
    {
        "expected": array("rank", "rank"),
        "pairs": array("pairs", "pairs"),
        "own": array("pairs", "pairs"),
        "high_products": array("high", "pairs"),
        "high_variances": array("variances", "pairs"),
        "left_out": NotNegative,
        "skew": array("skew", "skew") | None,
        "high_skew": array("high_skew", "skew") | None,
    },
    of=ScoreMoments,
)
_SMALL_SAMPLE = record(
    "SmallSample",
    {
        "exact": array("rank", "exact"),
        "term_dof": array("dofs", finite=False),
        "f_dof": AnyFloat,
        "moments": _MOMENTS | None,
    },
    of=SmallSample,
)
_CLUSTER_SUMS = record(
    "ClusterSums", {"scores": array("clusters", "rank"), "products": array("clusters", "pairs")}, of=ClusterSums
)
_ROBUST: _Fields = {"n_clusters_": AtLeast2, "lags_": Count, "small_sample_": _SMALL_SAMPLE}
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
    {"meat_": array("k", "rank", "rank", finite=False), **_ROBUST, "cluster_sums_": _CLUSTER_SUMS},
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


def _restore_sparse(estimator: Any, state: Any, sizes: Sizes) -> None:
    chosen = hasattr(estimator, "alpha_")
    if hasattr(estimator, "folds_"):
        estimator.summary_ = estimator.folds_.total()
    estimator.multi_output_ = False
    if chosen:
        if not np.isin(estimator.l1_ratio_, estimator.l1_ratio) or not np.isin(estimator.alpha_, estimator.alphas_):
            raise InvalidFile(f"{STATE}.alpha_ and l1_ratio_ must be among the values that were tried")
        if np.ndim(estimator.l1_ratio) == 0:
            for name in ("alphas_", "cv_errors_", "cv_std_errors_"):
                setattr(estimator, name, getattr(estimator, name)[0])
    alpha, l1_ratio = (estimator.alpha_, estimator.l1_ratio_) if chosen else (estimator.alpha, estimator.l1_ratio)
    estimator.set_from_summary(float(alpha), float(l1_ratio))
    check_close(f"{STATE}.coef_", state.coef_, estimator.coef_, 1e-6, 1e-6 * np.abs(estimator.coef_).max(initial=0.0))


def _given_sparse(estimator: Any) -> _Fields:
    given: dict[str, Any] = {"summary_": UNSET} if hasattr(estimator, "folds_") else {}
    if hasattr(estimator, "alpha_"):
        given |= {name: np.atleast_2d(getattr(estimator, name)) for name in ("alphas_", "cv_errors_", "cv_std_errors_")}
    return given


_SPARSE: _Fields = {"fit_intercept": bool, "standardize": bool, "penalty_weights": _Numbers | None}
_ELASTIC_NET = StoredEstimator(
    {"alpha": Number, "l1_ratio": Number, **_SPARSE},
    {"summary_": LEAST_SQUARES_SUMMARY, "coef_": array("p"), "n_passes_": Count},
    _restore_sparse,
)
_ELASTIC_NET_CV = StoredEstimator(
    {
        "l1_ratio": Number | _Numbers,
        "alphas": AtLeast1 | _Numbers,
        "cv": AtLeast2 | Literal["loo"],
        "rule": Literal[RULES],
        **_SPARSE,
    },
    {
        "coef_": array("p"),
        "n_passes_": Count,
        "alpha_": NotNegative,
        "l1_ratio_": NotNegative,
        **{name: array("ratios", "alphas", finite=False) for name in ("alphas_", "cv_errors_", "cv_std_errors_")},
    },
    _restore_sparse,
    {"folds_": FOLD_SUMMARIES, "summary_": LEAST_SQUARES_SUMMARY},
    _given_sparse,
)


# --- classifiers that are read off a summary ------------------------------------------------------


def _restore_indicator(estimator: Any, state: Any, sizes: Sizes) -> None:
    solution = check_solution(estimator.summary_.indicator_gram(), state.solution_)
    estimator.solution_, estimator.multilabel_ = solution, False
    estimator.coef_, estimator.intercept_ = solution.coef.T.copy(), solution.intercept.copy()
    if sizes["K"] == 2:
        estimator.coef_, estimator.intercept_ = estimator.coef_[1:], estimator.intercept_[1:] - 0.5


def _restore_gaussians(*compared: str) -> Callable[[Any, Any, Sizes], None]:
    names = (*compared, "priors_", "means_", "center_", "class_constants_", "shrinkage_")
    return lambda estimator, state, sizes: check_derived(estimator, vars(state), names)


_SHRUNK: _Fields = {"priors": _Numbers | None, "shrinkage": Number | None}
_CLASS_SUMMARY: _Fields = {"summary_": CLASS_GRAMS, "n_passes_": Count}
_MEANS: _Fields = {
    "priors_": array("K", positive=True),
    "means_": array("K", "p"),
    "center_": array("p"),
    "class_constants_": array("K"),
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
        "class_coef_": array("p", "K"),
        "common_coef_": array("p"),
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
        "inverse_roots_": array("p", "roots"),
        "whitened_means_": array("roots"),
    },
    _restore_gaussians("covariances_"),
)
_INDICATOR = StoredEstimator({"alpha": Number}, {**_CLASS_SUMMARY, "solution_": SOLUTION}, _restore_indicator)


# --- logistic regression --------------------------------------------------------------------------


def _restore_logistic(estimator: Any, state: Any, sizes: Sizes) -> None:
    K, p = sizes["K"], sizes["p"]
    reference = estimator.reference_code()
    columns = [k for k in range(K) if k != reference]
    estimator.class_coef_, estimator.class_constants_ = np.zeros((p, K)), np.zeros(K)
    estimator.class_coef_[:, columns] = estimator.coef_.T
    estimator.class_constants_[columns] = estimator.intercept_
    estimator.reference_ = estimator.classes_[reference]
    estimator.multilabel_ = False
    terms = len(columns) * (p + int(estimator.fit_intercept))
    root, unknown, null = estimator.inverse_root_, estimator.unknown_terms_, estimator.null_direction_
    if root is not None and len(root) != terms:
        raise InvalidFile(f"the root of the covariance has {len(root)} rows, but the model has {terms} terms")
    if unknown is not None:
        estimator.unknown_terms_ = np.array(unknown)
        if len(unknown) != terms:
            raise InvalidFile(f"the model has {terms} terms, but {len(unknown)} entries mark which are determined")
    elif root is not None and estimator.separation_ is None and not root.any(axis=1).all():
        estimator.unknown_terms_ = ~root.any(axis=1)
    if null is not None and len(null) * len(columns) != terms:
        raise InvalidFile("the direction that the rows do not determine must have as many entries as there are terms")
    aliased = bool(estimator.aliased_)
    if aliased != (null is not None) or aliased != (estimator.center_ is not None):
        raise InvalidFile("a model must contain both a direction and a center exactly if it has aliased columns")
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
        "covariance": Literal[COVARIANCES],
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
        "class_weights_": array("K"),
        "inverse_root_": array("logit_terms", "rank", finite=False) | None,
        "inner_covariance_": array("rank", "rank", finite=False) | None,
        "aliased_": Counts,
        "null_direction_": array("terms") | None,
        "center_": array("p") | None,
        "unknown_terms_": list_of(bool) | None,
    },
    _restore_logistic,
    {
        "digits_": AnyFloat,
        "saturated_log_likelihood_": Finite,
        "log_coefficients_": Finite,
        "column_means_": array("p"),
        "has_offset_": bool,
        **_ROBUST,
    },
    _given_logistic,
)


# --- perceptrons ----------------------------------------------------------------------------------


def _restore_online(estimator: Any, state: Any, sizes: Sizes) -> None:
    shuffle = random_generator(estimator.random_state) if estimator.shuffle else None
    if (state.training.log is not None) != estimator.is_its_log:
        raise InvalidFile("a model must contain a mistake log exactly if it is a voted perceptron")
    fitted = {"averaged": estimator.averaged, "intercept": bool(estimator.fit_intercept)}
    estimator.training_ = resume_training(state.training, **fitted, K=sizes["K"], shuffle=shuffle)
    estimator.set_fitted_attributes()
    check_training(estimator)


def _restore_counts(estimator: Any, state: Any, sizes: Sizes) -> None:
    estimator.mistakes_per_pass_ = list(estimator.mistakes_per_pass_)
    check_training(estimator)


def _given_online(estimator: Any) -> _Fields:
    return {"training": training_record(estimator.training_, with_log=estimator.is_its_log)}


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
    "ElasticNet": _ELASTIC_NET,
    "ElasticNetCV": _ELASTIC_NET_CV,
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

_LAGS: _Fields = {"lags": Count | None}  # files of version 1 may lack these
_LATER: dict[str, _Fields] = {"LogisticRegression": {**_LAGS, "l1_ratio": Number}}
_PARAMETERS = {
    name: record(
        f"{name}Parameters", stored.parameters, _LATER.get(name, _LAGS if "covariance" in stored.parameters else {})
    )
    for name, stored in STORED.items()
}
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
        raise InvalidFile(f"the estimator {name} cannot be saved in a model file")
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
                f"the parameter {field.name} is {type(value).__name__}, which a model file cannot contain; replace it "
                f"first with model.estimator.set_params({field.name}=…)"
            ) from None
    return data


def sizes_of(p: int, K: int) -> Sizes:
    """Return the sizes that are known of a model with p features and K classes, 0 for a regression."""
    m = p + 1 if K == 0 else p
    vectors = 1 if K == 2 else K
    return {"p": p, "K": K, "k": max(K, 1), "m": m, "1 + m": m + 1, "v": vectors, "logits": max(K - 1, 0)}


def restore_estimator(stored: Any, model: str, classes: tuple[Any, ...], names: tuple[str, ...], sizes: Sizes) -> Any:
    """Return the fitted estimator of an `ESTIMATOR` record, for a model with these classes and columns."""
    entries = {entry.name: entry for entry in (MODELS[model], WITH_GIVEN_ALPHA.get(model)) if entry is not None}
    if stored.name not in entries:
        raise InvalidFile(f"estimator.name must be {' or '.join(sorted(entries))} for model {model}")
    module = entries[stored.name].module
    given = {name: value for name, value in vars(stored.parameters).items() if value is not UNSET}
    parameters = {name: list(v) if isinstance(v, tuple) else v for name, v in given.items()}
    estimator = getattr(importlib.import_module(module), stored.name)(**parameters)
    estimator.check_parameters()
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
    _check_robust(estimator, sizes)
    STORED[stored.name].restore(estimator, stored.state, sizes)
    return estimator


def _check_robust(estimator: Any, sizes: Sizes) -> None:
    """Refuse a state that a robust covariance needs and lacks, or has and does not need, or of other sizes."""
    covariance = getattr(estimator, "covariance", "")
    if (covariance in CLUSTERED) != hasattr(estimator, "n_clusters_"):
        raise InvalidFile(
            "the number of clusters must be given exactly if the covariance is clustered; fit the model again"
        )
    if (covariance == "HAC") != hasattr(estimator, "lags_"):
        raise InvalidFile("the number of lags must be given exactly if the covariance is HAC; fit the model again")
    if hasattr(estimator, "small_sample_") and covariance not in ("HC2", "HC3", *CORRECTED):
        raise InvalidFile(f"covariance {covariance} has no separate degrees of freedom")
    small_sample, root = getattr(estimator, "small_sample_", None), getattr(estimator, "inverse_root_", None)
    terms = root if root is not None else getattr(getattr(estimator, "solution_", None), "inverse_root", ())
    if small_sample is not None and len(small_sample.term_dof) != len(terms):
        raise InvalidFile(f"a model of {len(terms)} terms cannot have {len(small_sample.term_dof)} degrees of freedom")
    rank, pairs = sizes.get("rank", 0), sizes.get("pairs")
    if pairs is not None and pairs != rank * (rank + 1) // 2:
        raise InvalidFile(f"{rank} terms have {rank * (rank + 1) // 2} products, not {pairs}")
