"""Output of the command line."""

import re
from pathlib import Path

import pytest
from commands import CLEAN

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")


def test_warnings_are_printed_as_notes(run):
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
    assert "a combination of other columns" in result.out
