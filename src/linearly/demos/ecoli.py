"""The E. coli proteins of S3: where does a protein go? A column that never changes, and classes with few rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.api import Model
from linearly.demos.story import Columns, Score, Story, matrix, subset
from linearly.evaluation.cross_validate import cross_validate
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis
from linearly.models.registry import estimator_of
from linearly.plots.classifier_plots import plot_gaussians
from linearly.report.page_parts import Finding, join_names

NAMES = ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")
TARGET = "site"
SITES = {
    "cp": "cytoplasm",
    "im": "inner membrane",
    "pp": "periplasm",
    "imU": "inner membrane, uncleavable signal",
    "om": "outer membrane",
    "omL": "outer membrane lipoprotein",
    "imL": "inner membrane lipoprotein",
    "imS": "inner membrane, cleavable signal",
}
MODELS = {
    "lda": "LDA",
    "qda": "QDA",
    "least-squares": "least squares",
    "logistic": "logistic regression, alpha = 0.1",
}
PARAMETERS: dict[str, dict[str, Any]] = {"logistic": {"alpha": 0.1}}
_FEWEST = 10  # proteins that a site must have to be learnt
_FOLDS = 5
_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/ecoli/ecoli.data"


def tell(story: Story, data: Path | None) -> None:
    """The story."""
    proteins, source = (downloaded(), "OpenML") if data is None else (from_file(data), data.name)
    kept = _begin(story, proteins, source)
    constant = _constant(story, kept)
    models = _compare(story, kept)
    _picture(story, kept, constant)
    _shrinkage(story, models["qda"])
    best = min(models, key=lambda name: story.found["errors"][name]["held_out_error"])
    story.lead = [
        f"On proteins left out of the fit {MODELS[best]} is best: "
        f"{100 * story.found['errors'][best]['held_out_error']:.1f} % wrong."
    ]
    if constant:
        story.findings.append(
            Finding(
                "look",
                f"{join_names(constant)} never changes in these rows, so no model can learn from it.",
                f"Leave {join_names(constant)} out.",
                "story-constant",
            )
        )
    story.about(models["lda"], kept, "LDA", judged=True)


# --- data -----------------------------------------------------------------------------------------


def from_file(path: Path) -> Columns:
    """UCI's ecoli.data: name, seven numbers and the site, with blanks between; a line of titles may come first."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    rows, sites = [], []
    for i, line in enumerate(lines, 1):
        cells = line.split()
        if not cells or (i == 1 and tuple(cells[1:8]) == NAMES):
            continue
        try:
            if len(cells) != len(NAMES) + 2:
                raise ValueError
            rows.append([float(cell) for cell in cells[1:-1]])
        except ValueError:
            raise ValueError(
                f"{path}, line {i}: expected a name, seven numbers ({', '.join(NAMES)}) and a site."
            ) from None
        if not np.isfinite(rows[-1]).all():
            raise ValueError(f"{path}, line {i}: a number is not finite.")
        sites.append(cells[-1])
    if not rows:
        raise ValueError(f"{path}: no proteins in it.")
    return _mixed(np.array(rows), np.array(sites))


