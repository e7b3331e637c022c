"""Numbers that stand for missing values."""

import numpy as np
import pytest

from linearly.checks.column_profile import profile_columns
from linearly.checks.sentinel_values import find_sentinels
from linearly.dataset.sources import as_tables


def sentinels(values):
    return [found[:2] for found in find_sentinels(profile_columns(as_tables({"x": values})).columns["x"])]


@pytest.mark.parametrize("code", [-999, -1, 99999])
def test_find_sentinels_finds_codes_far_from_the_rest(code):
    assert sentinels([*[code] * 4, *range(20, 60)]) == [(code, 4)]


@pytest.mark.parametrize("values", [[*range(20, 100), 99], [-1, -1, 0, 0, 1, 1], [*range(60), 999], [-999] * 5])
def test_find_sentinels_ignores_quantities(values):
    assert sentinels(values) == []


def test_profile_of_parts_adds_up():
    values = np.random.default_rng(0).choice([-999.0, -9.0, -1.0, 3.0, 4.5, 99.0, np.nan, np.inf], size=40)

    def profile(part):
        return profile_columns(as_tables({"x": part}), "x").columns["x"]

    for cut in range(1, 40):
        assert profile(values[:cut]) + profile(values[cut:]) == profile(values)
