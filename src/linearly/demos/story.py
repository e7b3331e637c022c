"""Print the texts and tables of a demo while they are computed, and collect them for its page.

The texts of a story are in ``stories/<name>.toml``, by chapter; the module of that name computes the numbers in them.
Texts and tables go to the terminal and to the page, pictures to the page only. Images of digits are drawn with block
characters on the terminal. The page ends with the report of one model, as `Model.report` writes it.
"""

from __future__ import annotations

import textwrap
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.api import Model, fit
from linearly.demos import image
from linearly.evaluation.cross_validate import cross_validate
from linearly.evaluation.intervals import wilson
from linearly.findings import Finding
from linearly.models.registry import estimator_of
from linearly.plots.classifier_plots import plot_gaussians
from linearly.plots.style import percent
from linearly.report import figures
from linearly.report.facts import facts
from linearly.report.page_parts import Part, Section, figure, table, text
from linearly.report.render import page_of, render_page, write_page
from linearly.report.svg import drawing

Columns = dict[str, NDArray[Any]]
Say = Callable[[str], object]

WIDTH = 80
GAP = "  "
FOLDS = 5

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
_BRIDGE = (
    "The rest of this page is the report that model.report(path, data) writes for any model, on the rows of the fit."
)


class Score(NamedTuple):
    """Errors of a classifier on rows, and the 95% interval of their share."""

    errors: int
    rows: int
    low: float
    high: float

    @staticmethod
    def of(predicted: NDArray[Any], labels: NDArray[Any]) -> Score:
        """Return the score of predicted labels."""
        right, n = int(np.sum(predicted == labels)), len(labels)
        accuracy = wilson(right / n, n, 0.95)
        return Score(n - right, n, max(1 - accuracy.high, 0.0), 1 - accuracy.low)

    @property
    def share(self) -> float:
        """Errors per row."""
        return self.errors / self.rows

    def __str__(self) -> str:
        return percent(self.share)

    @property
    def interval(self) -> str:
        """The ends of the interval in percent."""
        return f"{100 * self.low:.1f} to {100 * self.high:.1f}"

    @property
    def number(self) -> str:
        """The share in percent, without the sign."""
        return f"{100 * self.share:.1f}"

    @property
    def with_interval(self) -> str:
        """The share and its interval for a table."""
        return f"{self.number} ({self.interval})".replace(" to ", "–")


class Fitted(NamedTuple):
    """A classifier, its errors on its training rows, and on others."""

    estimator: Any
    trained: Score
    new: Score


class HeldOut(NamedTuple):
    """A model, its errors on its training rows, its share of errors on rows left out, and its warnings."""

    model: Model
    trained: Score
    error: float
    warnings: list[str]


Compared = dict[str, Fitted]


