"""Gram and R factor of rows against their definition: sums, differences, scalings, selections, rounding bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from least_squares_oracles import (
    SUMMARIES,
    close,
    correlated_rows,
    fractions,
    positive_weight_rows,
    rows,
)

import linearly as ly
from linearly.algorithm.least_squares import gram, triangular
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.solver import Summarize
from linearly.algorithm.least_squares.triangular import (
    EPS,
)
from linearly.dataset.rows.block import Block, as_rows
from linearly.dataset.rows.column_matrix import ColumnMatrix
from linearly.kernels.double_double import DoubleDouble


def moments(summary: Gram | QRFactor) -> tuple[float, np.ndarray, np.ndarray]:
    """Weight, means and centred products of [X | Y] in the user's units."""
    unit, shift = summary.scaling.scale, summary.scaling.shift
    if isinstance(summary, Gram):
        weight, mean, cross = map(triangular.to_float64, (summary.weight, summary.mean, summary.centered_crossprod))
    else:
        R = summary.R
        np.testing.assert_array_equal(R, np.triu(R))
        weight, mean, cross = summary.weight, R[0, 1:] / R[0, 0], R[1:, 1:].T @ R[1:, 1:]
    return float(weight), shift + unit * mean, cross * unit * unit[:, None]


def check_summary(summary: Gram | QRFactor, block: Block) -> None:
    """The summary is that of the rows by its definition."""
    X, Y, w = positive_weight_rows(block)
    Z = np.hstack([X, Y])
    mean = w @ Z / w.sum()
    cross = (w[:, None] * (Z - mean)).T @ (Z - mean)
    weight, found_mean, found_cross = moments(summary)
    size = np.sqrt(np.diagonal(cross))
    assert (summary.n, summary.p) == (len(w), X.shape[1])
    assert weight == pytest.approx(w.sum(), rel=1e-13)
    assert summary.log_weight == pytest.approx(np.log(w).sum(), abs=1e-12)
    np.testing.assert_allclose((found_mean - mean) / size, 0, atol=1e-12)
    np.testing.assert_allclose((found_cross - cross) / size / size[:, None], 0, atol=1e-11)
    np.testing.assert_allclose(summary.centered_norms**2, np.diagonal(cross)[: X.shape[1]], rtol=1e-11)


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_summary_agrees_with_its_definition(name, weighted):
    check_summary(SUMMARIES[name](rows(weighted=weighted)), rows(weighted=weighted))


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_summary_of_sparse_rows_is_that_of_dense_rows(name, weighted):
    block = rows(weighted=weighted)
    X = np.where(np.random.default_rng(0).random(block.X.shape) < 0.5, 0.0, block.X)
    check_summary(SUMMARIES[name](replace(block, X=sp.csr_matrix(X), y=block.y)), replace(block, X=X))
    X = X[3:-1]
    alone = SUMMARIES[name](Block(sp.csr_matrix(X)))
    assert (alone.p, len(alone.scaling.scale)) == (3, 3)
    np.testing.assert_allclose(alone.centered_norms**2, ((X - X.mean(0)) ** 2).sum(0), rtol=1e-11)


def test_gram_of_separate_columns_is_that_of_the_matrix():
    block = rows()
    apart = ColumnMatrix([np.ascontiguousarray(column) for column in block.X.T])
    check_summary(Gram.of(replace(block, X=apart)), block)
    check_summary(Gram.of(replace(block, X=apart), extended=False), block)


def test_extended_gram_keeps_thirty_digits():
    X, Y, w = positive_weight_rows(rows(12))
    found = Gram.of(Block(X, Y, w), extended=True)
    Z = (fractions(np.hstack([X, Y])) - fractions(found.scaling.shift)) / fractions(found.scaling.scale)
    W = fractions(w)
    mean = W @ Z / W.sum()
    close(found.mean, mean, 1e-28)
    close(found.centered_crossprod, ((Z - mean).T * W) @ (Z - mean), 1e-28)
    assert abs(fractions(found.weight) - W.sum()) < 1e-29
    low = X * 1e-20
    Z[:, :3] = (fractions(X) + fractions(low) - fractions(found.scaling.shift[:3])) / fractions(found.scaling.scale[:3])
    finer = Gram.of(Block(DoubleDouble(X, low), Y, w), extended=True)
    mean = W @ Z / W.sum()
    close(finer.mean, mean, 1e-28)
    assert found.is_extended
    rough = found.in_float64()
    assert not rough.is_extended
    assert rough.in_float64() is rough
    for part in ("weight", "mean", "centered_crossprod"):
        np.testing.assert_array_equal(getattr(rough, part), getattr(found, part).to_float64())


