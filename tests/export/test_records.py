"""Records of model files: JSON comes back bit for bit, and refusals name the field."""

import json
import math
import re

import numpy as np
import pytest

from linearly.export.records import MAX_LISTED, AnyFloat, Count, array, decode, extended, list_of, record, size, to_json
from linearly.kernels.double_double import DoubleDouble

PAIR = record("Pair", {"n": Count, "p": size("p"), "weights": array("p"), "parts": list_of(AnyFloat, 3)})
VALID = {"n": 1, "p": 2, "weights": {"dtype": "f8", "shape": [2], "values": [0.5, -0.0]}, "parts": [1.0, "NaN"]}


def test_decode_returns_arrays_and_floats():
    pair = decode(VALID, PAIR, "pair", {"p": 2})
    assert pair.weights.tobytes() == np.array([0.5, -0.0]).tobytes()
    assert pair.parts[0] == 1.0
    assert math.isnan(pair.parts[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": -1}, "Expected `int` >= 0, at pair.n"),
        ({"n": True}, "Expected `int`, got `bool`, at pair.n"),
        ({"p": 3}, "The size p is 3, but elsewhere in the file 2, at pair.p"),
        ({"more": 1}, "unknown field `more`, at pair"),
        ({"parts": [1.0, "nan"]}, "Invalid enum value 'nan', at pair.parts[1]"),
        ({"parts": [0.0] * 4}, "length <= 3, at pair.parts"),
        ({"weights": {"dtype": "f8", "shape": [2], "values": [1.0]}}, "values must be 2 numbers"),
        ({"weights": {"dtype": "f8", "shape": [2], "values": [1.0, "NaN"]}}, "NaN or infinity, at pair.weights"),
        ({"weights": {"dtype": "f8", "shape": [2], "values": [1.0, None]}}, "at pair.weights.values[1]"),
        ({"weights": {"dtype": "i8", "shape": [2], "values": [1, 2]}}, "1 dimensions of dtype f8, at pair.weights"),
        ({"weights": {"dtype": "f8", "shape": [2, 1], "values": [1, 2]}}, "1 dimensions of dtype f8, at pair.weights"),
        (
            {"weights": {"dtype": "f8", "shape": [2], "base64": "AAAA"}},
            "base64 must encode 16 bytes, according",
        ),
        ({"weights": {"dtype": "f8", "shape": [2]}}, "either values or base64"),
    ],
    ids=str,
)
def test_decode_refusal_names_the_field(change, message):
    with pytest.raises(ValueError, match=re.escape(message)) as refusal:
        decode(VALID | change, PAIR, "pair", {"p": 2})
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_decode_refuses_values_beyond_an_integer_type(dtype):
    data = {"dtype": dtype, "shape": [1]}
    limit = 2 ** (8 * int(dtype[1]) - 1)
    assert decode(data | {"values": [-limit]}, array("n", dtype=dtype), "it", {})[0] == -limit
    for value in (limit, 1.5, "NaN"):
        with pytest.raises(ValueError, match="at it"):
            decode(data | {"values": [value]}, array("n", dtype=dtype), "it", {})


@pytest.mark.parametrize("n", [3, MAX_LISTED + 1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_to_json_and_decode_return_the_same_bits_and_order(n, order):
    draw = np.random.default_rng(0)
    high = np.asarray(draw.normal(size=(n, 2)) / 3, order=order)
    number = DoubleDouble(high, high * 1e-20)
    again = decode(json.loads(json.dumps(to_json(number))), extended("n", "k"), "it", {})
    assert again.low.tobytes("A") == number.low.tobytes("A")
    assert again.high.flags.f_contiguous == high.flags.f_contiguous
