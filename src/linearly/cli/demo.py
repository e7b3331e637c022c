"""`linearly demo`: print a worked example and write it as a page."""

from __future__ import annotations

import click

from linearly.cli.inputs import check_output
from linearly.cli.options import check_suffix, common_options
from linearly.cli.terminal import print_err, print_json, print_out, print_result
from linearly.demos import NAMES, TITLES


@click.command()
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
@click.option("--list", "listed", is_flag=True, help="List the demos.")
@click.option("--data", metavar="FILE", help="A file of your own: digits (.npz), spam (SMS, spambase) or ecoli.data.")
@click.option("--output", "-o", metavar="FILE", help="The page to write.  [default: linearly-NAME.html]")
@common_options
def demo(name: str, listed: bool, data: str | None, output: str | None, as_json: bool) -> None:
    """Tell a story with models, proofs and their numbers, and write it as a page with pictures.

    digits, loans, spam and wine need no file and no network; ecoli is fetched from OpenML, or given with --data.

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
    check_output(output, data)
    from pathlib import Path

    from linearly.demos import tell

    story = tell(name, data=data, say=(lambda text: None) if as_json else print_out)
    page = story.write(Path(path))
    if as_json:
        print_json({"demo": name, "title": story.title, "saved": None if page is None else str(page)} | story.found)
    else:
        print_err("next: linearly check YOUR_DATA --target COLUMN")
