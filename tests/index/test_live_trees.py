"""One tree that is changed in place gives what plain evaluation and a fresh build give."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from copy import copy

import pyarrow as pa
import pytest
from hypothesis import settings
from test_live import LiveIndex

import remuda as rm
from remuda.encoding.splitting import NoRoom, Runs, SplitValues
from remuda.index import living
from remuda.matchers.contract import Chosen
from remuda.model.conditions import In, Range
from strategies import SEED, count

LIVE = ("betree", "pst-bloom", "pst-hash")
every_tree = pytest.mark.parametrize("matcher", LIVE)


class LiveTree(LiveIndex):
    """The changes and questions of all indexes, on a tree that is adjusted all the while."""

    matcher = "betree(live, max_cap=2, min_size=1)"


class LiveBloom(LiveTree):
    matcher = "pst-bloom(live)"


class LiveHash(LiveTree):
    matcher = "pst-hash(live, most_pairs=4)"


TestLiveTree = pytest.mark.soak(LiveTree.TestCase)
TestLiveTree.settings = settings(max_examples=count(12, 2_000), stateful_step_count=25)
TestLiveBloom = pytest.mark.soak(LiveBloom.TestCase)
TestLiveBloom.settings = settings(max_examples=count(12, 2_000), stateful_step_count=25)
TestLiveHash = pytest.mark.soak(LiveHash.TestCase)
TestLiveHash.settings = settings(max_examples=count(12, 2_000), stateful_step_count=25)


class Drawn:
    """Criteria and events of attributes and values that are ever new."""

    def __init__(self, seed: int) -> None:
        self.rng, self.n = random.Random(seed), 0

    def criterion(self) -> rm.Criterion:
        self.n += 1
        return rm.Criterion(f"c{self.n}", rm.parse(self._text()))

    def event(self) -> dict[str, object]:
        names = self.rng.sample(range(3 + self.n // 200), 3)
        texts = {f"t{name}": f"v{self.rng.randrange(1 + self.n // 50)}" for name in names}
        return texts | {f"x{name}": self.rng.randrange(self.n + 1) / 2 for name in names}

    def _text(self) -> str:
        kinds = (self._number, self._number, self._text_value, self._pattern)
        parts = [self.rng.choice(kinds)() for _ in range(self.rng.randrange(1, 4))]
        return self.rng.choice((" AND ", " AND ", " OR ")).join(parts)

    def _name(self) -> int:
        return self.rng.randrange(3 + self.n // 200)

    def _number(self) -> str:
        operator = self.rng.choice(("<", ">=", "=", "<>"))
        return f"x{self._name()} {operator} {self.rng.randrange(self.n) / 2}"

    def _text_value(self) -> str:
        return f"t{self._name()} IN ('v{self.rng.randrange(1 + self.n // 50)}', 'v{self.n}')"

    def _pattern(self) -> str:
        return f"t{self._name()} LIKE '%{self.rng.randrange(100)}'"


@pytest.mark.soak
@every_tree
def test_random_changes_leave_what_a_fresh_build_has(matcher: str) -> None:
    drawn, model = Drawn(SEED), dict[str, rm.Criterion]()
    index, n_compared = rm.Index(matcher=matcher, live=True), 0
    for step in range(count(600, 100_000)):
        if model and drawn.rng.random() < 0.45:
            gone = drawn.rng.choice([*model][-50:])
            del model[gone]
            index.remove(gone)
        else:
            one = drawn.criterion()
            model[one.id] = one
            index.add(one)
        if step % count(100, 2_000) == 0:
            events = [drawn.event() for _ in range(20)]
            fresh = rm.Index.build(model.values(), matcher=matcher)
            found, expected = index.match_many(events), fresh.match_many(events)
            assert [found.ids(i) for i in range(20)] == [expected.ids(i) for i in range(20)]
            assert index.match(events[0]) == [
                one.id for one in model.values() if one.holds(events[0])
            ]
            n_compared += found.counts().sum()
    print(f"{matcher}: {step + 1:,} changes, {len(model):,} left, {n_compared:,} matches the same")


NAMES = {
    "plain": ("betree", "betree"),
    "parameters in code-point order": (
        "betree( min_size=3,max_cap=20 )",
        "betree(max_cap=20, min_size=3)",
    ),
    "live comes last": ("betree(live, max_cap=20)", "betree(max_cap=20, live)"),
    "nothing in parentheses": ("pst-hash()", "pst-hash"),
}


@pytest.mark.parametrize(("given", "written"), NAMES.values(), ids=NAMES)
def test_a_matcher_is_named_with_its_parameters(given: str, written: str) -> None:
    assert str(Chosen.of(given)) == written
    assert str(Chosen.of(written)) == written


REFUSED = {
    "no such matcher": ("tree", "there is no matcher 'tree'"),
    "no such parameter": ("betree(n=2)", "betree has no parameter 'n'; it has max_cap, min_size"),
    "none at all": ("auto(n=2)", "auto has no parameter 'n'; it has none"),
    "no number": ("betree(max_cap=x)", "'max_cap=x' is no parameter, such as max_cap=20"),
    "zero": ("betree(max_cap=0)", "'max_cap=0' is no parameter"),
    "no end": ("betree(max_cap=1", "there is no matcher"),
    "never live": ("auto(live)", "auto cannot be live, .* take betree, pst-bloom, pst-hash"),
}


@pytest.mark.parametrize(("given", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_matcher_is_refused(given: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        rm.Index(matcher=given)


def test_parameters_reach_the_tree_and_are_kept(tmp_path) -> None:
    rules = [rm.Criterion(f"c{i}", rm.attr("x") == i) for i in range(40)]
    index = rm.Index.build(rules, matcher="betree(max_cap=7, min_size=2)", live=True)
    index.save(tmp_path)
    again = rm.load(tmp_path)
    assert again.matcher == "betree(max_cap=7, min_size=2, live)"
    assert again.live
    for one in (index, again):
        assert (one._living._tree.max_cap, one._living._tree.min_size) == (7, 2)
        assert one.match({"x": 3}) == ["c3"]
    assert not rm.load(tmp_path, live=False).live


@every_tree
def test_attributes_and_values_that_nobody_knew(matcher: str) -> None:
    index = rm.Index(matcher=matcher, live=True)
    for i in range(300):  # a new attribute and a new value each, kinds mixed
        index.add(rm.Criterion(f"n{i}", rm.attr(f"x{i}") > i))
        index.add(rm.Criterion(f"t{i}", rm.attr("t") == f"v{i}"))
        index.add(rm.Criterion(f"b{i}", rm.attr("t") == (i if i % 2 else True)))
    assert index.match({"x7": 8, "t": "v9"}) == ["n7", "t9"]
    assert index.match({"t": True}) == [f"b{i}" for i in range(0, 300, 2)]
    assert index.match({"t": 7}) == ["b7"]
    assert index.match_many(pa.table({"t": [7, 8], "x299": [300.0, None]})).ids(0) == ["b7", "n299"]
    assert index.stats()["segments"] == 1


ORDERS = {
    "ascending": lambda i: i,
    "descending": lambda i: -i,
    "towards a bound": lambda i: 1 - 1 / (i + 2),
    "anywhere": lambda i: (i * 7919) % 10007,
}


@pytest.mark.parametrize("value", ORDERS.values(), ids=ORDERS)
def test_values_that_come_in_order_find_room(value, monkeypatch) -> None:
    laid_out = []
    monkeypatch.setattr(
        living.Living,
        "_lay_out",
        lambda self, *why, do=living.Living._lay_out: (laid_out.append(len(self)), do(self, *why)),
    )
    index = rm.Index(matcher="betree", live=True)
    index.add(rm.Criterion("bound", rm.attr("x") < 1))
    for i in range(600):
        index.add(rm.Criterion(f"c{i}", rm.attr("x") >= value(i)))
    event = {"x": value(300)}
    expected = [one.id for one in index if one.holds(event)]
    assert index.match(event) == expected
    assert len(laid_out) <= 16


def test_a_run_is_divided_until_there_is_no_room() -> None:
    runs = Runs(1, 5, [])  # four numbers
    for cut in ((5, 0), (7, 0), (3, 0)):
        runs.enter(cut)
    assert runs.firsts == sorted(set(runs.firsts))
    with pytest.raises(NoRoom):
        runs.enter((10, 0))


def test_what_was_accepted_stays_accepted_when_spaces_split() -> None:
    spaces = SplitValues.laid_out([Range(10, 20)], gap=64)
    ((lo, hi),) = spaces.spans(Range(10, 20))
    for condition in (In((15, "a", True)), Range(12, None), Range(None, 25), In((17.5,))):
        spaces.learn(condition)
    inside = [value for value in range(30) if lo <= spaces.of(value) < hi]
    assert inside == list(range(11, 20))
    assert spaces.of("text") not in range(lo, hi)
    (exists,) = spaces.spans(rm.attr("x").exists().condition)
    assert all(exists[0] <= spaces.of(value) < exists[1] for value in (15, "a", True, "z", 99))


def _rules(n: int) -> Iterator[rm.Criterion]:
    return (rm.Criterion(f"c{i}", rm.attr("x") == i % 10) for i in range(n))


@every_tree
def test_an_answer_is_that_of_its_moment(matcher: str) -> None:
    index = rm.Index.build(_rules(20), matcher=matcher, live=True)
    before, state = copy(index), index._state
    index.update([rm.Criterion("c3", rm.attr("x") == 4), rm.Criterion("new", rm.attr("x") == 3)])
    index.remove("c13")
    assert before.match({"x": 3}) == ["c3", "c13"]
    assert before.match_many([{"x": 3}, {"x": 4}]).ids(1) == ["c4", "c14"]
    assert index.match({"x": 3}) == ["new"]
    assert index.match({"x": 4}) == ["c3", "c4", "c14"]
    assert [one.id for one in state.criteria()] == [f"c{i}" for i in range(20)]
    assert ("c13" in before, "new" in before, "c13" in index) == (True, False, False)
    before.add(rm.Criterion("own", rm.attr("x") == 3))
    assert before.match({"x": 3}) == ["c3", "c13", "own"]
    assert index.match({"x": 3}) == ["new"]


@every_tree
def test_a_change_that_breaks_off_changes_nothing(matcher: str, monkeypatch) -> None:
    index = rm.Index.build(_rules(20), matcher=matcher, live=True)
    tree = type(index._living._tree)
    monkeypatch.setattr(tree, "insert", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        index.update(rm.Criterion("c3", rm.attr("x").isin(4, 77)))
    assert index.match({"x": 3}) == ["c3", "c13"]
    assert index.count_many([{"x": 4}]).tolist() == [2]
    monkeypatch.undo()
    index.update(rm.Criterion("c3", rm.attr("x").isin(4, 77)))
    assert index.match({"x": 4}) == ["c3", "c4", "c14"]


@every_tree
def test_readers_see_one_state_or_the_next(matcher: str) -> None:
    index = rm.Index.build(_rules(50), matcher=matcher, live=True)
    wrong: list[list[str]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = index.match({"x": 3})
            if len([name for name in found if name == "moving"]) + len(found) not in (5, 6, 7):
                wrong.append(found)
            if sorted(set(found)) != sorted(found):
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    for i in range(150):
        index.update(rm.Criterion("c3", rm.attr("x").isin(3, 100 + i)))
    done.set()
    for one in readers:
        one.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_process_answers_though_a_change_was_under_way() -> None:
    index = rm.Index.build(_rules(20), matcher="betree", live=True)
    with index._living._turns.alone():  # as if another thread were at it
        child = os.fork()
        if child == 0:
            os._exit(0 if index.match({"x": 3}) == ["c3", "c13"] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@every_tree
def test_events_of_late_decide_where_clauses_hang(matcher: str, monkeypatch) -> None:
    monkeypatch.setattr(living, "WINDOW", 256)
    rng = random.Random(5)
    names = [f"a{i}" for i in range(5)], [f"b{i}" for i in range(5)]
    rules = []
    for i in range(2_000):
        asked = [rng.choice(own) for own in names]
        parts = [rm.attr(name) == rng.randrange(8) for name in asked]
        rules.append(rm.Criterion(f"c{i}", parts[0] & parts[1]))
    index = rm.Index.build(rules, matcher=matcher, live=True)

    def candidates(own: list[str]) -> float:
        events = [{name: rng.randrange(8) for name in own} for _ in range(512)]
        index.match_many(events)
        index._living.settle()
        batch = index._living._growing.encoder.encode(events, 0)
        return index._living._tree.match(batch).candidates / len(batch)

    for own in (*names, *names):
        for _ in range(3):
            settled = candidates(own)
        assert settled < 60  # of 2,000; by the other attributes it would be about 625


def test_an_engine_keeps_live_trees(tmp_path) -> None:
    with rm.Engine(tmp_path, matcher="pst-hash(n=1)", live=True) as engine:
        engine.add("ads", _rules(20))
        engine.delete("ads", "c3")
        engine.checkpoint()
        engine.update("ads", rm.Criterion("c13", rm.attr("y") == 1))
        assert engine.search("ads", {"x": 3, "y": 1}) == ["c13"]
        assert engine.index("ads").matcher == "pst-hash(n=1, live)"
    with rm.Engine(tmp_path) as engine:  # an index keeps what it was made with
        assert engine.index("ads").live
        assert engine.search("ads", {"x": 4, "y": 1}) == ["c4", "c13", "c14"]
        assert engine.ratify("ads").ok
        assert engine.possible("ads", "x IN (3, 4)").ids(0) == ["c4", "c13", "c14"]
        assert engine.certain("ads", "x = 4", missing={"y"}).ids(0) == ["c4", "c14"]
        assert [one.id for one in engine.undecided("ads", {"x": 3}, {"y"})] == ["c13"]


@every_tree
def test_columns_of_texts_and_addresses_on_spaces_that_split(matcher: str) -> None:
    index = rm.Index(matcher=matcher, live=True)
    for i in range(40):
        index.add(rm.Criterion(f"n{i}", rm.parse(f"cidr(ip, '10.0.{i}.0/24')")))
        index.add(rm.Criterion(f"t{i}", rm.parse(f"name >= 'v{i}' AND name LIKE '%{i % 10}'")))
    rows = [{"ip": f"10.0.{i}.7", "name": f"v{i}"} for i in range(40)]
    found = index.match_many(pa.Table.from_pylist(rows))
    for i, row in enumerate(rows):
        assert found.ids(i) == [one.id for one in index if one.holds(row)]
        assert f"n{i}" in found.ids(i)
