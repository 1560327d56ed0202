"""A driver whose executors have no credentials for the store that the index is in.

Arguments: master, URI of the index, a file for the answers.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path

from children import BOTH
from pyspark.sql import functions as sf

from remuda.spark import doctor, match, reach, session


def main(master: str, index: str, answers: str) -> None:
    passed = [name for name in ("PYTHONPATH", "NUMBA_CACHE_DIR") if name in os.environ]
    env = {f"spark.executorEnv.{name}": os.environ[name] for name in passed}
    spark = session(master, **env, **BOTH, **{"spark.sql.shuffle.partitions": "2"})
    events = spark.range(60).select((sf.col("id") % 20).alias("a")).repartition(4)
    counted = match(events, index, ship=True).groupBy("a").agg(sf.max(sf.size("matches")))
    reached = reach(events, index, ship=True).agg(sf.sum("events")).collect()[0][0]
    told = {
        "counted": dict(map(tuple, counted.collect())),
        "reached": reached,
        "problems": [len(machine.problems) for machine in doctor(spark, index)],
    }
    Path(answers).write_text(json.dumps(told))
    spark.stop()


faulthandler.dump_traceback_later(480, exit=True)  # where it hangs, if it does
main(*sys.argv[1:])
