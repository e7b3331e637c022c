"""Draw coefficients of a least-squares model: the estimates that other errors would have given."""

from __future__ import annotations

from typing import Any

import numpy as np

from linearly.inference.fitted_rows import check_rows_of_fit, row_diagnostics
from linearly.inference.fitted_terms import check_single_target, estimates, require_solution
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.kernels.double_double import Array
from linearly.kernels.matrices import dense_keeping_low_part
from linearly.models.base import training_rows
from linearly.models.least_squares_base import LeastSquaresBase
from linearly.models.parameter_checks import check_integer, random_generator


@single_threaded_blas()
def draw_coefficients(model: LeastSquaresBase, n: int, error_model: str, X: Any, y: Any, random_state: Any) -> Array:
    """Return n draws of β̂ − (X'X + αI)⁻¹X'ε, intercept first; NaN for terms that the rows do not determine."""
    solution = require_solution(model)
    check_single_target(model, "sample_coefficients")
    n = check_integer("n", n, 1)
    draw = random_generator(random_state)
    center = np.where(solution.identified, estimates(solution)[:, 0], np.nan)
    if error_model == "normal":
        # X'ε is normal with covariance σ²X'X, so β† − β̂ is a root of the covariance times standard normal numbers.
        values, vectors = np.linalg.eigh(solution.shrinkage)
        root = solution.inverse_root @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        z = draw.standard_normal((n, root.shape[1]))
        return np.asarray(center - np.sqrt(solution.sigma2[0]) * z @ root.T)
    if error_model != "residuals":
        raise ValueError(f'error_model must be "normal" or "residuals", not {error_model!r}.')
    if X is None or y is None:
        raise ValueError('error_model="residuals" resamples the residuals of the fitted rows. Pass X= and y=.')
    # A QR factor holds the sum of the weights as squares of their roots, hence to within rounding.
    if abs(solution.weight - solution.n) > 1e-9 * solution.n or solution.log_weight != 0:
        raise ValueError(
            "The errors of a weighted fit have unequal variances, so they cannot be resampled. Use "
            'error_model="normal".'
        )
    rows = training_rows(model, X, y, None, reset=False)
    u = np.concatenate([solution.whitened_rows(dense_keeping_low_part(block.X)) for block in rows])
    parts = row_diagnostics(rows, solution)
    check_rows_of_fit(solution, parts, "sample_coefficients")
    centred = parts.residual - parts.residual.mean()
    draws = np.empty((n, len(center)))
    for i in range(n):
        epsilon = centred[draw.randint(len(centred), size=len(centred))]
        draws[i] = center - solution.inverse_root @ (u.T @ epsilon)
    return draws
