"""The command `linearly`: it runs a command, and turns what goes wrong into one sentence and an exit code.

0 done, 1 failed, 2 not understood, 130 interrupted, 141 when the reader of a pipe has gone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

GONE = 141  # as the shell has it of any command that a closed pipe ends


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the answer is the exit code."""
    words = list(sys.argv[1:] if args is None else args)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without R² shows R?, and the command goes on
    try:
        import click

        from linearly.cli.group import ReaderGone, cli
    except ModuleNotFoundError as absent:
        if absent.name != "click":
            raise
        print("error: The command line needs click: pip install 'linearly[cli]'.", file=sys.stderr)
        return 1
    from linearly.cli.errors import format_error
    from linearly.cli.terminal import error, note_warning, print_err

    debug = "--debug" in words
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note_warning(everything=debug)
        try:
            code = cli.main(words, prog_name="linearly", standalone_mode=False)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except click.UsageError as failure:
            error(format_error(failure))
            print_err(f"try: {failure.ctx.command_path if failure.ctx is not None else 'linearly'} --help")
            return failure.exit_code
        except (click.Abort, KeyboardInterrupt):
            error("Stopped. No half-written file is left.", "interrupted")
            return 130
        except (BrokenPipeError, ReaderGone):
            sys.stdout = None  # the reader has gone; there is nobody to flush to
            return GONE
        except Exception as failure:
            if debug:
                import traceback

                print_err(traceback.format_exc())
            error(format_error(failure))
            return 1
