"""Express a model as arithmetic from raw columns to predictions, for programs in other languages.

A graph is a list of steps. Inputs are raw columns; steps are small trees of arithmetic, the last of which are the
columns of the design; the output layer computes scores from those and predictions from scores. `sql`, `onnx` and
`python` each write a graph in their language, and do not depend on terms or estimators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.least_squares.triangular import EPS
from linearly.dataset.design.design import Design
from linearly.dataset.design.terms import Category, Factor, Level, Numeric, Term
from linearly.dataset.design.transforms import ExpressionTerm, OrthogonalPolynomial, RawPolynomial, ScaledTerm
from linearly.dataset.formula import expression as written
from linearly.exceptions import PrecisionWarning, warn_at_caller

Array = NDArray[np.float64]

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
    """A function of a leaf, by its name in `dataset.expression`."""

    name: str
    of: Tree


Tree = Constant | Reference | Indicator | Binary | Power | Function


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
class PredictionGraph:
    """Inputs, steps, the steps that are the columns of the design, the head, and the labels."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    features: tuple[str, ...]
    head: OutputLayer
    labels: tuple[Level, ...]

    @property
    def levels_of_steps(self) -> dict[str, int]:
        """The length of the longest chain of steps up to each; 0 for inputs."""
        depth = {item.name: 0 for item in self.inputs}
        for step in self.steps:
            depth[step.name] = 1 + max((depth[name] for name in references(step.tree)), default=0)
        return depth


def prediction_graph(model: Any) -> PredictionGraph:
    """Return the graph of a fitted `linearly.Model`; refuse a model that is not a formula of one row."""
    for name in ("estimator", "design", "model"):
        if not hasattr(model, name):
            raise ValueError(f"Only what linearly.fit returned can be exported, and this is {type(model).__name__}.")
    kind = type(model.estimator).__name__
    if kind not in _HEADS:
        raise ValueError(
            f"Model {model.model!r} cannot be exported: it votes with all its mistakes, which is no formula of a row. "
            'Fit model="averaged" instead, or save a model file.'
        )
    builder = _Builder(model.design)
    features = builder.features()
    _warn_rounded_powers(model)
    labels = tuple(model.estimator.classes_.tolist()) if hasattr(model.estimator, "classes_") else ()
    return PredictionGraph(
        tuple(builder.inputs.values()), tuple(builder.steps), features, _HEADS[kind](model.estimator), labels
    )


def references(tree: Tree) -> Iterator[str]:
    """Yield the inputs and steps that a tree needs."""
    match tree:
        case Reference(name) | Indicator(name, _):
            yield name
        case Binary(_, a, b):
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

    def features(self) -> tuple[str, ...]:
        trees = [tree for term in self.design.terms for tree in self.term(term)]
        return tuple(self.step(tree, "x").name for tree in trees)

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
        raise ValueError(f"{factor.label} cannot be exported.")

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
            case written.Call(function, (a,), ()):
                return Function(function, self.leaf(self.computed(a)))
        raise ValueError(f"{tree} cannot be exported.")

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
            f"The export forms the powers of {raw[0]} in float64, which the model does not: its predictions agree with "
            f"the model's to about {lost:.0e} of the spread of the target. poly() without raw=True has no such loss.",
            PrecisionWarning,
        )


# --- estimators as heads --------------------------------------------------------------------------


def _least_squares(estimator: Any) -> OutputLayer:
    solution = estimator.solution_
    if estimator._far and solution.mean is not None:
        return OutputLayer(solution.coef, solution.prediction_at_mean, "number", solution.mean.high, solution.mean.low)
    return OutputLayer(np.reshape(estimator._coef, (-1, 1)), np.reshape(estimator.intercept_, -1), "number")


def _perceptron(estimator: Any) -> OutputLayer:
    return OutputLayer(estimator.coef_.T, estimator.intercept_, "sign" if len(estimator.classes_) == 2 else "largest")


def _logistic(estimator: Any) -> OutputLayer:
    coef, constants = estimator._coefficients, estimator._constants
    if len(estimator.classes_) == 2:
        return OutputLayer(coef[:, 1:], constants[1:], "sign", probabilities="logistic")
    return OutputLayer(coef, constants, "largest", probabilities="softmax")


def _lda(estimator: Any) -> OutputLayer:
    rule = _rule(estimator)
    return OutputLayer(estimator._coefficients, estimator._constants, rule, probabilities="softmax")


def _qda(estimator: Any) -> OutputLayer:
    return OutputLayer(
        estimator._roots,
        -estimator._moved,
        _rule(estimator),
        estimator._center,
        squares=estimator._constants,
        probabilities="softmax",
    )


def _indicator(estimator: Any) -> OutputLayer:
    return OutputLayer(estimator.solution_.coef, estimator.solution_.intercept, _rule(estimator))


def _rule(estimator: Any) -> str:
    return "two" if len(estimator.classes_) == 2 else "largest"


_HEADS = {
    "LinearRegression": _least_squares,
    "RidgeCV": _least_squares,
    "LogisticRegression": _logistic,
    "LinearDiscriminantAnalysis": _lda,
    "QuadraticDiscriminantAnalysis": _qda,
    "LeastSquaresClassifier": _indicator,
    "Perceptron": _perceptron,
    "BatchPerceptron": _perceptron,
    "PocketPerceptron": _perceptron,
    "AveragedPerceptron": _perceptron,
}
