"""Express a model as arithmetic from raw columns to predictions, for programs in other languages.

A graph is a list of steps. Inputs are raw columns; steps are small trees of arithmetic, the last of which are the
columns of the design; the output layer computes scores from those and predictions from scores. `sql`, `onnx` and
`python` each write a graph in their language, and do not depend on terms or estimators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.design.cut import Cut
from linearly.dataset.design.design import Design
from linearly.dataset.design.splines import Spline
from linearly.dataset.design.terms import Category, Factor, Level, LevelIndicator, Numeric, Term
from linearly.dataset.design.transforms import ExpressionTerm, OrthogonalPolynomial, RawPolynomial, ScaledTerm
from linearly.dataset.formula import expression as written
from linearly.exceptions import PrecisionWarning, warn_at_caller
from linearly.inference.coefficients import coefficients_of
from linearly.inference.wald_tests import check_level, t_quantile
from linearly.kernels.double_double import Array

MAX_SILENT_LOSS = 1e-9  # rounding error of an export, relative to the spread of the target, without a warning


# --- trees ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True)
class Reference:
    """The value of an earlier step or of a numeric input."""

    name: str


@dataclass(frozen=True)
class Indicator:
    """1 where an input is this level, else 0."""

    name: str
    level: Level


@dataclass(frozen=True)
class Binary:
    """left operator right, the operator one of + - * /; both sides of a quotient are leaves."""

    operator: str
    left: Tree
    right: Tree


@dataclass(frozen=True)
class Power:
    """base ^ exponent; the base is a leaf."""

    base: Tree
    exponent: float


@dataclass(frozen=True)
class Function:
    """A function of a leaf, by its name in `dataset.formula.expression`.

    round is to the nearest integer, a tie to the even one.
    """

    name: str
    of: Tree


@dataclass(frozen=True)
class Comparison:
    """1 if left operator right, else 0; the operator is one of < <= > >= == !=, and both sides are leaves."""

    operator: str
    left: Tree
    right: Tree


Tree = Constant | Reference | Indicator | Binary | Power | Function | Comparison


# --- the graph -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """A column: numbers, or a category with its levels; an unseen level is none, unless it counts as the reference."""

    name: str
    column: str
    levels: tuple[Level, ...] = ()
    unseen: str = "error"

    @property
    def kind(self) -> str:
        """ "number", "text" or, for a category of numbers or truth values, "level"."""
        if not self.levels:
            return "number"
        return "text" if all(isinstance(level, str) for level in self.levels) else "level"


@dataclass(frozen=True)
class Step:
    """A name for a tree."""

    name: str
    tree: Tree


@dataclass(frozen=True)
class OutputLayer:
    """From the columns of the design to predictions.

    Scores are (x − center)·weights + constants. With `squares`, those form K groups, and the score of a class is
    `squares` minus half the sum of squares of its group. `rule` is "number" (the score is the prediction), "sign" (the
    second class if the score is at least 0), "two" (the second class if its score is no less) or "largest" (the first
    of the largest). `probabilities` is None, "logistic" (of one score) or "softmax".
    """

    weights: Array
    constants: Array
    rule: str
    center: Array | None = None
    center_low: Array | None = None
    squares: Array | None = None
    probabilities: str | None = None


@dataclass(frozen=True)
class IntervalLayer:
    """From the columns of the design to the ends of an interval: the score ± √Σ (x·weights + constants)²."""

    weights: Array
    constants: Array


@dataclass(frozen=True)
class PredictionGraph:
    """Inputs, steps, the steps that are the columns of the design, the head, the labels, and perhaps an interval."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    features: tuple[str, ...]
    head: OutputLayer
    labels: tuple[Level, ...]
    interval: IntervalLayer | None = None

    @property
    def levels_of_steps(self) -> dict[str, int]:
        """The length of the longest chain of steps up to each; 0 for inputs."""
        depth = {item.name: 0 for item in self.inputs}
        for step in self.steps:
            depth[step.name] = 1 + max((depth[name] for name in references(step.tree)), default=0)
        return depth


