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

from linearly.dataset.design.counts import Counts
from linearly.dataset.design.cut import MAX_INTERVALS, Cut
from linearly.dataset.design.design import Design, Target
from linearly.dataset.design.from_formula import MAX_FORMULA_LENGTH
from linearly.dataset.design.splines import MAX_COLUMNS as MAX_SPLINE_COLUMNS
from linearly.dataset.design.splines import MAX_DEGREE as MAX_SPLINE_DEGREE
from linearly.dataset.design.splines import Spline
from linearly.dataset.design.terms import (
    MAX_COLUMNS,
    MAX_LEVELS,
    Category,
    Factor,
    Level,
    LevelIndicator,
    Numeric,
    Term,
)
from linearly.dataset.design.transforms import (
    MAX_DEGREE,
    ExpressionTerm,
    NumericCategory,
    OrthogonalPolynomial,
    RawPolynomial,
    ScaledTerm,
)
from linearly.dataset.formula.expression import Expression, check_numeric, parse
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
_Knots = Annotated[tuple[Finite, ...], Meta(max_length=MAX_SPLINE_COLUMNS)]
Degree = Annotated[int, Meta(ge=1, le=MAX_DEGREE)]


class InvalidFile(ValueError):
    """Untrusted data do not describe a valid object."""


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
    coding: Literal["treatment", "sum", "helmert", "poly"] = "treatment"

    def __post_init__(self) -> None:
        _check_levels(self.levels, "levels")
        if self.levels and self.reference not in self.levels:
            raise ValueError(f"The reference of {self.name!r} must be one of its levels")


class _NumericCategory(_Category, frozen=True, tag="coded"):
    pass


class _LevelIndicator(_Category, frozen=True, tag="indicator"):
    value: Text = ""
    equal: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels and self.value not in self.levels:
            raise ValueError(f"The level with which {self.name!r} is compared must be one of its levels")


class _ExpressionTerm(_Factor, frozen=True, tag="computed"):
    expression: ExpressionText


class _ScaledTerm(_Factor, frozen=True, tag="centred"):
    expression: ExpressionText
    scaled: bool
    mean: Finite | None
    deviation: Positive | None
    centred: bool = True

    def __post_init__(self) -> None:
        if (self.mean is None) != (self.deviation is None):
            raise ValueError("A centred factor must have both a mean and a deviation, or neither")


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
            raise ValueError(
                f"A polynomial of degree {self.degree} must have {self.degree} values each of alpha and beta"
            )


class _Spline(_Factor, frozen=True, tag="spline"):
    expression: ExpressionText
    natural: bool
    degree: Annotated[int, Meta(ge=1, le=MAX_SPLINE_DEGREE)]
    columns: Annotated[int, Meta(ge=1, le=MAX_SPLINE_COLUMNS)] | None
    given: _Knots
    inner: _Knots
    boundary: Annotated[tuple[Finite, ...], Meta(max_length=2)]
    ends: Annotated[tuple[Finite, ...], Meta(max_length=2)] = ()
    intercept: bool = False

    def __post_init__(self) -> None:
        for pair in (self.boundary, self.ends):
            if len(pair) == 1 or (pair and pair[0] >= pair[1]):
                raise ValueError("A spline must have two boundary knots in increasing order, or none")
        if self.columns is not None and self.columns < (1 if self.natural else self.degree) + self.intercept:
            raise ValueError("A spline must have at least as many columns as without inner knots")
        if self.natural and self.degree != 3:
            raise ValueError("A natural spline must have degree 3")
        if self.inner and not (
            self.boundary and self.boundary[0] < min(self.inner) <= max(self.inner) < self.boundary[1]
        ):
            raise ValueError("The knots of a spline must lie between its boundary knots")


class _Cut(_Factor, frozen=True, tag="cut"):
    expression: ExpressionText
    right: bool
    lowest: bool
    n_intervals: Annotated[int, Meta(ge=1, le=MAX_INTERVALS)] | None
    breaks: Annotated[tuple[Finite, ...], Meta(min_length=1, max_length=MAX_INTERVALS + 1)]
    open_low: bool
    open_high: bool
    labels: Annotated[tuple[Text, ...], Meta(max_length=MAX_INTERVALS)] = ()

    def __post_init__(self) -> None:
        if list(self.breaks) != sorted(set(self.breaks)) or len(self.breaks) + self.open_low + self.open_high < 2:
            raise ValueError("The breaks of cut() must be two or more different numbers in increasing order")
        n = len(self.breaks) + self.open_low + self.open_high - 1
        if self.labels and not len(self.labels) == len(set(self.labels)) == n:
            raise ValueError("The labels of cut() must be different, one for each interval")


class _Counts(_Factor, frozen=True, tag="counts"):
    successes: ExpressionText
    failures: ExpressionText
    name: Name


