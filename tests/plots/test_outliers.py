"""Axes that are cut at the other rows."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import linearly as ly
from linearly.plots.outliers import limits
from linearly.plots.regression_plots import draw_residuals


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def _with_outlier():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 10, 80), rng.normal(size=80)
    x[5], y[5] = 60.0, 900.0
    return x[:, None], y


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("draw", ["normal", "uniform", "standard_t"])
def test_ordinary_rows_are_not_cut(seed, draw):
    rng = np.random.default_rng(seed)
    values = rng.standard_t(5, size=300) if draw == "standard_t" else getattr(rng, draw)(size=300)
    assert limits(values) is None


def test_many_far_rows_are_a_group_and_stay():
    assert limits(np.r_[np.linspace(0, 1, 90), np.linspace(1000, 1001, 10)]) is None


@pytest.mark.parametrize("name", ["plot_residuals", "plot_scale_location", "plot_leverage", "plot_effect"])
def test_one_row_does_not_flatten_the_picture_and_is_named(name):
    X, y = _with_outlier()
    ax = getattr(ly, name)(ly.LinearRegression().fit(X, y), X, y)
    ax.get_figure().draw_without_rendering()
    dots = next(line for line in ax.lines if line.get_linestyle() == "None" and len(line.get_xdata()) == 80)
    inside = ax.transAxes.inverted().transform(ax.transData.transform(dots.get_xydata()))
    seen = ((inside >= 0) & (inside <= 1)).all(axis=1)
    assert not seen[5]
    assert seen.sum() >= 78
    spread = np.ptp(inside[seen], axis=0)
    assert spread.max() > 0.6
    assert any("row 5, off the scale" in text.get_text() for text in ax.texts)


def test_names_of_rows_may_be_lines_of_a_file():
    ax = draw_residuals(
        None, np.r_[np.arange(20.0), 900.0], np.r_[np.sin(np.arange(20.0)), 0.5], [f"line {i}" for i in range(21)]
    )
    assert any("line 20, off the scale" in text.get_text() for text in ax.texts)
