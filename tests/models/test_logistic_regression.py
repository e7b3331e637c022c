"""Logistic regression: as R has it, by its theorems, and the truth about separation."""

import itertools
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import chi2
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import linearly as ly
from linearly.algorithm.least_squares.column_scaling import ColumnScaling
from linearly.algorithm.logistic import firth
from linearly.algorithm.logistic import solver as search
from linearly.algorithm.logistic.objective import Logistic
from linearly.algorithm.logistic.optimizers import preconditioner
from linearly.dataset.rows.block import Block, as_rows
from linearly.models import logistic_regression as models_module

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "classifiers.json").read_text())


def golden(part, name):
    facts, data = GOLDEN[part][name], GOLDEN["data"][name]
    X = np.column_stack([data[feature] for feature in facts["features"]]).astype(float)
    return facts, X, np.array(data[facts.get("response") or facts["label"]])


def overlapping(seed, n=60, p=2, K=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, rng.integers(0, K, n)


@parametrize_with_checks([ly.LogisticRegression()])
@pytest.mark.filterwarnings(
    "ignore::linearly.SeparationWarning",
    "ignore::numpy.exceptions.RankWarning",
    "ignore::linearly.NotEstimableWarning",  # rows of weight 0 are predicted too
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["birthwt", "pima"])
@pytest.mark.parametrize("kind", ["fit", "weighted", "no_intercept"])
def test_glm_as_in_r(name, kind):
    facts, X, y = golden("logistic", name)
    expected = facts[kind]
    model = ly.LogisticRegression(fit_intercept=kind != "no_intercept").fit(X, y, expected.get("weights"))
    table, row = ly.tidy(model), ly.glance(model).row(0)
    for ours, theirs in [("estimate", "coefficients"), ("std_error", "std_error"), ("statistic", "statistic")]:
        np.testing.assert_allclose(table[ours], expected[theirs], rtol=1e-8)
    np.testing.assert_allclose(table["p_value"], expected["p_value"], rtol=1e-8)
    for key in ("deviance", "null_deviance", "log_likelihood", "aic", "bic", "n", "df_residual"):
        assert row[key] == pytest.approx(expected[key], rel=1e-9), key
    assert row["converged"]


@pytest.mark.parametrize("name", ["birthwt", "pima"])
def test_rows_profile_and_tests_as_in_r(name):
    facts, X, y = golden("logistic", name)
    model = ly.LogisticRegression().fit(X, y)
    rows = ly.augment(model, X, y)
    for key, values in facts["rows"].items():
        ours = rows["probability" if key == "fitted" else key][: len(values)]
        np.testing.assert_allclose(ours, values, rtol=1e-8)
    profile = ly.profile_intervals(model, X, y)
    np.testing.assert_allclose(profile["conf_low"], facts["profile"]["low"], rtol=1e-7)
    np.testing.assert_allclose(profile["conf_high"], facts["profile"]["high"], rtol=1e-7)
    dropped = ly.likelihood_ratio_tests(model, X, y)
    np.testing.assert_allclose(dropped["statistic"], facts["drop1"]["statistic"], rtol=1e-8)
    np.testing.assert_allclose(chi2.sf(dropped["statistic"], 1), facts["drop1"]["p_value"], rtol=1e-8)
    assert (dropped["correction"] > 1).all()  # Bartlett's, which R does not apply
    np.testing.assert_allclose(dropped["p_value"], chi2.sf(dropped["statistic"] / dropped["correction"], 1), rtol=1e-8)
    small = [facts["features"].index(feature) for feature in facts["nested"]["small"]]
    row = ly.compare_models(ly.LogisticRegression().fit(X[:, small], y), model).row(0)
    assert row["statistic"] == pytest.approx(facts["nested"]["statistic"], rel=1e-8)
    assert row["p_value"] == pytest.approx(facts["nested"]["p_value"], rel=1e-8)
    for kind, covariance in facts["fit"]["robust"].items():
        ours = ly.LogisticRegression(covariance=kind).fit(X, y).covariance_
        np.testing.assert_allclose(ours, covariance, rtol=1e-7)


@pytest.mark.parametrize("name", ["birthwt", "crabs"])
def test_multinom_as_in_r(name):
    facts, X, y = golden("multinomial", name)
    for solver, close in (("newton", 1e-8), ("lbfgs", 1e-5)):
        model = ly.LogisticRegression(reference=facts["reference"], solver=solver).fit(X, y)
        B = np.column_stack([model.intercept_, model.coef_])
        np.testing.assert_allclose(B, facts["coefficients"], rtol=1e-4)
        np.testing.assert_allclose(B, facts["newton"]["coefficients"], rtol=close)
        assert -2 * model.log_likelihood_ == pytest.approx(facts["deviance"], rel=1e-8)
    table = ly.tidy(ly.LogisticRegression(reference=facts["reference"]).fit(X, y))
    np.testing.assert_allclose(table["std_error"], np.ravel(facts["newton"]["std_error"]), rtol=1e-8)
    assert set(table["label"]) == set(facts["classes"]) - {facts["reference"]}


@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
@pytest.mark.parametrize("K", [2, 3])
def test_clustered_covariance_is_the_sum_over_groups_written_out(K):
    X, y = overlapping(3, n=90, p=2, K=K)
    groups = np.repeat([5, 1, 9, 3, 8, 2, 7, 4, 6, 0], 9)
    model = ly.LogisticRegression(covariance="cluster").fit(X, y, groups=groups)
    Z, B = np.column_stack([np.ones(90), X]), np.column_stack([model.intercept_, model.coef_])
    logits = Z @ B.T
    logits = np.column_stack([np.zeros(90), logits] if K == 2 else [logits, np.zeros(90)])
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    free = slice(1, 2) if K == 2 else slice(0, K - 1)
    R, V = (np.eye(K)[y] - P)[:, free], P[:, free]
    H = sum(np.kron(np.diag(v) - np.outer(v, v), np.outer(z, z)) for v, z in zip(V, Z, strict=True))
    scores = np.array([np.kron(r, z) for r, z in zip(R, Z, strict=True)])
    sums = np.array([scores[groups == g].sum(axis=0) for g in np.unique(groups)])
    expected = np.linalg.solve(H, np.linalg.solve(H, sums.T @ sums).T) * (10 / 9 * 89 / (90 - len(H)))
    np.testing.assert_allclose(ly.tidy(model)["std_error"], np.sqrt(np.diagonal(expected)), rtol=1e-6)
    alone = ly.LogisticRegression(covariance="cluster").fit(X, y, groups=np.arange(90))
    simple = ly.LogisticRegression(covariance="HC1").fit(X, y)
    np.testing.assert_allclose(alone.covariance_, simple.covariance_, rtol=1e-10)
    weight = (groups != 9).astype(float)
    absent = ly.LogisticRegression(covariance="cluster").fit(X, y, weight, groups)
    fewer = ly.LogisticRegression(covariance="cluster").fit(X[groups != 9], y[groups != 9], None, groups[groups != 9])
    np.testing.assert_allclose(absent.covariance_, fewer.covariance_, rtol=1e-6)


def test_no_more_rows_than_coefficients_leave_no_robust_covariance():
    model = ly.LogisticRegression(1.0, covariance="HC1").fit([[0.0, 1], [1, 0], [2, 2]], [0, 1, 0])
    assert np.isnan(model.covariance_).all()


@pytest.mark.parametrize("name", ["endometrial", "birthwt"])
def test_firth_as_in_brglm2(name):
    facts, X, y = golden("firth", name)
    model = ly.LogisticRegression(bias_reduction="firth").fit(X, y)
    np.testing.assert_allclose(ly.tidy(model)["estimate"], facts["coefficients"], rtol=1e-7)
    np.testing.assert_allclose(ly.tidy(model)["std_error"], facts["std_error"], rtol=1e-7)
    assert model.history_.step[-1] == 1.0  # a whole step, as always where the search ends
    assert all(0 < step <= 1 for step in model.history_.step)
    assert np.all(np.diff(model.history_.loss) <= 1e-12 * np.abs(model.history_.loss[1:]))  # penalised, it never rises


def test_firth_of_k_classes_maximises_its_penalised_likelihood():
    X, y = overlapping(5, n=40, p=2, K=3)
    model = ly.LogisticRegression(bias_reduction="firth").fit(X, y)

    def penalised(theta):
        B = theta.reshape(2, 3)
        Z = np.column_stack([np.ones(len(X)), X])
        logits = np.column_stack([Z @ B.T, np.zeros(len(X))])
        P = np.exp(logits - logits.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        H = sum(np.kron(np.diag(p[:2]) - np.outer(p[:2], p[:2]), np.outer(z, z)) for p, z in zip(P, Z, strict=True))
        return np.log(P[np.arange(len(y)), y]).sum() + 0.5 * np.linalg.slogdet(H)[1]

    theta = np.column_stack([model.intercept_, model.coef_]).ravel()
    steps = 1e-4 * np.eye(len(theta))
    slope = [(penalised(theta + s) - penalised(theta - s)) / 2e-4 for s in steps]
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_a_preconditioner_is_the_inverse_to_ten_digits():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 100))
    H, v = A.T @ A, rng.standard_normal((100, 2))
    np.testing.assert_allclose(preconditioner(H)(H @ v), v, rtol=0, atol=1e-10)


