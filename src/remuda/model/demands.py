r"""Demands of patterns: which literal texts RE2's filter may ask for before it tries a pattern.

The filter joins what it asks for in a tree that all patterns share, and prunes that tree: a
pattern that demands one text three times, beside ten others that demand it too, loses its last
link and is never tried again. So each pattern is written in a way that demands no text twice.
Whatever else it says stands beside an alternative that never matches, and then RE2 asks for
nothing on its account; the meaning stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

_NEVER = r"\z(?s:.)"  # a character behind the end
_BREAK = f"(?:|{_NEVER})"  # nothing at all, but RE2 does not join the texts on its two sides
_LEAST = 3  # bytes of a text that RE2 asks for
_MOST = 256  # characters of a text that it may ask for: all texts share one automaton
_FOLDING = 4  # characters with three cases, which RE2 reads in two ways: it joins 16 texts
_DEEPEST = 20  # groups within groups that are looked into

_TOKEN = re.compile(
    r"""
      (?P<text>(?:[^\\^$.\[|()*+?{]|\\[^\w]){1,64}(?![*+?{]))
    | (?P<broad>\.|\\[wWDS])
    | (?P<edge>[$^]|\\[AbBz])
    | (?P<flags>\(\?[imsU-]+\))
    | (?P<opening>\((?:\?(?:P?<[^>]*>|[imsU-]*:))?)
    | (?P<closing>\))
    | (?P<either>\|)
    | (?P<single>\\[dsnrtf] | \[(?!\^)\]?(?:\[:\w+:\]|\\[^pP]|[^\]\\])*\])
    | (?P<opaque>
          \\Q.*?(?:\\E|\Z)
        | \[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]
        | \\[pP](?:\{[^}]*\}|.) | \\x(?:\{[^}]*\}|..) | \\[0-7]{1,3} | \\\w
      )
    | (?P<character>\\?.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BROAD = r"(?:(?:\.|\\[wWDS]|\(\?s:\.\*\))[*+?]*+|\[\w+-\w+\]\*|\(\?:|\)(?![*+?{]))*+"
_TAME = re.compile(  # two texts at most, so that none is there thrice
    rf"(?:\(\?s\))?{_BROAD}(?:(?:[^\\^$.\[|()*+?{{]|\\\W){{1,{_MOST}}}+{_BROAD}){{0,2}}", re.DOTALL
)
_REPEAT = re.compile(r"(?:(?:[*+?]|\{\d+(?:,\d*)?\})\??)+")
_CHARACTER = re.compile(r"\\?(.)", re.DOTALL)


class _Kind(Enum):
    TEXT = auto()
    REST = auto()  # of a text that is too long
    GROUP = auto()  # not repeated
    FLAGS = auto()
    NOTHING = auto()  # that RE2 could ask for; it does not join the texts on its two sides
    OTHER = auto()


@dataclass(slots=True)
class _Piece:
    """A part of a sequence."""

    kind: _Kind
    start: int
    end: int
    text: str = ""  # as RE2 asks for it, in lower case
    opening: str = ""
    branches: list[list[_Piece]] = field(default_factory=list)
    shown: bool = False

    @property
    def demands(self) -> bool:
        """Whether it is a text that RE2 asks for."""
        return self.kind is _Kind.TEXT and (len(self.text) >= _LEAST or not self.text.isascii())


@dataclass(slots=True)
class _Level:
    """A group, or the whole, while it is read."""

    start: int
    opening: str
    folds: bool  # whether case is ignored
    branches: list[list[_Piece]] = field(default_factory=lambda: [[]])


def demanding_once(pattern: str) -> str:
    """The same pattern, which is a valid one, in a way that demands no text twice."""
    if _TAME.fullmatch(pattern):
        return pattern
    branches = _read(pattern)
    if branches is None:
        return _hidden(pattern)
    if len(branches) == 1:
        shown = _distinct(branches[0]) or _one(branches[0])
    else:
        shown = _one_each(branches)
    for piece in shown:
        piece.shown = True
    return _written(pattern, branches)


def _read(pattern: str) -> list[list[_Piece]] | None:
    """The alternatives, each a sequence of pieces; None where they nest too deeply."""
    levels, at = [_Level(0, "", folds=False)], 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return None
        level, start, at = levels[-1], at, token.end()
        match token.lastgroup:
            case "opening":
                levels.append(_Level(start, token[0], _folds(token[0], level.folds)))
            case "either":
                level.branches.append([])
            case "flags":
                level.folds = _folds(token[0], level.folds)
                level.branches[-1].append(_Piece(_Kind.FLAGS, start, at))
            case "text":
                _extend(level, start, token[0])
            case kind:
                repeat = _REPEAT.match(pattern, at)
                if repeat is None and kind in ("character", "edge"):
                    _extend(level, start, token[0], is_edge=kind == "edge")
                    continue
                at = repeat.end() if repeat else at
                piece = _Piece(_kind_of(kind, repeat), start, at)
                if kind == "closing":
                    levels.pop()
                    if not 0 < len(levels) < _DEEPEST:
                        return None
                    piece.start, piece.opening = level.start, level.opening
                    piece.branches = level.branches
                    if piece.kind is _Kind.GROUP and _asks_nothing(level.branches):
                        piece.kind = _Kind.NOTHING
                levels[-1].branches[-1].append(piece)
    return levels[0].branches if len(levels) == 1 else None


def _kind_of(token: str | None, repeat: re.Match[str] | None) -> _Kind:
    """What RE2 makes of it. An optional group may be empty, and then it joins its neighbours."""
    sign = repeat[0][:2] if repeat else ""
    if token in ("broad", "single", "character") and sign[:1] in ("*", "?") and sign:
        return _Kind.NOTHING
    if token == "broad" and sign != "{0":
        return _Kind.NOTHING
    return _Kind.GROUP if token == "closing" and not repeat else _Kind.OTHER


def _asks_nothing(branches: Sequence[Sequence[_Piece]]) -> bool:
    kinds = {piece.kind for piece in branches[0]}
    return len(branches) == 1 and _Kind.NOTHING in kinds <= {_Kind.NOTHING, _Kind.FLAGS}


def _folds(opening: str, before: bool) -> bool:
    """Whether case is ignored behind flags such as `(?i)` or `(?s-i:`."""
    if not opening.startswith("(?") or "<" in opening:
        return before
    on, _, off = opening.partition("-")
    return "i" in on or (before and "i" not in off)


def _extend(level: _Level, start: int, raw: str, *, is_edge: bool = False) -> None:
    """Put characters, or an edge, which RE2 passes over, behind the text that stands there."""
    if is_edge:
        parts = [(raw, "")]
    elif level.folds:
        parts = [(one[0], one[1]) for one in _CHARACTER.finditer(raw)]
    else:
        parts = [(raw, _CHARACTER.sub(r"\1", raw))]
    sequence = level.branches[-1]
    for part, text in parts:
        if not sequence or sequence[-1].kind not in (_Kind.TEXT, _Kind.REST):
            sequence.append(_Piece(_Kind.TEXT, start, start))
        last = sequence[-1]
        # one character at a time: Σ has two lower cases, and İ has one of two characters
        grown = last.text + "".join([one.lower()[:1] for one in text])
        if last.kind is _Kind.TEXT and not _fits(grown, level.folds):
            last = _Piece(_Kind.REST, start, start)
            sequence.append(last)
        elif last.kind is _Kind.TEXT:
            last.text = grown
        start += len(part)
        last.end = start


def _fits(text: str, folds: bool) -> bool:
    """Whether RE2 takes the text as one: not where it must split the readings of its cases."""
    folding = text.count("s") + text.count("k") if folds else 0
    return len(text) <= _MOST and folding <= _FOLDING and (not folds or text.isascii())


def _distinct(sequence: Sequence[_Piece]) -> list[_Piece]:
    """The texts that every match has, each once."""
    found: dict[str, _Piece] = {}
    for piece in sequence:
        if piece.demands:
            found.setdefault(piece.text, piece)
        elif len(piece.branches) == 1 and piece.kind is _Kind.GROUP:
            for inner in _distinct(piece.branches[0]):
                found.setdefault(inner.text, inner)
    return list(found.values())


def _one(sequence: Sequence[_Piece]) -> list[_Piece]:
    """The longest text that every match has, or texts of which every match has one."""
    texts = _distinct(sequence)
    if texts:
        return [max(texts, key=lambda piece: len(piece.text))]
    groups = (_one_each(piece.branches) for piece in sequence if piece.kind is _Kind.GROUP)
    return next(filter(None, groups), [])


def _one_each(branches: Sequence[Sequence[_Piece]]) -> list[_Piece]:
    """The same of every alternative; empty where one demands nothing."""
    found = [_one(branch) for branch in branches]
    return [piece for one in found for piece in one] if all(found) else []


def _written(pattern: str, branches: Sequence[Sequence[_Piece]]) -> str:
    return "|".join(_sequence(pattern, branch) for branch in branches)


def _sequence(pattern: str, pieces: Sequence[_Piece]) -> str:
    """The pieces, each that is not shown beside what never matches."""
    written: list[str] = []
    hidden_from, joins = None, False  # whether RE2 would join a text with what is written last
    for piece in pieces:
        visible = _is_visible(piece)
        if hidden_from is not None and visible:
            written.append(_hidden(pattern[hidden_from : piece.start]))
            hidden_from, joins = None, False
        if not visible:
            hidden_from = piece.start if hidden_from is None else hidden_from
            continue
        joinable = piece.kind in (_Kind.TEXT, _Kind.GROUP) and not _is_choice(piece)
        if joins and joinable:
            written.append(_BREAK)
        if piece.kind is _Kind.GROUP:
            written.append(f"{piece.opening}{_written(pattern, piece.branches)})")
        else:
            written.append(pattern[piece.start : piece.end])
        joins = joinable or (joins and piece.kind is _Kind.FLAGS)
    if hidden_from is not None:
        written.append(_hidden(pattern[hidden_from : pieces[-1].end]))
    return "".join(written)


def _is_visible(piece: _Piece) -> bool:
    if piece.kind is _Kind.TEXT:
        return piece.shown or not piece.demands
    return piece.kind not in (_Kind.REST, _Kind.OTHER)


def _is_choice(piece: _Piece) -> bool:
    """Whether it has the only texts shown: short ones beside it may well be joined to them."""
    return len(piece.branches) > 1 and any(
        inner.shown or _is_choice(inner) for branch in piece.branches for inner in branch
    )


def _hidden(pattern: str) -> str:
    return f"(?:{pattern}|{_NEVER})"
