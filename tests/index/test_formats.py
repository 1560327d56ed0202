"""Indexes of every format and layout: those of earlier code open, and say what is built anew."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import golden
import pyarrow as pa
import pytest

import remuda as rm
from remuda.errors import StorageError
from remuda.index import directory, storage
from remuda.index.roster import packed_documents
from remuda.matchers.auto import Auto

GOLDEN = sorted((Path(__file__).parents[1] / "data" / "golden").glob("*.zip"))
NEWEST = "format-3-texts-2"  # the one whose layouts are all those of this code


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What storage said; others may say that kernels are being compiled."""
    return [one.getMessage() for one in caplog.records if one.name == "remuda.index"]


@pytest.fixture(params=GOLDEN, ids=[one.stem for one in GOLDEN])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any], bool]:
    """A golden archive, unpacked; what its indexes answered; whether it is the newest."""
    with zipfile.ZipFile(request.param) as packed:
        packed.extractall(tmp_path)
    said = json.loads((tmp_path / "answers.json").read_text())
    return tmp_path, said, request.param.stem == NEWEST


def test_golden_indexes_answer_as_when_they_were_written(archive, caplog) -> None:
    home, said, newest = archive
    for matcher in said.keys() - {"engine"}:
        index = rm.load(home / matcher)
        assert json.loads(json.dumps(golden.answers(index))) == said[matcher]
    anew = lines(caplog)
    assert all("anew" in line for line in anew)
    # a layout that is not what it was: it needs a new number, and an archive of its own
    assert bool(anew) != newest


def test_golden_engines_open_with_their_logs(archive) -> None:
    home, said, _ = archive
    if "engine" not in said:  # there was none yet
        return
    with rm.Engine(home / "engine") as engine:
        found = {name: [engine.search(name, e) for e in golden.events()] for name in engine}
    assert found == said["engine"]


def test_what_was_built_anew_is_saved_so(archive, caplog) -> None:
    home, said, _ = archive
    rm.load(home / "auto").save(home / "auto")
    caplog.clear()
    assert json.loads(json.dumps(golden.answers(rm.load(home / "auto")))) == said["auto"]
    assert not lines(caplog)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    rm.Index.build(golden.criteria()).save(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ["plan", "roster", "words"])
def test_another_number_means_planned_anew(saved: Path, monkeypatch, caplog, kind: str) -> None:
    expected = golden.answers(rm.load(saved))
    monkeypatch.setitem(storage._LAYOUTS, kind, 99)
    assert golden.answers(rm.load(saved)) == expected
    assert ["planned anew" in line for line in lines(caplog)] == [True]


def test_another_number_of_a_matcher_means_built_from_the_plan(
    saved: Path, monkeypatch, caplog
) -> None:
    from dataclasses import replace

    expected = golden.answers(rm.load(saved))
    monkeypatch.setattr(Auto, "features", replace(Auto.features, layout=99))
    assert golden.answers(rm.load(saved)) == expected
    assert "Auto: it is built anew" in caplog.text


@pytest.mark.parametrize("change", ["renamed", "retyped", "gone", "more", "moved"])
def test_other_fields_mean_another_layout(saved: Path, caplog, change: str) -> None:
    expected = golden.answers(rm.load(saved))
    (manifest,) = saved.glob("segments/*/manifest.json")
    said = json.loads(manifest.read_bytes())
    fields = said["headers"]["matcher"]["fields"]
    first = next(iter(fields))
    match change:
        case "renamed":
            fields["other"] = fields.pop(first)
        case "retyped":
            fields[first]["dtype"] = "<i8"
        case "gone":
            del fields[first]
        case "more":
            fields["other"] = 1
        case "moved":
            fields[first] = fields.pop(first)
    golden.rewrite(manifest, json.dumps(said).encode())
    assert golden.answers(rm.load(saved)) == expected
    assert "it is built anew" in caplog.text


def test_what_is_refused_today_does_not_keep_the_rest_from_opening(
    saved: Path, monkeypatch, caplog
) -> None:
    expected = golden.answers(rm.load(saved))
    (file,) = saved.glob("segments/*/criteria.arrow")
    documents = [one.document() for one in rm.load(saved)]
    documents[-1] = b'{"id": "off", "nonsense": 1}'
    golden.rewrite(file, packed_documents(pa.array(documents, pa.large_binary())))
    monkeypatch.setitem(storage._LAYOUTS, "plan", 99)
    index = rm.load(saved)
    assert "'off'" in caplog.text
    assert "holds for no event" in caplog.text
    assert [index.match(event) for event in golden.events()] == expected[0]  # it was off anyway
    assert "off" in index
    with pytest.raises(StorageError, match="lacks the property"):
        _ = index["off"]


def test_spark_builds_do_not_keep_segments_of_another_layout() -> None:
    assert storage.layouts("auto") == {**storage._LAYOUTS, "matcher": 3, "cnf": None}


def test_a_newer_format_is_refused(saved: Path, monkeypatch) -> None:
    monkeypatch.setattr(directory, "FORMAT", directory.FORMAT - 1)
    with pytest.raises(StorageError, match="use a newer one"):
        rm.load(saved)
