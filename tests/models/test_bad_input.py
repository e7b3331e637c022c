"""Bad input is refused by name: the row, the column, the remedy. Nothing wrong is fitted in silence."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from estimators import REGRESSION, CutRows
from narwhals.exceptions import DuplicateError
from sklearn.exceptions import NotFittedError

from linearly.dataset.features.polynomial import polynomial_features
from linearly.dataset.rows import block as rows_module
from linearly.dataset.rows.block import as_rows
from linearly.models.linear_regression import LinearRegression
from linearly.models.ridge_cv import RidgeCV

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
Y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=40)
FRAME = pd.DataFrame(X, columns=["age", "height", "weight"])


def changed(a, at, value, dtype=None):
    a = np.array(a, dtype=dtype or a.dtype)
    a[at] = value
    return a


# What is passed to fit, and what must be said about it.
BAD_FITS = {
    # NaN and infinity, wherever they are
    "NaN in X": ((changed(X, (7, 1), np.nan), Y), r"X contains NaN: row 7, column 'x1'.*fill in the value"),
    "infinity in X": ((changed(X, (39, 2), np.inf), Y), r"X contains infinity: row 39, column 'x2'"),
    "-infinity in X": ((changed(X, (0, 0), -np.inf), Y), r"X contains infinity: row 0, column 'x0'"),
    "NaN in Fortran X": ((np.asfortranarray(changed(X, (7, 1), np.nan)), Y), r"row 7, column 'x1'"),
    "NaN in float32 X": ((changed(X, (7, 1), np.nan, np.float32), Y), r"row 7, column 'x1'"),
    "NaN in a list": ((changed(X, (7, 1), np.nan).tolist(), Y), r"row 7, column 'x1'"),
    "NaN in pandas": ((FRAME.mask(FRAME.eq(FRAME.iloc[7, 1])), Y), r"X contains NaN: row 7, column 'height'"),
    "null in polars": (
        (pl.DataFrame({"a": X[:, 0], "b": [None, *X[1:, 1]]}), Y),
        r"X contains NaN: row 0, column 'b'",
    ),
    "null in Arrow": ((pa.table({"a": X[:, 0], "b": [*X[1:, 1], None]}), Y), r"NaN: row 39, column 'b'"),
    "NA in Int64": (
        (pd.DataFrame({"a": pd.array([1, None, *range(38)], dtype="Int64")}), Y),
        r"NaN: row 1, column 'a'",
    ),
    "NaN in CSR": ((sp.csr_matrix(changed(X, (7, 1), np.nan)), Y), r"X contains NaN: row 7, column 'x1'"),
    "NaN in rows": ((as_rows(changed(X, (7, 1), np.nan), Y), None), r"X contains NaN: row 7, column 'x1'"),
    "NaN in y": ((X, changed(Y, 11, np.nan)), r"y contains NaN: row 11\."),
    "infinity in y": ((X, changed(Y, 11, np.inf)), r"y contains infinity: row 11\."),
    "NaN in one of several y": (
        (X, np.column_stack([Y, changed(Y, 11, np.nan)])),
        r"y contains NaN: row 11, column 1",
    ),
    "NaN in sample_weight": ((X, Y, changed(np.ones(40), 5, np.nan)), r"sample_weight contains NaN: row 5\."),
    "infinity in sample_weight": ((X, Y, changed(np.ones(40), 5, np.inf)), r"sample_weight contains infinity: row 5\."),
    # Nothing to fit
    "no rows": ((X[:0], Y[:0]), r"0 sample\(s\)"),
    "no rows in a frame": ((FRAME[:0], Y[:0]), r"0 sample\(s\)"),
    "no rows in CSR": ((sp.csr_matrix((0, 3)), Y[:0]), r"0 sample\(s\)"),
    "no columns": ((X[:, :0], Y), r"0 feature\(s\)"),
    "no columns in a frame": ((FRAME[[]], Y), r"0 sample\(s\) or feature\(s\)"),
    "all weights zero": ((X, Y, np.zeros(40)), r"at least one non-zero number"),
    "no blocks": ((CutRows(X[:0], Y[:0]), None), r"no rows|n_samples=0 rows|non-zero number"),
    # Weights
    "a negative weight": ((X, Y, changed(np.ones(40), 5, -0.5)), r"Negative.*sample_weight: row 5 has -0\.5"),
    "too few weights": ((X, Y, np.ones(39)), r"sample_weight"),
    "two-dimensional weights": ((X, Y, np.ones((40, 1))), r"[Ss]ample.weights?"),
    "weights as text": ((X, Y, ["heavy"] * 40), r"sample_weight contains text"),
    # Numbers that float64 cannot hold
    "a big integer": (
        (changed(np.ones((40, 3), dtype=np.int64), (5, 1), 2**53 + 1), Y),
        r"row 5, column 1 exceeds 2\*\*53.*offset",
    ),
    "a big integer in pandas": (
        (pd.DataFrame({"a": [1] * 39 + [2**60 + 1], "b": range(40)}), Y),
        r"row 39, column 'a' exceeds 2\*\*53",
    ),
    "a big integer in y": ((X, changed(np.ones(40, dtype=np.int64), 5, 2**53 + 1)), r"row 5, column 'y' exceeds"),
    "a big integer in one of several y": (
        (X, changed(np.ones((40, 2), dtype=np.int64), (5, 1), 2**53 + 1)),
        r"row 5, column 1 exceeds",
    ),
    # Shapes
    "one-dimensional X": ((X[:, 0], Y), r"[Ee]xpected 2D array, got 1D array"),
    "three-dimensional X": ((X[:, :, None], Y), r"dim 3|3 dimensions|ndim"),
    "a number for X": ((3.0, Y), r"[Ee]xpected 2D array, got scalar"),
    "three-dimensional y": ((X, Y[:, None, None]), r"dim 3|one or two dimensions"),
    "y None": ((X, None), r"requires y to be passed"),
    "lengths differ": ((X, Y[:39]), r"inconsistent numbers of samples: \[40, 39\]"),
    "lengths differ in a frame": ((FRAME, Y[:39]), r"inconsistent numbers of samples"),
    "y beside rows": ((as_rows(X, Y), Y), r"contain targets.*without y"),
    # Kinds
    "text in X": ((np.array([["a", "b"]] * 40), Y), r"could not convert string to float|numeric"),
    "text among objects": ((changed(X, (3, 2), "tall", object), Y), r"[Rr]ow 3, column 2 of X is 'tall'"),
    "text in pandas": ((FRAME.assign(city="Rome"), Y), r"Column 'city' is .*, not numeric.*Encode"),
    "dates in pandas": (
        (FRAME.assign(day=pd.Timestamp("2020-01-01")), Y),
        r"Column 'day' is .*, not numeric",
    ),
    "text in polars": ((pl.DataFrame({"a": X[:, 0], "city": ["Rome"] * 40}), Y), r"Column 'city' is String"),
    "two columns with the same name": ((pd.DataFrame(X, columns=["a", "b", "a"]), Y), r"'a' 2 times"),
    "text in y": ((X, ["yes"] * 40), r"could not convert|numeric|dtype"),
    "complex X": ((X + 1j, Y), r"[Cc]omplex"),
    "complex y": ((X, Y + 1j), r"[Cc]omplex"),
    "a dictionary": (({"a": 1}, Y), r"."),
}


@pytest.mark.parametrize("entry", REGRESSION, ids=str)
@pytest.mark.parametrize("name", BAD_FITS)
def test_bad_fit(entry, name):
    arguments, message = BAD_FITS[name]
    with pytest.raises((ValueError, TypeError, DuplicateError), match=message):
        entry.make().fit(*arguments)


@pytest.mark.parametrize("method", ["auto", "gram", "qr", "extended"])
def test_a_coefficient_beyond_float64_is_refused(method):
    with pytest.raises(ValueError, match=r"coefficient of 'x0' exceeds the float64 range.*[Rr]escale"):
        LinearRegression(method=method).fit(X * 1e-300, Y * 1e20)
    with pytest.raises(ValueError, match=r"intercept exceeds the float64 range.*[Rr]escale"):
        LinearRegression(method=method).fit(X[:, :1] + 1e12, Y * 1e298)


def test_bad_numbers_in_a_later_block_are_named_by_their_place_in_the_whole(monkeypatch):
    monkeypatch.setattr(rows_module, "rows_in_block", lambda p: 7)
    with pytest.raises(ValueError, match=r"row 30, column 'height'"):
        LinearRegression().fit(FRAME.assign(height=changed(X[:, 1], 30, np.nan)), Y)
    with pytest.raises(ValueError, match=r"y contains NaN: row 30"):
        LinearRegression().fit(X, changed(Y, 30, np.nan))


# --- predict --------------------------------------------------------------------------------------

ARRAY_MODEL = LinearRegression().fit(X, Y)
FRAME_MODEL = LinearRegression().fit(FRAME, Y)
BAD_PREDICTIONS = {
    "too few columns": (ARRAY_MODEL, X[:, :2], r"X has 2 features, but LinearRegression is expecting 3"),
    "too many columns": (ARRAY_MODEL, np.hstack([X, X]), r"X has 6 features"),
    "too few columns in CSR": (ARRAY_MODEL, sp.csr_matrix(X[:, :2]), r"X has 2 features"),
    "a column missing": (FRAME_MODEL, FRAME[["age", "height"]], r"[Ff]eature names.*\n.*\n- weight"),
    "another order": (FRAME_MODEL, FRAME[["height", "age", "weight"]], r"[Ff]eature names must be in the same order"),
    "another name": (FRAME_MODEL, FRAME.rename(columns={"age": "years"}), r"[Ff]eature names.*\n.*\n- years"),
    "one-dimensional X": (ARRAY_MODEL, X[0], r"[Ee]xpected 2D array, got 1D array"),
    "no rows": (ARRAY_MODEL, X[:0], r"0 sample\(s\)"),
    "NaN": (ARRAY_MODEL, changed(X, (7, 1), np.nan), r"X contains NaN: row 7, column 'x1'"),
    "infinity": (ARRAY_MODEL, changed(X, (7, 1), np.inf), r"X contains infinity: row 7, column 'x1'"),
    "NaN in float32": (ARRAY_MODEL, changed(X, (7, 1), np.nan, np.float32), r"row 7, column 'x1'"),
    "NaN in a frame": (FRAME_MODEL, FRAME.mask(FRAME.eq(FRAME.iloc[7, 1])), r"row 7, column 'height'"),
    "NaN in CSR": (ARRAY_MODEL, sp.csr_matrix(changed(X, (7, 1), np.nan)), r"row 7, column 'x1'"),
    "text": (FRAME_MODEL, FRAME.assign(age="old"), r"Column 'age' is .*, not numeric"),
    "a big integer": (ARRAY_MODEL, changed(np.ones((4, 3), dtype=np.int64), (2, 1), 2**60 + 1), r"row 2, column 1"),
    "complex": (ARRAY_MODEL, X + 1j, r"[Cc]omplex"),
}


@pytest.mark.parametrize("name", BAD_PREDICTIONS)
def test_bad_prediction(name):
    model, rows, message = BAD_PREDICTIONS[name]
    with pytest.raises(ValueError, match=message):
        model.predict(rows)


@pytest.mark.parametrize("entry", REGRESSION, ids=str)
def test_predict_before_fit(entry):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        entry.make().predict(X)


def test_uncertainty_before_fit():
    with pytest.raises(NotFittedError):
        LinearRegression().std_errors()
    with pytest.raises(NotFittedError):
        _ = LinearRegression().covariance_


def test_an_infinite_prediction_from_finite_rows_is_not_refused():
    """1e308 times a coefficient above 1 is infinite; that is the right answer, not bad input."""
    with np.errstate(over="ignore"):
        assert ARRAY_MODEL.predict(np.full((1, 3), 1e308))[0] == np.inf


# --- parameters -----------------------------------------------------------------------------------

BAD_PARAMETERS = {
    "negative alpha": ({"alpha": -1.0}, r"alpha must be a number of at least 0, not -1\.0"),
    "NaN alpha": ({"alpha": np.nan}, r"alpha must be a number of at least 0, not nan"),
    "infinite alpha": ({"alpha": np.inf}, r"alpha must be a number of at least 0, not inf"),
    "alpha as text": ({"alpha": "big"}, r"alpha must be a number of at least 0, not 'big'"),
    "alpha None": ({"alpha": None}, r"alpha must be a number of at least 0, not None"),
    "several alphas": ({"alpha": [1.0, 2.0]}, r"alpha must be a number of at least 0, not \[1\.0, 2\.0\]"),
    "complex alpha": ({"alpha": 1j}, r"alpha must be a number of at least 0, not 1j"),
    "unknown method": ({"method": "magic"}, r"method must be one of .*'auto'.*, not 'magic'"),
    "method None": ({"method": None}, r"method must be one of .*, not None"),
    "unknown covariance": ({"covariance": "HC9"}, r"covariance must be one of .*'HC3'.*, not 'HC9'"),
    "cluster without groups": ({"covariance": "cluster"}, r"covariance=\"cluster\" needs groups="),
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameter(name):
    parameters, message = BAD_PARAMETERS[name]
    with pytest.raises(ValueError, match=message):
        LinearRegression(**parameters).fit(X, Y)


BAD_GROUPS = {
    "without cluster": ("classical", np.arange(40) % 4, r"groups= requires a clustered covariance"),
    "with HC3": ("HC3", np.arange(40) % 4, r"groups= requires a clustered covariance"),
    "too few": ("cluster", np.arange(39) % 4, r"groups has 39 labels for 40 rows"),
    "too many": ("cluster", np.arange(41) % 4, r"groups has 41 labels for 40 rows"),
    "one group": ("cluster", np.zeros(40), r"needs at least two"),
    "two-dimensional": ("cluster", np.zeros((40, 2)), r"needs at least two"),
    "three columns": ("cluster", np.zeros((40, 3)), r"groups has 3 columns"),
    "NaN": ("cluster", changed(np.arange(40.0) % 4, 5, np.nan), r"no label in row 5"),
    "None": ("cluster", changed(np.array(list("abcd") * 10), 5, None, object), r"no label in row 5"),
    "NaN in a list of text": ("cluster", [*"abcda", np.nan, *"abcd" * 8, "a", "b"], r"no label in row 5"),
    "NA of pandas": ("cluster", pd.Series([*"abcda", pd.NA, *"abcd" * 8, "a", "b"], dtype="string"), r"row 5\."),
    "text and numbers in a list": ("cluster", ["a", 1] * 20, r"groups mixes labels of different types \(int, str\)"),
}


@pytest.mark.parametrize("name", BAD_GROUPS)
def test_bad_groups(name):
    covariance, groups, message = BAD_GROUPS[name]
    with pytest.raises(ValueError, match=message):
        LinearRegression(covariance=covariance).fit(X, Y, groups=groups)


@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
def test_a_group_of_weight_zero_is_absent():
    groups, weight = np.arange(40) % 8, (np.arange(40) % 8 != 4).astype(float)
    present = weight > 0
    model = LinearRegression(covariance="cluster")
    with_it = model.fit(X, Y, sample_weight=weight, groups=groups).covariance_
    without = model.fit(X[present], Y[present], groups=groups[present]).covariance_
    np.testing.assert_allclose(with_it, without, rtol=1e-11)
    with pytest.raises(ValueError, match="needs at least two"):
        model.fit(X, Y, sample_weight=(groups == 0).astype(float), groups=groups)


@pytest.mark.filterwarnings("ignore::linearly.FewClustersWarning")
@pytest.mark.parametrize("labels", [np.array(list("abcde") * 8), np.arange(40) % 5 + 0.5, [True, False] * 20])
def test_groups_may_be_any_labels(labels):
    _, numbers = np.unique(labels, return_inverse=True)
    model = LinearRegression(covariance="cluster", fit_intercept=False)  # one term, so that two groups are enough
    expected = model.fit(X[:, :1], Y, groups=numbers).covariance_
    np.testing.assert_array_equal(model.fit(X[:, :1], Y, groups=labels).covariance_, expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": []}, "one or more"),
        ({"alphas": [-1.0]}, "numbers? of at least 0"),
        ({"alphas": [np.nan]}, "numbers? of at least 0"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": "all"}, "cv must be a number of folds"),
        ({"cv": 41}, "Use fewer folds"),
    ],
)
def test_bad_ridge_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        RidgeCV(**{"alphas": [1.0], **parameters}).fit(X, Y)


@pytest.mark.parametrize("covariance", ["classical", "HC1"])
def test_without_degrees_of_freedom_nothing_is_claimed(covariance):
    model = LinearRegression(covariance=covariance).fit(X[:4], Y[:4])
    assert model.solution_.dof == 0
    assert np.isnan(model.std_errors()).all()


# --- more rows, fewer rows ------------------------------------------------------------------------


def test_partial_fit_with_other_columns_or_targets():
    model = LinearRegression().partial_fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but LinearRegression is expecting 3"):
        model.partial_fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="different numbers of targets"):
        model.partial_fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match=r"NaN: row 7, column 'x1'"):
        model.partial_fit(changed(X, (7, 1), np.nan), Y)
    np.testing.assert_array_equal(model.coef_, LinearRegression().fit(X, Y).coef_)  # it learnt nothing of these
    with pytest.raises(ValueError, match="at least one non-zero number"):
        LinearRegression().partial_fit(X, Y, sample_weight=np.zeros(40))
    before = model.coef_.copy()
    model.partial_fit(X * 5, Y, sample_weight=np.zeros(40))  # later on, absent rows are no harm
    np.testing.assert_array_equal(model.coef_, before)


def test_partial_fit_needs_a_classical_covariance():
    model = LinearRegression(covariance="HC3")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model.partial_fit(X, Y)
    assert "needs all rows" in str(caught.value.__cause__)


def test_models_that_cannot_be_added():
    a = LinearRegression().fit(X, Y)
    cases = [
        (LinearRegression().fit(X[:, :2], Y), "2 features"),
        (LinearRegression().fit(X, np.column_stack([Y, Y])), "different numbers of targets"),
        (LinearRegression(method="qr").fit(X, Y), "different summaries.*method="),
        (LinearRegression(covariance="HC1").fit(X, Y), "cannot be merged without the rows"),
    ]
    for other, message in cases:
        with pytest.raises(ValueError, match=message):
            a + other
    named, renamed = LinearRegression().fit(FRAME, Y), FRAME.rename(columns={"age": "years"})
    with pytest.raises(ValueError, match="years"):
        named + LinearRegression().fit(renamed, Y)
    with pytest.raises(NotFittedError):
        a + LinearRegression()
    with pytest.raises(NotFittedError):
        LinearRegression() + a
    for other in (1, None, "model", Y):
        with pytest.raises(TypeError):
            a + other


def test_rows_that_cannot_be_removed():
    a = LinearRegression().fit(X, Y)
    with pytest.raises(ValueError, match=r"80 rows cannot be removed from 40"):
        a - LinearRegression().fit(np.vstack([X, X]), np.concatenate([Y, Y]))
    with pytest.raises(ValueError, match=r"every row"):
        a - LinearRegression().fit(X, Y)
    with pytest.raises(ValueError, match=r"never part of"):
        a - LinearRegression().fit(X[:10] * 100, Y[:10])
    with pytest.raises(ValueError, match=r"never part of"):
        a - LinearRegression().fit(X[:20] + 50, Y[:20])
    with pytest.raises(ValueError, match=r"more weight than the fit"):
        a - LinearRegression().fit(X[:20], Y[:20], sample_weight=np.full(20, 3.0))
    far = np.vstack([X, X[:10] * 1e5])
    both = LinearRegression().fit(far, np.append(Y, Y[:10]))
    with pytest.raises(ValueError, match=r"Fit the remaining rows again"):  # they were there, but hide the others
        both - LinearRegression().fit(far[40:], Y[:10])
    qr = LinearRegression(method="qr")
    with pytest.raises(ValueError, match=r'triangle.*method="gram"'):
        qr.fit(X, Y) - LinearRegression(method="qr").fit(X[:20], Y[:20])


# --- warnings that name ---------------------------------------------------------------------------

DEPENDENT = {
    "a duplicate": (np.column_stack([X, X[:, 0]]), r"^Column 'x3' is "),
    "a constant": (np.column_stack([X, np.full(40, 0.1)]), r"^Column 'x3' is constant"),
    "a sum": (np.column_stack([X, X[:, 0] + X[:, 1]]), r"^Column 'x3' is "),
    "two of them": (np.column_stack([np.ones(40), X, X[:, 2] * 2]), r"^Columns 'x0', 'x4' are "),
    "a duplicate in pandas": (FRAME.assign(copy=FRAME["age"]), r"^Column 'copy' is "),
    "a constant in polars": (pl.DataFrame({"a": X[:, 0], "one": [0.1] * 40}), r"^Column 'one' is "),
    "a constant in Arrow": (pa.table({"a": X[:, 0], "one": np.full(40, 0.1)}), r"^Column 'one' is "),
    "a constant in CSR": (sp.csr_matrix(np.column_stack([X, np.full(40, 0.1)])), r"^Column 'x3' is "),
    "an empty column in CSR": (sp.csr_matrix(np.column_stack([X, np.zeros(40)])), r"^Column 'x3' is "),
    "ten of them": (np.hstack([X, np.ones((40, 10))]), r"'x3', 'x4', .*'x10' and 2 more are "),
    "a power": (polynomial_features(np.repeat([1.0, 2.0], 20), 3, name="dose"), r"^Columns 'dose\^2', 'dose\^3' are "),
}


@pytest.mark.parametrize("method", ["auto", "gram", "qr", "extended"])
@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent_columns_are_named(name, method):
    rows, message = DEPENDENT[name]
    with pytest.warns(np.exceptions.RankWarning, match=message) as caught:
        model = LinearRegression(method=method).fit(rows, Y)
    assert len(caught) == 1
    drop = "Drop it" if str(caught[0].message).startswith("Column ") else "Drop these columns"
    assert f"{drop}, or set alpha > 0" in str(caught[0].message)
    assert caught[0].filename == __file__  # it points at the line that fitted
    assert np.isfinite(model.coef_).all()
    assert model.training_error_ == pytest.approx(np.mean((Y - model.predict(rows)) ** 2), rel=1e-9)


def test_no_warning_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for entry in REGRESSION:
            if "gradient" not in entry.name:
                entry.make().fit(X, Y).predict(X)
