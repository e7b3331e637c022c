"""Exit codes, pipes, interruption and imports of the command line."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import ROOT

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")
from linearly.cli.group import cli

COMMANDS = tuple(cli.list_commands(click.Context(cli)))


def test_main_help_and_version_import_nothing_slow():
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
def test_main_works_with_the_cli_extra_alone(run):
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


def test_pyproject_declares_the_command():
    assert 'linearly = "linearly.cli.main:main"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_main_closed_pipe_exits_with_141(run, model):
    rows = Path("loans.csv").read_text().splitlines()
    Path("many.csv").write_text("\n".join([rows[0], *(rows[1:] * 20)]) + "\n")  # more than a pipe holds
    words = [sys.executable, "-m", "linearly", "predict", model, "many.csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (141, b"")


def test_main_pipe_closed_after_a_line_prints_no_error(run, model):
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
def test_main_invalid_usage_exits_with_2(run, words):
    result = run(*words)
    assert result.code == 2
    assert result.out == ""
    first, second = result.err.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("try: linearly")


def test_main_debug_prints_the_traceback(run):
    assert "Traceback" in run("fit", "loan.csv", "-t", "x", "--debug").err
    assert "Traceback" in run("--debug", "fit", "loan.csv", "-t", "x").err


def test_main_interrupted_while_reading_exits_with_130(run):
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
    assert err.strip() == b"interrupted: Every output file is complete or unchanged."
    assert sorted(os.listdir()) == before


def test_main_interrupted_while_writing_leaves_the_old_file(run, model):
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
