"""One style for all plots: colours, sizes, and axes whose title states the message.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish; classes also differ in shape.
Settings of matplotlib change for new axes only, and are restored.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linearly.formatting import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
VERMILION = "#D55E00"  # what is wrong, and nothing else
BLACK, GREY, PALE = "#000000", "#777777", "#D9D9D9"
SHAPES = ("o", "^", "s", "D", "v", "P", "X")  # one more than colours: a pair comes back after 42 classes

SIZE = (6.4, 4.6)  # inches
TITLE, TEXT, SMALL = 11.5, 10.0, 8.5  # points
_WIDTH = 12.5  # characters of a title to the inch

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
    ax.set_xlabel(visible(x), fontsize=TEXT)
    ax.set_ylabel(visible(y), fontsize=TEXT)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _title(ax: Axes, message: str, room: float) -> None:
    inches = room / ax.figure.dpi
    ax.set_title(textwrap.fill(visible(message), max(int(_WIDTH * inches), 20)), loc="left", fontsize=TITLE)


def wrap_again(ax: Axes, message: str) -> None:
    """Break the lines of a title for the width that long names and a legend leave."""
    root = ax.get_figure(root=True)
    layout = None if root is None else root.get_layout_engine()
    if root is not None and layout is not None:
        layout.execute(root)
        _title(ax, message, 0.95 * (root.bbox.width - ax.bbox.x0))


def legend(ax: Axes, **where: Any) -> None:
    """Add a legend on a nearly opaque white ground."""
    settings: dict[str, Any] = {"loc": "best", "fontsize": SMALL, "framealpha": 0.9, "facecolor": "white"}
    settings |= {"edgecolor": PALE, "labelcolor": BLACK} | where
    drawn = ax.legend(**settings)
    drawn.get_title().set_color(BLACK)
    for text in (drawn.get_title(), *drawn.get_texts()):
        text.set_text(visible(text.get_text()))


def dots(ax: Axes, x: Any, y: Any, *, color: str = BLUE, size: float = 4.5, alpha: float = 0.65) -> None:
    """Draw rows as round markers without edges."""
    ax.plot(
        x, y, linestyle="", marker="o", markersize=size, markeredgewidth=0, color=color, alpha=alpha, zorder=2,
    )  # fmt: skip


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
    """Return a share in percent, 0.9332 → 93.3 %; 100 % and 0 % only if they are exact."""
    rounded, least = f"{100 * share:.{digits}f}", 10.0**-digits
    if share < 1 and float(rounded) == 100:
        return f"> {100 - least:.{digits}f} %"
    if share > 0 and float(rounded) == 0:
        return f"< {least:.{digits}f} %"
    return ("100" if share == 1 else rounded) + " %"


def number(value: float) -> str:
    """Return a number to three digits, without an exponent below a million, with a minus sign."""
    return (f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}").replace("-", "−")


def count(n: int, one: str, many: str = "") -> str:
    """Return "1 row", "2 rows" or "no rows"."""
    return f"{n or 'no'} {one if n == 1 else many or one + 's'}"


def shorten_names(names: Sequence[str], width: int) -> list[str]:
    """Return names of limited width, cut in the middle, at the start or at the end: where most stay different."""
    names = [visible(name) for name in names]

    def cut(name: str, head: int) -> str:
        return name if len(name) <= width else f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"

    ways = [[cut(name, head) for name in names] for head in (width - 1, (width - 1) * 2 // 3, 0)]
    return max(ways, key=lambda way: len(set(way)))
