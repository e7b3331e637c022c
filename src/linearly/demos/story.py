"""A story: told on the terminal while it is computed, and kept for its page.

What is told, tabled and drawn goes to both. Pictures are for the page alone; images of digits are drawn with block
characters on the terminal. The page ends with the report of one model, as `Model.report` writes it.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from linearly.api import Model, fit
from linearly.demos import image
from linearly.evaluation.evaluate import evaluate
from linearly.models.registry import estimator_of
from linearly.plots.style import percent
from linearly.report import figures
from linearly.report.facts import facts
from linearly.report.page_parts import Finding, Part, Section, figure, table, text
from linearly.report.render import page_of, render_page, write_page
from linearly.report.svg import drawing

Columns = dict[str, NDArray[Any]]
Say = Callable[[str], object]

WIDTH = 80
GAP = "  "

CLASSIFIERS = {
    "perceptron": "perceptron",
    "batch": "batch perceptron",
    "pocket": "pocket perceptron",
    "voted": "voted perceptron",
    "averaged": "averaged perceptron",
    "least-squares": "least squares",
    "lda": "LDA",
    "logistic": "logistic regression",
}


class Score(NamedTuple):
    """Errors of a classifier on rows, and the interval of their share."""

    errors: int
    rows: int
    low: float
    high: float

    @staticmethod
    def of(model: Any, X: Any, y: NDArray[Any]) -> Score:
        """Of a fitted estimator."""
        return Score._of(evaluate(model, X, y).metrics.row(0), len(y))

    @staticmethod
    def of_model(model: Model, data: Columns) -> Score:
        """Of a fitted `Model`."""
        return Score._of(model.evaluate(data).metrics.row(0), len(data[model.target]))

    @staticmethod
    def of_labels(said: NDArray[Any], truth: NDArray[Any]) -> Score:
        """Of answers that no fitted model gave."""
        labels, codes = np.unique(said, return_inverse=True)
        return Score.of(_Rule(labels), codes[:, None].astype(float), truth)

    @staticmethod
    def _of(accuracy: dict[str, Any], n: int) -> Score:
        low, high = 1 - accuracy["conf_high"], 1 - accuracy["conf_low"]
        return Score(round((1 - accuracy["value"]) * n), n, max(low, 0.0), high)

    @property
    def share(self) -> float:
        """Errors a row."""
        return self.errors / self.rows

    def __str__(self) -> str:
        return percent(self.share)

    @property
    def interval(self) -> str:
        """The ends of the interval."""
        return f"{100 * self.low:.1f} to {100 * self.high:.1f}"

    @property
    def number(self) -> str:
        """The share in percent, without the sign."""
        return f"{100 * self.share:.1f}"

    @property
    def with_interval(self) -> str:
        """Both, as short as a table needs it."""
        return f"{self.number} ({self.interval})".replace(" to ", "–")


class Fitted(NamedTuple):
    """A classifier, its errors on the rows that it learnt from, and on others."""

    estimator: Any
    trained: Score
    new: Score


Compared = dict[str, Fitted]


class _Rule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers that are known beforehand: a row holds the place of its label."""

    def __init__(self, labels: NDArray[Any]) -> None:
        self.classes_ = labels

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[np.asarray(X)[:, 0].astype(int)])


