"""Fill the sentences of a page, which are in templates/*.toml, with facts.

Each sentence is a Jinja template. Facts are its variables, and the formatters of `page_parts` its filters.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from linearly.report import page_parts
from linearly.report.page_parts import Facts, Finding

TEMPLATES = Path(__file__).parent / "templates"


class Texts:
    """Sentences about one model: those of its kind of page, and those of all pages.

    Parameters
    ----------
    facts : dict
        Facts about the model, as `facts` collects them.
    **more : Any
        Further variables for every sentence.
    """

    def __init__(self, facts: Facts, **more: Any) -> None:
        self._sources = _load_sources("common") | _load_sources(facts["kind"])
        self.variables = {"commands": False, **facts, **more, "option": self._option}
        for name in ("evaluate_call", "predict_call", "clustered_option", "held_out_rows"):
            self.variables[name] = self(name)

    def __call__(self, key: str, **more: Any) -> str:
        """Return the sentence of a key such as "fit.lead"."""
        return self._fill(self._find(key), more)

    def sentences(self, key: str, **more: Any) -> list[str]:
        """Return a list of sentences without those that are empty."""
        return [sentence for source in self._find(key) if (sentence := self._fill(source, more))]

    def rows(self, key: str, **more: Any) -> list[list[str]]:
        """Return the rows of a table without those whose first cell is empty."""
        filled = ([self._fill(source, more) for source in row] for row in self._find(key))
        return [row for row in filled if row[0]]

    def finding(self, key: str, **more: Any) -> Finding:
        """Return a finding: its mark, sentence, action and section."""
        filled = {name: self._fill(source, more) for name, source in self._find(f"findings.{key}").items()}
        return Finding(**filled, key=key)

    def _option(self, name: str, value: Any) -> str:
        """Return a model or a parameter as an option of the command line, or as an argument in Python."""
        if not self.variables["commands"]:
            return f'{name}="{value}"' if isinstance(value, str) else f"{name}={value!r}"
        return f"--{name} {value}" if name in ("model", "alpha") else f"--param {name}={value}"

    def _find(self, key: str) -> Any:
        source: Any = self._sources
        for name in key.split("."):
            source = source[name]
        return source

    def _fill(self, source: str, more: Facts) -> str:
        return str(_compile(source).render(self.variables | more))


@cache
def _load_sources(name: str) -> dict[str, Any]:
    return tomllib.loads((TEMPLATES / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def _compile(source: str) -> Any:
    return environment(autoescape=False).from_string(source)


@cache
def environment(*, autoescape: bool) -> Any:
    """Return the Jinja environment of pages, or that of sentences, which are escaped on their page."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("Reports need jinja2: pip install 'linearly[cli]'") from error
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= page_parts.FORMATTERS
    made.globals |= page_parts.FORMATTERS
    return made
