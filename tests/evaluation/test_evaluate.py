"""Evaluation: somebody else's figures, and laws that intervals, weights and blocks must keep."""

import doctest
import html.parser
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from golden_sets import read_golden
from sklearn import metrics as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import linearly
import linearly.models.linear_regression
from linearly.dataset.rows.block import as_rows
from linearly.evaluation.evaluate import Evaluation
from linearly.evaluation.intervals import Area, RowMean, newcombe
from linearly.findings.evaluation import evaluate

GOLDEN = read_golden("classifiers")


class Table:
    """A classifier that answers what it was told: row i of X holds i."""

    def __init__(self, classes, predicted, probability=None, score=None):
        self.classes_ = np.asarray(classes)
        self.predicted = np.asarray(predicted)
        if probability is not None:
            self.predict_proba = lambda X: np.asarray(probability)[np.asarray(X)[:, 0].astype(int)]
        if score is not None:
            self.decision_function = lambda X: np.asarray(score)[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X):
        return self.predicted[np.asarray(X)[:, 0].astype(int)]


def numbered(n):
    return np.arange(n, dtype=float)[:, None]


def told(actual, predicted, **more):
    classes = np.unique(np.concatenate([actual, predicted]))
    return evaluate(Table(classes, predicted), numbered(len(actual)), actual, **more)


def row(result, metric):
    return next(entry for entry in result.metrics if entry["metric"] == metric)


def metric_values(result):
    return dict(zip(result.metrics["metric"].tolist(), result.metrics["value"], strict=True))


# --- somebody else's figures ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["birthwt", "pima"])
def test_metrics_and_intervals_as_in_r(name):
    expected, logistic = GOLDEN["evaluation"][name], GOLDEN["logistic"][name]
    y = np.array(GOLDEN["data"][name][logistic["response"]])
    y = (y == logistic.get("positive", 1)).astype(int)
    p = np.array(logistic["rows"]["fitted"])
    model = Table([0, 1], (p >= 0.5).astype(int), np.c_[1 - p, p])
    result = evaluate(model, numbered(len(y)), y)
    assert result.kind == "binary"
    assert result.labels == (1, 0)
    np.testing.assert_array_equal(
        [result.confusion["predicted 1"], result.confusion["predicted 0"]], np.transpose(expected["matrix"])
    )
    for metric in ("accuracy", "precision", "recall"):
        found = row(result, metric)
        np.testing.assert_allclose(
            [found["value"], found["conf_low"], found["conf_high"]], list(expected[metric].values()), rtol=1e-12
        )
    for metric in ("log_loss", "brier_score"):
        found, (value, error) = row(result, metric), expected[metric].values()
        np.testing.assert_allclose(found["value"], value, rtol=1e-12)
        loss = -np.log(np.where(y == 1, p, 1 - p)) if metric == "log_loss" else (y - p) ** 2
        mean = RowMean.of(RowMean.sums(loss, np.ones(len(y))))
        np.testing.assert_allclose(mean.error, error, rtol=1e-12)
        assert [found["value"], found["conf_low"], found["conf_high"]] == pytest.approx(mean.interval(0.95)[:3])
    area = Area.of(p, y == 1, np.ones(len(y)))
    np.testing.assert_allclose(area.value, expected["roc_auc"]["value"], rtol=1e-14)
    np.testing.assert_allclose(area.influence @ area.influence, expected["roc_auc"]["variance"], rtol=1e-12)
    assert row(result, "roc_auc")["conf_low"] < area.value < row(result, "roc_auc")["conf_high"]


