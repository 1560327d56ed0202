"""Texts scanned together: what the scan finds is what each condition finds by itself."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.encoding.texts import TermTexts, TextCondition, Texts
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr, fn
from remuda.language.text import parse
from remuda.model.conditions import Contains, Like, Regex, Suffix
from remuda.model.demands import Demand, folded, shortest
from remuda.model.expressions import Predicate
from strategies import count, event_texts, is_pattern, shared_patterns

t = attr("t")
OTHERS = [rf"host-{i}\..*" for i in range(200)]
finds = partial(Regex, find=True)


def together(conditions: Sequence[TextCondition]) -> Texts:
    return Texts([TermTexts([(one, i) for i, one in enumerate(conditions)])])


def alone(conditions: Sequence[TextCondition], text: str) -> list[int]:
    return [i for i, one in enumerate(conditions) if one.accepts(text)]


def found(texts: Texts, text: str) -> list[int]:
    return texts.spaces([(0, text)])[0]


exact = partial(Demand, exact=True)
fold = partial(Demand, folded=True)
DEMANDS: dict[str, tuple[Regex | Like, list[Demand]]] = {
    "a text": (Regex("abc"), [exact(("abc",), True, True)]),
    "found": (finds("abc"), [exact(("abc",))]),
    "escaped": (finds(r"a\.b\\"), [exact(("a.b\\",))]),
    "from the start": (finds("^abc"), [exact(("abc",), True)]),
    "to the end": (finds(r"abc\z"), [exact(("abc",), at_end=True)]),
    "lines": (finds("(?m)^abc$"), [Demand(("abc",))]),
    "a line, and the text": (finds(r"(?m)\Aabc$"), [Demand(("abc",), True)]),
    "any text between": (Regex("(?s)a.*b"), [exact(("a", "b"), True, True)]),
    "any text but lines": (Regex("a.*b"), [Demand(("a", "b"), True, True)]),
    "any text in a group": (Regex("(?s:.*)a(?s:.*)b"), [exact(("a", "b"), False, True)]),
    "a start in the middle": (finds("(?s)a.*^b"), [Demand(("a", "b"))]),
    "an end in the middle": (finds("a$b"), [Demand(("ab",))]),
    "like": (Like("a%b%"), [exact(("a", "b"), True)]),
    "like, one of any": (Like("a_b"), [Demand(("a", "b"), True, True)]),
    "like, escaped": (Like("100\\%%"), [exact(("100%",), True)]),
    "a word's edge": (finds(r"\bab\Bcd"), [Demand(("abcd",))]),
    "a class": (finds("ab[cd]e"), [exact(("abce",)), exact(("abde",))]),
    "a class behind a text": (finds("abc[de]"), [exact(("abcd",)), exact(("abce",))]),
    "a large class behind a text": (finds("abc[a-z]"), [Demand(("abc",))]),
    "a class behind a text, and doubt": (finds("abc[de].f"), [Demand(("abc", "f"))]),
    "two classes": (
        finds(r"[\.b-c]:[\\x]"),
        [exact((one + ":" + two,)) for one in ".bc" for two in "\\x"],
    ),
    "a class without case": (finds("(?i)[K-L]x"), [fold((f"{i}x",), exact=True) for i in "kl"]),
    "a class of many": (finds("-[a-zA-Z][0-9]+-"), [Demand(("-", f"{i}", "-")) for i in range(10)]),
    "a class, often": (finds(" [0-1]{7,9}"), [Demand((" 0",)), Demand((" 1",))]),
    "a class, perhaps": (finds("a[bc]?d"), [exact((one,)) for one in ("ad", "abd", "acd")]),
    "a character, perhaps": (finds(r"abc\.??d"), [exact(("abcd",)), exact(("abc.d",))]),
    "without case, perhaps": (finds("(?i)aB?c"), [fold((i,), exact=True) for i in ("ac", "abc")]),
    "a hyphen in a class": (
        finds(r"[-x]1|[y-]2|[a\-b]3"),
        [exact((one,)) for one in ("-1", "x1", "-2", "y2", "-3", "a3", "b3")],
    ),
    "a digit is enough": (
        finds("([0-1]|[1-9][0-1]|[1-4][0-9]{2})"),
        [exact(("0",)), exact(("1",))]
        + [Demand((f"{i}{j}",)) for i in "234" for j in "23456789"],
    ),
    "any character but": (
        finds(r":[^\\]"),
        [exact((":" + chr(i),)) for i in range(128) if chr(i) != "\\"]
        + [Demand((":" + chr(0xDC00 + i),)) for i in range(0xC2, 0xF5)],
    ),
    "any character but, without case": (finds("(?i)a[^b]"), [fold(("a",))]),
    "any character but, beside one without case": (finds("(?i:a)[^sS]"), [fold(("a",))]),
    "a class that is not understood": (finds("a[[:alpha:]é]b"), [Demand(("a", "b"))]),
    "repeated": (finds("ab+cd{2}e{0}f?g"), [Demand(("a", "c", "g")), Demand(("a", "c", "fg"))]),
    "a group repeated": (finds("a(bc)+d"), [Demand(("a", "d"))]),
    "groups": (finds("a(b(?:c)d)e"), [exact(("abcde",))]),
    "alternatives": (finds("ab|c"), [exact(("ab",)), exact(("c",))]),
    "alternatives inside": (finds("a(b|c)d"), [exact(("abd",)), exact(("acd",))]),
    "one of them may be anything": (finds("ab(c|.)"), [Demand(("ab",))]),
    "one of them is a class": (finds("ab(c|[de])"), [exact((f"ab{i}",)) for i in "cde"]),
    "one of them is nothing": (finds("ab(c|)"), [Demand(("ab",))]),
    "nothing is demanded": (finds(".{32}"), [Demand(())]),
    "everything matches": (finds(""), [exact(())]),
    "nothing but nothing": (Regex(""), [Demand(())]),
    "without case": (finds("(?i)FoO"), [fold(("foo",), exact=True)]),
    "without case, Kelvin": (finds("(?i)\u212aey"), [fold(("ey",))]),
    "without case, beyond ASCII": (finds("(?i)aÉb"), [fold(("a", "b"))]),
    "with and without case": (finds("A(?i)b"), [fold(("ab",))]),
    "flags end with their group": (finds("(?:(?i)a)B"), [fold(("ab",))]),
    "flags switched off": (finds("(?i)a(?-i:B)c"), [fold(("abc",))]),
    "escapes": (finds(r"\ta\n+\r"), [Demand(("\ta", "\r"))]),
    "a quotation": (finds(r"a\Qb.c\Ed"), [Demand(("a", "d"))]),
    "a code point": (finds(r"a\x62c\141d"), [Demand(("a", "c", "d"))]),
    "a brace": (finds("a{b"), [exact(("a{b",))]),
    "flags repeated": (finds("ab(?i)*c"), [Demand(())]),
    "no flags": (finds("a(?)b"), [exact(("ab",))]),
    "nothing repeated": (finds(r"ab\Q\E{0}c"), [Demand(())]),
    "a bracket in a class": (finds("a[]b]c[^]]d"), [Demand(("a", "c", "d"))]),
    "a bracket in a class, escaped": (finds(r"a[\]]"), [exact(("a]",))]),
}  # fmt: skip


@pytest.mark.parametrize(("condition", "expected"), DEMANDS.values(), ids=DEMANDS)
def test_what_a_pattern_demands(condition: Regex | Like, expected: list[Demand]) -> None:
    assert condition.demands == expected


def _nested(depth: int) -> str:
    return f"(x{_nested(depth - 1)}|e)" if depth else "(a|b)"


MANY_WAYS = {
    "one behind the other": "-" + 20 * "(a|b)",
    "one in the other": 6 * _nested(12),
    "classes": 30 * "(a|[bc])",
    "in many alternatives": "|".join(300 * ["(a|b)(c|d)(e|f)(g|h)"]),
    "alternatives": "|".join(f"a{i}" for i in range(5000)),
}


@pytest.mark.parametrize("pattern", MANY_WAYS.values(), ids=MANY_WAYS)
def test_alternatives_of_alternatives_are_bounded(pattern: str) -> None:
    condition = finds(pattern)
    assert len(condition.demands) <= 4096
    text = "-" + "x" * 12 + "ab" * 40 + "cdefgh" * 3
    assert found(together([condition]), text) == alone([condition], text)


CLASSES = [
    r"\d", r"\s", "[abc]", "[a-c]", "[+-.]", r"[\t\n\-\]]", "[-a]", "[a-]", "[ -~]", r"[\s\d]",
    "[a-zA-Z]", "[^a]", r"[^\s]", "[^-a-z]", "[^a-]", "[.]", r"[\\]", "[$^]", "[K-S]", "[^K]",
    "[|(){}*+?]", r"[\.\d-]", "[^sS]", r"[\d-a]", "[a-c-e]", "[é]", "[^é]", "[[]", "[[:alpha:]]",
]  # fmt: skip


@pytest.mark.parametrize("flags", ["", "(?i)", "(?i:x)"])
def test_a_class_has_the_characters_that_it_has_for_re2(flags: str) -> None:
    """All first bytes of characters, and all letters of the cases of ASCII."""
    texts = [f"x_{chr(i)}" for i in (*range(0x3000), *range(0xE000, sys.maxunicode + 1, 97))]
    whole = "\n".join(texts)
    scanned = together([finds(f"{flags}_{one}") for one in CLASSES]).of_arrays(
        [(0, pa.array(texts))]
    )
    owners = np.repeat(np.arange(len(texts)), np.diff(scanned.starts))
    for i, one in enumerate(CLASSES):
        has = {texts[row][1:] for row in owners[scanned.items == i].tolist()}
        found = set(re2.findall(f"(?s){flags}_{one}", whole))
        assert has == {text.removeprefix("x") for text in found}, one


def test_classes_of_very_many_patterns_are_not_taken_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("remuda.encoding.texts._MANY", 20)
    conditions = [finds(f"{one}[0-9]") for one in "abcdef"]
    texts = together(conditions)
    assert [len(one.patterns) for one in texts.tried] == [3]  # of a, b and c all is known
    assert found(texts, "d7 b7") == [1, 3]


SHORTEST = {
    "(.){200,}": 200, "ab|c": 1, "a{2,}?b": 3, r"\Qa.b": 0, r"\C\C": 0, "(x|yz){3}": 3, "": 0,
    "a{2}{3}": 0, "^$": 0, r"\x{1F600}+": 1, "[^a]{3}b?": 3, "(?i)\u212a": 0, "a*": 0,
    "(?:a(?:bc|)|.{4})": 1, "ab(?i)*": 0, r"ab\Q\E{0}": 0, "(?)": 0,
}  # fmt: skip


@pytest.mark.parametrize(("pattern", "n"), SHORTEST.items(), ids=SHORTEST)
def test_how_short_a_match_may_be(pattern: str, n: int) -> None:
    assert shortest(pattern) == n


@given(shared_patterns, event_texts)
def test_no_match_is_shorter(pattern: str, text: str) -> None:
    found = re2.search(pattern, text.encode("utf-8", "surrogatepass"))
    if found is not None:
        assert shortest(pattern) <= len(found[0].decode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_a_text_just_long_enough_is_tried(letter: str) -> None:
    index = Index.build([Criterion("long", t.finds("(.){200,}")), Criterion("any", t.finds("."))])
    assert index.match({"t": letter * 199}) == ["any"]
    assert sorted(index.match({"t": letter * 200})) == ["any", "long"]


SHARED: dict[str, tuple[list[str], str, str]] = {  # those that share a text, one more, an event
    "one text three times": (
        [rf".* and .*item{i}" for i in range(11)],
        r"\w+ and \w+ and \w+ and \w+",
        "a and b and c and d",
    ),
    "a class repeated": ([f"[01]{{16}}:{i}xyz" for i in range(12)], "[01]{32}", "01" * 16),
    "another case": ([f".*foo.*item{i}" for i in range(11)], "FOO.*foo.*Foo", "FOO foo Foo"),
    "repeated in a group": ([f".*foo.*item{i}" for i in range(11)], "(foo.*){3}", "foofoofoo"),
    "in three spellings": (
        [f".*foobar.*item{i}" for i in range(11)],
        r"foo(bar).*f(?i)oobar.*f(?:)oo\bbar|foo(?:bar).*foobar.*foo\Qbar\E",
        "foobar foobar foobar",
    ),
    "in one alternative": (
        [f".*foo.*item{i}" for i in range(11)],
        "nope|(?:foo.*foo.*foo.*)",
        "foo foo foo",
    ),
}


@pytest.mark.parametrize(("sharing", "one_more", "text"), SHARED.values(), ids=SHARED)
def test_a_pattern_that_demands_a_text_often_is_found(
    sharing: list[str], one_more: str, text: str
) -> None:
    conditions = [Regex(pattern) for pattern in (*sharing, *OTHERS, one_more)]
    assert found(together(conditions), text) == [len(conditions) - 1]


def test_an_index_finds_it_too() -> None:
    rules = [Criterion(f"and{i}", t.matches(rf".* and .*item{i}")) for i in range(11)]
    rules += [Criterion(f"host{i}", t.matches(pattern)) for i, pattern in enumerate(OTHERS)]
    rules += [
        Criterion("matches", t.matches(r"\w+ and \w+ and \w+ and \w+")),
        Criterion("like", t.like("%=1;%=1;%=1;%")),
        Criterion("bits", t.finds("[01]{32}")),
    ]
    index = Index.build(rules)
    assert index.match({"t": "a and b and c and d"}) == ["matches"]
    assert index.match({"t": "a=1;b=1;c=1;d"}) == ["like"]
    assert index.match({"t": "01" * 16}) == ["bits"]


NESTED = "a" * 40
SCANNED: dict[str, tuple[list[TextCondition], str]] = {
    "nested": ([Contains(NESTED[:n]) for n in range(40)], NESTED[:33]),
    "nested, at the end": ([Suffix(NESTED[:n]) for n in range(40)], "b" + NESTED[:33]),
    "one inside of another": ([Contains("bcd"), Contains("abcde"), Contains("c")], "abcdx"),
    "a prefix that comes again": ([finds("^ab"), finds("^b"), Contains("b")], "abab"),
    "a whole text that comes again": ([Regex("ab"), Regex("abab"), Suffix("ab")], "abab"),
    "pieces that overlap": ([Like("ab%ba"), Like("aba%"), Like("%aba%aba%")], "aba"),
    "pieces that meet": ([Like("ab%ba"), Like("%b%b%"), Like("a%a")], "abba"),
    "a piece before another": ([Like("%b%a%"), Like("%a%b%")], "ab"),
    "cases": ([finds("(?i)KISS"), finds("kiss"), finds("(?i)^k.*s$")], "\u212ai\u017fS"),
    "cases at the end": ([finds("(?i)iss$"), Suffix("s")], "Ki\u017f\u017f"),
    "a byte inside of a character": ([Contains("\u017f"), Contains("\u013f")], "x\u017f"),
    "patterns that demand hardly anything": (
        [
            *(finds(f"[0-9]{{{n}}}") for n in range(1, 40)),
            *(finds(f" [{one}]+ ") for one in "abcdefgh"),
            Regex("(?s).*[^ ] [0-9]{2}"),
            Like("_%_"),
            finds("(.){9,}"),
            finds(r"\d\n"),
        ],
        "abc  a 123456789 bb 12",
    ),
    "no text": ([Contains(""), Suffix(""), finds("^$"), Contains("a")], ""),
    "a megabyte": ([Contains("b"), Suffix("ba"), Like("%b%a"), finds("a{9}")], "a" * 10**6 + "ba"),
    "all bytes": ([Contains(chr(i)) for i in range(256)], "".join(map(chr, range(128, 256)))),
}


@pytest.mark.parametrize(("conditions", "text"), SCANNED.values(), ids=SCANNED)
def test_the_scan_finds_what_each_finds(conditions: list[TextCondition], text: str) -> None:
    texts = together(conditions)
    assert found(texts, text) == alone(conditions, text)
    column = texts.of_arrays([(0, pa.array([text, "", text]))])
    assert column.row(2).tolist() == alone(conditions, text)
    assert column.row(1).tolist() == alone(conditions, "")


_CHARACTERS = [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000]


@pytest.mark.parametrize("letters", ["abcdefghijklm", "nopqrstuvwxyz"])
def test_letters_without_case_over_all_of_unicode(letters: str) -> None:
    whole = "".join(_CHARACTERS)
    cased = {letter: set(re2.findall(f"(?i){letter}", whole)) for letter in letters}
    assert all(
        cased[letter] == {one for one in _CHARACTERS if folded(one) == letter} for letter in letters
    )
    texts = together([finds(f"(?i){letter}") for letter in letters])
    scanned = texts.of_arrays([(0, pa.array(_CHARACTERS))])
    for i, letter in enumerate(letters):
        rows = (scanned.items == i).nonzero()[0]
        owners = scanned.starts.searchsorted(rows, side="right") - 1
        assert {_CHARACTERS[row] for row in owners.tolist()} == cased[letter]


def test_characters_without_case_are_found_in_all_their_cases() -> None:
    """Every character that has cases, among letters, in all cases that Python knows of it."""
    odd = [
        one
        for one in _CHARACTERS
        if one.lower() != one or one.upper() != one or one.casefold() != one
    ]
    assert len(odd) > 2500
    for start in range(0, len(odd), 400):
        some = odd[start : start + 400]
        conditions = [finds(f"(?i)^x{re2.escape(one)}k") for one in some]
        texts = together(conditions)
        for i, one in enumerate(some):
            for case in {one, one.lower(), one.upper(), one.title(), one.casefold()}:
                text = f"X{case}\u212a"
                assert (i in found(texts, text)) == conditions[i].accepts(text), (one, case)


@settings(max_examples=count(200, 5_000))
@given(
    patterns=st.lists(shared_patterns, min_size=1, max_size=8),
    find=st.booleans(),
    text=event_texts.filter(lambda one: "\ud800" not in one and "\udfff" not in one),
)
def test_drawn_patterns_are_found_as_by_themselves(
    patterns: list[str], find: bool, text: str
) -> None:
    conditions = [Regex(pattern, find) for pattern in patterns]
    assert found(together(conditions), text) == alone(conditions, text)


@pytest.mark.soak
def test_sets_of_patterns_that_share_texts_find_what_each_finds() -> None:
    """Sets of 300, 10^6 pairs of a condition and a text in full."""
    rng, n_pairs, n_found = random.Random(11), 0, 0
    while n_pairs < count(30_000, 1_000_000):
        conditions, words = _sharing(rng)
        texts = together(conditions)
        drawn = [_text(rng, words) for _ in range(20)]
        column = texts.of_arrays([(0, pa.array(drawn, pa.large_string()))])
        for i, text in enumerate(drawn):
            expected = alone(conditions, text)
            assert found(texts, text) == expected, text
            assert column.row(i).tolist() == expected, text
            n_pairs, n_found = n_pairs + len(conditions), n_found + len(expected)
    print(f"texts: {n_pairs:,} pairs, {n_found:,} found, all as by themselves")
    assert n_found > n_pairs // 1000


_WORDS = ("foo", "bar", " and ", "=1;", "Foo", "kiss", "Kiosk", "日本", "é", "ab", "ſks", "שלום")
_ODD = (
    *(one for one in _CHARACTERS if unicodedata.decomposition(one) and one.lower() != one),
    *(
        "İ",
        "ß",
        "ẞ",
        "ς",
        "Σ",
        "\u0301",
        "\u202e",
        "\x00",
        "\n",
        "😀",
        "ﬁ",
        "ǅ",
        "\u212a",
        "\u017f",
    ),
)
_SPELLINGS = (
    r"\x66oo", "f[o]o", "(?:foo)", "fo{2}", "(?i:foo)", "fo(?:)o", "f(?i)oo", r"f\boo", "[fF]oo",
    r"fo[^\x00-\x{10FFFF}]*o", "fo(?:^)*o", "foo{0}o", r"\Qfoo\E", "^foo", "foo$", "(?m)^foo$",
    r"\Afoo", r"foo\z", "(?s).*foo", "(?s)foo.*bar", "(?i)kis+", "(?i:ſ)", "a|b|", "(foo|bar)+",
)  # fmt: skip


def _text(rng: random.Random, words: Sequence[str]) -> str:
    if rng.random() < 0.01:
        return "".join(rng.choices([*words, *_ODD], k=20_000))
    pieces = [*words, "foo", "FOO", " ", "2024", "01" * 8, "KISS", *rng.sample(_ODD, 5)]
    return "".join(rng.choices(pieces, k=rng.randrange(9)))


def _sharing(rng: random.Random) -> tuple[list[TextCondition], list[str]]:
    """Some conditions over a few words among others of their own."""
    words = rng.sample(_WORDS, 5)
    share = rng.choice((0.1, 0.2, 0.4, 1.0))
    conditions: list[TextCondition] = []
    while len(conditions) < 300:
        text = "".join(rng.choices(words, k=rng.randrange(3)))
        kind = rng.randrange(6)
        if rng.random() >= share:
            conditions.append(Regex(f"host-{len(conditions)}.*"))
        elif kind == 0:
            conditions.append(rng.choice((Contains, Suffix))(text))
        elif kind == 1:
            signs = rng.choices(("%", "_", *words), k=rng.randrange(6))
            conditions.append(Like("".join(signs)))
        elif is_pattern(pattern := _drawn(rng, words)):
            conditions.append(Regex(pattern, find=rng.random() < 0.5))
    return conditions, words


def _drawn(rng: random.Random, words: list[str], depth: int = 0) -> str:
    def inner() -> str:
        return _drawn(rng, words, depth + 1)

    shapes: list[Callable[[], str]] = [
        lambda: inner() + rng.choice((".*", r"\w+", "(?s:.*)", "[^/]*", "[a-z]+")) + inner(),
        lambda: f"{inner()}.*{rng.choice(words)}.*{inner()}",
        lambda: f"(?:{inner()}|{inner()})",
        lambda: f"({inner()}){rng.choice(('*', '+', '?', '{0,2}', '{2}', '{3}', '{0}'))}",
        lambda: rng.choice(("[01]{32}", "[01]{16}", r"\d{4}", "[abc]{3}")),
        lambda: f"(?i){inner()}",
        lambda: f"{inner()}|{inner()}",
        lambda: inner() + inner(),
    ]
    if depth <= 3 and rng.random() < 0.6:
        return rng.choice(shapes)()
    if rng.random() < 0.7:
        return str(re2.escape(rng.choice(words)))
    return rng.choice(_SPELLINGS)


def test_an_index_of_300_conditions_that_share_texts() -> None:
    """Dicts one by one, columns, lists and dictionaries of texts, in lower case and as they are."""
    rng = random.Random(12)
    conditions, words = _sharing(rng)
    term = fn.lower(t)
    rules = [
        Criterion(f"c{i}", Predicate(t.term if i % 2 else term.term, one))
        for i, one in enumerate(conditions)
    ]
    index = Index.build(rules)
    drawn = [_text(rng, words)[:500] for _ in range(25)] + ["İſK ΑΣ", "ΌΔΟΣ", ""]
    expected = [[one.id for one in rules if one.holds({"t": text})] for text in drawn]
    assert any(expected)
    assert [index.match({"t": text}) for text in drawn] == expected
    plain = pa.array([*drawn, None])
    for column in (plain, plain.cast(pa.string_view()), plain.dictionary_encode()):
        found = index.match_many(pa.table({"t": column}))
        assert [found.ids(i) for i in range(len(drawn))] == expected
        assert found.ids(len(drawn)) == [one.id for one in rules if one.holds({})]
    lists = [[drawn[i], None, drawn[-i - 1]] for i in range(len(drawn))]
    found = index.match_many(pa.table({"t": lists}))
    assert [found.ids(i) for i in range(len(lists))] == [
        [one.id for one in rules if one.holds({"t": row})] for row in lists
    ]


EVENTS: dict[str, Any] = {
    "texts": {"t": "FOO 12", "u": "foo"},
    "a list": {"t": ["x", "Foo", "é FOO", None, 3, 3.5, True, {"t": "foo"}, ["foo"]]},
    "the same element twice": {"t": ["Foo"] * 3, "u": ["x", "x"]},
    "an empty list": {"t": [], "u": [[]]},
    "half of a surrogate pair": {"t": "foo\ud800", "u": ["foo\ud800", "x"]},
    "a number": {"t": 12, "u": [12]},
    "inside": {"v": {"w": ["zz", {"x": "FOO 1"}]}},
    "nothing": {},
    "null": {"t": None, "u": [None]},
    "another dict": OrderedDict(t="FOO 12"),
    "no dict": 3,
    "long": {"t": "x" * 20_000 + "foo 1", "u": "é" * 20_000 + "FOO"},
}


LISTS_ARE_LISTS = ("t NOT IN ('foo')", "t IS NULL", "u <> 'x'", "NOT t LIKE 'f%'", "u IS NOT NULL")


def test_events_that_are_new_and_those_seen_before() -> None:
    everything = attr("$..*")
    terms = (t, attr("u"), everything, fn.lower(t), fn.lower(attr("u")), fn.lower(everything))
    asked = [
        ask(term)
        for term in terms
        for ask in (
            lambda one: one.contains("foo"),
            lambda one: one.finds("[0-9]+$"),
            lambda one: one.finds("o [0-9]"),
            lambda one: one == "x",
            lambda one: ~one.isin("foo"),
            lambda one: one.exists(),
        )
    ]
    asked += map(parse, LISTS_ARE_LISTS)
    rules = [Criterion(f"c{i}", one) for i, one in enumerate(asked)]
    index = Index.build(rules)
    expected = {name: [one.id for one in rules if one.holds(e)] for name, e in EVENTS.items()}
    assert len({*map(tuple, expected.values())}) > 8
    for _ in range(2):  # what is remembered says the same
        assert {name: index.match(event) for name, event in EVENTS.items()} == expected
    found = Index.build(rules).match_many(list(EVENTS.values()))
    assert [found.ids(i) for i in range(len(EVENTS))] == list(expected.values())
