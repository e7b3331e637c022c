"""Animate least squares, ridge, gradient descent, and bias and variance: curves y = f(x) through the plane."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linearly.algorithm.least_squares.gradient_descent import gradient_descent
from linearly.algorithm.least_squares.ridge_cv import RidgePath
from linearly.dataset.features.polynomial import polynomial_features
from linearly.evaluation.bias_variance import bias_variance
from linearly.formatting import pluralize
from linearly.inference.tidy import tidy
from linearly.lab.animation import Animation, Array, FrameDetails, capture_warnings, format_number
from linearly.models.linear_regression import LinearRegression
from linearly.models.ridge_cv import RidgeCV

_CURVE_POINTS = 161
_N_SAMPLE_FITS = 24  # curves of resampled data that are drawn
_RESAMPLES = (
    20,
    64,
    128,
    192,
    256,
    320,
    448,
    640,
)  # data sets per frame; from 64 on each frame includes the one before
_BOOTSTRAP_RESAMPLES = (20, 40, 80, 120, 200)
_DEGREES = range(13)
_MAX_COEFFICIENT = 1e12  # a diverging descent is shown up to here

# name → the function, and the Python for it
TRUTHS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sine": (lambda x: np.sin(3.6 * x), "np.sin(3.6 * x)"),
    "step": (lambda x: np.tanh(6 * x), "np.tanh(6 * x)"),
    "line": (lambda x: 0.9 * x, "0.9 * x"),
    "bump": (lambda x: 1.6 * np.exp(-8 * np.square(x)) - 0.5, "1.6 * np.exp(-8 * np.square(x)) - 0.5"),
}


class Curve:
    """A function of x as a regression that `evaluate` accepts."""

    def __init__(self, f: Callable[[Array], Any]) -> None:
        self.f = f

    def predict(self, X: Any) -> Array:
        """Return ŷ at the x of each row."""
        return np.asarray(self.f(np.asarray(X)[:, 0]))


def least_squares_animation(x: Array, y: Array, view: Any, name: str, settings: dict[str, Any]) -> Animation:
    """Return the one frame of a least-squares polynomial."""
    degree = settings["degree"]
    with capture_warnings() as notes:
        model = LinearRegression().fit(_powers(x, degree, name), y)
    at = np.linspace(view[0], view[1], _CURVE_POINTS if degree > 1 else 2)
    total = format_number(model.training_error_ * len(x), 4)
    words = f"The sum of the {pluralize(len(x), 'square')} is {total}: no other curve of this degree has less."
    features = f"ly.polynomial_features(X[:, 0], {degree})" if degree > 1 else "X"
    curve = Curve(lambda x: model.predict(_powers(x, degree, name)))
    code = f"model = ly.LinearRegression().fit({features}, y)"
    frame = FrameDetails(curve, words, (), _polynomial_terms(model, name), code)
    return Animation(
        model, (), "", 1, lambda _: frame, at=at, curves=curve.f(at)[None], shade="none", notes=tuple(notes)
    )  # fmt: skip


def ridge_animation(x: Array, y: Array, view: Any, name: str, settings: dict[str, Any]) -> Animation:
    """Return one frame per penalty, from the largest to the smallest; cross-validation's choice is marked."""
    degree = settings["degree"]
    # A penalty depends on the units, so x is scaled by the range of the points, not by the view of somebody's window.
    low, high = float(x.min()), float(x.max())
    middle, half = (low + high) / 2, (high - low) / 2
    alphas = np.logspace(3, -6, 61)
    at = np.linspace(view[0], view[1], _CURVE_POINTS)

    def features(x: Array) -> Any:
        return _powers((x - middle) / half, degree, "u")

    with capture_warnings() as notes:
        X = features(x)
        chosen = RidgeCV(alphas, cv=min(5, len(x))).fit(X, y)
    path = RidgePath.of(chosen.summary_, True)
    coefs = path.coefficients(alphas)[:, :, 0].T
    curves = path.y_mean + coefs @ (np.asarray(features(at), dtype=np.float64) - path.mean).T
    best = int(np.argmin(np.abs(np.log(alphas) - math.log(chosen.alpha_))))

    def details(t: int) -> FrameDetails:
        alpha = float(alphas[t])
        with capture_warnings():
            model = LinearRegression(alpha=alpha).fit(X, y)
        length = format_number(float(np.linalg.norm(model.coef_)))
        choice = "this penalty" if t == best else f"λ = {format_number(chosen.alpha_)}"
        words = f"λ = {format_number(alpha)}: the coefficients have length {length}. Cross-validation chooses {choice}."
        facts = (("λ", alpha), ("cross-validated error", float(chosen.cv_errors_[t])), ("chosen λ", chosen.alpha_))
        code = (
            f"u = (X[:, 0] - {middle!r}) / {half!r}\n"
            f'U = ly.polynomial_features(u, {degree}, name="u")\n'
            f"model = ly.LinearRegression(alpha={alpha!r}).fit(U, y)"
        )
        curve = Curve(lambda x: model.predict(features(x)))
        return FrameDetails(curve, words, facts, _polynomial_terms(model, "u"), code)

    series = [{"name": _power("u", j + 1), "values": coefs[:, j].tolist()} for j in range(degree)]
    picture = {
        "kind": "series", "title": "Coefficients against λ", "x": "log₁₀ λ", "log": False, "series": series,
        "xs": np.log10(alphas).tolist(),
    }  # fmt: skip
    return Animation(
        chosen, (), "penalty", len(alphas), details, at=at, curves=curves, shade="none", wave=chosen.cv_errors_,
        wave_name="cross-validated error", marks=((best, "chosen"),), picture=picture, notes=tuple(notes),
    )  # fmt: skip


