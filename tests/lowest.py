"""The oldest versions that pyproject.toml allows, as pip's constraints: `python tests/lowest.py > constraints.txt`."""

import re
import tomllib
from pathlib import Path

# The newest pyparsing warns of the names that the oldest matplotlib knows it by, and here warnings are errors.
ALONG = ["pyparsing<3.3"]


def lowest_versions(pyproject: Path) -> list[str]:
    """`name==version` for every requirement with a lower bound, extras included."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    requirements = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ]
    bounds = (re.fullmatch(r"([\w-]+)(?:\[[\w,-]+\])?>=([\w.]+)", requirement) for requirement in requirements)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    pyproject = Path(__file__).resolve().parents[1] / "pyproject.toml"
    print("\n".join(lowest_versions(pyproject) + ALONG))
