"""Spell each level of a category as the same text, whatever container it comes from.

Categories need not be text. pandas would write True and 1.0 where Arrow writes true and 1, and a model fitted on the
one would not find its levels in the other. Here True is "True", 1 and 1.0 are "1", and 2.5 is "2.5". Texts are kept
as they are. Only where a text is none of the known levels, "true" is read as "True" and "1.0" as "1": files of text,
and models saved by earlier versions, spell them so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from linearly.dataset.rows.array_checks import LARGEST_EXACT_INTEGER
from linearly.dataset.rows.label_checks import is_missing

_WHOLE = re.compile(r"(-?(?:0|[1-9]\d*))\.0+")


def spell_level(value: Any) -> str:
    """Return a level as text."""
    if isinstance(value, (float, np.floating, Decimal)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) <= LARGEST_EXACT_INTEGER else repr(number)
    return str(value)


def _key(value: Any) -> str:
    """Return a key that is the same for all spellings of one level."""
    text = spell_level(value)
    if text.lower() in ("true", "false"):
        return text.capitalize()
    whole = _WHOLE.fullmatch(text)
    return text if whole is None else whole[1]


def level_positions(values: Iterable[Any], levels: Sequence[Any]) -> dict[Any, int | None]:
    """Return the index of each value's level, None if it is not one of them."""
    exact = {level: k for k, level in enumerate(levels)}
    alike: dict[str, int | None] = {}
    for k, level in enumerate(levels):
        alike[_key(level)] = None if _key(level) in alike else k  # of two levels with one key, neither is meant
    return {
        value: None if is_missing(value) else exact[value] if value in exact else alike.get(_key(value))
        for value in values
    }


def categories_of(column: nw.Series[Any]) -> list[Any] | None:
    """Return the categories of a pandas column or the dictionary of an Arrow column; None for other columns."""
    native = column.to_native()
    if column.dtype not in (nw.Categorical, nw.Enum):
        return None
    if column.implementation.is_pandas_like() and hasattr(native.dtype, "categories"):
        found: list[Any] = native.dtype.categories.tolist()
        return found
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return list(native.unify_dictionaries().chunk(0).dictionary.to_pylist()) if native.num_chunks else []
    return None


def text_of(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return a categorical column as text; other columns unchanged."""
    if column.dtype not in (nw.Categorical, nw.Enum):
        return column
    native = column.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return nw.from_native(_arrow_text(native), series_only=True)
    categories = categories_of(column)
    if categories is None:
        return column.cast(nw.String)
    # By codes: pandas makes floats of integers beside a gap, so the level 9 would be 9.0 in some chunks.
    words = np.array([*map(spell_level, categories), None], dtype=object)[native.cat.codes.to_numpy()]
    return nw.from_native(type(native)(words, index=native.index, name=native.name), series_only=True)


def _arrow_text(native: Any) -> Any:
    import pyarrow as pa

    kind = native.type.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return native.cast(pa.string())

    def text(chunk: Any) -> Any:
        words = [None if value is None else spell_level(value) for value in chunk.dictionary.to_pylist()]
        return pa.DictionaryArray.from_arrays(chunk.indices, pa.array(words, pa.string())).cast(pa.string())

    return pa.chunked_array([text(chunk) for chunk in native.chunks], pa.string())


def declared_order(column: nw.Series[Any]) -> tuple[str, ...]:
    """Return the declared order of a column's categories; empty if none was declared.

    A polars Enum and an ordered Arrow dictionary declare theirs, and so do pandas categories, as in R's factor().
    Other dictionaries are in the order in which values happened to appear.
    """
    native = column.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native) and not getattr(native.type, "ordered", False):
        return ()
    categories = categories_of(column)
    if categories is None and column.dtype == nw.Enum:
        categories = column.cat.get_categories().to_list()
    return tuple(dict.fromkeys(spell_level(value) for value in categories or () if value is not None))


def numbers_of(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return a categorical column of numbers or booleans as numbers or booleans."""
    native = column.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return nw.from_native(native.cast(native.type.value_type), series_only=True)
    values = np.array([*map(float, native.dtype.categories), np.nan])[native.cat.codes.to_numpy()]
    return nw.from_native(type(native)(values, index=native.index, name=native.name), series_only=True)


def holds_numbers(column: nw.Series[Any], *, truths: bool = False) -> bool:
    """Return whether the categories of a categorical column are numbers or, with `truths`, booleans."""
    native = column.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native) and column.dtype == nw.Categorical:
        empty = native[:0].cast(native.type.value_type)
        kind = nw.from_native(empty, series_only=True).dtype
        return bool(kind.is_numeric()) or (truths and kind == nw.Boolean)
    categories = getattr(native.dtype, "categories", None) if column.dtype == nw.Categorical else None
    return getattr(getattr(categories, "dtype", None), "kind", "O") in ("iuf" + "b" * truths)
