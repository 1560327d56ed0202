"""One side of a comparison by turns: prepares a case, then times one way of it when told to.

It is run with the sources of another commit too, so it asks for what every commit has: the names of
matchers, `build`, `match`, and an Index.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks import clock
from benchmarks.definitions import chosen, generator, small
from benchmarks.measure import builder, warm_up
from remuda.encoding.generated import event_batch
from remuda.index.index import Index
from remuda.language.criterion import Criterion

_SINGLE = 100  # events that are matched one by one
_ENCODED = {"kind": "begen", "n_subscriptions": 1_000, "n_events": 1_000}


class Case(NamedTuple):
    """A matcher on a workload, or events through a whole index where no matcher is named."""

    label: str
    workload: dict[str, Any]
    few: dict[str, Any]  # the same workload with little in it, to compile by
    matcher: str | None
    matches: int | None


def cases(name: str, only: Sequence[str]) -> list[Case]:
    """The cases of a benchmark: experiments by name or group, `auto`, `encoding`, `text`."""
    if name == "text":
        from benchmarks import text  # which other commits may have not all for

        return [
            Case(f"{rules}, {lane}", {"rules": rules, "lane": lane}, {}, None, None)
            for rules, lanes in text.LANES.items()
            for lane in lanes
            if not only or rules in only or lane in only
        ]
    if name == "encoding":
        return [Case("dicts and columns", _ENCODED, {**_ENCODED, "n_events": 20}, None, None)]
    own, only = ("matchers", ("auto",)) if name == "auto" else (name, only)
    return [
        Case(f"{matcher}, {one.name} {point.label}", point.workload, few, matcher, point.matches)
        for one in chosen(own)
        for point in one.points
        for few in [small(point)]
        for matcher in one.matchers
        if not only or matcher in only
    ]


def line(message: Any) -> str:
    """A message as the other side reads it."""
    return json.dumps(message) + "\n"


def read(message: str) -> Any:
    """What the other side wrote."""
    return json.loads(message)


def _ways_of_matcher(case: Case) -> tuple[int, dict[str, Callable[[], Any]]]:
    assert case.matcher is not None
    warm_up(case.matcher, generator(case.few).draw())
    workload = generator(case.workload).draw()
    build = builder(case.matcher, workload.criteria)
    events, matcher = event_batch(workload.criteria, workload.events), build()
    ones = [events.one(i) for i in range(min(_SINGLE, len(events)))]
    return len(matcher.match(events).rows), {
        "build": build,
        "batch": lambda: matcher.match(events),
        f"{len(ones)} one by one": lambda: [matcher.match(one) for one in ones],
    }


def _ways_of_index(case: Case) -> tuple[int, dict[str, Callable[[], Any]]]:
    if "lane" in case.workload:
        from benchmarks import text

        return text.ways(case.workload["rules"], case.workload["lane"])
    import pyarrow as pa

    workload = generator(case.workload).draw()
    criteria = [Criterion(f"c{i}", one) for i, one in enumerate(workload.expressions())]
    index, events = Index.build(criteria), workload.event_dicts()
    names = [workload.criteria.name(dim) for dim in range(workload.criteria.n_dims)]
    columns = pa.table({name: [event.get(name) for event in events] for name in names})
    return sum(map(len, map(index.match_many(events).ids, range(len(events))))), {
        "dicts": lambda: index.match_many(events),
        "columns": lambda: index.match_many(columns),
        f"{_SINGLE} one by one": lambda: [index.match(one) for one in events[:_SINGLE]],
    }


def main() -> None:
    """Answer line by line until there are no more."""
    os.environ["REMUDA_THREADS"] = "1"  # the clock is that of this thread
    ways: dict[str, Callable[[], Any]] = {}
    for asked in map(read, sys.stdin):
        if "case" in asked:
            case = Case(**asked["case"])
            prepare = _ways_of_index if case.matcher is None else _ways_of_matcher
            matches, ways = prepare(case)
            answer: Any = {"matches": matches, "ways": list(ways)}
        else:
            answer = clock.several(ways[asked["way"]], asked["times"])
        sys.stdout.write(line(answer))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
