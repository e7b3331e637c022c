"""Turn a formula as in R into a `Design`: "Sales ~ . + Income:Advertising + C(region) + poly(age, 3) + log(price)".

The package `formula` parses the text; names and calls become factors here. Nothing is run as Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import narwhals.stable.v2 as nw

from linearly.dataset.design.counts import Counts
from linearly.dataset.design.cut import MAX_INTERVALS, Cut
from linearly.dataset.design.design import Design, Target, factor_of, target_of
from linearly.dataset.design.splines import MAX_COLUMNS as MAX_SPLINE_COLUMNS
from linearly.dataset.design.splines import MAX_DEGREE as MAX_SPLINE_DEGREE
from linearly.dataset.design.splines import Spline
from linearly.dataset.design.terms import Category, Factor, Level, LevelIndicator, Numeric, Term, is_coded
from linearly.dataset.design.transforms import (
    MAX_DEGREE,
    ExpressionTerm,
    NumericCategory,
    Offset,
    OrthogonalPolynomial,
    RawPolynomial,
    ScaledTerm,
)
from linearly.dataset.formula.expression import (
    Binary,
    Call,
    Expression,
    Name,
    Negative,
    Number,
    Text,
    check_numeric,
    columns_of,
    constant,
    parse_tokens,
)
from linearly.dataset.formula.operators import Key, Terms, expand_terms
from linearly.dataset.formula.tokens import Token, tokenize
from linearly.dataset.rows.tables import check_columns_known

Schema = Mapping[str, nw.dtypes.DType]

MAX_FORMULA_LENGTH = 10_000  # characters; an expression that is formatted again may be longer

_CATEGORY = ("C", "factor", "as.factor", "relevel")
_TREATMENT = ("Treatment", "contr.treatment")
_CODINGS = {"Sum": "sum", "Helmert": "helmert", "Poly": "poly", "Treatment": "treatment"} | {
    f"contr.{coding}": coding for coding in ("sum", "helmert", "poly", "treatment")
}
_SPLINES = ("bs", "ns")
_SCALING = ("center", "scale", "standardize")
_TERM_FUNCTIONS = (*_CATEGORY, *_SCALING, *_SPLINES, "cbind", "cut", "offset", "poly")


def formula_design(text: str, schema: Schema, *, unseen: str = "error", without: Sequence[str] = ()) -> Design:
    """Return the design of a formula for columns of a schema; `.` is all columns but the target and `without`."""
    tokens = tokenize(text, MAX_FORMULA_LENGTH)
    left, right = _split_sides(text, tokens)
    target = _target(parse_tokens(left), schema)
    variables = _Variables(schema, unseen, [*target.factor.required_columns, *without])
    total = expand_terms(text, right, variables)
    intercept = total.intercept is not False
    terms, offset = _split_offset(variables.terms(total.terms))
    terms = _with_coding(terms, intercept)
    if not terms and not intercept:
        raise ValueError(f"The formula {text!r} has no term. Write the name of a column after the ~.")
    design = Design(terms, target, None, intercept, formula=text, offset=offset)
    for name in target.factor.required_columns:
        if name in design.inputs:
            raise ValueError(f"The target {name!r} cannot also be a feature. Leave it out of the terms.")
    return design


def _split_sides(text: str, tokens: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    middles = [i for i, token in enumerate(tokens) if token.text == "~"]
    if len(middles) != 1:
        raise ValueError(
            f"A formula must have one ~, between the target and the terms, but {text[:60]!r} has "
            f"{len(middles)}. Write it as y ~ x."
        )
    left, right = tokens[: middles[0]], tokens[middles[0] + 1 :]
    if not left or not right:
        missing = "target before" if not left else "term after"
        raise ValueError(f"The formula {text[:60]!r} lacks a {missing} the ~. Write it as y ~ x.")
    return left, right


def _split_offset(terms: Sequence[Term]) -> tuple[tuple[Term, ...], Expression | None]:
    """Return the terms that have coefficients, and the sum of those that are offsets."""
    offset: Expression | None = None
    others = []
    for term in terms:
        given = [factor for factor in term.factors if isinstance(factor, Offset)]
        if not given:
            others.append(term)
        elif len(term.factors) > 1:
            raise ValueError(f"{given[0].label} cannot be part of an interaction. Add it as a separate term.")
        else:
            offset = given[0].expression if offset is None else Binary("+", offset, given[0].expression)
    return tuple(others), offset


def _target(tree: Expression, schema: Schema) -> Target:
    if isinstance(tree, Name):
        check_columns_known([tree.name], dict(schema), "target column")
        target = target_of(tree.name, schema)
        assert target is not None
        return target
    if isinstance(tree, Call) and tree.function == "cbind":
        if len(tree.arguments) != 2 or tree.options:
            raise ValueError(
                "cbind() takes two columns, the successes and the failures, but the formula "
                f"has {tree}. Write cbind(successes, failures)."
            )
        successes, failures = (_numeric(argument, schema) for argument in tree.arguments)
        counts = Counts(successes, failures)
        return Target(counts, True, counts.classes)
    if isinstance(tree, Call) and tree.function in _TERM_FUNCTIONS:
        raise ValueError(f"The target cannot be {tree}. Use a column, or an expression such as log(y).")
    if isinstance(tree, Call) and (comparison := _text_comparison(tree)) is not None:
        raise ValueError(
            f"The target cannot be {tree}. Use the column {comparison[0]!r} with a classifier, or compute a column of "
            "0 and 1."
        )
    return Target(ExpressionTerm(_numeric(tree, schema)))


class _Variables:
    """The factors of a formula, numbered in order of appearance."""

    def __init__(self, schema: Schema, unseen: str, taken: Sequence[str]) -> None:
        self.schema, self.unseen = schema, unseen
        self.remaining = [name for name in schema if name not in taken]  # what the dot stands for
        self.factors: list[Factor | ValueError] = []
        self.references: dict[str, Level] = {}
        self.codings: dict[str, str] = {}
        self.orders: dict[str, tuple[Level, ...]] = {}
        self._number: dict[str, int] = {}

    def number(self, tree: Expression) -> Key:
        """Return the term of a single column or call; number it if it is new."""
        if not isinstance(tree, Name):
            return self._enter(self._factor(tree))
        check_columns_known([tree.name], dict(self.schema))
        return self._column(tree.name)

    def rest(self) -> Terms:
        """Return the terms that the dot stands for, and number those that are new."""
        return {self._column(name): None for name in self.remaining}

    def terms(self, keys: Terms) -> tuple[Term, ...]:
        """Return the terms in R's order: by the number of factors, then by appearance."""
        return tuple(
            Term(tuple(self._checked_factor(number) for number in sorted(key))) for key in sorted(keys, key=len)
        )

    def label(self, key: Key) -> str:
        """Return a term as R writes it."""
        labels = list(self._number)
        return ":".join(labels[number] for number in sorted(key))

    def _column(self, name: str) -> Key:
        # A column that cannot be used raises only if it stays: `. - date` is valid.
        try:
            return self._enter(factor_of(name, self.schema[name], self.unseen))
        except ValueError as refusal:
            return self._enter(refusal, name)

    def _enter(self, factor: Factor | ValueError, name: str = "") -> Key:
        label = name if isinstance(factor, ValueError) else factor.label
        if label not in self._number:
            self._number[label] = len(self.factors)
            self.factors.append(factor)
        return frozenset([self._number[label]])

    def _checked_factor(self, number: int) -> Factor:
        factor = self.factors[number]
        if isinstance(factor, ValueError):
            raise factor
        if is_coded(factor):
            assert isinstance(factor, Category)
            reference = self.references.get(factor.name, factor.reference)
            coding, order = self.codings.get(factor.name, factor.coding), self.orders.get(factor.name, ())
            return replace(factor, reference=reference, coding=coding, order=order)
        return factor

    def _factor(self, tree: Expression) -> Factor:
        if isinstance(tree, Call):
            if tree.function in _CATEGORY:
                return self._category(tree)
            if tree.function in _SCALING:
                return _scaled(tree, self.schema)
            if tree.function in _SPLINES:
                return _spline(tree, self.schema)
            if tree.function == "poly":
                return _polynomial(tree, self.schema)
            if tree.function == "cut":
                return _cut(tree, self.schema)
            if tree.function == "offset":
                _check_arguments(tree, 1, ())
                return Offset(_numeric(tree.arguments[0], self.schema))
            if tree.function == "I" and (comparison := _text_comparison(tree)) is not None:
                column, sign, value = comparison
                check_columns_known([column], dict(self.schema))
                if isinstance(factor_of(column, self.schema[column]), Numeric):
                    raise ValueError(
                        f"Column {column!r} contains numbers, so {tree} cannot compare it with text. Compare it with "
                        "a number."
                    )
                return LevelIndicator(column, unseen=self.unseen, value=value, equal=sign == "==")
        return ExpressionTerm(_numeric(tree, self.schema))

    def _category(self, call: Call) -> Factor:
        own = {"relevel": ("ref",), "factor": ("reference", "contr", "levels")}
        _check_arguments(call, 2, own.get(call.function, ("reference", "contr")))
        column = call.arguments[0]
        if not isinstance(column, Name):
            raise ValueError(f"{call.function}() takes a column, not {column}. Name a column.")
        check_columns_known([column.name], dict(self.schema))
        plain = factor_of(column.name, self.schema[column.name], self.unseen)
        given = [*call.arguments[1:], *(value for name, value in call.options if name != "levels")]
        order = dict(call.options).get("levels")
        if call.function == "factor" and order is None and given and _is_list(given[0]):
            order = given.pop(0)  # the second argument of R's factor()
        if order is not None:
            self._set_order(column.name, _given_levels(order))
        coding = _coding(given)
        if coding is not None:
            if self.codings.setdefault(column.name, coding) != coding:
                raise ValueError(f"Column {column.name!r} has two codings in the formula. Choose one.")
        elif given:
            self._set_reference(column.name, _reference_level(given, call))
        elif call.function == "relevel":
            raise ValueError(f'relevel() needs a reference level. Write relevel({column}, ref="a").')
        return plain if isinstance(plain, Category) else NumericCategory(plain.name, unseen=self.unseen)

    def _set_order(self, name: str, order: tuple[Level, ...]) -> None:
        if self.orders.setdefault(name, order) != order:
            raise ValueError(f"Column {name!r} has two lists of levels in the formula. Keep one.")

    def _set_reference(self, name: str, reference: Level) -> None:
        if self.references.setdefault(name, reference) != reference:
            both = f"{self.references[name]!r} and {reference!r}"
            raise ValueError(f"Column {name!r} has two reference levels in the formula, {both}. Choose one.")


