"""`VotedPerceptron`: a vote of all weights of a perceptron's training."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from linearly.algorithm.perceptron.error_counts import predicted_codes
from linearly.algorithm.perceptron.mistake_log import MistakeLog
from linearly.dataset.rows.block import Block, Rows, check_finite
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import is_sparse
from linearly.models.online_perceptron import OnlinePerceptron
from linearly.models.parameter_checks import check_choice

WEIGHTINGS = ("survival", "uniform")
_MAX_PRODUCTS = 1e11  # of a vote over the training rows; beyond it, there is no training error


class VotedPerceptron(OnlinePerceptron):
    """The voted perceptron: a vote of the weights after each training row.

    Parameters
    ----------
    max_passes : int, default=10
        Largest number of passes over the rows.
    tolerance : int, default=0
        Stop after a pass with at most this many mistakes.
    fit_intercept : bool, default=True
        If True, the model has a constant term b. It is updated like the weight of a feature that is always 1.
    weighting : {"survival", "uniform"}, default="survival"
        A vote counts once per row that its weights classified correctly ("survival"), or all votes count equally.
    shuffle : bool, default=False
        If True, each pass takes the rows of an array or sparse matrix in a new random order. Without it, rows
        sorted by class train poorly.
    random_state : int, RandomState or None, default=None
        Seed for `shuffle`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order; for two classes, the second is y = +1.
    n_passes_ : int
        Number of training passes.
    n_updates_ : int
        Number of updates, which are the mistakes of all passes.
    mistakes_per_pass_ : list of int
        Mistakes in each pass, counted while the weights change.
    training_error_ : float
        Share of the training rows that the vote misclassifies. NaN if it would take more than 1e11 products.
    stop_reason_ : str
        Why training stopped.
    mistake_log_ : MistakeLog
        Mistakes in order, with their rows. They constitute the model.
    training_ : Training
        Training state, from which `partial_fit` continues.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    AveragedPerceptron : A linear model that approximates the vote.

    Notes
    -----
    ::

        Model       sign(sum of c_k sign(b_k + x'w_k)), sign(0) = +1     (K classes: the most votes)
        Objective   no row with y(b + x'w) <= 0
        Summary     the mistake log
        Optimizer   `Perceptron`; c_k is the number of rows that w_k classified correctly
        Passes      n_passes_, at most max_passes, and 1 for the training error

    This is not a linear classifier, so it has no ``coef_``. The weights after each mistake are sums over the mistake
    log. Therefore the log and its rows are kept instead of all weights. A prediction costs one product with every
    misclassified row. Rows on Dask and Spark are fetched in order, one partition at a time.

    References
    ----------
    .. [1] Y. Freund, R. E. Schapire (1999). Large margin classification using the perceptron algorithm. Machine
       Learning 37, 277-296.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.VotedPerceptron(max_passes=1).fit([[1.0], [-1.0], [3.0], [-2.0]], [1, 0, 0, 1])
    >>> model.decision_function([[2.0]])  # w, b after each row: (1, 1), (2, 0), (-1, -1), (-1, -1)
    array([0.])
    """

    _fitted_attributes: ClassVar[tuple[str, ...]] = ("training_", "_log")
    max_log_bytes = math.inf
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
        super().__init__(
            max_passes, tolerance=tolerance, fit_intercept=fit_intercept, shuffle=shuffle, random_state=random_state
        )
        self.weighting = weighting

    @property
    def mistake_log_(self) -> MistakeLog:
        """Training mistakes in order, with their rows. They constitute the model."""
        if "_log" not in self.__dict__:
            self._log = super().mistake_log_
        return self._log

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("weighting", self.weighting, WEIGHTINGS)

    def set_fitted_attributes(self) -> None:
        super().set_fitted_attributes()
        self.__dict__.pop("_log", None)

    def _scores_of(self, block: Block) -> Array:
        check_finite(block)
        return self._votes(block)

    def _error(self, rows: Rows) -> float:
        log = self.mistake_log_
        entries = log.features.nnz if is_sparse(log.features) else log.features.size
        if log.seen / self.n_passes_ * len(log) * entries / max(log.features.shape[0], 1) > _MAX_PRODUCTS:
            return math.nan

        def count_errors(block: Block) -> Any:
            return np.array([np.count_nonzero(predicted_codes(self._votes(block)) != block.y), len(block)])

        wrong, total = rows.reduce(count_errors)
        return float(wrong / total)

    def _votes(self, block: Block) -> Array:
        votes = self.mistake_log_.vote(block.X, self.weighting)
        return votes[:, None] if votes.ndim == 1 else votes
