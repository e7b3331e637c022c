"""Digits: is it a 1 or a 5? Density and symmetry, eight classifiers, and what is proven about any line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.separability.certificate import Certificate
from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import error_floor
from linearly.api import Model
from linearly.dataset.features.digits import DIGIT_FEATURES, digit_features
from linearly.demos.image import Image
from linearly.demos.story import (
    CLASSIFIERS,
    Columns,
    Compared,
    Score,
    Story,
    checked,
    listed_errors,
    matrix,
    subset,
    tied_best,
    without,
)
from linearly.formatting import join_names, pluralize
from linearly.kernels.double_double import Array
from linearly.plots import style

TWO = DIGIT_FEATURES[:2]
_TEST = 0.4  # share of scikit-learn's images that are kept for the test
_DRAWN = 600  # images in the scatter
_SHOWN = 8  # images of a witness
_POOR = 0.2  # errors per row that call for an excuse
_HUMAN = 2.5  # percent of postal digits that people get wrong


class Digits(NamedTuple):
    """Images of ones and fives; pixels go from −1, paper, to 1, ink."""

    pixels: Array
    label: NDArray[Any]
    test: NDArray[np.bool_]
    source: str

    @property
    def side(self) -> int:
        """Pixels per side."""
        return math.isqrt(self.pixels.shape[1])

    @property
    def features(self) -> Columns:
        """The four features and the label."""
        return dict(zip(DIGIT_FEATURES, digit_features(self.pixels).T, strict=True)) | {"digit": self.label}

    @property
    def columns(self) -> Columns:
        """Every pixel that varies in the training images, and the label."""
        varies = np.ptp(self.pixels[~self.test], axis=0) > 0
        names = [f"pixel_{i // self.side}_{i % self.side}" for i in np.flatnonzero(varies)]
        return dict(zip(names, self.pixels[:, varies].T, strict=True)) | {"digit": self.label}


def tell(story: Story, data: Path | None) -> None:
    """Tell the story."""
    digits = bundled() if data is None else from_file(data)
    two = {name: digits.features[name] for name in (*TWO, "digit")}
    columns = {"two": two, "four": digits.features, "pixels": digits.columns}
    _describe_data(story, digits, two)
    fits = {
        kind: story.compare(subset(one, ~digits.test), subset(one, digits.test), "digit")
        for kind, one in columns.items()
    }
    best = [min((fit.new for fit in one.values()), key=lambda score: score.errors) for one in fits.values()]
    _compare(story, digits, two, fits, best)
    train = subset(two, ~digits.test)
    pocket = story.fit(train, "digit", "pocket")
    _prove_overlap(story, digits, train, pocket, fits["two"]["pocket"].trained)
    _separate_pixels(story, digits, subset(digits.columns, ~digits.test), fits["pixels"])
    story.lead(best=best)
    story.report(pocket, train, judged=True)


def bundled() -> Digits:
    """Return the ones and fives among scikit-learn's 8 × 8 digits, 40% of them for the test."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    chosen = np.isin(bunch.target, (1, 5))
    label = _words(bunch.target[chosen])
    test = np.zeros(len(label), dtype=bool)
    test[train_test_split(np.arange(len(label)), test_size=_TEST, random_state=0, stratify=label)[1]] = True
    return Digits(bunch.data[chosen] / 8 - 1, label, test, "scikit-learn's handwritten digits")


