"""Names, estimates and notes of the terms of a fitted model, and which of them the rows determine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.solution import Solution
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.algorithm.least_squares.triangular import EPS
from linearly.formatting import join_names
from linearly.kernels.double_double import Array
from linearly.models.base import check_fitted, column_names, target_names
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.table import Table

if TYPE_CHECKING:
    from linearly.models.logistic_regression import LogisticRegression

MAX_NAMED_TERMS = 8  # in a note
BIAS_NOTE = "Intervals ignore the bias due to the penalty. `bias` estimates it (ridge minus least squares)."
SCALES = ("response", "link")  # of marginal effects and means
WITH_ERRORS = "least-squares or logistic model"


def require_solution(model: Any, needed: str = "least-squares model") -> Solution:
    """Return the solution of a fitted least-squares model; raise TypeError for any other."""
    if not isinstance(model, LeastSquaresBase):
        remedy = "Use evaluate(model, X, y)" if hasattr(model, "classes_") else "Fit LinearRegression"
        raise TypeError(f"The model must be a fitted {needed}, not {type(model).__name__}. {remedy}.")
    check_fitted(model)
    return model.solution_


def check_single_target(model: LeastSquaresBase, what: str) -> None:
    """Raise ValueError if a model has several targets."""
    if len(model.solution_.intercept) > 1:
        raise ValueError(f"{what} requires a model with one target. Fit each target separately.")


def check_not_multilabel(model: LogisticRegression, what: str) -> None:
    """Raise ValueError if a logistic regression has several targets."""
    if model.multilabel_:
        raise ValueError(f"{what} requires a model with one target. Use it on each of model.estimators_.")


def term_names(model: Any) -> tuple[str, ...]:
    """Return the names of the terms, the intercept first."""
    least_squares = isinstance(model, LeastSquaresBase)
    intercept = model.solution_.has_intercept if least_squares else model.fit_intercept
    return ("Intercept", *column_names(model)) if intercept else column_names(model)


def level_text(level: Any) -> str:
    """Return a level as text, an integer without decimals."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def estimates(solution: Solution) -> Array:
    """Return intercept and coefficients, terms × targets."""
    return np.vstack([solution.intercept, solution.coef]) if solution.has_intercept else solution.coef


def logit_terms(model: LogisticRegression, what: str) -> tuple[dict[str, list[Any]], Array]:
    """Return the columns that name the terms, ``label`` (of three or more classes) and ``term``, and the estimates.

    `what` is the function that requires them, for the message about a model of several targets.
    """
    check_not_multilabel(model, what)
    names = term_names(model)
    blocks = [np.r_[b, w] if model.fit_intercept else w for b, w in zip(model.intercept_, model.coef_, strict=True)]
    columns: dict[str, list[Any]] = {"term": list(names) * len(blocks)}
    if len(model.classes_) > 2:
        others = [label for label in model.classes_.tolist() if label != model.reference_]
        columns = {"label": [label for label in others for _ in names], **columns}
    return columns, np.concatenate(blocks)


def count_parameters(model: LogisticRegression) -> int:
    """Return how many coefficients were free to be fitted, or are not 0 after a selection (Zou et al. 2007)."""
    if model.selects:
        return int((model.coef_ != 0).sum()) + len(model.coef_) * int(model.fit_intercept)
    return len(model.coef_) * int(model.n_features_in_ + int(model.fit_intercept) - len(model.aliased_))


def constant_columns(model: LeastSquaresBase) -> NDArray[np.bool_]:
    """Return which features are constant beside an intercept, so that the rows do not determine them."""
    lengths = model.summary_.centered_norms
    same = lengths <= EPS * model.summary_.scaling.scale[: len(lengths)]
    return np.asarray(same & model.solution_.has_intercept)


def shrinkage_bias(model: LeastSquaresBase) -> Array:
    """Return ridge minus least squares, terms × targets: the effect of the penalty on the estimates."""
    unpenalized = RidgeProblem(0.0, bool(model.fit_intercept)).solve(model.summary_)
    known = unpenalized.identified[:, None]
    return np.where(known, estimates(model.solution_) - estimates(unpenalized), np.nan)


def unidentified_note(
    terms: Sequence[str], identified: NDArray[np.bool_], rank_is_certain: bool = True
) -> Iterator[str]:
    """Yield a note that names the terms that the rows, or their sums in float64, do not determine, if there are any."""
    names = [term for term, known in zip(terms, identified, strict=True) if not known]
    if names:
        few = join_names(names, MAX_NAMED_TERMS, ", ")
        what = "The rows" if rank_is_certain else "Sums in float64"
        shown = "Coefficients of smallest norm are shown, without standard errors."
        yield f"{what} do not determine these terms: {few}. {shown}"


def logistic_notes(model: LogisticRegression) -> Iterator[str]:
    """Yield notes that name the terms without standard errors, and the alternatives."""
    names = term_names(model)
    if model.null_direction_ is not None:
        yield from unidentified_note(names, np.equal(model.null_direction_, 0))
    known = np.asarray(model.identified_terms.reshape(-1, len(names)).all(axis=0))
    unbounded = [name for name, sure in zip(names, known, strict=True) if not sure]
    if model.separation_ is not None:
        few = "all terms" if len(unbounded) == len(names) else join_names(unbounded, MAX_NAMED_TERMS, ", ")
        yield (
            f"The classes are {model.separation_.verdict}, so the coefficients are where the optimizer stopped. Terms "
            f"without a finite estimate and standard error: {few}. Test terms with likelihood_ratio_tests, or fit "
            'with bias_reduction="firth" or alpha > 0.'
        )
    elif unbounded and model.null_direction_ is None:
        yield (
            "The optimizer did not reach a maximum, so no standard errors are available. Fit with "
            'bias_reduction="firth" or alpha > 0.'
        )


def stack_targets(model: Any, parts: list[dict[str, Any]], notes: Sequence[str] = ()) -> Table:
    """Return the parts of all targets as one table, with a column ``target`` if there are several."""
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if len(parts) > 1:
        rows = len(parts[0][next(iter(parts[0]))])
        columns = {"target": np.repeat(target_names(model, len(parts)), rows), **columns}
    return Table(columns, notes=notes)
