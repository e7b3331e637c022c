"""Screens in the documentation: console blocks whose commands can be run again.

`python tests/screens.py` writes them anew.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guide" / "command-line.md"
DATA = PAGE.with_name("loans.csv")
BLOCK = re.compile(r"^```console\n(.*?)^```$", flags=re.M | re.S)


def prepare(folder: Path) -> None:
    """The files that the page speaks of."""
    lines = DATA.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "loans.csv").write_text("".join(lines), encoding="utf-8")
    (folder / "earlier.csv").write_text("".join(lines[:251]), encoding="utf-8")
    (folder / "later.csv").write_text("".join([lines[0], *lines[251:]]), encoding="utf-8")


def screen(command: str) -> str:
    """What a command prints on a terminal of 80 columns, answers and all else, without colours."""
    from linearly.cli.main import main

    words = shlex.split(command)
    assert words[0] == "linearly"
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main(words[1:]) == 0, out.buffer.getvalue().decode()
    return out.buffer.getvalue().decode().strip("\n")


def commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def blocks(text: str) -> list[str]:
    return BLOCK.findall(text)


def replayed(block: str) -> str:
    return "\n".join(f"$ {command}\n{screen(command)}\n" for command in commands(block))


def timeless(text: str) -> str:
    """Without what differs from run to run: times, and sizes of files."""
    text = re.sub(r" *(?:< 1|\d+(?:\.\d)?) (?:ms|s|min)\b", " TIME", text)
    text = re.sub(r" +time\b", " time", text)  # the heading of a column that is as wide as its times
    return re.sub(r"\(\d+(?:\.\d+)? (?:bytes|kB|MB)\)", "(SIZE)", text)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        os.chdir(folder)
        os.environ["COLUMNS"] = "80"
        text = BLOCK.sub(lambda found: f"```console\n{replayed(found[1])}```", text)
        os.chdir(ROOT)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
