"""Parse and evaluate the arithmetic inside a term of a formula, such as log(price) or (x + z)^2.

Text becomes an immutable tree of numbers, text, names, minus signs, + - * / ^, comparisons and calls. There are no
attributes, indices or lambdas, and no way to reach Python: a name is a column. The size of a tree is limited when it is
parsed, and NumPy evaluates it, so an untrusted formula can do no harm.

Names follow R: they may contain dots (Sepal.Length), and backticks quote any other column (`net price`).
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linearly.dataset.formula.tokens import MAX_DEPTH, Token, TokenReader, tokenize
from linearly.dataset.rows.block import float_column
from linearly.dataset.rows.tables import Chunk
from linearly.kernels.double_double import Array

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
    "round": np.round,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
}

SEVERAL: dict[str, Callable[[Array, Array], Array]] = {"pmax": np.maximum, "pmin": np.minimum}  # of two or more

COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}
_REMEDIES = {
    "lag": "Compute the lagged column before the fit, because formulas are evaluated row by row",
    "lead": "Compute the shifted column before the fit, because formulas are evaluated row by row",
    "diff": "Compute the differences before the fit, because formulas are evaluated row by row",
    "cumsum": "Compute the sums before the fit, because formulas are evaluated row by row",
    **dict.fromkeys(
        ("ceiling", "cosh", "floor", "is.na", "logit", "pnorm", "qnorm", "sign", "sinh", "tanh", "trunc"),
        "Compute the column before the fit",
    ),
    **dict.fromkeys(("cr", "pspline", "rcs"), "Write ns(x, df=4) or bs(x, df=4)"),
    "Q": "Write the column's name in `backticks`",
    "median": "Write I(x - 3) with the number, or center(x), which subtracts the mean of the training rows",
    "rank": "Compute the ranks before the fit, because formulas are evaluated row by row",
    "ifelse": "Write a comparison such as I(x > 0), and interactions with it",
    "as.numeric": "Write the column itself if it contains numbers",
    "as.integer": "Use the column itself, or compute the integers before the fit",
    "as.character": "Write C(x), which makes a column categorical",
    "s": "Write ns(x, df=4) for a smooth curve; smoothing splines with a penalty are not available",
    "te": "Write ns(x, df=4) for a smooth curve; smoothing splines with a penalty are not available",
    "interaction": "Write a:b",
    "mean": "Write center(x), which subtracts the mean of the training rows",
    "sd": "Write scale(x), which divides by the standard deviation of the training rows",
    "Error": "Use groups= and covariance= for errors that are correlated within groups",
    "strata": "Fit each stratum separately, or add C(x) as a term",
    "ordered": "Write C(x, Poly) for an ordered column, or C(x)",
    "dummy": "Write C(x), which creates one column per level except the first",
    "get_dummies": "Write C(x), which creates one column per level except the first",
    "power": "Write I(x^2)",
    "pow": "Write I(x^2)",
    "ln": "Write log(x)",
    "square": "Write I(x^2)",
}
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
    """Two expressions joined by one of + - * / ^ or a comparison, which is 1 or 0."""

    sign: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        strength = _STRENGTH[self.sign]
        if self.sign == "^":
            return f"{_with_brackets(self.left, strength + 1)}^{_with_brackets(self.right, 3)}"
        left = strength + (strength == 0)  # comparisons do not chain
        return f"{_with_brackets(self.left, left)} {self.sign} {_with_brackets(self.right, strength + 1)}"


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

_STRENGTH = {**dict.fromkeys(COMPARISONS, 0), "+": 1, "-": 1, "*": 2, "/": 2, "^": 4}  # of a negation: 3


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
    tree = parser.comparison()
    parser.finish()
    return tree


class _Parser(TokenReader):
    """Recursive descent; every node counts towards the limit."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__(tokens)
        self.nodes, self.depth = 0, 0

    def comparison(self) -> Expression:
        tree = self.sum()
        if sign := self.accept(*COMPARISONS):
            tree = self.counted(Binary(sign, tree, self.sum()))
        return tree

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
            raise ValueError(f"The expression {self.shown_text()} is nested too deeply. Simplify it.")
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
                f"The exponent in {self.shown_text()} must be a number from -{MAX_EXPONENT} to {MAX_EXPONENT}. Write "
                "exp(…) for powers that depend on a column."
            )
        return self.counted(Binary("^", base, exponent))

    def atom(self) -> Expression:
        token = self.take()
        if token.kind == "number":
            value = float(token.text)
            if not math.isfinite(value):
                raise ValueError(f"The number {token.text[:20]} exceeds the float64 range. Write a smaller one.")
            return self.counted(Number(value))
        if token.kind == "text":
            return self.counted(Text(token.text[1:-1]))
        if token.kind == "quoted":
            return self.counted(Name(token.text[1:-1]))
        if token.kind == "name":
            return self.counted(self.call(token.text) if self.accept("(") else Name(token.text))
        if token.text in "({":
            tree = self.comparison()
            self.expect(")" if token.text == "(" else "}")
            return tree
        raise ValueError(f"{token.text!r} is not expected in {self.shown_text()}. Correct the formula.")

    def call(self, function: str) -> Call:
        arguments: list[Expression] = []
        options: dict[str, Expression] = {}
        while not self.accept(")"):
            if arguments or options:
                self.expect(",")
            name = self.option()
            if name is None:
                if options:
                    raise ValueError(
                        f"A positional argument follows a named one in {self.shown_text()}. Put positional "
                        "arguments first."
                    )
                arguments.append(self.comparison())
            elif name in options:
                raise ValueError(f"The option {name} occurs twice in {self.shown_text()}. Pass it once.")
            else:
                options[name] = self.comparison()
        second = {"log": "base", "round": "digits"}.get(function, "")
        if second in options and len(arguments) == 1:
            arguments.append(options.pop(second))
        return Call(function, tuple(arguments), tuple(options.items()))

    def option(self) -> str | None:
        if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text == "=":
            token = self.take()
            self.take()
            if token.kind != "name":
                raise ValueError(
                    f"{token.text!r} cannot be the name of an option in {self.shown_text()}. Correct the formula."
                )
            return token.text
        return None

    def take(self) -> Token:
        token = self.next()
        if token is None:
            raise ValueError(
                f"The expression {self.shown_text()} ends where a number or a column is expected. Complete it."
            )
        self.at += 1
        return token

    def expect(self, text: str) -> None:
        if not self.accept(text):
            token = self.next()
            found = "its end" if token is None else repr(token.text)
            raise ValueError(
                f"The expression {self.shown_text()} needs {text!r} instead of {found}. Correct the formula."
            )

    def finish(self) -> None:
        token = self.next()
        if token is not None:
            spaces = " A name with spaces goes in `backticks`." if token.kind == "name" else ""
            raise ValueError(f"{token.text!r} is not expected in {self.shown_text()}.{spaces} Correct the formula.")

    def counted(self, tree: Expression) -> Expression:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ValueError(f"The expression {self.shown_text()} has more than {MAX_NODES} parts. Simplify it.")
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
    if isinstance(tree, Name) and tree.name in ("True", "TRUE", "T", "False", "FALSE", "F"):
        return tree.name[0] == "T"
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
        if isinstance(part, Binary) and part.sign in COMPARISONS:
            for a, b in ((part.left, part.right), (part.right, part.left)):
                if isinstance(a, Name) and isinstance(b, Text):
                    raise ValueError(
                        f"The comparison {part} cannot be part of {tree}. Write a term such as I({a} == {b}), and "
                        f"products as interactions, as in I({a} == {b}):x."
                    )
        if isinstance(part, Text):
            raise ValueError(
                f"The text {part} in {tree} cannot be used in a computation. Write a column name with "
                "spaces in `backticks`."
            )
        if isinstance(part, Call):
            _check_call(part, tree, others)
    if not columns_of(tree):
        raise ValueError(f"The expression {tree} contains no column, so it is constant. Name a column.")


