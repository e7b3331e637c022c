"""`linearly show`, `diff`, `merge` and `export`: commands on model files that need no data."""

from __future__ import annotations

import sys
from functools import reduce
from operator import add
from typing import Any

import click

from linearly.cli.fit_summary import model_facts
from linearly.cli.fit_view import fit_screen
from linearly.cli.inputs import check_output, load_model
from linearly.cli.options import check_suffix, common_options, model_argument
from linearly.cli.terminal import bold, print_err, print_json, print_out, print_result, print_saved, wrap_text
from linearly.formatting import pluralize


@click.command()
@model_argument
@common_options
def show(model: str, as_json: bool) -> None:
    """Show a saved model on one screen.

    \b
    Example:
      linearly show model.json
    """
    print_result(model_facts(load_model(model)), as_json, fit_screen)


@click.command()
@click.argument("first", metavar="A", type=click.Path())
@click.argument("second", metavar="B", type=click.Path())
@common_options
def diff(first: str, second: str, as_json: bool) -> None:
    """What changed from model A to model B: term by term, and a test of all terms together.

    No data are read: model files carry their summaries. For linear models the test is Chow's, for logistic ones Wald's.

    \b
    Example:
      linearly diff january.json february.json
    """
    from linearly.inference.difference import chow, diff
    from linearly.table import Table

    a, b = load_model(first), load_model(second)
    table = diff(a, b)
    if not as_json:
        bare = Table({name: table[name] for name in table.columns})
        print_out(f"{bold(a.target)}   {first} → {second}\n\n{bare}\n")
        for line in table.notes:
            print_out(wrap_text(line))
        return
    facts: dict[str, Any] = {"first": first, "second": second, "terms": table, "notes": table.notes}
    if hasattr(a.estimator, "solution_") and not a.classes:
        try:
            facts["chow"] = chow(a.estimator, b.estimator)
        except ValueError:
            facts["chow"] = None
    print_json(facts)


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@click.option("--output", "-o", metavar="FILE", required=True, help="Save the merged model: all.json.")
@common_options
def merge(models: tuple[str, ...], output: str, as_json: bool) -> None:
    """Merge models of different rows into the model of all rows, without the rows.

    Works for models that are read off a sum: linear, ridge, lda, qda, least-squares. Fit the later ones with --like the
    first, so that all read their columns alike.

    \b
    Example:
      linearly fit january.csv -t Sales -o january.json
      linearly fit february.csv --like january.json -o february.json
      linearly merge january.json february.json -o both.json
    """
    if len(models) < 2:
        raise click.UsageError("Name at least two model files to merge.")
    check_suffix(output, "a model file", ".json")
    check_output(output, *models)
    merged = reduce(add, map(load_model, models))
    merged.save(output)
    facts = model_facts(merged) | {"merged": list(models), "saved": output}
    print_result(facts, as_json, fit_screen)
    if not as_json:
        print_saved(output)


@click.command()
@model_argument
@click.option("--to", "kind", type=click.Choice(["sql", "onnx", "python"]), required=True, help="What to write.")
@click.option("--dialect", metavar="NAME", help="Of SQL: duckdb, sqlite, postgres, bigquery, snowflake, … [duckdb]")
@click.option("--table", metavar="NAME", help="The table that the SQL reads. [data]")
@click.option("--float32", "narrow", is_flag=True, help="Write ONNX in single precision, for runtimes without float64.")
@click.option("--output", "-o", metavar="FILE", help="Write to a file; ONNX needs one.")
@common_options
def export(
    model: str, kind: str, dialect: str | None, table: str | None, narrow: bool, output: str | None, as_json: bool
) -> None:
    """Write a model as SQL, as ONNX, or as a Python function without dependencies.

    What is written is checked against the model before it is given out.

    \b
    Examples:
      linearly export model.json --to sql --dialect postgres --table customers
      linearly export model.json --to onnx -o model.onnx
      linearly export model.json --to python -o predict.py
    """
    if kind != "sql" and (dialect or table):
        raise click.UsageError("--dialect and --table are for --to sql.")
    if kind != "onnx" and narrow:
        raise click.UsageError("--float32 is for --to onnx.")
    if kind == "onnx" and output is None:
        raise click.UsageError("ONNX is not text: name a file with -o model.onnx.")
    check_output(output, model)
    fitted = load_model(model)
    text = None
    if kind == "onnx":
        from linearly.export.onnx import to_onnx

        assert output is not None
        to_onnx(fitted, output, dtype="float32" if narrow else "float64")
    elif kind == "sql":
        from linearly.export.sql import to_sql

        text = to_sql(fitted, dialect=dialect or "duckdb", table=table or "data")
    else:
        from linearly.export.python import to_python

        text = to_python(fitted)
    if text is not None and output is not None:
        from linearly.export.atomic_file import write_atomic

        write_atomic(output, text.encode())
    if as_json:
        print_json({"to": kind, "saved": output} if output is not None else {"to": kind, "text": text})
    elif output is not None:
        print_saved(output)
    elif text is not None:
        print_out(text.rstrip("\n"))
        if sys.stdout is not None and sys.stdout.isatty():
            print_err(f"{kind} of {fitted.target} on {pluralize(len(fitted.design.features), 'column')}")
