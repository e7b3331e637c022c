"""`fit` and `Model` on data as people have them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import linearly as ly

MODELS = ["logistic", "lda", "qda", "least-squares", "perceptron", "batch", "pocket", "voted", "averaged"]


@pytest.fixture(scope="module")
def iris() -> pd.DataFrame:
    data = load_iris(as_frame=True)
    frame = data.frame.rename(columns=lambda name: name.replace(" (cm)", "").replace(" ", "_"))
    return frame.assign(species=np.array(data.target_names)[frame["target"]]).drop(columns="target")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_every_classifier_equals_its_estimator_on_the_numbers(iris, name):
    params = {"alpha": 1.0} if name == "logistic" else {}
    model = ly.fit(iris, target="species", model=name, **params)
    X, y = iris.drop(columns="species").to_numpy(), iris["species"].to_numpy()
    plain = type(model.estimator)(**params).fit(X, y)
    np.testing.assert_array_equal(model.predict(iris), plain.predict(X))
    if hasattr(plain, "coef_"):
        np.testing.assert_allclose(model.estimator.coef_, plain.coef_, rtol=1e-8, atol=1e-10)
    assert model.evaluate(iris)["accuracy"] == pytest.approx((plain.predict(X) == y).mean())
    assert name in repr(model)
    assert "setosa" in str(model.summary())


def test_summary_shows_target_features_and_weights_as_a_formula():
    rng = np.random.default_rng(0)
    data = {"bill depth": rng.normal(size=30), "kind": list("abc") * 10, "w": np.ones(30), "y": rng.normal(size=30)}
    summary = ly.fit(data, target="y", weight="w").summary()
    assert str(summary).splitlines()[0] == "y ~ `bill depth` + kind, weights w"
    assert str(ly.fit(data, formula="y ~ kind").summary()).splitlines()[0] == "y ~ kind"


def test_summary_of_many_features_lists_the_first():
    wide = {f"x{j}": np.random.default_rng(j).normal(size=40) for j in range(15)}
    first = str(ly.fit(wide, target="x14").summary()).splitlines()[0]
    assert first == f"x14 ~ {' + '.join(f'x{j}' for j in range(12))} + … (2 more columns)"


def test_predictions_do_not_overwrite_their_rows(iris, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "iris.csv"
    iris.to_csv(path, index=False)
    model = ly.fit(path, target="petal_width")
    for source in (path, [path], str(tmp_path)):
        with pytest.raises(ValueError, match=r"iris\.csv is an input file and would be overwritten"):
            model.predict(source, out=path)
    assert model.predict(path, out=tmp_path / "answers.csv") == 150


def test_numbers_in_a_column_of_text_are_levels_too():
    old = pd.DataFrame({"grade": ["1", "2", "X", "1", "2", "X"], "y": [1.0, 2.0, 4.0, 1.5, 2.5, 4.5]})
    for unseen in ("error", "reference"):
        model = ly.fit(old, target="y", unseen=unseen)
        np.testing.assert_allclose(model.predict(pd.DataFrame({"grade": [2, 1]})), [2.25, 1.25])
    assert model.predict(old[:0]).shape == (0,)


def test_auto_says_what_it_chose(iris):
    numbers = ly.fit(iris, target="petal_width")
    assert numbers.model == "linear"
    assert numbers.note == "model 'linear' was chosen because 'petal_width' contains numbers"
    two = iris[iris["species"] != "setosa"]
    labels = ly.fit(two, target="species")
    assert labels.model == "logistic"
    assert "labels" in labels.note
    assert labels.predict_proba(two).shape == (100, 2)


def test_ridge_chooses_alpha_unless_given(iris):
    chosen = ly.fit(iris, target="petal_width", model="ridge")
    assert type(chosen.estimator) is ly.RidgeCV
    told = ly.fit(iris, target="petal_width", model="ridge", alpha=2.0)
    assert type(told.estimator) is ly.LinearRegression
    assert told.estimator.alpha == 2.0


def test_tables_of_a_model_are_those_of_its_estimator(iris):
    model = ly.fit(iris, target="petal_width")
    assert model.tidy()["term"].tolist() == ["Intercept", *model.names]
    assert model.glance()["n"][0] == 150
    augmented = model.augment(iris)
    np.testing.assert_allclose(augmented["fitted"], model.predict(iris), rtol=1e-12)
    interval = model.predict_interval(iris.head(3), kind="prediction")
    assert (interval["low"] < interval["high"]).all()
    assert model.evaluate(iris)["r_squared"] == pytest.approx(model.glance()["r_squared"][0])


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")  # the first part lacks a species
def test_sum_of_parts_minus_a_part_equals_the_others(iris):
    whole = ly.fit(iris, target="petal_width")
    first = ly.fit(iris[:60], like=whole)
    second = ly.fit(iris[60:], like=whole)
    both = first + second
    np.testing.assert_allclose(both.estimator.coef_, whole.estimator.coef_, rtol=1e-10)
    assert len(both.ledger) == 2
    even, odd = ly.fit(iris[::2], like=whole), ly.fit(iris[1::2], like=whole)
    np.testing.assert_allclose((even + odd - odd).predict(iris), even.predict(iris), rtol=1e-9)


@pytest.mark.parametrize("model", ["linear", "ridge", "lda", "qda", "least-squares"])
def test_the_same_rows_are_not_added_twice(iris, model):
    target = "petal_width" if model in ("linear", "ridge") else "species"
    first = ly.fit(iris[::2], target=target, model=model)
    second = ly.fit(iris[1::2], like=first)
    both = first + second
    with pytest.raises(ValueError, match=r"1 block of rows is in both models"):
        both + second


@pytest.mark.parametrize("other", ["extended", "qr"])
def test_the_same_rows_are_not_added_twice_however_exactly_they_were_computed(iris, other):
    first, second = (ly.fit(part, target="petal_width", features=["petal_length"]) for part in (iris[::2], iris[1::2]))
    again = ly.fit(iris[::2], target="petal_width", features=["petal_length"], method=other)
    for a, b in ((first, again), (again, first), (first + second, again)):
        with pytest.raises(ValueError, match=r"1 block of rows is in both models"):
            a + b
    with pytest.raises(ValueError, match="added to this model with another precision"):
        (first + second) - again
    # One cell of one row: a correction is not what was learnt.
    corrected = iris[::2].copy()
    corrected.iloc[-1, corrected.columns.get_loc("petal_length")] += 1e-6
    with pytest.raises(ValueError, match="never added"):
        (first + second) - ly.fit(corrected, target="petal_width", features=["petal_length"])


def test_like_uses_the_given_missing_and_the_levels_of_the_model(iris):
    whole = ly.fit(iris, target="petal_width")
    gaps = iris.copy()
    gaps.loc[7, "sepal_width"] = np.nan
    with pytest.raises(ValueError, match="sepal_width"):
        ly.fit(gaps, like=whole)
    model = ly.fit(gaps, like=whole, missing="drop")
    assert model.n_dropped == 1
    assert model.design.terms == whole.design.terms
    with pytest.raises(ValueError, match="Leave unseen= out"):
        ly.fit(iris, like=whole, unseen="reference")
    with pytest.raises(ValueError, match="missing must be one of"):
        ly.fit(iris, like=whole, missing="ignore")


def test_the_command_line_hands_both_on(iris, tmp_path, capsys):
    pytest.importorskip("click")
    from linearly.cli.main import main

    path = tmp_path / "m.json"
    ly.fit(iris, target="petal_width").save(path)
    gaps = iris.copy()
    gaps.loc[7, "sepal_width"] = np.nan
    gaps.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", str(tmp_path / "t.csv"), "--like", str(path)]
    assert main([*words, "--missing", "drop"]) == 0
    assert "149 rows (1 left out)" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--unseen", "reference"]) == 1
    assert "unseen" in capsys.readouterr().err


def test_intervals_stay_in_the_row_that_they_are_of(iris):
    gaps = iris.copy()
    gaps.loc[7, "sepal_width"] = np.nan
    model = ly.fit(gaps, target="petal_width", missing="drop")
    table = model.predict_interval(gaps, kind="prediction")
    np.testing.assert_allclose(table["fit"], model.predict(gaps), rtol=1e-9)
    assert np.flatnonzero(np.isnan(table["low"])).tolist() == [7]
    known = model.predict_interval(gaps.drop(index=7), kind="prediction")
    np.testing.assert_array_equal(np.delete(table["high"], 7), known["high"])


def test_iter_predictions_keep_column_named_like_an_output_raises(iris):
    model = ly.fit(iris, target="species", model="lda")
    for name in ("prediction", "probability[setosa]"):
        with pytest.raises(ValueError, match="the predictions have a column of that name"):
            model.iter_predictions(iris.assign(**{name: 1.0}), keep=[name])


def test_difference_of_ridge_models_equals_a_fit_of_the_remaining_rows(iris):
    even = ly.fit(iris[::2], target="petal_width", model="ridge", features=["petal_length", "sepal_width"])
    odd = ly.fit(iris[1::2], like=even)
    np.testing.assert_allclose((even + odd - odd).predict(iris), even.predict(iris), rtol=1e-7)


@pytest.mark.parametrize("model", ["perceptron", "batch", "least-squares"])
def test_warnings_point_at_the_line_of_the_user(iris, model):
    params = {} if model == "least-squares" else {"max_passes": 2}
    with pytest.warns(UserWarning, match="did not converge|fitted value") as heard:
        ly.fit(iris, target="species", model=model, features=["sepal_width"], **params)
    assert {warning.filename for warning in heard} == {__file__}


def test_rows_that_were_never_added_are_not_taken_away(iris):
    first = ly.fit(iris[::2], target="species", model="lda")
    second = ly.fit(iris[1::2], like=first)
    with pytest.raises(ValueError, match="1 block of rows was never added"):
        first - second


def test_models_with_other_columns_or_kinds_do_not_combine(iris):
    lda = ly.fit(iris, target="species", model="lda")
    with pytest.raises(ValueError, match=r"differ in kind \(lda and qda\)"):
        lda + ly.fit(iris, target="species", model="qda")
    with pytest.raises(ValueError, match="have different columns, levels or labels"):
        lda + ly.fit(iris, target="species", model="lda", features=["petal_width", "petal_length"])
    logistic = ly.fit(iris, target="species", model="logistic", alpha=1.0)
    with pytest.raises(ValueError, match="'logistic' cannot be combined"):
        logistic + logistic
    with pytest.raises(TypeError):
        lda + 1


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_like_reads_new_data_with_the_same_levels(iris):
    whole = ly.fit(iris, target="petal_width")
    setosa = ly.fit(iris[iris["species"] != "versicolor"], like=whole)
    assert setosa.names == whole.names
    with pytest.raises(ValueError, match="cannot be combined with like="):
        ly.fit(iris, like=whole, target="petal_width")
    with pytest.raises(ValueError, match=r"model must be one of auto, linear, .*, not 'regression'"):
        ly.fit(iris, like=whole, model="regression")
    with pytest.raises(ValueError, match="'species' contains labels, but model 'linear' predicts numbers"):
        ly.fit(iris, like=ly.fit(iris, target="species", model="lda"), model="linear")


def test_data_of_no_known_kind_is_refused():
    with pytest.raises(TypeError, match="not int"):
        ly.fit(3, target="y")
    with pytest.raises(ValueError, match=r"different lengths: \{'a': 2, 'y': 3\}"):
        ly.fit({"a": [1, 2], "y": [1, 2, 3]}, target="y")


def test_probabilities_are_refused_where_there_are_none(iris):
    with pytest.raises(ValueError, match="'perceptron' has scores but no probabilities"):
        ly.fit(iris[:100], target="species", model="perceptron").predict_proba(iris)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["linear", "logistic", "perceptron", "lda"])
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]], ids=["numbers", "text"])
def test_a_model_is_evaluated_as_its_estimator_is(name, labels):
    rng = np.random.default_rng(3)
    x, kind = rng.normal(size=60), rng.choice(["a", "b", "c"], size=60)
    data = {"x": x, "kind": kind, "y": np.array(labels)[(x + rng.normal(size=60) > 0).astype(int)]}
    if name == "linear":
        data["y"] = x + rng.normal(size=60)
    model = ly.fit(data, target="y", model=name)
    told = str(model.evaluate(data))
    assert str(ly.evaluate(model, data)) == str(ly.evaluate(model, model.design_rows(data))) == told
    assert str(ly.evaluate(model, {"x": x, "kind": kind}, data["y"])) == told
    with pytest.raises(ValueError, match="contain targets and weights"):
        ly.evaluate(model, data, sample_weight=np.ones(60))


def test_tables_of_a_model_need_its_data_alone():
    rng = np.random.default_rng(4)
    x, kind = rng.normal(size=60), rng.choice(["a", "b", "c"], size=60)
    data = {"x": x, "kind": kind, "label": np.where(x + rng.normal(size=60) > 0, "yes", "no"), "y": x**2}
    X = np.c_[x, kind == "b", kind == "c"].astype(float)
    linear, logistic = (ly.fit(data, formula=f"{target} ~ x + kind") for target in ("y", "label"))
    for function, model in (
        (ly.augment, linear),
        (ly.residual_tests, linear),
        (ly.augment, logistic),
        (ly.profile_intervals, logistic),
        (ly.likelihood_ratio_tests, logistic),
    ):
        y = data[model.target]
        found, expected = function(model, data), function(clone(model.estimator).fit(X, y), X, y)
        for column in expected.columns:
            if column not in ("term", "test"):
                np.testing.assert_allclose(found[column], expected[column], rtol=1e-6, atol=1e-9)
        with pytest.raises(ValueError, match=f"reads its target '{model.target}'"):
            function(model, data, y)


# --- rows of weight 0 are absent ------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["logistic", "lda", "qda", "least-squares", "batch"])
def test_class_whose_rows_all_have_weight_zero_is_no_class(iris, name, monkeypatch):
    monkeypatch.setattr("linearly.dataset.rows.tables._ROWS", 40)  # and some chunks have no row that is present
    weighted = iris.assign(w=(iris["species"] != "setosa") * 1.0)
    options = {"max_passes": 50} if name == "batch" else {}
    model = ly.fit(weighted, target="species", weight="w", model=name, **options)
    left = ly.fit(weighted[50:], target="species", weight="w", model=name, **options)
    assert model.classes == left.classes == ("versicolor", "virginica")
    np.testing.assert_array_equal(model.predict(weighted), left.predict(weighted))
    rows = ly.scan(weighted, target="species", weight="w")
    assert clone(model.estimator).fit(rows).classes_.tolist() == list(model.classes)
    assert model.evaluate(weighted)["accuracy"] == left.evaluate(weighted[50:])["accuracy"]


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("formula", ["y ~ a + x", "y ~ a + center(x)", "y ~ a * scale(x)"])
def test_rows_of_weight_0_teach_no_level_and_no_mean(formula, missing):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": list("pqr") * 10, "x": rng.normal(size=30), "y": rng.normal(size=30)})
    frame["w"] = (frame["a"] != "q") * rng.integers(1, 4, 30)
    there = frame[frame["w"] > 0]
    model, left = (ly.fit(data, formula=formula, weight="w", missing=missing) for data in (frame, there))
    assert model.names == left.names
    np.testing.assert_allclose(model.estimator.coef_, left.estimator.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="level 'q' in row 0, which does not occur in the training rows"):
        model.predict({"a": ["q"], "x": [1.0]})
    with pytest.raises(ValueError, match="level 's' in row 3, which does not occur in the training rows"):
        ly.fit(frame.assign(a=[*"qqqs", *"pqr" * 8, *"pq"], w=[0.0, 0, 0, 1, *frame["w"][4:]]), like=model)


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_augment_gives_nan_for_a_row_of_weight_zero_with_an_unknown_level(missing):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": list("pqr") * 10, "x": rng.normal(size=30), "y": rng.normal(size=30)})
    frame["w"] = (frame["a"] != "q") * 1.0
    frame.loc[0, "w"] = 0.0  # absent too, but its level is known
    for target, model, told in (("y", "linear", "fitted"), ("label", "logistic", "probability")):
        frame["label"] = frame["y"] + rng.normal(size=30) > 0
        asked = {"target": target, "features": ["a", "x"], "weight": "w", "model": model}
        table = ly.fit(frame, **asked, missing=missing).augment(frame)
        assert np.isnan(table[told]).tolist() == (frame["a"] == "q").tolist()
        assert np.isfinite(table[told][0])
        counted = ly.fit(frame, **asked, missing=missing, unseen="reference").augment(frame)
        assert np.isfinite(counted[told]).all()


def test_rows_that_all_have_weight_zero_raise_in_any_formula():
    data = {"a": ["p", "q", "r"], "x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0], "w": [0, 0, 0]}
    for formula in ("y ~ a", "y ~ center(x)"):
        with pytest.raises(ValueError, match="'w' is not positive in any row"):
            ly.fit(data, formula=formula, weight="w")


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv", "parquet", "dask"])
@pytest.mark.parametrize("target", ["big", "x"])
def test_whole_numbers_beyond_float64_are_refused_as_target_as_they_are_as_feature(kind, target, tmp_path):
    frame = pl.DataFrame({"x": np.arange(6.0) ** 2, "big": [5, 2**53 + 1, 5, 5, 2**53 + 1, 5]})
    data = {"pandas": frame.to_pandas, "polars": lambda: frame}.get(kind, lambda: str(tmp_path / f"t.{kind}"))()
    if kind == "csv":
        frame.write_csv(data)
    if kind == "parquet":
        frame.write_parquet(data)
    if kind == "dask":
        data = pytest.importorskip("dask.dataframe").from_pandas(frame.to_pandas(), npartitions=1)
    told = r"The integer in (row 1|line 3).*, column 'big' exceeds 2\*\*53 and would lose digits"
    with pytest.raises(ValueError, match=told):
        ly.fit(data, target=target, features=["x" if target == "big" else "big"])
    if target == "big":
        with pytest.raises(ValueError, match=told):
            ly.RidgeCV().fit(ly.scan(data, target="big", features=["x"]))
        assert 2**53 + 1 in ly.fit(data, target="big", features=["x"], model="lda").classes


# --- parameters -----------------------------------------------------------------------------------


def test_ridge_is_fitted_like_ridge_with_and_without_an_alpha_of_its_own(iris):
    numbers = iris.drop(columns="species")
    chosen = ly.fit(numbers, target="petal_width", model="ridge", fit_intercept=False)
    given = ly.fit(numbers, like=chosen, alpha=2.0)
    assert given.estimator.get_params()["alpha"] == 2.0
    assert not given.estimator.fit_intercept
    again = ly.fit(numbers, like=given, alphas=[1.0, 3.0])
    assert again.estimator.alphas == [1.0, 3.0]
    with pytest.raises(ValueError, match="'linear' has no parameter 'alphas'"):
        ly.fit(numbers, like=ly.fit(numbers, target="petal_width"), alphas=[1.0])


@pytest.mark.parametrize("name", ["lda", "qda", "least-squares"])
def test_a_formula_without_a_constant_is_refused_where_the_model_has_one(iris, name):
    with pytest.raises(ValueError, match=f"Model '{name}' always has an intercept"):
        ly.fit(iris, formula="species ~ petal_width + petal_length - 1", model=name)


def test_design_matrix_times_coefficients_is_the_prediction():
    from questions_cases import DATA

    model = ly.fit(DATA, formula="y ~ a * x + log(z)")
    table = model.design_matrix(DATA)
    assert table.columns == ("Intercept", *model.names)
    X = np.column_stack([table[name] for name in table.columns])
    beta = np.r_[model.estimator.intercept_, model.estimator.coef_]
    np.testing.assert_allclose(X @ beta, model.predict(DATA), rtol=1e-12)


@pytest.mark.parametrize("formula", ["y ~ a + g", 'y ~ a + C(g, reference="v")', "g ~ a + b", "y ~ a + b + g"])
def test_prediction_of_a_dict_of_one_row_equals_that_of_its_frame(formula):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "y"])
    frame["g"] = np.array(["u", "v", "w"])[np.arange(60) % 3]
    model = ly.fit(frame, formula=formula)
    features = [name for name in ("a", "b", "g") if name in formula.split("~")[1]]
    for i in range(3):
        row = frame[features].iloc[i : i + 1]
        one = {name: [values if name == "g" else float(values)] for name, values in row.iloc[0].items()}
        values = {name: value for name, (value,) in one.items()}
        for given in (one, values):
            assert model.design.block_of_one_row(given) is not None
            np.testing.assert_array_equal(model.predict(given), model.predict(row))
        # The frame is made without the short way, for example by predict_interval.
        interval = "predict_proba" if model.classes else "predict_interval"
        np.testing.assert_array_equal(getattr(model, interval)(values), getattr(model, interval)(row))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"a": [float("nan")]}, "contains NaN"),
        ({"g": ["z"]}, "which does not occur in the training rows"),
        ({"a": 1.0}, "must be a list or an array"),
        ({"a": [1.0, 2.0]}, "different lengths"),
        ({"a": ["one"]}, "not a number|not numeric"),
    ],
)
def test_prediction_of_a_dict_with_a_wrong_value_raises_the_error_of_frames(changed, message):
    frame = pd.DataFrame({"a": np.arange(12.0), "g": list("uvwuvwuvwuvw"), "y": np.arange(12.0) ** 2})
    model = ly.fit(frame, target="y")
    with pytest.raises(ValueError, match=message):
        model.predict({"a": [1.0], "g": ["u"]} | changed)
