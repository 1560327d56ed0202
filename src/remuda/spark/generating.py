"""Workloads drawn on the executors: the same rows for the same seed, however many tasks draw."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from remuda.errors import RemudaError
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.workload import KINDS
from remuda.workload.nested import Nested

_CHUNK = 10_000  # rows of the longer table that are drawn together, from a seed of their own
_CRITERIA = pa.schema({"id": pa.string(), "json": pa.string(), "order": pa.int64()})
_EVENTS = pa.schema({"id": pa.int64(), "event": pa.map_(pa.string(), pa.int64())})
_COUNTS = {  # what the generators call their numbers of criteria and of events
    "criteria": ("n_criteria", "n_subscriptions", "n_queries", "n_expressions"),
    "events": ("n_events", "n_assignments", "n_documents"),
}


class Generated(NamedTuple):
    """Tables of criteria (id, json, order), for `build_index`, and of events (id, event: a map)."""

    criteria: DataFrame
    events: DataFrame


def counts_of(parameters: Collection[str]) -> dict[str, str]:
    """What a generator with these parameters calls its numbers of criteria and of events."""
    return {
        what: next(name for name in names if name in parameters) for what, names in _COUNTS.items()
    }


def generate(
    spark: SparkSession,
    kind: str,
    *,
    criteria: int = 10_000,
    events: int = 10_000,
    seed: int = 1,
    **parameters: Any,
) -> Generated:
    """Draw a workload of one of the papers' kinds; `parameters` are those of its generator.

    Both tables are drawn in the same number of chunks, chunk i from the seed + i. Where events
    are made for criteria, these are the criteria of their own chunk, so there are then no more
    chunks than keep the match probability.
    """
    generators: dict[str, Any] = {**KINDS, "nested": Nested}
    if kind not in generators:
        raise RemudaError(f"there is no {kind!r}; there are {', '.join(sorted(generators))}")
    generator = generators[kind]
    fields = {one.name: one.default for one in dataclasses.fields(generator)}
    names = counts_of(fields)
    known = fields.keys() - {*names.values(), "seed"}
    for name in parameters.keys() - known:
        raise RemudaError(f"{name!r} is no parameter of {kind}; there are {', '.join(known)}")
    n_chunks = -(-max(criteria, events, 1) // _CHUNK)
    if "match_probability" in fields:
        wanted = parameters.get("match_probability", fields["match_probability"])
        n_chunks = max(1, min(n_chunks, int(1 / wanted)))
        parameters["match_probability"] = wanted * n_chunks

    def draw(chunk: int, n_criteria: int, n_events: int) -> Any:
        sizes = {names["criteria"]: n_criteria, names["events"]: n_events}
        return generator(**parameters, **sizes, seed=seed + chunk).draw()

    shares = spark.range(n_chunks)
    return Generated(
        _table(shares, criteria, n_chunks, _criteria(draw), _CRITERIA),
        _table(shares, events, n_chunks, _events(draw), _EVENTS),
    )


Draw = Callable[[int, int, int], Any]
Made = Callable[[int, range], pa.RecordBatch]


def _table(chunks: DataFrame, n: int, n_chunks: int, made: Made, schema: pa.Schema) -> DataFrame:
    """So many rows, shared out among the chunks."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in batch["id"].to_pylist():
                rows = range(chunk * n // n_chunks, (chunk + 1) * n // n_chunks)
                if rows:
                    yield made(chunk, rows)

    return chunks.mapInArrow(work, from_arrow_schema(schema))


def _criteria(draw: Draw) -> Made:
    def made(chunk: int, rows: range) -> pa.RecordBatch:
        drawn = draw(chunk, len(rows), 1)
        found = drawn.expressions
        expressions = found if isinstance(found, list) else found()
        named = [Criterion(f"c{row}", one) for row, one in zip(rows, expressions, strict=True)]
        columns = [
            pa.array([one.id for one in named], pa.string()),
            pa.array([json_form.encode(one.to_json()).decode() for one in named], pa.string()),
            pa.array(rows, pa.int64()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=_CRITERIA)

    return made


def _events(draw: Draw) -> Made:
    def made(chunk: int, rows: range) -> pa.RecordBatch:
        events = [list(event.items()) for event in draw(chunk, 1, len(rows)).event_dicts()]
        columns = [pa.array(rows, pa.int64()), pa.array(events, _EVENTS.field("event").type)]
        return pa.RecordBatch.from_arrays(columns, schema=_EVENTS)

    return made
