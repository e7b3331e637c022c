"""
Normal classes: LDA and QDA
===========================

LDA gives all classes one covariance, QDA each its own; the boundary is a line, or a curve.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import linearly as ly

X, y = load_wine(as_frame=True, return_X_y=True)
X = X[["alcohol", "color_intensity"]]
_, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, model in zip(axes, (ly.LinearDiscriminantAnalysis(), ly.QuadraticDiscriminantAnalysis()), strict=True):
    model.fit(X, y)
    ly.plot_gaussians(model, X, y, ax=ax)

# %%
for model in (ly.LinearDiscriminantAnalysis(), ly.QuadraticDiscriminantAnalysis()):
    print(ly.cross_validate(model, X, y))
