"""Fewer rows than columns: the smallest of the solutions, ridge at the price of the rows, and what is known of them."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from estimators import CutRows
from sklearn.model_selection import PredefinedSplit

import linearly as ly
from linearly.algorithm.least_squares import adaptive_summary, solver
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.triangular import upper
from linearly.dataset.rows.block import Block
from linearly.export.records import decode, to_json
from linearly.export.summaries import QR_FACTOR
from linearly.kernels.blas_threads import single_threaded_blas

T = TypeVar("T")


def rows(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.01, 100, p) + rng.uniform(-5, 5, p)
    return X, X[:, :3] @ [1.0, 2.0, 3.0] + rng.standard_normal(n), rng.uniform(0.5, 2, n)


def even_rows(n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns alike in size, so that a Gram has digits enough."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, p)) + 1
    return X, X[:, :3] @ [1.0, 2.0, 3.0] + rng.standard_normal(n), rng.uniform(0.5, 2, n)


def fitted(X: Any, y: np.ndarray | None, w: np.ndarray | None = None, **parameters: object) -> ly.LinearRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        return ly.LinearRegression(**parameters).fit(X, y, w)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 3.0])
def test_wide_ridge_agrees_with_its_definition(alpha: float, intercept: bool, weighted: bool) -> None:
    X, y, w = rows(30, 200)
    w = w if weighted else np.ones(30)
    m = fitted(X, y, w, alpha=alpha, fit_intercept=intercept)
    assert (m.method_, m.n_passes_) == ("qr", 1)
    middle = w @ X / w.sum() if intercept else np.zeros(200)
    root = np.sqrt(w)[:, None]
    D, t = root * (X - middle), np.sqrt(w) * (y - (w @ y / w.sum() if intercept else 0.0))
    A = np.linalg.pinv(np.vstack([D, np.sqrt(alpha) * np.eye(200)]), rcond=1e-12)[:, :30]
    beta = A @ t
    np.testing.assert_allclose(m.coef_, beta, rtol=0, atol=1e-9 * np.abs(beta).max())
    s = m.solution_
    spread = s.inverse_root @ s.shrinkage @ s.inverse_root.T
    wanted = A @ A.T
    assert np.abs(spread[-200:, -200:] - wanted).max() < 1e-6 * np.abs(wanted).max()
    effective = np.trace(D @ A) + intercept
    assert s.dof == pytest.approx(30 - effective, abs=1e-6)


def test_leverages_of_wide_ridge_sum_to_the_effective_parameters() -> None:
    X, y, _ = rows(40, 300)
    m = fitted(X, y, alpha=50.0)
    table = ly.augment(m, X, y)
    assert np.sum(table["leverage"]) > 0
    M = np.linalg.inv((X - X.mean(0)).T @ (X - X.mean(0)) + 50.0 * np.eye(300))
    hat = np.einsum("ij,jk,ik->i", X - X.mean(0), M, X - X.mean(0)) + 1 / 40
    np.testing.assert_allclose(table["leverage"], hat, rtol=1e-7)


def test_penalised_intercept_of_wide_ridge_is_a_column_of_ones() -> None:
    X, y, _ = rows(20, 150)
    m = fitted(X, y, alpha=2.0, penalize_intercept=True)
    Z = np.column_stack([np.ones(20), X])
    beta = Z.T @ np.linalg.solve(Z @ Z.T + 2.0 * np.eye(20), y)
    np.testing.assert_allclose(np.r_[m.intercept_, m.coef_], beta, rtol=0, atol=1e-10 * np.abs(beta).max())


def test_sum_of_two_wide_fits_is_the_fit_of_all_rows() -> None:
    X, y, _ = rows(60, 140)
    for alpha in (0.0, 1.0):
        whole = fitted(X, y, alpha=alpha)
        halves = fitted(X[:25], y[:25], alpha=alpha), fitted(X[25:], y[25:], alpha=alpha)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            both = halves[0] + halves[1]
        np.testing.assert_allclose(both.coef_, whole.coef_, rtol=0, atol=1e-9 * np.abs(whole.coef_).max())


def test_wide_ridge_with_several_targets_and_constant_columns() -> None:
    X, y, _ = rows(12, 160)
    X[:, [3, 90]] = 7.0
    Y = np.column_stack([y, -2 * y + 1])
    with pytest.warns(np.exceptions.RankWarning, match="'x3'"):
        m = ly.LinearRegression().fit(X, Y)
    np.testing.assert_allclose(m.predict(X), Y, rtol=1e-9)
    np.testing.assert_allclose(m.coef_[1], -2 * m.coef_[0], atol=1e-10 * np.abs(m.coef_).max())
    assert np.abs(m.coef_[:, [3, 90]]).max() < 1e-12 * np.abs(m.coef_).max()
    assert m.solution_.digits > 9


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_wide_ridge_of_one_or_two_rows(n: int, alpha: float) -> None:
    X, y, _ = rows(n, 130)
    m = fitted(X, y, alpha=alpha)
    middle, level = X.mean(0), y.mean()
    D = X - middle
    beta = np.linalg.pinv(D) @ (y - level) if alpha == 0 else D.T @ np.linalg.solve(D @ D.T + np.eye(n), y - level)
    np.testing.assert_allclose(m.coef_, beta, rtol=0, atol=1e-12 * max(np.abs(beta).max(), 1.0))
    assert m.predict(middle[None])[0] == pytest.approx(level)


# --- cross-validation -----------------------------------------------------------------------------


def unspoken(make: Callable[[], T]) -> T:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        warnings.simplefilter(
            "ignore", ly.PrecisionWarning
        )  # of about as many rows as columns a Gram knows nine digits
        return make()


def dual_errors(
    X: np.ndarray, Y: np.ndarray, w: np.ndarray, alpha: float, intercept: bool, parts: list[np.ndarray]
) -> np.ndarray:
    """Mean squared error of each part by ridge on the others, from the rows' own products, folds × targets."""
    errors = []
    for part in parts:
        others = np.setdiff1d(np.arange(len(X)), part)
        v = w[others]
        middle, level = (v @ X[others] / v.sum(), v @ Y[others] / v.sum()) if intercept else (0.0, 0.0)
        root = np.sqrt(v)[:, None]
        D, t = root * (X[others] - middle), root * (Y[others] - level)
        K, held = D @ D.T, (X[part] - middle) @ D.T
        fit = level + held @ (np.linalg.pinv(K, rcond=1e-12) @ t if alpha == 0 else np.linalg.solve(
            K + alpha * np.eye(len(K)), t))  # fmt: skip
        errors.append(w[part] @ (Y[part] - fit) ** 2 / w[part].sum())
    return np.array(errors)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [40, 150])  # each fold has few rows; at 150 x 140 all but a fold have few, all have many
