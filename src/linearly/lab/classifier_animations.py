"""Films of the classifiers that are not perceptrons: indicator, logistic, LDA, QDA."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import newton
from linearly.algorithm.separability.decide import separability
from linearly.dataset.rows.block import as_rows
from linearly.inference.tidy import tidy
from linearly.lab.animation import (
    Animation,
    Array,
    FrameDetails,
    Probable,
    capture_warnings,
    joined,
    linear_terms,
    told,
)
from linearly.lab.perceptron_animations import code_of, scene_of
from linearly.models.least_squares_classifier import LeastSquaresClassifier
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis
from linearly.models.logistic_regression import LogisticRegression
from linearly.models.quadratic_discriminant_analysis import QuadraticDiscriminantAnalysis

_GROWING = 25  # Newton steps shown where every step grows
_MOST_STEPS = 400  # of gradient descent that are shown


def indicator_animation(X: Array, y: NDArray[Any], names: tuple[str, str], settings: dict[str, Any]) -> Animation:
    """Least squares on 0 and 1."""
    with capture_warnings() as notes:
        model = LeastSquaresClassifier(**settings).fit(X, y)
    classes = tuple(map(str, model.classes_.tolist()))
    weights = joined(model.coef_, model.intercept_)
    words = "The largest fitted value wins."
    if len(classes) == 2:
        words = f"The fitted value for “{classes[1]}” is 0.5 on the line; it is no probability and leaves [0, 1]."
    masking = [note for note in notes if note.startswith("Masking")] or _outvoted(model, X, y)
    notes = [note for note in notes if note not in masking]  # said once, above
    words = " ".join([words, *masking])
    still = FrameDetails(
        model, words, (), linear_terms(names, classes, weights), _final("LeastSquaresClassifier", settings)
    )
    return Animation(model, classes, "", 1, lambda _: still, weights=weights[None], notes=tuple(notes))


def _outvoted(model: LeastSquaresClassifier, X: Array, y: NDArray[Any]) -> list[str]:
    """Classes that lose most of their points though a line could keep them; the model itself warns of the worst alone.

    Between two others at equal distances, a class has fitted values that tie at its mean, and it is left to chance
    whether it wins there. So its points are counted, and LDA is asked whether more of them can be had.
    """
    if len(model.classes_) == 2:
        return []
    try:
        with capture_warnings():
            other = LinearDiscriminantAnalysis().fit(X, y).predict(X)
    except (ValueError, np.linalg.LinAlgError):
        return []
    mine = model.predict(X)
    found = []
    for name in model.classes_:
        own = y == name
        kept, could = int((mine[own] == name).sum()), int((other[own] == name).sum())
        if 2 * kept < own.sum() < 2 * could:
            found.append(
                f"Masking: “{name}” gets only {kept} of its {own.sum()} points, for its fitted values hardly rise "
                f"above those of its neighbours; LDA gets {could} of them right."
            )
    return found


def lda_animation(X: Array, y: NDArray[Any], names: tuple[str, str], settings: dict[str, Any]) -> Animation:
    """LDA: one covariance."""
    with capture_warnings() as notes:
        given = _priors(settings, y)
        model = LinearDiscriminantAnalysis(**given).fit(X, y)
    classes = tuple(map(str, model.classes_.tolist()))
    weights = joined(model.coef_, model.intercept_)
    facts = [(f"prior of {name}", float(prior)) for name, prior in zip(classes, model.priors_, strict=True)]
    words = "One covariance for all classes: equal ellipses, straight boundaries."
    code = _final("LinearDiscriminantAnalysis", given)
    still = FrameDetails(model, words, tuple(facts), linear_terms(names, classes, weights), code)
    scene = {"gaussians": _gaussians(model.means_, [model.covariance_] * len(classes))}
    return Animation(
        model, classes, "", 1, lambda _: still, weights=weights[None], shade="probability", scene=scene,
        notes=tuple(notes),
    )  # fmt: skip


def qda_animation(X: Array, y: NDArray[Any], names: tuple[str, str], settings: dict[str, Any]) -> Animation:
    """QDA: a covariance for each class."""
    with capture_warnings() as notes:
        given = _priors(settings, y)
        model = QuadraticDiscriminantAnalysis(**given).fit(X, y)
    classes = tuple(map(str, model.classes_.tolist()))
    facts = [(f"prior of {name}", float(prior)) for name, prior in zip(classes, model.priors_, strict=True)]
    terms = tuple(
        (f"{name}: mean {column}", float(value), None)
        for name, mean in zip(classes, model.means_, strict=True)
        for column, value in zip(names, mean, strict=True)
    )
    words = "Every class has a covariance of its own, so boundaries are conics."
    still = FrameDetails(model, words, tuple(facts), terms, _final("QuadraticDiscriminantAnalysis", given))
    return Animation(
        model, classes, "", 1, lambda _: still, fields=conics(model), shade="probability",
        scene={"gaussians": _gaussians(model.means_, model.covariances_)}, notes=tuple(notes),
    )  # fmt: skip


def conics(model: QuadraticDiscriminantAnalysis) -> Array:
    """The scores of QDA as coefficients of 1, x, y, x², xy, y², one row a class."""
    # From the roots that the model scores with: a covariance may be singular, and has no inverse then.
    found, K = [], len(model.classes_)
    for root, moved, constant in zip(
        np.hsplit(model._roots, K), np.split(model._moved, K), model._constants, strict=True
    ):
        P, mean = root @ root.T, model._center @ root + moved
        linear = root @ mean
        found.append([constant - 0.5 * mean @ mean, *linear, -0.5 * P[0, 0], -P[0, 1], -0.5 * P[1, 1]])
    return np.array(found)


def logistic_animation(
    X: Array, y: NDArray[Any], names: tuple[str, str], settings: dict[str, Any], quick: bool = False
) -> Animation:
    """Logistic regression: the steps of its optimizer, beside those of the other one unless it has to be `quick`."""
    given: dict[str, Any] = {}
    if settings["remedy"] == "firth":
        given["bias_reduction"] = "firth"
    elif settings["remedy"] == "ridge":
        given["alpha"] = settings["alpha"]
    if settings["solver"] == "gradient_descent" and "bias_reduction" not in given:
        given["solver"] = "gradient_descent"
    with capture_warnings() as notes:
        model = LogisticRegression(**given).fit(X, y)
    classes = tuple(map(str, model.classes_.tolist()))
    certificate = separability(X, y, names=names)
    separation = getattr(model, "separation_", None)
    if separation is not None:  # its words and its remedy stand above the warnings already
        notes = [note for note in notes if separation.describe() not in note]
    scaling = ColumnScaling.of(next(iter(as_rows(X, None))), None, coarse=1)
    grows = certificate.verdict != "overlapping" and not given.keys() - {"solver"}
    if grows and "solver" not in given:
        steps, losses = _growing(X, model, scaling, y)
    else:
        steps, losses = [_scores(model, scaling, B) for B in model.history_.coef], list(model.history_.loss)
        if model.converged_ and "solver" not in given:
            steps.append(_reference_first(model, joined(model.coef_, model.intercept_)))
            losses.append(losses[-1])
    weights = np.array(steps[:_MOST_STEPS])
    wave = np.array(losses[:_MOST_STEPS])
    still = partial(_logistic_still, model, classes, names, weights, wave, grows, given)
    return Animation(
        model, classes, "step", len(weights), still, weights=weights, shade="probability",
        wave=wave, wave_name=f"−log {_likelihood(given)}", scene=scene_of(certificate), notes=tuple(notes),
        picture=None if quick else _logistic_picture(X, y, given, weights, wave, grows),
    )  # fmt: skip


def _logistic_still(
    model: LogisticRegression, classes: tuple[str, ...], names: tuple[str, str], weights: Array, wave: Array,
    grows: bool, given: dict[str, Any], t: int,
) -> FrameDetails:  # fmt: skip
    size = float(np.linalg.norm(weights[t][:, 1:]))
    facts = [("step", t), (f"−log {_likelihood(given)}", float(wave[t])), ("‖w‖", size)]
    end = t == len(weights) - 1
    if grows:
        words = (
            "Maximum likelihood has no finite answer here: every step makes ‖w‖ larger. Firth's correction or a "
            "penalty tames it."
        )
    elif end:
        words = f"The {_likelihood(given)} is at its maximum." if model.converged_ else "The steps shown end here."
    else:
        words = f"After {t} step{'s' * (t != 1)} the loss is {told(wave[t], 4)}."
    terms: Any = linear_terms(names, classes, weights[t])
    code = _final("LogisticRegression", given)
    whole = end and not grows and len(weights) >= len(model.history_.coef)
    if whole and "solver" not in given:
        table = tidy(model)
        terms = tuple(
            (names_of(term, names), float(estimate), float(error))
            for term, estimate, error in zip(table["term"], table["estimate"], table["std_error"], strict=True)
        )
    judged: Any = model if whole else Probable(model.classes_, weights[t])
    if grows and "solver" not in given:
        code += "\n# The fit stops as soon as the classes are told apart; the steps shown go on from there."
    return FrameDetails(judged, words, tuple(facts), terms, code)


def _likelihood(given: dict[str, Any]) -> str:
    """What the steps raise: with Firth's correction or a penalty it is not the likelihood itself."""
    return "penalised likelihood" if given.keys() & {"alpha", "bias_reduction"} else "likelihood"


