"""Pictures of classifiers and coefficients: what is drawn is what the model and its evaluation say."""

import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Ellipse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as PeerLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as PeerQDA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linearly as ly
from linearly.plots import style as look
from linearly.plots.classifier_plots import plot_gaussians, plot_probability, plot_regions
from linearly.plots.coefficient_plots import plot_coefficients
from linearly.plots.evaluation_plots import plot_calibration, plot_confusion, plot_roc

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

IRIS = load_iris(as_frame=True)
FLOWERS, SPECIES = IRIS.data.iloc[:, 1:3], IRIS.target_names[IRIS.target]
CANCER = load_breast_cancer(as_frame=True)
CELLS, KIND = CANCER.data[["mean radius", "mean texture"]], CANCER.target_names[CANCER.target]
PLANES = [plot_regions, plot_gaussians, plot_probability]


@pytest.fixture(autouse=True)
def _settings_and_figures():
    before = dict(matplotlib.rcParams)
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()  # what cannot be drawn fails here
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


@pytest.fixture(scope="module")
def two():
    return ly.LogisticRegression().fit(CELLS, KIND)


@pytest.fixture(scope="module")
def three():
    return ly.LinearDiscriminantAnalysis().fit(FLOWERS, SPECIES)


@pytest.fixture(scope="module")
def tested(two):
    return ly.evaluate(two, CELLS, KIND)


@pytest.fixture(scope="module")
def tested_three(three):
    return ly.evaluate(three, FLOWERS, SPECIES)


def said(ax):
    return ax.get_title(loc="left").replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def scattered(ax):
    """Points by their name in the legend."""
    return {part.get_label(): np.asarray(part.get_offsets()) for part in ax.collections if part.get_offsets().size > 2}


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


# --- two features ---------------------------------------------------------------------------------


def test_regions_show_every_row_and_ring_the_wrong_ones(three):
    ax = plot_regions(three, FLOWERS, SPECIES)
    drawn = scattered(ax)
    for name in three.classes_:
        np.testing.assert_array_equal(drawn[name], FLOWERS[name == SPECIES])
    wrong = three.predict(FLOWERS) != SPECIES
    np.testing.assert_array_equal(drawn["wrong side"], FLOWERS[wrong])
    assert said(ax) == f"LinearDiscriminantAnalysis: {wrong.sum()} of 150 rows on the wrong side"
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(FLOWERS.columns)


def test_regions_are_bounded_where_the_prediction_changes():
    X, y = np.array([[-1.0, 0.0], [1.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [-1.5, 0.3], [1.5, 0.7]]), [0, 1, 0, 1, 0, 1]
    model = ly.LeastSquaresClassifier().fit(X, y)
    ax = plot_regions(model, X, y)
    (boundary,) = {
        tuple(np.round(path.vertices.mean(axis=0), 1))
        for part in ax.collections
        if type(part).__name__ == "QuadContourSet" and not part.filled
        for path in part.get_paths()
    }
    middle = -(model.intercept_ + model.coef_[0, 1] * 0.5) / model.coef_[0, 0]
    assert boundary[0] == pytest.approx(middle.item(), abs=0.1)


def test_the_boundary_of_a_linear_model_is_straight():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 2)) + 2 * y[:, None]
    model = ly.LogisticRegression().fit(X, y)
    ax = ly.plot_boundary(model, X, y)
    paths = [
        path for drawn in ax.collections if hasattr(drawn, "levels") and not drawn.filled for path in drawn.get_paths()
    ]
    scores = model.decision_function(np.vstack([path.vertices for path in paths if len(path.vertices)]))
    np.testing.assert_allclose(scores, 0, atol=1e-8 * np.abs(model.decision_function(X)).max())


def test_regions_use_the_names_and_the_axes_they_are_given(three):
    _, given = plt.subplots()
    ax = plot_regions(three, FLOWERS, SPECIES, ax=given, names=["width", "length"])
    assert ax is given
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "length")


