"""Engines: what their methods do, and what is left after failures of every kind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import remuda as rm
from remuda.engine import checkpoints as checkpoints_module
from remuda.engine import engine as module
from remuda.engine import log as log_module
from remuda.engine.engine import Engine
from remuda.errors import (
    CriterionNotFound,
    DuplicateCriterion,
    IndexExists,
    IndexNotFound,
    InvalidCriterion,
    NoMustangEquivalent,
    StorageError,
)
from remuda.index.index import Index

EVENT = {"a": 5, "b": "x"}


def rule(i: int, **more) -> rm.Criterion:
    expression = rm.attr("a").between(i, i + 5) & rm.attr("b").isin("x", f"v{i}")
    return rm.Criterion(f"r{i}", expression, **more)


def rules(*numbers: int) -> list[rm.Criterion]:
    return [rule(i) for i in numbers]


def opened(path: Path | None, **more) -> Engine:
    return Engine(path, matcher="scan", **more)


def ids(engine: Engine, name: str) -> list[str]:
    return [one["id"] for one in json.loads(engine.export(name))]


def contents(engine: Engine) -> dict[str, str]:
    return {name: engine.export(name) for name in engine.names()}


@pytest.fixture(params=["in memory", "in a directory"])
def engine(request, tmp_path: Path) -> Iterator[Engine]:
    path = None if request.param == "in memory" else tmp_path / "not" / "there"
    with opened(path) as made:
        yield made


def test_an_index_is_made_by_its_first_criterion(engine: Engine) -> None:
    assert len(engine) == 0
    assert "ads" not in engine
    engine.add("ads", rule(1))
    engine.update("rates", rules(2, 3))
    engine.add("none", [])
    assert engine.names() == list(engine) == ["ads", "none", "rates"]
    assert "ads" in engine
    assert engine.search("rates", EVENT) == engine.scan("rates", EVENT) == ["r2", "r3"]
    assert engine.search("none", EVENT) == []


def test_an_id_is_added_once(engine: Engine) -> None:
    engine.add("ads", rules(1, 2))
    with pytest.raises(DuplicateCriterion, match="r2"):
        engine.add("ads", rule(2))
    for several in (rules(3, 4, 1, 5), rules(3, 4, 3)):
        with pytest.raises(DuplicateCriterion):
            engine.add("ads", several)
    with pytest.raises(DuplicateCriterion):
        engine.add("new", rules(1, 1))
    assert ids(engine, "ads") == ["r1", "r2"]
    assert "new" not in engine


def test_an_update_keeps_the_place(engine: Engine) -> None:
    engine.add("ads", rules(1, 2, 3))
    engine.update("ads", [rm.Criterion("r2", rm.parse("a = 7")), rule(4)])
    assert ids(engine, "ads") == ["r1", "r2", "r3", "r4"]
    assert engine.search("ads", {"a": 7}) == ["r2"]


def test_a_delete_is_all_or_nothing(engine: Engine) -> None:
    engine.add("ads", rules(1, 2, 3))
    with pytest.raises(CriterionNotFound, match="r9"):
        engine.delete("ads", "r1", "r9", "r2")
    assert ids(engine, "ads") == ["r1", "r2", "r3"]
    engine.delete("ads", "r3", "r1", "r3")
    engine.delete("ads")
    assert ids(engine, "ads") == ["r2"]
    engine.add("ads", rule(1))
    assert ids(engine, "ads") == ["r2", "r1"]


def test_what_is_no_criterion_changes_nothing(engine: Engine) -> None:
    for several in ([rule(1), "r2"], [None]):
        with pytest.raises(TypeError, match="criteria are needed"):
            engine.add("ads", several)

    def broken() -> Iterator[rm.Criterion]:
        yield rule(1)
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError):
        engine.add("ads", broken())
    with pytest.raises(ValueError, match="not empty"):
        engine.add("", rule(1))
    assert len(engine) == 0


UNKNOWN = {
    "delete": lambda engine: engine.delete("nope", "r1"),
    "delete nothing": lambda engine: engine.delete("nope"),
    "enable": lambda engine: engine.enable("nope", "r1"),
    "disable": lambda engine: engine.disable("nope", "r1"),
    "get": lambda engine: engine.get("nope", "r1"),
    "index": lambda engine: engine.index("nope"),
    "stats": lambda engine: engine.stats("nope"),
    "match_many": lambda engine: engine.match_many("nope", [EVENT]),
    "search": lambda engine: engine.search("nope", EVENT),
    "top": lambda engine: engine.top("nope", EVENT, 1),
    "nearest": lambda engine: engine.nearest("nope", EVENT, 1),
    "explain": lambda engine: engine.explain("nope", EVENT, "r1"),
    "scan": lambda engine: engine.scan("nope", EVENT),
    "replace": lambda engine: engine.replace("ads", "nope"),
    "replace by itself": lambda engine: engine.replace("nope", "nope"),
    "drop": lambda engine: engine.drop("nope"),
    "export": lambda engine: engine.export("nope"),
    "snapshot": lambda engine: engine.snapshot("nope"),
    "ratify": lambda engine: engine.ratify("nope"),
    "similarity": lambda engine: engine.similarity("nope", rule(1)),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_an_unknown_name_is_refused_and_nothing_lost(engine: Engine, what: str) -> None:
    engine.add("ads", rule(1))
    before = contents(engine)
    with pytest.raises(IndexNotFound, match="nope"):
        UNKNOWN[what](engine)
    assert contents(engine) == before


def test_questions_go_to_the_index(engine: Engine) -> None:
    engine.add("ads", [rule(3), rule(4, tags={"t"}), rule(50)])
    assert engine.search("ads", EVENT, tags={"t"}) == engine.scan("ads", EVENT, tags={"t"})
    assert [one.id for one in engine.top("ads", EVENT, 1, weights={"a": 2})] == ["r3"]
    assert engine.top("ads", EVENT, 1, weights={"a": 2})[0].score == 3
    assert [one.id for one in engine.nearest("ads", EVENT, 1)] == ["r50"]
    assert engine.explain("ads", EVENT, "r3").holds
    with pytest.raises(CriterionNotFound):
        engine.explain("ads", EVENT, "r9")


def test_an_index_is_ratified_and_compared(engine: Engine) -> None:
    engine.add("ads", rules(1, 2))
    assert engine.ratify("ads", False, seed=1, seconds=5).disagreements == ()
    found = engine.similarity("ads", rule(1), events=[EVENT, {"a": 1, "b": "x"}], n=1)
    assert [one.id for one in found.similar] == ["r1"]


def test_a_service_needs_nothing_more(engine: Engine) -> None:
    engine.add("all", rules(1, 2, 9))
    assert engine.get("all", "r2") == rule(2)
    with pytest.raises(CriterionNotFound):
        engine.get("all", "r3")
    found = engine.match_many("all", iter([EVENT, {}]), threads=2)
    assert [found.ids(0), found.ids(1)] == [["r1", "r2"], []]
    assert engine.stats("all")["criteria"] == 3
    copied = engine.index("all")
    assert list(copied.ids()) == ["r1", "r2", "r9"]
    copied.remove("r1")
    assert engine.search("all", EVENT) == ["r1", "r2"], "what is done to a copy stays there"


def test_switching_off_and_on_outlives_a_crash(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.add("all", rules(1, 2, 3))
        engine.disable("all", "r1", "r3", "r1")
        engine.enable("all", "r3")
        assert engine.search("all", EVENT) == ["r2", "r3"]
        with pytest.raises(CriterionNotFound):
            engine.disable("all", "r2", "nobody")
        shutil.copytree(tmp_path, tmp_path / "crashed", ignore=shutil.ignore_patterns("crashed"))
    with opened(tmp_path / "crashed") as engine:
        assert engine.search("all", EVENT) == ["r2", "r3"]
        assert [engine.get("all", f"r{i}").enabled for i in (1, 2, 3)] == [False, True, True]
        engine.enable("all", "r1")
        assert engine.search("all", EVENT) == ["r1", "r2", "r3"]


def test_a_switch_never_undoes_an_update(engine: Engine) -> None:
    """Updates and switches by turns in two threads: the last update stays, whoever came last."""
    engine.add("all", rule(1))

    def switch() -> None:
        for i in range(100):
            (engine.enable if i % 2 else engine.disable)("all", "r1")

    thread = threading.Thread(target=switch)
    thread.start()
    for i in range(100):
        engine.update("all", rule(1, tags=frozenset({f"t{i}"})))
        assert engine.get("all", "r1").tags == {f"t{i}"}
    thread.join()


def test_the_moment_can_be_given(engine: Engine) -> None:
    engine.add("ads", rm.Criterion.from_json({
        "form": "DNF", "id": "fresh", "conjunctions": [{"type": "AND", "predicates": [{
            "type": "INCLUDED", "lhs": "ts", "detail": {"caveat": "RANGE", "upperBound": 100},
            "preOperations": [{"type": "DATETIME", "extract": "DIFF_WITH_EPOCH"}],
        }]}],
    }))  # fmt: skip
    for now, found in ((1_050, ["fresh"]), (2_000, [])):
        assert engine.search("ads", {"ts": 1_000}, now=now) == found
        assert engine.scan("ads", {"ts": 1_000}, now=now) == found


def test_replace_swaps_whole_indexes(engine: Engine) -> None:
    engine.add("ads", rules(1, 2))
    engine.add("next", rules(3))
    engine.replace("ads", "next")
    assert engine.names() == ["ads"]
    assert ids(engine, "ads") == ["r3"]
    engine.replace("ads", "ads")
    assert ids(engine, "ads") == ["r3"]
    engine.replace("renamed", "ads")
    assert engine.names() == ["renamed"]
    engine.add("ads", rule(1))
    engine.add("renamed", rule(4))
    assert (ids(engine, "ads"), ids(engine, "renamed")) == (["r1"], ["r3", "r4"])


def test_drop_removes_an_index(engine: Engine) -> None:
    engine.add("ads", rule(1))
    engine.drop("ads")
    assert engine.names() == []
    engine.add("ads", rule(2))
    assert ids(engine, "ads") == ["r2"]


def test_what_was_exported_can_be_loaded(engine: Engine) -> None:
    engine.add("ads", [*rules(1, 2), rule(3, tags={"t"})])
    text = engine.export("ads")
    engine.load("copy", text)
    engine.load("bytes", text.encode())
    engine.load("none", "[]")
    assert engine.export("copy") == engine.export("bytes") == text
    assert engine.export("none") == "[]"
    with pytest.raises(NoMustangEquivalent, match="tags"):
        engine.export("ads", mustang=True)
    engine.delete("ads", "r3")
    assert [one["id"] for one in json.loads(engine.export("ads", mustang=True))] == ["r1", "r2"]


def test_load_reads_what_mustang_writes(engine: Engine) -> None:
    engine.load("ads", json.dumps([{
        "form": "DNF", "id": "m", "conjunctions": [{"type": "AND", "predicates": [{
            "type": "INCLUDED", "lhs": "$.a", "weight": 1,
            "detail": {
                "caveat": "RANGE", "lowerBound": 4.9e-324, "upperBound": 10,
                "includeLowerBound": False, "includeUpperBound": False,
                "normalisedView": "4.9E-324#10#false#false",
            },
            "preOperations": [{"type": "IDENTITY"}],
        }]}],
    }]))  # fmt: skip
    assert engine.search("ads", EVENT) == ["m"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", InvalidCriterion),
        ("null", InvalidCriterion),
        ('{"form": "DNF"}', InvalidCriterion),
        ("[", InvalidCriterion),
        (b"\xff", InvalidCriterion),
        ('[{"form": "DNF", "id": "x", "conjunctions": []}, {"form": "ENF"}]', InvalidCriterion),
        ('[{"form": "DNF", "id": "x", "conjunctions": []}]' + " x", InvalidCriterion),
        ("[" + ",".join(['{"form": "DNF", "id": "x", "conjunctions": []}'] * 2) + "]",
         DuplicateCriterion),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_loaded_makes_no_index(engine: Engine, text, error) -> None:
    with pytest.raises(error):
        engine.load("ads", text)
    assert "ads" not in engine


def test_load_names_the_criterion_and_the_place(engine: Engine) -> None:
    text = '[{"form": "DNF", "id": "x", "conjunctions": []}, {"form": "CNF", "id": "y"}]'
    with pytest.raises(InvalidCriterion, match=r"criterion 'y' at \[1\].*disjunctions"):
        engine.load("ads", text)


def test_load_takes_no_name_that_is_taken(engine: Engine) -> None:
    engine.add("ads", [])
    with pytest.raises(IndexExists, match="ads"):
        engine.load("ads", "[]")
    assert engine.names() == ["ads"]


def test_a_snapshot_shows_sizes(engine: Engine) -> None:
    engine.add("ads", rules(*range(100)))
    found = engine.snapshot("ads")
    assert found.totals["criteria"] == 100
    assert {one.attribute: one.uses for one in found.dimensions} == {"a": 100, "b": 100}
    assert found.dimensions[1].busiest == 100  # every rule accepts "x"
    for word in ("index ads", "criteria", "attribute", "busiest space"):
        assert word in str(found)
    engine.add("none", [])
    assert engine.snapshot("none").dimensions == ()


def test_a_snapshot_shows_clusters_and_few_dimensions_of_many() -> None:
    engine = Engine()
    engine.add("ads", [rm.Criterion(f"c{i}", rm.attr(f"d{i}") == i) for i in range(40)])
    found = engine.snapshot("ads")
    assert found.clusters[0]["clauses"] == 40
    assert "and 10 more" in str(found)
    assert "records (chunks)" in str(found)


def test_defaults_of_new_indexes(tmp_path: Path) -> None:
    with Engine(tmp_path, matcher="sift", scalars=["a"]) as engine:
        engine.add("ads", rule(1))
        assert engine.snapshot("ads").totals["matcher"] == "sift"
    for more in ({}, {"read_only": True}):
        with Engine(tmp_path, **more) as engine:
            assert engine.snapshot("ads").totals["matcher"] == "sift"
    with pytest.raises(ValueError, match="no matcher"):
        Engine(matcher="magic")


def change_everything(engine: Engine) -> None:
    """Changes of every kind, some before a checkpoint and some after it."""
    engine.add("ads", rules(*range(70)))
    engine.add("next", rules(1, 2))
    engine.add("gone", rules(1))
    engine.checkpoint()
    engine.delete("ads", "r3")
    engine.update("ads", [rule(4, tags={"t"}), rule(99)])
    engine.add("next", rule(3))
    engine.replace("ads", "next")
    engine.drop("gone")
    engine.add("gone", rules(7))
    engine.load("loaded", engine.export("gone"))


@pytest.mark.parametrize("closed", [True, False])
def test_all_is_there_when_opened_again(tmp_path: Path, closed: bool) -> None:
    engine = opened(tmp_path / "first")
    change_everything(engine)
    before = contents(engine)
    if closed:
        engine.close()
    path = tmp_path / "copy"  # what a crash here would leave
    shutil.copytree(tmp_path / "first", path)
    for _ in range(3):
        with opened(path) as again:
            assert contents(again) == before
            assert again.search("ads", EVENT) == again.scan("ads", EVENT)
    engine.close()


def test_a_checkpoint_leaves_nothing_that_is_not_needed(tmp_path: Path, caplog) -> None:
    with opened(tmp_path) as engine:
        engine.add("empty", [])
        change_everything(engine)
        engine.checkpoint()
        assert caplog.text == ""
        assert len(list(tmp_path.glob("log/*.log"))) == 1
        assert len(list(tmp_path.glob("indexes/*"))) == len(engine)
        assert len(list(tmp_path.glob("indexes/*/versions/*"))) == len(engine)
        before = sorted(tmp_path.rglob("*"))
        engine.checkpoint()
        assert sorted(tmp_path.rglob("*")) == before
    assert sorted(tmp_path.rglob("*")) == before
    with opened(tmp_path):
        pass
    assert sorted(tmp_path.rglob("*")) == before


def test_a_crash_at_any_sync_or_renaming(tmp_path: Path, monkeypatch) -> None:
    path, copies = tmp_path / "engine", tmp_path / "copies"
    told: list[dict[str, str]] = [{}]
    taken: list[tuple[Path, int]] = []

    def crashing(call):
        def crash(*arguments, **more):
            if path.exists():
                copy = copies / str(len(taken))
                shutil.copytree(path, copy)
                taken.append((copy, len(told)))
            return call(*arguments, **more)

        return crash

    for owner, name in ((os, "fsync"), (os, "fdatasync"), (Path, "rename"), (Path, "replace")):
        monkeypatch.setattr(owner, name, crashing(getattr(owner, name)))
    engine = opened(path)
    for step in (
        lambda: engine.add("ads", rules(1, 2, 3)),
        lambda: engine.add("ads", rule(4)),
        engine.checkpoint,
        lambda: engine.update("ads", [rule(2, tags={"t"}), rule(5)]),
        lambda: engine.add("next", rules(7)),
        lambda: engine.replace("ads", "next"),
        engine.checkpoint,
        lambda: engine.delete("ads", "r7"),
        lambda: engine.drop("ads"),
        engine.close,
    ):
        step()
        told.append(contents(engine))
    monkeypatch.undo()
    assert len(taken) > 50
    for copy, n_told in taken:
        with opened(copy) as again:
            # what was told is there; what was under way may be
            assert contents(again) in told[n_told - 1 : n_told + 1]
            before = contents(again)
        with opened_read_only(copy) as again:  # what its closing has published
            assert contents(again) == before


def test_what_was_acknowledged_was_synced(tmp_path: Path, monkeypatch) -> None:
    synced: dict[int, int] = {}  # by file: how much of it a power cut would leave

    def flush(file: int) -> None:
        synced[os.fstat(file).st_ino] = os.fstat(file).st_size

    engine = opened(tmp_path / "engine")
    engine.add("ads", rules(1))
    monkeypatch.setattr(log_module, "_flush", flush)
    told = []
    for step in (
        lambda: engine.add("ads", rule(2)),
        lambda: engine.update("new", rules(3, 4)),
        lambda: engine.delete("ads", "r1"),
        lambda: engine.replace("ads", "new"),
        lambda: engine.load("more", "[]"),
        lambda: engine.drop("more"),
    ):
        step()
        path = engine._store.log.path
        told.append((contents(engine), path.read_bytes()[: synced[path.stat().st_ino]]))
    for expected, log in told:
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "engine", copy)
        next(copy.glob("log/*.log")).write_bytes(log)
        with opened(copy) as again:
            assert contents(again) == expected
        shutil.rmtree(copy)
    engine.close()


def test_a_change_that_cannot_be_synced_is_not_acknowledged(tmp_path, monkeypatch) -> None:
    def broken(file: int) -> None:
        raise OSError(5, "Input/output error")

    engine = opened(tmp_path)
    engine.add("ads", rules(1))
    monkeypatch.setattr(log_module, "_flush", broken)
    with pytest.raises(StorageError, match="Input/output error") as caught:
        engine.add("ads", rule(2))
    assert caught.value.path == str(engine._store.log.path)
    monkeypatch.undo()
    with pytest.raises(StorageError, match="after reopening"):
        engine.add("ads", rule(3))
    assert engine.search("ads", EVENT)[0] == "r1"
    engine.close()
    with opened(tmp_path) as again:
        assert ids(again, "ads")[0] == "r1"
        assert "r3" not in ids(again, "ads")


@pytest.mark.parametrize("nth", [0, 1, 5, 14, 23, 32])
def test_a_checkpoint_that_fails_loses_nothing(tmp_path: Path, monkeypatch, nth: int) -> None:
    engine = opened(tmp_path)
    change_everything(engine)
    before, calls = contents(engine), []
    sync = os.fsync

    def full(file: int) -> None:
        calls.append(file)
        if len(calls) > nth:
            raise OSError(28, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        engine.checkpoint()
    monkeypatch.undo()
    assert contents(engine) == before
    engine.close()
    with opened(tmp_path) as again:
        assert contents(again) == before
        again.add("ads", rule(1000))
        again.checkpoint()


def test_the_log_becomes_a_checkpoint_when_it_has_grown(tmp_path: Path) -> None:
    engine = opened(tmp_path, log_limit=1)
    engine.add("ads", rules(1, 2))
    assert engine._background is not None
    engine._background.join()
    with opened_read_only(tmp_path) as reader:
        assert ids(reader, "ads") == ["r1", "r2"]
    engine.close()


def test_a_failed_checkpoint_in_the_background_is_logged(tmp_path, monkeypatch, caplog) -> None:
    def refuse(self: Index, path: Path) -> str:
        raise StorageError(str(path), "No space left on device")

    monkeypatch.setattr(Index, "save", refuse)
    engine = opened(tmp_path, log_limit=1)
    engine.add("ads", rules(1, 2))
    assert engine._background is not None
    engine._background.join()
    assert "No space left" in caplog.text
    monkeypatch.undo()
    engine.add("ads", rule(3))
    engine.close()
    with opened_read_only(tmp_path) as reader:
        assert ids(reader, "ads") == ["r1", "r2", "r3"]


def opened_read_only(path: Path) -> Engine:
    return Engine(path, read_only=True)


def test_who_only_reads_sees_what_was_published(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no engine here"):
        opened_read_only(tmp_path)
    with pytest.raises(ValueError, match="give a path"):
        Engine(read_only=True)
    with opened(tmp_path) as engine:
        reader = opened_read_only(tmp_path)
        engine.add("ads", rules(1, 2))
        engine.add("next", rules(3))
        assert not reader.refresh()
        assert reader.names() == []
        engine.checkpoint()
        assert reader.refresh()
        assert not reader.refresh()
        assert reader.search("ads", EVENT) == ["r1", "r2"]
        engine.replace("ads", "next")
        engine.checkpoint()
        assert reader.search("ads", EVENT) == ["r1", "r2"]  # files removed, pages kept
        assert reader.refresh()
        assert contents(reader) == contents(engine)
        for change in (
            lambda: reader.add("ads", rule(9)),
            lambda: reader.update("ads", rule(9)),
            lambda: reader.delete("ads", "r3"),
            lambda: reader.replace("ads", "ads"),
            lambda: reader.drop("ads"),
            lambda: reader.load("new", "[]"),
            reader.checkpoint,
        ):
            with pytest.raises(StorageError, match="read_only"):
                change()
        assert contents(reader) == contents(engine)
        with pytest.raises(StorageError, match="refresh"):
            engine.refresh()
        reader.close()


def test_a_reader_looks_again_when_a_checkpoint_came_between(tmp_path, monkeypatch) -> None:
    with opened(tmp_path) as engine:
        engine.add("ads", rules(1))
        engine.checkpoint()
        read, reads = checkpoints_module.Directory.read, []

        def late(self):
            found = read(self)
            reads.append(found)
            if len(reads) == 1:  # the writer removes what these names mean
                engine.add("ads", rule(2))
                engine.checkpoint()
            return found

        monkeypatch.setattr(checkpoints_module.Directory, "read", late)
        reader = opened_read_only(tmp_path)
        assert len(reads) > 1
        assert ids(reader, "ads") == ["r1", "r2"]


def test_one_process_writes(tmp_path: Path) -> None:
    script = (
        "import sys; from remuda.engine.engine import Engine\n"
        "try: Engine(sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "print(Engine(sys.argv[1], read_only=True).names())"
    )
    with opened(tmp_path) as engine:
        engine.add("ads", rule(1))
        engine.checkpoint()
        said = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert "StorageError" in said
    assert f"process {os.getpid()}" in said
    assert "['ads']" in said
    with opened(tmp_path) as again:
        assert again.names() == ["ads"]


DISK_FULL = """
import resource, sys
import remuda as rm
from remuda.engine.engine import Engine
engine = Engine(sys.argv[1], matcher="scan")
engine.add("ads", rm.Criterion("first", rm.attr("a") == 0))
engine.search("ads", {"a": 0})  # whatever is to be compiled is now
resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, resource.RLIM_INFINITY))
for i in range(1_000):
    try:
        engine.add("ads", rm.Criterion(f"r{i}", rm.attr("a") == i))
    except rm.StorageError as error:
        print("refused", error)
        break
    print("done", i)
