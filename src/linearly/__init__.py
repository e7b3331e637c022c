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
    from linearly.algorithm.least_squares.sandwich import FewClustersWarning
    from linearly.algorithm.least_squares.solver import PrecisionWarning
    from linearly.algorithm.separability.certificate import Certificate
    from linearly.algorithm.separability.decide import mistake_bound, separability
    from linearly.algorithm.separability.error_floor import ErrorFloor, error_floor
    from linearly.api import Model, fit, load
    from linearly.dataset.cluster.partitions import from_dask, from_spark
    from linearly.dataset.features.digits import DigitFeatures, digit_features
    from linearly.dataset.features.spam import SpamFeatures, spam_features
    from linearly.dataset.files.scan import scan
    from linearly.dataset.rows.polynomial import polynomial
    from linearly.evaluation.bias_variance import BiasVariance, bias_variance
    from linearly.evaluation.cross_validate import cross_validate
    from linearly.evaluation.evaluate import Evaluation, evaluate
    from linearly.inference.diagnostics import residual_tests, vif
    from linearly.inference.difference import diff
    from linearly.inference.likelihood import likelihood_ratio_tests, odds_ratios, profile_intervals
    from linearly.inference.nested_models import compare_models
    from linearly.inference.tidy import augment, error_model, glance, tidy
    from linearly.models.batch_perceptron import BatchPerceptron
    from linearly.models.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from linearly.models.estimability import NotEstimableWarning
    from linearly.models.least_squares_classifier import LeastSquaresClassifier
    from linearly.models.linear_regression import LinearRegression
    from linearly.models.logistic_regression import LogisticRegression, SeparationWarning
    from linearly.models.online_perceptrons import AveragedPerceptron, Perceptron, VotedPerceptron
    from linearly.models.pocket_perceptron import PocketPerceptron
    from linearly.models.ridge_cv import RidgeCV
    from linearly.plots.classifier_plots import (
        plot_calibration,
        plot_coefficients,
        plot_confusion,
        plot_gaussians,
        plot_precision_recall,
        plot_probability,
        plot_regions,
        plot_roc,
    )
    from linearly.plots.perceptron_plots import plot_boundary, plot_mistakes, plot_pocket
    from linearly.plots.regression_plots import plot_leverage, plot_qq, plot_residuals, plot_scale_location
    from linearly.table import Table
    from linearly.versions import show_versions

_HOME = {
    "AveragedPerceptron": "linearly.models.online_perceptrons",
    "BatchPerceptron": "linearly.models.batch_perceptron",
    "BiasVariance": "linearly.evaluation.bias_variance",
    "Certificate": "linearly.algorithm.separability.certificate",
    "DigitFeatures": "linearly.dataset.features.digits",
    "ErrorFloor": "linearly.algorithm.separability.error_floor",
    "Evaluation": "linearly.evaluation.evaluate",
    "FewClustersWarning": "linearly.algorithm.least_squares.sandwich",
    "LeastSquaresClassifier": "linearly.models.least_squares_classifier",
    "LinearDiscriminantAnalysis": "linearly.models.discriminant_analysis",
    "LinearRegression": "linearly.models.linear_regression",
    "LogisticRegression": "linearly.models.logistic_regression",
    "Model": "linearly.api",
    "NotEstimableWarning": "linearly.models.estimability",
    "Perceptron": "linearly.models.online_perceptrons",
    "PocketPerceptron": "linearly.models.pocket_perceptron",
    "PrecisionWarning": "linearly.algorithm.least_squares.solver",
    "QuadraticDiscriminantAnalysis": "linearly.models.discriminant_analysis",
    "RidgeCV": "linearly.models.ridge_cv",
    "SeparationWarning": "linearly.models.logistic_regression",
    "SpamFeatures": "linearly.dataset.features.spam",
    "Table": "linearly.table",
    "VotedPerceptron": "linearly.models.online_perceptrons",
    "augment": "linearly.inference.tidy",
    "bias_variance": "linearly.evaluation.bias_variance",
    "compare_models": "linearly.inference.nested_models",
    "cross_validate": "linearly.evaluation.cross_validate",
    "diff": "linearly.inference.difference",
    "digit_features": "linearly.dataset.features.digits",
    "error_floor": "linearly.algorithm.separability.error_floor",
    "error_model": "linearly.inference.tidy",
    "evaluate": "linearly.evaluation.evaluate",
    "fit": "linearly.api",
    "from_dask": "linearly.dataset.cluster.partitions",
    "from_spark": "linearly.dataset.cluster.partitions",
    "glance": "linearly.inference.tidy",
    "likelihood_ratio_tests": "linearly.inference.likelihood",
    "load": "linearly.api",
    "mistake_bound": "linearly.algorithm.separability.decide",
    "odds_ratios": "linearly.inference.likelihood",
    "plot_boundary": "linearly.plots.perceptron_plots",
    "plot_calibration": "linearly.plots.classifier_plots",
    "plot_coefficients": "linearly.plots.classifier_plots",
    "plot_confusion": "linearly.plots.classifier_plots",
    "plot_gaussians": "linearly.plots.classifier_plots",
    "plot_leverage": "linearly.plots.regression_plots",
    "plot_mistakes": "linearly.plots.perceptron_plots",
    "plot_pocket": "linearly.plots.perceptron_plots",
    "plot_precision_recall": "linearly.plots.classifier_plots",
    "plot_probability": "linearly.plots.classifier_plots",
    "plot_qq": "linearly.plots.regression_plots",
    "plot_regions": "linearly.plots.classifier_plots",
    "plot_residuals": "linearly.plots.regression_plots",
    "plot_roc": "linearly.plots.classifier_plots",
    "plot_scale_location": "linearly.plots.regression_plots",
    "polynomial": "linearly.dataset.rows.polynomial",
    "profile_intervals": "linearly.inference.likelihood",
    "residual_tests": "linearly.inference.diagnostics",
    "scan": "linearly.dataset.files.scan",
    "separability": "linearly.algorithm.separability.decide",
    "show_versions": "linearly.versions",
    "spam_features": "linearly.dataset.features.spam",
    "tidy": "linearly.inference.tidy",
    "vif": "linearly.inference.diagnostics",
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
