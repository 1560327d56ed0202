"""Tables of criteria: every row validated on the executors, the good apart from the bad."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal
from urllib.parse import unquote

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from remuda.errors import InvalidCriterion, RemudaError
from remuda.formats import FORMATS
from remuda.formats.reading import Format
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.language.rows import (
    SEPARATORS,
    criterion_of,
    csv_rows,
    fitting,
    format_of,
    missing_columns,
    text_of,
)
from remuda.language.schemas import Schema, schema_of
from remuda.spark.csv_files import CORRUPT, csv_frame

_CHECKED = pa.schema(
    {
        "file": pa.string(),
        "block": pa.int64(),
        "at": pa.int64(),
        "id": pa.string(),
        "json": pa.string(),
        "tags": pa.list_(pa.string()),
        "place": pa.string(),
        "reason": pa.string(),
        "text": pa.string(),
    }
)
_GOOD = ("id", "json", "tags", "digest", "file", "row", "order")
_BAD = ("file", "row", "id", "place", "reason", "text")
_SHOWN = 200  # characters of a rejected row's text

Mismatches = Literal["reject", "warn"]
Source = DataFrame | str | PathLike[str] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the rows of a table; blank lines are none."""

    rows: int
    good: int
    bad: int
    blank: int

    def __str__(self) -> str:
        blank = f", {self.blank:,} blank lines passed over" if self.blank else ""
        return f"{self.rows:,} rows: {self.good:,} good, {self.bad:,} rejected{blank}"


@dataclass(frozen=True, slots=True)
class Criteria:
    """The rows of a table, each in one of two DataFrames; they are kept until `release`.

    good: id, json (canonical), tags, digest (of json), file, row, order (of the whole input).
    bad: file, row (from 1), id, place, reason, text (its start). Of the good ones, `warned` has
    those that a schema finds fault with, with the columns of bad.
    """

    good: DataFrame
    bad: DataFrame
    warned: DataFrame
    counts: Summary
    checked: DataFrame

    def summary(self) -> Summary:
        """How many rows were read, and how many of them are good."""
        return self.counts

    def release(self) -> None:
        """Let Spark forget the validated rows."""
        self.checked.unpersist()


def read_criteria(
    spark: SparkSession,
    path: Source,
    format: str | None = None,
    *,
    schema: Any = None,
    mismatches: Mismatches = "reject",
) -> Criteria:
    """Read and validate criteria at once: a path, several, or a DataFrame.

    JSON lines hold Mustang's form, ours, or objects with id and expression; a JSON array is read
    as well. Parquet, ORC, CSV and TSV have the columns id and expression, perhaps tags (an array,
    or text with commas), weights (attribute to weight), enabled, valid_from and valid_until. The
    format is told by the names of the files unless it is given: "json", "array", "parquet",
    "orc", "csv" or "tsv"; or it is the name of another system's rules, such as "eventbridge", of
    which a folder is read with all that is in it. Of several rows with one id the first is good.

    With a schema of events (Spark's, or Arrow's), criteria that name attributes which it lacks, or
    that can never be true for its types, are bad as well, or good and warned of with
    `mismatches="warn"`.
    """
    if mismatches not in ("reject", "warn"):
        raise ValueError(f"mismatches are 'reject' or 'warn', not {mismatches!r}")
    known = None if schema is None else schema_of(schema)
    raw = _of_frame(path) if isinstance(path, DataFrame) else _of_files(spark, path, format)
    call, rules = uuid.uuid4().hex, FORMATS.get(format or "")

    lenient = mismatches == "warn"

    def check(batches: Iterable[pa.RecordBatch], _call: str = call) -> Iterator[pa.RecordBatch]:
        # another function each time, or Spark may give what it has cached
        how = _Fitting(known, lenient)
        return _check(batches, how) if rules is None else _check_rules(batches, rules, how)

    checked = raw.mapInArrow(check, from_arrow_schema(_CHECKED)).persist()
    numbered, n_rows, n_good, n_blank = _numbered(spark, checked)
    digest = sf.md5(sf.col("json").cast("binary")).alias("digest")
    good = numbered.filter("json IS NOT NULL").select("*", digest)
    bad = numbered.filter("reason IS NOT NULL AND json IS NULL").select(*_BAD)
    warned = numbered.filter("reason IS NOT NULL AND json IS NOT NULL").select(*_BAD)
    first = sf.min(sf.struct("order", "row", "file")).alias("first")
    taken = good.groupBy("id").agg(sf.count("*").alias("n"), first).filter("n > 1")
    n_again = taken.agg(sf.sum(sf.col("n") - 1)).collect()[0][0] or 0
    if n_again:
        both = good.join(taken, "id", "left")
        again = sf.col("order") > sf.col("first.order")
        good = both.filter(sf.col("first").isNull() | ~again)
        bad = bad.unionByName(both.filter(again).select(*_taken()))
    n_bad = n_rows - n_blank - n_good + n_again
    counts = Summary(n_rows - n_blank, n_good - n_again, n_bad, n_blank)
    return Criteria(good.select(*_GOOD), bad, warned, counts, checked)