@pytest.mark.parametrize("weighted", [False, True])
def test_two_labels_as_in_scikit_learn(weighted):
    X, y = load_breast_cancer(return_X_y=True)
    w = np.random.default_rng(0).exponential(size=len(y)) if weighted else None
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e-3)).fit(X[::2], y[::2])
    result = evaluate(model, X, y, sample_weight=w, positive=1)
    answer, p = model.predict(X), model.predict_proba(X)[:, 1]
    expected = {
        "accuracy": theirs.accuracy_score(y, answer, sample_weight=w),
        "balanced_accuracy": theirs.balanced_accuracy_score(y, answer, sample_weight=w),
        "precision": theirs.precision_score(y, answer, sample_weight=w),
        "recall": theirs.recall_score(y, answer, sample_weight=w),
        "f1": theirs.f1_score(y, answer, sample_weight=w),
        "log_loss": theirs.log_loss(y, p, sample_weight=w),
        "brier_score": theirs.brier_score_loss(y, p, sample_weight=w),
        "roc_auc": theirs.roc_auc_score(y, p, sample_weight=w),
        "average_precision": theirs.average_precision_score(y, p, sample_weight=w),
    }
    for metric, value in expected.items():
        np.testing.assert_allclose(result[metric], value, rtol=1e-12, err_msg=metric)
    matrix = theirs.confusion_matrix(y, answer, labels=[1, 0], sample_weight=w)
    np.testing.assert_allclose(
        np.stack([result.confusion["predicted 1"], result.confusion["predicted 0"]], axis=1), matrix
    )
    false, true, _ = theirs.roc_curve(y, p, sample_weight=w)
    np.testing.assert_array_equal(result.roc["false_positive_rate"], false)
    np.testing.assert_allclose(np.trapezoid(true, false), result["roc_auc"], rtol=1e-12)
    assert result.precision_recall["recall"][-1] == 0
    turned = evaluate(model, X, y, sample_weight=w, positive=0)
    np.testing.assert_allclose(turned["recall"], theirs.recall_score(y, answer, sample_weight=w, pos_label=0))
    np.testing.assert_allclose(turned["roc_auc"], result["roc_auc"])
    assert turned.labels == (0, 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_several_labels_as_in_scikit_learn(weighted):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    w = np.random.default_rng(1).integers(1, 5, len(y)).astype(float) if weighted else None
    model = GaussianNB().fit(X[:, :2], names)
    result = evaluate(model, X[:, :2], names, sample_weight=w)
    answer, P = model.predict(X[:, :2]), model.predict_proba(X[:, :2])
    expected = {
        "accuracy": theirs.accuracy_score(names, answer, sample_weight=w),
        "balanced_accuracy": theirs.balanced_accuracy_score(names, answer, sample_weight=w),
        "micro_f1": theirs.f1_score(names, answer, average="micro", sample_weight=w),
        "log_loss": theirs.log_loss(names, P, sample_weight=w),
        "brier_score": theirs.brier_score_loss(names, P, sample_weight=w),
        "macro_roc_auc": theirs.roc_auc_score(names, P, multi_class="ovr", sample_weight=w),
    }
    for short, score in (
        ("precision", theirs.precision_score),
        ("recall", theirs.recall_score),
        ("f1", theirs.f1_score),
    ):
        expected[f"macro_{short}"] = score(names, answer, average="macro", sample_weight=w)
        each = score(names, answer, average=None, sample_weight=w)
        np.testing.assert_allclose(result.per_class[short], each, rtol=1e-12)
    for metric, value in expected.items():
        np.testing.assert_allclose(result[metric], value, rtol=1e-12, err_msg=metric)
    assert result.kind == "multiclass"
    assert result.per_class["label"].tolist() == ["setosa", "versicolor", "virginica"]
    assert set(result.roc["label"]) == set(names)
    counts = result.calibration["n"].sum()
    assert counts == len(y)


@pytest.mark.parametrize("weighted", [False, True])
def test_any_subset_of_labels_as_in_scikit_learn(weighted):
    X, Y = make_multilabel_classification(n_samples=150, n_labels=2, n_classes=4, random_state=0)
    w = np.random.default_rng(2).exponential(size=len(X)) if weighted else None
    model = MultiOutputClassifier(GaussianNB()).fit(X, Y)
    result = evaluate(model, X, Y, sample_weight=w)
    answer = model.predict(X)
    P = np.column_stack([p[:, 1] for p in model.predict_proba(X)])
    expected = {
        "subset_accuracy": theirs.accuracy_score(Y, answer, sample_weight=w),
        "hamming_loss": theirs.hamming_loss(Y, answer, sample_weight=w),
        "macro_roc_auc": theirs.roc_auc_score(Y, P, average="macro", sample_weight=w),
        "macro_average_precision": theirs.average_precision_score(Y, P, average="macro", sample_weight=w),
        "log_loss": np.mean([theirs.log_loss(Y[:, j], P[:, j], sample_weight=w) for j in range(4)]),
        "brier_score": np.mean([theirs.brier_score_loss(Y[:, j], P[:, j], sample_weight=w) for j in range(4)]),
    }
    for short, score in (
        ("precision", theirs.precision_score),
        ("recall", theirs.recall_score),
        ("f1", theirs.f1_score),
    ):
        for kind in ("micro", "macro"):
            expected[f"{kind}_{short}"] = score(Y, answer, average=kind, sample_weight=w)
        np.testing.assert_allclose(result.per_class[short], score(Y, answer, average=None, sample_weight=w), rtol=1e-12)
    for metric, value in expected.items():
        np.testing.assert_allclose(result[metric], value, rtol=1e-12, err_msg=metric)
    assert result.kind == "multilabel"
    cells = theirs.multilabel_confusion_matrix(Y, answer, sample_weight=w)
    np.testing.assert_allclose(result.confusion["true_positive"], cells[:, 1, 1])
    np.testing.assert_allclose(result.confusion["false_negative"], cells[:, 1, 0])
    np.testing.assert_allclose(result.confusion["true_negative"], cells[:, 0, 0])
    named = evaluate(model, X, pd.DataFrame(Y, columns=list("abcd")), sample_weight=w)
    assert named.per_class["label"].tolist() == list("abcd")
    assert metric_values(named) == metric_values(result)
    sparse = evaluate(model, X, sp.csr_array(Y), sample_weight=w)
    assert metric_values(sparse) == metric_values(result)


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_as_in_scikit_learn(weighted):
    X, y = load_diabetes(return_X_y=True)
    w = np.random.default_rng(3).exponential(size=len(y)) if weighted else None
    model = LinearRegression().fit(X, y)
    result = evaluate(model, X, y, sample_weight=w)
    answer = model.predict(X)
    np.testing.assert_allclose(result["rmse"], theirs.root_mean_squared_error(y, answer, sample_weight=w), rtol=1e-12)
    np.testing.assert_allclose(result["mae"], theirs.mean_absolute_error(y, answer, sample_weight=w), rtol=1e-12)
    np.testing.assert_allclose(result["r_squared"], theirs.r2_score(y, answer, sample_weight=w), rtol=1e-12)
    assert result.confusion is None
    assert result.roc is None
    Y = np.c_[y, -2 * y + X[:, 0]]
    both = evaluate(LinearRegression().fit(X, Y), X, Y, sample_weight=w)
    np.testing.assert_allclose(both["r_squared"][0], result["r_squared"], rtol=1e-12)
    assert both.metrics["target"].tolist() == ["y0"] * 3 + ["y1"] * 3


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_several_targets_have_the_names_of_their_columns(frame):
    X, y = load_diabetes(return_X_y=True)
    Y = frame({"y1": y, "y0": X[:, 0] + X[:, 1] ** 2})
    model = linearly.LinearRegression().fit(X, np.asarray(Y))
    found = evaluate(model, X, Y).metrics
    assert found["target"].tolist() == ["y1"] * 3 + ["y0"] * 3
    assert found["value"][0] == pytest.approx(theirs.root_mean_squared_error(y, model.predict(X)[:, 0]))


def test_r_squared_at_any_offset_and_scale():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=200)
    model = LinearRegression().fit(X, y)
    plain = evaluate(model, X, y).metrics
    for scale, offset in ((1e150, 0.0), (1e-150, 0.0), (1.0, 1e9)):
        moved = y * scale + offset
        far = evaluate(LinearRegression().fit(X, moved), X, moved).metrics
        for name in ("value", "conf_low", "conf_high"):
            np.testing.assert_allclose(far[name][2], plain[name][2], rtol=1e-5 if offset else 1e-10)
            np.testing.assert_allclose(far[name][:2] / scale, plain[name][:2], rtol=1e-5 if offset else 1e-10)


