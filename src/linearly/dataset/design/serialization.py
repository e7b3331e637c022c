"""Write designs as JSON objects for model files, and read them back without trusting them.

Each kind of factor, term, target and design has a struct that lists its fields with their types and limits. msgspec
checks data against the structs and generates their JSON Schema. Expressions are parsed by the formula grammar. Nothing
is imported, called by name, or allocated by a number in the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from linearly.dataset.design.design import Design, Target
from linearly.dataset.design.from_formula import MAX_FORMULA_LENGTH
from linearly.dataset.design.terms import MAX_COLUMNS, MAX_LEVELS, Category, Factor, Level, Numeric, Term
from linearly.dataset.design.transforms import (
    MAX_DEGREE,
    ExpressionTerm,
    NumericCategory,
    OrthogonalPolynomial,
    RawPolynomial,
    ScaledTerm,
)
from linearly.dataset.formula.expression import check_numeric, parse
from linearly.dataset.formula.operators import MAX_FACTORS
from linearly.dataset.formula.tokens import MAX_LENGTH

MAX_ITEMS = 100_000  # terms, factors and columns of a design
_MAX_MESSAGE_LENGTH = 300

Name = Annotated[str, Meta(max_length=10_000)]
Text = Annotated[str, Meta(max_length=MAX_FORMULA_LENGTH)]
ExpressionText = Annotated[str, Meta(max_length=MAX_LENGTH)]
Finite = Annotated[float, Meta(gt=-1e308, lt=1e308)]
Positive = Annotated[float, Meta(gt=0, lt=1e308)]
AnyLevel = Text | int | Finite | bool
Levels = Annotated[tuple[AnyLevel, ...], Meta(max_length=MAX_LEVELS)]
Degree = Annotated[int, Meta(ge=1, le=MAX_DEGREE)]


class InvalidFile(ValueError):
    """Untrusted data that do not describe what they should."""


def decode_json(data: Any, kind: Any, at: str, hook: Callable[[Any, Any], Any] | None = None) -> Any:
    """Return JSON data as an instance of a struct; refuse them by the path of the field that does not fit."""
    try:
        return msgspec.convert(data, kind, dec_hook=hook)
    except msgspec.ValidationError as error:
        message, *paths = str(error).split(" - at `")
        inner = "".join(path.removeprefix("$").rstrip("`") for path in reversed(paths))
        message = " ".join(message.rstrip(".").split())[:_MAX_MESSAGE_LENGTH]
        place = f"{at}{inner}".lstrip(".") or "the top"
        raise InvalidFile(f"{message}, at {place}.") from None


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object with these fields and no others."""


class _Factor(Record, frozen=True, tag_field="kind"):
    pass


class _Numeric(_Factor, frozen=True, tag="numeric"):
    name: Name


class _Category(_Factor, frozen=True, tag="category"):
    name: Name
    levels: Levels
    reference: AnyLevel | None
    unseen: Literal["error", "reference"]

    def __post_init__(self) -> None:
        _check_levels(self.levels, "levels")
        if self.levels and self.reference not in self.levels:
            raise ValueError(f"The reference of {self.name!r} must be one of its levels")


class _NumericCategory(_Category, frozen=True, tag="coded"):
    pass


class _ExpressionTerm(_Factor, frozen=True, tag="computed"):
    expression: ExpressionText


class _ScaledTerm(_Factor, frozen=True, tag="centred"):
    expression: ExpressionText
    scaled: bool
    mean: Finite | None
    deviation: Positive | None

    def __post_init__(self) -> None:
        if (self.mean is None) != (self.deviation is None):
            raise ValueError("A centred factor has both a mean and a deviation, or neither")


class _RawPolynomial(_Factor, frozen=True, tag="powers"):
    expression: ExpressionText
    degree: Degree


class _OrthogonalPolynomial(_Factor, frozen=True, tag="orthogonal"):
    expression: ExpressionText
    degree: Degree
    rows: Finite
    centre: Finite
    alpha: tuple[Finite, ...]
    beta: tuple[Positive, ...]

    def __post_init__(self) -> None:
        fitted = bool(self.alpha or self.beta)
        if fitted and (len(self.alpha) != self.degree or len(self.beta) != self.degree or self.rows <= 0):
            raise ValueError(f"A polynomial of degree {self.degree} has {self.degree} values of alpha and of beta")


_AnyFactor = (
    _Numeric | _Category | _NumericCategory | _ExpressionTerm | _ScaledTerm | _RawPolynomial | _OrthogonalPolynomial
)
_CLASSES: dict[type[_Factor], Any] = {
    _Numeric: Numeric,
    _Category: Category,
    _NumericCategory: NumericCategory,
    _ExpressionTerm: ExpressionTerm,
    _ScaledTerm: ScaledTerm,
    _RawPolynomial: RawPolynomial,
    _OrthogonalPolynomial: OrthogonalPolynomial,
}
_RECORDS = {made: record for record, made in _CLASSES.items()}


