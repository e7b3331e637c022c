"""Spam: from hand-made weights for "free" and "money" to weights that are learnt."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.separability.budget import is_affordable
from linearly.algorithm.separability.decide import separability
from linearly.api import Model
from linearly.dataset.features.spam import SPAM_WORDS, SpamFeatures, spam_features
from linearly.demos.story import (
    CLASSIFIERS,
    Columns,
    Score,
    Story,
    checked,
    listed_errors,
    matrix,
    read_lines,
    subset,
    tied_best,
    without,
)
from linearly.formatting import join_names, pluralize, shorten_names
from linearly.plots import style

HAND = {"bias": -3.0, "free": 4.0, "money": 2.0}
TARGET = "label"
_EVERY = 3  # every third pair of rows is for the test
MIN_MESSAGES = 2  # of the training rows that a column must tell apart to be used
_SHOWN = 8  # columns and mistakes that are shown
_DRAWN = 16  # weights in the picture
_ALPHA = 1.0
_NUMBERS = 57  # columns of UCI's spambase before the label


class Mail(NamedTuple):
    """Messages as numbers, and as texts if there are any."""

    columns: Columns
    test: NDArray[np.bool_]
    texts: list[str] | None
    source: str


def tell(story: Story, data: Path | None) -> None:
    """Tell the story."""
    mail = corpus() if data is None else from_file(data)
    columns = _select_columns(mail)
    train, test = subset(columns, ~mail.test), subset(columns, mail.test)
    _describe_data(story, mail, len(columns) - 1)
    if mail.texts is not None:
        _weigh_by_hand(story, mail.texts, mail.columns[TARGET])
    _compare(story, train, test)
    model = story.fit(train, TARGET, "logistic", alpha=_ALPHA)
    predicted = model.predict(test)
    new = Score.of(predicted, test[TARGET])
    _show_weights(story, model, list(without(train, TARGET)), new)
    wrong = np.flatnonzero(predicted != test[TARGET])
    if mail.texts is not None and len(wrong):
        texts = np.array(mail.texts, dtype=object)[mail.test]
        story.table("mistakes", [[str(test[TARGET][i]), _cut(texts[i])] for i in wrong[:_SHOWN]], n=len(wrong))
    story.lead(new=new)
    story.finding("words", alpha=_ALPHA)
    story.report(model, train, judged=True, alpha=_ALPHA)


# --- data -----------------------------------------------------------------------------------------


def corpus() -> Mail:
    """Return the messages that come with the package."""
    with resources.files("linearly.demos").joinpath("data/messages.csv").open(encoding="utf-8") as file:
        rows = [(row["label"], row["text"]) for row in csv.DictReader(file)]
    return _count_words(rows, "a small corpus written for this project")


def from_file(path: Path) -> Mail:
    """Read the SMS Spam Collection (label, tab, text), or UCI's spambase (57 numbers, then 1 for spam or 0)."""
    lines = [line for line in read_lines(path) if line.strip()]
    if not lines:
        raise ValueError(f"{path} is empty. Pass SMS messages or spambase.")
    return _parse_sms(path, lines) if "\t" in lines[0] else _parse_spambase(path, lines)


def _parse_sms(path: Path, lines: list[str]) -> Mail:
    rows = []
    for i, line in enumerate(lines, 1):
        label, tab, message = line.partition("\t")
        if not tab or label not in ("ham", "spam"):
            raise ValueError(f"Line {i} of {path} must contain ham or spam, a tab, and the message. Correct the line.")
        rows.append((label, message))
    return _count_words(rows, path.name)


def _parse_spambase(path: Path, lines: list[str]) -> Mail:
    titled = _numbers(lines[0].partition(",")[0]) is None
    names = [f"column_{j}" for j in range(1, _NUMBERS + 1)] + ["spam"]
    if titled:
        names = [name.strip() for name in lines[0].split(",")]
    what = "ham or spam, a tab and the message per line (SMS), or 57 numbers and 1 or 0 with commas (spambase)"
    if "spam" not in names or len(names) not in (_NUMBERS + 1, _NUMBERS + 2) or len(set(names)) < len(names):
        raise ValueError(f"{path} does not contain {what}. Pass a file with this layout.")
    rows = []
    for i, line in enumerate(lines[titled:], 1 + titled):
        row = _numbers(line)
        if row is None:
            raise ValueError(f"Line {i} of {path} must contain numbers separated by commas. Correct the line.")
        if len(row) != len(names) or not np.isfinite(row).all():
            raise ValueError(
                f"Line {i} of {path} must contain {len(names)} finite numbers, but has {len(row)} fields. "
                "Correct the line."
            )
        rows.append(row)
    # The file is sorted by label, from which online perceptrons learn badly.
    shuffled = np.random.default_rng(0).permutation(np.array(rows))
    columns = dict(zip(names, shuffled.T, strict=True))
    spam = columns.pop("spam")
    if not np.isin(spam, (0, 1)).all():
        raise ValueError(f"The column spam of {path} must contain 1 for spam or 0. Correct the column.")
    test = columns.pop("test") == 1 if "test" in columns else _every_third(len(rows))
    labels = np.where(spam == 1, "spam", "ham")
    _check_labels(path, labels, test)
    return Mail(columns | {TARGET: labels}, test, None, path.name)


def _numbers(line: str) -> list[float] | None:
    try:
        return [float(cell) for cell in line.split(",")]
    except ValueError:
        return None


