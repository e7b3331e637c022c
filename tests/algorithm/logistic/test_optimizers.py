"""Newton, L-BFGS and gradient descent on functions with a known minimum."""

from __future__ import annotations

import numpy as np
import pytest
from logistic_oracles import (
    CASES,
    a_scaling,
    close,
    inverse_of,
    logistic_rows,
)

from linearly.algorithm.logistic import optimizers as optimizer_module
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import (
    MIN_PASSES_FOR_SEPARATION,
    SATURATED_LOGIT,
    History,
    OptimizeResult,
    SecantPairs,
    class_preconditioner,
    diagonal_preconditioner,
    gradient_descent,
    hessian_preconditioner,
    newton,
    newton_polish,
    preconditioner,
    quasi_newton,
)
from linearly.dataset.rows.block import Block


class Bowl:
    """A quadratic ½(B − at)'H(B − at) + least in the layout of c logits, and how often it was looked at."""

    def __init__(self, q=3, c=2, seed=0, least=5.0, at=None, H=None, mistakes=1, largest=1.0):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((q * c + 2, q * c))
        self.H = A.T @ A if H is None else H
        self.at = rng.standard_normal((q, c)) if at is None else at
        self.least, self.mistakes, self.largest, self.looks = least, mistakes, largest, []

    def __call__(self, B, hessian):
        self.looks.append(hessian)
        away = (B - self.at).T.reshape(-1)
        slope = self.H @ away
        q, c = B.shape
        H = self.H if hessian else None
        loss = self.least + 0.5 * float(away @ slope)
        return LossDerivatives(loss, slope.reshape(c, q).T, H, self.mistakes, self.largest)

    def decrement(self, B):
        """The length of the Newton step from B in standard errors."""
        away = (B - self.at).T.reshape(-1)
        return float(np.sqrt(away @ self.H @ away))


START = np.ones((3, 2))


def test_newton_minimises_a_quadratic_in_one_step():
    bowl = Bowl()
    found = newton(bowl, START)
    assert found.converged
    assert not found.separation_suspected
    assert found.aliased == ()
    close(found.B, bowl.at)
    assert found.history.step == [1.0, 1.0]
    close(found.history.coef[0], START)
    close(found.history.loss, [bowl(START, False).loss, 5.0])
    close(found.history.gradient_norm, [np.linalg.norm(bowl(START, False).gradient), 0.0], atol=1e-8)
    close(found.last.hessian, bowl.H)


def test_newton_ends_after_a_step_below_step_tol_standard_errors():
    bowl = Bowl()
    size = bowl.decrement(START)
    for small, passes in ((size * (1 + 1e-9), 1), (size * (1 - 1e-9), 2)):
        found = newton(bowl, START, step_tol=small)
        assert len(found.history) == passes
        close(found.B, bowl.at)
    near = bowl.at + 1e-3 * START
    light = replace_least(bowl, 0.01)
    size = light.decrement(near) / np.sqrt(light(near, False).loss)
    for small, passes in ((size * (1 + 1e-9), 1), (size * (1 - 1e-9), 2)):
        assert len(newton(light, near, step_tol=small).history) == passes


def replace_least(bowl, least):
    return Bowl(least=least, at=bowl.at, H=bowl.H, mistakes=bowl.mistakes, largest=bowl.largest)


def test_newton_with_a_fixed_coefficient_minimises_over_the_others():
    bowl = Bowl()
    for fixed in ((0, 0), (2, 0), (1, 1)):
        found = newton(bowl, START, fixed=fixed)
        assert found.converged
        assert found.B[fixed] == 1.0
        slope = bowl(found.B, False).gradient
        assert abs(slope[fixed]) > 1e-3
        slope[fixed] = 0.0
        close(slope, np.zeros((3, 2)), atol=1e-8)


def test_newton_stops_without_mistakes_if_requested():
    bowl = Bowl(mistakes=0)
    found = newton(bowl, START)
    assert (found.converged, found.separation_suspected, found.history.step) == (False, True, [0.0])
    close(found.B, START)
    assert newton(bowl, START, stop_when_separated=False).converged


