"""The choice of a method, the refinement of a solution, and the warnings about it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from least_squares_oracles import (
    check_solution,
    close,
    even,
    exactly,
    positive_weight_rows,
    rows,
)

from linearly.algorithm.least_squares import solver
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import RidgeProblem, Summarize
from linearly.algorithm.least_squares.triangular import (
    EPS,
)
from linearly.dataset.rows.block import Block
from linearly.exceptions import PrecisionWarning


class Few:
    """Rows in two blocks, of so many names, that may be readable only once."""

    def __init__(self, block: Block, names: int = 0, one_shot: bool = False) -> None:
        self.blocks = [block.take(slice(0, 11)), block.take(slice(11, None))]
        self.names, self.one_shot = ("x",) * (names or block.X.shape[1]), one_shot

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def reduce(self, f: Callable[[Block], object]) -> object:
        first, second = map(f, self.blocks)
        return first + second


class Endless:
    """Rows that nobody has counted."""

    one_shot = False

    def __init__(self, names: int) -> None:
        self.names = ("x",) * names


@pytest.mark.parametrize(
    ("rows", "method", "wanted"),
    [
        (Endless(3), "gram", ("gram",)),
        (Endless(3), "auto", ("gram", "extended")),
        (Endless(128), "auto", ("gram", "extended")),
        (Endless(129), "auto", ("auto", "qr", "extended")),
        (Endless(1000), "auto", ("auto", "qr", "extended")),
        (Endless(1001), "auto", ("auto", "qr")),
        (Few(rows(), 200), "auto", ("qr", "extended")),
        (Few(rows(200), 200), "auto", ("qr", "extended")),
        (Few(rows(201), 200), "auto", ("gram", "qr", "extended")),
        (Few(rows(), 2000), "auto", ("qr",)),
        (Few(rows(), one_shot=True), "auto", ("qr",)),
        (Few(rows(), one_shot=True), "extended", ("extended",)),
    ],
)
def test_candidate_methods_depend_on_rows_and_columns(rows, method, wanted):
    assert solver.candidate_methods(rows, method) == wanted


def test_summarize_returns_the_summary_of_the_method():
    block = rows()
    assert isinstance(Summarize("qr")(block), QRFactor)
    assert Summarize("extended")(block).is_extended
    for summary in (Summarize("gram")(block), Summarize("auto")(block).summary):
        assert isinstance(summary, Gram)
        assert not summary.is_extended
    assert [Summarize(m).takes_columns for m in ("auto", "gram", "qr", "extended")] == [True, True, False, False]


def test_solve_adaptively_stops_at_the_first_accurate_method():
    block = even(rows())
    low = solver.solve_adaptively(Few(block), RidgeProblem())
    assert (low.method, low.passes, type(low.summary)) == ("gram", 1, Gram)
    near = replace(block, X=np.column_stack([block.X, block.X[:, 0] + 1e-5 * block.X[:, 1]])[:, [0, 2, 3]])
    high = solver.solve_adaptively(Few(near), RidgeProblem())
    assert (high.method, high.passes) == ("extended", 2)
    assert solver.solve_adaptively(Few(near), RidgeProblem(), "gram").method == "gram"
    asked = solver.solve_adaptively(Few(block), RidgeProblem(), "extended")
    assert (asked.method, asked.passes) == ("extended", 2)
    ridge = solver.solve_adaptively(Few(block), RidgeProblem(0.5), "extended")
    assert (ridge.method, ridge.passes) == ("extended", 1)
    check_solution(ridge.solution, *positive_weight_rows(block), RidgeProblem(0.5))
    check_solution(asked.solution, *positive_weight_rows(block), RidgeProblem())


def test_solve_adaptively_refines_an_inaccurate_extended_solution():
    rng = np.random.default_rng(0)
    X = rng.integers(-99, 99, (20, 2)) / 64
    X[:, 1] = X[:, 0] + X[:, 1] * 2.0**-34
    block = Block(X, X[:, :1] + rng.integers(-99, 99, (20, 1)) / 64)
    found = solver.solve_adaptively(Few(block), RidgeProblem())
    assert (found.method, found.passes) == ("extended", 3)
    b, rss = exactly(X, block.y, np.ones(20))
    np.testing.assert_allclose(found.solution.coef, b[1:].astype(float), rtol=1e-15)
    np.testing.assert_allclose(found.solution.rss, rss.astype(float), rtol=1e-14)
    assert found.solution.digits > 15
    assert RidgeProblem() == RidgeProblem(alpha=0.0, intercept=True, penalize_intercept=False)


def test_is_accurate_enough_needs_ten_digits_and_a_certain_rank():
    found = RidgeProblem().solve(Gram.of(even(rows())))
    assert solver.is_accurate_enough(replace(found, digits_of_relevant_coefs=10.0))
    assert not solver.is_accurate_enough(replace(found, digits_of_relevant_coefs=9.9))
    assert not solver.is_accurate_enough(replace(found, rank_is_certain=False))


def test_rows_without_weight_or_targets_raise():
    X = np.ones((3, 1))
    with pytest.raises(ValueError, match="The data contain no rows to fit"):
        solver.check_has_rows_and_targets(Gram.of(Block(X, np.ones(3), np.zeros(3))))
    with pytest.raises(ValueError, match="no targets"):
        solver.check_has_rows_and_targets(Gram.of(Block(X)))
    solver.check_has_rows_and_targets(Gram.of(Block(X, np.ones(3))))
    with pytest.raises(ValueError, match="The data contain no rows to fit"):
        solver.solve_adaptively(Few(Block(np.ones((20, 1)), np.ones(20), np.zeros(20))), RidgeProblem())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("wrong", [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize("weighted", [True, False])
def test_refine_corrects_a_solution_and_measures_its_error(intercept, wrong, weighted):
    block = rows(20, weighted=weighted)
    gram = Gram.of(block, extended=True).select(None, intercept)
    start = gram.solve()
    coef, constant = start.extended
    factor = 1 + wrong * np.array([[1.0, -0.5], [-0.7, 0.2], [0.1, 0.9]])
    if intercept:
        moved = (start.mean[:, None] * (coef * factor - coef)).sum()
        constant = constant * (1 + 1e-6 * wrong) - moved
    off = replace(start, extended=(coef * factor, constant))
    found = solver.refine(Few(block), gram, off)
    b, rss = exactly(*positive_weight_rows(block), intercept)
    size = float(np.abs(b.astype(float)).max())
    for j in range(3):
        close(found.extended[0][j], b[j + intercept], max(1e-12 * wrong, 1e-26))
    if intercept:
        close(found.extended[1], b[0], max(1e-11 * wrong, 1e-26) * size)
        assert found.intercept == pytest.approx(b[0].astype(float), rel=1e-14)
    else:
        assert not found.intercept.any()
    np.testing.assert_array_equal(found.coef, found.extended[0].to_float64())
    np.testing.assert_allclose(found.rss, rss.astype(float), rtol=1e-13 if wrong < 1e-5 else 1e-9)
    assert found.digits == found.digits_of_relevant_coefs
    if wrong == 1e-4:
        assert found.digits == pytest.approx(8.0, abs=0.3)  # what was wrong, squared
    else:
        assert found.digits > 15


@pytest.mark.parametrize("feature", range(3))
def test_refine_measures_the_error_of_every_coefficient(feature):
    block = rows(20)
    gram = Gram.of(block, extended=True).select(None, False)
    start = gram.solve()
    factor = np.ones((3, 2))
    factor[feature, 1] = 1 - 1e-4
    found = solver.refine(Few(block), gram, replace(start, extended=(start.extended[0] * factor, start.extended[1])))
    assert found.digits == pytest.approx(8.0, abs=0.3)


@pytest.mark.parametrize(("unit", "y_unit"), [(1.0, 1.0), (2.0**40, 2.0**-30)])
def test_refine_compares_a_zero_coefficient_to_what_it_could_be(unit, y_unit):
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] * 5)
    y = 3 * X[:, 0] + X[:, 0] * X[:, 1]  # at right angles to the second column
    block = Block(X * unit, y * y_unit)
    gram = Gram.of(block, extended=True).select(None, False)
    start = gram.solve()
    off = start.extended[0] + np.array([[0.0], [1e-20]]) * y_unit / unit
    found = solver.refine(Few(block), gram, replace(start, extended=(off, start.extended[1])))
    most = math.sqrt(10.0)  # the length of y over that of the column
    assert found.digits == pytest.approx(-2 * math.log10(1e-20 / (EPS * most)), abs=1e-3)
    assert abs(found.coef[1, 0]) < 1e-30 * y_unit / unit


def warned(found: Solution, method: str = "gram", **options: bool) -> list[tuple[type, str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver.warn_rank_and_precision(found, [f"c{j}" for j in range(20)], method, **options)
    return [(w.category, str(w.message)) for w in caught]


def test_warns_about_aliased_columns():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    assert warned(fine) == []
    [(kind, message)] = warned(replace(fine, aliased=(1, 3)))
    assert kind is np.exceptions.RankWarning
    assert message.startswith("Columns 'c1', 'c3' are constant or combinations of the preceding columns.")
    [(_, message)] = warned(replace(fine, aliased=(1,), rank_is_certain=False), "qr")
    assert "(according to method 'qr')" in message
    [(_, message)] = warned(replace(fine, aliased=tuple(range(8))))
    assert message.startswith("Columns 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7' are constant")
    [(_, message)] = warned(replace(fine, aliased=tuple(range(10))))
    assert "'c7' and 2 more are constant" in message
    assert "'c8'" not in message


def test_warns_about_lost_digits():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    poor = replace(fine, digits=6.2, digits_of_relevant_coefs=7.0)
    [(kind, message)] = warned(poor)
    assert kind is PrecisionWarning
    assert message.startswith("Only about 6 digits of the coefficients are correct")
    assert message.endswith('Use method="extended" for more digits. See docs/warnings.md#precisionwarning.')
    assert "Use larger alphas or fewer columns for more digits. See" in warned(poor, free=False)[0][1]
    assert warned(poor, "extended")[0][1].endswith(
        "Drop or combine columns for more digits. See docs/warnings.md#precisionwarning."
    )
    assert warned(replace(fine, digits_of_relevant_coefs=10.0, digits=3.0)) == []
    # A perfect fit has no digits in its residuals, unless its columns are too close to each other.
    perfect = replace(poor, rss=poor.tss * 1e-29)
    assert warned(perfect) == []
    assert len(warned(replace(perfect, condition=1e6))) == 1
    assert len(warned(replace(perfect, rss=poor.tss * [1e-29, 1e-3]))) == 1


def test_warns_about_lost_digits_of_standard_errors():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    assert warned(replace(fine, error_digits=10.0), "extended") == []
    poor = replace(fine, error_digits=7.2)
    assert not solver.is_accurate_enough(poor)
    for method, remedy in (("extended", "drop or combine columns."), ("qr", 'Use method="extended" for more digits.')):
        [(kind, message)] = warned(poor, method)
        assert kind is PrecisionWarning
        assert message.startswith("Only about 7 digits of the standard errors")
        assert message.endswith(f"{remedy} See docs/warnings.md#precisionwarning.")
    assert warned(poor, errors=False) == []
    assert "drop or combine columns. See" in warned(poor, free=False)[0][1]
    # A model file written before says so by its condition only.
    older = replace(fine, error_digits=None, condition=1e12)
    assert solver.digits_of_standard_errors(older) == pytest.approx(-2 * math.log10(EPS * 1e12))
    assert solver.digits_of_standard_errors(replace(older, condition=0.0)) == 16.0
    assert solver.digits_of_standard_errors(replace(older, condition=1e17)) == 0.0


def test_warns_about_squares_that_leave_float64():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    assert not solver._squares_overflow(fine)
    none = np.zeros(2)
    for lost in (
        replace(fine, tss=np.array([1.0, np.inf])),
        replace(fine, tss=none, rss=none),
        replace(fine, tss=none, rss=none, coef=-np.abs(fine.coef)),
        replace(fine, tss=np.array([1.0, 0.0]), rss=np.array([0.5, 0.0])),
        replace(fine, rss=np.array([1e-310, 1.0])),
        replace(fine, tss=np.full(2, 1e-305), rss=none),
    ):
        assert solver._squares_overflow(lost)
        assert (PrecisionWarning, warned(lost)[-1][1]) == warned(lost)[-1]
        assert warned(lost)[-1][1].startswith("Squaring y exceeds the float64 range")
    for kept in (
        replace(fine, rss=none),
        replace(fine, tss=none, rss=none, coef=0 * fine.coef),
        replace(fine, tss=np.array([1.0, 0.0]), rss=np.array([0.5, 0.0]), coef=fine.coef * [1.0, 0.0]),
        replace(fine, tss=none, rss=fine.rss),
    ):
        assert not solver._squares_overflow(kept)


def test_check_coefficients_finite_names_the_column():
    fine = RidgeProblem().solve(QRFactor.of(even(rows())))
    solver.check_coefficients_finite(fine, "abc")
    coef = fine.coef.copy()
    coef[1, 1] = np.inf
    with pytest.raises(ValueError, match="The coefficient of 'b' exceeds the float64 range"):
        solver.check_coefficients_finite(replace(fine, coef=coef), "abc")
    with pytest.raises(ValueError, match="The intercept exceeds the float64 range"):
        solver.check_coefficients_finite(replace(fine, intercept=np.array([1.0, np.nan])), "abc")
