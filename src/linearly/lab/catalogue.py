"""List the algorithms of the lab and check the parameters that a viewer sets.

`catalogue.toml` describes every algorithm; its comments explain the fields. The page receives the same descriptions.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Algorithm:
    """An entry of the catalogue."""

    name: str
    title: str
    group: str
    task: str
    idea: str
    parameters: list[dict[str, Any]]

    def defaults(self) -> dict[str, Any]:
        """Return every parameter at its default."""
        return {parameter["name"]: parameter["default"] for parameter in self.parameters}

    def check_settings(self, values: Any) -> dict[str, Any]:
        """Return the defaults updated with the given values; raise `ValueError` for an unknown name or a bad value."""
        if not isinstance(values, dict):
            raise ValueError(f"parameters must be an object, not {type(values).__name__}.")
        known = {parameter["name"]: parameter for parameter in self.parameters}
        for name in values:
            if name not in known:
                raise ValueError(
                    f"{self.title} has no parameter {name!r}; the parameters are {', '.join(known) or 'none'}."
                )
        return self.defaults() | {name: _check_parameter(known[name], value) for name, value in values.items()}


def is_number(value: Any) -> bool:
    """Return whether a value of a message is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check_parameter(parameter: dict[str, Any], value: Any) -> Any:
    if parameter["kind"] == "flag":
        valid, expected = isinstance(value, bool), "true or false"
    elif parameter["kind"] == "choice":
        options = [option for option, _ in parameter["options"]]
        valid, expected = value in options, f"one of {', '.join(options)}"
    else:
        low, high, integer = parameter["low"], parameter["high"], parameter.get("integer", False)
        valid = is_number(value) and low <= value <= high and (not integer or value == int(value))
        expected = f"{'an integer' if integer else 'a number'} from {low:g} to {high:g}"
        if valid:
            value = int(value) if integer else float(value)
    if not valid:
        raise ValueError(f"{parameter['name']} must be {expected}, not {value!r}.")
    return value


_TEXT = resources.files("linearly.lab").joinpath("catalogue.toml").read_text(encoding="utf-8")
ALGORITHMS = {entry["name"]: Algorithm(**entry) for entry in tomllib.loads(_TEXT)["algorithm"]}
