"""The parts of perceptrons, ledgers and classes by themselves: each against its definition, written out row by row."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from linearly.algorithm.least_squares.block_ledger import AddFingerprint, BlockLedger, FingerprintingRows, fingerprint
from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.polynomial_families import ModelFamily, PolynomialFamily, _solve
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.algorithm.least_squares.ridge_cv import FoldSummaries
from linearly.algorithm.perceptron import mistake_log, training
from linearly.algorithm.perceptron import online_pass as mistakes
from linearly.algorithm.perceptron import pocket_search as trail_module
from linearly.algorithm.perceptron.mistake_log import BestWeights, MistakeLog, Recorder, candidates_at_once, is_better
from linearly.algorithm.perceptron.online_pass import Weights, in_memory, in_one_array, online_pass
from linearly.algorithm.perceptron.parameter_mixing import Mixture, Shard
from linearly.algorithm.perceptron.pocket_search import PocketSearch
from linearly.algorithm.perceptron.training import Training
from linearly.dataset.rows.block import Block, as_rows
from linearly.dataset.rows.safe_scaling import (
    LARGE,
    SMALL,
    UnsafeMagnitude,
    exponent,
    fits_scale,
    is_safe_magnitude,
    max_abs,
    scaled_rows,
    times_power,
    with_safe_scaling,
)
from linearly.dataset.rows.sparse import SparseRows
from linearly.dataset.rows.views import MappedRows
from linearly.kernels.double_double import DoubleDouble


class Streamed:
    """Rows that come a few at a time and are nowhere in memory."""

    def __init__(self, X, y, step=7):
        self.X, self.y, self.step, self.names = X, y, step, ()

    def __iter__(self):
        for a in range(0, self.X.shape[0], self.step):
            yield Block(self.X[a : a + self.step], self.y[a : a + self.step], start=a)

    def reduce(self, f):
        first, *others = map(f, self)
        return sum(others, start=first)


class Partitioned(Streamed):
    """The same in partitions, as on a cluster."""

    @property
    def n_partitions(self):
        return -(-self.X.shape[0] // self.step)

    def fold_partitions(self, f):
        first, *others = (f(iter([block])) for block in self)
        return sum(others, start=first)


class Textbook:
    """A perceptron row by row: what it got wrong, the weights after each row, and after each mistake."""

    def __init__(self, K, p, intercept=True, start=None):
        self.K, self.intercept = K, intercept
        vectors = 1 if K == 2 else K
        W, b = (np.zeros((vectors, p)), np.zeros(vectors)) if start is None else start
        self.W, self.b = W.copy(), b.copy()
        self.after, self.version, self.made = [], [], []
        self.trail = [(self.W.copy(), self.b.copy())]

    def one_pass(self, X, y, order=None, before=0):
        for i in range(len(X)) if order is None else order:
            self._see(X[i], int(y[i]), before + int(i))
        return self

    def _see(self, x, own, row):
        scores = self.W @ x + self.b
        if self.K == 2:
            rival, sign = 1 - own, 2 * own - 1
            corrections = [(0, sign)] if sign * scores[0] <= 0 else []
        else:
            rival = max((k for k in range(self.K) if k != own), key=lambda k: (scores[k], -k))
            corrections = [(own, 1), (rival, -1)] if scores[own] <= scores[rival] else []
        for k, sign in corrections:
            self.W[k] += sign * x
            self.b[k] += sign * self.intercept
        if corrections:
            self.made.append((row, own, rival, len(self.after) + 1))
            self.trail.append((self.W.copy(), self.b.copy()))
        self.after.append((self.W.copy(), self.b.copy()))
        self.version.append(len(self.made))

    @property
    def average(self):
        return np.mean([W for W, _ in self.after], axis=0), np.mean([b for _, b in self.after], axis=0)

    @property
    def survived(self):
        return np.bincount(self.version, minlength=len(self.trail))

    def vote(self, X, counts):
        said = np.array([[self._winner(x, W, b) for x in X] for W, b in self.trail])
        if self.K == 2:
            return counts @ (2.0 * said - 1) / counts.sum()
        return np.stack([counts @ (said == k) for k in range(self.K)], axis=1) / counts.sum()

    def _winner(self, x, W, b):
        scores = W @ x + b
        return int(scores[0] >= 0) if self.K == 2 else int(np.argmax(scores))

    def errors(self, X, y, weight=None):
        weight = np.ones(len(X)) if weight is None else weight
        return [
            float(sum(w for x, k, w in zip(X, y, weight, strict=True) if self._winner(x, W, b) != k))
            for W, b in self.trail
        ]


def whole_numbers(K, n=45, p=3, seed=0):
    """Rows of small whole numbers, where sums are exact and ties common, and labels that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, p)).astype(float)
    return X, np.r_[np.arange(K), rng.integers(0, K, n - K)].astype(np.int32)


def a_start(K, p, seed=5):
    rng = np.random.default_rng(seed)
    vectors = 1 if K == 2 else K
    return rng.integers(-2, 3, (vectors, p)).astype(float), rng.integers(-2, 3, vectors).astype(float)


def same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def made(log):
    return list(zip(log.rows.tolist(), log.codes.tolist(), log.rivals.tolist(), log.times.tolist(), strict=True))


def trained(K, *, p=3, intercept=True, started=False, sparse=False, passes=3, n=45):
    X, y = whole_numbers(K, n, p)
    start = a_start(K, p) if started else None
    if started and not intercept:
        start = start[0], np.zeros_like(start[1])
    book = Textbook(K, p, intercept, start)
    learner = Training(1 if K == 2 else K, p, intercept=intercept, averaged=True, start=start if intercept else None)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    for _ in range(passes):
        before = len(book.made)
        book.one_pass(X, y)
        assert learner.one_pass(rows) == len(book.made) - before
    return X, y, book, learner


