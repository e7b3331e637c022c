"""Exports say what the model says: SQL in DuckDB and SQLite, ONNX in onnxruntime, plain Python; to 1e-12."""

import ast
import math
import sqlite3
import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pytest
from conftest import require

import linearly as ly
from linearly.export.graph import prediction_graph
from linearly.export.parity_check import ROWS, ParityCheck
from linearly.export.python import to_python

try:
    import duckdb
    import onnxruntime
    import sqlglot

    from linearly.export.onnx import OPSET, feed, to_onnx
    from linearly.export.sql import _SQLITE, to_sql

    onnxruntime.disable_telemetry_events()
    LACKING = ""
except ImportError as error:
    LACKING = str(error)

CLOSE = 1e-12
PRICE, KIND, ORDER, TARGET = "net 'price' €", 'kind "of" thing', "order", "select"
DROP = "'; DROP TABLE data; --"
LEVELS = ["plain", DROP, 'double "quotes"', "ünïcode ✓", "back\\slash"]
TWO = ["no", DROP]
THREE = ["a'b", 'c"d\\', "ünï ✓"]
MODELS = (
    "linear",
    "ridge",
    "lasso",
    "elastic-net",
    "logistic",
    "lda",
    "qda",
    "least-squares",
    "perceptron",
    "batch",
    "pocket",
    "averaged",
)
CASES = [
    *((model, TARGET) for model in MODELS[:4]),
    *((model, target) for model in MODELS[4:] for target in ("two", "three")),
    ("logistic", "whole"),
    ("lda", "truth"),
    ("pocket", "whole"),
]
FORMULA = (
    "~ x + `net 'price' €` + log(`net 'price' €`) + `kind \"of\" thing` + order + flag + `kind \"of\" thing`:x"
    " + poly(x, 3) + scale(x):flag + C(order)"
)
PLAIN = "~ x + log(`net 'price' €`) + `kind \"of\" thing` + I(x^2)"


@pytest.fixture(autouse=True)
def _needs():
    require(not LACKING, f"needs duckdb, onnx, onnxruntime and sqlglot: {LACKING}")


def frame(n=300, seed=0):
    draw = np.random.default_rng(seed)
    x, price = draw.normal(3, 2, n), draw.lognormal(0, 1, n)
    kind, order, flag = draw.choice(LEVELS, n), draw.integers(1, 4, n), draw.random(n) > 0.4
    y = 0.5 * x - np.log(price) + (kind == DROP) + 0.3 * order - flag + draw.logistic(size=n)
    return pl.DataFrame(
        {
            "x": x,
            PRICE: price,
            KIND: kind,
            ORDER: order,
            "flag": flag,
            TARGET: y,
            "two": [TWO[int(v > 1.5)] for v in y],
            "three": [THREE[int(v > 1) + int(v > 3)] for v in y],
            "whole": [(-7, 0, 3)[int(v > 1) + int(v > 3)] for v in y],
            "truth": y > 1.5,
            "id": np.arange(n),
        }
    )


DATA, NEW = frame(), frame(400, seed=1)


def fitted(model, target, right=None, **options):
    right = right or (PLAIN if model in ("lda", "qda") else FORMULA)
    name = f"`{target}`" if target == TARGET else target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that are combinations, perceptrons that do not settle
        return ly.fit(DATA, formula=f"{name} {right}", model=model, **options)


@pytest.fixture(scope="module")
def models():
    return {case: fitted(*case) for case in CASES}


def agree(model, predictions, probabilities, data=NEW, close=CLOSE):
    mine = model.predict(data)
    assert len(predictions) == len(mine)
    if model.classes:
        assert list(predictions) == mine.tolist()
    else:
        size = np.abs(mine).max()
        assert np.abs(np.array(predictions, dtype=float) - mine).max() <= close * size
    if hasattr(model.estimator, "predict_proba"):
        assert np.abs(np.array(probabilities, dtype=float) - model.predict_proba(data)).max() <= close


def in_duckdb(query, data):
    with duckdb.connect() as base:
        base.register("data", data.to_arrow())
        rows = base.execute(query).fetchall()
    return [row[1:] for row in sorted(rows)]


def in_sqlite(query, data):
    base = sqlite3.connect(":memory:")
    for name, function in _SQLITE.items():
        base.create_function(name, 2 if name in ("pow", "power") else 1, function)
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in data.columns)
    base.execute(f"CREATE TABLE data ({names})")
    base.executemany(f"INSERT INTO data VALUES ({', '.join('?' * data.width)})", data.rows())
    rows = base.execute(query).fetchall()
    assert base.execute("SELECT count(*) FROM data").fetchone() == (len(data),)  # nothing was dropped
    base.close()
    return [row[1:] for row in sorted(rows)]


