"""A pyspark.ml Transformer, for pipelines that are saved and loaded."""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike
from typing import Any

from pyspark.ml import Transformer
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasOutputCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame

from remuda.index.answers import MATCHES
from remuda.spark.matching import match, top


def _param(name: str, says: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, says, convert)


class Matcher(Transformer, HasOutputCol, DefaultParamsReadable["Matcher"], DefaultParamsWritable):
    """Adds the criteria that each row satisfies, or with `n` the best of them and their scores.

    Without `version`, it is the newest when it transforms. The event is the whole row, or what
    `eventCol` has. `ship` and `caseSensitive` are those of `match`.
    """

    index = _param("index", "the directory of the index", TypeConverters.toString)
    n = _param(
        "n", "how many of the best; all that match where it is not set", TypeConverters.toInt
    )
    version = _param("version", "the version of the index", TypeConverters.toString)
    eventCol = _param("eventCol", "the column that has the event", TypeConverters.toString)  # noqa: N815
    ship = _param("ship", "whether the index is sent with the job", TypeConverters.toBoolean)
    caseSensitive = _param(  # noqa: N815
        "caseSensitive", "whether names are read in their case", TypeConverters.toBoolean
    )
    tags = _param("tags", "tags of which a criterion must have one", TypeConverters.toListString)

    def __init__(
        self,
        *,
        index: str | PathLike[str] | None = None,
        outputCol: str = MATCHES,  # noqa: N803
        n: int | None = None,
        version: str | None = None,
        eventCol: str | None = None,  # noqa: N803
        tags: Iterable[str] | None = None,
        ship: bool = False,
        caseSensitive: bool = True,  # noqa: N803
    ) -> None:
        super().__init__()
        self._setDefault(outputCol=MATCHES, ship=False, caseSensitive=True)
        given = {
            "index": None if index is None else os.fspath(index),
            "outputCol": outputCol,
            "n": n,
            "version": version,
            "eventCol": eventCol,
            "tags": None if tags is None else sorted(tags),
            "ship": ship,
            "caseSensitive": caseSensitive,
        }
        self._set(**{name: value for name, value in given.items() if value is not None})

    def _transform(self, dataset: DataFrame) -> DataFrame:
        options = {
            "column": self.getOutputCol(),
            "version": self._set_to(self.version),
            "event": self._set_to(self.eventCol),
            "tags": self._set_to(self.tags),
            "ship": self.getOrDefault(self.ship),
            "case_sensitive": self.getOrDefault(self.caseSensitive),
        }
        path, n = self.getOrDefault(self.index), self._set_to(self.n)
        return match(dataset, path, **options) if n is None else top(dataset, path, n, **options)

    def _set_to(self, param: Any) -> Any:
        return self.getOrDefault(param) if self.isSet(param) else None
