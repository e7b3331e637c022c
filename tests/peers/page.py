"""docs/contributing/peers.md from the tables of verdicts: `python tests/peers/page.py` writes it, a test compares."""

import importlib
from collections import Counter
from pathlib import Path

from judge import KINDS, SORTED, Table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "contributing" / "peers.md"
MODULES = ("base", "ridge", "logistic", "discriminant", "perceptron")

HEAD = f"""# Tests of scikit-learn and statsmodels

scikit-learn includes its tests in its wheels. The tests of its linear models, ridge, logistic regression, the
discriminants and the perceptron are run here on linearly's estimators. The functions are imported, not copied. A thin
adapter with scikit-learn's names translates parameters and attributes and computes nothing (`tests/peers/adapters.py`:
`C` into `alpha`, `solver` into `method`, divisor N − K into N, coding 0/1 into −1/+1). Cases that scikit-learn skips,
or expects to fail, are run, too. A test that is listed as different must fail, and every function must have a verdict
(scikit-learn {" and ".join(SORTED)}). `test_sgd` has no test of a perceptron, only of a private loss.

statsmodels' tests contain numbers that were computed by Stata, R and SAS. `tests/peers/test_statsmodels.py` compares
linearly with them.
"""


def rendered(tables: dict[str, Table]) -> str:
    lines = [HEAD, "| scikit-learn's module | " + " | ".join(KINDS) + " | functions |", "|---" * (len(KINDS) + 2) + "|"]
    total: Counter[str] = Counter()
    for peer, table in tables.items():
        counts = Counter(verdict.kind for verdict in table.values())
        total += counts
        lines.append(f"| `{peer}` | " + " | ".join(str(counts[k]) for k in KINDS) + f" | {len(table)} |")
    lines.append("| all | " + " | ".join(str(total[k]) for k in KINDS) + f" | {total.total()} |")
    lines += ["", *(f"- **{kind}**: {text}" for kind, text in KINDS.items()), ""]
    for peer, table in tables.items():
        passing = [f"`{name}`" for name, verdict in sorted(table.items()) if verdict.kind == "passes"]
        lines += [
            f"## {peer}",
            "",
            f"Passes: {', '.join(passing)}.",
            "",
            "| verdict | why | functions |",
            "|---|---|---|",
        ]
        differing: dict[tuple[str, str], list[str]] = {}
        for name, verdict in sorted(table.items()):
            some = " (some cases)" if verdict.where else ""
            differing.setdefault((verdict.kind, verdict.reason), []).append(f"`{name}`{some}")
        for kind in list(KINDS)[1:]:
            for (of_kind, reason), names in differing.items():
                if of_kind == kind:
                    lines.append(f"| {kind} | {reason} | {', '.join(names)} |")
        lines.append("")
    return "\n".join(lines)


def tables() -> dict[str, Table]:
    found = (importlib.import_module(f"test_peer_{name}") for name in MODULES)
    return {module.PEER: module.TABLE for module in found}


if __name__ == "__main__":
    PAGE.write_text(rendered(tables()), encoding="utf-8")
