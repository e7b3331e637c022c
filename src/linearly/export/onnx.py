"""Write a model as an ONNX graph from raw columns to predictions, in float64 or float32.

There is an input for each column, n × 1: floats for numbers, strings for categories of text. The outputs are
``prediction`` (n), ``probabilities`` (n × K) where the model has them, and ``known`` (n): false where a value is
missing, not finite or a level that the model has not seen. There the numbers are NaN, and a label means nothing (of
text it is empty).
"""

from __future__ import annotations

import math
import os
from functools import reduce
from typing import Any

import numpy as np

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
from linearly.export.parity_check import PREDICTION_TOL, ParityCheck

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError:  # pragma: no cover
    raise ImportError("Export to ONNX needs onnx. Run: pip install 'linearly[export]'.") from None

OPSET = 17
ML_OPSET = 3
IR_VERSION = 8
_OUTPUTS = ("prediction", "probabilities", "known")
_KINDS = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}
_OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}
_COMPARISONS = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual"}
_TOLERANCE = {"float64": PREDICTION_TOL, "float32": 1e-3}


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> bytes:
    """Return a model as the bytes of an ONNX file (opset 17), checked against the model on made-up rows.

    Parameters
    ----------
    model : Model
        What `linearly.fit` returned.
    path : path-like, optional
        File to write.
    dtype : {"float64", "float32"}, default="float64"
        Type of numbers. Predictions in float32, which some runtimes require, are close to the model's, not equal.

    Returns
    -------
    bytes
        The ONNX file.

    Raises
    ------
    ValueError
        If the model cannot be exported, or the graph does not agree with it.

    Examples
    --------
    >>> import linearly as ly
    >>> from linearly.export.onnx import to_onnx
    >>> model = ly.fit({"x": [0.0, 1.0, 2.0, 4.0], "y": [1.0, 3.0, 5.0, 9.0]}, target="y")
    >>> data = to_onnx(model, dtype="float32")
    """
    if dtype not in _KINDS:
        raise ValueError(f"dtype must be float64 or float32, not {dtype!r}.")
    graph = prediction_graph(model)
    for item in graph.inputs:
        if item.column in ("", *_OUTPUTS) or item.column.startswith("linearly."):
            raise ValueError(f"Column {item.column!r} has the name of a part of the graph. Rename it, and fit again.")
    built = _Graph(graph, dtype).model(model)
    onnx.checker.check_model(built, full_check=True)
    _check(built, graph, model, dtype)
    data: bytes = built.SerializeToString()
    if path is not None:
        write_atomic(path, data)
    return data


