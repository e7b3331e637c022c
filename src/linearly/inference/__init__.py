"""What may be concluded from a fitted model.

In reading order:
    unwrap              a `Model` of `fit` where an estimator is expected
    fitted_rows         residuals and leverages of rows; checks that rows are those of the fit
    tidy                tables per term, per model and per row; error variance; prediction intervals
    summaries           a fitted model on one screen
    perceptron_summary  a perceptron beside what is proven about its rows
    normality           tests of normal residuals, and which one to quote
    durbin_watson       test of serial correlation
    diagnostics         residual tests and variance inflation
    likelihood          odds ratios, likelihood-ratio tests and profile intervals of logistic regression
    nested_models       F and likelihood-ratio tests of two nested models
    difference          change between two models; Chow's test
    coefficient_draws   random draws of the coefficients
"""
