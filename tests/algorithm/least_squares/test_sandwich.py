"""Robust and clustered covariances of least squares against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from logistic_oracles import (
    FEATURES,
    Cut,
    close,
    regression,
)

from linearly.algorithm.least_squares.clusters import clustered_meat, codes_of_block, group_codes
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.sandwich import robust_meat
from linearly.dataset.rows.block import Block, SingleBlockRows, as_rows


@pytest.mark.parametrize("form", FEATURES)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_meat_agrees_with_its_definition(kind, intercept, weighted, form):
    X, Y, weight = regression(weighted=weighted)
    w = np.ones(len(X)) if weight is None else weight
    block = Block(FEATURES[form](X), Y, weight)
    solution = Gram.of(Block(X, Y, weight)).select(None, intercept).solve()
    D = np.column_stack([np.ones(len(X)), X]) if intercept else X
    M = np.linalg.inv((D * w[:, None]).T @ D)
    R = Y - D @ M @ (D * w[:, None]).T @ Y
    leverage = w * np.einsum("ni,ij,nj->n", D, M, D)
    n, k = int((w > 0).sum()), D.shape[1]
    factor = {"HC0": 1.0, "HC1": n / (n - k), "HC2": 1 / (1 - leverage), "HC3": 1 / (1 - leverage) ** 2}[kind]
    meat, _, _ = robust_meat(SingleBlockRows(block), solution, kind)
    assert meat.shape == (2, k, k)
    for t in range(2):
        expected = M @ (D * (factor * (w * R[:, t]) ** 2)[:, None]).T @ D @ M
        close(
            solution.inverse_root @ meat[t] @ solution.inverse_root.T,
            expected,
            rtol=1e-7,
            atol=1e-9 * abs(expected).max(),
        )


@pytest.mark.parametrize("kind", ["HC2", "HC3"])
def test_robust_meat_with_a_row_of_leverage_one_is_that_without_the_row(kind):
    X = np.column_stack([np.arange(6.0), [0, 0, 0, 0, 0, 1.0]])
    y = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 9.0])
    rows, solution = SingleBlockRows(Block(X, y)), Gram.of(Block(X, y)).solve()
    meat, small_sample, _ = robust_meat(rows, solution, kind)
    covariance = solution.inverse_root @ meat[0] @ solution.inverse_root.T
    without = Gram.of(Block(X[:5, :1], y[:5])).solve()
    other, fewer, _ = robust_meat(SingleBlockRows(Block(X[:5, :1], y[:5])), without, kind)
    close(covariance[:2, :2], without.inverse_root @ other[0] @ without.inverse_root.T, rtol=1e-8)
    assert small_sample.unknown(solution.inverse_root).tolist() == [False, False, True]
    close(small_sample.term_dof[:2], fewer.term_dof, rtol=1e-8)
    close(small_sample.f_dof, fewer.f_dof, rtol=1e-8)


def test_robust_meat_without_degrees_of_freedom_is_nan():
    X, Y, _ = regression(n=4, weighted=False)
    rows, solution = SingleBlockRows(Block(X, Y)), Gram.of(Block(X, Y)).solve()
    assert solution.dof == 0
    assert np.isnan(robust_meat(rows, solution, "HC1")[0]).all()
    assert np.isnan(clustered_meat(rows, solution, [1, 1, 2, 2]).meat).all()
    X, Y, _ = regression(n=5, weighted=False)
    rows, solution = SingleBlockRows(Block(X, Y)), Gram.of(Block(X, Y)).solve()
    assert solution.dof == 1
    close(robust_meat(rows, solution, "HC1")[0], 5 * robust_meat(rows, solution, "HC0")[0])
    assert np.isfinite(clustered_meat(rows, solution, [1, 1, 2, 2, 2]).meat).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_clustered_meat_sums_scores_within_groups(weighted):
    X, Y, weight = regression(weighted=weighted)
    groups = np.array(list("abcdef"))[np.random.default_rng(0).integers(0, 5, 24)]
    groups[[3, 8]] = "f"  # where rows are weighted, a group without weight
    w = np.ones(24) if weight is None else weight
    solution = Gram.of(Block(X, Y, weight)).solve()
    U = solution.whitened_rows(X)
    R = Y - solution.predict(X)
    names = sorted(set(groups[w > 0]))
    n, k, G = int((w > 0).sum()), 4, len(names)
    assert (5 if weighted else 6) == G
    found = clustered_meat(Cut(X, Y, weight), solution, groups)
    said, clusters = found.meat, found.n_clusters
    assert clusters == G
    for t in range(2):
        sums = np.array([(U * (w * R[:, t])[:, None])[groups == g].sum(axis=0) for g in names])
        close(said[t], G / (G - 1) * (n - 1) / (n - k) * sums.T @ sums)
    with pytest.raises(ValueError, match="needs at least two"):
        clustered_meat(Cut(X, Y, weight), solution, np.zeros(24))
    two = (np.arange(24) < 12).astype(int)
    assert np.isfinite(clustered_meat(Cut(X, Y, weight), solution, two).meat).all()


def test_group_codes_refuse_missing_labels():
    rows = as_rows(np.ones((4, 1)))
    codes, many = group_codes(rows, ["b", "a", "b", "c"])
    assert (codes.tolist(), many) == ([1, 0, 1, 2], 3)
    assert group_codes(Cut(np.ones((9, 1)), np.ones(9)), [3, 1])[1] == 2  # rows that nobody has counted
    for groups, message in (
        (np.ones((4, 1)), "one label per row"),
        ([1, 2, 3], "3 labels for 4 rows"),
        ([1, None, 2, None], "no label in row 1"),
        ([1.0, 2.0, np.nan, 3.0], "no label in row 2"),
        ([1, "a", 2, "b"], r"different types \(int, str\)"),
    ):
        with pytest.raises(ValueError, match=message):
            group_codes(rows, groups)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="no label in row 3"):
        group_codes(rows, [1, 2, 1, pandas.NA])
    codes = np.array([4, 5, 6, 7, 8])
    X = np.ones((2, 1))
    assert codes_of_block(codes, Block(X, start=3)).tolist() == [7, 8]
    assert codes_of_block(codes, Block(X, start=1, kept=np.array([0, 3]))).tolist() == [5, 8]
    assert codes_of_block(codes, Block(X[:0], start=5)).tolist() == []
    with pytest.raises(ValueError, match="5 labels, fewer than there are rows"):
        codes_of_block(codes, Block(X, start=4))
