"""A sample of rows by a reduction."""

import numpy as np
import pytest

from linearly.dataset.rows.block import as_rows
from linearly.findings.row_sample import Sample, random_keys


def test_sample_is_seeded_uniform_and_independent_of_blocks():
    keys = random_keys(np.arange(100_000))
    assert np.array_equal(keys[500:600], random_keys(np.arange(500, 600)))
    assert 0 <= keys.min() < keys.max() < 1
    assert np.histogram(keys, 10, (0, 1))[0] == pytest.approx(np.full(10, 10_000), rel=0.05)
    X = np.arange(1000.0)[:, None]
    rows = as_rows(X)

    def of(block):
        return Sample.of(20, random_keys(block.global_index(np.arange(len(block)))), block, lambda kept: block.X[kept])

    whole_sample = of(rows.block(0, 1000))
    parts = of(rows.block(0, 300)) + (of(rows.block(300, 301)) + of(rows.block(301, 1000)))
    assert np.array_equal(whole_sample.rows, parts.rows)
    assert np.array_equal(parts.values[:, 0], parts.rows)
    assert parts.places[0] == f"row {parts.rows[0]}"
    assert np.array_equal(np.sort(parts.rows), parts.in_order().rows)
