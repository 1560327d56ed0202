"""Texts that fit a regular expression, drawn at random."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from remuda.errors import InvalidCriterion
from remuda.model.patterns import matches_whole

_POOL = "aZ0_ -.\n\t\r~/@éαя\u05d0\u0639अ한日"  # tried where a pattern leaves the choice
_ATOM = re.compile(
    r"""
      \\Q(?P<quoted>.*?)(?:\\E|\Z)
    | (?P<one>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\] | \\[pP](?:\{[^}]*\}|.) | \.)
    | \\x(?:\{(?P<long>[0-9A-Fa-f]+)\}|(?P<short>[0-9A-Fa-f]{2}))
    | (?P<nothing>\\[AzbB] | [$^] | \(\?[imsU-]+\))
    | (?P<open>\((?:\?(?:P?<\w+>|[imsU-]*:))?)
    | (?P<escape>\\.)
    | (?P<literal>[^|)])
    """,
    re.VERBOSE | re.DOTALL,
)
_REPEAT = re.compile(r"(?:([*+?])|\{(\d+)(,(\d*))?\})[?]?")
_HEX = re.compile(r"\\x\{?([0-9A-Fa-f]{1,6})")


def text_for(pattern: str, rng: Random) -> str:
    """A text made after the pattern; it nearly always matches, and the caller looks."""
    return _Writer(pattern, rng).alternatives()


@dataclass(slots=True)
class _Writer:
    """A reader of the pattern that writes as it goes."""

    pattern: str
    rng: Random
    at: int = 0

    def alternatives(self) -> str:
        found = [self._sequence()]
        while self.pattern[self.at : self.at + 1] == "|":
            self.at += 1
            found.append(self._sequence())
        return self.rng.choice(found)

    def _sequence(self) -> str:
        parts = []
        while (atom := _ATOM.match(self.pattern, self.at)) is not None:
            self.at = atom.end()
            text = self._atom(atom)
            repeat = _REPEAT.match(self.pattern, self.at)
            if repeat is not None:
                self.at = repeat.end()
                text *= self._times(repeat)
            parts.append(text)
        return "".join(parts)

    def _atom(self, atom: re.Match[str]) -> str:
        if atom["nothing"]:
            return ""
        if atom["open"]:
            text = self.alternatives()
            self.at += 1  # the closing parenthesis
            return text
        if atom["long"] or atom["short"]:
            return chr(int(atom["long"] or atom["short"], 16))
        if atom["one"] or atom["escape"]:
            return self._character(atom[0])
        return atom["literal"] or atom["quoted"]

    def _character(self, atom: str) -> str:
        named = "".join(chr(int(code, 16)) for code in _HEX.findall(atom))
        try:
            fits = [one for one in dict.fromkeys(named + atom + _POOL) if matches_whole(atom, one)]
        except InvalidCriterion:  # meant something else there
            return ""
        return self.rng.choice(fits) if fits else ""

    def _times(self, repeat: re.Match[str]) -> int:
        sign, least, comma, most = repeat.groups()
        low = {"+": 1}.get(sign, 0) if sign else int(least)
        if sign == "?":
            high = 1
        elif sign or (comma and not most):
            high = low + 2
        else:
            high = int(most) if most else low
        return self.rng.randint(low, min(high, low + 2))
