"""The four answers about a classifier: what was fitted, how good it is, whether to trust it, what to do next."""

from __future__ import annotations

from typing import Any

from linearly.models.registry import WORDS
from linearly.report.figures import Told
from linearly.report.page_parts import (
    Finding,
    count,
    evaluate_call,
    format_count,
    format_number,
    held_out,
    join_names,
    option,
    percent,
    predict_call,
)

Facts = dict[str, Any]

_RARE = 0.1  # share of a label below which accuracy alone misleads
_REMEDIES = ("PocketPerceptron", "VotedPerceptron", "AveragedPerceptron")  # perceptrons that need not settle

UNSEEN = "If these are the rows that the model learnt from, expect less on others."
"""What every report on a classifier ends with, unless somebody has judged it on others already."""


def fitted(facts: Facts) -> list[str]:
    """What was fitted."""
    said = [
        f"{facts['target']} ({join_names(facts['classes'], 4)}) told from {join_names(facts['names'], 6)}, by "
        f"{_in_words(facts['model'])}, here on {format_count(facts['n'])} rows."
    ]
    if facts.get("alpha"):
        said.append(f"The penalty alpha {format_number(facts['alpha'], 3)} pulls coefficients towards 0.")
    if facts["weighted"]:
        said.append("Rows have weights.")
    if facts["n_dropped"]:
        said.append(f"{count(facts['n_dropped'], 'row')} with missing values left out.")
    return said


def good(facts: Facts, evaluation: Told) -> list[str]:
    """How good it is."""
    accuracy, base = metric(evaluation, "accuracy"), facts["baseline"]
    said = [
        f"Right on {share(accuracy)} of {on_rows(facts)}.",
        f"Always saying {base['label']} would be right on {percent(base['share'])}.",
    ]
    if evaluation.kind == "binary":
        positive = evaluation.labels[0]
        recall, precision = metric(evaluation, "recall"), metric(evaluation, "precision")
        said.append(
            f"It finds {percent(recall['value'])} of {positive}, and is right in {percent(precision['value'])} of the "
            f"cases where it says so."
        )
    if facts["held_out"]:
        columns = facts["held_out"]["fitted"]["metrics"]
        fitted = columns["value"][columns["metric"].index("accuracy")]
        said.append(f"On the {format_count(facts['n'])} rows of the fit it is right on {percent(fitted)}.")
    return said


def on_rows(facts: Facts) -> str:
    """The rows that figures are about."""
    if facts["held_out"]:
        return f"the {held_out(facts)}"
    return "the rows of the fit" if facts["training_rows"] else "these rows"


def findings(facts: Facts, evaluation: Told) -> list[Finding]:
    """What speaks for and against it, the worst first, and what to do."""
    found = [*_worth(facts, evaluation), *_probability_findings(evaluation), *_shrunk_findings(facts)]
    found += _proof_findings(facts)
    marks = ("bad", "look", "good")
    found.sort(key=lambda finding: marks.index(finding.mark))
    if facts["held_out"]:
        if not any(finding.action for finding in found):
            found.append(Finding("good", "Nothing here speaks against the model.", f"Predict: {predict_call(facts)}."))
        return found
    remedy = f"Judge it on rows that it has not seen: {evaluate_call(facts)}."
    said = "These figures are of the rows of the fit: expect less on others." if facts["training_rows"] else UNSEEN
    return [*found, Finding("look", said, remedy, "right")]


def _worth(facts: Facts, evaluation: Told) -> list[Finding]:
    accuracy, base = metric(evaluation, "accuracy"), facts["baseline"]
    found = []
    if accuracy["conf_high"] < base["share"]:
        found.append(
            Finding(
                "bad",
                f"It is worse than always saying {base['label']}: right on {percent(accuracy['value'])}, not "
                f"{percent(base['share'])}.",
                "Look for columns that tell more, or take a model with probabilities: logistic, say.",
                "right",
            )
        )
    elif accuracy["conf_low"] > base["share"]:
        found.append(Finding("good", "It beats always saying the most frequent label, beyond chance.", where="right"))
    else:
        found.append(
            Finding(
                "bad",
                f"It is not clearly better than always saying {base['label']}.",
                "Look for columns that tell more, or a model that bends.",
                "right",
            )
        )
    rare = [label for label, share in _shares(evaluation) if share < _RARE]
    if rare and len(evaluation.labels) == 2:
        found.append(
            Finding(
                "look",
                f"{rare[0]} is rare, so accuracy says little: look at precision and recall.",
                "Choose the threshold by what a miss and a false alarm cost.",
                "ranking",
            )
        )
    statistics = facts.get("statistics")
    if statistics and not statistics["converged"] and facts.get("separated") is None:
        found.append(
            Finding(
                "bad",
                "The search did not reach the maximum.",
                f"Scale the columns, or use {option(facts, 'solver', 'newton')}.",
                "computed",
            )
        )
    return found