_AnyFactor = (
    _Numeric
    | _Category
    | _NumericCategory
    | _LevelIndicator
    | _ExpressionTerm
    | _ScaledTerm
    | _RawPolynomial
    | _OrthogonalPolynomial
    | _Spline
    | _Cut
)
_CLASSES: dict[type[_Factor], Any] = {
    _Numeric: Numeric,
    _Category: Category,
    _NumericCategory: NumericCategory,
    _LevelIndicator: LevelIndicator,
    _ExpressionTerm: ExpressionTerm,
    _ScaledTerm: ScaledTerm,
    _RawPolynomial: RawPolynomial,
    _OrthogonalPolynomial: OrthogonalPolynomial,
    _Spline: Spline,
    _Cut: Cut,
    _Counts: Counts,
}
_EXPRESSIONS = ("expression", "successes", "failures")
_RECORDS = {made: record for record, made in _CLASSES.items()}


class _Term(Record, frozen=True):
    factors: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1, max_length=MAX_FACTORS)]
    full: Annotated[tuple[bool, ...], Meta(max_length=MAX_FACTORS)]

    def __post_init__(self) -> None:
        if len(set(self.factors)) < len(self.factors):
            raise ValueError("The factors of a term must be different")
        if len(self.full) not in (0, len(self.factors)):
            raise ValueError("A term must have either no value of full or one per factor")


class _Target(Record, frozen=True):
    factor: _AnyFactor | _Counts
    labels: bool
    classes: Levels

    def __post_init__(self) -> None:
        _check_levels(self.classes, "classes of the target")
        if isinstance(self.factor, _Counts):
            if not self.labels or len(self.classes) != 2:
                raise ValueError("A target of successes and failures must have two classes")
        elif not isinstance(self.factor, (_Numeric, _Category if self.labels else _ExpressionTerm)):
            raise ValueError("The target must be a column, or, without labels, a numeric expression")


class DesignRecord(Record, frozen=True):
    """A design; terms refer to factors by their number."""

    factors: Annotated[tuple[_AnyFactor, ...], Meta(max_length=MAX_ITEMS)]
    terms: Annotated[tuple[_Term, ...], Meta(max_length=MAX_ITEMS)]
    target: _Target | None
    weight: Text | None
    intercept: bool
    missing: Literal["error", "drop"]
    formula: Text | None
    # A tuple of fixed length would crash msgspec 0.22 in a union.
    groups: Text | Annotated[tuple[Text, ...], Meta(min_length=2, max_length=2)] | None = None
    na_values: Annotated[tuple[Name, ...], Meta(max_length=MAX_LEVELS)] = ()
    offset: ExpressionText | None = None
    offset_mean: Finite | None = None


def factor_to_json(factor: Factor) -> dict[str, Any]:
    """Return a factor as a JSON object."""
    record = _RECORDS.get(type(factor))
    if record is None:
        raise TypeError(f"{type(factor).__name__} cannot be saved in a model file. Fit without this term.")
    fields = {name: getattr(factor, name) for name in record.__struct_fields__}
    fields |= {name: str(fields[name]) for name in _EXPRESSIONS if name in fields}
    return msgspec.to_builtins(record(**fields))  # type: ignore[no-any-return]


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
        **({} if design.offset is None else {"offset": str(design.offset), "offset_mean": design.offset_mean}),
    }


def design_from_json(data: Any) -> Design:
    """Return the design that a JSON object describes; refuse anything unexpected in it."""
    record: DesignRecord = decode_json(data, DesignRecord, "design")
    factors = [_factor(factor) for factor in record.factors]
    terms: list[Term] = []
    width = 0
    for term in record.terms:
        if max(term.factors) >= len(factors):
            raise InvalidFile(
                f"Term {len(terms)} of the design refers to a factor that does not exist. Save the model again."
            )
        terms.append(Term(tuple(factors[k] for k in term.factors), term.full))
        width += terms[-1].width
        if terms[-1].width > MAX_COLUMNS or width > MAX_ITEMS:
            raise InvalidFile(
                f"The design has too many columns, the first of them in {terms[-1].label[:80]!r}. Fit fewer columns."
            )
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
        offset=None if record.offset is None else _expression(record.offset),
        offset_mean=record.offset_mean,
    )


def _factor(record: _Factor) -> Factor:
    fields = msgspec.structs.asdict(record)
    fields |= {name: _expression(fields[name]) for name in _EXPRESSIONS if name in fields}
    return _CLASSES[type(record)](**fields)  # type: ignore[no-any-return]


def _expression(text: str) -> Expression:
    tree = parse(text)
    check_numeric(tree)
    return tree


def _check_levels(levels: tuple[Level, ...], what: str) -> None:
    if len(set(levels)) < len(levels) or any(not -(2**63) <= k < 2**64 for k in levels if isinstance(k, int)):
        raise ValueError(f"The {what} must be different strings, booleans or numbers with at most 64 bits")
