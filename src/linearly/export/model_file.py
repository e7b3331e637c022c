"""Model files: a fitted model as one JSON file that can be read without trusting it.

`save` replaces a file in one step or not at all; `read` accepts untrusted files. A file contains the estimator with its
parameters and state, the design, the summary (so that models can be merged, refitted and compared without their rows),
the ledger, conventions in words, provenance, and three made-up rows with their predictions, which the model must
reproduce when it is loaded. `schema` returns the JSON Schema of all this.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import warnings
from collections import Counter
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta

from linearly.algorithm.least_squares.block_ledger import BlockLedger
from linearly.dataset.design.design import Design
from linearly.dataset.design.serialization import (
    DesignRecord,
    InvalidFile,
    Record,
    decode_json,
    design_from_json,
    design_to_json,
)
from linearly.dataset.files.atomic_file import read_bounded, write_atomic
from linearly.export.conventions import conventions_of
from linearly.export.records import ArrayRecord, AtLeast1, Count, Text, decode, record, schema_of, to_json
from linearly.export.state import ESTIMATOR, estimator_to_json, restore_estimator, sizes_of
from linearly.export.test_vectors import ROWS, VECTORS, check_vectors, make_vectors
from linearly.formatting import shown
from linearly.installed import library_version
from linearly.kernels.blas_threads import single_threaded_blas
from linearly.models.base import count_rows_of_fit
from linearly.models.registry import MODELS, classifies

FORMAT = "linearly model"
VERSION = 1
MAX_FILE_BYTES = 2**28
MAX_DEPTH = 32  # brackets inside brackets
MAX_BRACKETS = 1_000_000
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_HEAD = ("format", "version", "digest")

_ShortText = Annotated[str, Meta(max_length=100)]
_Fingerprint = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]


class _Provenance(Record, frozen=True):
    library: _ShortText
    library_version: _ShortText
    rows: Count | None
    time: _ShortText
    data_fingerprint: _ShortText | None


MODEL_FILE = record(
    "ModelFile",
    {
        "format": Literal[FORMAT],
        "version": AtLeast1,
        "digest": Annotated[str, Meta(description="BLAKE2b-256 of the rest, keys sorted, without spaces")],
        "model": Literal[tuple(MODELS)],
        "note": Text,
        "estimator": ESTIMATOR,
        "design": DesignRecord,
        "n_dropped": Count,
        "ledger": Annotated[
            dict[_Fingerprint, AtLeast1],
            Meta(max_length=1_000_000, description="number of times each block of rows was added, by fingerprint"),
        ],
        "conventions": Annotated[dict[str, Text], Meta(max_length=100)],
        "provenance": _Provenance,
        "vectors": VECTORS,
    },
    absent={"positive": Annotated[Literal[0, 1], Meta(description="which of two classes is the positive one")]},
)


class Saved(NamedTuple):
    """The contents of a model file."""

    estimator: Any
    design: Design
    model: str
    ledger: BlockLedger
    n_dropped: int
    note: str
    conventions: dict[str, str]
    provenance: dict[str, Any]
    positive: Any = None  # the label


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted `linearly.Model` to one JSON file, completely or not at all.

    The text is read back before it is written, so a file that was saved can be loaded.
    """
    try:
        data = to_bytes(model)
        _from_bytes(data)
    except InvalidFile as reason:
        raise ValueError(f"{os.fspath(path)} was not written: {str(reason).rstrip('.')}.") from None
    write_atomic(path, data)


def read(path: str | os.PathLike[str]) -> Saved:
    """Return the contents of a model file; refuse a damaged, hostile or newer one. Nothing in it is run."""
    try:
        return _from_bytes(read_bounded(path, MAX_FILE_BYTES))
    except FileNotFoundError:
        raise FileNotFoundError(f"The model file {os.fspath(path)!r} does not exist. Check the path.") from None
    except (ValueError, OSError) as reason:
        raise ValueError(
            f"{os.fspath(path)!r} cannot be loaded as a model: {str(reason).rstrip('.')}. Save the model again."
        ) from None


def to_bytes(model: Any) -> bytes:
    """Return the text of a model file."""
    for name in ("estimator", "design", "model", "ledger", "n_dropped", "note", "positive"):
        if not hasattr(model, name):
            raise InvalidFile(f"only a Model returned by linearly.fit can be saved, not {type(model).__name__}")
    estimator, design = model.estimator, model.design
    body = {
        "model": model.model,
        "note": model.note,
        "estimator": estimator_to_json(estimator),
        "design": design_to_json(design),
        "n_dropped": int(model.n_dropped),
        "ledger": dict(sorted(model.ledger.blocks.items())),
        "conventions": conventions_of(estimator),
        "provenance": _provenance(model),
        "vectors": to_json(make_vectors(estimator, design.names)),
    }
    if model.positive is not None:
        body["positive"] = model.classes.index(model.positive)
    whole = {"format": FORMAT, "version": VERSION, "digest": _digest(body), **body}
    data = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"
    if len(data) > MAX_FILE_BYTES:
        raise InvalidFile(f"it would have {len(data) // 2**20} MB, more than the limit of {MAX_FILE_BYTES // 2**20} MB")
    return data


