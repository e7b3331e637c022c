"""What the page of a classifier says: the four answers, and a section for each question behind them."""

from __future__ import annotations

import math
from typing import Any

from linearly.report import figures
from linearly.report.classifier_findings import (
    Facts,
    counts_of,
    ends,
    findings,
    finite,
    fitted,
    good,
    metric,
    on_rows,
    share,
)
from linearly.report.figures import Told
from linearly.report.page_parts import (
    Page,
    Part,
    Section,
    aligned,
    computed_part,
    factor_interval,
    format_count,
    format_factor,
    format_number,
    format_p,
    grid,
    interval,
    join_names,
    percent,
    qualified,
    rows_part,
    table,
    text,
)

_METRICS = {
    "accuracy": ("Accuracy", "The share of the rows that is classified right."),
    "balanced_accuracy": ("Balanced accuracy", "The same with every label counting the same, however rare."),
    "precision": ("Precision", "Of the rows called {positive}, the share that is."),
    "recall": ("Recall", "Of the rows that are {positive}, the share that is found."),
    "f1": ("F1", "Precision and recall in one number, near the smaller of the two."),
    "macro_precision": ("Precision, mean", "Of the rows given a label, the share that has it; mean over labels."),
    "macro_recall": ("Recall, mean", "Of the rows that have a label, the share that is found; mean over labels."),
    "macro_f1": ("F1, mean", "Precision and recall in one number; mean over labels."),
    "micro_f1": ("F1 over all rows", "With one label a row the same as accuracy."),
    "log_loss": ("Log loss", "The mean surprise of the probabilities: 0 is sure and right, {guessing} is guessing."),
    "brier_score": ("Brier score", "The mean squared error of the probabilities: lower is better."),
    "roc_auc": ("ROC AUC", "How often a row that is {positive} scores higher than one that is not."),
    "macro_roc_auc": (
        "ROC AUC, mean",
        "How often a row of a label scores higher for it than another; mean over labels.",
    ),
    "average_precision": ("Average precision", "Precision over all thresholds, weighted by what each adds in recall."),
    "macro_average_precision": (
        "Average precision, mean",
        "Precision over all thresholds, weighted by what each adds in recall; mean over labels.",
    ),
    "calibration_error": ("Calibration error", "How far probabilities are from what happens, on average."),
}
_HYPERPLANE = {
    "separable": "Yes. Some hyperplane has every row strictly on its own side",
    "quasi-separable": "Almost: a hyperplane has no row on the wrong side, but some lie on it",
    "overlapping": "No. Whatever hyperplane is drawn, some rows are on the wrong side",
    "margin": "The distance of the nearest row from the hyperplane.",
    "floor": "Proven: no hyperplane makes fewer errors on these rows.",
}
_SCORES = {  # of three labels and more: one linear score for each, and the largest wins
    "separable": "Yes. Linear scores, one for each label, have the label of every row strictly above the others",
    "quasi-separable": (
        "Almost: linear scores, one for each label, put no rival above the label of any row, but some tie with it"
    ),
    "overlapping": "No. Whatever linear scores the labels are given, some rows have a rival above their own label",
    "margin": "By how much the label of a row leads its best rival at least, by weights of size 1.",
    "floor": "Proven: no linear scores of which the largest wins make fewer errors on these rows.",
}
_DOUBT = "; could be none"
_SHADES = 8  # of a confusion matrix
_WIDEST = 16  # labels of a confusion matrix that is shown


