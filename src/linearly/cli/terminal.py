"""What goes where: answers to standard output, all else to standard error."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from linearly.cli.errors import in_options, one_line
from linearly.formatting import HIDDEN, visible

_UNSEEN_WIDTH = 100  # of text that goes to a file or a pipe
NARROWEST = 60
_LEVEL = re.compile(r"(?<=\S)\[([^\[\]]+)\]")
# Styles are marks that no text of a user can hold, being drawn anew for each process. They become escape sequences only
# after every escape that came with a name, a level or a file has been made visible.
_KEY = f"\ufdd0{os.urandom(4).hex()}"
_STYLES: dict[str, Any] = {
    "bold": {"bold": True}, "dim": {"dim": True}, "red": {"fg": "red"}, "green": {"fg": "green"},
    "yellow": {"fg": "yellow"},
}  # fmt: skip
_CODES = {name: click.style("", **how, reset=False) for name, how in _STYLES.items()} | {"end": click.style("")}
_MARKED = re.compile(f"{_KEY}<({'|'.join(_CODES)})>")


def width() -> int:
    """Columns that there is room for."""
    if os.environ.get("COLUMNS", "").isdigit() or (sys.stdout is not None and sys.stdout.isatty()):
        return max(shutil.get_terminal_size().columns, NARROWEST)
    return _UNSEEN_WIDTH


def print_out(text: str = "") -> None:
    """Print to standard output."""
    refuse_closed_output()
    click.echo(_styled(text))


def print_err(text: str) -> None:
    """Print to standard error."""
    click.echo(_styled(text), err=True)


def refuse_closed_output() -> None:
    """Refuse to go on where standard output is closed, as by `>&-`: Python has no stream for it."""
    if sys.stdout is None:
        raise ValueError("Standard output is closed, so the answer cannot be written. Redirect it to a file.")


def style(text: str, *names: str) -> str:
    """Text that a terminal shows in a style or a colour: bold, dim, red, green, yellow."""
    return f"{''.join(f'{_KEY}<{name}>' for name in names)}{text}{_KEY}<end>"


def _styled(text: str) -> str:
    """Text as a terminal takes it: styles as escape sequences, and no others."""
    return _MARKED.sub(lambda found: _CODES[found[1]], visible(text))


def wrapped(text: str, lead: str = "") -> str:
    """Text after a lead, in lines that fit, the later ones indented to stand below the first."""
    indent = " " * len(lead)
    lines = textwrap.wrap(text, width() - len(lead), break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join((lead if i == 0 else indent) + line for i, line in enumerate(lines))


def brief(text: str, most: int = 50) -> str:
    """Text in one line, in which words of more letters, and levels in brackets, are cut in the middle."""
    text = _LEVEL.sub(lambda found: f"[{short(found[1], most)}]", text)
    return " ".join(short(word, most) for word in text.split())


def short(name: str, most: int = 50) -> str:
    """A name of at most so many letters, cut in the middle."""
    return name if len(name) <= most else f"{name[: most - most // 3 - 1]}…{name[-(most // 3) :]}"


def evaluation(found: Any, model: Any) -> str:
    """An evaluation under the name that `fit` has for the model, with notes that fit."""
    from dataclasses import replace

    from linearly.cli.fit_summary import kind_of

    title = found.title.replace(type(model.estimator).__name__, kind_of(model), 1)
    text = str(replace(found, title=title))
    for line in found.notes:
        text = text.replace(line, wrapped(line))
    return text


def note(text: str) -> None:
    """A remark on standard error."""
    print_err(style("note: ", "yellow") + wrapped(text, "note: ")[6:])


def error(text: str, kind: str = "error") -> None:
    """What went wrong, on standard error."""
    print_err(style(f"{kind}: ", "red", "bold") + text)


_warned: list[dict[str, str]] = []  # what `note_warning` has shown, for JSON


def note_warning(everything: bool = False) -> Callable[..., None]:
    """What shows warnings: those of the library as notes, each once; of others nothing, unless `everything`."""
    told: set[str] = set()
    _warned.clear()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        ours = issubclass(category, UserWarning) or category.__name__ == "RankWarning"
        text = one_line(in_options(str(message)))
        if text in told or not (ours or everything):
            return
        told.add(text)
        _warned.append({"class": category.__name__, "text": text})
        note(text if ours else f"{category.__name__}: {text}")

    return show


def put_json(value: Any, indent: int | None = 2, *, columns: bool = False) -> None:
    """Print as JSON, with the warnings shown so far; what is not a finite number becomes null.

    Beside `columns` of answers the warnings stand only where there are any.
    """
    if isinstance(value, dict) and (_warned or not columns):
        value = {**value, "warnings": list(_warned)}
    text = json.dumps(plain(value), ensure_ascii=False, indent=indent, allow_nan=False)
    print_out(HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # the same JSON, whatever a terminal obeys


def plain(value: Any) -> Any:
    """Python's own numbers, strings, lists and dicts; a Table becomes a list of its rows."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if hasattr(value, "to_dict") and hasattr(value, "row"):
        return [plain(row) for row in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(part) for part in value]
    return str(value)


