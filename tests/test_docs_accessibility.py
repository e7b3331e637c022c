"""axe-core finds no serious violation in the built documentation: one page of each kind, light and dark.

`sphinx docs DIR`, with DOCS_HTML=DIR.
"""

import os
import shutil
from pathlib import Path

import pytest
from axe import serious_violations
from conftest import require

pytestmark = pytest.mark.slow
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
PAGES = (
    "index", "api", "gallery/index", "gallery/plot_01_robust_errors", "how-to/read-a-report", "tutorials/command-line",
    "reference/api/linearly.LogisticRegression", "reference/api/linearly.tidy",
)  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(scheme):
    require(BROWSER, "needs Chromium")
    require("DOCS_HTML" in os.environ, "needs the built documentation: set DOCS_HTML")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_context(color_scheme=scheme, bypass_csp=True).new_page()
        found = {}
        for name in PAGES:
            page.goto((Path(os.environ["DOCS_HTML"]) / f"{name}.html").as_uri(), wait_until="domcontentloaded")
            found[name] = serious_violations(page)
        browser.close()
    assert {name: one for name, one in found.items() if one} == {}
