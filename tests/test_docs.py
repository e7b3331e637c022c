"""The pages are true: their code prints what they show, their links lead somewhere, their lists are complete."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import screens

import linearly as ly

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
# What a reader types to install the package, to build it, or to start a server: nothing that could be run here.
INSTALLING = re.compile(r"python3? -m venv|(?:\.venv/bin/)?pip |linearly (?:lab|completion)|source |eval |make |git ")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", screens.pages(), ids=named)
def test_blocks_print_what_the_page_shows(page, tmp_path, monkeypatch, require):
    for module in screens.needs(page):
        require(importlib.util.find_spec(module), f"needs {module}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MPLBACKEND", "agg")
    screens.prepare(tmp_path)
    found = screens.differences(page.read_text(encoding="utf-8"), screens.replay(page))
    assert not found, "python tests/screens.py writes the pages anew.\n" + "\n".join(found)


def test_different_pages_are_distinguished_from_equal_ones():
    assert not screens.differences("fit 1.234 in 12 ms", "fit 1.235 in 4 s")
    assert not screens.differences("0.6425887365150108", "0.6425887365150102")
    assert screens.differences("0.64258873651", "0.64258873653")
    assert screens.differences("fit 1.234", "fit 1.236")
    assert screens.differences("rows 12", "rows 13")
    assert screens.differences("one\ntwo", "one")
    assert screens.differences("mean 1.2", "median 1.2")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_code_that_is_not_run_only_installs(page):
    blocks = re.findall(r"^```(\S*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for language, block in blocks:
        assert language in ("", "python", "console", "text", "sh", "r", "toml", "sql", "json") or language[0] == "{"
        if language == "sh":
            assert all(INSTALLING.match(line) for line in block.splitlines()), block


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    targets = re.findall(r"\]\(<?([^)\s>]+)>?\)", text)
    missing = []
    for target in targets:
        path, _, anchor = target.partition("#")
        if "://" in target or path.startswith(("gallery/", "../gallery/", "reference/api/", "../reference/api/")):
            continue
        file = page.parent / path if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            missing.append(target)
    assert not missing


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST form them."""
    headings = re.findall(r"^#{1,4} (.+)$", page.read_text(encoding="utf-8"), flags=re.M)
    explicit = re.findall(r"^\((.+)\)=$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(explicit)


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S):
            entries = [line.split("<")[-1].rstrip(">") for line in block.splitlines() if line and line[0] != ":"]
            listed |= {path.with_suffix("").resolve() for entry in entries for path in page.parent.glob(f"{entry}.md")}
    pages = {page.with_suffix("").resolve() for page in DOCS.rglob("*.md") if page != DOCS / "index.md"}
    assert not {path.name for path in pages - listed}


def test_every_public_name_is_in_the_reference():
    entries = set(re.findall(r"^ {3}(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), flags=re.M))
    assert entries == set(ly.__all__) - {"__version__"}


def test_every_warning_has_a_section_with_its_name():
    headings = anchors(DOCS / "warnings.md")
    classes = [name.lower() for name in ly.__all__ if name.endswith(("Warning", "Error"))]
    assert [name for name in [*classes, "rankwarning", "convergencewarning"] if name not in headings] == []


def test_every_function_of_a_formula_is_in_the_reference():
    from linearly.dataset.design.from_formula import _TERM_FUNCTIONS
    from linearly.dataset.formula.expression import FUNCTIONS

    page = (DOCS / "reference" / "formula.md").read_text(encoding="utf-8")
    assert [name for name in (*FUNCTIONS, *_TERM_FUNCTIONS) if f"`{name}(" not in page] == []


def test_every_extra_is_in_the_table():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (DOCS / "tutorials" / "install.md").read_text(encoding="utf-8")
    assert [name for name in extras if f"| `{name}` |" not in page] == []


def test_every_decision_is_in_the_index():
    folder = DOCS / "decisions"
    pages = {page.name for page in folder.glob("[0-9]*.md")}
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert pages == set(re.findall(r"\]\((\d{4}-[^)]+\.md)\)", index))


def test_the_map_of_the_notes_names_what_exists():
    page = (DOCS / "contributing" / "notes.md").read_text(encoding="utf-8")
    tests = re.findall(r"`([\w/]*test_\w+\.py)(?:::(\w+))?`", page)
    assert len(tests) > 30
    for file, name in tests:
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, f"{file}::{name}"
    public = set(re.findall(r"`([A-Z]\w+)[`(.]", page)) - {"Gram", "QRFactor"}
    assert public <= set(ly.__all__), public - set(ly.__all__)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_only_the_contributors_pages_speak_of_the_lecture_notes(page):
    if {"contributing", "decisions"} & set(page.parts):
        return
    assert not re.search(r"lecture notes|\bS[0-3]\b", page.read_text(encoding="utf-8"))
