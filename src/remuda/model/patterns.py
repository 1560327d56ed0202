"""Text patterns in linear time: regular expressions by RE2, and SQL's LIKE on top of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, cast

import re2

from remuda.errors import InvalidCriterion


class Pattern(Protocol):
    """A compiled pattern."""

    def fullmatch(self, text: str) -> object | None: ...
    def search(self, text: str) -> object | None: ...


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # otherwise refused patterns are written to stderr
    return options


@lru_cache(maxsize=16384)
def regex(pattern: str) -> Pattern:
    """The compiled pattern; InvalidCriterion where RE2 refuses it."""
    try:
        return cast("Pattern", re2.compile(pattern, _options()))
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else error
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise InvalidCriterion(f"the pattern {pattern!r} is refused: {reason}") from None


def like_regex(pattern: str, escape: str) -> str:
    """SQL's LIKE as a regular expression over whole strings."""
    parts, i = ["(?s)"], 0
    while i < len(pattern):
        character = pattern[i]
        if character == escape:
            i += 1
            if i == len(pattern):
                raise InvalidCriterion(f"the LIKE pattern {pattern!r} ends in its escape character")
            parts.append(re2.escape(pattern[i]))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re2.escape(character))
        i += 1
    return "".join(parts)


def matches_whole(pattern: str, text: str) -> bool:
    try:
        return regex(pattern).fullmatch(text) is not None
    except UnicodeEncodeError:  # a lone surrogate: no text that a pattern could describe
        return False


def finds(pattern: str, text: str) -> bool:
    try:
        return regex(pattern).search(text) is not None
    except UnicodeEncodeError:
        return False
