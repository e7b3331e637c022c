"""Every public plot function draws marks that are seen in a PNG, and the SVG of a page stays small."""

import io
import warnings

import matplotlib
import numpy as np
import pytest
from scipy import ndimage
from sklearn.exceptions import ConvergenceWarning

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

import linearly as ly
from linearly.findings.evaluation import evaluate
from linearly.plots import style as look
from linearly.plots.regression_plots import draw_residuals
from linearly.report import svg

PLOTS = tuple(name for name in ly.__all__ if name.startswith("plot_"))
RESIDUAL_PLOTS = ("plot_leverage", "plot_qq", "plot_residuals", "plot_scale_location")
LEAST = 12  # pixels of a mark


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def _classes():
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b"], 40)
    return rng.normal(size=(80, 2)) + np.where(y == "a", 0.0, 1.5)[:, None], y


def _line(n=9):
    """Rows whose residuals lie far apart, whatever they are drawn against."""
    x = np.arange(n, dtype=float)
    residual = np.array([3.0, -7.0, 5.0, -2.0, 8.0, -9.0, 4.5, -4.0, 1.5])[:n]
    return x[:, None] ** 1.2, 10 * x + residual


def _drawn(name):
    plot = getattr(ly, name)
    if name in (*RESIDUAL_PLOTS, "plot_effect"):
        X, y = _line()
        return plot(ly.LinearRegression().fit(X, y), X, y)
    if name == "plot_coefficients":
        return plot(ly.LinearRegression().fit(*_line()))
    X, y = _classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if name == "plot_mistakes":
            return plot(ly.Perceptron(5).fit(X, y))
        if name == "plot_pocket_errors":
            return plot(ly.PocketPerceptron(5).fit(X, y))
    if name in ("plot_regions", "plot_boundary", "plot_gaussians", "plot_probability"):
        return plot(ly.LinearDiscriminantAnalysis().fit(X, y), X, y)
    return plot(evaluate(ly.LogisticRegression().fit(X, y), X, y))


def _pixels(figure):
    """The picture that a PNG holds: height × width × RGB in 0 … 1."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    stream.seek(0)
    return plt.imread(stream)[:, :, :3]


def _marks(ax):
    """What shows data: lines, patches, collections and images that hold something."""
    lines = [line for line in ax.lines if len(line.get_xdata())]
    return [*lines, *ax.patches, *ax.collections, *ax.images]


@pytest.mark.parametrize("name", PLOTS)
def test_a_png_shows_every_mark_that_a_plot_function_draws(name):
    ax = _drawn(name)
    figure = ax.get_figure()
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    whole, marks = _pixels(figure), _marks(ax)
    assert marks
    for mark in marks:
        mark.set_visible(False)
        without = np.any(_pixels(figure) != whole, axis=2).sum()
        mark.set_visible(True)
        assert without >= LEAST, f"{mark} takes {without} pixels"
    for mark in marks:
        mark.set_visible(False)
    assert np.any(_pixels(figure) != whole, axis=2).sum() >= 20 * LEAST


@pytest.mark.parametrize("name", RESIDUAL_PLOTS)
def test_a_png_of_a_residual_plot_has_a_blue_dot_for_each_row(name):
    ax = _drawn(name)
    if name == "plot_leverage":  # rings of the largest rows would join the dots inside them
        for line in ax.lines[-3:]:
            line.remove()
    figure = ax.get_figure()
    # 65 % of the colour on white paper.
    blue = 1 - 0.65 * (1 - np.array(to_rgb(look.BLUE)))
    near = np.abs(_pixels(figure) - blue).max(axis=2) < 0.02
    _, found = ndimage.label(near)
    assert found == len(_line()[1])


def test_the_svg_of_a_page_takes_twenty_bytes_a_dot():
    rng = np.random.default_rng(0)

    def bytes_of(n):
        with svg.drawing():
            ax = draw_residuals(None, *rng.normal(size=(2, n)))
            return len(svg.inline(ax.get_figure(), "r", "title", "text"))

    assert bytes_of(1500) - bytes_of(100) < 20 * 1400
    assert bytes_of(50_000) < 5_000 * 20 + 10_000  # of more rows, 5000 are drawn


@pytest.mark.parametrize("name", PLOTS)
def test_legends_and_titles_stay_clear_of_the_data(name):
    ax = _drawn(name)
    figure = ax.get_figure()
    figure.draw_without_rendering()
    axes = ax.get_window_extent()
    legend = ax.get_legend()
    if legend is not None:
        box = legend.get_window_extent()
        assert box.y1 <= axes.y0 or box.x0 >= axes.x1
    right = ax._left_title.get_window_extent().x1
    assert right <= figure.bbox.x1 + 1
