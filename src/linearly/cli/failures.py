"""What went wrong, in one sentence with its remedy, in the words of the command line."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

EXTRAS = {
    "pyarrow": "files",
    "click": "cli",
    "jinja2": "cli",
    "matplotlib": "cli",
    "rich": "cli",
    "formulaic": "formula",
    "starlette": "lab",
    "uvicorn": "lab",
    "anywidget": "lab",
    "onnx": "export",
    "sqlglot": "export",
}
# How the library says it, and how it is said here.
WORDS = (
    (r'\bchoose (missing|unseen)="(\w+)"', r"fit with --\1 \2"),
    (r"(Column ('[^',\"]+') is empty from .* fit without it)", r"\1: --without \2"),
    (r"(contains NaN: .*)\. Drop the row or fill the gap first", r"\1. Fill the gap, or fit with --missing drop"),
    (r'\b(missing|unseen|model|target|formula|weight)="(\w[\w-]*)"', r"--\1 \2"),
    (r'\b(method|covariance|solver|bias_reduction)="(\w+)"', r"--param \1=\2"),
    (r"\balpha > 0", "--alpha above 0"),
    (r"\balpha=(\d)", r"--alpha \1"),
    (r"\bPocketPerceptron\b", "--model pocket"),
    (r"\bAveragedPerceptron\b", "--model averaged"),
    (r"\bVotedPerceptron\b", "--model voted"),
    (r"\bexplain\(X, y\) says", "linearly check says"),
    (r"ly\.fit\(data, like=model, …\)", "linearly fit DATA --like MODEL"),
)


def in_options(message: str) -> str:
    """A message of the library with its arguments written as options."""
    for said, here in WORDS:
        message = re.sub(said, here, message)
    return message


def sentence(failure: BaseException) -> str:
    """One line about a failure."""
    import click

    if isinstance(failure, click.ClickException):
        return one_line(failure.format_message())
    if isinstance(failure, ModuleNotFoundError):
        return _absent(failure)
    if isinstance(failure, OSError) and failure.strerror:
        return _file(failure)
    if isinstance(failure, MemoryError):
        return "There is not enough memory for this. Use fewer columns, or a model that reads rows in passes."
    told = one_line(in_options(str(failure)))
    if isinstance(failure, (ValueError, TypeError, ImportError, OSError, NotImplementedError)) and told:
        return told
    return f"{type(failure).__name__}: {told} This should not happen; --debug shows where it comes from."


def one_line(text: str) -> str:
    """The text without line breaks, ended with a full stop."""
    line = " ".join(text.split())
    return line if not line or line[-1] in ".!?…" else f"{line}."


def _absent(failure: ModuleNotFoundError) -> str:
    top = (failure.name or "").partition(".")[0]
    if top in EXTRAS:
        return f"This needs {top}: pip install 'linearly[{EXTRAS[top]}]'."
    return one_line(str(failure))


def _file(failure: OSError) -> str:
    where = str(failure.filename) if failure.filename is not None else ""
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
