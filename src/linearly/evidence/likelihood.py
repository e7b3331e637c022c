"""What may be said about a fitted logistic regression: the tables, odds ratios, and tests by the likelihood."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, expit, ndtr, ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.gauge import Gauge
from linearly.algorithm.objective import Logistic
from linearly.algorithm.optimizer import newton
from linearly.dataset.fold import quiet_blas
from linearly.dataset.mapped import MappedRows
from linearly.dataset.rows import Rows, as_frame, is_frame, is_rows, refuse_bad_numbers
from linearly.evidence.inference import refuse_level, told_apart
from linearly.evidence.opened import estimator_in, opened
from linearly.evidence.table import Table
from linearly.evidence.truth import plain
from linearly.kernels.matrices import dense_float64
from linearly.models.base import column_names
from linearly.models.labels import labelled_rows
from linearly.models.logistic import LogisticRegression

Array = NDArray[np.float64]


def tidy_logistic(model: LogisticRegression, level: float) -> Table:
    """A row for each term (and for each logit of K ≥ 3 classes, named by ``label``), with Wald tests and intervals."""
    refuse_level(level)
    terms, labels, estimate = _terms(model)
    error = np.sqrt(np.diagonal(model.covariance_))  # which says so where there is no root
    assert model._root is not None
    error = told_apart(model._root, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / error
    reach = ndtri(0.5 + level / 2) * error
    columns: dict[str, Any] = {"label": labels} if labels else {}
    columns |= {
        "term": terms,
        "estimate": estimate,
        "std_error": error,
        "statistic": statistic,
        "p_value": 2 * ndtr(-np.abs(statistic)),
        "conf_low": estimate - reach,
        "conf_high": estimate + reach,
    }
    notes = [f"Logits against {plain(model.reference_)!r}."] if labels else []
    if model.separation_ is not None:
        notes.append("The classes are separable: these figures are where the search was stopped, not estimates.")
    return Table(columns, notes=tuple(notes))


def glance_logistic(model: LogisticRegression) -> Table:
    """A row for the model: deviances, McFadden's pseudo-R², information criteria, and how the search ended."""
    _refuse_multilabel(model, "glance")
    log_likelihood, null = model.log_likelihood_, model.null_log_likelihood_
    parameters = parameters_of(model)
    notes = []
    if model.separation_ is not None:
        limit = "0, its limit" if model.separation_.verdict == "separable" else "where the search was stopped"
        notes.append(f"The classes are separable: no coefficients reach the largest likelihood. It is given {limit}.")
    return Table(
        {
            "deviance": [0.0 - 2 * log_likelihood],
            "null_deviance": [0.0 - 2 * null],
            "pseudo_r_squared": [1 - log_likelihood / null if null else np.nan],
            "log_likelihood": [log_likelihood],
            "aic": [-2 * log_likelihood + 2 * parameters],
            "bic": [-2 * log_likelihood + np.log(model.n_rows_) * parameters],
            "n": [model.n_rows_],
            "df_residual": [model.n_rows_ - parameters],
            "passes": [model.n_passes_],
            "converged": [bool(model.converged_)],
            "condition": [model.condition_],
        },
        notes=tuple(notes),
    )


def augment_logistic(model: LogisticRegression, X: Any, y: Any, sample_weight: Any = None) -> Table:
    """A row for each row of a two-class fit: probability, residuals (deviance, Pearson), leverage, Cook's distance."""
    _refuse_multilabel(model, "augment")
    if len(model.classes_) > 2:
        raise ValueError("augment takes a logistic regression of two classes.")
    _, rows = labelled_rows(model, X, y, sample_weight, classes=model.classes_, reset=False)
    root, first = model._root, int(model.fit_intercept)
    if root is None:
        raise ValueError('Leverage needs the Hessian, which solver="lbfgs" does not form: fit with solver="newton".')
    parts = []
    for block in rows:
        refuse_bad_numbers(block)
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


def odds_ratios(model: LogisticRegression, *, level: float = 0.95) -> Table:
    """exp(coefficient) of each feature with its interval: by what the odds are multiplied for one unit more."""
    model = _fitted(estimator_in(model))
    table = tidy_logistic(model, level)
    first = int(model.fit_intercept)
    chosen = [i for i in range(len(table)) if i % (first + model.n_features_in_) >= first]
    columns: dict[str, Any] = {"label": table["label"][chosen]} if "label" in table.columns else {}
    columns["term"] = table["term"][chosen]
    with np.errstate(over="ignore"):
        for name, source in (("odds_ratio", "estimate"), ("conf_low", "conf_low"), ("conf_high", "conf_high")):
            columns[name] = np.exp(table[source][chosen])
    return Table(columns, notes=table.notes)


