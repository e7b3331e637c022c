"""Parse and evaluate the arithmetic inside a term of a formula, such as log(price) or (x + z)^2.

Text becomes an immutable tree of numbers, quoted text, names, minus signs, + - * / ^ and calls. There are no
attributes, indices or lambdas, and no way to reach Python: a name is a column. The size of a tree is limited when it is
parsed, and NumPy evaluates it, so an untrusted formula can do no harm.

Names follow R: they may contain dots (Sepal.Length), and backticks quote any other column (`net price`).
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.formula.tokens import MAX_DEPTH, Token, TokenReader, tokenize
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.tables import Chunk

Array = NDArray[np.float64]

MAX_NODES = 200
MAX_EXPONENT = 16

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "I": np.asarray,
    "abs": np.abs,
    "cos": np.cos,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
}

_BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}
_UNQUOTED_NAME = re.compile(r"\.?[^\W\d][\w.]*")


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float

    def __str__(self) -> str:
        integer = self.value.is_integer() and abs(self.value) < 1e15
        return str(int(self.value)) if integer else repr(self.value)


@dataclass(frozen=True)
class Text:
    """Quoted text: the name of a level."""

    value: str

    def __str__(self) -> str:
        return f"'{self.value}'" if '"' in self.value else f'"{self.value}"'


@dataclass(frozen=True)
class Name:
    """A column."""

    name: str

    def __str__(self) -> str:
        return self.name if _UNQUOTED_NAME.fullmatch(self.name) else f"`{self.name}`"


@dataclass(frozen=True)
class Negative:
    """A negated expression."""

    of: Expression

    def __str__(self) -> str:
        return f"-{_with_brackets(self.of, 3)}"


@dataclass(frozen=True)
class Binary:
    """Two expressions joined by one of + - * / ^."""

    sign: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        strength = _STRENGTH[self.sign]
        if self.sign == "^":
            return f"{_with_brackets(self.left, strength + 1)}^{_with_brackets(self.right, 3)}"
        return f"{_with_brackets(self.left, strength)} {self.sign} {_with_brackets(self.right, strength + 1)}"


@dataclass(frozen=True)
class Call:
    """A function call with arguments and named options."""

    function: str
    arguments: tuple[Expression, ...] = ()
    options: tuple[tuple[str, Expression], ...] = ()

    def __str__(self) -> str:
        inside = [*map(str, self.arguments), *(f"{name}={value}" for name, value in self.options)]
        return f"{self.function}({', '.join(inside)})"


Expression = Number | Text | Name | Negative | Binary | Call

_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}  # of a negation: 3


def _with_brackets(tree: Expression, least: int) -> str:
    strength = 5
    if isinstance(tree, Binary):
        strength = _STRENGTH[tree.sign]
    elif isinstance(tree, Negative):
        strength = 3
    return str(tree) if strength >= least else f"({tree})"


def parse(text: str) -> Expression:
    """Return the tree of an expression."""
    return parse_tokens(tokenize(text))


def parse_tokens(tokens: Sequence[Token]) -> Expression:
    """Return the tree of an expression, given as tokens."""
    parser = _Parser(tokens)
    tree = parser.sum()
    parser.finish()
    return tree


class _Parser(TokenReader):
    """Recursive descent; every node counts towards the limit."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__(tokens)
        self.nodes, self.depth = 0, 0

    def sum(self) -> Expression:
        tree = self.product()
        while sign := self.accept("+", "-"):
            tree = self.counted(Binary(sign, tree, self.product()))
        return tree

    def product(self) -> Expression:
        tree = self.signed()
        while sign := self.accept("*", "/"):
            tree = self.counted(Binary(sign, tree, self.signed()))
        return tree

    def signed(self) -> Expression:
        # Minus signs and exponents nest like brackets, so their depth is limited too.
        self.depth += 1
        if self.depth > 3 * MAX_DEPTH:
            raise ValueError(f"The expression {self.shown_text()} is nested too deeply: simplify it.")
        sign = self.accept("+", "-")
        if not sign:
            tree = self.power()
        else:
            of = self.signed()
            tree = of if sign == "+" else self.counted(Negative(of))
        self.depth -= 1
        return tree

    def power(self) -> Expression:
        base = self.atom()
        if not self.accept("^"):
            return base
        exponent = self.signed()
        value = constant(exponent)
        if not isinstance(value, float) or abs(value) > MAX_EXPONENT:
            raise ValueError(
                f"The exponent in {self.shown_text()} must be a number from -{MAX_EXPONENT} to {MAX_EXPONENT}; "
                "write exp(…) for powers that depend on a column."
            )
        return self.counted(Binary("^", base, exponent))

    def atom(self) -> Expression:
        token = self.take()
        if token.kind == "number":
            value = float(token.text)
            if not math.isfinite(value):
                raise ValueError(f"The number {token.text[:20]} is beyond float64.")
            return self.counted(Number(value))
        if token.kind == "text":
            return self.counted(Text(token.text[1:-1]))
        if token.kind == "quoted":
            return self.counted(Name(token.text[1:-1]))
        if token.kind == "name":
            return self.counted(self.call(token.text) if self.accept("(") else Name(token.text))
        if token.text in "({":
            tree = self.sum()
            self.expect(")" if token.text == "(" else "}")
            return tree
        raise ValueError(f"{token.text!r} is not expected there: {self.shown_text()}.")

    def call(self, function: str) -> Call:
        arguments: list[Expression] = []
        options: dict[str, Expression] = {}
        while not self.accept(")"):
            if arguments or options:
                self.expect(",")
            name = self.option()
            if name is None:
                if options:
                    raise ValueError(f"In {self.shown_text()} an argument without a name follows one with a name.")
                arguments.append(self.sum())
            elif name in options:
                raise ValueError(f"In {self.shown_text()} the option {name} is given twice.")
            else:
                options[name] = self.sum()
        return Call(function, tuple(arguments), tuple(options.items()))

    def option(self) -> str | None:
        if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text == "=":
            token = self.take()
            self.take()
            if token.kind != "name":
                raise ValueError(f"{token.text!r} cannot be the name of an option: {self.shown_text()}.")
            return token.text
        return None

    def take(self) -> Token:
        token = self.next()
        if token is None:
            raise ValueError(f"The expression {self.shown_text()} ends where a number or a column is expected.")
        self.at += 1
        return token

    def expect(self, text: str) -> None:
        if not self.accept(text):
            token = self.next()
            found = "its end" if token is None else repr(token.text)
            raise ValueError(f"{text!r} is expected in {self.shown_text()}, not {found}.")

    def finish(self) -> None:
        token = self.next()
        if token is not None:
            spaces = " A name with spaces goes in `backticks`." if token.kind == "name" else ""
            raise ValueError(f"{token.text!r} is not expected there: {self.shown_text()}.{spaces}")

    def counted(self, tree: Expression) -> Expression:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ValueError(f"The expression {self.shown_text()} has more than {MAX_NODES} parts: simplify it.")
        return tree

    def shown_text(self) -> str:
        text = "".join(f" {t.text} " if t.text in ("+", "-", "*", "/", ",") else t.text for t in self.tokens[:40])
        if any(a.kind == b.kind == "name" for a, b in itertools.pairwise(self.tokens[:40])):
            text = " ".join(t.text for t in self.tokens[:40])
        return repr(text.strip()[:60] + (" …" if len(text) > 60 or len(self.tokens) > 40 else ""))


