"""Lay out the page of a classifier: fit, accuracy, trust and next steps at the top, then one section per question.

Sentences and fixed tables are in templates/classification.toml.
"""

from __future__ import annotations

import math
from typing import Any

from linearly.findings.classification import classifier_findings
from linearly.formatting import format_count, format_number, join_names
from linearly.models.registry import WORDS
from linearly.plots.style import percent
from linearly.report import figures
from linearly.report.figures import StoredEvaluation
from linearly.report.page_parts import (
    Facts,
    Page,
    Part,
    Section,
    align_decimals,
    describe_term,
    factor_interval,
    format_factor,
    format_p,
    grid,
    interval,
    largest_first,
    metrics_by_name,
    table,
    text,
)
from linearly.report.question_facts import questions_section
from linearly.report.sections import computed_section, rows_section
from linearly.report.texts import Texts

_IN_DOUBT = "; not distinguishable from 1"
_SHADES = 8  # of a confusion matrix
_MAX_LABELS = 16  # of a confusion matrix that is shown
_MAX_IN_WORDS = 6  # of one whose rows are also said in words, for which a wider one has no room
_MAX_WITNESS_COLUMNS = 6


def classifier_page(facts: Facts) -> Page:
    """Return the page of a classifier."""
    texts, evaluation = _texts(facts), StoredEvaluation.of(facts["evaluation"])
    sections = [Section("right", "Accuracy", _right(facts, texts, evaluation))]
    curves = figures.curves(evaluation, texts)
    if curves:
        sections.append(Section("ranking", "Ranking", [text(texts("ranking.lead")), grid(*curves)]))
    if evaluation.calibration is not None:
        sections.append(Section("calibration", "Calibration", _calibration(texts, evaluation)))
    if facts.get("terms") or facts.get("coefficients"):
        parts = _odds_ratios(facts, texts) if facts.get("terms") else _weights(facts, texts)
        sections.append(Section("coefficients", "Coefficients", parts))
    sections += questions_section(facts)
    if facts.get("plane"):
        sections.append(Section("regions", "Regions", [figures.regions(facts, texts)]))
    if facts.get("projection"):
        parts = [text(texts("projection.lead")), figures.projection(facts, texts)]
        sections.append(Section("projection", "Discriminant directions", parts))
    if facts["training"]:
        sections.append(Section("training", "Training", _training(facts, texts)))
    proof = facts["separability"]
    what = "a hyperplane" if len(facts["classes"]) == 2 or (proof and proof["n_labels"] == 2) else "linear scores"
    sections += [
        Section("separability", f"Can {what} separate the labels?", _separability(facts, texts)),
        *rows_section(facts, texts, "predicted"),
        computed_section(facts, texts, _computed(facts, texts)),
    ]
    fitted = texts.sentences("fitted") + texts.sentences("fitted_notes")
    return Page(texts("title"), fitted, texts.sentences("good"), classifier_findings(facts), sections)


def _texts(facts: Facts) -> Texts:
    """Return the sentences about a classifier, with the facts that they require."""
    words = WORDS.get(facts["model"], str(facts["model"]))
    evaluation, held_out = facts["evaluation"], facts["held_out"]
    texts = Texts(
        facts,
        judged=metrics_by_name(evaluation),
        fitted_accuracy=held_out and metrics_by_name(held_out["fitted"])["accuracy"]["value"],
        labels=evaluation["labels"],
        positive=evaluation["labels"][0],
        n_called=sum(row[0] for row in _confusion_counts(evaluation)),
        model_words=f"the {words}" if words.endswith("perceptron") else words,
        share_with_interval=_share_with_interval,
    )
    texts.variables["on_rows"] = texts("on_rows")
    return texts


def _confusion_counts(evaluation: Facts) -> list[list[float]]:
    """Return the confusion matrix, row by row."""
    _, *columns = evaluation["confusion"].values()
    return [list(row) for row in zip(*columns, strict=True)]


def _share_with_interval(metric: Facts) -> str:
    """Return a share with its interval if that has two different ends."""
    ends = _interval_of_shares(metric["conf_low"], metric["conf_high"])
    return f"{percent(metric['value'])} ({ends})" if " to " in ends else percent(metric["value"])


