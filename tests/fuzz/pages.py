"""Parquet files of plain numbers, damaged by the byte: the kernels read them as Arrow does, or refuse them."""

from __future__ import annotations

import functools
import io
import itertools
import tempfile
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutation import mutated
from fuzz.run import Broken, Fuzzer
from linearly.dataset.files.tables import file_tables

PIECES = (b"\x15", b"\x2c", b"\x00" * 8, b"\xff" * 8, b"\x80" * 9, b"\x03", b"\x07", b"\xf4\xff\xff\xff\xff")


class Read(NamedTuple):
    """What the library reads, and what Arrow does; None where it refuses."""

    ours: pa.Table
    arrow: pa.Table | None


@functools.cache
def files() -> tuple[bytes, ...]:
    """Files as they should be, in the ways in which plain numbers are written."""
    rng = np.random.default_rng(9)
    n = 200
    table = pa.table(
        {"x": rng.normal(size=n), "k": rng.integers(0, 3, n) * 1.5, "r": np.repeat(rng.normal(size=8), 25)}
    )
    found = []
    ways = itertools.product(("snappy", "none"), ("1.0", "2.0"), (True, False), (64, 1 << 20))
    for packing, version, coded, page in ways:
        sink = io.BytesIO()
        pq.write_table(
            table, sink, compression=packing, data_page_version=version, use_dictionary=coded, data_page_size=page,
            row_group_size=n // 2, write_statistics=page == 64, store_schema=False,
        )  # fmt: skip
        found.append(sink.getvalue())
    return tuple(found)


@functools.cache
def place() -> Path:
    return Path(tempfile.mkdtemp(prefix="pages-")) / "rows.parquet"


def _footer_of(whole: bytes) -> int:
    return len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")


def draw(random: Random) -> bytes:
    """Mostly damage in the pages: what the footer says is Arrow's to read."""
    whole = random.choice(files())
    if random.random() < 0.2:
        return mutated(random, whole, PIECES, files())
    end = _footer_of(whole)
    damaged = mutated(random, whole[4:end], PIECES, files())
    return whole[:4] + damaged[: end - 4].ljust(end - 4, b"\0") + whole[end:]


def attempt(data: bytes) -> Read:
    place().write_bytes(data)
    try:
        arrow = pq.ParquetFile(place()).read()
    except (OSError, ValueError, pa.ArrowException):
        arrow = None
    return Read(pa.concat_tables([chunk.frame.to_native() for chunk in file_tables(place())]), arrow)


def judge(data: bytes, found: Read) -> None:
    if found.arrow is None:
        # Of a damaged footer Arrow also checks statistics that nobody here uses.
        if any(data.endswith(whole[_footer_of(whole) :]) for whole in files()):
            raise Broken("Arrow refuses what was read")
        return
    for name in found.ours.column_names:
        ours, arrow = (table.column(name).combine_chunks() for table in found)
        if ours.type == pa.float64() and ours.null_count == 0:
            if np.asarray(ours).tobytes() != np.asarray(arrow).tobytes():
                raise Broken(f"column {name} has other bits")
        elif not ours.equals(arrow):
            raise Broken(f"column {name} has other values")


FUZZER = Fuzzer("pages", draw, attempt, judge)
