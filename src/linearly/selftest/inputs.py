"""Bad inputs × every estimator: each is refused by name, and none is answered in silence.

The tables of bad inputs are in the modules `bad_…` beside this one. What is said is compared with what must be said, to
the row and the column. Clean rows in other forms are tried as well: they must be answered, and alike.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np

from linearly.selftest import ProgressCallback, Result, not_run
from linearly.selftest.bad_features import (
    CLASSIFIERS,
    DISGUISED,
    ESTIMATORS,
    FEATURES,
    LABELS,
    REGRESSORS,
    Bad,
    X,
    target,
)
from linearly.selftest.bad_frames import frames, installed
from linearly.selftest.bad_parameters import BAD, arguments
from linearly.selftest.bad_targets import CLASSES, NUMBERS, TARGETS, WEIGHTS
from linearly.selftest.invalid_calls import fitted, methods, uses

REQUIRED = "all by name; 0 in silence"
REFUSALS = (ValueError, TypeError)  # NotFittedError is a ValueError
# Words of NumPy, SciPy and narwhals that say nothing to whoever passed the wrong thing.
FOREIGN = (
    "could not be broadcast",
    "inhomogeneous shape",
    "unhashable",
    "not supported between instances",
    "has no attribute",
    "has no len()",
    "is not iterable",
    "could not convert string",
    "truth value of an array",
    "cannot reshape",
    "array element with a sequence",
    "did not converge",
    "positional argument",
)
CLOSE = 1e-9


@dataclass
class Tally:
    """What became of a group of bad inputs."""

    inputs: int = 0
    calls: int = 0
    names: set[str] = field(default_factory=set)  # of the estimators that were asked
    silent: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.inputs + other.inputs,
            self.calls + other.calls,
            self.names | other.names,
            self.silent + other.silent,
            self.unclear + other.unclear,
        )

    def ask(self, name: str, case: str, says: str, call: Callable[..., Any], *passed: Any, **named: Any) -> None:
        """Count one call that must be refused in these words."""
        self.calls += 1
        self.names.add(name)
        try:
            call(*passed, **named)
        except Exception as refusal:  # whatever comes through is what is looked for
            wrong = unclear(refusal, says)
            if wrong:
                self.unclear.append(f"{name}, {case}: {wrong}")
        else:
            self.silent.append(f"{name}, {case}: answered")

    def result(self, what: str) -> Result:
        """The line about it; of what went wrong, the first few."""
        bad = [*self.silent, *self.unclear]
        refused = self.calls - len(bad)
        figure = f"{refused:,} of {self.calls:,} calls refused by name; {len(self.silent)} in silence"
        return Result(what, figure + (": " if bad else "") + "; ".join(bad[:3]), REQUIRED, bool(self.calls) and not bad)


def unclear(refusal: Exception, says: str) -> str:
    """What is wrong with a refusal; empty if it says what it must."""
    told = str(refusal)
    if not isinstance(refusal, REFUSALS):
        return f"{type(refusal).__name__} instead of a refusal"
    if not re.search(says, told) or any(words in told for words in FOREIGN):
        return f"says {told!r}"
    return ""


def results(long: bool, tell: ProgressCallback) -> Iterator[Result]:
    """A line for each group and one for all; `long` asks all methods, of data frames and of clean rows in disguise."""
    groups: dict[str, Callable[[], Tally]] = {
        "features": lambda: _features(FEATURES, long),
        "targets": _targets,
        "weights": _weights,
        "parameters": _parameters,
        "use": _uses,
    }
    there = installed()
    if long and there:
        groups[f"data frames ({', '.join(there)})"] = lambda: _features(frames(), long)
    steps = len(groups) + 1
    total = Tally()
    for k, (name, group) in enumerate(groups.items()):
        found = _quietly(group)
        total += found
        yield found.result(f"{name}: {found.inputs} bad ones × {len(found.names)} estimators")
        tell(k + 1, steps)
    if long and not there:
        yield not_run("data frames", REQUIRED, "pandas, polars or pyarrow: pip install 'linearly[files]'")
    if long:
        yield _quietly(_disguised)
    yield total.result(f"{total.inputs} bad inputs × {len(total.names)} estimators")
    tell(steps, steps)


def _quietly(call: Callable[[], Any]) -> Any:
    """Without warnings of convergence, rank and names; those of arithmetic are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return call()


