"""`ElasticNet` and `ElasticNetCV`: glmnet, scikit-learn, optimality, proofs, merging, errors."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from golden_sets import read_golden
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet as SkElasticNet
from sklearn.linear_model import lars_path

import linearly as ly
from linearly.algorithm.elastic_net import active_set
from linearly.algorithm.elastic_net.active_set import minimize
from linearly.algorithm.elastic_net.quadratic_loss import QuadraticLoss
from linearly.export.model_file import _digest
from linearly.export.python import to_python

GOLDEN = read_golden("elastic_net")
X, Y = load_diabetes(return_X_y=True)


def correlated(seed, n, p, k=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p))) + rng.normal(size=p)
    y = X[:, : min(p, 4)] @ rng.normal(size=(min(p, 4), k)) + rng.normal(size=(n, k))
    return X, y if k > 1 else y[:, 0]


class TestFewerRowsThanColumns:
    @pytest.mark.parametrize(("n", "p"), [(60, 300), (150, 400)])
    @pytest.mark.parametrize(
        ("share", "l1_ratio", "intercept"), [(0.6, 1.0, True), (0.05, 1.0, False), (0.1, 0.5, True)]
    )
    def test_coefficients_equal_those_of_the_gram(self, n, p, share, l1_ratio, intercept):
        X, y = correlated(3, n, p)
        alpha = share * np.abs((X - X.mean(axis=0)).T @ y).max()
        model = ly.ElasticNet(alpha, l1_ratio, fit_intercept=intercept).fit(X, y)
        assert model.method_ == "qr"
        loss = QuadraticLoss.of(model.summary_.gram(), intercept)
        found = minimize(loss, 0, *loss.penalties(model.penalty_, 0))
        np.testing.assert_allclose(model.coef_, loss.coefficients(found.w[:, None])[0][:, 0], rtol=1e-9, atol=1e-10)
        assert model.kkt_ < 1e-13

    def test_copies_and_combinations_of_columns_satisfy_the_optimality_conditions(self):
        X, y = correlated(4, 80, 300)
        X[:, 150:] = X[:, :150]
        X[:, 1] = X[:, 0] - X[:, 2]
        with pytest.warns(np.exceptions.RankWarning, match="tied"):
            model = ly.ElasticNet(20.0).fit(X, y)
        assert model.kkt_ < 1e-13
        assert model.dual_gap_ < 1e-12 * (y @ y)

    def test_a_path_down_to_nearly_as_many_active_columns_as_rows_equals_single_fits(self):
        X, y = correlated(7, 70, 400)
        alphas = np.abs((X - X.mean(axis=0)).T @ y).max() * np.logspace(0.1, -3, 30)
        model = ly.ElasticNetCV(alphas=alphas, cv=3).fit(X, y)
        assert 60 < (model.path_[-1] != 0).sum() < 70
        for alpha, coef in zip(model.alphas_, model.path_, strict=True):
            alone = ly.ElasticNet(alpha).fit(X, y)
            np.testing.assert_allclose(coef, alone.coef_, rtol=1e-8, atol=1e-9)
            assert alone.kkt_ < 1e-13

    def test_many_active_columns_take_few_factorizations(self, monkeypatch):
        rng = np.random.default_rng(8)
        X = rng.normal(size=(300, 800))
        y = X[:, :20] @ rng.normal(size=20) + 2 * rng.normal(size=300)
        orders = []

        def counted(A, **kwargs):
            orders.append(len(A))
            return factorize(A, **kwargs)

        factorize = active_set.dpotrf
        monkeypatch.setattr(active_set, "dpotrf", counted)
        model = ly.ElasticNet(0.005 * np.abs((X - X.mean(axis=0)).T @ y).max()).fit(X, y)
        assert len(model.active_) > 200
        assert sum(order > 100 for order in orders) <= 12  # 143 without coordinate descent

    def test_blocks_of_rows_give_the_coefficients_of_one_fit(self):
        X, y = correlated(5, 90, 300)
        whole, parts = ly.ElasticNet(10.0).fit(X, y), ly.ElasticNet(10.0)
        for rows in np.array_split(np.arange(90), 7):
            parts.partial_fit(X[rows], y[rows])
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(parts.active_, whole.active_)

    def test_500_rows_of_2000_columns_are_certified_and_a_changed_zero_is_refused(self):
        rng = np.random.default_rng(6)
        X = rng.normal(size=(500, 2000))
        y = X[:, :8] @ np.arange(1.0, 9.0) + rng.normal(size=500)
        model = ly.ElasticNet(0.2 * np.abs(X.T @ y).max()).fit(X, y)
        assert 4 < len(model.active_) < 30
        assert model.certificate_.verdict == "optimal"
        at = int(model.active_[0])
        model.coef_[at], was = 0.0, model.coef_[at]
        assert model.certificate_.verdict == "not optimal"
        model.coef_[at] = was
        model.coef_[int(np.flatnonzero(model.coef_ == 0)[7])] = 1e-6
        assert model.certificate_.verdict == "not optimal"


class TestGlmnet:
    @pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
    def test_coefficients_equal_those_of_glmnet(self, case):
        model = ly.ElasticNet(
            case["alpha"], case["l1_ratio"], standardize=case["standardize"], fit_intercept=case["intercept"]
        ).fit(np.array(GOLDEN["x"]), case["y"], sample_weight=case["w"])
        np.testing.assert_allclose(model.coef_, case["coef"], rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(model.coef_ == 0, np.array(case["coef"]) == 0)
        assert model.intercept_ == pytest.approx(case["constant"], rel=1e-8, abs=1e-9)
        assert model.certificate_.check()


class TestScikitLearn:
    @pytest.mark.parametrize(("n", "p", "l1_ratio"), [(100, 8, 1.0), (60, 30, 0.5), (50, 200, 1.0), (200, 1, 1.0)])
    def test_coefficients_and_zeros_equal_those_of_scikit_learn(self, n, p, l1_ratio):
        X, y = correlated(0, n, p)
        largest = np.abs((X - X.mean(axis=0)).T @ y).max()
        for alpha in largest * np.array([0.5, 0.05]):
            model = ly.ElasticNet(alpha, l1_ratio).fit(X, y)
            peer = SkElasticNet(alpha / n, l1_ratio=l1_ratio, tol=1e-14, max_iter=10**6).fit(X, y)
            np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-8, atol=1e-9)
            np.testing.assert_array_equal(model.coef_ == 0, peer.coef_ == 0)

    def test_several_targets_are_solved_one_by_one(self):
        X, Y = correlated(1, 80, 6, k=3)
        model = ly.ElasticNet(5.0).fit(X, Y)
        for t in range(3):
            np.testing.assert_allclose(model.coef_[t], ly.ElasticNet(5.0).fit(X, Y[:, t]).coef_, rtol=1e-12)
        assert model.certificate_.check()

    def test_knots_equal_those_of_lars(self):
        X, y = correlated(2, 120, 20)
        knots = ly.ElasticNetCV().fit(X, y).knots_
        alphas, _, coefs = lars_path(X - X.mean(axis=0), y - y.mean(), method="lasso")
        np.testing.assert_allclose(knots.alphas, alphas * len(y), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(knots.coefs, coefs.T, atol=1e-9)

    def test_the_path_passes_through_the_knots(self):
        X, y = correlated(3, 60, 12)
        model = ly.ElasticNetCV(alphas=30).fit(X, y)
        for alpha, coef in zip(model.alphas_, model.path_, strict=True):
            np.testing.assert_allclose(model.knots_.coef_at(alpha), coef, atol=1e-11)


class TestOptimality:
    def test_gap_and_violation_are_rounding(self):
        for seed, (n, p), l1_ratio in itertools.product(range(10), [(30, 5), (40, 60), (200, 150)], [1.0, 0.3]):
            X, y = correlated(seed, n, p)
            alpha = 0.05 * np.abs((X - X.mean(axis=0)).T @ y).max()
            model = ly.ElasticNet(alpha, l1_ratio).fit(X, y)
            assert model.kkt_ < 1e-13
            assert model.dual_gap_ < 1e-12 * ((y - y.mean()) ** 2).sum()

    def test_the_objective_is_below_that_of_random_neighbours(self):
        X, y = correlated(4, 50, 6)
        model = ly.ElasticNet(8.0, 0.6).fit(X, y)

        def objective(w):
            residual = y - y.mean() - (X - X.mean(axis=0)) @ w
            return 0.5 * residual @ residual + 8.0 * (0.6 * np.abs(w).sum() + 0.2 * w @ w)

        rng = np.random.default_rng(0)
        best = objective(model.coef_)
        assert all(
            objective(model.coef_ + rng.normal(size=6) * 10.0**-k) > best for k in range(1, 6) for _ in range(20)
        )

    def test_wrong_coefficients_are_not_certified(self):
        model = ly.ElasticNet(200.0).fit(X, Y)
        true = model.coef_.copy()
        for j in range(len(true)):
            for wrong in (true[j] * 1.001 + 0.01, -true[j] - 0.1, 0.0 if true[j] else 1e-3):
                model.coef_ = true.copy()
                model.coef_[j] = wrong
                assert not model.certificate_.check()
                assert "not optimal" in model.certificate_.describe()

    @pytest.mark.parametrize("intercept", [True, False])
    @pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.0])
    def test_every_random_fit_is_certified(self, intercept, l1_ratio):
        for seed in range(40):
            rng = np.random.default_rng(seed)
            X, y = correlated(seed, int(rng.integers(5, 60)), int(rng.integers(1, 9)))
            alpha = 10 ** rng.uniform(-2, 2)
            model = ly.ElasticNet(alpha, l1_ratio, fit_intercept=intercept, standardize=bool(seed % 2)).fit(X, y)
            assert model.certificate_.check(), model.certificate_.describe()

    def test_a_proof_beyond_its_budget_is_unproven(self):
        certificate = ly.ElasticNet(200.0).fit(X, Y).certificate_
        short = type(certificate)(**{**vars(certificate), "budget": 10.0})
        assert short.verdict == "unproven"
        assert not short.check()


class TestCrossValidation:
    def test_errors_equal_those_of_fits_to_the_other_folds(self):
        folds = [np.arange(j, len(Y), 3) for j in range(3)]
        splits = [(np.setdiff1d(np.arange(len(Y)), fold), fold) for fold in folds]
        model = ly.ElasticNetCV([1.0, 0.5], alphas=[10.0, 100.0], cv=splits).fit(X, Y)
        assert model.alphas_.tolist() == [[100.0, 10.0]] * 2
        for i, l1_ratio in enumerate((1.0, 0.5)):
            for j, alpha in enumerate((100.0, 10.0)):
                squares = 0.0
                for train, test in splits:
                    part = ly.ElasticNet(alpha, l1_ratio).fit(X[train], Y[train])
                    squares += ((Y[test] - part.predict(X[test])) ** 2).sum()
                assert model.cv_errors_[i, j] == pytest.approx(squares / len(Y), rel=1e-10)

    def test_leave_one_out_errors_equal_those_of_refits(self):
        few = slice(0, 40)
        model = ly.ElasticNetCV(alphas=[5.0, 50.0], cv="loo").fit(X[few], Y[few])
        for j, alpha in enumerate(model.alphas_):
            errors = []
            for i in range(40):
                rest = np.arange(40) != i
                part = ly.ElasticNet(alpha).fit(X[few][rest], Y[few][rest])
                errors.append(Y[i] - part.predict(X[i : i + 1])[0])
            assert model.cv_errors_[j] == pytest.approx(np.mean(np.square(errors)), rel=1e-10)

    def test_one_standard_error_rule_chooses_a_larger_penalty(self):
        least, sparse = (ly.ElasticNetCV(rule=rule).fit(X, Y) for rule in ("min", "1se"))
        assert sparse.alpha_ > least.alpha_
        i, j = (int(np.argmin(np.abs(least.alphas_ - m.alpha_))) for m in (least, sparse))
        limit = least.cv_errors_[i] + least.cv_std_errors_[i]
        assert least.cv_errors_[j] <= limit < least.cv_errors_[j - 1]


class TestColumns:
    def test_a_copy_of_an_active_column_is_named(self):
        with pytest.warns(np.exceptions.RankWarning, match=r"'x10' is tied"):
            ly.ElasticNet(200.0).fit(np.column_stack([X, X[:, 2]]), Y)

    def test_a_constant_column_is_named_and_gets_zero(self):
        with pytest.warns(np.exceptions.RankWarning, match=r"'x10' is constant"):
            model = ly.ElasticNet(20.0).fit(np.column_stack([X, np.full(len(Y), 7.0)]), Y)
        assert model.coef_[10] == 0

    def test_a_sum_of_columns_replaces_its_parts(self):
        model = ly.ElasticNet(20.0).fit(np.column_stack([X, X[:, 2] + X[:, 3]]), Y)
        assert 10 in model.active_
        assert model.kkt_ < 1e-14
        assert model.certificate_.check()

    def test_unpenalised_columns_keep_their_coefficients(self):
        model = ly.ElasticNet(1e9, penalty_weights=[1.0] * 9 + [0.0]).fit(X, Y)
        assert model.active_.tolist() == [9]
        assert model.coef_[9] == pytest.approx(ly.LinearRegression().fit(X[:, 9:], Y).coef_[0], rel=1e-12)
        assert model.certificate_.check()


SPLITS = [(np.setdiff1d(np.arange(40), rows), rows) for rows in np.array_split(np.arange(40), 4)]


class TestEdges:
    def test_at_the_largest_penalty_no_column_is_tied_and_zeros_are_certified(self):
        for seed in range(20):
            X, y = correlated(seed, 40, 6)
            model = ly.ElasticNetCV(alphas=5).fit(X, y)
            assert not model.path_[0].any()
            none = ly.ElasticNet(model.alphas_[0]).fit(X, y)  # a warning would be an error
            assert not len(none.active_)
            assert none.certificate_.check()

    def test_without_penalty_more_columns_than_rows_are_not_unique_and_that_is_said(self):
        X, y = correlated(0, 10, 140)
        with pytest.warns(np.exceptions.RankWarning, match="not unique"):
            model = ly.ElasticNet(0.0).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
        assert model.certificate_.verdict == "unproven"
        assert "may not be unique" in model.certificate_.describe()

    def test_stopped_proof_describes_how_to_make_a_longer_one(self):
        X, y = correlated(0, 40, 6)
        estimator = ly.ElasticNet(1.0).fit(X, y)
        stopped = dataclasses.replace(estimator.certificate_, budget=10)
        assert stopped.verdict == "unproven"
        call = stopped.describe().partition("call ")[2].rstrip(".")
        assert eval(call, {"dataclasses": dataclasses, "estimator": estimator}) is True

    @pytest.mark.parametrize("size", [1e-200, 1e-150, 1e150, 1e200])
    def test_extreme_targets_scale_the_coefficients_without_a_warning(self, size):
        X, y = correlated(1, 40, 6)
        one, scaled = (ly.ElasticNet(5.0 * s).fit(X, y * s) for s in (1.0, size))
        np.testing.assert_allclose(scaled.coef_ / size, one.coef_, rtol=1e-12)
        if 1e-160 < size < 1e160:
            one, scaled = (ly.ElasticNetCV(rule="1se", cv=SPLITS).fit(X, y * s) for s in (1.0, size))
            assert scaled.alpha_ / size == pytest.approx(one.alpha_, rel=1e-9)


class TestBadParameters:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: ly.ElasticNet(-1.0), "alpha"),
            (lambda: ly.ElasticNet(1.0, 1.5), "l1_ratio"),
            (lambda: ly.ElasticNet(1.0, -0.5), "l1_ratio"),
            (lambda: ly.ElasticNet(penalty_weights=[1.0]), "penalty_weights has 1 numbers, but X has 10 columns"),
            (lambda: ly.ElasticNet(penalty_weights=[-1.0] * 10), "penalty_weights"),
            (lambda: ly.ElasticNetCV([0.5, 2.0]), "l1_ratio must be between 0 and 1"),
            (lambda: ly.ElasticNetCV(rule="best"), "rule"),
            (lambda: ly.ElasticNetCV(alphas=0), "alphas"),
            (lambda: ly.ElasticNetCV(alphas=[-1.0]), "alphas"),
            (lambda: ly.ElasticNetCV(cv=1), "cv"),
        ],
    )
    def test_an_invalid_parameter_is_named(self, make, message):
        with pytest.raises(ValueError, match=message):
            make().fit(X, Y)

    def test_one_row_is_too_few(self):
        with pytest.raises(ValueError, match="at least two rows"):
            ly.ElasticNet().fit(X[:1], Y[:1])


class TestModel:
    """`ly.fit`, model files, exports and cross-validation of lasso and elastic net."""

    FRAME = load_diabetes(as_frame=True).frame

    @pytest.mark.parametrize(
        ("model", "params", "estimator"),
        [
            ("lasso", {}, "ElasticNetCV"),
            ("lasso", {"alpha": 100.0}, "ElasticNet"),
            ("elastic-net", {"alphas": 20}, "ElasticNetCV"),
            ("elastic-net", {"alpha": 50.0}, "ElasticNet"),
            ("lasso", {"cv": "loo", "alphas": [10.0, 100.0]}, "ElasticNetCV"),
        ],
    )
    def test_a_saved_model_predicts_and_proves_the_same(self, tmp_path, model, params, estimator):
        fitted = ly.fit(self.FRAME, target="target", model=model, **params)
        assert type(fitted.estimator).__name__ == estimator
        fitted.save(tmp_path / "model.json")
        loaded = ly.load(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict(self.FRAME), fitted.predict(self.FRAME))
        assert loaded.estimator.certificate_.check()
        for name in ("alpha_", "l1_ratio_", "alphas_", "cv_errors_"):
            if hasattr(fitted.estimator, name):
                np.testing.assert_array_equal(getattr(loaded.estimator, name), getattr(fitted.estimator, name))

    def test_a_file_whose_coefficients_contradict_its_summary_is_refused(self, tmp_path):
        path = tmp_path / "model.json"
        ly.fit(self.FRAME, target="target", model="lasso", alpha=100.0).save(path)
        data = json.loads(path.read_text())
        data["estimator"]["parameters"]["alpha"] = 50.0
        body = {name: value for name, value in data.items() if name not in ("format", "version", "digest")}
        path.write_text(json.dumps(data | {"digest": _digest(body)}))
        with pytest.raises(ValueError, match="coef_"):
            ly.load(path)

    def test_exports_predict_the_same(self):
        fitted = ly.fit(self.FRAME, target="target", model="lasso", alpha=100.0)
        namespace = {}
        exec(to_python(fitted), namespace)
        row = {name: float(value) for name, value in self.FRAME.iloc[0].items()}
        assert namespace["predict"](row) == pytest.approx(float(fitted.predict(self.FRAME)[0]), rel=1e-12)

    def test_cross_validation_holds_out_rows_from_the_choice_of_the_penalty(self):
        table = ly.cross_validate(ly.ElasticNetCV(alphas=20), X, Y)
        assert len(table["mse"]) == 5
        assert 2000 < table["mse"].mean() < 4000

    def test_summary_lists_the_selected_terms(self):
        text = str(ly.fit(self.FRAME, target="target", model="lasso", alpha=200.0).summary())
        assert "4 of 10 coefficients are not 0" in text
        assert "bmi" in text
        assert "age" not in text.partition("=\n")[2]  # below the title, which contains the formula
