"""Show the facts about a model on one screen: statistics, a table of terms or classes, remarks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from linearly.cli.errors import as_sentence
from linearly.cli.fit_summary import model_title
from linearly.cli.terminal import (
    bold,
    dim,
    flow_parts,
    format_columns,
    format_duration,
    format_percent,
    shorten_words,
    style,
    terminal_width,
    visible_width,
    wrap_text,
)
from linearly.formatting import (
    align_numbers,
    format_compact,
    format_p,
    format_p_clause,
    pluralize,
    shorten,
    shorten_names,
    typeset_number,
    visible,
)

if TYPE_CHECKING:
    from linearly.api import Model

MAX_TERMS = 40  # shown in full; of more, the first HEAD and the last TAIL
HEAD, TAIL = 30, 5
_MAX_LABEL = 30  # letters of a label in a table
_MAX_CONFUSION = 12  # labels of a confusion matrix that is shown
_MIN_NAME = 12  # letters of a name that are always shown
_MAX_EXTRA_DECIMALS = 3  # decimals that are shown in every row though only some need them
_MAX_DECIMALS = 9
COLOURS = {"OK": "green", "Check": "yellow", "Problem": "red"}
_NOT_ON_SCREEN = ("digits_enough",)  # the statistics state the digits
Facts = dict[str, Any]


class Column(NamedTuple):
    """A column of a table: heading, cells, and whether they are aligned to the right."""

    heading: str
    cells: list[str]
    right: bool = False


def fit_screen(facts: Facts) -> str:
    """Return everything that `fit` prints about a model."""
    parts = [_heading(facts), *_statistics(facts), "", *_tables(facts), "", *_remarks(facts)]
    while not parts[-1]:
        parts.pop()
    return "\n".join(parts)


def evaluation_screen(result: Any, model: Model, findings: list[Facts]) -> str:
    """Return everything that `evaluate` prints: a heading as that of `fit`, tables, notes and findings."""
    on = format_columns(len(model.design.features), len(model.design.names))
    parts = [bold(model_title(model)), model.design.formula or f"{model.target} on {on}", pluralize(result.n, "row")]
    if result.kind == "binary":
        parts.append(f"positive label {shorten(repr(result.labels[0]))}")
    shown = ["", *map(format_finding, findings)] if findings else []
    return "\n".join([flow_parts(parts, indent="  "), "", evaluation_tables(result), *shown])


def evaluation_tables(result: Any) -> str:
    """Return metrics with intervals, the confusion matrix and the metrics of each label, as tables of a screen."""
    metrics = result.metrics
    ends = [align_numbers(metrics[name]) for name in ("conf_low", "conf_high")]
    lines = layout_table(
        [
            Column("metric", [name.replace("_", " ") for name in metrics["metric"].tolist()]),
            Column("value", align_numbers(metrics["value"]), True),
            Column(f"{100 * result.level:g}% interval", _format_intervals(*ends)),
            Column("method", list(map(str, metrics["method"].tolist()))),
        ]
    )
    if result.confusion is not None and len(result.labels) <= _MAX_CONFUSION:
        lines += ["", *layout_table(_screen_columns(result.confusion))]
    if result.per_class is not None:
        lines += ["", *layout_table(_screen_columns(result.per_class))]
    return "\n".join([*lines, *([""] if result.notes else []), *map(wrap_text, result.notes)])


def _screen_columns(table: Any) -> list[Column]:
    """Return the columns of a table of labels and numbers, without intervals; as many as fit."""
    shown = [name for name in table.columns if not name.endswith(("_low", "_high"))]
    first = Column(shown[0].replace("_", " "), _shorten_labels(table[shown[0]].tolist()))
    numbers = [(name.replace("_", " "), table[name].tolist()) for name in shown[1:]]
    return _append_fitting([first], numbers)[0]


def advise_logistic(target: str, low: float, high: float) -> str:
    """Return the advice for a target of two numbers that is fitted as numbers."""
    return f"{target} contains only {low:g} and {high:g}. Fit a logistic regression instead: --model logistic."


# --- heading and statistics


def _heading(facts: Facts) -> str:
    """Return kind, target, columns, rows, passes and time."""
    on = format_columns(len(facts["features"]), len(facts["columns"]))
    parts = [bold(facts["kind"]), facts["formula"] or f"{facts['target']} on {on}"]
    if facts["rows"] is not None:
        dropped = f" ({facts['dropped']:,} left out)" if facts["dropped"] else ""
        parts.append(pluralize(facts["rows"], "row") + dropped)
    passes = [pluralize(facts["passes"], "pass", "passes")] if facts["passes"] is not None else []
    time = [format_duration(facts["seconds"])] if "seconds" in facts else []
    return flow_parts([*parts, ", ".join(passes + time)] if passes + time else parts, indent="  ")


def _statistics(facts: Facts) -> list[str]:
    found = facts.get("statistics")
    if found is None:
        return _training(facts)
    alpha = [f"alpha {facts['alpha']:.4g}"] if "alpha" in facts else []
    if "n_active" in found:
        return [flow_parts(_sparse_statistics(facts, found), indent="  ")]
    if "r_squared" in found:
        if alpha and facts.get("folds") and facts["alpha_chosen"]:
            alpha[0] += f", chosen by {facts['folds']} folds"
        sigma = format_compact(float(f"{found['sigma']:.4g}")) if not math.isnan(found["sigma"]) else "–"
        for_weight = " for weight 1" if facts.get("weighted") else ""
        f_test = [typeset_number(f"F {found['f_statistic']:.4g}") + f", {format_p_clause(found['p_value'])}"]
        parts = [
            f"R² {_three_decimals(found['r_squared'])}",
            f"adjusted {_three_decimals(found['adj_r_squared'])}",
            f"σ {sigma}{for_weight} on {_degrees_of_freedom(found['df_residual'])} df",
            *(f_test if not math.isnan(found["f_statistic"]) else []),
            *alpha,
            pluralize(int(found["digits"]), "correct digit"),
        ]
        return [flow_parts(parts, indent="  ")]
    classes = facts["classes"]
    two = len(classes) == 2
    parts = [
        f"log-odds {'of' if two else 'against'} {shorten(repr(classes[1] if two else facts['reference']))}",
        f"pseudo-R² {_three_decimals(found['pseudo_r_squared'])}",
        f"deviance {found['deviance']:.5g} on {found['df_residual']} df (null {found['null_deviance']:.5g})",
        f"AIC {found['aic']:.5g}",
        *(["where the search was stopped"] if facts.get("separated") else []),
        *alpha,
    ]
    return [flow_parts(parts, indent="  "), *_training(facts)]


def _sparse_statistics(facts: Facts, found: Facts) -> list[str]:
    chosen = f", chosen by {facts['folds']} folds" if facts.get("folds") else ""
    mix = [f"l1_ratio {found['l1_ratio']:g}"] if found["l1_ratio"] != 1 else []
    return [
        f"{found['n_active']} of {pluralize(len(facts['columns']), 'coefficient')} not 0",
        f"R² {_three_decimals(found['r_squared'])} on the training rows",
        f"alpha {facts['alpha']:.4g}{chosen}",
        *mix,
    ]


def _training(facts: Facts) -> list[str]:
    lines = []
    if "training" in facts:
        found = facts["training"]
        right = f"correct on {format_percent(found['accuracy'])} of the training rows"
        always = f"(always {shorten(repr(found['commonest']))}: {format_percent(found['commonest_share'])})"
        lines.append(flow_parts([right, always], gap=" ", indent="  "))
        if "cross_validated" in facts:
            lines += _cross_validated(facts["cross_validated"])
    elif "training_error" in facts:
        lines.append(f"correct on {format_percent(1 - facts['training_error'])} of the training rows")
    if "stopped_because" in facts:
        lines.append(wrap_text(facts["stopped_because"], f"{pluralize(facts['updates'], 'update')}, stopped: "))
    return lines


def _cross_validated(found: Facts) -> list[str]:
    low, high = (format_percent(found[name]) for name in ("conf_low", "conf_high"))
    right = (
        f"correct on {format_percent(found['accuracy'])} in {found['folds']}-fold cross-validation ({low} to {high})"
    )
    return [wrap_text(right)]


def _three_decimals(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _degrees_of_freedom(value: float) -> str:
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 0.1 else f"{value:.1g}"  # close to 0 is not 0


# --- tables


def _tables(facts: Facts) -> list[str]:
    if facts.get("terms"):
        return _term_table(facts)
    groups = _group_table(facts["groups"]) if "groups" in facts else []
    scores = _score_table(facts["coefficients"]) if "coefficients" in facts else []
    return [*groups, *([""] if groups and scores else []), *scores]


def _term_table(facts: Facts) -> list[str]:
    """Return the table of terms with standard errors, intervals and p-values."""
    terms, n_hidden = _head_and_tail(facts["terms"])
    if "std_error" not in terms[0]:
        estimates = align_numbers([term["estimate"] for term in terms])
        names = Column("term", [str(term["term"]) for term in terms])
        return _with_gap(layout_table(_shorten_names([names, Column("estimate", estimates, True)])), n_hidden)
    columns = []
    if "label" in terms[0]:
        labels = [str(term["label"]) for term in terms]
        changed = [label if i == 0 or label != labels[i - 1] else "" for i, label in enumerate(labels)]
        columns.append(Column("label", _shorten_labels(changed)))
    columns.append(Column("term", [str(term["term"]) for term in terms]))
    columns += _estimate_columns(terms, facts["level"])
    if "statistic" in terms[0]:
        heading = "z" if "odds_ratio" in terms[-1] else "t"
        columns.append(Column(heading, [_format_statistic(term["statistic"]) for term in terms], right=True))
    columns.append(Column("p", [format_p(term["p_value"]) for term in terms], right=True))
    for spare in ("z", "t"):
        if _excess_width(columns) > 0:
            columns = [column for column in columns if column.heading != spare]
    if any(column.heading == "odds ratio" for column in columns) and _excess_width(columns) > 0:
        columns = [column for column in columns if column.heading != "std. error"]
    columns, below = _with_term_remarks(columns, terms, _not_estimated(facts))
    return _with_gap(layout_table(_shorten_names(columns)), n_hidden) + below


def _format_statistic(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}" if abs(value) < 1000 else f"{value:.3g}"


def _estimate_columns(terms: list[dict[str, Any]], level: float) -> list[Column]:
    """Return the columns of estimates, standard errors, odds ratios if they are readable, and intervals."""
    import numpy as np

    def values(name: str) -> Any:
        return np.array([term.get(name, np.nan) for term in terms], np.float64)

    is_logit = "odds_ratio" in terms[-1]
    numbers = [values(name) for name in ("estimate", "std_error", "conf_low", "conf_high")]
    estimate, error, low, high = _align_decimals(numbers, numbers[1])
    columns = [Column("log-odds" if is_logit else "estimate", estimate, True), Column("std. error", error, True)]
    if is_logit and all(math.isnan(r) or 1e-4 < r < 1e5 for r in (*values("odds_low"), *values("odds_high"))):
        odds = [values(name) for name in ("odds_ratio", "odds_low", "odds_high")]
        ratio, low, high = _align_decimals(odds, odds[0] * numbers[1])
        columns.append(Column("odds ratio", ["" if cell.strip() == "–" else cell for cell in ratio], True))
    return [*columns, Column(f"{100 * level:g}% interval", _format_intervals(low, high))]


def _format_intervals(lows: list[str], highs: list[str]) -> list[str]:
    ragged = any(cell.endswith(" ") for cell in lows + highs if cell.strip() != "–")
    pairs = [(low.strip(), high.strip()) if ragged else (low, high) for low, high in zip(lows, highs, strict=True)]
    return ["" if low.strip() == "–" else f"[{low}, {high}]" for low, high in pairs]


def _not_estimated(facts: Facts) -> dict[str, str]:
    """Return the terms that have no estimate of their own, and why."""
    aliased, unidentified = set(facts.get("aliased", ())), facts.get("unidentified") or []
    reasons = dict.fromkeys(aliased.intersection(unidentified), "a combination of other columns")
    if len(unidentified) < len(facts["terms"]):  # else all terms are alike
        reasons |= {term: "not determined" for term in unidentified if term not in aliased}
    return reasons


def _with_term_remarks(
    columns: list[Column], terms: list[dict[str, Any]], reasons: dict[str, str]
) -> tuple[list[Column], list[str]]:
    """Return the table with a column of remarks; if that does not fit, the table and a line below it."""
    baselines = [f"against {term['against']}" if "against" in term else "" for term in terms]
    remarks = [reasons.get(term["term"]) or baseline for term, baseline in zip(terms, baselines, strict=True)]
    if not any(remarks):
        return columns, []
    wide = [*columns, Column("", remarks)]
    if _excess_width(wide) <= 0:
        return wide, []
    levels = dict.fromkeys((term["term"].partition("[")[0], term["against"]) for term in terms if "against" in term)
    parts = [f"{shorten(name)} against {shorten(str(level))}" for name, level in levels]
    parts += [f"{name} is {'a ' * (reason[0] == 'c')}{reason}" for name, reason in reasons.items()]
    return columns, [flow_parts([dim(shorten_words(part)) for part in parts])]


def _align_decimals(columns: list[Any], error: Any) -> list[list[str]]:
    """Return numbers with three digits of the standard error; with the same decimals in all rows if few suffice."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        places = 2 - np.floor(np.log10(error))
    known = places[np.isfinite(places)]
    if not len(known):
        known = places = np.full(len(error), 4.0)
    least, most = (max(int(end), 0) for end in (known.min(), known.max()))
    decimals = np.where(np.isfinite(places), places, 3.0).clip(0, None).astype(int)
    if most <= least + _MAX_EXTRA_DECIMALS and most <= _MAX_DECIMALS:
        decimals[:] = most
    return [_align_points([_fixed(v, d) for v, d in zip(column, decimals, strict=True)]) for column in columns]


