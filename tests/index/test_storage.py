"""Saved indexes: versions, increments, damage."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import remuda as rm
from remuda.errors import StorageError
from remuda.index import directory


def rules(n: int, start: int = 0) -> list[rm.Criterion]:
    return [
        rm.Criterion(f"r{i}", rm.attr("a").between(i, i + 5) & rm.attr("b").isin("x", f"v{i}"))
        for i in range(start, start + n)
    ]


@pytest.fixture
def index() -> rm.Index:
    return rm.Index.build(rules(20), matcher="scan")


def test_a_loaded_index_answers_as_the_saved_one(index: rm.Index, tmp_path: Path) -> None:
    index.save(tmp_path)
    loaded = rm.load(tmp_path)
    events = [{"a": i, "b": "x"} for i in range(30)]
    assert [loaded.match(one) for one in events] == [index.match(one) for one in events]
    assert loaded.explain({"a": 3}, "r3").to_dict() == index.explain({"a": 3}, "r3").to_dict()
    assert loaded["r7"].to_json() == index["r7"].to_json()


@pytest.mark.parametrize("last", ["\ud7ff", "\ue000", "\U0010ffff", "\U0000ffff"])
def test_prefixes_next_to_what_no_file_has(last: str, tmp_path: Path) -> None:
    index = rm.Index.build([rm.Criterion("p", rm.attr("a").prefix(f"x{last}"))])
    index.save(tmp_path)
    for text in (f"x{last}", f"x{last}z", "x", "x\ud800", "x\ud7fe", "x\ue000", "y"):
        expected = ["p"] if text.startswith(f"x{last}") else []
        assert index.match({"a": text}) == rm.load(tmp_path).match({"a": text}) == expected


def test_an_increment_writes_only_what_is_new(index: rm.Index, tmp_path: Path) -> None:
    index.save(tmp_path)
    before = {one.name for one in (tmp_path / "segments").iterdir()}
    index.add(rules(1, 50)[0])
    index.remove("r3")
    index.save(tmp_path)
    after = {one.name for one in (tmp_path / "segments").iterdir()}
    assert before < after
    assert len(after) == len(before) + 1
    loaded = rm.load(tmp_path)
    assert "r50" in loaded
    assert "r3" not in loaded


def test_older_versions_still_open(index: rm.Index, tmp_path: Path) -> None:
    first = index.save(tmp_path)
    index.remove("r3")
    index.save(tmp_path)
    assert "r3" in rm.load(tmp_path, version=first)


@pytest.mark.parametrize("what", ["plan.bin", "ids.arrow", "criteria.arrow", "words.json"])
@pytest.mark.parametrize("how", ["flipped", "torn", "gone"])
def test_damage_is_named(index: rm.Index, tmp_path: Path, what: str, how: str) -> None:
    index.save(tmp_path)
    (path,) = tmp_path.glob(f"segments/*/{what}")
    data = bytearray(path.read_bytes())
    if how == "flipped":
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
    elif how == "torn":
        path.write_bytes(bytes(data[:-7]))
    else:
        path.unlink()
    with pytest.raises(StorageError) as caught:
        rm.load(tmp_path)
    assert caught.value.path == str(path)


def test_a_damaged_manifest_is_named(index: rm.Index, tmp_path: Path) -> None:
    version = index.save(tmp_path)
    path = tmp_path / "versions" / version / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"scan"', b'"sift"'))
    with pytest.raises(StorageError, match="checksum"):
        rm.load(tmp_path)


def test_a_newer_format_is_refused(index: rm.Index, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(directory, "FORMAT", 99)
    index.save(tmp_path)
    monkeypatch.undo()
    with pytest.raises(StorageError, match="format 99"):
        rm.load(tmp_path)


def test_where_there_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no index here"):
        rm.load(tmp_path / "nowhere")


def test_nothing_is_left_behind_when_writing_fails(index, tmp_path, monkeypatch) -> None:
    index.save(tmp_path)

    def no_space(*_):
        raise OSError(28, "No space left on device")

    index.add(rules(1, 50)[0])
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(StorageError, match="No space left"):
        index.save(tmp_path)
    monkeypatch.undo()
    assert not list(tmp_path.glob("**/.*"))
    assert "r50" not in rm.load(tmp_path)
    assert "r50" in index
