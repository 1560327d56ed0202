"""Texts: rules that others wrote on events that others made, random literals, and hard cases.

`--against` runs the cases by turns in two commits, so all but the table of the scan asks for what
every commit has.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import remuda as rm
from benchmarks import clock
from benchmarks.others import SUITES
from remuda.cli.files import FileError
from remuda.cli.rule_folders import read_folder

_SINGLE = 50  # events that are matched one by one
_BATCH = 2_000
_LITERALS = {"literals": 20_000, "million": 1_000_000}
LANES = {
    "sigma": (
        "structured_windows", "match_heavy", "sysmon_file_event", "raw_windows", "regression",
    ),
    "adblock": ("requests",),
    "literals": ("planted",),
}  # fmt: skip
HERE = {**LANES, "million": ("planted",)}  # of which commits before the scan make nothing


@lru_cache(maxsize=1)
def _rules(name: str) -> tuple[list[rm.Criterion], dict[str, list[Any]]]:
    if name in _LITERALS:
        words = _words(_LITERALS[name])
        rules = [rm.Criterion(f"w{i}", rm.attr("t").contains(one)) for i, one in enumerate(words)]
        return rules, {"planted": [{"t": text} for text in _planted(words, _BATCH)]}
    found = read_folder(name, SUITES / name)
    return found.criteria, {lane: list(events) for lane, events in found.events.items()}


@lru_cache(maxsize=1)
def _index(name: str) -> rm.Index:
    return rm.Index.build(_rules(name)[0])


def _words(n: int) -> list[str]:
    rng = random.Random(5)
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=10)) for _ in range(n)]


def _planted(words: list[str], n: int) -> list[str]:
    rng = random.Random(6)
    return [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=90)) + rng.choice(words)
        for _ in range(n)
    ]


def _marked(event: dict[str, Any], mark: str) -> dict[str, Any]:
    """The event with a mark in each of its texts, so that none was seen before."""
    return {
        name: one[: len(one) // 2] + mark + one[len(one) // 2 :] if type(one) is str else one
        for name, one in event.items()
    }


def _distinct(table: pa.Table, mark: str) -> pa.Table:
    """The rows with a number and a mark behind each text."""
    numbers = pc.cast(pa.array(range(len(table))), pa.string())
    marks = pc.binary_join_element_wise(numbers, pa.scalar(mark), "")
    columns = [
        pc.binary_join_element_wise(column, marks, " ") if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]  # fmt: skip
    return pa.table(columns, table.column_names)


def ways(name: str, lane: str) -> tuple[int, dict[str, Callable[[], Any]]]:
    """How many matches a lane's events have, and what is timed; nothing was seen when fresh."""
    index, events = _index(name), _rules(name)[1][lane][:_BATCH]
    marks = map(str, count())
    found: dict[str, Callable[[], Any]] = {
        f"{_SINGLE} single fresh": clock.Fresh(
            lambda: [_marked(event, next(marks)) for event in events[:_SINGLE]],
            lambda some: [index.match(event) for event in some],
        ),
        f"{_SINGLE} single, empty": lambda: [index.match({}) for _ in range(_SINGLE)],
    }
    rows: Any = events
    if lane == "regression":  # of columns of many kinds
        found["batch distinct"] = clock.Fresh(
            lambda: [_marked(event, next(marks)) for event in events],
            lambda some: index.match_many(some, threads=1),
        )
    else:
        rows = pa.Table.from_pylist(events)
        found["batch distinct"] = clock.Fresh(
            lambda: _distinct(rows, next(marks)),
            lambda some: index.match_many(some, threads=1),
        )
    found["batch repeated"] = lambda: index.match_many(rows, threads=1)
    n_matches = sum(len(index.match(event)) for event in events[:_SINGLE])
    return n_matches + int(index.match_many(rows, threads=1).counts().sum()), found


def main() -> None:
    """Measure and print what is here: lanes, then the scan alone."""
    console = Console()
    table = Table("rules", "events", "what", "µs an event", title="texts, one thread")
    scans: list[Table] = []
    for name, lanes in HERE.items():
        try:
            rules, _ = _rules(name)
        except FileError as error:
            console.print(f"{name} is left out: {error}")
            continue
        index, seconds = clock.timed(lambda name=name: _index(name))
        size = index.stats()["bytes"] / index.stats()["dimensions"]
        console.print(
            f"{name}: {len(rules):,} rules built in {seconds:.1f} s,"
            f" {size:.0f} bytes a predicate in the matcher"
        )
        for lane in lanes:
            _, found = ways(name, lane)
            for way, call in found.items():
                n = _SINGLE if "single" in way else min(len(_rules(name)[1][lane]), _BATCH)
                table.add_row(name, lane, way, f"{clock.best(call, 3) / n * 1e6:,.1f}")
        if name in ("sigma", "adblock"):
            scans.append(_scans_of_rules(name, lanes))
    for one in (table, *scans):
        console.print(one)
    console.print(_scans())


