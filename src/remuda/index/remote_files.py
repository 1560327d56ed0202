"""Files at URIs, through fsspec: object stores, HDFS, and mounts that are no more than those."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from remuda.errors import StorageError

T = TypeVar("T")

_SERVED_BY = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "adlfs"),
    **dict.fromkeys(("hdfs", "dbfs"), "fsspec"),
}
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//?)(?!/)(.+)", re.DOTALL)
_LONGEST = 300  # characters of what a store says
_TRIES = 4  # of a call that fails for a reason of the moment
_PAUSE = 0.2  # seconds before the second try; twice as long before each next
_log = logging.getLogger("remuda.index")


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """The files beneath a URI, by their names there.

    FileNotFoundError where there is none, StorageError for all else that fails.
    """

    uri: str
    system: Any  # fsspec has no types of its own
    root: str  # what the file system calls the URI

    @classmethod
    def at(cls, uri: str) -> RemoteFiles:
        """The files at a URI; StorageError where its scheme is not served."""
        return cls(uri.rstrip("/"), *file_system(uri))

    def exists(self, name: str) -> bool:
        return self._called(lambda: bool(self.system.exists(self._path(name))))

    def read(self, name: str) -> bytes:
        return self._called(lambda: bytes(self.system.cat_file(self._path(name))))

    def write(self, name: str, body: bytes) -> None:
        self._called(lambda: self.system.pipe_file(self._path(name), body))

    def create(self, name: str, body: bytes) -> bool:
        """Write the file where there is none; whether it is ours now."""
        try:
            _created(self.system, self._path(name), body)
        except FileExistsError:
            return self.read(name) == body  # from a try that seemed to fail
        except Exception as error:
            raise _told(self.uri, error) from error
        return True

    def fetch(self, name: str, target: Path) -> None:
        self._called(lambda: self.system.get_file(self._path(name), str(target)))

    def upload(self, source: Path, name: str) -> None:
        self._called(lambda: self.system.put_file(str(source), self._path(name)))

    def beneath(self, folder: str) -> dict[str, float]:
        """The files of a folder and of those in it, by their names there; when each was written."""
        home = self._path(folder)

        def listed() -> dict[str, float]:
            self.system.invalidate_cache()
            found = self.system.find(home, detail=True)
            return {
                path.removeprefix(home).lstrip("/"): _written(one) for path, one in found.items()
            }

        try:
            return self._called(listed)
        except FileNotFoundError:
            return {}

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            self._called(lambda: self.system.rm_file(self._path(name)))

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"

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


def _created(files: Any, path: str, body: bytes) -> None:
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
        moment = facts.get(name)
        if isinstance(moment, str):
            with suppress(ValueError):
                moment = datetime.fromisoformat(moment)
        if isinstance(moment, datetime):
            return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        if isinstance(moment, int | float):
            return float(moment)
    return time.time()


def _told(uri: str, error: Exception) -> StorageError:
    return StorageError(uri, f"the store fails: {_brief(error)}")


def _brief(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:_LONGEST]
