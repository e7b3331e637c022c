"""The lab without a browser: the session's frames are the library's answers, and the server lets nobody else in."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from conftest import require
from numpy.testing import assert_allclose

import linearly as ly
from linearly.lab import bundle_js, perceptron_animations
from linearly.lab.catalogue import ALGORITHMS
from linearly.lab.classifier_animations import conic_coefficients
from linearly.lab.point_import import parse_csv, read_columns, state_from_columns
from linearly.lab.presets import preset, presets
from linearly.lab.session import Session
from linearly.lab.state import MAX_POINTS, state_from_dict

CLASSES = [name for name, algorithm in ALGORITHMS.items() if algorithm.task == "classes"]
WEB = Path(bundle_js.__file__).parent / "web"
SCRIPTS = {path.name for path in WEB.glob("*.js")}
CURVES = [name for name, algorithm in ALGORITHMS.items() if algorithm.task == "curve"]


def session_of(points: str, algorithm: str, **parameters: object) -> Session:
    session = Session(replace(preset(points), algorithm=algorithm, parameters={}))
    for name, value in parameters.items():
        session.handle({"do": "set_parameter", "name": name, "value": value})
    return session


def ran(code: str) -> dict[str, object]:
    """The names that a listing leaves behind."""
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "listing", "exec"), names)
    return names


def frames(count: int) -> list[int]:
    return sorted({0, 1, count // 3, count // 2, count - 2, count - 1} & set(range(count)))


# --- every frame is the library's answer ------------------------------------------------------------


@pytest.mark.parametrize("points", ["separable", "outlier", "xor", "overlapping", "three", "masking"])
@pytest.mark.parametrize("name", ["perceptron", "pocket", "averaged", "batch"])
@pytest.mark.parametrize(
    "more", [{}, {"shuffle": True}, {"init": "least_squares"}], ids=["plain", "shuffled", "started"]
)
def test_perceptron_frames_are_what_the_code_beside_them_computes(points, name, more):
    known = {parameter["name"] for parameter in ALGORITHMS[name].parameters}
    if not more.keys() <= known:
        return
    session = session_of(points, name, **more)
    animation = session.animation()
    for t in frames(animation.count):
        found = ran(session.frame_details(t)["code"])
        told = np.concatenate([np.reshape(found["b"], (-1, 1)), np.reshape(found["w"], (-1, 2))], axis=1)
        assert_allclose(animation.weights[t], told, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("points", ["separable", "xor", "three"])
def test_perceptron_film_ends_at_the_fitted_model(points):
    for name in ("perceptron", "pocket", "averaged", "batch"):
        animation = session_of(points, name).animation()
        assert_allclose(animation.weights[-1, :, 1:], animation.model.coef_, rtol=1e-12, atol=1e-12)
        assert_allclose(animation.weights[-1, :, 0], animation.model.intercept_, rtol=1e-12, atol=1e-12)


def test_each_update_adds_the_mistaken_point():
    session = session_of("overlapping", "perceptron")
    animation, (X, labels) = session.animation(), session.state.columns()
    walk = animation.weights[:, 0]
    for t in range(1, animation.count):
        row, sign = animation.rows[t], 2 * labels[animation.rows[t]] - 1
        before = walk[t - 1]
        assert sign * (before[0] + X[row] @ before[1:]) <= 0
        assert_allclose(walk[t] - before, sign * np.array([1, *X[row]]), atol=1e-9)
    assert_allclose(animation.wave[7], np.count_nonzero((walk[7, 0] + X @ walk[7, 1:] >= 0) != labels))


def test_averages_are_those_of_the_log_cut_short():
    animation = session_of("three", "averaged").animation()
    log = animation.model.mistake_log_
    for t in frames(animation.count)[1:]:
        coef, intercept = perceptron_animations.log_until(log, t).averaged_weights()
        assert_allclose(animation.weights[t, :, 1:], coef, rtol=1e-12, atol=1e-12)
        assert_allclose(animation.weights[t, :, 0], intercept, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("points", ["overlapping", "three"])
def test_votes_are_the_voted_perceptrons(points):
    session = session_of(points, "voted")
    details = session.frame_details()
    votes = details["votes"]
    left, right, bottom, top = votes["view"]
    x = left + (np.arange(votes["nx"]) + 0.5) * (right - left) / votes["nx"]
    y = bottom + (np.arange(votes["ny"]) + 0.5) * (top - bottom) / votes["ny"]
    places = np.column_stack([np.tile(x, votes["ny"]), np.repeat(y, votes["nx"])])
    model = session.animation().model
    assert model.predict(places).tolist() == model.classes_[votes["winner"]].tolist()
    X, labels = session.state.columns()
    truth = np.array(session.state.classes)[labels]
    assert votes["wrong"] == np.flatnonzero(model.predict(X) != truth).tolist()
    log = ran(session.frame_details(5)["code"])["log"]
    assert len(log) == 5
    assert_allclose(ran(session.frame_details()["code"])["votes"], model.mistake_log_.vote(X))


@pytest.mark.parametrize("points", ["overlapping", "three"])
def test_the_averages_words_count_what_is_drawn_too(points):
    session = session_of(points, "averaged")
    X, labels = session.state.columns()
    truth = np.array(session.state.classes)[labels]
    for t in frames(session.animation().count)[1:]:
        details = session.frame_details(t)
        last, n, mean = map(
            int, re.search(r"gets? (\d+) of (\d+) points wrong; .* gets (\d+)\.", details["words"]).groups()
        )
        assert (last, n) == (session.animation().wave[t], len(X))
        assert mean == n - np.trace(details["confusion"]["counts"])
        assert mean == np.count_nonzero(session.animation().details(t).model.predict(X) != truth)


@pytest.mark.parametrize("points", ["overlapping", "three"])
@pytest.mark.parametrize("name", ["perceptron", "pocket", "averaged", "voted", "batch"])
def test_before_the_first_update_there_is_no_line(points, name):
    session = session_of(points, name)
    details = session.frame_details(0)
    kind, wrong, n = re.search(r"no (?:line|scores) yet: .* “(\w+)”, (\d+) of (\d+) wrongly", details["words"]).groups()
    X, _ = session.state.columns()
    assert set(session.animation().details(0).model.predict(X)) == {kind}
    assert int(wrong) == int(n) - np.trace(details["confusion"]["counts"])
    assert "the line" not in details["words"]
    assert "yet" not in session_of(points, "pocket", init="least_squares").frame_details(0)["words"]


def test_pocket_frames_hold_the_best_so_far():
    animation = session_of("outlier", "pocket").animation()
    wrong = animation.wave
    assert_allclose(wrong, animation.model.error_history_)
    for t in range(animation.count):
        best = int(np.argmin(wrong[: t + 1]))
        assert_allclose(animation.weights[t], animation.walk[best])
    assert (animation.model.best_update_, "best") in animation.marks


@pytest.mark.parametrize("name", ["perceptron", "averaged", "voted", "pocket"])
def test_updates_stay_within_novikoffs_bound(name):
    facts = dict(session_of("separable", name).frame_details()["facts"])
    assert 0 < facts["updates"] <= facts["never more than (R/γ)²"]


@pytest.mark.parametrize("points", ["overlapping", "three", "ellipses", "digits", "separable"])
@pytest.mark.parametrize("name", ["indicator", "lda", "logistic"])
def test_linear_scores_predict_like_the_model(points, name):
    session = session_of(points, name)
    animation, (X, _) = session.animation(), session.state.columns()
    scores = animation.weights[-1, :, 0] + X @ animation.weights[-1, :, 1:].T
    winner = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    assert np.mean(animation.model.classes_[winner] == animation.model.predict(X)) == 1
    model = ran(session.frame_details()["code"])["model"]
    assert_allclose(model.coef_, animation.model.coef_)
    if (
        animation.shade == "probability"
        and animation.scene.get("certificate", {}).get("verdict", "overlapping") == "overlapping"
    ):
        S = np.column_stack([np.zeros(len(X)), scores]) if scores.shape[1] == 1 else scores
        P = np.exp(S - S.max(axis=1, keepdims=True))
        assert_allclose(P / P.sum(axis=1, keepdims=True), animation.model.predict_proba(X), atol=1e-9)


def test_qda_of_points_at_one_height_is_drawn_as_it_scores():
    points = tuple((float(i), 1.0, i % 2) for i in range(20))
    animation = Session(replace(preset("xor"), algorithm="qda", parameters={}, points=points)).animation()
    X = np.array(points)[:, :2]
    x, y = X.T
    scores = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y]) @ animation.fields.T
    told = animation.model.predict_log_proba(X)
    assert_allclose(scores - scores[:, :1], told - told[:, :1], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("parameters", [{}, {"shrinkage": 0.4}, {"priors": "equal"}])
@pytest.mark.parametrize("points", ["ellipses", "three", "digits"])
def test_conics_are_the_scores_of_qda(points, parameters):
    session = session_of(points, "qda", **parameters)
    animation, (X, _) = session.animation(), session.state.columns()
    x, y = X.T
    scores = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y]) @ conic_coefficients(animation.model).T
    told = animation.model.predict_log_proba(X)
    assert_allclose(scores - scores[:, :1], told - told[:, :1], rtol=1e-7, atol=1e-7)
    assert_allclose(ran(session.frame_details()["code"])["model"].means_, animation.model.means_)


@pytest.mark.parametrize("parameters", [{}, {"solver": "gradient_descent"}, {"remedy": "ridge"}, {"remedy": "firth"}])
@pytest.mark.parametrize("points", ["overlapping", "three"])
def test_logistic_steps_have_the_loss_that_is_told(points, parameters):
    session = session_of(points, "logistic", **parameters)
    animation, (X, labels) = session.animation(), session.state.columns()
    codes = np.searchsorted(animation.model.classes_, np.array(session.state.classes)[labels])
    for t in frames(animation.count)[:-1]:
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


def test_separation_grows_without_bound_and_firth_tames_it():
    grows = session_of("separable", "logistic").animation()
    sizes = np.linalg.norm(grows.weights[:, 0, 1:], axis=1)
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] > 30
    firth = session_of("separable", "logistic", remedy="firth").animation()
    assert np.linalg.norm(firth.model.coef_) < sizes[-1] / 4
    assert grows.picture["series"][1]["values"][0] == pytest.approx(np.linalg.norm(firth.model.coef_))


def test_separation_is_said_once():
    reply = session_of("separable", "logistic").reply()["answer"]
    assert "linearly separable" in reply["animation"]["scene"]["certificate"]["sentence"]
    assert reply["warnings"] == []


@pytest.mark.parametrize("points", ["cloud", "ruined", "curved"])
@pytest.mark.parametrize("degree", [1, 4])
def test_curves_are_least_squares(points, degree):
    session = session_of(points, "least_squares", degree=degree)
    animation, (X, _) = session.animation(), session.state.columns()
    expected = np.polynomial.polynomial.polyfit(X[:, 0], X[:, 1], degree)
    assert_allclose([value for _, value, _ in session.frame_details()["terms"]], expected, rtol=1e-6)
    assert_allclose(animation.curves[0], np.polynomial.polynomial.polyval(animation.at, expected), rtol=1e-6, atol=1e-8)
    model = ran(session.frame_details()["code"])["model"]
    assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-6)


def test_ridge_frames_are_ridge_fits():
    session = session_of("curved", "ridge")
    animation = session.animation()
    for t in frames(animation.count):
        names = ran(session.frame_details(t)["code"])
        told = [value for _, value, _ in session.frame_details(t)["terms"]]
        assert_allclose([names["model"].intercept_, *names["model"].coef_], told)
        x = session.state.columns()[0][:, 0]
        u = (animation.at - (x.min() + x.max()) / 2) / ((x.max() - x.min()) / 2)
        expected = names["model"].predict(ly.polynomial_features(u, 7, name="u"))
        assert_allclose(animation.curves[t], expected, rtol=1e-6, atol=1e-6)
    sizes = [
        np.linalg.norm([frame[j] for frame in [s["values"] for s in animation.picture["series"]]]) for j in (0, -1)
    ]
    assert sizes[0] < sizes[1]
    assert animation.marks == ((int(np.argmin(animation.model.cv_errors_)), "chosen"),)


@pytest.mark.parametrize(("name", "degree"), [("least_squares", 4), ("ridge", 7), ("ridge", 1)])
def test_a_fit_does_not_depend_on_the_window(name, degree):
    told = []
    for aspect in (0.5, 1.25, 4.0):
        session = session_of("curved", name, degree=degree)
        told.append(session.handle({"do": "set_view", "aspect": aspect, "at": 20})["answer"])
    assert len({json.dumps(one["animation"]["at"]) for one in told}) == 3
    for other in told[1:]:
        assert other["details"] == told[0]["details"]
        assert other["animation"]["wave"] == told[0]["animation"]["wave"]
        assert other["animation"]["picture"] == told[0]["animation"]["picture"]


@pytest.mark.parametrize("rate", [0.3, 1.0, 1.9])
def test_descent_frames_are_steps_against_the_gradient(rate):
    session = session_of("cloud", "gradient_descent", rate=rate)
    animation, (X, _) = session.animation(), session.state.columns()
    D = np.column_stack([np.ones(len(X)), X[:, 0]])
    size = np.sqrt((D**2).sum(axis=0))
    A = (D / size).T @ (D / size)
    beta, L = np.zeros(2), np.linalg.eigvalsh(A)[-1]
    for t in range(animation.count):
        told = {name: value for name, value, _ in session.frame_details(t)["terms"]} if t in (0, 1, 5) else None
        if told:
            assert_allclose([told["Intercept"], told["x"]], beta / size, rtol=1e-6, atol=1e-9)
            names = ran(session.frame_details(t)["code"])
            assert_allclose([names["b"], names["w"]], beta / size, rtol=1e-6, atol=1e-9)
        beta = beta - rate / L * (A @ beta - (D / size).T @ X[:, 1])
    assert animation.wave[-1] < animation.wave[0]


def test_a_rate_beyond_two_diverges():
    session = session_of("cloud", "gradient_descent", rate=2.2, steps=300)
    animation = session.animation()
    assert (np.diff(animation.wave[5:]) > 0).all()
    assert np.isfinite(animation.curves).all()
    json.dumps(session.reply(), allow_nan=False)


def test_a_rate_of_two_is_the_limit_and_is_said_to_be():
    session = session_of("cloud", "gradient_descent", rate=2.0, steps=300)
    animation = session.animation()
    assert animation.wave[-1] > animation.wave[1] - 1  # tenfold nearer would be 1 less
    assert "is the limit" in session.frame_details()["words"]
    assert "converges" not in session.frame_details()["words"]
    assert "below 2/L it still converges" in session_of("cloud", "gradient_descent", rate=1.95).frame_details()["words"]


@pytest.mark.parametrize("steps", [5, 60])
def test_the_slider_of_steps_says_how_many(steps):
    animation = session_of("cloud", "gradient_descent", rate=0.05, steps=steps).animation()
    assert animation.count == steps + 1


@pytest.mark.parametrize("truth", ["sine", "points"])
def test_the_sum_of_the_parts_is_a_sum(truth):
    session = session_of("curved", "bias_variance", truth=truth)
    for t in range(session.animation().count):
        details = session.frame_details(t)
        parts = re.search(
            r"noise (\S+) \+ bias² (\S+) \+ variance (\S+) make (\S+); .* error is (\S+)\. ", details["words"]
        )
        noise, bias2, variance, total, measured = map(float, parts.groups())
        assert total == pytest.approx(noise + bias2 + variance, rel=0.02)
        assert measured == pytest.approx(dict(details["facts"])["expected error"], rel=0.01)


def test_bias_and_variance_are_the_librarys():
    session = session_of("cloud", "bias_variance", degree=5)
    animation = session.animation()
    for t in range(animation.count):
        details = session.frame_details(t)
        result = ran(details["code"])["result"]
        row = next(row for row in result.table if row["degree"] == 5)
        facts = dict(details["facts"])
        assert facts["expected error"] == pytest.approx(row["epe"], rel=1e-12)
        assert facts["variance"] == pytest.approx(row["variance"], rel=1e-12)
    own = session_of("curved", "bias_variance", truth="points", degree=3)
    facts = dict(own.frame_details()["facts"])
    found = ran(own.frame_details()["code"])["result"]
    assert facts["expected error"] == pytest.approx(found.table.row(3)["epe"], rel=1e-12)


@pytest.mark.parametrize("points", [one["name"] for one in presets()])
def test_every_algorithm_on_every_preset_is_plain_json(points):
    for name in ALGORITHMS:
        session = session_of(points, name)
        reply = session.reply()
        json.dumps(reply, allow_nan=False)
        answer = reply["answer"]
        if answer["trouble"]:
            assert answer["trouble"] == "Put down points of two colours."
            continue
        assert answer["details"]["at"] == answer["animation"]["count"] - 1
        compile(answer["details"]["code"], "listing", "exec")


def test_evidence_is_what_evaluate_says():
    session = session_of("overlapping", "lda")
    animation, (X, labels) = session.animation(), session.state.columns()
    result = ly.evaluate(animation.model, X, np.array(session.state.classes)[labels])
    metrics = {name: value for name, value, _, _ in session.frame_details()["metrics"]}
    for name, shown in (("accuracy", "accuracy"), ("precision", "precision"), ("recall", "recall"), ("f1", "F1")):
        assert metrics[shown] == result[name]
    assert np.sum(session.frame_details()["confusion"]["counts"]) == len(X)


def test_the_proof_is_drawn_on_its_own_rows():
    session = session_of("xor", "perceptron")
    proof = session.animation().scene["certificate"]
    X, labels = session.state.columns()
    certificate = ly.separability(X, np.array(session.state.classes)[labels])
    assert proof["verdict"] == "overlapping"
    assert proof["witness"] == certificate.witness.rows.tolist()
    assert_allclose(proof["meeting"], certificate.common_hull_point)
    separable = session_of("separable", "perceptron").animation().scene["certificate"]
    X, labels = preset("separable").columns()
    b, *w = separable["separator"]
    assert_allclose(np.min((2 * labels - 1) * (X @ w + b)) / np.hypot(*w), separable["margin"], rtol=1e-9)


# --- the state machine ------------------------------------------------------------------------------


def test_points_come_move_flip_and_go():
    session = Session()
    session.handle({"do": "clear"})
    assert session.reply()["answer"]["trouble"] == "Put down points of two colours."
    session.handle({"do": "add", "x": 1, "y": 2.5, "label": 0})
    reply = session.handle({"do": "add", "x": -1, "y": 0, "label": 1})
    assert reply["state"]["points"] == [[1.0, 2.5, 0], [-1.0, 0.0, 1]]
    assert reply["answer"]["animation"]["scene"]["certificate"]["verdict"] == "separable"
    session.handle({"do": "move", "index": 0, "x": -1, "y": 0})
    assert session.reply()["answer"]["animation"]["scene"]["certificate"]["verdict"] == "overlapping"
    session.handle({"do": "flip", "index": 0})
    assert session.state.points[0][2] == 1
    session.handle({"do": "flip", "index": 0})
    assert session.state.points[0][2] == 0
    session.handle({"do": "remove", "index": 0})
    assert session.state.points == ((-1.0, 0.0, 1),)


def test_undo_and_redo_walk_the_same_way():
    session = Session()
    states = [session.state]
    for message in (
        {"do": "add", "x": 0, "y": 0, "label": 1},
        {"do": "choose_algorithm", "name": "logistic"},
        {"do": "set_parameter", "name": "remedy", "value": "firth"},
        {"do": "choose_comparison", "name": "lda"},
        {"do": "choose_preset", "name": "xor"},
    ):
        session.handle(message)
        states.append(session.state)
    for state in states[-2::-1]:
        session.handle({"do": "undo"})
        assert session.state == state
    session.handle({"do": "undo"})  # nothing before the beginning
    assert session.state == states[0]
    for state in states[1:]:
        session.handle({"do": "redo"})
        assert session.state == state


def test_a_drag_is_undone_as_one():
    session = Session()
    before = session.state
    for step in range(5):
        session.handle({"do": "move", "index": 3, "x": step, "y": 1.0, "drag": "on"})
    session.handle({"do": "move", "index": 3, "x": 9.0, "y": 1.0, "drag": "end"})
    assert session.state.points[3][:2] == (9.0, 1.0)
    session.handle({"do": "undo"})
    assert session.state == before


def test_a_drag_leaves_the_same_answer_as_a_move():
    quick, plain = session_of("overlapping", "logistic"), session_of("overlapping", "logistic")
    quick.handle({"do": "move", "index": 0, "x": 1, "y": 1, "drag": "on"})
    assert quick.animation().picture is None
    at_end = quick.handle({"do": "move", "index": 0, "x": 0.5, "y": 1, "drag": "end"})
    assert at_end["answer"] == plain.handle({"do": "move", "index": 0, "x": 0.5, "y": 1})["answer"]


def test_a_state_survives_its_link():
    session = session_of("three", "qda", shrinkage=0.25)
    session.handle({"do": "choose_comparison", "name": "lda"})
    told = json.loads(json.dumps(session.state.to_dict()))
    other = Session()
    other.handle({"do": "restore", "state": told})
    assert other.state.to_dict() == session.state.to_dict()
    assert other.reply()["answer"] == session.reply()["answer"]


def test_a_rival_sees_the_same_points():
    session = session_of("overlapping", "lda")
    reply = session.handle({"do": "choose_comparison", "name": "qda"})
    assert reply["comparison"]["animation"]["shade"] == "probability"
    assert reply["comparison"] == session_of("overlapping", "qda").reply()["answer"]
    assert session.handle({"do": "choose_algorithm", "name": "ridge"})["state"]["comparison"] == ""


@pytest.mark.parametrize("chosen", presets(), ids=lambda chosen: chosen["name"])
def test_a_preset_brings_its_algorithm(chosen):
    for before in ("lda", "gradient_descent", chosen["algorithm"]):
        session = session_of("three", before)
        session.handle({"do": "choose_comparison", "name": before})
        state = session.handle({"do": "choose_preset", "name": chosen["name"]})["state"]
        assert state["algorithm"] == chosen["algorithm"]
        alike = ALGORITHMS[before].task == ALGORITHMS[chosen["algorithm"]].task and before != chosen["algorithm"]
        assert state["comparison"] == (before if alike else "")


def test_a_preset_leaves_the_parameters_of_its_algorithm():
    session = session_of("outlier", "pocket", max_updates=70)
    assert session.handle({"do": "choose_preset", "name": "digits"})["settings"]["max_updates"] == 70


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("masking", "Masking: “orange” gets only 9 of its 25 points"),
        ("three", ""),
        ([(0, 0, 0), (0, 1, 0), (4, 0, 1), (4, 1, 1), (9, 0, 2), (9, 1, 2)], "Masking: even at its own mean, class "),
    ],
)
def test_masking_is_said_once(points, said):
    state = preset(points) if isinstance(points, str) else replace(preset("three"), points=tuple(points))
    answer = Session(replace(state, algorithm="indicator")).reply()["answer"]
    assert answer["details"]["words"].count("Masking") == bool(said)
    assert said in answer["details"]["words"]
    assert not any("Masking" in warning for warning in answer["warnings"])


STATE = preset("cloud").to_dict()
BAD = [
    "hello", None, [], {}, {"do": 3}, {"do": "fly"}, {"do": "add", "x": 1, "y": 2}, {"do": "undo", "far": True},
    {"do": "add", "x": "1", "y": 2, "label": 0}, {"do": "add", "x": float("nan"), "y": 2, "label": 0},
    {"do": "add", "x": 1e300, "y": 2, "label": 0}, {"do": "add", "x": 1, "y": 2, "label": 6},
    {"do": "add", "x": 1, "y": 2, "label": True}, {"do": "add", "x": True, "y": 2, "label": 0},
    {"do": "move", "index": 999, "x": 0, "y": 0}, {"do": "move", "index": -1, "x": 0, "y": 0},
    {"do": "move", "index": 0, "x": 0, "y": 0, "drag": "far"}, {"do": "remove", "index": 1.0},
    {"do": "choose_preset", "name": "../../etc"}, {"do": "choose_algorithm", "name": ["lda"]}, {"do": "choose_algorithm", "name": "svm"},
    {"do": "set_parameter", "name": "max_passes", "value": 10**9}, {"do": "set_parameter", "name": "max_passes", "value": 1.5},
    {"do": "set_parameter", "name": "init", "value": "zeros"}, {"do": "set_parameter", "name": "shuffle", "value": 1},
    {"do": "set_parameter", "name": "max_passes", "value": 3, "comparison": True}, {"do": "choose_comparison", "name": "ridge"},
    {"do": "set_view", "view": [1, 1, 0, 2]}, {"do": "set_view", "view": [0, 1]}, {"do": "frame", "at": -1},
    {"do": "frame", "at": "1"}, {"do": "open", "aspect": 0}, {"do": "open", "aspect": "wide"},
    {"do": "load", "text": 3}, {"do": "load", "text": ""}, {"do": "load", "text": "a,b\n"},
    {"do": "load", "text": "a,b,c\n1,2\n"}, {"do": "load", "text": "a,a\n1,2\n"}, {"do": "load", "text": "a,b\nu,v\n"},
    {"do": "load", "text": "a,b,c\n1,2,u\n", "x": "z"}, {"do": "columns", "text": None},
    {"do": "restore", "state": {**STATE, "extra": 1}}, {"do": "restore", "state": {**STATE, "points": [[0, 0, 9]]}},
    {"do": "restore", "state": {**STATE, "points": [[0, 0, 0]] * (MAX_POINTS + 1)}},
    {"do": "restore", "state": {**STATE, "classes": []}}, {"do": "restore", "state": {**STATE, "names": ["x", "\n"]}},
    {"do": "restore", "state": {**STATE, "parameters": {"degree": 99}}}, {"do": "restore", "state": []},
]  # fmt: skip


@pytest.mark.parametrize("message", BAD, ids=lambda message: str(message)[:60])
def test_a_bad_message_is_refused_and_changes_nothing(message):
    session = Session()
    before = session.state
    with pytest.raises(ValueError, match=r"\.$"):
        session.handle(message)
    assert session.state == before
    assert not session._past


def test_a_full_plane_takes_no_more():
    state = replace(preset("separable"), points=((0.0, 0.0, 0), (1.0, 1.0, 1)) * (MAX_POINTS // 2))
    with pytest.raises(ValueError, match="full"):
        Session(state).handle({"do": "add", "x": 0, "y": 0, "label": 0})


def test_states_are_checked_whole():
    assert state_from_dict(STATE).to_dict() == STATE
    assert state_from_dict({}).to_dict()["parameters"] == ALGORITHMS["perceptron"].defaults()


# --- files ------------------------------------------------------------------------------------------

CSV = "id;height;weight;kind\n" + "".join(
    f"{i};{i % 7}.5;{i * 3 % 11};{'cat' if i % 2 else 'dog'}\n" for i in range(40)
)


def test_a_csv_becomes_points():
    state, note = state_from_columns(parse_csv(CSV), "height", "weight", "kind")
    assert (state.names, state.classes, note) == (("height", "weight"), ("cat", "dog"), "")
    assert state.points[3] == (3.5, 9.0, 0)
    assert len(state.points) == 40


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_where_those_of_a_file_do(end):
    text = end.join(["a,b,c", "1,2,u\u2028v", '3,4,"u\x0cv"', '5,6,"u\nv"', ""])
    assert parse_csv(text) == {"a": ["1", "3", "5"], "b": ["2", "4", "6"], "c": ["u\u2028v", "u\x0cv", "u\nv"]}


def test_columns_are_chosen_where_none_are_named():
    state, _ = state_from_columns(parse_csv(CSV))
    assert state.names == ("id", "height")
    assert state.classes == ("cat", "dog")
    plain, _ = state_from_columns(parse_csv("a,b\n1,2\n2,3.5\n"))
    assert plain.method.task == "curve"


def test_what_is_left_out_is_said():
    state, note = state_from_columns(parse_csv("a,b,c\n1,2,u\n,3,v\n3,NA,u\n4,5,v\n"), "a", "b", "c")
    assert len(state.points) == 2
    assert "2 of 4 rows" in note
    rows = "".join(f"{i},{i % 17},{'uv'[i % 3 == 0]}\n" for i in range(3 * MAX_POINTS))
    state, note = state_from_columns(parse_csv("a,b,c\n" + rows))
    assert len(state.points) == MAX_POINTS
    assert note == f"1 of every 3 of the {3 * MAX_POINTS} rows is shown."


def test_too_many_labels_are_refused_by_name():
    rows = "".join(f"{i},{i},{i % 9}\n" for i in range(40))
    with pytest.raises(ValueError, match="'c' has 9 labels"):
        state_from_columns(parse_csv("a,b,c\n" + rows), "a", "b", "c")


@pytest.mark.parametrize(
    ("text", "why"),
    [("a,b\nu,v\nw,z\n", "no column of numbers"), ("a,g\n1,u\n2,v\n", "one column of numbers, 'a'")],
)
def test_a_file_with_too_few_numbers_is_refused(text, why):
    for message in ({"do": "columns"}, {"do": "load"}, {"do": "load", "x": "", "y": "", "target": ""}):
        with pytest.raises(ValueError, match=why):
            Session().handle({**message, "text": text})


def test_one_column_is_not_both_axes():
    with pytest.raises(ValueError, match="'height' stands across and up"):
        Session().handle({"do": "load", "text": CSV, "x": "height", "y": "height", "target": "kind"})


def test_data_frames_and_files_are_read(tmp_path):
    pd = pytest.importorskip("pandas")
    columns = parse_csv(CSV)
    frame = pd.DataFrame({"height": map(float, columns["height"]), "weight": map(float, columns["weight"])})
    frame["kind"] = columns["kind"]
    expected, _ = state_from_columns(columns, "height", "weight", "kind")
    assert state_from_columns(read_columns(frame), "height", "weight", "kind")[0] == expected
    (tmp_path / "pets.csv").write_text(CSV, encoding="utf-8")
    assert state_from_columns(read_columns(tmp_path / "pets.csv"), "height", "weight", "kind")[0] == expected


def test_a_file_is_loaded_by_message():
    session = Session()
    told = session.handle({"do": "columns", "text": CSV})["columns"]
    assert [one["name"] for one in told if one["numeric"]] == ["id", "height", "weight"]
    assert told[-1]["labels"] == 2
    reply = session.handle({"do": "load", "text": CSV, "x": "weight", "y": "height", "target": "kind"})
    assert reply["state"]["names"] == ["weight", "height"]


IRIS = """sepal length (cm),sepal width (cm),species
""" + "".join(
    f"{x},{y},{name}\n"
    for name, places in {
        "setosa": [(5.1, 3.5), (4.9, 3.0), (4.7, 3.2), (5.4, 3.9)],
        "versicolor": [(7.0, 3.2), (6.4, 3.2), (5.8, 2.7), (6.3, 3.3)],
        "virginica": [(6.3, 3.3), (5.8, 2.7), (7.1, 3.0), (6.5, 3.0)],
    }.items()
    for x, y in places
)


@pytest.mark.parametrize("name", ["perceptron", "pocket", "averaged", "voted", "batch", "logistic"])
def test_more_than_two_classes_have_scores_and_no_line(name):
    iris, _ = state_from_columns(parse_csv(IRIS))
    verdicts = {}
    for state in (iris, preset("three"), preset("masking")):
        session = Session(replace(state, algorithm=name, parameters={}))
        proof = session.animation().scene["certificate"]
        verdicts[proof["verdict"]] = proof["badge"]
        said = [proof["sentence"], proof["badge"], *session.reply()["answer"]["warnings"]]
        said += [session.frame_details(t)["words"] for t in frames(session.animation().count)]
        assert not re.search(r"hyperplane|\bline\b|\blines\b|wrong side", " ".join(said))
        assert "inear scores" in proof["sentence"]
    assert verdicts == {
        "separable": "Linear scores separate these classes",
        "quasi-separable": "Linear scores separate these classes only in part",
        "overlapping": "Linear scores cannot separate these classes",
    }


# --- the script -------------------------------------------------------------------------------------


def test_the_modules_of_the_page_become_one():
    text = bundle_js.bundle_modules()
    assert not re.search(r"^import\b", text, flags=re.M)
    assert re.findall(r"^export .*", text, flags=re.M) == ["export default {"]
    # Each file is in it once: none is left over.
    firsts = [path.read_text(encoding="utf-8").splitlines()[0] for path in WEB.glob("*.js")]
    assert [text.splitlines().count(first) for first in firsts] == [1] * len(SCRIPTS)
    names = re.findall(r"^(?:async )?(?:class|const|function|let|var) (\w+)", text, flags=re.M)
    assert sorted(names) == sorted(set(names))


def test_no_module_of_the_page_imports_what_imports_it():
    needed = {path.name: set(bundle_js._IMPORT.findall(path.read_text(encoding="utf-8"))) for path in WEB.glob("*.js")}
    assert list(TopologicalSorter(needed).static_order())[-1] == "lab.js"


# --- the server -------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(**options):
    for module in ("starlette", "uvicorn"):
        try:
            __import__(module)
        except ImportError:
            require(False, f"needs {module}: pip install 'linearly[lab]'")
    import uvicorn

    from linearly.lab.server import Lab, _listener

    with _listener(0) as listener:
        lab = Lab(port=listener.getsockname()[1], **options)
        server = uvicorn.Server(uvicorn.Config(lab.app(), log_level="warning", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield lab
        finally:
            server.should_exit = True
            thread.join(10)


def test_the_socket_says_that_it_is_tcp():
    # asyncio sends at once only on sockets that do; answers took 40 ms longer on one that did not.
    from linearly.lab.server import _listener

    with _listener(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.fixture(scope="module")
def lab():
    with running() as lab:
        yield lab


PAGE = "0123456789abcdef"


def asked(lab, method="POST", path=None, body=None, **headers):
    """Status, headers and body of a raw request; headers with a value of None are left out."""
    data = body if isinstance(body, bytes) else json.dumps(body or {"page": PAGE, "do": "open"}).encode()
    data = data if method == "POST" else b""
    sent = {
        "Host": f"127.0.0.1:{lab.port}",
        "Origin": f"http://127.0.0.1:{lab.port}",
        "Content-Type": "application/json",
        "Content-Length": str(len(data)),
    }
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = [f"{method} {f'/{lab.token}/api' if path is None else path} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in sent.items() if value is not None]
    with socket.create_connection(("127.0.0.1", lab.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + data)
        with contextlib.closing(http.client.HTTPResponse(connection, method=method)) as response:
            response.begin()
            return response.status, dict(response.getheaders()), response.read()


def test_the_page_answers_its_owner(lab):
    status, headers, body = asked(lab, "GET", f"/{lab.token}/")
    assert status == 200
    assert b"linearly lab" in body
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(rb"https?://(?!www\.w3\.org)", body)
    for name in SCRIPTS | {"lab.css"}:
        status, headers, body = asked(lab, "GET", f"/{lab.token}/{name}")
        assert status == 200
        assert not re.search(rb"https?://(?!www\.w3\.org)", body), "the page loads nothing from elsewhere"
    status, _, body = asked(lab)
    assert status == 200
    assert json.loads(body)["state"]["algorithm"] == "perceptron"


REFUSED = {
    "foreign host": (421, {"Host": "evil.example"}, None),
    "localhost by name": (421, {"Host": "localhost"}, None),
    "no host": (None, {"Host": None}, None),
    "foreign origin": (403, {"Origin": "http://evil.example"}, None),
    "origin of another port": (403, {"Origin": "http://127.0.0.1:1"}, None),
    "no origin": (403, {"Origin": None}, None),
    "null origin": (403, {"Origin": "null"}, None),
    "from another page": (403, {"Sec_Fetch_Site": "cross-site"}, None),
    "plain text": (415, {"Content_Type": "text/plain"}, None),
    "no JSON": (400, {}, b"{"),
    "no UTF-8": (400, {}, b"\xff\xfe"),
    "not a number": (400, {}, b'{"page": "0123456789abcdef", "do": "add", "x": NaN, "y": 0, "label": 0}'),
    "deep": (400, {}, b'{"page": "0123456789abcdef", "do": "open", "x": ' + b"[" * 50000 + b"]" * 50000 + b"}"),
    "a list": (400, {}, b"[]"),
    "no page": (400, {}, b'{"do": "open"}'),
    "a strange page": (400, {}, b'{"page": "../x", "do": "open"}'),
    "unknown field": (400, {}, b'{"page": "0123456789abcdef", "do": "undo", "extra": 1}'),
    "unknown action": (400, {}, b'{"page": "0123456789abcdef", "do": "eval"}'),
    "oversize": (413, {}, b'"' + b"a" * (5 * 2**20) + b'"'),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_the_owners_is_refused(lab, why):
    status, headers, body = REFUSED[why]
    try:
        found, told, reply = asked(lab, body=body, **headers)
    except (ConnectionError, http.client.HTTPException):
        assert why == "oversize"  # refused before it was sent
        return
    assert found == status or (status is None and found >= 400)
    if status is not None:
        assert json.loads(reply)["error"].endswith(".")
        assert "content-security-policy" in told
    assert b"Traceback" not in reply


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("token", ["", "x" * 32, "%00"])
def test_without_the_token_there_is_nothing(lab, method, token):
    for name in ("", "api", "lab.js"):
        status, _, body = asked(lab, method, f"/{token}/{name}")
        assert status in (403, 404, 405)
        assert b"import" not in body
    assert asked(lab, "GET", "/")[0] == 404


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nobody_is_redirected(lab, method):
    # A redirect names the host that was asked for, whoever asked.
    status, headers, _ = asked(lab, method, "/api", Host="evil.example")
    assert status == 404
    assert "location" not in headers


@pytest.mark.parametrize("name", ["server.py", "../server.py", "%2e%2e/server.py", "web/lab.js", "..%2fsession.py"])
def test_only_its_own_files_are_served(lab, name):
    assert asked(lab, "GET", f"/{lab.token}/{name}")[0] == 404


def test_a_chunked_body_is_bounded_too(lab):
    connection = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=20)
    headers = {"Origin": f"http://127.0.0.1:{lab.port}", "Content-Type": "application/json"}
    endless = (b"a" * 2**16 for _ in range(200))
    try:
        connection.request("POST", f"/{lab.token}/api", endless, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (ConnectionError, http.client.HTTPException):
        pass  # it hung up on us
    finally:
        connection.close()


def test_tabs_do_not_disturb_each_other(lab):
    asked(lab, body={"page": "aaaaaaaaaaaaaaaa", "do": "clear"})
    other = json.loads(asked(lab, body={"page": "bbbbbbbbbbbbbbbb", "do": "open"})[2])
    assert len(other["state"]["points"]) > 10
    mine = json.loads(asked(lab, body={"page": "aaaaaaaaaaaaaaaa", "do": "set_view"})[2])
    assert mine["state"]["points"] == []


def test_it_listens_on_this_machine_alone(lab):
    with socket.socket() as other:
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.1", lab.port)) == 0
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"} - {a for a in addresses if a.startswith("127.")}:
        with socket.socket() as other:
            other.settimeout(5)
            assert other.connect_ex((address, lab.port)) != 0


def test_tokens_differ():
    require(_has("starlette"), "needs starlette: pip install 'linearly[lab]'")
    from linearly.lab.server import Lab

    tokens = {Lab().token for _ in range(50)}
    assert len(tokens) == 50
    assert min(map(len, tokens)) >= 32


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_ctrl_c_closes_it_cleanly(tmp_path):
    require(_has("uvicorn"), "needs uvicorn: pip install 'linearly[lab]'")
    (tmp_path / "pets.csv").write_text(CSV, encoding="utf-8")
    code = (
        "from linearly.lab.server import serve; "
        f"serve({str(tmp_path / 'pets.csv')!r}, x='height', y='weight', target='kind', open_browser=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        port, token = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", line).groups()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)) as connection:
            body = json.dumps({"page": PAGE, "do": "open"})
            headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
            connection.request("POST", f"/{token}/api", body, headers)  # it listens before it says so
            reply = json.loads(connection.getresponse().read())
        assert reply["state"]["names"] == ["height", "weight"]
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.stderr.close()
        process.wait()
    assert "Traceback" not in rest
    assert rest.endswith("The lab is closed.\n")


def test_a_port_in_use_is_named():
    require(_has("uvicorn"), "needs uvicorn: pip install 'linearly[lab]'")
    from linearly.lab.server import serve

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match=f"Port {taken.getsockname()[1]} cannot be used"):
            serve(port=taken.getsockname()[1], open_browser=False)


def test_columns_need_data():
    from linearly.lab.server import start_state

    with pytest.raises(ValueError, match="give the data too"):
        start_state(None, "a", None, None)


# --- the widget -------------------------------------------------------------------------------------


def _has(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


def test_the_widget_answers_like_a_session():
    require(_has("anywidget"), "needs anywidget: pip install 'linearly[lab]'")
    from linearly.lab.widget import LabWidget

    widget = LabWidget()
    sent = []
    widget.send = sent.append
    widget._on_message(widget, {"do": "open", "number": 1}, [])
    widget._on_message(widget, {"do": "choose_algorithm", "name": "lda", "number": 2}, [])
    widget._on_message(widget, {"do": "fly", "number": 3}, [])
    assert [one["number"] for one in sent] == [1, 2, 3]
    replies = [json.loads(one["reply"]) for one in sent]
    expected = Session()
    assert replies[0]["state"] == json.loads(json.dumps(expected.handle({"do": "open"})["state"]))
    assert replies[1]["answer"]["animation"]["shade"] == "probability"
    assert "cannot do 'fly'" in replies[2]["error"]
    assert widget.session.state.algorithm == "lda"