class Slide:
    """e^−x, which has no minimum: each Newton step is 1."""

    def __init__(self, largest):
        self.largest, self.looks = largest, 0

    def __call__(self, B, hessian):
        self.looks += 1
        value = float(np.exp(-B[0, 0]))
        return LossDerivatives(value, np.array([[-value]]), np.array([[value]]) if hessian else None, 1, self.largest)


def test_newton_stops_for_growing_logits():
    found = newton(Slide(np.nextafter(SATURATED_LOGIT, 99)), np.zeros((1, 1)))
    assert (found.converged, found.separation_suspected) == (False, True)
    assert found.history.step == [1.0] * MIN_PASSES_FOR_SEPARATION + [0.0]
    close(found.B, [[MIN_PASSES_FOR_SEPARATION]])
    for largest, stops in ((SATURATED_LOGIT, True), (99.0, False)):
        found = newton(Slide(largest), np.zeros((1, 1)), stop_when_separated=stops)
        assert (found.converged, found.separation_suspected) == (False, largest > SATURATED_LOGIT)
        assert found.history.step == [1.0] * optimizer_module.MAX_PASSES + [0.0]
        close(found.B, [[optimizer_module.MAX_PASSES]])


def valley(B, hessian):
    """√(1 + x²), where a full Newton step from beyond 1 leads away."""
    x = float(B[0, 0])
    size = np.sqrt(1 + x * x)
    return LossDerivatives(size, np.array([[x / size]]), np.array([[size**-3]]) if hessian else None, 1, 1.0)


def test_newton_halves_a_step_that_raises_the_loss():
    found = newton(valley, np.full((1, 1), 3.0))
    assert found.converged
    close(found.B, [[0.0]], atol=1e-8)
    # From 3 a whole step leads to −27, a half to −12, a quarter to −4.5, an eighth to −0.75.
    assert found.history.step[0] == 0.125
    close(found.history.coef[1], [[-0.75]])
    assert all(b <= a for a, b in zip(found.history.loss, found.history.loss[1:], strict=False))


def test_newton_accepts_a_tiny_step_after_many_halvings():
    seen = []

    def cliff(B, hessian):
        seen.append(B.copy())
        return LossDerivatives(1.0 + (B[0, 0] != 0), np.ones((1, 1)), np.ones((1, 1)), 1, 1.0)

    found = newton(cliff, np.zeros((1, 1)), stop_when_separated=False)
    assert not found.converged
    assert 1e-7 < found.history.step[0] < 1e-6


def test_newton_does_not_move_aliased_columns():
    A = np.random.default_rng(0).standard_normal((9, 2))
    Z = np.column_stack([A, A.sum(axis=1)])
    bowl = Bowl(H=np.kron(np.array([[2.0, 0.5], [0.5, 1.0]]), Z.T @ Z))
    start = np.zeros((3, 2))
    found = newton(bowl, start)
    assert found.converged
    (left_out,) = found.aliased
    assert not found.B[left_out].any()
    close(Z @ found.B, Z @ bowl.at, atol=1e-7)
    near = bowl.at + 0.1
    last = bowl(near, True)
    step = newton_polish(OptimizeResult(near, last, History(), True))
    assert step.aliased == found.aliased
    assert not step.B[left_out].any()
    close(Z @ step.B, Z @ bowl.at, atol=1e-7)


def test_newton_polish_reaches_the_minimum_of_a_quadratic():
    bowl = Bowl()
    found = OptimizeResult(START, bowl(START, True), History(), True)
    step = newton_polish(found)
    close(step.B, bowl.at)
    assert step.aliased == ()
    assert step.history is found.history


def test_followed_by_joins_histories():
    bowl, one, other = Bowl(), History(), History()
    for path, length in ((one, 1.0), (one, 0.5), (other, 0.25)):
        path.append(length * START, bowl(length * START, False), length)
    both = one.followed_by(other)
    assert (len(one), len(other), len(both)) == (2, 1, 3)
    assert both.step == [1.0, 0.5, 0.25]
    assert both.loss == one.loss + other.loss
    assert both.gradient_norm == one.gradient_norm + other.gradient_norm
    close(np.array(both.coef)[:, 0, 0], both.step)


