"""Versions in the order of Maven's ComparableVersion, which has cycles.

`0.0.0-alpha < 0.0.0 < v2 < 0.0.0-alpha`: two versions always compare, many need not sort.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import chain

Item = int | Decimal | str
Level = tuple[Item, ...]

_QUALIFIERS = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")
_RELEASE = _QUALIFIERS.index("")
_ALIASES = {"cr": "rc", "ga": "", "final": "", "release": ""}
_SHORT = {"a": "alpha", "b": "beta", "m": "milestone"}
_TOKENS = re.compile(r"[0-9]+|[^0-9.\-]+|[.\-]")
_REMEMBERED = 1 << 14  # versions, of so many characters at most:
_SHORT_TEXT = 128


@dataclass(frozen=True, slots=True, eq=False)
class VersionKey:
    """A version read: items, then those of the list nested behind them, and so on inward.

    A nested list is always the last of its own, so no comparison needs recursion.
    """

    levels: tuple[Level, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is numbers and dots alone.

        Such versions are in order among themselves, and every other version lies between two of
        them: what comes before and what comes after it meet at one place of their order.
        """
        return not self.levels or (
            len(self.levels) == 1 and not any(isinstance(item, str) for item in self.levels[0])
        )

    def compare(self, other: VersionKey) -> int:
        """Below zero, zero or above it, as this comes before, beside or behind the other."""
        return _compare(self.levels, other.levels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionKey) and self.compare(other) == 0

    def __lt__(self, other: VersionKey) -> bool:
        return self.compare(other) < 0

    __hash__ = None  # type: ignore[assignment]


def version_key(text: str) -> VersionKey:
    """The version that the text is, to be compared with others; every text is a version."""
    return _remembered(text) if len(text) <= _SHORT_TEXT else VersionKey(parse_version(text))


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str) -> VersionKey:
    return VersionKey(parse_version(text))


def parse_version(text: str) -> tuple[Level, ...]:
    """The levels, without what counts as nothing at their ends."""
    levels: list[list[Item]] = [[]]
    tokens = _TOKENS.findall(text.lower())
    after_separator = True
    for i, token in enumerate(tokens):
        if token in ".-":
            if after_separator:
                levels[-1].append(0)
            if token == "-":
                levels.append([])
            after_separator = True
            continue
        if token[0] in "0123456789":
            if not after_separator:  # a letter stood right before
                levels.append([])
            levels[-1].append(
                int(token) if len(token) < 4000 else Decimal(token)
            )  # int() has a limit
        else:
            before_digit = i + 1 < len(tokens) and tokens[i + 1][0] in "0123456789"
            last = i + 1 == len(tokens)
            if not after_separator or ((before_digit or last) and levels[-1]):
                levels.append([])  # after a digit, and `.x` counts as `-x`
            name = _SHORT.get(token, token) if before_digit else token
            levels[-1].append(_ALIASES.get(name, name))
        after_separator = False
    for items in levels:
        while items and items[-1] in (0, ""):
            items.pop()
    while levels and not levels[-1]:
        levels.pop()
    return tuple(map(tuple, levels))


def _compare(left: Sequence[Level], right: Sequence[Level]) -> int:
    for depth in range(max(len(left), len(right))):
        ours, theirs = (one[depth] if depth < len(one) else () for one in (left, right))
        for item, other in zip(ours, theirs, strict=False):
            order = _compare_items(item, other)
            if order:
                return order
        ours_nest, theirs_nest = depth + 1 < len(left), depth + 1 < len(right)
        if len(ours) == len(theirs) and ours_nest and theirs_nest:
            continue
        if len(ours) > len(theirs) and theirs_nest:
            return -1 if isinstance(ours[len(theirs)], str) else 1
        if len(theirs) > len(ours) and ours_nest:
            return 1 if isinstance(theirs[len(ours)], str) else -1
        # one has nothing more, neither an item nor a nested list
        behind = depth + 1
        return _sign(ours[len(theirs) :], left[behind:]) - _sign(
            theirs[len(ours) :], right[behind:]
        )
    return 0


def _compare_items(left: Item, right: Item) -> int:
    """Words come before numbers; a nested list, which is neither, between the two."""
    if isinstance(left, str):
        if not isinstance(right, str):
            return -1
        ours, theirs = _qualifier(left), _qualifier(right)
        return int(ours > theirs) - int(ours < theirs)
    if isinstance(right, str):
        return 1
    return int(left > right) - int(left < right)


def _sign(items: Iterable[Item], nested: Iterable[Level]) -> int:
    """How these compare with nothing at all: as the first that counts."""
    for item in chain(items, chain.from_iterable(nested)):
        if isinstance(item, str):
            rank, _ = _qualifier(item)
            sign = int(rank > _RELEASE) - int(rank < _RELEASE)
        else:
            sign = int(item != 0)
        if sign:
            return sign
    return 0


def _qualifier(name: str) -> tuple[int, str]:
    if name in _QUALIFIERS:
        return _QUALIFIERS.index(name), ""
    return len(_QUALIFIERS), name
