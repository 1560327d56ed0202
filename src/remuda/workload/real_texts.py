"""Real texts that a user has: titles of DBLP, queries of a log, and documents, one text a line.

Files are plain or gzipped. What is no letter from a to z is a border between words.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_WORD = re.compile(r"[a-z]+")


def titles(path: str) -> Iterator[str]:
    """The titles in DBLP's XML, or the lines of another file."""
    with _opened(path) as lines:
        first = next(lines, "")
        if not first.lstrip().startswith("<"):
            yield first
            yield from lines
            return
        held = ""
        for line in (first, *lines):
            held += line  # a title may go on in the next line
            end = 0
            for found in _TITLE.finditer(held):
                yield unescape(_TAG.sub("", found[1]))
                end = found.end()
            begun = held.rfind("<title", end)
            held = held[begun:] if begun >= 0 else ""


def queries(path: str) -> Iterator[str]:
    """The queries of a log: its column Query, where tabs divide columns, or its lines."""
    with _opened(path) as lines:
        first = next(lines, "")
        names = first.rstrip("\n").split("\t")
        if "Query" not in names:
            yield first
            yield from lines
            return
        at = names.index("Query")
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if len(cells) > at:
                yield cells[at]


def words(text: str) -> list[str]:
    """The words of a text, without case."""
    return _WORD.findall(text.lower())


@contextmanager
def _opened(path: str) -> Iterator[Iterator[str]]:
    """The lines of a file while it is open."""
    opened = gzip.open if Path(path).suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as file:
        yield iter(file)
