"""Animate least squares, ridge, gradient descent, and bias and variance: curves y = f(x) through the plane."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linearly.algorithm.elastic_net.path import coefficient_path, grid, largest_alpha
from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
from linearly.algorithm.least_squares.gradient_descent import gradient_descent
from linearly.algorithm.least_squares.polynomial_families import ModelFamily
from linearly.algorithm.least_squares.ridge_cv import RidgePath
from linearly.dataset.features.polynomial import polynomial_features
from linearly.evaluation.bias_variance import bias_variance
from linearly.formatting import pluralize
from linearly.inference.augment import augment
from linearly.inference.tidy import tidy
from linearly.lab.animation import WHEN_AT_REST, Animation, Array, FrameDetails, capture_warnings, format_number
from linearly.models.elastic_net import ElasticNet
from linearly.models.elastic_net_cv import ElasticNetCV
from linearly.models.linear_regression import LinearRegression
from linearly.models.ridge_cv import RidgeCV

_CURVE_POINTS = 2001
_RIDGE_POINTS = 401  # fewer, because there are 61 curves
_EXPERIMENT_POINTS = 241
_N_SAMPLE_FITS = 20  # curves of resampled data that are drawn, one more per frame
_RESAMPLES = (64, 128, 192, 256, 320, 448, 640)  # data sets of the frames after them; each includes the one before
_BOOTSTRAP_RESAMPLES = (40, 80, 120, 200)
_DEGREES = range(13)
_LASSO_PENALTIES = 60
_INFLUENTIAL = 0.5  # Cook's distance from which a point is shown without being selected
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
    words = f"The sum of the {pluralize(len(x), 'square')} is {total}: no other curve of this degree has a smaller one."
    features = f"ly.polynomial_features(X[:, 0], {degree})" if degree > 1 else "X"
    curve = Curve(lambda x: model.predict(_powers(x, degree, name)))
    nodes, weights = interpolation_nodes(at, degree)
    code = f"model = ly.LinearRegression().fit({features}, y)"
    frame = FrameDetails(curve, words, (), _polynomial_terms(model, name), code)
    influence, more = _influence(model, _powers(x, degree, name), y)
    return Animation(
        model, (), "", 1, lambda _: frame, at=at, curves=(weights @ curve.f(nodes))[None], shade="none",
        notes=tuple(notes), line_names={"curves": "least squares"}, scene=influence, more=more,
    )  # fmt: skip


def _influence(model: LinearRegression, X: Any, y: Array) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """Return leverages and Cook's distances, and their plot; nothing if the fit has no residual degrees of freedom."""
    try:
        with capture_warnings():
            table = augment(model, X, y)
    except ValueError:
        return {}, ()
    columns = {key: np.asarray(table[key]) for key in ("leverage", "studentized_residual", "cooks_distance")}
    if not all(np.isfinite(values).all() for values in columns.values()):
        return {}, ()
    cooks = columns["cooks_distance"]
    strongest = int(np.argmax(cooks)) if cooks.max() > _INFLUENTIAL else None
    shown = {key: values.tolist() for key, values in columns.items()}
    picture = {"kind": "influence", "title": "Studentized residual against leverage"}
    return {"influence": {**shown, "strongest": strongest}}, (picture,)


def without_point(x: Array, y: Array, row: int, at: Array, name: str, degree: int) -> dict[str, Any]:
    """Return the least-squares curve without one point, with the point's leverage and Cook's distance in words."""
    kept = np.arange(len(x)) != row
    if len(np.unique(x[kept])) <= degree:
        raise ValueError("Without this point there are too few different x for the curve. Add points.")
    with capture_warnings():
        full = LinearRegression().fit(_powers(x, degree, name), y)
        table = augment(full, _powers(x, degree, name), y)
        model = LinearRegression().fit(_powers(x[kept], degree, name), y[kept])
        nodes, weights = interpolation_nodes(at, degree)
        curve = weights @ model.predict(_powers(nodes, degree, name))
    leverage, cooks = float(table["leverage"][row]), float(table["cooks_distance"][row])
    words = f"This point has leverage {format_number(leverage)} and Cook's distance {format_number(cooks)}."
    if degree == 1:
        slopes = format_number(float(full.coef_[0])), format_number(float(model.coef_[0]))
        words += f" Without it the slope is {slopes[1]} instead of {slopes[0]}."
    return {"curve": curve.tolist(), "leverage": leverage, "cooks_distance": cooks, "words": words}