# --- the log


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_training_is_the_textbook_s_and_the_log_says_all_of_it(K, intercept, sparse):
    _, _, book, learner = trained(K, intercept=intercept, sparse=sparse, started=intercept)
    log = learner.log()
    assert made(log) == book.made
    assert len(log) == learner.updates == sum(learner.mistakes) == len(book.made)
    assert log.seen == 3 * 45
    assert log.features.shape[0] == len({row for row, *_ in book.made})
    same(learner.final_weights(), book.trail[-1])
    same(log.final_weights(), book.trail[-1])
    np.testing.assert_array_equal(log.survival_counts, book.survived)
    for read in (learner.averaged_weights(), log.averaged_weights()):
        np.testing.assert_allclose(read[0], book.average[0], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(read[1], book.average[1], rtol=1e-13, atol=1e-14)
    for at_once in (None, 1, 4):
        steps = list(log.iter_weights(at_once))
        assert [a for a, *_ in steps][:2] == [0, len(steps[0][1])]
        same(np.concatenate([coef for _, coef, _ in steps]), [W for W, _ in book.trail[1:]])
        same(np.concatenate([b for *_, b in steps]), [b for _, b in book.trail[1:]])
    if K == 2:
        assert log.signs.tolist() == [2 * code - 1 for _, code, *_ in book.made]
    else:
        with pytest.raises(ValueError, match="two classes"):
            _ = log.signs


@pytest.mark.parametrize("p", [3, 70])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_votes_are_counted_one_by_one(K, started, sparse, p, monkeypatch):
    monkeypatch.setattr(mistake_log, "_TILE", 7)
    monkeypatch.setattr(mistake_log, "_PLACES", 9)
    monkeypatch.setattr(mistake_log, "_SCORES", 64)
    monkeypatch.setattr(mistake_log, "CANDIDATES", 5)
    X, _, book, learner = trained(K, p=p, sparse=sparse, started=started, passes=1 if p > 3 else 2)
    log, points = learner.log(), X[:25]
    points = sp.csr_matrix(points) if sparse else points
    np.testing.assert_allclose(log.vote(points), book.vote(X[:25], book.survived.astype(float)), rtol=1e-12, atol=1e-14)
    uniform = np.r_[0.0, np.ones(len(log))]
    np.testing.assert_allclose(log.vote(points, "uniform"), book.vote(X[:25], uniform), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("K", [2, 3])
def test_the_best_of_a_log_is_the_first_with_the_fewest_errors(K):
    X, y, book, learner = trained(K, started=True)
    weight = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    for w in (None, weight):
        wrong = book.errors(X, y, w)
        best = learner.log().best(as_rows(X, y, w))
        assert (best.update, best.errors) == (int(np.argmin(wrong)), min(wrong))
        same((best.coef, best.intercept), book.trail[best.update])


@pytest.mark.parametrize("K", [2, 3])
def test_the_last_of_a_log_is_its_best_where_training_converged(K):
    X, _ = whole_numbers(K)
    y = np.digitize(X @ [1.0, -2.0, 1.5], [0.2]) if K == 2 else np.argmax(X @ np.eye(3) + [0.1, 0.2, 0.3], axis=1)
    learner = Training(1 if K == 2 else K, 3)
    assert 0 in (learner.one_pass(as_rows(X, y.astype(np.int32))) for _ in range(200))
    best = learner.log().best(as_rows(X, y))
    assert best.errors == 0
    assert best.update == len(learner.log())
    same((best.coef, best.intercept), learner.final_weights())


def test_a_start_without_errors_stays_the_best():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0], dtype=np.int32)
    learner = Training(1, 1, start=(np.array([[2.0]]), np.zeros(1)))
    assert learner.one_pass(as_rows(X, y)) == 0
    best = learner.log().best(as_rows(X, y))
    assert (best.update, best.errors) == (0, 0.0)
    same((best.coef, best.intercept), learner.final_weights())


def test_the_better_of_candidates_is_strictly_better_and_the_first():
    start = BestWeights(0, 3.0, np.zeros((1, 2)), np.zeros(1))
    coef, intercept = np.arange(8.0).reshape(4, 1, 2), np.arange(4.0)[:, None]
    assert is_better(start, 10, coef, intercept, np.array([4.0, 3.0, 5.0, 3.0])) is start
    found = is_better(start, 10, coef, intercept, np.array([4.0, 2.0, 2.0, 3.0]))
    assert (found.update, found.errors) == (12, 2.0)
    same((found.coef, found.intercept), (coef[1], intercept[1]))


@pytest.mark.parametrize("vectors", [1, 3, 4, 5, 100, 300])
@pytest.mark.parametrize("p", [0, 1, 50, 2**16, 2**18, 2**21, 2**23])
def test_as_many_candidates_at_once_as_three_limits_allow(vectors, p):
    m = candidates_at_once(vectors, p)

    def allowed(m):
        return m <= 64 and m * vectors <= 256 and m * vectors * p <= 2**22

    assert m >= 1
    assert allowed(m) or m == 1
    assert not allowed(m + 1)


def test_a_log_takes_its_rows_from_the_data_it_was_made_on():
    X, _, book, learner = trained(2)
    log = learner.log()
    bare = replace(log, features=None, which=None)
    last = max(row for row, *_ in book.made)
    same(bare.with_rows(X[: last + 1]).final_weights(), log.final_weights())
    np.testing.assert_allclose(
        bare.with_rows(sp.csr_matrix(X)).averaged_weights()[0], log.averaged_weights()[0], rtol=1e-12
    )
    for wrong in (X[:last], X[:, :2]):
        with pytest.raises(ValueError, match="not the rows of the log"):
            bare.with_rows(wrong)
    with pytest.raises(ValueError, match=r"more than 4 MB.*with_rows"):
        bare.final_weights()
    none = MistakeLog(*(np.empty(0, np.int64),) * 4, 0, 1, 3, True)
    same(none.with_rows(X[:0]).final_weights(), (np.zeros((1, 3)), np.zeros(1)))
    same(none.with_rows(X[:0]).averaged_weights(), (np.zeros((1, 3)), np.zeros(1)))


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_kept_as_long_as_there_is_room_for_each_once(sparse):
    X, y = whole_numbers(2)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    book = Textbook(2, 3)
    for _ in range(3):
        book.one_pass(X, y)
    distinct = sorted({row for row, *_ in book.made})
    needed = 12 * np.count_nonzero(X[distinct]) if sparse else 8 * X[distinct].size
    for room, kept in ((needed, True), (needed - 1, False)):
        learner = Training(1, 3, room=room)
        for _ in range(3):
            learner.one_pass(rows)
        log = learner.log()
        assert (log.features is not None) == (log.which is not None) == kept
        assert made(log) == book.made
        if kept:
            features = log.features.toarray() if sparse else log.features
            np.testing.assert_array_equal(features[log.which], X[log.rows])


def test_a_recorder_goes_on_after_it_was_read():
    X, y = whole_numbers(3)
    learner, book = Training(3, 3), Textbook(3, 3)
    empty = learner.log()
    assert (len(empty), empty.seen, empty.features.shape, len(empty.which)) == (0, 0, (0, 3), 0)
    for _ in range(3):
        learner.one_pass(Streamed(X, y))
        book.one_pass(X, y)
        log = learner.log()
        assert made(log) == book.made
        np.testing.assert_array_equal(log.features[log.which], X[log.rows])


def test_a_recorder_counts_from_the_first_row_unless_told():
    X, y = whole_numbers(2)
    recorder, book = Recorder(), Textbook(2, 3).one_pass(X, y)
    for found in online_pass(as_rows(X, y), Weights.zeros(1, 3)):
        recorder.add(found)
    log = recorder.log(45, 1, 3, True)
    assert made(log) == book.made
    np.testing.assert_array_equal(log.features[log.which], X[log.rows])


def contradiction_of(X, y, K=2, intercept=True):
    learner = Training(1 if K == 2 else K, X.shape[1], intercept=intercept)
    rows = as_rows(X, np.asarray(y, dtype=np.int32)) if isinstance(X, np.ndarray) else SparseRows(X, np.int32(y))
    for _ in range(4):
        learner.one_pass(rows)
    return learner.log().find_contradiction()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_contradiction_is_one_point_with_two_labels(kind):
    X = np.array([[1.0, 2.0], [-1.0, -2.0], [3.0, 0.0], [1.0, 2.0], [3.0, -0.0]])
    assert contradiction_of(kind(X[:4]), [1, 0, 1, 1]) == ""
    assert contradiction_of(kind(X[:4]), [1, 0, 1, 0]) == "rows 0 and 3 are the same point with different labels"
    assert contradiction_of(kind(X), [1, 0, 1, 1, 0]) == "rows 2 and 4 are the same point with different labels"
    zero = kind(np.array([[1.0], [0.0]]))
    assert contradiction_of(zero, [1, 0]) == ""
    assert contradiction_of(zero, [1, 0], intercept=False) == "row 1 is zero and there is no intercept"


