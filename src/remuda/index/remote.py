"""Stores at URIs, through fsspec: object stores, HDFS and mounts without locks or renames.

Files are uploaded under names that nobody else uses, so no upload can meet another. What makes a
version one is its manifest, created only where there is none: of two builders one wins, and the
other is told.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from remuda.errors import StorageError
from remuda.index import cache
from remuda.index.directory import MANIFEST, MANIFEST_CHECK, Manifest, Writing, new_directory

T = TypeVar("T")

_SERVED_BY = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "adlfs"),
    **dict.fromkeys(("hdfs", "dbfs"), "fsspec"),
}
_LONGEST = 300  # characters of what a store says
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//?)(?!/)(.+)", re.DOTALL)
_TRIES = 4  # of a read that fails for a reason of the moment
_PAUSE = 0.2  # seconds before the second try; twice as long before each next
_log = logging.getLogger("remuda.index")


@dataclass(frozen=True, slots=True)
class Remote:
    """An index in a store that fsspec reaches."""

    uri: str
    files: Any  # fsspec has no types of its own
    root: str  # what the file system calls the URI
    grace: float = 24 * 3600.0

    @classmethod
    def at(cls, uri: str) -> Remote:
        """The store at a URI; StorageError where its scheme is not served."""
        files, root = file_system(uri)
        return cls(uri.rstrip("/"), files, root)

    def __str__(self) -> str:
        return self.uri

    def exists(self) -> bool:
        return bool(self._called(lambda: self.files.exists(self._path("CURRENT"))))

    def current(self) -> bytes:
        try:
            return self._read("CURRENT")
        except FileNotFoundError:
            raise StorageError(self.uri, "there is no index here: it has no CURRENT") from None

    def write_current(self, content: bytes) -> None:
        self._called(lambda: self.files.pipe_file(self._path("CURRENT"), content))

    def names(self, kind: str) -> dict[str, float]:
        home = self._path(kind)

        def listed() -> dict[str, float]:
            self.files.invalidate_cache()
            found: dict[str, float] = {}
            complete = set()
            for path, facts in self.files.find(home, detail=True).items():
                name, _, file = path.removeprefix(home).lstrip("/").partition("/")
                found[name] = max(found.get(name, 0.0), _written(facts))
                if file == MANIFEST_CHECK:
                    complete.add(name)
            return {name if name in complete else f".{name}": at for name, at in found.items()}

        try:
            return self._called(listed)
        except FileNotFoundError:
            return {}

    def version(self, name: str) -> Path:
        home = f"versions/{name}"
        manifest, check = (self._file(f"{home}/{one}") for one in (MANIFEST, MANIFEST_CHECK))
        key = cache.key_of(self.uri, name, check.decode("utf-8", "replace"))

        def fill(directory: Path) -> None:
            (directory / MANIFEST).write_bytes(manifest)
            (directory / MANIFEST_CHECK).write_bytes(check)
            for path in self._called(lambda: self.files.find(self._path(home))):
                file = path.rpartition("/")[2]
                if file not in (MANIFEST, MANIFEST_CHECK):
                    self._fetch(f"{home}/{file}", directory / file)

        return cache.kept(key, fill)

    def segment(self, entry: Mapping[str, Any]) -> Path:
        home = f"segments/{entry['segment']}"

        def fill(directory: Path) -> None:
            found = self._called(lambda: self.files.find(self._path(home)))
            if not found:
                raise StorageError(f"{self.uri}/{home}", "it is not there")
            for path in found:
                file = path.rpartition("/")[2]
                self._fetch(f"{home}/{file}", directory / file)

        return cache.kept(self._key(entry["segment"], entry.get("manifest")), fill)

    def manifest(self, segment: str) -> Manifest:
        home = f"segments/{segment}"
        content = self._file(f"{home}/{MANIFEST}"), self._file(f"{home}/{MANIFEST_CHECK}")
        return Manifest.of(*content, f"{self.uri}/{home}/{MANIFEST}")

    def home(self, segment: str) -> str:
        return f"{self.uri}/segments/{segment}"

    def has(self, segment: str) -> bool:
        path = self._path(f"segments/{segment}/{MANIFEST_CHECK}")
        return bool(self._called(lambda: self.files.exists(path)))

    @contextmanager
    def new(self, kind: str, name: str) -> Iterator[Writing]:
        aside = cache.scratch(name)
        try:
            with new_directory(aside) as writing:
                yield writing
            last = [MANIFEST, MANIFEST_CHECK]
            first = [one.name for one in aside.iterdir() if one.name not in last]
            for file in [*first, *last]:
                exclusive = kind == "versions" and file == MANIFEST
                self._upload(aside / file, f"{kind}/{name}/{file}", exclusive=exclusive)
            if kind == "segments":
                cache.adopt(self._key(name, writing.manifest_checksum), aside)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def remove(self, kind: str, name: str) -> None:
        name = name.lstrip(".")
        home = self._path(f"{kind}/{name}")
        # the manifest first: what is half removed is no version and no segment any more
        for file in (MANIFEST_CHECK, MANIFEST):
            with suppress(FileNotFoundError):
                self._called(partial(self.files.rm_file, f"{home}/{file}"))
        with suppress(FileNotFoundError):
            self._called(lambda: self.files.rm(home, recursive=True))

    @contextmanager
    def turn(self, wait: float = 0.0) -> Iterator[None]:
        yield  # the manifest of a version is the lock

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def _key(self, segment: str, checksum: int | None) -> str:
        return cache.key_of(self.uri, segment, str(checksum))

    def _read(self, name: str) -> bytes:
        def read() -> bytes:
            found: bytes = self.files.cat_file(self._path(name))
            return found

        return self._called(read)

    def _file(self, name: str) -> bytes:
        try:
            return self._read(name)
        except FileNotFoundError:
            raise StorageError(f"{self.uri}/{name}", "it is not there") from None

    def _fetch(self, name: str, target: Path) -> None:
        self._called(lambda: self.files.get_file(self._path(name), str(target)))

    def _upload(self, source: Path, name: str, *, exclusive: bool) -> None:
        if not exclusive:
            self._called(lambda: self.files.put_file(str(source), self._path(name)))
            return
        body = source.read_bytes()
        try:
            created(self.files, self._path(name), body)
        except FileExistsError:
            if self._read(name) != body:  # else it is ours, from a try that seemed to fail
                reason = "another builder has published it meanwhile; build again"
                raise StorageError(f"{self.uri}/{name}", reason) from None
        except Exception as error:
            raise _told(self.uri, error) from error

    def _called(self, call: Callable[[], T]) -> T:
        """What the call gives; tried again where the store is busy for a moment."""
        for i in range(_TRIES):
            try:
                return call()
            except (FileNotFoundError, StorageError):
                raise
            except PermissionError as error:
                raise _told(self.uri, error) from error
            except Exception as error:
                if i + 1 == _TRIES:
                    raise _told(self.uri, error) from error
                time.sleep(_PAUSE * 2**i)
        raise AssertionError


def file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and what it calls the URI; StorageError where there is none."""
    parts = _URI.fullmatch(uri)
    scheme = uri.partition(":")[0].lower()
    if parts is None or scheme not in _SERVED_BY or (parts[2] == "/" and scheme != "dbfs"):
        told = f"{scheme}: is not a file system that is served"
        reason = f"{told}; there are {', '.join(_SERVED_BY)}, each with two slashes, and paths"
        raise StorageError(uri, reason)
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        reason = f"{scheme}: needs fsspec and what it has for that: pip install 'remuda[s3]'"
        raise StorageError(uri, reason) from None
    try:
        if scheme == "dbfs":
            files, root = _mounted(uri, "/" + parts[3].strip("/"))
        else:
            files, root = url_to_fs(uri, use_listings_cache=False)
    except StorageError:
        raise
    except (ImportError, ValueError) as error:
        reason = (
            f"{scheme}: cannot be served here: {_brief(error)}; pip install {_SERVED_BY[scheme]}"
        )
        raise StorageError(uri, reason) from None
    except Exception as error:
        raise _told(uri, error) from error
    return files, root.rstrip("/")


