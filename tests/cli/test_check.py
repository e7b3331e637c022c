"""`linearly check`."""

import shlex
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

import linearly as ly


def found_in(run, columns, target="y"):
    import pyarrow as pa
    from pyarrow import csv

    csv.write_csv(pa.table(columns), "table.csv")
    return {
        (one["about"], one["severity"]): one
        for one in run("check", "table.csv", "-t", target, "--json").json["findings"]
    }


def test_check_reports_every_kind_of_problem(run):
    rng = np.random.default_rng(0)
    n = 200
    a, b, c = rng.normal(size=(3, n))
    columns = {
        "a": a,
        "b": b,
        "twin": a,
        "scaled": -2 * b,
        "moved": 5 - 2 * b,
        "both": a + b,
        "near": c,
        "nearly": c + 1e-3 * rng.normal(size=n),
        "same": np.ones(n),
        "who": [f"person {i}" for i in range(n)],
        "number": np.arange(n) + 7,
        "far": 1e9 + rng.normal(size=n),
        "huge": 1e9 * rng.normal(size=n),
        "y": np.where(a + b + rng.normal(size=n) > 0, "up", "down"),
    }
    found = found_in(run, columns)
    assert "duplicate of a" in found["twin", "Problem"]["claim"]
    assert "multiple of b" in found["scaled", "Problem"]["claim"]
    assert "linear function of b" in found["moved", "Problem"]["claim"]
    assert "combination of a, b" in found["both", "Problem"]["claim"]
    assert "of which near is the most correlated" in found["nearly", "Check"]["claim"]
    assert "constant" in found["same", "Problem"]["claim"]
    assert "identifier" in found["who", "Problem"]["claim"]
    assert "identifier" in found["number", "Check"]["claim"]
    assert "far from zero" in found["far", "Check"]["claim"]
    assert ("scale", "Check") in found
    assert "overlap" in found["y", "OK"]["claim"]


def test_check_without_option_names_a_column_of_the_table(run):
    rng = np.random.default_rng(3)
    celsius, place = rng.normal(size=60), np.repeat(["a", "b"], 30)
    columns = {
        "temp[C]": celsius,
        "temp[F]": 32 + 1.8 * celsius,
        "place": place,
        "flat": np.where(place == "b", 1.5, 4),
    }
    found = found_in(run, {"flat": columns.pop("flat"), **columns, "y": celsius + rng.normal(size=60)})
    assert found["temp[F]", "Problem"]["options"] == [["--without", "temp[F]"]]
    assert found["temp[F]", "Problem"]["remedy"] == "leave it out: --without 'temp[F]'"
    assert found["place[b]", "Problem"]["options"] == [["--without", "place"]]


@pytest.mark.parametrize(
    ("code", "others"),
    [(-999, "10 to 69"), (9999, "10 to 69"), (-1, "10 to 69"), (99, "1 to 5")],
)
def test_check_sentinel_values_are_reported(run, code, others):
    low, high = map(int, others.split(" to "))
    x = [code if i % 15 == 7 else low + i % (high - low + 1) for i in range(120)]
    y = np.random.default_rng(0).normal(size=120)
    told = f"is exactly {code} in 8 rows, far from the rest ({others}), so it may be a code for missing values"
    assert found_in(run, {"x": x, "y": y})["x", "Check"]["claim"] == told
    assert "values. If it is a code, leave those cells empty" in " ".join(
        run("check", "table.csv", "-t", "y").out.split()
    )
    found_in(run, {"x": y, "y": x})
    assert f"the target {told}"[:60] in " ".join(run("check", "table.csv", "-t", "y").out.split())


@pytest.mark.parametrize(
    "x",
    [
        [*[99] * 5, *range(20, 100)],
        [*[-1] * 20, *[0] * 20, *[1] * 20],
        [*[-1] * 20, *[1] * 20],
        [*[-1] * 20, *range(60)],
        [*range(60), 999],
    ],
    ids=["the oldest", "three steps", "two", "steps", "once"],
)
def test_check_ordinary_values_are_not_called_sentinels(run, x):
    y = np.random.default_rng(0).normal(size=len(x))
    assert not [one for one in found_in(run, {"x": x, "y": y}).values() if "exactly" in one["claim"]]


def test_edge_of_split_rows_equals_edge_of_all_rows():
    from linearly.checks.sentinel_values import Edge

    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.choice([-999.0, -99.0, -9.0, -1.0, 3.0, 4.0, 99.0], size=8)
        for sign in (1, -1):
            for cut in range(9):
                assert Edge.of(values[:cut], sign).plus(Edge.of(values[cut:], sign), sign) == Edge.of(values, sign)


