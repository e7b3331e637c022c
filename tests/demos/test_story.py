"""Scores of a story."""

from itertools import pairwise

import numpy as np

from linearly.demos.story import Score


def test_score_counts_errors_within_their_interval():
    truth = np.array(["a", "b"] * 10)
    score = Score.of(np.where(np.arange(20) < 15, truth, "a"), truth)
    assert (score.errors, score.rows) == (3, 20)
    assert score.low < 0.15 < score.high
    assert score.number == "15.0"
    low, high = (float(end) for end in score.interval.split(" to "))
    assert all(a < b for a, b in pairwise([0, low, 15, high, 100]))
