"""Features of images of handwritten digits: density, two symmetries and curvature."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linearly.dataset.rows.array_checks import as_array
from linearly.kernels.double_double import Array

DIGIT_FEATURES = ("density", "symmetry", "symmetry_vertical", "curve")

_PIXELS_AT_ONCE = 2**20


def digit_features(images: Any, shape: tuple[int, int] | None = None) -> Array:
    """Return four features of each image: ``density, symmetry, symmetry_vertical, curve``.

    Parameters
    ----------
    images : array-like of shape (n, height, width) or (n, height * width)
        Images of any size on any scale (0 … 1, −1 … 1, 0 … 255). Flat images contain their pixels row by row.
    shape : tuple of int, optional
        (height, width) of flat images; square by default.

    Returns
    -------
    ndarray of shape (n, 4)
        density
            The mean pixel value: the amount of ink.
        symmetry
            ``−mean |x − x flipped left to right|``: 0 for an image equal to its mirror image, negative for others.
        symmetry_vertical
            The same, flipped top to bottom.
        curve
            How evenly the strokes run in all directions, from 0 (all in one, as in a straight 1) to 1 (evenly, as in a
            round 0). With the gradients g of the pixels it is 2λ₂ / (λ₁ + λ₂), λ₁ ≥ λ₂ the eigenvalues of Σgg'.
            Contrast and brightness do not matter. 0 for a blank image.

    Examples
    --------
    >>> import linearly as ly
    >>> stroke, corner = [[0, 1, 0], [0, 1, 0], [0, 1, 0]], [[1, 0, 0], [1, 0, 0], [1, 1, 1]]
    >>> ly.digit_features([stroke, corner]).round(2)
    array([[ 0.33,  0.  ,  0.  ,  0.  ],
           [ 0.56, -0.44, -0.44,  0.9 ]])
    """
    pixels = _images(images, shape)
    features = np.empty((len(pixels), len(DIGIT_FEATURES)))
    step = max(1, _PIXELS_AT_ONCE // max(1, pixels[0].size)) if len(pixels) else 1
    for start in range(0, len(pixels), step):
        features[start : start + step] = _features(pixels[start : start + step], start)
    return features


class DigitFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Compute `digit_features` as a scikit-learn transformer, for pipelines.

    Parameters
    ----------
    shape : (height, width), default=None
        Height and width of flat images; square by default.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> images, digit = load_digits(return_X_y=True)
    >>> DigitFeatures().fit(images).get_feature_names_out().tolist()
    ['density', 'symmetry', 'symmetry_vertical', 'curve']
    """

    def __init__(self, shape: tuple[int, int] | None = None) -> None:
        self.shape = shape

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the size of the images.

        Parameters
        ----------
        X : array-like of shape (n_images, height × width) or (n_images, height, width)
            Grey images, one per row.
        y : object, optional
            Not used.

        Returns
        -------
        DigitFeatures
            The transformer.
        """
        self.shape_ = _images(self._checked(X, reset=True), self.shape).shape[1:]
        return self

    def transform(self, X: Any) -> Array:
        """Compute the features of images.

        Parameters
        ----------
        X : array-like of shape (n_images, height × width) or (n_images, height, width)
            Grey images, one per row.

        Returns
        -------
        ndarray of shape (n_images, 4)
            The features, in the order of their names.
        """
        check_is_fitted(self)
        images = _images(self._checked(X, reset=False), self.shape)
        if images.shape[1:] != self.shape_:
            size = " × ".join(map(str, images.shape[1:]))
            raise ValueError(
                f"The images have {size} pixels, but fit had "
                f"{' × '.join(map(str, self.shape_))}. Pass images of that size."
            )
        return digit_features(images)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the four features.

        Parameters
        ----------
        input_features : object, optional
            Not used.

        Returns
        -------
        ndarray of str
            Four names.
        """
        return np.array(DIGIT_FEATURES, dtype=object)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        # Three dimensions are no table of features; scikit-learn's checks are about those.
        return X if np.ndim(X) == 3 else validate_data(self, X, reset=reset, ensure_all_finite=False)


def _images(images: Any, shape: tuple[int, int] | None) -> NDArray[Any]:
    """Return the images as n × height × width, without a copy."""
    pixels = as_array(images, "images")
    if pixels.dtype.kind not in "biuf":
        raise ValueError(f"Pixels must be numbers, not {pixels.dtype}. Convert them to numbers.")
    if pixels.ndim == 3:
        if shape is not None and tuple(shape) != pixels.shape[1:]:
            raise ValueError(
                f"shape={shape!r} does not match the images, which have {pixels.shape[1]} × "
                f"{pixels.shape[2]} pixels. Leave shape= out."
            )
        if 0 in pixels.shape[1:]:
            raise ValueError("The images have no pixels. Pass images with at least one pixel.")
        return pixels
    if pixels.ndim != 2:
        raise ValueError(
            f"Images must have the shape n × height × width or n × pixels, not {pixels.ndim} "
            "dimension(s). Reshape them."
        )
    p = pixels.shape[1]
    if shape is None:
        side = math.isqrt(p)
        if side * side != p or p == 0:
            raise ValueError(f"{p} pixels do not form a square image. Pass shape=(height, width).")
        shape = (side, side)
    height, width = shape
    if height * width != p:
        raise ValueError(
            f"shape={shape!r} has {height * width} pixels, but the images have {p}. Pass the height and "
            "width of the images."
        )
    return pixels.reshape(len(pixels), height, width)


def _features(pixels: NDArray[Any], start: int) -> Array:
    x = pixels.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(x).all(axis=(1, 2)))
    if len(bad):
        raise ValueError(
            f"Image {start + int(bad[0])} has a pixel that is NaN or infinite. Correct it, or drop the image."
        )
    symmetry = [0.0 - np.abs(x - np.flip(x, axis)).mean(axis=(1, 2)) for axis in (2, 1)]
    return np.stack([x.mean(axis=(1, 2)), *symmetry, _curve(x)], axis=1)


def _curve(x: Array) -> Array:
    down, across = (np.gradient(x, axis=axis) if x.shape[axis] > 1 else np.zeros_like(x) for axis in (1, 2))
    aa, bb, ab = ((u * v).sum(axis=(1, 2)) for u, v in ((down, down), (across, across), (down, across)))
    total = aa + bb
    # (λ₁ − λ₂)² = (a − b)² + 4c²; rounding may put the result just outside [0, 1].
    ratio = np.divide(np.hypot(aa - bb, 2 * ab), total, out=np.ones_like(total), where=total > 0)
    return np.asarray(np.clip(1 - ratio, 0.0, 1.0))
