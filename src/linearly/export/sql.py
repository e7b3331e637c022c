"""Write a model as one SELECT that computes predictions from raw columns, in any dialect that sqlglot writes.

The query is built as a tree, never as text, so names and labels are quoted by the dialect whatever is in them. It is a
chain of common table expressions: inputs, steps, scores, outputs. A row in which a value is missing, not finite or a
level that the model has not seen gets NULL. The text contains no control characters: those of levels and labels are
written as CHR(27), and a name that has one is refused.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from linearly.dataset.files.atomic_file import write_atomic
from linearly.export.graph import (
    Binary,
    Comparison,
    Constant,
    Function,
    Indicator,
    Input,
    OutputLayer,
    Power,
    PredictionGraph,
    Reference,
    Tree,
    prediction_graph,
)
from linearly.export.parity_check import ParityCheck
from linearly.formatting import HIDDEN, visible

try:
    import sqlglot
    from sqlglot import expressions as e
except ImportError:  # pragma: no cover
    raise ImportError("Export to SQL needs sqlglot. Run: pip install 'linearly[export]'.") from None

# These write a step out wherever it is used, and in those steps the steps before: gigabytes for 40 classes.
_MATERIALIZED = ("sqlite", "postgres")
_DOTTED = re.compile(r"\w+(\.\w+)+")
_ZERO: Any = e.Literal.number("0.0e0")
_ONE: Any = e.Literal.number("1.0e0")


def to_sql(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dialect: str = "duckdb",
    table: str = "data",
    keep: Sequence[str] = (),
    interval: float | None = None,
) -> str:
    """Return a SELECT of ``prediction``, and of ``probability[label]`` per label if the model has probabilities.

    The text is parsed again and run in SQLite on made-up rows.

    Parameters
    ----------
    model : Model
        What `linearly.fit` returned.
    path : path-like, optional
        File to write.
    dialect : str, default="duckdb"
        A dialect of sqlglot.
    table : str, default="data"
        The table of raw columns.
    keep : sequence of str, default=()
        Columns of the table to select as well.
    interval : float, default=None
        Confidence level of the columns ``low`` and ``high``: the interval of the mean of a linear or ridge model. For a
        logistic model of two labels they are ``low[label]`` and ``high[label]``, of the second label's probability.

    Returns
    -------
    str
        The query.

    Raises
    ------
    ValueError
        If the model cannot be exported, or the query does not agree with it.

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
        raise ValueError(f"sqlglot has no dialect {dialect!r}. Choose one of {known}.")
    graph = prediction_graph(model, interval)
    outputs = _output_names(graph)
    for name in keep:
        if name in outputs:
            raise ValueError(
                f"Column {name!r} cannot be kept, because the query has an output of that name. Rename it."
            )
    _check_names_differ([*(item.column for item in graph.inputs), *keep])
    query = _Query(graph, table, tuple(keep), dialect in _MATERIALIZED).tree()
    text = query.sql(dialect=dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE, copy=False)
    _check(text, dialect, graph, model, keep, interval)
    if path is not None:
        write_atomic(path, (text + "\n").encode("utf-8"))
    return text


