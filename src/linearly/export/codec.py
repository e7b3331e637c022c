"""Codecs: how values and records are written in JSON, and how they are read back from a file of a stranger.

A codec turns a value into plain JSON (`encode`), checks and turns it back (`decode`), and says what it writes as a JSON
Schema (`schema`). Reading trusts nothing: types, keys, names and sizes are checked before anything is allocated, and a
refusal says where in the file it is. Floats are written so that every bit comes back.

Sizes have names. Those that are known (the number of features p, of classes K, …) must fit; a name seen for the first
time takes the size it has there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

LARGEST = 2**53  # whole number that JSON readers agree on

Sizes = dict[str, int]
Plain = Any

SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class InvalidFile(ValueError):
    """What is wrong with a file, in a sentence."""


class Codec(Protocol):
    """Writes one kind of value."""

    def encode(self, value: Any) -> Plain:
        """The value as plain JSON."""
        ...

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> Any:
        """The value of plain JSON at a place in a file; anything else is refused."""
        ...

    def schema(self) -> dict[str, Any]:
        """What it writes."""
        ...


# --- single values --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bool:
    """True or false."""

    def encode(self, value: Any) -> Plain:
        return bool(value)

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> bool:
        if not isinstance(plain, bool):
            raise InvalidFile(f"{at} must be true or false, not {shown(plain)}")
        return plain

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Text:
    """Text, one of some choices if there are any."""

    choices: tuple[str, ...] = ()
    longest: int = 10_000

    def encode(self, value: Any) -> Plain:
        return str(value)

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> str:
        if not isinstance(plain, str) or len(plain) > self.longest:
            raise InvalidFile(f"{at} must be text of at most {self.longest} characters, not {shown(plain)}")
        if self.choices and plain not in self.choices:
            raise InvalidFile(f"{at} must be one of {', '.join(self.choices)}, not {shown(plain)}")
        return plain

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.choices)} if self.choices else {"type": "string", "maxLength": self.longest}


@dataclass(frozen=True)
class Integer:
    """A whole number from `least` on; with `size`, the one of that name."""

    least: int = 0
    size: str = ""

    def encode(self, value: Any) -> Plain:
        return int(value)

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> int:
        if isinstance(plain, bool) or not isinstance(plain, int) or not self.least <= plain <= LARGEST:
            raise InvalidFile(f"{at} must be a whole number from {self.least} on, not {shown(plain)}")
        if self.size and sizes.setdefault(self.size, plain) != plain:
            raise InvalidFile(f"{at} is {plain}, but elsewhere in the file it is {sizes[self.size]}")
        return plain

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": LARGEST}


@dataclass(frozen=True)
class Float:
    """A float, finite unless said otherwise, from `least` on if there is one."""

    finite: bool = True
    least: float = -math.inf

    def encode(self, value: Any) -> Plain:
        return float_to_plain(float(value))

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> float:
        value = float_from_plain(plain, at)
        if self.finite and not math.isfinite(value):
            raise InvalidFile(f"{at} must be a finite number, not {value}")
        if value < self.least:
            raise InvalidFile(f"{at} must be a number from {self.least:g} on, not {value!r}")
        return value

    def schema(self) -> dict[str, Any]:
        number: dict[str, Any] = {"type": "number"}
        if self.least > -math.inf:
            number["minimum"] = self.least
        return number if self.finite else {"$ref": "#/$defs/float"}


@dataclass(frozen=True)
class Number:
    """A finite number from `least` on that stays what it is, whole or not."""

    least: float = -math.inf

    def encode(self, value: Any) -> Plain:
        plain = value.item() if isinstance(value, np.generic) else value
        self.decode(plain, "the number", {})
        return plain

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> float:
        value = Float(least=self.least).decode(plain, at, sizes)
        return plain if isinstance(plain, int) else value

    def schema(self) -> dict[str, Any]:
        return Float(least=self.least).schema()


@dataclass(frozen=True)
class Label:
    """A label or level: text, a whole number, a float or a truth value, each of its own type."""

    def encode(self, value: Any) -> Plain:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, (str, bool, int)) or (isinstance(plain, float) and math.isfinite(plain)):
            return plain
        raise InvalidFile(
            f"the label {value!r} is {type(value).__name__}: a model file holds text, numbers or booleans"
        )

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> str | int | float | bool:
        if isinstance(plain, (str, bool)) or (isinstance(plain, float) and math.isfinite(plain)):
            return plain
        if isinstance(plain, int) and -(2**63) <= plain < 2**64:
            return plain
        raise InvalidFile(f"{at} must be a label (text, a number or a truth value), not {shown(plain)}")

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "boolean"]}


# --- what is made of others -----------------------------------------------------------------------


@dataclass(frozen=True)
class Optional:
    """Something, or null."""

    of: Codec

    def encode(self, value: Any) -> Plain:
        return None if value is None else self.of.encode(value)

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> Any:
        return None if plain is None else self.of.decode(plain, at, sizes)

    def schema(self) -> dict[str, Any]:
        return {"oneOf": [{"type": "null"}, self.of.schema()]}


@dataclass(frozen=True)
class ListOf:
    """Several of a kind, as a tuple: as many as a size says, or at most some."""

    of: Codec
    size: str = ""
    most: int = 100_000

    def encode(self, value: Any) -> Plain:
        return [self.of.encode(x) for x in value]

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> tuple[Any, ...]:
        if not isinstance(plain, list) or len(plain) > self.most:
            raise InvalidFile(f"{at} must be a list of at most {self.most}, not {shown(plain)}")
        if self.size and sizes.setdefault(self.size, len(plain)) != len(plain):
            raise InvalidFile(f"{at} has {len(plain)} entries, not {sizes[self.size]}")
        return tuple(self.of.decode(x, f"{at}[{i}]", sizes) for i, x in enumerate(plain))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.of.schema(), "maxItems": self.most}


@dataclass(frozen=True)
class TupleOf:
    """Different things side by side, as a tuple."""

    of: tuple[Codec, ...]

    def encode(self, value: Any) -> Plain:
        return [codec.encode(x) for codec, x in zip(self.of, value, strict=True)]

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> tuple[Any, ...]:
        if not isinstance(plain, list) or len(plain) != len(self.of):
            raise InvalidFile(f"{at} must be a list of {len(self.of)}, not {shown(plain)}")
        return tuple(c.decode(x, f"{at}[{i}]", sizes) for i, (c, x) in enumerate(zip(self.of, plain, strict=True)))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "prefixItems": [codec.schema() for codec in self.of], "items": False}


@dataclass(frozen=True)
class NumberOr:
    """A whole number, or one of some words."""

    whole: Integer
    words: Text

    def encode(self, value: Any) -> Plain:
        return value if isinstance(value, str) else self.whole.encode(value)

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> Any:
        return (self.words if isinstance(plain, str) else self.whole).decode(plain, at, sizes)

    def schema(self) -> dict[str, Any]:
        return {"oneOf": [self.whole.schema(), self.words.schema()]}


@dataclass(frozen=True)
class Record:
    """An object with these fields and no others, made by a class; `name` tells kinds of records apart.

    A field that came `later` is written where it is not None, and is None in the files written before it.
    """

    make: Callable[..., Any]
    fields: Mapping[str, Codec] = field(default_factory=dict)
    name: str = ""
    later: Mapping[str, Codec] = field(default_factory=dict)

    def encode(self, value: Any) -> Plain:
        plain = {"kind": self.name} if self.name else {}
        later = {name: codec for name, codec in self.later.items() if getattr(value, name) is not None}
        return plain | {name: codec.encode(getattr(value, name)) for name, codec in {**self.fields, **later}.items()}

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> Any:
        given = keys(plain, at, (*(("kind",) if self.name else ()), *self.fields), tuple(self.later))
        if self.name and given["kind"] != self.name:
            raise InvalidFile(f"{at}.kind must be {self.name}, not {shown(given['kind'])}")
        known = dict(self.fields) | {name: codec for name, codec in self.later.items() if name in given}
        read = {n: codec.decode(given[n], f"{at}.{n}", sizes) for n, codec in known.items()}
        return self.make(**(dict.fromkeys(self.later) | read))

    def schema(self) -> dict[str, Any]:
        kind = {"kind": {"const": self.name}} if self.name else {}
        later = {name: codec.schema() for name, codec in self.later.items()}
        return fields_schema(kind | {name: codec.schema() for name, codec in self.fields.items()}, later)


@dataclass(frozen=True)
class OneOf:
    """One of several records, told apart by their class when written and by their kind when read."""

    records: tuple[Record, ...]

    def encode(self, value: Any) -> Plain:
        for record in self.records:
            if record.make is type(value):
                return record.encode(value)
        raise InvalidFile(f"a {type(value).__name__} cannot be written to a model file")

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> Any:
        kind = plain.get("kind") if isinstance(plain, dict) else None
        for record in self.records:
            if record.name == kind:
                return record.decode(plain, at, sizes)
        raise InvalidFile(f"{at}.kind must be one of {', '.join(r.name for r in self.records)}, not {shown(kind)}")

    def schema(self) -> dict[str, Any]:
        return {"oneOf": [record.schema() for record in self.records]}


# --- the pieces -----------------------------------------------------------------------------------


def keys(plain: Plain, at: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object of the file, refused unless it has all the required keys and none that is unknown."""
    if not isinstance(plain, dict):
        raise InvalidFile(f"{at} must be an object, not {shown(plain)}")
    for name in plain:
        if name not in required and name not in optional:
            raise InvalidFile(f"{at} has an unknown entry {shown(name)}")
    for name in required:
        if name not in plain:
            raise InvalidFile(f"{at} lacks {name}")
    return plain


def float_to_plain(value: float) -> Plain:
    """A float as JSON: shortest text that gives the same bits; NaN and infinity by name."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def float_from_plain(plain: Plain, at: str) -> float:
    """The float of `float_to_plain`."""
    if isinstance(plain, str) and plain in SPECIAL:
        return SPECIAL[plain]
    if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not abs(plain) < math.inf:
        raise InvalidFile(f"{at} must be a number, not {shown(plain)}")
    if isinstance(plain, int) and abs(plain) > LARGEST:
        raise InvalidFile(f"{at} must be a number of float64, not {shown(plain)}")
    return float(plain)


def shown(plain: Any) -> str:
    """A value for a message, cut short; large ones by their kind."""
    if isinstance(plain, (dict, list)):
        return "an object" if isinstance(plain, dict) else f"a list of {len(plain)}"
    if isinstance(plain, int) and abs(plain) > 10**30:
        return "a huge number"
    text = repr(plain)
    return text if len(text) <= 60 else text[:60] + "…"


def fields_schema(properties: Mapping[str, Any], optional: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The schema of an object with these entries, perhaps the optional ones, and no others."""
    return {
        "type": "object",
        "properties": {**properties, **optional},
        "required": list(properties),
        "additionalProperties": False,
    }
