"""What a page or a screen says is true of the rows, and of rows to come."""

import re
import shutil
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from test_report import diabetes, refitted

import linearly as ly
from linearly.api import fit
from linearly.cli.group import cli
from linearly.demos import wine
from linearly.demos.story import Story
from linearly.plots.coefficient_plots import plot_coefficients
from linearly.plots.evaluation_plots import plot_calibration, plot_roc
from linearly.report.classifier_page import describe_mistakes
from linearly.report.facts import facts
from linearly.report.render import page_of, render
from linearly.report.texts import Texts


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def reported(data, target, model="linear", **options):
    """Facts and the page, before it is HTML."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit(data, target=target, model=model, **options)
    found = facts(fitted, fitted.design_rows(data))
    return found, page_of(found)


def told(page, name):
    """All words of a section, pictures left out."""
    section = next(section for section in page.sections if section.name == name)
    return words(section.parts)


def words(parts):
    said = []
    for part in parts:
        if part["kind"] == "text":
            said.append(part["text"])
        elif part["kind"] == "table":
            rows = (" | ".join(cell["text"] for cell in row) for row in part["rows"])
            said += [part["caption"], " | ".join(part["head"]), *rows]
        elif part["kind"] == "figure":
            said += [" ".join(re.findall(r"<title[^>]*>(.*?)</title>", part["svg"])), part["caption"]]
        elif part["kind"] == "grid":
            said.append(words(part["figures"]))
    return "\n".join(said)


def trust(page):
    return " ".join(finding.claim for finding in page.findings)


def screen(tmp_path, data, *arguments):
    """What `linearly fit` shows, in one line."""
    path = tmp_path / "data.csv"
    data.to_csv(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = CliRunner().invoke(cli, ["fit", str(path), *arguments])
    assert ran.exit_code == 0, ran.output
    return " ".join(ran.output.split())


def linear(n=120, p=2, noise=1.0, seed=4):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    return data.assign(y=1 + data["x0"] + noise * rng.normal(size=n))


# --- regression -----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_error_on_rows_of_the_fit_is_no_promise_for_others(alpha, weighted):
    data = linear(60, 20)
    weight = np.random.default_rng(0).integers(1, 3, size=60).astype(float) if weighted else np.ones(60)
    data["w"] = weight
    found, page = reported(data, "y", "ridge" if alpha else "linear", weight="w", **({"alpha": alpha} if alpha else {}))
    X, y = data.drop(columns=["y", "w"]).to_numpy(), data["y"].to_numpy()
    errors = []
    for i in range(60):
        rest = np.arange(60) != i
        peer = ly.LinearRegression(alpha=alpha).fit(X[rest], y[rest], weight[rest])
        errors.append(y[i] - peer.predict(X[i : i + 1])[0])
    assert found["left_out"] == pytest.approx(np.sqrt(np.average(np.square(errors), weights=weight)))
    said = told(page, "fit")
    assert said.count("optimistic for new rows") == 2
    assert "Leave-one-out error" in said


def test_an_error_on_other_rows_is_one_on_others_like_them():
    data = linear()
    model = fit(data.iloc[:60], target="y", model="linear")
    found = facts(model, model.design_rows(data.iloc[60:]))
    assert found["left_out"] is None
    assert "if none of them was part of the fit" in told(page_of(found), "fit")


def test_influence_section_counts_all_rows_above_the_threshold():
    data = diabetes()
    found, page = reported(data, "progression")
    X, y = data.drop(columns="progression"), data["progression"]
    cooks = ly.augment(ly.LinearRegression().fit(X, y), X, y)["cooks_distance"]
    above = int((cooks > 4 / len(data)).sum())
    assert found["influence"]["n_above"] == above > found["influence"]["n_out"] == 5
    assert f"Without the 5 most influential rows of {above} above 4/n" in told(page, "influence")


def test_a_target_that_never_differs_is_not_given_away(tmp_path):
    data = linear().assign(y=5.0)
    _, page = reported(data, "y")
    assert "y is always 5" in trust(page)
    assert "give y away" not in trust(page)
    assert "no variance to explain" in page.good[0]
    assert "y is always 5, so these rows contain no information" in screen(tmp_path, data, "-t", "y")
    assert "every row" not in screen(tmp_path, linear(), "-t", "y")


def test_report_of_a_perfect_fit_states_rounding_errors(tmp_path, require):
    data = linear(noise=0.0).assign(y=lambda rows: 2 + 3 * rows["x0"] - rows["x1"])
    found, page = reported(data, "y")
    assert "This is rounding error" in told(page, "fit")
    assert "-" not in told(page, "coefficients").replace("p-value", "")
    require(shutil.which("node"), "needs Node")
    all_of_them, one = refitted(tmp_path, render(found), [([0, 1], 0.0), ([0], 0.0)])
    assert all_of_them["sigma"] == 0
    assert all_of_them["error"] == [0, 0]
    assert one["sigma"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [((), "Fit again with --covariance HC3:"), (("--cv",), "Do not rely on the intervals: this model has no")],
)
def test_advice_on_the_screen_can_be_followed(tmp_path, arguments, advice):
    data = linear(400).assign(y=lambda rows: rows["y"] * np.exp(rows["x0"]))
    asked = ("-t", "y", "-m", "ridge" if arguments else "linear", *arguments)
    said = screen(tmp_path, data, *asked)
    assert advice in said
    offered = re.search(r"Fit again with (--covariance [^\s:]+)", said)
    assert (offered is None) == bool(arguments)
    if offered:
        screen(tmp_path, data, *asked, *offered[1].split())


# --- classification -------------------------------------------------------------------------------


def labelled(K, apart, n=20, seed=1, p=2):
    """K labels around the corners of a polygon, strictly apart or not."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(K), n)
    corners = np.c_[np.cos(2 * np.pi * y / K), np.sin(2 * np.pi * y / K)]
    X = apart * corners + rng.normal(size=(K * n, 2)).clip(-2, 2)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": [f"k{k}" for k in y]})


