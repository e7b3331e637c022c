"""One style for all plots: colours, sizes, and axes whose title states the message.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish; classes also differ in shape.
Settings of matplotlib change for new axes only, and are restored.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from linearly.formatting import format_number, pluralize, shorten, shorten_names, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
VERMILION = "#D55E00"  # what is wrong, and nothing else
BLACK, GREY, PALE = "#000000", "#777777", "#D9D9D9"
SHAPES = ("o", "^", "s", "D", "v", "P", "X")  # one more than colours: a pair comes back after 42 classes

# The rows that lines of `dots` stand for: a page shows them under the pointer.
DOT_NAMES: WeakKeyDictionary[Any, Sequence[Any]] = WeakKeyDictionary()

SIZE = (6.4, 4.6)  # inches
TITLE, TEXT, SMALL = 11.5, 10.0, 8.5  # points
_WIDTH = 12.5  # characters of a title to the inch
_LETTERS = 14  # of a legend or of the name of an axis to the inch
_ENTRY = 7  # letters that the mark of an entry of a legend takes
_MAX_LEGEND_ROWS, _SHORT = 4, 12  # rows of a legend, for which names are cut to this many letters
_BELOW = 38  # points from the axes to a legend below them: ticks and the name of the axis

_PAPER: Any = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": "#444444",
    "axes.labelcolor": BLACK,
    "axes.titlecolor": BLACK,
    "axes.grid": False,
    "text.color": BLACK,
    "font.family": ["DejaVu Sans"],  # matplotlib brings it along: the same picture on every machine
}


def axes(ax: Axes | None = None, size: tuple[float, float] = SIZE) -> Axes:
    """Return the given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'linearly[cli]'") from error
    with plt.rc_context(_PAPER):
        _, new = plt.subplots(figsize=size, layout="constrained")
        new.tick_params(colors="#444444", labelcolor=BLACK)
    return new


def frame(ax: Axes, message: str, x: str = "", y: str = "") -> Axes:
    """Set the message as title, name the axes, and hide the top and right spines."""
    _title(ax, message, ax.bbox.width)
    across, up = (int(_LETTERS * side / ax.figure.dpi) for side in (ax.bbox.width, ax.bbox.height))
    ax.set_xlabel(shorten(visible(x), across), fontsize=TEXT)
    ax.set_ylabel(shorten(visible(y), up), fontsize=TEXT)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _title(ax: Axes, message: str, room: float) -> None:
    inches = room / ax.figure.dpi
    ax.set_title(wrap_evenly(visible(message), max(int(_WIDTH * inches), 20)), loc="left", fontsize=TITLE)


def wrap_evenly(text: str, width: int) -> str:
    """Return text in as few lines of at most `width` characters as it takes, about equally long.

    >>> print(wrap_evenly("No evidence of a curve along the fitted values", 44))
    No evidence of a curve
    along the fitted values
    """
    lines = textwrap.wrap(text, width)
    narrow = math.ceil(len(text) / max(len(lines), 1))
    tries = (textwrap.wrap(text, some) for some in range(narrow, width))
    return "\n".join(next((some for some in tries if len(some) == len(lines)), lines))


def wrap_again(ax: Axes, message: str) -> None:
    """Break the lines of a title for the width that long names and a legend leave."""
    root = ax.get_figure(root=True)
    layout = None if root is None else root.get_layout_engine()
    if root is not None and layout is not None:
        layout.execute(root)
        _title(ax, message, 0.95 * (root.bbox.width - ax.bbox.x0))


def legend(ax: Axes, **where: Any) -> None:
    """Add a legend below the axes, where it covers no data, in as many columns as fit; `where` moves it.

    Names of many entries are cut so that they leave room for the data.
    """
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    below = ax.transAxes + ScaledTranslation(0, -_BELOW / 72, figure.dpi_scale_trans)
    handles, names = ax.get_legend_handles_labels()
    longest = max((len(line) for name in names for line in name.split("\n")), default=1)
    letters = int(_LETTERS * ax.bbox.width / ax.figure.dpi)
    n_columns = max(letters // (longest + _ENTRY), 1)
    if len(names) > _MAX_LEGEND_ROWS * n_columns:
        n_columns = min(math.ceil(len(names) / _MAX_LEGEND_ROWS), max(letters // (_SHORT + _ENTRY), 1))
    names = _shorten_lines(names, max(letters // n_columns - _ENTRY, _SHORT))
    settings: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0), "bbox_transform": below}
    settings = {} if "bbox_to_anchor" in where else settings | {"ncols": n_columns}
    settings |= {"fontsize": SMALL, "framealpha": 0.9, "facecolor": "white", "edgecolor": PALE, "labelcolor": BLACK}
    drawn = ax.legend(handles, names, **settings | {"borderaxespad": 0.0} | where)
    drawn.get_title().set_color(BLACK)
    for text in (drawn.get_title(), *drawn.get_texts()):
        text.set_text(visible(text.get_text()))


def _shorten_lines(names: list[str], width: int) -> list[str]:
    """Return names of at most `width` letters; those that have lines already stay as they are."""
    single = [name for name in names if "\n" not in name]
    short = dict(zip(single, shorten_names(single, width), strict=True))
    return [short.get(name, name) for name in names]


def dots(
    ax: Axes, x: Any, y: Any, *, color: str = BLUE, size: float = 4.5, alpha: float = 0.65, names: Any = None
) -> None:  # fmt: skip
    """Draw rows as round markers without edges; a page shows their `names` under the pointer."""
    (drawn,) = ax.plot(
        x, y, linestyle="", marker="o", markersize=size, markeredgewidth=0, color=color, alpha=alpha, zorder=2
    )  # fmt: skip
    if names is not None:
        DOT_NAMES[drawn] = names


def row_name(name: Any) -> str:
    """Return the name of a row: "row 7" for 7; text is returned unchanged."""
    return name if isinstance(name, str) else f"row {name}"


def integer_ticks(ax: Axes) -> None:
    """Put ticks of both axes at integers only."""
    from matplotlib.ticker import MaxNLocator

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))


def colour(k: int) -> str:
    """Return the colour of class k."""
    return COLOURS[k % len(COLOURS)]


def shape(k: int) -> str:
    """Return the marker of class k."""
    return SHAPES[k % len(SHAPES)]


def tint(of: str, share: float) -> tuple[float, float, float]:
    """Return a colour mixed with white: 0 is white, 1 the colour itself."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1 - share * (1 - part) for part in to_rgb(of))
    return red, green, blue


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, 0.9332 → 93.3%; 100% and 0% only if they are exact."""
    rounded, least = f"{100 * share:.{digits}f}", 10.0**-digits
    if share < 1 and float(rounded) == 100:
        return f"> {100 - least:.{digits}f}%"
    if share > 0 and float(rounded) == 0:
        return f"< {least:.{digits}f}%"
    return ("100" if share == 1 else rounded) + "%"


def number(value: float) -> str:
    """Return a number to three digits, as pages and screens write it."""
    return format_number(value, 3)


def count(n: int, one: str, many: str = "") -> str:
    """Return "1 row", "2 rows" or "no rows"."""
    return pluralize(n, one, many, zero="no")
