"""One style for all plots: names that fit."""

from linearly.plots.style import shorten_names


def test_shorten_names_keeps_names_different():
    names = ["the same long beginning of a column, the " + end for end in ("first", "second", "third")]
    assert len(set(shorten_names(names, 28))) == 3
    assert all(len(name) <= 28 for name in shorten_names(names, 28))
