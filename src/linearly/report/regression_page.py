"""Lay out the page of a regression: fit, accuracy, trust and next steps at the top, then one section per question.

Sentences and fixed tables are in templates/regression.toml.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from linearly.findings.regression import INFLATED, STRONG, is_rejected, is_structural, regression_findings
from linearly.formatting import MISSING, format_number
from linearly.report import figures
from linearly.report.effect_figures import effect_figures, equation, row_names
from linearly.report.page_parts import (
    Facts,
    Page,
    Part,
    Section,
    align_decimals,
    describe_term,
    format_p,
    grid,
    interval,
    largest_first,
    metrics_by_name,
    table,
    text,
)
from linearly.report.question_facts import questions_section
from linearly.report.sections import computed_section, rows_section
from linearly.report.texts import Texts

PER_UNIT = "per unit"
_ROUNDING = 1e-12  # of an estimate: a smaller difference is a rounding error


def regression_page(facts: Facts) -> Page:
    """Return the page of a regression."""
    texts, rows = _texts(facts), row_names(facts)
    effects = effect_figures(facts, texts, rows)
    sections = [Section("coefficients", "Coefficients", _coefficients(facts, texts, effects))]
    if len(effects) > 1:
        parts = [text(*texts.sentences("effects.lead", n_shown=len(effects))), grid(*effects)]
        sections.append(Section("effects", "Effects of the columns", parts))
    sections.append(Section("fit", "Goodness of fit", _fit(facts, texts)))
    sections += questions_section(facts)
    if facts.get("sample") or facts["tests"]:
        sections.append(Section("residuals", "Residuals", _residuals(facts, texts, rows)))
    if facts["vif"] is not None or facts["aliased"]:
        sections.append(Section("collinearity", "Collinearity", _collinearity(facts, texts)))
    if facts["influence"]:
        sections.append(Section("influence", "Influential rows", _influence(facts, texts)))
    if facts["refit"]:
        sections.append(Section("refit", "Refit", [{"kind": "refit"}], scripted=True))
    sections += rows_section(facts, texts, "fitted", "residual")
    sections.append(computed_section(facts, texts, texts.rows("computation.rows")))
    fitted = texts.sentences("fitted") + texts.sentences("fitted_notes")
    answers = fitted, _good(facts, texts), regression_findings(facts)
    return Page(texts("title"), *answers, sections, _refit_data(facts), rows if effects or facts.get("sample") else [])


def _texts(facts: Facts) -> Texts:
    """Return the sentences about a regression, with the facts that they require."""
    held = facts["held_out"] and metrics_by_name(facts["held_out"])
    return Texts(facts, judged=metrics_by_name(facts["evaluation"]), held=held)


def _good(facts: Facts, texts: Texts) -> list[str]:
    """Return how good the fit is."""
    if not facts["training"]:
        return texts.sentences("good_on_other_rows")
    if facts["constant"] is not None:
        return texts.sentences("good_constant")
    left_out, r_squared = facts["left_out_r_squared"], facts["statistics"]["r_squared"]
    # Residuals of an overfitted model say nothing about errors on new rows.
    overfitted = left_out is not None and r_squared is not None and left_out < r_squared / 2
    return texts.sentences("good") + ([] if overfitted else texts.sentences("good_errors"))


def _coefficients(facts: Facts, texts: Texts, effects: list[Part]) -> list[Part]:
    columns = facts["terms"]
    parts = [text(_coefficients_lead(facts, texts), texts("coefficients.assumption"))]
    if facts["p"] == 1 and effects:  # the picture of the rows says more than one interval
        parts += effects
    else:
        parts += figures.coefficients(facts, texts, f"change of {facts['target']}")
    if formula := equation(facts):
        parts.append(text(formula) | {"look": "equation"})
    shown = [
        align_decimals(columns["estimate"]),
        align_decimals(columns["std_error"]),
        list(map(interval, columns["conf_low"], columns["conf_high"])),
        list(map(format_p, columns["p_value"])),
    ]
    head = ["term", "estimate", "standard error", f"{100 * facts['level']:g}% interval", "p"]
    if "bias" in columns:
        shown.append([_describe_pull(*pair) for pair in zip(columns["bias"], columns["estimate"], strict=True)])
        head.append("pull")
    names = ("term", "estimate", "conf_low", "conf_high")
    said = [_reading(facts, *row) for row in zip(*(columns[name] for name in names), strict=True)]
    rows = list(zip(columns["term"], *shown, said, strict=True))
    rows = largest_first(rows, columns["statistic"], int("Intercept" in columns["term"][:1]))
    parts.append(table(texts("coefficients.caption", n_terms=len(rows)), [*head, "in words"], rows, words=(len(head),)))
    if "bias" in columns:
        parts.append(text(texts("coefficients.pull")))
    if "penalties" in facts:
        parts.append(figures.penalties(facts, texts))
    return parts


def _describe_pull(bias: float | None, estimate: float | None) -> str:
    """Return how far the penalty moved a coefficient: 0 for an intercept that moved by rounding errors."""
    moved = bias is None or estimate is None or abs(bias) > _ROUNDING * abs(estimate)
    return format_number(bias if moved else 0.0, 2)


def _coefficients_lead(facts: Facts, texts: Texts) -> str:
    """Return the sentence on the term that is the most standard errors from 0, or on why there is none."""
    columns = facts["terms"]
    if facts["constant"] is not None:
        return texts("coefficients.constant")
    if all(low is None for low in columns["conf_low"]):
        if not (facts["statistics"]["df_residual"] or 0) > 0:
            return texts("coefficients.no_intervals")
        return texts(f"coefficients.{'not_identified' if facts['unidentified'] else 'no_robust_intervals'}")
    ends = zip(columns["term"], columns["conf_low"], columns["conf_high"], strict=True)
    clear = [
        i for i, (term, low, high) in enumerate(ends) if term != "Intercept" and low is not None and low * high > 0
    ]
    if not clear:
        return texts("coefficients.none_clear")
    surest = max(clear, key=lambda i: abs(columns["statistic"][i] or 0.0))
    term = columns["term"][surest]
    return texts(
        "coefficients.surest",
        term=term,
        estimate=columns["estimate"][surest],
        step=_step(facts, term),
        part=facts["shared"].get(term),
        n_clear=len(clear),
        by_chance="chance" in {finding.id for finding in regression_findings(facts)},
    )


def _step(facts: Facts, term: str) -> str:
    """Return the change of a column that its coefficient is about."""
    reference = facts["references"].get(term)
    level = re.fullmatch(r".+?\[(.+)\]", term)
    if level is None or term not in facts["levels"]:
        return PER_UNIT
    if reference is not None:
        return f"for {level[1]} rather than {reference}"
    return f"for {level[1]}" if ":" not in term else "for rows with these levels"


def _reading(facts: Facts, term: str, estimate: Any, low: Any, high: Any) -> str:
    """Return what a coefficient means."""
    if term in facts["unidentified"]:
        return "not determined by the rows"
    if term == "Intercept":
        zero = "every term is 0" if facts["shared"] else "every column is 0"
        zero += ", and every category at its baseline level" if facts["references"] else ""
        return f"{facts['target']} if {zero}"
    if estimate is None:
        return "not known"
    step = _step(facts, term)
    if step == PER_UNIT:
        step = "per unit" if term in facts["features"] else f"per unit of {term}"
    effect = f"{format_number(abs(estimate), 3)} {'higher' if estimate > 0 else 'lower'} {step}"
    effect = describe_term(facts, term, effect, format_number(estimate, 3))
    if low is None:
        return f"{effect}; its uncertainty is not known"
    return effect + ("" if low * high > 0 else "; not distinguishable from 0")


def _fit(facts: Facts, texts: Texts) -> list[Part]:
    rows = []
    for key, meaning, evaluation in (
        ("fit.held_out", "fit.held_out_meaning", texts.variables["held"]),
        ("fit.statistics", "fit.error_meaning", texts.variables["judged"]),
    ):
        if evaluation:
            rows += texts.rows(key, meaning={name: texts(meaning, row=row) for name, row in evaluation.items()})
    return [text(texts("fit.lead")), table("Statistics of the fit", ["what", "value", "meaning"], rows, words=(2,))]


def _residuals(facts: Facts, texts: Texts, names: list[str]) -> list[Part]:
    parts: list[Part] = []
    if facts.get("sample"):
        parts += [text(texts("residuals.lead")), grid(*figures.residuals(facts, texts, names))]
    tests = facts["tests"]
    if not tests:
        return parts
    rows, rejected = [], []
    for test in tests:
        name, question = texts.sentences(f"tests.{test['test']}")
        rejected += [name] * is_rejected(test)
        verdict = {"text": "no evidence against", "mark": "good"}
        if test["p_value"] is None:
            verdict = {"text": "not known"}
        elif is_rejected(test):
            verdict = {"text": "rejected", "mark": "look"}
        rows.append([name, format_number(test["statistic"]), format_p(test["p_value"]), verdict, question])
    meanings = texts.rows("residuals.meanings", tested=[test["test"] for test in tests])
    return [
        *parts,
        table("Tests of the residuals", ["test", "statistic", "p", "verdict", "question"], rows, words=(4,)),
        text(*texts.sentences("residuals.notes", rejected=rejected, n_tests=len(tests))),
        table(
            "Consequences of a rejected test",
            ["if", "not reliable", "still valid"],
            meanings,
            words=(1, 2),
        ),
    ]


def _collinearity(facts: Facts, texts: Texts) -> list[Part]:
    lead = text(*texts.sentences("collinearity.lead"))
    if facts["vif"] is None:
        return [lead]
    rows = []
    pairs = zip(facts["vif"]["term"], facts["vif"]["vif"], strict=True)
    for term, v in sorted(pairs, key=lambda pair: -(pair[1] or np.inf)):
        if v is None:
            rows.append([term, {"text": "∞", "mark": "bad"}, texts("collinearity.combination")])
            continue
        mark = "look" if v > INFLATED and not is_structural(facts, term) else ""
        said = texts("collinearity.inflation", times=format_number(float(np.sqrt(v)), 2))
        rows.append([term, {"text": format_number(v, 3), "mark": mark}, said])
    return [lead, table("Variance inflation", ["column", "VIF", "meaning"], rows, words=(2,))]


def _influence(facts: Facts, texts: Texts) -> list[Part]:
    influence, first = facts["influence"], "the first row"
    parts = [text(texts("influence.lead"))]
    if influence.get("rows"):
        columns = influence["rows"]
        first = columns["place"][0]
        shown = [align_decimals(columns[name]) for name in ("y", "fitted", "residual", "leverage")]
        distances = [
            {"text": format_number(distance, 3), "mark": "look" if distance > STRONG else ""}
            for distance in columns["cooks_distance"]
        ]
        said = [texts("influence.leverage", leverage=value) for value in columns["leverage"]]
        head = ["row", facts["target"], "fitted", "residual", "leverage", "Cook's distance", "meaning"]
        rows = list(zip(columns["place"], *shown, distances, said, strict=True))
        parts.append(table(texts("influence.rows_caption", n_shown=len(rows)), head, rows, words=(6,)))
    if "refused" in influence:
        return [*parts, text(texts("influence.refused"))]
    out = texts("influence.rows_out")
    names = {"first": first, "rows_above": texts("influence.rows_above", rows_out=out)}
    head, keys = ["term", "all rows", f"without {first}"], ["with", "without_first"]
    if influence["n_out"] > 1:
        head.append(f"without {out}")
        keys.append("without")
    head.append("change in standard errors")
    moves = [
        {
            "text": MISSING if moved is None else f"{moved:z.2f}".replace("-", "−"),
            "mark": "look" if moved is not None and abs(moved) > 1 else "",
        }
        for moved in influence["moved"]
    ]
    said = [texts("influence.moved", moved=moved) for moved in influence["moved"]]
    shown = [align_decimals(influence[key]) for key in keys]
    rows = list(zip(influence["terms"], *shown, moves, said, strict=True))
    rows = largest_first(rows, influence["moved"])
    caption = texts("influence.refit_caption", **names)
    return [
        *parts,
        table(caption, [*head, "meaning"], rows, words=(len(head),)),
        text(texts("influence.refit", **names)),
    ]


def _refit_data(facts: Facts) -> Facts | None:
    """Return what the script of the page needs to fit the model again."""
    if not facts["refit"]:
        return None
    terms = facts["terms"]
    estimate = dict(zip(terms["term"], terms["estimate"], strict=True))
    return {
        **facts["refit"],
        "names": facts["names"],
        "target": facts["target"],
        "estimate": estimate,
        "groups": facts["groups"],
    }
