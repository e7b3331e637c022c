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

# One number or a list of them; not those within names and quotes.
_NUMBERS = re.compile(r"(?<![\w'\"])[-+]?\d[\d.]*(?:e[-+]?\d+)?(?:(?:, | and )\d[\d.]*(?:e[-+]?\d+)?)*")

_shown: set[tuple[Any, ...]] = set()


class CovarianceNotAvailableError(ValueError, AttributeError):
    """The fit has no covariance. It is also an AttributeError, so that ``hasattr(model, "covariance_")`` is False."""


class ColumnTypeWarning(UserWarning):
    """A column may have been read with the wrong type, such as codes as numbers or numbers as text."""


class FewClustersWarning(UserWarning):
    """Clustered standard errors are based on few clusters, and are too small."""


class MaskingWarning(UserWarning):
    """Least squares on indicators rarely or never predicts a class, because other classes mask it."""


class NotEstimableWarning(UserWarning):
    """A prediction depends on coefficients that the fitted rows do not determine."""


class PrecisionWarning(UserWarning):
    """Fewer digits of the results are correct than float64 can represent."""


class SeparationWarning(UserWarning):
    """A hyperplane separates the classes, so maximum likelihood has no finite solution."""


class UncenteredColumnsWarning(UserWarning):
    """The mean of a column is large compared with its standard deviation, so a perceptron learns slowly."""


def warn_at_caller(message: str, category: type[Warning]) -> None:
    """Warn at the first line on the stack that is not this package's.

    Python's default filter shows a text once per line. But it compares texts including their numbers, and forgets what
    it has shown whenever filters change, as they do when a library catches warnings. So if that filter applies, the
    texts shown are remembered here, without their numbers.

    Parameters
    ----------
    message : str
        Text of the warning. The section of its class in the documentation is added to it.
    category : type
        Class of the warning.
    """
    message = f"{message} See docs/warnings.md#{category.__name__.lower()}."
    frame, level = sys._getframe(1), 2
    # contextlib: our context managers decorate functions.
    while frame.f_globals.get("__name__", "").partition(".")[0] in ("linearly", "contextlib") and frame.f_back:
        frame, level = frame.f_back, level + 1
    action = _action(message, category, frame)
    if action == "ignore":
        return
    if action == "default":
        # The code object distinguishes statements of an interactive session, all of which are line 1 of "<stdin>".
        shown = frame.f_code.co_filename, frame.f_code, frame.f_lineno, category, _NUMBERS.sub("0", message)
        if shown in _shown:
            return
        _shown.add(shown)
    warnings.warn(message, category, stacklevel=level)


def warn_not_converged(message: str) -> None:
    """Warn with scikit-learn's `ConvergenceWarning`, which loads scikit-learn.

    Parameters
    ----------
    message : str
        Text of the warning.
    """
    from sklearn.exceptions import ConvergenceWarning

    warn_at_caller(message, ConvergenceWarning)


def _action(message: str, category: type[Warning], frame: FrameType) -> str:
    """Return the action of the filters in force for a warning at a line."""
    module = frame.f_globals.get("__name__") or "<string>"
    for action, text, kind, where, line in warnings.filters:
        if (
            (action, kind, line) != ("always", RankWarning, 0)  # NumPy adds this filter itself, before any -W
            and issubclass(category, kind)
            and _matches(text, message)
            and _matches(where, module)
            and line in (0, frame.f_lineno)
        ):
            return action
    return warnings.defaultaction  # type: ignore[attr-defined, no-any-return]


def _matches(pattern: Any, text: str) -> bool:
    """Return whether a part of a filter allows a text; the filters that Python starts with have texts for patterns."""
    return pattern is None or (pattern == text if isinstance(pattern, str) else pattern.match(text) is not None)
