"""Gradient descent on least squares against the objective and the solution."""

from __future__ import annotations

import numpy as np
import pytest
from logistic_oracles import (
    close,
)
from sklearn.exceptions import ConvergenceWarning

import linearly as ly
from linearly.algorithm.least_squares.gradient_descent import gradient_descent as least_squares_descent
from linearly.algorithm.least_squares.gram import Gram
from linearly.dataset.rows.block import Block


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.5])
@pytest.mark.parametrize("form", ["centred", "plain", "constant"])
def test_gradient_descent_lowers_the_objective_to_its_minimum(form, alpha, weighted):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30, 3)) * [1.0, 20.0, 0.3] + [1.0, 5.0, 0.2], rng.uniform(0.5, 2, 30)
    Y = np.column_stack([X @ [1.0, 0.1, -3.0] + rng.standard_normal(30) + 4, rng.standard_normal(30)])
    if form == "constant" and alpha == 0:
        alpha = 1.0  # the constant is a column of its own only where it is penalised
    w = w if weighted else np.ones(30)
    gram = Gram.of(Block(X, Y, w if weighted else None)).select(None, form != "plain")
    solution = gram.solve(alpha, penalize_intercept=form == "constant")
    assert solution.centering == form
    Z, T = X, Y
    if form == "centred":
        Z, T = X - w @ X / w.sum(), Y - w @ Y / w.sum()
    if form == "constant":
        Z = np.column_stack([np.ones(30), X])
    A = (Z * w[:, None]).T @ Z
    size = np.sqrt(np.diagonal(A))
    steepest = np.linalg.eigvalsh((A + alpha * np.eye(len(A))) / size / size[:, None])[-1]
    moved, path = least_squares_descent(gram, solution)
    close(path.step, 1 / steepest)
    assert len(path) == len(path.step) == len(path.gradient_norm) == len(path.coef)
    assert not path.coef[0].any()
    for k in (0, 1, 5, len(path) - 1):
        beta = path.coef[k]
        R = T - Z @ beta
        close(path.loss[k], 0.5 * (w @ R**2).sum() + 0.5 * alpha * (beta**2).sum())
        gradient = ((Z * w[:, None]).T @ R - alpha * beta) / size[:, None]
        if k < 5:
            close(path.coef[k + 1], beta + gradient / size[:, None] / steepest, atol=1e-9)
    ratio = path.gradient_norm / path.gradient_norm[0]
    assert ratio[-1] <= 1e-9 < ratio[-2]
    coef = np.linalg.solve(A + alpha * np.eye(len(A)), (Z * w[:, None]).T @ T)
    close(path.coef[-1], coef, rtol=1e-6, atol=1e-8)
    # Few steps: far from the minimum, so that what is said there is not what is said at the minimum.
    with pytest.warns(ConvergenceWarning, match="stopped after 3 steps"):
        early, short = least_squares_descent(gram, solution, steps=3)
    close(short.coef, path.coef[:3])
    for at, beta in ((early, short.coef[-1]), (moved, path.coef[-1])):
        close(at.coef, beta[1:] if form == "constant" else beta)
        R = Y - X @ at.coef - at.intercept
        close(at.rss, w @ R**2, rtol=1e-7)
        close(at.predict(X), X @ at.coef + at.intercept)
        close(at.extended[0].to_float64(), at.coef)
        close(at.extended[1].to_float64(), at.intercept)
        if form == "centred":
            close(w @ R, 0.0, atol=1e-8)
    with pytest.warns(ConvergenceWarning):
        close(least_squares_descent(gram, solution, step=0.01, steps=3)[1].step, 0.01)


def test_gradient_descent_of_zero_columns_stays_at_zero():
    X = np.column_stack([np.arange(5.0), np.full(5, 3.0)])
    gram = Gram.of(Block(X, 2 * X[:, 0] + 1))
    moved, path = least_squares_descent(gram, gram.solve())
    close(moved.coef[:, 0], [2.0, 0.0], rtol=1e-7)
    flat = Gram.of(Block(X[:, 1:], np.arange(5.0)))
    moved, path = least_squares_descent(flat, flat.solve())
    assert len(path) == 1
    assert not moved.coef.any()
    close(moved.intercept, 2.0)


def test_diverging_gradient_descent_ends_with_finite_numbers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    gram = Gram.of(Block(X, X[:, 0] + rng.standard_normal(20)))
    with np.errstate(all="ignore"):
        _, path = least_squares_descent(gram, gram.solve(), step=1e60)
    assert not np.isfinite(path.gradient_norm[-1])
    assert np.isfinite(path.gradient_norm[:-1]).all()


def test_gradient_descent_ends_at_the_last_point_of_its_history():
    X = np.random.default_rng(1).standard_normal((80, 3))
    m = ly.LinearRegression(method="gradient_descent").fit(X, X @ [1.0, -2.0, 0.5] + np.sin(np.arange(80)))
    np.testing.assert_array_equal(m.history_.coef[-1][:, 0], m.coef_)
    assert not np.array_equal(m.history_.coef[-2], m.history_.coef[-1])
