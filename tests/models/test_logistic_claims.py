"""Classifiers: digits of standard errors, aliased columns in every search, log-loss, scores, the reference class."""

import datetime
import inspect
import warnings
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import linearly as ly

# --- digits of standard errors --------------------------------------------------------------------


def solved(A, b):
    """A⁻¹b by elimination, in decimals."""
    q = len(A)
    M = [[*row, b[i]] for i, row in enumerate(A)]
    for i in range(q):
        for r in range(i + 1, q):
            factor = M[r][i] / M[i][i]
            M[r] = [x - factor * y for x, y in zip(M[r], M[i], strict=True)]
    x = [Decimal(0)] * q
    for i in reversed(range(q)):
        x[i] = (M[i][q] - sum(M[i][c] * x[c] for c in range(i + 1, q))) / M[i][i]
    return x


def exact_fit(X, y, start):
    """Coefficients and standard errors of two classes to fifty digits, by Newton from a start that is near."""
    with localcontext() as context:
        context.prec = 50
        Z = [[Decimal(1), *(Decimal(float(v)) for v in row)] for row in X]
        b, q = [Decimal(float(v)) for v in start], X.shape[1] + 1
        for _ in range(4):
            gradient, H = [Decimal(0)] * q, [[Decimal(0)] * q for _ in range(q)]
            for z, label in zip(Z, y, strict=True):
                p = 1 / (1 + (-sum(a * c for a, c in zip(z, b, strict=True))).exp())
                for i in range(q):
                    gradient[i] += (int(label) - p) * z[i]
                    for j in range(q):
                        H[i][j] += p * (1 - p) * z[i] * z[j]
            b = [a + s for a, s in zip(b, solved(H, gradient), strict=True)]
        variance = [solved(H, [Decimal(int(i == j)) for j in range(q)])[i] for i in range(q)]
        return np.array([float(v) for v in b]), np.array([float(v.sqrt()) for v in variance])


def nearly_combined(part, n=50):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n)
    X = np.column_stack([x, x + part * rng.standard_normal(n), rng.standard_normal(n)])
    return X, (x + rng.logistic(size=n) > 0).astype(int)


@pytest.mark.parametrize("part", [1e-2, 1e-4, 1e-6])
def test_standard_errors_have_the_digits_that_glance_claims(part):
    X, y = nearly_combined(part)
    model = ly.LogisticRegression().fit(X, y)
    table, row = ly.tidy(model), ly.glance(model).row(0)
    b, errors = exact_fit(X, y, np.r_[model.intercept_, model.coef_[0]])
    wrong = np.abs(table["std_error"] / errors - 1).max()
    assert wrong < 1e-8
    assert row["digits"] >= 8
    assert -np.log10(max(wrong, 1e-16)) > row["digits"] - 1
    assert np.abs((table["estimate"] - b) / errors).max() < 10 ** (1 - row["digits"])


@pytest.mark.parametrize("K", [2, 3])
def test_information_by_a_triangle_is_that_of_the_hessian(K):
    from linearly.algorithm.logistic import solver as search

    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 3))
    y = (X @ rng.standard_normal((3, K)) + rng.gumbel(size=(300, K))).argmax(axis=1)
    w = rng.uniform(0, 2, 300)
    for alpha in (0.0, 2.0):
        plain = ly.LogisticRegression(alpha).fit(X, y, w)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "_MIN_HESSIAN_DIGITS", 99.0)
            by_triangle = ly.LogisticRegression(alpha).fit(X, y, w)
        assert by_triangle.n_passes_ == plain.n_passes_ + 1
        np.testing.assert_allclose(by_triangle.covariance_, plain.covariance_, rtol=1e-10)


def test_firth_claims_the_digits_that_its_own_inverse_of_the_information_has():
    row = ly.glance(ly.LogisticRegression(bias_reduction="firth").fit(*nearly_combined(1e-2))).row(0)
    assert row["digits"] == pytest.approx(-np.log10(np.finfo(float).eps * row["condition"] ** 2), abs=0.01)


def test_few_digits_are_warned_of(monkeypatch):
    from linearly.models import logistic_regression as logistic

    monkeypatch.setattr(logistic, "_MIN_DIGITS", 20.0)
    with pytest.warns(ly.PrecisionWarning, match="digits of the standard errors are correct"):
        ly.LogisticRegression().fit(*nearly_combined(1e-2))


def test_digits_come_back_from_a_file(tmp_path):
    X, y = nearly_combined(1e-4)
    data = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": np.where(y == 1, "yes", "no")}
    model = ly.fit(data, target="y")
    model.save(tmp_path / "m.json")
    assert ly.load(tmp_path / "m.json").glance().to_dict() == model.glance().to_dict()


