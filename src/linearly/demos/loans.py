"""Loans generated from a known truth, so that estimates can be compared with it.

How much a customer gets is a regression, whether a loan is granted a classification, and how far a curve should bend
a matter of bias and variance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.api import Model
from linearly.demos.story import Columns, Score, Story, count_covered, listed_errors, subset, without
from linearly.evaluation.bias_variance import BiasVariance, bias_variance
from linearly.inference.tidy import tidy
from linearly.kernels.double_double import Array
from linearly.models.linear_regression import LinearRegression
from linearly.plots import style

NUMERIC = ("salary", "debt", "years", "age")
AMOUNT = {"Intercept": 8.0, "salary": 0.5, "debt": -0.6, "years": 0.4, "age": 0.0, "home[tenant]": -3.0}
GRANTED = {"Intercept": -1.0, "salary": 0.06, "debt": -0.15, "years": 0.1, "age": 0.0, "home[tenant]": -0.8}
NOISE = 5.0  # standard deviation of the amount, in thousands
_ROWS, _TEST = 600, 200
_SEED = 20
_SALARIES = 40  # customers of the curve
_DEGREES = range(9)
_BANKS = 200


def tell(story: Story, data: Path | None) -> None:
    """Tell the story."""
    customers, test = generated()
    story.chapter("data")
    story.tell("text", rows=_ROWS, test=_TEST)
    story.found |= {"rows": _ROWS, "test_rows": _TEST, "granted": int((customers["granted"] == "yes").sum())}
    train = without(subset(customers, ~test), "granted")
    model = story.fit(train, "amount", "linear")
    _estimate_amount(story, model, train, subset(customers, test))
    _classify_granted(story, customers, test)
    _bend_curve(story)
    story.finding("generated")
    story.report(model, train)


def generated() -> tuple[Columns, NDArray[np.bool_]]:
    """Return customers, and which of them are for the test."""
    draw = np.random.default_rng(_SEED)
    age = draw.integers(21, 66, _ROWS).astype(float)
    years = np.floor(draw.uniform(0, 1, _ROWS) * np.minimum(age - 20, 25))
    customers: Columns = {
        "salary": np.round(draw.gamma(8, 5, _ROWS) + 10, 1),
        "debt": np.round(draw.gamma(2, 4, _ROWS), 1),
        "years": years,
        "age": age,
        "home": np.where(draw.uniform(size=_ROWS) < 0.55, "tenant", "owner"),
    }
    customers["amount"] = np.round(truth(customers, AMOUNT) + draw.normal(0, NOISE, _ROWS), 1)
    customers["granted"] = np.where(draw.uniform(size=_ROWS) < chance(customers), "yes", "no")
    return customers, np.arange(_ROWS) >= _ROWS - _TEST


def truth(customers: Columns, weights: dict[str, float]) -> Array:
    """Return the weighted sum that amounts, or log-odds, are drawn from."""
    total = np.full(len(customers["salary"]), weights["Intercept"])
    for name in NUMERIC:
        total += weights[name] * customers[name]
    return np.asarray(total + weights["home[tenant]"] * (customers["home"] == "tenant"))


def chance(customers: Columns) -> Array:
    """Return the probability that a loan is granted."""
    return np.asarray(1 / (1 + np.exp(-truth(customers, GRANTED))))


def curve(salary: Array) -> Array:
    """Return what another bank lends on average: it rises with the salary, and levels off."""
    return np.asarray(40 / (1 + np.exp(-(salary - 45) / 7)))


# --- the chapters ---------------------------------------------------------------------------------


def _estimate_amount(story: Story, model: Model, train: Columns, test: Columns) -> None:
    terms = list(model.tidy())
    rows = []
    for row in terms:
        numbers = (
            f"{AMOUNT[row['term']]:.2f}",
            f"{row['estimate']:.2f}",
            f"{row['conf_low']:.2f} to {row['conf_high']:.2f}",
        )
        inside = "yes" if count_covered([row], AMOUNT) else "no"
        rows.append([row["term"], *(number.replace("-", "−") for number in numbers), inside])
    story.chapter("amount")
    story.table("terms", rows)
    found: dict[str, Any] = {
        "intervals_that_hold": count_covered(terms, AMOUNT),
        "intervals": len(terms),
        "sigma": float(model.glance().row(0)["sigma"]),
        "noise": NOISE,
        "rmse_new": float(np.sqrt(np.mean((model.predict(test) - test["amount"]) ** 2))),
        "coverage": _simulate_coverage(train),
        "terms": [{"term": row["term"], "truth": AMOUNT[row["term"]], "estimate": row["estimate"]} for row in terms],
    }
    values = {"held": found["intervals_that_hold"], "n": len(terms), "noise": NOISE, "error": found["rmse_new"]}
    story.tell("text", **values, banks=_BANKS, covered=100 * found["coverage"], sigma=found["sigma"])
    story.lead(**values)
    story.found["amount"] = found


def _simulate_coverage(customers: Columns) -> float:
    """Return the share of intervals that hold the truth, over many banks with these customers and new noise."""
    X = np.column_stack([*(customers[name] for name in NUMERIC), customers["home"] == "tenant"])
    noise = np.random.default_rng(_SEED + 2).normal(0, NOISE, (len(X), _BANKS))
    table = tidy(LinearRegression().fit(X, truth(customers, AMOUNT)[:, None] + noise))
    true = np.tile(list(AMOUNT.values()), _BANKS)
    return float(np.mean((table["conf_low"] <= true) & (true <= table["conf_high"])))


def _classify_granted(story: Story, customers: Columns, test: NDArray[np.bool_]) -> None:
    columns: Columns = {name: customers[name] for name in NUMERIC}
    columns["tenant"] = (customers["home"] == "tenant").astype(float)
    columns = {name: values / values[~test].std() for name, values in columns.items()}
    columns["granted"] = customers["granted"]
    fits = story.compare(subset(columns, ~test), subset(columns, test), "granted")
    rule = np.where(truth(customers, GRANTED) > 0, "yes", "no")
    trained, new = (Score.of(rule[part], customers["granted"][part]) for part in (~test, test))
    story.chapter("granted")
    story.table_of_errors(fits, [story.text("rule"), trained.number, new.with_interval])
    granted = chance(customers)
    least = float(np.minimum(granted, 1 - granted)[test].mean())
    terms = list(story.fit(without(subset(customers, ~test), "amount"), "granted", "logistic").tidy())
    held = count_covered(terms, GRANTED)
    story.tell("text", least=100 * least, held=held, n=len(terms))
    story.found["granted_errors"] = listed_errors(fits)
    story.found["granted"] = {
        "rule_errors_new": new.errors, "least_error": least, "intervals_that_hold": held, "intervals": len(terms)
    }  # fmt: skip


def _bend_curve(story: Story) -> None:
    salary = np.sort(np.random.default_rng(_SEED + 1).uniform(15, 85, _SALARIES))
    result = bias_variance(salary, truth=curve, noise=NOISE, degrees=_DEGREES, random_state=_SEED)
    story.chapter("bend")
    story.tell("polynomials", resamples=result.resamples, customers=_SALARIES)
    parts = ("noise", "bias2", "variance", "epe", "train_error")
    story.table("parts", [[str(row["degree"]), *(f"{row[name]:.1f}" for name in parts)] for row in result.table])
    story.tell("degrees", last=result.table.row(len(result.table) - 1), best=result.best)
    story.picture("bend", lambda ax: _draw_errors(ax, result), "picture", (6.8, 4.2))
    story.found["best_degree"] = int(result.best)


def _draw_errors(ax: Any, result: BiasVariance) -> None:
    lines = {
        "error on new customers": ("epe", style.BLACK, "-"),
        "error on training customers": ("train_error", style.GREY, "--"),
        "bias²": ("bias2", style.ORANGE, "-"),
        "variance": ("variance", style.BLUE, "-"),
        "noise": ("noise", style.GREY, ":"),
    }
    table = result.table
    for words, (name, colour, dashes) in lines.items():
        ax.plot(table["degree"], table[name], color=colour, linestyle=dashes, linewidth=1.8, label=words)
    ax.set_ylim(0, 2 * float(table["epe"][1]) / 1.6)
    style.legend(ax)
    message = f"Degree {result.best} is best on new customers. On training customers, the highest degree is best"
    style.frame(ax, message, "degree of the polynomial", "mean squared error")
