"""Pages and screens claim what is so: held-out figures first, effects as the formula has them, advice that runs."""

import json
import re
import shlex
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")
matplotlib.use("Agg")

from commands import run_command

import linearly as ly
from linearly.lab.session import Session
from linearly.plots import style as look
from linearly.report.facts import facts
from linearly.report.render import page_of
from linearly.report.term_facts import shared_terms


class _Parts(HTMLParser):
    """The paragraphs and list items of a page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.parts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in ("p", "li"):
            self.open.append([])

    def handle_endtag(self, tag):
        if tag in ("p", "li") and self.open:
            self.parts.append(" ".join("".join(self.open.pop()).split()))

    def handle_data(self, data):
        if self.open:
            self.open[-1].append(data)


def _jobs(n=120):
    """Prestige of occupations whose income matters for one type only."""
    rng = np.random.default_rng(2)
    income, education, kind = rng.gamma(3, 2000, n), rng.normal(11, 3, n), rng.choice(["bc", "prof", "wc"], n)
    prestige = 10 + 0.003 * income * (kind == "bc") + 3 * education + 7 * rng.normal(size=n)
    return pd.DataFrame({"income": income, "education": education, "type": kind, "prestige": prestige})


def _overfitted(n=100, p=25):
    """Labels that depend on one column of many: right far more often on the rows of the fit than on others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    label = np.where(X[:, 0] + rng.normal(size=n) > 0, "yes", "no")
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]).assign(y=label)


def _page(model, data, **options):
    commands = {"commands": options.pop("commands", False)}
    return page_of(facts(model, model.design_rows(data), **options) | commands)


def _said(page):
    """Every sentence of a page, its tables included."""
    cells = [
        str(cell["text"])
        for section in page.sections
        for part in section.parts
        if part["kind"] == "table"
        for row in part["rows"]
        for cell in row
    ]
    texts = [part["text"] for section in page.sections for part in section.parts if part["kind"] == "text"]
    findings = [f"{finding.claim} {finding.remedy}" for finding in page.findings]
    return [*page.fitted, *page.good, *findings, *texts, *cells]


def _readings(page):
    """Term → what the table of coefficients says of it in words."""
    (section,) = [section for section in page.sections if section.name == "coefficients"]
    (table,) = [part for part in section.parts if part["kind"] == "table"]
    return {row[0]["text"]: row[-1]["text"] for row in table["rows"]}


# --- held-out figures (12) ------------------------------------------------------------------------


def test_the_page_of_a_classifier_with_a_holdout_leads_with_the_rows_held_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _overfitted().to_csv("d.csv", index=False)
    code, out, err = run_command(
        "fit", "d.csv", "-t", "y", "--alpha", "0.1", "--holdout", "0.25", "--report", "page.html", "--json"
    )
    assert code == 0, err
    told = json.loads(out)
    held = next(row["value"] for row in told["holdout"]["metrics"] if row["metric"] == "accuracy")
    fitted = told["training"]["accuracy"]
    assert fitted > held + 0.1  # or the test shows nothing
    parts = _Parts((tmp_path / "page.html").read_text(encoding="utf-8")).parts
    lead = next(part for part in parts if part.startswith("Correct on"))
    assert lead.startswith(f"Correct on {100 * held:.1f}% ")
    assert lead.endswith("of the 25 rows held out of the fit.")
    assert f"On the 75 rows of the fit, accuracy is {100 * fitted:.1f}%." in parts
    assert not [part for part in parts if "has not seen" in part or "learnt from" in part]
    assert not [part for part in parts if f"{100 * fitted:.1f}%" in part and "rows of the fit" not in part]


def test_the_page_of_a_regression_with_a_holdout_leads_with_the_rows_held_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 12))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)]).assign(y=X[:, 0] + rng.normal(size=60))
    frame.to_csv("d.csv", index=False)
    code, out, err = run_command("fit", "d.csv", "-t", "y", "--holdout", "0.25", "--report", "page.html", "--json")
    assert code == 0, err
    told = json.loads(out)
    held = next(row["value"] for row in told["holdout"]["metrics"] if row["metric"] == "r_squared")
    parts = _Parts((tmp_path / "page.html").read_text(encoding="utf-8")).parts
    at = next(i for i, part in enumerate(parts) if part.startswith("On 15 rows held out of the fit, R² is"))
    assert f"R² is {held:.3g}".replace("-", "−") in parts[at]
    assert parts[at + 1] == f"On the 45 rows of the fit, R² is {told['statistics']['r_squared']:.3g}."
    assert not [part for part in parts if "has not seen" in part]