def test_two_classes_by_softmax_are_the_same_objective():
    X, y = overlapping(1, n=70, p=3)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0, 2, 70)
    logit = Logistic(2, 0, ColumnScaling(rng.standard_normal(3), np.full(3, 0.5)), True)
    block = Block(X, y, weight)
    B = rng.standard_normal((4, 1))
    for hessian in (True, False):
        two, many = logit._two_classes(block, B, hessian), logit._by_design(block, B, hessian)
        assert two.loss == pytest.approx(many.loss, rel=1e-12)
        np.testing.assert_allclose(two.gradient, many.gradient, rtol=1e-9, atol=1e-9)
        if hessian:
            np.testing.assert_allclose(two.hessian, many.hessian, rtol=1e-9, atol=1e-9)
        assert two.mistakes == many.mistakes
        assert two.largest == pytest.approx(many.largest)


def test_reference_changes_the_coding_not_the_model():
    X, y = overlapping(2, n=80, p=3, K=3)
    last, first = ly.LogisticRegression().fit(X, y), ly.LogisticRegression(reference=0).fit(X, y)
    np.testing.assert_allclose(last.predict_proba(X), first.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(first.coef_[0], last.coef_[1] - last.coef_[0], rtol=1e-6, atol=1e-9)


def test_a_newton_step_is_a_weighted_least_squares_fit():
    X, y = overlapping(3, n=50, p=2)
    # One step from zero: p = ½, W = ¼, z = (y − p) / W (S3's last slide).
    step = ly.LinearRegression().fit(X, (y - 0.5) / 0.25, sample_weight=np.full(len(y), 0.25))
    objective = Logistic(2, 0, ColumnScaling(np.zeros(2), np.ones(2)), True)
    at = as_rows(X, y).reduce(objective.evaluator(np.zeros((3, 1))))
    newton = -np.linalg.solve(at.hessian, at.gradient)[:, 0]
    np.testing.assert_allclose(newton, np.r_[step.intercept_, step.coef_], rtol=1e-10)
    further = as_rows(X, y).reduce(objective.evaluator(newton[:, None]))
    assert further.loss < at.loss  # S3's scalar Hessian lacks the minus sign: with it the step would climb down


def test_balance_the_mean_probability_is_the_share():
    for K in (2, 3):
        X, y = overlapping(4, n=90, p=3, K=K)
        P = ly.LogisticRegression().fit(X, y).predict_proba(X)
        np.testing.assert_allclose(P.mean(axis=0), np.bincount(y) / len(y), rtol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
def test_all_solvers_reach_the_same_maximum(K):
    X, y = overlapping(6, n=200, p=3, K=K)
    newton = ly.LogisticRegression(solver="newton").fit(X, y)
    lbfgs = ly.LogisticRegression(solver="lbfgs").fit(X, y)
    np.testing.assert_allclose(lbfgs.coef_, newton.coef_, atol=1e-6)
    descent = ly.LogisticRegression(solver="gradient_descent").fit(X, y)
    np.testing.assert_allclose(descent.coef_, newton.coef_, atol=1e-3)
    losses = descent.history_.loss
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(losses))


@pytest.mark.parametrize("K", [2, 3])
def test_penalty_is_against_the_sum_of_losses(K):
    X, y = overlapping(7, n=100, p=2, K=K)
    model = ly.LogisticRegression(alpha=3.0).fit(X, y)
    columns = [1] if K == 2 else [0, 1]
    gradient = X.T @ (model.predict_proba(X)[:, columns] - (y[:, None] == np.array(columns)))
    np.testing.assert_allclose(gradient.T, -3.0 * model.coef_, atol=1e-7)


def test_complete_separation_is_proven_and_warned_of():
    x = np.arange(8.0)
    X = np.column_stack([np.tile([0.3, -0.2, 0.5, 0.1], 2), x])
    with pytest.warns(ly.SeparationWarning, match=r"x1.*firth"):
        model = ly.LogisticRegression().fit(X, x > 3.5)
    assert model.separation_.verdict == "separable"
    assert model.separation_.check()
    assert model.score(X, x > 3.5) == 1.0
    iris = load_iris()
    with pytest.warns(ly.SeparationWarning, match="setosa"):
        ly.LogisticRegression().fit(iris.data, iris.target_names[iris.target])


def test_quasi_complete_separation_is_warned_of():
    _, X, y = golden("firth", "endometrial")
    with pytest.warns(ly.SeparationWarning, match=r"quasi-separable.*x0"):
        model = ly.LogisticRegression().fit(X, y)
    assert model.separation_.verdict == "quasi-separable"
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    "fit",
    [
        lambda x, y, w: ly.LogisticRegression().fit(x[:, None], y, w),
        lambda x, y, w: ly.fit({"x": x, "y": y, "w": w}, target="y", weight="w", model="logistic").estimator,
    ],
    ids=["array", "frame"],
)
def test_rows_of_weight_0_do_not_hide_a_separation(fit):
    # Rows 0 and 2 overlap with the rest and have weight 0; without them x ≥ 4 is 1, but for row 3, which is row 1.
    x, y = np.r_[5.0, 4.0, 4.5, 4.0, np.arange(8.0)], np.r_[0, 1, 0, 0, np.arange(8) > 3.5].astype(int)
    weight = np.r_[0.0, 2.0, 0.0, 1.0, np.ones(8)]
    with pytest.warns(ly.SeparationWarning, match="rows 1 and 3 are the same point with different labels"):
        model = fit(x, y, weight)
    assert model.separation_.verdict == "quasi-separable"
    assert model.separation_.check()
    assert "witness rows 1, 3" in repr(model.separation_)


