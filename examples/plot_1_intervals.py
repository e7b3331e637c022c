"""
Coefficients with their intervals
=================================

A fit of the diabetes data, and what it says about each column.
"""

from sklearn.datasets import load_diabetes

import linearly as ly

X, y = load_diabetes(as_frame=True, return_X_y=True)
model = ly.LinearRegression().fit(X, y)
print(model.summary())

# %%
# The columns are scaled alike, so their coefficients can be compared. Blood serum measurements ``s1`` to ``s6`` are
# strongly related to each other, and their intervals show it:

ly.plot_coefficients(model)

# %%
print(ly.vif(model))
