"""Intervals of probabilities: R's predict on the scale of logits, three classes, and where rows are."""

import numpy as np
import pytest
from questions_cases import DATA, GOLDEN

import linearly as ly

NEW = {name: values[:5] for name, values in DATA.items()}


def test_interval_of_two_classes_is_that_of_r():
    table = ly.fit(DATA, formula="label ~ a * b + x").predict_interval(NEW, level=0.9)
    expected = GOLDEN["interval"]
    np.testing.assert_allclose(table["fit"], 1 / (1 + np.exp(-np.array(expected["link"]))), rtol=1e-9)
    np.testing.assert_allclose(table["low"], expected["low"], rtol=1e-9)
    np.testing.assert_allclose(table["high"], expected["high"], rtol=1e-9)


def test_interval_of_three_classes_is_by_the_delta_method():
    model = ly.fit(DATA, formula="kind ~ a + x")
    table = model.predict_interval(NEW)
    P = model.predict_proba(NEW)
    assert table["label"].tolist() == ["k1", "k2", "k3"] * 5
    np.testing.assert_allclose(table["fit"], P.ravel(), rtol=1e-12)
    assert ((table["low"] < table["fit"]) & (table["fit"] < table["high"])).all()
    # Delta method by differences: the logit of the first probability of the first row.
    estimator, X = model.estimator, model.design_matrix(NEW)
    x = np.array([X[name][0] for name in X.columns])
    value = np.concatenate([np.r_[b, w] for b, w in zip(estimator.intercept_, estimator.coef_, strict=True)])

    def logit(beta):
        e = np.exp(beta.reshape(2, -1) @ x)
        return np.log(e[0]) - np.log(1 + e[1])

    step = 1e-6
    g = np.array([(logit(value + step * u) - logit(value - step * u)) / (2 * step) for u in np.eye(len(value))])
    reach = 1.959963984540054 * np.sqrt(g @ estimator.covariance_ @ g)
    assert table["low"][0] == pytest.approx(1 / (1 + np.exp(reach - logit(value))), rel=1e-6)


def test_intervals_are_written_beside_predictions():
    two = next(ly.fit(DATA, formula="label ~ x").iter_predictions(NEW, interval=(0.95, "confidence")))
    assert list(two) == ["prediction", "probability[no]", "probability[yes]", "low[yes]", "high[yes]"]
    three = next(ly.fit(DATA, formula="kind ~ x").iter_predictions(NEW, interval=(0.95, "confidence")))
    assert [name for name in three if name.startswith("low")] == ["low[k1]", "low[k2]", "low[k3]"]
    number = next(ly.fit(DATA, formula="y ~ x").iter_predictions(NEW, interval=(0.95, "prediction")))
    assert list(number) == ["prediction", "low", "high"]


def test_intervals_on_dask_are_those_in_memory():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(DATA), npartitions=2)
    model = ly.fit(DATA, formula="kind ~ x")
    found = model.predict_interval(frame).compute()
    table = model.predict_interval(DATA)
    np.testing.assert_allclose(found["low[k2]"], table["low"][1::3], rtol=1e-12)


def test_interval_of_a_label_and_of_several_targets_are_refused():
    with pytest.raises(ValueError, match="not available for labels"):
        ly.fit(DATA, formula="label ~ x").predict_interval(NEW, kind="prediction")
    several = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [[0, 1], [1, 0], [0, 1], [1, 0]])
    with pytest.raises(ValueError, match="estimators_"):
        several.predict_interval([[1.0]])
    with pytest.raises(ValueError, match="no prediction intervals"):
        next(ly.fit(DATA, formula="label ~ x", model="lda").iter_predictions(NEW, interval=(0.95, "confidence")))


@pytest.mark.filterwarnings("ignore::linearly.SeparationWarning")
def test_interval_of_separated_classes_has_no_number():
    model = ly.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.warns(ly.NotEstimableWarning):
        assert np.isnan(model.predict_interval([[1.0]])["low"][0])
