"""The pictures of a page, drawn from facts alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.plots import style
from linearly.plots.classifier_plots import draw_coefficients, plot_calibration, plot_precision_recall, plot_roc
from linearly.plots.perceptron_plots import draw_mistakes, draw_pocket
from linearly.plots.regions import Plane, draw_points, draw_regions, draw_wrong
from linearly.plots.regression_plots import cook_lines, draw_leverage, draw_qq, draw_residuals, draw_scale_location
from linearly.report import svg
from linearly.report.page_parts import Part, figure, format_count
from linearly.table import Table

Facts = dict[str, Any]
MOST_TERMS = 40  # of an interval plot: more would not be read
HALF = (5.0, 4.2)  # inches of pictures that stand side by side


class Told(NamedTuple):
    """An evaluation as facts tell it, with what the pictures ask of an `Evaluation`."""

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
    def of(found: Facts) -> Told:
        """From the facts."""
        names = ("metrics", "confusion", "per_class", "calibration", "roc", "precision_recall")
        tables: list[Any] = [None if found[name] is None else Table(found[name]) for name in names]
        return Told(found["kind"], found["n"], found["level"], tuple(found["labels"]), *tables)


def picture(name: str, draw: Callable[[Any], Any], caption: str, size: tuple[float, float] = HALF) -> Part:
    """What `draw` draws on new axes, as a figure of the page; its title is the message."""
    import matplotlib.pyplot as plt

    ax = style.axes(None, size)
    drawn = ax.get_figure(root=True)
    assert drawn is not None
    try:
        draw(ax)
        title = " ".join(ax.get_title(loc="left").split())
        return figure(svg.inline(drawn, name, title, caption), caption)
    finally:
        plt.close(drawn)


def numbers(values: Any) -> NDArray[np.float64]:
    """A list with gaps as an array with NaN."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def coefficients(facts: Facts, change: str, about: str = "") -> Part | None:
    """Intervals of the terms, for a standard deviation of each column, the largest first; if few enough to read."""
    columns = {name: list(values) for name, values in facts["terms"].items() if name != "bias"}
    shown = [i for i, term in enumerate(columns["term"]) if term != "Intercept"]
    groups = len(set(columns.get("label", [0])))
    if not shown or len(shown) > MOST_TERMS * groups:
        return None
    unit, caption = f"{change} per unit of the column", "Each is per unit of its own column."
    if facts["scales"]:
        products = {name for name, part in facts["shared"].items() if part["kind"] == "interaction"}
        levels = {*facts["levels"]} - products  # a product with a level varies by more than 0 and 1
        scale = {name: size for name, size in zip(facts["names"], facts["scales"], strict=True) if name not in levels}
        for name in ("estimate", "conf_low", "conf_high"):
            values = numbers(columns[name])
            columns[name] = [value * scale.get(term, 1.0) for term, value in zip(columns["term"], values, strict=True)]
        size = dict.fromkeys(columns["term"], 0.0)
        for term, value in zip(columns["term"], columns["estimate"], strict=True):
            size[term] = max(size[term], abs(value) if value == value else 0.0)
        shown.sort(key=lambda i: -size[columns["term"][i]])
        unit = f"{change} per standard deviation of the column"
        caption = (
            "Each is for one standard deviation more of its column, or for a level of a category, so that lengths "
            "compare; the table is per unit."
        )
    if facts["shared"]:
        caption += " Terms that share a column are read together."
    table = Table({name: [values[i] for i in shown] for name, values in columns.items()})
    height = min(1.3 + (0.32 + 0.14 * (groups - 1)) * len(shown) / groups, 14.0)
    separated = facts.get("separated") is not None
    return picture(
        "coefficients",
        lambda ax: draw_coefficients(ax, table, facts["level"], unit, about=about, separated=separated),
        f"Coefficients with {100 * facts['level']:g} % intervals, hollow where the interval holds 0. {caption}",
        (7.4, height),
    )


def residuals(facts: Facts) -> list[Part]:
    """The four pictures of residuals; two where the rows are not those of the fit."""
    sample = {name: numbers(values) for name, values in facts["sample"].items()}
    drawn = (
        f"{len(sample['row'])} of {format_count(facts['n'])} rows, drawn at random. "
        if len(sample["row"]) < facts["n"]
        else ""
    )
    trend = "The orange line is the mean of neighbouring rows."
    found = [
        picture(
            "residuals",
            lambda ax: draw_residuals(ax, sample["fitted"], sample["residual"]),
            f"{drawn}Each point is a row: what the model says, and by how much it is off. {trend}",
        )
    ]
    if "standardized_residual" not in sample:
        return found
    if facts["two_values"] is not None:  # residuals of two values are not normal, nor alike in size
        return [*found, _leverage(facts, sample, drawn)]
    found.append(
        picture(
            "qq",
            lambda ax: draw_qq(ax, sample["standardized_residual"]),
            f"{drawn}Residuals in order of size beside what normal ones of their number would be.",
        )
    )
    uneven = [("Breusch-Pagan", test["p_value"]) for test in facts["tests"] if test["test"] == "breusch_pagan"]
    test = uneven[0] if uneven and uneven[0][1] is not None else None
    found.append(
        picture(
            "spread",
            lambda ax: draw_scale_location(ax, sample["fitted"], sample["standardized_residual"], test),
            f"{drawn}The size of the residuals, its root so that few large ones do not hide the rest. {trend}",
        )
    )
    return [*found, _leverage(facts, sample, drawn)]


