"""`PocketPerceptron`: the weights of a perceptron's training with the fewest errors."""

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
from linearly.kernels.double_double import Array
from linearly.models.base import transactional_fit
from linearly.models.label_encoding import labelled_rows
from linearly.models.parameter_checks import check_bool, check_choice, check_integer, check_seed
from linearly.models.perceptron_base import LinearPerceptron
from linearly.models.uncentered_columns import warn_uncentered_columns

INITS = ("zeros", "random", "least_squares")
_MAX_COLUMNS = 8192  # for least squares, whose normal matrix then takes 512 MB


class PocketPerceptron(LinearPerceptron):
    """The pocket algorithm: a perceptron that keeps the weights with the fewest errors, for classes that overlap.

    Parameters
    ----------
    max_updates : int, default=1000
        Largest number of updates. The training also ends at weights without errors.
    fit_intercept : bool, default=True
        If True, the model has a constant term b. It is updated like the weight of a feature that is always 1.
    init : {"zeros", "random", "least_squares"}, default="zeros"
        Initial weights, the first candidate. ``"least_squares"`` fits ±1 to the classes, and is often much better.
    shuffle : bool, default=False
        If True, each pass takes the rows of an array or sparse matrix in a new random order. Without it, rows
        sorted by class train poorly.
    random_state : int, RandomState or None, default=None
        Seed for `init` and `shuffle`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order; for two classes, the second is y = +1.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights w with the fewest errors.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Constant terms b.
    best_update_ : int
        Number of updates after which these weights were found. 0 is the start.
    error_history_ : ndarray of shape (n_updates + 1,)
        Errors of the initial weights and of those after each update.
    n_passes_ : int
        Number of training passes.
    n_updates_ : int
        Number of updates, which are the mistakes of all passes.
    mistakes_per_pass_ : list of int
        Mistakes in each pass, counted while the weights change.
    training_error_ : float
        Share of the training rows that these weights misclassify.
    stop_reason_ : str
        Why training stopped.
    mistake_log_ : MistakeLog
        Updates in order.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    AveragedPerceptron : Average the weights instead.
    error_floor : A proven lower bound on the errors of any hyperplane.

    Notes
    -----
    ::

        Model       sign(b + x'w), sign(0) = +1     (K classes: the largest of K scores)
        Objective   the share of rows that are classified wrongly
        Summary     errors of up to 64 candidates at a time
        Optimizer   `Perceptron`, one update at a time; keep the first w with the fewest errors
        Passes      n_passes_ of the training, 1 for every 64 updates, 2 at the start (3 with init="least_squares")

    Candidates are scored on all rows by matrix products, 64 at a time for two classes, 256/K for K classes. Rows on
    Dask and Spark are scored on their workers. For training, they are fetched in order, one partition at a time.

    Rows are not scaled, unless the largest absolute value is beyond 1e±100: all are then divided by one power of two.

    References
    ----------
    .. [1] S. I. Gallant (1990). Perceptron-based learning algorithms. IEEE Transactions on Neural Networks 1, 179-191.

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
        e = exponent(max_abs(rows))
        search = self._train(scaled_rows(rows, e))
        self.coef_, self.intercept_ = np.ldexp(search.best.coef, -e), search.best.intercept
        self.best_update_, self.n_updates_ = search.best.update, search.updates
        self.error_history_ = np.array(search.path, dtype=np.int64)
        self.mistake_log_ = search.log(e)
        self.training_error_ = float(search.best.errors / search.total)
        self.stop_reason_ = self._stop_reason(search)
        if self.training_error_ > 0:
            warn_uncentered_columns(self, rows)
        return self

    def check_parameters(self) -> None:
        check_integer("max_updates", self.max_updates, 1)
        check_choice("init", self.init, INITS)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("shuffle", self.shuffle)
        check_seed("random_state", self.random_state)

    def _train(self, rows: Rows) -> PocketSearch:
        random = check_seed("random_state", self.random_state)
        W, b = self._start(rows, random)
        search = PocketSearch(rows, W, b, intercept=self.fit_intercept, most=self.max_updates)
        weights = Weights(W.copy(), b.copy() if self.fit_intercept else None)
        self.mistakes_per_pass_: list[int] = []
        while not search.ended:
            order = random.permutation(len(in_one_array(rows))).astype(np.int64) if self.shuffle else None
            made = 0
            for found in online_pass(rows, weights, order=order, most=self.max_updates):
                made += len(found)
                search.add_updates(found)
                if search.ended:
                    break
            self.mistakes_per_pass_.append(made)
            if made == 0 or sum(self.mistakes_per_pass_) >= self.max_updates:
                break
        search.score()
        self._drop_excess_mistakes(sum(self.mistakes_per_pass_) - search.updates)
        self.n_passes_ = len(self.mistakes_per_pass_)
        return search

    def _drop_excess_mistakes(self, excess: int) -> None:
        """Remove mistakes after the end of the search: the training runs ahead of the scores."""
        passes = self.mistakes_per_pass_
        while excess > 0 and passes[-1] <= excess:
            excess -= passes.pop()
        if excess > 0:
            passes[-1] -= excess

    def _start(self, rows: Rows, random: Any) -> tuple[Array, Array]:
        K, k, p = len(self.classes_), self._n_vectors, self.n_features_in_
        if self.init == "zeros":
            return np.zeros((k, p)), np.zeros(k)
        if self.init == "random":
            return random.random_sample((k, p)), random.random_sample(k) * self.fit_intercept
        if p > _MAX_COLUMNS:
            raise ValueError(
                f'init="least_squares" is limited to {_MAX_COLUMNS} columns, but X has {p}. Use init="zeros".'
            )

        def signs(block: Block) -> Block:
            assert block.y is not None
            Y = 2.0 * (block.y[:, None] == np.arange(K)) - 1.0
            return replace(block, y=Y[:, 1:] if K == 2 else Y)

        solution = MappedRows(rows, signs).reduce(Gram.of).select(None, self.fit_intercept).solve()
        return np.ascontiguousarray(solution.coef.T), np.array(solution.intercept, dtype=np.float64)

    def _stop_reason(self, search: PocketSearch) -> str:
        wrong = int(search.best.errors)
        if wrong == 0:
            return f"the weights after update {search.best.update} make no errors"
        errors = f"{wrong} error{'s' * (wrong != 1)}"
        pocket = f"the pocket contains the weights after update {search.best.update}, with {errors}"
        if search.updates >= self.max_updates:
            return f"max_updates={self.max_updates} reached; {pocket}"
        return f"pass {self.n_passes_} made no mistake; {pocket}"

    def novikoff_bound_applies(self) -> bool:
        return self.init == "zeros"
