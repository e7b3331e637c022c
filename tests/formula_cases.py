"""Tables in small chunks and designs of formulas, for the tests of formulas."""

from functools import partial

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from linearly.dataset.design.design import DesignRows
from linearly.dataset.design.from_formula import formula_design
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.dataset.rows.tables import Chunk, FrameTables, Tables

CRY = "__import__('os').system('touch executed')"


class Cut(Tables):
    """A data frame in chunks of a few rows, some of them empty."""

    def __init__(self, frame, rows=7):
        self.frame, self.rows = nw.from_native(frame, eager_only=True), rows
        self.schema = dict(self.frame.schema)
        self.passes = 0

    def _chunk(self, start):
        return Chunk(self.frame[start : start + self.rows], start)

    def __iter__(self):
        return map(self._chunk, range(0, len(self.frame) + 1, self.rows))

    def reduce(self, f):
        self.passes += 1
        return reduce_blocks((partial(self._chunk, start) for start in range(0, len(self.frame) + 1, self.rows)), f)

    def select(self, columns):
        part = Cut(self.frame.select(list(columns)).to_native(), self.rows)
        part.reduce = self.counted(part.reduce)
        return part

    def counted(self, own):
        def folding(f):
            self.passes += 1
            return own(f)

        return folding


def frame_of(columns):
    return pl.DataFrame(
        {name: [v if isinstance(v, str) else float(v) for v in values] for name, values in columns.items()}
    )


def matrix(tables, design):
    return np.vstack([block.X for block in DesignRows(tables, design)])


def design_in(frame, formula, **options):
    tables = FrameTables(frame)
    return formula_design(formula, tables.schema, **options).fit(tables)


def numbers(frame, formula):
    return matrix(FrameTables(frame), design_in(frame, formula))