def _fixed(value: float, decimals: int) -> str:
    if math.isnan(value):
        return "–"
    if decimals > _MAX_DECIMALS or abs(value) >= 1e9:
        return f"{value:.3e}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"  # + 0.0: no minus zero


def _align_points(cells: list[str]) -> list[str]:
    """Return numbers padded so that their decimal points are below each other."""
    parts = [cell.partition(".") for cell in cells]
    before, after = max(len(head) for head, _, _ in parts), max(len(point + tail) for _, point, tail in parts)
    return [f"{head:>{before}}{(point + tail):<{after}}" for head, point, tail in parts]


def _group_table(groups: list[dict[str, Any]]) -> list[str]:
    groups = groups[:MAX_TERMS]
    columns = [
        Column("class", _shorten_labels([group["class"] for group in groups])),
        Column("rows", [f"{group['rows']:,}" for group in groups], True),
        Column("prior", [f"{group['prior']:.3f}" for group in groups], True),
    ]
    names = list(groups[0]["means"])
    means = [(f"mean {name}", [group["means"][name] for group in groups]) for name in names]
    columns, rest = _append_fitting(columns, means)
    more = [dim(f"and the means of {pluralize(rest, 'more column')}")] if rest else []
    return [*layout_table(columns), *more]


def _score_table(coefficients: list[dict[str, Any]]) -> list[str]:
    shown, n_hidden = _head_and_tail(coefficients)
    classes = list(shown[0]["scores"])
    titles = _shorten_labels(classes)
    if len(classes) == 1:
        titles = [f"score of {titles[0]}"]
    scores = [(title, [row["scores"][k] for row in shown]) for title, k in zip(titles, classes, strict=True)]
    columns, rest = _append_fitting([Column("term", [row["term"] for row in shown])], scores)
    if not rest:
        return _with_gap(layout_table(_shorten_names(columns)), n_hidden)
    more = dim(f"and the scores of {pluralize(rest, 'more class', 'more classes')}; --json has them all")
    return [*_with_gap(layout_table(columns), n_hidden), more]


