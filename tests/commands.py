"""Run a command of `linearly` in this process."""

import io
import sys

from linearly.cli.main import main


def run_command(*words):
    """Return exit code, standard output and standard error of a command."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code = main([str(word) for word in words])
    finally:
        sys.stdout, sys.stderr = kept
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))
