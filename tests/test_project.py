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
    ("exceptions", "formatting", "installed", "kernels"),
    ("dataset", "table"),
    ("algorithm",),
    ("models",),
    ("inference",),
    ("evaluation",),
    ("findings",),
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


def test_contributing_lists_every_step_of_the_full_check():
    steps = re.findall(r'^step "', (ROOT / ".ci" / "run").read_text(encoding="utf-8"), flags=re.M)
    listed = re.findall(r"^(\d+)\. ", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.M)
    assert listed == [str(i) for i in range(1, len(steps))]  # the last one says that all passed


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


OTHER_MODELS = ("linearly.algorithm.elastic_net", "linearly.algorithm.logistic", "linearly.models.logistic_regression")


def test_fit_command_on_a_csv_file_imports_only_what_it_needs(tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("x,g,y\n" + "".join(f"{i},{'uv'[i % 2]},{i * i % 7}\n" for i in range(40)))
    code = (
        f"import json, sys; sys.argv = ['linearly', 'fit', {str(data)!r}, '-t', 'y', '--json']\n"
        "from linearly.cli.main import main; failed = main()\n"
        "print(json.dumps([failed, *sorted(sys.modules)]), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    failed, *loaded = json.loads(run.stderr.splitlines()[-1])
    assert not failed
    assert "pyarrow.csv" in loaded
    assert {"pandas", "pyarrow.parquet", "sklearn"}.isdisjoint(loaded)
    assert not [name for name in loaded if name.startswith(OTHER_MODELS)]


def test_first_fit_of_arrays_imports_only_what_it_needs():
    code = (
        "import json, sys, linearly as ly; ly.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 4.0])\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(run.stdout)
    assert {"pandas", "pyarrow", "sklearn", "scipy.special", "scipy.stats"}.isdisjoint(loaded)
    unneeded = ("linearly.dataset.design", "linearly.dataset.formula", "linearly.inference", *OTHER_MODELS)
    assert not [name for name in loaded if name.startswith(unneeded)]


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
        "logistic": {"least_squares", "elastic_net"},  # each step with absolute values is a lasso
        "elastic_net": {"least_squares", "separability"},  # its proofs use the integer algebra
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
def test_import_reader_finds_the_part_of_every_import(source, package, reached):
    assert [part for _, part in imported_parts(source, package.split("."))] == [reached]


# --- maps -----------------------------------------------------------------------------------------


PACKAGES = [path.parent for path in MODULES if path.stem == "__init__" and "stand_ins" not in path.parts][1:]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.relative_to(SOURCE).as_posix())
def test_package_docstring_lists_every_module(package):
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")), clean=False) or ""
    listed = set(re.findall(r"^ +(\w+)", docstring, flags=re.M))
    own = {path.stem for path in package.glob("*.py")} - {"__init__"}
    own |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert not own - listed


# --- contracts ------------------------------------------------------------------------------------

# Private by their spelling, public by their documentation: namedtuple and sys.
FOREIGN_NAMES = {"_asdict", "_replace", "_fields", "_getframe"}
# No public way exists: Dask's empty frame of a collection, the generator behind numpy.random.seed, scikit-learn's names
# of constructor parameters without their values, threadpoolctl's handle of a BLAS.
FOREIGN_NAMES |= {"_meta", "_rand", "_get_param_names", "_get_symbol"}


def own_private_names(tree: ast.Module) -> set[str]:
    """Return the names that a module defines: functions, classes, variables, and attributes set on self or cls."""
    own = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            own |= {node.attr} if ast.unparse(node.value) in ("self", "cls") else set()
    return own


def private_reads(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the expression of each private attribute of an object that another module defines."""
    tree = ast.parse(source)
    own = own_private_names(tree) | FOREIGN_NAMES
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner, name = ast.unparse(node.value), node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr", "setattr"):
            owner, name = ast.unparse(node.args[0]), getattr(node.args[1], "value", "")
        else:
            continue
        private = str(name).startswith("_") and not str(name).endswith("__")
        if private and name not in own and owner not in ("self", "cls", "super()"):
            yield node.lineno, f"{owner}.{name}"


def test_no_module_reads_private_attributes_of_another():
    wrong = [
        f"{module.relative_to(ROOT)}:{line}: {read}"
        for module in MODULES
        for line, read in private_reads(module.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("model._root", ["model._root"]),
        ("model._root = 1", ["model._root"]),
        ("getattr(model, '_root', None)", ["model._root"]),
        ("class A:\n    def f(self, other):\n        return self._x + other._x", ["other._x"]),
        ("class A:\n    def f(self, other):\n        self._x = other._x", []),
        ("class A:\n    _x: int\n    def f(self, other):\n        return other._x", []),
        ("model.__class__", []),
        ("point._replace(x=1)", []),
    ],
)
def test_private_reads_finds_attributes_of_other_modules(source, reads):
    assert [read for _, read in private_reads(source)] == reads


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


def test_files_contain_neither_unfinished_notes_nor_paths_of_a_machine():
    leftover = re.compile(r"\bTO{1}DO\b|\bFIX{1}ME\b|(?<![\w.])/(?:home|root|work|Users)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if leftover.search(line)
    ]
    assert not found, "\n".join(found)
