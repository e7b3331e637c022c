"""Findings about a classifier: none that exclude each other, on data of known truth; and what their remedies do."""

import warnings
from functools import cache

import pytest
from findings.contradictions import contradictions
from findings.kinds_of_data import labelled_kinds

import linearly as ly
from linearly.findings.classification import classifier_findings
from linearly.report.facts import facts

TABLES = labelled_kinds()
MODELS = ("logistic", "lda", "qda", "least-squares", "pocket", "perceptron")
BASELINE = {"beats_most_frequent", "worse_than_most_frequent", "ranks_only", "no_better_than_most_frequent"}


def about(name, model, **options):
    data = TABLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weight = {"weight": "w"} if "w" in data else {}
        missing = {"missing": "drop"} if data.isna().any().any() else {}
        fitted = ly.fit(data, target="y", model=model, **weight, **missing, **options)
        return facts(fitted, fitted.design_rows(data))


@cache
def found_in(name, model, **options):
    return {finding.id: finding for finding in classifier_findings(about(name, model, **options))}


def fit_again(name, model, options):
    """The findings of a fit with the advice, given as the options of a finding."""
    values = {key: float(value) if key in ("alpha", "shrinkage") else value for key, value in options}
    return found_in(name, values.pop("model", model), **values)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", TABLES)
def test_no_two_claims_exclude_each_other(name, model):
    if name == "one row of a label" and model == "qda":
        pytest.skip("a covariance takes two rows")
    found = found_in(name, model)
    assert contradictions(found, "classification") == []
    assert len(BASELINE.intersection(found)) == ("rows_unknown" not in found)
    if "nothing_against" in found:
        assert {finding.severity for finding in found.values()} == {"OK"}
    for finding in found.values():
        assert (finding.p_value is None) or finding.null, finding.id


@pytest.mark.parametrize(
    ("name", "model", "ids"),
    [
        ("effect", "logistic", {"beats_most_frequent", "calibrated", "nothing_against"}),
        ("noise", "logistic", {"no_better_than_most_frequent"}),
        ("rare label", "logistic", {"ranks_only", "rare_label"}),
        ("rare label, noise", "lda", {"no_better_than_most_frequent", "rare_label"}),
        ("separable", "logistic", {"separated", "beats_most_frequent"}),
        ("quasi-separable", "logistic", {"separated"}),
        ("twelve labels", "lda", {"beats_most_frequent"}),
        ("twelve labels, noise", "lda", {"no_better_than_most_frequent"}),
        ("leakage of a label", "logistic", {"separated"}),
        ("circle", "lda", {"no_better_than_most_frequent"}),
        ("circle", "qda", {"beats_most_frequent"}),
        ("circle", "perceptron", {"not_separable", "no_probabilities"}),
        ("wide, labels", "lda", {"shrunk"}),
        ("one row of a label", "logistic", {"rows_unknown"}),
    ],
)
def test_a_kind_of_data_has_its_findings(name, model, ids):
    assert ids <= set(found_in(name, model))


# --- remedies -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model", "id_"),
    [
        ("separable", "logistic", "separated"),
        ("quasi-separable", "logistic", "separated"),
        ("circle", "perceptron", "not_separable"),
        ("effect", "pocket", "no_probabilities"),
        ("wide, labels", "lda", "shrunk"),
        ("noise", "lda", "miscalibrated"),
        ("noise", "logistic", "miscalibrated"),
    ],
)
def test_a_remedy_runs_and_ends_what_it_is_for(name, model, id_):
    finding = found_in(name, model)[id_]
    after = fit_again(name, model, finding.options)
    if id_ == "miscalibrated" and id_ in after:  # fewer degrees of freedom: closer, if not close enough
        assert after[id_].evidence["points"] < 0.7 * finding.evidence["points"]
    elif id_ == "not_separable":
        assert after[id_].remedy == ""  # the pocket allows errors
    else:
        assert id_ not in after


def test_remedy_of_a_model_worse_than_the_most_frequent_label_is_better():
    finding = found_in("noise, a fifth", "perceptron")["worse_than_most_frequent"]
    after = fit_again("noise, a fifth", "perceptron", finding.options)
    assert "worse_than_most_frequent" not in after


def test_every_remedy_that_names_an_option_has_options():
    fits = (("separable", "logistic"), ("noise", "qda"), ("circle", "perceptron"), ("wide, labels", "lda"))
    for finding in (finding for name, model in fits for finding in found_in(name, model).values()):
        is_command = finding.id in ("rows_of_the_fit", "rows_unknown", "nothing_against")  # on new rows
        assert ("=" in finding.remedy) <= (bool(finding.options) or is_command), finding.remedy
