"""Write records with arrays as JSON, and read them back without trusting them.

`record` makes a msgspec struct from a table of fields. Most types are msgspec's own; arrays, sizes and floats that may
be NaN are types of this module. Sizes have names, such as ``p`` features or ``K`` classes: a name that is known must
fit, and a new name takes the size that it has where it is first read. Sizes are checked before anything is allocated.
"""

from __future__ import annotations

import base64
import math
import sys
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from linearly.dataset.design.serialization import InvalidFile, Record, decode_json
from linearly.kernels.double_double import DoubleDouble

MAX_INTEGER = 2**53  # that all JSON readers represent
MAX_LISTED = 64  # numbers of an array written as text; larger arrays are base64 of their bytes
MAX_NUMBERS = 2**26  # in one array

Sizes = dict[str, int]
NotFinite = Literal["NaN", "Infinity", "-Infinity"]
Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
AtLeast1 = Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
AtLeast2 = Annotated[int, Meta(ge=2, le=MAX_INTEGER)]
Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
NotNegative = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
Number = Count | NotNegative  # an integer stays one
Label = str | int | Finite | bool
Text = Annotated[str, Meta(max_length=10_000)]


_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class ArrayRecord(Record, frozen=True, omit_defaults=True):
    """An array with its shape: up to 64 numbers as text, more as base64 of little-endian bytes."""

    dtype: Literal["f8", "i8", "i4"]
    shape: Annotated[tuple[Count, ...], Meta(max_length=4)]
    order: Literal["C", "F"] = "C"
    values: Annotated[tuple[_Int64 | float | NotFinite, ...], Meta(max_length=MAX_LISTED)] | None = None
    base64: str | None = None

    @staticmethod
    def of(array: NDArray[Any]) -> ArrayRecord:
        """Return the record of an array in its own order of memory."""
        dtype: Any = f"{array.dtype.kind}{array.dtype.itemsize}"
        order: Any = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        flat = array.ravel(order=order)
        if array.size <= MAX_LISTED:
            return ArrayRecord(dtype, array.shape, order, values=to_json(flat.tolist()))
        packed = base64.b64encode(flat.astype(f"<{dtype}").tobytes()).decode("ascii")
        return ArrayRecord(dtype, array.shape, order, base64=packed)

    def array(self) -> NDArray[Any]:
        """Return the array; refuse numbers whose count differs from the shape before they are decoded."""
        size = math.prod(self.shape)
        if size > MAX_NUMBERS or (self.values is None) == (self.base64 is None):
            raise ValueError(f"An array must have either values or base64, and at most {MAX_NUMBERS} numbers")
        if self.values is not None:
            floats = self.dtype == "f8"
            limit = 2 ** (8 * int(self.dtype[1:]) - 1)
            fit = floats or all(isinstance(x, int) and -limit <= x < limit for x in self.values)
            if len(self.values) != size or not fit:
                raise ValueError(f"values must be {size} numbers of dtype {self.dtype}")
            flat = np.array([float(x) if floats else x for x in self.values], dtype=self.dtype)
        else:
            n_bytes = size * int(self.dtype[1:])
            raw = b""
            if self.base64 is not None and len(self.base64) == 4 * -(-n_bytes // 3):
                raw = base64.b64decode(self.base64.encode("ascii"), validate=True)
            if len(raw) != n_bytes:
                raise ValueError(f"base64 must encode {n_bytes} bytes, according to the shape")
            flat = np.frombuffer(raw, dtype=f"<{self.dtype}").astype(self.dtype)
        return flat.reshape(self.shape, order=self.order)


# --- types that msgspec hands to `decode` ---------------------------------------------------------


@dataclass(frozen=True)
class _Size:
    name: str

    def decode(self, data: Any, sizes: Sizes) -> int:
        length: int = _convert(data, Count)
        if self.name and sizes.setdefault(self.name, length) != length:
            raise ValueError(f"The size {self.name} is {length}, but elsewhere in the file {sizes[self.name]}")
        return length

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER}


class _AnyFloat:
    def decode(self, data: Any, sizes: Sizes) -> float:
        return float(_convert(data, float | NotFinite))

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}


@dataclass(frozen=True)
class _Array:
    names: tuple[str, ...]
    dtype: str = "f8"
    finite: bool = True
    positive: bool = False

    def decode(self, data: Any, sizes: Sizes) -> Any:
        if not self.names:
            return np.float64(_convert(data, Finite))
        record = _convert(data, ArrayRecord)
        if record.dtype != self.dtype or len(record.shape) != len(self.names):
            raise ValueError(f"The array must have {len(self.names)} dimensions of dtype {self.dtype}")
        for name, length in zip(self.names, record.shape, strict=True):
            _Size(name).decode(length, sizes)
        array = record.array()
        if self.finite and self.dtype == "f8" and not np.isfinite(array).all():
            raise ValueError("The array contains NaN or infinity")
        if self.positive and not (array > 0).all():
            raise ValueError("The array must contain positive numbers")
        return array

    def schema(self) -> dict[str, Any]:
        if not self.names:
            return {"type": "number"}
        dimensions = {"minItems": len(self.names), "maxItems": len(self.names)}
        kind = {"dtype": {"const": self.dtype}, "shape": dimensions}
        return {"allOf": [{"$ref": "#/$defs/ArrayRecord"}, {"properties": kind}]}


