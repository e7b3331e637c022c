"""Conclude from a fitted model: tables, tests, intervals and comparisons.

In reading order:
    unwrap                a `Model` of `fit` where an estimator is expected
    standard_deviations   standard deviations of the columns of a fit
    fitted_rows           residuals and leverages of rows; checks that rows are those of the fit
    fitted_terms          names and estimates of terms, and which of them the rows determine
    wald_tests            t and F tests of coefficients: p-values, intervals, degrees of freedom
    tidy                  table per term
    glance                table per model; error variance
    augment               table per row
    prediction_interval   intervals around predictions
    summaries             a fitted model on one screen
    perceptron_summary    a perceptron beside what is proven about its rows
    normality             tests of normal residuals, and which one to quote
    durbin_watson         test of serial correlation
    residual_patterns     tests behind verdicts: chance, curvature, unequal variance, serial correlation
    diagnostics           residual tests and variance inflation
    bartlett              small-sample correction of likelihood-ratio tests
    likelihood            odds ratios, likelihood-ratio tests and profile intervals of logistic regression
    nested_models         F and likelihood-ratio tests of two nested models
    coefficients          combinations of coefficients: whether they are estimable, their errors and tests
    multiple_comparisons  adjusted p-values and intervals
    hypotheses            tests of combinations that are written in the names of terms
    term_hypotheses       what types I, II and III of the analysis of variance test
    anova                 analysis of variance and of deviance
    probabilities         probabilities of logistic regression: gradients and intervals
    marginal_means        means over a balanced grid, and their pairs
    marginal_effects      average slopes and differences over rows
    best_subset           the best model of each size, with proof
    selection             intervals that account for a selection, and refits of the selected terms
    difference            change between two models; joint Wald test
    wild_bootstrap        test of a coefficient with few clusters
    coefficient_draws     random draws of the coefficients
"""