def test_regions_of_scikit_learns_models_and_of_many_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 20)
    X = np.column_stack([y % 3, y // 3]) * 4.0 + rng.normal(size=(180, 2))
    model = make_pipeline(StandardScaler(), PeerLDA()).fit(X, y)
    ax = plot_regions(model, X, y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    assert len({(look.colour(k), look.shape(k)) for k in range(42)}) == 42


def test_regions_without_a_mistake_and_with_one_class_out_of_sight(three):
    rows = SPECIES == "setosa"
    ax = plot_regions(three, FLOWERS[rows], SPECIES[rows])
    assert said(ax).endswith("none of 50 rows on the wrong side")


def test_regions_keep_polars_frames():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": FLOWERS.iloc[:, 0].to_numpy(), "b": FLOWERS.iloc[:, 1].to_numpy()})
    ax = plot_regions(ly.LinearDiscriminantAnalysis().fit(frame, SPECIES), frame, SPECIES)
    assert ax.get_ylabel() == "b"


@pytest.mark.parametrize(
    "model",
    [
        ly.LinearDiscriminantAnalysis(),
        ly.QuadraticDiscriminantAnalysis(),
        PeerLDA(store_covariance=True),
        PeerQDA(store_covariance=True),
    ],
)
def test_ellipses_are_the_models(model):
    model = model.fit(FLOWERS, SPECIES)
    ax = plot_gaussians(model, FLOWERS, SPECIES)
    covariances = np.broadcast_to(getattr(model, "covariances_", getattr(model, "covariance_", None)), (3, 2, 2))
    ellipses = [part for part in ax.patches if isinstance(part, Ellipse)]
    assert len(ellipses) == 6
    for k, pair in enumerate(zip(ellipses[::2], ellipses[1::2], strict=True)):
        for ellipse, mass in zip(pair, (0.5, 0.95), strict=True):
            outline = ellipse.get_patch_transform().transform(ellipse.get_path().vertices[::3])
            away = outline - model.means_[k]
            distance = np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariances[k]), away)
            np.testing.assert_allclose(1 - np.exp(-distance / 2), mass, atol=2e-3)
            assert ellipse.get_edgecolor() == matplotlib.colors.to_rgba(look.colour(k))
    means = np.array([line.get_xydata()[0] for line in ax.lines if len(line.get_xydata()) == 1])
    np.testing.assert_allclose(means, model.means_)
    straight = "straight" in said(ax)
    assert straight == ("Linear" in type(model).__name__)


def test_ellipses_need_a_model_that_has_them(two):
    with pytest.raises(TypeError, match="LogisticRegression has no means_ and covariance_"):
        plot_gaussians(two, CELLS, KIND)


def test_probability_is_the_models(two):
    ax = plot_probability(two, CELLS, KIND)
    probability = two.predict_proba(CELLS)
    sure = probability.max(axis=1) >= 0.9
    right = np.mean(two.predict(CELLS)[sure] == KIND[sure])
    assert f"Probability at least 90% in {sure.sum()} of 569 rows" in said(ax)
    assert f"correct in {100 * right:.1f}% of them" in said(ax)
    half = next(
        part
        for part in ax.collections
        if type(part).__name__ == "QuadContourSet" and not part.filled and part.levels.tolist() == [0.5]
    )
    on_the_line = pd.DataFrame(half.get_paths()[0].vertices, columns=CELLS.columns)
    np.testing.assert_allclose(two.predict_proba(on_the_line)[:, 1], 0.5, atol=0.01)
    bar = next(other for other in ax.figure.axes if other is not ax)
    assert bar.get_ylabel() == "probability of malignant"


def test_probability_is_for_two_classes_and_models_that_have_one(three):
    with pytest.raises(ValueError, match="two classes, but the model has 3"):
        plot_probability(three, FLOWERS, SPECIES)
    with pytest.raises(TypeError, match="Perceptron has no probabilities"):
        plot_probability(ly.Perceptron(), FLOWERS, SPECIES)


@pytest.mark.parametrize("plot", PLANES)
def test_other_than_two_features_is_refused(plot):
    model = ly.LinearDiscriminantAnalysis().fit(IRIS.data, SPECIES)
    with pytest.raises(ValueError, match="The plot needs two features, but X has 4 features"):
        plot(model, IRIS.data, SPECIES)
    with pytest.raises(ValueError, match="two features, but the model was fitted on 4"):
        plot(model, FLOWERS, SPECIES)
    with pytest.raises(ValueError, match=r"X has the shape \(150,\)"):
        plot(model, FLOWERS.iloc[:, 0], SPECIES)


@pytest.mark.parametrize("plot", PLANES)
def test_rows_and_labels_that_do_not_fit_are_refused(plot):
    model = ly.LinearDiscriminantAnalysis().fit(CELLS, KIND)
    with pytest.raises(ValueError, match="X has 569 rows, but y has 3 labels"):
        plot(model, CELLS, KIND[:3])
    with pytest.raises(ValueError, match="not among the classes of the model: 'other'"):
        plot(model, CELLS.iloc[:2], ["benign", "other"])
    with pytest.raises(ValueError, match="feature names"):
        plot(model, CELLS[CELLS.columns[::-1]], KIND)
    assert not plt.get_fignums(), "an empty figure was left behind"


def test_names_must_be_two(three):
    with pytest.raises(ValueError, match="names has"):
        plot_regions(three, FLOWERS, SPECIES, names=["one"])


def test_regions_are_not_for_regression():
    model = ly.LinearRegression().fit(FLOWERS, IRIS.target)
    with pytest.raises(TypeError, match="needs a classifier"):
        plot_regions(model, FLOWERS, SPECIES)


# --- evaluation -----------------------------------------------------------------------------------


def test_confusion_holds_the_counts_and_says_the_accuracy(tested_three):
    ax = plot_confusion(tested_three)
    table = tested_three.confusion
    counts = np.column_stack([table[name] for name in table.columns[1:]])
    written = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in ax.texts}
    assert {place: int(text.split()[0]) for place, text in written.items()} == dict(np.ndenumerate(counts))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(tested_three.labels)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "actual")
    assert said(ax).startswith(f"Correct on {100 * tested_three['accuracy']:.1f}% (")
    assert said(ax).endswith("of 150 rows")


