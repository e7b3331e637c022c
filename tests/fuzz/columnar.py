"""Parquet and Arrow files and streams, damaged by the byte.

What is accepted must be whole: Arrow's own full validation must pass, since lengths and offsets of a stranger are
addresses. Then the rows go to a fit.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import io
import zlib
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

import linearly as ly
from fuzz.mutation import mutated
from fuzz.run import Broken, Fuzzer, unlike_ours
from linearly.dataset.files.tables import file_tables

ROWS = 20
PIECES = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"\x00" * 8, b"\xff" * 8, b"\x15", b"\x80" * 9, b"double", b"y")


class Read(NamedTuple):
    """The table that was read, and what came of a fit."""

    table: pa.Table
    error: Exception | None


def _tables() -> tuple[pa.Table, ...]:
    random = np.random.default_rng(3)
    x, n = random.normal(size=ROWS), ROWS
    numbers = {"x": x, "i": pa.array(range(n), pa.int32()), "y": x * 2 + random.normal(size=n)}
    words = ["red", "green", "blue", "é"] * (n // 4)
    text, view = pa.array(words), pa.array(words, pa.string_view())
    return (
        pa.table(numbers),
        pa.table({**numbers, "k": words, "t": x > 0}),
        pa.table({"x": pa.array([None, *x[1:]]), "k": text.dictionary_encode(), "y": text.cast(pa.large_string())}),
        pa.table({"d": [datetime.date(2024, 1, 1)] * n, "e": [decimal.Decimal("1.5")] * n, **numbers, "v": view}),
        pa.table({"l": [[1, 2]] * n, "b": [b"ab"] * n, "s": [{"u": 1}] * n, "f": pa.array(x, pa.float32()), "y": x}),
        pa.table({"h": pa.array(x.astype(np.float16)), "u": pa.array(range(n), pa.uint64()), "o": pa.nulls(n), "y": x}),
    )


@functools.cache
def files() -> tuple[bytes, ...]:
    """Files of each kind that are as they should be."""
    found = []
    for table in _tables():
        plain = table.select([name for name in table.column_names if name != "h"])
        for options in ({"compression": "none"}, {"compression": "snappy", "row_group_size": 7}):
            for more in ({}, {"use_dictionary": False, "data_page_version": "2.0", "write_page_checksum": True}):
                sink = io.BytesIO()
                pq.write_table(plain, sink, **options, **more)
                found.append(sink.getvalue())
        for compression in (None, "lz4", "zstd"):
            for new in (ipc.new_file, ipc.new_stream):
                sink = io.BytesIO()
                with new(sink, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
                    writer.write_table(table, max_chunksize=8)
                found.append(sink.getvalue())
    return tuple(found)


def draw(random: Random) -> bytes:
    return mutated(random, random.choice(files()), PIECES, files())


def attempt(data: bytes) -> Read:
    tables = file_tables(io.BytesIO(data))
    table = pa.concat_tables([chunk.frame.to_native() for chunk in tables])
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise Broken(f"a table that is not whole: {error}") from None
    choice = zlib.crc32(data) % 4
    target = table.column_names[-1] if table.num_columns else "y"
    error: Exception | None = None
    try:
        if choice == 0:
            ly.LinearRegression(method="gram").fit(ly.scan(io.BytesIO(data), target=target))
        elif choice == 1:
            features = [name for name in table.column_names if name in ("x", "i", "f", "k", "u")]
            ly.LinearRegression().fit(ly.scan(io.BytesIO(data), target=target, features=features, missing="drop"))
    except Exception as refusal:
        error = refusal
    return Read(table, error)


def judge(data: bytes, found: Read) -> None:
    if found.error is not None and unlike_ours(found.error) is not None:
        raise found.error


FUZZER = Fuzzer("columnar", draw, attempt, judge)
