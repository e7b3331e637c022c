"""Summaries by themselves: what is read off a part of one is what the part of the rows would have said."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import linearly as ly
from linearly.algorithm.least_squares import column_scaling as gauge_module
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solution import whiten
from linearly.dataset.rows.block import Block
from linearly.kernels.double_double import DoubleDouble


def block(n: int = 60, p: int = 5) -> Block:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.uniform(-9, 9, p)
    return Block(X, X @ np.arange(1.0, p + 1) + rng.standard_normal(n))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("features", [[0, 1], [3, 1, 4], [2]])
@pytest.mark.parametrize("summary", [Gram, QRFactor])
def test_some_features_of_a_summary_are_those_of_the_rows(summary, features, intercept):
    rows = block()
    part = summary.of(rows).select(features, intercept).solve()
    alone = summary.of(Block(rows.X[:, features], rows.y)).select(None, intercept).solve()
    np.testing.assert_allclose(part.coef, alone.coef, rtol=1e-11)
    np.testing.assert_allclose(part.intercept, alone.intercept, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(part.rss, alone.rss, rtol=1e-10)
    assert part.rank == len(features)


@pytest.mark.parametrize("method", ["gram", "qr", "exact"])
@pytest.mark.parametrize("alpha", [0.25, 0.5, 2.0])
def test_a_penalised_intercept_is_a_column_of_ones(method, alpha):
    rows = block()
    m = ly.LinearRegression(alpha, penalize_intercept=True, method=method).fit(rows.X, rows.y)
    Z = np.column_stack([np.ones(len(rows.X)), rows.X])
    beta = np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T @ rows.y)
    np.testing.assert_allclose(np.r_[m.intercept_, m.coef_], beta, rtol=1e-9)


def test_double_double_whitens_to_more_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    X[:, 2] = X[:, 0] + 1e-5 * X[:, 2]
    A = X.T @ X
    plain, exact = whiten(A), whiten(DoubleDouble.of(A))
    assert plain.condition == pytest.approx(exact.condition, rel=1e-3)
    assert plain.condition > 1e4
    assert exact.digits == pytest.approx(-np.log10(np.finfo(float).eps), abs=0.1)
    assert plain.digits < 8 < exact.digits
    np.testing.assert_allclose(exact.root.T @ A @ exact.root, np.eye(3), atol=1e-5)


def test_gradient_descent_ends_where_its_path_does():
    X = np.random.default_rng(1).standard_normal((80, 3))
    m = ly.LinearRegression(method="gradient_descent").fit(X, X @ [1.0, -2.0, 0.5] + np.sin(np.arange(80)))
    np.testing.assert_array_equal(m.history_.coef[-1][:, 0], m.coef_)
    assert not np.array_equal(m.history_.coef[-2], m.history_.coef[-1])


def test_a_gram_in_float64_says_that_it_cannot_be_sure_of_a_rank():
    rows = block()
    X = np.column_stack([rows.X, rows.X[:, 0] + rows.X[:, 1]])
    with pytest.warns(np.exceptions.RankWarning, match=r"'x5': .*\(as far as method 'gram' can tell\)"):
        ly.LinearRegression(method="gram").fit(X, rows.y)
    with pytest.warns(np.exceptions.RankWarning, match=r"'x5': constant or a combination of the columns before\."):
        ly.LinearRegression(method="qr").fit(X, rows.y)


def test_empty_columns_of_sparse_rows_are_not_looked_at_one_by_one(monkeypatch):
    looked, column = [], gauge_module._column
    monkeypatch.setattr(gauge_module, "_column", lambda part, j: looked.append(j) or column(part, j))
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


def test_a_whole_gauge_looks_at_every_row():
    for row in range(6):
        X = np.ones((6, 1)) + np.arange(6)[:, None] % 2
        X[row] = 1e6
        unit = ColumnScaling.of(Block(X, None), None, whole=True, coarse=1).scale[0]
        assert unit >= 0.5e6


def test_a_gauge_of_numbers_whose_differences_overflow_lies_in_their_middle():
    X = np.array([[-0.95e308], [0.95e308], [-0.9e308], [-0.9e308]])
    scaling = ColumnScaling.of(Block(X, None), None, whole=True)
    assert scaling.shift[0] == pytest.approx(-0.45e308, rel=1e-12)
    assert np.isfinite(scaling.scale).all()
