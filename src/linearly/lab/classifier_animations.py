"""Animate the classifiers that are not perceptrons: least squares on labels, LDA, QDA, logistic regression."""

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
from linearly.kernels.double_double import Array
from linearly.lab.animation import (
    Animation,
    FixedLogisticClassifier,
    FrameDetails,
    capture_warnings,
    format_fit,
    format_number,
    linear_terms,
    stack_weights,
)
from linearly.lab.loss_surface import loss_surface
from linearly.lab.perceptron_animations import certificate_scene
from linearly.models.least_squares_classifier import LeastSquaresClassifier
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis
from linearly.models.logistic_regression import LogisticRegression
from linearly.models.quadratic_discriminant_analysis import QuadraticDiscriminantAnalysis

_MAX_DIVERGING_STEPS = 25  # Newton steps shown if there is no maximum
_MAX_STEPS = 400  # of gradient descent that are shown


def indicator_animation(X: Array, y: NDArray[Any], names: tuple[str, ...], settings: dict[str, Any]) -> Animation:
    """Return the one frame of least squares on indicators of the classes."""
    with capture_warnings() as notes:
        model = LeastSquaresClassifier(**settings).fit(X, y)
    classes = tuple(map(str, model.classes_.tolist()))
    weights = stack_weights(model.coef_, model.intercept_)
    words = "The class with the largest fitted value is predicted."
    if len(classes) == 2:
        words = f"The fitted value for “{classes[1]}” is 0.5 on the line. It is not a probability and can leave [0, 1]."
    masked = [note for note in notes if "no larger fitted value" in note]
    masking = [f"Masking: {note}" for note in masked] or _masked_classes(model, X, y)
    words = " ".join([words, *masking])
    code = format_fit("LeastSquaresClassifier", {key: value for key, value in settings.items() if value != 0})
    frame = FrameDetails(model, words, (), linear_terms(names, classes, weights), code)
    others = tuple(note for note in notes if note not in masked)
    named = {"weights": "fitted value 0.5"} if len(classes) == 2 else {}
    return Animation(model, classes, "", 1, lambda _: frame, weights=weights[None], notes=others, line_names=named)


def _masked_classes(model: LeastSquaresClassifier, X: Array, y: NDArray[Any]) -> list[str]:
    """Describe the classes that lose most of their points although LDA keeps them; the model warns of the worst only.

    A class halfway between two others has fitted values that tie at its mean, and rounding decides whether it wins
    there. So its points are counted, and compared with those that LDA predicts correctly.
    """
    if len(model.classes_) == 2:
        return []
    try:
        with capture_warnings():
            by_lda = LinearDiscriminantAnalysis().fit(X, y).predict(X)
    except (ValueError, np.linalg.LinAlgError):
        return []
    by_model = model.predict(X)
    found = []
    for name in model.classes_:
        own = y == name
        correct, possible = int((by_model[own] == name).sum()), int((by_lda[own] == name).sum())
        if 2 * correct < own.sum() < 2 * possible:
            found.append(
                f"Masking: only {correct} of the {own.sum()} points of “{name}” are predicted correctly, because its "
                f"fitted values hardly exceed those of its neighbours. LDA predicts {possible} of them correctly."
            )
    return found


def discriminant_animation(
    name: str, X: Array, y: NDArray[Any], names: tuple[str, ...], settings: dict[str, Any]
) -> Animation:
    """Return the one frame of LDA (one covariance) or QDA (one per class)."""
    linear = name == "lda"
    estimator: Any = LinearDiscriminantAnalysis if linear else QuadraticDiscriminantAnalysis
    given: dict[str, Any] = {"shrinkage": settings["shrinkage"]} if settings["shrinkage"] else {}
    if settings["priors"] == "equal":
        K = len(np.unique(y))
        given["priors"] = [1 / K] * K
    with capture_warnings() as notes:
        model = estimator(**given).fit(X, y)
    classes = tuple(map(str, model.classes_.tolist()))
    drawn: dict[str, Any]
    if linear:
        words = "One covariance for all classes: equal ellipses, straight boundaries."
        weights = stack_weights(model.coef_, model.intercept_)
        terms = linear_terms(names, classes, weights)
        covariances, drawn = [model.covariance_] * len(classes), {"weights": weights[None]}
    else:
        words = "Every class has its own covariance, so boundaries are conics."
        terms = tuple(
            (f"{label}: mean {column}", float(value), None)
            for label, mean in zip(classes, model.means_, strict=True)
            for column, value in zip(names, mean, strict=True)
        )
        covariances, drawn = model.covariances_, {"fields": conic_coefficients(model)}
    gaussians = [
        {"mean": mean.tolist(), "covariance": np.asarray(covariance).tolist()}
        for mean, covariance in zip(model.means_, covariances, strict=True)
    ]
    priors = tuple((f"prior of {label}", float(prior)) for label, prior in zip(classes, model.priors_, strict=True))
    title = "Coefficients" if linear else "Class means"
    frame = FrameDetails(model, words, priors, terms, format_fit(estimator.__name__, given), title)
    return Animation(
        model, classes, "", 1, lambda _: frame, shade="probability", scene={"gaussians": gaussians},
        notes=tuple(notes), line_names={"weights": "equal probabilities"}, **drawn,
    )  # fmt: skip


