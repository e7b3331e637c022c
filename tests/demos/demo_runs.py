"""Each demo is run once for all its tests."""

import tempfile
from functools import cache
from pathlib import Path

from ecoli_file import ecoli_lines

from linearly import demos


@cache
def demo(name):
    """Run a demo; return its story, what it printed and its page."""
    with tempfile.TemporaryDirectory() as folder:
        data, path, printed = Path(folder, "ecoli.data"), Path(folder, f"{name}.html"), []
        data.write_text(ecoli_lines(), encoding="utf-8")
        story = demos.tell(name, data=data if name == "ecoli" else None, say=printed.append)
        assert story.write(path) == path
        return story, "\n".join(printed), path.read_text(encoding="utf-8")