def _count_words(rows: list[tuple[str, str]], source: str) -> Mail:
    features = SpamFeatures()
    texts = [text for _, text in rows]
    labels, test = np.array([label for label, _ in rows]), _every_third(len(rows))
    _check_labels(source, labels, test)
    names = [f"“{name}”" if name in SPAM_WORDS else name for name in features.get_feature_names_out()]
    return Mail(dict(zip(names, features.transform(texts).T, strict=True)) | {TARGET: labels}, test, texts, source)


def _every_third(n: int) -> NDArray[np.bool_]:
    """Mark every third pair of rows: the corpus alternates between the labels."""
    return np.asarray(np.arange(n) // 2 % _EVERY == _EVERY - 1)


def _check_labels(source: Any, labels: NDArray[Any], test: NDArray[np.bool_]) -> None:
    if len(np.unique(labels[~test])) < 2 or len(np.unique(labels[test])) < 2:
        raise ValueError(
            f"{source} must contain ham and spam in both the training rows and the test rows. Pass more messages."
        )


def _select_columns(mail: Mail) -> Columns:
    """Return columns that differ from their commonest value in some training messages, in standard deviations."""
    train = subset(without(mail.columns, TARGET), ~mail.test)
    rarer = {name: len(x) - np.unique(x, return_counts=True)[1].max() for name, x in train.items()}
    used = {name: mail.columns[name] / x.std() for name, x in train.items() if rarer[name] >= MIN_MESSAGES}
    return used | {TARGET: mail.columns[TARGET]}


# --- the chapters ---------------------------------------------------------------------------------


def _describe_data(story: Story, mail: Mail, columns: int) -> None:
    n, spam = len(mail.test), int((mail.columns[TARGET] == "spam").sum())
    test = int(mail.test.sum())
    story.chapter("data")
    kind = "of_numbers" if mail.texts is None else "of_texts"
    story.tell("messages", kind, "units", n=n, source=mail.source, spam=spam, test=test, columns=columns)
    story.found |= {"rows": n, "test_rows": test, "columns": columns}


def _weigh_by_hand(story: Story, texts: list[str], labels: NDArray[Any]) -> None:
    x = spam_features(texts, [name for name in HAND if name != "bias"], bias=True, structure=False)
    predicted = np.where(x @ np.array(list(HAND.values())) > 0, "spam", "ham")
    score = Score.of(predicted, labels)
    found, alarms = (int(((predicted == "spam") & (labels == label)).sum()) for label in ("spam", "ham"))
    story.chapter("hand")
    false_alarms = pluralize(alarms, "false alarm", zero="no")
    spam = int((labels == "spam").sum())
    story.tell("text", n=len(labels), found=found, spam=spam, alarms=false_alarms, score=score)
    story.found["by_hand"] = {"errors": score.errors, "of": score.rows, "found": found, "false_alarms": alarms}


def _compare(story: Story, train: Columns, test: Columns) -> None:
    fits = story.compare(train, test, TARGET)
    story.chapter("learnt")
    story.table_of_errors(fits)
    best = tied_best({name: fit.new.errors for name, fit in fits.items()})
    new = fits[best[0]].new
    names, each = join_names([CLASSIFIERS[name] for name in best], 8), " each" if len(best) > 1 else ""
    story.tell("best", "few" if new.rows < 200 else "", name=names, new=new, each=each)
    story.found["errors"] = listed_errors(fits)
    X, y = matrix(train, TARGET)
    story.found["separability"] = None
    if is_affordable("page", *X.shape):
        certificate = separability(X, y, names=list(without(train, TARGET)))
        story.tell(certificate.verdict, checked=checked(certificate), alpha=_ALPHA)
        story.found["separability"] = certificate.verdict


def _show_weights(story: Story, model: Model, names: list[str], new: Score) -> None:
    coef = np.ravel(model.estimator.coef_)
    order = np.argsort(-np.abs(coef))[:_SHOWN]
    rows = [
        [names[j], f"{coef[j]:+.2f}".replace("-", "−"), f"× {np.exp(coef[j]):.2f}", "spam" if coef[j] > 0 else "ham"]
        for j in order
    ]
    story.chapter("words")
    story.picture("signed", lambda ax: draw_weights(ax, names, coef), size=(6.8, 5.0))
    story.table("weights", rows)
    story.tell("text", alpha=_ALPHA, new=new)
    story.found["weights"] = {names[j]: float(coef[j]) for j in order}


def draw_weights(ax: Any, names: Sequence[str], coef: NDArray[np.float64]) -> Any:
    """Draw the largest weights as bars: to the right those that speak for spam, to the left those for ham."""
    order = np.argsort(-np.abs(coef), kind="stable")[:_DRAWN]
    order = order[np.argsort(coef[order], kind="stable")]
    places = np.arange(len(order))
    for label, own, colour in (("spam", coef[order] > 0, style.ORANGE), ("ham", coef[order] <= 0, style.BLUE)):
        ax.barh(places[own], coef[order][own], color=colour, height=0.72, label=f"indicates {label}")
    ax.axvline(0, color=style.GREY, linewidth=1)
    ax.set_yticks(places, shorten_names([names[j] for j in order], 24))
    ax.tick_params(axis="y", length=0)
    n_spam = int((coef[order] > 0).sum())
    style.legend(ax)
    message = f"{n_spam} of the {len(order)} largest weights indicate spam and {len(order) - n_spam} ham"
    return style.frame(ax, message, "log-odds of spam per standard deviation")


def _cut(text: str) -> str:
    return text if len(text) <= 68 else text[:67] + "…"
