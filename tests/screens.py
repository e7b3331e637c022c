"""Code and screens in the documentation: run the blocks of a page again and compare, or write, what they print.

A page is run from its beginning to its end in one directory that holds the files of docs/data. ``python`` blocks share
their names; what a block prints, warnings included, stands in the ``text`` block that follows it. In ``console`` blocks
each line after ``$`` is a command, and what it prints follows.

`python tests/screens.py [PAGE ...]` writes the output of all pages, or of some, anew.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data"
PAGE = ROOT / "docs" / "reference" / "command-line.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", flags=re.M | re.S)
NEEDS = re.compile(r"<!-- needs: (.*?) -->")
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def pages() -> list[Path]:
    """Pages with blocks that can be run."""
    found = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    return [page for page in found if "_build" not in page.parts and BLOCK.search(page.read_text(encoding="utf-8"))]


def needs(page: Path) -> list[str]:
    """Modules that a page needs beside those of the tests: ``<!-- needs: pyspark -->``."""
    found = NEEDS.search(page.read_text(encoding="utf-8"))
    return found[1].split() if found else []


def prepare(folder: Path) -> None:
    """Copy the files that pages refer to."""
    for path in DATA.iterdir():
        shutil.copy(path, folder)
    lines = (DATA / "loans.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "earlier.csv").write_text("".join(lines[:251]), encoding="utf-8")
    (folder / "later.csv").write_text("".join([lines[0], *lines[251:]]), encoding="utf-8")


def screen(command: str) -> str:
    """What a command prints on a terminal of 80 columns, standard error included, without colours."""
    from linearly.cli.main import main

    if not command.startswith("linearly ") or re.search(r"[|;<>&$]", command):
        return in_shell(command)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main(shlex.split(command)[1:]) == 0, out.buffer.getvalue().decode()
    return out.buffer.getvalue().decode().strip("\n")


def in_shell(command: str) -> str:
    """What a line with pipes or other programs prints; `linearly` is the package that is tested."""
    run = shlex.quote(sys.executable)
    prelude = f'linearly() {{ {run} -m linearly "$@"; }}; python() {{ {run} "$@"; }}'
    done = subprocess.run(
        ["bash", "-c", f"{prelude}\n{command}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    return done.stdout.strip("\n")


def commands(block: str) -> Iterator[str]:
    """Lines after ``$``, joined where a line ends with a backslash."""
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command += f"\n{next(lines)}"
            yield command


def replay_console(block: str) -> str:
    """A console block with the output of its commands."""
    shown = []
    for command in commands(block):
        printed = screen(command.replace("\\\n", " "))
        shown.append(f"$ {command}\n{printed}\n" if printed else f"$ {command}\n")
    return "```console\n" + "\n".join(shown) + "```\n"


def replay_python(code: str, names: dict[str, object], page: str) -> str:
    """A Python block with the text that it prints, and the warnings as Python shows them, without the line."""
    out = io.StringIO()

    def show(message, category, *_):  # type: ignore[no-untyped-def]
        print(textwrap.fill(f"{category.__name__}: {message}", 100, break_long_words=False), file=out)

    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=ResourceWarning)
        warnings.showwarning = show
        exec(compile(code, page, "exec"), names)
    printed = "\n".join(line.rstrip() for line in out.getvalue().strip("\n").splitlines())
    return f"```python\n{code}```\n" + (f"\n```text\n{printed}\n```\n" if printed else "")


def replay(page: Path) -> str:
    """The text of a page with the output of all its blocks, run in the current directory."""
    names: dict[str, object] = {"__name__": "__main__"}
    shutil.copytree(DATA, "docs/data")  # as in a checkout, for the README

    def renewed(found: re.Match[str]) -> str:
        if found[1] == "console":
            return replay_console(found[2])
        return replay_python(found[2], names, page.name)

    sys.path.insert(0, os.getcwd())  # as for a script in this directory
    try:
        return BLOCK.sub(renewed, page.read_text(encoding="utf-8"))
    finally:
        sys.path.remove(os.getcwd())


def timeless(text: str) -> str:
    """Without what differs from run to run: times, and sizes of files."""
    text = re.sub(r" *(?:< 1|\d+(?:\.\d)?) (?:ms|s|min)\b", " TIME", text)
    text = re.sub(r" +time\b", " time", text)  # the heading of a column that is as wide as its times
    return re.sub(r"\(\d+(?:\.\d+)? (?:bytes|kB|MB)\)", "(SIZE)", text)


def differences(shown: str, printed: str) -> list[str]:
    """Lines that differ, apart from times, sizes, and one unit of the last digit of a number."""
    left, right = timeless(shown).splitlines(), timeless(printed).splitlines()
    if len(left) != len(right):
        return [f"{len(left)} lines are shown, {len(right)} are printed", *sorted(set(left) ^ set(right))]
    return [f"shown:   {a}\nprinted: {b}" for a, b in zip(left, right, strict=True) if not _alike(a, b)]


def _alike(a: str, b: str) -> bool:
    if a == b:
        return True
    if NUMBER.sub("#", " ".join(a.split())) != NUMBER.sub("#", " ".join(b.split())):
        return False
    return all(_within_a_digit(x, y) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True))


def _within_a_digit(x: str, y: str) -> bool:
    """Return whether two numbers differ by at most one unit of the last digit shown, or only beyond the twelfth digit.

    Instruction sets add in different orders, so the last digits of a number in full precision depend on the processor.
    """
    value, other = (float(text.replace(",", "").replace("−", "-")) for text in (x, y))
    mantissa, _, exponent = x.partition("e")
    if "." not in mantissa and not exponent:
        return value == other
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - other) <= max(1.01 * unit, 1e-12 * abs(value))


def main(names: list[str]) -> None:
    """Write the output of pages anew."""
    os.environ["COLUMNS"] = "80"
    for page in [Path(name).resolve() for name in names] or pages():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            prepare(Path(folder))
            text = replay(page)
        if differences(page.read_text(encoding="utf-8"), text):
            page.write_text(text, encoding="utf-8")
            print(f"written: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
