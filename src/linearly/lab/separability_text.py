"""Whether the classes can be separated, in the words of the lab: two by a line, more by linear scores."""

from __future__ import annotations

import numpy as np

from linearly.algorithm.separability.certificate import Certificate

_LINE = {
    "separable": "A line separates these classes",
    "quasi-separable": "Only a line through points separates",
    "overlapping": "This cannot be separated",
    "undecided": "Not decided whether a line separates",
}
_SCORES = {
    "separable": "Linear scores separate these classes",
    "quasi-separable": "Linear scores separate these classes only in part",
    "overlapping": "Linear scores cannot separate these classes",
    "undecided": "Not decided whether linear scores separate",
}


def badge_of(certificate: Certificate) -> str:
    """The verdict in a few words."""
    return (_LINE if len(certificate.classes) == 2 else _SCORES)[certificate.verdict]


def sentence_of(certificate: Certificate) -> str:
    """The verdict, its proof and its meaning.

    More than two classes have no side of a hyperplane to lie on: each has a score, linear in x and y, and the largest
    wins. That they are quasi-separable then says little about most points: one class that is apart from the others is
    enough, for the others may tie.
    """
    if len(certificate.classes) == 2 or certificate.verdict == "undecided":
        return certificate.describe()
    *some, last = map(repr, certificate.classes.tolist())
    who = f"the classes {', '.join(some)} and {last}"
    if certificate.verdict == "separable":
        return (
            f"Linear scores, of which the largest wins, separate {who}: every point's own score is the largest. A "
            "perceptron converges; the logistic maximum likelihood estimate does not exist."
        )
    if certificate.verdict == "quasi-separable":
        return (
            f"Linear scores, of which the largest wins, separate {who} only in part: there are some that tell points "
            f"apart and give none to a wrong class, but they leave ties, for {_contradiction(certificate)}. No "
            "perceptron converges; the logistic maximum likelihood estimate does not exist."
        )
    return (
        f"No linear scores, of which the largest wins, separate {who}: {_contradiction(certificate)}, and scores that "
        "tell points apart give some to a wrong class. No perceptron converges; the logistic maximum likelihood "
        "estimate exists."
    )


def about_scores(told: str) -> str:
    """What a model of more than two classes says of hyperplanes, said of scores."""
    told = told.replace("no hyperplane separates", "no linear scores separate")
    return told.replace("whether any hyperplane separates", "whether linear scores separate")


def _contradiction(certificate: Certificate) -> str:
    assert certificate.witness is not None
    rows = np.unique(certificate.witness.rows)
    places = np.asarray(certificate.X)[rows]
    if len(rows) == 2 and np.array_equal(places[0], places[1]):
        return f"rows {rows[0]} and {rows[1]} are the same point with different labels"
    listed = ", ".join(map(str, rows[:6])) + (", …" if len(rows) > 6 else "")
    return f"{len(rows)} rows contradict each other (rows {listed})"
