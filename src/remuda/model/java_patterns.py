r"""Java's regular expressions, which Spark's RLIKE takes, written for RE2 with the same meaning.

Both read most patterns alike. Java's line ends are more than `\n`, its `$` also stands before the
last of them, `\s`, `\h`, `\v` and `\R` are other sets, classes have classes inside and `&&`, and
`(?i)` folds ASCII alone. What needs to look around or back is refused: RE2 could not keep its time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from remuda.errors import InvalidCriterion

_LAST = 0x10FFFF
_Span = tuple[int, int]  # of code points, both ends within


def _span(span: _Span) -> str:
    lo, hi = span
    return _character(lo) if lo == hi else f"{_character(lo)}-{_character(hi)}"


def _character(code: int) -> str:
    one = chr(code)
    if one == "_" or (one.isascii() and one.isalnum()):
        return one
    if one.isascii() and one.isprintable() and one != " ":
        return f"\\{one}"
    return one if one == " " or (code > 0xA0 and one.isalpha()) else f"\\x{{{code:X}}}"


@dataclass(frozen=True, slots=True)
class _Set:
    """Characters: spans in order that do not touch, and classes of Unicode that RE2 knows."""

    spans: tuple[_Span, ...]
    classes: tuple[str, ...] = ()

    def __or__(self, other: _Set) -> _Set:
        return _Set(_joined((*self.spans, *other.spans)), (*self.classes, *other.classes))

    def inverted(self) -> _Set:
        edges = [-1, *(edge for lo, hi in self._plain() for edge in (lo, hi)), _LAST + 1]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return _Set(tuple((lo + 1, hi - 1) for lo, hi in pairs if lo + 1 <= hi - 1))

    def __and__(self, other: _Set) -> _Set:
        return (self.inverted() | other.inverted()).inverted()

    def folded(self) -> _Set:
        """With the other case of each letter of ASCII."""
        upper = [(max(lo, 65), min(hi, 90)) for lo, hi in self.spans]
        lower = [(max(lo, 97), min(hi, 122)) for lo, hi in self.spans]
        other = [(lo + 32, hi + 32) for lo, hi in upper if lo <= hi]
        other += [(lo - 32, hi - 32) for lo, hi in lower if lo <= hi]
        return _Set(_joined((*self.spans, *other)), self.classes)

    def text(self) -> str:
        if not self.classes and len(self.spans) == 1 and self.spans[0][0] == self.spans[0][1]:
            return _character(self.spans[0][0])
        if not self.spans and not self.classes:
            return r"[^\x{0}-\x{10FFFF}]"
        return f"[{''.join(map(_span, self.spans))}{''.join(self.classes)}]"

    def _plain(self) -> tuple[_Span, ...]:
        if self.classes:
            raise _refused(f"{self.classes[0]} cannot be denied or intersected in a class here")
        return self.spans


def _joined(spans: Iterable[_Span]) -> tuple[_Span, ...]:
    disjoint: list[_Span] = []
    for lo, hi in sorted(spans):
        if disjoint and lo <= disjoint[-1][1] + 1:
            disjoint[-1] = disjoint[-1][0], max(hi, disjoint[-1][1])
        else:
            disjoint.append((lo, hi))
    return tuple(disjoint)


def _of(*characters: str) -> _Set:
    """The set of these characters, and of the spans written as two."""
    return _Set(_joined((ord(one[0]), ord(one[-1])) for one in characters))


_LINE_ENDS = _of("\n", "\r", "\x85", "\u2028\u2029")
_DIGIT, _WORD = _of("09"), _of("az", "AZ", "09", "_")
_SPACE = _of("\t\r", " ")
_HORIZONTAL = _of(
    " ", "\t", "\xa0", "\u1680", "\u180e", "\u2000\u200a", "\u202f", "\u205f", "\u3000"
)
_VERTICAL = _of("\n\r", "\x85", "\u2028\u2029")
_LOWER, _UPPER = _of("az"), _of("AZ")
_ALPHA = _LOWER | _UPPER
_PUNCT = _of("!/", ":@", "[`", "{~")
_SHORT = {"d": _DIGIT, "w": _WORD, "s": _SPACE, "h": _HORIZONTAL, "v": _VERTICAL}
_POSIX = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": _of("\x00\x7f"),
    "Alpha": _ALPHA,
    "Digit": _DIGIT,
    "Alnum": _ALPHA | _DIGIT,
    "Punct": _PUNCT,
    "Graph": _ALPHA | _DIGIT | _PUNCT,
    "Print": _ALPHA | _DIGIT | _PUNCT | _of(" "),
    "Blank": _of(" ", "\t"),
    "Cntrl": _of("\x00\x1f", "\x7f"),
    "XDigit": _DIGIT | _of("af", "AF"),
    "Space": _SPACE,
}
_CATEGORY = re.compile("L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfos]?")
_SCRIPT = re.compile("Is([A-Z][a-z]+(?:_[A-Z][a-z]+)*)")
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_FOLDABLE = frozenset({"Lu", "Ll", "Lt"})


@dataclass(frozen=True, slots=True)
class _Flags:
    """What `(?…)` has switched on."""

    folds: bool = False
    dot_all: bool = False
    unix_lines: bool = False


@dataclass(frozen=True, slots=True)
class _End:
    r"""A `$` or `\Z`: the end, or the place before a last line end."""

    unix_lines: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Branches in parentheses, repeated as the quantifier says."""

    opening: str
    branches: Sequence[_Branch]
    quantifier: str = ""


