"""Show the lab in a notebook (Jupyter, marimo, VS Code) by anywidget."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

try:
    import anywidget
except ImportError:
    raise ImportError("The lab in a notebook needs anywidget: pip install 'linearly[lab]'") from None

from linearly.lab.bundle_js import bundle_modules
from linearly.lab.server import start_state
from linearly.lab.session import Session


class LabWidget(anywidget.AnyWidget):
    """The lab as the output of a cell.

    Parameters
    ----------
    data : path or data frame, optional
        Points to begin with. The default is a small example.
    x, y, target : str, optional
        Columns of the data, as in `linearly.lab.server.serve`.

    Attributes
    ----------
    session : Session
        ``widget.session.state`` holds the points and the choices of the viewer.
    """

    _esm = bundle_modules()
    _css = resources.files("linearly.lab").joinpath("web", "lab.css").read_text(encoding="utf-8")

    def __init__(self, data: Any = None, x: str | None = None, y: str | None = None, target: str | None = None) -> None:
        state, note = start_state(data, x, y, target)
        self.session = Session(state, note)
        super().__init__()
        self.on_msg(self._on_message)

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        """Reply to a message of the page; the reply repeats the message's number."""
        if not isinstance(content, dict):
            return
        number = content.get("number")
        message = {name: value for name, value in content.items() if name != "number"}
        try:
            reply = self.session.handle(message)
        except ValueError as error:
            reply = {"error": str(error)}
        # As JSON text, like the server's replies: the same bits, and no NaN.
        self.send({"number": number, "reply": json.dumps(reply, ensure_ascii=False, allow_nan=False)})