def _mounted(uri: str, path: str) -> tuple[Any, str]:
    """Databricks' own store, on every machine there: a mount without locks or mapping."""
    from fsspec.implementations.local import LocalFileSystem

    root = Path(path if path.startswith("/Volumes/") else f"/dbfs{path}")
    mount = Path(*root.parts[:2])
    if not mount.is_dir():
        raise StorageError(uri, f"dbfs: is mounted at {mount} on Databricks, and not here")
    return LocalFileSystem(auto_mkdir=True), str(root)


def created(files: Any, path: str, body: bytes) -> None:
    """Create a file; FileExistsError where there is one, as far as the file system can tell."""
    try:
        files.pipe_file(path, body, mode="create")
    except (NotImplementedError, TypeError, ValueError) as error:
        if files.exists(path):
            raise FileExistsError(path) from None
        _log.warning("%s: this store cannot keep two builders apart (%s)", path, error)
        files.pipe_file(path, body)


def _written(facts: Mapping[str, Any]) -> float:
    """When a file was written, as the file system says it; now where it does not."""
    for name in ("LastModified", "last_modified", "updated", "mtime", "created"):
        found = facts.get(name)
        if isinstance(found, str):
            with suppress(ValueError):
                found = datetime.fromisoformat(found)
        if isinstance(found, datetime):
            return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
        if isinstance(found, int | float):
            return float(found)
    return time.time()


def _told(uri: str, error: Exception) -> StorageError:
    return StorageError(uri, f"the store fails: {_brief(error)}")


def _brief(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:_LONGEST]