def in_onnxruntime(data, model, columns, dtype="float64"):
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed(prediction_graph(model), columns, dtype)), strict=True))


# --- agreement ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_to_sql_in_duckdb_predicts_as_the_model(models, case):
    rows = in_duckdb(to_sql(models[case], keep=["id"]), NEW)
    agree(models[case], [row[0] for row in rows], [row[1:] for row in rows])


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_to_sql_in_sqlite_predicts_as_the_model(models, case):
    rows = in_sqlite(to_sql(models[case], dialect="sqlite", keep=["id"]), NEW)
    truth = case[1] == "truth"
    agree(models[case], [bool(row[0]) if truth else row[0] for row in rows], [row[1:] for row in rows])


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_to_onnx_in_onnxruntime_predicts_as_the_model(models, case):
    found = in_onnxruntime(to_onnx(models[case]), models[case], NEW.to_dict(as_series=False))
    assert found["known"].all()
    agree(models[case], found["prediction"].tolist(), found.get("probabilities"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_to_python_predicts_as_the_model(models, case):
    namespace = {}
    exec(to_python(models[case]), namespace)
    rows = NEW.to_dicts()
    asked = namespace.get("predict_proba")
    assert (asked is not None) == hasattr(models[case].estimator, "predict_proba")
    probabilities = [list(asked(row).values()) for row in rows] if asked else None
    agree(models[case], [namespace["predict"](row) for row in rows], probabilities)


@pytest.mark.parametrize("case", [("linear", TARGET), ("logistic", "three"), ("qda", "two")], ids="-".join)
def test_to_onnx_in_float32_predicts_nearly_as_the_model(case):
    model = fitted(*case, right=PLAIN)
    found = in_onnxruntime(to_onnx(model, dtype="float32"), model, NEW.to_dict(as_series=False), "float32")
    assert found["known"].all()
    if model.classes:
        assert np.abs(found["probabilities"] - model.predict_proba(NEW)).max() < 1e-4
        assert (found["prediction"] == model.predict(NEW)).mean() > 0.99
    else:
        assert np.allclose(found["prediction"], model.predict(NEW), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "function", ["abs", "cos", "exp", "expm1", "log", "log10", "log1p", "log2", "sin", "sqrt", "tan", "power", "ratio"]
)
def test_exports_of_every_formula_function_predict_as_the_model(function):
    price = f"`{PRICE}`"
    term = {"power": f"I({price}^0.5) + I(x^3) + I({price}^-2)", "ratio": f"I((x - 1) / ({price} + 1))"}
    model = fitted("linear", TARGET, right="~ " + term.get(function, f"{function}({price} / 4)"))
    rows = in_duckdb(to_sql(model, keep=["id"]), NEW)
    agree(model, [row[0] for row in rows], None)
    rows = in_sqlite(to_sql(model, dialect="sqlite", keep=["id"]), NEW)
    agree(model, [row[0] for row in rows], None)
    found = in_onnxruntime(to_onnx(model), model, NEW.to_dict(as_series=False))
    agree(model, found["prediction"].tolist(), None)
    namespace = {}
    exec(to_python(model), namespace)
    agree(model, [namespace["predict"](row) for row in NEW.to_dicts()], None)


def test_to_sql_with_a_mean_of_1e9_loses_no_digits():
    draw = np.random.default_rng(0)
    x = 1e9 + draw.normal(size=200)
    data = pl.DataFrame({"x": x, "y": 3 * (x - 1e9) + draw.normal(size=200), "id": np.arange(200)})
    model = ly.fit(data, target="y", features=["x"])
    rows = in_duckdb(to_sql(model, keep=["id"]), data)
    agree(model, [row[0] for row in rows], None, data)


def test_to_sql_with_extreme_scores_does_not_overflow():
    model = fitted("logistic", "three", right="~ x")
    far = pl.DataFrame({"x": [-1e6, 1e6, 0.0], "id": [0, 1, 2]})
    rows = in_duckdb(to_sql(model, keep=["id"]), far)
    agree(model, [row[0] for row in rows], [row[1:] for row in rows], far)
    rows = in_sqlite(to_sql(model, dialect="sqlite", keep=["id"]), far)
    agree(model, [row[0] for row in rows], [row[1:] for row in rows], far)


def test_to_sql_of_many_columns_and_classes_runs():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(400, 40))
    labels = [f"k{k:02}" for k in (X[:, :5].sum(axis=1) * 4).astype(int) % 15]
    data = pl.DataFrame({f"c{j}": X[:, j] for j in range(40)} | {"label": labels})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ly.fit(data, target="label", model="averaged", max_passes=2)
    data = data.with_row_index("id")
    assert [row[0] for row in in_duckdb(to_sql(model, keep=["id"]), data)] == model.predict(data).tolist()
    rows = in_sqlite(to_sql(model, dialect="sqlite", keep=["id"]), data)
    assert [row[0] for row in rows] == model.predict(data).tolist()


# --- rows without an answer -----------------------------------------------------------------------


def holes():
    """Row by row a value that is missing or a level that is unseen, and at the end one good row."""
    row = {"x": 1.0, PRICE: 2.0, KIND: "plain", ORDER: 1, "flag": True}
    gaps = [row | {name: None} for name in row]
    gaps += [row | {"x": math.nan}, row | {"x": math.inf}, row | {KIND: "new"}, row | {ORDER: 9}, row | {PRICE: -1.0}]
    return [*gaps, row]


@pytest.mark.parametrize("case", [("linear", TARGET), ("logistic", "two"), ("logistic", "three"), ("pocket", "whole")])
def test_exports_give_no_prediction_for_missing_or_unseen_values(models, case):
    model, rows = models[case], holes()
    data = pl.DataFrame(rows).with_row_index("id")
    want = model.predict(pl.DataFrame(rows[-1:])).tolist()[0]
    want = want if model.classes else pytest.approx(want, rel=1e-12)
    namespace = {}
    exec(to_python(model), namespace)
    answers = [namespace["predict"](row) for row in rows]
    assert answers == [None] * (len(rows) - 1) + [want]
    answers = [row[0] for row in in_sqlite(to_sql(model, dialect="sqlite", keep=["id"]), data)]
    assert answers == [None] * (len(rows) - 1) + [want]
    found = in_duckdb(to_sql(model, keep=["id"]), data)
    assert [row[0] for row in found] == [None] * (len(rows) - 1) + [want]
    assert all(value is None for row in found[:-1] for value in row)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns[KIND] = [level or "" for level in columns[KIND]]
    with np.errstate(all="ignore"):
        found = in_onnxruntime(to_onnx(model), model, columns)
    assert found["known"].tolist() == [False] * (len(rows) - 1) + [True]
    numbers = found.get("probabilities", found["prediction"] if not model.classes else None)
    if numbers is not None:
        assert np.isnan(numbers[:-1]).all()
    if case[1] == "two":
        assert found["prediction"].tolist()[:-1] == [""] * (len(rows) - 1)


def test_exports_with_unseen_reference_predict_for_unseen_levels():
    model = ly.fit(DATA, target=TARGET, features=[KIND, "x"], unseen="reference")
    rows = [{KIND: "new", "x": 1.0}, {KIND: "plain", "x": 2.0}, {KIND: None, "x": 1.0}]
    data = pl.DataFrame(rows).with_row_index("id")
    want = [*model.predict(pl.DataFrame(rows[:2])).tolist(), None]
    close = [pytest.approx(value) if value is not None else None for value in want]
    assert [row[0] for row in in_duckdb(to_sql(model, keep=["id"]), data)] == close
    assert [row[0] for row in in_sqlite(to_sql(model, dialect="sqlite", keep=["id"]), data)] == close
    namespace = {}
    exec(to_python(model), namespace)
    assert [namespace["predict"](row) for row in rows] == close
    found = in_onnxruntime(to_onnx(model), model, {KIND: ["new", "plain", ""], "x": [1.0, 2.0, 1.0]})
    assert found["known"].tolist() == [True, True, False]
    assert found["prediction"][:2].tolist() == close[:2]


# --- the text itself ------------------------------------------------------------------------------


def test_to_sql_in_each_dialect_is_one_select():
    model = fitted("logistic", "three")
    for dialect in ("postgres", "snowflake", "bigquery", "mysql", "spark", "tsql", "clickhouse", "trino"):
        text = to_sql(model, dialect=dialect, table="shop.sales")
        statements = sqlglot.parse(text, read=dialect)
        assert len(statements) == 1
        assert isinstance(statements[0], sqlglot.exp.Select)
    with pytest.raises(ValueError, match="has no dialect"):
        to_sql(model, dialect="cobol")


def test_to_sql_quotes_table_names():
    model = fitted("linear", TARGET, right="~ x")
    text = to_sql(model, table='data"; DROP TABLE data; --')
    assert len(sqlglot.parse(text, read="duckdb")) == 1
    assert '"data""; DROP TABLE data; --"' in text
    assert sqlglot.parse_one(to_sql(model, table="linearly_input"), read="duckdb")
    with pytest.raises(ValueError, match="cannot be kept"):
        to_sql(model, keep=["prediction"])


def test_to_sql_refuses_columns_that_differ_only_in_case():
    data = {"x": [1.0, 2.0, 4.0], "X": [1.0, 3.0, 2.0], "y": [1.0, 2.0, 2.5]}
    with pytest.raises(ValueError, match="Columns 'x' and 'X' differ only in case"):
        to_sql(ly.fit(data, target="y"))


def test_to_python_source_imports_only_math():
    source = to_python(fitted("qda", "three"))
    tree = ast.parse(source)
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imported] == ["import math"]
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called.isdisjoint({"eval", "exec", "open", "__import__", "compile"})


