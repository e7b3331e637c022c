"""Differentiate an expression by one of its columns, row by row (forward mode)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linearly.dataset.formula.expression import (
    Binary,
    Call,
    Expression,
    Name,
    Negative,
    Number,
    columns_of,
    evaluate,
)
from linearly.dataset.rows.tables import Chunk
from linearly.kernels.double_double import Array

_DERIVATIVES: dict[str, Callable[[Array], Array]] = {
    "I": np.ones_like,
    "abs": np.sign,
    "cos": lambda x: -np.sin(x),
    "exp": np.exp,
    "expm1": np.exp,
    "log": lambda x: 1 / x,
    "log10": lambda x: 1 / (x * np.log(10)),
    "log1p": lambda x: 1 / (1 + x),
    "log2": lambda x: 1 / (x * np.log(2)),
    "sin": np.cos,
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "tan": lambda x: 1 / np.cos(x) ** 2,
}


def derivative(tree: Expression, column: str, chunk: Chunk) -> Array | None:
    """Return the derivative of an expression by a column for the rows of a chunk; None if it has no rule for it."""
    with np.errstate(all="ignore"):
        return _slope(tree, column, chunk)


def _slope(tree: Expression, column: str, chunk: Chunk) -> Array | None:
    if column not in columns_of(tree):
        return np.zeros(len(chunk))
    match tree:
        case Name():
            return np.ones(len(chunk))
        case Negative(of):
            inner = _slope(of, column, chunk)
            return None if inner is None else -inner
        case Binary(sign, left, right):
            return _binary(sign, left, right, column, chunk)
        case Call(function, (argument,), ()) if function in _DERIVATIVES:
            inner = _slope(argument, column, chunk)
            return None if inner is None else np.asarray(_DERIVATIVES[function](_values(argument, chunk)) * inner)
    return None


def _binary(sign: str, left: Expression, right: Expression, column: str, chunk: Chunk) -> Array | None:
    dl, dr = _slope(left, column, chunk), _slope(right, column, chunk)
    if dl is None or dr is None or sign not in "+-*/^":
        return None
    if sign in "+-":
        return dl + dr if sign == "+" else dl - dr
    base, other = _values(left, chunk), _values(right, chunk)
    if sign == "*":
        return np.asarray(dl * other + base * dr)
    if sign == "/":
        return np.asarray((dl - base * dr / other) / other)
    return np.asarray(other * base ** (other - 1) * dl)  # exponents are constants


def _values(tree: Expression, chunk: Chunk) -> Array:
    return np.full(len(chunk), tree.value) if isinstance(tree, Number) else evaluate(tree, chunk)
