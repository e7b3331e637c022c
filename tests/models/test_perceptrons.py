"""The perceptron family: the notes' algorithms step by step, what is proven about them, and bad input by name."""

import copy
import math
import pickle
import time
import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from estimators import KINDS, CutRows
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import linearly as ly
from linearly.algorithm.separability.decide import mistake_bound, separability
from linearly.dataset.features.digits import digit_features
from linearly.dataset.rows.block import as_rows
from linearly.exceptions import UncenteredColumnsWarning
from linearly.models.averaged_perceptron import AveragedPerceptron
from linearly.models.batch_perceptron import BatchPerceptron
from linearly.models.label_encoding import encode, encode_known
from linearly.models.perceptron import Perceptron
from linearly.models.pocket_perceptron import PocketPerceptron
from linearly.models.voted_perceptron import VotedPerceptron

FAMILY = (Perceptron, AveragedPerceptron, VotedPerceptron, BatchPerceptron, PocketPerceptron)
ONLINE = (Perceptron, AveragedPerceptron, VotedPerceptron)
LINEAR = (Perceptron, AveragedPerceptron, BatchPerceptron, PocketPerceptron)

unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# --- an oracle: the notes' algorithm in whole numbers, one row at a time ------------------------------------------


class Textbook:
    """The online perceptron on whole numbers; `trail` holds (w, b) after every row, `log` the mistaken rows."""

    def __init__(self, X, codes, K, intercept=True):
        self.rows = [[*map(int, row), int(intercept)] for row in X.tolist()]
        self.codes, self.K = codes, K
        self.B = [[0] * len(self.rows[0]) for _ in range(1 if K == 2 else K)]
        self.trail, self.log, self.per_pass = [], [], []

    def scores(self, x, B=None):
        return [sum(v * w for v, w in zip(x, beta, strict=True)) for beta in (B or self.B)]

    def one_pass(self):
        made = 0
        for i, (x, own) in enumerate(zip(self.rows, self.codes, strict=True)):
            s = self.scores(x)
            if self.K == 2:
                corrections = [(0, 1 if own else -1)] if (1 if own else -1) * s[0] <= 0 else []
            else:
                rival = max((k for k in range(self.K) if k != own), key=lambda k: (s[k], -k))
                corrections = [(own, 1), (rival, -1)] if s[own] <= s[rival] else []
            for k, sign in corrections:
                self.B[k] = [w + sign * v for w, v in zip(self.B[k], x, strict=True)]
            if corrections:
                made += 1
                self.log.append(i)
            self.trail.append([list(beta) for beta in self.B])
        self.per_pass.append(made)
        return made

    def predicted(self, B):
        result = []
        for x in self.rows:
            s = self.scores(x, B)
            result.append(int(s[0] >= 0) if self.K == 2 else max(range(self.K), key=lambda k: (s[k], -k)))
        return result

    def errors(self, B):
        return sum(a != b for a, b in zip(self.predicted(B), self.codes, strict=True))