# --- intervals ------------------------------------------------------------------------------------


# --- laws -----------------------------------------------------------------------------------------


def test_confusion_has_the_positive_label_first_and_actual_rows():
    result = told(np.array(["+", "+", "+", "-", "-"]), np.array(["+", "+", "-", "+", "-"]), positive="+")
    assert result.confusion.columns == ("actual", "predicted +", "predicted -")
    assert result.confusion["actual"].tolist() == ["+", "-"]
    assert result.confusion["predicted +"].tolist() == [2, 1]  # TP, FP
    assert result.confusion["predicted -"].tolist() == [1, 1]  # FN, TN
    assert "rows actual, columns predicted" in str(result)
    assert result["accuracy"] == pytest.approx(3 / 5)
    assert result["precision"] == result["recall"] == result["f1"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel", "regression"])
def test_evaluate_in_blocks_equals_evaluate_in_one_piece(kind, monkeypatch):
    monkeypatch.setattr("linearly.dataset.rows.block.rows_in_block", lambda p: 17)
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 3))
    w = rng.integers(0, 3, 200).astype(float)
    if kind == "regression":
        y = X @ [1.0, 2.0, 3.0] + rng.normal(size=200)
        model = LinearRegression().fit(X, y)
    elif kind == "multilabel":
        y = (X + rng.normal(size=X.shape) > 0).astype(int)
        model = MultiOutputClassifier(GaussianNB()).fit(X, y)
    else:
        cuts = [0.0] if kind == "binary" else [-1.0, 1.0]
        y = np.digitize(X.sum(axis=1) + rng.normal(size=200), cuts)
        model = GaussianNB().fit(X, y)
    whole = evaluate(model, X, y, sample_weight=w)
    blocks = evaluate(model, as_rows(X, y, w))
    assert whole.kind == blocks.kind == kind
    assert whole.n == blocks.n == int((w > 0).sum())
    for name in ("value", "conf_low", "conf_high"):
        np.testing.assert_allclose(blocks.metrics[name], whole.metrics[name], rtol=1e-10)


