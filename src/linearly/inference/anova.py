"""Analysis of variance and of deviance: a test of every term of a formula, of type I, II or III."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from linearly.algorithm.least_squares.solution import Solution
from linearly.dataset.design.cached_rows import cache_in_memory
from linearly.dataset.design.design import DesignRows
from linearly.dataset.rows.block import Block, Rows
from linearly.dataset.rows.views import MappedRows
from linearly.exceptions import SeparationWarning
from linearly.formatting import join_names
from linearly.inference.coefficients import Coefficients, JointTest, coefficients_of
from linearly.inference.fitted_rows import check_labelled_rows_of_fit
from linearly.inference.fitted_terms import MAX_NAMED_TERMS, count_parameters
from linearly.inference.likelihood import check_unpenalized, largest_log_likelihood, likelihood_ratio
from linearly.inference.term_hypotheses import FittedTerm, adjusted_hypothesis, balanced_hypotheses, terms_of
from linearly.inference.unwrap import rows_of, unwrap_estimator, unwrap_model
from linearly.inference.wald_tests import degrees
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_float64
from linearly.models.kind_checks import is_logistic
from linearly.models.sklearn_bases import clone
from linearly.table import Table

if TYPE_CHECKING:
    from linearly.models.logistic_regression import LogisticRegression

_MAX_EQUATIONS = 3  # of a hypothesis that a note prints
_MAX_COEFFICIENTS = 6  # of an equation that a note prints


@single_threaded_blas()
def anova(model: Any, data: Any = None, y: Any = None, sample_weight: Any = None, *, type: int = 2) -> Table:
    """Test every term of a formula: the analysis of variance, or of deviance for a logistic model.

    Parameters
    ----------
    model : Model, LinearRegression or LogisticRegression
        A model fitted without penalty. All columns of a term of the formula are tested together. If an estimator was
        fitted to an array, each column is a term.
    data : data frame, dict, path, table or array-like, default=None
        The rows of a logistic fit, for likelihood-ratio tests by refitting. Without rows, the tests are Wald tests.
        Linear models need no rows.
    y, sample_weight : array-like of shape (n_rows,), default=None
        Labels and weights of a logistic fit to arrays.
    type : {1, 2, 3}, default=2
        1: each term after those before it. 2: each term after all terms that do not contain it. 3: each term after all
        others, in a sum-to-zero coding of the categories. The coding of the model does not matter. Notes print the
        hypotheses.

    Returns
    -------
    Table
        Columns ``term, df, sum_sq, statistic, p_value`` with a row ``Residuals``. The statistic is F. With a robust or
        clustered covariance it is the Wald test of the same hypothesis. Logistic models: ``term, df, statistic,
        p_value``, where the statistic is χ². Type 2 adds ``aic``, the AIC of the model without the term, for terms that
        no other term contains. The last row has the AIC of the full model, as in R's ``drop1``.

    Raises
    ------
    TypeError
        If the model has no standard errors.
    ValueError
        If the fit was penalised, if `type` is unknown, or if the rows differ from the fitted ones.

    See Also
    --------
    hypotheses : Test any combination of coefficients.
    compare_models : Test the additional terms of a bigger model.

    Notes
    -----
    A linear model is tested from its summary, without the rows. Terms that are linear combinations of others have 0
    degrees of freedom. Type III hypotheses that empty cells leave undetermined have no test. Notes name such terms and
    hypotheses. Numeric columns in interactions are held at 0 in type III, so centre them for tests at their means.

    References
    ----------
    .. [1] Searle (1987), Linear Models for Unbalanced Data, chapters 4 and 12.
    .. [2] Fox, Weisberg (2019), An R Companion to Applied Regression, section 5.3.4.

    Examples
    --------
    >>> import linearly as ly
    >>> data = {"kind": list("aabbcc"), "x": [0.0, 1.0, 1.0, 2.0, 2.0, 4.0], "y": [1.0, 2.1, 4.0, 5.2, 3.9, 6.0]}
    >>> ly.anova(ly.fit(data, formula="y ~ kind + x"))["df"]
    array([2, 1, 2])
    """
    if type not in (1, 2, 3):
        raise ValueError(f"type must be 1, 2 or 3, not {type!r}.")
    coefficients = coefficients_of(model, "anova")
    terms = terms_of(model, coefficients)
    estimator = unwrap_estimator(model)
    if is_logistic(estimator):
        check_unpenalized(estimator, "anova")
        if data is None:
            return _wald_table(model, coefficients, terms, type)
        return _deviance_table(model, coefficients, terms, type, data, y, sample_weight)
    if estimator.solution_.alpha > 0:
        raise ValueError(
            "anova requires a fit without a penalty, but this one is ridge, whose sums of squares do not add up. Fit "
            'with model="linear", or test linear combinations with hypotheses().'
        )
    return _variance_table(model, coefficients, terms, type)


def _variance_table(model: Any, coefficients: Coefficients, terms: Sequence[FittedTerm], kind: int) -> Table:
    estimator = unwrap_estimator(model)
    solution: Solution = estimator.solution_
    hypotheses = _hypotheses(model, coefficients, terms, kind)
    tests = [coefficients.test(L) if len(L) else JointTest(0.0, np.nan, 0, coefficients.dof) for L in hypotheses]
    columns: dict[str, list[Any]] = {
        "term": [*(term.label for term in terms), "Residuals"],
        "df": [*(test.df for test in tests), degrees(solution.dof)],
        "sum_sq": [*(test.squares for test in tests), float(solution.rss[0])],
        "statistic": [*(test.statistic for test in tests), np.nan],
        "p_value": [*(test.p_value for test in tests), np.nan],
    }
    if kind == 2:
        columns["aic"] = _drop_criteria(solution, terms, tests)
    robust = getattr(estimator, "meat_", None) is not None
    notes = [
        *(_robust_notes(estimator.covariance, coefficients) if robust else []),
        *_notes(coefficients, terms, hypotheses, [test.df for test in tests], kind),
    ]
    return Table(columns, title=_title(kind, "variance"), notes=notes)


def _drop_criteria(solution: Solution, terms: Sequence[FittedTerm], tests: Sequence[JointTest]) -> list[float]:
    """Return the AIC of the model without each term that no other contains, and that of the full model."""

    def aic(rss: float, parameters: int) -> float:
        with np.errstate(divide="ignore"):
            spread = np.log(2 * np.pi) + 1 + np.log(np.float64(rss) / solution.n)
        return float(solution.n * spread - solution.log_weight + 2 * parameters)

    rss, parameters = float(solution.rss[0]), solution.rank + int(solution.has_intercept) + 1
    contained = [any(term.inside(other) for other in terms) for term in terms]
    dropped = [
        np.nan if inside or np.isnan(test.squares) else aic(rss + test.squares, parameters - test.df)
        for test, inside in zip(tests, contained, strict=True)
    ]
    return [*dropped, aic(rss, parameters)]


def _hypotheses(model: Any, coefficients: Coefficients, terms: Sequence[FittedTerm], kind: int) -> list[Array]:
    """Return the hypothesis of each term."""
    if kind == 3:
        balanced = _balanced(model, coefficients, terms)
        return [
            L if any(term.inside(other) for other in terms) else _adjusted(model, coefficients, terms, i, 2)
            for i, (term, L) in enumerate(zip(terms, balanced, strict=True))
        ]
    return [_adjusted(model, coefficients, terms, i, kind) for i in range(len(terms))]


def _adjusted(model: Any, coefficients: Coefficients, terms: Sequence[FittedTerm], i: int, kind: int) -> Array:
    before, after = _around(terms, i, kind)
    if coefficients.null is not None and is_logistic(unwrap_estimator(model)):
        # Only the rows determine which columns are combinations of which. Without them, identified columns are tested.
        known = [j for j in terms[i].columns if coefficients.null[j] == 0]
        return adjusted_hypothesis(
            model, replace(coefficients, null=None), replace(terms[i], columns=np.array(known, dtype=np.intp)),
            before, [j for j in after if coefficients.null[j] == 0],
        )  # fmt: skip
    return adjusted_hypothesis(model, coefficients, terms[i], before, after)


def _around(terms: Sequence[FittedTerm], i: int, kind: int) -> tuple[list[int], list[int]]:
    """Return the columns that a term is adjusted for, and those that are ignored."""
    before: list[int] = []
    after: list[int] = []
    for j, other in enumerate(terms):
        if j != i:
            ignored = j > i if kind == 1 else terms[i].inside(other)
            (after if ignored else before).extend(other.columns.tolist())
    return before, after


def _balanced(model: Any, coefficients: Coefficients, terms: Sequence[FittedTerm]) -> list[Array]:
    q, logits = len(coefficients.names), coefficients.n_logits
    if unwrap_estimator(model) is model:
        parts = [np.eye(q)[term.columns] for term in terms]
    else:
        parts = balanced_hypotheses(model.design, terms, "Intercept" in coefficients.names[:1], q)
    return [np.asarray(np.kron(np.eye(logits), L), dtype=np.float64) for L in parts]


# --- logistic models ------------------------------------------------------------------------------


def _wald_table(model: Any, coefficients: Coefficients, terms: Sequence[FittedTerm], kind: int) -> Table:
    hypotheses = _hypotheses(model, coefficients, terms, kind)
    tests = [coefficients.test(L) if len(L) else JointTest(0.0, np.nan, 0, coefficients.dof) for L in hypotheses]
    columns: dict[str, list[Any]] = {
        "term": [term.label for term in terms],
        "df": [test.df for test in tests],
        "statistic": [test.statistic for test in tests],
        "p_value": [test.p_value for test in tests],
    }
    what = "χ²" if coefficients.dof == np.inf else "F"
    notes = [
        f"The tests are Wald {what} tests from the model alone. anova(model, data) gives likelihood-ratio tests.",
        *_notes(coefficients, terms, hypotheses, columns["df"], kind),
    ]
    return Table(columns, title=_title(kind, "deviance"), notes=notes)


def _deviance_table(
    model: Any, coefficients: Coefficients, terms: Sequence[FittedTerm], kind: int, data: Any, y: Any, weight: Any
) -> Table:
    estimator: LogisticRegression = unwrap_estimator(model)
    if estimator is model:
        _, data = unwrap_model(model, data, y, weight, "anova")
        rows = check_labelled_rows_of_fit(estimator, data, y, weight, "anova")
    else:
        unwrap_model(model, data, y, weight, "anova")
        rows = check_labelled_rows_of_fit(estimator, _cached(rows_of(model, data)), None, None, "anova")
    rows.classes = estimator.classes_
    fits = _Refits(estimator, rows, int("Intercept" in coefficients.names[:1]))
    hypotheses = _balanced(model, coefficients, terms) if kind == 3 else [np.zeros((0, 0))] * len(terms)
    results = []
    for i, term in enumerate(terms):
        contained = any(term.inside(other) for other in terms)
        if kind == 3 and contained:
            L = hypotheses[i][: len(hypotheses[i]) // coefficients.n_logits, : len(coefficients.names)]
            known = coefficients.null is None or bool(coefficients.estimable(hypotheses[i]).all())
            results.append((*fits.restricted(L), *fits.full) if known else None)
        else:
            before, _ = _around(terms, i, 2 if kind == 3 else kind)
            results.append((*fits.of(before), *fits.of([*before, *term.columns.tolist()])))
    df = [0 if found is None else found[3] - found[1] for found in results]
    statistic = [
        np.nan if found is None or not d else likelihood_ratio(found[2], found[0])
        for found, d in zip(results, df, strict=True)
    ]
    columns: dict[str, Any] = {
        "term": [term.label for term in terms],
        "df": df,
        "statistic": statistic,
        "p_value": chdtrc(np.maximum(df, 1), np.array(statistic)),
    }
    if kind == 2:
        constant = getattr(estimator, "log_coefficients_", 0.0)
        contained_terms = [any(term.inside(other) for other in terms) for term in terms]
        criteria = [
            np.nan if found is None or inside else 2 * (found[1] - found[0] - constant)
            for found, inside in zip(results, contained_terms, strict=True)
        ]
        loss, parameters = fits.full
        columns = {name: [*values, end] for (name, values), end in zip(
            columns.items(), ("(full model)", estimator.n_rows_ * len(estimator.coef_) - parameters, np.nan, np.nan),
            strict=True,
        )}  # fmt: skip
        columns["aic"] = [*criteria, 2 * (parameters - loss - constant)]
    printed = hypotheses if kind == 3 else []
    notes = ["The tests are likelihood-ratio χ² tests by refitting.", *_notes(coefficients, terms, printed, df, kind)]
    return Table(columns, title=_title(kind, "deviance"), notes=notes)


class _Refits:
    """Log likelihoods and numbers of parameters of smaller models of the same rows, each fitted once."""

    def __init__(self, estimator: LogisticRegression, rows: Rows, first: int) -> None:
        self.rows, self.first, self.estimator = rows, first, estimator
        self.full = largest_log_likelihood(estimator), count_parameters(estimator)
        self._known: dict[tuple[int, ...], tuple[float, int]] = {}

    def of(self, columns: Sequence[int]) -> tuple[float, int]:
        """Return the log likelihood and number of parameters with some columns only."""
        chosen = tuple(sorted(j - self.first for j in columns))
        if len(chosen) == self.estimator.n_features_in_:
            return self.full
        if chosen not in self._known:
            self._known[chosen] = self._fit(np.eye(self.estimator.n_features_in_)[:, list(chosen)])
        return self._known[chosen]

    def restricted(self, L: Array) -> tuple[float, int]:
        """Return the log likelihood and number of parameters with coefficients for which L·β = 0."""
        _, values, V = np.linalg.svd(L[:, self.first :])
        rank = int((values > 1e-10 * values[0]).sum())
        return self._fit(V[rank:].T)

    def _fit(self, basis: Array) -> tuple[float, int]:
        model = self.estimator
        if not basis.shape[1]:
            return model.null_log_likelihood_, self.first * len(model.coef_)
        small = clone(model).set_params(covariance="classical")  # the likelihood does not depend on it
        with warnings.catch_warnings():  # the fit warned of both, and the test allows for them
            warnings.simplefilter("ignore", SeparationWarning)
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            small.fit(_Recombined(self.rows, basis, model))
        return largest_log_likelihood(small), count_parameters(small)


class _Recombined(MappedRows):
    """The same rows with combinations of their columns."""

    def __init__(self, rows: Rows, basis: Array, model: LogisticRegression) -> None:
        names = tuple(f"c{j}" for j in range(basis.shape[1]))
        super().__init__(rows, _Recombine(basis, names))
        self.names, self.classes = names, model.classes_


class _Recombine:
    """Multiply the columns of a block by a matrix; picklable, so that it can be sent to workers."""

    def __init__(self, basis: Array, names: tuple[str, ...]) -> None:
        self.basis, self.names = basis, names

    def __call__(self, block: Block) -> Block:
        return replace(block, X=dense_float64(block.X) @ self.basis, names=self.names)


def _cached(rows: Any) -> Rows:
    return cache_in_memory(rows) if isinstance(rows, DesignRows) else rows


# --- words ----------------------------------------------------------------------------------------


def _title(kind: int, what: str) -> str:
    return f"Analysis of {what}, type {'I' * kind}"


def _robust_notes(covariance: str, coefficients: Coefficients) -> list[str]:
    notes = [f"F uses the {covariance} covariance, so it is not the ratio of mean squares."]
    if coefficients.small_sample is not None:
        notes.append("The residual degrees of freedom of F are estimated for each term (Hotelling's T²).")
    return notes


def _notes(
    coefficients: Coefficients, terms: Sequence[FittedTerm], hypotheses: Sequence[Array], df: Sequence[int], kind: int
) -> list[str]:
    """Return notes that name terms without a test or with fewer degrees of freedom, and the hypotheses of type III."""
    notes = []
    logits = coefficients.n_logits
    undetermined = [
        term.label for term, L in zip(terms, hypotheses, strict=False) if len(L) and not coefficients.estimable(L).all()
    ]
    if undetermined:
        notes.append(
            f"No test is possible for {join_names(undetermined, MAX_NAMED_TERMS, ', ')}, because the rows do not "
            "determine the hypothesis (empty cells, aliased columns or separated classes)."
        )
    unknown = [
        term.label
        for term, L in zip(terms, hypotheses, strict=False)
        if term.label not in undetermined and len(L) and np.isnan(coefficients.combine(L)[1]).any()
    ]
    if unknown:
        notes.append(
            f"No test is possible for {join_names(unknown, MAX_NAMED_TERMS, ', ')}, because a single row or cluster "
            "determines a coefficient, whose variance is therefore unknown."
        )
    others = [
        (term, d) for term, d in zip(terms, df, strict=True)
        if d < len(term.columns) * logits and term.label not in (*undetermined, *unknown)
    ]  # fmt: skip
    gone = [term.label for term, d in others if d == 0]
    fewer = [f"{term.label} ({d} of {len(term.columns) * logits})" for term, d in others if d > 0]
    if gone:
        notes.append(
            f"Terms that are linear combinations of the others (aliased): {join_names(gone, MAX_NAMED_TERMS, ', ')}."
        )
    if fewer:
        notes.append(
            "Terms with fewer degrees of freedom than columns (empty cells or aliased): "
            f"{join_names(fewer, MAX_NAMED_TERMS)}."
        )
    if kind == 3:
        shown = [(t, L) for t, L in zip(terms, hypotheses, strict=False) if t.label not in undetermined and len(L)]
        notes += [f"H₀ {term.label}: {equations(L, coefficients)}" for term, L in shown]
    return notes


def equations(L: Array, coefficients: Coefficients) -> str:
    """Return a hypothesis as equations in the names of the terms, reduced to echelon form."""
    L = _echelon(L[: max(len(L) // coefficients.n_logits, 1), : len(coefficients.names)])
    texts = []
    for row in L[:_MAX_EQUATIONS]:
        parts = [(float(row[j]), coefficients.names[j]) for j in np.flatnonzero(row)]
        text = " ".join(_scaled(value, name, k == 0) for k, (value, name) in enumerate(parts[:_MAX_COEFFICIENTS]))
        texts.append(text + (" + …" if len(parts) > _MAX_COEFFICIENTS else "") + " = 0")
    more = f" and {len(L) - _MAX_EQUATIONS} more" if len(L) > _MAX_EQUATIONS else ""
    return ", ".join(texts) + more


def _scaled(value: float, name: str, first: bool) -> str:
    share = Fraction(abs(value)).limit_denominator(1000)
    near = abs(float(share) - abs(value)) < 1e-12
    size = "" if near and share == 1 else f"{share}*" if near else f"{abs(value):.6g}*"
    sign = ("-" if value < 0 else "") if first else ("- " if value < 0 else "+ ")
    return f"{sign}{size}{name}"


def _echelon(L: Array) -> Array:
    """Return the reduced row echelon form of a matrix, without its zero rows."""
    A, row = L.copy(), 0
    tolerance = 1e-9 * np.abs(A).max(initial=1.0)
    for column in range(A.shape[1]):
        pivot = row + int(np.argmax(np.abs(A[row:, column]))) if row < len(A) else row
        if row == len(A) or abs(A[pivot, column]) <= tolerance:
            continue
        A[[row, pivot]] = A[[pivot, row]]
        A[row] /= A[row, column]
        others = np.arange(len(A)) != row
        A[others] -= A[others, column][:, None] * A[row]
        row += 1
    A[np.abs(A) <= 1e-9] = 0.0
    return A[:row]