def test_check_thousands_points_beside_decimal_commas_stay_text(run):
    rng = np.random.default_rng(0)
    people, price = rng.integers(1001, 999999, 60), rng.normal(500, 100, 60)
    rows = [f"{a:,};{b:.2f}".translate(str.maketrans(",.", ".,")) for a, b in zip(people, price, strict=True)]
    Path("t.csv").write_text("\n".join(["people;price", *rows]) + "\n")
    checked = run("check", "t.csv", "-t", "price", "--json").json
    assert [column["kind"] for column in checked["columns"]] == ["text", "numbers"]
    (doubt,) = [one for one in checked["findings"] if one["about"] == "people"]
    assert "although its numbers are written like" in doubt["claim"]
    Path("t.csv").write_text("\n".join(["people;price;label", *(f"0.{i:03d};1.5;1,5" for i in range(60))]) + "\n")
    assert [one["kind"] for one in run("check", "t.csv", "--json").json["columns"]] == ["numbers", "numbers", "text"]


def test_check_leading_zeros_are_reported(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(501, 99999):05d},{1 + i % 12:02d},{rng.normal():.3f}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["zip,month,y", *rows]) + "\n")
    checked = run("check", "t.csv", "-t", "y")
    assert "zip: has leading zeros ('0" in checked.out
    assert "month: has" not in checked.out
    assert checked.err == "next: linearly fit t.csv --target y --without zip\n"


