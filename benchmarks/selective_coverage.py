"""Measure the coverage of `selective_intervals` by simulation.    python -m benchmarks.selective_coverage [repetitions]

Rows have correlated columns, three of which matter, and normal errors. The lasso's alpha is fixed. An interval covers
if it contains the coefficient of the term in the best linear approximation of the mean of y by the selected terms.
Intervals of a classical refit to the selected terms stand beside it.
"""

from __future__ import annotations

import sys

import numpy as np

import linearly as ly

N, P, LEVEL, ALPHA = 60, 8, 0.95, 25.0


def main(repetitions: int = 2000) -> None:
    """Print the share of intervals that cover, with its standard error."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) @ np.linalg.cholesky(0.5 * np.eye(P) + 0.5).T
    mean = X[:, :3] @ np.array([1.0, -0.5, 0.25])
    design = X - X.mean(axis=0)
    covers: dict[str, list[float]] = {
        "selective, sigma known": [],
        "selective, sigma estimated": [],
        "classical refit": [],
    }
    for _ in range(repetitions):
        model = ly.ElasticNet(ALPHA).fit(X, mean + rng.normal(size=N))
        if not len(model.active_):
            continue
        true = np.linalg.lstsq(design[:, model.active_], mean - mean.mean(), rcond=None)[0]
        refit = ly.tidy(ly.refit_on_support(model), level=LEVEL)
        ends = {
            "selective, sigma known": ly.selective_intervals(model, sigma=1.0, level=LEVEL),
            "selective, sigma estimated": ly.selective_intervals(model, level=LEVEL),
            "classical refit": {name: refit[name][1:] for name in ("conf_low", "conf_high")},
        }
        for name, table in ends.items():
            covers[name] += ((table["conf_low"] <= true) & (true <= table["conf_high"])).tolist()
    for name, found in covers.items():
        share = float(np.mean(found))
        print(f"{name:28} {share:.4f} ± {np.sqrt(share * (1 - share) / len(found)):.4f} of {len(found):,} intervals")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