def prediction_graph(model: Any, interval: float | None = None) -> PredictionGraph:
    """Return the graph of a fitted `linearly.Model`; refuse a model that is not a formula of one row.

    `interval` is the level of a confidence interval to compute beside the prediction.
    """
    for name in ("estimator", "design", "model"):
        if not hasattr(model, name):
            raise ValueError(
                f"Only a Model returned by linearly.fit can be exported, not {type(model).__name__}. Fit "
                "with linearly.fit."
            )
    kind = type(model.estimator).__name__
    if kind not in _HEADS:
        raise ValueError(
            f"Model {model.model!r} cannot be exported, because its vote over all mistakes is not a function of one "
            'row. Fit model="averaged" instead, or save a model file.'
        )
    builder = _Builder(model.design)
    features = builder.features()
    _warn_rounded_powers(model)
    labels = tuple(model.estimator.classes_.tolist()) if hasattr(model.estimator, "classes_") else ()
    head = _HEADS[kind](model.estimator)
    layer = None if interval is None else _interval(model, interval)
    if builder.offset is not None:  # one more column, whose coefficient is 1
        features = (*features, builder.offset)
        head = replace(head, weights=np.vstack([head.weights, np.ones((1, head.weights.shape[1]))]),
                       center=_with_zero(head.center), center_low=_with_zero(head.center_low))  # fmt: skip
        layer = layer and replace(layer, weights=np.vstack([layer.weights, np.zeros((1, layer.weights.shape[1]))]))
    return PredictionGraph(tuple(builder.inputs.values()), tuple(builder.steps), features, head, labels, layer)


def _with_zero(center: Array | None) -> Array | None:
    return None if center is None else np.append(center, 0.0)


def _interval(model: Any, level: float) -> IntervalLayer:
    """Return the layer of a confidence interval; refuse models whose intervals are not one formula for all rows."""
    estimator = model.estimator
    what = f"model {model.model!r}"
    if not hasattr(estimator, "predict_interval") or len(model.classes) > 2:
        raise ValueError(
            f"interval= is available for linear, ridge and two-class logistic models, not for {what}. Leave it out."
        )
    if hasattr(estimator, "small_sample_"):
        raise ValueError(f"interval= is not available with covariance={estimator.covariance!r}, because its degrees "
                         "of freedom depend on the row. Use predict_interval.")  # fmt: skip
    coefficients = coefficients_of(model, "interval=")
    if coefficients.null is not None or not np.isfinite(coefficients.root).all():
        raise ValueError(
            "interval= requires a fit that determines all terms. Leave out the columns named in the "
            "RankWarning of the fit."
        )
    check_level(level)
    root = coefficients.root
    if coefficients.inner is not None:
        values, vectors = np.linalg.eigh(coefficients.inner)
        root = root @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    root = root * (t_quantile(level, coefficients.dof) * np.sqrt(coefficients.sigma2))
    if "Intercept" not in coefficients.names[:1]:
        return IntervalLayer(root, np.zeros(root.shape[1]))
    mean = np.zeros(len(root) - 1) if coefficients.mean is None else coefficients.mean
    return IntervalLayer(root[1:], root[0] - mean @ root[1:])


def references(tree: Tree) -> Iterator[str]:
    """Yield the inputs and steps that a tree needs."""
    match tree:
        case Reference(name) | Indicator(name, _):
            yield name
        case Binary(_, a, b) | Comparison(_, a, b):
            yield from references(a)
            yield from references(b)
        case Power(a, _) | Function(_, a):
            yield from references(a)


# --- the design as steps --------------------------------------------------------------------------