def schema() -> dict[str, Any]:
    """Return the JSON Schema of model files."""
    (top, _), definitions = msgspec.json.schema_components(
        (MODEL_FILE, ArrayRecord), schema_hook=schema_of, ref_template="#/$defs/{name}"
    )
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": FORMAT, **top, "$defs": definitions}


# --- from bytes to a model ------------------------------------------------------------------------


def _from_bytes(data: bytes) -> Saved:
    file = _parsed(data)
    if not isinstance(file, dict) or file.get("format") != FORMAT:
        raise InvalidFile("it is not a linearly model file")
    version = decode_json(file.get("version"), AtLeast1, "version")
    if version > VERSION:
        raise InvalidFile(
            f"it has version {version}, but this linearly reads versions up to {VERSION}, so a newer linearly is needed"
        )
    if file.get("digest") != _digest({name: value for name, value in file.items() if name not in _HEAD}):
        raise InvalidFile("its digest does not match, so the file was damaged or edited")
    design = design_from_json(file.get("design"))
    target = design.target
    if target is None or not (design.terms or design.intercept):
        raise InvalidFile("its design has no target, or neither terms nor an intercept")
    if len({type(label) for label in target.classes}) > 1:
        raise InvalidFile("its classes are of different types")
    sizes = sizes_of(len(design.names), len(target.classes) if target.labels else 0)
    saved = decode(file, MODEL_FILE, "", sizes | {"vectors": ROWS})
    positive = None
    if saved.positive is not UNSET:
        if not target.labels or len(target.classes) != 2:
            raise InvalidFile("it names a positive label but does not have two labels")
        positive = target.classes[saved.positive]
    if classifies(saved.model) != target.labels or (target.labels and len(target.classes) < 2):
        raise InvalidFile(f"the target of its design cannot be predicted by model {saved.model}")
    with warnings.catch_warnings(), single_threaded_blas(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # they were given when the model was fitted
        try:
            classes = target.classes if target.labels else ()
            estimator = restore_estimator(saved.estimator, saved.model, classes, design.names, sizes)
            check_vectors(saved.vectors, estimator, design.names)
        except InvalidFile:
            raise
        except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError, np.linalg.LinAlgError) as error:
            raise InvalidFile(f"its parts are inconsistent ({type(error).__name__}: {str(error)[:200]})") from None
    return Saved(
        estimator,
        design,
        saved.model,
        BlockLedger(Counter(saved.ledger)),
        saved.n_dropped,
        saved.note,
        saved.conventions,
        msgspec.to_builtins(saved.provenance),
        positive,
    )


def _parsed(data: bytes) -> Any:
    # Looked at before it is parsed: a parser would recurse, or make a list of each bracket.
    brackets = _TEXT.sub(b"", data).translate(None, _NOT_BRACKETS)
    steps = np.where(np.isin(np.frombuffer(brackets[:MAX_BRACKETS], dtype=np.uint8), list(b"[{")), 1, -1)
    if len(brackets) > MAX_BRACKETS or np.cumsum(steps).max(initial=0) > MAX_DEPTH:
        raise InvalidFile("it is nested too deeply, or has too many parts, for a model file")
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except InvalidFile:
        raise
    except RecursionError:
        raise InvalidFile("it is nested too deeply for a model file") from None
    except UnicodeDecodeError:
        raise InvalidFile("it is not UTF-8 text") from None
    except ValueError as error:
        raise InvalidFile(f"it is not JSON ({str(error)[:200]})") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InvalidFile(f"the entry {shown(twice)} occurs twice")
    return found


def _no_constant(text: str) -> Any:
    raise InvalidFile(f"{text} is not JSON; a model file writes it as text")


def _digest(body: dict[str, Any]) -> str:
    try:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise InvalidFile("it contains a number beyond the float64 range") from None
    return hashlib.blake2b(text.encode("ascii"), digest_size=32).hexdigest()


# --- provenance -----------------------------------------------------------------------------------


def _provenance(model: Any) -> dict[str, Any]:
    blocks = "".join(f"{name} {count}\n" for name, count in sorted(model.ledger.blocks.items()))
    return {
        "library": "linearly",
        "library_version": library_version(),
        "rows": _rows(model.estimator),
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "data_fingerprint": hashlib.blake2b(blocks.encode(), digest_size=16).hexdigest() if blocks else None,
    }


def _rows(estimator: Any) -> int | None:
    """Return how many rows a model was fitted to; None if it does not know."""
    rows = count_rows_of_fit(estimator)
    training = getattr(estimator, "training_", None)
    if rows is None and training is not None and hasattr(estimator, "training_error_"):
        return int(training.weights.seen // max(estimator.n_passes_, 1))
    return rows
