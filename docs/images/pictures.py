"""The pictures of the README: the first screen of a report, and a proof that no line separates two classes.

`python docs/images/pictures.py` draws them anew; it needs Chromium, playwright, Pillow, and linearly[cli].
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import linearly as ly

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]


def report() -> Image.Image:
    """The first screen of the report on the mass of penguins."""
    data = HERE.parent / "data" / "penguins.csv"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        model = ly.fit(data, formula="body_mass_g ~ flipper_length_mm + species + sex", missing="drop")
        model.report(path, data)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1040, "height": 1240}, device_scale_factor=1.5)
        page.goto(path.as_uri())
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    return picture


def proof() -> Image.Image:
    """Two classes, the line of a logistic regression, and the four rows whose segments cross."""
    matplotlib.use("Agg")
    rng = np.random.default_rng(37)
    X = np.vstack([rng.normal((0, 0), 1, size=(40, 2)), rng.normal((2.4, 2), 1, size=(40, 2))])
    y = np.repeat(["blue", "orange"], 40)
    certificate = ly.separability(X, y)
    assert certificate.witness is not None
    ax = ly.plot_boundary(ly.LogisticRegression().fit(X, y), X, y)
    rows = certificate.witness.rows
    for label in ("blue", "orange"):
        ends = X[[i for i in rows if y[i] == label]]
        ax.plot(*ends.T, color="black", linewidth=1.6, marker="o", markersize=12, markerfacecolor="none")
    ax.set_title("No line separates these classes: the two segments cross", loc="left")
    text = io.BytesIO()
    ax.figure.savefig(text, format="png", dpi=128)
    return Image.open(text).convert("RGB")


def main() -> None:
    """Write both beside this file."""
    report().save(HERE / "report.webp", quality=85, method=6)
    proof().save(HERE / "proof.webp", quality=85, method=6)


if __name__ == "__main__":
    main()
