"""Three wines: how LDA models the classes, and the K − 1 logits of logistic regression."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linearly.algorithm.separability.decide import separability
from linearly.api import Model
from linearly.demos.story import Columns, Story, checked, matrix, tied_best, without
from linearly.formatting import join_names
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis
from linearly.models.quadratic_discriminant_analysis import QuadraticDiscriminantAnalysis
from linearly.models.registry import estimator_of

TARGET = "wine"
TWO = ("alcohol", "flavanoids")


def tell(story: Story, data: Path | None) -> None:
    """Tell the story."""
    wines = bundled()
    two = {name: wines[name] for name in (*TWO, TARGET)}
    labels, counts = np.unique(wines[TARGET], return_counts=True)
    rows = story.found["rows"] = len(wines[TARGET])
    listed = ", ".join(f"{n} of {label}" for label, n in zip(labels, counts, strict=True))
    story.chapter("data")
    story.tell("text", rows=rows, counts=listed, n=len(wines) - 1)
    model = _compare_gaussians(story, two)
    _compute_logits(story, model, two)
    _use_all_columns(story, wines)
    story.report(model, two)


def bundled() -> Columns:
    """Return scikit-learn's wines in a mixed order, 13 measurements each."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    mixed = np.random.default_rng(0).permutation(len(bunch.target))
    names = [name.replace("/", "_") for name in bunch.feature_names]
    columns = dict(zip(names, bunch.data[mixed].T, strict=True))
    return columns | {TARGET: np.array(["A", "B", "C"])[bunch.target[mixed]]}


def _compare_gaussians(story: Story, two: Columns) -> Model:
    X, y = matrix(two, TARGET)
    story.chapter("gaussians")
    story.tell("text")
    for kind in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        story.picture_gaussians(kind.__name__, kind().fit(X, y), X, y, TWO, "ellipses")
    compared = story.compare_held_out(two, TARGET)
    story.found["two_columns"] = {
        name: {"errors": one.trained.errors, "held_out_error": one.error} for name, one in compared.items()
    }
    best = tied_best({name: one.error for name, one in compared.items()})
    story.found["best"] = {
        "names": [story.texts["models"][name] for name in best],
        "error": 100 * compared[best[0]].error,
        "logistic": 100 * compared["logistic"].error,
    }
    return compared["logistic"].model


def _compute_logits(story: Story, model: Model, two: Columns) -> None:
    classes, reference = list(map(str, model.classes)), str(model.estimator.reference_)
    labels = [label for label in classes if label != reference]
    terms = {(str(row["label"]), row["term"]): row for row in model.tidy()}
    story.chapter("logits")
    story.tell("equations", K=len(classes), n=len(labels), reference=reference)
    rows = []
    for label in labels:
        cells = ("{estimate:.1f} ± {std_error:.1f}".format(**terms[label, name]) for name in ("Intercept", *TWO))
        rows.append([f"log(P({label}) / P({reference}))", *cells])
    story.table("coefficients", [[cell.replace("-", "−") for cell in row] for row in rows])
    wine = {name: np.array([float(np.round(np.median(two[name]), 1))]) for name in TWO}
    logits = [
        terms[label, "Intercept"]["estimate"] + sum(terms[label, name]["estimate"] * wine[name][0] for name in TWO)
        for label in labels
    ]
    shares = np.exp([*logits, 0.0]) / np.exp([*logits, 0.0]).sum()
    by_hand = dict(zip([*labels, reference], map(float, shares), strict=True))
    story.tell(
        "by_hand",
        **{name: value[0] for name, value in wine.items()},
        logits=" and ".join(f"{value:.2f}".replace("-", "−") for value in logits),
        shares=", ".join(f"{label} {100 * by_hand[label]:.1f}%" for label in classes),
    )
    library = dict(zip(classes, map(float, model.predict_proba(wine)[0]), strict=True))
    story.found["logits"] = {"reference": reference, "by_hand": by_hand, "predict_proba": library}


def _use_all_columns(story: Story, wines: Columns) -> None:
    X, y = matrix(wines, TARGET)
    n = X.shape[1]
    certificate = separability(X, y, names=list(without(wines, TARGET)))
    lda = LinearDiscriminantAnalysis().fit(X, y)
    wrong = story.held_out_error(LinearDiscriminantAnalysis(), X, y)
    share = float(lda.explained_variance_ratio_[0])
    best = story.found["best"]
    names = best["names"]
    logistic = "" if "logistic regression" in names else f"; with logistic regression {best['logistic']:.1f}% are"
    story.lead(n=n, wrong=100 * wrong, best=best["error"], name=join_names(names), logistic=logistic)
    story.chapter("all", n=n)
    story.tell("text", n=n, wrong=100 * wrong, share=100 * share)
    plane = lda.transform(X)
    flat = LinearDiscriminantAnalysis().fit(plane, y)
    directions = ("first direction", "second direction")
    story.picture_gaussians("LinearDiscriminantAnalysis", flat, plane, y, directions, "ellipses", equal=True)
    if certificate.verdict == "separable":
        with story.collect_warnings():
            estimator_of("logistic", {}).fit(X, y)
        warned = any("separable" in message for message in story.warned)
        story.tell("separable", n=n, checked=checked(certificate), warns=", and linearly warns" if warned else "")
        story.finding("all", n=n)
    story.found["all_columns"] = {"verdict": certificate.verdict, "held_out_error": wrong, "first_direction": share}
