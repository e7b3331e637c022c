"""The logistic objective against the likelihood and its numerical derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from logistic_oracles import (
    CASES,
    Cut,
    a_scaling,
    by_definition,
    close,
    design,
    logistic_rows,
)

from linearly.algorithm.logistic import objective as objective_module
from linearly.algorithm.logistic.objective import Logistic
from linearly.dataset.rows.block import Block
from linearly.kernels.double_double import DoubleDouble


def check_same_derivatives(one, other, hessian=True):
    close(one.loss, other.loss)
    close(one.gradient, other.gradient)
    assert one.mistakes == other.mistakes
    close(one.largest, other.largest)
    if hessian:
        close(one.hessian, other.hessian)
    else:
        assert one.hessian is None


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", ["shifted", "unshifted", "sparse", "doubled"])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_objective_is_the_negative_log_likelihood(K, reference, form, intercept, weighted, monkeypatch):
    monkeypatch.setattr(objective_module, "_ROWS", 7)
    X, y, weight = logistic_rows(K, weighted=weighted, sparse=form == "sparse")
    scaling = a_scaling(shifted=form in ("shifted", "doubled"))
    objective = Logistic(K, reference, scaling, intercept)
    features = {"sparse": sp.csr_matrix, "doubled": DoubleDouble.of}.get(form, np.asarray)(X)
    Z, w = design(X, scaling, intercept), np.ones(30) if weight is None else weight
    for size in (0.0, 0.7, 3.0):
        B = size * np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
        expected = by_definition(Z, y, w, B, K, reference)
        block = Block(features, y, weight)
        for hessian in (True, False):
            check_same_derivatives(objective.evaluator(B, hessian)(block), expected, hessian)
        check_same_derivatives(objective._by_design(block, B, True), expected)
        check_same_derivatives(objective._unscaled(block, B), expected, hessian=False)
        close(objective._logits(features, B), Z @ B)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("K", "reference"), CASES)
def test_curvatures_are_those_of_each_class(K, reference, intercept, kind, monkeypatch):
    monkeypatch.setattr(objective_module, "_ROWS", 7)
    X, y, weight = logistic_rows(K, sparse=True)
    scaling = a_scaling(shifted=kind is np.asarray)
    objective, Z = Logistic(K, reference, scaling, intercept), design(X, scaling, intercept)
    B = np.random.default_rng(1).standard_normal((Z.shape[1], K - 1))
    logits = np.insert(Z @ B, reference, 0.0, axis=1)
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for w in (weight, None):
        V = P * (1 - P) * (1.0 if w is None else w[:, None])
        expected = np.einsum("nk,ni,nj->kij", V, Z, Z)
        block = Block(kind(X), y, w)
        close(objective.curvatures(B, False)(block), expected)
        close(objective.curvatures(B, True)(block), np.einsum("kii->ki", expected))
        close(objective.squares(kind(X), V), np.einsum("kii->ki", expected))
    close(objective.design(kind(X)), Z, atol=0)


def test_derivatives_of_blocks_add_up():
    X, y, weight = logistic_rows(3)
    objective = Logistic(3, 0, a_scaling(), True)
    B = np.random.default_rng(1).standard_normal((4, 2))
    whole = objective.evaluator(B)(Block(X, y, weight))
    check_same_derivatives(Cut(X, y, weight).reduce(objective.evaluator(B)), whole)
    some, none = objective.evaluator(B)(Block(X, y, weight)), objective.evaluator(B, False)(Block(X, y, weight))
    for total in (some + none, none + some):
        assert total.hessian is None
        close(total.loss, 2 * whole.loss)
    empty = Block(X[:0], y[:0])
    for hessian in (True, False):
        nothing = objective._by_design(empty, B, hessian)
        assert (nothing.loss, nothing.mistakes, nothing.largest) == (0.0, 0, 0.0)
        assert not nothing.gradient.any()


def test_probabilities_of_extreme_logits_add_up_to_one():
    objective = Logistic(3, 0, a_scaling(), True)
    logits = np.array([[0.0, 0.0], [1000.0, -1000.0], [-1000.0, -2000.0], [1.0, 2.0], [-3.0, -5.0], [800.0, 800.0]])
    P, normaliser = objective.probabilities(logits)
    close(P, [[1 / 3, 1 / 3], [1, 0], [0, 0], np.exp([1, 2]) / (1 + np.exp([1, 2]).sum()), P[4], [0.5, 0.5]])
    close(P[4], np.exp([-3, -5]) / (1 + np.exp([-3, -5]).sum()))
    close(normaliser, [np.log(3), 1000, 0, np.log(1 + np.exp([1, 2]).sum()), -np.log(1 - P[4].sum()), 800 + np.log(2)])
    assert Logistic(4, 2, a_scaling(), True).columns().tolist() == [0, 1, 3]
