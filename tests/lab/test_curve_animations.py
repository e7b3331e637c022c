"""Frames of least squares, ridge, gradient descent, and bias and variance equal what the library computes."""

import json
import re

import numpy as np
import pytest
from lab_sessions import make_session, run_code, some_frames
from numpy.testing import assert_allclose

import linearly as ly


@pytest.mark.parametrize("points", ["cloud", "ruined", "curved"])
@pytest.mark.parametrize("degree", [1, 4])
def test_least_squares_curve_equals_polyfit(points, degree):
    session = make_session(points, "least_squares", degree=degree)
    animation, (X, _) = session.animation(), session.state.columns()
    expected = np.polynomial.polynomial.polyfit(X[:, 0], X[:, 1], degree)
    assert_allclose([value for _, value, _ in session.frame_details()["terms"]], expected, rtol=1e-6)
    assert_allclose(animation.curves[0], np.polynomial.polynomial.polyval(animation.at, expected), rtol=1e-6, atol=1e-8)
    model = run_code(session.frame_details()["code"])["model"]
    assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-6)


def test_ridge_frames_equal_ridge_fits():
    session = make_session("curved", "ridge")
    animation = session.animation()
    for t in some_frames(animation.count):
        names = run_code(session.frame_details(t)["code"])
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
def test_fit_does_not_depend_on_the_view(name, degree):
    told = []
    for aspect in (0.5, 1.25, 4.0):
        session = make_session("curved", name, degree=degree)
        told.append(session.handle({"do": "set_view", "aspect": aspect, "at": 20})["answer"])
    assert len({json.dumps(one["animation"]["at"]) for one in told}) == 3
    for other in told[1:]:
        assert other["details"] == told[0]["details"]
        assert other["animation"]["wave"] == told[0]["animation"]["wave"]
        assert other["animation"]["picture"] == told[0]["animation"]["picture"]


@pytest.mark.parametrize("rate", [0.3, 1.0, 1.9])
def test_gradient_descent_frames_are_gradient_steps(rate):
    session = make_session("cloud", "gradient_descent", rate=rate)
    animation, (X, _) = session.animation(), session.state.columns()
    D = np.column_stack([np.ones(len(X)), X[:, 0]])
    size = np.sqrt((D**2).sum(axis=0))
    A = (D / size).T @ (D / size)
    beta, L = np.zeros(2), np.linalg.eigvalsh(A)[-1]
    for t in range(animation.count):
        told = {name: value for name, value, _ in session.frame_details(t)["terms"]} if t in (0, 1, 5) else None
        if told:
            assert_allclose([told["Intercept"], told["x"]], beta / size, rtol=1e-6, atol=1e-9)
            names = run_code(session.frame_details(t)["code"])
            assert_allclose([names["b"], names["w"]], beta / size, rtol=1e-6, atol=1e-9)
        beta = beta - rate / L * (A @ beta - (D / size).T @ X[:, 1])
    assert animation.wave[-1] < animation.wave[0]


def test_gradient_descent_rate_beyond_two_diverges():
    session = make_session("cloud", "gradient_descent", rate=2.2, steps=300)
    animation = session.animation()
    assert (np.diff(animation.wave[5:]) > 0).all()
    assert np.isfinite(animation.curves).all()
    json.dumps(session.reply(), allow_nan=False)


def test_gradient_descent_rate_of_two_is_described_as_the_limit():
    session = make_session("cloud", "gradient_descent", rate=2.0, steps=300)
    animation = session.animation()
    assert animation.wave[-1] > animation.wave[1] - 1  # tenfold nearer would be 1 less
    assert "is the limit" in session.frame_details()["words"]
    assert "converges" not in session.frame_details()["words"]
    assert (
        "below 2/L it still converges" in make_session("cloud", "gradient_descent", rate=1.95).frame_details()["words"]
    )


@pytest.mark.parametrize("steps", [5, 60])
def test_gradient_descent_has_one_frame_per_step(steps):
    animation = make_session("cloud", "gradient_descent", rate=0.05, steps=steps).animation()
    assert animation.count == steps + 1


@pytest.mark.parametrize("truth", ["sine", "points"])
def test_bias_variance_text_adds_up(truth):
    session = make_session("curved", "bias_variance", truth=truth)
    animation = session.animation()
    for t in range(len(animation.scene["experiment"]["fits"]), animation.count):
        details = session.frame_details(t)
        parts = re.search(
            r"noise (\S+) \+ bias² (\S+) \+ variance (\S+) add up to (\S+)\. .* error is (\S+)\. ", details["words"]
        )
        noise, bias2, variance, total, measured = (float(part.replace("−", "-")) for part in parts.groups())
        assert total == pytest.approx(noise + bias2 + variance, rel=0.02)
        assert measured == pytest.approx(dict(details["facts"])["expected error"], rel=0.01)


def test_bias_variance_facts_equal_the_library():
    session = make_session("cloud", "bias_variance", degree=5)
    animation = session.animation()
    for t in range(len(animation.scene["experiment"]["fits"]), animation.count):
        details = session.frame_details(t)
        result = run_code(details["code"])["result"]
        row = next(row for row in result.table if row["degree"] == 5)
        facts = dict(details["facts"])
        assert facts["expected error"] == pytest.approx(row["epe"], rel=1e-12)
        assert facts["variance"] == pytest.approx(row["variance"], rel=1e-12)
    own = make_session("curved", "bias_variance", truth="points", degree=3)
    facts = dict(own.frame_details()["facts"])
    found = run_code(own.frame_details()["code"])["result"]
    assert facts["expected error"] == pytest.approx(found.table.row(3)["epe"], rel=1e-12)


@pytest.mark.parametrize("truth", ["sine", "points"])
def test_bias_variance_frames_add_one_fit_each(truth):
    session = make_session("curved", "bias_variance", truth=truth, degree=3)
    experiment = session.animation().scene["experiment"]
    few = len(experiment["fits"])
    assert experiment["drawn"][:few] == list(range(1, few + 1))
    assert_allclose(experiment["means"][6], np.mean(experiment["fits"][:7], axis=0), atol=1e-4)
    details = session.frame_details(6)
    fits = run_code(details["code"])["fits"]
    assert dict(details["facts"])[f"{'data set' if truth == 'sine' else 'bootstrap sample'}s"] == 7
    at = ly.polynomial_features(session.animation().at, 3)
    curves = fits.predict(at).T if truth == "sine" else [model.predict(np.asarray(at)) for model in fits]
    assert_allclose(curves, experiment["fits"][:7], atol=1e-4)


def test_bias_variance_of_few_fits_agrees_with_the_library_formula():
    session = make_session("curved", "bias_variance", degree=2, noise=0.3)
    last = len(session.animation().scene["experiment"]["fits"]) - 1
    facts = dict(session.frame_details(last)["facts"])
    fits = run_code(session.frame_details(last)["code"])["fits"]
    x = np.linspace(-1, 1, 25)
    fitted = fits.predict(ly.polynomial_features(x, 2))
    variance = fitted.var(axis=1, ddof=1)
    assert facts["variance"] == pytest.approx(variance.mean())
    bias2 = ((fitted.mean(axis=1) - np.sin(3.6 * x)) ** 2 - variance / fitted.shape[1]).mean()
    assert facts["bias²"] == pytest.approx(bias2)


def test_ridge_opens_at_the_chosen_penalty_and_explains_u():
    session = make_session("curved", "ridge")
    details = session.frame_details()
    assert details["at"] == session.animation().marks[0][0]
    assert "chooses this penalty" in details["words"]
    assert "is x scaled to −1…1" in details["words"]
