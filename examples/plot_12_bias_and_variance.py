"""
Bias and variance
=================

Polynomials of increasing degree are fitted to a known curve. A low degree has a large bias, a high degree a large
variance.
"""

import numpy as np

import linearly as ly

rng = np.random.default_rng(7)
x = rng.uniform(-1, 1, 40)
result = ly.bias_variance(x, truth=lambda t: np.sin(3 * t), noise=0.3, degrees=range(10), random_state=7)
print(result)
result.plot()
