"""Model files: load returns what was saved, refuses untrusted content, and no crash leaves half a file."""

import copy
import json
import os
import random
import subprocess
import sys
import tracemalloc
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import require
from processor_time import processor_time

import linearly as ly
from linearly.algorithm.least_squares.qr import QRFactor
from linearly.dataset.design.design import DesignRows
from linearly.dataset.design.serialization import InvalidFile
from linearly.export import model_file
from linearly.export.model_file import _digest, read, schema, to_bytes
from linearly.export.records import array as array_type
from linearly.export.records import decode, to_json
from linearly.selftest.untrusted_files import HOSTILE, RAW

GOLDEN = Path(__file__).parents[1] / "golden"
MODELS = (
    "linear",
    "ridge",
    "logistic",
    "lda",
    "qda",
    "least-squares",
    "perceptron",
    "batch",
    "pocket",
    "voted",
    "averaged",
)
MERGED = ("linear", "ridge", "lda", "qda", "least-squares")


def frame(n=240, seed=0):
    """Numbers, a boolean, a category and targets of every kind."""
    draw = np.random.default_rng(seed)
    x, size = draw.normal(5, 2, n), draw.lognormal(0, 1, n)
    kind, flag = draw.choice(["a", "b'", 'c "d"'], n), draw.random(n) > 0.4
    y = 0.3 * x - np.log(size) + 2 * (kind == "b'") + flag + draw.logistic(size=n)
    return pl.DataFrame(
        {
            "x": x,
            "net size": size,
            "kind": kind,
            "flag": flag,
            "y": y,
            "two": np.where(y > 2, "yes", "no"),
            "three": np.where(y > 3, 30, np.where(y > 1, 20, 10)),
            "truth": y > 2,
        }
    )


def fitted(model, target=None, data=None, **options):
    target = target or ("y" if model in ("linear", "ridge") else "three")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # perceptrons that do not settle, indicators that mask
        formula = f"{target} ~ x + log(`net size`) + kind + flag"
        return ly.fit(frame() if data is None else data, formula=formula, model=model, **options)


@pytest.fixture(scope="module", autouse=True)
def imported(tmp_path_factory):
    """What the first load of a process imports is no part of the time that a load may take."""
    path = tmp_path_factory.mktemp("imported") / "model.json"
    fitted("linear").save(path)
    ly.load(path)


@pytest.fixture(scope="module")
def linear_plain():
    return json.loads(to_bytes(fitted("linear")))


@pytest.fixture(scope="module")
def voted_plain():
    return json.loads(to_bytes(fitted("voted", "two")))


# --- everything comes back ------------------------------------------------------------------------


CASES = [
    *((model, None, {}) for model in MODELS),
    *((model, "two", {}) for model in MODELS[2:]),
    ("logistic", "truth", {"alpha": 1}),
    ("logistic", "three", {"reference": 10}),
    ("logistic", "two", {"solver": "lbfgs"}),
    ("logistic", "two", {"covariance": "HC1"}),
    ("linear", None, {"method": "qr"}),
    ("linear", None, {"method": "extended"}),
    ("linear", None, {"method": "gradient_descent"}),
    ("linear", None, {"covariance": "HC3"}),
    ("linear", None, {"alpha": 0.5, "penalize_intercept": True}),
    ("ridge", None, {"alpha": 2.0}),
    ("ridge", None, {"cv": "loo"}),
    ("ridge", None, {"alphas": [0.1, 1, 10.0]}),
    ("lda", None, {"priors": [0.2, 0.3, 0.5], "shrinkage": 0.1}),
    ("perceptron", None, {"init": "random", "shuffle": False, "random_state": 3}),
]


