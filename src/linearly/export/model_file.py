"""The model file: a fitted model as one JSON file that anybody can read, and nobody need trust.

`save` writes it whole or not at all; `read` takes files from strangers. A file holds the estimator with its parameters
and state, the design, the summary (so that models can be merged, refitted and compared without their rows), the ledger,
conventions in words, provenance, and three made-up rows with their answers, which the model must give again when it is
loaded. ``schema.json`` beside this module says precisely what is in it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import warnings
from collections import Counter
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from linearly.algorithm.least_squares.block_ledger import BlockLedger
from linearly.dataset.design.design import Design
from linearly.dataset.design.serialization import design_from_json, design_to_json
from linearly.dataset.rows.reduce import single_threaded_blas
from linearly.export.arrays import definitions
from linearly.export.atomic_file import read_bounded, write_atomic
from linearly.export.codec import Integer, InvalidFile, Text, fields_schema, keys, shown
from linearly.export.conventions import conventions_of
from linearly.export.state import KINDS, estimator_from_plain, estimator_to_plain
from linearly.export.summaries import RECORDS
from linearly.export.test_vectors import VECTORS, Vectors
from linearly.models.registry import MODELS, classifies

FORMAT = "linearly model"
VERSION = 1
LARGEST_FILE = 2**28  # bytes
DEEPEST = 32  # brackets inside brackets
MOST_PIECES = 1_000_000  # lists and objects in a file
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_MOST_BLOCKS = 1_000_000

_HEAD = ("format", "version", "digest")
_BODY = ("model", "note", "estimator", "design", "n_dropped", "ledger", "conventions", "provenance", "vectors")


class Saved(NamedTuple):
    """What is in a model file."""

    estimator: Any
    design: Design
    model: str
    ledger: BlockLedger
    n_dropped: int
    note: str
    conventions: dict[str, str]
    provenance: dict[str, Any]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted `linearly.Model` to one JSON file, whole or not at all.

    What is to be written is read back first, so a file that was saved can be loaded.
    """
    try:
        data = to_bytes(model)
        _model_of(data)
    except InvalidFile as reason:
        raise ValueError(f"{os.fspath(path)} was not written: {reason}.") from None
    write_atomic(path, data)


def read(path: str | os.PathLike[str]) -> Saved:
    """What is in a model file; one that is damaged, hostile or too new is refused, and nothing in it is run."""
    try:
        return _model_of(read_bounded(path, LARGEST_FILE))
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no model file {os.fspath(path)!r}.") from None
    except (ValueError, OSError) as reason:
        told = str(reason).rstrip(".")
        raise ValueError(f"{os.fspath(path)!r} cannot be loaded as a model: {told}.") from None


def to_bytes(model: Any) -> bytes:
    """The text of a model file."""
    for name in ("estimator", "design", "model", "ledger", "n_dropped", "note"):
        if not hasattr(model, name):
            raise InvalidFile(f"only what linearly.fit returned can be saved, and this is {type(model).__name__}")
    estimator, design = model.estimator, model.design
    body = {
        "model": model.model,
        "note": model.note,
        "estimator": estimator_to_plain(estimator),
        "design": design_to_json(design),
        "n_dropped": int(model.n_dropped),
        "ledger": dict(sorted(model.ledger.blocks.items())),
        "conventions": conventions_of(estimator),
        "provenance": _provenance(model),
        "vectors": VECTORS.encode(Vectors.of(estimator, design.names)),
    }
    whole = {"format": FORMAT, "version": VERSION, "digest": _digest(body), **body}
    data = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"
    if len(data) > LARGEST_FILE:
        raise InvalidFile(
            f"it would have {len(data) // 2**20} MB, more than the {LARGEST_FILE // 2**20} MB of a model file"
        )
    return data


def schema() -> dict[str, Any]:
    """The JSON Schema of model files; the file schema.json beside this module is this one."""
    estimators = [
        {
            "type": "object",
            "properties": {
                "name": {"const": name},
                "parameters": fields_schema({n: codec.schema() for n, codec in kind.parameters.items()}),
                "state": kind.schema(),
            },
            "required": ["name", "parameters", "state"],
            "additionalProperties": False,
        }
        for name, kind in KINDS.items()
    ]
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    properties: dict[str, Any] = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "digest": {"type": "string", "description": "BLAKE2b-256 of the rest, keys sorted, without spaces"},
        "model": {"enum": list(MODELS)},
        "note": {"type": "string"},
        "estimator": {"oneOf": estimators},
        "design": _design_schema(),
        "n_dropped": Integer().schema(),
        "ledger": {
            "type": "object",
            "description": "fingerprints of the blocks of rows, each with how often it was learnt",
            "patternProperties": {f"^{_FINGERPRINT.pattern}$": Integer(1).schema()},
            "additionalProperties": False,
        },
        "conventions": texts,
        "provenance": fields_schema(
            {
                "library": {"type": "string"},
                "library_version": {"type": "string"},
                "rows": {"type": ["integer", "null"]},
                "time": {"type": "string", "format": "date-time"},
                "data_fingerprint": {"type": ["string", "null"]},
            }
        ),
        "vectors": VECTORS.schema(),
    }
    named = {name: record.schema() for name, record in RECORDS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        **_with_references(fields_schema(properties), named),
        "$defs": definitions() | {name: _with_references(tree, named, name) for name, tree in named.items()},
    }


