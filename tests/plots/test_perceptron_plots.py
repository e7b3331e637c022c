"""The pictures show what they say, on axes given or made, and say what they need."""

import sys
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from linearly.inference.tidy import augment
from linearly.models.averaged_perceptron import AveragedPerceptron
from linearly.models.batch_perceptron import BatchPerceptron
from linearly.models.linear_regression import LinearRegression
from linearly.models.perceptron import Perceptron
from linearly.models.pocket_perceptron import PocketPerceptron
from linearly.models.voted_perceptron import VotedPerceptron
from linearly.plots.perceptron_plots import plot_boundary, plot_mistakes, plot_pocket_errors
from linearly.plots.regression_plots import plot_leverage, plot_qq, plot_residuals, plot_scale_location

FAMILY = (Perceptron, AveragedPerceptron, VotedPerceptron, BatchPerceptron, PocketPerceptron)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def blobs(K=2, noise=1.0):
    rng = np.random.default_rng(1)
    y = rng.integers(0, K, 120)
    centres = np.array([[0.0, 0.0], [3.0, 1.0], [0.0, 4.0]])
    return centres[y] + noise * rng.normal(size=(120, 2)), np.array(["a", "b", "c"])[y]


def said(ax):
    """The title, whatever its line breaks."""
    return " ".join(ax.get_title(loc="left").split())


def fitted(Model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Model(50).fit(X, y)


@pytest.mark.parametrize("Model", FAMILY)
@pytest.mark.parametrize("K", [2, 3])
def test_the_boundary_rings_what_is_wrong(Model, K):
    X, y = blobs(K)
    model = fitted(Model, X, y)
    _, ax = plt.subplots()
    assert plot_boundary(model, X, y, ax) is ax
    wrong = int(np.sum(model.predict(X) != y))
    assert said(ax) == f"{Model.__name__}: {wrong} of 120 rows on the wrong side"
    drawn = [len(points.get_offsets()) for points in ax.collections if points.get_label() != "wrong side"]
    rings = [points for points in ax.collections if points.get_label() == "wrong side"]
    assert sum(drawn[-K:]) == 120
    assert len(rings[0].get_offsets()) == wrong
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*"abc"[:K], "wrong side"]
    assert ax.get_xlabel() == "x0"


def test_the_boundary_of_a_data_frame_has_its_names():
    X, y = blobs(noise=0.1)
    frame = pd.DataFrame(X, columns=["density", "symmetry"])
    ax = plot_boundary(Perceptron().fit(frame, y), frame, y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("density", "symmetry")
    assert said(ax) == "Perceptron: none of 120 rows on the wrong side"
    with pytest.raises(ValueError, match=r"same order|names"):
        plot_boundary(Perceptron().fit(frame, y), frame[["symmetry", "density"]], y)


def test_the_boundary_of_an_arrow_table_has_its_names():
    X, y = blobs(noise=0.1)
    table = pa.table({"density": X[:, 0], "symmetry": X[:, 1]})
    ax = plot_boundary(Perceptron().fit(table, y), table, y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("density", "symmetry")


def test_mistakes_say_whether_they_ended():
    X, y = blobs(noise=0.1)
    model = Perceptron().fit(X, y)
    ax = plot_mistakes(model)
    assert said(ax) == f"Perceptron: no mistakes left after {model.n_passes_} passes"
    assert ax.lines[0].get_ydata().tolist() == model.mistakes_per_pass_
    X, y = blobs()
    model = fitted(Perceptron, X, y)
    last = model.mistakes_per_pass_[-1]
    assert said(plot_mistakes(model)) == f"Perceptron: {last} mistakes in the last of 50 passes"


def test_the_pocket_never_rises():
    X, y = blobs()
    model = PocketPerceptron(100).fit(X, y)
    ax = plot_pocket_errors(model)
    every, pocket = (line.get_ydata() for line in ax.lines[:2])
    assert np.array_equal(every, model.error_history_)
    assert (np.diff(pocket) <= 0).all()
    wrong = round(120 * model.training_error_)
    assert said(ax) == f"PocketPerceptron: {wrong} errors in the pocket, first after update {model.best_update_}"


def test_what_cannot_be_drawn_is_said():
    X, y = blobs()
    model = AveragedPerceptron().fit(X, y)
    with pytest.raises(ValueError, match="two features; X has 1 features"):
        plot_boundary(model, X[:, :1], y)
    with pytest.raises(ValueError, match="120 rows, y has 119 labels"):
        plot_boundary(model, X, y[:-1])
    with pytest.raises(ValueError, match="AveragedPerceptron has no pocket"):
        plot_pocket_errors(model)
    for draw in (plot_mistakes, plot_pocket_errors):
        with pytest.raises(NotFittedError):
            draw(PocketPerceptron())


def test_missing_matplotlib_is_named(monkeypatch):
    X, y = blobs()
    model = AveragedPerceptron().fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'linearly\[cli\]'"):
        plot_mistakes(model)


# --- regression -----------------------------------------------------------------------------------


def dots(ax):
    """The points of the picture, as they were drawn."""
    (cloud,) = [line for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata()) > 1]
    return cloud.get_xydata()


def straight(bent=0.0, uneven=0.0):
    rng = np.random.default_rng(7)
    x = rng.uniform(1, 3, size=200)
    y = 2 * x + bent * (x - 2) ** 2 + (1 + uneven * (x - 1)) * rng.normal(size=200)
    return x[:, None], y


def test_residual_pictures_show_what_augment_says():
    X, y = straight()
    model = LinearRegression().fit(X, y)
    table = augment(model, X, y)
    np.testing.assert_allclose(dots(plot_residuals(model, X, y)), np.c_[table["fitted"], table["residual"]])
    size = np.sqrt(np.abs(table["standardized_residual"]))
    np.testing.assert_allclose(dots(plot_scale_location(model, X, y)), np.c_[table["fitted"], size])
    np.testing.assert_allclose(dots(plot_qq(model, X, y))[:, 1], np.sort(table["standardized_residual"]))
    pairs = np.c_[table["leverage"], table["standardized_residual"]]
    np.testing.assert_allclose(dots(plot_leverage(model, X, y)), pairs)


def test_residual_pictures_say_what_is_wrong_and_only_then():
    X, y = straight()
    model = LinearRegression().fit(X, y)
    for plot, message in (
        (plot_residuals, "No clear bend"),
        (plot_qq, "Close to the line"),
        (plot_scale_location, "No clear change of the spread"),
        (plot_leverage, "No row moves the fit"),
    ):
        assert message in said(plot(model, X, y))
    X, y = straight(bent=4.0)
    assert "bend up at both ends" in said(plot_residuals(LinearRegression().fit(X, y), X, y))
    X, y = straight(uneven=4.0)
    assert "The spread grows" in said(plot_scale_location(LinearRegression().fit(X, y), X, y))
    y = y + np.random.default_rng(1).exponential(30, size=200)
    assert "lean to one side" in said(plot_qq(LinearRegression().fit(X, y), X, y))
    X[5], y[5] = 20.0, -100.0
    ax = plot_leverage(LinearRegression().fit(X, y), X, y)
    assert "1 row alone moves the fit" in said(ax)
    assert "5" in [text.get_text() for text in ax.texts]
