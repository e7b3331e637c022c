"""scikit-learn's tests of its perceptron, on ours."""

import pytest
from judge import PASSES, Table, differs, judged, loaded, private, unsorted

PEER = "sklearn.linear_model.tests.test_perceptron"

TABLE: Table = {
    "test_perceptron_accuracy": PASSES,
    "test_perceptron_correctness": PASSES,
    "test_perceptron_l1_ratio": differs("parameter", "no penalty on a perceptron"),
    "test_undefined_methods": private("asks an unfitted estimator for `predict_proba`"),
}

pytestmark = pytest.mark.filterwarnings("ignore")
THEIRS = loaded(PEER)
globals().update(judged(THEIRS, TABLE))


def test_every_function_has_a_verdict():
    assert not unsorted(THEIRS, TABLE)
