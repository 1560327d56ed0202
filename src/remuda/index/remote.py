"""Stores at URIs, which know neither locks nor renames.

Files are uploaded under names that nobody else uses, so no upload can meet another. What makes a
version one is its manifest, created only where there is none: of two builders one wins, and the
other is told.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remuda.errors import StorageError
from remuda.index import cache
from remuda.index.directory import MANIFEST, MANIFEST_CHECK, Manifest, Writing, new_directory
from remuda.index.remote_files import RemoteFiles

_LAST = (MANIFEST, MANIFEST_CHECK)  # what makes a directory complete, in its order


@dataclass(frozen=True, slots=True)
class Remote:
    """An index in a store that fsspec reaches."""

    files: RemoteFiles
    grace: float = 24 * 3600.0

    @classmethod
    def at(cls, uri: str) -> Remote:
        """The store at a URI; StorageError where its scheme is not served."""
        return cls(RemoteFiles.at(uri))

    def __str__(self) -> str:
        return self.files.uri

    def exists(self) -> bool:
        return self.files.exists("CURRENT")

    def current(self) -> bytes:
        try:
            return self.files.read("CURRENT")
        except FileNotFoundError:
            raise StorageError(f"{self}/CURRENT", "there is no index here") from None

    def write_current(self, content: bytes) -> None:
        self.files.write("CURRENT", content)

    def names(self, kind: str) -> dict[str, float]:
        written: dict[str, float] = {}
        complete = set()
        for path, at in self.files.beneath(kind).items():
            name, _, file = path.partition("/")
            written[name] = max(written.get(name, 0.0), at)
            if file == MANIFEST_CHECK:
                complete.add(name)
        return {name if name in complete else f".{name}": at for name, at in written.items()}

    def version(self, name: str) -> Path:
        home = f"versions/{name}"
        known = {file: self._read(f"{home}/{file}") for file in _LAST}
        key = cache.key_of(str(self), name, known[MANIFEST_CHECK].decode("utf-8", "replace"))
        return cache.kept(key, lambda directory: self._fill(home, directory, known))

    def segment(self, entry: Mapping[str, Any]) -> Path:
        name = entry["segment"]
        key = self._key(name, entry.get("manifest"))
        return cache.kept(key, lambda directory: self._fill(f"segments/{name}", directory, {}))

    def manifest(self, segment: str) -> Manifest:
        home = f"segments/{segment}"
        body, check = (self._read(f"{home}/{file}") for file in _LAST)
        return Manifest.of(body, check, f"{self}/{home}/{MANIFEST}")

    def home(self, segment: str) -> str:
        return f"{self}/segments/{segment}"

    def has(self, segment: str) -> bool:
        return self.files.exists(f"segments/{segment}/{MANIFEST_CHECK}")

    @contextmanager
    def new(self, kind: str, name: str) -> Iterator[Writing]:
        aside = cache.scratch(name)
        try:
            with new_directory(aside) as writing:
                yield writing
            first = [one.name for one in aside.iterdir() if one.name not in _LAST]
            for file in (*first, *_LAST):
                self._publish(aside / file, f"{kind}/{name}/{file}")
            if kind == "segments":
                cache.adopt(self._key(name, writing.manifest_checksum), aside)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def remove(self, kind: str, name: str) -> None:
        home = f"{kind}/{name.lstrip('.')}"
        files = self.files.beneath(home)
        # the manifest first: what is half removed is no version and no segment any more
        for file in sorted(files, key=lambda one: one not in _LAST):
            self.files.remove(f"{home}/{file}")

    def turn(self, wait: float = 0.0) -> AbstractContextManager[object]:
        return nullcontext()  # the manifest of a version is the lock

    def _key(self, segment: str, checksum: int | None) -> str:
        return cache.key_of(str(self), segment, str(checksum))

    def _read(self, name: str) -> bytes:
        try:
            return self.files.read(name)
        except FileNotFoundError:
            raise StorageError(f"{self}/{name}", "it is not there") from None

    def _fill(self, home: str, directory: Path, known: Mapping[str, bytes]) -> None:
        """Copy a folder; some of its files are known already."""
        names = self.files.beneath(home)
        if MANIFEST_CHECK not in names:
            raise StorageError(f"{self}/{home}", "it is not there, or not complete")
        for name in names:
            if name in known:
                (directory / name).write_bytes(known[name])
            else:
                self.files.fetch(f"{home}/{name}", directory / name)

    def _publish(self, source: Path, name: str) -> None:
        if not (name.startswith("versions/") and source.name == MANIFEST):
            self.files.upload(source, name)
        elif not self.files.create(name, source.read_bytes()):
            reason = "another builder has published it meanwhile; build again"
            raise StorageError(f"{self}/{name}", reason)
