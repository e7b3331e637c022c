"""The spam of S2: from hand-made weights for "free" and "money" to weights that are learnt."""

from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.separability.decide import separability
from linearly.api import Model
from linearly.dataset.features.spam import SPAM_WORDS, SpamFeatures, spam_features
from linearly.demos.story import CLASSIFIERS, Columns, Compared, Score, Story, listed_errors, matrix, numbered, subset
from linearly.report.page_parts import Finding

HAND = {"bias": -3.0, "free": 4.0, "money": 2.0}  # S2's weights
TARGET = "label"
_EVERY = 3  # every third row is for the test
_FEWEST = 2  # training messages that a column must tell apart to be used
_SHOWN = 8  # columns and mistakes that are shown
_ALPHA = 1.0
_SEARCHED = 200_000  # cells of rows that are searched for a proof
_NUMBERS = 57  # columns of UCI's spambase before the label


class Mail(NamedTuple):
    """Messages as numbers, and as texts where there are any."""

    columns: Columns
    test: NDArray[np.bool_]
    texts: list[str] | None
    source: str


def tell(story: Story, data: Path | None) -> None:
    """The story."""
    mail = corpus() if data is None else from_file(data)
    columns = _used(mail)
    train, test = subset(columns, ~mail.test), subset(columns, mail.test)
    _begin(story, mail, columns)
    if mail.texts is not None:
        _by_hand(story, mail)
    fits = story.compare(train, test, TARGET)
    _compare(story, fits)
    _prove(story, train)
    model = story.fit(train, TARGET, "logistic", alpha=_ALPHA)
    new = Score.of_model(model, test)
    _words(story, model, train, new)
    if mail.texts is not None:
        _mistakes(story, mail, model, columns)
    story.lead = [
        f"Right on all but {new.errors} of {new.rows} messages that it had not seen ({new.interval} % wrong)."
    ]
    story.findings.append(
        Finding(
            "look",
            f"The penalty alpha = {_ALPHA:g} keeps the weights finite; they are pulled towards 0.",
            "Choose alpha by cross-validation: ly.cross_validate.",
            "story-words",
        )
    )
    story.about(model, train, f"logistic regression with alpha = {_ALPHA:g}", judged=True)


# --- data -----------------------------------------------------------------------------------------


def corpus() -> Mail:
    """The messages that come along."""
    with resources.files("linearly.demos").joinpath("data/messages.csv").open(encoding="utf-8") as file:
        rows = [(row["label"], row["text"]) for row in csv.DictReader(file)]
    return _of_texts(rows, "a small corpus written for this project")


