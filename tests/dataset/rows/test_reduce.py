"""The fold: one sum whatever the threads, failures that come out, and no way to hang."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.dataset.rows import block as rows_module
from linearly.dataset.rows import reduce as reduce_module
from linearly.dataset.rows.block import as_rows
from linearly.dataset.rows.reduce import MergeTree, reduce_blocks
from linearly.models.linear_regression import LinearRegression

SUMMARIES = {"gram": Gram.of, "triangle": QRFactor.of, "exact gram": lambda block: Gram.of(block, extended=True)}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows_module, "rows_in_block", lambda p: 37)


@pytest.fixture(params=["1", "2", "3"])
def n_threads(request, monkeypatch):
    monkeypatch.setenv("LINEARLY_NUM_THREADS", request.param)
    return int(request.param)


def data(n=1000, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 10 * rng.normal(size=p)
    return X, X @ rng.normal(size=p) + rng.normal(size=n)


def parts(summary):
    """Every number of a summary, to be compared bit by bit."""
    for name in type(summary).__slots__:
        value = getattr(summary, name)
        if name == "scaling":
            yield from (value.shift, value.scale)
        elif hasattr(value, "high"):
            yield from (value.high, value.low)
        else:
            yield value


class Trace:
    """A summary that remembers how it was merged."""

    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Trace(f"({self.text}{other.text})")


def letters(n):
    return [lambda i=i: chr(ord("a") + i) for i in range(n)]


# --- one sum, whatever the threads ----------------------------------------------------------------


@pytest.mark.parametrize("of", SUMMARIES.values(), ids=SUMMARIES)
def test_same_bits_on_any_number_of_threads(of, small_blocks, monkeypatch):
    X, y = data()

    def folded(count):
        monkeypatch.setenv("LINEARLY_NUM_THREADS", count)
        return as_rows(X, y).reduce(of)

    one = folded("1")
    for count in ("2", "3", "8"):
        for a, b in zip(parts(one), parts(folded(count)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_same_bits_on_real_blocks(monkeypatch):
    X, y = data(n=3 * rows_module.rows_in_block(8) + 17, p=8)
    coef = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("LINEARLY_NUM_THREADS", count)
        model = LinearRegression().fit(X, y)
        coef.append((*model.coef_, model.intercept_, *model.covariance_.ravel()))
    assert coef[0] == coef[1] == coef[2]


@pytest.mark.parametrize(
    ("n", "tree"),
    [(1, "a"), (2, "(ab)"), (3, "((ab)c)"), (4, "((ab)(cd))"), (7, "((((ab)(cd))(ef))g)"), (5, "(((ab)(cd))e)")],
)
def test_reduce_merges_blocks_in_a_fixed_binary_tree(n, tree, n_threads):
    total = reduce_blocks(letters(n), Trace)
    assert total.text.replace("(", "").replace(")", "") == "abcdefg"[:n]
    if n != 7:
        assert total.text == tree
    else:  # what waits is merged from the right, small subtrees first
        assert total.text == "(((ab)(cd))((ef)g))"


@given(st.integers(1, 40).flatmap(lambda n: st.permutations(range(n))))
def test_order_of_arrival_does_not_matter(order):
    here, there = MergeTree(), MergeTree()
    for i in range(len(order)):
        here.add(i, Trace(f"[{i}]"))
    for i in order:
        there.add(i, Trace(f"[{i}]"))
    assert here.total().text == there.total().text


def test_slow_blocks_are_waited_for(n_threads):
    def f(i):
        time.sleep(0.02 if i % 3 == 0 else 0.0)
        return np.array([i, 1])

    total = reduce_blocks((lambda i=i: i for i in range(12)), f)
    np.testing.assert_array_equal(total, [66, 12])


def test_blocks_come_from_a_generator_one_at_a_time(n_threads):
    alive = []

    def blocks():
        for i in range(50):
            alive.append(i)
            yield lambda i=i: i

    assert reduce_blocks(blocks(), lambda i: i) == sum(range(50))
    assert alive == list(range(50))


# --- what a fold refuses --------------------------------------------------------------------------


@pytest.mark.parametrize("value", [(1, 2), [1, 2], "ab", b"ab"], ids=["tuple", "list", "str", "bytes"])
@pytest.mark.parametrize("n", [1, 3])
def test_reduce_of_a_function_that_returns_a_list_raises(value, n):
    with pytest.raises(TypeError, match=r"concatenates.*numbers, arrays or a class"):
        reduce_blocks(letters(n), lambda _: value)


def test_reduction_of_no_blocks_raises():
    with pytest.raises(ValueError, match="no rows"):
        reduce_blocks([], lambda block: block)


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5"])
def test_bad_number_of_threads_raises_by_name(asked, monkeypatch):
    monkeypatch.setenv("LINEARLY_NUM_THREADS", asked)
    with pytest.raises(ValueError, match="LINEARLY_NUM_THREADS"):
        reduce_module.n_threads()


def test_number_of_threads(monkeypatch):
    monkeypatch.delenv("LINEARLY_NUM_THREADS", raising=False)
    assert reduce_module.n_threads() >= 1
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "5")
    assert reduce_module.n_threads() == 5


# --- failures come out ----------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [{0}, {1}, {5, 6}, {19}])
def test_the_first_failure_in_order_is_raised(bad, n_threads):
    def f(i):
        time.sleep(0.01 * (20 - i) / 20)  # later blocks fail sooner
        if i in bad:
            raise RuntimeError(f"block {i}")
        return i

    with pytest.raises(RuntimeError, match=f"^block {min(bad)}$"):
        reduce_blocks((lambda i=i: i for i in range(20)), f)
    assert reduce_blocks(letters(3), lambda _: 1) == 3  # and the next fold works


def test_after_a_failure_no_new_block_is_begun(n_threads):
    begun = []

    def f(i):
        begun.append(i)
        if i == 2:
            raise RuntimeError
        return i

    with pytest.raises(RuntimeError):
        reduce_blocks((lambda i=i: i for i in range(1000)), f)
    assert len(begun) < 1000


@pytest.mark.parametrize("failing", ["bring", "source", "plus"])
def test_failure_at_any_block_is_raised(failing, n_threads):
    class NoPlus:
        def __add__(self, other):
            raise RuntimeError("plus")

    def bring(i):
        if failing == "bring" and i == 3:
            raise RuntimeError("bring")
        return i

    def source():
        for i in range(9):
            if failing == "source" and i == 3:
                raise RuntimeError("source")
            yield lambda i=i: bring(i)

    with pytest.raises(RuntimeError, match=failing):
        reduce_blocks(source(), lambda _: NoPlus() if failing == "plus" else 1)


def test_bad_number_in_a_later_block_is_named(small_blocks, n_threads):
    X, y = data()
    X[[900, 500], 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN: row 500, column 'x2'"):
        as_rows(X, y).reduce(Gram.of)


# --- no way to hang -------------------------------------------------------------------------------


def test_reduction_inside_a_reduction(n_threads):
    def inner(i):
        return reduce_blocks((lambda j=j: j for j in range(10)), lambda j: i * j)

    def middle(i):
        return reduce_blocks((lambda j=j: j for j in range(5)), lambda j: inner(i + j))

    expected = sum((i + j) * 45 for i in range(20) for j in range(5))
    assert reduce_blocks((lambda i=i: i for i in range(20)), middle) == expected


def test_fits_from_several_threads_at_once(small_blocks):
    X, y = data()
    expected = LinearRegression().fit(X, y).coef_
    with ThreadPoolExecutor(8) as pool:
        fits = [pool.submit(lambda: LinearRegression().fit(X, y).coef_) for _ in range(40)]
        for fit in fits:
            np.testing.assert_array_equal(fit.result(timeout=60), expected)


def test_blas_gets_its_threads_back(small_blocks, monkeypatch):
    import threadpoolctl

    def blas_threads():
        return [lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]

    before = blas_threads()
    inside = reduce_blocks(
        (lambda i=i: i for i in range(2)), lambda _: np.array(blas_threads() * 0 + [max(blas_threads())])
    )
    assert inside.sum() >= 1
    assert blas_threads() == before

    def fail(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        reduce_blocks((lambda i=i: i for i in range(5)), lambda i: fail(i) if i else i)
    assert blas_threads() == before


def fit_in_child(X, y, queue):
    queue.put(LinearRegression().fit(X, y).coef_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_can_fit_after_its_parent_did(small_blocks, monkeypatch):
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "2")
    X, y = data()
    expected = LinearRegression().fit(X, y).coef_
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking beside threads
        child = context.Process(target=fit_in_child, args=(X, y, queue))
        child.start()
    child.join(60)
    assert child.exitcode == 0
    np.testing.assert_array_equal(queue.get(), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_child_forked_during_a_reduction_can_reduce():
    code = """
