"""LDA, QDA and the indicator classifier: as R has them, by their theorems, and where covariances are singular."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import linearly as ly
from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.dataset.rows.block import Block

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "classifiers.json").read_text())
BY_CLASS = [ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis, ly.LeastSquaresClassifier]


def golden(name):
    facts, data = GOLDEN["discriminant"][name], GOLDEN["data"][name]
    X = np.column_stack([data[feature] for feature in facts["features"]]).astype(float)
    return facts, X, np.array(data[facts["label"]])


@parametrize_with_checks([make() for make in BY_CLASS])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning", "ignore::linearly.MaskingWarning")
@pytest.mark.filterwarnings("ignore::linearly.NotEstimableWarning")  # rows of weight 0 are predicted too
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["iris", "crabs"])
@pytest.mark.parametrize("kind", ["lda", "lda_given", "qda", "qda_given"])
def test_posteriors_as_in_mass(name, kind):
    facts, X, y = golden(name)
    make = ly.LinearDiscriminantAnalysis if "lda" in kind else ly.QuadraticDiscriminantAnalysis
    model = make(priors=facts[kind]["prior"] if "given" in kind else None).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), facts[kind]["posterior"], atol=1e-10)
    np.testing.assert_allclose(model.priors_, facts[kind]["prior"], rtol=1e-12)
    np.testing.assert_allclose(model.means_, facts["means"], rtol=1e-12)
    if "lda" in kind:
        np.testing.assert_allclose(model.covariance_, facts["covariance"], rtol=1e-10)
        ours, theirs = model.scalings_, np.array(facts[kind]["scaling"])
        np.testing.assert_allclose(ours * np.sign(ours[0]), theirs * np.sign(theirs[0]), rtol=1e-8)
    else:
        np.testing.assert_allclose(model.covariances_, facts["covariances"], rtol=1e-10)


def test_scores_are_those_printed_in_the_note():
    X, y = load_iris(return_X_y=True)
    model = ly.LinearDiscriminantAnalysis().fit(X, y)
    P = np.linalg.inv(model.covariance_)
    delta = [X @ P @ m - 0.5 * m @ P @ m + np.log(p) for m, p in zip(model.means_, model.priors_, strict=True)]
    np.testing.assert_allclose(model.decision_function(X), np.column_stack(delta), rtol=1e-10)
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, np.column_stack(delta), rtol=1e-10)


def test_one_dimension_is_cut_half_way_between_the_means():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 2, 50), rng.normal(5, 2, 50)])[:, None]
    model = ly.LinearDiscriminantAnalysis().fit(x, np.repeat([0, 1], 50))
    cut = -model.intercept_[0] / model.coef_[0, 0]
    assert cut == pytest.approx(model.means_.mean())


def test_qda_with_one_covariance_is_lda():
    X, y = load_wine(return_X_y=True)
    ours = ly.QuadraticDiscriminantAnalysis(shrinkage=1.0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours, ly.LinearDiscriminantAnalysis().fit(X, y).predict_proba(X), atol=1e-10)


def test_lda_direction_is_that_of_least_squares_for_two_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    lda = ly.LinearDiscriminantAnalysis().fit(X, y).coef_[0]
    least_squares = ly.LeastSquaresClassifier().fit(X, y).coef_[0]
    np.testing.assert_allclose(lda / np.linalg.norm(lda), least_squares / np.linalg.norm(least_squares), rtol=1e-10)


def test_transform_whitens_the_classes():
    X, y = load_wine(return_X_y=True)
    model = ly.LinearDiscriminantAnalysis().fit(X, y)
    Z = model.transform(X)
    assert Z.shape == (len(X), 2)
    within = sum((Z[y == k] - Z[y == k].mean(axis=0)).T @ (Z[y == k] - Z[y == k].mean(axis=0)) for k in range(3))
    np.testing.assert_allclose(within / (len(X) - 3), np.eye(2), atol=1e-10)


def test_indicator_classifier_is_least_squares_on_indicators():
    X, y = load_wine(return_X_y=True)
    model = ly.LeastSquaresClassifier().fit(X, y)
    Y = np.eye(3)[y]
    B = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), Y, rcond=None)[0]
    np.testing.assert_allclose(model.decision_function(X), np.column_stack([np.ones(len(X)), X]) @ B, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 1.0, atol=1e-10)


def test_two_classes_are_cut_at_one_half():
    model = ly.LeastSquaresClassifier().fit([[0.0], [1.0], [2.0], [9.0]], [0, 0, 1, 1])
    fitted = np.polyval(np.polyfit([0, 1, 2, 9], [0, 0, 1, 1], 1), [2.0, 5.0])
    np.testing.assert_allclose(model.decision_function([[2.0], [5.0]]), fitted - 0.5)
    assert model.predict([[2.0], [5.0]]).tolist() == (fitted >= 0.5).astype(int).tolist()


def test_masking_is_warned_of():
    x = np.arange(9.0)[:, None]
    with pytest.warns(UserWarning, match="Class 'middle' has no larger fitted value"):
        ly.LeastSquaresClassifier().fit(x, np.repeat(["left", "middle", "right"], 3))


def test_multilabel_columns_are_cut_one_by_one():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    Y = (X @ rng.standard_normal((3, 2)) + 0.5 * rng.standard_normal((60, 2)) > 0).astype(int)
    model = ly.LeastSquaresClassifier().fit(X, Y)
    alone = np.column_stack([ly.LeastSquaresClassifier().fit(X, Y[:, j]).predict(X) for j in range(2)])
    np.testing.assert_array_equal(model.predict(X), alone)
    with pytest.raises(ValueError, match="must contain only 0 and 1"):
        ly.LeastSquaresClassifier().fit(X, Y * 3 + 1)


@pytest.mark.parametrize("make", BY_CLASS)
def test_sum_and_difference_of_models_equal_fits_of_the_rows(make):
    X, y = load_iris(return_X_y=True)
    whole, even, odd = make().fit(X, y), make().fit(X[::2], y[::2]), make().fit(X[1::2], y[1::2])
    np.testing.assert_allclose((even + odd).decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((whole - odd).decision_function(X), even.decision_function(X), rtol=1e-7, atol=1e-7)
    stream = make().partial_fit(X[:60], y[:60], classes=[0, 1, 2]) if make is ly.LeastSquaresClassifier else None
    if stream is not None:
        stream.partial_fit(X[60:], y[60:])
        np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::linearly.MaskingWarning")
@pytest.mark.parametrize("make", BY_CLASS)
def test_subtracting_all_rows_of_a_class_raises(make):
    X, y = load_iris(return_X_y=True)
    part = np.r_[0:10, 50:60, 100:150]
    with pytest.raises(ValueError, match=r"Every row of class 2 would be removed.*Fit the remaining rows again"):
        make().fit(X, y) - make().fit(X[part], y[part])
    with pytest.raises(ValueError, match="every row of the fit"):
        make().fit(X, y) - make().fit(X, y)


@pytest.mark.parametrize("make", BY_CLASS)
def test_weight_two_is_the_row_twice_and_zero_is_absent(make):
    X, y = load_iris(return_X_y=True)
    weight = np.arange(len(y)) % 3
    repeated = make().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        make().fit(X, y, sample_weight=weight).decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9
    )


def test_a_constant_column_is_named_and_left_out():
    X, y = load_iris(return_X_y=True)
    plain = ly.LinearDiscriminantAnalysis().fit(X, y)
    with_constant = np.column_stack([X, np.full(len(X), 0.5)])
    for make in (ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis):
        with pytest.warns(np.exceptions.RankWarning, match="Column 'x4' is constant or a combination"):
            model = make().fit(with_constant, y)
    assert model.score(with_constant, y) >= 0.97
    with pytest.warns(np.exceptions.RankWarning, match="'x4'"):
        lda = ly.LinearDiscriminantAnalysis().fit(with_constant, y)
    np.testing.assert_allclose(lda.predict_proba(with_constant), plain.predict_proba(X), atol=1e-10)
    assert (lda.coef_[:, 4] == 0).all()


def test_a_column_that_does_not_vary_within_classes_is_named_and_shrinkage_used():
    X, y = load_iris(return_X_y=True)
    with_label = np.column_stack([X, y])
    with pytest.warns(np.exceptions.RankWarning, match=r"within classes is singular, .*'x4'.*shrinkage=0\.1 was"):
        model = ly.LinearDiscriminantAnalysis().fit(with_label, y)
    assert model.shrinkage_ == 0.1
    with pytest.warns(np.exceptions.RankWarning, match="of class 0, 1, 2 is singular, because 'x4'"):
        model = ly.QuadraticDiscriminantAnalysis().fit(with_label, y)
    assert (model.shrinkage_ == 0.1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ly.LinearDiscriminantAnalysis(shrinkage=0.5).fit(with_label, y).score(with_label, y) > 0.9


def test_offset_of_a_billion_costs_no_relevant_digit():
    X, y = load_iris(return_X_y=True)
    far = X + 2.0**30
    near = ly.LinearDiscriminantAnalysis().fit(far - 2.0**30, y)
    model = ly.LinearDiscriminantAnalysis().fit(far, y)
    np.testing.assert_allclose(model.covariance_, near.covariance_, rtol=1e-10)
    assert (model.predict(far) == near.predict(far - 2.0**30)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"shrinkage": -0.1}, "shrinkage must be"),
        ({"shrinkage": "auto"}, "shrinkage must be"),
        ({"priors": [0.5, 0.5]}, "priors must be 3 positive numbers"),
        ({"priors": [0.5, 0.6, 0.2]}, "add up to 1"),
    ],
)
@pytest.mark.parametrize("make", BY_CLASS[:2])
def test_bad_parameters_are_refused(make, parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, y)


@pytest.mark.parametrize("make", BY_CLASS)
def test_bad_rows_are_refused_by_name(make):
    X, y = load_iris(return_X_y=True)
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN: row 7, column 'x2'"):
        make().fit(bad, y)
    with pytest.raises(ValueError, match="NaN: row 7, column 'x2'"):
        make().fit(X, y).predict(bad)
    with pytest.raises(ValueError, match="one class"):
        make().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="Pass classes="):
        make().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"never (all )?part"):
        make().fit(X[:100], y[:100]) - make().fit(X[50:100] + 1.0, np.repeat([0, 1], 25))


@pytest.mark.parametrize("make", [ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis])
def test_priors_are_the_models_own(make):
    X, y = load_iris(return_X_y=True)
    priors = np.array([0.2, 0.3, 0.5])
    model = make(priors=priors).fit(X, y)
    priors[:] = 1 / 3
    np.testing.assert_array_equal(model.priors_, [0.2, 0.3, 0.5])


def test_classes_added_at_once_are_classes_added_one_by_one():
    rng = np.random.default_rng(5)
    sides = []
    for size, centre in ((1.0, 0.0), (1e6, 3e7)):  # in two scalings
        X, y = rng.normal(centre, size, (60, 3)), np.arange(60) % 3
        sides.append(ClassGrams.of(Block(X, y, rng.exponential(size=60)), 3))
    a, b = sides
    assert a.shares_scaling
    assert b.shares_scaling
    assert (a.parts[0].scaling.scale != b.parts[0].scaling.scale).any()
    for found, left, right in zip((a + b).parts, a.parts, b.parts, strict=True):
        expected = left + right
        assert (found.n, found.p) == (expected.n, expected.p)
        assert found.log_weight == pytest.approx(expected.log_weight, rel=1e-14)
        for name in ("weight", "mean", "centered_crossprod"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-13)
        np.testing.assert_array_equal(found.scaling.scale, expected.scaling.scale)


def test_a_fit_to_several_labels_a_row_forgets_the_one_before():
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([y == 0, X[:, 0] > 5.5]).astype(int)
    model = ly.LeastSquaresClassifier().fit(X, y > 0).fit(X, Y)
    other = ly.LeastSquaresClassifier().fit(X, Y)
    for combine in (lambda: model + model, lambda: model - model, lambda: other + model):
        with pytest.raises(ValueError, match="several labels per row cannot be added"):
            combine()
    with pytest.raises(ValueError, match="Pass classes="):
        model.partial_fit(X, y)
    assert not hasattr(model.fit(X, y > 0), "labels_summary_")


def test_a_narrow_class_far_from_a_wide_one_keeps_its_covariance():
    rng = np.random.default_rng(1)
    wide, narrow = 1e9 + 1e9 * rng.standard_normal((100, 2)), rng.standard_normal((100, 2))
    X, y = np.vstack([wide, narrow]), np.repeat([0, 1], 100)
    model = ly.QuadraticDiscriminantAnalysis().fit(X, y)
    expected = np.cov(narrow.T)
    np.testing.assert_allclose(model.covariances_[1], expected, rtol=1e-9)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("part", [1e-6, 1e-8])
@pytest.mark.parametrize(
    "kind", [ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis, ly.LeastSquaresClassifier]
)
def test_a_small_part_of_a_column_that_tells_the_classes_apart_is_seen(kind, part):
    rng = np.random.default_rng(1)
    X, signal = rng.standard_normal((600, 2)), rng.standard_normal(600)
    y = signal + 0.3 * rng.standard_normal(600) > 0
    near = kind().fit(np.column_stack([X, X[:, 0] + part * signal]), y)
    # These classifiers do not depend on how columns are combined.
    assert near.score(np.column_stack([X, X[:, 0] + part * signal]), y) == pytest.approx(
        kind().fit(np.column_stack([X, signal]), y).score(np.column_stack([X, signal]), y), abs=0.01
    )
    assert near.n_passes_ == 2


@pytest.mark.parametrize("kind", [ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis])
def test_rows_learnt_bit_by_bit_say_which_digits_they_lost(kind):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 3))
    X = np.column_stack([X, X[:, 0] + 1e-5 * rng.standard_normal(300)])
    with pytest.warns(ly.PrecisionWarning, match="partial_fit sums in float64"):
        kind().partial_fit(X, X[:, 1] > 0, classes=[False, True])


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e100])
@pytest.mark.parametrize("make", [ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis])
def test_rows_whose_scores_leave_float64_still_have_a_class(make, size, sparse, K):
    rng = np.random.default_rng(9)
    y = np.arange(90) % K
    X = (rng.normal(size=(90, 3)) * (1 + y[:, None]) + y[:, None]) * size
    model = make().fit(X, y)
    directions = rng.uniform(-1, 1, size=(40, 3))
    near, *far = (sp.csr_matrix(directions * b) if sparse else directions * b for b in (1e30 * size, 1e160, 1e308))
    for rows in far:  # a ray ends in the class that it is in far out
        assert np.array_equal(model.predict(rows), model.predict(near))
        shares = model.predict_proba(rows)
        np.testing.assert_allclose(shares, np.eye(K)[model.predict(near)], atol=1e-300)
        assert (model.predict_log_proba(rows).max(axis=1) == 0).all()
        scores = model.decision_function(rows)
        assert np.array_equal(scores >= 0 if K == 2 else scores.argmax(axis=1), model.predict(near))
    with pytest.raises(ValueError, match="X contains infinity: row 1, column 'x2'"):
        model.predict_proba(np.array([[1e300, 1.0, 1.0], [1e300, 1.0, np.inf]]))


@pytest.mark.parametrize("seed", [88, 142, 180, 181])
def test_qda_after_subtraction_finds_a_class_of_no_more_rows_than_columns_singular(seed):
    # Rounding errors of the sums make such a covariance regular, and its inverse arbitrary.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4)) * 10.0 ** rng.uniform(-2, 2, 4) + rng.normal(size=4) * 10
    y = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std() + rng.normal(size=40)
    y = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    with pytest.warns(np.exceptions.RankWarning, match="singular"):
        first = ly.QuadraticDiscriminantAnalysis().fit(X[:20], y[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        rest = ly.QuadraticDiscriminantAnalysis().fit(X[20:], y[20:])
        both = first + rest
    with pytest.warns(np.exceptions.RankWarning, match="singular"):
        again = both - rest
    np.testing.assert_allclose(again.predict_proba(X), first.predict_proba(X), atol=1e-9)
