"""Hostile formulas: refused at once with a remedy, and never executed."""

import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap

import narwhals.stable.v2 as nw
import pytest
from formula_cases import CRY
from hypothesis import given
from hypothesis import strategies as st
from processor_time import processor_time

from linearly.dataset.design.from_formula import formula_design
from linearly.dataset.design.serialization import design_from_json, design_to_json
from linearly.dataset.formula.expression import (
    MAX_NODES,
    parse,
)

LETTERS = "abcdefghijklmnopqrstuvw"
HOSTILE = [
    # Python
    f"y ~ {CRY}",
    f"y ~ {{{CRY}}}",
    f"y ~ I({CRY})",
    f"{CRY} ~ x",
    f"y ~ C(x, {CRY})",
    f"y ~ C(x, reference={CRY})",
    f"y ~ poly(x, {CRY})",
    f"y ~ poly(x, 2, raw={CRY})",
    f"y ~ log(x, {CRY})",
    f"y ~ log(x, key={CRY})",
    f"y ~ scale(x, ddof={CRY})",
    f"y ~ `{CRY}`",
    f"y ~ log(`{CRY}`)",
    f'y ~ eval("{CRY}")',
    'y ~ exec(\'open("executed", "w")\')',
    "y ~ open('executed', 'w')",
    "y ~ compile('1', '', 'eval')",
    "y ~ getattr(x, '__class__')",
    "y ~ globals()",
    "y ~ print(x)",
    "y ~ os.system('touch executed')",
    "y ~ np.log(x)",
    "y ~ x.__class__",
    "y ~ x.__class__.__base__.__subclasses__()",
    "y ~ (x).__class__",
    "y ~ I(x.__class__)",
    "y ~ I((x).real)",
    "y ~ I(log(x).real)",
    "y ~ I(''.join)",
    "y ~ I(x[0])",
    "y ~ x[0]",
    "y ~ [x for x in y]",
    "y ~ I([x, z])",
    "y ~ I({x: z})",
    "y ~ {{x}}{",
    "y ~ lambda: x",
    "y ~ I(lambda q: q)",
    "y ~ (lambda: 0)()",
    "y ~ I(x := 3)",
    "y ~ x := 3",
    "y ~ I(f'{x}')",
    'y ~ I(f"{x}")',
    "y ~ I(x if z else x)",
    "y ~ I(x and z)",
    "y ~ I(not x)",
    "y ~ I(x @ z)",
    "y ~ I(x // z)",
    "y ~ I(x % z)",
    "y ~ I(x << 60)",
    "y ~ I(~x)",
    "y ~ I(*x)",
    "y ~ log(**x)",
    "y ~ I(x; z)",
    "y ~ x; import os",
    "y ~ x # z",
    "y ~ x\\\n",
    "y ~ I('\\x41')",
    "y ~ x\x00",
    "y ~ I(yield x)",
    "y ~ I(await x)",
    "y ~ I(x, z)",
    "y ~ I()",
    "y ~ I(x=z)",
    "y ~ I('x')",
    "y ~ 'x'",
    "y ~ Q('x')",
    # huge numbers, powers and products
    "y ~ 9**9**9**9",
    "y ~ {9**9**9**9}",
    "y ~ I(9^9^9^9)",
    "y ~ I(x^9^9^9^9)",
    "y ~ x**9**9**9**9",
    "y ~ I(x**(9**9))",
    "y ~ I(x^17)",
    "y ~ I(x^-1000000000)",
    "y ~ I(2^x)",
    "y ~ I(x^z)",
    "y ~ I(1e999 * x)",
    f"y ~ I({'9' * 1500} * x)",
    "y ~ 10000000000000 * x",
    "y ~ 2:x",
    "y ~ 2",
    "y ~ x + 00",
    "y ~ x + .0",
    "y ~ x + 1.",
    "y ~ 1e5",
    "y ~ (a + b)^0",
    "y ~ (a + b)^-1",
    "y ~ (a + b)^1.5",
    "y ~ (a + b)^1000000000000",
    "y ~ (a + b)^c",
    "y ~ (a + b)^(1 + 1)",
    f"y ~ ({' + '.join(LETTERS)})^30",
    f"y ~ ({' + '.join(LETTERS)})^16",
    f"y ~ {' * '.join(LETTERS)}",
    f"y ~ {':'.join(LETTERS)}",
    f"y ~ {' / '.join(LETTERS)}",
    "y ~ .^16",
    "y ~ .*.*.*.*.*.",
    "y ~ .:.:.:.:.:.:.:.",
    f"y ~ {' * '.join(['(.^2)'] * 20)}",
    f"y ~ {' + '.join(['.^3'] * 500)}",
    "y ~ poly(x, 10**9)",
    "y ~ poly(x, 1000000000)",
    "y ~ poly(x, 21)",
    "y ~ poly(x, 0)",
    "y ~ poly(x, -1)",
    "y ~ poly(x, 2.5)",
    "y ~ poly(x, z)",
    "y ~ poly(x, 9^9)",
    "y ~ poly(x, 2, 3)",
    "y ~ poly(x, 2, degree=3)",
    "y ~ poly(x, 2, raw='yes')",
    "y ~ poly()",
    # long and deep
    f"y ~ {'(' * 5000}x{')' * 5000}",
    f"y ~ {'(' * 4000}x{')' * 4000}",
    f"y ~ {'(' * 31}x{')' * 31}",
    f"y ~ I({'(' * 900}x{')' * 900})",
    f"y ~ {'log(' * 200}x{')' * 200}",
    f"y ~ {'{' * 200}x{'}' * 200}",
    f"y ~ I({'-' * 1500}x)",
    f"y ~ {'-' * 1500}:x",
    f"y ~ I({'x^' * 700}2)",
    f"y ~ {'x^' * 3000}2",
    f"y ~ I({' + '.join(['x'] * 400)})",
    f"y ~ {' + '.join(['nothing'] * 2000)}",
    f"y ~ {'x' * 20_000}",
    f"y ~ {'x' * 9_000}",
    f"y ~ `{'x' * 9_000}`",
    f"y ~ {'%in% ' * 1000}x",
    f"y ~ {'x %in% ' * 1000}nothing",
    f"y ~ {'~' * 5000}",
    f"y ~ {'`' * 5001}",
    f"y ~ {'.' * 5000}",
    f"y ~ {'(x' * 30}",
    f"y ~ I({'9' * 1999}",
    # wrong grammar
    "",
    " ",
    "~",
    "y",
    "y ~",
    "~ x",
    "y ~ x ~ z",
    "y ~ (x ~ z)",
    "y ~ x z",
    "y ~ x +",
    "y ~ x + * z",
    "y ~ * x",
    "y ~ x:-z",
    "y ~ ()",
    "y ~ (x",
    "y ~ x)",
    "y ~ (x}",
    "y ~ (x)(z)",
    "y ~ x(z)",
    "y ~ {x",
    "y ~ `x",
    "y ~ ``",
    "y ~ 'x",
    "y ~ x, z",
    "y ~ x = z",
    "y ~ x | z",
    "y ~ x %% z",
    "y ~ %x%",
    "y ~ ..",
    "y ~ x + 3x",
    "y ~ 1:x",
    "y ~ (x + 1)^2",
    "y ~ a*b %in% c",
    "y ~ 0",
    "y ~ x - z",
    "1 ~ x",
    ". ~ x",
    "2 * 3 ~ x",
    "scale(y) ~ x",
    "C(y) ~ x",
    "log(region) ~ x",
    "y ~ y",
    "y ~ x + log(y)",
    "log(y) ~ x + y",
    # unknown names
    "y ~ prcie",
    "prcie ~ x",
    "y ~ log(prcie)",
    "y ~ lgo(x)",
    "y ~ log(scale(x))",
    "y ~ I(poly(x, 2))",
    "y ~ scale(scale(x))",
    "y ~ log(region)",
    "y ~ poly(region, 2)",
    "y ~ scale(region)",
    "y ~ C(log(x))",
    "y ~ C(region, region)",
    "y ~ C(region, 'north', 'south')",
    "y ~ C(region, Treatment('north', 'south'))",
    "y ~ C(region, levels='north')",
    "y ~ C(region, reference='north') + C(region, reference='south')",
    "y ~ C()",
    "y ~ scale()",
    "y ~ scale(x, z)",
    "y ~ I(3)",
    "y ~ log(2)",
    "y ~ I(x=3, x=4)",
    "y ~ log(x=3, 4)",
]


