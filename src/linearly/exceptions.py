"""Every warning and error that a user may want to catch, and how warnings are issued.

`warn_at_caller` points a warning at the user's own line and shows it once per line.
"""

from __future__ import annotations

import re
import sys
import warnings
from types import FrameType
from typing import Any

from numpy.exceptions import RankWarning

# One or several in a list; not those within names and quotes.
_NUMBERS = re.compile(r"(?<![\w'\"])[-+]?\d[\d.]*(?:e[-+]?\d+)?(?:(?:, | and )\d[\d.]*(?:e[-+]?\d+)?)*")

_shown: set[tuple[Any, ...]] = set()


class CovarianceNotAvailableError(ValueError, AttributeError):
    """A covariance that this fit has not: an AttributeError too, so that `hasattr` says so."""


class FewClustersWarning(UserWarning):
    """Clustered standard errors rest on few clusters, and are too small."""


class NotEstimableWarning(UserWarning):
    """A prediction depends on coefficients that the fitted rows do not determine."""


class PrecisionWarning(UserWarning):
    """Fewer digits can be trusted than one would expect of a float64."""


class SeparationWarning(UserWarning):
    """The classes can be separated by a hyperplane, so maximum likelihood has no finite solution."""


class UncenteredColumnsWarning(UserWarning):
    """Columns lie so far from zero that a perceptron hardly learns from what they vary."""


def warn_at_caller(message: str, category: type[Warning]) -> None:
    """Warn at the first line on the stack that is not this package's.

    Python's default filter shows a text once per line. It compares texts with the numbers in them, and forgets what it
    has shown whenever filters change, as they do where a library catches warnings. So where that filter applies, what
    was shown is remembered here, whatever the numbers.
    """
    frame, level = sys._getframe(1), 2
    while _inside(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    action = _action(message, category, frame)
    if action == "ignore":
        return
    if action == "default":
        # The code tells statements of an interactive session apart, all of which are line 1 of "<stdin>".
        place = frame.f_code.co_filename, frame.f_code, frame.f_lineno
        shown = (*place, category, _NUMBERS.sub("0", message))
        if shown in _shown:
            return
        _shown.add(shown)
    warnings.warn(message, category, stacklevel=level)


def _action(message: str, category: type[Warning], frame: FrameType) -> str:
    """What the filters in force say of a warning at a line."""
    module = frame.f_globals.get("__name__") or "<string>"
    for action, text, kind, where, line in warnings.filters:
        if (
            (action, kind, line) != ("always", RankWarning, 0)  # NumPy asks for that itself, before any -W
            and issubclass(category, kind)
            and _matches(text, message)
            and _matches(where, module)
            and line in (0, frame.f_lineno)
        ):
            return action
    return warnings.defaultaction  # type: ignore[attr-defined, no-any-return]


def _matches(pattern: Any, text: str) -> bool:
    """Whether a part of a filter allows a text; the filters that Python starts with have texts for patterns."""
    return pattern is None or (pattern == text if isinstance(pattern, str) else pattern.match(text) is not None)


def _inside(module: str) -> bool:
    return module.partition(".")[0] in ("linearly", "contextlib")  # our context managers decorate functions
