"""What is shipped: the metadata, the sdist and the wheel, and the wheel in an environment that has nothing else."""

import ast
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from lowest import lowest_versions

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "linearly"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

IMPORTED_AS = {"python-docx": "docx", "scikit-learn": "sklearn"}
# Dependencies of dependencies, and what is imported only where the user's own objects come from it.
COMES_ALONG = {"threadpoolctl", "cloudpickle", "pandas", "polars", "IPython", "traitlets"}


# --- the metadata ---------------------------------------------------------------------------------


def test_metadata_is_complete():
    assert PROJECT["license"] == "BSD-3-Clause"
    assert [(ROOT / name).is_file() for name in (*PROJECT["license-files"], PROJECT["readme"])] == [True, True]
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.11"} <= set(PROJECT["classifiers"])
    assert not any("License ::" in classifier for classifier in PROJECT["classifiers"]), "the expression says it"
    assert (SOURCE / "py.typed").is_file()


def test_urls_lead_somewhere():
    made_up = re.compile(r"example\.|localhost|/(?:user|owner|org|your-)", re.I)
    assert not [url for url in PROJECT.get("urls", {}).values() if made_up.search(url)]


def test_links_of_a_release_lead_to_the_repository():
    spec = importlib.util.spec_from_file_location("release_links", ROOT / "docs" / "release_links.py")
    release_links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(release_links)
    readme = release_links.absolute_links((ROOT / "README.md").read_text(encoding="utf-8"), "some/where", "v0.1.0")
    links = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert len(links) > 30
    assert not [link for link in links if not link.startswith("https://")]
    assert "![" in readme
    assert "https://github.com/some/where/raw/v0.1.0/docs/images/report.webp" in links
    metadata = tomllib.loads(release_links.with_urls((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "a/b"))
    assert metadata["project"]["urls"]["Source"] == "https://github.com/a/b"
    assert metadata["project"]["scripts"] == PROJECT["scripts"]


def test_nothing_is_built_for_one_machine():
    told = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in ("CMakeLists.txt", "pyproject.toml"))
    assert not re.findall(r"-m(?:arch|tune|cpu)=native|-xHost|-Ofast|-ffast-math", told)


