"""Residual tests and variance inflation: as R has them, and by the laws they obey."""

import numpy as np
import pytest
from golden_sets import LM as GOLDEN
from golden_sets import assert_as_in_r, case_of

import linearly as ly


@pytest.fixture(params=list(GOLDEN["data"]))
def case(request):
    return case_of(request.param)


def test_residual_tests_as_in_r(case):
    table = ly.residual_tests(case.fit(), case.X, case.y)
    assert list(table["test"]) == ["shapiro_wilk", "lilliefors", "anderson_darling", "breusch_pagan", "durbin_watson"]
    for row in table:
        golden = case.golden["tests"][row["test"]]
        assert row["statistic"] == pytest.approx(golden["statistic"], rel=1e-8)
        assert row["p_value"] == pytest.approx(golden["p_value"], rel=1e-8)
        assert row["n"] == len(case.y)


def test_residual_tests_of_rows_anywhere(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(4)
    for n in (60, 300):  # the exact Durbin-Watson, and the normal one
        X, w = rng.normal(size=(n, 2)), rng.integers(0, 3, n).astype(float)
        y = X @ [1.0, 2.0] + rng.normal(size=n)
        path = tmp_path / f"{n}.csv"
        np.savetxt(path, np.column_stack([X, y, w]), "%.17g", ",", header="a,b,y,w", comments="")
        rows = ly.scan(path, target="y", features=["a", "b"])
        here = ly.residual_tests(ly.LinearRegression().fit(X, y), X, y)
        there = ly.residual_tests(ly.LinearRegression().fit(rows), rows)
        np.testing.assert_allclose(there["p_value"], here["p_value"], rtol=1e-8)
        # With weights: the residuals of √w y on √w (1, x), without the rows of weight 0.
        rows = ly.scan(path, target="y", features=["a", "b"], weight="w")
        weighted = ly.residual_tests(ly.LinearRegression().fit(rows), rows)
        root = np.sqrt(w[w > 0])
        Z = np.column_stack([np.ones(len(root)), X[w > 0]]) * root[:, None]
        plain = ly.LinearRegression(fit_intercept=False).fit(Z, y[w > 0] * root)
        moved = ly.residual_tests(plain, Z, y[w > 0] * root)
        for test in (0, 1, 2, 4):
            assert weighted["p_value"][test] == pytest.approx(moved["p_value"][test], rel=1e-8)
        assert (weighted["n"] == len(root)).all()
        arrays = ly.residual_tests(ly.LinearRegression().fit(X, y, sample_weight=w), X, y, sample_weight=w)
        for column in ("statistic", "p_value", "n"):
            np.testing.assert_allclose(arrays[column], weighted[column], rtol=1e-8)


def test_vif_as_in_r(case):
    assert_as_in_r(ly.vif(case.fit())["vif"], case.golden["vif"])


def test_columns_whose_squares_overflow_have_a_vif_and_a_report(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 2))
    y = X[:, 0] - X[:, 1] + rng.standard_normal(60)
    expected = ly.vif(ly.LinearRegression().fit(X, y))["vif"]
    large = X * [1e200, 1.0]
    for method in ("gram", "qr"):
        model = ly.LinearRegression(method=method).fit(large, y)
        np.testing.assert_allclose(ly.vif(model)["vif"], expected, rtol=1e-9)
    data = {"a": large[:, 0], "b": large[:, 1], "y": y}
    ly.fit(data, target="y").report(tmp_path / "report.html", data)
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("method", ["gram", "qr", "extended"])
def test_the_vif_is_infinite_for_every_column_of_a_combination_and_for_no_other(scale, method):
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((40, 4)) @ rng.standard_normal((4, 4))
    X = np.column_stack([Z[:, 0] * scale, Z[:, 1], Z[:, 2], 2.0 * Z[:, 0] - Z[:, 2], np.full(40, 3.0), Z[:, 3]])
    y = rng.standard_normal(40)
    with pytest.warns(np.exceptions.RankWarning):
        found = ly.vif(ly.LinearRegression(method=method).fit(X, y))["vif"]
    kept = ly.vif(ly.LinearRegression().fit(X[:, [0, 1, 2, 5]], y))["vif"]
    np.testing.assert_allclose(found[[1, 5]], kept[[1, 3]], rtol=1e-8)
    assert np.isinf(found[[0, 2, 3, 4]]).all()


def test_with_fewer_rows_than_columns_every_vif_is_infinite():
    rng = np.random.default_rng(4)
    with pytest.warns(np.exceptions.RankWarning):
        model = ly.LinearRegression().fit(rng.standard_normal((3, 5)), [1.0, 2.0, 4.0])
    assert np.isinf(ly.vif(model)["vif"]).all()


@pytest.mark.parametrize("size", [1e-40, 1.0, 1e40])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rounding_errors_of_an_exact_fit_are_not_tested(size, offset):
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 50))
    X, y = np.c_[x, x**2], size * (offset + 0.1 + 0.7 * x)
    table = ly.residual_tests(ly.LinearRegression().fit(X, y), X, y)
    assert np.isnan([table["statistic"], table["p_value"]]).all()
    assert "exact" in table.notes[0]
    assert table["n"].tolist() == [50] * 5
    y = y + size * 1e-6 * noise
    assert np.isfinite(ly.residual_tests(ly.LinearRegression().fit(X, y), X, y)["p_value"][:3]).all()


def test_generalised_vif_is_that_of_car():
    from questions_cases import DATA, GOLDEN

    table = ly.vif(ly.fit(DATA, formula="y ~ a + b + x + poly(z, 2)"), terms=True)
    assert table["term"].tolist() == GOLDEN["gvif"]["term"]
    np.testing.assert_allclose(table["gvif"], GOLDEN["gvif"]["gvif"], rtol=1e-10)
    np.testing.assert_allclose(table["gvif_per_df"], GOLDEN["gvif"]["scaled"], rtol=1e-10)
