"""A builder that publishes round after round at a URI until it is killed; arguments: URI, round."""

from __future__ import annotations

import sys

from pyspark.sql import functions as sf

from remuda.spark import build_index, read_criteria, session


def main(uri: str, first: int) -> None:
    spark = session("local[2]", **{"spark.sql.shuffle.partitions": "2"})
    for number in range(first, first + 100):
        told = sf.lit(f"a >= {number}")
        rules = spark.range(60).select(sf.col("id").cast("string"), told.alias("expression"))
        print(number, flush=True)
        build_index(read_criteria(spark, rules), uri, shards=4)


main(sys.argv[1], int(sys.argv[2]))
