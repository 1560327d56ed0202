"""Functions of codes in text: numbers by their base, sounds, checks, places in lists of words."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from remuda.model.functions.arguments import EXACT, LONG, Numeric, integer, number, short, text
from remuda.model.functions.function import Function, table, taking

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VOWEL, _SILENT = "0", "7"
_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
_MOST_PLACES = 400  # behind the point


def _conv(value: Any, base: Any, to: Any) -> str | None:
    """The number that a text begins with, of one base, in another; as 64 bits without a sign.

    With a negative base to write in, the bits are those of a number with a sign.
    """
    whole, source, target = integer(value), short(base), short(to)
    spelt = text(value) if whole is None else str(whole)
    if spelt is None or source is None or target is None:
        return None
    spelt = spelt.strip(" ")
    if not spelt or not 2 <= source <= 36 or not 2 <= abs(target) <= 36:
        return None
    magnitude = 0
    for letter in spelt.removeprefix("-"):
        digit = _DIGITS.find(letter.upper()) if letter.isascii() else -1
        if not 0 <= digit < source:
            break
        magnitude = magnitude * source + digit
        if magnitude >= 2 * LONG:
            return None
    falls = spelt.startswith("-")
    if target > 0:
        return _in_base(_negated(magnitude) if falls else magnitude, target)
    if magnitude >= LONG:
        falls, magnitude = True, 2 * LONG - magnitude
    return "-" * falls + _in_base(magnitude, -target)


def _negated(value: int) -> int:
    """The bits of the negative number, all of them for what has no such bits."""
    return 2 * LONG - 1 if value >= LONG else -value % (2 * LONG)


def _in_base(value: int, base: int) -> str:
    spelt = ""
    while value:
        value, digit = divmod(value, base)
        spelt = _DIGITS[digit] + spelt
    return spelt or "0"


@taking(text)
def _soundex(value: str) -> str:
    """A letter and three digits for how an English name sounds; other text as it is."""
    if not value or value[0].upper() not in _SOUNDS:
        return value
    code, last = value[0].upper(), _SOUNDS[value[0].upper()]
    for letter in value[1:]:
        sound = _SOUNDS.get(letter.upper(), _VOWEL) if letter.isascii() else _VOWEL
        if sound == _SILENT:
            continue
        if sound not in (_VOWEL, last):
            code += sound
        if len(code) == 4:
            break
        last = sound
    return code.ljust(4, "0")


@taking(text)
def _luhn_check(value: str) -> bool:
    """Whether the digits, each second from the end doubled, add up to tens."""
    if not value.isascii() or not value.isdigit():
        return False
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in value[-2::-2])
    return (sum(map(int, value[-1::-2])) + sum(doubled)) % 10 == 0


def _elt(place: Any, *values: Any) -> str | None:
    """The text of that number, from 1."""
    n = short(place)
    return text(values[n - 1]) if n is not None and 1 <= n <= len(values) else None


@taking(text, text)
def _find_in_set(word: str, words: str) -> int:
    """The place, from 1, among words that commas part; 0 where it is none of them."""
    several = words.split(",")
    return several.index(word) + 1 if word in several else 0


@taking(number, short)
def _format_number(value: Numeric, places: int) -> str | None:
    """With commas between thousands and so many places behind the point."""
    if not 0 <= places <= _MOST_PLACES:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    spelt = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    # A double has the digits it is spelt with; rounded is what it is
    exact = spelt if -int(spelt.as_tuple().exponent) <= places else Decimal(value)
    return f"{exact.quantize(Decimal((0, (1,), -places)), ROUND_HALF_EVEN, EXACT):,f}"


FUNCTIONS = table(
    [
        Function("conv", _conv, 3, 3),
        Function("bin", taking(integer)(lambda value: f"{value % (2 * LONG):b}"), 1, 1),
        Function("soundex", _soundex, 1, 1),
        Function("luhn_check", _luhn_check, 1, 1),
        Function("elt", _elt, 2, None, on_missing=True),
        Function("find_in_set", _find_in_set, 2, 2),
        Function("format_number", _format_number, 2, 2),
    ]
)
