"""`linearly compare`."""

from pathlib import Path

import numpy as np
import pytest
from commands import CLEAN

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

from linearly.models.registry import MODELS


def test_compare_scores_are_pooled_and_differences_are_from_the_best(run):
    found = run("compare", "loans.csv", "-t", "repaid", *CLEAN, "-m", "lda", "-m", "logistic", "-m", "pocket", "--json")
    models = found.json["models"]
    assert [model["score"] for model in models] == sorted((model["score"] for model in models), reverse=True)
    assert (models[0]["behind"], models[0]["worse"]) == (0, False)
    for model in models:
        assert model["score"] == pytest.approx(np.average(model["folds"], weights=model["rows_in_folds"]))
        assert model["behind"] == pytest.approx(models[0]["score"] - model["score"])
        assert model["worse"] == (model["p_value"] < 0.05)


def test_compare_pooled_r_squared_beside_the_honest_score_of_the_mean(run):
    """R² 0.45 at n = 20 was shown below 0 in 68% of samples, as the mean of folds of four rows each."""
    rng = np.random.default_rng(0)
    scores, baselines = [], []
    for _ in range(20):
        x = rng.standard_normal(20)
        y = np.sqrt(0.45 / 0.55) * x + rng.standard_normal(20)
        Path("few.csv").write_text("\n".join(["x,y", *(f"{a},{b}" for a, b in zip(x, y, strict=True))]))
        found = run("compare", "few.csv", "-t", "y", "-m", "linear", "--json").json
        scores.append(found["models"][0]["score"])
        baselines.append(found["baseline"]["score"])
    assert np.mean(np.array(scores) < 0) <= 0.2
    assert 0.2 < np.median(scores) < 0.5  # a fit to 16 rows has R² 0.37 on others
    assert max(baselines) < 0  # the mean of the training rows is worse than the mean of all rows


def test_compare_no_shuffle_holds_out_row_number_mod_k(run):
    rng = np.random.default_rng(0)
    Path("t.csv").write_text("\n".join(["x,y", *(f"{rng.normal():.3f},{rng.normal():.3f}" for _ in range(50))]) + "\n")
    plain, by_number, other = (
        run("compare", "t.csv", "-t", "y", "-m", "linear", "--json", *more).json["models"][0]["folds"]
        for more in ([], ["--no-shuffle"], ["--seed", "7"])
    )
    assert plain != by_number != other != plain


def test_compare_runs_every_model_that_applies(run):
    found = run("compare", "loans.csv", "-t", "repaid", "--features", "age,late", "--folds", "2", "--json").json
    names = {model["model"] for model in found["models"]} | set(found["refused"])
    assert names == {name for name, entry in MODELS.items() if entry.classifies}
    numbers = run("compare", "loans.csv", "-t", "income", "--features", "age,late", "--json").json
    assert {model["model"] for model in numbers["models"]} == {"linear", "ridge", "lasso", "elastic-net"}


def test_compare_ignores_levels_and_labels_of_zero_weight_rows(run):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{'pq'[i % 2]},{'uv'[i // 2 % 2]},1" for i in range(40)]
    Path("there.csv").write_text("\n".join(["x,a,y,w", *lines]) + "\n")
    Path("all.csv").write_text("\n".join(["x,a,y,w", *lines, "1.5,r,z,0"]) + "\n")
    there, every = (
        run("compare", name, "-t", "y", "--weight", "w", "-m", "lda", "-m", "logistic", "--json").json
        for name in ("there.csv", "all.csv")
    )
    assert every["columns"] == there["columns"] == 2
    assert every["refused"] == there["refused"] == {}
    assert [one["folds"] for one in every["models"]] == [one["folds"] for one in there["models"]]


def test_compare_numeric_target_of_two_values_advises_logistic(run):
    rng = np.random.default_rng(0)
    Path("t.csv").write_text("\n".join(["x,y", *(f"{rng.normal():.3f},{i % 2}" for i in range(60))]) + "\n")
    compared = run("compare", "t.csv", "-t", "y")
    assert "note: y contains only 0 and 1. Fit a logistic regression instead: --model logistic." in compared.err
    assert "holds only" not in run("compare", "t.csv", "-t", "y", "-m", "logistic").err


def test_compare_two_rows_of_a_label_are_spread_over_folds(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'yes' if i in (5, 25) else 'no'}" for i in range(60)]
    Path("rare.csv").write_text("\n".join(["x,label", *rows]))
    found = run("compare", "rare.csv", "-t", "label", "-m", "lda", "-m", "least-squares", "--json").json
    assert found["refused"] == {}
    assert all(0 <= run["low"] <= run["high"] <= 1 for run in found["models"])


def test_compare_label_of_one_row_is_named(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'yes' if i == 5 else 'no'}" for i in range(60)]
    Path("single.csv").write_text("\n".join(["x,label", *rows]))
    found = run("compare", "single.csv", "-t", "label", "-m", "lda", "-m", "least-squares", "--json").json
    assert found["refused"]["lda"].startswith("The label 'yes' has only one row, so no row of it remains for the fit")


def test_compare_advice_names_the_fit_command(run):
    Path("apart.csv").write_text("\n".join(["x,label", *(f"{i},{'yes' if i > 30 else 'no'}" for i in range(60))]))
    found = run("compare", "apart.csv", "-t", "label", "-m", "logistic", "--json").json
    assert "Use linearly fit … --param bias_reduction=firth or --alpha above 0" in found["models"][0]["warnings"][0]