def degree_errors(sets: dict[str, tuple[Array, Array]], degree: int) -> dict[str, Any]:
    """Return the plot of the RMSE on each set of points against the degree of a curve fitted to the first."""
    x, y = next(iter(sets.values()))
    degrees = [d for d in range(1, 13) if d < len(np.unique(x)) - 1]
    with capture_warnings():
        models = [LinearRegression().fit(_powers(x, d, "x"), y) for d in degrees]
        series = [
            {"name": name, "values": [
                float(np.sqrt(((model.predict(_powers(u, d, "x")) - v) ** 2).mean()))
                for d, model in zip(degrees, models, strict=True)
            ]}
            for name, (u, v) in sets.items()
        ]  # fmt: skip
    return {
        "kind": "series", "title": "RMSE on training and test points", "x": "degree", "log": False, "series": series,
        "xs": degrees, "at": degree, "from_zero": True,
    }  # fmt: skip


def lasso_animation(
    x: Array, y: Array, view: Any, name: str, settings: dict[str, Any], opening: int | None = None
) -> Animation:
    """Return one frame per penalty of the lasso, from the largest to the smallest, and the knots of its path.

    The animation opens with the penalty that cross-validation chooses. While a point is dragged, `opening` is given
    instead: cross-validation and the knots take most of the time and wait until the point rests.
    """
    degree = settings["degree"]
    low, high = float(x.min()), float(x.max())
    middle, half = (low + high) / 2, (high - low) / 2
    at = np.linspace(view[0], view[1], _RIDGE_POINTS)

    def features(x: Array) -> Any:
        return _powers((x - middle) / half, degree, "u")

    with capture_warnings() as notes:
        U = np.asarray(features(x), dtype=np.float64)
        model: Any
        if opening is None:
            model = ElasticNetCV(alphas=_LASSO_PENALTIES, cv=min(5, len(x))).fit(U, y)
            alphas, coefs = np.asarray(model.alphas_), np.asarray(model.path_)
        else:
            model = ElasticNet().fit(U, y)
            alphas, coefs = lasso_path(model, _LASSO_PENALTIES)
    intercepts = y.mean() - coefs @ U.mean(axis=0)
    nodes, weights = interpolation_nodes(at, degree)
    curves = (intercepts[:, None] + coefs @ np.asarray(features(nodes), dtype=np.float64).T) @ weights.T
    best = int(np.argmin(np.abs(np.log(alphas) - math.log(model.alpha_)))) if opening is None else opening

    def predict(t: int, x: Array) -> Array:
        return np.asarray(intercepts[t] + np.asarray(features(x), dtype=np.float64) @ coefs[t])

    def details(t: int) -> FrameDetails:
        alpha, used = float(alphas[t]), int(np.count_nonzero(coefs[t]))
        choice = f"runs {WHEN_AT_REST}"
        error: float | str = WHEN_AT_REST
        if opening is None:
            choice = "chooses this penalty" if t == best else f"chooses λ = {format_number(model.alpha_)}"
            error = float(model.cv_errors_[t])
        words = (
            f"λ = {format_number(alpha)}: {used} of {pluralize(degree, 'coefficient')} {'is' if used == 1 else 'are'} "
            f"not 0. Cross-validation {choice}. u = ({name} − {format_number(middle)}) / {format_number(half)} "
            f"is {name} scaled to −1…1."
        )
        facts = (("λ", alpha), ("cross-validated error", error), ("not 0", used))
        code = (
            f"u = (X[:, 0] - {middle!r}) / {half!r}\n"
            f'U = ly.polynomial_features(u, {degree}, name="u")\n'
            f"model = ly.ElasticNet(alpha={alpha!r}, l1_ratio=1.0).fit(U, y)"
        )
        terms = tuple((_power("u", j), float(v), None) for j, v in enumerate([intercepts[t], *coefs[t]]))
        return FrameDetails(Curve(partial(predict, t)), words, facts, terms, code)

    shown = Animation(
        model, (), "penalty", len(alphas), details, at=at, curves=curves, shade="none", notes=tuple(notes),
        wave_name=f"cross-validated error: {WHEN_AT_REST}", opening=best, line_names={"curves": "lasso"},
        predict=predict,
    )  # fmt: skip
    if opening is not None:
        return shown
    knots = model.knots_
    assert knots is not None
    series = [{"name": _power("u", j + 1), "values": coefs[:, j].tolist()} for j in range(degree)]
    inside = [float(math.log10(alpha)) for alpha in knots.alphas if alphas[-1] <= alpha <= alphas[0]]
    picture = {
        "kind": "series", "title": f"Lasso path: coefficients against λ, {pluralize(len(inside), 'knot')} dotted",
        "x": "log₁₀ λ", "log": False, "series": series, "xs": np.log10(alphas).tolist(), "knots": inside,
    }  # fmt: skip
    marks = ((best, "chosen"),)
    return replace(shown, wave=model.cv_errors_, wave_name="cross-validated error", marks=marks, picture=picture)


