"""What all estimators share: checked rows from what a user passes, feature names, refitting, merging and scores.

In reading order: the rows of `fit` (`training_rows`) and their checks; decorators of `fit`; `EstimatorMixin` and
`MergeableMixin`; names of features and targets; the rows of `predict` and `map_rows`, which scores them in blocks.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Number
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from linearly.dataset.cluster.collections import predictions_on_cluster, rows_from_cluster
from linearly.dataset.rows.array_checks import as_numeric_array, check_weight_range
from linearly.dataset.rows.block import (
    ROW,
    Block,
    InMemoryRows,
    Rows,
    as_rows,
    check_finite,
    check_integer_range,
    default_names,
    frame_names,
    is_frame,
    is_rows,
    names_of,
)
from linearly.dataset.rows.column_matrix import takes_columns
from linearly.dataset.rows.polynomial import Polynomial
from linearly.dataset.rows.sparse import SparseRows
from linearly.formatting import join_names
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense, drop_low_part, is_sparse
from linearly.models.estimability import NotEstimable
from linearly.models.sklearn_bases import clone, load_sklearn

Fit = TypeVar("Fit", bound=Callable[..., Any])

PREDICTION_CELLS = 2**19  # numbers that one step of a prediction may hold: 4 MB
_MAX_LISTED_COLUMNS = 8


def training_rows(estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True) -> Rows:
    """Return the rows of a call to `fit` or `partial_fit` with numeric targets, checked as scikit-learn does."""
    rows = rows_with_own_targets(estimator, X, y, sample_weight, reset=reset)
    if rows is not None:
        if rows.classes is not None:
            raise ValueError("The target of these rows contains labels, not numbers. Use a classifier.")
        set_target_names(estimator, None, reset)
        return rows
    matrix = checked_matrix(estimator, X, reset=reset)
    target = checked_target(y, estimator)
    set_target_names(estimator, y, reset)
    check_same_length(matrix, target)
    weight = checked_weight(sample_weight, matrix, allow_all_zero=not reset)
    return as_rows(matrix, target, weight, getattr(estimator, "feature_names_in_", None))


def rows_with_own_targets(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool, labels: bool = False
) -> Rows | None:
    """Return X as rows if it contains its targets or lives on a cluster with them; None for arrays and data frames."""
    on_cluster = rows_from_cluster(X, y, sample_weight, labels=labels)
    if on_cluster is not None:
        if y is None:
            check_target_given(y, estimator)
        X, y, sample_weight = on_cluster, None, None
    if not is_rows(X):
        return None
    if y is not None or sample_weight is not None:
        raise ValueError("These rows contain targets and weights. Call fit(rows) without y.")
    check_feature_names(estimator, X.names, reset)
    return X


def check_target_given(y: Any, estimator: Any) -> None:
    """Raise scikit-learn's error if there is no target."""
    if y is None:
        who = "This" if estimator is None else f"This {type(estimator).__name__} estimator"
        raise ValueError(f"{who} requires y to be passed, but the target y is None. Pass y.")


