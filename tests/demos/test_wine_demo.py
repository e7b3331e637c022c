"""The wines: logits and errors."""

import pytest
from demo_runs import demo
from sklearn.datasets import load_wine

import linearly as ly


def test_wine_logits_by_hand_equal_predict_proba():
    story, _, _ = demo("wine")
    found = story.found["logits"]
    assert found["by_hand"] == pytest.approx(found["predict_proba"], rel=1e-9)
    assert sum(found["by_hand"].values()) == pytest.approx(1)


def test_wine_errors_equal_those_of_the_models():
    story, _, html = demo("wine")
    bunch = load_wine()
    X = bunch.data[:, [bunch.feature_names.index(name) for name in ("alcohol", "flavanoids")]]
    model = ly.QuadraticDiscriminantAnalysis().fit(X, bunch.target)
    assert story.found["two_columns"]["qda"]["errors"] == (model.predict(X) != bunch.target).sum()
    assert story.found["all_columns"]["verdict"] == "separable"
    assert story.found["all_columns"]["held_out_error"] < 0.05
    assert "one covariance, straight boundaries" in html
    assert "a covariance for each class, curved boundaries" in html
