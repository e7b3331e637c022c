"""What is claimed of sums, columns, perceptrons and warnings must be so."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import linearly as ly

# --- Novikoff's bound at extraordinary sizes --------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-101, 1.0, 1e101, 1e150, 1e300])
def test_mistake_bound_of_rows_of_any_size_holds_for_the_perceptron(scale):
    x = np.array([[1.0], [-1.0]]) * scale
    assert ly.Perceptron().fit(x, [1, 0]).n_updates_ <= ly.mistake_bound(x, [1, 0])
    rng = np.random.default_rng(1)
    for _ in range(20):
        X = rng.normal(size=(30, 2))
        score = X @ rng.normal(size=2) + rng.normal()
        apart = np.abs(score) > 0.3
        X, y = X[apart] * scale, (score[apart] > 0).astype(int)
        if len(set(y)) == 2:
            model = ly.Perceptron(max_passes=10_000).fit(X, y)
            assert model.training_error_ == 0
            assert model.n_updates_ <= ly.mistake_bound(X, y)


def test_mistake_bound_beyond_1e100_is_that_of_the_rows_at_size_1():
    X = np.array([[0.5, 0.25], [0.75, 0.5], [-0.25, -0.5], [-0.5, 0.125]])
    y = [1, 1, 0, 0]
    assert ly.mistake_bound(X * 2.0**600, y) == pytest.approx(ly.mistake_bound(X, y))
    assert ly.mistake_bound(X * 2.0**-600, y) == pytest.approx(ly.mistake_bound(X, y))


# --- sums of models with different settings ---------------------------------------------------------

RNG = np.random.default_rng(7)
X, NOISE = RNG.normal(size=(60, 3)), RNG.normal(size=60)
Y, LABELS = X @ [1.0, -2.0, 0.5] + NOISE, np.array(["a", "b", "c"])[np.arange(60) % 3]

DIFFERING = [
    (ly.LinearRegression(1.0), ly.LinearRegression(2.0), r"alpha is 1\.0 in one model and 2\.0 in the other"),
    (ly.LinearRegression(), ly.LinearRegression(fit_intercept=False), "fit_intercept is True in one model and False"),
    (ly.LinearRegression(1), ly.LinearRegression(1, penalize_intercept=True), "penalize_intercept is False in one"),
    (ly.RidgeCV([0.1, 1.0]), ly.RidgeCV([0.1, 2.0]), r"alphas is \[0\.1, 1\.0\] in one model and \[0\.1, 2\.0\]"),
    (ly.RidgeCV(cv=5), ly.RidgeCV(cv=4), "cv is 5 in one model and 4 in the other"),
    (ly.LinearDiscriminantAnalysis(), ly.LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]), "priors is None in one"),
    (ly.LinearDiscriminantAnalysis(), ly.LinearDiscriminantAnalysis(shrinkage=0.5), "shrinkage is None in one"),
    (ly.QuadraticDiscriminantAnalysis(), ly.QuadraticDiscriminantAnalysis(shrinkage=0.5), "shrinkage is None in one"),
    (ly.LeastSquaresClassifier(), ly.LeastSquaresClassifier(3.0), r"alpha is 0\.0 in one model and 3\.0 in the other"),
]


@pytest.mark.filterwarnings("ignore::linearly.MaskingWarning")
@pytest.mark.parametrize(("one", "two", "message"), DIFFERING)
def test_sum_and_difference_of_estimators_with_different_settings_are_refused_by_name(one, two, message):
    y = LABELS if hasattr(one, "predict_proba") or isinstance(one, ly.LeastSquaresClassifier) else Y
    whole, part = one.fit(X, y), two.fit(X[30:], y[30:])
    with pytest.raises(ValueError, match=message):
        whole + part
    with pytest.raises(ValueError, match=message):
        whole - part


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        ({"model": "ridge", "alpha": 1.0}, {"model": "ridge", "alpha": 2.0}, "alpha is 1.0 in one model and 2.0"),
        ({"fit_intercept": True}, {"fit_intercept": False}, "fit_intercept is True in one model and False"),
        ({"formula": "y ~ a + b"}, {"formula": "y ~ a + b - 1"}, "fit_intercept is True in one model and False"),
        ({"weight": "w", "features": ["a", "b"]}, {"features": ["a", "b"]}, "weight is 'w' in one model and None in"),
        ({"weight": "w", "features": ["a", "b"]}, {"weight": "v", "features": ["a", "b"]}, "weight is 'w' in one"),
        ({"target": "label", "model": "lda"}, {"target": "label", "model": "lda", "priors": [0.2, 0.3, 0.5]}, "priors"),
    ],
)
def test_sum_of_models_with_different_settings_is_refused_by_name(one, two, message):
    data = {"a": X[:, 0], "b": X[:, 1], "w": np.abs(NOISE) + 1, "v": np.abs(Y) + 1, "y": Y, "label": LABELS}
    halves = [{name: values[rows] for name, values in data.items()} for rows in (slice(30), slice(30, None))]
    models = [
        ly.fit(half, **({} if "formula" in given else {"target": "y", "features": ["a", "b"]}) | given)
        for half, given in zip(halves, (one, two), strict=True)
    ]
    with pytest.raises(ValueError, match=message):
        models[0] + models[1]


def test_sum_of_models_with_equal_settings_and_other_methods_is_the_fit_of_all_rows():
    whole = ly.LinearRegression(2).fit(X, Y)
    both = ly.LinearRegression(2.0, method="extended").fit(X[:30], Y[:30]) + ly.LinearRegression(2).fit(X[30:], Y[30:])
    np.testing.assert_allclose(both.coef_, whole.coef_, rtol=1e-10)


# --- sums of RidgeCV --------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [7, 30, 41, 53])
def test_sum_of_ridge_cv_whatever_the_length_of_the_first_part_is_the_fit_of_all_rows(cut):
    whole = ly.RidgeCV().fit(X, Y)
    one, two = ly.RidgeCV().fit(X[:cut], Y[:cut]), ly.RidgeCV().fit(X[cut:], Y[cut:])
    for both in (one + two, two + one):
        np.testing.assert_allclose(both.fold_errors_, whole.fold_errors_, rtol=1e-8)
        assert both.alpha_ == pytest.approx(whole.alpha_)
        np.testing.assert_allclose(both.coef_, whole.coef_, rtol=1e-8)


def test_folds_of_ridge_cv_do_not_depend_on_the_container():
    import pandas as pd
    import scipy.sparse as sp

    some = np.where(np.abs(X) < 0.5, -0.0, X).astype(np.float32)
    wanted = ly.RidgeCV([0.1, 1.0]).fit(some.astype(np.float64), Y).fold_errors_
    order = np.random.default_rng(0).permutation(60)
    noncanonical = sp.csr_array((np.r_[some[0] / 2, some[0] / 2], np.r_[:3, :3], [0, 6]), shape=(1, 3))
    cases = [some, np.asfortranarray(some), sp.csr_array(some), pd.DataFrame(some, columns=list("abc"))]
    cases += [sp.vstack([noncanonical, sp.csr_array(some[1:])], format="csr")]
    for case in cases:
        np.testing.assert_allclose(ly.RidgeCV([0.1, 1.0]).fit(case, Y).fold_errors_, wanted, rtol=1e-6)
    np.testing.assert_allclose(ly.RidgeCV([0.1, 1.0]).fit(some[order], Y[order]).fold_errors_, wanted, rtol=1e-6)


def test_ridge_cv_of_few_rows_skips_empty_folds_and_averages_over_rows():
    for n in range(8, 30):
        model = ly.RidgeCV([0.1, 1.0], cv=8).fit(X[:n], Y[:n])
        sizes = model.folds_.weights
        assert (np.isnan(model.fold_errors_).all(axis=0) == (sizes == 0)).all()
        np.testing.assert_allclose(model.cv_errors_, np.nansum(model.fold_errors_ * sizes, axis=1) / n)
    with pytest.raises(ValueError, match=r'All 20 rows are equal, so they fall into one fold.*cv="loo"'):
        ly.RidgeCV().fit(np.ones((20, 1)), np.ones(20))


def test_sum_of_ridge_cv_with_a_splitter_is_refused():
    from sklearn.model_selection import KFold

    one, two = (ly.RidgeCV(cv=KFold(3)).fit(X[rows], Y[rows]) for rows in (slice(31), slice(31, None)))
    with pytest.raises(ValueError, match=r"cv=KFold.* cannot be merged without the rows. Use a number of folds"):
        one + two


# --- columns that are not called by text ------------------------------------------------------------

ESTIMATORS = [
    ly.LinearRegression, ly.RidgeCV, ly.LogisticRegression, ly.LinearDiscriminantAnalysis,
    ly.QuadraticDiscriminantAnalysis, ly.LeastSquaresClassifier, ly.Perceptron, ly.AveragedPerceptron,
    ly.VotedPerceptron, ly.BatchPerceptron, ly.PocketPerceptron,
]  # fmt: skip


@pytest.mark.parametrize("make", ESTIMATORS, ids=lambda make: make.__name__)
def test_frame_with_other_integer_columns_is_refused_by_name(make):
    import pandas as pd

    frame, y = pd.DataFrame(X), Y if make in (ly.LinearRegression, ly.RidgeCV) else (Y > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that overlap
        model = make().fit(frame, y)
        array = make().fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    same = np.testing.assert_allclose if y is Y else np.testing.assert_array_equal
    same(model.predict(frame), array.predict(X))
    same(array.predict(frame), array.predict(X))
    for fitted in (model, array):
        with pytest.raises(ValueError, match=r"The columns are \['2', '1', '0'\], but the model was fitted on"):
            fitted.predict(frame[[2, 1, 0]])
    for other in (frame.rename(columns={2: 7}), frame.set_axis(list("abc"), axis=1)):
        with pytest.raises(ValueError, match="but the model was fitted on"):
            model.predict(other)


def test_frame_with_integer_columns_is_matched_by_name_in_sums_and_in_fit():
    import pandas as pd

    frame = pd.DataFrame(X, columns=[10, 20, 30])
    whole = ly.LinearRegression().fit(frame, Y)
    assert list(ly.tidy(whole)["term"]) == ["Intercept", "10", "20", "30"]
    with pytest.raises(ValueError, match="The columns differ"):
        whole + ly.LinearRegression().fit(frame[[30, 20, 10]], Y)
    with pytest.raises(ValueError, match="but the model was fitted on"):
        ly.LinearRegression().partial_fit(frame, Y).partial_fit(frame[[30, 20, 10]], Y)
    model = ly.fit(frame.assign(y=Y), target="y")
    np.testing.assert_array_equal(model.predict(frame[[30, 10, 20]]), model.predict(frame))
    assert not hasattr(whole.fit(X, Y), "_column_labels")


# --- warnings once per line, and advice that can be followed ----------------------------------------

LOOPS = """
import subprocess
import sys
import warnings
import numpy as np
import linearly as ly

