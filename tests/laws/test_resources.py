"""A world that runs out: of disk, of memory, of patience. Nothing half-written, nothing wrong, nothing that hangs."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from estimators import CutRows
from hostile import ESTIMATORS, REGRESSORS

import linearly as ly
from linearly.dataset.rows import reduce as fold_module

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits, forks and signals are those of POSIX")

RNG = np.random.default_rng(12)
X = RNG.normal(size=(400, 6))
Y = X @ np.arange(6.0) + RNG.normal(size=400)
LABELS = (Y + 4 * RNG.normal(size=400) > 0).astype(int)


def answers(name, rows=X, shift=0):
    """What an estimator says after a fit: bits to compare."""
    y = Y if name in REGRESSORS else LABELS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ESTIMATORS[name]().fit(rows, np.roll(y, shift))
        asked = model.predict if name in REGRESSORS else model.decision_function
        return asked(rows).tobytes()


def child(code, folder, timeout=300, **environment):
    """The answer, as JSON, of a Python process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert run.returncode == 0, f"exit {run.returncode}: {run.stderr[-2000:]}"
    return json.loads(run.stdout.splitlines()[-1])


# --- a full disk ----------------------------------------------------------------------------------

FULL = """
import contextlib, io, json, os, resource, sys, warnings
import numpy as np
import linearly as ly
from linearly.cli.main import main
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
data = {"a": rng.normal(size=3000), "b": rng.normal(size=3000)}
data["y"] = data["a"] + rng.normal(size=3000)
ly.fit(data, target="y").save("model.json")
with open("data.csv", "w") as file:
    file.write("a,b,y\\n" + "".join(f"{a},{b},{y}\\n" for a, b, y in zip(*data.values())))
tasks = {
    "save": ("model.json", lambda: ly.load("kept.json").save("model.json")),
    "predict csv": ("p.csv", lambda: ly.load("model.json").predict(data, out="p.csv")),
    "predict csv.gz": ("p.csv.gz", lambda: ly.load("model.json").predict(data, out="p.csv.gz")),
    "predict parquet": ("p.parquet", lambda: ly.load("model.json").predict(data, out="p.parquet")),
    "report": ("r.html", lambda: ly.load("model.json").report("r.html", data)),
    "linearly fit": ("model.json", lambda: main(["fit", "data.csv", "-t", "y", "-o", "model.json"])),
    "linearly predict": ("p.csv", lambda: main(["predict", "model.json", "data.csv", "-o", "p.csv"])),
    "linearly report": ("r.html", lambda: main(["report", "model.json", "data.csv", "-o", "r.html"])),
    "linearly export sql": ("m.sql", lambda: main(["export", "model.json", "--to", "sql", "-o", "m.sql"])),
    "linearly export python": ("m.py", lambda: main(["export", "model.json", "--to", "python", "-o", "m.py"])),
    "linearly export onnx": ("m.onnx", lambda: main(["export", "model.json", "--to", "onnx", "-o", "m.onnx"])),
}
os.link("model.json", "kept.json")
told = {}
for name, (file, work) in tasks.items():
    before = {entry: open(entry, "rb").read() for entry in sorted(os.listdir())}
    out = {}
    for state, limit in (("full", ROOM), ("free", resource.RLIM_INFINITY)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                code = work()
            out[state] = {"code": code if isinstance(code, int) else 0, "said": said.getvalue()}
        except Exception as failure:
            out[state] = {"code": type(failure).__name__, "said": str(failure), "is": isinstance(failure, OSError)}
        if state == "full":
            after = {entry: open(entry, "rb").read() for entry in sorted(os.listdir())}
            out["kept"] = after == before
            out["strays"] = sorted(set(after) - set(before))
    out["written"], out["file"] = os.path.getsize(file), file
    told[name] = out
print(json.dumps(told))
"""
TASKS = (
    "save",
    "predict csv",
    "predict csv.gz",
    "predict parquet",
    "report",
    "linearly fit",
    "linearly predict",
    "linearly report",
    "linearly export sql",
    "linearly export python",
    "linearly export onnx",
)


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory):
    """Every way to write a file, once with room for 100 bytes a file, and once with room enough."""
    return child(FULL.replace("ROOM", "100"), tmp_path_factory.mktemp("full"))


