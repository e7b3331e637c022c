"""The spam: the corpus, the rule by hand, the files."""

import re
from collections import Counter

import numpy as np
import pytest
from demo_runs import demo

from linearly import demos
from linearly.demos import spam


def test_corpus_is_half_spam_without_duplicates():
    mail = spam.corpus()
    assert Counter(mail.columns["label"].tolist()) == {"ham": 60, "spam": 60}
    assert len(set(mail.texts)) == 120
    assert Counter(mail.columns["label"][mail.test].tolist()) == {"ham": 20, "spam": 20}


def test_spam_rule_by_hand_counts_words():
    story, said, _ = demo("spam")
    mail = spam.corpus()
    words = [Counter(re.findall(r"\w+", text.lower())) for text in mail.texts]
    caught = np.array([-3 + 4 * count["free"] + 2 * count["money"] > 0 for count in words])
    truth = mail.columns["label"] == "spam"
    assert story.found["by_hand"]["found"] == (caught & truth).sum()
    assert story.found["by_hand"]["false_alarms"] == (caught & ~truth).sum()
    assert story.found["by_hand"]["errors"] == (caught != truth).sum()
    assert "= 3" in said


def test_spam_names_the_best_of_eight():
    said = " ".join(demo("spam")[1].split())
    assert "Best of these eight on new messages: least squares and LDA, 4 of 40 wrong each." in said
    assert "with alpha = 1, which is not among the eight above, misclassifies 2 of 40 new messages" in said


@pytest.mark.parametrize("name", ["digits", "spam", "ecoli", "wine"])
def test_judged_demo_does_not_advise_to_judge(name):
    page = demo(name)[2]
    assert "Evaluate the model on held-out rows" not in page
    assert "each predicted by a fit without it (5-fold cross-validation)" in page
    assert "Use the pocket" not in page


def test_spam_learnt_weights_beat_the_rule_by_hand():
    story, _, _ = demo("spam")
    assert min(row["errors"] / row["of"] for row in story.found["errors"] if row["rows"] == "new") < 0.2
    assert story.found["by_hand"]["errors"] / story.found["by_hand"]["of"] > 0.3


def test_spam_from_sms_file_uses_its_rows(tmp_path):
    mail = spam.corpus()
    lines = [f"{label}\t{text}" for label, text in zip(mail.columns["label"], mail.texts, strict=True)]
    (tmp_path / "SMSSpamCollection").write_text("\n".join(lines), encoding="utf-8")
    story = demos.tell("spam", data=tmp_path / "SMSSpamCollection", say=lambda text: None)
    assert story.found["rows"] == 120
    (tmp_path / "SMSSpamCollection").write_text("\n".join([*lines, "junk\tbuy now"]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"Line 121 of .*SMSSpamCollection must contain ham or spam, a tab"):
        demos.tell("spam", data=tmp_path / "SMSSpamCollection", say=lambda text: None)


def spambase(header, n=160):
    draw = np.random.default_rng(1)
    y = np.arange(n) < n // 2
    X = draw.gamma(1, 1, (n, 57)).round(2) * (draw.uniform(size=(n, 57)) < np.where(y, 0.5, 0.3)[:, None])
    names = [*(f"word_{j}" for j in range(57)), "spam"]
    lines = [",".join(f"{v:g}" for v in row) for row in np.column_stack([X, y])]
    if header:
        lines = [f"{i % 3 == 0:d},{line}" for i, line in enumerate(lines)]
        lines.insert(0, ",".join(["test", *names]))
    return lines


@pytest.mark.parametrize("header", [True, False])
def test_spam_from_spambase_uses_its_rows(tmp_path, header):
    (tmp_path / "spambase.data").write_text("\n".join(spambase(header)) + "\n")
    said = []
    story = demos.tell("spam", data=tmp_path / "spambase.data", say=said.append)
    assert story.found["rows"] == 160
    assert story.found["columns"] == 57
    assert story.found["test_rows"] == (54 if header else 52)
    assert "by_hand" not in story.found
    assert story.write(tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: [], "is empty"),
        (lambda lines: ["free money, and more"], "does not contain ham or spam, a tab"),
        (lambda lines: [*lines, "1,2"], "Line 161 of .* must contain 58 finite numbers, but has 2"),
        (lambda lines: [*lines, lines[0].replace("1", "x")], "Line 161 of .* must contain numbers"),
        (lambda lines: [line[:-1] + "7" for line in lines], "must contain 1 for spam or 0"),
        (lambda lines: [line[:-1] + "1" for line in lines], "must contain ham and spam"),
    ],
)
def test_spam_from_bad_file_raises(tmp_path, spoil, message):
    (tmp_path / "mail.txt").write_text("\n".join(spoil(spambase(header=False))))
    with pytest.raises(ValueError, match=message):
        spam.from_file(tmp_path / "mail.txt")
