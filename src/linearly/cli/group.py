"""Gather all commands under one name."""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from typing import Any

import click

from linearly.cli.options import color_option, debug_option, quiet_option

# Each command by name, in the order of the help, with the module that defines a function of that name.
_MODULES = {
    "demo": "demo", "check": "check", "fit": "fit", "compare": "compare", "show": "models", "anova": "questions",
    "ask": "questions", "means": "questions", "table": "questions", "predict": "predict", "evaluate": "predict",
    "report": "pages", "diff": "models", "merge": "models", "export": "models", "lab": "pages",
    "selftest": "selftest", "completion": "completion",
}  # fmt: skip


class PipeClosed(Exception):
    """The reader of standard output has closed the pipe."""


class LazyGroup(click.Group):
    """A group that imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name; None if there is none."""
        if cmd_name not in _MODULES:
            return None
        command: click.Command = getattr(importlib.import_module(f"linearly.cli.{_MODULES[cmd_name]}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; report a closed pipe before click turns it into a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise PipeClosed from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of that name; raise with similar names if there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = get_close_matches(args[0], _MODULES, n=2, cutoff=0.5)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"The commands are {', '.join(_MODULES)}."
            raise click.UsageError(f"{args[0]!r} is not a command of linearly. {hint}", ctx) from None


def print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the version and stop."""
    if value and not ctx.resilient_parsing:
        from linearly import __version__

        click.echo(f"linearly {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup, invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=print_version, help="Show the version."
)
@quiet_option
@color_option
@debug_option
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Fit, check, compare, deploy and explain linear models from your own files.

    \b
    Example:
      linearly check  carseats.csv --target Sales
      linearly fit    carseats.csv --target Sales -o model.json
      linearly report model.json carseats.csv -o report.html

    DATA is a CSV, Parquet or Arrow file, a directory, a quoted glob, or - for standard input. Results go to standard
    output, everything else to standard error. Every command accepts --json and --help.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
