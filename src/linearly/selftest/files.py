"""Check that files are complete or absent after a kill, and refused if damaged or hostile."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import linearly as ly
from linearly.selftest import ProgressCallback, Result, list_faults, not_run
from linearly.selftest.kill_tests import disk_full, interrupted, killed_while_saving
from linearly.selftest.untrusted_files import HOSTILE, RAW, changed

KILLS_SHORT, KILLS_LONG = 25, 200
DAMAGES_SHORT, DAMAGES_LONG = 40, 400
MEMORY = 10_000_000  # bytes that a refusal may take

_events: list[str] = []
_watching = _hooked = False


def results(long: bool, progress: ProgressCallback) -> Iterator[Result]:
    """Yield damaged files after kills, half-written ones after Ctrl-C, and hostile ones that were accepted."""
    kills, damages = (KILLS_LONG, DAMAGES_LONG) if long else (KILLS_SHORT, DAMAGES_SHORT)
    with tempfile.TemporaryDirectory(prefix="linearly-selftest-") as name:
        folder = Path(name)
        yield from killed_while_saving(folder, kills, lambda done: progress(done, kills + 10))
        yield disk_full(folder)
        progress(kills + 2, kills + 10)
        yield interrupted(folder, 10 if long else 1)
        progress(kills + 5, kills + 10)
        inside = folder / "hostile"
        inside.mkdir()
        yield _hostile_models(inside)
        progress(kills + 8, kills + 10)
        yield _damaged_models(inside, damages)
        tables = folder / "tables"
        tables.mkdir()
        yield _damaged_tables(tables)


def save_model(folder: Path) -> dict[str, Any]:
    """Return the JSON of a model with numbers, levels, and an expression."""
    rng = np.random.default_rng(13)
    x, size = rng.normal(5, 2, 200), rng.lognormal(0, 1, 200)
    kind, flag = rng.choice(["a", "b", "c"], 200), rng.random(200) > 0.4
    data = {"x": x, "size": size, "kind": kind, "flag": flag, "y": x - np.log(size) + flag + rng.normal(size=200)}
    ly.fit(data, formula="y ~ x + log(size) + kind + flag").save(folder / "m.json")
    plain: dict[str, Any] = json.loads((folder / "m.json").read_text(encoding="utf-8"))
    return plain


def _hostile_models(folder: Path) -> Result:
    plain = save_model(folder)
    files = {name: changed(plain, name) for name in HOSTILE} | RAW
    wrong = []
    for name, content in files.items():
        (folder / "m.json").write_bytes(content)
        trouble = find_fault(folder / "m.json", memory="shape" in name)
        if trouble:
            wrong.append(f"{name}: {trouble}")
    if os.listdir(folder) != ["m.json"]:
        wrong.append("something was written beside the file")
    figure = f"{len(files) - len(wrong)} of {len(files)} refused{list_faults(wrong, 5)}"
    return Result("malicious model files", figure, "all refused, no code run, < 10 MB", not wrong)


def _damaged_models(folder: Path, damages: int) -> Result:
    plain = save_model(folder)
    text = (folder / "m.json").read_bytes()
    rng = np.random.default_rng(14)
    figures = [i for i, letter in enumerate(text) if letter in b"0123456789"]
    tried, wrong = 0, []
    for k in range(damages):
        at = int(rng.integers(len(text) - 2)) if k % 2 else int(rng.choice(figures))
        damaged = text[:at] if k % 2 else text[:at] + b"1234567890"[text[at] - 48 :][:1] + text[at + 1 :]
        if k % 2 == 0 and json.loads(damaged) == plain:
            continue  # the 17th digit may not matter
        tried += 1
        (folder / "m.json").write_bytes(damaged)
        if find_fault(folder / "m.json"):
            wrong.append(f"byte {at}")
    figure = f"{tried - len(wrong)} of {tried} refused{list_faults(wrong, 5, ': not ', ', ')}"
    return Result("model files cut short, or with a digit changed", figure, "all refused", not wrong)


def find_fault(path: Path, *, memory: bool = False) -> str:
    """Return what went wrong when a bad model file was loaded; empty if it was refused in one sentence."""
    global _watching
    _watch()
    _events.clear()
    if memory:
        tracemalloc.start()
    _watching = True
    try:
        ly.load(path)
    except ValueError as refusal:
        message = str(refusal)
    except Exception as failure:
        return f"{type(failure).__name__} instead of a refusal"
    else:
        return "accepted"
    finally:
        _watching = False
        peak = tracemalloc.get_traced_memory()[1] if memory else 0
        tracemalloc.stop()
    if _events:
        return f"ran {_events[0]}"
    if peak > MEMORY:
        return f"took {peak / 1e6:.0f} MB"
    return "" if path.name in message and "\n" not in message and len(message) < 500 else "not reported in one sentence"


def _watch() -> None:
    """Record every command, connection and piece of code that Python runs."""
    global _hooked
    if _hooked:
        return
    _hooked = True

    def hook(event: str, arguments: Any) -> None:
        if _watching and event.startswith(("exec", "subprocess.", "os.system", "os.posix_spawn", "socket.", "pickle.")):
            _events.append(event)

    sys.addaudithook(hook)


def _damaged_tables(folder: Path) -> Result:
    what, required = "truncated tables, or files of another type", "all refused, with the name of the file"
    if find_spec("pyarrow") is None:
        return not_run(what, required, "pyarrow: pip install 'linearly[files]'")
    files = damaged_tables()
    wrong = []
    for name, content in files.items():
        path = folder / name.partition(": ")[0]
        path.write_bytes(content)
        try:
            ly.LinearRegression().fit(ly.scan(str(path), target="y"))
        except ValueError as refusal:
            if path.name not in str(refusal):
                wrong.append(f"{name} (the file is not named)")
        else:
            wrong.append(name)
        path.unlink()
    figure = f"{len(files) - len(wrong)} of {len(files)} refused{list_faults(wrong, None, ': not ', ', ')}"
    return Result(what, figure, required, not wrong)


def damaged_tables() -> dict[str, bytes]:
    """Return the bytes of damaged tables, by file name and damage."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import feather

    def stored(write: Any) -> bytes:
        sink = pa.BufferOutputStream()
        write(table, sink)
        return bytes(sink.getvalue().to_pybytes())

    rng = np.random.default_rng(15)
    table = pa.table({name: rng.normal(size=2000) for name in ("a", "b", "y")})
    parquet, arrow = stored(pq.write_table), stored(feather.write_feather)
    lines = ["a,b,y", *(f"{i},{i % 7}.5,{(i * 37) % 101}" for i in range(2000))]

    def text(at: int = 0, line: str | None = None) -> bytes:
        return "\n".join([*lines[:at], *([line] if line is not None else []), *lines[at:]]).encode()

    middle = len(parquet) // 2
    return {
        **{f"t.parquet: cut at {cut}": parquet[:cut] for cut in (4, 100, middle, -20, -1)},
        "t.parquet: empty": b"",
        "t.parquet: text": text(),
        "t.parquet: bytes changed": parquet[: middle - 500] + b"\xff" * 1000 + parquet[middle + 500 :],
        "t.arrow: cut in half": arrow[: len(arrow) // 2],
        "t.bin: any bytes": bytes(range(256)) * 20,
        "t.csv: empty": b"",
        "t.csv: a row too short": text(900, "1,2"),
        "t.csv: a row too long": text(900, "1,2,3,4"),
        "t.csv: a gap": text(900, "1,,3"),
        "t.csv: infinity": text(900, "1,inf,3"),
        "t.csv: a quote that is never closed": text(900, '1,"2,3'),
        "t.csv: two columns with the same name": text().replace(b"a,b,y", b"a,a,y", 1),
        "t.csv.gz: cut short": gzip.compress(text())[:-200],
    }
