"""
Can a line separate them?
=========================

Ones and fives by density and symmetry: no. The proof is a handful of rows.
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

# %%
# The pocket keeps the best weights a perceptron passes through. The error floor is what **every** line must get wrong:

pocket = ly.PocketPerceptron(init="least_squares").fit(X, y)
print(pocket.stop_reason_)
print(ly.error_floor(X, y))
ly.plot_boundary(pocket, X, y)

# %%
# The errors of the walk and of the pocket:

ly.plot_pocket_errors(pocket)