rng = np.random.default_rng(0)
for n in range(30, 35):
    X = rng.normal(size=(n, 2))
    ly.LinearRegression().fit(np.column_stack([X, X[:, 0]]), X[:, 1])
    ly.LogisticRegression().fit(X, X[:, 0] > 0.1 * n / 30)
    ly.Perceptron(1).fit(X, np.arange(n) % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
for name in ("a", "b"):
    ly.fit({name: X[:, 0], name + name: X[:, 0], "y": X[:, 1]}, target="y")
"""


def warned(*options: str) -> list[str]:
    done = subprocess.run([sys.executable, *options, "-c", LOOPS], capture_output=True, text=True, check=False)
    return [line.split(": ")[1] for line in done.stderr.splitlines() if line.startswith("<string>:")]


def test_warnings_in_a_loop_under_the_default_filter_are_shown_once_per_line_and_subject():
    shown = warned()
    assert shown == ["RankWarning", "SeparationWarning", "ConvergenceWarning", "RankWarning", "RankWarning"]


def test_warnings_in_a_loop_under_other_filters_are_shown_as_those_say():
    assert len(warned("-W", "always")) == 17
    assert warned("-W", "ignore") == []


@pytest.mark.parametrize("name", ["endometrial", "mtcars"])
def test_profile_intervals_of_firth_fits_are_those_of_the_penalised_likelihood_in_r(name):
    facts = json.loads((Path(__file__).parents[1] / "golden" / "firth_profile.json").read_text())[name]
    X, y = np.array(facts["X"]), np.array(facts["y"])
    model = ly.LogisticRegression(bias_reduction="firth", reference=0).fit(X, y)
    found = ly.profile_intervals(model, X, y)
    np.testing.assert_allclose(found["estimate"], facts["coefficients"], rtol=1e-6)
    np.testing.assert_allclose(found["conf_low"], facts["low"], rtol=1e-8)
    np.testing.assert_allclose(found["conf_high"], facts["high"], rtol=1e-8)
    assert "profile_intervals gives more accurate ones" in str(model.summary())


@pytest.mark.parametrize("given", [{"alpha": 1.0}, {"covariance": "HC1"}])
def test_summary_of_ridge_and_robust_fits_does_not_advise_profile_intervals(given):
    model = ly.LogisticRegression(**given).fit(X, NOISE > 0)
    assert "profile_intervals" not in str(model.summary())


def test_profile_intervals_of_three_classes_by_firth_hold_the_estimates():
    model = ly.LogisticRegression(bias_reduction="firth").fit(X, LABELS)
    found = ly.profile_intervals(model, X, LABELS)
    low, estimate, high = (np.array(found[name]) for name in ("conf_low", "estimate", "conf_high"))
    assert (low < estimate).all()
    assert (estimate < high).all()
    with pytest.raises(ValueError, match=r"without a ridge penalty. Fit with alpha=0"):
        ly.profile_intervals(ly.LogisticRegression(1.0).fit(X, LABELS), X, LABELS)
