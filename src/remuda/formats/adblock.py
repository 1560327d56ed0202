"""Network filters of EasyList's syntax: `||ads.example.com^$script,domain=a.com|~b.a.com`.

A document is a list, one filter a line; comments and cosmetic filters are passed over. A filter is
a criterion under its own text, an exception (`@@`) one with the tag `exception`; what a filter does
beside matching (`redirect=…`) is in its payload. Requests have `url`, `sourceUrl` and `type`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    Readings,
    Rule,
    all_of,
    call,
    conjunction,
    decoded,
    denial,
    each,
    is_,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import Contains, In, Prefix, Regex, Suffix
from remuda.model.expressions import Expression
from remuda.model.patterns import literal_regex
from remuda.model.terms import Term
from remuda.model.values import is_text

URL, TYPE = Attribute(("url",)), Attribute(("type",))
HOSTS, SOURCES = Attribute(("hosts",)), Attribute(("sources",))
THIRD_PARTY = Attribute(("thirdParty",))

_COSMETIC = re.compile(r"#[@?$%]{0,3}#")
_OPTIONS = re.compile(r"\$(~?[\w-]+(?:=[^,]*)?(?:,~?[\w-]+(?:=[^,]*)?)*)$")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)+\.?")
_SEPARATOR = r"(?:[^a-zA-Z0-9_.%\x80-\x{10ffff}-]|$)"
_BEFORE_HOST = r"^[a-zA-Z][a-zA-Z0-9+.-]*:/+(?:[^/?#]*\.)?"
_TYPES = {
    "script": "script",
    "image": "image",
    "stylesheet": "stylesheet",
    "css": "stylesheet",
    "object": "object",
    "object-subrequest": "object",
    "xmlhttprequest": "xmlhttprequest",
    "xhr": "xmlhttprequest",
    "fetch": "other",
    "subdocument": "subdocument",
    "sub_frame": "subdocument",
    "frame": "subdocument",
    "document": "document",
    "doc": "document",
    "main_frame": "document",
    "websocket": "websocket",
    "webrtc": "webrtc",
    "ping": "ping",
    "beacon": "ping",
    "media": "media",
    "font": "font",
    "other": "other",
    "popup": "popup",
    "generichide": "generichide",
    "ghide": "generichide",
    "elemhide": "elemhide",
    "ehide": "elemhide",
    "specifichide": "specifichide",
    "shide": "specifichide",
    "genericblock": "genericblock",
}
_ASKED_FOR = ("document", "popup", "generichide", "elemhide", "specifichide", "genericblock")
_KEPT = ("important", "redirect", "redirect-rule", "rewrite")  # what a filter does, not when
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "go", "gob", "gov", "ne", "net", "or", "org"})


def read(document: Any, *, id: str = "filters") -> list[Criterion]:
    """The criteria of a list of filters."""
    return all_of(read_each(document, id))


def read_each(document: Any, id: str) -> Readings:
    """Every filter as a criterion, or as the error that says what is wrong with it."""
    text = document.decode(errors="surrogateescape") if isinstance(document, bytes) else document
    if not isinstance(text, str):
        yield InvalidCriterion("a list of filters is text, one filter a line")
        return
    yield from each(_filters(text), _criterion)


def event(document: Any) -> Any:
    """A request as filters see it: its hosts from the whole name to the last, those of its page."""
    request = decoded(document)
    if not isinstance(request, Mapping):
        return request
    host, source = _host(request.get("url")), _host(request.get("sourceUrl"))
    kind = request.get("type")
    return {
        "url": request.get("url"),
        "type": _TYPES.get(kind, kind) if isinstance(kind, str) else kind,
        "hosts": _beneath(host),
        "sources": _beneath(source),
        "thirdParty": registered_name(host) != registered_name(source),
    }


def registered_name(host: str) -> str:
    """The part of a host's name that is registered, by its length and common endings."""
    labels = host.split(".")
    if host.replace(".", "").isdecimal() or ":" in host or len(labels) < 3:
        return host
    n = 3 if len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return ".".join(labels[-n:])


def _host(url: Any) -> str:
    try:
        return (urlsplit(url).hostname or "") if isinstance(url, str) else ""
    except ValueError:
        return ""


def _beneath(host: str) -> list[str]:
    labels = host.split(".") if host else []
    return [".".join(labels[start:]) for start in range(len(labels))]


def _filters(lines: str) -> Iterator[Rule]:
    for number, line in enumerate(lines.splitlines(), start=1):
        text = line.strip()
        if text and not text.startswith(("!", "[Adblock")) and not _COSMETIC.search(text):
            yield f"line {number}", text if is_text(text) else "", text