class _Term(Record, frozen=True):
    factors: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1, max_length=MAX_FACTORS)]
    full: Annotated[tuple[bool, ...], Meta(max_length=MAX_FACTORS)]

    def __post_init__(self) -> None:
        if len(set(self.factors)) < len(self.factors):
            raise ValueError("The factors of a term must be different")
        if len(self.full) not in (0, len(self.factors)):
            raise ValueError("A term has either no value of full or one for each of its factors")


class _Target(Record, frozen=True):
    factor: _AnyFactor
    labels: bool
    classes: Levels

    def __post_init__(self) -> None:
        _check_levels(self.classes, "classes of the target")
        if not isinstance(self.factor, (_Numeric, _Category if self.labels else _ExpressionTerm)):
            raise ValueError("The target must be a column, or, without labels, an expression of numbers")


class DesignRecord(Record, frozen=True):
    """A design; terms refer to factors by their number."""

    factors: Annotated[tuple[_AnyFactor, ...], Meta(max_length=MAX_ITEMS)]
    terms: Annotated[tuple[_Term, ...], Meta(max_length=MAX_ITEMS)]
    target: _Target | None
    weight: Text | None
    intercept: bool
    missing: Literal["error", "drop"]
    formula: Text | None
    groups: Text | None = None
    na_values: Annotated[tuple[Name, ...], Meta(max_length=MAX_LEVELS)] = ()


def factor_to_json(factor: Factor) -> dict[str, Any]:
    """Return a factor as a JSON object."""
    record = _RECORDS.get(type(factor))
    if record is None:
        raise TypeError(f"{type(factor).__name__} is not a factor that a file can hold.")
    fields = {name: getattr(factor, name) for name in record.__struct_fields__}
    if "expression" in fields:
        fields["expression"] = str(fields["expression"])
    return msgspec.to_builtins(record(**fields))  # type: ignore[no-any-return]


def factor_from_json(data: Any) -> Factor:
    """Return the factor that a JSON object describes; refuse anything unexpected in it."""
    return _factor(decode_json(data, _AnyFactor, "factor"))


def design_to_json(design: Design) -> dict[str, Any]:
    """Return a design as a JSON object; a factor of several terms is there once."""
    factors = list(dict.fromkeys(factor for term in design.terms for factor in term.factors))
    number = {factor: k for k, factor in enumerate(factors)}
    target = design.target
    own = (
        {"factor": factor_to_json(target.factor), "labels": target.labels, "classes": target.classes}
        if target
        else None
    )
    return {
        "factors": [factor_to_json(factor) for factor in factors],
        "terms": [{"factors": [number[f] for f in term.factors], "full": term.full} for term in design.terms],
        "target": own,
        **{
            name: getattr(design, name) for name in ("weight", "intercept", "missing", "formula", "groups", "na_values")
        },
    }


def design_from_json(data: Any) -> Design:
    """Return the design that a JSON object describes; refuse anything unexpected in it."""
    record: DesignRecord = decode_json(data, DesignRecord, "design")
    factors = [_factor(factor) for factor in record.factors]
    terms: list[Term] = []
    width = 0
    for term in record.terms:
        if max(term.factors) >= len(factors):
            raise InvalidFile(f"Term {len(terms)} of the design refers to a factor that is not there.")
        terms.append(Term(tuple(factors[k] for k in term.factors), term.full))
        width += terms[-1].width
        if terms[-1].width > MAX_COLUMNS or width > MAX_ITEMS:
            raise InvalidFile(f"The design has too many columns, the first of them in {terms[-1].label[:80]!r}.")
    target = record.target
    return Design(
        tuple(terms),
        None if target is None else Target(_factor(target.factor), target.labels, target.classes),
        record.weight,
        record.intercept,
        record.missing,
        record.formula,
        record.groups,
        record.na_values,
    )


def _factor(record: _Factor) -> Factor:
    fields = msgspec.structs.asdict(record)
    if "expression" in fields:
        fields["expression"] = parse(fields["expression"])
        check_numeric(fields["expression"])
    return _CLASSES[type(record)](**fields)  # type: ignore[no-any-return]


def _check_levels(levels: tuple[Level, ...], what: str) -> None:
    if len(set(levels)) < len(levels) or any(not -(2**63) <= k < 2**64 for k in levels if isinstance(k, int)):
        raise ValueError(f"The {what} must be different texts, numbers of at most 64 bits or truth values")
