"""Text patterns in linear time: regular expressions by RE2, and SQL's LIKE on top of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol, cast

import re2

from remuda.errors import InvalidCriterion
from remuda.model.values import checked_text

_COMPILED_BYTES = 1 << 26  # of patterns that are kept compiled, as they are estimated:
_PATTERN_BYTES, _INSTRUCTION_BYTES = 2_000, 64
_LARGEST = 10_000  # instructions of RE2's; with more, one text may take it minutes
SURELY_SMALL = 500  # characters of a text or of a LIKE pattern, which take fewer
_TOO_LARGE = object()  # for a set, in the place of one
_OPEN_QUOTE = re.compile(r"(?:\\Q.*?\\E|\\[^Q]|[^\\])*+\\Q(?:(?!\\E).)*", re.DOTALL)


class Match(Protocol):
    """What a pattern found."""

    def groups(self) -> tuple[str | None, ...]: ...
    def start(self) -> int: ...
    def end(self) -> int: ...


class Pattern(Protocol):
    """A compiled pattern."""

    @property
    def programsize(self) -> int: ...
    def fullmatch(self, text: str) -> Match | None: ...
    def search(self, text: str | bytes) -> Match | None: ...
    def finditer(self, text: str) -> Iterator[Match]: ...


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # otherwise refused patterns are written to stderr
    return options


def regex(pattern: str) -> Pattern:
    """The compiled pattern; InvalidCriterion where RE2 refuses it."""
    found = _COMPILED.get(pattern)
    if found is None:
        found = _compile(pattern)
        _COMPILED.keep(pattern, found, found.programsize)
    return cast("Pattern", found)


class _Compiled(dict[str | tuple[str, ...], Any]):
    """Patterns, and sets of them, that were compiled, within a bound of what they take about."""

    taken = 0

    def keep(self, key: str | tuple[str, ...], made: Any, n_instructions: int) -> None:
        n_characters = sum(map(len, key))
        self.taken += _PATTERN_BYTES + n_characters + _INSTRUCTION_BYTES * n_instructions
        if self.taken > _COMPILED_BYTES:
            self.clear()
            self.taken = 0
        self[key] = made


_COMPILED = _Compiled()


def found_among(patterns: tuple[str, ...], text: str | bytes) -> list[int]:
    """The numbers of the valid patterns that are found in the text, or in its UTF-8."""
    several = _COMPILED.get(patterns)
    if several is None:
        several = _compile_set(patterns)
        sizes = [_compile(one).programsize for one in patterns]
        _COMPILED.keep(patterns, several, sum(sizes))
    if several is _TOO_LARGE:
        return [i for i, one in enumerate(patterns) if regex(one).search(text) is not None]
    return several.Match(text) or []


def _compile_set(patterns: tuple[str, ...]) -> Any:
    """RE2 goes through a text once for all of a set, and asks for no groups."""
    several = re2.Set.SearchSet(_options())
    try:
        for one in patterns:
            several.Add(one)
        several.Compile()
    except re2.error:
        return _TOO_LARGE
    return several


def _compile(pattern: str) -> Pattern:
    try:
        return cast("Pattern", re2.compile(pattern, _options()))
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else error
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise InvalidCriterion(f"the pattern {_shortened(pattern)} is refused: {reason}") from None


def check_size(pattern: str) -> None:
    """InvalidCriterion where RE2 refuses the pattern, or would be too slow with it."""
    size = regex(pattern).programsize
    if size > _LARGEST:
        raise InvalidCriterion(
            f"the pattern {_shortened(pattern)} takes RE2 {size:,} instructions;"
            f" {_LARGEST:,} are the most"
        )


def closed(pattern: str) -> str:
    r"""The pattern with a `\Q` that was left open closed, or it would quote what is put behind."""
    return pattern + r"\E" if _OPEN_QUOTE.fullmatch(pattern) else pattern


def found_anywhere(pattern: str) -> str:
    """The pattern over whole strings that fits where `pattern` fits some part of them."""
    return f"(?s:.*)(?:{pattern})(?s:.*)"


def of_whole(pattern: str) -> str:
    """The pattern that is found in a text where `pattern` fits all of it."""
    return rf"\A(?:{pattern})\z"


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


def literal_regex(text: str) -> str:
    """A pattern that matches the text itself and nothing else."""
    return cast("str", re2.escape(checked_text(text, "what is sought")))


def matches_whole(pattern: str, text: str) -> bool:
    try:
        return regex(pattern).fullmatch(text) is not None
    except UnicodeEncodeError:  # a lone surrogate: no text that a pattern could describe
        return False


def groups_of(pattern: str, text: str) -> tuple[str | None, ...] | None:
    """What the groups of the pattern hold of the whole text; None where it does not match."""
    try:
        found = regex(pattern).fullmatch(text)
    except UnicodeEncodeError:
        return None
    return None if found is None else found.groups()


def finds(pattern: str, text: str) -> bool:
    try:
        return regex(pattern).search(text) is not None
    except UnicodeEncodeError:
        return False


def _shortened(pattern: str) -> str:
    return repr(pattern) if len(pattern) <= 200 else f"{pattern[:200]!r}…"
