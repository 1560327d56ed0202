"""A reader that follows has all that the writer has acknowledged, whatever happens meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from crash_child import Model, changed, drawn, make

import remuda as rm
from remuda.engine import log
from remuda.errors import StorageError


def follows(reader: rm.Engine, writer: rm.Engine) -> None:
    position = writer.position  # a checkpoint in the background may move it on
    reader.follow()
    assert reader.position >= position > 0
    assert reader.names() == writer.names()
    for name in writer.names():
        assert reader.export(name) == writer.export(name)
        for event in ({"a": 7}, {"b": 500}, {"a": [1, 40], "b": 7}):
            assert reader.search(name, event) == writer.scan(name, event)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("eager", [True, False], ids=["at once", "now and then"])
def test_what_was_changed_is_followed(tmp_path: Path, seed: int, eager: bool) -> None:
    rng, model, fresh = random.Random(f"{seed} {eager}"), Model(), 0
    with rm.Engine(tmp_path, matcher="scan", log_limit=20_000) as writer:
        reader = rm.Engine(tmp_path, matcher="scan", read_only=True)
        for _ in range(60):
            change = drawn(rng, model, 0, fresh)
            fresh = max(fresh, change.get("last", 0))
            make(writer, model, change)
            model = changed(model, change)
            if eager or rng.random() < 0.1:
                follows(reader, writer)
        follows(reader, writer)


def test_it_follows_from_one_writer_to_the_next(tmp_path: Path) -> None:
    with rm.Engine(tmp_path, matcher="scan") as writer:
        writer.add("ads", rm.Criterion("a", rm.parse("x = 1")))
        reader = rm.Engine(tmp_path, read_only=True)
        assert reader.names() == []
        follows(reader, writer)
    with rm.Engine(tmp_path, matcher="scan") as writer:
        writer.add("ads", rm.Criterion("b", rm.parse("x = 1")))
        follows(reader, writer)
        assert not reader.follow()
        assert reader.search("ads", {"x": 1}) == ["a", "b"]


def test_half_a_record_is_waited_for(tmp_path: Path) -> None:
    with rm.Engine(tmp_path, matcher="scan") as writer:
        writer.add("ads", rm.Criterion("a", rm.parse("x = 1")))
        reader = rm.Engine(tmp_path, read_only=True)
        reader.follow()
        (path,) = (tmp_path / "log").glob("*.log")
        n = path.stat().st_size
        writer.add("ads", rm.Criterion("b", rm.parse("x = 1")))
        whole = path.read_bytes()
        for cut in (n + 1, n + 20, n + 40, len(whole) - 1):
            path.write_bytes(whole[:cut])
            assert not reader.follow()
            assert reader.search("ads", {"x": 1}) == ["a"]
        path.write_bytes(whole)
        assert reader.follow()
        assert reader.search("ads", {"x": 1}) == ["a", "b"]


def test_who_comes_late_begins_at_the_checkpoint(tmp_path: Path) -> None:
    with rm.Engine(tmp_path, matcher="scan") as writer:
        writer.add("ads", rm.Criterion("a", rm.parse("x = 1")))
        reader = rm.Engine(tmp_path, read_only=True)
        reader.follow()
        for i in range(3):
            writer.add("ads", rm.Criterion(f"b{i}", rm.parse("x = 1")))
            writer.checkpoint()
        with pytest.raises(LookupError):
            log.tail(tmp_path / "log", 1, lambda *_: None)
        follows(reader, writer)


def test_only_readers_follow(tmp_path: Path) -> None:
    with rm.Engine(tmp_path) as writer, pytest.raises(StorageError, match="read_only"):
        writer.follow()
    with pytest.raises(StorageError, match="read_only"):
        rm.Engine().follow()
