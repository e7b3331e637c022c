"""Warnings that point at the user's own line, however deep they arise."""

from __future__ import annotations

import sys
import warnings


def remark(message: str, category: type[Warning]) -> None:
    """Warn at the first line on the stack that is not this package's."""
    frame, level = sys._getframe(1), 2
    while _inside(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _inside(module: str) -> bool:
    return module.partition(".")[0] in ("linearly", "contextlib")  # our context managers decorate functions
