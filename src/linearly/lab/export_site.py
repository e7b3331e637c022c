"""Write the lab as a static site: a recorded film first, then the library itself on Pyodide, in the browser.

No server computes anything, so any host of files will do. The page loads Pyodide from its own distribution, or from the
site itself if the files are copied (`pyodide=`); either way it refuses a file whose hash differs.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linearly.lab.bundle_js import bundle_modules
from linearly.lab.presets import preset
from linearly.lab.server import start_state
from linearly.lab.session import Session
from linearly.lab.state import State

# Packages above the lab, and what only a desktop uses.
_LEFT_OUT = ("api.py", "checks", "cli", "demos", "export", "findings", "plots", "report", "selftest")
_LEFT_OUT_OF_LAB = ("bundle_js.py", "export_site.py", "server.py", "widget.py", "web")
_TYPES = {"mjs": "text/javascript", "wasm": "application/wasm", "zip": "application/zip", "whl": "application/zip"}
_LIBRARY = "linearly.zip"
_PACKAGE = Path(__file__).resolve().parents[1]
_IN_BROWSER = _PACKAGE / "lab" / "in_browser"
# For the page itself. The worker, which loads Pyodide, checks hashes instead.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'"
)


def export_site(
    directory: str | Path,
    data: Any = None,
    x: str | None = None,
    y: str | None = None,
    target: str | None = None,
    pyodide: str | Path | None = None,
) -> Path:
    """Write the lab's page and everything it needs to a directory.

    Parameters
    ----------
    directory : path
        Where to write; created if it does not exist. Files of an earlier export are replaced.
    data : path or data frame, optional
        Points to begin with. The default is a small example.
    x, y, target : str, optional
        Columns of the data, as in `linearly.lab.server.serve`.
    pyodide : path, optional
        A directory with the files of Pyodide, which are copied to the site for use without the internet. By default
        the page loads them from Pyodide's own distribution.

    Returns
    -------
    Path
        The page.
    """
    site = Path(directory)
    is_export = (site / "film.json").is_file() and (site / _LIBRARY).is_file()
    if (site.exists() and not site.is_dir()) or (site.is_dir() and any(site.iterdir()) and not is_export):
        raise ValueError(f"{site} contains other files. Choose a new or empty directory.")
    release = tomllib.loads((_IN_BROWSER / "pyodide.toml").read_text(encoding="utf-8"))
    runtime = None if pyodide is None else _check_runtime(Path(pyodide), release)
    state, note = start_state(data, x, y, target)
    library = _library(state, note)
    site.mkdir(parents=True, exist_ok=True)
    if runtime is not None:
        (site / "pyodide").mkdir(exist_ok=True)
        for file in runtime:
            shutil.copyfile(file, site / "pyodide" / file.name)
    (site / _LIBRARY).write_bytes(library)
    described = _describe_runtime(release, library, vendored=runtime is not None)
    texts = {
        "index.html": _page(),
        "lab.js": bundle_modules(),
        "runtime.js": f"export default {json.dumps(described, indent=1)};\n",
        "film.json": json.dumps(_film(state, note), ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        "lab.css": (_PACKAGE / "lab" / "web" / "lab.css").read_text(encoding="utf-8"),
    } | {name: (_IN_BROWSER / name).read_text(encoding="utf-8") for name in ("page.css", "page.js", "worker.js")}
    for name, text in texts.items():
        (site / name).write_text(text, encoding="utf-8", newline="\n")
    return site / "index.html"


def _check_runtime(folder: Path, release: dict[str, Any]) -> list[Path]:
    """Return the files of Pyodide in a directory; raise if one is missing or of another release."""
    files = [folder / name for name in release["sha256"]]
    for file in files:
        if not file.is_file():
            raise ValueError(f"{folder} has no {file.name}. Unpack Pyodide {release['version']} with NumPy there.")
        if hashlib.sha256(file.read_bytes()).hexdigest() != release["sha256"][file.name]:
            raise ValueError(f"{file} is not the file from Pyodide {release['version']}. Use that release.")
    return files


def _describe_runtime(release: dict[str, Any], library: bytes, *, vendored: bool) -> dict[str, Any]:
    """Return what the worker needs: addresses, hashes and sizes of its files, and an empty lock file."""
    hashes = {name: bytes.fromhex(digest) for name, digest in release["sha256"].items()}
    sizes = {**release["bytes"], _LIBRARY: len(library)}
    hashes[_LIBRARY] = hashlib.sha256(library).digest()
    wheel = next(name for name in hashes if name.startswith("numpy"))
    return {
        "address": "pyodide/" if vendored else release["address"],
        "library": _LIBRARY,
        "numpy": wheel,
        "release": hashes[_LIBRARY].hex()[:16] + release["sha256"]["pyodide.asm.wasm"][:16],
        "lock": {"info": release["info"], "packages": {}},
        "files": {
            name: {
                "integrity": f"sha256-{base64.b64encode(digest).decode()}",
                "bytes": sizes[name],
                "type": _TYPES[name.rpartition(".")[2]],
            }
            for name, digest in hashes.items()
        },
    }


def _library(state: State | None, note: str) -> bytes:
    """Return a zip file with the library, the stand-ins for what it imports, and the points to begin with."""
    start = {"state": None if state is None else state.to_dict(), "note": note}
    entries = [
        *((path.relative_to(_PACKAGE.parent).as_posix(), path.read_bytes()) for path in _sources()),
        *(
            (path.relative_to(_IN_BROWSER / "stand_ins").as_posix(), path.read_bytes())
            for path in sorted((_IN_BROWSER / "stand_ins").rglob("*.py"))
        ),
        ("linearly/lab/start.json", json.dumps(start).encode()),
        ("linearly/lab/digits.json", json.dumps(preset("digits").points).encode()),
    ]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # without a date: the same bytes
    return file.getvalue()


def _sources() -> Iterator[Path]:
    for path in sorted(_PACKAGE.rglob("*")):
        parts = path.relative_to(_PACKAGE).parts
        if parts[0] in _LEFT_OUT or (parts[0] == "lab" and len(parts) > 1 and parts[1] in _LEFT_OUT_OF_LAB):
            continue
        if "stand_ins" not in parts and path.suffix in (".py", ".pyi", ".toml"):
            yield path


def _film(state: State | None, note: str) -> dict[str, Any]:
    """Return the first reply, and the details of each of its frames."""
    session = Session(state, note)
    opened = session.handle({"do": "open"})
    animation = opened["answer"]["animation"]
    count = 0 if animation is None else animation["count"]
    return {"open": opened, "frames": [session.handle({"do": "frame", "at": at})["details"] for at in range(count)]}


def _page() -> str:
    """Return the server's page with a policy, early downloads, and the module that answers instead of the server."""
    page = (_PACKAGE / "lab" / "web" / "index.html").read_text(encoding="utf-8")
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<link rel="preload" href="film.json" as="fetch" crossorigin>',
        '<link rel="modulepreload" href="page.js">',
        '<link rel="stylesheet" href="page.css">',
    ]
    for old, new in (
        ('<link rel="stylesheet" href="lab.css">', "\n".join([*head, '<link rel="stylesheet" href="lab.css">'])),
        ('<main id="linearly-lab"', '<main id="linearly-lab" data-session="./page.js"'),
    ):
        if page.count(old) != 1:
            raise RuntimeError(f"index.html must contain {old!r} once.")
        page = page.replace(old, new)
    return page
