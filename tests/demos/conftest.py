"""Each demo is run once for all its tests."""

import pytest
from ecoli_file import ecoli_lines

from linearly import demos


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Run a demo; return its story, what it printed and its page."""
    runs = {}
    folder = tmp_path_factory.mktemp("demos")
    (folder / "ecoli.data").write_text(ecoli_lines(), encoding="utf-8")

    def run(name):
        if name not in runs:
            printed = []
            story = demos.tell(name, data=folder / "ecoli.data" if name == "ecoli" else None, say=printed.append)
            page = story.write(folder / f"{name}.html")
            assert page == folder / f"{name}.html"
            runs[name] = story, "\n".join(printed), page.read_text(encoding="utf-8")
        return runs[name]

    return run
