"""Texts read as other kinds, Spark's own CAST being the referee."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from remuda.model.readings import read_boolean, read_date, read_number, read_timestamp

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = [
    "1", "01", " 1 ", "+1", "-1", "1.0", ".5", "5.", "1e3", "1E-3", "1d", "2.5F", "1L", "0x10",
    "inf", "+inf", "-INFINITY", "+nan", "", "  ", "1 2", "1,000", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "1e400", "1_000", "\u0661", "\u00a01", "\t1\n",
    "\x001", "1\x1f", "--1", "+-1", "+", ".", "1.5.2", "1e", "e1", "infinite", "٣",
]  # fmt: skip
BOOLEANS = ["t", "TRUE", " true ", "y", "yes", "f", "False", "n", "no", "0", "on", "off", "tr"]
DATES = [
    "2024", "2024-1", "2024-01", "2024-1-1", "2024-01-01", " 2024-01-01\n", "2024-01-01T",
    "2024-01-01 x", "2024-01-01x", "2024-02-30", "2024-13-01", "24-01-01", "+2024-01-01",
    "0001-01-01", "9999-12-31", "2024-001-01", "2024/01/01", "20240101", "2024-01-01Z",
    "2024-01-01+02:00", "2024 10:00", "2024-01 10:00", "2024-01-01\t10:00", "now", "epoch",
]  # fmt: skip
CLOCKS = [
    "10", "10:0", "10:00", "1:2:3", "10:00:00", "10:00:00Z", "10:00:00.1", "10:00:00.123456",
    "10:00:00.1234567", "10:00:00.", "10:00:00 UTC", "10:00:00 Europe/Berlin", "10:00:00 z",
    "10:00:00Europe/Berlin", "10:00:00+02:00", "10:00:00 +02:00", "10:00:00+2", "10:00:00+0200",
    "10:00:00+2:0", "10:00:00UTC+2", "10:00:00GMT-03:30", "10:00:00+18:00", "10:00:00+19:00",
    "24:00:00", "10:60", "10:00:60", "10:00:00 utc", "10:00Z", "10:00:00  Z", "10:00:00.5Z",
    "10:00:00+02:00:30", "010:00", "10:00:00 UT", "10:00:00 Nowhere/City",
    " 10:00",
]  # fmt: skip
ZONED = ["2024-03-31 02:30:00 Europe/Berlin", "2024-10-27 02:30:00 Europe/Berlin"]
TEXTS = [*NUMBERS, *BOOLEANS, *DATES, *ZONED]
TEXTS += [f"2024-01-01{between}{clock}" for clock in CLOCKS for between in " T"]


def test_reads_as_cast_does(spark: SparkSession) -> None:
    names = {"bigint": "whole", "double": "double", "boolean": "boolean", "date": "day"}
    casts = [f"try_cast(text AS {kind}) AS {name}" for kind, name in names.items()]
    casts.append("unix_micros(try_cast(text AS timestamp)) AS micros")
    frame = spark.createDataFrame([(text,) for text in TEXTS], "text string")
    for row in frame.selectExpr("text", *casts).collect():
        whole, double = row.whole, row.double
        number = whole if whole is not None else double if double == double else None
        moment = read_timestamp(row.text)
        found = read_number(row.text), read_boolean(row.text), read_date(row.text), _micros(moment)
        assert (row.text, *found) == (row.text, number, row.boolean, row.day, row.micros)


def _micros(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
