"""Estimate the means of categories over a balanced grid of the others, and compare them in pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from scipy.special import expit

from linearly.dataset.design.counts import Counts
from linearly.dataset.design.design import Design, DesignRows
from linearly.dataset.design.transforms import OrthogonalPolynomial, RawPolynomial, ScaledTerm
from linearly.dataset.formula.expression import Name, columns_of
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.tables import Chunk
from linearly.dataset.sources import read_as
from linearly.formatting import join_names, shown
from linearly.inference.coefficients import Coefficients, coefficients_of
from linearly.inference.fitted_terms import BIAS_NOTE, MAX_NAMED_TERMS, SCALES, level_text
from linearly.inference.multiple_comparisons import adjust_note, adjusted_wald, adjusted_within, check_adjust
from linearly.inference.probabilities import class_columns, probability_gradients
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import check_level
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_choice
from linearly.table import Table

MAX_GRID_POINTS = 100_000


@single_threaded_blas()
def marginal_means(
    model: Any,
    factors: str | Sequence[str],
    by: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    adjust: str | None = None,
    *,
    scale: str = "response",
    level: float = 0.95,
    data: Any = None,
) -> Table:
    """Return the estimated mean of each level of a category, over equally weighted levels of the other categories.

    Parameters
    ----------
    model : Model
        A linear, ridge or logistic model from `fit` or `load`.
    factors : str or sequence of str
        Category, or several categories for all combinations of their levels. A numeric column is accepted if `at` lists
        its values.
    by : str or sequence of str, default=None
        Further categories. Each of their levels has separate means and separate adjustments.
    at : mapping, default=None
        Values of columns: a number or several for numeric columns, some of the levels for categories. Numeric columns
        that are not given are at their means, categories at all levels, and the offset at its mean. The means use the
        weights of the fit. A row of successes and failures counts once.
    adjust : {"holm", "bh"} or None, default=None
        Adjustment of the p-values. The intervals are then Bonferroni intervals.
    scale : {"response", "link"}, default="response"
        For logistic models: probabilities, or logits.
    level : float, default=0.95
        Confidence level of the intervals.
    data : data frame, dict, path or table, default=None
        Rows to compute means that the model does not contain. These are means of numeric columns that occur only inside
        functions such as ``log(x)``, interactions or the offset.

    Returns
    -------
    Table
        The factors, then ``estimate, std_error, statistic, p_value, conf_low, conf_high``. With two classes, a mean of
        logits and its interval are converted to probabilities of the second class. The null hypothesis is that the
        logit is 0. With three or more classes, probabilities are averaged, and the table has a column ``label``. Means
        that the rows do not determine are NaN, and a note names them.

    Raises
    ------
    TypeError
        If the model is not a `Model`, or has no standard errors.
    ValueError
        If a column is unknown, is not a category, or has no known mean.

    See Also
    --------
    pairwise : Differences of these means.
    marginal_effects : Average effects over rows.

    References
    ----------
    .. [1] Searle, Speed, Milliken (1980), Population Marginal Means in the Linear Model: An Alternative to Least
       Squares Means.

    Examples
    --------
    >>> import linearly as ly
    >>> data = {"kind": list("aabbcc"), "x": [0.0, 1.0, 1.0, 2.0, 2.0, 4.0], "y": [1.0, 2.1, 4.0, 5.2, 3.9, 6.0]}
    >>> ly.marginal_means(ly.fit(data, formula="y ~ kind + x"), "kind")["estimate"].round(2)
    array([2.81, 4.78, 3.51])
    """
    check_adjust(adjust)
    check_level(level)
    check_choice("scale", scale, SCALES)
    coefficients = coefficients_of(model, "marginal_means")
    grid = _Grid.of(model, factors, by, at, data)
    columns = {name: [cell[j] for cell in grid.cells] for j, name in enumerate(grid.focus)}
    notes = [*grid.notes(model), *_penalty_note(model)]
    if coefficients.labels and scale == "response":
        found = _Probabilities.of(model, coefficients, grid)
        columns = {name: [v for v in values for _ in found.labels] for name, values in columns.items()}
        columns["label"] = list(found.labels) * len(grid.cells)
        value, (error, dof) = found.value, found.tests(coefficients)
    else:
        L, columns = _linear_cells(coefficients, grid.average(), columns)
        value, U = coefficients.combine(L)
        value = value + np.repeat(grid.average_offset(), coefficients.n_logits)
        error, dof = coefficients.std_errors(U), coefficients.t_dof(L, U)
    beside = [columns[name] for name in (*grid.focus[grid.n_factors :], *(["label"] if "label" in columns else []))]
    groups = list(zip(*beside, strict=True)) or [()] * len(value)
    wald = adjusted_within(groups, value, error, dof, level, adjust)
    if _is_logistic(model) and not coefficients.labels and scale == "response":
        wald = _as_probabilities(wald)
        label = unwrap_estimator(model).classes_[1]
        notes.append(f"Estimates are probabilities of {label!s}. The tests are that the logit is 0.")
    keys = [" ".join(map(str, key)) for key in zip(*columns.values(), strict=True)]
    notes += _undetermined(keys, wald["estimate"]) + adjust_note(adjust, len(keys) // len(set(groups)))
    return Table({**columns, **wald}, notes=notes)


@single_threaded_blas()
def pairwise(
    model: Any,
    factors: str | Sequence[str],
    by: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    adjust: str | None = "tukey",
    *,
    scale: str = "response",
    level: float = 0.95,
    data: Any = None,
) -> Table:
    """Return the differences of all pairs of marginal means.

    Parameters
    ----------
    model : Model
        A linear, ridge or logistic model from `fit` or `load`.
    factors : str or sequence of str
        Category whose levels are compared, or several whose combinations are compared.
    by : str or sequence of str, default=None
        Categories; pairs are compared and adjusted separately within each of their levels.
    at : mapping, default=None
        Values of columns, as in `marginal_means`.
    adjust : {"tukey", "holm", "bh"} or None, default="tukey"
        Adjustment of the p-values for all pairs. With "holm" and "bh", the intervals are Bonferroni intervals.
    scale : {"response", "link"}, default="response"
        For logistic models of two classes: odds ratios, or differences of logits. For three or more: differences of
        probabilities, or of logits.
    level : float, default=0.95
        Confidence level of the intervals.
    data : data frame, dict, path or table, default=None
        Rows for means that the model does not contain, as in `marginal_means`.

    Returns
    -------
    Table
        The columns of `by`, then ``contrast, estimate, std_error, statistic, p_value, conf_low, conf_high``. Three or
        more classes add ``label``.

    Raises
    ------
    TypeError
        If the model is not a `Model`, or has no standard errors.
    ValueError
        If a column is unknown, is not a category, or has no known mean.

    See Also
    --------
    marginal_means : The means themselves.
    hypotheses : Test any other combination.

    References
    ----------
    .. [1] Tukey (1953), The Problem of Multiple Comparisons; Kramer (1956), for unequal numbers of rows.

    Examples
    --------
    >>> import linearly as ly
    >>> data = {"kind": list("aabbcc"), "x": [0.0, 1.0, 1.0, 2.0, 2.0, 4.0], "y": [1.0, 2.1, 4.0, 5.2, 3.9, 6.0]}
    >>> ly.pairwise(ly.fit(data, formula="y ~ kind + x"), "kind")["contrast"].tolist()
    ['a - b', 'a - c', 'b - c']
    """
    check_adjust(adjust, tukey=True)
    check_level(level)
    check_choice("scale", scale, SCALES)
    coefficients = coefficients_of(model, "pairwise")
    grid = _Grid.of(model, factors, by, at, data)
    odds = _is_logistic(model) and not coefficients.labels and scale == "response"
    found = _Probabilities.of(model, coefficients, grid) if coefficients.labels and scale == "response" else None
    labels = () if found is None else found.labels
    k = grid.n_factors
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, cell in enumerate(grid.cells):
        groups.setdefault(cell[k:], []).append(i)
    average = grid.average() if found is None else np.zeros((0, 0))
    offset = grid.average_offset()
    parts: list[dict[str, Any]] = []
    for key, members in groups.items():
        pairs = list(combinations(members, 2))
        if not pairs:
            raise ValueError(
                f"{join_names(grid.focus[:k])} has only one level here, so no pair can be compared. Choose "
                "another column."
            )
        one, two = ([pair[end] for pair in pairs] for end in (0, 1))
        names = [_pair_name(grid.cells[i][:k], grid.cells[j][:k], odds) for i, j in pairs]
        for which, label in enumerate(labels or coefficients.labels or ("",)):
            if found is None:
                L = _one_logit(coefficients, average[one] - average[two], which)
                value, U = coefficients.combine(L)
                value = value + offset[one] - offset[two]
                error, dof = coefficients.std_errors(U), coefficients.t_dof(L, U)
            else:
                value, error, dof = found.difference(coefficients, one, two, which)
            wald = adjusted_wald(value, error, dof, level, adjust, len(members))
            part = {name: [level] * len(pairs) for name, level in zip(grid.focus[k:], key, strict=True)}
            part |= {"contrast": names} | ({"label": [label] * len(pairs)} if label != "" else {})
            parts.append(part | (_exponentials(wald) if odds else wald))
    columns = {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}
    family = len(next(iter(groups.values())))
    notes = [
        *grid.notes(model),
        *_penalty_note(model),
        *(["Estimates are odds ratios. The tests are that the ratio is 1."] if odds else []),
    ]
    notes += _undetermined(columns["contrast"].tolist(), columns["estimate"])
    notes += adjust_note(adjust, family * (family - 1) // 2, family)
    return Table(columns, notes=notes)


@dataclass(frozen=True, eq=False)
class _Grid:
    """The points of a balanced grid, cell by cell of the categories in focus, as rows of the design."""

    focus: tuple[str, ...]  # the factors, then those of `by`
    n_factors: int
    cells: tuple[tuple[Any, ...], ...]
    X: Array  # with a column of ones if the model has an intercept
    offset: Array  # of the points
    averaged: tuple[str, ...]  # other categories
    fixed: dict[str, float]  # numeric columns

    @staticmethod
    def of(model: Any, factors: Any, by: Any, at: Mapping[str, Any] | None, data: Any) -> _Grid:
        """Return the grid of a model; raise for columns that are not categories and have no values."""
        if unwrap_estimator(model) is model:
            raise TypeError(
                "Marginal means require a Model, which has categories, not an estimator. Fit the model with ly.fit."
            )
        design: Design = model.design
        chosen, beside = _as_names(factors, design), _as_names(by, design)
        given = {_plain_name(name, design): v for name, v in (at or {}).items()}
        if (
            design.offset is not None
            and design.offset_mean is not None
            and not given.keys() & columns_of(design.offset)
        ):
            mean, design = design.offset_mean, replace(design, offset=None)  # no value of its columns is asked for
        else:
            mean = 0.0
        values = _values(model, design, given, data)
        focus = (*chosen, *beside)
        levels = {category.name for category in design.categories}
        for name in focus:
            if name not in values:
                raise ValueError(
                    f"Column {shown(name)} is not in the model. Choose one of {join_names(design.features)}."
                )
            if name not in levels and len(values[name]) < 2:
                raise ValueError(f"Column {name!r} is numeric. List its values, as in at={{{name!r}: [0, 1]}}.")
        if not chosen or len(set(focus)) < len(focus):
            raise ValueError("No categories are named, or some are named twice. Name one or more distinct categories.")
        others = [name for name in values if name not in focus]
        size = prod(len(some) for some in values.values())
        if size > MAX_GRID_POINTS:
            raise ValueError(
                f"The grid has {size:,} points, more than the limit of {MAX_GRID_POINTS:,}. Fix some categories with "
                "at=."
            )
        order = [*reversed(focus), *others]
        points = list(product(*(values[name] for name in order)))
        columns = {name: [point[j] for point in points] for j, name in enumerate(order)}
        rows = DesignRows(read_as(columns, design), design.without_target())
        blocks = list(rows)
        X = np.concatenate([dense_float64(block.X) for block in blocks])
        offset = np.concatenate([np.full(len(b), mean or 0.0) if b.offset is None else b.offset for b in blocks])
        if model.estimator.fit_intercept:
            X = np.column_stack([np.ones(len(X)), X])
        cells = tuple(tuple(reversed(cell)) for cell in product(*(values[name] for name in reversed(focus))))
        fixed = {name: values[name][0] for name in others if name not in levels and len(values[name]) == 1}
        averaged = tuple(name for name in others if len(values[name]) > 1)
        return _Grid(focus, len(chosen), cells, X, offset, averaged, fixed)

    def average(self) -> Array:
        """Return the mean row of each cell."""
        return np.asarray(self.X.reshape(len(self.cells), -1, self.X.shape[1]).mean(axis=1))

    def average_offset(self) -> Array:
        """Return the mean offset of each cell."""
        return np.asarray(self.offset.reshape(len(self.cells), -1).mean(axis=1))

    def notes(self, model: Any) -> list[str]:
        """Return what the means are averaged over and where numbers are."""
        notes = []
        if self.averaged:
            notes.append(f"Averaged over equally weighted levels of {join_names(self.averaged)}.")
        if self.fixed:
            points = [f"{name} = {value:.4g}" for name, value in self.fixed.items()]
            notes.append(f"At {join_names(points, 8, ', ')}.")
        return notes


@dataclass(frozen=True, eq=False)
class _Probabilities:
    """Means of the probabilities of K classes in each cell, and the rows of their covariance."""

    labels: tuple[Any, ...]
    value: Array  # cell by cell, all labels of a cell together
    U: Array

    @staticmethod
    def of(model: Any, coefficients: Coefficients, grid: _Grid) -> _Probabilities:
        estimator = unwrap_estimator(model)
        K, cells = len(estimator.classes_), len(grid.cells)
        P, J = probability_gradients(grid.X, coefficients.value, class_columns(estimator), K)
        known = coefficients.estimable(np.tile(grid.X, coefficients.n_logits)).reshape(cells, -1).all(axis=1)
        value = P.reshape(cells, -1, K).mean(axis=1).ravel()
        U = J.reshape(cells, -1, K, coefficients.width).mean(axis=1).reshape(cells * K, -1) @ coefficients.root
        lost = np.repeat(~known, K)
        value[lost], U[lost] = np.nan, np.nan
        return _Probabilities(tuple(estimator.classes_.tolist()), value, U)

    def tests(self, coefficients: Coefficients) -> tuple[Array, float | Array]:
        """Return the standard errors, and the degrees of freedom of t tests."""
        return coefficients.std_errors(self.U), coefficients.t_dof(np.ones((len(self.U), coefficients.width)), self.U)

    def difference(
        self, coefficients: Coefficients, one: Sequence[int], two: Sequence[int], label: int
    ) -> tuple[Array, Array, float | Array]:
        """Return differences of pairs of cells for a label, with their standard errors and degrees of freedom."""
        K = len(self.labels)
        i, j = (np.asarray(some) * K + label for some in (one, two))
        both = replace(self, value=self.value[i] - self.value[j], U=self.U[i] - self.U[j])
        return both.value, *both.tests(coefficients)


# --- values of the columns ------------------------------------------------------------------------


def _as_names(given: str | Sequence[str] | None, design: Design) -> tuple[str, ...]:
    names = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    return tuple(_plain_name(name, design) for name in names)


def _plain_name(name: str, design: Design) -> str:
    """Return the column that a name, or a category such as C(cylinders), stands for."""
    return next((category.name for category in design.categories if category.label == name), name)


def _values(model: Any, design: Design, at: Mapping[str, Any], data: Any) -> dict[str, list[Any]]:
    """Return the values of every column of the grid."""
    levels = {category.name: category.levels for category in design.categories}
    for name in at:
        if name not in design.inputs:
            raise ValueError(
                f"at= names {shown(name)}, which is not in the model. Choose one of {join_names(design.inputs)}."
            )
    numeric = [name for name in design.inputs if name not in levels and name not in at]
    means = _means(model, numeric, data)
    values: dict[str, list[Any]] = {}
    for name in design.inputs:
        if name in at:
            given = at[name]
            several = not isinstance(given, (str, bytes)) and hasattr(given, "__len__")
            values[name] = list(given) if several else [given]
            _check_values(name, values[name], levels.get(name))
        else:
            values[name] = list(levels[name]) if name in levels else [means[name]]
    return values


def _check_values(name: str, values: list[Any], levels: Sequence[Any] | None) -> None:
    if not values:
        raise ValueError(f"at= lists no value of {name!r}. List at least one.")
    if levels is None:
        try:
            values[:] = [float(value) for value in values]
        except (TypeError, ValueError):
            raise ValueError(f"at= has {shown(values[0])} for the numeric column {name!r}. Pass numbers.") from None
        return
    for value in values:
        if value not in levels:
            raise ValueError(f"Column {name!r} has no level {shown(value)}. Choose one of {join_names(levels, 8)}.")


def _means(model: Any, names: Sequence[str], data: Any) -> dict[str, float]:
    """Return the means of numeric columns: of rows, if given, or from the model."""
    if not names:
        return {}
    if data is not None:
        tables = read_as(data, model.design).select(model.design.required_columns)
        total = tables.reduce(_SumColumns(model.design, tuple(names)))
        return dict(zip(names, (total[1:] / total[0]).tolist(), strict=True))
    found = {name: _known_mean(model, name) for name in names}
    unknown = [name for name, mean in found.items() if mean is None]
    if unknown:
        raise ValueError(
            "The model does not contain the mean of columns that occur only inside a function, an interaction or an "
            f"offset: {join_names(unknown)}. Pass the rows with data=, or a value with at=."
        )
    return {name: mean for name, mean in found.items() if mean is not None}


@dataclass(frozen=True)
class _SumColumns:
    """Reduce a chunk to the weight and the weighted sums of some columns in complete rows."""

    design: Design
    names: tuple[str, ...]

    def __call__(self, chunk: Chunk) -> Array:
        complete = self.design.complete(chunk)
        chunk = chunk if complete is None else chunk.rows(complete)
        name, target = self.design.weight, self.design.target
        weight = np.ones(len(chunk)) if name is None else float_column(chunk.frame[name], chunk.where)
        if target is not None and isinstance(target.factor, Counts):
            weight = (weight > 0) * target.factor.has_trials(chunk)
        sums = [weight @ float_column(chunk.frame[name], chunk.where) for name in self.names]
        return np.array([weight.sum(), *sums])


def _known_mean(model: Any, name: str) -> float | None:
    """Return the mean of a column that the summary or a fitted factor contains; None if neither does."""
    estimator, at = model.estimator, 0
    for term in model.design.terms:
        factor = term.factors[0]
        own = len(term.factors) == 1 and factor.required_columns == (name,)
        raw = isinstance(factor, RawPolynomial) and isinstance(factor.expression, Name)
        if own and (term.plain is not None or raw) and hasattr(estimator, "column_means_"):
            return float(estimator.column_means_[at])
        if own and (term.plain is not None or raw) and isinstance(estimator, LeastSquaresBase):
            mean = estimator.summary_.select([at]).gram()
            return float(mean.scaling.shift[0] + mean.scaling.scale[0] * np.float64(mean.in_float64().mean[0]))
        at += term.width
    for term in model.design.terms:
        for factor in term.factors:
            if getattr(factor, "expression", None) != Name(name):
                continue
            if isinstance(factor, OrthogonalPolynomial):
                return factor.centre + factor.alpha[0]
            if isinstance(factor, ScaledTerm):
                return factor.mean
    return None


# --- parts of the tables --------------------------------------------------------------------------


def _is_logistic(model: Any) -> bool:
    return not isinstance(unwrap_estimator(model), LeastSquaresBase)


def _penalty_note(model: Any) -> list[str]:
    estimator = unwrap_estimator(model)
    return [BIAS_NOTE] if isinstance(estimator, LeastSquaresBase) and estimator.solution_.alpha > 0 else []


def _one_logit(coefficients: Coefficients, L: Array, which: int) -> Array:
    q = L.shape[1]
    wide = np.zeros((len(L), coefficients.width))
    wide[:, which * q : (which + 1) * q] = L
    return wide


def _linear_cells(
    coefficients: Coefficients, L: Array, columns: dict[str, list[Any]]
) -> tuple[Array, dict[str, list[Any]]]:
    """Return one combination per cell, and per label of three or more classes."""
    if not coefficients.labels:
        return L, columns
    n = coefficients.n_logits
    wide = np.concatenate([_one_logit(coefficients, L[i : i + 1], k) for i in range(len(L)) for k in range(n)])
    columns = {name: [value for value in values for _ in range(n)] for name, values in columns.items()}
    return wide, columns | {"label": list(coefficients.labels) * len(L)}


def _as_probabilities(wald: dict[str, Array]) -> dict[str, Array]:
    p = expit(wald["estimate"])
    ends = {name: expit(wald[name]) for name in ("conf_low", "conf_high")}
    return wald | {"estimate": p, "std_error": p * expit(-wald["estimate"]) * wald["std_error"]} | ends


def _exponentials(wald: dict[str, Array]) -> dict[str, Array]:
    with np.errstate(over="ignore"):
        ratio = np.exp(wald["estimate"])
        ends = {name: np.exp(wald[name]) for name in ("conf_low", "conf_high")}
    return wald | {"estimate": ratio, "std_error": ratio * wald["std_error"]} | ends


def _pair_name(one: tuple[Any, ...], two: tuple[Any, ...], ratio: bool) -> str:
    return f"{' '.join(map(level_text, one))} {'/' if ratio else '-'} {' '.join(map(level_text, two))}"


def _undetermined(keys: Sequence[str], estimate: Array) -> list[str]:
    lost = [key for key, value in zip(keys, estimate, strict=True) if np.isnan(value)]
    if not lost:
        return []
    return [
        "These means are not estimable (empty cells, aliased columns or separated classes): "
        f"{join_names(lost, MAX_NAMED_TERMS)}."
    ]
