"""Worked examples, each printed and written as a page: `linearly demo`.

In reading order:
    story    texts, tables and pictures of every example, for the terminal and the page
    digits   is it a 1 or a 5? eight classifiers, and what is proven about any line
    loans    loans with a known truth: regression, classifiers, bias and variance
    spam     words of e-mails: weights by hand and learnt weights
    wine     three classes: ellipses and K − 1 logits
    ecoli    where a protein goes, and a column that never changes
    image    small grey images for a terminal and a page
    stories  the texts of each story (TOML)
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linearly.demos.story import Story  # loads models and plots, which a list of NAMES does without

__all__ = ["NAMES", "TITLES", "run", "tell"]

TITLES = {
    "digits": "Is it a 1 or a 5?",
    "loans": "Loans with a known truth",
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
    """Run a worked example and write its page.

    Parameters
    ----------
    name : {"digits", "loans", "spam", "wine", "ecoli"}
        Which story.
    data : path, optional
        A file in place of the data of the package, for digits, spam and ecoli.
    out : path, optional
        The page to write; ``linearly-<name>.html`` in the current directory by default.
    say : callable
        Receives the text piece by piece, in lines of at most 80 characters.

    Returns
    -------
    Path or None
        The page; None if matplotlib or jinja2 is missing.
    """
    path = Path(f"linearly-{name}.html" if out is None else out)
    return tell(name, data=data, say=say).write(path)


def tell(
    name: str = "digits", *, data: str | os.PathLike[str] | None = None, say: Callable[[str], object] = print
) -> Story:
    """Tell a story and return it; `Story.found` has the numbers, `Story.write` writes the page."""
    if name not in NAMES:
        raise ValueError(f"{name!r} is not a demo. Choose one of {', '.join(NAMES)}.")
    from linearly.demos.story import Story

    story = Story(name, TITLES[name], say)
    if data is not None and "no_data" in story.texts:
        raise ValueError(story.texts["no_data"])
    importlib.import_module(f"linearly.demos.{name}").tell(story, None if data is None else Path(data))
    return story
