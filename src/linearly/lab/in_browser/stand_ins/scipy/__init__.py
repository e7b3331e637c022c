"""The functions of SciPy that the lab calls, computed by NumPy.

SciPy would double what a browser downloads and the time until the lab answers. Tests compare every function with SciPy.
"""

from collections.abc import Callable
from typing import Any


def missing_function(module: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__`: names can be imported, and a call raises an error that names the function."""

    def getattr_of_module(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def fail(*_: Any, **__: Any) -> Any:
            raise NotImplementedError(f"{module}.{name} is not part of the lab in a browser.")

        return fail

    return getattr_of_module
