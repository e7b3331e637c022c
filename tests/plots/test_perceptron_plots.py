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

from linearly.models.averaged_perceptron import AveragedPerceptron
from linearly.models.batch_perceptron import BatchPerceptron
from linearly.models.perceptron import Perceptron
from linearly.models.pocket_perceptron import PocketPerceptron
from linearly.models.voted_perceptron import VotedPerceptron
from linearly.plots.perceptron_plots import plot_boundary, plot_mistakes, plot_pocket_errors

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
def test_plot_boundary_rings_rows_on_the_wrong_side(Model, K):
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


def test_plot_mistakes_title_says_whether_mistakes_ended():
    X, y = blobs(noise=0.1)
    model = Perceptron().fit(X, y)
    ax = plot_mistakes(model)
    assert said(ax) == f"Perceptron: no mistakes left after {model.n_passes_} passes"
    assert ax.lines[0].get_ydata().tolist() == model.mistakes_per_pass_
    X, y = blobs()
    model = fitted(Perceptron, X, y)
    last = model.mistakes_per_pass_[-1]
    assert said(plot_mistakes(model)) == f"Perceptron: {last} mistakes in the last of 50 passes"


def test_plot_pocket_errors_running_minimum_never_rises():
    X, y = blobs()
    model = PocketPerceptron(100).fit(X, y)
    ax = plot_pocket_errors(model)
    every, pocket = (line.get_ydata() for line in ax.lines[:2])
    assert np.array_equal(every, model.error_history_)
    assert (np.diff(pocket) <= 0).all()
    wrong = round(120 * model.training_error_)
    assert said(ax) == f"PocketPerceptron: {wrong} errors in the pocket, first after update {model.best_update_}"


def test_perceptron_plots_raise_for_other_models():
    X, y = blobs()
    model = AveragedPerceptron().fit(X, y)
    with pytest.raises(ValueError, match="two features, but X has 1 features"):
        plot_boundary(model, X[:, :1], y)
    with pytest.raises(ValueError, match="120 rows, but y has 119 labels"):
        plot_boundary(model, X, y[:-1])
    with pytest.raises(ValueError, match="AveragedPerceptron has no pocket"):
        plot_pocket_errors(model)
    for draw in (plot_mistakes, plot_pocket_errors):
        with pytest.raises(NotFittedError):
            draw(PocketPerceptron())


def test_plot_without_matplotlib_names_the_extra(monkeypatch):
    X, y = blobs()
    model = AveragedPerceptron().fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'linearly\[cli\]'"):
        plot_mistakes(model)
