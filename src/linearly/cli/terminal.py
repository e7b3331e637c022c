"""Print results to standard output and everything else to standard error, and format text for both."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from linearly.cli.errors import as_sentence, with_option_names
from linearly.formatting import HIDDEN, pluralize, shorten, typeset_number, visible

MIN_WIDTH = 60
_FILE_WIDTH = 100  # of text that goes to a file or a pipe
_LONGEST_WORD = 50
_LEVEL = re.compile(r"(?<=\S)\[([^\[\]]+)\]")
# Styles are marks that no text of a user can contain, because they are drawn anew for each process. They become escape
# sequences only after every escape in a name, a level or a file has been made visible.
_KEY = f"\ufdd0{os.urandom(4).hex()}"
_STYLES: dict[str, Any] = {
    "bold": {"bold": True}, "dim": {"dim": True}, "red": {"fg": "red"}, "green": {"fg": "green"},
    "yellow": {"fg": "yellow"},
}  # fmt: skip
_ESCAPES = {name: click.style("", **how, reset=False) for name, how in _STYLES.items()} | {"end": click.style("")}
_MARK = re.compile(f"{_KEY}<({'|'.join(_ESCAPES)})>")
_shown_warnings: list[dict[str, str]] = []  # by `warning_printer`, for JSON
_color: bool | None = None  # None: click decides by the stream
_quiet = False


# --- printing


def set_color(when: str) -> None:
    """Use colors "always", "never", or with "auto" if the stream is a terminal and NO_COLOR is not set."""
    global _color
    automatic = False if os.environ.get("NO_COLOR") else None
    _color = {"always": True, "never": False}.get(when, automatic)


def set_quiet(quiet: bool) -> None:
    """Print results and errors only, without notes, progress and next steps."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Return whether only results and errors are printed."""
    return _quiet


def terminal_width() -> int:
    """Return the number of columns that text may use."""
    if os.environ.get("COLUMNS", "").isdigit() or (sys.stdout is not None and sys.stdout.isatty()):
        return max(shutil.get_terminal_size().columns, MIN_WIDTH)
    return _FILE_WIDTH


def print_out(text: str = "") -> None:
    """Print to standard output."""
    check_stdout_open()
    click.echo(_with_escapes(text), color=_color)


def print_err(text: str) -> None:
    """Print to standard error, unless --quiet is given."""
    if not _quiet:
        click.echo(_with_escapes(text), err=True, color=_color)


def check_stdout_open() -> None:
    """Raise `ValueError` if standard output is closed, as by `>&-`: Python has no stream for it then."""
    if sys.stdout is None:
        raise ValueError("Standard output is closed, so the result cannot be written. Redirect it to a file.")


def print_note(text: str) -> None:
    """Print a note to standard error."""
    print_err(style("note: ", "yellow") + wrap_text(text, "note: ")[6:])


def print_error(text: str, kind: str = "error") -> None:
    """Print what went wrong to standard error."""
    click.echo(_with_escapes(style(f"{kind}: ", "red", "bold") + text), err=True, color=_color)


def print_saved(path: str | os.PathLike[str]) -> None:
    """Report a file that was written, with its size."""
    print_err(f"saved {path} ({format_size(path)})")


def print_result(facts: Any, as_json: bool, render: Callable[[Any], str]) -> None:
    """Print facts as JSON, or as the text that `render` makes of them."""
    if as_json:
        print_json(facts)
    else:
        print_out(render(facts))


def print_json(value: Any, indent: int | None = 2, *, columns: bool = False) -> None:
    """Print as JSON, with the warnings shown so far; a number that is not finite becomes null.

    Beside `columns` of predictions the warnings stand only if there are any.
    """
    if isinstance(value, dict) and (_shown_warnings or not columns):
        value = {**value, "warnings": list(_shown_warnings)}
    from linearly.table import json_value

    text = json.dumps(json_value(value, list), ensure_ascii=False, indent=indent, allow_nan=False)
    print_out(HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text))  # the same JSON, without control characters


def warning_printer(everything: bool = False) -> Callable[..., None]:
    """Return a function that shows warnings: those of the library as notes, each once; others only if `everything`."""
    shown: set[str] = set()
    _shown_warnings.clear()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        ours = issubclass(category, UserWarning) or category.__name__ == "RankWarning"
        text = as_sentence(with_option_names(str(message)))
        if text in shown or not (ours or everything):
            return
        shown.add(text)
        _shown_warnings.append({"class": category.__name__, "text": text})
        print_note(text if ours else f"{category.__name__}: {text}")

    return show


# --- styles and layout


def style(text: str, *names: str) -> str:
    """Return text that a terminal shows in a style or a colour: bold, dim, red, green, yellow."""
    return f"{''.join(f'{_KEY}<{name}>' for name in names)}{text}{_KEY}<end>"


def bold(text: str) -> str:
    """Return bold text."""
    return style(text, "bold")


def dim(text: str) -> str:
    """Return faint text."""
    return style(text, "dim")


def _with_escapes(text: str) -> str:
    return _MARK.sub(lambda match: _ESCAPES[match[1]], visible(text))


def visible_width(text: str) -> int:
    """Return the number of columns that styled text takes on a terminal."""
    return len(_MARK.sub("", visible(text)))


def wrap_text(text: str, lead: str = "") -> str:
    """Return text after a lead in lines that fit, the later ones indented by the length of the lead."""
    room = terminal_width() - len(lead)
    lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    return lead + f"\n{' ' * len(lead)}".join(lines)


def flow_parts(parts: Sequence[str], gap: str = "   ", indent: str = "") -> str:
    """Return parts in one line, or in several if they do not fit."""
    lines, room = [""], terminal_width()
    for part in parts:
        longer = f"{lines[-1]}{gap}{part}" if lines[-1] else part
        if visible_width(longer) > room and lines[-1]:
            lines.append(indent + part)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def shorten_words(text: str) -> str:
    """Return text in one line, with long words and long levels in brackets cut in the middle."""
    text = _LEVEL.sub(lambda match: f"[{shorten(match[1], _LONGEST_WORD)}]", text)
    return " ".join(shorten(word, _LONGEST_WORD) for word in text.split())


def quote_word(word: str) -> str:
    """Return a word as the shell reads it; with control characters or line breaks in the $'…' of bash and zsh."""
    if not HIDDEN.search(word) and "\n" not in word:
        return shlex.quote(word)
    inside = word.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"$'{visible(inside)}'"


# --- numbers


def typeset_table(text: str) -> str:
    """Return the text of a table with typographic numbers, each as wide as before."""
    text = re.sub(r"-?[\d.]+e[+-]?\d+", lambda found: typeset_number(found[0]).rjust(len(found[0])), text)
    return typeset_number(text)


def format_columns(columns: int, terms: int) -> str:
    """Return 3 columns; or 3 columns, 5 terms, if levels of text have terms of their own."""
    count = pluralize(columns, "column")
    return count if terms == columns else f"{count}, {pluralize(terms, 'term')}"


def format_duration(seconds: float) -> str:
    """Return 4 ms, 1.3 s, 2 min."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.0005 else "< 1 ms"
    return f"{seconds:.1f} s" if seconds < 99.95 else f"{seconds / 60:.0f} min"


def format_percent(share: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{100 * share:.1f}%"


def format_size(path: str | os.PathLike[str]) -> str:
    """Return the size of a file: 17 bytes, 1.3 kB."""
    n = float(Path(path).stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}" if unit == "bytes" or n >= 9.95 else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} GB"