def gradient_descent_animation(x: Array, y: Array, view: Any, name: str, settings: dict[str, Any]) -> Animation:
    """Return the line after every step, and the path on the contours of the loss; beyond rate 2 it diverges."""
    X = np.column_stack([np.ones_like(x), x])
    with capture_warnings() as notes:
        model = LinearRegression(fit_intercept=False, method="gradient_descent").fit(X, y)
        exact = LinearRegression(fit_intercept=False).fit(X, y)
        rate = settings["rate"] * float(model.history_.step[0])  # history_.step is 1/L
        gram = model.summary_.select(None, False)
        # The path includes the start.
        _, path = gradient_descent(gram, exact.solution_, step=rate, steps=settings["steps"] + 1)
    notes = [note for note in notes if "Gradient descent stopped" not in note]
    bounded = np.asarray((np.abs(path.coef[:, :, 0]) < _MAX_COEFFICIENT).all(axis=1))
    T = len(bounded) if bounded.all() else int(np.argmin(bounded))
    places, losses = path.coef[:T, :, 0], path.loss[:T]
    at = np.array([view[0], view[1]])
    size = np.sqrt((X**2).sum(axis=0))
    best = exact.coef_
    floor = float(((y - X @ best) ** 2).sum() / 2)

    def details(t: int) -> FrameDetails:
        b, w = (float(v) for v in places[t])
        multiple = f"{settings['rate']:g}/L"
        if math.isclose(settings["rate"], 2):
            words = "Rate 2/L is the limit: every step lands as far up the other side, and the loss stays up."
        elif settings["rate"] > 2:
            words = f"Rate {multiple} is beyond 2/L: every step overshoots by more than the last, and the loss grows."
        elif settings["rate"] > 1:
            words = f"Rate {multiple} overshoots the valley and comes back; below 2/L it still converges."
        else:
            above = format_number(max(float(losses[t]) - floor, 0.0))
            words = f"Rate {multiple}: step {t} of {T - 1}, the loss is {above} above its minimum."
        facts = (("step", t), ("loss", float(losses[t])), ("loss at the minimum", floor))
        code = (
            "from linearly.algorithm.least_squares.gradient_descent import gradient_descent\n\n"
            "ones = np.column_stack([np.ones(len(X)), X[:, 0]])\n"
            'exact = ly.LinearRegression(fit_intercept=False, method="gram").fit(ones, y)\n'
            "gram = exact.summary_.select(None, False)\n"
            f"_, path = gradient_descent(gram, exact.solution_, step={rate!r}, steps={t + 1})\n"
            f"b, w = path.coef[{t}, :, 0]"
        )
        terms = (("Intercept", b, None), (name, w, None))
        return FrameDetails(Curve(lambda x: b + w * x), words, facts, terms, code)

    cosine = float(X[:, 0] @ X[:, 1] / (size[0] * size[1])) if size[1] > 0 else 0.0
    picture = {
        "kind": "contour", "title": "Loss over intercept and slope", "names": ["intercept", "slope"],
        "centre": (best * size).tolist(), "size": size.tolist(), "cosine": cosine, "path": (places * size).tolist(),
    }  # fmt: skip
    return Animation(
        model, (), "step", T, details, at=at, curves=places[:, :1] + places[:, 1:] * at, shade="none",
        wave=np.log10(np.maximum(losses - floor, 1e-12 * max(losses[0], 1e-300))),
        wave_name="log₁₀ of the loss above its minimum", picture=picture, notes=tuple(notes),
        scene={"exact": [float(best[0] + best[1] * v) for v in at]},
    )  # fmt: skip


