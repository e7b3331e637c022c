"""Findings: strengths and problems of data or a model, with evidence, error rates and remedies.

Screens, reports and the lab take their verdicts from here, so that each sentence is written once.

In reading order:
    finding              one finding: claim, severity, test, evidence, remedy
    sentences            fills the sentences of the catalogues with evidence
    table.toml           sentences of the findings about a table, which `checks` decides
    aliased_columns      which columns to leave out of a fit
    row_sample           a few rows of many, chosen by a reduction
    repeated_rows        rows that repeat another row exactly
    column_effects       how the prediction changes with one column
    regression_facts     numbers about a regression and its rows
    regression           which findings about a regression hold; regression.toml contains their sentences
    classification_facts numbers about a classifier and an evaluation of it
    classification       which findings about a classifier hold; classification.toml contains their sentences
    comparison           which findings about several models hold; comparison.toml contains their sentences
    evaluation           evaluates a model on rows, with the findings about it
    difference           the table and the finding about two models of different rows
"""

from linearly.findings.finding import CHECK, OK, PROBLEM, Finding, Options, sort_findings
from linearly.findings.sentences import make_finding

__all__ = ["CHECK", "OK", "PROBLEM", "Finding", "Options", "make_finding", "sort_findings"]