@pytest.mark.parametrize("model", ["logistic", "lda", "qda"])
def test_class_of_total_weight_zero_is_left_out(model):
    data = {"x": np.arange(9.0) % 4, "y": list("aababbccc"), "w": [1.0] * 6 + [0.0] * 3}
    assert ly.fit(data, target="y", weight="w", model=model).classes == ("a", "b")


def test_classes_that_barely_overlap_have_their_maximum():
    # R 4.2.2: glm(y ~ x, binomial, control = glm.control(1e-15, 200)), restarted at its own answer.
    x = np.r_[1:8, 8.0, 8.01, 9:16]
    y = np.r_[np.zeros(7), 1, 0, np.ones(7)].astype(int)
    model = ly.LogisticRegression().fit(x[:, None], y)  # a warning is an error here
    table = ly.tidy(model)
    np.testing.assert_allclose(table["estimate"], [-47.8653392534710633, 5.9794676039302663], rtol=1e-8)
    np.testing.assert_allclose(table["std_error"], [112.108648178369563, 14.003295696010147], rtol=1e-8)
    assert ly.glance(model)["deviance"][0] == pytest.approx(2.8429683560558558, rel=1e-10)
    assert model.converged_
    assert model.n_passes_ == 1 + len(model.history_)


def test_residuals_of_rows_that_are_sure():
    # 1 − p is 0 in float64 beyond a logit of 37: Pearson's residual was 0/0, the deviance 0.
    x = np.r_[np.linspace(-2, 2, 40), 60.0, -60.0]
    y = np.r_[np.arange(40) % 5 < np.linspace(0, 5, 40), True, False]
    model = ly.LogisticRegression().fit(x[:, None], y)
    logit = np.abs(model.decision_function(x[-2:, None]))
    assert (logit > 40).all()
    rows = ly.augment(model, x[:, None], y)
    np.testing.assert_allclose(rows["pearson_residual"][-2:], np.exp(-logit / 2) * [1, -1], rtol=1e-12)
    np.testing.assert_allclose(rows["deviance_residual"][-2:], np.sqrt(2 * np.exp(-logit)) * [1, -1], rtol=1e-12)


