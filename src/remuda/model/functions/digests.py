"""Digests and codes of text, as UTF-8 has it."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable
from typing import Any

from remuda.model.functions.arguments import integer, short, text
from remuda.model.functions.function import Function, table

_SHA2 = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256}
_SHA2 |= {384: hashlib.sha384, 512: hashlib.sha512}


def _of_bytes(function: Callable[[bytes], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        found = text(value)
        return None if found is None else function(found.encode())

    return apply


def _md5(found: bytes) -> str:
    return hashlib.md5(found, usedforsecurity=False).hexdigest()


def _sha1(found: bytes) -> str:
    return hashlib.sha1(found, usedforsecurity=False).hexdigest()


def _sha2(value: Any, bits: Any) -> str | None:
    found, n = text(value), short(bits)
    if found is None or n not in _SHA2:
        return None
    return _SHA2[n](found.encode()).hexdigest()


def _base64(found: bytes) -> str:
    """In lines of 76 characters, as mail has it, and Spark by default."""
    code = base64.b64encode(found).decode()
    return "\r\n".join(code[i : i + 76] for i in range(0, len(code), 76))


def _hex(value: Any) -> str | None:
    found = integer(value)
    if found is not None:
        return f"{found % 2**64:X}"
    spelt = text(value)
    return None if spelt is None else spelt.encode().hex().upper()


FUNCTIONS = table(
    [
        Function("md5", _of_bytes(_md5), 1, 1),
        Function("sha1", _of_bytes(_sha1), 1, 1),
        Function("sha2", _sha2, 2, 2),
        Function("crc32", _of_bytes(zlib.crc32), 1, 1),
        Function("base64", _of_bytes(_base64), 1, 1),
        Function("hex", _hex, 1, 1),
    ],
    sha="sha1",
)