NUMBERS = [f"{1.5 * i}" for i in range(60)]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([*NUMBERS[:-1], "-"], "59 of its 60 different values are numbers and '-' is not (first '-' in line 61 of"),
        ([f"${x}" for x in NUMBERS], "its numbers are written like '$0.0'"),
        ([f"{x} %" for x in NUMBERS], "its numbers are written like '0.0 %'"),
        ([f"<{x}" if i % 9 == 0 else x for i, x in enumerate(NUMBERS)], "7 of its 60 numbers are written like '<0.0'"),
        ([f"{x}-" if i % 3 == 0 else x for i, x in enumerate(NUMBERS)], "20 of its 60 numbers are written like '0.0-'"),
        ([f"{x} kg/m²" for x in NUMBERS], "its numbers are written like '0.0 kg/m²'"),
        ([f"{1000 + i:_}" for i in range(60)], "its numbers are written like '1_000'"),
        ([f"\u00a0{x}" for x in NUMBERS], "its numbers are written like '\\xa00.0'"),
        ([chr(0xFF11) + chr(0xFF10 + i % 10) * (1 + i // 10) for i in range(60)], "its numbers are written like"),
        ([f'"{1000 * i + 1000:,}"' for i in range(60)], "its numbers are written like '1,000'"),
        ([x.replace("1", "\u22121") for x in NUMBERS], "13 of its 60 numbers are written like"),
        ([f"{i + 1}D5" for i in range(60)], "its numbers are written like '10D5'"),
        ([f"{x}D-03" for x in NUMBERS], "its numbers are written like '0.0D-03'"),
        ([*(f"€{x}" for x in NUMBERS[:-2]), "n.a.", "?"], "values are numbers and '?' and 'n.a.' are not, and its num"),
    ],
    ids=[
        "a word",
        "currency",
        "percent",
        "below",
        "minus after",
        "unit",
        "underscore",
        "hard space",
        "wide",
        "thousands",
        "minus sign",
        "D exponent of whole numbers",
        "D exponent",
        "both",
    ],
)
def test_check_and_fit_numbers_written_as_text_are_reported(run, cells, message):
    rows = [f"{cell},{i % 7},{i % 5}" for i, cell in enumerate(cells)]
    Path("t.csv").write_text("\n".join(["x,z,y", *rows]) + "\n")
    findings = run("check", "t.csv", "-t", "y", "--json").json["findings"]
    (finding,) = [one for one in findings if one["about"] == "x"]
    assert finding["severity"] == "Problem"
    assert message in finding["claim"]
    assert finding["options"] == [["--without", "x"]]
    fitted = run("fit", "t.csv", "-t", "y")
    assert (fitted.code, fitted.out) == (1, "")
    assert f"Column 'x' is text and would become {len(cells)} levels" in fitted.err
    target = run("fit", "t.csv", "-t", "x")
    assert (target.code, target.out) == (1, "")
    assert target.err.startswith("error: The target 'x' is text, although ")
    assert target.err.endswith("or choose --model logistic if these are labels.\n")
    assert "next:" not in run("check", "t.csv", "-t", "x").err


def test_check_marker_among_decimal_commas_is_the_remedy(run):
    cells = ["-", *(f"{i},5" for i in range(60))]
    Path("t.csv").write_text("x;y;a, b\n" + "".join(f"{cell};{i % 7};{i}\n" for i, cell in enumerate(cells)))
    findings = run("check", "t.csv", "-t", "y", "--json").json["findings"]
    (finding,) = [one for one in findings if one["about"] == "x" and one["claim"].startswith("is text")]
    assert finding["remedy"].startswith("list the markers of missing values: --na=-")
    assert run("fit", "t.csv", "-t", "y", "--na=-", "--missing", "drop", "--features", "x").code == 0
    assert 'The columns are x, y, "a, b".' in run("fit", "t.csv", "-t", "y", "--without", "a, b").err


@pytest.mark.parametrize("style", ["%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%d-%b-%y", "%Y.%m.%d %H:%M"])
def test_check_and_fit_dates_written_as_text_are_reported(run, style):
    days = [datetime(2024, 1, 1) + timedelta(days=i) for i in range(30)]
    Path("t.csv").write_text("d,x,y\n" + "".join(f"{days[i % 30]:{style}},{i % 7},{i % 5}\n" for i in range(90)))
    (told,) = [one for one in run("check", "t.csv", "-t", "y", "--json").json["findings"] if one["about"] == "d"]
    assert told["claim"].startswith("is text, although its values are dates like ")
    assert told["remedy"].startswith("convert them to numbers (days, month, hour)")
    refused = run("fit", "t.csv", "-t", "y")
    assert refused.code == 1
    assert "Column 'd' is text and would become 30 levels, although its values are dates" in refused.err


def test_check_one_word_among_many_numbers_is_located(run):
    Path("t.csv").write_text("x,y\n" + "".join(f"{i}.5,{i}\n" for i in range(3000)) + "oops,1\n")
    failed = run("fit", "t.csv", "-t", "y")
    assert failed.code == 1
    assert "more than 2000 levels" in failed.err
    assert "Check for cells that are not numbers." in failed.err
    findings = run("check", "t.csv", "-t", "y", "--json").json["findings"]
    assert "(first 'oops' in line 3002 of t.csv)" in next(one["claim"] for one in findings if one["about"] == "x")


@pytest.mark.parametrize("codes", [[f"{i:05d}" for i in range(60)], [f"A{i}" for i in range(60)], ["1", "2", "K"] * 20])
def test_check_codes_are_not_called_numbers(run, codes):
    ly.fit({"code": codes, "y": [i % 7 for i in range(60)]}, target="y", alpha=1.0)
    ly.fit({"code": codes, "x": [i % 7 for i in range(60)]}, target="code", model="logistic", alpha=1.0)
    Path("t.csv").write_text("\n".join(["x,y", *(f"{code}x,{i % 7}" for i, code in enumerate(codes))]))
    assert not [
        one for one in run("check", "t.csv", "-t", "y", "--json").json["findings"] if "although" in one["claim"]
    ]


def test_check_levels_that_differ_in_case_or_spaces_are_reported(run):
    spelt = ["Yes", "yes ", "No", "no"]
    rows = [f"{spelt[i % 4]},{i % 7},{spelt[i * i % 3]}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["x,z,y", *rows]))
    findings = {one["about"]: one["claim"] for one in run("check", "t.csv", "-t", "y", "--json").json["findings"]}
    assert findings["x"] == ("has levels that differ only in spaces or capitals: 'No', 'no', and 1 similar cases")
    assert "'yes '" in run("check", "t.csv", "-t", "y").out


def test_check_identifiers_of_19_digits_are_reported(run):
    Path("t.csv").write_text(
        "id,x,y\n" + "".join(f"{9007199254740993000 + 7 * i},{i % 7},{i % 5}\n" for i in range(60))
    )
    checked = run("check", "t.csv", "-t", "y")
    assert checked.code == 0
    assert "and looks like an identifier. Leave it out: --without id." in " ".join(checked.out.split())
    assert checked.err == "next: linearly fit t.csv --target y --without id\n"


def test_check_separable_labels_are_reported(run):
    x = np.r_[np.arange(30.0), np.arange(40.0, 70.0)]
    found = found_in(run, {"x": x, "z": np.sin(x), "y": ["low"] * 30 + ["high"] * 30})
    told = found["y", "Problem"]
    assert "without an error" in told["claim"]
    assert "exactly for 'low'" in told["claim"] or "exactly for 'high'" in told["claim"]
    assert "--alpha" in told["remedy"]


def test_check_numeric_target_of_two_values_advises_logistic(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {"x": rng.normal(size=60), "y": rng.integers(0, 2, size=60)})
    assert "--model logistic" in found["y", "Check"]["remedy"]


def test_check_rare_label_is_noted(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {"x": rng.normal(size=400), "y": np.where(np.arange(400) % 20 == 0, "rare", "common")})
    assert "'rare' is rare" in found["y", "Check"]["claim"]


def test_check_more_columns_than_rows_is_a_problem(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {f"x{j}": rng.normal(size=10) for j in range(12)} | {"y": rng.normal(size=10)})
    assert "not be unique" in found["rows", "Problem"]["claim"]


def test_check_clean_table_reports_only_ok(run):
    rng = np.random.default_rng(0)
    found = found_in(run, {"a": rng.normal(size=60), "b": rng.normal(size=60), "y": rng.normal(size=60)})
    assert {level for _, level in found} == {"OK"}


def test_check_proposed_fit_runs_without_notes(run):
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    import pyarrow as pa
    from pyarrow import csv

    columns = {"a": a, "twin of a": 2 * a, "b": [None, *rng.normal(size=59)], "c": ["k"] * 60, "y": rng.normal(size=60)}
    csv.write_csv(pa.table(columns), "my table.csv")

    proposed = shlex.split(run("check", "my table.csv", "-t", "y").err.removeprefix("next: linearly "))
    result = run(*proposed)
    assert result.code == 0
    assert "note:" not in result.err


@pytest.mark.parametrize("role", ["--target", "--weight"])
def test_check_target_or_weight_left_out_exits_with_2(run, role):
    result = run("check", "loans.csv", role, "income", "--without", "income")
    assert result.code == 2
    assert f"{role} income and --without income contradict each other" in result.err


def test_check_overlap_names_the_columns_it_ignores(run):
    rng = np.random.default_rng(0)
    city, label = rng.integers(150, size=3000), rng.choice(["no", "yes"], size=3000)
    label[city == 7] = "no"
    rows = [f"{x:.3f},c{c},{y}" for x, c, y in zip(rng.normal(size=3000), city, label, strict=True)]
    Path("cities.csv").write_text("\n".join(["x,city,bought", *rows]))
    found = run("check", "cities.csv", "-t", "bought", "--json").json["findings"]
    (overlap,) = [one for one in found if "overlap" in one["claim"]]
    assert "labels overlap, without city (150 levels)" in overlap["claim"]
    (told,) = [one for one in found if one["about"] == "city" and one["severity"] == "Problem"]
    assert "in 1 of its 150 levels, some label does not occur ('yes' in 'c7')" in told["claim"]
    assert "--without city" in told["remedy"]


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_check_target_whose_squares_overflow_is_not_called_leakage(run, size):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    rows = [f"{a!r},{size * (2 + a + b)!r}" for a, b in zip(x.tolist(), rng.normal(size=60).tolist(), strict=True)]
    Path("t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    checked = run("check", "t.csv", "-t", "y").out
    assert "without an error" not in checked
    assert ("squaring it exceeds the float64 range" in checked) == (size > 1)
    if size > 1:
        reported = run("fit", "t.csv", "-t", "y", "--report", "t.html")
        assert reported.err.endswith("Squaring y exceeds the float64 range, so no figure can be computed. Rescale y.\n")


@pytest.mark.parametrize(
    ("columns", "message"), [(["a"], "a linear function of a,"), (["a", "b"], "a combination of a, b,")]
)
def test_check_target_determined_by_columns_is_reported(run, columns, message):
    rng = np.random.default_rng(0)
    data = {name: rng.normal(size=300) for name in "abc"}
    data["y"] = 1e3 + 1.8 * sum(data[name] for name in columns)
    rows = np.column_stack(list(data.values())).tolist()
    Path("leak.csv").write_text("\n".join([",".join(data), *(",".join(map(repr, row)) for row in rows)]))
    said = run("check", "leak.csv", "-t", "y", "--json").json["findings"]
    (found,) = [one for one in said if one["about"] == "y" and one["severity"] == "Problem"]
    assert message in found["claim"]
    assert ("--without a" in run("check", "leak.csv", "-t", "y").err) == (columns == ["a"])
    assert "without an error" not in run("check", "loans.csv", "-t", "income").out


def test_check_many_labels_of_equal_size_are_not_rare(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[i % 26]}" for i in range(26 * 20)]
    Path("letters.csv").write_text("\n".join(["x,letter", *rows]))
    assert "rare" not in run("check", "letters.csv", "-t", "letter").out
