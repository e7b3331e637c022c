"""Simulate data with known truth: coverage of every interval, size and power of every test and finding.

With 800 draws, one in ten tests of size 5% is measured above 6%, and 7% may be chance. A share outside of its bounds is
no verdict yet: draws are doubled until it lies inside, or until there are 8 times as many. Then a size of 7.5% passes
in 6% of runs, and one of 5% in all.

A case is one entry of `CASES`: a name, a function that draws rows, a function that decides, and bounds. Decisions about
several things at once (all metrics of an evaluation) share their draws. `finding_cases` has those of findings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing import get_context
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import expit, ndtr

import linearly as ly
from linearly.evaluation.cross_validate import ClassScores, RegressionScores, fit_folds
from linearly.evaluation.evaluate import evaluate_rows
from linearly.selftest import ProgressCallback, Result
from linearly.selftest.cases import (
    ALL,
    COVERAGE,
    FEW,
    POWER,
    SIZE,
    Array,
    Case,
    Decisions,
    Draw,
    Numbers,
    Probabilities,
    errors,
    only,
)
from linearly.selftest.finding_cases import FINDING_CASES

Shares = dict[str, tuple[float, int]]  # of each decision: how often it was made, of how many

QUICK_N, QUICK_TIMES, LONG_TIMES = 60, 100, 800  # draws at first; costly cases have fewer
MOST = 8  # times as many draws are made in a long run, by doubling, while a share is outside of its bounds
TRUTHS = 4  # samples of 200,000 rows that show the truth
QUICK_CHANCE, LONG_CHANCE = 3.0, 2.0  # standard errors of all draws that a share may be outside of its bounds by


# --- rows -----------------------------------------------------------------------------------------


def regression_rows(
    rng: np.random.Generator,
    n: int,
    shape: str = "normal",
    slope: float = 1.0,
    predicted: float = 1.0,
    weighted: bool = False,
) -> tuple[Array, Array, Array | None]:
    """Draw y = slope x + error, predictions that use another slope, and weights."""
    x = rng.standard_normal(n)
    weight = rng.gamma(2.0, size=n) if weighted else None
    return predicted * x[:, None], slope * x + errors(rng, n, shape), weight


def class_rows(
    rng: np.random.Generator,
    n: int,
    share: float = 0.4,
    apart: float = 1.5,
    confidence: float = 1.0,
    weighted: bool = False,
) -> tuple[Array, Array, Array | None]:
    """Draw probabilities and labels of two normal classes; a confidence other than 1 is miscalibrated."""
    y = (rng.random(n) < share).astype(int)
    logit = np.log(share / (1 - share)) + apart * (rng.standard_normal(n) + apart * y) - apart**2 / 2
    p = expit(confidence * logit)
    return np.column_stack([1 - p, p]), y, rng.gamma(2.0, size=n) if weighted else None


def several_classes(rng: np.random.Generator, n: int, apart: float = 1.5) -> tuple[Array, Array, None]:
    """Draw probabilities and labels of three normal classes at the corners of a triangle."""
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    x = rng.standard_normal((n, 3)) + apart * np.eye(3)[y]
    p = np.exp(apart * x) * [0.5, 0.3, 0.2]
    return p / p.sum(axis=1, keepdims=True), y, None


def label_sets(rng: np.random.Generator, n: int) -> tuple[Array, Array, None]:
    """Draw probabilities of three labels, which a row has any of, and the labels."""
    common = rng.standard_normal(n)[:, None]
    p = expit(1.5 * (rng.standard_normal((n, 3)) + common) + [0.0, -0.7, -0.4])
    return p, (rng.random((n, 3)) < p).astype(int), None


def design(rng: np.random.Generator, n: int, p: int, shape: str = "normal", effect: float = 0.0) -> tuple[Array, Array]:
    """Draw features and a target, and one row more; the first feature has the effect, the others none."""
    X = rng.standard_normal((n + 1, p))
    return X, effect * X[:, 0] + errors(rng, n + 1, shape)


def labelled(rng: np.random.Generator, n: int, p: int, effect: float = 0.0) -> tuple[Array, Array]:
    """Draw features and labels 0 and 1; the first feature has the effect, the others none."""
    X = rng.standard_normal((n, p))
    return X, (rng.random(n) < expit(effect * X[:, 0])).astype(int)


def unequal_errors(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw a target whose standard deviation grows from 0.5 to 1.5 with the feature."""
    X = rng.random((n, 1))
    return X, X[:, 0] + (0.5 + X[:, 0]) * rng.standard_normal(n)


