"""All commands: help, JSON, documentation, and the way from check to export."""

import re
from pathlib import Path

import click
import numpy as np
import pytest
import screens
from commands import CLEAN, fit_two_models

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

import linearly as ly
from linearly.cli.group import cli
from linearly.dataset.sources import as_tables

COMMANDS = tuple(cli.list_commands(click.Context(cli)))


def test_version_option_prints_the_version(run):
    assert run("--version").out == f"linearly {ly.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_example_json_and_debug(run, name):
    told = run(name, "--help").out
    assert f"linearly {name}" in re.split(r"Examples?:\n", told)[1]
    assert "--json" in told
    assert "--debug" in told


def test_command_without_arguments_prints_help_with_whole_summaries(run):
    bare = run()
    assert (bare.code, bare.err) == (0, "")
    assert bare.out == run("--help").out
    commands = bare.out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in commands] == list(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_heading_in_the_docs(name):
    headings = [line for line in screens.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert any(f"`linearly {name}`" in line for line in headings)


JSON = {
    "demo": (["demo", "loans"], {"demo", "title", "saved", "amount", "granted_errors"}),
    "check": (["check", "loans.csv", "-t", "repaid"], {"rows", "columns", "findings", "counts"}),
    "fit": (["fit", "loans.csv", "-t", "income", *CLEAN, "--holdout", "0.2"], {"terms", "statistics", "tests", "vif"}),
    "compare": (["compare", "loans.csv", "-t", "income", *CLEAN], {"models", "baseline", "folds", "score"}),
    "show": (["show", "model.json"], {"terms", "statistics", "classes"}),
    "anova": (["anova", "model.json"], {"table", "notes", "type"}),
    "ask": (["ask", "model.json", "age = 0"], {"table", "notes", "level"}),
    "means": (["means", "model.json", "job", "--data", "loans.csv"], {"table", "notes", "level"}),
    "table": (["table", "model.json"], {"table", "models", "saved"}),
    "predict": (["predict", "model.json", "loans.csv"], {"prediction", "probability[no]", "probability[yes]"}),
    "evaluate": (["evaluate", "model.json", "loans.csv"], {"metrics", "confusion", "rows", "notes"}),
    "report": (["report", "model.json", "loans.csv", "-o", "page.html"], {"saved"}),
    "diff": (["diff", "a.json", "b.json"], {"terms", "joint_test", "notes"}),
    "merge": (["merge", "a.json", "b.json", "-o", "c.json"], {"terms", "merged", "saved"}),
    "export": (["export", "model.json", "--to", "python"], {"to", "text"}),
    "selftest": (["selftest", "nist"], {"results", "counts", "seconds", "long"}),
    "completion": (["completion", "fish"], {"shell", "script"}),
}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "lab"])
def test_json_option_prints_json_for_every_command(run, model, name):
    if name in ("diff", "merge"):
        fit_two_models(run)
    words, keys = JSON[name]
    result = run(*words, "--json")
    assert result.code == 0, result.err
    assert keys <= set(result.json)
    assert "NaN" not in result.out


def test_commands_from_check_to_export_agree_with_the_library(run, tmp_path, require):
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
