"""Decide which findings about a regression hold, from its facts.

The tests are in `inference.residual_patterns`, the sentences in regression.toml. Facts are those of
`regression_facts.residual_facts`, with ``target``, ``names``, ``features``, ``p``, ``levels``, ``shared``,
``parameters``, ``formula`` and ``n_dropped`` of the model; ``commands`` gives advice as options of the command line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from linearly.dataset.formula.tokens import quote_name
from linearly.findings.aliased_columns import aliased_finding, leave_out
from linearly.findings.finding import CHECK, PROBLEM, Finding, Options, sort_findings
from linearly.findings.regression_facts import LEVEL
from linearly.findings.repeated_rows import MIN_REPEATED_SHARE
from linearly.findings.sentences import describe_option, distinct_rows, make_finding
from linearly.formatting import format_number, join_names, pluralize
from linearly.inference.residual_patterns import HIGH_LEVERAGE as HIGH_LEVERAGE_OF_ONE

Facts = dict[str, Any]

INFLATED = 10.0  # variance inflation above is called collinear
STRONG = 0.5  # Cook's distance above is called influential
MIN_DIGITS = 8
MIN_ROWS_PER_COLUMN = 10
MAX_ROWS_NORMALITY = 200  # from which on intervals hold without normal errors
LEAKAGE_R_SQUARED = 0.999999
MIN_DROPPED_SHARE = 0.05
HIGH_LEVERAGE = 0.3  # above, robust standard errors are doubtful
N_FOLDS = 5  # of the cross-validation that chooses a penalty, each of which needs a row
_CAUSES = {  # of residuals that do not look normal although errors are
    "curvature": "the curve",
    "curve_or_correlation": "the curve",
    "unequal_variance": "the unequal variance",
    "robust_variance": "the unequal variance",
}


def regression_findings(facts: Facts) -> list[Finding]:
    """Return the findings about a regression, the worst first, with remedies."""
    found = [
        *_fit_findings(facts),
        *_row_findings(facts),
        *_residual_findings(facts),
        *_column_findings(facts),
        *_influence_findings(facts),
    ]
    ids = {finding.id for finding in found}
    # Rows that are not independent make the test of chance count too many of them. A curve is an effect, too.
    correlated = {"serial_correlation", "curve_or_correlation", "autocorrelation_allowed"}
    silenced = {"explains"} if correlated & ids else set()
    silenced |= {"chance"} if {"curvature", "curve_or_correlation"} & ids else set()
    found = [finding for finding in found if finding.id not in silenced]
    found = sort_findings(found)
    if "explains" in ids and not any(finding.severity in (CHECK, PROBLEM) for finding in found):
        call, variant = ("predict", "predict") if facts.get("held_out") else ("evaluate", "")
        command = f"linearly {call} MODEL NEW_DATA" if facts.get("commands") else f"model.{call}(new_rows)"
        found.append(make_finding("nothing_against", variant, option=command))
    return found


def is_rejected(test: Facts) -> bool:
    """Return whether the test of an assumption rejects it."""
    return test["p_value"] is not None and test["p_value"] <= LEVEL


def is_saturated(facts: Facts) -> bool:
    """Return whether a fit has as many coefficients as rows, so that it passes through every row."""
    return facts["training"] and facts["constant"] is None and facts["statistics"]["df_residual"] == 0


def is_structural(facts: Facts, term: str) -> bool:
    """Return whether a term is related to others by construction: a level of a category, a power, a product."""
    return term in facts["levels"] or term in facts["shared"]


# --- fit ------------------------------------------------------------------------------------------


def _fit_findings(facts: Facts) -> Iterator[Finding]:
    statistics, target = facts["statistics"], facts["target"]
    digits = statistics["digits"]
    if digits is None or digits >= MIN_DIGITS:
        yield make_finding("digits_enough", digits="–" if digits is None else int(digits))
    else:
        variant = "method" if "method" in facts["parameters"] else ""
        option = describe_option(facts, "method", "extended")
        yield make_finding("digits_few", variant, digits=int(digits), option=option, options=(("method", "extended"),))
    if not facts["training"]:
        yield make_finding("other_rows")
        return
    if facts["constant"] is not None:
        yield make_finding("constant", target=target, value=facts["constant"])
        return
    if is_saturated(facts):
        option, options = _ridge(facts)
        yield make_finding("saturated", n=facts["n"], p=facts["p"], option=option, options=options)
        return
    yield from _few_rows(facts)
    yield from _chance(facts)
    yield from _penalty(facts)
    if facts["alpha"]:
        yield make_finding("penalised_intervals")
    if facts["perfect"]:
        yield make_finding("perfect", target=target)
    elif (statistics["r_squared"] or 0) > LEAKAGE_R_SQUARED:
        yield _leakage(facts)
    if facts["two_values"] is not None:
        low, high = facts["two_values"]
        option = describe_option(facts, "model", "logistic")
        labels = low.is_integer() and high.is_integer()  # other numbers are not accepted as labels
        options = (("model", "logistic"),) if labels else ()
        variant = "" if labels else "recode"
        yield make_finding("two_values", variant, target=target, low=low, high=high, option=option, options=options)


def _few_rows(facts: Facts) -> Iterator[Finding]:
    statistics, p = facts["statistics"], facts["p"]
    adjusted = statistics["adj_r_squared"]
    if facts["n"] < MIN_ROWS_PER_COLUMN * p and statistics["r_squared"] is not None and adjusted is not None:
        advice, options = _advise_few_rows(facts)
        yield make_finding(
            "few_rows",
            n=facts["n"],
            p=p,
            adjusted=adjusted,
            r_squared=statistics["r_squared"],
            advice=advice,
            options=options,
        )


def _advise_few_rows(facts: Facts) -> tuple[str, Options]:
    """Return what helps a fit to few rows, and the options of such a fit."""
    option, options = ("", ()) if facts["alpha"] else _ridge(facts)
    ways = ["fewer columns"] * (facts["p"] > 1) + [f"ridge ({option})"] * bool(options)
    steps = [f"use {' or '.join(ways)}"] * bool(ways)
    steps += ["evaluate the model on held-out rows"] * (not facts.get("held_out"))
    advice = ", and ".join(steps or ["add rows"])
    return advice[0].upper() + advice[1:], options


def _ridge(facts: Facts) -> tuple[str, Options]:
    """Return ridge as an option of a fit: by cross-validation, which needs a row per fold, or else of alpha 1."""
    if facts["n"] < N_FOLDS:
        return describe_option(facts, "alpha", 1.0), (("alpha", "1.0"),)
    return "--cv" if facts.get("commands") else 'model="ridge"', (("cv", ""),)


def _chance(facts: Facts) -> Iterator[Finding]:
    """Yield whether the columns explain more than chance: by clusters if the fit has them, else by random signs."""
    clustered = facts["statistics"].get("n_clusters") is not None
    test = facts["statistics"] if clustered else facts["chance"]
    if facts["perfect"] or test is None or test["p_value"] is None or test["p_value"] != test["p_value"]:
        return
    name = "explains" if is_rejected(test) else "chance"
    statistic = test.get("statistic", test.get("f_statistic"))
    k = test.get("left_out", 0)
    without = f", without {pluralize(k, 'row')} of leverage above {HIGH_LEVERAGE_OF_ONE}" if k else ""
    yield make_finding(
        name, target=facts["target"], p_value=test["p_value"], statistic=statistic, without=without, left_out=k
    )


def _penalty(facts: Facts) -> Iterator[Finding]:
    penalties = facts.get("penalties")
    if penalties is None or len(penalties["alpha"]) < 2:
        return
    alphas, chosen = [float(alpha) for alpha in penalties["alpha"]], float(penalties["chosen"])
    for name, edge, factor in (("alpha_largest", max(alphas), 100.0), ("alpha_smallest", min(alphas), 0.01)):
        if chosen == edge:
            grid = sorted(float(f"{edge * factor**step:.3g}") for step in (0, 0.5, 1))
            text = f"[{','.join(map(str, grid))}]"
            options = (("alphas", text),)
            option = describe_option(facts, "alphas", text if facts.get("commands") else grid)
            yield make_finding(name, alpha=chosen, target=facts["target"], option=option, options=options)


def _leakage(facts: Facts) -> Finding:
    """Return the finding that names the term with the most standard errors from 0."""
    terms = facts["terms"]
    pairs = zip(terms["term"], terms["statistic"], strict=True)
    ranked = [(abs(t), term) for term, t in pairs if term != "Intercept" and t is not None and t == t]
    column = max(ranked)[1] if ranked else "a column"
    return make_finding("leakage", column=column, target=facts["target"], **leave_out(facts, [column]))


# --- rows and residuals ---------------------------------------------------------------------------


def _row_findings(facts: Facts) -> Iterator[Finding]:
    if facts["training"] and facts["repeated"] > MIN_REPEATED_SHARE:
        yield make_finding("repeated_rows", share=facts["repeated"], option=distinct_rows(facts))
    dropped = facts.get("n_dropped", 0)
    if dropped > MIN_DROPPED_SHARE * (facts["n"] + dropped):
        option = f"linearly check DATA --target {shlex.quote(facts['target'])}"
        yield make_finding("dropped_rows", n_dropped=dropped, target=facts["target"], option=option)


def _residual_findings(facts: Facts) -> list[Finding]:
    tests = {test["test"]: test for test in facts["tests"]}
    rejected = {name for name, test in tests.items() if is_rejected(test)}
    found = []
    ordered = "serial_correlation" in rejected and tests.get("curvature", {}).get("ordered", False)
    alike = ordered and "curvature" in rejected
    if alike:
        found.append(_curve_or_correlation(facts, tests["curvature"], tests["serial_correlation"]))
    elif "curvature" in rejected:
        found.append(_curvature(facts, tests["curvature"]))
    # Along ordered rows, errors of correlation 0.6 have unequal variances by this test in 10% of fits to 100 rows.
    if "unequal_variance" in rejected and not ordered:
        found.append(_unequal_variance(facts, tests["unequal_variance"]))
    if "serial_correlation" in rejected and not alike:
        found.append(_serial_correlation(facts, tests["serial_correlation"]))
    # Unequal variances and curves make residuals look as if errors were not normal.
    causes = [_CAUSES[finding.id] for finding in found if finding.id in _CAUSES]
    if "shapiro_wilk" in rejected:
        few = facts["n"] < MAX_ROWS_NORMALITY
        name = "not_normal_beside" if causes else "not_normal" if few else "not_normal_allowed"
        test, cause = tests["shapiro_wilk"], " or ".join(causes).capitalize()
        found.append(
            make_finding(name, n=facts["n"], p_value=test["p_value"], statistic=test["statistic"], cause=cause)
        )
    patterns = {"curvature", "unequal_variance", "serial_correlation"}
    if patterns <= set(tests) and not patterns & rejected:
        found.append(make_finding("no_residual_pattern"))
    return found


def _curve_or_correlation(facts: Facts, curve: Facts, serial: Facts) -> Finding:
    """Return the finding about a curve in a column by which rows are ordered: correlated errors look the same.

    If a formula has curves already, what is left is taken as correlation.
    """
    if facts["formula"] and curve["variable"] not in facts["features"]:
        return _serial_correlation(facts, serial)
    alone = _curvature(facts, curve)
    return make_finding(
        "curve_or_correlation",
        variable=curve["variable"] or "the fitted values",
        p_value=max(curve["p_value"], serial["p_value"]),
        statistic=curve["statistic"],
        curve=alone.remedy,
        options=alone.options,
    )


def _curvature(facts: Facts, test: Facts) -> Finding:
    variable, given = test["variable"], {"p_value": test["p_value"], "statistic": test["statistic"]}
    features, target = facts["features"], facts["target"]
    if variable is None and facts["formula"]:  # which may have the interactions already
        return make_finding("curvature", "fitted_formula", variable="the fitted values", **given)
    if variable is None:
        product = f"{quote_name(target)} ~ ({' + '.join(map(quote_name, features))})^2"
        variant = "fitted_positive" if facts["positive"] else "fitted"
        option, options = describe_option(facts, "formula", product), (("formula", product),)
        return make_finding(
            "curvature", variant, variable="the fitted values", target=target, option=option, options=options, **given
        )
    if max(facts["max_leverage"], float(variable in _alone_determined(facts))) > HIGH_LEVERAGE_OF_ONE:
        return make_finding("curvature", "leverage", variable=variable, **given)
    if test["degree"] == 1:
        return make_finding("curvature", "no_polynomial", variable=variable, **given)
    term = f"poly({quote_name(variable)}, {test['degree']})"
    if facts["formula"] or variable not in features:
        return make_finding("curvature", variable=variable, term=term, **given)
    others = [quote_name(name) for name in features if name != variable]
    formula = f"{quote_name(target)} ~ {' + '.join([*others, term])}"
    option, options = describe_option(facts, "formula", formula), (("formula", formula),)
    return make_finding("curvature", "formula", variable=variable, option=option, options=options, **given)


def _unequal_variance(facts: Facts, test: Facts) -> Finding:
    given = {"p_value": test["p_value"], "statistic": test["statistic"]}
    if facts["covariance"] != "classical":
        return make_finding("robust_variance", covariance=facts["covariance"], **given)
    if "covariance" not in facts["parameters"]:
        return make_finding("unequal_variance", **given)
    leverage = facts["max_leverage"]
    return make_finding(
        "unequal_variance",
        "robust_leverage" if leverage > HIGH_LEVERAGE else "robust",
        option=describe_option(facts, "covariance", "HC3"),
        options=(("covariance", "HC3"),),
        leverage=leverage,
        **given,
    )


def _serial_correlation(facts: Facts, test: Facts) -> Finding:
    given = {"p_value": test["p_value"], "statistic": test["statistic"]}
    sign = "positively" if test["statistic"] > 0 else "negatively"
    clusters = facts["statistics"].get("n_clusters")
    if clusters is not None:
        return make_finding("cluster_correlation", sign=sign, n_clusters=clusters, **given)
    if facts["covariance"] == "HAC":
        return make_finding("autocorrelation_allowed", sign=sign, **given)
    groups = "--groups COLUMN" if facts.get("commands") else 'covariance="cluster" with groups='
    option, options = describe_option(facts, "covariance", "HAC"), (("covariance", "HAC"),)
    variant = "robust" if "covariance" in facts["parameters"] else ""
    return make_finding(
        "serial_correlation", variant, sign=sign, option=option, options=options, groups=groups, **given
    )


# --- columns and influence ------------------------------------------------------------------------


def _column_findings(facts: Facts) -> list[Finding]:
    if facts["aliased"]:
        return [aliased_finding(facts, advise=not is_saturated(facts))]  # a saturated fit stays one without them
    if facts["vif"] is None or is_saturated(facts):
        return []
    pairs = list(zip(facts["vif"]["term"], facts["vif"]["vif"], strict=True))
    repeated = [term for term, v in pairs if v is None or v == float("inf")]
    if repeated:
        return [make_finding("combinations", terms=repeated)]
    high = sorted(((v, term) for term, v in pairs if v > INFLATED and not is_structural(facts, term)), reverse=True)
    if not high:
        structural = any(v > INFLATED for _, v in pairs)
        return [make_finding("structural_collinearity" if structural else "not_collinear")]
    terms = [term for _, term in high]
    return [make_finding("collinear", terms=terms, largest=high[0][0], **leave_out(facts, terms[:1]))]


def _influence_findings(facts: Facts) -> Iterator[Finding]:
    influence, exact = facts["influence"], facts["exact_rows"]
    if is_saturated(facts):
        return
    if exact is not None:
        yield _leverage_one(facts, exact)
    if not influence:
        return
    largest = influence["largest"]
    if largest <= STRONG:
        if exact is None:
            yield make_finding("no_influence", largest=largest)
        return
    rows = influence.get("rows", {"place": [], "cooks_distance": []})
    strong = [place for place, d in zip(rows["place"], rows["cooks_distance"], strict=True) if d > STRONG]
    variant = "several" if len(strong) > 1 else ""
    yield make_finding("influence", variant, rows=_join_places(strong) or "one row", largest=largest)


def _join_places(places: list[str]) -> str:
    """Return places of rows as one phrase, in the order of the data.

    >>> _join_places(["line 5 of a.csv", "line 2 of a.csv", "line 11 of a.csv"])
    'lines 2, 5 and 11 of a.csv'
    """
    found = [re.fullmatch(r"(row|line) (\d+)( of .*)?", place) for place in places]
    parts = [(match[1], match[3] or "", int(match[2])) for match in found if match]
    if len(places) < 2 or len(parts) < len(places) or len({part[:2] for part in parts}) > 1:
        return join_names(places)
    noun, file, _ = parts[0]
    return f"{noun}s {join_names([str(part[2]) for part in sorted(parts)])}{file}"


def _leverage_one(facts: Facts, exact: Facts) -> Finding:
    n, rest = exact["n"], exact["r_squared_rest"]
    row = (exact.get("place") or ["one row"])[0]
    columns = exact.get("columns") or [None]
    column = columns[0] or _reference_level(facts, exact) or "a coefficient"
    number = column in facts["features"] and column not in facts["levels"]
    if n == 1:
        rows, them = f"Only {row} determines {column}", "it"
    else:
        rows, them = f"Each of {n:,} rows alone determines a coefficient ({row}: {column})", "them"
    return make_finding(
        "leverage_one",
        "several" if n > 1 else "number" if number else "",
        rows=rows,
        row=row,
        them=them,
        column=column,
        target=facts["target"],
        r_squared_rest="" if rest is None else f" R² of the other rows is {format_number(rest, 3)}.",
    )


def _alone_determined(facts: Facts) -> set[str]:
    """Return the columns that a single row determines."""
    return {name for name in (facts["exact_rows"] or {}).get("columns", ()) if name is not None}


def _reference_level(facts: Facts, exact: Facts) -> str | None:
    """Return the reference level that only the first row of leverage 1 has, if there is one."""
    if not exact.get("zero"):
        return None
    groups: dict[tuple[str, Any], list[str]] = {}
    for name, reference in facts.get("references", {}).items():
        groups.setdefault((name.partition("[")[0], reference), []).append(name)
    for (factor, reference), names in groups.items():
        rest = exact["total_weight"] - sum(exact["column_sums"][name] for name in names)
        if set(names) <= set(exact["zero"][0]) and abs(rest - exact["weight"][0]) < 1e-6 * exact["total_weight"]:
            return f"{factor}[{reference}]"
    return None
