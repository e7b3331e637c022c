"""`best_subset`: exhaustive search, proofs and gaps."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import linearly as ly

X, Y = load_diabetes(return_X_y=True)


def draw(seed, n, p, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "correlated":
        X = X @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    return X, rng.normal(size=n) + (0.0 if kind == "noise" else X[:, : min(p, 5)].sum(axis=1))


@pytest.mark.parametrize("kind", ["independent", "correlated", "noise"])
@pytest.mark.parametrize("p", [1, 2, 7, 11])
def test_every_size_equals_exhaustive_search(p, kind):
    X, y = draw(p, 60, p, kind)
    table = ly.best_subset(ly.LinearRegression().fit(X, y))
    Z, e = X - X.mean(axis=0), y - y.mean()
    for size in range(1, p + 1):
        rss = min(
            float(np.linalg.lstsq(Z[:, A], e, rcond=None)[1][0])
            for A in map(list, itertools.combinations(range(p), size))
        )
        assert table["rss"][size - 1] == pytest.approx(rss, rel=1e-9)
    assert table["proven"].all()


def test_diabetes_has_the_models_of_the_literature():
    # Efron, Hastie, Johnstone & Tibshirani (2004) and R's leaps: age is dropped first, then s3 enters at size 5.
    table = ly.best_subset(ly.LinearRegression().fit(X, Y))
    assert table["terms"][:5].tolist() == ["x2", "x2, x8", "x2, x3, x8", "x2, x3, x4, x8", "x1, x2, x3, x6, x8"]


def test_criteria_are_those_of_glance():
    table = ly.best_subset(ly.LinearRegression().fit(X, Y), max_size=3)
    one = ly.glance(ly.LinearRegression().fit(X[:, [2, 3, 8]], Y))
    for name in ("r_squared", "adj_r_squared", "aic", "bic"):
        assert table[name][2] == pytest.approx(one[name][0], rel=1e-12)


def test_early_stop_reports_a_valid_gap():
    table = ly.best_subset(ly.LinearRegression().fit(X, Y), max_nodes=1)
    best = ly.best_subset(ly.LinearRegression().fit(X, Y))["rss"]
    assert not table["proven"].all()
    assert (table["bound"] <= best * (1 + 1e-12)).all()
    assert (table["rss"] >= best * (1 - 1e-12)).all()


def test_cross_validated_errors_equal_those_of_refits():
    folds = [np.arange(j, len(Y), 4) for j in range(4)]
    splits = [(np.setdiff1d(np.arange(len(Y)), fold), fold) for fold in folds]
    table = ly.best_subset(ly.RidgeCV(cv=splits).fit(X, Y), max_size=2)
    squares = 0.0
    for train, test in splits:
        squares += (
            (Y[test] - ly.LinearRegression().fit(X[train][:, [2, 8]], Y[train]).predict(X[test][:, [2, 8]])) ** 2
        ).sum()
    assert table["cv_error"][1] == pytest.approx(squares / len(Y), rel=1e-10)


def test_thirty_columns_are_proven():
    X, y = draw(0, 200, 30, "correlated")
    table = ly.best_subset(ly.LinearRegression().fit(X, y))
    assert table["proven"].all()
    assert (np.diff(table["rss"]) < 0).all()


class TestRefusals:
    def test_dependent_columns_are_named(self):
        with pytest.warns(np.exceptions.RankWarning):
            model = ly.LinearRegression().fit(np.column_stack([X, X[:, 0] + X[:, 1]]), Y)
        with pytest.raises(ValueError, match=r"'x10'.*Drop"):
            ly.best_subset(model)

    def test_too_many_columns_are_refused(self):
        rng = np.random.default_rng(0)
        with pytest.raises(ValueError, match="at most 60 columns"):
            ly.best_subset(ly.LinearRegression().fit(rng.normal(size=(200, 61)), rng.normal(size=200)))

    def test_other_models_are_refused(self):
        with pytest.raises(TypeError, match="least-squares model"):
            ly.best_subset(ly.LogisticRegression())
