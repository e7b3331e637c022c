"""The base of the online perceptrons, which differ in what they keep of one training."""

from __future__ import annotations

from copy import copy, deepcopy
from numbers import Integral
from typing import Any, ClassVar, Self

from linearly.algorithm.perceptron.error_counts import pass_error
from linearly.algorithm.perceptron.mistake_log import MAX_LOG_BYTES, MistakeLog
from linearly.algorithm.perceptron.training import Training
from linearly.dataset.rows.block import Rows
from linearly.dataset.rows.safe_scaling import exponent, fits_scale, max_abs, scaled_rows, with_safe_scaling
from linearly.kernels.double_double import Array
from linearly.models.base import restore_on_error, transactional_fit
from linearly.models.label_encoding import labelled_rows, named_classes
from linearly.models.parameter_checks import check_bool, check_integer, check_seed
from linearly.models.perceptron_base import PerceptronBase
from linearly.models.uncentered_columns import warn_uncentered_columns


class OnlinePerceptron(PerceptronBase):
    """The training of the online perceptrons: passes over the rows until one makes few enough mistakes."""

    _private_state: ClassVar[tuple[str, ...]] = ("_column_labels", "_log")
    coef_: Array
    intercept_: Array
    init: str = "zeros"
    averaged: ClassVar[bool] = False  # whether the training sums up the weights after each row
    max_log_bytes: ClassVar[float] = MAX_LOG_BYTES  # bytes of mistaken rows to keep
    is_its_log: ClassVar[bool] = False  # whether predictions need the mistakes

    def __init__(
        self,
        max_passes: int = 10,
        *,
        tolerance: int = 0,
        fit_intercept: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.max_passes = max_passes
        self.tolerance = tolerance
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state

    @transactional_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features. `Rows` contain their labels.
        y : array-like of shape (n_rows,), default=None
            Labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.check_parameters()
        self.classes_, rows = labelled_rows(self, X, y)
        self.training_, _ = with_safe_scaling(rows, self._train)
        self.set_fitted_attributes()
        self.training_error_ = self._error(rows)
        self.stop_reason_ = self._stop_reason()
        if self.training_error_ > 0:
            warn_uncentered_columns(self, rows)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from more rows, each used once.

        Memory does not grow with the stream, except that of `VotedPerceptron`, which consists of its mistakes. So
        afterwards there is neither a ``mistake_log_`` nor, without the earlier rows, a ``training_error_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,), default=None
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; required in the first call unless its rows have all of them.

        Returns
        -------
        self
            The estimator.
        """
        self.check_parameters()
        first = "training_" not in self.__dict__
        known = named_classes(classes, None if first else self.classes_)
        self.classes_, rows = labelled_rows(self, X, y, classes=known, reset=first)
        if first:
            self.training_, _ = with_safe_scaling(rows, self._train_once)
        else:
            self._train_more(rows)
        self.set_fitted_attributes()
        self.__dict__.pop("training_error_", None)
        self.stop_reason_ = "partial_fit makes one pass over each row"
        return self

    @property
    def mistake_log_(self) -> MistakeLog:
        """Mistakes of the training in order, with the mistaken rows as far as they are kept."""
        if "training_" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has made no mistake yet. Fit it first.")
        return self.training_.log()

    def check_parameters(self) -> None:
        check_integer("max_passes", self.max_passes, 1)
        check_integer("tolerance", self.tolerance, 0)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("shuffle", self.shuffle)
        check_seed("random_state", self.random_state)

    def _start(self, exponent: int) -> Training:
        k, p = self._n_vectors, self.n_features_in_
        random = check_seed("random_state", self.random_state)
        start = None
        if self.init != "zeros":
            start = random.random_sample((k, p)), random.random_sample(k) * self.fit_intercept
        return Training(
            k,
            p,
            intercept=self.fit_intercept,
            averaged=self.averaged,
            start=start,
            shuffle=random if self.shuffle else None,
            room=self.max_log_bytes,
            exponent=exponent,
            mixes=not self.is_its_log,
        )

    def _train(self, rows: Rows, exponent: int) -> Training:
        training = self._start(exponent)
        for _ in range(self.max_passes):
            if training.one_pass(rows) <= self.tolerance:
                break
        return training

    def _train_once(self, rows: Rows, exponent: int) -> Training:
        training = self._start(exponent)
        if not self.is_its_log:
            training.drop_record("after partial_fit")
        training.one_pass(rows)
        return training

    def _train_more(self, rows: Rows) -> None:
        # On a copy: an error, a Ctrl-C and other models that share this training leave it unchanged. A seed belongs to
        # this model; a generator advances wherever it is used.
        training = self.training_.copy()
        if isinstance(self.random_state, Integral):
            training.shuffle = deepcopy(training.shuffle)
        size = max_abs(rows)
        if training.weights.largest == 0:  # rows of zeros alone leave the unit open
            training.exponent = exponent(size)
        if not fits_scale(size, training.exponent):
            raise ValueError(
                "These rows are too large to combine with earlier ones. Divide the features by a constant in all calls."
            )
        if not self.is_its_log:
            training.drop_record("after partial_fit")
        training.new_rows()
        training.one_pass(scaled_rows(rows, training.exponent))
        self.training_ = training

    def set_fitted_attributes(self) -> None:
        """Set the fitted attributes from ``training_``."""
        self.mistakes_per_pass_ = self.training_.mistakes
        self.n_passes_, self.n_updates_ = len(self.mistakes_per_pass_), self.training_.updates

    def _settled(self) -> bool:
        return self.mistakes_per_pass_[-1] <= self.tolerance

    def _stop_reason(self) -> str:
        made = self.mistakes_per_pass_[-1]
        last = f"pass {self.n_passes_} made {made or 'no'} mistake{'s' * (made != 1)}"
        if self._settled():
            return last + (f", at most tolerance={self.tolerance}" if self.tolerance else "")
        proof = "" if self.training_.record is None else self.mistake_log_.find_contradiction()
        why = f"max_passes={self.max_passes} reached, {last}"
        return why + (f"; no hyperplane separates these rows: {proof}" if proof else "")

    def _drop_log(self, state: dict[str, Any]) -> None:
        if "training_" in state and not self.is_its_log:
            state["training_"] = training = copy(state["training_"])
            training.drop_record("after loading or unpickling a model")

    def novikoff_bound_applies(self) -> bool:
        return self.init == "zeros"

    def _error(self, rows: Rows) -> float:
        """Return the share of rows that the fitted model gets wrong."""
        return pass_error(rows, self.coef_, self.intercept_)
