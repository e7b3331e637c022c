"""Decide which findings about a regression to report: what was fitted, how good it is, and whether to trust it.

This module decides which sentences apply. The sentences are in templates/regression.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from linearly.formatting import join_names
from linearly.plots.regression_plots import STRONG, curvature_t
from linearly.report.figures import to_array
from linearly.report.page_parts import Facts, Finding, metrics_by_name, sort_findings
from linearly.report.texts import Texts

FAILS = 0.05  # p-values below are called a failure
INFLATED = 10.0  # variance inflation above is called collinear
MIN_DIGITS = 8
MIN_ROWS_PER_COLUMN = 10
MAX_ROWS_NORMALITY = 200  # from which on intervals hold without normal errors
MIN_CURVATURE_T = 3.0


def regression_texts(facts: Facts) -> Texts:
    """Return the sentences about a regression, with what they need beside the facts."""
    held = facts["held_out"] and metrics_by_name(facts["held_out"])
    return Texts(facts, judged=metrics_by_name(facts["evaluation"]), held=held)


def good(facts: Facts, texts: Texts) -> list[str]:
    """Return how good the fit is."""
    if not facts["training"]:
        return texts.sentences("good_on_other_rows")
    if facts["constant"] is not None:
        return texts.sentences("good_constant")
    left_out, r_squared = facts["left_out_r_squared"], facts["statistics"]["r_squared"]
    # Residuals of an overfitted model say nothing about errors on new rows.
    overfitted = left_out is not None and r_squared is not None and left_out < r_squared / 2
    return texts.sentences("good") + ([] if overfitted else texts.sentences("good_errors"))


def findings(facts: Facts) -> list[Finding]:
    """Return what speaks for and against the fit, the worst first, and what to do."""
    texts = Texts(facts)
    found = sort_findings(
        [
            *_fit_findings(facts, texts),
            *_residual_findings(facts, texts),
            *_column_findings(facts, texts),
            *_influence_findings(facts, texts),
        ]
    )
    return found if any(finding.action for finding in found) else [*found, texts.finding("nothing_against")]


def _fit_findings(facts: Facts, texts: Texts) -> Iterator[Finding]:
    statistics, training = facts["statistics"], facts["training"]
    certain = statistics["digits"] is None or statistics["digits"] >= MIN_DIGITS
    yield texts.finding("digits_enough" if certain else "digits_few")
    has_r_squared = statistics["r_squared"] is not None and statistics["adj_r_squared"] is not None
    if facts["n"] < MIN_ROWS_PER_COLUMN * facts["p"] and has_r_squared:
        yield texts.finding("few_rows")
    if training and statistics["f_statistic"] is not None and (statistics["p_value"] or 0) >= FAILS:
        yield texts.finding("chance")
    if not training:
        yield texts.finding("other_rows")
    if facts["constant"] is not None:
        yield texts.finding("constant")
    elif facts["perfect"]:
        yield texts.finding("perfect")
    if facts["two_values"] is not None:
        yield texts.finding("two_values")


def _residual_findings(facts: Facts, texts: Texts) -> list[Finding]:
    found, sample, covariance = [], facts.get("sample"), facts["covariance"]
    if sample and facts["training"] and facts["two_values"] is None:
        t = curvature_t(to_array(sample["fitted"]), to_array(sample["residual"]))
        found += [texts.finding("bend")] if abs(t) > MIN_CURVATURE_T else []
    matters = {
        "breusch_pagan": covariance == "classical",
        "durbin_watson": covariance != "cluster",
        "anderson_darling": facts["n"] < MAX_ROWS_NORMALITY,
    }
    tests = {test["test"]: test for test in facts["tests"]}
    for name, here in matters.items():
        if here and name in tests and is_rejected(tests[name]):
            found.append(texts.finding(name, p_value=tests[name]["p_value"]))
    return [texts.finding("residuals_fine")] if tests and not found else found


def _column_findings(facts: Facts, texts: Texts) -> list[Finding]:
    if facts["aliased"]:
        return [texts.finding("aliased")]
    if facts["vif"] is None:
        return []
    pairs = list(zip(facts["vif"]["term"], facts["vif"]["vif"], strict=True))
    repeated = [term for term, v in pairs if v is None]
    if repeated:
        return [texts.finding("combinations", repeated=repeated)]
    inflated = sorted(((v, term) for term, v in pairs if v > INFLATED), reverse=True)
    high = [(v, term) for v, term in inflated if not is_structural(facts, term)]
    if not high:
        return [texts.finding("not_collinear", inflated=inflated)]
    return [texts.finding("collinear", collinear=[term for _, term in high], largest=high[0][0])]


def _influence_findings(facts: Facts, texts: Texts) -> Iterator[Finding]:
    influence = facts["influence"]
    if influence and influence["largest"] <= STRONG:
        yield texts.finding("no_influence")
    elif influence:
        rows = influence.get("rows", {"place": [], "cooks_distance": []})
        pairs = zip(rows["place"], rows["cooks_distance"], strict=True)
        strong = [place for place, distance in pairs if distance > STRONG]
        yield texts.finding("influence", who=join_names(strong).capitalize() if strong else "A row")


def is_structural(facts: Facts, term: str) -> bool:
    """Return whether a term is related to others by construction: a level of a category, a power, a product."""
    return term in facts["levels"] or term in facts["shared"]


def is_rejected(test: Facts) -> bool:
    """Return whether the test of an assumption rejects it."""
    return test["p_value"] is not None and test["p_value"] < FAILS