class Story:
    """What is told and shown, in order.

    `found` holds the numbers, `texts` the texts of the TOML file, `warned` the warnings of the last fit.
    """

    def __init__(self, name: str, title: str, say: Say) -> None:
        self.name, self.title = name, title
        source = resources.files("linearly.demos").joinpath(f"stories/{name}.toml")
        self.texts: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
        self.found: dict[str, Any] = {}
        self.warned: list[str] = []
        self._lead: list[str] = []
        self._findings: list[Finding] = []
        self._say, self._sections = say, list[Section]()
        self._report: tuple[Model, Columns, str, bool] | None = None
        self.draws = _is_installed("matplotlib") and _is_installed("jinja2")
        say(f"{title}\n{'=' * len(title)}\n")

    # --- telling ----------------------------------------------------------------------------------

    def chapter(self, name: str, **values: Any) -> None:
        """Begin a chapter; the keys of the other methods are looked up in it."""
        self._texts = self.texts[name]
        title = self.text("title", **values)
        self._sections.append(Section(f"story-{name}", title))
        self._say(f"{title}\n{'-' * len(title)}")

    def text(self, key: str, **values: Any) -> str:
        """Return a text of the chapter with its values."""
        return _fill(self._texts[key], values)

    def tell(self, *keys: str, **values: Any) -> None:
        """Tell a paragraph; empty keys are skipped."""
        paragraph = _bind_units(" ".join(self.text(key, **values) for key in keys if key))
        lines = textwrap.fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)
        self._say(lines.replace("\N{NO-BREAK SPACE}", " ") + "\n")
        self._add(text(paragraph))

    def table(self, key: str, rows: Sequence[Sequence[str]], **values: Any) -> None:
        """Show a table whose first column heads its rows; the columns of `left` in its text hold words."""
        about = self._texts[key]
        head, left = [name.format(**values) for name in about["head"]], about.get("left", ())
        self._say(_grid(head, rows, {0, *left}) + "\n")
        self._add(table(_fill(about["caption"], values), head, rows, left=left))

    def images(self, key: str, shown: Sequence[image.Image], *, on_terminal: bool = True) -> None:
        """Show images of digits side by side."""
        if on_terminal:
            self._say(image.blocks(shown, WIDTH) + "\n")
        name = f"{self._sections[-1].name}-image-{len(self._sections[-1].parts)}"
        self._add(figure(image.svg(shown, name, self.text(key)), self.text(key)))

    def picture(
        self,
        name: str,
        draw: Callable[[Any], Any],
        key: str = "",
        size: tuple[float, float] = (6.8, 4.8),
        **values: Any,
    ) -> None:
        """Draw a picture on the page; its caption is the text of `key`, or of its name."""
        if self.draws:
            with drawing():
                caption = self.text(key or name, **values)
                self._add(figures.picture(f"{self._sections[-1].name}-{name}", draw, caption, size))

    def picture_gaussians(
        self, name: str, fitted: Any, X: Any, y: Any, columns: Sequence[str], key: str = "", *, equal: bool = False
    ) -> None:
        """Draw the classes of LDA or QDA in two columns; `equal` scales draw circles as circles."""
        fitted.feature_names_in_ = np.array(columns, dtype=object)

        def draw(ax: Any) -> None:
            plot_gaussians(fitted, X, y, ax)
            if equal:
                ax.set_aspect("equal")

        with self.collect_warnings():
            self.picture(name, draw, key)

    def lead(self, **values: Any) -> None:
        """Set the sentences at the top of the page."""
        self._lead = [_bind_units(_fill(sentence, values)) for sentence in self.texts["lead"]]

    def finding(self, key: str, **values: Any) -> None:
        """Add a finding to the page, which links to the chapter of the same name."""
        parts: dict[str, Any] = {name: _fill(part, values) for name, part in self.texts["findings"][key].items()}
        self._findings.append(Finding(key, about="", **parts, section=f"story-{key}" if key in self.texts else ""))

    def _add(self, part: Part) -> None:
        self._sections[-1].parts.append(part)

    # --- computing --------------------------------------------------------------------------------

    def fit(self, data: Columns, target: str, model: str, **params: Any) -> Model:
        """Return a fitted model; its warnings go to `warned`."""
        with self.collect_warnings():
            return fit(data, target=target, model=model, **params)

    def compare(self, train: Columns, test: Columns, target: str) -> Compared:
        """Fit all classifiers to the same rows; return their errors on these and on others."""
        (X, y), (new, labels) = matrix(train, target), matrix(test, target)
        found = {}
        for name in CLASSIFIERS:
            with self.collect_warnings():
                model = estimator_of(name, {}).fit(X, y)
            found[name] = Fitted(model, Score.of(model.predict(X), y), Score.of(model.predict(new), labels))
        return found

    def table_of_errors(self, compared: Compared, *more: Sequence[str]) -> None:
        """Show the errors of all classifiers, and more rows."""
        rows = [[CLASSIFIERS[name], fit.trained.number, fit.new.with_interval] for name, fit in compared.items()]
        self.table("errors", [*rows, *more])

    def compare_held_out(
        self, data: Columns, target: str, parameters: dict[str, dict[str, Any]] | None = None
    ) -> dict[str, HeldOut]:
        """Fit the models that the texts name, and show their errors on training rows and in cross-validation."""
        found, rows = {}, []
        for name, words in self.texts["models"].items():
            params = (parameters or {}).get(name, {})
            model = self.fit(data, target, name, **params)
            warned, score = self.warned, Score.of(model.predict(data), data[target])
            error = self.held_out_error(estimator_of(name, params), *matrix(data, target))
            found[name] = HeldOut(model, score, error, warned)
            rows.append([words, score.with_interval, f"{100 * error:.1f}"])
        self.table("errors", rows, folds=FOLDS)
        return found

    def held_out_error(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the share of rows that are predicted wrongly by fits without them."""
        with self.collect_warnings():
            held = cross_validate(estimator, X, y, folds=FOLDS)
        return 1 - float(np.average(held["accuracy"], weights=held["rows"]))

    @contextmanager
    def collect_warnings(self) -> Iterator[None]:
        """Collect the warnings in `warned` instead of showing them."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        self.warned = list(dict.fromkeys(str(warning.message) for warning in caught))

    # --- the page ---------------------------------------------------------------------------------

    def report(self, model: Model, data: Columns, *, judged: bool = False, **values: Any) -> None:
        """Set the model whose report ends the page, and its rows; is it `judged` on others?"""
        self._report = model, data, self.texts["report"]["model"].format(**values), judged

    def write(self, path: Path) -> Path | None:
        """Write the page and return its path; return None if matplotlib or jinja2 is missing."""
        if not self.draws:
            self._say("No page was written, because matplotlib or jinja2 is missing. Run pip install 'linearly[cli]'.")
            return None
        assert self._report is not None
        model, data, words, judged = self._report
        with self.collect_warnings():
            found = facts(model, model.design_rows(data), training=True)
            own = page_of(found)
        # The demo has evaluated the model on other rows, which may contradict these findings.
        unsaid = ({"rows_of_the_fit"} if judged else set()) | ({"nothing_against"} if self._findings else set())
        findings = [finding for finding in own.findings if finding.id not in unsaid]
        bridge = Section("story-report", f"The report on {words}", [text(_BRIDGE)], folded=True)
        page = replace(
            own,
            title=self.title,
            good=self._lead or own.good,
            findings=[*self._findings, *findings],
            sections=[*self._sections, bridge, *(replace(section, folded=True) for section in own.sections)],
        )
        write_page(path, render_page(page, found | {"model": f"linearly demo {self.name}"}))
        self._say(f"All results with plots: {path}")
        return path


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def _fill(template: str, values: dict[str, Any]) -> str:
    return " ".join(template.split()).format(**values)


def _bind_units(sentence: str) -> str:
    """Keep a number on the line of its % and its =."""
    return sentence.replace(" %", "\N{NO-BREAK SPACE}%").replace(" =", "\N{NO-BREAK SPACE}=")


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], left: set[int]) -> str:
    """Return columns under their heads, which may have several lines."""
    heads = [name.split("\n") for name in head]
    height = max(map(len, heads))
    above = zip(*([""] * (height - len(name)) + name for name in heads), strict=True)
    cells = [*map(list, above), *(list(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(height, ["-" * width for width in widths])
    form = GAP.join(f"{{:{'<' if j in left else '>'}{width}}}" for j, width in enumerate(widths))
    return "\n".join(form.format(*row).rstrip() for row in cells)


# --- data and numbers -----------------------------------------------------------------------------


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        raise FileNotFoundError(f"The file {str(path)!r} does not exist. Check the path.") from None


def subset(data: Columns, rows: NDArray[Any]) -> Columns:
    """Return some of the rows."""
    return {name: values[rows] for name, values in data.items()}


def without(data: Columns, *names: str) -> Columns:
    """Return the other columns."""
    return {name: values for name, values in data.items() if name not in names}


def matrix(data: Columns, target: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return all columns but the target, and the target."""
    return np.column_stack(list(without(data, target).values())), data[target]


def checked(*proofs: Any) -> str:
    """Return whether proofs hold in exact arithmetic, in words."""
    return "checked in exact arithmetic" if all(proof.check() for proof in proofs) else "not confirmed"


def count_covered(terms: Iterable[dict[str, Any]], truth: dict[str, float]) -> int:
    """Return how many intervals of terms hold the truth."""
    return sum(row["conf_low"] <= truth[row["term"]] <= row["conf_high"] for row in terms)


def tied_best(errors: Mapping[str, float]) -> list[str]:
    """Return the names with the fewest errors: several if they tie.

    >>> tied_best({"lda": 0.1, "qda": 0.2, "logistic": 0.1})
    ['lda', 'logistic']
    """
    least = min(errors.values())
    return [name for name, error in errors.items() if error <= least + 1e-12]


def listed_errors(compared: Compared, **more: Any) -> list[dict[str, Any]]:
    """Return the errors as plain numbers."""
    return [
        {"classifier": name, **more, "rows": rows, "errors": score.errors, "of": score.rows, "low": score.low,
         "high": score.high}
        for name, fitted in compared.items()
        for rows, score in (("training", fitted.trained), ("new", fitted.new))
    ]  # fmt: skip
