"""Control characters in names, levels, labels and model files reach no terminal, page, SQL, Python or CSV unescaped."""

import ast
import csv
import io
import json
import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")
matplotlib.use("Agg")
import pyarrow as pa
from commands import run_command
from matplotlib import pyplot as plt
from pyarrow import parquet

import linearly as ly
from linearly.cli.terminal import quote_word
from linearly.export.python import to_python
from linearly.formatting import HIDDEN, visible
from linearly.table import Summary, Table

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
# What a terminal obeys, XML refuses, or turns the direction of text: no class of the library decides it here.
FORBIDDEN = {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0xFFFE, 0xFFFF)}
dangerous = st.sampled_from(sorted(FORBIDDEN - {"\x00"}))
hostile = st.text(st.one_of(dangerous, st.sampled_from("ab[;mJ<&'\"$\\=")), min_size=1, max_size=6).map(
    lambda s: f"n{s}"
)


def _frame(column, level, label):
    """80 rows of a column of numbers, one of two levels, and two overlapping labels."""
    rng = np.random.default_rng(0)
    kind, answer = rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    return {
        column: rng.normal(size=80).round(3).tolist(),
        "kind": [("plain", level)[k] for k in kind],
        "answer": [("no", label)[k] for k in answer],
    }


def _write(path, data):
    with open(path, "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, quoting=csv.QUOTE_ALL)
        lines.writerow(data)
        lines.writerows(zip(*data.values(), strict=True))


def _clean(text):
    return not set(text) & FORBIDDEN


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


# --- the terminal ---------------------------------------------------------------------------------


def test_no_command_prints_an_escape_that_came_with_a_header_a_level_or_a_label(folder):
    column, level, label = f"x{ESCAPE}", f"a{ESCAPE}", f"yes{ESCAPE}"
    path, model = folder / "escapes.csv", folder / "escapes.json"
    _write(path, _frame(column, level, label))
    commands = [
        ("check", path, "-t", "answer"),
        ("fit", path, "-t", "answer", "-o", model),
        ("fit", path, "-t", column, "--without", "kind,answer"),
        ("fit", path, "-t", f"nowhere{ESCAPE}"),
        ("fit", path, "-t", "answer", "--features", f"nowhere{ESCAPE}"),
        ("fit", folder / f"none{ESCAPE}.csv", "-t", "answer"),
        ("show", model),
        ("diff", model, model),
        ("compare", path, "-t", "answer", "-m", "lda", "-m", "logistic"),
        ("evaluate", model, path),
        ("export", model, "--to", "python"),
        ("predict", model, path, "--json"),
        ("fit", path, "-t", "answer", "--json"),
        ("check", path, "-t", "answer", "--json"),
    ]
    for words in commands:
        _, out, err = run_command(*words)
        assert out or err
        assert _clean(out + err), words
    assert json.loads(run_command("fit", path, "-t", "answer", "--json")[1])["classes"] == ["no", label]
    assert r"yes\x1b]0;owned\x07\x1b[31m" in run_command("show", model)[1]


def test_debug_shows_a_traceback_without_the_escapes_of_its_message(folder):
    path = folder / "debug.csv"
    _write(path, _frame("x", "a", "yes"))
    code, out, err = run_command("fit", path, "-t", f"nowhere{ESCAPE}", "--debug")
    assert code == 1
    assert "Traceback" in err
    assert _clean(out + err)


def test_a_style_cannot_be_forged_by_a_name(monkeypatch):
    from linearly.cli import terminal as screen

    told = []
    monkeypatch.setattr(screen.click, "echo", lambda text, err=False, color=None: told.append(text))
    screen.print_out(screen.bold("a\x1b[5mb") + "\ufdd00<bold>")
    assert told == ["\x1b[1ma\\x1b[5mb\x1b[0m\ufdd00<bold>"]


def test_the_command_that_check_advises_is_visible_and_runs(folder):
    path, column = folder / "advised.csv", f"x{ESCAPE}'\ny"
    data = _frame("x", "a", "yes") | {column: [1.0] * 80}
    _write(path, data)
    _, _, err = run_command("check", path, "-t", "answer")
    (line,) = [line for line in err.splitlines() if line.startswith("next: ")]
    assert _clean(line)
    script = line.removeprefix("next: linearly ")
    done = subprocess.run(["bash", "-c", f'printf "%s\\0" {script}'], capture_output=True, check=True)
    words = done.stdout.decode().split("\0")[:-1]
    assert column in words
    assert run_command(*words)[0] == 0


@pytest.mark.parametrize("word", ["plain", "two words", "it's", "n\nm", "\x1b[31m\\'", "\u202e", "=1+1"])
def test_a_quoted_word_is_the_word_again_in_bash(word):
    done = subprocess.run(
        ["bash", "-c", f"printf %s {quote_word(word)}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert done.stdout.decode() == word
    assert _clean(quote_word(word).replace("\n", ""))


@pytest.mark.parametrize(
    "words", [("predict", "m.json", "d.csv"), ("show", "m.json"), ("fit", "d.csv", "-t", "answer")]
)
def test_a_command_whose_output_is_closed_says_so(folder, words):
    path, model = folder / "d.csv", folder / "m.json"
    if not model.exists():
        _write(path, _frame("x", "a", "yes"))
        assert run_command("fit", path, "-t", "answer", "-o", model)[0] == 0
    command = f"exec {sys.executable} -m linearly {' '.join(words)} >&-"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: Standard output is closed, so the result cannot be written. Redirect it to a file.\n"


def test_a_command_that_writes_a_file_needs_no_output(folder):
    path, model = folder / "e.csv", folder / "e.json"
    _write(path, _frame("x", "a", "yes"))
    assert run_command("fit", path, "-t", "answer", "-o", model)[0] == 0
    command = f"exec {sys.executable} -m linearly predict e.json e.csv -o e.parquet >&- 2>&-"
    assert subprocess.run(["bash", "-c", command], cwd=folder, check=False).returncode == 0
    assert (folder / "e.parquet").exists()


# --- tables ---------------------------------------------------------------------------------------


def test_tables_and_summaries_show_control_characters_in_line():
    table = Table({f"name{ESCAPE}": ["a\x1bb", "plain"], "value": [1.0, 2.0]}, f"t{ESCAPE}", [f"note{ESCAPE}"])
    for text in (str(table), table._repr_html_(), str(Summary(f"s{ESCAPE}", (table,), ("\x9b",)))):
        assert _clean(text)
    header, _, *body = str(Table({"name": ["a\x1bb", "plain"], "value": [1.0, 2.0]})).splitlines()
    assert {len(line) for line in (header, *body)} == {len(header)}


def test_a_model_and_its_summary_show_control_characters():
    model = ly.fit(_frame(f"x{ESCAPE}", f"a{ESCAPE}", f"yes{ESCAPE}"), target="answer")
    for text in (repr(model), str(model.summary()), model.summary()._repr_html_()):
        assert _clean(text)
    assert _clean(str(ly.separability(np.array([[0.0], [1.0]]), np.array(["a\x1b", "b\x9b"]), names=["x\x1b"])))


# --- fuzz: terminal, page, SQL, Python, CSV -----------------------------------------------------------


class _Text(HTMLParser):
    """The text of a page."""

    def __init__(self):
        super().__init__()
        self.parts = []

    def handle_data(self, data):
        self.parts.append(data)


@given(column=hostile, level=hostile, label=hostile)
@settings(max_examples=25)
def test_random_control_characters_stay_out_of_the_terminal_python_sql_and_csv(folder, column, level, label):
    sqlglot = pytest.importorskip("sqlglot", reason="SQL needs sqlglot")
    from linearly.export.sql import to_sql

    assume(column not in ("kind", "answer") and label != "no" and level != "plain")
    data = _frame(column, level, label)
    model = ly.fit(data, target="answer")
    saved, path, answers = folder / "fuzz.json", folder / "fuzz.parquet", folder / "fuzz.csv"
    model.save(saved)
    parquet.write_table(pa.table(data), path)
    for words in (("check", path, "-t", "answer"), ("show", saved), ("evaluate", saved, path)):
        code, out, err = run_command(*words)
        assert code == 0, err
        assert _clean(out + err)

    source = to_python(model)
    assert _clean(source)
    ast.parse(source)

    if HIDDEN.search(column) or re.search("[^\x00-\x7f]", level + label):
        with pytest.raises(ValueError, match=r"control character|which not every SQL") as refused:
            to_sql(model)
        assert _clean(str(refused.value))
    else:
        query = to_sql(model)
        assert _clean(query)
        assert len(sqlglot.parse(query, read="duckdb")) == 1

    assert model.predict(data, out=answers, escape_formulas=True) == 80
    text = answers.read_text(encoding="utf-8")
    assert _clean(text)
    with open(answers, newline="", encoding="utf-8") as file:
        told = [row["prediction"] for row in csv.DictReader(file)]
    assert set(told) <= {"no", visible(label)}

    model.predict(data, out=answers)
    with open(answers, newline="", encoding="utf-8") as file:
        assert [row["prediction"] for row in csv.DictReader(file)] == model.predict(data).tolist()


@given(column=hostile, level=hostile, label=hostile)
@settings(max_examples=3)
def test_random_control_characters_stay_out_of_the_page(folder, column, level, label):
    assume(column not in ("kind", "answer") and label != "no" and level != "plain")
    data = _frame(column, level, label)
    numbers = {name: values for name, values in data.items() if name != "answer"}
    for model, rows in ((ly.fit(data, target="answer"), data), (ly.fit(numbers, target=column), numbers)):
        page = folder / "fuzz.html"
        model.report(page, rows)
        text = page.read_text(encoding="utf-8")
        assert _clean(text)
        for drawn in re.findall(r"<svg.*?</svg>", text, flags=re.S):
            ElementTree.fromstring(drawn)
        reader = _Text()
        reader.feed(text)
        assert visible(level) in "".join(reader.parts)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_plot_of_hostile_names_is_written_without_a_warning(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.array(["a\x1b", "b\x9b"])[rng.integers(0, 2, 60)]
    model = ly.LinearDiscriminantAnalysis().fit(X, y)
    found = ly.evaluate(ly.LogisticRegression().fit(X, y), X, y)
    drawn = [
        ly.plot_regions(model, X, y, names=("x\x1b", "y\x0b")),
        ly.plot_probability(model, X, y),
        ly.plot_confusion(found),
        ly.plot_roc(found),
        ly.plot_precision_recall(found),
        ly.plot_calibration(found),
    ]
    for ax in drawn:
        stream = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ax.get_figure().savefig(stream, format=kind)
        if kind == "svg":
            ElementTree.fromstring(stream.getvalue())
    plt.close("all")


# --- formulas ---------------------------------------------------------------------------------------


FORMULAS = {
    "=1+1": "'=1+1",
    "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
    "@SUM(A1)": "'@SUM(A1)",
    "-2+3": "'-2+3",
    "\t=1": "'\t=1",
    "-5": "-5",
    "+1.5e3": "+1.5e3",
    "plain=1": "plain=1",
    "": "",
}


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_escape_formulas_prefixes_texts_that_a_spreadsheet_would_run(tmp_path, ending):
    import gzip

    labels = list(FORMULAS)
    data = {"x": list(range(len(labels) * 8)), "=note": labels * 8, "answer": ["=1+1", "no"] * (len(labels) * 4)}
    model = ly.fit(data, target="answer", features=["x"])
    path = tmp_path / f"answers{ending}"
    model.predict(data, out=path, keep=["=note"], escape_formulas=True)
    opened = gzip.open if ending.endswith(".gz") else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["'=note", "prediction", "probability[=1+1]", "probability[no]"]
    assert [row["'=note"] for row in rows] == [FORMULAS[label] for label in labels] * 8
    assert {row["prediction"] for row in rows} <= {"'=1+1", "no"}
    float(rows[0]["probability[no]"])


def test_the_command_escapes_formulas_on_standard_output_and_refuses_where_there_are_none(folder):
    path, model = folder / "formulas.csv", folder / "formulas.json"
    _write(path, _frame("x", "a", "=1+1"))
    assert run_command("fit", path, "-t", "answer", "-o", model)[0] == 0
    plain, safe = run_command("predict", model, path), run_command("predict", model, path, "--escape-formulas")
    assert '\n"=1+1",' in plain[1]
    assert '\n"\'=1+1",' in safe[1]
    assert "=1+1" not in re.sub(r"'=1\+1|probability\[=1\+1\]", "", safe[1])
    assert run_command("predict", model, path, "--escape-formulas", "-o", folder / "a.parquet")[0] == 2
    assert run_command("predict", model, path, "--escape-formulas", "--json")[0] == 2
    loaded = ly.load(model)
    with pytest.raises(ValueError, match="out="):
        loaded.predict(path, escape_formulas=True)
    with pytest.raises(ValueError, match="is not a CSV file"):
        loaded.predict(path, out=folder / "b.parquet", escape_formulas=True)


def test_sql_writes_control_characters_by_their_number():
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    from linearly.export.sql import to_sql

    data = _frame("x", "a\x1b[31m", "yes\r\x07")
    model = ly.fit(data, target="answer")
    query = to_sql(model)
    assert _clean(query)
    base = duckdb.connect()
    base.register("data", pa.table(data))
    assert [row[0] for row in base.execute(query).fetchall()] == model.predict(data).tolist()
    with pytest.raises(ValueError, match=r"The name 'x\\x1b' contains a control character"):
        to_sql(ly.fit(_frame("x\x1b", "a", "yes"), target="answer"))


def test_the_guide_documents_escape_formulas():
    text = (Path(__file__).resolve().parents[1] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert "--escape-formulas" in text