def test_separation_of_k_classes_is_warned_of():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ly.SeparationWarning):
        model = ly.LogisticRegression().fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("seed", range(8))
def test_overlapping_classes_never_warn(seed):
    fitted = 0
    for extra in range(25):
        X, y = overlapping(1000 * seed + extra, n=30 + extra, p=1 + extra % 3)
        if ly.separability(X, y).verdict != "overlapping":
            continue
        assert ly.LogisticRegression().fit(X, y).converged_  # a warning is an error here
        fitted += 1
    assert fitted >= 20


@pytest.mark.slow
def test_a_thousand_overlapping_sets_never_warn():
    seen = 0
    for seed in range(1400):
        X, y = overlapping(50_000 + seed, n=25 + seed % 40, p=1 + seed % 4, K=2 + seed % 2)
        if len(np.unique(y)) == 2 + seed % 2 and ly.separability(X, y).verdict == "overlapping":
            assert ly.LogisticRegression().fit(X, y).converged_
            seen += 1
    assert seen >= 1000


def test_an_offset_of_a_billion_is_no_obstacle():
    X, y = overlapping(11, n=400, p=2)
    far = X + 2.0**30
    near = ly.LogisticRegression().fit(far - 2.0**30, y)
    model = ly.LogisticRegression().fit(far, y)
    np.testing.assert_allclose(model.coef_, near.coef_, rtol=1e-8)
    assert model.score(far, y) == near.score(far - 2.0**30, y)


@pytest.mark.parametrize("factor", [1e-200, 1e-8, 1e8, 1e200])
def test_scale_of_a_column_scales_its_coefficient(factor):
    X, y = overlapping(12, n=100, p=2)
    model = ly.LogisticRegression().fit(X * [factor, 1.0], y)
    np.testing.assert_allclose(model.coef_[0] * [factor, 1.0], ly.LogisticRegression().fit(X, y).coef_[0], rtol=1e-8)


def test_a_dependent_column_is_named_and_coefficients_are_of_smallest_norm():
    X, y = overlapping(13, n=60, p=2)
    whole = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(np.exceptions.RankWarning, match="'x2'"):
        model = ly.LogisticRegression().fit(whole, y)
    alone = ly.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(whole), alone.predict_proba(X), rtol=1e-7)
    assert model.coef_[0] @ [1, 1, -1] == pytest.approx(0, abs=1e-12)  # nothing along the null space


