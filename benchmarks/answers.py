"""Hash the answers of every estimator over kinds of input, so that two versions can be compared bit by bit.

``python -m benchmarks.answers > before.txt`` writes one line per case: its name, a hash of its bits, and the first
numbers. The same command after a change, and a `diff` of the two files, shows which answers moved. Set
``LINEARLY_KERNELS=reference`` for the NumPy kernels.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

import linearly as ly

SIZES = ((20, 2), (100, 5), (1_000, 20), (300, 60), (20_000, 7), (40, 60))
METHODS = ("gram", "qr", "extended")
REGRESSIONS: dict[str, Callable[[], Any]] = {
    "ols": ly.LinearRegression,
    "ridge": lambda: ly.LinearRegression(alpha=1.0),
    "ridge all": lambda: ly.LinearRegression(alpha=2.0, penalize_intercept=True),
    "no intercept": lambda: ly.LinearRegression(fit_intercept=False),
    **{name: lambda name=name: ly.LinearRegression(method=name) for name in METHODS},
    "HC3": lambda: ly.LinearRegression(covariance="HC3"),
    "descent": lambda: ly.LinearRegression(method="gradient_descent"),
    "ridge cv": lambda: ly.RidgeCV([0.1, 1.0, 10.0]),
    "ridge loo": lambda: ly.RidgeCV([0.1, 1.0, 10.0], cv="loo"),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic": ly.LogisticRegression,
    "logistic ridge": lambda: ly.LogisticRegression(alpha=1.0),
    "logistic lbfgs": lambda: ly.LogisticRegression(alpha=1.0, solver="lbfgs"),
    "logistic no intercept": lambda: ly.LogisticRegression(alpha=0.5, fit_intercept=False),
    "logistic HC0": lambda: ly.LogisticRegression(covariance="HC0"),
    "firth": lambda: ly.LogisticRegression(bias_reduction="firth"),
    "lda": ly.LinearDiscriminantAnalysis,
    "lda shrunk": lambda: ly.LinearDiscriminantAnalysis(shrinkage=0.2),
    "qda": lambda: ly.QuadraticDiscriminantAnalysis(shrinkage=0.1),
    "indicator": ly.LeastSquaresClassifier,
    "perceptron": lambda: ly.Perceptron(max_passes=5, random_state=0),
    "averaged": lambda: ly.AveragedPerceptron(max_passes=5, random_state=0),
    "voted": lambda: ly.VotedPerceptron(max_passes=3, random_state=0),
    "pocket": lambda: ly.PocketPerceptron(60, random_state=0),
    "batch": lambda: ly.BatchPerceptron(max_passes=20),
}
FITTED = (
    "coef_",
    "intercept_",
    "covariance_",
    "training_error_",
    "n_passes_",
    "method_",
    "cv_errors_",
    "alpha_",
    "log_likelihood_",
    "condition_",
    "digits_",
    "means_",
    "priors_",
    "scalings_",
    "n_updates_",
    "weights_",
    "classes_",
    "stop_reason_",
)
ASKED = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")


def data(n: int, p: int, classes: int = 0) -> tuple[Any, Any]:
    """Return correlated columns of several sizes, away from zero, with a target or labels that overlap."""
    rng = np.random.default_rng(1_000 * n + p)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)) / np.sqrt(p))
    X = X * 10.0 ** rng.integers(-2, 3, p) + rng.integers(-3, 4, p)
    score = ((X - X.mean(axis=0)) / X.std(axis=0)) @ rng.standard_normal((p, max(classes, 1))) / np.sqrt(p)
    if not classes:
        return X, score[:, 0] + rng.standard_normal(n)
    return X, (score + 2.0 * rng.gumbel(size=score.shape)).argmax(axis=1)


def inputs(X: Any) -> dict[str, Any]:
    """Return the same rows as several containers."""
    names = [f"c{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    kinds = {"array": X, "Fortran": np.asfortranarray(X), "float32": X.astype(np.float32), "list": X.tolist()}
    kinds |= {"integers": np.round(X).astype(np.int64), "pandas": frame, "polars": pl.from_pandas(frame)}
    return kinds | {"CSR": sp.csr_array(np.where(np.abs(X) > np.abs(X).mean(axis=0), X, 0.0))}


def bits(value: Any) -> bytes:
    """Return the bytes of an answer: numbers as float64, everything else by its text."""
    if isinstance(value, str) or value is None:
        return str(value).encode()
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        return repr(array.tolist()).encode()
    return array.astype(np.float64).tobytes() + str(array.shape).encode()


def answers(model: Any, X: Any) -> dict[str, Any]:
    """Return what a fitted estimator answers."""
    found = {name: getattr(model, name) for name in FITTED if hasattr(model, name)}
    if hasattr(model, "std_errors"):
        found["std_errors"] = model.std_errors()
    if hasattr(model, "solution_"):
        solution = model.solution_
        for name in ("rank", "aliased", "rss", "tss", "dof", "condition", "digits", "digits_of_relevant_coefs"):
            found[name] = getattr(solution, name)
        for name in ("rank_is_certain", "null", "error_digits", "strict_digits", "inverse_root", "shrinkage"):
            found[name] = getattr(solution, name)
    for name in ASKED:
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    return found


def tables(model: Any) -> dict[str, Any]:
    """Return the tables of a fitted estimator, where it has them."""
    found: dict[str, Any] = {}
    for of in (ly.tidy, ly.glance):
        try:
            table = of(model)
        except (TypeError, ValueError):
            continue
        found |= {f"{of.__name__} {name}": table[name] for name in table.columns}
    return found


def cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield every case: its name, and a function that fits and answers."""

    def fitted(make: Callable[[], Any], X: Any, y: Any, **rest: Any) -> Callable[[], dict[str, Any]]:
        def run() -> dict[str, Any]:
            model = make().fit(X, y, **rest)
            return answers(model, X) | tables(model)

        return run

    for n, p in SIZES:
        for classes in (0, 2, 3):
            X, y = data(n, p, classes)
            weight = np.random.default_rng(n).integers(0, 3, n).astype(float)
            weight[: 4 * max(classes, 1)] = 1.0
            for name, make in (CLASSIFIERS if classes else REGRESSIONS).items():
                if (n > 5_000 or p > 50) and name in ("descent", "firth", "ridge loo", "voted"):
                    continue
                label = f"{name} {n}x{p}" + (f" K={classes}" if classes else "")
                kinds = inputs(X) if n <= 1_000 and p <= 20 else {"array": X}
                for kind, rows in kinds.items():
                    yield f"{label} {kind}", fitted(make, rows, y)
                if name not in ("perceptron", "averaged", "voted", "pocket", "batch"):
                    yield f"{label} weighted", fitted(make, X, y, sample_weight=weight)
                if hasattr(make(), "partial_fit"):
                    yield f"{label} partial", streamed(make, X, y, classes)
                if name in ("ols", "ridge", "lda", "qda", "indicator"):
                    yield f"{label} sum", added(make, X, y)
    X, y = data(200, 4)
    yield "two targets", fitted(ly.LinearRegression, X, np.stack([y, X[:, 0] - y], axis=1))
    yield "clusters", fitted(lambda: ly.LinearRegression(covariance="cluster"), X, y, groups=np.arange(200) % 20)
    yield "aliased", fitted(ly.LinearRegression, np.column_stack([X, X[:, 0] + X[:, 1], np.ones(200)]), y)
    yield "far", fitted(ly.LinearRegression, X + 1e7, y)
    yield "nearly collinear", fitted(ly.LinearRegression, np.column_stack([X, X[:, 0] + 1e-6 * X[:, 1] ** 2]), y)
    yield "polynomial", fitted(ly.LinearRegression, ly.polynomial_features(X[:, 0], 6), y)
    yield "perfect", fitted(ly.LinearRegression, X, X @ np.arange(4.0) + 1.0)
    yield "constant y", fitted(ly.LinearRegression, X, np.full(200, 3.0))
    yield "huge", fitted(ly.LinearRegression, X * 1e200, y * 1e-150)
    yield "separable", fitted(ly.LogisticRegression, X, (X[:, 0] > X[:, 0].mean()).astype(int))
    yield from formulas()


