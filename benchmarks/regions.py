"""Questions about regions beside a match of as many answers: what does not knowing exactly cost?

Criteria have four ranges on forty attributes. A region has a narrow range on each attribute; the
event beside `possible` has lists of the same values, that beside `certain` the middle ones, and
that beside `undecided` has all values on what is unknown.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import clock
from benchmarks.measure import WrongAnswer
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import And

_CRITERIA, _ATTRIBUTES, _VALUES, _ASKED = 100_000, 40, 100, 20
_WIDTH, _NARROW = 20, 4  # values of a criterion's range, and of a region's
_UNKNOWN = {"a0", "a1"}


def main() -> None:
    """Measure and print one table."""
    n = int(os.environ.get("REMUDA_CRITERIA", _CRITERIA))
    rng = random.Random(1)
    rules = [Criterion(f"c{i}", _rule(rng)) for i in range(n)]
    lows = [[rng.randrange(_VALUES - _NARROW) for _ in _names()] for _ in range(_ASKED)]
    title = f"{n:,} criteria of four ranges; µs a question, and answers"
    table = Table(title=title, title_justify="left")
    for name in ("matcher", "question", "one", "answers", "match", "answers", "ratio", "of 20"):
        table.add_column(name, justify="left" if name in ("matcher", "question") else "right")
    for matcher in ("auto", "betree"):
        index = Index.build(rules, matcher=matcher)
        for question, row in _questions(index, lows).items():
            table.add_row(matcher, question, *row)
    Console(width=120).print(table)


def _questions(index: Index, lows: list[list[int]]) -> dict[str, list[str]]:
    regions = [
        And(
            *(
                attr(name).between(lo, lo + _NARROW - 1)
                for name, lo in zip(_names(), one, strict=True)
            )
        )
        for one in lows
    ]
    listed = [_event(one, lambda lo: [*range(lo, lo + _NARROW)]) for one in lows]
    middle = [_event(one, lambda lo: lo + _NARROW // 2) for one in lows]
    hidden = [one | {name: [*range(_VALUES)] for name in _UNKNOWN} for one in middle]
    _check(index, regions[0], middle[0])
    return {
        "possible": _row(index, index.possible, regions, listed),
        "certain": _row(index, index.certain, regions, middle),
        "undecided": _row(index, lambda one: index.undecided(one, _UNKNOWN), middle, hidden),
    }


def _row(index: Index, ask: Callable[[Any], Any], given: list[Any], events: list[Any]) -> list[str]:
    us = clock.best(lambda: [ask(one) for one in given], 3) / _ASKED * 1e6
    plain = clock.best(lambda: [index.match(one) for one in events], 3) / _ASKED * 1e6
    answers = [ask(one) for one in given]
    n = sum(len(one) if isinstance(one, list) else int(one.counts()[0]) for one in answers)
    matched = sum(len(index.match(one)) for one in events)
    several = "–"
    if not isinstance(answers[0], list):
        several = f"{clock.best(lambda: ask(given), 3) / _ASKED * 1e6:,.0f}"
    figures = (f"{us:,.0f}", f"{n / _ASKED:,.0f}", f"{plain:,.0f}", f"{matched / _ASKED:,.0f}")
    return [*figures, f"{us / plain:.2f}", several]


def _check(index: Index, region: And, event: dict[str, Any]) -> None:
    """What is certain holds for the event in the middle, which holds what is possible."""
    certain, possible = (set(ask(region).ids(0)) for ask in (index.certain, index.possible))
    if not certain <= set(index.match(event)) <= possible:
        raise WrongAnswer(f"{index.matcher}: an event of the region is not between the two")


def _rule(rng: random.Random) -> And:
    parts = []
    for name in rng.sample(_names(), 4):
        lo = rng.randrange(_VALUES - _WIDTH)
        parts.append(attr(name).between(lo, lo + _WIDTH))
    return And(*parts)


def _event(lows: list[int], value: Callable[[int], Any]) -> dict[str, Any]:
    return {name: value(lo) for name, lo in zip(_names(), lows, strict=True)}


def _names() -> list[str]:
    return [f"a{i}" for i in range(_ATTRIBUTES)]
