"""Lay out the page of a lasso or elastic net: selected columns, path with the folds' errors, fit and proof.

Sentences are in templates/sparse.toml.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from linearly.findings import Finding, make_finding, sort_findings
from linearly.formatting import format_number
from linearly.plots import style
from linearly.report.figures import picture
from linearly.report.page_parts import (
    Facts,
    Page,
    Part,
    Section,
    align_decimals,
    interval,
    metrics_by_name,
    table,
    text,
)
from linearly.report.sections import computed_section
from linearly.report.sparse_facts import drawn_alphas
from linearly.report.texts import Texts

_WIDE = (7.2, 4.0)
_make = partial(make_finding, catalogue="sparse")


def sparse_page(facts: Facts) -> Page:
    """Return the page of a lasso or elastic net."""
    judged = facts["held_out"] or facts["evaluation"]
    texts = Texts(facts, judged=metrics_by_name(judged), on_held_out=facts["held_out"] is not None)
    sections = [
        Section("selected", "Selected columns", _selected(facts, texts)),
        Section("path", "Coefficient path and penalty", _path(facts, texts)),
        Section("fit", "Goodness of fit", _fit(judged, texts)),
        Section("proof", "Proof", [text(facts["proof"]["text"], texts("proof"))]),
        computed_section(facts, texts, texts.rows("computation")),
    ]
    fitted = texts.sentences("fitted") + texts.sentences("fitted_notes")
    return Page(texts("title"), fitted, texts.sentences("good"), _findings(facts, texts), sections)


def _findings(facts: Facts, texts: Texts) -> list[Finding]:
    path, option = facts["path"], texts.variables["option"]
    proven = facts["proof"]["verdict"] == "optimal"
    found = [_make("optimal") if proven else _make("unproven", verdict=facts["proof"]["verdict"])]
    if "errors" in path and len(path["alphas"]) > 1 and facts["alpha"] == path["alphas"][-1]:
        remedies = {"linear": option("model", "linear"), "sparser": option("rule", "1se")}
        found.append(_make("edge", alpha=facts["alpha"], **remedies))
    if facts["n_active"] < facts["p"]:
        found.append(_make("selected", "chosen" if facts["chosen"] else ""))
    if facts["held_out"] is None:
        found.append(_make("in_sample"))
    return sort_findings(found)


def _selected(facts: Facts, texts: Texts) -> list[Part]:
    terms, estimates = facts["terms"]["term"], facts["terms"]["estimate"]
    shown = [i for i, (term, value) in enumerate(zip(terms, estimates, strict=True)) if value or term == "Intercept"]
    values = align_decimals([estimates[i] for i in shown])
    said = [
        f"{facts['target']} if every column is 0"
        if terms[i] == "Intercept"
        else f"{format_number(abs(estimates[i]), 3)} {'higher' if estimates[i] > 0 else 'lower'} per unit"
        for i in shown
    ]
    rows = [[terms[i], value, words] for i, value, words in zip(shown, values, said, strict=True)]
    return [
        text(*texts.sentences("selected.lead")),
        table("Coefficients that are not 0", ["term", "estimate", "in words"], rows, words=(2,)),
        text(texts("selected.errors")),
    ]


def _path(facts: Facts, texts: Texts) -> list[Part]:
    path, names = facts["path"], facts["names"]
    logs, positive = drawn_alphas(facts)
    chosen = np.log10(facts["alpha"]) if facts["alpha"] > 0 else None

    def mark_chosen(ax: Any) -> None:
        if chosen is not None:
            ax.axvline(chosen, color=style.VERMILION, linewidth=1.2, linestyle="--")

    def draw_path(ax: Any) -> None:
        for i, (j, coefs) in enumerate(zip(path["shown"], path["coefs"], strict=True)):
            dashes = ("-", "--", ":")[i // len(style.COLOURS) % 3]
            color = style.COLOURS[i % len(style.COLOURS)]
            values = np.array(coefs)[positive]
            ax.plot(logs, values, color=color, linewidth=1.8, linestyle=dashes, label=names[j])
        ax.axhline(0.0, color="0.6", linewidth=0.8)
        mark_chosen(ax)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
        message = f"{facts['n_active']} of {facts['p']} coefficients are not 0 at alpha {style.number(facts['alpha'])}"
        style.frame(ax, message, "log₁₀ of alpha", "coefficient × standard deviation")

    def draw_errors(ax: Any) -> None:
        mean, spread = (np.array(path[name], dtype=np.float64)[positive] for name in ("errors", "std_errors"))
        ax.fill_between(logs, mean - spread, mean + spread, color=style.BLUE, alpha=0.2, linewidth=0)
        ax.plot(logs, mean, color=style.BLUE, linewidth=2)
        mark_chosen(ax)
        message = f"alpha {style.number(facts['alpha'])} was chosen on held-out rows"
        style.frame(ax, message, "log₁₀ of alpha", "mean squared error on held-out rows")

    parts = [picture("path", draw_path, texts("path.caption"), _WIDE)] if path["shown"] else []
    if "errors" in path:
        parts.append(picture("errors", draw_errors, texts("path.errors"), _WIDE))
    return [text(texts("path.lead")), *parts]


def _fit(judged: Facts, texts: Texts) -> list[Part]:
    rows = [
        [texts(f"metrics.{name}"), format_number(found["value"], 4), interval(found["conf_low"], found["conf_high"])]
        for name, found in metrics_by_name(judged).items()
    ]
    return [text(texts("fit")), table("Evaluation", ["metric", "value", "interval"], rows)]
