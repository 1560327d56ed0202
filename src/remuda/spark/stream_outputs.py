"""Where a stream writes: a directory a micro-batch, and small notes; on a disk or at a URI.

On a disk a batch is written aside and appears complete, by a rename. A store at a URI knows none:
there tasks upload whole files, and a batch is complete when its note `_batch.json` is there, which
comes last and names no more than what the driver was told of; the rest was removed before.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from remuda.index import cache
from remuda.index.files import is_local, local, make_directory, place, writing
from remuda.index.remote_files import RemoteFiles

NOTE = "_batch.json"
_WRITING = "_writing"


def output_at(path: str | PathLike[str]) -> Output:
    """The output at a path or URI."""
    if is_local(path):
        return Disk(local(path).absolute())
    return Uploads(RemoteFiles.at(os.fspath(path)))


def folder(batch_id: int) -> str:
    return f"batch_id={batch_id}"


def _number(name: str) -> int:
    return int(name.partition("=")[2])


@dataclass(frozen=True, slots=True)
class Disk:
    """A directory that driver and workers reach."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def make(self) -> None:
        """Make the place, where it has to be made."""
        make_directory(self.path)

    def note(self, name: str) -> bytes | None:
        """The content of a note, None where there is none."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def write_note(self, name: str, body: bytes) -> None:
        """Write a small file, at once or not at all."""
        with writing(self.path / name) as file:
            file.write(body)

    def forget(self, name: str) -> None:
        """Remove a note, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def batches(self) -> list[int]:
        """The numbers of all batches that are complete."""
        return sorted(_number(one.name) for one in self.path.glob("batch_id=*"))

    def has(self, batch_id: int) -> bool:
        """Whether there is anything of the batch."""
        return (self.path / folder(batch_id)).exists()

    def write(self, rows: DataFrame, batch_id: int, note: Callable[[], bytes]) -> None:
        """Write a batch as Parquet; its note is known when its rows were written."""
        for old in (self.path / _WRITING).glob(f"{batch_id}-*"):
            shutil.rmtree(old, ignore_errors=True)
        aside = self.path / _WRITING / f"{batch_id}-{uuid.uuid4().hex[:8]}"
        rows.write.parquet(str(aside))
        with writing(aside / NOTE) as file:
            file.write(note())
        place(aside, self.path / folder(batch_id))


@dataclass(frozen=True, slots=True)
class Uploads:
    """A place in a store, to which every worker uploads by itself; it promises what `Disk` does."""

    files: RemoteFiles

    def __str__(self) -> str:
        return self.files.uri

    def make(self) -> None:
        pass  # a store has no empty folders

    def note(self, name: str) -> bytes | None:
        try:
            return self.files.read(name)
        except FileNotFoundError:
            return None

    def write_note(self, name: str, body: bytes) -> None:
        self.files.write(name, body)

    def forget(self, name: str) -> None:
        self.files.remove(name)

    def batches(self) -> list[int]:
        paths = (path.split("/") for path in self.files.beneath(""))
        return sorted(_number(one[0]) for one in paths if len(one) == 2 and one[1] == NOTE)

    def has(self, batch_id: int) -> bool:
        return bool(self.files.beneath(folder(batch_id)))

    def write(self, rows: DataFrame, batch_id: int, note: Callable[[], bytes]) -> None:
        home = folder(batch_id)
        reports = rows.mapInArrow(_uploading(self.files.uri, home), "file string").collect()
        written = {row["file"] for row in reports}
        for name in self.files.beneath(home):
            if name not in written:  # of a task that failed, or of a try before this one
                self.files.remove(f"{home}/{name}")
        self.files.write(f"{home}/{NOTE}", note())


Output: TypeAlias = Disk | Uploads  # batches by their numbers, and notes by their names


def _uploading(uri: str, home: str) -> Any:
    """What uploads the rows of a task as one file, and tells its name."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rest = filter(len, batches)
        first = next(rest, None)
        if first is None:
            return
        name = f"part-{uuid.uuid4().hex}.parquet"
        aside = cache.scratch(name)
        try:
            with pq.ParquetWriter(aside, first.schema) as writer:
                writer.write_batch(first)
                for batch in rest:
                    writer.write_batch(batch)
            RemoteFiles.at(uri).upload(aside, f"{home}/{name}")
        finally:
            aside.unlink(missing_ok=True)
        yield pa.RecordBatch.from_pydict({"file": [name]})

    return work
