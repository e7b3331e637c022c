"""`linearly predict` and `linearly evaluate`."""

from pathlib import Path

import numpy as np
import pytest
from commands import GRADES

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

import linearly as ly


def test_evaluate_reports_dropped_rows(run, model):
    assert "note: 24 of 500 rows have missing values and were left out." in run("evaluate", model, "loans.csv").err
    assert run("evaluate", model, "loans.csv", "--json").json["dropped"] == 24


def test_predict_keep_column_named_prediction_raises(run, model):
    Path("t.csv").write_text(Path("loans.csv").read_text().replace("customer", "prediction", 1))
    failed = run("predict", model, "t.csv", "--keep", "prediction", "-o", "answers.csv")
    assert (failed.code, Path("answers.csv").exists()) == (1, False)
    assert "'prediction' cannot be kept, because the predictions have a column of that name" in failed.err


def test_evaluate_skips_leading_groups_without_complete_rows(run):
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = [None] * 50 + list(range(50))
    pq.write_table(pa.table({"x": x, "y": [2.0 * i for i in range(100)]}), "t.parquet", row_group_size=25)
    ly.fit("t.parquet", target="y", missing="drop").save("m.json")
    assert run("evaluate", "m.json", "t.parquet", "--json").json["rows"] == 50
    assert run("report", "m.json", "t.parquet", "-o", "r.html").code == 0
    few = run("fit", "t.parquet", "-t", "y", "--missing", "drop", "--holdout", "0.02", "--json").json
    assert (few["rows"], few["holdout"]["rows"]) == (49, 1)


@pytest.mark.parametrize(
    ("target", "model", "gap"),
    [("y", "linear", "NA"), ("l", "lda", ",,"), ("l", "pocket", '"NA"')],
)
def test_predict_row_with_missing_values_gets_an_empty_prediction(run, target, model, gap):
    import pyarrow.parquet as pq

    Path("t.csv").write_text("x,z,y,l\n" + "".join(f"{i},{i * i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(30)))
    Path("new.csv").write_text("x,z\n1,2\n,3\n")
    fit = ("fit", "t.csv", "-t", target, "-m", model, "--features", "x,z", "--missing", "drop", "-o", "m.json")
    assert run(*fit).code == 0
    assert run("predict", "m.json", "new.csv", "-o", "answers.csv").code == 0
    assert Path("answers.csv").read_text().splitlines()[2] == gap
    assert run("predict", "m.json", "new.csv").out == Path("answers.csv").read_text()
    answers = run("predict", "m.json", "new.csv", "--json").json
    assert all(column[0] is not None and column[1] is None for column in answers.values())
    kept = run("predict", "m.json", "new.csv", "--keep", "z", "-o", "answers.csv")
    assert kept.err.splitlines()[-1] == "1 of 2 rows predicted: 1 has missing values (x)"
    last = Path("answers.csv").read_text().splitlines()[2]
    assert last == "3," + "," * (len(answers) - 1)
    assert run("predict", "m.json", "new.csv", "--keep", "z").out == Path("answers.csv").read_text()
    told = run("predict", "m.json", "new.csv", "-o", "answers.parquet", "--json").json
    assert (told["rows"], told["predicted"]) == (2, 1)
    table = pq.read_table("answers.parquet")
    assert [column.null_count for column in table.columns] == [1] * len(answers)


def test_predict_reports_columns_with_missing_values(run):
    Path("t.csv").write_text("x,z,y\n" + "".join(f"{i},{i * i % 7},{i % 5}\n" for i in range(30)))
    Path("new.csv").write_text("x,z\n" + "3,\n" * 40 + ",\n" * 60)
    assert run("fit", "t.csv", "-t", "y", "--missing", "drop", "-o", "m.json").code == 0
    assert run("predict", "m.json", "t.csv").err == "30 predictions of y\n"
    assert run("predict", "m.json", "new.csv").err == "0 of 100 rows predicted: 100 have missing values (z, x)\n"


@pytest.mark.parametrize("penalty", [(), ("--alpha", "1"), ("--cv",)])
def test_evaluate_and_fit_use_the_same_model_name(run, penalty):
    lines = [f"{i % 7},{i % 4},{i * i % 11}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["x,z,y", *lines]) + "\n")
    fitted = run("fit", "t.csv", "-t", "y", *penalty, "-o", "m.json")
    kind = "ridge regression" if penalty else "linear regression"
    assert fitted.out.startswith(f"{kind}   y on")
    evaluated = run("evaluate", "m.json", "t.csv").out
    assert evaluated.startswith(f"{kind}   y on 2 columns   40 rows\n\nmetric ")
    assert "95% interval" in evaluated


def test_predict_overwrites_earlier_predictions(run, grades):
    for _ in range(2):
        assert run("predict", "grades.json", "grades.csv", "-o", "answers.csv").code == 0


@pytest.mark.parametrize("level", ["1", "012", "true", "2024-01-01"])
def test_levels_that_look_like_numbers_are_read_as_text(run, level):
    rows = GRADES.replace(",1,", f",{level},")
    Path("old.csv").write_text(rows)
    Path("new.csv").write_text(f"x,grade,y\n4,{level},13\n7,{level},15\n")
    Path("later.csv").write_text(rows.replace("X", "2"))
    told = {}
    for unseen in ("error", "reference"):
        assert run("fit", "old.csv", "-t", "y", "--unseen", unseen, "-o", "m.json").code == 0
        expected = run("predict", "m.json", "old.csv", "--json").json["prediction"]
        told[unseen] = run("predict", "m.json", "new.csv", "--json").json["prediction"]
        np.testing.assert_allclose(told[unseen], [expected[3], expected[6]], rtol=1e-12)
        assert run("evaluate", "m.json", "new.csv").code == 0
        assert run("fit", "later.csv", "--like", "m.json").code == 0


def test_labels_that_look_like_numbers_are_read_as_text(run):
    rows = [f"{x},{'7' if (x * 7) % 5 < 2 else 'none'}" for x in range(40)]
    Path("old.csv").write_text("\n".join(["x,code", *rows]))
    Path("new.csv").write_text("\n".join(["x,code", *(row for row in rows if row.endswith("7"))]))
    assert run("fit", "old.csv", "-t", "code", "-o", "m.json").code == 0
    assert run("evaluate", "m.json", "new.csv").code == 0


def test_files_without_rows_have_no_predictions(run, grades):
    Path("header.csv").write_text("x,grade,y\n")
    Path("untold.csv").write_text("x,grade,y\n1,1,\n2,2,\n")
    Path("gaps.csv").write_text("x,grade\n1,\n2,\n")
    for model in ("grades.json", "drop.json"):
        assert run("predict", model, "header.csv").out == '"prediction"\n'
        assert run("predict", model, "header.csv", "-o", "answers.csv").code == 0
        assert Path("answers.csv").read_text() == '"prediction"\n'
        assert "The data contain no rows" in run("evaluate", model, "header.csv").err
    assert "The data contain no rows" in run("evaluate", "drop.json", "untold.csv").err
    assert run("predict", "drop.json", "gaps.csv").out == '"prediction"\nNA\nNA\n'


def test_evaluate_unknown_label_raises_with_its_line(run, model):
    Path("other.csv").write_text(Path("loans.csv").read_text().replace(",yes\n", ",perhaps\n"))
    result = run("evaluate", model, "other.csv")
    assert "Column 'repaid' has the label 'perhaps' in line" in result.err
    assert "Correct it, or leave such rows out." in result.err
    assert "--unseen" not in result.err
