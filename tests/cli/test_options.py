"""Options that name columns."""

import shlex
from pathlib import Path

import pytest
from commands import CLEAN

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")


def test_names_option_reads_names_with_commas_and_quotes(run):
    names = ["a,b", 'say "x"', "c d", '"q"']
    head = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    Path("t.csv").write_text(f"{head},y\n" + "".join(f"1,2,{i * i % 11},3,{i % 5}\n" for i in range(30)))
    checked = run("check", "t.csv", "-t", "y")
    command = shlex.split(checked.err.strip().removeprefix("next: linearly "))
    assert run(*command, "--json").json["features"] == ["c d"]
    assert run("fit", "t.csv", "-t", "y", "--features", '"a,b", c d', "--json").json["features"] == ["a,b", "c d"]


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_date_columns_raise_with_the_option_that_drops_them(run, command):
    lines = [f"2024-01-{1 + i:02d},2024-02-{1 + i:02d},{i % 7},{i * i % 5}" for i in range(28)]
    Path("t.csv").write_text("\n".join(["day,next day,x,y", *lines]) + "\n")
    failed = run(command, "t.csv", "-t", "y")
    assert failed.code == 1
    assert failed.err.endswith("month, hour), or leave them out: --without 'day,next day'.\n")
    assert run(command, "t.csv", "-t", "y", "--without", "next day").err.endswith("leave it out: --without day.\n")
    assert run(command, "t.csv", "-t", "y", "--without", "day,next day").code == 0
    assert "--without" not in run(command, "t.csv", "-f", "y ~ day").err


class TestConventions:
    def test_strict_check_fails_only_if_there_is_a_problem(self, run):
        Path("clean.csv").write_text("x,y\n" + "".join(f"{i},{(i * 7) % 11 + i}\n" for i in range(40)))
        assert run("check", "loans.csv", "-t", "repaid").code == 0
        assert run("check", "loans.csv", "-t", "repaid", "--strict").code == 1
        assert run("check", "loans.csv", "-t", "repaid", "--strict", "--json").code == 1
        assert run("check", "clean.csv", "-t", "y", "--strict").code == 0

    @pytest.mark.parametrize("place", ["before", "after"])
    def test_quiet_prints_results_and_errors_only(self, run, place):
        words = ["fit", "loans.csv", "-t", "repaid", *CLEAN, "-o", "m.json"]
        quiet = run("--quiet", *words) if place == "before" else run(*words, "-q")
        loud = run(*words)
        assert (quiet.code, quiet.err) == (0, "")
        assert "saved m.json" in loud.err
        assert quiet.out.splitlines()[2:] == loud.out.splitlines()[2:]  # the first lines contain a time
        assert run("fit", "none.csv", "-t", "y", "-q").err.startswith("error: ")

    def test_color_follows_the_option_then_no_color_then_the_terminal(self, run, monkeypatch):
        words = ["check", "loans.csv", "-t", "repaid"]
        assert "\x1b[" not in run(*words).out  # not a terminal
        assert "\x1b[31m" in run(*words, "--color", "always").out
        assert "\x1b[31m" in run("--color", "always", *words).out
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[" not in run(*words).out
        assert "\x1b[31m" in run(*words, "--color", "always").out

    def test_level_sets_the_intervals_of_a_fit(self, run):
        words = ["fit", "loans.csv", "-f", "balance ~ age + income", "--missing", "drop"]
        wide, narrow = (run(*words, "--json", "--level", level).json["terms"][1] for level in ("0.99", "0.5"))
        assert wide["conf_low"] < narrow["conf_low"] < narrow["conf_high"] < wide["conf_high"]
        assert "50% interval" in run(*words, "--level", "0.5").out

    def test_folds_set_the_folds_of_cross_validation(self, run):
        words = ["fit", "loans.csv", "-f", "balance ~ age + income", "--missing", "drop"]
        assert run(*words, "--cv", "--folds", "7", "--json").json["folds"] == 7
        assert run(*words, "--folds", "7").code == 2

    @pytest.mark.parametrize(
        ("words", "own"),
        [
            (["fit", "loans.csv", "-t", "repaid", *CLEAN, "-o"], "m.json"),
            (["report", "model.json", "loans.csv", "-o"], "page.html"),
        ],
    )
    def test_output_replaces_files_of_linearly_only(self, run, model, words, own):
        Path(own).write_text("{}" if own.endswith("json") else "<p>mine</p>")
        before = Path(own).read_text()
        refused = run(*words, own)
        assert refused.code == 1
        assert "linearly did not write it. Name another file, or add --force." in refused.err
        assert Path(own).read_text() == before
        assert run(*words, own, "--force").code == 0
        assert run(*words, own).code == 0  # its own file

    def test_predictions_that_replace_a_file_are_announced(self, run, model):
        Path("p.csv").write_text("mine\n")
        assert "p.csv exists and will be replaced." in run("predict", model, "loans.csv", "-o", "p.csv").err
