"""An index that changes equals a dict of criteria evaluated plainly, at every moment."""

from __future__ import annotations

import threading
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from remuda.errors import CriterionNotFound, DuplicateCriterion
from remuda.index import index as module
from remuda.index import living, merged_parts, state
from remuda.index.index import Index, load
from remuda.index.nearest import shortfall
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from strategies import NOW, TREES, count
from strategies import events as any_event
from strategies import expressions_of_trees as any_expression


@st.composite
def _event(draw):  # functions, whose names are all that Hypothesis prints of them
    return draw(any_event)


@st.composite
def _expression(draw):
    return draw(any_expression)


events, expressions = _event(), _expression()
ids = st.sampled_from([f"c{i}" for i in range(12)])
tags = st.frozensets(st.sampled_from("xyz"), max_size=2)
moments = st.sampled_from((NOW, NOW - 86_400_000, NOW + 86_400_000))
START = datetime.fromtimestamp(NOW / 1000 - 1, UTC)
terms = st.sampled_from(
    ((None, None), (START, None), (None, START), (START, START + timedelta(milliseconds=1001)))
)


class LiveIndex(RuleBasedStateMachine):
    """Random changes, then random questions."""

    matcher = "scan"

    @initialize(
        start=st.lists(expressions, max_size=4),
        tail=st.sampled_from((1, 2, 3, 9)),
        plain=st.sampled_from((0, 5, 1000)),
    )
    def build(self, start, tail, plain) -> None:
        self.patched = pytest.MonkeyPatch()  # so that a few changes make and merge segments
        self.patched.setattr(module, "_TAIL", tail)
        self.patched.setattr(state, "_PLAIN", plain)
        self.patched.setattr(merged_parts, "_FANOUT", 3)
        self.patched.setattr(living, "WINDOW", 2)
        self.patched.setattr(living, "_GRAVES", 3)
        criteria = [Criterion(f"c{i}", one) for i, one in enumerate(start)]
        self.model = {one.id: one for one in criteria}
        self.index = Index.build(criteria, matcher=self.matcher, hierarchies=TREES)
        self.directory = TemporaryDirectory()
        self.home = Path(self.directory.name) / "index"

    def teardown(self) -> None:
        self.patched.undo()
        self.directory.cleanup()

    @rule(id=ids, expression=expressions)
    def add(self, id, expression) -> None:
        if id in self.model:
            with pytest.raises(DuplicateCriterion):
                self.index.add(Criterion(id, expression))
        else:
            self.model[id] = Criterion(id, expression)
            self.index.add(self.model[id])

    @rule(id=ids, expression=expressions, tags=tags, term=terms)
    def update(self, id, expression, tags, term) -> None:
        self.model[id] = Criterion(
            id, expression, tags, True, *term
        )  # keeps its place in the dict, too
        self.index.update(self.model[id])

    @rule(id=ids)
    def remove(self, id) -> None:
        if id in self.model:
            del self.model[id]
            self.index.remove(id)
        else:
            with pytest.raises(CriterionNotFound):
                self.index.remove(id)

    @rule(id=ids, enabled=st.booleans())
    def switch(self, id, enabled) -> None:
        change = self.index.enable if enabled else self.index.disable
        if id in self.model:
            change(id)
            self.model[id] = replace(self.model[id], enabled=enabled)
        else:
            with pytest.raises(CriterionNotFound):
                change(id)

    @rule(
        given=st.lists(st.tuples(ids, expressions, tags), max_size=5, unique_by=lambda one: one[0])
    )
    def update_many(self, given) -> None:
        criteria = [Criterion(*one) for one in given]
        self.model |= {one.id: one for one in criteria}
        self.index.update(criteria)

    @rule(given=st.lists(st.tuples(ids, expressions, tags), max_size=5))
    def add_many(self, given) -> None:
        criteria = [Criterion(*one) for one in given]
        names = [one.id for one in criteria]
        if len(set(names)) < len(names) or not self.model.keys().isdisjoint(names):
            with pytest.raises(DuplicateCriterion):
                self.index.add(criteria)
        else:
            self.model |= {one.id: one for one in criteria}
            self.index.add(criteria)

    @rule()
    def merge(self) -> None:
        self.index.merge()

    @rule()
    def save_and_load(self) -> None:
        self.index.save(self.home)
        self.index = load(self.home)

    @rule(event=events, now=moments)
    def match(self, event, now) -> None:
        expected = [one.id for one in self.model.values() if one.holds(event, now=now)]
        assert self.index.match(event, now=now) == expected

    @rule(event=events, tags=tags)
    def match_some(self, event, tags) -> None:
        some = [one for one in self.model.values() if one.tags & tags]
        expected = [one.id for one in some if one.holds(event, now=NOW)]
        assert self.index.match(event, tags=tags, now=NOW) == expected
        assert self.index.match_many([event], tags=tags, now=NOW).ids(0) == expected
        assert self.index.count_many([event], tags=tags, now=NOW).tolist() == [len(expected)]
        scored = sorted((-one.score(event, now=NOW), one.id) for one in some if one.id in expected)
        best = self.index.top(event, 2, tags=tags, now=NOW)
        assert [(-one.score, one.id) for one in best] == scored[:2]

    @rule(event=events, n=st.integers(0, 4))
    def near(self, event, n) -> None:
        found = self.index.nearest(event, n, now=NOW)
        failing = [one for one in self.model.values() if one.in_force(NOW)]
        failing = [one for one in failing if not one.holds(event, now=NOW)]
        fails = [(len(shortfall(one.expression, event, NOW)), one.id) for one in failing]
        expected = sorted((lacking, name) for lacking, name in fails if lacking)[:n]
        assert [(len(one.failures), one.id) for one in found] == expected

    @rule(batch=st.lists(events, max_size=3), n=st.integers(0, 3))
    def ask_many(self, batch, n) -> None:
        held = [
            [one.id for one in self.model.values() if one.holds(event, now=NOW)] for event in batch
        ]
        found = self.index.match_many(batch, now=NOW)
        assert [found.ids(i) for i in range(len(found))] == held
        assert self.index.count_many(batch, now=NOW).tolist() == [len(row) for row in held]
        reach = [sum(name in row for row in held) for name in self.model]
        assert self.index.reach(batch, now=NOW).tolist() == reach
        for event in batch:
            scored = [(one.score(event, now=NOW), one.id) for one in self.model.values()]
            best = sorted((-score, name) for score, name in scored if score is not None)[:n]
            assert [(-m.score, m.id) for m in self.index.top(event, n, now=NOW)] == best

    @invariant()
    def knows_who_is_there(self) -> None:
        if hasattr(self, "model"):
            assert len(self.index) == len(self.model)
            assert [one.id for one in self.index] == list(self.model)
            assert list(self.index.ids()) == list(self.model)


