"""The pages are true: their examples run and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=named)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, named(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    missing = [target for target in local if target and not (page.parent / target).exists()]
    assert not missing


def test_every_decision_is_in_the_index():
    folder = ROOT / "docs" / "decisions"
    pages = {page.name for page in folder.glob("[0-9]*.md")}
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert pages == set(re.findall(r"\]\((\d{4}-[^)]+\.md)\)", index))


def test_the_map_of_the_notes_names_what_exists():
    import linearly as ly

    page = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8")
    tests = re.findall(r"`([\w/]*test_\w+\.py)(?:::(\w+))?`", page)
    assert len(tests) > 30
    for file, name in tests:
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, f"{file}::{name}"
    public = set(re.findall(r"`([A-Z]\w+)[`(.]", page)) - {"Gram", "QRFactor"}
    assert public <= set(ly.__all__), public - set(ly.__all__)
