"""
Merge by month, remove a month
==============================

Twelve monthly fits add up to the fit of the year, without the rows. A month with a defective sensor can be subtracted.
"""

import matplotlib.pyplot as plt
import numpy as np

import linearly as ly

rng = np.random.default_rng(4)


def month(number):
    load = rng.uniform(0, 1, 400)
    drift = 0.8 if number == 8 else 0.0  # August: a defective sensor
    return {"load": load, "temperature": 20 + 15 * load + drift * 10 * load + rng.normal(size=400)}


first = ly.fit(month(1), target="temperature")
months = {1: first} | {number: ly.fit(month(number), like=first) for number in range(2, 13)}
year = first
for number in range(2, 13):
    year = year + months[number]
print(year.tidy())

# %%
# Which month differs from the rest? Subtract it from the year and compare:

p_values = {k: ly.diff(months[k], year - months[k])["p_value"][1] for k in months}
different = min(p_values, key=p_values.get)
print(f"month {different}, p {p_values[different]:.0e}")

# %%
without = year - months[different]
print(without.tidy())

# %%
_, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
slopes = [m.estimator.coef_[0] for m in months.values()]
errors = [1.96 * m.tidy()["std_error"][1] for m in months.values()]
ax.errorbar(list(months), slopes, yerr=errors, fmt="o", capsize=3, label="each month")
ax.axhline(without.estimator.coef_[0], color="gray", linestyle="--", label="year without August")
ax.set(xlabel="month", ylabel="slope of the temperature")
ax.legend()
