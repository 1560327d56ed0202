"""Buckets: which part of all users one is in, by a hash; and by other systems' own formulas.

Ours is the hash of the seed, a colon and the value's text, as a number without sign, modulo n.
Digests count by their first 8 bytes, the first being the most significant, as the systems that
cut them have it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import EXACT, integer, number, text
from remuda.model.functions.function import Function, table
from remuda.model.functions.hashes import murmur_finished, murmur_mixed, murmur_word
from remuda.model.values import is_text, tidy
from remuda.model.values import number as exact

_MASK = 0xFFFFFFFF
_LARGEST = 0xFFFFFFFFFFFFFFF  # of the 15 hexadecimal digits that LaunchDarkly looks at


def _unleash(value: Any, group: Any, n: Any, seed: Any) -> int | None:
    """From 1 to n."""
    texts, numbers = (value, group), (n, seed)
    if not all(isinstance(one, str) and is_text(one) for one in texts):
        return None
    if not all(type(one) is int and 0 <= one < 2**31 for one in numbers) or n == 0:
        return None
    return murmur3(f"{group}:{value}".encode(), seed) % int(n) + 1


def _launchdarkly(value: Any, prefix: Any) -> float:
    """From 0 to 1; what has no bucket is in the first."""
    whole = type(value) is int and abs(value) < 2**63
    if not isinstance(prefix, str) or not (whole or isinstance(value, str)):
        return 0.0
    if not is_text(prefix) or (isinstance(value, str) and not is_text(value)):
        return 0.0
    digest = hashlib.sha1(f"{prefix}.{value}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:15], 16) / _LARGEST


def _bucket(value: Any, n: Any, seed: Any = "", hash: Any = "murmur3") -> int | None:
    """From 0 to n - 1."""
    spelt, size, salt = _spelt(value), integer(n), _spelt(seed)
    hashed = HASHES.get(hash) if isinstance(hash, str) else None
    if hashed is None or spelt is None or salt is None or size is None or size < 1:
        return None
    return hashed(f"{salt}:{spelt}".encode()) % size


def _check_bucket(literals: Sequence[Any]) -> None:
    _, n, *_ = literals
    name = literals[3] if len(literals) == 4 else None
    if n is not None and (integer(n) or 0) < 1:
        raise InvalidCriterion(f"there are 1 or more buckets, not {n!r}")
    if name is not None and name not in HASHES:
        known = ", ".join(HASHES)
        raise InvalidCriterion(f"there is no hash {name!r} for buckets; these are: {known}")


def _spelt(value: Any) -> str | None:
    """The text of a text, a truth value or a number, whose is the shortest without exponent."""
    plain = tidy(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    written = text(plain)
    if written is not None:
        return written
    fitting = number(plain)
    found = None if fitting is None else exact(fitting)
    if found is None or isinstance(found, float):  # an infinity
        return None
    return f"{EXACT.normalize(Decimal(found)):f}" if found else "0"


def _digest(name: str) -> Callable[[bytes], int]:
    def first(data: bytes) -> int:
        digest = hashlib.new(name, data, usedforsecurity=False).digest()
        return int.from_bytes(digest[:8], "big")

    return first


def fnv1a(data: bytes) -> int:
    """The 32 bits of FNV-1a."""
    found = 0x811C9DC5
    for byte in data:
        found = (found ^ byte) * 0x01000193 & _MASK
    return found


def murmur3(data: bytes, seed: int = 0) -> int:
    """The 32 bits of MurmurHash3, without sign."""
    n_whole = len(data) // 4 * 4
    for at in range(0, n_whole, 4):
        seed = murmur_mixed(seed, int.from_bytes(data[at : at + 4], "little"))
    if n_whole < len(data):
        seed ^= murmur_word(int.from_bytes(data[n_whole:], "little"))
    return murmur_finished(seed, len(data))


HASHES: dict[str, Callable[[bytes], int]] = {
    "murmur3": murmur3,
    "fnv1a": fnv1a,
    "sha1": _digest("sha1"),
    "md5": _digest("md5"),
}
FUNCTIONS = table(
    (
        Function("bucket", _bucket, 2, 4, check=_check_bucket),
        Function("unleash_bucket", _unleash, 4, 4),
        Function("launchdarkly_bucket", _launchdarkly, 2, 2, on_missing=True, whole=True),
    )
)
