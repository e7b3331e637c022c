"""Stories from the notes, each end to end: data, models, proofs, and a page to keep.

run("digits")    1 or 5? eight classifiers, and what is proven about any line      (S1)
run("loans")     loans with a known truth: regression, classifiers, bias and variance  (S1, S3)
run("spam")      what words tell                                                   (S2)
run("wine")      three classes: ellipses and K − 1 logits                          (S2, S3)
run("ecoli")     where a protein goes, and a column that never changes              (S3)
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linearly.demos.story import Story

__all__ = ["NAMES", "TITLES", "run", "tell"]

TITLES = {
    "digits": "Is it a 1 or a 5?",
    "loans": "Who gets how much?",
    "spam": "Is it spam?",
    "wine": "Which of three wines?",
    "ecoli": "Where does the protein go?",
}
NAMES = tuple(TITLES)


def run(
    name: str = "digits",
    *,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    say: Callable[[str], object] = print,
) -> Path | None:
    """Tell a story and write its page, whose path is returned; None where matplotlib or jinja2 is missing.

    Parameters
    ----------
    name : one of `NAMES`.
    data : a file in place of the data that come along: digits, spam and ecoli take one.
    out : the page to write; ``linearly-<name>.html`` here by default.
    say : takes what is told, piece by piece, in lines of at most 80 characters.
    """
    path = Path(f"linearly-{name}.html" if out is None else out)
    return tell(name, data=data, say=say).write(path)


def tell(
    name: str = "digits", *, data: str | os.PathLike[str] | None = None, say: Callable[[str], object] = print
) -> Story:
    """Tell a story; the `Story` has the numbers (``found``) and writes the page (``write``)."""
    if name not in NAMES:
        raise ValueError(f"There is no demo {name!r}: it is one of {', '.join(NAMES)}.")
    from linearly.demos.story import Story

    story = Story(name, TITLES[name], say)
    importlib.import_module(f"linearly.demos.{name}").tell(story, None if data is None else Path(data))
    return story