def _text_comparison(call: Call) -> tuple[str, str, str] | None:
    """Return column, operator and text of I(column == "text") or I(column != "text"); None for another call."""
    match call.arguments:
        case (Binary("==" | "!=" as sign, Name(column), Text(value)),):
            return column, sign, value
        case (Binary("==" | "!=" as sign, Text(value), Name(column)),):
            return column, sign, value
    return None


def _is_list(tree: Expression) -> bool:
    return isinstance(tree, Call) and tree.function == "c"


def _given_levels(tree: Expression) -> tuple[Level, ...]:
    """Return the levels of factor(x, levels=c("low", "high"))."""
    given = [constant(level) for level in tree.arguments] if isinstance(tree, Call) and _is_list(tree) else []
    levels = tuple(level for level in given if level is not None)
    if not levels or len(levels) < len(given) or len(set(levels)) < len(levels):
        raise ValueError(f'levels= must list different levels, as in levels=c("low", "high"), not {tree}.')
    return levels


def _coding(given: Sequence[Expression]) -> str | None:
    """Return the coding that C() is given by its name, as Sum or contr.sum; None if it is given something else."""
    if len(given) == 1 and isinstance(given[0], Name):
        return _CODINGS.get(given[0].name)
    if len(given) == 1 and isinstance(given[0], Call) and not (given[0].arguments or given[0].options):
        return _CODINGS.get(given[0].function)
    return None


