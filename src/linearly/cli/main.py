"""Run the command `linearly` and turn what goes wrong into one sentence and an exit code.

0 done, 1 failed, 2 invalid usage, 130 interrupted, 141 when the reader of a pipe has closed it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

PIPE_CLOSED = 141  # as shells report any command that a closed pipe ends


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if args is None else args)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without R² shows R? instead of failing
    try:
        import click

        from linearly.cli.group import PipeClosed, cli
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        print("error: The command line needs click. Run: pip install 'linearly[cli]'.", file=sys.stderr)
        return 1
    from linearly.cli import inputs
    from linearly.cli.errors import format_error
    from linearly.cli.terminal import print_err, print_error, set_color, set_quiet, warning_printer

    debug = "--debug" in words
    set_color("auto")
    set_quiet(False)
    inputs.own_process = args is None
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = warning_printer(everything=debug)
        try:
            code = cli.main(words, prog_name="linearly", standalone_mode=False)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except click.UsageError as failure:
            print_error(format_error(failure))
            print_err(f"try: {failure.ctx.command_path if failure.ctx is not None else 'linearly'} --help")
            return failure.exit_code
        except (click.Abort, KeyboardInterrupt):
            print_error("Every output file is complete or unchanged.", "interrupted")
            return 130
        except (BrokenPipeError, PipeClosed):
            sys.stdout = None  # the pipe has no reader, so flushing it would raise
            return PIPE_CLOSED
        except Exception as failure:
            if debug:
                import traceback

                traceback.print_exc()
            print_error(format_error(failure))
            return 1
