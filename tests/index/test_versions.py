"""Versions on disk: taken over, pruned, locked, and opened in part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from remuda.errors import StorageError
from remuda.index.index import Index, load
from remuda.index.locking import Lock
from remuda.index.storage import prune, read_version
from remuda.language.criterion import Criterion
from remuda.language.python import attr


def criterion(i: int) -> Criterion:
    return Criterion(f"c{i}", attr("a") >= i)


def test_a_reader_takes_over_what_a_writer_published(tmp_path: Path) -> None:
    writer = Index.build(map(criterion, range(3)))
    writer.save(tmp_path)
    reader = load(tmp_path)
    segment = reader._state.parts[0].segment
    assert not reader.refresh()
    writer.add(criterion(3))
    writer.save(tmp_path)
    assert reader.match({"a": 9}) == ["c0", "c1", "c2"]
    assert reader.refresh()
    assert reader.version == "v000002"
    assert reader.match({"a": 9}) == ["c0", "c1", "c2", "c3"]
    assert reader._state.parts[0].segment is segment, "what did not change is not opened again"


def test_a_reader_with_changes_of_its_own_does_not_lose_them(tmp_path: Path) -> None:
    Index.build([criterion(0)]).save(tmp_path)
    reader = load(tmp_path)
    reader.add(criterion(1))
    with pytest.raises(StorageError, match="not saved"):
        reader.refresh()
    with pytest.raises(StorageError, match="neither loaded nor saved"):
        Index().refresh()


def test_pruning_keeps_what_is_needed(tmp_path: Path) -> None:
    index = Index.build(map(criterion, range(3)))
    for i in range(3, 6):
        index.save(tmp_path)
        index.add(criterion(i))
    index.merge()
    index.save(tmp_path)
    assert prune(tmp_path, keep=2) == ["v000001", "v000002"]
    assert load(tmp_path, version="v000003").match({"a": 9}) == [f"c{i}" for i in range(5)]
    assert prune(tmp_path, keep=1) == ["v000003"]
    assert len(list((tmp_path / "segments").iterdir())) == 1
    assert load(tmp_path).match({"a": 9}) == [f"c{i}" for i in range(6)]


def test_some_of_the_segments(tmp_path: Path) -> None:
    index = Index.build(map(criterion, range(3)))
    index.save(tmp_path)
    index.add(map(criterion, range(3, 5)))
    index.save(tmp_path)
    version = read_version(tmp_path)
    assert [one["criteria"] for one in version.segments] == [3, 2]
    assert version.nbytes > 0
    last = load(tmp_path, segments=[version.segments[1]["segment"]])
    assert last.match({"a": 9}) == ["c3", "c4"]


def test_two_writers_at_once_are_refused_and_a_dead_one_is_not_waited_for(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from remuda.index.locking import Lock\n"
        "lock = Lock(pathlib.Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(StorageError, match=f"process {child.pid}"):
            Lock(tmp_path)
        child.kill()
    with Lock(tmp_path):
        pass
