"""Functions that look for text in text, by its letters, by LIKE or by Java's patterns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import LONGEST_TEXT, short, text
from remuda.model.functions.function import Function, table
from remuda.model.java_patterns import re2_of
from remuda.model.patterns import Match, check_size, like_regex, matches_whole, regex

_FIRST_DIGIT = ord("0")


def _of_two(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool | None]:
    def apply(value: Any, part: Any) -> bool | None:
        found, wanted = text(value), text(part)
        return None if found is None or wanted is None else test(found, wanted)

    return apply


def _like(value: Any, pattern: Any, escape: Any = "\\") -> bool | None:
    """Whether the text fits the pattern; missing where Spark refuses the pattern."""
    found, wanted, sign = text(value), text(pattern), text(escape)
    if found is None or wanted is None or sign is None:
        return None
    fits = _like_pattern(wanted, sign)
    return None if fits is None else matches_whole(fits, found)


@lru_cache(maxsize=4096)
def _like_pattern(pattern: str, escape: str) -> str | None:
    try:
        fits = like_regex(pattern, escape)
        check_size(fits)
    except InvalidCriterion:
        return None
    return fits


def _check_escape(arguments: Sequence[Any]) -> None:
    escape = arguments[2] if len(arguments) > 2 else "\\"
    if not isinstance(escape, str | None) or (escape is not None and len(escape) != 1):
        raise InvalidCriterion(f"LIKE's escape is one character, not {escape!r}")


# Java's patterns, whose groups keep their numbers: 0 is all that matches


@lru_cache(maxsize=4096)
def _in_groups(pattern: str) -> str | None:
    """The pattern for RE2, all of it a group; None where it cannot be."""
    try:
        made = f"({re2_of(pattern, spans=True)})"
        check_size(made)
    except InvalidCriterion:
        return None
    return made


def _check_pattern(arguments: Sequence[Any]) -> None:
    pattern = arguments[1]
    if pattern is None:
        return
    if not isinstance(pattern, str):
        raise InvalidCriterion(f"a pattern is a string, not {pattern!r}")
    check_size(f"({re2_of(pattern, spans=True)})")


def _found(value: Any, pattern: Any) -> Iterator[Match] | None:
    """The matches, one after the other; None where the text or the pattern is none."""
    found, wanted = text(value), text(pattern)
    made = None if found is None or wanted is None else _in_groups(wanted)
    return None if made is None or found is None else _each(regex(made).finditer(found))


def _each(matches: Iterator[Match]) -> Iterator[Match]:
    """The matches; RE2's own way finds one of nothing twice where it has to look for it."""
    last = -1, -1
    for match in matches:
        if (match.start(), match.end()) != last:
            yield match
        last = match.start(), match.end()


def _group(match: Match, group: Any) -> str | None:
    """What the group holds, '' where it took no part; None where there is no such group."""
    n, groups = short(group), match.groups()
    return (groups[n] or "") if n is not None and 0 <= n < len(groups) else None


def _regexp_extract(value: Any, pattern: Any, group: Any = 1) -> str | None:
    """What a group holds of the first match, '' where there is none; group 0 is the match."""
    matches = _found(value, pattern)
    if matches is None or short(group) is None:
        return None
    first = next(matches, None)
    return "" if first is None else _group(first, group)


def _regexp_extract_all(value: Any, pattern: Any, group: Any = 1) -> list[str] | None:
    matches = _found(value, pattern)
    if matches is None or short(group) is None:
        return None
    several = [_group(match, group) for match in matches]
    known = [one for one in several if one is not None]
    return known if len(known) == len(several) else None


def _regexp_count(value: Any, pattern: Any) -> int | None:
    matches = _found(value, pattern)
    return None if matches is None else sum(1 for _ in matches)


def _regexp_substr(value: Any, pattern: Any) -> str | None:
    """The first match, missing where there is none or where it is empty."""
    return _regexp_extract(value, pattern, 0) or None


