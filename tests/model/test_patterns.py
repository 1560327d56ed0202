"""Patterns tried together: what a set finds is what each pattern finds by itself."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
import re2
from hypothesis import given, settings

from remuda.engine.engine import Engine
from remuda.errors import InvalidCriterion
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import Attr, attr
from remuda.language.rows import criterion_of
from remuda.model.conditions import Contains, Like, Prefix, Regex, Suffix
from remuda.model.demands import demanding_once
from remuda.model.expressions import Expression
from remuda.model.patterns import PatternSet, found_anywhere, like_regex, matches_whole
from strategies import count, event_texts, is_pattern, shared_patterns

t = attr("t")
OTHERS = [rf"host-{i}\..*" for i in range(200)]


def alone(patterns: list[str], text: str) -> list[int]:
    return [i for i, pattern in enumerate(patterns) if matches_whole(pattern, text)]


LOST: dict[str, tuple[list[str], str, str]] = {  # those that share a text, the one lost, an event
    "one text three times": (
        [rf".* and .*item{i}" for i in range(11)],
        r"\w+ and \w+ and \w+ and \w+",
        "a and b and c and d",
    ),
    "LIKE": (
        [like_regex(f"%=1;%item{i}", "\\") for i in range(11)],
        like_regex("%=1;%=1;%=1;%", "\\"),
        "a=1;b=1;c=1;d",
    ),
    "a class repeated": ([f"[01]{{16}}:{i}xyz" for i in range(12)], "[01]{32}", "01" * 16),
    "another case": (
        [f".*foo.*item{i}" for i in range(11)],
        "FOO.*foo.*Foo",
        "FOO foo Foo",
    ),
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


@pytest.mark.parametrize(("sharing", "lost", "text"), LOST.values(), ids=LOST)
def test_a_pattern_that_demands_a_text_often_is_found(
    sharing: list[str], lost: str, text: str
) -> None:
    patterns = [*sharing, *OTHERS, lost]
    assert PatternSet(patterns).matching(text) == [len(patterns) - 1]


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


REWRITTEN = {
    "words": (r"\w+ and \w+", r"\w+ and \w+"),
    "contains": (r"(?s:.*)a\.b(?s:.*)", r"(?s:.*)a\.b(?s:.*)"),
    "a choice": ("a.*(foo|bar)b", "a.*(foo|bar)b"),
    "a text twice": (r".*foo.*foo.*bar", r".*foo.*(?:foo|\z(?s:.)).*bar"),
    "a class beside a text": (r"at [0-9]{4} host", r"at (?:[0-9]{4}|\z(?s:.)) host"),
    "nothing to ask for": ("[01]{32}", r"(?:[01]{32}|\z(?s:.))"),
    "flags keep their place": (r"[ab](?i)foo[cd]", r"(?:[ab]|\z(?s:.))(?i)foo(?:[cd]|\z(?s:.))"),
}


@pytest.mark.parametrize(("pattern", "rewritten"), REWRITTEN.values(), ids=REWRITTEN)
def test_what_is_demanded_twice_is_hidden(pattern: str, rewritten: str) -> None:
    assert demanding_once(pattern) == rewritten


@settings(max_examples=count(200, 5_000))
@given(pattern=shared_patterns, text=event_texts)
def test_rewriting_keeps_the_meaning(pattern: str, text: str) -> None:
    assert matches_whole(demanding_once(pattern), text) == matches_whole(pattern, text)


@pytest.mark.soak
def test_sets_of_patterns_that_share_texts_find_what_each_finds() -> None:
    """Sets of 200, 10^6 pairs of a pattern and a text in full."""
    rng, n_pairs, n_found = random.Random(11), 0, 0
    while n_pairs < count(40_000, 1_000_000):
        patterns, words = _sharing(rng)
        together = PatternSet(patterns)
        for _ in range(20):
            pieces = [*words, "foo", "FOO", " ", "2024", "01" * 8]
            text = "".join(rng.choices(pieces, k=rng.randrange(9)))
            found = alone(patterns, text)
            assert together.matching(text) == found, text
            n_pairs, n_found = n_pairs + len(patterns), n_found + len(found)
    print(f"patterns: {n_pairs:,} pairs, {n_found:,} found, all as by themselves")
    assert n_found > n_pairs // 1000


_WORDS = ("foo", "bar", " and ", "=1;", "Foo", "kiss", "Kiosk", "日本", "é", "ab", "ſks")
_SPELLINGS = (
    r"\x66oo", "f[o]o", "(?:foo)", "fo{2}", "(?i:foo)", "fo(?:)o", "f(?i)oo", r"f\boo", "[fF]oo",
    r"fo[^\x00-\x{10FFFF}]*o", "fo(?:^)*o", "foo{0}o", r"\Qfoo\E",
)  # fmt: skip


def _sharing(rng: random.Random) -> tuple[list[str], list[str]]:
    """Some patterns over a few words among others of their own: then RE2 prunes."""
    words = rng.sample(_WORDS, 5)
    share = rng.choice((0.1, 0.2, 0.4, 1.0))
    patterns: list[str] = []
    while len(patterns) < 200:
        pattern = _drawn(rng, words) if rng.random() < share else f"host-{len(patterns)}.*"
        if is_pattern(pattern):
            patterns.append(found_anywhere(pattern) if rng.random() < 0.5 else pattern)
    return patterns, words


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


# What is refused where it enters

REFUSED: dict[str, Callable[[], object]] = {
    "contains, half a pair": lambda: Contains("a\ud800"),
    "suffix, half a pair": lambda: Suffix("\udfff"),
    "prefix, half a pair": lambda: Prefix("\ud800"),
    "like, half a pair": lambda: Like("%\ud800%"),
    "matches, half a pair": lambda: Regex("\ud800"),
    "in, half a pair": lambda: t.isin("a", "\ud800"),
    "in, half a pair inside an object": lambda: t.isin({"k": ["\ud800"]}),
    "range, half a pair": lambda: t >= "\ud800",
    "superset, half a pair": lambda: t.superset("\ud800"),
    "version, half a pair": lambda: t.version() >= "1\ud800",
    "contains, 81 kB": lambda: Contains("y" * 81_000),
    "suffix, 81 kB": lambda: Suffix("y" * 81_000),
    "like, 81 kB": lambda: Like("%" + "y" * 81_000),
    "like, ten thousand times any": lambda: Like("_" * 10_000),
    "contains, a megabyte": lambda: Contains("y" * 1_000_000),
    "82,000 letters in 854 bytes": lambda: Regex("x{1000}" * 82),
    "82,000 letters, found": lambda: Regex("x{1000}" * 82, find=True),
    "a path, half a pair": lambda: attr("a.\ud800"),
    "a query, half a pair": lambda: attr("$..['\ud800']"),
    "an id, half a pair": lambda: Criterion("\ud800", t == 1),
    "a tag, half a pair": lambda: Criterion("a", t == 1, tags=frozenset({"\ud800"})),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_refused_where_it_enters(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidCriterion):
        make()


def test_refused_when_it_is_read() -> None:
    document = Criterion("a", t.matches("x")).to_json()
    written = json.dumps(document).replace('"x"', json.dumps("x{1000}" * 82))
    with pytest.raises(InvalidCriterion, match="instructions"):
        Criterion.from_json(written)
    with pytest.raises(InvalidCriterion, match="instructions"):
        criterion_of(written.encode())  # as `remuda check` and `read_criteria` read a row


def test_the_name_of_an_index_is_text() -> None:
    with pytest.raises(ValueError, match="name of an index"):
        Engine().add("\ud800", Criterion("a", t == 1))


SEARCHED: dict[str, Callable[[Attr], Expression]] = {
    "an open quotation": lambda a: a.matches(r"\Qa.b"),
    "an open quotation that ends in a backslash": lambda a: a.matches("\\Qa\\"),
    "an open quotation, found": lambda a: a.finds(r"\Qa.b"),
    "contains, 9 kB": lambda a: a.contains("y" * 9_000),
    "suffix, 9 kB": lambda a: a.suffix("y" * 9_000),
    "like, 9 kB": lambda a: a.like("%" + "y" * 9_000),
    "like, 500 of any": lambda a: a.like("_" * 500),
    "9,000 letters": lambda a: a.matches("x{1000}" * 9),
}


@pytest.mark.parametrize("make", SEARCHED.values(), ids=SEARCHED)
def test_what_is_accepted_can_be_searched(make: Callable[[Attr], Expression]) -> None:
    odd = Criterion("odd", make(t))
    rules = [odd, *(Criterion(f"r{i}", t.matches(f"q{i}.*")) for i in range(20))]
    index = Index.build(rules)
    for text in ("q1", "a.b", "axb", "a\\", "x" * 9_000, "y" * 9_000, "z" * 500):
        assert index.match({"t": text}) == [one.id for one in rules if one.holds({"t": text})]
