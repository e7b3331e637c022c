"""Least squares: from blocks of rows to coefficients.

In reading order:
    column_scaling       shift and power-of-two scale of each column
    rounding_bounds      bounds on the rounding errors of a summary, and correct digits
    triangular           triangular systems, rank and condition, in float64 and double-double
    coded_moments        cross-products of numbers and categories, from sums by code
    gram                 cross-products of [X | Y]: the fast summary
    qr                   R factor of [1 | X | Y]: the accurate summary
    adaptive_summary     R factor while rows are fewer than columns, Gram afterwards
    class_grams          one Gram per class
    zero_columns         a summary widened by columns of zeros, for levels that appear later
    identification       which coefficients and predictions the rows determine
    solution             coefficients and what is known about them
    scaled_problem       the solution of scaled least squares, and its correct digits
    whitening            inverse roots of covariance matrices
    small_solve          the same for few columns, compiled around LAPACK
    solver               which summary to use, and when to refine
    gradient_descent     gradient descent from a Gram, for comparison
    ridge_cv             cross-validation of ridge from one summary per fold
    covariance_names     the robust covariances by name
    clusters             scores summed within groups, and their corrections for small samples
    cluster_corrections  the same corrections for another working variance of the errors
    hac                  scores of neighbouring rows, for errors that are correlated in time
    small_sample         degrees of freedom of t and F tests with a robust covariance
    sandwich             robust and clustered covariances of a fit
    polynomial_families  models of growing complexity, for the bias-variance trade-off
    block_ledger         fingerprints of the blocks that a model was fitted to
"""