def _check_names_differ(names: Sequence[str]) -> None:
    """Raise if two columns differ only in case, which SQLite, DuckDB and others ignore even in quotes."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise ValueError(
                f"Columns {other!r} and {name!r} differ only in case, which SQL databases ignore. Rename one of them, "
                "and fit again."
            )


def _output_names(graph: PredictionGraph) -> list[str]:
    has = graph.head.probabilities is not None
    ends = ("low", "high") if graph.interval is not None else ()
    second = f"[{graph.labels[1]}]" if graph.labels else ""
    shares = (visible(f"probability[{label}]") for label in graph.labels if has)
    return ["prediction", *shares, *(visible(f"{end}{second}") for end in ends)]


# --- the query ------------------------------------------------------------------------------------


class _Query:
    """Builds the chain of tables."""

    def __init__(self, graph: PredictionGraph, table: str, keep: tuple[str, ...], materialized: bool) -> None:
        self.graph, self.materialized = graph, materialized
        self.kept = {f"k{i}": name for i, name in enumerate(keep)}
        parts = table.split(".") if _DOTTED.fullmatch(table) else [table]
        names = zip(("this", "db", "catalog"), map(_name, reversed(parts)), strict=False)
        self.table = e.Table(**dict(names))
        self.prefix = "linearly_"
        while any(part.lower().startswith(self.prefix) for part in parts):
            self.prefix = f"_{self.prefix}"
        self.tables: list[tuple[str, e.Select]] = []

    def tree(self) -> e.Select:
        graph = self.graph
        columns = {item.name: _read(item) for item in graph.inputs}
        columns |= {alias: _column(name) for alias, name in self.kept.items()}
        selected = [e.alias_(column, name, copy=False) for name, column in columns.items()]
        self.tables.append((f"{self.prefix}input", e.select(*selected, copy=False).from_(self.table)))
        depth = graph.levels_of_steps
        for level in range(1, max(depth.values(), default=0) + 1):
            self.then(f"step_{level}", {s.name: _tree(s.tree) for s in graph.steps if depth[s.name] == level})
        self.then("linear", {f"l{i}": score for i, score in enumerate(_linear(graph))})
        present = [_is_not_null(e.column(item.name)) for item in graph.inputs]
        # NaN is above all numbers in some engines.
        scores = [_when(e.and_(*present, _finite(score)), score) for score in _scores(graph.head)]
        self.then("scores", {f"s{i}": score for i, score in enumerate(scores)})
        made = [e.column(f"s{i}") for i in range(len(scores))]
        return self.last([*self.predictions(made), *self.ends(made[0])])

    def ends(self, score: Any) -> list[Any]:
        """Return the ends of the interval, if there is one."""
        graph = self.graph
        if graph.interval is None:
            return []
        columns = [e.column(name) for name in graph.features]
        parts = _sums_of_products(columns, graph.interval.weights, graph.interval.constants)
        self.then("roots", {f"r{i}": part for i, part in enumerate(parts)})
        roots = [e.column(f"r{i}") for i in range(len(parts))]
        self.then("spread", {"spread": e.Sqrt(this=_total([_op(root, "*", root) for root in roots]))})
        ends = {"low": _op(score, "-", e.column("spread")), "high": _op(score, "+", e.column("spread"))}
        if graph.head.rule == "number":
            return list(ends.values())
        self.then("ends", {f"end_{name}": end for name, end in ends.items()})
        return [_expit(e.column(f"end_{name}")) for name in ends]

    def then(self, name: str, columns: dict[str, Any]) -> None:
        """Add a table that has the columns of the one before and these."""
        named = [e.alias_(column, alias, copy=False) for alias, column in columns.items()]
        select = e.select(e.Star(), *named, copy=False).from_(self.tables[-1][0], copy=False)
        self.tables.append((f"{self.prefix}{name}", select))

    def predictions(self, scores: list[Any]) -> list[Any]:
        """Return the prediction and the probabilities."""
        rule, labels = self.graph.head.rule, [_label(label) for label in self.graph.labels]
        if rule == "number":
            return scores
        if rule == "largest" or self.graph.head.probabilities == "softmax":
            self.then("top", {"top": _greatest(scores)})
        if rule == "sign":
            pairs = [(scores[0] < _ZERO, labels[0]), (_is_not_null(scores[0]), labels[1])]
        elif rule == "two":
            pairs = [(scores[1] >= scores[0], labels[1]), (scores[1] < scores[0], labels[0])]
        else:
            pairs = [(score.eq(e.column("top")), label) for score, label in zip(scores, labels, strict=True)]
        choice = e.Case()
        for condition, label in pairs:
            choice = choice.when(condition, label, copy=False)
        return [choice, *self.probabilities(scores)]

    def probabilities(self, scores: list[Any]) -> list[Any]:
        kind = self.graph.head.probabilities
        if kind == "softmax":
            self.then("parts", {f"e{i}": _exp(_op(s, "-", e.column("top"))) for i, s in enumerate(scores)})
            parts = [e.column(f"e{i}") for i in range(len(scores))]
            self.then("total", {"total": _total([part.copy() for part in parts])})
            return [_op(part, "/", e.column("total")) for part in parts]
        if kind == "logistic":
            small, share, negative = e.column("small"), e.column("share"), scores[0] < _ZERO
            self.then("parts", {"small": _exp(e.Neg(this=e.Abs(this=scores[0].copy())))})
            self.then("total", {"share": _op(_ONE, "/", _op(_ONE, "+", small))})
            rare = _op(small, "*", share)
            # If the score is NULL both branches are, because they are computed from it.
            return [_when(negative, share).else_(rare), _when(negative, rare).else_(share)]
        return []

    def last(self, outputs: list[Any]) -> e.Select:
        names = [*self.kept.values(), *_output_names(self.graph)]
        columns = [*map(e.column, self.kept), *outputs]
        named = [e.Alias(this=column, alias=_name(name)) for column, name in zip(columns, names, strict=True)]
        query = e.select(*named, copy=False).from_(self.tables[-1][0], copy=False)
        for name, table in self.tables:
            query = query.with_(name, as_=table, materialized=self.materialized or None, copy=False)
        return query


def _read(item: Input) -> Any:
    column: Any = _column(item.column)
    if item.kind == "number" or (item.kind == "level" and not any(isinstance(level, bool) for level in item.levels)):
        column = e.cast(column, e.DataType.Type.DOUBLE)
    if item.kind != "number" and item.unseen == "error":
        return _when(e.In(this=column.copy(), expressions=[_label(level) for level in item.levels]), column)
    return _when(_finite(column), column) if isinstance(column, e.Cast) else column


def _linear(graph: PredictionGraph) -> list[Any]:
    head = graph.head
    columns: list[Any] = [e.column(name) for name in graph.features]
    for center in (head.center, head.center_low):
        if center is not None:
            columns = [_op(x, "-", _number(c)) for x, c in zip(columns, center.tolist(), strict=True)]
    return _sums_of_products(columns, head.weights, head.constants)


def _sums_of_products(columns: list[Any], weights: Any, constants: Any) -> list[Any]:
    products = [[_op(_number(weight), "*", x) for weight, x in zip(own, columns, strict=True)]
                for own in weights.T.tolist()]  # fmt: skip
    return [
        _op(_total(terms), "+", _number(b)) if terms else _number(b)
        for terms, b in zip(products, constants.tolist(), strict=True)
    ]


def _expit(x: Any) -> Any:
    small = _exp(e.Neg(this=e.Abs(this=x.copy())))
    share = _op(_ONE, "/", _op(_ONE, "+", small))
    return _when(x >= _ZERO, share).when(x < _ZERO, _op(small, "*", share))


def _scores(head: OutputLayer) -> list[Any]:
    linear = [e.column(f"l{i}") for i in range(len(head.constants))]
    if head.squares is None:
        return linear
    each = len(linear) // len(head.squares)
    squares = [_op(x, "*", x) for x in linear]
    totals = [_total(squares[k : k + each]) for k in range(0, len(squares), each)]
    halves = [_op(_number(0.5), "*", total) for total in totals]
    return [_op(_number(constant), "-", half) for constant, half in zip(head.squares.tolist(), halves, strict=True)]


def _tree(tree: Tree) -> Any:
    match tree:
        case Constant(value):
            return _number(value)
        case Reference(name):
            return e.column(name)
        case Indicator(name, level):
            column, label = e.column(name), _label(level)
            return _when(column.eq(label), _ONE).when(column.neq(label), _ZERO)
        case Binary("/", a, b):
            return _when(_tree(b).neq(_ZERO), _op(_tree(a), "/", _tree(b)))
        case Binary(operator, a, b):
            return _op(_tree(a), operator, _tree(b))
        case Power(a, exponent):
            return _power(_tree(a), exponent)
        case Function(name, a):
            return _FUNCTIONS[name](_tree(a))
        case Comparison(operator, a, b):
            left, right = _tree(a), _tree(b)
            holds = _COMPARISONS[operator](this=left, expression=right)
            present = [_is_not_null(x.copy()) for x in (left, right) if isinstance(x, e.Column)]
            return _when(holds, _ONE).when(e.and_(*present), _ZERO)


def _power(base: Any, exponent: float) -> Any:
    power = e.Pow(this=base, expression=_number(exponent))
    if exponent.is_integer():
        return power if exponent >= 0 else _when(base.neq(_ZERO), power)
    return _when(base >= _ZERO if exponent > 0 else base > _ZERO, power)


def _log1p(x: Any) -> Any:
    # x ln(1 + x) / ((1 + x) − 1): rounding errors of 1 + x cancel (Kahan).
    moved = _op(_ONE, "+", x)
    ratio = _op(_op(x, "*", e.Ln(this=moved)), "/", _op(moved, "-", _ONE))
    return _when(moved.eq(_ONE), x).when(moved > _ZERO, ratio)


def _expm1(x: Any) -> Any:
    # (u − 1) x / ln u with u = exp(x), by the same argument.
    u = e.Exp(this=x)
    rise = _op(u, "-", _ONE)
    ratio = _op(_op(rise, "*", x), "/", e.Ln(this=u))
    return _when(e.Abs(this=x) > _ONE, rise).when(u.eq(_ONE), x).else_(ratio)


def _exp(x: Any) -> Any:
    """Return exp of a number of at most 0, as 0 below −700: some engines raise on underflow."""
    return _when(x < _number(-700.0), _ZERO).else_(e.Exp(this=x))


def _log(x: Any) -> Any:
    return _when(x > _ZERO, e.Ln(this=x))


def _log_to(base: float) -> Callable[[Any], Any]:
    return lambda x: _when(x > _ZERO, _op(e.Ln(this=x), "/", _number(math.log(base))))


def _round(x: Any) -> Any:
    """Return the nearest integer, of two the even one; engines round ties in their own ways."""
    down = e.func("FLOOR", x.copy())
    half, rest = _number(0.5), _op(x, "-", down)
    even = _op(_op(down, "/", _number(2.0)), "-", e.func("FLOOR", _op(down, "/", _number(2.0)))).eq(_ZERO)
    return (
        _when(rest < half, down)
        .when(rest > half, _op(down, "+", _ONE))
        .when(even, down)
        .when(_is_not_null(x.copy()), _op(down, "+", _ONE))
    )


_COMPARISONS: dict[str, Any] = {"<": e.LT, "<=": e.LTE, ">": e.GT, ">=": e.GTE, "==": e.EQ, "!=": e.NEQ}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: e.Abs(this=x),
    "cos": lambda x: e.func("COS", x),
    "exp": lambda x: e.Exp(this=x),
    "expm1": _expm1,
    "log": _log,
    "log10": _log_to(10.0),
    "log1p": _log1p,
    "log2": _log_to(2.0),
    "round": _round,
    "sin": lambda x: e.func("SIN", x),
    "sqrt": lambda x: _when(x >= _ZERO, e.Sqrt(this=x)),
    "tan": lambda x: e.func("TAN", x),
}


# --- pieces ---------------------------------------------------------------------------------------

_OPERATORS: dict[str, Any] = {"+": e.Add, "-": e.Sub, "*": e.Mul, "/": e.Div}


def _op(a: Any, operator: str, b: Any) -> Any:
    """Return ``a operator b`` of copies, in brackets if need be: sqlglot's own writes a - (b - c) as a - b - c."""
    left, right = (e.Paren(this=x.copy()) if isinstance(x, (e.Binary, e.Neg)) else x.copy() for x in (a, b))
    return _OPERATORS[operator](this=left, expression=right)


