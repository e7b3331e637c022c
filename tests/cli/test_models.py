"""`linearly merge` and other commands on model files."""

import numpy as np
import pytest
from commands import fit_two_models

pytest.importorskip("click", reason="the command line needs click")
pytest.importorskip("pyarrow", reason="the command line needs pyarrow")


def test_merge_equals_the_fit_on_all_rows(run):
    fit_two_models(run)
    merged = run("merge", "a.json", "b.json", "-o", "c.json", "--json").json
    whole = run("fit", "loans.csv", "--like", "a.json", "--json").json
    estimates = [[term["estimate"] for term in found["terms"]] for found in (merged, whole)]
    np.testing.assert_allclose(*estimates, rtol=1e-9)
    assert merged["rows"] == whole["rows"]
    assert merged["dropped"] == whole["dropped"] == 24