@st.composite
def grids(draw, classes=(2, 3, 4)):
    """Small whole numbers, where products are exact and ties are common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    K = draw(st.sampled_from(classes))
    n, p = draw(st.integers(K, 12)), draw(st.integers(1, 4))
    codes = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    return rng.integers(-3, 4, size=(n, p)).astype(float), rng.permutation(codes), K, draw(st.booleans())


def beta(model):
    return np.column_stack([model.coef_, model.intercept_])


def exact(B):
    return np.array([[float(v) for v in row] for row in B])


@unsettled
@given(grids())
def test_perceptron_is_the_textbook_s(case):
    X, codes, K, intercept = case
    oracle = Textbook(X, codes, K, intercept)
    while len(oracle.per_pass) < 7 and oracle.one_pass():
        pass
    model = Perceptron(7, fit_intercept=intercept).fit(X, codes)
    expected = exact(oracle.B)
    assert np.array_equal(model.coef_, expected[:, :-1])
    assert np.array_equal(model.intercept_, expected[:, -1])
    assert model.mistakes_per_pass_ == oracle.per_pass
    assert (model.n_passes_, model.n_updates_) == (len(oracle.per_pass), sum(oracle.per_pass))
    log = model.mistake_log_
    assert log.rows.tolist() == oracle.log
    assert model.training_error_ == oracle.errors(oracle.B) / len(X)
    assert model.training_error_ == np.mean(model.predict(X) != codes)
    assert all(np.array_equal(a, b) for a, b in zip(log.final_weights(), (model.coef_, model.intercept_), strict=True))


@unsettled
@given(grids())
def test_averaged_and_voted_weights_follow_from_the_mistake_log(case):
    X, codes, K, intercept = case
    oracle = Textbook(X, codes, K, intercept)
    while len(oracle.per_pass) < 3 and oracle.one_pass():
        pass
    T = len(oracle.trail)
    mean = [
        [Fraction(sum(B[k][j] for B in oracle.trail), T) for j in range(X.shape[1] + 1)] for k in range(len(oracle.B))
    ]
    model = AveragedPerceptron(3, fit_intercept=intercept).fit(X, codes)
    np.testing.assert_allclose(beta(model), exact(mean), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        np.column_stack(model.mistake_log_.averaged_weights()[:1]), exact(mean)[:, :-1], atol=1e-13
    )
    votes = np.zeros((len(X), K))
    for B in oracle.trail:  # weights stand after as many rows as they survive, the one that made them included
        votes[np.arange(len(X)), oracle.predicted(B)] += 1
    voted = VotedPerceptron(3, fit_intercept=intercept).fit(X, codes)
    expected = (votes[:, 1] - votes[:, 0]) / T if K == 2 else votes / T
    np.testing.assert_allclose(voted.decision_function(X), expected, atol=1e-14)
    assert voted.mistake_log_.survival_counts.sum() == T


@unsettled
@settings(max_examples=25)
@given(grids())
def test_pocket_contains_the_first_weights_with_the_fewest_errors(case):
    X, codes, K, intercept = case
    oracle = Textbook(X, codes, K, intercept)
    zero = [[0] * (X.shape[1] + 1) for _ in oracle.B]
    trail = [zero]
    while len(trail) <= 90 and oracle.errors(trail[-1]):
        before = len(oracle.log)
        oracle.trail.clear()
        made = oracle.one_pass()
        steps = [B for i, B in enumerate(oracle.trail) if i in oracle.log[before:]]
        trail += steps
        if not made:
            break
        first = next((k for k, B in enumerate(trail) if oracle.errors(B) == 0), None)
        if first is not None:
            trail = trail[: first + 1]
    trail = trail[:91]
    errors = [oracle.errors(B) for B in trail]
    model = PocketPerceptron(90, fit_intercept=intercept).fit(X, codes)
    assert model.error_history_.tolist() == errors
    best = int(np.argmin(errors))
    assert (model.best_update_, model.n_updates_) == (best, len(trail) - 1)
    assert np.array_equal(beta(model), exact(trail[best]))
    assert model.training_error_ == min(errors) / len(X) == np.mean(model.predict(X) != codes)
    assert sum(model.mistakes_per_pass_) == model.n_updates_
    found = model.mistake_log_.best(as_rows(X, codes.astype(np.int32)))
    assert (found.update, found.errors) == (best, min(errors))


# --- worked by hand ----------------------------------------------------------------------------------------------


def test_ties_at_zero_are_mistakes_and_update():
    """x = 1, y = +1: 0 is a tie, (w, b) = (1, 1). x = −1, y = −1: −1 + 1 = 0 is a tie, (2, 0). Then a clean pass."""
    model = Perceptron().fit([[1.0], [-1.0]], [1, 0])
    assert (model.coef_.tolist(), model.intercept_.tolist()) == ([[2.0]], [0.0])
    assert (model.mistakes_per_pass_, model.n_passes_, model.n_updates_) == ([2, 0], 2, 2)
    assert model.mistake_log_.signs.tolist() == [1, -1]
    assert model.mistake_log_.survival_counts.tolist() == [0, 1, 3]
    assert model.stop_reason_ == "pass 2 made no mistakes"
    assert model.training_error_ == 0


@unsettled
def test_sign_of_zero_is_plus_one():
    model = Perceptron(fit_intercept=False).fit([[1.0], [-1.0]], ["no", "yes"])
    assert model.coef_.tolist() == [[-1.0]]
    assert model.decision_function([[0.0]]) == [0.0]
    assert model.predict([[0.0]]) == ["yes"]
    tie = Perceptron(1, fit_intercept=False).fit([[1.0], [-1.0], [2.0], [-1.0]], [0, 1, 1, 2])
    assert tie.predict([[0.0]]) == [0]  # of equal scores the first


def test_k_classes_by_hand():
    """Rows 1, −1, 2 of classes a, b, c: weights (1, −1, 0), which get −1 right and take 2 for a; then (−1, −1, 2)."""
    with pytest.warns(ConvergenceWarning):
        model = Perceptron(1, fit_intercept=False).fit([[1.0], [-1.0], [2.0]], list("abc"))
    assert model.coef_.tolist() == [[-1.0], [-1.0], [2.0]]
    log = model.mistake_log_
    assert (log.rows.tolist(), log.codes.tolist(), log.rivals.tolist()) == ([0, 2], [0, 2], [1, 0])
    with pytest.raises(ValueError, match="two classes"):
        _ = log.signs


def test_tolerance_counts_mistakes_while_the_weights_move():
    """S0's rule: the second pass makes 1 mistake, tolerance 1 stops there; the final weights make none."""
    X, y = [[1.0], [2.0], [-1.0]], [1, 1, 0]
    model = Perceptron(tolerance=2).fit(X, y)
    assert (model.mistakes_per_pass_, model.training_error_) == ([2], 0.0)
    assert model.stop_reason_ == "pass 1 made 2 mistakes, at most tolerance=2"
    assert Perceptron().fit(X, y).mistakes_per_pass_ == [2, 0]


def test_at_most_max_passes():
    xor, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="max_passes=4 reached, pass 4 made"):
        model = Perceptron(4).fit(xor, y)
    assert model.n_passes_ == 4
    with pytest.warns(ConvergenceWarning, match="max_passes=4 reached"):
        assert BatchPerceptron(4).fit(xor, y).n_passes_ == 4


def test_batch_by_hand():
    """Δ is a mean over n: rows 2, 1 | −1, −4 all tie at zero, Δ = (2 + 1 + 1 + 4)/4 = 2, Σ y = 0; then no mistake."""
    model = BatchPerceptron().fit([[2.0], [1.0], [-1.0], [-4.0]], [1, 1, 0, 0])
    assert (model.coef_.tolist(), model.intercept_.tolist()) == ([[2.0]], [0.0])
    assert (model.mistakes_per_pass_, model.n_updates_) == ([4, 0], 1)


def test_batch_rule_of_the_notes_stops_early():
    """One small row of ten stays wrong: its correction, (−ε, ε)/10, is soon below any threshold, though a pass without
    mistakes exists."""
    X = [[1.0, 0.0]] * 9 + [[0.01, -0.01]]
    y = [1] * 9 + [0]
    early = BatchPerceptron(epsilon=0.01, fit_intercept=False).fit(X, y)
    assert early.mistakes_per_pass_ == [10, 1]
    assert "norm 0.00141 < epsilon=0.01; the weights misclassify a share of 0.1 of the rows" in early.stop_reason_
    assert early.training_error_ == 0.1
    patient = BatchPerceptron(2000, fit_intercept=False).fit(X, y)
    assert patient.training_error_ == 0
    assert patient.stop_reason_ == f"pass {patient.n_passes_} found no mistake"


