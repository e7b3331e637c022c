"""Answer the page's messages inside the browser, as the server does on a desktop."""

from __future__ import annotations

import json
from importlib import resources

from linearly.lab.session import Session
from linearly.lab.state import state_from_dict

_start = json.loads(resources.files("linearly.lab").joinpath("start.json").read_text(encoding="utf-8"))
_session = Session(_start["state"] and state_from_dict(_start["state"]), _start["note"])
_session.handle({"do": "open"})  # the film on the page begins in the same state


def answer(message: str) -> str:
    """Return the reply to a message, both as JSON."""
    try:
        reply = _session.handle(json.loads(message))
    except ValueError as error:
        reply = {"error": str(error)}
    return json.dumps(reply, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