# --- from bytes to a model ------------------------------------------------------------------------


def _model_of(data: bytes) -> Saved:
    whole = _parsed(data)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise InvalidFile("it is not a linearly model file")
    version = Integer(1).decode(whole.get("version"), "version", {})
    if version > VERSION:
        raise InvalidFile(f"it has version {version} and this linearly reads versions up to {VERSION}: update linearly")
    body = {name: value for name, value in keys(whole, "the file", (*_HEAD, *_BODY)).items() if name not in _HEAD}
    if whole["digest"] != _digest(body):
        raise InvalidFile("its digest does not fit: the file was damaged or edited")
    model = Text(tuple(MODELS)).decode(body["model"], "model", {})
    design = _design(body["design"], model)
    assert design.target is not None
    names, classes = design.names, design.target.classes if classifies(model) else ()
    with warnings.catch_warnings(), single_threaded_blas(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # they were given when the model was fitted
        try:
            estimator = estimator_from_plain(body["estimator"], model, classes, names)
            VECTORS.decode(body["vectors"], "vectors", {"p": len(names), "vectors": 3}).check(estimator, names)
        except InvalidFile:
            raise
        except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError, np.linalg.LinAlgError) as error:
            raise InvalidFile(f"its parts do not fit together ({type(error).__name__}: {str(error)[:200]})") from None
    return Saved(
        estimator,
        design,
        model,
        _ledger(body["ledger"]),
        Integer().decode(body["n_dropped"], "n_dropped", {}),
        Text().decode(body["note"], "note", {}),
        _texts(body["conventions"], "conventions"),
        _checked_provenance(body["provenance"]),
    )


def _parsed(data: bytes) -> Any:
    # Looked at before it is parsed: a parser would recurse, or make a list of each bracket.
    brackets = _TEXT.sub(b"", data).translate(None, _NO_BRACKETS)
    steps = np.where(np.isin(np.frombuffer(brackets[:MOST_PIECES], dtype=np.uint8), list(b"[{")), 1, -1)
    if len(brackets) > MOST_PIECES or np.cumsum(steps).max(initial=0) > DEEPEST:
        raise InvalidFile("it is nested too deeply, or has too many parts, for a model file")
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except InvalidFile:
        raise
    except RecursionError:
        raise InvalidFile("it is nested too deeply for a model file") from None
    except UnicodeDecodeError:
        raise InvalidFile("it is not text in UTF-8") from None
    except ValueError as error:
        raise InvalidFile(f"it is not JSON ({str(error)[:200]})") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InvalidFile(f"the entry {shown(twice)} is there twice")
    return found


def _no_constant(text: str) -> Any:
    raise InvalidFile(f"{text} is not JSON: a model file writes it as text")


def _digest(body: dict[str, Any]) -> str:
    try:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise InvalidFile("it holds a number beyond float64") from None
    return hashlib.blake2b(text.encode("ascii"), digest_size=32).hexdigest()


def _design(plain: Any, model: str) -> Design:
    try:
        design = design_from_json(plain)
    except ValueError as reason:
        raise InvalidFile(f"its design is refused: {str(reason).rstrip('.')}") from None
    if design.target is None:
        raise InvalidFile("its design has no target")
    if not design.terms:
        raise InvalidFile("its design has no terms")
    if classifies(model) != design.target.labels or (design.target.labels and len(design.target.classes) < 2):
        raise InvalidFile(f"the target of its design is not one that model {model} can predict")
    if len({type(label) for label in design.target.classes}) > 1:
        raise InvalidFile("its classes are of different types")
    return design


