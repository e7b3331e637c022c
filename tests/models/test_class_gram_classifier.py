"""Classifiers that are solved from one Gram per class have the limits of least squares."""

from __future__ import annotations

import numpy as np
import pytest

import linearly as ly
from linearly.exceptions import PrecisionWarning
from linearly.models import class_gram_classifier


def test_few_digits_beyond_the_columns_of_extended_precision_warn_and_take_one_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[:, 5] = X[:, 4] + 1e-5 * rng.normal(size=300)
    y = rng.integers(0, 2, 300)
    assert ly.LinearDiscriminantAnalysis().fit(X, y).n_passes_ == 2
    monkeypatch.setattr(class_gram_classifier, "MAX_EXTENDED_COLUMNS", 5)
    with pytest.warns(PrecisionWarning, match="A second pass is limited to 5 columns"):
        assert ly.LinearDiscriminantAnalysis().fit(X, y).n_passes_ == 1
