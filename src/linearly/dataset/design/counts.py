"""Targets of two labels as numbers: successes and failures, as in cbind(dead, alive), or a proportion of trials."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linearly.dataset.design.terms import Factor
from linearly.dataset.formula.expression import (
    Binary,
    Expression,
    Name,
    Number,
    check_result_finite,
    columns_of,
    evaluate,
)
from linearly.dataset.rows.block import Block, float_column
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.kernels.double_double import Array


@dataclass(frozen=True)
class Counts(Factor):
    """The numbers of successes and failures in each row, instead of one label."""

    successes: Expression
    failures: Expression
    name: str = ""  # of the column of proportions, if there is one

    @property
    def label(self) -> str:
        return self.name or f"cbind({self.successes}, {self.failures})"

    @property
    def required_columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*columns_of(self.successes), *columns_of(self.failures))))

    @property
    def classes(self) -> tuple[str, str] | tuple[int, int]:
        """The labels of failures and successes: their expressions, or 0 and 1 for proportions."""
        return (0, 1) if self.name else (str(self.failures), str(self.successes))

    def values(self, chunk: Chunk, full: bool) -> Array:
        """Return the numbers of successes and failures of the rows of a chunk; raise for negative ones."""
        counts = []
        for expression in (self.successes, self.failures):
            values = evaluate(expression, chunk)
            check_result_finite(values, expression, chunk)
            if (values < 0).any():
                i = int(np.argmax(values < 0))
                if self.name:
                    share = float_column(chunk.frame[self.name], chunk.where)[i]
                    raise ValueError(
                        f"The target {self.name!r} is {share:g} in {chunk.where(i)}, but proportions must be between "
                        '0 and 1. Correct it, or choose model="linear".'
                    )
                raise ValueError(
                    f"The count {expression} is negative in {chunk.where(i)}: {values[i]:g}. Pass cbind(successes, "
                    "failures), not numbers of trials."
                )
            counts.append(values)
        return np.stack(counts, axis=1)

    def has_trials(self, chunk: Chunk) -> Array:
        """Return 1 for each row with successes or failures, and 0 for others: a row is one observation."""
        return np.asarray(self.values(chunk, False).any(axis=1), dtype=np.float64)

    def pair(self, block: Block, chunk: Chunk) -> Block:
        """Return a block with two rows per row of the data: label 1 weighs its successes, label 0 its failures."""
        counts = self.values(chunk, False)
        weight = counts if block.weight is None else counts * block.weight[:, None]
        twice = block.take(np.repeat(np.arange(len(block)), 2))
        y = np.tile(np.array([1, 0], dtype=np.int32), len(block))
        return replace(twice, y=y, weight=weight.reshape(-1), paired=True)


def proportion_of_trials(tables: Tables, target: str, weight: str) -> Counts | None:
    """Return the target of a column of proportions whose weights are numbers of trials; None if it has no fraction."""
    if not tables.schema[target].is_float() or tables.one_shot:
        return None

    def count_fractions(chunk: Chunk) -> int:
        values = float_column(chunk.frame[target], chunk.where)
        return int(np.count_nonzero((values > 0) & (values < 1)))

    if not tables.select([target, weight]).reduce(count_fractions):
        return None
    share, trials = Name(target), Name(weight)
    failures = Binary("*", Binary("-", Number(1.0), share), trials)
    return Counts(Binary("*", share, trials), failures, target)
