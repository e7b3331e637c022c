"""Small cells of the benchmark grid, by ratio, so that a small fit does not fall behind its peer unnoticed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks import grid
from benchmarks.grid import classifier_cells, measure, regression_cells

AHEAD = ("OLS", "ridge, LOO", "LDA K=3", "perceptron", "predict_proba")  # of 100 rows: no peer wins on a quiet machine


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", AHEAD)
def test_small_cell_is_ahead_of_its_peer(model):
    cells = (*regression_cells(100, 5, "array"), *classifier_cells(100, 5, "array"))
    cell = next(cell for cell in cells if cell.model == model)
    ratio, peer = measure(cell, seconds=0.5)
    assert ratio >= 1, f"{peer} takes {ratio:.2f} of our time"


@pytest.mark.filterwarnings("ignore")
def test_answers_of_small_cells_agree_with_their_peers():
    for cell in (*regression_cells(100, 5, "array"), *classifier_cells(100, 5, "array")):
        ratio, _ = measure(cell, seconds=0.0)
        assert ratio > 0


def test_heat_map_marks_losing_cells_and_is_written_between_the_markers():
    cells = list(regression_cells(20, 2, "array"))
    table = grid.heat_map([(cells[0], 0.8, "a peer"), (cells[1], 2.5, "a peer"), (cells[2], 1.5, "a peer")])
    assert "| array | 20 × 2 | 🟥 0.8 | 🟩 2.5 | 🟨 1.5 |" in table
    assert "The worst is 0.8, for OLS" in table
    page = (Path(__file__).parent.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    once = grid.written_into(page, table)
    assert grid.written_into(once, table) == once
    assert once.count(table) == 1