@quiet_blas()
def likelihood_ratio_tests(model: LogisticRegression, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Each feature left out in turn: ``term, statistic, df, p_value`` of twice the fall in log likelihood.

    The rows are those of the fit; for a `Model`, X is the data that it was fitted to. Levels of a category are left out
    one by one.
    """
    model, X = opened(model, X, y, sample_weight, "likelihood_ratio_tests")
    refuse_penalised(_fitted(model), "likelihood_ratio_tests")
    names = column_names(model)
    statistics, df, whole = [], [], parameters_of(model)
    plainly = clone(model).set_params(covariance="classical")  # the likelihood does not depend on it
    for j in range(len(names)):
        others = [i for i in range(len(names)) if i != j]
        least, left = model.null_log_likelihood_, int(model.fit_intercept) * (len(model.classes_) - 1)
        if others:
            small = clone(plainly).fit(_columns(X, others), y, sample_weight)
            least, left = small.log_likelihood_, parameters_of(small)
        df.append(whole - left)
        # A column that the others make up for, being a combination of them, cannot be tested.
        statistics.append(max(2 * (model.log_likelihood_ - least), 0.0) if df[-1] > 0 else np.nan)
    return Table(
        {
            "term": list(names),
            "statistic": np.array(statistics),
            "df": np.array(df),
            "p_value": chdtrc(np.maximum(df, 1), np.array(statistics)),
        }
    )


@quiet_blas()
def profile_intervals(
    model: LogisticRegression, X: Any, y: Any = None, sample_weight: Any = None, *, level: float = 0.95
) -> Table:
    """Intervals by the profile likelihood, ``term, estimate, conf_low, conf_high``: where it falls by a χ² quantile.

    They follow the curvature of the likelihood away from the maximum, so they are not symmetric, and are better than
    Wald's in small samples. Each end takes some refits with one coefficient held; it is NaN where rounding alone moves
    the likelihood by more, as it does for the intercept of columns far from zero. For a `Model`, X is the data that it
    was fitted to.
    """
    model, X = opened(model, X, y, sample_weight, "profile_intervals")
    refuse_penalised(_fitted(model), "profile_intervals")
    if model.separation_ is not None or not model.converged_:
        raise ValueError(
            "profile_intervals starts from a maximum of the likelihood, and this fit did not reach one"
            + (", because its classes are separable" if model.separation_ is not None else "")
            + '. Fit with bias_reduction="firth" and take the intervals of tidy.'
        )
    refuse_level(level)
    _, rows = labelled_rows(model, X, y, sample_weight, classes=model.classes_, reset=False)
    gauge = Gauge.of(next(iter(rows)), None)
    first, unit = int(model.fit_intercept), gauge.unit
    reference = int(np.flatnonzero(model.classes_ == model.reference_)[0])
    terms, labels, estimate = _terms(model)
    error = np.sqrt(np.diagonal(model.covariance_))
    q = first + len(unit)
    size = np.r_[np.ones(first), unit]
    B = estimate.reshape(-1, q).T * size[:, None]
    # The intercept is the logit at zero; the slopes are the same from anywhere, and best told from among the rows.
    near = gauge if first else Gauge(0 * unit, unit)
    moved = B.copy()
    moved[:first] += (near.shift / unit) @ B[first:]
    starts = [(Gauge(0 * unit, unit), B)] * first + [(near, moved)] * len(unit)
    limit = float(chdtri(1, 1 - level)) / 2
    low, high = np.empty(len(terms)), np.empty(len(terms))
    for at in range(len(terms)):
        i, a = at % q, at // q
        objective = Logistic(len(model.classes_), reference, starts[i][0], model.fit_intercept)
        for ends, sign in ((low, -1.0), (high, 1.0)):
            ends[at] = _profile_end(
                rows, objective, starts[i][1], (i, a), sign * error[at] * size[i], -model.log_likelihood_, limit
            )
        low[at], high[at] = low[at] / size[i], high[at] / size[i]
    columns: dict[str, Any] = {"label": labels} if labels else {}
    return Table(columns | {"term": terms, "estimate": estimate, "conf_low": low, "conf_high": high})


def _profile_end(
    rows: Rows, objective: Logistic, B: Array, at: tuple[int, int], error: float, best: float, limit: float
) -> float:
    i, a = at
    start = B.copy()

    def fall(value: float) -> float:
        nonlocal start
        held = start.copy()
        held[i, a] = value
        found = newton(lambda b, h: rows.fold(objective.at(b, h)), held, hold=at, stop_when_separated=False)
        start = found.B
        return found.last.loss - best - limit

    inner, outer = B[i, a], B[i, a] + 1.5 * error
    if not fall(inner) < 0:
        return float("nan")
    for _ in range(60):
        if fall(outer) > 0:
            return float(brentq(fall, inner, outer, xtol=1e-12 + 1e-10 * abs(error), rtol=1e-12))
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
    aliased = 0 if model._root is None else len(model._root) - model._root.shape[1]
    return int(model.coef_.size + int(model.fit_intercept) * len(model.coef_)) - aliased


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


def _refuse_multilabel(model: LogisticRegression, what: str) -> None:
    if model.multilabel_:
        raise ValueError(f"{what} takes a model of one target; use it on each of model.estimators_.")


def refuse_penalised(model: LogisticRegression, what: str) -> None:
    """Refuse a fit whose log likelihood is not the largest there is."""
    _refuse_multilabel(model, what)
    if model.alpha > 0 or model.bias_reduction is not None:
        raise ValueError(f"{what} needs a plain maximum likelihood fit: alpha=0 and no bias_reduction.")
