"""Least squares and ridge against scikit-learn, statsmodels and whoever else is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linearly as ly
from benchmarks.race import Contender, Result, exponent, race

Array = NDArray[np.float64]


def data(n: int, p: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(20)
    X = rng.standard_normal((n, p))
    y = X @ rng.standard_normal(p) + 3.0 + rng.standard_normal(n)
    return X, y


def sklearn_ridge(X: Array, y: Array) -> Contender:
    from sklearn.linear_model import Ridge

    return Contender("scikit-learn Ridge(cholesky)", lambda: Ridge(alpha=0.0, solver="cholesky").fit(X, y).coef_)


def sklearn_linear(X: Array, y: Array, repeats: int) -> Contender:
    from sklearn.linear_model import LinearRegression

    return Contender("scikit-learn LinearRegression", lambda: LinearRegression().fit(X, y).coef_, repeats=repeats)


def glum_linear(X: Array, y: Array) -> Contender:
    def run() -> Any:
        from glum import GeneralizedLinearRegressor

        return GeneralizedLinearRegressor(family="normal", alpha=0.0).fit(X, y).coef_

    return Contender("glum", run, repeats=2, optional="glum")


def pyfixest_errors(X: Array, y: Array, kind: str) -> Contender:
    """Its standard errors, the intercept first."""
    import pandas as pd

    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(y=y)

    def run() -> Any:
        import pyfixest

        return pyfixest.feols(f"y ~ {' + '.join(names)}", frame, vcov=kind, lean=True, store_data=False).se().to_numpy()

    return Contender("pyfixest", run, repeats=1, optional="pyfixest")


def ours(X: Array, y: Array) -> Contender:
    return Contender("linearly", lambda: ly.LinearRegression().fit(X, y).coef_, ours=True)


def ols_1m_50(quick: bool) -> Result:
    """Ordinary least squares on 1 000 000 rows of 50 columns."""
    n, p = (250_000 if quick else 1_000_000), 50
    X, y = data(n, p)
    peers = [ours(X, y), sklearn_ridge(X, y), sklearn_linear(X, y, 1 if quick else 2), glum_linear(X, y)]
    result = race("ols_1m_50", f"{n} × {p}", peers, agree=1e-6, quick=quick)
    result.flops, result.bytes = float(n * (p + 1) * (p + 2)), float(X.nbytes)
    result.growth = exponent(lambda m: lambda: ly.LinearRegression().fit(X[:m], y[:m]), n)
    return result


def ols_200k_500(quick: bool) -> Result:
    """Ordinary least squares on 200 000 rows of 500 columns."""
    n, p = (40_000 if quick else 200_000), 500
    X, y = data(n, p)
    peers = [ours(X, y), sklearn_ridge(X, y)]
    if not quick:
        peers.append(sklearn_linear(X, y, 1))
    result = race("ols_200k_500", f"{n} × {p}", peers, agree=1e-9, quick=quick)
    result.flops, result.bytes = float(n * (p + 1) * (p + 2)), float(X.nbytes)
    result.growth = exponent(lambda m: lambda: ly.LinearRegression().fit(X[:m], y[:m]), n)
    return result


def standard_errors(quick: bool) -> Result:
    """Least squares with standard errors on 1 000 000 rows of 50 columns."""
    import statsmodels.api as sm

    n, p = (250_000 if quick else 1_000_000), 50
    X, y = data(n, p)
    with_ones = sm.add_constant(X)
    contenders = [
        Contender("linearly", lambda: ly.tidy(ly.LinearRegression().fit(X, y))["std_error"], ours=True),
        Contender("statsmodels OLS", lambda: sm.OLS(y, with_ones).fit().bse, repeats=1 if quick else 2),
        pyfixest_errors(X, y, "iid"),
    ]
    result = race("standard_errors", f"{n} × {p}", contenders, agree=1e-8, quick=quick)
    result.flops, result.bytes = float(n * (p + 1) * (p + 2)), float(X.nbytes)
    return result


def robust_errors(quick: bool) -> Result:
    """The same with the HC1 covariance, which takes a second, weighted pass."""
    import statsmodels.api as sm

    n, p = (250_000 if quick else 1_000_000), 50
    X, y = data(n, p)
    with_ones = sm.add_constant(X)
    contenders = [
        Contender("linearly", lambda: ly.tidy(ly.LinearRegression(covariance="HC1").fit(X, y))["std_error"], ours=True),
        Contender("statsmodels OLS", lambda: sm.OLS(y, with_ones).fit(cov_type="HC1").bse, repeats=1),
        pyfixest_errors(X, y, "HC1"),
    ]
    return race("robust_errors", f"{n} × {p}", contenders, agree=1e-7, quick=quick)


def ridge_cv(quick: bool) -> Result:
    """Ridge over 100 penalties and 5 folds on 200 000 rows of 100 columns, refit included."""
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV, PredefinedSplit

    from linearly.dataset.rows.row_hash import hash_rows

    n, p = (20_000 if quick else 200_000), 100
    X, y = data(n, p)
    alphas = np.logspace(-3, 5, 100)
    fold = (hash_rows(X, y) % 5).astype(int)  # the folds that linearly uses: equal work, equal answers

    def peer() -> Any:
        search = GridSearchCV(Ridge(), {"alpha": alphas}, cv=PredefinedSplit(fold), scoring="neg_mean_squared_error")
        scores = search.fit(X, y).cv_results_
        return -np.average([scores[f"split{j}_test_score"] for j in range(5)], axis=0, weights=np.bincount(fold))

    contenders = [
        Contender("linearly", lambda: ly.RidgeCV(alphas).fit(X, y).cv_errors_, ours=True),
        Contender("scikit-learn GridSearchCV", peer, repeats=1),
    ]
    return race("ridge_cv", f"{n} × {p}, 100 alphas × 5 folds", contenders, agree=1e-8, quick=quick)


def predict_one_row(quick: bool) -> Result:
    """`predict` of one row of 50 columns, in the mean of 1 000 calls."""
    from sklearn.linear_model import LinearRegression

    X, y = data(10_000, 50)
    mine, peer, row = ly.LinearRegression().fit(X, y), LinearRegression().fit(X, y), X[:1].copy()
    contenders = [
        Contender("linearly", lambda: [mine.predict(row) for _ in range(1000)], ours=True),
        Contender("scikit-learn LinearRegression", lambda: [peer.predict(row) for _ in range(1000)], repeats=3),
    ]
    result = race("predict_one_row", "1 × 50", contenders, agree=1e-9, quick=quick)
    result.seconds = {name: seconds / 1000 for name, seconds in result.seconds.items()}
    return result


def import_time(quick: bool) -> Result:
    """``import linearly`` in a new process, against ``import sklearn.linear_model``, less the bare interpreter."""

    def run(code: str) -> float:
        times = []
        for _ in range(3 if quick else 7):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    bare = run("pass")
    result = Result("import_time", "–")
    result.seconds = {
        "linearly": run("import linearly") - bare,
        "scikit-learn": run("import sklearn.linear_model") - bare,
        "numpy": run("import numpy") - bare,
    }
    return result


def cold_start(quick: bool) -> Result:
    """First fit of a new process against ``import numpy, scipy.linalg``, ``linearly fit`` against scikit-learn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        rows = np.column_stack([X, X.sum(axis=1) + rng.standard_normal(500)])
        np.savetxt(path, rows, delimiter=",", header="a,b,c,d,e,y", comments="")
        fit = "import linearly as ly; ly.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 4.0])"
        result = Result("cold_start", "500 × 5")
        result.seconds = {
            name: _seconds_of_process(arguments, 5 if quick else 15)
            for name, arguments in (
                ("linearly, first fit", ["-c", fit]),
                ("numpy and scipy.linalg", ["-c", "import numpy, scipy.linalg"]),
                ("linearly fit rows.csv", ["-m", "linearly", "fit", str(path), "--target", "y"]),
                ("scikit-learn", ["-c", "import sklearn.linear_model"]),
            )
        }
    return result


