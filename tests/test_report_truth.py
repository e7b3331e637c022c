"""What a page or a screen says is true of the rows, and of rows to come."""

import re
import shutil
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from test_report import diabetes, refitted

import linearly as ly
from linearly.cli.group import cli
from linearly.front import fit
from linearly.report.facts import facts
from linearly.report.render import page_of, render


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def reported(data, target, model="linear", **options):
    """Facts and the page, before it is HTML."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit(data, target=target, model=model, **options)
    found = facts(fitted, fitted.rows(data))
    return found, page_of(found)


def told(page, name):
    """All words of a section, pictures left out."""
    section = next(section for section in page.sections if section.name == name)
    return words(section.parts)


def words(parts):
    said = []
    for part in parts:
        if part["kind"] == "text":
            said.append(part["text"])
        elif part["kind"] == "table":
            rows = (" | ".join(cell["text"] for cell in row) for row in part["rows"])
            said += [part["caption"], " | ".join(part["head"]), *rows]
        elif part["kind"] == "figure":
            said += [" ".join(re.findall(r"<title[^>]*>(.*?)</title>", part["svg"])), part["caption"]]
        elif part["kind"] == "grid":
            said.append(words(part["figures"]))
    return "\n".join(said)


def trust(page):
    return " ".join(finding.sentence for finding in page.findings)


def screen(tmp_path, data, *arguments):
    """What `linearly fit` shows, in one line."""
    path = tmp_path / "data.csv"
    data.to_csv(path, index=False)
    ran = CliRunner().invoke(cli, ["fit", str(path), *arguments])
    assert ran.exit_code == 0, ran.output
    return " ".join(ran.output.split())


def linear(n=120, p=2, noise=1.0, seed=4):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    return data.assign(y=1 + data["x0"] + noise * rng.normal(size=n))


# --- regression -----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_error_on_rows_of_the_fit_is_no_promise_for_others(alpha, weighted):
    data = linear(60, 20)
    weight = np.random.default_rng(0).integers(1, 3, size=60).astype(float) if weighted else np.ones(60)
    data["w"] = weight
    found, page = reported(data, "y", "ridge" if alpha else "linear", weight="w", **({"alpha": alpha} if alpha else {}))
    X, y = data.drop(columns=["y", "w"]).to_numpy(), data["y"].to_numpy()
    errors = []
    for i in range(60):
        rest = np.arange(60) != i
        peer = ly.LinearRegression(alpha=alpha).fit(X[rest], y[rest], weight[rest])
        errors.append(y[i] - peer.predict(X[i : i + 1])[0])
    assert found["left_out"] == pytest.approx(np.sqrt(np.average(np.square(errors), weights=weight)))
    said = told(page, "fit")
    assert "others like them" not in said
    assert said.count("new rows do worse") == 2
    assert "Error on a row left out" in said


def test_an_error_on_other_rows_is_one_on_others_like_them():
    data = linear()
    model = fit(data.iloc[:60], target="y", model="linear")
    found = facts(model, model.rows(data.iloc[60:]))
    assert found["left_out"] is None
    assert "others like them, if the fit has seen none of these" in told(page_of(found), "fit")


def test_rows_above_the_line_are_counted_and_not_only_shown():
    data = diabetes()
    found, page = reported(data, "progression")
    X, y = data.drop(columns="progression"), data["progression"]
    cooks = ly.augment(ly.LinearRegression().fit(X, y), X, y)["cooks_distance"]
    above = int((cooks > 4 / len(data)).sum())
    assert found["influence"]["n_above"] == above > found["influence"]["n_out"] == 5
    assert f"Without the 5 that weigh most of {above} above 4/n" in told(page, "influence")


def test_a_target_that_never_differs_is_not_given_away(tmp_path):
    data = linear().assign(y=5.0)
    _, page = reported(data, "y")
    assert "y is always 5" in trust(page)
    assert "give y away" not in trust(page)
    assert "nothing to explain" in page.good[0]
    assert "y is 5 in every row: there is nothing to explain" in screen(tmp_path, data, "-t", "y")
    assert "every row" not in screen(tmp_path, linear(), "-t", "y")


def test_a_perfect_fit_leaves_nothing_over(tmp_path, require):
    data = linear(noise=0.0).assign(y=lambda rows: 2 + 3 * rows["x0"] - rows["x1"])
    found, page = reported(data, "y")
    assert "rounding, and nothing else" in told(page, "fit")
    assert "-" not in told(page, "coefficients").replace("p-value", "")
    require(shutil.which("node"), "needs Node")
    all_of_them, one = refitted(tmp_path, render(found), [([0, 1], 0.0), ([0], 0.0)])
    assert all_of_them["sigma"] == 0
    assert all_of_them["error"] == [0, 0]
    assert one["sigma"] > 0.5