class _Graph:
    """Collects the nodes; every method returns the name of what it computes, n × 1 unless stated."""

    def __init__(self, graph: PredictionGraph, dtype: str) -> None:
        self.graph, self.dtype = graph, dtype
        self.nodes: list[Any] = []
        self.constants: dict[tuple[Any, ...], Any] = {}
        self.at: dict[str, str] = {}  # where the value of a step or an input is
        self.known: list[str] = []

    def model(self, model: Any) -> Any:
        head = self.graph.head
        inputs = {item.column: self.input(item) for item in self.graph.inputs}
        for step in self.graph.steps:
            self.at[step.name] = self.tree(step.tree)
        rows = self.joined("And", self.known)
        X = self.node("Concat", *(self.at[name] for name in self.graph.features), axis=1)
        for center in (head.center, head.center_low):
            if center is not None:
                X = self.node("Sub", X, self.array(center[None, :]))
        S = self.node("Add", self.node("MatMul", X, self.array(head.weights)), self.array(head.constants[None, :]))
        if head.squares is not None:
            K = len(head.squares)
            groups = self.node("Reshape", S, self.integers([-1, K, len(head.constants) // K]))
            total = self.node("ReduceSum", self.node("Mul", groups, groups), self.integers([2]), keepdims=0)
            half = self.node("Mul", total, self.number(0.5))
            S = self.node("Sub", self.array(head.squares[None, :]), half)
        every = self.node("Cast", self.finite(S), to=TensorProto.INT64)
        least = self.node("ReduceMin", every, axes=[1], keepdims=1)
        rows = self.node("And", rows, self.node("Equal", least, self.integers([1])))
        S = self.node("Where", rows, S, self.number(math.nan))
        self.node("Squeeze", rows, self.integers([1]), to_output="known")
        outputs = [*self.outputs(S, rows), helper.make_tensor_value_info("known", TensorProto.BOOL, [None])]
        used = {name for node in self.nodes for name in node.input}
        constants = [tensor for name, tensor in self.constants.values() if name in used]
        graph = helper.make_graph(self.nodes, "linearly", list(inputs.values()), outputs, constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        built = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="linearly")
        built.doc_string = f"{model.model} model of {model.target}"
        return built

    def input(self, item: Input) -> Any:
        name, text = item.column, item.kind == "text"
        self.at[item.name] = name
        if text:
            places = list(range(len(item.levels)))
            self.at[item.name] = self.place(name, [str(level) for level in item.levels], places, -1)
            if item.unseen == "error":
                self.known.append(self.node("GreaterOrEqual", self.at[item.name], self.integers([0])))
            else:
                self.known.append(self.node("Equal", self.place(name, [""], [0], 1), self.integers([1])))
        else:
            self.known.append(self.finite(name))
            if item.levels and item.unseen == "error":
                same = [self.node("Equal", name, self.number(float(level))) for level in item.levels]
                self.known.append(self.joined("Or", same))
        return helper.make_tensor_value_info(name, TensorProto.STRING if text else _KINDS[self.dtype], [None, 1])

    def place(self, text: str, keys: list[str], values: list[int], default: int) -> str:
        options: dict[str, Any] = {"keys_strings": keys, "values_int64s": values, "default_int64": default}
        return self.node("LabelEncoder", text, domain="ai.onnx.ml", **options)

    def finite(self, name: str) -> str:
        return self.node("LessOrEqual", self.node("Abs", name), self.number(float(np.finfo(self.dtype).max)))

    def joined(self, operator: str, names: list[str]) -> str:
        return reduce(lambda total, name: self.node(operator, total, name), names)

    def tree(self, tree: Tree) -> str:
        match tree:
            case Constant(value):
                return self.number(value)
            case Reference(name):
                return self.at[name]
            case Indicator(name, level):
                return self.indicator(name, level)
            case Binary(operator, a, b):
                return self.node(_OPERATORS[operator], self.tree(a), self.tree(b))
            case Power(a, exponent):
                return self.node("Pow", self.tree(a), self.number(exponent))
            case Function(name, a):
                return self.function(name, self.tree(a))
            case Comparison(operator, a, b):
                return self.comparison(operator, self.tree(a), self.tree(b))

    def indicator(self, name: str, level: Any) -> str:
        item = next(item for item in self.graph.inputs if item.name == name)
        wanted = self.integers([item.levels.index(level)]) if item.kind == "text" else self.number(float(level))
        return self.node("Cast", self.node("Equal", self.at[name], wanted), to=_KINDS[self.dtype])

    def comparison(self, operator: str, a: str, b: str) -> str:
        holds = self.node(_COMPARISONS.get(operator, "Equal"), a, b)
        holds = self.node("Not", holds) if operator == "!=" else holds
        return self.node("Cast", holds, to=_KINDS[self.dtype])

    def function(self, name: str, of: str) -> str:
        one = self.number(1.0)
        match name:
            case "log10" | "log2":
                return self.node("Div", self.node("Log", of), self.number(math.log(10.0 if name == "log10" else 2.0)))
            case "log1p":  # x log(1 + x) / ((1 + x) − 1): rounding errors of 1 + x cancel (Kahan)
                moved = self.node("Add", one, of)
                ratio = self.node("Div", self.node("Mul", of, self.node("Log", moved)), self.node("Sub", moved, one))
                return self.node("Where", self.node("Equal", moved, one), of, ratio)
            case "expm1":  # (u − 1) x / log u with u = exp(x), by the same argument
                u = self.node("Exp", of)
                rise = self.node("Sub", u, one)
                ratio = self.node("Div", self.node("Mul", rise, of), self.node("Log", u))
                near = self.node("Where", self.node("Equal", u, one), of, ratio)
                return self.node("Where", self.node("Greater", self.node("Abs", of), one), rise, near)
            case "tan":  # runtimes lack it in float64
                return self.node("Div", self.node("Sin", of), self.node("Cos", of))
        return self.node(name.capitalize(), of)  # abs, cos, exp, log, round, sin, sqrt

    def outputs(self, S: str, rows: str) -> list[Any]:
        head, labels, kind = self.graph.head, self.graph.labels, _KINDS[self.dtype]
        if head.rule == "number":
            self.node("Squeeze", S, self.integers([1]), to_output="prediction")
            return [helper.make_tensor_value_info("prediction", kind, [None])]
        if head.rule == "sign":
            place = self.node("Cast", self.node("GreaterOrEqual", S, self.number(0.0)), to=TensorProto.INT64)
        elif head.rule == "two":
            first, second = (self.node("Gather", S, self.integers([k]), axis=1) for k in range(2))
            place = self.node("Cast", self.node("GreaterOrEqual", second, first), to=TensorProto.INT64)
        else:
            place = self.node("ArgMax", self.node("Where", rows, S, self.number(0.0)), axis=1, keepdims=1)
        values = np.array([*labels, ""], dtype=object) if isinstance(labels[0], str) else np.array(labels)
        if isinstance(labels[0], str):
            place = self.node("Where", rows, place, self.integers([len(labels)]))
        chosen = self.node("Gather", self.constant(values, ("labels",)), place, axis=0)
        self.node("Squeeze", chosen, self.integers([1]), to_output="prediction")
        types = {"U": TensorProto.STRING, "O": TensorProto.STRING, "b": TensorProto.BOOL, "f": TensorProto.DOUBLE}
        outputs = [helper.make_tensor_value_info("prediction", types.get(values.dtype.kind, TensorProto.INT64), [None])]
        if head.probabilities is not None:
            self.probabilities(S)
            outputs.append(helper.make_tensor_value_info("probabilities", kind, [None, len(labels)]))
        return outputs

    def probabilities(self, S: str) -> None:
        if self.graph.head.probabilities == "softmax":
            top = self.node("ReduceMax", S, axes=[1], keepdims=1)
            parts = self.node("Exp", self.node("Sub", S, top))
            total = self.node("ReduceSum", parts, self.integers([1]), keepdims=1)
            self.node("Div", parts, total, to_output="probabilities")
            return
        one = self.number(1.0)
        small = self.node("Exp", self.node("Neg", self.node("Abs", S)))
        share = self.node("Div", one, self.node("Add", one, small))
        rare = self.node("Mul", small, share)
        positive = self.node("GreaterOrEqual", S, self.number(0.0))
        columns = [self.node("Where", positive, rare, share), self.node("Where", positive, share, rare)]
        self.node("Concat", *columns, axis=1, to_output="probabilities")

    # --- nodes and constants

    def node(self, operator: str, *inputs: str, to_output: str = "", **attributes: Any) -> str:
        name = to_output or f"linearly.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.full((1, 1), value, dtype=self.dtype), ("number", repr(value)))

    def array(self, values: Any) -> str:
        return self.constant(np.ascontiguousarray(values, dtype=self.dtype), ("array", len(self.constants)))

    def integers(self, values: list[int]) -> str:
        return self.constant(np.array(values, dtype=np.int64), ("integers", *values))

    def constant(self, values: Any, key: tuple[Any, ...]) -> str:
        if key not in self.constants:
            name = f"linearly.constant.{len(self.constants)}"
            self.constants[key] = name, numpy_helper.from_array(values, name)
        return str(self.constants[key][0])


def feed(graph: PredictionGraph, columns: dict[str, list[Any]], dtype: str) -> dict[str, Any]:
    """Return raw columns as the inputs of the graph."""
    kinds = {item.column: object if item.kind == "text" else dtype for item in graph.inputs}
    return {name: np.array(columns[name], dtype=kind)[:, None] for name, kind in kinds.items()}


def _check(built: Any, graph: PredictionGraph, model: Any, dtype: str) -> None:
    trial = ParityCheck(model)
    with np.errstate(all="ignore"):
        outputs = ReferenceEvaluator(built).run(None, feed(graph, trial.columns, dtype))
    named = dict(zip((output.name for output in built.graph.output), outputs, strict=True))
    probabilities = named.get("probabilities")
    trial.compare(named["prediction"].tolist(), probabilities, "ONNX graph", _TOLERANCE[dtype])
