"""Functions that write text anew: padded, repeated, turned round, letter by letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from remuda.model.functions.arguments import LONGEST_TEXT, SHORT, integer, short, text
from remuda.model.functions.function import Function, table, taking
from remuda.model.functions.text import joined, substring
from remuda.model.values import tidy


def _reverse(value: Any) -> Any:
    """The text, or the list, from its end to its beginning."""
    if isinstance(value, list):
        return [tidy(one) for one in reversed(value)]
    found = text(value)
    return None if found is None else found[::-1]


@taking(text)
def _initcap(value: str) -> str:
    """Words, which spaces part, with their first letter in upper case and no other."""
    words = zip(value.split(" "), value.lower().split(" "), strict=True)
    return " ".join(one[:1].title() + low[len(one[:1].lower()) :] for one, low in words)


def _repeated(value: str, n: int) -> str | None:
    return None if len(value) * n > LONGEST_TEXT else value * n


def _padded(place: Callable[[str, str], str]) -> Callable[..., str | None]:
    @taking(text, short, text)
    def apply(value: str, length: int, padding: str = " ") -> str | None:
        if length > LONGEST_TEXT:
            return None
        n_more = max(length - len(value), 0) if padding else 0
        more = (padding * (n_more // max(len(padding), 1) + 1))[:n_more]
        return place(more, value[: max(length, 0)])

    return apply


@taking(text, text, text)
def _translate(value: str, old: str, new: str) -> str:
    """Each letter of `old` by that of `new` in its place; what has none is left out."""
    table: dict[int, str | None] = {}
    for i, letter in enumerate(old):
        table.setdefault(ord(letter), new[i] if i < len(new) else None)
    return value.translate(table)


@taking(text, text, short, short)
def _overlay(value: str, part: str, start: int, length: int = -1) -> str | None:
    """The text with a part of it written over, as many letters as the part has by default."""
    behind = start + (length if length >= 0 else len(part))
    if start == -SHORT or not -SHORT <= behind < SHORT:
        return None
    return joined("", [substring(value, 1, start - 1), part, substring(value, behind)])


@taking(text, text, short)
def _substring_index(value: str, joint: str, n: int) -> str:
    """All before so many delimiters, or behind them, counted from the end, if they are negative."""
    if not joint or n == 0:
        return ""
    at = -1 if n > 0 else len(value)
    for _ in range(abs(n)):
        at = value.find(joint, at + 1) if n > 0 else value.rfind(joint, 0, at + len(joint) - 1)
        if at < 0:
            return value
    return value[:at] if n > 0 else value[at + len(joint) :]


FUNCTIONS = table(
    [
        Function("reverse", _reverse, 1, 1, whole=True),
        Function("initcap", _initcap, 1, 1),
        Function("repeat", taking(text, short)(_repeated), 2, 2),
        Function("space", taking(short)(lambda n: _repeated(" ", n)), 1, 1),
        Function("lpad", _padded(lambda more, found: more + found), 2, 3),
        Function("rpad", _padded(lambda more, found: found + more), 2, 3),
        Function("translate", _translate, 3, 3),
        Function("overlay", _overlay, 3, 4),
        Function("substring_index", _substring_index, 3, 3),
        Function("ascii", taking(text)(lambda value: ord(value[0]) if value else 0), 1, 1),
        Function("chr", taking(integer)(lambda code: "" if code < 0 else chr(code & 0xFF)), 1, 1),
        Function("octet_length", taking(text)(lambda value: len(value.encode())), 1, 1),
        Function("bit_length", taking(text)(lambda value: len(value.encode()) * 8), 1, 1),
    ],
    char="chr",
)
