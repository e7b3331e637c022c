"""The base of classifiers that are solved from one Gram per class: fit, partial_fit, and merging."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.rounding_bounds import MIN_DIGITS
from linearly.algorithm.least_squares.solver import MAX_EXTENDED_COLUMNS
from linearly.dataset.rows.block import Block
from linearly.exceptions import PrecisionWarning, warn_at_caller
from linearly.models.base import MergeableMixin, restore_on_error, transactional_fit
from linearly.models.label_encoding import Labelled, encode_rows, labelled_rows, named_classes, rows_with_labels
from linearly.models.score_classifier import ScoreClassifier


class ClassGramClassifier(MergeableMixin, ScoreClassifier):
    """A classifier whose summary is a `ClassGrams`; subclasses solve it in `set_from_summary`."""

    summary_: ClassGrams
    n_passes_: int

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their labels and weights.
        y : array-like of shape (n_rows,), default=None
            Labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Counts of the rows: a row with weight 2 counts twice, one with weight 0 is absent.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.check_parameters()
        classes, rows = rows_with_labels(self, X, y, sample_weight)
        if classes is None:
            grams = rows.reduce(_grams_by_label)
            classes = grams.classes(lambda gram: gram.n > 0)
            rows = encode_rows(rows, classes)
            self.summary_ = ClassGrams(tuple(grams.parts[label] for label in classes.tolist()))
        else:
            self.summary_ = rows.reduce(lambda block: ClassGrams.of(block, len(classes)))
        self.classes_, self.n_passes_ = classes, 1
        digits = self.correct_digits()
        if digits < MIN_DIGITS and len(rows.names) > MAX_EXTENDED_COLUMNS:
            warn_at_caller(
                f"Only about {min(digits, 9):.0f} digits are correct, because some columns are nearly linear "
                f"combinations of others. A second pass is limited to {MAX_EXTENDED_COLUMNS:,} columns. Drop or "
                "combine columns.",
                PrecisionWarning,
            )
        elif digits < MIN_DIGITS:
            self.summary_ = rows.reduce(lambda block: ClassGrams.of(block, len(classes), extended=True))
            self.n_passes_ = 2
        self.set_from_summary()
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model. The result is the same as one fit to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,), default=None
            Labels. Rows may come class by class: the model is fitted as soon as it has enough rows.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; required in the first call.
        sample_weight : array-like of shape (n_rows,), default=None
            Counts as in `fit`. After the first call, rows that all have weight 0 change nothing.

        Returns
        -------
        self
            The estimator.
        """
        self.check_parameters()
        first = not hasattr(self, "summary_")
        if first and classes is None:
            raise ValueError("The first call of partial_fit requires the labels of all calls. Pass classes=.")
        known = named_classes(classes, None if first else self.classes_)
        self.classes_, rows = labelled_rows(self, X, y, sample_weight, classes=known, reset=first)
        K = len(self.classes_)
        more = rows.reduce(lambda block: ClassGrams.of(block, K))
        self.summary_ = more if first else self.summary_ + more
        self.n_passes_ = 1 if first else self.n_passes_ + 1
        if self._enough_rows():
            self.set_from_summary()
            self._warn_few_digits()
        return self

    def has_digits(self) -> bool:
        """Return whether the summary determines the rank, and at least ten digits of the model."""
        return self.correct_digits() >= MIN_DIGITS

    def correct_digits(self) -> float:
        """Return how many digits are correct; 0 if float64 cannot tell dependent from nearly dependent columns."""
        raise NotImplementedError

    def set_from_summary(self) -> None:
        """Set the fitted attributes from ``classes_`` and ``summary_``."""
        raise NotImplementedError

    def _enough_rows(self) -> bool:
        """Return whether the model can be solved from the rows so far."""
        return True

    def _subtract(self, summary: ClassGrams, part: ClassGrams) -> ClassGrams:
        emptied = (summary.counts == part.counts) & (part.counts > 0)
        if emptied.any() and (summary.counts > part.counts).any():
            k = int(np.argmax(emptied))
            raise ValueError(
                f"Every row of class {self.classes_.tolist()[k]!r} would be removed, but a model needs "
                "rows from all its classes. Fit the remaining rows again, without that class."
            )
        return summary - part

    def _set_from_two(self, a: Self, b: Self, combine: Any) -> None:
        if not np.array_equal(a.classes_, b.classes_):
            raise ValueError(
                f"The classes differ: {a.classes_.tolist()} and {b.classes_.tolist()}. Fit both "
                "models to rows with the same classes."
            )
        self.classes_, self.n_passes_ = a.classes_, max(a.n_passes_, b.n_passes_)
        self.summary_ = combine(a.summary_, b.summary_)
        self.set_from_summary()
        self._warn_few_digits()

    def _warn_few_digits(self) -> None:
        """Warn of lost digits if the rows cannot be read again."""
        digits = self.correct_digits()
        if digits < MIN_DIGITS:
            warn_at_caller(
                f"Only about {min(digits, 9):.0f} digits are correct. Some columns are nearly linear combinations of "
                "others, or larger rows were removed, and partial_fit sums in float64. Call fit() on all rows: it "
                "makes a second pass if needed.",
                PrecisionWarning,
            )


def _grams_by_label(block: Block) -> Labelled:
    return Labelled.of(block, lambda block, K: ClassGrams.of(block, K).parts)