def bias_variance_animation(points: Any, settings: dict[str, Any]) -> Animation:
    """Return the same experiment with more and more data sets per frame."""
    degree, seed = settings["degree"], settings["seed"]
    if settings["truth"] == "points":
        return _bootstrap_animation(points, degree, seed)
    truth, formula = TRUTHS[settings["truth"]]
    n, noise = settings["n"], settings["noise"]
    x = np.linspace(-1.0, 1.0, n)
    degrees = [d for d in _DEGREES if d < n - 2]
    results = [
        bias_variance(x, truth=truth, noise=noise, degrees=degrees, resamples=k, random_state=seed) for k in _RESAMPLES
    ]
    draw = np.random.RandomState(seed)
    Y = truth(x)[:, None] + noise * draw.standard_normal((n, _N_SAMPLE_FITS))
    at = np.linspace(-1.0, 1.0, _CURVE_POINTS)
    fits = _fit_polynomials(x, Y, at, degree)
    scene = {
        "truth": truth(at).tolist(), "fits": fits.T.round(5).tolist(), "mean": fits.mean(axis=1).tolist(),
        "sample": np.column_stack([x, Y[:, 0]]).round(5).tolist(), "view": [-1.12, 1.12, -2.1, 2.1],
    }  # fmt: skip
    code = (
        f"truth = lambda x: {formula}\n"
        f"x = np.linspace(-1.0, 1.0, {n})\n"
        f"result = ly.bias_variance(x, truth=truth, noise={noise!r}, degrees={degrees!r},\n"
        "                          resamples={k}, random_state={seed})"
    )
    return _error_animation(results, degree, at, scene, code, seed, "sets of targets", "on fresh targets")