def test_confusion_is_blue_where_right_and_red_where_wrong(tested):
    (image,) = plot_confusion(tested).images
    cells = np.asarray(image.get_array())
    for (i, j), blue_over_red in np.ndenumerate(cells[..., 2] - cells[..., 0]):
        assert (blue_over_red > 0) == (i == j)


def test_confusion_of_several_labels_of_weights_and_of_many_classes(two):
    Y = np.column_stack([IRIS.target > 0, IRIS.target > 1]).astype(int)
    several = ly.evaluate(ly.LeastSquaresClassifier().fit(IRIS.data, Y), IRIS.data, Y)
    ax = plot_confusion(several)
    assert said(ax).startswith("Every label correct on 92.7% (")
    assert next(tick.get_text() for tick in ax.get_xticklabels()) == "true\npositive"
    weighted = ly.evaluate(two, CELLS, KIND, sample_weight=np.full(569, 0.3))
    assert any("." in text.get_text().split()[0] for text in plot_confusion(weighted).texts)
    rng = np.random.default_rng(1)
    y = np.arange(300) % 25
    many = ly.LinearDiscriminantAnalysis().fit(rng.normal(size=(300, 2)) + y[:, None], y)
    assert not plot_confusion(ly.evaluate(many, rng.normal(size=(300, 2)) + y[:, None], y)).texts


def test_confusion_is_not_for_regression():
    model = ly.LinearRegression().fit(FLOWERS, IRIS.target)
    with pytest.raises(ValueError, match="requires a classifier, but this evaluates a regression"):
        plot_confusion(ly.evaluate(model, FLOWERS, IRIS.target))


def test_roc_of_two_labels(tested):
    ax = plot_roc(tested)
    drawn = lines(ax)
    expected = np.column_stack([tested.roc["false_positive_rate"], tested.roc["true_positive_rate"]])
    np.testing.assert_array_equal(drawn["malignant against benign"], expected)
    assert f"malignant is ranked above benign in {100 * tested['roc_auc']:.1f}%" in said(ax)
    (dot,) = next(points for name, points in drawn.items() if name.startswith("as predicted"))
    assert dot[1] == pytest.approx(tested["recall"])
    assert np.hypot(*(expected - dot).T).min() < 0.05, "the predictions stand on the curve"


