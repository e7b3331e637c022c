"""scikit-learn's tests of its `LogisticRegression`, on ours."""

import pytest
from judge import PASSES, Table, differs, given, judged, loaded, private, unsorted

PEER = "sklearn.linear_model.tests.test_logistic"
L1 = "no L1 penalty and no elastic net"
CV = "no `LogisticRegressionCV`"
LIBLINEAR = "liblinear's limits do not apply"
MAX_ITER = "a search ends only at the maximum: no `max_iter`, and `warm_start` has nothing to save"
PATH = "a private function"
ARRAY_API = "arrays on other devices"
CALLBACKS = "callbacks"
DEPRECATED = "a warning about a parameter of its own"

TABLE: Table = {
    "test_LogisticRegressionCV_GridSearchCV_elastic_net": differs("parameter", CV),
    "test_LogisticRegressionCV_elasticnet_attribute_shapes": differs("parameter", CV),
    "test_LogisticRegressionCV_no_refit": differs("parameter", CV),
    "test_LogisticRegressionCV_on_folds": differs("parameter", CV),
    "test_LogisticRegression_elastic_net_objective": differs("parameter", L1),
    "test_c_inf_no_warning": differs(
        "convention", "these classes are separable: there is no maximum, and a SeparationWarning reports it"
    ),
    "test_check_solver_option": differs("wording", LIBLINEAR),
    "test_consistency_path": differs("parameter", "no `intercept_scaling`: the intercept is not penalised"),
    "test_dtype_match": differs(
        "convention",
        "coefficients are float64 whatever the rows are",
        lambda case: case["solver"] != "liblinear",
    ),
    "test_elastic_net_coeffs": differs("parameter", L1),
    "test_elastic_net_l1_l2_equivalence": differs("parameter", L1),
    "test_elastic_net_versus_sgd": differs("parameter", L1, slow=True),
    "test_elastic_net_vs_l1_l2": differs("parameter", L1, slow=True),
    "test_elasticnet_l1_ratio_err_helpful": differs("parameter", L1),
    "test_get_default_scorer": private(PATH),
    "test_inconsistent_input": differs(
        "wording", '"X and y have inconsistent numbers of samples" for its "Found input variables with inconsistent …"'
    ),
    "test_l1_ratio_None_deprecated": private(DEPRECATED),
    "test_l1_ratio_non_elasticnet": differs("parameter", L1),
    "test_large_sparse_matrix": differs(
        "convention",
        "64-bit indices are accepted",
        given(solver=("liblinear", "sag", "saga")),
    ),
    "test_liblinear_decision_function_zero": differs("convention", "a logit of 0 predicts class 2: sign(0) = +1"),
    "test_liblinear_dual_random_state": differs("convention", "nothing is random: every seed gives the same result"),
    "test_liblinear_multiclass_raises": differs("convention", LIBLINEAR),
    "test_liblinear_not_stuck": differs("parameter", L1),
    "test_liblinear_with_large_values": differs("convention", LIBLINEAR),
    "test_logistic_cv": differs("parameter", CV),
    "test_logistic_cv_folds_with_classes_missing": differs("parameter", CV),
    "test_logistic_cv_mock_scorer": differs("parameter", CV),
    "test_logistic_cv_multinomial_score": private(PATH),
    "test_logistic_cv_refit_false_non_elasticnet": differs("parameter", CV),
    "test_logistic_cv_sparse": differs("parameter", CV),
    "test_logistic_glmnet": differs(
        "convention",
        "two classes agree with glmnet; of three, differences from the reference are penalised, not the K logits",
    ),
    "test_logistic_regression_array_api_compliance": private(ARRAY_API),
    "test_logistic_regression_array_api_warm_start": private(ARRAY_API),
    "test_logistic_regression_callback_fitted_estimator": private(CALLBACKS),
    "test_logistic_regression_callback_support": private(CALLBACKS),
    "test_logistic_regression_callback_support_warning": private(CALLBACKS),
    "test_logistic_regression_class_weights": PASSES,
    "test_logistic_regression_cv_refit": differs("parameter", CV),
    "test_logistic_regression_path_coefs_multinomial": private(PATH),
    "test_logistic_regression_path_convergence_fail": private(PATH),
    "test_logistic_regression_path_init_coefs": private(PATH),
    "test_logistic_regression_sample_weights": differs("parameter", CV, given(problem="cv")),
    "test_logistic_regression_solver_class_weights": PASSES,
    "test_logistic_regression_solvers": PASSES,
    "test_logistic_regression_solvers_multiclass": differs("parameter", CV),
    "test_logistic_regression_solvers_multiclass_unpenalized": PASSES,
    "test_logistic_regressioncv_class_weights": differs("parameter", CV),
    "test_logisticregression_liblinear_sample_weight": differs(
        "parameter", L1, lambda case: case["params"].get("l1_ratio") == 1 or case["params"].get("penalty") == "l1"
    ),
    "test_logisticregression_warns_with_n_jobs": private(DEPRECATED),
    "test_logisticregressioncv_warns_with_use_legacy_attributes": private(DEPRECATED),
    "test_logreg_intercept_scaling_zero": PASSES,
    "test_logreg_l1": differs("parameter", L1),
    "test_logreg_predict_proba_multinomial": private("calls `_predict_proba_lr`"),
    "test_lr_cv_scores_differ_when_sample_weight_is_requested": differs("parameter", CV),
    "test_lr_cv_scores_without_enabling_metadata_routing": differs("parameter", CV),
    "test_lr_penalty_l1ratio_incompatible": differs("parameter", L1),
    "test_lr_scoring_warns": private(DEPRECATED),
    "test_max_iter": differs("convention", MAX_ITER),
    "test_multinomial_cv_iris": differs("parameter", CV),
    "test_multinomial_identifiability_on_iris": PASSES,
    "test_multinomial_logistic_regression_string_inputs": differs("parameter", CV),
    "test_n_iter": differs("parameter", CV),
    "test_nan": PASSES,
    "test_newton_cholesky_fallback_to_lbfgs": private("its Newton solver gives way to L-BFGS"),
    "test_passing_params_without_enabling_metadata_routing": differs("parameter", CV),
    "test_penalty_deprecated": private(DEPRECATED),
    "test_penalty_none": private(DEPRECATED),
    "test_predict_2_classes": PASSES,
    "test_predict_3_classes": PASSES,
    "test_saga_vs_liblinear": differs("parameter", L1, given(l1_ratio=1)),
    "test_sample_and_class_weight_equivalence_liblinear": differs("parameter", L1),
    "test_sample_weight_not_modified": PASSES,
    "test_scores_attribute_layout_elasticnet": differs("parameter", CV),
    "test_single_feature_newton_cg": PASSES,
    "test_sparsify": differs("convention", "coefficients are dense: no `sparsify`"),
    "test_warm_start": differs("convention", MAX_ITER, given(warm_start=False)),
    "test_warm_start_converge_LR": PASSES,
    "test_warm_start_newton_solver": PASSES,
    "test_write_parameters": differs("convention", "assigning to `coef_` does not change predictions"),
    "test_zero_max_iter": differs("convention", MAX_ITER),
}

pytestmark = pytest.mark.filterwarnings("ignore")
THEIRS = loaded(PEER)
globals().update(judged(THEIRS, TABLE))


def test_every_function_has_a_verdict():
    assert not unsorted(THEIRS, TABLE)