def lasso_path(model: ElasticNet, n: int) -> tuple[Array, Array]:
    """Return n penalties from the largest of a fitted lasso, and the coefficients for each of them."""
    loss = QuadraticLoss.of(model.summary_, True)
    penalty = replace(model.penalty_, alpha=1.0)
    alphas = grid(largest_alpha(loss, penalty) or 1.0, n)
    coefs, _ = loss.coefficients(coefficient_path(loss, penalty, alphas))
    return alphas, coefs[:, :, 0].T


def ridge_animation(x: Array, y: Array, view: Any, name: str, settings: dict[str, Any]) -> Animation:
    """Return one frame per penalty, from the largest to the smallest; cross-validation's choice is marked."""
    degree = settings["degree"]
    # A penalty depends on the units, so x is scaled by the range of the points, not by the view of somebody's window.
    low, high = float(x.min()), float(x.max())
    middle, half = (low + high) / 2, (high - low) / 2
    alphas = np.logspace(3, -6, 61)
    at = np.linspace(view[0], view[1], _RIDGE_POINTS)

    def features(x: Array) -> Any:
        return _powers((x - middle) / half, degree, "u")

    with capture_warnings() as notes:
        X = features(x)
        chosen = RidgeCV(alphas, cv=min(5, len(x))).fit(X, y)
    path = RidgePath.of(chosen.summary_, True)
    coefs = path.coefficients(alphas)[:, :, 0].T
    nodes, weights = interpolation_nodes(at, degree)
    curves = (path.y_mean + coefs @ (np.asarray(features(nodes), dtype=np.float64) - path.mean).T) @ weights.T
    best = int(np.argmin(np.abs(np.log(alphas) - math.log(chosen.alpha_))))

    def predict(t: int, x: Array) -> Array:
        return np.asarray(path.y_mean + (np.asarray(features(x), dtype=np.float64) - path.mean) @ coefs[t])

    def details(t: int) -> FrameDetails:
        alpha = float(alphas[t])
        with capture_warnings():
            model = LinearRegression(alpha=alpha).fit(X, y)
        length = format_number(float(np.linalg.norm(model.coef_)))
        choice = "this penalty" if t == best else f"λ = {format_number(chosen.alpha_)}"
        words = (
            f"λ = {format_number(alpha)}: the coefficients have length {length}. Cross-validation chooses {choice}. "
            f"u = ({name} − {format_number(middle)}) / {format_number(half)} is {name} scaled to −1…1, so that one "
            "penalty suits all powers."
        )
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
        wave_name="cross-validated error", marks=((best, "chosen"),), picture=picture, notes=tuple(notes), opening=best,
        line_names={"curves": "ridge"}, predict=predict,
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
            words = "Rate 2/L is the limit: every step overshoots by as much as the last, and the loss does not fall."
        elif settings["rate"] > 2:
            words = f"Rate {multiple} is beyond 2/L: every step overshoots by more than the last, and the loss grows."
        elif settings["rate"] > 1:
            words = f"Rate {multiple} overshoots the minimum, but below 2/L it still converges."
        else:
            excess = float(losses[t]) - floor
            above = format_number(excess if excess > 1e-12 * losses[0] else 0.0)  # the rest is rounding
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
        line_names={"curves": "now", "exact": "least squares"},
        predict=lambda t, x: places[t, 0] + places[t, 1] * x,
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
    at = np.linspace(-1.0, 1.0, _EXPERIMENT_POINTS)
    setup = f"truth = lambda x: {formula}\nx = np.linspace(-1.0, 1.0, {n})\n"
    experiment = _Experiment(
        degree=degree, at=at, fits=_fit_polynomials(x, Y, at, degree).T, samples=[np.column_stack([x, y]) for y in Y.T],
        truth=truth(at), view=[-1.12, 1.12, -2.1, 2.1], what="data set",
        errors=_errors_of_few(x, Y, truth(x), noise, degrees), degrees=degrees,
        few_code=(
            f"{setup}draw = np.random.RandomState({seed})\n"
            f"Y = truth(x)[:, None] + {noise!r} * draw.standard_normal(({n}, {_N_SAMPLE_FITS}))\n"
            + ("fits = [y.mean() for y in Y[:, :{k}].T]" if degree == 0 else (
                "fits = ly.LinearRegression().fit(ly.polynomial_features(x, {degree}), Y[:, :{k}])"))
        ),
    )  # fmt: skip
    code = (
        f"{setup}result = ly.bias_variance(x, truth=truth, noise={noise!r}, degrees={degrees!r},\n"
        f"                          resamples={{k}}, random_state={seed})"
    )
    return _error_animation(experiment, results, code, "sets of targets", "on fresh targets")


