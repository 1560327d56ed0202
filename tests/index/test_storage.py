"""Saved indexes: versions, increments, damage."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import remuda as rm
from remuda.cli import outputs
from remuda.cli.files import read_criteria
from remuda.errors import StorageError
from remuda.index import directory, files


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


def test_no_flipped_bit_in_CURRENT_serves_another_version(index: rm.Index, tmp_path: Path) -> None:  # noqa: N802
    for i in range(3):
        index.add(rules(1, 50 + i)[0])
        index.save(tmp_path)
    file = tmp_path / "CURRENT"
    good = file.read_bytes()
    for at in range(8 * len(good)):
        bad = bytearray(good)
        bad[at // 8] ^= 1 << at % 8
        file.write_bytes(bad)
        with pytest.raises(StorageError) as caught:
            rm.load(tmp_path)
        assert caught.value.path == str(file)
    for end in range(len(good)):
        file.write_bytes(good[:end])
        with pytest.raises(StorageError):
            rm.load(tmp_path)


def test_an_open_index_holds_no_descriptor(tmp_path: Path) -> None:
    n = len(list(Path("/dev/fd").iterdir()))
    big = rm.Index.build(rules(3000))
    big.save(tmp_path)
    big.remove("r3")
    big.save(tmp_path)
    opened = [rm.load(tmp_path) for _ in range(50)]
    assert len(list(Path("/dev/fd").iterdir())) == n
    assert all(one.match({"a": 9, "b": "x"}) == big.match({"a": 9, "b": "x"}) for one in opened)


def test_new_directories_have_durable_names(index: rm.Index, tmp_path: Path, monkeypatch) -> None:
    synced = []
    monkeypatch.setattr(files, "sync", synced.append)
    home = tmp_path / "a" / "b" / "index"
    index.save(home)
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b"} <= set(synced)
    assert {home, home / "versions", home / "segments"} <= set(synced)


SCHEMES = ["s3://bucket/x", "gs://b/x", "abfss://c@a/x", "hdfs://n/x", "dbfs:/x", Path("s3://b/x")]
DOORS = {
    "command line, output": lambda path: outputs.write_lines(str(path), [1]),
    "command line, input": lambda path: list(read_criteria([str(path)])),
}


@pytest.mark.parametrize("path", SCHEMES, ids=str)
@pytest.mark.parametrize("door", DOORS)
def test_a_path_with_a_scheme_is_refused(door: str, path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=f"{str(path).partition(':')[0]}: is not a file system"):
        DOORS[door](path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "{}"])
def test_a_file_uri_is_a_path(index: rm.Index, tmp_path: Path, form: str) -> None:
    index.save(form.format(tmp_path / "index"))
    assert len(rm.load(form.format(tmp_path / "index"))) == len(index)


@pytest.mark.parametrize("path", ["file://host/x", "file:x/y", "FILE:////x"])
def test_other_file_uris_are_refused_or_relative(path: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError):
        rm.load(path)


def test_terms_that_are_written_alike_keep_their_own_spaces(tmp_path: Path) -> None:
    asked = rm.attr("a") > 1
    heavy, denied = asked.weight(3), rm.Not(rm.Not(asked))
    criteria = [
        rm.Criterion("plain", rm.when(asked, 1).otherwise(2) == 1),
        rm.Criterion("heavy", rm.when(heavy, 1).otherwise(2).isin(1, 2, 3, 4)),
        rm.Criterion("denied", rm.when(denied, 1).otherwise(2).between(2, 9)),
    ]
    rm.Index.build(criteria).save(tmp_path)
    index = rm.load(tmp_path)
    for event in ({"a": 2}, {"a": 0}, {}):
        assert index.match(event) == [one.id for one in criteria if one.holds(event)]


def test_tables_of_texts_are_stored_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, low = rm.attr("a"), rm.fn.lower(rm.attr("a"))
    criteria = [
        rm.Criterion("contains", a.contains("evil")),
        rm.Criterion("pattern", a.finds("e[vw]il.?$") | a.matches("(?i)x+y")),
        rm.Criterion("lower", low.suffix("ÉVIL") | low.like("%ev_l%")),
        rm.Criterion("equal", a.isin("x", "Evil") | a.prefix("y")),
    ]
    events = [{"a": one} for one in ("evil", "so ewil!", "XXy", "deVel", "x", "yes", "éVIL", "")]
    rm.Index.build(criteria).save(tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError("a table was made anew")

    monkeypatch.setattr("remuda.encoding.texts.table_of", refuse)
    index = rm.load(tmp_path)
    for event in events:
        assert index.match(event) == [one.id for one in criteria if one.holds(event)]
    many = index.match_many(pa.Table.from_pylist(events))
    assert [many.ids(i) for i in range(len(events))] == [index.match(event) for event in events]
