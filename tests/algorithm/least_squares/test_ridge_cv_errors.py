"""Errors of folds and of single rows, and ridge for many penalties, against separate fits."""

from __future__ import annotations

import numpy as np
import pytest
from logistic_oracles import (
    FEATURES,
    Cut,
    close,
    regression,
)

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.ridge_cv import (
    FoldSummaries,
    RidgePath,
    fold_errors,
    largest_unit,
    leave_one_out_errors,
    means,
    user_units,
)
from linearly.dataset.rows.block import Block, SingleBlockRows
from linearly.dataset.rows.row_hash import hash_rows


def ridge_by_hand(X, Y, w, alpha, intercept):
    """Coefficients and intercept; of smallest norm where the rows do not say."""
    if intercept:
        mean, middle = w @ X / w.sum(), w @ Y / w.sum()
    else:
        mean, middle = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    Z, T = np.sqrt(w)[:, None] * (X - mean), np.sqrt(w)[:, None] * (Y - middle)
    coef = np.linalg.pinv(Z, rcond=1e-9) @ T
    if alpha:
        coef = np.linalg.solve(Z.T @ Z + alpha * np.eye(X.shape[1]), Z.T @ T)
    return coef, middle - mean @ coef


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_fold_errors_are_those_of_the_models_of_the_other_folds(weighted, intercept):
    X, Y, weight = regression(n=31, weighted=weighted)
    w = np.ones(31) if weight is None else weight
    alphas = np.array([0.0, 0.5, 40.0])
    given = np.random.default_rng(0).integers(0, 4, 31)
    rows = Cut(X, Y, weight, 10)
    for fold_of_row, folds in (
        (hash_rows(X, Y) % 4, rows.reduce(lambda block: FoldSummaries.of(block, 4))),
        (given, rows.reduce(lambda block: FoldSummaries.from_assignment(block, given, 4))),
    ):
        expected = np.empty((3, 4, 2))
        for a, alpha in enumerate(alphas):
            for j in range(4):
                mine = fold_of_row == j
                coef, constant = ridge_by_hand(X[~mine], Y[~mine], w[~mine], alpha, intercept)
                expected[a, j] = w[mine] @ (Y[mine] - X[mine] @ coef - constant) ** 2 / w[mine].sum()
        close(fold_errors(folds, alphas, intercept), expected, rtol=1e-6)
        assert [part.n for part in folds.parts] == [int((w[fold_of_row == j] > 0).sum()) for j in range(4)]
        assert folds.total().n == (w > 0).sum()
        assert folds.training_summary(1).n == (w[fold_of_row != 1] > 0).sum()
        close(float(folds.training_summary(3).weight), w[fold_of_row != 3].sum())
        more = folds + folds
        assert [part.n for part in more.parts] == [2 * part.n for part in folds.parts]
        assert [part.n for part in (more - folds).parts] == [part.n for part in folds.parts]


def test_fold_summaries_name_the_row_of_a_bad_number():
    X, Y, _ = regression()
    X[13, 1] = np.inf
    with pytest.raises(ValueError, match="infinity: row 113, column 1"):
        FoldSummaries.of(Block(X, Y, start=100), 3)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("form", FEATURES)
