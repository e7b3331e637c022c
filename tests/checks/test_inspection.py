"""`inspect_table` finds what is wrong with a table before any fit, in the words of the Python API."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ttest_ind

from linearly.checks import inspect_table

N = 60
RNG = np.random.default_rng(5)
X, Z = RNG.normal(size=(2, N))
Y = X - Z + RNG.normal(size=N)


def findings(columns, target="y", weight=None):
    return {(one.about, one.severity): one for one in inspect_table(columns, target, weight).findings}


def test_clean_table_has_no_problem():
    found = inspect_table({"x": X, "z": Z, "y": Y}, "y").findings
    assert {one.severity for one in found} == {"OK"}


@pytest.mark.parametrize(
    ("column", "text", "remedy"),
    [
        (np.full(N, 3), "is constant (3 in every row)", "leave it out"),
        (np.where(np.arange(N) < 5, np.inf, X), "is infinite in 5 rows", "correct the values, or leave the column out"),
        (
            [f"name {i}" for i in range(N)],
            "looks like an identifier, because it has 60 different texts",
            "leave it out",
        ),
        (2 * X, "is a multiple of x", "leave it out"),
        (X.copy(), "is a duplicate of x", "leave it out"),
        (2 - X, "is a linear function of x", "leave it out"),
        (X + Z, "is a combination of x, z", "leave it out"),
        (
            [f"${i}" for i in range(N)],
            "is text, although its numbers are written like '$0'",
            "write plain numbers, or ",
        ),
    ],
)
def test_unusable_column_is_left_out(column, text, remedy):
    problem = findings({"x": X, "z": Z, "bad": column, "y": Y})["bad", "Problem"]
    assert problem.claim == text
    assert problem.remedy.startswith(remedy)
    assert problem.options == (("without", "bad"),)


def test_column_without_a_name_stops_a_fit():
    problem = findings({"": X, "g": np.where(Z > 0, "a", "b"), "y": Y})["columns", "Problem"]
    assert (problem.claim, problem.stops) == ("a column has no name", True)


def test_missing_values_drop_rows_or_columns():
    holes = np.where(np.arange(N) < 6, np.nan, X)
    found = findings({"few": holes, "many": np.where(np.arange(N) < 30, np.nan, Z), "y": Y})
    assert found["few", "Problem"].options == (("missing", "drop"),)
    assert found["many", "Problem"].options == (("without", "many"),)


def test_target_of_rows_with_missing_values_is_compared():
    rng = np.random.default_rng(0)
    x, z, e = rng.normal(size=(3, 400))
    by_chance = rng.random(400) < 0.2
    for y in (np.exp(e), np.where(e > 0, "yes", "no"), rng.integers(0, 2, 400)):
        high = np.array(y == "yes" if y.dtype.kind == "U" else y > np.median(y))
        for lost, name in ((by_chance, "missing_not_by_target"), (high & (z > 0.3), "missing_by_target")):
            found = {
                one.id: one for one in inspect_table({"x": np.where(lost, np.nan, x), "y": y}, target="y").findings
            }
            assert name in found
            assert (found[name].p_value <= 0.05) == (name == "missing_by_target")
    few = np.where(np.arange(400) < 9, np.nan, x)
    ids = {one.id for one in inspect_table({"x": few, "y": e}, target="y").findings}
    assert not ids & {"missing_by_target", "missing_not_by_target"}  # 9 rows are too few for a claim


def test_comparison_of_incomplete_rows_is_the_t_test_and_the_chi_squared_test():
    rng = np.random.default_rng(1)
    x, e = rng.normal(size=(2, 200))
    lost, label = rng.random(200) < 0.25, rng.choice(["a", "b", "c"], 200)
    table = {"x": np.where(lost, np.nan, x), "y": 1e6 + e}
    found = {one.id: one for one in inspect_table(table, target="y").findings}["missing_not_by_target"]
    assert found.p_value == pytest.approx(ttest_ind(e[lost], e[~lost]).pvalue, rel=1e-6)
    found = {one.id: one for one in inspect_table(table | {"y": label}, target="y").findings}["missing_not_by_target"]
    counts = [[np.sum((label == one) & (lost == out)) for out in (0, 1)] for one in "abc"]
    assert found.statistic == pytest.approx(chi2_contingency(counts).statistic * 199 / 200)


def test_separable_labels_need_a_penalty():
    problem = findings({"x": X, "z": Z, "y": np.where(X > 0, "a", "b")})["y", "Problem"]
    assert "linearly separable without an error" in problem.claim
    assert problem.options == (("alpha", "1"),)


def test_target_that_is_a_column_in_other_units_is_leakage():
    problem = findings({"x": X, "z": Z, "y": 1000 * X + 5})["y", "Problem"]
    assert problem.claim == "the target is a linear function of x, without an error"
    assert problem.options == (("without", "x"),)


def test_constant_target_stops():
    assert findings({"x": X, "y": np.ones(N)})["y", "Problem"].stops


def test_weight_is_not_a_feature():
    assert not any(about == "w" for about, _ in findings({"x": X, "z": Z, "w": np.ones(N), "y": Y}, weight="w"))


@pytest.mark.parametrize("columns", [{"target": "no"}, {"weight": "no"}])
def test_unknown_column_raises(columns):
    with pytest.raises(ValueError, match="'no'"):
        inspect_table({"x": X, "y": Y}, **columns)


def test_no_remedy_has_options_of_the_command_line():
    table = {"x": X, "x2": X, "c": np.ones(N), "few": np.where(X > 1, np.nan, X), "y": np.where(X > 0, 1, 0)}
    assert not [one for one in inspect_table(table, "y").findings if "--" in one.remedy]
