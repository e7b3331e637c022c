"""The screen of `fit`: the facts about a model as a person would read them aloud."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linearly.cli.terminal import (
    bold,
    brief,
    columns_told,
    compact,
    count,
    dim,
    duration,
    flowing,
    percent,
    probability,
    seen,
    short,
    width,
    wrapped,
)
from linearly.formatting import visible

LONGEST = 40  # terms shown in full; of more, the first HEAD and the last TAIL
HEAD, TAIL = 30, 5
_LABEL = 30  # letters of a label in a table
_FEW, _MANY = 3, 9  # decimals that are shown in every row though only some need them; decimals that are shown at all
Facts = dict[str, Any]
Column = tuple[str, bool, list[str]]  # heading, whether it stands to the right, cells


def fit_screen(facts: Facts) -> str:
    """All of it."""
    parts = [heading(facts), *_statistics(facts), "", *_body(facts), "", *_remarks(facts)]
    while not parts[-1]:
        parts.pop()
    return "\n".join(parts)


def heading(facts: Facts) -> str:
    """Kind, target, columns, rows, passes and time."""
    on = columns_told(len(facts["features"]), len(facts["columns"]))
    what = [bold(facts["kind"]), facts["formula"] or f"{facts['target']} on {on}"]
    if facts["rows"] is not None:
        dropped = f" ({facts['dropped']:,} left out)" if facts["dropped"] else ""
        what.append(count(facts["rows"], "row") + dropped)
    passes = [count(facts["passes"], "pass", "passes")] if facts["passes"] is not None else []
    time = [duration(facts["seconds"])] if "seconds" in facts else []
    what.append(", ".join(passes + time))
    return flowing([part for part in what if part], indent="  ")


def _statistics(facts: Facts) -> list[str]:
    found = facts.get("statistics")
    if found is None:
        return _training(facts)
    if "r_squared" in found:
        parts = [f"R² {_figure(found['r_squared'])}", f"adjusted {_figure(found['adj_r_squared'])}"]
        parts.append(f"σ {_sigma(found['sigma'])} on {_df(found['df_residual'])} df")
        if found["f_statistic"] == found["f_statistic"]:
            parts.append(f"F {found['f_statistic']:.4g}, {probability(found['p_value'])}")
        if "alpha" in facts:
            chosen = f", chosen by {facts['folds']} folds" if facts.get("folds") and facts["alpha_chosen"] else ""
            parts.append(f"alpha {facts['alpha']:.4g}{chosen}")
        parts.append(f"{count(int(found['digits']), 'digit')} to trust")
        return [flowing(parts, indent="  ")]
    classes = facts["classes"]
    two = len(classes) == 2
    told = f"log-odds {'of' if two else 'against'} {short(repr(classes[1] if two else facts['reference']))}"
    parts = [told]
    parts.append(f"pseudo-R² {_figure(found['pseudo_r_squared'])}")
    df = f"on {found['df_residual']} df (null {found['null_deviance']:.5g})"
    parts.append(f"deviance {found['deviance']:.5g} {df}")
    parts.append(f"AIC {found['aic']:.5g}")
    if facts.get("separated"):
        parts.append("where the search was stopped")
    if "alpha" in facts:
        parts.append(f"alpha {facts['alpha']:.4g}")
    return [flowing(parts, indent="  "), *_training(facts)]


def _training(facts: Facts) -> list[str]:
    parts = []
    if "training" in facts:
        found = facts["training"]
        parts.append(f"right on {percent(found['accuracy'])} of the training rows")
        parts.append(f"(always {short(repr(found['commonest']))}: {percent(found['commonest_share'])})")
    elif "training_error" in facts:
        parts.append(f"right on {percent(1 - facts['training_error'])} of the training rows")
    lines = [flowing(parts, gap=" ", indent="  ")] if parts else []
    if "stopped_because" in facts:
        lines.append(wrapped(facts["stopped_because"], f"{count(facts['updates'], 'update')}, stopped: "))
    return lines


def _figure(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def _df(value: float) -> str:
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 0.1 else f"{value:.1g}"  # next to none is not none


def _sigma(value: float) -> str:
    return "–" if value != value else compact(float(f"{value:.4g}"))


# --- the table ------------------------------------------------------------------------------------


def _body(facts: Facts) -> list[str]:
    if facts.get("terms"):
        return _term_table(facts)
    lines: list[str] = []
    if "groups" in facts:
        lines += _group_table(facts)
    if "coefficients" in facts:
        lines += ([""] if lines else []) + _score_table(facts)
    return lines


def _term_table(facts: Facts) -> list[str]:
    import numpy as np

    from linearly.formatting import format_p as p_value

    shown, gap = _shown(facts["terms"])
    unidentified = facts.get("unidentified") or []

    def values(name: str) -> Any:
        return np.array([t.get(name, np.nan) for t in shown], np.float64)

    def interval(lows: list[str], highs: list[str]) -> list[str]:
        ragged = any(cell.endswith(" ") for cell in lows + highs if cell.strip() != "–")
        pairs = [(x.strip(), y.strip()) if ragged else (x, y) for x, y in zip(lows, highs, strict=True)]
        return ["" if x.strip() == "–" else f"[{x}, {y}]" for x, y in pairs]

    told = [values(name) for name in ("estimate", "std_error", "conf_low", "conf_high")]
    estimate, error, low, high = _alike(told, told[1])
    logit = "odds_ratio" in shown[-1]
    odds = logit and _readable([*values("odds_low"), *values("odds_high")])
    columns: list[Column] = []
    if "label" in shown[0]:
        columns.append(("label", False, cut_names(_once([str(term["label"]) for term in shown]), _LABEL)))
    columns.append(("term", False, [str(term["term"]) for term in shown]))
    columns.append(("log-odds" if logit else "estimate", True, estimate))
    columns.append(("std. error", True, error))
    if odds:
        ratio = [values(name) for name in ("odds_ratio", "odds_low", "odds_high")]
        parts = _alike(ratio, ratio[0] * told[1])
        columns.append(("odds ratio", True, [_blank(text) for text in parts[0]]))
        columns.append(("95 % interval", False, interval(*parts[1:])))
    else:
        columns.append(("95 % interval", False, interval(low, high)))
    columns.append(("p", True, [p_value(t["p_value"]) for t in shown]))
    if odds and max(map(seen, laid_out(columns))) > width():
        columns = [column for column in columns if column[0] != "std. error"]
    aliased = set(facts.get("aliased", ()))
    untold = dict.fromkeys(aliased.intersection(unidentified), "combination of others")
    if len(unidentified) < len(facts["terms"]):  # else there is nothing to tell them from
        untold |= {term: "not determined" for term in unidentified if term not in aliased}
    remarks = [untold.get(t["term"]) or _against(t) for t in shown]
    below = []
    if any(remarks):
        wide = [*columns, ("", False, remarks)]
        if max(map(seen, laid_out(wide))) <= width():
            columns = wide
        else:
            levels = dict.fromkeys((t["term"].partition("[")[0], t["against"]) for t in shown if "against" in t)
            apart = [f"{short(name)} against {short(str(level))}" for name, level in levels]
            apart += [f"{name} is {'a ' * (said[0] == 'c')}{said}" for name, said in untold.items()]
            below = [flowing([dim(brief(part)) for part in apart])]
    lines = laid_out(_fitting(columns))
    return _with_gap(lines, gap) + below


def _readable(ratios: list[float]) -> bool:
    """Whether odds ratios are numbers that a person can read; else the log-odds say more."""
    return all(ratio != ratio or 1e-4 < ratio < 1e5 for ratio in ratios)


def _alike(columns: list[Any], error: Any) -> list[list[str]]:
    """Numbers with as many decimals as show three digits of the standard error: alike for all rows, if that is few."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        places = 2 - np.floor(np.log10(error))
    known = places[np.isfinite(places)]
    if not len(known):
        known = places = np.full(len(error), 4.0)
    least, most = (max(int(end), 0) for end in (known.min(), known.max()))
    decimals = np.where(np.isfinite(places), places, 3.0).clip(0, None).astype(int)
    if most <= least + _FEW and most <= _MANY:
        decimals[:] = most
    return [_at_point([_written(v, d) for v, d in zip(column, decimals, strict=True)]) for column in columns]


