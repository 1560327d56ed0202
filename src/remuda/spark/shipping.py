"""Versions that travel with a job, where workers cannot reach the store that the index is in.

The driver makes an archive of the version, and Spark hands it to every executor, once, and unpacks
it there. Archives stay for as long as the application does.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession, is_remote

from remuda.index.archives import archive_name, write_archive
from remuda.index.stores import Location

_SHIPPED = "shipped:"
_sent: set[tuple[str, str]] = set()  # applications, and archives that they have


def shipped(spark: SparkSession, index: Location, version: str) -> str:
    """Send a version to all executors; what workers call it."""
    name = archive_name(index, version)
    sending = _application(spark), name
    if sending not in _sent:
        archive = _outbox() / name
        if not archive.exists():
            write_archive(index, version, archive)
        spark.addArtifacts(str(archive), archive=True)
        _sent.add(sending)
    return _SHIPPED + name


def arrived(place: str) -> str:
    """Where a worker finds what it was told of; a path or a URI is that already."""
    if not place.startswith(_SHIPPED):
        return place
    return str(Path(SparkFiles.getRootDirectory(), place.removeprefix(_SHIPPED)))


def _application(spark: SparkSession) -> str:
    """What shares archives: all sessions of a driver, or one of Spark Connect's."""
    if is_remote():
        return str(spark.session_id)  # type: ignore[attr-defined]
    return str(spark.sparkContext.applicationId)


@lru_cache(maxsize=1)
def _outbox() -> Path:
    """A directory for as long as this process runs: executors may come for an archive later."""
    home = Path(tempfile.mkdtemp(prefix="remuda-shipped-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home