def _append_fitting(columns: list[Column], numbers: Iterable[tuple[str, list[float]]]) -> tuple[list[Column], int]:
    """Return the table with as many columns of numbers as fit, and how many do not."""
    remaining = list(numbers)
    while remaining:
        heading, values = remaining[0]
        longer = [*columns, Column(heading, align_numbers(values), True)]
        if _excess_width(longer) > 0:
            break
        columns = longer
        del remaining[0]
    return columns, len(remaining)


def layout_table(columns: Sequence[Column]) -> list[str]:
    """Return lines of aligned text, headings first."""
    from linearly.table import Grid

    numbers = [column.right or "interval" in column.heading for column in columns]
    cells = [
        [typeset_number(cell) if is_number else cell for cell in column.cells]
        for column, is_number in zip(columns, numbers, strict=True)
    ]
    rows = [list(map(_one_line, row)) for row in zip(*cells, strict=True)]
    lines = Grid([column.heading for column in columns], [column.right for column in columns], rows).text()
    del lines[1]  # the rule: headings are dim instead
    return [dim(lines[0]), *lines[1:]] if lines else lines


def _excess_width(columns: Sequence[Column]) -> int:
    """Return by how much a table is wider than the terminal."""
    return table_width(columns) - terminal_width()


def table_width(columns: Sequence[Column]) -> int:
    """Return the width of a table."""
    return max(map(visible_width, layout_table(columns)))


