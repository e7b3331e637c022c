"""Linear models with standard errors, proofs and reports, from ten rows to a cluster.

The public API. Each name is imported when it is first used:

    fit  Model  load                                        fit data frames, files and formulas
    LinearRegression  RidgeCV                               least squares and ridge
    ElasticNet  ElasticNetCV                                lasso and elastic net
    best_subset  selective_intervals  refit_on_support      after a selection
    LinearDiscriminantAnalysis  QuadraticDiscriminantAnalysis  LeastSquaresClassifier
    LogisticRegression                                      two classes or K, penalised or not
    Perceptron  BatchPerceptron  PocketPerceptron  VotedPerceptron  AveragedPerceptron
    tidy  glance  augment  evaluate                         tables per term, per model, per row; metrics
    residual_tests  vif  error_variance  compare_models     checks of assumptions, comparisons of models
    odds_ratios  profile_intervals  likelihood_ratio_tests  for logistic regression
    separability  error_floor  mistake_bound                proofs in exact arithmetic
    cross_validate  bias_variance                           prediction error on held-out rows
    diff                                                    differences of two fitted models
    scan                                                    rows of files larger than memory
    polynomial_features  digit_features  spam_features      columns to fit on
    plot_boundary  plot_coefficients  plot_roc …            plots on Matplotlib axes
    show_versions                                           versions for a bug report
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linearly.installed import library_version
from linearly.models import from_inference

# Public names and their modules are listed once, in the stub, which type checkers read, too.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: module for module, name in re.findall(r"^from (\S+) import \(?\s*(\w+)", _STUB, flags=re.MULTILINE)}

__all__ = sorted(_HOMES)


def _imported_when_called(module: str, name: str) -> Callable[..., Any]:
    return lambda *args: getattr(importlib.import_module(module), name)(*args)


# Methods such as `LinearRegression.summary` call functions of a package that imports the estimators.
from_inference.regression_summary = _imported_when_called("linearly.inference.summaries", "regression_summary")
from_inference.logistic_summary = _imported_when_called("linearly.inference.summaries", "logistic_summary")
from_inference.explain = _imported_when_called("linearly.inference.perceptron_summary", "explain")
from_inference.prediction_interval = _imported_when_called(
    "linearly.inference.prediction_interval", "prediction_interval"
)
from_inference.probability_interval = _imported_when_called("linearly.inference.probabilities", "probability_interval")
from_inference.draw_coefficients = _imported_when_called("linearly.inference.coefficient_draws", "draw_coefficients")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return library_version()
    if name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = found  # found directly from now on
        return found
    raise AttributeError(f"module 'linearly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
