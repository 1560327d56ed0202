"""The best are exactly those of sorting all scores, whatever the matcher leaves unlooked at."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from remuda.arrays import Ragged, frozen
from remuda.encoding.bounds import criteria_parts, missing_bounds, space_bounds
from remuda.errors import InvalidCriterion
from remuda.index.choosing import Wanted
from remuda.index.index import Index, load
from remuda.index.question import Question
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.matchers.contract import NAMES
from remuda.model.expressions import And, Expression, Or
from remuda.workload.ads import Ads
from strategies import NOW, SEED, count

_ATTRIBUTES = "abcdef"
_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 1.0, 1.0, 1.0, 2.5, 1e9, -0.3, -1.0)
_EVENTS = 160  # of one index


def draw_predicate(rng: random.Random, signed: bool, weighted: int) -> Expression:
    """Without weights, with some, or with weights of values in most."""
    one, values = attr(rng.choice(_ATTRIBUTES)), range(4)
    weights = [weight for weight in _WEIGHTS if signed or weight >= 0] if weighted else [1.0]
    kind = 4 if weighted == 2 and rng.random() < 0.6 else rng.randrange(9)
    if kind == 0:
        return ~one.eq(rng.choice(values))
    if kind == 1:
        return one.eq(rng.choice(values)).strong()
    if kind == 2:
        return one.missing().weight(rng.choice(weights))
    if kind == 3:
        return one.between(*sorted(rng.choices(values, k=2))).weight(rng.choice(weights))
    chosen = sorted(set(rng.choices(values, k=rng.randint(1, 3))))
    predicate = one.isin(*chosen)
    if kind == 4 and weighted:
        some = rng.sample(chosen, rng.randint(1, len(chosen)))
        return predicate.weight({value: rng.choice(weights) for value in some})
    return predicate.weight(rng.choice(weights))


def draw_expression(rng: random.Random, signed: bool, weighted: int, depth: int = 0) -> Expression:
    kind = rng.randrange(8 if depth < 2 else 2)
    if kind < 2:
        return draw_predicate(rng, signed, weighted)
    parts = [draw_expression(rng, signed, weighted, depth + 1) for _ in range(rng.randint(1, 3))]
    if kind == 7:
        return ~And(*parts)
    return (And if kind < 5 else Or)(*parts)


def draw_alternatives(rng: random.Random, signed: bool, weighted: int) -> Expression:
    """Conjunctions that share predicates, so that some absorb others."""
    predicates = [draw_predicate(rng, signed, weighted) for _ in range(4)]
    return Or(*(And(*rng.sample(predicates, rng.randint(1, 3))) for _ in range(3)))


def draw_demands(rng: random.Random, signed: bool, weighted: int) -> Expression:
    """A conjunction of disjunctions, some of which share predicates."""
    predicates = [draw_predicate(rng, signed, weighted) for _ in range(6)]
    parts = (rng.sample(predicates, rng.randint(1, 3)) for _ in range(rng.randint(1, 4)))
    return And(*(Or(*part) for part in parts))


def draw_criterion(rng: random.Random, name: int, signed: bool, weighted: int) -> Criterion:
    kind = rng.random()
    if kind < 0.4:
        n = rng.randint(1, 3)
        expression: Expression = And(*(draw_predicate(rng, signed, weighted) for _ in range(n)))
    elif kind < 0.6:
        expression = draw_alternatives(rng, signed, weighted)
    elif kind < 0.8:
        expression = draw_demands(rng, signed, weighted)
    else:
        expression = draw_expression(rng, signed, weighted)
    tags = {f"by:{one}" for one in "xyz" if rng.random() < 0.3}
    tags |= {f"t{i}" for i in range(3) if rng.random() < 0.4}
    return Criterion(
        f"c{(name * 7919) % 10_007}",
        expression,
        frozenset(tags),
        enabled=rng.random() < 0.95,
        priority=rng.choice((0, 0, 1, -2.5)),
    )


def draw_event(rng: random.Random) -> dict[str, Any]:
    def value() -> Any:
        if rng.random() < 0.2:
            return rng.choices(range(5), k=rng.randint(0, 3))
        return rng.randrange(5)

    return {name: value() for name in _ATTRIBUTES if rng.random() < 0.8}


def draw_weights(rng: random.Random) -> dict[str, Any] | None:
    if rng.random() < 0.4:
        return None
    factors = (0.0, 0.1, 0.5, 0.9, 1.0, 3.0) + ((-2.0, -0.5) if rng.random() < 0.3 else ())
    found: dict[str, Any] = {}
    for name in rng.sample(_ATTRIBUTES, rng.randint(0, 4)):
        by_value = {value: rng.choice(factors) for value in range(5) if rng.random() < 0.5}
        found[name] = by_value if rng.random() < 0.3 else rng.choice(factors)
    return found


def scores_of(criteria: list[Criterion], event: Any, weights: Any) -> list[tuple[Criterion, float]]:
    """The criteria that hold, each with its score."""
    scores = ((one, one.score(event, weights=weights, now=NOW)) for one in criteria)
    return [(one, score) for one, score in scores if score is not None]


def best_by_sorting(
    scores: list[tuple[Criterion, float]],
    n: int,
    by: str = "score",
    per: str | None = None,
    tags: Any = None,
) -> list[tuple[str, float]]:
    """The answer by the definition alone."""
    held = []
    for one, score in scores:
        if tags is None or not one.tags.isdisjoint(tags):
            held.append((-one.priority if by == "priority" else 0, -score, one.id, one))
    held.sort(key=lambda entry: entry[:3])
    if per is None:
        return [(name, -score) for _, score, name, _ in held[:n]]
    kept: dict[str, None] = {}
    groups: dict[str | None, int] = {}
    for _, _, name, one in held:
        mine = [tag for tag in one.tags if tag.startswith(f"{per}:")] or [None]
        for group in mine:
            groups[group] = groups.get(group, 0) + 1
            if groups[group] <= n:
                kept[name] = None
    return [(name, -score) for _, score, name, _ in held if name in kept]


def draw_index(rng: random.Random, matcher: str) -> tuple[Index, list[Criterion]]:
    """An index that has lived: segments, removals, a tail."""
    signed, weighted = rng.random() < 0.3, rng.choice((0, 1, 1, 2, 2))
    every = [draw_criterion(rng, i, signed, weighted) for i in range(rng.choice((3, 40, 400)))]
    first = rng.randint(0, len(every))
    index = Index.build(every[:first], matcher=matcher)
    if rng.random() < 0.3 and first < len(every):
        index.add(every[first:])
    else:
        for one in every[first : first + 60]:
            index.add(one)
        every = every[: first + 60]
    if rng.random() < 0.4 and every:
        gone = rng.sample(every, rng.randint(0, len(every) // 4))
        index.remove(*(one.id for one in gone))
        every = [one for one in every if one not in gone]
    if rng.random() < 0.3:
        index.merge()
    return index, every


def ask(rng: random.Random, index: Index, criteria: list[Criterion], n_events: int) -> int:
    """Questions of every kind in batches and one by one, against the definition; how many."""
    events = [draw_event(rng) for _ in range(n_events)]
    weights = [draw_weights(rng) for _ in events]
    shapes: list[dict[str, Any]] = [
        {},
        {"tags": ["t0"]},
        {"by": "priority"},
        {"per": "by"},
        {"by": "priority", "per": "by", "tags": ["t1", "t2"]},
    ]
    pairs = list(zip(events, weights, strict=True))
    # most of the time goes into plain evaluation: every shape of a question has the same scores
    weighed = [scores_of(criteria, *pair) for pair in pairs]
    plain = [
        scores if given is None else scores_of(criteria, event, None)
        for scores, (event, given) in zip(weighed, pairs, strict=True)
    ]
    for shape in shapes:
        n = rng.choice((0, 1, 2, 3, 10, 1000))
        for given, known in ((weights, weighed), (None, plain)):
            found = index.top_many(events, n, weights=given, now=NOW, **shape)
            for i, scores in enumerate(known):
                expected = best_by_sorting(scores, n, **shape)
                assert [tuple(one) for one in found.best(i)] == expected, (shape, pairs[i])
        i = rng.randrange(len(events))
        alone = index.top(events[i], n, weights=weights[i], now=NOW, **shape)
        assert [tuple(one) for one in alone] == best_by_sorting(weighed[i], n, **shape)
    return len(shapes) * (2 * len(events) + 1)


@pytest.mark.soak
@pytest.mark.parametrize("matcher", NAMES)
def test_drawn_questions(matcher: str) -> None:
    """More than 20,000 over all matchers, more than a million when it soaks."""
    n_asked, turn = 0, 0
    simulated = matcher == "gpu"
    while n_asked < count(150 if simulated else 2_000, 100_000):
        rng = random.Random(f"{SEED} {matcher} {turn}")
        index, criteria = draw_index(rng, matcher)
        n_asked += ask(rng, index, criteria, _EVENTS // (8 if len(criteria) > 100 else 1))
        turn += 1
    print(f"seed {SEED}, {matcher}: {n_asked:,} questions to {turn:,} indexes, 0 wrong")


@pytest.fixture
def many() -> list[Criterion]:
    rng = np.random.default_rng(5)
    return [
        Criterion(
            f"c{i:04}",
            attr("a").eq(int(rng.integers(0, 3))).weight(float(rng.random()))
            & (attr("b") >= i).weight(float(rng.random())),
        )
        for i in range(3000)
    ]


@pytest.mark.parametrize("weights", [None, {"a": 0.5}, {"b": {9000: 0.9}}])
def test_most_are_never_looked_at_where_weights_tell_them_apart(many, weights, tmp_path) -> None:
    built = Index.build(many)
    built.save(tmp_path)
    visit = {"a": 1, "b": 9000}
    scores = sorted(
        (-one.score(visit, weights=weights), one.id) for one in many if one.holds(visit)
    )
    assert len(scores) > 500
    for index in (built, load(tmp_path)):
        assert [(-one.score, one.id) for one in index.top(visit, 5, weights=weights)] == scores[:5]
        (part,) = index.parts
        question = Question.of(NOW, None, 5, weights)
        events = part.segment.encoder.encode([visit], NOW)
        (ranked,) = part.segment._ranked(events, part.wanted(question), None, None)
        assert ranked.pruned > 2 * ranked.candidates


def _weighted(expression: Expression, rng: random.Random) -> Expression:
    """A conjunction, each of whose predicates weighs something."""
    parts = expression.parts if isinstance(expression, And) else (expression,)
    return And(*(part.weight(rng.choice((0.1, 0.2, 0.4, 1.0, 3.0))) for part in parts))


def test_what_was_asked_before_changes_nothing() -> None:
    """Few criteria match some of the events and many others: each begins where others ended."""
    drawn = Ads(4_000, n_events=12, n_dims=20, subscription_size=3.0, max_size=9, event_size=12)
    workload, rng = drawn.draw(), random.Random(2)
    expressions = [_weighted(one, rng) for one in workload.expressions()]
    criteria = [Criterion(f"c{i:04}", one) for i, one in enumerate(expressions)]
    index, events = Index.build(criteria), [*workload.event_dicts(), {}]
    scores = [scores_of(criteria, event, None) for event in events]
    assert min(map(len, scores)) < 100 < 200 < max(map(len, scores))
    for n in (10, 1, 100, 4_000, 10):
        found = index.top_many(events, n)
        for i, known in enumerate(scores):
            expected = best_by_sorting(known, n)
            assert [tuple(one) for one in found.best(i)] == expected
            assert [tuple(one) for one in index.top(events[i], 3)] == best_by_sorting(known, 3)


def _one_clause(n: int = 300) -> list[Criterion]:
    """Criteria that share a clause, some of which have another one; ids are not in their order."""
    rng = random.Random(3)
    found = []
    for i in range(n):
        shared = attr("a").eq(1).weight(rng.choice((0.5, 1.0, 2.0)))
        other = attr("b").eq(1).weight(rng.choice((0.5, 3.0)))
        found.append(Criterion(f"c{(i * 7919) % 1009}", shared if i % 3 else shared | other))
    return found


@pytest.mark.parametrize("matcher", ["auto", "kindex", "scan"])
@pytest.mark.parametrize("n", [1, 10, 250])
@pytest.mark.parametrize("visit", [{"a": 1}, {"a": 1, "b": 1}, {"b": 1}], ids=str)
def test_many_criteria_have_one_clause(matcher, n, visit, tmp_path) -> None:
    criteria = _one_clause()
    built = Index.build(criteria, matcher=matcher)
    built.save(tmp_path)
    expected = best_by_sorting(scores_of(criteria, visit, None), n)
    for index in (built, load(tmp_path)):
        assert [tuple(one) for one in index.top(visit, n)] == expected


def test_owners_that_do_not_stand_best_first_are_all_considered() -> None:
    criteria = _one_clause()
    segment = Segment.build([one.expression for one in criteria], matcher="auto")
    starts, items = segment.plan.owners
    turned = items.copy()
    for begin, end in pairwise(starts.tolist()):
        turned[begin:end] = turned[begin:end][::-1]
    older = replace(segment, plan=replace(segment.plan, owners=frozen(Ragged(starts, turned))))
    wanted = Wanted(10, np.arange(len(criteria), dtype=np.int32))
    events = segment.encoder.encode([{"a": 1}, {"a": 1, "b": 1}], NOW)
    one, other = segment.best(events, wanted), older.best(events, wanted)
    assert one.rows.tolist() == other.rows.tolist()
    assert one.scores.tolist() == other.scores.tolist()


WEIGHTED_VALUES = {
    "of an attribute": ({"a": 1}, {"a": 3}, 6.0),
    "of a value": ({"a": 1}, {"a": {1: 3}}, 6.0),
    "of another value": ({"a": 1}, {"a": {2: 3}}, 2.0),
    "of a list, the largest product": ({"a": [1, 2]}, {"a": {1: 3, 2: 0.5}}, 6.0),
    "of a list, where the heavier value is not the one that counts": (
        {"a": [1, 2]}, {"a": {1: 0.1, 2: 5}}, 5.0,
    ),
    "of a list with a value that does not match": ({"a": [1, 7]}, {"a": {7: 9}}, 2.0),
    "below zero": ({"a": [1, 2]}, {"a": {1: -1, 2: -5}}, -2.0),
    "the raw value": ({"a": 1.0}, {"a": {1: 3}}, 6.0),
}  # fmt: skip


@pytest.mark.parametrize("matcher", NAMES)
@pytest.mark.parametrize("name", WEIGHTED_VALUES)
def test_weights_of_values(matcher: str, name: str) -> None:
    event, weights, score = WEIGHTED_VALUES[name]
    criterion = Criterion("c", attr("a").isin(1, 2).weight({1: 2.0, 2: 1.0}))
    assert criterion.score(event, weights=weights) == score
    index = Index.build([criterion, Criterion("other", attr("b").eq(1))], matcher=matcher)
    assert [one.score for one in index.top(event, 3, weights=weights)] == [score]


@pytest.mark.parametrize("matcher", NAMES)
def test_a_conjunction_that_another_absorbs_scores_more(matcher: str) -> None:
    a, b = attr("a").isin(1, 2).weight({1: 0.5, 2: 7.0}), attr("b").isin(1, 2).weight({1: 3.0})
    criteria = [Criterion("both", Or(a, And(a, b))), Criterion("one", a)]
    criteria += [Criterion(f"c{i}", attr("a").isin(1, 3).weight({1: i / 8})) for i in range(40)]
    index = Index.build(criteria, matcher=matcher)
    assert index.top({"a": 1, "b": 1}, 2) == [("c39", 4.875), ("c38", 4.75)]
    assert index.top({"a": 1, "b": 1}, 2, weights={"b": 2.0}) == [("both", 6.5), ("c39", 4.875)]
    assert index.top({"a": [1, 2]}, 2) == [("both", 7.0), ("one", 7.0)]


DEMANDS = {
    "weights of values": {},
    "weights below zero": {"signed": True},
    "removed": {"removed": 40},
    "some with the tag": {"tags": ["t0"]},
    "segments": {"together": 50},
    "segments, some removed, some with the tag": {"together": 50, "removed": 40, "tags": ["t1"]},
}
WEIGHTS = ({"a": 0.5}, {"a": 3.0, "b": {1: 0.25, 2: 4.0}})


@cache
def demands_of(name: str) -> tuple[list[Criterion], list[tuple[Any, Any, Any]]]:
    """Criteria; events and their weights, with those that stay and hold, each with its score."""
    asked, rng = DEMANDS[name], random.Random(name)
    drawn = [draw_demands(rng, "signed" in asked, 2) for _ in range(150)]
    drawn += [And(*(draw_demands(rng, "signed" in asked, 2) for _ in range(6))) for _ in range(10)]
    tags = [frozenset({f"t{i}" for i in range(3) if rng.random() < 0.5}) for _ in drawn]
    pairs = zip(drawn, tags, strict=True)
    criteria = [Criterion(f"c{i * 7919 % 1009}", *one) for i, one in enumerate(pairs)]
    left = criteria[asked.get("removed", 0) :]
    given = list(product([draw_event(rng) for _ in range(12)], (None, *WEIGHTS)))
    return criteria, [(*one, scores_of(left, *one)) for one in given]


@pytest.mark.parametrize("matcher", NAMES)
@pytest.mark.parametrize("name", DEMANDS)
def test_the_best_in_cnf(matcher: str, name: str) -> None:
    """With more than are sorted first, some that many criteria ask for, and some as filters."""
    asked, (criteria, cases) = DEMANDS[name], demands_of(name)
    together = asked.get("together", len(criteria))
    index = Index.build(criteria[:together], matcher=matcher)
    index.add(criteria[together:])
    index.remove(*(one.id for one in criteria[: asked.get("removed", 0)]))
    wanted = asked.get("tags")
    for event, weights, scores in cases[: 6 if matcher == "gpu" else None]:  # simulated
        for n in (1, 3, 200):
            found = index.top(event, n, weights=weights, now=NOW, tags=wanted)
            assert [tuple(one) for one in found] == best_by_sorting(scores, n, tags=wanted)


PARTS = {
    "a predicate": (attr("a").eq(1), ["a"]),
    "a conjunction": (attr("a").eq(1) & attr("b").eq(1), ["a", "b"]),
    "a disjunction": (attr("a").eq(1) | attr("b").eq(1), ["ab"]),
    "disjunctions": (
        And(attr("a").eq(1), Or(attr("b").eq(1), attr("c").eq(1)), attr("d").eq(1)),
        ["a", "bc", "d"],
    ),
    "predicates before a disjunction": (
        And(attr("a").eq(1), attr("b").eq(1), Or(attr("c").eq(1), attr("d").eq(1))),
        ["a", "b", "cd"],
    ),
    "conjunctions are added up, for none is below zero": (
        Or(And(attr("a").eq(1), attr("b").eq(1)), attr("c").eq(1)), ["a", "b", "c"],
    ),
    "so are those within": (
        And(attr("a").eq(1), Or(attr("b").eq(1), And(attr("c").eq(1), attr("d").eq(1)))),
        ["a", "b", "c", "d"],
    ),
    "always": (And(), []),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_disjunctions_of_criteria(name: str) -> None:
    expression, parts = PARTS[name]
    segment = Segment.build([attr("a").eq(2), expression], matcher="auto")
    plan, dimensions = segment.plan, segment.words.vocabulary.dimensions
    asked = np.array([False, True])
    starts, items = criteria_parts(plan.programs, plan.conjunctions.predicates.dim, asked)
    assert starts.tolist() == [0, 0, len(items)]
    names = (str(dimensions[one >> 1].attribute) + " " * (one & 1) for one in items.tolist())
    assert "".join(names).split() == parts


@pytest.mark.parametrize(("n", "decides"), [(1, False), (200, True)])
def test_few_weights_of_values_do_not_decide_for_all(n: int, decides: bool) -> None:
    by_value = [attr("a").isin(1, 2).weight({1: float(i)}) for i in range(n)]
    plain = [attr("b").eq(i % 7).weight(float(i)) for i in range(300)]
    segment = Segment.build([*by_value, *plain], matcher="auto")
    promises = segment._owning.promises(segment.words.attribute_of_dim)
    assert (promises is not None) is decides


COLUMNS = {
    "maps": pa.array([[("a", 3.0)], None, [("a", 0.0)]], pa.map_(pa.string(), pa.float64())),
    "structs": pa.array(
        [{"a": 3.0, "b": None}, None, {"a": 0.0, "b": 7.0}],
        pa.struct([("a", pa.float64()), ("b", pa.float64())]),
    ),
    "maps of values": pa.array(
        [[("a", [("x", 3.0)])], None, [("a", [("x", 0.0)])]],
        pa.map_(pa.string(), pa.map_(pa.string(), pa.float64())),
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_weights_of_each_event_in_a_column(name: str) -> None:
    index = Index.build([Criterion("c", attr("a").eq("x").weight(2.0))])
    table = pa.table({"a": ["x", "x", "x"], "w": COLUMNS[name]})
    found = index.top_many(table, 1, weights="w")
    assert [found.best(i)[0].score for i in range(3)] == [6.0, 2.0, 0.0]
    rows = index.top_many(table.to_pylist(maps_as_pydicts="strict"), 1, weights="w")
    assert [rows.best(i)[0].score for i in range(3)] == [6.0, 2.0, 0.0]


REFUSED = {
    "a number": (3, TypeError, "by attribute"),
    "text for a number": ({"a": "3"}, InvalidCriterion, "finite number"),
    "too few": ([{"a": 1.0}], ValueError, "weights for 1 events"),
    "no column": ("w", ValueError, "no column 'w'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_weights_that_are_none(name: str) -> None:
    weights, kind, says = REFUSED[name]
    index = Index.build([Criterion("c", attr("a").eq(1))])
    with pytest.raises(kind, match=says):
        index.top_many(pa.table({"a": [1, 2]}), 1, weights=weights)


def test_who_is_best_by_what() -> None:
    a = attr("a").eq(1)
    index = Index.build(
        [
            Criterion("dear", a.weight(5.0), tags=frozenset({"by:x", "by:y"})),
            Criterion("first", a.weight(1.0), priority=2, tags=frozenset({"by:x"})),
            Criterion("last", a.weight(4.0), priority=-1),
            Criterion("plain", a.weight(3.0)),
        ]
    )
    assert [one.id for one in index.top({"a": 1}, 2)] == ["dear", "last"]
    assert [one.id for one in index.top({"a": 1}, 2, by="priority")] == ["first", "dear"]
    assert [one.id for one in index.top({"a": 1}, 1, per="by")] == ["dear", "last"]
    assert [one.id for one in index.top({"a": 1}, 1, by="priority", per="by")] == [
        *("first", "dear", "plain"),
    ]
    with pytest.raises(ValueError, match="by score or by priority"):
        index.top({"a": 1}, 1, by="age")  # type: ignore[arg-type]


def test_priorities_survive_writing_and_merging(tmp_path) -> None:
    a = attr("a").eq(1)
    index = Index.build([Criterion("b", a), Criterion("a", a, priority=0.5)])
    index.add(Criterion("c", a, priority=7))
    index.merge()
    index.save(tmp_path)
    for one in (index, load(tmp_path)):
        assert [found.id for found in one.top({"a": 1}, 9, by="priority")] == ["c", "a", "b"]
    assert index["c"].to_json()["priority"] == 7
    assert Criterion.from_json(index["a"].document()) == index["a"]


BOUNDS = {
    "a conjunction is its sum": (attr("a").eq(1).weight(2) & attr("b").eq(1).weight(3), 5.0),
    "a denial scores nothing": (attr("a").eq(1).weight(2) & ~attr("b").eq(1).weight(3), 2.0),
    "the largest of an Or": (attr("a").eq(1).weight(2) | attr("b").eq(1).weight(3), 3.0),
    "below zero": (attr("a").eq(1).weight(-2) & attr("b").eq(1).weight(3), 1.0),
    "the largest value": (attr("a").isin(1, 2).weight({1: 5.0}), 5.0),
    "its own where a value has none": (attr("a").isin(1, 2).weight({1: 0.5}), 1.0),
    "not its own where all have one": (attr("a").isin(1, 2).weight({1: 0.5, 2: 0.2}), 0.5),
    "sums of the largest": (
        And(Or(attr("a").eq(1).weight(2), attr("b").eq(1)), attr("c").eq(1).weight(0.5)), 2.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name: str) -> None:
    expression, most = BOUNDS[name]
    plan = Segment.build([expression], matcher="scan").plan
    assert plan.bounds.criteria.tolist() == [most]
    assert max(plan.bounds.clauses.tolist() + plan.bounds.rows.tolist()) == most


def test_nothing_is_kept_where_nothing_has_a_weight() -> None:
    plain = [attr("a").eq(1), attr("a").eq(1) | ~attr("b").eq(2)]
    plan = Segment.build(plain, matcher="auto").plan
    assert sum(bounds.nbytes for bounds in plan.bounds[:3]) == 0


def test_a_clause_is_bounded_by_what_is_met_with_it() -> None:
    either = attr("a").eq(1).weight(2) | attr("b").eq(1).weight(3)
    plan = Segment.build([either], matcher="auto").plan
    assert sorted(plan.bounds.clauses.tolist()) == [2, 3]


def test_what_each_space_and_each_want_scores_at_most() -> None:
    rng = random.Random(SEED)
    for _ in range(count(40, 2_000)):
        drawn = [draw_expression(rng, signed=True, weighted=True) for _ in range(30)]
        segment = Segment.build(drawn, matcher="auto")
        programs, table = segment.plan.programs, segment.plan.conjunctions
        predicates = table.predicates
        of_spaces, of_wants = np.zeros(table.n_spaces), np.zeros(table.n_dims)
        for leaf, number in enumerate(programs.leaf_literal.tolist()):
            named = slice(programs.value_starts[leaf], programs.value_starts[leaf + 1])
            weights = dict(
                zip(
                    programs.value_space[named].tolist(),
                    programs.value_weight[named].tolist(),
                    strict=True,
                )
            )
            own, dim = float(programs.leaf_weight[leaf]), predicates.dim[number]
            spans = slice(predicates.span_starts[number], predicates.span_starts[number + 1])
            accepted = [
                space
                for low, high in zip(
                    predicates.span_lo[spans].tolist(),
                    predicates.span_hi[spans].tolist(),
                    strict=True,
                )
                for space in range(low, high)
            ]
            some_own = any(space not in weights for space in accepted)
            for space in accepted:  # whoever has an own weight at all may have it anywhere
                most = max(weights.get(space, own), own if some_own else 0.0)
                of_spaces[space] = max(of_spaces[space], most)
            if predicates.on_missing[number]:
                of_wants[dim] = max(of_wants[dim], own)
        assert space_bounds(programs, predicates, table.n_spaces).tolist() == of_spaces.tolist()
        assert missing_bounds(programs, predicates, table.n_dims).tolist() == of_wants.tolist()
