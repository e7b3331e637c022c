"""Bases of the estimators: those of scikit-learn if it is loaded, and light stand-ins until then.

A fit does not need scikit-learn, and loading it takes ten times as long as loading NumPy. scikit-learn's tools need
estimators that inherit from its classes, and they cannot see an estimator before scikit-learn is loaded. So the classes
`Regressor`, `Classifier` and `Transformer` have scikit-learn's classes as bases if `sklearn.base` is loaded. Otherwise
they have `Parameters`, and take over scikit-learn's classes as soon as anything imports `sklearn.base`. From then on an
estimator is what it would be if scikit-learn had been loaded first. See docs/decisions/0016.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Self, cast


class _FromSklearn:
    """A method that scikit-learn's classes define: to look it up loads scikit-learn."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        load_sklearn()
        return getattr(owner if instance is None else instance, self.name)


class Parameters:
    """The parameters of an estimator while scikit-learn is not loaded, with the methods of `BaseEstimator`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Accepted for scikit-learn; the parameters here are not estimators.

        Returns
        -------
        dict
            Values by name.
        """
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self
            The estimator.
        """
        if not params.keys() <= set(self._get_param_names()):
            load_sklearn()  # its error names the parameter; it also sets parameters of a parameter, a__b
            return self.set_params(**params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    fit_transform = _FromSklearn()
    get_feature_names_out = _FromSklearn()
    get_metadata_routing = _FromSklearn()
    set_fit_request = _FromSklearn()
    set_output = _FromSklearn()
    set_partial_fit_request = _FromSklearn()
    set_score_request = _FromSklearn()
    _repr_html_ = _FromSklearn()
    _repr_mimebundle_ = _FromSklearn()


class Regressor(Parameters):
    """A model of numeric targets, one or several."""


class Classifier(Parameters):
    """A model of labels."""


class Transformer(Parameters):
    """A model with a method `transform`."""


def sklearn_is_loaded() -> bool:
    """Return whether the estimators have scikit-learn's base classes."""
    return Parameters not in Regressor.__bases__


def load_sklearn() -> ModuleType:
    """Return `sklearn.base`, loaded."""
    return importlib.import_module("sklearn.base")


def clone(estimator: Any) -> Any:
    """Return an unfitted estimator with the same parameters, as scikit-learn's `clone` does."""
    if sklearn_is_loaded() or Parameters not in type(estimator).__mro__:
        return load_sklearn().clone(estimator)
    return type(estimator)(**copy.deepcopy(estimator.get_params()))


class available_if:
    """Decorate a method that exists if `check(self)` is true; `check` may raise an AttributeError with the reason."""

    def __init__(self, check: Callable[[Any], bool]) -> None:
        self.check = check

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Return the method as a descriptor."""
        return _AvailableIf(method, self.check)


class _AvailableIf:
    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool]) -> None:
        functools.update_wrapper(cast(Any, self), method)
        self.method, self.check = method, check

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.method
        message = f"This {owner.__name__!r} has no attribute {self.method.__name__!r}"
        try:
            available = self.check(instance)
        except Exception as reason:
            raise AttributeError(message) from reason
        if not available:
            raise AttributeError(message)
        return MethodType(self.method, instance)


def _take_over(base: ModuleType) -> None:
    """Make scikit-learn's classes the bases of the three classes and of the subclasses that exist."""
    Regressor.__bases__ = (base.MultiOutputMixin, base.RegressorMixin, base.BaseEstimator)
    Classifier.__bases__ = (base.ClassifierMixin, base.BaseEstimator)
    Transformer.__bases__ = (base.ClassNamePrefixFeaturesOutMixin, base.TransformerMixin)
    for one in dict.fromkeys(s for c in (Regressor, Classifier, Transformer) for s in _with_subclasses(c)):
        super(one, one).__init_subclass__()  # as Python does when it creates the class


def _with_subclasses(parent: Any) -> Iterator[Any]:
    yield parent
    for child in parent.__subclasses__():
        yield from _with_subclasses(child)


class _SklearnFinder(MetaPathFinder):
    """Find `sklearn.base` as the other finders do, and take over its classes after it was executed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of `sklearn.base`, None for every other module."""
        if name != "sklearn.base":
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next((spec for finder in others if (spec := finder.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_take_over(module: ModuleType) -> None:
                execute(module)
                sys.meta_path.remove(self)
                _take_over(module)

            spec.loader.exec_module = execute_and_take_over  # type: ignore[method-assign]
        return spec


if "sklearn.base" in sys.modules:
    _take_over(sys.modules["sklearn.base"])
else:
    sys.meta_path.insert(0, _SklearnFinder())