def test_batch_k_classes_by_hand():
    """All tie at zero, each against the first other class: a−b, b−a, c−a, thirds of the rows."""
    X = np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, -3.0]])
    with pytest.warns(ConvergenceWarning):
        model = BatchPerceptron(1, fit_intercept=False).fit(X, list("abc"))
    assert model.coef_.tolist() == [[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]


def test_averaged_and_voted_differ():
    """(w, b) after the rows 1+, −1−, 3−, −2+: (1, 1), (2, 0), (−1, −1), (−1, −1). At x = ½ the votes tie, so +1; the
    mean (¼, −¼) says −1."""
    X, y = [[1.0], [-1.0], [3.0], [-2.0]], [1, 0, 0, 1]
    averaged, voted = AveragedPerceptron(1).fit(X, y), VotedPerceptron(1).fit(X, y)
    assert (averaged.coef_.tolist(), averaged.intercept_.tolist()) == ([[0.25]], [-0.25])
    assert voted.decision_function([[0.5]]) == [0.0]
    assert (voted.predict([[0.5]]), averaged.predict([[0.5]])) == ([1], [0])
    uniform = VotedPerceptron(1, weighting="uniform").fit(X, y)
    assert uniform.decision_function([[0.5]]) == [pytest.approx(1 / 3)]  # three vectors of weights, one vote each


def test_spam_of_the_notes():
    """S2: −3 + 4·1 + 2·1 = 3 > 0, spam."""
    model = Perceptron().fit([[1.0, 1.0], [0.0, 0.0]], ["spam", "ham"])
    model.coef_, model.intercept_ = np.array([[4.0, 2.0]]), np.array([-3.0])
    assert model.decision_function([[1.0, 1.0]]) == [3.0]
    assert model.predict([[1.0, 1.0]]) == ["spam"]


# --- what is proven ----------------------------------------------------------------------------------------------


def separable(rng, n, p, K=2):
    X = rng.normal(size=(n, p))
    S = X @ rng.normal(size=(p, K)) + rng.normal(size=K)
    top = np.sort(S, axis=1)
    keep = top[:, -1] - top[:, -2] > 0.2
    return X[keep], np.argmax(S, axis=1)[keep]


def novikoff(seeds):
    checked = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        K = int(rng.choice([2, 2, 3]))
        X, y = separable(rng, 40, int(rng.integers(1, 5)), K)
        if len(np.unique(y)) < K:
            continue
        bound = mistake_bound(X, y)
        models = Perceptron(10_000), Perceptron(10_000, shuffle=True, random_state=seed), PocketPerceptron(10_000)
        for model in models:
            assert model.fit(X, y).training_error_ == 0
            assert model.n_updates_ <= bound
        checked += 1
    return checked


def test_mistakes_stay_within_novikoff_s_bound():
    assert novikoff(range(40)) > 20


@pytest.mark.slow
def test_mistakes_stay_within_novikoff_s_bound_in_1000_sets():
    assert novikoff(range(1700)) >= 1000


@unsettled
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("init", ["zeros", "random", "least_squares"])
def test_pocket_is_never_worse(K, init):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 3))
    y = np.argmax(X[:, :2] @ rng.normal(size=(2, K)) + rng.normal(size=(400, K)), axis=1)
    model = PocketPerceptron(300, init=init, random_state=0).fit(X, y)
    pocket = np.minimum.accumulate(model.error_history_)
    assert model.training_error_ * 400 == pocket[-1] == model.error_history_[model.best_update_]
    assert pocket[-1] <= model.error_history_[0]
    assert PocketPerceptron(100, init=init, random_state=0).fit(X, y).training_error_ >= model.training_error_
    if init == "least_squares":
        targets = 2.0 * (y[:, None] == np.arange(K)) - 1.0
        B = np.linalg.lstsq(np.column_stack([X, np.ones(400)]), targets, rcond=None)[0]
        start = model.mistake_log_.start
        expected = B.T[1:] if K == 2 else B.T
        np.testing.assert_allclose(np.column_stack([*start[:1], start[1]]), expected, atol=1e-12)


def test_separable_pixels_and_overlapping_features():
    """Digits 1 against 5, as in S1: separable on the pixels, not on density and symmetry."""
    digits = load_digits()
    some = np.isin(digits.target, (1, 5))
    X, y = digits.data[some], digits.target[some]
    model = Perceptron().fit(X, y)
    assert model.training_error_ == 0
    assert model.n_updates_ <= mistake_bound(X, y)
    F = digit_features(digits.images[some])[:, :2]
    pocket = PocketPerceptron(init="least_squares").fit(F, y)
    told = pocket.explain(F, y).tables[0]
    facts = dict(zip(told["what"], told["value"], strict=True))
    assert facts["verdict"] == "overlapping"
    assert 0 < int(facts["error floor"]) <= int(facts["errors on these rows"])
    assert int(facts["errors on these rows"]) == round(pocket.training_error_ * len(y))
    assert pocket.training_error_ <= AveragedPerceptron(50).fit(F, y).training_error_


def test_explain_tells_what_is_known():
    X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], ["spam", "spam", "ham", "ham"]
    for Model in FAMILY:
        model = Model().fit(X, y)
        assert "training error" in str(model.explain())
        told = str(model.explain(X, y))
        assert "separable" in told
        assert ("within Novikoff's bound" in told) == (Model is not BatchPerceptron)
        with pytest.raises(ValueError, match="both X and y"):
            model.explain(X)
    assert "Novikoff" not in str(Perceptron(init="random", random_state=0).fit(X, y).explain(X, y))


