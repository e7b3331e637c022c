"""`PocketPerceptron`: the perceptron's walk, with the weights of the fewest errors kept in the pocket."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.perceptron.online_pass import Weights, in_one_array, online_pass
from linearly.algorithm.perceptron.pocket_search import PocketSearch
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.safe_scaling import exponent, max_abs, scaled_rows
from linearly.dataset.rows.views import MappedRows
from linearly.models.base import Array, transactional_fit
from linearly.models.label_encoding import labelled_rows
from linearly.models.parameter_checks import check_bool, check_choice, check_integer, generator
from linearly.models.perceptron_base import LinearPerceptron
from linearly.models.uncentered_columns import warn_uncentered_columns

INITS = ("zeros", "random", "least_squares")
_MOST_COLUMNS = 8192  # for least squares, whose normal matrix then takes 512 MB


class PocketPerceptron(LinearPerceptron):
    """The best weights that a perceptron passes through: fewest errors on all rows, for classes that overlap.

        Model class   sign(b + x'w), sign(0) = +1      (K classes: the largest of K scores)
        Objective     E_in, the share of rows classified wrongly
        Summary       errors of up to 64 candidates at a time
        Optimizer     `Perceptron`, one update at a time; keep the first w with the lowest E_in      (S1)
        Passes        n_passes_ of the walk, 1 for every 64 updates, 2 at the start (3 with init="least_squares")

    Candidates are scored on all rows by products of matrices: 64 at a time for two classes, 256/K for K classes. Rows
    on Dask and Spark are scored there; for the walk they come here in order, a partition at a time.

    Parameters
    ----------
    max_updates : int, default=1000
        Updates, S1's iterations, at most. The walk also ends at weights without errors.
    fit_intercept : bool, default=True
        Whether there is a constant term b; it learns like the weight of a feature that is always 1.
    init : {"zeros", "random", "least_squares"}, default="zeros"
        Weights to start with, the first candidate. ``least_squares`` fits ±1 to the classes and is often far better.
    shuffle : bool, default=False
        Whether each pass takes the rows in a new random order (arrays and sparse matrices); rows sorted by class are
        learnt badly otherwise.
    random_state : int, RandomState or None
        Seed of ``init`` and ``shuffle``.

    Attributes
    ----------
    classes_ : the labels, sorted; of two, the second is y = +1.
    coef_, intercept_ : w and b from the pocket, one row a class (one row for two classes).
    best_update_ : after how many updates they stood; 0 is the start.
    error_history_ : errors of the weights at the start and after each update; the pocket's are its running minimum.
    n_passes_, n_updates_, mistakes_per_pass_ : how the walk went.
    training_error_ : share of the rows that the pocket's weights get wrong, S1's E_in.
    stop_reason_ : in words.
    mistake_log_ : the updates in order.

    Rows are learnt as they are. Only where the largest |x| is beyond 1e±100 are all features measured in one power of
    two.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.PocketPerceptron(max_updates=50).fit([[0.0], [1.0], [2.0], [3.0], [0.5]], [0, 0, 1, 1, 1])
    >>> model.training_error_, model.best_update_, model.error_history_[:5]
    (0.2, 3, array([2, 3, 2, 1, 1]))
    """

    def __init__(
        self,
        max_updates: int = 1000,
        *,
        fit_intercept: bool = True,
        init: str = "zeros",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.max_updates = max_updates
        self.fit_intercept = fit_intercept
        self.init = init
        self.shuffle = shuffle
        self.random_state = random_state

    @transactional_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows: arrays, sparse matrices, data frames, or anything that is already `Rows`."""
        check_integer("max_updates", self.max_updates, 1)
        check_choice("init", self.init, INITS)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("shuffle", self.shuffle)
        generator("random_state", self.random_state)
        self.classes_, rows = labelled_rows(self, X, y)
        e = exponent(max_abs(rows))
        trail = self._walk(scaled_rows(rows, e))
        self.coef_, self.intercept_ = np.ldexp(trail.best.coef, -e), trail.best.intercept
        self.best_update_, self.n_updates_ = trail.best.update, trail.updates
        self.error_history_ = np.array(trail.path, dtype=np.int64)
        self.mistake_log_ = trail.log(e)
        self.training_error_ = float(trail.best.errors / trail.total)
        self.stop_reason_ = self._stop_reason(trail)
        if self.training_error_ > 0:
            warn_uncentered_columns(self, rows)
        return self

    def _walk(self, rows: Rows) -> PocketSearch:
        random = generator("random_state", self.random_state)
        W, b = self._start(rows, random)
        trail = PocketSearch(rows, W, b, intercept=self.fit_intercept, most=self.max_updates)
        weights = Weights(W.copy(), b.copy() if self.fit_intercept else None)
        self.mistakes_per_pass_: list[int] = []
        while not trail.ended:
            order = random.permutation(len(in_one_array(rows))).astype(np.int64) if self.shuffle else None
            made = 0
            for found in online_pass(rows, weights, order=order, most=self.max_updates):
                made += len(found)
                trail.add_updates(found)
                if trail.ended:
                    break
            self.mistakes_per_pass_.append(made)
            if made == 0 or sum(self.mistakes_per_pass_) >= self.max_updates:
                break
        trail.score()
        self._take_back(sum(self.mistakes_per_pass_) - trail.updates)
        self.n_passes_ = len(self.mistakes_per_pass_)
        return trail

    def _take_back(self, excess: int) -> None:
        """The walk runs ahead of the scores; mistakes after the end of the trail were not made."""
        passes = self.mistakes_per_pass_
        while excess > 0 and passes[-1] <= excess:
            excess -= passes.pop()
        if excess > 0:
            passes[-1] -= excess

    def _start(self, rows: Rows, random: Any) -> tuple[Array, Array]:
        K, p = len(self.classes_), self.n_features_in_
        k = 1 if K == 2 else K
        if self.init == "zeros":
            return np.zeros((k, p)), np.zeros(k)
        if self.init == "random":
            return random.random_sample((k, p)), random.random_sample(k) * self.fit_intercept
        if p > _MOST_COLUMNS:
            raise ValueError(
                f'init="least_squares" solves for {p} columns at once, but is made for {_MOST_COLUMNS}: use "zeros".'
            )

        def signs(block: Block) -> Block:
            assert block.y is not None
            Y = 2.0 * (block.y[:, None] == np.arange(K)) - 1.0
            return replace(block, y=Y[:, 1:] if K == 2 else Y)

        solution = MappedRows(rows, signs).reduce(Gram.of).select(None, self.fit_intercept).solve()
        return np.ascontiguousarray(solution.coef.T), np.array(solution.intercept, dtype=np.float64)

    def _stop_reason(self, trail: PocketSearch) -> str:
        wrong = int(trail.best.errors)
        pocket = (
            f"the pocket holds the weights after update {trail.best.update}, with {wrong} error{'s' * (wrong != 1)}"
        )
        if trail.best.errors == 0:
            return f"the weights after update {trail.best.update} make no errors"
        if trail.updates >= self.max_updates:
            return f"max_updates={self.max_updates} reached; {pocket}"
        return f"pass {self.n_passes_} made no mistake; {pocket}"

    def _novikoff(self) -> bool:
        return self.init == "zeros"
