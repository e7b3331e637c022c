"""Frames of LDA, QDA, least squares on labels and logistic regression equal what the library computes."""

from dataclasses import replace

import numpy as np
import pytest
from lab_sessions import make_session, run_code, some_frames
from numpy.testing import assert_allclose

from linearly.lab.classifier_animations import conic_coefficients
from linearly.lab.presets import preset
from linearly.lab.session import Session


@pytest.mark.parametrize("points", ["overlapping", "three", "ellipses", "digits", "separable"])
@pytest.mark.parametrize("name", ["indicator", "lda", "logistic"])
def test_linear_scores_predict_like_the_model(points, name):
    session = make_session(points, name)
    animation, (X, _) = session.animation(), session.state.columns()
    scores = animation.weights[-1, :, 0] + X @ animation.weights[-1, :, 1:].T
    winner = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    assert np.mean(animation.model.classes_[winner] == animation.model.predict(X)) == 1
    model = run_code(session.frame_details()["code"])["model"]
    assert_allclose(model.coef_, animation.model.coef_)
    if (
        animation.shade == "probability"
        and animation.scene.get("certificate", {}).get("verdict", "overlapping") == "overlapping"
    ):
        S = np.column_stack([np.zeros(len(X)), scores]) if scores.shape[1] == 1 else scores
        P = np.exp(S - S.max(axis=1, keepdims=True))
        assert_allclose(P / P.sum(axis=1, keepdims=True), animation.model.predict_proba(X), atol=1e-9)


def test_conic_coefficients_of_a_singular_covariance_equal_the_scores():
    points = tuple((float(i), 1.0, i % 2) for i in range(20))
    animation = Session(replace(preset("xor"), algorithm="qda", parameters={}, points=points)).animation()
    X = np.array(points)[:, :2]
    x, y = X.T
    scores = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y]) @ animation.fields.T
    told = animation.model.predict_log_proba(X)
    assert_allclose(scores - scores[:, :1], told - told[:, :1], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("parameters", [{}, {"shrinkage": 0.4}, {"priors": "equal"}])
@pytest.mark.parametrize("points", ["ellipses", "three", "digits"])
def test_conic_coefficients_equal_the_scores_of_qda(points, parameters):
    session = make_session(points, "qda", **parameters)
    animation, (X, _) = session.animation(), session.state.columns()
    x, y = X.T
    scores = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y]) @ conic_coefficients(animation.model).T
    told = animation.model.predict_log_proba(X)
    assert_allclose(scores - scores[:, :1], told - told[:, :1], rtol=1e-7, atol=1e-7)
    assert_allclose(run_code(session.frame_details()["code"])["model"].means_, animation.model.means_)


@pytest.mark.parametrize("parameters", [{}, {"solver": "gradient_descent"}, {"remedy": "ridge"}, {"remedy": "firth"}])
@pytest.mark.parametrize("points", ["overlapping", "three"])
def test_logistic_steps_have_the_loss_that_is_shown(points, parameters):
    session = make_session(points, "logistic", **parameters)
    animation, (X, labels) = session.animation(), session.state.columns()
    codes = np.searchsorted(animation.model.classes_, np.array(session.state.classes)[labels])
    for t in some_frames(animation.count)[:-1]:
        scores = animation.weights[t, :, 0] + X @ animation.weights[t, :, 1:].T
        scores = np.column_stack([np.zeros(len(X)), scores]) if scores.shape[1] == 1 else scores
        loss = np.sum(np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(X)), codes])
        if not parameters or "solver" in parameters:
            assert_allclose(animation.wave[t], loss, rtol=1e-9)
        elif t:
            assert animation.wave[t] != pytest.approx(loss)  # the remedy has its share in the loss
    assert (np.diff(animation.wave) <= 1e-9).all()
    if animation.model.converged_ and "solver" not in parameters:
        reference = animation.weights[-1] if points == "overlapping" else animation.weights[-1, :-1]
        assert_allclose(reference[:, 1:], animation.model.coef_, rtol=1e-9)


def test_logistic_weights_of_separable_points_grow_and_firth_bounds_them():
    grows = make_session("separable", "logistic").animation()
    sizes = np.linalg.norm(grows.weights[:, 0, 1:], axis=1)
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] > 30
    firth = make_session("separable", "logistic", remedy="firth").animation()
    assert np.linalg.norm(firth.model.coef_) < sizes[-1] / 4
    assert grows.picture["series"][1]["values"][0] == pytest.approx(np.linalg.norm(firth.model.coef_))


def test_logistic_separation_is_reported_once():
    reply = make_session("separable", "logistic").reply()["answer"]
    assert "linearly separable" in reply["animation"]["scene"]["certificate"]["sentence"]
    assert reply["warnings"] == []


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("masking", "Masking: only 9 of the 25 points of “orange”"),
        ("three", ""),
        ([(0, 0, 0), (0, 1, 0), (4, 0, 1), (4, 1, 1), (9, 0, 2), (9, 1, 2)], "Masking: Class "),
    ],
)
def test_indicator_masking_is_reported_once(points, said):
    state = preset(points) if isinstance(points, str) else replace(preset("three"), points=tuple(points))
    answer = Session(replace(state, algorithm="indicator")).reply()["answer"]
    assert answer["details"]["words"].count("Masking") == bool(said)
    assert said in answer["details"]["words"]
    assert not any("larger fitted value" in warning for warning in answer["warnings"])