def class_page(facts: Facts) -> Page:
    """The page of a classifier."""
    evaluation = Told.of(facts["evaluation"])
    sections = [Section("right", "How often it is right", _right(facts, evaluation))]
    drawn = figures.curves(evaluation)
    if drawn:
        lead = text(f"On {on_rows(facts)}.", _ranking(evaluation))
        sections.append(Section("ranking", "Does it rank well?", [lead, grid(*drawn)]))
    calibration = figures.calibration(evaluation)
    if calibration is not None:
        sections.append(
            Section("calibration", "Are its probabilities true?", _calibration(facts, evaluation, calibration))
        )
    if facts.get("terms") or facts.get("coefficients"):
        sections.append(Section("coefficients", "What each column does", _coefficients(facts)))
    if facts.get("plane"):
        sections.append(Section("regions", "What it says where", [figures.regions(facts)]))
    if facts["training"]:
        sections.append(Section("training", "How the training went", _training(facts)))
    proof = facts["separability"]
    what = "a hyperplane" if len(facts["classes"]) == 2 or (proof and proof["n_labels"] == 2) else "linear scores"
    sections.append(Section("separability", f"Can {what} separate them?", _separability(facts)))
    if facts.get("rows"):
        sections.append(
            Section(
                "rows",
                "Some of the rows",
                rows_part(facts["rows"], facts["target"], [("predicted", "predicted")], facts["n"]),
            )
        )
    sections.append(Section("computed", "How it was computed", computed_part(facts, _computed(facts))))
    labels = join_names(facts["classes"], 3)
    return Page(
        f"{facts['target']}: {labels}",
        fitted(facts),
        good(facts, evaluation),
        findings(facts, evaluation),
        sections,
    )


# --- the sections ---------------------------------------------------------------------------------


def _right(facts: Facts, evaluation: Told) -> list[Part]:
    parts: list[Part] = []
    positive = evaluation.labels[0]
    if len(evaluation.labels) <= _WIDEST:
        parts += [text(f"On {on_rows(facts)}.", _confused(evaluation)), _confusion(evaluation)]
    else:
        parts.append(text(f"The confusion matrix of {len(evaluation.labels)} labels is too large to be shown."))
    rows = []
    for row in evaluation.metrics:
        name, meaning = _METRICS.get(row["metric"], (row["metric"], ""))
        reach = interval(finite(row["conf_low"]), finite(row["conf_high"]), 4)
        said = meaning.format(positive=positive, guessing=format_number(math.log(len(evaluation.labels)), 2))
        rows.append([name, format_number(finite(row["value"])), reach, said])
    level = f"{100 * facts['level']:g} %"
    caption = f"Figures of merit on {on_rows(facts)}, with {level} intervals" + (
        f"; positive label {positive}" if len(evaluation.labels) == 2 else ""
    )
    parts.append(table(caption, ["what", "value", f"{level} interval", "meaning"], rows, words=(3,)))
    if evaluation.kind != "binary" and evaluation.per_class is not None:
        parts.append(_per_class(evaluation))
    unseen = "The intervals are true for rows that the model has not learnt from; on its own rows it looks better."
    return [*parts, text(*facts["evaluation"]["notes"], "" if facts["held_out"] else unseen)]


def _confused(evaluation: Told) -> str:
    counts = counts_of(evaluation)
    labels = evaluation.labels
    wrong = [(counts[i][j], labels[i], labels[j]) for i in range(len(labels)) for j in range(len(labels)) if i != j]
    most, actual, said = max(wrong)
    total = sum(part for part, _, _ in wrong)
    if not total:
        return "Every row is right."
    legend = "Rows are what is true, columns what was predicted."
    if len(labels) == 2:
        (_, missed), (false, _) = counts[0], counts[1]
        return (
            f"{format_count(missed)} that {_was(missed, 'is', 'are')} {labels[0]} {_was(missed)} missed, and {format_count(false)} "
            f"that {_was(false, 'is', 'are')} not {_was(false)} taken for it. {legend}"
        )
    often = [pair for pair in wrong if pair[0] == most]
    if len([pair for pair in wrong if pair[0]]) == 1:
        which = f"{actual} was always taken for {said}" if most != 1 else f"{actual} was taken for {said}"
    elif len(often) > 1:
        which = f"no label was taken for another more than {'once' if most == 1 else f'{format_count(most)} times'}"
    else:
        which = f"most often ({format_count(most)}) {actual} was taken for {said}"
    return f"{format_count(total)} {'mistake' if total == 1 else 'mistakes'} in all: {which}. {legend}"


def _was(n: float, one: str = "was", many: str = "were") -> str:
    return one if n == 1 else many