def test_a_page_without_a_holdout_leads_with_cross_validated_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _overfitted().to_csv("d.csv", index=False)
    assert run_command("fit", "d.csv", "-t", "y", "--alpha", "0.1", "--report", "labels.html")[0] == 0
    parts = _Parts((tmp_path / "labels.html").read_text(encoding="utf-8")).parts
    lead = next(i for i, part in enumerate(parts) if part.startswith("Correct on"))
    assert parts[lead].endswith("rows of the fit, each predicted by a fit without it (5-fold cross-validation).")
    assert any(re.fullmatch(r"On the .* rows of the fit, accuracy is .*", part) for part in parts)
    _jobs().to_csv("n.csv", index=False)
    assert run_command("fit", "n.csv", "-t", "prestige", "--report", "numbers.html")[0] == 0
    parts = _Parts((tmp_path / "numbers.html").read_text(encoding="utf-8")).parts
    at = next(i for i, part in enumerate(parts) if part.startswith("Leave-one-out R² is"))
    assert parts[at + 1].startswith("On the 120 rows of the fit, R² is")


def test_leave_one_out_r_squared_is_that_of_refitting_without_each_row():
    data = _jobs(30)
    model = ly.fit(data, formula="prestige ~ income + education")
    found = facts(model, model.design_rows(data))
    errors = [
        data.prestige[i] - ly.fit(data.drop(index=i), formula="prestige ~ income + education").predict(data.loc[[i]])[0]
        for i in data.index
    ]
    expected = 1 - np.sum(np.square(errors)) / np.sum((data.prestige - data.prestige.mean()) ** 2)
    assert found["left_out_r_squared"] == pytest.approx(expected, rel=1e-9)


def test_the_screen_calls_training_rows_training_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _overfitted().to_csv("d.csv", index=False)
    _, out, _ = run_command("fit", "d.csv", "-t", "y", "--alpha", "0.1", "--holdout", "0.25")
    assert re.search(r"correct on \d+\.\d% of the training rows", out)
    assert "of these rows" not in out


# --- sentences (13) -------------------------------------------------------------------------------


def test_a_main_effect_in_an_interaction_is_read_where_the_other_is_at_its_baseline():
    model = ly.fit(_jobs(), formula="prestige ~ income*type + education")
    said = _readings(_page(model, _jobs()))
    assert re.fullmatch(r"0\.0\d+ higher per unit if type is bc; the effect depends on type", said["income"])
    assert "if income is 0; the effect depends on income" in said["type[prof]"]
    assert re.fullmatch(r"the effect of income changes by −0\.0\d+ with type\[prof\]", said["income:type[prof]"])
    assert re.fullmatch(r"3\.\d+ higher per unit", said["education"])


def test_no_sentence_reads_an_interaction_as_an_effect_with_the_others_held():
    data = _jobs()
    for formula in ("prestige ~ income*type", "prestige ~ income*education", "prestige ~ poly(education, 2)"):
        page = _page(ly.fit(data, formula=formula), data)
        assert not [sentence for sentence in _said(page) if "the other columns held" in sentence]
    labels = data.assign(high=np.where(data.prestige > data.prestige.median(), "yes", "no"))
    said = _readings(_page(ly.fit(labels, formula="high ~ income*education"), labels))
    assert "if education is 0; the effect depends on education" in said["income"]
    assert "multiplies the odds" not in said["income:education"]


def test_terms_of_a_polynomial_are_read_together_and_a_transform_by_its_own_unit():
    said = _readings(_page(ly.fit(_jobs(), formula="prestige ~ poly(education, 2) + log(income)"), _jobs()))
    for k in (1, 2):
        assert said[f"poly(education, 2)[{k}]"].startswith("part of a curve in education: read with its other terms")
    assert said["log(income)"].startswith("9.33 higher per unit of log(income)")
    squares = _readings(_page(ly.fit(_jobs(), formula="prestige ~ education + I(education^2)"), _jobs()))
    assert all("part of a curve in education" in text for term, text in squares.items() if term != "Intercept")
    assert set(shared_terms(None, ("x", "x^2", "z", "w^2"))) == {"x", "x^2"}