def _numbered(spark: SparkSession, checked: DataFrame) -> tuple[DataFrame, int, int, int]:
    """The rows with their numbers in file and input; how many there are, good ones and blank.

    Spark numbers rows by partition, and reads a large file in blocks: what stands before a block
    is known only when all of them were counted.
    """
    rejected = sf.when(sf.col("json").isNull(), sf.col("reason"))
    kinds = sf.count("json").alias("good"), sf.count(rejected).alias("bad")
    counted = checked.groupBy("file", "block").agg(
        sf.min("at").alias("first"), sf.count("*").alias("n"), *kinds
    )
    blocks = sorted(counted.collect(), key=lambda block: (block["file"], block["block"]))
    shifts, total, in_file, file = [], 0, 0, None
    for block in blocks:
        in_file = in_file if block["file"] == file else 0
        file = block["file"]
        shifts.append((file, block["block"], in_file + 1 - block["first"], total - block["first"]))
        in_file, total = in_file + block["n"], total + block["n"]
    places = spark.createDataFrame(
        shifts, "file string, block bigint, to_row bigint, to_order bigint"
    )
    numbered = checked.join(sf.broadcast(places), ["file", "block"]).select(
        sf.nullif("file", sf.lit("")).alias("file"),
        (sf.col("at") + sf.col("to_row")).alias("row"),
        (sf.col("at") + sf.col("to_order")).alias("order"),
        *("id", "json", "tags", "place", "reason", "text"),
    )
    n_good, n_bad = (sum(block[kind] for block in blocks) for kind in ("good", "bad"))
    return numbered, total, n_good, total - n_good - n_bad


def _taken() -> list[Column]:
    """The columns of a reject whose id an earlier row has taken."""
    row = sf.concat(sf.lit("the id is taken by row "), sf.col("first.row").cast("string"))
    elsewhere = sf.concat(row, sf.lit(" of "), sf.col("first.file"))
    here = sf.col("first.file").eqNullSafe(sf.col("file"))
    return [
        *(sf.col(name) for name in ("file", "row", "id")),
        sf.lit("id").alias("place"),
        sf.when(here, row).otherwise(elsewhere).alias("reason"),
        sf.substring("json", 1, _SHOWN).alias("text"),
    ]


def _of_frame(frame: DataFrame) -> DataFrame:
    """Rows of a DataFrame: a column of JSON text called json or value, or a table."""
    names = set(frame.columns)
    text = next((name for name in ("json", "value") if name in names), None)
    if "expression" in names:
        _check_columns(["the table"], frame.columns)
        row: Column = sf.struct("*")
    elif text is not None:
        row = sf.col(text).cast("binary")
    else:
        raise RemudaError(
            "a table of criteria has a column expression, or JSON text in one called json or "
            f"value; there are {', '.join(frame.columns)}"
        )
    at = sf.monotonically_increasing_id()
    partition = sf.shiftright(at, 33)
    return frame.select(
        sf.lit("").alias("file"), partition.alias("block"), at.alias("at"), row.alias("row")
    )


