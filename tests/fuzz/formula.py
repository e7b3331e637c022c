"""Formulas: grammar, near misses and nonsense, against a small table.

What is accepted must give finite numbers of the shape it promises and survive the model file; where Python reads the
text of an expression too, the numbers must be Python's.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.mutation import mutated
from fuzz.run import Broken, Fuzzer
from linearly.dataset.design.from_formula import formula_design
from linearly.dataset.design.serialization import design_from_json, design_to_json
from linearly.dataset.rows.tables import FrameTables
from linearly.kernels.blas_threads import single_threaded_blas

ROWS = 12
_RANDOM = np.random.default_rng(7)
COLUMNS: dict[str, Any] = {
    "y": _RANDOM.normal(size=ROWS),
    "x": _RANDOM.normal(size=ROWS),
    "z": _RANDOM.lognormal(size=ROWS),
    "net price": np.arange(1.0, ROWS + 1),
    ".dot": _RANDOM.normal(size=ROWS),
    "i": np.arange(ROWS) % 5,
    "k": np.array(["a", "b", "c"] * (ROWS // 3)),
    "g": np.array(["u", "v"] * (ROWS // 2)),
    "b": np.arange(ROWS) % 3 == 0,
    "gap": [None, *range(1, ROWS)],
    "d": [datetime.date(2024, 1, 1 + i) for i in range(ROWS)],
}
TABLE = pa.table(COLUMNS)
TABLES = FrameTables(TABLE)
with single_threaded_blas():
    pass  # its first use imports a module and opens a file, which the fuzzer would take for findings
NUMBERS = ("x", "z", "i", "`net price`", ".dot")
CALLS = ("log", "exp", "sqrt", "abs", "sin", "log1p", "expm1", "log2", "log10", "cos", "tan", "I")
TERMS = ("x", "z", "i", "k", "g", "b", "`net price`", ".", "gap", "d", "1", "0", ".dot")
PIECES = (
    *("~", "+", "-", "*", "/", "^", "**", ":", "%in%", "(", ")", "{", "}", ",", "=", ".", "`", '"', "'", " ", "|"),
    *("I(", "C(", "poly(", "scale(", "center(", "log(", "x", "z", "k", "y", "1", "0", "-1", "2", "16", "17", "1e9"),
    *("1e999", "0x1", "1_0", "1j", "9" * 400, "1." + "0" * 50, "٣", "²", "é", "\x00", "\n", "\t", "\U0001f600"),
    *("True", "None", "lambda", "eval(", "__import__('os').system('true')", "open('/etc/passwd')", "x.__class__"),
    *("C(k, reference='b')", "C(k, Treatment('c'))", "C(i, 2)", "poly(x, 3, raw=True)", "poly(x, degree=2)"),
    *("reference=", "raw=", "degree=", "(" * 35, ")" * 35, "-" * 99, "x:" * 20, "(x+z+i+k+g)^5", "x^-2", "offset(x)"),
)
_PIECES = tuple(piece.encode("utf-8", "surrogatepass") for piece in PIECES)
_PYTHON = re.compile(r"y ~ I\(([-+*/^(). \w]*)\)")
_SCOPE: dict[str, Any] = {"__builtins__": {}, "abs": abs, "I": float}
_SCOPE |= {name: getattr(math, name) for name in CALLS if name not in _SCOPE}


def _expression(random: Random, depth: int = 0) -> str:
    """Arithmetic with few brackets, so that precedence matters."""
    choice = random.random()
    if depth > 3 or choice < 0.3:
        return random.choice((*NUMBERS, "2", "0.5", "3.", ".25", "1e-3", "x", "z"))
    if choice < 0.45:
        return f"{random.choice(CALLS)}({_expression(random, depth + 1)})"
    if choice < 0.55:
        return f"({_expression(random, depth + 1)})"
    if choice < 0.65:
        return f"-{_expression(random, depth + 1)}"
    if choice < 0.75:
        return f"{_expression(random, depth + 1)}^{random.choice(('2', '-1', '3', '0.5', '2^2', '-2^0'))}"
    space = random.choice(("", " "))
    return f"{_expression(random, depth + 1)}{space}{random.choice('+-*/')}{space}{_expression(random, depth + 1)}"


def _term(random: Random, depth: int = 0) -> str:
    choice = random.random()
    if depth > 2 or choice < 0.35:
        return random.choice(TERMS)
    if choice < 0.5:
        return f"{random.choice(('I', 'log', 'scale', 'center', 'exp', 'standardize'))}({_expression(random, 2)})"
    if choice < 0.6:
        options = ("", ", 2", ", 3, raw=True", ", degree=3", ", 12", ", raw=FALSE", ", 20")
        return f"poly({_expression(random, 3)}{random.choice(options)})"
    if choice < 0.7:
        options = ("", ", 'b'", ", reference=2", ', Treatment("a")', ", base='a'", ", contr.treatment(base='c')")
        return f"{random.choice(('C', 'factor'))}({random.choice(('k', 'g', 'i', 'b', 'x'))}{random.choice(options)})"
    if choice < 0.8:
        return f"({_term(random, depth + 1)} {random.choice('+-')} {_term(random, depth + 1)})^{random.randrange(4)}"
    sign = random.choice(("+", "+", "-", ":", "*", "/", " %in% "))
    return f"{_term(random, depth + 1)}{sign}{_term(random, depth + 1)}"


def draw(random: Random) -> bytes:
    choice = random.random()
    if choice < 0.25:
        text = f"y ~ I({_expression(random)})"
    else:
        target = random.choice(("y", "y", "y", "log(z)", "k", "`net price`", "y - x", "b", "I(y^2)"))
        signs = (" + ", " + ", " - ", ":", "*", "/")
        terms = [_term(random)]
        for _ in range(random.randrange(4)):
            terms.append(random.choice(signs) + _term(random))
        text = f"{target} ~ {''.join(terms)}"
    data = text.encode("utf-8", "surrogatepass")
    return mutated(random, data, _PIECES) if random.random() < 0.5 else data


def attempt(data: bytes) -> tuple[Any, Any]:
    design = formula_design(data.decode("utf-8", "surrogateescape"), TABLES.schema)
    design = design.fit(TABLES)
    (chunk,) = TABLES
    return design, design.block(chunk)


def judge(data: bytes, found: tuple[Any, Any]) -> None:
    design, block = found
    if block.X.shape != (ROWS, len(design.names)) or block.y.shape != (ROWS,):
        raise Broken(f"{block.X.shape} numbers for {len(design.names)} names")
    if not np.isfinite(block.X).all():
        raise Broken("numbers that are not finite")
    plain = json.loads(json.dumps(design_to_json(design)))
    if design_from_json(plain) != design:
        raise Broken(f"another design comes back from the model file: {plain}")
    expected = _by_python(data)
    if expected is not None and not np.allclose(block.X[:, 0], expected, rtol=1e-9, atol=1e-12):
        raise Broken(f"{block.X[:, 0].tolist()} is not what Python says: {expected}")


def _by_python(data: bytes) -> list[float] | None:
    """What Python makes of the same expression; None where it is not the same language."""
    match = _PYTHON.fullmatch(data.decode("utf-8", "replace"))
    if match is None or re.search(r"\d[_a-zA-Z]|__|\b0\d|[^\x00-\x7f]", match[1].replace("e-3", "")):
        return None
    try:
        code = compile(match[1].replace("^", "**"), "expression", "eval")
        if not set(code.co_names) <= {"x", "z", "i", *CALLS}:
            return None
        rows = ({name: float(COLUMNS[name][i]) for name in ("x", "z", "i")} for i in range(ROWS))
        return [float(eval(code, _SCOPE, row)) for row in rows]
    except (ArithmeticError, ValueError, TypeError, SyntaxError, MemoryError):
        return None


FUZZER = Fuzzer("formula", draw, attempt, judge, watched=True)
