"""What may be said about a fitted logistic regression: the tables, odds ratios, and tests by the likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.logistic.firth import firth
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import newton
from linearly.algorithm.logistic.solver import GRAM_SIZE
from linearly.dataset.rows.block import Rows, as_frame, check_finite, is_frame, is_rows
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.dataset.rows.views import MappedRows
from linearly.evaluation.targets import to_plain_values
from linearly.exceptions import SeparationWarning
from linearly.inference.fitted_rows import check_labelled_rows_of_fit
from linearly.inference.tidy import check_level, dof_of_tests, t_p_values, t_quantile, unidentified_note
from linearly.inference.unwrap import unwrap_estimator, unwrap_model
from linearly.kernels.matrices import dense_float64
from linearly.models.base import column_names
from linearly.models.logistic_regression import LogisticRegression
from linearly.table import Table

Array = NDArray[np.float64]

_NAMED = 8  # terms that a note names


def tidy_logistic(model: LogisticRegression, level: float) -> Table:
    """A row for each term (and for each logit of K ≥ 3 classes, named by ``label``), with Wald tests and intervals."""
    check_level(level)
    terms, labels, estimate = _terms(model)
    error = np.sqrt(np.diagonal(model.covariance_))  # which says so where there is no root
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / error
    dof = dof_of_tests(model)
    reach = t_quantile(level, dof) * error
    columns: dict[str, Any] = {"label": labels} if labels else {}
    columns |= {
        "term": terms,
        "estimate": estimate,
        "std_error": error,
        "statistic": statistic,
        "p_value": t_p_values(statistic, dof),
        "conf_low": estimate - reach,
        "conf_high": estimate + reach,
    }
    notes = [f"Logits against {to_plain_values(model.reference_)!r}."] if labels else []
    return Table(columns, notes=(*notes, *unknown_notes(model)))


def unknown_notes(model: LogisticRegression) -> Iterator[str]:
    """Say which terms have no standard errors, and what to use in their place."""
    names = [*(["Intercept"] if model.fit_intercept else []), *column_names(model)]
    if model._null is not None:
        yield from unidentified_note(names, np.equal(model._null, 0))
    known = np.asarray(model._identified.reshape(-1, len(names)).all(axis=0))
    unbounded = [name for name, sure in zip(names, known, strict=True) if not sure]
    if model.separation_ is not None:
        more = f" and {len(unbounded) - _NAMED} more" if len(unbounded) > _NAMED else ""
        few = "all terms" if len(unbounded) == len(names) else ", ".join(unbounded[:_NAMED]) + more
        yield (
            f"The classes are {model.separation_.verdict}, so coefficients are where the search was stopped. No finite "
            f"estimate and no standard error: {few}. Test terms with likelihood_ratio_tests, or fit with "
            'bias_reduction="firth" or alpha > 0.'
        )
    elif unbounded and model._null is None:
        yield 'The search did not end at a maximum: no standard errors. Fit with bias_reduction="firth" or alpha > 0.'


def glance_logistic(model: LogisticRegression) -> Table:
    """A row for the model: deviances, McFadden's pseudo-R², information criteria, and how the search ended."""
    _refuse_multilabel(model, "glance")
    log_likelihood, null = model.log_likelihood_, model.null_log_likelihood_
    parameters = parameters_of(model)
    notes = []
    if model.separation_ is not None:
        limit = " It can come as close to 0 as one likes." if model.separation_.verdict == "separable" else ""
        notes.append(
            f"The classes are {model.separation_.verdict}: no coefficients reach the smallest deviance. It is given "
            f"where the search was stopped, as the coefficients are.{limit}"
        )
    if model._root is None and model.n_features_in_ >= GRAM_SIZE:
        notes.append(
            f"Columns that depend on others are not looked for among more than {GRAM_SIZE:,}: aic and bic count every "
            "coefficient."
        )
    return Table(
        {
            "deviance": [0.0 - 2 * log_likelihood],
            "null_deviance": [0.0 - 2 * null],
            "pseudo_r_squared": [1 - log_likelihood / null if null else np.nan],
            "log_likelihood": [log_likelihood],
            "aic": [-2 * log_likelihood + 2 * parameters],
            "bic": [-2 * log_likelihood + np.log(model.n_rows_) * parameters],
            "n": [model.n_rows_],
            **({"n_clusters": [model.n_clusters_]} if hasattr(model, "n_clusters_") else {}),
            "df_residual": [model.n_rows_ * (len(model.classes_) - 1) - parameters],
            "passes": [model.n_passes_],
            "converged": [bool(model.converged_)],
            "condition": [model.condition_],
            "digits": [getattr(model, "digits_", np.nan)],
        },
        notes=tuple(notes),
    )


