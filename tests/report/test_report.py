"""The report: true numbers, one file, no network, readable by everyone, and a refit that the library agrees with."""

import json
import re
import shutil
import subprocess
import sys
import warnings
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV

matplotlib.use("Agg")
import linearly as ly
from linearly.api import fit
from linearly.dataset.rows.block import InMemoryRows, as_rows
from linearly.evaluation.cross_validate import fit_folds
from linearly.findings.regression import regression_findings as findings
from linearly.formatting import format_number
from linearly.inference.normality import shapiro_wilk
from linearly.report.classifier_page import describe_odds
from linearly.report.facts import facts
from linearly.report.page_parts import align_decimals, format_factor
from linearly.report.render import render, write_report

HOSTILE = '<script>alert("1")</script> & $x$ \'"'
LARGEST = 400_000  # bytes of a page


def quietly(model, data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(data, model=model, **options)


def diabetes(n=442):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X.assign(progression=y).iloc[:n]


def iris(columns=slice(None), without=None):
    found = load_iris(as_frame=True)
    frame = found.data.iloc[:, columns].copy()
    frame["species"] = found.target_names[found.target]
    return frame[frame["species"] != without]


def cells(columns=("mean radius", "mean texture", "mean concavity")):
    found = load_breast_cancer(as_frame=True)
    return found.data[list(columns)].assign(kind=found.target_names[found.target])


def blobs():
    rng = np.random.default_rng(5)
    y = np.repeat(["left", "right"], 60)
    X = rng.normal(size=(120, 2)) + np.where(y == "left", -3.0, 3.0)[:, None]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "side": y})


def categories():
    rng = np.random.default_rng(6)
    n = 300
    kind, size = rng.choice(["oak", "elm", "fir"], n), rng.gamma(2, 2, n)
    height = 3 + 2 * size + (kind == "oak") * 4 + size * rng.normal(size=n)
    return pd.DataFrame({"size": size, "kind": kind, "height": height})


CASES = {
    "linear": lambda: (quietly("linear", diabetes(), target="progression"), diabetes()),
    "categories": lambda: (quietly("linear", categories(), target="height"), categories()),
    "robust": lambda: (quietly("linear", categories(), target="height", covariance="HC3"), categories()),
    "ridge": lambda: (quietly("ridge", diabetes(), target="progression"), diabetes()),
    "logistic": lambda: (quietly("logistic", cells(), target="kind"), cells()),
    "three": lambda: (quietly("logistic", iris(slice(0, 2)), target="species", alpha=0.1), iris(slice(0, 2))),
    "separated": lambda: (quietly("logistic", blobs(), target="side"), blobs()),
    "lda": lambda: (quietly("lda", iris(), target="species"), iris()),
    "qda": lambda: (quietly("qda", iris(slice(2, 4)), target="species"), iris(slice(2, 4))),
    "least-squares": lambda: (quietly("least-squares", cells(), target="kind"), cells()),
    "perceptron": lambda: (quietly("perceptron", blobs(), target="side"), blobs()),
    "pocket": lambda: (quietly("pocket", iris(slice(2, 4), "setosa"), target="species"), iris(slice(2, 4), "setosa")),
    "voted": lambda: (quietly("voted", iris(slice(2, 4), "setosa"), target="species"), iris(slice(2, 4), "setosa")),
    "batch": lambda: (quietly("batch", blobs(), target="side"), blobs()),
}
_made = {}


def made(name):
    """Model, facts and page of a case, each made once."""
    if name not in _made:
        model, data = CASES[name]()
        found = facts(model, model.design_rows(data))
        _made[name] = (model, data, found, render(found))
    return _made[name]


