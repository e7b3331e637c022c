"""Codecs of arrays: few numbers as text, many as base64 of their bytes, in float64 or in double-double.

Shapes are tuples of sizes by name, such as ``("K", "p")``. What a shape says is compared with what is there before an
array is made.
"""

from __future__ import annotations

import base64
import binascii
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.export.codec import (
    SPECIAL,
    Integer,
    InvalidFile,
    Plain,
    Sizes,
    fields_schema,
    float_from_plain,
    float_to_plain,
    keys,
    shown,
)
from linearly.kernels.double_double import DoubleDouble

FEW = 64  # numbers that are written as text; more are base64 of their bytes
MOST_NUMBERS = 2**26  # in one array


@dataclass(frozen=True)
class Numbers:
    """An array of a shape and a kind: "f8" floats, "i8" or "i4" whole numbers."""

    shape: tuple[str, ...]
    kind: str = "f8"
    finite: bool = True
    positive: bool = False

    def encode(self, value: Any) -> Plain:
        return array_to_plain(np.asarray(value, dtype=self.kind))

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> NDArray[Any]:
        array = array_from_plain(plain, at, self.kind, self.shape, sizes)
        if self.finite and self.kind == "f8" and not np.isfinite(array).all():
            raise InvalidFile(f"{at} holds NaN or infinity")
        if self.positive and not (array > 0).all():
            raise InvalidFile(f"{at} must hold positive numbers")
        return array

    def schema(self) -> dict[str, Any]:
        dimensions = {"minItems": len(self.shape), "maxItems": len(self.shape)}
        kind = {"dtype": {"const": self.kind}, "shape": dimensions}
        return {"allOf": [{"$ref": "#/$defs/array"}, {"properties": kind}]}


@dataclass(frozen=True)
class Exact:
    """Numbers in float64, or in double-double as two arrays ``high`` and ``low``."""

    shape: tuple[str, ...]

    def encode(self, value: Any) -> Plain:
        if isinstance(value, DoubleDouble):
            return {"high": array_to_plain(value.high), "low": array_to_plain(value.low)}
        return array_to_plain(np.asarray(value, dtype=np.float64))

    def decode(self, plain: Plain, at: str, sizes: Sizes) -> Any:
        one = Numbers(self.shape)
        if isinstance(plain, dict) and "high" in plain:
            parts = keys(plain, at, ("high", "low"))
            return DoubleDouble(*(one.decode(parts[name], f"{at}.{name}", sizes) for name in ("high", "low")))
        array = one.decode(plain, at, sizes)
        return array if self.shape else np.float64(array)

    def schema(self) -> dict[str, Any]:
        array = Numbers(self.shape).schema()
        return {"oneOf": [array, fields_schema({"high": array, "low": array})]}


def array_to_plain(array: NDArray[Any]) -> Plain:
    """An array as JSON: few numbers as text, many as base64 of little-endian bytes, in its own order of memory."""
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    plain: dict[str, Any] = {"dtype": kind, "shape": list(array.shape)}
    order = "F" if array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    if order == "F":
        plain["order"] = "F"
    flat = array.ravel(order=order)  # type: ignore[arg-type]
    if array.size <= FEW:
        plain["values"] = [float_to_plain(x) for x in flat.tolist()] if kind[0] == "f" else flat.tolist()
    else:
        plain["base64"] = base64.b64encode(flat.astype(f"<{kind}").tobytes()).decode("ascii")
    return plain


def array_from_plain(plain: Plain, at: str, kind: str, shape: tuple[str, ...], sizes: Sizes) -> NDArray[Any]:
    """The array of `array_to_plain`, its size compared with what is there before it is made."""
    given = keys(plain, at, ("dtype", "shape"), ("order", "values", "base64"))
    if given["dtype"] != kind:
        raise InvalidFile(f"{at} must hold numbers of kind {kind}, not {shown(given['dtype'])}")
    if given.get("order", "C") not in ("C", "F"):
        raise InvalidFile(f"{at}.order must be C or F, not {shown(given['order'])}")
    lengths = _lengths(given["shape"], f"{at}.shape", shape, sizes)
    size = math.prod(lengths)
    if size > MOST_NUMBERS:
        raise InvalidFile(f"{at} would hold {size} numbers; more than {MOST_NUMBERS} are refused")
    if ("values" in given) == ("base64" in given):
        raise InvalidFile(f"{at} must have either values or base64")
    listed = "values" in given
    flat = _listed(given["values"], at, kind, size) if listed else _unpacked(given["base64"], at, kind, size)
    return flat.reshape(lengths, order=given.get("order", "C"))


def _lengths(plain: Plain, at: str, shape: tuple[str, ...], sizes: Sizes) -> tuple[int, ...]:
    if not isinstance(plain, list) or len(plain) != len(shape):
        raise InvalidFile(f"{at} must have {len(shape)} dimensions, not {shown(plain)}")
    return tuple(
        Integer(size=name).decode(length, f"{at}[{i}]", sizes)
        for i, (name, length) in enumerate(zip(shape, plain, strict=True))
    )


def _listed(plain: Plain, at: str, kind: str, size: int) -> NDArray[Any]:
    if not isinstance(plain, list) or len(plain) != size or size > FEW:
        raise InvalidFile(f"{at}.values must be a list of {size} numbers (at most {FEW}), as its shape says")
    if kind == "f8":
        return np.array([float_from_plain(x, f"{at}.values") for x in plain], dtype=np.float64)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    for x in plain:
        if isinstance(x, bool) or not isinstance(x, int) or not least <= x <= most:
            raise InvalidFile(f"{at}.values must be whole numbers, not {shown(x)}")
    return np.array(plain, dtype=kind)


def _unpacked(plain: Plain, at: str, kind: str, size: int) -> NDArray[Any]:
    n_bytes = size * int(kind[1:])
    if not isinstance(plain, str) or len(plain) != 4 * -(-n_bytes // 3):
        raise InvalidFile(f"{at}.base64 is not as long as its shape says ({n_bytes} bytes)")
    try:
        raw = base64.b64decode(plain.encode("ascii"), validate=True)
    except (ValueError, binascii.Error):
        raise InvalidFile(f"{at}.base64 is not base64") from None
    if len(raw) != n_bytes:
        raise InvalidFile(f"{at}.base64 holds {len(raw)} bytes, not {n_bytes}")
    return np.frombuffer(raw, dtype=f"<{kind}").astype(kind)


def definitions() -> dict[str, Any]:
    """What the schemas of several codecs refer to."""
    number = {"oneOf": [{"type": "number"}, {"enum": list(SPECIAL)}]}
    return {
        "float": number,
        "array": {
            "type": "object",
            "description": f"Numbers of a shape: up to {FEW} as text, more as base64 of little-endian bytes.",
            "properties": {
                "dtype": {"enum": ["f8", "i8", "i4"]},
                "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 4},
                "order": {"enum": ["C", "F"], "description": "of memory; C unless said"},
                "values": {"type": "array", "items": {"$ref": "#/$defs/float"}, "maxItems": FEW},
                "base64": {"type": "string", "contentEncoding": "base64"},
            },
            "required": ["dtype", "shape"],
            "oneOf": [{"required": ["values"]}, {"required": ["base64"]}],
            "additionalProperties": False,
        },
    }
