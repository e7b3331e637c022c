"""`linearly completion`: commands and options completed by the shell."""

from __future__ import annotations

import click

from linearly.cli.options import common
from linearly.cli.terminal import print_out, put_json

HOW = {
    "bash": 'eval "$(linearly completion bash)"     in ~/.bashrc',
    "zsh": 'eval "$(linearly completion zsh)"     in ~/.zshrc',
    "fish": "linearly completion fish > ~/.config/fish/completions/linearly.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(HOW)))
@common
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print what makes SHELL complete commands and options.

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
    if as_json:
        put_json({"shell": shell, "install": HOW[shell], "script": script})
    else:
        print_out(script)
