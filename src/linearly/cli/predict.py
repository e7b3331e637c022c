"""`linearly predict` and `linearly evaluate`: a saved model on other rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.inputs import load_model, read, refuse_output
from linearly.cli.options import common, data_argument, level_option, model_argument, names
from linearly.cli.progress import Progress
from linearly.cli.terminal import (
    count,
    evaluation,
    note,
    print_err,
    print_out,
    put_json,
    refuse_closed_output,
    saved,
    short,
)

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Chunk, Tables


@click.command()
@model_argument
@data_argument
@click.option("--output", "-o", metavar="FILE", help="Write to a .csv, .csv.gz or .parquet file.")
@click.option("--keep", multiple=True, callback=names, metavar="A,B", help="Columns of DATA to write beside.")
@click.option(
    "--escape-formulas", is_flag=True, help="Write texts such as =1+1 so that no spreadsheet runs them: '=1+1."
)
@common
def predict(
    model: str, data: str, output: str | None, keep: tuple[str, ...], escape_formulas: bool, as_json: bool
) -> None:
    """Predict the target for the rows of DATA, which need not have it.

    Rows stream through: memory does not grow with their number. Without -o the answers go to standard output as CSV.
    Models with probabilities write one column a label.

    \b
    Examples:
      linearly predict model.json new.csv -o answers.parquet --keep customer
      linearly predict model.json new.csv | head
    """
    from linearly.models.estimability import NotEstimable

    if output is not None and not output.lower().endswith((".csv", ".csv.gz", ".parquet", ".pq")):
        raise click.UsageError(f"{output}: write to a file that ends in .csv, .csv.gz or .parquet.")
    if escape_formulas and (as_json if output is None else not output.lower().endswith((".csv", ".csv.gz"))):
        raise click.UsageError("--escape-formulas is for CSV: leave it out.")
    if output is None:
        refuse_closed_output()
    if as_json and output is None and "warnings" in keep:
        raise click.UsageError("--json has a list of that name: leave --keep warnings out, or write to a file with -o.")
    refuse_output(output, data, model)
    fitted = load_model(model)
    gaps = MissingCounter(fitted)
    with Progress() as progress, NotEstimable():
        tables: Tables = read(data, progress)
        answers = fitted.iter_predictions(tables, keep=keep, watch=gaps)
        if output is not None:
            from linearly.dataset.files.writers import write_tables

            rows = write_tables(output, answers, escape_formulas=escape_formulas)
        elif as_json:
            put_json(_columns(answers), indent=None, columns=True)
            return
        else:
            rows = _write(answers, escape_formulas)
    if as_json:
        put_json({"rows": rows, "predicted": rows - gaps.rows, "saved": output})
        return
    if output is not None:
        saved(output)
    print_err(gaps.told(rows) if gaps.rows else f"{count(rows, 'prediction')} of {fitted.target}")


class MissingCounter:
    """Counts the rows that get no answer, having missing values, and in how many of them each column is missing."""

    def __init__(self, model: Model) -> None:
        self._design = model.design.without_target()
        self.rows = 0
        self.columns: dict[str, int] = {}

    def __call__(self, chunk: Chunk) -> None:
        from linearly.dataset.rows.tables import missing_in

        complete = self._design.complete(chunk) if self._design.missing == "drop" else None
        if complete is None:
            return
        self.rows += len(chunk) - int(complete.sum())
        for name in self._design.required_columns:
            gaps = missing_in(chunk.frame[name], search=True)
            if gaps is not None:
                self.columns[name] = self.columns.get(name, 0) + int(gaps.sum())

    def told(self, rows: int) -> str:
        """How many of so many rows have an answer, and where the others are missing, most often first."""
        names = sorted(self.columns, key=lambda name: -self.columns[name])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        have = "has" if self.rows == 1 else "have"
        where = f"{', '.join(map(short, names[:5]))}{more}"
        return f"{rows - self.rows:,} of {rows:,} rows predicted: {self.rows:,} {have} missing values ({where})"


def _columns(answers: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """All answers, column by column."""
    columns: dict[str, list[Any]] = {}
    for chunk in answers:
        for name, values in chunk.items():
            columns.setdefault(name, []).extend(values.to_pylist() if hasattr(values, "to_pylist") else values.tolist())
    return columns


def _write(answers: Iterable[Mapping[str, Any]], escape_formulas: bool) -> int:
    """The answers as CSV on standard output, chunk by chunk; a terminal is shown control characters, not given them."""
    import pyarrow as pa
    from pyarrow import csv

    from linearly.dataset.files.writers import as_arrow, csv_options, without_blank_lines, without_formulas
    from linearly.formatting import visible

    out, rows = sys.stdout.buffer, 0
    if escape_formulas:
        answers = map(without_formulas, answers)
    for number, chunk in enumerate(answers):
        table = pa.table({name: as_arrow(values) for name, values in chunk.items()})
        packed = pa.BufferOutputStream()
        csv.write_csv(without_blank_lines(table), packed, csv_options(table.schema, header=number == 0))
        text = packed.getvalue()
        out.write(visible(str(text, "utf-8")).encode() if sys.stdout.isatty() else text)
        rows += len(table)
    out.flush()
    return rows


@click.command()
@model_argument
@data_argument
@click.option("--positive", metavar="LABEL", help="Which of two labels precision and recall are about.")
@level_option
@common
def evaluate(model: str, data: str, positive: str | None, level: float, as_json: bool) -> None:
    """How good a model is on DATA that has the target: figures with intervals, confusion matrix.

    \b
    Example:
      linearly evaluate model.json test.csv --positive yes
    """
    from linearly.dataset.rows.tables import known_columns
    from linearly.evaluation.evaluate import evaluate as scored

    fitted = load_model(model)
    with Progress() as progress:
        tables: Tables = read(data, progress)
        assert fitted.design.target is not None
        known_columns(fitted.design.target.factor.required_columns, tables.schema, "target column")
        rows = fitted.design_rows(tables)
        found = scored(fitted.estimator, rows, positive=_label(fitted, positive), level=level)
    if not as_json:
        print_out(evaluation(found, fitted))
        if rows.n_dropped:
            note(f"{rows.n_dropped:,} of {rows.n_rows:,} rows are left out, having missing values.")
        return
    parts = {name: getattr(found, name) for name in ("metrics", "confusion", "per_class", "calibration")}
    put_json(
        {"model": fitted.model, "target": fitted.target, "rows": found.n, "dropped": rows.n_dropped}
        | {"level": level, "labels": found.labels}
        | {name: table for name, table in parts.items() if table is not None}
        | {"notes": found.notes}
    )


def _label(model: Model, text: str | None) -> Any:
    """The label that is written like this."""
    if text is None:
        return None
    if not model.classes:
        raise ValueError(f"--positive is for labels; the model predicts numbers ({model.target}).")
    for label in model.classes:
        if str(label) == text:
            return label
    raise ValueError(f"There is no label {text!r}: the model knows {', '.join(map(str, model.classes[:12]))}.")