def _confusion(evaluation: Told) -> Part:
    counts, labels = counts_of(evaluation), evaluation.labels
    rows = []
    for i, label in enumerate(labels):
        total = sum(counts[i]) or 1
        cells: list[Any] = [f"actual {label}"]
        for j, value in enumerate(counts[i]):
            shade = min(_SHADES, round(_SHADES * (value / total) ** 0.5))
            cells.append(
                {"text": format_count(value), "shade": f"{'right' if i == j else 'wrong'}-{shade}" if value else ""}
            )
        share = counts[i][i] / total
        rows.append([*cells, f"{percent(share)} of {label} found"])
    head = ["", *(f"predicted {label}" for label in labels), "in words"]
    part = table("Confusion matrix: rows actual, columns predicted", head, rows, words=(len(head) - 1,))
    return part | {"look": "matrix"}


def _per_class(evaluation: Told) -> Part:
    columns = evaluation.per_class
    assert columns is not None
    names = [name for name in columns.columns if not name.endswith(("_low", "_high"))]
    rows = []
    for row in columns:
        first, *others = (row[name] for name in names)
        said = f"{percent(row['recall'])} found; right in {percent(row['precision'])} of the cases it is said"
        rows.append([str(first), *(format_number(value) for value in others), said])
    heads = [name.replace("_", " ") for name in names]
    return table("Each label for itself", [*heads, "in words"], rows, words=(len(heads),))


def _ranking(evaluation: Told) -> str:
    name = "roc_auc" if evaluation.kind == "binary" else "macro_roc_auc"
    area = metric(evaluation, name)
    return (
        f"Of two rows, one with a label and one without, the score puts the right one first in {share(area)} of "
        "pairs. It does not depend on the threshold."
    )


def _calibration(facts: Facts, evaluation: Told, drawn: Part) -> list[Part]:
    error = metric(evaluation, "calibration_error")
    columns = evaluation.calibration
    assert columns is not None
    rows = []
    for row in columns:
        low, high = finite(row["conf_low"]), finite(row["conf_high"])
        inside = low is not None and high is not None and low <= row["predicted"] <= high
        said = (
            "as said"
            if inside
            else "less often than said"
            if row["observed"] < row["predicted"]
            else "more often than said"
        )
        rows.append(
            [
                row["bin"],
                format_count(row["n"]),
                percent(row["predicted"]),
                percent(row["observed"]),
                ends(low, high),
                said,
            ]
        )
    head = ["probability", "rows", "predicted", "observed", "interval of the observed", "in words"]
    what = evaluation.labels[0] if evaluation.kind == "binary" else "the predicted label"
    return [
        text(
            f"On {on_rows(facts)}, the probability of {what} beside how often it was so: off by "
            f"{100 * error['value']:.2g} points on average."
        ),
        grid(drawn),
        table("Predicted and observed frequency", head, rows, words=(5,)),
    ]


def _coefficients(facts: Facts) -> list[Part]:
    return _logits(facts) if facts.get("terms") else _weights(facts)


def _logits(facts: Facts) -> list[Part]:
    columns, level, two = facts["odds_ratios"], f"{100 * facts['level']:g} %", len(facts["classes"]) == 2
    what = facts["classes"][1] if two else "a label"
    lead = (
        f"A coefficient is added to the log-odds of {what} against {facts['reference']} for one unit more of its "
        "column. The odds ratio says the same as a factor: 1 is no effect, 2 doubles the odds."
    )
    warning = ""
    if facts.get("separated"):
        which = "coefficients" if not any(facts["identified"]) else "coefficients without standard errors"
        warning = f"The classes are {facts['separated']}, so {which} are where the search stopped, not estimates."
    parts = [text(lead, warning)]
    change = f"change of the log-odds{f' of {what}' if two else ''}"
    drawn = figures.coefficients(facts, change, "" if two else f"against {facts['reference']}")
    if drawn is not None:
        parts.append(drawn)
    terms = facts["terms"]
    key = list(zip(terms.get("label", [None] * len(terms["term"])), terms["term"], strict=True))
    scale = {name: size for name, size in zip(facts["names"], facts["scales"] or [], strict=False) if "[" not in name}
    estimates, errors = (aligned(terms[name]) for name in ("estimate", "std_error"))
    rows = []
    for i, term in enumerate(columns["term"]):
        label = columns["label"][i] if "label" in columns else None
        at = key.index((label, term))
        ratio, low, high = columns["odds_ratio"][i], columns["conf_low"][i], columns["conf_high"][i]
        cells = [estimates[at], errors[at], format_p(terms["p_value"][at])]
        name = [term] if label is None else [term, str(label)]
        spread = scale.get(term)
        against = facts["references"].get(term)
        step = f"{term} rather than {against}" if against is not None else "it"
        estimate = terms["estimate"][at]
        said = _odds(estimate, spread, step, low, high)
        if not facts["identified"][at]:
            said = "not an estimate" if facts.get("separated") else "not determined by the rows"
        elif term in facts["shared"] and estimate is not None:
            effect = said.removesuffix(_DOUBT)
            said = qualified(facts, term, effect, f"{format_number(estimate, 3)} (log-odds)") + said[len(effect) :]
        rows.append([*name, *cells, format_factor(ratio), factor_interval(low, high), said])
    head = [
        "column",
        *([] if two else ["label"]),
        "coefficient",
        "standard error",
        "p",
        "odds ratio",
        f"{level} interval",
    ]
    caption = f"Odds ratios with {level} intervals (Wald)"
    return [*parts, table(caption, [*head, "in words"], rows, words=(len(head),), left=() if two else (1,))]


