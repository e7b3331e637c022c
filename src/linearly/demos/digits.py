"""The digits of S1: is it a 1 or a 5? Density and symmetry, eight classifiers, and what is proven about any line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linearly.algorithm.separability.certificate import Certificate
from linearly.algorithm.separability.decide import separability
from linearly.algorithm.separability.error_floor import ErrorFloor, error_floor
from linearly.api import Model
from linearly.dataset.features.digits import DIGIT_FEATURES, digit_features
from linearly.demos.image import Image
from linearly.demos.story import (
    CLASSIFIERS,
    Columns,
    Compared,
    Fitted,
    Score,
    Story,
    listed_errors,
    matrix,
    numbered,
    subset,
)
from linearly.plots import style
from linearly.report.page_parts import Finding

Array = NDArray[np.float64]

TWO = DIGIT_FEATURES[:2]
_TEST = 0.4  # share of scikit-learn's images that are kept for the test
_DRAWN = 600  # images in the scatter
_SHOWN = 8  # images of a witness
_POOR = 0.2  # errors a row that call for an excuse
_HUMAN = 0.025  # errors of people on postal digits (S1)


class Digits(NamedTuple):
    """Images of ones and fives; pixels are from −1, paper, to 1, ink."""

    pixels: Array
    label: NDArray[Any]
    test: NDArray[np.bool_]
    source: str

    @property
    def side(self) -> int:
        """Pixels a side."""
        return math.isqrt(self.pixels.shape[1])

    @property
    def features(self) -> Columns:
        """The four features and the label."""
        return dict(zip(DIGIT_FEATURES, digit_features(self.pixels).T, strict=True)) | {"digit": self.label}

    @property
    def columns(self) -> Columns:
        """Every pixel that is not the same everywhere in the training images, and the label."""
        varies = np.ptp(self.pixels[~self.test], axis=0) > 0
        names = [f"pixel_{i // self.side}_{i % self.side}" for i in np.flatnonzero(varies)]
        return dict(zip(names, self.pixels[:, varies].T, strict=True)) | {"digit": self.label}


def tell(story: Story, data: str | Path | None) -> None:
    """The story."""
    digits = bundled() if data is None else from_file(Path(data))
    features, pixels = digits.features, digits.columns
    two = {name: features[name] for name in (*TWO, "digit")}
    _begin(story, digits, two)
    two_fits, _, pixel_fits = fits = [
        story.compare(subset(columns, ~digits.test), subset(columns, digits.test), "digit")
        for columns in (two, features, pixels)
    ]
    _compare(story, digits, two, *fits)
    pocket = story.fit(subset(two, ~digits.test), "digit", "pocket")
    floor = _prove_overlap(story, digits, two, pocket, two_fits["pocket"].trained)
    verdict = _pixels(story, digits, pixels, pixel_fits["perceptron"])
    _short(story, [_best(kind) for kind in fits], floor, two_fits["pocket"].trained, verdict)
    story.about(pocket, subset(two, ~digits.test), "the pocket perceptron", judged=True)


def bundled() -> Digits:
    """The ones and fives among scikit-learn's 8 × 8 digits, four in ten of them for the test."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    chosen = np.isin(bunch.target, (1, 5))
    label = _words(bunch.target[chosen])
    test = np.zeros(len(label), dtype=bool)
    test[train_test_split(np.arange(len(label)), test_size=_TEST, random_state=0, stratify=label)[1]] = True
    return Digits(bunch.data[chosen] / 8 - 1, label, test, "scikit-learn's handwritten digits")


