"""The best are exactly those of sorting all scores, whatever the matcher leaves unlooked at."""

from __future__ import annotations

import random
from typing import Any

import pytest

from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.matchers.contract import NAMES
from remuda.model.expressions import And, Expression, Or
from strategies import NOW, SEED, count

_ATTRIBUTES = "abcdef"
_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 1.0, 1.0, 1.0, 2.5, 1e9, -0.3, -1.0)
_QUESTIONS = 160  # of one index


def draw_predicate(rng: random.Random, signed: bool, weighted: bool) -> Expression:
    one, values = attr(rng.choice(_ATTRIBUTES)), range(4)
    weights = [weight for weight in _WEIGHTS if signed or weight >= 0] if weighted else [1.0]
    kind = rng.randrange(9)
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


def draw_expression(rng: random.Random, signed: bool, weighted: bool, depth: int = 0) -> Expression:
    kind = rng.randrange(8 if depth < 2 else 2)
    if kind < 2:
        return draw_predicate(rng, signed, weighted)
    parts = [draw_expression(rng, signed, weighted, depth + 1) for _ in range(rng.randint(1, 3))]
    if kind == 7:
        return ~And(*parts)
    return (And if kind < 5 else Or)(*parts)


def draw_criterion(rng: random.Random, name: int, signed: bool, weighted: bool) -> Criterion:
    flat = rng.random() < 0.5
    expression = (
        And(*(draw_predicate(rng, signed, weighted) for _ in range(rng.randint(1, 3))))
        if flat
        else draw_expression(rng, signed, weighted)
    )
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


def best_by_sorting(
    criteria: list[Criterion], event: Any, n: int, weights: Any, by: str, per: str | None, tags: Any
) -> list[tuple[str, float]]:
    """The answer by the definition alone."""
    held = []
    for one in criteria:
        score = one.score(event, weights=weights, now=NOW)
        if score is not None and (tags is None or one.tags & set(tags)):
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
    signed, weighted = rng.random() < 0.3, rng.random() < 0.8
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


def ask(rng: random.Random, index: Index, criteria: list[Criterion], n_questions: int) -> None:
    """Questions of every kind in batches and one by one, against the definition."""
    events = [draw_event(rng) for _ in range(n_questions)]
    weights = [draw_weights(rng) for _ in events]
    shapes: list[dict[str, Any]] = [
        {},
        {"tags": ["t0"]},
        {"by": "priority"},
        {"per": "by"},
        {"by": "priority", "per": "by", "tags": ["t1", "t2"]},
    ]
    for shape in shapes:
        n = rng.choice((0, 1, 2, 3, 10, 1000))
        every = {"by": "score", "per": None, "tags": None} | shape
        for given in (weights, None):
            found = index.top_many(events, n, weights=given, now=NOW, **shape)
            for i, event in enumerate(events):
                mine = None if given is None else given[i]
                expected = best_by_sorting(criteria, event, n, mine, **every)
                assert [tuple(one) for one in found.best(i)] == expected, (shape, event, mine)
        i = rng.randrange(len(events))
        alone = index.top(events[i], n, weights=weights[i], now=NOW, **shape)
        expected = best_by_sorting(criteria, events[i], n, weights[i], **every)
        assert [tuple(one) for one in alone] == expected


@pytest.mark.soak
@pytest.mark.parametrize("matcher", NAMES)
def test_drawn_questions(matcher: str) -> None:
    """Ten questions an event: 20,000 and more over all matchers, a million when it soaks."""
    n_rounds = count(2, 600)
    for turn in range(n_rounds):
        rng = random.Random(f"{SEED} {matcher} {turn}")
        index, criteria = draw_index(rng, matcher)
        ask(rng, index, criteria, _QUESTIONS // (8 if len(criteria) > 100 else 1))
