"""Plain data: factors and designs as dicts, lists, numbers and text, and back, for model files.

What is read may come from a stranger. Kinds are looked up in a fixed table, every field has its type and size checked,
expressions are parsed anew by their own grammar, and nothing is imported, called by name or allocated by a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from linearly.dataset.design.design import MISSING, UNSEEN, Design, Target
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
from linearly.dataset.formula.expression import Expression, check_numeric, parse
from linearly.dataset.formula.operators import MAX_FACTORS
from linearly.dataset.formula.tokens import MAX_LENGTH
from linearly.formatting import shown

MAX_ITEMS = 100_000  # terms, factors and columns of a design
_LONGEST_NAME = 10_000


def factor_to_json(factor: Factor) -> dict[str, Any]:
    """A factor as plain data."""
    match factor:
        case Numeric(name):
            return {"kind": "numeric", "name": name}
        case Category(name, levels, reference, unseen):
            kind = "coded" if isinstance(factor, NumericCategory) else "category"
            return {"kind": kind, "name": name, "levels": [*levels], "reference": reference, "unseen": unseen}
        case ExpressionTerm(expression):
            return {"kind": "computed", "expression": str(expression)}
        case ScaledTerm(expression, scaled, mean, deviation):
            learnt: dict[str, Any] = {"mean": mean, "deviation": deviation}
            return {"kind": "centred", "expression": str(expression), "scaled": scaled, **learnt}
        case RawPolynomial(expression, degree):
            return {"kind": "powers", "expression": str(expression), "degree": degree}
        case OrthogonalPolynomial(expression, degree, rows, centre, alpha, beta):
            learnt = {"rows": rows, "centre": centre, "alpha": [*alpha], "beta": [*beta]}
            return {"kind": "orthogonal", "expression": str(expression), "degree": degree, **learnt}
    raise TypeError(f"{type(factor).__name__} is no factor that a file can hold.")


def factor_from_json(data: Any) -> Factor:
    """The factor that plain data describe; anything unexpected in them is refused."""
    fields = _Fields(data, "factor")
    kind = fields.text("kind")
    if kind not in _KINDS:
        raise ValueError(f"A factor is one of {', '.join(_KINDS)}, not {kind[:40]!r}.")
    factor = _KINDS[kind](fields)
    fields.finish()
    return factor


def design_to_json(design: Design) -> dict[str, Any]:
    """A design as plain data; a factor that is in several terms is there once."""
    factors = list(dict.fromkeys(factor for term in design.terms for factor in term.factors))
    number = {factor: k for k, factor in enumerate(factors)}
    terms = [{"factors": [number[f] for f in term.factors], "full": [*term.full]} for term in design.terms]
    target = None
    if design.target is not None:
        target = {
            "factor": factor_to_json(design.target.factor),
            "labels": design.target.labels,
            "classes": [*design.target.classes],
        }
    return {
        "factors": [factor_to_json(factor) for factor in factors],
        "terms": terms,
        "target": target,
        "weight": design.weight,
        "intercept": design.intercept,
        "missing": design.missing,
        "formula": design.formula,
        "groups": design.groups,
        **({"na_values": [*design.na_values]} if design.na_values else {}),
    }


def design_from_json(data: Any) -> Design:
    """The design that plain data describe; anything unexpected in them is refused."""
    fields = _Fields(data, "design")
    factors = [factor_from_json(item) for item in fields.items("factors", MAX_ITEMS)]
    terms = tuple(_term(item, factors) for item in fields.items("terms", MAX_ITEMS))
    width = 0
    for term in terms:
        width += term.width
        if term.width > MAX_COLUMNS or width > MAX_ITEMS:
            raise ValueError(f"The design has too many columns, the first of them too many in {term.label[:80]!r}.")
    target = fields.take("target")
    design = Design(
        terms,
        None if target is None else _target(target),
        fields.text_or_none("weight"),
        fields.truth("intercept"),
        fields.choice("missing", MISSING),
        fields.text_or_none("formula"),
        fields.text_or_none("groups") if "groups" in fields.data else None,  # files of older versions have none
        _markers(fields) if "na_values" in fields.data else (),
    )
    fields.finish()
    return design


def _markers(fields: _Fields) -> tuple[str, ...]:
    markers = fields.items("na_values", MAX_LEVELS)
    if not all(isinstance(marker, str) and len(marker) <= _LONGEST_NAME for marker in markers):
        raise ValueError(f"The na_values of a design are texts of at most {_LONGEST_NAME} characters.")
    return tuple(markers)


def _term(data: Any, factors: list[Factor]) -> Term:
    fields = _Fields(data, "term")
    chosen = fields.items("factors", MAX_FACTORS)
    full = fields.items("full", MAX_FACTORS)
    fields.finish()
    if (
        not chosen
        or not all(type(k) is int and 0 <= k < len(factors) for k in chosen)
        or len(set(chosen)) < len(chosen)
    ):
        raise ValueError("The factors of a term must be different numbers of factors of the design.")
    if not all(isinstance(each, bool) for each in full) or len(full) not in (0, len(chosen)):
        raise ValueError("A term says of each of its factors whether it keeps all levels: true or false.")
    return Term(tuple(factors[k] for k in chosen), tuple(full))


def _target(data: Any) -> Target:
    fields = _Fields(data, "target")
    target = Target(
        factor_from_json(fields.take("factor")),
        fields.truth("labels"),
        fields.levels("classes", "classes of the target"),
    )
    fields.finish()
    if target.labels and not isinstance(target.factor, (Numeric, Category)):
        raise ValueError("A target with labels is a plain column.")
    if not target.labels and not isinstance(target.factor, (Numeric, ExpressionTerm)):
        raise ValueError("A target without labels is a column of numbers or an expression.")
    return target


def _numeric(fields: _Fields) -> Factor:
    return Numeric(fields.text("name"))


def _category(fields: _Fields, kind: type[Category] = Category) -> Category:
    name, levels = fields.text("name"), fields.levels("levels", "levels")
    reference = fields.take("reference")
    if reference is not None and (not _is_level(reference) or (levels and reference not in levels)):
        raise ValueError(f"The reference of {name!r} must be one of its levels.")
    if levels and reference is None:
        raise ValueError(f"Column {name!r} has levels but no reference.")
    return kind(name, levels, reference, fields.choice("unseen", UNSEEN))


def _coded(fields: _Fields) -> Factor:
    return _category(fields, NumericCategory)


def _computed(fields: _Fields) -> Factor:
    return ExpressionTerm(fields.expression())


def _centred(fields: _Fields) -> Factor:
    expression, scaled = fields.expression(), fields.truth("scaled")
    mean, deviation = fields.take("mean"), fields.take("deviation")
    if mean is None and deviation is None:
        return ScaledTerm(expression, scaled)
    if not _is_finite(mean) or not _is_finite(deviation) or deviation <= 0:
        raise ValueError("The mean and the deviation of a centred factor must be finite numbers, the latter above 0.")
    return ScaledTerm(expression, scaled, float(mean), float(deviation))


def _powers(fields: _Fields) -> Factor:
    return RawPolynomial(fields.expression(), fields.degree())


def _orthogonal(fields: _Fields) -> Factor:
    expression, degree = fields.expression(), fields.degree()
    rows, centre = fields.take("rows"), fields.take("centre")
    alpha, beta = (fields.items(name, MAX_DEGREE) for name in ("alpha", "beta"))
    if not all(map(_is_finite, [rows, centre, *alpha, *beta])):
        raise ValueError("The constants of a polynomial must be finite numbers.")
    if not alpha and not beta:
        return OrthogonalPolynomial(expression, degree)
    if len(alpha) != degree or len(beta) != degree or min(beta) <= 0 or rows <= 0:
        raise ValueError(f"A polynomial of degree {degree} has {degree} constants of each kind, those of beta above 0.")
    return OrthogonalPolynomial(
        expression, degree, float(rows), float(centre), tuple(map(float, alpha)), tuple(map(float, beta))
    )


class _Fields:
    """The fields of a dict, each taken once and checked."""

    def __init__(self, data: Any, what: str) -> None:
        if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
            raise ValueError(f"A {what} is described by named fields, not by {type(data).__name__}.")
        self.data, self.what, self.left = data, what, set(data)

    def take(self, name: str) -> Any:
        if name not in self.data:
            raise ValueError(f"A {self.what} lacks the field {name!r}.")
        self.left.discard(name)
        return self.data[name]

    def finish(self) -> None:
        if self.left:
            raise ValueError(f"A {self.what} has no field {min(self.left)[:40]!r}.")

    def text(self, name: str, longest: int = _LONGEST_NAME) -> str:
        value = self.take(name)
        if not isinstance(value, str) or len(value) > longest:
            raise ValueError(f"The field {name!r} of a {self.what} must be text of at most {longest} characters.")
        return value

    def text_or_none(self, name: str) -> str | None:
        return None if self.take(name) is None else self.text(name, MAX_FORMULA_LENGTH)

    def truth(self, name: str) -> bool:
        value = self.take(name)
        if not isinstance(value, bool):
            raise ValueError(f"The field {name!r} of a {self.what} must be true or false.")
        return value

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        value = self.text(name)
        if value not in known:
            raise ValueError(f"The field {name!r} of a {self.what} must be one of {', '.join(known)}.")
        return value

    def items(self, name: str, most: int) -> list[Any]:
        value = self.take(name)
        if not isinstance(value, (list, tuple)) or len(value) > most:
            raise ValueError(f"The field {name!r} of a {self.what} must be a list of at most {most}.")
        return list(value)

    def levels(self, name: str, what: str) -> tuple[Level, ...]:
        levels = tuple(self.items(name, MAX_LEVELS))
        for level in levels:
            if isinstance(level, str) and len(level) > MAX_FORMULA_LENGTH:
                raise ValueError(
                    f"The {what} are texts of at most {MAX_FORMULA_LENGTH:,} characters, not {shown(level)}."
                )
        if not all(map(_is_level, levels)) or len(set(levels)) < len(levels):
            raise ValueError(f"The {what} must be different texts, numbers or truth values.")
        return levels

    def degree(self) -> int:
        value = self.take("degree")
        if type(value) is not int or not 1 <= value <= MAX_DEGREE:
            raise ValueError(f"The degree of a polynomial is a whole number from 1 to {MAX_DEGREE}.")
        return value

    def expression(self) -> Expression:
        tree = parse(self.text("expression", MAX_LENGTH))
        check_numeric(tree)
        return tree


_KINDS: Mapping[str, Callable[[_Fields], Factor]] = {
    "numeric": _numeric,
    "category": _category,
    "coded": _coded,
    "computed": _computed,
    "centred": _centred,
    "powers": _powers,
    "orthogonal": _orthogonal,
}


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e308 and isfinite(value)


def _is_level(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_FORMULA_LENGTH
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return _is_finite(value)