def streamed(make: Callable[[], Any], X: Any, y: Any, classes: int) -> Callable[[], dict[str, Any]]:
    """Return a case that gives the rows in three parts."""

    def run() -> dict[str, Any]:
        model, rest = make(), {"classes": np.arange(classes)} if classes else {}
        for part in np.array_split(np.arange(len(y)), 3):
            model.partial_fit(X[part], y[part], **rest)
            rest = {}
        return answers(model, X)

    return run


def added(make: Callable[[], Any], X: Any, y: Any) -> Callable[[], dict[str, Any]]:
    """Return a case that adds two models and subtracts one of them again."""

    def run() -> dict[str, Any]:
        a, b = make().fit(X[::2], y[::2]), make().fit(X[1::2], y[1::2])
        both = a + b
        found = answers(both, X)
        try:
            return found | {f"without {name}": value for name, value in answers(both - b, X).items()}
        except ValueError as error:
            return found | {"error": str(error)}

    return run


def formulas() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield fits of data frames by formulas."""
    X, y = data(400, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["g"] = np.array(["u", "v", "w", "z"])[np.arange(400) % 4]
    frame["y"], frame["k"] = y, np.where(y > np.median(y), "yes", "no")
    for formula in ("y ~ a + b", "y ~ a * g + poly(b, 2)", "y ~ log(abs(c) + 1) + g:b", "k ~ a + g"):

        def run(formula: str = formula) -> dict[str, Any]:
            model = ly.fit(frame, formula=formula)
            found = {"terms": str(ly.tidy(model)), "glance": str(ly.glance(model)), "predict": model.predict(frame)}
            return found | {"one row": model.predict(frame.iloc[:1])}

        yield formula, run


def main() -> None:
    """Print one line per case."""
    warnings.simplefilter("always")
    for name, run in cases():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = run()
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
        found["warnings"] = "\n".join(sorted(f"{w.category.__name__}: {w.message}" for w in caught))
        for key, value in sorted(found.items()):
            print(f"{name} | {key} | {hashlib.sha256(bits(value)).hexdigest()[:16]}")


if __name__ == "__main__":
    main()
