"""Model files of every kind, damaged by the byte and, with a digest that fits, by the entry.

What is loaded must predict finite numbers or known labels, say what it is, and be saved and loaded again to the same
answers; everything else must be refused. Nothing but the file itself may be opened, and nothing run.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import functools
import json
import os
import tempfile
import warnings
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

import linearly as ly
from fuzz.mutation import WHOLE, mutated
from fuzz.run import Broken, Fuzzer, unlike_ours
from linearly.dataset.design.serialization import InvalidFile
from linearly.export.model_file import _digest, to_bytes

FILE = os.path.join(tempfile.mkdtemp(prefix="linearly-fuzz-"), "model.json")
ROWS = 24
_RANDOM = np.random.default_rng(11)
_X = _RANDOM.normal(size=(ROWS, 2))
_KIND = np.array(["a", "b", "c"] * (ROWS // 3))
_Y = _X @ [1.0, -2.0] + (_KIND == "b") + _RANDOM.normal(size=ROWS)
TRAINING = pa.table(
    {
        "x": _X[:, 0],
        "z": np.exp(_X[:, 1]),
        "k": _KIND,
        "y": _Y,
        "two": np.where(_Y > 0, "yes", "no"),
        "three": np.digitize(_Y, [-1, 1]) * 10,
        "truth": _Y > 0.5,
    }
)
NEW = TRAINING.select(["x", "z", "k"]).slice(0, 5)
CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("linear", "y ~ x + log(z) + k", {}),
    ("linear", "y ~ 0 + x:k", {"method": "qr"}),
    ("linear", "y ~ x + z", {"method": "extended"}),
    ("linear", "log(z) ~ poly(x, 2)", {"covariance": "HC3"}),
    ("ridge", "y ~ scale(x) + k", {}),
    ("ridge", "y ~ x + z", {"cv": 3}),
    ("logistic", "two ~ x + center(z)", {}),
    ("logistic", "three ~ x + z", {"alpha": 1.0}),
    ("lda", "three ~ x + z", {}),
    ("qda", "two ~ x + z", {"shrinkage": 0.1}),
    ("least-squares", "three ~ x + z", {}),
    ("perceptron", "two ~ x + z", {}),
    ("perceptron", "three ~ x + k", {}),
    ("batch", "two ~ x + poly(z, 2, raw=True)", {}),
    ("pocket", "truth ~ x + z", {"max_updates": 20}),
    ("voted", "two ~ x + z", {"max_passes": 2}),
    ("averaged", "three ~ x + C(k, 'b')", {"max_passes": 2}),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 1.5, -0.0, 1e-320, 1e308, -1e308, 1e16, 2**53 + 1, 10**40, *WHOLE),
    *("", "a", "NaN", "Infinity", "-Infinity", "x", "C", "F", "f8", "i8", "Gram", "QRFactor", "ClassGrams", "centred"),
    *("plain", "constant", "linear", "logistic", "voted", "__import__('os')", "x" * 20_001, "\x00", "\ud800", "é"),
    *([], {}, [[]], [None], [0, 0], [2**40, 2**40], {"kind": "Gram"}, {"dtype": "f8", "shape": [0], "values": []}),
    *("log(x)", "x^17", "(" * 40, "exp(exp(exp(x)))", "1/0", "poly(x, 3)"),
)


@functools.cache
def files() -> tuple[bytes, ...]:
    """A valid file of each kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(to_bytes(ly.fit(TRAINING, formula=f, model=m, **options)) for m, f, options in CASES)


