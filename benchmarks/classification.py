"""Discriminants and logistic regression against scikit-learn, at equal work: the same loss to the same gradient."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linearly as ly
from benchmarks.race import Contender, Result, race

Array = NDArray[Any]


def gaussian_classes(n: int, p: int, K: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(30)
    y = rng.integers(0, K, n)
    X = rng.standard_normal((n, p)) + rng.standard_normal((K, p))[y]
    return X, y


def two_classes(n: int, p: int, mix: Array | None = None) -> tuple[Array, Array]:
    rng = np.random.default_rng(31)
    X = rng.standard_normal((n, p))
    logits = X @ rng.standard_normal(p) / np.sqrt(p)
    y = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)
    return (X if mix is None else X @ mix), y


def many_classes(n: int, p: int, K: int, scale: Any = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(32)
    X = rng.standard_normal((n, p))
    y = (X @ rng.standard_normal((p, K)) / np.sqrt(p) + rng.gumbel(size=(n, K))).argmax(axis=1)
    return X * scale, y


def log_loss(model: Any, X: Array, y: Array) -> float:
    P = model.predict_proba(X)
    return float(-np.log(P[np.arange(len(y)), y]).mean())


def lda_500k(quick: bool) -> Result:
    """LDA of 10 classes on 500 000 rows of 50 columns, against each of scikit-learn's solvers."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    n, p, K = (100_000 if quick else 500_000), 50, 10
    X, y = gaussian_classes(n, p, K)
    few = X[:1000]

    def peer(solver: str) -> Contender:
        # Posteriors differ by the divisor, N against N − K: 2e-5 of the covariance.
        return Contender(
            f"scikit-learn {solver}",
            lambda: LinearDiscriminantAnalysis(solver=solver).fit(X, y).predict_proba(few),
            repeats=3,
        )

    ours = Contender("linearly", lambda: ly.LinearDiscriminantAnalysis().fit(X, y).predict_proba(few), ours=True)
    return race(
        "lda_500k", f"{n} × {p}, K = {K}", [ours, peer("lsqr"), peer("eigen"), peer("svd")], agree=1e-3, quick=quick
    )


def qda_fit(quick: bool) -> Result:
    """QDA of 3 classes on 1 000 000 rows of 50 columns."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    n, p, K = (100_000 if quick else 1_000_000), 50, 3
    X, y = gaussian_classes(n, p, K)
    contenders = [
        Contender("linearly", lambda: ly.QuadraticDiscriminantAnalysis().fit(X, y).means_, ours=True),
        *(
            Contender(
                f"scikit-learn {solver}",
                lambda solver=solver: QuadraticDiscriminantAnalysis(solver=solver).fit(X, y).means_,
                repeats=2,
            )
            for solver in ("eigen", "svd")
        ),
    ]
    return race("qda_fit", f"{n} × {p}, K = {K}", contenders, agree=1e-9, quick=quick)


def qda_predict(quick: bool) -> Result:
    """Posteriors by QDA of 3 classes for 1 000 000 rows of 50 columns."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    n, p, K = (100_000 if quick else 1_000_000), 50, 3
    X, y = gaussian_classes(n, p, K)
    mine = ly.QuadraticDiscriminantAnalysis().fit(X[:50_000], y[:50_000])
    peer = QuadraticDiscriminantAnalysis(solver="eigen").fit(X[:50_000], y[:50_000])
    contenders = [
        Contender("linearly", lambda: mine.predict_proba(X), ours=True),
        Contender("scikit-learn", lambda: peer.predict_proba(X), repeats=3),
    ]
    return race("qda_predict", f"{n} × {p}, K = {K}", contenders, agree=1e-2, quick=quick)


def mean_gradient(model: Any, X: Array, y: Array) -> float:
    """The norm of the gradient of the mean loss of two classes where a model ended."""
    residuals = model.predict_proba(X)[:, 1] - y
    return float(np.linalg.norm(np.r_[residuals.sum(), X.T @ residuals])) / len(y)


def reaching(goal: float, fit: Callable[[float], Any], X: Array, y: Array) -> float | None:
    """The loosest tolerance with which a peer ends at a gradient below the goal; None if it does with none."""
    for tolerance in 10.0 ** -np.arange(3, 14):
        if mean_gradient(fit(tolerance), X, y) <= goal:
            return float(tolerance)
    return None


