"""The choice of optimizer, start and preconditioner, and the maximum that each reaches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from logistic_oracles import (
    CASES,
    Cut,
    a_solver,
    by_definition,
    close,
    inverse_of,
    logistic_rows,
)
from scipy.optimize import minimize
from scipy.sparse import csr_array

import linearly as ly
from linearly.algorithm.logistic import solver as solver_module
from linearly.algorithm.logistic.objective import Logistic
from linearly.algorithm.logistic.optimizers import (
    History,
    OptimizeResult,
    class_preconditioner,
    newton,
    newton_polish,
)
from linearly.dataset.rows.block import as_rows


def penalties(search, intercept):
    """alpha β² / 2 is alpha / unit² b² / 2 for b = β · unit."""
    return search.alpha / np.r_[[np.inf] * intercept, search.objective.scaling.scale] ** 2


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_evaluator_adds_the_penalty_to_the_loss(K, intercept, alpha, share):
    search, rows, Z, y, w = a_solver(K, alpha=alpha, intercept=intercept)
    B = np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
    said = search._evaluator(rows, share)(B, True)
    plain = by_definition(Z, y, w, B, K, 0)
    ridge = share * penalties(search, intercept)
    close(search._ridge(), ridge / share)
    close(said.loss, plain.loss + 0.5 * (ridge[:, None] * B**2).sum())
    close(said.gradient, plain.gradient + ridge[:, None] * B)
    close(said.hessian, plain.hessian + np.diag(np.tile(ridge, K - 1)))
    assert (said.mistakes, said.largest) == (plain.mistakes, pytest.approx(plain.largest))
    bare = search._evaluator(rows, share)(B, False)
    assert bare.hessian is None
    close(bare.gradient, said.gradient)


def test_evaluator_names_the_row_of_a_nonfinite_loss():
    search, rows, *_ = a_solver(2)
    rows.X[31, 2] = np.nan
    with pytest.raises(ValueError, match="NaN: row 31, column 2"):
        search._evaluator(rows)(np.ones((4, 1)), True)
    search, rows, *_ = a_solver(2)
    with pytest.raises(ValueError, match="logits exceed the float64 range"):
        search._evaluator(rows)(np.full((4, 1), 1e308), True)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_cross_products_are_those_of_the_scaled_design(intercept, weighted, sparse):
    search, rows, Z, _, w = a_solver(2, intercept=intercept, weighted=weighted, sparse=sparse)
    close(search._cross_products(rows), (Z * w[:, None]).T @ Z, atol=1e-9)
    close(rows.reduce(search._squares), w @ Z**2)


@pytest.mark.parametrize(("K", "reference"), CASES)
def test_initial_preconditioner_is_the_inverse_at_the_class_shares(K, reference, monkeypatch):
    search, rows, Z, y, w = a_solver(K, reference=reference)
    share = search.class_weights / search.class_weights.sum()
    B = np.zeros((4, K - 1))
    B[0] = np.log(np.delete(share, reference) / share[reference])
    H = by_definition(Z, y, w, B, K, reference).hessian
    g = np.random.default_rng(2).standard_normal(B.shape)
    close(search._initial_preconditioner(search._products(rows))(g), inverse_of(H, 4, K - 1)(g), rtol=1e-7)
    monkeypatch.setattr(solver_module, "GRAM_SIZE", 3)
    diagonal = H * np.kron(np.ones((K - 1, K - 1)), np.eye(4))
    close(search._initial_preconditioner(search._products(rows))(g), inverse_of(diagonal, 4, K - 1)(g), rtol=1e-7)
    monkeypatch.setattr(solver_module, "GRAM_SIZE", 4)
    close(search._initial_preconditioner(search._products(rows))(g), inverse_of(H, 4, K - 1)(g), rtol=1e-7)


def test_preconditioners_include_the_penalty(monkeypatch):
    search, rows, Z, y, w = a_solver(2, alpha=3.0)
    g = np.random.default_rng(2).standard_normal((4, 1))
    ridge = np.diag(penalties(search, True))
    share = search.class_weights / search.class_weights.sum()
    B = np.zeros((4, 1))
    B[0] = np.log(share[1] / share[0])
    H = by_definition(Z, y, w, B, 2, 0).hessian + ridge
    close(search._initial_preconditioner(search._products(rows))(g), np.linalg.solve(H, g), rtol=1e-7)
    B = np.random.default_rng(1).standard_normal((4, 1))
    H = by_definition(Z, y, w, B, 2, 0).hessian + ridge
    monkeypatch.setattr(solver_module, "_MAX_CURVATURE_CELLS", 2 * 4 * 4)
    close(search._preconditioner_at(rows, B)(g), np.linalg.solve(H, g), rtol=1e-7)
    monkeypatch.setattr(solver_module, "_MAX_CURVATURE_CELLS", 2 * 4 * 4 - 1)
    close(search._preconditioner_at(rows, B)(g), g / np.diagonal(H)[:, None], rtol=1e-7)


def maximum(search, Z, y, w, reference=0):
    K, ridge = search.objective.K, penalties(search, search.objective.intercept)[:, None]

    def f(b):
        B = b.reshape(Z.shape[1], K - 1)
        at = by_definition(Z, y, w, B, K, reference)
        return at.loss + 0.5 * (ridge * B**2).sum(), (at.gradient + ridge * B).ravel()

    found = minimize(f, np.zeros(Z.shape[1] * (K - 1)), jac=True, method="BFGS", options={"gtol": 1e-9})
    return found.x.reshape(Z.shape[1], K - 1)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("K", [2, 3])
def test_every_solver_reaches_the_maximum(K, alpha, monkeypatch):
    search, rows, Z, y, w = a_solver(K, alpha=alpha)
    best = maximum(search, Z, y, w)
    for solver, hessian, rtol in (
        ("auto", True, 1e-6),
        ("newton", True, 1e-6),
        ("lbfgs", False, 1e-4),
        ("gradient_descent", False, 1e-4),
    ):
        found = search.solve(rows, solver)
        assert found.converged
        assert (found.last.hessian is not None) == hessian
        close(found.B, best, rtol=rtol, atol=rtol)
    steepest = np.linalg.eigvalsh((Z * w[:, None]).T @ Z)[-1] / (4 if K == 2 else 2) + penalties(search, True).max()
    close(search.solve(rows, "gradient_descent").history.step[0], 1 / steepest)
    monkeypatch.setattr(solver_module, "GRAM_SIZE", 3)
    with pytest.raises(ValueError, match="at most 3 columns"):
        search.solve(rows, "gradient_descent")
    # By gradients, and one Hessian where that is cheap.
    size = 4 * (K - 1)
    monkeypatch.setattr(solver_module, "_MAX_NEWTON_SIZE", size - 1)
    cost = (w.sum() + size) * size**2
    for cheap in (cost * (1 + 1e-9), cost * (1 - 1e-9)):
        monkeypatch.setattr(solver_module, "_MAX_HESSIAN_FLOPS", cheap)
        found = search.solve(rows, "auto")
        assert (found.last.hessian is not None) == (cheap > cost)
        close(found.B, best, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(solver_module, "_MAX_NEWTON_SIZE", size)
    assert search.solve(rows, "auto").last.hessian is not None


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_preconditioner_is_refreshed_until_the_search_ends(alpha, monkeypatch):
    search, rows, Z, y, w = a_solver(3, alpha=alpha)
    monkeypatch.setattr(solver_module, "_REFRESH_EVERY", 2)
    found = search.solve(rows, "lbfgs")
    assert found.converged
    assert len(found.history) > 2
    close(found.B, maximum(search, Z, y, w), rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(solver_module, "_MAX_PASSES", 3)
    stopped = search.solve(rows, "lbfgs")
    assert (stopped.converged, len(stopped.history)) == (False, 3)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_warm_start_from_a_subsample_reaches_the_maximum_of_all_rows(alpha, monkeypatch):
    search, rows, Z, y, w = a_solver(2, alpha=alpha, n=400)
    few = as_rows(rows.X, y, rows.weight)
    monkeypatch.setattr(solver_module, "_MIN_SUBSAMPLED_ROWS", 400)
    monkeypatch.setattr(solver_module, "_WARM_START_STRIDE", 4)
    found = search.solve(few, "newton", subsample_source=few)
    assert found.converged
    assert found.history.coef[0].any()  # not from zero
    close(found.B, maximum(search, Z, y, w), rtol=1e-6, atol=1e-6)
    thin, step = solver_module._subsample(few, 4, 4)
    guess = newton(search._evaluator(thin, 1 / step), np.zeros((4, 1)), step_tol=solver_module._WARM_START_TOL)
    close(found.history.coef[0], guess.B)
    ridge = penalties(search, True)[:, None] / step
    some = by_definition(Z[::step], y[::step], w[::step], guess.B, 2, 0)
    assert np.abs(some.gradient + ridge * guess.B).max() < 0.05


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize(("K", "reference"), [(2, 0), (3, 1)])
def test_subsample_gives_a_better_preconditioner(K, reference, alpha, monkeypatch):
    search, rows, Z, y, w = a_solver(K, alpha=alpha, n=400, reference=reference)
    few = as_rows(rows.X, y, rows.weight)
    products = search._products(few)
    B = np.random.default_rng(1).standard_normal((4, K - 1))
    assert search._preconditioner_from_subsample(few, products, B) is None  # 400 are not many
    monkeypatch.setattr(solver_module, "_MIN_SUBSAMPLED_ROWS", 400)
    monkeypatch.setattr(solver_module, "_PRECOND_STRIDE", 4)
    assert search._preconditioner_from_subsample(None, products, B) is None  # not in memory
    assert search._preconditioner_from_subsample(few, np.diagonal(products), B) is None
    logits = np.insert(Z @ B, reference, 0.0, axis=1)
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    share = search.class_weights / search.class_weights.sum()
    some, ridge = slice(None, None, 4), np.diag(penalties(search, True))
    curvatures = [
        0.9 * 4 * (Z[some] * (w * P[:, k] * (1 - P[:, k]))[some, None]).T @ Z[some]
        + 0.1 * share[k] * (1 - share[k]) * (Z * w[:, None]).T @ Z
        + ridge
        for k in range(K)
    ]
    g = np.random.default_rng(2).standard_normal(B.shape)
    expected = class_preconditioner(np.array(curvatures), search.objective.columns(), reference)(g)
    close(search._preconditioner_from_subsample(few, products, B)(g), expected, rtol=1e-7)
    monkeypatch.setattr(solver_module, "_MAX_CURVATURE_CELLS", K * 16)
    close(search._preconditioner_from_subsample(few, products, B)(g), expected, rtol=1e-7)
    monkeypatch.setattr(solver_module, "_MAX_CURVATURE_CELLS", K * 16 - 1)
    assert search._preconditioner_from_subsample(few, products, B) is None
    monkeypatch.undo()
    plain = search.solve(few, "lbfgs", subsample_source=few)
    monkeypatch.setattr(solver_module, "_MIN_SUBSAMPLED_ROWS", 400)
    monkeypatch.setattr(solver_module, "_PRECOND_STRIDE", 4)
    found = search.solve(few, "lbfgs", subsample_source=few)
    assert found.converged
    assert len(found.history) <= len(plain.history)
    np.testing.assert_array_equal(
        found.history.coef[solver_module._FIRST_REFRESH], plain.history.coef[solver_module._FIRST_REFRESH]
    )
    close(found.B, maximum(search, Z, y, w, reference), rtol=1e-4, atol=1e-4)


def test_subsample_takes_every_kth_row(monkeypatch):
    X, y, weight = logistic_rows(2, n=100)
    rows = as_rows(X, y, weight)
    monkeypatch.setattr(solver_module, "_MIN_ROWS_PER_COLUMN", 5)
    monkeypatch.setattr(solver_module, "_MIN_SUBSAMPLED_ROWS", 101)
    assert solver_module._subsample(rows, 1, 4) == (None, 1)
    monkeypatch.setattr(solver_module, "_MIN_SUBSAMPLED_ROWS", 100)
    assert solver_module._subsample(None, 1, 4) == (None, 1)
    assert solver_module._subsample(Cut(X, y), 1, 4) == (None, 1)
    thin, step = solver_module._subsample(rows, 5, 4)
    assert (len(thin), step) == (25, 4)
    assert [len(block) for block in thin] == [4, 4, 4, 4, 4, 4, 1]
    np.testing.assert_array_equal(np.concatenate([block.X for block in thin]), X[::4])
    np.testing.assert_array_equal(np.concatenate([block.weight for block in thin]), weight[::4])
    assert solver_module._subsample(rows, 6, 4) == (None, 1)
    for cells, every in ((75, 4), (60, 5), (59, 6), (30, 10)):
        monkeypatch.setattr(solver_module, "_MAX_SUBSAMPLE_CELLS", cells)
        thin, step = solver_module._subsample(rows, 1, 4)
        assert step == every
        assert 3 * 100 / step <= cells


def test_resume_newton_continues_a_search():
    search, rows, Z, y, w = a_solver(2)
    begun = search._evaluator(rows)
    at = 0.1 * np.ones((4, 1))
    path = History()
    path.append(at, begun(at, True), 1.0)
    found = search.resume_newton(rows, OptimizeResult(at, begun(at, True), path, False, True))
    assert found.converged
    close(found.B, maximum(search, Z, y, w), rtol=1e-6)
    close(found.history.coef[0], at)
    close(found.history.coef[1], at)
    without = OptimizeResult(at, begun(at, False), path, False, True)
    assert search.resume_newton(rows, without) is without


def test_with_hessian_takes_the_newton_step_only_if_it_helps():
    search, rows, Z, y, w = a_solver(2)
    look, best = search._evaluator(rows), maximum(search, Z, y, w)
    near = OptimizeResult(best + 1e-3, look(best + 1e-3, False), History(), True)
    found = search._with_hessian(look, near)
    close(found.B, best, rtol=1e-3, atol=1e-5)
    close(found.last.hessian, by_definition(Z, y, w, found.B, 2, 0).hessian)
    far = np.array([[9.0], [9.0], [-9.0], [9.0]])
    assert np.linalg.norm(
        look(newton_polish(OptimizeResult(far, look(far, True), History(), True)).B, False).gradient
    ) > np.linalg.norm(look(far, False).gradient)
    np.testing.assert_array_equal(
        search._with_hessian(look, OptimizeResult(far, look(far, False), History(), True)).B, far
    )
    before = History()
    before.append(best, look(best, False), 1.0)
    away = OptimizeResult(far, look(best, False), before, True)  # the last step led from the maximum to far away
    close(search._with_hessian(look, away).B, best, rtol=1e-6, atol=1e-8)
    for lost in (replace(near, converged=False), replace(near, separation_suspected=True)):
        stayed = search._with_hessian(look, lost)
        np.testing.assert_array_equal(stayed.B, near.B)
        assert stayed.last.hessian is not None
    penalised = replace(search, alpha=1e-9)
    look = penalised._evaluator(rows)
    moved = penalised._with_hessian(look, replace(near, separation_suspected=True, last=look(near.B, False)))
    close(moved.B, best, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_search_with_few_hessians_ends_where_newton_does(K, alpha, sparse, monkeypatch):
    rng = np.random.default_rng(K)
    X = rng.standard_normal((600, 9)) * (rng.random((600, 9)) < 0.5)
    y = (X[:, :K] + rng.gumbel(size=(600, K))).argmax(axis=1)
    expected = ly.LogisticRegression(alpha, solver="newton").fit(X, y)
    hessians = []
    own = Logistic.evaluator
    monkeypatch.setattr(
        Logistic, "evaluator", lambda self, B, hessian: hessians.append(hessian) or own(self, B, hessian)
    )
    monkeypatch.setattr(solver_module, "_FEW_FLOPS", 0)
    model = ly.LogisticRegression(alpha).fit(csr_array(X) if sparse else X, y)
    assert 1 <= sum(hessians) <= 2 < len(hessians)
    close(model.coef_, expected.coef_, 1e-9)
    close(model.covariance_, expected.covariance_, 1e-6)
    assert 6 < model.digits_ <= expected.digits_
    monkeypatch.setattr(solver_module, "_FEW_PASSES", 2)  # too few: Newton does it all
    again = ly.LogisticRegression(alpha).fit(X, y)
    close(again.coef_, expected.coef_, 1e-12)