@pytest.mark.parametrize(("model", "target", "options"), CASES)
def test_load_returns_the_same_model(tmp_path, model, target, options):
    before = fitted(model, target, **options)
    before.save(tmp_path / "m.json")
    after = ly.load(tmp_path / "m.json")
    new = frame(500, seed=1)
    assert after.model == before.model
    assert after.classes == before.classes
    assert [type(label) for label in after.classes] == [type(label) for label in before.classes]
    assert after.design == before.design
    assert after.ledger == before.ledger
    assert after.estimator.get_params() == before.estimator.get_params()
    assert after.predict(new).tolist() == before.predict(new).tolist()  # bit for bit
    if hasattr(before.estimator, "predict_proba"):
        assert np.array_equal(after.predict_proba(new), before.predict_proba(new))
    elif after.classes:
        rows = DesignRows(before._new_tables(new), before.design.without_target())
        assert np.array_equal(after.estimator.decision_function(rows), before.estimator.decision_function(rows))
    if options.get("method") == "qr":
        assert isinstance(after.estimator.summary_, QRFactor)
    assert str(after.summary()) == str(before.summary())
    assert str(after.evaluate(new)) == str(before.evaluate(new))
    if model in ("linear", "ridge", "logistic") and options.get("solver") != "lbfgs":
        assert str(after.tidy()) == str(before.tidy())
        assert str(after.glance()) == str(before.glance())


@pytest.mark.parametrize(("model", "target", "options"), [*CASES[: len(MODELS)], *CASES[2 * len(MODELS) :: 3]])
def test_schema_accepts_saved_files_and_no_unknown_field(model, target, options):
    require(find_spec("jsonschema"), "needs jsonschema")
    import jsonschema

    plain = json.loads(to_bytes(fitted(model, target, **options)))
    published = json.loads(json.dumps(schema()))
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.Draft202012Validator(published).validate(plain)
    plain["estimator"]["state"]["more"] = 1
    assert not jsonschema.Draft202012Validator(published).is_valid(plain)


def test_schema_states_dtype_dimensions_and_limits():
    definitions = schema()["$defs"]
    coef = definitions["Solution"]["properties"]["coef"]
    assert coef["allOf"][1]["properties"] == {"dtype": {"const": "f8"}, "shape": {"minItems": 2, "maxItems": 2}}
    assert definitions["Gram"]["properties"]["n"] == {"type": "integer", "minimum": 0, "maximum": 2**53}
    assert not [name for name, kind in definitions.items() if kind["additionalProperties"] is not False]


def test_save_of_a_loaded_model_gives_the_same_file(tmp_path):
    model = fitted("lda")
    model.save(tmp_path / "a.json")
    ly.load(tmp_path / "a.json").save(tmp_path / "b.json")
    a, b = (json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("a.json", "b.json"))
    for plain in (a, b):
        del plain["provenance"]["time"], plain["digest"]
    assert a == b


def test_load_returns_every_bit_of_floats(tmp_path):
    x = np.array([0.1, 1 / 3, 2 / 3, 5e-324, -0.0, 1.0000000000000002])
    model = ly.fit({"x": x, "y": x * 0.7 + np.arange(6)}, target="y")
    model.save(tmp_path / "m.json")
    after = ly.load(tmp_path / "m.json").estimator
    assert after.coef_.tobytes() == model.estimator.coef_.tobytes()
    assert after.summary_.centered_crossprod.tobytes() == model.estimator.summary_.centered_crossprod.tobytes()


def test_load_returns_every_bit_of_extended_summaries(tmp_path):
    draw = np.random.default_rng(0)
    x = 1e9 + draw.normal(size=50)
    data = {"x": x, "z": x + 1e-4 * draw.normal(size=50), "y": draw.normal(size=50)}
    model = ly.fit(data, target="y", method="extended")
    model.save(tmp_path / "m.json")
    after = ly.load(tmp_path / "m.json").estimator.summary_
    assert after.is_extended
    assert after.centered_crossprod.low.tobytes() == model.estimator.summary_.centered_crossprod.low.tobytes()


