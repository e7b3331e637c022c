"""Bad input to every estimator it applies to raises an error that names it, and clean input in any form gives the
same answer.

The tables of bad input are in `hostile` (arrays), `hostile_frames`, `hostile_targets`, `hostile_parameters`,
`hostile_calls` and `hostile_tables` (`ly.fit` and `Model`).
"""

import inspect
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hostile import ARRAYS, CLASSIFIERS, DISGUISED_ARRAYS, ESTIMATORS, LABELS, REGRESSORS, N, X, Y, target
from hostile_calls import METHODS, bad_uses
from hostile_frames import DISGUISED_FRAMES, FRAME, FRAMES
from hostile_parameters import BAD, arguments
from hostile_tables import CALLS, DATA, GOOD, MODELS, NEW, ROWS
from hostile_tables import FEATURES as TABLE
from hostile_tables import target as label
from hostile_targets import CLASSES, NUMBERS, TARGETS, WEIGHTS
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import linearly as ly
from linearly.dataset.rows.block import as_rows
from linearly.exceptions import PrecisionWarning, SeparationWarning
from linearly.models.registry import classifies

REFUSALS = (ValueError, TypeError, FileNotFoundError)
FEATURES = ARRAYS | FRAMES
DISGUISED = DISGUISED_ARRAYS | DISGUISED_FRAMES
USES = bad_uses()
# Words of NumPy, SciPy and narwhals that mean nothing to whoever passed the wrong thing.
FOREIGN = (
    "could not be broadcast",
    "inhomogeneous shape",
    "unhashable",
    "not supported between instances",
    "has no attribute",
    "has no len()",
    "is not iterable",
    "could not convert string",
    "truth value of an array",
    "cannot reshape",
    "array element with a sequence",
    "did not converge",
    "positional argument",
)


