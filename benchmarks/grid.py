"""A grid of cells, sizes × models × kinds of input, each against the best of scikit-learn and statsmodels.

``python -m benchmarks grid`` prints every cell with its ratio (peer's time over ours: above 1 we are faster), the worst
cells, and the medians by size. Contenders are alternated in one process, every answer is compared with ours, and the
minimum of all turns counts. ``--quick`` runs the small sizes only; ``--page`` writes the grid of a full run into
docs/benchmarks.md as a table of coloured cells.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import linearly as ly

SMALL = ((20, 2), (100, 5), (1_000, 20))
LARGE = ((10_000, 20), (10_000, 100), (100_000, 10), (300_000, 30), (1_000, 300), (3_000, 1_000))
KINDS: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "CSR": lambda X: sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)),
}
SPARSE_SIZES = ((2_000, 300), (50_000, 200))
MOST_SPARSE = (100_000, 1_000)  # 20 numbers per row
WIDE = ((5_000, 2_000), (500, 1_500))
CATEGORIES = (300_000, (30, 3))  # rows, and levels of two columns of text beside four of numbers
BEGIN, END = "<!-- grid: written by python -m benchmarks grid --page -->\n", "<!-- end of grid -->"
Fit = Callable[[], Any]


@dataclass(frozen=True)
class Cell:
    """One comparison: ours and its peers, each a function that returns the answer to compare."""

    model: str
    kind: str
    n: int
    p: int
    ours: Fit
    peers: dict[str, Fit]
    agree: float  # relative difference of the answers that is allowed

    def __str__(self) -> str:
        return f"{self.model:<18} {self.kind:<8} {self.n:>8,} × {self.p:<6,}"


def data(n: int, p: int, classes: int = 0) -> tuple[Any, Any]:
    """Return independent columns, with a target or with labels that overlap."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((n, p))
    scores = X @ rng.standard_normal((p, max(classes, 1))) / np.sqrt(p)
    if not classes:
        return X, scores[:, 0] + 3.0 + rng.standard_normal(n)
    return X, (scores + 2.0 * rng.gumbel(size=scores.shape)).argmax(axis=1)


def regression_cells(n: int, p: int, kind: str) -> Iterator[Cell]:
    """Yield least squares, with standard errors and by cross-validation."""
    from sklearn.linear_model import LinearRegression, Ridge, RidgeCV

    X, y = data(n, p)
    rows = KINDS[kind](X)
    tolerance = {"float32": 1e-3, "CSR": 1e-5}.get(kind, 1e-6)  # scikit-learn solves CSR rows by LSQR, to about 1e-6
    peers: dict[str, Fit] = {"scikit-learn LinearRegression": lambda: LinearRegression().fit(rows, y).coef_}
    if kind != "CSR":
        peers["scikit-learn Ridge"] = lambda: Ridge(alpha=0.0, solver="cholesky").fit(rows, y).coef_
    if n > p:
        yield Cell("OLS", kind, n, p, lambda: ly.LinearRegression().fit(rows, y).coef_, peers, tolerance)
    if kind != "array" or n <= p:
        return
    import statsmodels.api as sm

    alphas = np.logspace(-2, 2, 10)
    yield Cell(
        "standard errors",
        kind,
        n,
        p,
        lambda: ly.LinearRegression().fit(X, y).std_errors()[:, 0],
        {"statsmodels OLS": lambda: sm.OLS(y, sm.add_constant(X)).fit().bse},
        1e-6,
    )
    yield Cell(
        "ridge, LOO",
        kind,
        n,
        p,
        lambda: ly.RidgeCV(alphas, cv="loo").fit(X, y).coef_,
        {"scikit-learn RidgeCV": lambda: RidgeCV(alphas).fit(X, y).coef_},
        1e-6,
    )


def wide_cells(n: int, p: int) -> Iterator[Cell]:
    """Yield least squares with thousands of columns; with fewer rows than columns the solution of smallest norm."""
    from sklearn.linear_model import LinearRegression, Ridge

    X, y = data(n, p)
    # Ridge of alpha 0 fails with fewer rows than columns; this penalty changes the eighth digit.
    ridge = Ridge(alpha=0.0 if n > p else 1e-6, solver="cholesky")
    peers: dict[str, Fit] = {
        "scikit-learn Ridge": lambda: ridge.fit(X, y).coef_,
        "scikit-learn LinearRegression": lambda: LinearRegression().fit(X, y).coef_,
    }
    # With fewer rows than columns scikit-learn centres first, so that both choose the same solution.
    yield Cell("OLS", "array", n, p, lambda: ly.LinearRegression().fit(X, y).coef_, peers, 1e-5)


