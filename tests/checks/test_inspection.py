"""`inspect_table` finds what is wrong with a table before any fit, in the words of the Python API."""

import ast
from pathlib import Path

import numpy as np
import pytest

import linearly.checks
from linearly.checks import inspect_table

N = 60
RNG = np.random.default_rng(5)
X, Z = RNG.normal(size=(2, N))
Y = X - Z + RNG.normal(size=N)


def findings(columns, target="y", weight=None):
    return {(one.about, one.level): one for one in inspect_table(columns, target, weight).findings}


def test_clean_table_has_no_problem():
    found = inspect_table({"x": X, "z": Z, "y": Y}, "y").findings
    assert {one.level for one in found} == {"ok"}


@pytest.mark.parametrize(
    ("column", "text", "remedy"),
    [
        (np.full(N, 3), "is constant (3 in every row)", "leave it out"),
        (np.where(np.arange(N) < 5, np.inf, X), "is infinite in 5 rows", "correct them, or leave it out"),
        ([f"name {i}" for i in range(N)], "looks like an identifier: 60 different texts", "leave it out"),
        (2 * X, "is a multiple of x", "leave it out"),
        (X.copy(), "is a duplicate of x", "leave it out"),
        (2 - X, "is a linear function of x", "leave it out"),
        (X + Z, "is a combination of x, z", "leave it out"),
        ([f"${i}" for i in range(N)], "is text, though its numbers are written like '$0'", "write plain numbers, or "),
    ],
)
def test_unusable_column_is_left_out(column, text, remedy):
    problem = findings({"x": X, "z": Z, "bad": column, "y": Y})["bad", "problem"]
    assert problem.text == text
    assert problem.remedy.startswith(remedy)
    assert problem.options == (("without", "bad"),)


def test_missing_values_drop_rows_or_columns():
    holes = np.where(np.arange(N) < 6, np.nan, X)
    found = findings({"few": holes, "many": np.where(np.arange(N) < 30, np.nan, Z), "y": Y})
    assert found["few", "problem"].options == (("missing", "drop"),)
    assert found["many", "problem"].options == (("without", "many"),)


def test_separable_labels_need_a_penalty():
    problem = findings({"x": X, "z": Z, "y": np.where(X > 0, "a", "b")})["y", "problem"]
    assert "told apart without an error" in problem.text
    assert problem.options == (("alpha", "1"),)


def test_target_that_is_a_column_in_other_units_is_leakage():
    problem = findings({"x": X, "z": Z, "y": 1000 * X + 5})["y", "problem"]
    assert problem.text == "the target is a linear function of x, without an error"
    assert problem.options == (("without", "x"),)


def test_constant_target_stops():
    assert findings({"x": X, "y": np.ones(N)})["y", "problem"].stops


def test_weight_is_not_a_feature():
    assert not any(about == "w" for about, _ in findings({"x": X, "z": Z, "w": np.ones(N), "y": Y}, weight="w"))


@pytest.mark.parametrize("columns", [{"target": "no"}, {"weight": "no"}])
def test_unknown_column_raises(columns):
    with pytest.raises(ValueError, match="'no'"):
        inspect_table({"x": X, "y": Y}, **columns)


def test_no_remedy_has_options_of_the_command_line():
    table = {"x": X, "x2": X, "c": np.ones(N), "few": np.where(X > 1, np.nan, X), "y": np.where(X > 0, 1, 0)}
    assert not [one for one in inspect_table(table, "y").findings if "--" in one.remedy]


def test_checks_do_not_import_the_command_line():
    for path in Path(linearly.checks.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("linearly.cli"), path.name
