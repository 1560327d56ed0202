"""What it costs to turn events into numbers: dicts, Arrow columns, 100,000 patterns or sets."""

from __future__ import annotations

import time
from ipaddress import IPv4Address
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from remuda.encoding import arrow
from remuda.encoding.encoder import Encoder
from remuda.encoding.plan import plan
from remuda.index.segment import Segment
from remuda.language.python import attr
from remuda.model.expressions import Expression
from remuda.workload.begen import BEGen

_MANY = 100_000
_FEWER = 20_000


def main() -> None:
    """Measure and print; each count of spaces is checked against plain evaluation first."""
    table = Table("what", "measured", title="encoding, one thread")
    _plain_events(table)
    rng = np.random.default_rng(1)
    words = ["".join(row) for row in rng.choice(list("abcdefghij"), (_MANY, 8))]
    texts = [f"{words[i]}{words[i + 1]}" for i in range(0, 2_000, 2)]
    patterns = [attr("t").finds(f"{word[:4]}[a-z]*{word[5:]}") for word in words]
    _many(table, "regular expressions", patterns, [{"t": text} for text in texts])
    sets = [attr("t").superset(*rng.integers(0, 2_000, 3).tolist()) for _ in range(_MANY)]
    lists = [{"t": rng.integers(0, 2_000, 20).tolist()} for _ in range(1_000)]
    _many(table, "sets", sets, lists)
    _terms(table, rng)
    _elements(table, rng)
    _networks(table, rng)
    Console().print(table)


def _terms(table: Table, rng: np.random.Generator) -> None:
    """100,000 criteria over 50 computed terms beside the same over 50 given attributes."""
    n_terms, n_events = 50, 20_000
    prices, counts = rng.integers(1, 1_000, (2, n_terms, n_events))
    bounds = rng.integers(1, 1_000_000, _MANY).tolist()
    products = [attr(f"p{i}") * attr(f"q{i}") for i in range(n_terms)]
    given = [attr(f"v{i}") for i in range(n_terms)]
    rows = {f"p{i}": prices[i] for i in range(n_terms)}
    rows |= {f"q{i}": counts[i] for i in range(n_terms)}
    tables = pa.table(rows), pa.table({f"v{i}": prices[i] * counts[i] for i in range(n_terms)})
    encoders = [
        Encoder(plan([terms[i % n_terms] > bound for i, bound in enumerate(bounds)])[1])
        for terms in (products, given)
    ]
    found = [arrow.encode(encoder, one, 0) for encoder, one in zip(encoders, tables, strict=True)]
    if not np.array_equal(found[0].spaces, found[1].spaces):
        raise AssertionError("computed and given values have different spaces")
    costs = [
        clock.best(lambda encoder=encoder, one=one: arrow.encode(encoder, one, 0)) / n_events * 1e6
        for encoder, one in zip(encoders, tables, strict=True)
    ]
    table.add_row(
        f"{_MANY:,} criteria over {n_terms} products, Arrow",
        f"{costs[0]:.1f} µs an event, {costs[0] - costs[1]:.1f} more than over given attributes",
    )


def _elements(table: Table, rng: np.random.Generator) -> None:
    """20,000 conditions on the elements of one list of 10."""
    skus, least = rng.integers(0, 5_000, _FEWER).tolist(), rng.integers(0, 50, _FEWER).tolist()
    criteria = [
        attr("items").any(lambda i, sku=sku, n=n: (i["sku"] == sku) & (i["qty"] > n))
        for sku, n in zip(skus, least, strict=True)
    ]
    drawn = rng.integers(0, 5_000, (2_000, 10)), rng.integers(0, 60, (2_000, 10))
    events = [
        {"items": [{"sku": s, "qty": q} for s, q in zip(*one, strict=True)]}
        for one in zip(drawn[0].tolist(), drawn[1].tolist(), strict=True)
    ]
    segment = Segment.build(criteria, matcher="auto")

    def found(event: Any) -> int:
        return len(segment.match(segment.encoder.encode([event], 0)).rows)

    for event in events[:3]:
        if found(event) != sum(one.holds(event) for one in criteria):
            raise AssertionError("conditions on elements are not found as they hold")
    seconds = clock.best(lambda: [found(event) for event in events])
    cost = f"{seconds / len(events) * 1e6:.0f} µs an event"
    table.add_row(f"{_FEWER:,} conditions on the elements of a list of 10", cost)


