"""Collect the facts about a least-squares model: from one pass over the rows, and from its summary.

`residual_facts` is what the findings need; screens and reports share it. `regression_facts` adds what a report shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.gram import Gram
from linearly.algorithm.least_squares.solution import INTERPOLATION_TOL
from linearly.algorithm.least_squares.solver import RidgeProblem
from linearly.dataset.rows.block import Block, Rows, SingleBlockRows
from linearly.evaluation.evaluate import evaluate_rows
from linearly.findings.repeated_rows import MIN_REPEATED_SHARE, sample_compared, share_repeated
from linearly.findings.row_sample import MAX_SHOWN, Array, Sample, random_keys, rows_table
from linearly.inference.augment import MAX_LEVERAGE, row_table
from linearly.inference.diagnostics import vif
from linearly.inference.fitted_rows import block_residuals, row_diagnostics
from linearly.inference.fitted_terms import check_single_target, estimates, term_names
from linearly.inference.glance import glance
from linearly.inference.normality import SHAPIRO_ROWS, normality_verdict
from linearly.inference.residual_patterns import (
    MAX_CURVED_COLUMNS,
    NOT_APPLICABLE,
    NeighbourProducts,
    PatternTest,
    best_degree,
    chance_test,
    confirm_by_signs,
    curvature_test,
    is_ordered,
    number_distinct,
    outlier_limits,
    variance_test,
    wald_chance_test,
)
from linearly.inference.standard_deviations import known_deviations
from linearly.inference.tidy import tidy
from linearly.kernels.double_double import to_float64
from linearly.kernels.matrices import dense_keeping_low_part
from linearly.models.least_squares_base import LeastSquaresBase

Facts = dict[str, Any]

LEVEL = 0.05  # of every test
MAX_DRAWN = 1500  # rows in the figures of residuals, and in the tests by random signs
MAX_EXACT = 50  # rows of leverage 1 that are looked at
MAX_INFLUENTIAL = 5  # rows whose removal is computed
MAX_REFIT_COLUMNS = 60  # up to which the page carries the summary
_MAX_REFIT_CONDITION = 1e6  # up to which a float64 Gram answers to several digits
_DIAGNOSTICS = ("fitted", "residual", "leverage", "standardized_residual", "cooks_distance")
_WEIGHT, _Y, _X = 5, 6, slice(7, None)  # columns of a sample, after the diagnostics


@dataclass(frozen=True, slots=True, eq=False)
class RowPass:
    """Sums collected in one pass over the rows of a regression; they add up over blocks."""

    n: int
    weight: float
    rss: float
    press: float  # squared errors of rows left out of their own fit: e/(1 − h) (Allen 1974)
    n_above: int  # rows whose Cook's distance is over 4/n
    values: frozenset[float]  # of the target: at most three different ones, including both ends
    weighted: bool
    n_exact: int  # rows of leverage 1, which are fitted exactly whatever their target
    left_weight: float  # of the other rows, which alone have errors when left out
    max_leverage: float  # of the other rows
    drawn: Sample  # diagnostics, weight, target, features
    tested: Sample  # standardised residuals
    largest: Sample  # as `drawn`, by Cook's distance
    exact: Sample  # as `drawn`, rows of leverage 1
    compared: Sample  # hash of the features and target, rows of equal features together
    squares: Gram  # of [X | r²], for Koenker's test

    @staticmethod
    def of(model: LeastSquaresBase, block: Block) -> RowPass:
        """Return the contribution of one block."""
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
        exact = present & (leverage >= MAX_LEVERAGE)
        rest = present & ~exact
        left_out = residual[rest] / (1 - leverage[rest])
        standardised = np.zeros(n)
        standardised[rest] = residual[rest] / np.sqrt(1 - leverage[rest])

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
            n_exact=int(exact.sum()),
            left_weight=float(weight[rest].sum()),
            max_leverage=float(leverage[rest].max(initial=0.0)),
            drawn=Sample.of(MAX_DRAWN, random, block, sampled),
            tested=Sample.of(SHAPIRO_ROWS, np.where(rest, random, np.inf), block, lambda i: standardised[i, None]),
            largest=Sample.of(MAX_INFLUENTIAL, by_influence, block, sampled),
            exact=Sample.of(MAX_EXACT, np.where(exact, random, np.inf), block, sampled),
            compared=sample_compared(block, X, y.__getitem__),
            squares=Gram.of(Block(X, residual**2, None if present.all() else present.astype(np.float64))),
        )

    def __add__(self, other: RowPass) -> RowPass:
        sums: dict[str, Any] = {
            name: getattr(self, name) + getattr(other, name)
            for name in (
                "n", "weight", "rss", "press", "n_above", "n_exact", "left_weight", "drawn", "tested", "largest",
                "exact", "compared", "squares",
            )
        }  # fmt: skip
        return RowPass(
            **sums,
            values=_three_values(sorted(self.values | other.values)),
            weighted=self.weighted or other.weighted,
            max_leverage=max(self.max_leverage, other.max_leverage),
        )


def _three_values(values: Any) -> frozenset[float]:
    """Return the first two and the last of sorted values: enough to distinguish one, two, and more."""
    return frozenset(float(value) for value in (*values[:2], *values[-1:]))


def residual_facts(model: LeastSquaresBase, rows: Rows) -> Facts:
    """Return the facts behind the findings about a least-squares model, from its rows and summary."""
    return _residual_facts(model, rows, rows.reduce(lambda block: RowPass.of(model, block)))


def _residual_facts(model: LeastSquaresBase, rows: Rows, found: RowPass) -> Facts:
    solution = model.solution_
    rss, tss = float(solution.rss[0]), float(solution.tss[0])
    training = found.n == solution.n and abs(found.rss - rss) <= 1e-6 * (rss + 1e-12 * tss)
    # What is left of a perfect fit is rounding, of the size of y rather than of its spread.
    size = float(solution.tss[0] + solution.weight * solution.prediction_at_mean[0] ** 2)
    perfect = training and solution.alpha == 0 and solution.dof > 0 and found.rss <= INTERPOLATION_TOL * size
    has_residuals = training and not perfect
    values = sorted(found.values)
    tested = has_residuals and len(values) > 2
    repeated = share_repeated(found.compared)
    exact = _exact_rows(model, rows, found) if has_residuals and found.n_exact else None
    rest_tss = tss if exact is None else exact["tss_rest"]
    left_out = has_residuals and found.left_weight > 0
    # σ is for a row of weight 1; a row of average weight is the typical one.
    unit = float(np.sqrt(solution.n / solution.weight))
    return {
        "kind": "regression",
        "n": found.n,
        "weighted": found.weighted,
        "training": training,
        "perfect": perfect,
        "constant": values[0] if training and len(values) == 1 else None,
        "two_values": values if len(values) == 2 else None,
        "positive": bool(values and values[0] > 0),
        "left_out": float(np.sqrt(found.press / found.left_weight)) if left_out else None,
        "left_out_r_squared": float(1 - found.press / rest_tss) if left_out and rest_tss else None,
        "alpha": solution.alpha,
        "intercept": solution.has_intercept,
        "covariance": model.covariance,
        "statistics": glance(model).row(0),
        "spread": float(np.sqrt(solution.tss[0] / max(solution.n - int(solution.has_intercept), 1))) * unit,
        "typical_error": float(np.sqrt(solution.sigma2[0])) * unit,
        "repeated": repeated,
        "exact_rows": exact,
        "max_leverage": found.max_leverage,
        "aliased": [str(rows.names[j]) for j in solution.aliased],
        "tests": _tests(model, rows, found, repeated) if tested else [],
        "chance": _chance_facts(model, found, repeated) if has_residuals else None,
        "vif": _variance_inflation(model),
        "influence": _influence(model, rows, found) if has_residuals else None,
        **_penalties(model),
    }


def regression_facts(model: LeastSquaresBase, rows: Rows, level: float, held_out: Rows | None = None) -> Facts:
    """Return statistics, terms, residuals, tests, collinearity, influence, and the summary for refits."""
    check_single_target(model, "report")
    solution = model.solution_
    found = rows.reduce(lambda block: RowPass.of(model, block))
    facts = _residual_facts(model, rows, found)
    judged = None if held_out is None else evaluate_rows(model, held_out, level=level)
    drawn, few = found.drawn.in_order(), found.drawn.first(MAX_SHOWN).in_order()
    shown = 5 if facts["training"] else 2
    return facts | {
        "terms": tidy(model, level=level),
        "scales": _deviations(model, found),
        "unidentified": [term for term, known in zip(term_names(model), solution.identified, strict=True) if not known],
        "evaluation": {"metrics": evaluate_rows(model, rows, level=level).metrics},
        "held_out": None if judged is None else {"n": judged.n, "metrics": judged.metrics},
        "sample": None
        if facts["perfect"]
        else {"row": drawn.rows, "place": list(drawn.places), **_diagnostics(drawn, shown)},
        "rows": rows_table(few, rows.names, y=few.values[:, _Y], **_diagnostics(few, 2), X=few.values[:, _X]),
        "refit": _refit(model),
    }


def _deviations(model: LeastSquaresBase, found: RowPass) -> Array:
    known = known_deviations(model)
    return np.asarray(found.squares.centered_norms / np.sqrt(found.n)) if known is None else known


def _penalties(model: LeastSquaresBase) -> Facts:
    if not hasattr(model, "cv_errors_"):
        return {}
    return {"penalties": {"alpha": model.alphas_, "error": model.cv_errors_, "chosen": model.alpha_}}


def _diagnostics(sample: Sample, n: int = len(_DIAGNOSTICS)) -> Facts:
    return dict(zip(_DIAGNOSTICS[:n], sample.values.T, strict=False))


def _tests(model: LeastSquaresBase, rows: Rows, found: RowPass, repeated: float) -> list[Facts]:
    """Return the tests of the residuals that findings are based on.

    Rows that repeat each other are not independent; only the test of curvature allows for that.
    """
    tests: list[Facts] = []
    curvature = {"test": "curvature", **_curvature(model, rows, found, repeated)}
    if repeated > MIN_REPEATED_SHARE:
        return [curvature] if np.isfinite(curvature["p_value"]) else []
    verdict = normality_verdict(found.tested.in_order().values[:, 0]) if found.n <= SHAPIRO_ROWS else None
    if verdict is not None and np.isfinite(verdict.p_value):
        tests.append(verdict._asdict())
    squares = RidgeProblem().solve(found.squares)
    if squares.tss[0] > 0:
        r_squared = float(1 - squares.rss[0] / squares.tss[0])
        tests.append({"test": "unequal_variance", **variance_test(r_squared, squares.n, squares.rank)._asdict()})
    tests += [{"test": "serial_correlation", **_serial_correlation(model, rows, found)._asdict()}, curvature]
    return [test for test in tests if np.isfinite(test["p_value"])]


def _serial_correlation(model: LeastSquaresBase, rows: Rows, found: RowPass) -> PatternTest:
    """Return the test of neighbouring rows, in one more pass: outliers are known only after the first."""
    solution, drawn = model.solution_, found.drawn.values
    low, high = outlier_limits(drawn[:, 1] * np.sqrt(drawn[:, _WEIGHT]))

    def products(block: Block) -> Neighbours:
        X, _, residual, weight = block_residuals(block, solution)
        root, present = np.sqrt(weight), weight > 0
        u = solution.whitened_rows(X) * root[:, None]
        parts = (NeighbourProducts.of((residual * root)[present], u[present], low, high),) if present.any() else ()
        return Neighbours(parts)

    parts = rows.reduce(products).parts
    test = parts[0].test() if parts else NOT_APPLICABLE
    if not test.p_value <= LEVEL or found.n > len(drawn):
        return test
    ordered, design, root, _ = _drawn_design(model, found, repeated=0.0)
    return confirm_by_signs(test, ordered[:, 1] * root, design, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Products of neighbouring rows of a block, or nothing if it has no rows; they add up over blocks in order."""

    parts: tuple[NeighbourProducts, ...]

    def __add__(self, other: Neighbours) -> Neighbours:
        return Neighbours(
            (self.parts[0] + other.parts[0],) if self.parts and other.parts else self.parts or other.parts
        )


