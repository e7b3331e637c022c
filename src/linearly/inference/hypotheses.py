"""Test linear combinations of coefficients that are written with the names of the terms: "cyl[6] = cyl[8]".

A hypothesis is parsed, never executed. Names are matched against those of the model, the longest first, because they
may contain brackets, colons and spaces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.formatting import join_names, shown, visible
from linearly.inference.coefficients import Coefficients, coefficients_of
from linearly.inference.fitted_terms import BIAS_NOTE
from linearly.inference.multiple_comparisons import adjust_note, adjusted_wald, check_adjust
from linearly.inference.unwrap import unwrap_estimator
from linearly.inference.wald_tests import check_level, degrees
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.table import Table

MAX_LENGTH = 10_000  # characters of a hypothesis
MAX_TOKENS = 2_000
MAX_HYPOTHESES = 5_000
MAX_DEPTH = 20  # of brackets and signs

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[\w.]")
_UNKNOWN = re.compile(r"[^\s+\-*/()=]+|.")


@single_threaded_blas()
def hypotheses(
    model: Any, hypothesis: str | Sequence[str], *, joint: bool = False, adjust: str | None = None, level: float = 0.95
) -> Table:
    """Test hypotheses about linear combinations of the coefficients, such as ``"cyl[6] = cyl[8]"``.

    Parameters
    ----------
    model : Model, LinearRegression, RidgeCV or LogisticRegression
        A fitted model. Its own covariance is used: classical, robust or clustered.
    hypothesis : str or sequence of str
        Equations with the names of terms, as `tidy` prints them, with ``+ - * /``, numbers and brackets. Without an
        equals sign the combination is compared with 0. Backticks quote a name that would otherwise be read as something
        else. With three or more classes, a term is named ``label:term``. A term without a label stands for each label
        in turn.
    joint : bool, default=False
        If True, test all hypotheses together.
    adjust : {"holm", "bh"} or None, default=None
        Adjustment of the p-values for several hypotheses. The intervals are then Bonferroni intervals.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Table
        Columns ``hypothesis, estimate, std_error, statistic, p_value, conf_low, conf_high``. The estimate is the left
        side minus the right side without its numbers, and ``statistic`` measures its distance from these numbers:
        ``"wt = -3"`` estimates ``wt`` and tests it against -3. With ``joint=True``, one row ``statistic, df,
        df_residual, p_value``: F, or χ² for a logistic model, where ``df_residual`` is infinite. NaN for combinations
        that the rows do not determine, which a note names.

    Raises
    ------
    TypeError
        If the model has no standard errors.
    ValueError
        If a hypothesis cannot be parsed, names an unknown term, is not linear, or if hypotheses contradict each other.

    See Also
    --------
    anova : Test every term of a formula.
    pairwise : Compare all pairs of levels.

    References
    ----------
    .. [1] Searle (1971), Linear Models, chapter 3.

    Examples
    --------
    >>> import linearly as ly
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0], [4.0, 5.0]], [1.0, 3.0, 5.0, 8.0, 9.0]
    >>> model = ly.LinearRegression().fit(X, y)
    >>> ly.hypotheses(model, "x0 = x1")["estimate"].round(3)
    array([2.6])
    >>> ly.hypotheses(model, ["x0 = 2", "x1 = 0"], joint=True)["df"]
    array([2])
    """
    check_adjust(adjust)
    check_level(level)
    coefficients = coefficients_of(model, "hypotheses")
    texts, L, constant = _parse_all(hypothesis, coefficients)
    penalized = bool(getattr(unwrap_estimator(model), "solution_", None) is not None and _alpha(model) > 0)
    notes = [*_not_estimable_note(texts, coefficients.estimable(L)), *([BIAS_NOTE] if penalized else [])]
    if joint:
        if adjust is not None:
            raise ValueError("adjust= applies to separate tests only. Leave it out with joint=True.")
        found = coefficients.test(L, constant)
        columns: dict[str, list[float]] = {
            "statistic": [found.statistic],
            "df": [found.df],
            "df_residual": [degrees(found.dof) if math.isfinite(found.dof) else np.inf],
            "p_value": [found.p_value],
        }
        return Table(columns, notes=notes)
    estimate, U = coefficients.combine(L)
    wald = adjusted_wald(estimate, coefficients.std_errors(U), coefficients.t_dof(L, U), level, adjust, null=constant)
    return Table({"hypothesis": texts, **wald}, notes=[*notes, *adjust_note(adjust, len(texts))])


def _alpha(model: Any) -> float:
    return float(unwrap_estimator(model).solution_.alpha)


def _not_estimable_note(texts: Sequence[str], known: NDArray[np.bool_]) -> list[str]:
    names = [text for text, sure in zip(texts, known, strict=True) if not sure]
    return [f"The rows do not determine these hypotheses: {join_names(names, 8, ', ')}."] if names else []


def _parse_all(hypothesis: Any, coefficients: Coefficients) -> tuple[list[str], Array, Array]:
    """Return the hypotheses, one per row, with their combinations and constants."""
    if isinstance(hypothesis, bytes) or not isinstance(hypothesis, Iterable):
        raise TypeError(
            f"The hypothesis must be a string such as 'x = 0', not {type(hypothesis).__name__}. Pass a string."
        )
    given = [hypothesis] if isinstance(hypothesis, str) else list(hypothesis)
    if not given or len(given) > MAX_HYPOTHESES:
        raise ValueError(
            f"The number of hypotheses must be from 1 to {MAX_HYPOTHESES:,}, not {len(given):,}. Pass "
            "fewer, or at least one."
        )
    texts, L, constants = [], [], []
    for text in given:
        if not isinstance(text, str):
            raise TypeError(
                f"The hypothesis must be a string such as 'x = 0', not {type(text).__name__}. Pass a string."
            )
        for shown_text, row, constant in _expand_labels(text, coefficients):
            texts.append(visible(" ".join(shown_text.split())))
            L.append(row)
            constants.append(constant)
    return texts, np.array(L), np.array(constants)


def _expand_labels(text: str, coefficients: Coefficients) -> list[tuple[str, Array, float]]:
    """Return a hypothesis once, or once per label if it names terms without a label."""
    q, labels = len(coefficients.names), coefficients.labels
    if not labels:
        return [(text, *parse_hypothesis(text, coefficients.index, coefficients.width))]
    full = {f"{label}:{name}": k * q + j for k, label in enumerate(labels) for name, j in coefficients.index.items()}
    rows = []
    for k, label in enumerate(labels):
        own = {name: k * q + j for name, j in coefficients.index.items()}
        row, constant = parse_hypothesis(text, own | full, coefficients.width)
        rows.append((f"{label}: {text}", row, constant))
    if all(np.array_equal(row, rows[0][1]) for _, row, _ in rows):
        return [(text, *rows[0][1:])]
    return rows


def parse_hypothesis(text: str, index: Mapping[str, int], width: int) -> tuple[Array, float]:
    """Return the combination and the constant of a hypothesis "combination = constant".

    `index` has the position of each name among `width` coefficients.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(
            f"The hypothesis has {len(text):,} characters, more than the limit of {MAX_LENGTH:,}. Shorten it."
        )
    parser = _Parser(text, _tokens(text, index), index, width)
    with np.errstate(all="ignore"):
        left = parser.sum()
        right = parser.sum() if parser.accept("=") else np.zeros(width + 1)
        both = left - right
    parser.finish()
    if not np.isfinite(both).all():
        raise ValueError(f"A number in {shown(text)} exceeds the float64 range. Write a smaller number.")
    if not both[:-1].any():
        raise ValueError(f"The hypothesis {shown(text)} contains no coefficient after simplification. Name a term.")
    return both[:-1], -float(both[-1])


