"""Decide which findings about a classifier hold, from its facts.

The tests are in `evaluation.held_out_tests` and use rows that the model was not fitted to; the sentences are in
classification.toml. Facts are those of `classification_facts`, with ``model``, ``target`` and ``training_rows``;
``separability`` and ``training`` of a report; ``commands`` gives advice as options of the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from linearly.findings.aliased_columns import aliased_finding
from linearly.findings.finding import Finding, sort_findings
from linearly.findings.repeated_rows import MIN_REPEATED_SHARE
from linearly.findings.sentences import describe_option, distinct_rows, make_finding
from linearly.formatting import join_names

Facts = dict[str, Any]

LEVEL = 0.05  # of every test
RARE = 0.2  # of the share that each label would have if all were equally frequent: less than that is rare
MIN_ROWS_PER_COLUMN = 5  # of the rarest label, for intervals by maximum likelihood
_ALLOW_ERRORS = ("PocketPerceptron", "VotedPerceptron", "AveragedPerceptron")

_make = partial(make_finding, catalogue="classification")


def classifier_findings(facts: Facts) -> list[Finding]:
    """Return the findings about a classifier, the worst first, with remedies."""
    found = sort_findings([*_judged_findings(facts), *model_findings(facts), *_proof_findings(facts)])
    if not facts["held_out"]:  # rows of the fit are no evidence about others
        command = _command(facts, "evaluate")
        counts = facts["label_counts"]
        if facts["training_rows"] and not facts.get("weighted") and min(counts) < 2:
            label = facts["evaluation"]["labels"][counts.index(min(counts))]
            found = sort_findings([*found, _make("not_cross_validated", label=label)])
        return [*found, _make("rows_of_the_fit" if facts["training_rows"] else "rows_unknown", option=command)]
    if any(finding.remedy for finding in found):
        return found
    return [*found, _make("nothing_against", option=_command(facts, "predict"))]


def model_findings(facts: Facts) -> Iterator[Finding]:
    """Yield findings about a classifier without rows: separation, convergence, collinearity, probabilities."""
    if facts.get("aliased"):
        yield aliased_finding(facts, "classification")
    if facts.get("separated") is not None:
        part = "Coefficients without standard errors" if facts["separated"] == "quasi-separable" else "The coefficients"
        other = describe_option(facts, "bias_reduction", "firth")
        advice = _advice(facts, "alpha", 1.0)
        yield _make("separated", separation=facts["separated"], figures=part, other_option=other, **advice)
    elif not facts.get("converged", True):
        yield _make("not_converged", **_advice(facts, "solver", "newton"))
    if facts.get("alpha", 0.0) > 0 and facts["has_intervals"]:
        yield _make("penalised_intervals")
    if not facts["has_probabilities"]:
        other = describe_option(facts, "model", "lda")
        yield _make("no_probabilities", other_option=other, **_advice(facts, "model", "logistic"))
    if facts["shrunk"] is not None:
        labels, share = facts["shrunk"]["labels"], facts["shrunk"]["share"]
        covariance = "their common covariance" if labels is None else f"the covariance of {join_names(labels)}"
        advice = _advice(facts, "shrinkage", float(f"{share:.2g}"))
        yield _make("shrunk", covariance=covariance, share=share, **advice)


# --- rows that the model was not fitted to --------------------------------------------------------


def _judged_findings(facts: Facts) -> Iterator[Finding]:
    counts, labels = facts["label_counts"], facts["evaluation"]["labels"]
    tests = facts["held_out"] and facts["held_out"]["tests"]
    repeated = facts.get("repeated", 0.0)
    if repeated > MIN_REPEATED_SHARE:  # a cross-validation would predict rows that it was fitted to
        tests = None
        yield _make("repeated_rows", share=repeated, option=distinct_rows(facts))
    yield from _few_rows(facts, counts)
    if tests:
        yield _baseline_finding(facts, tests)
    found = [k for k, count in enumerate(counts) if count > 0]
    rare, most = min(found, key=counts.__getitem__), max(found, key=counts.__getitem__)
    total = sum(counts)
    if counts[rare] < RARE * total / len(counts):
        yield _make(
            "rare_label", label=labels[rare], other=labels[most], n=round(counts[rare]), share=counts[rare] / total,
            recall=facts["evaluation"]["per_class"]["recall"][rare], other_share=counts[most] / total,
        )  # fmt: skip
    if tests and tests["calibration"] is not None:
        yield _calibration_finding(facts, tests["calibration"])


def _few_rows(facts: Facts, counts: list[float]) -> Iterator[Finding]:
    """Yield that rows of the rarest label are few for maximum likelihood: Wald intervals cover 92 to 93% then."""
    fitted = facts.get("rows_of_fit") and not facts.get("weighted") and facts["model"] == "LogisticRegression"
    if not fitted or facts["separated"] is not None or facts["alpha"] > 0 or facts["reduced_bias"]:
        return
    rows, p = round(min(counts)), facts["p"]
    if rows < MIN_ROWS_PER_COLUMN * p:
        label = facts["evaluation"]["labels"][counts.index(min(counts))]
        yield _make("few_rows", rows=rows, label=label, p=p, **_advice(facts, "bias_reduction", "firth"))


def _baseline_finding(facts: Facts, tests: Facts) -> Finding:
    """Return whether a classifier is right more often than always predicting the most frequent label."""
    judged, baseline = facts["judged"], facts["baseline"]
    label, labels = baseline["label"], facts["evaluation"]["labels"]
    better, worse, ranking = (tests[name] for name in ("better", "worse", "ranking"))
    if better < LEVEL:
        return _make("beats_most_frequent", label=label, p_value=better)
    if ranking is not None and ranking < LEVEL:  # of two labels, so it is the same for either
        other = labels[1 - labels.index(label)]
        return _make("ranks_only", label=label, p_value=ranking, positive=other, area=judged.get("roc_auc"))
    if worse < LEVEL:
        return _make(
            "worse_than_most_frequent", label=label, p_value=worse, accuracy=judged["accuracy"],
            share=baseline["share"], **_penalty(facts),
        )  # fmt: skip
    return _make("no_better_than_most_frequent", label=label, p_value=better, target=facts["target"])


def _calibration_finding(facts: Facts, p_value: float) -> Finding:
    if p_value < LEVEL:
        points = 100 * facts["judged"]["calibration_error"]
        variant = "penalised" if facts.get("alpha", 0.0) > 0 else ""
        return _make("miscalibrated", variant, p_value=p_value, points=points, **_penalty(facts))
    return _make("calibrated", p_value=p_value)


# --- proofs ---------------------------------------------------------------------------------------


def _proof_findings(facts: Facts) -> Iterator[Finding]:
    proof = facts.get("separability")
    if proof is None or facts.get("training") is None or facts.get("separated") is not None:
        return
    two = proof["n_labels"] == 2
    if proof["verdict"] == "separable":
        yield _make(
            "separable", what="a hyperplane separates" if two else "linear scores, one for each label, separate"
        )
        return
    what = "no hyperplane separates" if two else "no linear scores separate"
    variant = "" if facts["model"] in _ALLOW_ERRORS else "perceptron"
    yield _make("not_separable", variant, what=what, **_advice(facts, "model", "pocket"))


# --- advice ---------------------------------------------------------------------------------------


def _advice(facts: Facts, name: str, value: Any) -> Facts:
    """Return an argument of a better fit: its text, and as options."""
    return {"option": describe_option(facts, name, value), "options": ((name, str(value)),)}


def _penalty(facts: Facts) -> Facts:
    """Return a fit with less freedom: logistic regression with a penalty; by Firth if the classes are separated.

    A penalty of p expects effects of p columns that add up to a variance of 1 if columns have variance 1.
    """
    if facts.get("separated") is not None:
        return _advice(facts, "bias_reduction", "firth")
    penalty = _advice(facts, "alpha", float(max(facts["p"], 10 * facts.get("alpha", 0.0))))
    if facts["model"] == "LogisticRegression":
        return penalty
    model, gap = _advice(facts, "model", "logistic"), " " if facts.get("commands") else ", "
    return {"option": gap.join([model["option"], penalty["option"]]), "options": model["options"] + penalty["options"]}


def _command(facts: Facts, name: str) -> str:
    return f"linearly {name} MODEL NEW_DATA" if facts.get("commands") else f"model.{name}(new_rows)"