def test_quasi_newton_with_the_exact_inverse_is_newton():
    bowl = Bowl()
    solve = inverse_of(bowl.H, 3, 2)
    found = quasi_newton(bowl, START, solve)
    assert (found.converged, found.separation_suspected) == (True, False)
    close(found.B, bowl.at)
    assert found.history.step == [1.0, 1.0]
    assert not any(bowl.looks)
    size = bowl.decrement(START)
    for small, passes in ((size * (1 + 1e-9), 1), (size * (1 - 1e-9), 2)):
        found = quasi_newton(bowl, START, solve, step_tol=small)
        assert found.converged
        assert len(found.history) == passes
        close(found.B, bowl.at)
    assert len(quasi_newton(bowl, START, solve, tolerance=1.0).history) == 1


def test_quasi_newton_converges_at_a_zero_gradient():
    bowl = Bowl(largest=np.nextafter(SATURATED_LOGIT, 99))
    found = quasi_newton(bowl, bowl.at, inverse_of(bowl.H, 3, 2))
    assert (found.converged, found.separation_suspected, found.history.step) == (True, True, [0.0])
    np.testing.assert_array_equal(found.B, bowl.at)
    bowl = Bowl(largest=SATURATED_LOGIT)
    assert not quasi_newton(bowl, bowl.at, inverse_of(bowl.H, 3, 2)).separation_suspected


def dense_quasi_newton(look, B, P, memory, passes):
    """The same search with matrices: BFGS updates of the scaled preconditioner, last pairs only (Nocedal 1980)."""
    shape, pairs, trail = B.shape, [], [B]
    flat = lambda A: A.T.reshape(-1)  # noqa: E731
    at = look(B, False)
    for _ in range(passes):
        H = P * (np.mean([s @ d / (d @ P @ d) for s, d in pairs]) if pairs else 1.0)
        for s, d in pairs:
            left = np.eye(len(P)) - np.outer(s, d) / (s @ d)
            H = left @ H @ left.T + np.outer(s, s) / (s @ d)
        step = -H @ flat(at.gradient)
        slope, length = step @ flat(at.gradient), 1.0
        while True:
            move = (length * step).reshape(shape[::-1]).T
            trial = look(B + move, False)
            if trial.loss <= at.loss + 1e-4 * length * slope:
                break
            length /= 2
        pairs = [*pairs, (flat(move), flat(trial.gradient - at.gradient))][-memory:]
        B, at = B + move, trial
        trail.append(B)
    return trail


@pytest.mark.parametrize("memory", [1, 2, 12])
def test_quasi_newton_is_bfgs_of_the_last_pairs(memory, monkeypatch):
    monkeypatch.setattr(optimizer_module, "_MEMORY", memory)
    X, y, weight = logistic_rows(3)
    objective = Logistic(3, 0, a_scaling(), True)
    look = lambda B, hessian: objective.evaluator(B, hessian)(Block(X, y, weight))  # noqa: E731
    start = np.random.default_rng(0).standard_normal((4, 2))
    P = np.diag(np.linspace(0.05, 0.4, 8))
    trail = dense_quasi_newton(look, start, P, memory, 7)
    solve = lambda g: (P @ g.T.reshape(-1)).reshape(2, 4).T  # noqa: E731
    found = quasi_newton(look, start, solve, passes=7, stop_when_separated=False)
    assert (found.converged, len(found.history)) == (False, 7)
    close(found.history.coef, trail[:-1], rtol=1e-7)
    close(found.B, trail[-1], rtol=1e-7)
    close(found.last.loss, look(found.B, False).loss)
    far = quasi_newton(look, start, solve, stop_when_separated=False)
    assert far.converged
    close(look(far.B, False).gradient, 0.0, atol=1e-6)


