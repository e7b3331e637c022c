"""Inputs that once broke something, found by the fuzzers; each is small, and says what must happen now."""

import decimal
import io
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

import linearly as ly
from linearly.checks import inspect_table
from linearly.dataset.files.tables import file_tables
from linearly.export.model_file import _digest, to_bytes
from linearly.kernels.double_double import two_product
from linearly.table import Table


def read(data: bytes) -> pa.Table:
    return pa.concat_tables([chunk.frame.to_native() for chunk in file_tables(io.BytesIO(data))])


def arrow(table: pa.Table, new=ipc.new_file) -> bytes:
    sink = io.BytesIO()
    with new(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet(table: pa.Table, **options) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new)


NUMBERS = pa.table({"i": pa.array([1, 2, 3], pa.int32()), "y": [0.5, 1.5, 2.5]})
WORDS = pa.table({"k": ["one", "two", "three"], "y": [0.5, 1.5, 2.5]})
PLAIN = {"compression": "none", "use_dictionary": False}

CSV = {
    # The rest of a first row with a carriage return in it was lost without a word, and it may be a row.
    "carriage return in the header": (b"a,y\r1,2\n3,4\n5,6\n", "Line 1 of the open file has a carriage return"),
    "carriage return among the rows": (b"a,y\n1,2\r3,4\n5,6\n", "has a carriage return without a line feed"),
}


@pytest.mark.parametrize("case", CSV)
def test_csv_is_refused(case):
    data, message = CSV[case]
    with pytest.raises(ValueError, match=message):
        read(data)


def test_a_long_cell_does_not_fill_the_screen():
    with pytest.raises(ValueError, match="column 'a'") as refusal:
        list(file_tables([io.BytesIO(b"a,y\n1,2\n"), io.BytesIO(b"a,y\n" + b"x" * 5000 + b",2\n")]))
    assert "(5000 characters)" in str(refusal.value)
    assert len(str(refusal.value)) < 400


def test_a_long_level_does_not_fill_the_screen():
    model = ly.fit({"k": ["a", "b", "x" * 5000, "a"], "y": [1.0, 2.0, 4.0, 3.0]}, target="y")
    with pytest.raises(ValueError, match="which does not occur in the training rows") as refusal:
        model.predict({"k": ["y" * 5000]})
    assert len(str(refusal.value)) < 500


# --- columnar -------------------------------------------------------------------------------------

NOT_UTF_8 = WORDS.set_column(0, "k", pa.array([b"one", b"tw\xff", b"three"]).view(pa.string()))
OFFSETS = b"".join(n.to_bytes(4, "little") for n in (0, 3, 6, 11))
BEYOND = b"".join(n.to_bytes(4, "little") for n in (0, 3, 6, 2**30))

COLUMNAR = {
    "text of an Arrow file that lies elsewhere": (changed(arrow(WORDS), OFFSETS, BEYOND), "cannot be read"),
    "text of an Arrow stream that lies elsewhere": (
        changed(arrow(WORDS, ipc.new_stream), OFFSETS, BEYOND),
        "cannot be read to its end",
    ),
    "text of an Arrow file that is not UTF-8": (arrow(NOT_UTF_8), "cannot be read: .*UTF8"),
    "text of a Parquet file that is not UTF-8": (parquet(NOT_UTF_8, **PLAIN), "Rows 0 to 2 .* cannot be read: .*UTF8"),
    "levels of a Parquet file that are not UTF-8": (
        parquet(NOT_UTF_8.set_column(0, "k", NOT_UTF_8["k"].dictionary_encode())),
        "Rows 0 to 2 .* cannot be read: .*UTF8",
    ),
    "a name that is not UTF-8": (
        changed(parquet(NUMBERS.rename_columns(["i", "target"]), store_schema=False), b"target", b"t\xf9rget"),
        "is not a Parquet file, or is truncated",
    ),
}


@pytest.mark.parametrize("case", COLUMNAR)
def test_columnar_is_refused(case):
    data, message = COLUMNAR[case]
    with pytest.raises(ValueError, match=message):
        read(data)
    with pytest.raises(ValueError, match=message):
        ly.scan(io.BytesIO(data), target=NUMBERS.column_names[-1]).reduce(lambda block: block.X.sum())


def test_rows_that_a_file_promises_must_be_there():
    data = parquet(NUMBERS.slice(0, 2), **PLAIN, store_schema=False)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    forged = None
    # Somewhere in the footer is the number of rows of the row group, in Thrift's code: 4 stands for 2, and 6 for 3.
    for at in (at for at in range(footer, len(data) - 8) if data[at] == 4):
        candidate = data[:at] + b"\x06" + data[at + 1 :]
        try:
            if pq.read_metadata(io.BytesIO(candidate)).row_group(0).num_rows == 3:
                forged = candidate
        except (pa.ArrowException, OSError):
            continue
    assert forged is not None
    with pytest.raises(ValueError, match=r"Rows 0 to 2 .* cannot be read"):
        read(forged)


def test_unreadable_type_of_column_is_named():
    strange = pa.array([None] * 3, pa.decimal128(2, 7))
    data = arrow(NUMBERS.append_column("e", strange))
    with pytest.raises(ValueError, match=r"Column 'e' is decimal128\(2, 7\), which cannot be read"):
        read(data)


def test_levels_that_are_no_text_are_named():
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([[1], [2]]))
    data = arrow(NUMBERS.append_column("l", levels))
    with pytest.raises(ValueError, match="Column 'l' is Unknown, which is neither numeric nor text"):
        ly.scan(io.BytesIO(data), target="y")
    assert ly.scan(io.BytesIO(data), target="y", features=["i"]).reduce(len) == 3


