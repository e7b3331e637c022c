"""Untrusted files: model files with one thing changed, and bytes that are not a model file."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from functools import reduce
from operator import getitem
from typing import Any

Change = Callable[[Any], None]


def signed(plain: dict[str, Any]) -> bytes:
    """Return the file with a valid digest, so that the checks behind it are reached."""
    body = {name: value for name, value in plain.items() if name not in ("format", "version", "digest")}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode("ascii"), digest_size=32).hexdigest()
    return json.dumps(plain | ({"digest": digest} if "digest" in plain else {})).encode()


def changed(plain: dict[str, Any], name: str) -> bytes:
    """Return the file with one of the changes of `HOSTILE`."""
    other = copy.deepcopy(plain)
    HOSTILE[name](other)
    return signed(other)


def put(*path_and_value: Any) -> Change:
    """Return a change that sets the value at a path of keys."""
    *path, last, value = path_and_value
    return lambda plain: reduce(getitem, path, plain).__setitem__(last, value)


def drop(*path: Any) -> Change:
    """Return a change that deletes what is at a path of keys."""
    return lambda plain: reduce(getitem, path[:-1], plain).__delitem__(path[-1])


STATE = ("estimator", "state")
SOLUTION = (*STATE, "solution_")
CROSS = (*STATE, "summary_", "centered_crossprod")
RUN = "__import__('os').system('touch hacked')"
HUGE = {"dtype": "f8", "shape": [10**6, 10**6], "base64": "AAAA"}

HOSTILE: dict[str, Change] = {
    "unknown key": put("extra", 1),
    "unknown key in the estimator": put("estimator", "extra", 1),
    "unknown key in the state": put(*STATE, "__class__", "os"),
    "unknown key in an array": put(*SOLUTION, "coef", "evil", 1),
    "key lacking": drop("vectors"),
    "state lacking": drop(*STATE, "solution_"),
    "other format": put("format", "pickle"),
    "newer version": put("version", 2),
    "version 0": put("version", 0),
    "version of text": put("version", "1"),
    "version true": put("version", True),
    "unknown model": put("model", "../../etc/passwd"),
    "model of another kind": put("model", "logistic"),
    "unknown estimator": put("estimator", "name", "os.system"),
    "estimator of another kind": put("estimator", "name", "RidgeCV"),
    "estimator that is not text": put("estimator", "name", ["LinearRegression"]),
    "unknown parameter": put("estimator", "parameters", "hook", RUN),
    "parameter lacking": drop("estimator", "parameters", "alpha"),
    "parameter of text": put("estimator", "parameters", "alpha", RUN),
    "parameter negative": put("estimator", "parameters", "alpha", -1.0),
    "parameter NaN": put("estimator", "parameters", "alpha", "NaN"),
    "parameter not one of its choices": put("estimator", "parameters", "method", "pickle"),
    "parameter an object": put("estimator", "parameters", "fit_intercept", {"__reduce__": [RUN]}),
    "coefficient NaN": put(*SOLUTION, "coef", "values", 0, "NaN"),
    "coefficient infinite": put(*SOLUTION, "coef", "values", 0, "Infinity"),
    "coefficient of text": put(*SOLUTION, "coef", "values", 0, "0"),
    "coefficient huge integer": put(*SOLUTION, "coef", "values", 0, 10**400),
    "coefficient changed": put(*SOLUTION, "coef", "values", 0, 12345.0),
    "coefficients with another shape": put(*SOLUTION, "coef", "shape", [1, 5]),
    "shape of text": put(*SOLUTION, "coef", "shape", "5"),
    "shape negative": put(*SOLUTION, "coef", "shape", [-5, -1]),
    "huge shape": put(*CROSS, HUGE),
    "huge shape of known size": put(*SOLUTION, "inverse_root", {"dtype": "f8", "shape": [6, 2**40], "base64": "AAAA"}),
    "huge list": put(*SOLUTION, "aliased", [0] * 200_000),
    "dtype of objects": put(*CROSS, "dtype", "O"),
    "dtype of text": put(*CROSS, "dtype", RUN),
    "base64 too short": put(*CROSS, {"dtype": "f8", "shape": [6, 6], "base64": "AAAA"}),
    "base64 with other letters": put(*CROSS, {"dtype": "f8", "shape": [6, 6], "base64": "!" * 384}),
    "base64 a list": put(*CROSS, {"dtype": "f8", "shape": [6, 6], "base64": [1]}),
    "both values and base64": put(*CROSS, "base64", ""),
    "scale zero": put(*STATE, "summary_", "scaling", "scale", "values", 0, 0.0),
    "summary of another kind": put(*STATE, "summary_", "kind", "subprocess.Popen"),
    "rows negative": put(*STATE, "summary_", "n", -5),
    "rows true": put(*STATE, "summary_", "n", True),
    "centering unknown": put(*SOLUTION, "centering", "evil"),
    "mean lacking": put(*SOLUTION, "mean", None),
    "ledger not a fingerprint": put("ledger", {"../../x": 1}),
    "ledger count negative": put("ledger", {"0" * 32: -1}),
    "ledger a list": put("ledger", [1]),
    "dropped rows given as text": put("n_dropped", "5"),
    "note an object": put("note", {}),
    "conventions of numbers": put("conventions", {"tie rule": 1}),
    "provenance with a path": put("provenance", "path", "/etc/passwd"),
    "vectors that expect another answer": put("vectors", "scores", "values", 0, 1e6),
    "vectors with too few rows": put("vectors", "predictions", []),
    "vectors NaN": put("vectors", "rows", "values", 0, "NaN"),
    "design a list": put("design", []),
    "design with an unknown key": put("design", "hook", RUN),
    "design without a target": put("design", "target", None),
    "design without terms": put("design", "terms", []),
    "factor of an unknown kind": put("design", "factors", 0, {"kind": "lambda", "name": RUN}),
    "factor lacking a name": put("design", "factors", 0, {"kind": "numeric"}),
    "formula that imports": put("design", "factors", 1, "expression", RUN),
    "formula with an attribute": put("design", "factors", 1, "expression", "log(x).__class__"),
    "formula with a lambda": put("design", "factors", 1, "expression", "(lambda: 1)()"),
    "formula with a huge power": put("design", "factors", 1, "expression", "x^9^9^9^9"),
    "formula with an f-string": put("design", "factors", 1, "expression", "{9**9**9**9}"),
    "formula nested deeply": put("design", "factors", 1, "expression", "(" * 500 + "x" + ")" * 500),
    "formula with an unknown function": put("design", "factors", 1, "expression", "eval(x)"),
    "formula too long": put("design", "factors", 1, "expression", "x + " * 5000 + "x"),
    "term with an unknown factor": put("design", "terms", 0, "factors", [10**9]),
    "levels without end": put("design", "factors", 2, "levels", [str(k) for k in range(5000)]),
    "level an object": put("design", "factors", 2, "levels", [{}, "a"]),
    "degree without end": put("design", "factors", 0, {"kind": "powers", "expression": "x", "degree": 10**9}),
}

RAW = {
    "empty": b"",
    "a number": b"1",
    "a list": b"[]",
    "null": b"null",
    "deep lists": b"[" * 100_000,
    "deep lists that close": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "quotes without end": b'"\\"' * 200_000,
    "many brackets": b"[" + b"[]," * 600_000 + b"[]]",
    "not UTF-8": b"\xff\xfe{}",
    "a pickle": b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "a zip": b"PK\x03\x04" + b"\0" * 1000,
    "NaN": b'{"format": "linearly model", "version": NaN}',
    "infinity": b'{"format": "linearly model", "version": 1e999}',
    "many digits": b'{"format": "linearly model", "version": ' + b"9" * 100_000 + b"}",
    "only a head": b'{"format": "linearly model", "version": 1}',
}
