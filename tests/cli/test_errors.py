"""Messages of errors and their remedies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import CLEAN, ROOT

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

from linearly.cli.errors import format_error, with_option_names


def test_error_remedies_are_options_of_the_command_line(run):
    Path("few.csv").write_text("x,y\n1,2\n2,3\n4,9\n")
    assert run("compare", "few.csv", "-t", "y").err.endswith("Use fewer, such as --folds 2.\n")
    Path("folder").mkdir()
    assert run("show", "folder").err == "error: folder is a directory. Name a model file.\n"
    for name in "ab":
        Path(f"folder/{name}.csv").write_text("x,y\n1,2\n2,3\n4,9\n")
    assert "quote the glob: 'folder/*.csv'." in run("fit", "folder/a.csv", "folder/b.csv", "-t", "y").err
    for name in ("README.txt", "z.txt"):  # read first, and last
        note = Path("folder") / name
        note.write_text("hello\n")
        assert run("check", "folder").err.endswith(f"To leave {name} out, give a glob: 'folder/*.csv'.\n")
        note.unlink()
    refused = run("fit", "few.csv", "-t", "y", "--param", "covariance=HC9").err
    assert refused.startswith("error: covariance must be one of")
    assert "needs --groups COLUMN" in run("fit", "few.csv", "-t", "y", "--param", "covariance=cluster").err


def test_format_error_unwritable_directory_is_named():
    absent = FileNotFoundError(2, "No such file or directory", "/proc/.linearly-44cac8f5.saving")
    assert format_error(absent) == "The directory /proc cannot be written to."
    denied = PermissionError(13, "Permission denied", "/usr/.linearly-44cac8f5.saving")
    assert format_error(denied) == "The directory /usr cannot be written to: permission denied."


HOSTILE = {
    "no such file": (["fit", "loan.csv", "-t", "x"], "does not exist. Check the path. Did you mean loans.csv?"),
    "no such model": (["show", "modle.json"], "The model file modle.json does not exist."),
    "empty file": (["fit", "empty.csv", "-t", "x"], "empty.csv is empty"),
    "header only": (["fit", "header.csv", "-t", "x"], "no rows"),
    "empty directory": (["check", "folder"], "folder contains no Parquet, Arrow or CSV file"),
    "no such target": (["fit", "loans.csv", "-t", "repayed"], "'repayed' does not exist. Did you mean 'repaid'?"),
    "no such column": (["fit", "loans.csv", "-t", "repaid", "--without", "Age"], "Did you mean 'age'?"),
    "no such feature": (["check", "loans.csv", "-t", "repayed"], "Did you mean 'repaid'?"),
    "missing values": (["fit", "loans.csv", "-t", "repaid"], "--missing drop"),
    "numbers from labels": (["fit", "loans.csv", "-t", "repaid", *CLEAN, "-m", "linear"], "--model logistic"),
    "ridge of labels": (["fit", "loans.csv", "-t", "repaid", *CLEAN, "--cv"], "contains labels"),
    "no such parameter": (["fit", "loans.csv", "-t", "income", *CLEAN, "--param", "depth=3"], "no parameter 'depth'"),
    "not JSON": (["show", "loans.csv"], "it is not JSON"),
    "other JSON": (["show", "other.json"], "other.json"),
    "a model that is a directory": (["show", "folder"], "folder"),
    "parquet that is text": (["fit", "text.parquet", "-t", "x"], "text.parquet is not a Parquet file"),
    "ragged rows": (["fit", "ragged.csv", "-t", "y"], "Line 3 of ragged.csv"),
    "binary": (["check", "noise.csv"], "noise.csv"),
    "no such label": (
        ["evaluate", "model.json", "loans.csv", "--positive", "maybe"], "'maybe' is not a label of the model"
    ),
    "evaluate without target": (["evaluate", "model.json", "new.csv"], "The target column 'repaid' does not exist"),
    "predict without a column": (["predict", "model.json", "narrow.csv"], "The column 'income' does not exist"),
    "output to nowhere": (["predict", "model.json", "loans.csv", "-o", "no/where.csv"], "no"),
    "model to nowhere": (["fit", "loans.csv", "-t", "repaid", *CLEAN, "-o", "no/where.json"], "no"),
    "formula that runs code": (["fit", "loans.csv", "-f", "income ~ {__import__('os')}"], ""),
    "merge with itself": (["merge", "model.json", "model.json", "-o", "m.json"], ""),
    "an unknown dialect": (["export", "model.json", "--to", "sql", "--dialect", "klingon"], "klingon"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_bad_input_prints_one_sentence_and_leaves_no_file(run, model, case, tmp_path):
    Path("empty.csv").touch()
    Path("header.csv").write_text("x,y\n")
    Path("folder").mkdir()
    Path("other.json").write_text('{"a": [1, 2]}')
    Path("text.parquet").write_text("x,y\n1,2\n")
    Path("ragged.csv").write_text("x,y\n1,2\n1,2,3\n")
    Path("noise.csv").write_bytes(bytes(range(256)) * 8)
    lines = Path("loans.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    Path("narrow.csv").write_text("age,region\n3,north\n")
    before = sorted(os.listdir())
    words, expected = HOSTILE[case]
    result = run(*words)
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1, result.err
    assert expected in result.err
    assert "Traceback" not in result.err
    assert "This is a bug in linearly" not in result.err, result.err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ('choose missing="drop" to', "fit with --missing drop to"),
        ('Correct it, or choose unseen="reference".', "Correct it, or fit with --unseen reference."),
        ('Use method="extended" for more digits', "Use --param method=extended for more digits"),
        ("or set alpha > 0, for", "or set --alpha above 0, for"),
        ("a penalty, which RidgeCV chooses.", "a penalty that cross-validation chooses: --cv."),
        ("ly.fit(data, like=model, …).", "linearly fit DATA --like MODEL."),
        ("Pass it with like=.", "Pass it with --like."),
        ('Set covariance="CR2".', "Set --covariance CR2."),
        ('Use kind="confidence", the interval', "Use --interval confidence, the interval"),
        ("Column 'x' is numeric. List its values, as in at={'x': [0, 1]}.", "--at 'x=1'."),
        (
            "positive= requires two labels. Leave positive= out.",
            "--positive requires two labels. Leave --positive out.",
        ),
        ("Use LinearDiscriminantAnalysis or LogisticRegression.", "Use --model lda or --model logistic."),
        ("9 mistakes. Call explain(X, y) to find out", "Run linearly check to find out"),
        ("Fit both with the same model=.", "Fit both with the same --model."),
    ],
)
def test_with_option_names_replaces_arguments(said, here):
    assert with_option_names(said).endswith(here)


def test_missing_extra_prints_the_install_command():
    absent = ModuleNotFoundError("No module named 'onnx'", name="onnx")
    assert format_error(absent) == "This command needs onnx. Run: pip install 'linearly[export]'."
    code = "import sys; sys.modules['click'] = None; from linearly.cli.main import main; sys.exit(main(['--help']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: The command line needs click. Run: pip install 'linearly[cli]'.\n"


def test_extras_are_declared_in_pyproject():
    import tomllib

    from linearly.cli.errors import EXTRAS

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for module, extra in EXTRAS.items():
        assert any(line.startswith(module) for line in extras[extra]), module


def test_format_error_unexpected_exception_says_so():
    assert "This is a bug in linearly" in format_error(KeyError("x"))


def test_unknown_column_without_similar_names_lists_all(run):
    Path("ages.csv").write_text("age,size\n1,2\n2,1\n3,3\n")
    assert "The columns are age, size." in run("fit", "ages.csv", "-t", "target").err