def from_file(path: Path) -> Digits:
    """Read the ones and fives of an .npz or .npy file; a row is label, pixels, and 1 for the test or 0."""
    try:
        found = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"The file {str(path)!r} does not exist. Check the path.") from None
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is not a numeric .npz or .npy file. Save one with numpy.savez.") from error
    if not isinstance(found, np.ndarray):
        with found:
            if len(found.files) != 1:
                raise ValueError(
                    f"{path} contains {pluralize(len(found.files), 'array', zero='no')}. Save exactly one."
                )
            found = found[found.files[0]]
    shape = "one row per image: label, the pixels of a square, 1 for the test or 0"
    p = found.shape[1] - 2 if found.ndim == 2 else 0
    if found.dtype.kind not in "biuf" or p < 1 or math.isqrt(p) ** 2 != p:
        raise ValueError(
            f"{path} contains an array of {found.dtype} of shape {found.shape}, not {shape}. Save one with this layout."
        )
    rows = found.astype(np.float64)
    if not np.isfinite(rows).all():
        raise ValueError(f"{path}: row {int(np.argmin(np.isfinite(rows).all(axis=1)))} is not finite. Correct it.")
    rows = rows[np.isin(rows[:, 0], (1, 5))]
    test = rows[:, -1] == 1
    label = _words(rows[:, 0])
    for part, name in ((~test, "training"), (test, "test")):
        if len(np.unique(label[part])) < 2:
            raise ValueError(f"{path} has {name} rows without ones or without fives ({shape}). Pass a file with both.")
    low, high = rows[:, 1:-1].min(), rows[:, 1:-1].max()
    return Digits(2 * (rows[:, 1:-1] - low) / max(high - low, 1e-300) - 1, label, test, path.name)


def _words(digit: Array) -> NDArray[Any]:
    return np.where(digit == 1, "one", "five")


# --- the chapters ---------------------------------------------------------------------------------


def _describe_data(story: Story, digits: Digits, two: Columns) -> None:
    n, test = len(digits.label), int(digits.test.sum())
    ones = int((digits.label == "one").sum())
    story.chapter("data")
    story.tell(
        "images", n=n, side=digits.side, source=digits.source, ones=ones, fives=n - ones, train=n - test, test=test
    )
    first = [int(np.flatnonzero(digits.label == label)[0]) for label in ("one", "five")]
    story.images("first", [_image(digits, two, i, i, digits.label[i]) for i in first])
    story.tell("features")
    story.found |= {"train_rows": n - test, "test_rows": test, "side": digits.side}


def _compare(story: Story, digits: Digits, columns: Columns, fits: dict[str, Compared], best: list[Score]) -> None:
    two, four, pixels = fits.values()
    rows = [
        [words, two[name].trained.number, two[name].new.with_interval, four[name].new.number,
         pixels[name].new.with_interval]
        for name, words in CLASSIFIERS.items()
    ]  # fmt: skip
    story.chapter("compared")
    story.table("errors", rows)
    names = [CLASSIFIERS[name] for name in tied_best({name: fit.new.errors for name, fit in two.items()})]
    excuse = "poor" if best[0].share > _POOR else "people" if digits.side == 16 else ""
    values = {
        "name": join_names(names, 8),
        "each": " each" if len(names) > 1 else "",
        "new": best[0],
        "side": digits.side,
        "human": _HUMAN,
        "four": best[1],
    }
    story.tell("best", excuse, "four", **values)
    n = int((~digits.test).sum())
    drawn = story.text("drawn", drawn=_DRAWN, n=n) if n > _DRAWN else ""
    story.picture("scatter", lambda ax: _scatter(ax, subset(columns, ~digits.test), two), drawn=drawn)
    story.found["errors"] = [row for kind, one in fits.items() for row in listed_errors(one, columns=kind)]


def _prove_overlap(story: Story, digits: Digits, train: Columns, pocket: Model, score: Score) -> None:
    X, y = matrix(train, "digit")
    certificate, floor = separability(X, y, names=TWO), error_floor(X, y)
    witness, rows = certificate.witness, []
    story.chapter("proof")
    proven = checked(certificate, floor)
    if witness is None:
        story.tell("separable", margin=certificate.margin, checked=proven)
    else:
        rows = np.flatnonzero(~digits.test)[witness.rows].tolist()
        labels = [str(digits.label[row]) for row in rows]
        if len(rows) == 2 and np.array_equal(*X[witness.rows]):
            story.tell("same_point")
        else:
            story.tell("mixtures", n=len(rows))
            labels = [f"{one}: {100 * share:.1f}%" for one, share in zip(labels, witness.weights, strict=True)]
        images = [_image(digits, train, i, *at) for i, *at in zip(witness.rows, rows, labels, strict=True)]
        story.images("witnesses", images[:_SHOWN])
        spare = pluralize(score.errors - int(floor), "more error", zero="no")
        updates = pocket.estimator.n_updates_
        story.tell(
            "floor", floor=int(floor), n=len(y), checked=proven, updates=updates, pocket=score.errors, spare=spare
        )
    if int(floor):
        story.finding("proof", floor=int(floor), pocket=score.errors)
    story.found["features"] = {
        "verdict": certificate.verdict, "error_floor": int(floor), "pocket_errors": score.errors, "witness_rows": rows,
    }  # fmt: skip


