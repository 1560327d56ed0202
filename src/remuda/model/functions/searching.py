"""Functions that look for text in text, by its letters, by LIKE or by Java's patterns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import LONGEST_TEXT, short, text
from remuda.model.functions.function import Function, table, taking
from remuda.model.java_patterns import re2_of
from remuda.model.patterns import Match, check_size, like_regex, matches_whole, regex

_FIRST_DIGIT = ord("0")


@taking(text, text, text)
def _like(value: str, pattern: str, escape: str = "\\") -> bool | None:
    """Whether the text fits the pattern; missing where Spark refuses the pattern."""
    fits = _made(like_regex, pattern, escape)
    return None if fits is None else matches_whole(fits, value)


@lru_cache(maxsize=8192)
def _made(make: Callable[..., str], *spelt: str) -> str | None:
    """The pattern for RE2 that is made of texts; None where it cannot be."""
    try:
        pattern = make(*spelt)
        check_size(pattern)
    except InvalidCriterion:
        return None
    return pattern


def _check_escape(arguments: Sequence[Any]) -> None:
    escape = arguments[2] if len(arguments) > 2 else "\\"
    if not isinstance(escape, str | None) or (escape is not None and len(escape) != 1):
        raise InvalidCriterion(f"LIKE's escape is one character, not {escape!r}")


# Java's patterns, whose groups keep their numbers: 0 is all that matches


def _in_groups(pattern: str) -> str:
    """The pattern for RE2, all of it a group."""
    return f"({re2_of(pattern, spans=True)})"


def _check_pattern(arguments: Sequence[Any]) -> None:
    pattern = arguments[1]
    if pattern is None:
        return
    if not isinstance(pattern, str):
        raise InvalidCriterion(f"a pattern is a string, not {pattern!r}")
    check_size(_in_groups(pattern))


def _found(value: str, pattern: str) -> Iterator[Match] | None:
    """The matches, one after the other; None where the pattern is none."""
    made = _made(_in_groups, pattern)
    return None if made is None else _each(regex(made).finditer(value))


def _each(matches: Iterator[Match]) -> Iterator[Match]:
    """The matches; RE2's own way finds one of nothing twice where it has to look for it."""
    last = -1, -1
    for match in matches:
        if (match.start(), match.end()) != last:
            yield match
        last = match.start(), match.end()


def _group(match: Match, n: int) -> str | None:
    """What the group holds, '' where it took no part; None where there is no such group."""
    groups = match.groups()
    return (groups[n] or "") if 0 <= n < len(groups) else None


@taking(text, text, short)
def _regexp_extract(value: str, pattern: str, group: int = 1) -> str | None:
    """What a group holds of the first match, '' where there is none; group 0 is the match."""
    matches = _found(value, pattern)
    if matches is None:
        return None
    first = next(matches, None)
    return "" if first is None else _group(first, group)


@taking(text, text, short)
def _regexp_extract_all(value: str, pattern: str, group: int = 1) -> list[str] | None:
    matches = _found(value, pattern)
    if matches is None:
        return None
    several = [_group(match, group) for match in matches]
    known = [one for one in several if one is not None]
    return known if len(known) == len(several) else None


@taking(text, text)
def _regexp_count(value: str, pattern: str) -> int | None:
    matches = _found(value, pattern)
    return None if matches is None else sum(1 for _ in matches)


def _regexp_substr(value: Any, pattern: Any) -> str | None:
    """The first match, missing where there is none or where it is empty."""
    return _regexp_extract(value, pattern, 0) or None


@taking(text, text)
def _regexp_instr(value: str, pattern: str) -> int | None:
    """Where the first match begins, from 1; 0 where there is none."""
    matches = _found(value, pattern)
    if matches is None:
        return None
    first = next(matches, None)
    return 0 if first is None else first.start() + 1


@taking(text, text, text, short)
def _regexp_replace(value: str, pattern: str, new: str, start: int = 1) -> str | None:
    """Every match written anew, `$1` being what its first group holds."""
    matches = _found(value, pattern)
    if start < 1 or matches is None:
        return None
    parts: list[str] = []
    end = length = 0
    for match in matches:
        if match.start() < start - 1:
            continue
        written = _replacement(new, match.groups())
        if written is None:
            return None
        parts += (value[end : match.start()], written)
        length += len(parts[-2]) + len(written)
        if length > LONGEST_TEXT:
            return None
        end = match.end()
    return "".join((*parts, value[end:])) if length + len(value) - end <= LONGEST_TEXT else None


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


@taking(text, text, short)
def _split(value: str, pattern: str, limit: int = -1) -> list[str] | None:
    """The parts between matches; the last of `limit` parts is all the rest."""
    matches = _found(value, pattern)
    if matches is None:
        return None
    if value and not pattern:
        several = list(value)
        return several if limit <= 0 or limit >= len(several) else several[:limit]
    parts: list[str] = []
    end = 0
    for match in matches:
        if 0 < limit <= len(parts) + 1:
            break
        if match.end() == 0:
            continue  # nothing at the very beginning parts nothing
        parts.append(value[end : match.start()])
        end = match.end()
    return [*parts, value[end:]]


@taking(text, text, short)
def _levenshtein(one: str, two: str, bound: int | None = None) -> int | None:
    """How many letters are put in, left out or changed; -1 where it is more than the bound."""
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
        Function("startswith", taking(text, text)(str.startswith), 2, 2),
        Function("endswith", taking(text, text)(str.endswith), 2, 2),
        Function("contains", taking(text, text)(operator.contains), 2, 2),
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
