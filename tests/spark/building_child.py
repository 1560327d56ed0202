"""A builder that publishes round after round at a URI until it is killed.

Arguments: URI, round, and the master where it is not this machine.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import functions as sf

from remuda.spark import build_index, read_criteria, session


def main(uri: str, first: int, master: str = "local[2]") -> None:
    passed = ("PYTHONPATH", "NUMBA_CACHE_DIR", *(name for name in os.environ if "AWS" in name))
    env = {f"spark.executorEnv.{name}": os.environ[name] for name in passed if name in os.environ}
    spark = session(master, **env, **{"spark.sql.shuffle.partitions": "2"})
    for number in range(first, first + 100):
        told = sf.lit(f"a >= {number}")
        rules = spark.range(60).select(sf.col("id").cast("string"), told.alias("expression"))
        print(number, flush=True)
        build_index(read_criteria(spark, rules), uri, shards=4)


main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