@pytest.mark.parametrize("sparse", [False, True])
def test_contradictions_are_reported_as_the_proof_they_are(sparse):
    kind = sp.csr_matrix if sparse else np.asarray
    twins = kind([[1.0, 2.0], [3.0, 1.0], [1.0, 2.0], [0.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="rows 0 and 2 are the same point with different labels"):
        model = Perceptron(5).fit(twins, [0, 1, 1, 0])
    assert "no hyperplane separates these rows: rows 0 and 2" in model.stop_reason_
    assert "rows 0 and 2 are the same point with different labels" in str(model.explain(twins, [0, 1, 1, 0]))
    zero = kind([[1.0, 2.0], [3.0, 1.0], [0.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="row 2 is zero and there is no intercept"):
        Perceptron(5, fit_intercept=False).fit(zero, [0, 1, 1])
    assert (
        "row 2 is zero and there is no intercept"
        in AveragedPerceptron(5, fit_intercept=False).fit(zero, [0, 1, 1]).stop_reason_
    )
    with pytest.warns(ConvergenceWarning):
        batch = BatchPerceptron(5).fit(twins, [0, 1, 1, 0])
    assert "the same point" in str(batch.explain(twins, [0, 1, 1, 0]))


# --- the log -----------------------------------------------------------------------------------------------------


@unsettled
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("K", [2, 4])
def test_mistake_log_gives_the_weights_and_votes_of_the_models(K, sparse):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.5)
    y = np.argmax(X[:, :K] + 0.3 * rng.normal(size=(300, K)), axis=1)
    rows = sp.csr_matrix(X) if sparse else X
    plain, averaged = Perceptron(4).fit(rows, y), AveragedPerceptron(4).fit(rows, y)
    log = plain.mistake_log_
    assert len(log) == plain.n_updates_ == log.features[log.which].shape[0]
    assert all(np.array_equal(a, b) for a, b in zip(log.final_weights(), (plain.coef_, plain.intercept_), strict=True))
    for a, b in zip(log.averaged_weights(), (averaged.coef_, averaged.intercept_), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    voted = VotedPerceptron(4).fit(rows, y)
    np.testing.assert_allclose(log.vote(X), voted.decision_function(X))
    best, pocket = log.best(as_rows(X, y.astype(np.int32))), PocketPerceptron(len(log)).fit(rows, y)
    assert (best.update, best.errors / 300) == (pocket.best_update_, pocket.training_error_)
    assert np.array_equal(best.coef, pocket.coef_)
    again = log.with_rows(rows)
    assert np.array_equal(again.final_weights()[0], plain.coef_)
    with pytest.raises(ValueError, match="does not match the mistake log"):
        log.with_rows(X[:, :2])


@unsettled
def test_mistake_log_beyond_its_limit_of_bytes_keeps_no_rows():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(6000, 200)), rng.integers(0, 2, 6000)
    model = Perceptron(2).fit(X, y)
    assert "without their features" in repr(model.mistake_log_)
    with pytest.raises(ValueError, match=r"with_rows\(X\)"):
        model.mistake_log_.final_weights()
    assert np.array_equal(model.mistake_log_.with_rows(X).final_weights()[0], model.coef_)
    assert len(pickle.dumps(model)) < 1e6
    assert VotedPerceptron(2).fit(X[:2000], y[:2000]).mistake_log_.features is not None


@unsettled
def test_random_start_is_in_the_log():
    X, y = np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, -1.0]]), [0, 1, 1]
    model = Perceptron(3, init="random", random_state=5).fit(X, y)
    assert np.array_equal(model.mistake_log_.final_weights()[0], model.coef_)
    assert np.array_equal(model.coef_, Perceptron(3, init="random", random_state=5).fit(X, y).coef_)
    assert not np.array_equal(model.coef_, Perceptron(3, init="random", random_state=6).fit(X, y).coef_)
    plain = Perceptron(3, init="random", random_state=5, fit_intercept=False).fit(X, y)
    assert np.array_equal(plain.mistake_log_.final_weights()[0], plain.coef_)
    assert np.array_equal(plain.mistake_log_.final_weights()[1], plain.intercept_)


def test_a_start_that_separates_makes_no_mistake_and_still_votes():
    X, y = np.array([[1.0, 0.5], [-1.0, -0.5]]), [1, 0]
    fitted = [Perceptron(3, init="random", random_state=seed).fit(X, y) for seed in range(10)]
    flawless = [model for model in fitted if not len(model.mistake_log_)]
    assert 0 < len(flawless) < 10
    for model in flawless:
        np.testing.assert_array_equal(model.predict(X), y)
        np.testing.assert_array_equal(model.mistake_log_.vote(X), [1.0, -1.0])


# --- streams, order, kinds of rows -------------------------------------------------------------------------------


def state(model):
    if isinstance(model, VotedPerceptron):
        return model.mistake_log_.vote(np.eye(model.n_features_in_))
    return beta(model)


@unsettled
@pytest.mark.parametrize("Model", ONLINE)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "mixed"])
def test_partial_fit_is_fit_spread_out(Model, K, kind):
    rng = np.random.default_rng(10)
    X = rng.integers(-4, 5, size=(90, 5)).astype(float)
    y = np.concatenate([np.arange(K), rng.integers(0, K, 90 - K)])
    whole = Model(2).fit(X, y)
    stream = Model(2)
    for turn in range(2):
        for i, part in enumerate((slice(0, 30), slice(30, 31), slice(31, 90))):
            rows = sp.csr_matrix(X[part]) if kind == "sparse" or (kind == "mixed" and i % 2) else X[part]
            stream.partial_fit(rows, y[part], classes=np.arange(K) if turn + i == 0 else None)
    assert np.array_equal(state(stream), state(whole))
    assert (stream.n_updates_, sum(stream.mistakes_per_pass_)) == (whole.n_updates_, whole.n_updates_)
    assert not hasattr(stream, "training_error_")
    assert hasattr(stream, "mistake_log_") == (Model is VotedPerceptron)
    again = Model(1).fit(X, y).partial_fit(X, y)
    assert np.array_equal(state(again), state(whole))


class Interrupted(CutRows):
    """Rows that are walked up to a Ctrl-C."""

    def __iter__(self):
        yield from list(super().__iter__())[:2]
        raise KeyboardInterrupt