def _scaled(call: Call, schema: Schema) -> Factor:
    """Return the factor of center(x), scale(x), scale(x, scale=FALSE) or standardize(x)."""
    options = ("center", "scale") if call.function == "scale" else ()
    _check_arguments(call, 1, options)
    switches = {name: constant(value) for name, value in call.options}
    for name, value in call.options:
        if not isinstance(switches[name], bool):
            raise ValueError(f"{name} must be True or False, not {value}.")
    divide = call.function != "center" and switches.get("scale", True) is True
    return ScaledTerm(_numeric(call.arguments[0], schema), divide, centred=switches.get("center", True) is True)


def _spline(call: Call, schema: Schema) -> Factor:
    natural = call.function == "ns"
    _check_arguments(call, 2, ("df", "knots", *(() if natural else ("degree",)), "intercept", "Boundary.knots"))
    options: dict[str, Expression] = dict(call.options)
    if len(call.arguments) == 2:
        if "df" in options:
            raise ValueError(f"{call} has df twice. Pass it once.")
        options["df"] = call.arguments[1]
    degree = _integer(options.get("degree", Number(3.0)), "The degree of a spline", 1, MAX_SPLINE_DEGREE)
    knots: tuple[float, ...] = ()
    if "knots" in options:
        if "df" in options:
            raise ValueError(f"{call} has both df and knots. Pass one of the two.")
        tree = options["knots"]
        values = [constant(k) for k in (tree.arguments if isinstance(tree, Call) and tree.function == "c" else (tree,))]
        knots = tuple(value for value in values if isinstance(value, float))
        if len(knots) < len(values) or not 1 <= len(set(knots)) == len(knots) <= MAX_SPLINE_COLUMNS - degree:
            raise ValueError(f"The knots of a spline must be different numbers, as in knots=c(1, 2, 3), not {tree}.")
        knots = tuple(sorted(knots))
    intercept = constant(options.get("intercept", Name("False")))
    if not isinstance(intercept, bool):
        raise ValueError(f"intercept must be True or False, not {options['intercept']}.")
    ends: tuple[float, ...] = ()
    if "Boundary.knots" in options:
        given = options["Boundary.knots"]
        values = [constant(k) for k in given.arguments] if isinstance(given, Call) and given.function == "c" else []
        ends = tuple(sorted(value for value in values if isinstance(value, float)))
        if len(values) != 2 or len(ends) < 2 or ends[0] == ends[1]:
            raise ValueError(f"Boundary.knots of a spline must be two different numbers, as in c(0, 100), not {given}.")
    least = (1 if natural else degree) + intercept
    columns = (
        _integer(options["df"], f"df of {call.function}()", least, MAX_SPLINE_COLUMNS) if "df" in options else None
    )
    expression = _numeric(call.arguments[0], schema)
    return Spline(expression, natural, degree, columns, knots, ends=ends, intercept=intercept)


