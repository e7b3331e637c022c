"""What every estimator shares: from what the user passes to rows, in scikit-learn's manner."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Number
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from linearly.dataset.cluster.partitions import predictions_on_cluster, rows_from_cluster
from linearly.dataset.rows.array_checks import as_numeric_array, check_weight_range
from linearly.dataset.rows.block import (
    ROW,
    Block,
    InMemoryRows,
    Rows,
    as_frame,
    as_rows,
    check_finite,
    check_integer_range,
    default_names,
    is_frame,
    is_rows,
    names_of,
)
from linearly.dataset.rows.polynomial import Polynomial
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.kernels.matrices import dense, drop_low_part, is_sparse

Array = NDArray[np.float64]
Fit = TypeVar("Fit", bound=Callable[..., Any])

PREDICTION_CELLS = 2**19  # numbers on the way to a prediction: 4 MB


def training_rows(estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True) -> Rows:
    """The rows of a call to `fit` or `partial_fit`: numbers and regression targets, checked as scikit-learn does."""
    away = rows_from_cluster(X, y, sample_weight)
    if away is not None:
        if y is None:
            checked_target(y, estimator)
        X, y, sample_weight = away, None, None
    if is_rows(X):
        if y is not None or sample_weight is not None:
            raise ValueError("These rows bring their own targets and weights: call fit(rows) without y.")
        if getattr(X, "classes", None) is not None:
            raise ValueError("The target of these rows is labels, not numbers: use a classifier.")
        check_feature_names(estimator, X.names, reset)
        set_target_names(estimator, None, reset)
        return X
    matrix = checked_matrix(estimator, X, reset=reset)
    target = checked_target(y, estimator)
    set_target_names(estimator, y, reset)
    same_length(matrix, target)
    weight = checked_weight(sample_weight, matrix, allow_all_zero=not reset)
    return as_rows(matrix, target, weight, getattr(estimator, "feature_names_in_", None))


def checked_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as scikit-learn would have it, but neither converted nor searched for NaN: the fold does both in passing."""
    if reset:
        estimator.__dict__.pop("_column_labels", None)
    if is_frame(X) or isinstance(X, Polynomial):
        if isinstance(X, Polynomial):
            check_feature_names(estimator, X.names, reset)
        elif any(isinstance(name, str) for name in as_frame(X).columns) and not hasattr(estimator, "_column_labels"):
            validate_data(estimator, X, skip_check_array=True, reset=reset)
        else:
            _remember_labels(estimator, tuple(map(str, as_frame(X).columns)), reset)
        if 0 in X.shape:
            raise ValueError(f"Found array with 0 sample(s) or feature(s) (shape={X.shape}): nothing to fit.")
        return X
    numbers = as_numeric_array(X)
    if reset and type(numbers) is np.ndarray and numbers.dtype == np.float64 and numbers.ndim == 2 and numbers.size:
        # What scikit-learn would remember of it, in a hundredth of the time.
        check_feature_names(estimator, default_names(numbers.shape[1]), reset)
        return numbers
    return validate_data(estimator, numbers, reset=reset, dtype="numeric", accept_sparse="csr", ensure_all_finite=False)


def checked_target(y: Any, estimator: Any) -> Array:
    """Numeric targets, n or n × k, in float64."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    if is_sparse(y):
        raise TypeError("Sparse data was passed for y, but dense data is required. Use y.toarray().")
    whole = is_frame(y) and 0 not in y.shape
    target = np.concatenate([block.X for block in as_rows(y)]) if whole else as_numeric_array(y, "y")
    if target.ndim not in (1, 2) or 0 in target.shape:
        raise ValueError(f"y must have one or two dimensions, not the shape {target.shape}: one number a row.")
    check_integer_range(np.reshape(target, (len(target), -1)), name="y" if target.ndim == 1 else None)
    with np.errstate(over="ignore"):  # of a long double: refused as infinity
        return np.asarray(target, dtype=np.float64)


def same_length(X: Any, y: NDArray[Any]) -> None:
    """Refuse targets that are not one a row."""
    if len(y) != X.shape[0]:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: [{X.shape[0]}, {len(y)}]. Pass one target a row of X."
        )


def checked_weight(sample_weight: Any, X: Any, *, allow_all_zero: bool = False) -> Array | None:
    """Weights as a float64 array, or None; bad ones are refused by row."""
    if sample_weight is None:
        return None
    n = X.shape[0]
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n, sample_weight)
    weight = as_numeric_array(sample_weight, "sample_weight").astype(np.float64, copy=False)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected ({n},): one weight a row.")
    check_finite(Block(np.empty((n, 0)), weight=weight))
    if (weight < 0).any():
        i = int(np.argmax(weight < 0))
        raise ValueError(f"Negative values in sample_weight: row {i} has {weight[i]}. Weights must be 0 or more.")
    check_weight_range(weight, ROW, "sample_weight")
    if not allow_all_zero and not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number: no row would be left.")
    return np.ascontiguousarray(weight)


def restore_on_error(fit: Fit) -> Fit:
    """Rows that are refused leave the model as it was: the same rows, corrected, can then be given again.

    BLAS stays on one thread throughout: a second one that was woken once spins for 100 ms, on a core of the next fold.
    """

    @functools.wraps(fit)
    def fitted(self: Any, *given: Any, **named: Any) -> Any:
        before = dict(self.__dict__)
        try:
            with single_threaded_blas():
                return fit(self, *given, **named)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(Fit, fitted)


def transactional_fit(fit: Fit) -> Fit:
    """A fit that is refused leaves the model as it was; it begins with nothing of the fit before (`_reset`)."""

    @functools.wraps(fit)
    def anew(self: Any, *given: Any, **named: Any) -> Any:
        self._reset()
        return fit(self, *given, **named)

    return restore_on_error(cast(Fit, anew))


def check_fitted(estimator: Any) -> None:
    """scikit-learn's error before a fit; a model that is fitted is told apart in a tenth of the time."""
    if not estimator.__sklearn_is_fitted__():
        check_is_fitted(estimator)


