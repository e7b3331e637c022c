"""Turn a formula as in R into a `Design`: "Sales ~ . + Income:Advertising + C(region) + poly(age, 3) + log(price)".

The package `formula` parses the text; names and calls become factors here. Nothing is run as Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import narwhals.stable.v2 as nw

from linearly.dataset.design.design import Design, Target, factor_of, target_of
from linearly.dataset.design.terms import Category, Factor, Level, Numeric, Term
from linearly.dataset.design.transforms import (
    MAX_DEGREE,
    ExpressionTerm,
    NumericCategory,
    OrthogonalPolynomial,
    RawPolynomial,
    ScaledTerm,
)
from linearly.dataset.formula.expression import (
    Call,
    Expression,
    Name,
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

_CATEGORY = ("C", "factor", "as.factor")
_TREATMENT = ("Treatment", "contr.treatment")
_SCALING = ("center", "scale", "standardize")
_TERM_FUNCTIONS = (*_CATEGORY, *_SCALING, "poly")


def formula_design(text: str, schema: Schema, *, unseen: str = "error", without: Sequence[str] = ()) -> Design:
    """Return the design of a formula for columns of a schema; `.` is all columns but the target and `without`."""
    tokens = tokenize(text, MAX_FORMULA_LENGTH)
    left, right = _split_sides(text, tokens)
    target = _target(parse_tokens(left), schema)
    variables = _Variables(schema, unseen, [*target.factor.required_columns, *without])
    total = expand_terms(text, right, variables)
    intercept = total.intercept is not False
    terms = _with_coding(variables.terms(total.terms), intercept)
    if not terms:
        raise ValueError(f"The formula {text!r} has no term to learn from: name a column after the ~.")
    design = Design(terms, target, None, intercept, formula=text)
    for name in target.factor.required_columns:
        if name in design.features:
            raise ValueError(f"The target {name!r} cannot be a feature too.")
    return design


def _split_sides(text: str, tokens: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    middles = [i for i, token in enumerate(tokens) if token.text == "~"]
    if len(middles) != 1:
        raise ValueError(f"A formula has one ~, between the target and the terms; {text[:60]!r} has {len(middles)}.")
    left, right = tokens[: middles[0]], tokens[middles[0] + 1 :]
    if not left or not right:
        missing = "target before" if not left else "term after"
        raise ValueError(f"The formula {text[:60]!r} has no {missing} the ~.")
    return left, right


def _target(tree: Expression, schema: Schema) -> Target:
    if isinstance(tree, Name):
        check_columns_known([tree.name], dict(schema), "target column")
        target = target_of(tree.name, schema)
        assert target is not None
        return target
    if isinstance(tree, Call) and tree.function in _TERM_FUNCTIONS:
        raise ValueError(f"The target cannot be {tree}: give a column, or a plain expression such as log(y).")
    return Target(ExpressionTerm(_numeric(tree, schema)))


class _Variables:
    """The factors of a formula, numbered in order of appearance."""

    def __init__(self, schema: Schema, unseen: str, taken: Sequence[str]) -> None:
        self.schema, self.unseen = schema, unseen
        self.remaining = [name for name in schema if name not in taken]  # what the dot stands for
        self.factors: list[Factor | ValueError] = []
        self.references: dict[str, Level] = {}
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
        if isinstance(factor, Category) and factor.name in self.references:
            return replace(factor, reference=self.references[factor.name])
        return factor

    def _factor(self, tree: Expression) -> Factor:
        if isinstance(tree, Call):
            if tree.function in _CATEGORY:
                return self._category(tree)
            if tree.function in _SCALING:
                _check_arguments(tree, 1, ())
                return ScaledTerm(_numeric(tree.arguments[0], self.schema), tree.function != "center")
            if tree.function == "poly":
                return _polynomial(tree, self.schema)
        return ExpressionTerm(_numeric(tree, self.schema))

    def _category(self, call: Call) -> Factor:
        _check_arguments(call, 2, ("reference",))
        column = call.arguments[0]
        if not isinstance(column, Name):
            raise ValueError(f"{call.function}() takes a column, not {column}.")
        check_columns_known([column.name], dict(self.schema))
        plain = factor_of(column.name, self.schema[column.name], self.unseen)
        given = [*call.arguments[1:], *(value for _, value in call.options)]
        if given:
            self._set_reference(column.name, _reference_level(given, call))
        return plain if isinstance(plain, Category) else NumericCategory(plain.name, unseen=self.unseen)

    def _set_reference(self, name: str, reference: Level) -> None:
        if self.references.setdefault(name, reference) != reference:
            both = f"{self.references[name]!r} and {reference!r}"
            raise ValueError(f"Column {name!r} is given two reference levels, {both}: a column has one.")


def _reference_level(given: Sequence[Expression], call: Call) -> Level:
    choice = given[0]
    if len(given) == 1 and isinstance(choice, Call) and choice.function in _TREATMENT:
        inside = [*choice.arguments, *(value for name, value in choice.options if name in ("reference", "base"))]
        if len(inside) == 1 and len(choice.arguments) + len(choice.options) == 1:
            choice = inside[0]
    level = constant(choice)
    if len(given) > 1 or level is None:
        raise ValueError(
            f'{call} is not understood: name a reference level as in C({call.arguments[0]}, reference="a").'
        )
    return level


def _polynomial(call: Call, schema: Schema) -> Factor:
    _check_arguments(call, 2, ("degree", "raw"))
    options = dict(call.options)
    if len(call.arguments) == 2 and "degree" in options:
        raise ValueError(f"{call} gives the degree twice.")
    given = call.arguments[1] if len(call.arguments) == 2 else options.get("degree")
    degree = 1.0 if given is None else constant(given)
    if not isinstance(degree, float) or not degree.is_integer() or not 1 <= degree <= MAX_DEGREE:
        raise ValueError(f"The degree of a polynomial is a whole number from 1 to {MAX_DEGREE}, not {given}.")
    raw = constant(options["raw"]) if "raw" in options else False
    if not isinstance(raw, bool):
        raise ValueError(f"raw must be True or False, not {options['raw']}.")
    expression = _numeric(call.arguments[0], schema)
    return RawPolynomial(expression, int(degree)) if raw else OrthogonalPolynomial(expression, int(degree))


def _check_arguments(call: Call, most: int, known: Sequence[str]) -> None:
    if not 1 <= len(call.arguments) <= most:
        raise ValueError(f"{call.function}() takes {'one argument' if most == 1 else 'one or two arguments'}: {call}.")
    for name, _ in call.options:
        if name not in known:
            hint = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{call.function}() has no option {name!r}; {hint}.")


def _numeric(tree: Expression, schema: Schema) -> Expression:
    check_numeric(tree, _TERM_FUNCTIONS)
    check_columns_known(columns_of(tree), dict(schema))
    for name in columns_of(tree):
        if not isinstance(factor_of(name, schema[name]), Numeric):
            raise ValueError(f"Column {name!r} holds text, which {tree} cannot compute with.")
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
        categories = frozenset(f.label for f in term.factors if isinstance(f, Category))
        before = spanned.setdefault(frozenset(labels) - categories, {})
        full = tuple(label in categories and not _is_spanned(categories - {label}, before) for label in labels)
        coded.append(replace(term, full=full))
        before[categories] = None
    return tuple(coded)


def _is_spanned(categories: frozenset[str], before: Mapping[frozenset[str], None]) -> bool:
    return categories in before or any(categories <= others for others in before)
