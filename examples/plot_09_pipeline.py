"""
In a scikit-learn pipeline
==========================

linearly's estimators work in scikit-learn pipelines and grid searches, and the fitted step still has its standard
errors.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linearly as ly

X, y = load_wine(as_frame=True, return_X_y=True)
pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), ly.LogisticRegression())
search = GridSearchCV(pipeline, {"logisticregression__alpha": [0.01, 0.1, 1.0, 10.0]}, cv=5).fit(X, y)
print(search.best_params_, f"accuracy {search.best_score_:.3f}")

# %%
model = search.best_estimator_.named_steps["logisticregression"]
print(ly.tidy(model).to_pandas().head(6).to_string(index=False))

# %%
# The fitted pipeline can be plotted, too. As a transformer, linear discriminant analysis gives the two directions that
# separate three classes best:

directions = make_pipeline(StandardScaler(), ly.LinearDiscriminantAnalysis()).fit(X, y)
place = directions.transform(X)
_, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
for label in range(3):
    ax.scatter(*place[y == label].T, s=14, label=f"grower {label}")
ax.set(xlabel="first direction", ylabel="second direction")
ax.legend()