def _bootstrap_animation(points: Any, degree: int, seed: int) -> Animation:
    x, y = points[:, 0], points[:, 1]
    n_distinct = len(np.unique(x))
    if n_distinct < 8:
        raise ValueError("Bias and variance of your own points need at least eight different x: add points.")
    max_degree = min(12, n_distinct // 3)
    degrees, degree = list(range(max_degree + 1)), min(degree, max_degree)
    results = [bias_variance(x, y, degrees=degrees, resamples=k, random_state=seed) for k in _BOOTSTRAP_RESAMPLES]
    draw = np.random.RandomState(seed)
    at = np.linspace(x.min(), x.max(), _CURVE_POINTS)
    fits = []
    for _ in range(_N_SAMPLE_FITS):
        some = draw.randint(len(x), size=len(x))
        if len(np.unique(x[some])) > degree + 1:
            fits.append(_fit_polynomials(x[some], y[some][:, None], at, degree)[:, 0])
    mean = np.mean(fits, axis=0).tolist()
    scene = {"truth": None, "fits": np.round(fits, 5).tolist(), "mean": mean, "sample": points.tolist()}
    code = f"result = ly.bias_variance(X[:, 0], y, degrees={degrees!r}, resamples={{k}}, random_state={{seed}})"
    return _error_animation(results, degree, at, scene, code, seed, "bootstrap samples", "on rows left out")


def _error_animation(
    results: Sequence[Any], degree: int, at: Array, scene: Any, code: str, seed: int, samples: str, where: str
) -> Animation:
    """Return one frame per result of `bias_variance`: the curves of error become smoother."""
    tables = [result.table for result in results]
    row = list(tables[0]["degree"]).index(degree)

    def details(t: int) -> FrameDetails:
        result = results[t]
        values = {name: float(value) for name, value in tables[t].row(row).items()}
        # The error is measured on targets of its own, so it is close to the sum of its parts but not equal to it.
        total = values["noise"] + values["bias2"] + values["variance"]
        shown = {name: format_number(value) for name, value in values.items()}
        words = (
            f"{result.resamples} {samples}. At degree {degree} noise {shown['noise']} + bias² {shown['bias2']} + "
            f"variance {shown['variance']} make {format_number(total)}; measured {where} the expected error is "
            f"{shown['epe']}. Degree {result.best} is best."
        )
        titles = {
            "epe": "expected error", "noise": "noise", "bias2": "bias²", "variance": "variance",
            "train_error": "training error",
        }  # fmt: skip
        facts = (*((title, values[name]) for name, title in titles.items()), ("best degree", int(result.best)))
        program = code.replace("{k}", str(result.resamples)).replace("{seed}", str(seed))
        return FrameDetails(None, words, facts, (), program)

    errors = ("epe", "noise", "bias2", "variance", "train_error")
    picture = {
        "kind": "complexity",
        "title": "Error against degree",
        "degrees": tables[0]["degree"].tolist(),
        "degree": degree,
        "frames": [{name: table[name].tolist() for name in errors} for table in tables],
    }
    return Animation(
        results[-1], (), "draw", len(results), details, shade="none", at=at, scene={"experiment": scene},
        picture=picture, wave=np.array([table["epe"][row] for table in tables]),
        wave_name=f"expected error at degree {degree}",
        marks=tuple((t, str(result.resamples)) for t, result in enumerate(results)),
    )  # fmt: skip


def _fit_polynomials(x: Array, Y: Array, at: Array, degree: int) -> Array:
    """Return fitted curves, places × samples."""
    if degree == 0:
        return np.tile(Y.mean(axis=0), (len(at), 1))
    with capture_warnings():
        model = LinearRegression().fit(polynomial_features(x, degree), Y if Y.shape[1] > 1 else Y[:, 0])
        return np.asarray(model.predict(polynomial_features(at, degree))).reshape(len(at), -1)


def _polynomial_terms(model: Any, name: str) -> tuple[tuple[str, float, float | None], ...]:
    try:
        with capture_warnings():
            table = tidy(model)
    except ValueError:
        return ()
    return tuple(
        (_power(name, j), float(value), float(error) if np.isfinite(error) else None)
        for j, (value, error) in enumerate(zip(table["estimate"], table["std_error"], strict=True))
    )


def _powers(x: Array, degree: int, name: str) -> Any:
    return polynomial_features(x, degree, name=name) if degree > 1 else x[:, None]


def _power(name: str, j: int) -> str:
    """Return the name of the term of degree j: Intercept, x, x², …"""
    exponent = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(j))
    return "Intercept" if j == 0 else name if j == 1 else name + exponent
