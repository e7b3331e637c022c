"""Sentences of findings: filled from evidence, and claims that exclude each other."""

import inspect
import string

import pytest
from findings.contradictions import contradictions

from linearly.findings import CHECK, OK, PROBLEM, Finding, sort_findings
from linearly.findings.sentences import fill_sentence, load_catalogue
from linearly.selftest import finding_cases

CATALOGUES = ("table", "regression", "sparse", "classification", "comparison")
ENTRIES = [(catalogue, name) for catalogue in CATALOGUES for name in load_catalogue(catalogue)]


def test_sort_findings_puts_the_worst_first():
    findings = [Finding(severity, severity, "", "") for severity in (OK, PROBLEM, CHECK, PROBLEM)]
    assert [one.severity for one in sort_findings(findings)] == [PROBLEM, PROBLEM, CHECK, OK]


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{x:3}", 1.23456, "1.23"),
        ("{x:p}", 0.0312, "p 0.031"),
        ("{x:names}", ["a", "b", "c"], "a, b and c"),
        ("{x:rows}", 1, "1 row"),
        ("{x:columns}", 1200, "1,200 columns"),
        ("{x:%}", 0.125, "12.5%"),
    ],
)
def test_fill_sentence_formats_values(template, value, text):
    assert fill_sentence(template, {"x": value}) == text


@pytest.mark.parametrize(("catalogue", "name"), ENTRIES)
def test_entry_of_a_catalogue_is_complete(catalogue, name):
    entries = load_catalogue(catalogue)
    entry = entries[name]
    assert entry["severity"] in (OK, CHECK, PROBLEM)
    assert entry["claim"]
    assert ("null" in entry) == ("level" in entry)
    assert set(entry.get("excludes", ())) <= set(entries)
    for text in (value for key, value in entry.items() if key.startswith(("claim", "remedy"))):
        assert list(string.Formatter().parse(text))


def test_contradictions_are_found():
    assert contradictions(["curvature", "no_residual_pattern"]) == [("no_residual_pattern", "curvature")]


def test_every_finding_of_a_test_is_simulated():
    """A finding with a level is named in a case, or is the other outcome of a test that is."""
    claimed = {name for catalogue, name in ENTRIES if "level" in load_catalogue(catalogue)[name]}
    outcomes = {
        "chance", "robust_variance", "autocorrelation_allowed", "cluster_correlation", "no_better_than_most_frequent",
        "calibrated", "no_better_than_mean", "no_clear_difference", "no_sign_of_difference", "not_normal_allowed",
        "not_normal_beside", "missing_not_by_target", "none_beats_baseline",
    }  # fmt: skip
    simulated = inspect.getsource(finding_cases)
    assert {name for name in claimed - outcomes if f'"{name}"' not in simulated} == set()


def test_remedies_with_options_are_those_of_a_command():
    """A sentence that names an option has a field for it; the others are advice, and have no options to run."""
    for catalogue, name in ENTRIES:
        entry = load_catalogue(catalogue)[name]
        for key in (key for key in entry if key.startswith("remedy")):
            assert "--" not in entry[key] or "{option" in entry[key] or catalogue == "table", (name, key)
