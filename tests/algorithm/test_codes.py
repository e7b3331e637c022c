"""Categories as codes give the answers of their columns of 0 and 1."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import linearly as ly
from linearly import kernels
from linearly.algorithm.least_squares.coded_moments import coded_moments
from linearly.algorithm.least_squares.gram import Gram
from linearly.dataset.rows.block import Block
from linearly.dataset.rows.column_matrix import Codes, ColumnMatrix
from linearly.dataset.sources import as_tables
from linearly.export.records import decode, to_json
from linearly.export.summaries import LEAST_SQUARES_SUMMARY
from linearly.kernels import reference


def table(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "town": rng.choice([f"town {k}" for k in range(23)], n),
            "z": 1e6 + rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], n, p=[0.02, 0.9, 0.08]),
            "w": rng.integers(0, 4, n).astype(float),
        }
    )
    effect = frame.town.str[5:].astype(int) * 0.1 + (frame.kind == "c")
    frame["y"] = 2 * frame.x + effect + rng.normal(size=n)
    frame["label"] = np.where(effect + frame.x + rng.logistic(size=n) > 1, "yes", "no")
    return frame


def expanded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the features of `table` with a column of 0 and 1 for each level but the first."""
    parts = [frame[["x"]], _dummies(frame, "town"), frame[["z"]], _dummies(frame, "kind")]
    return pd.concat(parts, axis=1)


