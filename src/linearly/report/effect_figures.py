"""The figures of a regression against its columns, the equation, and the names of rows that figures show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linearly.formatting import MINUS, format_number
from linearly.inference.fitted_rows import shorten_places
from linearly.plots.effect_plots import draw_effect
from linearly.report.figures import HALF, picture
from linearly.report.page_parts import Facts, Part
from linearly.report.texts import Texts

MAX_EQUATION_TERMS = 8  # beside the intercept
_LARGE = (6.8, 3.7)  # inches of the picture of a single column
_MAX_OTHERS = 4  # columns whose values a caption gives


def row_names(facts: Facts) -> list[str]:
    """Return the names of the rows that figures draw: first the sample, then influential rows that are not in it."""
    return shorten_places(_places(facts))


def effect_figures(facts: Facts, texts: Texts, rows: Sequence[str]) -> list[Part]:
    """Return the picture of each effect: one large one for a model of one column."""
    names = dict(zip(_places(facts), rows, strict=True))
    found: list[Facts] = facts.get("effects") or []
    size = _LARGE if len(found) == 1 else HALF
    parts = []
    for k, effect in enumerate(found):
        if effect["points"]:
            effect = effect | {"points": effect["points"] | {"place": [names[p] for p in effect["points"]["place"]]}}
        others = [f"{name} {_value(value)}" for name, value in effect["others"].items()]
        caption = texts(
            "effects.caption",
            n_points=len(effect["points"]["x"]) if effect["points"] else 0,
            banded="new_low" in effect["lines"][0],
            of_levels=effect["levels"] is not None,
            others=others[:_MAX_OTHERS],
            n_more=max(len(others) - _MAX_OTHERS, 0),
        )

        def draw(ax: Any, effect: Facts = effect) -> Any:
            return draw_effect(ax, effect, facts["target"])

        parts.append(picture(f"effect-{k}", draw, caption, size, rows))
    return parts


def _places(facts: Facts) -> list[str]:
    places = list((facts.get("sample") or {}).get("place", []))
    places += ((facts.get("influence") or {}).get("rows") or {}).get("place", [])
    for effect in facts.get("effects") or []:
        places += (effect["points"] or {}).get("place", [])
    return list(dict.fromkeys(places))


def _value(value: Any) -> str:
    return format_number(value, 3) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def equation(facts: Facts) -> str:
    """Return the fitted equation; empty if it has many terms or no estimates.

    >>> terms = {"term": ["Intercept", "x"], "estimate": [1.0, -0.5]}
    >>> equation({"target": "y", "terms": terms, "aliased": []})
    'y = 1 − 0.5 × x'
    """
    terms = facts["terms"]
    pairs = list(zip(terms["term"], terms["estimate"], strict=True))
    slopes = [pair for pair in pairs if pair[0] != "Intercept"]
    if facts["aliased"] or not slopes or len(slopes) > MAX_EQUATION_TERMS or any(b is None for _, b in pairs):
        return ""
    text = ""
    for term, estimate in pairs:
        size = format_number(abs(estimate), 4) + ("" if term == "Intercept" else f" × {term}")
        sign = MINUS if estimate < 0 else "+"
        text += f" {sign} {size}" if text else f"{sign if sign == MINUS else ''}{size}"
    return f"{facts['target']} = {text}"