def predict_where_rows_are(method: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A method of X whose answers for rows on a cluster stay there, beside their rows."""

    @functools.wraps(method)
    def answered(self: Any, X: Any) -> Any:
        away = None
        if type(X) is not np.ndarray:
            away = predictions_on_cluster(X, getattr(self, method.__name__), what, partial(_columns, self, what))
        return method(self, X) if away is None else away

    return answered


def _columns(estimator: Any, what: str, k: int) -> tuple[Any, ...]:
    """What the k columns of an answer are about: targets or classes."""
    return target_names(estimator, k) if what == "prediction" else tuple(estimator.classes_.tolist())


_ANSWERS = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "score",
}


class EstimatorMixin:
    """What scikit-learn asks of every estimator: a score, whose weights are checked, and a tag: X may be sparse."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, what in _ANSWERS.items():
            if name in cls.__dict__:
                setattr(cls, name, predict_where_rows_are(cls.__dict__[name], what))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions of numbers; the share of the rows whose label, or all of whose labels, are right."""
        if y is None:
            raise ValueError("score needs y: what the predictions are compared with.")
        if sample_weight is not None:
            weight = np.atleast_1d(as_numeric_array(sample_weight, "sample_weight"))
            sample_weight = checked_weight(weight, weight)
        return self._score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    def _score(self, X: Any, y: Any, weight: Array | None) -> float:
        """The score, the weights being checked."""
        found: float = super().score(X, y, weight)  # type: ignore[misc]
        return found


def is_multi_output(rows: Rows) -> bool:
    """Whether y was given in two dimensions: even one column of it then keeps its shape in the results."""
    y = getattr(rows, "y", None)
    return y is not None and y.ndim == 2


def check_feature_names(estimator: Any, names: tuple[str, ...], reset: bool) -> None:
    """Set, or compare with, the number and names of the columns seen in `fit`; x0, x1, … are no names."""
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
        raise ValueError(f"The columns are {list(names)}, but the model was fitted on {list(fitted)}.")
    if len(names) != estimator.n_features_in_:
        raise ValueError(f"X has {len(names)} features, but the model was fitted on {estimator.n_features_in_}.")


def _remember_labels(estimator: Any, labels: tuple[str, ...], reset: bool) -> None:
    """The same for a data frame whose columns are called by numbers, dates or the like.

    scikit-learn takes such columns by position and keeps no `feature_names_in_`, so these are kept apart from it.
    """
    check_feature_names(estimator, labels, reset)
    if reset:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator._column_labels = labels


def _known_columns(estimator: Any) -> tuple[str, ...]:
    """The names that the columns had in `fit`; none if they had none."""
    return tuple(getattr(estimator, "feature_names_in_", getattr(estimator, "_column_labels", ())))


def set_target_names(estimator: Any, y: Any, reset: bool) -> None:
    """Set, or compare with, the names of several targets seen in `fit`, where a data frame gave them."""
    names = tuple(map(str, names_of(y) or ()))
    known = tuple(getattr(estimator, "target_names_", ()))
    if reset:
        estimator.__dict__.pop("target_names_", None)
        if len(names) > 1:
            estimator.target_names_ = np.array(names, dtype=object)
    elif known and names and known != names:
        raise ValueError(f"The targets are {list(names)}, but the model was fitted on {list(known)}.")


def _out_of_order(names: tuple[str, ...]) -> bool:
    """Whether one of x0, x1, … or of 0, 1, … stands where another of them belongs: they are names then."""

    def moved(belongs: tuple[str, ...]) -> bool:
        return not {name for name, own in zip(names, belongs, strict=True) if name != own}.isdisjoint(belongs)

    return moved(default_names(len(names))) or moved(_places(len(names)))


def _places(p: int) -> tuple[str, ...]:
    """0, 1, …: what pandas calls columns without names."""
    return tuple(map(str, range(p)))


def merge_feature_names(result: Any, a: Any, b: Any) -> None:
    """Give a model of the rows of two their columns, which must agree; where one has no names, those of the other."""
    known = [_known_columns(model) for model in (a, b)]
    if known[0] != known[1] and (all(known) or any(map(_out_of_order, known))):
        one, two = map(list, map(column_names, (a, b)))
        raise ValueError(f"The columns differ: {one} and {two}. Fit both models to the same ones.")
    if a.n_features_in_ != b.n_features_in_:
        added, own = b.n_features_in_, a.n_features_in_
        raise ValueError(
            f"X has {added} features, but the model was fitted on {own}. Fit both models to the same ones."
        )
    result.n_features_in_ = a.n_features_in_
    for model in (b, a):
        for name in ("feature_names_in_", "_column_labels"):
            if hasattr(model, name):
                setattr(result, name, getattr(model, name))
    targets = [tuple(getattr(model, "target_names_", ())) for model in (a, b)]
    if all(targets) and targets[0] != targets[1]:
        one, two = map(list, targets)
        raise ValueError(f"The targets differ: {one} and {two}. Fit both models to the same ones.")
    if any(targets):
        result.target_names_ = np.array(targets[0] or targets[1], dtype=object)


def column_names(estimator: Any) -> tuple[str, ...]:
    """The names of the features: as the user gave them, or x0, x1, …"""
    known = _known_columns(estimator)
    return known if known and known != _places(len(known)) else default_names(estimator.n_features_in_)


def check_same_settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    """Refuse two models whose settings differ: their sum would silently have those of one of them."""
    differing = [name for name in a if not np.array_equal(a[name], b[name])]
    if differing:
        told = "; ".join(f"{name} is {a[name]!r} in one model and {b[name]!r} in the other" for name in differing)
        raise ValueError(f"{told}. Fit both models with the same settings to combine them.")


def settings_of(estimator: Any) -> dict[str, Any]:
    """The parameters that a model is defined by; ``method`` says only how it is computed."""
    return {name: value for name, value in estimator.get_params().items() if name != "method"}


def target_names(estimator: Any, k: int) -> tuple[str, ...]:
    """The names of k targets: as the user gave them, or y0, y1, …"""
    return tuple(getattr(estimator, "target_names_", ())) or tuple(f"y{t}" for t in range(k))


def prediction_rows(estimator: Any, X: Any) -> Rows:
    """The rows of a call to `predict`."""
    X = rows_from_cluster(X) or X
    if is_rows(X):
        check_feature_names(estimator, X.names, reset=False)
        return X
    return as_rows(checked_matrix(estimator, X, reset=False), names=column_names(estimator))


def collect_rows(rows: Rows, most: int) -> tuple[Array, NDArray[Any], NDArray[np.intp]] | None:
    """X, y and index of the rows of positive weight, wherever they are; None if X has more than `most` numbers."""
    X, y, index, cells = [], [], [], 0
    for whole in rows:
        block = whole if whole.weight is None else whole.take(np.flatnonzero(whole.weight > 0))
        part = drop_low_part(dense(block.X))
        cells += part.size
        if cells > most:
            return None
        X.append(part)
        y.append(np.asarray(block.y))
        index.append(block.global_index(np.arange(len(block))))
    return np.concatenate(X), np.concatenate(y), np.concatenate(index)


@single_threaded_blas()
def map_rows(rows: Rows, f: Callable[[Block], Array], *, wide: int = 1) -> Array:
    """f of all rows, one row of the answer for each: on threads where they are here, in order where they are not.

    `wide` is how many numbers f computes on the way for each row: so many rows are taken at once as fit in the cache.
    """
    if not isinstance(rows, InMemoryRows):
        return np.concatenate([f(block) for block in rows])
    result = np.empty((len(rows), *f(rows.block(0, 0)).shape[1:]))
    step = max(PREDICTION_CELLS // max(wide, 1), 256)

    def fill(block: Block) -> int:
        for at in range(0, len(block), step):
            part = replace(block, X=block.X[at : at + step], y=None, weight=None, start=block.start + at)
            result[part.start : part.start + len(part)] = f(part)
        return len(block)

    rows.reduce(fill)
    return result