def augment_logistic(model: LogisticRegression, X: Any, y: Any, sample_weight: Any = None) -> Table:
    """A row for each row of a two-class fit: probability, residuals (deviance, Pearson), leverage, Cook's distance."""
    _refuse_multilabel(model, "augment")
    if len(model.classes_) > 2:
        raise ValueError("augment takes a logistic regression of two classes.")
    rows = check_labelled_rows_of_fit(model, X, y, sample_weight, "augment")
    root, first = model._root, int(model.fit_intercept)
    if root is None:
        raise ValueError('Leverage needs the Hessian, which solver="lbfgs" does not form: fit with solver="newton".')
    parts = []
    for block in rows:
        check_finite(block)
        Z = dense_float64(block.X)
        logit = model.scores(Z)[:, 1]
        side = np.where(np.asarray(block.y) == 1, 1.0, -1.0)
        weight = np.ones(len(logit)) if block.weight is None else block.weight
        # By logits: 1 − p has no digits left where p is next to 1.
        p, variance = expit(logit), expit(logit) * expit(-logit)
        deviance = 2 * weight * np.logaddexp(0.0, -side * logit)
        with np.errstate(over="ignore", invalid="ignore"):
            pearson = side * np.sqrt(weight) * np.exp(-side * logit / 2)
        U = (root[0] if first else 0.0) + Z @ root[first:]
        leverage = np.where(weight > 0, weight * variance * (U**2).sum(axis=1), np.nan)
        parts.append(np.stack([p, side * np.sqrt(deviance), pearson, leverage]))
        if block.unknown is not None:
            parts[-1][:, block.unknown] = np.nan
    p, deviance, pearson, leverage = np.concatenate(parts, axis=1)
    rank = root.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return Table(
            {
                "probability": p,
                "deviance_residual": deviance,
                "pearson_residual": pearson,
                "leverage": leverage,
                "standardized_residual": deviance / np.sqrt(1 - leverage),
                "cooks_distance": (pearson / (1 - leverage)) ** 2 * leverage / rank,
            }
        )


@single_threaded_blas()
def odds_ratios(model: LogisticRegression, *, level: float = 0.95) -> Table:
    """exp(coefficient) of each feature with its interval: by what the odds are multiplied for one unit more."""
    model = _fitted(unwrap_estimator(model))
    table = tidy_logistic(model, level)
    first = int(model.fit_intercept)
    chosen = [i for i in range(len(table)) if i % (first + model.n_features_in_) >= first]
    columns: dict[str, Any] = {"label": table["label"][chosen]} if "label" in table.columns else {}
    columns["term"] = table["term"][chosen]
    with np.errstate(over="ignore"):
        for name, source in (("odds_ratio", "estimate"), ("conf_low", "conf_low"), ("conf_high", "conf_high")):
            columns[name] = np.exp(table[source][chosen])
    return Table(columns, notes=table.notes)


