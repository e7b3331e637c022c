"""
Separated classes and Firth's bias reduction
============================================

If a threshold separates the classes, maximum likelihood has no finite solution. Firth's estimate is finite.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import linearly as ly

dose = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
died = np.array(["no", "no", "no", "yes", "yes", "yes"])

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    likelihood = ly.LogisticRegression().fit(dose, died)
print(caught[0].message)

# %%
firth = ly.LogisticRegression(bias_reduction="firth").fit(dose, died)
print(ly.tidy(firth))

# %%
# The likelihood ratio test remains valid without a finite estimate:

print(ly.likelihood_ratio_tests(likelihood, dose, died))

# %%
# A penalty that tends to 0 shows why: the curve becomes steeper without a limit. Firth's curve needs no penalty.

grid = np.linspace(0, 7, 400)[:, None]
_, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for alpha in (0.1, 0.001, 0.00001):
    penalised = ly.LogisticRegression(alpha=alpha).fit(dose, died)
    ax.plot(grid, penalised.predict_proba(grid)[:, 1], color="gray", linewidth=1, label=f"alpha = {alpha:g}")
ax.plot(grid, firth.predict_proba(grid)[:, 1], linewidth=2.5, label="Firth")
ax.plot(dose, died == "yes", "o", color="black")
ax.set(xlabel="dose", ylabel="probability of 'yes'")
ax.legend()
