"""
Calibration
===========

Rows with a predicted probability of 80% should be positive 80% of the time. Logistic regression on tumour measurements
is well calibrated; LDA on columns that are far from normal is not.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import linearly as ly

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
X = X[["mean radius", "mean texture", "mean concavity"]]
train, test = X.index % 2 == 0, X.index % 2 == 1

_, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model in zip(axes, (ly.LogisticRegression(), ly.LinearDiscriminantAnalysis()), strict=True):
    model.fit(X[train], y[train])
    ly.plot_calibration(ly.evaluate(model, X[test], y[test]), ax=ax)
    ax.set_title(type(model).__name__, loc="left")

# %%
# The log loss and the Brier score on the held-out rows, with intervals:

print(ly.evaluate(ly.LogisticRegression().fit(X[train], y[train]), X[test], y[test]))