def test_fold_errors_of_wide_ridge_agree_with_their_definition(n: int, intercept: bool) -> None:
    X, y, w = even_rows(n, 140)
    Y, alphas = np.column_stack([y, y**2 / 100]), [0.0, 1e-2, 1.0, 1e4]
    dealt = PredefinedSplit(np.arange(n) % 5)
    m = unspoken(lambda: ly.RidgeCV(alphas, cv=dealt, fit_intercept=intercept).fit(X, Y, w))
    parts = [np.arange(j, n, 5) for j in range(5)]
    wanted = np.array([dual_errors(X, Y, w, alpha, intercept, parts).mean(axis=1) for alpha in alphas])
    np.testing.assert_allclose(m.fold_errors_, wanted, rtol=1e-8)
    assert m.method_ == ("qr" if n == 40 else "gram")
    alone = fitted(X, Y, w, alpha=m.alpha_, fit_intercept=intercept)
    np.testing.assert_allclose(m.coef_, alone.coef_, rtol=0, atol=1e-9 * np.abs(alone.coef_).max())


@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_errors_of_wide_ridge_agree_with_their_definition(intercept: bool) -> None:
    X, y, w = rows(30, 200)
    alphas = [1e-2, 1.0, 1e4]
    m = ly.RidgeCV(alphas, cv="loo", fit_intercept=intercept).fit(X, y, w)
    singles = [np.array([i]) for i in range(30)]
    wanted = [w @ dual_errors(X, y[:, None], w, alpha, intercept, singles)[:, 0] / w.sum() for alpha in alphas]
    np.testing.assert_allclose(m.cv_errors_, wanted, rtol=1e-8)


