"""Fill the sentences of findings, which are in the catalogues *.toml, with evidence.

A sentence is a template of `str.format` with a few formats of its own:

    {sigma:3}       a number to three digits
    {p_value:p}     a p-value: "p 0.03"
    {terms:names}   an enumeration: "a, b and c"
    {n:rows}        a count with its noun; also {k:columns}, {k:terms}
    {share:%}       a share in percent
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from linearly.findings.finding import Finding, Options
from linearly.formatting import format_number, format_p_clause, join_names, pluralize

_FIELDS = ("about", "claim", "remedy")
_NOUNS = ("rows", "columns", "terms")
_OPTIONS = (
    "model",
    "alpha",
    "covariance",
    "formula",
    "without",
    "groups",
    "cv",
)  # of `linearly fit`, not parameters of its model


class _SentenceFormatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "p":
            return format_p_clause(value)
        if format_spec == "names":
            return join_names(value)
        if format_spec == "%":
            return f"{100 * value:.3g}%"
        if format_spec in _NOUNS:
            return pluralize(value, format_spec[:-1])
        if format_spec.isdigit():
            return format_number(value, int(format_spec))
        return str(super().format_field(value, format_spec))


_FORMATTER = _SentenceFormatter()


def make_finding(
    name: str, variant: str = "", *, about: str | None = None, options: Options = (), statistic: float | None = None,
    p_value: float | None = None, catalogue: str = "regression", **evidence: Any,
) -> Finding:  # fmt: skip
    """Return the finding of an id, its sentences filled with the evidence.

    Parameters
    ----------
    name : str
        The id, a table of the catalogue.
    variant : str
        Which of several remedies to give: the key ``remedy_{variant}``. Empty for ``remedy``.
    about : str, optional
        A column; None for the topic in the catalogue.
    options : tuple of (str, str)
        Arguments of a fit that carries out the remedy.
    statistic, p_value : float, optional
        Result of the test behind the claim.
    catalogue : {"table", "regression", "sparse", "classification", "comparison"}
        The file of sentences.
    **evidence : Any
        Values of the fields in the sentences.
    """
    entry = load_catalogue(catalogue)[name]
    values = evidence | {"statistic": statistic, "p_value": p_value, "level": entry.get("level")}
    texts = {key: entry.get(key, "") for key in _FIELDS} | ({"remedy": entry[f"remedy_{variant}"]} if variant else {})
    filled: dict[str, Any] = {key: fill_sentence(text, values | {"about": about}) for key, text in texts.items()}
    filled |= {} if about is None else {"about": about}
    return Finding(
        name,
        entry["severity"],
        **filled,
        options=options,
        stops=entry.get("stops", False),
        section=entry.get("section", ""),
        null=entry.get("null", ""),
        level=entry.get("level"),
        statistic=statistic,
        p_value=p_value,
        evidence=evidence,
    )


def describe_option(facts: Mapping[str, Any], name: str, value: Any) -> str:
    """Return an argument of a fit as an option of the command line, or as an argument in Python.

    Parameters
    ----------
    facts : mapping
        With a true ``commands``, the advice is for the command line.
    name, value : str, Any
        The argument; an option without a value has the value "".
    """
    if not facts.get("commands"):
        return f'{name}="{value}"' if isinstance(value, str) else f"{name}={value!r}"
    value = f"'{value}'" if name == "formula" else value
    return f"--{name} {value}".rstrip() if name in _OPTIONS else f"--param {name}={value}"


def distinct_rows(facts: Mapping[str, Any]) -> str:
    """Return how to leave out rows that repeat another one, on the command line (of a CSV file) or in Python."""
    return "awk '!seen[$0]++' DATA.csv > DISTINCT.csv" if facts.get("commands") else "data.drop_duplicates()"


def fill_sentence(template: str, values: dict[str, Any]) -> str:
    """Return a template with its fields filled.

    >>> fill_sentence("{terms:names} repeat others ({p:p}).", {"terms": ["a", "b"], "p": 0.03})
    'a and b repeat others (p 0.03).'
    """
    return _FORMATTER.vformat(template, (), values)


@cache
def load_catalogue(name: str) -> dict[str, dict[str, Any]]:
    """Return the entries of a catalogue of findings by their ids."""
    source = resources.files("linearly.findings").joinpath(f"{name}.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))
