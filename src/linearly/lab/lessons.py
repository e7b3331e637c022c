"""Lessons: scenes in the order of a first course, each with a sentence, a question to answer first, and an answer.

`lessons.toml` holds the words and the settings of every scene.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib import resources
from typing import Any

from linearly.lab.presets import preset
from linearly.lab.state import State, check_algorithm, check_option

_TEXT = resources.files("linearly.lab").joinpath("lessons.toml").read_text(encoding="utf-8")
_LESSONS: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in tomllib.loads(_TEXT)["lesson"]}
_WORDS = ("name", "title", "sentence", "question", "choices", "right", "answer", "play", "hide")


def lessons() -> list[dict[str, Any]]:
    """Return the words of every lesson, for the page."""
    return [{key: lesson[key] for key in _WORDS if key in lesson} for lesson in _LESSONS.values()]


def lesson_state(name: Any) -> tuple[State, str]:
    """Return the state of a lesson's scene and the name of its points."""
    if not isinstance(name, str) or name not in _LESSONS:
        raise ValueError(f"{name!r} is not a lesson. Choose one of {', '.join(_LESSONS)}.")
    lesson = _LESSONS[name]
    state = replace(
        preset(lesson["points"]),
        algorithm=check_algorithm(lesson["algorithm"]),
        parameters=lesson.get("parameters", {}),
        comparison=lesson.get("comparison", ""),
        **{key: check_option(key, value) for key, value in lesson.get("options", {}).items()},
    )
    return state, lesson["points"]
