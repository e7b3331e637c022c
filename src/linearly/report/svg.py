"""Turn a matplotlib figure into small SVG for a page, without style attributes and in the page's colours.

A strict content security policy forbids style attributes, so they become plain attributes. Colours of `style` become
classes, which the page's style sheet sets for light and dark. Identifiers are unique to the figure.
"""

from __future__ import annotations

import io
import re
import warnings
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from linearly.formatting import visible
from linearly.plots import style

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from matplotlib.figure import Figure

_COLOUR_CLASSES = {
    style.BLACK: "ink",
    "#444444": "line",
    style.GREY: "grey",
    style.PALE: "pale",
    "#EEEEEE": "faint",
    style.BLUE: "blue",
    style.ORANGE: "orange",
    style.GREEN: "green",
    style.PURPLE: "purple",
    style.SKY: "sky",
    style.YELLOW: "yellow",
    style.VERMILION: "vermilion",
    "#FFFFFF": "paper",
}
_NUMBERS = {"d", "x", "y", "transform", "points", "width", "height", "r", "cx", "cy"}
_DEFAULTS = {("opacity", "1"), ("stroke-linejoin", "miter"), ("stroke-linejoin", "round"), ("stroke-linecap", "butt")}
_SCALE = 4 / 3  # pixels to the point: as large as it would print
_WIDE = 560  # pixels from which on a picture is not shrunk to a narrow screen
_DOTS = "rows:"  # begins the identifier of dots whose rows are known
_EMPTY = {"path", "use", "rect", "image", "line", "circle"}

_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "linearly",
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "text.parse_math": False,  # a column may be called $x$
    "path.simplify_threshold": 0.3,  # points: contours of a grid become straight where they are
}


