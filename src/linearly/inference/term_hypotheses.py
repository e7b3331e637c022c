"""Find the hypotheses that types I, II and III of the analysis of variance test, as combinations of coefficients.

All of them are rows L with L·β = 0 in the coefficients of the full model, whatever the coding of its categories.
Types I and II compare a term with the terms that it is adjusted for. Type III is that of sum-to-zero coding: it asks
about means over equally weighted levels of the other categories (Searle 1987, Linear Models for Unbalanced Data).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.design.cut import Cut
from linearly.dataset.design.design import Design
from linearly.dataset.design.terms import Category, Factor, is_coded
from linearly.dataset.design.terms import Term as DesignTerm
from linearly.dataset.sources import read_as
from linearly.inference.coefficients import Coefficients
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.double_double import Array, to_float64

_ROUNDING = 1e-10  # of a share that is 0, for columns of unit size


@dataclass(frozen=True, eq=False)
class FittedTerm:
    """A term of a formula: its label, its factors and the positions of its coefficients in one logit."""

    label: str
    factors: frozenset[str]
    columns: NDArray[np.intp]

    def inside(self, other: FittedTerm) -> bool:
        """Return whether the other term is an interaction of this one."""
        return self.factors < other.factors


def terms_of(model: Any, coefficients: Coefficients) -> list[FittedTerm]:
    """Return the terms of a `Model`'s formula; each column is a term if an estimator was fitted to an array."""
    first = int("Intercept" in coefficients.names[:1])
    if unwrap_estimator(model) is model:
        return [
            FittedTerm(name, frozenset([name]), np.array([first + j]))
            for j, name in enumerate(coefficients.names[first:])
        ]
    terms, at = [], first
    for term in model.design.terms:
        factors = frozenset(factor.label for factor in term.factors)
        terms.append(FittedTerm(term.label, factors, np.arange(at, at + term.width)))
        at += term.width
    return terms


def adjusted_hypothesis(
    model: Any, coefficients: Coefficients, term: FittedTerm, before: Sequence[int], after: Sequence[int]
) -> Array:
    """Return the hypothesis of a term, adjusted for the columns `before` and ignoring the columns `after`.

    With V the covariance of all coefficients, those of the term are tested without what their correlation with the
    ignored ones explains: L = e_T − V_TR V_RR⁻¹ e_R. If columns are combinations of others, those that come last in the
    order before, term, after are left out first.
    """
    own = term.columns.tolist()
    if coefficients.null is None:
        return _conjugate(coefficients, own, list(after))
    summary = unwrap_estimator(model).summary_
    first = int("Intercept" in coefficients.names[:1])
    order = [j - first for j in (*before, *own, *after)]
    aliased = [order[j] for j in summary.select(order, bool(first)).solve().aliased]
    kept = [j for j in order if j not in aliased]
    # Columns beyond the first p of a summary are its targets: the combinations that the others are.
    among = replace(summary.select([*kept, *aliased], bool(first)), p=len(kept))
    solution, unit = among.solve(), among.scaling.scale
    combined = solution.coef[:, : len(aliased)]
    size = np.abs(combined) * unit[: len(kept), None] / unit[len(kept) : len(order)]
    combined = np.where(size > _ROUNDING, combined, 0.0)
    place = {j: first + k for k, j in enumerate(kept)}
    inner = replace(
        coefficients, root=solution.inverse_root, value=np.zeros(len(kept) + first), null=None, mean=None, inner=None
    )
    columns = [place[j - first] for j in own if j - first in place]
    among_kept = _conjugate(inner, columns, [place[j - first] for j in after if j - first in place])
    L = np.zeros((len(among_kept), coefficients.width))
    L[:, [first + j for j in kept]] = among_kept[:, first:]
    L[:, [first + j for j in aliased]] = among_kept[:, first:] @ combined
    return L


