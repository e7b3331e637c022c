"""The compiled route of small fits gives the bits of the NumPy route, and leaves the difficult cases to it."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from conftest import require

from linearly import LinearRegression, kernels
from linearly.algorithm.least_squares import gram as gram_module
from linearly.algorithm.least_squares.gram import Gram, target_matrix
from linearly.algorithm.least_squares.small_solve import solve_small
from linearly.algorithm.least_squares.solution import Solution
from linearly.dataset.rows.block import Block
from linearly.kernels.double_double import DoubleDouble
from linearly.models.least_squares_base import _far_from_zero

COMPILED = kernels.kernels_in_use() != "NumPy reference"


def bits(value):
    if isinstance(value, DoubleDouble):
        return bits(value.high) + bits(value.low)
    if isinstance(value, tuple):
        return b"".join(map(bits, value))
    if value is None or isinstance(value, str):
        return repr(value).encode()
    array = np.asarray(value, dtype=np.float64)
    return array.tobytes() + repr(array.shape).encode()


def random_block(rng):
    n = int(rng.integers(5, 300))
    p, k = int(rng.integers(1, min(n - 1, 30))), int(rng.integers(1, 3))
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    X = X * 10.0 ** rng.integers(-3, 4, p) + 10.0 ** rng.integers(-2, 3) * rng.standard_normal(p)
    Y = X @ rng.standard_normal((p, k)) + 10.0 ** rng.integers(0, 4) * rng.standard_normal((n, k))
    X = np.asfortranarray(X) if rng.random() < 0.3 else X
    return Block(X.astype(np.float32) if rng.random() < 0.2 else X, Y[:, 0] if k == 1 else Y)


def test_small_solve_random_fits_same_bits_as_numpy(monkeypatch):
    require(COMPILED, "the compiled kernels are not in use")
    rng, summaries, solutions = np.random.default_rng(5), 0, 0
    for _ in range(100):
        block = random_block(rng)
        with monkeypatch.context() as numpy_only:
            numpy_only.setattr(kernels, "centred_gram", lambda *_: None)
            numpy_only.setattr(kernels, "column_scaling", lambda *_: None)
            numpy_only.setattr(gram_module, "solve_small", lambda *_: None)
            ordinary = Gram.of(block)
            expected = ordinary.solve()
        summaries += kernels.centred_gram(block.X, target_matrix(block)) is not None
        gram = Gram.of(block)
        for name in ("n", "weight", "log_weight", "p", "mean", "centered_crossprod", "rounding"):
            assert bits(getattr(gram, name)) == bits(getattr(ordinary, name)), name
        assert bits((gram.scaling.shift, gram.scaling.scale)) == bits((ordinary.scaling.shift, ordinary.scaling.scale))
        found = solve_small(gram)
        if found is None:
            continue
        solutions += 1
        assert found.is_far == _far_from_zero(expected)
        for field in fields(Solution):
            if field.name != "is_far":
                assert bits(getattr(found, field.name)) == bits(getattr(expected, field.name)), field.name
    assert summaries > 66
    assert solutions > 50


@pytest.mark.parametrize("case", ["constant", "aliased", "perfect", "far", "huge", "zero"])
def test_small_solve_difficult_rows_leaves_them_to_numpy(case):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3))
    y = X @ np.ones(3) + rng.standard_normal(50)
    match case:
        case "constant":
            X[:, 1] = 3.0
        case "aliased":
            X[:, 2] = X[:, 0] + X[:, 1]
        case "perfect":
            y = X @ np.ones(3)
        case "far":
            X[0] = 1e9
        case "huge":
            X, y = X * 1e200, y * 1e200
        case "zero":
            y = np.zeros(50)
    gram = Gram.of(Block(X, y))
    assert solve_small(gram) is None


def test_small_solve_no_extension_gives_none(monkeypatch):
    block = Block(np.arange(20.0).reshape(10, 2) ** 1.5, np.arange(10.0) ** 2)
    gram = Gram.of(block)
    monkeypatch.setattr(kernels, "_compiled", None)
    assert kernels.centred_gram(block.X, target_matrix(block)) is None
    assert solve_small(gram) is None


def test_deferred_solution_pickled_or_replaced_has_every_field():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 3))
    model = LinearRegression().fit(X, X[:, 0] + rng.standard_normal(40))
    again = pickle.loads(pickle.dumps(model))
    assert bits(again.solution_.inverse_root) == bits(model.solution_.inverse_root)
    assert bits(again.std_errors()) == bits(model.std_errors())
    assert replace(model.solution_, alpha=1.0).condition == model.solution_.condition
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = model.solution_.colour


@pytest.mark.parametrize("outputs", [1, 2])
def test_std_errors_without_a_penalty_are_the_roots_of_the_diagonal_of_the_covariance(outputs):
    rng = np.random.default_rng(4)
    for p in (1, 3, 9, 70):
        X = rng.standard_normal((3 * p + 5, p)) * 10.0 ** rng.integers(-3, 4, p)
        Y = X @ rng.standard_normal((p, outputs)) + rng.standard_normal((len(X), outputs))
        model = LinearRegression().fit(X, Y if outputs > 1 else Y[:, 0])
        covariance = np.reshape(model.covariance_, (outputs, 1 + p, 1 + p))
        expected = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)).T
        np.testing.assert_allclose(model.std_errors(), expected, rtol=1e-13)
