"""Errors of classifiers, of one and of many candidates at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from logistic_oracles import (
    Cut,
)

from linearly.algorithm.perceptron import error_counts as errors_module
from linearly.algorithm.perceptron.error_counts import (
    argmax_first,
    count_errors,
    pass_error,
    predicted_codes,
    scores,
    training_error,
)
from linearly.dataset.rows.block import as_rows


def candidates(K, m=11, p=3):
    rng = np.random.default_rng(K)
    vectors = 1 if K == 2 else K
    X = rng.integers(-2, 3, (40, p)).astype(float)
    coef, intercept = rng.integers(-2, 3, (m, vectors, p)), rng.integers(-2, 3, (m, vectors))
    return X, rng.integers(0, K, 40).astype(np.int32), coef.astype(float), intercept.astype(float)


def predicted(X, coef, intercept):
    """By the definition: of two classes the second where the score is not negative, of more the first largest."""
    S = X @ coef.T + intercept
    return [int(s[0] >= 0) if len(s) == 1 else list(s).index(max(s)) for s in S]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("K", [2, 3])
def test_count_errors_of_many_candidates_are_those_of_each(K, kind, weighted, monkeypatch):
    X, y, coef, intercept = candidates(K)
    weight = np.random.default_rng(0).integers(0, 4, 40).astype(float) if weighted else None
    w = np.ones(40) if weight is None else weight
    expected = [w[np.array(predicted(X, W, b)) != y].sum() for W, b in zip(coef, intercept, strict=True)]
    for rows_at_once, fewest, most in ((2048, 64, 2**17), (7, 3, 1), (7, 1, 5 * 7 * K)):
        monkeypatch.setattr(errors_module, "_ROWS", rows_at_once)
        monkeypatch.setattr(errors_module, "_FEWEST", fewest)
        monkeypatch.setattr(errors_module, "_SCORES", most)
        said = count_errors(Cut(kind(X), y, weight, 25), coef, intercept)
        np.testing.assert_array_equal(said, [*expected, w.sum()])
    assert training_error(as_rows(kind(X), y, weight), coef[2], intercept[2]) == expected[2] / w.sum()
    if weight is None:
        rows = Cut(kind(X), y, None, 25)
        said = [pass_error(rows, W, b) for W, b in zip(coef, intercept, strict=True)]
        np.testing.assert_array_equal(said, np.array(expected) / 40)


@pytest.mark.parametrize("K", [2, 3])
def test_predicted_codes_are_the_predictions(K):
    X, _, coef, intercept = candidates(K)
    for W, b in zip(coef, intercept, strict=True):
        S = scores(X, W, b)
        np.testing.assert_array_equal(S, X @ W.T + b)
        assert predicted_codes(S).tolist() == predicted(X, W, b)
        if K > 2:
            assert argmax_first(list(S.T)).tolist() == predicted(X, W, b)


def test_argmax_first_leaves_the_scores_unchanged():
    given = [np.array([1.0, 2.0]), np.array([3.0, 2.0]), np.array([3.0, 1.0])]
    copies = [s.copy() for s in given]
    assert argmax_first(given).tolist() == [1, 0]
    np.testing.assert_array_equal(given, copies)
