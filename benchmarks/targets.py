"""What the project set out to reach, line by line, and the table of what was reached.

The targets were set on two cores with AVX-512; docs/decisions says which of them other machines cannot reach, and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

START, END = "<!-- benchmarks: written by python -m benchmarks --page -->", "<!-- end of benchmarks -->"


@dataclass(frozen=True)
class Target:
    """A line of the table: how many times as fast as the best peer, or as those whose name begins so, is asked for."""

    workload: str
    work: str
    ratio: float
    peer: str = ""  # the best of those that begin with it; all if empty


TARGETS = (
    Target("ols_1m_50", "least squares", 8.0),
    Target("ols_1m_50", "least squares", 40.0, "scikit-learn LinearRegression"),
    Target("ols_200k_500", "least squares, wide", 4.0),
    Target("standard_errors", "with standard errors", 80.0, "statsmodels"),
    Target("robust_errors", "with HC1 errors", 50.0, "pyfixest"),
    Target("ridge_cv", "ridge", 300.0),
    Target("predict_one_row", "predict one row", 20.0),
    Target("import_time", "import", 5.0, "scikit-learn"),
    Target("lda_500k", "LDA", 12.0),
    Target("qda_fit", "QDA", 6.0),
    Target("qda_predict", "QDA posteriors", 8.0),
    Target("logistic_500k", "logistic regression", 4.0),
    Target("logistic_wide", "logistic, wide", 15.0),
    Target("multinomial", "multinomial", 4.0),
    Target("multinomial_ill", "multinomial, ill-conditioned", 15.0),
    Target("predict_proba", "probabilities", 2.5),
    Target("perceptron_dense", "perceptron, 5 passes", 2.3),
    Target("averaged_perceptron_dense", "averaged perceptron", 3.0),
    Target("perceptron_sparse", "perceptron, sparse", 1.4),
    Target("averaged_perceptron_sparse", "averaged, sparse", 2.0),
    Target("parquet_ols", "least squares on Parquet", 1.8),
    Target("csv_ols", "least squares on CSV", 1.0),
)


def table(results: Iterable[dict[str, Any]]) -> str:
    """The targets whose workload was run, in Markdown: who took how long, the ratio, and the memory."""
    by_name = {result["workload"]: result for result in results}
    lines = [
        "| work | size | linearly | peer | ratio | memory, linearly and peer |",
        "|---|---|---|---|---|---|",
    ]
    for target in TARGETS:
        result = by_name.get(target.workload)
        if result is None:
            continue
        seconds: dict[str, float] = result["seconds"]
        mine = next(iter(seconds))
        peers = {name: taken for name, taken in seconds.items() if name != mine and name.startswith(target.peer)}
        if not peers:
            continue
        best = min(peers, key=lambda name: peers[name])
        ratio = peers[best] / seconds[mine]
        memory = result["extra_mb"]
        room = f"{memory[mine]:.0f} and {memory[best]:.0f} MB" if mine in memory and best in memory else ""
        lines.append(
            f"| {target.work} | {result['size']} | {_time(seconds[mine])} | {best} {_time(peers[best])} | "
            f"{_ratio(ratio)} × | {room} |"
        )
    return "\n".join(lines)


def written_into(page: str, here: dict[str, Any], limits: dict[str, float], results: list[dict[str, Any]]) -> str:
    """A page with the table between its two marks."""
    before, after = page.split(START)[0], page.split(END)[1]
    cores = here["cores"]
    told = (
        f"{cores} cores of an {here['processor']}, with {here['kernels']} kernels, NumPy {here['numpy']} and "
        f"scikit-learn {here['scikit-learn']}. A matrix product reaches {limits['gflops_1']:.0f} Gflop/s on one core "
        f"and {limits[f'gflops_{cores}']:.0f} on all; memory is read at {limits['gbytes_1']:.0f} and "
        f"{limits[f'gbytes_{cores}']:.0f} GB/s."
    )
    return f"{before}{START}\nOne run on {date.today():%d %B %Y} on {told}\n\n{table(results)}\n{END}{after}"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