def test_multilabel_is_one_model_a_label():
    X, _ = overlapping(14, n=80, p=2)
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (80, 3))
    model = ly.LogisticRegression().fit(X, Y)
    for j in range(3):
        alone = ly.LogisticRegression().fit(X, Y[:, j])
        np.testing.assert_allclose(model.predict_proba(X)[:, j], alone.predict_proba(X)[:, 1])
    assert model.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="estimators_"):
        ly.tidy(model)


def test_likelihood_ratio_tests_of_one_column_a_frame_and_any_covariance():
    pa = pytest.importorskip("pyarrow")
    X, y = overlapping(5, n=120, p=2, K=2)
    model = ly.LogisticRegression().fit(X, y)
    told = ly.likelihood_ratio_tests(model, X, y)["statistic"]
    frame = pa.table({"a": X[:, 0], "b": X[:, 1]})
    np.testing.assert_allclose(
        ly.likelihood_ratio_tests(ly.LogisticRegression().fit(frame, y), frame, y)["statistic"], told
    )
    clustered = ly.LogisticRegression(covariance="cluster").fit(X, y, groups=np.arange(120) // 3)
    np.testing.assert_allclose(ly.likelihood_ratio_tests(clustered, X, y)["statistic"], told)
    alone = ly.LogisticRegression().fit(X[:, :1], y)
    expected = 2 * (alone.log_likelihood_ - alone.null_log_likelihood_)
    assert ly.likelihood_ratio_tests(alone, X[:, :1], y)["statistic"] == pytest.approx(expected)
    np.testing.assert_allclose(ly.likelihood_ratio_tests(model, as_rows(X, y))["statistic"], told)


def test_augment_needs_the_hessian_and_names_a_row():
    X, y = overlapping(5, n=120, p=2, K=2)
    with pytest.raises(ValueError, match='Fit with solver="newton"'):
        ly.augment(ly.LogisticRegression(solver="lbfgs").fit(X, y), X, y)
    bad = X.copy()
    bad[70, 1] = np.nan
    with pytest.raises(ValueError, match="row 70, column 'x1'"):
        ly.augment(ly.LogisticRegression().fit(X, y), bad, y)


def test_profile_intervals_of_slopes_do_not_depend_on_the_origin():
    X, y = overlapping(6, n=80, p=2, K=3)
    X = np.round(X * 1024) / 1024  # the offset leaves these exact
    near = ly.profile_intervals(ly.LogisticRegression().fit(X, y), X, y)
    far = ly.profile_intervals(ly.LogisticRegression().fit(X + 2.0**30, y), X + 2.0**30, y)
    slopes = near["term"] != "Intercept"
    for end in ("conf_low", "conf_high"):
        np.testing.assert_allclose(far[end][slopes], near[end][slopes], rtol=1e-5)


def test_a_feature_may_be_called_intercept():
    pd = pytest.importorskip("pandas")
    X, y = overlapping(5, n=120, p=2, K=3)
    table = ly.odds_ratios(ly.LogisticRegression().fit(pd.DataFrame(X, columns=["Intercept", "x"]), y))
    assert table["term"].tolist() == ["Intercept", "x"] * 2


def test_odds_ratios_are_exponentials():
    _, X, y = golden("logistic", "birthwt")
    model = ly.LogisticRegression().fit(X, y)
    table, tidy = ly.odds_ratios(model), ly.tidy(model)
    np.testing.assert_allclose(table["odds_ratio"], np.exp(tidy["estimate"][1:]))
    np.testing.assert_allclose(table["conf_high"], np.exp(tidy["conf_high"][1:]))


def test_float32_and_sparse_agree():
    import scipy.sparse as sp

    X, y = overlapping(15, n=300, p=4)
    X[np.abs(X) < 0.5] = 0
    single = X.astype(np.float32)
    dense = ly.LogisticRegression().fit(single.astype(np.float64), y)
    np.testing.assert_allclose(ly.LogisticRegression().fit(single, y).coef_, dense.coef_, rtol=1e-8)
    sparse = sp.csr_array(single.astype(np.float64))
    for solver in ("newton", "lbfgs"):
        model = ly.LogisticRegression(solver=solver).fit(sparse, y)
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(sparse), dense.predict_proba(single.astype(float)), atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1}, "alpha must be"),
        ({"alpha": "much"}, "alpha must be"),
        ({"bias_reduction": "jeffreys"}, "bias_reduction must be"),
        ({"solver": "saga"}, "solver must be one of"),
        ({"reference": 7}, "reference must be one of"),
        ({"reference": 1}, "always the first"),
        ({"covariance": "HC9"}, "covariance must be one of"),
        ({"covariance": "cluster"}, "groups="),
        ({"bias_reduction": "firth", "alpha": 1.0}, "Choose one"),
        ({"bias_reduction": "firth", "solver": "lbfgs"}, "requires Newton"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = overlapping(16)
    with pytest.raises(ValueError, match=message):
        ly.LogisticRegression(**parameters).fit(X, y)


def test_bad_rows_are_refused_by_name():
    X, y = overlapping(17)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity: row 3, column 'x1'"):
        ly.LogisticRegression().fit(bad, y)
    with pytest.raises(ValueError, match="infinity: row 3, column 'x1'"):
        ly.LogisticRegression().fit(X, y).predict_proba(bad)
    with pytest.raises(ValueError, match="one class"):
        ly.LogisticRegression().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match=r'solver="newton"'):
        ly.tidy(ly.LogisticRegression(solver="lbfgs").fit(X, y))


