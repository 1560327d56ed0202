"""Networks: addresses of IPv4 and IPv6 in their order, read as Python's `ipaddress` reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_network
from socket import AF_INET, inet_pton
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.values import is_text

Place = tuple[int, int]  # of an address: its family, 4 or 6, and its number there
Block = tuple[Place, Place]  # the first and the last address


def place_of(value: Any) -> Place | None:
    """Where an address stands; None for what is none, such as a number or a network."""
    if type(value) is str:
        return _place_of_text(value)
    return _place_of_text(str.__str__(value)) if isinstance(value, str) else None


@lru_cache(maxsize=1024)  # every network that a text is looked for in asks where it stands
def _place_of_text(value: str) -> Place | None:
    if not is_text(value):
        return None
    try:  # no address of one family has the sign of the other, and a wrong try takes as long
        if ":" in value:
            return 6, int(IPv6Address(value))
        # a tenth of what IPv4Address takes, and as strict
        return 4, int.from_bytes(inet_pton(AF_INET, value), "big")
    except (ValueError, OSError):
        return None


def address_at(place: Place) -> str:
    """The address that stands there."""
    family, number = place
    return str(IPv4Address(number) if family == 4 else IPv6Address(number))


def network_of(text: str) -> tuple[str, Block]:
    """A network in its usual spelling, and its addresses; an address is a network of one."""
    try:
        found = ip_network(text)
    except ValueError:
        raise InvalidCriterion(f"{text!r} is no network{_hint(text)}") from None
    first, last = int(found.network_address), int(found.broadcast_address)
    return str(found), ((found.version, first), (found.version, last))


def _hint(text: str) -> str:
    try:
        return f": bits are set behind its mask; {ip_network(text, strict=False)} is the network"
    except ValueError:
        return ", such as 10.0.0.0/8"


def joined(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The same addresses in as few blocks as there can be, in order."""
    disjoint: list[Block] = []
    for first, last in sorted(blocks):
        before = disjoint[-1] if disjoint else None
        if before is not None and first <= (before[1][0], before[1][1] + 1):
            disjoint[-1] = before[0], max(before[1], last)
        else:
            disjoint.append((first, last))
    return tuple(disjoint)


def is_inside(blocks: tuple[Block, ...], place: Place) -> bool:
    """Whether one of these blocks, which are joined, has the address."""
    family, number = place
    at = bisect_left(blocks, (family, number + 1), key=_first)
    return at > 0 and place <= blocks[at - 1][1]


def _first(block: Block) -> Place:
    return block[0]
