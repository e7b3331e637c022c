"""linearly: linear models that are fast, say how sure they are, and run from ten points to a cluster.

The public API, loaded when first used:

    fit  Model  load                                        frames, files, formulas: raw data in, evidence out
    LinearRegression  RidgeCV                               least squares and ridge
    LinearDiscriminantAnalysis  QuadraticDiscriminantAnalysis  LeastSquaresClassifier
    LogisticRegression                                      two classes or K, penalised or not
    Perceptron  BatchPerceptron  PocketPerceptron  VotedPerceptron  AveragedPerceptron
    tidy  glance  augment  evaluate                         evidence: a term, a model, a row, how good
    residual_tests  vif  error_model  compare_models        are the assumptions met, does a term matter
    odds_ratios  profile_intervals  likelihood_ratio_tests  for logistic regression
    separability  error_floor  mistake_bound                proofs that hold in exact arithmetic
    cross_validate  bias_variance                           how good on rows not seen; noise + bias² + variance
    diff                                                    what changed between two fitted models
    scan                                                    rows in files larger than memory, for any fit
    polynomial  digit_features  spam_features               columns to fit on
    plot_boundary  plot_coefficients  plot_roc …             pictures, on the axes you give them
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linearly.algorithm.certificate import Certificate
    from linearly.algorithm.error_floor import ErrorFloor, error_floor
    from linearly.algorithm.ladder import PrecisionWarning
    from linearly.algorithm.sandwich import FewClustersWarning
    from linearly.algorithm.separability import mistake_bound, separability
    from linearly.dataset.digits import DigitFeatures, digit_features
    from linearly.dataset.elsewhere import from_dask, from_spark
    from linearly.dataset.files import scan
    from linearly.dataset.polynomial import polynomial
    from linearly.dataset.text import SpamFeatures, spam_features
    from linearly.evidence.bias_variance import BiasVariance, bias_variance
    from linearly.evidence.cross_validation import cross_validate
    from linearly.evidence.diagnostics import residual_tests, vif
    from linearly.evidence.difference import diff
    from linearly.evidence.evaluation import Evaluation, evaluate
    from linearly.evidence.inference import augment, error_model, glance, tidy
    from linearly.evidence.likelihood import likelihood_ratio_tests, odds_ratios, profile_intervals
    from linearly.evidence.nested import compare_models
    from linearly.evidence.table import Table
    from linearly.front import Model, fit, load
    from linearly.models.batch_perceptron import BatchPerceptron
    from linearly.models.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from linearly.models.estimable import NotEstimableWarning
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
        plot_precision_recall,
        plot_probability,
        plot_regions,
        plot_roc,
    )
    from linearly.report.plots import plot_boundary, plot_mistakes, plot_pocket
    from linearly.report.regression_plots import plot_leverage, plot_qq, plot_residuals, plot_scale_location
    from linearly.versions import show_versions

_HOME = {
    "AveragedPerceptron": "linearly.models.perceptron",
    "BatchPerceptron": "linearly.models.batch_perceptron",
    "BiasVariance": "linearly.evidence.bias_variance",
    "Certificate": "linearly.algorithm.certificate",
    "DigitFeatures": "linearly.dataset.digits",
    "ErrorFloor": "linearly.algorithm.error_floor",
    "Evaluation": "linearly.evidence.evaluation",
    "FewClustersWarning": "linearly.algorithm.sandwich",
    "LeastSquaresClassifier": "linearly.models.indicator",
    "LinearDiscriminantAnalysis": "linearly.models.discriminant",
    "LinearRegression": "linearly.models.regression",
    "LogisticRegression": "linearly.models.logistic",
    "Model": "linearly.front",
    "NotEstimableWarning": "linearly.models.estimable",
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
    "compare_models": "linearly.evidence.nested",
    "cross_validate": "linearly.evidence.cross_validation",
    "diff": "linearly.evidence.difference",
    "digit_features": "linearly.dataset.digits",
    "error_floor": "linearly.algorithm.error_floor",
    "error_model": "linearly.evidence.inference",
    "evaluate": "linearly.evidence.evaluation",
    "fit": "linearly.front",
    "from_dask": "linearly.dataset.elsewhere",
    "from_spark": "linearly.dataset.elsewhere",
    "glance": "linearly.evidence.inference",
    "likelihood_ratio_tests": "linearly.evidence.likelihood",
    "load": "linearly.front",
    "mistake_bound": "linearly.algorithm.separability",
    "odds_ratios": "linearly.evidence.likelihood",
    "plot_boundary": "linearly.report.plots",
    "plot_calibration": "linearly.report.classifier_plots",
    "plot_coefficients": "linearly.report.classifier_plots",
    "plot_confusion": "linearly.report.classifier_plots",
    "plot_gaussians": "linearly.report.classifier_plots",
    "plot_leverage": "linearly.report.regression_plots",
    "plot_mistakes": "linearly.report.plots",
    "plot_pocket": "linearly.report.plots",
    "plot_precision_recall": "linearly.report.classifier_plots",
    "plot_probability": "linearly.report.classifier_plots",
    "plot_qq": "linearly.report.regression_plots",
    "plot_regions": "linearly.report.classifier_plots",
    "plot_residuals": "linearly.report.regression_plots",
    "plot_roc": "linearly.report.classifier_plots",
    "plot_scale_location": "linearly.report.regression_plots",
    "polynomial": "linearly.dataset.polynomial",
    "profile_intervals": "linearly.evidence.likelihood",
    "residual_tests": "linearly.evidence.diagnostics",
    "scan": "linearly.dataset.files",
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
    "FewClustersWarning",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LogisticRegression",
    "Model",
    "NotEstimableWarning",
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
    "cross_validate",
    "diff",
    "digit_features",
    "error_floor",
    "error_model",
    "evaluate",
    "fit",
    "from_dask",
    "from_spark",
    "glance",
    "likelihood_ratio_tests",
    "load",
    "mistake_bound",
    "odds_ratios",
    "plot_boundary",
    "plot_calibration",
    "plot_coefficients",
    "plot_confusion",
    "plot_gaussians",
    "plot_leverage",
    "plot_mistakes",
    "plot_pocket",
    "plot_precision_recall",
    "plot_probability",
    "plot_qq",
    "plot_regions",
    "plot_residuals",
    "plot_roc",
    "plot_scale_location",
    "polynomial",
    "profile_intervals",
    "residual_tests",
    "scan",
    "separability",
    "show_versions",
    "spam_features",
    "tidy",
    "vif",
]


def _version() -> str:
    from importlib import metadata  # a third of the time that `linearly --help` takes

    try:
        return metadata.version("linearly")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'linearly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
