"""The exported site on disk, and the stand-ins for SciPy that it contains."""

import base64
import hashlib
import importlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special
from exported_sites import RELEASE, differences

from linearly.lab import export_site as module
from linearly.lab.export_site import export_site
from linearly.lab.session import Session

STAND_INS = "linearly.lab.in_browser.stand_ins.scipy"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = tmp_path_factory.mktemp("lab") / "site"
    assert export_site(site) == site / "index.html"
    return site


def runtime_of(site):
    text = (site / "runtime.js").read_text(encoding="utf-8")
    return json.loads(re.fullmatch(r"export default (.*);\n", text, flags=re.DOTALL)[1])


def test_export_names_every_file_with_its_hash(site):
    runtime = runtime_of(site)
    assert runtime["address"] == RELEASE["address"]
    assert set(runtime["files"]) == {*RELEASE["sha256"], "linearly.zip"}
    for name, digest in RELEASE["sha256"].items():
        assert runtime["files"][name]["integrity"] == f"sha256-{base64.b64encode(bytes.fromhex(digest)).decode()}"
    library = hashlib.sha256((site / "linearly.zip").read_bytes()).digest()
    assert runtime["files"]["linearly.zip"]["integrity"] == f"sha256-{base64.b64encode(library).decode()}"


def test_export_twice_gives_the_same_bytes(site, tmp_path):
    export_site(tmp_path)
    export_site(tmp_path)  # over an earlier export
    for file in site.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


def test_film_is_what_the_session_computes(site):
    film, session = json.loads((site / "film.json").read_text(encoding="utf-8")), Session()
    assert film["open"] == json.loads(json.dumps(session.handle({"do": "open"})))
    count = film["open"]["answer"]["animation"]["count"]
    assert [frame["at"] for frame in film["frames"]] == list(range(count))
    assert film["frames"][3] == json.loads(json.dumps(session.handle({"do": "frame", "at": 3})["details"]))


def test_page_loads_nothing_from_other_hosts(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)


def test_export_of_a_file_begins_with_its_points(tmp_path):
    data = tmp_path / "points.csv"
    data.write_text("a,b,kind\n1,2,u\n2,1,u\n5,5,v\n6,4,v\n", encoding="utf-8")
    export_site(tmp_path / "site", str(data), "a", "b", "kind")
    with zipfile.ZipFile(tmp_path / "site" / "linearly.zip") as library:
        start = json.loads(library.read("linearly/lab/start.json"))
    film = json.loads((tmp_path / "site" / "film.json").read_text(encoding="utf-8"))
    assert start["state"]["names"] == film["open"]["state"]["names"] == ["a", "b"]
    assert len(start["state"]["points"]) == 4


