"""linearly: linear models that are fast, say how sure they are, and run from ten points to a cluster.

The public API, loaded when first used:

    LinearRegression  RidgeCV                               least squares and ridge
    LinearDiscriminantAnalysis  QuadraticDiscriminantAnalysis  LeastSquaresClassifier
    LogisticRegression                                      two classes or K, penalised or not
    Perceptron  BatchPerceptron  PocketPerceptron  VotedPerceptron  AveragedPerceptron
    tidy  glance  augment  evaluate                         evidence: a term, a model, a row, how good
    residual_tests  vif  error_model  compare_models        are the assumptions met, does a term matter
    odds_ratios  profile_intervals  likelihood_ratio_tests  for logistic regression
    separability  error_floor  mistake_bound                proofs that hold in exact arithmetic
    bias_variance                                           noise + bias² + variance against complexity
    polynomial  digit_features  spam_features               columns to fit on
    plot_boundary  plot_coefficients  plot_roc …             pictures, on the axes you give them
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linearly.algorithm.certificate import Certificate
    from linearly.algorithm.error_floor import ErrorFloor, error_floor
    from linearly.algorithm.ladder import PrecisionWarning
    from linearly.algorithm.separability import mistake_bound, separability
    from linearly.dataset.digits import DigitFeatures, digit_features
    from linearly.dataset.polynomial import polynomial
    from linearly.dataset.text import SpamFeatures, spam_features
    from linearly.evidence.bias_variance import BiasVariance, bias_variance
    from linearly.evidence.diagnostics import residual_tests, vif
    from linearly.evidence.evaluation import Evaluation, evaluate
    from linearly.evidence.inference import augment, compare_models, error_model, glance, tidy
    from linearly.evidence.likelihood import likelihood_ratio_tests, odds_ratios, profile_intervals
    from linearly.evidence.table import Table
    from linearly.models.batch_perceptron import BatchPerceptron
    from linearly.models.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from linearly.models.indicator import LeastSquaresClassifier
    from linearly.models.logistic import LogisticRegression, SeparationWarning
    from linearly.models.perceptron import AveragedPerceptron, Perceptron, VotedPerceptron
    from linearly.models.pocket import PocketPerceptron
    from linearly.models.regression import LinearRegression
    from linearly.models.ridge import RidgeCV
    from linearly.report.classifier_plots import (
        plot_calibration,
        plot_coefficients,
        plot_confusion,
        plot_gaussians,
        plot_probability,
        plot_regions,
        plot_roc,
    )
    from linearly.report.plots import plot_boundary, plot_mistakes, plot_pocket
    from linearly.versions import show_versions

_HOME = {
    "AveragedPerceptron": "linearly.models.perceptron",
    "BatchPerceptron": "linearly.models.batch_perceptron",
    "BiasVariance": "linearly.evidence.bias_variance",
    "Certificate": "linearly.algorithm.certificate",
    "DigitFeatures": "linearly.dataset.digits",
    "ErrorFloor": "linearly.algorithm.error_floor",
    "Evaluation": "linearly.evidence.evaluation",
    "LeastSquaresClassifier": "linearly.models.indicator",
    "LinearDiscriminantAnalysis": "linearly.models.discriminant",
    "LinearRegression": "linearly.models.regression",
    "LogisticRegression": "linearly.models.logistic",
    "Perceptron": "linearly.models.perceptron",
    "PocketPerceptron": "linearly.models.pocket",
    "PrecisionWarning": "linearly.algorithm.ladder",
    "QuadraticDiscriminantAnalysis": "linearly.models.discriminant",
    "RidgeCV": "linearly.models.ridge",
    "SeparationWarning": "linearly.models.logistic",
    "SpamFeatures": "linearly.dataset.text",
    "Table": "linearly.evidence.table",
    "VotedPerceptron": "linearly.models.perceptron",
    "augment": "linearly.evidence.inference",
    "bias_variance": "linearly.evidence.bias_variance",
    "compare_models": "linearly.evidence.inference",
    "digit_features": "linearly.dataset.digits",
    "error_floor": "linearly.algorithm.error_floor",
    "error_model": "linearly.evidence.inference",
    "evaluate": "linearly.evidence.evaluation",
    "glance": "linearly.evidence.inference",
    "likelihood_ratio_tests": "linearly.evidence.likelihood",
    "mistake_bound": "linearly.algorithm.separability",
    "odds_ratios": "linearly.evidence.likelihood",
    "plot_boundary": "linearly.report.plots",
    "plot_calibration": "linearly.report.classifier_plots",
    "plot_coefficients": "linearly.report.classifier_plots",
    "plot_confusion": "linearly.report.classifier_plots",
    "plot_gaussians": "linearly.report.classifier_plots",
    "plot_mistakes": "linearly.report.plots",
    "plot_pocket": "linearly.report.plots",
    "plot_probability": "linearly.report.classifier_plots",
    "plot_regions": "linearly.report.classifier_plots",
    "plot_roc": "linearly.report.classifier_plots",
    "polynomial": "linearly.dataset.polynomial",
    "profile_intervals": "linearly.evidence.likelihood",
    "residual_tests": "linearly.evidence.diagnostics",
    "separability": "linearly.algorithm.separability",
    "show_versions": "linearly.versions",
    "spam_features": "linearly.dataset.text",
    "tidy": "linearly.evidence.inference",
    "vif": "linearly.evidence.diagnostics",
}

__all__ = [
    "AveragedPerceptron",
    "BatchPerceptron",
    "BiasVariance",
    "Certificate",
    "DigitFeatures",
    "ErrorFloor",
    "Evaluation",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "PocketPerceptron",
    "PrecisionWarning",
    "QuadraticDiscriminantAnalysis",
    "RidgeCV",
    "SeparationWarning",
    "SpamFeatures",
    "Table",
    "VotedPerceptron",
    "augment",
    "bias_variance",
    "compare_models",
    "digit_features",
    "error_floor",
    "error_model",
    "evaluate",
    "glance",
    "likelihood_ratio_tests",
    "mistake_bound",
    "odds_ratios",
    "plot_boundary",
    "plot_calibration",
    "plot_coefficients",
    "plot_confusion",
    "plot_gaussians",
    "plot_mistakes",
    "plot_pocket",
    "plot_probability",
    "plot_regions",
    "plot_roc",
    "polynomial",
    "profile_intervals",
    "residual_tests",
    "separability",
    "show_versions",
    "spam_features",
    "tidy",
    "vif",
]

try:
    __version__ = metadata.version("linearly")
except metadata.PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'linearly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
