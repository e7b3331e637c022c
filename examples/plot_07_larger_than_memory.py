"""
A file larger than memory
=========================

A Parquet file is read in batches, and only one batch and a summary of p × p numbers are in memory. This file is small
enough for the documentation. The code is the same for a hundred gigabytes.
"""

import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import linearly as ly

folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name) / "flights.parquet"
rng = np.random.default_rng(3)
schema = pa.schema([("distance", pa.float64()), ("carrier", pa.string()), ("minutes", pa.float64())])
with pq.ParquetWriter(path, schema) as writer:
    for _ in range(20):  # never more than 20,000 rows in memory
        distance = rng.gamma(2, 500, 20_000)
        carrier = rng.choice(["AA", "BB", "CC"], 20_000)
        minutes = 20 + distance / 8 + 5 * (carrier == "CC") + rng.normal(0, 12, 20_000)
        writer.write_table(pa.table({"distance": distance, "carrier": carrier, "minutes": minutes}, schema))

model = ly.fit(path, formula="minutes ~ distance + carrier")
print(model.summary())

# %%
# Predictions and evaluation read the file in batches, too:

print(model.evaluate(path))

# %%
ly.plot_coefficients(model)
plt.gcf().set_size_inches(7, 3)
folder.cleanup()
