"""The driver of a cluster whose tasks are given devices.

Arguments: master, an index, a file for the answers. Spark gives each task the device 7, which is
the only one that executors see, or none of those.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from children import BOTH

from remuda.spark import match, session

GIVEN = {"spark.executor.resource.gpu.amount": "1", "spark.task.resource.gpu.amount": "1"}
PASSED = "PYTHONPATH", "NUMBA_CACHE_DIR", "NUMBA_ENABLE_CUDASIM"


def main(master: str, index: str, answers: str) -> None:
    env = {f"spark.executorEnv.{name}": os.environ[name] for name in PASSED if name in os.environ}
    told = {}
    for visible in ("7", "5,6"):
        seen = {"spark.executorEnv.CUDA_VISIBLE_DEVICES": visible}
        spark = session(master, **env, **BOTH, **GIVEN, **seen)
        events = spark.createDataFrame([(a,) for a in range(4)], "a int")
        try:
            rows = match(events, index, matcher="gpu").collect()
            told[visible] = {row["a"]: sorted(row["matches"]) for row in rows}
        except Exception as error:
            told[visible] = str(error)
        spark.stop()
    Path(answers).write_text(json.dumps(told))


main(*sys.argv[1:])