def _drawn_design(model: LeastSquaresBase, found: RowPass, repeated: float) -> tuple[Array, Array, Array, Any]:
    """Return the sampled rows, their design and the roots of their weights, and which of them are equal."""
    drawn = found.drawn.in_order().values
    root = np.sqrt(drawn[:, _WEIGHT])
    design = model.solution_.whitened_rows(drawn[:, _X]) * root[:, None]
    design = np.nan_to_num(design[:, ~np.isnan(design).all(axis=0)])
    same = repeated > MIN_REPEATED_SHARE
    clusters = number_distinct(drawn[:, _Y:]) if same else np.arange(len(drawn))
    return drawn, design, root, clusters


def _curvature(model: LeastSquaresBase, rows: Rows, found: RowPass, repeated: float) -> Facts:
    drawn, design, root, clusters = _drawn_design(model, found, repeated)
    X = drawn[:, _X]
    columns = [j for j in range(X.shape[1]) if X.shape[1] <= MAX_CURVED_COLUMNS and len(np.unique(X[:, j])) > 2]
    variables = np.column_stack([X[:, columns], drawn[:, 0]])
    test = curvature_test(drawn[:, 1] * root, design, variables, root, clusters)
    facts: Facts = {**test._asdict(), "ordered": is_ordered(variables[:, test.variable])}
    if not 0 <= test.variable < len(columns):
        return facts | {"variable": None, "degree": None}
    degree = best_degree(drawn[:, 1] * root, design, variables[:, test.variable], root)
    return facts | {"variable": str(rows.names[columns[test.variable]]), "degree": degree}