def names_of(term: Any, names: tuple[str, str]) -> str:
    """Terms of arrays are called x0 and x1; the plane has names for them."""
    return {"x0": names[0], "x1": names[1]}.get(str(term), str(term))


class _Enough(Exception):
    """The optimizer has been watched long enough."""


def _growing(
    X: Array, model: LogisticRegression, scaling: ColumnScaling, y: NDArray[Any]
) -> tuple[list[Array], list[float]]:
    """Newton's steps where there is no maximum: they would go on and on, so the look at step 25 ends them."""
    codes = np.searchsorted(model.classes_, y)
    K = len(model.classes_)
    rows = as_rows(X, codes.astype(np.float64) if K == 2 else codes)
    objective = Logistic(K, 0 if K == 2 else K - 1, scaling, True)

    places: list[Array] = []
    losses: list[float] = []

    def look(B: Array, hessian: bool) -> LossDerivatives:
        if len(places) >= _GROWING:
            raise _Enough
        at = rows.reduce(objective.evaluator(B, hessian))
        if not losses or at.loss <= losses[-1]:
            places.append(B)
            losses.append(at.loss)
        return at

    with capture_warnings(), suppress(_Enough):
        newton(look, np.zeros((3, K - 1)), stop_when_separated=False)
    return [_scores(model, scaling, B) for B in places], losses


