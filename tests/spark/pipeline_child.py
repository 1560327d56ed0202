"""A pipeline to be killed: builds that follow one another, and a stream that uses them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.spark.building import build_index
from remuda.spark.starting import session
from remuda.spark.streaming import match_stream

N_CRITERIA = 60
CONF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


def variant(number: int) -> list[Criterion]:
    """Criteria that all differ from those of other variants; one tells by its id which it is."""
    rest = [
        Criterion(f"c{i}", parse(f"a = {i % 10} AND a <> {-1 - number}")) for i in range(N_CRITERIA)
    ]
    return [Criterion(f"variant{number}", parse("a >= 0")), *rest]


def build(spark: Any, home: Path, number: int) -> None:
    rows = [(one.id, json_form.encode(one.to_json()).decode()) for one in variant(number)]
    build_index(spark.createDataFrame(rows, "id string, json string"), home, shards=2)


def stream(spark: Any, home: Path, **more: Any) -> Any:
    events = spark.readStream.schema("id bigint, a bigint").option("maxFilesPerTrigger", 1)
    return match_stream(
        events.parquet(str(home / "events")),
        home / "index",
        home / "out",
        checkpoint=home / "checkpoint",
        **more,
    )


def main(home: Path, first: int) -> None:
    spark = session("local[2,4]", **CONF)  # a task may be tried four times
    build(spark, home / "index", first)
    query = stream(spark, home)
    number = first
    while query.isActive:
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        number += 1
        build(spark, home / "index", number)
    query.awaitTermination()  # raises what ended it


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
