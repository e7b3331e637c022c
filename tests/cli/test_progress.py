"""The progress bar."""

import io
import sys
from importlib.util import find_spec

import pytest

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

from linearly.cli.progress import Progress, format_thousands


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_bar_shows_rows_and_time_left(monkeypatch, require):
    require(find_spec("rich"), "needs rich")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(delay=0.0) as progress:
        progress.begin(3000)
        for _ in range(3):
            progress.advance(1000)
        progress.begin(None)
        progress.advance(1000)
    told = screen.getvalue()
    assert "pass 1" in told
    assert "pass 2" in told
    assert "1,000 rows" in told
    assert "left" in told


def test_progress_shows_no_bar_early_or_without_a_terminal(monkeypatch):
    quick, piped = Terminal(), io.StringIO()
    for screen, delay in ((quick, 60.0), (piped, 0.0)):
        monkeypatch.setattr(sys, "stderr", screen)
        with Progress(delay) as progress:
            progress.begin(10)
            progress.advance(10)
        assert screen.getvalue() == ""


@pytest.mark.parametrize(("number", "text"), [(1_300_000, "1.3M"), (420_000, "420k"), (17, "17"), (2.5e9, "2.5G")])
def test_format_thousands(number, text):
    assert format_thousands(number) == text
