"""Spark for a command: started and stopped, its progress shown, its errors on one line."""

from __future__ import annotations

import logging
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from remuda.cli.files import STDIN, FileError
from remuda.cli.options import Spark, pairs
from remuda.cli.screen import verbosity, working

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE = 10.0  # seconds that an interrupt waits for jobs to end
_PAUSE = 0.5  # seconds between two looks at how far Spark is
_RAISED = re.compile(r"^([\w.]+): (.*)$")
_THROWN = re.compile(r"^(?:Caused by)?: ([\w.$]+)(?:: (.*))?$")


def need_spark(*inputs: str) -> None:
    """Say what is missing where a command cannot run on Spark."""
    if STDIN in inputs:
        raise typer.BadParameter("Spark does not read standard input: add --local")
    if find_spec("pyspark") is None:
        raise FileError("Spark is not installed: pip install 'remuda[spark]', or add --local")


@contextmanager
def started(chosen: Spark, index: str | None = None) -> Iterator[SparkSession]:
    """A session for one command; one that runs already is used and left running.

    On a cluster the executors are looked at first: whether they have what it takes, and see the
    index.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from remuda.spark.starting import session
    from remuda.spark.workers import check_workers

    settings = pairs(chosen.conf, "--conf")
    running = SparkSession.getActiveSession()
    spark = None
    try:
        with working("starting Spark"):
            spark = session(chosen.master, **settings)
            _hush(spark)
        with _calm_when_interrupted(spark):
            if not chosen.master.startswith("local"):
                with working("looking at the executors"):
                    check_workers(spark, index)
            yield spark
    except (PySparkException, Py4JError) as error:
        raise FileError(one_line(str(error))) from error
    finally:
        if spark is not None and running is None:
            spark.stop()


def _hush(spark: SparkSession) -> None:
    """Keep the traces that Spark logs of what fails for -v: the command says it in one line."""
    if not verbosity.get():
        with suppress(Exception):  # Spark Connect logs elsewhere
            spark.sparkContext.setLogLevel("OFF")


@contextmanager
def _calm_when_interrupted(spark: SparkSession) -> Iterator[None]:
    """Let an interrupt end Spark's jobs first, and without pages of what they say about it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end_jobs() -> None:
        with suppress(Exception):
            spark.sparkContext.setLogLevel("OFF")
            spark.sparkContext.cancelAllJobs()
            tracker = spark.sparkContext.statusTracker()
            until = time.monotonic() + _PATIENCE
            while tracker.getActiveStageIds() and time.monotonic() < until:
                time.sleep(0.1)

    def interrupted(_number: int, _frame: Any) -> None:
        logging.disable(logging.CRITICAL)
        ending = threading.Thread(target=end_jobs)  # this thread may be within a call to Spark
        ending.start()
        ending.join(_PATIENCE)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)


@contextmanager
def waiting(spark: SparkSession, what: str) -> Iterator[None]:
    """A line on the terminal that says how far Spark is, while something runs."""
    with working(what) as told:
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(spark, told, done), daemon=True)
        if Console(stderr=True).is_terminal:
            watcher.start()
        try:
            yield
        finally:
            done.set()
            if watcher.is_alive():
                watcher.join()


def _watch(spark: Any, told: Callable[[str], None], done: threading.Event) -> None:
    try:
        tracker = spark.sparkContext.statusTracker()
    except Exception:  # Spark Connect has none; the time that went by is shown all the same
        return
    while not done.wait(_PAUSE):
        found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        stages = [stage for stage in found if stage is not None]
        n_tasks = sum(stage.numTasks for stage in stages)
        n_done = sum(stage.numCompletedTasks for stage in stages)
        told(f"{n_done:,} of {n_tasks:,} tasks" if n_tasks else "")


def one_line(text: str) -> str:
    """What an error of Spark's says: of a worker's traceback the last line, of Java's the cause."""
    told, _, thrown = text.partition("JVM stacktrace:")
    lines = [line for line in told.splitlines() if line.strip()]
    if "Traceback (most recent call last):" in text:
        raised = [found for line in lines if (found := _RAISED.match(line))]
        if raised:
            return f"{raised[-1][2]}" if "remuda.errors" in raised[-1][1] else raised[-1][0]
    causes = [found for line in (thrown or text).splitlines() if (found := _THROWN.match(line))]
    if causes and (not lines or not lines[0].startswith("[")):  # Spark's own errors say enough
        return causes[-1][2] or causes[-1][1]
    return lines[0].strip() if lines else "Spark failed and does not say why"
