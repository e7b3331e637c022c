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


@pytest.mark.parametrize("kind", ["fit", "weighted"])
def test_prediction_intervals_as_in_r(case, kind):
    golden = case.golden[kind]["prediction"]
    new = np.column_stack([golden["new"][name] for name in case.golden["features"]])
    for interval in golden["intervals"]:
        table = case.fit(kind).predict_interval(new, interval["level"], interval["kind"], weight=1.0)
        for column in ("fit", "low", "high"):
            assert_as_in_r(table[column], interval[column])


def test_error_variance_gives_both_variances(case):
    row, golden = ly.error_variance(case.fit()).row(0), case.golden["fit"]
    assert row["sigma2_mle"] == pytest.approx(golden["rss"] / golden["n"])
    assert row["sigma2_unbiased"] == pytest.approx(golden["sigma"] ** 2)


def test_ridge_reports_its_bias(case):
    table = ly.tidy(ly.LinearRegression(alpha=2.0).fit(case.X, case.y))
    plain = ly.tidy(case.fit())
    np.testing.assert_allclose(table["bias"], table["estimate"] - plain["estimate"], rtol=1e-6, atol=1e-9)


def test_tables_accept_a_model_of_fit():
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
def test_tidy_of_a_constant_column_has_no_standard_error_for_ridge(method, covariance):
    case = case_of("swiss")
    X = np.column_stack([np.full(len(case.y), 0.1), np.asarray(case.X)])
    table = ly.tidy(ly.LinearRegression(alpha=1.0, method=method, covariance=covariance).fit(X, case.y))
    others = ly.tidy(ly.LinearRegression(alpha=1.0, method=method, covariance=covariance).fit(X[:, 1:], case.y))
    assert table["estimate"][1] == 0
    assert all(np.isnan(table[name][1]) for name in ("std_error", "statistic", "p_value", "conf_low", "conf_high"))
    np.testing.assert_allclose(np.delete(table["std_error"], 1), others["std_error"], rtol=1e-9)


def test_tables_of_several_targets_have_a_target_column(case):
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


@pytest.mark.parametrize("level", [0, 1, -0.1, 2.0])
def test_level_outside_0_and_1_raises(level):
    model = case_of("swiss").fit()
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        ly.tidy(model, level=level)


def test_tables_of_other_models_raise_type_error():
    with pytest.raises(TypeError, match="fitted least-squares or logistic model, not str"):
        ly.tidy("model")


def test_groups_of_two_kinds_are_refused():
    groups = np.array(["a", 1] * 3, dtype=object)
    for make, y in ((ly.LinearRegression, [1.0, 2, 3, 4, 5, 7]), (ly.LogisticRegression, [0, 1, 0, 1, 1, 0])):
        with pytest.raises(ValueError, match=r"groups mixes labels of different types \(int, str\)"):
            make(covariance="cluster").fit(np.arange(6.0)[:, None] ** 2, y, groups=groups)


def test_tidy_of_an_aliased_column_has_no_standard_error_as_in_r():
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


def test_standardized_coefficients_and_partial_r_squared_are_those_of_r():
    from questions_cases import DATA, GOLDEN

    model = ly.fit(DATA, formula="y ~ x + z + b")
    table = ly.tidy(model, standardized=True, partial=True)
    np.testing.assert_allclose(table["standardized"][1:], GOLDEN["standardized"]["beta"], rtol=1e-12)
    np.testing.assert_allclose(table["partial_r_squared"][1:], GOLDEN["standardized"]["partial"], rtol=1e-12)
    assert np.isnan(table["standardized"][0])
    assert model.tidy(partial=True).columns[-1] == "partial_r_squared"
    with pytest.raises(ValueError, match="apply to linear models"):
        ly.tidy(ly.fit(DATA, formula="label ~ x"), standardized=True)
    with pytest.raises(ValueError, match="without a penalty"):
        ly.tidy(ly.fit(DATA, formula="y ~ x", model="ridge", alpha=1.0), partial=True)


def test_augment_of_three_classes_adds_up_to_the_deviance():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 2))
    y = np.array(["a", "b", "c"])[(X[:, 0] + rng.normal(size=90) > 0).astype(int) + (X[:, 1] + rng.normal(size=90) > 0)]
    model = ly.LogisticRegression().fit(X, y)
    table, P = ly.augment(model, X, y), model.predict_proba(X)
    assert table["label"].tolist() == y.tolist()
    assert table["predicted"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose((table["deviance_residual"] ** 2).sum(), ly.glance(model)["deviance"][0], rtol=1e-10)
    own = P[np.arange(90), np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(table["probability"], own, rtol=1e-10)
    indicator = y[:, None] == model.classes_
    np.testing.assert_allclose(table["pearson_residual"] ** 2, ((indicator - P) ** 2 / P).sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(table["probability[b]"], P[:, 1], rtol=1e-10)


@pytest.mark.parametrize("target", ["y", "two", "three"])
def test_augment_with_dropped_rows_keeps_the_keys_of_the_others(target, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=60)}, index=[f"r{i}" for i in range(60)])
    frame["two"], frame["three"] = np.array(["a", "b"])[np.arange(60) % 2], np.array(["a", "b", "c"])[np.arange(60) % 3]
    frame.loc[["r1", "r5"], "x"] = np.nan
    kept = [i for i in range(60) if i not in (1, 5)]
    model = ly.fit(frame, target=target, features=["x"], missing="drop")
    assert model.augment(frame)["row"].tolist() == [f"r{i}" for i in kept]
    columns = {name: frame[name].to_numpy() for name in frame}
    assert model.augment(columns)["row"].tolist() == kept
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert model.augment(tmp_path / "a.csv")["row"].tolist() == [f"line {i + 2}" for i in kept]
