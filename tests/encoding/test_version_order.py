"""Versions: an order with cycles, which the index must not sort."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import remuda as rm
from remuda.encoding import vocabulary
from remuda.index import storage
from remuda.language.python import attr
from remuda.model.versions import version_key
from strategies import count

v = attr("v").version()
WORDS = ("0", "1", "2", ".", "-", "alpha", "a", "sp", "foo", "ga")


def hostile(length: int) -> list[str]:
    """Every text of so many words at most."""
    return list(
        dict.fromkeys("".join(one) for n in range(length + 1) for one in product(WORDS, repeat=n))
    )


CYCLES = {
    "nothing, a word, a nested word": ("0.0.0-alpha", "0.0.0", "v2"),
    "zeros before a word inside": ("1.0.alpha.1", "1", "1.sp.1"),
    "a word inside": ("1.foo.1", "1-alpha", "1"),
    "words for a release": ("0-ga.alpha.1", "0", "foo"),
}


@pytest.mark.parametrize("bases", CYCLES.values(), ids=CYCLES)
@pytest.mark.parametrize("matcher", ["auto", "scan", "pst-hash"])
def test_cycles_are_decided_base_by_base(bases: tuple[str, ...], matcher: str) -> None:
    criteria = [
        rm.Criterion(f"{name} {base}", test)
        for base in bases
        for name, test in {
            "from": v >= base,
            "above": v > base,
            "to": v <= base,
            "below": v < base,
            "not from": ~(v >= base),
            "strongly not from": (v >= base).strong(),
        }.items()
    ]
    index = rm.Index.build(criteria, matcher=matcher)
    events = [{"v": base} for base in bases]
    events += [{"v": list(bases)}, {"v": [*bases[:2], 1]}, {"v": 1}, {}]
    for event in events:
        assert index.match(event) == [one.id for one in criteria if one.holds(event)]


@pytest.mark.parametrize("bases", CYCLES.values(), ids=CYCLES)
def test_the_order_has_cycles(bases: tuple[str, ...]) -> None:
    first, second, third = map(version_key, bases)
    assert first < second
    assert second < third
    assert third < first


def test_every_version_lies_between_two_plain_ones() -> None:
    texts = hostile(4)
    plain = sorted(key for key in map(version_key, hostile(5)) if key.is_plain)[:: count(45, 3)]
    assert len(plain) > 50
    for text in texts:
        key = version_key(text)
        orders = [one.compare(key) for one in plain]
        assert orders == sorted(orders), text


@pytest.mark.soak
def test_hostile_versions_hold_exactly_where_they_should() -> None:
    texts = hostile(count(3, 4))
    bases = texts[:: count(41, 37)]
    criteria = [rm.Criterion(f"{base}>", v > base) for base in bases]
    criteria += [rm.Criterion(f"{base}<=", v <= base) for base in bases]
    assert len({version_key(base).is_plain for base in bases}) == 2
    index = rm.Index.build(criteria, matcher="scan")
    found = index.match_many([{"v": text} for text in texts])
    for i, text in enumerate(texts):
        event = {"v": text}
        assert found.ids(i) == [one.id for one in criteria if one.holds(event)], text


LONG = {
    "zeros in lists": "3.2.0" + "-0" * 500 + "-1",
    "lists": "1" + "-1" * 100_000,
    "letters and digits": "1a" * 50_000,
    "separators": "-" * 100_000,
    "digits": "9" * 1_000_000,
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
@pytest.mark.parametrize("base", ["3.2.0", "3.2.0-rc1", "1" + "-1" * 1000])
def test_no_version_is_too_long(value: str, base: str) -> None:
    criteria = [rm.Criterion("from", v >= base), rm.Criterion("below", v < base)]
    index = rm.Index.build(criteria)
    expected = [one.id for one in criteria if one.holds({"v": value})]
    assert len(expected) == 1
    assert index.match({"v": value}) == expected
    assert index.match_many([{"v": value}, {"v": [value]}]).ids(1) == expected


def test_a_long_base_is_saved_and_merged(tmp_path: Path) -> None:
    base = "1" + "-1" * 1000
    index = rm.Index()
    for i in range(200):
        index.add(rm.Criterion(f"c{i}", (v >= f"{base}-{i}") | (attr("a") == i)))
    index.save(tmp_path)
    assert rm.load(tmp_path).match({"v": f"{base}-7"}) == [f"c{i}" for i in range(8)]


def test_segments_that_sorted_any_version_are_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    criteria = [rm.Criterion("p", v >= "v2"), rm.Criterion("q", v >= "0.0.0-alpha")]
    with monkeypatch.context() as before:
        before.setattr(vocabulary, "view_of", lambda _: vocabulary.View.VERSION)
        before.setitem(storage._LAYOUTS, "words", 1)
        old = rm.Index.build(criteria)
        old.save(tmp_path)
    assert rm.load(tmp_path).match({"v": "0.0.0"}) == ["q"]
    assert old.match({"v": "0.0.0"}) != ["q"]  # else this has shown nothing
