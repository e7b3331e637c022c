"""The project keeps its promises: its commands, its public names, the direction of its imports."""

import ast
import inspect
import itertools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import linearly as ly

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "linearly"
MODULES = sorted(SOURCE.rglob("*.py"))

# A part may import itself and what stands in an earlier line. Two parts in one line are neighbours: an import
# may lead from one to the other, but not both ways. Nothing but the last parts may go through the public API.
ORDER = (
    ("exceptions", "formatting", "kernels"),
    ("dataset", "table"),
    ("algorithm",),
    ("models",),
    ("inference",),
    ("evaluation",),
    ("checks", "export", "plots"),
    ("report",),
    ("api",),
    ("demos",),
    ("lab",),
    ("selftest",),
    ("cli",),
    ("__main__", "versions"),
)
LINE = {part: line for line, parts in enumerate(ORDER) for part in parts}
PUBLIC_API = "linearly"
LINE_OF_PUBLIC_API = LINE["api"]

COMMANDS = [
    "python3 -m venv .venv && .venv/bin/pip install '.[cli]' && .venv/bin/linearly demo",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest",
]


# --- the commands and the metadata ----------------------------------------------------------------


def fenced_blocks(page: Path) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)\n```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def test_readme_has_exactly_the_two_commands():
    assert [block for block in fenced_blocks(ROOT / "README.md") if "venv" in block] == COMMANDS


def test_version_is_the_same_everywhere():
    with (ROOT / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    assert ly.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_all_is_every_extra_a_user_can_want():
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(everything.removeprefix("linearly[").removesuffix("]").split(","))
    assert named == set(extras) - {"all", "spark", "test", "docs", "dev"}


# --- the public names -----------------------------------------------------------------------------


def test_all_is_the_sorted_public_api():
    assert list(ly.__all__) == sorted(ly.__all__)
    assert sorted(name for name in dir(ly) if not name.startswith("_")) == [
        name for name in ly.__all__ if not name.startswith("_")
    ]


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = ly.no_such_name


@pytest.mark.parametrize("name", [name for name in ly.__all__ if not name.startswith("_")])
def test_public_name_has_a_docstring(name):
    thing = getattr(ly, name)
    if not inspect.isclass(thing):
        assert inspect.getdoc(thing)
        return
    assert vars(thing).get("__doc__"), f"{name} has no docstring of its own"
    ours = [parent for parent in thing.__mro__ if parent.__module__.startswith("linearly")]
    bare = [
        member
        for parent in ours
        for member, value in vars(parent).items()
        if not member.startswith("_")
        and (callable(value) or isinstance(value, property | classmethod | staticmethod))
        and not inspect.getdoc(getattr(thing, member))
    ]
    assert not bare, f"{name} has public methods without a docstring: {bare}"


@pytest.mark.parametrize("touch", ["", "; dir(linearly)", "; linearly.__version__"])
def test_import_is_light(touch):
    heavy = ("sklearn", "scipy", "pandas", "polars", "pyarrow", "matplotlib")
    code = f"import json, sys, linearly{touch}; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {module.partition(".")[0] for module in json.loads(run.stdout)}
    assert loaded.isdisjoint(heavy), f"import linearly loads {sorted(loaded.intersection(heavy))}"


# --- the direction of imports ---------------------------------------------------------------------


def part_of(module: Path) -> str:
    return module.relative_to(SOURCE).with_suffix("").parts[0]


def inner_imports_of(source: str, package: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted target of every import of linearly in a source, those in functions included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")] if node.module else base
            targets = [".".join([*base, alias.name]) for alias in node.names]
        else:
            continue
        for target in targets:
            if target.partition(".")[0] == "linearly":
                yield node.lineno, target


def imported_parts(source: str, package: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the part that it reaches of every import of linearly in a source."""
    for line, target in inner_imports_of(source, package):
        _, *rest = target.split(".")
        yield line, rest[0] if rest and rest[0] in LINE else PUBLIC_API


def offence(part: str, reached: str) -> bool:
    if reached == PUBLIC_API:
        return LINE[part] <= LINE_OF_PUBLIC_API
    return LINE[reached] > LINE[part]


def inner_imports() -> Iterator[tuple[str, int, str, str]]:
    for module in MODULES:
        if module.parent == SOURCE and module.stem == "__init__":
            continue  # the public API reaches everything, lazily
        package = ["linearly", *module.relative_to(SOURCE).parent.parts]
        for line, reached in imported_parts(module.read_text(encoding="utf-8"), package):
            yield str(module.relative_to(ROOT)), line, part_of(module), reached


def module_graph() -> dict[str, set[str]]:
    """Return the modules that each module imports, those imported for type checkers only left out."""
    names = {".".join(("linearly", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in MODULES}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    del names["linearly"]  # the public API reaches everything, lazily
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        source = re.sub(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", "", path.read_text(encoding="utf-8"), flags=re.M)
        package = ["linearly", *path.relative_to(SOURCE).parent.parts]
        targets = {target for _, target in inner_imports_of(source, package)}
        reached = {t if t in names else t.rpartition(".")[0] for t in targets} & set(names)
        graph[name] = reached - {name}  # a package may import its own compiled module
    return graph


def test_every_module_has_a_place_in_the_order():
    assert {part_of(module) for module in MODULES} - {"__init__"} <= set(LINE)


def test_imports_point_one_way():
    wrong = [
        f"{module}:{line}: {part} imports {reached}"
        for module, line, part, reached in inner_imports()
        if offence(part, reached)
    ]
    assert not wrong, "\n".join(wrong)


def test_neighbours_do_not_import_each_other():
    edges = {(part, reached) for _, _, part, reached in inner_imports()}
    for parts in ORDER:
        for a, b in itertools.combinations(parts, 2):
            assert not {(a, b), (b, a)} <= edges, f"{a} and {b} import each other"


# What each sub-package may import besides itself, of the package that it belongs to.
SUBPACKAGES = {
    "linearly.dataset": {
        "rows": set(),
        "formula": {"rows"},
        "design": {"rows", "formula"},
        "files": {"rows", "design"},
        "cluster": {"rows", "design", "files"},
        "features": {"rows"},
        "sources": {"rows", "design", "files", "cluster"},
    },
    "linearly.algorithm": {
        "least_squares": set(),
        "logistic": {"least_squares"},
        "perceptron": set(),
        "separability": set(),
    },
}


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_subpackages_import_only_what_stands_below_them(package):
    wrong = []
    for name, targets in module_graph().items():
        for target in targets:
            if name.startswith(f"{package}.") and target.startswith(f"{package}."):
                own, reached = (path.removeprefix(f"{package}.").partition(".")[0] for path in (name, target))
                if own != reached and reached not in SUBPACKAGES[package][own]:
                    wrong.append(f"{name} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_modules_do_not_import_each_other_in_a_circle():
    graph = module_graph()
    assert len(graph) > 100
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    ("source", "package", "reached"),
    [
        ("import linearly.models.base", "linearly.algorithm", "models"),
        ("from linearly.models import base", "linearly.algorithm", "models"),
        ("from linearly import models", "linearly.algorithm", "models"),
        ("from ..models.base import X", "linearly.algorithm", "models"),
        ("from .. import models", "linearly.algorithm", "models"),
        ("from . import gram", "linearly.algorithm", "algorithm"),
        ("from .gram import Gram", "linearly.algorithm", "algorithm"),
        ("from ..api import fit", "linearly.cli", "api"),
        ("from .models import base", "linearly", "models"),
        ("import linearly as ly", "linearly.cli", PUBLIC_API),
        ("from linearly import fit", "linearly.cli", PUBLIC_API),
        ("def f():\n    from ..models import base", "linearly.algorithm", "models"),
        ("if TYPE_CHECKING:\n    from ..models import base", "linearly.algorithm", "models"),
    ],
)
def test_the_import_reader_sees(source, package, reached):
    assert [part for _, part in imported_parts(source, package.split("."))] == [reached]


# --- leftovers ---------------------------------------------------------------------------


def text_files() -> Iterator[Path]:
    folders = (".ci", ".github", "benchmarks", "docs", "examples", "src", "tests")
    kinds = {"", ".cff", ".cpp", ".css", ".hpp", ".html", ".js", ".json", ".md", ".py", ".pyi", ".R", ".sql"}
    kinds |= {".toml", ".txt", ".yaml", ".yml"}
    inside = itertools.chain.from_iterable((ROOT / folder).rglob("*") for folder in folders)
    for path in itertools.chain(ROOT.glob("*"), inside):
        if (
            path.is_file()
            and path.suffix in kinds
            and "_build" not in path.parts
            and path.name not in (".coverage", ".git")
        ):
            yield path


def test_no_thread_touches_what_is_warned_of():
    # catch_warnings changes the whole process: two threads that leave it in the wrong order lose the user's warnings.
    folded = [module for module in MODULES if part_of(module) in ("dataset", "algorithm", "models")]
    assert [module.name for module in folded if "catch_warnings" in module.read_text(encoding="utf-8")] == []


def test_no_leftovers():
    leftover = re.compile(r"\bTO{1}DO\b|\bFIX{1}ME\b|(?<![\w.])/(?:home|root|work|Users)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if leftover.search(line)
    ]
    assert not found, "\n".join(found)