def test_read_returns_conventions_and_provenance(tmp_path):
    fitted("logistic").save(tmp_path / "m.json")
    saved = read(tmp_path / "m.json")
    assert saved.conventions["reference class"] == "30: its logit is 0"
    assert saved.provenance["rows"] == 240
    assert saved.provenance["library_version"] == ly.__version__
    assert saved.provenance["time"].endswith("+00:00")
    fitted("linear").save(tmp_path / "l.json")
    assert len(read(tmp_path / "l.json").provenance["data_fingerprint"]) == 32


def test_to_bytes_contains_no_row_of_the_data():
    data = frame()
    plain = json.loads(to_bytes(fitted("linear", data=data)))
    rows = plain["vectors"]["rows"]["values"]
    assert not set(rows) & set(data["x"].to_list())
    assert "base64" not in plain["vectors"]["rows"]


def test_load_keeps_the_verdict_of_a_separated_fit(tmp_path):
    with pytest.warns(ly.SeparationWarning):
        model = ly.fit({"x": [0.0, 1.0, 3.0, 4.0], "y": ["a", "a", "b", "b"]}, target="y")
    model.save(tmp_path / "m.json")
    after = ly.load(tmp_path / "m.json")
    assert after.estimator.separation_.verdict == "separable"
    assert str(after.summary()) == str(model.summary())


# --- what the summary is for ----------------------------------------------------------------------


@pytest.mark.parametrize("model", MERGED)
def test_loaded_models_add_up_to_the_fit_of_all_rows(tmp_path, model):
    data = frame(400)
    target = "two" if model == "least-squares" else None
    whole = fitted(model, target, data, **({"cv": 4} if model == "ridge" else {}))
    for k, part in enumerate((data[:160], data[160:])):
        ly.fit(part, like=whole).save(tmp_path / f"{k}.json")
    first, second = (ly.load(tmp_path / f"{k}.json") for k in range(2))
    both = first + second
    mine, all_rows = both.estimator, whole.estimator
    if model == "qda":
        assert np.allclose(mine.covariances_, all_rows.covariances_, rtol=1e-10)
    else:
        assert np.allclose(mine.coef_, all_rows.coef_, rtol=1e-9, atol=1e-10)
    new = frame(100, seed=2)
    same = np.array_equal if whole.classes else np.allclose
    assert same(both.predict(new), whole.predict(new))
    with pytest.raises(ValueError, match="in both models"):
        _ = both + first
    if model != "ridge":
        both.save(tmp_path / "both.json")
        rest = ly.load(tmp_path / "both.json") - second
        reference = first.estimator.means_ if model == "qda" else first.estimator.coef_
        assert np.allclose(rest.estimator.means_ if model == "qda" else rest.estimator.coef_, reference, rtol=1e-7)


def test_loaded_summary_solves_for_another_alpha(tmp_path):
    fitted("linear").save(tmp_path / "m.json")
    summary = ly.load(tmp_path / "m.json").estimator.summary_
    again = fitted("linear", alpha=3.0)
    assert np.allclose(summary.solve(3.0).coef[:, 0], again.estimator.coef_, rtol=1e-12)


@pytest.mark.parametrize("model", ["perceptron", "averaged", "voted"])
@pytest.mark.parametrize("target", ["two", "three"])
def test_loaded_perceptron_continues_training(tmp_path, model, target):
    before = fitted(model, target)
    before.save(tmp_path / "m.json")
    after = ly.load(tmp_path / "m.json")
    more = frame(60, seed=5)
    for each in (before, after):
        each.estimator.partial_fit(each.design_rows(more))
    new = DesignRows(before._new_tables(frame(80, seed=6)), before.design.without_target())
    assert np.array_equal(before.estimator.decision_function(new), after.estimator.decision_function(new))
    assert before.estimator.n_updates_ == after.estimator.n_updates_


