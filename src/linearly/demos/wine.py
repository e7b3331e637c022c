"""Three wines: what LDA takes classes for, and the K − 1 logits of logistic regression (S2, S3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linearly.algorithm.separability.decide import separability
from linearly.api import Model
from linearly.demos.story import Columns, Score, Story, matrix
from linearly.evaluation.cross_validate import cross_validate
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis
from linearly.models.quadratic_discriminant_analysis import QuadraticDiscriminantAnalysis
from linearly.models.registry import estimator_of
from linearly.plots.classifier_plots import plot_gaussians
from linearly.report.page_parts import Finding

TARGET = "wine"
TWO = ("alcohol", "flavanoids")
MODELS = {
    "lda": "LDA: one covariance",
    "qda": "QDA: a covariance each",
    "least-squares": "least squares",
    "logistic": "logistic regression",
}
_FOLDS = 5


def tell(story: Story, data: Path | None) -> None:
    """The story."""
    if data is not None:
        raise ValueError("The wines come with scikit-learn: leave the file out.")
    wines = bundled()
    two = {name: wines[name] for name in (*TWO, TARGET)}
    _begin(story, wines)
    _gaussians(story, two)
    model = story.fit(two, TARGET, "logistic")
    _logits(story, model, two)
    _all(story, wines)
    story.about(model, two, "logistic regression on alcohol and flavanoids")


def bundled() -> Columns:
    """scikit-learn's wines in a mixed order, 13 measurements each."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    mixed = np.random.default_rng(0).permutation(len(bunch.target))
    columns = {
        name.replace("/", "_"): values[mixed] for name, values in zip(bunch.feature_names, bunch.data.T, strict=True)
    }
    return columns | {TARGET: np.array(["A", "B", "C"])[bunch.target[mixed]]}


# --- the chapters ---------------------------------------------------------------------------------


def _begin(story: Story, wines: Columns) -> None:
    labels, counts = np.unique(wines[TARGET], return_counts=True)
    story.chapter("data", "Three growers, thirteen measurements")
    told = ", ".join(f"{n} of {label}" for label, n in zip(labels, counts, strict=True))
    story.tell(
        f"{len(wines[TARGET])} wines from three growers, {told}, measured by chemists. Two of the measurements can be "
        f"drawn: {TWO[0]} and {TWO[1]}, the best of three pairs tried, which flatters them a little. Later all "
        f"{len(wines) - 1} are used."
    )
    story.found["rows"] = len(wines[TARGET])


def _gaussians(story: Story, two: Columns) -> None:
    X, y = matrix(two, TARGET)
    story.chapter("gaussians", "What LDA takes a class for")
    story.tell(
        "LDA takes every class for a normal cloud: a mean of its own, and one covariance for all. That makes straight "
        "boundaries. QDA gives every class a covariance of its own, and the boundaries bend."
    )
    for kind in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        fitted = kind().fit(X, y)
        fitted.feature_names_in_ = np.array(TWO, dtype=object)
        with story.listening():
            _draw(story, fitted, X, y)
    rows, found = [], {}
    for name, words in MODELS.items():
        with story.listening():
            fitted = estimator_of(name, {}).fit(X, y)
            accuracy = cross_validate(estimator_of(name, {}), X, y, folds=_FOLDS)
        score = Score.of(fitted, X, y)
        held = float(np.average(accuracy["accuracy"], weights=accuracy["rows"]))
        rows.append([words, score.with_interval, f"{100 * (1 - held):.1f}"])
        found[name] = {"errors": score.errors, "held_out_error": 1 - held}
    head = ["errors in %, 95 % interval", "training", f"held out, {_FOLDS} folds"]
    story.table(f"{TWO[0]} and {TWO[1]}: errors on the rows of the fit, and on rows left out of it", head, rows)
    story.found["two_columns"] = found
    best = min(found, key=lambda name: found[name]["held_out_error"])
    story.lead = [
        f"On wines left out of the fit, {TWO[0]} and {TWO[1]} alone leave {100 * found[best]['held_out_error']:.1f} % "
        f"errors ({MODELS[best]}), logistic regression {100 * found['logistic']['held_out_error']:.1f} %."
    ]


