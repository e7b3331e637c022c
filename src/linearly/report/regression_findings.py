"""The four answers about a regression: what was fitted, how good it is, whether to trust it, what to do next."""

from __future__ import annotations

from typing import Any

from linearly.plots.regression_plots import STRONG, curvature_t
from linearly.report import figures
from linearly.report.page_parts import (
    Finding,
    clustered_option,
    count,
    digits,
    evaluate_call,
    format_count,
    format_number,
    format_p,
    held_out,
    interval,
    join_names,
    option,
    percent,
    predict_call,
)

Facts = dict[str, Any]

FAILS = 0.05  # p-values below are called a failure
INFLATED = 10.0  # variance inflation above is called collinear
FEW_DIGITS = 8
FEW_ROWS = 10  # a column


def fitted(facts: Facts) -> list[str]:
    """What was fitted."""
    kind = "ridge regression" if facts["alpha"] > 0 else "least squares"
    line = "a straight-line function" if facts["p"] == 1 else "a weighted sum"
    said = [
        f"{facts['target']} as {line} of {join_names(facts['names'], 8)}, by {kind} on {format_count(facts['n'])} rows."
    ]
    if facts["alpha"] > 0:
        said.append(f"The penalty alpha {format_number(facts['alpha'], 3)} pulls coefficients towards 0.")
    if not facts["intercept"]:
        said.append("There is no constant term: where all columns are 0 the prediction is 0.")
    if facts["weighted"]:
        said.append("Rows have weights.")
    if facts["n_dropped"]:
        said.append(f"{count(facts['n_dropped'], 'row')} with missing values left out.")
    return said


def good(facts: Facts) -> list[str]:
    """How good it is."""
    found = facts["statistics"]
    if not facts["training"]:
        metric = metrics(facts["evaluation"])
        rmse, r2 = metric["rmse"], metric["r_squared"]
        return [
            f"On these rows, which are not those of the fit, a prediction is off by {format_number(rmse['value'], 3)} "
            f"({interval(rmse['conf_low'], rmse['conf_high'])}), root mean square; on its own rows σ was "
            f"{format_number(found['sigma'], 3)}.",
            f"It accounts for {percent(max(r2['value'] or 0.0, 0.0))} of their variance.",
        ]
    if facts["constant"] is not None:
        return [f"{facts['target']} is {format_number(facts['constant'])} in every row: there is nothing to explain."]
    said, left_out = [], facts["left_out_r_squared"]
    if facts["held_out"]:
        metric = metrics(facts["held_out"])
        rmse, r2 = metric["rmse"], metric["r_squared"]
        said.append(
            f"On {held_out(facts)}, R² is {format_number(r2['value'], 3)}. A prediction is off by {format_number(rmse['value'], 3)} "
            f"({interval(rmse['conf_low'], rmse['conf_high'])}), root mean square."
        )
    elif left_out is not None:
        said.append(
            f"Leave-one-out R² is {format_number(left_out, 3)}. Predicted by a fit to the others, a row is "
            f"off by {format_number(facts['left_out'], 3)}, root mean square."
        )
    if found["r_squared"] is not None:
        p, n = len(facts["names"]), facts["n"]
        why = f", as {count(p, 'column')} can of {count(n, 'row')} whatever they are" if p >= n - 1 else ""
        said.append(f"On the {format_count(n)} rows of the fit, R² is {format_number(found['r_squared'], 3)}{why}.")
    if left_out is not None and found["r_squared"] is not None and left_out < found["r_squared"] / 2:
        return said  # what is left of rows that the fit has learnt by heart says nothing about errors
    if found["sigma"] is not None:
        said.append(
            f"A typical error there is {format_number(found['sigma'], 3)}; without the model it would be "
            f"{format_number(facts['spread'], 3)}, the standard deviation of {facts['target']}."
        )
    if found["p_value"] is not None and found["f_statistic"] is not None:
        if found["p_value"] < FAILS:
            said.append(f"The columns explain more than chance would (F test, p {format_p(found['p_value'])}).")
        else:
            said.append(f"That may be chance alone (F test, p {format_p(found['p_value'])}).")
    return said


