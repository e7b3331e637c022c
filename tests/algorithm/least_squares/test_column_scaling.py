"""Shift and scale of columns: from which rows, and when they are chosen again."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import require

from linearly import kernels
from linearly.algorithm.least_squares import column_scaling
from linearly.algorithm.least_squares.column_scaling import ColumnScaling, drop_zero_weight, power_of_two
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.kernels import reference
from linearly.kernels.double_double import DoubleDouble


def test_power_of_two_is_just_above():
    size = np.array([1.0, 1.5, 2.0, 3.0, 0.7, 1e-300, 1e300, 5e-324, 1.7e308])
    unit = power_of_two(size)
    inside = slice(0, 7)
    assert (unit[inside] > size[inside]).all()
    assert (unit[inside] / 2 <= size[inside]).all()
    assert (np.frexp(unit)[0] == 0.5).all()
    assert unit[-2:].tolist() == [2.0**-1021, 2.0**1022]  # so that neither it nor its reciprocal leaves float64
    assert np.isfinite(1 / unit).all()
    assert power_of_two(np.array([0.0, np.inf, np.nan])).tolist() == [1.0, 1.0, 1.0]


def test_power_of_two_with_a_step_is_a_power_of_its_power():
    unit = power_of_two(np.array([1.0, 0.5, 65535.0, 65536.0, 2.0**-16, 0.99 * 2.0**-16]), 16)
    assert unit.tolist() == [2.0**16, 1.0, 2.0**16, 2.0**32, 1.0, 2.0**-16]


def test_scaling_is_the_middle_and_range_of_the_rows():
    X, Y = np.array([[1.0, 5.0], [3.0, 5.0], [11.0, 5.0]]), np.array([[0.0, 100.0], [0.0, 101.0], [0.0, 102.5]])
    found = ColumnScaling.of(Block(X), Y, coarse=1)
    np.testing.assert_allclose(found.shift, [5.0, 5.0, 0.0, 303.5 / 3], rtol=1e-15)
    assert found.scale.tolist() == [8.0, 8.0, 1.0, 2.0]  # a constant column by its value, one of zeros by one
    assert ColumnScaling.of(Block(-X), -Y, coarse=1).scale.tolist() == found.scale.tolist()
    assert ColumnScaling.of(Block(X), Y).scale.tolist() == [2.0**16, 2.0**16, 1.0, 2.0**16]
    np.testing.assert_array_equal(ColumnScaling.of(Block(X), None, coarse=1).scale, [8.0, 8.0])
    doubled = ColumnScaling.of(Block(DoubleDouble(X, X * 1e-17)), Y, coarse=1)
    np.testing.assert_array_equal(doubled.shift, found.shift)


def test_scaling_ignores_rows_of_weight_zero():
    X = np.array([[1.0], [np.nan], [3.0], [1e300]])
    weight = np.array([1.0, 0.0, 2.0, 0.0])
    found = ColumnScaling.of(Block(X, weight=weight), X.copy(), coarse=1)
    assert found.shift.tolist() == [2.0, 2.0]
    assert found.scale.tolist() == [2.0, 2.0]
    for nobody in (Block(X, weight=np.zeros(4)), Block(X[:0])):
        none = ColumnScaling.of(nobody, nobody.X)
        assert (none.shift.tolist(), none.scale.tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_scaling_of_many_rows_samples_all_of_them():
    X = np.arange(6400.0)[:, None]
    for weight in (None, np.where(np.arange(6400) == 0, 0.0, 1.0)):
        some = ColumnScaling.of(Block(X, weight=weight), X.copy(), coarse=1)
        assert abs(some.shift[0] - 3200) < 60
        assert some.scale.tolist() == [4096.0, 4096.0]
        whole = ColumnScaling.of(Block(X, weight=weight), None, all_rows=True)
        assert whole.shift[0] == pytest.approx(3199.5 + (weight is not None) / 2)
    spike = np.zeros((6400, 1))
    spike[33] = 1e9
    assert ColumnScaling.of(Block(spike), None).scale[0] == 1.0
    assert ColumnScaling.of(Block(spike), None, all_rows=True).scale[0] == 2.0**32


def test_scaling_of_sparse_columns_has_shift_zero():
    dense = np.array([[0.0, -5.0, 0.0], [3.0, 0.0, 0.0], [0.0, 1e200, 0.0]])
    X, Y = sp.csr_matrix(dense), np.array([[10.0], [12.0], [1e300]])
    found = ColumnScaling.of(Block(X, weight=np.array([1.0, 1.0, 0.0])), Y, coarse=1)
    assert found.shift.tolist() == [0.0, 0.0, 0.0, 11.0]
    assert found.scale.tolist() == [4.0, 8.0, 1.0, 2.0]
    assert ColumnScaling.of(Block(X), None, coarse=1).scale.tolist() == [4.0, float(power_of_two(np.array(1e200))), 1.0]


def test_over_or_underflowed_where_squares_leave_float64():
    X, Y = np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([[4.0, 5.0], [4.0, 6.0]])
    here = ColumnScaling.of(Block(X), Y)
    fine = np.array([0.0, 1.0, 0.0, 1.0])
    for kind in (X, ColumnMatrix([X[:, 0].copy(), X[:, 1].copy()]), DoubleDouble.of(X)):
        block = Block(kind, Y)
        assert not here.over_or_underflowed(block, Y, fine)
        for j, misled in enumerate([False, True, False, True]):
            squares = np.ones(4)
            squares[j] = 0.0
            assert here.over_or_underflowed(block, Y, squares) == misled
            squares[j] = np.inf
            assert here.over_or_underflowed(block, Y, squares)
        assert not here.over_or_underflowed(block, None, np.array([0.0, 1.0]))
        assert here.over_or_underflowed(block, None, np.array([1.0, 0.0]))
    # A row without weight does not make a column vary.
    assert not here.over_or_underflowed(Block(X, Y, np.array([1.0, 0.0])), Y[:, :1], np.array([0.0, 1.0, 0.0]))
    assert not ColumnScaling(X[0], np.ones(2)).over_or_underflowed(
        Block(X, weight=np.array([1.0, 0.0])), None, np.zeros(2)
    )


def test_over_or_underflowed_of_sparse_columns_depends_on_their_entries():
    X = sp.csr_matrix(([1.0, 0.0, 2.0], ([0, 1, 2], [0, 1, 2])), shape=(3, 4))
    here = ColumnScaling.of(Block(X), None)
    for j, misled in enumerate([True, False, True, False]):
        squares = np.ones(4)
        squares[j] = 0.0
        assert here.over_or_underflowed(Block(X), None, squares) == misled
        assert not here.over_or_underflowed(Block(X, weight=np.array([0.0, 1.0, 0.0])), None, squares)


def test_scaling_beside_a_column_that_overflows_is_unchanged():
    beside = np.array([[5.0, 3e6], [6.0, 3e6], [-1.5, 3e6], [100.0, 3e6]])
    alone = ColumnScaling.of(Block(beside), None, coarse=1)
    together = ColumnScaling.of(
        Block(np.column_stack([[-0.95e308, 0.95e308, -0.9e308, -0.9e308], beside])), None, coarse=1
    )
    np.testing.assert_allclose(together.shift[1:], alone.shift, rtol=1e-15)
    np.testing.assert_array_equal(together.scale[1:], alone.scale)
    assert together.shift[0] == pytest.approx(-0.45e308)
    assert together.scale[0] == 2.0**1022


def test_common_scale_keeps_its_own_shift():
    a, b = (
        ColumnScaling(np.array([1.0, 2.0]), np.array([1.0, 4.0])),
        ColumnScaling(np.array([3.0, 4.0]), np.array([2.0, 2.0])),
    )
    both = a.common_scale(b)
    assert (both.shift.tolist(), both.scale.tolist()) == ([1.0, 2.0], [2.0, 4.0])
    assert both.common_scale(a) is both
    assert both.common_scale(both) is both
    part = both.select([1])
    assert (part.shift.tolist(), part.scale.tolist()) == ([2.0], [4.0])


def test_drop_zero_weight_removes_rows():
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    whole = Block(X, y, np.array([1.0, 2.0, 3.0]))
    assert drop_zero_weight(whole) is whole
    part = drop_zero_weight(Block(X, y, np.array([1.0, 0.0, 3.0])))
    assert part.X.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert part.y.tolist() == [0.0, 2.0]
    assert part.weight.tolist() == [1.0, 3.0]
    assert drop_zero_weight(Block(X, None, np.array([0.0, 0.0, 3.0]))).y is None
    assert drop_zero_weight(Block(X)).weight is None


def test_empty_sparse_columns_are_not_sliced_one_by_one(monkeypatch):
    looked, column = [], column_scaling._column
    monkeypatch.setattr(column_scaling, "_column", lambda part, j: looked.append(j) or column(part, j))
    entries, rows, columns = [1.0, -1.0, 1e-200, 3.0, 5.0], [0, 0, 1, 2, 3], [1, 1, 2, 3, 4]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=4))])
    X = sp.csr_matrix((entries, columns, indptr), (4, 1000))  # column 1 is 1 − 1
    block = Block(X, weight=np.array([1.0, 1.0, 1.0, 0.0]))
    plain = Block(X.toarray(), weight=block.weight)
    scaling = ColumnScaling.of(block, None)
    for vanished in ([0, 1, 4, 999], [0, 2], range(1000)):
        squares = np.ones(1000)
        squares[list(vanished)] = 0.0
        told = scaling.over_or_underflowed(plain, None, squares)
        looked.clear()
        assert scaling.over_or_underflowed(block, None, squares) == told == (2 in vanished)
        assert set(looked) <= {1, 2}


def test_scaling_of_all_rows_uses_every_row():
    for row in range(6):
        X = np.ones((6, 1)) + np.arange(6)[:, None] % 2
        X[row] = 1e6
        unit = ColumnScaling.of(Block(X, None), None, all_rows=True, coarse=1).scale[0]
        assert unit >= 0.5e6


def test_scaling_of_numbers_whose_difference_overflows_is_in_their_middle():
    X = np.array([[-0.95e308], [0.95e308], [-0.9e308], [-0.9e308]])
    scaling = ColumnScaling.of(Block(X, None), None, all_rows=True)
    assert scaling.shift[0] == pytest.approx(-0.45e308, rel=1e-12)
    assert np.isfinite(scaling.scale).all()


@pytest.mark.parametrize("step", [1, 16])
def test_power_of_two_compiled_has_the_bits_of_the_reference(step):
    size = np.ldexp(
        np.random.default_rng(0).uniform(0.5, 1, 4000), np.random.default_rng(1).integers(-1074, 1024, 4000)
    )
    size = np.concatenate([size, [0.0, np.inf, np.nan, 5e-324, 0.5, 1.0, 2.0]])
    for sizes in (size, size[::-3], np.float32([0.0, 0.3, 3e38])):
        assert power_of_two(sizes, step).tolist() == reference.power_of_two(sizes, step).tolist()
    assert power_of_two(np.array(3.0)) == 4.0


@pytest.mark.parametrize("coarse", [1, 16])
def test_scaling_of_an_array_compiled_has_the_bits_of_numpy(monkeypatch, coarse):
    require(kernels.kernels_in_use() != "NumPy reference", "the compiled kernels are not in use")
    rng, compiled = np.random.default_rng(3), 0
    for i in range(200):
        n, p = int(rng.integers(1, 400)), int(rng.integers(1, 9))
        X = rng.standard_normal((n, p)) * 10.0 ** rng.integers(-9, 9, p) + 10.0 ** rng.integers(-3, 9)
        X[:, 0] = 7.0 if i % 5 == 0 else X[:, 0]
        X = np.asfortranarray(X) if i % 2 else X
        X = X.astype(np.float32) if i % 3 == 0 else X
        block = Block(X, weight=rng.uniform(0.5, 2, n) if i % 7 == 0 else None)
        compiled += kernels.column_scaling(X, None, coarse) is not None
        found = ColumnScaling.of(block, None, coarse=coarse)
        with monkeypatch.context() as numpy_only:
            numpy_only.setattr(kernels, "column_scaling", lambda *_: None)
            expected = ColumnScaling.of(block, None, coarse=coarse)
        assert found.shift.tobytes() == expected.shift.tobytes()
        assert found.scale.tobytes() == expected.scale.tobytes()
    assert compiled > 120
