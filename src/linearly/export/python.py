"""Write a model as Python source: `predict(row)` and `predict_proba(row)`, with no import but math."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files
from string import Template
from typing import Any

from linearly.dataset.files.atomic_file import write_atomic
from linearly.export.graph import (
    Binary,
    Comparison,
    Constant,
    Function,
    Indicator,
    Input,
    Power,
    PredictionGraph,
    Reference,
    Tree,
    prediction_graph,
)
from linearly.export.parity_check import ParityCheck

_MODULE = Template(files("linearly.export").joinpath("python_module.txt").read_text(encoding="utf-8"))

_PREDICTIONS = {
    "number": "scores[0]",
    "sign": "_LABELS[1] if scores[0] >= 0 else _LABELS[0]",
    "two": "_LABELS[1] if scores[1] >= scores[0] else _LABELS[0]",
    "largest": "_LABELS[scores.index(max(scores))]",
}

_PROBABILITIES = """

def predict_proba(row):
    scores = _scores(row)
    if scores is None:
        return None
{parts}
    return dict(zip(_LABELS, parts))
"""

_PARTS = {
    "logistic": """\
    small = math.exp(-abs(scores[0]))
    share = 1 / (1 + small)
    parts = [small * share, share] if scores[0] >= 0 else [share, small * share]""",
    "softmax": """\
    top = max(scores)
    parts = [math.exp(s - top) for s in scores]
    total = sum(parts)
    parts = [part / total for part in parts]""",
}


_INTERVAL = """

def predict_interval(row):
    scores = _scores(row)
    if scores is None:
        return None
    fit, spread = scores
    return dict(zip(("fit", "low", "high"), {ends}))
"""

_EXPIT = """

def _expit(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
"""


def to_python(model: Any, path: str | os.PathLike[str] | None = None, *, interval: float | None = None) -> str:
    """Return the source of a module with `predict(row)`, and `predict_proba(row)` if the model has probabilities.

    The source needs nothing but Python, and is checked against the model on made-up rows.

    Parameters
    ----------
    model : Model
        What `linearly.fit` returned.
    path : path-like, optional
        File to write.
    interval : float, default=None
        Confidence level of `predict_interval(row)`, which returns a dict of ``fit``, ``low`` and ``high``. The interval
        is for the mean of a linear or ridge model, or for the probability of the second label of a logistic one.

    Returns
    -------
    str
        Python source; a row is a dict of columns.

    Raises
    ------
    ValueError
        If the model cannot be exported, or the source does not agree with it.

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
    source = _source(prediction_graph(model, interval), model)
    _check(source, model, interval)
    if path is not None:
        write_atomic(path, source.encode("utf-8"))
    return source


def _check(source: str, model: Any, interval: float | None) -> None:
    trial = ParityCheck(model)
    namespace: dict[str, Any] = {"__name__": "exported"}
    exec(compile(source, "<exported model>", "exec"), namespace)
    rows = trial.rows()
    predict_proba = namespace.get("predict_proba")
    probabilities = [list(predict_proba(row).values()) for row in rows] if predict_proba else None
    trial.compare([namespace["predict"](row) for row in rows], probabilities, "Python function")
    if interval is not None:
        found = [namespace["predict_interval"](row) for row in rows]
        trial.compare_ends([(row["low"], row["high"]) for row in found], interval, "Python function")


def _source(graph: PredictionGraph, model: Any) -> str:
    head, labels = graph.head, graph.labels
    title = f"{model.model} model of {model.target}, exported from linearly.".encode("unicode_escape").decode("ascii")
    source = _MODULE.substitute(
        title=title.replace('"', "'"),
        answer=f"one of {len(labels)} labels" if labels else "a number",
        constants="".join(_constants(graph)),
        inputs="\n".join(f"    {item.name} = {_read(item)}" for item in graph.inputs),
        names=", ".join(item.name for item in graph.inputs),
        steps="\n".join(f"        {line}" for line in _steps(graph)),
        prediction=_PREDICTIONS[head.rule],
    )
    if head.probabilities:
        source += _PROBABILITIES.format(parts=_PARTS[head.probabilities])
    if graph.interval is not None:
        ends = "(fit, fit - spread, fit + spread)"
        source += _EXPIT if labels else ""
        source += _INTERVAL.format(ends=f"map(_expit, {ends})" if labels else ends)
    return source


def _constants(graph: PredictionGraph) -> Iterator[str]:
    head = graph.head
    yield "_WEIGHTS = [" + ",\n    ".join(repr(row) for row in head.weights.T.tolist()) + "]\n"
    vectors = {
        "CONSTANTS": head.constants,
        "SQUARES": head.squares,
        "CENTER": head.center,
        "CENTER_LOW": head.center_low,
    }
    yield from (f"_{name} = {values.tolist()!r}\n" for name, values in vectors.items() if values is not None)
    if graph.interval is not None:
        yield f"_ROOT = {graph.interval.weights.T.tolist()!r}\n"
        yield f"_ROOT_CONSTANTS = {graph.interval.constants.tolist()!r}\n"
    if graph.labels:
        yield f"_LABELS = {list(graph.labels)!r}\n"


def _steps(graph: PredictionGraph) -> Iterator[str]:
    head = graph.head
    yield from (f"{step.name} = {_tree(step.tree)}" for step in graph.steps)
    yield f"x = [{', '.join(graph.features)}]"
    if graph.interval is not None:
        yield "spread = math.sqrt(sum(_dot(x, w, b) ** 2 for w, b in zip(_ROOT, _ROOT_CONSTANTS)))"
    if head.center is not None:
        yield "x = [a - b for a, b in zip(x, _CENTER)]"
    if head.center_low is not None:
        yield "x = [a - b for a, b in zip(x, _CENTER_LOW)]"
    yield "scores = [_dot(x, w, b) for w, b in zip(_WEIGHTS, _CONSTANTS)]"
    if head.squares is not None:
        each = len(head.constants) // len(head.squares)
        yield f"groups = [scores[k * {each} : k * {each} + {each}] for k in range({len(head.squares)})]"
        yield "scores = [b - 0.5 * sum(z * z for z in group) for b, group in zip(_SQUARES, groups)]"
    if graph.interval is not None:
        yield "scores.append(spread)"


def _read(item: Input) -> str:
    value = f"row[{item.column!r}]"
    if item.kind == "number":
        return f"_number({value})"
    return f"_level({value}, {list(item.levels)!r}, {None if item.unseen == 'error' else ()})"


def _tree(tree: Tree) -> str:
    match tree:
        case Constant(value):
            return repr(value)
        case Reference(name):
            return name
        case Indicator(name, level):
            return f"(1.0 if {name} == {level!r} else 0.0)"
        case Binary(operator, a, b):
            return f"({_tree(a)} {operator} {_tree(b)})"
        case Power(a, exponent):
            return f"math.pow({_tree(a)}, {exponent!r})"
        case Function(name, a):
            if name == "round":
                return f"float(round({_tree(a)}))"
            return f"{'' if name == 'abs' else 'math.'}{name}({_tree(a)})"
        case Comparison(operator, a, b):
            return f"(1.0 if {_tree(a)} {operator} {_tree(b)} else 0.0)"
