"""Collect the facts about a least-squares model: from one pass over the rows, and from its summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.dataset.rows.block import Block, Rows, SingleBlockRows
from linearly.evaluation.evaluate import evaluate
from linearly.inference.diagnostics import breusch_pagan, vif
from linearly.inference.durbin_watson import EXACT_BELOW, Differences, durbin_watson
from linearly.inference.fitted_rows import row_diagnostics
from linearly.inference.normality import anderson_darling, lilliefors, shapiro_wilk
from linearly.inference.tidy import (
    check_single_target,
    estimates,
    glance,
    row_table,
    term_names,
    tidy,
)
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense_keeping_low_part
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.report.page_parts import Facts
from linearly.report.row_sample import MAX_SHOWN, Array, Sample, random_keys, rows_table

MAX_DRAWN = 1500  # rows in the figures of residuals
MAX_TESTED = 5000  # rows in the tests of normality
MAX_INFLUENTIAL = 5  # rows whose removal is computed
MAX_REFIT_COLUMNS = 60  # up to which the page carries the summary
_MAX_REFIT_CONDITION = 1e6  # up to which a float64 Gram answers to several digits
_DIAGNOSTICS = ("fitted", "residual", "leverage", "standardized_residual", "cooks_distance")
_WEIGHT, _Y, _X = 5, 6, slice(7, None)  # columns of a sample, after the diagnostics


@dataclass(frozen=True, slots=True, eq=False)
class RowPass:
    """What one pass over the rows of a regression collects; those of blocks add up."""

    n: int
    weight: float
    rss: float
    press: float  # squared errors of rows left out of their own fit: e/(1 − h) (Allen 1974)
    n_above: int  # rows whose Cook's distance is over 4/n
    values: frozenset[float]  # of the target: at most three different ones, including both ends
    weighted: bool
    drawn: Sample  # diagnostics, weight, target, features
    tested: Sample  # residuals
    largest: Sample  # as `drawn`, by Cook's distance
    steps: Differences | None  # of residuals and coordinates, for Durbin and Watson
    squares: Gram  # of [X | r²], for Breusch and Pagan

    @staticmethod
    def of(model: LeastSquaresBase, block: Block) -> RowPass:
        """Return what one block contributes."""
        solution, n = model.solution_, len(block)
        y = np.asarray(block.y, dtype=np.float64).ravel()
        extended = dense_keeping_low_part(block.X)
        X = to_float64(extended)
        table = row_table(solution, row_diagnostics(SingleBlockRows(replace(block, X=extended, y=y)), solution))
        weight = np.ones(n) if block.weight is None else block.weight
        values = np.column_stack([*(table[name] for name in _DIAGNOSTICS), weight, y])
        root, present = np.sqrt(weight), weight > 0
        residual, leverage, cooks = table["residual"] * root, values[:, 2], values[:, 4]
        random = np.where(present, random_keys(block.global_index(np.arange(n))), np.inf)
        by_influence = np.where(np.isfinite(cooks), -cooks, np.inf)
        u = solution.whitened_rows(extended) * root[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = (residual / (1 - leverage))[present]

        def sampled(rows: NDArray[np.intp]) -> Array:
            return np.column_stack([values[rows], X[rows]])

        return RowPass(
            n=int(present.sum()),
            weight=float(weight.sum()),
            rss=float((residual**2).sum()),
            press=float((left_out**2).sum()),
            n_above=int((cooks[np.isfinite(cooks)] > 4 / solution.n).sum()),
            values=_three_values(np.unique(y[present])),
            weighted=block.weight is not None,
            drawn=Sample.of(MAX_DRAWN, random, block, sampled),
            tested=Sample.of(MAX_TESTED, random, block, lambda rows: residual[rows, None]),
            largest=Sample.of(MAX_INFLUENTIAL, by_influence, block, sampled),
            steps=Differences.of(residual[present], u[present]) if present.any() else None,
            squares=Gram.of(Block(X, residual**2, None if present.all() else present.astype(np.float64))),
        )

    def __add__(self, other: RowPass) -> RowPass:
        sums: dict[str, Any] = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("n", "weight", "rss", "press", "n_above", "drawn", "tested", "largest", "squares")
        }
        steps = [steps for steps in (self.steps, other.steps) if steps is not None]
        return RowPass(
            **sums,
            values=_three_values(sorted(self.values | other.values)),
            weighted=self.weighted or other.weighted,
            steps=reduce(add, steps) if steps else None,
        )


def _three_values(values: Any) -> frozenset[float]:
    """Return the first two and the last of sorted values: enough to distinguish one, two, and more."""
    return frozenset(float(value) for value in (*values[:2], *values[-1:]))


def regression_facts(model: LeastSquaresBase, rows: Rows, level: float, held_out: Rows | None = None) -> Facts:
    """Return statistics, terms, residuals, tests, collinearity, influence, and the summary for refits."""
    check_single_target(model, "report")
    solution = model.solution_
    rss, tss = float(solution.rss[0]), float(solution.tss[0])
    found = rows.reduce(lambda block: RowPass.of(model, block))
    training = found.n == solution.n and abs(found.rss - rss) <= 1e-6 * (rss + 1e-12 * tss)
    # What is left of a perfect fit is rounding, of the size of y rather than of its spread: it tells nothing.
    size = float(solution.tss[0] + solution.weight * solution.prediction_at_mean[0] ** 2)
    perfect = training and solution.alpha == 0 and solution.dof > 0 and found.rss <= INTERPOLATION_TOL * size
    judged = None if held_out is None else evaluate(model, held_out, level=level)
    has_residuals = training and not perfect
    values = sorted(found.values)
    drawn, few = found.drawn.in_order(), found.drawn.first(MAX_SHOWN).in_order()
    facts: Facts = {
        "kind": "regression",
        "n": found.n,
        "weighted": found.weighted,
        "training": training,
        "perfect": perfect,
        "constant": values[0] if training and len(values) == 1 else None,
        "two_values": values if len(values) == 2 else None,
        "left_out": float(np.sqrt(found.press / found.weight)) if has_residuals else None,
        "left_out_r_squared": float(1 - found.press / tss) if has_residuals and tss > 0 else None,
        "alpha": solution.alpha,
        "intercept": solution.has_intercept,
        "covariance": model.covariance,
        "terms": tidy(model, level=level),
        "statistics": glance(model).row(0),
        "spread": float(np.sqrt(solution.tss[0] / max(solution.n - int(solution.has_intercept), 1))),
        "scales": found.squares.centered_norms / np.sqrt(found.n),
        "aliased": [str(rows.names[j]) for j in solution.aliased],
        "unidentified": [term for term, known in zip(term_names(model), solution.identified, strict=True) if not known],
        "evaluation": {"metrics": evaluate(model, rows, level=level).metrics},
        "held_out": None if judged is None else {"n": judged.n, "metrics": judged.metrics},
        "sample": None if perfect else {"row": drawn.rows, **_diagnostics(drawn, 5 if training else 2)},
        "rows": rows_table(few, rows.names, y=few.values[:, _Y], **_diagnostics(few, 2), X=few.values[:, _X]),
        "tests": _tests(model, found) if has_residuals and len(values) > 2 else [],
        "vif": _variance_inflation(model),
        "influence": _influence(model, rows, found) if has_residuals else None,
        "refit": _refit(model),
    }
    if hasattr(model, "cv_errors_"):
        facts["penalties"] = {"alpha": model.alphas_, "error": model.cv_errors_, "chosen": model.alpha_}
    return facts


def _diagnostics(sample: Sample, n: int = len(_DIAGNOSTICS)) -> Facts:
    return dict(zip(_DIAGNOSTICS[:n], sample.values.T, strict=False))


def _tests(model: LeastSquaresBase, found: RowPass) -> list[Facts]:
    """Return the tests of normality, equal variance and independence of the residuals."""
    residual = found.tested.in_order().values[:, 0]
    tests: list[tuple[str, float, float, int]] = []
    if len(residual) >= 8 and np.ptp(residual) > 0:
        for test in (shapiro_wilk, lilliefors, anderson_darling):
            result = test(residual)
            tests.append((test.__name__, result.statistic, result.p_value, result.n))
    statistic, p_value = breusch_pagan(RidgeProblem().solve(found.squares))
    if not np.isnan(statistic):
        tests.append(("breusch_pagan", statistic, p_value, found.n))
    steps = found.steps
    if steps is not None and found.n >= EXACT_BELOW:
        tests.append(("durbin_watson", steps.statistic, steps.normal_p_value(), found.n))
    elif steps is not None and found.n > len(steps.steps):
        drawn = found.drawn.in_order().values
        root = np.sqrt(drawn[:, _WEIGHT])
        Q, _ = np.linalg.qr(model.solution_.whitened_rows(drawn[:, _X]) * root[:, None])
        serial = durbin_watson(drawn[:, 1] * root, Q)
        tests.append(("durbin_watson", serial.statistic, serial.p_value, serial.n))
    return [dict(zip(("test", "statistic", "p_value", "n"), row, strict=True)) for row in tests]


def _variance_inflation(model: LeastSquaresBase) -> Facts | None:
    if not isinstance(model.summary_, Gram) or model.n_features_in_ < 2 or not model.solution_.has_intercept:
        return None
    table = vif(model)
    return {"term": table["term"], "vif": table["vif"]}


def _influence(model: LeastSquaresBase, rows: Rows, found: RowPass) -> Facts | None:
    """Return the rows with the largest Cook's distances, and the coefficients of the fit without them."""
    top, solution, line = found.largest, model.solution_, 4 / found.n
    if not len(top.keys):
        return None
    cooks = -top.keys
    # 4/n is the customary threshold; rows below it are listed but not taken out.
    out = cooks > line
    out = out if out.any() else np.arange(len(cooks)) == 0
    facts: Facts = {
        "rows": {"place": top.places, "y": top.values[:, _Y], **_diagnostics(top), "out": out},
        "largest": float(cooks[0]),
        "line": line,
        "n_out": int(out.sum()),
        "n_above": found.n_above,
        "terms": list(term_names(model)),
    }
    problem = RidgeProblem(solution.alpha, solution.has_intercept, solution.centering == "constant")
    try:
        summary = model.summary_ if isinstance(model.summary_, Gram) else rows.reduce(Gram.of)
        rest, alone = (problem.solve(_subtract_rows(summary, part)) for part in (top.values[out], top.values[:1]))
    except ValueError as error:
        return facts | {"refused": str(error)}
    before, after, first = (estimates(part)[:, 0] for part in (solution, rest, alone))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = (after - before) / model.std_errors()[:, 0]
    return facts | {
        "with": before,
        "without": after,
        "without_first": first,
        "moved": moved,
        "r_squared": 1 - float(rest.rss[0] / rest.tss[0]) if rest.tss[0] > 0 else None,
        "sigma": float(np.sqrt(rest.sigma2[0])) if rest.dof > 0 else None,
    }


def _subtract_rows(summary: Gram, values: Array) -> Gram:
    weight = values[:, _WEIGHT]
    removed = Block(values[:, _X], values[:, _Y], None if (weight == 1).all() else weight)
    return summary - Gram.of(removed, extended=summary.is_extended)


def _refit(model: LeastSquaresBase) -> Facts | None:
    """Return count, means and cross-products of [X | y], from which any submodel and any ridge can be solved."""
    summary, solution = model.summary_, model.solution_
    if not isinstance(summary, Gram) or summary.p > MAX_REFIT_COLUMNS or solution.centering == "constant":
        return None
    if solution.condition > _MAX_REFIT_CONDITION or solution.aliased:
        return None
    unit = summary.scaling.scale
    mean: Array = np.asarray(to_float64(summary.mean)) + summary.scaling.shift / unit
    return {
        "n": summary.n,
        "weight": float(to_float64(summary.weight)),
        "intercept": solution.has_intercept,
        "alpha": solution.alpha,
        "unit": unit,
        "mean": mean,
        "cross": np.asarray(to_float64(summary.centered_crossprod)),
    }
