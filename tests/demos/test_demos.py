"""The stories: they run to the end, their numbers are right, their pages stand alone, bad files are named."""

import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import linearly as ly
from linearly import demos
from linearly.demos import digits, ecoli, image, loans, spam
from linearly.demos.story import Score

LARGEST = 400_000  # bytes of a page


def ecoli_lines(header=True, seed=3):
    """A file as UCI has it: five sites and a rare one; chg never changes, lip in one site only."""
    draw = np.random.default_rng(seed)
    lines = ["SequenceName  mcg  gvh  lip  chg  aac  alm1 alm2    class"] if header else []
    for k, (site, n) in enumerate({"cp": 40, "im": 30, "pp": 25, "imU": 20, "om": 15, "imS": 2}.items()):
        X = np.clip(draw.normal(0.3 + 0.08 * k, 0.1, (n, 7)), 0, 1).round(2)
        X[:, 2] = 0.48
        X[:, 3] = 0.5
        if site == "om":
            X[:3, 2] = 1.0
        if site == "imS":
            X[0, 3] = 1.0
        lines += [f"{site.upper()}{i}_ECOLI  {'  '.join(f'{v:.2f}' for v in row)}   {site}" for i, row in enumerate(X)]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A demo, run once: its story, what it said, its page."""
    runs = {}
    folder = tmp_path_factory.mktemp("demos")
    (folder / "ecoli.data").write_text(ecoli_lines(), encoding="utf-8")

    def run(name):
        if name not in runs:
            said = []
            story = demos.tell(name, data=folder / "ecoli.data" if name == "ecoli" else None, say=said.append)
            page = story.write(folder / f"{name}.html")
            assert page == folder / f"{name}.html"
            runs[name] = story, "\n".join(said), page.read_text(encoding="utf-8")
        return runs[name]

    return run


class Page(HTMLParser):
    """What a page has: identifiers, links, tags, and whether they nest."""

    VOID = frozenset({"meta", "link", "br", "input", "hr", "img"})

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.tags, self.sources, self._open = [], [], set(), [], []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_startendtag(self, tag, attrs):
        self._note(tag, attrs)

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def _note(self, tag, attrs):
        self.tags.add(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(value)
            elif key == "href":
                self.links.append(value)
            elif key in ("src", "srcset", "style", "data"):
                self.sources.append((tag, key))


# --- every story ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", demos.NAMES)
def test_is_told_in_lines_that_fit(told, name):
    _, said, _ = told(name)
    assert said.startswith(demos.TITLES[name])
    assert [line for line in said.splitlines()[:-1] if len(line) > 80] == []
    assert 30 < len(said.splitlines()) < 110, "one screen or two"
    assert not re.search(r"\bnan\b|\binf\b|None|<\w+ object|\{|\}", said)
    assert said.rstrip().endswith(f"{name}.html")


@pytest.mark.parametrize("name", demos.NAMES)
def test_page_stands_alone(told, name):
    story, _, html = told(name)
    page = Page(html)
    assert len(html.encode()) < LARGEST
    assert "default-src 'none'" in html.replace("&#39;", "'")
    assert not page.sources
    assert page.tags.isdisjoint({"img", "image", "iframe", "object", "link"})
    assert [name for name, n in Counter(page.ids).items() if n > 1] == []
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert f"<h1>{story.title}</h1>" in html.replace("&#39;", "'")
    assert html.count("<svg") >= 3


@pytest.mark.parametrize("name", demos.NAMES)
def test_page_says_what_the_terminal_says(told, name):
    _, said, html = told(name)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html).replace("&#39;", "'").replace("&gt;", ">"))
    chapters = re.sub(r".+\n[-=]{4,}\n", "\n\n", said)
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", chapters)]
    paragraphs = [part for part in paragraphs if "---" not in part and part.endswith((".", "”"))]
    assert len(paragraphs) > 4
    for part in paragraphs:
        assert " ".join(part.split()) in words


@pytest.mark.parametrize("name", demos.NAMES)
def test_ends_with_the_report_of_a_model(told, name):
    _, _, html = told(name)
    assert "How it was computed" in html
    assert "The report on" in html


def test_is_the_same_every_time(told, tmp_path):
    said = []
    path = demos.run("loans", out=tmp_path / "loans.html", say=said.append)
    story, before, html = told("loans")
    assert path.read_text(encoding="utf-8") == html
    assert "\n".join(said).replace(str(tmp_path), "") == re.sub(r"\S*/(?=loans\.html)", "/", before)
    assert story.found


def test_page_goes_to_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = demos.run("loans", say=lambda text: None)
    assert path.resolve() == tmp_path / "linearly-loans.html"
    assert path.exists()


def run_without(modules, code):
    """Run code in a Python in which modules are not installed."""
    hide = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {modules!r}: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", hide + code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_needs_neither_pandas_nor_polars(tmp_path):
    code = f"from linearly.demos import run; print(run('digits', out={str(tmp_path / 'a.html')!r}))"
    assert run_without(["pandas", "polars"], code).rstrip().endswith("a.html")
    assert (tmp_path / "a.html").stat().st_size > 50_000


def test_story_without_a_page(tmp_path):
    code = f"from linearly.demos import run; print(run('wine', out={str(tmp_path / 'a.html')!r}))"
    out = run_without(["matplotlib", "jinja2"], code)
    assert "linearly[cli]" in out
    assert out.rstrip().endswith("None")
    assert not (tmp_path / "a.html").exists()


def test_unknown_story():
    with pytest.raises(ValueError, match=r"no demo 'iris': it is one of digits, loans, spam, wine, ecoli"):
        demos.run("iris")


@pytest.mark.parametrize("name", ["loans", "wine"])
def test_data_that_nobody_asked_for(name, tmp_path):
    with pytest.raises(ValueError, match="leave the file out"):
        demos.run(name, data=tmp_path / "x.csv", say=lambda text: None)


@pytest.mark.parametrize("name", ["digits", "spam", "ecoli"])
def test_file_that_is_not_there(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*absent"):
        demos.run(name, data=tmp_path / "absent", say=lambda text: None)


# --- digits ---------------------------------------------------------------------------------------


def errors(story, **what):
    (row,) = [row for row in story.found["errors"] if what.items() <= row.items()]
    return row


def test_digits_errors_are_those_of_the_models(told):
    story, _, _ = told("digits")
    data = digits.bundled()
    F = ly.digit_features(data.pixels)[:, :2]
    for name, kind in (("lda", ly.LinearDiscriminantAnalysis), ("averaged", ly.AveragedPerceptron)):
        model = kind().fit(F[~data.test], data.label[~data.test])
        for rows, part in (("training", ~data.test), ("new", data.test)):
            row = errors(story, classifier=name, columns="two", rows=rows)
            assert row["errors"] == (model.predict(F[part]) != data.label[part]).sum()
            assert row["of"] == part.sum()
            assert row["low"] <= row["errors"] / row["of"] <= row["high"]


def test_digits_proof(told):
    story, said, _ = told("digits")
    found = story.found["features"]
    data = digits.bundled()
    assert found["verdict"] == "overlapping"
    assert 0 < found["error_floor"] <= found["pocket_errors"]
    for row in (row for row in story.found["errors"] if (row["columns"], row["rows"]) == ("two", "training")):
        assert row["errors"] >= found["error_floor"], "no line beats the floor"
    a, b = found["witness_rows"]
    F = ly.digit_features(data.pixels)[:, :2]
    assert np.array_equal(F[a], F[b])
    assert data.label[a] != data.label[b]
    assert f"at least {found['error_floor']} of the {story.found['train_rows']}" in " ".join(said.split())


def test_digits_pixels_are_separable(told):
    story, _, _ = told("digits")
    found = story.found["pixels"]
    assert found["verdict"] == "separable"
    assert 0 < found["mistakes"] <= found["mistake_bound"]
    assert errors(story, classifier="perceptron", columns="pixels", rows="training")["errors"] == 0


def usps(tmp_path, change=lambda rows: rows):
    """Digits in the format of usps.npz: label, pixels from −1 to 1, 1 for the test."""
    images, digit = load_digits(return_X_y=True)
    rows = np.column_stack([digit, images / 8 - 1, np.arange(len(digit)) % 4 == 0])[:900]
    np.savez(tmp_path / "usps.npz", change(rows))
    return tmp_path / "usps.npz"


def test_digits_from_a_file(tmp_path):
    said = []
    story = demos.tell("digits", data=usps(tmp_path), say=said.append)
    assert story.write(tmp_path / "page.html").exists()
    _, digit = load_digits(return_X_y=True)
    ours = np.isin(digit[:900], (1, 5))
    assert story.found["test_rows"] == (ours & (np.arange(900) % 4 == 0)).sum()
    assert story.found["train_rows"] == (ours & (np.arange(900) % 4 != 0)).sum()
    assert "usps.npz" in "".join(said)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:, :-1], r"not a row an image: label, the pixels of a square"),
        (lambda rows: rows[0], r"not a row an image"),
        (lambda rows: rows.astype(str), r"not a row an image"),
        (lambda rows: np.where(rows == rows[5, 20], np.nan, rows), r"row \d+ is not finite"),
        (lambda rows: rows[rows[:, 0] == 1], r"training rows must have both ones and fives"),
        (lambda rows: rows[rows[:, -1] == 0], r"test rows must have both ones and fives"),
    ],
)
def test_digits_bad_file(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        digits.from_file(usps(tmp_path, change))


def test_digits_file_of_something_else(tmp_path):
    (tmp_path / "x.npz").write_text("1,2,3\n")
    with pytest.raises(ValueError, match=r"not an \.npz or \.npy file"):
        digits.from_file(tmp_path / "x.npz")
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"not an \.npz or \.npy file"):
        digits.from_file(tmp_path / "objects.npy")
    np.savez(tmp_path / "two.npz", a=np.ones(3), b=np.ones(3))
    with pytest.raises(ValueError, match="holds 2 arrays"):
        digits.from_file(tmp_path / "two.npz")


@pytest.mark.parametrize("side", [8, 16])
def test_images_as_blocks(side):
    pixels = np.zeros((side, side))
    pixels[:, : side // 2] = 1
    lines = image.blocks([image.Image(pixels, "left\nink")] * 2, 80).splitlines()
    assert lines[:8] == ["█" * 8 + " " * 11 + "█" * 8] * 8
    assert [line.split() for line in lines[8:]] == [["left", "left"], ["ink", "ink"]]


def test_images_go_on_below():
    one = image.Image(np.ones((8, 8)), "a")
    assert all(len(line) <= 80 for line in image.blocks([one] * 7, 80).splitlines())
    assert image.blocks([one] * 7, 80).count("a") == 7


# --- loans ----------------------------------------------------------------------------------------


def test_loans_truth_is_found(told):
    story, said, html = told("loans")
    found = story.found["amount"]
    assert 0.93 < found["coverage"] < 0.97
    assert found["sigma"] == pytest.approx(loans.NOISE, rel=0.1)
    customers, test = loans.generated()
    X = np.column_stack(
        [np.ones((~test).sum()), *(customers[name][~test] for name in ("salary", "debt", "years", "age"))]
    )
    X = np.column_stack([X, customers["home"][~test] == "tenant"])
    by_hand = np.linalg.lstsq(X, customers["amount"][~test], rcond=None)[0]
    assert [row["estimate"] for row in found["terms"]] == pytest.approx(by_hand, rel=1e-9)
    assert "generated" in said.split("----")[1] + said
    assert "These loans are generated" in html


def test_loans_nobody_beats_the_truth_by_much(told):
    story, _, _ = told("loans")
    least = story.found["granted"]["least_error"]
    new = [row for row in story.found["granted_errors"] if row["rows"] == "new"]
    assert len(new) == 8
    assert all(row["high"] > least for row in new)
    assert 1 < story.found["best_degree"] < 8


# --- spam -----------------------------------------------------------------------------------------


def test_corpus_is_half_spam_and_has_no_twins():
    mail = spam.corpus()
    assert Counter(mail.columns["label"].tolist()) == {"ham": 60, "spam": 60}
    assert len(set(mail.texts)) == 120
    assert Counter(mail.columns["label"][mail.test].tolist()) == {"ham": 20, "spam": 20}


def test_rule_by_hand_is_the_notes(told):
    story, said, _ = told("spam")
    mail = spam.corpus()
    words = [Counter(re.findall(r"\w+", text.lower())) for text in mail.texts]
    caught = np.array([-3 + 4 * count["free"] + 2 * count["money"] > 0 for count in words])
    truth = mail.columns["label"] == "spam"
    assert story.found["by_hand"]["found"] == (caught & truth).sum()
    assert story.found["by_hand"]["false_alarms"] == (caught & ~truth).sum()
    assert story.found["by_hand"]["errors"] == (caught != truth).sum()
    assert "= 3" in said


def test_the_best_of_eight_is_not_beaten_by_one_of_them(told):
    said = " ".join(told("spam")[1].split())
    assert "Best of these eight on new messages: least squares, 4 of 40 wrong." in said
    assert "with alpha = 1, which is none of the eight above, gets 2 of 40 new messages wrong" in said


@pytest.mark.parametrize(("name", "judged"), [("digits", True), ("spam", True), ("ecoli", True), ("wine", False)])
def test_advice_that_the_story_has_taken_is_not_given(told, name, judged):
    page = told(name)[2]
    assert ("Judge it on rows that it has not seen" not in page) == judged
    assert "Use the pocket" not in page


def test_learning_beats_the_hand(told):
    story, _, _ = told("spam")
    assert min(row["errors"] / row["of"] for row in story.found["errors"] if row["rows"] == "new") < 0.2
    assert story.found["by_hand"]["errors"] / story.found["by_hand"]["of"] > 0.3


def test_spam_from_an_sms_file(tmp_path):
    mail = spam.corpus()
    lines = [f"{label}\t{text}" for label, text in zip(mail.columns["label"], mail.texts, strict=True)]
    (tmp_path / "SMSSpamCollection").write_text("\n".join(lines), encoding="utf-8")
    story = demos.tell("spam", data=tmp_path / "SMSSpamCollection", say=lambda text: None)
    assert story.found["rows"] == 120
    (tmp_path / "SMSSpamCollection").write_text("\n".join([*lines, "junk\tbuy now"]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"SMSSpamCollection, line 121: expected ham or spam, a tab"):
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
def test_spam_from_spambase(tmp_path, header):
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
        (lambda lines: [], "the file is empty"),
        (lambda lines: ["free money, and more"], "expected ham or spam, a tab"),
        (lambda lines: [*lines, "1,2"], "line 161: expected 58 finite numbers, found 2"),
        (lambda lines: [*lines, lines[0].replace("1", "x")], "line 161: not numbers"),
        (lambda lines: [line[:-1] + "7" for line in lines], "must hold 1 for spam or 0"),
        (lambda lines: [line[:-1] + "1" for line in lines], "need ham and spam"),
    ],
)
def test_spam_bad_file(tmp_path, spoil, message):
    (tmp_path / "mail.txt").write_text("\n".join(spoil(spambase(header=False))))
    with pytest.raises(ValueError, match=message):
        spam.from_file(tmp_path / "mail.txt")


# --- wine -----------------------------------------------------------------------------------------


def test_wine_logits_by_hand_are_the_probabilities(told):
    story, _, _ = told("wine")
    found = story.found["logits"]
    assert found["by_hand"] == pytest.approx(found["predict_proba"], rel=1e-9)
    assert sum(found["by_hand"].values()) == pytest.approx(1)


def test_wine_errors_are_those_of_the_models(told):
    story, _, html = told("wine")
    bunch = load_wine()
    X = bunch.data[:, [bunch.feature_names.index(name) for name in ("alcohol", "flavanoids")]]
    model = ly.QuadraticDiscriminantAnalysis().fit(X, bunch.target)
    assert story.found["two_columns"]["qda"]["errors"] == (model.predict(X) != bunch.target).sum()
    assert story.found["all_columns"]["verdict"] == "separable"
    assert story.found["all_columns"]["held_out_error"] < 0.05
    assert "one covariance, straight boundaries" in html
    assert "a covariance for each class, curved boundaries" in html


# --- ecoli ----------------------------------------------------------------------------------------


def test_ecoli_names_the_constant_column(told):
    story, said, html = told("ecoli")
    assert story.found["constant"] == ["chg"]
    assert "chg is 0.5 for every protein that stays" in said
    assert "'chg': constant" in " ".join(said.split())
    assert "chg never changes in these rows" in html


def test_ecoli_says_what_qda_shrinks(told):
    story, said, _ = told("ecoli")
    shrunk = {site for site, s in story.found["shrinkage"].items() if s > 0}
    assert shrunk == {"cp", "im", "imU", "pp"}, "all but om, where lip varies"
    assert "(shrinkage)" in " ".join(said.split())
    assert story.found["left_out"] == ["imS"]
    assert story.found["kept"] == 130


def test_ecoli_titles_may_be_absent(tmp_path):
    for header in (True, False):
        (tmp_path / f"{header}.data").write_text(ecoli_lines(header))
    with_titles, without = (ecoli.from_file(tmp_path / f"{header}.data") for header in (True, False))
    assert len(with_titles["site"]) == 132
    for name, values in with_titles.items():
        assert np.array_equal(values, without[name])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X_ECOLI 0.1 0.2 0.3 0.5 0.5 0.6 cp", r"line 134: expected a name, seven numbers"),
        ("X_ECOLI 0.1 0.2 0.3 0.5 x 0.5 0.6 cp", r"line 134: expected a name, seven numbers"),
        ("X_ECOLI 0.1 0.2 0.3 0.5 nan 0.5 0.6 cp", r"line 134: a number is not finite"),
    ],
)
def test_ecoli_bad_line(tmp_path, line, message):
    (tmp_path / "ecoli.data").write_text(ecoli_lines() + line + "\n")
    with pytest.raises(ValueError, match=message):
        ecoli.from_file(tmp_path / "ecoli.data")


def test_ecoli_too_little(tmp_path):
    (tmp_path / "ecoli.data").write_text("\n")
    with pytest.raises(ValueError, match="no proteins"):
        ecoli.from_file(tmp_path / "ecoli.data")
    (tmp_path / "ecoli.data").write_text("\n".join(ecoli_lines().splitlines()[:30]))
    with pytest.raises(ValueError, match="at least two sites"):
        demos.tell("ecoli", data=tmp_path / "ecoli.data", say=lambda text: None)


def test_ecoli_without_a_network_says_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")  # where nothing listens
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(ConnectionError, match=r"could not be fetched.*--data ecoli\.data"):
        ecoli.downloaded()


# --- scores ---------------------------------------------------------------------------------------


def test_score_counts_errors_within_their_interval():
    truth = np.array(["a", "b"] * 10)
    score = Score.of(np.where(np.arange(20) < 15, truth, "a"), truth)
    assert (score.errors, score.rows) == (3, 20)
    assert score.low < 0.15 < score.high
    assert score.number == "15.0"
    low, high = (float(end) for end in score.interval.split(" to "))
    assert all(a < b for a, b in pairwise([0, low, 15, high, 100]))
