"""Parts of addresses on the web, as Java reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote_plus, unquote_plus

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import LONGEST_TEXT, text
from remuda.model.functions.function import Function, table, taking

_OTHER = r"[^\x00-\x9f\s]"  # letters beyond ASCII stand for themselves
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_PLAIN = r"A-Za-z0-9_.!~*'()\-"
_PATH = rf"(?:[{_PLAIN}:@&=+$,;/]|{_ESCAPED}|{_OTHER})*"
_ANY = rf"(?:[{_PLAIN}:@&=+$,;/?\[\]]|{_ESCAPED}|{_OTHER})*"
_AUTHORITY = rf"(?:[{_PLAIN}:@&=+$,;\[\]]|{_ESCAPED}|{_OTHER})*"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?=[^#])")
_OPAQUE = re.compile(rf"(?!/){_ANY}(?:\#(?P<ref>{_ANY}))?")
_HIERARCHY = re.compile(
    rf"(?://(?P<authority>{_AUTHORITY}))?(?P<path>{_PATH})(?:\?(?P<query>{_ANY}))?"
    rf"(?:\#(?P<ref>{_ANY}))?"
)
_HAS_COLON = re.compile(r"[^/?#:]*:")  # in the first segment, where a scheme would end
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?"
_SERVER = re.compile(
    rf"(?:(?P<user>(?:[{_PLAIN}:&=+$,;]|{_ESCAPED}|{_OTHER})*)@)?"
    rf"(?P<host>(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.?"
    r"|(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)"
    r"|\[[0-9A-Fa-f:.]+\])(?::\d*)?",
    re.ASCII,
)
_DECODABLE = re.compile(rf"(?:[^%]|{_ESCAPED})*", re.DOTALL)
_LONGEST_ESCAPE = 12  # of a character: four bytes
_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")


class _Url(NamedTuple):
    """What an address is made of; None for what it lacks."""

    host: str | None = None
    path: str | None = None
    query: str | None = None
    ref: str | None = None
    protocol: str | None = None
    file: str | None = None
    authority: str | None = None
    userinfo: str | None = None


def _read(spelt: str) -> _Url | None:
    named = _SCHEME.match(spelt)
    rest, scheme = (spelt, None) if named is None else (spelt[named.end() :], named[1])
    if scheme is not None and not rest.startswith("/"):
        opaque = _OPAQUE.fullmatch(rest)
        return None if opaque is None else _Url(ref=opaque["ref"], protocol=scheme)
    parts = _HIERARCHY.fullmatch(rest)
    if parts is None or (scheme is None and _HAS_COLON.match(rest)):
        return None
    path, query, authority = parts["path"], parts["query"], parts["authority"] or None
    if parts["authority"] == "" and not path:
        return None
    server = None if authority is None else _SERVER.fullmatch(authority)
    host, user = (None, None) if server is None else (server["host"], server["user"])
    file = path if query is None else f"{path}?{query}"
    return _Url(host, path, query, parts["ref"], scheme, file, authority, user)


@taking(text, text, text)
def _parse_url(value: str, part: str, name: str | None = None) -> str | None:
    """A part of the address, or what stands behind a name in its query."""
    url = _read(value)
    if url is None or part not in _PARTS:
        return None
    if name is None:
        return url[_PARTS.index(part)]
    if part != "QUERY" or url.query is None:
        return None
    pairs = (pair.partition("=") for pair in url.query.split("&"))
    return next((held for own, sign, held in pairs if sign and own == name), None)


def _check_part(arguments: Sequence[Any]) -> None:
    part = arguments[1]
    if part is not None and part not in _PARTS:
        raise InvalidCriterion(f"{part!r} is no part of an address; such are {', '.join(_PARTS)}")


@taking(text)
def _url_decode(value: str) -> str | None:
    return unquote_plus(value) if _DECODABLE.fullmatch(value) else None


@taking(text)
def _url_encode(value: str) -> str | None:
    if len(value) * _LONGEST_ESCAPE > LONGEST_TEXT:
        return None
    return quote_plus(value, safe="*").replace("~", "%7E")


FUNCTIONS = table(
    [
        Function("parse_url", _parse_url, 2, 3, check=_check_part),
        Function("url_decode", _url_decode, 1, 1),
        Function("url_encode", _url_encode, 1, 1),
    ],
    try_url_decode="url_decode",
    try_parse_url="parse_url",
)
