"""Streams of events to files of matches, a directory a micro-batch.

output/batch_id=N/        Parquet, and _batch.json with what the batch was; it appears complete
output/_writing/          what is being written
checkpoint/remuda/N.json  the version and the moment of batch N, chosen when it was first tried

A batch that is tried again after a failure has the same events, by Spark's checkpoint, and the
same version and moment, by ours: so it gives the same answer, and one that was published is left
as it is. Nothing of the driver's is captured, so that Spark Connect can run it too.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation
from pyspark.sql.streaming.query import StreamingQuery

from remuda.errors import StorageError
from remuda.index.answers import ERROR, MATCHES, VERSION
from remuda.index.files import local, make_directory, place, writing
from remuda.index.question import By, Question
from remuda.index.storage import current_version
from remuda.model.expressions import clock
from remuda.model.weights import Weights
from remuda.spark.matching import answered, exploded, observed

_MANIFEST = "_batch.json"
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
    event: str | None
    question: Question  # but for its moment
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
    weights: Weights | str = None,
    by: By = "score",
    per: str | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    on_batch: Callable[[Batch], None] | None = None,
) -> StreamingQuery:
    """Start matching a stream; each micro-batch takes the version that is newest as it begins.

    `columns` of the events are kept, by default all; `top` asks for so many of the best; `event`,
    `tags`, `weights`, `by`, `per` and `explode` are those of `match` and `top`; `trigger` has those
    of Spark's own, such as {"processingTime": "5 seconds"} or {"availableNow": True}. `on_batch` is
    told of every batch that is published, of one that is tried again perhaps twice. Output and
    checkpoint are directories that driver and workers reach.
    """
    work = _Work(
        index=_directory(index),
        output=_directory(output),
        pins=str(Path(_directory(checkpoint), "remuda")),
        columns=None if columns is None else tuple(columns),
        explode=explode,
        event=event,
        question=Question.of(0, tags, top, weights, by, per),
        on_batch=on_batch,
    )
    current_version(Path(work.index))  # better no stream than one that fails at its first event
    events.limit(0).select(*(work.columns or ("*",)))
    for directory in (work.output, work.pins):
        make_directory(Path(directory))

    def process(frame: DataFrame, batch_id: int) -> None:
        batch = _published(frame, batch_id, work)
        if work.on_batch is not None:
            work.on_batch(batch)

    writer = events.writeStream.foreachBatch(process)
    writer = writer.option("checkpointLocation", _directory(checkpoint))
    writer = writer.queryName(name) if name else writer
    return (writer.trigger(**trigger) if trigger else writer).start()


def batches(output: str | PathLike[str]) -> Iterator[Batch]:
    """What the micro-batches of a stream were, in their order."""
    found = {
        int(one.name.partition("=")[2]): one for one in Path(_directory(output)).glob("batch_id=*")
    }
    for _, directory in sorted(found.items()):
        yield _read_batch(directory)


def _directory(path: str | PathLike[str]) -> str:
    return str(local(path).absolute())


def _published(frame: DataFrame, batch_id: int, work: _Work) -> Batch:
    """The batch, written and put in its place, unless it is there already."""
    began = time.monotonic()
    target = Path(work.output, f"batch_id={batch_id}")
    pin_file = Path(work.pins, f"{batch_id}.json")
    if target.exists():
        if not pin_file.exists():
            reason = "another stream wrote it: choose another output, or remove what is there"
            raise StorageError(str(target), reason)
        return _read_batch(target)
    pin = _pinned(pin_file, batch_id, work.index)
    aside = _fresh(Path(work.output, "_writing"), batch_id)
    seen = _write(frame, pin, aside, work)
    batch = Batch(batch_id, pin.version, pin.now, **seen, seconds=time.monotonic() - began)
    _put(aside / _MANIFEST, asdict(batch))
    place(aside, target)
    return batch


def _pinned(file: Path, batch_id: int, index: str) -> _Pin:
    """The version and moment of the batch: those of its first try."""
    try:
        return _Pin(**json.loads(file.read_bytes()))
    except FileNotFoundError:
        pin = _Pin(current_version(Path(index)), clock(None))
    _put(file, pin._asdict())
    (file.parent / f"{batch_id - _PINS}.json").unlink(missing_ok=True)
    return pin


def _fresh(home: Path, batch_id: int) -> Path:
    """A place for a new try, and nothing of the old ones."""
    for old in home.glob(f"{batch_id}-*"):
        shutil.rmtree(old, ignore_errors=True)
    return home / f"{batch_id}-{uuid.uuid4().hex[:8]}"


def _write(frame: DataFrame, pin: _Pin, aside: Path, work: _Work) -> dict[str, int]:
    """Match the rows and write them; how many there were."""
    question = work.question._replace(now=pin.now)
    answers = answered(frame, work.index, question, version=pin.version, event=work.event)
    seen = Observation()
    answers = observed(answers, seen, work.event)
    added = [MATCHES, VERSION] + ([ERROR] if work.event is not None else [])
    answers = answers.select(*(work.columns or frame.columns), *added)
    if work.explode:
        answers = exploded(answers)
    answers.write.parquet(str(aside))
    return {name: int(value) for name, value in seen.get.items()}


def _read_batch(directory: Path) -> Batch:
    return Batch(**json.loads((directory / _MANIFEST).read_bytes()))


def _put(file: Path, content: dict[str, Any]) -> None:
    """Write a small file, at once or not at all."""
    with writing(file) as open_file:
        open_file.write(json.dumps(content).encode())