def from_file(path: Path) -> Mail:
    """The SMS Spam Collection (label, tab, text), or UCI's spambase (57 numbers and 1 for spam, or 0, with commas)."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise ValueError(f"{path}: the file is empty.")
    return _sms(path, lines) if "\t" in lines[0] else _spambase(path, lines)


def _sms(path: Path, lines: list[str]) -> Mail:
    rows = []
    for i, line in enumerate(lines, 1):
        label, tab, message = line.partition("\t")
        if not tab or label not in ("ham", "spam"):
            raise ValueError(f"{path}, line {i}: expected ham or spam, a tab, and the message.")
        rows.append((label, message))
    return _of_texts(rows, path.name)


def _spambase(path: Path, lines: list[str]) -> Mail:
    head = lines[0].split(",")
    titled = not _is_number(head[0])
    names = [name.strip() for name in head] if titled else [*(f"column_{j}" for j in range(1, _NUMBERS + 1)), "spam"]
    what = "ham or spam, a tab and the message a line (SMS), or 57 numbers and 1 for spam or 0, with commas (spambase)"
    if "spam" not in names or len(names) not in (_NUMBERS + 1, _NUMBERS + 2) or len(set(names)) < len(names):
        raise ValueError(f"{path}: expected {what}.")
    rows = []
    for i, line in enumerate(lines[titled:], 1 + titled):
        try:
            rows.append([float(cell) for cell in line.split(",")])
        except ValueError:
            raise ValueError(f"{path}, line {i}: not numbers with commas between.") from None
        if len(rows[-1]) != len(names) or not np.isfinite(rows[-1]).all():
            raise ValueError(f"{path}, line {i}: expected {len(names)} finite numbers, found {len(rows[-1])}.")
    # The file is sorted by label, from which online perceptrons learn badly.
    shuffled = np.random.default_rng(0).permutation(np.array(rows))
    found = dict(zip(names, shuffled.T, strict=True))
    spam = found.pop("spam")
    if not np.isin(spam, (0, 1)).all():
        raise ValueError(f"{path}: the column spam must hold 1 for spam or 0.")
    test = found.pop("test") == 1 if "test" in found else _every_third(len(rows))
    labels = np.where(spam == 1, "spam", "ham")
    _refuse_one_label(path, labels, test)
    return Mail(found | {TARGET: labels}, test, None, path.name)


def _of_texts(rows: list[tuple[str, str]], source: str) -> Mail:
    features = SpamFeatures()
    texts = [text for _, text in rows]
    labels = np.array([label for label, _ in rows])
    test = _every_third(len(rows))
    _refuse_one_label(source, labels, test)
    names = [f"“{name}”" if name in SPAM_WORDS else name for name in features.get_feature_names_out()]
    return Mail(dict(zip(names, features.transform(texts).T, strict=True)) | {TARGET: labels}, test, texts, source)


def _every_third(n: int) -> NDArray[np.bool_]:
    """Every third pair of rows: the corpus alternates between the labels."""
    return np.asarray(np.arange(n) // 2 % _EVERY == _EVERY - 1)


def _refuse_one_label(source: Any, labels: NDArray[Any], test: NDArray[np.bool_]) -> None:
    if len(np.unique(labels[~test])) < 2 or len(np.unique(labels[test])) < 2:
        raise ValueError(f"{source}: both the training rows and the test rows need ham and spam.")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _used(mail: Mail) -> Columns:
    """Columns that differ from their commonest value in at least two training messages, in standard deviations."""
    train = subset(mail.columns, ~mail.test)
    kept = [name for name, values in train.items() if name != TARGET and _rarer(values) >= _FEWEST]
    return {name: mail.columns[name] / train[name].std() for name in kept} | {TARGET: mail.columns[TARGET]}


def _rarer(values: NDArray[Any]) -> int:
    return len(values) - int(np.unique(values, return_counts=True)[1].max())


# --- the chapters ---------------------------------------------------------------------------------


def _begin(story: Story, mail: Mail, columns: Columns) -> None:
    label = mail.columns[TARGET]
    spam, n = int((label == "spam").sum()), len(label)
    story.chapter("data", "Words and habits")
    counted = "how often chosen words occur, and how the text is written: capitals, digits, signs, links"
    story.tell(
        f"{n} messages from {mail.source}, {spam} of them spam. {int(mail.test.sum())} are set aside, and judge.",
        f"Each becomes {len(columns) - 1} numbers"
        + (f": {counted}." if mail.texts is not None else ", given in the file, whose rows are shuffled."),
        "They are measured in standard deviations, since perceptrons and penalties depend on the units.",
    )
    story.found |= {"rows": n, "test_rows": int(mail.test.sum()), "columns": len(columns) - 1}


def _by_hand(story: Story, mail: Mail) -> None:
    assert mail.texts is not None
    words = [name for name in HAND if name != "bias"]
    x = spam_features(mail.texts, words, bias=True, structure=False)
    said = np.where(x @ np.array(list(HAND.values())) > 0, "spam", "ham")
    truth = mail.columns[TARGET]
    score = Score.of_labels(said, truth)
    found = int(((said == "spam") & (truth == "spam")).sum())
    alarms = int(((said == "spam") & (truth == "ham")).sum())
    story.chapter("hand", "By hand: −3 + 4 free + 2 money > 0")
    story.tell(
        "The note weighs two words by hand: “free money” scores −3 + 4 + 2 = 3, above 0, so it is spam.",
        f"On all {len(truth)} messages that rule finds {found} of {int((truth == 'spam').sum())} spam, with "
        f"{numbered(alarms, 'false alarm')}: {score.errors} errors, {score} ({score.interval} %).",
    )
    story.found["by_hand"] = {"errors": score.errors, "of": score.rows, "found": found, "false_alarms": alarms}


def _compare(story: Story, fits: Compared) -> None:
    story.chapter("learnt", "Learnt: a weight for every number")
    rows = [[CLASSIFIERS[name], fit.trained.number, fit.new.with_interval] for name, fit in fits.items()]
    story.table("Errors on training messages and on new ones", ["errors in %, 95 % interval", "training", "new"], rows)
    best = min(fits, key=lambda name: fits[name].new.errors)
    new = fits[best].new
    # A ninth, with a penalty, comes below and may well be better.
    story.tell(
        f"Best of these eight on new messages: {CLASSIFIERS[best]}, {new.errors} of {new.rows} wrong.",
        f"The intervals overlap widely: {new.rows} messages cannot rank classifiers that are this close."
        if new.rows < 200
        else "",
    )
    story.found["errors"] = listed_errors(fits)


def _prove(story: Story, train: Columns) -> None:
    X, y = matrix(train, TARGET)
    if X.size > _SEARCHED:
        story.found["separability"] = None
        return
    certificate = separability(X, y, names=[name for name in train if name != TARGET])
    checked = "checked in exact arithmetic" if certificate.check() else "not confirmed"
    penalty = f"A penalty, alpha = {_ALPHA:g}, settles the weights."
    means = {
        "separable": (
            f"The training messages are separable ({checked}): many hyperplanes make no error on them, and maximum "
            f"likelihood would make the weights infinite to be ever more certain. {penalty}"
        ),
        "quasi-separable": (
            f"The training messages are quasi-separable ({checked}): a hyperplane has none on the wrong side and some "
            f"on it, so maximum likelihood has no finite answer. {penalty}"
        ),
        "overlapping": (
            f"No hyperplane separates the training messages ({checked}), so every classifier makes errors and maximum "
            "likelihood has an answer."
        ),
    }
    story.tell(means[certificate.verdict])
    story.found["separability"] = certificate.verdict


def _words(story: Story, model: Model, train: Columns, new: Score) -> None:
    coef = np.ravel(model.estimator.coef_)
    names = [name for name in train if name != TARGET]
    order = np.argsort(-np.abs(coef))[:_SHOWN]
    story.chapter("words", "What gives spam away")
    rows = [
        [names[j], f"{coef[j]:+.2f}".replace("-", "−"), f"× {np.exp(coef[j]):.2f}", "spam" if coef[j] > 0 else "ham"]
        for j in order
    ]
    head = ["one standard deviation more of", "log-odds of spam", "odds", "speaks for"]
    story.table("The columns that weigh most", head, rows, left=(3,))
    story.tell(
        f"Logistic regression with alpha = {_ALPHA:g}, which is none of the eight above, gets {new.errors} of "
        f"{new.rows} new messages wrong ({new.interval} %)."
    )
    story.found["weights"] = {names[j]: float(coef[j]) for j in order}


def _mistakes(story: Story, mail: Mail, model: Model, columns: Columns) -> None:
    assert mail.texts is not None
    test = subset(columns, mail.test)
    said = model.predict(test)
    wrong = np.flatnonzero(said != test[TARGET])
    if not len(wrong):
        return
    texts = np.array(mail.texts, dtype=object)[mail.test]
    shown = [[str(test[TARGET][i]), _shortened(texts[i])] for i in wrong[:_SHOWN]]
    story.table(f"New messages that it gets wrong: {len(wrong)}", ["truth", "message"], shown, left=(1,))


def _shortened(text: str) -> str:
    return text if len(text) <= 68 else text[:67] + "…"