def hostile_schema():
    numeric = dict.fromkeys(["y", "x", "z", "price", *LETTERS], nw.Float64())
    return {**numeric, "region": nw.String(), **{f"column{k}": nw.Float64() for k in range(60)}}


@pytest.fixture(scope="module")
def warm():
    schema = hostile_schema()
    formula_design("y ~ x", schema)
    return schema


def refusal_of(formula, schema):
    """What is said against a formula, and the processor time in seconds."""
    with processor_time() as taken, pytest.raises(ValueError, match=r"[.?]$") as refusal:
        formula_design(formula, schema)
    return str(refusal.value), taken.seconds


@pytest.mark.parametrize("formula", HOSTILE, ids=lambda formula: repr(formula[:40]))
def test_hostile_formula_is_refused_within_tenth_of_second(warm, formula):
    message, taken = refusal_of(formula, warm)
    assert taken < 0.1
    assert 20 < len(message) < 400, message
    assert message.endswith((".", "?")), message


def test_hostile_formula_triggers_no_audit_event(tmp_path):
    script = tmp_path / "hostile.py"
    script.write_text(
        textwrap.dedent(
            """
            import json, sys
            import narwhals.stable.v2 as nw
            from linearly.dataset.design.from_formula import formula_design
            formulas = json.load(open(sys.argv[1]))
            schema = dict.fromkeys([*"yxz", "price", *"abcdefghijklmnopqrstuvw"], nw.Float64())
            schema["region"] = nw.String()
            formula_design("y ~ x + log(z) + poly(x, 2)", schema)
            try:
                formula_design("y ~ lgo(x)", schema)  # loads what suggests names
            except ValueError:
                pass
            seen = []
            armed = True
            sys.addaudithook(lambda event, arguments: seen.append(event) if armed else None)
            refused = 0
            for formula in formulas:
                try:
                    formula_design(formula, schema)
                except ValueError:
                    refused += 1
            armed = False
            print(json.dumps({"refused": refused, "events": sorted(set(seen))}))
            """
        )
    )
    (tmp_path / "formulas.json").write_text(json.dumps(HOSTILE))
    answer = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "formulas.json")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(answer.stdout)
    assert found["refused"] == len(HOSTILE) >= 60
    assert found["events"] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["formulas.json", "hostile.py"]


