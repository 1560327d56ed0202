"""What narrows a question, and questions of other kinds: tags, terms, near misses, JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from remuda.errors import InvalidCriterion, ParseError
from remuda.index.index import Index
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.language.text import parse

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_a_rare_tag_and_a_common_one_among_many() -> None:
    criteria = [
        Criterion(f"c{i:04}", attr("a") >= i, frozenset({"all", f"tenant-{i // 10}"}))
        for i in range(2000)
    ]
    index = Index.build(criteria)
    assert index.match({"a": 15}, tags={"tenant-1"}) == [f"c{i:04}" for i in range(10, 16)]
    assert len(index.match({"a": 15}, tags=["all", "tenant-7"])) == 16
    assert index.match({"a": 15}, tags={"nobody"}) == []
    assert index.match({"a": 15}, tags=()) == []
    reach = index.reach([{"a": 15}, {"a": 12}], tags={"tenant-1"})
    assert reach.sum() == 6 + 3
    assert np.flatnonzero(reach).tolist() == [10, 11, 12, 13, 14, 15]


def test_one_string_is_no_set_of_tags() -> None:
    with pytest.raises(TypeError, match="set of strings"):
        Index().match({}, tags="abc")
    with pytest.raises(InvalidCriterion, match="set of strings"):
        Criterion("c", attr("a").exists(), "abc")


def test_a_criterion_holds_within_its_term() -> None:
    criterion = Criterion(
        "c", attr("a") == 1, valid_from=NOON, valid_until=NOON.replace(tzinfo=None) + HOUR
    )
    index = Index.build([criterion, Criterion("always", attr("a") == 1)])
    moments = [NOON - timedelta(milliseconds=1), NOON, NOON + HOUR / 2, NOON + HOUR]
    found = [index.match({"a": 1}, now=moment) for moment in moments]
    assert found == [["always"], ["c", "always"], ["c", "always"], ["always"]]
    assert [criterion.holds({"a": 1}, now=moment) for moment in moments] == [
        False, True, True, False,
    ]  # fmt: skip
    assert criterion.score({"a": 1}, now=NOON + HOUR) is None
    again = Criterion.from_json(criterion.to_json())
    assert again == criterion


def test_an_explanation_says_why_a_criterion_is_not_in_force() -> None:
    off = Criterion("c", attr("a") == 1, enabled=False)
    assert "✗ it is switched off" in str(off.explain({"a": 1}))
    late = Criterion("c", attr("a") == 1, valid_from=NOON)
    told = late.explain({"a": 1}, now=NOON - HOUR)
    assert not told.holds
    assert "valid from 2024-05-01T12:00:00+00:00" in str(told)
    assert told.to_dict()["parts"][0]["wanted"].startswith("it is valid")


def test_the_nearest_fail_by_the_fewest_and_say_by_which() -> None:
    texts = {
        "holds": "age >= 18",
        "one": "age >= 18 AND country = 'SG'",
        "either": "(age > 60 AND country = 'SG') OR platform = 'ios'",
        "two": "age > 60 AND country = 'SG'",
        "never": "false",
    }
    index = Index.build(Criterion(name, parse(text)) for name, text in texts.items())
    found = index.nearest({"age": 20, "country": "IN", "platform": "web"}, 9)
    assert [(one.id, [str(why) for why in one.failures]) for one in found] == [
        ("either", ["✗ platform = 'ios': saw 'web'"]),
        ("one", ["✗ country = 'SG': saw 'IN'"]),
        ("two", ["✗ age > 60: saw 20", "✗ country = 'SG': saw 'IN'"]),
    ]
    assert [one.id for one in index.nearest({}, 1)] == ["either"]
    assert Index().nearest({}, 3) == []


def test_an_event_in_json() -> None:
    index = Index.build([Criterion("c", attr("a") == 1)])
    assert index.match_json(b'{"a": 1}') == index.match_json('{"a": 1.0}') == ["c"]
    assert index.match_json("[]") == []
    for broken in ("", '{"a": 1', b'{"a": \xff}', "{a: 1}", "[" * 100_000):
        with pytest.raises(ParseError, match="event"):
            index.match_json(broken)


@pytest.mark.parametrize("matcher", ["auto", "pst-bloom", "pst-hash", "scan"])
@pytest.mark.parametrize("form", [list, pa.Table.from_pylist])
def test_a_sample_of_events_changes_no_answer(matcher, form) -> None:
    criteria = [Criterion(f"c{i}", parse(f"a = {i % 7} AND b = {i % 11}")) for i in range(600)]
    events = [{"a": 3, "b": i % 11} for i in range(50)]  # `b` is the rarer one among events
    index = Index.build(criteria, matcher=matcher, sample=form(events))
    for event in [*events[:12], {"a": 1, "b": [2, 5]}, {}]:
        assert index.match(event) == [one.id for one in criteria if one.holds(event)]


def test_a_sample_of_events_makes_for_better_keys() -> None:
    """Fewer clauses ask for a value of `b` than of `c`, but all events have the same `b`."""
    criteria = [Criterion(f"c{i}", parse(f"b = {i % 41} AND c = {i % 37}")) for i in range(1500)]
    events = pa.table({"b": [7] * 370, "c": np.arange(370) % 37})
    told = [Index.build(criteria, sample=sample) for sample in (None, events)]
    keys = [index.stats()["chosen"][0]["keys"] for index in told]
    assert keys == ["the clauses' own frequencies", "a sample of events"]
    many, few = (_candidates(index.parts[0].segment, {"b": 7, "c": 7}) for index in told)
    assert few < many


def _candidates(segment: Segment, event: dict[str, int]) -> int:
    return segment.match(segment.encoder.encode((event,), 0)).candidates


def test_stats_say_what_was_chosen_and_why() -> None:
    few = Index.build([Criterion("c", parse("a = 1"))])
    [chosen] = few.stats()["chosen"]
    assert chosen["layout"] == "few"
    assert "every event reads them all" in chosen["why"]
    assert Index.build([Criterion("c", parse("a = 1"))], matcher="scan").stats()["chosen"] == [{}]


@pytest.mark.parametrize("removed", [0, 1])
def test_counts_without_keeping_what_is_counted(removed) -> None:
    """Half of 2,000 criteria hold for each event: they are added up, removed ones are not."""
    criteria = [Criterion(f"c{i}", parse(f"a >= {i % 100}")) for i in range(2000)]
    index = Index.build(criteria)
    index.remove(*(f"c{i}" for i in range(removed)))
    events = pa.table({"a": np.arange(500) % 100})
    assert index.parts[0].segment.adds_up
    expected = 20 * (np.arange(500) % 100 + 1) - removed
    assert index.count_many(events).tolist() == expected.tolist()
    reach = [500 - 5 * (i % 100) for i in range(removed, 2000)]
    assert index.reach(events).tolist() == reach
