"""The lab in a notebook: `LabWidget`, the same page by anywidget, in Jupyter, marimo and VS Code."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

try:
    import anywidget
except ImportError:
    raise ImportError("The lab in a notebook needs anywidget: pip install 'linearly[lab]'") from None

from linearly.lab.bundle_js import one_module
from linearly.lab.server import start_state
from linearly.lab.session import Session


class LabWidget(anywidget.AnyWidget):
    """The lab as the output of a cell.

    Parameters
    ----------
    data : a file or data frame to begin with; the default is a small example.
    x, y, target : its columns, as for `linearly.lab.server.serve`.

    ``widget.session.state`` holds the points and what was chosen; it can be read at any time.
    """

    _esm = one_module()
    _css = resources.files("linearly.lab").joinpath("web", "lab.css").read_text(encoding="utf-8")

    def __init__(self, data: Any = None, x: str | None = None, y: str | None = None, target: str | None = None) -> None:
        state, note = start_state(data, x, y, target)
        self.session = Session(state, note)
        super().__init__()
        self.on_msg(self._heard)

    def _heard(self, widget: Any, content: Any, buffers: Any) -> None:
        """A message of the page, with a number that its reply repeats."""
        if not isinstance(content, dict):
            return
        number = content.get("number")
        message = {name: value for name, value in content.items() if name != "number"}
        try:
            reply = self.session.handle(message)
        except ValueError as error:
            reply = {"error": str(error)}
        # Through JSON text, as the server sends it: the same bits, and no NaN.
        self.send({"number": number, "reply": json.dumps(reply, ensure_ascii=False, allow_nan=False)})
