"""The examples in the docstrings of inference, evaluation and tables run, and print what they show."""

import doctest
import importlib

import pytest

MODULES = [
    "linearly.evaluation.bias_variance",
    "linearly.evaluation.cross_validate",
    "linearly.evaluation.evaluate",
    "linearly.inference.diagnostics",
    "linearly.inference.difference",
    "linearly.inference.durbin_watson",
    "linearly.inference.likelihood",
    "linearly.inference.nested_models",
    "linearly.inference.normality",
    "linearly.inference.tidy",
    "linearly.table",
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_print_what_they_show(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