_Branch = Sequence["str | _End | _Group"]
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??", re.ASCII)
_SWITCH = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_NAMED = re.compile(r"\(\?<[a-zA-Z][a-zA-Z0-9]*>")
_LOOKING = {"(?=": "looking ahead", "(?!": "looking ahead", "(?<": "looking behind"}
_LOOKING |= {"(?>": "a group that never gives back"}
_HEX = re.compile(r"\\x([0-9a-fA-F]{2})|\\x\{([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})")
_OCTAL = re.compile(r"\\0([0-3]?[0-7]{1,2})")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\w+)\}|([A-Z]))", re.ASCII)
_BREAK = rf"(?:\r\n|{_VERTICAL.text()})"
_SAME = frozenset("bAzdDwW")  # in both languages


@lru_cache(maxsize=4096)
def re2_of(pattern: str, *, spans: bool = False) -> str:
    """The pattern for RE2; InvalidCriterion where that cannot be, or Java refuses it, too.

    With `spans`, what it matches is what Java's matches, and its groups have the same numbers; a
    `$` is then the end alone, since RE2 could not leave out the line end that it stands before.
    """
    reader = _Reader(pattern)
    branches = reader.branches(_Flags())
    if reader.at < len(pattern):
        raise _refused("a ) without its (")
    return _Writer(spans).written(branches, at_end=True)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Branches in RE2's words; `at_end` if nothing of the pattern comes behind them."""

    spans: bool

    def written(self, branches: Sequence[_Branch], *, at_end: bool) -> str:
        return "|".join(
            "".join(
                self._node(node, at_end=at_end and i == len(branch) - 1)
                for i, node in enumerate(branch)
            )
            for branch in branches
        )

    def _node(self, node: str | _End | _Group, *, at_end: bool) -> str:
        if isinstance(node, str):
            return node
        if isinstance(node, _Group):
            inner = self.written(node.branches, at_end=at_end)
            return f"{node.opening}{inner}){node.quantifier}"
        if not at_end:
            raise _refused(r"$ or \Z with more behind it; \z is the end itself")
        if self.spans:
            return r"\z"
        return r"\n?\z" if node.unix_lines else rf"(?:\r\n|{_LINE_ENDS.text()})?\z"


def _refused(what: str) -> InvalidCriterion:
    return InvalidCriterion(f"this is not read in a pattern of Java's: {what}")