def _of_files(
    spark: SparkSession, path: str | PathLike[str] | Sequence[str], format: str | None
) -> DataFrame:
    paths = [fspath(path)] if isinstance(path, str | PathLike) else list(path)
    if format in FORMATS:
        return _of_rules(spark, paths, FORMATS[format])
    lines = spark.read.option("lineSep", "\n").text(paths)
    how = format or _format(lines)
    match how:
        case "json":
            frame, row = lines, sf.col("value").cast("binary")
        case "array":
            frame = spark.read.text(paths, wholetext=True)
            row = sf.col("value").cast("binary")
        case "parquet" | "orc":
            frame = spark.read.format(how).load(paths)
            _check_columns(paths, frame.columns)
            row = sf.struct(*(sf.col(f"`{name}`") for name in frame.columns))
        case "csv" | "tsv":
            frame = _of_csv(spark, paths, SEPARATORS[how])
            _check_columns(paths, [name for name in frame.columns if name != CORRUPT])
            row = sf.struct(*(sf.col(f"`{name}`") for name in frame.columns))
        case _:
            raise RemudaError(
                f"there is no format {how!r}; there are json, array, parquet, orc, csv and tsv"
            )
    rows = frame.select(
        sf.col("_metadata.file_path").alias("file"),
        sf.col("_metadata.file_block_start").alias("block"),
        sf.monotonically_increasing_id().alias("at"),
        row.alias("row"),
    )
    return rows.mapInArrow(_elements, rows.schema) if how == "array" else rows


def _check_columns(paths: Sequence[str], columns: Sequence[str]) -> None:
    wrong = missing_columns(columns)
    if wrong is not None:
        raise RemudaError(f"{', '.join(paths)}: {wrong}")


def _of_rules(spark: SparkSession, paths: list[str], format: Format) -> DataFrame:
    """Whole files of another system's rules."""
    names = ",".join(f"*{suffix}{packed}" for suffix in format.suffixes for packed in ("", ".gz"))
    read = spark.read.option("recursiveFileLookup", True).option("pathGlobFilter", f"{{{names}}}")
    return read.text(paths, wholetext=True).select(
        sf.col("_metadata.file_path").alias("file"),
        sf.lit(0).cast("bigint").alias("block"),
        sf.lit(0).cast("bigint").alias("at"),
        sf.col("value").cast("binary").alias("row"),
    )


def _format(lines: DataFrame) -> str:
    """What the files are, by their names, and for JSON by the first character."""
    for file in lines.inputFiles()[:1]:
        kind = format_of(file)
        if kind is None:
            raise RemudaError(f"{file}: the extension does not tell its format; `format` does")
        if kind != "jsonl":
            return kind
    start = lines.filter("trim(value) <> ''").first()
    return "array" if start and start["value"].lstrip().startswith("[") else "json"


def _of_csv(spark: SparkSession, paths: list[str], separator: str) -> DataFrame:
    """All of it as text."""
    frame = csv_frame(spark, paths, separator)
    # a worker that looks at such a line again must know what separates its fields
    return frame.withColumn(CORRUPT, sf.concat(sf.lit(separator), sf.col(CORRUPT)))


# What the executors do