def test_to_python_source_runs_without_linearly(tmp_path):
    model = fitted("logistic", "two", right="~ x")
    to_python(model, tmp_path / "exported.py")
    code = "import exported, sys; print(exported.predict({'x': 3}), 'numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"], cwd=tmp_path,
                         capture_output=True, text=True, check=True)  # fmt: skip
    assert run.stdout == f"{model.predict({'x': [3.0]})[0]} False\n"


def test_to_onnx_states_its_opset():
    import onnx

    graph = onnx.load_from_string(to_onnx(fitted("lda", "two")))
    assert {(opset.domain, opset.version) for opset in graph.opset_import} == {("", OPSET), ("ai.onnx.ml", 3)}
    assert graph.producer_name == "linearly"


# --- what cannot be exported ----------------------------------------------------------------------


@pytest.mark.parametrize("export", ["to_sql", "to_onnx", "to_python"])
def test_exports_refuse_the_voted_perceptron(tmp_path, export):
    model = fitted("voted", "two", right="~ x")
    with pytest.raises(ValueError, match="vote over all mistakes"):
        globals()[export](model, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("export", ["to_sql", "to_onnx", "to_python"])
@pytest.mark.parametrize("case", [("linear", TARGET), ("logistic", "two"), ("pocket", "three")])
def test_exports_that_disagree_with_the_model_are_refused(tmp_path, monkeypatch, export, case):
    model = fitted(*case, right="~ x")
    answers = model.predict

    def other(data):
        right = answers(data)
        names = model.classes
        return np.array([names[names.index(label) - 1] for label in right.tolist()]) if names else right + 1e-3

    monkeypatch.setattr(model, "predict", other)
    with pytest.raises(ValueError, match="differs from the model"):
        globals()[export](model, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_exports_without_rows_to_check_are_refused():
    data = {"x": [1e5, 2e5, 3e5, 4e5], "y": [1.0, 2.0, 2.5, 2.7]}
    with pytest.raises(ValueError, match="No rows could be generated"):
        to_python(ly.fit(data, formula="y ~ log(x - 50000)"))


def test_to_onnx_refuses_columns_named_like_its_outputs():
    data = {"known": [1.0, 2.0, 4.0], "y": [1.0, 2.0, 2.5]}
    with pytest.raises(ValueError, match="name of a part of the graph"):
        to_onnx(ly.fit(data, target="y"))
    with pytest.raises(ValueError, match="float64 or float32"):
        to_onnx(fitted("linear", TARGET, right="~ x"), dtype="float16")
    with pytest.raises(ValueError, match=r"linearly\.fit"):
        to_python(ly.LinearRegression())


def test_parity_check_makes_rows_that_the_design_can_code():
    model = fitted("linear", TARGET)
    found = ParityCheck(model)
    assert len(found) >= ROWS // 2
    assert set(found.columns[KIND]) == set(LEVELS)
    assert min(found.columns[PRICE]) > 0


def test_exports_that_round_powers_warn():
    x = 1e4 + np.linspace(0, 10, 40)
    model = ly.fit({"x": x, "y": np.sin(x)}, formula="y ~ poly(x, 3, raw=True)")
    with pytest.warns(ly.PrecisionWarning, match=r"differ from the model's by about \de[-+]\d\d of the standard"):
        to_python(model)
    near = ly.fit({"x": x - 1e4, "y": np.sin(x)}, formula="y ~ poly(x, 4, raw=True)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_python(near)