def _separate_pixels(story: Story, digits: Digits, train: Columns, fits: Compared) -> None:
    names = list(without(train, "digit"))
    certificate = separability(*matrix(train, "digit"), names=names)
    perceptron = fits["perceptron"]
    updates, bound = perceptron.estimator.n_updates_, certificate.mistake_bound()
    values = {"n": len(names), "checked": checked(certificate), "verdict": certificate.verdict}
    story.chapter("pixels")
    if certificate.verdict == "separable":
        story.tell("separable", **values, bound=bound, updates=updates, new=perceptron.new)
        story.images("weights", [_weights(digits, names, certificate)], on_terminal=False)
        story.finding("pixels")
    else:
        story.tell("overlapping", **values)
    story.found["pixels"] = {
        "verdict": certificate.verdict, "columns": len(names), "mistakes": updates,
        "mistake_bound": bound if math.isfinite(bound) else None,
    }  # fmt: skip


# --- pictures -------------------------------------------------------------------------------------


def _image(digits: Digits, columns: Columns, i: int, row: int, label: str) -> Image:
    """Return the image of a row with its label and its features, which are at i in the columns."""
    density, symmetry = (float(columns[name][i]) for name in TWO)
    values = f"density  {density:.4f}\nsymmetry {symmetry:.4f}".replace("-", "−")
    return Image((digits.pixels[row].reshape(digits.side, -1) + 1) / 2, f"{label}\n{values}")


def _weights(digits: Digits, names: list[str], certificate: Certificate) -> Image:
    pixels = np.zeros((digits.side, digits.side))
    for name, weight in zip(names, np.ravel(np.asarray(certificate.coef)), strict=True):
        _, i, j = name.split("_")
        pixels[int(i), int(j)] = weight
    return Image(pixels / np.abs(pixels).max(), f"margin {certificate.margin:.3g}")


def _scatter(ax: Any, train: Columns, fits: Compared) -> None:
    few = subset(train, np.random.default_rng(0).permutation(len(train["digit"]))[:_DRAWN])
    x, y = (few[name] for name in TWO)
    for k, label in enumerate(("five", "one")):
        mine = few["digit"] == label
        ax.scatter(
            x[mine], y[mine], s=22, marker=style.shape(k), color=style.colour(k), edgecolors="white", linewidths=0.4,
            label=f"{label}s", zorder=3,
        )  # fmt: skip
    low, high = float(x.min()), float(x.max())
    ends = np.array([low, high]) + np.array([-1, 1]) * 0.05 * (high - low)
    pad = 0.08 * float(np.ptp(y))
    ax.set_xlim(*ends)
    ax.set_ylim(float(y.min()) - pad, float(y.max()) + pad)
    lines = {
        "perceptron": ("--", style.GREY),
        "pocket": ("-", style.BLACK),
        "least-squares": (":", style.PURPLE),
        "lda": ("-.", style.GREEN),
        "logistic": ("-", style.VERMILION),
    }
    for name, (dashes, colour) in lines.items():
        W, b = np.atleast_2d(fits[name].estimator.coef_), np.atleast_1d(fits[name].estimator.intercept_)
        # Least squares has two indicators; the line is where they are fitted alike.
        w, b0 = (W[1] - W[0], float(b[1] - b[0])) if len(W) == 2 else (W[0], float(b[0]))
        if w[1]:
            ax.plot(
                ends, -(b0 + w[0] * ends) / w[1], color=colour, linestyle=dashes, linewidth=1.5, label=CLASSIFIERS[name]
            )
    style.legend(ax)
    wrong = fits["pocket"].trained.errors
    style.frame(ax, f"The pocket perceptron has {wrong} of {len(train['digit'])} images on the wrong side", *TWO)
