"""
Bias, variance, and the right degree
====================================

Polynomials of growing degree on a curve that is known: what is lost by being too simple, and by being too free.
"""

import numpy as np

import linearly as ly

rng = np.random.default_rng(7)
x = rng.uniform(-1, 1, 40)
result = ly.bias_variance(x, truth=lambda t: np.sin(3 * t), noise=0.3, degrees=range(10), random_state=7)
print(result)
result.plot()