def _check_call(call: Call, tree: Expression, others: Sequence[str]) -> None:
    if call.function in others:
        raise ValueError(f"{call.function}() must be a term by itself, not part of {tree}. Move it out.")
    if call.function in SEVERAL and len(call.arguments) >= 2 and not call.options:
        return
    if call.function in ("log", "round") and len(call.arguments) == 2 and not call.options:
        _check_second(call)
        return
    if call.function in SEVERAL:
        raise ValueError(f"{call.function}() takes two or more arguments, but the formula has {call}. Add an argument.")
    if call.function in _REMEDIES and call.function not in FUNCTIONS:
        raise ValueError(f"The function {call.function!r} is not available in formulas. {_REMEDIES[call.function]}.")
    if call.function not in FUNCTIONS:
        from difflib import get_close_matches

        known = sorted([*FUNCTIONS, *SEVERAL, *others])
        near = get_close_matches(call.function.rpartition(".")[2], known, n=2, cutoff=0.6)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"The functions are {', '.join(known)}."
        raise ValueError(f"The function {call.function!r} is not available in formulas. {hint}")
    if len(call.arguments) != 1 or call.options:
        raise ValueError(f"{call.function}() takes one argument, but the formula has {call}. Correct the formula.")


def _check_second(call: Call) -> None:
    """Raise if the base of a logarithm, or the digits of a rounded number, cannot be one."""
    value = constant(call.arguments[1])
    if call.function == "log" and not (isinstance(value, float) and 0 < value != 1 and math.isfinite(value)):
        raise ValueError(
            f"The base of a logarithm must be a positive number other than 1, but the formula has {call}. Correct it."
        )
    if call.function == "round" and not (isinstance(value, float) and value.is_integer() and abs(value) <= 15):
        raise ValueError(f"round() takes a number of digits from -15 to 15, but the formula has {call}. Correct it.")


