"""Render facts as one self-contained HTML page: no network, and no script but its own."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

from linearly.dataset.files.atomic_file import write_atomic
from linearly.dataset.rows.block import is_rows
from linearly.formatting import visible
from linearly.inference.unwrap import unwrap_estimator
from linearly.report.classifier_page import classifier_page
from linearly.report.facts import facts
from linearly.report.page_parts import Facts, Page
from linearly.report.regression_page import regression_page
from linearly.report.sparse_page import sparse_page
from linearly.report.svg import drawing
from linearly.report.texts import TEMPLATES, environment

_PAGES = {"regression": regression_page, "classification": classifier_page, "sparse": sparse_page}


def write_report(
    model: Any, data: Any, path: str | os.PathLike[str], *, no_rows: bool = False, level: float = 0.95,
    commands: bool = False, held_out: Any = None, training: bool | None = None, positive: Any = None,
) -> None:  # fmt: skip
    """Write one self-contained page about a fitted `Model`, or a fitted estimator, on these data.

    Parameters
    ----------
    model : Model or estimator
        Fitted model.
    data : data or Rows
        What ``model.design_rows`` takes, with the target; usually the rows of the fit. Rows for an estimator.
    path : str or path
        File to write; it is replaced only when the page is complete.
    no_rows : bool, default=False
        If True, leave out every value of a single row: samples, influential rows, witnesses.
    level : float, default=0.95
        Confidence level of all intervals.
    commands : bool, default=False
        If True, give advice as commands of the command line, not as Python.
    held_out : data or Rows, optional
        Data that were not part of the fit. The page leads with the metrics on them.
    training : bool, optional
        True if ``data`` are the rows of the fit, None if unknown. A regression determines it.
    positive : label, optional
        Which of two labels precision and recall are about. By default, the one named at the fit, or else the rarer one.
    """
    rows, other = _as_rows(model, data), None if held_out is None else _as_rows(model, held_out)
    found = facts(model, rows, level=level, no_rows=no_rows, held_out=other, training=training, positive=positive)
    write_page(Path(path), render(found | {"commands": commands}))


def render(found: Facts) -> str:
    """Return the HTML page of facts."""
    return render_page(page_of(found), found)


def page_of(found: Facts) -> Page:
    """Return the contents of the page of facts, before they are HTML."""
    with drawing():
        return _PAGES[found["kind"]](found)


def render_page(page: Page, found: Facts) -> str:
    """Return a page as HTML, with the name of the model and the version from the facts."""
    templates = environment(autoescape=True)
    style, script, hover = (_source(name) for name in ("page.css", "refit.js", "hover.js"))
    scripts = " ".join(f"'{_hash(source)}'" for source, used in ((hover, page.rows), (script, page.refit)) if used)
    policy = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        *([f"script-src {scripts}"] if scripts else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    html: str = templates.get_template("page.html").render(
        page=page, facts=found, style=style, script=script, hover=hover, policy="; ".join(policy)
    )
    return visible(html)


def _as_rows(model: Any, data: Any) -> Any:
    if is_rows(data):
        return data
    if unwrap_estimator(model) is model:
        raise TypeError(
            "A report on a bare estimator requires Rows with targets. Make them with "
            "linearly.dataset.rows.block.as_rows(X, y), or report on a Model returned by ly.fit."
        )
    if not model.names:
        raise ValueError("The model has only an intercept, but a report requires at least one term. Add a column.")
    return model.design_rows(data)


def write_page(path: Path, page: str) -> None:
    """Write a page; if anything fails, the file that was there before stays."""
    write_atomic(path, page.encode("utf-8"))


def _source(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8").strip()


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
