"""Codes of the values of a text or categorical column: each distinct value is looked up once, not in every row."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.level_spelling import categories_of, spell_level

CodedValues = tuple[NDArray[Any], list[Any]]


def dictionary_codes(column: nw.Series[Any]) -> CodedValues | None:
    """Return the code of each row (−1 if missing) and the values of the codes, as `text_of` spells them.

    Every value occurs in the column. None for columns that are neither text nor categories, and for other tables than
    pandas, polars and Arrow.
    """
    if column.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    found = _any_codes(column)
    if found is None:
        return None
    codes, values = found
    present = np.flatnonzero(np.bincount(codes + 1, minlength=len(values) + 1)[1:])
    if len(present) == len(values) and len(set(values)) == len(values):
        return codes, values
    # Categories without rows are left out, and two of one spelling are one.
    words = [values[k] for k in present]
    places = {word: k for k, word in enumerate(dict.fromkeys(words))}
    new = np.full(len(values) + 1, -1, dtype=np.int64)
    new[present] = [places[word] for word in words]
    return new[codes], list(places)


def _any_codes(column: nw.Series[Any]) -> CodedValues | None:
    native = column.to_native()
    if nw.dependencies.is_pandas_series(native):
        if column.dtype == nw.String:
            codes, values = native.factorize()
            return codes, values.tolist()
        categories = categories_of(column)
        return None if categories is None else (native.cat.codes.to_numpy(np.int64), list(map(spell_level, categories)))
    if nw.dependencies.is_polars_series(native):
        text = column.cast(nw.String).to_native()
        values = text.drop_nulls().unique().to_list()
        codes = _from_polars(text, values)
        return codes, values
    if nw.dependencies.is_pyarrow_chunked_array(native):
        return _from_arrow(native)
    return None


def _from_polars(text: Any, values: list[str]) -> NDArray[Any]:
    import polars as pl

    codes: NDArray[Any] = text.cast(pl.Enum(values)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return codes


def _from_arrow(native: Any) -> CodedValues | None:
    from pyarrow import types

    if types.is_string(native.type) or types.is_large_string(native.type):
        native = native.dictionary_encode()
    elif not types.is_dictionary(native.type):
        return None
    native = native.unify_dictionaries()
    if not native.num_chunks:
        return np.zeros(0, dtype=np.int64), []
    words = native.chunk(0).dictionary.to_pylist()
    if any(word is None for word in words):  # rows of this code are missing
        return None
    # Indices may be unsigned, which have no −1.
    parts = [chunk.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False) for chunk in native.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts), list(map(spell_level, words))