def third_party(module):
    """Every package from elsewhere that a module imports, at once or when asked."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        tops = (name.partition(".")[0] for name in names)
        yield from (top for top in tops if top != "linearly" and top not in sys.stdlib_module_names)


def declared(requirements):
    names = (re.match(r"[\w-]+", requirement).group() for requirement in requirements)
    return {IMPORTED_AS.get(name, name) for name in names} - {"linearly"}


def test_every_import_is_declared():
    users = {name: r for name, r in PROJECT["optional-dependencies"].items() if name not in ("test", "docs", "dev")}
    known = declared(PROJECT["dependencies"]).union(*map(declared, users.values())) | COMES_ALONG
    unknown = {
        f"{module.relative_to(ROOT)} imports {name}"
        for module in SOURCE.rglob("*.py")
        for name in third_party(module)
        if name not in known
    }
    assert not unknown, "\n".join(sorted(unknown))


def test_the_oldest_versions_are_what_is_declared():
    pins = lowest_versions(ROOT / "pyproject.toml")
    assert {"numpy==2.0", "scikit-learn==1.7", "dask==2025.1"} <= set(pins)
    assert len({pin.partition("==")[0] for pin in pins}) == len(pins), "one bound for each package"
    assert not any("linearly" in pin for pin in pins)


# --- the sdist and the wheel ----------------------------------------------------------------------


class Built(NamedTuple):
    """The sdist of this tree, a wheel of the tree, and a wheel of the sdist unpacked elsewhere."""

    sdist: Path
    wheel: Path
    again: Path


def build(what, tree, out):
    """The one file that the build backend makes of a tree, as `pip` and `build` would have it."""
    out.mkdir()
    code = f"import sys; from scikit_build_core.build import build_{what} as build; build(sys.argv[1])"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "LINEARLY_REQUIRE_COMPILED": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    run = subprocess.run(
        [sys.executable, "-c", code, str(out)], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    from conftest import require

    tools = ("scikit_build_core", "nanobind")
    require(all(map(importlib.util.find_spec, tools)), "needs the dev extra: scikit-build-core and nanobind")
    require(shutil.which("c++") or shutil.which("clang++"), "needs a C++ compiler")
    home = tmp_path_factory.mktemp("packaging")
    sdist = build("sdist", ROOT, home / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(home / "a" / "longer" / "path", filter="data")
    (tree,) = (home / "a" / "longer" / "path").iterdir()
    return Built(sdist, build("wheel", ROOT, home / "wheel"), build("wheel", tree, home / "again"))


def members(sdist):
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.slow
def test_sdist_holds_the_project(built, require):
    require(shutil.which("git") and (ROOT / ".git").exists(), "needs the git repository")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    ours = (".ci/", ".github/", ".pre-commit-config.yaml")
    expected = {name for name in listed if name and not name.startswith(ours) and (ROOT / name).is_file()}
    assert expected <= members(built.sdist)


@pytest.mark.slow
def test_sdist_and_tree_give_the_same_wheel_byte_by_byte(built):
    with zipfile.ZipFile(built.wheel) as one, zipfile.ZipFile(built.again) as other:
        assert one.namelist() == other.namelist()
        assert [n for n in one.namelist() if one.read(n) != other.read(n)] == []
    digests = {hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in (built.wheel, built.again)}
    assert len(digests) == 1


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
    source = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix not in (".cpp", ".hpp", ".pyc", ".so")
    }
    assert source <= names
    rest = {name for name in names - source if ".dist-info/" not in name}
    assert len(rest) == 1, rest
    assert re.fullmatch(r"linearly/kernels/_compiled\.\S+\.(so|pyd)", rest.pop())
    assert {name.rpartition("/")[2] for name in names if ".dist-info/" in name} >= {"LICENSE", "METADATA", "RECORD"}


@pytest.mark.slow
def test_wheel_contains_no_path_of_the_build(built):
    places = [str(ROOT), str(built.wheel.parents[1]), str(Path.home()), "/home/", "/Users/"]
    told = re.compile("|".join(map(re.escape, places)).encode())
    with zipfile.ZipFile(built.wheel) as wheel:
        assert [name for name in wheel.namelist() if told.search(wheel.read(name))] == []


# --- the wheel in an environment of its own -------------------------------------------------------


@pytest.fixture(scope="module")
def bare(built, tmp_path_factory):
    """A Python that has the wheel and its dependencies, and nothing else."""
    from conftest import require

    home = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    run = subprocess.run(
        [python, "-m", "pip", "install", "-q", built.wheel], capture_output=True, text=True, check=False
    )
    require(run.returncode == 0, f"needs a package index: {run.stderr.strip()[-300:]}")
    return python


def said(python, code, cwd):
    run = subprocess.run([python, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


FIT = "import linearly as ly; m = ly.LinearRegression().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]); "
TABLE = "import linearly as ly; data = {'x': [1.0, 2.0, 3.0], 'y': [1.0, 2.0, 4.0]}; "

# What the core cannot do, and the line that says what to install.
ABSENT = {
    "command line": ("import sys; from linearly.cli.main import main; sys.exit(main(['--version']))", "linearly[cli]"),
    "lab": ("from linearly.lab.server import serve; serve()", "linearly[lab]"),
    "lab in a notebook": ("import linearly.lab.widget", "linearly[lab]"),
    "files": ("import linearly as ly; ly.scan('rows.csv', target='y')", "linearly[files]"),
    "fit of a file": ("import linearly as ly; ly.fit('rows.csv', target='y')", "linearly[files]"),
    "fit of columns": (TABLE + "ly.fit(data, target='y')", "linearly[files]"),
    "plots": (FIT + "ly.plot_coefficients(m)", "linearly[cli]"),
    "report": ("from linearly.report.svg import drawing; drawing()", "linearly[cli]"),
    "ONNX": ("import linearly.export.onnx", "linearly[export]"),
    "SQL": ("import linearly.export.sql", "linearly[export]"),
    "Dask": ("import linearly as ly; ly.from_dask(None)", "linearly[dask]"),
    "Spark": ("import linearly as ly; ly.from_spark(None)", "linearly[spark]"),
    "pandas": (FIT + "ly.tidy(m).to_pandas()", "pandas"),
    "polars": (FIT + "ly.tidy(m).to_polars()", "polars"),
}


@pytest.mark.slow
@pytest.mark.parametrize("feature", ABSENT)
def test_missing_package_error_names_what_to_install(bare, feature, tmp_path):
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n2,3\n")
    code, named = ABSENT[feature]
    failed, told = said(bare, code, tmp_path)
    assert failed
    last = told.strip().splitlines()[-1]
    assert re.search(rf"pip install '?{re.escape(named)}'?", last), last


@pytest.mark.slow
def test_core_fits_on_compiled_kernels(bare, tmp_path):
    failed, told = said(
        bare, FIT + "print(m.summary()); import linearly.kernels._compiled; ly.show_versions()", tmp_path
    )
    assert not failed, told
    assert "pyarrow       not installed" in told


@pytest.mark.slow
def test_command_line_of_the_wheel(bare, built, tmp_path):
    run = subprocess.run([bare, "-m", "pip", "install", "-q", f"{built.wheel}[cli]"], check=False)
    assert run.returncode == 0
    command = bare.with_name("linearly")
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert PROJECT["version"] in version.stdout
    demo = subprocess.run([command, "demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert demo.returncode == 0, demo.stderr
    assert list(tmp_path.glob("*.html"))
