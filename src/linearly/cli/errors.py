"""Describe what went wrong in one sentence with its remedy, in terms of command-line options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

EXTRAS = {
    module: extra
    for extra, modules in {
        "files": ("pyarrow",),
        "cli": ("click", "jinja2", "matplotlib", "rich"),
        "lab": ("starlette", "uvicorn", "anywidget"),
        "export": ("onnx", "sqlglot"),
    }.items()
    for module in modules
}
# Patterns of the library's messages, and what the command line prints instead.
_OPTION_NAMES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r'\bchoose (missing|unseen)="(\w+)"', r"fit with --\1 \2"),
    (r"(Column ('[^',\"]+') is empty from .* fit without it)", r"\1: --without \2"),
    (
        r"(contains NaN: .*)\. Drop the row or fill in the value first",
        r"\1. Fill in the value, or fit with --missing drop",
    ),
    (r"\bna_values=\[(.*?)\]", lambda match: _na_options(match[1])),
    (r'\bkind="(\w+)"', r"--interval \1"),
    (r'\b(missing|unseen|model|target|formula|weight|groups|covariance)="(\w[\w-]*)"', r"--\1 \2"),
    (r"--covariance (\w+) needs groups=.*", r"--covariance \1 needs --groups COLUMN."),
    (r"as in at=\{'?([^:']+)'?: \[0, 1\]\}", r"as in --at '\1=0' --at '\1=1'"),
    (r"\b(covariance|formula|groups|like|model|positive|target|unseen|weight)=(?=[\s.;,]|$)", r"--\1"),
    (r'\b(method|solver|bias_reduction)="(\w+)"', r"--param \1=\2"),
    (r"\bUse LinearDiscriminantAnalysis or LogisticRegression", "Use --model lda or --model logistic"),
    (r"\btest linear combinations with hypotheses\(\)", "test linear combinations with linearly ask"),
    (r"\ba penalty, which RidgeCV chooses", "a penalty that cross-validation chooses: --cv"),
    (r"\balpha > 0", "--alpha above 0"),
    (r"\balpha=(\d)", r"--alpha \1"),
    (r"\b(Pocket|Averaged|Voted)Perceptron\b", lambda match: f"--model {match[1].lower()}"),
    (r"\bcall explain\(X, y\) to", "run linearly check to"),
    (r"\bCall explain\(X, y\) to", "Run linearly check to"),
    (r"ly\.fit\(data, like=model, …\)", "linearly fit DATA --like MODEL"),
)
_NOTE_SUFFIXES = (".txt", ".md")
_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".gz")
_HALF_WRITTEN = re.compile(r"\.linearly-.*\.\w+")  # the name of a file until it is complete


def with_option_names(message: str) -> str:
    """Return a message of the library with its arguments written as options."""
    for pattern, replacement in _OPTION_NAMES:
        message = re.sub(pattern, replacement, message)
    return message


def _na_options(markers: str) -> str:
    """Return the options for markers that the library lists as texts in brackets."""
    return " ".join(shlex.quote(f"--na={marker}") for marker in re.findall(r"""["'](.*?)["'](?:, |$)""", markers))


def as_sentence(text: str) -> str:
    """Return the text without line breaks, ended with a full stop."""
    line = " ".join(text.split())
    return line if not line or line[-1] in ".!?…" else f"{line}."


def format_error(failure: BaseException) -> str:
    """Return one line about a failure."""
    import click

    if isinstance(failure, click.ClickException):
        return as_sentence(failure.format_message()) + _suggest_quoting(failure)
    if isinstance(failure, ModuleNotFoundError):
        module = (failure.name or "").partition(".")[0]
        if module in EXTRAS:
            return f"This command needs {module}. Run: pip install 'linearly[{EXTRAS[module]}]'."
        return as_sentence(str(failure))
    if isinstance(failure, OSError) and failure.strerror:
        return _format_os_error(failure)
    if isinstance(failure, MemoryError):
        return (
            "The available memory is too small for this command. Use fewer columns, or a model that reads rows in "
            "passes."
        )
    message = as_sentence(with_option_names(str(failure)))
    message += _suggest_glob(message)
    if isinstance(failure, (ValueError, TypeError, ImportError, OSError, NotImplementedError)) and message:
        return message
    return f"{type(failure).__name__}: {message} This is a bug in linearly. Report it with the output of --debug."


def _format_os_error(failure: OSError) -> str:
    path = str(failure.filename) if failure.filename is not None else ""
    if _HALF_WRITTEN.fullmatch(Path(path).name):
        cause = "" if isinstance(failure, FileNotFoundError) else f": {(failure.strerror or '').lower()}"
        return f"The directory {Path(path).parent} cannot be written to{cause}."
    if isinstance(failure, FileNotFoundError) and path:
        return f"The file {path} does not exist.{suggest_files(path)}"
    if isinstance(failure, IsADirectoryError):
        return f"{path} is a directory. Name a file."
    if isinstance(failure, PermissionError):
        return f"{path} cannot be opened: permission denied. Change its permissions."
    return as_sentence(f"{path}: {failure.strerror}" if path else str(failure.strerror))


def suggest_files(path: str) -> str:
    """Return a hint at files in the same directory with similar names, or nothing."""
    missing = Path(path)
    if missing.exists():
        return ""
    try:
        names = [entry.name for entry in missing.parent.iterdir()]
    except OSError:
        return ""
    names = [name for name in names if name != missing.name]  # a link to no file
    near = get_close_matches(missing.name, names, n=3, cutoff=0.75)
    return f" Did you mean {' or '.join(str(missing.parent / name) for name in near)}?" if near else ""


def _suggest_quoting(failure: click.ClickException) -> str:
    """Return a hint if the shell has replaced a glob by its files."""
    extra = re.match(r"Got unexpected extra arguments? \((.*)\)", failure.format_message())
    first = Path(extra[1].split(" ")[0]) if extra else None
    if first is None or not first.is_file():
        return ""
    return f" To read several files as one, quote the glob: '{first.parent / f'*{first.suffix}'}'."


def _suggest_glob(message: str) -> str:
    """Return a hint if a note among tables, such as README.txt, was read as one of them."""
    match = re.match(r"(.+?): The column '(.+?)' does not exist", message)
    path = Path(match[1]) if match else None
    if match is None or path is None or not path.is_file():
        return ""
    beside = sorted(path.parent.iterdir())
    candidates = [path, *beside] if path.suffix.lower() in _NOTE_SUFFIXES else (
        [one for one in beside if _has_name_in_header(one, match[2])])  # fmt: skip
    note = next((one for one in candidates if one.suffix.lower() in _NOTE_SUFFIXES), None)
    suffixes = {entry.suffix for entry in beside if entry.suffix.lower() in _TABLE_SUFFIXES}
    if note is None or not suffixes:
        return ""
    return f" To leave {note.name} out, give a glob: '{path.parent / f'*{min(suffixes)}'}'."


def _has_name_in_header(path: Path, name: str) -> bool:
    """Return whether the first line of a note was taken for column names, which all other files then lack."""
    if path.suffix.lower() not in _NOTE_SUFFIXES or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as lines:
        return name in lines.readline(10_000)