def from_file(path: Path) -> Digits:
    """The ones and fives of an .npz or .npy file: a row an image, of label, pixels and 1 for the test or 0."""
    try:
        found = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path}: not an .npz or .npy file of numbers.") from error
    if not isinstance(found, np.ndarray):
        with found:
            if len(found.files) != 1:
                raise ValueError(f"{path}: holds {numbered(len(found.files), 'array')}; it must be one.")
            found = found[found.files[0]]
    shape = "a row an image: label, the pixels of a square, 1 for the test or 0"
    p = found.shape[1] - 2 if found.ndim == 2 else 0
    if found.dtype.kind not in "biuf" or p < 1 or math.isqrt(p) ** 2 != p:
        raise ValueError(f"{path}: an array of {found.dtype} {found.shape} is not {shape}.")
    rows = found.astype(np.float64)
    if not np.isfinite(rows).all():
        raise ValueError(f"{path}: row {int(np.argmin(np.isfinite(rows).all(axis=1)))} is not finite.")
    rows = rows[np.isin(rows[:, 0], (1, 5))]
    test = rows[:, -1] == 1
    label = _words(rows[:, 0])
    for part, name in ((~test, "training"), (test, "test")):
        if len(np.unique(label[part])) < 2:
            raise ValueError(f"{path}: the {name} rows must have both ones and fives ({shape}).")
    low, high = rows[:, 1:-1].min(), rows[:, 1:-1].max()
    return Digits(2 * (rows[:, 1:-1] - low) / max(high - low, 1e-300) - 1, label, test, path.name)


def _words(digit: Array) -> NDArray[Any]:
    return np.where(digit == 1, "one", "five")


# --- the chapters ---------------------------------------------------------------------------------


def _begin(story: Story, digits: Digits, two: Columns) -> None:
    n, m = int((~digits.test).sum()), int(digits.test.sum())
    ones = int((digits.label == "one").sum())
    story.chapter("data", "Two numbers for an image")
    story.tell(
        f"{len(digits.label)} images of {digits.side} × {digits.side} pixels from {digits.source}: {ones} ones and "
        f"{len(digits.label) - ones} fives. {n} are for training; {m} are set aside, and judge."
    )
    first = [int(np.flatnonzero(digits.label == label)[0]) for label in ("one", "five")]
    shown = [_image(digits, two, i, digits.label[i]) for i in first]
    story.images(shown, "The first one and the first five, and the two features of each.")
    story.tell(
        "Density is the mean of the pixels, −1 for paper and 1 for ink. Symmetry is 0 where an image is its own "
        "mirror image, and below 0 where it is not. "
        "A five should have more ink and less symmetry than a one."
    )
    story.found |= {"train_rows": n, "test_rows": m, "side": digits.side}


def _best(fits: Compared) -> Score:
    return min((fit.new for fit in fits.values()), key=lambda score: score.errors)


def _compare(story: Story, digits: Digits, columns: Columns, two: Compared, four: Compared, pixels: Compared) -> None:
    story.chapter("compared", "Eight ways to draw the line")
    rows = [
        [words, two[name].trained.number, two[name].new.with_interval, four[name].new.number,
         pixels[name].new.with_interval]
        for name, words in CLASSIFIERS.items()
    ]  # fmt: skip
    head = [
        "errors in %,\n95 % interval", "2 features:\ntraining", "2 features:\nnew", "4 features:\nnew",
        "every pixel:\nnew",
    ]  # fmt: skip
    story.table("Errors on training images and on new ones", head, rows)
    best = min(two, key=lambda name: two[name].new.errors)
    new = two[best].new
    said = (
        f"Best on new images with density and symmetry: {CLASSIFIERS[best]}, {new.errors} of {new.rows} wrong "
        f"({new.interval} %)."
    )
    if new.share > _POOR:
        said += (
            f" That is poor: at {digits.side} × {digits.side} pixels a one is as thick as a five. The note's images "
            "have 16 × 16 pixels and do better; give them with --data usps.npz."
        )
    elif digits.side == 16:
        said += f" People get about {100 * _HUMAN:g} % of such digits wrong."
    story.tell(
        said,
        "Two more features, symmetry top to bottom and how evenly strokes turn (curve), bring it to "
        f"{_best(four)} at best.",
    )
    story.picture(
        "scatter",
        lambda ax: _scatter(ax, digits, columns, two),
        f"Training images{_drawn_at_random(digits)}, and where five of the classifiers draw the line.",
    )
    kinds = {"two": two, "four": four, "pixels": pixels}
    story.found["errors"] = [row for kind, fits in kinds.items() for row in listed_errors(fits, columns=kind)]


