"""Each fuzzer for a few hundred cases; `python tests/fuzz` has more."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz.__main__ import MODULES, fuzzer_of
from fuzz.mutation import Steered, mutated
from fuzz.run import Broken, Fuzzer, drawn, run, tried

CASES = {"formula": 300, "model": 60, "csv": 150, "columnar": 150, "pages": 400}


@pytest.mark.parametrize("name", MODULES)
def test_fuzzer_short_run_has_no_findings(name):
    tally = run(fuzzer_of(name), CASES[name], seed=20240229)
    assert not tally.findings, tally.findings[0]
    assert tally.cases == CASES[name]
    assert tally.accepted, "nothing was accepted: the inputs are too far off to reach anything"
    assert tally.refused


def test_fuzzer_case_is_determined_by_its_number():
    fuzzer = fuzzer_of("formula")
    assert drawn(fuzzer, 3, 17) == drawn(fuzzer, 3, 17)
    assert len({drawn(fuzzer, 3, case) for case in range(50)}) > 40


def test_an_engine_can_steer_the_choices():
    draw = fuzzer_of("formula").draw
    random = Random(0)
    inputs = [random.randbytes(200) for _ in range(40)]
    assert draw(Steered(inputs[0])) == draw(Steered(inputs[0]))
    assert len({draw(Steered(data)) for data in inputs}) > 30
    assert mutated(Steered(b""), b"") == mutated(Steered(b""), b"")  # ends without bytes, too


# --- the fuzzers would see it ---------------------------------------------------------------------


def ours(data):
    from linearly.dataset.design.from_formula import formula_design

    formula_design("~", {})


def theirs(data):
    {}["missing"]


def unworded(data):
    int("x")


def opening(data):
    try:
        open("/dev/null").close()
    except RuntimeError:
        raise ValueError("hidden") from None


def running(data):
    eval("1 + 1")


def too_much(data):
    bytearray(2**40)


@pytest.mark.parametrize(
    ("attempt", "sort"),
    [
        (theirs, "KeyError"),
        (unworded, "ValueError"),
        (opening, "Broken"),
        (running, "Broken"),
        (too_much, "MemoryError"),
    ],
)
def test_fuzzer_forbidden_outcome_is_a_finding(attempt, sort):
    outcome = tried(Fuzzer("trial", lambda random: b"", attempt, lambda data, found: None, watched=True), b"")
    assert outcome.sort.startswith(sort)


def test_fuzzer_error_of_linearly_is_no_finding():
    with contextlib.suppress(ValueError):
        ours(b"")  # what is imported at the first call is no finding
    assert tried(Fuzzer("trial", lambda random: b"", ours, lambda data, found: None, watched=True), b"") == "refused"


def test_fuzz_reports_what_a_judge_raises():
    def judge(data, found):
        raise Broken("wrong")

    outcome = tried(Fuzzer("trial", lambda random: b"", lambda data: 1, judge), b"")
    assert outcome.text == "broken: Broken: wrong"


def test_fuzzer_detects_a_wrong_number_of_a_csv_file(monkeypatch):
    from fuzz import csv_text

    right = csv_text.attempt(b"a,y\n1,2.5\n3,4\n")
    csv_text.judge(b"a,y\n1,2.5\n3,4\n", right)
    with pytest.raises(Broken, match=r"where the text says '2\.6'"):
        csv_text.judge(b"a,y\n1,2.6\n3,4\n", right)


@pytest.mark.slow
def test_fuzzer_process_that_dies_is_a_finding(tmp_path):
    script = Path(__file__).parents[1] / "fuzz"
    code = (
        f"import sys, os, signal; sys.argv[0] = {str(script)!r}; sys.path.insert(0, {str(script.parent)!r})\n"
        "import fuzz.__main__ as main, subprocess\n"
        "real = subprocess.run\n"
        "def run(command, **options):\n"
        '    kill = \'import os, signal, pathlib; pathlib.Path(%r).write_bytes(b"4\\\\nxyz");'
        " os.kill(os.getpid(), signal.SIGSEGV)' % (sys.argv[-1] + '/formula-0.now')\n"
        "    return real([sys.executable, '-c', kill]) if '--first=0' in command else real(command, **options)\n"
        "main.subprocess.run = run\n"
        "sys.exit(main.main())\n"
    )
    options = ["formula", "--cases", "8", "--keep", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", code, *options], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "the process died: SIGSEGV" in done.stdout
    assert "formula: 3 cases" in done.stdout  # those after it
    assert io.BytesIO((tmp_path / "formula-0-4.input").read_bytes()).read() == b"xyz"
