"""Streams of events to files of matches, a directory a micro-batch.

output/batch_id=N/        Parquet, and _batch.json with what the batch was
checkpoint/remuda/N.json  the version and the moment of batch N, chosen when it was first tried

A batch that is tried again after a failure has the same events, by Spark's checkpoint, and the
same version and moment, by ours: so it gives the same answer, and one that was published is left
as it is. Nothing of the driver's is captured, so that Spark Connect can run it too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any, NamedTuple, Unpack

from pyspark.sql import DataFrame, Observation
from pyspark.sql.streaming.query import StreamingQuery

from remuda.errors import StorageError
from remuda.index.answers import ERROR, MATCHES, VERSION
from remuda.index.question import Best, Question
from remuda.index.storage import current_version
from remuda.index.stores import address
from remuda.model.expressions import clock
from remuda.spark.matching import answered, exploded, observed
from remuda.spark.stream_outputs import NOTE, Output, folder, output_at
from remuda.spark.tasks import Rows

_PINS = 100  # batches whose pins are kept; Spark itself retries none but the last


@dataclass(frozen=True, slots=True)
class Batch:
    """What a micro-batch was: its rows, how many of their events were none, and the time."""

    batch_id: int
    version: str
    now: int  # milliseconds since 1970
    rows: int
    matches: int
    errors: int
    seconds: float


class _Pin(NamedTuple):
    """What a batch is matched with, however often it is tried."""

    version: str
    now: int


@dataclass(frozen=True, slots=True)
class _Work:
    """What every micro-batch needs to know; plain values."""

    index: str
    output: str
    pins: str
    columns: tuple[str, ...] | None
    explode: bool
    question: Question  # but for its moment
    rows: Rows  # but for the version
    on_batch: Callable[[Batch], None] | None


def match_stream(
    events: DataFrame,
    index: str | PathLike[str],
    output: str | PathLike[str],
    *,
    checkpoint: str | PathLike[str],
    columns: Sequence[str] | None = None,
    top: int | None = None,
    explode: bool = False,
    event: str | None = None,
    tags: Iterable[str] | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    ship: bool = False,
    case_sensitive: bool = True,
    on_batch: Callable[[Batch], None] | None = None,
    **best: Unpack[Best],
) -> StreamingQuery:
    """Start matching a stream; each micro-batch takes the version that is newest as it begins.

    `columns` of the events are kept, by default all; `top` asks for so many of the best; `event`,
    `tags`, `weights`, `by`, `per`, `explode`, `ship` and `case_sensitive` are those of `match` and
    `top`; `trigger` has those of Spark's own, such as {"processingTime": "5 seconds"} or
    {"availableNow": True}. `on_batch` is told of every batch that is published, of one that is
    tried again perhaps twice. Output and checkpoint are directories that driver and workers reach,
    or URIs; a checkpoint's must be one that Spark itself can write to.
    """
    work = _Work(
        index=address(index),
        output=str(output_at(output)),
        pins=f"{output_at(checkpoint)}/remuda",
        columns=None if columns is None else tuple(columns),
        explode=explode,
        question=Question.of(0, tags, top, **best),
        rows={"event": event, "ship": ship, "case_sensitive": case_sensitive},
        on_batch=on_batch,
    )
    current_version(work.index)  # better no stream than one that fails at its first event
    events.limit(0).select(*(work.columns or ("*",)))
    for place in (work.output, work.pins):
        output_at(place).make()

    def process(frame: DataFrame, batch_id: int) -> None:
        batch = _published(frame, batch_id, work)
        if work.on_batch is not None:
            work.on_batch(batch)

    writer = events.writeStream.foreachBatch(process)
    writer = writer.option("checkpointLocation", str(output_at(checkpoint)))
    writer = writer.queryName(name) if name else writer
    return (writer.trigger(**trigger) if trigger else writer).start()


def batches(output: str | PathLike[str]) -> Iterator[Batch]:
    """What the micro-batches of a stream were, in their order."""
    place = output_at(output)
    for batch_id in place.batches():
        note = place.note(f"{folder(batch_id)}/{NOTE}")
        if note is not None:
            yield _batch(note)


def _published(frame: DataFrame, batch_id: int, work: _Work) -> Batch:
    """The batch, written and put in its place, unless it is there already."""
    began = time.monotonic()
    output, pins = output_at(work.output), output_at(work.pins)
    pinned = pins.note(f"{batch_id}.json")
    if pinned is None and output.has(batch_id):
        reason = "another stream wrote it: choose another output, or remove what is there"
        raise StorageError(f"{output}/{folder(batch_id)}", reason)
    there = output.note(f"{folder(batch_id)}/{NOTE}")
    if there is not None:
        return _batch(there)
    pin = _Pin(**json.loads(pinned)) if pinned is not None else _pin(pins, batch_id, work.index)
    answers, seen = _answers(frame, pin, work)

    def note() -> bytes:
        counts = {name: int(value) for name, value in seen.get.items()}
        seconds = time.monotonic() - began
        batch = Batch(batch_id, pin.version, pin.now, **counts, seconds=seconds)
        return json.dumps(asdict(batch)).encode()

    output.write(answers, batch_id, note)
    written = output.note(f"{folder(batch_id)}/{NOTE}")
    assert written is not None
    return _batch(written)


def _pin(pins: Output, batch_id: int, index: str) -> _Pin:
    """The version and moment of a batch that is tried for the first time, noted for later ones."""
    pin = _Pin(current_version(index), clock(None))
    pins.write_note(f"{batch_id}.json", json.dumps(pin._asdict()).encode())
    pins.forget(f"{batch_id - _PINS}.json")
    return pin


def _answers(frame: DataFrame, pin: _Pin, work: _Work) -> tuple[DataFrame, Observation]:
    """The rows with what they match, counted as they are used."""
    question, event = work.question._replace(now=pin.now), work.rows["event"]
    rows: Rows = {**work.rows, "version": pin.version}
    answers = answered(frame, work.index, question, **rows)
    seen = Observation()
    answers = observed(answers, seen, event)
    added = [MATCHES, VERSION] + ([ERROR] if event is not None else [])
    answers = answers.select(*(work.columns or frame.columns), *added)
    return exploded(answers) if work.explode else answers, seen


def _batch(note: bytes) -> Batch:
    return Batch(**json.loads(note))
