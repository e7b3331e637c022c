"""No two sentences of a screen or of a page contradict each other, on 47 kinds of data; both give the same findings."""

import html
import re
import warnings
from functools import cache

import pytest
from findings.kinds_of_data import kinds, labelled_kinds, multilabel_kinds

import linearly as ly
from linearly.cli.fit_summary import model_facts, training_facts
from linearly.cli.fit_view import fit_screen
from linearly.findings.classification import classifier_findings
from linearly.findings.regression import regression_findings
from linearly.report.facts import facts
from linearly.report.render import render

TABLES = kinds() | {f"labels: {name}": table for name, table in labelled_kinds().items()}

# Words of one page that cannot be true together. Words with a "|" are patterns.
CONTRADICTIONS = [
    ("No check found a problem with", "Check|Problem"),
    (
        "No evidence of curvature",
        r"follow a curve in [^?]{1,60}\(p|changes with the columns \(p|neighbouring rows are (posi|nega)",
    ),
    ("explain more of y than chance", "No evidence that the columns explain|y is always"),
    (
        "its effect is a curve, or",
        r"No evidence of curvature|model misses part|neighbouring rows are (posi|nega)|explain more",
    ),
    ("passes through every row", "R² is above 0.999999|determine y exactly|Only row|explain more|R² is optimistic"),
    ("explain more of y than chance", "standard errors that assume independent rows are wrong"),
    ("No single row determines the fit", "depends heavily on|Only row"),
    ("No column is nearly a combination", "Other columns (nearly )?determine"),
    (
        "The model is right more often than always",
        "no evidence that the model is right more often|The model is right less often",
    ),
    ("No sign of miscalibration", "The probabilities are wrong|has scores but no probabilities"),
    ("no finite estimate", "did not reach the maximum|No check found a problem with"),
    ("no hyperplane separates", "a hyperplane separates these rows"),
    ("Every prediction is correct", "predictions? (is|are) wrong|were missed"),
    ("R² is above 0.999999", "No evidence that the columns explain"),
]


def quietly(make, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*arguments, **options)


@cache
def fitted(name):
    data = TABLES[name]
    weight = {"weight": "w"} if "w" in data else {}
    missing = {"missing": "drop"} if data.isna().any().any() else {}
    return quietly(ly.fit, data, target="y", **weight, **missing)


@cache
def screen_facts(name):
    model = fitted(name)
    return quietly(
        lambda: model_facts(model) | training_facts(model, model.design_rows(TABLES[name]), cross_validate=True)
    )


@cache
def page_facts(name):
    model = fitted(name)
    return quietly(facts, model, model.design_rows(TABLES[name]), training=True)


def contradictions(text):
    text = " ".join(text.split())
    found = []
    for one, other in CONTRADICTIONS:
        match = re.search(other, text)
        if one in text and match:
            found.append((one, match[0]))
    return found


def test_there_are_at_least_31_kinds_of_data():
    assert len(TABLES) >= 31


@pytest.mark.parametrize("name", TABLES)
def test_no_two_sentences_of_a_fit_screen_contradict(name):
    assert contradictions(fit_screen(screen_facts(name))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_no_two_sentences_of_a_page_contradict(name):
    words = html.unescape(
        re.sub(r"<(style|script|svg).*?</\1>|<[^>]+>", " ", quietly(render, page_facts(name)), flags=re.S)
    )
    # The severities are words of the page's own list, too.
    assert [pair for pair in contradictions(words) if pair[0] != "No check found a problem with"] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_screen_and_page_give_the_same_findings(name):
    about = page_facts(name)
    decide = regression_findings if about["kind"] == "regression" else classifier_findings
    page = {finding.id: finding.severity for finding in decide(about)}
    screen = {finding["id"]: finding["severity"] for finding in screen_facts(name)["findings"]}
    only_on_pages = {"rows_of_the_fit", "separable", "not_separable"}  # the page has the rows of a proof
    assert {k: v for k, v in page.items() if k not in only_on_pages} == screen


@pytest.mark.parametrize("name", multilabel_kinds())
def test_no_two_sentences_of_an_evaluation_of_several_labels_contradict(name):
    X, Y = multilabel_kinds()[name]
    model = quietly(ly.LogisticRegression(1e-3).fit, X[:100], Y[:100])
    result = ly.evaluate(model, X[100:], Y[100:])
    assert contradictions(str(result)) == []
    few = any(min(count, 60 - count) < 10 for count in Y[100:].sum(axis=0))
    assert any("intervals are approximate" in note for note in result.notes) == few
    never = {f"y{j}" for j in range(Y.shape[1]) if not model.predict(X[100:])[:, j].any()}
    named = [note for note in result.notes if "never predicted" in note]
    assert never == {label for label in result.labels if any(repr(label) in note for note in named)}
    for kind in ("precision", "recall", "f1"):
        assert result[f"macro_{kind}"] == pytest.approx(result.per_class[kind].mean())


def test_contradictions_are_seen():
    assert contradictions("No single row determines the fit. … The fit depends heavily on row 3.")
