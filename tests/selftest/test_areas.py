"""Every area of the selftest passes here, and fails on a library with a fault."""

import os
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import require

import linearly as ly
from linearly.dataset.rows.block import is_rows
from linearly.dataset.rows.reduce import n_threads
from linearly.selftest import (
    AREAS,
    Result,
    extreme,
    files,
    kill_tests,
    laws,
    nist,
    run,
    server,
    splits,
)
from linearly.selftest import separability as area_of_separability
from linearly.selftest.page import PROMISES

ROOT = Path(__file__).resolve().parents[2]
WITH_LONG = {"two Dask", "kill -9", "Spark"}  # words of results that `--long` alone has
EXTRAS = {"splits": ["pyarrow"], "files": ["pyarrow", "click"], "server": ["starlette", "uvicorn"]}


def failed(results):
    return [result.what for result in results if result.passed is False]


def looked_at(area, long=False):
    return [result for _, result in run([area], long=long)]


# --- it passes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("area", AREAS)
def test_every_area_passes(area):
    for name in EXTRAS.get(area, ()):
        require(find_spec(name), f"needs {name}")
    told = []
    results = [result for _, result in run([area], progress=lambda done, total: told.append((done, total)))]
    assert len(results) >= 4
    assert [(r.what, r.figure) for r in results if r.passed is not True] == []
    assert all(r.figure and r.required and r.verdict == "passed" for r in results)
    assert told
    assert all(0 < done <= total for done, total in told)
    for words in {words for one in PROMISES if one.area == area for words in one.quoted} - WITH_LONG:
        assert any(words in r.what for r in results), f"the page quotes {words!r}"


@pytest.mark.slow
@pytest.mark.parametrize("area", ["extreme", "splits", "server"])
def test_every_area_passes_in_full(area):
    for name in EXTRAS.get(area, ()):
        require(find_spec(name), f"needs {name}")
    assert [(r.what, r.figure) for r in looked_at(area, long=True) if r.passed is False] == []


def test_result_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Result("a", "1", "1", False).passed = True


