"""
Clustered standard errors
=========================

Sixty schools with five pupils each. Pupils of the same school share an effect, so 300 rows carry less information than
300 independent rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import linearly as ly

rng = np.random.default_rng(2)
school = np.repeat(np.arange(60), 5)


def sample():
    quality = rng.normal(size=60)[school]
    score = 1 + rng.normal(size=60)[school] + rng.normal(size=300)  # quality has no effect
    return {"quality": quality, "score": score, "school": school}


data = sample()
print(ly.fit(data, target="score", features=["quality"]).tidy())
print(ly.fit(data, target="score", features=["quality"], groups="school").tidy())

# %%
# Quality has no effect here. A test at 5% should reject in 5% of all samples:

p_values = {"classical": [], "clustered": []}
for _ in range(300):
    data = sample()
    X, y = data["quality"][:, None], data["score"]
    plain = ly.LinearRegression().fit(X, y)
    grouped = ly.LinearRegression(covariance="cluster").fit(X, y, groups=school)
    p_values["classical"].append(ly.tidy(plain)["p_value"][1])
    p_values["clustered"].append(ly.tidy(grouped)["p_value"][1])
for name, values in p_values.items():
    print(f"{name}: rejects in {np.mean(np.array(values) < 0.05):.1%} of 300 samples")

# %%
_, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.hist(list(p_values.values()), bins=np.linspace(0, 1, 21), label=list(p_values))
ax.set(xlabel="p-value of a column without effect", ylabel="samples")
ax.legend()