def findings(facts: Facts) -> list[Finding]:
    """What speaks for and against it, the worst first, and what to do."""
    found = [_digits_finding(facts), _rows_finding(facts), _chance_finding(facts)]
    if not facts["training"]:
        found.append(
            Finding(
                "look",
                "These are not the rows of the fit, so nothing is said about its assumptions.",
                "Write a report on the rows of the fit to see whether its assumptions hold.",
                "fit",
            )
        )
    if facts["constant"] is not None:
        found.append(
            Finding(
                "bad",
                f"{facts['target']} is always {format_number(facts['constant'])}, so these rows cannot tell what it depends on.",
                f"Take rows in which {facts['target']} differs.",
                "fit",
            )
        )
    elif facts["perfect"]:
        found.append(
            Finding(
                "look",
                f"The columns give {facts['target']} away: what is left over is rounding, so it is not tested.",
                f"Leave out columns that are known only once {facts['target']} is, if there are such.",
                "fit",
            )
        )
    found += [_two_values_finding(facts), *_test_findings(facts), *_column_findings(facts), _influence_finding(facts)]
    marks = ("bad", "look", "good")
    result = sorted((finding for finding in found if finding is not None), key=lambda f: marks.index(f.mark))
    if not any(finding.action for finding in result):
        result.append(
            Finding(
                "good",
                "Nothing here speaks against the model.",
                f"Predict new rows: {predict_call(facts)}."
                if facts["held_out"]
                else f"Try it on rows that it has not seen: {evaluate_call(facts)}.",
                "fit",
            )
        )
    return result


def _digits_finding(facts: Facts) -> Finding:
    sure = facts["statistics"]["digits"]
    if sure is None or sure >= FEW_DIGITS:
        return Finding("good", f"Computed to at least {digits(sure)} digits.", where="computed")
    return Finding(
        "bad",
        f"Only about {digits(sure)} digits of the coefficients are certain.",
        f"Fit again with {option(facts, 'method', 'exact')}, or drop columns that repeat each other."
        if "method" in facts["parameters"]
        else "Drop columns that repeat each other, or try larger alphas.",
        "computed",
    )


def _rows_finding(facts: Facts) -> Finding | None:
    n, p = facts["n"], facts["p"]
    if n >= FEW_ROWS * p:
        return None
    r, adjusted = facts["statistics"]["r_squared"], facts["statistics"]["adj_r_squared"]
    if r is None or adjusted is None:
        return None
    return Finding(
        "look",
        f"Only {n / p:.1f} rows per column, so R² is optimistic (adjusted R² {format_number(adjusted, 3)}, not {format_number(r, 3)}).",
        f"Use fewer columns{'' if facts['alpha'] else ', or ridge'}."
        if facts["held_out"]
        else f"Use fewer columns{'' if facts['alpha'] else ', or ridge,'} and judge it on rows that it has not seen.",
        "fit",
    )


def _chance_finding(facts: Facts) -> Finding | None:
    found = facts["statistics"]
    if not facts["training"] or found["f_statistic"] is None or found["p_value"] is None or found["p_value"] < FAILS:
        return None
    return Finding(
        "look",
        f"It may tell nothing: chance alone fits as well this often (F test, p {format_p(found['p_value'])}).",
        f"Look for columns that say more about {facts['target']}, or for more rows.",
        "fit",
    )


def _two_values_finding(facts: Facts) -> Finding | None:
    if facts["two_values"] is None:
        return None
    low, high = (format_number(value) for value in facts["two_values"])
    return Finding(
        "look",
        f"{facts['target']} holds only {low} and {high}. Its errors are neither normal nor of equal variance, so "
        "intervals and p-values are rough.",
        f"Fit logistic regression, the usual model of a target of two values: {option(facts, 'model', 'logistic')}.",
        "fit",
    )


