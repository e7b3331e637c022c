# The public API: `__init__.py` reads these lines and imports each name when it is first used.
from linearly.algorithm.separability.certificate import Certificate as Certificate
from linearly.algorithm.separability.decide import mistake_bound as mistake_bound
from linearly.algorithm.separability.decide import separability as separability
from linearly.algorithm.separability.error_floor import ErrorFloor as ErrorFloor
from linearly.algorithm.separability.error_floor import error_floor as error_floor
from linearly.api import Model as Model
from linearly.api import fit as fit
from linearly.api import load as load
from linearly.dataset.cluster.collections import from_dask as from_dask
from linearly.dataset.cluster.collections import from_spark as from_spark
from linearly.dataset.features.digits import DigitFeatures as DigitFeatures
from linearly.dataset.features.digits import digit_features as digit_features
from linearly.dataset.features.polynomial import polynomial_features as polynomial_features
from linearly.dataset.features.spam import SpamFeatures as SpamFeatures
from linearly.dataset.features.spam import spam_features as spam_features
from linearly.dataset.sources import scan as scan
from linearly.evaluation.bias_variance import BiasVariance as BiasVariance
from linearly.evaluation.bias_variance import bias_variance as bias_variance
from linearly.evaluation.cross_validate import cross_validate as cross_validate
from linearly.evaluation.evaluate import Evaluation as Evaluation
from linearly.evaluation.evaluate import evaluate as evaluate
from linearly.exceptions import CovarianceNotAvailableError as CovarianceNotAvailableError
from linearly.exceptions import FewClustersWarning as FewClustersWarning
from linearly.exceptions import NotEstimableWarning as NotEstimableWarning
from linearly.exceptions import PrecisionWarning as PrecisionWarning
from linearly.exceptions import SeparationWarning as SeparationWarning
from linearly.exceptions import UncenteredColumnsWarning as UncenteredColumnsWarning
from linearly.inference.diagnostics import residual_tests as residual_tests
from linearly.inference.diagnostics import vif as vif
from linearly.inference.difference import diff as diff
from linearly.inference.likelihood import likelihood_ratio_tests as likelihood_ratio_tests
from linearly.inference.likelihood import odds_ratios as odds_ratios
from linearly.inference.likelihood import profile_intervals as profile_intervals
from linearly.inference.nested_models import compare_models as compare_models
from linearly.inference.tidy import augment as augment
from linearly.inference.tidy import error_variance as error_variance
from linearly.inference.tidy import glance as glance
from linearly.inference.tidy import tidy as tidy
from linearly.models.averaged_perceptron import AveragedPerceptron as AveragedPerceptron
from linearly.models.batch_perceptron import BatchPerceptron as BatchPerceptron
from linearly.models.least_squares_classifier import LeastSquaresClassifier as LeastSquaresClassifier
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
from linearly.models.linear_regression import LinearRegression as LinearRegression
from linearly.models.logistic_regression import LogisticRegression as LogisticRegression
from linearly.models.perceptron import Perceptron as Perceptron
from linearly.models.pocket_perceptron import PocketPerceptron as PocketPerceptron
from linearly.models.quadratic_discriminant_analysis import (
    QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
)
from linearly.models.ridge_cv import RidgeCV as RidgeCV
from linearly.models.voted_perceptron import VotedPerceptron as VotedPerceptron
from linearly.plots.classifier_plots import plot_calibration as plot_calibration
from linearly.plots.classifier_plots import plot_coefficients as plot_coefficients
from linearly.plots.classifier_plots import plot_confusion as plot_confusion
from linearly.plots.classifier_plots import plot_gaussians as plot_gaussians
from linearly.plots.classifier_plots import plot_precision_recall as plot_precision_recall
from linearly.plots.classifier_plots import plot_probability as plot_probability
from linearly.plots.classifier_plots import plot_regions as plot_regions
from linearly.plots.classifier_plots import plot_roc as plot_roc
from linearly.plots.perceptron_plots import plot_boundary as plot_boundary
from linearly.plots.perceptron_plots import plot_mistakes as plot_mistakes
from linearly.plots.perceptron_plots import plot_pocket_errors as plot_pocket_errors
from linearly.plots.regression_plots import plot_leverage as plot_leverage
from linearly.plots.regression_plots import plot_qq as plot_qq
from linearly.plots.regression_plots import plot_residuals as plot_residuals
from linearly.plots.regression_plots import plot_scale_location as plot_scale_location
from linearly.table import Table as Table
from linearly.versions import show_versions as show_versions

__version__: str
__all__: list[str]