def refused(call, says):
    """The call must fail with a sentence of ours that matches, and with nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names, convergence and rank: the refusal is what counts
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(REFUSALS, match=says) as caught:
            call()
    message = str(caught.value)
    assert not any(words in message for words in FOREIGN), message
    return message


@cache
def fitted(name):
    """An estimator fitted to the clean rows."""
    return quietly(lambda: ESTIMATORS[name]().fit(X, target(name)))


@cache
def fitted_to_frame(name):
    return quietly(lambda: ESTIMATORS[name]().fit(FRAME, target(name)))


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        warnings.simplefilter("ignore", PrecisionWarning)
        warnings.filterwarnings("ignore", message=".*feature names", category=UserWarning)
        return call()


def questions(name):
    """What can be asked of a fitted estimator about new rows."""
    model = fitted(name)
    return [getattr(model, method) for method in METHODS if hasattr(model, method)]


def takes(name, method, argument):
    return (
        hasattr(ESTIMATORS[name](), method)
        and argument in inspect.signature(getattr(ESTIMATORS[name](), method)).parameters
    )


def over(names, check):
    """Run a check for each of some estimators, and say for which it failed."""
    for name in names:
        try:
            check(name)
        except (AssertionError, pytest.fail.Exception) as failure:
            pytest.fail(f"{name}: {failure}", pytrace=False)


def weighted(method):
    return [name for name in ESTIMATORS if takes(name, method, "sample_weight")]


def test_tables_of_bad_input_cover_every_estimator_and_parameter():
    inputs = [FEATURES, TARGETS, NUMBERS, CLASSES, WEIGHTS, DATA, CALLS, ROWS]
    assert sum(map(len, inputs)) >= 400
    assert sum(map(len, [*inputs, *BAD.values()])) >= 700
    there = {name for name in ly.__all__ if hasattr(getattr(ly, name), "fit") and hasattr(getattr(ly, name), "predict")}
    assert set(ESTIMATORS) == there
    assert {argument for name in ESTIMATORS for argument in arguments(name)} == set(BAD)


@pytest.mark.parametrize(
    "refusal",
    [
        IndexError("index 3 is out of bounds"),
        ValueError("Bad input."),
        ValueError("row 3: could not convert string to float"),
    ],
)
def test_refused_fails_on_errors_that_do_not_name_the_input(refusal):
    def call():
        raise refusal

    with pytest.raises((AssertionError, IndexError)):
        refused(call, "row 3")


def test_refused_fails_on_an_answer():
    with pytest.raises(pytest.fail.Exception):
        refused(lambda: None, "row 3")


# --- features -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", FEATURES)
def test_bad_features_are_refused_by_fit(case):
    bad, says = FEATURES[case]

    def check(name):
        estimator = ESTIMATORS[name]()
        refused(lambda: estimator.fit(bad(), target(name)), says)
        with pytest.raises(NotFittedError):
            estimator.predict(X)
        if hasattr(estimator, "partial_fit"):
            more = {} if name in REGRESSORS else {"classes": np.unique(target(name))}
            refused(lambda: ESTIMATORS[name]().partial_fit(bad(), target(name), **more), says)

    over(ESTIMATORS, check)


@pytest.mark.parametrize("case", FEATURES)
def test_bad_features_are_refused_by_predict(case):
    bad, says = FEATURES[case]
    says += r"|X has \d+ features, but"

    def check(name):
        for question in questions(name):
            refused(lambda question=question: question(bad()), says)
        refused(lambda: fitted(name).score(bad(), target(name)), says)

    over(ESTIMATORS, check)


@pytest.mark.parametrize("case", DISGUISED)
def test_clean_rows_in_disguise(case):
    make = DISGUISED[case]

    def check(name):
        disguised = quietly(lambda: ESTIMATORS[name]().fit(make(), target(name)))
        for question in questions(name):
            expected = question(X)
            for model in (fitted(name), disguised):
                ask = getattr(model, question.__name__)
                answer = quietly(lambda ask=ask: ask(make()))
                if expected.dtype.kind == "f":
                    np.testing.assert_allclose(answer, expected, rtol=1e-9, atol=1e-9)
                else:
                    np.testing.assert_array_equal(answer, expected)

    over(ESTIMATORS, check)


OTHER_COLUMNS = {
    "too few": lambda: FRAME[["age", "height"]],
    "too many": lambda: FRAME.assign(more=1.0),
    "another order": lambda: FRAME[["income", "height", "age"]],
    "another name": lambda: FRAME.rename(columns={"age": "years"}),
    "other capitals": lambda: FRAME.rename(columns=str.upper),
    "a column twice": lambda: FRAME[["age", "height", "income", "income"]],
    "polars in another order": lambda: pl.from_pandas(FRAME[["income", "height", "age"]]),
    "Arrow with another name": lambda: pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}),
    "rows with other names": lambda: as_rows(X, names=["a", "b", "c"]),
    "rows of fewer columns": lambda: as_rows(X[:, :2], names=["age", "height"]),
    "an array of fewer columns": lambda: X[:, :2],
    "CSR of more columns": lambda: sp.csr_matrix(np.hstack([X, X])),
}


@pytest.mark.parametrize("case", OTHER_COLUMNS)
def test_other_columns_than_those_of_the_fit(case):
    says = r"[Ff]eature names|X has \d+ features|The columns are|Several columns have the name"
    over(ESTIMATORS, lambda name: refused(lambda: fitted_to_frame(name).predict(OTHER_COLUMNS[case]()), says))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_method_raises_before_a_fit(name):
    for question in questions(name):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(ESTIMATORS[name](), question.__name__)(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ESTIMATORS[name]().score(X, target(name))


@pytest.mark.parametrize("case", USES)
def test_bad_uses(case):
    call, says, names = USES[case]
    over(names, lambda name: refused(lambda: call(name), says))


def test_rows_without_targets_in_folds_and_streams():
    for estimator in (ly.RidgeCV(cv="loo"), ly.RidgeCV(cv=3), ly.LinearRegression(method="qr")):
        refused(lambda estimator=estimator: estimator.fit(as_rows(X)), r"These rows contain no targets")
    refused(lambda: ly.LinearRegression().partial_fit(as_rows(X)), r"These rows contain no targets")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_weights_of_a_score_are_those_of_a_fit(name):
    weight = np.arange(N, dtype=float)
    rows = np.repeat(np.arange(N), np.arange(N))
    model = fitted(name)
    assert model.score(X, target(name), weight) == pytest.approx(model.score(X[rows], target(name)[rows]))
    refused(lambda: model.score(X, target(name), -weight), r"Negative values in sample_weight: row 1 has -1")
    refused(lambda: model.score(X, target(name), np.full(N, "1")), r"sample_weight contains text")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_refused_fit_leaves_a_fitted_model_usable(name):
    model = quietly(lambda: ESTIMATORS[name]().fit(X, target(name)))
    expected = model.predict(X)
    for case in ("NaN", "a generator", "three dimensions", "CSR column beyond"):
        refused(lambda case=case: model.fit(FEATURES[case].make(), target(name)), FEATURES[case].says)
        np.testing.assert_array_equal(model.predict(X), expected)


# --- the ends of float64 --------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [990, -1000])
def test_numbers_at_the_ends_of_float64(exponent):
    """Rows of 1e299, whose squares overflow, and of 1e-300, whose squares vanish: as the same rows of ordinary size."""
    rows = np.ldexp(X, exponent)

    def check(name):
        if name in REGRESSORS:
            model = quietly(lambda: ly.LinearRegression().fit(rows, np.ldexp(Y, exponent)))
            expected = ly.LinearRegression().fit(X, Y).predict(X)
            np.testing.assert_allclose(np.ldexp(model.predict(rows), -exponent), expected, rtol=1e-8, atol=1e-8)
            return
        model = quietly(lambda: ESTIMATORS[name]().fit(rows, LABELS))
        np.testing.assert_array_equal(model.predict(rows), _scaled_answer(name))

    over(ESTIMATORS, check)


def _scaled_answer(name):
    """The answer for rows of ordinary size; a perceptron's constant feature stays 1 beside rows of any size."""
    if name.endswith("Perceptron"):
        small = X / 16.0  # the largest |x| is measured in the next power of two
        return quietly(lambda: ESTIMATORS[name]().fit(small, LABELS).predict(small))
    return fitted(name).predict(X)