def test_statistics_of_separable_classes_are_those_of_the_coefficients_shown(tmp_path):
    data = labelled(2, 8.0)
    found, page = reported(data, "kind", "logistic")
    assert found["separated"] == "separable"
    rows = [row for row in told(page, "computed").split("\n") if row.startswith(("Deviance", "Pseudo", "AIC"))]
    assert len(rows) == 3
    assert all("Value where the search stopped" in row for row in rows)
    said = screen(tmp_path, data, "-t", "kind")
    assert f"deviance {found['statistics']['deviance']:.5g} on 37 df" in said
    assert "where the search was stopped" in said
    _, page = reported(labelled(2, 0.5), "kind", "logistic")
    assert "search was stopped" not in told(page, "computed")
    assert "search was stopped" not in screen(tmp_path, labelled(2, 0.5), "-t", "kind")


@pytest.mark.parametrize("K", [2, 3])
def test_separable_classes_have_a_table_of_coefficients_without_dashes(K):
    found, page = reported(labelled(K, 8.0), "kind", "logistic")
    said = told(page, "coefficients")
    assert found["separated"] == "separable"
    assert "Coefficients where the search stopped" in said
    assert "–" not in said
    coefficients = next(section for section in page.sections if section.name == "coefficients")
    assert [part["kind"] for part in coefficients.parts] == ["text", "table"]
    assert "terms" not in [section.name for section in page.sections]
    _, page = reported(labelled(K, 0.5), "kind", "logistic")
    assert "odds ratio" in told(page, "coefficients")
    assert "Test of each term" in told(page, "terms")


@pytest.mark.parametrize("apart", [0.5, 12.0])
@pytest.mark.parametrize("model", ["perceptron", "lda"])
def test_three_labels_have_scores_and_no_hyperplane(apart, model):
    found, page = reported(labelled(3, apart), "kind", model)
    verdict = {0.5: "overlapping", 12.0: "separable"}[apart]
    assert found["separability"]["verdict"] == verdict
    section = next(section for section in page.sections if section.name == "separability")
    said = told(page, "separability") + section.title + trust(page)
    assert "hyperplane" not in said
    assert "linear scores" in said
    assert "hyperplane" in told(reported(labelled(2, apart), "kind", model)[1], "separability")


def test_almost_separable_labels_tie():
    data = labelled(3, 12.0)
    data.loc[data["kind"] == "k2", ["a", "b"]] = data.loc[data["kind"] == "k1", ["a", "b"]].to_numpy()
    found, page = reported(data, "kind", "lda")
    assert found["separability"]["verdict"] == "quasi-separable"
    assert "no label scores above the label of a row, but some tie with it" in told(page, "separability")