def test_export_refuses_a_directory_with_other_files(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ValueError, match=r"contains other files. Choose a new or empty directory"):
        export_site(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_export_refuses_another_pyodide(tmp_path):
    with pytest.raises(ValueError, match=r"has no pyodide\.mjs"):
        export_site(tmp_path / "site", pyodide=tmp_path)
    for name in RELEASE["sha256"]:
        (tmp_path / name).write_bytes(b"another file")
    with pytest.raises(ValueError, match="is not the file from Pyodide"):
        export_site(tmp_path / "site", pyodide=tmp_path)
    assert not (tmp_path / "site").exists()


# The archive on this machine's Python: the stand-ins come before SciPy, and other packages cannot be imported.
REPLIES = """
import json, sys
sys.path[:0] = [sys.argv[1]]
sys.path.append(sys.argv[2])
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "pyarrow", "joblib", "msgspec"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from linearly.lab.in_browser.boot import answer
import scipy
assert scipy.__file__.startswith(sys.argv[1]), scipy.__file__
print(json.dumps([json.loads(answer(line)) for line in sys.stdin.read().splitlines()]))
"""


def test_library_of_the_site_needs_numpy_alone(site, tmp_path):
    with zipfile.ZipFile(site / "linearly.zip") as library:
        library.extractall(tmp_path)
    csv = "a;b;kind\n1,5;2;u\n2;1;v\n5;5;u\n6;4,25;v\n"
    messages = [
        {"do": "choose_preset", "name": "xor"},
        {"do": "check"},
        {"do": "choose_preset", "name": "digits"},
        {"do": "choose_preset", "name": "overlapping"},
        {"do": "choose_preset", "name": "ellipses"},
        {"do": "choose_preset", "name": "curved"},
        {"do": "columns", "text": csv},
        {"do": "load", "text": csv},
    ]
    lines = "\n".join(map(json.dumps, messages))
    packages = str(Path(np.__file__).parents[1])
    run = subprocess.run(  # -S: an editable install would put its own sources before those of the site
        [sys.executable, "-S", "-c", REPLIES, str(tmp_path), packages],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    session = Session()
    session.handle({"do": "open"})
    desktop = [json.loads(json.dumps(session.handle(message))) for message in messages]
    replies = json.loads(run.stdout)
    assert replies[1] == {"verdict": "overlapping", "proven": True}
    for reply, expected in zip(replies, desktop, strict=True):
        assert not differences(expected, reply, 1e-12)


def test_stand_in_distributions_equal_scipy():
    special = importlib.import_module(f"{STAND_INS}.special")
    x = np.concatenate([np.linspace(-9, 9, 61), [0.0, 1e-9, -1e-9, 40.0, -700.0, 800.0]])
    p = np.concatenate([np.linspace(0.001, 0.999, 57), [1e-12, 0.5, 1 - 1e-9]])
    for name in ("expit", "erf", "ndtr"):
        theirs = getattr(scipy.special, name)(x)
        np.testing.assert_allclose(getattr(special, name)(x), theirs, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(special.ndtri(p), scipy.special.ndtri(p), rtol=1e-13, atol=1e-15)
    for df in (1, 2, 3, 4.7, 11, 42, 333.3, 1998):
        np.testing.assert_allclose(special.stdtr(df, x[:61]), scipy.special.stdtr(df, x[:61]), rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(special.stdtrit(df, p), scipy.special.stdtrit(df, p), rtol=1e-12, atol=1e-14)
    assert special.ndtri(1.0) == np.inf
    assert np.isnan(special.stdtr(-1.0, 2.0))


@pytest.mark.parametrize("seed", range(5))
def test_stand_in_factorisations_equal_scipy(seed):
    linalg = importlib.import_module(f"{STAND_INS}.linalg")
    draw = np.random.default_rng(seed)
    A, b = draw.normal(size=(6, 4)), draw.normal(size=(4, 2))
    R, S = np.triu(A[:4]), A.T @ A
    close = {"rtol": 1e-11, "atol": 1e-13}
    for trans in (0, 1):
        np.testing.assert_allclose(
            linalg.lapack.dtrtrs(R, b, trans=trans)[0], np.linalg.solve(R.T if trans else R, b), **close
        )
    assert linalg.lapack.dtrtrs(np.diag([1.0, 0.0, 2.0]), np.ones(3))[1] == 2
    exact = 1 / np.linalg.cond(R, 1)
    assert linalg.lapack.dtrcon(R)[0] == pytest.approx(exact, rel=1e-12)
    L = linalg.lapack.dpotrf(S, lower=1)[0]
    np.testing.assert_allclose(linalg.lapack.dpotrs(L, b, lower=1)[0], np.linalg.solve(S, b), **close)
    np.testing.assert_allclose(linalg.helmert(5), scipy.linalg.helmert(5), **close)
    for position in range(4):
        dependent = S.copy()
        dependent[position, position] = -1.0
        for lower in (0, 1):
            theirs = scipy.linalg.lapack.dpotrf(dependent, lower=lower)[1]
            assert linalg.lapack.dpotrf(dependent, lower=lower)[1] == theirs == position + 1
    Q, T = np.linalg.qr(A, mode="complete")
    u = draw.normal(size=6)
    for (Q1, R1), product in (
        (linalg.qr_insert(Q, T, u, 4), np.column_stack([A, u])),
        (linalg.qr_delete(Q, T, 1), np.delete(A, 1, axis=1)),
    ):
        np.testing.assert_allclose(Q1 @ R1, product, **close)
        np.testing.assert_allclose(Q1.T @ Q1, np.eye(6), **close)
        assert not np.tril(R1, -1).any()


def test_stand_in_searches_find_what_scipy_finds():
    optimize = importlib.import_module(f"{STAND_INS}.optimize")
    for f, a, b in ((np.cos, 0.0, 3.0), (lambda t: t**3 - 2, 0.0, 2.0), (lambda t: np.exp(t) - 5, -3.0, 4.0)):
        assert optimize.brentq(f, a, b) == pytest.approx(scipy.optimize.brentq(f, a, b), abs=2e-12)
    with pytest.raises(ValueError, match="different signs"):
        optimize.brentq(np.cos, 0.0, 1.0)
    target = np.array([1.0, -2.0, 3.0])
    options = {"maxfun": 200, "maxcor": 20}
    found = optimize.minimize(
        lambda u: (float(np.sum((u - target) ** 4)), 4 * (u - target) ** 3), np.zeros(3), options=options
    )
    np.testing.assert_allclose(found.x, target, atol=1e-2)


def test_stand_in_names_a_function_that_it_lacks():
    special = importlib.import_module(f"{STAND_INS}.special")
    with pytest.raises(NotImplementedError, match=r"scipy\.special\.zeta is not part of the lab in a browser"):
        special.zeta(2.0)


def test_library_leaves_out_what_only_a_desktop_uses(site):
    with zipfile.ZipFile(site / "linearly.zip") as library:
        names = library.namelist()
    assert "linearly/lab/session.py" in names
    assert not [name for name in names if name.startswith(("linearly/cli/", "linearly/report/", "linearly/lab/web/"))]
    assert Path(module.__file__).name not in {Path(name).name for name in names}
