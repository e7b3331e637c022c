"""The online perceptrons: `Perceptron`, `AveragedPerceptron` and `VotedPerceptron`, three readings of one scan."""

from __future__ import annotations

import math
from copy import deepcopy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linearly.algorithm.perceptron.error_counts import pass_error, predicted_codes
from linearly.algorithm.perceptron.mistake_log import MAX_LOG_BYTES, MistakeLog
from linearly.algorithm.perceptron.training import Training
from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.dataset.rows.safe_scaling import exponent, fits_scale, max_abs, scaled_rows, with_safe_scaling
from linearly.exceptions import warn_at_caller
from linearly.kernels.matrices import is_sparse
from linearly.models.base import Array, restore_on_error, transactional_fit
from linearly.models.label_encoding import labelled_rows, named_classes
from linearly.models.parameter_checks import check_bool, check_choice, check_integer, generator
from linearly.models.perceptron_base import LinearPerceptron, PerceptronBase
from linearly.models.uncentered_columns import warn_uncentered_columns

INITS = ("zeros", "random")
WEIGHTINGS = ("survival", "uniform")
_MOST_PRODUCTS = 1e11  # a vote over the training rows that takes more is not taken unasked


class OnlinePerceptron(PerceptronBase):
    """The training that the online perceptrons share: passes over the rows until one makes few enough mistakes."""

    max_passes: int
    tolerance: int
    fit_intercept: bool
    shuffle: bool
    random_state: Any
    init: str = "zeros"
    averaged: ClassVar[bool] = False  # whether the scan gathers the average
    room: ClassVar[float] = MAX_LOG_BYTES  # bytes of mistaken rows to keep
    is_its_log: ClassVar[bool] = False  # whether predictions need the mistakes

    @transactional_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows: arrays, sparse matrices, data frames, or anything that is already `Rows`."""
        self._check()
        self.classes_, rows = labelled_rows(self, X, y)
        self._training, _ = with_safe_scaling(rows, self._trained)
        self._set_fitted_attributes()
        self.training_error_ = self._error(rows)
        self.stop_reason_ = self._stop_reason()
        if self.training_error_ > 0:
            warn_uncentered_columns(self, rows)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from more rows, each seen once, as they come (S2's online learning).

        The first call names all ``classes``, unless its own rows have all of them. The memory taken does not grow
        with the stream (except that of `VotedPerceptron`, which is its mistakes), so afterwards there is no
        ``mistake_log_`` and, the rows before being gone, no ``training_error_``.
        """
        self._check()
        first = "_training" not in self.__dict__
        known = named_classes(classes, None if first else self.classes_)
        self.classes_, rows = labelled_rows(self, X, y, classes=known, reset=first)
        if first:
            self._training, _ = with_safe_scaling(rows, self._seen_once)
        else:
            self._learn_more(rows)
        self._set_fitted_attributes()
        self.__dict__.pop("training_error_", None)
        self.stop_reason_ = "partial_fit sees each row once"
        return self

    @property
    def mistake_log_(self) -> MistakeLog:
        """The mistakes of the training in order, with the mistaken rows as far as they are kept."""
        if "_training" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has made no mistakes yet: fit it first.")
        return self._training.log()

    def _check(self) -> None:
        check_integer("max_passes", self.max_passes, 1)
        check_integer("tolerance", self.tolerance, 0)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("shuffle", self.shuffle)
        generator("random_state", self.random_state)

    def _start(self, exponent: int) -> Training:
        k, p = 1 if len(self.classes_) == 2 else len(self.classes_), self.n_features_in_
        random = generator("random_state", self.random_state)
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
            room=self.room,
            exponent=exponent,
            mixes=not self.is_its_log,
        )

    def _trained(self, rows: Rows, exponent: int) -> Training:
        training = self._start(exponent)
        for _ in range(self.max_passes):
            if training.one_pass(rows) <= self.tolerance:
                break
        return training

    def _seen_once(self, rows: Rows, exponent: int) -> Training:
        training = self._start(exponent)
        if not self.is_its_log:
            training.record = None
        training.one_pass(rows)
        return training

    def _learn_more(self, rows: Rows) -> None:
        # On a copy: rows that are refused, a Ctrl-C on the way and other models that share this training leave it as it
        # was. A seed is this model's own; a generator moves on wherever it is used.
        training = self._training.copy()
        if isinstance(self.random_state, Integral):
            training.shuffle = deepcopy(training.shuffle)
        size = max_abs(rows)
        if training.weights.largest == 0:  # of zeros alone nothing was learnt that has a unit
            training.exponent = exponent(size)
        if not fits_scale(size, training.exponent):
            raise ValueError(
                "These rows are too large to be learnt together with those before: divide the features by a "
                "constant in all calls."
            )
        if not self.is_its_log:
            training.record = None
        training.new_rows()
        training.one_pass(scaled_rows(rows, training.exponent))
        self._training = training

    def _set_fitted_attributes(self) -> None:
        self.mistakes_per_pass_ = self._training.mistakes
        self.n_passes_, self.n_updates_ = len(self.mistakes_per_pass_), self._training.updates

    def _settled(self) -> bool:
        return self.mistakes_per_pass_[-1] <= self.tolerance

    def _stop_reason(self) -> str:
        made = self.mistakes_per_pass_[-1]
        last = f"pass {self.n_passes_} made {made or 'no'} mistake{'s' * (made != 1)}"
        if self._settled():
            return last + (f", no more than tolerance={self.tolerance}" if self.tolerance else "")
        proof = "" if self._training.record is None else self.mistake_log_.find_contradiction()
        why = f"max_passes={self.max_passes} reached, {last}"
        return why + (f"; no hyperplane separates these rows: {proof}" if proof else "")

    def _novikoff(self) -> bool:
        return self.init == "zeros"

    def _error(self, rows: Rows) -> float:
        raise NotImplementedError