def test_roc_of_each_label(tested_three):
    ax = plot_roc(tested_three)
    drawn = lines(ax)
    areas = tested_three.per_class["roc_auc"]
    assert set(drawn) == {"guessing"} | {
        f"{label}: {look.percent(area)}" for label, area in zip(tested_three.labels, areas, strict=True)
    }
    for label, points in drawn.items():
        if label != "guessing":
            k = tested_three.labels.index(label.split(":")[0])
            assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(areas[k])


def test_roc_needs_scores_and_two_labels(two):
    rows = KIND == "benign"
    with pytest.raises(ValueError, match="The ROC curve is not defined"):
        plot_roc(ly.evaluate(two, CELLS[rows], KIND[rows]))


def test_calibration_is_the_tables(tested):
    ax = plot_calibration(tested)
    table = tested.calibration
    points = next(part for part in ax.containers if hasattr(part, "has_yerr"))
    np.testing.assert_allclose(points.lines[0].get_xydata(), np.column_stack([table["predicted"], table["observed"]]))
    ends = np.array(points.lines[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, np.column_stack([table["conf_low"], table["conf_high"]]), atol=1e-12)
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(heights / heights.max(), table["n"] / table["n"].max())
    assert f"off by {100 * tested['calibration_error']:.2g} percentage points" in said(ax)
    assert ax.get_xlabel() == "predicted probability of malignant"


def test_calibration_of_three_labels_and_of_an_overconfident_model(tested_three):
    assert plot_calibration(tested_three).get_ylabel() == "share of correct predictions"

    class Boaster:
        _estimator_type = "classifier"
        classes_ = np.array([0, 1])

        def predict(self, X):
            return np.ones(len(X), dtype=int)

        def predict_proba(self, X):
            return np.tile([0.05, 0.95], (len(X), 1))

    ax = plot_calibration(ly.evaluate(Boaster(), np.zeros((100, 1)), np.arange(100) % 2))
    assert said(ax) == "Probabilities are off by 45 percentage points on average, more than chance explains"


def test_calibration_needs_probabilities():
    Y = np.column_stack([IRIS.target > 0, IRIS.target > 1]).astype(int)
    with pytest.raises(ValueError, match="The calibration curve is not defined"):
        plot_calibration(ly.evaluate(ly.LeastSquaresClassifier().fit(IRIS.data, Y), IRIS.data, Y))


# --- coefficients ---------------------------------------------------------------------------------


def intervals(ax):
    """Middle and ends of what is drawn, from the top."""
    places, found = [], []
    for part in ax.collections:
        for (low, place), (high, _) in part.get_segments():
            middle = [
                x for line in ax.lines for x, at in line.get_xydata() if at == place and line.get_marker() != "None"
            ]
            places.append(place)
            found.append([*middle, low, high])
    return np.array(found)[np.argsort(places)]


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_coefficients_are_those_of_tidy(kind, level, two):
    model = two if kind == "logistic" else ly.LinearRegression().fit(IRIS.data, IRIS.target)
    ax = plot_coefficients(model, level=level, per="unit")
    table = ly.tidy(model, level=level)
    expected = np.column_stack([table[name] for name in ("estimate", "conf_low", "conf_high")])[1:]
    np.testing.assert_allclose(intervals(ax), expected)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == table["term"].tolist()[1:]
    clear = int(np.sum(expected[:, 1] * expected[:, 2] > 0))
    assert said(ax) == f"{clear} of {len(expected)} coefficients distinguishable from 0 ({100 * level:g}% intervals)"
    assert ("log-odds of malignant" in ax.get_xlabel()) == (kind == "logistic")


def test_intercept_is_drawn_on_request(two):
    ticks = plot_coefficients(two, intercept=True).get_yticklabels()
    assert [tick.get_text() for tick in ticks] == ["Intercept", *CELLS.columns]


def test_hollow_where_the_interval_holds_zero():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    ax = plot_coefficients(ly.LinearRegression().fit(X, X[:, 0] + rng.normal(size=200)))
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [len(line.get_xydata()) for line in hollow] == [1]
    assert said(ax).startswith("1 of 2 coefficients distinguishable from 0")


def test_coefficients_of_three_classes_and_of_several_targets():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(300, 3)), np.array(["a", "b", "c"])[rng.integers(3, size=300)]
    model = ly.LogisticRegression().fit(X, y)
    ax = plot_coefficients(model)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert ax.get_legend().get_title().get_text() == "against c"
    table = ly.tidy(model)
    drawn = intervals(ax)
    order = [row for term in ("x0", "x1", "x2") for row in np.flatnonzero(table["term"] == term)]
    np.testing.assert_allclose(drawn[:, 0], table["estimate"][order])
    ax = plot_coefficients(ly.LinearRegression().fit(X, X @ rng.normal(size=(3, 2)) + rng.normal(size=(300, 2))))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["y0", "y1"]