def _networks(table: Table, rng: np.random.Generator) -> None:
    """20,000 networks on one attribute beside as many ranges of numbers, the values all new."""
    firsts = rng.integers(0, 2**24, _FEWER) << 8
    networks = [attr("v").in_network(f"{IPv4Address(int(one))}/24") for one in firsts]
    ranges = [attr("v").between(int(one), int(one) + 255) for one in firsts]
    numbers = rng.integers(0, 2**32, 100_000)
    texts = [str(IPv4Address(one)) for one in numbers.tolist()]
    ways = [(networks, texts), (ranges, numbers.tolist())]
    vocabularies = [plan(criteria)[1] for criteria, _ in ways]
    encoders = [Encoder(one) for one in vocabularies]
    for (criteria, values), encoder in zip(ways, encoders, strict=True):
        columns = pa.table({"v": values[:1_000]})
        seen = encoder.encode([{"v": value} for value in values[:1_000]], 0)
        if not np.array_equal(arrow.encode(encoder, columns, 0).spaces, seen.spaces):
            raise AssertionError("columns and dicts of addresses give different spaces")
        segment = Segment.build(criteria, matcher="auto")
        for value in values[:3]:
            held = sum(one.holds({"v": value}) for one in criteria)
            if len(segment.match(segment.encoder.encode([{"v": value}], 0)).rows) != held:
                raise AssertionError("networks are not found as they hold")
    columnar = [
        clock.best(lambda one=one, values=values: arrow.encode(one, pa.table({"v": values}), 0))
        for one, values in zip(encoders, (pa.array(texts), pa.array(numbers)), strict=True)
    ]
    events = [[{"v": value} for value in values] for _, values in ways]
    plainly = [
        min(
            clock.timed(lambda one=one, dicts=dicts: Encoder(one).encode(dicts, 0))[1]
            for _ in "abc"
        )
        for one, dicts in zip(vocabularies, events, strict=True)
    ]
    for what, (own, other) in (("Arrow", columnar), ("dicts", plainly)):
        cost = f"{own / len(texts) * 1e9:.0f} ns an event, {own / other:.2f} of {_FEWER:,} ranges"
        table.add_row(f"{_FEWER:,} networks on one attribute, new values, {what}", cost)


def _plain_events(table: Table) -> None:
    workload = BEGen(n_subscriptions=10_000, n_events=10_000).draw()
    encoder = Encoder(plan(workload.expressions())[1])
    events = workload.event_dicts()
    n_pairs = len(workload.events.dims)
    expected = encoder.encode(events, 0)
    seconds = clock.best(lambda: encoder.encode(events, 0))
    table.add_row("dicts of 15 attributes", f"{seconds / len(events) * 1e6:.1f} µs an event")
    names = [workload.criteria.name(dim) for dim in range(workload.criteria.n_dims)]
    columns = pa.table({name: [event.get(name) for event in events] for name in names})
    found = arrow.encode(encoder, columns, 0)
    if not np.array_equal(found.spaces, expected.spaces):
        raise AssertionError("columns and dicts give different spaces")
    seconds = clock.best(lambda: arrow.encode(encoder, columns, 0))
    cells = columns.num_rows * columns.num_columns
    table.add_row(
        f"Arrow, {columns.num_columns} typed columns",
        f"{seconds / n_pairs * 1e9:.0f} ns a pair, {seconds / cells * 1e9:.1f} ns a cell",
    )


def _many(table: Table, what: str, criteria: list[Expression], events: list[Any]) -> None:
    start = time.thread_time()
    encoder = Encoder(plan(criteria)[1])
    found = encoder.encode(events[:1], 0)
    built = time.thread_time() - start
    held = sum(criterion.holds(events[0]) for criterion in criteria)
    if len(found.spaces) != held:
        raise AssertionError(f"{len(found.spaces)} spaces for {held} {what} that hold")
    first = clock.timed(lambda: encoder.encode(events, 0))[1]
    again = clock.best(lambda: encoder.encode(events, 0))
    table.add_row(f"{_MANY:,} {what} on one attribute", f"{built:.1f} s to build")
    table.add_row("  a value seen for the first time", f"{first / len(events) * 1e6:.0f} µs")
    table.add_row("  seen before", f"{again / len(events) * 1e6:.1f} µs")
