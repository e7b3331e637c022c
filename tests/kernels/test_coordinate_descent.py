"""Coordinate descent: the compiled sweeps equal those in NumPy, and end at the lasso."""

import numpy as np
import pytest
from conftest import require

from linearly import kernels
from linearly.kernels import reference

compiled = kernels._compiled


def problem(n=37, p=23):
    rng = np.random.default_rng(0)
    columns = np.asfortranarray(rng.standard_normal((n, p)))
    places = rng.permutation(p)[:15]
    squares = (columns[:, places] ** 2).sum(axis=0)
    y = columns[:, places[:4]].sum(axis=1) + rng.standard_normal(n)
    return columns, places, squares, rng.uniform(0.0, 20.0, 15), rng.uniform(0.0, 2.0, 15), np.zeros(15), y


@pytest.mark.parametrize("most", [1, 2, 13, 500])
def test_sweeps_of_every_instruction_set_equal_the_reference(most):
    require(compiled is not None, "needs the compiled kernels")
    before = compiled.instruction_set()
    try:
        for name in compiled.instruction_sets():
            compiled.use_instruction_set(name)
            found = kernels.coordinate_descent(*problem(), 1e-9, most)
            for a, b in zip(found, reference.coordinate_descent(*problem(), 1e-9, most), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
    finally:
        compiled.use_instruction_set(before)


def test_the_end_satisfies_the_optimality_conditions_and_the_residual():
    columns, places, _, lam, mu, start, y = problem()
    w, residual = kernels.coordinate_descent(*problem(), 1e-12, 10_000)
    D = columns[:, places]
    np.testing.assert_allclose(residual, y - D @ w, atol=1e-10)
    slope, active = D.T @ residual - mu * w, w != 0
    assert 0 < active.sum() < len(w)
    np.testing.assert_allclose(slope[active], (lam * np.sign(w))[active], atol=1e-9)
    assert (np.abs(slope) <= lam + 1e-9).all()
    assert (start == 0).all()  # its argument is not changed


def test_coordinate_descent_with_a_place_outside_the_columns_raises():
    require(compiled is not None, "needs the compiled kernels")
    columns, places, *rest = problem()
    for wrong in (-1, columns.shape[1]):
        with pytest.raises(ValueError, match="places"):
            kernels.coordinate_descent(columns, np.append(wrong, places[1:]), *rest, 1e-9, 5)


def test_numbers_of_another_length_are_refused():
    require(compiled is not None, "needs the compiled kernels")
    columns, places, squares, *rest = problem()
    with pytest.raises(ValueError, match="shape"):
        kernels.coordinate_descent(columns, places, squares[1:], *rest, 1e-9, 5)