def _probability_findings(evaluation: Told) -> list[Finding]:
    if evaluation.calibration is None:
        return [
            Finding(
                "look",
                "The model has scores but no probabilities.",
                "If you need probabilities, fit logistic or lda.",
                "computed",
            )
        ]
    error = metric(evaluation, "calibration_error")
    if error["conf_low"] is not None and error["conf_low"] > 0:
        return [
            Finding(
                "look",
                f"Probabilities are off by {100 * error['value']:.2g} points on average.",
                "Take them as a ranking, or calibrate them on other rows.",
                "calibration",
            )
        ]
    return [Finding("good", "No sign of miscalibration.", where="calibration")]


def _shrunk_findings(facts: Facts) -> list[Finding]:
    found = facts["shrunk"]
    if found is None:
        return []
    who = "their common covariance" if found["labels"] is None else f"the covariance of {join_names(found['labels'])}"
    return [
        Finding(
            "look",
            f"The rows do not tell {who}, which is singular: shrinkage {format_number(found['share'], 2)} was used, though "
            "none was asked for.",
            "Set shrinkage yourself, leave out columns that do not vary within a label, or add rows.",
            "computed",
        )
    ]


def _proof_findings(facts: Facts) -> list[Finding]:
    if facts.get("separated") is not None:
        return [
            Finding(
                "bad",
                f"The classes are {facts['separated']}: maximum likelihood has no finite answer, and the coefficients "
                "are where the search stopped.",
                f"Fit again with {option(facts, 'alpha', 1.0)} or {option(facts, 'bias_reduction', 'firth')} for "
                "coefficients that mean something.",
                "separability",
            )
        ]
    proof, training = facts["separability"], facts["training"]
    if proof is None or training is None:
        return []
    if proof["verdict"] == "separable":
        said = "It is proven that a hyperplane separates these rows."
        if proof["n_labels"] > 2:
            said = "It is proven that linear scores, one for each label, separate these rows."
        return [Finding("good", said, where="separability")]
    none = "no hyperplane separates" if proof["n_labels"] == 2 else "no linear scores separate"
    return [
        Finding(
            "look",
            f"It is proven that {none} these rows, so a perceptron never settles on its own.",
            "" if facts["model"] in _REMEDIES else "Use the pocket or averaged perceptron, or logistic.",
            "separability",
        )
    ]


def metric(evaluation: Told, name: str) -> dict[str, Any]:
    """One figure of merit with its interval."""
    names = evaluation.metrics["metric"].tolist()
    return {key: finite(value) for key, value in evaluation.metrics.row(names.index(name)).items()}


def finite(value: Any) -> Any:
    """None where there is no number."""
    return None if isinstance(value, float) and value != value else value


def share(row: dict[str, Any]) -> str:
    """A share with its interval, where that says more."""
    reach = ends(row["conf_low"], row["conf_high"])
    return f"{percent(row['value'])} ({reach})" if " to " in reach else percent(row["value"])


def ends(low: float | None, high: float | None) -> str:
    """An interval of shares."""
    if low is None or high is None:
        return "no interval"
    return f"{percent(low)} to {percent(high)}" if percent(low) != percent(high) else percent(low)


def counts_of(evaluation: Told) -> list[list[float]]:
    """The confusion matrix, row by row."""
    table = evaluation.confusion
    columns = [table[name].tolist() for name in table.columns[1:]]
    return [list(row) for row in zip(*columns, strict=True)]


def _shares(evaluation: Told) -> list[tuple[str, float]]:
    counts = [sum(row) for row in counts_of(evaluation)]
    return [(label, count / sum(counts)) for label, count in zip(evaluation.labels, counts, strict=True)]


def _in_words(model: str) -> str:
    words = WORDS.get(model, model)
    return f"the {words}" if words.endswith("perceptron") else words