def _leverage(facts: Facts, sample: dict[str, NDArray[np.float64]], drawn: str) -> Part:
    columns = [sample[name] for name in ("leverage", "standardized_residual", "cooks_distance")]
    number = sample["row"].astype(int).astype(object)
    influence, by_line = facts.get("influence") or {}, False
    if influence.get("rows"):
        top = influence["rows"]
        extra = [numbers(top[name]) for name in ("leverage", "standardized_residual", "cooks_distance")]
        # The name of the file is the same for all, and too long to stand beside a point.
        by_line = any(place.startswith("line ") for place in top["place"])
        short = [re.sub(r"^(?:row|line) (\d+)(?: of .*)?$", r"\1", place) for place in top["place"]]
        places = np.array([*short, None], dtype=object)[:-1]
        apart = ~np.isin(columns[2], extra[2])
        columns = [np.concatenate([part[apart], added]) for part, added in zip(columns, extra, strict=True)]
        number = np.concatenate([number[apart], places])
    leverage, standardized, cooks = columns
    k = len(facts["terms"]["term"]) - len(facts["aliased"])
    crossed = [distance for distance, _, _ in cook_lines(leverage, standardized, k)]
    lines = "" if crossed else "Cook's distance is below 0.5 everywhere in the picture. "
    if crossed:
        lines = "Beyond the dashed lines Cook's distance is over 0.5"
        lines += ", beyond the full ones over 1. " if 1.0 in crossed else ". "
    return picture(
        "leverage",
        lambda ax: draw_leverage(ax, leverage, standardized, cooks, number, k),
        f"{drawn}How far a row's columns are from those of the others, and how badly it is fitted. {lines}"
        f"The largest are numbered{', by their lines' if by_line else ''}.",
    )


def penalties(facts: Facts) -> Part:
    """The error on rows left out against the penalty."""
    found = facts["penalties"]

    def draw(ax: Any) -> None:
        alpha, error = np.array(found["alpha"]), numbers(found["error"])
        positive = alpha > 0
        ax.plot(np.log10(alpha[positive]), error[positive], color=style.BLUE, linewidth=2)
        if found["chosen"] > 0:
            ax.axvline(np.log10(found["chosen"]), color=style.VERMILION, linewidth=1.2, linestyle="--")
        style.frame(
            ax, f"alpha {style.number(found['chosen'])} predicts rows left out best", "log₁₀ of alpha",
            "mean squared error on rows left out",
        )  # fmt: skip

    return picture("penalties", draw, "Each penalty was tried on rows that the fit had not seen.", (6.4, 3.4))


def curves(told: Told) -> list[Part]:
    """ROC and precision-recall, where there are scores."""
    found = []
    if told.roc is not None:
        found.append(
            picture(
                "roc",
                lambda ax: plot_roc(told, ax),  # type: ignore[arg-type]
                "Every threshold is a point: how many of the positive rows it finds, at how many false alarms. "
                "The further from the dotted line the better.",
            )
        )
    if told.precision_recall is not None:
        found.append(
            picture(
                "precision",
                lambda ax: plot_precision_recall(told, ax),  # type: ignore[arg-type]
                "The same with the eyes of who gets the alarms: how many of them are right, the more are found.",
            )
        )
    return found


def calibration(told: Told) -> Part | None:
    """Observed against predicted frequency."""
    if told.calibration is None:
        return None
    return picture(
        "calibration",
        lambda ax: plot_calibration(told, ax),  # type: ignore[arg-type]
        "Rows in ten groups by their probability. On the dotted line, what is given a chance of 70 % happens in 70 % "
        "of the rows.",
    )


def regions(facts: Facts) -> Part:
    """The regions of the classes in two features."""
    found = facts["plane"]
    points = np.array(found["points"], dtype=np.float64)
    actual, predicted = np.array(found["actual"]), np.array(found["predicted"])
    plane = Plane(
        None, points, actual, predicted, facts["classes"], tuple(found["names"]), None, points, facts["model"],
        np.array(found["region"]), None if found["lead"] is None else np.array(found["lead"]),
    )  # fmt: skip

    def draw(ax: Any) -> None:
        draw_regions(ax, plane, alpha=0.16)
        draw_points(ax, plane)
        draw_wrong(ax, plane)
        plane.frame(ax, f"{plane.title}: {plane.wrong_side()}")

    shown = f"{len(points)} of {format_count(facts['n'])} rows, drawn at random. " if len(points) < facts["n"] else ""
    return picture(
        "regions",
        draw,
        f"{shown}The colour of the ground is what the model says there, that of a point what is true; what differs is "
        "ringed.",
        (6.8, 4.8),
    )


def mistakes(facts: Facts) -> Part | None:
    """Mistakes of each pass, or the errors in the pocket."""
    found = facts["training"]
    if found["pocket"]:
        return picture(
            "pocket",
            lambda ax: draw_pocket(ax, facts["model"], found["updates_shown"], found["pocket"], found["best_update"]),
            "Errors on all rows after each update; the pocket keeps the weights with the fewest.",
            (6.4, 3.8),
        )
    if not found["mistakes"]:
        return None
    return picture(
        "mistakes",
        lambda ax: draw_mistakes(ax, facts["model"], found["mistakes"]),
        "A pass without a mistake ends the training: every row is then on its own side.",
        (6.4, 3.8),
    )