class Perceptron(OnlinePerceptron, LinearPerceptron):
    """Rosenblatt's perceptron: pass over the rows, correct the weights after every mistake, until a pass makes few.

        Model class   sign(b + x'w), sign(0) = +1      (K classes: the largest of K scores)
        Objective     no y(b + x'w) ≤ 0
        Summary       none: a scan, one row after the other
        Optimizer     w ← w + y x, b ← b + y after a mistake, ties included      (S0, algorithm 1; S2)
        Passes        n_passes_, at most max_passes, and 1 for the training error

    If some hyperplane separates the classes it ends at one, after at most (R/γ)² mistakes; if none does it never
    settles, and `PocketPerceptron` or `AveragedPerceptron` serve better. ``explain(X, y)`` proves which is the case.
    On Dask and Spark each pass scans the partitions apart and averages their weights by mistakes (parameter mixing).
    K classes: a row whose own score is not the only largest adds x to its class and takes it from the best other one.

    Parameters
    ----------
    max_passes : int, default=100
        Passes over the rows, at most.
    tolerance : int, default=0
        Mistakes that a pass may make and still be the last. They are counted while the weights move, so
        ``training_error_`` may differ.
    fit_intercept : bool, default=True
        Whether there is a constant term b; it learns like the weight of a feature that is always 1.
    init : {"zeros", "random"}, default="zeros"
        Weights to start with; ``random`` draws them from [0, 1), as S0 does.
    shuffle : bool, default=False
        Whether each pass takes the rows in a new random order (arrays and sparse matrices); rows sorted by class are
        learnt badly otherwise.
    random_state : int, RandomState or None
        Seed of ``init`` and ``shuffle``.

    Attributes
    ----------
    classes_ : the labels, sorted; of two, the second is y = +1.
    coef_, intercept_ : w and b, one row a class (one row for two classes).
    n_passes_, n_updates_, mistakes_per_pass_ : how the training went.
    training_error_ : share of the rows that the final weights get wrong, S1's E_in.
    stop_reason_ : in words, with the proof if a row contradicts another.
    mistake_log_ : the mistakes in order; started at zero, w = Σ y x over it. Of files, up to two million mistakes.

    Rows are learnt as they are. Only where the largest |x| is beyond 1e±100 are all features measured in one power of
    two.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.Perceptron().fit([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], ["spam", "spam", "ham", "ham"])
    >>> model.coef_, model.intercept_, model.n_updates_
    (array([[2., 1.]]), array([1.]), 1)
    >>> model.predict([[0.0, -1.0]])
    array(['spam'], dtype='<U4')
    """

    def __init__(
        self,
        max_passes: int = 100,
        *,
        tolerance: int = 0,
        fit_intercept: bool = True,
        init: str = "zeros",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.max_passes = max_passes
        self.tolerance = tolerance
        self.fit_intercept = fit_intercept
        self.init = init
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows: arrays, sparse matrices, data frames, or anything that is already `Rows`."""
        super().fit(X, y)
        if not self._settled():
            warn_at_caller(
                f"The perceptron did not settle: {self.stop_reason_}. PocketPerceptron and AveragedPerceptron do "
                "not hang on the last mistake; explain(X, y) says whether any hyperplane separates these rows.",
                ConvergenceWarning,
            )
        return self

    def _check(self) -> None:
        super()._check()
        check_choice("init", self.init, INITS)

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        self.coef_, self.intercept_ = self._training.final_weights()

    def _error(self, rows: Rows) -> float:
        return pass_error(rows, self.coef_, self.intercept_)


class AveragedPerceptron(OnlinePerceptron, LinearPerceptron):
    """The mean of all the weights a perceptron passes through, each counted for the rows it survived.

        Model class   sign(b + x'w), sign(0) = +1      (K classes: the largest of K scores)
        Objective     no y(b + x'w) ≤ 0
        Summary       none: a scan, one row after the other
        Optimizer     `Perceptron`; w = Σ c_k w_k / Σ c_k with c_k the rows that w_k survived      (S2)
        Passes        n_passes_, at most max_passes, and 1 for the training error

    One unlucky last row cannot spoil it, so it is good where classes overlap. The mean is kept in one more vector of
    p numbers. On Dask and Spark each pass scans the partitions apart and averages their weights by mistakes (parameter
    mixing); the mean is over all rows of all partitions.

    Parameters
    ----------
    max_passes : int, default=10
        Passes over the rows, at most; a pass with at most ``tolerance`` mistakes is the last.
    tolerance, fit_intercept, shuffle, random_state : as in `Perceptron`.

    Attributes
    ----------
    classes_, n_passes_, n_updates_, mistakes_per_pass_, training_error_, stop_reason_, mistake_log_ : as in
        `Perceptron`.
    coef_, intercept_ : the mean of w and b after each row seen.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.AveragedPerceptron(max_passes=1).fit([[1.0], [-1.0], [3.0], [-2.0]], [1, 0, 0, 1])
    >>> model.coef_, model.intercept_  # w after each row: 1, 2, -1, -1
    (array([[0.25]]), array([-0.25]))
    """

    averaged = True

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

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        self.coef_, self.intercept_ = self._training.averaged_weights()

    def _error(self, rows: Rows) -> float:
        return pass_error(rows, self.coef_, self.intercept_)


class VotedPerceptron(OnlinePerceptron):
    """All the weights a perceptron passes through vote, each with the number of rows it survived.

        Model class   sign(Σ c_k sign(b_k + x'w_k)), sign(0) = +1      (K classes: the most votes)
        Objective     no y(b + x'w) ≤ 0
        Summary       the mistake log
        Optimizer     `Perceptron`; c_k the rows that w_k survived      (S2, after Freund & Schapire 1999)
        Passes        n_passes_, at most max_passes, and 1 for the training error

    Not a linear classifier: there is no ``coef_``. The weights after each mistake are sums over the mistake log, so
    the log and its rows are kept, not k vectors, and a prediction costs one product with every mistaken row. Rows on
    Dask and Spark come here in order, a partition at a time.

    Parameters
    ----------
    max_passes : int, default=10
        Passes over the rows, at most; a pass with at most ``tolerance`` mistakes is the last.
    weighting : {"survival", "uniform"}, default="survival"
        Votes count the rows their weights survived, or all the same.
    tolerance, fit_intercept, shuffle, random_state : as in `Perceptron`.

    Attributes
    ----------
    classes_, n_passes_, n_updates_, mistakes_per_pass_, stop_reason_ : as in `Perceptron`.
    mistake_log_ : the mistakes in order with the rows they were made on: the model.
    training_error_ : share of the rows that the vote gets wrong, S1's E_in; nan where it would take more than 1e11
        products.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.VotedPerceptron(max_passes=1).fit([[1.0], [-1.0], [3.0], [-2.0]], [1, 0, 0, 1])
    >>> model.decision_function([[2.0]])  # w, b after each row: (1, 1), (2, 0), (-1, -1), (-1, -1)
    array([0.])
    """

    room = math.inf
    is_its_log = True

    def __init__(
        self,
        max_passes: int = 10,
        *,
        tolerance: int = 0,
        fit_intercept: bool = True,
        weighting: str = "survival",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.max_passes = max_passes
        self.tolerance = tolerance
        self.fit_intercept = fit_intercept
        self.weighting = weighting
        self.shuffle = shuffle
        self.random_state = random_state

    @property
    def mistake_log_(self) -> MistakeLog:
        """The mistakes of the training in order, with the mistaken rows: the model."""
        if "_log" not in self.__dict__:
            self._log = super().mistake_log_
        return self._log

    def _check(self) -> None:
        super()._check()
        check_choice("weighting", self.weighting, WEIGHTINGS)

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        self.__dict__.pop("_log", None)

    def _scores_of(self, block: Block) -> Array:
        check_finite(block)
        votes = self.mistake_log_.vote(block.X, self.weighting)
        return votes[:, None] if votes.ndim == 1 else votes

    def _error(self, rows: Rows) -> float:
        log = self.mistake_log_
        entries = log.features.nnz if is_sparse(log.features) else log.features.size
        if log.seen / self.n_passes_ * len(log) * entries / max(log.features.shape[0], 1) > _MOST_PRODUCTS:
            return math.nan
        wrong, total = rows.reduce(lambda block: np.array([np.count_nonzero(self._wrong(block)), len(block)]))
        return float(wrong / total)

    def _wrong(self, block: Block) -> Any:
        votes = self.mistake_log_.vote(block.X, self.weighting)
        return predicted_codes(votes[:, None] if votes.ndim == 1 else votes) != block.y
