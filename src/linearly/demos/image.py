"""Small grey images, as block characters for a terminal and as SVG for a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from linearly.kernels.double_double import Array

SHADES = " ░▒▓█"
_LEVELS = 10  # of ink in an SVG
_LINES = 8  # of a terminal; a character is twice as high as wide
_ACROSS = 4  # images side by side on a page
_SIDE, _BETWEEN, _CAPTION = 150, 24, 17  # of an image on a page, of what is left free, of a line of text


class Image(NamedTuple):
    """Pixels from 0 (paper) to 1 (ink), or from −1 to 1 where two colours tell the sign; and what stands below."""

    pixels: Array
    caption: str


def blocks(images: Sequence[Image], width: int) -> str:
    """Return the images side by side, as many as fit into a line, with their captions below."""
    shown = [_lines(one) for one in images]
    wide = max(len(line) for lines in shown for line in lines) + 3
    at_once = max(1, (width + 3) // wide)
    rows = []
    for start in range(0, len(shown), at_once):
        few = shown[start : start + at_once]
        rows.append("\n".join("".join(part.ljust(wide) for part in line).rstrip() for line in zip(*few, strict=True)))
    return "\n\n".join(rows)


def _lines(one: Image) -> list[str]:
    """Return eight lines and the caption: two characters per pixel of an image of eight rows, fewer of a larger one."""
    height = len(one.pixels)
    step = max(1, height // _LINES)
    pixels = one.pixels[: height // step * step].reshape(-1, step, one.pixels.shape[1]).mean(axis=1)
    level = np.rint(np.clip(pixels, 0, 1) * (len(SHADES) - 1)).astype(int)
    told = ["".join(SHADES[shade] * (2 if step == 1 else 1) for shade in row) for row in level]
    return [*told, *one.caption.split("\n")]


def svg(images: Sequence[Image], name: str, title: str) -> str:
    """Return the images in rows, as an <svg> element in the colours of the page."""
    lines = max(one.caption.count("\n") + 1 for one in images)
    high = _SIDE + _CAPTION * lines + 10
    rows = -(-len(images) // _ACROSS)
    width, height = _ACROSS * (_SIDE + _BETWEEN) - _BETWEEN, rows * (high + _BETWEEN) - _BETWEEN
    parts = []
    for k, one in enumerate(images):
        x, y = k % _ACROSS * (_SIDE + _BETWEEN), k // _ACROSS * (high + _BETWEEN)
        parts.append(f'<g transform="translate({x} {y})">{_drawn(one)}</g>')
    return (
        f'<svg class="figure" role="img" aria-labelledby="{name}-title" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"><title id="{name}-title">{escape(title)}</title>{"".join(parts)}</svg>'
    )


def _drawn(one: Image) -> str:
    """Return the image as SVG elements; squares of equal shade are one path."""
    rows, columns = one.pixels.shape
    level = np.rint(np.clip(np.abs(one.pixels), 0, 1) * _LEVELS).astype(int) * np.where(one.pixels < 0, -1, 1)
    signed = bool((one.pixels < 0).any())
    paths = []
    for shade in sorted(set(level.ravel().tolist()) - {0}):
        colour = ("f-blue" if shade < 0 else "f-orange") if signed else "f-ink"
        squares = "".join(f"M{j} {i}h1v1h-1z" for i, j in np.argwhere(level == shade).tolist())
        paths.append(f'<path class="{colour}" fill-opacity="{abs(shade) / _LEVELS:g}" d="{squares}"/>')
    told = "".join(
        f'<text class="f-ink" font-size="12" x="0" y="{_SIDE + _CAPTION * (i + 1)}">{escape(line)}</text>'
        for i, line in enumerate(one.caption.split("\n"))
    )
    scale = f"{_SIDE / columns:g} {_SIDE / rows:g}"
    paper = f'<rect class="f-faint" width="{_SIDE}" height="{_SIDE}"/>'
    return f'{paper}<g transform="scale({scale})">{"".join(paths)}</g>{told}'