def _ledger(plain: Any) -> BlockLedger:
    if not isinstance(plain, dict) or len(plain) > _MOST_BLOCKS:
        raise InvalidFile("ledger must be an object of fingerprints and counts")
    for name, count in plain.items():
        if not _FINGERPRINT.fullmatch(name):
            raise InvalidFile(f"{shown(name)} is not the fingerprint of a block")
        Integer(1).decode(count, f"ledger.{name}", {})
    return BlockLedger(Counter(plain))


def _texts(plain: Any, at: str) -> dict[str, str]:
    if not isinstance(plain, dict) or len(plain) > 100:
        raise InvalidFile(f"{at} must be an object of texts")
    return {name: Text().decode(text, f"{at}.{name[:40]}", {}) for name, text in plain.items()}


# --- provenance -----------------------------------------------------------------------------------


def _provenance(model: Any) -> dict[str, Any]:
    try:
        version = metadata.version("linearly")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        version = "0+unknown"
    blocks = "".join(f"{name} {count}\n" for name, count in sorted(model.ledger.blocks.items()))
    return {
        "library": "linearly",
        "library_version": version,
        "rows": _rows(model.estimator),
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "data_fingerprint": hashlib.blake2b(blocks.encode(), digest_size=16).hexdigest() if blocks else None,
    }


def _rows(estimator: Any) -> int | None:
    """The rows that a model was fitted to; None where it does not know."""
    if hasattr(estimator, "summary_"):
        return int(estimator.summary_.n)
    if hasattr(estimator, "n_rows_"):
        return int(estimator.n_rows_)
    training = getattr(estimator, "_training", None)
    if training is not None and hasattr(estimator, "training_error_"):
        return int(training.weights.seen // max(estimator.n_passes_, 1))
    return None


def _checked_provenance(plain: Any) -> dict[str, Any]:
    names = ("library", "library_version", "rows", "time", "data_fingerprint")
    given = keys(plain, "provenance", names)
    for name in ("library", "library_version", "time"):
        Text(longest=100).decode(given[name], f"provenance.{name}", {})
    if given["rows"] is not None:
        Integer().decode(given["rows"], "provenance.rows", {})
    if given["data_fingerprint"] is not None:
        Text(longest=100).decode(given["data_fingerprint"], "provenance.data_fingerprint", {})
    return given


# --- pieces of the schema -------------------------------------------------------------------------


def _with_references(tree: Any, named: dict[str, Any], own: str = "") -> Any:
    """The schema with a reference wherever one of the named ones is written out."""
    for name, known in named.items():
        if name != own and tree == known:
            return {"$ref": f"#/$defs/{name}"}
    if isinstance(tree, dict):
        return {key: _with_references(value, named) for key, value in tree.items()}
    return [_with_references(value, named) for value in tree] if isinstance(tree, list) else tree


def _design_schema() -> dict[str, Any]:
    text, truth, number = {"type": "string"}, {"type": "boolean"}, {"type": "number"}
    maybe_text, maybe_number = {"type": ["string", "null"]}, {"type": ["number", "null"]}
    level = {"type": ["string", "number", "boolean"]}
    numbers = {"type": "array", "items": number}
    degree = {"type": "integer", "minimum": 1}
    category = {
        "name": text,
        "levels": {"type": "array", "items": level},
        "reference": {"oneOf": [level, {"type": "null"}]},
        "unseen": {"enum": ["error", "reference"]},
    }
    kinds: dict[str, dict[str, Any]] = {
        "numeric": {"name": text},
        "category": category,
        "coded": category,
        "computed": {"expression": text},
        "centred": {"expression": text, "scaled": truth, "mean": maybe_number, "deviation": maybe_number},
        "powers": {"expression": text, "degree": degree},
        "orthogonal": {
            "expression": text,
            "degree": degree,
            "rows": number,
            "centre": number,
            "alpha": numbers,
            "beta": numbers,
        },
    }
    factor = {"oneOf": [fields_schema({"kind": {"const": kind}, **fields}) for kind, fields in kinds.items()]}
    whole = {"type": "integer", "minimum": 0}
    term = fields_schema({"factors": {"type": "array", "items": whole}, "full": {"type": "array", "items": truth}})
    target = fields_schema({"factor": factor, "labels": truth, "classes": {"type": "array", "items": level}})
    return fields_schema(
        {
            "factors": {"type": "array", "items": factor},
            "terms": {"type": "array", "items": term, "description": "each a product of factors, by their numbers"},
            "target": target,
            "weight": maybe_text,
            "intercept": truth,
            "missing": {"enum": ["error", "drop"]},
            "formula": maybe_text,
        },
        {
            "groups": maybe_text,
            "na_values": {"type": "array", "items": text, "description": "texts that stand for missing values"},
        },
    )