def flowing(parts: Sequence[str], gap: str = "   ", indent: str = "") -> str:
    """Parts in one line, or in several where they do not fit."""
    lines, room = [""], width()
    for part in parts:
        longer = f"{lines[-1]}{gap}{part}" if lines[-1] else part
        if seen(longer) > room and lines[-1]:
            lines.append(indent + part)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def seen(text: str) -> int:
    """Columns of a terminal that styled text takes."""
    return len(_MARKED.sub("", visible(text)))


def bold(text: str) -> str:
    """Text that stands out on a terminal."""
    return style(text, "bold")


def dim(text: str) -> str:
    """Text that stands back on a terminal."""
    return style(text, "dim")


def count(n: int, thing: str, several: str | None = None) -> str:
    """1 row, 2,000 rows."""
    return f"{n:,} {thing if n == 1 else several or thing + 's'}"


def columns_told(columns: int, terms: int) -> str:
    """3 columns; or 3 columns, 5 terms, where levels of text have columns of their own."""
    told = count(columns, "column")
    return told if terms == columns else f"{told}, {count(terms, 'term')}"


def duration(seconds: float) -> str:
    """4 ms, 1.3 s, 2 min."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.0005 else "< 1 ms"
    return f"{seconds:.1f} s" if seconds < 99.95 else f"{seconds / 60:.0f} min"


def compact(value: float) -> str:
    """A number with at least four digits, and no exponent where it can be helped."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e10 else f"{value:.5g}"


def probability(p: float) -> str:
    """p < 1e-16, p 0.023."""
    if math.isnan(p):
        return "p –"
    return "p < 1e-16" if p < 1e-16 else f"p {p:.2g}"


def percent(share: float) -> str:
    """As a percentage with as many digits as tell it from 0 and 100."""
    return f"{100 * share:.1f} %"


def size(path: str | os.PathLike[str]) -> str:
    """How large a file is."""
    n = float(Path(path).stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}" if unit == "bytes" or n >= 9.95 else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} GB"


def saved(path: str | os.PathLike[str]) -> None:
    """Say that a file was written."""
    print_err(f"saved {path} ({size(path)})")


def two_values(target: str, low: float, high: float) -> str:
    """What to say of a target of two numbers that is fitted as numbers."""
    return f"{target} holds only {low:g} and {high:g}. The usual model of such a target is logistic: --model logistic."


def quoted(word: str) -> str:
    """A word as the shell wants it; with a control character or a line break, as bash and zsh do ($'\\n')."""
    import shlex

    if not HIDDEN.search(word) and "\n" not in word:
        return shlex.quote(word)
    inside = word.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"$'{visible(inside)}'"
