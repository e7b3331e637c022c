"""Offsets, numbers of successes and intervals in formulas: R's figures, every source, the model file and exports."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from golden_sets import read_golden

import linearly as ly

GOLDEN = read_golden("counts_offsets")
DATA, NEW = pd.DataFrame(GOLDEN["data"]), pd.DataFrame(GOLDEN["new"])
LINEAR = {case["formula"]: case for case in GOLDEN["linear"]}
BINOMIAL = {case["formula"]: case for case in GOLDEN["binomial"]}
ALL = [*LINEAR, *BINOMIAL]


def fit(formula, data=DATA, **params):
    weight = {"weight": "n", "model": "logistic"} if formula.startswith("share") else {}
    return ly.fit(data, formula=formula, **weight, **params)


def close(actual, expected, rtol=1e-8):
    np.testing.assert_allclose(
        np.asarray(actual, dtype=float), np.asarray(expected, dtype=float), rtol=rtol, atol=1e-10
    )


@pytest.mark.parametrize("formula", LINEAR)
def test_linear_models_agree_with_lm(formula):
    case, model = LINEAR[formula], fit(formula)
    table, figures, rows = model.tidy(), model.glance(), model.augment(DATA)
    close(table["estimate"], case["coef"])
    close(table["std_error"], case["std_error"])
    close(figures["sigma"][0], case["sigma"])
    close(figures["log_likelihood"][0], case["log_likelihood"])
    close(rows["fitted"], case["fitted"])
    close(rows["leverage"], case["leverage"])
    close(ly.anova(model)["sum_sq"][:-1], case["anova"])
    interval = model.predict_interval(NEW)
    close(model.predict(NEW), case["new"])
    for name, key in (("fit", "new"), ("low", "low"), ("high", "high")):
        close(interval[name], case[key])


@pytest.mark.parametrize("formula", BINOMIAL)
def test_binomial_models_agree_with_glm(formula):
    case, model = BINOMIAL[formula], fit(formula)
    table, figures, rows = model.tidy(), model.glance(), model.augment(DATA)
    close(table["estimate"], case["coef"])
    close(table["std_error"], case["std_error"])
    for name in ("deviance", "null_deviance", "log_likelihood", "aic", "bic", "df_residual"):
        close(figures[name][0], case[name])
    counted = (DATA["n"] > 0).to_numpy() if not formula.startswith("label") else np.ones(len(DATA), dtype=bool)
    close(rows["probability"][counted], case["fitted"])
    for name in ("deviance_residual", "pearson_residual", "leverage"):
        close(rows[name][counted], case[name], 1e-7)
    close(ly.anova(model, DATA)["statistic"][:-1], case["anova"])
    effect = ly.marginal_effects(model, DATA, columns=["x"])
    close([effect["estimate"][0], effect["std_error"][0]], case["effect"])
    interval = model.predict_interval(NEW)
    close(model.predict_proba(NEW)[:, 1], case["new"])
    logit = np.log(interval["high"] / (1 - interval["high"])) - np.log(interval["fit"] / (1 - interval["fit"]))
    close(logit / 1.959963984540054, case["new_error"])


@pytest.mark.parametrize("kind", ["HC0", "HC3"])
@pytest.mark.parametrize("formula", BINOMIAL)
def test_robust_errors_agree_with_sandwich_and_take_a_row_of_counts_as_one_observation(formula, kind):
    close(fit(formula, covariance=kind).tidy()["std_error"], BINOMIAL[formula][kind])


def test_marginal_means_are_at_the_mean_offset_as_in_emmeans(tmp_path):
    fit("label ~ x + a + offset(log(z))").save(tmp_path / "model.json")
    model = ly.load(tmp_path / "model.json")
    means = ly.marginal_means(model, "a", at={"x": 0.5})
    assert means["a"].tolist() == GOLDEN["means"]["a"]
    for name in ("estimate", "std_error", "conf_low", "conf_high"):
        close(means[name], GOLDEN["means"][name])
    elsewhere = ly.marginal_means(model, "a", at={"x": 0.5, "z": 4.0}, scale="link")["estimate"]
    logits = ly.marginal_means(model, "a", at={"x": 0.5}, scale="link")["estimate"]
    close(elsewhere - logits, np.full(3, np.log(4.0) - np.log(DATA["z"]).mean()))


@pytest.mark.parametrize("formula", ALL)
def test_every_source_and_the_model_file_give_the_same_model(formula, tmp_path):
    dask = pytest.importorskip("dask.dataframe")
    model = fit(formula)
    DATA.to_parquet(tmp_path / "rows.parquet", row_group_size=17)
    model.save(tmp_path / "model.json")
    loaded = ly.load(tmp_path / "model.json")
    assert loaded.predict(NEW).tolist() == model.predict(NEW).tolist()
    assert loaded.glance()["aic"].tolist() == model.glance()["aic"].tolist()
    for source in (tmp_path / "rows.parquet", dask.from_pandas(DATA, npartitions=5)):
        other = fit(formula, source)
        close(other.tidy()["std_error"], model.tidy()["std_error"], 1e-9)
        close(other.glance()["log_likelihood"], model.glance()["log_likelihood"], 1e-9)
        close(ly.marginal_effects(loaded, source)["estimate"], ly.marginal_effects(model, DATA)["estimate"], 1e-9)
        assert str(loaded.evaluate(source).metrics) == str(model.evaluate(DATA).metrics)


@pytest.mark.parametrize("formula", ALL)
def test_exports_predict_the_same(formula):
    from linearly.export.onnx import to_onnx
    from linearly.export.python import to_python
    from linearly.export.sql import to_sql

    model = fit(formula)
    namespace = {}
    exec(to_python(model), namespace)
    mine = [namespace["predict"](row) for row in NEW.to_dict("records")]
    if model.classes:
        assert mine == model.predict(NEW).tolist()
        share = [list(namespace["predict_proba"](row).values())[1] for row in NEW.to_dict("records")]
        close(share, model.predict_proba(NEW)[:, 1], 1e-12)
    else:
        close(mine, model.predict(NEW), 1e-12)
    assert "prediction" in to_sql(model)
    assert to_onnx(model)


@pytest.mark.parametrize("formula", [*LINEAR, *list(BINOMIAL)[:4]])
def test_exported_intervals_are_those_of_the_model(formula):
    from linearly.export.python import to_python
    from linearly.export.sql import to_sql

    model = fit(formula, covariance="HC1")
    namespace = {}
    exec(to_python(model, interval=0.9), namespace)
    table = model.predict_interval(NEW, 0.9)
    for i, row in enumerate(NEW.to_dict("records")):
        close(list(namespace["predict_interval"](row).values()), [table[name][i] for name in ("fit", "low", "high")])
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE data (a, b, x, z)")
    base.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", NEW[["a", "b", "x", "z"]].values.tolist())
    found = base.execute(to_sql(model, dialect="sqlite", interval=0.9)).fetchall()
    close([row[-2:] for row in found], np.column_stack([table["low"], table["high"]]))


def test_intervals_without_one_formula_for_all_rows_are_not_exported():
    from linearly.export.python import to_python

    with pytest.raises(ValueError, match="degrees of freedom depend on the row"):
        to_python(fit("y ~ x", covariance="HC3"), interval=0.95)
    with pytest.raises(ValueError, match="two-class logistic models"):
        to_python(ly.fit(DATA, formula="a ~ x"), interval=0.95)
    with pytest.raises(ValueError, match="determines all terms"), pytest.warns(np.exceptions.RankWarning):
        to_python(ly.fit(DATA, formula="y ~ x + I(2 * x)"), interval=0.95)


def test_rows_outside_the_intervals_have_no_exported_prediction():
    from linearly.export.python import to_python
    from linearly.export.sql import to_sql

    model = ly.fit(DATA, formula="y ~ cut(z, c(0, 1, 3, 5))")
    namespace = {}
    exec(to_python(model), namespace)
    assert namespace["predict"]({"z": 9.0}) is None
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE data (z)")
    base.executemany("INSERT INTO data VALUES (?)", [(9.0,), (2.0,)])
    found = base.execute(to_sql(model, dialect="sqlite")).fetchall()
    assert found[0][0] is None
    assert found[1][0] == pytest.approx(model.predict({"z": [2.0]})[0])
    with pytest.raises(ValueError, match="z is 9 in row 1, outside the intervals"):
        model.predict({"z": [2.0, 9.0]})


def test_a_row_of_counts_is_that_many_rows_of_labels():
    used = DATA[DATA["n"] > 0]
    counts = fit("cbind(s, f) ~ x + a")
    long = pd.concat([used.loc[used.index.repeat(used[name])].assign(won=name) for name in ("s", "f")])
    single = ly.fit(long, formula="won ~ x + a")
    close(counts.tidy()["estimate"], single.tidy()["estimate"], 1e-9)
    close(counts.tidy()["std_error"], single.tidy()["std_error"], 1e-9)
    assert counts.classes == single.classes == ("f", "s")
    close(counts.evaluate(DATA)["log_loss"], single.evaluate(long)["log_loss"], 1e-10)


def test_dropped_rows_are_counted_once():
    data = DATA.copy()
    data.loc[[3, 8], "x"] = np.nan
    assert fit("cbind(s, f) ~ x", data, missing="drop").n_dropped == 2


def test_cross_validation_and_reports_take_offsets_and_counts(tmp_path):
    for formula in ("cbind(s, f) ~ x + a + offset(log(z))", "y ~ x + offset(log(z))"):
        model = fit(formula)
        assert ly.cross_validate(model, DATA, folds=4) is not None
        model.report(tmp_path / "page.html", DATA)
        assert "<html" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("cbind(s, n - 20) ~ x", {}, "The count n - 20 is negative in row 0"),
        ("cbind(s) ~ x", {}, "cbind\\(\\) takes two columns"),
        ("cbind(s, f) ~ x", {"model": "lda"}, 'Choose model="logistic"'),
        ("label ~ x + offset(z)", {"model": "lda"}, "offset\\(\\) is available for regressions"),
        ("a ~ x + offset(z)", {}, "offset\\(\\) requires a target with two labels"),
        ("y ~ x:offset(z)", {}, "cannot be part of an interaction"),
        ("y ~ log(offset(z))", {}, "must be a term by itself"),
        ("y ~ cut(x)", {}, "accepts breaks only once"),
        ("y ~ cut(x, 1)", {}, "from 2 to"),
        ("y ~ cut(x, c(1, a))", {}, "at least two different numbers"),
        ("y ~ cut(x, c(0, 1))", {}, "outside the intervals"),
        ("share ~ x", {"model": "logistic"}, "name the column of trials with weight="),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_remedy(formula, options, message):
    with pytest.raises(ValueError, match=message):
        ly.fit(DATA, formula=formula, **options)
