"""Spark's hashes: Murmur3 of 32 bits and xxHash of 64, both with the seed 42.

Each value is hashed with the hash of those before it for a seed; what is missing leaves it as it
is. Integers are hashed as BIGINT, and decimals, whose bytes depend on a column's type, not at all.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, NamedTuple

from remuda.model.functions.arguments import in_utc, integer, microseconds_of, text
from remuda.model.functions.function import Function, table
from remuda.model.values import tidy

_SEED = 42
_32, _64 = 2**32 - 1, 2**64 - 1
_EPOCH = date(1970, 1, 1).toordinal()
_NAN = 0x7FF8_0000_0000_0000

_P1, _P2 = 0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F  # the primes of xxHash
_P3, _P4, _P5 = 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5


class _Hash(NamedTuple):
    """How a value of each width is hashed, given the hash of those before."""

    bits: int
    of_int: Callable[[int, int], int]
    of_long: Callable[[int, int], int]
    of_bytes: Callable[[bytes, int], int]


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _64


def murmur_word(word: int) -> int:
    """What a word adds to the hash."""
    word = (word & _32) * 0xCC9E_2D51 & _32
    return (word << 15 | word >> 17) * 0x1B87_3593 & _32


def murmur_mixed(seed: int, word: int) -> int:
    """The hash with one more word in it."""
    seed ^= murmur_word(word)
    return ((seed << 13 | seed >> 19) * 5 + 0xE654_6B64) & _32


def murmur_finished(value: int, length: int) -> int:
    """The hash of so many bytes, all of which are in it."""
    value ^= length
    value = (value ^ value >> 16) * 0x85EB_CA6B & _32
    value = (value ^ value >> 13) * 0xC2B2_AE35 & _32
    return value ^ value >> 16


def _murmur_int(value: int, seed: int) -> int:
    return murmur_finished(murmur_mixed(seed, value), 4)


def _murmur_long(value: int, seed: int) -> int:
    low, high = value & _32, value >> 32 & _32
    return murmur_finished(murmur_mixed(murmur_mixed(seed, low), high), 8)


def _murmur_bytes(value: bytes, seed: int) -> int:
    """The bytes that fill no word are words of their own, with their sign: so Spark has it."""
    words, rest = divmod(len(value), 4)
    for word in struct.unpack(f"<{words}i{rest}b", value):
        seed = murmur_mixed(seed, word)
    return murmur_finished(seed, len(value))


def _xx_finished(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _64
    value = (value ^ value >> 29) * _P3 & _64
    return value ^ value >> 32


def _xx_round(value: int, word: int) -> int:
    return _rotated((value + word * _P2) & _64, 31) * _P1 & _64


def _xx_eight(value: int, word: int) -> int:
    return (_rotated(value ^ _xx_round(0, word), 27) * _P1 + _P4) & _64


def _xx_four(value: int, word: int) -> int:
    return (_rotated(value ^ word * _P1 & _64, 23) * _P2 + _P3) & _64


def _xx_int(value: int, seed: int) -> int:
    return _xx_finished(_xx_four((seed + _P5 + 4) & _64, value & _32))


def _xx_long(value: int, seed: int) -> int:
    return _xx_finished(_xx_eight((seed + _P5 + 8) & _64, value & _64))


def _xx_bytes(value: bytes, seed: int) -> int:
    blocks = len(value) // 32
    offset = 32 * blocks
    if blocks:
        lanes = [(seed + start) & _64 for start in (_P1 + _P2, _P2, 0, -_P1)]
        for i in range(blocks):
            words = struct.unpack_from("<4Q", value, 32 * i)
            lanes = [_xx_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
        state = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            state = ((state ^ _xx_round(0, lane)) * _P1 + _P4) & _64
    else:
        state = seed + _P5
    state = (state + len(value)) & _64
    for (word,) in struct.iter_unpack("<Q", value[offset : len(value) // 8 * 8]):
        state = _xx_eight(state, word)
    offset = len(value) // 8 * 8
    if len(value) - offset >= 4:
        state = _xx_four(state, struct.unpack_from("<I", value, offset)[0])
        offset += 4
    for byte in value[offset:]:
        state = _rotated(state ^ byte * _P5 & _64, 11) * _P1 & _64
    return _xx_finished(state)


def _hashed(hash: _Hash, value: Any, seed: int) -> int | None:
    """The hash of a value; None for a kind that has none."""
    plain = tidy(value)
    if isinstance(plain, list):
        return _all_hashed(hash, plain, seed)
    if plain is None:
        return seed
    if isinstance(plain, bool):
        return hash.of_int(int(plain), seed)
    if isinstance(plain, float):
        return hash.of_long(_bits(plain), seed)
    if isinstance(plain, datetime):
        moment = in_utc(plain)
        return None if moment is None else hash.of_long(microseconds_of(moment), seed)
    if isinstance(plain, date):
        return hash.of_int(plain.toordinal() - _EPOCH, seed)
    found = text(plain)
    if found is not None:
        return hash.of_bytes(found.encode(), seed)
    whole = integer(plain)
    return None if whole is None else hash.of_long(whole, seed)


def _bits(value: float) -> int:
    if math.isnan(value):
        return _NAN
    return int(struct.unpack("<q", struct.pack("<d", value + 0.0))[0])  # -0.0 as 0.0


def _all_hashed(hash: _Hash, values: Any, seed: int) -> int | None:
    found: int | None = seed
    for value in values:
        if found is not None:
            found = _hashed(hash, value, found)
    return found


def _signed(hash: _Hash) -> Callable[..., int | None]:
    def apply(*values: Any) -> int | None:
        found = _all_hashed(hash, values, _SEED)
        half = 1 << (hash.bits - 1)
        return None if found is None else (found ^ half) - half

    return apply


_MURMUR = _Hash(32, _murmur_int, _murmur_long, _murmur_bytes)
_XX = _Hash(64, _xx_int, _xx_long, _xx_bytes)

FUNCTIONS = table(
    [
        Function("hash", _signed(_MURMUR), 1, None, on_missing=True, whole=True),
        Function("xxhash64", _signed(_XX), 1, None, on_missing=True, whole=True),
    ]
)
