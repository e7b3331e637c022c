"""Run commands of `linearly`: in this process, in one of their own, or in a folder with example data."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import screens

from linearly.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
CLEAN = ("--without", "customer,currency", "--missing", "drop")  # options that make loans.csv fit for a model
GRADES = "x,grade,y\n1,1,10\n2,2,22\n3,X,33\n4,1,13\n5,2,26\n6,X,37\n7,1,15\n8,2,27\n"


def run_command(*words):
    """Return exit code, standard output and standard error of a command."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code = main([str(word) for word in words])
    finally:
        sys.stdout, sys.stderr = kept
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))


def run_process(*words, **options):
    """Run a command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "linearly", *words], capture_output=True, check=False, **options)


class Result:
    """Exit code and output of a command."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run commands in a directory with loans.csv; each returns a `Result`."""
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
    """Return the file of a logistic model of loans.csv."""
    assert run("fit", "loans.csv", "-t", "repaid", *CLEAN, "-o", "model.json").code == 0
    return "model.json"


@pytest.fixture
def grades(run):
    """Save two models of a column with the levels 1, 2 and X; the second drops rows with missing values."""
    Path("grades.csv").write_text(GRADES)
    fit = ("fit", "grades.csv", "-t", "y")
    assert run(*fit, "-o", "grades.json").code == 0
    assert run(*fit, "--missing", "drop", "--unseen", "reference", "-o", "drop.json").code == 0


def fit_two_models(run):
    """Save the models a.json and b.json of the two halves of loans.csv."""
    assert run("fit", "earlier.csv", "-t", "income", *CLEAN, "-o", "a.json").code == 0
    assert run("fit", "later.csv", "--like", "a.json", "-o", "b.json").code == 0