@pytest.mark.parametrize("model", ["perceptron", "averaged"])
def test_loaded_perceptron_continues_training_on_a_cluster(tmp_path, model):
    dask = pytest.importorskip("dask.dataframe")
    before = fitted(model, "two")
    before.save(tmp_path / "m.json")
    after = ly.load(tmp_path / "m.json")
    more = dask.from_pandas(frame(60, seed=5).to_pandas(), npartitions=3)
    for each in (before, after):
        each.estimator.partial_fit(each.design_rows(more))
    assert np.array_equal(before.estimator.coef_, after.estimator.coef_)
    assert before.estimator.n_updates_ == after.estimator.n_updates_


def test_chow_test_of_two_files_equals_the_textbook(tmp_path):
    # Savings on income, United States 1970-1995, billions of dollars; Gujarati, Basic Econometrics (4th ed.), table 8.9
    # and section 8.8: RSS 1785.032, 10005.22 and 23248.30, F = 10.69 on 2 and 22 df. More digits by R's lm.
    savings = [61.0, 68.6, 63.6, 89.6, 97.6, 104.4, 96.4, 92.5, 112.6, 130.1, 161.8, 199.1, 205.5]
    savings += [167.0, 235.7, 206.2, 196.5, 168.4, 189.1, 187.8, 208.7, 246.4, 272.6, 214.4, 189.4, 249.3]
    income = [727.1, 790.2, 855.3, 965.0, 1054.2, 1159.2, 1273.0, 1401.4, 1580.1, 1769.5, 1973.3, 2200.2, 2347.3]
    income += [2522.4, 2810.0, 3002.0, 3187.6, 3363.1, 3640.8, 3894.5, 4166.8, 4343.7, 4613.7, 4790.2, 5021.7, 5320.8]
    parts = (slice(0, 12), slice(12, 26))
    for k, rows in enumerate(parts):
        ly.fit({"income": income[rows], "savings": savings[rows]}, target="savings").save(tmp_path / f"{k}.json")
    a, b = (ly.load(tmp_path / f"{k}.json") for k in range(2))
    assert a.estimator.solution_.rss[0] == pytest.approx(1785.03209914638, rel=1e-12)
    assert b.estimator.solution_.rss[0] == pytest.approx(10005.2207044875, rel=1e-12)
    assert (a + b).estimator.solution_.rss[0] == pytest.approx(23248.2981523973, rel=1e-12)
    apart, together = (sum(model.estimator.solution_.rss[0] for model in models) for models in ((a, b), (a + b,)))
    assert (together - apart) / 2 / (apart / 22) == pytest.approx(10.6900590628176, rel=1e-10)
    note = ly.diff(a, b).notes[0]  # the joint test, which allows error variances of 178.5 and 833.8
    assert note.startswith("The coefficients differ (Wald test of all terms: F")
    assert note.endswith(").")


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("model-v*.json")), ids=lambda path: path.name)
def test_load_reads_files_of_every_version(path):
    model = ly.load(path)
    want = json.loads(GOLDEN.joinpath("model-answers.json").read_text(encoding="utf-8"))[path.name]
    data = {name: want["rows"][name] for name in model.design.features}
    answers = model.predict(data).tolist()
    assert answers == (pytest.approx(want["answers"], rel=1e-12) if model.classes == () else want["answers"])


def test_golden_files_cover_every_version():
    versions = {path.name.split("-")[1] for path in GOLDEN.glob("model-v*.json")}
    assert versions == {f"v{version}" for version in range(1, model_file.VERSION + 1)}


# --- strangers' files -----------------------------------------------------------------------------


def written(path, plain, *, digest=True):
    """The plain file with a digest that fits, so that what is behind it is reached."""
    plain = copy.deepcopy(plain)
    if digest:
        body = {name: value for name, value in plain.items() if name not in ("format", "version", "digest")}
        try:
            plain["digest"] = _digest(body)
        except (InvalidFile, ValueError):
            plain["digest"] = "0" * 64
    with path.open("w", encoding="utf-8") as file:
        json.dump(plain, file)
    return path


_events: list[str] = []
_watching = False


