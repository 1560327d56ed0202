"""RE2's regular expressions for Java, which Spark uses: the part on which both can agree."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
      (?P<opening>\((?:\?:)?|[|^$])
    | (?P<atom>
          \\[dDwWnrtf]
        | \\[^\w\s]
        | \[\^?(?:[^\W_]-[^\W_]|\\[dDwWnrtf]|\\[^\w\s]|[^\[\]\\&^-])+\]
        | [^\\^$.\[\]|()*+?{}]
      )
    | (?P<other>\\[sS]|[.)])
    | (?P<quantifier>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
    """,
    re.VERBOSE | re.ASCII,
)
_SPACE = r"\t\n\f\r "
_OTHERWISE = {  # where Java means something else by the same sign
    r"\s": f"[{_SPACE}]",
    r"\S": f"[^{_SPACE}]",
    ".": r"[^\n]",
    "$": r"\z",
}


def java_regex(pattern: str) -> str | None:
    """The pattern as Java finds the same strings with it; None where that is not certain."""
    pieces, offset, repeatable = [], 0, False
    while offset < len(pattern):
        piece = _PIECE.match(pattern, offset)
        if piece is None or (piece["quantifier"] and not repeatable):
            return None
        pieces.append(_OTHERWISE.get(piece[0], piece[0]))
        repeatable = piece["atom"] is not None or piece["other"] is not None
        offset = piece.end()
    return "".join(pieces)
