"""`linearly completion`: print a script that lets a shell complete commands and options."""

from __future__ import annotations

import click

from linearly.cli.options import common_options
from linearly.cli.terminal import print_result

_INSTALL = {
    "bash": 'eval "$(linearly completion bash)"     in ~/.bashrc',
    "zsh": 'eval "$(linearly completion zsh)"     in ~/.zshrc',
    "fish": "linearly completion fish > ~/.config/fish/completions/linearly.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@common_options
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print a shell completion script for SHELL.

    \b
    Examples:
      eval "$(linearly completion bash)"     in ~/.bashrc
      eval "$(linearly completion zsh)"      in ~/.zshrc
      linearly completion fish > ~/.config/fish/completions/linearly.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    maker = kind(ctx.find_root().command, {}, "linearly", "_LINEARLY_COMPLETE")
    script = maker.source_template % maker.source_vars()
    facts = {"shell": shell, "install": _INSTALL[shell], "script": script}
    print_result(facts, as_json, lambda _: script)
