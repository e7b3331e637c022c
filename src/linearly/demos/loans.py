"""The loans of S1, generated from a truth that is known: so estimates can be held against it.

How much a customer gets is a regression, whether a loan is granted a classification, and how far a curve should bend
a matter of bias and variance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.api import Model
from linearly.demos.story import CLASSIFIERS, Columns, Score, Story, listed_errors, subset
from linearly.evaluation.bias_variance import BiasVariance, bias_variance
from linearly.inference.tidy import tidy
from linearly.models.linear_regression import LinearRegression
from linearly.plots import style
from linearly.report.page_parts import Finding

Array = NDArray[np.float64]

AMOUNT = {"Intercept": 8.0, "salary": 0.5, "debt": -0.6, "years": 0.4, "age": 0.0, "home[tenant]": -3.0}
GRANTED = {"Intercept": -1.0, "salary": 0.06, "debt": -0.15, "years": 0.1, "age": 0.0, "home[tenant]": -0.8}
NOISE = 5.0  # standard deviation of the amount, in thousands
_ROWS, _TEST = 600, 200
_SEED = 20
_SALARIES = 40  # customers of the curve
_DEGREES = range(9)
_BANKS = 200


def tell(story: Story, data: Path | None) -> None:
    """The story."""
    if data is not None:
        raise ValueError("The loans are generated, since the truth about them must be known: leave the file out.")
    customers, test = generated()
    train = subset(customers, ~test)
    _begin(story, customers)
    amount = {name: values for name, values in train.items() if name != "granted"}
    model = story.fit(amount, "amount", "linear")
    _amount(story, model, train, {name: values[test] for name, values in customers.items() if name != "granted"})
    _granted(story, customers, test)
    _bend(story)
    story.findings.insert(0, Finding("look", "These loans are generated: they say nothing about real ones."))
    story.about(model, amount, "the regression of the amount")


def generated() -> tuple[Columns, NDArray[np.bool_]]:
    """Customers, and which of them are for the test."""
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
    chance = 1 / (1 + np.exp(-truth(customers, GRANTED)))
    customers["granted"] = np.where(draw.uniform(size=_ROWS) < chance, "yes", "no")
    return customers, np.arange(_ROWS) >= _ROWS - _TEST


def truth(customers: Columns, weights: dict[str, float]) -> Array:
    """The weighted sum that amounts, or log-odds, are drawn from."""
    total = np.full(len(customers["salary"]), weights["Intercept"])
    for name in ("salary", "debt", "years", "age"):
        total += weights[name] * customers[name]
    return np.asarray(total + weights["home[tenant]"] * (customers["home"] == "tenant"))


def curve(salary: Array) -> Array:
    """What another bank lends, in the mean: it rises with the salary, and levels off."""
    return np.asarray(40 / (1 + np.exp(-(salary - 45) / 7)))


# --- the chapters ---------------------------------------------------------------------------------


def _begin(story: Story, customers: Columns) -> None:
    story.chapter("data", "A bank whose rules we know")
    story.tell(
        f"{_ROWS} customers are generated, not real: salary and debt in thousands, years in the job, age, and whether "
        f"they own their home. {_TEST} are set aside, and judge. The bank's rules are ours, so every estimate can be "
        "held against the truth. Age counts for nothing in them."
    )
    story.found |= {"rows": _ROWS, "test_rows": _TEST, "granted": int((customers["granted"] == "yes").sum())}


def _amount(story: Story, model: Model, train: Columns, test: Columns) -> None:
    terms = list(model.tidy())
    story.chapter("amount", "How much? Least squares")
    rows, held = [], 0
    for row in terms:
        true = AMOUNT[row["term"]]
        inside = row["conf_low"] <= true <= row["conf_high"]
        held += inside
        ends = f"{row['conf_low']:.2f} to {row['conf_high']:.2f}"
        rows.append([row["term"], f"{true:.2f}", f"{row['estimate']:.2f}", ends, "yes" if inside else "no"])
    head = ["term", "truth", "estimate", "95 % interval", "holds the truth"]
    story.table(
        "What one unit more adds to the amount, in thousands", head, [[_minus(c) for c in row] for row in rows], (4,)
    )
    error = float(np.sqrt(np.mean((model.predict(test) - test["amount"]) ** 2)))
    sigma = float(model.glance().row(0)["sigma"])
    covered = _coverage(train)
    story.tell(
        f"{held} of {len(terms)} intervals hold the truth. Over {_BANKS} banks generated in the same way "
        f"{100 * covered:.1f} % of the intervals do: 95 % is a promise about the long run, not about one interval.",
        f"The residuals have a standard deviation of {sigma:.2f}, the noise was {NOISE:g}. On new customers the error "
        f"is {error:.2f}: the noise is nobody's to predict.",
    )
    story.found["amount"] = {
        "intervals_that_hold": held, "intervals": len(terms), "sigma": sigma, "noise": NOISE, "rmse_new": error,
        "coverage": covered,
        "terms": [{"term": row["term"], "truth": AMOUNT[row["term"]], "estimate": row["estimate"]} for row in terms],
    }  # fmt: skip
    story.lead = [
        f"{held} of {len(terms)} intervals hold the truth that the data were generated from.",
        f"The error on new customers is {error:.2f} thousand; the noise alone is {NOISE:g}.",
    ]


def _coverage(customers: Columns) -> float:
    """The share of intervals that hold the truth, over many banks with these customers and new noise."""
    X = np.column_stack([customers[name] for name in ("salary", "debt", "years", "age")])
    X = np.column_stack([X, customers["home"] == "tenant"])
    noise = np.random.default_rng(_SEED + 2).normal(0, NOISE, (len(X), _BANKS))
    table = tidy(LinearRegression().fit(X, truth(customers, AMOUNT)[:, None] + noise))
    true = np.tile(list(AMOUNT.values()), _BANKS)
    return float(np.mean((table["conf_low"] <= true) & (true <= table["conf_high"])))


def _granted(story: Story, customers: Columns, test: NDArray[np.bool_]) -> None:
    columns: Columns = {name: customers[name] for name in ("salary", "debt", "years", "age")}
    columns["tenant"] = (customers["home"] == "tenant").astype(float)
    columns = {name: values / values[~test].std() for name, values in columns.items()}
    columns["granted"] = customers["granted"]
    fits = story.compare(subset(columns, ~test), subset(columns, test), "granted")
    said = np.where(truth(customers, GRANTED) > 0, "yes", "no")
    known = [Score.of_labels(said[part], customers["granted"][part]) for part in (~test, test)]
    story.chapter("granted", "Yes or no? Eight classifiers, and the truth itself")
    rows = [[CLASSIFIERS[name], fit.trained.number, fit.new.with_interval] for name, fit in fits.items()]
    rows.append(["the bank's own rule", known[0].number, known[1].with_interval])
    story.table("Errors on training customers and on new ones", ["errors in %, 95 % interval", "training", "new"], rows)
    chance = 1 / (1 + np.exp(-truth(customers, GRANTED)))
    least = float(np.minimum(chance, 1 - chance)[test].mean())
    model = story.fit(
        {name: values[~test] for name, values in customers.items() if name != "amount"}, "granted", "logistic"
    )
    terms = list(model.tidy())
    held = sum(row["conf_low"] <= GRANTED[row["term"]] <= row["conf_high"] for row in terms)
    story.tell(
        f"Whether a loan is granted is partly luck here, so even who knows the rule is wrong on {100 * least:.1f} % of "
        "customers in the mean. A classifier near that has learnt what there is to learn; one far below it on training "
        "rows has learnt the luck. Logistic regression is the model that the data were drawn from: "
        f"{held} of {len(terms)} of its intervals hold the truth."
    )
    story.found["granted_errors"] = listed_errors(fits)
    story.found["granted"] = {
        "rule_errors_new": known[1].errors, "least_error": least, "intervals_that_hold": held, "intervals": len(terms)
    }  # fmt: skip


def _bend(story: Story) -> None:
    salary = np.sort(np.random.default_rng(_SEED + 1).uniform(15, 85, _SALARIES))
    result = bias_variance(salary, truth=curve, noise=NOISE, degrees=_DEGREES, random_state=_SEED)
    story.chapter("bend", "How far should a curve bend?")
    story.tell(
        f"Another bank lends more to higher salaries, up to a point: a bent curve. Polynomials are fitted to "
        f"{result.resamples} banks of {_SALARIES} customers each, drawn from that truth."
    )
    rows = [
        [str(row["degree"]), *(f"{row[name]:.1f}" for name in ("noise", "bias2", "variance", "epe", "train_error"))]
        for row in result.table
    ]
    head = ["degree", "noise", "bias²", "variance", "error on new", "error on training"]
    story.table("Error on new customers, measured apart from what it is made of: noise, bias² and variance", head, rows)
    last = result.table.row(len(result.table) - 1)
    story.tell(
        f"A straight line is too stiff, and its error is bias. Degree {last['degree']} is too free: its training error "
        f"is the lowest, {last['train_error']:.1f}, and its variance the highest, {last['variance']:.1f}. On new "
        f"customers degree {result.best} is best."
    )
    _picture(story, result)
    story.found["best_degree"] = int(result.best)


def _picture(story: Story, result: BiasVariance) -> None:
    def draw(ax: Any) -> None:
        degree, table = np.asarray(result.table["degree"]), result.table
        lines = {
            "error on new customers": ("epe", style.BLACK, "-"),
            "error on training customers": ("train_error", style.GREY, "--"),
            "bias²": ("bias2", style.ORANGE, "-"),
            "variance": ("variance", style.BLUE, "-"),
            "noise": ("noise", style.GREY, ":"),
        }
        for words, (name, colour, dashes) in lines.items():
            ax.plot(degree, table[name], color=colour, linestyle=dashes, linewidth=1.8, label=words)
        ax.set_ylim(0, 2 * float(table["epe"][1]) / 1.6)
        style.legend(ax, loc="upper right")
        message = f"Degree {result.best} is best on new customers; on training customers more is always better"
        style.frame(ax, message, "degree of the polynomial", "mean squared error")

    story.picture("bend", draw, "Expected squared error against the degree, and what it is made of.", (6.8, 4.2))


def _minus(cell: str) -> str:
    return cell.replace("-", "−") if cell[:1] in "-0123456789" else cell
