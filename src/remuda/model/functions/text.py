"""Functions of text, whose characters are code points counted from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from remuda.model.functions.arguments import LONGEST_TEXT, SHORT, short, text
from remuda.model.functions.function import Function, table, taking
from remuda.model.values import tidy


def _trimmed(strip: Callable[[str, str], str]) -> Callable[..., str | None]:
    @taking(text, text)
    def apply(value: str, characters: str = " ") -> str:
        return strip(value, characters) if characters else value

    return apply


def substring(value: str, start: int, length: int = SHORT - 1) -> str:
    """So many characters from that number on, which is counted from the end if it is negative."""
    begin = start - 1 if start > 0 else len(value) + start if start < 0 else 0
    return value[max(begin, 0) : max(begin + length, 0)]


def _right(value: str, count: int) -> str:
    return value[max(len(value) - count, 0) :] if count > 0 else ""


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


@taking(text, text, text)
def _replace(value: str, old: str, new: str = "") -> str | None:
    grows = len(new) > len(old) > 0
    if grows and len(value) + value.count(old) * (len(new) - len(old)) > LONGEST_TEXT:
        return None
    return value.replace(old, new) if old else value


@taking(text, text, short)
def _split_part(value: str, delimiter: str, n: int) -> str | None:
    """The part of that number, counted from the end where it is negative; '' beyond all parts."""
    if n == 0:
        return None
    parts = value.split(delimiter) if delimiter else [value]
    i = n - 1 if n > 0 else len(parts) + n
    return parts[i] if 0 <= i < len(parts) else ""


@taking(text, text, short)
def _locate(part: str, value: str, start: int = 1) -> int:
    """Where the part is found first from `start` on; 0 where it is not, 1 where it is empty."""
    if start < 1:
        return 0
    return value.find(part, start - 1) + 1 if part else 1


FUNCTIONS = table(
    [
        Function("lower", taking(text)(str.lower), 1, 1),
        Function("upper", taking(text)(str.upper), 1, 1),
        Function("length", taking(text)(len), 1, 1),
        Function("trim", _trimmed(str.strip), 1, 2),
        Function("ltrim", _trimmed(str.lstrip), 1, 2),
        Function("rtrim", _trimmed(str.rstrip), 1, 2),
        Function("substring", taking(text, short, short)(substring), 2, 3),
        Function("left", taking(text, short)(lambda value, n: value[: max(n, 0)]), 2, 2),
        Function("right", taking(text, short)(_right), 2, 2),
        Function("concat", _concat, 0, None),
        Function("concat_ws", _concat_ws, 1, None, on_missing=True, whole=True),
        Function("replace", _replace, 2, 3),
        Function("split_part", _split_part, 3, 3),
        Function("instr", lambda value, part: _locate(part, value), 2, 2),
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
