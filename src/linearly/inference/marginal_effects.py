"""Average the effects of columns on predictions over rows: slopes of numbers and differences of categories.

One pass over the rows sums the effects and their derivatives by the coefficients, block by block. Standard errors
follow by the delta method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.identification import is_estimable
from linearly.dataset.design.counts import Counts
from linearly.dataset.design.cut import Cut
from linearly.dataset.design.design import Design
from linearly.dataset.design.splines import Spline
from linearly.dataset.design.terms import Category, Factor, Numeric, Term
from linearly.dataset.design.transforms import (
    ExpressionFactor,
    ExpressionTerm,
    OrthogonalPolynomial,
    RawPolynomial,
    ScaledTerm,
)
from linearly.dataset.formula.derivative import derivative
from linearly.dataset.formula.expression import evaluate
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.reduce import FieldwiseSum
from linearly.dataset.rows.tables import Chunk
from linearly.dataset.sources import read_as
from linearly.formatting import join_names, shown
from linearly.inference.coefficients import Coefficients, coefficients_of
from linearly.inference.fitted_terms import BIAS_NOTE, MAX_NAMED_TERMS, SCALES, level_text
from linearly.inference.probabilities import class_columns, class_scores
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import check_level, wald_columns
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array, to_float64
from linearly.kernels.matrices import dense_float64
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_choice
from linearly.models.score_classifier import softmax
from linearly.table import Table

SLOPE = "dY/dX"
_ROWS = 2**13  # at once
_STEPS = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))  # five-point rule of the first derivative


@single_threaded_blas()
def marginal_effects(
    model: Any, data: Any, *, columns: Sequence[str] | None = None, scale: str = "response", level: float = 0.95
) -> Table:
    """Return average effects over rows: slopes of numbers and differences of categories.

    Parameters
    ----------
    model : Model
        A linear, ridge or logistic model from `fit` or `load`.
    data : data frame, dict, path or table
        The rows to average over: the fitted rows or others. They are read once.
    columns : sequence of str, default=None
        Columns whose effects are computed; all by default.
    scale : {"response", "link"}, default="response"
        For logistic models: effects on probabilities, or on logits.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Table
        Columns ``term, contrast, estimate, std_error, statistic, p_value, conf_low, conf_high``. The contrast of a
        numeric column is its average slope, ``dY/dX``. A category has one row per level, with the difference from the
        reference level. The contrast of a boolean column is ``True - False``. With two classes, the effect is on the
        probability of the second class. With three or more classes, the table has a column ``label``. The average uses
        the weights of the fit. A row of successes and failures counts once.

    Raises
    ------
    TypeError
        If the model is not a `Model`, or has no standard errors.
    ValueError
        If a column is unknown.

    See Also
    --------
    marginal_means : Means over a balanced grid instead of rows.

    Notes
    -----
    Slopes are computed through interactions, ``poly``, splines, logarithms and other functions by exact derivatives.
    The few functions without one, such as ``pmax``, are differentiated by a five-point rule. Standard errors treat the
    rows as fixed.

    References
    ----------
    .. [1] Bartus (2005), Estimation of marginal effects using margeff.

    Examples
    --------
    >>> import linearly as ly
    >>> data = {"kind": list("aabbcc"), "x": [0.0, 1.0, 1.0, 2.0, 2.0, 4.0], "y": [1.0, 2.1, 4.0, 5.2, 3.9, 6.0]}
    >>> ly.marginal_effects(ly.fit(data, formula="y ~ kind + x"), data)["contrast"].tolist()
    ['b - a', 'c - a', 'dY/dX']
    """
    check_level(level)
    check_choice("scale", scale, SCALES)
    if unwrap_estimator(model) is model:
        raise TypeError(
            "Marginal effects require a Model, which has columns, not an estimator. Fit the model with ly.fit."
        )
    coefficients = coefficients_of(model, "marginal_effects")
    estimator, design = model.estimator, replace(model.design, target=None, groups=None)
    if not design.features:
        raise ValueError(
            "The model has only an intercept, so it has no effect to average. Add a column to the formula."
        )
    target = model.design.target
    trials = target.factor if target is not None and isinstance(target.factor, Counts) else None
    trial_columns = () if trials is None else trials.required_columns
    tables = read_as(data, design).select(tuple(dict.fromkeys((*design.required_columns, *trial_columns))))
    effects = _effects(design, columns, tables.schema)
    least_squares = isinstance(estimator, LeastSquaresBase)
    linear = least_squares or scale == "link"
    classes = () if linear else tuple(estimator.classes_.tolist())
    total = tables.reduce(
        _SumEffects(
            design, effects, coefficients.null, bool(estimator.fit_intercept),
            None if linear else (coefficients.value, class_columns(estimator), len(classes)), trials,
        )
    )  # fmt: skip
    shown_classes = [] if linear else [1] if len(classes) == 2 else list(range(len(classes)))
    value, U, labels = _averages(total, coefficients, shown_classes, classes)
    repeats = len(value) // len(effects)
    known = np.repeat(total.undetermined == 0, repeats)
    value, error = np.where(known, value, np.nan), np.where(known, coefficients.std_errors(U), np.nan)
    dof = coefficients.t_dof(np.ones((len(U), coefficients.width)), U)
    keys: dict[str, list[Any]] = {
        "term": [effect.column for effect in effects for _ in range(repeats)],
        "contrast": [effect.contrast for effect in effects for _ in range(repeats)],
    }
    if labels:
        keys["label"] = labels * len(effects)
    lost = [f"{effect.column} ({effect.contrast})" for effect, n in zip(effects, total.undetermined, strict=True) if n]
    notes = [BIAS_NOTE] if least_squares and estimator.solution_.alpha > 0 else []
    if not linear and len(classes) == 2:
        notes.append(f"The effects are on the probability of {classes[1]!s}.")
    if lost:
        names = join_names(lost, MAX_NAMED_TERMS, ", ")
        notes.append(f"The rows of the fit do not determine these effects (empty cells or aliased columns): {names}.")
    return Table({**keys, **wald_columns(value, error, dof, level)}, notes=notes)


def _averages(
    total: _Sums, coefficients: Coefficients, shown_classes: Sequence[int], classes: Sequence[Any]
) -> tuple[Array, Array, list[Any]]:
    """Return the average effects, the rows of their covariance, and the labels of each effect."""
    if classes:
        value = (total.value / total.weight)[:, shown_classes].ravel()
        J = (total.gradient / total.weight)[:, shown_classes].reshape(len(value), -1)
        labels = [classes[k] for k in shown_classes] if len(shown_classes) > 1 else []
        with np.errstate(invalid="ignore"):
            return value, J @ coefficients.root, labels
    L = np.concatenate([[np.kron(unit, row) for unit in np.eye(coefficients.n_logits)] for row in
                        total.gradient[:, 0] / total.weight])  # fmt: skip
    value, U = coefficients.combine(L)
    return value, U, list(coefficients.labels)


@dataclass(frozen=True)
class _Effect:
    """The effect of a column: its slope, or the change from one value to another."""

    column: str
    contrast: str
    pair: tuple[Any, Any] | None = None  # from, to


def _effects(design: Design, columns: Sequence[str] | None, schema: Any) -> tuple[_Effect, ...]:
    categories = {category.name: category for category in design.categories}
    names = design.features if columns is None else tuple(columns)
    effects: list[_Effect] = []
    for name in names:
        if name not in design.features:
            raise ValueError(f"Column {shown(name)} is not in the model. Choose one of {join_names(design.features)}.")
        if name in categories:
            effects += _level_effects(categories[name])
        elif schema[name] == nw.Boolean:
            effects.append(_Effect(name, "True - False", (False, True)))
        else:
            effects.append(_Effect(name, SLOPE))
    return tuple(effects)


def _level_effects(category: Category) -> list[_Effect]:
    base = category.levels[0] if category.reference is None else category.reference

    others = [level for level in category.levels if level != base]
    return [_Effect(category.name, f"{level_text(level)} - {level_text(base)}", (base, level)) for level in others]


@dataclass(frozen=True, eq=False)
class _Sums(FieldwiseSum):
    """Sums over rows: weights, effects, their derivatives by the coefficients, and rows that are not determined."""

    weight: float
    value: Array  # effects × classes; zeros for a linear predictor
    gradient: Array  # effects × classes × coefficients
    undetermined: NDArray[np.int64]


@dataclass(frozen=True)
class _SumEffects:
    """Reduce a chunk to its sums. Picklable, so that it can be sent to workers."""

    design: Design
    effects: tuple[_Effect, ...]
    null: Array | None
    intercept: bool
    probabilities: tuple[Array, NDArray[np.intp], int] | None  # coefficients, class of each logit, number of classes
    trials: Counts | None = None  # rows without any are absent

    def __call__(self, chunk: Chunk) -> _Sums:
        # Row groups of files may be large, and a block is copied several times.
        return reduce(add, map(self._sums, chunk.pieces(_ROWS)))

    def _sums(self, chunk: Chunk) -> _Sums:
        if self.design.missing == "drop":
            complete = self.design.complete(chunk)
            chunk = chunk if complete is None else chunk.rows(complete)
        weight = np.ones(len(chunk))
        if self.design.weight is not None:
            weight = float_column(chunk.frame[self.design.weight], chunk.where)
        if self.trials is not None:
            weight = (weight > 0) * self.trials.has_trials(chunk)
        chunk, weight = (chunk, weight) if (weight > 0).all() else (chunk.rows(weight > 0), weight[weight > 0])
        q = len(self.design.names) + int(self.intercept)
        K = 1 if self.probabilities is None else self.probabilities[2]
        width = q if self.probabilities is None else len(self.probabilities[0])
        value, gradient = np.zeros((len(self.effects), K)), np.zeros((len(self.effects), K, width))
        undetermined = np.zeros(len(self.effects), dtype=np.int64)
        needs_rows = self.probabilities is not None
        X = self._matrix(self.design, chunk) if needs_rows and len(chunk) else np.zeros((len(chunk), q))
        offset = None if self.design.offset is None or not needs_rows else self.design.offset_values(chunk)
        P = self._class_probabilities(X, offset)
        for i, effect in enumerate(self.effects if len(chunk) else ()):
            if effect.pair is None:
                D = self._slopes(effect.column, chunk, q)
                undetermined[i] = self._not_estimable(D)
                value[i], gradient[i] = self._slope_sums(X, P, D, weight)
            else:
                low, high = (self._with_value(effect.column, X, chunk, end) for end in effect.pair)
                undetermined[i] = self._not_estimable(low) + self._not_estimable(high)
                if self.probabilities is None:
                    gradient[i, 0] = weight @ (high - low)
                    continue
                one, two = (self._probability_sums(end, weight, offset) for end in (high, low))
                value[i], gradient[i] = one[0] - two[0], one[1] - two[1]
        return _Sums(float(weight.sum()), value, gradient, undetermined)

    def _not_estimable(self, D: Array) -> int:
        return 0 if self.null is None else int((~is_estimable(D, D, self.null)).sum())

    def _matrix(self, design: Design, chunk: Chunk) -> Array:
        X = dense_float64(replace(design, weight=None).block(chunk).X)
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else X

    def _positions(self, column: str) -> list[tuple[Term, slice]]:
        """Return the terms that read a column, with the places of their columns."""
        found, at = [], int(self.intercept)
        for term in self.design.terms:
            if any(column in factor.required_columns for factor in term.factors):
                found.append((term, slice(at, at + term.width)))
            at += term.width
        return found

    def _with_value(self, column: str, X: Array, chunk: Chunk, end: Any) -> Array:
        """Return the rows of the design with one value in a column."""
        number = bool(end) if isinstance(end, np.bool_) else end
        changed = replace(chunk, frame=chunk.frame.with_columns(nw.lit(number).alias(column)))
        result = X.copy()
        if self.intercept:
            result[:, 0] = 1.0
        for term, place in self._positions(column):
            result[:, place] = to_float64(term.values(changed))
        if self.probabilities is None and self.null is not None:  # the other columns matter for what is estimable
            return self._matrix(self.design, changed)
        return result

    def _class_probabilities(self, X: Array, offset: Array | None) -> Array:
        if self.probabilities is None:
            return np.zeros((0, 0))
        coefficients, columns, K = self.probabilities
        scores = class_scores(X, coefficients, columns, K)
        if offset is not None:
            scores[:, 1] += offset
        return softmax(scores)

    def _slopes(self, column: str, chunk: Chunk, q: int) -> Array:
        """Return the derivatives of the rows by a column; a single row if all rows have the same."""
        found = self._positions(column)
        D = np.zeros((1 if all(term.plain is not None for term, _ in found) else len(chunk), q))
        for term, place in found:
            D[:, place] = 1.0 if term.plain is not None else _term_slope(term, column, chunk)
        return D

    def _slope_sums(self, X: Array, P: Array, D: Array, weight: Array) -> tuple[Array, Array]:
        def total(weights: Array) -> Array:
            return weights @ D if len(D) == len(weights) else weights.sum() * D[0]

        if self.probabilities is None:
            return np.zeros(1), total(weight)[None, :]
        coefficients, columns, K = self.probabilities
        s = class_scores(D, coefficients, columns, K)
        mean = (P * s).sum(axis=1)
        value = weight @ (P * (s - mean[:, None]))
        gradient = np.zeros((K, len(columns), X.shape[1]))
        for j, own in enumerate(columns):
            fall = P[:, own] * (s[:, own] - mean)  # of the mean slope, by logit j
            for k in range(K):
                rise = P[:, k] * (float(k == own) - P[:, own])
                gradient[k, j] = (weight * (rise * (s[:, k] - mean) - P[:, k] * fall)) @ X + total(weight * rise)
        return value, gradient.reshape(K, -1)

    def _probability_sums(self, X: Array, weight: Array, offset: Array | None) -> tuple[Array, Array]:
        assert self.probabilities is not None
        _, columns, K = self.probabilities
        P = self._class_probabilities(X, offset)
        gradient = np.array(
            [[(weight * P[:, k] * (float(k == own) - P[:, own])) @ X for own in columns] for k in range(K)]
        )
        return weight @ P, gradient.reshape(K, -1)


# --- derivatives of terms -------------------------------------------------------------------------


def _term_slope(term: Term, column: str, chunk: Chunk) -> Array:
    """Return the derivative of a term's columns by a column: the product rule over its factors."""
    full = term.full or (False,) * len(term.factors)
    values = [to_float64(factor.values(chunk, own)) for factor, own in zip(term.factors, full, strict=True)]
    total = np.zeros((len(chunk), term.width))
    for i, factor in enumerate(term.factors):
        if column in factor.required_columns:
            parts = [*values[:i], _factor_slope(factor, column, chunk, full[i]), *values[i + 1 :]]
            total += reduce(_column_products, parts)
    return total