@functools.cache
def _plain(i: int) -> Any:
    return json.loads(files()[i])


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        found += _places(value, (*path, key))
    return found


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _changed(random: Random, tree: Any) -> None:
    """One entry of a file is replaced, moved, removed, repeated, nested or slightly changed."""
    places = _places(tree)
    if not places:
        return
    path = random.choice(places)
    above, key, value = _at(tree, path[:-1]), path[-1], _at(tree, path)
    choice = random.random()
    if choice < 0.25:
        above[key] = copy.deepcopy(random.choice(VALUES))
    elif choice < 0.35:
        del above[key]
    elif choice < 0.45:
        above[key] = copy.deepcopy(_at(tree, random.choice(places)))
    elif choice < 0.5:
        other = _plain(random.randrange(len(CASES)))
        with contextlib.suppress(KeyError, IndexError, TypeError):
            above[key] = copy.deepcopy(_at(other, path))
    elif choice < 0.55:
        other = _plain(random.randrange(len(CASES)))
        above[key] = copy.deepcopy(_at(other, random.choice(_places(other))))
    elif choice < 0.6:
        if isinstance(above, dict):
            above[random.choice(("kind", "more", "__class__", "py/object", *map(str, above)))] = copy.deepcopy(value)
        else:
            above.insert(key, copy.deepcopy(value))
    elif choice < 0.63:
        for _ in range(random.choice((1, 3, 40))):
            value = [value] if random.random() < 0.5 else {"kind": value}
        above[key] = value
    else:
        _change_value(random, above, key, value)


def _change_value(random: Random, above: Any, key: Any, value: Any) -> None:
    if isinstance(value, bool):
        above[key] = not value
    elif isinstance(value, int):
        above[key] = value + random.choice((-1, 1, 10, -value, 2**31))
    elif isinstance(value, float):
        above[key] = random.choice((-value, 0.0, value * 2, value * 1e200, value * 1e-200, value + 1e-7, "NaN"))
    elif isinstance(value, str):
        above[key] = _other_text(random, value)
    elif isinstance(value, list) and value:
        random.choice((value.reverse, value.pop, value.clear, lambda: value.append(value[0])))()
    elif isinstance(value, dict) and value:
        value.pop(random.choice(list(value)))


def _other_text(random: Random, value: str) -> str:
    if len(value) > 60 and len(value) % 4 == 0 and random.random() < 0.8:
        with contextlib.suppress(ValueError):
            raw = bytearray(base64.b64decode(value, validate=True))
            at = random.randrange(len(raw) // 8) * 8
            raw[at : at + 8] = random.choice((b"\0" * 8, b"\xff" * 8, bytes(6) + b"\xf0\x7f", random.randbytes(8)))
            return base64.b64encode(bytes(raw)).decode()
    return mutated(random, value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def draw(random: Random) -> bytes:
    i = random.randrange(len(CASES))
    if random.random() < 0.15:
        return mutated(random, files()[i], (b"{", b"[", b'"', b",", b"NaN", b"1e999", b"[" * 100, b"\\ud800"), files())
    tree = copy.deepcopy(_plain(i))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        _changed(random, tree)
    if random.random() < 0.97:
        with contextlib.suppress(InvalidFile, KeyError, ValueError, RecursionError):
            body = {name: value for name, value in tree.items() if name not in ("format", "version", "digest")}
            tree["digest"] = _digest(body)
    return json.dumps(tree, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def attempt(data: bytes) -> Any:
    with open(FILE, "wb") as file:
        file.write(data)
    return ly.load(FILE)


def judge(data: bytes, model: Any) -> None:
    for question in (_predict, _summary, _again):
        try:
            question(model)
        except (ValueError, TypeError) as error:
            wrong = unlike_ours(error)
            if wrong is not None:
                raise


def _predict(model: Any) -> None:
    predictions = model.predict(NEW)
    if predictions.shape != (len(NEW),):
        raise Broken(f"{predictions.shape} predictions for {len(NEW)} rows")
    if model.classes:
        strange = set(predictions.tolist()) - set(model.classes)
        if strange:
            raise Broken(f"predictions that are no classes: {strange}")
    if hasattr(model.estimator, "predict_proba"):
        probabilities = model.predict_proba(NEW)
        if not (np.abs(probabilities.sum(axis=1) - 1) < 1e-9).all():
            raise Broken(f"probabilities that do not add up to 1: {probabilities}")


def _summary(model: Any) -> None:
    str(model.summary())
    repr(model)


def _again(model: Any) -> None:
    model.save(FILE)
    again = ly.load(FILE)
    with contextlib.suppress(ValueError):
        before = model.predict(NEW)
        if not np.array_equal(before, again.predict(NEW), equal_nan=before.dtype.kind == "f"):
            raise Broken("a model that is saved and loaded predicts otherwise")


FUZZER = Fuzzer("model", draw, attempt, judge, watched=True, opens=(FILE,))