def _made(table: dict[str, Bad]) -> dict[str, Bad]:
    """Those that the installed versions of NumPy and others can make."""
    found = {}
    for case, bad in table.items():
        try:
            bad.make()
        except Exception:
            continue
        found[case] = bad
    return found


def _features(table: dict[str, Bad], long: bool) -> Tally:
    """Each by fit and predict, or by all that an estimator can be asked."""
    tally = Tally()
    for case, (make, says) in _made(table).items():
        tally.inputs += 1
        either = rf"{says}|X has \d+ features, but"  # the number of columns may be seen first
        for name in ESTIMATORS:
            estimator = ESTIMATORS[name]()
            tally.ask(name, case, says, estimator.fit, make(), target(name))
            tally.ask(name, f"after {case} was refused", "not fitted yet", estimator.predict, X)
            for method in methods(name) if long else ["predict"]:
                tally.ask(name, f"{method}, {case}", either, getattr(fitted(name), method), make())
            if long:
                tally.ask(name, f"score, {case}", either, fitted(name).score, make(), target(name))
            if long and hasattr(estimator, "partial_fit"):
                call = ESTIMATORS[name]().partial_fit
                tally.ask(name, f"partial_fit, {case}", says, call, make(), target(name), **_classes(name))
    return tally


def _classes(name: str) -> dict[str, Any]:
    return {} if name in REGRESSORS else {"classes": np.unique(LABELS)}


def _taking(method: str, argument: str) -> list[str]:
    """The estimators whose method takes an argument."""
    made = {name: getattr(ESTIMATORS[name](), method, None) for name in ESTIMATORS}
    return [name for name, call in made.items() if call is not None and argument in signature(call).parameters]


def _targets() -> Tally:
    tally = Tally()
    for table, names in ((TARGETS, tuple(ESTIMATORS)), (NUMBERS, REGRESSORS), (CLASSES, CLASSIFIERS)):
        for case, (make, says) in _made(table).items():
            tally.inputs += 1
            for name in names:
                tally.ask(name, f"y: {case}", says, ESTIMATORS[name]().fit, X, make())
    return tally


def _weights() -> Tally:
    tally = Tally()
    for case, (make, says) in _made(WEIGHTS).items():
        tally.inputs += 1
        about = f"sample_weight: {case}"
        for name in _taking("fit", "sample_weight"):
            tally.ask(name, about, says, ESTIMATORS[name]().fit, X, target(name), sample_weight=make())
        for name in _taking("partial_fit", "sample_weight"):
            call = ESTIMATORS[name]().partial_fit
            tally.ask(name, about, says, call, X, target(name), sample_weight=make(), **_classes(name))
    return tally


def _parameters() -> Tally:
    tally = Tally()
    for argument, values in BAD.items():
        names = [name for name in ESTIMATORS if argument in arguments(name)]
        for value in values:
            tally.inputs += 1
            for name in names:
                estimator = ESTIMATORS[name]().set_params(**{argument: value})
                tally.ask(name, f"{argument}={value!r:.40}", rf"\b{argument}\b", estimator.fit, X, target(name))
    return tally


def _uses() -> Tally:
    tally = Tally()
    for case, (call, says, names) in uses().items():
        tally.inputs += 1
        for name in names:
            tally.ask(name, case, says, call, name)
    return tally


def _disguised() -> Result:
    """The clean rows in other forms, learnt and asked about."""
    other, fits = [], 0
    for case, make in DISGUISED.items():
        for name in ESTIMATORS:
            fits += 1
            try:
                model = ESTIMATORS[name]().fit(make(), target(name))
                answers = [ask(make()) for ask in (model.predict, fitted(name).predict)]
            except Exception as refusal:
                other.append(f"{name}, {case}: {type(refusal).__name__}")
                continue
            expected = fitted(name).predict(X)
            if not all(_alike(answer, expected) for answer in answers):
                other.append(f"{name}, {case}")
    what = f"clean rows in {len(DISGUISED)} other forms × {len(ESTIMATORS)} estimators"
    figure = f"other answers in {len(other)} of {fits:,} fits{': ' if other else ''}{'; '.join(other[:3])}"
    return Result(what, figure, "0", not other)


def _alike(answer: Any, expected: Any) -> bool:
    if expected.dtype.kind == "f":
        return bool(np.allclose(answer, expected, rtol=CLOSE, atol=CLOSE))
    return bool(np.array_equal(answer, expected))
