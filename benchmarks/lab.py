"""The lab in a real browser: how fast it opens, follows a drag, and scrubs. Needs Chromium and playwright."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import Result

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
POINTS = 500

_FIRST_PAINT = "addEventListener('linearly:drawn', () => { window.painted ??= performance.now(); }, true);"

# A drag is a move, the answer to it, and the picture of the answer.
_DRAG = """async (turns) => {
    const root = document.querySelector('.linearly-lab'), lab = root.lab, taken = [];
    for (let k = 0; k < turns; k++) {
        const begun = performance.now();
        await lab.send({ do: 'move', index: 3, x: 0.02 * k, y: 0.01 * k, drag: 'on' }, 'move');
        await new Promise((done) => root.addEventListener('linearly:drawn', done, { once: true }));
        taken.push(performance.now() - begun);
    }
    await lab.send({ do: 'move', index: 3, x: 0, y: 0, drag: 'end' }, 'move');
    return taken;
}"""

_SCRUB = """async (seconds) => {
    const root = document.querySelector('.linearly-lab'), lab = root.lab;
    let drawn = 0;
    root.addEventListener('linearly:drawn', () => { drawn += 1; });
    const begun = performance.now();
    while (performance.now() - begun < 1000 * seconds) {
        lab.seek(((performance.now() - begun) / (1000 * seconds)) * lab.animation.count);
        await new Promise(requestAnimationFrame);
    }
    return [lab.animation.count, drawn / seconds];
}"""


def write_points(path: Path) -> Path:
    """Two overlapping classes."""
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, POINTS)
    X = rng.standard_normal((POINTS, 2)) + label[:, None]
    rows = (f"{a:.4f},{b:.4f},{'AB'[k]}" for (a, b), k in zip(X.tolist(), label.tolist(), strict=True))
    path.write_text("\n".join(["a,b,kind", *rows]) + "\n")
    return path


def lab(quick: bool) -> Result:
    """The lab with 500 points: time to the first picture, from a drag to its picture, and of a frame of scrubbing."""
    from playwright.sync_api import sync_playwright

    result = Result("lab", f"{POINTS} points")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        path = write_points(Path(place) / "points.csv")
        command = [sys.executable, "-m", "linearly", "lab", str(path), "--x", "a", "--y", "b", "--target", "kind"]
        server = subprocess.Popen(
            [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        try:
            url = _url(server)
            loads = []
            for _ in range(2 if quick else 5):
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.add_init_script(_FIRST_PAINT)
                page.goto(url)
                page.wait_for_selector("[data-ready=true]")
                page.wait_for_function("window.painted")
                loads.append(page.evaluate("window.painted") / 1000)
            result.seconds["page to picture"] = float(np.median(loads))
            for name in ("perceptron", "averaged", "voted", "least_squares", "lda", "qda", "logistic"):
                _choose(page, name)
                taken = page.evaluate(_DRAG, 12 if quick else 40)
                result.seconds[f"drag to picture, {name}"] = float(np.median(taken)) / 1000
            _choose(page, "perceptron")
            frames, rate = page.evaluate(_SCRUB, 1 if quick else 3)
            result.seconds["frame of scrubbing"] = 1 / rate
            result.size += f", a timeline of {frames} frames at {rate:.0f} a second"
        finally:
            browser.close()
            server.terminate()
            server.wait()
    return result


def _url(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        found = next((word for word in line.split() if word.startswith("http://")), None)
        if found:
            return found
    raise AssertionError("linearly lab ended without an address")


def _choose(page: Any, name: str) -> None:
    page.evaluate("(name) => document.querySelector('.linearly-lab').lab.send({ do: 'choose_algorithm', name })", name)
    page.wait_for_function("(name) => document.querySelector('.linearly-lab').lab.state.algorithm === name", arg=name)


WORKLOADS = [lab]
