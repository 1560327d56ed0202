"""Functions of text, whose characters are code points counted from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from remuda.model.functions.arguments import LONGEST_TEXT, SHORT, short, text
from remuda.model.functions.function import Function, table
from remuda.model.values import tidy


def _of_text(function: Callable[[str], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        found = text(value)
        return None if found is None else function(found)

    return apply


def _trimmed(strip: Callable[[str, str], str]) -> Callable[..., str | None]:
    def apply(value: Any, characters: Any = " ") -> str | None:
        found, cut = text(value), text(characters)
        if found is None or cut is None:
            return None
        return strip(found, cut) if cut else found

    return apply


def substring(value: Any, start: Any, length: Any = SHORT - 1) -> str | None:
    found, first, count = text(value), short(start), short(length)
    if found is None or first is None or count is None:
        return None
    begin = first - 1 if first > 0 else len(found) + first if first < 0 else 0
    return found[max(begin, 0) : max(begin + count, 0)]


def _left(value: Any, count: Any) -> str | None:
    found, n = text(value), short(count)
    return None if found is None or n is None else found[: max(n, 0)]


def _right(value: Any, count: Any) -> str | None:
    found, n = text(value), short(count)
    return None if found is None or n is None else found[max(len(found) - n, 0) :] if n > 0 else ""


def joined(joint: str, parts: Sequence[str | None]) -> str | None:
    """The texts, with the joint between them; None where one is none, or all are too long."""
    known = [part for part in parts if part is not None]
    n = sum(map(len, known)) + len(joint) * max(len(parts) - 1, 0)
    return None if len(known) < len(parts) or n > LONGEST_TEXT else joint.join(known)


def _concat(*values: Any) -> str | None:
    return joined("", [text(value) for value in values])


def _concat_ws(separator: Any, *values: Any) -> str | None:
    """The texts, and those of lists, joined; what is missing is left out."""
    joint = text(separator)
    parts: list[str | None] = []
    for value in map(tidy, values):
        several = value if isinstance(value, list) else [value]
        parts += (text(one) for one in several if tidy(one) is not None)
    return None if joint is None else joined(joint, parts)


def _replace(value: Any, search: Any, replacement: Any = "") -> str | None:
    found, old, new = text(value), text(search), text(replacement)
    if found is None or old is None or new is None:
        return None
    grows = len(new) > len(old) > 0
    if grows and len(found) + found.count(old) * (len(new) - len(old)) > LONGEST_TEXT:
        return None
    return found.replace(old, new) if old else found


def _split_part(value: Any, delimiter: Any, part: Any) -> str | None:
    """The part of that number, counted from the end where it is negative; '' beyond all parts."""
    found, joint, n = text(value), text(delimiter), short(part)
    if found is None or joint is None or n is None or n == 0:
        return None
    parts = found.split(joint) if joint else [found]
    i = n - 1 if n > 0 else len(parts) + n
    return parts[i] if 0 <= i < len(parts) else ""


def _instr(value: Any, part: Any) -> int | None:
    return _locate(part, value)


def _locate(part: Any, value: Any, start: Any = 1) -> int | None:
    """Where the part is found first from `start` on; 0 where it is not, 1 where it is empty."""
    wanted, found, first = text(part), text(value), short(start)
    if wanted is None or found is None or first is None:
        return None
    if first < 1:
        return 0
    return found.find(wanted, first - 1) + 1 if wanted else 1


FUNCTIONS = table(
    [
        Function("lower", _of_text(str.lower), 1, 1),
        Function("upper", _of_text(str.upper), 1, 1),
        Function("length", _of_text(len), 1, 1),
        Function("trim", _trimmed(str.strip), 1, 2),
        Function("ltrim", _trimmed(str.lstrip), 1, 2),
        Function("rtrim", _trimmed(str.rstrip), 1, 2),
        Function("substring", substring, 2, 3),
        Function("left", _left, 2, 2),
        Function("right", _right, 2, 2),
        Function("concat", _concat, 0, None),
        Function("concat_ws", _concat_ws, 1, None, on_missing=True, whole=True),
        Function("replace", _replace, 2, 3),
        Function("split_part", _split_part, 3, 3),
        Function("instr", _instr, 2, 2),
        Function("locate", _locate, 2, 3),
    ],
    lcase="lower",
    ucase="upper",
    len="length",
    char_length="length",
    character_length="length",
    btrim="trim",
    substr="substring",
    position="locate",
)