def test_audit_hook_sees_an_execution(tmp_path):
    code = "import sys; s = []; sys.addaudithook(lambda e, a: s.append(e)); eval('1 + 1'); print(*s)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"compile", "exec"} <= set(answer.stdout.split())


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ prcie", "The column 'prcie' does not exist. Did you mean 'price'?"),
        ("prcie ~ x", "The target column 'prcie' does not exist. Did you mean 'price'?"),
        ("y ~ lgo(x)", "The function 'lgo' is not available in formulas. Did you mean log?"),
        ("y ~ np.log(x)", "The function 'np.log' is not available in formulas. Did you mean log or log2?"),
        ("y ~ x.__class__", "The column 'x.__class__' does not exist."),
        ("y ~ x z", "An operator such as + is missing before 'z', at 'y ~ x z'. Correct the formula."),
        ("y ~ log(scale(x))", "scale() must be a term by itself, not part of log(scale(x))."),
        ("y ~ poly(x, 10**9)", "The degree of a polynomial must be an integer from 1 to 20, not 10^9."),
        ("y ~ x - z", "The formula removes z, which it does not contain."),
        ("y ~ y", "The target 'y' cannot also be a feature. Leave it out of the terms."),
        (
            "y ~ log(region)",
            "Column 'region' contains text, so log(region) cannot be computed.",
        ),
    ],
)
def test_refused_formula_names_remedy(warm, formula, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        formula_design(formula, warm)


def test_long_valid_formula_is_accepted(warm):
    schema = {"y": nw.Float64(), **{f"column{k}": nw.Float64() for k in range(700)}}
    design = formula_design("y ~ " + " + ".join(list(schema)[1:]), schema)
    assert len(design.terms) == 700
    few = dict(list(schema.items())[:80])
    assert len(formula_design("y ~ .^2", few).terms) == 79 * 80 // 2
    assert len(parse(" + ".join(["x"] * (MAX_NODES // 2))).__str__()) > 100


def test_formula_design_imports_no_optional_package(monkeypatch, warm):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    monkeypatch.setitem(sys.modules, "patsy", None)
    assert len(formula_design("y ~ x*z", warm).terms) == 3


PIECES = [
    *["x", "z", "a", "region", "`x`", "nothing", ".", "0", "1", "2", "3.5", "1e5", "y", "True", "'north'", "lambda"],
    *["+", "-", "*", "/", ":", "^", "**", "(", ")", "{", "}", ",", "=", "~", "%in%", " "],
    *["log(", "I(", "C(", "poly(", "scale(", "reference=", "raw=", "x.y", "é", "\t", ";", "[", "__import__("],
]


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.booleans())
def test_formula_of_random_tokens_is_design_or_value_error(pieces, spaced):
    formula = "y ~ " + (" " if spaced else "").join(pieces)
    try:
        design = formula_design(formula, hostile_schema())
    except ValueError as refusal:
        assert str(refusal).endswith((".", "?"))  # noqa: PT017
    else:
        assert design.terms or design.intercept
        assert design_from_json(design_to_json(design)) == design


@given(st.text(max_size=40))
def test_formula_of_random_characters_is_design_or_value_error(text):
    with contextlib.suppress(ValueError):
        formula_design(text, hostile_schema())
    with contextlib.suppress(ValueError):
        formula_design(f"y ~ x + {text}", hostile_schema())
