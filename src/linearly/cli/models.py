"""`linearly show`, `diff`, `merge` and `export`: commands on model files that need no data."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import Any

import click

from linearly.cli.fit_summary import model_facts
from linearly.cli.fit_view import fit_screen
from linearly.cli.inputs import check_output, load_model
from linearly.cli.options import check_suffix, common_options, force_option, model_argument
from linearly.cli.terminal import (
    bold,
    print_err,
    print_json,
    print_out,
    print_result,
    print_saved,
    typeset_table,
    wrap_text,
)
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
    """Compare model B with model A, term by term.

    A joint test compares all terms. No data are read: model files contain their summaries. The error variances of the
    two models may differ.

    \b
    Example:
      linearly diff january.json february.json
    """
    from linearly.findings.difference import diff, joint_finding
    from linearly.inference.difference import joint_test
    from linearly.table import Table

    a, b = load_model(first), load_model(second)
    table = diff(a, b)
    if not as_json:
        bare = Table({name: table[name] for name in table.columns})
        print_out(f"{bold(a.target)}   {first} → {second}\n\n{typeset_table(str(bare))}\n")
        for line in table.notes:
            print_out(wrap_text(line))
        return
    facts: dict[str, Any] = {"first": first, "second": second, "terms": table, "notes": table.notes}
    facts["findings"] = [asdict(joint_finding(a, b))]
    try:
        facts["joint_test"] = joint_test(a, b)
    except ValueError:
        facts["joint_test"] = None
    print_json(facts)


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@click.option("--output", "-o", metavar="FILE", required=True, help="Model file to save, such as all.json.")
@force_option
@common_options
def merge(models: tuple[str, ...], output: str, force: bool, as_json: bool) -> None:
    """Merge models fitted to different rows, without those rows.

    The result equals the model fitted to all rows. Linear, ridge, lasso, elastic-net, lda, qda and least-squares models
    can be merged. Fit later models with --like FIRST_MODEL, so that all have the same columns and levels.

    \b
    Example:
      linearly fit january.csv -t Sales -o january.json
      linearly fit february.csv --like january.json -o february.json
      linearly merge january.json february.json -o both.json
    """
    if len(models) < 2:
        raise click.UsageError("MODEL... needs at least two files. Name the models to merge.")
    check_suffix(output, "a model file", ".json")
    check_output(output, *models, force=force)
    merged = reduce(add, map(load_model, models))
    merged.save(output)
    facts = model_facts(merged) | {"merged": list(models), "saved": output}
    print_result(facts, as_json, fit_screen)
    if not as_json:
        print_saved(output)


@click.command()
@model_argument
@click.option("--to", "kind", type=click.Choice(["sql", "onnx", "python"]), required=True, help="Format to write.")
@click.option("--dialect", metavar="NAME", help="SQL dialect: duckdb, sqlite, postgres, bigquery, …  [default: duckdb]")
@click.option("--table", metavar="NAME", help="Table that the SQL reads.  [default: data]")
@click.option("--float32", "narrow", is_flag=True, help="Use single precision in ONNX, for runtimes without float64.")
@click.option("--output", "-o", metavar="FILE", help="File to write; required for ONNX.  [default: standard output]")
@common_options
def export(
    model: str, kind: str, dialect: str | None, table: str | None, narrow: bool, output: str | None, as_json: bool
) -> None:
    """Write a model as SQL, ONNX or a Python function.

    The export has no dependencies except its runtime. It is compared with the model before it is written.

    \b
    Examples:
      linearly export model.json --to sql --dialect postgres --table customers
      linearly export model.json --to onnx -o model.onnx
      linearly export model.json --to python -o predict.py
    """
    if kind != "sql" and (dialect or table):
        raise click.UsageError("--dialect and --table need --to sql. Remove them.")
    if kind != "onnx" and narrow:
        raise click.UsageError("--float32 needs --to onnx. Remove it.")
    if kind == "onnx" and output is None:
        raise click.UsageError("--to onnx needs an output file. Add -o model.onnx.")
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
        from linearly.dataset.files.atomic_file import write_atomic

        write_atomic(output, text.encode())
    if as_json:
        print_json({"to": kind, "saved": output} if output is not None else {"to": kind, "text": text})
    elif output is not None:
        print_saved(output)
    elif text is not None:
        print_out(text.rstrip("\n"))
        if sys.stdout is not None and sys.stdout.isatty():
            print_err(f"{kind} of {fitted.target} on {pluralize(len(fitted.design.features), 'column')}")
