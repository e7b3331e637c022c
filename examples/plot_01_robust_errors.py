"""
Robust standard errors
======================

The spread of the errors grows with x. Classical standard errors assume equal variances and are wrong; HC3 is not.
"""

import numpy as np

import linearly as ly

rng = np.random.default_rng(1)
x = rng.uniform(0, 10, 300)
data = {"x": x, "y": 3 + 0.5 * x + rng.normal(size=300) * (0.2 + 0.3 * x)}
classical = ly.fit(data, target="y")
print(ly.residual_tests(classical, data))

# %%
# The Breusch-Pagan test rejects equal variances, and the residuals show a funnel:

ly.plot_residuals(classical, data)

# %%
# The coefficients stay the same; the standard errors change.

print(classical.tidy())
print(ly.fit(data, target="y", covariance="HC3").tidy())

# %%
# Repeated samples show which standard error is right. The standard deviation of the slope over 2,000 samples is:

slopes = []
for _ in range(2_000):
    y = 3 + 0.5 * x + rng.normal(size=300) * (0.2 + 0.3 * x)
    slopes.append(ly.LinearRegression().fit(x[:, None], y).coef_[0])
print(f"{np.std(slopes):.4f}")