# --- aliased columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["lbfgs", "gradient_descent"])
@pytest.mark.parametrize("K", [2, 4])
def test_every_search_leaves_out_the_columns_that_newton_does(K, solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = (X @ rng.standard_normal((4, K)) + rng.gumbel(size=(400, K))).argmax(axis=1)
    aliased = np.column_stack([X[:, :2], X[:, 0] - 2 * X[:, 1] + 5, X[:, 2:], 3 * X[:, 3], np.full(400, 7.0)])
    if (K, solver) == (4, "gradient_descent"):
        aliased, y = aliased[:60], y[:60]  # steps are slow, and few rows are enough to see which columns are left
    models = {}
    for name in ("newton", solver):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            models[name] = ly.LogisticRegression(solver=name).fit(aliased, y)
        assert any(w.category is np.exceptions.RankWarning and "'x2', 'x5', 'x6'" in str(w.message) for w in warned)
    newton, other = models["newton"], models[solver]
    assert (other.coef_[:, 6] == 0).all()
    residual = (len(y) - 5) * (K - 1)
    assert ly.glance(other)["df_residual"][0] == ly.glance(newton)["df_residual"][0] == residual
    if other.converged_:
        np.testing.assert_allclose(other.coef_, newton.coef_, atol=1e-4)
        assert ly.glance(other)["aic"][0] == pytest.approx(ly.glance(newton)["aic"][0], abs=1e-4)


def test_a_search_by_gradients_with_a_penalty_keeps_all_columns_as_newton_does():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X, y = np.column_stack([X, X[:, 0]]), (X[:, 0] + rng.logistic(size=200) > 0).astype(int)
    newton, other = (ly.LogisticRegression(1.0, solver=name).fit(X, y) for name in ("newton", "lbfgs"))
    assert ly.glance(newton)["df_residual"][0] == ly.glance(other)["df_residual"][0] == 196
    np.testing.assert_allclose(other.coef_, newton.coef_, atol=1e-5)


# --- log-loss -------------------------------------------------------------------------------------


class Steep:
    """Two or three classes told by one number, with probabilities that underflow."""

    def __init__(self, slope, log=True):
        self.slope, self.classes_ = slope, np.array([0, 1])
        if log:
            self.predict_log_proba = lambda X: -np.logaddexp(0.0, self._signed(X))

    def _signed(self, X):
        logit = self.slope * np.asarray(X)[:, 0]
        return np.column_stack([logit, -logit])

    def predict_proba(self, X):
        return np.exp(-np.logaddexp(0.0, self._signed(X)))

    def predict(self, X):
        return (np.asarray(X)[:, 0] >= 0).astype(int)


def test_log_loss_is_not_clipped_where_probabilities_are_small_or_underflow():
    X, y = np.array([[-1.0], [1.0], [2.0], [-3.0]]), np.array([1, 1, 1, 0])
    for slope in (40.0, 72.4 * 4, 1000.0):
        result = ly.evaluate(Steep(slope), X, y)
        assert result["log_loss"] == pytest.approx(slope / 4, rel=1e-12)
        assert not any("2e-16" in note for note in result.notes)


def test_log_loss_of_a_probability_of_zero_notes_what_it_counts_as():
    X, y = np.array([[-1.0], [1.0], [2.0], [-3.0]]), np.array([1, 1, 1, 0])
    result = ly.evaluate(Steep(1000.0, log=False), X, y)
    assert result["log_loss"] == pytest.approx(-np.log(np.finfo(float).eps) / 4)
    assert any("predicted probability 0: 1" in note for note in result.notes)


def test_log_loss_of_a_logistic_model_is_its_own_log_likelihood():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] > 0).astype(int)
    model = ly.LogisticRegression(1e-8).fit(X, y)
    far, wrong = 40 * X, 1 - y
    expected = -model.predict_log_proba(far)[np.arange(80), wrong].mean()
    assert expected > 100
    assert ly.evaluate(model, far, wrong)["log_loss"] == pytest.approx(expected, rel=1e-12)
    labels = ly.LogisticRegression(1e-8).fit(X, np.column_stack([y, X[:, 1] > 0]).astype(int))
    Y = np.column_stack([wrong, X[:, 1] > 0]).astype(int)
    logs = [m.predict_log_proba(far)[np.arange(80), Y[:, j]] for j, m in enumerate(labels.estimators_)]
    found = ly.evaluate(labels, far, Y)
    assert found["log_loss"] == pytest.approx(-np.mean(logs), rel=1e-12)


# --- score ----------------------------------------------------------------------------------------

X_ROWS = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
NAMES = {
    "booleans in an object array": np.array([True, False], dtype=object),
    "bytes": np.array([b"no", b"yes"]),
    "dates": np.array([datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)], dtype=object),
    "datetime64": np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[D]"),
    "timestamps": pd.to_datetime(["2024-01-01", "2024-02-01"]).to_numpy(),
    "Decimals": np.array([Decimal(1), Decimal(2)], dtype=object),
    "text": np.array(["no", "yes"]),
    "booleans": np.array([False, True]),
    "numbers": np.array([3, 7]),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the rows are not separable
