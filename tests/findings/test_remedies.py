"""Every remedy that a fit screen gives is a command: it runs, and it ends or improves what it was given for."""

import warnings

import pytest
from findings.kinds_of_data import kinds, labelled_kinds

import linearly as ly
from linearly.cli.fit_summary import training_facts
from linearly.findings.sentences import describe_option

TABLES = kinds() | {f"labels: {name}": table for name, table in labelled_kinds().items()}
# Findings that stay after the remedy, because it is about something else.
STAYS = {
    "few_rows": "ridge predicts better from few rows; it does not add rows",
    "alpha_largest": "the mean predicts as well, as the remedy says",
}
FALSE_ALARMS = {("weights", "curvature")}  # 1 in 20 by design, and nothing to remedy


def findings_of(name, **options):
    data = TABLES[name]
    weight = {"weight": "w"} if "w" in data else {}
    missing = {"missing": "drop"} if data.isna().any().any() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ly.fit(data, target="y", **weight, **missing, **options)
        return training_facts(model, model.design_rows(data), cross_validate=True).get("findings", [])


def arguments_of(options):
    words = []
    for name, value in options:
        text = describe_option({"commands": True}, name, value)
        flag, _, rest = text.partition(" ")
        words += [flag, *([rest.strip("'")] if rest else [])]
    return words


DEFAULT = (
    "wide",
    "sine",
    "growing variance",
    "nearly collinear",
    "labels: separable",
    "labels: noise",
)  # the rest is slow


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in DEFAULT else pytest.mark.slow) for name in TABLES],
)
def test_remedies_of_a_fit_screen_run_and_help(name, run):
    TABLES[name].to_csv("data.csv", index=False)
    fixed = ["--weight", "w"] if "w" in TABLES[name] else []
    fixed += ["--missing", "drop"] if TABLES[name].isna().any().any() else []
    for finding in findings_of(name):
        if not finding["options"] or (name, finding["id"]) in FALSE_ALARMS:
            continue
        words = arguments_of(finding["options"])
        assert " ".join(words[:2]).split("=")[0] in finding["remedy"].replace("'", ""), finding["remedy"]
        target = [] if "--formula" in words else ["--target", "y"]
        result = run("fit", "data.csv", *target, *fixed, *words, "--json")
        assert result.code == 0, (words, result.err)
        after = {one["id"]: one["p_value"] for one in result.json.get("findings", [])}
        if finding["id"] in after and finding["id"] not in STAYS:
            assert after[finding["id"]] > 10 * finding["p_value"], words  # weaker evidence, if not none