def _interval_of_shares(low: float | None, high: float | None) -> str:
    """Return the ends of an interval in percent."""
    if low is None or high is None:
        return "no interval"
    return f"{percent(low)} to {percent(high)}" if percent(low) != percent(high) else percent(low)


def _right(facts: Facts, texts: Texts, evaluation: StoredEvaluation) -> list[Part]:
    labels, counts = evaluation.labels, _confusion_counts(facts["evaluation"])
    if len(labels) <= _MAX_LABELS:
        lead = f"On {texts.variables['on_rows']}. {describe_mistakes(texts, labels, counts)}"
        parts = [text(lead), _confusion(texts, labels, counts)]
    else:
        parts = [text(texts("right.too_large"))]
    rows = []
    for name, metric in texts.variables["judged"].items():
        title, meaning = texts.sentences(f"metrics.{name}")
        ends = interval(metric["conf_low"], metric["conf_high"], 4)
        rows.append([title, format_number(metric["value"]), ends, meaning])
    head = ["metric", "value", f"{100 * facts['level']:g}% interval", "meaning"]
    parts.append(table(texts("right.caption"), head, rows, words=(3,)))
    if evaluation.per_class is not None:
        parts.append(_per_class(texts, evaluation.per_class))
    return [*parts, text(*facts["evaluation"]["notes"], "" if facts["held_out"] else texts("right.unseen"))]


def describe_mistakes(texts: Texts, labels: Any, counts: list[list[float]]) -> str:
    """Return which labels were predicted as which others."""
    wrong = [(n, labels[i], labels[j]) for i, row in enumerate(counts) for j, n in enumerate(row) if i != j]
    most, actual, predicted = max(wrong)
    return texts(
        "right.lead",
        labels=labels,
        n_wrong=sum(n for n, _, _ in wrong),
        missed=counts[0][1],
        false_alarms=counts[1][0],
        most=most,
        actual=actual,
        predicted=predicted,
        n_most=sum(n == most for n, _, _ in wrong),
        n_pairs=sum(n > 0 for n, _, _ in wrong),
    )


def _confusion(texts: Texts, labels: tuple[str, ...], counts: list[list[float]]) -> Part:
    rows = []
    for i, label in enumerate(labels):
        total = sum(counts[i]) or 1
        cells: list[Any] = [f"actual {label}"]
        for j, value in enumerate(counts[i]):
            shade = min(_SHADES, round(_SHADES * (value / total) ** 0.5))
            shade_class = f"{'right' if i == j else 'wrong'}-{shade}" if value else ""
            cells.append({"text": format_count(value), "shade": shade_class})
        if len(labels) <= _MAX_IN_WORDS:
            cells.append(texts("right.found", share=counts[i][i] / total, label=label))
        rows.append(cells)
    head = ["", *(f"predicted {label}" for label in labels), "in words"][: len(rows[0])]
    words = range(len(labels) + 1, len(head))
    part = table("Confusion matrix: rows actual, columns predicted", head, rows, words=words)
    return part | {"look": "matrix"}


def _per_class(texts: Texts, metrics: Any) -> Part:
    names = [name for name in metrics.columns if not name.endswith(("_low", "_high"))]
    rows = [
        [str(row[names[0]]), *(format_number(row[name]) for name in names[1:]), texts("right.per_class", row=row)]
        for row in metrics
    ]
    head = [name.replace("_", " ") for name in names]
    return table("Metrics of each label", [*head, "in words"], rows, words=(len(head),))


def _calibration(texts: Texts, evaluation: StoredEvaluation) -> list[Part]:
    assert evaluation.calibration is not None
    rows = []
    for row in evaluation.calibration:
        predicted, observed = row["predicted"], row["observed"]
        low, high = (None if math.isnan(row[name]) else row[name] for name in ("conf_low", "conf_high"))
        said = "less often than predicted" if observed < predicted else "more often than predicted"
        if low is not None and high is not None and low <= predicted <= high:
            said = "consistent with the prediction"
        shares = [percent(predicted), percent(observed), _interval_of_shares(low, high)]
        rows.append([row["bin"], format_count(row["n"]), *shares, said])
    head = ["probability", "rows", "predicted", "observed", "interval of observed", "in words"]
    return [
        text(texts("calibration.lead")),
        grid(figures.calibration(evaluation, texts)),
        table("Predicted and observed frequency", head, rows, words=(5,)),
    ]


