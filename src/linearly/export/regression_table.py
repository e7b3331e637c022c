"""Set fitted models side by side, as papers do: text, Markdown, LaTeX, HTML, Typst and Word."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

import numpy as np

from linearly.dataset.files.atomic_file import write_atomic
from linearly.formatting import MISSING, visible
from linearly.inference.glance import glance
from linearly.inference.tidy import tidy
from linearly.inference.unwrap import unwrap_estimator
from linearly.table import Grid, Table

MAX_DIGITS = 7  # significant digits of an estimate
ERROR_DIGITS = 3  # significant digits of a standard error

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of the files inside a Word document


@dataclass(frozen=True)
class RegressionTable:
    """Models side by side: one column per model, two rows per term, statistics of the fits below.

    `regression_table` returns it. It prints as text, and the same models always give the same bytes.

    Attributes
    ----------
    header : tuple of str
        Empty, then the names of the models.
    coefficients : tuple of tuple of str
        Rows of estimates, each followed by the row of its standard errors.
    statistics : tuple of tuple of str
        Rows of statistics of the fits.
    notes : tuple of str
        Explanations of the numbers.

    See Also
    --------
    regression_table : Return this table.

    Examples
    --------
    >>> import linearly as ly
    >>> data = {"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 3.1, 4.9, 7.0]}
    >>> print(ly.regression_table([ly.fit(data, target="y")]).to_markdown().splitlines()[2])
    | Intercept | 1.0300 |
    """

    header: tuple[str, ...]
    coefficients: tuple[tuple[str, ...], ...]
    statistics: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        right = [False, *[True] * (len(self.header) - 1)]
        lines = Grid(list(self.header), right, [list(row) for row in (*self.coefficients, *self.statistics)]).text()
        rule = lines[1]
        at = 2 + len(self.coefficients)
        return visible("\n".join([*lines[:at], rule, *lines[at:], *self.notes]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_markdown(self) -> str:
        """Return the table in Markdown."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(_escape_markdown(cell) for cell in cells) + " |"

        rule = "|" + "|".join([":--", *["--:"] * (len(self.header) - 1)]) + "|"
        rows = [line(self.header), rule, *map(line, (*self.coefficients, *self.statistics))]
        return "\n".join([*rows, "", *map(_escape_markdown, self.notes)]) + "\n"

    def to_latex(self) -> str:
        r"""Return a ``tabular`` environment in LaTeX, with rules from the package booktabs."""

        def lines(rows: Sequence[Sequence[str]]) -> list[str]:
            return [" & ".join(map(_escape_latex, row)) + r" \\" for row in rows]

        width = len(self.header)
        notes = [rf"\multicolumn{{{width}}}{{l}}{{\footnotesize {_escape_latex(note)}}} \\" for note in self.notes]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}", r"\toprule", *lines([self.header]), r"\midrule",
                *lines(self.coefficients), r"\midrule", *lines(self.statistics), r"\bottomrule", *notes,
                r"\end{tabular}", "",
            ]
        )  # fmt: skip

    def to_html(self) -> str:
        """Return the table in HTML."""

        def row(cells: Sequence[str]) -> str:
            first = f'<th scope="row" style="text-align:left">{_escape_html(cells[0])}</th>'
            rest = (f'<td style="text-align:right">{_escape_html(cell)}</td>' for cell in cells[1:])
            return f"<tr>{first}{''.join(rest)}</tr>"

        headings = (f'<th scope="col" style="text-align:right">{_escape_html(name)}</th>' for name in self.header[1:])

        notes = "".join(f"<p>{_escape_html(note)}</p>" for note in self.notes)
        return (
            f'<div class="linearly-table"><table><thead><tr><td></td>{"".join(headings)}</tr></thead>\n<tbody>'
            + "\n".join(map(row, self.coefficients))
            + "</tbody>\n<tbody>"
            + "\n".join(map(row, self.statistics))
            + f"</tbody></table>{notes}</div>\n"
        )

    def to_typst(self) -> str:
        """Return a ``table`` in Typst."""
        width = len(self.header)

        def lines(rows: Sequence[Sequence[str]]) -> list[str]:
            return ["  " + ", ".join(f"[{_escape_typst(cell)}]" for cell in row) + "," for row in rows]

        align = ", ".join(["left", *["right"] * (width - 1)])
        notes = [f"  table.cell(colspan: {width}, [{_escape_typst(note)}])," for note in self.notes]
        return "\n".join(
            [
                "#table(", f"  columns: {width},", f"  align: ({align}),", "  stroke: none,", "  table.hline(),",
                *lines([self.header]), "  table.hline(stroke: 0.5pt),", *lines(self.coefficients),
                "  table.hline(stroke: 0.5pt),", *lines(self.statistics), "  table.hline(),", *notes, ")", "",
            ]
        )  # fmt: skip

    def to_docx(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a Word document.

        Parameters
        ----------
        path : str or path-like
            File to write, ending in .docx.

        Raises
        ------
        ImportError
            If python-docx is not installed.
        """
        try:
            import docx
        except ImportError as error:
            raise ImportError("Word documents need python-docx. Run: pip install 'linearly[docx]'.") from error
        document: Any = docx.Document()
        properties = document.core_properties
        properties.author, properties.comments = "", ""
        properties.created = properties.modified = datetime(*_EPOCH[:3], tzinfo=UTC)
        rows = [self.header, *self.coefficients, *self.statistics]
        table = document.add_table(rows=len(rows), cols=len(self.header))
        for row, cells in zip(table.rows, rows, strict=True):
            for j, (cell, text) in enumerate(zip(row.cells, cells, strict=True)):
                paragraph = cell.paragraphs[0]
                paragraph.add_run(visible(text))
                paragraph.alignment = 2 if j else 0
        for note in self.notes:
            document.add_paragraph(visible(note))
        packed = io.BytesIO()
        document.save(packed)
        write_atomic(os.fspath(path), _without_times(packed.getvalue()))


def regression_table(
    models: Sequence[Any], *, names: Sequence[str] | None = None, stars: bool = False
) -> RegressionTable:
    """Return models side by side: estimates with standard errors below them, and statistics of the fits.

    Parameters
    ----------
    models : sequence of Model, estimator or path
        Fitted linear, ridge or logistic models, or model files.
    names : sequence of str, default=None
        Headings of the columns; (1), (2), … by default.
    stars : bool, default=False
        If True, mark p-values below 0.05, 0.01 and 0.001 with one, two and three stars.

    Returns
    -------
    RegressionTable
        Text when printed, with ``to_markdown``, ``to_latex``, ``to_html``, ``to_typst`` and ``to_docx(path)``.

    Raises
    ------
    TypeError
        If a model has no standard errors.
    ValueError
        If no model is given, or not as many names as models.

    See Also
    --------
    tidy : The coefficients of one model.
    compare_models : Test whether a bigger model fits better.

    Notes
    -----
    Standard errors have three significant digits, and estimates have the same number of decimals. No number has more
    digits than ``glance`` reports as correct.

    Examples
    --------
    >>> import linearly as ly
    >>> data = {"x": [0.0, 1.0, 2.0, 3.0], "z": [1.0, 0.0, 1.0, 1.0], "y": [1.0, 3.1, 4.9, 7.0]}
    >>> print(ly.regression_table([ly.fit(data, formula=f"y ~ {terms}") for terms in ("x", "x + z")]))
                                  (1)       (2)
    -------------------------------------------
    Intercept                  1.0300    1.1071
                             (0.0794)  (0.0884)
    x                          1.9800    1.9929
                             (0.0424)  (0.0371)
    z                                   -0.1286
                                       (0.0958)
    -------------------------------------------
    Target                          y         y
    Rows                            4         4
    R²                         0.9991    0.9997
    Adjusted R²                0.9986    0.9990
    Residual standard error   0.09487   0.08018
    Log likelihood              5.132     7.191
    AIC                        -4.263    -6.382
    Standard errors are in brackets (classical).
    """
    given = list(models)
    if not given:
        raise ValueError("regression_table needs at least one model. Pass one.")
    if names is not None and (isinstance(names, str) or len(names) != len(given)):
        raise ValueError(f"names= must have one name per model ({len(given)} models). Pass as many names.")
    headings = [f"({i})" for i in range(1, len(given) + 1)] if names is None else [str(name) for name in names]
    opened = [_open(model) for model in given]
    columns = [_column(model, stars) for model in opened]
    terms = dict.fromkeys(term for column, _, _ in columns for term in column)
    rows: list[tuple[str, ...]] = []
    for term in terms:
        cells = [column.get(term, ("", "")) for column, _, _ in columns]
        rows += [(term, *(cell[0] for cell in cells)), ("", *(cell[1] for cell in cells))]
    labels = dict.fromkeys(label for _, statistics, _ in columns for label in statistics)
    statistics = [(label, *(column.get(label, "") for _, column, _ in columns)) for label in labels]
    kinds = [str(getattr(unwrap_estimator(model), "covariance", "classical")) for model in opened]
    if len(set(kinds)) > 1:
        statistics.append(("Standard errors", *kinds))
        notes = ["Standard errors are in brackets."]
    else:
        notes = [f"Standard errors are in brackets ({kinds[0]})."]
    if stars:
        notes.append("* p < 0.05, ** p < 0.01, *** p < 0.001")
    notes += _caveats(headings, [own for _, _, own in columns])
    targets = dict.fromkeys(_target(model) for model in opened)
    if None not in targets:
        statistics.insert(0, ("Target", *(str(_target(model)) for model in opened)))
    return RegressionTable(("", *headings), tuple(rows), tuple(statistics), tuple(notes))


def _open(model: Any) -> Any:
    if not isinstance(model, (str, os.PathLike)):
        return model
    from linearly.export.model_file import read  # loads msgspec, which fitted models do without

    return read(model)


def _target(model: Any) -> str | None:
    design = getattr(model, "design", None)
    return None if design is None or design.target is None else design.target.factor.label


def _caveats(headings: Sequence[str], notes: Sequence[Sequence[str]]) -> list[str]:
    """Return what limits the numbers of some models, such as a penalty, with the headings of these models."""
    found: dict[str, list[str]] = {}
    for heading, own in zip(headings, notes, strict=True):
        for note in own:
            found.setdefault(note, []).append(heading)
    return [note if len(headings) == 1 else f"{', '.join(where)}: {note}" for note, where in found.items()]


def _column(model: Any, stars: bool) -> tuple[dict[str, tuple[str, str]], dict[str, str], Sequence[str]]:
    """Return estimate and standard error by term, the statistics of the fit, and the notes of `tidy`."""
    estimator = unwrap_estimator(model)
    terms, fit = tidy(estimator), glance(estimator).row(0)
    if len(glance(estimator)) > 1:
        raise ValueError("regression_table requires models with one target. Fit each target separately.")
    digits = float(fit["digits"])
    cells = {}
    for row in terms:
        name = f"{row['label']}: {row['term']}" if "label" in terms.columns else str(row["term"])
        star = next((mark for limit, mark in _STARS if row["p_value"] < limit), "") if stars else ""
        estimate, error = format_estimate(row["estimate"], row["std_error"], digits)
        cells[name] = (estimate + star, f"({error})" if error else "")
    return cells, _statistics(fit, digits), terms.notes


def format_estimate(estimate: float, error: float, digits: float) -> tuple[str, str]:
    """Return an estimate and its standard error as text, with no more digits than are correct.

    >>> format_estimate(1234.5678, 0.012345, 12.0), format_estimate(1234.5678, 0.012345, 5.2)
    (('1234.5678', '0.0123'), ('1234.6', '0.0123'))
    """
    if not (math.isfinite(estimate) and math.isfinite(error)):
        return MISSING, ""
    known = MAX_DIGITS if math.isnan(digits) else int(digits)
    if error == 0:
        return _significant(estimate, min(known, MAX_DIGITS)), "0"
    decimals = ERROR_DIGITS - 1 - math.floor(math.log10(error))
    size = math.floor(math.log10(abs(estimate))) if estimate else 0
    # Correct digits, not a fixed number: they bound the decimals of a large estimate with a small error.
    decimals = min(decimals, max(known, 0) - 1 - size) if known > 0 else -1
    if known <= 0:
        return MISSING, MISSING
    return _decimals(estimate, decimals), _significant(error, min(ERROR_DIGITS, known))


def _significant(value: float, digits: int) -> str:
    if digits <= 0:
        return MISSING
    size = math.floor(math.log10(abs(value))) if value else 0
    rounded = round(value, digits - 1 - size)
    if rounded and math.log10(abs(rounded)) >= size + 1:  # 9.9996 has become 10
        size += 1
    return _decimals(rounded, digits - 1 - size)


def _decimals(value: float, decimals: int) -> str:
    rounded = round(value, decimals) + 0.0  # no minus before a zero
    if rounded and not 1e-5 <= abs(rounded) < 1e9:
        size = math.floor(math.log10(abs(rounded)))
        return f"{rounded:.{max(decimals + size, 0)}e}"
    return f"{rounded:.{max(decimals, 0)}f}"


def _statistics(fit: dict[str, Any], digits: float) -> dict[str, str]:
    """Return statistics of a fit by their labels."""
    known = MAX_DIGITS if math.isnan(digits) else max(int(digits), 0)
    labels = {
        "r_squared": "R²",
        "adj_r_squared": "Adjusted R²",
        "sigma": "Residual standard error",
        "pseudo_r_squared": "McFadden's R²",
        "log_likelihood": "Log likelihood",
        "aic": "AIC",
        "n_clusters": "Clusters",
    }
    found = {"Rows": f"{fit['n']:,}"}
    for name, label in labels.items():
        if name not in fit:
            continue
        value = float(fit[name])
        if name == "n_clusters":
            found[label] = f"{int(value):,}"
        else:
            found[label] = _significant(value, min(4, known)) if np.isfinite(value) else MISSING
    return found


# --- formats --------------------------------------------------------------------------------------


def _escape_markdown(text: str) -> str:
    text = visible(text)
    for mark in "\\`*_[]<>|~$&":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "²": r"\textsuperscript{2}", "–": "--",
    "*": "{*}", "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "[": "{[}", "]": "{]}",
}  # fmt: skip


def _escape_latex(text: str) -> str:
    escaped = "".join(_LATEX.get(mark, mark) for mark in " ".join(visible(text).split()))
    return f"${escaped}$" if _is_number(text) and text.startswith("-") else escaped


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _escape_html(text: str) -> str:
    return escape(visible(text))


def _escape_typst(text: str) -> str:
    text = " ".join(visible(text).split())
    return "".join("\\" + mark if mark in "\\#$*_`<>@[]=-+/~'\"" else mark for mark in text)


def _without_times(packed: bytes) -> bytes:
    """Return a ZIP archive in which every file has the same time, so that it depends on its contents only."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as source, zipfile.ZipFile(result, "w") as target:
        for entry in source.infolist():
            plain = zipfile.ZipInfo(entry.filename, _EPOCH)
            plain.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(plain, source.read(entry.filename))
    return result.getvalue()


def coefficient_table(table: RegressionTable) -> Table:
    """Return the cells of a regression table as a `Table` of texts, for JSON."""
    rows = [*table.coefficients, *table.statistics]
    names = ["term", *table.header[1:]]
    return Table({name: [row[j] for row in rows] for j, name in enumerate(names)}, notes=table.notes)