def constant(tree: Expression) -> float | str | bool | None:
    """Return the number, text or truth value of a constant tree; None for other trees."""
    if isinstance(tree, (Number, Text)):
        return tree.value
    if isinstance(tree, Negative):
        value = constant(tree.of)
        return -value if isinstance(value, float) else None
    if isinstance(tree, Binary) and tree.sign == "/":
        match constant(tree.left), constant(tree.right):
            case float(above), float(below) if below:
                return above / below
    if isinstance(tree, Name) and tree.name in ("True", "TRUE", "False", "FALSE"):
        return tree.name.upper() == "TRUE"
    return None


def walk(tree: Expression) -> Iterator[Expression]:
    """Iterate over a tree and all its parts, from left to right."""
    yield tree
    inside: tuple[Expression, ...] = ()
    if isinstance(tree, Negative):
        inside = (tree.of,)
    elif isinstance(tree, Binary):
        inside = (tree.left, tree.right)
    elif isinstance(tree, Call):
        inside = (*tree.arguments, *(value for _, value in tree.options))
    for part in inside:
        yield from walk(part)


def columns_of(tree: Expression) -> tuple[str, ...]:
    """Return the columns that a tree reads, each once."""
    return tuple(dict.fromkeys(part.name for part in walk(tree) if isinstance(part, Name)))