def test_default_penalties_use_the_mean_eigenvalue_of_all_directions() -> None:
    X, y, _ = rows(30, 200)
    m = ly.RidgeCV().fit(X, y)
    level = ((X - X.mean(0)) ** 2).sum() / 200
    np.testing.assert_allclose(m.alphas_[[0, -1]], [1e-6 * level, 1e2 * level], rtol=1e-10)


# --- a fit is a fold ------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("cuts", [[], [70], [30, 60, 90], [1, 139], [140], [5, 6]])
@pytest.mark.parametrize("n", [100, 140, 141, 142, 143, 180])
def test_adaptive_summary_suits_the_number_of_rows(n: int, cuts: list[int], alpha: float) -> None:
    X, y, w = even_rows(n, 140)
    cut = CutRows(X, y, w, [at for at in cuts if at < n])
    m = fitted(cut, None, alpha=alpha)
    whole = fitted(X, y, w, alpha=alpha)
    if n <= 140:
        assert (m.method_, m.n_passes_, len(m.summary_.R)) == ("qr", 1, n)
    assert isinstance(solver.summarize(cut, "auto"), QRFactor if n <= 140 else Gram)
    np.testing.assert_allclose(m.coef_, whole.coef_, rtol=0, atol=1e-8 * np.abs(whole.coef_).max())
    assert m.solution_.dof == pytest.approx(whole.solution_.dof, abs=1e-8)
    assert m.solution_.aliased == whole.solution_.aliased


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("first", [1, 50, 140, 150])
def test_partial_fit_changes_to_a_gram_with_more_rows_than_columns(first: int, alpha: float) -> None:
    X, y, w = even_rows(200, 140)
    m = ly.LinearRegression(alpha)
    edges = [0, first, 160, 200]
    for start, stop in itertools.pairwise(edges):
        unspoken(lambda rows=slice(start, stop): m.partial_fit(X[rows], y[rows], w[rows]))
        assert m.method_ == ("gram" if stop > 140 else "qr")
        whole = fitted(X[:stop], y[:stop], w[:stop], alpha=alpha)
        np.testing.assert_allclose(m.coef_, whole.coef_, rtol=0, atol=1e-9 * np.abs(whole.coef_).max())
        np.testing.assert_allclose(m.std_errors(), whole.std_errors(), rtol=1e-6)


@pytest.mark.parametrize(
    "make", [ly.LinearRegression, lambda: ly.LinearRegression(3.0), lambda: ly.RidgeCV([1.0, 9.0])]
)
@pytest.mark.parametrize(("n", "more"), [(40, 30), (90, 30), (100, 100), (200, 40), (40, 200)])
def test_difference_of_wide_fits_is_the_fit_of_the_remaining_rows(make: Callable[[], Any], n: int, more: int) -> None:
    X, y, w = even_rows(n + more, 140)
    X[1], y[1] = X[n], y[n]  # a row that stays, and goes too
    a, b = (
        unspoken(lambda part=part: make().fit(X[part], y[part], w[part])) for part in np.split(np.arange(n + more), [n])
    )
    both = unspoken(lambda: a + b)
    whole = unspoken(lambda: make().fit(X, y, w))
    np.testing.assert_allclose(both.coef_, whole.coef_, rtol=0, atol=1e-8 * np.abs(whole.coef_).max())
    rest = unspoken(lambda: both - b)
    np.testing.assert_allclose(rest.coef_, a.coef_, rtol=0, atol=1e-7 * np.abs(a.coef_).max())
    assert rest.solution_.n == n
    assert rest.solution_.dof == pytest.approx(a.solution_.dof, abs=1e-6)


