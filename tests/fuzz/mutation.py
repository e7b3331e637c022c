"""Mutations of bytes, and a source of choices that a coverage-guided engine can steer."""

from __future__ import annotations

from random import Random

WHOLE = (0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1)


class Steered(Random):
    """Choices read off some bytes, then zeros: an engine that changes the bytes changes the choices."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self.data, self.at = data, 0

    def getrandbits(self, k: int) -> int:
        size = (k + 7) // 8
        piece = self.data[self.at : self.at + size]
        self.at += size
        return int.from_bytes(piece, "little") & ((1 << k) - 1)

    def random(self) -> float:
        return self.getrandbits(16) / 2**16


def mutated(random: Random, data: bytes, pieces: tuple[bytes, ...] = (), others: tuple[bytes, ...] = ()) -> bytes:
    """The bytes after one to four changes; `pieces` are worth inserting, `others` worth mixing in."""
    text = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        random.choice((_flip, _flip, _set, _number, _insert, _insert, _delete, _repeat, _cut, _splice))(
            random, text, pieces, others
        )
    return bytes(text)


def _place(random: Random, text: bytearray) -> int:
    return random.randrange(len(text)) if text else 0


def _flip(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    if text:
        text[_place(random, text)] ^= 1 << random.randrange(8)


def _set(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    if text:
        text[_place(random, text)] = random.choice((0, 1, 127, 128, 254, 255, random.randrange(256)))


def _number(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    size = random.choice((1, 2, 4, 8))
    at = random.randrange(0, len(text) + 1, random.choice((1, size)))
    text[at : at + size] = (random.choice(WHOLE) % 2 ** (8 * size)).to_bytes(size, random.choice(("little", "big")))


def _insert(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    piece = random.choice(pieces) if pieces and random.random() < 0.8 else random.randbytes(random.randrange(1, 5))
    at = _place(random, text)
    over = random.choice((0, 0, len(piece)))
    text[at : at + over] = piece


def _delete(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    at = _place(random, text)
    del text[at : at + random.choice((1, 1, 2, 4, 8, 32))]


def _repeat(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    at = _place(random, text)
    piece = bytes(text[at : at + random.choice((1, 2, 4, 16, 64))])
    text[at:at] = piece * random.choice((1, 1, 2, 10))


def _cut(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    at = _place(random, text)
    if random.random() < 0.7:
        del text[at:]
    else:
        del text[:at]


def _splice(random: Random, text: bytearray, pieces: tuple[bytes, ...], others: tuple[bytes, ...]) -> None:
    other = random.choice(others) if others else bytes(text)
    at, start = _place(random, text), random.randrange(len(other) + 1)
    text[at:] = other[start:] if random.random() < 0.5 else other[start : start + 40] + bytes(text[at:])
