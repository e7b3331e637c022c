"""Compute for the report the test of each term and the marginal means of each category.

Both come from the model alone. Tables that need the rows are left out.
"""

from __future__ import annotations

import math
from typing import Any

from linearly.formatting import format_number
from linearly.inference.anova import anova
from linearly.inference.marginal_means import marginal_means
from linearly.models.kind_checks import is_logistic
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.linear_regression import LinearRegression
from linearly.report.page_parts import Facts, Section, align_decimals, format_p, interval, table, text

MAX_COLUMNS = 300  # of a design whose terms are tested
MAX_CATEGORIES = 6
MAX_LEVELS = 20


def question_facts(model: Any, level: float) -> Facts:
    """Return the tables of `anova` and of `marginal_means` for each category of a `Model`; empty if there are none."""
    design, estimator = getattr(model, "design", None), getattr(model, "estimator", None)
    if design is None or not design.terms or len(design.names) > MAX_COLUMNS or not _has_tests(estimator):
        return {}
    found: Facts = {}
    try:
        tests = anova(model)
        found["anova"] = {"columns": tests, "notes": list(tests.notes)}
    except (TypeError, ValueError, ArithmeticError):  # separated classes, or a solver without a Hessian
        return {}
    means = {}
    for category in design.categories[:MAX_CATEGORIES]:
        if len(category.levels) <= MAX_LEVELS:
            try:
                values = marginal_means(model, category.name, level=level)
            except (ValueError, ArithmeticError):
                continue
            means[category.name] = {"columns": values, "notes": list(values.notes)}
    return found | ({"means": means} if means else {})


def _has_tests(estimator: Any) -> bool:
    if isinstance(estimator, LeastSquaresBase):
        return isinstance(estimator, LinearRegression) and estimator.solution_.alpha == 0
    plain = is_logistic(estimator) and not estimator.multilabel_
    return plain and estimator.alpha == 0 and estimator.bias_reduction is None


def questions_section(facts: Facts) -> list[Section]:
    """Return the section with the test of each term and the means of the categories; or none."""
    if "anova" not in facts:
        return []
    columns = facts["anova"]["columns"]
    tested = any(p is not None and math.isfinite(p) for p in columns["p_value"])
    if not tested and "means" not in facts:
        return []
    squares = [("sum of squares", align_decimals(columns["sum_sq"]))] if "sum_sq" in columns else []
    head = ["term", "df", *(name for name, _ in squares), "F" if squares else "χ²", "p"]
    shown = [
        list(map(str, columns["df"])),
        *(values for _, values in squares),
        [format_number(value, 4) for value in columns["statistic"]],
        list(map(format_p, columns["p_value"])),
    ]
    how = "Each term is tested after the terms that do not contain it (type II)."
    parts = [text(how if tested else "", *facts["anova"]["notes"])]
    if tested:
        parts.append(table("Test of each term", head, list(zip(columns["term"], *shown, strict=True))))
    for name, means in facts.get("means", {}).items():
        parts += _means(facts, name, means)
    title = "Tests of terms, and means of categories" if "means" in facts else "Tests of terms"
    return [Section("terms", title, parts)]


def _means(facts: Facts, name: str, means: Facts) -> list[dict[str, Any]]:
    columns = means["columns"]
    keys = [key for key in (name, "label") if key in columns]
    head = [*keys, "mean", "standard error", f"{100 * facts['level']:g}% interval"]
    shown = [
        *(list(map(str, columns[key])) for key in keys),
        align_decimals(columns["estimate"]),
        align_decimals(columns["std_error"]),
        list(map(interval, columns["conf_low"], columns["conf_high"])),
    ]
    caption = f"Marginal means of {facts['target']} by {name}"
    return [table(caption, head, list(zip(*shown, strict=True)), left=(1,) * (len(keys) > 1)), text(*means["notes"])]
