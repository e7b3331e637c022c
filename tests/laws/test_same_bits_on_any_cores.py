"""The bits of every answer are the same on one core and on two."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

TWO = len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else False

# 20,011 × 37 and 5,003 × 101 are more than 460,800 numbers, from which OpenBLAS 0.3.27 takes two threads for a
# matrix × vector; p = 101 makes products of p × p matrices large enough too. The data are made without BLAS.
ANSWERS = """
import hashlib, json, os, sys, warnings
os.sched_setaffinity(0, json.loads(sys.argv[1]))
import numpy as np
import linearly as ly

warnings.simplefilter("ignore")


def digest(value):
    found = hashlib.sha256()

    def feed(value):
        if isinstance(value, ly.Table):
            feed([np.asarray(value[name]) for name in value.columns])
        elif isinstance(value, (list, tuple)):
            for part in value:
                feed(part)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            found.update(np.ascontiguousarray(value).tobytes())
        else:
            found.update(repr(value).encode())

    feed(value)
    return found.hexdigest()


def answers(model, X, y, rows):
    model.fit(X, y)
    yield "fit", [getattr(model, name, None) for name in ("coef_", "intercept_", "covariance_", "covariances_")]
    for name in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, name):
            for n in (1, 200, len(X)):
                yield f"{name} of {n}", getattr(model, name)(X[:n])
    yield "evaluate", vars(ly.evaluate(model, X, y))
    if hasattr(model, "solution_") and hasattr(model, "predict_interval"):
        yield "augment", ly.augment(model, X, y)
        yield "residual_tests", ly.residual_tests(model, X, y)
        yield "predict_interval", model.predict_interval(X)
        yield "sample", model.sample_coefficients(20, "residuals", X=X, y=y, random_state=0)
        yield "tidy", ly.tidy(model)
        yield "glance", ly.glance(model)
    if type(model) in rows:
        yield "cross_validate", ly.cross_validate(model, X, y)


found = {}
for n, p in ((20_011, 37), (5_003, 101)):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = (X * rng.normal(size=p)).sum(axis=1) + 5 * rng.normal(size=n)
    labels = np.digitize(y, [-5.0, 5.0])
    cases = [(ly.LinearRegression(), y), (ly.LinearRegression(covariance="HC3", fit_intercept=False), y)]
    cases += [(ly.RidgeCV([0.1, 1.0, 10.0]), y)]
    cases += [(ly.LogisticRegression(), labels > 0), (ly.LogisticRegression(), labels)]
    cases += [(ly.LinearDiscriminantAnalysis(), labels), (ly.QuadraticDiscriminantAnalysis(), labels)]
    cases += [(ly.LeastSquaresClassifier(), labels), (ly.Perceptron(2), labels > 0), (ly.BatchPerceptron(5), labels)]
    cases += [(ly.PocketPerceptron(5, init="least_squares"), labels > 0), (ly.AveragedPerceptron(2), labels)]
    validated = (ly.LinearRegression, ly.LinearDiscriminantAnalysis) if p < 100 else ()
    for k, (model, target) in enumerate(cases):
        for what, value in answers(model, X, target, validated):
            found[f"{n} x {p}, {k}: {type(model).__name__}.{what}"] = digest(value)
print(json.dumps(found))
"""


def answers(cores: list[int]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", ANSWERS, json.dumps(cores)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not TWO, reason="needs two cores")
def test_answers_of_every_estimator_on_one_core_and_on_two_have_the_same_bits():
    one, two = sorted(os.sched_getaffinity(0))[:2]
    alone, both = answers([one]), answers([one, two])
    assert len(alone) > 200
    assert [name for name in alone if alone[name] != both[name]] == []


@pytest.mark.skipif(not TWO, reason="needs two cores")
def test_predictions_on_one_core_and_on_two_have_the_same_bits():
    one, two = sorted(os.sched_getaffinity(0))[:2]
    quick = """
import json, os, sys
os.sched_setaffinity(0, json.loads(sys.argv[1]))
import numpy as np
import linearly as ly

rng = np.random.default_rng(0)
X = rng.normal(size=(20_011, 37))
y = X[:, 0] + rng.normal(size=len(X))
model, perceptron = ly.LinearRegression().fit(X, y), ly.Perceptron(1).fit(X, y > 0)
found = model.predict(X), perceptron.decision_function(X), ly.residual_tests(model, X, y)["statistic"]
print([part.tolist() if hasattr(part, "tolist") else list(part) for part in found])
"""
    told = [
        subprocess.run([sys.executable, "-c", quick, json.dumps(cores)], capture_output=True, text=True, check=True)
        for cores in ([one], [one, two])
    ]
    assert told[0].stdout == told[1].stdout


def test_blas_limiter_built_before_scipy_linalg_is_loaded_limits_its_blas_too():
    script = """
import sys
from linearly.dataset.rows.reduce import reduce_blocks
from linearly.kernels.blas_threads import single_threaded_blas

assert "scipy.linalg" not in sys.modules
reduce_blocks([lambda: 1, lambda: 2], lambda block: block)
import scipy.linalg
import threadpoolctl

with single_threaded_blas():
    found = threadpoolctl.ThreadpoolController().select(user_api="blas").info()
assert found and all(library["num_threads"] == 1 for library in found), found
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
