"""Our estimators under scikit-learn's names, parameters and attributes, so that its own tests can judge them.

An adapter translates and computes nothing: alpha for C, a method for a solver, N for N − K, ±1 for 0/1. What we have
no word for is `NotOurs`, raised by `fit`.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import KFold
from sklearn.utils.class_weight import compute_sample_weight

import linearly as ly

# Each way of solving is asked for by some solver of theirs; what is not named here is "auto".
METHODS = {"svd": "qr", "cholesky": "gram", "sparse_cg": "extended"}
SOLVERS = {"lbfgs": "lbfgs", "newton-cg": "newton", "newton-cholesky": "newton"}


class NotOurs(BaseException):
    """A parameter or a model that linearly does not have; nothing that handles errors may swallow it."""


def refuse(**parameters: object) -> None:
    """`NotOurs` for the first parameter that asks for something."""
    for name, asked in parameters.items():
        if asked is not None and asked is not False:
            raise NotOurs(name)


class Adapter(BaseEstimator):
    """Keeps an estimator of ours in `ours_` and passes on whatever it is asked."""

    fits = 0  # of all adapters: a test of theirs that fits nothing of ours judges nothing

    def fit(self, X, y=None, sample_weight=None):
        model = self.translated()
        Adapter.fits += 1
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.ours_ = model.fit(X, y, **weighted)
        return self

    def translated(self) -> Any:
        raise NotImplementedError

    def __getattr__(self, name):
        if name.startswith("__") or hasattr(type(self), name) or "ours_" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.ours_, name)


class Regression(RegressorMixin, Adapter):
    def predict(self, X):
        return self.ours_.predict(X)

    @property
    def coef_(self):
        return self.ours_.coef_

    @property
    def intercept_(self):
        return self.ours_.intercept_


class LinearRegression(Regression):
    def __init__(self, *, fit_intercept=True, copy_X=True, tol=1e-6, n_jobs=None, positive=False):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    def translated(self):
        refuse(positive=self.positive)
        return ly.LinearRegression(fit_intercept=self.fit_intercept)


class Ridge(Regression):
    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        solver="auto",
        positive=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    def translated(self):
        refuse(positive=self.positive, alpha_per_target=np.ndim(self.alpha) > 0)
        self.solver_ = self.solver
        method = METHODS.get(self.solver, "auto")
        return ly.LinearRegression(alpha=self.alpha, fit_intercept=self.fit_intercept, method=method)

    @property
    def coef_(self):  # theirs forgets the second dimension of y if it is 1
        coef = self.ours_.coef_
        return coef[0] if coef.ndim == 2 and len(coef) == 1 else coef


def ridge_regression(X, y, alpha, *, sample_weight=None, solver="auto", return_intercept=False, positive=False, **_):
    model = Ridge(alpha, fit_intercept=return_intercept, solver=solver, positive=positive).fit(X, y, sample_weight)
    return (model.coef_, model.intercept_) if return_intercept else model.coef_


class RidgeCV(Regression):
    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        gcv_mode=None,
        store_cv_results=False,
        alpha_per_target=False,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    def translated(self):
        refuse(
            scoring=self.scoring not in (None, "neg_mean_squared_error"),
            store_cv_results=self.store_cv_results,
            alpha_per_target=self.alpha_per_target,
        )
        cv = KFold(self.cv) if isinstance(self.cv, int) else "loo" if self.cv is None else self.cv
        return ly.RidgeCV(alphas=self.alphas, cv=cv, fit_intercept=self.fit_intercept)

    @property
    def coef_(self):
        coef = self.ours_.coef_
        return coef[0] if coef.ndim == 2 and len(coef) == 1 else coef

    @property
    def best_score_(self):
        return -float(self.ours_.cv_errors_.min())


class Classification(ClassifierMixin, Adapter):
    def fit(self, X, y=None, sample_weight=None):
        weight = getattr(self, "class_weight", None)
        if weight is not None:
            sample_weight = compute_sample_weight(weight, y) * (1.0 if sample_weight is None else sample_weight)
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        return self.ours_.predict(X)


class RidgeClassifier(Classification):
    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        class_weight=None,
        solver="auto",
        positive=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    def translated(self):
        refuse(positive=self.positive, no_intercept=not self.fit_intercept)
        return ly.LeastSquaresClassifier(self.alpha)

    # Their targets are −1 and 1, ours 0 and 1.
    @property
    def coef_(self):
        return 2 * self.ours_.coef_

    @property
    def intercept_(self):
        binary = not self.ours_.multilabel_ and len(self.ours_.classes_) == 2
        return 2 * self.ours_.intercept_ - (0 if binary else 1)


class LogisticRegression(Classification):
    def __init__(
        self,
        penalty="l2",
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="lbfgs",
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def translated(self):
        refuse(
            penalty=self.penalty not in ("l2", "deprecated", None),
            l1_ratio=self.l1_ratio not in (0, None),
            intercept_scaling=self.intercept_scaling != 1,
        )
        alpha = 0.0 if self.penalty is None else 1 / self.C
        return ly.LogisticRegression(alpha, fit_intercept=self.fit_intercept, solver=SOLVERS.get(self.solver, "auto"))

    @property
    def n_iter_(self):
        return np.array([self.ours_.n_passes_])

    # One logit for each class, their sum 0; ours are differences from a reference.
    def _symmetric(self, values):
        if len(self.ours_.classes_) == 2:
            return values
        full = np.insert(values, np.flatnonzero(self.ours_.classes_ == self.ours_.reference_)[0], 0.0, axis=0)
        return full - full.mean(axis=0)

    @property
    def coef_(self):
        return self._symmetric(self.ours_.coef_)

    @property
    def intercept_(self):
        return self._symmetric(self.ours_.intercept_)

    def decision_function(self, X):
        logits = self.ours_.decision_function(X)
        return logits if logits.ndim == 1 else logits - logits.mean(axis=1, keepdims=True)


class LinearDiscriminantAnalysis(Classification):
    def __init__(
        self,
        solver="svd",
        shrinkage=None,
        priors=None,
        n_components=None,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def translated(self):
        refuse(covariance_estimator=self.covariance_estimator, shrinkage_auto=self.shrinkage == "auto")
        return ly.LinearDiscriminantAnalysis(priors=self.priors, shrinkage=self.shrinkage)

    def transform(self, X):
        return self.ours_.transform(X)[:, : self.n_components]

    @property
    def covariance_(self):
        if self.solver == "svd" and not self.store_covariance:
            raise AttributeError("covariance_")
        n = self.ours_.summary_.counts.sum()
        return self.ours_.covariance_ * (n - len(self.ours_.classes_)) / n


class QuadraticDiscriminantAnalysis(Classification):
    def __init__(
        self,
        *,
        solver="svd",
        shrinkage=None,
        priors=None,
        reg_param=0.0,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def translated(self):
        refuse(
            covariance_estimator=self.covariance_estimator,
            shrinkage_to_identity=self.shrinkage not in (None, 0),
            reg_param=self.reg_param != 0,
        )
        return ly.QuadraticDiscriminantAnalysis(priors=self.priors)

    @property
    def covariance_(self):
        if not self.store_covariance:
            raise AttributeError("covariance_")
        n = self.ours_.summary_.counts
        return [c * (k - 1) / k for c, k in zip(self.ours_.covariances_, n, strict=True)]


class Perceptron(Classification):
    def __init__(
        self,
        *,
        penalty=None,
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        eta0=1.0,
        n_jobs=None,
        random_state=0,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start

    def translated(self):
        refuse(penalty=self.penalty, early_stopping=self.early_stopping, class_weight=self.class_weight)
        return ly.Perceptron(
            self.max_iter, fit_intercept=self.fit_intercept, shuffle=self.shuffle, random_state=self.random_state
        )


class NoSuchModel(BaseEstimator):
    """Stands for an estimator that linearly does not have."""

    def __init__(self, **parameters):
        self.__dict__.update(parameters)

    def get_params(self, deep=True):
        return dict(vars(self))

    def set_params(self, **parameters):
        self.__dict__.update(parameters)
        return self

    def fit(self, *_, **__):
        raise NotOurs(type(self).__name__)


class RidgeClassifierCV(NoSuchModel):
    pass


class LogisticRegressionCV(NoSuchModel):
    pass


MODELS = {
    "sklearn.linear_model": (
        LinearRegression,
        LogisticRegression,
        LogisticRegressionCV,
        Perceptron,
        Ridge,
        RidgeClassifier,
        RidgeClassifierCV,
        RidgeCV,
        ridge_regression,
    ),
    "sklearn.discriminant_analysis": (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis),
}