def _dummies(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    levels = sorted(frame[name].unique())[1:]
    return pd.DataFrame({f"{name}[{level}]": (frame[name] == level).astype(float) for level in levels})


def matrix(n: int, seed: int = 0, width: int = 7) -> tuple[ColumnMatrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    most = rng.choice(np.arange(-1, 3), n, p=[0.05, 0.03, 0.9, 0.02]).astype(np.int32)
    codes = rng.integers(-1, width, n).astype(np.int32)
    X = ColumnMatrix([rng.normal(size=n), Codes(codes, width), 5 + rng.normal(size=n), Codes(most, 3)])
    return X, rng.normal(size=(n, 2))


def test_rows_and_columns_are_those_of_zeros_and_ones() -> None:
    X, _ = matrix(50)
    dense = X[:]
    assert dense.shape == X.shape == (50, 12)
    for j in range(12):
        np.testing.assert_array_equal(X.column(j), dense[:, j])
    np.testing.assert_array_equal(X[::3], dense[::3])
    assert set(dense[:, 1:8].sum(axis=1)) <= {0.0, 1.0}


def test_products_with_coefficients_and_residuals_are_those_of_zeros_and_ones() -> None:
    X, R = matrix(500)
    B = np.random.default_rng(1).normal(size=(12, 3))
    np.testing.assert_allclose(X @ B, X[:] @ B, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(X @ B[:, 0], X[:] @ B[:, 0], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(X.transposed_product(R), X[:].T @ R, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_model_file_returns_the_rounding_of_codes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = []
    for k in range(1 + seed % 8):
        X, Y = matrix(int(rng.integers(20, 3000)), seed=100 * seed + k)
        often = Codes(np.where(rng.random(len(Y)) < rng.random(), 0, -1).astype(np.int32), 1)
        weight = 10 ** rng.uniform(-6, 6, len(Y)) if seed % 2 else None
        parts.append(Gram.of(Block(ColumnMatrix([*X.columns, often]), Y, weight)))
    gram = reduce(add, parts)
    loaded = decode(json.loads(json.dumps(to_json(gram))), LEAST_SQUARES_SUMMARY, "it", {})
    np.testing.assert_array_equal(loaded.rounding, gram.rounding)
    none = decode(to_json(replace(gram, rounding=0 * gram.rounding)), LEAST_SQUARES_SUMMARY, "it", {})
    assert (none.rounding[np.diagonal(gram.centered_crossprod).nonzero()[0] + 1] > 0).all()


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")  # rare levels that do not occur together
@pytest.mark.parametrize("formula", ["y ~ x + town * kind", "y ~ 0 + kind:town", "y ~ x + kind + kind:town:z"])
def test_interaction_of_categories_has_the_columns_of_its_products(formula: str) -> None:
    frame = table(600)
    design = ly.fit(frame, formula=formula).design
    chunk = next(iter(as_tables(frame)))
    coded = design.block(chunk, as_columns=True).X
    assert isinstance(coded, ColumnMatrix)
    assert coded.codes
    assert np.array_equal(coded[:], design.block(chunk, as_columns=False).X)


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_code_tables_are_those_of_the_reference(weighted: bool) -> None:
    X, _ = matrix(1000)
    weight = np.random.default_rng(2).uniform(size=1000) if weighted else None
    args = (X.numbers, weight, np.array([0.1, 5.0]), np.array([1.0, 0.5]), [c.values for c in X.codes], [7, 3])
    for own, expected in zip(kernels.code_tables(*args), reference.code_tables(*args), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-13, atol=1e-13)


def test_code_outside_its_category_is_refused() -> None:
    for tables in (kernels.code_tables, reference.code_tables):
        for code in (-2, 3):
            with pytest.raises(ValueError, match="outside its category"):
                tables([], None, np.zeros(0), np.zeros(0), [np.array([code], dtype=np.int32)], [3])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 40, 30_000])
def test_moments_of_codes_are_those_of_zeros_and_ones(n: int, weighted: bool) -> None:
    X, Y = matrix(n)
    weight = np.random.default_rng(3).uniform(0.5, 2, n) if weighted else None
    shift, scale = np.zeros(14), np.ones(14)
    shift[[0, 8, 10, 12]], scale[8] = [0.1, 5.0, 1.0, 0.3], 0.25  # column 10 is the level of most rows
    expected = kernels.gram(X[:], Y, weight, shift, scale)
    moments, share = coded_moments(X, Y, weight, shift, scale)
    np.testing.assert_allclose(moments, expected, rtol=1e-11, atol=1e-11 * n)
    w, first = np.ones(n) if weight is None else weight, X.codes[0].values
    z = (X.numbers[0] - shift[0]) * scale[0]
    for k in range(7):  # at least the share of the rows of the level in the weights, and in the squares of a column
        for squares in (w, w * z**2):
            assert share[k] >= squares[first == k].sum() / squares.sum() - 1e-12


def test_gram_of_a_block_with_one_level_only_has_no_variation() -> None:
    X = ColumnMatrix([np.arange(100.0), Codes(np.full(100, 2, dtype=np.int32), 4)])
    gram = Gram.of(Block(X, np.arange(100.0)))
    np.testing.assert_array_equal(gram.centered_norms[1:], 0.0)


def containers(frame: pd.DataFrame) -> dict[str, Any]:
    plain = pa.Table.from_pandas(frame, preserve_index=False)
    codes = [plain[name].dictionary_encode() if name in ("town", "kind") else plain[name] for name in frame]
    return {
        "pandas text": frame,
        "pandas object": frame.astype({"town": object, "kind": object}),
        "pandas categories": frame.astype({"town": "category", "kind": "category"}),
        "arrow text": plain,
        "arrow chunks": pa.concat_tables([plain.slice(0, 999), plain.slice(999)]),
        "arrow dictionary": pa.table(dict(zip(frame, codes, strict=True))),
        "polars text": pl.DataFrame(plain),
        "polars categories": pl.DataFrame(plain).with_columns(pl.col("town", "kind").cast(pl.Categorical)),
    }


@pytest.mark.parametrize("container", containers(table(30)))
def test_least_squares_gives_the_coefficients_of_zeros_and_ones(container: str) -> None:
    frame = table()
    expected = ly.LinearRegression(method="extended").fit(expanded(frame), frame.y, frame.w)
    features = ["x", "town", "z", "kind"]
    model = ly.fit(containers(frame)[container], target="y", features=features, weight="w")
    np.testing.assert_allclose(model.estimator.coef_, expected.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.estimator.intercept_, expected.intercept_, rtol=1e-9)
    np.testing.assert_allclose(ly.tidy(model)["std_error"][1:], ly.tidy(expected)["std_error"][1:], rtol=1e-9)
    np.testing.assert_allclose(
        model.predict(containers(frame)[container]), expected.predict(expanded(frame)), rtol=1e-9
    )


@pytest.mark.parametrize("target", ["label", "kind"])
def test_logistic_regression_gives_the_coefficients_of_zeros_and_ones(target: str) -> None:
    frame = table()
    features = ["x", "town"]
    dense = expanded(frame)
    dense = dense[[name for name in dense if name == "x" or name.startswith("town")]]
    expected = ly.LogisticRegression().fit(dense, frame[target], frame.w)
    model = ly.fit(frame, target=target, features=features, weight="w", model="logistic")
    np.testing.assert_allclose(model.estimator.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(frame), expected.predict_proba(dense), rtol=1e-6)
    np.testing.assert_allclose(ly.tidy(model)["std_error"], ly.tidy(expected)["std_error"], rtol=1e-5)
    assert (model.predict(frame) == expected.predict(dense)).all()


@pytest.mark.filterwarnings("ignore:.*combinations? of the preceding columns")
def test_parts_of_the_rows_add_up_to_the_fit_of_all() -> None:
    frame = table().sort_values("town", ignore_index=True)  # every part lacks most towns
    whole = ly.fit(frame, target="y", features=["x", "town", "kind"], weight="w")
    parts = [ly.fit(part, like=whole) for part in (frame[:1500], frame[1500:])]
    np.testing.assert_allclose((parts[0] + parts[1]).estimator.coef_, whole.estimator.coef_, rtol=1e-11)


def test_order_of_rows_and_doubled_weights_change_nothing() -> None:
    frame = table()
    features = ["x", "town", "kind"]
    model = ly.fit(frame, target="y", features=features)
    shuffled = ly.fit(frame.sample(frac=1, random_state=1), target="y", features=features)
    np.testing.assert_allclose(shuffled.estimator.coef_, model.estimator.coef_, rtol=1e-11)
    twice = ly.fit(frame.assign(w=2.0), target="y", features=features, weight="w")
    np.testing.assert_allclose(twice.estimator.coef_, model.estimator.coef_, rtol=1e-11)


def test_claimed_digits_hold_for_a_rare_level_and_a_common_one() -> None:
    rng = np.random.default_rng(5)
    n = 20_000
    frame = pd.DataFrame({"g": np.where(np.arange(n) < 3, "rare", "common"), "x": 1e4 + rng.normal(size=n)})
    frame["y"] = frame.x + (frame.g == "rare") + rng.normal(size=n)
    model = ly.fit(frame, target="y", features=["g", "x"])
    dense = pd.DataFrame({"g": (frame.g == "rare").astype(float), "x": frame.x})
    truth = ly.LinearRegression(method="extended").fit(dense, frame.y)
    error = np.abs(model.estimator.coef_ / truth.coef_ - 1).max()
    assert model.estimator.solution_.digits <= -np.log10(max(error, 1e-16)) + 1
    assert model.estimator.solution_.digits >= 10


@pytest.mark.parametrize("levels", [60, 150])
def test_well_conditioned_categories_need_no_second_pass_and_claim_digits_they_have(levels: int) -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    columns = {name: rng.integers(0, levels, n) for name in "abc"}
    frame = pd.DataFrame({name: np.array([f"level {k}" for k in range(levels)])[k] for name, k in columns.items()})
    frame["y"] = sum(rng.normal(size=levels)[k] for k in columns.values()) + rng.normal(size=n)
    model = ly.fit(frame, target="y")
    assert model.estimator.method_ == "gram"
    solution = model.estimator.solution_
    D = np.column_stack([np.ones(n), *(_dummies(frame, name).to_numpy() for name in "abc")])
    # Counts are exact; a longer float carries the sums of y and the corrections of the solution.
    A, C = D.T @ D, (D.astype(np.longdouble).T @ frame.y.to_numpy().astype(np.longdouble))
    inverse, truth = np.linalg.inv(A), np.zeros(len(A), dtype=np.longdouble)
    for _ in range(8):
        truth = truth + inverse @ (C - A.astype(np.longdouble) @ truth).astype(np.float64)
    own = np.append(model.estimator.intercept_, model.estimator.coef_)
    correct = -np.log10(float(np.abs(own / truth - 1).max()))
    assert solution.strict_digits >= 10  # of coefficients that are not negligible
    assert solution.digits <= correct + 1
