"""Check on random data that changes of the rows that must not matter leave every model unchanged."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import linearly as ly
from linearly.selftest import ProgressCallback, Result, list_faults

SHORT, LONG = 280, 10_000
LAWS = ("permutation", "duplicate", "absent", "scaling", "shift", "rotation", "relabelling")
TITLES = {
    "permutation": "rows in another order",
    "duplicate": "a duplicated row equals a row with weight 2",
    "absent": "a row with weight 0 has no effect",
    "scaling": "columns in other units",
    "shift": "columns with another origin",
    "rotation": "features rotated",
    "relabelling": "labels with other names, in another order",
}


@dataclass(frozen=True)
class Entry:
    """An estimator, the laws it obeys, and how closely."""

    make: Callable[[], Any]
    laws: frozenset[str]
    within: float = 1e-9
    classes: tuple[int, ...] = ()  # how many labels it takes; none for numbers
    weighted: bool = True


NUMBERS = frozenset(LAWS) - {"relabelling"}
PENALISED = NUMBERS - {"scaling"}
ENTRIES = (
    Entry(lambda: ly.LinearRegression(), NUMBERS),
    Entry(lambda: ly.LinearRegression(method="gram"), NUMBERS),
    Entry(lambda: ly.LinearRegression(method="qr"), NUMBERS),
    Entry(lambda: ly.LinearRegression(method="extended"), NUMBERS),
    Entry(lambda: ly.LinearRegression(covariance="HC3"), NUMBERS),
    Entry(lambda: ly.LinearRegression(fit_intercept=False), NUMBERS - {"shift"}),
    Entry(lambda: ly.LinearRegression(alpha=1.0), PENALISED),
    Entry(lambda: ly.LinearRegression(alpha=1.0, method="qr"), PENALISED),
    Entry(lambda: ly.RidgeCV(alphas=[0.1, 1.0, 10.0], cv="loo"), PENALISED - {"duplicate"}),
    Entry(lambda: ly.LinearDiscriminantAnalysis(), frozenset(LAWS), classes=(2, 3)),
    Entry(lambda: ly.QuadraticDiscriminantAnalysis(), frozenset(LAWS), classes=(2, 3)),
    Entry(lambda: ly.LeastSquaresClassifier(), frozenset(LAWS), classes=(2, 3)),
    Entry(lambda: ly.LogisticRegression(), frozenset(LAWS), 1e-7, classes=(2, 3)),
    Entry(lambda: ly.LogisticRegression(alpha=1.0), frozenset(LAWS) - {"scaling"}, 1e-7, classes=(2,)),
    # The order of rows is part of what an online perceptron learns, and it takes no weights.
    Entry(lambda: ly.Perceptron(max_passes=5), frozenset({"rotation", "relabelling"}), 1e-7, (2,), weighted=False),
    Entry(lambda: ly.AveragedPerceptron(), frozenset({"rotation", "relabelling"}), 1e-7, (2,), weighted=False),
    Entry(lambda: ly.VotedPerceptron(max_passes=3), frozenset({"rotation", "relabelling"}), 1e-7, (2,), weighted=False),
    Entry(lambda: ly.PocketPerceptron(max_updates=50), frozenset({"relabelling"}), 1e-7, (2,), weighted=False),
)


@dataclass(frozen=True)
class Sample:
    """X, targets and weights of one case."""

    X: Any
    y: Any
    weight: Any = None

    def select(self, rows: Any) -> Sample:
        """Return these rows, in this order."""
        return Sample(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield the violations of each law."""
    cases = LONG if long else SHORT
    broken: dict[str, list[str]] = {law: [] for law in LAWS}
    tried = dict.fromkeys(LAWS, 0)
    for seed in range(cases):
        law = LAWS[seed % len(LAWS)]
        tried[law] += 1
        violation = find_violation(law, seed)
        if violation:
            broken[law].append(violation)
        if seed % 10 == 9:
            progress(seed + 1, cases)
    violations = sum(map(len, broken.values()))
    figure = f"{violations} violations in {cases:,} cases"
    yield Result(f"all laws, {len(ENTRIES)} estimators", figure, "0", not violations)
    for law in LAWS:
        seen = broken[law]
        figure = f"{len(seen)} violations in {tried[law]:,} cases{list_faults(seen, 3)}"
        yield Result(f"{law}: {TITLES[law]}", figure, "0", not seen)


