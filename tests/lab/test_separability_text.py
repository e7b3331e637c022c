"""Separability in words."""

import re
from dataclasses import replace

import pytest
from lab_sessions import some_frames

from linearly.lab.point_import import parse_csv, state_from_columns
from linearly.lab.presets import preset
from linearly.lab.session import Session

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
def test_more_than_two_classes_are_described_with_scores(name):
    iris, _ = state_from_columns(parse_csv(IRIS))
    verdicts = {}
    for state in (iris, preset("three"), preset("masking")):
        session = Session(replace(state, algorithm=name, parameters={}))
        proof = session.animation().scene["certificate"]
        verdicts[proof["verdict"]] = proof["badge"]
        said = [proof["sentence"], proof["badge"], *session.reply()["answer"]["warnings"]]
        said += [session.frame_details(t)["words"] for t in some_frames(session.animation().count)]
        assert not re.search(r"hyperplane|\bline\b|\blines\b|wrong side", " ".join(said))
        assert "inear scores" in proof["sentence"]
    assert verdicts == {
        "separable": "Linear scores separate these classes",
        "quasi-separable": "Linear scores separate these classes only in part",
        "overlapping": "Linear scores cannot separate these classes",
    }
