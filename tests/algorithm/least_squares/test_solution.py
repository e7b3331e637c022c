"""Solutions of every summary against the normal equations and against fractions."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from least_squares_oracles import (
    SUMMARIES,
    by_definition,
    check_solution,
    correlated_rows,
    even,
    exactly,
    fractions,
    positive_weight_rows,
    rows,
    solved,
)

import linearly as ly
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solution import centering_for
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.algorithm.least_squares.triangular import (
    EPS,
)
from linearly.dataset.rows.block import Block


def test_centering_for_intercept_and_penalty():
    assert [centering_for(i, c) for i in (True, False) for c in (True, False)] == [
        "constant",
        "centred",
        "plain",
        "plain",
    ]


PROBLEMS = {
    "centred": RidgeProblem(),
    "plain": RidgeProblem(intercept=False),
    "ridge": RidgeProblem(0.7),
    "plain ridge": RidgeProblem(0.7, intercept=False),
    "constant": RidgeProblem(0.7, penalize_intercept=True),
    "centred after all": RidgeProblem(0.0, penalize_intercept=True),
    "plain all the same": RidgeProblem(0.7, intercept=False, penalize_intercept=True),
}


@pytest.mark.parametrize("asked", PROBLEMS)
@pytest.mark.parametrize("name", SUMMARIES)
def test_solution_agrees_with_its_definition(name, asked):
    block, ask = even(rows()), PROBLEMS[asked]
    found = ask.solve(SUMMARIES[name](block))
    check_solution(found, *positive_weight_rows(block), ask)
    assert (found.rank, found.aliased, found.rank_is_certain) == (3, (), True)
    if not ask.alpha:
        np.testing.assert_array_equal(found.shrinkage, np.eye(len(found.shrinkage)))
        assert found.dof == found.n - 3 - ask.intercept


@pytest.mark.parametrize("name", SUMMARIES)
def test_solve_penalises_nothing_by_default_and_never_the_intercept(name):
    summary = SUMMARIES[name](even(rows()))
    assert (summary.solve().alpha, summary.solve().centering) == (0.0, "centred")
    assert summary.solve(0.7).centering == "centred"
    assert summary.solve(0.7, penalize_intercept=True).centering == "constant"
    assert summary.solve(penalize_intercept=True).centering == "centred"


@pytest.mark.parametrize("asked", PROBLEMS)
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("where", [0, 1, 3])
def test_solution_for_aliased_columns_has_the_smallest_norm(name, asked, where):
    block, ask = even(rows()), PROBLEMS[asked]
    X, Y, w = positive_weight_rows(block)
    X = np.insert(X, where, X[:, 0] - 2 * X[:, 2], axis=1)
    found = ask.solve(SUMMARIES[name](Block(X, Y, w)))
    check_solution(found, X, Y, w, ask, 1e-7)
    assert found.rank == (4 if ask.alpha else 3)
    assert found.aliased == (() if ask.alpha else (3,))
    assert found.rank_is_certain == (name != "gram" or ask.alpha > 0)


@pytest.mark.parametrize("asked", PROBLEMS)
@pytest.mark.parametrize("name", SUMMARIES)
def test_solution_for_a_constant_or_zero_column(name, asked):
    block, ask = even(rows()), PROBLEMS[asked]
    X, Y, w = positive_weight_rows(block)
    for value in (0.0, 5.0):
        Z = np.insert(X, 1, value, axis=1)
        found = ask.solve(SUMMARIES[name](Block(Z, Y, w)))
        idle = ask.alpha == 0 and (ask.intercept or value == 0)
        assert found.aliased == ((1,) if idle else ())
        if ask.intercept or value == 0:
            alone = by_definition(X, Y, w, ask)
            if value == 0 or not (ask.penalize_intercept and ask.alpha):
                np.testing.assert_allclose(np.delete(found.coef, 1, axis=0), alone["coef"], rtol=1e-7)
        if value == 0:
            np.testing.assert_allclose(found.coef[1], 0.0, atol=1e-12)
            np.testing.assert_allclose(found.rss, alone["rss"], rtol=1e-9)
        assert found.rank_is_certain or (name == "gram" and value != 0)


@pytest.mark.parametrize("asked", PROBLEMS)
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_solution_for_fewer_rows_than_columns_has_the_smallest_norm(name, asked, n):
    rng, ask = np.random.default_rng(n), PROBLEMS[asked]
    X, Y, w = rng.standard_normal((n, 9)), rng.standard_normal((n, 2)), rng.choice([1.0, 4.0], n)
    found = ask.solve(SUMMARIES[name](Block(X, Y, w)))
    first, root, mean = int(ask.intercept), np.sqrt(w)[:, None], w / w.sum() * ask.intercept
    D = root * np.column_stack([np.ones(n), X])[:, 1 - first :]
    if ask.alpha:
        wanted = by_definition(X, Y, w, ask)
        np.testing.assert_allclose(found.rss, wanted["rss"], rtol=1e-9, atol=1e-20)
        covariance = found.inverse_root @ found.shrinkage @ found.inverse_root.T
        np.testing.assert_allclose(covariance, wanted["covariance"], atol=1e-10)
        coef, spent = wanted["coef"], D @ wanted["covariance"] @ D.T
        assert found.rank == 9
        assert found.dof == pytest.approx(wanted["dof"], abs=1e-10)
    else:
        coef = (
            np.linalg.pinv(root * (X - mean @ X), rcond=1e-10) @ (root * (Y - mean @ Y)) if n > first else 0 * X.T @ Y
        )
        spent = np.eye(n)
        np.testing.assert_allclose(found.rss, 0.0, atol=1e-13 if name == "gram" else 1e-20)
        assert np.isnan(found.sigma2).all()
        assert (found.rank, found.dof) == (n - first, 0.0)
    np.testing.assert_allclose(found.coef, coef, atol=1e-10)
    if not ask.penalize_intercept or not ask.alpha:
        np.testing.assert_allclose(found.intercept, mean @ Y - mean @ X @ coef, atol=1e-10)
    u = root * found.whitened_rows(X)
    np.testing.assert_allclose(u @ found.shrinkage @ u.T, spent, atol=1e-10)


@pytest.mark.parametrize("asked", ["centred", "plain", "ridge", "plain ridge"])
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("n", [3, 30])
def test_solution_does_not_depend_on_units(name, asked, n):
    block, ask = even(rows()), PROBLEMS[asked]
    X, Y, w = (part[:n] for part in positive_weight_rows(block))
    X = np.column_stack([X, X[:, 0] + 1e-3 * X[:, 1] ** 2, X[:, 0] * X[:, 1]])
    a = ask.solve(SUMMARIES[name](Block(X, Y, w)))
    powers = np.full(5, 37) if ask.alpha else np.array([0, 70, -50, 7, 13]) if n > 9 else np.full(5, -9)
    moved = replace(ask, alpha=ask.alpha * 4.0 ** int(powers[0]))
    unit, y_unit = 2.0**powers, 2.0 ** np.array([-40, 55])
    b = moved.solve(SUMMARIES[name](Block(X * unit, Y * y_unit, w)))
    np.testing.assert_array_equal(b.coef, a.coef / unit[:, None] * y_unit)
    np.testing.assert_array_equal(b.intercept, a.intercept * y_unit)
    np.testing.assert_array_equal(b.rss, a.rss * y_unit**2)
    np.testing.assert_array_equal(b.tss, a.tss * y_unit**2)
    np.testing.assert_array_equal(b.shrinkage, a.shrinkage)
    assert (a.condition, a.digits, a.digits_of_relevant_coefs, a.dof) == (
        b.condition,
        b.digits,
        b.digits_of_relevant_coefs,
        b.dof,
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-4, 1e-6])
def test_digits_are_correct_and_not_too_cautious(name, near, intercept):
    rng = np.random.default_rng(0)
    X = rng.integers(-99, 99, (20, 3)) / 64 + [0.0, 8.0, 0.0]
    X[:, 2] = X[:, 0] + near * X[:, 2]
    Y = X[:, :2] @ rng.integers(-9, 9, (2, 2)) + rng.standard_normal((20, 2))
    w = rng.integers(1, 4, 20) * 0.5
    found = SUMMARIES[name](Block(X, Y, w)).select(None, intercept).solve()
    b, rss = exactly(X, Y, w, intercept)
    got = np.vstack([found.intercept[None], found.coef])[1 - intercept :]
    wrong = max(float(abs(t - s) / abs(s)) for t, s in zip(fractions(got).ravel(), b.ravel(), strict=True))
    wrong_rss = max(float(abs(t - s) / s) for t, s in zip(fractions(found.rss), rss, strict=True))
    assert max(wrong, wrong_rss) <= 10.0**-found.digits
    usual = EPS * (1 / near if name == "qr" else near**-2 if name == "gram" else EPS / near**2)
    assert found.digits >= min(-math.log10(usual) - 3.7, 15.6 if name == "extended" else 16)
    assert found.digits_of_relevant_coefs >= found.digits
    assert found.condition == pytest.approx(1 / near, rel=30)
    assert found.condition > 1 / near / 9


def test_tiny_coefficient_lowers_digits_but_not_those_of_relevant_coefs():
    rng = np.random.default_rng(0)
    X, e = rng.standard_normal((50, 2)), rng.standard_normal(50)
    D = np.column_stack([np.ones(50), X])
    y = 5 * X[:, 0] + 1e-9 * X[:, 1] + 0.1 * (e - D @ np.linalg.lstsq(D, e, rcond=None)[0])
    for of in (Gram.of, QRFactor.of):
        found = of(Block(X, y)).solve()
        assert found.digits < 8
        assert found.digits_of_relevant_coefs > 10


def test_predict_keeps_the_digits_of_columns_far_from_zero():
    X = 1e9 + np.arange(8.0)[:, None] / 3
    y = np.sin(np.arange(8.0))
    found = Gram.of(Block(X, y), extended=True).solve()
    b, _ = exactly(X - 1e9, y[:, None], np.ones(8))
    wanted = np.array([float(b[0, 0] + b[1, 0] * Fraction(x - 1e9)) for x in X[:, 0]])
    np.testing.assert_allclose(found.predict(X)[:, 0], wanted, atol=1e-14)
    u = found.whitened_rows(X)
    about = X[:, 0] - 1e9 - float(np.mean(X[:, 0] - 1e9))
    np.testing.assert_allclose((u**2).sum(axis=1), 1 / 8 + about**2 / (about**2).sum(), rtol=1e-13)


def test_extended_covariance_keeps_the_digits_of_near_columns_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.integers(-99, 99, (21, 2)) / 64 + [2.0**20, 1.0]
    X[:, 1] = X[:, 0] + X[:, 1] * 2.0**-20
    D = fractions(np.column_stack([np.ones(21), X]))
    wanted = solved(D.T @ D, fractions(np.eye(3))).astype(float)
    found = Gram.of(Block(X, X[:, 0] ** 2), extended=True).solve()
    np.testing.assert_allclose(found.inverse_root @ found.inverse_root.T, wanted, rtol=1e-12)


@pytest.mark.parametrize("method", ["gram", "qr", "extended"])
@pytest.mark.parametrize("alpha", [0.25, 0.5, 2.0])
def test_penalised_intercept_equals_a_column_of_ones(method, alpha):
    rows = correlated_rows()
    m = ly.LinearRegression(alpha, penalize_intercept=True, method=method).fit(rows.X, rows.y)
    Z = np.column_stack([np.ones(len(rows.X)), rows.X])
    beta = np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T @ rows.y)
    np.testing.assert_allclose(np.r_[m.intercept_, m.coef_], beta, rtol=1e-9)