def _audit(event, arguments):
    if _watching and event.startswith(("exec", "subprocess.", "os.system", "os.posix_spawn", "socket.", "pickle.")):
        _events.append(event)


sys.addaudithook(_audit)


def refused(path, match=None, *, memory=False):
    """Loading is refused in one sentence and in little time and memory; nothing is run."""
    global _watching
    _events.clear()
    if memory:
        tracemalloc.start()
    _watching = True
    try:
        with processor_time() as taken, pytest.raises((ValueError, FileNotFoundError), match=match) as caught:
            ly.load(path)
    finally:
        _watching = False
        peak = tracemalloc.get_traced_memory()[1] if memory else 0
        tracemalloc.stop()
    told = str(caught.value)
    assert told.endswith(".")
    assert "\n" not in told
    assert len(told) < 500
    assert not _events, _events
    assert taken.seconds < (5.0 if memory else 0.5)  # tracing takes its time
    assert peak < 10_000_000
    return told


@pytest.mark.parametrize("name", HOSTILE)
def test_load_refuses_hostile_files(tmp_path, monkeypatch, linear_plain, name):
    monkeypatch.chdir(tmp_path)
    plain = copy.deepcopy(linear_plain)
    HOSTILE[name](plain)
    refused(written(tmp_path / "m.json", plain), memory="shape" in name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json"]


def test_hostile_files_differ_from_a_valid_file_by_one_change(tmp_path, linear_plain):
    assert len(HOSTILE) >= 40
    assert ly.load(written(tmp_path / "m.json", linear_plain)).model == "linear"


def text_of(plain, old, new):
    text = json.dumps(plain)
    assert old in text
    return text.replace(old, new, 1).encode()


@pytest.mark.parametrize("name", RAW)
def test_load_refuses_bytes_that_are_not_a_model_file(tmp_path, name):
    path = tmp_path / "m.json"
    path.write_bytes(RAW[name])
    refused(path)


def test_load_refuses_duplicate_keys(tmp_path, linear_plain):
    path = tmp_path / "m.json"
    path.write_bytes(text_of(linear_plain, '"model": "linear"', '"model": "linear", "model": "linear"'))
    assert "twice" in refused(path)


def test_load_refuses_truncated_and_damaged_files(tmp_path, linear_plain):
    text = json.dumps(linear_plain).encode()
    path = tmp_path / "m.json"
    draw = random.Random(0)
    for _ in range(40):
        path.write_bytes(text[: draw.randrange(len(text))])
        refused(path)
    digits = [i for i, letter in enumerate(text) if letter in b"0123456789"]
    for _ in range(40):
        i = draw.choice(digits)
        changed = b"1234567890"[int(chr(text[i]))]
        damaged = text[:i] + bytes([changed]) + text[i + 1 :]
        if json.loads(damaged) != linear_plain:  # the 17th digit may not matter
            path.write_bytes(damaged)
            refused(path)


def test_load_of_a_newer_version_names_the_version(tmp_path, linear_plain):
    plain = linear_plain | {"version": 7, "shape of the future": []}
    told = refused(written(tmp_path / "m.json", plain))
    assert "version 7" in told
    assert "a newer linearly is needed" in told


@pytest.mark.parametrize("change", ["which", "codes", "times", "rows"])
def test_load_refuses_contradictory_mistake_logs(tmp_path, voted_plain, change):
    plain = copy.deepcopy(voted_plain)
    log = plain["estimator"]["state"]["training"]["log"]
    array = decode(log[change], array_type("n", dtype=log[change]["dtype"]), change, {})
    array[len(array) // 2] = -1 if change != "rows" else 10**12
    log[change] = to_json(array)
    refused(written(tmp_path / "m.json", plain), match="mistake log")


def test_load_refuses_paths_that_are_not_regular_files(tmp_path):
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "folder")
    refused(tmp_path / "nothing.json")
    refused(Path("/dev/zero"))
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", match="not a regular file")
    with pytest.raises(ValueError, match="null"):
        ly.load("a\0b")


def test_load_refuses_large_files_before_parsing(tmp_path, monkeypatch, linear_plain):
    path = written(tmp_path / "m.json", linear_plain)
    monkeypatch.setattr(model_file, "MAX_FILE_BYTES", 1000)
    refused(path, match="larger than")


# --- saving ---------------------------------------------------------------------------------------


def test_save_refusal_states_the_reason(tmp_path):
    with pytest.raises(ValueError, match=r"only a Model returned by linearly\.fit"):
        model_file.save(ly.LinearRegression(), tmp_path / "m.json")
    model = fitted("perceptron", "two", random_state=np.random.RandomState(0))
    with pytest.raises(ValueError, match=r"set_params\(random_state=…\)"):
        model.save(tmp_path / "m.json")
    with pytest.raises(ValueError, match=r"the directory .* does not exist"):
        fitted("linear").save(tmp_path / "nowhere" / "m.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="not a regular file"):
        fitted("linear").save(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_save_to_a_full_disk_leaves_the_old_file(tmp_path):
    require(os.path.exists("/dev/full"), "needs /dev/full")
    model = fitted("linear")
    model.save(tmp_path / "m.json")
    before = (tmp_path / "m.json").read_bytes()
    code = (
        "import resource, sys, linearly as ly\n"
        f"model = ly.load({str(tmp_path / 'm.json')!r})\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"model.save({str(tmp_path / 'm.json')!r})\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "OSError" in run.stderr
    assert (tmp_path / "m.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json"]


def test_save_keeps_links_and_modes(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "real.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    fitted("linear").save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640
    assert ly.load(tmp_path / "link.json").model == "linear"


def test_save_removes_only_its_own_temporary_files(tmp_path):
    ours = tmp_path / f".linearly-{'0' * 16}.saving"
    others = [tmp_path / name for name in (".linearly-x.saving", "m.json.tmp", f".linearly-{'0' * 16}.saving.bak")]
    for path in (ours, *others):
        path.write_text("half")
    fitted("linear").save(tmp_path / "m.json")
    assert not ours.exists()
    assert all(path.exists() for path in others)


def test_kill_during_save_leaves_whole_files(tmp_path):
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    fitted("linear").save(small)
    fitted("voted", "two").save(large)
    target = tmp_path / "saves" / "m.json"
    target.parent.mkdir()
    target.write_bytes(small.read_bytes())
    kills, draw = 200, random.Random(1)
    corrupt, strays, models = [], 0, set()
    saver = _forking_saver(tmp_path, target, small, large)
    try:
        for _ in range(kills):
            saver.stdin.write(f"{draw.uniform(0.0, 0.02)}\n")
            saver.stdin.flush()
            assert saver.stdout.readline() == "killed\n"
            strays = max(strays, len(list(target.parent.glob(".linearly-*.saving"))))
            data = target.read_bytes()
            if data not in (small.read_bytes(), large.read_bytes()):
                corrupt.append(len(data))
            models.add(len(data))
    finally:
        saver.stdin.close()
        saver.stdout.close()
        saver.wait(timeout=60)
    assert not corrupt
    assert len(models) == 2, "both files must have been written at some time"
    assert strays >= 1, "some kill must have come in the middle of a save"
    assert ly.load(target).model in ("linear", "voted")
    ly.load(small).save(target)
    assert [path.name for path in target.parent.iterdir()] == ["m.json"]


def _forking_saver(folder, target, small, large):
    """A process that forks a child saving in a loop, and kills it with SIGKILL after so many seconds; 200 imports of
    NumPy would take minutes."""
    code = f"""
import os, signal, sys, time
from linearly.dataset.files.atomic_file import write_atomic
texts = [open(name, "rb").read() for name in ({str(small)!r}, {str(large)!r})]
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        while True:
            for text in texts:
                write_atomic({str(target)!r}, text)
    time.sleep(float(line))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("killed", flush=True)
"""
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
