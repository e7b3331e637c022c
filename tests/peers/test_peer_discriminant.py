"""scikit-learn's tests of its discriminants, on ours."""

import pytest
from judge import PASSES, Table, differs, judged, loaded, private, unsorted

PEER = "sklearn.tests.test_discriminant_analysis"
LEDOIT = "no Ledoit-Wolf shrinkage and no other covariance estimator"
IDENTITY = "QDA shrinks towards the pooled covariance, not towards the identity"
SINGULAR = "if a class has a singular covariance, `shrinkage=0.1` is used and reported, instead of an error"

TABLE: Table = {
    "test_covariance": private("a private function"),
    "test_get_feature_names_out": PASSES,
    "test_lda_coefs": PASSES,
    "test_lda_dimension_warning": differs("wording", "no `n_components`: `transform` gives min(K − 1, p) directions"),
    "test_lda_dtype_match": differs("convention", "coefficients are float64 whatever the rows are, and " + LEDOIT),
    "test_lda_explained_variance_ratio": PASSES,
    "test_lda_ledoitwolf": differs("parameter", LEDOIT),
    "test_lda_numeric_consistency_float32_float64": differs("parameter", LEDOIT),
    "test_lda_orthogonality": differs("convention", "the spheres have variance 1 with the divisor N − K, not N"),
    "test_lda_predict": differs("parameter", LEDOIT),
    "test_lda_predict_proba": PASSES,
    "test_lda_priors": differs("convention", "priors that do not add up to 1 are refused, not rescaled"),
    "test_lda_scaling": PASSES,
    "test_lda_shrinkage": differs("parameter", LEDOIT),
    "test_lda_solver_agreement": PASSES,
    "test_lda_store_covariance": PASSES,
    "test_lda_transform": differs("convention", "there is one solver, and `transform` is always available"),
    "test_qda": differs("convention", SINGULAR),
    "test_qda_coefs": differs("convention", "`covariances_` is equivalent to its `rotations_` and `scalings_`"),
    "test_qda_covariance_estimator": differs("parameter", LEDOIT),
    "test_qda_ledoitwolf": differs("parameter", LEDOIT),
    "test_qda_prior_copy": PASSES,
    "test_qda_prior_type": PASSES,
    "test_qda_priors": PASSES,
    "test_qda_regularization": differs("convention", SINGULAR),
    "test_qda_shrinkage_performance": differs("parameter", IDENTITY),
    "test_qda_solver_agreement": PASSES,
    "test_qda_store_covariance": PASSES,
    "test_raises_value_error_on_one_sample_per_class": differs("convention", SINGULAR),
    "test_raises_value_error_on_same_number_of_classes_and_samples": differs(
        "wording", '"LDA of 2 classes needs more than 2 rows" for its "The number of samples must be more"'
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore")
THEIRS = loaded(PEER)
globals().update(judged(THEIRS, TABLE))


def test_every_function_has_a_verdict():
    assert not unsorted(THEIRS, TABLE)