class _Reader:
    """A pattern that is read from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def branches(self, flags: _Flags) -> list[_Branch]:
        """The branches up to a closing parenthesis; what is switched in one goes on in the next."""
        alternatives: list[list[str | _End | _Group]] = [[]]
        while self.at < len(self.pattern) and self._next != ")":
            switch = _SWITCH.match(self.pattern, self.at)
            if self._took("|"):
                alternatives.append([])
            elif switch is not None and switch[3] == ")":
                self.at = switch.end()
                flags = _switched(flags, switch)
            else:
                alternatives[-1].append(self._repeated(self._atom(flags)))
        return [*alternatives]

    @property
    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _took(self, text: str) -> bool:
        taken = self.pattern.startswith(text, self.at)
        self.at += len(text) * taken
        return taken

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.pattern, self.at)
        self.at = found.end() if found else self.at
        return found

    def _repeated(self, atom: str | _End | _Group) -> str | _End | _Group:
        quantifier = self._matched(_QUANTIFIER)
        if quantifier is None:
            if self._next == "{":
                raise _refused("{ without a count; \\{ is the character")
            return atom
        if self._next == "+":
            raise _refused("a quantifier that never gives back, such as a*+")
        if self._next in ("*", "?"):
            raise _refused("two quantifiers in a row")
        if isinstance(atom, str):
            return _Group("(?:", [[atom]], quantifier[0]) if len(atom) > 1 else atom + quantifier[0]
        if isinstance(atom, _Group):
            return replace(atom, quantifier=quantifier[0])
        raise _refused("$ that is repeated")

    def _atom(self, flags: _Flags) -> str | _End | _Group:
        character = self._next
        if character == "(":
            return self._group(flags)
        if character == "[":
            self.at += 1
            return self._class(flags).text()
        if character == "\\":
            return self._escape(flags)
        if character in ("*", "+", "?", "{"):
            raise _refused(f"{character} without anything to repeat")
        self.at += 1
        if character == "$":
            return _End(flags.unix_lines)
        if character == "^":
            return r"\A"
        if character == ".":
            return _dot(flags)
        return _folded(_of(character), flags).text()

    def _group(self, flags: _Flags) -> _Group:
        opening = "("
        switch = self._matched(_SWITCH)
        if switch is not None:
            opening, flags = "(?:", _switched(flags, switch)
        elif self._matched(_NAMED) is None:
            for sign, what in _LOOKING.items():
                if self.pattern.startswith(sign, self.at):
                    raise _refused(what)
            self.at += 1
            if self._next == "?":
                raise _refused("an unknown kind of group")
        branches = self.branches(flags)
        if not self._took(")"):
            raise _refused("a ( without its )")
        return _Group(opening, branches)

    def _escape(self, flags: _Flags) -> str | _End:
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter in _SAME:
            self.at += 2
            return f"\\{letter}"
        if letter == "Z":
            self.at += 2
            return _End(flags.unix_lines)
        if letter == "R":
            self.at += 2
            return _BREAK
        if letter == "Q":
            return self._quotation(flags)
        return _folded(self._escaped(flags), flags).text()

    def _quotation(self, flags: _Flags) -> str:
        end = self.pattern.find(r"\E", self.at + 2)
        text = self.pattern[self.at + 2 : end if end >= 0 else len(self.pattern)]
        self.at = end + 2 if end >= 0 else len(self.pattern)
        *before, last = [_folded(_of(one), flags).text() for one in text] or [""]
        if before and _QUANTIFIER.match(self.pattern, self.at):
            raise _refused(r"a quantifier behind \Q…\E")
        return "".join((*before, last))

    def _escaped(self, flags: _Flags) -> _Set:
        """The characters that an escape stands for, inside a class or not."""
        found = self._matched(_PROPERTY)
        if found is not None:
            return _property(found[1] == "P", found[2] or found[3], flags)
        number = self._matched(_HEX)
        if number is not None:
            return self._numbered(int(number[1] or number[2] or number[3], 16))
        octal = self._matched(_OCTAL)
        if octal is not None:
            return self._numbered(int(octal[1], 8))
        letter = self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if letter.lower() in _SHORT and letter:
            found_set = _SHORT[letter.lower()]
            return found_set.inverted() if letter.isupper() else found_set
        if letter in _CHARACTERS:
            return _of(_CHARACTERS[letter])
        if letter == "c" and self._next:
            self.at += 1
            return self._numbered(ord(self.pattern[self.at - 1]) ^ 64)
        if letter.isdigit():
            raise _refused(f"\\{letter}, what a group found before")
        if not letter or (letter.isascii() and letter.isalpha()):
            raise _refused(f"\\{letter}")
        return _of(letter)

    def _numbered(self, code: int) -> _Set:
        if 0xD800 <= code < 0xDC00:
            low = self._matched(_HEX)
            second = int(low[3], 16) if low is not None and low[3] else 0
            if 0xDC00 <= second < 0xE000:
                code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)
        if code > _LAST or 0xD800 <= code < 0xE000:
            raise _refused(f"the character {code:X}")
        return _Set(((code, code),))

    # Classes

    def _class(self, flags: _Flags) -> _Set:
        """The rest of a class, behind its opening bracket: parts joined by `&&`."""
        denied = self._took("^")
        members: _Set | None = None
        while True:
            part = self._union(flags)
            members = part if members is None else members if part is None else members & part
            if self._took("]"):
                break
            self.at += 2  # &&
        if members is None:
            raise _refused("a class of nothing")
        return members.inverted() if denied else members

    def _union(self, flags: _Flags) -> _Set | None:
        """What stands side by side in a class, up to its end or `&&`."""
        members: _Set | None = None
        while not self.pattern.startswith("&&", self.at):
            if not self._next:
                raise _refused("a [ without its ]")
            if self._next == "]" and members is not None:
                break
            part = self._class(flags) if self._took("[") else _folded(self._range(flags), flags)
            members = part if members is None else members | part
        return members

    def _range(self, flags: _Flags) -> _Set:
        first = self._member(flags)
        following = self.pattern[self.at + 1 : self.at + 2]
        if self._next != "-" or following in ("]", "[", ""):
            return first
        self.at += 1
        last = self._member(flags)
        for end in (first, last):
            if end.classes or len(end.spans) != 1 or end.spans[0][0] != end.spans[0][1]:
                raise _refused("a range between what are no characters")
        if first.spans[0][0] > last.spans[0][0]:
            raise _refused("a range that ends before it begins")
        return _Set(((first.spans[0][0], last.spans[0][0]),))

    def _member(self, flags: _Flags) -> _Set:
        if self._next == "\\":
            if self.pattern.startswith(r"\Q", self.at):
                raise _refused(r"\Q in a class")
            return self._escaped(flags)
        self.at += 1
        return _of(self.pattern[self.at - 1])


def _switched(flags: _Flags, switch: re.Match[str]) -> _Flags:
    for letters, said in ((switch[1], True), (switch[2] or "", False)):
        for letter in letters:
            if letter not in _SWITCHES:
                raise _refused(f"the flag {letter}")
            flags = replace(flags, **{_SWITCHES[letter]: said})
    return flags


_SWITCHES = {"i": "folds", "s": "dot_all", "d": "unix_lines"}


def _dot(flags: _Flags) -> str:
    if flags.dot_all:
        return "(?s:.)"
    return r"[^\n]" if flags.unix_lines else _LINE_ENDS.inverted().text()


def _folded(found: _Set, flags: _Flags) -> _Set:
    return found.folded() if flags.folds else found


def _property(denied: bool, name: str, flags: _Flags) -> _Set:
    posix = _POSIX.get(name)
    if posix is not None:
        posix = posix.folded() if flags.folds else posix
        return posix.inverted() if denied else posix
    plain = name.removeprefix("Is")
    if _CATEGORY.fullmatch(plain):
        if flags.folds and plain in _FOLDABLE:
            raise _refused(f"\\p{{{name}}} without case")
        return _Set((), (f"\\{'P' if denied else 'p'}{{{plain}}}",))
    script = _SCRIPT.fullmatch(name)
    if script is None:
        raise _refused(f"\\p{{{name}}}")
    return _Set((), (f"\\{'P' if denied else 'p'}{{{script[1]}}}",))