@dataclass
class _Builder:
    design: Design
    inputs: dict[tuple[str, bool], Input] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    columns_of: dict[tuple[Factor, bool], tuple[Tree, ...]] = field(default_factory=dict)
    offset: str | None = None  # the step that is the offset

    def features(self) -> tuple[str, ...]:
        trees = [tree for term in self.design.terms for tree in self.term(term)]
        names = tuple(self.step(tree, "x").name for tree in trees)
        if self.design.offset is not None:
            self.offset = self.step(self.computed(self.design.offset), "x").name
        return names

    def term(self, term: Term) -> tuple[Tree, ...]:
        products: tuple[Tree, ...] | None = None
        for factor, full in zip(term.factors, term.full or (False,) * len(term.factors), strict=True):
            own = self.factor(factor, full)
            # The first factor varies fastest, as in the design.
            products = own if products is None else tuple(Binary("*", b, a) for b in own for a in products)
        assert products is not None
        return products

    def factor(self, factor: Factor, full: bool) -> tuple[Tree, ...]:
        if (factor, full) not in self.columns_of:
            self.columns_of[factor, full] = self.build_factor(factor, full)
        return self.columns_of[factor, full]

    def build_factor(self, factor: Factor, full: bool) -> tuple[Tree, ...]:
        match factor:
            case Numeric(name):
                return (self.number(name),)
            case LevelIndicator(name, levels, _, unseen):
                item = self.input(name, levels, unseen)
                return (self.contrast(item.name, levels, factor.coded(full)[:, 0]),)
            case Category(name, levels, _, unseen) if not full and factor.coding != "treatment":
                item = self.input(name, levels, unseen)
                return tuple(self.contrast(item.name, levels, column) for column in factor.coded(full).T)
            case Category(name, levels, reference, unseen):
                item = self.input(name, levels, unseen)
                return tuple(Indicator(item.name, level) for level in levels if full or level != reference)
            case ExpressionTerm(expression):
                return (self.computed(expression),)
            case ScaledTerm(expression, _, float(mean), float(deviation)):
                moved = self.leaf(Binary("-", self.computed(expression), Constant(mean)))
                return (Binary("/", moved, Constant(deviation)),)
            case RawPolynomial(expression, degree):
                return self.powers(self.leaf(self.computed(expression)), degree)
            case OrthogonalPolynomial():
                return self.orthogonal(factor)
            case Spline():
                return self.spline(factor)
            case Cut():
                return self.cut(factor, full)
        raise ValueError(f"The term {factor.label} cannot be exported. Fit without it, or save a model file.")

    def contrast(self, name: str, levels: Sequence[Level], values: Array) -> Tree:
        """Return Σ value · indicator over the levels of a category."""
        parts = [
            Binary("*", Constant(float(v)), Indicator(name, level)) for level, v in zip(levels, values, strict=True)
        ]
        total: Tree = parts[0]
        for part in parts[1:]:
            total = Binary("+", total, part)
        return total

    def powers(self, x: Tree, degree: int) -> tuple[Tree, ...]:
        powers = [x]
        while len(powers) < degree:
            powers.append(self.leaf(Binary("*", powers[-1], x)))
        return tuple(powers)

    def orthogonal(self, factor: OrthogonalPolynomial) -> tuple[Tree, ...]:
        t = self.leaf(Binary("-", self.computed(factor.expression), Constant(factor.centre)))
        columns: list[Tree] = [Constant(float(1.0 / np.sqrt(factor.rows)))]
        for k in range(factor.degree):
            rise: Tree = Binary("*", Binary("-", t, Constant(factor.alpha[k])), columns[k])
            if k:
                rise = Binary("-", rise, Binary("*", Constant(factor.beta[k - 1]), columns[k - 1]))
            columns.append(self.leaf(Binary("/", self.leaf(rise), Constant(factor.beta[k]))))
        return tuple(columns[1:])

    def spline(self, factor: Spline) -> tuple[Tree, ...]:
        """Return the columns of a spline. On each piece, a column is a polynomial in the distance from its start."""
        x = self.leaf(self.computed(factor.expression))
        pieces = factor.pieces()
        edges = [Constant(start) for start, *_ in pieces]
        reached = [self.leaf(Comparison(">=", x, edge)) for edge in edges[1:]]
        totals: list[Tree | None] = [None] * pieces[0][2].shape[1]
        for k, (_, origin, powers) in enumerate(pieces):
            inside: Tree = Constant(1.0) if k == 0 else reached[k - 1]
            if k < len(reached):
                inside = self.leaf(Binary("-", inside, reached[k]))
            # Outside of the piece the distance is 0, so that nothing overflows there.
            moved = self.leaf(Binary("-", x, Constant(origin)))
            t = self.leaf(Binary("*", inside, moved))
            for j, column in enumerate(powers.T):
                value: Tree = Constant(float(column[-1]))
                for coefficient in column[-2:0:-1]:
                    value = self.leaf(Binary("+", Binary("*", value, t), Constant(float(coefficient))))
                part = Binary("+", Binary("*", Constant(float(column[0])), inside), Binary("*", value, t))
                before = totals[j]
                totals[j] = self.leaf(part if before is None else Binary("+", before, part))
        return tuple(total for total in totals if total is not None)

    def cut(self, factor: Cut, full: bool) -> tuple[Tree, ...]:
        """Return the columns of intervals; a number outside them is divided by 0, so that it has no prediction."""
        x = self.leaf(self.computed(factor.expression))
        edges = factor.edges
        above, last = (">", ">=") if factor.right else (">=", ">")

        def passed(k: int) -> Tree:
            """Return 1 where the number lies beyond edge k."""
            if not np.isfinite(edges[k]):
                return Constant(1.0 if k == 0 else 0.0)
            at_end = factor.lowest and k == (0 if factor.right else len(edges) - 1)
            return self.leaf(Comparison(last if at_end else above, x, Constant(float(edges[k]))))

        beyond = [passed(k) for k in range(len(edges))]
        inside = self.leaf(Binary("-", beyond[0], beyond[-1]))
        guard = self.leaf(Binary("/", Constant(0.0), inside))
        columns = [Binary("+", Binary("-", a, b), guard) for a, b in pairwise(beyond)]
        return tuple(columns[0 if full else 1 :])

    def rounded(self, tree: Tree, digits: int) -> Tree:
        size = Constant(10.0 ** abs(digits))
        up, down = ("*", "/") if digits >= 0 else ("/", "*")
        return Binary(down, self.leaf(Function("round", self.leaf(Binary(up, self.leaf(tree), size)))), size)

    def extreme(self, operator: str, arguments: Sequence[written.Expression]) -> Tree:
        """Return the largest (>=) or smallest (<=) of some numbers."""
        best = self.leaf(self.computed(arguments[0]))
        for argument in arguments[1:]:
            other = self.leaf(self.computed(argument))
            wins = self.leaf(Comparison(operator, best, other))
            mine, its = Binary("*", wins, best), Binary("*", Binary("-", Constant(1.0), wins), other)
            best = self.leaf(Binary("+", mine, its))
        return best

    def computed(self, tree: written.Expression) -> Tree:
        match tree:
            case written.Number(value):
                return Constant(value)
            case written.Name(name):
                return self.number(name)
            case written.Negative(of):
                return Binary("-", Constant(0.0), self.computed(of))
            case written.Binary("/", a, b):
                return Binary("/", self.leaf(self.computed(a)), self.leaf(self.computed(b)))
            case written.Binary("+" | "-" | "*" as operator, a, b):
                return Binary(operator, self.computed(a), self.computed(b))
            case written.Binary("^", a, b):
                exponent = written.constant(b)
                assert isinstance(exponent, float)
                return Power(self.leaf(self.computed(a)), exponent)
            case written.Call("I", (a,), ()):
                return self.computed(a)
            case written.Call("log", (a, b), ()):
                base = written.constant(b)
                assert isinstance(base, float)
                logarithm = Function("log", self.leaf(self.computed(a)))
                return Binary("/", self.leaf(logarithm), Constant(math.log(base)))
            case written.Call("round", (a, *digits), ()):
                places = written.constant(digits[0]) if digits else 0.0
                assert isinstance(places, float)
                return self.rounded(self.computed(a), int(places))
            case written.Call("pmax" | "pmin" as function, arguments, ()):
                return self.extreme(">=" if function == "pmax" else "<=", arguments)
            case written.Binary(operator, a, b) if operator in written.COMPARISONS:
                return Comparison(operator, self.leaf(self.computed(a)), self.leaf(self.computed(b)))
            case written.Call(function, (a,), ()):
                return Function(function, self.leaf(self.computed(a)))
        raise ValueError(f"The expression {tree} cannot be exported. Compute the column first, and fit that column.")

    def leaf(self, tree: Tree) -> Tree:
        """Return a leaf as it is, and a name for another tree: a guarded operand is written twice."""
        return tree if isinstance(tree, (Constant, Reference)) else Reference(self.step(tree, "t").name)

    def step(self, tree: Tree, prefix: str) -> Step:
        step = Step(f"{prefix}{len(self.steps)}", tree)
        self.steps.append(step)
        return step

    def number(self, column: str) -> Reference:
        return Reference(self.input(column, (), "error").name)

    def input(self, column: str, levels: tuple[Level, ...], unseen: str) -> Input:
        key = column, bool(levels)
        if key not in self.inputs:
            self.inputs[key] = Input(f"i{len(self.inputs)}", column, levels, unseen)
        return self.inputs[key]


