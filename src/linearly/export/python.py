"""A model as plain Python: the source of `predict(row)` and `predict_proba(row)`, with no import but math."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from linearly.export.atomic_file import write_atomic
from linearly.export.graph import (
    Constant,
    Difference,
    Function,
    Indicator,
    Input,
    OutputLayer,
    Power,
    PredictionGraph,
    Product,
    Quotient,
    Reference,
    Sum,
    Tree,
    prediction_graph,
)
from linearly.export.parity_check import ParityCheck

_HEAD = '''"""{title}

predict(row) takes a dict of columns and gives {answer}. It gives None for a row in which a value is missing, not
finite, or a level that the model has not seen.
"""

import math


def _number(value):
    value = None if value is None else float(value)
    return value if value is not None and math.isfinite(value) else None


def _level(value, levels, default):
    return value if value in levels else default if value is not None and value == value else None


def _dot(x, weights, constant):
    return sum((a * b for a, b in zip(x, weights)), constant)

'''

_FUNCTIONS = {"abs": "abs"}  # all others have the same name in math


def to_python(model: Any, path: str | os.PathLike[str] | None = None) -> str:
    """The source of a module with `predict(row)`, and `predict_proba(row)` where the model has probabilities.

    A row is a dict of columns. The source needs nothing but Python and is checked against the model on made-up rows;
    with ``path`` it is written there.

    Examples
    --------
    >>> import linearly as ly
    >>> from linearly.export.python import to_python
    >>> model = ly.fit({"x": [0.0, 1.0, 2.0, 4.0], "y": [1.0, 3.0, 5.0, 9.0]}, target="y")
    >>> namespace = {}
    >>> exec(to_python(model), namespace)
    >>> round(namespace["predict"]({"x": 10}), 6)
    21.0
    """
    source = _source(prediction_graph(model), model)
    _check(source, model)
    if path is not None:
        write_atomic(path, source.encode("utf-8"))
    return source


def _check(source: str, model: Any) -> None:
    trial = ParityCheck(model)
    namespace: dict[str, Any] = {"__name__": "exported"}
    exec(compile(source, "<exported model>", "exec"), namespace)
    rows = trial.rows()
    asked = namespace.get("predict_proba")
    probabilities = [list(asked(row).values()) for row in rows] if asked else None
    trial.compare([namespace["predict"](row) for row in rows], probabilities, "Python function")


def _source(recipe: PredictionGraph, model: Any) -> str:
    labels = recipe.labels
    title = f"{model.model} model of {model.target}, exported from linearly."
    answer = f"one of {len(labels)} labels" if labels else "a number"
    lines = [_HEAD.format(title=_safe(title), answer=answer)]
    lines += _constants(recipe)
    lines += ["", "", "def _scores(row):", *_indented(_body(recipe))]
    lines += ["", "", *_answers(recipe.head)]
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii").replace('"', "'")


def _constants(recipe: PredictionGraph) -> list[str]:
    head = recipe.head
    lines = [f"_WEIGHTS = {_matrix(head.weights.T)}", f"_CONSTANTS = {_vector(head.constants)}"]
    if head.squares is not None:
        lines.append(f"_SQUARES = {_vector(head.squares)}")
    if head.center is not None:
        lines.append(f"_CENTER = {_vector(head.center)}")
    if head.center_low is not None:
        lines.append(f"_CENTER_LOW = {_vector(head.center_low)}")
    if recipe.labels:
        lines.append(f"_LABELS = {list(recipe.labels)!r}")
    return lines


def _body(recipe: PredictionGraph) -> list[str]:
    lines = [f"{item.name} = {_read(item)}" for item in recipe.inputs]
    names = ", ".join(item.name for item in recipe.inputs)
    lines += [f"if None in ({names},):", "    return None", "try:"]
    inside = [f"{step.name} = {_tree(step.tree)}" for step in recipe.steps]
    inside.append(f"x = [{', '.join(recipe.features)}]")
    head = recipe.head
    if head.center is not None:
        inside.append("x = [a - b for a, b in zip(x, _CENTER)]")
    if head.center_low is not None:
        inside.append("x = [a - b for a, b in zip(x, _CENTER_LOW)]")
    inside.append("scores = [_dot(x, w, b) for w, b in zip(_WEIGHTS, _CONSTANTS)]")
    if head.squares is not None:
        each = len(head.constants) // len(head.squares)
        inside.append(f"groups = [scores[k * {each} : k * {each} + {each}] for k in range({len(head.squares)})]")
        inside.append("scores = [b - 0.5 * sum(z * z for z in group) for b, group in zip(_SQUARES, groups)]")
    lines += _indented(inside)
    lines += ["except (ArithmeticError, ValueError):", "    return None"]
    lines.append("return scores if all(map(math.isfinite, scores)) else None")
    return lines


def _read(item: Input) -> str:
    value = f"row[{item.column!r}]"
    if item.kind == "number":
        return f"_number({value})"
    if item.unseen == "error":
        return f"_level({value}, {list(item.levels)!r}, None)"
    return f"_level({value}, {list(item.levels)!r}, ())"


def _answers(head: OutputLayer) -> list[str]:
    if head.rule == "number":
        return ["def predict(row):", "    scores = _scores(row)", "    return None if scores is None else scores[0]"]
    choice = {
        "sign": "_LABELS[1] if scores[0] >= 0 else _LABELS[0]",
        "two": "_LABELS[1] if scores[1] >= scores[0] else _LABELS[0]",
        "largest": "_LABELS[scores.index(max(scores))]",
    }[head.rule]
    lines = [
        "def predict(row):",
        "    scores = _scores(row)",
        "    if scores is None:",
        "        return None",
        f"    return {choice}",
    ]
    if head.probabilities is None:
        return lines
    lines += ["", "", "def predict_proba(row):", "    scores = _scores(row)", "    if scores is None:"]
    lines.append("        return None")
    if head.probabilities == "logistic":
        lines += [
            "    small = math.exp(-abs(scores[0]))",
            "    share = 1 / (1 + small)",
            "    parts = [small * share, share] if scores[0] >= 0 else [share, small * share]",
        ]
    else:
        lines += [
            "    top = max(scores)",
            "    parts = [math.exp(s - top) for s in scores]",
            "    total = sum(parts)",
            "    parts = [part / total for part in parts]",
        ]
    return [*lines, "    return dict(zip(_LABELS, parts))"]


def _tree(tree: Tree) -> str:
    match tree:
        case Constant(value):
            return repr(value)
        case Reference(name):
            return name
        case Indicator(name, level):
            return f"(1.0 if {name} == {level!r} else 0.0)"
        case Sum(a, b):
            return f"({_tree(a)} + {_tree(b)})"
        case Difference(a, b):
            return f"({_tree(a)} - {_tree(b)})"
        case Product(a, b):
            return f"({_tree(a)} * {_tree(b)})"
        case Quotient(a, b):
            return f"({_tree(a)} / {_tree(b)})"
        case Power(a, exponent):
            return f"math.pow({_tree(a)}, {exponent!r})"
        case Function(name, a):
            function = _FUNCTIONS.get(name, f"math.{name}")
            return f"{function}({_tree(a)})"


def _vector(values: Any) -> str:
    return "[" + ", ".join(repr(float(v)) for v in values) + "]"


def _matrix(values: Any) -> str:
    return "[" + ",\n    ".join(_vector(row) for row in np.atleast_2d(values)) + "]"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
