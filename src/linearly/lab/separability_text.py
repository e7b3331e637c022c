"""Describe separability in the lab's words: two classes are separated by a line, more than two by linear scores."""

from __future__ import annotations

import numpy as np

from linearly.algorithm.separability.certificate import Certificate

_LINE_BADGES = {
    "separable": "A line separates these classes",
    "quasi-separable": "Only a line through points separates them",
    "overlapping": "No line separates these classes",
    "undecided": "Separability is not decided",
}
_SCORE_BADGES = {
    "separable": "Linear scores separate these classes",
    "quasi-separable": "Linear scores separate these classes only in part",
    "overlapping": "Linear scores cannot separate these classes",
    "undecided": "Separability by linear scores is not decided",
}
_SCORE_SENTENCES = {
    "separable": (
        "Linear scores separate {classes}: the score of every point's own class is the largest. A perceptron "
        "converges. The logistic maximum likelihood estimate does not exist."
    ),
    "quasi-separable": (
        "Linear scores separate {classes} only in part. No point scores highest for a wrong class, but some tie, for "
        "{contradiction}. No perceptron converges. The logistic maximum likelihood estimate does not exist."
    ),
    "overlapping": (
        "No linear scores separate {classes}: {contradiction}, and scores that separate some points rank a wrong class "
        "first for others. No perceptron converges. The logistic maximum likelihood estimate exists."
    ),
}


def separability_badge(certificate: Certificate) -> str:
    """Return the verdict in a few words."""
    return (_LINE_BADGES if len(certificate.classes) == 2 else _SCORE_BADGES)[certificate.verdict]


def describe_separability(certificate: Certificate) -> str:
    """Return the verdict, its proof and its consequences.

    More than two classes have no sides of a hyperplane: each class has a score that is linear in x and y, and the
    largest wins. Quasi-separability then says little about most points: one class apart from the others suffices,
    because the others may tie.
    """
    if len(certificate.classes) == 2 or certificate.verdict == "undecided":
        return certificate.describe()
    *some, last = map(repr, certificate.classes.tolist())
    classes = f"the classes {', '.join(some)} and {last}"
    return _SCORE_SENTENCES[certificate.verdict].format(classes=classes, contradiction=_contradiction(certificate))


def describe_with_scores(text: str) -> str:
    """Return a message about hyperplanes as one about scores, for more than two classes."""
    text = text.replace("no hyperplane separates", "no linear scores separate")
    return text.replace("whether any hyperplane separates", "whether linear scores separate")


def _contradiction(certificate: Certificate) -> str:
    if certificate.witness is None:
        return ""
    rows = np.unique(certificate.witness.rows)
    places = np.asarray(certificate.X)[rows]
    if len(rows) == 2 and np.array_equal(places[0], places[1]):
        return f"rows {rows[0]} and {rows[1]} are the same point with different labels"
    listed = ", ".join(map(str, rows[:6])) + (", …" if len(rows) > 6 else "")
    return f"{len(rows)} rows contradict each other (rows {listed})"