@pytest.mark.parametrize("name", SUMMARIES)
def test_summary_rescales_if_the_sampled_scaling_overflows(name):
    X = np.zeros((6400, 2))
    X[33, 0], X[1::2, 1] = 1e200, 1e-200  # neither is seen in a few of the rows
    y = np.arange(6400.0)
    for weight in (None, np.where(np.arange(6400) == 6399, 0.0, 1.0)):
        block = Block(X, y[:, None], weight)
        found = SUMMARIES[name](block)
        here, _, w = positive_weight_rows(block)
        scaled = here / found.scaling.scale[:2]
        in_units = replace(found, scaling=ColumnScaling(np.zeros(3), np.ones(3)))
        wanted = (w[:, None] * (scaled - w @ scaled / w.sum()) ** 2).sum(axis=0)
        np.testing.assert_allclose(in_units.centered_norms**2, wanted, rtol=1e-9)
        assert (wanted > 1e-30).all()
        assert found.n == len(w)
    if name == "gram":
        apart = Gram.of(Block(ColumnMatrix([X[:, 0].copy(), X[:, 1].copy()]), y[:, None]))
        whole = Gram.of(Block(X, y[:, None]))
        np.testing.assert_array_equal(apart.scaling.scale, whole.scaling.scale)
        np.testing.assert_allclose(apart.centered_crossprod, whole.centered_crossprod, rtol=1e-12)


@pytest.mark.parametrize("name", SUMMARIES)
def test_summary_of_a_bad_number_names_its_row(name):
    X = np.ones((4, 2))
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN: row 2, column 1"):
        SUMMARIES[name](Block(X, np.ones(4)))
    if name != "extended":
        X[2, 1] = np.inf
        with pytest.raises(ValueError, match="X contains infinity: row 2, column 1"):
            SUMMARIES[name](Block(X, np.ones(4)))


def halves(block: Block, factor: float) -> tuple[Block, Block]:
    """Two parts of the rows, the second of which has columns far larger: they do not share a scaling."""
    first, second = block.take(slice(0, 11)), block.take(slice(11, None))
    return first, replace(second, X=second.X * factor, y=second.y * factor)


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("factor", [1.0, 1e9, 1e-9])
def test_sum_of_summaries_is_that_of_all_rows(name, factor):
    first, second = halves(rows(), factor)
    whole = Block(np.vstack([first.X, second.X]), np.vstack([first.y, second.y]), np.r_[first.weight, second.weight])
    a, b = SUMMARIES[name](first), SUMMARIES[name](second)
    check_summary(a + b, whole)
    check_summary(b + a, whole)
    nothing = SUMMARIES[name](replace(first, weight=np.zeros(11)))
    assert nothing.n == 0
    assert nothing + a is a
    assert a + nothing is a


@pytest.mark.parametrize("name", ["gram", "extended"])
@pytest.mark.parametrize("factor", [1.0, 9.0, 0.2])
def test_difference_is_the_summary_of_the_remaining_rows(name, factor):
    first, second = halves(rows(), factor)
    a, b = SUMMARIES[name](first), SUMMARIES[name](second)
    check_summary((a + b) - b, first)
    check_summary((b + a) - a, second)
    check_summary((a + b) - b.in_float64(), first)
    check_summary((a + b).in_float64() - b, first)
    nothing = SUMMARIES[name](replace(first, weight=np.zeros(11)))
    assert a - nothing is a
    assert ((a + b) - b).is_extended == (name == "extended")


def test_sum_of_both_kinds_of_numbers_is_in_float64():
    first, second = halves(rows(), 1.0)
    whole = rows()
    for a, b in ((True, False), (False, True)):
        both = Gram.of(first, extended=a) + Gram.of(second, extended=b)
        assert not both.is_extended
        check_summary(both, whole)


