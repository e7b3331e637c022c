"""The command line: answers, exit codes, JSON, standard input, bad input, interruption, and its page in the docs."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import screens

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

import linearly as ly
from linearly.cli.errors import format_error, with_option_names
from linearly.cli.group import cli
from linearly.cli.inputs import read_tables, split_rows
from linearly.cli.main import main
from linearly.cli.progress import Progress, format_thousands
from linearly.dataset.design.cached_rows import cache_in_memory
from linearly.dataset.sources import as_tables
from linearly.models.registry import MODELS

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = tuple(cli.commands)
CLEAN = ("--without", "customer,currency", "--missing", "drop")


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a directory with loans.csv; its exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    screens.prepare(tmp_path)

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def model(run):
    """A logistic model of loans.csv."""
    assert run("fit", "loans.csv", "-t", "repaid", *CLEAN, "-o", "model.json").code == 0
    return "model.json"


def real(*words, **options):
    """The command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "linearly", *words], capture_output=True, check=False, **options)


# --- light, listed, documented --------------------------------------------------------------------


def test_answers_without_importing_anything_heavy():
    asked = [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS), ["completion", "zsh"], ["frobnicate"]]
    code = (
        "import json, sys; from linearly.cli.main import main; asked = json.loads(sys.argv[1]);"
        "codes = [main(words) for words in asked]; print(json.dumps([codes, sorted(sys.modules)]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, json.dumps(asked)], capture_output=True, text=True, check=True)
    codes, modules = json.loads(done.stderr.splitlines()[-1])
    assert codes == [0] * (len(asked) - 1) + [2]
    loaded = {name.partition(".")[0] for name in modules}
    assert not loaded & {"numpy", "scipy", "sklearn", "narwhals", "pyarrow", "pandas", "polars", "matplotlib", "rich"}


@pytest.mark.slow
def test_the_cli_extra_is_enough(run):
    code = (
        "import sys\n"
        "for name in ('onnx', 'sqlglot', 'starlette', 'uvicorn'):\n"
        "    sys.modules[name] = None\n"
        "from linearly.cli.main import main\n"
        "clean = ['--without', 'customer,currency', '--missing', 'drop']\n"
        "for words in (['demo'], ['check', 'loans.csv', '-t', 'repaid'],\n"
        "              ['fit', 'loans.csv', '-t', 'repaid', *clean, '-o', 'm.json'],\n"
        "              ['predict', 'm.json', 'loans.csv', '-o', 'a.parquet'], ['evaluate', 'm.json', 'loans.csv'],\n"
        "              ['report', 'm.json', 'loans.csv'], ['export', 'm.json', '--to', 'python']):\n"
        "    assert main(words) == 0, words\n"
        "assert main(['export', 'm.json', '--to', 'sql']) == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install 'linearly[export]'" in done.stderr.splitlines()[-1]


def test_version(run):
    assert run("--version").out == f"linearly {ly.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_json_and_debug(run, name):
    told = run(name, "--help").out
    assert f"linearly {name}" in re.split(r"Examples?:\n", told)[1]
    assert "--json" in told
    assert "--debug" in told


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_place_in_the_docs(name):
    headings = [line for line in screens.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert any(f"`linearly {name}`" in line for line in headings)


def test_the_screens_in_the_docs_are_true(run, tmp_path, monkeypatch, require):
    require(all(map(find_spec, ("onnx", "sqlglot"))), "needs linearly[export]")
    monkeypatch.setenv("COLUMNS", "80")
    shown = screens.blocks(screens.PAGE.read_text(encoding="utf-8"))
    assert len(shown) > 5
    for block in shown:
        assert screens.timeless(screens.replayed(block)) == screens.timeless(block)


def test_the_package_names_the_command():
    assert 'linearly = "linearly.cli.main:main"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


# --- every command answers with JSON --------------------------------------------------------------


def two_models(run):
    assert run("fit", "earlier.csv", "-t", "income", *CLEAN, "-o", "a.json").code == 0
    assert run("fit", "later.csv", "--like", "a.json", "-o", "b.json").code == 0


JSON = {
    "demo": (["demo", "loans"], {"demo", "title", "saved", "amount", "granted_errors"}),
    "check": (["check", "loans.csv", "-t", "repaid"], {"rows", "columns", "findings", "counts"}),
    "fit": (["fit", "loans.csv", "-t", "income", *CLEAN, "--holdout", "0.2"], {"terms", "statistics", "tests", "vif"}),
    "compare": (["compare", "loans.csv", "-t", "income", *CLEAN], {"models", "baseline", "folds", "score"}),
    "show": (["show", "model.json"], {"terms", "statistics", "classes"}),
    "predict": (["predict", "model.json", "loans.csv"], {"prediction", "probability[no]", "probability[yes]"}),
    "evaluate": (["evaluate", "model.json", "loans.csv"], {"metrics", "confusion", "rows", "notes"}),
    "report": (["report", "model.json", "loans.csv", "-o", "page.html"], {"saved"}),
    "diff": (["diff", "a.json", "b.json"], {"terms", "chow", "notes"}),
    "merge": (["merge", "a.json", "b.json", "-o", "c.json"], {"terms", "merged", "saved"}),
    "export": (["export", "model.json", "--to", "python"], {"to", "text"}),
    "selftest": (["selftest", "nist"], {"results", "counts", "seconds", "long"}),
    "completion": (["completion", "fish"], {"shell", "script"}),
}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "lab"])
def test_json(run, model, name):
    if name in ("diff", "merge"):
        two_models(run)
    words, keys = JSON[name]
    result = run(*words, "--json")
    assert result.code == 0, result.err
    assert keys <= set(result.json)
    assert "NaN" not in result.out


def test_json_of_the_lab_is_its_address(require):
    require(find_spec("uvicorn") and find_spec("starlette"), "needs linearly[lab]")
    words = [sys.executable, "-m", "linearly", "lab", "--no-browser", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        told = ""
        while not told.rstrip().endswith("}"):
            line = lab.stdout.readline()
            assert line, "the lab ended before it gave its address"
            told += line
        lab.send_signal(signal.SIGINT)
        rest, _ = lab.communicate(timeout=60)
    assert json.loads(told)["url"].startswith("http://127.0.0.1:")
    assert rest == ""
    assert lab.returncode == 0


# --- the journey of a person with a file ----------------------------------------------------------


def test_from_check_to_export(run, tmp_path, require):
    checked = run("check", "loans.csv", "-t", "repaid")
    assert checked.code == 0
    follow = checked.err.strip().removeprefix("next: linearly ").split()
    assert follow == ["fit", "loans.csv", "--target", "repaid", "--without", "currency,customer", "--missing", "drop"]
    fitted = run(*follow, "-o", "model.json")
    assert fitted.code == 0
    assert "saved model.json" in fitted.err
    assert "saved" not in fitted.out
    lines = Path("loans.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    predicted = run("predict", "model.json", "new.csv")
    header, *rows = predicted.out.splitlines()
    assert header.replace('"', "") == "prediction,probability[no],probability[yes]"
    assert len(rows) == 500
    expected = ly.load("model.json").predict("loans.csv")
    assert [row.partition(",")[0].strip('"') or None for row in rows] == expected.tolist()
    assert run("predict", "model.json", "new.csv", "-o", "answers.parquet", "--keep", "customer").code == 0
    kept = as_tables("answers.parquet")
    assert list(kept.schema) == ["customer", "prediction", "probability[no]", "probability[yes]"]
    evaluated = run("evaluate", "model.json", "loans.csv", "--json").json
    complete = [i for i, answer in enumerate(expected) if answer is not None]
    right = np.mean([expected[i] == lines[i + 1].rpartition(",")[2] for i in complete])
    accuracy = next(row["value"] for row in evaluated["metrics"] if row["metric"] == "accuracy")
    assert accuracy == pytest.approx(right, abs=1e-12)
    exported = run("export", "model.json", "--to", "python", "-o", "answer.py")
    assert exported.code == 0
    names: dict[str, object] = {}
    exec(Path("answer.py").read_text(), names)
    row = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    row = {key: float(value) if value.replace(".", "").isdigit() else value for key, value in row.items()}
    assert "no" in str(names["predict"](row))


def test_fit_says_what_the_library_says(run):
    found = run("fit", "loans.csv", "-t", "income", *CLEAN, "--json").json
    whole = ly.fit("loans.csv", target="income", missing="drop", features=found["features"])
    assert [term["estimate"] for term in found["terms"]] == whole.tidy()["estimate"].tolist()
    assert found["rows"] == 476
    assert found["dropped"] == 24
    X = np.concatenate([block.X for block in whole.design_rows("loans.csv")])
    y = np.concatenate([block.y for block in whole.design_rows("loans.csv")])
    tests = {test["test"]: test["p_value"] for test in found["tests"]}
    table = ly.residual_tests(ly.LinearRegression().fit(X, y), X, y)
    for name in ("shapiro_wilk", "breusch_pagan"):
        expected = table["p_value"][table["test"].tolist().index(name)]
        assert tests[name] == pytest.approx(expected, rel=1e-6)
    against = {term["term"]: term["against"] for term in found["terms"] if "against" in term}
    assert against["job[manager]"] == "clerk"
    assert against["repaid[yes]"] == "no"


def test_two_numbers_may_be_labels(run):
    lines = Path("loans.csv").read_text().splitlines()
    Path("coded.csv").write_text("\n".join(re.sub(r"yes$", "1", re.sub(r"no$", "0", line)) for line in lines))
    result = run("fit", "coded.csv", "-t", "repaid", *CLEAN)
    assert result.code == 0
    assert "--model logistic" in result.err
    assert "--model logistic" not in run("fit", "coded.csv", "-t", "income", *CLEAN).err


@pytest.mark.parametrize("width", ["60", "80", "120"])
@pytest.mark.parametrize("target", ["repaid", "income", "balance"])
def test_the_screen_fits(run, monkeypatch, width, target):
    monkeypatch.setenv("COLUMNS", width)
    for words in (["fit", "loans.csv", "-t", target, *CLEAN], ["check", "loans.csv", "-t", target]):
        result = run(*words)
        longest = max(result.out.splitlines(), key=len)
        assert len(longest) <= max(int(width), 72), longest


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_has_a_screen(run, name):
    target = "income" if name in ("linear", "ridge") else "repaid"
    result = run("fit", "loans.csv", "-t", target, *CLEAN, "-m", name, "-o", f"{name}.json")
    assert result.code == 0, result.err
    assert "Traceback" not in result.err
    assert run("show", f"{name}.json").code == 0


@pytest.mark.filterwarnings("ignore:The batch perceptron did not settle")
def test_a_model_of_many_passes_reads_a_small_file_once(run):
    progress = Progress()
    tables = read_tables("loans.csv", progress)
    fitted = ly.fit(tables, target="repaid", features=["age", "late"], model="batch", max_passes=50)
    assert fitted.estimator.n_passes_ == 50
    assert progress.passes == 2  # the labels, and the rows
    rows = fitted.design_rows(tables)
    assert cache_in_memory(rows, max_bytes=8) is rows
    again = type(fitted.estimator)(max_passes=50).fit(rows)
    np.testing.assert_array_equal(again.coef_, fitted.estimator.coef_)


def test_long_names_stay_apart(run, monkeypatch):
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    columns = {f"the number of things of kind {j} that were counted": rng.normal(size=50) for j in range(5)}
    csv.write_csv(pa.table(columns | {"y": rng.normal(size=50)}), "long.csv")
    monkeypatch.setenv("COLUMNS", "70")
    told = run("fit", "long.csv", "-t", "y").out
    assert len({line[:20] for line in told.splitlines() if "…" in line}) == 5


def test_what_can_be_told_apart_has_no_estimate(run):
    Path("apart.csv").write_text("x,y\n" + "".join(f"{i},{'high' if i > 10 else 'low'}\n" for i in range(20)))
    result = run("fit", "apart.csv", "-t", "y")
    assert result.code == 0
    assert "not estimates" in result.out
    assert "--alpha above 0" in result.err


def test_three_labels(run):
    result = run("fit", "loans.csv", "-t", "job", *CLEAN)
    assert result.code == 0
    assert "log-odds against 'student'" in result.out


def test_holdout_is_every_fifth_row(run):
    found = run("fit", "loans.csv", "-t", "age", "--without", "balance", "--holdout", "0.2", "--json").json
    assert found["rows"] == 400
    assert found["holdout"]["rows"] == 100
    lines = Path("loans.csv").read_text().splitlines()
    Path("kept.csv").write_text("\n".join([lines[0], *(row for i, row in enumerate(lines[1:]) if i % 5 != 4)]) + "\n")
    kept = run("fit", "kept.csv", "-t", "age", "--without", "balance", "--json").json
    expected = [term["estimate"] for term in kept["terms"]]
    np.testing.assert_allclose([term["estimate"] for term in found["terms"]], expected, rtol=1e-9)


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5, 0.99, 1 / 7, 1e-3])
def test_split_takes_every_row_once(share):
    n = 200_000  # several chunks
    kept, held = split_rows(as_tables({"i": np.arange(n)}), share)
    parts = [np.concatenate([chunk.frame["i"].to_numpy() for chunk in part]) for part in (kept, held)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert len(parts[1]) == int(n * Fraction(share).limit_denominator(1000))
    for part in (kept, held):
        starts = [chunk.start for chunk in part]
        assert starts == np.cumsum([0, *(len(chunk) for chunk in part)])[:-1].tolist()


def test_a_bad_row_is_named_by_its_own_line_though_rows_are_held_out(run):
    lines = Path("loans.csv").read_text().splitlines()
    Path("gap.csv").write_text("\n".join([*lines[:9], re.sub(r"^(\d+),\d+", r"\1,", lines[9]), *lines[10:30]]) + "\n")
    result = run("fit", "gap.csv", "-t", "income", "--without", "balance", "--holdout", "0.25")
    assert result.code == 1
    assert "'age' is missing in line 10 of gap.csv" in result.err


def test_cv_and_alpha(run):
    chosen = run("fit", "loans.csv", "-t", "income", *CLEAN, "--cv", "--json").json
    assert chosen["kind"] == "ridge regression"
    assert chosen["alpha_chosen"]
    fixed = run("fit", "loans.csv", "-t", "income", *CLEAN, "--alpha", chosen["alpha"], "--json").json
    estimates = [[term["estimate"] for term in found["terms"]] for found in (chosen, fixed)]
    np.testing.assert_allclose(*estimates, rtol=1e-9)


def test_merge_is_the_fit_on_all_rows(run):
    two_models(run)
    merged = run("merge", "a.json", "b.json", "-o", "c.json", "--json").json
    whole = run("fit", "loans.csv", "--like", "a.json", "--json").json
    estimates = [[term["estimate"] for term in found["terms"]] for found in (merged, whole)]
    np.testing.assert_allclose(*estimates, rtol=1e-9)
    assert merged["rows"] == whole["rows"]
    assert merged["dropped"] == whole["dropped"] == 24


def test_compare_pairs_the_folds(run):
    found = run("compare", "loans.csv", "-t", "repaid", *CLEAN, "-m", "lda", "-m", "logistic", "-m", "pocket", "--json")
    models = found.json["models"]
    assert [model["score"] for model in models] == sorted((model["score"] for model in models), reverse=True)
    best = models[0]
    assert best["within_error"]
    assert best["behind"] == 0
    for model in models[1:]:
        apart = np.subtract(best["folds"], model["folds"])
        assert model["behind"] == pytest.approx(apart.mean())
        reach = 2.7764451051977987 * apart.std(ddof=1) / np.sqrt(5)  # t with 4 degrees of freedom
        assert model["within_error"] == (apart.mean() - reach <= 0)


def test_compare_takes_every_model_that_applies(run):
    found = run("compare", "loans.csv", "-t", "repaid", "--features", "age,late", "--folds", "2", "--json").json
    names = {model["model"] for model in found["models"]} | set(found["refused"])
    assert names == {name for name, entry in MODELS.items() if entry.classifies}
    numbers = run("compare", "loans.csv", "-t", "income", "--features", "age,late", "--json").json
    assert {model["model"] for model in numbers["models"]} == {"linear", "ridge"}


def test_compare_leaves_out_levels_and_labels_of_absent_rows(run):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{'pq'[i % 2]},{'uv'[i // 2 % 2]},1" for i in range(40)]
    Path("there.csv").write_text("\n".join(["x,a,y,w", *lines]) + "\n")
    Path("all.csv").write_text("\n".join(["x,a,y,w", *lines, "1.5,r,z,0"]) + "\n")
    there, every = (
        run("compare", name, "-t", "y", "--weight", "w", "-m", "lda", "-m", "logistic", "--json").json
        for name in ("there.csv", "all.csv")
    )
    assert every["columns"] == there["columns"] == 2
    assert every["refused"] == there["refused"] == {}
    assert [one["folds"] for one in every["models"]] == [one["folds"] for one in there["models"]]


# --- check ----------------------------------------------------------------------------------------


def found_in(run, columns, target="y"):
    import pyarrow as pa
    from pyarrow import csv

    csv.write_csv(pa.table(columns), "table.csv")
    return {
        (one["about"], one["level"]): one for one in run("check", "table.csv", "-t", target, "--json").json["findings"]
    }


def test_check_names_every_trouble(run):
    rng = np.random.default_rng(0)
    n = 200
    a, b, c = rng.normal(size=(3, n))
    columns = {
        "a": a,
        "b": b,
        "twin": a,
        "scaled": -2 * b,
        "moved": 5 - 2 * b,
        "both": a + b,
        "near": c,
        "nearly": c + 1e-3 * rng.normal(size=n),
        "same": np.ones(n),
        "who": [f"person {i}" for i in range(n)],
        "number": np.arange(n) + 7,
        "far": 1e9 + rng.normal(size=n),
        "huge": 1e9 * rng.normal(size=n),
        "y": np.where(a + b + rng.normal(size=n) > 0, "up", "down"),
    }
    found = found_in(run, columns)
    assert "duplicate of a" in found["twin", "problem"]["text"]
    assert "multiple of b" in found["scaled", "problem"]["text"]
    assert "linear function of b" in found["moved", "problem"]["text"]
    assert "combination of a, b" in found["both", "problem"]["text"]
    assert "nearest near" in found["nearly", "note"]["text"]
    assert "constant" in found["same", "problem"]["text"]
    assert "identifier" in found["who", "problem"]["text"]
    assert "identifier" in found["number", "note"]["text"]
    assert "far from zero" in found["far", "note"]["text"]
    assert ("scale", "note") in found
    assert "overlap" in found["y", "ok"]["text"]


def test_a_column_to_leave_out_is_one_of_the_table(run):
    rng = np.random.default_rng(3)
    celsius, place = rng.normal(size=60), np.repeat(["a", "b"], 30)
    columns = {
        "temp[C]": celsius,
        "temp[F]": 32 + 1.8 * celsius,
        "place": place,
        "flat": np.where(place == "b", 1.5, 4),
    }
    found = found_in(run, {"flat": columns.pop("flat"), **columns, "y": celsius + rng.normal(size=60)})
    assert found["temp[F]", "problem"]["options"] == [["--without", "temp[F]"]]
    assert found["temp[F]", "problem"]["remedy"] == "leave it out: --without 'temp[F]'"
    assert found["place[b]", "problem"]["options"] == [["--without", "place"]]


@pytest.mark.parametrize(
    ("code", "others"),
    [(-999, "10 to 69"), (9999, "10 to 69"), (-1, "10 to 69"), (99, "1 to 5")],
)
def test_check_doubts_numbers_that_are_codes_for_missing_values(run, code, others):
    low, high = map(int, others.split(" to "))
    x = [code if i % 15 == 7 else low + i % (high - low + 1) for i in range(120)]
    y = np.random.default_rng(0).normal(size=120)
    told = f"is exactly {code} in 8 rows, far from the rest ({others}): a code for missing values?"
    assert found_in(run, {"x": x, "y": y})["x", "note"]["text"] == told
    assert "values? If so, leave those cells empty" in " ".join(run("check", "table.csv", "-t", "y").out.split())
    found_in(run, {"x": y, "y": x})
    assert f"the target {told}"[:60] in " ".join(run("check", "table.csv", "-t", "y").out.split())


@pytest.mark.parametrize(
    "x",
    [
        [*[99] * 5, *range(20, 100)],
        [*[-1] * 20, *[0] * 20, *[1] * 20],
        [*[-1] * 20, *[1] * 20],
        [*[-1] * 20, *range(60)],
        [*range(60), 999],
    ],
    ids=["the oldest", "three steps", "two", "steps", "once"],
)
def test_check_accuses_no_ordinary_number_of_being_a_code(run, x):
    y = np.random.default_rng(0).normal(size=len(x))
    assert not [one for one in found_in(run, {"x": x, "y": y}).values() if "exactly" in one["text"]]


def test_codes_at_an_edge_add_up_wherever_the_rows_are_split():
    from linearly.checks.sentinel_values import Edge

    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.choice([-999.0, -99.0, -9.0, -1.0, 3.0, 4.0, 99.0], size=8)
        for sign in (1, -1):
            for cut in range(9):
                assert Edge.of(values[:cut], sign).plus(Edge.of(values[cut:], sign), sign) == Edge.of(values, sign)


def test_points_beside_decimal_commas_are_not_read_as_fractions(run):
    rng = np.random.default_rng(0)
    people, price = rng.integers(1001, 999999, 60), rng.normal(500, 100, 60)
    rows = [f"{a:,};{b:.2f}".translate(str.maketrans(",.", ".,")) for a, b in zip(people, price, strict=True)]
    Path("t.csv").write_text("\n".join(["people;price", *rows]) + "\n")
    checked = run("check", "t.csv", "-t", "price", "--json").json
    assert [column["kind"] for column in checked["columns"]] == ["text", "numbers"]
    (doubt,) = [one for one in checked["findings"] if one["about"] == "people"]
    assert "though its numbers are written like" in doubt["text"]
    Path("t.csv").write_text("\n".join(["people;price;label", *(f"0.{i:03d};1.5;1,5" for i in range(60))]) + "\n")
    assert [one["kind"] for one in run("check", "t.csv", "--json").json["columns"]] == ["numbers", "numbers", "text"]


def test_compare_doubts_a_target_of_two_numbers(run):
    rng = np.random.default_rng(0)
    Path("t.csv").write_text("\n".join(["x,y", *(f"{rng.normal():.3f},{i % 2}" for i in range(60))]) + "\n")
    compared = run("compare", "t.csv", "-t", "y")
    assert "note: y holds only 0 and 1. The usual model of such a target is logistic: --model logistic." in compared.err
    assert "holds only" not in run("compare", "t.csv", "-t", "y", "-m", "logistic").err


def test_evaluate_counts_the_rows_that_it_leaves_out(run, model):
    assert "note: 24 of 500 rows are left out, having missing values." in run("evaluate", model, "loans.csv").err
    assert run("evaluate", model, "loans.csv", "--json").json["dropped"] == 24


def test_fit_tells_of_a_column_of_one_level(run):
    fitted = run("fit", "loans.csv", "-t", "repaid", "--without", "customer", "--missing", "drop")
    assert "note: currency has one level in the rows fitted, and tells nothing: it is left out." in fitted.err


def test_remedies_are_those_of_the_command_line(run):
    Path("few.csv").write_text("x,y\n1,2\n2,3\n4,9\n")
    assert run("compare", "few.csv", "-t", "y").err.endswith("use fewer, such as --folds 2.\n")
    Path("folder").mkdir()
    assert run("show", "folder").err == "error: folder is a directory: name a model file.\n"
    for name in "ab":
        Path(f"folder/{name}.csv").write_text("x,y\n1,2\n2,3\n4,9\n")
    assert "quote the glob: 'folder/*.csv'." in run("fit", "folder/a.csv", "folder/b.csv", "-t", "y").err
    for name in ("README.txt", "z.txt"):  # read first, and last
        note = Path("folder") / name
        note.write_text("hello\n")
        assert run("check", "folder").err.endswith(f"To leave {name} out, give a glob: 'folder/*.csv'.\n")
        note.unlink()
    refused = run("fit", "few.csv", "-t", "y", "--param", "covariance=HC9").err
    assert refused.startswith("error: covariance must be one of")
    assert "needs --groups COLUMN" in run("fit", "few.csv", "-t", "y", "--param", "covariance=cluster").err


def test_a_directory_that_cannot_be_written_to_is_named():
    absent = FileNotFoundError(2, "No such file or directory", "/proc/.linearly-44cac8f5.saving")
    assert format_error(absent) == "The directory /proc cannot be written to."
    denied = PermissionError(13, "Permission denied", "/usr/.linearly-44cac8f5.saving")
    assert format_error(denied) == "The directory /usr cannot be written to: permission denied."


def test_a_reader_that_leaves_ends_the_command_as_any_other(run, model):
    rows = Path("loans.csv").read_text().splitlines()
    Path("many.csv").write_text("\n".join([rows[0], *(rows[1:] * 20)]) + "\n")  # more than a pipe holds
    words = [sys.executable, "-m", "linearly", "predict", model, "many.csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (141, b"")


def test_long_levels_do_not_flood_a_screen(run):
    rng = np.random.default_rng(0)
    rows = [f"{'lorem ipsum ' * 300}{i % 4},{rng.normal():.3f},{'dolor ' * 300}{i % 3}" for i in range(120)]
    Path("t.csv").write_text("\n".join(["text,x,label", *rows]) + "\n")
    for words in (("check", "-t", "x"), ("check", "-t", "label"), ("fit", "-t", "x")):
        told = run(words[0], "t.csv", *words[1:])
        assert told.code == 0
        assert len(told.out) < 3000
    assert "text against lorem ipsum" in told.out


def test_check_doubts_codes_with_leading_zeros(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(501, 99999):05d},{1 + i % 12:02d},{rng.normal():.3f}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["zip,month,y", *rows]) + "\n")
    checked = run("check", "t.csv", "-t", "y")
    assert "zip: has leading zeros ('0" in checked.out
    assert "month: has" not in checked.out
    assert checked.err == "next: linearly fit t.csv --target y --without zip\n"


NUMBERS = [f"{1.5 * i}" for i in range(60)]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([*NUMBERS[:-1], "-"], "59 of its 60 different values are numbers and '-' is not (first '-' in line 61 of"),
        ([f"${x}" for x in NUMBERS], "its numbers are written like '$0.0'"),
        ([f"{x} %" for x in NUMBERS], "its numbers are written like '0.0 %'"),
        ([f"<{x}" if i % 9 == 0 else x for i, x in enumerate(NUMBERS)], "7 of its 60 numbers are written like '<0.0'"),
        ([f"{x}-" if i % 3 == 0 else x for i, x in enumerate(NUMBERS)], "20 of its 60 numbers are written like '0.0-'"),
        ([f"{x} kg/m²" for x in NUMBERS], "its numbers are written like '0.0 kg/m²'"),
        ([f"{1000 + i:_}" for i in range(60)], "its numbers are written like '1_000'"),
        ([f"\u00a0{x}" for x in NUMBERS], "its numbers are written like '\\xa00.0'"),
        ([chr(0xFF11) + chr(0xFF10 + i % 10) * (1 + i // 10) for i in range(60)], "its numbers are written like"),
        ([f'"{1000 * i + 1000:,}"' for i in range(60)], "its numbers are written like '1,000'"),
        ([x.replace("1", "\u22121") for x in NUMBERS], "13 of its 60 numbers are written like"),
        ([f"{i + 1}D5" for i in range(60)], "its numbers are written like '10D5'"),
        ([f"{x}D-03" for x in NUMBERS], "its numbers are written like '0.0D-03'"),
        ([*(f"€{x}" for x in NUMBERS[:-2]), "n.a.", "?"], "values are numbers and '?' and 'n.a.' are not, and its num"),
    ],
    ids=[
        "a word",
        "currency",
        "percent",
        "below",
        "minus after",
        "unit",
        "underscore",
        "hard space",
        "wide",
        "thousands",
        "minus sign",
        "D exponent of whole numbers",
        "D exponent",
        "both",
    ],
)
def test_text_that_was_meant_for_numbers_is_doubted(run, cells, told):
    rows = [f"{cell},{i % 7},{i % 5}" for i, cell in enumerate(cells)]
    Path("t.csv").write_text("\n".join(["x,z,y", *rows]) + "\n")
    findings = run("check", "t.csv", "-t", "y", "--json").json["findings"]
    (finding,) = [one for one in findings if one["about"] == "x"]
    assert finding["level"] == "problem"
    assert told in finding["text"]
    assert finding["options"] == [["--without", "x"]]
    fitted = run("fit", "t.csv", "-t", "y")
    assert (fitted.code, fitted.out) == (1, "")
    assert f"Column 'x' is text and would become {len(cells)} levels" in fitted.err
    target = run("fit", "t.csv", "-t", "x")
    assert (target.code, target.out) == (1, "")
    assert target.err.startswith("error: The target 'x' is text, though ")
    assert target.err.endswith("if these are labels, choose --model logistic.\n")
    assert "next:" not in run("check", "t.csv", "-t", "x").err


@pytest.mark.parametrize("style", ["%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%d-%b-%y", "%Y.%m.%d %H:%M"])
def test_dates_that_are_text_are_doubted(run, style):
    days = [datetime(2024, 1, 1) + timedelta(days=i) for i in range(30)]
    Path("t.csv").write_text("d,x,y\n" + "".join(f"{days[i % 30]:{style}},{i % 7},{i % 5}\n" for i in range(90)))
    (told,) = [one for one in run("check", "t.csv", "-t", "y", "--json").json["findings"] if one["about"] == "d"]
    assert told["text"].startswith("is text, though its values are dates like ")
    assert told["remedy"].startswith("turn them into numbers (days, month, hour)")
    refused = run("fit", "t.csv", "-t", "y")
    assert refused.code == 1
    assert "Column 'd' is text and would become 30 levels, though its values are dates" in refused.err


@pytest.mark.parametrize("name", ["Intercept", "g[b]"])
def test_two_terms_of_one_name_are_refused(run, name):
    Path("t.csv").write_text(f"g,{name},y\n" + "".join(f"{'ab'[i % 2]},{i * i % 7},{i % 5}\n" for i in range(30)))
    failed = run("fit", "t.csv", "-t", "y")
    assert failed.code == 1
    assert failed.err.startswith(f"error: Two terms would be called '{name}': rename the column")


def test_a_column_that_is_kept_does_not_vanish_below_the_answer(run, model):
    Path("t.csv").write_text(Path("loans.csv").read_text().replace("customer", "prediction", 1))
    failed = run("predict", model, "t.csv", "--keep", "prediction", "-o", "answers.csv")
    assert (failed.code, Path("answers.csv").exists()) == (1, False)
    assert "'prediction' cannot be kept: the answers have a column of that name" in failed.err


def test_a_word_among_more_numbers_than_levels_is_found(run):
    Path("t.csv").write_text("x,y\n" + "".join(f"{i}.5,{i}\n" for i in range(3000)) + "oops,1\n")
    failed = run("fit", "t.csv", "-t", "y")
    assert failed.code == 1
    assert "more than 1000 levels" in failed.err
    assert "is some cell no number?" in failed.err
    findings = run("check", "t.csv", "-t", "y", "--json").json["findings"]
    assert "(first 'oops' in line 3002 of t.csv)" in next(one["text"] for one in findings if one["about"] == "x")


@pytest.mark.parametrize("codes", [[f"{i:05d}" for i in range(60)], [f"A{i}" for i in range(60)], ["1", "2", "K"] * 20])
def test_codes_are_not_doubted(run, codes):
    ly.fit({"code": codes, "y": [i % 7 for i in range(60)]}, target="y", alpha=1.0)
    ly.fit({"code": codes, "x": [i % 7 for i in range(60)]}, target="code", model="logistic", alpha=1.0)
    Path("t.csv").write_text("\n".join(["x,y", *(f"{code}x,{i % 7}" for i, code in enumerate(codes))]))
    assert not [one for one in run("check", "t.csv", "-t", "y", "--json").json["findings"] if "though" in one["text"]]


def test_check_on_levels_that_are_spelt_in_two_ways(run):
    spelt = ["Yes", "yes ", "No", "no"]
    rows = [f"{spelt[i % 4]},{i % 7},{spelt[i * i % 3]}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["x,z,y", *rows]))
    findings = {one["about"]: one["text"] for one in run("check", "t.csv", "-t", "y", "--json").json["findings"]}
    assert findings["x"] == ("has levels that differ in spaces or capitals only: 'No', 'no', and 1 more like it")
    assert "'yes '" in run("check", "t.csv", "-t", "y").out


def test_check_on_identifiers_of_19_digits(run):
    Path("t.csv").write_text(
        "id,x,y\n" + "".join(f"{9007199254740993000 + 7 * i},{i % 7},{i % 5}\n" for i in range(60))
    )
    checked = run("check", "t.csv", "-t", "y")
    assert checked.code == 0
    assert "it looks like an identifier. Leave it out: --without id." in " ".join(checked.out.split())
    assert checked.err == "next: linearly fit t.csv --target y --without id\n"


def test_names_with_commas_and_quotes(run):
    names = ["a,b", 'say "x"', "c d", '"q"']
    head = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    Path("t.csv").write_text(f"{head},y\n" + "".join(f"1,2,{i * i % 11},3,{i % 5}\n" for i in range(30)))
    checked = run("check", "t.csv", "-t", "y")
    command = shlex.split(checked.err.strip().removeprefix("next: linearly "))
    assert run(*command, "--json").json["features"] == ["c d"]
    assert run("fit", "t.csv", "-t", "y", "--features", '"a,b", c d', "--json").json["features"] == ["a,b", "c d"]


def test_columns_that_are_duplicates_show_the_share_of_each(run):
    Path("t.csv").write_text("x,again,y\n" + "".join(f"{i},{i},{3 * i + i % 2}\n" for i in range(30)))
    shown = run("fit", "t.csv", "-t", "y")
    slopes = [float(re.search(rf"^{name} +([\d.]+)", shown.out, re.M)[1]) for name in ("x", "again")]
    assert sum(slopes) == pytest.approx(3, abs=0.01)


def test_levels_with_line_ends_and_long_names_fit_the_screen(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = "a_name_of_a_measurement_that_was_made_in_the_laboratory_on_the_third_floor_" * 2
    rows = "".join(f'{i * i % 11},"line {i % 2}\nand {"w" * 300}",{i % 5}\n' for i in range(60))
    Path("t.csv").write_text(f"{name},note,y\n{rows}")
    for words in (("check", "t.csv", "-t", "y"), ("fit", "t.csv", "-t", "y", "-o", "m.json"), ("show", "m.json")):
        shown = run(*words)
        assert shown.code == 0
        assert max(map(len, shown.out.splitlines())) <= 80
        assert not [line for line in shown.out.splitlines() if line.startswith("and w")]


@pytest.mark.parametrize("model", [name for name, entry in MODELS.items() if entry.classifies])
@pytest.mark.parametrize("K", [2, 3])
def test_long_labels_fit_the_screen(run, monkeypatch, model, K):
    monkeypatch.setenv("COLUMNS", "80")
    labels = [letter * 150 + "…" + "z" * 70 for letter in "abc"[:K]]
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal() + i % K:.3f},{rng.normal():.3f},{labels[i % K]}" for i in range(90)]
    Path("t.csv").write_text("\n".join(["x,u,label", *lines]) + "\n", encoding="utf-8")
    fitted = run("fit", "t.csv", "-t", "label", "--model", model)
    assert fitted.code == 0
    assert max(map(len, fitted.out.splitlines())) <= 80
    if model == "logistic" and K == 3:
        assert len(re.findall(r"^[abc]+…z+ +Intercept", fitted.out, re.MULTILINE)) == 2


def test_a_level_too_long_to_be_saved_is_shown(run):
    Path("t.csv").write_text("x,y\n" + "".join(f"{'w' * 20_000}{i % 2},{i % 5}\n" for i in range(30)))
    failed = run("fit", "t.csv", "-t", "y", "-o", "m.json")
    assert failed.code == 1
    assert re.search(r"texts of at most [\d,]+ characters, not 'w{80}'… \(20001 characters\)\.\n$", failed.err)


def test_a_share_that_holds_out_no_row(run):
    failed = run("fit", "loans.csv", "-t", "income", "--features", "age", "--holdout", "0.001")
    assert (failed.code, failed.err) == (1, "error: There are no rows: nothing to evaluate on.\n")


def test_evaluation_begins_where_rows_do(run):
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = [None] * 50 + list(range(50))
    pq.write_table(pa.table({"x": x, "y": [2.0 * i for i in range(100)]}), "t.parquet", row_group_size=25)
    ly.fit("t.parquet", target="y", missing="drop").save("m.json")
    assert run("evaluate", "m.json", "t.parquet", "--json").json["rows"] == 50
    assert run("report", "m.json", "t.parquet", "-o", "r.html").code == 0
    few = run("fit", "t.parquet", "-t", "y", "--missing", "drop", "--holdout", "0.02", "--json").json
    assert (few["rows"], few["holdout"]["rows"]) == (49, 1)


@pytest.mark.parametrize(
    ("target", "model", "gap"),
    [("y", "linear", "NA"), ("l", "lda", ",,"), ("l", "pocket", '"NA"')],
)
def test_a_row_with_gaps_keeps_its_line(run, target, model, gap):
    import pyarrow.parquet as pq

    Path("t.csv").write_text("x,z,y,l\n" + "".join(f"{i},{i * i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(30)))
    Path("new.csv").write_text("x,z\n1,2\n,3\n")
    fit = ("fit", "t.csv", "-t", target, "-m", model, "--features", "x,z", "--missing", "drop", "-o", "m.json")
    assert run(*fit).code == 0
    assert run("predict", "m.json", "new.csv", "-o", "answers.csv").code == 0
    assert Path("answers.csv").read_text().splitlines()[2] == gap
    assert run("predict", "m.json", "new.csv").out == Path("answers.csv").read_text()
    answers = run("predict", "m.json", "new.csv", "--json").json
    assert all(column[0] is not None and column[1] is None for column in answers.values())
    kept = run("predict", "m.json", "new.csv", "--keep", "z", "-o", "answers.csv")
    assert kept.err.splitlines()[-1] == "1 of 2 rows predicted: 1 has missing values (x)"
    last = Path("answers.csv").read_text().splitlines()[2]
    assert last == "3," + "," * (len(answers) - 1)
    assert run("predict", "m.json", "new.csv", "--keep", "z").out == Path("answers.csv").read_text()
    told = run("predict", "m.json", "new.csv", "-o", "answers.parquet", "--json").json
    assert (told["rows"], told["predicted"]) == (2, 1)
    table = pq.read_table("answers.parquet")
    assert [column.null_count for column in table.columns] == [1] * len(answers)


def test_predict_says_in_which_columns_no_row_has_a_value(run):
    Path("t.csv").write_text("x,z,y\n" + "".join(f"{i},{i * i % 7},{i % 5}\n" for i in range(30)))
    Path("new.csv").write_text("x,z\n" + "3,\n" * 40 + ",\n" * 60)
    assert run("fit", "t.csv", "-t", "y", "--missing", "drop", "-o", "m.json").code == 0
    assert run("predict", "m.json", "t.csv").err == "30 predictions of y\n"
    assert run("predict", "m.json", "new.csv").err == "0 of 100 rows predicted: 100 have missing values (z, x)\n"


@pytest.mark.parametrize("model", ["linear", "lda", "logistic", "perceptron", "ridge"])
def test_no_row_without_gaps(run, model):
    Path("t.csv").write_text("a,b,y\n" + "".join(f"{i},,{i % 2}\n,{i},{i % 2}\n" for i in range(30)))
    failed = run("fit", "t.csv", "-t", "y", "-m", model, "--missing", "drop")
    assert failed.code == 1
    assert "Each of the 60 rows has a missing value in a column that is needed: no row is left." in failed.err


def test_nothing_is_done_for_a_file_that_cannot_be_written(run):
    for words in (
        ("fit", "absent.csv", "-t", "y", "-o", "no/m.json"),
        ("report", "m.json", "d.csv", "-o", "no/r.html"),
    ):
        failed = run(*words)
        assert (failed.code, failed.err) == (1, f"error: {words[-1]}: there is no directory no.\n")


def test_check_on_what_can_be_told_apart(run):
    x = np.r_[np.arange(30.0), np.arange(40.0, 70.0)]
    found = found_in(run, {"x": x, "z": np.sin(x), "y": ["low"] * 30 + ["high"] * 30})
    told = found["y", "problem"]
    assert "without an error" in told["text"]
    assert "exactly for 'low'" in told["text"] or "exactly for 'high'" in told["text"]
    assert "--alpha" in told["remedy"]


def test_check_on_numbers_that_are_labels(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {"x": rng.normal(size=60), "y": rng.integers(0, 2, size=60)})
    assert "--model logistic" in found["y", "note"]["remedy"]


def test_check_on_a_rare_label(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {"x": rng.normal(size=400), "y": np.where(np.arange(400) % 20 == 0, "rare", "common")})
    assert "'rare' is rare" in found["y", "note"]["text"]


def test_check_on_more_columns_than_rows(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {f"x{j}": rng.normal(size=10) for j in range(12)} | {"y": rng.normal(size=10)})
    assert "arbitrary" in found["rows", "problem"]["text"]


def test_check_on_a_clean_table(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {"a": rng.normal(size=60), "b": rng.normal(size=60), "y": rng.normal(size=60)})
    assert {level for _, level in found} == {"ok"}


def test_the_fit_that_check_proposes_works(run):
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    import pyarrow as pa
    from pyarrow import csv

    columns = {"a": a, "twin of a": 2 * a, "b": [None, *rng.normal(size=59)], "c": ["k"] * 60, "y": rng.normal(size=60)}
    csv.write_csv(pa.table(columns), "my table.csv")
    import shlex

    proposed = shlex.split(run("check", "my table.csv", "-t", "y").err.removeprefix("next: linearly "))
    result = run(*proposed)
    assert result.code == 0
    assert "note:" not in result.err


# --- standard input and output --------------------------------------------------------------------


def test_a_pipe_is_read_as_often_as_needed(run, model):
    data = Path("loans.csv").read_bytes()
    done = real("fit", "-", "-t", "repaid", *CLEAN, "--json", input=data)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 476
    done = real("predict", model, "-", input=data)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 501
    assert done.stderr.decode() == "476 of 500 rows predicted: 24 have missing values (balance)\n"


def test_a_pipe_that_has_a_name(run, model):
    # What a shell makes of <(zcat loans.csv.gz).
    os.mkfifo("named.csv")
    with subprocess.Popen(["sh", "-c", "cat loans.csv > named.csv"]) as writer:
        assert run("fit", "named.csv", "-t", "repaid", *CLEAN, "--json").json["rows"] == 476
        writer.wait(timeout=60)
    with pytest.raises(ValueError, match=r"named\.csv is a pipe, and can be read only once"):
        ly.scan("named.csv", target="repaid")


def test_parquet_through_a_pipe(run, model):
    import pyarrow.parquet as pq
    from pyarrow import csv

    pq.write_table(csv.read_csv("loans.csv"), "loans.parquet")
    done = real("evaluate", model, "-", "--json", input=Path("loans.parquet").read_bytes())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 476


def test_standard_input_that_is_a_file(run, monkeypatch):
    with open("loans.csv") as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert run("check", "-", "--json").json["rows"] == 500


def test_a_reader_that_goes_away_is_no_error(run, model):
    lines = Path("loans.csv").read_text().splitlines(keepends=True)
    Path("long.csv").write_text("".join([lines[0], *lines[1:] * 60]))
    with subprocess.Popen(
        [sys.executable, "-m", "linearly", "predict", model, "long.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as writer:
        writer.stdout.readline()
        writer.stdout.close()
        told = writer.stderr.read()
        writer.wait(timeout=60)
    assert b"Traceback" not in told
    assert b"error" not in told.lower()


# --- bad input ------------------------------------------------------------------------------------

HOSTILE = {
    "no such file": (["fit", "loan.csv", "-t", "x"], "There is no file loan.csv. Did you mean loans.csv?"),
    "no such model": (["show", "modle.json"], "There is no model file modle.json."),
    "empty file": (["fit", "empty.csv", "-t", "x"], "empty.csv is empty"),
    "header only": (["fit", "header.csv", "-t", "x"], "no rows"),
    "empty directory": (["check", "folder"], "There is no Parquet, Arrow or CSV file in folder"),
    "no such target": (["fit", "loans.csv", "-t", "repayed"], "no target column 'repayed'. Did you mean 'repaid'?"),
    "no such column": (["fit", "loans.csv", "-t", "repaid", "--without", "Age"], "Did you mean 'age'?"),
    "no such feature": (["check", "loans.csv", "-t", "repayed"], "Did you mean 'repaid'?"),
    "missing values": (["fit", "loans.csv", "-t", "repaid"], "--missing drop"),
    "numbers from labels": (["fit", "loans.csv", "-t", "repaid", *CLEAN, "-m", "linear"], "--model logistic"),
    "ridge of labels": (["fit", "loans.csv", "-t", "repaid", *CLEAN, "--cv"], "holds labels"),
    "no such parameter": (["fit", "loans.csv", "-t", "income", *CLEAN, "--param", "depth=3"], "no parameter 'depth'"),
    "not JSON": (["show", "loans.csv"], "it is not JSON"),
    "other JSON": (["show", "other.json"], "other.json"),
    "a model that is a directory": (["show", "folder"], "folder"),
    "parquet that is text": (["fit", "text.parquet", "-t", "x"], "text.parquet is not a Parquet file"),
    "ragged rows": (["fit", "ragged.csv", "-t", "y"], "Line 3 of ragged.csv"),
    "binary": (["check", "noise.csv"], "noise.csv"),
    "no such label": (["evaluate", "model.json", "loans.csv", "--positive", "maybe"], "There is no label 'maybe'"),
    "evaluate without target": (["evaluate", "model.json", "new.csv"], "There is no target column 'repaid'"),
    "predict without a column": (["predict", "model.json", "narrow.csv"], "There is no column 'income'"),
    "output to nowhere": (["predict", "model.json", "loans.csv", "-o", "no/where.csv"], "no"),
    "model to nowhere": (["fit", "loans.csv", "-t", "repaid", *CLEAN, "-o", "no/where.json"], "no"),
    "formula that runs code": (["fit", "loans.csv", "-f", "income ~ {__import__('os')}"], ""),
    "merge with itself": (["merge", "model.json", "model.json", "-o", "m.json"], ""),
    "an unknown dialect": (["export", "model.json", "--to", "sql", "--dialect", "klingon"], "klingon"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_bad_input_is_one_sentence(run, model, case, tmp_path):
    Path("empty.csv").touch()
    Path("header.csv").write_text("x,y\n")
    Path("folder").mkdir()
    Path("other.json").write_text('{"a": [1, 2]}')
    Path("text.parquet").write_text("x,y\n1,2\n")
    Path("ragged.csv").write_text("x,y\n1,2\n1,2,3\n")
    Path("noise.csv").write_bytes(bytes(range(256)) * 8)
    lines = Path("loans.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    Path("narrow.csv").write_text("age,region\n3,north\n")
    before = sorted(os.listdir())
    words, expected = HOSTILE[case]
    result = run(*words)
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1, result.err
    assert expected in result.err
    assert "Traceback" not in result.err
    assert "should not happen" not in result.err, result.err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["fit"],
        ["fit", "loans.csv"],
        ["fit", "loans.csv", "-t", "income", "-f", "income ~ age"],
        ["fit", "loans.csv", "-t", "income", "--alpha", "1", "--cv"],
        ["fit", "loans.csv", "-t", "income", "--alpha", "-1"],
        ["fit", "loans.csv", "-t", "repaid", "-m", "lda", "--alpha", "1"],
        ["fit", "loans.csv", "-t", "repaid", "-m", "lda", "--cv"],
        ["fit", "loans.csv", "-t", "income", "--holdout", "1"],
        ["fit", "loans.csv", "-t", "income", "--model", "forest"],
        ["fit", "loans.csv", "-t", "income", "-o", "model.pickle"],
        ["fit", "loans.csv", "-t", "income", "--param", "alpha"],
        ["fit", "loans.csv", "--like", "model.json", "-t", "income"],
        ["fit", "loans.csv", "-f", "income ~ age", "--without", "age"],
        ["predict", "model.json"],
        ["predict", "model.json", "loans.csv", "-o", "answers.xlsx"],
        ["compare", "loans.csv"],
        ["compare", "loans.csv", "-t", "income", "--folds", "1"],
        ["report", "model.json", "loans.csv", "-o", "page.pdf"],
        ["merge", "model.json", "-o", "m.json"],
        ["export", "model.json", "--to", "onnx"],
        ["export", "model.json", "--to", "python", "--dialect", "duckdb"],
        ["demo", "titanic"],
        ["demo", "loans", "-o", "page.pdf"],
        ["completion", "tcsh"],
    ],
    ids=" ".join,
)
def test_what_is_not_understood_exits_with_2(run, words):
    result = run(*words)
    assert result.code == 2
    assert result.out == ""
    first, second = result.err.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("try: linearly")


def test_debug_shows_the_trace(run):
    assert "Traceback" in run("fit", "loan.csv", "-t", "x", "--debug").err
    assert "Traceback" in run("--debug", "fit", "loan.csv", "-t", "x").err


def test_warnings_are_notes(run):
    lines = Path("loans.csv").read_text().splitlines()
    Path("twice.csv").write_text("\n".join(f"{line},{line.split(',')[1]}x".replace("agex", "again").replace("x", "")
                                           for line in lines))  # fmt: skip
    result = run("fit", "twice.csv", "-t", "income", *CLEAN)
    assert result.code == 0
    (note,) = re.findall(r"^note: .*(?:\n {6}.*)*", result.err, flags=re.M)
    assert "'again'" in note
    assert "--alpha" in note
    assert "Warning" not in result.err
    assert ".py" not in result.err
    assert "combination of others" in result.out


@pytest.mark.parametrize(
    ("target", "rows", "remedy"), [("y", 12, "--cv"), ("y", 4, "--alpha 1"), ("label", 12, "--alpha 1")]
)
def test_fewer_rows_than_columns_ask_for_a_penalty(run, target, rows, remedy):
    rng = np.random.default_rng(0)
    labels = {"y": [f"{value:.3f}" for value in rng.normal(size=rows)], "label": ["no", "yes"] * 6}[target]
    cells = [",".join([told, *(f"{value:.3f}" for value in rng.normal(size=30))]) for told in labels]
    Path("genes.csv").write_text("\n".join([",".join([target, *(f"g{j}" for j in range(30))]), *cells]) + "\n")
    checked = run("check", "genes.csv", "-t", target)
    assert f"{rows} complete rows for 30 columns after coding: a fit would be arbitrary" in checked.out
    follow = checked.err.splitlines()[-1].removeprefix("next: linearly ")
    assert follow == f"fit genes.csv --target {target} {remedy}"
    assert run(*follow.split()).code == 0
    if remedy == "--cv":
        fitted = run("fit", "genes.csv", "-t", target)
        said = " ".join(fitted.err.split())
        assert said.count("12 rows for 30 columns: a fit is arbitrary.") == 1
        assert "or a penalty that cross-validation chooses: --cv." in said
        assert said.endswith("next: add --cv to choose a penalty by cross-validation")
        assert "next: add -o model.json" in run("fit", "genes.csv", "-t", target, "--cv").err


def test_columns_and_terms_are_counted_alike(run):
    lines = [f"{i % 7},{i % 4},{'abc'[i % 3]},{i * i % 11}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["x,z,level,y", *lines]) + "\n")
    assert "linear regression   y on 3 columns, 4 terms   40 rows" in run("fit", "t.csv", "-t", "y", "-o", "m.json").out
    assert "y   on 3 columns, 4 terms   40 rows" in run("compare", "t.csv", "-t", "y").out
    assert run("report", "m.json", "t.csv").code == 0
    assert "<h1>y from 3 columns, 4 terms</h1>" in Path("report.html").read_text()
    assert "y on 2 columns   40 rows" in run("fit", "t.csv", "-t", "y", "--without", "level").out


@pytest.mark.parametrize("penalty", [(), ("--alpha", "1"), ("--cv",)])
def test_evaluate_calls_a_model_what_fit_calls_it(run, penalty):
    lines = [f"{i % 7},{i % 4},{i * i % 11}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["x,z,y", *lines]) + "\n")
    fitted = run("fit", "t.csv", "-t", "y", *penalty, "-o", "m.json")
    kind = "ridge regression" if penalty else "linear regression"
    assert fitted.out.startswith(f"{kind}   y on")
    assert run("evaluate", "m.json", "t.csv").out.startswith(f"{kind} on 40 rows\n{'=' * len(kind + ' on 40 rows')}\n")


@pytest.mark.parametrize("target", ["y", "label"])
def test_reports_of_the_command_line_advise_in_commands(run, target):
    lines = [f"{i % 7},{i % 4},{i * i % 11},{'ab'[i * i % 11 > 4]}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["x,z,y,label", *lines]) + "\n")
    words = ["t.csv", "-t", target, "--features", "x,z", "-o", "m.json", "--report", "r.html"]
    assert run("fit", *words).code == 0
    page = Path("r.html").read_text()
    ly.load("m.json").report("python.html", "t.csv")
    python = Path("python.html").read_text()
    said, here = ("covariance=&#34;HC3&#34;", "--param covariance=HC3") if target == "y" else (
        "model.evaluate(new_rows)", "linearly evaluate MODEL NEW_DATA")  # fmt: skip
    assert said in python
    assert here not in python
    assert here in page
    assert said not in page


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_dates_are_refused_with_the_option_that_leaves_them_out(run, command):
    lines = [f"2024-01-{1 + i:02d},2024-02-{1 + i:02d},{i % 7},{i * i % 5}" for i in range(28)]
    Path("t.csv").write_text("\n".join(["day,next day,x,y", *lines]) + "\n")
    failed = run(command, "t.csv", "-t", "y")
    assert failed.code == 1
    assert failed.err.endswith("month, hour), or leave them out: --without 'day,next day'.\n")
    assert run(command, "t.csv", "-t", "y", "--without", "next day").err.endswith("leave it out: --without day.\n")
    assert run(command, "t.csv", "-t", "y", "--without", "day,next day").code == 0
    assert "--without" not in run(command, "t.csv", "-f", "y ~ day").err


@pytest.mark.parametrize("penalty", [("--alpha", "0.01"), ("--alpha", "0")])
def test_fewer_rows_than_columns_leave_no_intervals(run, penalty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 150))
    rows = np.column_stack([X[:, 0] + 0.1 * rng.normal(size=12), X])
    names = ",".join(["y", *(f"g{j}" for j in range(150))])
    np.savetxt("genes.csv", rows, delimiter=",", header=names, comments="")
    result = run("fit", "genes.csv", "-t", "y", *penalty)
    assert result.code == 0
    intercept = next(line for line in result.out.splitlines() if line.startswith("Intercept"))
    assert intercept.endswith("–")
    assert "[" not in intercept
    assert not re.search(r"e\+\d\d", result.out)
    assert " 0.0 df" not in result.out
    assert "1 pass," in result.out
    assert "Breusch-Pagan" not in result.out


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ('choose missing="drop" to', "fit with --missing drop to"),
        ('Correct it, or choose unseen="reference".', "Correct it, or fit with --unseen reference."),
        ('method="extended" gives more', "--param method=extended gives more"),
        ("or set alpha > 0, for", "or set --alpha above 0, for"),
        ("a penalty, which RidgeCV chooses.", "a penalty that cross-validation chooses: --cv."),
        ("ly.fit(data, like=model, …).", "linearly fit DATA --like MODEL."),
    ],
)
def test_the_library_speaks_in_options(said, here):
    assert with_option_names(said) == here


def test_a_missing_extra_names_the_install_line():
    absent = ModuleNotFoundError("No module named 'onnx'", name="onnx")
    assert format_error(absent) == "This needs onnx: pip install 'linearly[export]'."
    code = "import sys; sys.modules['click'] = None; from linearly.cli.main import main; sys.exit(main(['--help']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: The command line needs click: pip install 'linearly[cli]'.\n"


def test_every_extra_that_is_named_exists():
    import tomllib

    from linearly.cli.errors import EXTRAS

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for module, extra in EXTRAS.items():
        assert any(line.startswith(module) for line in extras[extra]), module


def test_a_failure_of_our_own_is_told_from_yours():
    assert "should not happen" in format_error(KeyError("x"))


# --- what is read, and as what --------------------------------------------------------------------

GRADES = "x,grade,y\n1,1,10\n2,2,22\n3,X,33\n4,1,13\n5,2,26\n6,X,37\n7,1,15\n8,2,27\n"


@pytest.fixture
def grades(run):
    """Two models of a column with the levels 1, 2 and X; the second leaves rows with gaps out."""
    Path("grades.csv").write_text(GRADES)
    assert run("fit", "grades.csv", "-t", "y", "-o", "grades.json").code == 0
    assert (
        run("fit", "grades.csv", "-t", "y", "--missing", "drop", "--unseen", "reference", "-o", "drop.json").code == 0
    )


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "grades.json", "grades.csv", "-o", "grades.csv"],
        ["predict", "grades.json", "grades.csv", "-o", "link.csv"],
        ["predict", "grades.json", "grades.*sv", "-o", "./grades.csv"],
        ["predict", "grades.json", "folder", "-o", "folder/part.csv"],
        ["export", "grades.json", "--to", "python", "-o", "grades.json"],
        ["merge", "grades.json", "drop.json", "-o", "drop.json"],
        ["fit", "grades.csv", "--like", "grades.json", "-o", "grades.json"],
        ["fit", "data.json", "-t", "y", "-o", "data.json"],
        ["report", "grades.json", "data.html", "-o", "data.html"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_overwritten(run, grades, words):
    Path("folder").mkdir()
    for name in ("folder/part.csv", "data.json", "data.html"):
        Path(name).write_text(GRADES)
    Path("link.csv").symlink_to("grades.csv")
    before = {path: path.read_bytes() for path in Path().rglob("*.*")}
    result = run(*words)
    assert result.code == 1
    assert f"{words[-1]} is read, and would be overwritten: write to another file." in result.err
    assert {path: path.read_bytes() for path in Path().rglob("*.*")} == before


def test_answers_may_be_written_anew(run, grades):
    for _ in range(2):
        assert run("predict", "grades.json", "grades.csv", "-o", "answers.csv").code == 0


@pytest.mark.parametrize("level", ["1", "012", "true", "2024-01-01"])
def test_levels_are_text_whatever_a_file_has_of_them(run, level):
    rows = GRADES.replace(",1,", f",{level},")
    Path("old.csv").write_text(rows)
    Path("new.csv").write_text(f"x,grade,y\n4,{level},13\n7,{level},15\n")
    Path("later.csv").write_text(rows.replace("X", "2"))
    told = {}
    for unseen in ("error", "reference"):
        assert run("fit", "old.csv", "-t", "y", "--unseen", unseen, "-o", "m.json").code == 0
        expected = run("predict", "m.json", "old.csv", "--json").json["prediction"]
        told[unseen] = run("predict", "m.json", "new.csv", "--json").json["prediction"]
        np.testing.assert_allclose(told[unseen], [expected[3], expected[6]], rtol=1e-12)
        assert run("evaluate", "m.json", "new.csv").code == 0
        assert run("fit", "later.csv", "--like", "m.json").code == 0


def test_labels_are_text_whatever_a_file_has_of_them(run):
    rows = [f"{x},{'7' if (x * 7) % 5 < 2 else 'none'}" for x in range(40)]
    Path("old.csv").write_text("\n".join(["x,code", *rows]))
    Path("new.csv").write_text("\n".join(["x,code", *(row for row in rows if row.endswith("7"))]))
    assert run("fit", "old.csv", "-t", "code", "-o", "m.json").code == 0
    assert run("evaluate", "m.json", "new.csv").code == 0


def test_no_rows_have_no_answers(run, grades):
    Path("header.csv").write_text("x,grade,y\n")
    Path("untold.csv").write_text("x,grade,y\n1,1,\n2,2,\n")
    Path("gaps.csv").write_text("x,grade\n1,\n2,\n")
    for model in ("grades.json", "drop.json"):
        assert run("predict", model, "header.csv").out == '"prediction"\n'
        assert run("predict", model, "header.csv", "-o", "answers.csv").code == 0
        assert Path("answers.csv").read_text() == '"prediction"\n'
        assert "There are no rows" in run("evaluate", model, "header.csv").err
    assert "There are no rows" in run("evaluate", "drop.json", "untold.csv").err
    assert run("predict", "drop.json", "gaps.csv").out == '"prediction"\nNA\nNA\n'


# --- advice that helps ----------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["--target", "--weight"])
def test_check_without_what_it_is_to_look_at(run, role):
    result = run("check", "loans.csv", role, "income", "--without", "income")
    assert result.code == 2
    assert f"{role} income and --without income contradict each other" in result.err


def test_check_says_what_overlap_leaves_out(run):
    rng = np.random.default_rng(0)
    city, label = rng.integers(150, size=3000), rng.choice(["no", "yes"], size=3000)
    label[city == 7] = "no"
    rows = [f"{x:.3f},c{c},{y}" for x, c, y in zip(rng.normal(size=3000), city, label, strict=True)]
    Path("cities.csv").write_text("\n".join(["x,city,bought", *rows]))
    found = run("check", "cities.csv", "-t", "bought", "--json").json["findings"]
    (overlap,) = [one for one in found if "overlap" in one["text"]]
    assert "labels overlap, without city (150 levels)" in overlap["text"]
    (told,) = [one for one in found if one["about"] == "city" and one["level"] == "problem"]
    assert "1 of its 150 levels have no row of some label ('c7' none of 'yes')" in told["text"]
    assert "--without city" in told["remedy"]


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_numbers_whose_squares_overflow_are_not_said_to_be_given_away(run, size):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    rows = [f"{a!r},{size * (2 + a + b)!r}" for a, b in zip(x.tolist(), rng.normal(size=60).tolist(), strict=True)]
    Path("t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    checked = run("check", "t.csv", "-t", "y").out
    assert "without an error" not in checked
    assert ("its squares leave float64" in checked) == (size > 1)
    if size > 1:
        reported = run("fit", "t.csv", "-t", "y", "--report", "t.html")
        assert reported.err.endswith("its squares leave float64, and a page would show no number: rescale y.\n")


@pytest.mark.parametrize(
    ("columns", "told"), [(["a"], "a linear function of a,"), (["a", "b"], "a combination of a, b,")]
)
def test_check_finds_a_target_that_is_given_away(run, columns, told):
    rng = np.random.default_rng(0)
    data = {name: rng.normal(size=300) for name in "abc"}
    data["y"] = 1e3 + 1.8 * sum(data[name] for name in columns)
    rows = np.column_stack(list(data.values())).tolist()
    Path("leak.csv").write_text("\n".join([",".join(data), *(",".join(map(repr, row)) for row in rows)]))
    said = run("check", "leak.csv", "-t", "y", "--json").json["findings"]
    (found,) = [one for one in said if one["about"] == "y" and one["level"] == "problem"]
    assert told in found["text"]
    assert ("--without a" in run("check", "leak.csv", "-t", "y").err) == (columns == ["a"])
    assert "without an error" not in run("check", "loans.csv", "-t", "income").out


def test_many_labels_of_equal_size_are_not_rare(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[i % 26]}" for i in range(26 * 20)]
    Path("letters.csv").write_text("\n".join(["x,letter", *rows]))
    assert "rare" not in run("check", "letters.csv", "-t", "letter").out


def test_compare_names_the_label_that_is_in_one_fold(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'yes' if i in (5, 25) else 'no'}" for i in range(60)]
    Path("rare.csv").write_text("\n".join(["x,label", *rows]))
    found = run("compare", "rare.csv", "-t", "label", "-m", "lda", "-m", "least-squares", "--json").json
    assert found["refused"]["lda"].startswith("All 2 rows of 'yes' are held out in fold 1,")
    assert "--folds" in found["refused"]["lda"]
    assert all(0 <= run["low"] <= run["high"] <= 1 for run in found["models"])


def test_compare_names_the_command_that_has_the_options(run):
    Path("apart.csv").write_text("\n".join(["x,label", *(f"{i},{'yes' if i > 30 else 'no'}" for i in range(60))]))
    found = run("compare", "apart.csv", "-t", "label", "-m", "logistic", "--json").json
    assert "Use linearly fit … --param bias_reduction=firth or --alpha above 0" in found["models"][0]["warnings"][0]


def test_labels_that_are_new_are_corrected_or_left_out(run, model):
    Path("other.csv").write_text(Path("loans.csv").read_text().replace(",yes\n", ",perhaps\n"))
    result = run("evaluate", model, "other.csv")
    assert "Column 'repaid' has the label 'perhaps' in line" in result.err
    assert "Correct it, or leave such rows out." in result.err
    assert "--unseen" not in result.err


def test_names_that_are_not_alike_are_not_proposed(run):
    Path("ages.csv").write_text("age,size\n1,2\n2,1\n3,3\n")
    assert "The columns are age, size." in run("fit", "ages.csv", "-t", "target").err


def test_an_empty_column_is_left_out(run):
    Path("excel.csv").write_text("x,z,y,\n1,2,3,\n2,4,1,\n3,1,2,\n4,2,1,\n")
    result = run("fit", "excel.csv", "-t", "y")
    assert "Column 'column 4' is empty from line 2 of excel.csv on." in result.err
    assert "--without 'column 4'" in result.err
    assert run("fit", "excel.csv", "-t", "y", "--without", "column 4").code == 0


# --- interrupted ----------------------------------------------------------------------------------


def test_interrupted_while_reading(run):
    words = [sys.executable, "-m", "linearly", "fit", "-", "-t", "y", "-o", "model.json"]
    before = sorted(os.listdir())
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as fit:
        # More than a pipe holds: when it is written, it is being read.
        fit.stdin.write(b"x,y\n" + b"1,2\n" * 500_000)
        fit.stdin.flush()
        fit.send_signal(signal.SIGINT)
        out, err = fit.communicate(timeout=60)
    assert fit.returncode == 130
    assert out == b""
    assert err.strip() == b"interrupted: Stopped. No half-written file is left."
    assert sorted(os.listdir()) == before


def test_interrupted_while_writing(run, model):
    lines = Path("loans.csv").read_text().splitlines(keepends=True)
    Path("long.csv").write_text("".join([lines[0], *lines[1:] * 2000]))
    Path("answers.csv").write_text("the old answers\n")
    before = sorted(os.listdir())
    words = [sys.executable, "-m", "linearly", "predict", model, "long.csv", "-o", "answers.csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as predict:
        while sorted(os.listdir()) == before and predict.poll() is None:
            pass
        predict.send_signal(signal.SIGINT)
        _, err = predict.communicate(timeout=60)
    assert predict.returncode == 130, err
    assert sorted(os.listdir()) == before
    assert Path("answers.csv").read_text() == "the old answers\n"


# --- progress -------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_shows_rows_and_time_left(monkeypatch, require):
    require(find_spec("rich"), "needs rich")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(delay=0.0) as progress:
        progress.begin(3000)
        for _ in range(3):
            progress.advance(1000)
        progress.begin(None)
        progress.advance(1000)
    told = screen.getvalue()
    assert "pass 1" in told
    assert "pass 2" in told
    assert "1,000 rows" in told
    assert "left" in told


def test_no_bar_within_a_second_nor_without_a_terminal(monkeypatch):
    quick, piped = Terminal(), io.StringIO()
    for screen, delay in ((quick, 60.0), (piped, 0.0)):
        monkeypatch.setattr(sys, "stderr", screen)
        with Progress(delay) as progress:
            progress.begin(10)
            progress.advance(10)
        assert screen.getvalue() == ""


@pytest.mark.parametrize(("number", "told"), [(1_300_000, "1.3M"), (420_000, "420k"), (17, "17"), (2.5e9, "2.5G")])
def test_short(number, told):
    assert format_thousands(number) == told