def sparse_cells(n: int, p: int) -> Iterator[Cell]:
    """Yield least squares and logistic regression on rows of 20 numbers."""
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

    rng = np.random.default_rng(21)
    X = sp.random_array((n, p), density=20 / p, format="csr", rng=rng)
    score = X @ rng.standard_normal(p)
    y = score + rng.standard_normal(n)
    peers: dict[str, Fit] = {
        "scikit-learn LinearRegression": lambda: LinearRegression(tol=1e-10).fit(X, y).coef_,
        "scikit-learn Ridge": lambda: Ridge(alpha=0.0, solver="sparse_cg", tol=1e-10).fit(X, y).coef_,
    }
    yield Cell("OLS", "CSR", n, p, lambda: ly.LinearRegression().fit(X, y).coef_, peers, 1e-5)
    label = (y > np.median(y)).astype(int)
    model = LogisticRegression(C=1.0, tol=1e-6, max_iter=1000)
    yield Cell(
        "logistic K=2",
        "CSR",
        n,
        p,
        lambda: ly.LogisticRegression(alpha=1.0).fit(X, label).predict_proba(X[:5]),
        {"scikit-learn lbfgs": lambda: model.fit(X, label).predict_proba(X[:5])},
        1e-2,
    )


def category_cells(n: int, levels: tuple[int, ...]) -> Iterator[Cell]:
    """Yield least squares on a data frame with columns of text."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X, y = data(n, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for name, count in zip("gh", levels, strict=True):
        code = np.random.default_rng(count).integers(0, count, n)
        frame[name], y = np.array([f"level {j}" for j in range(count)])[code], y + code / count
    encode = make_column_transformer((OneHotEncoder(drop="first"), ["g", "h"]), remainder="passthrough")
    peer = make_pipeline(encode, Ridge(alpha=0.0))
    both, first = frame.assign(y=y), frame.iloc[:50]
    yield Cell(
        "OLS by ly.fit",
        "text",
        n,
        4 + sum(levels) - len(levels),
        lambda: ly.fit(both, target="y").predict(first),
        {"scikit-learn ColumnTransformer + Ridge": lambda: peer.fit(frame, y).predict(first)},
        1e-3,
    )


def classifier_cells(n: int, p: int, kind: str) -> Iterator[Cell]:
    """Yield logistic regression, discriminant analysis, perceptrons and probabilities."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, Perceptron

    for K in (2, 3):
        X, y = data(n, p, K)
        rows = KINDS[kind](X)

        def logistic(solver: str, rows: Any = rows, y: Any = y) -> Fit:
            model = LogisticRegression(C=1.0, solver=solver, tol=1e-6, max_iter=1000)
            return lambda: model.fit(rows, y).predict_proba(rows[:5])

        yield Cell(
            f"logistic K={K}",
            kind,
            n,
            p,
            lambda rows=rows, y=y: ly.LogisticRegression(alpha=1.0).fit(rows, y).predict_proba(rows[:5]),
            {f"scikit-learn {solver}": logistic(solver) for solver in ("lbfgs", "newton-cholesky")},
            # With three classes the penalty of scikit-learn is symmetric and ours is not: equal work, other answers.
            np.inf if K == 3 else 1e-2,
        )
    if kind != "array" or n <= 3 * p:
        return
    discriminants = {solver: LinearDiscriminantAnalysis(solver=solver) for solver in ("svd", "lsqr")}
    yield Cell(
        "LDA K=3",
        kind,
        n,
        p,
        lambda: ly.LinearDiscriminantAnalysis().fit(X, y).predict(X[:50]),
        {f"scikit-learn {name}": lambda one=one: one.fit(X, y).predict(X[:50]) for name, one in discriminants.items()},
        0.1,
    )
    yield Cell(
        "QDA K=3",
        kind,
        n,
        p,
        lambda: ly.QuadraticDiscriminantAnalysis().fit(X, y).predict(X[:50]),
        {"scikit-learn": lambda: QuadraticDiscriminantAnalysis().fit(X, y).predict(X[:50])},
        0.1,
    )
    yield Cell(
        "perceptron",
        kind,
        n,
        p,
        lambda: ly.Perceptron(max_passes=5).fit(X, y).coef_.shape,
        {"scikit-learn": lambda: Perceptron(max_iter=5, tol=None, shuffle=False).fit(X, y).coef_.shape},
        0.0,
    )
    mine, peer = ly.LogisticRegression(alpha=1.0).fit(X, y), LogisticRegression(max_iter=1000).fit(X, y)
    yield Cell(
        "predict_proba",
        kind,
        n,
        p,
        lambda: mine.predict_proba(X)[:50],
        {"scikit-learn": lambda: peer.predict_proba(X)[:50]},
        np.inf,
    )


