"""CSV files on Spark, read as Python's csv module reads them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

CORRUPT = "_corrupt_record"


def csv_reader(reader: Any, separator: str) -> Any:
    """The reader for files with a header: quotes doubled, rows over several lines."""
    return reader.options(header=True, sep=separator, quote='"', escape='"', multiLine=True)


def csv_frame(
    spark: SparkSession,
    paths: str | list[str],
    separator: str,
    *,
    typed: bool = False,
    text: Collection[str] = (),
) -> DataFrame:
    """The rows, and behind their columns CORRUPT: the line of one with other fields than these.

    With `typed`, columns that are not named in `text` have the type of what is in them.
    """
    reader = csv_reader(spark.read, separator)
    found = reader.option("inferSchema", typed).csv(paths).schema
    fields = [
        StructField(one.name, StringType() if one.name in text else one.dataType)
        for one in found.fields
    ]
    schema = StructType([*fields, StructField(CORRUPT, StringType())])
    rows: DataFrame = reader.schema(schema).option("columnNameOfCorruptRecord", CORRUPT).csv(paths)
    return rows