def test_a_witness_of_three_labels_names_the_rivals():
    data = pd.DataFrame(
        {"a": [0, 0, -2, 2, -3, 1], "b": [5, 0, -2, -3, -3, 1], "kind": ["k0", "k0", "k1", "k1", "k2", "k2"]}
    )
    found, page = reported(data, "kind", "lda")
    witness = found["separability"]["witness"]
    assert len(set(witness["label"] + witness["rival"])) == 3
    assert "row | label | compared with | share" in told(page, "separability")
    # For every label, the rows that have it weigh as much as those that are held against it.
    for label in set(witness["label"]):
        own, against = (
            sum(share for name, share in zip(witness[key], witness["multiplier"], strict=True) if name == label)
            for key in ("label", "rival")
        )
        assert own == pytest.approx(against)


def test_the_mean_of_average_precision_is_not_that_of_the_line_above():
    _, page = reported(labelled(3, 1.0), "kind", "lda")
    row = next(row for row in told(page, "right").split("\n") if row.startswith("Average precision, mean"))
    assert row.endswith("Mean precision over all thresholds, weighted by the gain in recall. Mean over labels.")


def test_worse_than_the_commonest_label_is_called_worse():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=300), "kind": np.where(np.arange(300) < 15, "rare", "fine")})
    model = fit(data, target="kind", model="lda", priors=(0.02, 0.98))
    _, page = reported(data, "kind", "lda", priors=(0.02, 0.98))
    assert model.predict(data).tolist().count("rare") > 200
    assert "The model is right less often than always predicting fine" in trust(page)
    assert "no evidence" not in trust(page)


def test_automatic_shrinkage_is_warned_of():
    data = pd.DataFrame({"u": [0, 1, 5, 6.0], "v": [0, 1.0, 5, 7], "kind": ["a", "a", "b", "b"]})
    for model, who in (("qda", "the covariance of a and b"), ("lda", "their common covariance")):
        same = data if model == "qda" else data.assign(w=[1, 0, 3, 2])
        _, page = reported(same, "kind", model)
        assert f"The rows do not determine {who}" in trust(page), model
        assert "Shrinkage used | 0.1" in told(page, "computed")
        _, page = reported(same, "kind", model, shrinkage=0.2)
        assert "singular" not in trust(page)


def test_figures_of_a_classifier_are_not_promised_for_new_rows():
    _, page = reported(labelled(2, 1.0), "kind", "lda")
    assert "each predicted by a fit without it (5-fold cross-validation)" in told(page, "right")


# --- words ----------------------------------------------------------------------------------------


def test_levels_are_held_against_a_named_one():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=90), "kind": np.tile(["elm", "fir", "oak"], 30)})
    data["y"] = data["x"] + 3 * (data["kind"] == "oak") + 0.5 * rng.normal(size=90)
    said = told(reported(data, "y")[1], "coefficients")
    assert "for oak rather than elm" in said
    assert "reference" not in said
    data["y"] = np.where(data["y"] + rng.normal(size=90) > 1, "high", "low")
    assert "kind[oak] rather than elm multiplies the odds by" in told(
        reported(data, "y", "logistic")[1], "coefficients"
    )


@pytest.mark.parametrize(
    ("said", "predicted", "words"),
    [
        ("aaabbb", "aababb", "1 of a was missed (false negatives), and 1 of b was predicted as a (false positives)."),
        ("aaabbb", "abbabb", "2 of a were missed (false negatives), and 1 of b was predicted as a (false positives)."),
        ("aabbcc", "aabbca", "1 prediction is wrong: c was predicted as a."),
        ("aabbcc", "aabbaa", "2 predictions are wrong: c was always predicted as a."),
        ("aabbcc", "abbacc", "2 predictions are wrong: no label was predicted as another more than once."),
        ("aabbcc", "bbbacc", "3 predictions are wrong: most often (2) a was predicted as b."),
    ],
)
def test_describe_mistakes_counts_them_in_words(said, predicted, words):
    labels = sorted(set(said))
    pairs = list(zip(said, predicted, strict=True))
    counts = [[pairs.count((actual, other)) for other in labels] for actual in labels]
    assert describe_mistakes(Texts({"kind": "classification"}), labels, counts).startswith(words)