class _ExtendedArray(_Array):
    def decode(self, data: Any, sizes: Sizes) -> Any:
        if not isinstance(data, dict) or data.keys() != {"high", "low"}:
            return super().decode(data, sizes)
        return DoubleDouble(*(np.asarray(super(_ExtendedArray, self).decode(data[k], sizes)) for k in ("high", "low")))

    def schema(self) -> dict[str, Any]:
        one = super().schema()
        both = {"type": "object", "required": ["high", "low"], "additionalProperties": False}
        return {"oneOf": [one, both | {"properties": {"high": one, "low": one}}]}


def _convert(data: Any, kind: Any) -> Any:
    """Convert data inside a hook; msgspec adds the outer path to a ValueError, but not to its own error."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _type_of(checker: Any) -> Any:
    """Return a type that msgspec does not know, and so hands to the hook with the data."""
    kind = ABCMeta(type(checker).__name__, (), {"checker": checker})
    for known in (np.ndarray, DoubleDouble, float, int):
        kind.register(known)
    return kind


def array(*names: str, dtype: str = "f8", finite: bool = True, positive: bool = False) -> Any:
    """Return the type of an array whose dimensions have these sizes."""
    return _type_of(_Array(names, dtype, finite, positive))


def extended(*names: str) -> Any:
    """Return the type of numbers in float64 or, as two arrays high and low, in double-double."""
    return _type_of(_ExtendedArray(names))


def size(name: str) -> Any:
    """Return the type of an integer that is the size of this name."""
    return _type_of(_Size(name))


def list_of(kind: Any, most: int = 100_000) -> Any:
    """Return the type of a tuple of at most so many of a kind."""
    return Annotated[tuple[kind, ...], Meta(max_length=most)]


AnyFloat: Any = _type_of(_AnyFloat())
Counts: Any = list_of(Count)


# --- records --------------------------------------------------------------------------------------

_RECORDS: dict[type, Any] = {}  # by the classes that they describe
_BUILDERS: dict[type, Callable[..., Any]] = {}  # records to what `decode` returns for them


def record(
    name: str,
    fields: Mapping[str, Any],
    absent: Mapping[str, Any] = MappingProxyType({}),
    *,
    of: type | None = None,
    build: Callable[..., Any] | None = None,
    check: Callable[[Any], None] = lambda self: None,
    **options: Any,
) -> Any:
    """Make a struct from a table of fields and their types.

    Parameters
    ----------
    name : str
        The name of the struct in the schema.
    fields, absent : mapping of str to type
        Fields, and those that a file may lack; these are then UNSET.
    of : type, optional
        The class whose instances are written as this record.
    build : callable, default `of` or SimpleNamespace
        Takes the fields and returns what `decode` returns.
    check : callable, optional
        Raises ValueError for a record whose fields contradict each other.
    **options
        Of a msgspec struct, such as the ``tag`` by which the records of a union differ.
    """
    table: list[Any] = [*fields.items(), *((field, kind | UnsetType, UNSET) for field, kind in absent.items())]
    namespace = {"__post_init__": check}
    kind = msgspec.defstruct(name, table, bases=(Record,), namespace=namespace, frozen=True, kw_only=True, **options)
    _BUILDERS[kind] = build or of or SimpleNamespace
    if of is not None:
        _RECORDS[of] = kind
    return kind


def decode(data: Any, kind: Any, at: str, sizes: Sizes) -> Any:
    """Return JSON data as the type of their record; errors name the path of the invalid field."""
    return _built(decode_json(data, kind, at, lambda own, value: own.checker.decode(value, sizes)))


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type of this module, for msgspec's schema of the whole."""
    return kind.checker.schema()  # type: ignore[no-any-return]


def _built(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_built, value))
    builder = _BUILDERS.get(type(value))
    if builder is None:
        return value
    return builder(**{name: _built(getattr(value, name)) for name in value.__struct_fields__})


def record_to_json(kind: Any, source: Any, given: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return the attributes of an object, or what is given instead, that are fields of a record; UNSET ones are not."""
    config = kind.__struct_config__
    values = {name: given.get(name, getattr(source, name, UNSET)) for name in kind.__struct_fields__}
    tag = {config.tag_field: config.tag} if config.tag else {}
    return tag | {name: to_json(value) for name, value in values.items() if value is not UNSET}


def to_json(value: Any) -> Any:
    """Return a value as JSON that `decode` reads back bit for bit; NaN and infinity are written by name."""
    kind = type(value) if isinstance(value, Record) else _RECORDS.get(type(value))
    if kind is not None:
        return record_to_json(kind, value)
    match value:
        case float():
            return float(value) if math.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        case None | str() | int():
            return value
        case list() | tuple():
            return [to_json(each) for each in value]
        case DoubleDouble():
            return {"high": to_json(value.high), "low": to_json(value.low)}
        case np.ndarray() if value.ndim and value.dtype.kind != "b":
            return msgspec.to_builtins(ArrayRecord.of(value))
        case np.ndarray() | np.generic():
            return to_json(value.tolist())
    raise InvalidFile(
        f"a model file contains only text, numbers and booleans, but {value!r:.80} is {type(value).__name__}"
    )
