"""
Interactions
============

The bills of three penguin species: does depth grow with length? Across all birds, depth falls with length; within each
species, it grows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import linearly as ly

penguins = pd.read_csv("../docs/data/penguins.csv").dropna()
together = ly.fit(penguins, formula="bill_depth_mm ~ bill_length_mm")
parallel = ly.fit(penguins, formula="bill_depth_mm ~ bill_length_mm + species")
own = ly.fit(penguins, formula="bill_depth_mm ~ bill_length_mm * species")
print(together.tidy())
print(parallel.tidy())

# %%
# The slope changes its sign within species (Simpson's paradox). Do the slopes differ between species?

print(ly.compare_models(parallel, own))

# %%
_, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for species, rows in penguins.groupby("species"):
    points = ax.scatter(rows["bill_length_mm"], rows["bill_depth_mm"], s=12, label=species)
    ends = np.array([rows["bill_length_mm"].min(), rows["bill_length_mm"].max()])
    ax.plot(ends, own.predict({"bill_length_mm": ends, "species": [species] * 2}), color=points.get_facecolor()[0])
ends = np.array([penguins["bill_length_mm"].min(), penguins["bill_length_mm"].max()])
ax.plot(ends, together.predict({"bill_length_mm": ends}), color="gray", linestyle="--", label="all birds")
ax.set(xlabel="bill length, mm", ylabel="bill depth, mm")
ax.legend()
