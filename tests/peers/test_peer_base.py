"""scikit-learn's tests of its `LinearRegression`, on ours."""

import pytest
from judge import PASSES, PASSES_SLOWLY, Table, differs, given, judged, loaded, private, unsorted

PEER = "sklearn.linear_model.tests.test_base"
POSITIVE = "no sign constraint: `positive=True`"
PREPARATION = "a private function that centres and scales"
ARRAY_API = "arrays on other devices"

TABLE: Table = {
    "test_array_api_move_estimator_to": private(ARRAY_API),
    "test_csr_preprocess_data": private(PREPARATION),
    "test_dtype_preprocess_data": private(PREPARATION),
    "test_fit_intercept": PASSES,
    "test_fused_types_make_dataset": private(PREPARATION),
    "test_inplace_data_preprocessing": differs(
        "convention",
        "`copy_X=False` has no effect: a fit never writes into the rows",
        given(sparse_container=None),
    ),
    "test_linear_regression": PASSES,
    "test_linear_regression_multiple_outcome": PASSES,
    "test_linear_regression_positive": differs("parameter", POSITIVE),
    "test_linear_regression_positive_multiple_outcome": differs("parameter", POSITIVE),
    "test_linear_regression_positive_vs_nonpositive": differs("parameter", POSITIVE),
    "test_linear_regression_positive_vs_nonpositive_when_positive": differs("parameter", POSITIVE),
    "test_linear_regression_sample_weight_consistency": PASSES_SLOWLY,
    "test_linear_regression_sample_weights": PASSES,
    "test_linear_regression_sparse": PASSES,
    "test_linear_regression_sparse_equal_dense": PASSES,
    "test_linear_regression_sparse_multiple_outcome": PASSES,
    "test_linear_regression_vs_lstsq": PASSES,
    "test_predict_proba_lr_large_values": private("a private mixin of its classifiers"),
    "test_preprocess_copy_data_no_checks": private(PREPARATION),
    "test_preprocess_data": private(PREPARATION),
    "test_preprocess_data_integer_array_api_on_float32_only_device": private(ARRAY_API),
    "test_preprocess_data_multioutput": private(PREPARATION),
    "test_preprocess_data_weighted": private(PREPARATION),
    "test_raises_value_error_if_positive_and_sparse": differs("parameter", POSITIVE),
    "test_raises_value_error_if_sample_weights_greater_than_1d": PASSES,
    "test_rescale_data": private(PREPARATION),
    "test_sparse_preprocess_data_offsets": private(PREPARATION),
}

pytestmark = pytest.mark.filterwarnings("ignore")
THEIRS = loaded(PEER)
globals().update(judged(THEIRS, TABLE))


def test_every_function_has_a_verdict():
    assert not unsorted(THEIRS, TABLE)
