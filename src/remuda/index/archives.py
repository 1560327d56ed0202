"""Archives: a version of an index as one file, which unpacks to a directory that can be loaded."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from remuda.index.cache import key_of
from remuda.index.directory import MANIFEST_CHECK
from remuda.index.storage import read_version
from remuda.index.stores import SEGMENTS, VERSIONS, Location, store_of


def archive_name(path: Location, version: str) -> str:
    """What tells the archive of a version apart from all others."""
    store = store_of(path)
    checksum = (store.version(version) / MANIFEST_CHECK).read_text()
    return f"remuda-{version}-{key_of(str(store), version, checksum)}.zip"


def write_archive(path: Location, version: str, target: Path) -> None:
    """Write the version and its segments, not compressed: they are mapped once they are there."""
    store = store_of(path)
    folders = {f"{VERSIONS}/{version}": store.version(version)}
    for entry in read_version(store, version).segments:
        folders[f"{SEGMENTS}/{entry['segment']}"] = store.segment(entry)
    with ZipFile(target, "w", strict_timestamps=False) as archive:
        for name, folder in folders.items():
            for file in sorted(folder.iterdir()):
                archive.write(file, f"{name}/{file.name}")
