"""How good a model is.

In reading order:
    intervals        confidence intervals of proportions, losses and areas under curves
    accumulators     counts and sums of a block of rows; they add up
    targets          targets, predictions and scores as arrays that can be compared
    metrics          metrics and their tables, from counts and sums
    evaluate         a fitted model on rows: the public function and its result
    cross_validate   a model on held-out rows, fold by fold
    bias_variance    noise, bias² and variance against the complexity of a model
"""
