"""Signs: what + - : * / ^ %in% do to terms, by R's rules.

A term is a set of numbers here, one for each of its factors. formulaic says which sign binds what: it sees words that
stand for columns and calls, never the calls themselves, and computes nothing. The sums of terms are worked out here,
and refused before they grow beyond their limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from linearly.dataset.formula.expression import Call, Expression, parse_tokens
from linearly.dataset.formula.tokens import Token, around

Key = frozenset[int]  # a term by the numbers of its factors

MAX_TERMS = 5_000
MAX_FACTORS = 16  # in one term
MAX_POWER = 16
_MOST_PRODUCTS = 20_000  # of terms with terms, repeated ones included

_POWER = (
    f"(…)^k crosses terms up to k at a time, where k is a whole number from 1 to {MAX_POWER}. For the power of a "
    "column write I(x^2)."
)


class Variables(Protocol):
    """Who knows the factors: gives words for them, and the terms that the words stand for."""

    def keep(self, tree: Expression) -> str:
        """A word for a name or call."""
        ...

    def keep_rest(self) -> str:
        """The word for the dot."""
        ...

    def named(self, word: str) -> dict[Key, None]:
        """The terms that a word stands for."""
        ...

    def words(self, key: Key) -> str:
        """A term as R writes it."""
        ...


@dataclass
class TermSum:
    """Terms in order, what was said of the intercept, if anything, and the number that it is, if it is one."""

    terms: dict[Key, None] = field(default_factory=dict)
    intercept: bool | None = None
    number: str | None = None


def expand_terms(text: str, tokens: Sequence[Token], variables: Variables) -> TermSum:
    """The terms that the right side of a formula stands for, by R's rules."""
    tree = _tree(text, tokens, variables)
    order, todo = [], [tree]
    while todo:  # not by recursion: a sum of a thousand columns is a thousand deep
        node = todo.pop()
        order.append(node)
        todo.extend(getattr(node, "args", ()))
    sums: dict[int, TermSum] = {}
    work = _TermAlgebra(variables)
    for node in reversed(order):
        if hasattr(node, "args"):
            sums[id(node)] = work.joined(node, [sums.pop(id(argument)) for argument in node.args])
        else:
            sums[id(node)] = work.leaf(node.token)
        if len(sums[id(node)].terms) > MAX_TERMS:
            raise ValueError(f"The formula stands for more than {MAX_TERMS} terms: leave some out.")
    _refuse_number(sums[id(tree)])
    return sums[id(tree)]


def _tree(text: str, tokens: Sequence[Token], variables: Variables) -> Any:
    """What formulaic makes of the right side: operators with their operands, whose leaves are our words."""
    words = _words(text, tokens, variables)
    try:
        from formulaic.errors import FormulaicError
        from formulaic.parser import DefaultOperatorResolver
        from formulaic.parser.algos.tokenize import tokenize
        from formulaic.parser.algos.tokens_to_ast import tokens_to_ast
    except ImportError:
        raise ImportError("Formulas need formulaic: pip install 'linearly[formula]'.") from None
    try:
        return tokens_to_ast(tokenize(" ".join(words)), operator_resolver=DefaultOperatorResolver())
    except FormulaicError:
        raise ValueError(f"The signs of the formula {text[:200]!r} are not understood.") from None


def _words(text: str, tokens: Sequence[Token], variables: Variables) -> list[str]:
    """The right side with a word for every name, call and {…}; a sign where a column should be is refused."""
    words: list[str] = []
    operand_next = True
    i = 0
    while i < len(tokens):
        token = tokens[i]
        end = _end_of_atom(tokens, i)
        if end > i or token.text == "." or token.kind == "number":
            if not operand_next:
                raise ValueError(f"A sign such as + is missing before {token.text!r}: {around(text, token.at)}.")
            if words and words[-1] == "^" and not (token.kind == "number" and token.text.isdecimal()):
                raise ValueError(_POWER)
            if token.kind == "number" and not token.text.isdecimal():
                _refuse_number(TermSum(number=token.text))
            if end > i:
                words.append(variables.keep(_atom(tokens[i:end])))
            else:
                words.append(variables.keep_rest() if token.text == "." else token.text)
            operand_next = False
        elif token.text in ("(", ")"):
            if operand_next != (token.text == "(") or (words and words[-1] == "^"):
                raise ValueError(f"{token.text!r} is not expected there: {around(text, token.at)}.")
            words.append(token.text)
        elif token.kind == "text" or token.text in (",", "="):
            raise ValueError(
                f"{token.text!r} cannot be part of a sum of terms: {around(text, token.at)}. A column with an awkward "
                "name goes in `backticks`."
            )
        elif operand_next:
            _add_second_sign(words, text, token)
        elif token.text == "^" and len(words) > 1 and words[-2] == "^":
            raise ValueError(_POWER)
        else:
            words.append(token.text)
            operand_next = True
        i = max(end, i + 1)
    if operand_next:
        raise ValueError(f"The formula {text[:60]!r} ends where a column is expected.")
    return words