def find_violation(law: str, seed: int) -> str:
    """Return how the law is violated in the case of this seed; empty if it holds."""
    rng = np.random.default_rng(seed)
    obeying = [entry for entry in ENTRIES if law in entry.laws]
    entry = obeying[seed // len(LAWS) % len(obeying)]  # each in its turn, so that few cases try all of them
    sample = _draw_labelled(rng, entry) if entry.classes else _draw_numeric(rng, entry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a Gram may doubt its digits, a perceptron need not settle
        error = _measure(law, entry, sample, rng)
    return "" if error <= entry.within else f"{entry.make()!r}, seed {seed}: off by {error:.1e}"


def _draw_numeric(rng: Any, entry: Entry) -> Sample:
    """Draw normal or integer columns, more rows than columns, near zero or not."""
    far = "shift" in entry.laws  # without a free intercept, columns far from zero are nearly dependent
    while True:
        p, k = int(rng.integers(1, 5)), int(rng.integers(1, 3))
        n = int(rng.integers(4 * p + 6, 61))
        X = rng.normal(size=(n, p)) if rng.random() < 0.5 else rng.integers(-9, 10, size=(n, p)).astype(np.float64)
        if np.linalg.cond(X - X.mean(axis=0)) < 1e3:
            X = X + rng.choice([0.0, 2.0, 1000.0] if far else [0.0, 2.0])
            y = X @ rng.normal(size=(p, k)) + rng.normal(size=(n, k))
            return Sample(X, y[:, 0] if k == 1 else y, rng.uniform(0.5, 2.0, size=n))


def _draw_labelled(rng: Any, entry: Entry) -> Sample:
    """Draw classes that overlap, each with enough rows for a covariance of its own."""
    while True:
        K, p = int(rng.choice(entry.classes)), int(rng.integers(1, 4))
        n = int(rng.integers(20 * K, 40 * K))
        X = rng.normal(size=(n, p))
        noise = rng.normal(scale=1.5, size=(n, K))
        y = (X @ rng.normal(size=(p, K)) + noise).argmax(axis=1)
        counts = np.bincount(y, minlength=K)
        if counts.min() >= p + 6 and ly.separability(X, y).verdict == "overlapping":
            return Sample(X, y, rng.uniform(0.5, 2.0, size=n) if entry.weighted else None)


def _measure(law: str, entry: Entry, a: Sample, rng: Any) -> float:
    """Return the difference of two models that are equal by the law."""
    one = fitted(entry, a)
    if law == "permutation":
        return compare_models(fitted(entry, a.select(rng.permutation(len(a.X)))), a.X, one, a.X)
    if law == "duplicate":
        times = rng.integers(1, 4, size=len(a.X))
        repeated = fitted(entry, a.select(np.repeat(np.arange(len(a.X)), times)))
        return compare_models(repeated, a.X, fitted(entry, Sample(a.X, a.y, a.weight * times)), a.X, errors=False)
    if law == "absent":
        return compare_models(fitted(entry, _with_absent_rows(a, rng)), a.X, one, a.X)
    if law == "rotation":
        Q, _ = np.linalg.qr(rng.normal(size=(a.X.shape[1],) * 2))
        return compare_models(fitted(entry, Sample(a.X @ Q, a.y, a.weight)), a.X @ Q, one, a.X, errors=False)
    if law == "relabelling":
        return _relabelled_difference(entry, a, one, rng)
    if law == "scaling":
        # Powers of two change no digit, whatever their size; other factors change the last.
        p = a.X.shape[1]
        factor = 2.0 ** rng.integers(-300, 301, size=p) if rng.random() < 0.5 else rng.uniform(0.01, 100, size=p)
        moved = a.X * factor
    else:
        factor = np.ones(a.X.shape[1])
        moved = a.X + rng.integers(-1000, 1001, size=a.X.shape[1])
    return compare_models(fitted(entry, Sample(moved, a.y, a.weight)), moved, one, a.X, factor=factor)


def fitted(entry: Entry, sample: Sample) -> Any:
    """Return a fit of the estimator."""
    if not entry.weighted:
        return entry.make().fit(sample.X, sample.y)
    return entry.make().fit(sample.X, sample.y, sample_weight=sample.weight)


def _with_absent_rows(a: Sample, rng: Any) -> Sample:
    extra = int(rng.integers(1, 9))
    at = np.sort(rng.integers(0, len(a.X) + 1, size=extra))
    wild = rng.choice([1.0, 1e6, 1e100])
    strange = wild * (1 + np.arange(a.X.shape[1]))
    label = a.y[0] if a.y.dtype.kind == "i" else -wild
    return Sample(np.insert(a.X, at, strange, axis=0), np.insert(a.y, at, label, axis=0), np.insert(a.weight, at, 0.0))


def _relabelled_difference(entry: Entry, a: Sample, one: Any, rng: Any) -> float:
    names = np.array(["delta", "alpha", "gamma", "beta"])[rng.permutation(4)][: a.y.max() + 1]
    other = fitted(entry, Sample(a.X, names[a.y], a.weight))
    order = [other.classes_.tolist().index(name) for name in names]
    if hasattr(one, "predict_proba"):
        return float(np.abs(other.predict_proba(a.X)[:, order] - one.predict_proba(a.X)).max())
    before, after = one.decision_function(a.X), other.decision_function(a.X)
    # Weights of zero call every row positive. A pocket that still holds them is the best under one naming only.
    if not before.any() or not after.any():
        return 0.0
    sign = 1.0 if order[0] < order[-1] else -1.0
    after = sign * after if after.ndim == 1 else after[:, order]
    return float(np.abs(after - before).max() / (np.abs(before).max() or 1.0))


def compare_models(a: Any, Xa: Any, b: Any, Xb: Any, *, errors: bool = True, factor: Any = 1.0) -> float:
    """Return the largest difference of two models' predictions and standard errors."""
    answer = "predict_proba" if hasattr(a, "predict_proba") else "decision_function"
    answer = answer if hasattr(a, answer) else "predict"
    here, there = np.asarray(getattr(a, answer)(Xa)), np.asarray(getattr(b, answer)(Xb))
    scale = 1.0 if answer == "predict_proba" else np.ptp(there) + np.abs(there).max()
    found = float(np.abs(here - there).max() / (scale or 1.0))
    if errors and answer == "predict" and hasattr(a, "std_errors"):
        first = int(a.fit_intercept)  # units and origins change the intercept
        mine = a.std_errors()[first:] * np.reshape(np.broadcast_to(factor, (Xa.shape[1],)), (-1, 1))
        theirs = b.std_errors()[first:]
        found = max(found, float(np.abs(mine / theirs - 1).max()))
    return found