@unsettled
@pytest.mark.parametrize("Model", ONLINE)
@pytest.mark.parametrize("shuffle", [False, True])
def test_partial_fit_leaves_copies_and_what_was_before_an_interruption_alone(Model, shuffle):
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(90, 3)), rng.integers(0, 2, 90)
    model = Model(2, shuffle=shuffle, random_state=5).fit(X, y)
    before, twin, other = pickle.dumps(model), copy.copy(model), copy.copy(model)
    if not shuffle:
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(Interrupted(X, y, cuts=(30, 60)))
        assert pickle.dumps(model) == before
    model.partial_fit(X, y)
    assert pickle.dumps(twin) == before
    assert np.array_equal(state(twin.partial_fit(X, y)), state(model))
    assert twin.mistakes_per_pass_ == model.mistakes_per_pass_ != other.mistakes_per_pass_
    assert np.array_equal(state(other), state(pickle.loads(before)))


def test_a_stream_takes_no_memory():
    model = AveragedPerceptron()
    rng = np.random.default_rng(11)
    size = 0
    for turn in range(200):
        model.partial_fit(rng.normal(size=(50, 3)), rng.integers(0, 2, 50), classes=[0, 1])
        model.mistakes_per_pass_.clear()
        if turn == 2:
            size = len(pickle.dumps(model))
    assert len(pickle.dumps(model)) <= size + 16


@unsettled
@pytest.mark.parametrize("Model", ONLINE)
def test_shuffle_is_seeded_and_is_an_order(Model):
    rng = np.random.default_rng(12)
    X, y = rng.integers(-4, 5, size=(60, 3)).astype(float), rng.integers(0, 2, 60)
    a, b = (Model(1, shuffle=True, random_state=3).fit(X, y) for _ in range(2))
    assert np.array_equal(state(a), state(b))
    order = np.random.RandomState(3).permutation(60)
    assert np.array_equal(state(a), state(Model(1).fit(X[order], y[order])))
    assert sorted(a.mistake_log_.rows) == sorted(order[Model(1).fit(X[order], y[order]).mistake_log_.rows])
    assert not np.array_equal(state(a), state(Model(1, shuffle=True, random_state=4).fit(X, y)))
    with pytest.raises(ValueError, match="shuffle=False"):
        Model(1, shuffle=True).fit(CutRows(X, y, cuts=(10,)))


@unsettled
@pytest.mark.parametrize("Model", FAMILY)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows(Model, kind):
    rng = np.random.default_rng(13)
    X = rng.integers(-4, 5, size=(80, 3)).astype(float)
    y = np.where(X[:, 0] + rng.normal(size=80) > 0, "b", "a")
    expected = Model(5).fit(X, y)
    rows = KINDS[kind](X)
    model = Model(5).fit(CutRows(rows, y, cuts=(3, 3, 40))) if kind == "rows" else Model(5).fit(rows, y)
    np.testing.assert_allclose(state(model), state(expected), rtol=1e-14, atol=1e-14)
    assert model.training_error_ == expected.training_error_
    assert np.array_equal(model.predict(rows), expected.predict(X))


@unsettled
@pytest.mark.parametrize("Model", FAMILY)
def test_sparse_blocks_may_be_empty(Model):
    rng = np.random.default_rng(13)
    X, y = rng.integers(-4, 5, size=(80, 3)).astype(float), rng.integers(0, 2, 80)
    cut = Model(5).fit(CutRows(sp.csr_matrix(X), y, cuts=(3, 3, 40)))
    np.testing.assert_allclose(state(cut), state(Model(5).fit(sp.csr_matrix(X), y)), rtol=1e-14, atol=1e-14)


@unsettled
@pytest.mark.parametrize("Model", FAMILY)
def test_read_only_and_memory_mapped_rows(Model, tmp_path):
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    expected = state(Model(5).fit(X, y))
    np.save(tmp_path / "X.npy", X)
    X.flags.writeable = False
    assert np.array_equal(state(Model(5).fit(X, y)), expected)
    assert np.array_equal(state(Model(5).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)), expected)


@unsettled
def test_a_million_features_stay_sparse():
    rng = np.random.default_rng(15)
    n, p = 500, 1_000_000
    X = sp.csr_matrix(
        (rng.normal(size=20 * n), rng.integers(0, p, 20 * n).astype(np.int32), np.arange(0, 20 * n + 1, 20)), (n, p)
    )
    y = rng.integers(0, 3, n)
    for Model in (Perceptron, AveragedPerceptron, VotedPerceptron, PocketPerceptron):
        model = Model(2).fit(X, y)
        assert model.score(X, y) == pytest.approx(1 - model.training_error_)
    with pytest.raises(ValueError, match="limited to 8192 columns, but X has 1000000"):
        PocketPerceptron(init="least_squares").fit(X, y)
    X.data[777] = np.nan
    for Model in FAMILY:
        with pytest.raises(ValueError, match=f"X contains NaN: row {777 // 20}, column {X.indices[777]}"):
            Model(2).fit(X, y)
        with pytest.raises(ValueError, match=f"X contains NaN: row {777 // 20}, column {X.indices[777]}"):
            model.predict(X)


@unsettled
@pytest.mark.parametrize("passes", [3])
@pytest.mark.parametrize("Model", ONLINE)
def test_passes_are_as_the_card_says(Model, passes):
    rng = np.random.default_rng(16)
    rows = CutRows(rng.normal(size=(60, 2)), rng.integers(0, 2, 60), cuts=(20, 41))
    model = Model(passes).fit(rows)
    # One pass more finds the classes of rows that bring their own targets.
    assert rows.passes == model.n_passes_ + 1 + 1
    rows.passes = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        batch = BatchPerceptron(passes).fit(rows)
    assert rows.passes == batch.n_passes_ + 2 + 1
    rows.passes = 0
    pocket = PocketPerceptron(100).fit(rows)
    assert rows.passes == pocket.n_passes_ + math.ceil(pocket.n_updates_ / 64) + 2 + 1