@pytest.mark.parametrize("task", TASKS)
def test_full_disk_raises_and_leaves_the_old_file(task, full_disk):
    found = full_disk[task]
    assert found["kept"], f"left behind or changed: {found['strays']}"
    said = found["full"]["said"]
    assert "File too large, so nothing was written" in said
    assert found["file"] in said
    if task.startswith("linearly"):
        assert found["full"]["code"] == 1
        assert said.splitlines()[-1].startswith("error: ")
        assert "This is a bug in linearly" not in said
    else:
        assert found["full"]["is"], found["full"]
    assert found["free"]["code"] in (0, 3000), found["free"]
    assert found["written"] > 100


# --- no memory ------------------------------------------------------------------------------------

MEMORY = """
import json, resource, threading
import numpy as np
from linearly import kernels
n, p = 500, 400
rng = np.random.default_rng(1)
X = rng.normal(size=(n, p))
NOTHING, ONE, G = np.zeros(p), np.ones(p), np.zeros((p + 1, p + 1))

def kernel(name):
    def run():  # the result is there before the kernel starts: what it lacks is room to work in
        if kernels._compiled is None:
            return getattr(kernels, name)(*((G,) if name == "qr_update" else ()), X, None, None, NOTHING, ONE)
        G[:] = 0.0
        more = (None,) if name == "gram" else ()
        getattr(kernels._compiled, name)(X, None, None, NOTHING, ONE, *more, G)
        return G
    return run

work = {
    "gram kernel": kernel("gram"),
    "qr kernel": kernel("qr_update"),
}

def size():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()

def tell():
    told = {}
    for name, fit in work.items():
        right = fit().tobytes()
        told[name] = []
        for room in (2**17, 2**19, 2**20, resource.RLIM_INFINITY):
            limit = room if room == resource.RLIM_INFINITY else size() + room
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            try:
                outcome = "right" if fit().tobytes() == right else "wrong"
            except BaseException as error:
                outcome = "MemoryError" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"[:200]
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            told[name].append(outcome)
    print(json.dumps(told))

# The stack of a thread is there from the start; that of the process would have to grow under the limit.
thread = threading.Thread(target=tell)
thread.start()
thread.join()
"""


def test_without_memory_a_kernel_is_right_or_says_so(tmp_path, require):
    require(Path("/proc/self/statm").exists(), "needs Linux, where a process knows its size")
    # Whatever is larger than 64 kB is asked of the system anew, and so feels the limit.
    # OpenBLAS ends the process where its own threads find no memory, so it has one.
    limits = {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "LINEARLY_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "1",
    }
    told = child(MEMORY, tmp_path, **limits)
    outcomes = {outcome for found in told.values() for outcome in found}
    assert outcomes == {"right", "MemoryError"}, told
    assert all(found[-1] == "right" for found in told.values()), told


# --- interrupted ----------------------------------------------------------------------------------


class Interrupting(CutRows):
    """Rows that bring Ctrl-C with their fourth block."""

    def _blocks(self):
        for number, block in enumerate(super()._blocks()):
            if number == 3:
                os.kill(os.getpid(), signal.SIGINT)
            yield block


