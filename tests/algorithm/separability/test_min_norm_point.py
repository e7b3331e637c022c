"""Tests of `min_norm_point`."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from separability_cases import dot, nearest_point

from linearly.algorithm.separability.min_norm_point import Corral, ExactCorral


def is_carried(corral: Corral) -> bool:
    members, weights = corral.members, corral.weights
    return (
        len(set(members)) == len(members) == len(weights)
        and (weights > 0).all()
        and weights.sum() == pytest.approx(1, rel=1e-12)
        and np.allclose(weights @ corral.rows[members], corral.x, rtol=0, atol=1e-12 * np.abs(corral.rows).max())
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(("n", "d"), [(4, 1), (12, 2), (40, 3), (60, 8), (300, 20)])
def test_the_corral_ends_at_the_nearest_point(n, d, scale):
    rng = np.random.default_rng(d)
    A = (rng.standard_normal((n, d)) + 2 * np.eye(d)[0] * math.sqrt(d) + 1) * scale
    expected = nearest_point(A / scale) * scale
    corral = Corral(d)
    corral.add(A[: n // 2])
    assert corral.run(1e-10) is True
    corral.add(A[n // 2 :])
    assert corral.run(1e-10) is True
    assert not corral.contains_origin
    np.testing.assert_allclose(corral.x / scale, expected / scale, atol=1e-7)
    assert is_carried(corral)
    assert (A @ corral.x >= (1 - 1e-9) * corral.x @ corral.x).all()


@pytest.mark.parametrize("seed", range(12))
def test_every_step_of_the_corral_comes_nearer(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    A = rng.standard_normal((30, d)) + rng.uniform(0.5, 2.0)
    corral = Corral(d)
    corral.add(A)
    last = math.inf
    for _ in range(200):
        settled = corral.run(1e-10, steps=1)
        distance = np.linalg.norm(corral.x)
        assert distance <= last * (1 + 1e-12)
        last = distance
        if settled:
            break
        assert settled is False
    assert corral.contains_origin or last == pytest.approx(np.linalg.norm(nearest_point(A)), rel=1e-8)
    assert is_carried(corral)


@pytest.mark.parametrize("seed", range(5))
def test_the_corral_without_a_gap_ends_at_any_direction_that_no_row_opposes(seed):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(6)
    A = rng.standard_normal((200, 6))
    A *= np.sign(A @ w)[:, None]
    corral = Corral(6)
    corral.add(A)
    assert corral.run() is True
    assert not corral.contains_origin
    assert (A @ corral.x > 0).all()
    assert is_carried(corral)
    assert np.linalg.norm(corral.x) >= np.linalg.norm(nearest_point(A)) * (1 - 1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(
    "A",
    [
        [[1.0, 0.1], [-1.0, 0.3], [0.1, -2.0], [4.0, 4.0]],
        [[0.3, 0.1, 0.7], [-0.21, -0.07, -0.49], [5.0, 1.0, 2.0]],
        [[0.0, 0.0], [1.0, 2.0]],
        [[-3.0], [0.7]],
    ],
)
def test_the_corral_touches_the_origin_in_the_hull(A, scale):
    corral = Corral(len(A[0]))
    corral.add(np.array(A) * scale)
    assert corral.run() is True
    assert corral.contains_origin
    assert is_carried(corral)
    assert np.abs(corral.weights @ corral.rows[corral.members]).max() <= 1e-12 * scale


def test_the_corral_begins_at_the_shortest_row():
    corral = Corral(2)
    corral.add(np.array([[3.0, 4.0], [1.0, 1.0], [5.0, 0.0]]))
    assert corral.run() is True
    assert corral.members == [1]
    assert corral.x.tolist() == [1.0, 1.0]


def exact_nearest(corral: ExactCorral) -> list[Fraction]:
    return [dot(corral.weights, column) for column in zip(*corral.points, strict=True)]


def is_nearest(corral: ExactCorral, points) -> bool:
    x = exact_nearest(corral)
    square = dot(x, x)
    assert sum(corral.weights) == 1
    assert min(corral.weights) > 0
    assert len(corral.ids) == len(corral.points) == len(corral.weights)
    shown = corral.x.tolist()
    assert dot(shown, x) > 0 or not any(x)
    assert all(s * b == t * a for s, a in zip(shown, x, strict=True) for t, b in zip(shown, x, strict=True))
    return all(dot(a, x) >= square for a in points)


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_corral_ends_at_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    points = (rng.integers(-6, 7, (12, d)) + seed % 5).astype(object)
    corral = ExactCorral()
    corral.enter(0, points[0])
    distances = []
    for _ in range(50):
        x = exact_nearest(corral)
        distances.append(dot(x, x))
        worst = min(range(12), key=lambda i: dot(points[i], x))
        if dot(points[worst], x) >= dot(x, x):
            break
        corral.enter(worst, points[worst])
    assert is_nearest(corral, points)
    assert all(a > b for a, b in pairwise(distances))
    assert all((points[i] == a).all() for i, a in zip(corral.ids, corral.points, strict=True))
    expected = nearest_point(points.astype(float))
    np.testing.assert_allclose(np.array(exact_nearest(corral), dtype=float), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_corral_goes_on_from_what_floats_left(seed):
    rng = np.random.default_rng(seed)
    points = (rng.integers(-5, 6, (5, 3)) + 2).astype(object)
    points[3] = points[0]
    weights = rng.uniform(-0.1, 0.5, 5)
    corral = ExactCorral()
    corral.start([40, 41, 42, 43, 44], points, weights)
    assert is_nearest(corral, corral.points)
    assert 43 not in corral.ids  # the same point as 40
    assert all((points[i - 40] == a).all() for i, a in zip(corral.ids, corral.points, strict=True))