print("found", engine.search("ads", {"a": 0}), engine.search("ads", {"a": i}))
try:
    engine.add("large", [rm.Criterion(f"r{i}", rm.attr("a") == i) for i in range(99)])
except rm.StorageError as error:
    print("refused", error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
engine.add("ads", rm.Criterion("room again", rm.attr("a") == 0))
print("names", engine.names())
if sys.argv[2] == "closed":
    engine.close()
"""


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_full_disk_loses_nothing_and_room_lets_it_go_on(tmp_path: Path, how: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", DISK_FULL, str(tmp_path), how],
        capture_output=True,
        text=True,
        check=True,
    )
    said = ran.stdout.splitlines()
    done = [int(line.split()[1]) for line in said if line.startswith("done")]
    assert 10 < len(done) < 1_000
    first, second = (line for line in said if line.startswith("refused"))
    assert str(tmp_path / "log") in first
    assert "File too large" in first
    assert "File too large" in second
    assert "found ['first', 'r0'] []" in said  # searches go on, and what was refused is not found
    assert "names ['ads']" in said
    with opened(tmp_path) as again:
        assert ids(again, "ads") == ["first", *(f"r{i}" for i in done), "room again"]
        again.add("ads", rule(-1))


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, who may write everywhere."""
    was = os.geteuid()
    if was != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that everyone may read, which pytest's own is not."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for one in (path, *path.rglob("*")):
        if one.is_dir():
            one.chmod(0o755)
    shutil.rmtree(path)


def test_a_directory_that_cannot_be_written(open_path: Path) -> None:
    with opened(open_path / "engine") as engine:
        engine.add("ads", rule(1))
        engine.search("ads", EVENT)
    for one in (open_path, *open_path.rglob("*")):
        one.chmod(0o555 if one.is_dir() else 0o444)
    with as_nobody():
        for path in (open_path / "engine", open_path / "new"):
            with pytest.raises(StorageError, match="Permission denied") as caught:
                opened(path)
            assert caught.value.path.startswith(str(path))
        assert opened_read_only(open_path / "engine").search("ads", EVENT) == ["r1"]


def test_a_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="file"):
        opened(tmp_path / "file")


