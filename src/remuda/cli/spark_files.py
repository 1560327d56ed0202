"""Files of events to DataFrames, and DataFrames of answers to files."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Observation, SparkSession, types
from pyspark.sql import functions as sf

from remuda.cli.files import FileError, kind_of
from remuda.cli.screen import SHOWN, warn
from remuda.index.answers import ERROR, MATCHES, VERSION
from remuda.index.files import aside, local, place
from remuda.language.rows import SEPARATORS
from remuda.spark.csv_files import CORRUPT, csv_frame, csv_reader
from remuda.spark.matching import exploded, observed

if TYPE_CHECKING:
    from remuda.cli.matching import Job

_LINE = "value"


@dataclass(frozen=True, slots=True)
class Seen:
    """A frame that is watched: once it was used, how many rows, matches and errors it had."""

    frame: DataFrame
    observation: Observation

    def count(self, what: str) -> int:
        return int(self.observation.get.get(what) or 0)


@dataclass(frozen=True, slots=True)
class Events:
    """Rows with the column that has the event (None: the whole row), and rows that are none."""

    good: DataFrame
    event: str | None = None
    bad: Seen | None = None
    separator: str = ""  # of CSV

    def observed(self) -> Seen:
        watch = Observation()
        return Seen(self.good.observe(watch, sf.count(sf.lit(1)).alias("rows")), watch)

    def told(self) -> int:
        """Name the first rows that are none; how many there were, once the good ones were used."""
        n_bad = self.bad.count("errors") if self.bad else 0
        if self.bad and n_bad:
            wrong = self.bad.frame.filter(sf.col(CORRUPT).isNotNull()).limit(SHOWN)
            for row in wrong.collect():
                warn(f"not a row of the table: {row[CORRUPT][:200]}")
        return n_bad


def frame_of(spark: SparkSession, path: str, format: str | None, text: Sequence[str]) -> Events:
    """The events of files: JSON lines as text, so that nothing in them is coerced."""
    lines = spark.read.option("lineSep", "\n").text(path)
    kind = kind_of(next(iter(lines.inputFiles()), path), format)
    if kind == "parquet":
        return Events(spark.read.parquet(path))
    if kind == "jsonl":
        return Events(lines.filter(sf.col(_LINE).rlike(r"\S")), _LINE)
    return _csv(spark, path, SEPARATORS[kind], text)


def stream_of(spark: SparkSession, path: str, format: str | None) -> tuple[DataFrame, str | None]:
    """Files that arrive in a directory, and the column that has the event.

    Columns are those of the files that are there, of which one at least must be.
    """
    there = frame_of(spark, path, format, ())
    if there.event is not None:
        lines = spark.readStream.option("lineSep", "\n").text(path)
        return lines.filter(sf.col(_LINE).rlike(r"\S")), _LINE
    reader = spark.readStream.schema(there.good.schema)
    if there.bad is None:
        return reader.parquet(path), None
    return csv_reader(reader, there.separator).csv(path), None


def _csv(spark: SparkSession, path: str, separator: str, text: Sequence[str]) -> Events:
    rows = csv_frame(spark, path, separator, typed=True, text=text)
    if rows.columns == [CORRUPT]:  # not even a header
        return Events(spark.createDataFrame([], types.StructType([])))
    watch = Observation()
    seen = rows.observe(watch, sf.count(CORRUPT).alias("errors"))
    good = seen.filter(sf.col(CORRUPT).isNull()).drop(CORRUPT)
    return Events(good, None, Seen(rows, watch), separator)


def seen_by(found: DataFrame, event: str | None) -> Seen:
    """The answers, watched."""
    watch = Observation()
    return Seen(observed(found, watch, event), watch)


def written(found: DataFrame, job: Job) -> None:
    """Write the answers, a directory of files in their format."""
    kind = kind_of(job.output, job.asking.format)
    frame = exploded(found) if job.explode else found
    with placed(job.output) as path:
        how = mode(job.overwrite)
        if kind == "parquet":
            _renamed(frame).write.mode(how).parquet(path)
        elif kind == "csv":
            cells = _in_cells(_renamed(frame)).write.mode(how)
            cells.csv(path, header=True, emptyValue="", escape='"')
        else:
            frame.select(_line(frame)).write.mode(how).text(path)


def mode(overwrite: bool) -> str:
    """What Spark does where there is an output already."""
    return "overwrite" if overwrite else "errorifexists"


def printed(found: DataFrame, job: Job) -> None:
    """Print the answers as JSON lines, when all are there."""
    if job.asking.format not in (None, "jsonl"):
        raise FileError(f"Spark prints JSON lines, no {job.asking.format}: name a file with -o")
    frame = exploded(found) if job.explode else found
    with tempfile.TemporaryDirectory(prefix="remuda-") as home:
        path = Path(home, "lines")
        frame.select(_line(frame)).write.text(str(path))
        if not path.is_dir():
            raise FileError("Spark runs elsewhere: name an output that it reaches with -o")
        sys.stdout.flush()
        for part in sorted(path.glob("part-*")):
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _renamed(frame: DataFrame) -> DataFrame:
    """A line of JSON is called the event that it is."""
    return frame.withColumnRenamed(_LINE, "event") if ERROR in frame.columns else frame


def _line(frame: DataFrame) -> Any:
    """The row as a line of JSON; an event that was one goes in as it was."""
    if ERROR not in frame.columns:
        return sf.to_json(sf.struct("*"))
    rest = sf.substring(sf.to_json(sf.struct(MATCHES, VERSION)), 2, 2**31 - 1)
    event = sf.col(_LINE)
    whole = sf.concat(sf.lit('{"event":'), sf.trim(event), sf.lit(","), rest)
    wrong = sf.to_json(sf.struct(event.alias("event"), MATCHES, VERSION, ERROR))
    return sf.when(sf.col(ERROR).isNull(), whole).otherwise(wrong)


def _in_cells(frame: DataFrame) -> DataFrame:
    """What is a list or an object as JSON in its cell."""
    nested = (types.ArrayType, types.MapType, types.StructType)
    columns = []
    for field in frame.schema.fields:
        column = sf.col(f"`{field.name}`")
        if isinstance(field.dataType, nested):
            column = sf.to_json(column).alias(field.name)
        elif isinstance(field.dataType, types.BinaryType):
            column = sf.base64(column).alias(field.name)
        columns.append(column)
    return frame.select(*columns)


@contextmanager
def placed(path: str) -> Iterator[str]:
    """A directory under another name that takes its own when all went well."""
    if "://" in path:  # a store that knows no renaming; Spark marks there what is complete
        yield path
        return
    target = local(path).absolute()
    if not _replaceable(target):
        raise FileError(f"{path}: it is there and is not an output of Spark's; name another")
    unfinished = aside(target)  # to which a task may write after an interrupt
    atexit.register(shutil.rmtree, unfinished, ignore_errors=True)
    try:
        yield str(unfinished)
        if target.is_dir():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        place(unfinished, target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _replaceable(target: Path) -> bool:
    if not target.is_dir():
        return True
    return (target / "_SUCCESS").exists() or not any(target.iterdir())
