"""`linearly report`: write a page about a model. `linearly lab`: open an interactive page."""

from __future__ import annotations

import glob
import math
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from linearly.cli.errors import suggest_files
from linearly.cli.inputs import check_output, load_model, read_tables
from linearly.cli.options import check_suffix, common_options, data_argument, model_argument, target_option
from linearly.cli.progress import Progress
from linearly.cli.terminal import print_json, print_saved

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Tables


@click.command()
@model_argument
@data_argument
@click.option("--output", "-o", metavar="FILE", default="report.html", show_default=True, help="The page to write.")
@click.option("--no-rows", is_flag=True, help="Leave out every value of a single row.")
@common_options
def report(model: str, data: str, output: str, no_rows: bool, as_json: bool) -> None:
    """Write one self-contained page about a model and the rows of DATA: pictures, tests, influence.

    \b
    Example:
      linearly report model.json carseats.csv -o report.html
    """
    check_suffix(output, "a report", ".html", ".htm")
    check_output(output, data, model)
    fitted = load_model(model)
    with Progress() as progress:
        write_report(fitted, output, read_tables(data, progress), no_rows=no_rows)
    if as_json:
        print_json({"saved": output, "rows": progress.rows})
    else:
        print_saved(output)


def write_report(model: Model, path: str, data: Tables, **options: Any) -> None:
    """Write a page about a model; if squares of the target overflow, raise `ValueError` with that cause."""
    try:
        model.report(path, data, commands=True, **options)
    except ValueError as failure:
        if "Input y contains infinity" in str(failure) and not math.isfinite(model.glance()["sigma"][0]):
            cause = f"{model.target} is so large that its squares leave float64, and a page would show no number"
            raise ValueError(f"{cause}: rescale {model.target}.") from None
        raise


@click.command()
@click.argument("data", metavar="[DATA]", required=False)
@click.option("--x", metavar="COLUMN", help="The column across.")
@click.option("--y", metavar="COLUMN", help="The column upwards.")
@target_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the server; 0 takes a free one.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@common_options
def lab(
    data: str | None, x: str | None, y: str | None, target: str | None, port: int, no_browser: bool, as_json: bool
) -> None:
    """Open a page where models are drawn as they learn, on your rows or on points you click.

    The server answers to this computer alone, and stops with Ctrl-C.

    \b
    Examples:
      linearly lab
      linearly lab iris.csv --x petal_length --y petal_width --target species
    """
    from linearly.lab.server import serve

    def announce(url: str) -> None:
        if as_json:
            print_json({"url": url})
            sys.stdout.flush()

    if data is not None and data != "-" and not glob.has_magic(data) and "://" not in data and not os.path.exists(data):
        raise FileNotFoundError(f"There is no file {data}.{suggest_files(data)}")
    with suppress(KeyboardInterrupt):  # Ctrl-C is how the lab ends
        serve(data, x=x, y=y, target=target, port=port, open_browser=not no_browser, announce=announce)
