"""Write the Python program that reproduces a frame: the points as arrays, then the frame's own lines."""

from __future__ import annotations

from linearly.lab.lifts import lift_code
from linearly.lab.state import State

_WIDTH = 100


def full_program(state: State, code: str) -> str:
    """Return a program that anyone with the library can run."""
    imports = "import numpy as np\n\nimport linearly as ly\n"
    task = state.method.task
    if task == "truth" and state.settings()["truth"] != "points":
        return f"{imports}\n{code}\n"
    if task == "classes":
        X = [f"[{x!r}, {y!r}]" for x, y, _ in state.points]
        y = [repr(state.classes[label]) for _, _, label in state.points]
    else:
        X = [f"[{x!r}]" for x, _, _ in state.points]
        y = [repr(y) for _, y, _ in state.points]
    program = f"{imports}\nX = {_array(X)}\ny = {_array(y)}\n{lift_code(state.lift)}"
    test = state.test().tolist()
    if test:
        program += (
            f"test = {test}\nX_test, y_test = X[test], y[test]\nX, y = np.delete(X, test, 0), np.delete(y, test)\n"
        )
    return f"{program}\n{code}\n"


def _array(cells: list[str]) -> str:
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > _WIDTH:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    return "np.array([\n" + "\n".join([*lines, line]) + "\n])"
