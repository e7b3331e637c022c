"""A fitted model on one screen."""

from golden_sets import case_of

import linearly as ly


def test_regression_summary_shows_statistics_terms_and_assumptions():
    X, y = case_of("swiss").X, case_of("swiss").y
    text = str(ly.LinearRegression().fit(X, y).summary())
    assert text.startswith(
        "Linear regression: 5 columns, 47 rows, 1 pass (gram)\nR² 0.7067   adjusted 0.671   σ 7.165 on 41 df"
    )
    assert "correct digits" in text
    assert "bias" in str(ly.LinearRegression(alpha=1.0).fit(X, y).summary())
    assert "<table" in ly.LinearRegression().fit(X, y).summary()._repr_html_()
