"""Rows left out because a value is missing: those that stay keep their numbers, in messages, folds, groups and logs."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clusters import fitted

import linearly as ly
from linearly.dataset.design.design import DesignRows, design_of
from linearly.dataset.rows import tables
from linearly.dataset.rows.row_hash import hash_rows
from linearly.dataset.sources import as_tables

N = 40
GAPS = np.isin(np.arange(N), [0, 1, 5, 17, 23])  # dropped; row 30 is then the 25th


def columns(**changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, N))
    plain = {"x": np.where(GAPS, np.nan, x), "z": z, "y": x + z + rng.normal(size=N), "w": np.ones(N)}
    return {**plain, "label": (x + rng.normal(size=N) > 0).astype(np.int64), **changed}


def at(row: int, values: Any, other: Any) -> list[Any]:
    changed = list(values)
    changed[row] = other
    return changed


def parquet(data: dict[str, Any], folder: Path) -> Path:
    pq.write_table(pa.table(data), folder / "rows.parquet", row_group_size=16)
    return folder / "rows.parquet"


def written(data: dict[str, Any], folder: Path) -> Path:
    pd.DataFrame(data).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def quoted(data: dict[str, Any], folder: Path) -> Path:
    """Text whose rows are not one a line: the first row takes two, and a blank line follows row 10."""
    lines = written({**data, "note": "fine"}, folder).read_text().splitlines()
    lines[1] = lines[1].removesuffix("fine") + '"two\nlines"'
    lines.insert(12, "")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return folder / "rows.csv"


SOURCES = {
    "pandas": (lambda data, folder: pd.DataFrame(data), "row 30"),
    "polars": (lambda data, folder: pl.DataFrame(data), "row 30"),
    "Arrow": (lambda data, folder: pa.table(data), "row 30"),
    "Parquet": (parquet, "row 30 of .*rows.parquet"),
    "CSV": (written, "line 32 of .*rows.csv"),
    "CSV, lines in quotes": (quoted, "line 34 of .*rows.csv"),
}


@pytest.fixture(params=SOURCES)
def source(request, monkeypatch):
    monkeypatch.setattr(tables, "_ROWS", 16)
    return SOURCES[request.param]


def rows(data: Any, target: str, **options: Any) -> DesignRows:
    read = as_tables(data)
    design = design_of(read.schema, target=target, features=["x", "z"], missing="drop", **options)
    return DesignRows(read, design.fit(read))


INFINITE = {"z": at(30, columns()["z"], np.inf)}
HALF = {"half": at(30, np.arange(N) % 2 + 0.0, 0.5)}
BAD = {
    "infinity": ("y", INFINITE, ly.LinearRegression(), "contains infinity: {}, column 'z'"),
    "infinity, by classes": ("label", INFINITE, ly.LinearDiscriminantAnalysis(), "infinity: {}, column 'z'"),
    "infinity, in a scan": ("label", INFINITE, ly.Perceptron(), "infinity: {}, column 'z'"),
    "infinity, in folds": ("y", INFINITE, ly.RidgeCV(), "infinity: {}, column 'z'"),
    "weight": ("y", {"w": at(30, np.ones(N), -2.0)}, ly.LinearRegression(), "'w' is negative in {}: -2.0"),
    "large integer": ("y", {"z": at(30, range(N), 2**60)}, ly.LinearRegression(), "integer in {}, column 'z'"),
    "no label": ("half", HALF, ly.LogisticRegression(), "{} has 0.5"),
    "no label, by classes": ("half", HALF, ly.QuadraticDiscriminantAnalysis(), "{} has 0.5"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_number_of_a_thinned_source_names_its_original_row(case, source, tmp_path):
    target, changed, model, message = BAD[case]
    make, place = source
    data = make(columns(**changed), tmp_path)
    with pytest.raises(ValueError, match=f"(?i){message.format(place)}"):
        model.fit(rows(data, target, weight="w" if case == "weight" else None))


def test_a_level_that_is_new_is_named(source, tmp_path):
    make, place = source
    kind = np.array(["u", "v"])[np.arange(N) % 2]
    model = ly.fit(pd.DataFrame(columns(kind=kind)), target="y", features=["x", "kind"], missing="drop")
    data = make(columns(kind=at(30, kind, "new")), tmp_path)
    with pytest.raises(ValueError, match=f"Column 'kind' has the level 'new' in {place}"):
        model.predict(data)
    strange = make(columns(label=at(30, columns()["label"], 7)), tmp_path)
    known = ly.fit(pd.DataFrame(columns()), target="label", model="lda", features=["x", "z"], missing="drop")
    with pytest.raises(ValueError, match=f"7.*in {place}"):
        known.evaluate(strange)


def test_a_level_or_label_that_only_dropped_rows_have_is_none(source, tmp_path):
    # As R's lm and glm have it. The first level would be the reference, of which there is no row.
    make, _ = source
    kind, label = np.array(["u", "v"])[np.arange(N) % 2], np.array(["no", "yes"])[np.arange(N) % 3 % 2]
    data = make(columns(kind=np.where(GAPS, "a", kind), label=np.where(GAPS, "perhaps", label)), tmp_path)
    model = ly.fit(data, formula="y ~ kind + x", missing="drop")
    assert model.names == ("kind[v]", "x")
    with pytest.raises(ValueError, match="level 'a' in row 0, which does not occur in the training rows"):
        model.predict({"kind": ["a"], "x": [0.0]})
    assert ly.fit(data, formula="label ~ x + z", missing="drop").classes == ("no", "yes")


@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
def test_folds_and_groups_do_not_hang_on_the_chunks(source, tmp_path):
    make, _ = source
    data = columns()
    X, y = np.column_stack([data["x"], data["z"]])[~GAPS], data["y"][~GAPS]
    read = rows(make(data, tmp_path), "y")

    # Folds of rows by their values, whatever was left out before them.
    folds = [hash_rows(X, y) % 5 == j for j in range(5)]
    chosen = ly.RidgeCV(alphas=[0.1, 1.0]).fit(read)
    errors = [
        [np.mean((y[out] - ly.LinearRegression(alpha=a).fit(X[~out], y[~out]).predict(X[out])) ** 2) for out in folds]
        for a in (0.1, 1.0)
    ]
    np.testing.assert_allclose(chosen.fold_errors_, errors, rtol=1e-9)

    # Groups are given for all rows.
    groups = np.arange(N) // 4
    away = ly.LinearRegression(covariance="cluster").fit(read, groups=groups)
    here = ly.LinearRegression(covariance="cluster").fit(X, y, groups=groups[~GAPS])
    np.testing.assert_allclose(away.covariance_, here.covariance_, rtol=1e-9)


def test_a_mistake_log_counts_all_rows(source, tmp_path):
    make, _ = source
    data = columns()
    X = np.column_stack([data["x"], data["z"]])[~GAPS]
    away = fitted(ly.Perceptron(max_passes=2), rows(make(data, tmp_path), "label"))
    here = fitted(ly.Perceptron(max_passes=2), X, data["label"][~GAPS])
    np.testing.assert_array_equal(away.mistake_log_.rows, np.arange(N)[~GAPS][here.mistake_log_.rows])
    np.testing.assert_allclose(away.coef_, here.coef_, rtol=1e-12)