class LiveIndexOnDevice(LiveIndex):
    """The same with the clauses on a device."""

    matcher = "gpu"


TestLiveIndex = pytest.mark.soak(LiveIndex.TestCase)
TestLiveIndex.settings = settings(max_examples=count(40, 3_000), stateful_step_count=25)
TestLiveIndexOnDevice = pytest.mark.soak(LiveIndexOnDevice.TestCase)
TestLiveIndexOnDevice.settings = settings(max_examples=count(4, 300), stateful_step_count=15)


def test_a_copy_goes_its_own_way() -> None:
    index = Index.build([Criterion("a", attr("x") == 1)])
    index.add(Criterion("b", attr("x") == 1))
    with index._writing:  # a writer is at work: who has a copy does not wait for it
        copied = copy(index)
        changing = threading.Thread(target=copied.remove, args=("a",))
        changing.start()
        changing.join(timeout=30)
        assert not changing.is_alive()
    assert (copied.match({"x": 1}), index.match({"x": 1})) == (["b"], ["a", "b"])


def test_the_tail_becomes_a_segment_once_and_not_for_few_events(monkeypatch) -> None:
    index = Index.build([Criterion("a", attr("x") == 1)])
    made = []
    build = Segment.build
    monkeypatch.setattr(
        Segment, "build", lambda *parts, **how: made.append(1) or build(*parts, **how)
    )
    index.add([Criterion(f"t{i}", attr("x") >= i) for i in range(100)])
    for _ in range(3):
        assert index.match_many([{"x": 1}]).ids(0) == ["a", "t0", "t1"]
        assert [one.id for one in index.top({"x": 1}, 2)] == ["a", "t0"]
        index.match({"x": 1})
    assert made == []
    for _ in range(3):
        assert index.count_many(pa.table({"x": [0, 1, 2]})).tolist() == [1, 3, 3]
        assert index.match({"x": 2}) == ["t0", "t1", "t2"]
    index.match_many([{"x": 1}] * 1000)
    assert made == [1]
    index.remove("a")
    index.reach([{"x": 1}] * 1000)
    assert made == [1], "the tail is the same"
    index.remove("t7")
    assert index.reach([{"x": 1}] * 1000).sum() == 2000
    assert made == [1, 1]
