"""Features of digits: what the definitions promise, and whether they tell digits apart (S1)."""

import doctest
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import linearly
from linearly.dataset.features.digits import DIGIT_FEATURES, DigitFeatures, digit_features

NAMES = ["density", "symmetry", "symmetry_vertical", "curve"]
IMAGES = arrays.arrays(np.float64, st.tuples(st.just(3), *[st.integers(1, 7)] * 2), elements=st.floats(-1, 1))


def disc(n, radius, width):
    x = np.linspace(-1, 1, n)
    r = np.hypot(*np.meshgrid(x, x))
    return np.clip(1 - np.abs(r - radius) / width, 0, 1)


def test_by_hand():
    image = np.array([[1.0, 0.0, 0.0], [2.0, 4.0, 0.0]])
    density, symmetry, vertical, _ = digit_features(image[None])[0]
    assert density == pytest.approx(7 / 6)
    assert symmetry == pytest.approx(-(1 + 0 + 1 + 2 + 0 + 2) / 6)
    assert vertical == pytest.approx(-(1 + 4 + 0) * 2 / 6)


@given(IMAGES)
def test_digit_features_of_mirror_images_are_the_same(images):
    features, mirrored, upside_down, turned = map(
        digit_features, (images, images[:, :, ::-1], images[:, ::-1], images.transpose(0, 2, 1))
    )
    np.testing.assert_allclose(mirrored, features, atol=1e-12)
    np.testing.assert_allclose(upside_down, features, atol=1e-12)
    np.testing.assert_allclose(turned, features[:, [0, 2, 1, 3]], atol=1e-12)
    assert (features[:, 1:3] <= 0).all()
    assert ((features[:, 3] >= 0) & (features[:, 3] <= 1)).all()


@given(IMAGES, st.floats(0.5, 4), st.floats(-1, 1))
def test_contrast_and_brightness(images, contrast, brightness):
    images = images.round(3)
    features, other = digit_features(images), digit_features(contrast * images + brightness)
    np.testing.assert_allclose(other[:, 0], contrast * features[:, 0] + brightness, atol=1e-12)
    np.testing.assert_allclose(other[:, 1:3], contrast * features[:, 1:3], atol=1e-12)
    seen = images.max(axis=(1, 2)) > images.min(axis=(1, 2))
    flat = np.ptp(np.gradient(images, axis=1) if images.shape[1] > 1 else 0 * images, axis=(1, 2)) == 0
    np.testing.assert_allclose(other[seen & ~flat, 3], features[seen & ~flat, 3], atol=1e-6)


def test_curve_of_lines_and_rings():
    vertical, ring = np.zeros((33, 33)), disc(33, 0.6, 0.2)
    vertical[:, 14:18] = 1.0
    diagonal = np.clip(1 - np.abs(np.subtract.outer(np.arange(33), np.arange(33))) / 3, 0, 1)
    curve = digit_features([vertical, vertical.T, diagonal, ring, np.zeros((33, 33))])[:, 3]
    assert curve[:2].tolist() == [0.0, 0.0]
    assert curve[2] < 0.1
    assert curve[3] == pytest.approx(1.0, abs=1e-9)
    assert curve[4] == 0.0  # a blank has no strokes


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64, bool])
def test_any_size_and_number(dtype):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 2, (5, 16, 12)).astype(dtype)
    expected = digit_features(images.astype(float))
    np.testing.assert_allclose(digit_features(images), expected)
    np.testing.assert_allclose(digit_features(images.reshape(5, -1), (16, 12)), expected)
    np.testing.assert_allclose(digit_features(images, (16, 12)), expected)
    np.testing.assert_allclose(digit_features(pd.DataFrame(images.reshape(5, -1)), (16, 12)), expected)
    assert digit_features(rng.random((4, 256))).shape == (4, 4)
    assert digit_features(rng.random((0, 256))).shape == (0, 4)
    np.testing.assert_array_equal(digit_features(np.ones((1, 1, 1))), [[1.0, 0.0, 0.0, 0.0]])


def test_many_images_in_parts(monkeypatch):
    images = np.random.default_rng(1).random((10, 8, 8))
    whole = digit_features(images)
    monkeypatch.setattr("linearly.dataset.features.digits._PIXELS_AT_ONCE", 200)
    np.testing.assert_array_equal(digit_features(images), whole)


@pytest.mark.parametrize(
    ("images", "shape", "message"),
    [
        (np.zeros((2, 10)), None, "10 pixels do not form a square image. Pass shape="),
        (np.zeros((2, 10)), (3, 3), "has 9 pixels, but the images have 10"),
        (np.zeros((2, 3, 4)), (4, 3), r"shape=\(4, 3\) does not match the images, which have 3 × 4 pixels"),
        (np.zeros(16), None, "not 1 dimension"),
        (np.zeros((2, 0, 4)), None, "at least one pixel"),
        (np.where(np.arange(18).reshape(2, 9) == 12, np.nan, 0.0), None, "Image 1 has a pixel that is NaN"),
        ([["a"] * 4], None, "Pixels must be numbers"),
        (np.ma.array(np.zeros((2, 9)), mask=np.eye(2, 9)), None, "images is masked, so missing: row 0, column 0"),
    ],
)
def test_what_is_refused(images, shape, message):
    with pytest.raises(ValueError, match=message):
        digit_features(images, shape)


def test_transformer():
    images, _ = load_digits(return_X_y=True)
    transformer = DigitFeatures().fit(images)
    np.testing.assert_array_equal(transformer.transform(images), digit_features(images))
    assert transformer.get_feature_names_out().tolist() == NAMES == list(DIGIT_FEATURES)
    assert transformer.n_features_in_ == 64
    frame = clone(transformer).set_output(transform="pandas").fit_transform(images[:5])
    assert list(frame.columns) == NAMES
    cubes = DigitFeatures().fit(images.reshape(-1, 8, 8))
    np.testing.assert_array_equal(cubes.transform(images.reshape(-1, 8, 8)), digit_features(images))
    with pytest.raises(ValueError, match="expecting 64 features"):
        transformer.transform(images[:, :16])
    with pytest.raises(ValueError, match="The images have 4 × 16 pixels, but fit had 8 × 8"):
        cubes.transform(images.reshape(-1, 4, 16))


def test_digit_features_tell_one_from_five():
    images, digit = load_digits(return_X_y=True)
    chosen = (digit == 1) | (digit == 5)
    sign = np.where(digit[chosen] == 1, 1.0, -1.0)
    features = digit_features(images[chosen])
    mean = {name: [features[sign == s, j].mean() for s in (1, -1)] for j, name in enumerate(NAMES)}
    assert mean["symmetry"][0] > mean["symmetry"][1]  # as S1 says of 1 and 5
    assert mean["curve"][0] < mean["curve"][1]
    model = make_pipeline(DigitFeatures(), LinearRegression()).fit(images[chosen], sign)
    assert np.mean(np.sign(model.predict(images[chosen])) == sign) > 0.9


def test_docstring_examples(monkeypatch):
    monkeypatch.setattr(linearly, "digit_features", digit_features, raising=False)
    assert doctest.testmod(sys.modules[digit_features.__module__]).failed == 0
