"""Models side by side: what is printed, in which formats, and no digit too many."""

import html
import io
import re
import zipfile

import numpy as np
import pytest
from questions_cases import DATA

import linearly as ly
from linearly.export.regression_table import format_estimate


@pytest.fixture(scope="module")
def models():
    return [
        ly.fit(DATA, formula="y ~ a + x"),
        ly.fit(DATA, formula="y ~ a * b + x", covariance="HC3"),
        ly.fit(DATA, formula="label ~ x"),
    ]


def test_table_has_estimates_above_their_errors(models):
    table = ly.regression_table(models, names=["one", "two", "three"])
    assert table.header == ("", "one", "two", "three")
    rows = {row[0]: i for i, row in enumerate(table.coefficients) if row[0]}
    for j, model in enumerate(models):
        for row in ly.tidy(model):
            estimate, error = (table.coefficients[rows[row["term"]] + k][1 + j] for k in (0, 1))
            assert float(estimate) == pytest.approx(row["estimate"], abs=0.006 * row["std_error"])
            assert float(error.strip("()")) == pytest.approx(row["std_error"], rel=0.006)
    assert table.coefficients[rows["b[b2]"]][1] == ""
    statistics = {row[0]: row[1:] for row in table.statistics}
    assert statistics["Rows"] == ("90", "90", "90")
    assert statistics["Target"] == ("y", "y", "label")
    assert statistics["Standard errors"] == ("classical", "HC3", "classical")


def test_stars_follow_p_values(models):
    table = ly.regression_table(models[:1], stars=True)
    p = {row["term"]: row["p_value"] for row in ly.tidy(models[0])}
    for row in table.coefficients:
        if row[0]:
            wanted = sum(p[row[0]] < limit for limit in (0.05, 0.01, 0.001))
            assert row[1].count("*") == wanted
    assert "***" in table.notes[1]


def test_every_format_has_every_cell(models, tmp_path):
    docx = pytest.importorskip("docx")
    table = ly.regression_table(models)
    cells = [
        cell for row in (*table.coefficients, *table.statistics) for cell in row[1:] if re.fullmatch(r"[\d.]+", cell)
    ]
    assert len(cells) > 10
    for text in (str(table), table.to_markdown(), table.to_latex(), table.to_html(), table.to_typst()):
        assert all(cell in text for cell in cells)
    table.to_docx(tmp_path / "table.docx")
    words = [cell.text for row in docx.Document(str(tmp_path / "table.docx")).tables[0].rows for cell in row.cells]
    assert words == [cell for row in (table.header, *table.coefficients, *table.statistics) for cell in row]


def test_tables_are_the_same_bytes_from_run_to_run(models, tmp_path):
    pytest.importorskip("docx")
    paths = []
    for i, model in enumerate(models):
        paths.append(tmp_path / f"{i}.json")
        model.save(paths[-1])
    one, two = ly.regression_table(models), ly.regression_table(paths)
    for form in ("markdown", "latex", "html", "typst"):
        assert getattr(one, f"to_{form}")() == getattr(two, f"to_{form}")()
    for name, table in (("a", one), ("b", two)):
        table.to_docx(tmp_path / f"{name}.docx")
    written = [(tmp_path / f"{name}.docx").read_bytes() for name in "ab"]
    assert written[0] == written[1]
    with zipfile.ZipFile(io.BytesIO(written[0])) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_hostile_names_are_escaped_in_every_format():
    name = r"a_b & <i>#$%{}\ | [x] *"
    model = ly.fit({name: DATA["x"], "y": DATA["y"]}, target="y")
    table = ly.regression_table([model])
    assert r"a\_b \& \textless{}i\textgreater{}\#\$\%\{\}\textbackslash{} \textbar{} {[}x{]} {*}" in table.to_latex()
    assert "<i>" not in table.to_html()
    assert r"a\_b \& \<i\>#\$%{}\\ \| \[x\] \*" in table.to_markdown()
    assert r"a\_b & \<i\>\#\$%{}\\ | \[x\] \*" in table.to_typst()


@pytest.mark.parametrize("name", ["*x", "a|b", "~~x~~", "$x$", "&lt;", "# x"])
def test_markdown_of_a_hostile_name_shows_the_name(name):
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    model = ly.fit({name: DATA["x"], "y": DATA["y"]}, target="y")
    page = markdown.render(ly.regression_table([model]).to_markdown())
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert name in cells


def test_models_with_other_covariances_are_told_apart():
    models = [ly.fit(DATA, formula="y ~ x", covariance=kind) for kind in ("classical", "HC3")]
    table = ly.regression_table(models)
    assert ("Standard errors", "classical", "HC3") in table.statistics
    assert table.notes == ("Standard errors are in brackets.",)


@pytest.mark.filterwarnings("ignore::linearly.SeparationWarning")
def test_notes_name_the_models_whose_numbers_are_limited():
    data = {"x": [0.0, 1, 2, 3, 4, 5], "y": [1.0, 2, 2, 5, 4, 6], "s": [0, 0, 0, 1, 1, 1]}
    ridge = ly.fit(data, formula="y ~ x", model="ridge", alpha=2.0)
    separable = ly.fit(data, formula="s ~ x", model="logistic")
    notes = ly.regression_table([ly.fit(data, formula="y ~ x"), ridge, separable, ridge]).notes
    assert [note.split(" ")[:3] for note in notes[1:]] == [["(2),", "(4):", "Intervals"], ["(3):", "The", "classes"]]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_unidentified_term_has_no_number():
    data = {"u": [0.0, 1, 2, 3, 4], "v": [0.0, 2, 4, 6, 8], "y": [1.0, 2, 2, 5, 4]}
    table = ly.regression_table([ly.fit(data, target="y")])
    assert [row[1] for row in table.coefficients if row[0] in ("u", "v")] == ["–", "–"]


@pytest.mark.parametrize(
    ("estimate", "error", "digits", "expected"),
    [
        (1234.5678, 0.012345, 15.0, ("1234.5678", "0.0123")),
        (1234.5678, 0.012345, 6.9, ("1234.57", "0.0123")),
        (1234.5678, 123.45, 15.0, ("1235", "123")),
        (1234567.8, 0.5, 3.0, ("1230000", "0.500")),
        (0.0, 0.5, 15.0, ("0.000", "0.500")),
        (2.5e-12, 3e-13, 15.0, ("2.500e-12", "3.00e-13")),
        (1.0, 0.1, 0.5, ("–", "–")),
        (-1e-6, 0.5, 15.0, ("0.000", "0.500")),
        (1.0, 0.09996, 15.0, ("1.0000", "0.100")),
        (9.9996, 0.0, 4.0, ("10.00", "0")),
        (1.0, np.nan, 15.0, ("–", "")),
    ],
)
def test_no_digit_is_printed_that_is_not_correct(estimate, error, digits, expected):
    assert format_estimate(estimate, error, digits) == expected


def test_table_refuses_no_models_and_other_numbers_of_names(models):
    with pytest.raises(ValueError, match="at least one model"):
        ly.regression_table([])
    with pytest.raises(ValueError, match=r"one name per model \(3 models\)"):
        ly.regression_table(models, names=["a"])
    with pytest.raises(TypeError, match="least-squares or logistic"):
        ly.regression_table([ly.fit(DATA, formula="label ~ x", model="lda")])