@pytest.mark.parametrize("name", ["gram", "extended"])
def test_removing_rows_that_were_never_added_raises(name):
    of = SUMMARIES[name]
    block = rows(40, weighted=False)
    whole, part = of(block), of(block.take(slice(0, 10)))
    with pytest.raises(ValueError, match="40 rows cannot be removed from 10"):
        part - whole
    with pytest.raises(ValueError, match="every row"):
        whole - of(block)
    heavy = replace(block.take(slice(0, 10)), weight=np.full(10, 4.0))
    for weight in (4.0, 9.0):  # all of it, and more
        with pytest.raises(ValueError, match="more weight than the fit"):
            whole - of(replace(heavy, weight=np.full(10, weight)))
    other = replace(block.take(slice(0, 10)), X=block.X[:10] * [1.0, 30.0, 1.0])
    with pytest.raises(ValueError, match="a variance would be negative"):
        whole - of(other)
    turned = replace(block.take(slice(0, 20)), y=-0.5 * block.y[:20] + block.y[:20].mean(0) * 1.5)
    with pytest.raises(ValueError, match="a sum of squares would be negative"):
        whole - of(turned)


@pytest.mark.parametrize(("left", "spoilt"), [(1e-2, False), (1e-5, True)])
def test_removing_rows_raises_if_fewer_than_ten_digits_remain(left, spoilt):
    X = np.random.default_rng(0).standard_normal((20, 2))
    X[:10, 1] *= left
    block = Block(X, X.sum(axis=1) ** 2)
    whole, part = Gram.of(block), Gram.of(block.take(slice(10, None)))
    if spoilt:
        with pytest.raises(ValueError, match=r"column 1 of \[X \| Y\] would keep too little"):
            whole - part
    else:
        check_summary(whole - part, Block(X[:10], block.y[:10, None]))
    finer = Gram.of(block, extended=True) - Gram.of(block.take(slice(10, None)), extended=True)
    check_summary(finer, Block(X[:10], block.y[:10, None]))


def test_removing_rows_accepts_a_constant_column():
    X = np.column_stack([np.full(9, 4.0), np.arange(9.0)])
    block = Block(X, np.arange(9.0) ** 2)
    rest = Gram.of(block) - Gram.of(block.take(slice(0, 3)))
    assert rest.centered_norms.tolist() == [0.0, pytest.approx(np.sqrt(17.5))]


@pytest.mark.parametrize("name", SUMMARIES)
def test_rescaled_summary_is_that_of_the_same_rows(name):
    block = rows()
    summary = SUMMARIES[name](block)
    moves, factors = np.array([1.0, -3e4, 1e-3, 5.0, 1e-4]), np.array([2.0, 0.25, 1.0, 8.0, 0.5])
    other = ColumnScaling(summary.scaling.shift + moves, summary.scaling.scale * factors)
    moved = summary.rescaled(other)
    assert moved.scaling is other
    check_summary(moved, block)
    check_summary(summary.rescaled(ColumnScaling(other.shift, summary.scaling.scale)), block)
    check_summary(summary.rescaled(ColumnScaling(summary.scaling.shift, other.scale)), block)


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("features", [None, [2, 0], [1], slice(1, None), [True, False, True]])
def test_select_is_the_summary_of_the_selected_features(name, features):
    block = rows()
    summary = SUMMARIES[name](block)
    part = summary.select(features, False)
    assert not part.intercept
    assert summary.select(features).intercept
    check_summary(part, replace(block, X=block.X if features is None else block.X[:, features]))


def test_gram_without_weight_has_mean_zero():
    nothing = Gram.centred(np.zeros((3, 3)), 0, 0.0, 1, ColumnScaling(np.zeros(2), np.ones(2)))
    assert nothing.mean.tolist() == [0.0, 0.0]
    light = Gram.centred(np.array([[0.5, 1.0], [1.0, 5.0]]), 1, 0.0, 1, ColumnScaling(np.zeros(1), np.ones(1)))
    assert (light.mean.tolist(), light.centered_crossprod.tolist()) == ([2.0], [[3.0]])


def test_weight_statistics_count_rows_of_positive_weight():
    assert gram.weight_statistics(None, 7) == (7, 0.0)
    assert gram.weight_statistics(np.array([0.0, 2.0, 0.5, 8.0]), 4) == (3, pytest.approx(math.log(8.0)))


