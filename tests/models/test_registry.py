"""The table of models: every entry names an estimator whose docstring has the sections and the card that all have."""

import doctest
import importlib
import inspect
import re

import pytest

import linearly as ly
from linearly.models.registry import MODELS, classifies, estimator_of

SECTIONS = ["Parameters", "Attributes", "See Also", "Notes", "References", "Examples"]
CARD = ["Model", "Objective", "Summary", "Optimizer", "Passes"]

DEFINING_MODULES = {entry.module for entry in MODELS.values()}

each_model = pytest.mark.parametrize("model", MODELS)


def estimator_class(model):
    return getattr(importlib.import_module(MODELS[model].module), MODELS[model].name)


@each_model
def test_module_of_an_entry_defines_its_public_estimator(model):
    assert estimator_class(model) is getattr(ly, MODELS[model].name)


@each_model
def test_docstring_has_the_numpydoc_sections_in_order(model):
    doc = inspect.getdoc(estimator_class(model))
    assert re.findall(r"^([A-Z][\w ]+)\n-+$", doc, flags=re.M) == SECTIONS


@each_model
def test_notes_of_a_docstring_hold_the_card(model):
    notes = inspect.getdoc(estimator_class(model)).partition("\nNotes\n")[2].partition("\nReferences\n")[0]
    assert re.findall(r"^    (\w+) {2,}\S", notes, flags=re.M) == CARD


@each_model
def test_docstring_describes_every_parameter(model):
    doc = inspect.getdoc(estimator_class(model)).partition("\nParameters\n")[2].partition("\nAttributes\n")[0]
    assert sorted(re.findall(r"^(\w+) : ", doc, flags=re.M)) == sorted(estimator_class(model)._get_param_names())


@pytest.mark.parametrize("module", ["linearly.api", "linearly.models.least_squares_base", *sorted(DEFINING_MODULES)])
def test_examples_of_a_module_run(module):
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert attempted > 0
    assert failed == 0


@each_model
def test_estimator_of_a_model_with_an_unknown_parameter_is_refused(model):
    with pytest.raises(ValueError, match="has no parameter 'alfa'"):
        estimator_of(model, {"alfa": 1.0})


def test_ridge_with_an_alpha_is_a_linear_model():
    assert isinstance(estimator_of("ridge", {"alpha": 2.0}), ly.LinearRegression)
    assert isinstance(estimator_of("ridge", {}), ly.RidgeCV)


def test_lasso_with_an_l1_ratio_is_refused():
    with pytest.raises(ValueError, match="Use model 'elastic-net'"):
        estimator_of("lasso", {"alpha": 1.0, "l1_ratio": 0.3})
    assert estimator_of("elastic-net", {"alpha": 1.0, "l1_ratio": 0.3}).l1_ratio == 0.3


def test_regressions_predict_numbers_and_all_others_labels():
    assert [model for model in MODELS if not classifies(model)] == ["linear", "ridge", "lasso", "elastic-net"]
