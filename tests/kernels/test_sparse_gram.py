"""The compiled cross-products of sparse rows have the bits of SciPy's products."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import require

from linearly import kernels
from linearly.kernels import reference

compiled = kernels._compiled


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_sparse_gram_any_density_same_bits_as_scipy(density, weighted, kind):
    require(compiled is not None, "needs the compiled kernels")
    rng = np.random.default_rng(3)
    X = sp.random_array((200, 17), density=density, format="csr", rng=rng).astype(kind)
    weight, D = rng.random(200) if weighted else None, rng.standard_normal((200, 2))
    scale = 2.0 ** rng.integers(-3, 4, 17)
    for found, expected in zip(
        kernels.sparse_gram(X, weight, scale, D), reference.sparse_gram(X, weight, scale, D), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_sparse_gram_duplicate_entries_are_summed():
    X = sp.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    G, C = kernels.sparse_gram(X, None, np.ones(2), np.ones((2, 1)))
    np.testing.assert_array_equal(G, [[9.0, 0.0], [0.0, 25.0]])
    np.testing.assert_array_equal(C, [[3.0], [5.0]])


@pytest.mark.parametrize("indices", [[0, 2], [0, -1]])
def test_sparse_gram_index_outside_the_columns_is_refused(indices):
    require(compiled is not None, "needs the compiled kernels")
    offsets, values = np.array([0, 1, 2], dtype=np.int32), np.ones(2)
    at = np.array(indices, dtype=np.int32)
    with pytest.raises(ValueError, match="outside its columns"):
        compiled.sparse_gram(offsets, at, values, None, np.ones(2), np.ones((2, 1)), np.zeros((2, 2)), np.zeros((2, 1)))


def test_sparse_gram_offsets_out_of_order_are_refused():
    require(compiled is not None, "needs the compiled kernels")
    at, values = np.zeros(2, dtype=np.int32), np.ones(2)
    for offsets in ([0, 2, 1], [0, 9, 2], [0, 1, 3], [-1, 1, 2]):
        given = np.array(offsets, dtype=np.int32)
        with pytest.raises(ValueError, match=r"outside|order"):
            compiled.sparse_gram(
                given, at, values, None, np.ones(1), np.ones((2, 1)), np.zeros((1, 1)), np.zeros((1, 1))
            )


@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_largest_of_columns_any_types_those_of_the_dense_matrix(kind, indices):
    X = sp.csr_array(np.array([[0, -5, 0], [3, 4, 0]], dtype=kind))
    X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
    assert kernels.largest_of_columns(X).tolist() == [3.0, 5.0, 0.0]
    assert reference.largest_of_columns(X).tolist() == [3.0, 5.0, 0.0]


@pytest.mark.parametrize("at", [[0, 2], [0, -1]])
def test_largest_of_columns_index_outside_the_columns_is_refused(at):
    require(compiled is not None, "needs the compiled kernels")
    with pytest.raises(ValueError, match="outside its columns"):
        compiled.largest_of_columns(np.array(at, dtype=np.int32), np.ones(2), np.zeros(2))
