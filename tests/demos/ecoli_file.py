"""A small file in the format of UCI's ecoli.data."""

import numpy as np


def ecoli_lines(header=True, seed=3):
    """A file as UCI has it: five sites and a rare one; chg never changes, lip in one site only."""
    draw = np.random.default_rng(seed)
    lines = ["SequenceName  mcg  gvh  lip  chg  aac  alm1 alm2    class"] if header else []
    for k, (site, n) in enumerate({"cp": 40, "im": 30, "pp": 25, "imU": 20, "om": 15, "imS": 2}.items()):
        X = np.clip(draw.normal(0.3 + 0.08 * k, 0.1, (n, 7)), 0, 1).round(2)
        X[:, 2] = 0.48
        X[:, 3] = 0.5
        if site == "om":
            X[:3, 2] = 1.0
        if site == "imS":
            X[0, 3] = 1.0
        lines += [f"{site.upper()}{i}_ECOLI  {'  '.join(f'{v:.2f}' for v in row)}   {site}" for i, row in enumerate(X)]
    return "\n".join(lines) + "\n"
