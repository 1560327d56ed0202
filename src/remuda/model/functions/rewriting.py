"""Functions that write text anew: padded, repeated, turned round, letter by letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from remuda.model.functions.arguments import LONGEST_TEXT, SHORT, integer, short, text
from remuda.model.functions.function import Function, table
from remuda.model.functions.text import joined, substring
from remuda.model.values import tidy


def _reverse(value: Any) -> Any:
    """The text, or the list, from its end to its beginning."""
    if isinstance(value, list):
        return [tidy(one) for one in reversed(value)]
    found = text(value)
    return None if found is None else found[::-1]


def _initcap(value: Any) -> str | None:
    """Words, which spaces part, with their first letter in upper case and no other."""
    found = text(value)
    if found is None:
        return None
    words = zip(found.split(" "), found.lower().split(" "), strict=True)
    return " ".join(one[:1].title() + low[len(one[:1].lower()) :] for one, low in words)


def _repeat(value: Any, count: Any) -> str | None:
    found, n = text(value), short(count)
    if found is None or n is None or len(found) * n > LONGEST_TEXT:
        return None
    return found * n


def _space(count: Any) -> str | None:
    return _repeat(" ", count)


def _padded(place: Callable[[str, str], str]) -> Callable[..., str | None]:
    def apply(value: Any, length: Any, pad: Any = " ") -> str | None:
        found, n, padding = text(value), short(length), text(pad)
        if found is None or n is None or padding is None or n > LONGEST_TEXT:
            return None
        n_more = max(n - len(found), 0) if padding else 0
        more = (padding * (n_more // max(len(padding), 1) + 1))[:n_more]
        return place(more, found[: max(n, 0)])

    return apply


def _translate(value: Any, old: Any, new: Any) -> str | None:
    """Each letter of `old` by that of `new` in its place; what has none is left out."""
    found, letters, others = text(value), text(old), text(new)
    if found is None or letters is None or others is None:
        return None
    table: dict[int, str | None] = {}
    for i, letter in enumerate(letters):
        table.setdefault(ord(letter), others[i] if i < len(others) else None)
    return found.translate(table)


def _overlay(value: Any, part: Any, start: Any, length: Any = -1) -> str | None:
    """The text with a part of it written over, as many letters as the part has by default."""
    found, put, first, n = text(value), text(part), short(start), short(length)
    if found is None or put is None or first is None or n is None:
        return None
    behind = first + (n if n >= 0 else len(put))
    if first == -SHORT or not -SHORT <= behind < SHORT:
        return None
    return joined("", [substring(found, 1, first - 1), put, substring(found, behind)])


def _substring_index(value: Any, delimiter: Any, count: Any) -> str | None:
    """All before so many delimiters, or behind them, counted from the end, if they are negative."""
    found, joint, n = text(value), text(delimiter), short(count)
    if found is None or joint is None or n is None:
        return None
    if not joint or n == 0:
        return ""
    at = -1 if n > 0 else len(found)
    for _ in range(abs(n)):
        at = found.find(joint, at + 1) if n > 0 else found.rfind(joint, 0, at + len(joint) - 1)
        if at < 0:
            return found
    return found[:at] if n > 0 else found[at + len(joint) :]


def _ascii(value: Any) -> int | None:
    found = text(value)
    return None if found is None else ord(found[0]) if found else 0


def _chr(value: Any) -> str | None:
    code = integer(value)
    return None if code is None else "" if code < 0 else chr(code & 0xFF)


def _bytes(unit: int) -> Callable[[Any], int | None]:
    def apply(value: Any) -> int | None:
        found = text(value)
        return None if found is None else len(found.encode()) * unit

    return apply


FUNCTIONS = table(
    [
        Function("reverse", _reverse, 1, 1, whole=True),
        Function("initcap", _initcap, 1, 1),
        Function("repeat", _repeat, 2, 2),
        Function("space", _space, 1, 1),
        Function("lpad", _padded(lambda more, found: more + found), 2, 3),
        Function("rpad", _padded(lambda more, found: found + more), 2, 3),
        Function("translate", _translate, 3, 3),
        Function("overlay", _overlay, 3, 4),
        Function("substring_index", _substring_index, 3, 3),
        Function("ascii", _ascii, 1, 1),
        Function("chr", _chr, 1, 1),
        Function("octet_length", _bytes(1), 1, 1),
        Function("bit_length", _bytes(8), 1, 1),
    ],
    char="chr",
)