def logistic_500k(quick: bool) -> Result:
    """Logistic regression without penalty on 500 000 rows of 50 columns, each peer to a mean gradient of 1e-8."""
    from sklearn.linear_model import LogisticRegression

    n, p = (100_000 if quick else 500_000), 50
    X, y = two_classes(n, p)

    def sklearn(solver: str) -> Callable[[float], Any]:
        return lambda tolerance: LogisticRegression(C=np.inf, solver=solver, tol=tolerance, max_iter=1000).fit(X, y)

    def glum(tolerance: float) -> Any:
        from glum import GeneralizedLinearRegressor

        model = GeneralizedLinearRegressor(family="binomial", alpha=0.0, gradient_tol=tolerance, max_iter=100).fit(X, y)
        model.predict_proba = lambda X: np.stack([1 - model.predict(X), model.predict(X)], axis=1)
        return model

    contenders = [Contender("linearly", lambda: ly.LogisticRegression().fit(X, y).coef_.ravel(), ours=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ended = mean_gradient(ly.LogisticRegression().fit(X, y), X, y)
        if not ended <= 1e-8:
            raise AssertionError(f"logistic_500k: linearly ended at a gradient of {ended:.1g}")
        peers = {
            "scikit-learn lbfgs": sklearn("lbfgs"),
            "scikit-learn newton-cholesky": sklearn("newton-cholesky"),
            "scikit-learn newton-cg": sklearn("newton-cg"),
        }
        if importlib.util.find_spec("glum"):
            peers["glum"] = glum
        for name, fit in peers.items():
            tolerance = reaching(1e-8, fit, X, y)
            if tolerance is None:
                print(f"  {name} reaches no gradient of 1e-8 with any tolerance")
                continue
            run = functools.partial(fit, tolerance)
            contenders.append(Contender(name, lambda run=run: run().coef_.ravel(), repeats=3))  # type: ignore[misc]
        return race("logistic_500k", f"{n} × {p}", contenders, agree=1e-4, quick=quick)


def logistic_wide(quick: bool) -> Result:
    """Logistic regression on 20 000 rows of 1 000 strongly correlated columns."""
    from sklearn.linear_model import LogisticRegression

    n, p = (5_000, 300) if quick else (20_000, 1000)
    rng = np.random.default_rng(33)
    X, y = two_classes(n, p, rng.standard_normal((p, p)) * np.logspace(0, -2, p) / np.sqrt(p))
    ours = Contender("linearly", lambda: [log_loss(ly.LogisticRegression().fit(X, y), X, y)], ours=True, repeats=3)
    peer = Contender(
        "scikit-learn lbfgs",
        lambda: [log_loss(LogisticRegression(C=np.inf, tol=1e-4, max_iter=5000).fit(X, y), X, y)],
        repeats=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return race("logistic_wide", f"{n} × {p}, correlated", [ours, peer], agree=1e-2, quick=quick)


def _multinomial(name: str, scale: Any, quick: bool) -> Result:
    from sklearn.linear_model import LogisticRegression

    n, p, K = (20_000 if quick else 100_000), 100, 10
    X, y = many_classes(n, p, K, scale)
    ours = Contender("linearly", lambda: [log_loss(ly.LogisticRegression().fit(X, y), X, y)], ours=True, repeats=3)
    peer = Contender(
        "scikit-learn lbfgs",
        lambda: [log_loss(LogisticRegression(C=np.inf, tol=1e-6, max_iter=1000).fit(X, y), X, y)],
        repeats=1 if np.ndim(scale) else 2,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return race(name, f"{n} × {p}, K = {K}", [ours, peer], agree=1e-2, quick=quick)


def multinomial(quick: bool) -> Result:
    """Multinomial logistic regression of 10 classes on 100 000 rows of 100 columns."""
    return _multinomial("multinomial", 1.0, quick)


def multinomial_ill(quick: bool) -> Result:
    """The same with columns on scales from 1 to 1/1000."""
    return _multinomial("multinomial_ill", np.logspace(0, -3, 100), quick)


def predict_proba(quick: bool) -> Result:
    """Probabilities of two classes for 1 000 000 rows of 50 columns."""
    from sklearn.linear_model import LogisticRegression

    n, p = (200_000 if quick else 1_000_000), 50
    X, y = two_classes(n, p)
    mine = ly.LogisticRegression().fit(X[:20_000], y[:20_000])
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(X[:20_000], y[:20_000])
    contenders = [
        Contender("linearly", lambda: mine.predict_proba(X), ours=True),
        Contender("scikit-learn", lambda: peer.predict_proba(X)),
    ]
    return race("predict_proba", f"{n} × {p}", contenders, agree=1e-3, quick=quick)


def predict_proba_one_row(quick: bool) -> Result:
    """Probabilities for one row of 50 columns, in the mean of 1 000 calls."""
    from sklearn.linear_model import LogisticRegression

    X, y = two_classes(10_000, 50)
    mine, peer, row = ly.LogisticRegression().fit(X, y), LogisticRegression(C=np.inf, tol=1e-10).fit(X, y), X[:1].copy()
    contenders = [
        Contender("linearly", lambda: [mine.predict_proba(row) for _ in range(1000)], ours=True),
        Contender("scikit-learn", lambda: [peer.predict_proba(row) for _ in range(1000)], repeats=3),
    ]
    result = race("predict_proba_one_row", "1 × 50", contenders, agree=1e-3, quick=quick)
    result.seconds = {name: seconds / 1000 for name, seconds in result.seconds.items()}
    return result


WORKLOADS = [
    lda_500k,
    qda_fit,
    qda_predict,
    logistic_500k,
    logistic_wide,
    multinomial,
    multinomial_ill,
    predict_proba,
    predict_proba_one_row,
]