def _written(value: float, decimals: int) -> str:
    if value != value:
        return "–"
    if decimals > _MANY or abs(value) >= 1e9:
        return f"{value:.3e}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"  # + 0.0: no minus zero


def _at_point(cells: list[str]) -> list[str]:
    """Numbers below each other by their decimal points."""
    parts = [cell.partition(".") for cell in cells]
    before, after = max(len(head) for head, _, _ in parts), max(len(point + tail) for _, point, tail in parts)
    return [f"{head:>{before}}{(point + tail):<{after}}" for head, point, tail in parts]


def _blank(text: str) -> str:
    return "" if text.strip() == "–" else text


def _against(term: dict[str, Any]) -> str:
    return f"against {term['against']}" if "against" in term else ""


def _group_table(facts: Facts) -> list[str]:
    import numpy as np

    from linearly.formatting import align_numbers as numbers

    groups = facts["groups"][:LONGEST]
    columns: list[Column] = [
        ("class", False, cut_names([str(group["class"]) for group in groups], _LABEL)),
        ("rows", True, [f"{group['rows']:,}" for group in groups]),
        ("prior", True, [f"{group['prior']:.3f}" for group in groups]),
    ]
    names = list(groups[0]["means"])
    for j, name in enumerate(names):
        column = (f"mean {name}", True, numbers(np.array([group["means"][name] for group in groups], dtype=np.float64)))
        if max(map(seen, laid_out([*columns, column]))) > width():
            rest = len(names) - j
            return [*laid_out(columns), dim(f"and the means of {count(rest, 'more column')}")]
        columns.append(column)
    return laid_out(columns)


