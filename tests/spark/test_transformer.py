"""The Transformer is `match` and `top` in a pipeline that can be saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import SQLTransformer

from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.spark.matching import match, top
from remuda.spark.transformer import Matcher


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rules = [Criterion(f"c{i}", attr("id") >= i, tags={f"t{i % 2}"}) for i in range(4)]
    Index.build(rules).save(tmp_path / "index")
    return tmp_path / "index"


def test_it_is_match_and_top(spark, home) -> None:
    frame = spark.range(3)
    matched = Matcher(index=home, outputCol="ids").transform(frame)
    assert matched.collect() == match(frame, home, column="ids").collect()
    best = Matcher(index=home, n=2, tags=["t1"]).transform(frame)
    assert best.collect() == top(frame, home, 2, tags=["t1"]).collect()


def test_it_is_saved_and_loaded(spark, home, tmp_path) -> None:
    texts = SQLTransformer(statement="SELECT to_json(struct(*)) AS payload FROM __THIS__")
    matcher = Matcher(index=home, n=1, eventCol="payload", version="v000001", tags=["t0"])
    model = Pipeline(stages=[texts, matcher]).fit(spark.range(3))
    model.write().overwrite().save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model"))
    answers = again.transform(spark.range(3)).collect()
    assert answers == model.transform(spark.range(3)).collect()
    assert [row["matches"][0]["id"] for row in answers] == ["c0", "c0", "c0"]
    matcher.save(str(tmp_path / "alone"))
    assert Matcher.load(str(tmp_path / "alone")).extractParamMap() == matcher.extractParamMap()


def test_without_an_index(spark) -> None:
    with pytest.raises(KeyError, match="index"):
        Matcher().transform(spark.range(1))
