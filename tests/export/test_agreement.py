"""A model file whose figures contradict its own summary is refused by the name of the field."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import linearly as ly
from linearly.export.model_file import _digest

RNG = np.random.default_rng(3)
N = 90
A, B = RNG.normal(size=(2, N))
Y = 2 * A - B + RNG.normal(size=N)
DATA = {"a": A, "b": B, "y": Y, "label": np.array(["u", "v", "w"])[np.digitize(Y, [-1.0, 1.0])]}
BINARY = DATA | {"label": np.where(Y > 0, "u", "v")}


def plain_of(tmp_path: Any, data: Any = DATA, **given: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a perceptron need not settle
        ly.fit(data, features=["a", "b"], **({"target": "y"} | given)).save(tmp_path / "model.json")
    return json.loads((tmp_path / "model.json").read_text())


def refused(tmp_path: Any, plain: dict[str, Any]) -> str:
    """The refusal of a file that was changed, with the digest that goes with the change."""
    plain["digest"] = _digest(
        {name: value for name, value in plain.items() if name not in ("format", "version", "digest")}
    )
    (tmp_path / "changed.json").write_text(json.dumps(plain))
    with pytest.raises(ValueError, match="cannot be loaded as a model") as failure:
        ly.load(tmp_path / "changed.json")
    return str(failure.value)


def changed(values: Any, by: float) -> Any:
    return {**values, "values": [float(value) * by for value in values["values"]]}


LINEAR = [{}, {"method": "qr"}, {"method": "extended"}, {"alpha": 2.0}, {"method": "gradient_descent"}]


@pytest.mark.parametrize("given", LINEAR, ids=str)
@pytest.mark.parametrize(
    "field", ["rss", "tss", "coef", "intercept", "prediction_at_mean", "inverse_root", "shrinkage"]
)
def test_solution_that_contradicts_its_summary_is_refused_by_field(tmp_path, field, given):
    plain = plain_of(tmp_path, **given)
    solution = plain["estimator"]["state"]["solution_"]
    solution[field] = changed(solution[field], 1e-9 if field == "rss" else 1.01)
    assert f"estimator.state.solution_.{field} contradicts the summary" in refused(tmp_path, plain)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("digits", 16.0), ("digits_of_relevant_coefs", "NaN"), ("dof", "Infinity"), ("dof", "NaN"), ("dof", 9.0),
        ("rank", 1), ("condition", 1e9), ("weight", 900.0), ("log_weight", 5.0), ("aliased", [1]), ("n", 91),
    ],
)  # fmt: skip
def test_figure_of_a_solution_that_contradicts_its_summary_is_refused_by_field(tmp_path, field, value):
    plain = plain_of(tmp_path)
    plain["estimator"]["state"]["solution_"][field] = value
    told = refused(tmp_path, plain)
    assert f"solution_.{field} contradicts" in told or (field in ("n", "rank") and "cannot be loaded" in told)
    assert "This is a bug in linearly" not in told


@pytest.mark.parametrize(
    ("model", "field", "named"),
    [
        ("lda", "coef_", "coef_"), ("lda", "intercept_", "intercept_"), ("lda", "means_", "means_"),
        ("lda", "priors_", "priors_"), ("lda", "class_constants_", "class_constants_"),
        ("qda", "covariances_", "covariances_"),
        ("qda", "means_", "means_"), ("qda", "class_constants_", "class_constants_"),
    ],
)  # fmt: skip
def test_classifier_that_contradicts_its_summary_is_refused_by_field(tmp_path, model, field, named):
    plain = plain_of(tmp_path, target="label", model=model)
    state = plain["estimator"]["state"]
    state[field] = changed(state[field], 1.01)
    assert f"estimator.state.{named} contradicts the summary" in refused(tmp_path, plain)


def test_indicator_classifier_that_contradicts_its_summary_is_refused_by_field(tmp_path):
    plain = plain_of(tmp_path, target="label", model="least-squares")
    solution = plain["estimator"]["state"]["solution_"]
    solution["rss"] = changed(solution["rss"], 1e-6)
    assert "estimator.state.solution_.rss contradicts the summary" in refused(tmp_path, plain)


def test_ridge_whose_errors_or_penalty_contradict_its_folds_is_refused_by_field(tmp_path):
    plain = plain_of(tmp_path, model="ridge", alphas=[0.1, 1.0, 10.0])
    state = plain["estimator"]["state"]
    errors = state["fold_errors_"]
    state["fold_errors_"] = changed(errors, 0.5)
    assert "estimator.state.fold_errors_ contradicts the summary" in refused(tmp_path, plain)
    state["fold_errors_"] = errors
    state["alpha_"] = 7.0
    assert "estimator.state.alpha_ is 7.0, which does not have the smallest error" in refused(tmp_path, plain)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("null_log_likelihood_", -1.0, "null_log_likelihood_ contradicts"),
        ("log_likelihood_", 5.0, "a log likelihood is at most 0"),
        ("log_likelihood_", -500.0, "without any column"),
        ("log_likelihood_", "NaN", "Expected `float`, got `str`, at estimator.state.log_likelihood_"),
    ],
)
def test_logistic_figures_that_no_fit_has_are_refused_by_field(tmp_path, field, value, message):
    plain = plain_of(tmp_path, BINARY, target="label", model="logistic")
    plain["estimator"]["state"][field] = value
    assert message in refused(tmp_path, plain)


def test_perceptrons_that_contradict_themselves_are_refused_by_field(tmp_path):
    voted = plain_of(tmp_path, BINARY, target="label", model="voted")
    training = voted["estimator"]["state"]["training"]
    training["coef"] = changed(training["coef"], 1.5)
    assert "training.coef contradicts" in refused(tmp_path, voted)
    plain = plain_of(tmp_path, BINARY, target="label", model="perceptron")
    plain["estimator"]["state"]["training"]["updates"] += 1
    assert "training.updates contradicts" in refused(tmp_path, plain)
    plain = plain_of(tmp_path, BINARY, target="label", model="pocket")
    plain["estimator"]["state"]["training_error_"] = 1.5
    assert "training_error_ must be between 0 and 1" in refused(tmp_path, plain)
    plain = plain_of(tmp_path, BINARY, target="label", model="pocket")
    plain["estimator"]["state"]["best_update_"] = 0
    assert "best_update_ is 0, where error_history_ is not smallest" in refused(tmp_path, plain)


def test_small_error_in_residuals_of_a_float64_solution_is_corrected(tmp_path):
    data = DATA | {"y": 2 * A - B + 1e-7 * RNG.normal(size=N)}
    plain = plain_of(tmp_path, data, method="gram")
    true = ly.glance(ly.load(tmp_path / "model.json")).row(0)
    solution = plain["estimator"]["state"]["solution_"]
    solution["rss"] = changed(solution["rss"], 1e-6)  # less than what rounding may leave of R² = 1 − 1e-14
    body = {name: value for name, value in plain.items() if name not in ("format", "version", "digest")}
    (tmp_path / "model.json").write_text(json.dumps(plain | {"digest": _digest(body)}))
    assert ly.glance(ly.load(tmp_path / "model.json")).row(0) == true
    plain = plain_of(
        tmp_path, data, method="extended"
    )  # of which the rows, and not the file, may have given the residuals
    solution = plain["estimator"]["state"]["solution_"]
    solution["rss"] = changed(solution["rss"], 1e-6)
    assert "estimator.state.solution_.rss contradicts the summary" in refused(tmp_path, plain)


@pytest.mark.parametrize("p", [150, 320])
def test_wide_extended_models_load_and_are_refused_by_field(tmp_path, p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(p + 40, p)) + 1e4
    columns = {f"c{j}": X[:, j] for j in range(p)} | {"y": X[:, 0] + rng.normal(size=len(X))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ly.fit(columns, target="y", method="extended", alpha=1.0).save(tmp_path / "model.json")
    assert ly.load(tmp_path / "model.json").estimator.method_ == "extended"
    plain = json.loads((tmp_path / "model.json").read_text())
    solution = plain["estimator"]["state"]["solution_"]
    solution["rss"] = changed(solution["rss"], 0.5)
    assert "estimator.state.solution_.rss contradicts the summary" in refused(tmp_path, plain)