class _Token:
    """A name, a number or an operator."""

    __slots__ = ("kind", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind, self.text = kind, text


def _tokens(text: str, index: Mapping[str, int]) -> list[_Token]:
    lengths = sorted({len(name) for name in index}, reverse=True)
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if len(tokens) == MAX_TOKENS:
            raise ValueError(f"The hypothesis {shown(text)} has more than {MAX_TOKENS:,} parts. Simplify it.")
        token, at = _next_token(text, at, index, lengths)
        tokens.append(token)
    return tokens


def _next_token(text: str, at: int, index: Mapping[str, int], lengths: Sequence[int]) -> tuple[_Token, int]:
    if text[at] == "`":
        end = text.find("`", at + 1)
        if end < 0:
            raise ValueError(f"A backtick is not closed in the hypothesis {shown(text)}. Close it.")
        name = text[at + 1 : end]
        return _Token("name", _known(name, index, text)), end + 1
    number = _NUMBER.match(text, at)
    for length in lengths:
        name, end = text[at : at + length], at + length
        # A name that reads as a number needs backticks; a name ends where a word ends.
        if (
            len(name) == length
            and name in index
            and not (number and number.end() >= end)
            and not _inside_word(text, end)
        ):
            return _Token("name", name), end
    if number and not _inside_word(text, number.end()):
        return _Token("number", number[0]), number.end()
    if text[at] in "+-*/()=":
        return _Token("sign", text[at]), at + 1
    unknown = _UNKNOWN.match(text, at)
    return _Token("name", _known(unknown[0] if unknown else text[at], index, text)), at


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and bool(_WORD.match(text[at])) and bool(_WORD.match(text[at - 1]))


def _known(name: str, index: Mapping[str, int], text: str) -> str:
    if name in index:
        return name
    near = get_close_matches(name[:100], list(index)[:500], n=2, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"The terms are {join_names(list(index), 8, ', ')}."
    raise ValueError(f"Term {shown(name)} is not in the model (hypothesis {shown(text)}). {visible(hint)}")


class _Parser:
    """Recursive descent. A value is the coefficients of all terms, and a constant at the end."""

    def __init__(self, text: str, tokens: list[_Token], index: Mapping[str, int], width: int) -> None:
        self.text, self.tokens, self.index, self.width = text, tokens, index, width
        self.at, self.depth = 0, 0

    def accept(self, *signs: str) -> str:
        """Return and skip the next sign if it is one of these; otherwise return an empty text."""
        if self.at < len(self.tokens) and self.tokens[self.at].kind == "sign" and self.tokens[self.at].text in signs:
            self.at += 1
            return self.tokens[self.at - 1].text
        return ""

    def sum(self) -> Array:
        """Return the value of products that are added and subtracted."""
        total = self.product()
        while sign := self.accept("+", "-"):
            other = self.product()
            total = total + other if sign == "+" else total - other
        return total

    def product(self) -> Array:
        """Return the value of a product, in which at most one factor has coefficients."""
        value = self.signed()
        while sign := self.accept("*", "/"):
            other = self.signed()
            if sign == "/":
                if other[:-1].any() or other[-1] == 0:
                    raise ValueError(
                        f"A hypothesis can be divided only by numbers other than 0: {shown(self.text)}. "
                        "Multiply instead."
                    )
                value = value / other[-1]
            elif value[:-1].any() and other[:-1].any():
                raise ValueError(
                    f"The hypothesis {shown(self.text)} is not linear, because it multiplies two terms. "
                    "Multiply terms by numbers only."
                )
            else:
                value = value * other[-1] if value[:-1].any() else other * value[-1]
        return value

    def signed(self) -> Array:
        """Return the value of an atom with its signs."""
        self.depth += 1
        if self.depth > 3 * MAX_DEPTH:
            raise ValueError(f"The hypothesis {shown(self.text)} is nested too deeply. Simplify it.")
        sign = self.accept("+", "-")
        value = self.atom() if not sign else self.signed() if sign == "+" else -self.signed()
        self.depth -= 1
        return value

    def atom(self) -> Array:
        """Return the value of a number, a name or a sum in brackets."""
        if self.accept("("):
            inside = self.sum()
            if not self.accept(")"):
                raise ValueError(f"A bracket is not closed in the hypothesis {shown(self.text)}. Close it.")
            return inside
        if self.at >= len(self.tokens) or self.tokens[self.at].kind == "sign":
            what = repr(self.tokens[self.at].text) if self.at < len(self.tokens) else "the end"
            raise ValueError(
                f"The hypothesis {shown(self.text)} has {what} where a term or a number is expected. Correct it."
            )
        token = self.tokens[self.at]
        self.at += 1
        value = np.zeros(self.width + 1)
        if token.kind == "number":
            value[-1] = float(token.text)
        else:
            value[self.index[token.text]] = 1.0
        return value

    def finish(self) -> None:
        """Raise if anything is left."""
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            extra = " Write one equals sign." if token.text == "=" else " Write 2*x, not 2 x."
            raise ValueError(f"{shown(token.text)} is not expected in the hypothesis {shown(self.text)}.{extra}")