def check_numeric(tree: Expression, others: Sequence[str] = ()) -> None:
    """Raise for what cannot be computed per row: text, unknown functions, options. `others` are functions of terms."""
    for part in walk(tree):
        if isinstance(part, Text):
            raise ValueError(f"Text cannot be computed with: {part} in {tree}. A column goes in `backticks`.")
        if isinstance(part, Call):
            _check_call(part, tree, others)
    if not columns_of(tree):
        raise ValueError(f"The expression {tree} has no column in it: it is the same in every row.")


def _check_call(call: Call, tree: Expression, others: Sequence[str]) -> None:
    if call.function in others:
        raise ValueError(f"{call.function}() must stand alone in its term, not inside {tree}.")
    if call.function not in FUNCTIONS:
        known = sorted([*FUNCTIONS, *others])
        near = get_close_matches(call.function.rpartition(".")[2], known, n=2, cutoff=0.6)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(known)}."
        raise ValueError(f"There is no function {call.function!r}. {hint}")
    if len(call.arguments) != 1 or call.options:
        raise ValueError(f"{call.function}() takes one argument: {call}.")


def evaluate(tree: Expression, chunk: Chunk) -> Array:
    """Return the numbers of an expression for the rows of a chunk; infinite or NaN where it has no value."""
    columns = {name: float_column(chunk.frame[name], chunk.where) for name in columns_of(tree)}
    with np.errstate(all="ignore"):
        return np.asarray(_value(tree, columns), dtype=np.float64)


def _value(tree: Expression, columns: dict[str, Array]) -> Any:
    match tree:
        case Name(name):
            return columns[name]
        case Number(value):
            return np.float64(value)
        case Negative(of):
            return -_value(of, columns)
        case Binary(sign, left, right):
            return _BINARY[sign](_value(left, columns), _value(right, columns))
        case Call(function, (argument,), ()) if function in FUNCTIONS:
            return FUNCTIONS[function](_value(argument, columns))
    raise ValueError(f"{tree} cannot be computed.")


def check_result_finite(values: Array, tree: Expression, chunk: Chunk, label: str | None = None) -> None:
    """Raise for a value that is not finite; name the expression, the row and the values of its columns."""
    finite = np.isfinite(values)
    if finite.all():
        return
    i = int(np.argmin(finite))
    cells = {name: float_column(chunk.frame[name], chunk.where)[i] for name in columns_of(tree)}
    for name, cell in cells.items():
        if np.isnan(cell):
            raise ValueError(
                f'Column {name!r} is missing in {chunk.where(i)}. Fill the gap, or choose missing="drop" to leave such '
                "rows out."
            )
    given = ", ".join(f"{name} is {float(cell)!r}" for name, cell in cells.items())
    value = "not a number" if np.isnan(values[i]) else "infinite"
    raise ValueError(f"{label or tree} is {value} in {chunk.where(i)}, where {given}.")
