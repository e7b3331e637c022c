"""Rows of every kind: the same blocks of numbers, without a copy of the whole."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import linearly as ly
from linearly.dataset.features.polynomial import polynomial_features
from linearly.dataset.rows import block as rows_module
from linearly.dataset.rows.block import (
    Block,
    InMemoryRows,
    Rows,
    as_rows,
    check_finite,
    is_frame,
    names_of,
    rows_in_block,
)
from linearly.dataset.rows.views import PassCounter
from linearly.kernels.double_double import DoubleDouble

VALUES = np.random.default_rng(0).integers(-4, 5, size=(100, 3)).astype(np.float64)


def table(values=VALUES):
    return pa.table({f"x{j}": column for j, column in enumerate(values.T)})


ARRAYS = {
    "C": lambda v: v.copy(),
    "Fortran": np.asfortranarray,
    "strided": lambda v: np.repeat(np.repeat(v, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda v: v[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda v: v.astype(np.float32),
    "other byte order": lambda v: v.astype(">f8"),
    "float16": lambda v: v.astype(np.float16),
    "long double": lambda v: v.astype(np.longdouble),
    "field of a record": lambda v: np.rec.fromarrays([v.astype(np.int8), v])["f1"],
    **{f"int{bits}": lambda v, bits=bits: v.astype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": lambda v, bits=bits: (v + 4).astype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "bool": lambda v: v > 0,
    "list of lists": lambda v: v.tolist(),
    "matrix": lambda v: sp.csr_matrix(v).todense(),
}
FRAMES = {
    "pandas": lambda v: pd.DataFrame(v, columns=["x0", "x1", "x2"]),
    "pandas, integer names": lambda v: pd.DataFrame(v),
    "pandas, int64": lambda v: pd.DataFrame(v.astype(np.int64), columns=["x0", "x1", "x2"]),
    "pandas, Int64": lambda v: pd.DataFrame(v, columns=["x0", "x1", "x2"]).astype("Int64"),
    "pandas, Float64": lambda v: pd.DataFrame(v, columns=["x0", "x1", "x2"]).astype("Float64"),
    "pandas, Arrow": lambda v: pd.DataFrame(v, columns=["x0", "x1", "x2"]).astype("double[pyarrow]"),
    "pandas, mixed": lambda v: pd.DataFrame(
        {"x0": v[:, 0].astype(np.int8), "x1": v[:, 1].astype(np.float32), "x2": pd.array(v[:, 2], dtype="Int16")}
    ),
    "pandas, index": lambda v: pd.DataFrame(v, columns=["x0", "x1", "x2"], index=np.arange(len(v))[::-1] + 7),
    "polars": lambda v: pl.DataFrame({f"x{j}": c for j, c in enumerate(v.T)}),
    "polars, int32": lambda v: pl.DataFrame({f"x{j}": c.astype(np.int32) for j, c in enumerate(v.T)}),
    "polars, decimal": lambda v: pl.DataFrame({f"x{j}": c for j, c in enumerate(v.T)}).cast(pl.Decimal(10, 2)),
    "Arrow": table,
    "Arrow, chunks": lambda v: pa.concat_tables([table(v[:33]), table(v[33:])]),
}
SPARSE = {
    "CSR": sp.csr_matrix,
    "CSR array": sp.csr_array,
    "CSC": sp.csc_matrix,
    "COO": sp.coo_matrix,
    "int CSR": lambda v: sp.csr_matrix(v.astype(np.int32)),
    "float32 CSR": lambda v: sp.csr_matrix(v.astype(np.float32)),
}


def dense(X):
    if hasattr(type(X), "tocsr"):
        return X.toarray()
    return np.asarray(X.to_float64() if isinstance(X, DoubleDouble) else X, dtype=np.float64)


def joined(rows):
    return np.concatenate([dense(block.X) for block in rows])


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows_module, "rows_in_block", lambda p: 17)


# --- every kind gives the same numbers ------------------------------------------------------------


@pytest.mark.parametrize("make", {**ARRAYS, **FRAMES, **SPARSE}.values(), ids={**ARRAYS, **FRAMES, **SPARSE})
def test_every_kind_gives_its_numbers(make, small_blocks):
    X = make(VALUES)
    expected = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    rows = as_rows(X)
    assert isinstance(rows, Rows)
    assert len(rows.names) == 3
    np.testing.assert_array_equal(joined(rows), expected)
    np.testing.assert_array_equal(joined(rows), expected)  # each loop is a new pass
    total = rows.reduce(lambda block: dense(block.X).sum(axis=0))
    np.testing.assert_array_equal(total, expected.sum(axis=0))


def test_blocks_contain_the_origin_of_their_rows(small_blocks):
    y, weight = np.arange(100.0), np.arange(100.0) / 7
    blocks = list(as_rows(VALUES, y, weight))
    assert [block.start for block in blocks] == list(range(0, 100, 17))
    assert [len(block) for block in blocks] == [17] * 5 + [15]
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y)
    np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), weight)


def test_thinned_rows_are_named_by_the_rows_they_were():
    X = np.arange(80.0).reshape(40, 2)
    X[28, 1] = np.nan
    thin = as_rows(X).every_nth(7)
    np.testing.assert_array_equal(joined(thin), X[::7])
    with pytest.raises(ValueError, match="row 28, column 'x1'"):
        check_finite(thin.block(2, 6))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_thinned_rows_of_a_frame(make):
    thin = as_rows(make(VALUES)).every_nth(7)
    np.testing.assert_array_equal(joined(thin), VALUES[::7])


def test_a_large_integer_is_named_by_its_row_in_the_whole_when_rows_are_thinned():
    X = np.zeros((40, 2), dtype=np.int64)
    X[28, 1] = 2**60
    for matrix in (X, sp.csr_matrix(X), pd.DataFrame(X)):
        with pytest.raises(ValueError, match="row 28, column"):
            joined(as_rows(matrix).every_nth(7))


@pytest.mark.parametrize("order", ["C", "F"])
def test_every_nth_row_is_a_view_if_its_numbers_are_contiguous(order):
    X = np.array(np.arange(120.0).reshape(40, 3), order=order)
    thin = as_rows(X, np.arange(40.0), np.arange(40.0)).every_nth(3)
    assert np.shares_memory(thin.block(0, 2).X, X) == (order == "C")
    np.testing.assert_array_equal(joined(thin), X[::3])
    for block in thin:
        np.testing.assert_array_equal(block.y, block.X[:, 0] / 3)
        np.testing.assert_array_equal(block.weight, block.y)
        assert block.y.flags.c_contiguous


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_names_come_from_the_frame(make):
    rows = as_rows(make(VALUES))
    assert rows.names in (("x0", "x1", "x2"), ("0", "1", "2"))
    assert as_rows(make(VALUES), names=("a", "b", "c")).names == ("a", "b", "c")


def test_names_of_an_array():
    assert as_rows(VALUES).names == ("x0", "x1", "x2")
    assert as_rows(sp.csr_matrix(VALUES)).names == ("x0", "x1", "x2")


def test_what_is_already_rows_stays_as_it_is():
    rows = as_rows(VALUES)
    assert as_rows(rows) is rows


@given(st.integers(1, 2000), st.integers(1, 12))
def test_blocks_cover_every_row_once(n, p):
    rows = InMemoryRows(lambda rows: np.zeros((rows.stop - rows.start, p)), (n, p))
    seen = np.concatenate([np.arange(block.start, block.start + len(block)) for block in rows])
    np.testing.assert_array_equal(seen, np.arange(n))


@given(st.integers(0, 100_000))
def test_size_of_a_block(p):
    rows = rows_in_block(p)
    assert rows >= 256
    assert rows % 256 == 0
    assert rows * max(p, 1) * 8 <= max(64 * 2**20, 256 * max(p, 1) * 8)


def test_no_rows_at_all():
    rows = as_rows(np.zeros((0, 3)))
    assert list(rows) == []
    assert rows.reduce(len) == 0


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), ()])
def test_one_dimensional_x_raises(shape):
    with pytest.raises(ValueError, match="two dimensions"):
        as_rows(np.zeros(shape))


def test_only_data_frames_are_frames():
    assert is_frame(pd.DataFrame(VALUES))
    assert is_frame(pl.DataFrame(VALUES))
    assert is_frame(table())
    assert not is_frame(VALUES)
    assert not is_frame(VALUES.tolist())
    assert not is_frame(sp.csr_matrix(VALUES))


def test_a_frame_with_hostile_column_names_is_a_frame():
    frame = pd.DataFrame(VALUES, columns=["names", "fold", "tocsr"])
    np.testing.assert_array_equal(joined(as_rows(frame)), VALUES)


# --- nothing is copied whole ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["C", "Fortran", "strided", "backwards", "float32", "read-only", "memory-mapped"])
def test_floats_are_not_copied(kind, small_blocks, tmp_path):
    if kind == "memory-mapped":
        X = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=VALUES.shape)
        X[:] = VALUES
        X.flush()
        X = np.memmap(tmp_path / "x", dtype=np.float64, mode="r", shape=VALUES.shape)
    elif kind == "read-only":
        X = VALUES.copy()
        X.flags.writeable = False
    else:
        X = ARRAYS[kind](VALUES)
    for block in as_rows(X):
        assert np.shares_memory(block.X, X)


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", ">f8"])
def test_others_become_floats_one_block_at_a_time(dtype, monkeypatch):
    n, p, step = 80_000, 10, 8000
    monkeypatch.setattr(rows_module, "rows_in_block", lambda p: step)
    X = np.ones((n, p), dtype=dtype)
    rows = as_rows(X)
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "1")
    rows.reduce(lambda block: block.X.sum())
    tracemalloc.start()
    total = rows.reduce(lambda block: block.X.sum())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == n * p
    assert peak < 2 * step * p * 8


@pytest.mark.parametrize("padding", [1, 8])
def test_fields_of_records_are_rows_like_any_others(padding, small_blocks):
    # One byte before the numbers: no whole number of elements apart, or apart so but not aligned.
    records = np.zeros(100, dtype=[("k", "i1"), ("X", "f8", (3,)), ("y", "f8"), ("pad", "i1", (padding - 1,))])
    records["X"], records["y"] = VALUES, VALUES.sum(axis=1)
    np.testing.assert_array_equal(joined(as_rows(records["X"])), VALUES)
    model = ly.LinearRegression().fit(records["X"], records["y"])
    np.testing.assert_allclose(model.predict(records["X"]), records["y"], atol=1e-12)


# --- sparse ---------------------------------------------------------------------------------------


def test_explicit_zeros_and_duplicates(small_blocks):
    row, column = np.array([0, 0, 1, 1, 2, 99]), np.array([1, 1, 0, 2, 2, 0])
    data = np.array([1.0, 2.5, 0.0, -1.0, 0.0, 4.0])
    expected = np.zeros((100, 3))
    np.add.at(expected, (row, column), data)
    coo = sp.coo_matrix((data, (row, column)), shape=(100, 3))
    starts = np.searchsorted(row, np.arange(101))
    csr = sp.csr_matrix((data, column, starts), shape=(100, 3))
    assert not csr.has_canonical_format
    for X in (coo, csr, coo.tocsc()):
        np.testing.assert_array_equal(joined(as_rows(X)), expected)
    assert csr.nnz == 6  # the caller's matrix is left alone


# --- numbers that are refused ---------------------------------------------------------------------

BIG = 2**53 + 1


def integers(value=BIG, dtype=np.int64):
    X = np.ones((100, 3), dtype=dtype)
    X[41, 2] = value
    return X


BIG_INTEGERS = {
    "int64": lambda: integers(),
    "int64, negative": lambda: integers(-BIG),
    "uint64": lambda: integers(2**63 + 1, np.uint64),
    "pandas": lambda: pd.DataFrame(integers(), columns=["x0", "x1", "x2"]),
    "pandas, Int64": lambda: pd.DataFrame(integers(), columns=["x0", "x1", "x2"]).astype("Int64"),
    "pandas, Int64 with a gap": lambda: with_gap(),
    "polars": lambda: pl.DataFrame({f"x{j}": c for j, c in enumerate(integers().T)}),
    "Arrow": lambda: pa.table({f"x{j}": c for j, c in enumerate(integers().T)}),
    "CSR": lambda: sp.csr_matrix(integers()),
}


def with_gap():
    frame = pd.DataFrame(integers(), columns=["x0", "x1", "x2"]).astype("Int64")
    frame.loc[40, "x2"] = pd.NA
    return frame


@pytest.mark.parametrize("make", BIG_INTEGERS.values(), ids=BIG_INTEGERS)
def test_big_integers_are_refused_by_row_and_column(make, small_blocks):
    with pytest.raises(ValueError, match=r"row 41, column ('x2'|2).* 2\*\*53 .*Subtract an offset"):
        list(as_rows(make()))


def test_the_largest_exact_integer_is_not_refused():
    assert next(iter(as_rows(integers(2**53)))).X[41, 2] == 2.0**53
    assert next(iter(as_rows(integers(-(2**53))))).X[41, 2] == -(2.0**53)
    assert next(iter(as_rows(integers().astype(np.float64)))).X[41, 2] == 2.0**53  # floats are what they are


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"]}),
        lambda: pd.DataFrame({"a": [1.0, 2.0], "city": pd.Categorical(["x", "y"])}),
        lambda: pd.DataFrame({"a": [1.0, 2.0], "city": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        lambda: pd.DataFrame({"a": [1.0, 2.0], "city": np.array([1, "y"], dtype=object)}),
        lambda: pl.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"]}),
        lambda: pa.table({"a": [1.0, 2.0], "city": ["x", "y"]}),
    ],
    ids=["pandas", "pandas, category", "pandas, dates", "pandas, object", "polars", "Arrow"],
)
def test_a_column_that_is_not_numeric_is_named(make):
    with pytest.raises(ValueError, match=r"Column 'city' is .*, not numeric"):
        as_rows(make())


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}),
        lambda: pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, pd.NA], dtype="Int64")}),
        lambda: pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([True, pd.NA], dtype="boolean")}),
        lambda: pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1.5, pd.NA], dtype="Float64")}),
        lambda: pl.DataFrame({"a": [1.0, 2.0], "b": [1, None]}),
        lambda: pl.DataFrame({"a": [1.0, 2.0], "b": [True, None]}),
        lambda: pa.table({"a": [1.0, 2.0], "b": [1, None]}),
        lambda: pa.table({"a": [1.0, 2.0], "b": pa.array([True, None])}),
    ],
    ids=["pandas", "Int64", "boolean", "Float64", "polars int", "polars bool", "Arrow int", "Arrow bool"],
)
def test_missing_values_are_named_by_row_and_column(make):
    (block,) = as_rows(make())
    assert np.isnan(block.X[1, 1])
    with pytest.raises(ValueError, match=r"X contains NaN: row 1, column 'b'\. Drop the row or fill in the value"):
        check_finite(block)


def test_bad_numbers_are_named_by_their_place_in_the_whole():
    X = np.ones((5, 2))
    check_finite(Block(X, np.ones(5), np.ones(5), 100, ("a", "b")))
    X[3, 1] = -np.inf
    with pytest.raises(ValueError, match=r"Input X contains infinity: row 103, column 'b'"):
        check_finite(Block(X, None, None, 100, ("a", "b")))
    with pytest.raises(ValueError, match=r"Input X contains infinity: row 103, column 'b'"):
        check_finite(Block(sp.csr_matrix(X), None, None, 100, ("a", "b")))
    with pytest.raises(ValueError, match=r"Input y contains NaN: row 102, column 1"):
        check_finite(Block(np.ones((3, 1)), np.array([[0, 1], [2, 3], [4, np.nan]]), None, 100))
    with pytest.raises(ValueError, match=r"Input sample_weight contains infinity: row 101\."):
        check_finite(Block(np.ones((2, 1)), None, np.array([1, np.inf]), 100))


def test_bad_numbers_of_wide_sparse_rows_are_named_without_filling_them_in():
    X = sp.csr_matrix(([1.0, np.nan, 2.0], ([0, 2000, 2000], [7, 400_000, 3])), (4000, 10**7))
    with pytest.raises(ValueError, match=r"Input X contains NaN: row 2100, column 400000\."):
        check_finite(Block(X, start=100))
    with pytest.raises(ValueError, match=r"The integer in row 5, column 400000 exceeds 2\*\*53"):
        list(as_rows(sp.csr_matrix(([2**60], ([5], [400_000])), (4000, 10**7)), names=()))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_names_of_a_frame_are_text_in_every_container(make):
    assert names_of(make({"a": [1.0, 2.0], "b": [0.0, 1.0]})) == ["a", "b"]
    assert names_of(np.ones((2, 2))) is None


# --- polynomials ----------------------------------------------------------------------------------


def test_polynomial_is_rows_of_powers(small_blocks):
    x = np.linspace(-3, 3, 100)
    X = polynomial_features(x, 4, name="t")
    rows = as_rows(X)
    assert rows.names == ("t", "t^2", "t^3", "t^4")
    assert all(isinstance(block.X, DoubleDouble) for block in rows)
    np.testing.assert_allclose(joined(rows), np.stack([x, x**2, x**3, x**4], axis=1), rtol=1e-15)
    np.testing.assert_array_equal(joined(rows), np.asarray(X))
    np.testing.assert_array_equal(np.asarray(X[3:7]), np.asarray(X)[3:7])
    assert len(X[5]) == 1


def test_polynomial_takes_its_name_from_a_series():
    assert polynomial_features(pd.Series([1.0, 2.0], name="age"), 2).names == ("age", "age^2")
    assert polynomial_features(np.ones((3, 1)), 1).names == ("x",)


@pytest.mark.parametrize("degree", [0, -1, 1.5, "2", 101])
def test_polynomial_degree(degree):
    with pytest.raises(ValueError, match="degree must be an integer from 1 to 100"):
        polynomial_features([1.0, 2.0], degree)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones((3, 2)), "one numeric column"),
        ([1.0, np.nan, 2.0], "row 1"),
        ([1.0, 2.0, np.inf], "row 2"),
        ([1, 2**53 + 1], r"2\*\*53.* in row 1"),
        ([1.0, 1e200], r"too large: its power 3 .* in row 1"),
        (["a", "b"], "numbers"),
        ([1j, 2.0], "numbers"),
        (np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "x is masked, so missing: row 1"),
    ],
    ids=["two columns", "NaN", "infinity", "big integer", "overflow", "text", "complex", "masked"],
)
def test_polynomial_refuses(x, message):
    with pytest.raises(ValueError, match=message):
        polynomial_features(x, 3)


def test_sparse_blocks_are_cut_by_entries_and_cover_all_rows(monkeypatch):
    from linearly.dataset.rows import sparse

    monkeypatch.setattr(sparse, "ENTRIES", 10)
    X = sp.random(57, 30, density=0.1, format="csr", random_state=4)
    rows = sparse.SparseRows(X)
    blocks = list(rows)
    assert len(blocks) > 10
    assert [block.start for block in blocks] == np.cumsum([0, *map(len, blocks)])[:-1].tolist()
    np.testing.assert_array_equal(np.vstack([block.X.toarray() for block in blocks]), X.toarray())
    assert all(block.X[:-1].nnz <= 10 for block in blocks)  # at most a row beyond


class _Partitions(Rows):
    """Rows that declare everything that differs from the default, in one partition."""

    names, one_shot, ordered, classes, n_partitions = ("a",), True, False, np.array(["u", "v"]), 1

    def __iter__(self):
        return iter([Block(np.ones((3, 1)))])

    def reduce(self, f):
        return f(next(iter(self)))

    def column_blocks(self):
        return iter([Block(np.ones((3, 1)), start=7)])

    def reduce_partitions(self, f):
        return f(iter(self))


def test_pass_counter_declares_what_its_rows_declare_and_counts_every_pass():
    rows = _Partitions()
    counted = PassCounter(rows)
    for name in ("names", "one_shot", "ordered", "classes", "n_partitions"):
        assert getattr(counted, name) is getattr(rows, name), name
    assert [len(block) for block in counted] == [3]
    assert counted.reduce(len) == 3
    assert [block.start for block in counted.column_blocks()] == [7]
    assert counted.reduce_partitions(lambda blocks: len(list(blocks))) == 1
    assert counted.passes == 4
