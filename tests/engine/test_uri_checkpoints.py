"""Engines whose checkpoints are at a URI: read from anywhere, gone on with from anywhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from remuda.engine import home
from remuda.engine.engine import Engine
from remuda.errors import StorageError
from remuda.index import remote_files
from remuda.index.cache import CACHE
from remuda.index.remote_files import RemoteFiles
from remuda.language.criterion import Criterion
from remuda.language.text import parse


def rule(i: int) -> Criterion:
    return Criterion(f"r{i}", parse(f"a >= {i}"))


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.outside)])
def uri(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    if request.param == "s3":
        yield request.getfixturevalue("bucket") + "/engine"
        return
    system = MemoryFileSystem()
    served = remote_files.file_system
    monkeypatch.setattr(
        remote_files,
        "file_system",
        lambda uri: (
            (system, "/engine" + uri.partition("engine")[2]) if "://m" in uri else served(uri)
        ),
    )
    yield "s3://m/engine"
    system.store.clear()


def opened(path: Path, uri: str | None = None, **how: bool) -> Engine:
    return Engine(path, checkpoints=uri, **how)


def test_what_was_acknowledged_is_there_again(uri: str, tmp_path: Path) -> None:
    with opened(tmp_path / "own", uri) as engine:
        engine.add("ads", [rule(1), rule(2)])
        engine.checkpoint()
        engine.add("ads", rule(3))
        engine.add("other", rule(4))
        engine._store.close()  # as if it had been killed: nothing more is saved
        engine._store = None
    with opened(tmp_path / "own") as again:  # which knows where its checkpoints are
        assert again.search("ads", {"a": 9}) == ["r1", "r2", "r3"]
        assert again.search("other", {"a": 9}) == ["r4"]
    assert not (tmp_path / "own" / "indexes").exists()
    assert not (tmp_path / "own" / "NAMES").exists()


def test_readers_open_the_uri_and_follow(uri: str, tmp_path: Path) -> None:
    engine = opened(tmp_path / "own", uri)
    engine.add("ads", rule(1))
    engine.checkpoint()
    reader = Engine(uri, read_only=True)
    beside = Engine(tmp_path / "own", read_only=True)
    engine.add("ads", rule(2))
    assert not reader.refresh(), "it is only in the log"
    engine.close()
    for one in (reader, beside):
        assert one.refresh()
        assert one.search("ads", {"a": 9}) == ["r1", "r2"]
        assert one.set_aside() == []
    with pytest.raises(StorageError, match=r"read_only: nothing can change") as refused:
        reader.add("ads", rule(3))
    assert refused.value.path == uri


def test_what_is_dropped_goes(uri: str, tmp_path: Path) -> None:
    with opened(tmp_path / "own", uri) as engine:
        engine.add("ads", rule(1))
        engine.add("more", rule(2))
        engine.checkpoint()
        assert len({one.split("/")[0] for one in RemoteFiles.at(uri).beneath("indexes")}) == 2
        engine.drop("more")
    assert {one.split("/")[0] for one in RemoteFiles.at(uri).beneath("indexes")} == {"000001"}
    assert Engine(uri, read_only=True).names() == ["ads"]


def test_another_machine_goes_on_and_the_first_is_told(uri: str, tmp_path: Path, caplog) -> None:
    first = opened(tmp_path / "own", uri)
    first.add("ads", rule(1))
    first.checkpoint()
    first.add("ads", rule(2))  # in a log that the other machine has not
    with opened(tmp_path / "elsewhere", uri) as second:
        assert "without a log" in caplog.text
        assert second.search("ads", {"a": 9}) == ["r1"]
        second.add("ads", rule(3))
    with pytest.raises(StorageError, match="another engine has published here since"):
        first.close()
    with pytest.raises(StorageError, match="another engine has published here since"):
        opened(tmp_path / "own")
    with opened(tmp_path / "elsewhere") as second:
        assert second.search("ads", {"a": 9}) == ["r1", "r3"]
    shutil.rmtree(tmp_path / "own")
    with opened(tmp_path / "own", uri) as third:
        assert third.search("ads", {"a": 9}) == ["r1", "r3"]


def test_a_store_that_fails_loses_nothing(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise StorageError(uri, "the store fails: 503")

    engine = opened(tmp_path / "own", uri)
    engine.add("ads", rule(1))
    for method in ("write", "upload"):
        with monkeypatch.context() as patch:
            patch.setattr(RemoteFiles, method, refuses)
            with pytest.raises(StorageError, match="503"):
                engine.checkpoint()
    engine.add("ads", rule(2))
    engine.close()
    assert Engine(uri, read_only=True).search("ads", {"a": 9}) == ["r1", "r2"]


REFUSED = {
    "an engine at a URI": (lambda path, uri: Engine(uri), "the log is in a directory"),
    "checkpoints in a directory": (lambda path, uri: Engine(path, checkpoints=path), "or at a URI"),
    "a directory that has its own": (
        lambda path, uri: (Engine(path).close(), Engine(path, checkpoints=uri)),
        "its checkpoints are at .*own, not at",
    ),
    "checkpoints elsewhere": (
        lambda path, uri: (
            Engine(path, checkpoints=uri).close(),
            Engine(path, checkpoints=f"{uri}/2"),
        ),
        "its checkpoints are at s3://.*engine, not at s3://.*engine/2",
    ),
    "nothing there": (lambda path, uri: Engine(uri, read_only=True), "there is no engine here"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(uri: str, case: str, tmp_path: Path) -> None:
    call, reason = REFUSED[case]
    with pytest.raises(StorageError, match=reason):
        call(tmp_path / "own", uri)


SCHEMES = ["s3:/bucket/x", "nil://x/y", "http://host/x", Path("s3://b/x")]
DOORS = {
    "reader": lambda path: Engine(path, read_only=True),
    "writer": lambda path: Engine("own", checkpoints=path),
}


@pytest.mark.parametrize("uri", SCHEMES, ids=str)
@pytest.mark.parametrize("door", DOORS)
def test_a_scheme_that_is_not_served_is_named(
    door: str, uri: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=r"\w+: is not a file system that is served"):
        DOORS[door](uri)
    assert not list(tmp_path.glob("own/[!L]*"))  # but for the lock


def test_an_engine_in_memory_has_none() -> None:
    with pytest.raises(ValueError, match="give a path"):
        Engine(checkpoints="s3://bucket/engine")


def test_a_crash_while_beginning_is_begun_again(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "own", uri) as engine:
        engine.add("ads", rule(1))
    with monkeypatch.context() as patch:
        patch.setattr(home, "write_checked", None)
        with pytest.raises(TypeError):
            opened(tmp_path / "elsewhere", uri)
    with opened(tmp_path / "elsewhere", uri) as engine:
        assert engine.search("ads", {"a": 9}) == ["r1"]


def test_a_reader_of_the_directory_follows_the_log(uri: str, tmp_path: Path) -> None:
    engine = opened(tmp_path / "own", uri)
    engine.add("ads", rule(1))
    reader = Engine(tmp_path / "own", read_only=True)
    assert reader.follow()
    assert reader.search("ads", {"a": 9}) == ["r1"]
    engine.checkpoint()
    engine.add("ads", rule(2))
    assert reader.follow()
    assert reader.search("ads", {"a": 9}) == ["r1", "r2"]
    with pytest.raises(StorageError, match="a log to follow"):
        Engine(uri, read_only=True).follow()
    engine.close()
