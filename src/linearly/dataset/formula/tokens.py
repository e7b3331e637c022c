"""Tokens: the pieces of a formula or expression, cut and checked for size before anything else looks at them."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LENGTH = 20_000  # characters of an expression or formula
MAX_NAME_LENGTH = 500  # of a column or level
MAX_DEPTH = 30  # brackets inside brackets

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<name>\.?[^\W\d][\w.]*)
  | (?P<quoted>`[^`]+`)
  | (?P<text>"[^"\\\n]*"|'[^'\\\n]*')
  | (?P<sign>\*\*|%in%|[-+*/^:~().,={}])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text and what it is: number, name, quoted, text or sign."""

    kind: str
    text: str
    at: int


def tokenize(text: str, longest: int = MAX_LENGTH) -> tuple[Token, ...]:
    """The pieces of an expression or formula; what is too long, too deep or no piece at all is refused."""
    if not isinstance(text, str):
        raise ValueError(f"A formula is text, not {type(text).__name__}.")
    if len(text) > longest:
        raise ValueError(f"The formula {text[:40]!r}… has {len(text)} characters: more than {longest} is too long.")
    found: list[Token] = []
    at = 0
    open_brackets: list[str] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(_stray(text, at))
        kind, piece = str(match.lastgroup), match.group()
        if kind not in ("space", "number") and len(piece) > MAX_NAME_LENGTH:
            raise ValueError(
                f"The name {piece[:40]}… has {len(piece)} characters: more than {MAX_NAME_LENGTH} is too long."
            )
        if piece in "({":
            open_brackets.append(")" if piece == "(" else "}")
            if len(open_brackets) > MAX_DEPTH:
                raise ValueError(f"The formula has more than {MAX_DEPTH} brackets inside each other: simplify it.")
        elif piece in ")}" and (not open_brackets or open_brackets.pop() != piece):
            raise ValueError(f"The formula closes a bracket that was not opened: {around(text, at)}.")
        if kind != "space":
            found.append(Token(kind, "^" if piece == "**" else piece, at))
        at = match.end()
    if open_brackets:
        raise ValueError(f"The formula lacks a closing {open_brackets[-1]!r}: {text[:60]!r}.")
    return tuple(found)


def _stray(text: str, at: int) -> str:
    if text[at] in "\"'`":
        return f"The formula opens a quote {text[at]} that does not close (or holds a backslash): {around(text, at)}."
    return (
        f"A formula cannot hold {text[at]!r}: {around(text, at)}. It is made of columns, numbers, functions and "
        "+ - * / ^ : ( ); a column with another name goes in `backticks`."
    )


def around(text: str, at: int) -> str:
    """The part of a text near a place, in quotes, for messages."""
    start = max(at - 15, 0)
    return repr(("…" if start else "") + text[start : at + 20] + ("…" if at + 20 < len(text) else ""))
