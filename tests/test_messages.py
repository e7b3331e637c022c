"""Errors and warnings in the source: each states the problem first, and each names a remedy."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "linearly"
RAISED = {"ValueError", "TypeError", "ImportError", "FileNotFoundError", "KeyError", "UsageError", "AttributeError"}
WARNED = {"warn_at_caller", "warn"}
ELSEWHERE = ("selftest/", "lab/in_browser/", "lab/server.py", "dataset/design/serialization.py", "export/records.py")

# Imperatives that open a remedy. Messages that state what is accepted ("must be", "must have") are remedies, too.
REMEDY = re.compile(
    r"(?:^|[.;,:!?] |\{\} |\band |\bor )(?:[Aa]dd|[Bb]uild|[Cc]all|[Cc]heck|[Cc]hoose|[Cc]lose|[Cc]omplete|[Cc]ompute|"
    r"[Cc]onvert|[Cc]orrect|[Cc]ompare|[Cc]reate|[Dd]ivide|[Dd]o not|[Dd]rop|[Ee]ncode|[Ff]ill|[Ff]it|[Gg]ive|[Kk]eep|"
    r"[Ll]eave|[Ll]ist|[Ll]oad|[Mm]ake|[Mm]ap|[Mm]ove|[Mm]ultiply|[Nn]ame|[Oo]pen|[Pp]ass|[Pp]ersist|[Pp]ut|[Rr]ead|"
    r"[Rr]ebuild|[Rr]educe|[Rr]emove|[Rr]ename|[Rr]epartition|[Rr]escale|[Rr]eshape|[Rr]un|[Ss]ave|[Ss]cale|[Ss]earch|"
    r"[Ss]et|[Ss]hift|[Ss]horten|[Ss]implify|[Ss]ubtract|[Ss]wap|[Tt]est|[Tt]urn|[Uu]npack|[Uu]se|[Ww]rap|[Ww]rite|"
    r"[Cc]hange|[Dd]elete|[Ee]valuate|[Ff]ix|[Ii]nstall|[Rr]eturn|[Ss]elect|[Cc]ross-validate|[Dd]ownload|[Ii]nsert|[Rr]eport|[Rr]edirect|[Uu]pgrade)\b"
    r"|\bmust (?:be|have|contain|end|consist)\b|Did you mean|pip install"
)


def text_of(node: ast.AST | None) -> str | None:
    """Return the text of a message; ``{}`` stands for what is put into it."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def messages() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each error and warning that is written as text."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else node
            if not isinstance(call, ast.Call) or not call.args:
                continue
            called = ast.unparse(call.func).rpartition(".")[2]
            known = called in RAISED if isinstance(node, ast.Raise) else called in WARNED
            text = text_of(call.args[0]) if known else None
            if text is not None and text.endswith("."):  # without a full stop it is a part of a message
                yield f"{name}:{call.lineno}", text


MESSAGES = dict(messages())


def test_the_search_finds_the_messages():
    assert len(MESSAGES) > 400


def test_each_message_names_a_remedy():
    ends_with_one = re.compile(r"\{\}\.?$")  # the remedy is put in
    assert {
        place: text for place, text in MESSAGES.items() if not REMEDY.search(text) and not ends_with_one.search(text)
    } == {}


@pytest.mark.parametrize("opening", ["There is ", "There are ", "Of ", "Where ", "Whether "])
def test_no_message_opens_with(opening):
    assert [place for place, text in MESSAGES.items() if text.startswith(opening)] == []


def test_no_message_says_that_it_should_not_happen():
    assert [place for place, text in MESSAGES.items() if "should not happen" in text.lower()] == []
