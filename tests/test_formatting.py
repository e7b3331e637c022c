"""Numbers, counts, p-values and names as people read them."""

import doctest
import math

import pytest

from linearly import formatting
from linearly.formatting import (
    align_numbers,
    format_count,
    format_number,
    format_p,
    format_p_clause,
    join_names,
    pluralize,
    shorten_names,
    shown,
)


def test_every_example_of_the_module_runs():
    result = doctest.testmod(formatting)
    assert result.attempted >= 9
    assert result.failed == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00012345, "0.0001234"),
        (-1234.5, "−1,234"),
        (9_999_999.0, "9,999,999"),
        (1e7, "1.000e7"),
        (-3.2e-120, "−3.200e−120"),
        (math.inf, "–"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_format_number_to_four_digits(value, text):
    assert format_number(value) == text


def test_format_count_groups_integers_and_keeps_digits_of_weights():
    assert [format_count(n) for n in (0, 999, 1_000_000, -2000, 1.25, None)] == [
        "0", "999", "1,000,000", "−2,000", "1.25", "–",
    ]  # fmt: skip


def test_p_values_below_the_smallest_are_bounded_not_zero():
    assert [format_p(p) for p in (0.5, 9.9e-5, 1e-17, math.nan)] == ["0.5000", "9.9e-05", "< 1e-16", "–"]
    assert [format_p_clause(p, 3) for p in (0.51234, 1e-17, math.nan)] == ["p 0.512", "p < 1e−16", "p –"]


def test_align_numbers_of_nothing_and_of_infinity():
    assert align_numbers([]) == []
    assert align_numbers([math.inf, 2.0]) == ["inf", "2"]
    assert align_numbers([1e12, 2.0]) == ["1e+12", "2"]


@pytest.mark.parametrize(("n", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12_345, "12,345 rows")])
def test_pluralize_counts(n, text):
    assert pluralize(n, "row") == text


def test_join_names_by_how_many_there_are():
    assert [join_names("abcdef"[:n]) for n in (0, 1, 2, 5, 6)] == [
        "none", "a", "a and b", "a, b, c, d and e", "a, b, c, d, e and 1 more",
    ]  # fmt: skip


def test_shorten_names_keeps_names_different_and_escapes_control_characters():
    names = shorten_names([f"measurement_{k}_of_the_day" for k in range(5)], 12)
    assert all(len(name) <= 12 for name in names)
    assert shorten_names(["a\x1b"], 10) == [r"a\x1b"]
    assert len(set(shorten_names([f"a_very_long_name_{k}" for k in range(9)], 12))) == 9
    levels = shorten_names([f"level number {k} of the category" for k in range(12)], 14)
    assert len(set(levels)) == 12  # neither their ends nor their beginnings differ
    assert max(map(len, levels)) <= 14
    assert shorten_names([], 14) == []
    ends = [f"the same long beginning of a column, the {end}" for end in ("first", "second", "third")]
    assert len(set(shorten_names(ends, 28))) == 3


def test_shown_cuts_long_texts_only():
    assert shown("x" * 81) == f"{'x' * 80!r}… (81 characters)"
    assert shown("x" * 80) == repr("x" * 80)
    assert shown(list(range(100))) == repr(list(range(100)))