def _warn_rounded_powers(model: Any) -> None:
    """Warn if powers in float64, as other languages have them, leave predictions few digits."""
    raw = [
        f.label for term in model.design.terms for f in term.factors if isinstance(f, RawPolynomial) and f.degree > 1
    ]
    solution = getattr(model.estimator, "solution_", None)
    if not raw or solution is None or solution.mean is None:
        return
    spread = np.sqrt(solution.tss / solution.weight)
    lost = EPS * float(np.max(np.abs(solution.mean.high) @ np.abs(solution.coef) / np.where(spread > 0, spread, 1.0)))
    if lost > MAX_SILENT_LOSS:
        warn_at_caller(
            f"The export computes the powers of {raw[0]} in float64. Its predictions therefore differ from the "
            f"model's by about {lost:.0e} of the standard deviation of the target. Use poly() "
            "without raw=True, which has no such loss.",
            PrecisionWarning,
        )


# --- estimators as heads --------------------------------------------------------------------------


def _least_squares(estimator: Any) -> OutputLayer:
    solution = estimator.solution_
    if estimator.predicts_about_mean_ and solution.mean is not None:
        return OutputLayer(solution.coef, solution.prediction_at_mean, "number", solution.mean.high, solution.mean.low)
    return OutputLayer(np.reshape(estimator.coef_, (-1, 1)), np.reshape(estimator.intercept_, -1), "number")


