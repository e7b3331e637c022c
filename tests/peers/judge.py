"""A peer's own tests, run on our estimators, with a verdict for each of its test functions."""

import functools
import importlib
import importlib.util
import os
import types
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import adapters
import pytest
import sklearn

SORTED = ("1.9",)  # the versions of scikit-learn whose test functions the tables hold

KINDS = {
    "passes": "passes, in every case",
    "convention": "differs, because linearly follows another, documented convention",
    "parameter": "differs, because the test requires a parameter or a model that linearly does not have",
    "wording": "differs, because linearly refuses the same input, with another message or type of error",
    "internals": "not run, because the test concerns private functions of the peer, or no mathematics",
}


Cases = Callable[[dict[str, Any]], bool]  # whether a case of a test, known by its parameters, is meant


@dataclass(frozen=True)
class Verdict:
    """What a test function of the peer says about our estimators.

    One that passes, passes in every case: also in those that the peer skips or expects to fail. One that differs must
    fail, in every case or in those that `where` picks by their parameters; in the others it must pass.
    """

    kind: str
    reason: str = ""
    where: Cases | None = None
    slow: bool = False

    def __post_init__(self) -> None:
        assert self.kind in KINDS
        assert bool(self.reason) == (self.kind != "passes")


Table = dict[str, Verdict]
PASSES = Verdict("passes")
PASSES_SLOWLY = Verdict("passes", slow=True)


def differs(kind: str, reason: str, where: Cases | None = None, slow: bool = False) -> Verdict:
    return Verdict(kind, reason, where, slow)


def private(reason: str) -> Verdict:
    return Verdict("internals", reason)


def given(*names: str, **values: Any) -> Cases:
    """Cases that get an object or a class of one of these names, or all of these values (a tuple: one of them)."""

    def picks(case: dict[str, Any]) -> bool:
        if values:
            return all(case[k] in v if isinstance(v, tuple) else case[k] == v for k, v in values.items())
        return any((getattr(v, "__name__", None) or type(v).__name__) in names for v in case.values())

    return picks


def version() -> str:
    return ".".join(sklearn.__version__.split(".")[:2])


@contextmanager
def in_their_place():
    """While it lasts, an import from scikit-learn gets our adapters."""
    pairs = ((home, model) for home, models in adapters.MODELS.items() for model in models)
    theirs = [(importlib.import_module(home), model.__name__, model) for home, model in pairs]
    kept = [(home, name, getattr(home, name)) for home, name, _ in theirs]
    try:
        for home, name, model in theirs:
            setattr(home, name, model)
        yield
    finally:
        for home, name, original in kept:
            setattr(home, name, original)


def loaded(name: str) -> types.ModuleType:
    """The peer's test module, executed afresh with our models for its own, parameters of its tests included."""
    if version() not in SORTED:
        reason = f"scikit-learn's tests are sorted for {' and '.join(SORTED)}, not for {version()}"
        if os.environ.get("LINEARLY_REQUIRE_ALL", "0") not in ("", "0"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason, allow_module_level=True)
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    spec = importlib.util.spec_from_file_location(f"judging_{name.replace('.', '_')}", found.origin)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with in_their_place():
        spec.loader.exec_module(module)
    # What the peer skips because it cannot, or expects to fail, is run all the same.
    unforgiving = types.SimpleNamespace(**vars(pytest))
    unforgiving.skip = unforgiving.xfail = lambda *_, **__: None
    module.pytest = unforgiving
    return module


def functions_of(module: types.ModuleType) -> dict[str, Callable[..., None]]:
    return {name: value for name, value in vars(module).items() if name.startswith("test_") and callable(value)}


def judged(module: types.ModuleType, table: Table) -> dict[str, Any]:
    """What a test module of ours needs to run theirs: its test functions under our verdicts, and its fixtures."""
    names = {name: value for name, value in vars(module).items() if _is_fixture(value)}
    names["global_random_seed"] = pytest.fixture(lambda: 42, name="global_random_seed")  # of scikit-learn's conftest
    for name, function in functions_of(module).items():
        if name in table and table[name].kind != "internals":
            names[name] = _under(table[name], function)
    return names


def _is_fixture(value: Any) -> bool:
    return type(value).__name__ == "FixtureFunctionDefinition" or hasattr(value, "_pytestfixturefunction")


def _under(verdict: Verdict, function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def case(**parameters: Any) -> None:
        if verdict.kind == "passes" or (verdict.where is not None and not verdict.where(parameters)):
            before = adapters.Adapter.fits
            function(**parameters)
            assert adapters.Adapter.fits > before, "the peer's test has fitted nothing of ours"
            return
        missing = verdict.kind == "parameter"
        with pytest.raises(adapters.NotOurs if missing else (Exception, pytest.fail.Exception, adapters.NotOurs)):
            function(**parameters)

    marks = getattr(function, "pytestmark", [])
    case.pytestmark = [_without_excuses(mark) for mark in marks if mark.name in ("parametrize", "filterwarnings")]
    if verdict.slow:
        case.pytestmark.append(pytest.mark.slow.mark)
    return case


def _without_excuses(mark: pytest.Mark) -> pytest.Mark:
    """A parametrization whose cases are not marked as expected to fail."""
    if mark.name != "parametrize":
        return mark
    names, values, *rest = mark.args
    bare = [pytest.param(*v.values, id=v.id) if hasattr(v, "marks") else v for v in values]
    return pytest.mark.parametrize(names, bare, *rest, **mark.kwargs).mark


def unsorted(module: types.ModuleType, table: Table) -> list[str]:
    """The peer's test functions that have no verdict, and verdicts that have no function."""
    return sorted(set(functions_of(module)) ^ set(table))
