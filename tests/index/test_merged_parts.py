"""Merged parts answer like an index that was built of the same criteria."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchers.tables import affordable
from remuda.cli.demo_data import draw_day
from remuda.index import index as index_module
from remuda.index import storage
from remuda.index.index import Index
from remuda.index.merged_parts import merged, worth_merging
from remuda.index.roster import Roster, StoredCriteria, StoredIds, checksum
from remuda.index.segment import Segment
from remuda.index.state import Part, State
from remuda.index.trees import written_trees
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.matchers.contract import NAMES
from strategies import NOW, TREES, count, events
from strategies import expressions_of_trees as expressions

LATER = datetime.fromtimestamp(NOW / 1000, UTC) + timedelta(hours=1)
IDS = ("a", "b", "é", "\ud7ff", "\uffff", "\U00010000", "日本", *(f"c{i}" for i in range(9)))

criteria = st.lists(
    st.builds(
        Criterion,
        st.sampled_from(IDS),
        expressions,
        st.frozensets(st.sampled_from("xyz"), max_size=2),
        st.sampled_from((True, True, True, False)),
        st.just(None),
        st.sampled_from((None, None, LATER)),
    ),
    max_size=10,
    unique_by=lambda one: one.id,
)


def _part(pairs, matcher: str) -> Part:
    """A part of pairs of order and criterion."""
    segment = Segment.build([one.expression for _, one in pairs], matcher=matcher)
    orders = np.array([order for order, _ in pairs], np.int64)
    return Part(segment, Roster.of([one for _, one in pairs], orders))


def _index(part: Part, matcher: str) -> Index:
    index = Index(matcher=matcher, hierarchies=TREES)
    index._state = State((part,), next_order=int(part.roster.orders.max(initial=-1)) + 1)
    return index


def _loaded(part: Part, matcher: str, path) -> Part:
    facts = {"matcher": matcher, "scalars": [], **written_trees(TREES)}
    storage.save(State((part,), next_order=99), facts, path)
    return storage.load(path)[0].parts[0]


def _assert_alike(own: Index, other: Index, batch) -> None:
    assert [one.id for one in own] == [one.id for one in other]
    assert all((own[one.id].tags, own[one.id].term) == (one.tags, one.term) for one in other)
    for now in (NOW, LATER):
        for tags in (None, {"x"}, {"y", "z"}):
            asked = {"tags": tags, "now": now}
            assert _rows(own.match_many(batch, **asked)) == _rows(other.match_many(batch, **asked))
            assert own.count_many(batch, **asked).tolist() == (
                other.count_many(batch, **asked).tolist()
            )
            assert own.reach(batch, **asked).tolist() == other.reach(batch, **asked).tolist()
            for event in batch:
                assert own.match(event, **asked) == other.match(event, **asked)
                assert own.top(event, 3, **asked) == other.top(event, 3, **asked)
                assert _near(own.nearest(event, 3, **asked)) == (
                    _near(other.nearest(event, 3, **asked))
                )


def _rows(found) -> list[list[str]]:
    return [found.ids(i) for i in range(len(found))]


def _near(found) -> list[tuple[str, int]]:
    return [(one.id, len(one.failures)) for one in found]


@pytest.mark.soak
@settings(max_examples=count(30, 3_000))
@given(criteria=criteria, draw=st.data(), batch=st.lists(events, max_size=3))
def test_answers_like_an_index_of_the_same_criteria(criteria, draw, batch) -> None:
    matcher = draw.draw(st.sampled_from(("scan", "auto")))
    shares: list[list[tuple[int, Criterion]]] = [[], [], []]
    for pair in enumerate(criteria):
        shares[draw.draw(st.integers(0, 2))].append(pair)
    parts, left = [], []
    with TemporaryDirectory() as home:
        for number, share in enumerate(shares):
            part = _part(share, matcher)
            if draw.draw(st.booleans()):
                part = _loaded(part, matcher, Path(home) / str(number))
            gone = [place for place in range(len(share)) if draw.draw(st.integers(0, 3)) == 0]
            parts.append(part.without(gone) if gone else part)
            left += [pair for place, pair in enumerate(share) if place not in gone]
        left.sort(key=lambda pair: pair[0])
        expected = Index.build([one for _, one in left], matcher=matcher, hierarchies=TREES)
        once = merged(parts, matcher, TREES)
        assert once.roster.orders.tolist() == [order for order, _ in left]
        _assert_alike(_index(once, matcher), expected, batch)
        twice = merged([merged(parts[:2], matcher, TREES), parts[2]], matcher, TREES)
        _assert_alike(_index(twice, matcher), expected, batch)
        again = _loaded(once, matcher, Path(home) / "again")
        _assert_alike(_index(again, matcher), expected, batch)
        _assert_alike(_index(merged([again], matcher, TREES), matcher), expected, batch)


@pytest.fixture(scope="module")
def day():
    campaigns, visits = draw_day(np.random.default_rng(5), 400, 200)
    return campaigns, visits, _rows(Index.build(campaigns, matcher="scan").match_many(visits))


@pytest.mark.parametrize("matcher", NAMES)
def test_every_matcher_takes_a_merged_plan(matcher, day, tmp_path) -> None:
    campaigns, visits, rows = day
    pairs = list(enumerate(campaigns))
    parts = [_part(pairs[i::3], matcher) for i in range(3)]
    parts[1] = _loaded(parts[1], matcher, tmp_path)
    index = _index(merged(parts, matcher), matcher)
    n = affordable(matcher, len(rows))
    assert _rows(index.match_many(visits.slice(0, n))) == rows[:n]
    nothing = merged([parts[0].without(range(len(parts[0])))], matcher)
    assert len(nothing) == 0
    assert _index(nothing, matcher).match(visits.slice(0, 1).to_pylist()[0]) == []


def test_what_is_stored_stays_stored_and_what_is_made_stays_made(tmp_path) -> None:
    pairs = [(i, Criterion(f"c{i}", attr("a") == i)) for i in range(9)]
    made, stored = _part(pairs[:5], "auto"), _part(pairs[5:], "auto")
    stored = _loaded(stored, "auto", tmp_path)
    assert merged([made], "auto").roster.criteria[0] is made.roster.criteria[0]
    alone = merged([stored], "auto").roster
    assert isinstance(alone.ids, StoredIds)
    assert isinstance(alone.criteria, StoredCriteria)
    both = merged([stored.without([1]), made.without([0])], "auto").roster
    assert list(both.ids) == ["c1", "c2", "c3", "c4", "c5", "c7", "c8"]
    assert both.criteria[0] is made.roster.criteria[1]
    assert [both.find(one.id) for one in both.criteria] == list(range(7))
    assert both.find("c6") is None
    assert both.id_array().to_pylist() == list(both.ids)
    assert pa.types.is_large_binary(both.documents().type)


def test_ids_of_any_kind_are_found_and_ranked(tmp_path) -> None:
    odd = ["\ud7fe", "\ue000 x", "\x00", "~", "\U0010ffff", "ß" * 300]
    made = _part([(i, Criterion(name, attr("a").exists())) for i, name in enumerate(odd)], "auto")
    plain = _part([(i + 10, Criterion(name, attr("a") == 1)) for i, name in enumerate(IDS)], "auto")
    roster = merged([_loaded(plain, "auto", tmp_path), made], "auto").roster
    names = [*odd, *IDS]
    assert list(roster.ids) == names
    assert [roster.find(name) for name in names] == list(range(len(names)))
    assert sorted(range(len(names)), key=roster.ranks.__getitem__) == sorted(
        range(len(names)), key=names.__getitem__
    )
    assert roster.slots[checksum("~") & (len(roster.slots) - 1)] >= 0


def test_tags_and_terms_that_nobody_has_any_more_go() -> None:
    def one(i: int, **more) -> tuple[int, Criterion]:
        return i, Criterion(f"c{i}", attr("a") == i, **more)

    left = _part([one(0, tags={"rare", "common"}, valid_until=LATER), one(1)], "auto")
    right = _part([one(2, tags={"common"})], "auto")
    both = merged([left, right], "auto").roster
    assert list(both.tags.names) == ["common", "rare"]
    assert both.tags.of_any(frozenset({"common"})).tolist() == [0, 2]
    assert len(both.terms) == 3
    less = merged([left.without([0]), right], "auto").roster
    assert list(less.tags.names) == ["common"]
    assert less.tags.of_any(frozenset({"common", "rare"})).tolist() == [1]
    assert less.terms.shape == (0, 2)


def test_many_of_like_size_or_one_that_is_mostly_graves() -> None:
    part = _part([(i, Criterion(f"c{i}", attr("a") == i)) for i in range(9)], "scan")
    large = _part([(i, Criterion(f"c{i}", attr("a") == i)) for i in range(70)], "scan")
    assert worth_merging([part] * 7 + [large]) == []
    assert worth_merging([part] * 4 + [large] + [part] * 4) == [part] * 8
    graves = part.without([0, 1, 2, 3, 4])
    assert worth_merging([large, graves, part]) == [graves]


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "not asked"])
def test_new_parts_are_ready_where_questions_are_asked(monkeypatch, asked) -> None:
    monkeypatch.setattr(index_module, "_TAIL", 4)
    index = Index.build([Criterion("first", attr("a") == 0)])
    if asked:
        index.match({"a": 0})
    for i in range(4 * 9):  # nine tails, of which eight are merged
        index.add(Criterion(f"c{i}", attr(f"a{i}") == i))
        while (merging := index._merging) is not None:
            merging.join()
    parts = index._state.parts
    assert len(parts) < 9
    assert [part.segment.words.is_used for part in parts] == [asked] * len(parts)
    assert index.match({"a7": 7}) == ["c7"]