def test_difference_of_wide_fits_keeps_ten_digits_or_raises() -> None:
    X, y, w = even_rows(60, 300)
    a = fitted(X[:20], y[:20], w[:20])
    b = fitted(30 * X[20:], 30 * y[20:], w[20:])
    rest = unspoken(lambda: (a + b) - b)
    np.testing.assert_allclose(rest.coef_, a.coef_, rtol=0, atol=1e-10 * np.abs(a.coef_).max())
    assert rest.intercept_ == pytest.approx(a.intercept_, rel=1e-9)
    assert rest.solution_.log_weight == pytest.approx(a.solution_.log_weight)
    large = fitted(1e4 * X[20:], 1e4 * y[20:], w[20:])
    both = unspoken(lambda: a + large)
    with pytest.raises(ValueError, match=r"column 0 .* too little variation"):
        both - large


def test_removing_rows_that_were_never_added_to_a_wide_fit_raises() -> None:
    X, y, w = rows(60, 300)
    a, b, none = fitted(X[:40], y[:40], w[:40]), fitted(X[40:], y[40:], w[40:]), fitted(X[:40], y[:40], w[:40])
    with pytest.raises(ValueError, match="never part of the fit"):
        a - b
    with pytest.raises(ValueError, match="never part of the fit"):
        a - fitted(X[:10], y[:10], 2 * w[:10])
    with pytest.raises(ValueError, match="would remove every row of the fit"):
        a - none
    with pytest.raises(ValueError, match="40 rows cannot be removed from 20"):
        b - a
    with pytest.warns(ly.PrecisionWarning):
        heavy = fitted(X, y, np.where(np.arange(60) < 40, 1e-20, 1.0), method="qr")
    with pytest.raises(ValueError, match="too little variation"):
        heavy - fitted(X[40:], y[40:])
    many = fitted(*rows(200, 140)[:2], method="qr")
    with pytest.raises(ValueError, match="cannot be removed from a QR triangle"):
        many - many


def test_removing_no_rows_changes_nothing() -> None:
    X, y, w = rows(10, 200)
    few = QRFactor.of(Block(X, y, w))
    assert few - QRFactor.of(Block(X[:0], y[:0])) is few
    empty = QRFactor.of(Block(X[:0], y[:0]))
    assert (empty.n, empty.weight) == (0, 0.0)
    assert adaptive_summary.merge(empty, few) is few is adaptive_summary.merge(few, empty)


def test_gram_of_an_r_factor_is_that_of_its_rows() -> None:
    X, y, w = rows(300, 140)
    for n in (20, 300):
        block = Block(X[:n], y[:n], w[:n])
        a, b = QRFactor.of(block).gram(), Gram.of(block)
        size = np.sqrt(np.diagonal(b.centered_crossprod))
        assert (a.n, a.weight, a.log_weight) == (b.n, pytest.approx(b.weight), b.log_weight)
        moved = a.rescaled(b.scaling)
        np.testing.assert_allclose(moved.mean, b.mean, atol=1e-12)
        np.testing.assert_allclose(
            (moved.centered_crossprod - b.centered_crossprod) / size / size[:, None], 0, atol=1e-13
        )


def test_sum_of_a_wide_and_a_tall_fit_is_the_fit_of_all_rows() -> None:
    X, y, w = rows(400, 140)
    few, many, whole = fitted(X[:50], y[:50], w[:50]), fitted(X[50:], y[50:], w[50:]), fitted(X, y, w)
    assert (few.method_, many.method_) == ("qr", "gram")
    for both in (few + many, many + few):
        assert both.method_ == "gram"
        np.testing.assert_allclose(both.coef_, whole.coef_, rtol=0, atol=1e-10 * np.abs(whole.coef_).max())


