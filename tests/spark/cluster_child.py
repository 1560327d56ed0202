"""The driver of a standalone cluster: builds an index at a URI and asks it in every way.

Arguments: master, URI, a directory for the checkpoint, a file for the answers.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path

from children import BOTH
from pyspark.sql import functions as sf

from remuda.spark import (
    batches,
    build_index,
    doctor,
    match,
    match_stream,
    reach,
    read_criteria,
    session,
    top,
)

N_RULES, N_EVENTS = 200, 300


def main(master: str, uri: str, checkpoint: str, answers: str) -> None:
    passed = ("PYTHONPATH", "NUMBA_CACHE_DIR", *(name for name in os.environ if "AWS" in name))
    env = {f"spark.executorEnv.{name}": os.environ[name] for name in passed if name in os.environ}
    spark = session(master, **env, **BOTH, **{"spark.sql.shuffle.partitions": "2"})
    index = f"{uri}/ads"
    rules = spark.range(N_RULES).select(
        sf.concat(sf.lit("r"), "id").alias("id"),
        sf.concat(sf.lit("a >= "), sf.col("id") % 50).alias("expression"),
    )
    built = build_index(read_criteria(spark, rules), index, shards=3)
    again = build_index(read_criteria(spark, rules.filter("id <> 'r7'")), index)
    events = spark.range(N_EVENTS).select((sf.col("id") % 60).alias("a"))
    counted = match(events, index).groupBy("a").agg(sf.max(sf.size("matches")).alias("n"))
    best = top(events.limit(5), index, 2).collect()
    reached = reach(events, index).orderBy("id").collect()
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 50).load()
    stream = rate.select((sf.col("value") % 60).alias("a"))
    query = match_stream(
        stream,
        index,
        f"{uri}/matched",
        checkpoint=checkpoint,
        trigger={"processingTime": "0 seconds"},
    )
    while len(list(batches(f"{uri}/matched"))) < 3:
        if not query.isActive:
            raise RuntimeError(str(query.exception()))
        query.awaitTermination(1)
    query.stop()
    machines = doctor(spark, index)
    Path(answers).write_text(
        json.dumps(
            {
                "built": [built.version, built.added, again.version, again.removed, again.kept],
                "counted": {row["a"]: row["n"] for row in counted.collect()},
                "best": {row["a"]: [one["id"] for one in row["matches"]] for row in best},
                "reached": {row["id"]: row["events"] for row in reached},
                "batches": [[one.rows, one.matches] for one in batches(f"{uri}/matched")][:3],
                "problems": [one for machine in machines for one in machine.problems],
                "caches": sorted({one.facts["cache"] for one in machines}),
            }
        )
    )
    spark.stop()


faulthandler.dump_traceback_later(480, exit=True)  # where it hangs, if it does
main(*sys.argv[1:])