def checked_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X checked as scikit-learn does, not yet converted or searched for NaN: reading the blocks does both."""
    if reset:
        estimator.__dict__.pop("_column_labels", None)
    plain = type(X) is np.ndarray and X.dtype == np.float64  # the common case, without questions to narwhals
    if not plain and (is_frame(X) or isinstance(X, Polynomial)):
        names = () if isinstance(X, Polynomial) else frame_names(X)
        if isinstance(X, Polynomial):
            check_feature_names(estimator, X.names, reset)
        elif any(isinstance(name, str) for name in names) and not hasattr(estimator, "_column_labels"):
            _check_names_of_frame(estimator, X, names, reset)
        else:
            # scikit-learn takes columns called by numbers or dates by position: they are no `feature_names_in_`.
            labels = tuple(map(str, names))
            check_feature_names(estimator, labels, reset)
            if reset:
                estimator.__dict__.pop("feature_names_in_", None)
                estimator._column_labels = labels
        if 0 in X.shape:
            raise ValueError(
                f"Found array with 0 sample(s) or feature(s) (shape={X.shape}). Pass at least one row and one column."
            )
        return X
    numbers = as_numeric_array(X)
    usual = (type(numbers) is np.ndarray and numbers.dtype.kind in "fiub") or is_sparse(numbers)
    if usual and numbers.ndim == 2 and 0 not in numbers.shape:
        # Sets and checks what scikit-learn would, in a hundredth of the time and without loading it.
        if reset:
            check_feature_names(estimator, default_names(numbers.shape[1]), reset)
            return numbers
        if numbers.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_"):
            return numbers
    from sklearn.utils.validation import validate_data

    return validate_data(estimator, numbers, reset=reset, dtype="numeric", accept_sparse="csr", ensure_all_finite=False)


def _check_names_of_frame(estimator: Any, X: Any, names: Sequence[Any], reset: bool) -> None:
    """Set the columns in `fit`, else compare with them; scikit-learn is loaded only to raise its error."""
    texts = all(isinstance(name, str) for name in names)
    if reset and texts:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, dtype=object)
    elif reset or not texts or _known_columns(estimator) != tuple(names):
        from sklearn.utils.validation import validate_data

        validate_data(estimator, X, skip_check_array=True, reset=reset)


def checked_target(y: Any, estimator: Any) -> Array:
    """Return numeric targets, n or n × k, in float64."""
    check_target_given(y, estimator)
    if type(y) is np.ndarray and y.dtype == np.float64 and y.dtype.isnative and y.ndim == 1 and len(y):
        return y
    if is_sparse(y):
        raise TypeError("Sparse data was passed for y, but dense data is required. Use y.toarray().")
    table = is_frame(y) and 0 not in y.shape
    target = np.concatenate([block.X for block in as_rows(y)]) if table else as_numeric_array(y, "y")
    if target.ndim not in (1, 2) or 0 in target.shape:
        raise ValueError(f"y must have one or two dimensions, not the shape {target.shape}. Pass one number per row.")
    check_integer_range(np.reshape(target, (len(target), -1)), name="y" if target.ndim == 1 else None)
    with np.errstate(over="ignore"):  # a long double may overflow; it is then rejected as infinity
        return np.asarray(target, dtype=np.float64)


def check_same_length(X: Any, y: NDArray[Any]) -> None:
    """Raise unless there is one target per row."""
    if len(y) != X.shape[0]:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: [{X.shape[0]}, {len(y)}]. Pass one target per row of X."
        )


def checked_weight(sample_weight: Any, X: Any, *, allow_all_zero: bool = False) -> Array | None:
    """Return weights as a float64 array, or None; the error for a bad weight names its row."""
    if sample_weight is None:
        return None
    n = X.shape[0]
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n, sample_weight)
    weight = as_numeric_array(sample_weight, "sample_weight").astype(np.float64, copy=False)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected ({n},). Pass one weight per row.")
    check_finite(Block(np.empty((n, 0)), weight=weight))
    if (weight < 0).any():
        i = int(np.argmax(weight < 0))
        raise ValueError(f"Negative values in sample_weight: row {i} has {weight[i]}. Make all weights at least 0.")
    check_weight_range(weight, ROW, "sample_weight")
    if not allow_all_zero and not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number. Give some rows a positive weight.")
    return np.ascontiguousarray(weight)


def restore_on_error(fit: Fit) -> Fit:
    """Restore the estimator's attributes if a method raises, so that the call can be repeated with corrected rows.

    BLAS stays on one thread throughout: a second one that was woken once spins for 100 ms on a core of the next pass.
    """

    @functools.wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            with single_threaded_blas():
                return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(Fit, fit_or_restore)


def transactional_fit(fit: Fit) -> Fit:
    """Drop everything fitted before `fit`, and restore it if `fit` raises.

    Fitted attributes end in an underscore, or are among the estimator's `_private_state`.
    """

    @functools.wraps(fit)
    def fit_anew(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in list(self.__dict__):
            if name.endswith("_") or name in self._private_state:
                del self.__dict__[name]
        return fit(self, *args, **kwargs)

    return restore_on_error(cast(Fit, fit_anew))


def count_rows_of_fit(estimator: Any) -> int | None:
    """Return the number of rows that an estimator was fitted to, if it contains it."""
    for name in ("summary_", "labels_summary_"):
        if hasattr(estimator, name):
            return int(getattr(estimator, name).n)
    return int(estimator.n_rows_) if hasattr(estimator, "n_rows_") else None


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's error before a fit; a fitted estimator passes in a tenth of scikit-learn's time."""
    is_fitted = getattr(estimator, "__sklearn_is_fitted__", None)
    if is_fitted is None or not is_fitted():
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)


