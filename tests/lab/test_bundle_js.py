"""The JavaScript modules of the page."""

import re
import shutil
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from conftest import require

from linearly.lab import bundle_js

WEB = Path(bundle_js.__file__).parent / "web"
SCRIPTS = {path.name for path in WEB.glob("*.js")}


def test_bundle_modules_contains_every_module_once():
    text = bundle_js.bundle_modules()
    assert not re.search(r"^import\b", text, flags=re.M)
    assert re.findall(r"^export .*", text, flags=re.M) == ["export default {"]
    # Each file is in it once: none is left over.
    firsts = [path.read_text(encoding="utf-8").splitlines()[0] for path in WEB.glob("*.js")]
    assert [text.splitlines().count(first) for first in firsts] == [1] * len(SCRIPTS)
    names = re.findall(r"^(?:async )?(?:class|const|function|let|var) (\w+)", text, flags=re.M)
    assert sorted(names) == sorted(set(names))


def test_modules_of_the_page_have_no_import_cycle():
    needed = {path.name: set(bundle_js._IMPORT.findall(path.read_text(encoding="utf-8"))) for path in WEB.glob("*.js")}
    assert list(TopologicalSorter(needed).static_order())[-1] == "lab.js"


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_module_has_valid_syntax(name):
    node = shutil.which("node")
    require(node, "needs Node.js: apt-get install nodejs")
    module = (WEB / name).read_bytes()
    done = subprocess.run([node, "--check", "--input-type=module"], input=module, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