def test_evaluate_ignores_rows_of_weight_zero_and_scale_of_weights():
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    w = np.where(np.arange(150) % 5 == 0, 0.0, 1.0)
    some = evaluate(model, X[w > 0], y[w > 0])
    weighted = evaluate(model, X, y, sample_weight=w)
    assert str(some) == str(weighted)
    scaled = evaluate(model, X, y, sample_weight=w * 1e6)
    for name in ("value", "conf_low", "conf_high"):
        np.testing.assert_allclose(scaled.metrics[name], some.metrics[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("far", [1e10, -1e300])
def test_evaluate_ignores_the_target_of_rows_of_weight_zero(far):
    X, y = np.c_[:6.0], np.array([0.1, 0.9, 2.3, 2.8, 4.1, far])
    w = np.array([1.0, 1, 1, 1, 1, 0])
    model = linearly.LinearRegression().fit(X[:5], y[:5])
    told = str(evaluate(model, X[:5], y[:5]))
    assert str(evaluate(model, X, y, sample_weight=w)) == told
    assert str(evaluate(model, as_rows(X[::-1].copy(), y[::-1].copy(), w[::-1].copy()))) == told


def test_integer_weights_repeat_rows_in_values():
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X[:, :1], y)
    w = np.arange(150) % 4
    again = evaluate(model, np.repeat(X[:, :1], w, axis=0), np.repeat(y, w))
    weighted = evaluate(model, X[:, :1], y, sample_weight=w)
    np.testing.assert_allclose(weighted.metrics["value"], again.metrics["value"], rtol=1e-12)


def test_a_correct_calibration_has_no_error():
    p = np.repeat([0.25, 0.75], 400)
    y = np.tile([1, 0, 0, 0], 100).tolist() + np.tile([1, 1, 1, 0], 100).tolist()
    model = Table([0, 1], (p > 0.5).astype(int), np.c_[1 - p, p])
    result = evaluate(model, numbered(800), np.array(y))
    assert result["calibration_error"] == pytest.approx(0.0, abs=1e-12)
    assert result.calibration["observed"].tolist() == pytest.approx([0.25, 0.75])
    assert result.calibration["bin"].tolist() == ["0.2 to 0.3", "0.7 to 0.8"]
    assert "the expected calibration error is about" in str(result)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_evaluate_accepts_frames_and_models_of_linearly(frame):
    X, y = load_diabetes(return_X_y=True)
    data = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    model = linearly.models.linear_regression.LinearRegression().fit(frame(data), y)
    result = evaluate(model, frame(data), y)
    assert result["r_squared"] == pytest.approx(model.score(frame(data), y))
    np.testing.assert_allclose(evaluate(model, as_rows(frame(data), y))["rmse"], result["rmse"], rtol=1e-12)


# --- what is not there ----------------------------------------------------------------------------


def test_precision_without_positive_predictions_is_0_with_a_note():
    result = told(np.array([1, 0, 0, 1]), np.array([0, 0, 0, 0]))
    assert result["precision"] == 0
    assert (row(result, "precision")["conf_low"], row(result, "precision")["conf_high"]) == (0, 1)
    assert "1: never predicted, so precision is 0/0, defined as 0." in result.notes
    nowhere = evaluate(Table(["a", "b"], ["a", "a"]), numbered(2), ["a", "a"], positive="b")
    assert nowhere["f1"] == 0
    assert any("neither predicted nor in y" in note for note in nowhere.notes)
    assert any("without 'b'" in note for note in nowhere.notes)
    assert nowhere["balanced_accuracy"] == 1


def test_one_label_has_no_area_under_a_curve():
    X, y = load_breast_cancer(return_X_y=True)
    model = GaussianNB().fit(X, y)
    result = evaluate(model, X[y == 1], y[y == 1])
    assert np.isnan(result["roc_auc"])
    assert np.isnan(result["average_precision"])
    assert "All rows have the same label, so areas under curves are undefined." in result.notes
    assert result.roc is None
    assert result.precision_recall is None
    assert 0 < result["recall"] <= 1
    three = GaussianNB().fit(*load_iris(return_X_y=True))
    alone = evaluate(three, load_iris().data[:50], load_iris().target[:50])
    assert np.isnan(alone["macro_roc_auc"])
    two = evaluate(three, load_iris().data[:100], load_iris().target[:100])
    assert two["macro_roc_auc"] == 1  # of the labels that occur
    assert row(two, "macro_roc_auc")["conf_low"] < 1


def test_a_label_of_one_row_leaves_the_averages_their_intervals():
    rng = np.random.default_rng(6)
    actual = np.r_[np.zeros(20, int), np.ones(20, int), 2]
    P = rng.dirichlet(np.ones(3), size=41) + 0.5 * np.eye(3)[actual]
    P /= P.sum(axis=1, keepdims=True)
    result = evaluate(Table([0, 1, 2], P.argmax(axis=1), P), numbered(41), actual)
    Y = np.eye(3, dtype=int)[actual]
    several = evaluate(Table([0, 1, 2], (P > 0.5).astype(int), P), numbered(41), Y)
    for found in (result, several):
        for name in ("macro_roc_auc", "macro_average_precision"):
            low, value, high = (
                found.metrics[c][found.metrics["metric"] == name][0] for c in ("conf_low", "value", "conf_high")
            )
            assert 0 <= low < value < high <= 1
    alone = Area.of(P[:, 2], actual == 2, np.ones(41))
    assert alone.interval(0.95) == newcombe(alone.value, 1.0, 40.0, 0.95)
    assert alone.interval(0.95).low == result.per_class["roc_auc_low"][2]


def test_scores_without_probabilities_and_labels_without_scores():
    X, y = load_breast_cancer(return_X_y=True)
    ridge = RidgeClassifier().fit(X, y)
    result = evaluate(ridge, X, y)
    np.testing.assert_allclose(result["roc_auc"], theirs.roc_auc_score(y, ridge.decision_function(X)), rtol=1e-12)
    turned = evaluate(ridge, X, y, positive=0)
    np.testing.assert_allclose(turned["roc_auc"], result["roc_auc"], rtol=1e-12)
    assert "log_loss" not in result.metrics["metric"]
    assert result.calibration is None
    assert any("no probabilities" in note for note in result.notes)
    X, y = load_iris(return_X_y=True)
    perceptron = Perceptron().fit(X, y)
    expected = theirs.roc_auc_score(np.eye(3)[y], perceptron.decision_function(X))
    np.testing.assert_allclose(evaluate(perceptron, X, y)["macro_roc_auc"], expected, rtol=1e-12)
    four = np.arange(150) % 4
    votes = SVC(decision_function_shape="ovo").fit(X, four)  # six votes for four labels: no scores of a label
    assert "macro_roc_auc" not in evaluate(votes, X, four).metrics["metric"]
    assert "roc_auc" not in told(four, four).metrics["metric"]


def test_probability_zero_is_counted_and_finite():
    model = Table([0, 1], [0, 1], [[1.0, 0.0], [0.0, 1.0]])
    result = evaluate(model, numbered(2), [1, 1])
    assert result["log_loss"] == pytest.approx(-np.log(np.finfo(float).eps) / 2)
    assert any("has predicted probability 0: 1" in note for note in result.notes)


def test_evaluate_of_a_model_with_one_label():
    X = np.zeros((4, 1))
    result = evaluate(DummyClassifier().fit(X, ["a"] * 4), X, ["a"] * 4)
    assert result["accuracy"] == 1
    assert np.isnan(result["macro_roc_auc"])


def test_one_row_and_a_constant_target():
    result = evaluate(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]), [[1.0]], [3.0])
    assert result["rmse"] == result["mae"] == pytest.approx(2.0)
    assert np.isnan(row(result, "rmse")["conf_low"])
    assert np.isnan(result["r_squared"])
    constant = evaluate(LinearRegression().fit([[0.0], [1.0]], [0.1, 0.1]), [[0.0], [1.0]], [0.1, 0.1])
    assert "y does not vary, so R² is undefined." in constant.notes