def _integer(tree: Expression, what: str, least: int, most: int) -> int:
    value = constant(tree)
    if not isinstance(value, float) or not value.is_integer() or not least <= value <= most:
        raise ValueError(f"{what} must be an integer from {least} to {most}, not {tree}.")
    return int(value)


def _reference_level(given: Sequence[Expression], call: Call) -> Level:
    choice = given[0]
    if len(given) == 1 and isinstance(choice, Call) and choice.function in _TREATMENT:
        inside = [*choice.arguments, *(value for name, value in choice.options if name in ("reference", "base"))]
        if len(inside) == 1 and len(choice.arguments) + len(choice.options) == 1:
            choice = inside[0]
    level = constant(choice)
    if len(given) > 1 or level is None:
        raise ValueError(
            f'{call} cannot be parsed. Name a reference level as in C({call.arguments[0]}, reference="a").'
        )
    return level


def _polynomial(call: Call, schema: Schema) -> Factor:
    several = [part for part in call.arguments if columns_of(part)]
    if len(several) > 1:
        a, b = several[:2]
        raise ValueError(
            f"poly() takes one column, but the formula has {call}. Write poly({a}, 2) + poly({b}, 2) + "
            f"poly({a}, 1):poly({b}, 1) for all terms up to degree 2."
        )
    _check_arguments(call, 2, ("degree", "raw"))
    options = dict(call.options)
    if len(call.arguments) == 2 and "degree" in options:
        raise ValueError(f"{call} has the degree twice. Pass it once.")
    given = call.arguments[1] if len(call.arguments) == 2 else options.get("degree")
    degree = 1.0 if given is None else constant(given)
    if not isinstance(degree, float) or not degree.is_integer() or not 1 <= degree <= MAX_DEGREE:
        raise ValueError(f"The degree of a polynomial must be an integer from 1 to {MAX_DEGREE}, not {given}.")
    raw = constant(options["raw"]) if "raw" in options else False
    if not isinstance(raw, bool):
        raise ValueError(f"raw must be True or False, not {options['raw']}.")
    expression = _numeric(call.arguments[0], schema)
    return RawPolynomial(expression, int(degree)) if raw else OrthogonalPolynomial(expression, int(degree))