def test_one_column_has_no_others_and_several_have_intervals():
    one = told(reported(linear(p=2)[["x0", "y"]], "y")[1], "coefficients")
    assert "The interval of x0 excludes 0: y is " in one
    assert "other columns" not in one
    data = linear().assign(y=lambda rows: rows["y"] + rows["x1"])
    assert "The intervals of 2 terms exclude 0." in told(reported(data, "y")[1], "coefficients")


# --- pictures -------------------------------------------------------------------------------------


def test_only_lines_that_are_drawn_are_explained():
    data = linear()
    calm = told(reported(data, "y")[1], "residuals")
    assert "dashed" not in calm
    assert "The largest are numbered." in calm
    assert "Beyond the dashed lines Cook's distance is over 0.5, beyond the solid ones over 1." in told(
        reported(linear(n=15), "y")[1], "residuals"
    )


def test_the_legend_of_a_calibration_covers_no_point():
    data = labelled(3, 1.5, n=60)
    evaluation = fit(data, target="kind", model="lda").evaluate(data)
    ax = plot_calibration(evaluation)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0


def test_the_title_of_coefficients_is_not_cut():
    data = labelled(3, 12.0).rename(columns={"a": "a column with a rather long name", "b": "another of the kind"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(data, target="kind", model="logistic").estimator
    ax = plot_coefficients(model)
    ax.figure.draw_without_rendering()
    assert ax._left_title.get_window_extent().x1 <= ax.figure.bbox.width


def test_labels_alike_are_neither_best_nor_worst():
    data = labelled(10, 80.0, n=10)
    ax = plot_roc(fit(data, target="kind", model="lda").evaluate(data))
    assert "best" not in ax.get_title(loc="left")
    assert "about the same" in " ".join(ax.get_title(loc="left").split())


def test_circles_of_the_wine_demo_are_drawn_as_circles():
    aspects = []

    class Watched(Story):
        def picture(self, name, draw, *more, **options):
            def watched(ax):
                draw(ax)
                aspects.append(ax.get_aspect())

            return super().picture(name, watched, *more, **options)

    wine.tell(Watched("wine", "Three wines", lambda line: None), None)
    assert 1.0 in aspects


def test_tables_hint_at_what_is_out_of_sight_and_print_whole():
    style = (Path(ly.__file__).parent / "report" / "templates" / "page.css").read_text(encoding="utf-8")
    scroll = re.search(r"\.scroll \{[^}]*\}", style)[0]
    assert scroll.count("local") == scroll.count("no-repeat scroll") == 2
    printed = style.split("@media print")[1]
    assert "table.matrix { width: 100%; table-layout: fixed;" in printed


def test_report_of_an_overfitted_model_states_leave_one_out_r_squared(tmp_path):
    rng = np.random.default_rng(2)
    frame = {f"g{j}": rng.standard_normal(60) for j in range(100)} | {"y": rng.standard_normal(60)}
    model = ly.fit(frame, target="y", model="ridge", alpha=1.0)
    model.report(tmp_path / "page.html", frame)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Leave-one-out R² is" in page
    assert "which 100 columns reach on any 60 rows" in page
    assert "The residual standard deviation" not in page


# The penalty is given: 100 to choose from have some so small that digits are lost, and a warning says so.
@pytest.mark.parametrize("options", [{"model": "ridge", "alpha": 1.0}, {"model": "ridge", "alphas": [1.0, 10.0]}])
def test_ridge_on_a_repeated_column_has_a_report(tmp_path, options):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(50)
    frame = {"a": x, "b": x, "c": rng.standard_normal(50), "y": x + rng.standard_normal(50)}
    ly.fit(frame, target="y", **options).report(tmp_path / "page.html", frame)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Other columns determine a and b" in page


def test_picture_of_many_coefficients_draws_the_largest_and_counts_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    size = np.r_[np.arange(10, 0, -1), np.zeros(10)]
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]).assign(y=X @ size + rng.normal(size=200))
    _, page = reported(data, "y")
    picture = next(part for part in page_parts(page, "coefficients") if part["kind"] == "figure")
    assert "of 20 coefficients distinguishable from 0" in picture["svg"]
    assert "The 12 largest of 20 are drawn." in picture["caption"]
    drawn = [f"x{j}" for j in range(20) if f">x{j}<" in picture["svg"]]
    assert len(drawn) == 12
    assert drawn[:10] == [f"x{j}" for j in range(10)]


def page_parts(page, name):
    return next(section.parts for section in page.sections if section.name == name)