def test_refreshed_preconditioner_is_used_from_the_next_step():
    bowl = Bowl()
    poor, asked = np.diag(np.diagonal(bowl.H)) * 4, []

    def refresh(history, B):
        asked.append((len(history), B))
        return inverse_of(bowl.H, 3, 2) if len(history) == 2 else None

    found = quasi_newton(bowl, START, inverse_of(poor, 3, 2), refresh=refresh)
    assert [passes for passes, _ in asked] == list(range(1, len(asked) + 1))
    np.testing.assert_array_equal(asked[1][1], found.history.coef[2])
    # What the pairs guess is made anew with it: their ratios are 1 then, the scale of the inverse itself.
    assert found.converged
    assert len(found.history) == 4
    close(found.history.coef[3], bowl.at)
    assert len(quasi_newton(bowl, START, inverse_of(poor, 3, 2)).history) > 8


def test_quasi_newton_stops_without_mistakes_and_with_large_logits():
    far = np.nextafter(SATURATED_LOGIT, 99)
    for mistakes, largest, stops, stopped in (
        (0, far, True, True),
        (0, SATURATED_LOGIT, True, False),
        (1, far, True, False),
        (0, far, False, False),
    ):
        bowl = Bowl(mistakes=mistakes, largest=largest)
        found = quasi_newton(bowl, START, inverse_of(bowl.H, 3, 2), stop_when_separated=stops)
        assert found.converged == (not stopped)
        assert found.separation_suspected == (largest > SATURATED_LOGIT)
        if stopped:
            np.testing.assert_array_equal(found.B, START)


def test_quasi_newton_out_of_passes_reports_suspected_separation():
    for largest in (SATURATED_LOGIT, np.nextafter(SATURATED_LOGIT, 99)):
        bowl = Bowl(largest=largest)
        found = quasi_newton(bowl, START, lambda g: g / 1e3, passes=2)
        assert (found.converged, len(found.history)) == (False, 2)
        assert found.separation_suspected == (largest > SATURATED_LOGIT)


def test_quasi_newton_stops_if_no_step_lowers_the_loss():
    def wrong(B, hessian):
        return LossDerivatives(float(abs(B).sum()), -np.ones((1, 1)), None, 1, 1.0)

    found = quasi_newton(wrong, np.zeros((1, 1)), lambda g: g)
    assert (found.converged, found.history.step) == (False, [0.0])
    np.testing.assert_array_equal(found.B, 0.0)


@pytest.mark.parametrize(("half", "taken"), [(-0.51e-4, 0.5), (-0.49e-4, 0.25), (-2e-4, 0.5)])
def test_backtrack_requires_the_armijo_decrease(half, taken):
    losses = {1.0: 1.0, 0.5: half, 0.25: -0.3e-4}

    def look(B, hessian):
        assert not hessian
        return LossDerivatives(losses[float(B[0, 0])], np.zeros((1, 1)), None, 0, 0.0)

    at = LossDerivatives(0.0, np.full((1, 1), -1.0), None, 0, 0.0)
    length, trial = optimizer_module._backtrack(look, np.zeros((1, 1)), at, np.ones((1, 1)), -1.0)
    assert length == taken
    assert trial.loss == losses[taken]


def by_two_loops(g, pairs, solve):
    """The textbook form of L-BFGS, pair by pair."""
    q, shares = g.copy(), []
    for step, change, _ in reversed(pairs):
        shares.append((step * q).sum() / (step * change).sum())
        q -= shares[-1] * change
    ratio = np.mean([(step * change).sum() / (change * guess).sum() for step, change, guess in pairs])
    r = ratio * solve(q)
    for (step, change, _), share in zip(pairs, reversed(shares), strict=True):
        r += step * (share - (change * r).sum() / (step * change).sum())
    return r


