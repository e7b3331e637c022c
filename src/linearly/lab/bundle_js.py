"""The page's script as one module: notebooks load a widget from one text, and the page is written in several files."""

from __future__ import annotations

import re
from importlib import resources

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', flags=re.M)
_EXPORT = re.compile(r"^export (?=async |class |const |function )", flags=re.M)


def one_module(entry: str = "lab.js") -> str:
    """The module and all that it imports, each after those it imports itself.

    They then share one scope, so their names must differ and none may import what imports it; both are tested.
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

    add(entry)
    return "\n".join(parts.values())