def test_the_picture_of_coefficients_scales_products_and_powers_by_their_own_columns():
    data = _jobs()
    model = ly.fit(data, formula="prestige ~ income*type + poly(education, 2)")
    page = _page(model, data)
    (section,) = [section for section in page.sections if section.name == "coefficients"]
    drawn = next(part["svg"] for part in section.parts if part["kind"] == "figure")
    for name, column in (("income:type[prof]", data.income * (data.type == "prof")), ("type[prof]", None)):
        estimate = model.tidy()["estimate"][model.tidy()["term"].tolist().index(name)]
        size = 1.0 if column is None else float(column.std(ddof=0))
        assert f">{look.number(estimate * size)}  (" in drawn


@pytest.mark.parametrize("formula", ["prestige ~ education*income", "prestige ~ education + I(education^2)"])
def test_a_structural_inflation_is_no_reason_to_drop_a_column(formula, tmp_path, monkeypatch):
    data = _jobs().assign(education=lambda frame: frame.education + 20)
    page = _page(ly.fit(data, formula=formula), data)
    assert max(facts(m := ly.fit(data, formula=formula), m.design_rows(data))["vif"]["vif"]) > 10
    sentences = [f"{finding.claim} {finding.remedy}" for finding in page.findings]
    assert not [sentence for sentence in sentences if "Try the fit without" in sentence]
    assert [sentence for sentence in sentences if "related by construction" in sentence]
    monkeypatch.chdir(tmp_path)
    data.to_csv("d.csv", index=False)
    _, out, _ = run_command("fit", "d.csv", "--formula", formula)
    assert "--without" not in out
    assert "related by construction" in " ".join(out.split())


def test_a_column_that_nearly_repeats_another_is_still_advised_against():
    data = _jobs().assign(again=lambda frame: frame.education + 0.01 * np.arange(120) % 7)
    model = ly.fit(data, formula="prestige ~ education + again + income*type")
    assert any("Try the fit without" in finding.remedy for finding in _page(model, data).findings)


def _normal(n=200):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + rng.normal(size=n)})


def test_a_test_that_does_not_reject_finds_no_evidence_against(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _normal().to_csv("d.csv", index=False)
    _, out, _ = run_command("fit", "d.csv", "-t", "y")
    assert "No evidence of curvature, unequal variance or serial correlation" in out
    model = ly.fit(_normal(), target="y")
    X, y = _normal()[["x"]].to_numpy(), _normal()["y"].to_numpy()
    bare = ly.LinearRegression().fit(X, y)
    titles = [
        plot(bare, X, y).get_title(loc="left") for plot in (ly.plot_qq, ly.plot_residuals, ly.plot_scale_location)
    ]
    sentences = [*_said(_page(model, _normal())), *(" ".join(title.split()) for title in titles), out]
    claims = r"\b(?:are|is|about) normal\b|\bconstant variance\b|\bstraight line will do\b|\bpasses\b|same everywhere"
    assert not [sentence for sentence in sentences if re.search(claims, sentence) and "?" not in sentence]
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 2)])
def test_a_target_of_two_numbers_gets_logistic_advice_and_no_claim_about_normality(tmp_path, monkeypatch, low, high):
    monkeypatch.chdir(tmp_path)
    data = _normal().assign(y=lambda frame: np.where(frame.y > 0, high, low))
    data.to_csv("d.csv", index=False)
    code, out, _ = run_command("fit", "d.csv", "-t", "y", "--report", "page.html")
    assert code == 0
    assert f"y has only the values {low} and {high}." in " ".join(out.split())
    assert "the usual model for a target with two values: --model logistic." in " ".join(out.split())
    assert "Shapiro" not in out
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    (finding,) = [part for part in _Parts(text).parts if f"y has only the values {low} and {high}." in part]
    assert "neither normal nor of equal variance" in finding
    assert any(part.startswith("Fit logistic regression") and "--model logistic" in part for part in _Parts(text).parts)
    for absent in ("Shapiro", "Breusch", "no evidence against", "qq-title", "spread-title"):
        assert absent not in text


# --- advice (14) ----------------------------------------------------------------------------------


def _table(rows=90, **columns):
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, rows))
    return pd.DataFrame({"a": a, "b": b} | {name: make(rng, a, b) for name, make in columns.items()})


def _flipped(rng, values):
    return np.where(rng.random(len(values)) < 0.2, -values, values)