@dataclass(slots=True)
class _Options:
    """What stands behind the dollar."""

    types: set[str] = field(default_factory=set)
    other_types: set[str] = field(default_factory=set)
    parts: list[Expression] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)
    match_case: bool = False

    def all(self) -> Iterator[Expression]:
        yield from self.parts
        if self.types:
            yield is_(TYPE, In(tuple(sorted(self.types))))
        else:
            yield denial(is_(TYPE, In((*_ASKED_FOR, *sorted(self.other_types)))))


def _criterion(name: str, line: str) -> Criterion:
    if not is_text(line):
        raise InvalidCriterion("the line is not UTF-8")
    body = line.removeprefix("@@")
    match = None if _is_regex(body) else _OPTIONS.search(body)
    pattern = body[: match.start()] if match else body
    options = _options(match[1] if match else "")
    expression = conjunction([*_address(pattern, options.match_case), *options.all()])
    tags = frozenset({"exception"} if line.startswith("@@") else ())
    return Criterion(name, expression, tags, payload=options.kept or None)


def _is_regex(pattern: str) -> bool:
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")


def _options(text: str) -> _Options:
    found = _Options()
    for option in filter(None, text.split(",")):
        name, _, value = option.partition("=")
        denied, name = name.startswith("~"), name.removeprefix("~").lower()
        if name in _TYPES:
            (found.other_types if denied else found.types).add(_TYPES[name])
        elif name in ("third-party", "3p", "first-party", "1p"):
            wanted = (name in ("third-party", "3p")) is not denied
            found.parts.append(is_(THIRD_PARTY, In((wanted,))))
        elif name in ("domain", "from"):
            found.parts += _domains(value)
        elif name == "match-case":
            found.match_case = True
        elif name in _KEPT:
            found.kept[name] = value or True
        elif name != "all":
            raise InvalidCriterion(f"the option {name!r} is not read", "options")
    return found


def _domains(value: str) -> Iterator[Expression]:
    names = [one.lower() for one in value.split("|") if one]
    if any("*" in one or one.startswith("/") for one in names):
        raise InvalidCriterion("a domain is a name, without wildcards", "options")
    wanted = tuple(one for one in names if not one.startswith("~"))
    others = tuple(one[1:] for one in names if one.startswith("~"))
    if wanted:
        yield is_(SOURCES, In(wanted))
    if others:
        yield denial(is_(SOURCES, In(others)))


def _address(pattern: str, match_case: bool) -> Iterator[Expression]:
    """What is asked of the address; the host apart, where it is whole: that is found fast."""
    if _is_regex(pattern):
        flags = "" if match_case else "(?i)"
        yield is_(URL, Regex(flags + pattern[1:-1], find=True))
        return
    url: Term = URL if match_case else call("lower", URL)
    pattern = pattern if match_case else pattern.lower()
    if pattern.startswith("||"):
        host = _HOST.match(pattern, 2)
        rest = pattern[host.end() :] if host else pattern[2:]
        whole = host is not None and rest[:1] in ("^", "/", "?", ":", "|")
        if whole and host is not None:
            yield is_(HOSTS, In((host[0].lower(),)))
        if not whole or rest not in ("^", "^*", "^|"):
            yield is_(url, Regex(_BEFORE_HOST + _wild(pattern[2:]), find=True))
        return
    yield from _anywhere(pattern, url)


def _anywhere(pattern: str, url: Term) -> Iterator[Expression]:
    text = pattern.strip("*")
    at_start, at_end = text.startswith("|") and text == pattern, text.endswith("|")
    inner = text[at_start : len(text) - at_end] if text != "|" else ""
    if any(sign in inner for sign in "*^|"):
        yield is_(url, Regex(f"{'^' * at_start}{_wild(inner + '|' * at_end)}", find=True))
    elif inner and at_start and at_end:
        yield is_(url, In((inner,)))
    elif inner:
        yield is_(url, (Prefix if at_start else Suffix if at_end else Contains)(inner))


def _wild(pattern: str) -> str:
    """The pattern of RE2's: a star is any text, ^ the end of a name, a last | the end."""
    end = "$" if pattern.endswith("|") else ""
    parts = re.split(r"([*^])", pattern.removesuffix("|") if end else pattern.rstrip("*"))
    signs = {"*": "(?s:.*)", "^": _SEPARATOR}
    return "".join(signs.get(one) or literal_regex(one) for one in parts) + end
