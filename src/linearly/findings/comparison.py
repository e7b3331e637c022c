"""Decide which findings about two models or more hold; the sentences are in comparison.toml."""

from __future__ import annotations

from functools import partial

from linearly.findings.finding import Finding
from linearly.findings.sentences import make_finding
from linearly.formatting import format_p_clause

LEVEL = 0.05  # of every test
SAME = 5e-4  # a smaller difference of scores is not shown

_make = partial(make_finding, catalogue="comparison")


def compare_finding(model: str, best: str, behind: float, p_value: float) -> Finding:
    """Return the finding of a comparison about a model, relative to the best one.

    Parameters
    ----------
    model, best : str
        Names of the models.
    behind : float
        How much lower the score of the model is.
    p_value : float
        P-value that it is not lower, as ``PairedLosses.behind_best`` returns it.
    """
    if p_value < LEVEL and abs(behind) >= SAME:
        return _make("worse_than_best", model=model, best=best, behind=behind, p_value=p_value)
    name = "no_clear_difference" if abs(behind) >= SAME else "same_score"
    return _make(name, model=model, best=best, behind=behind, p_value=p_value)


def baseline_finding(always: str, target: str, p_value: float) -> Finding:
    """Return whether any of several models predicts better than always predicting the mean or a label.

    Parameters
    ----------
    always, target : str
        What the baseline predicts, and the target.
    p_value : float
        P-value that no model is better, as ``PairedLosses.better_than`` returns it.
    """
    name = "beats_baseline" if p_value < LEVEL else "none_beats_baseline"
    return _make(name, always=always, target=target, p_value=p_value)


def difference_finding(test: dict[str, float] | str, terms: str) -> Finding:
    """Return whether the coefficients of two models differ, from a joint test or the reason why there is none."""
    if isinstance(test, str):
        return _make("no_joint_test", reason=test)
    k, statistic = test["df1"], test["statistic"]
    chi2 = test["df2"] == float("inf")
    text = f"χ² {k * statistic:.4g} on {k} df" if chi2 else f"F {statistic:.4g} on {k} and {test['df2']:.4g} df"
    name = "coefficients_differ" if test["p_value"] < LEVEL else "no_sign_of_difference"
    text += f", {format_p_clause(test['p_value'], 3)}"
    return _make(name, terms=terms, test=text, statistic=statistic, p_value=test["p_value"])


def not_comparable(name: str) -> Finding:
    """Return the finding that two models are the same, or share rows."""
    return _make(name)