def test_a_refused_fit_leaves_the_one_before():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.tile([0, 1, 1, 0, 1], 12)
    model = ly.LogisticRegression().fit(X, y)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        model.fit(bad, np.tile(["u", "v", "w"], 20))
    assert model.classes_.tolist() == [0, 1]
    assert set(model.predict(X)) <= {0, 1}


def test_labels_keep_their_digits_and_their_own_covariances():
    X = np.random.default_rng(1).normal(size=(80, 2))
    Y = np.random.default_rng(2).integers(0, 2, size=(80, 2))
    model = ly.LogisticRegression().fit(X, Y[:, 0]).fit(X, Y)
    far = model.estimators_[0].coef_[0] * 1e6
    assert model.predict_proba([-far])[0, 0] < 1e-300
    assert -np.inf < model.predict_log_proba([-far])[0, 0] < -1000
    with pytest.raises(ValueError, match=r"estimators_\[j\]"):
        _ = model.covariance_


def test_wide_sparse_rows_are_read_without_a_square_of_their_columns():
    rng = np.random.default_rng(0)
    X = sparse.random(400, 60_000, density=1e-3, random_state=rng, format="csr")
    y = (np.asarray(X[:, :50].sum(axis=1)).ravel() + rng.normal(size=400) > 0.02).astype(int)
    m = ly.LogisticRegression(alpha=1.0).fit(X, y)
    assert m.coef_.shape == (1, 60_000)
    assert m.converged_


@pytest.mark.parametrize("K", [2, 3])
def test_firth_names_a_bad_number(K):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % K
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: row 5, column 'x1'"):
        ly.LogisticRegression(bias_reduction="firth").fit(X, y)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("p", [2, 40])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_fit_names_a_bad_number(K, p, bad):
    X, y = np.random.default_rng(0).normal(size=(400, p)), np.arange(400) % K
    X[5, 1] = bad
    with pytest.raises(ValueError, match="row 5, column 'x1'"):
        ly.LogisticRegression().fit(X, y)


def test_the_deviance_of_separated_classes_is_that_of_the_coefficients_given():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(ly.SeparationWarning):
        m = ly.LogisticRegression().fit(X, y)
    told = ly.glance(m)
    given = -2 * m.predict_log_proba(X)[np.arange(6), y].sum()
    assert told["deviance"][0] == pytest.approx(given, rel=1e-12)
    assert told["aic"][0] == pytest.approx(given + 4, rel=1e-12)
    assert "separable" in told.notes[0]
    with pytest.raises(ValueError, match='bias_reduction="firth"'):
        ly.profile_intervals(m, X, y)


def test_a_column_that_others_make_up_for_has_no_likelihood_ratio_test():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 60))
    y = (rng.random(60) < 1 / (1 + np.exp(-x))).astype(int)
    with pytest.warns(np.exceptions.RankWarning):
        m = ly.LogisticRegression().fit(np.column_stack([x, z, x + z]), y)
    told = ly.likelihood_ratio_tests(m, np.column_stack([x, z, x + z]), y)
    assert told["df"].tolist() == [0, 0, 0]
    assert np.isnan(told["p_value"]).all()


def test_a_level_of_one_label_is_proof_enough_among_hundreds():
    rng = np.random.default_rng(3)
    city = rng.permutation(1500) % 250
    x = rng.normal(size=1500)
    y = (x + rng.normal(size=1500) > 0) | (city == 3)
    X = np.column_stack([x, city[:, None] == np.arange(1, 250)]).astype(float)
    with pytest.warns(ly.SeparationWarning, match="x3 > 0 only for True"):
        m = ly.LogisticRegression().fit(X, y)
    assert m.separation_.verdict == "quasi-separable"
    assert m.separation_.check()