def test_target_matrix_has_one_column_per_target():
    assert gram.target_matrix(Block(np.ones((2, 1)))) is None
    assert gram.target_matrix(Block(np.ones((2, 1)), np.array([1, 2]))).tolist() == [[1.0], [2.0]]
    assert gram.target_matrix(Block(np.ones((2, 1)), np.array([[1, 2], [3, 4]]))).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_high_low_parts_of_features():
    X = np.arange(4.0).reshape(2, 2)
    assert gram.high_low_parts(X) == (X, None)
    high, low = gram.high_low_parts(DoubleDouble(X, X * 1e-20))
    assert (high.tolist(), low.tolist()) == (X.tolist(), (X * 1e-20).tolist())
    dense, none = gram.high_low_parts(sp.csr_matrix(X))
    assert (dense.tolist(), none) == (X.tolist(), None)


def test_rounding_of_new_rows_is_that_of_squares_about_the_shift():
    here = ColumnScaling(np.zeros(4), np.ones(4))
    cross = np.diag([2.0, 8.0, 0.0, 1e-20])
    found = Gram(1, np.float64(4.0), 0.0, 3, here, np.array([1.0, 30.0, 0.0, 1.0]), cross)
    np.testing.assert_allclose(found.rounding / EPS, np.array([4.0, 6.0, 3608.0, 0.0, 4.0]) * (1 + 1 / 64))
    finer = replace(
        found,
        centered_crossprod=DoubleDouble.of(cross),
        mean=DoubleDouble.of(found.mean),
        weight=DoubleDouble.of(4.0),
        rounding=None,
    )
    np.testing.assert_allclose(finer.rounding, found.rounding * EPS)
    assert finer.in_float64().rounding == pytest.approx(found.single_rounding())


def test_solve_treats_a_column_of_rounding_errors_as_constant():
    whole = Gram.of(rows())
    cross, mean = whole.centered_crossprod.copy(), whole.mean.copy()
    mean[1] = 1.0
    cross[1] = cross[:, 1] = 1e-16 * np.array([3.0, 2.0, -1.0, 7.0, 5.0])
    spoilt = replace(whole, centered_crossprod=cross, mean=mean, rounding=None)
    found, alone = spoilt.solve(), whole.select([0, 2]).solve()
    assert (found.aliased, found.rank, found.rank_is_certain) == ((1,), 2, False)
    np.testing.assert_allclose(found.coef, np.insert(alone.coef, 1, 0.0, axis=0), rtol=1e-11, atol=1e-30)
    np.testing.assert_allclose(found.rss, alone.rss, rtol=1e-12)
    np.testing.assert_allclose(found.intercept, alone.intercept, rtol=1e-11)
    assert found.digits == pytest.approx(alone.digits, abs=1)
    assert not spoilt.solve(0.5).coef[1].any()


@pytest.mark.parametrize("form", ["centred", "plain", "constant"])
@pytest.mark.parametrize("name", ["gram", "extended"])
def test_normal_equations_are_those_of_the_design(name, form):
    block = rows()
    X, Y, w = positive_weight_rows(block)
    mean = w / w.sum()
    D = {"centred": X - mean @ X, "plain": X, "constant": np.column_stack([np.ones(len(X)), X])}[form]
    Y = Y - mean @ Y if form == "centred" else Y
    A, C, total, unit, y_unit = SUMMARIES[name](block).normal_equations(form)
    A, C, total = map(triangular.to_float64, (A, C, total))
    assert len(unit) == D.shape[1]
    size = np.sqrt((w[:, None] * D**2).sum(0))
    y_size = np.sqrt((w[:, None] * Y**2).sum(0))
    found = A * (unit / size) * (unit / size)[:, None]
    np.testing.assert_allclose(found, (D / size * w[:, None]).T @ (D / size), atol=1e-11)
    found = C * (unit / size)[:, None] * (y_unit / y_size)
    np.testing.assert_allclose(found, (D / size * w[:, None]).T @ (Y / y_size), atol=1e-11)
    np.testing.assert_allclose(total * (y_unit / y_size) ** 2, 1.0, rtol=1e-11)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("features", [[0, 1], [3, 1, 4], [2]])