def correlated_errors(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw a target with errors that are correlated by 0.5 from row to row."""
    drawn = rng.standard_normal(n)
    for i in range(1, n):
        drawn[i] += 0.5 * drawn[i - 1]
    X = rng.standard_normal((n, 1))
    return X, X[:, 0] + drawn


def clustered_rows(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Draw a target with an error of its own for each of 20 clusters, in which the feature is alike, too."""
    cluster = np.arange(n) % 20
    X = rng.standard_normal((n, 1)) + rng.standard_normal(20)[cluster, None]
    return X, X[:, 0] + rng.standard_normal(20)[cluster] + rng.standard_normal(n), cluster


def two_normal_classes(rng: np.random.Generator, n: int, p: int) -> tuple[Array, Array]:
    """Draw two classes of equal size, whose means are 1.5 apart in the first feature."""
    y = np.arange(n) % 2
    X = rng.standard_normal((n, p))
    X[:, 0] += 1.5 * y
    return X, y


# --- decisions ------------------------------------------------------------------------------------


def _evaluation(rows: tuple[Array, Array, Array | None]) -> Any:
    X, y, weight = rows
    model = Numbers() if X.shape[1] == 1 else Probabilities(X.shape[1], y.ndim == 2)
    positive = 1 if X.shape[1] == 2 else None  # the same in every sample, though it may be the more frequent one
    return evaluate_rows(model, X, y, sample_weight=weight, positive=positive)


@cache
def _true_metrics(draw: Draw) -> dict[str, float]:
    """Return the metrics of so many rows that chance does not matter."""
    sums: dict[str, float] = {}
    for seed in range(TRUTHS):
        metrics = _evaluation(draw(np.random.default_rng(seed), 200_000)).metrics
        for name, value in zip(metrics["metric"].tolist(), metrics["value"], strict=True):
            sums[name] = sums.get(name, 0.0) + float(value) / TRUTHS
    return sums


def covered_metrics(draw: Draw, exact: Mapping[str, float], rows: Any) -> Decisions:
    """Return whether the interval of each metric of `evaluate` contains the truth."""
    truth, metrics = {**_true_metrics(draw), **exact}, _evaluation(rows).metrics
    ends = zip(metrics["metric"].tolist(), metrics["conf_low"], metrics["conf_high"], strict=True)
    return {name: bool(low - 1e-9 <= truth[name] <= high + 1e-9) for name, low, high in ends}


def _metrics(what: str, rows: Any, exact: Mapping[str, float] | None = None, **more: Any) -> Case:
    """Return the case of all metrics of an evaluation."""
    bounds = {"calibration_error": (0.93, 1.0)} | more.pop("exceptions", {})
    return Case(
        f"evaluate, {what}", rows, partial(covered_metrics, rows, exact or {}), COVERAGE, exceptions=bounds, **more
    )


def covered_slope(effect: float, rows: tuple[Array, Array]) -> Decisions:
    """Return whether intervals of a slope, of a mean and of a new y (the last row) contain the truth."""
    X, y = rows
    model = ly.LinearRegression().fit(X[:-1], y[:-1])
    table, mean = ly.tidy(model), model.predict_interval(X[-1:])
    new = model.predict_interval(X[-1:], kind="prediction")
    return {
        "tidy": bool(table["conf_low"][1] <= effect <= table["conf_high"][1]),
        "predict_interval, mean": bool(mean["low"][0] <= effect * X[-1, 0] <= mean["high"][0]),
        "predict_interval, new row": bool(new["low"][0] <= y[-1] <= new["high"][0]),
    }


def covered_ridge(effect: float, rows: tuple[Array, Array]) -> Decisions:
    """Return whether the interval of the first coefficient of five, all of one effect, contains it after RidgeCV."""
    X, y = rows
    table = ly.tidy(ly.RidgeCV().fit(X, y + effect * X[:, 1:].sum(axis=1)))
    return {"tidy, ridge": bool(table["conf_low"][1] <= effect <= table["conf_high"][1])}


def covered_log_odds(effect: float, rows: tuple[Array, Array]) -> Decisions:
    """Return whether Wald's and the profile interval of a log odds ratio contain the truth."""
    X, y = rows
    model = ly.LogisticRegression().fit(X, y)
    if model.separation_ is not None:
        return {}
    found = {"Wald": ly.tidy(model), "profile": ly.profile_intervals(model, X, y)}
    return {name: bool(table["conf_low"][1] <= effect <= table["conf_high"][1]) for name, table in found.items()}


def covered_wald(effect: float, rows: tuple[Array, Array]) -> Decisions:
    """Return whether Wald's interval of a log odds ratio contains the truth."""
    model = ly.LogisticRegression().fit(*rows)
    if model.separation_ is not None:
        return {}
    table = ly.tidy(model)
    return {"Wald": bool(table["conf_low"][1] <= effect <= table["conf_high"][1])}


def covered_robust_slope(covariance: str, rows: tuple[Array, ...]) -> Decisions:
    """Return whether the interval of a slope of 1 by robust or clustered standard errors contains it."""
    X, y, *cluster = rows
    given = {"groups": cluster[0]} if cluster else {}
    table = ly.tidy(ly.LinearRegression(covariance=covariance).fit(X, y, **given))
    return {f"tidy, {covariance}": bool(table["conf_low"][1] <= 1.0 <= table["conf_high"][1])}


def covered_cross_validation(effect: float, rows: tuple[Array, Array]) -> Decisions:
    """Return whether the interval of a cross-validated R² contains the expected R² of fits to 4/5 of the rows.

    For normal features the expected squared error is σ² (m + 1)(m − 2) / (m (m − p − 2)) after a fit to m rows.
    """
    X, y = rows
    p, m = X.shape[1], 0.8 * len(y)
    truth = 1 - (m + 1) * (m - 2) / (m * (m - p - 2)) / (1 + effect**2)
    scores = fit_folds(ly.LinearRegression(), X, y).scores()
    assert isinstance(scores, RegressionScores)
    found = scores.r_squared()
    return {"cross-validated R²": bool(found.low <= truth <= found.high)}


@cache
def _expected_accuracy(m: int, p: int) -> float:
    """Return the mean accuracy on new rows of LDA fitted to m rows of `two_normal_classes`."""
    rng, right = np.random.default_rng(0), []
    for _ in range(200):
        model = ly.LinearDiscriminantAnalysis().fit(*two_normal_classes(rng, m, p))
        w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
        size = float(np.linalg.norm(w))
        right.append((ndtr((1.5 * w[0] + b) / size) + ndtr(-b / size)) / 2)
    return float(np.mean(right))


def covered_accuracy(rows: tuple[Array, Array]) -> Decisions:
    """Return whether the interval of a cross-validated accuracy contains that of fits to 4/5 of the rows."""
    X, y = rows
    truth = _expected_accuracy(int(0.8 * len(y)), X.shape[1])
    scores = fit_folds(ly.LinearDiscriminantAnalysis(), X, y).scores()
    assert isinstance(scores, ClassScores)
    found = scores.accuracy()
    return {"cross-validated accuracy": bool(found.low <= truth <= found.high)}


def rejected_ratio(rows: tuple[Array, Array]) -> Decisions:
    """Return whether the likelihood-ratio test of the first feature rejects."""
    X, y = rows
    table = ly.likelihood_ratio_tests(ly.LogisticRegression().fit(X, y), X, y)
    return {"likelihood ratio": bool(table["p_value"][0] < 0.05)}


def rejected_residuals(rows: tuple[Array, Array]) -> Decisions:
    """Return which tests of the residuals, and whether the F test, reject."""
    X, y = rows
    model = ly.LinearRegression().fit(X, y)
    table = ly.residual_tests(model, X, y)
    found = {name: bool(p < 0.05) for name, p in zip(table["test"].tolist(), table["p_value"], strict=True)}
    return found | {"F": bool(ly.glance(model)["p_value"] < 0.05)}


# --- the table ------------------------------------------------------------------------------------

NORMALITY = ("shapiro_wilk", "lilliefors", "anderson_darling")


def _residuals(what: str, draw: Draw, bounds: tuple[float, float], *tests: str, **more: Any) -> Case:
    """Return the case of tests of residuals."""
    decide = partial(only, tests, rejected_residuals) if tests else rejected_residuals
    return Case(what, draw, decide, bounds, FEW if bounds == POWER else ALL, **more)


AREA_OF_50_ROWS = {"roc_auc": (0.93, 0.975)}  # too wide: 97.2% and 97.3% of 6,400 draws

CASES = (
    _metrics("normal errors", partial(regression_rows), quick=True),
    _metrics("t5 errors", partial(regression_rows, shape="t5"), quick=True),
    _metrics(
        "skewed errors",
        partial(regression_rows, shape="skewed"),
        exceptions={"rmse": (0.88, 0.97), "r_squared": (0.90, 0.97)},
    ),
    _metrics("weighted rows", partial(regression_rows, weighted=True)),
    _metrics(
        "R² of 0, a constant",
        partial(regression_rows, slope=0.0, predicted=0.0),
        {"r_squared": 0.0},
        exceptions={"r_squared": (0.93, 1.0)},
        quick=True,
    ),
    _metrics("R² of 0, a slope twice as large", partial(regression_rows, slope=0.5), {"r_squared": 0.0}),
    _metrics("R² of 0.96", partial(regression_rows, slope=5.0, predicted=5.0)),
    _metrics("40% positive", partial(class_rows), {"calibration_error": 0.0}, exceptions=AREA_OF_50_ROWS, quick=True),
    _metrics(
        "20% positive, AUC 0.92",
        partial(class_rows, share=0.2, apart=2.0),
        {"calibration_error": 0.0},
        sizes=(100, 300, 1000, 6000),
    ),
    _metrics(
        "20% positive, half of the samples with fewer than 10 positive rows",
        partial(class_rows, share=0.2, apart=2.0),
        {"calibration_error": 0.0},
        sizes=(50,),
        exceptions={"roc_auc": (0.93, 0.985), "average_precision": (0.93, 0.99)},  # too wide
    ),
    _metrics(
        "10% positive, AUC 0.76",
        partial(class_rows, share=0.1, apart=1.0),
        sizes=(100, 300, 1000, 6000),
        exceptions={"precision": (0.93, 1.0)},  # few rows are predicted positive, where Wilson's interval is wide
    ),
    _metrics("miscalibrated", partial(class_rows, share=0.4, confidence=2.0), exceptions=AREA_OF_50_ROWS),
    _metrics("weighted labels", partial(class_rows, weighted=True)),
    _metrics("three labels", several_classes),
    _metrics("any subset of three labels", label_sets, quick=True),
    Case(
        "normal errors, p = 3", partial(design, p=3, effect=0.5), partial(covered_slope, 0.5), COVERAGE, ALL, quick=True
    ),
    Case("t5 errors, p = 3", partial(design, p=3, effect=0.5, shape="t5"), partial(covered_slope, 0.5), COVERAGE, ALL),
    *(
        Case(
            f"five effects of {effect:g}",
            partial(design, p=5, effect=effect),
            partial(covered_ridge, effect),
            COVERAGE,
            (60, 300),
            {"tidy, ridge": (least, 0.97)},  # the bias of the penalty is not part of the intervals
            cost=2,
        )
        for effect, least in ((0.1, 0.4), (0.3, 0.8))
    ),
    Case(
        "errors that grow from 0.5 to 1.5",
        unequal_errors,
        partial(covered_robust_slope, "HC3"),
        COVERAGE,
        (20, 50, 100, 300, 1000),
        quick=True,
    ),
    Case("20 clusters", clustered_rows, partial(covered_robust_slope, "CR2"), COVERAGE, (60, 100, 300, 1000)),
    Case(
        "p = 20",
        partial(design, p=20, effect=1.0),
        partial(covered_cross_validation, 1.0),
        COVERAGE,
        (100, 300, 1000),
        cost=2,
    ),
    Case("lda, p = 20", partial(two_normal_classes, p=20), covered_accuracy, COVERAGE, (100, 300, 1000), cost=2),
    Case(
        "log odds ratio",
        partial(labelled, p=1, effect=0.7),
        partial(covered_log_odds, 0.7),
        COVERAGE,
        (50, 100),
    ),
    Case(
        "log odds ratio, p = 16",
        partial(labelled, p=16, effect=0.7),
        partial(covered_wald, 0.7),
        COVERAGE,
        (100, 300),
        {"Wald": (0.9, 0.97)},  # 92.1% at 100: maximum likelihood of many columns overstates effects
    ),
    Case("size, p = 2", partial(labelled, p=2), rejected_ratio, SIZE, (50, 100, 1000), cost=2, quick=True),
    Case("size, p = 16", partial(labelled, p=16), rejected_ratio, SIZE, (100, 300), cost=4),
    Case("power, effect 0.7, p = 2", partial(labelled, p=2, effect=0.7), rejected_ratio, POWER, FEW, cost=2),
    _residuals("size, normal errors", partial(design, p=3), SIZE, quick=True),
    _residuals("size, t5 errors", partial(design, p=3, shape="t5"), SIZE, "F", "durbin_watson", "breusch_pagan"),
    _residuals("power, effect 0.4", partial(design, p=3, effect=0.4), POWER, "F"),
    _residuals("power, skewed errors", partial(design, p=3, shape="skewed"), POWER, *NORMALITY),
    _residuals("power, errors that grow from 0.5 to 1.5", unequal_errors, POWER, "breusch_pagan", quick=True),
    _residuals("power, errors correlated by 0.5", correlated_errors, POWER, "durbin_watson", quick=True),
    *FINDING_CASES,
)


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield the share of each decision of each case, at each number of rows; a long run uses all processors."""
    cases = [case for case in CASES if long or case.quick]
    with _processes(long) as run:
        started = [run(case.what, long) for case in cases]
        for done, (case, wait) in enumerate(zip(cases, started, strict=True), start=1):
            shares = wait()
            for name in next(iter(shares.values())):
                yield _judge(case, name, {n: found[name] for n, found in shares.items()}, long)
            progress(done, len(cases))


@contextmanager
def _processes(long: bool) -> Iterator[Callable[..., Callable[[], dict[int, Shares]]]]:
    """Give a function that starts a simulation and returns how to wait for its result."""
    if not long:
        yield partial(partial, _simulate)
        return
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield lambda *arguments: pool.submit(_simulate, *arguments).result


def _simulate(what: str, long: bool) -> dict[int, Shares]:
    """Return the shares of a case for each number of rows."""
    case = next(case for case in CASES if case.what == what)
    times = max(int((LONG_TIMES if long else QUICK_TIMES) / case.cost), 30)
    if not long:
        return {QUICK_N: _shares(case, QUICK_N, times)}
    return {n: _decided_shares(case, n, times) for n in case.sizes}


def _decided_shares(case: Case, n: int, times: int) -> Shares:
    """Return the shares after as many draws as they need to lie within their bounds, or after the most."""
    shares, drawn = _shares(case, n, times), times
    while drawn < MOST * times and any(_is_outside(case, name, share) for name, (share, _) in shares.items()):
        shares, drawn = _pool(shares, _shares(case, n, drawn, first=drawn)), 2 * drawn
    return shares


def _is_outside(case: Case, name: str, share: float) -> bool:
    low, high = case.exceptions.get(name, case.bounds)
    return not low <= share <= high


def _pool(shares: Shares, more: Shares) -> Shares:
    """Return the shares of two sets of draws together."""
    pooled = {}
    for name in shares | more:
        parts = [one[name] for one in (shares, more) if name in one]
        total = sum(times for _, times in parts)
        pooled[name] = (sum(share * times for share, times in parts) / total, total)
    return pooled


def _shares(case: Case, n: int, times: int, first: int = 0) -> Shares:
    """Return how often each decision was made, and of how many, for the draws from `first` on."""
    made: dict[str, list[bool]] = {}
    for seed in range(first, first + times):
        rng = np.random.default_rng([crc32(case.what.encode()), n, seed])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a separable draw is one of many
            for name, decision in case.decide(case.draw(rng, n)).items():
                made.setdefault(name, []).append(decision)
    return {name: (float(np.mean(found)), len(found)) for name, found in made.items()}


def _judge(case: Case, name: str, shares: dict[int, tuple[float, int]], long: bool) -> Result:
    low, high = case.exceptions.get(name, case.bounds)
    passed = True
    for share, times in shares.values():
        chance = LONG_CHANCE if long else QUICK_CHANCE
        slack = [chance * np.sqrt(bound * (1 - bound) / times) for bound in (low, high)]
        passed &= bool(low - slack[0] <= share <= high + slack[1])
    figure = ", ".join(f"{100 * share:.1f}% at {n:,}" for n, (share, _) in shares.items())
    fewest, most = (pick(times for _, times in shares.values()) for pick in (min, max))
    draws = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    required = _describe_bounds(low, high)
    if name in case.exceptions:
        required += f" (exception to {_describe_bounds(*case.bounds)})"
    return Result(f"{name}: {case.what}", f"{figure}; {draws} draws", required, passed)


def _describe_bounds(low: float, high: float) -> str:
    if low == 0:
        return f"≤ {100 * high:g}%"
    return f"≥ {100 * low:g}%" if high == 1 else f"{100 * low:g} to {100 * high:g}%"
