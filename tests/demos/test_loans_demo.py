"""The loans, whose truth is known."""

import numpy as np
import pytest
from demo_runs import demo

from linearly.demos import loans


def test_loans_estimates_cover_the_truth():
    story, said, html = demo("loans")
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


def test_loans_no_classifier_beats_the_truth():
    story, _, _ = demo("loans")
    least = story.found["granted"]["least_error"]
    new = [row for row in story.found["granted_errors"] if row["rows"] == "new"]
    assert len(new) == 8
    assert all(row["high"] > least for row in new)
    assert 1 < story.found["best_degree"] < 8