def test_stored_zeros_and_halves_of_an_entry_are_the_same_point():
    stored = sp.csr_matrix((np.array([1.0, 0.0, 0.5, 0.5]), np.array([0, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    assert contradiction_of(stored, [1, 0]) == "rows 0 and 1 are the same point with different labels"


def test_few_rows_only_are_searched_for_contradictions(monkeypatch):
    X = np.array([[1.0, 2.0], [1.0, 2.0]])
    monkeypatch.setattr(mistake_log, "_MOST_COMPARED", 2)
    assert contradiction_of(X, [1, 0])
    monkeypatch.setattr(mistake_log, "_MOST_COMPARED", 1)
    assert contradiction_of(X, [1, 0]) == ""
    log = MistakeLog(*(np.zeros(1, np.int64),) * 4, 1, 1, 2, True)
    assert log.find_contradiction() == ""


# --- the scan


def test_weights_begin_at_zero_with_what_was_asked_for():
    for intercept in (True, False):
        for averaged in (True, False):
            weights = Weights.zeros(3, 2, intercept=intercept, averaged=averaged)
            assert weights.W.shape == (3, 2)
            assert (weights.b is not None) == intercept
            assert (weights.U is not None) == averaged
            assert (weights.c is not None) == (intercept and averaged)
            assert not any(part.any() for part in (weights.W, weights.b, weights.U, weights.c) if part is not None)
            same((weights.intercept,), (np.zeros(3),))
            if averaged:
                same(weights.averaged_weights(), (np.zeros((3, 2)), np.zeros(3)))
            else:
                with pytest.raises(ValueError, match="not averaged"):
                    weights.averaged_weights()


def test_weights_are_the_same_however_they_are_laid_out():
    W, U = np.arange(6.0).reshape(3, 2), np.arange(6.0, 12.0).reshape(3, 2)
    weights = Weights(W, np.ones(3), U, np.arange(3.0), seen=4)
    average = weights.averaged_weights()
    np.testing.assert_array_equal(average[0], W - U / 4)
    np.testing.assert_array_equal(average[1], 1 - np.arange(3.0) / 4)
    for interleaved in (True, True, False):
        weights.set_layout(interleaved)
        assert weights.W.shape == ((2, 3) if interleaved else (3, 2))
        assert weights.W.flags.c_contiguous
        np.testing.assert_array_equal(weights.coef, W)
        same(weights.averaged_weights(), average)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("K", [2, 3])
def test_a_scan_hands_out_its_mistakes_a_few_at_a_time(K, sparse, monkeypatch):
    X, y = whole_numbers(K, n=600)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    book = Textbook(K, 3).one_pass(X, y)
    for most, room, cells in ((3, 2**15, 2**23), (None, 4, 2**23), (None, 2**15, 1)):
        monkeypatch.setattr(mistakes, "_ROOM", room)
        monkeypatch.setattr(mistakes, "_CELLS", cells)
        weights, found = Weights.zeros(1 if K == 2 else K, 3), []
        for some in online_pass(rows, weights, most=most):
            assert 1 <= len(some) <= (most or room)
            found += zip(some.rows, some.codes, some.rivals, some.times, strict=True)
            if most or room == 4:
                same((weights.coef, weights.intercept), book.trail[len(found)])
            here = some.block.X[some.local]
            np.testing.assert_array_equal(here.toarray() if sparse else here, X[some.rows])
        assert found == book.made
        assert weights.seen == 600
        same((weights.coef, weights.intercept), book.trail[-1])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_scan_in_an_order_sees_the_rows_in_that_order(sparse, monkeypatch):
    X, y = whole_numbers(3)
    order = np.random.default_rng(1).permutation(45)
    book = Textbook(3, 3).one_pass(X, y, order)
    for steps in (2**18, 10):
        monkeypatch.setattr(mistakes, "_STEPS", steps)
        weights = Weights.zeros(3, 3)
        rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
        found = [
            row for some in online_pass(rows, weights, order=order) for row in zip(some.rows, some.times, strict=True)
        ]
        assert found == [(row, time) for row, _, _, time in book.made]
        same((weights.coef, weights.intercept), book.trail[-1])


def test_stretches_of_rows_are_cut_by_their_numbers(monkeypatch):
    X, y = np.ones((2000, 4)), np.zeros(2000, dtype=np.int32)
    half = sp.csr_matrix(np.tile([1.0, 0.0, 1.0, 0.0], (2000, 1)))
    for cells, dense, sparse in ((1, 256, 256), (4 * 600, 600, 1200), (2 * 300, 256, 300), (10**6, 2000, 2000)):
        monkeypatch.setattr(mistakes, "_CELLS", cells)
        for rows, step in ((as_rows(X, y), dense), (SparseRows(half, y), sparse)):
            blocks = list(mistakes._blocks(rows))
            assert [block.start for block in blocks] == list(range(0, 2000, step))
            assert sum(map(len, blocks)) == 2000
    assert [len(block) for block in mistakes._blocks(Streamed(X[:10], y[:10]))] == [7, 3]
    nothing = SparseRows(sp.csr_matrix((300, 2)), y[:300])
    assert [len(block) for block in mistakes._blocks(nothing)] == [300]


def test_a_scan_measures_where_it_is_asked_to():
    X, y = np.array([[1.0, -5.0], [2.0, 3.0]]), np.array([1, 0], dtype=np.int32)
    for measure, size in ((True, 5.0), (False, 0.0)):
        weights = Weights.zeros(1, 2)
        assert len(list(online_pass(as_rows(X, y), weights, measure=measure))) == 1
        assert weights.largest == size
    with pytest.raises(UnsafeMagnitude):
        list(online_pass(as_rows(X * 1e-150, y), Weights.zeros(1, 2), measure=True))
    list(online_pass(as_rows(X * 1e-150, y), Weights.zeros(1, 2)))
    with pytest.raises(UnsafeMagnitude):
        list(online_pass(as_rows(X * 1e200, y), Weights.zeros(1, 2)))
    with pytest.raises(ValueError, match="NaN: row 1, column 'x0'"):
        list(online_pass(as_rows(np.array([[1.0, 2.0], [np.nan, 1.0]]), y), Weights.zeros(1, 2)))
    with pytest.raises(ValueError, match="have weights"):
        list(online_pass(as_rows(X, y, np.ones(2)), Weights.zeros(1, 2)))


def test_rows_in_memory_are_one_block_and_a_stream_is_not():
    X, y = whole_numbers(2)
    here = [as_rows(X, y), SparseRows(sp.csr_matrix(X), y)]
    here += [MappedRows(rows, lambda block: replace(block, X=2 * block.X)) for rows in here]
    for rows, factor in zip(here, (1, 1, 2, 2), strict=True):
        assert in_memory(rows)
        block = in_one_array(rows)
        features = block.X.toarray() if sp.issparse(block.X) else block.X
        same((features, block.y), (factor * X, y))
    stream = Streamed(X, y)
    for rows in (stream, MappedRows(stream, lambda block: block)):
        assert not in_memory(rows)
        with pytest.raises(ValueError, match="shuffle=False"):
            in_one_array(rows)


# --- training


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_measured_in_a_power_of_two_have_coefficients_for_the_rows_themselves(sparse):
    X, y = whole_numbers(2)
    start = a_start(2, 3)
    book, learner = Textbook(2, 3, start=start), Training(1, 3, averaged=True, start=start, exponent=3)
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    for _ in range(2):
        learner.one_pass(rows)
        book.one_pass(X, y)
    same(learner.final_weights(), (book.trail[-1][0] / 8, book.trail[-1][1]))
    W, b = learner.averaged_weights()
    np.testing.assert_allclose(W, book.average[0] / 8, rtol=1e-13)
    np.testing.assert_allclose(b, book.average[1], rtol=1e-13)
    log = learner.log()
    same(log.final_weights(), learner.final_weights())
    np.testing.assert_allclose(log.averaged_weights()[0], W, rtol=1e-13)
    features = log.features.toarray() if sparse else log.features
    np.testing.assert_array_equal(features[log.which], X[log.rows] / 8)
    same(log.start, (start[0] / 8, start[1]))
    assert log.start[1] is not start[1]


def test_a_stream_of_new_rows_counts_them_on():
    X, y = whole_numbers(3, n=60)
    learner, book = Training(3, 3), Textbook(3, 3)
    for a, b in pairwise((0, 20, 35, 60)):
        learner.one_pass(as_rows(X[a:b], y[a:b]))
        book.one_pass(X[a:b], y[a:b], before=a)
        learner.new_rows()
    log = learner.log()
    assert made(log) == book.made
    assert log.seen == 60
    np.testing.assert_array_equal(log.features[log.which], X[log.rows])
    same(log.final_weights(), book.trail[-1])


def test_a_shuffled_pass_draws_a_new_order_each_time():
    X, y = whole_numbers(2)
    learner = Training(1, 3, shuffle=np.random.RandomState(4))
    random, book = np.random.RandomState(4), Textbook(2, 3)
    for _ in range(3):
        learner.one_pass(as_rows(X, y))
        book.one_pass(X, y, random.permutation(45))
    assert made(learner.log()) == book.made
    assert learner.mistakes == np.histogram([t for *_, t in book.made], [1, 46, 91, 136])[0].tolist()


def test_rows_are_measured_in_the_first_pass_over_them():
    tiny, y = np.array([[1e-150], [2e-150]]), np.array([1, 0], dtype=np.int32)
    learner = Training(1, 1)
    with pytest.raises(UnsafeMagnitude):
        learner.one_pass(as_rows(tiny, y))
    learner = Training(1, 1)
    learner.one_pass(as_rows(tiny * 1e150, y))
    assert learner.weights.largest == 2.0
    learner.one_pass(as_rows(tiny * 1e153, y))
    assert learner.weights.largest == 2.0
    learner.new_rows()
    learner.one_pass(as_rows(tiny * 1e153, y))
    assert learner.weights.largest == 2000.0


@pytest.mark.parametrize("mixes", [True, False])
def test_a_log_of_rows_elsewhere_is_given_up_only_by_a_model_that_can_do_without(mixes, monkeypatch):
    X, y = whole_numbers(2)
    book = Textbook(2, 3)
    for _ in range(2):
        book.one_pass(X, y)
    for limit, rows, gone in (
        (len(book.made), Streamed(X, y), False),
        (len(book.made) - 1, Streamed(X, y), mixes),
        (len(book.made) - 1, as_rows(X, y), False),
    ):
        monkeypatch.setattr(training, "_MOST_LOGGED", limit)
        learner = Training(1, 3, mixes=mixes)
        learner.one_pass(rows)
        learner.one_pass(rows)
        same(learner.final_weights(), book.trail[-1])
        assert learner.updates == len(book.made)
        if gone:
            with pytest.raises(AttributeError, match="no mistake log"):
                learner.log()
        else:
            assert made(learner.log()) == book.made


# --- partitions


def shards(K, X, y, step, start, intercept=True):
    """Each partition's textbook scan from the same weights."""
    books = []
    for a in range(0, len(X), step):
        books.append(Textbook(K, X.shape[1], intercept, start).one_pass(X[a : a + step], y[a : a + step]))
    return books


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("step", [15, 30])
@pytest.mark.parametrize("K", [2, 3])
def test_partitions_are_averaged_by_mistakes_and_rows_by_number(K, step, intercept):
    X, y = whole_numbers(K, n=60)
    rows, learner = Partitioned(X, y, step), Training(1 if K == 2 else K, 3, averaged=True, mixes=True)
    learner = Training(1 if K == 2 else K, 3, intercept=intercept, averaged=True, mixes=True)
    W, b = learner.final_weights()
    sums, seen, counted = [0.0, 0.0], 0, []
    for _ in range(3):
        books = shards(K, X, y, step, (W, b), intercept)
        counts = np.array([len(book.made) for book in books], dtype=float)
        W = np.average([book.W for book in books], axis=0, weights=counts)
        b = np.average([book.b for book in books], axis=0, weights=counts)
        sums[0] = sums[0] + sum(W for book in books for W, _ in book.after)
        sums[1] = sums[1] + sum(b for book in books for _, b in book.after)
        seen += len(X)
        counted.append(int(counts.sum()))
        assert learner.one_pass(rows) == counted[-1]
        np.testing.assert_allclose(learner.final_weights()[0], W, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(learner.final_weights()[1], b, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(learner.averaged_weights()[0], sums[0] / seen, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(learner.averaged_weights()[1], sums[1] / seen, rtol=1e-11, atol=1e-12)
    assert learner.mistakes == counted
    assert learner.updates == sum(counted)
    assert learner.weights.seen == seen
    assert learner.weights.largest == 3.0
    with pytest.raises(AttributeError, match="no mistake log"):
        learner.log()


def test_one_partition_is_the_single_scan_with_its_log():
    X, y = whole_numbers(2)
    rows, book = Partitioned(X, y, 45), Textbook(2, 3)
    learner = Training(1, 3, averaged=True, mixes=True)
    shard = Shard(Weights.zeros(1, 3, averaged=True))(iter(rows))
    for _ in range(2):
        learner.one_pass(rows)
        book.one_pass(X, y)
    assert made(learner.log()) == book.made
    same(learner.final_weights(), book.trail[-1])
    first = Textbook(2, 3).one_pass(X, y)
    assert (shard.mistakes, shard.seen, shard.largest) == (len(first.made), 45, 3.0)
    same((shard.W, shard.b), first.trail[-1])
    np.testing.assert_allclose(shard.W - shard.U / 45, first.average[0], rtol=1e-13)
    np.testing.assert_allclose(shard.b - shard.c / 45, first.average[1], rtol=1e-13)


def test_a_model_that_keeps_its_log_or_shuffles_walks_partitions_in_order():
    X, y = whole_numbers(2)
    book = Textbook(2, 3).one_pass(X, y)
    learner = Training(1, 3)
    learner.one_pass(Partitioned(X, y, 15))
    assert made(learner.log()) == book.made
    with pytest.raises(ValueError, match="shuffle=False"):
        Training(1, 3, mixes=True, shuffle=np.random.RandomState(0)).one_pass(Partitioned(X, y, 15))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_shard_leaves_the_weights_it_starts_from_alone(sparse):
    X, y = whole_numbers(3)
    start = a_start(3, 3)
    weights = Weights(start[0].copy(), start[1].copy(), np.ones((3, 3)), np.ones(3), seen=8)
    features = sp.csr_matrix(X) if sparse else X
    mixture = Shard(weights)([Block(features[:20], y[:20], start=100), Block(features[20:], y[20:], start=120)])
    same((weights.W, weights.b, weights.U, weights.c), (*start, np.ones((3, 3)), np.ones(3)))
    book = Textbook(3, 3, start=start).one_pass(X, y)
    assert (mixture.mistakes, mixture.seen) == (len(book.made), 45)
    same((mixture.W, mixture.b), book.trail[-1])
    mixture.follow(weights)
    same((weights.W, weights.b), book.trail[-1])
    assert weights.seen == 53
    # Eight rows at the start, whose sum was 8·start − 1, and those of the scan.
    total = 8 * start[0] - 1 + sum(W for W, _ in book.after)
    np.testing.assert_allclose(weights.averaged_weights()[0], total / 53, rtol=1e-13, atol=1e-14)
    total = 8 * start[1] - 1 + sum(b for _, b in book.after)
    np.testing.assert_allclose(weights.averaged_weights()[1], total / 53, rtol=1e-13, atol=1e-14)


def test_a_mixture_of_weights_without_averages_has_none():
    W = np.ones((1, 2))
    none = Mixture(W, np.ones(1), None, None, 2, 10, 1.0)
    some = Mixture(3 * W, 3 * np.ones(1), W, np.ones(1), 6, 30, 2.0)
    for total in (none + some, some + none):
        assert total.U is None
        assert total.c is None
        np.testing.assert_array_equal(total.W, [[2.5, 2.5]])
        np.testing.assert_array_equal(total.b, [2.5])
        assert (total.mistakes, total.seen, total.largest) == (8, 40, 2.0)
    weights = Weights.zeros(1, 2)
    none.follow(weights)
    assert weights.U is None
    assert weights.c is None
    same((weights.W, weights.b), (none.W, none.b))
    without = Weights.zeros(1, 2, intercept=False)
    none.follow(without)
    assert without.b is None
    assert (without.seen, without.largest) == (10, 1.0)


def test_who_made_no_mistake_has_no_say_in_a_mixture():
    third = np.array([[1 / 3, 0.1]])
    learnt = Mixture(third, third[:, 0], 0 * third, np.zeros(1), 3, 5, 1.0)
    idle = Mixture(7 * third, 7 * third[:, 0], 0 * third, np.zeros(1), 0, 5, 1.0)
    for total in (learnt + idle, idle + learnt):
        same((total.W, total.b), (third, third[:, 0]))
        np.testing.assert_allclose(total.seen * total.W - total.U, 5 * third + 35 * third, rtol=1e-15)
        np.testing.assert_allclose(total.seen * total.b - total.c, 40 * third[:, 0], rtol=1e-15)
    both = idle + replace(learnt, mistakes=0)
    same((both.W, both.b), (idle.W, idle.b))
    assert both.mistakes == 0


@pytest.mark.parametrize(("sizes", "fits"), [((1.0, 1e-150), True), ((1e-150, 1e-150), False), ((1.0, 1e200), False)])
def test_tiny_rows_may_stand_beside_ordinary_ones_and_huge_ones_may_not(sizes, fits):
    X = np.vstack([size * np.array([[1.0], [-2.0]]) for size in sizes])
    y = np.array([1, 0, 1, 0], dtype=np.int32)
    learner = Training(1, 1, mixes=True)
    if fits:
        learner.one_pass(Partitioned(X, y, 2))
        assert learner.weights.largest == 2.0
    else:
        with pytest.raises(UnsafeMagnitude):
            learner.one_pass(Partitioned(X, y, 2))


# --- the pocket's trail


def followed_trail(X, y, K, *, most, sparse=False, started=False, passes=3, intercept=True, at_a_time=None):
    p, vectors = X.shape[1], 1 if K == 2 else K
    W, b = a_start(K, p) if started else (np.zeros((vectors, p)), np.zeros(vectors))
    rows = SparseRows(sp.csr_matrix(X), y) if sparse else as_rows(X, y)
    trail = PocketSearch(rows, W.copy(), b.copy(), intercept=intercept, most=most)
    weights = Weights(W.copy(), b.copy() if intercept else None)
    for _ in range(passes):
        for found in online_pass(rows, weights, most=at_a_time or most):
            trail.add_updates(found)
    trail.score()
    return trail


@pytest.mark.parametrize(("sparse", "started"), [(False, True), (True, False)])
@pytest.mark.parametrize("at_a_time", [1, 4, 1000])
@pytest.mark.parametrize("K", [2, 3])
def test_a_trail_scores_every_update(K, at_a_time, sparse, started, monkeypatch):
    monkeypatch.setattr(mistake_log, "CANDIDATES", 6)
    X, y = whole_numbers(K)
    book = Textbook(K, 3, start=a_start(K, 3) if started else None)
    for _ in range(3):
        book.one_pass(X, y)
    wrong = book.errors(X, y)
    for most in (1000, len(book.made), len(book.made) - 1, 13, 6, 1):
        trail = followed_trail(X, y, K, most=most, sparse=sparse, started=started, at_a_time=at_a_time)
        made_ = min(most, len(book.made))
        assert trail.path == wrong[: made_ + 1]
        assert trail.updates == made_
        assert trail.total == 45
        assert trail.ended == (most <= len(book.made))
        assert (trail.best.update, trail.best.errors) == (int(np.argmin(trail.path)), min(trail.path))
        same((trail.best.coef, trail.best.intercept), book.trail[trail.best.update])
        same((trail.W, trail.b), book.trail[made_])
        log = trail.log(0)
        assert made(log) == book.made[:made_]
        assert log.seen == book.made[made_ - 1][3]
        features = log.features.toarray() if sparse else log.features
        np.testing.assert_array_equal(features[log.which], X[log.rows])
        same(log.final_weights(), book.trail[made_])


@pytest.mark.parametrize("candidates", [1, 3, 64])
def test_a_trail_ends_with_the_first_weights_without_errors(candidates, monkeypatch):
    monkeypatch.setattr(mistake_log, "CANDIDATES", candidates)
    X, _ = whole_numbers(2)
    y = (X @ [1.0, -2.0, 1.5] > 0.2).astype(np.int32)
    book = Textbook(2, 3)
    for _ in range(100):
        book.one_pass(X, y)
    wrong = book.errors(X, y)
    end = wrong.index(0.0)
    trail = followed_trail(X, y, 2, most=10_000, passes=100, at_a_time=5)
    assert trail.ended
    assert trail.path == wrong[: end + 1]
    assert trail.best.update == trail.updates == len(trail.log(0)) == end
    same((trail.W, trail.b), book.trail[end])


def test_a_trail_scores_as_soon_as_updates_fill_a_fold(monkeypatch):
    monkeypatch.setattr(mistake_log, "CANDIDATES", 4)
    X, y = whole_numbers(2)
    trail = PocketSearch(as_rows(X, y), np.zeros((1, 3)), np.zeros(1), intercept=True, most=100)
    empty = trail.log(0)
    assert (trail.updates, len(empty), empty.seen, empty.features.shape) == (0, 0, 0, (0, 3))
    weights, scored = Weights.zeros(1, 3), []
    for found in online_pass(as_rows(X, y), weights, most=1):
        trail.add_updates(found)
        scored.append(trail.updates)
    assert scored == [4 * ((i + 1) // 4) for i in range(len(scored))]
    trail.score()
    assert trail.updates == len(scored)
    trail.score()
    assert trail.updates == len(scored)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_trail_of_rows_in_another_unit_has_a_log_of_the_rows_themselves(sparse, monkeypatch):
    X, y = whole_numbers(2)
    X[0, 0] = 0.0
    trail = followed_trail(X, y, 2, most=20, sparse=sparse, started=True)
    log = trail.log(2)
    same(log.start, (trail.start[0] / 4, trail.start[1]))
    features = log.features.toarray() if sparse else log.features
    np.testing.assert_array_equal(features[log.which], X[log.rows] / 4)
    same(log.final_weights(), (trail.W / 4, trail.b))
    entries = np.count_nonzero(X[log.rows]) if sparse else 3 * len(log)
    for room, kept in ((8 * entries, True), (8 * entries - 1, False)):
        monkeypatch.setattr(trail_module, "ROOM", room)
        assert (trail.log(2).features is not None) == kept


def test_a_start_without_errors_ends_a_trail_at_once():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0], dtype=np.int32)
    trail = PocketSearch(as_rows(X, y), np.ones((1, 1)), np.zeros(1), intercept=False, most=5)
    assert trail.ended
    assert trail.path == [0.0]
    assert trail.best.update == 0
    assert not PocketSearch(as_rows(X, y), -np.ones((1, 1)), np.zeros(1), intercept=False, most=5).ended


# --- sizes


def test_sizes_are_ordinary_between_two_bounds_that_belong_to_them():
    for size in (0.0, SMALL, 1.0, LARGE):
        assert is_safe_magnitude(size)
        assert exponent(size) == 0
    for size in (np.nextafter(SMALL, 0), np.nextafter(LARGE, np.inf), 1e-310, 1e300):
        assert not is_safe_magnitude(size)
    assert np.isfinite(LARGE * LARGE)
    assert SMALL * SMALL > 0


@pytest.mark.parametrize("size", [1.5e200, 2.0**400, 3e-200, 2.0**-400])
def test_a_size_in_its_unit_is_between_a_half_and_one(size):
    assert 0.5 <= np.ldexp(size, -exponent(size)) < 1


def test_units_stay_where_weights_can_be_brought_back():
    assert exponent(1.7e308) == 1000
    assert exponent(5e-324) == -1000


def test_a_row_fits_a_unit_if_it_is_of_ordinary_size_there():
    for e in (0, 500, -500):
        assert fits_scale(np.ldexp(LARGE, e), e)
        assert not fits_scale(np.ldexp(LARGE, e + 1), e)
        assert fits_scale(np.ldexp(1.0, e), e)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_rows_in_a_unit_are_divided_by_it(kind):
    X = np.array([[1.0, 0.0, -3.0], [0.0, 2.0, 0.0]])
    rows, Z = as_rows(kind(X)), kind(X)
    assert scaled_rows(rows, 0) is rows
    for e in (3, -2):
        (block,) = scaled_rows(rows, e)
        np.testing.assert_array_equal(block.X.toarray() if sp.issparse(block.X) else block.X, X / 2.0**e)
        changed = times_power(Z, e)
        np.testing.assert_array_equal(changed.toarray() if sp.issparse(changed) else changed, X * 2.0**e)
    np.testing.assert_array_equal(Z.toarray() if sp.issparse(Z) else Z, X)
    assert max_abs(rows) == 3.0
    assert max_abs(as_rows(kind(-X))) == 3.0
    assert max_abs(as_rows(kind(np.array([[-4.0, -5.0]])))) == 5.0
    assert max_abs(as_rows(kind(np.zeros((2, 2))))) == 0.0


def test_the_largest_of_several_blocks_is_that_of_all_and_bad_numbers_are_named():
    X = np.ones((20, 2))
    X[12, 1], X[3, 0] = -9.0, 4.0
    assert max_abs(Streamed(X, np.zeros(20))) == 9.0
    X[15, 1] = np.inf
    with pytest.raises(ValueError, match="infinity: row 15, column 1"):
        max_abs(Streamed(X, np.zeros(20)))


def test_what_is_too_large_is_learnt_in_its_own_unit():
    def learn(rows, e):
        size = max_abs(rows)
        if not is_safe_magnitude(size):
            raise UnsafeMagnitude
        return size, e

    assert with_safe_scaling(as_rows(np.array([[3.0], [-5.0]])), learn) == ((5.0, 0), 0)
    told, e = with_safe_scaling(as_rows(np.array([[3.0], [-5.0]]) * 2.0**500), learn)
    assert told == (5 / 8, 503)
    assert e == 503


# --- the ledger


def some_rows(n=30, p=3, seed=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * [1.0, 5.0, 0.2][:p] + [10.0, -3.0, 0.0][:p]
    return X, X @ [1.0, 0.5, -2.0][:p] + rng.standard_normal(n)


def test_a_ledger_counts_blocks_and_refuses_what_was_or_was_not_there():
    a, b = BlockLedger.of(["one", "two", "two"]), BlockLedger.of(["three"])
    assert (len(BlockLedger()), len(a), len(b), len(a + b)) == (0, 3, 1, 4)
    assert (a + b) - b == a
    assert (a - BlockLedger.of(["two"])).blocks == {"one": 1, "two": 1}
    with pytest.raises(ValueError, match=r"^1 block of rows is in both"):
        a + BlockLedger.of(["one", "four"])
    with pytest.raises(ValueError, match=r"^2 blocks of rows are in both"):
        a + a
    with pytest.raises(ValueError, match=r"^1 block of rows was never added"):
        a - BlockLedger.of(["one", "one"])
    with pytest.raises(ValueError, match="in another precision"):
        BlockLedger.of(["0" * 16 + "float64"]) - BlockLedger.of(["0" * 16 + "doubled"])
    with pytest.raises(ValueError, match=r"^2 blocks of rows were never added"):
        a - BlockLedger.of(["three", "four", "one"])


def test_a_fingerprint_is_that_of_the_rows():
    X, y = some_rows()
    labels = (y > y.mean()).astype(np.int32)
    summaries = [
        Gram.of,
        lambda block: Gram.of(block, extended=True),
        QRFactor.of,
        lambda block: FoldSummaries.of(block, 3),
        lambda block: ClassGrams.of(replace(block, y=labels), 2),
    ]
    prints = set()
    for summary in summaries:

        def said_of(block, summary=summary):
            return fingerprint(summary(block), block)

        said = said_of(Block(X, y))
        assert said == said_of(Block(X.copy(), y.copy()))
        prints.add(said)
        other = X.copy()
        other[3, 1] += 0.5
        prints.add(said_of(Block(other, y)))
        prints.add(said_of(Block(X, y, np.full(len(y), 2.0))))
        assert len(said) == 32
    assert len(prints) == 3 * len(summaries)
    assert fingerprint(X, Block(X, y)) is None


def test_digits_below_float64_are_in_the_fingerprint():
    X, y = some_rows()
    plain = Gram.of(Block(X, y), extended=True)
    finer = replace(plain, mean=DoubleDouble(plain.mean.high, plain.mean.low * 1.5))
    assert not np.array_equal(finer.mean.low, plain.mean.low)
    assert fingerprint(finer, Block(X, y)) != fingerprint(plain, Block(X, y))


def test_rows_with_a_ledger_write_down_what_a_summary_was_made_of():
    X, y = some_rows()
    rows = FingerprintingRows(Streamed(X, y, 10))
    assert len(rows.ledger) == 0
    total = rows.reduce(lambda block: float(block.y.sum()))
    assert total == pytest.approx(y.sum())
    assert len(rows.ledger) == 0
    gram = rows.reduce(Gram.of)
    assert gram.n == 30
    blocks = [Block(X[a : a + 10], y[a : a + 10]) for a in (0, 10, 20)]
    parts = [fingerprint(Gram.of(block), block) for block in blocks]
    assert rows.ledger == BlockLedger.of(parts)
    rows.reduce(lambda block: float(block.y.sum()))
    assert rows.ledger == BlockLedger.of(parts)
    assert [len(block) for block in rows] == [10, 10, 10]
    assert (rows.classes, rows.one_shot, rows.n_partitions) == (None, False, None)
    assert AddFingerprint(Gram.of)(Block(X[:0], y[:0])).fingerprints == {}
    partitioned = FingerprintingRows(Partitioned(X, y, 10))
    partitioned.rows.classes, partitioned.rows.one_shot = ("no", "yes"), True
    assert (partitioned.classes, partitioned.one_shot) == (("no", "yes"), True)
    assert partitioned.n_partitions == 3
    assert partitioned.fold_partitions(lambda blocks: sum(map(len, blocks))) == 30


# --- classes


def labelled(n=60, weighted=True, seed=2):
    rng = np.random.default_rng(seed)
    codes = np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]
    X = rng.standard_normal((n, 2)) @ np.array([[1.0, 0.7], [0.0, 3.0]]) + 4.0 * codes[:, None] + [100.0, -5.0]
    weight = rng.uniform(0.5, 3.0, n) * (rng.random(n) > 0.2) if weighted else None
    return X, codes, weight


def moments(gram):
    """Weight, means and cross-products in the user's units."""
    unit = gram.scaling.scale
    mean = (DoubleDouble.of(gram.mean) * unit + gram.scaling.shift).to_float64()
    cross = gram.cross.to_float64() if isinstance(gram.cross, DoubleDouble) else gram.cross
    return (
        float(np.asarray(gram.weight.to_float64() if isinstance(gram.weight, DoubleDouble) else gram.weight)),
        mean,
        (cross * unit * unit[:, None]),
    )


def by_hand(X, w):
    mean = w @ X / w.sum()
    return w.sum(), mean, ((X - mean) * w[:, None]).T @ (X - mean)


def agree(one, other, rtol=1e-9):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)


def summaries_of_classes():
    X, codes, weight = labelled()
    yield X, codes, weight, ClassGrams.of(Block(X, codes, weight), 3)
    yield X, codes, np.ones(len(X)), ClassGrams.of(Block(X, codes), 3)
    yield X, codes, weight, ClassGrams.of(Block(X, codes, weight), 3, extended=True)
    yield X, codes, weight, ClassGrams.of(Block(sp.csr_matrix(X), codes, weight), 3)


def test_a_summary_by_class_is_a_summary_of_each_class():
    for X, codes, w, summary in summaries_of_classes():
        for k, part in enumerate(summary.parts):
            mine = codes == k
            agree(moments(part), by_hand(X[mine], w[mine]))
            positive = w[mine & (w > 0)]
            assert part.n == len(positive)
            assert part.log_weight == pytest.approx(np.log(positive).sum())
            assert part.p == 2
        assert summary.n == (w > 0).sum()
        np.testing.assert_array_equal(summary.counts, np.bincount(codes[w > 0]))
        np.testing.assert_allclose(summary.weights, np.bincount(codes, w))
        np.testing.assert_allclose(summary.priors, np.bincount(codes, w) / w.sum())
        np.testing.assert_allclose(
            summary.means.to_float64(), [by_hand(X[codes == k], w[codes == k])[1] for k in range(3)]
        )
        agree(moments(summary.total()), by_hand(X, w))
        about = X - summary.means.to_float64()[codes]
        agree(moments(summary.pooled())[2:], [(about * w[:, None]).T @ about])
        one = summary.with_common_scaling()
        assert all(part.scaling is one.parts[0].scaling for part in one.parts)
        for a, b in zip(one.parts, summary.parts, strict=True):
            agree(moments(a), moments(b))


def test_the_indicator_s_summary_is_that_of_features_and_indicators():
    for X, codes, w, summary in summaries_of_classes():
        gram = summary.indicator_gram()
        agree(moments(gram), by_hand(np.column_stack([X, np.eye(3)[codes]]), w), rtol=1e-8)
        assert gram.p == 2


def test_classes_are_learnt_together_and_forgotten():
    X, codes, w = labelled(n=80)
    for exact in ((False, False), (True, True), (True, False), (False, True)):
        for cut in (40, 30):
            a = ClassGrams.of(Block(X[:cut], codes[:cut], w[:cut]), 3, exact[0])
            b = ClassGrams.of(Block(X[cut:], codes[cut:], w[cut:]), 3, exact[1])
            both = a + b
            assert (a.exact, b.exact, both.exact) == (*exact, all(exact))
            for k, part in enumerate(both.parts):
                agree(moments(part), by_hand(X[codes == k], w[codes == k]))
                assert part.n == ((codes == k) & (w > 0)).sum()
                assert part.log_weight == pytest.approx(np.log(w[(codes == k) & (w > 0)]).sum())
            for k, part in enumerate((both - a).parts):
                mine = (codes == k) & (np.arange(80) >= cut)
                agree(moments(part), by_hand(X[mine], w[mine]), rtol=1e-7)


@pytest.mark.parametrize("factors", [[2.0**40, 1.0], [2.0**40, 2.0**40], [2.0**-40, 2.0**60]])
def test_classes_in_units_far_apart_are_added_as_their_rows_would_be(factors):
    X, codes, w = labelled()
    large = X * factors
    a, b = ClassGrams.of(Block(X, codes, w), 3), ClassGrams.of(Block(large, codes, w), 3)
    assert a.shares_scaling
    assert b.shares_scaling
    assert not np.array_equal(a.parts[0].scaling.scale, b.parts[0].scaling.scale)
    for both in (a + b, b + a):
        for k, part in enumerate(both.parts):
            mine = codes == k
            expected = by_hand(np.vstack([X[mine], large[mine]]), np.r_[w[mine], w[mine]])
            for one, other in zip(moments(part), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_class_without_rows_has_no_mean_and_is_left_out_of_sums():
    X, codes, w = labelled()
    block = Block(X, codes, w)
    for exact in (False, True):
        summary = ClassGrams.of(block, 4, exact)
        assert summary.counts[3] == summary.weights[3] == summary.priors[3] == 0
        assert np.isnan(summary.means.to_float64()[3]).all()
        assert not summary.shares_scaling
        agree(moments(summary.total()), by_hand(X, w))
        agree(moments(summary.pooled()), moments(ClassGrams.of(block, 3, exact).pooled()))
        agree(moments(summary.indicator_gram()), by_hand(np.column_stack([X, np.eye(4)[codes]]), w), rtol=1e-8)
        one = summary.with_common_scaling()
        assert one.parts[3].scaling is one.parts[0].scaling
        assert one.counts.tolist() == summary.counts.tolist()
        more = summary + ClassGrams.of(Block(X[:1] + 1, np.array([3])), 4, exact)
        assert more.counts.tolist() == [*summary.counts[:3].tolist(), 1]
        np.testing.assert_allclose(more.means.to_float64()[3], X[0] + 1)


def test_a_class_whose_squares_overflow_in_the_gauge_of_the_block_has_one_of_its_own():
    X, codes = np.random.default_rng(0).standard_normal((256, 2)), np.tile([0, 1], 128)
    X[1::2] *= 2.0**800  # every other row, of which a sample of the block may see none
    w = np.random.default_rng(1).uniform(0.5, 2, 256)
    summary = ClassGrams.of(Block(X, codes, w), 2)
    assert not summary.shares_scaling
    agree(moments(summary.parts[0]), by_hand(X[::2], w[::2]))
    part = summary.parts[1]
    assert part.n == 128
    large = replace(part.scaling, unit=part.scaling.scale / 2.0**800, shift=part.scaling.shift / 2.0**800)
    agree(moments(replace(part, scaling=large)), by_hand(X[1::2] / 2.0**800, w[1::2]))


def test_a_column_that_is_constant_has_no_spread_in_any_class():
    X, codes, w = labelled()
    X[:, 1] = 0.1
    for part in ClassGrams.of(Block(X, codes, w), 3).parts:
        _, mean, cross = moments(part)
        assert mean[1] == 0.1
        assert not cross[1].any()
        assert cross[0, 0] > 0


def test_a_bad_number_is_named_by_its_row_in_the_block():
    X, codes, _ = labelled(weighted=False)
    X[17, 1] = np.nan
    for exact in (False, True):
        with pytest.raises(ValueError, match="NaN: row 17, column 1"):
            ClassGrams.of(Block(X, codes), 3, exact)


# --- complexity


def curve(n=25):
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(3.0, 9.0, n))
    return x, np.sin(x) + 0.1 * rng.standard_normal(n)


def test_degrees_are_the_polynomials_of_least_squares():
    x, y = curve()
    at = np.linspace(2.5, 9.5, 7)
    for levels in ([0, 1, 3, 5], [2], [4, 0]):
        family = ModelFamily.of(x, levels, None, None)
        assert family.complexity == "degree"
        assert family.basis.shape == (25, max(levels))
        for degree, (coef, intercept) in zip(levels, family.fits(family.gram(y)), strict=True):
            expected = np.polynomial.Polynomial.fit(x, y, degree)
            np.testing.assert_allclose(family.design(at) @ coef[:, 0] + intercept, expected(at), rtol=1e-8)
            assert not coef[degree:].any()
        most = max(levels)
        residual = y - np.polynomial.Polynomial.fit(x, y, most)(x)
        assert family.residual_variance(y) == pytest.approx(residual @ residual / (25 - most - 1))
    assert ModelFamily.of(x, None, None, None).levels.tolist() == list(range(11))


def test_orthogonal_polynomials_have_the_identity_as_their_mean_square():
    x, _ = curve()
    Z = ModelFamily.of(x[:, None], [6], None, None).basis
    np.testing.assert_allclose(Z.T @ Z / len(x), np.eye(6), atol=1e-10)
    np.testing.assert_allclose(Z.sum(axis=0), 0.0, atol=1e-9)


def test_polynomials_that_are_not_made_orthogonal_are_legendre_s():
    x, _ = curve()
    polynomial = PolynomialFamily.of(x, 3, orthogonal=False)
    t = (2 * x - x.max() - x.min()) / (x.max() - x.min())
    expected = np.column_stack([t, (3 * t**2 - 1) / 2, (5 * t**3 - 3 * t) / 2])
    np.testing.assert_allclose(polynomial.evaluate(x), expected, atol=1e-14)


@pytest.mark.parametrize("degree", [None, 3])
def test_alphas_are_ridge(degree):
    x, y = curve()
    X = np.column_stack([x, np.cos(x)]) if degree is None else x
    weight = np.random.default_rng(0).uniform(0.5, 2, 25)
    Y = np.column_stack([y, x * y])
    alphas = [0.0, 0.3, 20.0]
    family = ModelFamily.of(X, None, alphas, degree)
    assert family.complexity == "alpha"
    Z = family.basis
    assert Z.shape == (25, degree or 2)
    for w in (None, weight):
        one = np.ones(25) if w is None else w
        middle, y_middle = one @ Z / one.sum(), one @ Y / one.sum()
        for alpha, (coef, intercept) in zip(alphas, family.fits(family.gram(Y, w)), strict=True):
            A = ((Z - middle) * one[:, None]).T @ (Z - middle) + alpha * np.eye(Z.shape[1])
            expected = np.linalg.solve(A, ((Z - middle) * one[:, None]).T @ (Y - y_middle))
            np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(intercept, y_middle - middle @ expected, rtol=1e-9)
    residual = y - np.column_stack([np.ones(25), Z]) @ np.linalg.lstsq(np.column_stack([np.ones(25), Z]), y)[0]
    assert family.residual_variance(y) == pytest.approx(residual @ residual / (25 - Z.shape[1] - 1))
    np.testing.assert_allclose(family.design(X[:4]), Z[:4], rtol=1e-14)
    if degree is None:
        one_column = ModelFamily.of(x, None, alphas, None)
        assert one_column.basis.shape == (25, 1)
        np.testing.assert_array_equal(one_column.design([1.0, 2.0]), [[1.0], [2.0]])


def test_degrees_need_more_different_numbers_than_they_say():
    x = np.array([1.0, 2.0, 2.0, 4.0])
    assert ModelFamily.of(x, [2], None, None).basis.shape == (4, 2)
    with pytest.raises(ValueError, match="Degree 3 needs more than 3 different x; there are 3"):
        ModelFamily.of(x, [3], None, None)
    assert ModelFamily.of(x[:3], [0], None, None).basis.shape == (3, 0)
    assert ModelFamily.of(np.full(3, 2.0), [0], None, None).basis.shape == (3, 0)
    with pytest.raises(ValueError, match="degree must be a whole number from 1 on"):
        ModelFamily.of(x, None, [1.0], 0)
    assert ModelFamily.of(x, None, [0.0], 1).basis.shape == (4, 1)
    with pytest.raises(ValueError, match="one column; x has 2"):
        ModelFamily.of(np.ones((4, 2)), [1], None, None)
    for bad in ([], [-1], [2, -1], [0.5], [[1]]):
        with pytest.raises(ValueError, match="degrees must be whole numbers"):
            ModelFamily.of(x, bad, None, None)
    for bad in ([], [-1.0], [1.0, -1.0], [1.0, np.inf], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="alphas must be numbers"):
            ModelFamily.of(x, None, bad, None)
    with pytest.raises(ValueError, match="at least three rows"):
        ModelFamily.of(x[:2], [1], None, None)
    with pytest.raises(ValueError, match="at least three rows"):
        ModelFamily.of(np.ones((4, 1, 1)), [1], None, None)
    with pytest.raises(ValueError, match="infinity: row 2"):
        ModelFamily.of(np.array([1.0, 2.0, np.nan, np.nan]), [1], None, None)
    with pytest.raises(ValueError, match="not both"):
        ModelFamily.of(x, [1], [1.0], None)


def test_a_resample_with_too_few_different_rows_has_the_shortest_coefficients():
    x, y = curve()
    family = ModelFamily.of(x, [4], None, None)
    weight = np.zeros(25)
    weight[[3, 11, 19]] = 2.0
    ((coef, intercept),) = family.fits(family.gram(y, weight))
    some = weight > 0
    Z = family.basis[some] - family.basis[some].mean(axis=0)
    np.testing.assert_allclose(coef[:, 0], np.linalg.pinv(Z) @ (y[some] - y[some].mean()), rtol=1e-6)
    np.testing.assert_allclose(family.basis[some] @ coef[:, 0] + intercept, y[some], rtol=1e-8)


def test_columns_that_are_the_same_but_for_rounding_share_a_coefficient():
    S = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    for size in (1.0, 1e20, 1e-12):
        np.testing.assert_allclose(_solve(size * S, size * S[:, :1]), [[0.5], [0.5]], rtol=1e-6)
    S[1, 1] = 1.01
    np.testing.assert_allclose(_solve(S, S[:, :1]), [[1.0], [0.0]], atol=1e-10)


def test_the_average_over_one_row_is_what_it_left():
    one = np.zeros(1, np.int64)
    log = MistakeLog(one, one + 1, one, one + 1, 1, 1, 2, True, np.array([[3.0, -2.0]]), one)
    for found, expected in zip(log.averaged_weights(), ([[3.0, -2.0]], [1.0]), strict=True):
        np.testing.assert_array_equal(found, expected)
