"""Firth's bias reduction against the penalised likelihood."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from logistic_oracles import (
    Cut,
    a_solver,
    by_definition,
    close,
)

import linearly as ly
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.whitening import whiten
from linearly.algorithm.logistic.firth import _jeffreys, firth


def slope_of(f, x, h=1e-5):
    """The gradient of f at x by central differences, in the shape of x."""
    slope = np.empty(x.shape)
    for at in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[at] = h
        slope[at] = (f(x + step) - f(x - step)) / (2 * h)
    return slope


def information(Z, w, B):
    y = np.zeros(len(Z), dtype=int)
    return by_definition(Z, y, w, B, B.shape[1] + 1, 0).hessian


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_jeffreys_gradient_is_that_of_half_the_log_determinant(K, intercept, weighted):
    search, rows, Z, _, w = a_solver(K, intercept=intercept, weighted=weighted)
    B = 0.5 * np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
    root = whiten(information(Z, w, B)).root
    said = rows.reduce(partial(_jeffreys, objective=search.objective, B=B, root=root))
    slope = slope_of(lambda B: 0.5 * np.linalg.slogdet(information(Z, w, B))[1], B)
    close(said, slope.T.reshape(-1), rtol=1e-6, atol=1e-7)


def penalised_loss(Z, y, w, B):
    K = B.shape[1] + 1
    return by_definition(Z, y, w, B, K, 0).loss - 0.5 * np.linalg.slogdet(information(Z, w, B))[1]


@pytest.mark.parametrize("K", [2, 3])
def test_firth_maximises_the_penalised_likelihood(K):
    search, rows, Z, y, w = a_solver(K)
    found = firth(rows, search.objective, search._evaluator(rows), np.full((4, K - 1), 0.2))
    assert found.converged
    close(slope_of(partial(penalised_loss, Z, y, w), found.B), 0.0, atol=1e-5)
    for loss, norm, B in list(zip(found.history.loss, found.history.gradient_norm, found.history.coef, strict=True))[
        :3
    ]:
        close(loss, penalised_loss(Z, y, w, B))
        close(norm, np.linalg.norm(slope_of(partial(penalised_loss, Z, y, w), B)), rtol=1e-5, atol=1e-5)
    assert all(b <= a + 1e-9 for a, b in zip(found.history.loss, found.history.loss[1:], strict=False))
    assert found.history.step[-1] == 1.0
    close(found.history.coef[-1], found.B, rtol=1e-7)
    np.testing.assert_array_equal(found.last.gradient, search._evaluator(rows)(found.history.coef[-1], True).gradient)
    for length, before, after in zip(found.history.step, found.history.coef, found.history.coef[1:], strict=False):
        assert np.log2(length) == round(np.log2(length))
        assert np.abs(after - before).max() > 0
    over = search.solve(rows, "auto", bias_reduction="firth")
    close(over.B, found.B, rtol=1e-6)


def test_firth_halves_a_step_that_lowers_the_likelihood():
    search, rows, Z, y, w = a_solver(2)
    found = firth(rows, search.objective, search._evaluator(rows), np.array([[4.0], [-4.0], [4.0], [-4.0]]))
    assert found.converged
    assert min(found.history.step) < 1
    assert all(np.log2(length) == round(np.log2(length)) for length in found.history.step)
    for k, length in enumerate(found.history.step[:-1]):
        step = (found.history.coef[k + 1] - found.history.coef[k]) / length
        tried = [
            penalised_loss(Z, y, w, found.history.coef[k] + 0.5**j * step) for j in range(int(-np.log2(length)) + 1)
        ]
        assert all(value > found.history.loss[k] for value in tried[:-1])
        assert tried[-1] <= found.history.loss[k] + 1e-9


def test_firth_does_not_move_an_aliased_column():
    search, rows, *_ = a_solver(2)
    wide = Cut(np.column_stack([rows.X, rows.X[:, 0] + rows.X[:, 1]]), rows.y, rows.weight, 25)
    scaling = ColumnScaling(np.r_[search.objective.scaling.shift, 0.0], np.r_[search.objective.scaling.scale, 1.0])
    more = replace(search, objective=replace(search.objective, scaling=scaling))
    found = firth(wide, more.objective, more._evaluator(wide), np.zeros((5, 1)))
    (left_out,) = found.aliased
    assert found.B[left_out] == 0
    assert found.converged
    alone = firth(rows, search.objective, search._evaluator(rows), np.zeros((4, 1)))
    close(found.history.loss[-1] - alone.history.loss[-1], found.history.loss[0] - alone.history.loss[0], rtol=1e-6)


@pytest.mark.parametrize("closeness", [1e3, 3e3, 1e4])
def test_firth_of_nearly_collinear_columns_takes_as_many_passes_as_of_others(closeness):
    # Rounding errors of log |I| grow as the square of the condition number, so the loss cannot show the last steps.
    rng = np.random.default_rng(0)
    for _ in range(4):
        Z = rng.normal(size=(80, 2))
        X = np.column_stack([Z[:, 0], Z[:, 0] + Z[:, 1] / closeness])
        y = Z[:, 0] + rng.logistic(size=80) > 0
        model, apart = (ly.LogisticRegression(bias_reduction="firth").fit(columns, y) for columns in (X, Z))
        assert model.converged_
        assert model.n_passes_ <= apart.n_passes_ + 5
        slope = apart.coef_[0, 1] * closeness
        np.testing.assert_allclose(model.coef_[0], [apart.coef_[0, 0] - slope, slope], rtol=1e-7)
