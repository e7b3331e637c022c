"""Evaluate a fitted model on rows, with the findings of regression.toml and classification.toml about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isclose
from typing import Any

from linearly.evaluation.evaluate import Evaluation, evaluate_rows
from linearly.evaluation.held_out_tests import classifier_tests
from linearly.findings.classification import classifier_findings
from linearly.findings.classification_facts import classification_facts
from linearly.findings.finding import Finding, sort_findings
from linearly.findings.sentences import describe_option, make_finding
from linearly.inference.unwrap import unwrap_estimator
from linearly.kernels.blas_threads import single_threaded_blas


@single_threaded_blas()
def evaluate(
    model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, positive: Any = None, level: float = 0.95
) -> Evaluation:
    """Evaluate a fitted classifier or regressor on rows, with confidence intervals.

    Parameters
    ----------
    model : Model or estimator
        A fitted model with ``predict``. A classifier also has ``classes_``. Metrics that require probabilities or
        scores are returned if it has ``predict_proba`` or ``decision_function``.
    X : array-like, data frame or Rows of shape (n_rows, n_features)
        Rows to predict. `Rows` may contain targets and weights. For a `Model`, data in any form that `fit` accepts.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), optional
        Numbers (regression), labels, or a 0/1 matrix (any subset of labels per row). For a `Model`, the target and
        weights of the data by default.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. Intervals count (Σw)² / Σw² rows; rows with weight 0 are left out.
    positive : label, optional
        The label, of two, that precision, recall, F1 and the curves refer to. By default, it is the positive label of a
        `Model`, or else the rarer label in these rows. If both are equally frequent, it is ``model.classes_[1]``.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Evaluation
        Tables of metrics, confusion matrix, metrics per class and calibration, curves, and findings.

    Raises
    ------
    TypeError
        If the model has no ``predict``, or is a classifier that was not fitted.
    ValueError
        If the data contain no rows, or if targets and predictions cannot be compared. The message names the row.

    See Also
    --------
    cross_validate : Evaluation without a second set of rows.
    plot_roc, plot_precision_recall, plot_calibration, plot_confusion : Draw an evaluation.

    Notes
    -----
    The findings are tests on these rows, so they hold for rows that the model was not fitted to. Linear and logistic
    regression record enough of the fit to recognise its rows. The finding ``rows_of_the_fit`` then replaces the tests.

    The intervals are for this model on similar rows. Proportions have Wilson's interval (F1 through TP / (TP + FP +
    FN)), and the area under the ROC curve has DeLong's. Means of row losses have Student's t interval of the logarithm,
    with corrections for skewed losses and few rows. Averages over classes combine the intervals of the classes. With at
    least 50 rows and 10 of each label, intervals at 95% contain the true value in 93 to 97% of samples. The page on
    trust lists the measured figures and the exceptions, such as RMSE of strongly skewed errors. A ratio 0/0 is defined
    as 0, and a note reports it. Scores are kept row by row for curves and calibration. All other figures are counted
    block by block.

    References
    ----------
    .. [1] Wilson (1927), Probable Inference, the Law of Succession, and Statistical Inference.
    .. [2] DeLong, DeLong, Clarke-Pearson (1988), Comparing the Areas under Two or More Correlated Receiver Operating
       Characteristic Curves.

    Examples
    --------
    >>> import linearly as ly
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> result = ly.evaluate(GaussianNB().fit(X, y), X, y)
    >>> result.confusion
    Confusion matrix: rows actual, columns predicted
    actual  predicted yes  predicted no
    -----------------------------------
    yes                 2             1
    no                  1             2
    >>> result["accuracy"]
    0.6666666666666666
    """
    judged = evaluate_rows(model, X, y, sample_weight=sample_weight, positive=positive, level=level)
    return replace(judged, findings=tuple(evaluation_findings(model, judged)))


def evaluation_findings(
    model: Any, judged: Evaluation, describe: Callable[[Any], str] = str, *, commands: bool = False,
    held_out: bool = False,
) -> list[Finding]:  # fmt: skip
    """Return the findings for and against a model from its evaluation; none for several labels per row.

    Parameters
    ----------
    model : Model or estimator
        The fitted model.
    judged : Evaluation
        Its evaluation.
    describe : callable
        Returns the text of a label.
    commands : bool
        True if advice is for the command line.
    held_out : bool
        True if it is known that the model was not fitted to the rows.
    """
    about = {"commands": commands, "target": getattr(model, "target", None) or "the target"}
    estimator = unwrap_estimator(model)
    if judged.kind == "multilabel":
        return []
    of_fit = not held_out and _has_rows_of_fit(estimator, judged)
    if judged.kind != "regression":
        tests = None if of_fit else {"tests": classifier_tests(judged)}
        facts = classification_facts(estimator, judged, describe) | about | {"held_out": tests, "training_rows": True}
        found = classifier_findings(facts)
    elif of_fit:
        command = "linearly evaluate MODEL NEW_DATA" if commands else "model.evaluate(new_rows)"
        found = [make_finding("rows_of_the_fit", catalogue="classification", option=command)]
    else:
        found = sort_findings(_regression_findings(judged, about))
    if of_fit or held_out:
        return found
    return [*found, make_finding("new_rows_assumed", catalogue="classification")]


def _regression_findings(judged: Evaluation, about: dict[str, Any]) -> Iterator[Finding]:
    for row in judged.metrics:
        if row["metric"] != "r_squared" or row["value"] != row["value"]:
            continue
        target = row.get("target", about["target"])
        name = "better_than_mean" if row["conf_low"] > 0 else "no_better_than_mean"
        name = "worse_than_mean" if row["conf_high"] < 0 else name
        options = (("model", "ridge"),) if name == "worse_than_mean" else ()
        finding = make_finding(
            name, target=target, share=judged.level, low=row["conf_low"], high=row["conf_high"],
            option=describe_option(about, "model", "ridge"), options=options,
        )  # fmt: skip
        yield replace(finding, level=round(1 - judged.level, 12))


def _has_rows_of_fit(estimator: Any, judged: Evaluation) -> bool:
    """Return whether the mean loss is that of the fit: squared errors, or log loss of logistic regression."""
    if judged.kind == "regression":
        found, fitted = judged["rmse"], getattr(estimator, "training_error_", None)
        return isinstance(fitted, float) and isclose(found**2, fitted, rel_tol=1e-9)
    fitted, rows = getattr(estimator, "log_likelihood_", None), judged.row_scores
    if fitted is None or rows is None:
        return False
    return isclose(-judged["log_loss"] * float(rows.weight.sum()), fitted, rel_tol=1e-9)
