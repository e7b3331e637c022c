"""The Python that reproduces a frame: the points as arrays, then the lines of the film."""

from __future__ import annotations

from typing import Any

from linearly.lab.state import State

_WIDTH = 100


def listing(state: State, code: str) -> str:
    """A program that anyone with the library can run."""
    head = "import numpy as np\n\nimport linearly as ly\n"
    task = state.method.task
    if task == "truth" and state.settings()["truth"] != "points":
        return f"{head}\n{code}\n"
    if task == "classes":
        X = _array([f"[{x!r}, {y!r}]" for x, y, _ in state.points])
        y = _array([repr(state.classes[label]) for _, _, label in state.points])
    else:
        X = _array([f"[{x!r}]" for x, _, _ in state.points])
        y = _array([repr(y) for _, y, _ in state.points])
    return f"{head}\nX = {X}\ny = {y}\n\n{code}\n"


def _array(cells: list[Any]) -> str:
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > _WIDTH:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    return "np.array([\n" + "\n".join([*lines, line]) + "\n])"
