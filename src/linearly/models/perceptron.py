"""`Perceptron`: Rosenblatt's perceptron."""

from __future__ import annotations

from typing import Any, Self

from linearly.exceptions import warn_not_converged
from linearly.models.online_perceptron import OnlinePerceptron
from linearly.models.parameter_checks import check_choice
from linearly.models.perceptron_base import LinearPerceptron

INITS = ("zeros", "random")


class Perceptron(OnlinePerceptron, LinearPerceptron):
    """Rosenblatt's perceptron: update the weights after every mistake, until a pass makes few enough.

    Parameters
    ----------
    max_passes : int, default=100
        Largest number of passes over the rows.
    tolerance : int, default=0
        Stop after a pass with at most this many mistakes. They are counted while the weights change, so
        ``training_error_`` may differ.
    fit_intercept : bool, default=True
        If True, the model has a constant term b. It is updated like the weight of a feature that is always 1.
    init : {"zeros", "random"}, default="zeros"
        Initial weights; ``"random"`` draws them from [0, 1).
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
        Weights w after the last row.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Constant terms b.
    n_passes_ : int
        Number of training passes.
    n_updates_ : int
        Number of updates, which are the mistakes of all passes.
    mistakes_per_pass_ : list of int
        Mistakes in each pass, counted while the weights change.
    training_error_ : float
        Share of the training rows that the final weights misclassify.
    stop_reason_ : str
        Why training stopped, with the proof if a row contradicts another.
    mistake_log_ : MistakeLog
        Mistakes in order. From zero weights, w is the sum of y·x over it. For files, up to two million mistakes are
        kept.
    training_ : Training
        Training state, from which `partial_fit` continues.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    PocketPerceptron : Keep the weights with the fewest errors, for classes that overlap.
    AveragedPerceptron : Average the weights, for classes that overlap.
    separability : Prove whether a hyperplane separates the classes.

    Notes
    -----
    ::

        Model       sign(b + x'w), sign(0) = +1     (K classes: the largest of K scores)
        Objective   no row with y(b + x'w) <= 0
        Summary     none: rows are read one after the other
        Optimizer   w += y x, b += y after a mistake, ties included
        Passes      n_passes_, at most max_passes, and 1 for the training error

    If a hyperplane separates the classes, training finds one after at most (R/γ)² mistakes. Otherwise, it does not
    converge. ``explain(X, y)`` proves which is the case. With K classes, a row is a mistake unless the score of its
    class is strictly the largest. A mistake adds x to the weights of its class and subtracts it from those of the best
    other class. On Dask and Spark, each pass trains on the partitions in parallel and averages their weights by
    mistakes (parameter mixing [3]_).

    Rows are not scaled, unless the largest absolute value is beyond 1e±100: all are then divided by one power of two.

    References
    ----------
    .. [1] F. Rosenblatt (1958). The perceptron: a probabilistic model for information storage and organization in the
       brain. Psychological Review 65, 386-408.
    .. [2] A. B. J. Novikoff (1962). On convergence proofs on perceptrons. Symposium on the Mathematical Theory of
       Automata 12, 615-622.
    .. [3] R. McDonald, K. Hall, G. Mann (2010). Distributed training strategies for the structured perceptron.
       Proceedings of NAACL-HLT, 456-464.

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
        super().__init__(
            max_passes, tolerance=tolerance, fit_intercept=fit_intercept, shuffle=shuffle, random_state=random_state
        )
        self.init = init

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
        super().fit(X, y)
        if not self._settled():
            warn_not_converged(
                f"The perceptron did not converge: {self.stop_reason_}. Use PocketPerceptron or "
                "AveragedPerceptron. Call explain(X, y) to find out whether any hyperplane separates these rows.",
            )
        return self

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("init", self.init, INITS)

    def set_fitted_attributes(self) -> None:
        super().set_fitted_attributes()
        self.coef_, self.intercept_ = self.training_.final_weights()
