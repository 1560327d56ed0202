"""Indexes at URIs: published so that readers see whole versions, copied once to each machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

import remuda as rm
from remuda.cli import building
from remuda.errors import StorageError
from remuda.index import cache, storage
from remuda.index.remote import Remote
from remuda.index.remote_files import RemoteFiles
from remuda.index.stores import SEGMENTS, VERSIONS, Store, store_of
from remuda.language.criterion import Criterion
from remuda.language.text import parse

outside = pytest.mark.outside


def rules(*numbers: int) -> list[Criterion]:
    return [Criterion(f"r{i}", parse(f"a >= {i}")) for i in numbers]


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["memory", "mount", pytest.param("s3", marks=outside)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "s3":
        yield store_of(request.getfixturevalue("bucket") + "/ads")
    elif request.param == "mount":
        files = LocalFileSystem(auto_mkdir=True)
        yield Remote(RemoteFiles("dbfs:/ads", files, str(tmp_path / "mount")))
    else:
        files = MemoryFileSystem()
        yield Remote(RemoteFiles("memory://ads", files, "/ads"))
        files.store.clear()


def test_what_is_saved_is_loaded_and_follows(store: Any) -> None:
    index = rm.Index.build(rules(1, 2))
    assert index.save(store) == "v000001"
    opened = rm.load(store)
    assert opened.match({"a": 1}) == ["r1"]
    index.add(rules(0))
    index.remove("r1")
    assert index.save(store) == "v000002"
    assert (opened.refresh(), opened.match({"a": 1})) == (True, ["r0"])
    assert rm.load(store, version="v000001").match({"a": 1}) == ["r1"]
    assert not rm.load(store).refresh()


def test_versions_share_segments_and_a_machine_fetches_each_once(
    store: Any, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = rm.Index.build(rules(1, 2))
    index.save(store)
    index.add(rules(3))
    index.save(store)
    assert len(store.names(SEGMENTS)) == 2
    fetched: list[str] = []
    fetch = RemoteFiles.fetch
    monkeypatch.setattr(
        RemoteFiles, "fetch", lambda self, name, to: (fetched.append(name), fetch(self, name, to))
    )
    rm.load(store)
    assert not fetched, "what was written here is there already"
    monkeypatch.setenv(cache.CACHE, str(cached.with_name("elsewhere")))
    assert rm.load(store, version="v000001").match({"a": 9}) == ["r1", "r2"]
    first, fetched[:] = set(fetched), []
    assert rm.load(store).match({"a": 9}) == ["r1", "r2", "r3"]
    assert fetched
    assert not first & set(fetched)
    fetched.clear()
    rm.load(store)
    assert not fetched


def test_of_two_builders_one_is_told(store: Any) -> None:
    rm.Index.build(rules(1)).save(store)
    late = storage.next_version(store)
    rm.Index.build(rules(1, 2)).save(store)
    with pytest.raises(StorageError, match="another builder has published it meanwhile"):
        storage.publish(store, late, [], {"matcher": "auto", "scalars": []}, 0)
    assert rm.load(store).match({"a": 9}) == ["r1", "r2"]


def test_current_never_goes_back(store: Any) -> None:
    for numbers in ((1,), (1, 2), (1, 2, 3)):
        rm.Index.build(rules(*numbers)).save(store)
    store.remove(VERSIONS, "v000002")
    segment = next(iter(storage.read_version(store, "v000001").segments))["segment"]
    facts = {"matcher": "auto", "scalars": []}
    storage.publish(store, "v000002", [storage.Entry(segment)], facts, 1)
    assert storage.current_version(store) == "v000003"


@pytest.mark.parametrize("n_uploads", range(14))
def test_a_build_that_dies_leaves_the_version_before(
    store: Any, n_uploads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = rm.Index.build(rules(1, 2))
    index.save(store)
    left = [n_uploads]
    publish = Remote._publish

    def fails(self: Remote, *arguments: Any, **named: Any) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        publish(self, *arguments, **named)

    index.add(rules(3))
    index.remove("r1")
    with monkeypatch.context() as patch:
        patch.setattr(Remote, "_publish", fails)
        try:
            index.save(store)
        except KeyboardInterrupt:
            assert rm.load(store).version == "v000001"
            assert rm.load(store).match({"a": 9}) == ["r1", "r2"]
    rm.Index.build(rules(4)).save(store)
    assert rm.load(store).match({"a": 9}) == ["r4"]
    storage.swept(store, 0.0)
    named = {
        entry["segment"]
        for version in store.names(VERSIONS)
        for entry in storage.read_version(store, version).segments
    }
    assert set(store.names(SEGMENTS)) == named


def test_pruning_leaves_what_another_builder_may_be_at(store: Any) -> None:
    for i in range(5):
        rm.Index.build(rules(i)).save(store)
    assert storage.prune(store) == ["v000001", "v000002"]
    assert (len(store.names(VERSIONS)), len(store.names(SEGMENTS))) == (3, 5)
    assert storage.prune(replace(store, grace=0.0)) == []
    assert len(store.names(SEGMENTS)) == 3
    assert rm.load(store, version="v000003").match({"a": 9}) == ["r2"]


def test_no_index(store: Any) -> None:
    with pytest.raises(StorageError, match="there is no index here"):
        rm.load(store)


def test_a_version_or_segment_that_is_gone_is_named(store: Any) -> None:
    rm.Index.build(rules(1)).save(store)
    with pytest.raises(StorageError, match=r"versions/v000009/manifest\.json: it is not there"):
        rm.load(store, version="v000009")


def test_a_store_that_fails_says_so(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rm.Index.build(rules(1)).save(store)
    monkeypatch.setattr("remuda.index.remote_files._PAUSE", 0.0)

    def refuses(*_: Any, **__: Any) -> None:
        raise OSError("503, slow down")

    monkeypatch.setattr(store.files.system, "cat_file", refuses)
    with pytest.raises(StorageError, match="the store fails: 503, slow down"):
        rm.load(store)


def test_a_store_that_is_busy_for_a_moment(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rm.Index.build(rules(1)).save(store)
    monkeypatch.setattr("remuda.index.remote_files._PAUSE", 0.0)
    read, failures = store.files.system.cat_file, [OSError("503"), TimeoutError()]

    def often(*arguments: Any, **named: Any) -> Any:
        if failures:
            raise failures.pop()
        return read(*arguments, **named)

    monkeypatch.setattr(store.files.system, "cat_file", often)
    assert rm.load(store).match({"a": 1}) == ["r1"]


def filled(size: int) -> Any:
    return lambda directory: (directory / "file").write_bytes(b"x" * size) and None


def test_copies_go_out_by_their_last_use(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_FRESH", -1.0)
    monkeypatch.setenv(cache.CACHE_BYTES, "250")
    for key in ("a", "b", "a", "c"):
        cache.kept(key, filled(100))
        time.sleep(0.02)
    assert {one.name for one in cached.iterdir() if not one.name.endswith(".lock")} == {"a", "c"}


def test_a_copy_that_was_used_just_now_stays(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.CACHE_BYTES, "1")
    for key in ("a", "b"):
        cache.kept(key, filled(100))
    assert {"a", "b"} <= {one.name for one in cached.iterdir()}


def test_half_a_copy_is_none(cached: Path) -> None:
    def breaks(directory: Path) -> None:
        (directory / "file").write_bytes(b"half")
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        cache.kept("a", breaks)
    assert (cache.kept("a", filled(3)) / "file").read_bytes() == b"xxx"


REFUSED = {
    "nil://bucket/x": "nil: is not a file system that is served",
    "http://host/x": "http: is not a file system that is served",
    "s3:/bucket/x": "each with two slashes",
    "gs://bucket/x": "gs: cannot be served here: .*gcsfs",
    "abfss://c@a.dfs.core.windows.net/x": "abfss: cannot be served here: .*adlfs",
    "dbfs:/x": "dbfs: is mounted at /dbfs on Databricks, and not here",
}
DOORS = {
    "save": lambda path: rm.Index.build(rules(1)).save(path),
    "load": rm.load,
    "command line": lambda path: building._built(
        building.Plan([], str(path)), {"matcher": "auto"}, rules(1)
    ),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("uri", REFUSED)
def test_a_scheme_that_is_not_served_is_named(
    uri: str, door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=REFUSED[uri]):
        DOORS[door](uri)
    assert not list(tmp_path.iterdir())


def test_a_path_is_no_uri() -> None:
    with pytest.raises(StorageError, match="each with two slashes"):
        rm.load(Path("s3://bucket/x"))