TABLES = {
    "numbers": lambda: _table(y=lambda rng, a, b: a + rng.normal(size=len(a))),
    "labels": lambda: _table(y=lambda rng, a, b: np.where(_flipped(rng, a) > 0, "yes", "no")),
    "three labels": lambda: _table(y=lambda rng, a, b: np.array(["p", "q", "r"])[rng.integers(0, 3, len(a))]),
    "0/1": lambda: _table(y=lambda rng, a, b: (_flipped(rng, a) > 0).astype(int)),
    "0/1, separable": lambda: _table(y=lambda rng, a, b: (a > 0).astype(int)),
    "few integers": lambda: _table(y=lambda rng, a, b: rng.integers(1, 5, len(a))),
    "separable": lambda: _table(y=lambda rng, a, b: np.where(a > 0, "yes", "no")),
    "collinear, numbers": lambda: _table(
        c=lambda rng, a, b: a + 0.01 * rng.normal(size=len(a)), y=lambda rng, a, b: a + rng.normal(size=len(a))
    ),
    "collinear, labels": lambda: _table(
        c=lambda rng, a, b: a + 0.01 * rng.normal(size=len(a)),
        y=lambda rng, a, b: np.where(_flipped(rng, a) > 0, "yes", "no"),
    ),
    "collinear, 0/1": lambda: _table(
        c=lambda rng, a, b: a + 0.01 * rng.normal(size=len(a)), y=lambda rng, a, b: (_flipped(rng, a) > 0).astype(int)
    ),
    "duplicate": lambda: _table(c=lambda rng, a, b: 2 * a, y=lambda rng, a, b: a + rng.normal(size=len(a))),
    "missing": lambda: _table(
        c=lambda rng, a, b: np.where(rng.random(len(a)) < 0.1, np.nan, b),
        y=lambda rng, a, b: a + rng.normal(size=len(a)),
    ),
    "sizes": lambda: _table(
        c=lambda rng, a, b: 25_000 * rng.normal(size=len(a)), y=lambda rng, a, b: a + b + rng.normal(size=len(a))
    ),
    "identifier": lambda: _table(
        **{"row id": lambda rng, a, b: np.arange(1, len(a) + 1)}, y=lambda rng, a, b: a + rng.normal(size=len(a))
    ),
    "constant": lambda: _table(c=lambda rng, a, b: np.ones(len(a)), y=lambda rng, a, b: a + rng.normal(size=len(a))),
    "uneven": lambda: _table(y=lambda rng, a, b: 5 * a + np.exp(1.5 * a) * rng.normal(size=len(a))),
    "wide, numbers": lambda: _table(
        12,
        **{f"c{j}": lambda rng, a, b: rng.normal(size=len(a)) for j in range(14)},
        y=lambda rng, a, b: a + rng.normal(size=len(a)),
    ),
    "wide, labels": lambda: _table(
        12, **{f"c{j}": lambda rng, a, b: rng.normal(size=len(a)) for j in range(14)},
        y=lambda rng, a, b: np.where(np.arange(len(a)) % 2, "yes", "no"),
    ),
}  # fmt: skip
OPTION = re.compile(r"--(?:model [a-z-]+|alpha [\d.]+|cv\b|missing drop|param \w+=\w+|without (?:'[^']*'|\S+))")


def _advised(text):
    return [shlex.split(found.rstrip(".,;:)")) for found in OPTION.findall(text)]


def _with(words, extra):
    """A command with an option more; what cannot stand beside it is taken out."""
    apart = {"--cv": ("--alpha", "--model"), "--alpha": ("--cv",), "--model": ("--cv", "--alpha")}
    apart |= {"--param": ("--alpha",)} if extra[-1] == "bias_reduction=firth" else {}
    kept, skip = [], False
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if skip:
            skip = False
        elif word in apart.get(extra[0], ()) or word == extra[0]:
            skip = not after.startswith("--") and after != ""
        else:
            kept.append(word)
    if extra[0] == "--without" and "--without" in words:
        extra = ["--without", f"{words[words.index('--without') + 1]},{extra[1]}"]
    return [*kept, *extra]


