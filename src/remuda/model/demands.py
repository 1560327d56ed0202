r"""Demands of patterns: the literal texts that whatever a pattern matches has, in their order.

A pattern need only be tried on a text that meets one of its demands, and where a demand is exact,
it need not be tried at all. What is not understood is a gap, which demands nothing.

`(?i)` is RE2's: of the letters of ASCII, k and s alone have a third case (U+212A and U+017F), and
`folded` gives all cases of a letter one form. Other letters have orbits that differ from one
version of Unicode to the next, so they are gaps there.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import chain, product
from typing import NamedTuple

_DEEPEST = 20  # groups within groups that are looked into
_FEW = 64  # demands of one pattern that has texts outside of its alternatives, too
_MOST = 4096  # demands of one pattern
_WRITTEN_OUT = 256  # demands of one pattern whose classes are taken apart
_SEVERAL = 16  # of one alternative that has a long text, if they say all
LONG = 3  # characters of a text that is seldom met by chance
_FOLDED = str.maketrans(
    {**{ord(one): one.lower() for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, 0x17F: "s", 0x212A: "k"}
)

_TOKEN = re.compile(
    r"""
      (?P<text>(?:[^\\^$.\[|()*+?{]|\\(?:[^\w]|[afnrtv])){1,64}(?![*+?{]))
    | (?P<dot>\.)
    | (?P<start>\^|\\A)
    | (?P<end>\$|\\z)
    | (?P<edge>\\[bB])
    | (?P<flags>\(\?[imsU-]*\))
    | (?P<opening>\((?:\?(?:P?<[^>]*>|[imsU-]*:))?)
    | (?P<closing>\))
    | (?P<either>\|)
    | (?P<opaque>
          \\Q.*?(?:\\E|\Z)
        | \[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]
        | \\[pP](?:\{[^}]*\}|.) | \\x(?:\{[^}]*\}|..) | \\[0-7]{1,3} | \\[^\Wafnrtv]
      )
    | (?P<character>\\?.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REPEAT = re.compile(r"(?:(?:[*+?]|\{\d+(?:,\d*)?\})\??)+")
_REACHES_BACK = re.compile(r"(?:\(\?[imsU-]*\)|\\Q\\E)[*+?{]")  # repeats what stands before
_PERHAPS = ("?", "??")
_COUNTED = re.compile(r"\{(\d+)(?:,\d*)?\}\??")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASCII = frozenset(map(chr, range(128)))
# the first bytes of all other characters, as `surrogateescape` has them
_BEYOND_ASCII = "".join(chr(0xDC00 + byte) for byte in range(0xC2, 0xF5))
_CLASSES = {r"\d": "0123456789", r"\s": "\t\n\f\r "}
_ONE = r"\\[^\w]|\\[afnrtv]|[^\\\[\]-]"
_MEMBER = re.compile(rf"(?P<low>{_ONE})(?:-(?P<high>{_ONE}))?|(?P<known>\\[ds])|-", re.DOTALL)
_MEMBERS = re.compile(rf"\[\^?-?(?:(?:{_ONE})(?:-(?:{_ONE}))?|\\[ds])*-?\]", re.DOTALL)


class Demand(NamedTuple):
    """Texts that follow one another in what matches, with anything in between.

    One may end with the first byte of a character, as `surrogateescape` has it.

    Where it is `folded`, they are, and the text must be. Without pieces nothing is demanded.
    """

    pieces: tuple[str, ...]
    at_start: bool = False  # the first piece begins the text
    at_end: bool = False
    folded: bool = False
    exact: bool = False  # whatever meets it matches


class _Kind(Enum):
    TEXT = auto()
    ANY = auto()  # any text at all
    GAP = auto()  # something that is not understood
    CLASS = auto()  # one of the characters of its text, which may be first bytes; or none
    EDGE = auto()  # a condition that takes no room
    START = auto()
    END = auto()
    GROUP = auto()


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a sequence."""

    kind: _Kind
    text: str = ""
    folds: bool = False
    branches: tuple[tuple[_Part, ...], ...] = ()
    least: int = 0  # letters that a gap or a class has

    @property
    def shortest(self) -> int:
        """The least number of letters that it takes."""
        if self.kind is _Kind.GROUP:
            return _shortest(self.branches)
        return len(self.text) if self.kind is _Kind.TEXT else self.least

    @property
    def written_out(self) -> list[tuple[_Part, ...]]:
        """A text for each character of a class, and nothing if it may have none."""
        found: list[tuple[_Part, ...]] = [] if self.least else [()]
        for one in self.text:
            rest = () if one.isascii() else (_Part(_Kind.GAP),)
            found.append((_Part(_Kind.TEXT, one, self.folds), *rest))
        return found


@dataclass(frozen=True, slots=True)
class _Flags:
    """Which of `(?i)`, `(?s)` and `(?m)` are set."""

    i: bool = False
    s: bool = False
    m: bool = False

    def after(self, opening: str) -> _Flags:
        """The flags behind such as `(?i)`, or inside of `(?s-i:`."""
        if not opening.startswith("(?") or "<" in opening:
            return self
        on, _, off = opening.partition("-")
        return replace(
            self,
            i="i" in on or (self.i and "i" not in off),
            s="s" in on or (self.s and "s" not in off),
            m="m" in on or (self.m and "m" not in off),
        )


@dataclass(slots=True)
class _Level:
    """A group, or the whole, while it is read."""

    flags: _Flags
    branches: list[list[_Part]] = field(default_factory=lambda: [[]])


_TEXTS, _TELLING = (_Kind.TEXT,), (_Kind.TEXT, _Kind.CLASS)


def folded(text: str) -> str:
    """The text with one form for all cases that RE2 gives a letter of ASCII."""
    return text.translate(_FOLDED)


def demands_of(pattern: str, *, find: bool = False, classes: bool = True) -> list[Demand]:
    """What a text must have for the valid pattern to match it, or some of it: one of these.

    Where many texts would meet them, classes of few characters are taken apart, if they may be.
    """
    branches = _read(pattern)
    if branches is None:
        return [Demand(())]
    if len(branches) > _MOST:
        return [Demand(())]
    ways = [way for branch in branches for way in _ways(branch, _MOST // len(branches))]
    room = _WRITTEN_OUT // len(ways) if classes else 0
    return _needed([demand for way in ways for demand in _of_way(way, room, find)])


def shortest(pattern: str) -> int:
    """A number of letters that whatever the valid pattern matches has at least."""
    branches = _read(pattern)
    return 0 if branches is None else _shortest(branches)


def _shortest(branches: Iterable[Sequence[_Part]]) -> int:
    return min(sum(part.shortest for part in branch) for branch in branches)


def _read(pattern: str) -> list[list[_Part]] | None:
    """The alternatives, each a sequence of parts; None where that is not told."""
    if _REACHES_BACK.search(pattern):
        return None
    levels, offset = [_Level(_Flags())], 0
    while offset < len(pattern):
        token = _TOKEN.match(pattern, offset)
        if token is None:
            return None
        level, offset = levels[-1], token.end()
        match token.lastgroup:
            case "opening":
                levels.append(_Level(level.flags.after(token[0])))
            case "either":
                level.branches.append([])
            case "flags":
                level.flags = level.flags.after(token[0])
            case "text":
                level.branches[-1] += _texts(token[0], level.flags.i)
            case kind:
                repeat = _REPEAT.match(pattern, offset)
                offset = repeat.end() if repeat else offset
                if kind == "closing":
                    levels.pop()
                    if not 0 < len(levels) < _DEEPEST:
                        return None
                    part = _Part(_Kind.GROUP, branches=tuple(map(tuple, level.branches)))
                    if repeat:
                        part = _Part(_Kind.GAP, least=_times(repeat[0]) * part.shortest)
                    levels[-1].branches[-1].append(part)
                else:
                    repeated = repeat[0] if repeat else ""
                    level.branches[-1] += _parts(kind, token[0], repeated, level.flags)
    return levels[0].branches if len(levels) == 1 else None


def _parts(kind: str | None, token: str, repeat: str, flags: _Flags) -> Iterable[_Part]:
    if kind == "dot" and flags.s and repeat in ("*", "*?"):
        return [_Part(_Kind.ANY)]
    members = _members(token, flags.i) if kind == "opaque" else ""
    if kind == "character" and repeat in _PERHAPS and _unescaped(token).isascii():
        members = folded(_unescaped(token)) if flags.i else _unescaped(token)
    if members and repeat in ("", *_PERHAPS):
        return [_Part(_Kind.CLASS, members, flags.i, least=_times(repeat))]
    if repeat or kind in ("dot", "opaque"):
        takes = kind in ("dot", "opaque", "character") and token[:2] not in (r"\Q", r"\C")
        least = _times(repeat) if takes else 0
        if members and least:
            first = _Part(_Kind.CLASS, members, flags.i, least=1)
            return [first, _Part(_Kind.GAP, least=least - 1)]
        return [_Part(_Kind.GAP, least=least)]
    match kind:
        case "start":
            return [_Part(_Kind.EDGE if flags.m and token == "^" else _Kind.START)]
        case "end":
            return [_Part(_Kind.EDGE if flags.m and token == "$" else _Kind.END)]
        case "edge":
            return [_Part(_Kind.EDGE)]
        case _:
            return _texts(token, flags.i)


def _members(token: str, folds: bool) -> str:
    """The characters of a class, ascending; none where it is not understood.

    Of those that are not in ASCII the first bytes.
    """
    if token in _CLASSES:
        return _CLASSES[token]
    if not token.isascii() or not _MEMBERS.fullmatch(token):
        return ""
    characters: set[str] = set()
    for member in _MEMBER.finditer(token, 2 if token[1] == "^" else 1, len(token) - 1):
        low, high = (_unescaped(member[one] or "") for one in ("low", "high"))
        if low:
            characters.update(map(chr, range(ord(low), ord(high or low) + 1)))
        else:
            characters.update(_CLASSES.get(member[0], member[0]))
    if token[1] == "^":
        return "" if folds else "".join(sorted(_ASCII - characters)) + _BEYOND_ASCII
    return "".join(sorted(set(map(folded, characters)) if folds else characters))


def _unescaped(token: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), token)


def _times(repeat: str) -> int:
    """How often something is there at least that is repeated so; not always the most."""
    if repeat in ("", "+", "+?"):
        return 1
    counted = _COUNTED.fullmatch(repeat)
    return int(counted[1]) if counted else 0


def _texts(token: str, folds: bool) -> list[_Part]:
    text = _unescaped(token)
    if not folds or text.isascii():
        return [_Part(_Kind.TEXT, text, folds)]
    pieces = re.split(r"[^\x00-\x7f]+", text)
    parts = [_Part(_Kind.GAP)] * (2 * len(pieces) - 1)
    parts[::2] = [_Part(_Kind.TEXT, piece, folds) for piece in pieces]
    return [part for part in parts if part.kind is _Kind.GAP or part.text]


def _ways(sequence: Sequence[_Part], room: int) -> list[list[_Part]]:
    """A sequence, with alternatives inside of it taken apart while there is room; no groups."""
    flat = list(_flat(sequence))
    most = min(room, _FEW if any(part.kind is _Kind.TEXT for part in flat) else _MOST)
    gap = _Part(_Kind.GAP)
    choices: list[tuple[tuple[_Part, ...], ...]] = [
        ((gap if part.kind is _Kind.GROUP else part,),) for part in flat
    ]
    n_ways = 1
    for telling in (_TEXTS, _TELLING):  # those that only classes tell take no room from others
        for i, part in enumerate(flat):
            n_more = n_ways * len(part.branches)
            if choices[i] == ((gap,),) and _has_texts(part, telling) and n_more <= most:
                choices[i], n_ways = part.branches, n_more
    ways = [[part for piece in way for part in piece] for way in product(*choices)]
    if not any(part.kind is _Kind.GROUP for way in ways for part in way):
        return ways
    return [one for way in ways for one in _ways(way, room // n_ways)]


def _of_way(way: Sequence[_Part], room: int, find: bool) -> list[Demand]:
    """What a sequence demands; its classes are taken apart, the smallest first.

    That is worth it where many texts would meet it, or where no doubt is left then.
    """
    plain = _demand(way, find)
    common = max(map(len, plain.pieces), default=0) < LONG
    room = room if common else min(room, _SEVERAL)
    choices: list[list[tuple[_Part, ...]]] = [[(part,)] for part in way]
    for i in sorted(range(len(way)), key=lambda i: len(way[i].text)):
        part = way[i]
        # where case counts for nothing, U+017F and U+212A do not have their first bytes
        if part.kind is _Kind.CLASS and (part.text.isascii() or not plain.folded):
            written = part.written_out
            if len(written) <= room:
                room //= len(written)
                choices[i] = written
    found = [_demand(chain.from_iterable(one), find) for one in product(*choices)]
    return found if common or all(one.exact for one in found) else [plain]


def _needed(demands: list[Demand]) -> list[Demand]:
    """Without those that are met only where a text is that says all by itself."""
    found = {
        (one.pieces[0], one.folded)
        for one in demands
        if one.exact and len(one.pieces) == 1 and not one.at_start and not one.at_end
    }
    sizes = {len(text) for text, _ in found if len(text) < LONG}
    return list(dict.fromkeys(one for one in demands if not _has_one(one, found, sizes)))


def _has_one(demand: Demand, found: set[tuple[str, bool]], sizes: set[int]) -> bool:
    """Whether one of its pieces has a text of these sizes in it that is not all of the demand."""
    return any(
        (piece[at : at + size], demand.folded) in found
        for piece in demand.pieces
        for size in sizes
        if size < len(piece) or not demand.exact
        for at in range(len(piece) - size + 1)
    )


def _flat(sequence: Iterable[_Part]) -> Iterable[_Part]:
    """The parts with groups of one alternative written out."""
    for part in sequence:
        if part.kind is _Kind.GROUP and len(part.branches) == 1:
            yield from _flat(part.branches[0])
        else:
            yield part


def _has_texts(part: _Part, telling: Container[_Kind]) -> bool:
    """Whether each of its alternatives has a text that any match has, or another telling part."""
    return part.kind is _Kind.GROUP and all(
        any(one.kind in telling or _has_texts(one, telling) for one in branch)
        for branch in part.branches
    )


def _demand(sequence: Iterable[_Part], find: bool) -> Demand:
    pieces: list[str] = []
    joins = not find  # whether a text that follows begins right here
    at_start = ended = False
    exact, folds, cased = True, False, False
    bounded = joins  # at the start of the text, or behind a piece
    for part in sequence:
        if ended and part.kind is not _Kind.END:
            ended, exact = False, False
        match part.kind:
            case _Kind.TEXT:
                if joins and pieces:
                    pieces[-1] += part.text
                else:
                    at_start |= joins
                    pieces.append(part.text)
                joins = True
                folds, cased = folds or part.folds, cased or not part.folds
            case _Kind.ANY | _Kind.GAP | _Kind.CLASS:
                exact &= part.kind is _Kind.ANY
                joins, bounded = False, True
            case _Kind.START:
                exact &= not pieces and (joins or not bounded)
                joins |= not pieces and not bounded
                bounded = True
            case _Kind.END:
                ended = True
            case _Kind.EDGE | _Kind.GROUP:
                exact = False
    at_end = bool(pieces) and joins and (ended or not find)
    if not pieces:
        return Demand((), exact=exact and not joins and not ended)
    if not folds:
        return Demand(tuple(pieces), at_start, at_end, False, exact)
    both = tuple(map(folded, pieces))
    return Demand(both, at_start, at_end, True, exact and not cased)