class Reader(HTMLParser):
    """What a page holds: elements with their attributes, and the text of each kind of element."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br", "path", "use", "rect"):
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


every = pytest.mark.parametrize("name", CASES)


# --- the page -------------------------------------------------------------------------------------


@every
def test_facts_survive_json(name):
    _, _, found, _ = made(name)
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found


@pytest.mark.parametrize("name", ["categories", "three", "pocket"])
def test_render_needs_only_the_facts(name):
    _, _, found, page = made(name)
    assert render(json.loads(json.dumps(found))) == page


@every
def test_page_is_one_small_file_without_requests(name):
    page = made(name)[3]
    assert len(page.encode()) <= LARGEST
    assert "http://" not in page
    assert "https://" not in page
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", page)
    for tag, attributes in Reader(page).elements:
        assert tag not in ("img", "link", "iframe", "object", "embed", "base", "image", "audio", "video")
        assert "src" not in attributes
        assert "style" not in attributes, "the policy forbids it"
        assert not any(key.startswith("on") for key in attributes)
        assert attributes.get("href", "#").startswith("#")


@every
def test_page_policy_allows_only_its_own_style_and_script(name):
    import base64
    import hashlib

    page = made(name)[3]
    reader = Reader(page)
    (policy,) = [meta["content"] for meta in reader.all("meta") if "http-equiv" in meta]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for kind, pattern in (("style-src", r"<style>(.*?)</style>"), ("script-src", r"<script>(.*?)</script>")):
        sources = re.findall(pattern, page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() for source in sources]
        assert rules.get(kind, "").split() == [f"'sha256-{digest}'" for digest in digests]


@every
def test_page_is_accessible_to_screen_readers(name):
    reader = Reader(made(name)[3])
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in reader.all("svg"):
        assert attributes["role"] == "img"
        assert all(part in ids for part in attributes["aria-labelledby"].split())
    assert len(reader.all("title")) == len(reader.all("desc")) + 1
    assert all(len(text) > 10 for text in reader.texts.get("desc", []))
    tables = len(reader.all("table"))
    assert tables == len(reader.all("caption")) >= 2
    assert all(text.strip() for text in reader.texts["caption"])
    assert all("scope" in attributes for attributes in reader.all("th"))
    assert len(reader.all("h1")) == 1
    assert reader.texts["h2"][:4] == [
        "What was fitted?", "How good is it?", "Can I trust it?", "What should I do next?",
    ]  # fmt: skip
    for attributes in reader.all("a"):
        assert attributes["href"][1:] in ids
    assert reader.elements[0] == ("html", {"lang": "en"})


@every
def test_the_page_is_valid_html(name):
    import html5lib

    html5lib.HTMLParser(strict=True).parse(made(name)[3])


@every
def test_page_has_no_nan_none_or_wrong_plural(name):
    words = " ".join(Reader(made(name)[3]).texts["main"])
    assert not re.findall(r"\b(?:nan|inf|1 rows|1 columns|no rows)\b|[{}]", words)
    before_parameters = words.partition("Parameters")[0]
    assert not re.findall(r"\b(?:None|True|False)\b", before_parameters)


def test_report_is_reproducible_byte_for_byte(tmp_path):
    for name in ("linear", "qda"):
        model, data = CASES[name]()
        paths = [tmp_path / f"{name}-{i}.html" for i in (1, 2)]
        for path in paths:
            model.report(path, data)
        assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_page_escapes_hostile_names(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    noisy = X[:, 0] + rng.normal(size=80)
    target = noisy if kind == "linear" else np.where(noisy > 0, HOSTILE, "</style><img src=x>")
    data = pd.DataFrame({HOSTILE: X[:, 0], "</script>{{ 7 * 7 }}": X[:, 1], "<b>target</b>": target})
    model = quietly(kind, data, target="<b>target</b>")
    page = render(facts(model, model.design_rows(data)))
    reader = Reader(page)
    assert "alert(" not in "".join(reader.texts.get("script", [])).replace(json.dumps(HOSTILE)[1:-1], "").replace(
        "\\u003cscript\\u003ealert(", ""
    )
    assert not reader.all("b")
    assert not reader.all("img")
    assert len(reader.all("style")) == 1
    assert len(reader.all("script")) == (4 if kind == "linear" else 0)  # names of rows, sums, and code for each
    assert HOSTILE in "".join(reader.texts["main"]), "and it is shown"
    assert "{{ 7 * 7 }}" in "".join(reader.texts["main"])


# --- the numbers ----------------------------------------------------------------------------------


def test_page_terms_and_statistics_equal_tidy_and_glance():
    model, _, found, page = made("linear")
    table, row = ly.tidy(model.estimator), ly.glance(model.estimator).row(0)
    assert found["terms"]["estimate"] == table["estimate"].tolist()
    assert found["statistics"]["r_squared"] == row["r_squared"]
    words = Reader(page).texts
    for name in ("estimate", "std_error"):
        for told_number in align_decimals(table[name].tolist()):
            assert told_number in words["tbody"][0]
    assert f"On the 442 rows of the fit, R² is {format_number(row['r_squared'], 3)}." in " ".join(words["p"])
    assert format_number(row["sigma"]) in words["tbody"][1]


def test_facts_tests_agree_with_residual_tests():
    _, data, found, _ = made("linear")
    X, y = data.drop(columns="progression"), data["progression"]
    plain = ly.LinearRegression().fit(X, y)
    table = {row["test"]: row for row in ly.residual_tests(plain, X, y)}
    tests = {test["test"]: test for test in found["tests"]}
    standardized = ly.augment(plain, X, y)["standardized_residual"]
    assert tests["shapiro_wilk"]["p_value"] == pytest.approx(shapiro_wilk(standardized).p_value, rel=1e-6)
    n, k = X.shape[0], X.shape[1] + 1
    expected = table["breusch_pagan"]["statistic"] * (n - k) / n
    assert tests["unequal_variance"]["statistic"] == pytest.approx(expected, rel=1e-8)


def test_facts_influence_equals_a_fit_without_the_rows():
    model, data, found, _ = made("linear")
    influence = found["influence"]
    table = ly.augment(ly.LinearRegression().fit(data.drop(columns="progression"), data["progression"]),
                       data.drop(columns="progression"), data["progression"])  # fmt: skip
    order = np.argsort(-table["cooks_distance"])[:5]
    assert influence["rows"]["place"] == [f"row {i}" for i in order]
    np.testing.assert_allclose(influence["rows"]["cooks_distance"], table["cooks_distance"][order])
    out = order[np.array(influence["rows"]["out"])]
    for removed, key in ((out, "without"), (order[:1], "without_first")):
        rest = quietly("linear", data.drop(index=data.index[removed]), target="progression").estimator
        expected = [rest.intercept_, *rest.coef_]
        np.testing.assert_allclose(influence[key], expected, rtol=1e-8)
    assert influence["n_out"] == len(out)
    assert ly.vif(model.estimator)["vif"].tolist() == found["vif"]["vif"]


def test_page_metrics_and_odds_ratios_equal_the_api():
    model, data, found, page = made("logistic")
    evaluation = fit_folds(model, data).evaluation()
    assert found["evaluation"]["metrics"]["value"] == evaluation.metrics["value"].tolist()
    words = "".join(Reader(page).texts["main"])
    for metric in ("accuracy", "recall", "roc_auc"):
        assert format_number(evaluation[metric]) in words
    deviations = dict(zip(found["names"], found["scales"], strict=True))
    for row in ly.odds_ratios(model.estimator):
        per_sd = row["odds_ratio"] ** (1.0 if row["term"] in found["levels"] else deviations[row["term"]])
        assert format_factor(per_sd) in words
    counts = np.column_stack([evaluation.confusion[name] for name in evaluation.confusion.columns[1:]])
    matrix = re.search(r'<table class="matrix"[^>]*>.*?</table>', page, re.DOTALL)[0]
    assert re.findall(r'class="(?:right|wrong)-\d">(\d+)<', matrix) == [str(n) for n in counts.ravel()]
    assert "Confusion matrix: rows actual, columns predicted" in matrix


@pytest.mark.parametrize(
    ("spread", "said"), [(0.997, "0.997"), (1.0004, "1.0004"), (1.0, "1"), (1.04, "1.04"), (0.25, "0.25"), (31.4, "31")]
)
def test_describe_odds_deviation_near_one_keeps_its_digits(spread, said):
    # Beside it stands the odds ratio of one unit, exp(9.5), which is another number unless the deviation is 1.
    words = describe_odds(9.5, spread, "it", 2.0, 3.0)
    assert words.startswith(f"an increase by {said}, a standard deviation, multiplies the odds by ")
    assert (format_number(np.exp(9.5), 3) in words) == (spread == 1)


def test_page_of_perceptron_states_the_mistake_bound():
    model, data, found, page = made("perceptron")
    X, y = data[["a", "b"]], data["side"]
    bound = ly.mistake_bound(X, y)
    assert found["separability"]["verdict"] == "separable"
    assert found["separability"]["bound"] == pytest.approx(bound)
    assert model.estimator.n_updates_ <= bound
    words = "".join(Reader(page).texts["main"])
    assert format_number(found["separability"]["bound"], 6) in words
    assert "Novikoff" in words
    assert "The number of updates is within the bound" in words


def test_overlap_of_a_certificate_is_proven_by_rows_and_error_floor():
    _, data, found, page = made("pocket")
    X, y = data.drop(columns="species"), data["species"]
    proof = found["separability"]
    assert proof["verdict"] == ly.separability(X, y).verdict == "overlapping"
    assert proof["floor"] == int(ly.error_floor(X, y)) <= proof["errors"]
    assert "Witness rows" in Reader(page).texts["caption"]


@pytest.mark.parametrize("name", ["perceptron", "batch", "pocket", "voted", "averaged"])
def test_a_perceptron_for_rows_that_overlap_is_not_told_to_use_one(name):
    data = iris(slice(2, 4), "setosa")
    model = quietly(name, data, target="species")
    page = render(facts(model, model.design_rows(data)))
    assert "so a perceptron never converges" in page
    assert ("Use a model that allows errors" in page) == (name in ("perceptron", "batch"))


def test_separated_coefficients_are_not_called_estimates():
    _, _, found, page = made("separated")
    assert found["separated"] == "separable"
    words = "".join(Reader(page).texts["main"])
    assert "maximum likelihood has no finite estimate" in words
    assert 'bias_reduction="firth"' in words
    assert "are where the search stopped, not estimates" in words


def test_facts_regions_equal_predictions():
    model, _, found, _ = made("qda")
    plane = found["plane"]
    points = pd.DataFrame(plane["points"], columns=plane["names"])
    assert [found["classes"][k] for k in plane["predicted"]] == model.predict(points).tolist()
    lead = np.array(plane["lead"])
    assert (lead.argmax(axis=0) == np.array(plane["region"])).mean() > 0.999


# --- what the page advises ------------------------------------------------------------------------


def advice(model, data):
    """What the page says to trust, and to do."""
    found = findings(facts(model, model.design_rows(data)))
    return " ".join(part.claim for part in found), " ".join(part.remedy for part in found)


def test_uneven_errors_call_for_robust_intervals():
    trust, todo = advice(*made("categories")[:2])
    assert "The variance of the errors changes" in trust
    assert 'covariance="HC3"' in todo
    trust, todo = advice(*made("robust")[:2])
    assert "HC3" not in todo


def test_report_names_the_column_of_a_curve_and_none_for_a_line():
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, 300)
    line = pd.DataFrame({"x": x, "y": 1 + x + rng.normal(size=300)})
    bent = line.assign(y=line["y"] + x**2)
    assert "The residuals follow a curve in x" in advice(quietly("linear", bent, target="y"), bent)[0]
    trust, todo = advice(quietly("linear", line, target="y"), line)
    assert "curve in" not in trust
    assert "held-out rows" in todo


def test_report_names_an_influential_row():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=50)})
    data["y"] = data["x"] + rng.normal(size=50)
    data.loc[17] = [8.0, -20.0]
    trust, todo = advice(quietly("linear", data, target="y"), data)
    assert "The fit depends heavily on row 17" in trust
    assert "row 17" in todo


def test_columns_that_repeat_each_other_are_named():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.normal(size=80), "z": rng.normal(size=80)})
    data["twin"], data["y"] = data["x"] + 0.05 * rng.normal(size=80), data["x"] + rng.normal(size=80)
    assert "Other columns nearly determine" in advice(quietly("linear", data, target="y"), data)[0]
    data["twin"] = data["x"]
    trust, todo = advice(quietly("linear", data, target="y"), data)
    assert "Other columns determine twin" in trust
    assert "Drop twin" in todo


def test_levels_are_known_by_their_category_and_not_by_their_name():
    rng = np.random.default_rng(4)
    celsius = rng.normal(size=80)
    data = pd.DataFrame({"temp[C]": celsius, "temp[F]": 32 + 1.8 * celsius + 0.05 * rng.normal(size=80)})
    data["kind"] = np.r_[["a"] * 2, np.repeat(["b", "c"], 39)]  # few of the reference: b and c nearly tell each other
    data["y"] = celsius + rng.normal(size=80)
    model = quietly("linear", data, target="y")
    trust, _ = advice(model, data)
    assert re.search(r"nearly determine temp\[(F|C)\] and temp\[(F|C)\]", trust)
    assert "kind[" not in trust
    assert max(facts(model, model.design_rows(data))["vif"]["vif"][2:]) > 10


def test_lost_digits_call_for_what_the_model_has():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.normal(size=80), "y": rng.normal(size=80)})
    model = quietly("ridge", data, target="y")
    found = facts(model, model.design_rows(data))
    found["statistics"]["digits"] = 3.0
    (said,) = [part for part in findings(found) if part.claim.startswith("Only about 3 digits")]
    assert said.remedy == "Drop columns that repeat each other, or try larger alphas."


def test_other_rows_than_those_of_the_fit_are_detected():
    data = diabetes()
    model = quietly("linear", data.iloc[:300], target="progression")
    found = facts(model, model.design_rows(data.iloc[300:]))
    assert not found["training"]
    assert found["influence"] is None
    assert found["tests"] == []
    assert "leverage" not in found["sample"]
    words = "".join(Reader(render(found)).texts["main"])
    assert "not the rows of the fit" in words
    expected = np.sqrt(np.mean((model.predict(data.iloc[300:]) - data["progression"].iloc[300:]) ** 2))
    assert format_number(float(expected), 3) in words


def test_perfect_fits_and_few_rows_have_a_page():
    exact = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0], "y": [1.0, 3.0, 5.0, 7.0, 9.0]})
    model = quietly("linear", exact, target="y")
    assert "mean" in render(facts(model, model.design_rows(exact)))
    three = pd.DataFrame({"x": [0.0, 1.0, 2.0], "z": [1.0, 0.0, 5.0], "y": [0.0, 1.0, 5.0]})
    model = quietly("linear", three, target="y")
    assert "Intervals are not available" in render(facts(model, model.design_rows(three)))


def test_weights_and_no_intercept():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"x": rng.normal(size=90), "w": rng.integers(0, 3, 90).astype(float)})
    data["y"] = 2 * data["x"] + rng.normal(size=90)
    model = quietly("linear", data, target="y", weight="w", fit_intercept=False)
    found = facts(model, model.design_rows(data))
    assert found["training"]
    assert found["n"] == int((data["w"] > 0).sum())
    assert not set(found["sample"]["row"]) & set(np.flatnonzero(data["w"] == 0))
    assert {test["test"] for test in found["tests"]} >= {"unequal_variance", "serial_correlation", "curvature"}
    assert "The model has no intercept" in render(found)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_report_of_a_target_determined_by_columns_has_no_residuals(offset):
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    data["y"] = offset + 3 * data["a"] - data["b"]
    model = quietly("linear", data, target="y")
    trust, _ = advice(model, data)
    assert "The columns determine y exactly" in trust
    assert not any(said in trust for said in ("curve in", "variance of the errors", "neighbouring rows", "not normal"))
    assert 'id="residuals"' not in render(facts(model, model.design_rows(data)))
    data["y"] += 1e-6 * rng.normal(size=300)
    assert "exactly" not in advice(quietly("linear", data, target="y"), data)[0]


def test_curves_of_many_labels_name_the_best_and_the_worst():
    rng = np.random.default_rng(3)
    label = np.repeat([f"label {k:02}" for k in range(12)], 20)
    data = pd.DataFrame({"x": np.repeat(np.arange(12.0), 20) + rng.normal(size=240), "label": label})
    model = quietly("lda", data, target="label")
    found = model.evaluate(data)
    for draw in (ly.plot_roc, ly.plot_precision_recall):
        ax = draw(found)
        assert 1 <= len(ax.get_legend().get_texts()) <= 3
        assert re.search(r"best\s+label\s+\d+,\s+worst\s+label\s+\d+", ax.get_title(loc="left"))
        matplotlib.pyplot.close(ax.figure)
    few = data[data["x"] < 4]
    ax = ly.plot_roc(quietly("lda", few, target="label").evaluate(few))
    assert len(ax.get_legend().get_texts()) > 3
    matplotlib.pyplot.close(ax.figure)


def test_letters_that_the_font_lacks_are_no_warning():
    data = diabetes(60)[["age", "bmi", "progression"]].rename(columns={"age": "🎉", "bmi": "数据"})
    model = quietly("linear", data, target="progression")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "数据" in render(facts(model, model.design_rows(data)))


# --- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "logistic", "pocket", "lda"])
def test_no_rows_leaves_out_every_value_of_a_row(name):
    model, data, full, _ = made(name)
    found = facts(model, model.design_rows(data), no_rows=True)
    assert "rows" not in found
    assert "sample" not in found
    assert not found.get("plane")
    assert not {"witness", "meeting_point"} & (found.get("separability") or {}).keys()
    words = "".join(Reader(render(found)).texts["main"])
    assert "Sample of the rows" not in words
    assert "Witness rows" not in words
    assert not re.search(r"\brow \d", words.lower())
    kept = full["statistics"] if "statistics" in full else full["evaluation"]["metrics"]
    assert (found["statistics"] if "statistics" in found else found["evaluation"]["metrics"]) == kept


def test_a_search_is_reported_on_as_fitted_and_not_as_the_estimator_it_began_with():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    label = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    search = GridSearchCV(ly.LogisticRegression(), {"alpha": [1.0]}, cv=2).fit(X, label)
    best = facts(search.best_estimator_, as_rows(X, label))
    assert facts(search, as_rows(X, label))["evaluation"] == best["evaluation"]


class Blocks(InMemoryRows):
    """The same rows in other blocks."""

    def __init__(self, rows, step):
        super().__init__(rows._cut, (rows.n, len(rows.names)), rows.y, rows.weight, rows.names)
        self._step = step


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_facts_do_not_depend_on_the_blocks(kind):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(7000, 3))
    noisy = X @ [1.0, 0.5, 0.0] + rng.normal(size=7000)
    y = noisy if kind == "linear" else np.where(noisy > 0, "b", "a")
    rows = as_rows(X, y)
    model = (ly.LinearRegression if kind == "linear" else ly.LogisticRegression)().fit(X, y)
    one, many = facts(model, rows), facts(model, Blocks(rows, 512))
    assert one["rows"] == many["rows"]
    if kind == "linear":
        assert one["sample"]["row"] == many["sample"]["row"]
        assert one["influence"]["rows"]["place"] == many["influence"]["rows"]["place"]
        for a, b in zip(one["tests"], many["tests"], strict=True):
            assert a["p_value"] == pytest.approx(b["p_value"], rel=1e-6, abs=1e-12)
        assert len(one["sample"]["row"]) < 7000
    assert len(render(one).encode()) <= LARGEST


# --- the live refit -------------------------------------------------------------------------------


def refitted(tmp_path, page, asked):
    """What the script of the page answers in Node."""
    (script,) = (one for one in re.findall(r"<script>(.*?)</script>", page, re.DOTALL) if "refit" in one)
    summary = re.search(r'<script type="application/json" id="summary">(.*?)</script>', page, re.DOTALL)[1]
    (tmp_path / "refit.js").write_text(script, encoding="utf-8")
    (tmp_path / "summary.json").write_text(summary, encoding="utf-8")
    (tmp_path / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    code = """
        const { refit } = require("./refit.js"), read = (name) => JSON.parse(require("fs").readFileSync(name, "utf8"));
        const summary = read("summary.json");
        console.log(JSON.stringify(read("asked.json").map(([kept, alpha]) => refit(summary, kept, alpha))));
    """
    run = subprocess.run(["node", "-e", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_script_refits_as_the_library_does(tmp_path, require, intercept):
    require(shutil.which("node"), "needs Node")
    data = diabetes().assign(year=1990.0 + np.arange(442) % 7)
    names = [name for name in data.columns if name != "progression"]
    model = quietly("linear", data, target="progression", fit_intercept=intercept)
    page = render(facts(model, model.design_rows(data)))
    asked = [(kept, alpha) for kept in (list(range(11)), [0, 2, 3, 10], [5]) for alpha in (0.0, 0.01, 3.0)]
    for (kept, alpha), answer in zip(asked, refitted(tmp_path, page, asked), strict=True):
        chosen = [names[j] for j in kept]
        peer = ly.LinearRegression(alpha=alpha, fit_intercept=intercept).fit(data[chosen], data["progression"])
        row, errors = ly.glance(peer).row(0), peer.std_errors()[int(intercept) :, 0]
        np.testing.assert_allclose([answer["coef"][j] for j in kept], peer.coef_, rtol=1e-7)
        np.testing.assert_allclose([answer["error"][j] for j in kept], errors, rtol=1e-7)
        assert answer["intercept"] == pytest.approx(peer.intercept_, rel=1e-7, abs=1e-7)
        assert answer["rSquared"] == pytest.approx(row["r_squared"], rel=1e-9)
        assert answer["sigma"] == pytest.approx(row["sigma"], rel=1e-9)
        assert [j for j, value in enumerate(answer["coef"]) if value is not None] == kept


def test_the_script_says_where_columns_repeat_each_other(tmp_path, require):
    require(shutil.which("node"), "needs Node")
    page = made("linear")[3]
    (none,) = refitted(tmp_path, page, [([], 0.0)])
    assert none["rSquared"] == pytest.approx(0.0)
    summary = json.loads(re.search(r'id="summary">(.*?)</script>', page)[1])
    summary["cross"][1] = list(summary["cross"][0])
    for row in summary["cross"]:
        row[1] = row[0]
    twin = re.sub(r'(id="summary">).*?(</script>)', lambda m: m[1] + json.dumps(summary) + m[2], page)
    assert refitted(tmp_path, twin, [([0, 1], 0.0)]) == [None]
    assert refitted(tmp_path, twin, [([0, 1], 1.0)]) != [None]


def test_a_page_without_a_summary_has_no_script():
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(rng.normal(size=(200, 61))).rename(columns=str).assign(y=rng.normal(size=200))
    model = quietly("linear", wide, target="y")
    page = render(facts(model, model.design_rows(wide)))
    assert 'id="summary"' not in page
    assert '<h2 id="h-refit">' not in page
    assert len(page.encode()) <= LARGEST


# --- a real browser -------------------------------------------------------------------------------

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--no-first-run", "--disable-component-update", "--disable-extensions", "--disable-features=OptimizationHints",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=3000",
)  # fmt: skip
OWN = r"https?://(?:accounts|clients\d|update|redirector)\.(?:google|googleapis|gvt1)\.com/"  # the browser's own calls


def browsed(tmp_path, page, *more):
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    logs = ["--enable-logging=stderr", f"--log-net-log={tmp_path / 'net.json'}"]
    command = [BROWSER, *FLAGS, *logs, f"--user-data-dir={tmp_path / 'profile'}", *more, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def requests(tmp_path):
    """What the page asked the network for."""
    log = (tmp_path / "net.json").read_text(encoding="utf-8", errors="replace")
    return {url for url in re.findall(r'"url":\s*"(https?://[^"]*)"', log) if not re.match(OWN, url)}


def test_page_fixture_detects_requests_and_console_errors(tmp_path, require):
    require(BROWSER, "needs Chromium")
    page = made("logistic")[3].replace("</main>", '<img alt="" src="http://example.invalid/x.png"></main>')
    assert "CONSOLE" in browsed(tmp_path, page, "--dump-dom").stderr, "the policy refuses it"
    browsed(tmp_path, page.replace("Content-Security-Policy", "X-None"), "--dump-dom")
    assert requests(tmp_path) == {"http://example.invalid/x.png"}


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_a_browser_loads_the_page_without_complaint_or_request(tmp_path, require, name):
    require(BROWSER, "needs Chromium")
    run = browsed(tmp_path, made(name)[3], "--dump-dom")
    assert not re.findall(r"CONSOLE.*", run.stderr)
    assert requests(tmp_path) == set()
    shown = Reader(run.stdout)
    assert len(shown.all("svg")) == len(Reader(made(name)[3]).all("svg"))
    if name == "linear":
        section = next(attributes for tag, attributes in shown.elements if attributes.get("id") == "refit")
        assert "hidden" not in section
        body = re.search(r'<tbody id="refit-terms">(.*?)</tbody>', run.stdout, re.DOTALL)[1]
        assert body.count("<tr>") == 11
        for row in body.split("</tr>")[:-1]:
            fitted, now, _ = re.findall(r"<td>(.*?)</td>", row)
            assert fitted == now


NARROW = """() => {
    const inside = (one) => one.getBoundingClientRect().left >= 0 && one.getBoundingClientRect().right <= innerWidth;
    const cells = [...document.querySelectorAll('table[data-figures] td:last-child')];
    const cramped = [...document.querySelectorAll('svg.figure')].filter((one) => {
        const text = one.querySelector('text')?.getBoundingClientRect();
        return text && text.height < 8;
    });
    const width = document.documentElement.scrollWidth;
    const cut = [...document.querySelectorAll('figure *')].filter((one) => one.scrollWidth > one.clientWidth + 1)
        .filter((one) => getComputedStyle(one).overflowX === 'auto');
    const hinted = (one) => one.tabIndex === 0 && getComputedStyle(one).backgroundAttachment.includes('local');
    const said = [...document.querySelectorAll('figcaption')].every(inside);
    const wide = [...document.querySelectorAll('svg.wide')];
    const keys = said && cut.length === wide.length && wide.every((one) => hinted(one.parentElement));
    return [cells.length > 20 && cells.every(inside), cramped.length, width, keys];
}"""


@pytest.mark.parametrize("name", ["linear", "categories", "logistic", "three"])
def test_a_narrow_screen_shows_sentences_whole_and_letters_that_can_be_read(tmp_path, require, name):
    require(BROWSER, "needs Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        require(False, "needs playwright: pip install 'linearly[test]'")
    path = tmp_path / "page.html"
    path.write_text(made(name)[3], encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS[1:6])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(path.as_uri())
        whole, cramped, width, keys = page.evaluate(NARROW)
        # On paper a number is never broken into two lines.
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 700, "height": 900})
        numbers = page.evaluate("""() => [...document.querySelectorAll('table.small td:not(.left):not(.words)')]
            .map((one) => { const range = document.createRange(); range.selectNodeContents(one);
                return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; })""")
        browser.close()
    assert whole
    assert cramped == 0
    assert width <= 390
    assert keys  # what is out of sight of a picture is hinted at, and can be reached
    assert set(numbers) == {1}


@pytest.mark.parametrize("name", ["logistic", "three"])
def test_the_reference_of_the_log_loss_is_that_of_the_shares_of_the_labels(name):
    found = made(name)[2]
    loss = found["baseline"]["log_loss"]
    assert 0 < loss <= np.log(len(found["classes"])) + 1e-12
    assert f"Lower is better. The shares of the labels alone give {format_number(loss, 2)}." in made(name)[3]


@pytest.mark.parametrize(("apart", "verdict"), [(2.0, None), (60.0, "separable")])
def test_a_proof_among_many_labels_is_looked_for_where_it_is_near(apart, verdict):
    # Of 40 labels that overlap the proof took a minute, the rest of the page a second.
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(40), 20)
    data = pd.DataFrame(apart * rng.normal(size=(40, 4))[code] + rng.normal(size=(800, 4)), columns=list("abcd"))
    data["label"] = [f"label {k:02}" for k in code]
    model = quietly("lda", data, target="label")
    found = facts(model, model.design_rows(data))
    assert (found["separability"] and found["separability"]["verdict"]) == verdict
    said = (
        "Separability is not decided, because the table has many rows or labels."
        if verdict is None
        else "Yes. With one linear score"
    )
    assert said in render(found)


def test_a_confusion_matrix_of_many_labels_leaves_the_words_to_the_table_below_it():
    rng = np.random.default_rng(0)
    for n_labels, words in ((6, 1), (7, 0)):
        code = np.repeat(np.arange(n_labels), 30)
        data = pd.DataFrame(rng.normal(size=(n_labels, 3))[code] + rng.normal(size=(len(code), 3)), columns=list("abc"))
        model = quietly("lda", data.assign(label=[f"label {k}" for k in code]), target="label")
        page = render(facts(model, model.design_rows(data.assign(label=[f"label {k}" for k in code]))))
        matrix = re.search(r'<table class="matrix".*?</table>', page, re.DOTALL)[0]
        assert matrix.count(">in words<") == words
        assert "label 3 found" in page if words else "found; " in page


def test_report_of_unrelated_columns_states_no_inflation():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    data["y"] = data.a + data.b + rng.normal(size=400)
    model = quietly("linear", data, target="y")
    page = render(facts(model, model.design_rows(data)))
    assert "no inflation" in page
    assert "standard error 1 times" not in page


def test_the_refit_shows_only_where_scripts_run():
    reader = Reader(made("linear")[3])
    hidden = [attributes for _, attributes in reader.elements if "data-scripted" in attributes]
    assert len(hidden) == 2
    assert all("hidden" in attributes for attributes in hidden)


# --- files, notebooks, refusals -------------------------------------------------------------------


def test_report_is_written_atomically(tmp_path, monkeypatch):
    model, data, _, page = made("categories")
    path = tmp_path / "report.html"
    model.report(path, data)
    assert path.read_text(encoding="utf-8") == page
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.report(path, data)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    monkeypatch.undo()
    with pytest.raises(
        ValueError, match=r"report.html cannot be written, because the directory .*missing does not exist"
    ):
        model.report(tmp_path / "missing" / "report.html", data)


def test_a_bare_estimator_has_a_report_too(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = ly.LinearDiscriminantAnalysis().fit(X, y)
    write_report(model, as_rows(X, y), tmp_path / "lda.html")
    assert "y (0, 1 and 2)" in (tmp_path / "lda.html").read_text(encoding="utf-8")
    with pytest.raises(TypeError, match=r"requires Rows with targets"):
        write_report(model, X, tmp_path / "lda.html")


def test_facts_raises_for_unsupported_models():
    X, y = load_iris(return_X_y=True)
    rows = as_rows(X, y)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        facts(ly.LinearRegression().fit(X, y), rows, level=95)
    with pytest.raises(TypeError, match="facts requires Rows"):
        facts(ly.LinearRegression().fit(X, y), X)
    Y = np.column_stack([y == 0, y == 1]).astype(int)
    with pytest.raises(ValueError, match="one label per row"):
        facts(ly.LogisticRegression(alpha=1.0).fit(X, Y), rows)
    with pytest.raises(ValueError, match="one target"):
        facts(ly.LinearRegression().fit(X, Y.astype(float)), rows)
    from sklearn.cluster import KMeans

    with pytest.raises(TypeError, match="not KMeans"):
        facts(KMeans(2, n_init=1).fit(X), rows)


def test_page_uses_one_confidence_level():
    model, data, _, _ = made("categories")
    found = facts(model, model.design_rows(data), level=0.8)
    assert found["terms"]["conf_low"] == ly.tidy(model.estimator, level=0.8)["conf_low"].tolist()
    page = render(found)
    assert "80% interval" in page
    assert "95%" not in page


def test_render_without_jinja2_names_the_extra(monkeypatch):
    from linearly.report import texts as module

    module.environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'linearly\[cli\]'"):
        render(made("linear")[2])
    module.environment.cache_clear()


def test_a_notebook_shows_the_summary():
    for name in ("linear", "logistic"):
        html = made(name)[0]._repr_html_()
        assert "<table>" in html
        assert "<script" not in html


# --- numbers in words -----------------------------------------------------------------------------


def test_a_fit_that_chance_explains_is_not_called_fine():
    rng = np.random.default_rng(3)
    X, noise = rng.standard_normal((300, 3)), rng.standard_normal(300)
    said = {}
    for name, y in (("noise", noise), ("signal", X[:, 0] + noise)):
        columns = dict(zip("abc", X.T, strict=True)) | {"y": y}
        model = fit(columns, target="y")
        said[name] = [finding.claim for finding in findings(facts(model, model.design_rows(columns)))]
    assert any(sentence.startswith("No evidence that the columns explain") for sentence in said["noise"])
    assert "No check found a problem with the model." not in said["noise"]
    assert not any(sentence.startswith("No evidence that the columns explain") for sentence in said["signal"])


class TestSparsePage:
    """The page of a lasso or elastic net."""

    FRAME = load_diabetes(as_frame=True).frame

    def test_page_of_a_lasso_with_a_chosen_penalty_has_the_path_and_errors_of_the_folds(self, tmp_path):
        model = ly.fit(self.FRAME, target="target", model="lasso", rule="1se")
        write_report(model, self.FRAME, tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert f"{len(model.estimator.active_)} of 10 coefficients are not 0" in page
        assert "mean squared error on held-out rows" in page
        assert "proven to be optimal" in page
        assert "p-values" in page

    def test_the_page_leads_with_the_quality_and_names_metrics_in_words(self, tmp_path):
        model = ly.fit(self.FRAME, target="target", model="lasso", alpha=50.0)
        write_report(model, self.FRAME, tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert re.search(r'<p class="lead">R² is 0\.\d+ on the rows of the fit\. The root mean squared error', page)
        assert '<th scope="row">Root mean squared error</th>' in page
        assert "r_squared" not in page
        assert re.search(r"\d (higher|lower) per unit", page)

    def test_page_of_a_lasso_with_a_given_penalty_has_a_path_without_errors(self, tmp_path):
        model = ly.fit(self.FRAME, target="target", model="elastic-net", alpha=50.0)
        write_report(model, self.FRAME[:300], tmp_path / "page.html", held_out=self.FRAME[300:])
        page = (tmp_path / "page.html").read_text()
        assert "coefficient × standard deviation" in page
        assert "mean squared error on held-out rows" not in page
        assert "rows held out of the fit" in page
