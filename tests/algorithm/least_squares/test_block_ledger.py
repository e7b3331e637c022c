"""Tests of `block_ledger`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from perceptron_cases import Partitioned, Streamed

from linearly.algorithm.least_squares.block_ledger import AddFingerprint, BlockLedger, FingerprintingRows, fingerprint
from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries
from linearly.dataset.rows.block import Block
from linearly.kernels.double_double import DoubleDouble


def some_rows(n=30, p=3, seed=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * [1.0, 5.0, 0.2][:p] + [10.0, -3.0, 0.0][:p]
    return X, X @ [1.0, 0.5, -2.0][:p] + rng.standard_normal(n)


def ledger_of(fingerprints):
    return BlockLedger(Counter(fingerprints))


def test_a_ledger_counts_blocks_and_refuses_what_was_or_was_not_there():
    a, b = ledger_of(["one", "two", "two"]), ledger_of(["three"])
    assert (len(BlockLedger()), len(a), len(b), len(a + b)) == (0, 3, 1, 4)
    assert (a + b) - b == a
    assert (a - ledger_of(["two"])).blocks == {"one": 1, "two": 1}
    with pytest.raises(ValueError, match=r"^1 block of rows is in both"):
        a + ledger_of(["one", "four"])
    with pytest.raises(ValueError, match=r"^2 blocks of rows are in both"):
        a + a
    with pytest.raises(ValueError, match=r"^1 block of rows was never added"):
        a - ledger_of(["one", "one"])
    with pytest.raises(ValueError, match="with another precision"):
        ledger_of(["0" * 16 + "float64"]) - ledger_of(["0" * 16 + "doubled"])
    with pytest.raises(ValueError, match=r"^2 blocks of rows were never added"):
        a - ledger_of(["three", "four", "one"])


def test_a_fingerprint_is_that_of_the_rows():
    X, y = some_rows()
    labels = (y > y.mean()).astype(np.int32)
    summaries = [
        Gram.of,
        lambda block: Gram.of(block, extended=True),
        QRFactor.of,
        lambda block: FoldSummaries.of(block, 3),
        lambda block: ClassGrams.of(replace(block, y=labels), 2),
    ]
    prints = set()
    for summary in summaries:

        def said_of(block, summary=summary):
            return fingerprint(summary(block), block)

        said = said_of(Block(X, y))
        assert said == said_of(Block(X.copy(), y.copy()))
        prints.add(said)
        other = X.copy()
        other[3, 1] += 0.5
        prints.add(said_of(Block(other, y)))
        prints.add(said_of(Block(X, y, np.full(len(y), 2.0))))
        assert len(said) == 32
    assert len(prints) == 3 * len(summaries)
    assert fingerprint(X, Block(X, y)) is None


def test_digits_below_float64_are_in_the_fingerprint():
    X, y = some_rows()
    plain = Gram.of(Block(X, y), extended=True)
    finer = replace(plain, mean=DoubleDouble(plain.mean.high, plain.mean.low * 1.5))
    assert not np.array_equal(finer.mean.low, plain.mean.low)
    assert fingerprint(finer, Block(X, y)) != fingerprint(plain, Block(X, y))


def test_rows_with_a_ledger_write_down_what_a_summary_was_made_of():
    X, y = some_rows()
    rows = FingerprintingRows(Streamed(X, y, 10))
    assert len(rows.ledger) == 0
    total = rows.reduce(lambda block: float(block.y.sum()))
    assert total == pytest.approx(y.sum())
    assert len(rows.ledger) == 0
    gram = rows.reduce(Gram.of)
    assert gram.n == 30
    blocks = [Block(X[a : a + 10], y[a : a + 10]) for a in (0, 10, 20)]
    parts = [fingerprint(Gram.of(block), block) for block in blocks]
    assert rows.ledger == ledger_of(parts)
    rows.reduce(lambda block: float(block.y.sum()))
    assert rows.ledger == ledger_of(parts)
    assert [len(block) for block in rows] == [10, 10, 10]
    assert (rows.classes, rows.one_shot, rows.n_partitions) == (None, False, None)
    assert AddFingerprint(Gram.of)(Block(X[:0], y[:0])).fingerprints == {}
    source = Partitioned(X, y, 10)
    source.classes, source.one_shot = ("no", "yes"), True
    partitioned = FingerprintingRows(source)
    assert (partitioned.classes, partitioned.one_shot) == (("no", "yes"), True)
    assert partitioned.n_partitions == 3
    assert partitioned.reduce_partitions(lambda blocks: sum(map(len, blocks))) == 30
