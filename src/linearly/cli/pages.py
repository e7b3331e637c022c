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
from linearly.cli.inputs import check_output, label_of, load_model, read_tables
from linearly.cli.options import (
    check_suffix,
    common_options,
    data_argument,
    force_option,
    model_argument,
    positive_option,
    target_option,
)
from linearly.cli.progress import Progress
from linearly.cli.terminal import print_json, print_saved

if TYPE_CHECKING:
    from linearly.api import Model
    from linearly.dataset.rows.tables import Tables


@click.command()
@model_argument
@data_argument
@click.option("--output", "-o", metavar="FILE", default="report.html", show_default=True, help="HTML file to write.")
@click.option("--no-rows", is_flag=True, help="Omit the values of individual rows.")
@positive_option
@force_option
@common_options
def report(model: str, data: str, output: str, no_rows: bool, positive: str | None, force: bool, as_json: bool) -> None:
    """Write an HTML page about a model and the rows of DATA.

    The page is self-contained. It shows the fit, plots, tests and influential rows.

    \b
    Example:
      linearly report model.json carseats.csv -o report.html
    """
    check_suffix(output, "a report", ".html", ".htm")
    check_output(output, data, model, force=force)
    fitted = load_model(model)
    with Progress() as progress:
        label = label_of(fitted, positive)
        write_report(fitted, output, read_tables(data, progress), no_rows=no_rows, positive=label)
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
            cause = f"Squaring {model.target} exceeds the float64 range, so no figure can be computed"
            raise ValueError(f"{cause}. Rescale {model.target}.") from None
        raise


@click.command()
@click.argument("data", metavar="[DATA]", required=False)
@click.option("--x", metavar="COLUMN", help="Column for the x axis.")
@click.option("--y", metavar="COLUMN", help="Column for the y axis.")
@target_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Port to listen on; 0 picks a free port.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option(
    "--export", "export_to", metavar="DIR", help="Directory to write the lab to, as a static site without a server."
)
@click.option("--pyodide", metavar="DIR", help="Pyodide directory to copy with --export, for use without a network.")
@common_options
def lab(
    data: str | None,
    x: str | None,
    y: str | None,
    target: str | None,
    port: int,
    no_browser: bool,
    export_to: str | None,
    pyodide: str | None,
    as_json: bool,
) -> None:
    """Open a page that draws models as they are fitted.

    Models are fitted to two columns of DATA, or to points that you place on the page. The server accepts connections
    from this computer only. Stop it with Ctrl-C. With --export, the page runs Python in the browser, without a
    server.

    \b
    Examples:
      linearly lab
      linearly lab --export site
      linearly lab iris.csv --x petal_length --y petal_width --target species
    """
    if pyodide is not None and export_to is None:
        raise click.UsageError("--pyodide needs --export DIR. Add --export DIR.")
    if data is None and (x or y or target):
        raise click.UsageError("--x, --y and --target require DATA. Pass a data file.")

    def announce(url: str) -> None:
        if as_json:
            print_json({"url": url})
            sys.stdout.flush()

    if data is not None and data != "-" and not glob.has_magic(data) and "://" not in data and not os.path.exists(data):
        raise FileNotFoundError(f"The file {data} does not exist. Check the path.{suggest_files(data)}")
    if export_to is not None:
        from linearly.lab.export_site import export_site

        page = str(export_site(export_to, data, x, y, target, pyodide))
        print_json({"saved": page}) if as_json else print_saved(page)
        return
    from linearly.lab.server import serve

    with suppress(KeyboardInterrupt):  # Ctrl-C is how the lab ends
        serve(data, x=x, y=y, target=target, port=port, open_browser=not no_browser, announce=announce)
