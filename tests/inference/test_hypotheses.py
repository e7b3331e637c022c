"""Hypotheses about coefficients: R's linearHypothesis, the language, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from processor_time import processor_time
from questions_cases import DATA, GOLDEN

import linearly as ly

JOINT = ["a[a2] = a[a3]", "x = 1", "2*z + b[b2] = -1"]


@pytest.fixture(scope="module")
def model():
    return ly.fit(DATA, formula="y ~ a * b + x + z")


def test_joint_hypotheses_are_those_of_linear_hypothesis(model):
    for fitted, expected in (
        (model, GOLDEN["hypotheses"]["joint"]),
        (ly.fit(DATA, formula="y ~ a * b + x + z", covariance="HC1"), GOLDEN["hypotheses"]["hc1"]),
    ):
        row = ly.hypotheses(fitted, JOINT, joint=True).row(0)
        assert row["df"] == expected["df"] == 3
        assert row["df_residual"] == 82
        assert row["statistic"] == pytest.approx(expected["statistic"], rel=1e-10)
        assert row["p_value"] == pytest.approx(expected["p_value"], rel=1e-9)


def test_single_hypotheses_are_roots_of_the_f_tests(model):
    table = ly.hypotheses(model, JOINT)
    assert table["hypothesis"].tolist() == JOINT
    for i, expected in enumerate(GOLDEN["hypotheses"]["single"]):
        assert table["statistic"][i] ** 2 == pytest.approx(expected["statistic"], rel=1e-10)
        assert table["p_value"][i] == pytest.approx(expected["p_value"], rel=1e-9)
    tidy = {row["term"]: row for row in ly.tidy(model)}
    assert table["estimate"][1] == pytest.approx(tidy["x"]["estimate"], rel=1e-12)  # x itself, tested against 1
    assert table["conf_high"][1] == pytest.approx(tidy["x"]["conf_high"], rel=1e-12)
    assert table["statistic"][1] == pytest.approx((tidy["x"]["estimate"] - 1) / tidy["x"]["std_error"], rel=1e-10)


def test_hypotheses_of_a_logistic_model_are_chi_squared():
    row = ly.hypotheses(ly.fit(DATA, formula="label ~ a * b + x"), ["a[a2] = a[a3]", "x = 1"], joint=True).row(0)
    expected = GOLDEN["hypotheses"]["logit"]
    assert (row["df"], row["df_residual"]) == (2, np.inf)
    assert row["statistic"] == pytest.approx(expected["statistic"], rel=1e-8)
    assert row["p_value"] == pytest.approx(expected["p_value"], rel=1e-8)


def test_hypotheses_of_three_classes_name_labels():
    model = ly.fit(DATA, formula="kind ~ x")
    table, tidy = ly.hypotheses(model, ["x = 0", "k1:x = k2:x"]), ly.tidy(model)
    assert table["hypothesis"].tolist() == ["k1: x = 0", "k2: x = 0", "k1:x = k2:x"]
    np.testing.assert_allclose(table["p_value"][:2], tidy["p_value"][tidy["term"] == "x"], rtol=1e-12)
    assert table["estimate"][2] == pytest.approx(table["estimate"][0] - table["estimate"][1], rel=1e-12)


def test_hypotheses_are_the_same_from_a_saved_file(model, tmp_path):
    model.save(tmp_path / "model.json")
    saved = ly.hypotheses(ly.load(tmp_path / "model.json"), JOINT)
    np.testing.assert_array_equal(saved["p_value"], ly.hypotheses(model, JOINT)["p_value"])


def test_adjusted_hypotheses_are_holms(model):
    plain, holm = (ly.hypotheses(model, JOINT, adjust=adjust)["p_value"] for adjust in (None, "holm"))
    order = np.argsort(plain)
    np.testing.assert_allclose(holm[order], np.minimum(np.maximum.accumulate(plain[order] * [3, 2, 1]), 1), rtol=1e-12)


def test_redundant_hypotheses_count_once_and_contradictions_raise(model):
    once = ly.hypotheses(model, ["x = 1", "z = 0"], joint=True).row(0)
    twice = ly.hypotheses(model, ["x = 1", "z = 0", "x + z = 1"], joint=True).row(0)
    assert once == pytest.approx(twice)
    with pytest.raises(ValueError, match="contradict each other"):
        ly.hypotheses(model, ["x = 1", "x = 2"], joint=True)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_combination_that_rows_do_not_determine_has_no_number():
    data = {"u": [0.0, 1, 2, 3, 4, 5], "v": [0.0, 2, 4, 6, 8, 10], "y": [1.0, 2, 2, 5, 4, 7]}
    table = ly.hypotheses(ly.fit(data, target="y"), ["u = 0", "u + 2*v = 0"])
    assert np.isnan(table["estimate"][0])
    assert np.isnan(table["p_value"][0])
    assert table["estimate"][1] == pytest.approx(np.polyfit(data["u"], data["y"], 1)[0], rel=1e-10)
    assert table.notes == ("The rows do not determine these hypotheses: u = 0.",)
    assert np.isnan(ly.hypotheses(ly.fit(data, target="y"), ["u = 0"], joint=True)["p_value"][0])


@pytest.mark.filterwarnings("ignore::linearly.SeparationWarning")
def test_separated_coefficient_has_no_number():
    model = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert np.isnan(ly.hypotheses(model, "x0 = 1")["estimate"][0])


def test_names_with_brackets_spaces_and_signs_are_matched_whole():
    rng = np.random.default_rng(0)
    data = {name: rng.normal(size=30) for name in ("net price", "net", "a-b", "a", "2", "y")}
    model = ly.fit(data, formula="y ~ `net price` + net + `a-b` + `2` + poly(a, 2, raw=True)")
    tidy = {row["term"]: row["estimate"] for row in ly.tidy(model)}
    table = ly.hypotheses(model, ["net price = net", "a-b = 0", "2*`2` = 0", "poly(a, 2, raw=True)[1] = 2"])
    expected = [tidy["net price"] - tidy["net"], tidy["a-b"], 2 * tidy["2"], tidy["poly(a, 2, raw=True)[1]"]]
    np.testing.assert_allclose(table["estimate"], expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a number is expected"),
        ("x = = 3", "a number is expected"),
        ("x = z = 3", "one equals sign"),
        ("x*z = 0", "is not linear"),
        ("x/z", "divided only by numbers"),
        ("x/0", "divided only by numbers"),
        ("xx = 0", "Term 'xx' is not in the model"),
        ("__import__('os').system('true')", "Term '__import__' is not in the model"),
        ("x.__class__", r"Term 'x\.__class__' is not in the model"),
        ("2 x", "2 x"),
        ("`x", "backtick is not closed"),
        ("x = x", "contains no coefficient"),
        ("1e999*x", "exceeds the float64 range"),
        ("(" * 9_000 + "x", "more than"),
        ("(" * 1_500 + "x", "nested too deeply"),
        ("-" * 1_500 + "x", "nested too deeply"),
        ("x + " * 2_400 + "x", "more than"),
        ("x" * 20_000, "characters"),
        ("x:" * 4_000, "is not in the model"),
        ("x\x1b[31m = 0", r"Term '\\x1b\[31m'"),
    ],
)
def test_hostile_hypothesis_is_refused_at_once(model, text, message):
    ly.hypotheses(model, "x = 0")  # imports what the first call of a process imports
    with processor_time() as taken, pytest.raises(ValueError, match=message):
        ly.hypotheses(model, text)
    assert taken.seconds < 0.1


FIRST_CALL = """
import sys, time
import linearly as ly
X, y = [[0.0], [1.0], [2.0], [4.0]], [1.0, 0.0, 2.0, 3.0]
model = {}
start = time.process_time()
try:
    ly.hypotheses(model, "__import__('os')")