DAMAGES = ("NAMES", "log/*.log", "indexes/*/versions/*/manifest.json", "indexes/*/segments/*/*.bin")


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("how", ["flipped", "gone"])
def test_damage_is_named_and_mending_it_helps(tmp_path: Path, what: str, how: str) -> None:
    engine = opened(tmp_path / "first")
    engine.add("ads", rules(1, 2))
    engine.checkpoint()
    for i in (3, 4, 5):
        engine.add("ads", rule(i))
    before = contents(engine)
    path = tmp_path / "copy"
    shutil.copytree(tmp_path / "first", path)
    engine.close()
    hurt = next(path.glob(what))
    whole = hurt.read_bytes()
    at = len(whole) // 3
    if how == "flipped":
        hurt.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
    else:
        hurt.unlink()
    with pytest.raises(StorageError) as caught:
        opened(path)
    named = Path(caught.value.path)
    assert hurt == named or (how == "gone" and named == hurt.parent)
    hurt.write_bytes(whole)
    with opened(path) as again:
        assert contents(again) == before


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(checkpoints_module, "FORMAT", 99)
    with opened(tmp_path) as engine:
        engine._store.home.checkpoints.write(checkpoints_module.Names(format=99))
    monkeypatch.undo()
    for more in ({}, {"read_only": True}):
        with pytest.raises(StorageError, match="format 99"):
            Engine(tmp_path, **more)