import os, signal, threading, warnings
warnings.simplefilter("ignore")
os.environ["LINEARLY_NUM_THREADS"] = "2"
from linearly.dataset.rows import reduce as module
from linearly.dataset.rows.reduce import reduce_blocks
inside, go_on = threading.Event(), threading.Event()
def f(i):
    if i:
        inside.set()
        go_on.wait(60)
    return i
thread = threading.Thread(target=reduce_blocks, args=([lambda i=i: i for i in range(4)], f))
thread.start()
inside.wait(60)
with module.single_threaded_blas._lock, module._pool_lock:  # the worst moment
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # a child that hangs is ended by the clock
        total = reduce_blocks([lambda i=i: i for i in range(9)], lambda i: i)
        os._exit(0 if total == 36 and module.single_threaded_blas._depth == 0 else 1)
_, status = os.waitpid(pid, 0)
go_on.set()
thread.join()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_threads_sleep_when_there_is_nothing_to_do(monkeypatch):
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "3")
    reduce_blocks((lambda i=i: i for i in range(100)), lambda i: i)
    before = threading.active_count()
    for _ in range(20):
        reduce_blocks((lambda i=i: i for i in range(100)), lambda i: i)
    assert threading.active_count() <= before + 2  # one pool, not one a fold
    assert reduce_module._pool is not None
