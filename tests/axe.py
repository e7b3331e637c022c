"""axe-core for the tests: a package of npm that finds violations of accessibility in a page.

`npm install --prefix DIR axe-core`, with AXE_CORE=DIR/node_modules/axe-core/axe.min.js.
"""

import os
from pathlib import Path

from conftest import require

AXE = os.environ.get("AXE_CORE")


def serious_violations(page):
    """Return the serious and critical violations in a page: the rule and the first element of each."""
    require(AXE, "needs axe-core: set AXE_CORE")
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