class Story:
    """What is told and shown, in order."""

    def __init__(self, name: str, title: str, say: Say) -> None:
        self.name, self.title = name, title
        self.found: dict[str, Any] = {}
        self.heard: list[str] = []
        self.lead: list[str] = []
        self.findings: list[Finding] = []
        self._say, self._sections = say, list[Section]()
        self._model: tuple[Model, Columns, str, bool] | None = None
        self.draws = _installed("matplotlib") and _installed("jinja2")
        say(f"{title}\n{'=' * len(title)}\n")

    # --- telling ----------------------------------------------------------------------------------

    def chapter(self, name: str, title: str) -> None:
        """Begin a new one."""
        self._sections.append(Section(f"story-{name}", title))
        self._say(f"{title}\n{'-' * len(title)}")

    def tell(self, *sentences: str) -> None:
        """A paragraph."""
        said = _bound(" ".join(sentence for sentence in sentences if sentence))
        self._say(_filled(said) + "\n")
        self._add(text(said))

    def table(self, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> None:
        """A table whose first column heads its rows; the columns of `left` hold words."""
        self._say(_grid(head, rows, {0, *left}) + "\n")
        self._add(table(caption, head, rows, left=left))

    def images(self, shown: Sequence[image.Image], caption: str) -> None:
        """Images of digits, side by side."""
        self._say(image.blocks(shown, WIDTH) + "\n")
        self.drawn_images(shown, caption)

    def drawn_images(self, shown: Sequence[image.Image], caption: str) -> None:
        """Images for the page alone."""
        name = f"{self._sections[-1].name}-image-{len(self._sections[-1].parts)}"
        self._add(figure(image.svg(shown, name, caption), caption))

    def picture(
        self, name: str, draw: Callable[[Any], Any], caption: str, size: tuple[float, float] = (6.8, 4.8)
    ) -> None:
        """A picture on the page."""
        if self.draws:
            with drawing():
                self._add(figures.picture(f"{self._sections[-1].name}-{name}", draw, caption, size))

    def _add(self, part: Part) -> None:
        self._sections[-1].parts.append(part)

    # --- computing --------------------------------------------------------------------------------

    def fit(self, data: Columns, target: str, model: str, **params: Any) -> Model:
        """A fitted model; what it warns of is kept in `heard`."""
        with self.listening():
            return fit(data, target=target, model=model, **params)

    def compare(
        self, train: Columns, test: Columns, target: str, names: Sequence[str] = tuple(CLASSIFIERS)
    ) -> Compared:
        """Fit several classifiers to the same rows; their errors on these and on others."""
        (X, y), (new, truth) = matrix(train, target), matrix(test, target)
        found = {}
        for name in names:
            with self.listening():
                model = estimator_of(name, {}).fit(X, y)
            found[name] = Fitted(model, Score.of(model, X, y), Score.of(model, new, truth))
        return found

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keeps the warnings, in place of showing them."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        self.heard = list(dict.fromkeys(str(warning.message) for warning in caught))

    # --- the page ---------------------------------------------------------------------------------

    def about(self, model: Model, data: Columns, words: str, judged: bool = False) -> None:
        """The model whose report ends the page, the rows it is about, what to call it; is it `judged` on others?"""
        self._model = model, data, words, judged

    def write(self, path: Path) -> Path | None:
        """Write the page; None where matplotlib or jinja2 is missing, which is said."""
        if not self.draws:
            self._say("There is no page: it needs matplotlib and jinja2. pip install 'linearly[cli]'")
            return None
        assert self._model is not None
        model, data, words, judged = self._model
        with self.listening():
            found = facts(model, model.design_rows(data))
            own = page_of(found)
        bridge = Section("story-report", f"The report on {words}", [text(_BRIDGE)])
        page = replace(
            own,
            title=self.title,
            good=list(map(_bound, self.lead)) or own.good,
            findings=[
                *self.findings,
                *(finding for finding in own.findings if not judged or finding.key != "rows_unknown"),
            ],
            sections=[*self._sections, bridge, *own.sections],
        )
        write_page(path, render_page(page, found | {"model": f"linearly demo {self.name}"}))
        self._say(f"The whole story with its pictures: {path}")
        return path


_BRIDGE = (
    "From here on this page is what model.report(path, data) writes of any model, on the rows that it learnt from."
)


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def _bound(said: str) -> str:
    """A number stays in the line of its % and its =."""
    return said.replace(" %", "\N{NO-BREAK SPACE}%").replace(" =", "\N{NO-BREAK SPACE}=")


def _filled(said: str) -> str:
    """Lines that fit."""
    lines = textwrap.fill(said, WIDTH, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], left: set[int]) -> str:
    """Columns under their heads; a head may have several lines."""
    above = [name.split("\n") for name in head]
    height = max(map(len, above))
    lines = [list(line) for line in zip(*([""] * (height - len(name)) + name for name in above), strict=True)]
    cells = [*lines, *(list(map(str, row)) for row in rows)]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    told = [
        GAP.join(
            cell.ljust(w) if j in left else cell.rjust(w) for j, (cell, w) in enumerate(zip(row, wide, strict=True))
        )
        for row in cells
    ]
    told.insert(height, GAP.join("-" * w for w in wide))
    return "\n".join(line.rstrip() for line in told)


def subset(data: Columns, rows: NDArray[Any]) -> Columns:
    """Some of the rows."""
    return {name: values[rows] for name, values in data.items()}


def matrix(data: Columns, target: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """All columns but the target, and the target."""
    return np.column_stack([values for name, values in data.items() if name != target]), data[target]


def listed_errors(compared: Compared, **more: Any) -> list[dict[str, Any]]:
    """The errors as plain numbers."""
    return [
        {"classifier": name, **more, "rows": rows, "errors": score.errors, "of": score.rows, "low": score.low,
         "high": score.high}
        for name, fitted in compared.items()
        for rows, score in (("training", fitted.trained), ("new", fitted.new))
    ]  # fmt: skip


def numbered(n: int, noun: str) -> str:
    """No rows, 1 row, 2 rows."""
    return f"{n or 'no'} {noun}{'' if n == 1 else 's'}"
