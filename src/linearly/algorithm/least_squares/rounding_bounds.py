"""Bounds on the rounding errors of a summary, one number per column, which sums and differences carry along.

Column 0 is the constant, the others are those of [X | Y] in the scaling, measured from their means. A Gram's products of
columns i and j are wrong by at most √(bound_i · bound_j); a column of a Triangle is wrong by a vector of length
√bound_j. Both bounds are sums of squares, and both move to another origin in the same way. An error stays although
the rows that caused it are removed.
"""

from __future__ import annotations

import numpy as np

from linearly.kernels.double_double import Array


def least_bound(grain: float, weight: Array | float, mean: Array, squares: Array) -> Array:
    """Return the bound where each product is rounded once: `grain` times the squares about the scaling's shift."""
    bound = np.empty(1 + len(mean))
    bound[0], about_shift = weight, bound[1:]
    np.multiply(mean, mean, out=about_shift)
    about_shift *= weight
    about_shift += squares
    bound *= grain
    return np.maximum(bound, 0.0, out=bound)


def about(bound: Array, moved: Array) -> Array:
    """Return the bound for columns measured from elsewhere: each takes `moved` times the constant's error with it.

    The four errors of (z_i − t_i)(z_j − t_j) are independent, so their squares add to the product of the two results.
    """
    result = bound.copy()
    result[1:] += moved**2 * bound[0]
    return result