def _chance_facts(model: LeastSquaresBase, found: RowPass, repeated: float) -> Facts:
    test, n = _chance(model, found, repeated), len(found.drawn.keys)
    return test._asdict() | {"left_out": n - test.n if found.n == n and test.n else 0}


def _chance(model: LeastSquaresBase, found: RowPass, repeated: float) -> PatternTest:
    """Return the test of whether the columns explain more than chance, without assuming equal variances."""
    solution, first = model.solution_, int(model.solution_.has_intercept)
    drawn, design, root, clusters = _drawn_design(model, found, repeated)
    if found.n == len(drawn):
        constant = root if first else np.zeros(len(root))
        columns = np.column_stack([constant, drawn[:, _X] * root[:, None]])
        return (
            chance_test(drawn[:, _Y] * root, columns, clusters, penalised=solution.alpha > 0)
            if first
            else NOT_APPLICABLE
        )
    root_matrix = solution.inverse_root[first:, first:]
    if solution.alpha > 0 or not np.isfinite(root_matrix).all() or repeated > MIN_REPEATED_SHARE:
        return NOT_APPLICABLE
    coordinates: Array = np.asarray(np.linalg.lstsq(root_matrix, solution.coef[:, 0], rcond=None)[0], np.float64)
    return wald_chance_test(coordinates, design[:, first:], drawn[:, 1] * root, found.n)


