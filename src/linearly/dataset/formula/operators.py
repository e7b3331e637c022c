"""Expand the right side of a formula into terms: what + - : * / ^ %in% mean, by R's rules.

Precedence, from loosest to tightest (all operators group from the left):

    + -         add and remove terms; 0 and 1 stand for the intercept
    * / %in%    cross, nest, nested in
    :           interact
    ^           cross up to k at a time; k is an integer

The parser reads tokens by recursive descent. Limits on the number of terms, factors and products are checked while
terms are formed, so that a short formula cannot use up memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from linearly.dataset.formula.expression import Call, Expression, parse_tokens
from linearly.dataset.formula.tokens import Token, TokenReader, around

Key = frozenset[int]  # a term: the numbers of its factors
Terms = dict[Key, None]  # an ordered set of terms

MAX_TERMS = 5_000
MAX_FACTORS = 16  # in one term
MAX_POWER = 16
_MAX_PRODUCTS = 20_000  # of terms with terms, repeated ones included

_POWER = (
    f"(…)^k crosses terms up to k at a time. k must be an integer from 1 to {MAX_POWER}. Write I(x^2) for a "
    "power of a column."
)


class Variables(Protocol):
    """The factors of a formula, numbered in order of appearance."""

    def number(self, tree: Expression) -> Key:
        """Return the term of a single column or call; number it if it is new."""
        ...

    def rest(self) -> Terms:
        """Return the terms that the dot stands for, and number the new ones."""
        ...

    def label(self, key: Key) -> str:
        """Return a term as R writes it."""
        ...


@dataclass
class TermSum:
    """Terms in order, whether the intercept was added (None: not mentioned), and the operator that formed the sum."""

    terms: Terms
    intercept: bool | None = None
    operator: str = ""


def expand_terms(text: str, tokens: Sequence[Token], variables: Variables) -> TermSum:
    """Return the terms of a formula's right side, given as tokens; `text` is the formula for messages."""
    parser = _TermParser(text, tokens, variables)
    total = parser.sum()
    if parser.at < len(tokens):
        raise parser.unexpected("An operator such as + is missing")
    return total