# --- size of the numbers -----------------------------------------------------------------------------------------


@unsettled
@pytest.mark.parametrize("Model", FAMILY)
@pytest.mark.parametrize("power", [-990, -700, 700, 990])
@pytest.mark.parametrize("sparse", [False, True])
def test_perceptrons_of_rows_of_extreme_magnitude_behave_as_at_size_one(Model, power, sparse):
    rng = np.random.default_rng(17)
    X = rng.uniform(-1, 1, size=(80, 3))
    X[0, 0] = 0.75  # the largest is in [½, 1): the unit is then 2^power itself
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    kind = sp.csr_matrix if sparse else np.asarray
    usual, scaled = Model(5).fit(kind(X), y), Model(5).fit(kind(np.ldexp(X, power)), y)
    assert scaled.mistakes_per_pass_ == usual.mistakes_per_pass_
    assert scaled.training_error_ == usual.training_error_
    if Model is not VotedPerceptron:
        assert np.array_equal(np.ldexp(scaled.coef_, power), usual.coef_)
        assert np.array_equal(scaled.intercept_, usual.intercept_)
    if Model is not BatchPerceptron:
        np.testing.assert_allclose(
            np.ldexp(scaled.mistake_log_.final_weights()[0], power), usual.mistake_log_.final_weights()[0]
        )
    assert np.array_equal(scaled.predict(kind(np.ldexp(X, power))), usual.predict(kind(X)))
    if Model in ONLINE:
        stream = Model(5).partial_fit(kind(np.ldexp(X, power)), y).partial_fit(kind(np.ldexp(X, power)), y)
        twice = Model(2).fit(kind(X), y)
        assert stream.mistakes_per_pass_ == twice.mistakes_per_pass_


def test_partial_fit_of_rows_beyond_the_scale_raises():
    model = Perceptron().partial_fit([[1.0], [-1.0]], [0, 1])
    with pytest.raises(ValueError, match="too large to combine"):
        model.partial_fit([[1e200], [-1e200]], [0, 1])


def test_partial_fit_accepts_rows_up_to_the_limit_of_its_scale():
    model = Perceptron().partial_fit([[1.0], [-1.0]], [0, 1])
    model.partial_fit([[2.0**332], [-(2.0**332)]], [0, 1])
    with pytest.raises(ValueError, match="too large to combine"):
        model.partial_fit([[1.5 * 2.0**332], [-1.0]], [0, 1])


@unsettled
@pytest.mark.parametrize("Model", ONLINE)
@pytest.mark.parametrize("power", [-1000, -600, 400, 1000])
def test_partial_fit_of_zeros_first_leaves_the_scale_open(Model, power):
    rng = np.random.default_rng(13)
    X, y = rng.integers(-4, 5, size=(60, 3)).astype(float), rng.integers(0, 2, 60)
    zeros, X = np.zeros((40, 3)), np.ldexp(X, power)
    whole = Model(1).fit(np.vstack([zeros, X]), np.concatenate([y[:40], y]))
    stream = Model().partial_fit(zeros, y[:40], classes=[0, 1]).partial_fit(X, y)
    assert sum(stream.mistakes_per_pass_) == whole.n_updates_
    assert np.array_equal(stream.decision_function(X), whole.decision_function(X))


def test_a_score_that_overflows_keeps_its_sign():
    model = Perceptron().fit([[1e90, 0.0], [-1e90, 0.0]], [1, 0])
    assert model.predict(np.array([[1e300, 5.0], [-1e300, 5.0]])).tolist() == [1, 0]
    assert model.decision_function(np.array([[1e300, 5.0]])) == [np.inf]


# --- labels and bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        [False, True],
        [-1, 1],
        [5, 2],
        ["no", "yes"],
        [2.0, 1.0],
        np.array([-128, 127], dtype=np.int8),
        np.array([2**63, 2**64 - 1], dtype=np.uint64),
        np.array(["u", "v"], dtype=object),
        np.array([b"a", b"b"]),
        ["c", "a", "b"],
        [30, 10, 20],
        np.array([-128, 0, 127], dtype=np.int8),
        np.array([True, False], dtype=object),
        np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]"),
        np.array([10**12, 0, -(10**12)]),
    ],
    ids=str,
)
def test_labels_are_kept_as_given(labels):
    labels = np.asarray(labels)
    y = np.concatenate([labels, labels, labels])
    classes, codes = encode(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert classes.dtype == labels.dtype
    assert np.array_equal(classes, expected)
    assert np.array_equal(codes, inverse)
    assert np.array_equal(encode_known(y[:2], classes), inverse[:2])
    rng = np.random.default_rng(18)
    centres = 10 * rng.normal(size=(len(labels), 4))
    X = centres[np.arange(len(y)) % len(labels)] + 0.01 * rng.normal(size=(len(y), 4))
    for Model in FAMILY:
        model = Model(100).fit(X, y)
        assert np.array_equal(model.classes_, expected)
        assert np.array_equal(model.predict(X), y)
        assert model.decision_function(X).shape == ((len(y),) if len(labels) == 2 else (len(y), len(labels)))


BEYOND = {
    "2**63": [2**63 + 7, 2**63 + 9, 3],
    "all beyond 2**63": [2**63 + 7, 2**63 + 9],
    "objects": np.array([-5, 2**62 + 1, 7], dtype=object),
}


@pytest.mark.parametrize("labels", BEYOND.values(), ids=BEYOND)
def test_whole_numbers_up_to_64_bits_are_labels(labels, tmp_path):
    code = np.arange(30) % len(labels)
    X = np.array([[20.0, 0.0], [-10.0, 17.0], [-10.0, -17.0]])[code] + np.random.default_rng(18).normal(size=(30, 2))
    y = [labels[k] for k in code]
    for told in (y, np.array(y, dtype=object)):
        model = AveragedPerceptron(100).fit(X, told)
        assert model.classes_.tolist() == sorted(labels)
        assert model.predict(X).tolist() == y
        assert model.score(X, told) == 1
    if min(labels) >= 0:
        frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": pl.Series(y, dtype=pl.UInt64)})
        ly.fit(frame, target="y", model="averaged", max_passes=100).save(tmp_path / "model.json")
        loaded = ly.load(tmp_path / "model.json")
        assert loaded.classes == tuple(sorted(labels))
        assert loaded.predict(frame).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [2**64, 1],
            r"Row 0 has the label 18446744073709551616, so the labels need more than 64 bits\. Convert",
        ),
        ([-1, 2**63], r"Row 1 has the label 9223372036854775808 and other labels are negative"),
        ([(1, 2), (3, 4)], r"Row 0 has \(1, 2\) \(tuple\), which is not a label.*Join its parts into one string"),
    ],
    ids=str,
)
@pytest.mark.parametrize("Model", FAMILY)
def test_labels_that_no_array_holds_are_refused_by_row(Model, labels, message):
    y = np.empty(6, dtype=object)
    y[:] = labels * 3
    with pytest.raises(ValueError, match=message):
        Model().fit(np.arange(12.0).reshape(6, 2), y)