def conic_coefficients(model: QuadraticDiscriminantAnalysis) -> Array:
    """Return the scores of QDA as coefficients of 1, x, y, x², xy, y², one row per class."""
    # Computed from the roots that the model scores with: a covariance may be singular and have no inverse.
    found, K = [], len(model.classes_)
    for root, moved, constant in zip(
        np.hsplit(model.inverse_roots_, K), np.split(model.whitened_means_, K), model.class_constants_, strict=True
    ):
        P, mean = root @ root.T, model.center_ @ root + moved
        linear = root @ mean
        found.append([constant - 0.5 * mean @ mean, *linear, -0.5 * P[0, 0], -P[0, 1], -0.5 * P[1, 1]])
    return np.array(found)


def logistic_animation(
    X: Array, y: NDArray[Any], names: tuple[str, ...], settings: dict[str, Any], quick: bool = False
) -> Animation:
    """Return the steps of the optimizer of logistic regression, and unless `quick` a plot with the other optimizer."""
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
    if model.separation_ is not None:  # the page shows the certificate above the warnings already
        notes = [note for note in notes if model.separation_.describe() not in note]
    scaling = ColumnScaling.of(next(iter(as_rows(X, None))), None, coarse=1)
    grows = certificate.verdict != "overlapping" and not given.keys() - {"solver"}
    if grows and "solver" not in given:
        steps, losses = _diverging_steps(X, model, scaling, y)
    else:
        steps, losses = [_plane_weights(model, scaling, B) for B in model.history_.coef], list(model.history_.loss)
        if model.converged_ and "solver" not in given:
            steps.append(_insert_reference(model, stack_weights(model.coef_, model.intercept_)))
            losses.append(losses[-1])
    weights = np.array(steps[:_MAX_STEPS])
    wave = np.array(losses[:_MAX_STEPS])
    details = partial(_logistic_details, model, classes, names, weights, wave, grows, given)
    return Animation(
        model, classes, "step", len(weights), details, weights=weights, shade="probability",
        wave=wave, wave_name=f"−log {_likelihood(given)}", scene=certificate_scene(certificate), notes=tuple(notes),
        line_names={"weights": "probability 0.5"},
        picture=None if quick else _logistic_picture(X, y, given, weights, wave, grows),
        more=() if quick else _surface(X, y, model, given, weights, scaling, grows),
    )  # fmt: skip


def _surface(
    X: Array, y: NDArray[Any], model: LogisticRegression, given: dict[str, Any], weights: Array, scaling: ColumnScaling,
    grows: bool,
) -> tuple[dict[str, Any], ...]:  # fmt: skip
    """Return the loss over both weights with the paths of both optimizers, for two classes and two features."""
    if len(model.classes_) != 2 or X.shape[1] != 2 or "bias_reduction" in given:
        return ()
    other = {key: value for key, value in given.items() if key != "solver"}
    first, second = "Newton", "gradient descent"
    if "solver" in given:
        first, second = second, first
    else:
        other["solver"] = "gradient_descent"
    if grows and first != "Newton":
        path = np.array(_diverging_steps(X, model, scaling, y)[0])
    else:
        with capture_warnings():
            path = np.array(
                [_plane_weights(model, scaling, B) for B in LogisticRegression(**other).fit(X, y).history_.coef]
            )
    paths = {first: weights[:, 0], second: path[:_MAX_STEPS, 0]}
    return (loss_surface(X, y == model.classes_[1], given.get("alpha", 0.0), paths, grows),)