def _prove_overlap(story: Story, digits: Digits, two: Columns, pocket: Model, score: Score) -> ErrorFloor:
    train = subset(two, ~digits.test)
    X, y = matrix(train, "digit")
    certificate, floor = separability(X, y, names=TWO), error_floor(X, y)
    story.chapter("proof", "Could a better line do it?")
    checked = "checked in exact arithmetic" if certificate.check() and floor.check() else "not confirmed"
    if certificate.witness is None:
        story.tell(f"Yes: a line separates all training images (margin {certificate.margin:.3g}, {checked}).")
    else:
        _witness(story, digits, certificate, train)
        spare = score.errors - int(floor)
        story.tell(
            f"The same argument, again and again on images not used before, proves that every line gets at least "
            f"{int(floor)} of the {len(y)} training images wrong ({checked}). The pocket perceptron, which keeps the "
            f"best line of its {pocket.estimator.n_updates_} updates, has {score.errors}: a better line could save "
            f"{numbered(spare, 'more error')} at most. What is left is for better features, not for a better algorithm."
        )
    story.found["features"] = {
        "verdict": certificate.verdict, "error_floor": int(floor), "pocket_errors": score.errors,
        "witness_rows": [] if certificate.witness is None else np.flatnonzero(~digits.test)[certificate.witness.rows],
    }  # fmt: skip
    return floor


def _witness(story: Story, digits: Digits, certificate: Certificate, train: Columns) -> None:
    witness = certificate.witness
    assert witness is not None
    rows = np.flatnonzero(~digits.test)[witness.rows]
    points = matrix(train, "digit")[0][witness.rows]
    if len(rows) == 2 and np.array_equal(points[0], points[1]):
        story.tell(
            "No, and two images prove it. They have the same density and the same symmetry, to the last digit, and "
            "different labels: no line, and no curve either, gets both right."
        )
        shown = [_image(digits, train, i, digits.label[r]) for i, r in zip(witness.rows, rows, strict=True)]
    else:
        story.tell(
            f"No, and {len(rows)} images prove it. Mix the ones in the shares given, and the fives in theirs: both "
            "mixtures have the same density and symmetry, and one point cannot lie on both sides of a line."
        )
        shown = [
            _image(digits, train, i, f"{digits.label[r]}: {100 * share:.1f} %")
            for i, r, share in zip(witness.rows, rows, witness.weights, strict=True)
        ]
    story.images(shown[:_SHOWN], "The witnesses: why no line separates ones from fives in density and symmetry.")


def _pixels(story: Story, digits: Digits, pixels: Columns, perceptron: Fitted) -> str:
    names = [name for name in pixels if name != "digit"]
    certificate = separability(*matrix(subset(pixels, ~digits.test), "digit"), names=names)
    story.chapter("pixels", "And with every pixel?")
    checked = "checked in exact arithmetic" if certificate.check() else "not confirmed"
    updates, bound = perceptron.estimator.n_updates_, certificate.mistake_bound()
    if certificate.verdict == "separable":
        new = perceptron.new
        story.tell(
            f"Yes: in {len(names)} pixels a hyperplane has every training image on its own side ({checked}). So the "
            f"perceptron must come to an end, after at most (R/γ)² = {bound:,.0f} mistakes; it made {updates}. On new "
            f"images it gets {new.errors} of {new.rows} wrong ({new.interval} %).",
            "Logistic regression has no finite answer here, and says so; its errors above are from where it stopped.",
        )
        story.drawn_images(
            [_weights(digits, names, certificate)],
            "The hyperplane, a weight for every pixel: orange speaks for a one, blue for a five.",
        )
    else:
        story.tell(f"No, not even in {len(names)} pixels: {certificate.verdict} ({checked}).")
    story.found["pixels"] = {
        "verdict": certificate.verdict, "columns": len(names), "mistakes": updates,
        "mistake_bound": bound if math.isfinite(bound) else None,
    }  # fmt: skip
    return certificate.verdict