def _draw(
    story: Story, fitted: LinearDiscriminantAnalysis | QuadraticDiscriminantAnalysis, X: object, y: object,
    *, equal: bool = False,
) -> None:  # fmt: skip
    def draw(ax: Any) -> None:
        plot_gaussians(fitted, X, y, ax)
        if equal:
            ax.set_aspect("equal")

    story.picture(
        type(fitted).__name__,
        draw,
        "Means, and ellipses that hold 50 % and 95 % of a class if it is as the model takes it to be.",
    )


def _logits(story: Story, model: Model, two: Columns) -> None:
    estimator = model.estimator
    reference = str(estimator.reference_)
    story.chapter("logits", "Three classes, two logits")
    terms = list(model.tidy())
    labels = [label for label in map(str, model.classes) if label != reference]
    by = {(str(row["label"]), row["term"]): row for row in terms}
    names = ["Intercept", *TWO]
    story.tell(
        f"With K = {len(model.classes)} classes logistic regression has K − 1 = {len(labels)} equations: the log-odds "
        f"of each class against {reference}. The probabilities follow, and sum to 1."
    )
    rows = [
        [
            f"log(P({label}) / P({reference}))",
            *(f"{by[label, name]['estimate']:.1f} ± {by[label, name]['std_error']:.1f}" for name in names),
        ]
        for label in labels
    ]
    story.table(
        "Coefficients with standard errors",
        ["log-odds", *names],
        [[cell.replace("-", "−") for cell in row] for row in rows],
    )
    wine = {name: np.array([float(np.round(np.median(two[name]), 1))]) for name in TWO}
    logits = [
        by[label, "Intercept"]["estimate"] + sum(by[label, n]["estimate"] * wine[n][0] for n in TWO) for label in labels
    ]
    shares = np.exp([*logits, 0.0]) / np.exp([*logits, 0.0]).sum()
    by_hand = dict(zip([*labels, reference], shares, strict=True))
    library = dict(zip(map(str, model.classes), model.predict_proba(wine)[0], strict=True))
    story.tell(
        f"A wine with {TWO[0]} {wine[TWO[0]][0]:g} and {TWO[1]} {wine[TWO[1]][0]:g} has logits "
        + " and ".join(f"{value:.2f}".replace("-", "−") for value in logits)
        + ": e to these, and 1 for the reference, over their sum gives "
        + ", ".join(f"{label} {100 * by_hand[label]:.1f} %" for label in map(str, model.classes))
        + "."
    )
    story.found["logits"] = {
        "reference": reference, "by_hand": {k: float(v) for k, v in by_hand.items()},
        "predict_proba": {k: float(v) for k, v in library.items()},
    }  # fmt: skip


def _all(story: Story, wines: Columns) -> None:
    X, y = matrix(wines, TARGET)
    names = [name for name in wines if name != TARGET]
    certificate = separability(X, y, names=names)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    held = cross_validate(LinearDiscriminantAnalysis(), X, y, folds=_FOLDS)
    wrong = 1 - float(np.average(held["accuracy"], weights=held["rows"]))
    story.chapter("all", f"All {len(names)} measurements")
    checked = "checked in exact arithmetic" if certificate.check() else "not confirmed"
    share = float(lda.explained_variance_ratio_[0])
    story.tell(
        f"LDA on all {len(names)} measurements gets {100 * wrong:.1f} % of held-out wines wrong. Whatever the number "
        f"of columns, what tells K classes apart lies in K − 1 directions: here a plane, {100 * share:.0f} % of it "
        "along the first axis. In that plane the ellipses are circles."
    )
    plane = lda.transform(X)
    flat = LinearDiscriminantAnalysis().fit(plane, y)
    flat.feature_names_in_ = np.array(["first direction", "second direction"], dtype=object)
    with story.listening():
        _draw(story, flat, plane, y, equal=True)  # else circles would be drawn as ellipses
    if certificate.verdict == "separable":
        with story.listening():
            estimator_of("logistic", {}).fit(X, y)
        warned = any("separable" in message for message in story.heard)
        story.tell(
            f"In all {len(names)} measurements the growers are separable ({checked}), so logistic regression without a "
            "penalty has no finite answer there" + (", and warns of it." if warned else ".")
        )
        story.findings.append(
            Finding(
                "look",
                f"All {len(names)} measurements separate the growers: logistic regression needs a penalty there.",
                "With more columns fit LDA, or logistic with alpha > 0.",
                "story-all",
            )
        )
    story.found["all_columns"] = {"verdict": certificate.verdict, "held_out_error": wrong, "first_direction": share}