def _exact_rows(model: LeastSquaresBase, rows: Rows, found: RowPass) -> Facts:
    """Return the rows of leverage 1, the columns that only one of them determines, and R² of the other rows."""
    exact = found.exact.in_order()
    summary = model.summary_ if isinstance(model.summary_, Gram) else rows.reduce(Gram.of)
    total = float(to_float64(summary.weight))
    sums = summary.centered_norms**2 + total * _column_means(summary) ** 2
    own = exact.values[:, _WEIGHT, None] * exact.values[:, _X] ** 2
    alone = (own > 0) & (own >= (1 - 1e-9) * sums)
    names = [[str(rows.names[j]) for j in np.flatnonzero(row)] for row in alone]
    facts: Facts = {
        "n": found.n_exact,
        "place": list(exact.places),
        "columns": [name[0] if name else None for name in names],
        "zero": [[str(rows.names[j]) for j in np.flatnonzero(row == 0)] for row in exact.values[:, _X]],
        "weight": exact.values[:, _WEIGHT],
        "total_weight": total,
        "column_sums": dict(zip(map(str, rows.names), total * _column_means(summary), strict=True)),
        "tss_rest": None,
        "r_squared_rest": None,
    }
    if found.n_exact > len(exact.keys) or found.left_weight <= 0:
        return facts
    solution, weight = model.solution_, exact.values[:, _WEIGHT]
    deviation = exact.values[:, _Y] - (solution.prediction_at_mean[0] if solution.has_intercept else 0.0)
    mean_shift = float(weight @ deviation) ** 2 / found.left_weight if solution.has_intercept else 0.0
    tss = float(solution.tss[0]) - float(weight @ deviation**2) - mean_shift
    r_squared = 1 - float(solution.rss[0]) / tss if tss > 0 else None
    return facts | {"tss_rest": tss, "r_squared_rest": r_squared}


def _column_means(summary: Gram) -> Array:
    means = np.asarray(to_float64(summary.mean)) * summary.scaling.scale + summary.scaling.shift
    return np.asarray(means[: summary.p])


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
