"""docs/peers.md from the tables of verdicts: `python tests/peers/page.py` writes it, a test compares."""

import importlib
from collections import Counter
from pathlib import Path

from judge import KINDS, SORTED, Table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "peers.md"
MODULES = ("base", "ridge", "logistic", "discriminant", "perceptron")

HEAD = f"""# Judged by the peers' own tests

scikit-learn ships its tests with its wheels. Those of its linear models, of ridge, logistic regression, the
discriminants and the perceptron are run here on our estimators: the functions are imported, not copied, and find a thin
adapter under the peer's names that translates parameters and attributes (`tests/peers/adapters.py`: `C` into `alpha`,
`solver` into `method`, divisor N − K into N, coding 0/1 into −1/+1) and computes nothing. Cases that scikit-learn
skips, or expects to fail, are run too. A test that is said to differ must fail, or our suite does; no function may be
without a verdict (scikit-learn {" and ".join(SORTED)}). `test_sgd` has no test of a perceptron, only of a private loss.

statsmodels ships numbers that Stata, R and SAS computed, for its own tests. `tests/peers/test_statsmodels.py` compares
them with ours.
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