# --- targets and weights --------------------------------------------------------------------------


@pytest.mark.parametrize("case", TARGETS)
def test_bad_targets(case):
    bad, says = TARGETS[case]
    over(ESTIMATORS, lambda name: refused(lambda: ESTIMATORS[name]().fit(X, bad()), says))


@pytest.mark.parametrize("case", NUMBERS)
def test_bad_numbers_to_predict(case):
    bad, says = NUMBERS[case]
    over(REGRESSORS, lambda name: refused(lambda: ESTIMATORS[name]().fit(X, bad()), says))


@pytest.mark.parametrize("case", CLASSES)
def test_bad_labels(case):
    bad, says = CLASSES[case]
    over(CLASSIFIERS, lambda name: refused(lambda: ESTIMATORS[name]().fit(X, bad()), says))


@pytest.mark.parametrize("case", WEIGHTS)
def test_bad_weights(case):
    bad, says = WEIGHTS[case]

    def check(name):
        refused(lambda: ESTIMATORS[name]().fit(X, target(name), sample_weight=bad()), says)
        if takes(name, "partial_fit", "sample_weight"):
            more = {} if name in REGRESSORS else {"classes": np.unique(LABELS)}
            refused(lambda: ESTIMATORS[name]().partial_fit(X, target(name), sample_weight=bad(), **more), says)

    over(weighted("fit"), check)


def test_weights_that_leave_one_class():
    weight = (LABELS == "yes").astype(float)
    names = [name for name in weighted("fit") if name in CLASSIFIERS]
    says = r"y has only one class, 'yes'"
    over(names, lambda name: refused(lambda: ESTIMATORS[name]().fit(X, LABELS, sample_weight=weight), says))


@pytest.mark.parametrize("size", [1e-90, 1e-12, 1e12, 1e90])
def test_the_unit_of_weights_does_not_matter(size):
    names = ("LinearRegression", "LogisticRegression", "LeastSquaresClassifier", "BatchPerceptron")

    def check(name):
        model = quietly(lambda: ESTIMATORS[name]().fit(X, target(name), sample_weight=np.full(N, size)))
        np.testing.assert_allclose(model.coef_, fitted(name).coef_, rtol=1e-7)

    over(names, check)


def test_weights_of_a_class_that_count_less_than_a_row():
    qda = ly.QuadraticDiscriminantAnalysis()
    refused(lambda: qda.fit(X, LABELS, sample_weight=np.full(N, 0.01)), r"weights of class .* add up to .*count rows")
    half = qda.fit(X, LABELS, sample_weight=np.full(N, 1.5 / np.count_nonzero(LABELS == "no"))).covariances_[0]
    own = np.cov(X[LABELS == "no"].T) * (np.count_nonzero(LABELS == "no") - 1)
    np.testing.assert_allclose(half, own * 1.5 / np.count_nonzero(LABELS == "no") / 0.5, rtol=1e-9)


