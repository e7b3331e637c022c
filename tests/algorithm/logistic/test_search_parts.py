"""The parts of a search and of what is read off its end, each against a formula written out or a law of calculus."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gradient_descent import gradient_descent as least_squares_descent
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
from linearly.algorithm.least_squares.sandwich import clustered_meat, group_codes, of_block, robust_meat
from linearly.algorithm.least_squares.solution import whiten
from linearly.algorithm.logistic import objective as objective_module
from linearly.algorithm.logistic import optimizers as optimizer_module
from linearly.algorithm.logistic import solver as search_module
from linearly.algorithm.logistic.firth import _jeffreys, firth
from linearly.algorithm.logistic.objective import Logistic, LossDerivatives
from linearly.algorithm.logistic.optimizers import (
    MIN_PASSES_FOR_SEPARATION,
    SATURATED_LOGIT,
    History,
    OptimizeResult,
    SecantPair,
    class_preconditioner,
    diagonal_preconditioner,
    gradient_descent,
    hessian_preconditioner,
    newton,
    newton_polish,
    preconditioner,
    quasi_newton,
)
from linearly.algorithm.logistic.sandwich import score_meat
from linearly.algorithm.logistic.solver import LogisticSolver
from linearly.algorithm.perceptron import error_counts as errors_module
from linearly.algorithm.perceptron.error_counts import (
    argmax_first,
    count_errors,
    pass_error,
    predicted_codes,
    scores,
    training_error,
)
from linearly.dataset.rows.block import Block, SingleBlockRows, as_rows
from linearly.dataset.rows.row_hash import hash_rows
from linearly.kernels.double_double import DoubleDouble


class Cut:
    """Rows in several blocks."""

    def __init__(self, X, y, weight=None, step=9):
        self.X, self.y, self.weight, self.step, self.names = X, y, weight, step, ()

    def __iter__(self):
        for a in range(0, self.X.shape[0], self.step):
            some = slice(a, a + self.step)
            yield Block(self.X[some], self.y[some], None if self.weight is None else self.weight[some], a)

    def reduce(self, f):
        first, *others = map(f, self)
        return sum(others, start=first)


def close(one, other, rtol=1e-9, atol=1e-10):
    np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def slope_of(f, x, h=1e-5):
    """The gradient of f at x by central differences, in the shape of x."""
    slope = np.empty(x.shape)
    for at in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[at] = h
        slope[at] = (f(x + step) - f(x - step)) / (2 * h)
    return slope


# --- errors of classifiers


def candidates(K, m=11, p=3):
    rng = np.random.default_rng(K)
    vectors = 1 if K == 2 else K
    X = rng.integers(-2, 3, (40, p)).astype(float)
    coef, intercept = rng.integers(-2, 3, (m, vectors, p)), rng.integers(-2, 3, (m, vectors))
    return X, rng.integers(0, K, 40).astype(np.int32), coef.astype(float), intercept.astype(float)


def predicted(X, coef, intercept):
    """By the definition: of two classes the second where the score is not negative, of more the first largest."""
    S = X @ coef.T + intercept
    return [int(s[0] >= 0) if len(s) == 1 else list(s).index(max(s)) for s in S]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("K", [2, 3])
def test_errors_of_many_candidates_are_those_of_each(K, kind, weighted, monkeypatch):
    X, y, coef, intercept = candidates(K)
    weight = np.random.default_rng(0).integers(0, 4, 40).astype(float) if weighted else None
    w = np.ones(40) if weight is None else weight
    expected = [w[np.array(predicted(X, W, b)) != y].sum() for W, b in zip(coef, intercept, strict=True)]
    for rows_at_once, fewest, most in ((2048, 64, 2**17), (7, 3, 1), (7, 1, 5 * 7 * K)):
        monkeypatch.setattr(errors_module, "_ROWS", rows_at_once)
        monkeypatch.setattr(errors_module, "_FEWEST", fewest)
        monkeypatch.setattr(errors_module, "_SCORES", most)
        said = count_errors(Cut(kind(X), y, weight, 25), coef, intercept)
        np.testing.assert_array_equal(said, [*expected, w.sum()])
    assert training_error(as_rows(kind(X), y, weight), coef[2], intercept[2]) == expected[2] / w.sum()
    if weight is None:
        rows = Cut(kind(X), y, None, 25)
        said = [pass_error(rows, W, b) for W, b in zip(coef, intercept, strict=True)]
        np.testing.assert_array_equal(said, np.array(expected) / 40)


@pytest.mark.parametrize("K", [2, 3])
def test_winners_are_the_predictions(K):
    X, _, coef, intercept = candidates(K)
    for W, b in zip(coef, intercept, strict=True):
        S = scores(X, W, b)
        np.testing.assert_array_equal(S, X @ W.T + b)
        assert predicted_codes(S).tolist() == predicted(X, W, b)
        if K > 2:
            assert argmax_first(list(S.T)).tolist() == predicted(X, W, b)


def test_the_scores_that_are_compared_are_left_alone():
    given = [np.array([1.0, 2.0]), np.array([3.0, 2.0]), np.array([3.0, 1.0])]
    copies = [s.copy() for s in given]
    assert argmax_first(given).tolist() == [1, 0]
    np.testing.assert_array_equal(given, copies)


# --- the logistic objective


def logistic_rows(K, n=30, p=3, seed=0, weighted=True, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * [2.0, 1.0, 0.5][:p] + (0 if sparse else np.array([1.0, -2.0, 0.0])[:p])
    if sparse:
        X[rng.random(X.shape) < 0.4] = 0.0
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    if weight is not None:
        weight[[4, 9]] = 0.0
    return X, y, weight


def a_gauge(p=3, shifted=True):
    return ColumnScaling(np.array([0.5, -1.5, 0.25])[:p] * shifted, np.array([2.0, 1.0, 0.5])[:p])


def design(X, scaling, intercept):
    Z = (X - scaling.shift) / scaling.scale
    return np.column_stack([np.ones(len(X)), Z]) if intercept else Z


def by_definition(Z, y, w, B, K, reference):
    """−Σ w log P(y), its gradient and Hessian, the mistakes and the largest logit, of all rows at once."""
    q, c = B.shape
    classes = np.array([k for k in range(K) if k != reference])
    logits = np.zeros((len(Z), K))
    logits[:, classes] = Z @ B
    told = log_softmax(logits, axis=1)
    own, P = np.arange(len(Z)), np.exp(told)[:, classes]
    V = np.einsum("na,ab->nab", P, np.eye(c)) - np.einsum("na,nb->nab", P, P)
    hessian = np.einsum("n,nab,ni,nj->aibj", w, V, Z, Z, optimize=True).reshape(c * q, c * q)
    rivals = logits.copy()
    rivals[own, y] = -np.inf
    return LossDerivatives(
        float(-w @ told[own, y]),
        (Z * w[:, None]).T @ (P - (y[:, None] == classes)),
        hessian,
        int(((w > 0) & (logits[own, y] <= rivals.max(axis=1))).sum()),
        float(np.abs(logits[w > 0]).max(initial=0.0)),
    )


def same_quadratic(one, other, hessian=True):
    close(one.loss, other.loss)
    close(one.gradient, other.gradient)
    assert one.mistakes == other.mistakes
    close(one.largest, other.largest)
    if hessian:
        close(one.hessian, other.hessian)
    else:
        assert one.hessian is None


CASES = [(2, 0), (3, 0), (3, 1), (4, 3)]


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", ["shifted", "unshifted", "sparse", "doubled"])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_the_objective_is_the_likelihood_s(K, reference, form, intercept, weighted, monkeypatch):
    monkeypatch.setattr(objective_module, "_ROWS", 7)
    X, y, weight = logistic_rows(K, weighted=weighted, sparse=form == "sparse")
    scaling = a_gauge(shifted=form in ("shifted", "doubled"))
    objective = Logistic(K, reference, scaling, intercept)
    features = {"sparse": sp.csr_matrix, "doubled": DoubleDouble.of}.get(form, np.asarray)(X)
    Z, w = design(X, scaling, intercept), np.ones(30) if weight is None else weight
    for size in (0.0, 0.7, 3.0):
        B = size * np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
        expected = by_definition(Z, y, w, B, K, reference)
        block = Block(features, y, weight)
        for hessian in (True, False):
            same_quadratic(objective.evaluator(B, hessian)(block), expected, hessian)
        same_quadratic(objective._many(block, B, True), expected)
        same_quadratic(objective._direct(block, B), expected, hessian=False)
        close(objective._logits(features, B), Z @ B)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_curvatures_are_those_of_each_class(K, reference, intercept, kind, monkeypatch):
    monkeypatch.setattr(objective_module, "_ROWS", 7)
    X, y, weight = logistic_rows(K, sparse=True)
    scaling = a_gauge(shifted=kind is np.asarray)
    objective, Z = Logistic(K, reference, scaling, intercept), design(X, scaling, intercept)
    B = np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
    logits = np.insert(Z @ B, reference, 0.0, axis=1)
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for w in (weight, None):
        V = P * (1 - P) * (1.0 if w is None else w[:, None])
        expected = np.einsum("nk,ni,nj->kij", V, Z, Z)
        block = Block(kind(X), y, w)
        close(objective.curvatures(B, False)(block), expected)
        close(objective.curvatures(B, True)(block), np.einsum("kii->ki", expected))
        close(objective.squares(kind(X), V), np.einsum("kii->ki", expected))
    close(objective.design(kind(X)), Z, atol=0)


def test_what_blocks_say_adds_up():
    X, y, weight = logistic_rows(3)
    objective = Logistic(3, 0, a_gauge(), True)
    B = np.random.default_rng(1).standard_normal((4, 2))
    whole = objective.evaluator(B)(Block(X, y, weight))
    same_quadratic(Cut(X, y, weight).reduce(objective.evaluator(B)), whole)
    some, none = objective.evaluator(B)(Block(X, y, weight)), objective.evaluator(B, False)(Block(X, y, weight))
    for total in (some + none, none + some):
        assert total.hessian is None
        close(total.loss, 2 * whole.loss)
    empty = Block(X[:0], y[:0])
    for hessian in (True, False):
        nothing = objective._many(empty, B, hessian)
        assert (nothing.loss, nothing.mistakes, nothing.largest) == (0.0, 0, 0.0)
        assert not nothing.gradient.any()


def test_probabilities_of_logits_of_any_size_add_up_to_one():
    objective = Logistic(3, 0, a_gauge(), True)
    logits = np.array([[0.0, 0.0], [1000.0, -1000.0], [-1000.0, -2000.0], [1.0, 2.0], [-3.0, -5.0], [800.0, 800.0]])
    P, normaliser = objective.probabilities(logits)
    close(P, [[1 / 3, 1 / 3], [1, 0], [0, 0], np.exp([1, 2]) / (1 + np.exp([1, 2]).sum()), P[4], [0.5, 0.5]])
    close(P[4], np.exp([-3, -5]) / (1 + np.exp([-3, -5]).sum()))
    close(normaliser, [np.log(3), 1000, 0, np.log(1 + np.exp([1, 2]).sum()), -np.log(1 - P[4].sum()), 800 + np.log(2)])
    assert Logistic(4, 2, a_gauge(), True).columns().tolist() == [0, 1, 3]


# --- optimizers


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


def test_newton_finds_the_bottom_of_a_bowl_in_one_step():
    bowl = Bowl()
    found = newton(bowl, START)
    assert found.converged
    assert not found.separation_suspected
    assert found.aliased == ()
    close(found.B, bowl.at)
    assert found.path.step == [1.0, 1.0]
    close(found.path.coef[0], START)
    close(found.path.loss, [bowl(START, False).loss, 5.0])
    close(found.path.gradient_norm, [np.linalg.norm(bowl(START, False).gradient), 0.0], atol=1e-8)
    close(found.last.hessian, bowl.H)


def test_newton_ends_with_the_first_step_that_is_small_in_standard_errors():
    bowl = Bowl()
    size = bowl.decrement(START)
    for small, passes in ((size * (1 + 1e-9), 1), (size * (1 - 1e-9), 2)):
        found = newton(bowl, START, small_step=small)
        assert len(found.path) == passes
        close(found.B, bowl.at)
    near = bowl.at + 1e-3 * START
    light = replace_least(bowl, 0.01)
    size = light.decrement(near) / np.sqrt(light(near, False).loss)
    for small, passes in ((size * (1 + 1e-9), 1), (size * (1 - 1e-9), 2)):
        assert len(newton(light, near, small_step=small).path) == passes


def replace_least(bowl, least):
    return Bowl(least=least, at=bowl.at, H=bowl.H, mistakes=bowl.mistakes, largest=bowl.largest)


def test_a_coefficient_that_is_held_stays_and_the_others_make_the_best_of_it():
    bowl = Bowl()
    for hold in ((0, 0), (2, 0), (1, 1)):
        found = newton(bowl, START, hold=hold)
        assert found.converged
        assert found.B[hold] == 1.0
        slope = bowl(found.B, False).gradient
        assert abs(slope[hold]) > 1e-3
        slope[hold] = 0.0
        close(slope, np.zeros((3, 2)), atol=1e-8)


def test_newton_stops_where_nothing_is_wrong_any_more_if_asked_to():
    bowl = Bowl(mistakes=0)
    found = newton(bowl, START)
    assert (found.converged, found.separation_suspected, found.path.step) == (False, True, [0.0])
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


def test_newton_loses_patience_with_logits_that_grow():
    found = newton(Slide(np.nextafter(SATURATED_LOGIT, 99)), np.zeros((1, 1)))
    assert (found.converged, found.separation_suspected) == (False, True)
    assert found.path.step == [1.0] * MIN_PASSES_FOR_SEPARATION + [0.0]
    close(found.B, [[MIN_PASSES_FOR_SEPARATION]])
    for largest, stops in ((SATURATED_LOGIT, True), (99.0, False)):
        found = newton(Slide(largest), np.zeros((1, 1)), stop_when_separated=stops)
        assert (found.converged, found.separation_suspected) == (False, largest > SATURATED_LOGIT)
        assert found.path.step == [1.0] * optimizer_module.MAX_PASSES + [0.0]
        close(found.B, [[optimizer_module.MAX_PASSES]])


def valley(B, hessian):
    """√(1 + x²), where a full Newton step from beyond 1 leads away."""
    x = float(B[0, 0])
    size = np.sqrt(1 + x * x)
    return LossDerivatives(size, np.array([[x / size]]), np.array([[size**-3]]) if hessian else None, 1, 1.0)


def test_newton_halves_a_step_that_leads_up():
    found = newton(valley, np.full((1, 1), 3.0))
    assert found.converged
    close(found.B, [[0.0]], atol=1e-8)
    # From 3 a whole step leads to −27, a half to −12, a quarter to −4.5, an eighth to −0.75.
    assert found.path.step[0] == 0.125
    close(found.path.coef[1], [[-0.75]])
    assert all(b <= a for a, b in zip(found.path.loss, found.path.loss[1:], strict=False))


def test_newton_gives_up_halving_and_goes_on():
    seen = []

    def cliff(B, hessian):
        seen.append(B.copy())
        return LossDerivatives(1.0 + (B[0, 0] != 0), np.ones((1, 1)), np.ones((1, 1)), 1, 1.0)

    found = newton(cliff, np.zeros((1, 1)), stop_when_separated=False)
    assert not found.converged
    assert 1e-7 < found.path.step[0] < 1e-6


def test_newton_leaves_columns_that_depend_on_others_where_they_are():
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


def test_a_newton_step_polishes_what_a_search_found():
    bowl = Bowl()
    found = OptimizeResult(START, bowl(START, True), History(), True)
    step = newton_polish(found)
    close(step.B, bowl.at)
    assert step.aliased == ()
    assert step.path is found.path


def test_paths_are_joined_pass_by_pass():
    bowl, one, other = Bowl(), History(), History()
    for path, length in ((one, 1.0), (one, 0.5), (other, 0.25)):
        path.note(length * START, bowl(length * START, False), length)
    both = one.then(other)
    assert (len(one), len(other), len(both)) == (2, 1, 3)
    assert both.step == [1.0, 0.5, 0.25]
    assert both.loss == one.loss + other.loss
    assert both.gradient_norm == one.gradient_norm + other.gradient_norm
    close(np.array(both.coef)[:, 0, 0], both.step)


def inverse_of(H, q, c):
    return lambda g: np.linalg.solve(H, g.T.reshape(-1)).reshape(c, q).T


def test_quasi_newton_with_the_inverse_itself_is_newton():
    bowl = Bowl()
    solve = inverse_of(bowl.H, 3, 2)
    found = quasi_newton(bowl, START, solve)
    assert (found.converged, found.separation_suspected) == (True, False)
    close(found.B, bowl.at)
    assert found.path.step == [1.0, 1.0]
    assert not any(bowl.looks)
    size = bowl.decrement(START)
    for small, passes in ((size * (1 + 1e-9), 1), (size * (1 - 1e-9), 2)):
        found = quasi_newton(bowl, START, solve, small_step=small)
        assert found.converged
        assert len(found.path) == passes
        close(found.B, bowl.at)
    assert len(quasi_newton(bowl, START, solve, tolerance=1.0).path) == 1


def test_quasi_newton_is_content_where_the_slope_is_nothing():
    bowl = Bowl(largest=np.nextafter(SATURATED_LOGIT, 99))
    found = quasi_newton(bowl, bowl.at, inverse_of(bowl.H, 3, 2))
    assert (found.converged, found.separation_suspected, found.path.step) == (True, True, [0.0])
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
def test_quasi_newton_is_bfgs_with_the_last_pairs(memory):
    X, y, weight = logistic_rows(3)
    objective = Logistic(3, 0, a_gauge(), True)
    look = lambda B, hessian: objective.evaluator(B, hessian)(Block(X, y, weight))  # noqa: E731
    start = np.random.default_rng(0).standard_normal((4, 2))
    P = np.diag(np.linspace(0.05, 0.4, 8))
    trail = dense_quasi_newton(look, start, P, memory, 7)
    solve = lambda g: (P @ g.T.reshape(-1)).reshape(2, 4).T  # noqa: E731
    found = quasi_newton(look, start, solve, memory=memory, passes=7, stop_when_separated=False)
    assert (found.converged, len(found.path)) == (False, 7)
    close(found.path.coef, trail[:-1], rtol=1e-7)
    close(found.B, trail[-1], rtol=1e-7)
    close(found.last.loss, look(found.B, False).loss)
    far = quasi_newton(look, start, solve, memory=memory, stop_when_separated=False)
    assert far.converged
    close(look(far.B, False).gradient, 0.0, atol=1e-6)


def test_a_preconditioner_that_is_renewed_takes_over_from_the_next_step_on():
    bowl = Bowl()
    poor, asked = np.diag(np.diagonal(bowl.H)) * 4, []

    def renewed(path, B):
        asked.append((len(path), B))
        return inverse_of(bowl.H, 3, 2) if len(path) == 2 else None

    found = quasi_newton(bowl, START, inverse_of(poor, 3, 2), renewed=renewed)
    assert [passes for passes, _ in asked] == list(range(1, len(asked) + 1))
    np.testing.assert_array_equal(asked[1][1], found.path.coef[2])
    # What the pairs guess is made anew with it: their ratios are 1 then, the scale of the inverse itself.
    assert found.converged
    assert len(found.path) == 4
    close(found.path.coef[3], bowl.at)
    assert len(quasi_newton(bowl, START, inverse_of(poor, 3, 2)).path) > 8


def test_quasi_newton_stops_where_nothing_is_wrong_and_logits_are_large():
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


def test_a_search_that_used_up_its_passes_says_so_and_whether_logits_are_large():
    for largest in (SATURATED_LOGIT, np.nextafter(SATURATED_LOGIT, 99)):
        bowl = Bowl(largest=largest)
        found = quasi_newton(bowl, START, lambda g: g / 1e3, passes=2)
        assert (found.converged, len(found.path)) == (False, 2)
        assert found.separation_suspected == (largest > SATURATED_LOGIT)


def test_quasi_newton_stops_where_no_step_leads_down():
    def wrong(B, hessian):
        return LossDerivatives(float(abs(B).sum()), -np.ones((1, 1)), None, 1, 1.0)

    found = quasi_newton(wrong, np.zeros((1, 1)), lambda g: g)
    assert (found.converged, found.path.step) == (False, [0.0])
    np.testing.assert_array_equal(found.B, 0.0)


@pytest.mark.parametrize(("half", "taken"), [(-0.51e-4, 0.5), (-0.49e-4, 0.25), (-2e-4, 0.5)])
def test_a_step_must_lower_the_loss_by_a_ten_thousandth_of_what_the_slope_says(half, taken):
    losses = {1.0: 1.0, 0.5: half, 0.25: -0.3e-4}

    def look(B, hessian):
        assert not hessian
        return LossDerivatives(losses[float(B[0, 0])], np.zeros((1, 1)), None, 0, 0.0)

    at = LossDerivatives(0.0, np.full((1, 1), -1.0), None, 0, 0.0)
    length, trial = optimizer_module._backtrack(look, np.zeros((1, 1)), at, np.ones((1, 1)), -1.0)
    assert length == taken
    assert trial.loss == losses[taken]


def test_the_inverse_of_pairs_turns_the_last_change_into_its_step():
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(3):
        step = rng.standard_normal((4, 2))
        change = 2 * step + 0.1 * rng.standard_normal((4, 2))
        pairs.append(SecantPair(step, change, change / 3))
    close(optimizer_module._two_loops(pairs[-1].change, pairs, lambda g: g / 3), pairs[-1].step)
    g = rng.standard_normal((4, 2))
    kept = g.copy()
    close(optimizer_module._two_loops(g, [], lambda g: g / 3), g / 3)
    optimizer_module._two_loops(g, pairs, lambda g: g / 3)
    np.testing.assert_array_equal(g, kept)
    pair = pairs[0]
    close(pair.curvature, (pair.step * pair.change).sum())
    close(pair.ratio, 3 * pair.curvature / (pair.change**2).sum())


def test_gradient_descent_takes_steps_of_one_over_the_curvature():
    bowl = Bowl()
    curvature = float(np.linalg.eigvalsh(bowl.H)[-1])
    found = gradient_descent(bowl, START, curvature, steps=4)
    assert (found.converged, found.separation_suspected) == (False, False)
    assert found.path.step == [1 / curvature] * 4
    away = (START - bowl.at).T.reshape(-1)
    shrink = np.eye(6) - bowl.H / curvature
    for k, B in enumerate([*found.path.coef, found.B]):
        close((B - bowl.at).T.reshape(-1), np.linalg.matrix_power(shrink, k) @ away)
    assert gradient_descent(Bowl(mistakes=0), START, curvature, steps=4).separation_suspected
    norms = gradient_descent(bowl, START, curvature, steps=50, tolerance=0.0).path.gradient_norm
    share = norms[10] / norms[0]
    for tolerance, passes in ((share * (1 + 1e-9), 11), (share * (1 - 1e-9), 12)):
        ended = gradient_descent(bowl, START, curvature, tolerance=tolerance)
        assert ended.converged
        assert len(ended.path) == passes
        np.testing.assert_array_equal(ended.B, ended.path.coef[-1])
    resting = gradient_descent(bowl, bowl.at, curvature)
    assert resting.converged
    assert len(resting.path) == 1


def test_preconditioners_are_inverses():
    bowl = Bowl(q=4, c=1)
    g = np.random.default_rng(3).standard_normal((4, 2))
    close(preconditioner(bowl.H)(g), np.linalg.solve(bowl.H, g), rtol=1e-8)
    close(diagonal_preconditioner(np.array([2.0, 0.0, 4.0, 0.5]))(g), g * np.array([[0.5], [0.0], [0.25], [2.0]]))
    whole = Bowl(q=2, c=2).H
    h = g[:2]
    close(hessian_preconditioner(whole, 2)(h), inverse_of(whole, 2, 2)(h), rtol=1e-8)


def test_a_matrix_that_is_singular_to_rounding_still_has_a_preconditioner():
    z = np.array([1.0, 2.0, 3.0])
    solve = preconditioner(np.outer(z, z))
    close(solve(z[:, None])[:, 0], z / (z @ z) ** 2 * (z @ z), rtol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_the_preconditioner_of_classes_is_the_inverse_where_all_are_equally_likely(K, reference, intercept):
    X, y, weight = logistic_rows(K)
    objective = Logistic(K, reference, a_gauge(), intercept)
    q = 3 + intercept
    B, block = np.zeros((q, K - 1)), Block(X, y, weight)
    H = objective.evaluator(B)(block).hessian
    g = np.random.default_rng(2).standard_normal(B.shape)
    solve = class_preconditioner(objective.curvatures(B, False)(block), objective.columns(), reference)
    close(solve(g), inverse_of(H, q, K - 1)(g), rtol=1e-7)
    alone = class_preconditioner(objective.curvatures(B, True)(block), objective.columns(), reference)
    diagonal = H * np.kron(np.ones((K - 1, K - 1)), np.eye(q))
    close(alone(g), inverse_of(diagonal, q, K - 1)(g), rtol=1e-7)


# --- the search


def a_search(K, *, reference=0, alpha=0.0, intercept=True, weighted=True, n=60, sparse=False):
    X, y, weight = logistic_rows(K, n=n, weighted=weighted, sparse=sparse)
    w = np.ones(n) if weight is None else weight
    scaling = a_gauge(shifted=not sparse)
    search = LogisticSolver(Logistic(K, reference, scaling, intercept), alpha, np.bincount(y, w, minlength=K))
    return search, Cut(sp.csr_matrix(X) if sparse else X, y, weight, 25), design(X, scaling, intercept), y, w


def penalties(search, intercept):
    """alpha β² / 2 is alpha / unit² b² / 2 for b = β · unit."""
    return search.alpha / np.r_[[np.inf] * intercept, search.objective.scaling.scale] ** 2


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_what_is_searched_is_the_loss_and_the_penalty(K, intercept, alpha, share):
    search, rows, Z, y, w = a_search(K, alpha=alpha, intercept=intercept)
    B = np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
    said = search._look(rows, share)(B, True)
    plain = by_definition(Z, y, w, B, K, 0)
    ridge = share * penalties(search, intercept)
    close(search._ridge(), ridge / share)
    close(said.loss, plain.loss + 0.5 * (ridge[:, None] * B**2).sum())
    close(said.gradient, plain.gradient + ridge[:, None] * B)
    close(said.hessian, plain.hessian + np.diag(np.tile(ridge, K - 1)))
    assert (said.mistakes, said.largest) == (plain.mistakes, pytest.approx(plain.largest))
    bare = search._look(rows, share)(B, False)
    assert bare.hessian is None
    close(bare.gradient, said.gradient)


def test_a_loss_that_is_not_a_number_is_blamed_on_the_row():
    search, rows, *_ = a_search(2)
    rows.X[31, 2] = np.nan
    with pytest.raises(ValueError, match="NaN: row 31, column 2"):
        search._look(rows)(np.ones((4, 1)), True)
    search, rows, *_ = a_search(2)
    with pytest.raises(ValueError, match="logits overflow"):
        search._look(rows)(np.full((4, 1), 1e308), True)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_cross_products_are_those_of_the_design_in_the_gauge(intercept, weighted, sparse):
    search, rows, Z, _, w = a_search(2, intercept=intercept, weighted=weighted, sparse=sparse)
    close(search._cross_products(rows), (Z * w[:, None]).T @ Z, atol=1e-9)
    close(rows.reduce(search._squares), w @ Z**2)


@pytest.mark.parametrize(("K", "reference"), CASES)
def test_the_first_preconditioner_is_the_inverse_where_the_features_say_nothing(K, reference, monkeypatch):
    search, rows, Z, y, w = a_search(K, reference=reference)
    share = search.class_weights / search.class_weights.sum()
    B = np.zeros((4, K - 1))
    B[0] = np.log(np.delete(share, reference) / share[reference])
    H = by_definition(Z, y, w, B, K, reference).hessian
    g = np.random.default_rng(2).standard_normal(B.shape)
    close(search._resembling(search._products(rows))(g), inverse_of(H, 4, K - 1)(g), rtol=1e-7)
    monkeypatch.setattr(search_module, "GRAM_SIZE", 3)
    diagonal = H * np.kron(np.ones((K - 1, K - 1)), np.eye(4))
    close(search._resembling(search._products(rows))(g), inverse_of(diagonal, 4, K - 1)(g), rtol=1e-7)
    monkeypatch.setattr(search_module, "GRAM_SIZE", 4)
    close(search._resembling(search._products(rows))(g), inverse_of(H, 4, K - 1)(g), rtol=1e-7)


def test_the_preconditioners_of_two_classes_have_the_penalty_in_them(monkeypatch):
    search, rows, Z, y, w = a_search(2, alpha=3.0)
    g = np.random.default_rng(2).standard_normal((4, 1))
    ridge = np.diag(penalties(search, True))
    share = search.class_weights / search.class_weights.sum()
    B = np.zeros((4, 1))
    B[0] = np.log(share[1] / share[0])
    H = by_definition(Z, y, w, B, 2, 0).hessian + ridge
    close(search._resembling(search._products(rows))(g), np.linalg.solve(H, g), rtol=1e-7)
    B = np.random.default_rng(1).standard_normal((4, 1))
    H = by_definition(Z, y, w, B, 2, 0).hessian + ridge
    monkeypatch.setattr(search_module, "_CURVATURE_CELLS", 2 * 4 * 4)
    close(search._resembling_at(rows, B)(g), np.linalg.solve(H, g), rtol=1e-7)
    monkeypatch.setattr(search_module, "_CURVATURE_CELLS", 2 * 4 * 4 - 1)
    close(search._resembling_at(rows, B)(g), g / np.diagonal(H)[:, None], rtol=1e-7)


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
def test_every_solver_ends_at_the_maximum(K, alpha, monkeypatch):
    search, rows, Z, y, w = a_search(K, alpha=alpha)
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
    close(search.solve(rows, "gradient_descent").path.step[0], 1 / steepest)
    monkeypatch.setattr(search_module, "GRAM_SIZE", 3)
    with pytest.raises(ValueError, match="at most 3 columns"):
        search.solve(rows, "gradient_descent")
    # By gradients, and one Hessian where that is cheap.
    size = 4 * (K - 1)
    monkeypatch.setattr(search_module, "_NEWTON_SIZE", size - 1)
    cost = (w.sum() + size) * size**2
    for cheap in (cost * (1 + 1e-9), cost * (1 - 1e-9)):
        monkeypatch.setattr(search_module, "_CHEAP", cheap)
        found = search.solve(rows, "auto")
        assert (found.last.hessian is not None) == (cheap > cost)
        close(found.B, best, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(search_module, "_NEWTON_SIZE", size)
    assert search.solve(rows, "auto").last.hessian is not None


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_a_preconditioner_is_made_anew_until_the_search_ends(alpha, monkeypatch):
    search, rows, Z, y, w = a_search(3, alpha=alpha)
    monkeypatch.setattr(search_module, "_STALE_AFTER", 2)
    found = search.solve(rows, "lbfgs")
    assert found.converged
    assert len(found.path) > 2
    close(found.B, maximum(search, Z, y, w), rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(search_module, "_MOST_PASSES", 3)
    stopped = search.solve(rows, "lbfgs")
    assert (stopped.converged, len(stopped.path)) == (False, 3)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_a_first_guess_from_some_rows_leads_to_the_maximum_of_all(alpha, monkeypatch):
    search, rows, Z, y, w = a_search(2, alpha=alpha, n=400)
    few = as_rows(rows.X, y, rows.weight)
    monkeypatch.setattr(search_module, "_THIN_ROWS", 400)
    monkeypatch.setattr(search_module, "_THIN", 4)
    found = search.solve(few, "newton", few=few)
    assert found.converged
    assert found.path.coef[0].any()  # not from zero
    close(found.B, maximum(search, Z, y, w), rtol=1e-6, atol=1e-6)
    thin, step = search_module._subsample(few, 4, 4)
    guess = newton(search._look(thin, 1 / step), np.zeros((4, 1)), small_step=search_module._WARM_START_TOL)
    close(found.path.coef[0], guess.B)
    ridge = penalties(search, True)[:, None] / step
    some = by_definition(Z[::step], y[::step], w[::step], guess.B, 2, 0)
    assert np.abs(some.gradient + ridge * guess.B).max() < 0.05


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize(("K", "reference"), [(2, 0), (3, 1)])
def test_some_of_many_rows_make_a_better_preconditioner(K, reference, alpha, monkeypatch):
    search, rows, Z, y, w = a_search(K, alpha=alpha, n=400, reference=reference)
    few = as_rows(rows.X, y, rows.weight)
    products = search._products(few)
    B = np.random.default_rng(1).standard_normal((4, K - 1))
    assert search._resembling_some(few, products, B) is None  # 400 are not many
    monkeypatch.setattr(search_module, "_THIN_ROWS", 400)
    monkeypatch.setattr(search_module, "_THINNER", 4)
    assert search._resembling_some(None, products, B) is None  # not in memory
    assert search._resembling_some(few, np.diagonal(products), B) is None
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
    close(search._resembling_some(few, products, B)(g), expected, rtol=1e-7)
    monkeypatch.setattr(search_module, "_CURVATURE_CELLS", K * 16)
    close(search._resembling_some(few, products, B)(g), expected, rtol=1e-7)
    monkeypatch.setattr(search_module, "_CURVATURE_CELLS", K * 16 - 1)
    assert search._resembling_some(few, products, B) is None
    monkeypatch.undo()
    plain = search.solve(few, "lbfgs", few=few)
    monkeypatch.setattr(search_module, "_THIN_ROWS", 400)
    monkeypatch.setattr(search_module, "_THINNER", 4)
    found = search.solve(few, "lbfgs", few=few)
    assert found.converged
    assert len(found.path) <= len(plain.path)
    np.testing.assert_array_equal(found.path.coef[search_module._SETTLED], plain.path.coef[search_module._SETTLED])
    close(found.B, maximum(search, Z, y, w, reference), rtol=1e-4, atol=1e-4)


def test_thinned_rows_are_every_so_many_th(monkeypatch):
    X, y, weight = logistic_rows(2, n=100)
    rows = as_rows(X, y, weight)
    monkeypatch.setattr(search_module, "_ROWS_EACH", 5)
    monkeypatch.setattr(search_module, "_THIN_ROWS", 101)
    assert search_module._subsample(rows, 1, 4) == (None, 1)
    monkeypatch.setattr(search_module, "_THIN_ROWS", 100)
    assert search_module._subsample(None, 1, 4) == (None, 1)
    assert search_module._subsample(Cut(X, y), 1, 4) == (None, 1)
    thin, step = search_module._subsample(rows, 5, 4)
    assert (len(thin), step) == (25, 4)
    assert [len(block) for block in thin] == [4, 4, 4, 4, 4, 4, 1]
    np.testing.assert_array_equal(np.concatenate([block.X for block in thin]), X[::4])
    np.testing.assert_array_equal(np.concatenate([block.weight for block in thin]), weight[::4])
    assert search_module._subsample(rows, 6, 4) == (None, 1)
    for cells, every in ((75, 4), (60, 5), (59, 6), (30, 10)):
        monkeypatch.setattr(search_module, "_THIN_CELLS", cells)
        thin, step = search_module._subsample(rows, 1, 4)
        assert step == every
        assert 3 * 100 / step <= cells


def test_a_search_goes_on_from_where_it_stopped():
    search, rows, Z, y, w = a_search(2)
    begun = search._look(rows)
    at = 0.1 * np.ones((4, 1))
    path = History()
    path.note(at, begun(at, True), 1.0)
    found = search.resume_newton(rows, OptimizeResult(at, begun(at, True), path, False, True))
    assert found.converged
    close(found.B, maximum(search, Z, y, w), rtol=1e-6)
    close(found.path.coef[0], at)
    close(found.path.coef[1], at)
    without = OptimizeResult(at, begun(at, False), path, False, True)
    assert search.resume_newton(rows, without) is without


def test_a_step_by_the_hessian_is_taken_only_towards_the_maximum():
    search, rows, Z, y, w = a_search(2)
    look, best = search._look(rows), maximum(search, Z, y, w)
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
    before.note(best, look(best, False), 1.0)
    away = OptimizeResult(far, look(best, False), before, True)  # the last step led from the maximum to far away
    close(search._with_hessian(look, away).B, best, rtol=1e-6, atol=1e-8)
    for lost in (replace(near, converged=False), replace(near, suspicious=True)):
        stayed = search._with_hessian(look, lost)
        np.testing.assert_array_equal(stayed.B, near.B)
        assert stayed.last.hessian is not None
    penalised = replace(search, alpha=1e-9)
    look = penalised._look(rows)
    moved = penalised._with_hessian(look, replace(near, suspicious=True, last=look(near.B, False)))
    close(moved.B, best, rtol=1e-3, atol=1e-5)


# --- Firth


def information(Z, w, B):
    y = np.zeros(len(Z), dtype=int)
    return by_definition(Z, y, w, B, B.shape[1] + 1, 0).hessian


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_the_gradient_of_jeffreys_prior_is_that_of_half_a_log_determinant(K, intercept, weighted):
    search, rows, Z, _, w = a_search(K, intercept=intercept, weighted=weighted)
    B = 0.5 * np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
    root = whiten(information(Z, w, B)).root
    said = rows.reduce(partial(_jeffreys, objective=search.objective, B=B, root=root))
    slope = slope_of(lambda B: 0.5 * np.linalg.slogdet(information(Z, w, B))[1], B)
    close(said, slope.T.reshape(-1), rtol=1e-6, atol=1e-7)


def penalised_loss(Z, y, w, B):
    K = B.shape[1] + 1
    return by_definition(Z, y, w, B, K, 0).loss - 0.5 * np.linalg.slogdet(information(Z, w, B))[1]


@pytest.mark.parametrize("K", [2, 3])
def test_firth_climbs_to_the_top_of_the_penalised_likelihood(K):
    search, rows, Z, y, w = a_search(K)
    found = firth(rows, search.objective, search._look(rows), np.full((4, K - 1), 0.2))
    assert found.converged
    close(slope_of(partial(penalised_loss, Z, y, w), found.B), 0.0, atol=1e-5)
    for loss, norm, B in list(zip(found.path.loss, found.path.gradient_norm, found.path.coef, strict=True))[:3]:
        close(loss, penalised_loss(Z, y, w, B))
        close(norm, np.linalg.norm(slope_of(partial(penalised_loss, Z, y, w), B)), rtol=1e-5, atol=1e-5)
    assert all(b <= a + 1e-9 for a, b in zip(found.path.loss, found.path.loss[1:], strict=False))
    assert found.path.step[-1] == 1.0
    close(found.path.coef[-1], found.B, rtol=1e-7)
    np.testing.assert_array_equal(found.last.gradient, search._look(rows)(found.path.coef[-1], True).gradient)
    for length, before, after in zip(found.path.step, found.path.coef, found.path.coef[1:], strict=False):
        assert np.log2(length) == round(np.log2(length))
        assert np.abs(after - before).max() > 0
    over = search.solve(rows, "auto", bias_reduction="firth")
    close(over.B, found.B, rtol=1e-6)


def test_firth_halves_a_step_that_leads_down():
    search, rows, Z, y, w = a_search(2)
    found = firth(rows, search.objective, search._look(rows), np.array([[4.0], [-4.0], [4.0], [-4.0]]))
    assert found.converged
    assert min(found.path.step) < 1
    assert all(np.log2(length) == round(np.log2(length)) for length in found.path.step)
    for k, length in enumerate(found.path.step[:-1]):
        step = (found.path.coef[k + 1] - found.path.coef[k]) / length
        tried = [penalised_loss(Z, y, w, found.path.coef[k] + 0.5**j * step) for j in range(int(-np.log2(length)) + 1)]
        assert all(value > found.path.loss[k] for value in tried[:-1])
        assert tried[-1] <= found.path.loss[k] + 1e-9


def test_firth_leaves_a_column_that_depends_on_others_at_its_start():
    search, rows, *_ = a_search(2)
    wide = Cut(np.column_stack([rows.X, rows.X[:, 0] + rows.X[:, 1]]), rows.y, rows.weight, 25)
    scaling = ColumnScaling(np.r_[search.objective.scaling.shift, 0.0], np.r_[search.objective.scaling.scale, 1.0])
    more = replace(search, objective=replace(search.objective, scaling=scaling))
    found = firth(wide, more.objective, more._look(wide), np.zeros((5, 1)))
    (left_out,) = found.aliased
    assert found.B[left_out] == 0
    assert found.converged
    alone = firth(rows, search.objective, search._look(rows), np.zeros((4, 1)))
    close(found.path.loss[-1] - alone.path.loss[-1], found.path.loss[0] - alone.path.loss[0], rtol=1e-6)


# --- gradient descent on least squares


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.5])
@pytest.mark.parametrize("form", ["centred", "plain", "constant"])
def test_descent_walks_down_the_sum_of_squares(form, alpha, weighted):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30, 3)) * [1.0, 20.0, 0.3] + [1.0, 5.0, 0.2], rng.uniform(0.5, 2, 30)
    Y = np.column_stack([X @ [1.0, 0.1, -3.0] + rng.standard_normal(30) + 4, rng.standard_normal(30)])
    if form == "constant" and alpha == 0:
        alpha = 1.0  # the constant is a column of its own only where it is penalised
    w = w if weighted else np.ones(30)
    gram = Gram.of(Block(X, Y, w if weighted else None)).select(None, form != "plain")
    solution = gram.solve(alpha, penalize_intercept=form == "constant")
    assert solution.form == form
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
        close(at.exact[0].to_float64(), at.coef)
        close(at.exact[1].to_float64(), at.intercept)
        if form == "centred":
            close(w @ R, 0.0, atol=1e-8)
    with pytest.warns(ConvergenceWarning):
        close(least_squares_descent(gram, solution, step=0.01, steps=3)[1].step, 0.01)


def test_descent_of_columns_that_are_zero_stays_where_it_starts():
    X = np.column_stack([np.arange(5.0), np.full(5, 3.0)])
    gram = Gram.of(Block(X, 2 * X[:, 0] + 1))
    moved, path = least_squares_descent(gram, gram.solve())
    close(moved.coef[:, 0], [2.0, 0.0], rtol=1e-7)
    flat = Gram.of(Block(X[:, 1:], np.arange(5.0)))
    moved, path = least_squares_descent(flat, flat.solve())
    assert len(path) == 1
    assert not moved.coef.any()
    close(moved.intercept, 2.0)


def test_a_descent_that_diverges_ends_before_its_numbers_do():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    gram = Gram.of(Block(X, X[:, 0] + rng.standard_normal(20)))
    with np.errstate(all="ignore"):
        _, path = least_squares_descent(gram, gram.solve(), step=1e60)
    assert not np.isfinite(path.gradient_norm[-1])
    assert np.isfinite(path.gradient_norm[:-1]).all()


# --- robust covariances of least squares


def regression(n=24, targets=2, weighted=True, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 30.0, 0.1] + [5.0, -7.0, 0.0]
    Y = (X @ rng.standard_normal((3, targets)) + rng.standard_normal((n, targets))) * [1.0, 100.0][:targets]
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    if weight is not None:
        weight[[3, 8]] = 0.0
    return X, Y, weight


FEATURES = {"dense": np.asarray, "sparse": sp.csr_matrix, "doubled": DoubleDouble.of}


@pytest.mark.parametrize("form", FEATURES)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_covariances_are_white_s_with_their_corrections(kind, intercept, weighted, form):
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
    meat = robust_meat(SingleBlockRows(block), solution, kind)
    assert meat.shape == (2, k, k)
    for t in range(2):
        expected = M @ (D * (factor * (w * R[:, t]) ** 2)[:, None]).T @ D @ M
        close(
            solution.inverse_root @ meat[t] @ solution.inverse_root.T,
            expected,
            rtol=1e-7,
            atol=1e-9 * abs(expected).max(),
        )


def test_a_row_of_leverage_one_leaves_hc3_unknown_and_hc1_known():
    X = np.column_stack([np.arange(6.0), [0, 0, 0, 0, 0, 1.0]])
    y = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 9.0])
    rows, solution = SingleBlockRows(Block(X, y)), Gram.of(Block(X, y)).solve()
    for kind in ("HC2", "HC3"):
        with pytest.warns(np.exceptions.RankWarning, match=f"{kind} is not known"):
            assert np.isnan(robust_meat(rows, solution, kind)).any()
    assert np.isfinite(robust_meat(rows, solution, "HC0")).all()
    assert np.isfinite(robust_meat(rows, solution, "HC1")).all()


def test_no_degrees_of_freedom_leave_no_correction():
    X, Y, _ = regression(n=4, weighted=False)
    rows, solution = SingleBlockRows(Block(X, Y)), Gram.of(Block(X, Y)).solve()
    assert solution.dof == 0
    assert np.isnan(robust_meat(rows, solution, "HC1")).all()
    assert np.isnan(clustered_meat(rows, solution, [1, 1, 2, 2])[0]).all()
    X, Y, _ = regression(n=5, weighted=False)
    rows, solution = SingleBlockRows(Block(X, Y)), Gram.of(Block(X, Y)).solve()
    assert solution.dof == 1
    close(robust_meat(rows, solution, "HC1"), 5 * robust_meat(rows, solution, "HC0"))
    assert np.isfinite(clustered_meat(rows, solution, [1, 1, 2, 2, 2])[0]).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_clustered_scores_are_summed_within_groups(weighted):
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
    said, clusters = clustered_meat(Cut(X, Y, weight), solution, groups)
    assert clusters == G
    for t in range(2):
        sums = np.array([(U * (w * R[:, t])[:, None])[groups == g].sum(axis=0) for g in names])
        close(said[t], G / (G - 1) * (n - 1) / (n - k) * sums.T @ sums)
    with pytest.raises(ValueError, match="at least two groups"):
        clustered_meat(Cut(X, Y, weight), solution, np.zeros(24))
    two = (np.arange(24) < 12).astype(int)
    assert np.isfinite(clustered_meat(Cut(X, Y, weight), solution, two)[0]).all()


def test_groups_are_numbered_and_gaps_refused():
    rows = as_rows(np.ones((4, 1)))
    codes, many = group_codes(rows, ["b", "a", "b", "c"])
    assert (codes.tolist(), many) == ([1, 0, 1, 2], 3)
    assert group_codes(Cut(np.ones((9, 1)), np.ones(9)), [3, 1])[1] == 2  # rows that nobody has counted
    for groups, message in (
        (np.ones((4, 1)), "one label a row"),
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
    assert of_block(codes, Block(X, start=3)).tolist() == [7, 8]
    assert of_block(codes, Block(X, start=1, kept=np.array([0, 3]))).tolist() == [5, 8]
    assert of_block(codes, Block(X[:0], start=5)).tolist() == []
    with pytest.raises(ValueError, match="5 labels, fewer than there are rows"):
        of_block(codes, Block(X, start=4))


# --- robust covariances of a logistic model


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_scores_are_the_gradients_of_each_row(K, reference, weighted):
    search, rows, Z, y, w = a_search(K, reference=reference, weighted=weighted)
    B = np.random.default_rng(1).standard_normal((4, K - 1))
    root = np.random.default_rng(2).standard_normal((4 * (K - 1), 4 * (K - 1)))
    one = np.ones(1)
    S = np.array(
        [-by_definition(Z[[i]], y[[i]], one, B, K, reference).gradient.T.reshape(-1) @ root for i in range(len(Z))]
    )
    W = S * w[:, None]  # weights are those of a sample: a row is one term of a sum of squares, whatever its weight
    k = root.shape[1]

    def meat(kind, n=50, groups=None):
        return score_meat(rows, search.objective, B, root, kind, n, groups)[0]

    close(meat("HC0"), W.T @ W)
    close(meat("HC1"), W.T @ W * 50 / (50 - k))
    assert np.isfinite(meat("HC1", k + 1)).all()
    assert np.isnan(meat("HC1", k)).all()
    assert np.isfinite(meat("HC0", k)).all()
    groups = np.random.default_rng(0).integers(0, 5, 60)
    groups[[4, 9]] = 7  # where rows are weighted, a group without weight
    names = sorted(set(groups[w > 0]))
    sums, G = np.array([W[groups == g].sum(axis=0) for g in names]), len(names)
    assert (5 if weighted else 6) == G
    close(meat("cluster", groups=groups), G / (G - 1) * 49 / (50 - k) * sums.T @ sums)
    assert np.isnan(meat("cluster", k, groups)).all()
    assert np.isfinite(meat("cluster", k + 1, groups)).all()
    with pytest.raises(ValueError, match="at least two groups"):
        meat("cluster", groups=np.zeros(60))
    assert np.isfinite(meat("cluster", groups=np.arange(60) % 2)).all()


# --- cross-validation


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
def test_fold_errors_are_those_of_the_other_folds_models(weighted, intercept):
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
        assert folds.without(1).n == (w[fold_of_row != 1] > 0).sum()
        close(float(folds.without(3).weight), w[fold_of_row != 3].sum())
        more = folds + folds
        assert [part.n for part in more.parts] == [2 * part.n for part in folds.parts]
        assert [part.n for part in (more - folds).parts] == [part.n for part in folds.parts]


def test_a_bad_number_is_named_by_its_row_and_not_its_fold():
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
def test_without_a_row_that_a_coefficient_hangs_on_the_shortest_coefficients_predict_it(weighted, intercept):
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


def test_a_ridge_path_is_ridge_in_the_units_of_the_user():
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


def test_directions_without_variation_are_left_alone():
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
def test_cross_products_in_the_units_of_the_user(unit):
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
