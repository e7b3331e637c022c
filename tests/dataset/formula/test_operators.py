"""Which operator binds what, and in which order terms come: as in R's terms()."""

from __future__ import annotations

import narwhals.stable.v2 as nw
import pytest

from linearly.dataset.design.from_formula import formula_design
from linearly.dataset.formula.operators import MAX_TERMS

SCHEMA = dict.fromkeys("yabcd", nw.Float64())


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("y ~ a + b*c", "a b c b:c"),
        ("y ~ a*b:c", "a b:c a:b:c"),
        ("y ~ a:b^2", "a:b"),
        ("y ~ (a + b)^2:c", "a:c b:c a:b:c"),
        ("y ~ a*b*c - a:b:c", "a b c a:b a:c b:c"),
        ("y ~ a*b/c", "a b a:b a:b:c"),
        ("y ~ a/b/c", "a a:b a:b:c"),
        ("y ~ a/(b + c)", "a a:b a:c"),
        ("y ~ (a + b) %in% c", "a:c b:c"),
        ("y ~ a %in% b:c", "a:b:c"),
        ("y ~ -a + b", "b"),
        ("y ~ -a*b + c", "c"),
        ("y ~ a - -b", "a b"),
        ("y ~ (a + b + c)^2 - a:b", "a b c a:c b:c"),
        ("y ~ .^2 - .", "a:b a:c a:d b:c b:d c:d"),
    ],
)
def test_expand_terms_follows_rs_precedence(formula, terms):
    assert [term.label for term in formula_design(formula, SCHEMA).terms] == terms.split()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (". ~ a", "^'[.]' is not expected"),
        ("y ~ a * -b", "^A column is expected before '-'"),
        ("y ~ a b", "^An operator such as [+] is missing before 'b'"),
        ("y ~ (a b)", "^An operator such as [+] is missing before 'b'"),
        ("y ~ a +", "ends where a column is expected"),
        ("y ~ a^b", "^.…..k crosses terms"),
        ("y ~ a^2^2", "^.…..k crosses terms"),
        ("y ~ a^(2)", r"^'\(' is not expected"),
        ("y ~ a:1", "^0 and 1 stand for the intercept"),
        ("y ~ 2 + a", "^The number 2 is not a term"),
        ("y ~ a*b %in% c", "^%in% is ambiguous after [*] or /"),
        ("y ~ a %in% 1", "cannot be combined with '%in%'"),
        ("y ~ a, b", "^',' cannot be part of a sum of terms"),
    ],
)
def test_expand_terms_refuses_by_place(formula, message):
    with pytest.raises(ValueError, match=message):
        formula_design(formula, SCHEMA)


def test_expand_terms_counts_the_columns_of_the_dot():
    schema = dict.fromkeys(["y", *(f"x{k}" for k in range(MAX_TERMS + 1))], nw.Float64())
    with pytest.raises(ValueError, match=f"more than {MAX_TERMS} terms"):
        formula_design("y ~ . - x0", schema)