except ValueError:
    print(time.process_time() - start, *sys.modules)
"""


@pytest.mark.parametrize(
    "fit", ["ly.LinearRegression().fit(X, y)", 'ly.fit({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, 2.0]}, formula="y ~ x")']
)
def test_first_hostile_hypothesis_of_a_process_is_refused_at_once(fit):
    run, seconds = [sys.executable, "-W", "ignore", "-c", FIRST_CALL.format(fit)], []
    for _ in range(3):  # other processes only lengthen a run
        taken, *modules = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
        seconds.append(float(taken))
    print(seconds)
    assert min(seconds) < 0.1
    assert "linearly.models.logistic_regression" not in modules


def test_hypotheses_refuse_wrong_arguments(model):
    for wrong in ([3], 3, None, b"x = 0"):
        with pytest.raises(TypeError, match="The hypothesis must be a string"):
            ly.hypotheses(model, wrong)
    with pytest.raises(ValueError, match="from 1 to"):
        ly.hypotheses(model, [])
    with pytest.raises(ValueError, match="adjust must be one of"):
        ly.hypotheses(model, "x", adjust="tukey")
    with pytest.raises(ValueError, match="level"):
        ly.hypotheses(model, "x", level=2)
    with pytest.raises(ValueError, match="Leave it out with joint"):
        ly.hypotheses(model, "x", joint=True, adjust="holm")
    with pytest.raises(TypeError, match="least-squares or logistic"):
        ly.hypotheses(ly.fit(DATA, formula="label ~ x", model="lda"), "x")


@pytest.mark.parametrize("name", ["tidy", "hypotheses", "anova"])
def test_model_of_several_labels_is_refused_by_the_function_that_was_called(name):
    rng = np.random.default_rng(0)
    model = ly.LogisticRegression().fit(rng.normal(size=(60, 2)), rng.integers(0, 2, (60, 3)))
    arguments = (model, "x0 = 0") if name == "hypotheses" else (model,)
    with pytest.raises(ValueError, match=f"^{name} requires a model with one target"):
        getattr(ly, name)(*arguments)