def downloaded() -> Columns:
    """The same from OpenML, kept by scikit-learn for the next time."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred")  # the error says it
            bunch = fetch_openml("ecoli", version=1, as_frame=False, parser="liac-arff", n_retries=1)
    except Exception as error:  # no network, no such server, a page in place of the data
        raise ConnectionError(
            "The E. coli data could not be fetched from OpenML "
            f"({type(error).__name__}). Get {_URL} in a browser and give it: linearly demo ecoli --data ecoli.data"
        ) from error
    columns = [list(bunch.feature_names).index(name) for name in NAMES]
    return _mixed(np.asarray(bunch.data, dtype=np.float64)[:, columns], np.asarray(bunch.target).astype(str))


def _mixed(X: NDArray[np.float64], sites: NDArray[Any]) -> Columns:
    """In a mixed order, since the file is sorted by site."""
    mixed = np.random.default_rng(0).permutation(len(sites))
    return dict(zip(NAMES, X[mixed].T, strict=True)) | {TARGET: sites[mixed]}


# --- the chapters ---------------------------------------------------------------------------------


def _begin(story: Story, proteins: Columns, source: str) -> Columns:
    sites, counts = np.unique(proteins[TARGET], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    story.chapter("data", "Where a protein goes")
    story.tell(
        f"{len(proteins[TARGET])} proteins of the bacterium E. coli from {source}, seven numbers each from their "
        "sequence, and the site in the cell where they belong."
    )
    rows = [[str(sites[k]), SITES.get(str(sites[k]), ""), str(counts[k])] for k in order]
    story.table("Sites", ["site", "meaning", "proteins"], rows, left=(1,))
    few = [str(sites[k]) for k in order if counts[k] < _FEWEST]
    kept = subset(proteins, ~np.isin(proteins[TARGET], few))
    if len(np.unique(kept[TARGET])) < 2:
        raise ValueError(f"{source}: at least two sites must have {_FEWEST} proteins or more.")
    if few:
        story.tell(
            f"Fewer than {_FEWEST} proteins are too few to learn a covariance of seven columns from: {join_names(few)} "
            f"{'is' if len(few) == 1 else 'are'} left out, and {len(kept[TARGET])} proteins stay."
        )
    story.found |= {"rows": len(proteins[TARGET]), "kept": len(kept[TARGET]), "left_out": few}
    return kept


def _constant(story: Story, kept: Columns) -> list[str]:
    constant = [name for name in NAMES if np.ptp(kept[name]) == 0]
    story.chapter("constant", "A column that never changes")
    story.fit(kept, TARGET, "lda")
    for name in constant:
        rare = f"{name} is {kept[name][0]:g} for every protein that stays."
        warned = next((message for message in story.heard if f"'{name}'" in message), "")
        story.tell(rare, f"LDA says so itself: “{warned}”" if warned else "")
    if not constant:
        story.tell("There is none in these rows.")
    nearly = [name for name in NAMES if name not in constant and len(np.unique(kept[name])) == 2]
    for name in nearly:
        values, counts = np.unique(kept[name], return_counts=True)
        k = int(np.argmin(counts))
        story.tell(
            f"{name} is hardly better: {values[1 - k]:g} but for {counts[k]} of {len(kept[name])} proteins. In a site "
            "where it never changes, a covariance of that site alone cannot be inverted."
        )
    story.found["constant"] = constant
    return constant


def _compare(story: Story, kept: Columns) -> dict[str, Model]:
    X, y = matrix(kept, TARGET)
    story.chapter("compared", "Four classifiers")
    rows, found, models, masked = [], {}, {}, ""
    for name, words in MODELS.items():
        params = PARAMETERS.get(name, {})
        models[name] = story.fit(kept, TARGET, name, **params)
        masked = next((message for message in story.heard if message.startswith("Masking")), masked)
        score = Score.of_model(models[name], kept)
        with story.listening():
            held = cross_validate(estimator_of(name, params), X, y, folds=_FOLDS)
        wrong = 1 - float(np.average(held["accuracy"], weights=held["rows"]))
        rows.append([words, score.with_interval, f"{100 * wrong:.1f}"])
        found[name] = {"errors": score.errors, "of": score.rows, "held_out_error": wrong}
    head = ["errors in %, 95 % interval", "training", f"held out, {_FOLDS} folds"]
    story.table("Errors on the rows of the fit, and on rows left out of it", head, rows)
    story.tell(
        "Logistic regression has alpha = 0.1 because alpha = 1 did worse on these same folds: its held-out figure is "
        "a little flattered. The others had nothing to choose."
    )
    if masked:
        story.tell(f"Least squares warns: “{masked}”")
    story.found["errors"] = found
    return models


def _picture(story: Story, kept: Columns, constant: list[str]) -> None:
    X, y = matrix({name: values for name, values in kept.items() if name not in constant}, TARGET)
    plane = LinearDiscriminantAnalysis().fit(X, y).transform(X)[:, :2]
    if plane.shape[1] < 2:
        return
    flat = LinearDiscriminantAnalysis().fit(plane, y)
    flat.feature_names_in_ = np.array(["first direction", "second direction"], dtype=object)
    with story.listening():
        story.picture(
            "plane",
            lambda ax: plot_gaussians(flat, plane, y, ax),
            "The two directions in which LDA tells most of the sites apart, and the ellipses that it takes them for. "
            "LDA itself uses all directions, and errs less than this picture.",
        )


def _shrinkage(story: Story, qda: Model) -> None:
    story.chapter("shrinkage", "What QDA had to do")
    used = dict(zip(map(str, qda.classes), map(float, qda.estimator.shrinkage_), strict=True))
    helped = [site for site, s in used.items() if s > 0]
    if helped:
        rest = " The other sites keep their own." if len(helped) < len(used) else ""
        story.tell(
            f"The covariance of {join_names(helped)} is singular: a column does not vary there. QDA does not divide by "
            f"zero but draws {'it' if len(helped) == 1 else 'them'} by {used[helped[0]]:g} towards "
            f"the one of all sites (shrinkage), and says so.{rest}"
        )
    else:
        story.tell("Nothing: every site has a covariance of full rank.")
    story.found["shrinkage"] = used
