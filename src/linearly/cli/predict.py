"""`linearly predict` and `linearly evaluate`: apply a saved model to other rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.fit_view import evaluation_screen
from linearly.cli.inputs import check_output, label_of, load_model, read_tables
from linearly.cli.options import (
    common_options,
    data_argument,
    level_option,
    model_argument,
    names_option,
    positive_option,
)
from linearly.cli.progress import Progress
from linearly.cli.terminal import check_stdout_open, print_err, print_json, print_note, print_out, print_saved
from linearly.formatting import pluralize, shorten

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Chunk, Tables


@click.command()
@model_argument
@data_argument
@click.option(
    "--output", "-o", metavar="FILE", help="File to write: .csv, .csv.gz or .parquet.  [default: standard output]"
)
@names_option("--keep", "Columns of DATA to copy to the output, comma-separated.")
@click.option(
    "--escape-formulas", is_flag=True, help="Prefix text such as =1+1 with ', so that a spreadsheet does not run it."
)
@click.option(
    "--interval",
    type=click.Choice(["confidence", "prediction"]),
    is_flag=False,
    flag_value="confidence",
    help="Interval to add as columns low and high. Without a value: confidence.",
)
@level_option
@common_options
def predict(
    model: str,
    data: str,
    output: str | None,
    keep: tuple[str, ...],
    escape_formulas: bool,
    interval: str | None,
    level: float,
    as_json: bool,
) -> None:
    """Predict the target for the rows of DATA.

    Memory does not grow with the number of rows. Models with probabilities write one column per label. Linear, ridge
    and logistic models support --interval. The interval of a probability is a confidence interval.

    \b
    Examples:
      linearly predict model.json new.csv -o predictions.parquet --keep customer
      linearly predict model.json new.csv | head
    """
    from linearly.models.estimability import NotEstimable

    if output is not None and not output.lower().endswith((".csv", ".csv.gz", ".parquet", ".pq")):
        raise click.UsageError(f"--output {output} has an unknown ending. Use .csv, .csv.gz or .parquet.")
    if escape_formulas and (as_json if output is None else not output.lower().endswith((".csv", ".csv.gz"))):
        raise click.UsageError("--escape-formulas needs CSV output. Remove it.")
    if output is None:
        check_stdout_open()
    if as_json and output is None and "warnings" in keep:
        raise click.UsageError(
            "--keep warnings conflicts with the warnings in --json. Write to a file with -o instead."
        )
    check_output(output, data, model)
    fitted = load_model(model)
    missing = MissingCounter(fitted)
    with Progress() as progress, NotEstimable():
        tables: Tables = read_tables(data, progress)
        ends = None if interval is None else (level, interval)
        predictions = fitted.iter_predictions(tables, keep=keep, watch=missing, interval=ends)
        if output is not None:
            from linearly.dataset.files.writers import write_tables

            rows = write_tables(output, predictions, escape_formulas=escape_formulas)
        elif as_json:
            print_json(_collect_columns(predictions), indent=None, columns=True)
            return
        else:
            rows = _write_csv(predictions, escape_formulas)
    if as_json:
        print_json({"rows": rows, "predicted": rows - missing.rows, "saved": output})
        return
    if output is not None:
        print_saved(output)
    print_err(missing.describe(rows) if missing.rows else f"{pluralize(rows, 'prediction')} of {fitted.target}")


class MissingCounter:
    """Count the rows without a prediction because of missing values, and the missing values of each column."""

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
            missing = missing_in(chunk.frame[name], search=True)
            if missing is not None:
                self.columns[name] = self.columns.get(name, 0) + int(missing.sum())

    def describe(self, rows: int) -> str:
        """Return how many of the rows have a prediction, and which columns are missing most often in the others."""
        names = sorted(self.columns, key=lambda name: -self.columns[name])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        have = "has" if self.rows == 1 else "have"
        where = f"{', '.join(map(shorten, names[:5]))}{more}"
        return f"{rows - self.rows:,} of {rows:,} rows predicted: {self.rows:,} {have} missing values ({where})"


def _collect_columns(predictions: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return all predictions, column by column."""
    columns: dict[str, list[Any]] = {}
    for chunk in predictions:
        for name, values in chunk.items():
            columns.setdefault(name, []).extend(values.to_pylist() if hasattr(values, "to_pylist") else values.tolist())
    return columns


def _write_csv(predictions: Iterable[Mapping[str, Any]], escape_formulas: bool) -> int:
    """Write CSV to standard output, with control characters made visible on a terminal; return the number of rows."""
    import pyarrow as pa
    from pyarrow import csv

    from linearly.dataset.files.writers import as_arrow, csv_options, without_blank_lines, without_formulas
    from linearly.formatting import visible

    out, rows = sys.stdout.buffer, 0
    if escape_formulas:
        predictions = map(without_formulas, predictions)
    for number, chunk in enumerate(predictions):
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
@positive_option
@level_option
@common_options
def evaluate(model: str, data: str, positive: str | None, level: float, as_json: bool) -> None:
    """Evaluate a model on DATA that contains the target.

    Prints metrics with intervals, and the confusion matrix of a classifier.

    \b
    Example:
      linearly evaluate model.json test.csv --positive yes
    """
    from linearly.cli.fit_summary import findings_of_evaluation
    from linearly.dataset.rows.tables import check_columns_known
    from linearly.evaluation.evaluate import evaluate_rows

    fitted = load_model(model)
    with Progress() as progress:
        tables: Tables = read_tables(data, progress)
        assert fitted.design.target is not None
        check_columns_known(fitted.design.target.factor.required_columns, tables.schema, "target column")
        rows = fitted.design_rows(tables)
        result = evaluate_rows(fitted, rows, positive=label_of(fitted, positive), level=level)
        findings = findings_of_evaluation(fitted, result)
    if not as_json:
        print_out(evaluation_screen(result, fitted, findings))
        if rows.n_dropped:
            print_note(f"{rows.n_dropped:,} of {rows.n_rows:,} rows have missing values and were left out.")
        return
    parts = {name: getattr(result, name) for name in ("metrics", "confusion", "per_class", "calibration")}
    print_json(
        {"model": fitted.model, "target": fitted.target, "rows": result.n, "dropped": rows.n_dropped}
        | {"level": level, "labels": result.labels}
        | {name: table for name, table in parts.items() if table is not None}
        | {"notes": result.notes, "findings": findings}
    )
