"""Films of least squares, gradient descent, ridge, and of bias and variance: curves y = f(x) through the plane."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linearly.algorithm.least_squares.gradient_descent import gradient_descent
from linearly.algorithm.least_squares.ridge_cv import RidgePath
from linearly.dataset.rows.polynomial import polynomial_features
from linearly.evaluation.bias_variance import bias_variance
from linearly.inference.tidy import tidy
from linearly.lab.animation import Animation, Array, FrameDetails, capture_warnings, counted, told
from linearly.models.linear_regression import LinearRegression
from linearly.models.ridge_cv import RidgeCV

_PLACES = 161  # of a curve that are computed
_FITS = 24  # of resamples that are drawn
_REELS = (20, 64, 128, 192, 256, 320, 448, 640)  # sets drawn: from 64 on each holds all before
_DEGREES = range(13)
_TOP = 1e12


def least_squares_animation(x: Array, y: Array, view: Any, name: str, settings: dict[str, Any]) -> Animation:
    """One curve, its residuals, its table."""
    degree = settings["degree"]
    with capture_warnings() as notes:
        model = LinearRegression().fit(_powers(x, degree, name), y)
    at, curve = _curve(view, degree, name, model.predict)
    still = _regression_still(
        model, _explained(model), degree, (), name, f"model = ly.LinearRegression().fit({_X(degree)}, y)"
    )
    return Animation(
        model, (), "", 1, lambda _: still, at=at, curves=curve[None], shade="none", notes=tuple(notes)
    )  # fmt: skip


def ridge_animation(x: Array, y: Array, view: Any, name: str, settings: dict[str, Any]) -> Animation:
    """A frame for every penalty, from the largest to the smallest; the one that cross-validation chooses is marked."""
    degree = settings["degree"]
    # A penalty depends on the units: the points give them, for the view is as wide as somebody's window.
    low, high = float(x.min()), float(x.max())
    middle, half = (low + high) / 2, (high - low) / 2
    u = (x - middle) / half
    folds = min(5, len(x))
    alphas = np.logspace(3, -6, 61)
    at = np.linspace(view[0], view[1], _PLACES)
    with capture_warnings() as notes:
        X = _powers(u, degree, "u")
        chosen = RidgeCV(alphas, cv=folds).fit(X, y)
    path = RidgePath.of(chosen.summary_, True)
    coefs = path.coefficients(alphas)[:, :, 0].T
    places = np.asarray(_powers((at - middle) / half, degree, "u"), dtype=np.float64)
    curves = path.y_mean + coefs @ (places - path.mean).T
    best = int(np.argmin(np.abs(np.log(alphas) - math.log(chosen.alpha_))))

    def still(t: int) -> FrameDetails:
        alpha = float(alphas[t])
        with capture_warnings():
            model = LinearRegression(alpha=alpha).fit(X, y)
        words = f"λ = {told(alpha)}: the coefficients have length {told(float(np.linalg.norm(model.coef_)))}."
        words += (
            " Cross-validation chooses this penalty."
            if t == best
            else f" Cross-validation chooses λ = {told(chosen.alpha_)}."
        )
        facts = (("λ", alpha), ("cross-validated error", float(chosen.cv_errors_[t])), ("chosen λ", chosen.alpha_))
        scaled = f'u = (X[:, 0] - {middle!r}) / {half!r}\nU = ly.polynomial(u, {degree}, name="u")\n'
        code = scaled + f"model = ly.LinearRegression(alpha={alpha!r}).fit(U, y)"
        return _regression_still(model, words, degree, facts, "u", code, (middle, half))

    series = [{"name": "u" if j == 0 else f"u{_power(j + 1)}", "values": coefs[:, j].tolist()} for j in range(degree)]
    picture = {
        "kind": "series", "title": "Coefficients against λ", "x": "log₁₀ λ", "log": False, "series": series,
        "xs": np.log10(alphas).tolist(),
    }  # fmt: skip
    return Animation(
        chosen, (), "penalty", len(alphas), still, at=at, curves=curves, shade="none", wave=chosen.cv_errors_,
        wave_name="cross-validated error", marks=((best, "chosen"),), picture=picture, notes=tuple(notes),
    )  # fmt: skip


def gradient_descent_animation(x: Array, y: Array, view: Any, name: str, settings: dict[str, Any]) -> Animation:
    """The line after every step, and the path on the contours of the loss; beyond rate 2 it diverges."""
    X = np.column_stack([np.ones_like(x), x])
    with capture_warnings() as notes:
        model = LinearRegression(fit_intercept=False, method="gradient_descent").fit(X, y)
        exact = LinearRegression(fit_intercept=False).fit(X, y)
        rate = settings["rate"] * float(model.history_.step[0])  # history_.step is 1/L
        gram = model.summary_.select(None, False)
        # The start is a place on the path too.
        _, path = gradient_descent(gram, exact.solution_, step=rate, steps=settings["steps"] + 1)
    notes = [note for note in notes if "Gradient descent stopped" not in note]
    places = path.coef[:, :, 0]
    fine = np.asarray((np.abs(places) < _TOP).all(axis=1))
    T = int(np.argmin(fine)) if not fine.all() else len(fine)
    places, losses = places[:T], path.loss[:T]
    at = np.array([view[0], view[1]])
    size = np.sqrt((X**2).sum(axis=0))
    best = exact.coef_
    floor = float(((y - X @ best) ** 2).sum() / 2)

    def still(t: int) -> FrameDetails:
        b, w = (float(v) for v in places[t])
        fact = f"{settings['rate']:g}/L"
        if math.isclose(settings["rate"], 2):
            words = "Rate 2/L is the limit: every step lands as far up the other side, and the loss stays up."
        elif settings["rate"] > 2:
            words = f"Rate {fact} is beyond 2/L: every step overshoots by more than the last, and the loss grows."
        elif settings["rate"] > 1:
            words = f"Rate {fact} overshoots the valley and comes back; below 2/L it still converges."
        else:
            above = told(max(float(losses[t]) - floor, 0.0))
            words = f"Rate {fact}: step {t} of {T - 1}, the loss is {above} above its minimum."
        facts = (("step", t), ("loss", float(losses[t])), ("loss at the minimum", floor))
        code = (
            "from linearly.algorithm.least_squares.gradient_descent import descend\n\n"
            "ones = np.column_stack([np.ones(len(X)), X[:, 0]])\n"
            "exact = ly.LinearRegression(fit_intercept=False, method=\"gram\").fit(ones, y)\n"
            f"_, path = descend(exact.summary_.select(None, False), exact.solution_, step={rate!r}, steps={t + 1})\n"
            f"b, w = path.coef[{t}, :, 0]"
        )  # fmt: skip
        return FrameDetails(Line(b, w), words, facts, (("Intercept", b, None), (name, w, None)), code)

    cosine = float(X[:, 0] @ X[:, 1] / (size[0] * size[1])) if size[1] > 0 else 0.0
    picture = {
        "kind": "contour", "title": "Loss over intercept and slope", "names": ["intercept", "slope"],
        "centre": (best * size).tolist(), "size": size.tolist(), "cosine": cosine, "path": (places * size).tolist(),
    }  # fmt: skip
    curves = places[:, :1] + places[:, 1:] * at
    return Animation(
        model, (), "step", T, still, at=at, curves=curves, shade="none",
        wave=np.log10(np.maximum(losses - floor, 1e-12 * max(losses[0], 1e-300))),
        wave_name="log₁₀ of the loss above its minimum", picture=picture, notes=tuple(notes),
        scene={"exact": [float(best[0] + best[1] * v) for v in at]},
    )  # fmt: skip


class Line:
    """A straight line, judged like any regression."""

    def __init__(self, b: float, w: float) -> None:
        self.b, self.w = b, w

    def predict(self, X: Any) -> Array:
        """b + w x."""
        return np.asarray(self.b + self.w * np.asarray(X)[:, 0])


def bias_variance_animation(points: Any, settings: dict[str, Any]) -> Animation:
    """The same experiment with more and more sets of data: the curves of error fill in."""
    degree, seed = settings["degree"], settings["seed"]
    if settings["truth"] == "points":
        return _bootstrap_film(points, degree, seed)
    truth = TRUTHS[settings["truth"]]
    x = np.linspace(-1.0, 1.0, settings["n"])
    degrees = [d for d in _DEGREES if d < settings["n"] - 2]
    results = [
        bias_variance(x, truth=truth, noise=settings["noise"], degrees=degrees, resamples=k, random_state=seed)
        for k in _REELS
    ]
    draw = np.random.RandomState(seed)
    Y = truth(x)[:, None] + settings["noise"] * draw.standard_normal((len(x), _FITS))
    at = np.linspace(-1.0, 1.0, _PLACES)
    fits, mean = _fits(x, Y, at, degree)
    scene = {
        "truth": truth(at).tolist(), "fits": fits.T.round(5).tolist(), "mean": mean.tolist(),
        "sample": np.column_stack([x, Y[:, 0]]).round(5).tolist(), "view": [-1.12, 1.12, -2.1, 2.1],
    }  # fmt: skip
    code = (
        f"truth = {_TRUTH_CODE[settings['truth']]}\n"
        f"x = np.linspace(-1.0, 1.0, {settings['n']})\n"
        f"result = ly.bias_variance(x, truth=truth, noise={settings['noise']!r}, degrees={degrees!r},\n"
        "                          resamples={k}, random_state={seed})"
    )
    return _complexity_film(results, degree, at, scene, code, seed, "sets of targets", "on fresh targets")


def _bootstrap_film(points: Any, degree: int, seed: int) -> Animation:
    x, y = points[:, 0], points[:, 1]
    if len(np.unique(x)) < 8:
        raise ValueError("Bias and variance of your own points need at least eight different x: add points.")
    most = min(12, len(np.unique(x)) // 3)
    degrees, degree = list(range(most + 1)), min(degree, most)
    reels = (20, 40, 80, 120, 200)
    results = [bias_variance(x, y, degrees=degrees, resamples=k, random_state=seed) for k in reels]
    draw = np.random.RandomState(seed)
    at = np.linspace(x.min(), x.max(), _PLACES)
    fits = []
    for _ in range(_FITS):
        some = draw.randint(len(x), size=len(x))
        if len(np.unique(x[some])) > degree + 1:
            fits.append(_fits(x[some], y[some][:, None], at, degree)[1])
    scene = {
        "truth": None, "fits": np.round(fits, 5).tolist(), "mean": np.mean(fits, axis=0).tolist(),
        "sample": points.tolist(),
    }  # fmt: skip
    code = f"result = ly.bias_variance(X[:, 0], y, degrees={degrees!r}, resamples={{k}}, random_state={{seed}})"
    return _complexity_film(results, degree, at, scene, code, seed, "bootstrap samples", "on rows left out")


def _complexity_film(
    results: list[Any], degree: int, at: Array, scene: Any, code: str, seed: int, what: str, where: str
) -> Animation:
    def still(t: int) -> FrameDetails:
        result = results[t]
        row = next(row for row in result.table if row["degree"] == degree)
        # The error is measured apart, on targets of its own: it comes near the sum and need not be it.
        total = row["noise"] + row["bias2"] + row["variance"]
        words = (
            f"{result.resamples} {what}. At degree {degree} noise {told(row['noise'])} + bias² {told(row['bias2'])} + "
            f"variance {told(row['variance'])} make {told(total)}; measured {where} the expected error is "
            f"{told(row['epe'])}. Degree {result.best} is best."
        )
        named = {"epe": "expected error", "noise": "noise", "bias2": "bias²", "variance": "variance"}
        facts = [(title, float(row[key])) for key, title in named.items()]
        facts += [("training error", float(row["train_error"])), ("best degree", int(result.best))]
        return FrameDetails(
            None, words, tuple(facts), (), code.replace("{k}", str(result.resamples)).replace("{seed}", str(seed))
        )

    tables = [result.table for result in results]
    shown = ("epe", "noise", "bias2", "variance", "train_error")
    picture = {
        "kind": "complexity",
        "title": "Error against degree",
        "degrees": tables[0]["degree"].tolist(),
        "degree": degree,
        "frames": [{name: table[name].tolist() for name in shown} for table in tables],
    }
    marks = tuple((t, str(result.resamples)) for t, result in enumerate(results))
    wave = np.array([table["epe"][list(table["degree"]).index(degree)] for table in tables])
    return Animation(
        results[-1], (), "draw", len(results), still, shade="none", at=at, scene={"experiment": scene},
        picture=picture, wave=wave, wave_name=f"expected error at degree {degree}", marks=marks,
    )  # fmt: skip


def _step(x: Any) -> Any:
    return np.tanh(6 * x)


TRUTHS: dict[str, Callable[[Any], Any]] = {
    "sine": lambda x: np.sin(3.6 * x),
    "step": _step,
    "line": lambda x: 0.9 * x,
    "bump": lambda x: 1.6 * np.exp(-8 * np.square(x)) - 0.5,
}
_TRUTH_CODE = {
    "sine": "lambda x: np.sin(3.6 * x)",
    "step": "lambda x: np.tanh(6 * x)",
    "line": "lambda x: 0.9 * x",
    "bump": "lambda x: 1.6 * np.exp(-8 * np.square(x)) - 0.5",
}


def _fits(x: Array, Y: Array, at: Array, degree: int) -> tuple[Array, Array]:
    """Fitted curves, places × samples, and their mean."""
    if degree == 0:
        found = np.tile(Y.mean(axis=0), (len(at), 1))
    else:
        with capture_warnings():
            model = LinearRegression().fit(polynomial_features(x, degree), Y if Y.shape[1] > 1 else Y[:, 0])
            found = np.asarray(model.predict(polynomial_features(at, degree))).reshape(len(at), -1)
    return found, found.mean(axis=1)


def _regression_still(
    model: Any, words: str, degree: int, facts: Any, name: str, code: str, unit: tuple[float, float] = (0.0, 1.0)
) -> FrameDetails:
    try:
        with capture_warnings():
            table = tidy(model)
        errors = [None if not np.isfinite(e) else float(e) for e in table["std_error"]]
        terms = tuple(
            ("Intercept" if j == 0 else name + ("" if j == 1 else _power(j)), float(value), error)
            for j, (value, error) in enumerate(zip(table["estimate"], errors, strict=True))
        )
    except ValueError:
        terms = ()
    return FrameDetails(Curve(model, degree, name, unit), words, facts, terms, code)


class Curve:
    """A polynomial model judged at plain x; its own is (x − middle) / half."""

    def __init__(self, model: Any, degree: int, name: str, unit: tuple[float, float]) -> None:
        self.model, self.degree, self.name, self.unit = model, degree, name, unit

    def predict(self, X: Any) -> Array:
        """ŷ at the x of each row."""
        middle, half = self.unit
        return np.asarray(self.model.predict(_powers((np.asarray(X)[:, 0] - middle) / half, self.degree, self.name)))


def _explained(model: Any) -> str:
    rows = int(model.summary_.n)
    total = model.training_error_ * rows
    return f"The sum of the {counted(rows, 'square')} is {told(total, 4)}: no other curve of this degree has less."


def _curve(view: Any, degree: int, name: str, predict: Callable[[Any], Any]) -> tuple[Array, Array]:
    at = np.linspace(view[0], view[1], _PLACES if degree > 1 else 2)
    return at, np.asarray(predict(_powers(at, degree, name)))


def _powers(x: Array, degree: int, name: str) -> Any:
    return polynomial_features(x, degree, name=name) if degree > 1 else x[:, None]


def _X(degree: int) -> str:
    return f"ly.polynomial(X[:, 0], {degree})" if degree > 1 else "X"


def _power(j: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(j))
