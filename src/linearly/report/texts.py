"""Fill the sentences of a page, which are in templates/*.toml, with facts.

Each sentence is a Jinja template. Facts are its variables, and the formatters of `page_parts` its filters.
"""

from __future__ import annotations

import tomllib
from functools import cache, partial
from pathlib import Path
from typing import Any

from linearly.findings.sentences import describe_option
from linearly.report import page_parts
from linearly.report.page_parts import Facts

TEMPLATES = Path(__file__).parent / "templates"


class Texts:
    """Sentences about one model: for its kind of page, and for all pages.

    Parameters
    ----------
    facts : dict
        Facts about the model, as `facts` collects them.
    **more : Any
        Further variables for every sentence.
    """

    def __init__(self, facts: Facts, **more: Any) -> None:
        self._sources = _load_sources("common") | _load_sources(facts["kind"])
        self.variables = {"commands": False, **facts, **more}
        self.variables["option"] = partial(describe_option, self.variables)
        self.variables["held_out_rows"] = self("held_out_rows")

    def __call__(self, key: str, **more: Any) -> str:
        """Return the sentence of a key such as "fit.lead"."""
        return self._fill(self._find(key), more)

    def sentences(self, key: str, **more: Any) -> list[str]:
        """Return a list of sentences without empty ones."""
        return [sentence for source in self._find(key) if (sentence := self._fill(source, more))]

    def rows(self, key: str, **more: Any) -> list[list[str]]:
        """Return the rows of a table whose first cell is not empty."""
        filled = ([self._fill(source, more) for source in row] for row in self._find(key))
        return [row for row in filled if row[0]]

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
