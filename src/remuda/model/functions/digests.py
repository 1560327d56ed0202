"""Digests and codes of text, as UTF-8 has it."""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import Any

from remuda.model.functions.arguments import integer, short, text
from remuda.model.functions.function import Function, table, taking

_SHA2 = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256}
_SHA2 |= {384: hashlib.sha384, 512: hashlib.sha512}


_utf8 = taking(text)(str.encode)
_of_bytes = taking(_utf8)


def _md5(found: bytes) -> str:
    return hashlib.md5(found, usedforsecurity=False).hexdigest()


def _sha1(found: bytes) -> str:
    return hashlib.sha1(found, usedforsecurity=False).hexdigest()


@taking(_utf8, short)
def _sha2(found: bytes, bits: int) -> str | None:
    return _SHA2[bits](found).hexdigest() if bits in _SHA2 else None


def _base64(found: bytes) -> str:
    """In lines of 76 characters, as mail has it, and Spark by default."""
    code = base64.b64encode(found).decode()
    return "\r\n".join(code[i : i + 76] for i in range(0, len(code), 76))


def _hex(value: Any) -> str | None:
    found = integer(value)
    if found is not None:
        return f"{found % 2**64:X}"
    spelt = _utf8(value)
    return None if spelt is None else spelt.hex().upper()


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
