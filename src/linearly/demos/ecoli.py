"""E. coli proteins: to which site does a protein go? A column that never changes, and classes with few rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linearly.api import Model
from linearly.demos.story import Columns, HeldOut, Story, matrix, read_lines, subset, tied_best, without
from linearly.formatting import join_names
from linearly.models.linear_discriminant_analysis import LinearDiscriminantAnalysis

NAMES = ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")
TARGET = "site"
PARAMETERS: dict[str, dict[str, Any]] = {"logistic": {"alpha": 0.1}}
MIN_PROTEINS = 10  # of a site that is used
_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/ecoli/ecoli.data"


def tell(story: Story, data: Path | None) -> None:
    """Tell the story."""
    proteins, source = (downloaded(), "OpenML") if data is None else (from_file(data), data.name)
    proteins = _select_sites(story, proteins, source)
    constant = _find_constant(story, proteins)
    compared = _compare(story, proteins, constant)
    _describe_shrinkage(story, compared["qda"].model)
    best = tied_best({name: one.error for name, one in compared.items()})
    names = join_names([story.texts["models"][name] for name in best])
    are = "is" if len(best) == 1 else "are"
    story.lead(name=names, are=are, error=100 * compared[best[0]].error)
    if constant:
        story.finding("constant", names=join_names(constant))
    story.report(compared["lda"].model, proteins, judged=True)


def from_file(path: Path) -> Columns:
    """Read UCI's ecoli.data: name, seven numbers and the site, with blanks between; titles may come first."""
    rows, sites = [], []
    for i, line in enumerate(read_lines(path), 1):
        cells = line.split()
        if not cells or (i == 1 and tuple(cells[1:8]) == NAMES):
            continue
        try:
            _, *numbers, site = cells
            row = [float(cell) for cell in numbers]
        except ValueError:
            row = []
        if len(row) != len(NAMES):
            raise ValueError(
                f"Line {i} of {path} must contain a name, seven numbers ({', '.join(NAMES)}) and a site. "
                "Correct the line."
            )
        if not np.isfinite(row).all():
            raise ValueError(f"Line {i} of {path} contains a number that is not finite. Correct the line.")
        rows.append(row)
        sites.append(site)
    if not rows:
        raise ValueError(f"{path} contains no proteins. Pass UCI's ecoli.data.")
    return _shuffle(np.array(rows), np.array(sites))


def downloaded() -> Columns:
    """Return the E. coli data from OpenML, which scikit-learn caches."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred")  # the error below includes it
            bunch = fetch_openml("ecoli", version=1, as_frame=False, parser="liac-arff", n_retries=1)
    except Exception as error:  # no network, no such server, a page in place of the data
        raise ConnectionError(
            "The E. coli data could not be fetched from OpenML "
            f"({type(error).__name__}). Download {_URL} and run: linearly demo ecoli --data ecoli.data"
        ) from error
    columns = [list(bunch.feature_names).index(name) for name in NAMES]
    return _shuffle(np.asarray(bunch.data, dtype=np.float64)[:, columns], np.asarray(bunch.target).astype(str))


def _shuffle(X: NDArray[np.float64], sites: NDArray[Any]) -> Columns:
    """Return the columns in a mixed order, since the file is sorted by site."""
    mixed = np.random.default_rng(0).permutation(len(sites))
    return dict(zip(NAMES, X[mixed].T, strict=True)) | {TARGET: sites[mixed]}


# --- the chapters ---------------------------------------------------------------------------------


def _select_sites(story: Story, proteins: Columns, source: str) -> Columns:
    sites, counts = np.unique(proteins[TARGET], return_counts=True)
    ranked = [(str(sites[k]), int(counts[k])) for k in np.argsort(-counts, kind="stable")]
    n = len(proteins[TARGET])
    story.chapter("data")
    story.tell("text", n=n, source=source)
    meanings = story.texts["data"]["sites"]
    story.table("sites", [[site, meanings.get(site, ""), str(count)] for site, count in ranked])
    few = [site for site, count in ranked if count < MIN_PROTEINS]
    used = subset(proteins, ~np.isin(proteins[TARGET], few))
    if len(ranked) - len(few) < 2:
        raise ValueError(
            f"{source} must contain at least two sites with {MIN_PROTEINS} proteins or more. Pass UCI's ecoli.data."
        )
    if few:
        are = "is" if len(few) == 1 else "are"
        story.tell("few", fewest=MIN_PROTEINS, names=join_names(few), are=are, kept=len(used[TARGET]))
    story.found |= {"rows": n, "kept": len(used[TARGET]), "left_out": few}
    return used


def _find_constant(story: Story, proteins: Columns) -> list[str]:
    story.chapter("constant")
    story.fit(proteins, TARGET, "lda")
    values = {name: np.unique(proteins[name], return_counts=True) for name in NAMES}
    constant = [name for name in NAMES if len(values[name][0]) == 1]
    for name in constant:
        warned = next((message for message in story.warned if f"'{name}'" in message), "")
        story.tell("constant", "warned" if warned else "", name=name, value=values[name][0][0], warned=warned)
    if not constant:
        story.tell("none")
    for name, (levels, counts) in values.items():
        if len(levels) == 2:
            rare = int(np.argmin(counts))
            story.tell("nearly", name=name, value=levels[1 - rare], few=counts[rare], n=counts.sum())
    story.found["constant"] = constant
    return constant


def _compare(story: Story, proteins: Columns, constant: list[str]) -> dict[str, HeldOut]:
    story.chapter("compared")
    compared = story.compare_held_out(proteins, TARGET, PARAMETERS)
    story.tell("alpha")
    masked = [message for one in compared.values() for message in one.warnings if message.startswith("Masking")]
    if masked:
        story.tell("masked", masked=masked[-1])
    story.found["errors"] = {
        name: {"errors": one.trained.errors, "of": one.trained.rows, "held_out_error": one.error}
        for name, one in compared.items()
    }
    X, y = matrix(without(proteins, *constant), TARGET)
    plane = LinearDiscriminantAnalysis().fit(X, y).transform(X)[:, :2]
    if plane.shape[1] == 2:
        flat = LinearDiscriminantAnalysis().fit(plane, y)
        story.picture_gaussians("plane", flat, plane, y, ("first direction", "second direction"))
    return compared


def _describe_shrinkage(story: Story, qda: Model) -> None:
    story.chapter("shrinkage")
    used = dict(zip(map(str, qda.classes), map(float, qda.estimator.shrinkage_), strict=True))
    helped = [site for site, s in used.items() if s > 0]
    if helped:
        rest = "rest" if len(helped) < len(used) else ""
        them = "it" if len(helped) == 1 else "them"
        story.tell("helped", rest, names=join_names(helped), them=them, by=used[helped[0]])
    else:
        story.tell("none")
    story.found["shrinkage"] = used
