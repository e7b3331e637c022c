"""`linearly report` and `linearly lab`."""

import json
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

import linearly as ly


def test_lab_json_prints_the_url(require):
    require(find_spec("uvicorn") and find_spec("starlette"), "needs linearly[lab]")
    words = [sys.executable, "-m", "linearly", "lab", "--no-browser", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        told = ""
        while not told.rstrip().endswith("}"):
            line = lab.stdout.readline()
            assert line, "the lab ended before it gave its address"
            told += line
        lab.send_signal(signal.SIGINT)
        rest, _ = lab.communicate(timeout=60)
    assert json.loads(told)["url"].startswith("http://127.0.0.1:")
    assert rest == ""
    assert lab.returncode == 0


@pytest.mark.parametrize("target", ["y", "label"])
def test_report_of_the_command_line_advises_in_commands(run, target):
    lines = [f"{i % 7},{i % 4},{i * i % 11},{'ab'[i == 9]}" for i in range(40)]  # one b cannot be held out
    Path("t.csv").write_text("\n".join(["x,z,y,label", *lines]) + "\n")
    words = ["t.csv", "-t", target, "--features", "x,z", "-o", "m.json", "--report", "r.html"]
    assert run("fit", *words).code == 0
    page = Path("r.html").read_text()
    ly.load("m.json").report("python.html", "t.csv")
    python = Path("python.html").read_text()
    said, here = ("covariance=&#34;HC3&#34;", "--covariance HC3") if target == "y" else (
        "model.evaluate(new_rows)", "linearly evaluate MODEL NEW_DATA")  # fmt: skip
    assert said in python
    assert here not in python
    assert here in page
    assert said not in page


def test_lab_export_writes_a_site(run, tmp_path):
    done = run("lab", "--export", str(tmp_path / "site"))
    assert done.code == 0, done.err
    assert (tmp_path / "site" / "film.json").is_file()
    refused = run("lab", "--pyodide", str(tmp_path))
    assert refused.code == 2
    assert "--pyodide needs --export" in refused.err
