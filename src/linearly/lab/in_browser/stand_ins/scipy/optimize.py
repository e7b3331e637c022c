"""Find roots and minima."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import missing_function

__getattr__ = missing_function("scipy.optimize")


def brentq(f: Callable[[float], float], a: float, b: float, xtol: float = 2e-12, rtol: float = 8.9e-16) -> float:
    """Return a root between a and b, by Brent's method."""
    previous, current = a, b
    f_previous, f_current = f(a), f(b)
    if f_previous == 0 or f_current == 0:
        return a if f_previous == 0 else b
    if f_previous * f_current > 0:
        raise ValueError("f(a) and f(b) must have different signs")
    opposite, f_opposite, step, last_step = a, f_previous, b - a, b - a
    for _ in range(100):
        if f_previous * f_current < 0:
            opposite, f_opposite = previous, f_previous
            step = last_step = current - previous
        if abs(f_opposite) < abs(f_current):
            previous, current, opposite = current, opposite, current
            f_previous, f_current, f_opposite = f_current, f_opposite, f_current
        tolerance, half = (xtol + rtol * abs(current)) / 2, (opposite - current) / 2
        if f_current == 0 or abs(half) < tolerance:
            return current
        if abs(last_step) > tolerance and abs(f_current) < abs(f_previous):
            if previous == opposite:  # secant
                attempt = -f_current * (current - previous) / (f_current - f_previous)
            else:  # inverse quadratic
                u = (f_previous - f_current) / (previous - current)
                v = (f_opposite - f_current) / (opposite - current)
                attempt = -f_current * (f_opposite * v - f_previous * u) / (v * u * (f_opposite - f_previous))
            good = 2 * abs(attempt) < min(abs(last_step), 3 * abs(half) - tolerance)
            last_step, step = (step, attempt) if good else (half, half)
        else:
            last_step = step = half
        previous, f_previous = current, f_current
        current += step if abs(step) > tolerance else math.copysign(tolerance, half)
        f_current = f(current)
    raise RuntimeError("Failed to converge after 100 iterations.")


def minimize(f: Any, x0: Any, jac: bool = True, method: str = "L-BFGS-B", options: Any = None) -> SimpleNamespace:
    """Minimise a smooth function that returns its value and gradient, by limited-memory BFGS."""
    limit, memory = options["maxfun"], options["maxcor"]
    x = np.asarray(x0, dtype=float)
    value, gradient = f(x)
    pairs: list[tuple[Any, Any]] = []
    evaluations = 1
    while evaluations < limit and np.any(gradient):
        direction = -_apply_inverse(pairs, gradient)
        slope, step = float(direction @ gradient), 1.0 if pairs else 1 / np.linalg.norm(gradient)
        while True:  # halve the step until the value falls enough (Armijo)
            new = x + step * direction
            new_value, new_gradient = f(new)
            evaluations += 1
            if new_value <= value + 1e-4 * step * slope or evaluations >= limit:
                break
            step /= 2
        s, y = new - x, new_gradient - gradient
        if s @ y > 0:
            pairs = [*pairs, (s, y)][-memory:]
        x, value, gradient = new, new_value, new_gradient
    return SimpleNamespace(x=x, fun=value, jac=gradient, nfev=evaluations)


def _apply_inverse(pairs: list[tuple[Any, Any]], gradient: Any) -> Any:
    """Return the inverse Hessian of L-BFGS times a gradient (two-loop recursion)."""
    q, scales = gradient.copy(), []
    for s, y in reversed(pairs):
        scales.append((s @ q) / (s @ y))
        q -= scales[-1] * y
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), scale in zip(pairs, reversed(scales), strict=True):
        q += (scale - (y @ q) / (s @ y)) * s
    return q
