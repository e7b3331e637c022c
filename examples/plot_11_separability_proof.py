"""
A proof that no line separates
==============================

Ones and fives are classified by density and symmetry. No line separates them, and a few rows prove it.
"""

import numpy as np
from sklearn.datasets import load_digits

import linearly as ly

digits = load_digits()
chosen = np.isin(digits.target, [1, 5])
X = ly.digit_features(digits.images[chosen])[:, :2]
y = digits.target[chosen]
certificate = ly.separability(X, y)
print(certificate)
print("checked in rational arithmetic:", certificate.check())

# %%
# The pocket algorithm keeps the best weights so far. The error floor is a number of errors that **every** line makes:

pocket = ly.PocketPerceptron(init="least_squares").fit(X, y)
print(pocket.stop_reason_)
print(ly.error_floor(X, y))
ly.plot_boundary(pocket, X, y)

# %%
# All 64 pixels separate the two digits, and a perceptron is guaranteed to converge:

pixels = digits.images[chosen].reshape(-1, 64)
print(ly.separability(pixels, y).verdict)
perceptron = ly.Perceptron().fit(pixels, y)
print(perceptron.stop_reason_)