def regression(X):
    return LinearRegression().fit(X, X[:, 0])


def large(X):
    return X[:, 0] > 5.8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m, X, y: evaluate(m, X, ["b"] * 148 + ["zebra", "yak"]),
            r"not among the classes of the model: 'yak', 'zebra' \(first in row 148",
        ),
        (lambda m, X, y: evaluate(m, X, [None, *y[1:]]), "mixes labels of different types"),
        (lambda m, X, y: evaluate(m, X, y[:-1]), "Pass X and y for the same rows"),
        (lambda m, X, y: evaluate(m, X), "needs y"),
        (lambda m, X, y: evaluate(m, X[:0], []), "no rows"),
        (lambda m, X, y: evaluate(m, X, y, positive="b"), "positive= requires two labels, but the model has 3"),
        (lambda m, X, y: evaluate(m, X, y, level=95), "level must be between 0 and 1"),
        (lambda m, X, y: evaluate(m, X, y, sample_weight=np.zeros(150)), "at least one non-zero"),
        (lambda m, X, y: evaluate(m, as_rows(X, y, np.zeros(150))), "No row has positive weight"),
        (lambda m, X, y: evaluate(m, X, y, sample_weight=-np.ones(150)), "Negative values in sample_weight: row 0"),
        (lambda m, X, y: evaluate(m, as_rows(X, y), y), "contain targets"),
        (lambda m, X, y: evaluate(m, as_rows(X)), "contain no targets"),
        (lambda m, X, y: evaluate(m, X, np.c_[y, y][:, :, None]), "one label per row"),
        (lambda m, X, y: evaluate(regression(X), X, np.full(150, np.nan)), "y contains NaN or infinity in row 0"),
        (lambda m, X, y: evaluate(regression(X), X, X[:, 0], positive=1), "positive= requires a classifier"),
        (
            lambda m, X, y: evaluate(GaussianNB().fit(X, large(X)), X, large(X), positive="b"),
            "not a label of the model",
        ),
    ],
)
def test_what_is_refused(call, message):
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    with pytest.raises(ValueError, match=message):
        call(GaussianNB().fit(X, y), X, y)