@pytest.fixture
def heard():
    """Ctrl-C as Python hears it: a shell that runs tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_ctrl_c_in_the_middle_of_a_fit(name, monkeypatch):
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "2")
    y = Y if name in REGRESSORS else LABELS
    cuts = range(40, 400, 40)
    expected = answers(name)
    estimator = ESTIMATORS[name]()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(Interrupting(X, y, cuts=cuts))
    assert fold_module.single_threaded_blas._depth == 0
    assert answers(name) == expected


LINES = "".join(f"{a},{b},{y}\n" for a, b, y in zip(X[:, 0], X[:, 1], Y, strict=True))


@pytest.mark.parametrize("command", ["fit", "predict", "report"])
def test_an_interrupted_command_leaves_the_old_file(command, tmp_path):
    ly.fit({"a": X[:, 0], "b": X[:, 1], "y": Y}, target="y").save(tmp_path / "model.json")
    out = {"fit": "model.json", "predict": "out.csv", "report": "out.html"}[command]
    words = ["fit", "-", "-t", "y"] if command == "fit" else [command, "model.json", "-"]
    words += ["--force"] if command == "report" else []
    if command != "fit":
        (tmp_path / out).write_text("the old one")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with subprocess.Popen(
        [sys.executable, "-m", "linearly", *words, "-o", out],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        # A pipe holds 64 kB: when a megabyte is written, the command is in the middle of reading.
        process.stdin.write(b"a,b,y\n" + LINES.encode() * 100)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert said.decode().strip().endswith("interrupted: Every output file is complete or unchanged.")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# --- many at once ---------------------------------------------------------------------------------


@pytest.fixture(name="small_blocks")
def _small_blocks(monkeypatch):
    from linearly.dataset.rows import block as rows

    monkeypatch.setattr(rows, "rows_in_block", lambda p: 64)
    monkeypatch.setattr(rows, "_FEWEST", 64)
    monkeypatch.setenv("LINEARLY_NUM_THREADS", "3")


def test_concurrent_fits_give_the_bits_of_serial_ones(small_blocks):
    jobs = [(name, shift) for shift in (0, 0, 1, 7) for name in ESTIMATORS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the filters of warnings are those of the process, not of a thread
        expected = [_bits(*job) for job in jobs]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(_bits, *zip(*jobs, strict=True), timeout=300))
    wrong = [job for job, a, b in zip(jobs, found, expected, strict=True) if a != b]
    assert wrong == []
    assert fold_module.single_threaded_blas._depth == 0


def _bits(name, shift):
    y = np.roll(Y if name in REGRESSORS else LABELS, shift)
    model = ESTIMATORS[name]().fit(X, y)
    return (model.predict if name in REGRESSORS else model.decision_function)(X).tobytes()


def test_a_fitted_model_answers_many_threads():
    model = ly.VotedPerceptron(max_passes=2).fit(X, LABELS)  # it makes its log when it is first asked
    expected = ly.VotedPerceptron(max_passes=2).fit(X, LABELS).decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(model.decision_function, [X] * 16, timeout=300):
            np.testing.assert_array_equal(found, expected)


FORKS = """
import json, os, signal, sys, threading, warnings
sys.path.insert(0, TESTS)
os.environ["LINEARLY_NUM_THREADS"] = "3"
import numpy as np
from hostile import ESTIMATORS, REGRESSORS
from linearly.dataset.rows import block as rows
warnings.simplefilter("ignore")
rows.rows_in_block, rows._FEWEST = lambda p: 64, 64
rng = np.random.default_rng(2)
X = rng.normal(size=(400, 6))
Y = X.sum(axis=1) + rng.normal(size=400)

def bits(name):
    model = ESTIMATORS[name]().fit(X, Y if name in REGRESSORS else (Y > 0.3).astype(int))
    return (model.predict if name in REGRESSORS else model.decision_function)(X).tobytes()

expected = {name: bits(name) for name in ESTIMATORS}
going, stop = threading.Event(), threading.Event()
def fit_on():
    while not stop.is_set():
        bits("LinearRegression")
        going.set()
        bits("LogisticRegression")
thread = threading.Thread(target=fit_on)
thread.start()
going.wait()
codes = []
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)  # a child that hangs is ended by the clock, and counted as failed
        os._exit(0 if all(bits(name) == expected[name] for name in ESTIMATORS) else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
stop.set()
thread.join()
same = all(bits(name) == expected[name] for name in ESTIMATORS)
print(json.dumps({"codes": codes, "same": same}))
"""


def test_forks_in_the_middle_of_a_fit(tmp_path):
    told = child(FORKS.replace("TESTS", repr(str(Path(__file__).parents[1]))), tmp_path)
    assert told == {"codes": [0] * 10, "same": True}


def _send(name, queue):
    queue.put(answers(name))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_of_multiprocessing_gives_the_same_bits(method):
    expected = answers("LinearRegression")  # the pool has been used
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking beside threads
        process = context.Process(target=_send, args=("LinearRegression", queue))
        process.start()
    process.join(300)
    assert process.exitcode == 0
    assert queue.get() == expected


def test_reduce_without_a_second_thread_gives_the_same_sum(monkeypatch):
    """As under a limit on memory or on the number of processes: the calling thread does all the work."""

    class NoThreads(ThreadPoolExecutor):
        def submit(self, *_, **__):
            raise RuntimeError("can't start new thread")

    monkeypatch.setenv("LINEARLY_NUM_THREADS", "3")
    expected = fold_module.reduce_blocks((lambda i=i: i for i in range(50)), float)
    monkeypatch.setattr(fold_module, "_pool_of", lambda size: NoThreads(size))
    assert fold_module.reduce_blocks((lambda i=i: i for i in range(50)), float) == expected
