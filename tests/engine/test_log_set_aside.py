"""A record that cannot be applied is set aside with its reason, and everything else opens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import remuda as rm
from remuda.engine.changes import Put, Replace, encode
from remuda.engine.engine import Engine
from remuda.index.index import Index
from remuda.index.segment import Segment

EVENT = {"a": 1}


def rule(name: str) -> rm.Criterion:
    return rm.Criterion(name, rm.attr("a") == 1)


def document(one: rm.Criterion) -> msgspec.Raw:
    return msgspec.Raw(one.document())


def nested(n: int) -> msgspec.Raw:
    return msgspec.Raw(b'{"form":"UNF","id":"bad","x":' + b"[" * n + b"]" * n + b"}")


def put(*documents: msgspec.Raw) -> bytes:
    return encode(Put(1, list(documents)))


GOOD = document(rule("good"))
# By what is wrong: the body of a record, the id that is told, a word of the reason, what is there.
RECORDS = {
    "a form that there is not": (
        put(GOOD, msgspec.Raw(b'{"form":"ENF","id":"bad"}')), "bad", "InvalidCriterion", ["good"],
    ),
    "nested deep": (put(nested(200), GOOD), "bad", "InvalidCriterion", ["good"]),
    "nested far too deep": (put(nested(100_000), GOOD), None, "RecursionError", []),
    "no id": (put(msgspec.Raw(b'{"form":"DNF"}'), GOOD), None, "InvalidCriterion", ["good"]),
    "an update": (
        put(msgspec.Raw(b'{"form":"ENF","id":"first"}'), GOOD), "first", "InvalidCriterion",
        ["good"],
    ),
    "no JSON": (b"{", None, "DecodeError", []),
    "a change that there is not": (b'{"do":"undo"}', None, "ValidationError", []),
    "an index that there is not": (encode(Replace("ads", "nope")), None, "KeyError", []),
}  # fmt: skip


def killed(engine: Engine) -> None:
    engine._store.close()  # as a crash does: no checkpoint


@pytest.mark.parametrize("what", RECORDS)
def test_a_record_that_cannot_be_applied(tmp_path: Path, caplog, what: str) -> None:
    body, name, reason, there = RECORDS[what]
    engine = Engine(tmp_path, matcher="scan")
    engine.add("ads", rule("first"))
    engine.add("ads", rule("second"))
    engine._store.log.append(body)
    engine.add("ads", rule("last"))
    killed(engine)
    expected = [*(["first"] if name != "first" else []), "second", *there, "last"]
    for how in (killed, Engine.close, killed):  # from the log, from the log, from what was saved
        engine = Engine(tmp_path, matcher="scan")
        assert engine.search("ads", EVENT) == expected
        (told,) = engine.set_aside()
        assert (told.id, told.index) == (name, "ads" if there else None)
        assert reason in told.reason
        assert told.document in body.decode()
        how(engine)
    assert caplog.text.count("was set aside") == 1
    assert len((tmp_path / "set-aside.jsonl").read_text().split()) >= 1
    reader = Engine(tmp_path, read_only=True)
    assert reader.search("ads", EVENT) == expected
    assert len(reader.set_aside()) == 1


def refuse(monkeypatch, *names: str) -> None:
    """Let whatever has these as values fail to be planned."""
    build = Segment.build.__func__

    def failing(cls: type[Segment], expressions, **more):
        if any(name in repr(one) for one in expressions for name in names):
            raise RecursionError("too deep to be planned")
        return build(cls, expressions, **more)

    monkeypatch.setattr(Segment, "build", classmethod(failing))


@pytest.mark.parametrize("n", [3, 500], ids=["in the tail", "in a segment"])
def test_what_cannot_be_planned(tmp_path: Path, monkeypatch, caplog, n: int) -> None:
    engine = Engine(tmp_path, matcher="scan")
    rules = [rm.Criterion(f"r{i}", rm.attr("a").isin(1, f"value {i}")) for i in range(n)]
    engine.add("ads", rules)
    engine.add("other", rules)
    killed(engine)
    refuse(monkeypatch, "'value 1'")
    for _ in range(2):
        engine = Engine(tmp_path, matcher="scan")
        assert engine.search("ads", EVENT) == [one.id for one in rules if one.id != "r1"]
        engine.close()
    found = {(one.index, one.id, one.reason.split(":")[0]) for one in engine.set_aside()}
    assert found == {(name, "r1", "RecursionError") for name in ("ads", "other")}
    assert json.loads(engine.set_aside()[0].document)["id"] == "r1"
    assert caplog.text.count("was set aside") == 2


def test_what_was_made_good_later_is_not_set_aside(tmp_path: Path) -> None:
    engine = Engine(tmp_path, matcher="scan")
    engine.add("ads", rule("first"))
    bad = [msgspec.Raw(b'{"form":"ENF","id":"%d"}' % i) for i in range(3)]
    engine._store.log.append(put(*bad))
    engine.update("ads", rule("0"))
    engine._store.log.append(b'{"do":"delete","index":1,"ids":["1"]}')
    killed(engine)
    engine = Engine(tmp_path, matcher="scan")
    assert engine.search("ads", EVENT) == ["first", "0"]
    assert [one.id for one in engine.set_aside()] == ["2"]
    engine.drop("ads")
    engine.close()
    assert [one.id for one in Engine(tmp_path, read_only=True).set_aside()] == ["2"]


def test_what_was_deleted_and_comes_again_comes_last(tmp_path: Path) -> None:
    engine = Engine(tmp_path, matcher="scan")
    engine.add("ads", [rule(name) for name in "abc"])
    engine.checkpoint()
    for name in "adb":
        engine.update("ads", rule(name))
        engine.delete("ads", name)
        engine.add("ads", rule(name))
        engine.update("ads", rule(name))
    before = engine.search("ads", EVENT)
    assert before == ["c", "a", "d", "b"]
    killed(engine)
    with Engine(tmp_path, matcher="scan") as engine:
        assert engine.search("ads", EVENT) == before


@pytest.mark.parametrize("opened", [Engine, lambda path: Engine(path, read_only=True)])
def test_a_saved_criterion_that_cannot_be_read(
    tmp_path: Path, monkeypatch, caplog, opened: Callable[[Path], Engine]
) -> None:
    with Engine(tmp_path, matcher="scan") as engine:
        engine.add("ads", [rule(name) for name in ("a", "bad", "c")])
    read = rm.Criterion.from_json.__func__

    def failing(cls: type[rm.Criterion], written) -> rm.Criterion:
        found = read(cls, written)
        if found.id == "bad":
            raise RecursionError("too deep")
        return found

    monkeypatch.setattr(rm.Criterion, "from_json", classmethod(failing))
    engine = opened(tmp_path)
    for _ in range(2):
        assert [one["id"] for one in json.loads(engine.export("ads"))] == ["a", "c"]
        assert engine.scan("ads", EVENT) == ["a", "c"]
    assert [(one.index, one.id) for one in engine.set_aside()] == [("ads", "bad")]
    assert caplog.text.count("was set aside") == 1
    engine.close()


def test_a_stack_that_is_deep_opens_what_a_shallow_one_wrote(tmp_path: Path) -> None:
    deep = rm.attr("a") == 1
    for i in range(40):
        deep = (deep & (rm.attr("b") == i)) | (rm.attr("a") == 1)
    engine = Engine(tmp_path, matcher="scan")
    engine.add("ads", rm.Criterion("deep", deep))
    killed(engine)

    def at(depth: int) -> Engine:
        return Engine(tmp_path, matcher="scan") if depth == 0 else at(depth - 1)

    for depth in (0, 300, 600):
        engine = at(depth)
        assert engine.search("ads", EVENT) == ["deep"]
        assert engine.set_aside() == []
        killed(engine)


def test_an_index_that_cannot_be_saved_does_not_keep_the_others_from_it(
    tmp_path: Path, monkeypatch
) -> None:
    save, failing = Index.save, ["bad"]

    def refuse(self: Index, path: Path) -> str:
        if any(name in self for name in failing):
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
        return save(self, path)

    monkeypatch.setattr(Index, "save", refuse)
    engine = Engine(tmp_path, matcher="scan")
    engine.add("ads", rule("good"))
    engine.add("sad", rule("bad"))
    for _ in range(2):
        with pytest.raises(UnicodeEncodeError):
            engine.checkpoint()
    reader = Engine(tmp_path, read_only=True)
    assert reader.search("ads", EVENT) == ["good"]
    assert reader.search("sad", EVENT) == []
    failing.clear()
    engine.checkpoint()
    assert reader.refresh()
    assert reader.search("sad", EVENT) == ["bad"]
    assert len(list(tmp_path.glob("log/*.log"))) == 1
    engine.close()


def test_a_background_checkpoint_survives_every_error(tmp_path: Path, monkeypatch, caplog) -> None:
    def refuse(self: Index, path: Path) -> str:
        raise RecursionError("too deep")

    monkeypatch.setattr(Index, "save", refuse)
    engine = Engine(tmp_path, matcher="scan", log_limit=1)
    engine.add("ads", rule("good"))
    assert engine._background is not None
    engine._background.join()
    assert "a checkpoint failed, and the log grows on: RecursionError: too deep" in caplog.text
    killed(engine)
