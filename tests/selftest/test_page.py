"""The command `linearly selftest`, and the page that it writes."""

import json
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import require

from linearly.cli.main import main
from linearly.selftest import AREAS, Result, nist
from linearly.selftest.page import PROMISES, parse_page, render_page

ROOT = Path(__file__).resolve().parents[2]

PASSED, FAILED = Result("a [b]", "1 digit", "≥ 1", True), Result("c", "0 digits", "≥ 1", False)
ABSENT = Result("d", "needs x: pip install 'linearly[lab]'", "≥ 1", None)


@pytest.fixture
def selftest(monkeypatch, capsys):
    """Run the command on areas with given results; exit code, standard output, standard error."""

    def selftest(results, *words):
        for area in AREAS:
            module = import_module(f"linearly.selftest.{area}")
            monkeypatch.setattr(module, "results", lambda long, progress: iter(results))
        code = main(["selftest", *words])
        return code, *capsys.readouterr()

    return selftest


@pytest.mark.parametrize(
    ("results", "code"),
    [([PASSED], 0), ([PASSED, ABSENT], 0), ([PASSED, FAILED], 1), ([FAILED], 1), ([ABSENT], 1), ([], 1)],
)
def test_command_exit_code_is_1_on_failure(selftest, results, code):
    pytest.importorskip("rich")
    assert selftest(results, "nist")[0] == code


def test_command_prints_a_table(selftest, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "100")
    code, out, err = selftest([PASSED, FAILED, ABSENT], "nist", "laws", "nist", "--verbose")
    assert code == 1
    assert re.search(r"^nist +a \[b\] +1 digit +≥ 1 +passed *$", out, flags=re.M)
    assert "pip install 'linearly[lab]'" in out
    assert re.search(r"^2 passed, 2 failed, 2 not run   ", out, flags=re.M), "an area named twice is run once"
    assert err == "nist …\nlaws …\n"


def test_command_prints_one_line_per_area_and_what_did_not_pass(selftest):
    _, out, _ = selftest([PASSED, FAILED, ABSENT], "nist")
    first, failed, absent, _ = out.splitlines()
    assert first.startswith("nist          1 passed, 1 FAILED, 1 not run")
    assert (failed.split(":")[0], absent.split(":")[0]) == ("  FAILED", "  not run")


def test_command_without_area_runs_all(selftest):
    code, out, _ = selftest([PASSED], "--json")
    plain = json.loads(out)
    assert code == 0
    assert [row["area"] for row in plain["results"]] == list(AREAS)
    assert plain["counts"] == {"passed": len(AREAS), "failed": 0, "not run": 0}
    assert set(plain["seconds"]) == set(AREAS)
    first = {"area": "nist", "what": "a [b]", "figure": "1 digit", "required": "≥ 1", "verdict": "passed"}
    assert plain["results"][0] == first


def test_command_with_jobs_runs_areas_in_processes(capsys, tmp_path):
    require(find_spec("starlette") and find_spec("uvicorn"), "needs linearly[lab]")
    assert main(["selftest", "server", "nist", "--jobs", "2", "--json", "-o", str(tmp_path / "t.md")]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert list(dict.fromkeys(row["area"] for row in plain["results"])) == ["server", "nist"]
    assert plain["counts"]["failed"] == 0
    assert "`linearly selftest nist --jobs 2`" in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_command_refuses_unknown_area_and_page(capsys):
    assert main(["selftest", "speed"]) == 2
    assert main(["selftest", "nist", "-o", "page.html"]) == 2
    assert "must end in .md" in capsys.readouterr().err


def test_command_interrupted_exits_130(monkeypatch, capsys):
    def results(long, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(nist, "results", results)
    assert main(["selftest", "nist"]) == 130


# --- the page ---------------------------------------------------------------------------------------


def test_command_output_writes_a_page(selftest, tmp_path):
    code, _, err = selftest([PASSED, FAILED, ABSENT], "server", "--json", "-o", str(tmp_path / "t.md"))
    assert code == 1
    assert "saved" in err
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "`linearly selftest server`, " in text
    assert "| c | 0 digits | ≥ 1 | FAILED |" in text
    assert "**1 of 2 FAILED**: c: 0 digits" in text
    assert "| not run |" in text, "areas that were not asked for"
    assert str(ROOT) not in text


def test_command_output_keeps_areas_of_an_older_page(selftest, tmp_path):
    selftest([PASSED, FAILED, ABSENT], "server", "--json", "-o", str(tmp_path / "t.md"))
    selftest([PASSED], "laws", "--long", "--json", "-o", str(tmp_path / "t.md"))
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "`linearly selftest server`, " in text
    assert "`linearly selftest laws --long`, " in text
    found = parse_page(text)
    assert [r.verdict for r in found["server"].results] == ["passed", "FAILED", "not run"]
    assert render_page(found) == text
    selftest([PASSED], "server", "--json", "-o", str(tmp_path / "t.md"))
    assert "FAILED" not in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_promises_cover_every_area():
    assert {promise.area for promise in PROMISES if promise.area} == set(AREAS)


def test_promises_name_tests_that_exist():
    for promise in PROMISES:
        for test in promise.tests:
            assert (ROOT / "tests" / test).exists(), test


def test_trust_page_is_of_a_full_run_without_failure():
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    found = parse_page(text)
    assert set(found) == set(AREAS)
    assert render_page(found) == text
    assert all("--long" in one.command for one in found.values())
    assert "FAILED" not in text
    assert "not run" not in text
    for promise in PROMISES:
        assert f"| {promise.what} | {promise.required} | " in text
    for title in AREAS.values():
        assert f"\n## {title}\n" in text
    assert "| 0 violations in 10,000 cases |" in text
    assert "0 of 8,000" in text
    assert "0 damaged in 200 kills" in text
    assert "| 5 kills: identical bits after 5, an error after 0 |" in text


def test_render_page_without_areas_says_not_run():
    assert render_page({}).count("| not run |") == len([promise for promise in PROMISES if promise.area])
