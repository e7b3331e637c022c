"""`linearly demo`: print a worked example and write it as a page."""

from __future__ import annotations

import click

from linearly.cli.inputs import check_output
from linearly.cli.options import check_suffix, common_options, force_option
from linearly.cli.terminal import print_err, print_json, print_out, print_result
from linearly.demos import NAMES, TITLES


@click.command()
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
@click.option("--list", "listed", is_flag=True, help="List the demos.")
@click.option(
    "--data", metavar="FILE", help="Data file to use instead: digits (.npz), spam (SMS, spambase) or ecoli.data."
)
@click.option("--output", "-o", metavar="FILE", help="HTML file to write.  [default: linearly-NAME.html]")
@force_option
@common_options
def demo(name: str, listed: bool, data: str | None, output: str | None, force: bool, as_json: bool) -> None:
    """Run a worked example, and write it as an HTML page.

    Results are printed, and the page shows them with plots. The examples digits, loans, spam and wine need no file and
    no network. ecoli is downloaded from OpenML, or read from --data.

    \b
    Examples:
      linearly demo
      linearly demo spam -o spam.html
      linearly demo digits --data usps.npz
    """
    if listed:
        longest = max(map(len, TITLES))
        lines = (f"{name:<{longest}}  {title}" for name, title in TITLES.items())
        print_result(TITLES, as_json, lambda _: "\n".join(lines))
        return
    path = output or f"linearly-{name}.html"
    check_suffix(path, "the page", ".html", ".htm")
    check_output(path, data, force=force)
    from pathlib import Path

    from linearly.demos import tell

    story = tell(name, data=data, say=(lambda text: None) if as_json else print_out)
    page = story.write(Path(path))
    if as_json:
        print_json({"demo": name, "title": story.title, "saved": None if page is None else str(page)} | story.found)
    else:
        print_err("next: linearly check YOUR_DATA --target COLUMN")