def _add_second_sign(words: list[str], text: str, token: Token) -> None:
    before = words[-1] if words else "("
    if token.text not in ("+", "-") or before not in ("(", "+", "-"):
        raise ValueError(f"A column is expected before {token.text!r}: {around(text, token.at)}.")
    if before == "(":
        words.append(token.text)
    else:
        words[-1] = "+" if token.text == before else "-"


def _end_of_atom(tokens: Sequence[Token], i: int) -> int:
    """Where the name, call or {…} that starts at i ends; i if none does."""
    token = tokens[i]
    if token.kind == "quoted":
        return i + 1
    call = token.kind == "name" and i + 1 < len(tokens) and tokens[i + 1].text == "("
    if not call and token.text != "{":
        return i + 1 if token.kind == "name" else i
    depth = 0
    for j in range(i + call, len(tokens)):
        depth += (tokens[j].text in ("(", "{")) - (tokens[j].text in (")", "}"))
        if depth == 0:
            return j + 1
    raise AssertionError("brackets were counted before")


def _atom(tokens: Sequence[Token]) -> Expression:
    tree = parse_tokens(tokens)
    return Call("I", (tree,)) if tokens[0].text == "{" else tree


class _TermAlgebra:
    """What each sign does to sums of terms; the products of terms are counted, and too many are refused."""

    def __init__(self, variables: Variables) -> None:
        self.variables, self.products = variables, 0

    def leaf(self, word: str) -> TermSum:
        if word[0].isdecimal():
            return TermSum(intercept=word == "1" if word in ("0", "1") else None, number=word)
        return TermSum(self.variables.named(word))

    def joined(self, node: Any, parts: list[TermSum]) -> TermSum:
        sign, left, right = str(node.operator.symbol), parts[0], parts[-1]
        if sign == "^":
            return self._power(left, right)
        for part in parts:
            _refuse_number(part)
        if len(parts) == 1:
            return left if sign == "+" else TermSum(intercept=_opposite(left.intercept))
        if sign == "+":
            left.terms.update(right.terms)
            return TermSum(left.terms, left.intercept if right.intercept is None else right.intercept)
        if sign == "-":
            return self._without(left, right)
        if left.intercept is not None or right.intercept is not None:
            raise ValueError(
                f"0 and 1 stand for the intercept: they can be added or taken away, not used with {sign!r}."
            )
        if sign == ":":
            return TermSum(self._pairs(left.terms, right.terms))
        if sign == "*":
            return TermSum({**left.terms, **right.terms, **self._pairs(left.terms, right.terms)})
        if sign == "/":
            return TermSum({**left.terms, **self._pairs(_together(left.terms), right.terms)})
        if node.args and str(getattr(getattr(node.args[0], "operator", None), "symbol", "")) in ("*", "/"):
            raise ValueError("%in% after * or / is not clear: write the interaction with ':'.")
        return TermSum(self._pairs(left.terms, _together(right.terms)))

    def _power(self, base: TermSum, exponent: TermSum) -> TermSum:
        _refuse_number(base)
        number = exponent.number or ""
        power = int(number) if number.isdecimal() and len(number) < 4 else 0
        if not 1 <= power <= MAX_POWER or base.intercept is not None:
            raise ValueError(_POWER)
        terms = base.terms
        for _ in range(power - 1):
            more = self._pairs(terms, base.terms)
            if len(more) == len(terms):
                break
            terms = more
        return TermSum(terms)

    def _pairs(self, left: dict[Key, None], right: dict[Key, None]) -> dict[Key, None]:
        self.products += len(left) * len(right)
        if self.products > _MOST_PRODUCTS:
            raise ValueError(f"The formula stands for more than {MAX_TERMS} terms: leave some out.")
        pairs = {a | b: None for a in left for b in right}
        if pairs and max(map(len, pairs)) > MAX_FACTORS:
            raise ValueError(f"A term has more than {MAX_FACTORS} factors: leave some out.")
        return pairs

    def _without(self, left: TermSum, right: TermSum) -> TermSum:
        for key in right.terms:
            if key not in left.terms:
                raise ValueError(f"The formula takes {self.variables.words(key)} away, but it is not there.")
            del left.terms[key]
        said = _opposite(right.intercept)
        return TermSum(left.terms, left.intercept if said is None else said)


def _refuse_number(part: TermSum) -> None:
    if part.number not in (None, "0", "1"):
        raise ValueError(
            f"The number {part.number[:20]} is no term: 1 and 0 stand for the intercept, I(2 * x) for a multiple."
        )


def _opposite(intercept: bool | None) -> bool | None:
    return None if intercept is None else not intercept


def _together(terms: dict[Key, None]) -> dict[Key, None]:
    return {frozenset().union(*terms): None}
