"""SQL functions: `SELECT *, remuda_match('ads', struct(*)) FROM visits`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructType

from remuda.errors import IndexNotFound
from remuda.index.answers import listed
from remuda.index.question import Question
from remuda.index.storage import current_version
from remuda.index.stores import address
from remuda.spark.shipping import shipped
from remuda.spark.tasks import Array, Task

MATCH, TOP = "remuda_match", "remuda_top"
_EVENT = "event"

Known = Mapping[str, Task]  # by name; what is asked and of which events is another each time


def register(
    spark: SparkSession,
    indexes: Mapping[str, str | PathLike[str]],
    *,
    ship: bool = False,
    case_sensitive: bool = True,
) -> dict[str, str]:
    """Make SQL functions over indexes under names; gives the version of each.

    `remuda_match(name, event)` is an array of ids and `remuda_top(name, event, n)` one of ids and
    scores. The event is a struct, a map or a JSON text. The versions are the newest when this is
    called: call it again for newer ones. The moment for what needs a clock is that of the worker;
    with `now => current_timestamp()` it is that of the query. `ship` and `case_sensitive` are those
    of `match`; every version that is to be sent is sent at once.
    """
    paths = {name: address(path) for name, path in indexes.items()}
    versions = {name: current_version(path) for name, path in paths.items()}
    known = {
        name: Task(
            path, versions[name], Question.of(), event=_EVENT, case_sensitive=case_sensitive,
            archive=shipped(spark, path, versions[name]) if ship else None,
        )
        for name, path in paths.items()
    }  # fmt: skip

    # Spark warns where the kind of function is given, and its types ask for it
    matched = arrow_udf(  # type: ignore[call-overload]
        lambda name, event, now=None: _answered(known, event, {"name": name, "now": now}),
        "array<string>",
    )
    best = arrow_udf(  # type: ignore[call-overload]
        lambda name, event, n, now=None: _answered(
            known, event, {"name": name, "n": n.fill_null(-1), "now": now}
        ),
        "array<struct<id: string, score: double>>",
    )
    spark.udf.register(MATCH, matched)
    spark.udf.register(TOP, best)
    return versions


def _answered(known: Known, events: Array, arguments: dict[str, Array | None]) -> Array:
    """The answers, row by row; the arguments beside the event mostly are the same for all."""
    columns = {name: column.to_pylist() for name, column in arguments.items() if column is not None}
    rows_of_key: dict[Any, list[int]] = {}
    for row, key in enumerate(zip(*columns.values(), strict=True)):
        rows_of_key.setdefault(key, []).append(row)
    if len(rows_of_key) == 1:
        return _answer(known, events, **dict(zip(columns, *rows_of_key, strict=True)))
    answers = [
        _answer(known, events.take(pa.array(rows)), **dict(zip(columns, key, strict=True)))
        for key, rows in rows_of_key.items()
    ]
    order = np.argsort(np.concatenate(list(rows_of_key.values())))
    return pa.concat_arrays(answers).take(pa.array(order))


def _answer(
    known: Known, events: Array, name: str, n: int | None = None, now: datetime | None = None
) -> Array:
    if name not in known:
        raise IndexNotFound(name)
    task = known[name].about(StructType().add(_EVENT, from_arrow_type(events.type)))
    index = task.opened()
    rows = pa.RecordBatch.from_arrays([events], [_EVENT])
    how: dict[str, Any] = {"now": now, "threads": 1}
    if n is None:
        return listed(index.match_many([task.portion(rows, rows)], **how))
    return listed(index.top_many([task.portion(rows, rows)], n, **how))