def _column_products(a: Array, b: Array) -> Array:
    """Return every column of a times every column of b; those of a vary fastest."""
    return np.asarray((b[:, :, None] * a[:, None, :]).reshape(len(a), -1))


def _factor_slope(factor: Factor, column: str, chunk: Chunk, full: bool = False) -> Array:
    if isinstance(factor, Numeric):
        return np.ones((len(chunk), 1))
    if isinstance(factor, (Category, Cut)):  # steps: flat almost everywhere
        return np.zeros((len(chunk), len(factor.names(full))))
    known = (ExpressionTerm, ScaledTerm, RawPolynomial, OrthogonalPolynomial, Spline)
    inner = derivative(factor.expression, column, chunk) if isinstance(factor, ExpressionFactor) else None
    if inner is None or not isinstance(factor, known):
        return _numeric_slope(factor, column, chunk)
    if isinstance(factor, ExpressionTerm):
        return inner[:, None]
    if isinstance(factor, ScaledTerm):
        return np.asarray((inner / (factor.deviation or 1.0))[:, None])
    x = evaluate(factor.expression, chunk)
    if isinstance(factor, RawPolynomial):
        return np.stack([k * x ** (k - 1) * inner for k in range(1, factor.degree + 1)], axis=1)
    if isinstance(factor, Spline):
        return factor.basis(x, slope=True) * inner[:, None]
    return np.asarray(_orthogonal_slope(factor, x - factor.centre) * inner[:, None])


