"""`linearly predict` and `linearly evaluate`: a saved model on other rows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.inputs import load_model, read, refuse_output
from linearly.cli.options import common, data_argument, level_option, model_argument, names
from linearly.cli.progress import Progress
from linearly.cli.screen import answer, count, evaluation, note, put_json, saved, status

if TYPE_CHECKING:
    from linearly.dataset.tables import Tables
    from linearly.front import Model


@click.command()
@model_argument
@data_argument
@click.option("--output", "-o", metavar="FILE", help="Write to a .csv, .csv.gz or .parquet file.")
@click.option("--keep", multiple=True, callback=names, metavar="A,B", help="Columns of DATA to write beside.")
@common
def predict(model: str, data: str, output: str | None, keep: tuple[str, ...], as_json: bool) -> None:
    """Predict the target for the rows of DATA, which need not have it.

    Rows stream through: memory does not grow with their number. Without -o the answers go to standard output as CSV.
    Models with probabilities write one column a label.

    \b
    Examples:
      linearly predict model.json new.csv -o answers.parquet --keep customer
      linearly predict model.json new.csv | head
    """
    if output is not None and not output.lower().endswith((".csv", ".csv.gz", ".parquet", ".pq")):
        raise click.UsageError(f"{output}: write to a file that ends in .csv, .csv.gz or .parquet.")
    refuse_output(output, data, model)
    fitted = load_model(model)
    with Progress() as progress:
        tables: Tables = read(data, progress)
        if output is not None:
            rows = fitted.predict(tables, out=output, keep=keep)
        elif as_json:
            put_json(_columns(fitted, tables, keep), indent=None)
            return
        else:
            rows = _write(fitted, tables, keep)
    if as_json:
        put_json({"rows": rows, "saved": output})
        return
    if output is not None:
        saved(output)
    status(f"{count(rows, 'prediction')} of {fitted.target}")


def _columns(model: Model, tables: Any, keep: tuple[str, ...]) -> dict[str, list[Any]]:
    """All answers, column by column."""
    columns: dict[str, list[Any]] = {}
    for chunk in model.answers(tables, keep=keep):
        for name, values in chunk.items():
            columns.setdefault(name, []).extend(values.to_pylist() if hasattr(values, "to_pylist") else values.tolist())
    return columns


def _write(model: Model, tables: Any, keep: tuple[str, ...]) -> int:
    """The answers as CSV on standard output, chunk by chunk."""
    import pyarrow as pa
    from pyarrow import csv

    from linearly.dataset.writing import without_blank_lines

    out, rows = sys.stdout.buffer, 0
    for number, chunk in enumerate(model.answers(tables, keep=keep)):
        table = pa.table({name: pa.array(values) if not hasattr(values, "type") else values
                          for name, values in chunk.items()})  # fmt: skip
        packed = pa.BufferOutputStream()
        csv.write_csv(without_blank_lines(table), packed, csv.WriteOptions(include_header=number == 0))
        out.write(packed.getvalue())
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
    from linearly.dataset.tables import known_columns
    from linearly.evidence.evaluation import evaluate as scored

    fitted = load_model(model)
    with Progress() as progress:
        tables: Tables = read(data, progress)
        assert fitted.design.target is not None
        known_columns(fitted.design.target.factor.needs, tables.schema, "target column")
        rows = fitted.rows(tables)
        found = scored(fitted.estimator, rows, positive=_label(fitted, positive), level=level)
    if not as_json:
        answer(evaluation(found))
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