def _regexp_instr(value: Any, pattern: Any) -> int | None:
    """Where the first match begins, from 1; 0 where there is none."""
    matches = _found(value, pattern)
    if matches is None:
        return None
    first = next(matches, None)
    return 0 if first is None else first.start() + 1


def _regexp_replace(value: Any, pattern: Any, replacement: Any, start: Any = 1) -> str | None:
    """Every match written anew, `$1` being what its first group holds."""
    found, new, first = text(value), text(replacement), short(start)
    matches = _found(value, pattern)
    if found is None or new is None or first is None or first < 1 or matches is None:
        return None
    parts: list[str] = []
    end = length = 0
    for match in matches:
        if match.start() < first - 1:
            continue
        written = _replacement(new, match.groups())
        if written is None:
            return None
        parts += (found[end : match.start()], written)
        length += len(parts[-2]) + len(written)
        if length > LONGEST_TEXT:
            return None
        end = match.end()
    return "".join((*parts, found[end:])) if length + len(found) - end <= LONGEST_TEXT else None


def _replacement(new: str, groups: Sequence[str | None]) -> str | None:
    r"""What stands for a match: `$` and the most digits that name a group, `\` before any other."""
    if "$" not in new and "\\" not in new:
        return new
    parts: list[str] = []
    i = 0
    while i < len(new):
        sign, i = new[i], i + 1
        if sign not in "$\\":
            parts.append(sign)
            continue
        if i == len(new):
            return None
        if sign == "\\":
            parts.append(new[i])
            i += 1
            continue
        n = ord(new[i]) - _FIRST_DIGIT
        if not 0 <= n <= 9 or n >= len(groups):
            return None
        i += 1
        while i < len(new) and "0" <= new[i] <= "9" and n * 10 + int(new[i]) < len(groups):
            n, i = n * 10 + int(new[i]), i + 1
        parts.append(groups[n] or "")
    return "".join(parts)


def _split(value: Any, pattern: Any, limit: Any = -1) -> list[str] | None:
    """The parts between matches; the last of `limit` parts is all the rest."""
    found, n = text(value), short(limit)
    matches = _found(value, pattern)
    if found is None or n is None or matches is None:
        return None
    if found and text(pattern) == "":
        several = list(found)
        return several if n <= 0 or n >= len(several) else several[:n]
    parts: list[str] = []
    end = 0
    for match in matches:
        if 0 < n <= len(parts) + 1:
            break
        if match.end() == 0:
            continue  # nothing at the very beginning parts nothing
        parts.append(found[end : match.start()])
        end = match.end()
    return [*parts, found[end:]]


def _levenshtein(value: Any, other: Any, most: Any = None) -> int | None:
    """How many letters are put in, left out or changed; -1 where it is more than `most`."""
    one, two = text(value), text(other)
    bound = None if most is None else short(most)
    if one is None or two is None or (most is not None and bound is None):
        return None
    if len(one) * len(two) > LONGEST_TEXT:
        return None
    row = list(range(len(two) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, own in enumerate(two, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != own))
    return row[-1] if bound is None or row[-1] <= bound else -1


FUNCTIONS = table(
    [
        Function("startswith", _of_two(str.startswith), 2, 2),
        Function("endswith", _of_two(str.endswith), 2, 2),
        Function("contains", _of_two(operator.contains), 2, 2),
        Function("like", _like, 2, 3, check=_check_escape),
        Function("regexp_extract", _regexp_extract, 2, 3, check=_check_pattern),
        Function("regexp_extract_all", _regexp_extract_all, 2, 3, check=_check_pattern),
        Function("regexp_count", _regexp_count, 2, 2, check=_check_pattern),
        Function("regexp_substr", _regexp_substr, 2, 2, check=_check_pattern),
        Function("regexp_instr", _regexp_instr, 2, 2, check=_check_pattern),
        Function("regexp_replace", _regexp_replace, 3, 4, check=_check_pattern),
        Function("split", _split, 2, 3, check=_check_pattern),
        Function("levenshtein", _levenshtein, 2, 3),
    ]
)
