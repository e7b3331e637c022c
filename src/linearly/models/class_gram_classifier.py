"""Classifiers that are read off one Gram a class: how they learn, learn more, learn together and forget."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linearly.algorithm.least_squares.class_grams import ClassGrams
from linearly.algorithm.least_squares.solver import MIN_DIGITS
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.exceptions import PrecisionWarning, warn_at_caller
from linearly.models.base import (
    check_same_settings,
    merge_feature_names,
    restore_on_error,
    settings_of,
    transactional_fit,
)
from linearly.models.label_encoding import Labelled, encode_rows, labelled_rows, named_classes, rows_with_labels
from linearly.models.score_classifier import ScoreClassifier


class ClassGramClassifier(ScoreClassifier):
    """A classifier whose summary is a `ByClass`; subclasses say how to read the model off it (`_read`)."""

    summary_: ClassGrams
    n_passes_: int

    @transactional_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows and their labels. ``sample_weight`` counts rows: weight 2 is the row twice, 0 is absent."""
        self._check_parameters()
        classes, rows = rows_with_labels(self, X, y, sample_weight)
        if classes is None:
            found = rows.reduce(_by_label)
            classes = found.classes(lambda part: part.n > 0)
            rows = encode_rows(rows, classes)
            self.summary_ = ClassGrams(tuple(found.parts[label] for label in classes.tolist()))
        else:
            self.summary_ = rows.reduce(lambda block: ClassGrams.of(block, len(classes)))
        self.classes_, self.n_passes_ = classes, 1
        if not self.has_digits():
            self.summary_ = rows.reduce(lambda block: ClassGrams.of(block, len(classes), extended=True))
            self.n_passes_ = 2
        self._set_from_summary()
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. The first call needs ``classes``, all labels that will ever come.

        Rows may come class by class: the model is fitted once they are enough to read it off. After the first call,
        rows that all have weight 0 are absent, and change nothing.
        """
        self._check_parameters()
        first = not hasattr(self, "summary_")
        if first and classes is None:
            raise ValueError("The first call of partial_fit needs classes=: all labels that will ever come.")
        known = named_classes(classes, None if first else self.classes_)
        self.classes_, rows = labelled_rows(self, X, y, sample_weight, classes=known, reset=first)
        K = len(self.classes_)
        more = rows.reduce(lambda block: ClassGrams.of(block, K))
        self.summary_ = more if first else self.summary_ + more
        self.n_passes_ = 1 if first else self.n_passes_ + 1
        if self._enough_rows():
            self._set_from_summary()
            self._warn_of_digits()
        return self

    def __add__(self, other: Any) -> Self:
        """The model of both sets of rows, without either."""
        return self._combined(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Self:
        """The model without the other's rows: refused where they were never part of it, or all of a class."""
        return self._combined(other, self._without)

    def _without(self, whole: ClassGrams, part: ClassGrams) -> ClassGrams:
        emptied = (whole.counts == part.counts) & (part.counts > 0)
        if emptied.any() and (whole.counts > part.counts).any():
            k = int(np.argmax(emptied))
            raise ValueError(
                f"Every row of the class {self.classes_.tolist()[k]!r} would be removed, and a model needs rows of all "
                "its classes. Fit the remaining rows anew, without that class."
            )
        return whole - part

    @single_threaded_blas()
    def _combined(self, other: Any, combine: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented  # type: ignore[no-any-return]
        check_is_fitted(self)
        check_is_fitted(other)
        check_same_settings(settings_of(self), settings_of(other))
        result: Self = clone(self)
        merge_feature_names(result, self, other)
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(f"The classes differ: {self.classes_.tolist()} and {other.classes_.tolist()}.")
        result.classes_ = self.classes_
        result.summary_ = combine(self.summary_, other.summary_)
        result.n_passes_ = max(self.n_passes_, other.n_passes_)
        result._set_from_summary()
        result._warn_of_digits()
        return result

    def _reset(self) -> None:
        """What a fit is known by goes before the next: see `all_or_nothing`."""
        for name in ("summary_", "labels_summary_", "coef_", "covariances_"):
            self.__dict__.pop(name, None)

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _enough_rows(self) -> bool:
        """Whether a model can be read off the rows so far."""
        return True

    def _set_from_summary(self) -> None:
        raise NotImplementedError

    def has_digits(self) -> bool:
        """Whether the summary leaves the model ten digits, and tells combinations of columns from near-combinations."""
        return self._digits() >= MIN_DIGITS

    def _digits(self) -> float:
        """Digits to trust; none where float64 cannot tell a combination of columns from a near-combination."""
        raise NotImplementedError

    def _warn_of_digits(self) -> None:
        """Say that digits were lost where rows cannot be read again."""
        digits = self._digits()
        if digits < MIN_DIGITS:
            warn_at_caller(
                f"Only about {min(digits, 9):.0f} digits can be trusted: some columns are nearly combinations of "
                "others, or larger rows were removed, and the sums of rows that were learnt bit by bit are kept in "
                "float64. fit() of all rows reads them twice where it must, and gives more.",
                PrecisionWarning,
            )


def _by_label(block: Block) -> Labelled:
    return Labelled.of(block, lambda block, K: ClassGrams.of(block, K).parts)
