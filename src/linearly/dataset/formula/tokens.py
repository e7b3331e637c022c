"""Split a formula or expression into tokens, and check its size and brackets before anything else reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LENGTH = 20_000  # characters of an expression or formula
MAX_NAME_LENGTH = 500  # of a column or level
MAX_DEPTH = 30  # brackets inside brackets

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<package>(?:base|splines|stats)::(?=[^\W\d]))
  | (?P<name>\.?[^\W\d][\w.]*)
  | (?P<quoted>`[^`]+`)
  | (?P<text>"[^"\\\n]*"|'[^'\\\n]*')
  | (?P<sign>\*\*|%in%|<=|>=|==|!=|[-+*/^:~().,={}<>])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind (number, name, quoted, text or sign), its text and its position in the formula."""

    kind: str
    text: str
    at: int


class TokenReader:
    """Tokens and the position of the next one: what both parsers share."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens, self.at = tokens, 0

    def next(self) -> Token | None:
        """Return the next token without reading it; None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def accept(self, *signs: str) -> str:
        """Read the next token if it is one of some signs, and return its text; otherwise return an empty text."""
        token = self.next()
        if token is None or token.kind != "sign" or token.text not in signs:
            return ""
        self.at += 1
        return token.text


def tokenize(text: str, max_length: int = MAX_LENGTH) -> tuple[Token, ...]:
    """Return the tokens of a formula or expression; raise if it is too long, nested too deeply or not a formula."""
    if not isinstance(text, str):
        raise ValueError(f"The formula must be text, not {type(text).__name__}.")
    if len(text) > max_length:
        raise ValueError(
            f"The formula {text[:40]!r}… has {len(text)} characters, more than the limit of {max_length}. Shorten it."
        )
    tokens: list[Token] = []
    at = 0
    open_brackets: list[str] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _stray_character_error(text, at)
        kind, piece = str(match.lastgroup), match.group()
        if kind not in ("space", "number") and len(piece) > MAX_NAME_LENGTH:
            raise ValueError(
                f"The name {piece[:40]}… has {len(piece)} characters, more than the limit of {MAX_NAME_LENGTH}. "
                "Rename the column."
            )
        if piece in "({":
            open_brackets.append(")" if piece == "(" else "}")
            if len(open_brackets) > MAX_DEPTH:
                raise ValueError(f"The formula has more than {MAX_DEPTH} nested brackets. Simplify it.")
        elif piece in ")}" and (not open_brackets or open_brackets.pop() != piece):
            raise ValueError(f"The formula closes a bracket that is not open, at {around(text, at)}. Remove it.")
        if kind not in ("space", "package"):  # the functions of a package of R are known by their own name
            tokens.append(Token(kind, "^" if piece == "**" else piece, at))
        at = match.end()
    if open_brackets:
        raise ValueError(f"The formula lacks a closing {open_brackets[-1]!r}: {text[:60]!r}. Close the bracket.")
    return tuple(tokens)


def _stray_character_error(text: str, at: int) -> ValueError:
    if text[at] in "\"'`":
        return ValueError(
            f"The formula has a quote {text[at]} that is not closed, or contains a backslash, at {around(text, at)}. "
            "Close the quote."
        )
    if text[at] in "|&":
        return ValueError(
            f"The formula contains {text[at]!r}, at {around(text, at)}. Multiply comparisons for 'and', as in "
            "I((x > 0) * (z > 0)). Instead of random effects (1 | g), fit with groups= for clustered standard errors."
        )
    return ValueError(
        f"The formula contains the invalid character {text[at]!r}, at {around(text, at)}. Use columns, numbers, "
        "functions and + - * / ^ : ( ), and put other column names in `backticks`."
    )


def around(text: str, at: int) -> str:
    """Return the part of a text near a position, in quotes, for messages."""
    start = max(at - 15, 0)
    return repr(("…" if start else "") + text[start : at + 20] + ("…" if at + 20 < len(text) else ""))


def quote_name(name: str) -> str:
    """Return a column's name as a formula writes it.

    >>> quote_name("age"), quote_name("mean radius")
    ('age', '`mean radius`')
    """
    return name if name.isidentifier() else f"`{name}`"