def test_run_needs_no_test_library():
    code = (
        "import sys\n"
        "from importlib.machinery import PathFinder\n"
        "absent = ('pytest', 'hypothesis', 'pandas', 'polars', 'pyarrow', 'statsmodels')\n"
        "class Without(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        return None if name.split('.')[0] in absent else super().find_spec(name, path, target)\n"
        "sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]\n"
        "from linearly.selftest import run\n"
        "for area, result in run(['nist', 'laws', 'server']):\n"
        "    assert result.passed is not False, result\n"
        "assert not set(absent) & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- and it fails -----------------------------------------------------------------------------------


def spoil(monkeypatch, estimator, change):
    """An estimator whose fit ends with a change of its numbers."""
    fit = estimator.fit

    def spoilt(self, X, y=None, **more):
        fit(self, X, y, **more)
        change(self, X)
        return self

    monkeypatch.setattr(estimator, "fit", spoilt)


def test_nist_sees_one_part_in_a_trillion(monkeypatch):
    def change(model, X):
        model.coef_ = model.coef_ * (1 + 1e-12)

    spoil(monkeypatch, ly.LinearRegression, change)
    wrong = failed(nist.results(False, print))
    assert {f"{name}, extended: coefficients, standard errors" for name in nist.SETS} <= set(wrong)
    assert any(what.startswith("coefficients, extended") for what in wrong)
    assert not any(what.startswith("coefficients, auto") for what in wrong), "nine digits are still there"


def test_nist_sees_standard_errors(monkeypatch):
    fitted = nist.fitted("Longley", "extended")
    monkeypatch.setattr(nist, "fitted", lambda name, method: replace(fitted, std_error=8.0))
    wrong = failed(nist.results(False, print))
    assert "Longley, extended: coefficients, standard errors" in wrong
    assert any(what.startswith("standard errors, auto") for what in wrong)


def test_nist_sees_false_claims_of_digits(monkeypatch):
    def change(model, X):
        model.coef_ = model.coef_ * (1 + 1e-6)

    spoil(monkeypatch, ly.LinearRegression, change)
    assert "fits that report too many digits without a warning" in failed(nist.results(False, print))


def test_nist_sees_a_changed_answer(monkeypatch):
    beta = nist.SETS["Norris"]["beta"]
    monkeypatch.setitem(nist.SETS["Norris"], "beta", [beta[0][:-1] + "9", beta[1][:-8] + "00000000"])
    assert failed(nist.results(False, print)) == ["stored reference values, compared with rational arithmetic"]


def test_extreme_sees_lost_digits_and_a_warning_that_is_not_given(monkeypatch):
    few = {name: extreme.HOSTILE[name] for name in ("tame", "offset 1e9", "near-collinear 1e-10")}
    monkeypatch.setattr(extreme, "HOSTILE", few)
    assert not failed(extreme.results(False, print))
    fitted = extreme.fitted
    with monkeypatch.context() as silenced:
        silenced.setattr(extreme, "fitted", lambda *a, **k: (fitted(*a, **k)[0], set()))
        wrong = failed(extreme.results(False, print))
        assert [what for what in wrong if "gram" in what]
        assert not [what for what in wrong if "extended" in what]

    def change(model, X):
        model.coef_ = model.coef_ * (1 + 1e-11)

    spoil(monkeypatch, ly.LinearRegression, change)
    assert len([what for what in failed(extreme.results(False, print)) if "ill-conditioned" in what]) == 5


def test_extreme_sees_other_labels_far_away(monkeypatch):
    def change(model, X):
        if np.abs(X).max() > 1e6:
            model.classes_ = model.classes_[::-1]

    spoil(monkeypatch, ly.LinearDiscriminantAnalysis, change)
    monkeypatch.setattr(extreme, "HOSTILE", {"tame": extreme.HOSTILE["tame"]})
    (wrong,) = [r for r in extreme.results(False, print) if not r.passed]
    assert "LinearDiscriminantAnalysis at 1e+09" in wrong.figure


def test_splits_sees_threads(monkeypatch):
    def change(model, X):
        model.coef_ = model.coef_ * (1 + 4e-16 * n_threads())

    spoil(monkeypatch, ly.LinearDiscriminantAnalysis, change)
    X, y, labels = splits.data(600, 7)
    assert not splits._threads(X, y, labels).passed
    assert "LinearDiscriminantAnalysis" in splits._threads_on_many_rows().figure
    assert splits._blockings(X, y, labels, 1).passed


def test_splits_sees_blocks_and_files(monkeypatch):
    require(find_spec("pyarrow"), "needs pyarrow")

    def change(model, X):
        if is_rows(X):
            model.coef_ = model.coef_ * (1 + 1e-9)

    spoil(monkeypatch, ly.LogisticRegression, change)
    X, y, labels = splits.data(600, 7)
    assert splits._threads(X, y, labels).passed
    assert not splits._blockings(X, y, labels, 1).passed
    assert not splits._files(X, y, labels).passed


def test_splits_sees_an_addition_that_forgets(monkeypatch):
    monkeypatch.setattr(ly.QuadraticDiscriminantAnalysis, "__add__", lambda a, b: a)
    X, y, labels = splits.data(600, 7)
    assert not splits._merged(X, y, labels, 3).passed


@pytest.mark.parametrize(
    ("estimator", "broken"),
    [
        (ly.LinearDiscriminantAnalysis, {"duplicate", "absent"}),
        (ly.LinearRegression, {"duplicate", "absent"}),
    ],
)
def test_laws_sees_forgotten_weights(monkeypatch, estimator, broken):
    fit = estimator.fit
    monkeypatch.setattr(estimator, "fit", lambda self, X, y=None, sample_weight=None: fit(self, X, y))
    monkeypatch.setattr(laws, "SHORT", 140)
    wrong = {what.partition(":")[0] for what in failed(laws.results(False, print))}
    assert wrong - {f"all laws, {len(laws.ENTRIES)} estimators"} == broken


def test_laws_sees_an_intercept_that_is_not_free(monkeypatch):
    def change(model, X):
        model.intercept_ = 0.0 * model.intercept_

    monkeypatch.setattr(laws, "SHORT", 140)
    spoil(monkeypatch, ly.LinearRegression, change)
    wrong = {what.partition(":")[0] for what in failed(laws.results(False, print))}
    assert "shift" in wrong
    assert "relabelling" not in wrong


def test_separability_sees_false_verdicts_and_false_proofs(monkeypatch):
    monkeypatch.setattr(area_of_separability, "SHORT", 40)
    monkeypatch.setattr(area_of_separability, "HAIRLINES_SHORT", 12)
    honest = area_of_separability.separability

    def careless(X, y, **how):
        found = honest(X, y, **how)
        return replace(found, verdict="separable") if found.verdict == "quasi-separable" else found

    monkeypatch.setattr(area_of_separability, "separability", careless)
    assert len(failed(area_of_separability.results(False, print))) == 4

    def unproven(X, y, **how):
        found = honest(X, y, **how)
        if found.witness is None:
            return found
        twice = tuple(t * (1 + (k == 0)) for k, t in enumerate(found.witness.witness_weights))
        assert all(isinstance(t, Fraction) for t in twice)
        return replace(found, witness=replace(found.witness, witness_weights=twice))

    monkeypatch.setattr(area_of_separability, "separability", unproven)
    wrong = failed(area_of_separability.results(False, print))
    assert len(wrong) == 2
    assert all("proofs" in what for what in wrong)


# --- processes with a fault: what they import first changes the library ---------------------------


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    """Have every Python that is started run some code before anything else."""

    def prepare(code):
        folder = tmp_path / "fault"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
        monkeypatch.setenv(
            "PYTHONPATH", os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        )

    return prepare


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.slow
def test_files_sees_a_save_that_is_not_atomic(tmp_path, faulty):
    faulty(
        "import time\n"
        "import linearly.export.model_file as m\n"
        "def sloppy(path, data):\n"
        "    with open(path, 'wb') as file:\n"
        "        for start in range(0, len(data), 4096):\n"
        "            file.write(data[start : start + 4096])\n"
        "            file.flush()\n"
        "            time.sleep(0.0005)\n"
        "m.write_atomic = sloppy\n"
    )
    killed, _ = kill_tests.killed_while_saving(tmp_path, 12, print)
    assert killed.passed is False
    assert not kill_tests.disk_full(tmp_path).passed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_files_does_not_count_kills_that_came_too_early(tmp_path, faulty):
    faulty(
        "import linearly.export.model_file as m\n"
        "from linearly.dataset.files.atomic_file import write_atomic\n"
        "m.write_atomic = lambda path, data: None if __import__('os').path.exists(path) else write_atomic(path, data)\n"
    )
    killed, _ = kill_tests.killed_while_saving(tmp_path, 4, print)
    assert killed.passed is None


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.slow
def test_files_sees_an_ignored_interruption(tmp_path, faulty):
    require(find_spec("click") and find_spec("pyarrow"), "needs linearly[cli]")
    faulty("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal = lambda *a: None\n")
    found = kill_tests.interrupted(tmp_path, 1)
    assert found.passed is False
    assert found.figure.startswith("exit codes 0 in 2 runs; 0 ")


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_files_interrupts_even_if_interruptions_were_ignored(tmp_path, faulty):
    require(find_spec("click") and find_spec("pyarrow"), "needs linearly[cli]")
    faulty("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n")
    assert kill_tests.interrupted(tmp_path, 1).passed


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_files_sees_half_written_answers(tmp_path, faulty):
    require(find_spec("click") and find_spec("pyarrow"), "needs linearly[cli]")
    faulty("import os\nos.unlink = os.remove = lambda *a, **k: None\n")
    found = kill_tests.interrupted(tmp_path, 1)
    assert found.passed is False
    assert not found.figure.endswith("; 0 incomplete files")


def test_files_sees_hostile_models_that_are_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(ly, "load", lambda path: None)
    assert files._hostile_models(tmp_path).figure.startswith("0 of ")
    assert files._damaged_models(tmp_path, 10).passed is False


@pytest.mark.parametrize(
    ("doing", "seen"),
    [
        ("exec('1')", "ran exec"),
        ("x = bytes(20_000_000)", "took 20 MB"),
        ("raise KeyError('format')", "KeyError instead of a refusal"),
        ("raise ValueError('no')", "not reported in one sentence"),
    ],
)
def test_find_fault_names_what_a_hostile_file_did(tmp_path, monkeypatch, doing, seen):
    names = {}
    exec(f"def load(path):\n    {doing}\n    raise ValueError(f'{{path}}: refused.')\n", names)
    monkeypatch.setattr(ly, "load", names["load"])
    (tmp_path / "m.json").write_text("{}")
    assert files.find_fault(tmp_path / "m.json", memory=True) == seen


def test_files_sees_damaged_tables_that_are_read(tmp_path, monkeypatch):
    require(find_spec("pyarrow"), "needs pyarrow")
    monkeypatch.setattr(ly.LinearRegression, "fit", lambda self, rows: self)
    assert files._damaged_tables(tmp_path).passed is False


@pytest.mark.parametrize(
    ("fault", "answered"),
    [
        ("Lab._check_request = lambda self, request: None", {"requests with a foreign", "requests without a token"}),
        ("server.MAX_BODY_BYTES = 10**18", {"request bodies"}),
        ("server._parse_json = lambda body: {'page': '0123456789abcdef', 'do': 'open'}", {"unknown"}),
        ("server.HOST = '0.0.0.0'", {"the rest"}),
    ],
)
def test_server_sees_requests_that_are_answered(faulty, monkeypatch, fault, answered):
    require(find_spec("starlette") and find_spec("uvicorn"), "needs linearly[lab]")
    monkeypatch.setattr(server, "ANSWER", 4.0)  # a body that never comes is waited for
    faulty(f"import linearly.lab.server as server\nfrom linearly.lab.server import Lab\n{fault}\n")
    wrong = failed(looked_at("server"))
    assert {word for word in answered if any(what.startswith(word) for what in wrong)} == answered


# --- what is not there ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "needs", "extra"),
    [(server, {"starlette", "uvicorn"}, "lab"), (splits, {"pyarrow"}, "files"), (files, {"pyarrow"}, "files")],
)
def test_missing_extra_is_named_and_not_run(monkeypatch, tmp_path, module, needs, extra):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name in needs else find_spec(name))
    if module is files:
        results = [files._damaged_tables(tmp_path)]
    elif module is splits:
        results = [splits._files(*splits.data(60, 7))]
    else:
        results = looked_at("server")
    assert results
    assert all(r.passed is None and r.verdict == "not run" for r in results)
    assert all(f"pip install 'linearly[{extra}]'" in r.figure for r in results)


def test_run_reports_an_area_that_raises_and_goes_on(monkeypatch):
    def broken(long, progress):
        yield Result("first", "1", "1", True)
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(nist, "results", broken)
    monkeypatch.setattr(laws, "results", lambda long, progress: [Result("other", "1", "1", True)])
    found = list(run(["nist", "laws"]))
    assert [(area, r.what, r.passed) for area, r in found] == [
        ("nist", "first", True),
        ("nist", "the rest", False),
        ("laws", "other", True),
    ]
    assert "ZeroDivisionError: by zero" in found[1][1].figure


def test_run_unknown_area_raises():
    with pytest.raises(ValueError, match="'speed' is not an area"):
        list(run(["speed"]))