def test_evaluate_refuses_bad_models_and_matrices():
    X, Y = make_multilabel_classification(n_samples=30, n_classes=3, random_state=0)
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="needs a fitted model with predict, not str"):
        evaluate("model", X, Y)
    with pytest.raises(TypeError, match=r"GaussianNB has no classes_. Fit it first"):
        evaluate(GaussianNB(), X, Y[:, 0])
    with pytest.raises(ValueError, match="Pass y as a 0/1 matrix"):
        evaluate(forest, X, Y[:, 0])
    with pytest.raises(ValueError, match="y has 2 in row 0, label 'y0'"):
        evaluate(forest, X, np.where(np.arange(30)[:, None] == 0, 2, Y))
    with pytest.raises(ValueError, match="one of two labels per row"):
        evaluate(forest, X, Y, positive=1)
    with pytest.raises(ValueError, match="The prediction must be a 0/1 matrix with 2 columns"):
        evaluate(forest, X, Y[:, :2])


def test_the_labels_of_an_arrow_table_have_its_names():
    X, Y = make_multilabel_classification(n_samples=30, n_classes=3, random_state=0)
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    assert list(evaluate(model, X, pa.table(dict(zip("abc", Y.T, strict=True)))).per_class["label"]) == ["a", "b", "c"]