class _TermParser(TokenReader):
    """One method per level of precedence."""

    def __init__(self, text: str, tokens: Sequence[Token], variables: Variables) -> None:
        super().__init__(tokens)
        self.text, self.variables, self.n_products = text, variables, 0

    def sum(self) -> TermSum:
        sign = self._signs()
        total = self._product()
        if sign == "+":
            total.operator = sign
        elif sign == "-":
            total = TermSum({}, _opposite(total.intercept), sign)
        while sign := self._signs():
            part = self._product()
            intercept = part.intercept if sign == "+" else _opposite(part.intercept)
            if sign == "+":
                total.terms.update(part.terms)
            else:
                self._remove(part.terms, total.terms)
            total = _checked(TermSum(total.terms, total.intercept if intercept is None else intercept, sign))
        return total

    def _signs(self) -> str:
        """Read a run of + and -; return the sign that it amounts to, or nothing."""
        sign = self.accept("+", "-")
        while sign and (other := self.accept("+", "-")):
            sign = "+" if sign == other else "-"
        return sign

    def _remove(self, terms: Terms, present: Terms) -> None:
        for key in terms:
            if key not in present:
                raise ValueError(
                    f"The formula removes {self.variables.label(key)}, which it does not contain. Do not remove it."
                )
            del present[key]

    def _product(self) -> TermSum:
        left = self._interaction()
        while sign := self.accept("*", "/", "%in%"):
            right = self._interaction()
            _check_no_intercept(sign, left, right)
            if sign == "*":
                terms = {**left.terms, **right.terms, **self._cross(left.terms, right.terms)}
            elif sign == "/":
                terms = {**left.terms, **self._cross(_merged(left.terms), right.terms)}
            elif left.operator in ("*", "/"):
                raise ValueError("%in% is ambiguous after * or /. Write the interaction with ':'.")
            else:
                terms = self._cross(left.terms, _merged(right.terms))
            left = _checked(TermSum(terms, None, sign))
        return left

    def _interaction(self) -> TermSum:
        left = self._power()
        while sign := self.accept(":"):
            right = self._power()
            _check_no_intercept(sign, left, right)
            left = _checked(TermSum(self._cross(left.terms, right.terms), None, sign))
        return left

    def _power(self) -> TermSum:
        base = self._operand()
        if not self.accept("^"):
            return base
        power = self._exponent()
        if not 1 <= power <= MAX_POWER or base.intercept is not None or self.accept("^"):
            raise ValueError(_POWER)
        terms = base.terms
        for _ in range(power - 1):
            more = self._cross(terms, base.terms)
            if len(more) == len(terms):
                break
            terms = more
        return _checked(TermSum(terms, None, "^"))

    def _exponent(self) -> int:
        token = self.next()
        if token is None or (token.kind in ("text", "sign") and token.text not in (".", "{")):
            raise self.unexpected("A column is expected")
        if not token.text.isdecimal() or len(token.text) > 3:
            raise ValueError(_POWER)
        self.at += 1
        return int(token.text)

    def _operand(self) -> TermSum:
        """Read a column, a call, {…}, the dot, 0, 1 or a sum in brackets."""
        if self.accept("("):
            total = self.sum()
            if not self.accept(")"):
                raise self.unexpected("An operator such as + is missing")
            return total
        if self.accept("."):
            return _checked(TermSum(self.variables.rest()))
        token = self.next()
        if token is not None and token.kind == "number":
            if token.text not in ("0", "1"):
                raise ValueError(
                    f"The number {token.text[:20]} is not a term, because only 1 and 0 stand for the intercept. Write "
                    "I(2 * x) for a multiple."
                )
            self.at += 1
            return TermSum({}, token.text == "1")
        start, self.at = self.at, self._end_of_call()
        if token is None or self.at == start:
            raise self.unexpected("A column is expected")
        tree = parse_tokens(self.tokens[start : self.at])
        return TermSum({self.variables.number(Call("I", (tree,)) if token.text == "{" else tree): None})

    def _end_of_call(self) -> int:
        """Return where the name, call or {…} that comes next ends; the current position if none comes."""
        token, i = self.next(), self.at
        if token is None or not (token.kind in ("name", "quoted") or token.text == "{"):
            return i
        if token.kind == "quoted" or (token.kind == "name" and [t.text for t in self.tokens[i + 1 : i + 2]] != ["("]):
            return i + 1
        depth = 0
        for j in range(i + (token.kind == "name"), len(self.tokens)):
            depth += (self.tokens[j].text in ("(", "{")) - (self.tokens[j].text in (")", "}"))
            if depth == 0:
                return j + 1
        raise AssertionError("tokenize() checks that brackets match")

    def _cross(self, left: Terms, right: Terms) -> Terms:
        self.n_products += len(left) * len(right)
        if self.n_products > _MAX_PRODUCTS:
            raise _too_many_terms()
        pairs = {a | b: None for a in left for b in right}
        if pairs and max(map(len, pairs)) > MAX_FACTORS:
            raise ValueError(f"A term has more than {MAX_FACTORS} factors. Leave some out.")
        return pairs

    def unexpected(self, problem: str) -> ValueError:
        """Return the error for the next token; `problem` describes it unless the token determines the message."""
        token = self.next()
        if token is None:
            return ValueError(f"The formula {self.text[:60]!r} ends where a column is expected. Complete it.")
        place = around(self.text, token.at)
        if token.kind == "text" or token.text in (",", "="):
            return ValueError(
                f"{token.text!r} cannot be part of a sum of terms, at {place}. Write a column name with special "
                "characters in `backticks`."
            )
        if token.text in ("(", ")"):
            return ValueError(f"{token.text!r} is not expected, at {place}. Correct the formula.")
        return ValueError(f"{problem} before {token.text!r}, at {place}. Correct the formula.")


def _checked(total: TermSum) -> TermSum:
    if len(total.terms) > MAX_TERMS:
        raise _too_many_terms()
    return total


def _too_many_terms() -> ValueError:
    return ValueError(f"The formula expands to more than {MAX_TERMS} terms. Leave some out.")


def _check_no_intercept(sign: str, *operands: TermSum) -> None:
    if any(operand.intercept is not None for operand in operands):
        raise ValueError(
            f"0 and 1 stand for the intercept, so they cannot be combined with {sign!r}. Add or subtract them."
        )


def _opposite(intercept: bool | None) -> bool | None:
    return None if intercept is None else not intercept


def _merged(terms: Terms) -> Terms:
    return {frozenset().union(*terms): None}