def _odds_ratios(facts: Facts, texts: Texts) -> list[Part]:
    if facts.get("separated") and not any(facts["identified"]):
        return _stopped_coefficients(facts, texts)
    two, level = len(facts["classes"]) == 2, f"{100 * facts['level']:g}%"
    label = facts["classes"][1] if two else "a label"
    change = f"change of the log-odds{f' of {label}' if two else ''}"
    parts = [
        text(texts("coefficients.odds", label=label), texts("coefficients.separated")),
        *figures.coefficients(facts, texts, change, "" if two else f"against {facts['reference']}"),
    ]
    ratios, terms, deviation = facts["odds_ratios"], facts["terms"], _deviations(facts)
    keys = list(zip(terms.get("label", [None] * len(terms["term"])), terms["term"], strict=True))
    estimates, errors = (align_decimals(terms[name]) for name in ("estimate", "std_error"))
    rows = []
    for i, term in enumerate(ratios["term"]):
        of_label = ratios["label"][i] if "label" in ratios else None
        at = keys.index((of_label, term))
        size = deviation.get(term)
        value, low, high = (_odds(terms[name][at], size) for name in ("estimate", "conf_low", "conf_high"))
        rows.append(
            [
                *([term] if of_label is None else [term, str(of_label)]),
                estimates[at],
                errors[at],
                format_p(terms["p_value"][at]),
                format_factor(value),
                factor_interval(low, high),
                _reading(facts, at, low, high),
            ]
        )
    head = ["column", *([] if two else ["label"]), "coefficient per unit", "standard error", "p"]
    head += ["odds ratio per SD" if deviation else "odds ratio", f"{level} interval", "in words"]
    caption = texts("coefficients.odds_caption", interval_level=level, per_sd=bool(deviation), n_terms=len(rows))
    known = {key: terms["statistic"][i] for i, key in enumerate(keys)}
    labels = ratios.get("label", [None] * len(rows))
    rows = largest_first(rows, [known[key] for key in zip(labels, ratios["term"], strict=True)])
    return [*parts, table(caption, head, rows, words=(len(head) - 1,), left=() if two else (1,))]


def _stopped_coefficients(facts: Facts, texts: Texts) -> list[Part]:
    """Return the coefficients of separable classes, which have no odds ratios, errors or intervals to show."""
    terms = facts["terms"]
    names = [name for name in ("term", "label") if name in terms]
    shown = [list(map(str, terms[name])) for name in names] + [align_decimals(terms["estimate"])]
    rows = largest_first(list(zip(*shown, strict=True)), terms["estimate"])
    head = [*names, "coefficient per unit"]
    caption = texts("coefficients.stopped_caption", n_terms=len(rows))
    return [
        text(texts("coefficients.separated"), texts("coefficients.stopped")),
        table(caption, head, rows, left=(1,) * (len(names) > 1)),
    ]


def _deviations(facts: Facts) -> dict[str, float]:
    """Return the standard deviation of each column that odds ratios are for; those of levels are per level."""
    pairs = zip(facts["names"], facts["scales"] or [], strict=False)
    products = {name for name, part in facts["shared"].items() if part["kind"] == "interaction"}
    levels = {*facts["levels"]} - products
    return {name: size for name, size in pairs if size and name not in levels}


def _odds(log_odds: float | None, deviation: float | None) -> float | None:
    return None if log_odds is None else math.exp(min(log_odds * (deviation or 1.0), 700.0))


def _reading(facts: Facts, at: int, low: Any, high: Any) -> str:
    """Return what the coefficient in a row of the table of terms means."""
    term, estimate = facts["terms"]["term"][at], facts["terms"]["estimate"][at]
    if not facts["identified"][at]:
        return "not an estimate" if facts.get("separated") else "not determined by the rows"
    reference = facts["references"].get(term)
    step = "one unit" if reference is None else f"{term} rather than {reference}"
    said = describe_odds(estimate, _deviations(facts).get(term), step, low, high)
    if term not in facts["shared"] or estimate is None:
        return said
    effect = said.removesuffix(_IN_DOUBT)
    return describe_term(facts, term, effect, f"{format_number(estimate, 3)} (log-odds)") + said[len(effect) :]