def _errors_of_few(x: Array, Y: Array, mean: Array, noise: float, degrees: list[int]) -> list[Any]:
    """Return the parts of the error estimated from the first 1, 2, … columns of Y, as `bias_variance` does."""
    family = ModelFamily.of(x, degrees, None, None)
    fitted = np.array([family.basis @ coef + intercept for coef, intercept in family.fits(family.gram(Y))])
    found: list[Any] = [None]
    for k in range(2, Y.shape[1] + 1):
        off = fitted[:, :, :k] - mean[:, None]
        variance = off.var(axis=2, ddof=1)
        bias2 = (off.mean(axis=2) ** 2 - variance / k).mean(axis=1)
        training = ((Y[:, :k] - fitted[:, :, :k]) ** 2).mean(axis=(1, 2))
        parts = {"noise": np.full(len(degrees), noise**2), "bias2": bias2, "variance": variance.mean(axis=1)}
        found.append(parts | {"epe": sum(parts.values()), "train_error": training})
    return found


def _bootstrap_animation(points: Any, degree: int, seed: int) -> Animation:
    x, y = points[:, 0], points[:, 1]
    n_distinct = len(np.unique(x))
    if n_distinct < 8:
        raise ValueError("Bias and variance of your own points need at least eight different x. Add points.")
    max_degree = min(12, n_distinct // 3)
    degrees, degree = list(range(max_degree + 1)), min(degree, max_degree)
    results = [bias_variance(x, y, degrees=degrees, resamples=k, random_state=seed) for k in _BOOTSTRAP_RESAMPLES]
    draw = np.random.RandomState(seed)
    at = np.linspace(x.min(), x.max(), _EXPERIMENT_POINTS)
    fits, samples = [], []
    for _ in range(_N_SAMPLE_FITS):
        some = draw.randint(len(x), size=len(x))
        if len(np.unique(x[some])) > degree + 1:
            fits.append(_fit_polynomials(x[some], y[some][:, None], at, degree)[:, 0])
            samples.append(points[some])
    experiment = _Experiment(
        degree=degree, at=at, fits=np.array(fits), samples=samples, truth=None, view=None, what="bootstrap sample",
        errors=[None] * len(fits), degrees=degrees,
        few_code=(
            f"draw = np.random.RandomState({seed})\n"
            "some = [draw.randint(len(X), size=len(X)) for _ in range({k})]\n"
            + ("fits = [y[rows].mean() for rows in some]" if degree == 0 else (
                "U = np.asarray(ly.polynomial_features(X[:, 0], {degree}))\n"
                "fits = [ly.LinearRegression().fit(U[rows], y[rows]) for rows in some]"))
        ),
    )  # fmt: skip
    code = f"result = ly.bias_variance(X[:, 0], y, degrees={degrees!r}, resamples={{k}}, random_state={seed})"
    return _error_animation(experiment, results, code, "bootstrap samples", "on rows left out")


@dataclass(frozen=True, eq=False)
class _Experiment:
    """Fits to data drawn again and again.

    fits        curves × places of `at`
    samples     the points of each fit
    errors      parts of the error by degree from the first 1, 2, … fits; None where there are too few
    few_code    Python that computes the first {k} fits
    """

    degree: int
    at: Array
    fits: Array
    samples: list[Array]
    truth: Array | None
    view: list[float] | None
    what: str
    errors: list[Any]
    degrees: list[int]
    few_code: str

    def scene(self, n_frames: int) -> dict[str, Any]:
        """Return what is drawn: frame t shows the first t + 1 fits, or all."""
        count = len(self.fits)
        means = np.cumsum(self.fits, axis=0) / np.arange(1, count + 1)[:, None]
        return {
            "truth": None if self.truth is None else self.truth.round(5).tolist(),
            "fits": self.fits.round(5).tolist(), "means": means.round(5).tolist(),
            "samples": [sample.round(5).tolist() for sample in self.samples],
            "drawn": [min(t + 1, count) for t in range(n_frames)], "view": self.view,
        }  # fmt: skip

    def details(self, k: int) -> FrameDetails:
        """Return the details of a frame with few fits."""
        shown = pluralize(k, self.what)
        if k == 1:
            words = f"One {self.what}, one fit of degree {self.degree}. Another {self.what} would give another curve."
        else:
            words = f"{shown}, {k} fits of degree {self.degree}. Their spread about their mean is the variance" + (
                "; the distance between the mean and the truth is the bias." if self.truth is not None else "."
            )
        facts: list[tuple[str, Any]] = [(f"{self.what}s", k)]
        if self.errors[k - 1] is not None:
            row = self.degrees.index(self.degree)
            facts += [(_ERROR_TITLES[name], float(self.errors[k - 1][name][row])) for name in ("bias2", "variance")]
        code = self.few_code.replace("{k}", str(k)).replace("{degree}", str(self.degree))
        return FrameDetails(None, words, tuple(facts), (), code)


_ERROR_TITLES = {
    "epe": "expected error", "noise": "noise", "bias2": "bias²", "variance": "variance",
    "train_error": "training error",
}  # fmt: skip


def _error_animation(experiment: _Experiment, results: Sequence[Any], code: str, samples: str, where: str) -> Animation:
    """Return one frame per fit drawn, then one per result of `bias_variance`, whose curves of error become smoother."""
    tables, degree, few = [result.table for result in results], experiment.degree, len(experiment.fits)
    row = experiment.degrees.index(degree)

    def details(t: int) -> FrameDetails:
        if t < few:
            return experiment.details(t + 1)
        result = results[t - few]
        values = {name: float(value) for name, value in result.table.row(row).items()}
        # The error is measured on targets of its own, so it is close to the sum of its parts but not equal to it.
        total = values["noise"] + values["bias2"] + values["variance"]
        shown = {name: format_number(value) for name, value in values.items()}
        words = (
            f"{result.resamples} {samples}. At degree {degree} noise {shown['noise']} + bias² {shown['bias2']} + "
            f"variance {shown['variance']} add up to {format_number(total)}. Measured {where}, the expected "
            f"error is {shown['epe']}. Degree {result.best} is best."
        )
        facts = (*((title, values[name]) for name, title in _ERROR_TITLES.items()), ("best degree", int(result.best)))
        return FrameDetails(None, words, facts, (), code.replace("{k}", str(result.resamples)))

    frames = [*experiment.errors, *({name: table[name] for name in _ERROR_TITLES} for table in tables)]
    picture = {
        "kind": "complexity",
        "title": "Error against degree",
        "degrees": experiment.degrees,
        "degree": degree,
        "frames": [part and {name: values.tolist() for name, values in part.items()} for part in frames],
    }
    count = few + len(results)
    first = next(part for part in frames if part is not None)
    return Animation(
        results[-1], (), "draw", count, details, shade="none", at=experiment.at,
        scene={"experiment": experiment.scene(count)}, picture=picture,
        wave=np.array([(part or first)["epe"][row] for part in frames]),
        wave_name=f"expected error at degree {degree}",
        marks=tuple((few + t, str(result.resamples)) for t, result in enumerate(results)),
    )  # fmt: skip


def _fit_polynomials(x: Array, Y: Array, at: Array, degree: int) -> Array:
    """Return fitted curves, places × samples."""
    if degree == 0:
        return np.tile(Y.mean(axis=0), (len(at), 1))
    with capture_warnings():
        model = LinearRegression().fit(polynomial_features(x, degree), Y if Y.shape[1] > 1 else Y[:, 0])
        return np.asarray(model.predict(polynomial_features(at, degree))).reshape(len(at), -1)


def interpolation_nodes(at: Array, degree: int) -> tuple[Array, Array]:
    """Return places x and weights W such that ``W @ f(x)`` is f at `at`, for every polynomial f of this degree.

    The places are Chebyshev points and W is barycentric interpolation (Berrut & Trefethen 2004), so that a model
    predicts 13 values instead of 2,001.
    """
    k = np.arange(degree + 1)
    nodes = (at[0] + at[-1]) / 2 + (at[-1] - at[0]) / 2 * np.cos(np.pi * (2 * k + 1) / (2 * degree + 2))
    signs = (-1.0) ** k * np.sin(np.pi * (2 * k + 1) / (2 * degree + 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = signs / (at[:, None] - nodes)
        W = terms / terms.sum(axis=1, keepdims=True)
    hit = at[:, None] == nodes
    return nodes, np.where(hit.any(axis=1, keepdims=True), hit.astype(np.float64), W)


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
