"""
The ridge path
==============

Plot coefficients against the penalty, and choose the penalty by cross-validation, in one pass over the rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import linearly as ly

X, y = load_diabetes(as_frame=True, return_X_y=True)
alphas = np.logspace(-4, 2, 60)
search = ly.RidgeCV(alphas=alphas).fit(X, y)
print(f"chosen alpha {search.alpha_:.4f}")

# %%
path = np.array([ly.LinearRegression(alpha=alpha).fit(X, y).coef_ for alpha in alphas])
_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.semilogx(alphas, path, label=X.columns)
left.axvline(search.alpha_, color="gray", linestyle="--")
left.set(xlabel="alpha", ylabel="coefficient")
left.legend(fontsize=8, ncols=2)
right.semilogx(alphas, search.cv_errors_)
right.axvline(search.alpha_, color="gray", linestyle="--")
right.set(xlabel="alpha", ylabel="mean squared error on rows left out")

# %%
# Least squares gives ``s1`` and ``s2`` large coefficients of opposite signs, because the two are strongly correlated.
# A small penalty removes this without a visible loss of accuracy.

print(ly.vif(ly.LinearRegression().fit(X, y)))
