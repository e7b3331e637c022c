"""Every demo runs to the end, and its page stands alone."""

import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser

import pytest
from demo_runs import demo

from linearly import demos

LARGEST = 400_000  # bytes of a page


class Page(HTMLParser):
    """What a page has: identifiers, links, tags, and whether they nest."""

    VOID = frozenset({"meta", "link", "br", "input", "hr", "img", "wbr"})

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.tags, self.sources, self._open = [], [], set(), [], []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_startendtag(self, tag, attrs):
        self._note(tag, attrs)

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def _note(self, tag, attrs):
        self.tags.add(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(value)
            elif key == "href":
                self.links.append(value)
            elif key in ("src", "srcset", "style", "data"):
                self.sources.append((tag, key))


@pytest.mark.parametrize("name", demos.NAMES)
def test_every_demo_prints_lines_that_fit(name):
    _, said, _ = demo(name)
    assert said.startswith(demos.TITLES[name])
    assert [line for line in said.splitlines()[:-1] if len(line) > 80] == []
    assert 30 < len(said.splitlines()) < 110, "one screen or two"
    assert not re.search(r"\bnan\b|\binf\b|None|<\w+ object|\{|\}", said)
    assert said.rstrip().endswith(f"{name}.html")


@pytest.mark.parametrize("name", demos.NAMES)
def test_every_page_is_self_contained(name):
    story, _, html = demo(name)
    page = Page(html)
    assert len(html.encode()) < LARGEST
    assert "default-src 'none'" in html.replace("&#39;", "'")
    assert not page.sources
    assert page.tags.isdisjoint({"img", "image", "iframe", "object", "link"})
    assert [name for name, n in Counter(page.ids).items() if n > 1] == []
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert f"<h1>{story.title}</h1>" in html.replace("&#39;", "'")
    assert html.count("<svg") >= 3


@pytest.mark.parametrize("name", demos.NAMES)
def test_every_page_contains_the_text_of_the_terminal(name):
    _, said, html = demo(name)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html).replace("&#39;", "'").replace("&gt;", ">"))
    chapters = re.sub(r".+\n[-=]{4,}\n", "\n\n", said)
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", chapters)]
    paragraphs = [part for part in paragraphs if "---" not in part and part.endswith((".", "”"))]
    assert len(paragraphs) > 4
    for part in paragraphs:
        assert " ".join(part.split()) in words


@pytest.mark.parametrize("name", demos.NAMES)
def test_every_page_ends_with_the_report_of_a_model(name):
    _, _, html = demo(name)
    assert "Computation" in html
    assert "The report on" in html


def test_run_twice_writes_the_same_page(tmp_path):
    said = []
    path = demos.run("loans", out=tmp_path / "loans.html", say=said.append)
    story, before, html = demo("loans")
    assert path.read_text(encoding="utf-8") == html
    assert "\n".join(said).replace(str(tmp_path), "") == re.sub(r"\S*/(?=loans\.html)", "/", before)
    assert story.found


def test_run_without_out_writes_to_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = demos.run("loans", say=lambda text: None)
    assert path.resolve() == tmp_path / "linearly-loans.html"
    assert path.exists()


def run_without(modules, code):
    """Run code in a Python in which modules are not installed."""
    hide = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {modules!r}: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", hide + code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_run_without_pandas_and_polars_writes_a_page(tmp_path):
    code = f"from linearly.demos import run; print(run('digits', out={str(tmp_path / 'a.html')!r}))"
    assert run_without(["pandas", "polars"], code).rstrip().endswith("a.html")
    assert (tmp_path / "a.html").stat().st_size > 50_000


def test_run_without_matplotlib_writes_no_page(tmp_path):
    code = f"from linearly.demos import run; print(run('wine', out={str(tmp_path / 'a.html')!r}))"
    out = run_without(["matplotlib", "jinja2"], code)
    assert "linearly[cli]" in out
    assert out.rstrip().endswith("None")
    assert not (tmp_path / "a.html").exists()


def test_run_unknown_name_raises():
    with pytest.raises(ValueError, match=r"'iris' is not a demo. Choose one of digits, loans, spam, wine, ecoli"):
        demos.run("iris")


@pytest.mark.parametrize("name", ["loans", "wine"])
def test_run_with_data_of_a_demo_without_file_raises(name, tmp_path):
    with pytest.raises(ValueError, match="Remove --data"):
        demos.run(name, data=tmp_path / "x.csv", say=lambda text: None)


@pytest.mark.parametrize("name", ["digits", "spam", "ecoli"])
def test_run_with_missing_file_raises(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The file .*absent.* does not exist"):
        demos.run(name, data=tmp_path / "absent", say=lambda text: None)
