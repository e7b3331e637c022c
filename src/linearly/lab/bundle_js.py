"""Combine the page's JavaScript modules into one, because notebooks load a widget from a single text."""

from __future__ import annotations

import re
from importlib import resources

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', flags=re.M)
_EXPORT = re.compile(r"^export (?=async |class |const |function )", flags=re.M)


def bundle_modules() -> str:
    """Return ``lab.js`` and everything it imports, each after its own imports.

    The modules then share one scope: tests check that their names differ and that there are no import cycles.
    """
    web = resources.files("linearly.lab").joinpath("web")
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in parts:
            return
        text = web.joinpath(name).read_text(encoding="utf-8")
        for needed in _IMPORT.findall(text):
            add(needed)
        parts[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add("lab.js")
    return "\n".join(parts.values())