def test_coefficients_of_separable_classes_are_not_called_estimates():
    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8) > 3
    with pytest.warns(UserWarning, match="separa"):
        model = ly.LogisticRegression().fit(X, y)
    assert "not estimates" in said(plot_coefficients(model))


def test_coefficients_that_have_no_interval_say_so():
    model = ly.LinearRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]], [0.0, 1.0, 5.0])  # as many rows as terms
    ax = plot_coefficients(model)
    assert not np.isfinite(ly.tidy(model)["conf_low"]).any()
    assert ["no interval" in text.get_text() for text in ax.texts] == [True, True]
    assert said(ax) == "No intervals: too few rows, collinear columns, or unknown covariance"


# --- the look -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "message"),
    [(1.0, "100%"), (0.9999, "> 99.9%"), (0.9332, "93.3%"), (0.0001, "< 0.1%"), (0.0, "0.0%")],
)
def test_percent_says_all_and_nothing_only_when_true(share, message):
    assert look.percent(share) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [(-1614.2, "−1,614"), (0.12345, "0.123"), (99.94, "99.9"), (2.5e7, "2.50e7"), (-1e-5, "−1.00e−5")],
)
def test_numbers_are_short(value, message):
    assert look.number(value) == message


def test_a_dark_style_of_the_user_does_not_hide_the_picture(three):
    with plt.style.context("dark_background"):
        ax = plot_regions(three, FLOWERS, SPECIES)
        assert matplotlib.colors.to_hex(ax.figure.get_facecolor()) == "#ffffff"
        assert matplotlib.colors.to_hex(ax.xaxis.label.get_color()) == "#000000"
        assert {matplotlib.colors.to_hex(text.get_color()) for text in ax.get_legend().get_texts()} == {"#000000"}


def test_without_matplotlib_the_extra_is_named(monkeypatch, tested):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'linearly\[cli\]'"):
        plot_roc(tested)


# --- what fit gives ---------------------------------------------------------------------------------


def around(n=80):
    rng = np.random.default_rng(11)
    a, b = rng.standard_normal((2, n))
    return {"a": a, "b": b, "kind": np.where(a**2 + b**2 + 0.2 * rng.standard_normal(n) > 1.4, "out", "in")}


@pytest.mark.parametrize("plot", [ly.plot_regions, ly.plot_boundary, ly.plot_probability])
def test_model_of_two_columns_is_drawn_over_the_columns_not_over_its_terms(plot):
    data = around()
    model = ly.fit(data, formula="kind ~ poly(a, 2, raw=True) + I(b^2)", model="lda")
    ax = plot(model, data)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    wrong = int((model.predict(data) != data["kind"]).sum())
    if plot is not ly.plot_probability:
        assert f"{wrong} of 80 rows" in ax.get_title(loc="left") + ax.get_title()


def test_ellipses_of_a_model_are_of_its_columns_as_they_are():
    data = around()
    model = ly.fit(data, target="kind", model="qda")
    assert ly.plot_gaussians(model, data).get_xlabel() == "a"
    with pytest.raises(ValueError, match="not to columns of the data"):
        ly.plot_gaussians(ly.fit(data, formula="kind ~ I(a^2) + b", model="lda"), data)


