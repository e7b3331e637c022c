"""Check the kind of a model without loading the estimators of that kind, whose import takes 0.1 s.

A model can be of a kind only if the module that defines it is loaded.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from linearly.models.elastic_net_base import ElasticNetBase
    from linearly.models.logistic_regression import LogisticRegression


def is_logistic(model: Any) -> TypeGuard[LogisticRegression]:
    """Return whether a model is a logistic regression."""
    loaded = sys.modules.get("linearly.models.logistic_regression")
    return loaded is not None and isinstance(model, loaded.LogisticRegression)


def is_elastic_net(model: Any) -> TypeGuard[ElasticNetBase]:
    """Return whether a model is a lasso or an elastic net."""
    loaded = sys.modules.get("linearly.models.elastic_net_base")
    return loaded is not None and isinstance(model, loaded.ElasticNetBase)
