"""Messages to a session and its replies."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from lab_sessions import PETS_CSV, make_session

import linearly as ly
from linearly.lab.catalogue import ALGORITHMS
from linearly.lab.presets import preset, presets
from linearly.lab.session import Session
from linearly.lab.state import MAX_POINTS


@pytest.mark.parametrize("points", [one["name"] for one in presets()])
def test_reply_of_every_algorithm_on_every_preset_is_json(points):
    drawn = 0
    for name in ALGORITHMS:
        session = make_session(points, name)
        reply = session.reply()
        json.dumps(reply, allow_nan=False)
        answer = reply["answer"]
        if answer["trouble"]:
            assert answer["trouble"] == "Add points of two colours."
            continue
        assert answer["details"]["at"] == answer["animation"]["opening"]
        compile(answer["details"]["code"], "listing", "exec")
        drawn += 1
    assert drawn >= 4


def test_frame_metrics_equal_evaluate():
    session = make_session("overlapping", "lda")
    animation, (X, labels) = session.animation(), session.state.columns()
    result = ly.evaluate(animation.model, X, np.array(session.state.classes)[labels])
    metrics = {name: value for name, value, _, _ in session.frame_details()["metrics"]}
    for name, shown in (("accuracy", "accuracy"), ("precision", "precision"), ("recall", "recall"), ("f1", "F1")):
        assert metrics[shown] == result[name]
    assert np.sum(session.frame_details()["confusion"]["counts"]) == len(X)


def test_points_can_be_added_moved_flipped_and_removed():
    session = Session()
    session.handle({"do": "clear"})
    assert session.reply()["answer"]["trouble"] == "Add points of two colours."
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


def test_undo_and_redo_visit_the_same_states():
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


def test_undo_and_redo_keep_the_name_of_the_preset():
    session = Session()
    session.handle({"do": "choose_preset", "name": "xor"})
    assert session.handle({"do": "remove", "index": 0})["preset"] == ""
    assert session.handle({"do": "undo"})["preset"] == "xor"
    assert session.handle({"do": "undo"})["preset"] == "separable"
    assert session.handle({"do": "redo"})["preset"] == "xor"


def test_details_name_the_positive_class_and_class_means():
    details = make_session("ellipses", "qda").frame_details()
    assert details["positive"] == "orange"
    assert details["confusion"]["labels"][0] == "orange"
    assert details["terms_title"] == "Class means"
    assert make_session("ellipses", "lda").frame_details()["terms_title"] == "Coefficients"


def test_drag_is_undone_as_one_change():
    session = Session()
    before = session.state
    for step in range(5):
        session.handle({"do": "move", "index": 3, "x": step, "y": 1.0, "drag": "on"})
    session.handle({"do": "move", "index": 3, "x": 9.0, "y": 1.0, "drag": "end"})
    assert session.state.points[3][:2] == (9.0, 1.0)
    session.handle({"do": "undo"})
    assert session.state == before


def test_drag_ends_with_the_same_answer_as_a_move():
    quick, plain = make_session("overlapping", "logistic"), make_session("overlapping", "logistic")
    quick.handle({"do": "move", "index": 0, "x": 1, "y": 1, "drag": "on"})
    assert quick.animation().picture is None
    at_end = quick.handle({"do": "move", "index": 0, "x": 0.5, "y": 1, "drag": "end"})
    assert at_end["answer"] == plain.handle({"do": "move", "index": 0, "x": 0.5, "y": 1})["answer"]


def test_restored_state_gives_the_same_answer():
    session = make_session("three", "qda", shrinkage=0.25)
    session.handle({"do": "choose_comparison", "name": "lda"})
    told = json.loads(json.dumps(session.state.to_dict()))
    other = Session()
    other.handle({"do": "restore", "state": told})
    assert other.state.to_dict() == session.state.to_dict()
    assert other.reply()["answer"] == session.reply()["answer"]


def test_comparison_uses_the_same_points():
    session = make_session("overlapping", "lda")
    reply = session.handle({"do": "choose_comparison", "name": "qda"})
    assert reply["comparison"]["animation"]["shade"] == "probability"
    assert reply["comparison"] == make_session("overlapping", "qda").reply()["answer"]
    assert session.handle({"do": "choose_algorithm", "name": "ridge"})["state"]["comparison"] == ""


@pytest.mark.parametrize("chosen", presets(), ids=lambda chosen: chosen["name"])
def test_choose_preset_sets_its_algorithm(chosen):
    for before in ("lda", "gradient_descent", chosen["algorithm"]):
        session = make_session("three", before)
        session.handle({"do": "choose_comparison", "name": before})
        state = session.handle({"do": "choose_preset", "name": chosen["name"]})["state"]
        assert state["algorithm"] == chosen["algorithm"]
        alike = ALGORITHMS[before].task == ALGORITHMS[chosen["algorithm"]].task and before != chosen["algorithm"]
        assert state["comparison"] == (before if alike else "")


def test_choose_preset_keeps_parameters_of_the_same_algorithm():
    session = make_session("outlier", "pocket", max_updates=70)
    assert session.handle({"do": "choose_preset", "name": "digits"})["settings"]["max_updates"] == 70


STATE = preset("cloud").to_dict()


BAD = {
    'The message must be an object with a field "do"': ["hello", None, [], {}, {"do": 3}],
    "'fly' is not an action": [{"do": "fly"}],
    "The action 'add' requires the field 'label'. Add it.": [{"do": "add", "x": 1, "y": 2}],
    "'far' is not a field of the action 'undo'. Remove it.": [{"do": "undo", "far": True}],
    "x must be a number": [
        {"do": "add", "x": "1", "y": 2, "label": 0},
        {"do": "add", "x": float("nan"), "y": 2, "label": 0},
        {"do": "add", "x": True, "y": 2, "label": 0},
    ],
    "x is 1e+300": [{"do": "add", "x": 1e300, "y": 2, "label": 0}],
    "label must be an integer from 0 to 5": [
        {"do": "add", "x": 1, "y": 2, "label": 6},
        {"do": "add", "x": 1, "y": 2, "label": True},
    ],
    "index must be an integer from 0 to 43": [
        {"do": "move", "index": 999, "x": 0, "y": 0},
        {"do": "move", "index": -1, "x": 0, "y": 0},
        {"do": "remove", "index": 1.0},
    ],
    'drag must be "on", "rest" or "end"': [{"do": "move", "index": 0, "x": 0, "y": 0, "drag": "far"}],
    "'../../etc' is not a preset": [{"do": "choose_preset", "name": "../../etc"}],
    "['lda'] is not an algorithm": [{"do": "choose_algorithm", "name": ["lda"]}],
    "'svm' is not an algorithm": [{"do": "choose_algorithm", "name": "svm"}],
    "max_passes must be an integer from 1 to 200": [
        {"do": "set_parameter", "name": "max_passes", "value": 10**9},
        {"do": "set_parameter", "name": "max_passes", "value": 1.5},
    ],
    "Perceptron has no parameter 'init'": [{"do": "set_parameter", "name": "init", "value": "zeros"}],
    "shuffle must be true or false": [{"do": "set_parameter", "name": "shuffle", "value": 1}],
    "The second algorithm is not chosen yet": [
        {"do": "set_parameter", "name": "max_passes", "value": 3, "comparison": True}
    ],
    "Ridge uses the plane differently from Perceptron": [{"do": "choose_comparison", "name": "ridge"}],
    "The view is empty, because right must exceed left and top must exceed bottom": [
        {"do": "set_view", "view": [1, 1, 0, 2]}
    ],
    "view must be [left, right, bottom, top]": [{"do": "set_view", "view": [0, 1]}],
    "at must be a frame number": [{"do": "frame", "at": -1}, {"do": "frame", "at": "1"}],
    "aspect (width over height of the plane) must be from 0.25 to 5": [
        {"do": "open", "aspect": 0},
        {"do": "open", "aspect": "wide"},
    ],
    "text must be the content of a CSV file": [{"do": "load", "text": 3}, {"do": "columns", "text": None}],
    "the file is empty": [{"do": "load", "text": ""}],
    "The file contains no rows": [{"do": "load", "text": "a,b\n"}],
    "Line 2 of the file has 2 fields, but the first row names 3 columns": [{"do": "load", "text": "a,b,c\n1,2\n"}],
    "the file has two columns with the name 'a'": [{"do": "load", "text": "a,a\n1,2\n"}],
    "The file has no numeric column": [{"do": "load", "text": "a,b\nu,v\n"}],
    "The column 'z' does not exist. The columns are a, b, c.": [{"do": "load", "text": "a,b,c\n1,2,u\n", "x": "z"}],
    "'extra' is not a field of the lab's state. Remove it.": [{"do": "restore", "state": {**STATE, "extra": 1}}],
    "The label of point 0 must be an integer from 0 to 5": [
        {"do": "restore", "state": {**STATE, "points": [[0, 0, 9]]}}
    ],
    "The lab shows at most 2000 points": [
        {"do": "restore", "state": {**STATE, "points": [[0, 0, 0]] * (MAX_POINTS + 1)}}
    ],
    "classes must be a list of 1 to 6 names": [{"do": "restore", "state": {**STATE, "classes": []}}],
    "A name must have 1 to 60 characters": [{"do": "restore", "state": {**STATE, "names": ["x", "\n"]}}],
    "degree must be an integer from 1 to 12": [{"do": "restore", "state": {**STATE, "parameters": {"degree": 99}}}],
    "The lab's state must be a JSON object": [{"do": "restore", "state": []}],
}


@pytest.mark.parametrize(("refusal", "message"), [(refusal, message) for refusal in BAD for message in BAD[refusal]])
def test_bad_message_raises_and_changes_nothing(refusal, message):
    session = Session()
    before = session.state
    with pytest.raises(ValueError, match=re.escape(refusal)):
        session.handle(message)
    assert session.state == before
    assert not session._past


def test_add_to_a_full_plane_raises():
    state = replace(preset("separable"), points=((0.0, 0.0, 0), (1.0, 1.0, 1)) * (MAX_POINTS // 2))
    with pytest.raises(ValueError, match="full"):
        Session(state).handle({"do": "add", "x": 0, "y": 0, "label": 0})


def test_load_message_reads_csv_text():
    session = Session()
    told = session.handle({"do": "columns", "text": PETS_CSV})["columns"]
    assert [one["name"] for one in told if one["numeric"]] == ["id", "height", "weight"]
    assert told[-1]["labels"] == 2
    reply = session.handle({"do": "load", "text": PETS_CSV, "x": "weight", "y": "height", "target": "kind"})
    assert reply["state"]["names"] == ["weight", "height"]
