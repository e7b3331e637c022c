"""Third features, test points, generators, thresholds, influence, the loss surface, bounds, the lasso and lessons."""

import json
import re

import numpy as np
import pytest
from lab_sessions import make_session, run_code
from numpy.testing import assert_allclose

import linearly as ly
from linearly.lab.generators import GENERATOR, generate
from linearly.lab.lessons import lessons
from linearly.lab.session import Session


def with_option(session, name, value):
    session.handle({"do": "set_option", "name": name, "value": value})
    return session


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged", "voted", "batch", "indicator", "logistic", "lda"])
def test_third_feature_frame_equals_its_code(algorithm):
    session = with_option(make_session("xor", algorithm), "features", "xy")
    details = session.frame_details()
    json.dumps(session.reply(), allow_nan=False)
    names = run_code(details["code"])
    assert names["X"].shape == (44, 3)
    assert_allclose(names["X"][:, 2], names["X"][:, 0] * names["X"][:, 1])
    predicted = names["model"].predict(names["X"])
    counts = np.array(details["confusion"]["counts"])
    assert (predicted == names["y"]).sum() == np.trace(counts)


def test_qda_has_no_third_feature():
    session = with_option(make_session("xor", "qda"), "features", "xy")
    assert session.animation().lift == ""
    assert session.frame_details() == make_session("xor", "qda").frame_details()


@pytest.mark.parametrize(("points", "algorithm"), [("separable", "perceptron"), ("three", "lda"), ("curved", "ridge")])
def test_model_is_fitted_to_training_points_only(points, algorithm):
    session = with_option(make_session(points, algorithm), "test_share", 0.25)
    test, n = session.reply()["test"], len(session.state.points)
    assert len(test) == round(0.25 * n)
    details = session.frame_details()
    assert details["n"] == n - len(test)
    assert details["test"]["n"] == len(test)
    x, y, label = session.state.points[test[0]]
    session.handle({"do": "move", "index": test[0], "x": x, "y": y + 0.4})
    assert session.frame_details()["terms"] == details["terms"]
    names = run_code(details["code"])
    assert len(names["X_test"]) == len(test)
    assert label in (0, 1, 2)


def test_error_curves_end_at_the_errors_of_the_tables():
    session = with_option(make_session("overlapping", "perceptron"), "test_share", 0.3)
    curves = {one["name"]: one["values"] for one in session.animation().more[0]["series"]}
    details = session.frame_details()
    for name, table in (("training", details), ("test", details["test"])):
        accuracy = next(value for title, value, *_ in table["metrics"] if title == "accuracy")
        assert curves[name][-1] == pytest.approx(1 - accuracy)


@pytest.mark.parametrize("kind", ["gaussians", "xor", "circles", "line"])
def test_generator_obeys_size_and_share(kind):
    points = generate(GENERATOR.check_settings({"kind": kind, "n": 200, "share": 0.1}))
    assert len(points) == 200
    assert sum(label for *_, label in points) == (0 if kind == "line" else 20)
    assert points == generate(GENERATOR.check_settings({"kind": kind, "n": 200, "share": 0.1}))
    assert points != generate(GENERATOR.check_settings({"kind": kind, "n": 200, "share": 0.1, "seed": 1}))


@pytest.mark.parametrize("algorithm", ["logistic", "lda", "qda"])
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_confusion_matrix_obeys_the_threshold(algorithm, threshold):
    session = with_option(make_session("overlapping", algorithm), "threshold", threshold)
    X, y = session.state.design()
    details, model = session.frame_details(), session.animation().model
    positive, above = y == model.classes_[1], model.predict_proba(X)[:, 1] >= threshold
    expected = [
        [(positive & above).sum(), (positive & ~above).sum()],
        [(~positive & above).sum(), (~positive & ~above).sum()],
    ]
    assert details["confusion"]["counts"] == np.array(expected).tolist()
    assert details["roc"]["at"] == [above[~positive].mean(), above[positive].mean()]


def test_roc_curve_equals_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    session = make_session("overlapping", "logistic")
    X, y = session.state.design()
    model, roc = session.animation().model, session.frame_details()["roc"]
    false, true, _ = metrics.roc_curve(y == model.classes_[1], model.predict_proba(X)[:, 1], drop_intermediate=False)
    assert_allclose(roc["false_positive"], false)
    assert_allclose(roc["true_positive"], true)


def test_fit_without_a_point_equals_a_refit():
    session = make_session("ruined", "least_squares")
    scene = session.animation().scene["influence"]
    assert scene["strongest"] == 16
    without = session.handle({"do": "without_point", "index": 16})["without"]
    xy = np.array([point[:2] for point in session.state.points[:16]])
    slope, intercept = np.polyfit(xy[:, 0], xy[:, 1], 1)
    assert_allclose(without["curve"], intercept + slope * session.animation().at)
    assert without["leverage"] == pytest.approx(scene["leverage"][16])
    with pytest.raises(ValueError, match="least-squares training point"):
        make_session("cloud", "ridge").handle({"do": "without_point", "index": 0})


