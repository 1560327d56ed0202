"""Texts copied out of Arrow arrays by their places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from remuda.errors import RemudaError
from remuda.index import storage, text_arrays
from remuda.index.index import Index, load
from remuda.index.text_arrays import compact, taken
from remuda.language.criterion import Criterion
from remuda.language.python import attr

WORDS = ["", "a", "seven77", "eight888", "nine99999", "ä" * 40, "x" * 257, "end"]
LONG = pa.array(WORDS, pa.large_string())
SHORT = pa.array(WORDS, pa.string())
ARRAYS = {
    "one": [SHORT],
    "one with long offsets": [LONG],
    "of both kinds": [SHORT, LONG, SHORT],
    "a slice": [SHORT.slice(2, 4)],
    "slices": [LONG.slice(1, 1), SHORT.slice(7)],
    "less than a word": [pa.array(["a", "", "b"])],
    "only empty ones": [pa.array(["", ""])],
    "an empty one between": [SHORT, pa.array([], pa.string()), SHORT],
    "many": [SHORT, LONG, pa.array([], pa.string()), *[SHORT.slice(i, 3) for i in range(5)]] * 3,
    "more than are read ahead": [pa.array([f"text {i}" for i in range(700)]), SHORT],
    "nothing": [pa.array([], pa.string())],
    "no array": [],
}


@pytest.mark.parametrize("arrays", ARRAYS.values(), ids=ARRAYS)
def test_texts_are_those_at_the_positions(arrays) -> None:
    whole = [text for array in arrays for text in array.to_pylist()]
    forth = np.arange(len(whole), dtype=np.int32)
    mixed = np.random.default_rng(1).permutation(np.tile(forth, 3))
    for positions in (forth, forth[::-1], np.repeat(forth, 3).astype(np.int64), forth[:0], mixed):
        found = taken(arrays, positions)
        found.validate(full=True)
        assert found.type == pa.string()
        assert found.to_pylist() == [whole[position] for position in positions]


def test_more_text_than_an_answer_can_hold_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(text_arrays, "_MOST", 100)
    with pytest.raises(RemudaError, match="257 bytes"):
        taken([SHORT], np.array([6]))
    assert compact(SHORT).type == pa.large_string()


def test_ids_are_stored_with_short_offsets_and_read_with_either(
    tmp_path: Path, monkeypatch
) -> None:
    index = Index.build([Criterion(f"c{i}", attr("a") >= i) for i in range(300)])
    index.save(tmp_path / "short")
    monkeypatch.setattr(storage, "compact", lambda array: array)
    Index.build([Criterion(f"c{i}", attr("a") >= i) for i in range(300)]).save(tmp_path / "long")
    for name, kind in (("short", pa.string()), ("long", pa.large_string())):
        found = load(tmp_path / name)
        assert found._state.parts[0].roster.id_array().type == kind
        found.add(Criterion("late", attr("a") >= 1))
        matches = found.match_many([{"a": 2}, {}, {"a": 0}])
        assert [set(matches.ids(i)) for i in range(3)] == [
            {"c0", "c1", "c2", "late"},
            set(),
            {"c0"},
        ]
        assert set(matches.names.at(matches.positions).to_pylist()) == {"c0", "c1", "c2", "late"}
