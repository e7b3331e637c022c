"""A model as SQL: one SELECT that computes predictions from raw columns, in any dialect that sqlglot writes.

The query is built as a tree, never as text, so names and labels are quoted by the dialect whatever is in them. It is a
chain of common table expressions: inputs, steps, scores, answers. A row in which a value is missing, not finite or a
level that the model has not seen gets NULL. The text holds no control characters: those of levels and labels are
written as CHR(27), and a name that has one is refused.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

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
from linearly.formatting import HIDDEN, visible

try:
    import sqlglot
    from sqlglot import expressions as e
except ImportError:  # pragma: no cover
    raise ImportError("Export to SQL needs sqlglot: pip install 'linearly[export]'.") from None

_MOST = 1.7976931348623157e308
# These write a step out wherever it is used, and in those steps the steps before: gigabytes for 40 classes.
_MATERIALIZED = ("sqlite", "postgres")
_DOTTED = re.compile(r"\w+(\.\w+)+")


def to_sql(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dialect: str = "duckdb",
    table: str = "data",
    keep: Sequence[str] = (),
) -> str:
    """A SELECT with the column ``prediction``, and ``probability[label]`` for each label where the model has them.

    ``table`` holds the raw columns; those named in ``keep`` come along. The text is parsed again and run in SQLite on
    made-up rows: one that does not agree with the model is an error. With ``path`` it is written there.

    Examples
    --------
    >>> import linearly as ly
    >>> from linearly.export.sql import to_sql
    >>> model = ly.fit({"x": [0.0, 1.0, 2.0, 4.0], "y": [1.0, 3.0, 5.0, 9.0]}, target="y")
    >>> to_sql(model, dialect="postgres", keep=["x"]).splitlines()[-1].strip()
    'FROM linearly_scores'
    """
    if dialect not in sqlglot.Dialect.classes or not dialect:
        known = ", ".join(sorted(name for name in sqlglot.Dialect.classes if name))
        raise ValueError(f"sqlglot knows no dialect {dialect!r}; it knows {known}.")
    recipe = prediction_graph(model)
    answers = _answer_names(recipe)
    for name in keep:
        if name in answers:
            raise ValueError(f"The column {name!r} cannot be kept: the query has an answer of that name.")
    query = _Query(recipe, table, tuple(keep), dialect in _MATERIALIZED).tree()
    text = query.sql(dialect=dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE, copy=False)
    _check(text, dialect, recipe, model, keep)
    if path is not None:
        write_atomic(path, (text + "\n").encode("utf-8"))
    return text


def _answer_names(recipe: PredictionGraph) -> list[str]:
    has = recipe.head.probabilities is not None
    return ["prediction", *(visible(f"probability[{label}]") for label in recipe.labels if has)]


# --- the query ------------------------------------------------------------------------------------


class _Query:
    """Builds the chain of tables."""

    def __init__(self, recipe: PredictionGraph, table: str, keep: tuple[str, ...], materialized: bool) -> None:
        self.recipe, self.keep, self.materialized = recipe, keep, materialized
        parts = table.split(".") if _DOTTED.fullmatch(table) else [table]
        self.table = e.Table(
            **dict(zip(("this", "db", "catalog"), (_name(part) for part in reversed(parts)), strict=False))
        )
        self.prefix = "linearly_"
        while any(part.lower().startswith(self.prefix) for part in parts):
            self.prefix = f"_{self.prefix}"
        self.tables: list[tuple[str, e.Select]] = []
        self.kept = [f"k{i}" for i in range(len(keep))]

    def tree(self) -> e.Select:
        recipe, head = self.recipe, self.recipe.head
        inputs = [_as(_read(item), item.name) for item in recipe.inputs]
        kept = [_as(_column(name), alias) for name, alias in zip(self.keep, self.kept, strict=True)]
        self.tables.append((f"{self.prefix}input", e.select(*inputs, *kept, copy=False).from_(self.table)))
        depth = recipe.levels_of_steps
        for level in range(1, max(depth.values(), default=0) + 1):
            steps = [_as(_tree(step.tree), step.name) for step in recipe.steps if depth[step.name] == level]
            self.then(f"step_{level}", e.Star(), *steps)
        self.then("linear", e.Star(), *(_as(s, f"l{i}") for i, s in enumerate(_linear(recipe))))
        scores = _scores(head)
        self.then("scores", e.Star(), *(_as(self.guarded(s), f"s{i}") for i, s in enumerate(scores)))
        return self.answers(len(scores))

    def then(self, name: str, *columns: Any) -> None:
        before = self.tables[-1][0]
        self.tables.append((f"{self.prefix}{name}", e.select(*columns, copy=False).from_(before, copy=False)))

    def guarded(self, score: Any) -> Any:
        """The score where all inputs are there and it is finite; NaN is above all numbers in some engines."""
        there: list[Any] = [_there(_ref(item.name)) for item in self.recipe.inputs]
        return e.Case().when(e.and_(*there, _finite(score.copy())), score)

    def answers(self, n: int) -> e.Select:
        head, labels = self.recipe.head, self.recipe.labels
        scores = [_ref(f"s{i}") for i in range(n)]
        if head.rule == "number":
            return self.last([scores[0]])
        if head.rule == "sign":
            choice = _case([(e.LT(this=scores[0], expression=_number(0.0)), labels[0]), (_there(scores[0]), labels[1])])
        elif head.rule == "two":
            a, b = scores
            choice = _case([(e.GTE(this=b, expression=a), labels[1]), (e.LT(this=b, expression=a), labels[0])])
        if head.rule == "largest" or head.probabilities == "softmax":
            self.then("top", e.Star(), _as(_greatest(scores), "top"))
            if head.rule == "largest":
                pairs = zip(scores, labels, strict=True)
                choice = _case([(e.EQ(this=s.copy(), expression=_ref("top")), label) for s, label in pairs])
        probabilities: list[Any] = []
        if head.probabilities == "softmax":
            parts = [_exp(_minus(s.copy(), _ref("top"))) for s in scores]
            self.then("parts", e.Star(), *(_as(part, f"e{i}") for i, part in enumerate(parts)))
            total = _total([_ref(f"e{i}") for i in range(n)])
            self.then("total", e.Star(), _as(total, "total"))
            probabilities = [e.Div(this=_ref(f"e{i}"), expression=_ref("total"), typed=False) for i in range(n)]
        elif head.probabilities == "logistic":
            small = _exp(e.Neg(this=e.Abs(this=scores[0].copy())))
            self.then("parts", e.Star(), _as(small, "small"))
            share = e.Div(this=_number(1.0), expression=e.Paren(this=_plus(_number(1.0), _ref("small"))), typed=False)
            self.then("total", e.Star(), _as(share, "share"))
            rare = e.Mul(this=_ref("small"), expression=_ref("share"))
            negative = e.LT(this=_ref("s0"), expression=_number(0.0))
            # Where the score is NULL both branches are, because they are made of it.
            probabilities = [
                e.Case().when(negative.copy(), _ref("share")).else_(rare.copy()),
                e.Case().when(negative.copy(), rare.copy()).else_(_ref("share")),
            ]
        return self.last([choice, *probabilities])

    def last(self, answers: list[Any]) -> e.Select:
        kept = [_as_name(_ref(alias), name) for name, alias in zip(self.keep, self.kept, strict=True)]
        named = [_as_name(answer, name) for answer, name in zip(answers, _answer_names(self.recipe), strict=True)]
        query = e.select(*kept, *named, copy=False).from_(self.tables[-1][0], copy=False)
        for name, table in self.tables:
            query = query.with_(name, as_=table, materialized=self.materialized or None, copy=False)
        return query


def _read(item: Input) -> Any:
    column: Any = _column(item.column)
    if item.kind == "number":
        number = e.cast(column, e.DataType.Type.DOUBLE)
        return e.Case().when(_finite(number.copy()), number)
    if item.kind == "level" and not any(isinstance(level, bool) for level in item.levels):
        column = e.cast(column, e.DataType.Type.DOUBLE)
    if item.unseen == "reference":
        return e.Case().when(_finite(column.copy()), column) if isinstance(column, e.Cast) else column
    return e.Case().when(e.In(this=column.copy(), expressions=[_label(level) for level in item.levels]), column)


def _linear(recipe: PredictionGraph) -> list[Any]:
    head = recipe.head
    columns: list[Any] = [_ref(name) for name in recipe.features]
    for center in (head.center, head.center_low):
        if center is not None:
            columns = [e.Paren(this=_minus(x, _number(c))) for x, c in zip(columns, center.tolist(), strict=True)]
    return [
        _plus(
            _total([e.Mul(this=_number(w), expression=x.copy()) for w, x in zip(weights, columns, strict=True)]),
            _number(constant),
        )
        for weights, constant in zip(head.weights.T.tolist(), head.constants.tolist(), strict=True)
    ]


def _scores(head: OutputLayer) -> list[Any]:
    n = len(head.constants)
    if head.squares is None:
        return [_ref(f"l{i}") for i in range(n)]
    each = n // len(head.squares)
    squares = [e.Mul(this=_ref(f"l{i}"), expression=_ref(f"l{i}")) for i in range(n)]
    return [
        _minus(_number(constant), e.Mul(this=_number(0.5), expression=_total(squares[k * each : (k + 1) * each])))
        for k, constant in enumerate(head.squares.tolist())
    ]


def _tree(tree: Tree) -> Any:
    match tree:
        case Constant(value):
            return _number(value)
        case Reference(name):
            return _ref(name)
        case Indicator(name, level):
            same = e.EQ(this=_ref(name), expression=_label(level))
            other = e.NEQ(this=_ref(name), expression=_label(level))
            return e.Case().when(same, _number(1.0)).when(other, _number(0.0))
        case Sum(a, b):
            return e.Paren(this=_plus(_tree(a), _tree(b)))
        case Difference(a, b):
            return e.Paren(this=_minus(_tree(a), _tree(b)))
        case Product(a, b):
            return e.Mul(this=e.Paren(this=_tree(a)), expression=e.Paren(this=_tree(b)))
        case Quotient(a, b):
            quotient = e.Div(this=_tree(a), expression=_tree(b), typed=False)
            return e.Case().when(e.NEQ(this=_tree(b), expression=_number(0.0)), quotient)
        case Power(a, exponent):
            return _power(_tree(a), exponent)
        case Function(name, a):
            return _FUNCTIONS[name](_tree(a))


def _power(base: Any, exponent: float) -> Any:
    power = e.Pow(this=base, expression=_number(exponent))
    if exponent.is_integer() and exponent >= 0:
        return power
    zero = _number(0.0)
    if exponent.is_integer():
        return e.Case().when(e.NEQ(this=base.copy(), expression=zero), power)
    bound: Any = e.GTE if exponent > 0 else e.GT
    return e.Case().when(bound(this=base.copy(), expression=zero), power)


def _log(of: Any) -> Any:
    return e.Case().when(e.GT(this=of.copy(), expression=_number(0.0)), e.Ln(this=of))


def _log_to(base: float) -> Callable[[Any], Any]:
    return lambda of: e.Case().when(
        e.GT(this=of.copy(), expression=_number(0.0)),
        e.Div(this=e.Ln(this=of), expression=_number(math.log(base)), typed=False),
    )


def _log1p(of: Any) -> Any:
    # x ln(1 + x) / ((1 + x) − 1): rounding errors of 1 + x cancel (Kahan).
    one = e.Paren(this=_plus(_number(1.0), of.copy()))
    back = e.Paren(this=_minus(one.copy(), _number(1.0)))
    ratio = e.Div(
        this=e.Paren(this=e.Mul(this=of.copy(), expression=e.Ln(this=one.copy()))), expression=back, typed=False
    )
    return (
        e.Case()
        .when(e.EQ(this=one.copy(), expression=_number(1.0)), of)
        .when(e.GT(this=one.copy(), expression=_number(0.0)), ratio)
    )


def _expm1(of: Any) -> Any:
    # (u − 1) x / ln u with u = exp(x), by the same argument.
    u = e.Exp(this=of.copy())
    rise = e.Paren(this=_minus(u.copy(), _number(1.0)))
    ratio = e.Div(
        this=e.Paren(this=e.Mul(this=rise.copy(), expression=of.copy())), expression=e.Ln(this=u.copy()), typed=False
    )
    far = e.GT(this=e.Abs(this=of.copy()), expression=_number(1.0))
    return e.Case().when(far, rise).when(e.EQ(this=u.copy(), expression=_number(1.0)), of).else_(ratio)


def _exp(of: Any) -> Any:
    """exp of something not above 0; some engines refuse to underflow."""
    deep = e.LT(this=of.copy(), expression=_number(-700.0))
    return e.Case().when(deep, _number(0.0)).else_(e.Exp(this=of))


def _sqrt(of: Any) -> Any:
    return e.Case().when(e.GTE(this=of.copy(), expression=_number(0.0)), e.Sqrt(this=of))


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": lambda of: e.Abs(this=of),
    "cos": lambda of: e.func("COS", of),
    "exp": lambda of: e.Exp(this=of),
    "expm1": _expm1,
    "log": _log,
    "log10": _log_to(10.0),
    "log1p": _log1p,
    "log2": _log_to(2.0),
    "sin": lambda of: e.func("SIN", of),
    "sqrt": _sqrt,
    "tan": lambda of: e.func("TAN", of),
}


# --- pieces ---------------------------------------------------------------------------------------


def _name(text: str) -> e.Identifier:
    if HIDDEN.search(text):
        raise ValueError(f"The name {text!r} holds a control character, which SQL cannot write. Rename it.")
    return e.to_identifier(text, quoted=True)


def _column(name: str) -> e.Column:
    return e.Column(this=_name(name))


def _ref(name: str) -> e.Column:
    return e.column(name)


def _as(tree: Any, name: str) -> Any:
    return e.alias_(tree, name, copy=False)


def _as_name(tree: Any, name: str) -> Any:
    return e.Alias(this=tree, alias=_name(name))


def _number(value: float) -> Any:
    """A float that no engine takes for a decimal: all digits, and an exponent."""
    text = repr(abs(float(value)))
    literal = e.Literal.number(text if "e" in text else f"{text}e0")
    return e.Paren(this=e.Neg(this=literal)) if math.copysign(1.0, value) < 0 else literal


def _label(value: Any) -> Any:
    if isinstance(value, bool):
        return e.Boolean(this=value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        return _number(value)
    return e.Literal.number(value)


def _string(text: str) -> Any:
    """A text whose control characters are written by their number, as every dialect can."""
    if not HIDDEN.search(text):
        return e.Literal.string(text)
    parts: list[Any] = []
    for part in re.split(f"({HIDDEN.pattern})", text):
        if not HIDDEN.fullmatch(part):
            parts += [e.Literal.string(part)] if part else []
        elif 0 < ord(part) < 128:
            parts.append(e.Chr(expressions=[e.Literal.number(ord(part))]))
        else:  # dialects differ: a code point here, a byte there
            raise ValueError(
                f"The text {text!r} holds {part!r}, which not every SQL can write. Change it and fit again."
            )
    return parts[0] if len(parts) == 1 else e.Concat(expressions=parts, safe=False, coalesce=False)


def _plus(a: Any, b: Any) -> Any:
    return e.Add(this=a, expression=b)


def _minus(a: Any, b: Any) -> Any:
    return e.Sub(this=a, expression=b)


def _there(tree: Any) -> Any:
    return e.Not(this=e.Is(this=tree.copy(), expression=e.Null()))


def _finite(tree: Any) -> Any:
    return e.Between(this=tree, low=_number(-_MOST), high=_number(_MOST))


def _case(pairs: list[tuple[Any, Any]]) -> Any:
    case = e.Case()
    for condition, label in pairs:
        case = case.when(condition, _label(label))
    return case


def _total(terms: list[Any]) -> Any:
    """A sum of sums of a few terms: engines limit how deep an expression may be."""
    while len(terms) > 1:
        terms = [e.Paren(this=reduce(_plus, terms[i : i + 16])) for i in range(0, len(terms), 16)]
    return terms[0]


def _greatest(terms: list[Any]) -> Any:
    while len(terms) > 1:
        groups = [[term.copy() for term in terms[i : i + 32]] for i in range(0, len(terms), 32)]
        terms = [e.Greatest(this=g[0], expressions=g[1:], ignore_nulls=False) if len(g) > 1 else g[0] for g in groups]
    return terms[0]


# --- the check ------------------------------------------------------------------------------------


def _check(text: str, dialect: str, recipe: PredictionGraph, model: Any, keep: Sequence[str]) -> None:
    trial = ParityCheck(model)
    tree = sqlglot.parse_one(text, read=dialect)
    own = {table.alias for table in tree.find_all(e.CTE)}
    for step in tree.find_all(e.CTE):
        step.set("materialized", True)
    for table in list(tree.find_all(e.Table)):
        if table.name not in own:
            table.replace(e.to_table("linearly_trial"))
    columns = dict(trial.columns) | {name: [0] * len(trial) for name in keep if name not in trial.columns}
    base = sqlite3.connect(":memory:")
    try:
        for name, function in _SQLITE.items():
            base.create_function(name, 2 if name.startswith("pow") else 1, function, deterministic=True)
        quoted = ", ".join(_name(name).sql("sqlite") for name in columns)
        base.execute(f"CREATE TABLE linearly_trial ({quoted})")
        marks = ", ".join("?" for _ in columns)
        base.executemany(f"INSERT INTO linearly_trial VALUES ({marks})", list(zip(*columns.values(), strict=True)))
        found = base.execute(tree.sql("sqlite")).fetchall()
    except sqlite3.Error as error:
        raise ValueError(f"The query could not be checked in SQLite ({error}): it was not exported.") from None
    finally:
        base.close()
    answers = [row[len(keep) :] for row in found]
    predictions = [_typed(row[0], recipe) for row in answers]
    trial.compare(predictions, [row[1:] for row in answers], "query")


def _typed(value: Any, recipe: PredictionGraph) -> Any:
    # SQLite has no truth values.
    boolean = recipe.labels and isinstance(recipe.labels[0], bool)
    return bool(value) if boolean and value is not None else value


def _null_safe(function: Callable[..., float]) -> Callable[..., float | None]:
    """As SQLite's own mathematics, which not every build has: NULL of NULL and where there is no value."""

    def safe(*numbers: float | None) -> float | None:
        try:
            return function(*numbers) if None not in numbers else None
        except OverflowError:
            return math.inf
        except ValueError:
            return None

    return safe


_SQLITE = {
    "cos": _null_safe(math.cos),
    "exp": _null_safe(math.exp),
    "ln": _null_safe(math.log),
    "pow": _null_safe(math.pow),
    "power": _null_safe(math.pow),
    "sin": _null_safe(math.sin),
    "sqrt": _null_safe(math.sqrt),
    "tan": _null_safe(math.tan),
}
