"""What will go wrong with a table before any fit, and the remedy: each finding is ok, a note or a problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import Gram, diagonal
from linearly.checks.column_profile import Column, Profile
from linearly.checks.sentinel_values import codes_of
from linearly.cli.errors import with_option_names as in_options
from linearly.cli.options import format_names as option
from linearly.cli.terminal import format_count as count
from linearly.cli.terminal import format_number as compact
from linearly.cli.terminal import format_percent as percent
from linearly.cli.terminal import shorten as short
from linearly.dataset.design.design import DesignRows, design_of
from linearly.dataset.design.numeric_text import detect_numeric_text, is_number
from linearly.dataset.design.numeric_text_checks import leading_zeros
from linearly.dataset.design.terms import MAX_LEVELS
from linearly.dataset.rows.array_checks import LARGEST_EXACT_INTEGER, as_labels
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Tables
from linearly.formatting import shown
from linearly.kernels.double_double import to_float64

PROVEN = 2_000_000  # numbers (rows × columns × classes) up to which separability is decided
_LARGEST = 1e150  # numbers whose squares, summed over rows, stay in float64
_FAR = 1e6  # sizes of the mean, in standard deviations, from which a column is far from zero
_APART = 1e6  # ratio of standard deviations from which columns of different size are worth a note
_ALIKE = 10.0  # ratio up to which they are of comparable size
_COLLINEAR = 10.0  # variance inflation
_FOLDS = 5  # of --cv, each of which needs a row


class Finding(NamedTuple):
    """One line: how bad, about what, what it is, what to do."""

    level: str  # ok, note, problem
    about: str
    text: str
    remedy: str = ""
    options: tuple[tuple[str, str], ...] = ()  # of a fit that heeds it
    stops: bool = False  # whether no fit can go on


def _drop(name: str) -> tuple[tuple[str, str], ...]:
    return (("--without", name),)


_DROP_ROWS = (("--missing", "drop"),)


def findings(tables: Tables, found: Profile, target: str | None, weight: str | None) -> Iterator[Finding]:
    """Everything that is worth saying, columns first."""
    n = next(iter(found.columns.values())).n
    if n == 0:
        yield Finding("problem", "rows", "there are none", "give a file with rows")
        return
    features = {name: column for name, column in found.columns.items() if name not in (target, weight)}
    yield from _missing(found, target)
    usable = {}
    for name, column in features.items():
        finding = _meant_for_numbers(tables, name, column) or _unusable(name, column)
        if finding is None:
            usable[name] = column
        else:
            yield finding
    yield from _codes(tables, {name: column for name, column in found.columns.items() if name != weight}, target)
    if target is not None:
        doubt = _meant_for_numbers(tables, target, found.columns[target], "the target ")
        yield from [doubt] if doubt else _target(target, found.columns[target], n)
    if not usable:
        yield Finding("problem", "columns", "there is no column to predict from", stops=True)
        return
    yield from _numbers(tables, found, usable, target, weight)


# --- single columns -------------------------------------------------------------------------------


def _missing(found: Profile, target: str | None) -> Iterator[Finding]:
    gaps = {name: column.missing for name, column in found.columns.items() if column.missing}
    if not gaps:
        yield Finding("ok", "missing values", "none")
    n = next(iter(found.columns.values())).n
    for name, missing in sorted(gaps.items(), key=lambda item: -item[1])[:12]:
        share = f"missing in {count(missing, 'row')} of {n:,}"
        if name == target:
            text = f"the target is {share}"
            yield Finding("problem", name, text, "--missing drop leaves those rows out", _DROP_ROWS)
        elif missing > 0.3 * n:
            yield Finding("problem", name, share, f"leave the column out: --without {option(name)}", _drop(name))
        else:
            yield Finding("problem", name, share, "fill the gaps, or --missing drop leaves those rows out", _DROP_ROWS)
    if len(gaps) > 12:
        yield Finding("note", "missing values", f"in {len(gaps) - 12} columns more")


def _meant_for_numbers(tables: Tables, name: str, column: Column, what: str = "") -> Finding | None:
    """That a column of text was meant for numbers, and where it is not."""
    found = detect_numeric_text(column.levels) if column.kind == "text" else None
    capped = len(column.levels) > MAX_LEVELS
    if found is None or found.code or not (found.words or found.marked or capped):
        return None
    text = f"{what}is text, though {found}"
    if found.numbers and (found.words or capped):
        text += next((f" (first {shown(value)} in {where})" for where, value in _words(tables, name)), "")
    remedy = in_options(found.remedy)
    remedy = remedy[0].lower() + remedy[1:]
    if what:
        return Finding("problem", name, text, remedy, stops=True)
    return Finding("problem", name, text, f"{remedy}, or leave it out: --without {option(name)}", _drop(name))


def _words(tables: Tables, name: str) -> Iterator[tuple[str, str]]:
    """Where a column of text is no number, and what stands there."""
    for chunk in tables.select([name]):
        for i, value in enumerate(text_of(chunk.frame[name]).to_list()):
            if value is not None and not is_number(value):
                yield chunk.where(i), value


def _codes(tables: Tables, columns: dict[str, Column], target: str | None) -> Iterator[Finding]:
    """Numbers that are no quantities."""
    for name, column in columns.items():
        for value, rows, low, high in codes_of(column):
            text = "the target " if name == target else ""
            text += f"is exactly {value:.0f} in {count(rows, 'row')}, far from the rest"
            text += f" ({compact(low)} to {compact(high)}): a code for missing values?"
            yield Finding("note", name, text, "if so, leave those cells empty, and --missing drop leaves the rows out")
    whole = [name for name, c in columns.items() if c.kind == "whole numbers" and not c.numbers_rows and name != target]
    for name, cell in leading_zeros(tables, whole).items():
        remedy = f"leave it out: --without {option(name)}"
        if len(columns[name].levels) <= MAX_LEVELS:
            remedy += f"; or, as levels, write it as C({name}) in a --formula"
        options = _drop(name) if len(columns) > 2 else ()  # the only feature stays
        yield Finding("note", name, f"has leading zeros ({shown(cell)}): a code, not a quantity", remedy, options)


def _unusable(name: str, column: Column) -> Finding | None:
    """Why a column cannot be a feature, or should not; None if it can."""
    out = f"leave it out: --without {option(name)}"
    if column.kind == "dates":
        text, remedy = "holds dates or times", f"turn them into numbers (days, month, hour), or {out}"
    elif column.kind == "other":
        text, remedy = "holds neither numbers nor text", out
    elif column.missing > 0.3 * column.n:
        return Finding("note", name, "has too many gaps to be looked at further", out)
    elif column.infinite:
        text, remedy = f"is infinite in {count(column.infinite, 'row')}", f"correct them, or {out}"
    elif column.constant:
        text, remedy = f"is constant ({shown(next(iter(column.levels)))} in every row)", out
    elif column.kind == "whole numbers" and max(-column.low, column.high) > LARGEST_EXACT_INTEGER:
        text, remedy = "holds whole numbers beyond 2**53, and would lose digits: it looks like an identifier", out
    elif column.identifies:
        many = f"more than {MAX_LEVELS}" if len(column.levels) > MAX_LEVELS else str(len(column.levels))
        text, remedy = f"looks like an identifier: {many} different texts", out
    elif column.kind == "text" and len(column.levels) > MAX_LEVELS:
        text, remedy = f"has more than {MAX_LEVELS} levels", f"group them, or {out}"
    else:
        return None
    return Finding("problem", name, text, remedy, _drop(name))


def _odd(usable: dict[str, Column]) -> Iterator[Finding]:
    for name, column in usable.items():
        yield from _alike(name, column)
        if column.numbers_rows:
            text = f"numbers the rows, {column.low:.0f} to {column.high:.0f}: it looks like an identifier"
            yield Finding("note", name, text, f"leave it out: --without {option(name)}", _drop(name))
        elif column.kind == "text" and len(column.levels) > max(20, 0.05 * column.present):
            text = f"has {len(column.levels)} levels in {count(column.present, 'row')}: a column for each but one"
            yield Finding("note", name, text, "group the rare ones")


def _alike(name: str, column: Column) -> Iterator[Finding]:
    """Levels that only spaces or capitals tell apart."""
    if column.kind != "text" or len(column.levels) > MAX_LEVELS:
        return
    spelt: dict[str, list[str]] = {}
    for level in sorted(map(str, column.levels)):
        spelt.setdefault(" ".join(level.split()).casefold(), []).append(level)
    several = [levels for levels in spelt.values() if len(levels) > 1]
    if several:
        more = f", and {len(several) - 1} more like it" if len(several) > 1 else ""
        text = f"has levels that differ in spaces or capitals only: {', '.join(map(shown, several[0][:4]))}{more}"
        yield Finding("note", name, text, "write them alike")


def _target(name: str, column: Column, n: int) -> Iterator[Finding]:
    if column.kind in ("dates", "other"):
        text = f"the target holds {'dates' if column.kind == 'dates' else 'neither numbers nor text'}"
        yield Finding("problem", name, text, "choose a column of numbers or labels", stops=True)
        return
    if column.constant:
        text = "the target is constant: there is nothing to predict"
        yield Finding("problem", name, text, "choose another column", stops=True)
        return
    if column.kind == "text" and len(column.levels) > max(50, n // 4):
        yield Finding("problem", name, f"the target has {len(column.levels)} different labels", "group them")
        return
    if column.kind in ("numbers", "whole numbers"):
        values = sorted(column.levels)
        if max(-column.low, column.high) > _LARGEST:
            told = f"the target goes up to {max(-column.low, column.high):.4g}, and its squares leave float64"
            yield Finding("note", name, told, "rescale it, or there are no standard errors")
        if len(values) == 2:
            told = f"the target holds only {values[0]:g} and {values[1]:g}: logistic regression is the usual model"
            yield Finding("note", name, told, "--model logistic", (("--model", "logistic"),))
        elif column.kind == "whole numbers" and len(values) <= 10 and n >= 10 * len(values):
            told = f"the target holds {len(values)} whole numbers, and would be fitted as a number"
            yield Finding("note", name, told, "if these are labels: --model logistic")
        else:
            yield Finding("ok", name, f"the target holds numbers, {column.low:.4g} to {column.high:.4g}: linear")
    yield from _alike(name, column)
    if column.counts is not None and _labels(column):
        yield from _balance(name, column)


def _labels(column: Column) -> bool:
    """Whether a target is one of labels, by its kind or because it holds two numbers only."""
    return 2 <= len(column.levels) <= (50 if column.kind in ("text", "true/false") else 2)


def _balance(name: str, column: Column) -> Iterator[Finding]:
    assert column.counts is not None
    ranked = column.counts.most_common()
    total = sum(column.counts.values())
    told = ", ".join(f"{short(_written(label), 30)} {rows:,}" for label, rows in ranked[:6]) + (
        " …" if len(ranked) > 6 else ""
    )
    label, rows = ranked[-1]
    if rows < 10:
        text = f"the label {shown(label)} has {count(rows, 'row')} only ({told})"
        yield Finding("problem", name, text, "find more of them, or join labels")
    elif rows < 0.2 * total / len(ranked):  # a fifth of its fair share; with two labels, a tenth of the rows
        always = percent(ranked[0][1] / total)
        text = f"{shown(label)} is rare: {told}; always saying {shown(ranked[0][0])} is right {always} of the time"
        yield Finding("note", name, text, "look at recall, not at accuracy")
    else:
        yield Finding("ok", name, f"the target holds {len(ranked)} labels: {told}")


def _written(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


# --- columns together -----------------------------------------------------------------------------


def _numbers(
    tables: Tables, found: Profile, usable: dict[str, Column], target: str | None, weight: str | None
) -> Iterator[Finding]:
    """What only the numbers show: combinations, sizes, separability."""
    yield from _odd(usable)
    n = next(iter(found.columns.values())).n
    coded = {name: c for name, c in usable.items() if c.kind != "text" or len(c.levels) <= 100}
    wide = {name: c for name, c in usable.items() if name not in coded}
    about = found.columns.get(target) if target is not None else None
    if about is None or about.kind in ("dates", "other") or about.constant or not coded:
        target = None
    if not coded:
        return
    design = design_of(tables.schema, target=target, features=list(coded), weight=weight, missing="drop")
    labels = about is not None and target is not None and _labels(about)
    if labels:
        design = design.with_labels()
    design = design.fit(tables)
    if len(design.names) > 2000:
        if n <= len(design.names):
            yield _arbitrary(n, len(design.names), design.target)
        yield Finding("note", "columns", f"{len(design.names)} columns after coding: collinearity is not looked for")
        return
    features = replace(design, target=None, weight=None)
    rows = DesignRows(tables, features)
    gram = rows.reduce(Gram.of)
    if gram.n < n:
        text = f"{count(gram.n, 'row')} of {n:,} are without gaps; scale, collinearity and overlap are about those"
        yield Finding("note", "rows", text)
    p = len(design.names)
    if gram.n <= p:
        yield _arbitrary(gram.n, p, design.target)
        return
    yield from _size(gram, design.names)
    # By its term, not by its name: a column may be called temp[C], and yet be no level of one called temp.
    sources = tuple(term.label for term in design.terms for _ in range(term.width))
    but = f", without {', '.join(f'{name} ({len(c.levels)} levels)' for name, c in wide.items())}" if wide else ""
    penalty = "" if design.target is None else ", or a penalty: --alpha 1" if labels else ", or ridge: --cv"
    yield from _collinear(gram, design.names, sources, but, penalty)
    if labels:
        yield from _separable(tables, design, gram.n, but)
        for name, column in wide.items():
            yield from _told_by_level(tables, design, name, len(column.levels))
    elif design.target is not None:
        yield from _given_away(tables, design, sources)


def _arbitrary(n: int, p: int, target: Any) -> Finding:
    text = f"{count(n, 'complete row')} for {p} columns after coding: a fit would be arbitrary"
    if n < _FOLDS or (target is not None and target.labels):
        return Finding("problem", "rows", text, "use fewer columns, or a penalty: --alpha 1", (("--alpha", "1"),))
    remedy = "use fewer columns, or a penalty that cross-validation chooses: --cv"
    return Finding("problem", "rows", text, remedy, (("--cv", ""),))


def _size(gram: Gram, names: tuple[str, ...]) -> Iterator[Finding]:
    mean = np.asarray(to_float64(gram.mean)) * gram.scaling.scale + gram.scaling.shift
    spread = np.sqrt(_squares(gram) / max(gram.n - 1, 1)) * gram.scaling.scale[: gram.p]
    quiet = True
    for j in np.flatnonzero((spread > 0) & (np.abs(mean[: len(spread)]) > _FAR * spread))[:6]:
        quiet = False
        text = f"is far from zero: mean {mean[j]:.4g}, spread {spread[j]:.2g}"
        yield Finding("note", names[j], text, "linearly copes; subtract the mean for other software")
    varied = np.flatnonzero(spread > 0)
    if len(varied) > 1:
        low, high = varied[np.argmin(spread[varied])], varied[np.argmax(spread[varied])]
        if spread[high] > _ALIKE * spread[low]:
            apart = spread[high] > _APART * spread[low]
            quiet = False
            ends = (f"{compact(float(f'{spread[j]:.2g}'))} ({names[j]})" for j in (low, high))
            text = f"standard deviations range from {' to '.join(ends)}"
            remedy = "rescale them for ridge and the perceptrons"
            yield Finding("note" if apart else "ok", "scale", text, remedy)
    if quiet:
        yield Finding("ok", "scale", "columns are of comparable size")


def _squares(gram: Gram) -> NDArray[np.float64]:
    """Σ (x − mean)² of each column in the units of the scaling, where no square leaves float64."""
    return np.asarray(to_float64(diagonal(gram.centered_crossprod))[: gram.p])


def _collinear(
    gram: Gram, names: tuple[str, ...], sources: tuple[str, ...], but: str, penalty: str
) -> Iterator[Finding]:
    solution = _aliased(gram)
    squares = _squares(gram)
    aliased = [j for j in solution.aliased if squares[j] > 0]
    correlation = _correlation(gram)
    out = set(solution.aliased)
    kept = [j for j in range(len(names)) if j not in out]
    for j in aliased[:12]:
        yield _combination(j, kept, correlation, gram, names, sources[j])
    inflation = np.diagonal(np.linalg.pinv(correlation[np.ix_(kept, kept)])) if len(kept) > 1 else np.ones(len(kept))
    high = sorted((k for k in range(len(kept)) if inflation[k] > _COLLINEAR), key=lambda k: -inflation[k])
    for k in high[:6]:
        j = kept[k]
        others = [i for i in kept if i != j]
        near = max(others, key=lambda i: abs(correlation[i, j]))
        text = f"is nearly a combination of others (VIF {inflation[k]:.3g}), nearest {names[near]}"
        text += f", correlation {correlation[near, j]:.3f}"
        yield Finding("note", names[j], text, f"leave one of them out{penalty}")
    if not aliased and not high:
        worst = int(np.argmax(inflation)) if len(kept) else 0
        told = f" (largest VIF {inflation[worst]:.2f}, {names[kept[worst]]})" if len(kept) > 1 else ""
        yield Finding("ok", "collinearity", f"none{told}{but}")


def _aliased(gram: Gram) -> Any:
    """The solution of a problem with a target that does not matter: only the rank of the columns does."""
    p = gram.p
    widened = replace(
        gram,
        scaling=replace(
            gram.scaling, shift=np.append(gram.scaling.shift, 0.0), scale=np.append(gram.scaling.scale, 1.0)
        ),
        mean=np.append(np.asarray(to_float64(gram.mean)), 0.0),
        centered_crossprod=np.pad(np.asarray(to_float64(gram.centered_crossprod)), ((0, 1), (0, 1))),
        rounding=np.append(gram.rounding, 0.0),
    )
    assert len(widened.scaling.scale) == p + 1
    return widened.select(None, True).solve()


def _correlation(gram: Gram) -> Any:
    cross = np.asarray(to_float64(gram.centered_crossprod))[: gram.p, : gram.p]
    size = np.sqrt(np.where(np.diagonal(cross) > 0, np.diagonal(cross), 1.0))
    return cross / size / size[:, None]


def _combination(j: int, kept: list[int], correlation: Any, gram: Gram, names: tuple[str, ...], source: str) -> Finding:
    """What a column is a combination of; to leave it out is to leave out its source, the column of the table."""
    remedy = f"leave it out: --without {option(source)}"
    equal = [i for i in kept if abs(correlation[i, j]) > 1 - 1e-12]
    if equal:
        i = equal[0]
        mean = np.asarray(to_float64(gram.mean)) * gram.scaling.scale + gram.scaling.shift
        spread = np.sqrt(_squares(gram)) * gram.scaling.scale[: gram.p]
        same = all(np.isclose(sizes[i], sizes[j], rtol=1e-9, atol=1e-9 * spread[i]) for sizes in (spread, mean))
        times = np.sign(correlation[i, j]) * spread[j] / spread[i]
        multiple = np.isclose(mean[j], times * mean[i], rtol=1e-9, atol=1e-9 * spread[j])
        twin = "is a multiple of" if multiple else "is a linear function of"
        twin = "is a duplicate of" if same and correlation[i, j] > 0 else twin
        return Finding("problem", names[j], f"{twin} {names[i]}", remedy, _drop(source))
    share = np.linalg.lstsq(correlation[np.ix_(kept, kept)], correlation[kept, j], rcond=None)[0]
    parts = [names[i] for i, b in zip(kept, share, strict=True) if abs(b) > 1e-6]
    told = ", ".join(parts[:6]) + (" …" if len(parts) > 6 else "")
    return Finding("problem", names[j], f"is a combination of {told}", remedy, _drop(source))


def _given_away(tables: Tables, design: Any, sources: tuple[str, ...]) -> Iterator[Finding]:
    """That the target is a linear function of some columns."""
    from linearly.checks.target_leakage import exact_columns

    columns = exact_columns(tables, design)
    if not columns:
        return
    names, target = [design.names[j] for j in columns], design.target.factor.label
    told = ", ".join(names[:6]) + (" …" if len(names) > 6 else "")
    if len(names) == 1:
        source, text = sources[columns[0]], f"the target is a linear function of {told}, without an error"
        remedy = f"is {source} known before {target} is? If not, leave it out: --without {option(source)}"
        yield Finding("problem", target, text, remedy, _drop(source))
        return
    text = f"the target is a combination of {told}, without an error"
    yield Finding("problem", target, text, f"leave out those that are not known before {target} is: --without")


def _told_by_level(tables: Tables, design: Any, name: str, levels: int) -> Iterator[Finding]:
    """That levels of a column without some label leave logistic regression without an estimate."""
    from linearly.checks.target_leakage import lacking

    found = lacking(tables, design, name)
    if not found:
        return
    level, label = found[0]
    few = f"{len(found):,} of its {levels:,} levels have no row of some label ({shown(level)} none of {shown(label)})"
    text = f"{few}: those rows can be told apart for certain, and logistic regression has no estimate with it"
    remedy = f"group its levels, --alpha 1, or leave it out: --without {option(name)}"
    yield Finding("problem", name, text, remedy, (("--alpha", "1"),))


def _separable(tables: Tables, design: Any, n: int, but: str) -> Iterator[Finding]:
    from linearly.algorithm.separability.decide import separability

    K = len(design.target.classes)
    name = design.target.factor.label
    if n * len(design.names) * (K - 1) > PROVEN:
        yield Finding("note", name, "separability is not looked for in so many rows")
        return
    blocks = [block for block in DesignRows(tables, design) if len(block)]
    y = as_labels(design.target.classes)[np.concatenate([block.y for block in blocks])]
    if len(np.unique(y)) < 2:
        yield Finding("problem", name, "the complete rows have one label only", "fill the gaps first")
        return
    certificate = separability(np.concatenate([block.X for block in blocks]), y, names=design.names)
    if certificate.verdict == "undecided":
        yield Finding("note", name, "whether the labels can be separated was not decided: the search takes too long")
        return
    if certificate.verdict == "overlapping":
        text = f"labels overlap{but}: logistic regression has an estimate; a plain perceptron never settles"
        yield Finding("ok", name, text)
        return
    apart = "without an error" if certificate.verdict == "separable" else "but for ties"
    columns = ", ".join(column for column, _ in certificate.separating_columns[:4])
    rule = "; ".join(certificate.rules[:2]) or f"by {'a hyperplane' if K == 2 else 'linear scores'} in {columns}"
    remedy = "logistic regression has no estimate: --alpha 1, or --model lda; or does a column give the answer away?"
    yield Finding("problem", name, f"labels can be told apart {apart} ({rule})", remedy, (("--alpha", "1"),))
