"""Placeholder: a browser's BLAS has one thread."""

from typing import Any


class ThreadpoolController:
    """No libraries, so nothing to limit."""

    lib_controllers: tuple[Any, ...] = ()

    def select(self, **_: Any) -> "ThreadpoolController":
        """Return the libraries of a kind: none."""
        return self