@pytest.mark.parametrize("options", [{}, {"alpha": 2e3}, {"model": "ridge"}, {"model": "ridge", "cv": "loo"}])
def test_saved_wide_model_is_as_small_as_its_rows(tmp_path: Path, options: dict[str, Any]) -> None:
    X, y, _ = rows(12, 500)
    table = {f"x{j}": X[:, j] for j in range(500)} | {"y": y}
    before = unspoken(lambda: ly.fit(table, target="y", **options))
    before.save(tmp_path / "m.json")
    assert (tmp_path / "m.json").stat().st_size < 1e6  # a square of 500 is 2e6 bytes
    after = ly.load(tmp_path / "m.json")
    assert after.predict(table).tolist() == before.predict(table).tolist()
    assert str(after.summary()) == str(before.summary())
    if options.get("cv") != "loo":
        other = unspoken(lambda: ly.fit({k: v[:6] * 2 for k, v in table.items()}, target="y", **options))
        both, same = unspoken(lambda: (after + other, before + other))
        assert both.predict(table).tolist() == same.predict(table).tolist()


@pytest.mark.parametrize("n", [0, 503])
def test_model_file_with_an_r_factor_of_impossible_shape_raises(n: int) -> None:
    X, y, _ = rows(12, 500)
    few = QRFactor.of(Block(X, y))
    plain = to_json(few)
    plain["R"] = to_json(np.ones((n, 502)))
    with pytest.raises(ValueError, match=f"R has {n} rows"):
        decode(plain, QR_FACTOR, "summary_", {"m": 501, "1 + m": 502})


# --- what is known --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Only about 9 digits of the standard errors")  # residuals are 1e-4 of y
@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2"])
def test_robust_covariances_of_wide_ridge_agree_with_their_definition(kind: str) -> None:
    X, y, w = rows(30, 200)
    m = fitted(X, y, w, alpha=50.0, covariance=kind)
    Z, root = np.column_stack([np.ones(30), X]), np.sqrt(w)[:, None]
    M = np.linalg.inv((root * Z).T @ (root * Z) + 50.0 * np.diag([0.0, *np.ones(200)]))
    leverage = w * np.einsum("ij,jk,ik->i", Z, M, Z)
    scores = (w * (y - m.predict(X))) ** 2
    scores *= {"HC0": 1.0, "HC1": 30 / m.solution_.dof, "HC2": 1 / (1 - leverage)}[kind]
    wanted = np.sqrt(np.diagonal(M @ (Z.T * scores) @ Z @ M))
    np.testing.assert_allclose(m.std_errors()[:, 0], wanted, rtol=1e-6)


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("value", [0.0, 3.3])
def test_wide_ridge_gives_a_constant_column_no_coefficient(value: float, n: int) -> None:
    X, y, _ = rows(n, 150)
    X[:, 0] = value
    table = ly.tidy(fitted(X, y, alpha=1e4))
    assert abs(table["estimate"][1]) < 1e-12
    assert np.isnan([table[name][1] for name in ("std_error", "p_value", "conf_low")]).all()
    assert np.isfinite(table["std_error"][2])


def test_less_than_one_degree_of_freedom_gives_no_variance() -> None:
    X, y, _ = rows(20, 300)
    m = fitted(X, y, alpha=1e-3)
    assert 0 < m.solution_.dof < 0.1
    table = ly.tidy(m)
    for name in ("std_error", "conf_low", "conf_high", "p_value"):
        assert np.isnan(table[name]).all()
    assert np.isnan([ly.glance(m)["sigma"][0], ly.glance(m)["adj_r_squared"][0]]).all()
    assert np.isnan(ly.augment(m, X, y)["studentized_residual"]).all()
    assert np.isnan(m.predict_interval(X)["high"]).all()
    more = fitted(X, y, alpha=1e5)
    assert more.solution_.dof > 1
    assert np.isfinite(ly.tidy(more)["conf_low"]).all()
    tests = ly.residual_tests(more, X, y)
    uneven = list(tests["test"]).index("breusch_pagan")
    assert np.isnan(tests["p_value"][uneven])  # 20 squares are fitted by 300 columns, whatever they are


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (3, 4), (4, 4), (6, 4), (3, 1)])
def test_upper_of_any_shape_keeps_the_cross_products(shape: tuple[int, int]) -> None:
    A = np.random.default_rng(0).standard_normal(shape)
    if shape[0] > 1:
        A[1] = A[0]
    R = upper(A)
    assert R.shape == (min(shape), shape[1])
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-14 * 4)