def _logistic_details(
    model: LogisticRegression, classes: tuple[str, ...], names: tuple[str, ...], weights: Array, wave: Array,
    grows: bool, given: dict[str, Any], t: int,
) -> FrameDetails:  # fmt: skip
    size = float(np.linalg.norm(weights[t][:, 1:]))
    facts = [("step", t), (f"−log {_likelihood(given)}", float(wave[t])), ("‖w‖", size)]
    end = t == len(weights) - 1
    if grows:
        words = (
            "Maximum likelihood has no finite estimate here: every step makes ‖w‖ larger. Firth's correction or a "
            "penalty keeps it finite."
        )
    elif end:
        words = f"The {_likelihood(given)} is at its maximum." if model.converged_ else "The steps shown end here."
    else:
        words = f"After {t} step{'s' * (t != 1)} the loss is {format_number(wave[t], 4)}."
    terms: Any = linear_terms(names, classes, weights[t])
    code = format_fit("LogisticRegression", given)
    is_fit = end and not grows and len(weights) >= len(model.history_.coef)
    if is_fit and "solver" not in given:
        table, columns = tidy(model), {f"x{j}": name for j, name in enumerate(names)}
        terms = tuple(
            (columns.get(term, str(term)), float(estimate), float(error))
            for term, estimate, error in zip(table["term"], table["estimate"], table["std_error"], strict=True)
        )
    frame: Any = model if is_fit else FixedLogisticClassifier(model.classes_, weights[t])
    if grows and "solver" not in given:
        code += "\n# The fit stops as soon as it separates the classes; the steps shown go on from there."
    return FrameDetails(frame, words, tuple(facts), terms, code)


def _likelihood(given: dict[str, Any]) -> str:
    """Return the name of what is maximised."""
    return "penalised likelihood" if given.keys() & {"alpha", "bias_reduction"} else "likelihood"


class _EnoughSteps(Exception):
    """Stops the optimizer after `_MAX_DIVERGING_STEPS`."""


def _diverging_steps(
    X: Array, model: LogisticRegression, scaling: ColumnScaling, y: NDArray[Any]
) -> tuple[list[Array], list[float]]:
    """Return the weights and losses of Newton's steps if there is no maximum; they would never end by themselves."""
    codes = np.searchsorted(model.classes_, y)
    K = len(model.classes_)
    rows = as_rows(X, codes.astype(np.float64) if K == 2 else codes)
    objective = Logistic(K, 0 if K == 2 else K - 1, scaling, True)

    places: list[Array] = []
    losses: list[float] = []

    def evaluate(B: Array, hessian: bool) -> LossDerivatives:
        if len(places) >= _MAX_DIVERGING_STEPS:
            raise _EnoughSteps
        at = rows.reduce(objective.evaluator(B, hessian))
        if not losses or at.loss <= losses[-1]:
            places.append(B)
            losses.append(at.loss)
        return at

    with capture_warnings(), suppress(_EnoughSteps):
        newton(evaluate, np.zeros((X.shape[1] + 1, K - 1)), stop_when_separated=False)
    return [_plane_weights(model, scaling, B) for B in places], losses


def _plane_weights(model: LogisticRegression, scaling: ColumnScaling, B: Array) -> Array:
    """Return the optimizer's scaled coefficients as (b, w) in the units of the plane."""
    W = B[1:].T / scaling.scale
    return _insert_reference(model, stack_weights(W, B[0] - W @ scaling.shift))


def _insert_reference(model: LogisticRegression, weights: Array) -> Array:
    """Return the weights with a row of zeros for the reference class if there are more than two."""
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
    by_gradient = "solver" in given
    first, second = ("gradient descent", "Newton") if by_gradient else ("Newton", "gradient descent")
    if "bias_reduction" in given:
        series = [{"name": "Firth", "values": wave.tolist()}]
    else:
        other = {key: value for key, value in given.items() if key != "solver"}
        if not by_gradient:
            other["solver"] = "gradient_descent"
        with capture_warnings():
            path = LogisticRegression(**other).fit(X, y).history_
        values = list(path.loss)[: max(60, len(wave))]
        series = [{"name": first, "values": wave.tolist()}, {"name": second, "values": values}]
    return {"kind": "series", "title": "Loss above its minimum", "x": "step", "series": series, "log": True}
