"""An engine that changes, is closed and opened again equals a dict of dicts of criteria."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from remuda.engine.engine import Engine
from remuda.errors import CriterionNotFound, DuplicateCriterion, IndexExists, IndexNotFound
from remuda.language.criterion import Criterion
from strategies import NOW, count, events
from strategies import expressions_of_terms as expressions

names = st.sampled_from(["one", "two", "three"])
ids = st.sampled_from([f"c{i}" for i in range(8)])
tags = st.frozensets(st.sampled_from(["red", "blue"]), max_size=2)
criterions = st.builds(Criterion, ids, expressions, tags, st.sampled_from([True, True, False]))
several = st.lists(criterions, max_size=4, unique_by=lambda one: one.id)


class LiveEngine(RuleBasedStateMachine):
    """Random changes to random indexes, then random questions."""

    @initialize(durable=st.booleans(), limit=st.sampled_from([1_000, 1 << 26]))
    def build(self, durable, limit) -> None:
        self.directory = TemporaryDirectory()
        self.path = Path(self.directory.name) / "engine" if durable else None
        self.limit = limit
        self.model: dict[str, dict[str, Criterion]] = {}
        self.open()

    def open(self) -> None:
        self.engine = Engine(self.path, matcher="scan", log_limit=self.limit)

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()
            self.directory.cleanup()

    @rule(name=names, criteria=st.one_of(criterions, several))
    def add(self, name, criteria) -> None:
        given = [criteria] if isinstance(criteria, Criterion) else criteria
        there = self.model.get(name, {})
        if any(one.id in there for one in given):
            with pytest.raises(DuplicateCriterion):
                self.engine.add(name, criteria)
        else:
            self.engine.add(name, criteria)
            self.model[name] = there | {one.id: one for one in given}

    @rule(name=names, criteria=st.one_of(criterions, several))
    def update(self, name, criteria) -> None:
        given = [criteria] if isinstance(criteria, Criterion) else criteria
        self.engine.update(name, criteria)
        self.model.setdefault(name, {}).update((one.id, one) for one in given)

    @rule(name=names, gone=st.lists(ids, max_size=3))
    def delete(self, name, gone) -> None:
        there = self.model.get(name)
        if there is None:
            with pytest.raises(IndexNotFound):
                self.engine.delete(name, *gone)
        elif not there.keys() >= set(gone):
            with pytest.raises(CriterionNotFound):
                self.engine.delete(name, *gone)
        else:
            self.engine.delete(name, *gone)
            for one in set(gone):
                del there[one]

    @rule(old=names, new=names)
    def replace(self, old, new) -> None:
        if new not in self.model:
            with pytest.raises(IndexNotFound):
                self.engine.replace(old, new)
        else:
            self.engine.replace(old, new)
            self.model[old] = self.model.pop(new)

    @rule(name=names)
    def drop(self, name) -> None:
        if name in self.model:
            self.engine.drop(name)
            del self.model[name]

    @rule(name=names, source=names)
    def load_what_was_exported(self, name, source) -> None:
        if source not in self.model:
            return
        text = self.engine.export(source)
        told = [(one["id"], one.get("enabled", True)) for one in json.loads(text)]
        assert told == [(one.id, one.enabled) for one in self.model[source].values()]
        if name in self.model:
            with pytest.raises(IndexExists):
                self.engine.load(name, text)
        else:
            self.engine.load(name, text)
            self.model[name] = dict(self.model[source])

    @rule()
    def checkpoint(self) -> None:
        self.engine.checkpoint()

    @rule()
    def reopen(self) -> None:
        if self.path is not None:
            self.engine.close()
            self.open()

    @rule()
    def crash(self) -> None:
        if self.path is not None:
            if self.engine._background is not None:
                self.engine._background.join()
            self.engine._store.close()  # as a crash does: no checkpoint
            self.open()

    @rule(name=names, event=events, wanted=st.one_of(st.none(), tags))
    def ask(self, name, event, wanted) -> None:
        if name not in self.model:
            return
        expected = [
            one.id
            for one in self.model[name].values()
            if (wanted is None or wanted & one.tags) and one.holds(event, now=NOW)
        ]
        assert self.engine.search(name, event, tags=wanted, now=NOW) == expected
        assert self.engine.scan(name, event, tags=wanted, now=NOW) == expected

    @invariant()
    def knows_what_is_there(self) -> None:
        if hasattr(self, "engine"):
            assert self.engine.names() == sorted(self.model)
            for name, there in self.model.items():
                assert self.engine.snapshot(name).totals["criteria"] == len(there)


TestLiveEngine = pytest.mark.soak(LiveEngine.TestCase)
TestLiveEngine.settings = settings(max_examples=count(40, 3_000), stateful_step_count=25)