X3 = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])


@pytest.mark.parametrize("Model", FAMILY)
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X3, [1, 1, 1], r"only one class, 1"),
        (X3, ["a", "a", "a"], r"only one class, 'a'"),
        (X3, [1, "a", 1], r"mixed types: row 0 has 1 \(int\), row 1 has 'a' \(str\)"),
        (X3, np.array([1, "a", 1], dtype=object), r"mixed types: row 0 has 1 \(int\)"),
        (X3, [True, 2, 3], r"mixed types: row 0 has True \(bool\)"),
        (X3, [0.0, 1.0, np.nan], r"y contains NaN: row 2"),
        (X3, ["a", None, "b"], r"y contains NaN: row 1"),
        (X3, [0.0, np.inf, 1.0], r"y contains infinity: row 1"),
        (X3, [0.5, 1.5, 2.5], r"Unknown label type: continuous. Row 0 has"),
        (X3, [1 + 2j, 0, 1], r"Complex data not supported"),
        (X3, [0, 1], r"inconsistent numbers of samples"),
        (X3, None, r"requires y to be passed"),
        (X3, 1, r"1d array"),
        (X3, np.zeros((3, 2)), r"1d array"),
        (np.where(X3 == 4, np.nan, X3), [0, 1, 1], r"X contains NaN: row 1, column 'x1'"),
        (np.where(X3 == 7, np.inf, X3), [0, 1, 1], r"X contains infinity: row 2, column 'x1'"),
        (np.where(X3 == 1, -np.inf, X3), [0, 1, 1], r"X contains infinity: row 0, column 'x0'"),
        (X3[:0], [], r"0 sample"),
        (X3[:, :0], [0, 1, 1], r"0 feature"),
        (np.array([[2**60 + 1], [1], [2]]), [0, 1, 1], r"row 0, column 0 exceeds 2\*\*53"),
        (sp.csr_matrix(np.array([[0, 0], [0, 2**60 + 1], [1, 2]])), [0, 1, 1], r"row 1, column 1 exceeds 2\*\*53"),
    ],
)
def test_bad_rows_are_named(Model, X, y, message):
    with pytest.raises(ValueError, match=message):
        Model().fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Perceptron(0), "max_passes must be an integer of at least 1, not 0"),
        (Perceptron(2.5), "max_passes must be an integer"),
        (Perceptron(True), "max_passes must be an integer"),
        (Perceptron(tolerance=-1), "tolerance must be an integer of at least 0, not -1"),
        (Perceptron(init="ones"), "init must be one of 'zeros', 'random', not 'ones'"),
        (AveragedPerceptron(0), "max_passes must be an integer of at least 1, not 0"),
        (VotedPerceptron(0), "max_passes must be an integer of at least 1, not 0"),
        (VotedPerceptron(weighting="none"), "weighting must be one of 'survival', 'uniform', not 'none'"),
        (BatchPerceptron(0), "max_passes must be an integer of at least 1, not 0"),
        (BatchPerceptron(epsilon=-1.0), "epsilon must be a number of at least 0, not -1.0"),
        (BatchPerceptron(epsilon=math.nan), "epsilon must be a number of at least 0, not nan"),
        (PocketPerceptron(0), "max_updates must be an integer of at least 1, not 0"),
        (PocketPerceptron(init="ones"), "init must be one of 'zeros', 'random', 'least_squares', not 'ones'"),
    ],
)
def test_bad_parameters_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X3, [0, 1, 1])


@pytest.mark.parametrize("Model", ONLINE)
def test_bad_streams_are_named(Model):
    with pytest.raises(ValueError, match="only one class, 1"):
        Model().partial_fit(X3, [1, 1, 1])
    with pytest.raises(ValueError, match="only one class"):
        Model().partial_fit(X3, [1, 1, 1], classes=[1])
    model = Model().partial_fit(X3, [1, 1, 1], classes=[1, 2])
    with pytest.raises(ValueError, match=r"Row 1 has the label 3, which is not one of the classes \[1, 2\]"):
        model.partial_fit(X3, [1, 3, 1])
    with pytest.raises(ValueError, match=r"classes were \[1, 2\] in the first call, not \[1, 2, 3\]"):
        model.partial_fit(X3, [1, 2, 1], classes=[1, 2, 3])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X3[:, :1], [1, 2, 1])
    with pytest.raises(ValueError, match="X contains NaN: row 1, column 'x1'"):
        model.partial_fit([[-5.0, 2.0], [1.0, np.nan]], [2, 2])
    again = Model().partial_fit(X3, [1, 1, 1], classes=[1, 2])
    for stream in (model, again):
        stream.partial_fit(X3, [2, 1, 1])
    assert np.array_equal(state(model), state(again))  # what was refused left no trace