def _scores(model: LogisticRegression, scaling: ColumnScaling, B: Array) -> Array:
    """B of the optimizer's scaling as (b, w) in the units of the plane."""
    W = B[1:].T / scaling.scale
    return _reference_first(model, joined(W, B[0] - W @ scaling.shift))


def _reference_first(model: LogisticRegression, weights: Array) -> Array:
    """With K > 2 classes, the reference gets its row of zeros."""
    K = len(model.classes_)
    return weights if K == 2 else np.insert(weights, int(np.searchsorted(model.classes_, model.reference_)), 0, axis=0)


def _logistic_picture(
    X: Array, y: NDArray[Any], given: dict[str, Any], weights: Array, wave: Array, grows: bool
) -> dict[str, Any]:
    if grows:
        with capture_warnings():
            firth = LogisticRegression(bias_reduction="firth").fit(X, y)
        norms = np.linalg.norm(weights[..., 1:].reshape(len(weights), -1), axis=1)
        tamed = float(np.linalg.norm(firth.coef_))
        series = [
            {"name": "maximum likelihood", "values": norms.tolist()},
            {"name": "Firth", "values": [tamed] * len(norms)},
        ]
        return {"kind": "series", "title": "‖w‖ after each step", "x": "step", "series": series, "log": False}
    mine = "gradient descent" if "solver" in given else "Firth" if "bias_reduction" in given else "Newton"
    series = [{"name": mine, "values": wave.tolist()}]
    if "bias_reduction" not in given:
        other = {key: value for key, value in given.items() if key != "solver"}
        if "solver" not in given:
            other["solver"] = "gradient_descent"
        with capture_warnings():
            path = LogisticRegression(**other).fit(X, y).history_
        name = "Newton" if "solver" in given else "gradient descent"
        series.append({"name": name, "values": list(path.loss)[: max(60, len(wave))]})
    return {"kind": "series", "title": "Loss above its minimum", "x": "step", "series": series, "log": True}


def _gaussians(means: Array, covariances: Any) -> list[dict[str, Any]]:
    return [
        {"mean": mean.tolist(), "covariance": np.asarray(covariance).tolist()}
        for mean, covariance in zip(means, covariances, strict=True)
    ]


def _priors(settings: dict[str, Any], y: NDArray[Any]) -> dict[str, Any]:
    K = len(np.unique(y))
    given: dict[str, Any] = {}
    if settings["shrinkage"]:
        given["shrinkage"] = settings["shrinkage"]
    if settings["priors"] == "equal":
        given["priors"] = [1 / K] * K
    return given


def _final(estimator: str, given: dict[str, Any]) -> str:
    return code_of(estimator, {key: value for key, value in given.items() if value != 0})