def test_a_closed_engine_answers_and_takes_nothing(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    engine.add("ads", rule(1))
    engine.close()
    engine.close()
    assert engine.search("ads", EVENT) == ["r1"]
    for change in (lambda: engine.add("ads", rule(2)), engine.checkpoint):
        with pytest.raises(StorageError, match="closed"):
            change()
    assert ids(engine, "ads") == ["r1"]


def test_a_change_that_cannot_be_made_ends_the_writing(tmp_path: Path, monkeypatch) -> None:
    engine = opened(tmp_path)
    engine.add("ads", rule(1))

    def interrupted(self: Index, criteria: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Index, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.update("ads", rules(2, 3))
    monkeypatch.undo()
    for change in (
        lambda: engine.add("ads", rule(4)),
        lambda: engine.add("new", rule(4)),
        lambda: engine.drop("ads"),
        engine.checkpoint,
    ):
        with pytest.raises(StorageError, match="KeyboardInterrupt"):
            change()
    assert engine.search("ads", EVENT) == ["r1"]
    engine.close()
    with opened(tmp_path) as again:
        assert ids(again, "ads") == ["r1", "r2", "r3"]  # it was in the log, whole


def test_threads_change_while_checkpoints_are_made(tmp_path: Path) -> None:
    engine = opened(tmp_path / "engine", log_limit=3_000)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(30):
                engine.add("shared", rule(1_000 * number + i))
                engine.update(f"own {number}", rule(i))
                if i % 5 == 4:
                    engine.delete("shared", f"r{1_000 * number + i - 1}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    before = contents(engine)
    assert len(json.loads(before["shared"])) == 4 * (30 - 6)
    assert engine._background is not None
    engine._background.join()  # a copy of files that come and go would be of no moment
    shutil.copytree(tmp_path / "engine", tmp_path / "copy")
    engine.close()
    for path in (tmp_path / "engine", tmp_path / "copy"):
        with opened(path) as again:
            assert contents(again).keys() == before.keys()
            assert {name: sorted(ids(again, name)) for name in again} == {
                name: sorted(one["id"] for one in json.loads(text)) for name, text in before.items()
            }


def test_readers_see_the_old_or_the_new_index(engine: Engine) -> None:
    engine.add("ads", rules(1, 2))
    over = threading.Event()
    seen: set[tuple[str, ...]] = set()

    def read() -> None:
        while not over.is_set():
            seen.add(tuple(engine.search("ads", EVENT)))

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(30):
        engine.add("next", rules(3, 4) if i % 2 else rules(1, 2))
        engine.replace("ads", "next")
    over.set()
    reader.join()
    assert seen <= {("r1", "r2"), ("r3", "r4")}


def test_writers_of_one_new_name_meet_in_one_index(engine: Engine) -> None:
    start = threading.Barrier(6)

    def work(i: int) -> None:
        start.wait()
        engine.add("ads", rule(i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(ids(engine, "ads")) == [f"r{i}" for i in range(6)]


def test_new_directories_are_durable_under_all_their_names(tmp_path: Path, monkeypatch) -> None:
    synced, sync = set(), os.fsync

    def noting(file: int) -> None:
        synced.add(os.fstat(file).st_ino)
        sync(file)

    monkeypatch.setattr(os, "fsync", noting)
    path = tmp_path / "a" / "b" / "engine"
    opened(path).close()
    Index.build(rules(1), matcher="scan").save(tmp_path / "c" / "d" / "index")
    monkeypatch.undo()
    for one in (tmp_path, tmp_path / "a", path.parent, path, tmp_path / "c", tmp_path / "c" / "d"):
        assert one.stat().st_ino in synced, one


def test_indexes_hold_no_descriptors(tmp_path: Path) -> None:
    descriptors = Path("/dev/fd")
    with opened(tmp_path) as engine:
        engine.add("index 0", rule(1))
        before = len(list(descriptors.iterdir()))
        for i in range(1, 50):
            engine.add(f"index {i}", rule(1))
        engine.checkpoint()
        assert len(list(descriptors.iterdir())) == before
    with opened(tmp_path) as engine:
        assert len(engine) == 50
        assert len(list(descriptors.iterdir())) == before
