"""Checks of columns together: rows per column, scale, collinearity, separability of the labels, leakage."""

from __future__ import annotations

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
from linearly.checks.finding import Finding, list_first, without
from linearly.checks.target_leakage import exact_columns, levels_without_label
from linearly.dataset.design.design import Design, DesignRows, design_of
from linearly.dataset.rows.array_checks import as_labels
from linearly.dataset.rows.tables import Tables
from linearly.formatting import format_compact, pluralize, shown
from linearly.kernels.double_double import to_float64

MAX_CODED_LEVELS = 100  # of a column that is coded here
MAX_COLUMNS = 2000  # after coding, up to which collinearity is looked for
FAR_FROM_ZERO = 1e6  # mean over standard deviation
MAX_SCALE_RATIO = 1e6  # of standard deviations, from which it is worth a note
COMPARABLE_SCALE = 10.0  # ratio of standard deviations
MAX_INFLATION = 10.0  # variance inflation
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
    if p > MAX_COLUMNS:
        if profile.n <= p:
            yield _too_few_rows(profile.n, p, labels)
        yield Finding("note", "columns", f"{p} columns after coding: collinearity is not looked for")
        return
    gram = DesignRows(tables, replace(design, target=None, weight=None)).reduce(Gram.of)
    if gram.n < profile.n:
        complete = f"{pluralize(gram.n, 'row')} of {profile.n:,} are without gaps"
        yield Finding("note", "rows", f"{complete}; scale, collinearity and overlap are about those")
    if gram.n <= p:
        yield _too_few_rows(gram.n, p, labels)
        return
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
    text = f"{pluralize(n, 'complete row')} for {p} columns after coding: a fit would be arbitrary"
    if n < N_FOLDS or labels:
        return Finding("problem", "rows", text, "use fewer columns, or a penalty: alpha=1", (("alpha", "1"),))
    return Finding("problem", "rows", text, "use fewer columns, or a penalty, which RidgeCV chooses", (("cv", ""),))


# --- scale ----------------------------------------------------------------------------------------


def _inspect_scale(gram: Gram, names: tuple[str, ...]) -> Iterator[Finding]:
    mean, spread = _means(gram), _spreads(gram, max(gram.n - 1, 1))
    far = np.flatnonzero((spread > 0) & (np.abs(mean) > FAR_FROM_ZERO * spread))
    for j in far[:6]:
        text = f"is far from zero: mean {mean[j]:.4g}, spread {spread[j]:.2g}"
        yield Finding("note", names[j], text, "linearly copes; subtract the mean for other software")
    varied = np.flatnonzero(spread > 0)
    low, high = (varied[np.argmin(spread[varied])], varied[np.argmax(spread[varied])]) if len(varied) else (0, 0)
    if spread[high] > COMPARABLE_SCALE * spread[low]:
        ends = (f"{format_compact(float(f'{spread[j]:.2g}'))} ({names[j]})" for j in (low, high))
        level = "note" if spread[high] > MAX_SCALE_RATIO * spread[low] else "ok"
        text = f"standard deviations range from {' to '.join(ends)}"
        yield Finding(level, "scale", text, "rescale them for ridge and the perceptrons")
    elif not len(far):
        yield Finding("ok", "scale", "columns are of comparable size")


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
        text = _describe_combination(j, independent, correlation, gram, names)
        yield Finding("problem", names[j], text, "leave it out", without(sources[j]))
    inflation = np.ones(len(independent))
    if len(independent) > 1:
        inflation = np.diagonal(np.linalg.pinv(correlation[np.ix_(independent, independent)]))
    high = sorted(np.flatnonzero(inflation > MAX_INFLATION), key=lambda k: -inflation[k])
    for k in high[:6]:
        j = independent[k]
        near = max((i for i in independent if i != j), key=lambda i: abs(correlation[i, j]))
        text = f"is nearly a combination of others (VIF {inflation[k]:.3g}), nearest {names[near]}"
        text += f", correlation {correlation[near, j]:.3f}"
        yield Finding("note", names[j], text, f"leave one of them out{penalty}")
    if not combined and not high:
        worst = int(np.argmax(inflation)) if len(independent) > 1 else None
        largest = "" if worst is None else f" (largest VIF {inflation[worst]:.2f}, {names[independent[worst]]})"
        yield Finding("ok", "collinearity", f"none{largest}{exceptions}")


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
        return f"is a combination of {list_first(parts)}"
    mean, spread = _means(gram), _spreads(gram)
    if correlation[i, j] > 0 and all(
        np.isclose(sizes[i], sizes[j], rtol=1e-9, atol=1e-9 * spread[i]) for sizes in (spread, mean)
    ):
        return f"is a duplicate of {names[i]}"
    times = np.sign(correlation[i, j]) * spread[j] / spread[i]
    multiple = np.isclose(mean[j], times * mean[i], rtol=1e-9, atol=1e-9 * spread[j])
    return f"is a {'multiple' if multiple else 'linear function'} of {names[i]}"