def _when(condition: Any, value: Any) -> Any:
    return e.Case().when(condition, value)


def _name(text: str) -> e.Identifier:
    if HIDDEN.search(text):
        raise ValueError(f"The name {text!r} contains a control character, which SQL cannot express. Rename it.")
    return e.to_identifier(text, quoted=True)


def _column(name: str) -> e.Column:
    return e.Column(this=_name(name))


def _number(value: float) -> Any:
    """Return a float that no engine takes for a decimal: all digits, and an exponent."""
    text = repr(abs(float(value)))
    literal = e.Literal.number(text if "e" in text else f"{text}e0")
    return e.Paren(this=e.Neg(this=literal)) if math.copysign(1.0, value) < 0 else literal


def _label(value: Any) -> Any:
    if isinstance(value, bool):
        return e.Boolean(this=value)
    if isinstance(value, str):
        return _string(value)
    return _number(value) if isinstance(value, float) else e.Literal.number(value)


def _string(text: str) -> Any:
    """Return a text whose control characters are written by their number, as every dialect can."""
    parts: list[Any] = []
    for part in re.split(f"({HIDDEN.pattern})", text):
        if not HIDDEN.fullmatch(part):
            parts += [e.Literal.string(part)] if part else []
        elif 0 < ord(part) < 128:
            parts.append(e.Chr(expressions=[e.Literal.number(ord(part))]))
        else:  # dialects differ: a code point here, a byte there
            raise ValueError(
                f"The text {text!r} contains {part!r}, which not every SQL dialect can express. Change it and fit "
                "again."
            )
    if len(parts) > 1:
        return e.Concat(expressions=parts, safe=False, coalesce=False)
    return parts[0] if parts else e.Literal.string("")