def _odds(estimate: Any, spread: float | None, step: str, low: Any, high: Any) -> str:
    """One unit may be far more than the column ever varies, so the sentence is about a standard deviation."""
    if estimate is None:
        return "not known"
    factor = format_factor(math.exp(min(estimate * (spread or 1.0), 700.0)))
    said = f"{_not_quite_one(spread)} more, a standard deviation, multiplies" if spread else f"{step} multiplies"
    clear = low is not None and high is not None and (low > 1 or high < 1)
    return f"{said} the odds by {factor}" + ("" if clear else _DOUBT)


def _not_quite_one(spread: float) -> str:
    """Two digits, and more of what rounds to 1: the odds ratio beside it is that of exactly one unit."""
    return next((said for n in range(2, 7) if (said := format_number(spread, n)) != "1"), "1")


def _weights(facts: Facts) -> list[Part]:
    found, names = facts["coefficients"], facts["names"]
    single = len(found["coef"]) == 1
    what = f"the score of {found['labels'][0]}" if single else "the scores of the labels, of which the largest wins"
    lead = text(
        f"What one unit more of a column adds to {what}. This model has no standard errors: to know how sure a column "
        "is, fit logistic."
    )
    head = ["column", *(f"score of {label}" for label in found["labels"]), "in words"]
    shown = [aligned([constant, *weights]) for constant, weights in zip(found["intercept"], found["coef"], strict=True)]
    rows = [["Intercept", *(column[0] for column in shown), "the score where every column is 0"]]
    for j, name in enumerate(names):
        values = [row[j] for row in found["coef"]]
        k = max(range(len(values)), key=lambda k: values[k])
        said = f"speaks for {found['labels'][k]}"
        if single:
            said = "speaks for " + (facts["classes"][1] if values[0] > 0 else facts["classes"][0])
        rows.append([name, *(column[j + 1] for column in shown), said if any(values) else "says nothing"])
    return [lead, table("Weights of the columns", head, rows, words=(len(head) - 1,))]


def _training(facts: Facts) -> list[Part]:
    found, proof = facts["training"], facts["separability"]
    rows = [
        ["Passes", format_count(found["passes"]), "How often the training went over the rows."],
        ["Updates", format_count(found["updates"]), "How often the weights were corrected after a mistake."],
    ]
    if proof is not None and proof["bound"] is not None and found["novikoff"]:
        within = found["updates"] <= proof["bound"]
        said = "The updates are within it, as the theorem says." if within else "Exceeded: these are not its own rows."
        meaning = f"Novikoff's (R/γ)²: a perceptron that starts at zero cannot make more mistakes. {said}"
        rows.append(["Bound on the mistakes", format_number(proof["bound"], 6), meaning])
    parts = [
        text(f"Stopped because {found['stopped']}."),
        table("The training", ["what", "value", "meaning"], rows, words=(2,)),
    ]
    drawn = figures.mistakes(facts)
    return parts if drawn is None else [*parts[:1], drawn, parts[1]]