def test_a_search_by_gradients_sees_separation_and_has_standard_errors_where_they_are_cheap():
    rng = np.random.default_rng(1)
    city = rng.permutation(2400) % 400
    x = rng.normal(size=2400)
    y = x + rng.normal(size=2400) > 0
    X = np.column_stack([x, city[:, None] == np.arange(1, 400)]).astype(float)
    with pytest.warns(ly.SeparationWarning, match="quasi-separable"):
        m = ly.LogisticRegression().fit(X, y)
    error = ly.tidy(m)["std_error"]
    slope = ly.LogisticRegression(solver="newton", alpha=1e-9).fit(X, y)
    assert error[1] == pytest.approx(ly.tidy(slope)["std_error"][1], rel=1e-2)


@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_penalised_logistic_fit_of_separable_digits_reaches_the_maximum(alpha):
    # Ten separable classes: a search that takes certainty for separation stops short of a maximum that is there.
    X, y = load_digits(return_X_y=True)
    model = ly.LogisticRegression(alpha=alpha).fit(X, y)
    assert model.converged_
    assert model.n_passes_ < 150
    P = model.predict_proba(X)
    gradient = X.T @ (P - (y[:, None] == model.classes_))[:, :-1] + alpha * model.coef_.T
    assert np.abs(gradient).max() < 1e-6
    newton = ly.LogisticRegression(alpha=alpha, solver="newton").fit(X, y)
    np.testing.assert_allclose(model.coef_, newton.coef_, atol=1e-5)
    np.testing.assert_allclose(ly.tidy(model)["std_error"], ly.tidy(newton)["std_error"], rtol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_refreshed_preconditioner_leads_to_the_same_maximum(form, monkeypatch):
    X, y = overlapping(7, n=400, p=12, K=4)
    X[:, 3:9] *= X[:, 3:9] > 0.8
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    expected = ly.LogisticRegression(solver="newton").fit(X, y, weight)
    passes = []
    for cells in (search._MAX_CURVATURE_CELLS, 0):  # whole curvatures, then their diagonals
        monkeypatch.setattr(search, "_MAX_CURVATURE_CELLS", cells)
        for after in (2, 40):
            monkeypatch.setattr(search, "_REFRESH_EVERY", after)
            model = ly.LogisticRegression(solver="lbfgs").fit(form(X), y, weight)
            assert model.converged_
            np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)
            passes.append(model.n_passes_)
    assert len(set(passes)) > 1


def test_logistic_fit_of_tiny_weights_converges_as_far():
    X, y = overlapping(8, n=300, p=5, K=3)
    one = ly.LogisticRegression(solver="lbfgs").fit(X, y)
    small = ly.LogisticRegression(solver="lbfgs").fit(X, y, np.full(len(y), 1e-12))
    np.testing.assert_allclose(small.coef_, one.coef_, rtol=1e-4)


def test_a_step_that_would_lead_away_from_the_maximum_is_not_taken():
    X, y = load_digits(return_X_y=True)
    model = ly.LogisticRegression(alpha=1.0).fit(1e6 * X, y)
    P, Y = model.predict_proba(1e6 * X), y[:, None] == model.classes_
    gradient = X.T @ (P - Y)[:, :-1] + 1e-6 * model.coef_.T
    at_zero = X.T @ (1 / 10 - Y)[:, :-1]
    assert model.converged_
    # How near it ends to a maximum this far out is a matter of rounding; that the last step led there is not.
    assert np.abs(gradient).max() < 1e-8 * np.abs(at_zero).max()
    loss = 0.5 * (model.coef_**2).sum() - model.predict_log_proba(1e6 * X)[Y].sum()
    assert loss <= model.history_.loss[-1] * (1 + 1e-9)


def test_dependent_columns_have_coefficients_of_smallest_norm_by_gradients_too():
    X, y = overlapping(9, n=1500, p=80, K=5)
    X = np.column_stack([X, X[:, 3], X[:, 0] - 2 * X[:, 1] + 5])
    with pytest.warns(np.exceptions.RankWarning, match="'x80', 'x81'"):
        model = ly.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_[:, 80], model.coef_[:, 3], atol=1e-8)
    alone = ly.LogisticRegression().fit(X[:, :80], y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X[:, :80]), atol=1e-8)
    known = np.r_[3, 5:81]  # x2, x4 and on: neither x3 nor x0, x1, nor the intercept, which x81 moves
    np.testing.assert_allclose(model.coef_[:, known - 1], alone.coef_[:, known - 1], atol=1e-8)
    errors, expected = (ly.tidy(m)["std_error"].reshape(4, -1) for m in (model, alone))
    np.testing.assert_allclose(errors[:, known], expected[:, known], rtol=1e-6)
    assert np.isnan(np.delete(errors, known, axis=1)).all()