def _one_line(cell: str) -> str:
    """Return a cell without line breaks and control characters, which levels may contain."""
    cell = visible(cell)
    return " ".join(cell.split()) if set(cell) & set("\n\t") else cell


def _shorten_names(columns: list[Column]) -> list[Column]:
    """Return the table with labels, then terms, cut if it would not fit."""
    for j, column in enumerate(columns):
        excess = _excess_width(columns)
        if excess > 0 and column.heading in ("label", "term"):
            room = max(max(map(len, column.cells)) - excess, _MIN_NAME)
            columns[j] = column._replace(cells=shorten_names(column.cells, room, middle_first=True))
    return columns


def _shorten_labels(labels: Sequence[Any]) -> list[str]:
    return shorten_names(list(map(str, labels)), _MAX_LABEL, middle_first=True)


def _head_and_tail(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    if len(rows) <= MAX_TERMS:
        return rows, 0
    return rows[:HEAD] + rows[-TAIL:], len(rows) - HEAD - TAIL


def _with_gap(lines: list[str], n_hidden: int) -> list[str]:
    if not n_hidden:
        return lines
    return [*lines[: HEAD + 1], dim(f"… {n_hidden:,} more terms; --json has them all"), *lines[HEAD + 1 :]]


# --- remarks


def _remarks(facts: Facts) -> list[str]:
    lines = []
    clusters = facts.get("statistics", {}).get("n_clusters")
    if clusters is not None:
        dof = "t on the df of each term" if "df_f" in facts["statistics"] else f"t on {clusters - 1} df"
        by = f"{pluralize(clusters, 'cluster')} by {facts['groups_column']}: {dof}"
        lines.append(wrap_text(by, "clustered   "))
    if "findings" in facts:
        lines += [format_finding(finding) for finding in facts["findings"] if finding["id"] not in _NOT_ON_SCREEN]
    elif facts.get("vif"):
        lines.append(wrap_text(shorten_words(_collinearity(facts["vif"], set(facts["structural"]))), "columns     "))
    return lines


def format_finding(finding: Facts) -> str:
    """Return a finding as wrapped lines: severity, claim, remedy."""
    lead = f"{finding['severity']:<8} "
    text = f"{shorten(finding['about'])}: {finding['claim']}" if finding["about"] else finding["claim"]
    if finding["remedy"]:
        remedy = finding["remedy"]
        text = f"{as_sentence(text)} {as_sentence(remedy[0].upper() + remedy[1:])}"
    return style(lead[:8], COLOURS[finding["severity"]]) + wrap_text(shorten_words(text), lead)[8:]


def _collinearity(table: list[dict[str, Any]], structural: set[str]) -> str:
    collinear = [row["term"] for row in table if row["vif"] == math.inf]
    if collinear:
        return f"collinear: {', '.join(collinear[:4])}{' …' if len(collinear) > 4 else ''} (see linearly check)"
    own = [row for row in table if row["term"] not in structural]
    if not own:
        return "terms share columns and are correlated by construction"
    worst = max(own, key=lambda row: row["vif"])
    amount = "no" if worst["vif"] < 5 else "some" if worst["vif"] < 10 else "strong"
    return f"{amount} collinearity (largest VIF {worst['vif']:.3g}, {worst['term']})"
