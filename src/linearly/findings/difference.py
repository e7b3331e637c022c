"""Report what changed between two fitted models: a table of coefficients, and findings about them together."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.findings.comparison import difference_finding, not_comparable
from linearly.findings.finding import Finding
from linearly.inference.difference import coefficient_changes, is_same_model, joint_test, shares_rows
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.table import Table


@single_threaded_blas()
def diff(a: Any, b: Any) -> Table:
    """Return the change of each coefficient between two models that were fitted to different rows.

    Parameters
    ----------
    a, b : Model, LinearRegression, RidgeCV or LogisticRegression
        Two fitted models of one kind, with the same columns. They must not share rows.

    Returns
    -------
    Table
        Columns ``term, first, second, change, std_error, statistic, p_value``, and ``label`` for three or more
        classes. The p-values are Welch's. A note gives a Wald test that all coefficients are the same, with the
        covariances of both fits. A note reports whether both models are the same or share rows.

    Raises
    ------
    TypeError
        If the models have no standard errors.
    ValueError
        If the models differ in kind, columns, intercept, classes or reference class.

    See Also
    --------
    compare_models : Test the additional terms of the bigger of two nested models.

    References
    ----------
    .. [1] Kenward, Roger (1997), Small Sample Inference for Fixed Effects from Restricted Maximum Likelihood.

    Examples
    --------
    >>> import linearly as ly
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> before = ly.LinearRegression().fit(X, [1.0, 3.1, 4.9, 7.0])
    >>> after = ly.LinearRegression().fit(X, [1.5, 4.0, 7.1, 10.0])
    >>> ly.diff(before, after)["change"].round(2)
    array([0.33, 0.88])
    """
    table = coefficient_changes(a, b)
    welch = "The tests treat the two sets of rows as independent, and allow unequal error variances."
    return Table({name: table[name] for name in table.columns}, table.title, [_joint_finding(a, b, table).claim, welch])


@single_threaded_blas()
def joint_finding(a: Any, b: Any) -> Finding:
    """Return whether two models that `diff` compares differ, or why no test is possible."""
    return _joint_finding(a, b, coefficient_changes(a, b))


def _joint_finding(a: Any, b: Any, table: Table) -> Finding:
    if is_same_model(a, b):
        return not_comparable("same_model")
    if shares_rows(a, b):
        return not_comparable("shared_rows")
    known = np.isfinite(table["std_error"])
    terms = "all terms" if known.all() else f"the {int(known.sum())} terms that have standard errors"
    try:
        return difference_finding(joint_test(a, b), terms)
    except ValueError as reason:
        return difference_finding(str(reason), terms)
