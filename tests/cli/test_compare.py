"""`linearly compare`."""

from pathlib import Path

import numpy as np
import pytest
from commands import CLEAN

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")

from linearly.models.registry import MODELS


def test_compare_differences_are_paired_over_folds(run):
    found = run("compare", "loans.csv", "-t", "repaid", *CLEAN, "-m", "lda", "-m", "logistic", "-m", "pocket", "--json")
    models = found.json["models"]
    assert [model["score"] for model in models] == sorted((model["score"] for model in models), reverse=True)
    best = models[0]
    assert best["within_error"]
    assert best["behind"] == 0
    for model in models[1:]:
        apart = np.subtract(best["folds"], model["folds"])
        assert model["behind"] == pytest.approx(apart.mean())
        reach = 2.7764451051977987 * apart.std(ddof=1) / np.sqrt(5)  # t with 4 degrees of freedom
        assert model["within_error"] == (apart.mean() - reach <= 0)


def test_compare_runs_every_model_that_applies(run):
    found = run("compare", "loans.csv", "-t", "repaid", "--features", "age,late", "--folds", "2", "--json").json
    names = {model["model"] for model in found["models"]} | set(found["refused"])
    assert names == {name for name, entry in MODELS.items() if entry.classifies}
    numbers = run("compare", "loans.csv", "-t", "income", "--features", "age,late", "--json").json
    assert {model["model"] for model in numbers["models"]} == {"linear", "ridge"}


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
    assert "note: y holds only 0 and 1. The usual model of such a target is logistic: --model logistic." in compared.err
    assert "holds only" not in run("compare", "t.csv", "-t", "y", "-m", "logistic").err


def test_compare_label_in_one_fold_is_named(run):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'yes' if i in (5, 25) else 'no'}" for i in range(60)]
    Path("rare.csv").write_text("\n".join(["x,label", *rows]))
    found = run("compare", "rare.csv", "-t", "label", "-m", "lda", "-m", "least-squares", "--json").json
    assert found["refused"]["lda"].startswith("All 2 rows of 'yes' are held out in fold 1,")
    assert "--folds" in found["refused"]["lda"]
    assert all(0 <= run["low"] <= run["high"] <= 1 for run in found["models"])


def test_compare_advice_names_the_fit_command(run):
    Path("apart.csv").write_text("\n".join(["x,label", *(f"{i},{'yes' if i > 30 else 'no'}" for i in range(60))]))
    found = run("compare", "apart.csv", "-t", "label", "-m", "logistic", "--json").json
    assert "Use linearly fit … --param bias_reduction=firth or --alpha above 0" in found["models"][0]["warnings"][0]
