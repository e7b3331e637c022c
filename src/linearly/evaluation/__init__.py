"""Measure how well a model predicts: metrics with intervals, cross-validation, bias and variance.

In reading order:
    intervals        confidence intervals of proportions, losses and areas under curves
    r_squared        confidence interval of R²
    accumulators     counts and sums of a block of rows; they add up
    targets          targets, predictions and scores as arrays that can be compared
    metrics          metrics and their tables, from counts and sums
    evaluate         a fitted model on rows: the public function and its result
    folds            which rows are held out together
    cross_validate   a model on held-out rows, fold by fold
    held_out_tests   p-values of claims about classifiers and comparisons
    bias_variance    noise, bias² and variance against the complexity of a model
"""