@pytest.mark.parametrize("make", [ly.LogisticRegression, ly.LinearDiscriminantAnalysis, ly.Perceptron])
@pytest.mark.parametrize("kind", NAMES)
def test_score_takes_the_labels_that_fit_takes(kind, make):
    y = NAMES[kind][[0, 0, 1, 0, 1, 1]]
    model = make().fit(X_ROWS, y)
    right = np.array([a == b for a, b in zip(model.predict(X_ROWS).tolist(), model.classes_[y_codes(y)], strict=True)])
    w = np.arange(1.0, 7.0)
    assert model.score(X_ROWS, y) == pytest.approx(right.mean())
    assert model.score(X_ROWS, y, sample_weight=w) == pytest.approx(np.average(right, weights=w))
    assert model.score(X_ROWS, list(y)) == pytest.approx(right.mean())


def y_codes(y):
    return np.unique(y, return_inverse=True)[1]


def test_score_refuses_labels_of_another_kind_and_counts_unknown_ones_as_wrong():
    model = ly.LinearDiscriminantAnalysis().fit(X_ROWS, [0, 0, 1, 0, 1, 1])
    assert model.score(X_ROWS, [2, 2, 2, 2, 2, 2]) == 0
    with pytest.raises(ValueError, match="Pass labels of the same type"):
        model.score(X_ROWS, list("001011"))
    with pytest.raises(ValueError, match=r"X and y have inconsistent numbers of samples: \[6, 5\]"):
        model.score(X_ROWS, [0, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"X and sample_weight have .*: \[6, 5\]"):
        model.score(X_ROWS, [0, 0, 1, 0, 1, 1], sample_weight=np.ones(5))


@pytest.mark.parametrize("make", [ly.LogisticRegression, ly.LeastSquaresClassifier])
def test_score_of_several_labels_counts_rows_whose_labels_are_all_right(make):
    Y = np.column_stack([[0, 0, 1, 0, 1, 1], [1, 0, 1, 0, 0, 1]])
    model = make().fit(X_ROWS, Y)
    right = (model.predict(X_ROWS) == Y).all(axis=1)
    assert 0 < right.mean() < 1
    assert model.score(X_ROWS, Y) == pytest.approx(right.mean())
    assert model.score(X_ROWS, Y.tolist()) == pytest.approx(right.mean())


# --- a class called "last" ------------------------------------------------------------------------


def test_a_class_called_last_is_not_the_default_reference():
    X, y = load_iris(return_X_y=True)
    y = np.array(["last", "middle", "zenith"])[y]
    model = ly.LogisticRegression(0.1)
    assert model.fit(X, y).reference_ == "zenith"
    assert model.set_params(reference="last").fit(X, y).reference_ == "last"
    assert model.fit(X, np.char.replace(y, "last", "first")).reference_ == "zenith"
    assert model.set_params(reference=None).fit(X, y).reference_ == "zenith"


def test_a_saved_model_with_a_class_called_last_keeps_its_reference(tmp_path):
    X, y = load_iris(return_X_y=True)
    data = {f"x{j}": X[:, j] for j in range(4)} | {"y": np.array(["last", "middle", "zenith"])[y]}
    for reference in (None, "last", "middle"):
        model = ly.fit(data, target="y", alpha=0.1, reference=reference)
        model.save(tmp_path / "m.json")
        assert ly.load(tmp_path / "m.json").estimator.reference_ == (reference or "zenith")


# --- chunks without weight ------------------------------------------------------------------------


def learns_weighted_chunks(name):
    """Whether a public name is an estimator whose `partial_fit` takes weights."""
    learn = getattr(getattr(ly, name), "partial_fit", None)
    if name == "LinearRegression":
        learn = ly.LinearRegression().partial_fit  # which only an estimator has, not its class
    return learn is not None and "sample_weight" in inspect.signature(learn).parameters


WEIGHTED_CHUNKS = [name for name in ly.__all__ if learns_weighted_chunks(name)]


def test_five_estimators_learn_weighted_chunks():
    assert len(WEIGHTED_CHUNKS) == 5


@pytest.mark.parametrize("estimator", WEIGHTED_CHUNKS)
def test_a_chunk_of_weight_zero_changes_nothing_unless_it_is_the_first(estimator):
    X, y = load_iris(return_X_y=True)
    more = {} if estimator in ("LinearRegression", "ElasticNet") else {"classes": [0, 1, 2]}
    model = getattr(ly, estimator)()
    with pytest.raises(ValueError, match="at least one non-zero number"):
        model.partial_fit(X, y, sample_weight=np.zeros(150), **more)
    model.partial_fit(X, y, **more)
    before = model.predict(X)
    described = model.summary_.n if hasattr(model.summary_, "n") else model.summary_.counts.sum()
    model.partial_fit(1e6 * X[:7], y[:7], sample_weight=np.zeros(7))
    np.testing.assert_array_equal(model.predict(X), before)
    after = model.summary_.n if hasattr(model.summary_, "n") else model.summary_.counts.sum()
    assert described == after