def _orthogonal_slope(factor: OrthogonalPolynomial, t: Array) -> Array:
    """Return the derivatives of orthogonal polynomials, by the derivative of their recurrence."""
    p, d = np.zeros((len(t), factor.degree + 1)), np.zeros((len(t), factor.degree + 1))
    p[:, 0] = 1.0 / np.sqrt(factor.rows)
    for k in range(factor.degree):
        p[:, k + 1] = (t - factor.alpha[k]) * p[:, k]
        d[:, k + 1] = p[:, k] + (t - factor.alpha[k]) * d[:, k]
        if k:
            p[:, k + 1] -= factor.beta[k - 1] * p[:, k - 1]
            d[:, k + 1] -= factor.beta[k - 1] * d[:, k - 1]
        p[:, k + 1] /= factor.beta[k]
        d[:, k + 1] /= factor.beta[k]
    return d[:, 1:]


def _numeric_slope(factor: Factor, column: str, chunk: Chunk) -> Array:
    """Return the derivative of a factor's columns by a five-point rule with steps of 1/1024 of the value."""
    x = float_column(chunk.frame[column], chunk.where)
    h = 2.0**-10 * np.maximum(np.abs(x), 2.0**-10)
    total = np.zeros((len(chunk), len(factor.names(False))))
    for step, share in _STEPS:
        moved = nw.new_series(column, x + step * h, backend=nw.get_native_namespace(chunk.frame))
        changed = replace(chunk, frame=chunk.frame.with_columns(moved))
        total += share * to_float64(factor.values(changed, False))
    return np.asarray(total / h[:, None])