def _score_table(facts: Facts) -> list[str]:
    import numpy as np

    from linearly.formatting import align_numbers as numbers

    shown, gap = _shown(facts["coefficients"])
    columns: list[Column] = [("term", False, [row["term"] for row in shown])]
    heads = list(shown[0]["scores"])
    for k, (head, label) in enumerate(zip(heads, cut_names(list(map(str, heads)), _LABEL), strict=True)):
        told = f"score of {label}" if len(heads) == 1 else label
        column = (told, True, numbers(np.array([row["scores"][head] for row in shown], dtype=np.float64)))
        if max(map(seen, laid_out([*columns, column]))) > width():
            more = dim(f"and the scores of {count(len(heads) - k, 'more class', 'more classes')}; --json has them all")
            return [*_with_gap(laid_out(columns), gap), more]
        columns.append(column)
    return _with_gap(laid_out(_fitting(columns)), gap)


def laid_out(columns: Sequence[Column]) -> list[str]:
    """Lines of aligned text, headings first."""
    from linearly.table import Grid

    rows = [list(map(_one_line, row)) for row in zip(*(cells for _, _, cells in columns), strict=True)]
    lines = Grid([name for name, _, _ in columns], [right for _, right, _ in columns], rows).text()
    del lines[1]  # the rule: headings are dim instead
    return [dim(lines[0]), *lines[1:]] if lines else lines


def _one_line(cell: str) -> str:
    """A cell without the line ends and the control characters that levels may have."""
    cell = visible(cell)
    return " ".join(cell.split()) if set(cell) & set("\n\t") else cell


