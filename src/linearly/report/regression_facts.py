"""The facts about a least-squares model: one pass over the rows, and what its summary says without them."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from linearly.inference.normality import anderson_darling, lilliefors, shapiro_wilk
from linearly.inference.tidy import (
    check_single_target,
    estimates,
    glance,
    row_diagnostics,
    row_table,
    term_names,
    tidy,
)
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense_keeping_low_part
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.report.row_sample import Array, Sample, random_keys

DRAWN = 1500  # rows in the pictures of residuals
TESTED = 5000  # rows in the tests of normality
SHOWN = 10  # rows in the table of rows
INFLUENTIAL = 5  # rows whose removal is worked out
WIDEST_REFIT = 60  # columns up to which the page carries the summary
_BEST_CONDITION = 1e6  # up to which a float64 Gram answers to several digits
_ROW = ("fitted", "residual", "leverage", "standardized_residual", "cooks_distance", "weight", "y")


@dataclass(frozen=True, slots=True, eq=False)
class RowPass:
    """What one pass over the rows of a regression gathers; portraits of blocks add up."""

    n: int
    weight: float
    rss: float
    press: float  # squared errors of rows left out of their own fit: e/(1 − h) (Allen 1974)
    n_above: int  # rows whose Cook's distance is over 4/n
    values: frozenset[float]  # of the target: at most three different ones, of which two are the ends
    weighted: bool
    drawn: Sample  # _ROW, then the features
    tested: Sample  # residuals
    largest: Sample  # by Cook's distance: _ROW, then the features
    steps: Differences | None  # of residuals and coordinates, for Durbin and Watson
    squares: Gram  # of [X | r²], for Breusch and Pagan

    @staticmethod
    def of(model: LeastSquaresBase, block: Block) -> RowPass:
        """Of one block."""
        y = np.asarray(block.y, dtype=np.float64).ravel()
        whole, n = dense_keeping_low_part(block.X), len(block)
        X = to_float64(whole)
        table = row_table(
            model.solution_, row_diagnostics(SingleBlockRows(replace(block, X=whole, y=y)), model.solution_)
        )
        weight = np.ones(n) if block.weight is None else block.weight
        told = np.column_stack([*(table[name] for name in _ROW[:5]), weight, y])
        root = np.sqrt(weight)
        residual = table["residual"] * root
        present = weight > 0
        keys = np.where(present, random_keys(block.global_index(np.arange(n))), np.inf)
        cooks = np.where(np.isfinite(told[:, 4]), -told[:, 4], np.inf)
        u = model.solution_.whitened_rows(whole) * root[:, None]
        steps = Differences.of(residual[present], u[present]) if present.any() else None
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = (residual / (1 - told[:, 2]))[present]
        seen = y[present]
        return RowPass(
            int(present.sum()),
            float(weight.sum()),
            float((residual**2).sum()),
            float((left_out**2).sum()),
            int((-cooks[np.isfinite(cooks)] > _line(model.solution_.n)).sum()),
            _few_values(np.unique(seen)),
            block.weight is not None,
            Sample.of(DRAWN, keys, block, lambda kept: np.column_stack([told[kept], X[kept]])),
            Sample.of(TESTED, keys, block, lambda kept: residual[kept, None]),
            Sample.of(INFLUENTIAL, cooks, block, lambda kept: np.column_stack([told[kept], X[kept]])),
            steps,
            Gram.of(Block(X, residual**2, None if present.all() else present.astype(np.float64))),
        )

    def __add__(self, other: RowPass) -> RowPass:
        steps = self.steps if other.steps is None else other.steps if self.steps is None else self.steps + other.steps
        return RowPass(
            self.n + other.n,
            self.weight + other.weight,
            self.rss + other.rss,
            self.press + other.press,
            self.n_above + other.n_above,
            _few_values(sorted(self.values | other.values)),
            self.weighted or other.weighted,
            self.drawn + other.drawn,
            self.tested + other.tested,
            self.largest + other.largest,
            steps,
            self.squares + other.squares,
        )


def _few_values(values: Any) -> frozenset[float]:
    """Of sorted values the first, the last and one between: enough to tell one, two, and more."""
    return frozenset(float(value) for value in (*values[:2], *values[-1:]))


def regression_facts(model: LeastSquaresBase, rows: Rows, level: float, held_out: Rows | None = None) -> dict[str, Any]:
    """Statistics, terms, residuals, tests, collinearity, influence, and the summary for refits."""
    check_single_target(model, "report")
    solution = model.solution_
    portrait = rows.reduce(lambda block: RowPass.of(model, block))
    scale = float(solution.rss[0]) + 1e-12 * float(solution.tss[0])
    fitted_to = portrait.n == solution.n and abs(portrait.rss - float(solution.rss[0])) <= 1e-6 * scale
    # What is left of an exact fit is rounding, of the size of y rather than of its spread: it tells nothing.
    size = float(solution.tss[0] + solution.weight * solution.prediction_at_mean[0] ** 2)
    noise = fitted_to and solution.alpha == 0 and solution.dof > 0 and portrait.rss <= INTERPOLATION_TOL * size
    values = sorted(portrait.values)
    found: dict[str, Any] = {
        "kind": "regression",
        "n": portrait.n,
        "weighted": portrait.weighted,
        "training": fitted_to,
        "perfect": noise,
        "constant": values[0] if fitted_to and len(values) == 1 else None,
        "two_values": values if len(values) == 2 else None,
        "left_out": float(np.sqrt(portrait.press / portrait.weight)) if fitted_to and not noise else None,
        "left_out_r_squared": _explained(portrait, solution) if fitted_to and not noise else None,
        "alpha": solution.alpha,
        "intercept": solution.has_intercept,
        "covariance": model.covariance,
        "terms": tidy(model, level=level),
        "statistics": glance(model).row(0),
        "spread": float(np.sqrt(solution.tss[0] / max(solution.n - int(solution.has_intercept), 1))),
        "scales": portrait.squares.centered_norms / np.sqrt(portrait.n),
        "aliased": [str(rows.names[j]) for j in solution.aliased],
        "unidentified": [term for term, known in zip(term_names(model), solution.identified, strict=True) if not known],
        "evaluation": {"metrics": evaluate(model, rows, level=level).metrics},
        "held_out": None if held_out is None else _judged(model, held_out, level),
        "sample": _sample(portrait, fitted_to) if not noise else None,
        "rows": _shown(portrait, rows.names),
        "tests": _tests(model, portrait) if fitted_to and not noise and len(values) > 2 else [],
        "vif": _inflation(model),
        "influence": _influence(model, rows, portrait) if fitted_to and not noise else None,
        "refit": _refit(model),
    }
    if hasattr(model, "cv_errors_"):
        found["penalties"] = {"alpha": model.alphas_, "error": model.cv_errors_, "chosen": model.alpha_}
    return found


def _explained(portrait: RowPass, solution: Any) -> float | None:
    """The share of the variance that is predicted of rows left out of their own fit: 1 − PRESS/TSS."""
    return float(1 - portrait.press / solution.tss[0]) if solution.tss[0] > 0 else None


def _judged(model: LeastSquaresBase, rows: Rows, level: float) -> dict[str, Any]:
    evaluation = evaluate(model, rows, level=level)
    return {"n": evaluation.n, "metrics": evaluation.metrics}


def _sample(portrait: RowPass, fitted_to: bool) -> dict[str, Any]:
    drawn = portrait.drawn.in_order()
    columns = {name: drawn.values[:, j] for j, name in enumerate(_ROW[:5])}
    if not fitted_to:
        columns = {name: columns[name] for name in ("fitted", "residual")}
    return {"row": drawn.rows, **columns}


def _shown(portrait: RowPass, names: tuple[str, ...]) -> dict[str, Any]:
    few = portrait.drawn.first(SHOWN).in_order()
    values = few.values
    return {
        "place": few.places,
        "y": values[:, 6],
        "fitted": values[:, 0],
        "residual": values[:, 1],
        "names": list(map(str, names)),
        "X": values[:, 7:],
    }


def _tests(model: LeastSquaresBase, portrait: RowPass) -> list[dict[str, Any]]:
    residual = portrait.tested.in_order().values[:, 0]
    found = []
    if len(residual) >= 8 and np.ptp(residual) > 0:
        for name, test in (("shapiro_wilk", shapiro_wilk), ("lilliefors", lilliefors)):
            result = test(residual)
            found.append((name, result.statistic, result.p_value, result.n))
        normal = anderson_darling(residual)
        found.append(("anderson_darling", normal.statistic, normal.p_value, normal.n))
    uneven = breusch_pagan(RidgeProblem().solve(portrait.squares))
    if not np.isnan(uneven[0]):
        found.append(("breusch_pagan", *uneven, portrait.n))
    steps = portrait.steps
    if steps is not None and portrait.n >= EXACT_BELOW:
        found.append(("durbin_watson", steps.statistic, steps.normal_p_value(), portrait.n))
    elif steps is not None and portrait.n > len(steps.steps):
        drawn = portrait.drawn.in_order().values
        root = np.sqrt(drawn[:, 5])
        Q, _ = np.linalg.qr(model.solution_.whitened_rows(drawn[:, len(_ROW) :]) * root[:, None])
        serial = durbin_watson(drawn[:, 1] * root, Q)
        found.append(("durbin_watson", serial.statistic, serial.p_value, serial.n))
    keys = ("test", "statistic", "p_value", "n")
    return [dict(zip(keys, row, strict=True)) for row in found]


def _inflation(model: LeastSquaresBase) -> dict[str, Any] | None:
    if not isinstance(model.summary_, Gram) or model.n_features_in_ < 2 or not model.solution_.has_intercept:
        return None
    table = vif(model)
    return {"term": table["term"], "vif": table["vif"]}


def _influence(model: LeastSquaresBase, rows: Rows, portrait: RowPass) -> dict[str, Any] | None:
    """The rows with the largest Cook's distances, and the coefficients of the fit without them."""
    top = portrait.largest
    if not len(top.keys):
        return None
    values, cooks = top.values, -top.keys
    # 4/n is the customary look-at-me line; rows below it are named but not taken out.
    out = cooks > _line(portrait.n)
    out = out if out.any() else np.arange(len(cooks)) == 0
    names = ("place", "y", *_ROW[:5])
    columns = [top.places, values[:, 6], *(values[:, j] for j in range(5))]
    found: dict[str, Any] = {
        "rows": dict(zip(names, columns, strict=True)) | {"out": out},
        "largest": float(cooks[0]),
        "line": _line(portrait.n),
        "n_out": int(out.sum()),
        "n_above": portrait.n_above,
        "terms": list(term_names(model)),
    }
    solution = model.solution_
    ask = RidgeProblem(solution.alpha, solution.has_intercept, solution.centering == "constant")
    try:
        summary = model.summary_ if isinstance(model.summary_, Gram) else rows.reduce(Gram.of)
        rest, alone = (ask.solve(_without(summary, part)) for part in (values[out], values[:1]))
    except ValueError as refused:
        return found | {"refused": str(refused)}
    before, after, first = (estimates(part)[:, 0] for part in (solution, rest, alone))
    error = model.std_errors()[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = (after - before) / error
    r_squared = 1 - float(rest.rss[0] / rest.tss[0]) if rest.tss[0] > 0 else None
    return found | {
        "with": before, "without": after, "without_first": first, "moved": moved, "r_squared": r_squared,
        "sigma": float(np.sqrt(rest.sigma2[0])) if rest.dof > 0 else None,
    }  # fmt: skip


def _line(n: int) -> float:
    return 4 / n


def _without(summary: Gram, values: NDArray[np.float64]) -> Gram:
    weight = values[:, 5]
    removed = Block(values[:, len(_ROW) :], values[:, 6], None if (weight == 1).all() else weight)
    return summary - Gram.of(removed, extended=summary.is_extended)


def _refit(model: LeastSquaresBase) -> dict[str, Any] | None:
    """Count, means and cross-products of [X | y], in units, from which any sub-model and any ridge can be solved."""
    summary, solution = model.summary_, model.solution_
    if not isinstance(summary, Gram) or summary.p > WIDEST_REFIT or solution.centering == "constant":
        return None
    if solution.condition > _BEST_CONDITION or solution.aliased:
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