def _sparse(estimator: Any) -> OutputLayer:
    coef = np.reshape(estimator.coef_, (-1, 1))
    if estimator.centre_ is None:
        return OutputLayer(coef, np.reshape(estimator.intercept_, -1), "number")
    return OutputLayer(coef, np.reshape(estimator.centre_[1], -1), "number", estimator.centre_[0])


def _perceptron(estimator: Any) -> OutputLayer:
    return OutputLayer(estimator.coef_.T, estimator.intercept_, "sign" if len(estimator.classes_) == 2 else "largest")


def _logistic(estimator: Any) -> OutputLayer:
    coef, constants = estimator.class_coef_, estimator.class_constants_
    if len(estimator.classes_) == 2:
        return OutputLayer(coef[:, 1:], constants[1:], "sign", probabilities="logistic")
    return OutputLayer(coef, constants, "largest", probabilities="softmax")


def _lda(estimator: Any) -> OutputLayer:
    rule = _rule(estimator)
    return OutputLayer(estimator.class_coef_, estimator.class_constants_, rule, probabilities="softmax")


def _qda(estimator: Any) -> OutputLayer:
    return OutputLayer(
        estimator.inverse_roots_,
        -estimator.whitened_means_,
        _rule(estimator),
        estimator.center_,
        squares=estimator.class_constants_,
        probabilities="softmax",
    )


def _indicator(estimator: Any) -> OutputLayer:
    return OutputLayer(estimator.solution_.coef, estimator.solution_.intercept, _rule(estimator))


def _rule(estimator: Any) -> str:
    return "two" if len(estimator.classes_) == 2 else "largest"


_HEADS = {
    "LinearRegression": _least_squares,
    "RidgeCV": _least_squares,
    "ElasticNet": _sparse,
    "ElasticNetCV": _sparse,
    "LogisticRegression": _logistic,
    "LinearDiscriminantAnalysis": _lda,
    "QuadraticDiscriminantAnalysis": _qda,
    "LeastSquaresClassifier": _indicator,
    "Perceptron": _perceptron,
    "BatchPerceptron": _perceptron,
    "PocketPerceptron": _perceptron,
    "AveragedPerceptron": _perceptron,
}
