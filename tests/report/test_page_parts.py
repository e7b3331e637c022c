"""Numbers on a page: digits, exponents, minus signs and decimals; tables of many columns."""

import pytest

from linearly.formatting import format_count, format_number
from linearly.report.page_parts import WIDE, align_decimals, format_factor, format_p, table


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"), (1.0, "1"), (-0.5, "−0.5"), (1234.4, "1,234"), (0.00012346, "0.0001235"), (2e-5, "2.000e−5"),
        (12345678.0, "1.235e7"), (None, "–"), (float("nan"), "–"),
    ],
)  # fmt: skip
def test_format_number_writes_digits_exponents_and_minus_signs(value, said):
    assert format_number(value) == said


def test_align_decimals_gives_a_column_equal_decimals():
    assert align_decimals([1.5, -0.25, None]) == ["1.500", "−0.250", "–"]
    assert align_decimals([1.0, 20.0]) == ["1", "20"]
    assert align_decimals([1e9, 1e-9]) == ["1.000e9", "1.000e−9"]
    assert (format_p(1e-9), format_p(0.01234), format_p(0.5), format_p(None)) == ("1.0e−9", "0.0123", "0.5000", "–")
    assert format_p(1e-17) == "< 1e−16"
    assert format_count(53940) == "53,940"


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.0021, "1.0021"), (0.99985, "0.99985"), (1.0, "1"), (2.5, "2.5"), (None, "–")],
)
def test_format_factor_keeps_the_difference_from_one(value, said):
    assert format_factor(value) == said


def test_table_of_many_columns_has_smaller_letters():
    """On paper, ten columns of numbers left the last one, of sentences, room for one word per line."""
    for n, look in ((WIDE - 1, ""), (WIDE, "small")):
        assert table("caption", ["name"] * n, [["1"] * n])["look"] == look
