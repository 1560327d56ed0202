"""An index that changes equals a dict of criteria evaluated plainly, at every moment."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from remuda.errors import CriterionNotFound, DuplicateCriterion
from remuda.index import index as module
from remuda.index.index import Index, load
from remuda.language.criterion import Criterion
from strategies import NOW, count, events, expressions

ids = st.sampled_from([f"c{i}" for i in range(12)])


class LiveIndex(RuleBasedStateMachine):
    """Random changes, then random questions."""

    @initialize(start=st.lists(expressions, max_size=4), tail=st.sampled_from((1, 2, 3)))
    def build(self, start, tail) -> None:
        module._TAIL, module._FANOUT = tail, 3  # so that a few changes make and merge segments
        criteria = [Criterion(f"c{i}", one) for i, one in enumerate(start)]
        self.model = {one.id: one for one in criteria}
        self.index = Index.build(criteria, matcher="scan")
        self.directory = TemporaryDirectory()
        self.home = Path(self.directory.name) / "index"

    def teardown(self) -> None:
        self.directory.cleanup()

    @rule(id=ids, expression=expressions)
    def add(self, id, expression) -> None:
        if id in self.model:
            with pytest.raises(DuplicateCriterion):
                self.index.add(Criterion(id, expression))
        else:
            self.model[id] = Criterion(id, expression)
            self.index.add(self.model[id])

    @rule(id=ids, expression=expressions)
    def update(self, id, expression) -> None:
        self.model[id] = Criterion(id, expression)  # keeps its place in the dict, too
        self.index.update(self.model[id])

    @rule(id=ids)
    def remove(self, id) -> None:
        if id in self.model:
            del self.model[id]
            self.index.remove(id)
        else:
            with pytest.raises(CriterionNotFound):
                self.index.remove(id)

    @rule()
    def merge(self) -> None:
        self.index.merge()

    @rule()
    def save_and_load(self) -> None:
        self.index.save(self.home)
        self.index = load(self.home)

    @rule(event=events)
    def match(self, event) -> None:
        expected = [one.id for one in self.model.values() if one.holds(event, now=NOW)]
        assert self.index.match(event, now=NOW) == expected

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


TestLiveIndex = pytest.mark.soak(LiveIndex.TestCase)
TestLiveIndex.settings = settings(max_examples=count(40, 3_000), stateful_step_count=25)
