"""How seldom texts are thought to satisfy a condition, by its literal texts alone."""

from __future__ import annotations

import math

from remuda.model.conditions import Condition, Contains, Like, Regex, Suffix

_PLACES = 64  # in a text at which a literal may stand
_COMMON, _SELDOM, _OTHER = 0.06, 0.02, 0.01  # the shares of characters
_SHARES = {
    **dict.fromkeys("bdfghjkmpquvwxyz", _SELDOM),
    **dict.fromkeys("etaoinsrlc0123456789 \\/.:-_", _COMMON),
}


def share_of(condition: Condition) -> float:
    """The share of texts that are thought to satisfy the condition; 1 where nothing is known."""
    if not isinstance(condition, Regex | Like | Suffix | Contains):
        return 1.0
    rarest = (min(map(_chance, one.pieces), default=1.0) for one in condition.demands)
    return min(sum(rarest), 1.0)


def _chance(literal: str) -> float:
    return _PLACES * math.prod(_SHARES.get(one, _OTHER) for one in literal.lower())
