"""Check verdicts on separability against a rational simplex method, and every proof in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from linearly.algorithm.separability.decide import separability
from linearly.selftest import ProgressCallback, Result, list_faults
from linearly.selftest.hyperplanes import oracle, proven

SHORT, LONG = 200, 8000
HAIRLINES_SHORT, HAIRLINES_LONG = 30, 300


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield false verdicts and invalid proofs, in random sets and in sets that floats cannot separate."""
    sets, hairlines = (LONG, HAIRLINES_LONG) if long else (SHORT, HAIRLINES_SHORT)

    def show(done: int) -> None:
        progress(done, sets + hairlines)

    random = ((*random_set(seed), seed) for seed in range(sets))
    close = ((*hairline(seed), True, seed) for seed in range(hairlines))
    yield from _check_verdicts("random sets", random, sets, show)
    yield from _check_verdicts(
        "sets with rows within rounding of a hyperplane", close, hairlines, lambda done: show(sets + done)
    )


def _check_verdicts(what: str, drawn: Iterator[tuple[Any, Any, bool, int]], n: int, progress: Any) -> Iterator[Result]:
    verdicts: Counter[str] = Counter()
    false, unproven = [], []
    for X, y, fit_intercept, seed in drawn:
        c = separability(X, y, fit_intercept=fit_intercept)
        verdicts[c.verdict] += 1
        if c.verdict != oracle(X, y.tolist(), fit_intercept):
            false.append(seed)
        if not (c.check() and proven(c, X, y.tolist())):
            unproven.append(seed)
        progress(seed + 1)
    seen = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
    yield Result(
        f"{what}: false verdicts", f"{_describe_seeds(false, n)} ({seen})", "0", not false and len(verdicts) == 3
    )
    yield Result(f"{what}: proofs that fail in rational arithmetic", _describe_seeds(unproven, n), "0", not unproven)


def _describe_seeds(seeds: list[int], n: int) -> str:
    return f"{len(seeds)} of {n:,}{list_faults(list(map(str, seeds)), 5, ': seeds ', ', ')}"


def random_set(seed: int) -> tuple[Any, Any, bool]:
    """Draw a small set: grid with ties, decimals, offset, extreme scales, duplicates or collinear columns."""
    rng = np.random.default_rng(seed)
    K, p = int(rng.choice([2, 2, 2, 3, 4])), int(rng.integers(1, 6))
    n = int(rng.integers(K, 18 if K == 2 else 12))
    kind = rng.integers(0, 6)
    X = rng.integers(0, 2, (n, p)).astype(float)
    if kind == 1:
        X = rng.integers(-2, 3, (n, p)).astype(float)
    elif kind == 2:
        X = rng.standard_normal((n, p))
    elif kind == 3:
        X = np.round(rng.standard_normal((n, p)), 1)
    elif kind == 4:
        X = rng.integers(0, 4, (n, p)) * 0.1 + 1e9 * rng.integers(0, 2)
    elif kind == 5:
        X = rng.integers(-1, 2, (n, p)).astype(float)
        X[:, -1] = X[:, 0] if rng.random() < 0.5 else 3.0
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, n)]
    size = rng.random()
    if size < 0.2:
        X = X * 2.0 ** rng.integers(-1000, 960, p)
    elif size < 0.3:
        X = X * 10.0 ** rng.integers(-290, 290, p)
    y = rng.integers(0, K, n)
    if rng.random() < 0.5:
        scores = (X / np.maximum(np.abs(X).max(axis=0), 1e-320)) @ rng.integers(-2, 3, (p, K))
        y = (scores + rng.integers(0, 2) * 0.5 * rng.standard_normal(scores.shape)).argmax(axis=1)
    y[:2] = [0, 1]
    return X, y, bool(rng.random() < 0.75)


def hairline(seed: int) -> tuple[Any, Any]:
    """Draw rows within a few units in the last place of a hyperplane, labelled by their exact side."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(1, 6)), int(rng.integers(6, 30))
    X, w, b = rng.standard_normal((n, p)), rng.standard_normal(p), rng.standard_normal()
    X[:, -1] = -(X[:, :-1] @ w[:-1] + b) / w[-1]
    X[:, -1] *= 1 + rng.integers(-2, 3, n) * 2.0**-52
    exact = [Fraction(b) + sum(Fraction(s) * Fraction(t) for s, t in zip(x, w, strict=True)) for x in X.tolist()]
    y = np.array([int(t > 0) for t in exact])
    if seed % 3 == 1:
        y[rng.integers(n)] ^= 1
    elif seed % 3 == 2:
        X[1] = X[0]
        y[:2] = [0, 1]
    y[-2:] = y[-2:] if len(set(y)) == 2 else [0, 1]
    return X, y