def describe_odds(estimate: Any, deviation: float | None, step: str, low: Any, high: Any) -> str:
    """Return the factor of the odds for one standard deviation: one unit may be more than the column ever varies."""
    if estimate is None:
        return "not known"
    factor = format_factor(math.exp(min(estimate * (deviation or 1.0), 700.0)))
    if deviation:
        # A deviation that rounds to 1 gets more digits: the odds ratio beside it is that of exactly one unit.
        digits = (format_number(deviation, n) for n in range(2, 7))
        step = f"an increase by {next((said for said in digits if said != '1'), '1')}, a standard deviation,"
    clear = low is not None and high is not None and (low > 1 or high < 1)
    return f"{step} multiplies the odds by {factor}" + ("" if clear else _IN_DOUBT)


def _weights(facts: Facts, texts: Texts) -> list[Part]:
    found = facts["coefficients"]
    labels, single = found["labels"], len(found["coef"]) == 1
    shown = [align_decimals([constant, *w]) for constant, w in zip(found["intercept"], found["coef"], strict=True)]
    said = ["the score if every column is 0"]
    for values in zip(*found["coef"], strict=True):
        label = labels[max(range(len(values)), key=values.__getitem__)]
        if single:
            label = facts["classes"][1 if values[0] > 0 else 0]
        said.append(f"raises the score of {label}" if any(values) else "no effect")
    rows = list(zip(["Intercept", *facts["names"]], *shown, said, strict=True))
    spread = facts["scales"] or [1.0] * len(facts["names"])
    sizes = [max(map(abs, w)) * (s or 0.0) for w, s in zip(zip(*found["coef"], strict=True), spread, strict=True)]
    rows = largest_first(rows, [None, *sizes], 1)
    head = ["column", *(f"score of {label}" for label in labels), "in words"]
    lead = text(texts("coefficients.weights", single=single))
    return [lead, table("Weights of the columns", head, rows, words=(len(head) - 1,))]


def _training(facts: Facts, texts: Texts) -> list[Part]:
    proof = facts["separability"]
    rows = texts.rows("training.rows", bound=proof and proof["bound"])
    summary = table("The training", ["what", "value", "meaning"], rows, words=(2,))
    return [text(texts("training.lead")), *figures.mistakes(facts, texts), summary]


def _separability(facts: Facts, texts: Texts) -> list[Part]:
    proof = facts["separability"]
    if proof is None:
        return [text(texts("separability.unknown"))]
    how = "; ".join(proof["rules"]) or (f"columns {join_names(proof['columns'])}" if proof["columns"] else "")
    kind = f"separability.{'hyperplane' if proof['n_labels'] == 2 else 'scores'}"
    verdict = texts(f"{kind}.{proof['verdict']}") + (f" ({how})." if how else ".")
    parts = [text(verdict, texts(f"separability.meaning.{proof['verdict']}"), texts("separability.checked"))]
    rows = texts.rows("separability.rows", margin=texts(f"{kind}.margin"), floor=texts(f"{kind}.floor"))
    if rows:
        parts.append(table("Proven facts", ["what", "value", "meaning"], rows, words=(2,)))
    return parts + (_witness(proof, texts) if proof.get("witness") else [])


def _witness(proof: Facts, texts: Texts) -> list[Part]:
    witness = proof["witness"]
    names = witness["names"][:_MAX_WITNESS_COLUMNS]
    columns = {"row": witness["place"], "label": witness["label"], "share": align_decimals(witness["multiplier"])}
    lead, left = "twins" if proof["twins"] else "mixture", [1]
    if len(set(witness["label"] + witness["rival"])) > 2:
        columns = {"row": witness["place"], "label": witness["label"], "compared with": witness["rival"]} | columns
        lead, left = "rivals", [1, 2]
    values = [align_decimals(column) for column in zip(*witness["X"], strict=True)][: len(names)]
    rows = list(zip(*columns.values(), *values, strict=True))
    caption = texts("separability.witness_caption", n_shown=len(rows))
    return [text(texts(f"separability.{lead}")), table(caption, [*columns, *names], rows, left=left, small=True)]


def _computed(facts: Facts, texts: Texts) -> list[list[str]]:
    if facts["shrunk"] is not None:
        return texts.rows("computation.shrunk")
    if not facts.get("statistics"):
        return []
    return texts.rows("computation.likelihood", limit=texts("computation.limit"))