# --- model files ----------------------------------------------------------------------------------


def forged(model, path, change):
    """A file of a model with an entry changed and a digest that fits."""
    plain = json.loads(to_bytes(model))
    change(plain)
    plain["digest"] = _digest({name: plain[name] for name in plain if name not in ("format", "version", "digest")})
    path.write_text(json.dumps(plain), encoding="utf-8")
    return ly.load(path)


def of(plain):
    return plain["estimator"]["state"]


def test_a_solution_of_other_rows_than_its_summary_is_refused(tmp_path):
    model = ly.fit(NUMBERS, target="y")
    with pytest.raises(ValueError, match="the solution has 0 rows, but the summary has 3"):
        forged(model, tmp_path / "m.json", lambda plain: of(plain)["solution_"].update(n=0))


def test_products_of_no_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    gram = ly.LinearRegression(method="gram").fit(X, X.sum(axis=1)).summary_
    cross = gram.centered_crossprod.copy()
    cross[:2, :2] = [[1e-8, 1e308], [1e308, 5.0]]  # eigenvalues did not converge
    with pytest.raises(ValueError, match="The summary is invalid"):
        replace(gram, centered_crossprod=cross).solve()


def test_cross_products_that_are_not_symmetric_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"centered_crossprod is not symmetric, at estimator\.state\.summary_"):
        forged(
            ly.fit({"x": np.arange(8.0), "y": np.arange(8.0) % 3}, target="y", method="gram"),
            tmp_path / "m.json",
            lambda plain: of(plain)["summary_"]["centered_crossprod"]["values"].__setitem__(1, 7.0),
        )


def test_a_label_beyond_64_bits_is_refused(tmp_path):
    model = ly.fit({"x": [0.0, 1.0, 2.0, 3.0], "y": [0, 1, 0, 1]}, target="y", model="lda")
    with pytest.raises(ValueError, match="The classes of the target must be different strings, booleans or numbers"):
        forged(model, tmp_path / "m.json", lambda plain: plain["design"]["target"]["classes"].__setitem__(1, 10**40))


def test_a_table_shows_what_numpy_has_no_kind_for():
    text = str(Table({"label": np.array([10**40, None, decimal.Decimal("1.5")], dtype=object)}))
    assert str(10**40) in text
    assert "1.5" in text


def test_statistics_without_a_value_are_missing(tmp_path):
    x = np.arange(8.0)
    y = np.array([0.1, 1.3, 1.8, 3.5, 3.9, 5.2, 5.7, 7.4])
    robust = ly.fit({"x": x, "y": y}, target="y", covariance="HC1")
    loaded = forged(robust, tmp_path / "m.json", lambda plain: of(plain)["meat_"]["values"].__setitem__(-1, "NaN"))
    assert np.isnan(loaded.glance()["p_value"][0])  # an SVD did not converge
    labels = ly.fit({"x": x, "y": ["a", "b", "a", "a", "b", "a", "b", "b"]}, target="y")
    with pytest.raises(ValueError, match="null_log_likelihood_ contradicts"):  # it would divide by zero
        forged(labels, tmp_path / "m.json", lambda plain: of(plain).update(null_log_likelihood_=0.0))


# --- numbers near the end of float64 --------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0, 290, 299, 300, 307])
def test_products_in_double_double_are_exact_up_to_the_end_of_float64(exponent):
    random = np.random.default_rng(exponent)
    a, b = random.uniform(-9, 9, 50) * 10.0**exponent, random.uniform(-1, 1, 50)
    product, error = two_product(a, b)
    for factors, parts in zip(zip(a, b, strict=True), zip(product, error, strict=True), strict=True):
        assert Fraction(factors[0]) * Fraction(factors[1]) == sum(map(Fraction, parts))


@pytest.mark.filterwarnings("ignore:overflow encountered")  # the covariance, in the user's units
@pytest.mark.parametrize("model", [ly.LinearDiscriminantAnalysis, ly.QuadraticDiscriminantAnalysis])
def test_discriminants_do_not_depend_on_the_unit(model):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = X[:, 0] + 0.3 * random.normal(size=60) > 0
    expected = model().fit(X, y).predict_proba(X)
    X[:, 0] *= 2.0**1000  # its means were NaN, and so was every prediction
    np.testing.assert_allclose(model().fit(X, y).predict_proba(X), expected, rtol=1e-9, atol=1e-12)


# --- linearly check -------------------------------------------------------------------------------


def told(columns: dict[str, list[float]]) -> dict[str, str]:
    rows = [columns, *zip(*columns.values(), strict=True)]
    tables = file_tables(io.BytesIO("\n".join(",".join(map(str, row)) for row in rows).encode()))
    return {one.about: one.claim for one in inspect_table(tables, "y").findings}


@pytest.mark.parametrize("size", [1e-250, 1e-12, 1.0, 1e250])
def test_check_judges_columns_of_any_size(size):
    x = np.array([1.0, -0.5, 2.0, 0.4, 0.3, 0.7])
    y = [1.0, 2.0, 5.0, 3.0, 3.5, 0.0]
    z = [2.0, 3.0, 1.0, 7.0, -7.0, 0.0]
    alone = told({"a": (size * x).tolist(), "z": z, "y": y})
    assert alone["collinearity"].startswith("no column is nearly a linear combination")
    if size != 1.0:
        assert "inf" not in alone["scale"]
        assert "standard deviations range from" in alone["scale"]
    assert told({"a": (size * x).tolist(), "b": (2 * size * x).tolist(), "y": y})["b"] == "is a multiple of a"
    assert told({"a": (size * x).tolist(), "b": (size * x).tolist(), "y": y})["b"] == "is a duplicate of a"
