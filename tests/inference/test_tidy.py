"""tidy, glance, augment, residual tests, intervals and draws: as R has them, and by the laws they obey."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from golden_sets import LM as GOLDEN
from golden_sets import assert_as_in_r, case_of

import linearly as ly

KINDS = ("fit", "weighted", "zero_weighted", "no_intercept")


@pytest.fixture(params=list(GOLDEN["data"]))
def case(request):
    return case_of(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_tidy_as_in_r(case, kind):
    golden, table = case.golden[kind], ly.tidy(case.fit(kind))
    for ours, theirs in [
        ("estimate", "coefficients"),
        ("std_error", "std_error"),
        ("statistic", "statistic"),
        ("p_value", "p_value"),
        ("conf_low", "conf_low"),
        ("conf_high", "conf_high"),
    ]:
        assert_as_in_r(table[ours], golden[theirs])
    assert table["term"][0] == ("x0" if kind == "no_intercept" else "Intercept")


@pytest.mark.parametrize("kind", KINDS)
def test_glance_as_in_r(case, kind):
    golden, row = case.golden[kind], ly.glance(case.fit(kind)).row(0)
    for name in (
        "sigma",
        "r_squared",
        "adj_r_squared",
        "f_statistic",
        "log_likelihood",
        "aic",
        "bic",
        "df_residual",
        "n",
    ):
        assert row[name] == pytest.approx(golden[name], rel=1e-8), name
    assert row["p_value"] == pytest.approx(golden["f_p_value"], rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_augment_as_in_r(case, kind):
    golden = case.golden[kind]
    table = ly.augment(case.fit(kind), case.X, case.y, golden.get("weights"))
    for ours, theirs in [
        ("fitted", "fitted"),
        ("residual", "residuals"),
        ("leverage", "hatvalues"),
        ("standardized_residual", "rstandard"),
        ("studentized_residual", "rstudent"),
        ("cooks_distance", "cooks_distance"),
    ]:
        assert_as_in_r(table[ours], golden[theirs])


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


@pytest.mark.parametrize("kind", ["fit", "weighted"])
def test_prediction_intervals_as_in_r(case, kind):
    golden = case.golden[kind]["prediction"]
    new = np.column_stack([golden["new"][name] for name in case.golden["features"]])
    for interval in golden["intervals"]:
        table = case.fit(kind).predict_interval(new, interval["level"], interval["kind"])
        for column in ("fit", "low", "high"):
            assert_as_in_r(table[column], interval[column])


def test_error_model_gives_both_variances(case):
    row, golden = ly.error_variance(case.fit()).row(0), case.golden["fit"]
    assert row["sigma2_mle"] == pytest.approx(golden["rss"] / golden["n"])
    assert row["sigma2_unbiased"] == pytest.approx(golden["sigma"] ** 2)


def test_draws_have_the_covariance_of_the_coefficients(case):
    model = case.fit()
    draws = model.sample_coefficients(20_000, random_state=0)
    expected = np.sqrt(np.diagonal(model.covariance_))
    np.testing.assert_allclose(draws.std(axis=0), expected, rtol=0.03)
    np.testing.assert_allclose(
        draws.mean(axis=0), ly.tidy(model)["estimate"], atol=4 * expected.max() / np.sqrt(20_000)
    )
    resampled = model.sample_coefficients(4_000, "residuals", X=case.X, y=case.y, random_state=0)
    # Residuals are smaller than errors by √(dof / n).
    shrunk = expected * np.sqrt(model.solution_.dof / model.solution_.n)
    np.testing.assert_allclose(resampled.std(axis=0), shrunk, rtol=0.1)


def test_ridge_reports_its_bias(case):
    table = ly.tidy(ly.LinearRegression(alpha=2.0).fit(case.X, case.y))
    plain = ly.tidy(case.fit())
    np.testing.assert_allclose(table["bias"], table["estimate"] - plain["estimate"], rtol=1e-6, atol=1e-9)


def test_compare_models_is_the_f_test_of_one_term(case):
    big = case.fit()
    small = ly.LinearRegression().fit(case.X[:, :-1], case.y)
    row, t = ly.compare_models(small, big).row(0), ly.tidy(big)["statistic"][-1]
    assert row["statistic"] == pytest.approx(t**2, rel=1e-6)
    assert row["p_value"] == pytest.approx(ly.tidy(big)["p_value"][-1], rel=1e-6)


@pytest.mark.parametrize("method", ["gram", "qr", "extended"])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_compare_models_takes_one_target_by_any_summary(method, offset):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(40, 2)), rng.normal(size=40) + offset, rng.uniform(0.5, 2, 40)
    small = ly.LinearRegression(method=method).fit(X[:, :1], y, sample_weight=w)
    row = ly.compare_models(small, ly.LinearRegression().fit(X, y, sample_weight=w)).row(0)
    assert 0 <= row["statistic"] < 20


@pytest.mark.parametrize(
    ("target", "weight", "told"),
    [
        (np.log, None, "not have the same target: its squares about the mean add up to"),
        (lambda y: y + 1, None, "not have the same target: its mean is"),
        (None, lambda y: y, "not have the same weights: they add up to 40 and"),
        (None, lambda y: np.where(np.arange(40) < 20, 0.5, 1.5), "not have the same weights: they add up to 40 and 40"),
        (None, lambda y: np.arange(40) > 0, "not have the same rows: there are 40 and 39"),
    ],
)
def test_compare_models_refuses_other_targets_and_weights(target, weight, told):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.uniform(1, 9, 40)
    small = ly.LinearRegression().fit(X[:, :1], y)
    given = None if weight is None else np.asarray(weight(y), dtype=float)
    big = ly.LinearRegression().fit(X, y if target is None else target(y), sample_weight=given)
    with pytest.raises(ValueError, match=told):
        ly.compare_models(small, big)


def test_compare_models_refuses_other_classes_and_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.tile([0, 1], 30)
    small = ly.LogisticRegression().fit(X[:, :1], y)
    with pytest.raises(ValueError, match="weights or labels: the rows of class 0 weigh 30 and 60"):
        ly.compare_models(small, ly.LogisticRegression().fit(X, y, sample_weight=np.full(60, 2.0)))
    with pytest.raises(ValueError, match=r"classes: they are \[0, 1\] and \[1, 2\]"):
        ly.compare_models(small, ly.LogisticRegression().fit(X, y + 1))


def test_compare_models_refuses_models_that_are_not_nested():
    rng = np.random.default_rng(0)
    x, z, k, noise = rng.normal(size=(4, 60))
    y = 9 + x + noise
    for model, target in ((ly.LinearRegression, y), (ly.LogisticRegression, np.where(x + noise > 0, "p", "q"))):
        small = model().fit(np.c_[x], target)
        with pytest.raises(
            ValueError, match="Not nested: the smaller model has an intercept, and the bigger one has none"
        ):
            ly.compare_models(small, model(fit_intercept=False).fit(np.c_[x, z, k], target))
        with pytest.raises(ValueError, match="Not nested: the smaller model fits better"):
            ly.compare_models(small, model().fit(np.c_[z, k], target))
    # All levels of a category make up for an intercept: the same test as with one.
    levels = np.eye(3)[np.repeat([0, 1, 2], [10, 20, 30])]
    small = ly.LinearRegression().fit(np.c_[x], y)
    without = ly.LinearRegression(fit_intercept=False).fit(np.c_[x, levels], y)
    beside = ly.LinearRegression().fit(np.c_[x, levels[:, 1:]], y)
    assert ly.compare_models(small, without).row(0) == pytest.approx(ly.compare_models(small, beside).row(0))


def test_tables_take_a_model_of_fit():
    rng = np.random.default_rng(0)
    x, b = rng.normal(size=(2, 40))
    data = {"x": x, "b": b, "y": x + rng.normal(size=40), "label": np.where(x + b + rng.normal(size=40) > 0, "p", "q")}
    small, big = (ly.fit(data, formula=f"y ~ {terms}") for terms in ("x", "x + b"))
    assert list(ly.compare_models(small, big)) == list(ly.compare_models(small.estimator, big.estimator))
    for table in (ly.tidy, ly.glance, ly.error_variance):
        assert list(table(big)) == list(table(big.estimator))
    small, big = (ly.fit(data, formula=f"label ~ {terms}") for terms in ("x", "x + b"))
    assert list(ly.compare_models(small, big)) == list(ly.compare_models(small.estimator, big.estimator))
    assert list(ly.tidy(big)) == list(ly.tidy(big.estimator))


@pytest.mark.parametrize("method", ["gram", "qr", "extended"])
@pytest.mark.parametrize("covariance", ["classical", "HC1"])
def test_of_a_constant_column_ridge_knows_nothing_either(method, covariance):
    case = case_of("swiss")
    X = np.column_stack([np.full(len(case.y), 0.1), np.asarray(case.X)])
    table = ly.tidy(ly.LinearRegression(alpha=1.0, method=method, covariance=covariance).fit(X, case.y))
    others = ly.tidy(ly.LinearRegression(alpha=1.0, method=method, covariance=covariance).fit(X[:, 1:], case.y))
    assert table["estimate"][1] == 0
    assert all(np.isnan(table[name][1]) for name in ("std_error", "statistic", "p_value", "conf_low", "conf_high"))
    np.testing.assert_allclose(np.delete(table["std_error"], 1), others["std_error"], rtol=1e-9)


def test_several_targets_are_told_apart(case):
    Y = np.column_stack([case.y, 2 * case.y + 1])
    model = ly.LinearRegression().fit(case.X, Y)
    table, single = ly.tidy(model), ly.tidy(case.fit())
    assert set(table["target"]) == {"y0", "y1"}
    np.testing.assert_allclose(table["p_value"][: len(single)], single["p_value"], rtol=1e-8)
    assert len(ly.glance(model)) == 2
    with pytest.raises(ValueError, match="one target"):
        ly.augment(model, case.X, Y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_several_targets_keep_their_names(frame):
    case = case_of("swiss")
    columns = {"yield": np.asarray(case.y), "cost": np.asarray(case.y) ** 2}
    model = ly.LinearRegression().fit(case.X, frame(columns))
    for table in (ly.tidy(model), ly.glance(model), ly.error_variance(model)):
        assert list(dict.fromkeys(table["target"])) == ["yield", "cost"]
    assert "cost:" in str(model.summary())
    assert ly.glance(ly.RidgeCV().fit(case.X, frame(columns)))["target"].tolist() == ["yield", "cost"]
    unnamed = ly.LinearRegression().fit(case.X, np.column_stack(list(columns.values())))
    assert ly.glance(unnamed)["target"].tolist() == ["y0", "y1"]
    assert ly.glance(unnamed + model)["target"].tolist() == ["yield", "cost"]
    turned = frame(dict(reversed(columns.items())))
    with pytest.raises(ValueError, match=r"The targets differ: \['yield', 'cost'\] and \['cost', 'yield'\]"):
        model + ly.LinearRegression().fit(case.X, turned)
    with pytest.raises(ValueError, match=r"The targets are \['cost', 'yield'\], but the model was fitted on"):
        ly.LinearRegression().partial_fit(case.X, frame(columns)).partial_fit(case.X, turned)
    assert not hasattr(model.fit(case.X, case.y), "target_names_")


def test_summary_reads_aloud():
    X, y = case_of("swiss").X, case_of("swiss").y
    text = str(ly.LinearRegression().fit(X, y).summary())
    assert text.startswith(
        "Linear regression: 5 columns, 47 rows, 1 pass (gram)\nR² 0.7067   adjusted 0.671   σ 7.165 on 41 df"
    )
    assert "digits to trust" in text
    assert "bias" in str(ly.LinearRegression(alpha=1.0).fit(X, y).summary())
    assert "<table" in ly.LinearRegression().fit(X, y).summary()._repr_html_()


@pytest.mark.parametrize("level", [0, 1, -0.1, 2.0])
def test_level_outside_its_range_is_refused(level):
    model = case_of("swiss").fit()
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        ly.tidy(model, level=level)


def test_others_than_least_squares_are_refused():
    with pytest.raises(TypeError, match="least-squares or logistic model is needed, not str"):
        ly.tidy("model")


def test_errors_of_a_weighted_fit_are_not_resampled():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = ly.LinearRegression().fit(X, y, rng.uniform(1, 2, 30))
    with pytest.raises(ValueError, match="fit with weights"):
        model.sample_coefficients(5, "residuals", X=X, y=y)
    assert model.sample_coefficients(5, random_state=0).shape == (5, 3)
    with pytest.raises(ValueError, match="n must be a whole number from 1 on, not -1"):
        model.sample_coefficients(-1)


def test_groups_of_two_kinds_are_refused():
    groups = np.array(["a", 1] * 3, dtype=object)
    for make, y in ((ly.LinearRegression, [1.0, 2, 3, 4, 5, 7]), (ly.LogisticRegression, [0, 1, 0, 1, 1, 0])):
        with pytest.raises(ValueError, match=r"groups mixes labels of different types \(int, str\)"):
            make(covariance="cluster").fit(np.arange(6.0)[:, None] ** 2, y, groups=groups)


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


def test_what_was_left_out_has_no_standard_error_as_in_r():
    rng = np.random.default_rng(0)
    x, z, noise = rng.normal(size=(3, 40))
    unknown = ["std_error", "statistic", "p_value", "conf_low", "conf_high"]

    def told(model, X, y):
        with pytest.warns(np.exceptions.RankWarning):
            table = ly.tidy(model.fit(X, y))
        return [[table[name][i] for name in unknown] for i in range(len(table))]

    for covariance in ("classical", "HC3"):
        rows = told(ly.LinearRegression(covariance=covariance), np.c_[x, np.full(40, 3.0), z], x + noise)
        assert np.isnan(rows[2]).all()
        assert np.isfinite([rows[i] for i in (0, 1, 3)]).all()
    # Of two copies neither has an effect that rows determine, whatever the coefficients of smallest norm.
    for model in (*(ly.LinearRegression(covariance=c) for c in ("classical", "HC3")), ly.LogisticRegression()):
        y = x + noise > 0 if hasattr(model, "bias_reduction") else x + noise
        rows = told(model, np.c_[x, x, z, np.full(40, 3.0)], y)
        assert np.isnan([rows[i] for i in (1, 2, 4)]).all()
        assert np.isfinite([rows[i] for i in (0, 3)]).all()
    odds = ly.odds_ratios(model)
    assert np.isnan([odds["conf_low"][[0, 1, 3]], odds["conf_high"][[0, 1, 3]]]).all()


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