# --- what it costs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: ly.LinearRegression(),
        lambda: ly.LinearRegression(1.0),
        lambda: ly.LinearRegression(1.0, fit_intercept=False),
        lambda: ly.LinearRegression(1.0, penalize_intercept=True),
        lambda: ly.LinearRegression(1.0, covariance="HC1"),
        lambda: ly.RidgeCV(),
        lambda: ly.RidgeCV(cv="loo"),
    ],
)
@pytest.mark.parametrize("counted", [True, False])
def test_wide_fits_allocate_no_matrix_of_columns_squared(make: Callable[[], Any], counted: bool) -> None:
    X, y, _ = rows(60, 5000)
    data = (X, y) if counted else (CutRows(X, y, cuts=[10, 40]),)
    ly.tidy(fitted(X[:, :200], y, alpha=1.0))  # whatever is imported first

    def everything() -> None:
        m = make().fit(*data)
        for table in (ly.glance(m), ly.tidy(m), ly.vif(m), ly.augment(m, X, y), m.predict_interval(X)):
            assert len(table) > 0
        if m.covariance == "classical" and getattr(m, "cv", 0) != "loo":
            m + make().fit(X[:5] + 1, y[:5])
            m - make().fit(X[:5], y[:5])
        ly.residual_tests(m, X, y)

    tracemalloc.start()
    try:
        unspoken(everything)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 0.4 * 8 * 5000**2


def test_removing_rows_with_another_weight_raises() -> None:
    X, y, _ = even_rows(30, 160)
    whole, half = fitted(X, y), fitted(X[:10], y[:10], np.full(10, 0.5))
    with pytest.raises(ValueError, match="never part of the fit"):
        whole - half


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 2.0**20])
def test_products_of_few_rows_equal_the_orthogonal_factor(scale: float, weighted: bool) -> None:
    X, y, w = even_rows(60, 400)
    X[:, ::3] *= scale
    m = fitted(X, y, w if weighted else None)
    root = np.sqrt(w if weighted else np.ones(60))
    D = root[:, None] * (X - np.average(X, axis=0, weights=root**2))
    wanted = np.linalg.pinv(D, rcond=1e-14) @ (root * (y - np.average(y, weights=root**2)))
    assert m.solution_.is_clearly_accurate
    np.testing.assert_allclose(m.coef_, wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
    with single_threaded_blas():
        full = m.summary_.solve_by_triangle()
    # Orthogonal factors of columns of unequal size leave six digits fewer than products of the rows.
    within = 1e-13 if scale == 1 else 1e-8
    np.testing.assert_allclose(m.coef_, full.coef[:, 0], rtol=0, atol=within * np.abs(wanted).max())
    assert (m.solution_.rank, m.solution_.aliased, m.solution_.dof) == (full.rank, full.aliased, full.dof)
    for name in ("inverse_root", "null", "condition", "digits", "error_digits"):
        np.testing.assert_array_equal(getattr(m.solution_, name), getattr(full, name))


@pytest.mark.parametrize("columns", [(0, 1), (3, 50)])
def test_products_of_few_rows_with_dependent_first_columns_are_left_to_the_orthogonal_factor(
    columns: tuple[int, int],
) -> None:
    X, y, _ = even_rows(60, 400)
    X[:, columns[1]] = X[:, columns[0]]
    m = fitted(X, y)
    assert not m.solution_.is_clearly_accurate
    assert m.solution_.aliased == (columns[1], *range(60, 400))
    np.testing.assert_allclose(m.predict(X), y, atol=1e-10)


def test_products_of_few_rows_that_nearly_repeat_are_left_to_the_orthogonal_factor() -> None:
    X, y, _ = even_rows(60, 400)
    X[7] = X[6] + 1e-6 * X[8]
    y[7] = y[6] + 1e-6 * y[8]
    m = fitted(X, y)
    assert not m.solution_.is_clearly_accurate
    np.testing.assert_allclose(m.predict(X), y, atol=1e-9)