def _conjugate(coefficients: Coefficients, own: list[int], ignored: list[int]) -> Array:
    """Return e_T − V_TR V_RR⁻¹ e_R for all logits."""
    q, width = len(coefficients.names) if coefficients.n_logits > 1 else coefficients.width, coefficients.width
    logits = range(0, width, q) if q else range(1)
    own, ignored = ([start + j for start in logits for j in some] for some in (own, ignored))
    L = np.zeros((len(own), width))
    L[np.arange(len(own)), own] = 1.0
    if ignored and own:
        # V_TR V_RR⁻¹ are the coefficients of the rows of the root for T on those for R.
        size = np.linalg.norm(coefficients.root[ignored], axis=1)
        size[size == 0] = 1.0
        share = np.linalg.lstsq((coefficients.root[ignored] / size[:, None]).T, coefficients.root[own].T, rcond=None)[0]
        L[:, ignored] = -share.T / size
    return L


def balanced_hypotheses(design: Design, terms: Sequence[FittedTerm], intercept: bool, q: int) -> list[Array]:
    """Return for each term the hypothesis of type III: its coefficients in a sum-to-zero coding of all categories.

    Each category's coding is 1·a' + S·B with the sum-to-zero matrix S. A term is then a sum of parts, one for each
    subset of its categories, and each part belongs to the term that has these factors. A part that no term has belongs
    to the first term that contains it.
    """
    codings = {}
    for factor in (factor for term in design.terms for factor in term.factors):
        if isinstance(factor, Cut):
            codings[factor.label] = _sum_to_zero_parts(_coding_of_intervals, factor, design)
        elif isinstance(factor, Category) and is_coded(factor):
            codings[factor.label] = _sum_to_zero_parts(coding_matrix, factor, design)
    parts: dict[frozenset[str], Array] = {}
    owner: dict[frozenset[str], int] = {term.factors: i for i, term in enumerate(terms)}
    if intercept:
        owner[frozenset()] = -1
    for i, (term, own) in enumerate(zip(design.terms, terms, strict=True)):
        for key, matrix in _parts_of(term, codings):
            owner.setdefault(key, i)
            rows = parts.setdefault(key, np.zeros((len(matrix), q)))
            rows[:, own.columns] += matrix
    return [
        np.concatenate([parts[key] for key, at in owner.items() if at == i and key in parts]) for i in range(len(terms))
    ]


def _parts_of(
    term: DesignTerm, codings: dict[str, dict[bool, tuple[Array, Array]]]
) -> list[tuple[frozenset[str], Array]]:
    """Return the parts of a term: factors, and their coefficients as combinations of the term's."""
    choices: list[list[tuple[frozenset[str], Array]]] = []
    for factor, full in zip(term.factors, term.full or (False,) * len(term.factors), strict=True):
        label = frozenset([factor.label])
        if is_coded(factor) or isinstance(factor, Cut):
            constant, contrasts = codings[factor.label][full]
            choices.append([(frozenset(), constant), (label, contrasts)])
        else:
            choices.append([(label, np.eye(len(factor.names(full))))])
    found = []
    for chosen in product(*choices):
        key: frozenset[str] = frozenset().union(*(name for name, _ in chosen))
        # The first factor varies fastest.
        matrix: Array = reduce(_kron, (matrix for _, matrix in chosen))
        if np.abs(matrix).max(initial=0.0) > 0:
            found.append((key, matrix))
    return found


def _kron(inner: Array, outer: Array) -> Array:
    return np.asarray(np.kron(outer, inner), dtype=np.float64)


def _sum_to_zero_parts(
    coding: Callable[[Any, Design, bool], Array], category: Category | Cut, design: Design
) -> dict[bool, tuple[Array, Array]]:
    """Return a and B of both codings of a category, 1·a' + S·B, by whether the coding is full."""
    m = len(coding(category, design, True))
    basis = np.column_stack([np.ones(m), np.vstack([np.eye(m - 1), -np.ones(m - 1)])])
    codings = {}
    for full in (False, True):
        parts = np.asarray(np.linalg.solve(basis, coding(category, design, full)), dtype=np.float64)
        parts[np.abs(parts) < 1e-14] = 0.0
        codings[full] = parts[:1], parts[1:]
    return codings


def _coding_of_intervals(factor: Cut, design: Design, full: bool) -> Array:
    return np.eye(len(factor.intervals()))[:, 0 if full else 1 :]


def coding_matrix(category: Category, design: Design, full: bool) -> Array:
    """Return the columns of a category for each of its levels, levels × columns, whatever its coding."""
    levels: list[Any] = list(category.levels)
    factor: Factor = category
    chunk = next(iter(read_as({category.name: levels}, design)))
    return to_float64(factor.values(chunk, full))
