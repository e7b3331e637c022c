"""Lasso and elastic net: sparse least squares, solved and proven from a summary of the rows.

In reading order:
    quadratic_loss    half the sum of squares as a quadratic in the coefficients, from a summary
    active_set        the minimum for one penalty, exact up to rounding, with its optimality conditions
    path              the minima for many penalties, the knots of the lasso, and errors by cross-validation
    optimality        the proof of an active set and its signs in rational arithmetic
    best_subset       the best model of each size, by branch and bound
"""
