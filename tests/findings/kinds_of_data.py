"""Tables with a known truth, one for each kind of data that a verdict once got wrong."""

import numpy as np
import pandas as pd


def kinds() -> dict[str, pd.DataFrame]:
    """Return the tables by name; the target is y, weights are w."""
    rng, n = np.random.default_rng(7), 200
    (a, b), e = rng.normal(size=(2, n)), rng.normal(size=n)
    x, uniform = np.exp(rng.normal(size=n)), rng.uniform(-1, 1, n)
    level = np.array(["p", "q", "r"])[rng.integers(0, 3, n)].astype(object)
    level[17] = "solo"
    series = {rho: _autoregressive(rng, rho, n) for rho in (-0.8, 0.8)}
    cluster = np.repeat(np.arange(20), 10)
    wide = rng.normal(size=(30, 60))
    tables = {
        "good": {"a": a, "b": b, "y": a - b + e},
        "noise": {"a": a, "b": b, "y": e},
        "weights": {"a": a, "b": b, "w": rng.uniform(1, 9, n), "y": a - b + e},
        "singleton level": {"a": a, "g": level, "y": np.where(np.arange(n) == 17, 500.0, a + e)},
        "growing variance": {"x": x, "y": x + x * e},
        "leverage row": {"a": np.where(np.arange(n) == 5, 20.0, a), "y": e},
        "negative autocorrelation": {"a": a, "y": a + series[-0.8]},
        "positive autocorrelation": {"a": a, "y": a + series[0.8]},
        "clusters": {"a": a, "y": a + rng.normal(size=20)[cluster] + 0.5 * e},
        "time, correlated errors": {"t": np.arange(n) / 20, "y": np.arange(n) / 20 + series[0.8]},
        "time, curve": {"t": np.arange(n) / 20, "y": (np.arange(n) / 20 - 4) ** 2 / 4 + e},
        "sine": {"a": uniform, "y": np.sin(5 * uniform) + 0.3 * e},
        "sine of normal": {"a": a, "y": np.sin(5 * a) + 0.3 * e},
        "quadratic": {"a": a, "b": b, "y": a + a**2 + e},
        "interaction": {"a": a, "b": b, "y": a + b + a * b + 0.3 * e},
        "outlier first": {"a": a, "y": np.where(np.arange(n) == 0, 200.0, a + e)},
        "skewed errors": {"a": a[:120], "y": (a + np.exp(e))[:120]},
        "heavy tails": {"a": a, "y": a + rng.standard_t(2, n)},
        "leakage": {"a": a, "leak": 3 * (a + e) + 1e-4 * b, "y": a + e},
        "exact": {"a": a, "b": b, "y": a + 2 * b},
        "constant": {"a": a, "b": b, "y": np.ones(n)},
        "two values": {"a": a, "b": b, "y": (a + e > 0) * 1.0},
        "repeated rows": {name: np.repeat(column[:60], 5) for name, column in (("a", a), ("b", b), ("y", e))},
        "nearly collinear": {"a": a, "c": a + 0.01 * b, "y": a + e},
        "collinear": {"a": a, "b": b, "c": a + b, "y": a + e},
        "few rows": {"a": a[:20], "b": b[:20], "y": (a + e)[:20]},
        "few rows, noise": {"a": a[:20], "b": b[:20], "y": e[:20]},
        "missing rows": {"a": np.where(a + e > 1, np.nan, a), "y": a + e},
        "wide": {f"x{j}": wide[:, j] for j in range(60)} | {"y": wide[:, 0] + e[:30]},
    }
    return {name: pd.DataFrame(columns) for name, columns in tables.items()}


def labelled_kinds() -> dict[str, pd.DataFrame]:
    """Return tables whose target y holds labels, by name; weights are w."""
    rng, n = np.random.default_rng(8), 240
    (a, b), e = rng.normal(size=(2, n)), rng.logistic(size=n)
    tens = rng.normal(size=(60, 10))
    codes = np.arange(n) % 12
    x = np.linspace(-1, 1, 40)
    frauds = np.arange(4000) < 30
    level = np.array(["p", "q", "r"])[rng.integers(0, 3, n)].astype(object)
    level[17] = "solo"

    def sides(score: np.ndarray) -> np.ndarray:
        return np.where(score > 0, "yes", "no")

    tables = {
        "effect": {"a": a, "b": b, "y": sides(1.5 * a + e)},
        "noise": {f"x{j}": tens[:, j] for j in range(10)} | {"y": rng.choice(["no", "yes"], 60)},
        "rare label": {"a": rng.normal(size=4000) + 1.5 * frauds, "y": np.where(frauds, "fraud", "legit")},
        "rare label, noise": {"a": rng.normal(size=4000), "y": np.where(frauds, "fraud", "legit")},
        "weighted labels": {"a": a, "w": np.arange(n) % 3 + 0.5, "y": sides(1.5 * a + e)},
        "separable": {"a": x, "b": x**2, "y": sides(x)},
        "quasi-separable": {"a": np.round(4 * x), "y": np.where(np.round(4 * x) == 0, sides(np.sin(40 * x)), sides(x))},
        "twelve labels": {"a": a + codes % 3, "b": b + codes // 3, "y": codes.astype(str)},
        "twelve labels, noise": {"a": a, "b": b, "y": codes.astype(str)},
        "three labels": {"a": a, "b": b, "y": np.where(a + e > 1, "high", np.where(a + e < -1, "low", "middle"))},
        "singleton level, labels": {"a": a, "g": level, "y": sides(1.5 * a + e)},
        "repeated rows, labels": {"a": np.repeat(a[:48], 5), "y": np.repeat(sides(e[:48]), 5)},
        "leakage of a label": {"a": a, "leak": (a + e > 0) * 2.0 - 1 + 0.01 * b, "y": sides(a + e)},
        "missing rows, labels": {"a": np.where(a + e > 1, np.nan, a), "y": sides(1.5 * a + e)},
        "few rows, labels": {"a": a[:20], "b": b[:20], "y": sides(a + e)[:20]},
        "collinear, labels": {"a": a, "b": b, "c": a + b, "y": sides(1.5 * a + e)},
        "circle": {"a": a, "b": b, "y": sides(a**2 + b**2 - 1.4)},
        "wide, labels": {f"x{j}": column for j, column in enumerate(rng.normal(size=(20, 14)))} | {"y": ["p", "q"] * 7},
        "noise, a fifth": {"a": a, "b": b, "y": sides(rng.random(n) - 0.8)},
        "one row of a label": {"a": a, "y": np.where(np.arange(n) == 0, "yes", "no")},
    }
    return {name: pd.DataFrame(columns) for name, columns in tables.items()}


def multilabel_kinds() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return columns and a 0/1 matrix of labels, of which a row has any subset, by name."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(160, 3))
    chance = rng.logistic(size=(160, 3))
    return {
        "several labels": (X, (X + chance > 0).astype(int)),
        "several labels, noise": (X, (chance > 0).astype(int)),
        "several labels, one rare": (X, (X + chance > [0.0, 0.0, 4.0]).astype(int)),
        "several labels, one separable": (X, np.column_stack([X[:, 0] > 0, X[:, 1] + chance[:, 1] > 0]).astype(int)),
    }


def _autoregressive(rng: np.random.Generator, rho: float, n: int) -> np.ndarray:
    series = np.zeros(n)
    for i, shock in enumerate(rng.normal(size=n - 1), 1):
        series[i] = rho * series[i - 1] + shock
    return series