@pytest.mark.parametrize("summary", [Gram, QRFactor])
def test_solve_of_selected_features_is_that_of_their_columns(summary, features, intercept):
    rows = correlated_rows()
    part = summary.of(rows).select(features, intercept).solve()
    alone = summary.of(Block(rows.X[:, features], rows.y)).select(None, intercept).solve()
    np.testing.assert_allclose(part.coef, alone.coef, rtol=1e-11)
    np.testing.assert_allclose(part.intercept, alone.intercept, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(part.rss, alone.rss, rtol=1e-10)
    assert part.rank == len(features)


def test_subtraction_that_loses_nearly_dependent_columns_claims_no_digits():
    rng = np.random.default_rng(1)
    X, other = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    X[:, 1] = X[:, 0] + 1e-8 * X[:, 1]
    X += 100
    part = ly.LinearRegression().fit(X, X[:, 0] + rng.normal(size=30))
    rest = ly.LinearRegression().fit(other, rng.normal(size=20))
    assert ly.glance(part)["digits"][0] > 14
    with pytest.warns(np.exceptions.RankWarning, match="dependence is exact"):
        again = (part + rest) - rest
    assert again.solution_.aliased == (1,)  # though it is not
    assert ly.glance(again)["digits"][0] == 0
    assert "Sums in float64 do not determine these terms: Intercept, x0, x1." in str(again.summary())


def test_solve_in_float64_is_not_certain_of_a_rank():
    rows = correlated_rows()
    X = np.column_stack([rows.X, rows.X[:, 0] + rows.X[:, 1]])
    with pytest.warns(np.exceptions.RankWarning, match=r"'x5' is .*\(according to method 'gram'\)"):
        ly.LinearRegression(method="gram").fit(X, rows.y)
    with pytest.warns(
        np.exceptions.RankWarning, match=r"Column 'x5' is constant or a combination of the preceding columns\."
    ):
        ly.LinearRegression(method="qr").fit(X, rows.y)


def sparse_problem(density: float, weighted: bool) -> tuple[sp.csr_array, np.ndarray, np.ndarray | None]:
    rng = np.random.default_rng(17)
    X = sp.random_array((700, 150), density=density, format="csr", rng=rng)
    return X, X[:, :9].sum(axis=1) + rng.standard_normal(700), rng.uniform(0.5, 2, 700) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("density", [0.03, 0.125, 0.4])
def test_gram_sparse_rows_of_any_density_agrees_with_extended(density, weighted):
    X, y, weight = sparse_problem(density, weighted)
    found = ly.LinearRegression().fit(X, y, weight)
    extended = ly.LinearRegression(method="extended").fit(X.toarray(), y, weight)
    assert found.method_ == "gram"
    np.testing.assert_allclose(found.coef_, extended.coef_, rtol=0, atol=1e-13 * np.abs(extended.coef_).max())
    np.testing.assert_allclose(found.std_errors(), extended.std_errors(), rtol=1e-12)


@pytest.mark.parametrize("density", [0.03, 0.4])
def test_gram_sparse_rows_permuted_split_or_repeated_gives_same_fit(density):
    X, y, _ = sparse_problem(density, False)
    whole = ly.LinearRegression().fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    split = ly.LinearRegression().fit(X[:350], y[:350]) + ly.LinearRegression().fit(X[350:], y[350:])
    doubled = ly.LinearRegression().fit(X, y, np.full(len(y), 2.0))
    for other in (ly.LinearRegression().fit(X[order], y[order]), split, doubled):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=0, atol=1e-12 * np.abs(whole.coef_).max())


def test_gram_sparse_rows_with_infinity_in_dense_block_names_the_cell():
    X, y, _ = sparse_problem(0.4, False)
    X.data[X.indptr[20]] = np.inf
    with pytest.raises(ValueError, match="infinity: row 20, column"):
        ly.LinearRegression().fit(X, y)


def test_rows_of_sparse_matrix_are_few_blocks_for_a_gram_only():
    X = sp.random_array((60_000, 500), density=0.004, format="csr", rng=np.random.default_rng(3))
    many = as_rows(X, np.ones(60_000))

    def count_blocks(method: str) -> int:
        def count(block: Block) -> np.ndarray:
            return np.ones(1)

        count.takes_sparse = Summarize(method).takes_sparse  # type: ignore[attr-defined]
        return int(many.reduce(count)[0])

    assert (count_blocks("gram"), count_blocks("qr")) == (1, 8)
