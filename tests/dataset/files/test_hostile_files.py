"""Small hostile files ask for little memory and are refused by name; killed writers leave nothing behind for good."""

import gzip
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linearly as ly
from linearly.dataset.files.tables import file_tables
from linearly.dataset.files.writers import write_tables

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak of memory in /proc")

MB = 2**20


def told_by_child(code: str, *arguments: object) -> tuple[object, int]:
    """What a process of its own says, and the peak of its memory: `ru_maxrss` would begin at this process's."""
    peak = "[int(line.split()[1]) * 1024 for line in open('/proc/self/status') if line.startswith('VmHWM')][0]"
    script = f"import json, sys\n{textwrap.dedent(code)}\nprint(json.dumps([told, {peak}]))"
    run = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr[-2000:]
    told, bytes_ = json.loads(run.stdout.splitlines()[-1])
    return told, bytes_


REFUSED = """
import linearly as ly
try:
    ly.fit(sys.argv[1], target="y")
    told = "fitted"
except ValueError as error:
    told = str(error)
"""


def test_an_unclosed_quote_in_a_small_gzip_is_named_in_little_memory(tmp_path):
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b'a,b,y\n1,2,3\n1,"2,3\n' + b"\n" * (60 * MB))
    assert path.stat().st_size < MB
    told, peak = told_by_child(REFUSED, path)
    assert (
        told == f"{path} has a row of more than 16 MB, starting at line 3: a quote in line 3 is not closed. Close it."
    )
    assert peak < 350 * MB


def test_an_unclosed_quote_before_the_end_of_a_file_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,b,y\n1,2,3\n1,"2,3\n' + "1,2,3\n" * 50_000)
    with pytest.raises(ValueError, match=r"Line 3 of .*rows\.csv has a quote that is not closed"):
        ly.fit(path, target="y")


@pytest.mark.parametrize("name", ["a", "column"])
def test_a_header_of_three_million_columns_is_refused_by_name_in_little_memory(name, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(f"{name}," * 3_000_000 + "y\n" + "1," * 3_000_000 + "1\n")
    code = """
    import contextlib, io
    from linearly.cli.main import main
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(["check", sys.argv[1], "-t", "y"])
    told = [code, said.getvalue()]
    """
    (exit_code, said), peak = told_by_child(code, path)
    assert exit_code not in (0, None)
    assert "This is a bug in linearly" not in said
    assert ("names 3,000,001 columns, more than the limit" if name == "a" else "more than 50,000 columns") in said
    assert peak < 350 * MB


def test_a_header_longer_than_the_csv_module_reads_is_read(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"column number {j} of many" for j in range(8_000)]
    path.write_text(";".join(names) + ';"the ""y"""\n' + "1.5;" * len(names) + "2\n")
    assert len(";".join(names)) > 131_072
    assert list(file_tables(path).schema) == [*names, 'the "y"']


@pytest.mark.parametrize("store_schema", [True, False])
def test_a_small_dictionary_of_long_text_is_read_in_little_memory(store_schema, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, 8_000)
    levels = pa.array([chr(97 + k) * 100_000 for k in range(20)])  # 2 MB, which stand for 800 MB
    text = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), levels)
    y = codes + rng.normal(size=len(codes))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": text, "y": y}), path, compression="none", store_schema=store_schema)
    assert path.stat().st_size < 3 * MB
    code = "import linearly as ly\ntold = ly.fit(sys.argv[1], target='y').estimator.coef_.tolist()"
    coef, peak = told_by_child(code, path)
    assert peak < 500 * MB
    short = ly.fit({"text": [chr(97 + k) for k in codes], "y": y}, target="y")
    np.testing.assert_allclose(coef, short.estimator.coef_, rtol=1e-10)


# --- writers that are killed ----------------------------------------------------------------------

WRITER = """
import sys
import numpy as np
from linearly.dataset.files.writers import write_tables

def chunks():
    yield {"prediction": np.arange(5.0)}
    print("writing", flush=True)
    sys.stdin.readline()
    yield {"prediction": np.arange(5.0)}

write_tables(sys.argv[1], chunks())
"""


def writer(path: Path) -> subprocess.Popen:
    """A process in the middle of writing a table, which goes on when it is told to."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "writing\n"
    return process


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_write_atomic_removes_files_of_killed_writers_and_keeps_those_of_running_ones(suffix, tmp_path):
    path = tmp_path / f"answers.{suffix}"
    killed, alive = writer(path), writer(path)
    killed.kill()
    killed.communicate()
    model = ly.fit({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.1, 2.9, 4.2]}, target="y")
    left = set(os.listdir(tmp_path))
    assert len(left) == 2
    model.predict({"x": [5.0]}, out=path)
    after = set(os.listdir(tmp_path))
    assert path.name in after
    assert len(after & left) == 1, "the file of the living writer, and only that"
    alive.communicate("\n")
    assert alive.returncode == 0
    assert os.listdir(tmp_path) == [path.name]
    model.save(tmp_path / "model.json")
    assert sorted(os.listdir(tmp_path)) == [path.name, "model.json"]
    assert write_tables(path, [{"prediction": np.arange(3.0)}]) == 3
