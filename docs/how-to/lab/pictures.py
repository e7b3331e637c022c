"""The pictures of the page about the lab: moments of it, and sheets of every mode, light and dark, wide and narrow.

`python docs/how-to/lab/pictures.py` draws them anew; it needs Chromium, playwright and Pillow.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]

PRESETS = {
    "perceptron": "separable",
    "pocket": "outlier",
    "averaged": "overlapping",
    "voted": "xor",
    "batch": "separable",
    "indicator": "masking",
    "logistic": "overlapping",
    "lda": "three",
    "qda": "ellipses",
    "least_squares": "cloud",
    "gradient_descent": "cloud",
    "ridge": "curved",
    "lasso": "curved",
    "bias_variance": "curved",
}
# Size of the window, size of a picture on the sheet, pictures side by side.
SHEETS = {"desktop": ((1240, 780), (440, 277), 4), "phone": ((390, 844), (210, 454), 7)}

# Window, theme, points, model, what else is chosen, and the frame (None: the last).
WIDE, PHONE = ((1280, 800), (1040, 650)), ((390, 844), (360, 780))
MOMENTS: dict[str, tuple[Any, ...]] = {
    "xor": (WIDE, "light", "xor", "perceptron", [], 12),
    "qda": (WIDE, "light", "ellipses", "qda", [{"do": "choose_comparison", "name": "lda"}], None),
    "descent": (WIDE, "light", "cloud", "gradient_descent", [{"do": "set_parameter", "name": "rate", "value": 1.9}], 9),
    "complexity": (
        WIDE, "light", "separable", "bias_variance", [{"do": "set_parameter", "name": "degree", "value": 7}], None,
    ),
    "separation": (WIDE, "dark", "separable", "logistic", [], None),
    "lift": (WIDE, "light", "xor", "perceptron", [{"do": "set_option", "name": "features", "value": "xy"}], None),
    "voted": (WIDE, "light", "overlapping", "voted", [], None),
    "ridge": (WIDE, "dark", "curved", "ridge", [], 34),
    "phone": (PHONE, "light", "outlier", "pocket", [], 60),
}  # fmt: skip

_CHOOSE = """async ([preset, name, more, frame]) => {
    const root = document.querySelector('.linearly-lab'), lab = root.lab;
    await lab.send({ do: 'choose_preset', name: preset });
    await lab.send({ do: 'choose_algorithm', name });
    for (const message of more) await lab.send(message);
    if (frame != null) lab.seek(frame);
    await new Promise((drawn) => { root.addEventListener('linearly:drawn', drawn, { once: true }); lab.plan(); });
    lab.root.querySelector('.notice').dataset.shown = 'false';
}"""


def moment(browser: Browser, url: str, name: str) -> Image.Image:
    """One picture of the guide."""
    ((width, height), small), theme, *chosen = MOMENTS[name]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
    page.goto(url)
    page.wait_for_selector("[data-ready=true]")
    page.evaluate(_CHOOSE, chosen)
    page.wait_for_timeout(800)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(small, Image.Resampling.LANCZOS)
    page.close()
    return picture


def sheet(browser: Browser, url: str, kind: str, theme: str) -> Image.Image:
    """All modes in one window and one theme."""
    (width, height), small, across = SHEETS[kind]
    down = -(-len(PRESETS) // across)
    whole = Image.new("RGB", (across * (small[0] + 8), down * (small[1] + 8)), "#888888")
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
    page.goto(url)
    page.wait_for_selector("[data-ready=true]")
    for k, (name, preset) in enumerate(PRESETS.items()):
        page.evaluate(_CHOOSE, [preset, name, [], None])
        page.wait_for_timeout(500)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(small, Image.Resampling.LANCZOS)
        whole.paste(picture, (k % across * (small[0] + 8) + 4, k // across * (small[1] + 8) + 4))
    page.close()
    return whole


def main() -> None:
    """Serve the lab, look at it, and write the pictures beside this file."""
    command = [sys.executable, "-m", "linearly", "lab", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            for name in MOMENTS:
                moment(browser, url, name).save(HERE / f"{name}.webp", quality=85, method=6)
            for kind in SHEETS:
                for theme in ("light", "dark"):
                    sheet(browser, url, kind, theme).save(HERE / f"{kind}-{theme}.webp", quality=72, method=6)
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