def _scans() -> Table:
    """The scan by itself, on texts as they are and on those that are made to be hard."""
    from remuda.encoding.texts import TermTexts, Texts
    from remuda.model.conditions import Contains

    table = Table(
        "literals", "bytes", "build s", "bytes a literal", "ns a byte", "of the first",
        title="the scan",
    )  # fmt: skip
    ordinary = 0.0
    for what, literals, texts in _hard():
        conditions = [(Contains(one), i) for i, one in enumerate(literals)]
        scan, seconds = clock.timed(lambda some=conditions: Texts([TermTexts(some)]))
        column = pa.array(texts, pa.large_string())
        for i in range(min(len(texts), 3)):
            held = {n for n, one in enumerate(literals) if one in texts[i]}
            if set(scan.spaces([(0, texts[i])])[0]) != held:
                raise AssertionError(f"{what}: the scan differs from plain search")
        n = sum(map(len, texts))
        cost = clock.best(lambda scan=scan, one=column: scan.of_arrays([(0, one)]), 3) / n * 1e9
        ordinary = ordinary or cost
        size = scan.scanner.words.nbytes / len(literals)
        table.add_row(
            what, f"{n:,}", f"{seconds:.2f}", f"{size:,.0f}", f"{cost:.1f}",
            f"{cost / ordinary:.1f}×",
        )  # fmt: skip
    return table


def _scans_of_rules(name: str, lanes: Sequence[str]) -> Table:
    """The scan of the texts in a lane's fields by all that rules ask of them."""
    from remuda.encoding.encoder import Encoder
    from remuda.encoding.plan import plan

    rules, events = _rules(name)
    encoder, seconds = clock.timed(
        lambda: Encoder(plan([one.expression for one in rules], takes_cnf=True)[1])
    )
    scan, more = clock.timed(lambda: encoder.texts)
    n_asked = sum(len(term.texts.conditions) for one in encoder.origins for term in one.timeless)
    table = Table(
        "rules", "events", "texts", "bytes", "ns a byte",
        title=f"the scan of {n_asked:,} conditions: {scan.scanner.words.nbytes / n_asked:,.0f}"
        f" bytes each, made in {more:.2f} s after {seconds:.1f} s of planning",
    )  # fmt: skip
    for lane in lanes:
        jobs = [
            (term.number, event[field].lower() if term.lowers else event[field])
            for event in events[lane][:_BATCH]
            for one in encoder.origins
            if (field := str(one.origin)) in event and type(event[field]) is str
            for term in one.timeless
            if term.of_texts
        ]
        if not jobs:
            continue
        edges = np.cumsum([0, *(len(text.encode()) for _, text in jobs)])
        data = np.frombuffer("".join(text for _, text in jobs).encode(), np.uint8)
        bases = scan.scanner.bases[[number for number, _ in jobs]]
        call = partial(scan.scanner.scan, data, edges[:-1].copy(), edges[1:].copy(), bases)
        cost = clock.best(call, 3) / len(data) * 1e9
        table.add_row(name, lane, f"{len(jobs):,}", f"{len(data):,}", f"{cost:.1f}")
    return table


def _hard() -> Iterator[tuple[str, list[str], list[str]]]:
    words = _words(20_000)
    yield "20,000 random", words, _planted(words, 2_000)
    yield "a, aa … 2,000 a", ["a" * n for n in range(1, 2_001)], ["a" * 4_000] * 10
    numbers = [f"{i:06}" for i in range(100_000)]
    rng = random.Random(7)
    yield "100,000 numbered", numbers, ["".join(rng.choices("0123456789", k=1_000))] * 50
    yield "10,000, all in one text", words[:10_000], ["".join(words[:10_000])]
    common = [f"common{one}" for one in words]
    yield "20,000 that begin alike", common, ["common" * 200] * 50
    yield "one that is everywhere", [*words, "e"], ["e" * 100] * 2_000
    large = _words(1_000_000)
    yield "1,000,000 random", large, _planted(large, 2_000)
