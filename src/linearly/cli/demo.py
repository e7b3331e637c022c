"""`linearly demo`: a story from the notes, told on the terminal, and a page to keep."""

from __future__ import annotations

import click

from linearly.cli.inputs import refuse_output
from linearly.cli.options import common
from linearly.cli.terminal import print_err, print_out, put_json
from linearly.demos import NAMES, TITLES


@click.command()
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
@click.option("--list", "listed", is_flag=True, help="List the demos.")
@click.option("--data", metavar="FILE", help="A file of your own: digits (.npz), spam (SMS, spambase) or ecoli.data.")
@click.option("--output", "-o", metavar="FILE", help="The page to write.  [default: linearly-NAME.html]")
@common
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
        _list(as_json)
        return
    path = output or f"linearly-{name}.html"
    if not path.lower().endswith((".html", ".htm")):
        raise click.UsageError(f"{path}: the page must end in .html.")
    refuse_output(output, data)
    from pathlib import Path

    from linearly.demos import tell

    story = tell(name, data=data, say=_say if not as_json else _silent)
    page = story.write(Path(path))
    if as_json:
        put_json({"demo": name, "title": story.title, "saved": None if page is None else str(page)} | story.found)
    else:
        print_err("next: linearly check YOUR_DATA --target COLUMN")


def _say(text: str) -> None:
    print_out(text)


def _silent(text: str) -> None:
    pass


def _list(as_json: bool) -> None:
    if as_json:
        put_json(TITLES)
        return
    longest = max(map(len, TITLES))
    for name, title in TITLES.items():
        print_out(f"{name:<{longest}}  {title}")