def _cut(call: Call, schema: Schema) -> Factor:
    """Return the factor of cut(x, c(0, 10, 20)) or cut(x, 3)."""
    _check_arguments(call, 2, ("breaks", "right", "include.lowest", "labels"))
    options = dict(call.options)
    given = call.arguments[1] if len(call.arguments) == 2 else options.get("breaks")
    if given is None or (len(call.arguments) == 2 and "breaks" in options):
        raise ValueError(
            f"cut() accepts breaks only once, but the formula has {call}. Write cut({call.arguments[0]}, c(0, 10, 20))."
        )
    switches = {name: constant(options.get(name, Name(default))) for name, default in _CUT_SWITCHES.items()}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False, not {options[name]}.")
    right, lowest = bool(switches["right"]), bool(switches["include.lowest"])
    expression = _numeric(call.arguments[0], schema)
    if not (isinstance(given, Call) and given.function == "c" and not given.options):
        n = _integer(given, "The number of intervals of cut()", 2, MAX_INTERVALS)
        return Cut(expression, right, lowest, n_intervals=n, labels=_interval_labels(options.get("labels"), n))
    infinite = [_infinity(edge) for edge in given.arguments]
    edges = [constant(edge) for edge, sign in zip(given.arguments, infinite, strict=True) if not sign]
    breaks = tuple(sorted(edge for edge in edges if isinstance(edge, float)))
    open_low, open_high = -1 in infinite, 1 in infinite
    n = len(breaks) + open_low + open_high - 1
    if len(breaks) < len(edges) or len(set(breaks)) < len(breaks) or not breaks or not 1 <= n <= MAX_INTERVALS:
        raise ValueError(
            f"The breaks of cut() must be at least two different numbers, as in c(0, 10, Inf), not {given}."
        )
    labels = _interval_labels(options.get("labels"), n)
    return Cut(expression, right, lowest, breaks=breaks, open_low=open_low, open_high=open_high, labels=labels)


def _interval_labels(tree: Expression | None, n: int) -> tuple[str, ...]:
    """Return the labels of n intervals; none if they are not given."""
    if tree is None:
        return ()
    given = [constant(label) for label in tree.arguments] if isinstance(tree, Call) and tree.function == "c" else []
    labels = tuple(label for label in given if isinstance(label, str))
    if len(labels) < len(given) or len(labels) != n or len(set(labels)) < n:
        raise ValueError(
            f"The labels of cut() must be {n} different texts, one per interval, as in "
            f'labels=c("low", "high"), not {tree}.'
        )
    return labels


_CUT_SWITCHES = {"right": "True", "include.lowest": "False"}


def _infinity(tree: Expression) -> int:
    """Return 1 or -1 for Inf or -Inf, and 0 for other expressions."""
    if isinstance(tree, Negative):
        return -_infinity(tree.of)
    return int(isinstance(tree, Name) and tree.name == "Inf")


def _check_arguments(call: Call, most: int, known: Sequence[str]) -> None:
    if not 1 <= len(call.arguments) <= most:
        number = "one argument" if most == 1 else "one or two arguments"
        raise ValueError(f"{call.function}() takes {number}, but the formula has {call}. Correct the formula.")
    for name, _ in call.options:
        if name not in known:
            hint = f"Choose one of {', '.join(known)}" if known else "Leave it out"
            raise ValueError(f"{call.function}() does not accept the option {name!r}. {hint}.")


def _numeric(tree: Expression, schema: Schema) -> Expression:
    check_numeric(tree, _TERM_FUNCTIONS)
    check_columns_known(columns_of(tree), dict(schema))
    for name in columns_of(tree):
        if not isinstance(factor_of(name, schema[name]), Numeric):
            raise ValueError(
                f"Column {name!r} contains text, so {tree} cannot be computed. Leave it out, or convert "
                "the column to numbers."
            )
    return tree


def _with_coding(terms: Sequence[Term], intercept: bool) -> tuple[Term, ...]:
    """Return the terms with their coding: a category omits its reference if earlier terms span the rest of its term.

    That is R's rule. An earlier term spans it if it has the same numeric factors and at least the same categories; the
    intercept spans a term without other factors.
    """
    spanned: dict[frozenset[str], dict[frozenset[str], None]] = {}  # by numeric factors: the categories
    if intercept:
        spanned[frozenset()] = {frozenset(): None}
    coded = []
    for term in terms:
        labels = [factor.label for factor in term.factors]
        categories = frozenset(f.label for f in term.factors if is_coded(f) or isinstance(f, Cut))
        before = spanned.setdefault(frozenset(labels) - categories, {})
        full = tuple(label in categories and not _is_spanned(categories - {label}, before) for label in labels)
        coded.append(replace(term, full=full))
        before[categories] = None
    return tuple(coded)


def _is_spanned(categories: frozenset[str], before: Mapping[frozenset[str], None]) -> bool:
    return categories in before or any(categories <= others for others in before)
