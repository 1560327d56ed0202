"""Texts of columns that are met again: their spaces are those that the scan gave."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.encoding import value_memory
from remuda.encoding.texts import Trial
from remuda.encoding.value_memory import ENTRIES
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.values import is_text
from strategies import event_texts, shared_patterns

a, b = attr("a"), attr("b")
CRITERIA = [
    Criterion("evil", a.contains("evil")),
    Criterion("tried", a.finds("e(.){3}$")),
    Criterion("without case", a.lower().eq("evil 7") | b.lower().suffix("x")),
    Criterion("later", a > "evil 5"),
    Criterion("there", b.exists()),
]


def answers(index: Index, *columns: list[str | None]) -> list[list[str]]:
    table = pa.table([pa.array(one, pa.string()) for one in columns], ["a", "b"][: len(columns)])
    found = index.match_many(table, threads=1)
    return [found.ids(i) for i in range(len(columns[0]))]


def expected(*columns: list[str | None]) -> list[list[str]]:
    events = [dict(zip("ab", row, strict=False)) for row in zip(*columns, strict=True)]
    return [[one.id for one in CRITERIA if one.holds(event)] for event in events]


def n_kept(index: Index) -> int:
    spare = index.parts[0].segment.encoder._memory.texts._spare
    return sum(int(memory.state[ENTRIES]) for _, memory in spare)


EVIL = [f"Evil {i}" if i % 3 else f"evil {i}" for i in range(40)]


def test_a_text_is_kept_when_it_is_met_again() -> None:
    index, others = Index.build(CRITERIA), [f"x{i}" for i in range(40)]
    for n, kept in enumerate([0, 40, 40]):
        assert answers(index, EVIL) == expected(EVIL), n
        assert n_kept(index) == kept
    mixed = EVIL[::2] + others[::2]  # some of them known, and some new
    for _ in range(3):
        assert answers(index, mixed) == expected(mixed)
        assert answers(index, others[::-1], mixed) == expected(others[::-1], mixed)


STRANGE: dict[str, list[str | None]] = {
    "none": [],
    "nulls": [None, "evil", None],
    "empty": ["", "evil", ""],
    "long": ["e" * 4096, "e" * 4097, "evil" + "x" * 9000],
    "alike": ["evilevil" + chr(i) for i in range(200)] + ["evil\0", "evil"],
    "beyond ASCII": ["évil", "evil\U0001f600", "\u0130x", "\u212a"],
}


@pytest.mark.parametrize("texts", STRANGE.values(), ids=STRANGE)
def test_texts_of_all_kinds(texts: list[str | None]) -> None:
    index = Index.build(CRITERIA)
    for _ in range(3):
        assert answers(index, texts) == expected(texts)


def test_attributes_have_a_memory_each() -> None:
    index = Index.build(CRITERIA)
    for _ in range(3):
        assert answers(index, EVIL) == expected(EVIL)
        assert answers(index, EVIL[::-1], EVIL) == expected(EVIL[::-1], EVIL)


def test_it_grows_and_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_memory, "_MOST_OF_TEXTS", 15)
    index = Index.build(CRITERIA)
    texts = [f"evil {i} {'x' * (i % 90)}" for i in range(3_000)]
    wanted = expected(texts)
    for _ in range(6):
        assert answers(index, texts) == wanted
    spare = index.parts[0].segment.encoder._memory.texts._spare
    assert [len(memory.words) for _, memory in spare] == [1 << 15]


def test_texts_that_are_made_to_collide_are_not_all_kept() -> None:
    """All of one place: no more of them are kept than are sought there, and others are."""
    memory = value_memory.kept()
    data = np.frombuffer(b"".join(b"%04d" % i for i in range(100)), np.uint8)
    spaces = np.arange(3, dtype=np.int32)
    for i in range(100):
        value_memory.remember(memory, np.uint64(7), 5, data, 4 * i, 4, spaces, 0, 3)
        value_memory.remember(
            memory, np.uint64(i << 40 | 1_000 + i), 5, data, 4 * i, 4, spaces, 0, 3
        )
    found = [
        value_memory.entry_of(memory, np.uint64(mixed), 5, data, 4 * i, 4)
        for i in range(100)
        for mixed in (7, i << 40 | 1_000 + i)
    ]
    assert [one >= 0 for one in found[::2]] == [i < 32 for i in range(100)]
    assert all(one >= 0 for one in found[1::2])


def test_a_pattern_that_fails_later_is_no_longer_told(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index.build(CRITERIA)
    for _ in range(3):
        assert answers(index, EVIL) == expected(EVIL)

    def boom(trial: Trial, text: str) -> list[int]:
        raise ValueError("boom")

    monkeypatch.setattr(Trial, "held", boom)
    assert "tried" not in answers(index, ["evil new"])[0]
    without = [[one for one in ids if one != "tried"] for ids in expected(EVIL)]
    assert answers(index, EVIL) == without
    assert n_kept(index) == 0


def test_threads_have_a_memory_each() -> None:
    index, wanted = Index.build(CRITERIA), expected(EVIL)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: answers(index, EVIL), range(200)))
    assert found == [wanted] * 200
    assert len(index.parts[0].segment.encoder._memory.texts._spare) <= 4


@given(
    st.lists(shared_patterns, min_size=1, max_size=12),
    st.lists(st.lists(event_texts.filter(is_text), max_size=6), min_size=1, max_size=4),
)
def test_drawn_texts_are_told_as_they_were(patterns: list[str], batches: list[list[str]]) -> None:
    criteria = [Criterion(str(i), a.finds(one)) for i, one in enumerate(patterns)]
    index = Index.build(criteria)
    for _ in range(3):
        for texts in batches:
            wanted = [[one.id for one in criteria if one.holds({"a": text})] for text in texts]
            assert answers(index, texts) == wanted