def test_loss_surface_is_the_profiled_loss():
    session = make_session("overlapping", "logistic")
    X, y = session.state.design()
    surface = session.animation().more[0]
    left, right, bottom, top = surface["box"]
    loss = np.array(surface["loss"]).reshape(surface["ny"], surface["nx"])
    sign = np.where(y == session.animation().model.classes_[1], 1.0, -1.0)
    for i, j in ((5, 7), (20, 40), (42, 60)):
        w = np.array(
            [left + (right - left) * j / (surface["nx"] - 1), bottom + (top - bottom) * i / (surface["ny"] - 1)]
        )
        tried = np.logaddexp(0, -sign * (X @ w + np.linspace(-30, 30, 6001)[:, None])).sum(axis=1)
        assert loss[i, j] == pytest.approx(tried.min(), rel=1e-4)
    assert loss.min() >= session.animation().wave[-1] - 1e-4
    assert not surface["endless"]
    assert make_session("separable", "logistic").animation().more[0]["endless"]


def test_novikoff_bounds_enclose_the_weights():
    picture = make_session("separable", "perceptron").animation().more[0]
    upper, size, lower = (np.array(one["values"]) for one in picture["series"])
    assert (size <= upper + 1e-9).all()
    assert (size >= lower - 1e-9).all()
    assert make_session("xor", "perceptron").animation().more == ()


def test_lasso_frames_equal_lasso_fits():
    session = make_session("curved", "lasso")
    animation = session.animation()
    for t in (5, 30, animation.opening_frame, 59):
        details = session.frame_details(t)
        model = run_code(details["code"])["model"]
        assert_allclose([value for _, value, _ in details["terms"]], [model.intercept_, *model.coef_], atol=1e-7)
        knots = animation.model.knots_
        assert_allclose(knots.coef_at(float(animation.model.alphas_[t])), model.coef_, atol=1e-7)
    assert 0 < dict(session.frame_details()["facts"])["not 0"] < 6


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson["name"])
def test_lesson_sets_a_scene_that_is_computed(lesson):
    session = Session()
    reply = session.handle({"do": "choose_lesson", "name": lesson["name"]})
    assert reply["answer"]["trouble"] == ""
    assert (reply["answer"]["animation"]["count"] > 1) == (lesson["play"] == "start")
    assert 0 <= lesson["right"] < len(lesson["choices"]) == 3
    assert lesson["question"].endswith("?")
    assert session.handle({"do": "undo"})["preset"] == "separable"


def test_lesson_answers_are_true():
    def last(name):
        session = Session()
        session.handle({"do": "choose_lesson", "name": name})
        return session, session.animation()

    assert last("perceptron")[1].wave[-1] == 0
    assert last("xor")[1].scene["certificate"]["verdict"] == "overlapping"
    session, pocket = last("pocket")
    assert dict(session.frame_details()["facts"])["fewest errors of any line"] == 1
    assert (np.diff(np.minimum.accumulate(pocket.wave)) <= 0).all()
    assert (np.diff(last("descent")[1].wave[5:]) > 0).all()
    assert 0 < last("ridge")[1].opening_frame < 60
    _, logistic = last("logistic")
    assert 5 <= np.argmax(logistic.wave - logistic.wave[-1] < 1e-4 * logistic.wave[-1]) + 1 <= 9
    assert last("separation")[1].scene["certificate"]["verdict"] == "separable"
    session, _ = last("bias-variance")
    row = dict(session.frame_details()["facts"])
    simple = ly.bias_variance(
        np.linspace(-1, 1, 25), truth=lambda x: np.sin(3.6 * x), noise=0.3, degrees=[1], random_state=0
    )
    assert row["variance"] > simple.table.row(0)["variance"]
    assert row["bias²"] < simple.table.row(0)["bias2"]


BAD = {
    "features must be empty or one of xy, radius, square": [{"do": "set_option", "name": "features", "value": "z"}],
    "'size' is not an option": [{"do": "set_option", "name": "size", "value": 1}],
    "test_share must be a number from 0 to 0.8": [{"do": "set_option", "name": "test_share", "value": 0.9}],
    "split_seed must be a number from 0 to 9999": [{"do": "set_option", "name": "split_seed", "value": 0.5}],
    "threshold must be a number from 0.01 to 0.99": [{"do": "set_option", "name": "threshold", "value": 0}],
    "['threshold'] is not an option": [{"do": "set_option", "name": ["threshold"], "value": 0.5}],
    "n must be an integer from 10 to 500": [{"do": "generate", "settings": {"n": 5}}],
    "parameters must be an object": [{"do": "generate", "settings": []}],
    "'svm' is not a lesson": [{"do": "choose_lesson", "name": "svm"}],
    "Only a least-squares training point can be left out": [{"do": "without_point", "index": 0}],
}


@pytest.mark.parametrize(("refusal", "message"), [(refusal, message) for refusal in BAD for message in BAD[refusal]])
def test_bad_message_of_a_mode_raises_and_changes_nothing(refusal, message):
    session = Session()
    before = session.state
    with pytest.raises(ValueError, match=re.escape(refusal)):
        session.handle(message)
    assert session.state == before