def _short(story: Story, best: list[Score], floor: ErrorFloor, pocket: Score, verdict: str) -> None:
    story.lead = [
        "Errors on new images: {} with density and symmetry, {} with four features, {} with every pixel.".format(*best),
        "Each is the best of eight classifiers, which flatters it a little.",
    ]
    if int(floor):
        story.findings.append(
            Finding(
                "look",
                f"Density and symmetry cannot separate them: {int(floor)} errors are proven for any line, the pocket "
                f"perceptron has {pocket.errors}.",
                "Do not tune the line: look for features that tell more.",
                "story-proof",
            )
        )
    if verdict == "separable":
        story.findings.append(Finding("good", "It is proven that the pixels separate them.", where="story-pixels"))


# --- pictures -------------------------------------------------------------------------------------


def _image(digits: Digits, columns: Columns, i: int, label: str) -> Image:
    rows = np.flatnonzero(~digits.test) if len(columns["digit"]) < len(digits.label) else np.arange(len(digits.label))
    return Image((digits.pixels[rows[i]].reshape(digits.side, -1) + 1) / 2, f"{label}\n{_values(columns, i)}")


def _values(columns: Columns, i: int) -> str:
    density, symmetry = (float(columns[name][i]) for name in TWO)
    return f"density  {density:.4f}\nsymmetry {symmetry:.4f}".replace("-", "−")


def _weights(digits: Digits, names: list[str], certificate: Certificate) -> Image:
    pixels = np.zeros((digits.side, digits.side))
    for name, weight in zip(names, np.ravel(np.asarray(certificate.coef)), strict=True):
        _, i, j = name.split("_")
        pixels[int(i), int(j)] = weight
    return Image(pixels / np.abs(pixels).max(), f"margin {certificate.margin:.3g}")


def _drawn_at_random(digits: Digits) -> str:
    n = int((~digits.test).sum())
    return f", {_DRAWN} of {n} drawn at random" if n > _DRAWN else ""


def _scatter(ax: Any, digits: Digits, two: Columns, fits: Compared) -> None:
    train = subset(two, ~digits.test)
    drawn = np.random.default_rng(0).permutation(len(train["digit"]))[:_DRAWN]
    few = subset(train, drawn)
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
    styles = zip(("perceptron", "pocket", "least-squares", "lda", "logistic"), ("--", "-", ":", "-.", "-"), strict=True)
    colours = (style.GREY, style.BLACK, style.PURPLE, style.GREEN, style.VERMILION)
    for (name, dashes), colour in zip(styles, colours, strict=True):
        estimator = fits[name].estimator
        w, b = np.ravel(estimator.coef_)[-2:], float(np.ravel(estimator.intercept_)[-1])
        if name == "least-squares":
            w, b = _halfway(estimator)
        if w[1]:
            ax.plot(
                ends, -(b + w[0] * ends) / w[1], color=colour, linestyle=dashes, linewidth=1.5, label=CLASSIFIERS[name]
            )
    style.legend(ax)
    wrong = fits["pocket"].trained.errors
    style.frame(ax, f"The pocket's line has {wrong} of {len(train['digit'])} images on the wrong side", *TWO)


def _halfway(estimator: Any) -> tuple[Array, float]:
    """Where the two indicators are fitted alike."""
    w, b = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
    return (w[1] - w[0], float(b[1] - b[0])) if len(w) == 2 else (w[0], float(b[0]))
