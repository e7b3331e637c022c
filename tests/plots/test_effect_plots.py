"""`plot_effect`: rows, line and band."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import linearly as ly


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def _data(n=60):
    rng = np.random.default_rng(2)
    x, group = rng.uniform(0, 10, n), rng.choice(["a", "b"], n)
    return {"x": x, "group": group, "y": 3 - 2 * x + (group == "b") + rng.normal(size=n)}


def test_one_column_shows_its_rows_its_line_and_two_bands():
    data = _data()
    ax = ly.plot_effect(ly.fit(data, formula="y ~ x"), data)
    dots, line = ax.lines[0], ax.lines[1]
    np.testing.assert_allclose(dots.get_xydata(), np.column_stack([data["x"], data["y"]]))
    assert len(ax.collections) == 2
    assert np.diff(line.get_ydata()).max() < 0
    assert "lower per unit of x" in ax.get_title(loc="left")


def test_estimators_are_drawn_like_models():
    data = _data()
    ax = ly.plot_effect(ly.LinearRegression().fit(data["x"][:, None], data["y"]), data["x"][:, None], data["y"])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), data["y"])


def test_levels_stand_side_by_side():
    data = _data()
    ax = ly.plot_effect(ly.fit(data, target="y"), data, column="group")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
    assert "higher for b than for a" in " ".join(ax.get_title(loc="left").split())


def test_lines_of_an_interaction_have_a_legend_outside_the_axes():
    data = _data()
    ax = ly.plot_effect(ly.fit(data, formula="y ~ x * group"), data, column="x")
    ax.get_figure().draw_without_rendering()
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0


def test_unknown_columns_and_classifiers_raise():
    data = _data()
    with pytest.raises(ValueError, match="Column 'z' is not in the model"):
        ly.plot_effect(ly.fit(data, formula="y ~ x"), data, column="z")
    with pytest.raises(TypeError, match="plot_effect supports only linear and ridge regression"):
        ly.plot_effect(ly.fit(data, formula="group ~ x"), data)


LONG = "a very long name of a column that nobody shortened, in EUR per square metre"


def test_long_names_of_columns_stay_on_the_picture():
    data = _data()
    ax = ly.plot_effect(
        ly.fit({LONG: data["x"], f"{LONG} (y)": data["y"]}, target=f"{LONG} (y)"),
        {LONG: data["x"], f"{LONG} (y)": data["y"]},
    )
    ax.figure.canvas.draw()
    page = ax.figure.bbox
    for axis in (ax.xaxis, ax.yaxis):
        box = axis.label.get_window_extent()
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1


def test_long_levels_keep_different_names():
    n = 120
    data = {
        "level": [f"level number {i % 12} of the category" for i in range(n)],
        "y": [i % 12 + (i % 7) / 7 for i in range(n)],
    }
    ax = ly.plot_effect(ly.fit(data, target="y"), data)
    assert len({text.get_text() for text in ax.get_xticklabels()}) == 12