def test_pictures_of_models_that_cannot_be_drawn_are_refused_by_reason():
    data = around()
    model = ly.fit(data, target="kind")
    with pytest.raises(ValueError, match="without y"):
        ly.plot_regions(model, data, data["kind"])
    with pytest.raises(ValueError, match="the model uses 1"):
        ly.plot_regions(ly.fit(data, formula="kind ~ a"), data)
    words = {**data, "b": np.where(data["b"] > 0, "u", "v")}
    with pytest.raises(ValueError, match="two numeric columns"):
        ly.plot_regions(ly.fit(words, target="kind"), words)
    with pytest.raises(TypeError, match="needs a classifier"):
        ly.plot_regions(ly.fit(data, formula="a ~ b"), data)
    for plot in (ly.plot_confusion, ly.plot_roc, ly.plot_precision_recall, ly.plot_calibration):
        with pytest.raises(TypeError, match=rf"{plot.__name__} draws an evaluation.*model\.evaluate\(data\)"):
            plot(model)
    with pytest.raises(TypeError, match="Fit a perceptron"):
        ly.plot_mistakes(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pictures_of_passes_and_leverage_take_a_model():
    data = around()
    assert "Perceptron" in ly.plot_mistakes(ly.fit(data, target="kind", model="perceptron")).get_title(loc="left")
    assert "PocketPerceptron" in ly.plot_pocket_errors(ly.fit(data, target="kind", model="pocket")).get_title(
        loc="left"
    )
    assert ly.plot_leverage(ly.fit(data, formula="a ~ b"), data).get_xlabel()


def _many_labels(n_labels=12, n=20):
    rng = np.random.default_rng(4)
    code = np.repeat(np.arange(n_labels), n)
    X = 3 * rng.normal(size=(n_labels, 2))[code] + rng.normal(size=(len(code), 2))
    return {"a": X[:, 0], "b": X[:, 1], "label": [f"class number {k}, with a long name" for k in code]}


def test_curves_of_many_labels_name_the_best_and_the_worst():
    data = _many_labels()
    evaluation = ly.fit(data, target="label", model="lda").evaluate(data)
    for plot, n_others in ((ly.plot_roc, 1), (ly.plot_precision_recall, 0)):
        ax = plot(evaluation)
        title = ax.get_title(loc="left").replace("\n", " ")
        named = [text.get_text().rpartition(":")[0] for text in ax.get_legend().get_texts()][n_others:]
        assert len(named) == 2
        assert all(name in title for name in named)
        coloured = [line for line in ax.lines if line.get_color() in (look.BLUE, look.ORANGE)]
        assert len(coloured) == 2


def test_legend_of_many_long_names_leaves_most_of_the_picture_to_the_data():
    data = _many_labels()
    model = ly.fit(data, target="label", model="lda")
    for plot in (ly.plot_gaussians, ly.plot_regions):
        ax = plot(model, data)
        ax.figure.canvas.draw()
        assert ax.get_window_extent().height > 0.5 * ax.figure.bbox.height
        assert len({text.get_text() for text in ax.get_legend().get_texts()}) >= 13


def test_long_names_of_two_labels_stay_on_the_picture():
    data = {name: values[:40] for name, values in _many_labels().items()}
    model = ly.fit(data, target="label", model="logistic", alpha=1.0)
    ax = ly.plot_roc(model.evaluate(data))
    ax.figure.canvas.draw()
    assert ax.yaxis.label.get_window_extent().x0 >= 0
    assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.x1


def test_coefficients_of_a_model_are_named_like_those_of_its_estimator():
    rng = np.random.default_rng(2)
    data = {"a": rng.normal(size=80), "kind": ["no", "yes"] * 40}
    model = ly.fit(data, target="kind", model="logistic")
    assert ly.plot_coefficients(model).get_xlabel() == "change of the log-odds of yes per unit of the column"
    assert ly.plot_coefficients(model.estimator).get_xlabel() == ly.plot_coefficients(model).get_xlabel()
