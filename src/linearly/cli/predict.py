"""`linearly predict` and `linearly evaluate`: apply a saved model to other rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.fit_view import format_evaluation
from linearly.cli.inputs import check_output, load_model, read_tables
from linearly.cli.options import common_options, data_argument, level_option, model_argument, names_option
from linearly.cli.progress import Progress
from linearly.cli.terminal import check_stdout_open, print_err, print_json, print_note, print_out, print_saved
from linearly.formatting import pluralize, shorten

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Chunk, Tables


@click.command()
@model_argument
@data_argument
@click.option("--output", "-o", metavar="FILE", help="Write to a .csv, .csv.gz or .parquet file.")
@names_option("--keep", "Columns of DATA to write beside.")
@click.option(
    "--escape-formulas", is_flag=True, help="Write texts such as =1+1 so that no spreadsheet runs them: '=1+1."
)
@common_options
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
        check_stdout_open()
    if as_json and output is None and "warnings" in keep:
        raise click.UsageError("--json has a list of that name: leave --keep warnings out, or write to a file with -o.")
    check_output(output, data, model)
    fitted = load_model(model)
    missing = MissingCounter(fitted)
    with Progress() as progress, NotEstimable():
        tables: Tables = read_tables(data, progress)
        predictions = fitted.iter_predictions(tables, keep=keep, watch=missing)
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
@click.option("--positive", metavar="LABEL", help="Which of two labels precision and recall are about.")
@level_option
@common_options
def evaluate(model: str, data: str, positive: str | None, level: float, as_json: bool) -> None:
    """How good a model is on DATA that has the target: figures with intervals, confusion matrix.

    \b
    Example:
      linearly evaluate model.json test.csv --positive yes
    """
    from linearly.dataset.rows.tables import check_columns_known
    from linearly.evaluation.evaluate import evaluate as evaluate_estimator

    fitted = load_model(model)
    with Progress() as progress:
        tables: Tables = read_tables(data, progress)
        assert fitted.design.target is not None
        check_columns_known(fitted.design.target.factor.required_columns, tables.schema, "target column")
        rows = fitted.design_rows(tables)
        result = evaluate_estimator(fitted.estimator, rows, positive=_label(fitted, positive), level=level)
    if not as_json:
        print_out(format_evaluation(result, fitted))
        if rows.n_dropped:
            print_note(f"{rows.n_dropped:,} of {rows.n_rows:,} rows are left out, having missing values.")
        return
    parts = {name: getattr(result, name) for name in ("metrics", "confusion", "per_class", "calibration")}
    print_json(
        {"model": fitted.model, "target": fitted.target, "rows": result.n, "dropped": rows.n_dropped}
        | {"level": level, "labels": result.labels}
        | {name: table for name, table in parts.items() if table is not None}
        | {"notes": result.notes}
    )


def _label(model: Model, text: str | None) -> Any:
    """Return the label that is written like the text."""
    if text is None:
        return None
    if not model.classes:
        raise ValueError(f"--positive is for labels; the model predicts numbers ({model.target}).")
    for label in model.classes:
        if str(label) == text:
            return label
    raise ValueError(f"There is no label {text!r}: the model knows {', '.join(map(str, model.classes[:12]))}.")
