"""Sections that every page has: a sample of the rows, and how the model was computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linearly.report.page_parts import Facts, Section, align_decimals, table, text
from linearly.report.texts import Texts

MAX_COLUMNS = 8  # in the table of rows


def rows_section(facts: Facts, texts: Texts, *predictions: str) -> list[Section]:
    """Return the section with the sample of rows: target, predictions and the first columns; or none."""
    sample = facts.get("rows")
    if not sample:
        return []
    names, n_shown = sample["names"][:MAX_COLUMNS], len(sample["place"])
    columns = [sample[key] for key in ("y", *predictions)]
    left = [j for j, column in enumerate(columns, 1) if any(isinstance(value, str) for value in column)]
    columns += list(zip(*sample["X"], strict=True))[: len(names)]
    return [
        Section(
            "rows",
            "Sample of the rows",
            [
                text(*texts.sentences("rows.lead", shown=n_shown, more=len(sample["names"]) - len(names))),
                table(
                    texts("rows.caption", shown=n_shown),
                    ["row", facts["target"], *predictions, *names],
                    list(zip(sample["place"], *map(_format_column, columns), strict=True)),
                    left=left,
                    small=True,
                ),
            ],
        )
    ]


def computed_section(facts: Facts, texts: Texts, rows: Sequence[Sequence[Any]]) -> Section:
    """Return the section on how the fit was done; `rows` of its table are about this kind of model."""
    assignments = ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    settings = texts.rows("computed.settings", assignments=assignments)
    rows = [*texts.rows("computed.estimator"), *rows, *settings]
    part = table("Computation of the model", ["what", "value", "meaning"], rows, words=(1, 2))
    return Section("computed", "Computation", [part])


def _format_column(values: Sequence[Any]) -> list[str]:
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return align_decimals(values) if numeric else [str(value) for value in values]
