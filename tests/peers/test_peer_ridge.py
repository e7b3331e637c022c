"""scikit-learn's tests of ridge regression, its classifier and its cross-validation, on ours."""

import pytest
from judge import PASSES, PASSES_SLOWLY, Table, differs, given, judged, loaded, private, unsorted

PEER = "sklearn.linear_model.tests.test_ridge"
POSITIVE = "no sign constraint: `positive=True`"
EACH_TARGET = "one alpha for all targets"
CLASSIFIER = "no `RidgeClassifierCV`"
BY_ROW = "`cv_errors_` and `fold_errors_`, but no error of each row: `store_cv_results=True`"
SCORING = "alpha is chosen by the mean squared error alone: `scoring`"
SHORTEST = "with fewer rows than columns the coefficients have the smallest norm; the norm excludes the intercept"
FLOAT64 = "coefficients are float64 whatever the rows are"
SPARSE = "sparse rows can have an intercept, without an error or a warning"
ARRAY_API = "arrays on other devices"
SOLVER = "a private solver"

TABLE: Table = {
    "test_X_CenterStackOp": private(SOLVER),
    "test_array_api_error_and_warnings_for_solver_parameter": private(ARRAY_API),
    "test_array_api_numpy_namespace_no_warning": private(ARRAY_API),
    "test_check_gcv_mode_choice": private(SOLVER),
    "test_class_weight_vs_sample_weight": differs("parameter", CLASSIFIER, given("RidgeClassifierCV")),
    "test_class_weights": PASSES,
    "test_class_weights_cv": differs("parameter", CLASSIFIER),
    "test_compute_covariance": private(SOLVER),
    "test_compute_gram": private(SOLVER),
    "test_dense_sparse": differs(
        "convention",
        "an `intercept_` that is a Python float; no `scoring`, no `RidgeClassifierCV`",
        given("_test_ridge_loo", "_test_ridge_cv", "_test_ridge_classifiers"),
    ),
    "test_dtype_match": differs("convention", FLOAT64),
    "test_dtype_match_cholesky": differs("parameter", EACH_TARGET),
    "test_lbfgs_solver_consistency": private(SOLVER),
    "test_lbfgs_solver_error": differs("parameter", POSITIVE),
    "test_metadata_routing_with_default_scoring": private("metadata routing"),
    "test_n_iter": private("numbers of iterations of its solvers"),
    "test_positive_ridge_loss": differs("parameter", POSITIVE, slow=True),
    "test_primal_dual_relationship": private(SOLVER),
    "test_raises_value_error_if_sample_weights_greater_than_1d": differs(
        "wording", '"sample_weight.shape == …, expected (n,)" for its "Sample weights must be 1D array or scalar"'
    ),
    "test_regularization_limits_ridge": PASSES_SLOWLY,
    "test_regularization_limits_ridge_classifier_gcv": differs("parameter", CLASSIFIER, slow=True),
    "test_regularization_limits_ridge_gcv": differs(
        "wording",
        "sparse rows need no other algorithm, and no warning",
        lambda case: case["gcv_mode"] == "svd" and case["X_container"].__name__ != "asarray",
        slow=True,
    ),
    "test_ridge_array_api_compliance": private(ARRAY_API),
    "test_ridge_best_score": differs("parameter", CLASSIFIER, given("RidgeClassifierCV")),
    "test_ridge_classifier_cv_store_cv_results": differs("parameter", CLASSIFIER),
    "test_ridge_classifier_multilabel_array_api": private(ARRAY_API),
    "test_ridge_classifier_with_scoring": differs("parameter", CLASSIFIER),
    "test_ridge_cv_custom_multioutput_scorer": differs("parameter", SCORING),
    "test_ridge_cv_individual_penalties": differs("parameter", EACH_TARGET),
    "test_ridge_cv_multioutput_sample_weight": differs("parameter", BY_ROW),
    "test_ridge_cv_results_predictions": differs("parameter", BY_ROW),
    "test_ridge_fit_intercept_sparse": differs("parameter", POSITIVE, given(solver="lbfgs")),
    "test_ridge_fit_intercept_sparse_error": differs("convention", SPARSE),
    "test_ridge_fit_intercept_sparse_sag": differs("convention", SPARSE),
    "test_ridge_gcv_cv_results_not_stored": differs("parameter", CLASSIFIER, given("RidgeClassifierCV")),
    "test_ridge_gcv_integer_arrays": differs("parameter", BY_ROW),
    "test_ridge_gcv_sample_weights": differs("parameter", BY_ROW, slow=True),
    "test_ridge_gcv_vs_ridge_loo_cv": PASSES,
    "test_ridge_ground_truth_positive_test": differs("parameter", POSITIVE),
    "test_ridge_individual_penalties": differs("parameter", EACH_TARGET),
    "test_ridge_intercept": PASSES,
    "test_ridge_loo_cv_asym_scoring": differs("parameter", SCORING),
    "test_ridge_per_target_alpha_array_api": private(ARRAY_API),
    "test_ridge_positive_error_test": differs("parameter", POSITIVE),
    "test_ridge_positive_regression_test": differs("parameter", POSITIVE),
    "test_ridge_regression": PASSES,
    "test_ridge_regression_check_arguments_validity": differs(
        "convention",
        "every method gives an intercept, which all of its solvers but one refuse; and " + POSITIVE,
        lambda case: case["solver"] == "lbfgs" or (case["return_intercept"] and case["solver"] not in ("auto", "sag")),
    ),
    "test_ridge_regression_convergence_fail": differs("convention", "no iterations that could fail to converge"),
    "test_ridge_regression_custom_scoring": differs("parameter", CLASSIFIER),
    "test_ridge_regression_dtype_stability": differs("convention", FLOAT64),
    "test_ridge_regression_hstacked_X": PASSES,
    "test_ridge_regression_sample_weights": PASSES,
    "test_ridge_regression_unpenalized": differs(
        "convention", SHORTEST, lambda case: case["fit_intercept"] and len(case["ols_ridge_dataset"][0]) == 4
    ),
    "test_ridge_regression_unpenalized_hstacked_X": differs(
        "convention", SHORTEST, lambda case: case["fit_intercept"] and len(case["ols_ridge_dataset"][0]) == 4
    ),
    "test_ridge_regression_unpenalized_vstacked_X": differs(
        "convention", SHORTEST, lambda case: case["fit_intercept"] and len(case["ols_ridge_dataset"][0]) == 4
    ),
    "test_ridge_regression_vstacked_X": PASSES,
    "test_ridge_sag_with_X_fortran": PASSES,
    "test_ridge_sample_weight_consistency": differs("parameter", POSITIVE, given(solver="lbfgs")),
    "test_ridge_shapes_type": differs("convention", "an `intercept_` of one target is a Python float"),
    "test_ridge_vs_lstsq": PASSES,
    "test_ridgeclassifier_multilabel": differs("parameter", CLASSIFIER, given("RidgeClassifierCV")),
    "test_ridgecv_alphas_conversion": differs("parameter", CLASSIFIER, given("RidgeClassifierCV")),
    "test_ridgecv_alphas_scalar": differs("parameter", CLASSIFIER, given("RidgeClassifierCV")),
    "test_ridgecv_alphas_validation": differs("wording", '"alphas must be one or more numbers" for "alphas[0] == -1"'),
    "test_ridgecv_alphas_zero": differs(
        "convention",
        "alpha = 0 may be tried too: it is least squares",
        lambda case: case["cv"] is None or given("RidgeClassifierCV")(case),
    ),
    "test_ridgecv_int_alphas": PASSES,
    "test_ridgecv_sample_weight": differs(
        "convention",
        "folds are compared by mean squared errors, not by R², which a fold of one row does not have",
    ),
    "test_ridgecv_store_cv_results": differs("parameter", BY_ROW),
    "test_set_score_request_with_default_scoring": differs("parameter", CLASSIFIER, given("RidgeClassifierCV")),
    "test_solver_consistency": PASSES,
    "test_sparse_cg_max_iter": PASSES,
    "test_sparse_design_with_sample_weights": PASSES,
}

pytestmark = pytest.mark.filterwarnings("ignore")
THEIRS = loaded(PEER)
globals().update(judged(THEIRS, TABLE))


def test_every_function_has_a_verdict():
    assert not unsorted(THEIRS, TABLE)
