"""Compute the metrics of an evaluation from a confusion matrix, sums of losses, and scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.evaluation.accumulators import ClassCounts, MultilabelCounts, RegressionSums, RowScores
from linearly.evaluation.intervals import (
    UNDEFINED,
    Area,
    Interval,
    RowMean,
    average,
    correlation,
    folded_normal,
    kish_sample_size,
    matched_wilson,
    precision_area,
    precision_interval,
    row_mean,
    share,
    wilson,
    wilson_f1,
)
from linearly.evaluation.r_squared import r_squared
from linearly.formatting import join_names
from linearly.inference.wald_tests import t_quantile
from linearly.kernels.double_double import Array
from linearly.table import Table

N_BINS = 10  # of a calibration table
MIN_ROWS, MIN_ROWS_PER_LABEL = 50, 10  # for intervals of the coverage that they state


class MetricTables(NamedTuple):
    """The tables of an evaluation, and its notes."""

    metrics: Table
    confusion: Table | None
    per_class: Table | None
    calibration: Table | None
    notes: list[str]


class Rates(NamedTuple):
    """Precision, recall and F1 of each label, from its counts of hits, predictions and actual rows."""

    precision: list[Interval]
    recall: list[Interval]
    f1: list[Interval]
    notes: list[str]

    @staticmethod
    def of(sums: Array, squares: Array, labels: Sequence[Any], level: float) -> Rates:
        """Compute rates from Σw and Σw² of (hits, predicted, actual), each 3 × K."""
        hits, predicted, actual = sums
        union, union2 = predicted + actual - hits, squares[1] + squares[2] - squares[0]

        def proportion(k: int, of: int) -> Interval:
            n = kish_sample_size(float(sums[of, k]), float(squares[of, k]))
            return wilson(share(float(hits[k]), float(sums[of, k])), n, level)

        def harmonic(k: int) -> Interval:
            n = kish_sample_size(float(union[k]), float(union2[k]))
            return wilson_f1(float(hits[k]), float(union[k]), n, level)

        notes = []
        for name, whole, why in (
            ("precision", predicted, "never predicted"),
            ("recall", actual, "absent from y"),
            ("F1", union, "neither predicted nor in y"),
        ):
            empty = [labels[k] for k in range(len(labels)) if not whole[k] > 0]
            if empty:
                notes.append(f"{join_names(list(map(repr, empty)), 5, ', ')}: {why}, so {name} is 0/0, defined as 0.")
        precision, recall = ([proportion(k, of) for k in range(len(labels))] for of in (1, 2))
        return Rates(precision, recall, [harmonic(k) for k in range(len(labels))], notes)


def class_metrics(
    tally: ClassCounts, rows: RowScores | None, labels: list[Any], level: float, *, probable: bool
) -> MetricTables:
    """Return the metrics of a classifier with one label per row; of two labels, the first is the positive one."""
    counts, squares, K = tally.counts, tally.squares, len(labels)
    total, hits = float(counts.sum()), np.diagonal(counts)
    n = kish_sample_size(total, float(squares.sum()))
    rates = Rates.of(_margins(counts), _margins(squares), labels, level)
    present = [k for k in range(K) if counts[k].sum() > 0]
    metrics = {
        "accuracy": wilson(float(hits.sum()) / total, n, level),
        "balanced_accuracy": average([rates.recall[k] for k in present], None, "Wilson, averaged"),
    }
    if K == 2:
        metrics |= {"precision": rates.precision[0], "recall": rates.recall[0], "f1": rates.f1[0]}
    else:
        metrics |= _macro(rates, _f1_covariance(counts, squares))
        metrics["micro_f1"] = metrics["accuracy"]
    actual = counts.sum(axis=1)
    most = int(np.argmax(actual))
    notes = [f"Always predicting {labels[most]!r} has accuracy {actual[most] / actual.sum():.4g} here.", *rates.notes]
    if len(present) < K:
        absent = join_names([repr(labels[k]) for k in range(K) if k not in present], 5, ", ")
        notes.append(f"Balanced accuracy is averaged over the labels that occur, without {absent}.")
    sizes = {k: kish_sample_size(float(counts[k].sum()), float(squares[k].sum())) for k in present}
    rare = [labels[k] for k, size in sizes.items() if size < MIN_ROWS_PER_LABEL]
    notes += _limit_notes(rare, "of", n)
    if (
        K == 2
        and 0 < kish_sample_size(*(float(_margins(part)[1][0]) for part in (counts, squares))) < MIN_ROWS_PER_LABEL
    ):
        few = f"Fewer than {MIN_ROWS_PER_LABEL} rows are predicted {labels[0]!r}"
        notes.append(
            f"{few}, so the interval of precision contains the truth in more than {100 * level:g}% of samples."
        )
    calibration = None
    if probable:
        rates_of_labels = actual[actual > 0] / actual.sum()
        base = float(-(rates_of_labels * np.log(rates_of_labels)).sum()) + 0.0
        notes.append(f"Predicting the shares of the labels for every row has log loss {base:.4g} here.")
        metrics |= _losses(tally, level, "Rows whose label has predicted probability 0", notes)
    areas: list[Interval] = []
    if rows is not None:
        truth = rows.actual[:, None] == np.arange(1 if K == 2 else K)
        areas, ranked = _rank_metrics(truth, rows.score, rows.weight, level, alone=K == 2)
        metrics |= ranked
        if np.isnan(metrics["roc_auc" if K == 2 else "macro_roc_auc"].value):
            notes.append("All rows have the same label, so areas under curves are undefined.")
    if rows is not None and probable:
        sure = rows.score[:, 0] if K == 2 else rows.score[np.arange(tally.n), rows.predicted]
        right = rows.actual == (0 if K == 2 else rows.predicted)
        calibration, metrics["calibration_error"], chance = _calibration(sure, right, rows.weight, level)
        notes.append(f"With perfect calibration, the expected calibration error is about {chance:.2g}.")
    if not probable:
        notes.append("The model has no probabilities, so log loss, Brier score and calibration are not computed.")
    weighted = bool(np.any(squares != counts))
    table: dict[str, Any] = {"actual": [str(label) for label in labels]}
    matrix = counts if weighted else np.rint(counts).astype(int)
    table |= {f"predicted {label}": matrix[:, k] for k, label in enumerate(labels)}
    confusion = Table(table, title="Confusion matrix: rows actual, columns predicted" + ", weighted" * weighted)
    per_class = _per_class(labels, counts.sum(axis=1), rates, areas if K > 2 else [], weighted)
    return MetricTables(_metric_table(metrics.items()), confusion, per_class, calibration, notes)


def multilabel_metrics(
    tally: MultilabelCounts, rows: RowScores | None, labels: list[Any], level: float, *, probable: bool
) -> MetricTables:
    """Return the metrics of any subset of labels per row: of each label, averaged, and of all together."""
    L, n = len(labels), kish_sample_size(tally.weight, tally.squares)
    sums, squares = tally.sums, tally.sums2.reshape(3, L)
    rates = Rates.of(sums, squares, labels, level)
    wrong = np.repeat([-2.0, 1.0, 1.0], L) / L  # a row's share of wrong labels as a combination of v
    wrong1, wrong2, wrong11 = (
        float(part) for part in (wrong @ sums.ravel(), wrong @ tally.sums2, wrong @ tally.moments @ wrong)
    )
    rate = wrong1 / tally.weight
    spread = max(wrong11 - 2 * rate * wrong2 + rate**2 * tally.squares, 0.0)
    hamming = row_mean(rate, tally.weight, n, spread, 0.0, 0.0)
    hits, predicted, actual = (float(part) for part in sums.sum(axis=1))
    identity = np.eye(L)

    def influence(value: Array, of: Array, parts: tuple[float, float, float]) -> Array:
        """Return how a row influences hits·parts[0] / (parts[1]·predicted + parts[2]·actual), as coefficients of v."""
        per = np.where(of > 0, 1 / np.where(of > 0, of, 1.0), 0.0)
        a, b, c = parts
        return np.hstack([a * identity, -b * value[:, None] * identity, -c * value[:, None] * identity]) * per[:, None]

    def covariance(which: list[Interval], of: Array, parts: tuple[float, float, float]) -> Array:
        A = influence(np.array([part.value for part in which]), of, parts)
        return np.asarray(A @ tally.moments @ A.T)

    def pooled(of: float, parts: tuple[float, float, float]) -> Interval:
        value = share(parts[0] * hits, of)
        a = influence(np.full(L, value), np.full(L, of), parts).sum(axis=0)
        return matched_wilson(value, float(a @ tally.moments @ a), n, level)

    precise, complete, both = (1.0, 1.0, 0.0), (1.0, 0.0, 1.0), (2.0, 1.0, 1.0)
    metrics = {
        "subset_accuracy": wilson(tally.all_right / tally.weight, n, level),
        "hamming_loss": matched_wilson(hamming.value, hamming.error**2, n, level),
        "micro_precision": pooled(predicted, precise),
        "micro_recall": pooled(actual, complete),
        "micro_f1": pooled(predicted + actual, both),
    }
    metrics |= _macro(
        rates,
        covariance(rates.f1, sums[1] + sums[2], both),
        covariance(rates.precision, sums[1], precise),
        covariance(rates.recall, sums[2], complete),
    )
    with_label, without = (
        [kish_sample_size(float(w), float(w2)) for w, w2 in zip(*pair, strict=True)]
        for pair in ((sums[2], squares[2]), (tally.weight - sums[2], tally.squares - squares[2]))
    )
    rare = [label for label, a, b in zip(labels, with_label, without, strict=True) if min(a, b) < MIN_ROWS_PER_LABEL]
    notes = [*rates.notes, *_limit_notes(rare, "with or without", n)]
    if probable:
        metrics |= _losses(tally, level, "Labels with predicted probability 0", notes)
    areas: list[Interval] = []
    if rows is not None:
        areas, ranked = _rank_metrics(rows.actual == 1, rows.score, rows.weight, level, alone=False)
        metrics |= ranked
    weighted = bool(np.any(sums.ravel() != tally.sums2))
    cells = {"true_positive": sums[0], "false_negative": sums[2] - sums[0], "false_positive": sums[1] - sums[0]}
    cells["true_negative"] = tally.weight - sums[1] - sums[2] + sums[0]
    table: dict[str, Any] = {"label": [str(label) for label in labels]}
    table |= {name: cell if weighted else np.rint(cell).astype(int) for name, cell in cells.items()}
    confusion = Table(table, title="Confusion counts per label" + ", weighted" * weighted)
    per_class = _per_class(labels, sums[2], rates, areas, weighted)
    return MetricTables(_metric_table(metrics.items()), confusion, per_class, None, notes)


def regression_metrics(unit: Array, targets: list[str], tally: RegressionSums, level: float) -> MetricTables:
    """Return RMSE, MAE and R² of each target; `unit` is the unit of the sums."""
    names, found = ["rmse", "mae", "r_squared"], []
    for t, (absolute, squared) in enumerate(zip(tally.absolute_errors(), tally.squared_errors(), strict=True)):
        u = float(unit[t])
        mse, mae = squared.interval(level), absolute.interval(level)
        root, low, high = (float(np.sqrt(part)) * u for part in (mse.value, mse.low, mse.high))
        found += [
            Interval(root, low, high, mse.method),
            Interval(mae.value * u, mae.low * u, mae.high * u, mae.method),
            r_squared(tally.moments[t], level),
        ]
    k = len(unit)
    notes = [] if all(part.value == part.value for part in found) else ["y does not vary, so R² is undefined."]
    if tally.n < MIN_ROWS:
        notes.append(
            f"With only {tally.n} rows, {100 * level:g}% intervals of errors are too short if the errors are skewed."
        )
    columns: dict[str, Any] = {"target": np.repeat(targets, 3)} if k > 1 else {}
    return MetricTables(_metric_table(zip(names * k, found, strict=True), columns), None, None, None, notes)


# --- parts ----------------------------------------------------------------------------------------


def _limit_notes(rare: list[Any], of: str, n: float) -> list[str]:
    """Return the limit of the intervals, if a label or all rows are too few for the coverage that they state."""
    if rare:
        few = join_names(list(map(repr, rare)), 5, ", ")
        return [f"Fewer than {MIN_ROWS_PER_LABEL} rows {of} {few}, so intervals are approximate."]
    return [f"Fewer than {MIN_ROWS} rows, so intervals are approximate."] if n < MIN_ROWS else []


def _margins(counts: Array) -> Array:
    return np.stack([np.diagonal(counts), counts.sum(axis=0), counts.sum(axis=1)])


def _f1_covariance(counts: Array, squares: Array) -> Array:
    """Return the covariance of the F1 of the classes: a wrong row lowers those of two."""
    hits, predicted, actual = _margins(counts)
    size = predicted + actual
    per = np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 0.0)
    f = 2 * hits * per
    covariance = (squares + squares.T) * np.outer(f * per, f * per)
    wrong = squares.sum(axis=0) + squares.sum(axis=1) - 2 * np.diagonal(squares)
    np.fill_diagonal(covariance, (np.diagonal(squares) * (2 - 2 * f) ** 2 + wrong * f**2) * per**2)
    return np.asarray(covariance)


def _macro(rates: Rates, f1: Array, precision: Array | None = None, recall: Array | None = None) -> dict[str, Interval]:
    parts = (("precision", rates.precision, precision), ("recall", rates.recall, recall), ("f1", rates.f1, f1))
    return {
        f"macro_{name}": average(found, None if covariance is None else correlation(covariance), "Wilson, averaged")
        for name, found, covariance in parts
    }


def _losses(
    tally: ClassCounts | MultilabelCounts, level: float, impossible: str, notes: list[str]
) -> dict[str, Interval]:
    if tally.impossible:
        notes.append(f"{impossible}: {tally.impossible}. Log loss uses 2e-16 for each.")
    log_loss, brier = (RowMean.of(part).interval(level) for part in tally.losses)
    return {"log_loss": log_loss, "brier_score": brier}


def _rank_metrics(
    truth: NDArray[np.bool_], score: Array, weight: Array, level: float, *, alone: bool
) -> tuple[list[Interval], dict[str, Interval]]:
    """Return areas under the ROC curve of each label against the rest, and the metrics that follow from the ranks."""
    areas = [Area.of(score[:, k], truth[:, k], weight) for k in range(truth.shape[1])]
    defined = [k for k, area in enumerate(areas) if area.value == area.value]
    intervals = [area.interval(level) for area in areas]
    curves = [precision_area(score[:, k], truth[:, k], weight) for k in defined]
    precisions = [precision_interval(curve, level) for curve in curves]
    if alone:
        return intervals, {"roc_auc": intervals[0], "average_precision": precisions[0] if precisions else UNDEFINED}
    of_areas = _correlation_of([areas[k] for k in defined])
    return intervals, {
        "macro_roc_auc": average([intervals[k] for k in defined], of_areas, "DeLong, averaged"),
        "macro_average_precision": average(precisions, _correlation_of(curves), "t, logit, averaged"),
    }


def _correlation_of(parts: list[Area]) -> Array | None:
    """Return the correlation matrix of areas from the influences of the rows; None if there are none."""
    influence = np.array([part.influence for part in parts])
    return correlation(influence @ influence.T) if parts else None


def _calibration(p: Array, right: NDArray[np.bool_], weight: Array, level: float) -> tuple[Table, Interval, float]:
    """Return predicted and observed frequency in bins, the expected calibration error, and what chance alone gives.

    Differences of either sign add up, so even a perfect model's error is above 0. The interval starts at 0 unless the
    error is larger than chance explains.
    """
    bin_of = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    squares = weight**2
    w, w2, wp, hits, noise = (
        np.bincount(bin_of, part, N_BINS)
        for part in (weight, squares, weight * p, weight * right, squares * p * (1 - p))
    )
    used = np.flatnonzero(w > 0)
    observed = [wilson(float(hits[b] / w[b]), kish_sample_size(float(w[b]), float(w2[b])), level) for b in used]
    D, total = np.abs(hits - wp)[used] / w.sum(), float(w.sum())
    null = np.sqrt(noise[used]) / total  # standard errors of the differences if the model is calibrated
    expected, spread = folded_normal(np.zeros(len(used)), null)
    value, chance = float(D.sum()), float(expected.sum())
    # About the true frequency, which is taken as that of the bin and one row as predicted.
    rows = w[used] ** 2 / w2[used]
    frequency = (rows * hits[used] + wp[used]) / w[used] / (rows + 1)
    error = np.sqrt(frequency * (1 - frequency) * w2[used]) / total
    too_large = float((folded_normal(D, error)[0] - D).sum())
    z = t_quantile(level)
    half = z * float(np.sqrt(error @ error))
    miscalibrated = value - chance > z * np.sqrt(spread.sum())
    table = Table(
        {
            "bin": [f"{b / N_BINS:.1f} to {(b + 1) / N_BINS:.1f}" for b in used],
            "n": np.bincount(bin_of, minlength=N_BINS)[used],
            "predicted": wp[used] / w[used],
            **_interval_columns(observed, "observed", "conf_low", "conf_high"),
        },
        title="Calibration: predicted probability and observed frequency",
    )
    # Differences are too large by chance, so the bias computed from them is too small. The lower end takes it twice.
    low = max(value - 2 * too_large - half, 0.0) if miscalibrated else 0.0
    high = min(max(value - too_large + half, value), 1.0)
    return table, Interval(value, low, high, "folded normal"), chance


def _interval_columns(intervals: Sequence[Interval], *names: str) -> dict[str, Any]:
    """Return value, low, high and method of intervals as columns, as many as there are names."""
    return dict(zip(names, zip(*intervals, strict=True), strict=False))


def _metric_table(metrics: Iterable[tuple[str, Interval]], first: dict[str, Any] | None = None) -> Table:
    names, intervals = zip(*metrics, strict=True)
    columns = _interval_columns(intervals, "value", "conf_low", "conf_high", "method")
    return Table((first or {}) | {"metric": names} | columns)


def _per_class(labels: list[Any], actual: Array, rates: Rates, areas: list[Interval], weighted: bool) -> Table:
    columns: dict[str, Any] = {"label": [str(label) for label in labels]}
    columns["weight" if weighted else "n"] = actual if weighted else np.rint(actual).astype(int)
    parts = {"precision": rates.precision, "recall": rates.recall, "f1": rates.f1, "roc_auc": areas}
    for name, intervals in parts.items():
        columns |= _interval_columns(intervals, name, f"{name}_low", f"{name}_high")
    return Table(columns, title="Each label against the rest")
