"""What the page of a regression says: the four answers, and a section for each question behind them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from linearly.plots.regression_plots import STRONG
from linearly.report import figures
from linearly.report.page_parts import (
    NOTHING,
    Page,
    Part,
    Section,
    aligned,
    computed_part,
    count,
    digits,
    format_count,
    format_number,
    format_p,
    grid,
    held_out,
    interval,
    join_names,
    option,
    qualified,
    rows_part,
    table,
    text,
)
from linearly.report.regression_findings import (
    FAILS,
    INFLATED,
    Facts,
    fails,
    findings,
    fitted,
    good,
    metrics,
    structural,
)

UNIT = "for one unit more of it"
LARGE = 5000  # rows from which on tests find departures that do no harm

_TESTS = {
    "shapiro_wilk": ("Shapiro-Wilk", "Are the errors normal?"),
    "lilliefors": ("Kolmogorov-Smirnov (Lilliefors)", "Are the errors normal?"),
    "anderson_darling": ("Anderson-Darling", "Are the errors normal?"),
    "breusch_pagan": ("Breusch-Pagan (Koenker)", "Is their variance the same everywhere?"),
    "durbin_watson": ("Durbin-Watson", "Are neighbouring rows independent?"),
}
_MEANING = {
    "normal": (
        "p-values and intervals where rows are few; prediction intervals always",
        "coefficients, R², and intervals of coefficients from some hundreds of rows on",
    ),
    "breusch_pagan": (
        "classical standard errors, and with them intervals and p-values",
        "coefficients and R²; {robust} gives standard errors that hold",
    ),
    "durbin_watson": (
        "standard errors, which are then too small, if the order of rows is one of time or place",
        "coefficients; and everything, if the order of rows has no meaning",
    ),
}
_NAMES = {"r_squared": "R²", "rmse": "Root mean squared error", "mae": "Mean absolute error"}
_COVARIANCE = {
    "classical": "Intervals assume independent errors of equal variance.",
    "cluster": "Intervals allow rows to be alike within {clusters} clusters; t is on {dof} degrees of freedom.",
}


def regression_page(facts: Facts) -> Page:
    """The page of a regression."""
    sections = [
        Section("coefficients", "What each column does", _coefficients(facts)),
        Section("fit", "How well it fits", _fit(facts)),
    ]
    if facts.get("sample") or facts["tests"]:
        sections.append(Section("residuals", "What it leaves over", _residuals(facts)))
    if facts["vif"] is not None or facts["aliased"]:
        sections.append(Section("collinearity", "Do the columns say the same?", _collinearity(facts)))
    if facts["influence"]:
        sections.append(Section("influence", "Does a single row decide?", _influence(facts)))
    if facts["refit"]:
        sections.append(Section("refit", "Refit it here", [{"kind": "refit"}], scripted=True))
    if facts.get("rows"):
        answers = [("fitted", "fitted"), ("residual", "residual")]
        sections.append(
            Section("rows", "Some of the rows", rows_part(facts["rows"], facts["target"], answers, facts["n"]))
        )
    sections.append(Section("computed", "How it was computed", computed_part(facts, _computed(facts))))
    return Page(
        f"{facts['target']} from {count(facts['columns'], 'column')}"
        + (f", {count(facts['p'], 'term')}" if facts["p"] != facts["columns"] else ""),
        fitted(facts),
        good(facts),
        findings(facts),
        sections,
        _refit_data(facts),
    )


# --- the sections ---------------------------------------------------------------------------------


def _coefficients(facts: Facts) -> list[Part]:
    columns, target = facts["terms"], facts["target"]
    level = f"{100 * facts['level']:g} %"
    clear = _strongest(columns)
    parts = [text(_lead_coefficients(facts, clear), _assumes(facts))]
    drawn = figures.coefficients(facts, f"change of {target}")
    if drawn is not None:
        parts.append(drawn)
    biased = "bias" in columns
    head = ["term", "estimate", "standard error", f"{level} interval", "p", *(["pull"] if biased else []), "in words"]
    rows = []
    shown = [aligned(columns[name]) for name in ("estimate", "std_error")]
    if biased:
        shown.append([format_number(value, 2) for value in columns["bias"]])
    for i, term in enumerate(columns["term"]):
        estimate, low, high = (columns[name][i] for name in ("estimate", "conf_low", "conf_high"))
        number, error, *pull = (column[i] for column in shown)
        cells = [term, number, error, interval(low, high), format_p(columns["p_value"][i]), *pull]
        rows.append([*cells, _reading(facts, term, estimate, low, high)])
    parts.append(table(f"Coefficients of {target}, with {level} intervals", head, rows, words=(len(head) - 1,)))
    if biased:
        parts.append(text("“Pull” is how far the penalty moved a coefficient; the intervals do not account for it."))
    if "penalties" in facts:
        parts.append(figures.penalties(facts))
    return parts


def _assumes(facts: Facts) -> str:
    clusters = facts["statistics"].get("n_clusters", 0)
    told = _COVARIANCE.get(facts["covariance"], f"Intervals allow variances to differ ({facts['covariance']}).")
    return told.format(clusters=clusters, dof=clusters - 1)


def _strongest(columns: dict[str, list[Any]]) -> list[int]:
    """Terms whose interval leaves out 0, the surest first."""
    ends = zip(columns["term"], columns["conf_low"], columns["conf_high"], strict=True)
    clear = [
        i for i, (term, low, high) in enumerate(ends) if term != "Intercept" and low is not None and low * high > 0
    ]
    return sorted(clear, key=lambda i: -abs(columns["statistic"][i] or 0.0))


def _lead_coefficients(facts: Facts, clear: list[int]) -> str:
    columns = facts["terms"]
    known = sum(low is not None for low in columns["conf_low"])
    if facts["constant"] is not None:
        return f"{facts['target']} is the same in every row, so no column has anything to explain."
    if not known and facts["unidentified"] and (facts["statistics"]["df_residual"] or 0) > 0:
        return "There are no intervals: the rows determine no coefficient on its own."
    if not known:
        return "There are no intervals: as many terms as rows, or more, leave nothing to tell how sure they are."
    if not clear:
        return (
            "No column's interval leaves out 0: each alone, beside the others, could have no effect. Together they may "
            "still matter; the F test says."
        )
    i = clear[0]
    term, value = columns["term"][i], columns["estimate"][i]
    more = f" The intervals of {count(len(clear), 'term')} in all leave out 0." if len(clear) > 1 else ""
    part = facts["shared"].get(term)
    if part is not None and part["kind"] == "curve":
        return f"The surest is {term}, part of a curve in {join_names(part['of'])}: its terms are read together.{more}"
    if part is not None and part["kind"] == "interaction":
        first, *others = part["parts"]
        return f"The surest is {term}, an interaction: the effect of {first} depends on {join_names(others)}.{more}"
    alone = "" if facts["p"] == 1 else ", the other columns held as they are"
    if part is not None:
        alone = f", where {join_names(part['where'])}. The effect of {term} depends on {join_names(part['depends'])}"
    return (
        f"{f'{term} is clear of 0' if facts['p'] == 1 else f'The surest is {term}'}: {_step(facts, term)}, "
        f"{facts['target']} is {format_number(abs(value), 3)} {'higher' if value > 0 else 'lower'}{alone}.{more}"
    )


def _step(facts: Facts, term: str) -> str:
    against = facts["references"].get(term)
    level = re.fullmatch(r".+?\[(.+)\]", term)
    if level is None or term not in facts["levels"]:
        return UNIT
    if against is not None:
        return f"for {level[1]} rather than {against}"
    return f"for {level[1]}" if ":" not in term else "where these levels meet"


def _reading(facts: Facts, term: str, estimate: Any, low: Any, high: Any) -> str:
    if term in facts["unidentified"]:
        return "not determined by the rows"
    if term == "Intercept":
        zero = "every term is 0" if facts["shared"] else "every column is 0"
        zero += ", or the level held against" if facts["references"] else ""
        return f"{facts['target']} where {zero}"
    if estimate is None:
        return "not known"
    way = "higher" if estimate > 0 else "lower"
    step = _step(facts, term)
    unit = "per unit" if term in facts["features"] else f"per unit of {term}"
    said = f"{format_number(abs(estimate), 3)} {way} {unit if step == UNIT else step}"
    said = qualified(facts, term, said, format_number(estimate, 3))
    if low is None:
        return f"{said}; how sure is not known"
    return said + ("" if low * high > 0 else "; could be none")


def _fit(facts: Facts) -> list[Part]:
    found, target = facts["statistics"], facts["target"]
    rows = []
    if facts["held_out"]:
        judged = metrics(facts["held_out"])
        for name, what in _NAMES.items():
            reach = interval(judged[name]["conf_low"], judged[name]["conf_high"])
            meaning = f"On {held_out(facts)}; {reach} on others like them."
            rows.append([f"{what}, held out", format_number(judged[name]["value"]), meaning])
    rows += [
        [
            "R²",
            format_number(found["r_squared"]),
            f"The share of the variance of {target} that the columns account for.",
        ],
        [
            "Adjusted R²",
            format_number(found["adj_r_squared"]),
            "The same, less what as many columns of noise would get.",
        ],
        [
            "σ",
            format_number(found["sigma"]),
            f"The size of a typical error, in units of {target}, on {format_number(found['df_residual'])} degrees of freedom.",
        ],
    ]
    if found["f_statistic"] is not None:
        rows.append(
            [
                "F",
                format_number(found["f_statistic"]),
                f"If no column mattered, so large an F would come up with probability {format_p(found['p_value'])}.",
            ]
        )
    for name, row in metrics(facts["evaluation"]).items():
        if name != "r_squared":
            rows.append([_NAMES[name], format_number(row["value"]), _error_meaning(facts, row)])
    if facts["left_out"] is not None:
        meaning = "The root mean squared error of each row by a fit without it: what to expect on new rows."
        rows.append(["Error on a row left out", format_number(facts["left_out"]), meaning])
    rows += [
        ["AIC", format_number(found["aic"]), "For comparing models of the same rows only: lower is better."],
        ["BIC", format_number(found["bic"]), "The same, harder on columns."],
    ]
    own = "R², σ, F, AIC and BIC are of the rows of the fit, the two errors of these rows."
    if facts["training"]:
        own = "Figures are of the rows of the fit unless it is said otherwise."
    lead = text("How much of the target is explained, and how far off predictions are.", own)
    return [lead, table("Statistics of the fit", ["what", "value", "meaning"], rows, words=(2,))]


def _error_meaning(facts: Facts, row: dict[str, Any]) -> str:
    """What an error on these rows tells about others, which depends on whether the fit has seen these."""
    reach = interval(row["conf_low"], row["conf_high"])
    if facts["perfect"]:
        return "On the rows of the fit: rounding, and nothing else."
    if facts["training"]:
        return (
            f"On the rows of the fit, where it is {reach} as chance has it. The fit has seen them: new rows do worse."
        )
    return f"On these rows; {reach} on others like them, if the fit has seen none of these."


def _residuals(facts: Facts) -> list[Part]:
    parts: list[Part] = []
    if facts.get("sample"):
        parts += [text("What the model cannot say should look like noise."), grid(*figures.residuals(facts))]
    if not facts["tests"]:
        return parts
    rows = []
    for test in facts["tests"]:
        name, question = _TESTS[test["test"]]
        verdict = (
            {"text": "rejected", "mark": "look"} if fails(test) else {"text": "no evidence against", "mark": "good"}
        )
        if test["p_value"] is None:
            verdict = {"text": "not known"}
        rows.append([name, format_number(test["statistic"]), format_p(test["p_value"]), verdict, question])
    head = ["test", "statistic", "p", "its assumption", "what it asks"]
    parts.append(table("Tests of the residuals", head, rows, words=(4,)))
    failed = sum(map(fails, facts["tests"]))
    said = "No test finds evidence against its assumption, which does not prove it."
    if failed:
        said = f"{count(failed, 'test rejects', 'tests reject')} its assumption at p < {FAILS:g}."
    notes = [said]
    if facts["n"] > LARGE:
        notes.append(
            f"Normality is tested on {format_count(min(test['n'] for test in facts['tests']))} rows. With so many, tests "
            "find departures that do no harm: trust the pictures more."
        )
    asked = {test["test"] for test in facts["tests"]}
    kinds = [("normal", "Errors are not normal"), ("breusch_pagan", "Their variance changes")]
    kinds.append(("durbin_watson", "Neighbouring rows are alike"))
    meanings = [
        [what, *(said.format(robust=option(facts, "covariance", "HC3")) for said in _MEANING[kind])]
        for kind, what in kinds
        if kind in asked or kind == "normal"
    ]
    head = ["if", "this is in doubt", "and this still stands"]
    return [*parts, text(*notes), table("What a rejection means, and what it does not", head, meanings, words=(1, 2))]


def _collinearity(facts: Facts) -> list[Part]:
    lead = (
        "If a column is nearly a combination of others, the data cannot tell their effects apart. Predictions do not "
        "suffer; single coefficients do."
    )
    if facts["vif"] is None:
        return [text(lead, f"{join_names(facts['aliased'])} are combinations of the columns before.")]
    rows = []
    pairs = zip(facts["vif"]["term"], facts["vif"]["vif"], strict=True)
    for term, v in sorted(pairs, key=lambda pair: -(pair[1] or np.inf)):
        if v is None:
            said, mark = "a combination of the others: its own effect cannot be known", "bad"
        else:
            times = format_number(float(np.sqrt(v)), 2)
            said = f"standard error {times} times that of unrelated columns" if times != "1" else "as if unrelated"
            mark = "look" if v > INFLATED and not structural(facts, term) else ""
        rows.append([term, {"text": format_number(v, 3) if v is not None else "∞", "mark": mark}, said])
    note = "Levels of one category are related by what they are." if facts["levels"] else ""
    if facts["shared"]:
        note += " Terms that share a column (powers, products and their parts) are related by construction."
    return [text(lead, note.strip()), table("Variance inflation", ["column", "VIF", "meaning"], rows, words=(2,))]


def _influence(facts: Facts) -> list[Part]:
    found, n = facts["influence"], facts["n"]
    above = found["n_above"]
    lead = (
        f"Cook's distance is how far all coefficients move together if a row is left out. Its largest value here is "
        f"{format_number(found['largest'], 3)}; over {STRONG:g} a row weighs heavily, over {format_number(found['line'], 2)} (4/n) it is "
        "worth a look."
    )
    parts = [text(lead)]
    if found.get("rows"):
        rows = []
        columns = found["rows"]
        shown = [aligned(columns[name]) for name in ("y", "fitted", "residual", "leverage")]
        for i, place in enumerate(columns["place"]):
            distance = columns["cooks_distance"][i]
            cells = [column[i] for column in shown]
            mark = "look" if distance > STRONG else ""
            share = format_number(columns["leverage"][i], 2)
            said = f"pulls its own fitted value with weight {share}"
            rows.append([place, *cells, {"text": format_number(distance, 3), "mark": mark}, said])
        head = ["row", facts["target"], "fitted", "residual", "leverage", "Cook's distance", "meaning"]
        caption = f"The {count(len(rows), 'row')} of {n} with the largest Cook's distances"
        parts.append(table(caption, head, rows, words=(6,)))
    if "refused" in found:
        return [*parts, text(f"What leaving them out would change cannot be worked out: {found['refused']}")]
    several, all_of_them = found["n_out"] > 1, above == found["n_out"]
    out = f"the {count(found['n_out'], 'row')}" if all_of_them else f"the {found['n_out']} that weigh most"
    taken = f"{out} above 4/n" if all_of_them else f"{out} of {format_count(above)} above 4/n"
    first = found["rows"]["place"][0] if found.get("rows") else "the first row"
    rows = []
    shown = [aligned(found[name]) for name in ("with", "without_first", *(["without"] if several else []))]
    for i, term in enumerate(found["terms"]):
        moved = found["moved"][i]
        mark = "look" if moved is not None and abs(moved) > 1 else ""
        size = {"text": NOTHING if moved is None else f"{moved:z.2f}".replace("-", "−"), "mark": mark}
        rows.append([term, *(column[i] for column in shown), size, _moved(moved)])
    head = [
        "term",
        "all rows",
        f"without {first}",
        *([f"without {out}"] if several else []),
        "change in standard errors",
    ]
    what = taken if several else first
    caption = f"Coefficients with all rows, and without {first}" + (f" or {taken}" if several else "")
    return [
        *parts,
        table(caption, [*head, "meaning"], rows, words=(len(head),)),
        text(
            f"Without {what}, R² would be {format_number(found['r_squared'], 3)} and σ {format_number(found['sigma'], 3)}.",
            "The change is that of leaving all of them out." if several else "",
        ),
    ]


def _moved(moved: float | None) -> str:
    if moved is None:
        return "not known"
    if abs(moved) > 1:
        return "moves by more than its standard error"
    return "hardly moves" if abs(moved) < 0.3 else "moves within its standard error"


def _computed(facts: Facts) -> list[tuple[str, str, str]]:
    found = facts["statistics"]
    return [
        ("Method", str(found["method"]), "gram is the fast summary; exact computes in twice the digits."),
        (
            "Condition",
            format_number(found["condition"], 3),
            "Of the scaled columns: 1 is best, each factor 10 costs a digit.",
        ),
        ("Digits to trust", digits(found["digits"]), "Decimal digits of the weakest coefficient that are certain."),
    ]


def _refit_data(facts: Facts) -> dict[str, Any] | None:
    if not facts["refit"]:
        return None
    terms = facts["terms"]
    estimate = dict(zip(terms["term"], terms["estimate"], strict=True))
    return {**facts["refit"], "names": facts["names"], "target": facts["target"], "estimate": estimate}