@single_threaded_blas()
def likelihood_ratio_tests(model: LogisticRegression, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Each feature left out in turn: ``term, statistic, df, p_value`` of twice the fall in log likelihood.

    The rows and weights are those of the fit, and others are refused; for a `Model`, X is the data that it was fitted
    to. Levels of a category are left out one by one. Where classes are separable the largest likelihood is that in the
    limit, so that terms without a finite estimate can be tested too.
    """
    model, X = unwrap_model(model, X, y, sample_weight, "likelihood_ratio_tests")
    check_unpenalized(_fitted(model), "likelihood_ratio_tests")
    names = column_names(model)
    check_labelled_rows_of_fit(model, X, y, sample_weight, "likelihood_ratio_tests")
    statistics, df, whole = [], [], parameters_of(model)
    plainly = clone(model).set_params(covariance="classical")  # the likelihood does not depend on it
    for j in range(len(names)):
        others = [i for i in range(len(names)) if i != j]
        least, left = model.null_log_likelihood_, int(model.fit_intercept) * (len(model.classes_) - 1)
        if others:
            with warnings.catch_warnings():  # of what is said of the whole model; the test allows for both
                warnings.simplefilter("ignore", SeparationWarning)
                warnings.simplefilter("ignore", np.exceptions.RankWarning)
                small = clone(plainly).fit(_columns(X, others), y, sample_weight)
            least, left = largest_log_likelihood(small), parameters_of(small)
        df.append(whole - left)
        # A column that the others make up for, being a combination of them, cannot be tested.
        statistics.append(likelihood_ratio(largest_log_likelihood(model), least) if df[-1] > 0 else np.nan)
    return Table(
        {
            "term": list(names),
            "statistic": np.array(statistics),
            "df": np.array(df),
            "p_value": chdtrc(np.maximum(df, 1), np.array(statistics)),
        }
    )


@single_threaded_blas()
def profile_intervals(
    model: LogisticRegression, X: Any, y: Any = None, sample_weight: Any = None, *, level: float = 0.95
) -> Table:
    """Intervals by the profile likelihood, ``term, estimate, conf_low, conf_high``: where it falls by a χ² quantile.

    They follow the curvature of the likelihood away from the maximum, so they are not symmetric, and are better than
    Wald's in small samples. For a fit with Firth's bias reduction they follow the penalised likelihood (Heinze &
    Schemper 2002), which gives intervals for separated classes too. Each end takes some refits with one coefficient
    Schemper 2002), which gives intervals for separated classes too. Each end takes some refits with one coefficient
    held. It is infinite where the likelihood never falls that far. It is NaN where rounding alone moves the likelihood
    by more, as it does for the intercept of columns far from zero, and for terms that the rows do not determine. The
    rows and weights are those of the fit, and others are refused; for a `Model`, X is the data that it was fitted to.
    """
    model, X = unwrap_model(model, X, y, sample_weight, "profile_intervals")
    _refuse_multilabel(_fitted(model), "profile_intervals")
    if model.alpha > 0:
        raise ValueError("profile_intervals needs a likelihood without a ridge penalty: alpha=0.")
    if model.separation_ is not None or not model.converged_:
        raise ValueError(
            "profile_intervals starts from a maximum of the likelihood, and this fit did not reach one"
            + (", because its classes are separable" if model.separation_ is not None else "")
            + '. Fit with bias_reduction="firth" first.'
        )
    check_level(level)
    rows = check_labelled_rows_of_fit(model, X, y, sample_weight, "profile_intervals")
    scaling = ColumnScaling.of(next(iter(rows)), None)
    first, unit = int(model.fit_intercept), scaling.scale
    reference = int(np.flatnonzero(model.classes_ == model.reference_)[0])
    terms, labels, estimate = _terms(model)
    error = np.sqrt(np.diagonal(model.covariance_))
    q = first + len(unit)
    size = np.r_[np.ones(first), unit]
    B = estimate.reshape(-1, q).T * size[:, None]
    # The intercept is the logit at zero; the slopes are the same from anywhere, and best told from among the rows.
    near = scaling if first else ColumnScaling(0 * unit, unit)
    moved = B.copy()
    moved[:first] += (near.shift / unit) @ B[first:]
    starts = [(ColumnScaling(0 * unit, unit), B)] * first + [(near, moved)] * len(unit)
    limit = float(chdtri(1, 1 - level)) / 2
    low, high = np.full(len(terms), np.nan), np.full(len(terms), np.nan)
    firthed = model.bias_reduction == "firth"
    best = -model.log_likelihood_
    if firthed:  # the same in both scalings, between which the information keeps its determinant
        objective = Logistic(len(model.classes_), reference, near, model.fit_intercept)
        best = _smallest_loss(rows, objective, firthed)(moved)[0]
    for at in np.flatnonzero(error > 0).tolist():  # terms that the rows do not determine have none
        i, a = at % q, at // q
        objective = Logistic(len(model.classes_), reference, starts[i][0], model.fit_intercept)
        smallest = _smallest_loss(rows, objective, firthed, (i, a))
        for ends, sign in ((low, -1.0), (high, 1.0)):
            ends[at] = _profile_end(smallest, starts[i][1], (i, a), sign * error[at] * size[i], best + limit)
        low[at], high[at] = low[at] / size[i], high[at] / size[i]
    columns: dict[str, Any] = {"label": labels} if labels else {}
    return Table(columns | {"term": terms, "estimate": estimate, "conf_low": low, "conf_high": high})


def _smallest_loss(
    rows: Rows, objective: Logistic, firthed: bool, hold: tuple[int, int] | None = None
) -> Callable[[Array], tuple[float, Array]]:
    """A function of coefficients to start from: the smallest loss with one of them held, and where it is."""

    def look(B: Array, hessian: bool) -> LossDerivatives:
        return rows.reduce(objective.evaluator(B, hessian))

    def smallest(B: Array) -> tuple[float, Array]:
        if firthed:
            found = firth(rows, objective, look, B, hold)
            return float(found.history.loss[-1]) if found.converged else np.nan, found.B
        found = newton(look, B, fixed=hold, stop_when_separated=False)
        return found.last.loss, found.B

    return smallest


def _profile_end(
    smallest: Callable[[Array], tuple[float, Array]], B: Array, at: tuple[int, int], error: float, limit: float
) -> float:
    known = [(float(B[at]), B)]  # values, with the coefficients that are best beside each

    def beyond(value: float) -> float:
        # The others move nearly in a line. A penalised likelihood may have several peaks, of which this finds the one
        # that belongs to the estimates.
        (near, start), *rest = sorted(known, key=lambda pair: abs(pair[0] - value))
        other = next((pair for pair in rest if pair[0] != near), None)
        start = start if other is None else start + (other[1] - start) * ((value - near) / (other[0] - near))
        held = start.copy()
        held[at] = value
        loss, best = smallest(held)
        known.append((value, best))
        if np.isnan(loss):
            raise ArithmeticError("The search with this coefficient held did not end at a maximum.")
        return loss - limit

    try:
        return _crossing(beyond, known[0][0], error)
    except ArithmeticError:
        return float("nan")


def _crossing(beyond: Callable[[float], float], inner: float, error: float) -> float:
    """Where a function, negative at `inner`, becomes positive; NaN where it is not negative, ∞ where it stays so."""
    outer = inner + 1.5 * error
    if not beyond(inner) < 0:
        return float("nan")
    if not beyond(inner + 0.1 * error) < 0:
        outer = inner + 0.1 * error
    for _ in range(60):
        if beyond(outer) > 0:
            return float(brentq(beyond, inner, outer, xtol=1e-12 + 1e-10 * abs(error), rtol=1e-12))
        inner, outer = outer, outer + 1.5 * error
    return float(np.inf * np.sign(error))


def _fitted(model: Any) -> LogisticRegression:
    if not isinstance(model, LogisticRegression):
        raise TypeError(f"A fitted LogisticRegression is needed, not {type(model).__name__}.")
    check_is_fitted(model)
    return model


def _terms(model: LogisticRegression) -> tuple[list[str], list[Any], Array]:
    """Names of the terms, labels of their logits (empty for two classes), and estimates, logit by logit."""
    _refuse_multilabel(model, "tidy")
    names = [*(["Intercept"] if model.fit_intercept else []), *column_names(model)]
    blocks = [np.r_[b, w] if model.fit_intercept else w for b, w in zip(model.intercept_, model.coef_, strict=True)]
    labels: list[Any] = []
    if len(model.classes_) > 2:
        others = [label for label in model.classes_.tolist() if label != model.reference_]
        labels = [label for label in others for _ in names]
    return names * len(blocks), labels, np.concatenate(blocks)


def parameters_of(model: LogisticRegression) -> int:
    """How many coefficients were free to be fitted."""
    return len(model.coef_) * int(model.n_features_in_ + int(model.fit_intercept) - len(model._aliased))


def largest_log_likelihood(model: LogisticRegression) -> float:
    """The least upper bound of the log likelihood: 0 where the classes are separable, though nothing reaches it."""
    separable = model.separation_ is not None and model.separation_.verdict == "separable"
    return 0.0 if separable else model.log_likelihood_


def _columns(X: Any, chosen: list[int]) -> Any:
    if is_rows(X):
        return _SomeColumns(X, chosen)
    if is_frame(X):
        return as_frame(X)[:, chosen].to_native()
    return X[:, chosen] if hasattr(X, "shape") else np.asarray(X)[:, chosen]


class _SomeColumns(MappedRows):
    """The same rows with some of their columns."""

    def __init__(self, rows: Rows, chosen: list[int]) -> None:
        names = tuple(rows.names[j] for j in chosen)
        super().__init__(rows, lambda block: replace(block, X=dense_float64(block.X)[:, chosen], names=names))
        self.names, self.classes = names, getattr(rows, "classes", None)


def likelihood_ratio(larger: float, smaller: float) -> float:
    """Twice the difference of two log likelihoods, of nested models; one below zero is none."""
    statistic = 2 * (larger - smaller)
    if statistic < -1e-6 * max(abs(larger), abs(smaller)):
        raise ValueError(
            f"The smaller model fits better (log likelihood {smaller:.6g} against {larger:.6g}), which none that is "
            'nested does. Pass the rows and weights of the fit, or fit with solver="newton".'
        )
    return max(statistic, 0.0)


def _refuse_multilabel(model: LogisticRegression, what: str) -> None:
    if model.multilabel_:
        raise ValueError(f"{what} takes a model of one target; use it on each of model.estimators_.")


def check_unpenalized(model: LogisticRegression, what: str) -> None:
    """Refuse a fit whose log likelihood is not the largest there is."""
    _refuse_multilabel(model, what)
    if model.alpha > 0 or model.bias_reduction is not None:
        raise ValueError(f"{what} needs a plain maximum likelihood fit: alpha=0 and no bias_reduction.")
