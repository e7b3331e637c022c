"""Options that name columns."""

import shlex
from pathlib import Path

import pytest

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
