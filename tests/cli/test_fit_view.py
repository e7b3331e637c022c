"""Screens of fitted models."""

import re
from pathlib import Path

import numpy as np
import pytest
from commands import CLEAN

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

from linearly.models.registry import MODELS


@pytest.mark.parametrize("width", ["60", "80", "120"])
@pytest.mark.parametrize("target", ["repaid", "income", "balance"])
def test_screens_fit_the_terminal_width(run, monkeypatch, width, target):
    monkeypatch.setenv("COLUMNS", width)
    for words in (["fit", "loans.csv", "-t", target, *CLEAN], ["check", "loans.csv", "-t", target]):
        result = run(*words)
        longest = max(result.out.splitlines(), key=len)
        assert len(longest) <= max(int(width), 72), longest


@pytest.mark.parametrize("name", list(MODELS))
def test_fit_and_show_print_a_screen_for_every_model(run, name):
    target = "repaid" if MODELS[name].classifies else "income"
    result = run("fit", "loans.csv", "-t", target, *CLEAN, "-m", name, "-o", f"{name}.json")
    assert result.code == 0, result.err
    assert "Traceback" not in result.err
    assert run("show", f"{name}.json").code == 0


def test_long_term_names_stay_distinct(run, monkeypatch):
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    columns = {f"the number of things of kind {j} that were counted": rng.normal(size=50) for j in range(5)}
    csv.write_csv(pa.table(columns | {"y": rng.normal(size=50)}), "long.csv")
    monkeypatch.setenv("COLUMNS", "70")
    told = run("fit", "long.csv", "-t", "y").out
    assert len({line[:20] for line in told.splitlines() if "…" in line}) == 5


def test_screen_of_three_labels_names_the_reference(run):
    result = run("fit", "loans.csv", "-t", "job", *CLEAN)
    assert result.code == 0
    assert "log-odds against 'student'" in result.out


def test_screens_with_long_levels_stay_short(run):
    rng = np.random.default_rng(0)
    rows = [f"{'lorem ipsum ' * 300}{i % 4},{rng.normal():.3f},{'dolor ' * 300}{i % 3}" for i in range(120)]
    Path("t.csv").write_text("\n".join(["text,x,label", *rows]) + "\n")
    for words in (("check", "-t", "x"), ("check", "-t", "label"), ("fit", "-t", "x")):
        told = run(words[0], "t.csv", *words[1:])
        assert told.code == 0
        assert len(told.out) < 3000
    assert "text against lorem ipsum" in told.out


def test_screen_duplicate_columns_show_their_shares(run):
    Path("t.csv").write_text("x,again,y\n" + "".join(f"{i},{i},{3 * i + i % 2}\n" for i in range(30)))
    shown = run("fit", "t.csv", "-t", "y")
    slopes = [float(re.search(rf"^{name} +([\d.]+)", shown.out, re.M)[1]) for name in ("x", "again")]
    assert sum(slopes) == pytest.approx(3, abs=0.01)


def test_screens_with_line_breaks_in_levels_fit_the_width(run, monkeypatch):
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
def test_screen_with_long_labels_fits_the_width(run, monkeypatch, model, K):
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


def test_fit_compare_and_report_count_columns_alike(run):
    lines = [f"{i % 7},{i % 4},{'abc'[i % 3]},{i * i % 11}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["x,z,level,y", *lines]) + "\n")
    assert "linear regression   y on 3 columns, 4 terms   40 rows" in run("fit", "t.csv", "-t", "y", "-o", "m.json").out
    assert "y   on 3 columns, 4 terms   40 rows" in run("compare", "t.csv", "-t", "y").out
    assert run("report", "m.json", "t.csv").code == 0
    assert "<h1>y from 3 columns, 4 terms</h1>" in Path("report.html").read_text()
    assert "y on 2 columns   40 rows" in run("fit", "t.csv", "-t", "y", "--without", "level").out


@pytest.mark.parametrize("penalty", [("--alpha", "0.01"), ("--alpha", "0")])
def test_screen_with_fewer_rows_than_columns_has_no_intervals(run, penalty):
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
