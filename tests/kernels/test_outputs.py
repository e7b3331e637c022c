"""The compiled kernels refuse outputs that they would have to convert, and sizes that make no sense."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import require

from linearly import kernels

compiled = kernels._compiled


@pytest.fixture(autouse=True)
def needs_the_extension():
    require(compiled is not None, "the compiled kernels are not in use")


X, ONE = np.arange(6.0).reshape(3, 2), np.ones(2)


@pytest.mark.parametrize("wrong", [np.zeros((3, 3), order="F")[::-1].T, np.zeros((3, 3), dtype=np.float32)])
def test_output_of_another_layout_or_type_is_refused(wrong):
    with pytest.raises(TypeError):
        compiled.gram(X, None, None, np.zeros(2), ONE, None, wrong)


def test_output_of_float32_probabilities_is_refused():
    with pytest.raises(TypeError):
        compiled.probabilities(X, np.zeros(3), np.zeros((3, 2), dtype=np.float32))


def test_softmax_without_logits_is_refused():
    codes = np.full(3, -1, dtype=np.int32)
    with pytest.raises(ValueError, match="at least one column"):
        compiled.softmax(X, codes, None, np.zeros(2), ONE, np.zeros((3, 0)), None, np.zeros((3, 0)))


def test_perceptron_without_weights_is_refused():
    with pytest.raises(ValueError, match="at least one vector"):
        kernels.count_errors(X, np.zeros(3, dtype=np.int32), np.zeros((0, 2)), None)


def test_count_of_errors_with_a_column_outside_is_refused():
    damaged = sp.csr_array((np.ones(1), np.array([5]), np.array([0, 1])), shape=(1, 9))
    damaged._shape = (1, 2)
    with pytest.raises(ValueError, match="outside its columns"):
        kernels.count_errors(damaged, np.zeros(1, dtype=np.int32), np.zeros((2, 1)), None)