@pytest.mark.parametrize("Model", [Perceptron, AveragedPerceptron, VotedPerceptron, PocketPerceptron])
def test_weights_without_a_meaning_are_refused(Model):
    with pytest.raises(TypeError, match="sample_weight"):
        Model().fit(X3, [0, 1, 1], sample_weight=[1, 1, 2])
    rows = as_rows(np.array([[1.0], [-1.0], [2.0]]), np.array([1, 0, 0]), np.array([1.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match=r"rows have weights, which an online perceptron does not accept"):
        Model().fit(rows)


def test_batch_weights_that_are_missing_are_refused_by_row():
    rows = as_rows(np.array([[1.0], [-1.0], [2.0]]), np.array([1, 0, 0]), np.array([1.0, np.nan, 2.0]))
    with pytest.raises(ValueError, match="sample_weight contains NaN: row 1"):
        BatchPerceptron(5).fit(rows)


@unsettled
@given(grids(), st.integers(0, 2**32))
def test_batch_weights_are_repetitions(case, seed):
    X, codes, _, intercept = case
    weight = np.random.default_rng(seed).integers(0, 4, len(X))
    if len(np.unique(codes[weight > 0])) < 2:
        with pytest.raises(ValueError, match=r"class|zero"):
            BatchPerceptron(4).fit(X, codes, sample_weight=weight)
        return
    a = BatchPerceptron(4, fit_intercept=intercept).fit(X, codes, sample_weight=weight)
    b = BatchPerceptron(4, fit_intercept=intercept).fit(np.repeat(X, weight, axis=0), np.repeat(codes, weight))
    np.testing.assert_allclose(beta(a), beta(b), atol=1e-12)
    assert np.array_equal(a.classes_, b.classes_)
    assert a.training_error_ == pytest.approx(b.training_error_)


def test_predict_refuses_what_fit_would():
    for Model in FAMILY:
        model = Model(50).fit(X3, [0, 1, 1])
        for bad in (np.nan, np.inf):
            with pytest.raises(ValueError, match="row 1, column"):
                model.predict(np.array([[1.0, 2.0], [bad, 0.0]]))
        with pytest.raises(ValueError, match="features"):
            model.predict(X3[:, :1])


@parametrize_with_checks([Model() for Model in FAMILY], expected_failed_checks=lambda _: {})
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the checks fit noise on purpose
        check(estimator)


# --- speed that a user feels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("Model", LINEAR)
def test_one_row_is_predicted_in_microseconds(Model):
    rng = np.random.default_rng(19)
    X, y = separable(rng, 200, 20)
    model, row = Model(1000).fit(X, y), X[:1].copy()
    best = math.inf
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(20):
            model.predict(row)
        best = min(best, (time.perf_counter() - start) / 20)
    assert best < 50e-6  # about 6e-6 on an idle machine; the checked route takes 200e-6


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_the_certificate_agrees_with_the_perceptron(seed):
    """A pass without mistakes is a proof of separability, so the verdict must be the same."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, size=(8, 2)).astype(float), np.array([0, 1] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Perceptron(500).fit(X, y)
    assert (model.mistakes_per_pass_[-1] == 0) == (separability(X, y).verdict == "separable")


@pytest.mark.parametrize("Model", [Perceptron, BatchPerceptron, PocketPerceptron, VotedPerceptron, AveragedPerceptron])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_columns_far_from_zero_are_named(Model):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 2))
    y = X[:, 0] + 0.5 * rng.standard_normal(200) > 0
    far = X + np.array([0.0, 1e9])
    with pytest.warns(UserWarning, match=r"Column 'x1' is far from zero compared .*1e\+09 ± 1.* Subtract"):
        Model().fit(far, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncenteredColumnsWarning)
        Model().fit(X, y)


class TestPickle:
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize(
        "model",
        [ly.Perceptron(3), ly.AveragedPerceptron(3), ly.PocketPerceptron(300), ly.BatchPerceptron(20)],
        ids=repr,
    )
    def test_pickle_without_log_is_small_and_predicts_the_same(self, model):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, 20))
        model.fit(X, (X[:, 0] + rng.normal(size=20_000) > 0).astype(int))
        stored = pickle.dumps(model)
        assert len(stored) < 10_000
        again = pickle.loads(stored)
        assert np.array_equal(again.decision_function(X), model.decision_function(X))
        assert not hasattr(again, "mistake_log_")
        if hasattr(model, "mistake_log_"):
            for twin in (copy.copy(model), copy.deepcopy(model)):
                assert twin.mistake_log_.rows.tolist() == model.mistake_log_.rows.tolist()
            log = pickle.loads(pickle.dumps(model.mistake_log_))
            assert log.rows.tolist() == model.mistake_log_.rows.tolist()

    def test_pickle_of_voted_perceptron_keeps_its_log(self):
        X = np.random.default_rng(0).normal(size=(200, 3))
        model = ly.VotedPerceptron(2).fit(X, (X[:, 0] > 0.3).astype(int))
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_error_about_the_mistake_log_names_the_cause_that_applies():
    X, y = np.array([[1.0, 2.0], [-1.0, -1.0]]), np.array([1, 0])
    fitted = ly.Perceptron().fit(X, y)
    streamed = ly.Perceptron().partial_fit(X, y)
    with pytest.raises(AttributeError, match="not available after partial_fit"):
        _ = streamed.mistake_log_
    with pytest.raises(AttributeError, match="not available after loading or unpickling a model"):
        _ = pickle.loads(pickle.dumps(fitted)).mistake_log_
    with pytest.raises(AttributeError, match="not available after partial_fit"):
        _ = fitted.partial_fit(X, y).mistake_log_