def _elements(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The elements of JSON arrays, one file a row, as rows of their own."""
    for batch in batches:
        for file, text in zip(batch["file"].to_pylist(), batch["row"].to_pylist(), strict=True):
            try:
                items = [bytes(one) for one in msgspec.json.decode(text, type=list[msgspec.Raw])]
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                items = [text]  # one reject, with its reason
            rows = [(file, 0, at, item) for at, item in enumerate(items)]
            columns = _columns(rows, list(batch.schema))
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _columns(rows: Sequence[Sequence[Any]], fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Rows as columns of the fields' types."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(fields)
    return [pa.array(one, field.type) for one, field in zip(columns, fields, strict=True)]


@dataclass(frozen=True, slots=True)
class _Fitting:
    """The schema that criteria are held against, if any, and whether those that fail stay good."""

    schema: Schema | None
    lenient: bool

    def columns(self, criterion: Criterion, source: Any, shown: str) -> tuple[Any, ...]:
        """The columns id, json, tags, place, reason and text of a criterion."""
        text = None if self.schema is None or source is None else text_of(source)
        outcome = fitting(criterion, self.schema, text)
        document = json_form.encode(criterion.to_json()).decode()
        own: tuple[Any, ...] = (criterion.id, document, sorted(criterion.tags))
        if isinstance(outcome, Criterion):
            return (*own, None, None, None)
        own = own if self.lenient else (criterion.id, None, None)
        return (*own, outcome.place, outcome.reason, shown)


def _check(batches: Iterable[pa.RecordBatch], how: _Fitting) -> Iterator[pa.RecordBatch]:
    """Each row as a canonical criterion, or with the reason why it is none."""
    for batch in batches:
        found = [_checked(row, how) for row in _values(batch["row"])]
        own = _columns(found, list(_CHECKED)[3:])
        at = [batch[name] for name in ("file", "block", "at")]
        yield pa.RecordBatch.from_arrays([*at, *own], schema=_CHECKED)


def _check_rules(
    batches: Iterable[pa.RecordBatch], format: Format, how: _Fitting
) -> Iterator[pa.RecordBatch]:
    """Each rule of whole files as a canonical criterion, or with the reason why it is none."""
    for batch in batches:
        for file, data in zip(batch["file"].to_pylist(), batch["row"].to_pylist(), strict=True):
            readings = format.read_file(data, format.name_of(unquote(file)))
            found = [(file, 0, at, *_written(one, how)) for at, one in enumerate(readings)]
            columns = _columns(found, list(_CHECKED))
            yield pa.RecordBatch.from_arrays(columns, schema=_CHECKED)


def _written(reading: Criterion | InvalidCriterion, how: _Fitting) -> tuple[Any, ...]:
    """The columns id, json, tags, place, reason and text of a rule."""
    if isinstance(reading, InvalidCriterion):
        return reading.criterion, None, None, reading.place, reading.reason, ""
    return how.columns(reading, None, "")


def _checked(row: Any, how: _Fitting) -> tuple[Any, ...]:
    """The columns id, json, tags, place, reason and text of a row; all empty for a blank line."""
    if isinstance(row, bytes) and not row.strip():
        return (None,) * 6
    try:
        source = _whole(row)
        return how.columns(criterion_of(source), source, _start(row))
    except InvalidCriterion as error:
        return error.criterion, None, None, error.place, error.reason, _start(row)
    except Exception as error:  # one row never ends the job
        return None, None, None, "", f"{type(error).__name__}: {error}", _start(row)


def _whole(row: Any) -> Any:
    """The row as it is meant: a line of CSV with too few fields lacks the last of them."""
    if row is None:
        raise InvalidCriterion("the row is empty")
    if isinstance(row, UnicodeDecodeError):
        raise InvalidCriterion(f"the text is not UTF-8: {row}")
    if isinstance(row, dict) and CORRUPT in row:
        line = row.pop(CORRUPT)
        if line is not None and _is_longer(line[1:], line[0], list(row)):
            raise InvalidCriterion("the row has more fields than the header", "", row.get("id"))
    return row


def _is_longer(line: str, separator: str, names: Sequence[str]) -> bool:
    """Whether it has fields beyond those that have names."""
    return None in next(csv_rows(line.splitlines(keepends=True), separator, names), {})


def _values(column: pa.Array) -> Iterator[Any]:
    """The rows as Python objects; one that is not UTF-8 as the error that it is."""
    try:
        yield from column.to_pylist(maps_as_pydicts="lossy")
    except UnicodeDecodeError:
        for scalar in column:
            try:
                yield scalar.as_py(maps_as_pydicts="lossy")
            except UnicodeDecodeError as error:
                yield error


def _start(row: Any) -> str:
    """The beginning of a row's text."""
    if isinstance(row, bytes):
        return row[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN]
    return str(row)[:_SHOWN]
