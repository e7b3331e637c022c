"""Inverse roots of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from linearly.algorithm.least_squares.whitening import whiten
from linearly.kernels.double_double import DoubleDouble


@pytest.mark.parametrize("doubled", [False, True])
def test_whiten_gives_an_identity_on_independent_columns(doubled):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 9, (12, 4)) * [1.0, 64.0, 2.0**-9, 1.0]
    X[:, 3] = X[:, 0] - X[:, 1] / 2
    A = X.T @ X
    found = whiten(DoubleDouble.of(A) if doubled else A)
    assert found.aliased == (3,)
    assert found.root.shape == (4, 3)
    np.testing.assert_allclose(found.root.T @ A @ found.root, np.eye(3), atol=1e-10)
    assert not found.root[3].any()
    inverse = np.linalg.inv(A[:3, :3])
    np.testing.assert_allclose((found.root @ found.root.T)[:3, :3], inverse, rtol=1e-9, atol=1e-9 * inverse.max())
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(A[:3, :3])[1], rel=1e-12)
    size = np.sqrt(np.diagonal(A))[:3]
    assert found.condition == pytest.approx(np.sqrt(np.linalg.cond(A[:3, :3] / size / size[:, None])), rel=3)
    assert 1 <= found.condition < 9
    assert found.digits > 13
    empty = whiten(np.zeros((2, 2)))
    assert (empty.aliased, empty.root.shape, empty.log_determinant) == ((0, 1), (2, 0), 0.0)


def test_whiten_in_double_double_has_more_digits():
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
