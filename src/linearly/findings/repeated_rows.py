"""Find rows that repeat another row exactly, target included: copies count as evidence only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.row_hash import hash_rows
from linearly.findings.row_sample import Sample
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense_keeping_low_part

MAX_COMPARED = 2000  # rows among which repeated rows are looked for
MIN_REPEATED_SHARE = 0.02  # from which on repeated rows are reported
MIN_VALUES = 10  # with fewer values of a numeric target, or fewer different rows, equal rows occur by chance
MIN_DISAGREEMENTS = 5.0  # of labels in rows of equal features, to be expected if they were no copies
MAX_DISAGREEING = 0.01  # share of rows of equal features whose labels may differ among copies


def sample_compared(block: Block, X: Any, codes: Callable[[NDArray[np.intp]], Any]) -> Sample:
    """Return hashes of the features of rows of a block, rows of equal features together, and their targets.

    Parameters
    ----------
    block : Block
        The rows.
    X : ndarray of shape (n, p)
        Their features.
    codes : callable
        Returns the targets of chosen rows, as numbers.
    """
    hashes = hash_rows(X).astype(np.float64) * 2.0**-64
    present = np.ones(len(block), dtype=bool) if block.weight is None else block.weight > 0
    keys = np.where(present, hashes, np.inf)
    return Sample.of(MAX_COMPARED, keys, block, lambda i: np.column_stack([hashes[i], codes(i)]))


def share_repeated(compared: Sample) -> float:
    """Return the share of rows that equal another row in all features and a numeric target.

    It is 0 if equal rows can occur by chance: if the target has few values, or if rows of equal features mostly have
    different targets.
    """
    values = compared.values
    n, n_targets = len(values), len(np.unique(values[:, 1]))
    repeated, repeated_features = _count_repeated(compared)
    are_copies = n_targets > MIN_VALUES and repeated > 0.5 * repeated_features
    return repeated / n if are_copies else 0.0


def share_repeated_labels(rows: Rows, classes: NDArray[Any]) -> float:
    """Return the share of rows that equal another row in all features and the label.

    It is 0 if equal rows can occur by chance: if few rows differ in their features, if nearly all rows have one label,
    or if the labels of rows of equal features differ in more than `MAX_DISAGREEING` of them.
    """
    index = {label: k for k, label in enumerate(classes.tolist())}
    known = rows.classes  # what goes to the blocks of a cluster must not hold the rows

    def sample(block: Block) -> Sample:
        y = np.asarray(block.y).ravel()
        X = to_float64(dense_keeping_low_part(block.X))
        return sample_compared(
            block, X, lambda i: [index[label] for label in (y[i] if known is None else known[y[i]]).tolist()]
        )

    compared = rows.reduce(sample)
    n = len(compared.keys)
    repeated, repeated_features = _count_repeated(compared)
    shares = np.unique(compared.values[:, 1], return_counts=True)[1] / max(n, 1)
    are_copies = (
        n - repeated_features > MIN_VALUES
        and repeated_features * (1 - float(shares @ shares)) >= MIN_DISAGREEMENTS
        and repeated >= (1 - MAX_DISAGREEING) * repeated_features
    )
    return repeated / n if are_copies else 0.0


def _count_repeated(compared: Sample) -> tuple[int, int]:
    """Return how many rows repeat another one, and how many repeat the features of another one."""
    values = compared.values
    n = len(values)
    return n - len(np.unique(values, axis=0)), n - len(np.unique(values[:, 0]))
