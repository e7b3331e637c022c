"""`AveragedPerceptron`: the mean of all weights of a perceptron's training."""

from __future__ import annotations

from linearly.models.online_perceptron import OnlinePerceptron
from linearly.models.perceptron_base import LinearPerceptron


class AveragedPerceptron(OnlinePerceptron, LinearPerceptron):
    """The averaged perceptron: the mean of the weights after each training row.

    Parameters
    ----------
    max_passes : int, default=10
        Largest number of passes over the rows.
    tolerance : int, default=0
        Stop after a pass with at most this many mistakes.
    fit_intercept : bool, default=True
        If True, the model has a constant term b. It is updated like the weight of a feature that is always 1.
    shuffle : bool, default=False
        If True, each pass takes the rows of an array or sparse matrix in a new random order. Without it, rows
        sorted by class train poorly.
    random_state : int, RandomState or None, default=None
        Seed for `shuffle`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels in order; for two classes, the second is y = +1.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Mean of the weights w after each row.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Mean of the constant terms b after each row.
    n_passes_ : int
        Number of training passes.
    n_updates_ : int
        Number of updates, which are the mistakes of all passes.
    mistakes_per_pass_ : list of int
        Mistakes in each pass, counted while the weights change.
    training_error_ : float
        Share of the training rows that the averaged weights misclassify.
    stop_reason_ : str
        Why training stopped.
    mistake_log_ : MistakeLog
        Mistakes in order. For files, up to two million mistakes are kept.
    training_ : Training
        Training state, from which `partial_fit` continues.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    Perceptron : The weights after the last row.
    VotedPerceptron : All weights vote.

    Notes
    -----
    ::

        Model       sign(b + x'w), sign(0) = +1     (K classes: the largest of K scores)
        Objective   no row with y(b + x'w) <= 0
        Summary     none: rows are read one after the other
        Optimizer   `Perceptron`; w = sum of c_k w_k / sum of c_k, with c_k rows classified correctly by w_k
        Passes      n_passes_, at most max_passes, and 1 for the training error

    The last rows have little influence on the mean, so it suits classes that overlap. On Dask and Spark, each pass
    trains on the partitions in parallel and averages their weights by mistakes (parameter mixing [2]_). The mean is
    over all rows of all partitions.

    References
    ----------
    .. [1] Y. Freund, R. E. Schapire (1999). Large margin classification using the perceptron algorithm. Machine
       Learning 37, 277-296.
    .. [2] R. McDonald, K. Hall, G. Mann (2010). Distributed training strategies for the structured perceptron.
       Proceedings of NAACL-HLT, 456-464.

    Examples
    --------
    >>> import linearly as ly
    >>> model = ly.AveragedPerceptron(max_passes=1).fit([[1.0], [-1.0], [3.0], [-2.0]], [1, 0, 0, 1])
    >>> model.coef_, model.intercept_  # w after each row: 1, 2, -1, -1
    (array([[0.25]]), array([-0.25]))
    """

    averaged = True

    def set_fitted_attributes(self) -> None:
        super().set_fitted_attributes()
        self.coef_, self.intercept_ = self.training_.averaged_weights()
