"""Data files, pipes, held-out rows and output files."""

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from commands import CLEAN, GRADES, run_process

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

import linearly as ly
from linearly.cli.inputs import read_tables, split_rows
from linearly.cli.progress import Progress
from linearly.dataset.design import cached_rows
from linearly.dataset.sources import as_tables


@pytest.mark.filterwarnings("ignore:The batch perceptron did not converge")
def test_small_file_is_read_once_by_a_model_of_many_passes(run, monkeypatch):
    progress = Progress()
    tables = read_tables("loans.csv", progress)
    fitted = ly.fit(tables, target="repaid", features=["age", "late"], model="batch", max_passes=50)
    assert fitted.estimator.n_passes_ == 50
    assert progress.passes == 2  # the labels, and the rows
    rows = fitted.design_rows(tables)
    monkeypatch.setattr(cached_rows, "MAX_CACHED_BYTES", 8)
    assert cached_rows.cache_in_memory(rows) is rows
    again = type(fitted.estimator)(max_passes=50).fit(rows)
    np.testing.assert_array_equal(again.coef_, fitted.estimator.coef_)


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5, 0.99, 1 / 7, 1e-3])
def test_split_rows_assigns_every_row_once(share):
    n = 200_000  # several chunks
    kept, held = split_rows(as_tables({"i": np.arange(n)}), share)
    parts = [np.concatenate([chunk.frame["i"].to_numpy() for chunk in part]) for part in (kept, held)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert len(parts[1]) == int(n * Fraction(share).limit_denominator(1000))
    for part in (kept, held):
        starts = [chunk.start for chunk in part]
        assert starts == np.cumsum([0, *(len(chunk) for chunk in part)])[:-1].tolist()


def test_error_with_held_out_rows_names_the_line_of_the_file(run):
    lines = Path("loans.csv").read_text().splitlines()
    Path("gap.csv").write_text("\n".join([*lines[:9], re.sub(r"^(\d+),\d+", r"\1,", lines[9]), *lines[10:30]]) + "\n")
    result = run("fit", "gap.csv", "-t", "income", "--without", "balance", "--holdout", "0.25")
    assert result.code == 1
    assert "'age' is missing in line 10 of gap.csv" in result.err


def test_output_in_a_missing_directory_raises_before_any_work(run):
    for words in (
        ("fit", "absent.csv", "-t", "y", "-o", "no/m.json"),
        ("report", "m.json", "d.csv", "-o", "no/r.html"),
    ):
        failed = run(*words)
        assert (failed.code, failed.err) == (
            1,
            f"error: {words[-1]} cannot be written, because the directory no does not exist. Create it first.\n",
        )


def test_standard_input_can_be_read_several_times(run, model):
    data = Path("loans.csv").read_bytes()
    done = run_process("fit", "-", "-t", "repaid", *CLEAN, "--json", input=data)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 476
    done = run_process("predict", model, "-", input=data)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 501
    assert done.stderr.decode() == "476 of 500 rows predicted: 24 have missing values (balance)\n"


def test_named_pipe_can_be_read_several_times(run, model):
    # What a shell makes of <(zcat loans.csv.gz).
    os.mkfifo("named.csv")
    with subprocess.Popen(["sh", "-c", "cat loans.csv > named.csv"]) as writer:
        assert run("fit", "named.csv", "-t", "repaid", *CLEAN, "--json").json["rows"] == 476
        writer.wait(timeout=60)
    with pytest.raises(ValueError, match=r"named\.csv is a pipe, which can be read only once"):
        ly.scan("named.csv", target="repaid")


def test_parquet_from_standard_input_is_read(run, model):
    import pyarrow.parquet as pq
    from pyarrow import csv

    pq.write_table(csv.read_csv("loans.csv"), "loans.parquet")
    done = run_process("evaluate", model, "-", "--json", input=Path("loans.parquet").read_bytes())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 476


def test_standard_input_from_a_file_is_read(run, monkeypatch):
    with open("loans.csv") as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert run("check", "-", "--json").json["rows"] == 500


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
def test_output_that_is_an_input_raises_and_changes_nothing(run, grades, words):
    Path("folder").mkdir()
    for name in ("folder/part.csv", "data.json", "data.html"):
        Path(name).write_text(GRADES)
    Path("link.csv").symlink_to("grades.csv")
    before = {path: path.read_bytes() for path in Path().rglob("*.*")}
    result = run(*words)
    assert result.code == 1
    assert f"{words[-1]} is an input file and would be overwritten. Write to another file." in result.err
    assert {path: path.read_bytes() for path in Path().rglob("*.*")} == before


def test_link_to_no_file_is_not_suggested_again(run):
    Path("data.csv").symlink_to("gone.csv")
    failed = run("check", "data.csv")
    assert (failed.code, failed.err) == (1, "error: The file data.csv does not exist. Check the path.\n")
