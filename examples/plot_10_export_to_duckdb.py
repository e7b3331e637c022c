"""
Export to DuckDB
================

The model is exported as one SQL query, so predictions run inside the database. The query handles categories, missing
values and unseen levels as the model does.
"""

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import linearly as ly
from linearly.export.sql import to_sql

rng = np.random.default_rng(5)
size, town = rng.normal(90, 20, 400), rng.choice(["Aix", "Bonn", "Cork"], 400)
price = 40 * np.log(size) + 12 * (town == "Cork") + rng.normal(0, 3, 400)
houses = pd.DataFrame({"size": size, "town": town, "price": price})
model = ly.fit(houses, formula="price ~ log(size) + town")

query = to_sql(model, dialect="duckdb", table="houses", keep=["size", "town"])
print("\n".join(query.splitlines()[:14]))

# %%
connection = duckdb.connect()
connection.register("houses", houses)
predicted = connection.execute(query).df()
print(predicted.head().to_string(index=False))
print("largest difference:", f"{abs(predicted['prediction'] - model.predict(houses)).max():.0e}")

# %%
_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, rows in predicted.groupby("town"):
    rows = rows.sort_values("size")
    ax.plot(rows["size"], rows["prediction"], label=name)
ax.scatter(houses["size"], houses["price"], s=6, color="gray")
ax.set(xlabel="size", ylabel="price")
ax.legend()