@pytest.mark.parametrize("n", [1, 3, 4, 7, 8, 9, 20])
def test_secant_pairs_give_the_direction_of_the_two_loops_over_the_last_four(n):
    rng = np.random.default_rng(0)
    pairs, given = SecantPairs(4, 8), []
    for _ in range(n):
        step = rng.standard_normal((4, 2))
        change = 2 * step + 0.1 * rng.standard_normal((4, 2))
        pairs.append(step, change, change / 3)
        given.append((step, change, change / 3))
    assert len(pairs) == min(n, 4)
    g = rng.standard_normal((4, 2))
    kept = g.copy()
    close(pairs.direction(g, g / 3), by_two_loops(g, given[-4:], lambda g: g / 3))
    np.testing.assert_array_equal(g, kept)
    close(pairs.direction(change, change / 3), step)  # the last change is mapped to its step
    pairs.solve_anew(lambda g: g / 5, (4, 2))
    fresh = [(step, change, change / 5) for step, change, _ in given[-4:]]
    close(pairs.direction(g, g / 5), by_two_loops(g, fresh, lambda g: g / 5))
    pairs.clear()
    close(pairs.direction(g, g / 3), g / 3)


def test_gradient_descent_takes_steps_of_one_over_the_curvature():
    bowl = Bowl()
    curvature = float(np.linalg.eigvalsh(bowl.H)[-1])
    found = gradient_descent(bowl, START, curvature, steps=4)
    assert (found.converged, found.separation_suspected) == (False, False)
    assert found.history.step == [1 / curvature] * 4
    away = (START - bowl.at).T.reshape(-1)
    shrink = np.eye(6) - bowl.H / curvature
    for k, B in enumerate([*found.history.coef, found.B]):
        close((B - bowl.at).T.reshape(-1), np.linalg.matrix_power(shrink, k) @ away)
    assert gradient_descent(Bowl(mistakes=0), START, curvature, steps=4).separation_suspected
    norms = gradient_descent(bowl, START, curvature, steps=50, tolerance=0.0).history.gradient_norm
    share = norms[10] / norms[0]
    for tolerance, passes in ((share * (1 + 1e-9), 11), (share * (1 - 1e-9), 12)):
        ended = gradient_descent(bowl, START, curvature, tolerance=tolerance)
        assert ended.converged
        assert len(ended.history) == passes
        np.testing.assert_array_equal(ended.B, ended.history.coef[-1])
    resting = gradient_descent(bowl, bowl.at, curvature)
    assert resting.converged
    assert len(resting.history) == 1


def test_preconditioners_are_inverses():
    bowl = Bowl(q=4, c=1)
    g = np.random.default_rng(3).standard_normal((4, 2))
    close(preconditioner(bowl.H)(g), np.linalg.solve(bowl.H, g), rtol=1e-8)
    close(diagonal_preconditioner(np.array([2.0, 0.0, 4.0, 0.5]))(g), g * np.array([[0.5], [0.0], [0.25], [2.0]]))
    whole = Bowl(q=2, c=2).H
    h = g[:2]
    close(hessian_preconditioner(whole, 2)(h), inverse_of(whole, 2, 2)(h), rtol=1e-8)


def test_preconditioner_of_a_singular_matrix_is_finite():
    z = np.array([1.0, 2.0, 3.0])
    solve = preconditioner(np.outer(z, z))
    close(solve(z[:, None])[:, 0], z / (z @ z) ** 2 * (z @ z), rtol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_class_preconditioner_is_the_inverse_for_equally_likely_classes(K, reference, intercept):
    X, y, weight = logistic_rows(K)
    objective = Logistic(K, reference, a_scaling(), intercept)
    q = 3 + intercept
    B, block = np.zeros((q, K - 1)), Block(X, y, weight)
    H = objective.evaluator(B)(block).hessian
    g = np.random.default_rng(2).standard_normal(B.shape)
    solve = class_preconditioner(objective.curvatures(B, False)(block), objective.columns(), reference)
    close(solve(g), inverse_of(H, q, K - 1)(g), rtol=1e-7)
    alone = class_preconditioner(objective.curvatures(B, True)(block), objective.columns(), reference)
    diagonal = H * np.kron(np.ones((K - 1, K - 1)), np.eye(q))
    close(alone(g), inverse_of(diagonal, q, K - 1)(g), rtol=1e-7)
