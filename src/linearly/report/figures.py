"""The figures of a page, drawn from facts alone. Their captions are in the templates of sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linearly.findings.regression import STRONG, is_rejected
from linearly.kernels.double_double import Array
from linearly.plots import style
from linearly.plots.coefficient_plots import draw_coefficients
from linearly.plots.evaluation_plots import plot_calibration, plot_precision_recall, plot_roc
from linearly.plots.perceptron_plots import draw_mistakes, draw_pocket
from linearly.plots.projection_plots import draw_scores, score_margins
from linearly.plots.regions import Plane, draw_classes
from linearly.plots.regression_plots import cook_lines, draw_leverage, draw_qq, draw_residuals, draw_scale_location
from linearly.report import svg
from linearly.report.page_parts import MAX_ROWS, SHOWN_ROWS, Facts, Part, figure
from linearly.report.texts import Texts
from linearly.table import Table

HALF = (5.0, 4.2)  # inches of figures that stand side by side
_INFLUENCE = ("leverage", "standardized_residual", "cooks_distance")


class StoredEvaluation(NamedTuple):
    """A stored evaluation, with the parts of an `Evaluation` that plots require."""

    kind: str
    n: int
    level: float
    labels: tuple[str, ...]
    metrics: Table
    confusion: Table
    per_class: Table | None
    calibration: Table | None
    roc: Table | None
    precision_recall: Table | None

    @staticmethod
    def of(facts: Facts) -> StoredEvaluation:
        """Return an evaluation from its facts."""
        names = ("metrics", "confusion", "per_class", "calibration", "roc", "precision_recall")
        tables: list[Any] = [None if facts[name] is None else Table(facts[name]) for name in names]
        return StoredEvaluation(facts["kind"], facts["n"], facts["level"], tuple(facts["labels"]), *tables)


def picture(
    name: str,
    draw: Callable[[Any], Any],
    caption: str,
    size: tuple[float, float] = HALF,
    rows: Sequence[str] = (),
) -> Part:
    """Return what `draw` draws on new axes as a figure of a page; the title of the axes becomes its title.

    `rows` are the names of rows that the page shows under the pointer.
    """
    import matplotlib.pyplot as plt

    ax = style.axes(None, size)
    drawn = ax.get_figure(root=True)
    assert drawn is not None
    try:
        draw(ax)
        title = " ".join(ax.get_title(loc="left").split())
        return figure(svg.inline(drawn, name, title, caption, rows), caption)
    finally:
        plt.close(drawn)


def to_array(values: Any) -> Array:
    """Return a list as an array in which None is NaN."""
    return np.array(values, dtype=np.float64)


def coefficients(facts: Facts, texts: Texts, change: str, group_title: str = "") -> list[Part]:
    """Return intervals of the terms, for a standard deviation of each column; of many terms, the largest."""
    columns = {name: list(values) for name, values in facts["terms"].items() if name != "bias"}
    terms = columns["term"]
    shown = [i for i, term in enumerate(terms) if term != "Intercept"]
    n_groups = len(set(columns.get("label", [0])))
    if not shown:
        return []
    n_terms = len(shown) // n_groups
    n_drawn = n_terms if n_terms <= MAX_ROWS else SHOWN_ROWS
    unit = "unit"
    if facts["scales"]:
        unit = "standard deviation"
        products = {name for name, part in facts["shared"].items() if part["kind"] == "interaction"}
        levels = {*facts["levels"]} - products  # a product with a level varies by more than 0 and 1
        scale = {name: size for name, size in zip(facts["names"], facts["scales"], strict=True) if name not in levels}
        for name in ("estimate", "conf_low", "conf_high"):
            columns[name] = list(to_array(columns[name]) * [scale.get(term, 1.0) for term in terms])
    if facts["scales"] or n_drawn < n_terms:
        largest = dict.fromkeys(terms, 0.0)
        for term, value in zip(terms, np.abs(np.nan_to_num(columns["estimate"])), strict=True):
            largest[term] = max(largest[term], value)
        shown.sort(key=lambda i: -largest[terms[i]])
    table = Table({name: [values[i] for i in shown] for name, values in columns.items()})
    separated = facts.get("separated") is not None

    def draw(ax: Any) -> None:
        about = f"{change} per {unit} of the column"
        draw_coefficients(
            ax, table, facts["level"], about, group_title=group_title, separated=separated, n_drawn=n_drawn
        )

    pitch = (0.32 if n_drawn <= 8 else 0.26) + 0.14 * (n_groups - 1)
    height = min(1.3 + pitch * n_drawn, 14.0)
    caption = texts("figures.coefficients", n_drawn=n_drawn, n_all=n_terms)
    return [picture("coefficients", draw, caption, (7.4, height))]


def residuals(facts: Facts, texts: Texts, rows: Sequence[str]) -> list[Part]:
    """Return the four figures of residuals; fewer if rows differ from the fitted ones, or the target has two values.

    `rows` are the names of the rows: those of the sample come first, then those of influential rows.
    """
    sample = {name: to_array(values) for name, values in facts["sample"].items() if name != "place"}
    drawn = texts("figures.sample", n_drawn=len(sample["row"]))
    fitted, standardized = sample["fitted"], sample.get("standardized_residual")
    names = list(rows[: len(fitted)])
    tests = {test["test"]: test["p_value"] for test in facts["tests"]}
    curved = None if tests.get("curvature") is None else is_rejected({"p_value": tests["curvature"]})

    def caption(name: str) -> str:
        return f"{drawn}{texts(f'figures.{name}')}"

    found = [
        picture(
            "residuals",
            lambda ax: draw_residuals(ax, fitted, sample["residual"], names, curved),
            caption("residuals"),
            rows=rows,
        )
    ]
    if standardized is None:
        return found
    if facts["two_values"] is None:  # otherwise residuals are neither normal nor alike in size
        p = tests.get("unequal_variance")
        test = None if p is None else ("Koenker's test", p)
        found += [
            picture("qq", lambda ax: draw_qq(ax, standardized, names), caption("qq"), rows=rows),
            picture(
                "spread",
                lambda ax: draw_scale_location(ax, fitted, standardized, test, names),
                caption("spread"),
                rows=rows,
            ),
        ]
    return [*found, _leverage(facts, texts, sample, drawn, rows)]


def _leverage(facts: Facts, texts: Texts, sample: dict[str, Array], drawn: str, rows: Sequence[str]) -> Part:
    columns = [sample[name] for name in _INFLUENCE]
    names, places = list(rows[: len(columns[0])]), set(facts["sample"]["place"])
    top = (facts.get("influence") or {}).get("rows") or {"place": []}
    more = [i for i, place in enumerate(top["place"]) if place not in places]
    if more:
        columns = [
            np.concatenate([part, to_array(top[name])[more]]) for part, name in zip(columns, _INFLUENCE, strict=True)
        ]
        names += rows[len(names) : len(names) + len(more)]
    by_line = any(place.startswith("line ") for place in top["place"])
    leverage, standardized, cooks = columns
    k = len(facts["terms"]["term"]) - len(facts["aliased"])
    contours = [distance for distance, _, _ in cook_lines(leverage, standardized, k)]
    return picture(
        "leverage",
        lambda ax: draw_leverage(ax, leverage, standardized, cooks, np.array(names, dtype=object), k),
        drawn + texts("figures.leverage", contours=contours, by_line=by_line, n_strong=int((cooks > STRONG).sum())),
        rows=rows,
    )


def penalties(facts: Facts, texts: Texts) -> Part:
    """Return the error on held-out rows against the penalty."""
    alpha, chosen = np.array(facts["penalties"]["alpha"]), facts["penalties"]["chosen"]
    error, positive = to_array(facts["penalties"]["error"]), alpha > 0

    def draw(ax: Any) -> None:
        ax.plot(np.log10(alpha[positive]), error[positive], color=style.BLUE, linewidth=2)
        if chosen > 0:
            ax.axvline(np.log10(chosen), color=style.VERMILION, linewidth=1.2, linestyle="--")
        message = f"alpha {style.number(chosen)} has the smallest held-out error"
        style.frame(ax, message, "log₁₀ of alpha", "mean squared error on held-out rows")

    return picture("penalties", draw, texts("figures.penalties"), (6.4, 3.4))


def curves(evaluation: Any, texts: Texts) -> list[Part]:
    """Return the ROC and the precision-recall curve if there are scores."""
    found = []
    if evaluation.roc is not None:
        found.append(picture("roc", lambda ax: plot_roc(evaluation, ax), texts("figures.roc")))
    if evaluation.precision_recall is not None:
        caption = texts("figures.precision_recall")
        found.append(picture("precision", lambda ax: plot_precision_recall(evaluation, ax), caption))
    return found


def calibration(evaluation: Any, texts: Texts) -> Part:
    """Return observed against predicted frequency."""
    return picture("calibration", lambda ax: plot_calibration(evaluation, ax), texts("figures.calibration"))


def regions(facts: Facts, texts: Texts) -> Part:
    """Return the regions of the classes in two features."""
    found = facts["plane"]
    points = to_array(found["points"])
    plane = Plane(
        model=None,
        points=points,
        actual=np.array(found["actual"]),
        predicted=np.array(found["predicted"]),
        labels=facts["classes"],
        names=tuple(found["names"]),
        data=None,
        extent=points,
        title=facts["model"],
        known_region=np.array(found["region"]),
        margins=None if found["lead"] is None else np.array(found["lead"]),
    )
    caption = texts("figures.sample", n_drawn=len(points)) + texts("figures.regions")
    return picture("regions", lambda ax: draw_classes(ax, plane), caption, (6.8, 4.8))


def projection(facts: Facts, texts: Texts) -> Part:
    """Return the rows along the directions in which a discriminant analysis separates the classes."""
    found = facts["projection"]
    points, means, constants = (to_array(found[name]) for name in ("points", "means", "constants"))
    actual, predicted = np.array(found["actual"]), np.array(found["predicted"])
    caption = texts("figures.sample", n_drawn=len(points)) + texts("figures.projection", n_shown=points.shape[1])
    if points.shape[1] == 1:
        m, c = means[:, 0], constants
        threshold = float((c[0] - c[1]) / (m[1] - m[0]))
        side = (points[:, 0], actual, predicted, facts["classes"], threshold, facts["model"])
        return picture("projection", lambda ax: draw_scores(ax, *side), caption, (6.8, 4.4))
    names = [f"direction {i} ({style.percent(share, 0)})" for i, share in enumerate(found["shares"], 1)]
    plane = Plane(
        model=None,
        points=points,
        actual=actual,
        predicted=predicted,
        labels=facts["classes"],
        names=tuple(names),
        data=None,
        extent=points,
        title=facts["model"],
        known_region=np.empty((120, 120), dtype=int),
    )
    plane = plane._replace(margins=score_margins(means, constants, *plane.grid()))
    return picture("projection", lambda ax: draw_classes(ax, plane), caption, (6.8, 4.8))


def mistakes(facts: Facts, texts: Texts) -> list[Part]:
    """Return the mistakes of each pass, or the errors in the pocket, if they are known."""
    found, model = facts["training"], facts["model"]
    if found["pocket"]:
        curve = (found["updates_shown"], found["pocket"], found["best_update"])
        return [picture("pocket", lambda ax: draw_pocket(ax, model, *curve), texts("figures.pocket"), (6.4, 3.8))]
    if not found["mistakes"]:
        return []
    caption = texts("figures.mistakes")
    return [picture("mistakes", lambda ax: draw_mistakes(ax, model, found["mistakes"]), caption, (6.4, 3.8))]