def _test_findings(facts: Facts) -> list[Finding]:
    found = []
    tests = {test["test"]: test for test in facts["tests"]}
    sample = facts.get("sample")
    if sample and facts["training"] and facts["two_values"] is None:
        t = curvature_t(figures.numbers(sample["fitted"]), figures.numbers(sample["residual"]))
        if abs(t) > 3:
            found.append(
                Finding(
                    "bad",
                    "The residuals bend: a straight line misses something.",
                    "Add a square or an interaction, or take the logarithm of the target.",
                    "residuals",
                )
            )
    uneven = tests.get("breusch_pagan")
    if uneven and fails(uneven) and facts["covariance"] == "classical":
        found.append(
            Finding(
                "look",
                f"The spread of the errors changes (p {format_p(uneven['p_value'])}): intervals are off.",
                f"Fit again with {option(facts, 'covariance', 'HC3')}; the coefficients stay, the intervals will hold."
                if "covariance" in facts["parameters"]
                else "Take the intervals with care.",
                "residuals",
            )
        )
    serial = tests.get("durbin_watson")
    if serial and fails(serial) and facts["covariance"] != "cluster":
        found.append(
            Finding(
                "look",
                f"Neighbouring rows err alike (p {format_p(serial['p_value'])}): if they follow each other in time, "
                "intervals are too narrow.",
                "If rows have an order, add time or groups to the model"
                + (f", or use {clustered_option(facts)}." if "covariance" in facts["parameters"] else "."),
                "residuals",
            )
        )
    normal = tests.get("anderson_darling")
    if normal and fails(normal) and facts["n"] < 200:
        found.append(
            Finding(
                "look",
                f"The errors are not normal (p {format_p(normal['p_value'])}), which matters with {facts['n']} rows.",
                "Take p-values near 0.05 and prediction intervals with care.",
                "residuals",
            )
        )
    if tests and not found:
        told_of = "No evidence of a bend, of unequal variance or of serial correlation in the residuals."
        found.append(Finding("good", told_of, where="residuals"))
    return found


def _column_findings(facts: Facts) -> list[Finding]:
    if facts["aliased"]:
        return [
            Finding(
                "bad",
                f"{join_names(facts['aliased'])} repeat other columns: their coefficients mean nothing on their own.",
                f"Drop {join_names(facts['aliased'])}.",
                "collinearity",
            )
        ]
    if facts["vif"] is None:
        return []
    repeated = [term for term, v in zip(facts["vif"]["term"], facts["vif"]["vif"], strict=True) if v is None]
    if repeated:
        return [
            Finding(
                "look",
                f"{join_names(repeated)} {'is a combination' if len(repeated) == 1 else 'are combinations'} of other "
                "columns: how the penalty shares out their effect is not told by the rows.",
                "Leave out what other columns say already, if single coefficients matter.",
                "collinearity",
            )
        ]
    pairs = zip(facts["vif"]["term"], facts["vif"]["vif"], strict=True)
    inflated = [(v, term) for term, v in pairs if v > INFLATED]
    high = sorted(((v, term) for v, term in inflated if not structural(facts, term)), reverse=True)
    if not high:
        said = "No column is nearly a combination of the others"
        if inflated:
            said += ", but for terms that share a column: those are related by construction"
        return [Finding("good", f"{said}.", where="collinearity")]
    names = [term for _, term in high]
    which = "it" if len(names) == 1 else "one of them"
    on_page = "; “Refit it here” does it on this page" if facts["refit"] else ""
    return [
        Finding(
            "look",
            f"{join_names(names)} {'is' if len(names) == 1 else 'are'} nearly told by the other columns (variance "
            f"inflation up to {format_number(high[0][0], 3)}), so single coefficients are uncertain.",
            f"Try the fit without {which}{on_page}.",
            "collinearity",
        )
    ]


def _influence_finding(facts: Facts) -> Finding | None:
    found = facts["influence"]
    if not found:
        return None
    if found["largest"] <= STRONG:
        return Finding("good", "No single row decides the fit.", where="influence")
    who = "A row"
    if found.get("rows"):
        rows = zip(found["rows"]["place"], found["rows"]["cooks_distance"], strict=True)
        who = join_names([place for place, distance in rows if distance > STRONG]).capitalize()
    return Finding(
        "look",
        f"{who} weigh{'s' if ' and ' not in who and ',' not in who else ''} heavily on the fit (Cook's distance up to "
        f"{format_number(found['largest'], 2)}).",
        f"Check {who[:1].lower() + who[1:]} for errors, and see what leaving out changes.",
        "influence",
    )


def structural(facts: Facts, term: str) -> bool:
    """Whether a term is related to others by what it is: a level of a category, a power, a product or part of one."""
    return term in facts["levels"] or term in facts["shared"]


def fails(test: dict[str, Any]) -> bool:
    """Whether the test of an assumption rejects it."""
    return test["p_value"] is not None and test["p_value"] < FAILS


def metrics(evaluation: Facts) -> dict[str, dict[str, Any]]:
    """The figures of merit of an evaluation, by name."""
    columns = evaluation["metrics"]
    return {
        name: {key: columns[key][i] for key in ("value", "conf_low", "conf_high")}
        for i, name in enumerate(columns["metric"])
    }