def _seconds_of_process(arguments: list[str], runs: int) -> float:
    """Return the time of a Python process, with modules compiled by an earlier run."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(1 + runs):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, env=environment, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def anova_interaction(quick: bool) -> Result:
    """Fit and type II ANOVA of two categories of 10 and 15 levels, their interaction and a number, on 400 000 rows."""
    import pandas as pd

    n, rng = 40_000 if quick else 400_000, np.random.default_rng(0)
    codes = {"f": rng.integers(0, 10, n), "g": rng.integers(0, 15, n)}
    frame = pd.DataFrame({name: pd.Categorical([f"{name}{code:02}" for code in c]) for name, c in codes.items()})
    frame["x"] = rng.standard_normal(n)
    frame["y"] = 0.5 * frame["x"] + 0.1 * codes["f"] + rng.standard_normal(n)
    order = ["f", "g", "x", "f:g"]

    def linearly() -> Any:
        found = ly.anova(ly.fit(frame, formula="y ~ f * g + x"), type=2).to_pandas()
        return found.set_index("term")["sum_sq"][order]

    def statsmodels() -> Any:
        import statsmodels.api as sm
        import statsmodels.formula.api as smf

        return sm.stats.anova_lm(smf.ols("y ~ f * g + x", frame).fit(), typ=2)["sum_sq"][order]

    contenders = [
        Contender("linearly", linearly, ours=True, repeats=1),
        Contender("statsmodels anova_lm(typ=2)", statsmodels, repeats=1, optional="statsmodels"),
    ]
    return race("anova_interaction", f"{n:,} × 150 terms", contenders, agree=1e-8, quick=quick)


def lasso_wide(quick: bool) -> Result:
    """Lasso on 2 000 rows of 5 000 columns, at a tenth of the largest penalty."""
    from sklearn.linear_model import Lasso

    n, p, rng = (400, 1000, np.random.default_rng(0)) if quick else (2000, 5000, np.random.default_rng(0))
    X, beta = rng.standard_normal((n, p)), np.zeros(p)
    beta[:50] = rng.standard_normal(50)
    y = X @ beta + 2 * rng.standard_normal(n)
    alpha = 0.1 * float(np.abs((X - X.mean(axis=0)).T @ y).max())
    contenders = [
        Contender("linearly", lambda: ly.ElasticNet(alpha).fit(X, y).coef_, ours=True),
        Contender("scikit-learn Lasso(tol=1e-10)", lambda: Lasso(alpha / n, tol=1e-10, max_iter=10**5).fit(X, y).coef_),
    ]
    return race("lasso_wide", f"{n:,} × {p:,}", contenders, agree=1e-4, quick=quick)


WORKLOADS = [
    ols_1m_50,
    ols_200k_500,
    standard_errors,
    robust_errors,
    ridge_cv,
    anova_interaction,
    lasso_wide,
    predict_one_row,
    import_time,
    cold_start,
]
