"""Buckets of other systems: which part of all users one is in, by each system's own formula."""

from __future__ import annotations

import hashlib
from typing import Any

from remuda.model.functions.function import Function, table
from remuda.model.values import is_text

_MASK = 0xFFFFFFFF
_LARGEST = 0xFFFFFFFFFFFFFFF  # of the 15 hexadecimal digits that LaunchDarkly looks at


def _unleash(value: Any, group: Any, n: Any, seed: Any) -> int | None:
    """From 1 to n."""
    texts, numbers = (value, group), (n, seed)
    if not all(isinstance(one, str) and is_text(one) for one in texts):
        return None
    if not all(type(one) is int and 0 <= one < 2**31 for one in numbers) or n == 0:
        return None
    return murmur3(f"{group}:{value}".encode(), seed) % n + 1


def _launchdarkly(value: Any, prefix: Any) -> float:
    """From 0 to 1; what has no bucket is in the first."""
    whole = type(value) is int and abs(value) < 2**63
    if not isinstance(prefix, str) or not (whole or isinstance(value, str)):
        return 0.0
    if not is_text(prefix) or (isinstance(value, str) and not is_text(value)):
        return 0.0
    digest = hashlib.sha1(f"{prefix}.{value}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:15], 16) / _LARGEST


def murmur3(data: bytes, seed: int = 0) -> int:
    """The 32 bits of MurmurHash3, without sign."""
    found = seed
    n_whole = len(data) // 4 * 4
    for at in range(0, n_whole, 4):
        found ^= _mixed(int.from_bytes(data[at : at + 4], "little"))
        found = (_turned(found, 13) * 5 + 0xE6546B64) & _MASK
    if n_whole < len(data):
        found ^= _mixed(int.from_bytes(data[n_whole:], "little"))
    found ^= len(data)
    found = (found ^ (found >> 16)) * 0x85EBCA6B & _MASK
    found = (found ^ (found >> 13)) * 0xC2B2AE35 & _MASK
    return found ^ (found >> 16)


def _mixed(block: int) -> int:
    return _turned(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _turned(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK


FUNCTIONS = table(
    (
        Function("unleash_bucket", _unleash, 4, 4),
        Function("launchdarkly_bucket", _launchdarkly, 2, 2, on_missing=True, whole=True),
    )
)
