"""The answers about a classifier: what was fitted, how good it is, and whether to trust it.

This module decides which sentences apply. The sentences are in templates/classification.toml.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from linearly.formatting import format_number
from linearly.models.registry import WORDS
from linearly.plots.style import percent
from linearly.report.page_parts import Facts, Finding, metrics_by_name, sort_findings
from linearly.report.texts import Texts

_RARE = 0.1  # share of a label below which accuracy alone misleads


def classifier_texts(facts: Facts) -> Texts:
    """Return the sentences about a classifier, with what they need beside the facts."""
    words = WORDS.get(facts["model"], str(facts["model"]))
    evaluation, held_out = facts["evaluation"], facts["held_out"]
    texts = Texts(
        facts,
        judged=metrics_by_name(evaluation),
        fitted_accuracy=held_out and metrics_by_name(held_out["fitted"])["accuracy"]["value"],
        labels=evaluation["labels"],
        positive=evaluation["labels"][0],
        guessing=format_number(math.log(len(evaluation["labels"])), 2),
        model_words=f"the {words}" if words.endswith("perceptron") else words,
        share_with_interval=share_with_interval,
    )
    texts.variables["on_rows"] = texts("on_rows")
    return texts


def findings(facts: Facts, texts: Texts) -> list[Finding]:
    """Return what speaks for and against the classifier, the worst first, and what to do."""
    found = sort_findings([*_accuracy_findings(facts, texts), *_proof_findings(facts, texts)])
    if not facts["held_out"]:
        return [*found, texts.finding("rows_of_the_fit" if facts["training_rows"] else "rows_unknown")]
    return found if any(finding.action for finding in found) else [*found, texts.finding("nothing_against")]


def _accuracy_findings(facts: Facts, texts: Texts) -> Iterator[Finding]:
    evaluation, judged = facts["evaluation"], texts.variables["judged"]
    accuracy, baseline = judged["accuracy"], facts["baseline"]["share"]
    if accuracy["conf_high"] < baseline:
        yield texts.finding("worse")
    else:
        yield texts.finding("better" if accuracy["conf_low"] > baseline else "not_better")
    counts = [sum(row) for row in confusion_counts(evaluation)]
    rare = [label for label, n in zip(evaluation["labels"], counts, strict=True) if n / sum(counts) < _RARE]
    if rare and len(counts) == 2:
        yield texts.finding("rare", label=rare[0])
    if facts.get("statistics") and not facts["statistics"]["converged"] and facts["separated"] is None:
        yield texts.finding("not_converged")
    if evaluation["calibration"] is None:
        yield texts.finding("no_probabilities")
    else:
        yield texts.finding("miscalibrated" if (judged["calibration_error"]["conf_low"] or 0) > 0 else "calibrated")
    if facts["shrunk"] is not None:
        yield texts.finding("shrunk")


def _proof_findings(facts: Facts, texts: Texts) -> Iterator[Finding]:
    proof = facts["separability"]
    if facts.get("separated") is not None:
        yield texts.finding("separated")
    elif proof is not None and facts["training"] is not None:
        yield texts.finding("separable" if proof["verdict"] == "separable" else "not_separable")


def confusion_counts(evaluation: Facts) -> list[list[float]]:
    """Return the confusion matrix, row by row."""
    _, *columns = evaluation["confusion"].values()
    return [list(row) for row in zip(*columns, strict=True)]


def share_with_interval(metric: Facts) -> str:
    """Return a share with its interval if that has two different ends."""
    ends = interval_of_shares(metric["conf_low"], metric["conf_high"])
    return f"{percent(metric['value'])} ({ends})" if " to " in ends else percent(metric["value"])


def interval_of_shares(low: float | None, high: float | None) -> str:
    """Return the ends of an interval in percent."""
    if low is None or high is None:
        return "no interval"
    return f"{percent(low)} to {percent(high)}" if percent(low) != percent(high) else percent(low)