def predict_where_rows_are(method: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Wrap a method of X so that its results for rows on a cluster stay there, beside their rows."""

    @functools.wraps(method)
    def predict_here_or_there(self: Any, X: Any) -> Any:
        on_cluster = None
        if type(X) is not np.ndarray:
            bound = getattr(self, method.__name__)
            on_cluster = predictions_on_cluster(X, bound, what, partial(_columns, self, what))
        return method(self, X) if on_cluster is None else on_cluster

    predict_here_or_there.where_rows_are = True  # type: ignore[attr-defined]
    return predict_here_or_there


def _columns(estimator: Any, what: str, k: int) -> tuple[Any, ...]:
    """Return what the k columns of a prediction stand for: targets or classes."""
    return target_names(estimator, k) if what == "prediction" else tuple(estimator.classes_.tolist())


_RESULTS = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "score",
}


class EstimatorMixin:
    """What scikit-learn requires of all estimators: a score with checked weights, and the tag that X may be sparse."""

    _fitted_attributes: ClassVar[tuple[str, ...]] = ("coef_",)  # an estimator with one of them is fitted
    _private_state: ClassVar[tuple[str, ...]] = ("_column_labels",)  # private attributes that a new fit drops
    _column_labels: tuple[str, ...]  # names of columns that are not strings; they are not in `feature_names_in_`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, what in _RESULTS.items():
            if name in cls.__dict__ and not hasattr(cls.__dict__[name], "where_rows_are"):
                setattr(cls, name, predict_where_rows_are(cls.__dict__[name], what))

    def check_parameters(self) -> Any:
        """Raise if a parameter of the constructor is invalid.

        Returns
        -------
        object
            The least-squares problem that the parameters describe; None for other models.
        """
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² for numeric targets, and accuracy for labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Rows of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            True targets. With several labels per row, a row counts as correct if all of them are.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.

        Returns
        -------
        float
            R² or accuracy; 1 is best.
        """
        if y is None:
            raise ValueError("score needs y to compare the predictions with. Pass y.")
        if sample_weight is not None:
            weight = np.atleast_1d(as_numeric_array(sample_weight, "sample_weight"))
            sample_weight = checked_weight(weight, weight)
        return self._score(X, y, sample_weight)

    def _score(self, X: Any, y: Any, weight: Array | None) -> float:
        load_sklearn()  # the score of its mixins
        return float(super().score(X, y, weight))  # type: ignore[misc]

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has finished."""
        return any(name in self.__dict__ for name in self._fitted_attributes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


class MergeableMixin:
    """Addition and subtraction of models that are solved from a summary of their rows, without the rows."""

    def __add__(self, other: Any) -> Self:
        """Return the model of the rows of both, without reading either."""
        return self._combine(other, operator.add)

    def __sub__(self, other: Any) -> Self:
        """Return the model without the other's rows; raise if they were never part of it."""
        return self._combine(other, self._subtract)

    @single_threaded_blas()
    def _combine(self, other: Any, combine: Callable[[Any, Any], Any]) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented  # type: ignore[no-any-return]
        check_fitted(self)
        check_fitted(other)
        self._check_mergeable(other)
        check_same_settings(_settings(self), _settings(other))
        result: Self = clone(self)
        merge_feature_names(result, self, other)
        result._set_from_two(self, other, combine)
        return result

    def _check_mergeable(self, other: Self) -> None:
        """Raise if the rows would be needed to merge two models."""

    def _subtract(self, summary: Any, part: Any) -> Any:
        return summary - part

    def _set_from_two(self, a: Self, b: Self, combine: Callable[[Any, Any], Any]) -> None:
        """Set the fitted attributes from the combined summaries of two models."""
        raise NotImplementedError


def _settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters that define a model; ``method`` only says how it is computed."""
    return {name: value for name, value in estimator.get_params().items() if name != "method"}


def is_multi_output(rows: Rows) -> bool:
    """Return whether y has two dimensions: results then have one entry per target, even for a single target."""
    y = getattr(rows, "y", None)
    return y is not None and y.ndim == 2


def check_feature_names(estimator: Any, names: tuple[str, ...], reset: bool) -> None:
    """Set number and names of the columns in `fit`, else compare with them; x0, x1, … do not count as names."""
    if reset:
        estimator.n_features_in_ = len(names)
        for name in ("feature_names_in_", "_column_labels"):
            estimator.__dict__.pop(name, None)
        if tuple(names) != default_names(len(names)):
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return
    known = _known_columns(estimator)
    if (known and known != tuple(names)) or (not known and _out_of_order(names)):
        fitted = known or default_names(estimator.n_features_in_)
        raise ValueError(
            f"The columns are {list(names)}, but the model was fitted on {list(fitted)}. Pass the same "
            "columns in the same order."
        )
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(names)} features, but the model was fitted on {estimator.n_features_in_}. Pass "
            "the same columns."
        )


def _known_columns(estimator: Any) -> tuple[str, ...]:
    """Return the names that the columns had in `fit`; none if they had none."""
    return tuple(getattr(estimator, "feature_names_in_", getattr(estimator, "_column_labels", ())))


def set_target_names(estimator: Any, y: Any, reset: bool) -> None:
    """Set the names of several targets in `fit`, else compare with them, if a data frame gave them."""
    names = () if type(y) is np.ndarray else tuple(map(str, names_of(y) or ()))
    known = tuple(getattr(estimator, "target_names_", ()))
    if reset:
        estimator.__dict__.pop("target_names_", None)
        if len(names) > 1:
            estimator.target_names_ = np.array(names, dtype=object)
    elif known and names and known != names:
        raise ValueError(
            f"The targets are {list(names)}, but the model was fitted on {list(known)}. Pass the same "
            "targets in the same order."
        )


def _out_of_order(names: tuple[str, ...]) -> bool:
    """Return whether one of x0, x1, … or of 0, 1, … is in the place of another: they are then names."""

    def moved(belongs: tuple[str, ...]) -> bool:
        return not {name for name, own in zip(names, belongs, strict=True) if name != own}.isdisjoint(belongs)

    return moved(default_names(len(names))) or moved(_places(len(names)))


def _places(p: int) -> tuple[str, ...]:
    """Return 0, 1, …: what pandas calls columns without names."""
    return tuple(map(str, range(p)))


def merge_feature_names(result: Any, a: Any, b: Any) -> None:
    """Set the columns of a merged model; the names of both must agree unless one has none."""
    known = [_known_columns(model) for model in (a, b)]
    if known[0] != known[1] and (all(known) or any(map(_out_of_order, known))):
        one, two = map(list, map(column_names, (a, b)))
        raise ValueError(f"The columns differ: {one} and {two}. Fit both models to the same columns.")
    if a.n_features_in_ != b.n_features_in_:
        added, own = b.n_features_in_, a.n_features_in_
        raise ValueError(
            f"X has {added} features, but the model was fitted on {own}. Fit both models to the same columns."
        )
    result.n_features_in_ = a.n_features_in_
    for model in (b, a):
        for name in ("feature_names_in_", "_column_labels"):
            if hasattr(model, name):
                setattr(result, name, getattr(model, name))
    targets = [tuple(getattr(model, "target_names_", ())) for model in (a, b)]
    if all(targets) and targets[0] != targets[1]:
        one, two = map(list, targets)
        raise ValueError(f"The targets differ: {one} and {two}. Fit both models to the same targets.")
    if any(targets):
        result.target_names_ = np.array(targets[0] or targets[1], dtype=object)


def column_names(estimator: Any) -> tuple[str, ...]:
    """Return the names of the features: as the user gave them, or x0, x1, …"""
    known = _known_columns(estimator)
    return known if known and known != _places(len(known)) else default_names(estimator.n_features_in_)


def check_same_settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    """Raise if the settings of two models differ, because their sum can have only one of the settings."""
    differing = [name for name in a if not np.array_equal(a[name], b[name])]
    if differing:
        values = (f"{name} is {a[name]!r} in one model and {b[name]!r} in the other" for name in differing)
        raise ValueError(f"{'; '.join(values)}. Fit both models with the same settings to combine them.")


def target_names(estimator: Any, k: int) -> tuple[str, ...]:
    """Return the names of k targets: as the user gave them, or y0, y1, …"""
    return tuple(getattr(estimator, "target_names_", ())) or tuple(f"y{t}" for t in range(k))


def list_columns(estimator: Any, columns: Sequence[int]) -> str:
    """Return the quoted names of the first few of some columns, and how many more there are, for a message."""
    names = column_names(estimator)
    return join_names([repr(str(names[j])) for j in columns], _MAX_LISTED_COLUMNS, ", ")


def describe_columns(estimator: Any, columns: Sequence[int]) -> str:
    """Return columns as the subject of a sentence, with its verb: "Column 'a' is", "Columns 'a', 'b' are"."""
    return (
        f"Column {list_columns(estimator, columns)} is"
        if len(columns) == 1
        else (f"Columns {list_columns(estimator, columns)} are")
    )


def prediction_rows(estimator: Any, X: Any, *, keep_sparse: bool = False) -> Rows:
    """Return the rows of a call to `predict`; blocks of a sparse matrix are dense unless they are kept sparse."""
    X = rows_from_cluster(X) or X
    if is_rows(X):
        check_feature_names(estimator, X.names, reset=False)
        return X
    matrix = checked_matrix(estimator, X, reset=False)
    if keep_sparse and is_sparse(matrix):
        return SparseRows(matrix, names=tuple(getattr(estimator, "feature_names_in_", ())))
    return as_rows(matrix, names=column_names(estimator))


def collect_rows(rows: Rows, max_cells: int) -> tuple[Array, NDArray[Any], NDArray[np.intp]] | None:
    """Return X, y and index of the rows with positive weight as arrays; None if X has more than `max_cells` numbers."""
    X, y, index, cells = [], [], [], 0
    for block in rows:
        present = block if block.weight is None else block.take(np.flatnonzero(block.weight > 0))
        part = drop_low_part(dense(present.X))
        cells += part.size
        if cells > max_cells:
            return None
        X.append(part)
        y.append(np.asarray(present.y))
        index.append(present.global_index(np.arange(len(present))))
    return np.concatenate(X), np.concatenate(y), np.concatenate(index)


@single_threaded_blas()
def map_rows(
    rows: Rows,
    f: Callable[[Block], Array],
    *,
    cells_per_row: int = 1,
    estimable: Callable[[Any], NDArray[np.bool_]] | None = None,
) -> Array:
    """Return f of all rows, one row of the result per row: rows in memory on threads, others in order.

    Parameters
    ----------
    rows : Rows
        The rows.
    f : callable
        Maps a block to an array with one row per row of the block.
    cells_per_row : int, default=1
        How many numbers f computes per row. It decides how many rows are taken at once, so that they fit in the cache.
    estimable : callable, default=None
        Report which rows of a matrix the fit determines. A `NotEstimableWarning` names the others.

    Returns
    -------
    ndarray
        The results in the order of the rows.
    """
    if estimable is not None:
        with NotEstimable() as not_estimable:

            def f_noting_rows(block: Block) -> Array:
                result = f(block)
                not_estimable.look(block, estimable)
                return result

            return map_rows(rows, f_noting_rows, cells_per_row=cells_per_row)
    if not isinstance(rows, InMemoryRows):
        return np.concatenate([f(block) for block in (rows.column_blocks() if takes_columns(f) else rows)])
    result = np.empty((len(rows), *f(rows.block(0, 0)).shape[1:]))
    step = max(PREDICTION_CELLS // max(cells_per_row, 1), 256)

    def fill(block: Block) -> int:
        for at in range(0, len(block), step):
            part = replace(block, X=block.X[at : at + step], y=None, weight=None, start=block.start + at)
            result[part.start : part.start + len(part)] = f(part)
        return len(block)

    rows.reduce(fill)
    return result