def _fitting(columns: list[Column]) -> list[Column]:
    """The columns with names of labels, then of terms, cut in the middle where they would not fit."""
    for j, (name, right, cells) in enumerate(columns):
        excess = max(map(seen, laid_out(columns))) - width()
        if excess > 0 and name in ("label", "term"):
            columns[j] = (name, right, cut_names(cells, max(max(map(len, cells)) - excess, 12)))
    return columns


def cut_names(names: list[str], most: int) -> list[str]:
    """Names of so many letters: cut in the middle, at the start or at the end, wherever most of them stay different."""

    def cut(name: str, head: int) -> str:
        return name if len(name) <= most else f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"

    ways = [[cut(name, head) for name in names] for head in ((most - 1) * 2 // 3, 0, most - 1)]
    return max(ways, key=lambda way: len(set(way)))


def _shown(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    if len(rows) <= LONGEST:
        return rows, 0
    return rows[:HEAD] + rows[-TAIL:], len(rows) - HEAD - TAIL


def _with_gap(lines: list[str], gap: int) -> list[str]:
    if not gap:
        return lines
    return [*lines[: HEAD + 1], dim(f"… {gap:,} more terms; --json has them all"), *lines[HEAD + 1 :]]


def _once(cells: list[str]) -> list[str]:
    return [cell if i == 0 or cell != cells[i - 1] else "" for i, cell in enumerate(cells)]


# --- the remarks ----------------------------------------------------------------------------------


def _remarks(facts: Facts) -> list[str]:
    lines = []
    if facts.get("constant") is not None:
        always = f"{facts['target']} is {compact(facts['constant'])} in every row: there is nothing to explain"
        lines.append(wrapped(always, "target      "))
    clusters = facts.get("statistics", {}).get("n_clusters")
    if clusters is not None:
        lines.append(
            wrapped(f"{count(clusters, 'cluster')} by {facts['groups_column']}: t on {clusters - 1} df", "clustered   ")
        )
    tests = {found["test"]: found["p_value"] for found in facts.get("tests", ())}
    told = []
    if "shapiro_wilk" in tests:
        normal = "no evidence against normality" if tests["shapiro_wilk"] >= 0.05 else "not normal"
        told.append(f"{normal} (Shapiro-Wilk {probability(tests['shapiro_wilk'])})")
    if "breusch_pagan" in tests:
        steady = tests["breusch_pagan"] >= 0.05
        even = "no evidence against equal variance" if steady else "unequal variance"
        told.append(f"{even} (Breusch-Pagan {probability(tests['breusch_pagan'])})")
        if not steady and facts["covariance"] == "classical":
            told.append(
                "try --param covariance=HC3" if facts["covariance_settable"] else "take the intervals with care"
            )
    if told:
        lines.append(flowing(["residuals", *told], indent="            "))
    if facts.get("vif"):
        lines.append(wrapped(brief(_collinearity(facts["vif"], set(facts["structural"]))), "columns     "))
    if facts.get("separated"):
        finite = "figures without standard errors" if facts["separation"] == "quasi-separable" else "these figures"
        told_of = f"{finite} are where the search was stopped, not estimates"
        lines.append(wrapped(f"{told_of}; try --param bias_reduction=firth, or --alpha 1", "separable   "))
    return lines


def _collinearity(table: list[dict[str, Any]], structural: set[str]) -> str:
    own = [row for row in table if row["term"] not in structural]
    if not own and all(row["vif"] < float("inf") for row in table):
        return "terms share columns, and are related by construction"
    worst = max([row for row in table if row["vif"] == float("inf")] or own, key=lambda row: row["vif"])
    if worst["vif"] == float("inf"):
        alike = [row["term"] for row in table if row["vif"] == float("inf")]
        return f"collinear: {', '.join(alike[:4])}{' …' if len(alike) > 4 else ''} (see linearly check)"
    told = f"largest VIF {worst['vif']:.3g}, {worst['term']}"
    if worst["vif"] < 5:
        return f"no collinearity ({told})"
    return f"{'some' if worst['vif'] < 10 else 'strong'} collinearity ({told})"