def _separability(facts: Facts) -> list[Part]:
    proof = facts["separability"]
    if proof is None:
        return [
            text(
                "Not worked out: the rows or the labels are many. A proof either way takes the call "
                "ly.separability(X, y, budget=None), which needs all rows in memory and may take minutes."
            )
        ]
    how = "; ".join(proof["rules"]) or (f"columns {join_names(proof['columns'])}" if proof["columns"] else "")
    verdicts = _HYPERPLANE if proof["n_labels"] == 2 else _SCORES
    meaning = {
        "separable": "A perceptron converges; logistic regression without a penalty has no finite answer.",
        "quasi-separable": "No perceptron converges; logistic regression without a penalty has no finite answer.",
        "overlapping": "No perceptron converges; logistic regression has an answer.",
    }
    checked = "The proof was checked in exact arithmetic." if proof["checked"] else "The proof could not be checked."
    verdict = verdicts[proof["verdict"]] + (f" ({how})" if how else "")
    parts = [text(f"{verdict}.", meaning[proof["verdict"]], checked)]
    rows = []
    if proof["margin"] is not None:
        rows.append(["Margin", format_number(proof["margin"]), verdicts["margin"]])
    if proof.get("floor") is not None:
        rows.append(["Error floor", format_count(proof["floor"]), verdicts["floor"]])
    if proof["errors"] is not None:
        bends = "; its boundaries bend, so the floor is none for it" if "Quadratic" in facts["model"] else ""
        rows.append(["Errors of this model", format_count(proof["errors"]), f"On the same rows{bends}."])
    if rows:
        parts.append(table("What is proven", ["what", "value", "meaning"], rows, words=(2,)))
    if proof.get("witness"):
        parts += _witness(proof)
    return parts


def _witness(proof: Facts) -> list[Part]:
    found = proof["witness"]
    if proof["twins"]:
        lead = "The two rows below are the same point with different labels: no model of these columns gets both right."
    else:
        lead = (
            "The rows below prove it: mixed in the shares given, those of one label and those of the other meet in one "
            "point, and a point cannot be on both sides."
        )
    names, rivals = found["names"][:6], []
    if len(set(found["label"] + found["rival"])) > 2:
        rivals = ["held against"]
        lead = (
            "The rows below prove it: weighed by the shares given, what they ask of the scores cancels. So not all of "
            "them can score higher for their own label than for the one that they are held against."
        )
    columns = [aligned(column) for column in list(zip(*found["X"], strict=True))[: len(names)]]
    told_of = [found["label"], *([found["rival"]] if rivals else []), aligned(found["multiplier"])]
    rows = list(zip(found["place"], *told_of, *columns, strict=True))
    more = proof["n_witness"] - len(rows)
    caption = f"Witness rows{f' (the first {len(rows)} of {len(rows) + more})' if more else ''}"
    head = ["row", "label", *rivals, "share", *names]
    return [text(lead), table(caption, head, rows, left=(1, 2) if rivals else (1,), small=True)]


def _computed(facts: Facts) -> list[tuple[str, str, str]]:
    found, shrunk = facts.get("statistics"), facts["shrunk"]
    if shrunk is not None:
        where = f" for {join_names(shrunk['labels'])}" if shrunk["labels"] else ""
        return [
            ("Shrinkage used", f"{format_number(shrunk['share'], 2)}{where}", "The covariance is singular without it.")
        ]
    if not found:
        return []
    limit = "Where the search was stopped; no coefficients reach the best." if facts["separated"] else ""
    return [
        (
            "Deviance",
            format_number(found["deviance"]),
            limit or "Twice the log-likelihood that is missing to a perfect fit.",
        ),
        (
            "Null deviance",
            format_number(found["null_deviance"]),
            "Twice the log-likelihood missing without any column.",
        ),
        (
            "Pseudo-R²",
            format_number(found["pseudo_r_squared"]),
            limit or "McFadden's: the share of the null deviance that is gone.",
        ),
        ("AIC", format_number(found["aic"]), limit or "For comparing models of the same rows only: lower is better."),
        ("Converged", "yes" if found["converged"] else "no", "Whether the search ended at the maximum."),
    ]