# --- the target -----------------------------------------------------------------------------------


def _find_leakage(tables: Tables, design: Design, sources: tuple[str, ...]) -> Iterator[Finding]:
    """Yield a finding if the target is a linear function of some columns."""
    columns = exact_columns(tables, design)
    if not columns:
        return
    assert design.target is not None
    names, target = list_first([design.names[j] for j in columns]), design.target.factor.label
    if len(columns) == 1:
        source, text = sources[columns[0]], f"the target is a linear function of {names}, without an error"
        remedy = f"is {source} known before {target} is? If not, leave it out"
        yield Finding("problem", target, text, remedy, without(source))
        return
    text = f"the target is a combination of {names}, without an error"
    yield Finding("problem", target, text, f"leave out those that are not known before {target} is")


def _find_levels_without_label(tables: Tables, design: Design, name: str, n_levels: int) -> Iterator[Finding]:
    """Yield a finding if levels of a column lack a label, so that logistic regression has no estimate."""
    lacking = levels_without_label(tables, design, name)
    if not lacking:
        return
    level, label = lacking[0]
    few = f"{len(lacking):,} of its {n_levels:,} levels have no row of some label"
    text = f"{few} ({shown(level)} none of {shown(label)}): those rows can be told apart for certain, "
    text += "and logistic regression has no estimate with it"
    yield Finding("problem", name, text, "group its levels, alpha=1, or leave it out", (("alpha", "1"),))


def _inspect_separability(tables: Tables, design: Design, n: int, exceptions: str) -> Finding:
    assert design.target is not None
    name, n_classes = design.target.factor.label, len(design.target.classes)
    if not is_affordable("check", n, len(design.names), n_classes - 1):
        return Finding("note", name, "separability is not looked for in so many rows")
    blocks = [block for block in DesignRows(tables, design) if len(block)]
    y = as_labels(design.target.classes)[np.concatenate([block.y for block in blocks])]
    if len(np.unique(y)) < 2:
        return Finding("problem", name, "the complete rows have one label only", "fill the gaps first")
    certificate = separability(np.concatenate([block.X for block in blocks]), y, names=design.names)
    if certificate.verdict == "undecided":
        return Finding("note", name, "whether the labels can be separated was not decided: the search takes too long")
    if certificate.verdict == "overlapping":
        text = f"labels overlap{exceptions}: logistic regression has an estimate; a plain perceptron never settles"
        return Finding("ok", name, text)
    apart = "without an error" if certificate.verdict == "separable" else "but for ties"
    columns = ", ".join(column for column, _ in certificate.separating_columns[:4])
    by = f"by {'a hyperplane' if n_classes == 2 else 'linear scores'} in {columns}"
    rule = "; ".join(certificate.rules[:2]) or by
    remedy = 'logistic regression has no estimate: alpha=1, or model="lda"; or does a column give the answer away?'
    return Finding("problem", name, f"labels can be told apart {apart} ({rule})", remedy, (("alpha", "1"),))
