"""Make the links on the package's page at PyPI lead to the repository, in the checkout of a release.

`python docs/release_links.py OWNER/NAME TAG` rewrites the relative links of README.md, which PyPI cannot follow, to the
tagged files, and adds [project.urls]. The release workflow runs it before sdist and wheels are built.
"""

import re
import sys
from pathlib import Path

HOST = "https://github.com"


def absolute_links(text: str, repository: str, tag: str) -> str:
    """Return Markdown whose relative links and pictures point to the files of a tag."""

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}({HOST}/{repository}/{kind}/{tag}/{found[2]})"

    return re.sub(r"(!?\[[^\]]*\])\((?![a-z]+://|#)([^)\s]+)\)", absolute, text)


def with_urls(pyproject: str, repository: str) -> str:
    """Return the metadata with the addresses of the repository."""
    home = f"{HOST}/{repository}"
    pages = {
        "Homepage": home,
        "Source": home,
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
    }
    lines = "\n".join(f'{name} = "{address}"' for name, address in pages.items())
    return pyproject.replace("[project.scripts]", f"[project.urls]\n{lines}\n\n[project.scripts]", 1)


def main(repository: str, tag: str) -> None:
    """Rewrite README.md and pyproject.toml of this checkout."""
    root = Path(__file__).resolve().parents[1]
    for name, text in (
        ("README.md", absolute_links((root / "README.md").read_text(encoding="utf-8"), repository, tag)),
        ("pyproject.toml", with_urls((root / "pyproject.toml").read_text(encoding="utf-8"), repository)),
    ):
        (root / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
