"""The proteins: constant columns, shrinkage, files."""

import numpy as np
import pytest
from demo_runs import demo
from ecoli_file import ecoli_lines

from linearly import demos
from linearly.demos import ecoli


def test_ecoli_names_the_constant_column():
    story, said, html = demo("ecoli")
    assert story.found["constant"] == ["chg"]
    assert "chg is 0.5 for all remaining proteins" in said
    assert "Column 'chg' is constant" in " ".join(said.split())
    assert "chg is constant in these rows" in html


def test_ecoli_names_the_sites_that_qda_shrinks():
    story, said, _ = demo("ecoli")
    shrunk = {site for site, s in story.found["shrinkage"].items() if s > 0}
    assert shrunk == {"cp", "im", "imU", "pp"}, "all but om, where lip varies"
    assert "QDA shrinks" in " ".join(said.split())
    assert story.found["left_out"] == ["imS"]
    assert story.found["kept"] == 130


def test_ecoli_from_file_without_titles_reads_the_same(tmp_path):
    for header in (True, False):
        (tmp_path / f"{header}.data").write_text(ecoli_lines(header))
    with_titles, without = (ecoli.from_file(tmp_path / f"{header}.data") for header in (True, False))
    assert len(with_titles["site"]) == 132
    for name, values in with_titles.items():
        assert np.array_equal(values, without[name])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X_ECOLI 0.1 0.2 0.3 0.5 0.5 0.6 cp", r"Line 134 of .* must contain a name, seven numbers"),
        ("X_ECOLI 0.1 0.2 0.3 0.5 x 0.5 0.6 cp", r"Line 134 of .* must contain a name, seven numbers"),
        ("X_ECOLI 0.1 0.2 0.3 0.5 nan 0.5 0.6 cp", r"Line 134 of .* contains a number that is not finite"),
    ],
)
def test_ecoli_from_bad_line_raises(tmp_path, line, message):
    (tmp_path / "ecoli.data").write_text(ecoli_lines() + line + "\n")
    with pytest.raises(ValueError, match=message):
        ecoli.from_file(tmp_path / "ecoli.data")


def test_ecoli_with_too_few_rows_raises(tmp_path):
    (tmp_path / "ecoli.data").write_text("\n")
    with pytest.raises(ValueError, match="no proteins"):
        ecoli.from_file(tmp_path / "ecoli.data")
    (tmp_path / "ecoli.data").write_text("\n".join(ecoli_lines().splitlines()[:30]))
    with pytest.raises(ValueError, match="at least two sites"):
        demos.tell("ecoli", data=tmp_path / "ecoli.data", say=lambda text: None)


def test_ecoli_without_network_names_the_file_to_fetch(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")  # where nothing listens
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(ConnectionError, match=r"could not be fetched.*--data ecoli\.data"):
        ecoli.downloaded()