def test_firth_of_many_coefficients_ends_where_the_penalised_likelihood_does():
    X, y = load_digits(return_X_y=True)
    X, y = X[:150, [10, 18, 20, 21, 26, 28, 33, 36, 42, 43]] / 16, y[:150]
    model = ly.LogisticRegression(bias_reduction="firth").fit(X, y)
    assert model.converged_
    assert model.n_passes_ < 250

    Z, Y = np.column_stack([np.ones(len(X)), X]), np.eye(10)[y]

    def penalised(B):
        logits = np.column_stack([Z @ B, np.zeros(len(Z))])
        logits -= logits.max(axis=1, keepdims=True)
        P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        V = np.einsum("na,ab->nab", P[:, :9], np.eye(9)) - np.einsum("na,nb->nab", P[:, :9], P[:, :9])
        information = np.einsum("nab,ni,nj->aibj", V, Z, Z, optimize=True).reshape(99, 99)
        return (Y * np.log(P)).sum() + 0.5 * np.linalg.slogdet(information)[1]

    B = np.column_stack([model.intercept_, model.coef_]).T
    best = penalised(B)
    rng = np.random.default_rng(0)
    for _ in range(10):
        away = rng.standard_normal(B.shape)
        there, back = penalised(B + 1e-3 * away), penalised(B - 1e-3 * away)
        assert max(there, back) < best
        assert abs(there - back) < 1e-3 * (best - min(there, back))


def test_firth_goes_nowhere_where_the_information_is_singular():
    X, y = overlapping(5, n=40, p=3, K=3)
    rows = as_rows(X, y)
    objective = Logistic(3, 2, ColumnScaling(np.zeros(3), np.ones(3)), True)
    B = np.ones((4, 2))
    penalised = firth.PenalizedObjective(
        rows, objective, lambda B, hessian: rows.reduce(objective.evaluator(B, hessian)), np.arange(8)
    )
    assert np.isfinite(penalised.point_at(B).loss)
    assert penalised.point_at(1e4 * B).loss == np.inf


def test_weights_count_rows_in_the_classical_covariance():
    X, y = overlapping(3, n=200)
    w = np.random.default_rng(5).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), w)
    weighted, repeated = (ly.LogisticRegression().fit(*rows) for rows in ((X, y, w), (X[again], y[again])))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-9)


@pytest.mark.parametrize("part", [1e-5, 1e-6])
def test_columns_that_are_nearly_combinations_end_the_search_in_time(part):
    X, y = overlapping(4, n=1000)
    near = np.column_stack([X, X[:, 0] + part * np.random.default_rng(0).standard_normal(len(X))])
    model = ly.LogisticRegression().fit(near, y)
    assert model.converged_
    assert model.n_passes_ < 60


def test_labels_called_first_and_last_are_labels():
    X, y = overlapping(5)
    assert ly.LogisticRegression().fit(X, np.where(y == 1, "last", "first")).reference_ == "first"


def test_a_fit_to_several_labels_keeps_nothing_of_the_fit_before():
    X, y = overlapping(6)
    model = ly.LogisticRegression().fit(pd.DataFrame(X).add_prefix("c"), y)
    model.fit(X, np.column_stack([y, 1 - y]))
    for name in ("feature_names_in_", "log_likelihood_", "separation_", "covariance_"):
        assert not hasattr(model, name), name


def test_a_fit_without_a_hessian_has_no_covariance():
    X, y = overlapping(7)
    model = ly.LogisticRegression(solver="lbfgs").fit(X, y)
    assert not hasattr(model, "covariance_")
    with pytest.raises(ValueError, match="need the Hessian"):
        ly.tidy(model)


def test_many_classes_are_not_proven_for_minutes():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 150, 1200)
    X = np.column_stack([rng.normal(y / 10, 0.2), rng.standard_normal(1200)])
    with pytest.warns(ly.SeparationWarning, match="too many rows or classes to decide"):
        model = ly.LogisticRegression().fit(X, y)
    assert model.separation_ is None


def test_the_root_of_the_information_waits_until_it_is_asked_for():
    X, y = overlapping(4, n=300, p=4, K=3)
    model = ly.LogisticRegression(alpha=1.0).fit(X, y)
    assert "inverse_root_" not in vars(model)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.covariance_, model.covariance_)
    assert "inverse_root_" in vars(model)
    model.fit(X[:200], y[:200])  # a new fit has another root
    assert "inverse_root_" not in vars(model)
    assert np.abs(model.covariance_ - again.covariance_).max() > 1e-6
    assert not hasattr(ly.LogisticRegression(), "inverse_root_")


@pytest.mark.parametrize("form", [np.asfortranarray, np.float32, lambda X: np.repeat(X, 2, axis=0)[::2]])
def test_rows_that_are_copied_give_the_coefficients_of_those_that_are_not(form, monkeypatch):
    X, y = overlapping(4, n=300, p=4, K=3)
    X = X.astype(np.float32).astype(np.float64)
    expected = ly.LogisticRegression().fit(X, y)
    given = form(X)
    for cells in (models_module._MAX_COPIED_CELLS, 0):
        monkeypatch.setattr(models_module, "_MAX_COPIED_CELLS", cells)
        model = ly.LogisticRegression().fit(given, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
