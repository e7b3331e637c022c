"""Checks of columns together: rows per column, scale, collinearity, separability of the labels, leakage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import Gram, diagonal
from linearly.algorithm.separability.budget import is_affordable
from linearly.algorithm.separability.decide import separability
from linearly.checks.column_checks import find_odd, holds_labels
from linearly.checks.column_profile import Column, Profile
from linearly.checks.fit_options import make, without
from linearly.checks.missing_rows import compare_incomplete_rows
from linearly.checks.target_leakage import exact_columns, levels_without_label
from linearly.dataset.design.design import Design, DesignRows, design_of
from linearly.dataset.rows.array_checks import as_labels
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.tables import Tables
from linearly.findings import Finding
from linearly.findings.repeated_rows import (
    MIN_REPEATED_SHARE,
    sample_compared,
    share_repeated,
    share_repeated_labels,
)
from linearly.findings.row_sample import Sample
from linearly.formatting import format_compact, list_first, pluralize, shown
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense_keeping_low_part

MAX_CODED_LEVELS = 100  # of a column that is coded here
MAX_COLUMNS = 2000  # after coding, up to which collinearity is looked for
FAR_FROM_ZERO = 1e6  # mean over standard deviation
MAX_SCALE_RATIO = 1e6  # of standard deviations, from which it is worth a note
COMPARABLE_SCALE = 10.0  # ratio of standard deviations
MAX_INFLATION = 10.0  # variance inflation
_N_LISTED = 6  # columns that a finding names
MIN_ROWS_PER_COLUMN = 10
N_FOLDS = 5  # of a cross-validated penalty, each of which needs a row


def inspect_jointly(
    tables: Tables, profile: Profile, usable: dict[str, Column], target: str | None, weight: str | None
) -> Iterator[Finding]:
    """Yield what the usable columns show together, and what they show about the target."""
    yield from find_odd(usable)
    coded = [name for name, c in usable.items() if c.kind != "text" or len(c.levels) <= MAX_CODED_LEVELS]
    many_levels = {name: len(c.levels) for name, c in usable.items() if name not in coded}
    if not coded:
        return
    about = profile.columns[target] if target is not None else None
    if about is None or about.kind in ("dates", "other") or about.constant:
        target = about = None
    design = design_of(tables.schema, target=target, features=coded, weight=weight, missing="drop")
    labels = about is not None and holds_labels(about)
    design = (design.with_labels() if labels else design).fit(tables)
    p = len(design.names)
    yield from _find_repeated_names(design)
    if p > MAX_COLUMNS:
        if profile.n <= p:
            yield _too_few_rows(profile.n, p, labels)
        yield make("collinearity_not_checked", p=p)
        return
    gram = DesignRows(tables, replace(design, target=None, weight=None)).reduce(Gram.of)
    if gram.n < profile.n:
        yield make("incomplete_rows", complete=gram.n, n=profile.n)
        yield from compare_incomplete_rows(tables, design) if about is not None else ()
    if gram.n <= p:
        yield _too_few_rows(gram.n, p, labels)
        return
    if about is not None and gram.n < MIN_ROWS_PER_COLUMN * p:
        yield _few_rows(gram.n, p, labels)
    if about is not None:
        yield from _find_repeated_rows(tables, design, labels)
    yield from _inspect_scale(gram, design.names)
    # By its term, not by its name: a column may be called temp[C], and yet not be a level of one called temp.
    sources = tuple(term.label for term in design.terms for _ in range(term.width))
    listed = ", ".join(f"{name} ({levels} levels)" for name, levels in many_levels.items())
    exceptions = f", without {listed}" if listed else ""
    penalty = "" if about is None else ", or a penalty: alpha=1" if labels else ", or ridge: RidgeCV"
    yield from _find_collinear(gram, design.names, sources, exceptions, penalty)
    if labels:
        yield _inspect_separability(tables, design, gram.n, exceptions)
        for name, levels in many_levels.items():
            yield from _find_levels_without_label(tables, design, name, levels)
    elif about is not None:
        yield from _find_leakage(tables, design, sources)


def _too_few_rows(n: int, p: int, labels: bool) -> Finding:
    given: dict[str, Any] = {"n": pluralize(n, "complete row"), "p": p}
    if n < N_FOLDS or labels:
        return make("too_few_rows", "alpha", options=(("alpha", "1"),), **given)
    return make("too_few_rows", options=(("cv", ""),), **given)


def _few_rows(n: int, p: int, labels: bool) -> Finding:
    variant = "alpha" if n < N_FOLDS or labels else ""
    return make("few_rows", variant, n=pluralize(n, "complete row"), p=p, fewer="fewer columns, or " * (p > 1))


def _find_repeated_rows(tables: Tables, design: Design, labels: bool) -> Iterator[Finding]:
    rows = DesignRows(tables, replace(design, weight=None))
    if labels:
        assert design.target is not None
        share = share_repeated_labels(rows, as_labels(design.target.classes))
    else:
        share = share_repeated(rows.reduce(_sample_numbers))
    if share > MIN_REPEATED_SHARE:
        yield make("repeated_rows", share=share)


def _sample_numbers(block: Block) -> Sample:
    y = np.asarray(block.y, dtype=np.float64).ravel()
    return sample_compared(block, to_float64(dense_keeping_low_part(block.X)), y.__getitem__)


def _find_repeated_names(design: Design) -> Iterator[Finding]:
    """Yield the columns whose name is also that of the intercept, or of a level of another column."""
    counts = Counter(["Intercept", *design.names])
    for term in design.terms:
        if term.plain is not None and counts[term.plain] > 1:
            yield make("repeated_name", about=term.plain, options=without(term.plain))


# --- scale ----------------------------------------------------------------------------------------


def _inspect_scale(gram: Gram, names: tuple[str, ...]) -> Iterator[Finding]:
    mean, spread = _means(gram), _spreads(gram, max(gram.n - 1, 1))
    far = np.flatnonzero((spread > 0) & (np.abs(mean) > FAR_FROM_ZERO * spread))
    for j in far[:6]:
        yield make("far_from_zero", about=names[j], mean=mean[j], spread=spread[j])
    varied = np.flatnonzero(spread > 0)
    low, high = (varied[np.argmin(spread[varied])], varied[np.argmax(spread[varied])]) if len(varied) else (0, 0)
    if spread[high] > COMPARABLE_SCALE * spread[low]:
        smallest, largest = (f"{format_compact(float(f'{spread[j]:.2g}'))} ({names[j]})" for j in (low, high))
        name = "extreme_scale" if spread[high] > MAX_SCALE_RATIO * spread[low] else "scale"
        yield make(name, low=smallest, high=largest)
    elif not len(far):
        yield make("comparable_scale")


def _means(gram: Gram) -> NDArray[np.float64]:
    return (np.asarray(to_float64(gram.mean)) * gram.scaling.scale + gram.scaling.shift)[: gram.p]


def _spreads(gram: Gram, divisor: float = 1.0) -> NDArray[np.float64]:
    """Return the root of Σ (x − mean)² over a divisor, for each column."""
    return np.asarray(np.sqrt(_squares(gram) / divisor) * gram.scaling.scale[: gram.p])


def _squares(gram: Gram) -> NDArray[np.float64]:
    """Return Σ (x − mean)² of each column in the units of the scaling, in which no square leaves float64."""
    return np.asarray(to_float64(diagonal(gram.centered_crossprod))[: gram.p])


# --- collinearity ---------------------------------------------------------------------------------


def _find_collinear(
    gram: Gram, names: tuple[str, ...], sources: tuple[str, ...], exceptions: str, penalty: str
) -> Iterator[Finding]:
    squares, correlation, dependent = _squares(gram), _correlations(gram), _dependent_columns(gram)
    independent = [j for j in range(len(names)) if j not in dependent]
    combined = [j for j in dependent if squares[j] > 0]
    for j in combined[:12]:
        relation = _describe_combination(j, independent, correlation, gram, names)
        yield make("aliased", about=names[j], relation=relation, options=without(sources[j]))
    inflation = np.ones(len(independent))
    if len(independent) > 1:
        inflation = np.diagonal(np.linalg.pinv(correlation[np.ix_(independent, independent)]))
    high = sorted(np.flatnonzero(inflation > MAX_INFLATION), key=lambda k: -inflation[k])
    for k in high[:6]:
        j = independent[k]
        near = max((i for i in independent if i != j), key=lambda i: abs(correlation[i, j]))
        given: dict[str, Any] = {"inflation": inflation[k], "nearest": names[near], "correlation": correlation[near, j]}
        yield make("collinear", about=names[j], penalty=penalty, **given)
    if not combined and not high:
        worst = int(np.argmax(inflation)) if len(independent) > 1 else None
        largest = "" if worst is None else f" (largest VIF {inflation[worst]:.2f}, {names[independent[worst]]})"
        yield make("not_collinear", largest=largest, exceptions=exceptions)


def _dependent_columns(gram: Gram) -> list[int]:
    """Return the columns that a solution leaves out, by solving for a target of zeros."""
    scaling = gram.scaling
    with_target = replace(
        gram,
        scaling=replace(scaling, shift=np.append(scaling.shift, 0.0), scale=np.append(scaling.scale, 1.0)),
        mean=np.append(np.asarray(to_float64(gram.mean)), 0.0),
        centered_crossprod=np.pad(np.asarray(to_float64(gram.centered_crossprod)), ((0, 1), (0, 1))),
        rounding=np.append(gram.rounding, 0.0),
    )
    return list(with_target.select(None, True).solve().aliased)


def _correlations(gram: Gram) -> Any:
    cross = np.asarray(to_float64(gram.centered_crossprod))[: gram.p, : gram.p]
    size = np.sqrt(np.where(np.diagonal(cross) > 0, np.diagonal(cross), 1.0))
    return cross / size / size[:, None]


def _describe_combination(j: int, independent: list[int], correlation: Any, gram: Gram, names: tuple[str, ...]) -> str:
    i = next((i for i in independent if abs(correlation[i, j]) > 1 - 1e-12), None)
    if i is None:
        own = correlation[np.ix_(independent, independent)]
        share = np.linalg.lstsq(own, correlation[independent, j], rcond=None)[0]
        parts = [names[i] for i, b in zip(independent, share, strict=True) if abs(b) > 1e-6]
        return f"combination of {list_first(parts, _N_LISTED)}"
    mean, spread = _means(gram), _spreads(gram)
    if correlation[i, j] > 0 and all(
        np.isclose(sizes[i], sizes[j], rtol=1e-9, atol=1e-9 * spread[i]) for sizes in (spread, mean)
    ):
        return f"duplicate of {names[i]}"
    times = np.sign(correlation[i, j]) * spread[j] / spread[i]
    multiple = np.isclose(mean[j], times * mean[i], rtol=1e-9, atol=1e-9 * spread[j])
    return f"{'multiple' if multiple else 'linear function'} of {names[i]}"


# --- the target -----------------------------------------------------------------------------------


def _find_leakage(tables: Tables, design: Design, sources: tuple[str, ...]) -> Iterator[Finding]:
    """Yield a finding if the target is a linear function of some columns."""
    columns = exact_columns(tables, design)
    if not columns:
        return
    assert design.target is not None
    names, target = list_first([design.names[j] for j in columns], _N_LISTED), design.target.factor.label
    if len(columns) == 1:
        source = sources[columns[0]]
        given: dict[str, Any] = {"relation": "linear function", "names": names, "column": source}
        yield make("leakage", about=target, options=without(source), **given)
        return
    yield make("leakage", "several", about=target, relation="combination", names=names)


def _find_levels_without_label(tables: Tables, design: Design, name: str, n_levels: int) -> Iterator[Finding]:
    """Yield a finding if levels of a column lack a label, so that logistic regression has no estimate."""
    lacking = levels_without_label(tables, design, name)
    if not lacking:
        return
    level, label = lacking[0]
    given: dict[str, Any] = {"lacking": len(lacking), "k": n_levels, "example": shown(level), "label": shown(label)}
    yield make("levels_without_label", about=name, options=(("alpha", "1"),), **given)


def _inspect_separability(tables: Tables, design: Design, n: int, exceptions: str) -> Finding:
    assert design.target is not None
    name, n_classes = design.target.factor.label, len(design.target.classes)
    if not is_affordable("check", n, len(design.names), n_classes - 1):
        return make("separability_not_checked", about=name)
    blocks = [block for block in DesignRows(tables, design) if len(block)]
    y = as_labels(design.target.classes)[np.concatenate([block.y for block in blocks])]
    if len(np.unique(y)) < 2:
        return make("one_label", about=name)
    certificate = separability(np.concatenate([block.X for block in blocks]), y, names=design.names)
    if certificate.verdict == "undecided":
        return make("separability_undecided", about=name)
    if certificate.verdict == "overlapping":
        return make("overlapping", about=name, exceptions=exceptions)
    apart = "without an error" if certificate.verdict == "separable" else "except for ties"
    columns = ", ".join(column for column, _ in certificate.separating_columns[:4])
    by = f"by {'a hyperplane' if n_classes == 2 else 'linear scores'} in {columns}"
    rule = "; ".join(certificate.rules[:2]) or by
    return make("separable", about=name, apart=apart, rule=rule, options=(("alpha", "1"),))