def cells(quick: bool) -> Iterator[Cell]:
    """Yield every cell of the grid."""
    for n, p in SMALL if quick else SMALL + LARGE:
        for kind in ("array", "float32", "pandas"):
            yield from regression_cells(n, p, kind)
            yield from classifier_cells(n, p, kind)
    if quick:
        return
    for n, p in SPARSE_SIZES:
        yield from regression_cells(n, p, "CSR")
        yield from classifier_cells(n, p, "CSR")
    yield from sparse_cells(*MOST_SPARSE)
    for n, p in WIDE:
        yield from wide_cells(n, p)
    yield from category_cells(*CATEGORIES)


def measure(cell: Cell, seconds: float = 0.6) -> tuple[float, str]:
    """Return the time of the best peer over ours, and its name; raise if an answer differs."""
    runs = {"linearly": cell.ours, **cell.peers}
    found = {name: np.asarray(run(), dtype=np.float64) for name, run in runs.items()}
    scale = max(float(np.abs(found["linearly"]).max()), 1e-300)
    for name, answer in found.items():
        apart = float(np.abs(answer - found["linearly"]).max()) / scale
        if apart > cell.agree:
            raise AssertionError(f"{cell}: {name} differs from linearly by {apart:.2g}")
    best = dict.fromkeys(runs, np.inf)
    end, turns = time.perf_counter() + seconds * len(runs), 0
    while turns < 3 or time.perf_counter() < end:
        turns += 1
        for name, run in runs.items():
            # Peers run with one and with all BLAS threads in turn, and their better time counts.
            with threadpool_limits(limits=1 if turns % 2 and name != "linearly" else None):
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    peer = min(cell.peers, key=lambda name: best[name])
    return best[peer] / best["linearly"], peer


def run_grid(quick: bool) -> list[tuple[Cell, float, str]]:
    """Measure and print every cell, then the worst and the medians."""
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in cells(quick):
            ratio, peer = measure(cell, 0.3 if quick else 0.6)
            results.append((cell, ratio, peer))
            print(f"{cell} {ratio:8.2f} ×   {peer}{'' if ratio >= 1 else '   (peer is faster)'}", flush=True)
    ratios = [ratio for _, ratio, _ in results]
    small = [ratio for cell, ratio, _ in results if cell.n <= 1_000 and cell.p <= 20]
    print(f"\n{len(ratios)} cells, {sum(r >= 1 for r in ratios)} at or ahead of the best peer")
    print(f"median {statistics.median(ratios):.2f}, up to 1,000 rows {statistics.median(small):.2f}")
    for cell, ratio, peer in sorted(results, key=lambda result: result[1])[:5]:
        print(f"worst   {cell} {ratio:8.2f} ×   {peer}")
    return results


def heat_map(results: list[tuple[Cell, float, str]]) -> str:
    """Return a Markdown table of ratios: a row for each size, a column for each model, a colour for each cell."""
    models = list(dict.fromkeys(cell.model for cell, _, _ in results))
    rows: dict[tuple[str, int, int], dict[str, float]] = {}
    for cell, ratio, _ in results:
        rows.setdefault((cell.kind, cell.n, cell.p), {})[cell.model] = ratio
    lines = ["| input | size | " + " | ".join(models) + " |", "|---" * (2 + len(models)) + "|"]
    for (kind, n, p), found in sorted(rows.items(), key=lambda row: row[0][0]):
        shown = (f"{colour(found[model])} {found[model]:.3g}" if model in found else "" for model in models)
        lines.append(f"| {kind} | {n:,} × {p:,} | " + " | ".join(shown) + " |")
    ratios = [ratio for _, ratio, _ in results]
    small = [ratio for cell, ratio, _ in results if cell.n <= 1_000 and cell.p <= 20]
    worst, least, peer = min(results, key=lambda result: result[1])
    return (
        "Each cell is the time of the faster of scikit-learn and statsmodels divided by the time of linearly. "
        f"Of {len(ratios)} cells, {sum(r >= 1 for r in ratios)} are at least 1. The median is "
        f"{statistics.median(ratios):.2g}, and {statistics.median(small):.2g} for up to 1,000 rows. The worst is "
        f"{least:.2g}, for {worst.model}, {worst.kind}, {worst.n:,} × {worst.p:,}, against {peer}. Red cells are below "
        "0.9, orange ones below 1, yellow ones below 2.\n\n" + "\n".join(lines) + "\n"
    )


def colour(ratio: float) -> str:
    """Return a square that says how a ratio stands."""
    return next((square for limit, square in ((0.9, "🟥"), (1.0, "🟧"), (2.0, "🟨")) if ratio < limit), "🟩")


def written_into(page: str, table: str) -> str:
    """Return the page with the table between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError("docs/benchmarks.md has no markers for the grid")
    return before + BEGIN + table + END + after


def main(quick: bool, page: bool = False) -> None:
    """Run the grid as a command, and write it into the page of benchmarks."""
    results = run_grid(quick)
    if page:
        path = Path(__file__).parent.parent / "docs" / "benchmarks.md"
        path.write_text(written_into(path.read_text(encoding="utf-8"), heat_map(results)), encoding="utf-8")