BAD_STREAMS = {
    "another class": (
        lambda m: m.partial_fit(X, np.where(LABELS == "no", "maybe", LABELS)),
        r"Row \d+ has the label 'maybe'",
    ),
    "continuous": (lambda m: m.partial_fit(X, Y), CLASSES["continuous"].says),
    "fewer columns": (lambda m: m.partial_fit(X[:, :2], LABELS), r"X has 2 features"),
    "NaN": (lambda m: m.partial_fit(FEATURES["NaN"].make(), LABELS), FEATURES["NaN"].says),
}


@pytest.mark.parametrize("case", BAD_STREAMS)
def test_more_rows_that_do_not_fit(case):
    call, says = BAD_STREAMS[case]

    def check(name):
        model = ESTIMATORS[name]().partial_fit(X, LABELS, classes=["no", "yes"])
        expected = model.predict(X)
        refused(lambda: call(model), says)
        np.testing.assert_array_equal(model.predict(X), expected)

    over([name for name in CLASSIFIERS if hasattr(ESTIMATORS[name](), "partial_fit")], check)


@pytest.mark.parametrize("classes", [["no"], [], None, "no", [None, "no"], ["no", 1], [0.5, 1.5], {"no", "yes"}, 3])
def test_bad_classes(classes):
    says = (
        r"only one class|no classes|NaN|mixed types|continuous|y (must|should) be|Pass classes=|not one of the classes"
    )

    def check(name):
        if classes is not None or name not in ("Perceptron", "VotedPerceptron", "AveragedPerceptron"):
            refused(lambda: ESTIMATORS[name]().partial_fit(X, LABELS, classes=classes), says)

    over([name for name in CLASSIFIERS if hasattr(ESTIMATORS[name](), "partial_fit")], check)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("argument", BAD)
def test_bad_parameters(argument):
    def check(name):
        for value in BAD[argument]:
            estimator = ESTIMATORS[name]().set_params(**{argument: value})
            message = refused(lambda estimator=estimator: estimator.fit(X, target(name)), rf"\b{argument}\b")
            assert any(word in message for word in ("must", "Pass", "Leave")), message

    over([name for name in ESTIMATORS if argument in arguments(name)], check)


# --- tables, files and formulas -------------------------------------------------------------------


@pytest.mark.parametrize("case", DATA)
def test_bad_tables(case):
    bad, says = DATA[case]
    over(MODELS, lambda m: refused(lambda: ly.fit(bad(), target=label(m), features=TABLE, model=m), says))


@pytest.mark.parametrize("case", CALLS)
def test_bad_calls(case):
    refused(*CALLS[case])


@pytest.mark.parametrize("model", [name for name in MODELS if classifies(name)])
def test_measured_numbers_are_no_labels(model):
    refused(lambda: ly.fit(GOOD, target="y", features=TABLE, model=model), r"contains numbers such as .*, not labels")


@cache
def model_of(name):
    return quietly(lambda: ly.fit(GOOD, target=label(name), features=TABLE, model=name))


@pytest.mark.parametrize("case", ROWS)
def test_bad_new_rows(case):
    bad, says = ROWS[case]
    over(MODELS, lambda name: refused(lambda: model_of(name).predict(bad()), says))


def test_methods_that_a_model_lacks_raise():
    linear, lda = model_of("linear"), model_of("lda")
    refused(lambda: linear.predict_proba(NEW), r"Model 'linear' has scores but no probabilities")
    refused(lambda: lda.predict_interval(NEW), r"Model 'lda' has no prediction intervals")
    refused(lambda: linear.predict_interval(NEW, level=2), r"level must be between 0 and 1, not 2")
    refused(lambda: linear.predict_interval(NEW, kind="x"), r"kind must be \"confidence\" or \"prediction\"")
    refused(lambda: linear.predict(NEW, out="x.xlsx"), r"ends in \.parquet, \.csv or \.csv\.gz")
    refused(lambda: linear.predict(NEW, keep=["zz"]), r"The column 'zz' does not exist")
    refused(lambda: linear.evaluate(NEW), r"The column 'y' does not exist")
    refused(
        lambda: lda.evaluate({**NEW, "label": ["maybe"]}),
        r"label 'maybe' in row 0, which does not occur",
    )
    refused(lambda: linear.tidy(level=95), r"level must be between 0 and 1, not 95")
    refused(lambda: linear + lda, r"models differ in kind \(linear and lda\)")


def test_columns_named_by_numbers():
    named = ly.fit(pd.DataFrame(X).assign(y=Y), target="y")
    np.testing.assert_allclose(named.predict(pd.DataFrame(X)), fitted("LinearRegression").predict(X), rtol=1e-9)
