"""Plots of residuals show what `augment` returns, and their titles say what is wrong."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from linearly.inference.augment import augment
from linearly.models.linear_regression import LinearRegression
from linearly.plots.regression_plots import (
    draw_leverage,
    draw_qq,
    draw_scale_location,
    plot_leverage,
    plot_qq,
    plot_residuals,
    plot_scale_location,
)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def said(ax):
    """The title, whatever its line breaks."""
    return " ".join(ax.get_title(loc="left").split())


def dots(ax):
    """The points of the picture, as they were drawn."""
    (cloud,) = [line for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata()) > 1]
    return cloud.get_xydata()


def straight(bent=0.0, uneven=0.0):
    rng = np.random.default_rng(7)
    x = rng.uniform(1, 3, size=200)
    y = 2 * x + bent * (x - 2) ** 2 + (1 + uneven * (x - 1)) * rng.normal(size=200)
    return x[:, None], y


def test_residual_plots_draw_the_columns_of_augment():
    X, y = straight()
    model = LinearRegression().fit(X, y)
    table = augment(model, X, y)
    np.testing.assert_allclose(dots(plot_residuals(model, X, y)), np.c_[table["fitted"], table["residual"]])
    size = np.sqrt(np.abs(table["standardized_residual"]))
    np.testing.assert_allclose(dots(plot_scale_location(model, X, y)), np.c_[table["fitted"], size])
    np.testing.assert_allclose(dots(plot_qq(model, X, y))[:, 1], np.sort(table["standardized_residual"]))
    pairs = np.c_[table["leverage"], table["standardized_residual"]]
    np.testing.assert_allclose(dots(plot_leverage(model, X, y)), pairs)


def test_residual_plots_name_a_violation_only_if_there_is_one():
    X, y = straight()
    model = LinearRegression().fit(X, y)
    for plot, message in (
        (plot_residuals, "No evidence of a curve"),
        (plot_qq, "Close to the line"),
        (plot_scale_location, "No clear change of the spread"),
        (plot_leverage, "No row has a large influence"),
    ):
        assert message in said(plot(model, X, y))
    X, y = straight(bent=4.0)
    assert "The residuals follow a curve" in said(plot_residuals(LinearRegression().fit(X, y), X, y))
    X, y = straight(uneven=4.0)
    assert "The spread grows" in said(plot_scale_location(LinearRegression().fit(X, y), X, y))
    y = y + np.random.default_rng(1).exponential(30, size=200)
    assert "are skewed" in said(plot_qq(LinearRegression().fit(X, y), X, y))
    X[5], y[5] = 20.0, -100.0
    ax = plot_leverage(LinearRegression().fit(X, y), X, y)
    assert "1 row has a large influence" in said(ax)
    assert any(text.get_text() in ("5", "row 5, off the scale") for text in ax.texts)


def test_draw_qq_outliers_at_both_ends_are_heavy_tails():
    values = np.sort(np.r_[np.random.default_rng(0).normal(size=150), 30.0, -70.0])
    ax = draw_qq(None, values / values.std())
    assert "have heavy tails" in ax.get_title(loc="left")
    leaning = np.random.default_rng(0).exponential(size=150) - 1
    assert "are skewed" in draw_qq(None, leaning).get_title(loc="left")


def test_draw_scale_location_title_agrees_with_the_test():
    rng = np.random.default_rng(0)
    fitted = np.linspace(-1, 1, 200)
    residual = rng.normal(size=200) * (2 - fitted)
    assert "The spread falls" in draw_scale_location(None, fitted, residual, ("Breusch-Pagan", 0.01)).get_title("left")
    message = draw_scale_location(None, fitted, residual, ("Breusch-Pagan", 0.27)).get_title("left")
    assert " ".join(message.split()) == "The spread seems to fall, but Breusch-Pagan finds no change"


@pytest.mark.parametrize("seed", range(5))
def test_draw_leverage_numbers_do_not_cover_each_other(seed):
    leverage, residual, cooks = np.full(20, 0.02), np.zeros(20), np.zeros(20)
    leverage[:3] = 0.1 + 0.002 * np.random.default_rng(seed).normal(size=3)
    residual[:3], cooks[:3] = [2.0, 2.1, 1.95], [0.3, 0.2, 0.1]
    ax = draw_leverage(None, leverage, residual, cooks, np.arange(380, 400), 3)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().startswith("38")]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_draw_leverage_numbers_do_not_cover_rings():
    leverage, residual, cooks = np.full(20, 0.02), np.zeros(20), np.zeros(20)
    leverage[:2], residual[:2], cooks[:2] = [0.0336, 0.0365], [-3.17, -2.9], [0.03, 0.02]
    leverage[2] = 0.064
    ax = draw_leverage(None, leverage, residual, cooks, np.arange(380, 400), 3)
    ax.figure.draw_without_rendering()
    centres = ax.transData.transform(np.column_stack([leverage[:2], residual[:2]]))
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text() in ("380", "381")]
    assert not any(box.contains(*centre) for box in boxes for centre in centres)


def test_contours_that_meet_at_a_leverage_of_one_have_names_apart():
    x = np.array([-1.3, 0.35, 0.33, 0.82, 0.9])
    y = np.array([-5.0, 0.0, 3.0, 4.3, 3.1])
    ax = plot_leverage(LinearRegression().fit(x[:, None], y), x[:, None], y)
    ax.figure.canvas.draw()
    half, one = (text.get_window_extent() for text in ax.texts if text.get_text() in (" 0.5", " 1"))
    assert not half.overlaps(one)
