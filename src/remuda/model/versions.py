"""Versions in the order of Maven's ComparableVersion."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cmp_to_key, lru_cache
from typing import Any

# An item is an int, a str or a list of items; None stands for an item that is not there.
Item = Any

_QUALIFIERS = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")
_RELEASE = _QUALIFIERS.index("")
_ALIASES = {"cr": "rc", "ga": "", "final": "", "release": ""}
_SHORT = {"a": "alpha", "b": "beta", "m": "milestone"}
_TOKENS = re.compile(r"[0-9]+|[^0-9.\-]+|[.\-]")


@lru_cache(maxsize=65536)
def version_key(text: str) -> Any:
    """A key that orders as the version does; every text is a version."""
    return _in_order(parse_version(text))


def parse_version(text: str) -> list[Item]:
    """Numbers, qualifiers and nested lists, without what counts as nothing at their ends."""
    root: list[Item] = []
    lists = [root]

    def nest() -> None:
        inner: list[Item] = []
        lists[-1].append(inner)
        lists.append(inner)

    tokens = _TOKENS.findall(text.lower())
    after_separator = True
    for i, token in enumerate(tokens):
        if token in ".-":
            if after_separator:
                lists[-1].append(0)
            if token == "-":
                nest()
            after_separator = True
            continue
        if token[0] in "0123456789":
            if not after_separator:  # a letter stood right before
                nest()
            lists[-1].append(
                int(token) if len(token) < 4000 else Decimal(token)
            )  # int() has a limit
        else:
            before_digit = i + 1 < len(tokens) and tokens[i + 1][0] in "0123456789"
            last = i + 1 == len(tokens)
            if not after_separator or ((before_digit or last) and lists[-1]):
                nest()  # after a digit, and `.x` counts as `-x`
            name = _SHORT.get(token, token) if before_digit else token
            lists[-1].append(_ALIASES.get(name, name))
        after_separator = False
    for items in reversed(lists):
        _trim(items)
    return root


def _trim(items: list[Item]) -> None:
    """Drop the items that count as nothing before the end and before nested lists."""
    for i in reversed(range(len(items))):
        if items[i] in (0, "", []):
            del items[i]
        elif not isinstance(items[i], list):
            break


def _compare(left: Item, right: Item) -> int:
    if left is None:
        return 0 if right is None else -_compare(right, None)
    if right is None:
        return _sign_against_nothing(left)
    ranks = _rank(left), _rank(right)
    if ranks[0] != ranks[1]:
        return -1 if ranks[0] < ranks[1] else 1
    if isinstance(left, list):
        for i in range(max(len(left), len(right))):
            result = _compare(
                left[i] if i < len(left) else None, right[i] if i < len(right) else None
            )
            if result:
                return result
        return 0
    if isinstance(left, str):
        left, right = _qualifier(left), _qualifier(right)
    return int(left > right) - int(left < right)


def _sign_against_nothing(item: Item) -> int:
    if isinstance(item, list):
        return next((sign for part in item if (sign := _sign_against_nothing(part))), 0)
    if isinstance(item, str):
        rank, _ = _qualifier(item)
        return int(rank > _RELEASE) - int(rank < _RELEASE)
    return int(item != 0)


def _rank(item: Item) -> int:
    return 0 if isinstance(item, str) else 1 if isinstance(item, list) else 2


def _qualifier(name: str) -> tuple[int, str]:
    if name in _QUALIFIERS:
        return _QUALIFIERS.index(name), ""
    return len(_QUALIFIERS), name


_in_order = cmp_to_key(_compare)