# --- how it reads ---------------------------------------------------------------------------------


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return evaluate(GaussianNB().fit(X, y), X, np.array(y))


def test_evaluation_prints_on_one_screen(iris):
    text = str(iris)
    assert text.startswith("GaussianNB on 150 rows, 3 labels\n")
    assert repr(iris) == text
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 45
    assert "Always predicting 0 has accuracy 0.3333 here." in text
    assert "Intervals have level 95%" in text


def test_html_is_well_formed(iris):
    opened = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag != "br":
                opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Reader().feed(iris._repr_html_())
    assert opened == []
    assert "rows actual, columns predicted" in iris._repr_html_()


def test_evaluation_getitem_returns_metrics_by_name(iris):
    assert isinstance(iris["accuracy"], float)
    with pytest.raises(KeyError, match="Choose one of accuracy, balanced_accuracy"):
        iris["acuracy"]
    assert iris.metrics.columns == ("metric", "value", "conf_low", "conf_high", "method")


def test_many_labels_are_not_printed_as_a_matrix():
    y = np.arange(60) % 20
    result = told(y, (y + (np.arange(60) < 3)) % 20)
    assert "Confusion matrix" not in str(result)
    assert len(result.confusion) == 20


def test_evaluation_can_be_pickled(iris):
    again = pickle.loads(pickle.dumps(iris))
    assert isinstance(again, Evaluation)
    assert str(again) == str(iris)
    np.testing.assert_array_equal(again.roc["threshold"], iris.roc["threshold"])


def test_docstring_example(monkeypatch):
    monkeypatch.setattr(linearly, "evaluate", evaluate, raising=False)
    assert doctest.testmod(sys.modules[evaluate.__module__]).failed == 0


def test_a_frame_with_hostile_names_and_masked_targets():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["names", "fold"])
    y = frame["names"] + rng.normal(size=40)
    model = linearly.LinearRegression().fit(frame, y)
    assert evaluate(model, frame, y)["r_squared"] == pytest.approx(model.score(frame, y))
    with pytest.raises(ValueError, match="y is masked, so missing: row 5"):
        evaluate(model, frame, np.ma.array(y, mask=np.arange(40) == 5))