def evaluate(tree: Expression, chunk: Chunk) -> Array:
    """Return the numbers of an expression for the rows of a chunk; infinite or NaN if it has no value."""
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
        case Binary(sign, left, right) if sign in COMPARISONS:
            return _compare(sign, _value(left, columns), _value(right, columns))
        case Binary(sign, left, right):
            return _BINARY[sign](_value(left, columns), _value(right, columns))
        case Call(function, (argument,), ()) if function in FUNCTIONS:
            return FUNCTIONS[function](_value(argument, columns))
        case Call("log", (argument, base), ()):
            return _logarithm(_value(argument, columns), float(constant(base) or np.nan))
        case Call("round", (argument, digits), ()):
            return np.round(_value(argument, columns), int(constant(digits) or 0))
        case Call(function, arguments, ()) if function in SEVERAL:
            return functools.reduce(SEVERAL[function], (_value(argument, columns) for argument in arguments))
    raise ValueError(f"{tree} cannot be computed. Correct the formula.")


def _logarithm(values: Array, base: float) -> Array:
    special = {2.0: np.log2, 10.0: np.log10}.get(base)
    return np.asarray(np.log(values) / math.log(base) if special is None else special(values))


def _compare(sign: str, left: Array, right: Array) -> Array:
    """Return 1.0 where a comparison holds, 0.0 where it does not, and NaN where a value is missing."""
    missing = np.isnan(left) | np.isnan(right)
    return np.where(missing, np.nan, COMPARISONS[sign](left, right).astype(np.float64))


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
                f'Column {name!r} is missing in {chunk.where(i)}. Fill in the value, or choose missing="drop" to '
                "leave such rows out."
            )
    given = ", ".join(f"{name} is {float(cell)!r}" for name, cell in cells.items())
    value = "not a number" if np.isnan(values[i]) else "infinite"
    raise ValueError(
        f"{label or tree} is {value} in {chunk.where(i)}, where {given}. Correct the value, or drop the row."
    )