def _is_not_null(tree: Any) -> Any:
    return e.Not(this=tree.is_(e.Null()))


def _finite(tree: Any) -> Any:
    return tree.between(_number(-sys.float_info.max), _number(sys.float_info.max))


def _total(terms: list[Any]) -> Any:
    """Return a sum of sums of a few terms: engines limit how deep an expression may be."""
    while len(terms) > 1:
        groups = [terms[i : i + 16] for i in range(0, len(terms), 16)]
        terms = [e.Paren(this=reduce(lambda a, b: e.Add(this=a, expression=b), group)) for group in groups]
    return terms[0]


def _greatest(terms: list[Any]) -> Any:
    while len(terms) > 1:
        groups = [[term.copy() for term in terms[i : i + 32]] for i in range(0, len(terms), 32)]
        terms = [e.Greatest(this=g[0], expressions=g[1:], ignore_nulls=False) if len(g) > 1 else g[0] for g in groups]
    return terms[0]


# --- the check ------------------------------------------------------------------------------------


def _check(
    text: str, dialect: str, graph: PredictionGraph, model: Any, keep: Sequence[str], interval: float | None
) -> None:
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
        raise ValueError(
            f"The query could not be checked in SQLite ({error}), so it was not exported. Report this bug."
        ) from None
    finally:
        base.close()
    outputs = [row[len(keep) :] for row in found]
    predictions = [_typed(row[0], graph) for row in outputs]
    last = None if interval is None else -2
    trial.compare(predictions, [row[1:last] for row in outputs], "query")
    if interval is not None:
        trial.compare_ends([row[-2:] for row in outputs], interval, "query")


def _typed(value: Any, graph: PredictionGraph) -> Any:
    # SQLite has no truth values.
    boolean = graph.labels and isinstance(graph.labels[0], bool)
    return bool(value) if boolean and value is not None else value


def _null_safe(function: Callable[..., float]) -> Callable[..., float | None]:
    """Return a function for SQLite that gives NULL for NULL and where it has no value, as SQLite's own functions do."""

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
    "floor": _null_safe(math.floor),
    "ln": _null_safe(math.log),
    "pow": _null_safe(math.pow),
    "power": _null_safe(math.pow),
    "sin": _null_safe(math.sin),
    "sqrt": _null_safe(math.sqrt),
    "tan": _null_safe(math.tan),
}
