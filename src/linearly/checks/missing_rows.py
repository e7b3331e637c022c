"""Test whether the target differs between complete rows and rows with missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc

from linearly.algorithm.least_squares.gram import Gram
from linearly.checks.fit_options import make
from linearly.dataset.design.design import Design
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.level_spelling import text_of
from linearly.dataset.rows.tables import Chunk, Tables
from linearly.findings import Finding
from linearly.formatting import format_number, shown
from linearly.kernels.double_double import to_float64

LEVEL = 0.05
MIN_ROWS = 10  # of complete and of incomplete rows, below which nothing is claimed


def compare_incomplete_rows(tables: Tables, design: Design) -> Iterator[Finding]:
    """Yield whether the target of rows with missing features differs from that of complete rows.

    Leaving rows out biases a fit if the target decides which of them have missing values. The tests are about that
    independence: the t-test with one variance for numbers, and Pearson's χ² with n − 1 for labels (Campbell 2007).
    """
    assert design.target is not None
    target = design.target.factor.required_columns[0]
    features = replace(design, target=None, weight=None)
    tables = tables.select(list(dict.fromkeys([*features.required_columns, target])))
    given = _compare_labels(tables, features, target) if design.target.labels else _compare_means(tables, design)
    if given is not None:
        name = "missing_by_target" if given["p_value"] <= LEVEL else "missing_not_by_target"
        yield make(name, target=target, **given)


def _is_incomplete(features: Design, chunk: Chunk) -> Any:
    complete = features.complete(chunk)
    return np.zeros(len(chunk), dtype=bool) if complete is None else ~complete


def _compare_means(tables: Tables, design: Design) -> dict[str, Any] | None:
    assert design.target is not None
    target = design.target
    features, alone = replace(design, target=None, weight=None), replace(design, terms=(), weight=None)

    def add_up(chunk: Chunk) -> Gram:
        known = alone.complete(chunk)
        chunk = chunk if known is None else chunk.rows(known)
        return Gram.of(Block(_is_incomplete(features, chunk)[:, None].astype(float), target.values(chunk)))

    gram = tables.reduce(add_up)
    solution = gram.select(None, True).solve()
    n, share = gram.n, float(np.ravel(to_float64(gram.mean))[0] * gram.scaling.scale[0] + gram.scaling.shift[0])
    if not MIN_ROWS <= n * share <= n - MIN_ROWS or not solution.rss[0] > 0:
        return None
    statistic = float((solution.tss[0] - solution.rss[0]) / solution.rss[0] * solution.dof)
    change, mean = float(solution.coef[0, 0]), float(solution.prediction_at_mean[0])
    complete = mean - share * change
    return {
        "measure": f"the mean of {target.factor.label}",
        "incomplete": format_number(complete + change, 3),
        "complete": format_number(complete, 3),
        "statistic": statistic,
        "p_value": float(fdtrc(1, solution.dof, statistic)),
    }


def _compare_labels(tables: Tables, features: Design, target: str) -> dict[str, Any] | None:
    def add_up(chunk: Chunk) -> Counter[tuple[Any, bool]]:
        labels = text_of(chunk.frame[target]).to_list()
        pairs = zip(labels, _is_incomplete(features, chunk).tolist(), strict=True)
        return Counter((label, out) for label, out in pairs if label is not None and label == label)

    found = tables.reduce(add_up)
    labels = sorted({label for label, _ in found}, key=str)
    counts = np.array([[found[label, out] for out in (False, True)] for label in labels], dtype=float)
    sums = counts.sum(axis=0)
    if len(labels) < 2 or sums.min() < MIN_ROWS:
        return None
    expected = np.outer(counts.sum(axis=1), sums) / sums.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum() * (1 - 1 / sums.sum()))
    shares = counts / sums
    k = int(np.argmax(np.abs(shares[:, 1] - shares[:, 0])))
    return {
        "measure": f"the share of {shown(labels[k])}",
        "incomplete": f"{100 * shares[k, 1]:.3g}%",
        "complete": f"{100 * shares[k, 0]:.3g}%",
        "statistic": statistic,
        "p_value": float(chdtrc(len(labels) - 1, statistic)),
    }