@pytest.mark.parametrize("n", [31, 5, 4, 3])
def test_leave_one_out_errors_are_those_of_n_fits(n, form, weighted, intercept):
    if weighted and n == 31:
        X, Y, weight = regression(n=31)
    else:
        X, Y, _ = regression(n=n, weighted=False)
        weight = np.random.default_rng(5).uniform(0.5, 2.0, n) if weighted else None
        if weighted:  # rows of weight 0 are not there
            X, Y = np.insert(X, 1, 1e3, axis=0), np.insert(Y, 1, -1e3, axis=0)
            weight = np.insert(weight, 1, 0.0)
    w = np.ones(len(X)) if weight is None else weight
    alphas = np.array([0.3, 5.0, 1e4])
    expected = np.zeros((3, 2))
    for a, alpha in enumerate(alphas):
        for i in np.flatnonzero(w > 0):
            rest = (np.arange(len(X)) != i) & (w > 0)
            coef, constant = ridge_by_hand(X[rest], Y[rest], w[rest], alpha, intercept)
            expected[a] += w[i] * (Y[i] - X[i] @ coef - constant) ** 2 / w.sum()
    gram = Gram.of(Block(X, Y, weight))
    said = leave_one_out_errors(SingleBlockRows(Block(FEATURES[form](X), Y, weight)), gram, alphas, intercept)
    close(said, expected, rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_out_error_of_a_row_with_leverage_one_uses_the_smallest_norm(weighted, intercept):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((12, 2)), np.zeros((12, 2))])
    X[7, 2], X[3, 3] = 20.0, -30.0
    Y = rng.standard_normal((12, 2)) + 3
    weight = rng.uniform(0.5, 2.0, 12) if weighted else None
    w = np.ones(12) if weight is None else weight
    alphas = np.array([0.0, 1e-3])
    expected = np.zeros((2, 2))
    for a, alpha in enumerate(alphas):
        for i in range(12):
            rest = np.arange(12) != i
            coef, constant = ridge_by_hand(X[rest], Y[rest], w[rest], alpha, intercept)
            expected[a] += w[i] * (Y[i] - X[i] @ coef - constant) ** 2 / w.sum()
    said = leave_one_out_errors(SingleBlockRows(Block(X, Y, weight)), Gram.of(Block(X, Y, weight)), alphas, intercept)
    close(said, expected, rtol=1e-6)


def test_ridge_path_is_ridge_in_the_users_units():
    X, Y, weight = regression()
    X = X * [1.0, 2.0**70, 2.0**-70]
    gram = Gram.of(Block(X, Y, weight))
    close(largest_unit(gram), gram.scaling.scale[:3].max())
    alphas = np.array([0.0, 0.5, 40.0])
    small = Gram.of(Block(X[:, :1], Y, weight))
    for intercept in (True, False):
        for unit in (None, 8.0):
            path = RidgePath.of(small, intercept, unit)
            B = path.coefficients(alphas)
            assert B.shape == (1, 3, 2)
            for a, alpha in enumerate(alphas):
                coef, constant = ridge_by_hand(X[:, :1], Y, weight, alpha, intercept)
                close(B[:, a], coef)
                close(path.y_mean - path.mean @ B[:, a], constant)
            assert path.weight == pytest.approx(weight.sum())


def test_shrinkage_factors_of_directions_without_variation_are_zero():
    X, Y, _ = regression(weighted=False)
    X[:, 2] = X[:, 0] + X[:, 1]
    path = RidgePath.of(Gram.of(Block(X, Y)), True)
    shrunk = path.shrinkage_factors(np.array([0.0, 2.0]))
    assert (shrunk[0] == 0).sum() == 1
    assert (shrunk[1] > 0).all()
    close(shrunk[1], 1 / (path.values + 2.0 / path.unit**2), rtol=1e-6)
    coef, _ = ridge_by_hand(X, Y, np.ones(24), 0.0, True)
    close(path.coefficients(np.zeros(1))[:, 0], coef, rtol=1e-6)
    nothing = RidgePath.of(Gram.of(Block(np.ones((4, 2)), np.arange(4.0))), True)
    assert not nothing.shrinkage_factors(np.zeros(1)).any()


@pytest.mark.parametrize("unit", [1.0, 4.0])
def test_user_units_are_cross_products_in_the_users_units(unit):
    X, Y, w = regression()
    gram = Gram.of(Block(X, Y, w))
    mean, y_mean = means(gram)
    close(mean, w @ X / w.sum())
    close(y_mean, w @ Y / w.sum())
    for intercept in (True, False):
        Z, T = (X - mean, Y - y_mean) if intercept else (X, Y)
        S, C, squares = user_units(gram, intercept, unit)
        close(S, (Z * w[:, None]).T @ Z / unit**2, rtol=1e-8)
        close(C, (Z * w[:, None]).T @ T / unit, rtol=1e-8)
        close(squares, w @ T**2, rtol=1e-8)
