"""What went wrong, in one sentence with its remedy, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

EXTRAS = {
    "pyarrow": "files",
    "click": "cli",
    "jinja2": "cli",
    "matplotlib": "cli",
    "rich": "cli",
    "starlette": "lab",
    "uvicorn": "lab",
    "anywidget": "lab",
    "onnx": "export",
    "sqlglot": "export",
}
# How the library says it, and how it is said here.
WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r'\bchoose (missing|unseen)="(\w+)"', r"fit with --\1 \2"),
    (r"(Column ('[^',\"]+') is empty from .* fit without it)", r"\1: --without \2"),
    (r"(contains NaN: .*)\. Drop the row or fill the gap first", r"\1. Fill the gap, or fit with --missing drop"),
    (r"\bna_values=\[(.*?)\]", lambda found: _markers(found[1])),
    (r'\b(missing|unseen|model|target|formula|weight|groups)="(\w[\w-]*)"', r"--\1 \2"),
    (r'covariance="cluster" needs groups=:.*', "--param covariance=cluster needs --groups COLUMN."),
    (r"\bgroups=(?=\s|$)", "--groups"),
    (r'\b(method|covariance|solver|bias_reduction)="(\w+)"', r"--param \1=\2"),
    (r"\ba penalty, which RidgeCV chooses", "a penalty that cross-validation chooses: --cv"),
    (r"\balpha > 0", "--alpha above 0"),
    (r"\balpha=(\d)", r"--alpha \1"),
    (r"\bPocketPerceptron\b", "--model pocket"),
    (r"\bAveragedPerceptron\b", "--model averaged"),
    (r"\bVotedPerceptron\b", "--model voted"),
    (r"\bexplain\(X, y\) says", "linearly check says"),
    (r"ly\.fit\(data, like=model, …\)", "linearly fit DATA --like MODEL"),
)
_NOTES = (".txt", ".md")
_TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".gz")
_HALF_WRITTEN = re.compile(r"\.linearly-.*\.\w+")  # under this name a file is written before it has its own


def _markers(listed: str) -> str:
    """The option for markers that the library lists as texts in brackets."""
    import shlex

    return " ".join(shlex.quote(f"--na={marker}") for marker in re.findall(r"""["'](.*?)["'](?:, |$)""", listed))


def in_options(message: str) -> str:
    """A message of the library with its arguments written as options."""
    for said, here in WORDS:
        message = re.sub(said, here, message)
    return message


def format_error(failure: BaseException) -> str:
    """One line about a failure."""
    import click

    if isinstance(failure, click.ClickException):
        return one_line(failure.format_message()) + _unquoted(failure)
    if isinstance(failure, ModuleNotFoundError):
        return _absent(failure)
    if isinstance(failure, OSError) and failure.strerror:
        return _file(failure)
    if isinstance(failure, MemoryError):
        return "There is not enough memory for this. Use fewer columns, or a model that reads rows in passes."
    told = one_line(in_options(str(failure)))
    told += _other_files(told)
    if isinstance(failure, (ValueError, TypeError, ImportError, OSError, NotImplementedError)) and told:
        return told
    return f"{type(failure).__name__}: {told} This should not happen; --debug shows where it comes from."


def one_line(text: str) -> str:
    """The text without line breaks, ended with a full stop."""
    line = " ".join(text.split())
    return line if not line or line[-1] in ".!?…" else f"{line}."


def _unquoted(failure: click.ClickException) -> str:
    """A hint for files that the shell has put in the place of a glob."""
    extra = re.match(r"Got unexpected extra arguments? \((.*)\)", failure.format_message())
    first = Path(extra[1].split(" ")[0]) if extra else None
    if first is None or not first.is_file():
        return ""
    return f" To read several files as one, quote the glob: '{first.parent / f'*{first.suffix}'}'."


def _other_files(told: str) -> str:
    """A hint at a glob where a note among tables, such as README.txt, was read as one of them."""
    found = re.match(r"(.+?): There is no column '(.+?)'", told)
    path = Path(found[1]) if found else None
    if found is None or path is None or not path.is_file():
        return ""
    beside = sorted(path.parent.iterdir())
    notes = [path, *beside] if path.suffix.lower() in _NOTES else [one for one in beside if _begins(one, found[2])]
    note = next((one for one in notes if one.suffix.lower() in _NOTES), None)
    kinds = {entry.suffix for entry in beside if entry.suffix.lower() in _TABLES}
    if note is None or not kinds:
        return ""
    return f" To leave {note.name} out, give a glob: '{path.parent / f'*{min(kinds)}'}'."


def _begins(path: Path, name: str) -> bool:
    """Whether a note's first line was taken for the names of columns, and so is asked of all other files."""
    if path.suffix.lower() not in _NOTES or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as lines:
        return name in lines.readline(10_000)


def _absent(failure: ModuleNotFoundError) -> str:
    top = (failure.name or "").partition(".")[0]
    if top in EXTRAS:
        return f"This needs {top}: pip install 'linearly[{EXTRAS[top]}]'."
    return one_line(str(failure))


def _file(failure: OSError) -> str:
    where = str(failure.filename) if failure.filename is not None else ""
    if _HALF_WRITTEN.fullmatch(Path(where).name):
        cause = "" if isinstance(failure, FileNotFoundError) else f": {(failure.strerror or '').lower()}"
        return f"The directory {Path(where).parent} cannot be written to{cause}."
    if isinstance(failure, FileNotFoundError) and where:
        return f"There is no file {where}.{near_files(where)}"
    if isinstance(failure, IsADirectoryError):
        return f"{where} is a directory: name a file."
    if isinstance(failure, PermissionError):
        return f"{where} may not be opened: permission denied."
    return one_line(f"{where}: {failure.strerror}" if where else str(failure.strerror))


def near_files(where: str) -> str:
    """A hint at files beside it that are spelt alike."""
    path = Path(where)
    if path.exists():
        return ""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    near = get_close_matches(path.name, names, n=3, cutoff=0.75)
    return f" Did you mean {' or '.join(str(path.parent / name) for name in near)}?" if near else ""