def drawing() -> AbstractContextManager[None]:
    """Return a context with the settings of matplotlib for figures of a page."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError("Reports need matplotlib: pip install 'linearly[cli]'") from error
    return _with_settings(mpl.rc_context(_SETTINGS))


@contextmanager
def _with_settings(settings: AbstractContextManager[None]) -> Iterator[None]:
    with settings, warnings.catch_warnings():
        # Letters that matplotlib's font lacks are written all the same: the page is read in the reader's own font.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        yield


def inline(figure: Figure, name: str, title: str, description: str, rows: Sequence[str] = ()) -> str:
    """Return a figure as an <svg> element with a title and a description for screen readers.

    `rows` are the names of rows that the page holds: dots of these rows refer to them.
    """
    text = io.StringIO()
    _join_dots(figure, {row: i for i, row in enumerate(rows)})
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)  # once; savefig alone would draw everything twice for it
        figure.set_layout_engine(None)
    figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    root = ElementTree.fromstring(visible(text.getvalue()))  # XML holds no control characters
    values = (value for element in root.iter() for value in element.attrib.values())
    targets = [url or link for value in values for url, link in re.findall(r"url\(#([^)]+)\)|^#(.+)$", value)]
    ids = {target: f"{name}-{i}" for i, target in enumerate(dict.fromkeys(targets))}
    body = "".join(_write(child, ids) for child in root)
    box = _shorten(root.attrib["viewBox"])
    width, height = (round(_SCALE * float(side)) for side in box.split()[2:])
    look = "figure wide" if width > _WIDE else "figure"
    return (
        f'<svg class="{look}" role="img" aria-labelledby="{name}-title {name}-desc" viewBox="{box}" width="{width}" '
        f'height="{height}"><title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">'
        f"{escape(description)}</desc>{body}</svg>"
    )


def _join_dots(figure: Figure, rows: dict[str, int]) -> None:
    """Replace markers of `style.dots` by one path of lines that have no length and round ends: a tenth of the bytes.

    Browsers draw such lines as dots. Agg, which draws PNG, drops them, so figures themselves have ordinary markers.
    The path knows the rows that its dots stand for, by their places among the rows of the page; none if they are all
    of them in order.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    for ax in figure.axes:
        for line in list(ax.lines):
            if (line.get_marker(), line.get_linestyle(), line.get_markeredgewidth()) != ("o", "None", 0):
                continue
            places = np.repeat(np.asarray(line.get_xydata(), dtype=float), 2, axis=0)
            path = Path(places, [Path.MOVETO, Path.LINETO] * (len(places) // 2))
            path.should_simplify = False
            drawn = PathPatch(path, fill=False, edgecolor=line.get_color(), linewidth=line.get_markersize())
            drawn.set(capstyle="round", alpha=line.get_alpha(), zorder=line.get_zorder())
            names = style.DOT_NAMES.get(line)
            if rows and names is not None:
                at = [rows[style.row_name(name)] for name in names]
                drawn.set_gid(_DOTS + ("" if at == list(range(len(at))) else " ".join(map(str, at))))
            ax.add_patch(drawn)
            line.remove()


def _write(element: ElementTree.Element, ids: dict[str, str]) -> str:
    """Return an element and its children as text, without those that draw nothing."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("metadata", "style"):
        return ""
    attributes = dict(_attributes(element, ids))
    inside = "".join(_write(child, ids) for child in element)
    if tag == "g" and not attributes:
        return inside
    invisible = tag == "path" and attributes.get("fill") == "none" == attributes.get("stroke", "none")
    if (tag in ("g", "defs") and not inside) or (invisible and "class" not in attributes):
        return ""
    if tag in ("text", "tspan"):
        inside = escape(element.text or "", quote=False) + inside
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{tag}{written}/>" if tag in _EMPTY and not inside else f"<{tag}{written}>{inside}</{tag}>"


def _attributes(element: ElementTree.Element, ids: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an element: styles as plain attributes, colours of the page as classes."""
    tag = element.tag.rpartition("}")[2]
    for key, value in element.attrib.items():
        key = key.rpartition("}")[2]
        if key == "id" and value in ids:
            yield "id", ids[value]
        elif key == "id" and value.startswith(_DOTS):
            yield "data-rows", value.removeprefix(_DOTS)
        elif key in ("href", "clip-path"):
            yield key, re.sub(r"#([^)]+)", lambda found: "#" + ids[found[1]], value)
        elif key not in ("id", "style") and (key, value) not in _DEFAULTS and not value.startswith("rotate(-0 "):
            yield key, _shorten(value) if key in _NUMBERS else value
    styles, classes = dict(_styles(element.get("style", ""))), []
    for key, value in styles.items():
        colour = _COLOUR_CLASSES.get(value.upper()) if key in ("fill", "stroke") else None
        if colour is not None and not (colour == "paper" and tag == "text"):
            classes.append(f"{key[0]}-{colour}")
        elif (key, value) not in _DEFAULTS:
            yield key, value
    # matplotlib leaves out a black fill; what is drawn by <use> takes the fill from there.
    if tag in ("text", "use", "path") and "id" not in element.attrib and styles and "fill" not in styles:
        classes.append("f-ink")
    if classes:
        yield "class", " ".join(classes)


def _styles(text: str) -> Iterator[tuple[str, str]]:
    """Yield the declarations of a style attribute; of a font, its size and weight."""
    for part in text.split(";"):
        key, _, value = (piece.strip() for piece in part.partition(":"))
        if key == "font":
            yield from (("font-size", size) for size in re.findall(r"([\d.]+)px", value)[:1])
            yield from [("font-weight", "bold")] if "bold" in value else []
        elif key and key != "font-family":
            yield key, value


def _shorten(numbers: str) -> str:
    """Return coordinates with two decimals; a dot becomes a line of nearly no length, which printers need."""
    short = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), numbers)
    short = re.sub(r"(?<![\d.])-0(?![\d.])", "0", short)
    short = re.sub(r"M (\S+) (\S+)\s*L \1 \2\s*", r"M\1 \2h.01", short)
    return re.sub(r"\s*([MLQCZz])\s*", r"\1", re.sub(r"\s+", " ", short)).strip()