@pytest.mark.parametrize("name", TABLES)
def test_every_advice_of_check_fit_and_compare_runs(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    TABLES[name]().to_csv("d.csv", index=False)
    code, out, err = run_command("check", "d.csv", "-t", "y", "--json")
    assert code == 0, err
    findings = json.loads(out)["findings"]
    _, _, err = run_command("check", "d.csv", "-t", "y")
    following = re.findall(r"^next: linearly (.*)$", err, flags=re.M)
    assert len(following) == 1
    base = shlex.split(following[0])
    commands = [base, [*base, "-o", "model.json"]]
    commands += [_with(base, option) for one in findings for option in _advised(one["remedy"])]
    for words in commands:
        code, out, err = run_command(*words)
        assert code == 0, (words, err)
        for option in _advised(f"{out} {err}"):
            code, _, refused = run_command(*_with(words, option))
            assert code == 0, (words, option, refused)
        for line in re.findall(r"^next: (.*)$", err, flags=re.M):
            after = [*words, *shlex.split(line.removeprefix("add ").partition(" to ")[0])]
            if line.startswith("linearly "):
                after = ["d.csv" if word == "NEW_DATA" else word for word in shlex.split(line)[1:]]
            code, _, refused = run_command(*after)
            assert code == 0, (after, refused)
    left_out = base[base.index("--without") : base.index("--without") + 2] if "--without" in base else []
    drop = ["--missing", "drop"] if "--missing" in base else []
    folds = ["--folds", "3"] if name.startswith("wide") else []
    compare = ["compare", "d.csv", "-t", "y", *left_out, *drop, *folds]
    code, out, err = run_command(*compare)
    assert code == 0, err
    for option in _advised(re.sub(r"linearly fit … ", "", err)):
        command = compare if option[0] == "--model" else base
        code, _, refused = run_command(*_with(command, option))
        assert code == 0, (command, option, refused)


def test_check_says_by_how_much_standard_deviations_differ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    TABLES["sizes"]().to_csv("d.csv", index=False)
    out = run_command("check", "d.csv", "-t", "y")[1]
    assert "comparable" not in out
    assert re.search(r"scale: standard deviations range from [01]\.\d+ \([ab]\) to 2\d,000 \(c\)\.", out)
    TABLES["numbers"]().to_csv("d.csv", index=False)
    assert "columns have comparable standard deviations" in run_command("check", "d.csv", "-t", "y")[1]


def test_check_advises_cross_validated_ridge_for_numbers_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, advised in (("collinear, numbers", True), ("collinear, labels", False), ("collinear, 0/1", False)):
        TABLES[name]().to_csv("d.csv", index=False)
        out = run_command("check", "d.csv", "-t", "y")[1]
        assert "VIF" in out
        assert ("--cv" in out) == advised


def test_check_recommends_the_logistic_fit_of_a_target_of_two_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    TABLES["0/1"]().to_csv("d.csv", index=False)
    _, out, err = run_command("check", "d.csv", "-t", "y")
    claim = "y: the target has only the values 0 and 1, for which logistic regression is the usual model."
    assert f"{claim} Use --model logistic." in out
    assert "labels overlap" in out
    assert err.rstrip().endswith("next: linearly fit d.csv --target y --model logistic")
    TABLES["0/1, separable"]().to_csv("d.csv", index=False)
    assert "--model logistic --alpha 1" in run_command("check", "d.csv", "-t", "y")[2]


def test_the_advice_of_a_page_is_in_the_words_of_its_reader():
    data = TABLES["separable"]()
    with pytest.warns(UserWarning, match="separable"):
        model = ly.fit(data, target="y")
    there = [finding.remedy for finding in _page(model, data, commands=True).findings]
    assert any("--alpha 1.0 or --param bias_reduction=firth" in action for action in there)
    here = [finding.remedy for finding in _page(model, data).findings]
    assert any('alpha=1.0 or bias_reduction="firth"' in action for action in here)


# --- the lab (15) ---------------------------------------------------------------------------------


@pytest.mark.parametrize("remedy", ["firth", "ridge", "none"])
def test_the_lab_calls_a_penalised_likelihood_penalised(remedy):
    session = Session()
    session.choose_preset("separable" if remedy != "none" else "overlapping")
    session.choose_algorithm("logistic")
    session.set_parameter("remedy", remedy)
    details = session.frame_details()
    penalised = "penalised likelihood" if remedy != "none" else "likelihood"
    assert details["words"] == f"The {penalised} is at its maximum."
    assert [name for name, _ in details["facts"]][1] == f"−log {penalised}"
    assert session.animation().wave_name == f"−log {penalised}"
