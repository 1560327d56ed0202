"""Events of every form give what a list of objects gives."""

from __future__ import annotations

import io
import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import remuda as rm
from remuda.encoding import arrow
from remuda.encoding.events import Portion, Source
from remuda.index import portions
from remuda.index.portions import Size, in_order
from remuda.index.question import Question


@pytest.fixture
def index() -> rm.Index:
    return rm.Index.build(
        [rm.Criterion("a", rm.parse("x > 1 AND s = 'u'")), rm.Criterion("b", ~rm.attr("x").eq(2.5))]
    )


COLUMNS = {"x": [1.0, 2.5, None], "s": ["u", "u", None]}


def batches() -> list[pa.RecordBatch]:
    table = pa.table(COLUMNS)
    return [table.slice(i, 1).combine_chunks().to_batches()[0] for i in range(3)]


ROWS = pa.table(COLUMNS).to_pylist()
LINES = b'{"x": 1.0, "s": "u"}\n\n{"x": 2.5, "s": "u"}\n{}'
FORMS: dict[str, Callable[[], Any]] = {
    "list": lambda: ROWS,
    "tuple": lambda: tuple(ROWS),
    "generator": lambda: (row for row in ROWS),
    "generator that begins with nothing": lambda: iter([ROWS[0], ROWS[1], None]),
    "table": lambda: pa.table(COLUMNS),
    "batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "reader of three batches": lambda: pa.RecordBatchReader.from_batches(
        batches()[0].schema, batches()
    ),
    "list of batches": batches,
    "iterator of tables": lambda: iter([pa.table(COLUMNS).slice(0, 2), pa.table(COLUMNS).slice(2)]),
    "struct array": lambda: pa.array([*ROWS[:2], None]),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars, lazy": lambda: pl.LazyFrame(COLUMNS),
    "polars, the batches of a lazy frame": lambda: pl.LazyFrame(COLUMNS).collect_batches(),
    "polars, a series of structs": lambda: pl.DataFrame(COLUMNS).to_struct("row"),
    "JSON lines": lambda: LINES,
    "JSON lines in a file": lambda: io.BytesIO(LINES),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(
    index: rm.Index, form: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "_FEWEST", 1)
    monkeypatch.setattr(portions, "_STREAMED", 1)
    events = FORMS[form]
    found = index.match_many(events(), threads=threads)
    assert [found.ids(i) for i in range(len(found))] == [["b"], ["a"], ["b"]]
    assert found.to_arrow().column("ids").to_pylist() == [["b"], ["a"], ["b"]]
    assert index.count_many(events(), threads=threads).tolist() == [1, 1, 1]
    assert index.reach(events(), threads=threads).tolist() == [1, 2]
    best = index.top_many(events(), 1, threads=threads)
    assert [best.best(i) for i in range(3)] == [[("b", 0.0)], [("a", 2.0)], [("b", 0.0)]]
    answers = list(index.ask(events(), Question.of(), threads=threads))
    assert sum(len(one.portion) for one in answers) == 3


NO_EVENTS = {
    "a dict": {"x": 1},
    "a number": 5,
    "nothing": None,
    "a text": '{"x": 1}',
    "an expression": rm.attr("x").eq(1),
    "a column": pa.array([1, 2]),
    "a chunked column": pa.chunked_array([[1, 2]]),
    "a series": pl.Series([1, 2]),
}


@pytest.mark.parametrize("kind", NO_EVENTS)
def test_what_is_no_batch_is_refused(index: rm.Index, kind: str) -> None:
    for ask in (index.match_many, index.count_many, index.reach):
        with pytest.raises(TypeError, match=r"events are|no event"):
            ask(NO_EVENTS[kind])


def test_a_line_that_is_no_object_stays_and_says_why(index: rm.Index) -> None:
    found = index.match_many(b'{"x": 2.5, "s": "u"}\n{oops\n[1]\n\n{}')
    assert [found.ids(i) for i in range(4)] == [["a"], ["b"], ["b"], ["b"]]
    assert found.errors.to_pylist()[0] is found.errors.to_pylist()[3] is None
    assert found.errors[1].as_py().startswith("the event is not JSON")
    assert found.errors[2].as_py() == "the event is an array, not an object"


def test_a_stream_is_answered_while_it_is_read(index: rm.Index) -> None:
    """Not all of an endless stream is read before the first answer."""
    for threads in (1, 2):
        endless = ({"x": i % 5, "s": "u"} for i in itertools.count())
        answers = index.ask(endless, Question.of(), threads=threads)
        found = next(answers).matches
        assert [len(found.ids(i)) for i in range(5)] == [1, 1, 2, 2, 2]
        answers.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_question_has_as_many_events_as_its_matches_allow(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "_HITS", 1_000)
    index = rm.Index.build(rm.Criterion(f"c{i}", rm.attr("x") >= i) for i in range(100))
    answers = list(index.ask(pa.table({"x": [99] * 1_000}), Question.of(), threads=threads))
    assert {len(one.portion) for one in answers[threads + 1 : -1]} == {10}
    assert sum(len(one.matches) for one in answers) == 1_000


@pytest.mark.parametrize("threads", [1, 2])
def test_columns_of_a_wide_table_are_looked_at_once(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "_FIRST", 3)
    n_encoded: list[int] = []
    encode = arrow.encode

    def counted(encoder: Any, rows: Any, now: int) -> Any:
        n_encoded.append(len(rows))
        return encode(encoder, rows, now)

    monkeypatch.setattr(arrow, "encode", counted)
    index = rm.Index.build(rm.Criterion(f"c{i}", rm.attr(f"a{i % 9}") >= i) for i in range(50))
    table = pa.table({f"a{i}": [(7 * i + 3 * row) % 60 for row in range(100)] for i in range(9)})
    answers = list(index.ask(table, Question.of(), threads=threads))
    assert sum(n_encoded) == 100
    assert len(answers) > len(n_encoded)
    assert [one.portion.first for one in answers] == [
        sum(len(before.portion) for before in answers[:i]) for i in range(len(answers))
    ]
    found = [one.matches.ids(i) for one in answers for i in range(len(one.matches))]
    assert found == [index.match(row) for row in table.to_pylist()]


def test_the_number_of_threads_changes_nothing() -> None:
    rules = [rm.Criterion(f"c{i}", rm.parse(f"a = {i % 50} AND b > {i % 90}")) for i in range(500)]
    index = rm.Index.build(rules)
    index.add(rm.Criterion("late", rm.attr("a") > 40))
    events = pa.table({"a": np.arange(5_000) % 60, "b": np.arange(5_000) % 97})
    one = index.match_many(events, threads=1)
    for threads in (2, 5):
        several = index.match_many(events, threads=threads)
        for name in ("offsets", "positions"):
            assert np.array_equal(getattr(one, name), getattr(several, name))
    best = [index.top_many(events, 3, threads=threads) for threads in (1, 4)]
    assert np.array_equal(best[0].positions, best[1].positions)
    assert np.array_equal(best[0].scores, best[1].scores)


def test_the_environment_says_how_many_threads(
    index: rm.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMUDA_THREADS", "7")
    assert (portions.n_threads(None), portions.n_threads(2)) == (7, 2)
    for wrong in ("0", "many", "-1"):
        monkeypatch.setenv("REMUDA_THREADS", wrong)
        with pytest.raises(
            ValueError, match=f"REMUDA_THREADS is a number from 1 on, not '{wrong}'"
        ):
            index.match_many([{}])
    with pytest.raises(ValueError, match="at least one thread, not 0"):
        index.match_many([{}], threads=0)


def test_what_fails_in_a_thread_fails_the_call(index: rm.Index) -> None:
    def events() -> Iterator[dict[str, int]]:
        yield from ({"x": i} for i in range(40_000))
        raise KeyError("the source broke")

    with pytest.raises(KeyError, match="the source broke"):
        index.match_many(events(), threads=2)
    with pytest.raises(ValueError, match="boom"):
        list(in_order(Source([{}] * 3_000), _boom, 2, Size(1_000)))


def test_an_interrupt_ends_the_threads(index: rm.Index) -> None:
    def events() -> Iterator[dict[str, int]]:
        yield from ({"x": i} for i in range(40_000))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.match_many(events(), threads=3)
    assert not [one for one in threading.enumerate() if one.name.startswith("remuda")]


def _boom(_: Portion) -> None:
    raise ValueError("boom")


def test_what_an_index_says_of_itself(tmp_path: Path) -> None:
    rules = [rm.Criterion(f"c{i}", rm.attr(f"a{i % 3}.b").eq(i), {f"t{i % 2}"}) for i in range(300)]
    index = rm.Index.build(rules[:200])
    index.remove("c7")
    index.add(rules[200:])
    index.update(rules[3])
    kept = [one for one in rules if one.id != "c7"]
    for opened in (index, rm.load(tmp_path, version=index.save(tmp_path))):
        assert list(opened.ids()) == [one.id for one in kept]
        assert list(opened.ids(tags={"t1"})) == [one.id for one in kept if "t1" in one.tags]
        assert opened.ids()[-1] == "c299"
        assert [rm.Criterion.from_json(one) for one in opened.documents()] == kept
        assert opened.attributes() == ["a0.b", "a1.b", "a2.b"]
        reach = opened.reach([{"a0": {"b": 3}}])
        assert dict(zip(opened.ids(), reach.tolist(), strict=True))["c3"] == 1


def test_nested_columns_of_polars() -> None:
    index = rm.Index.build(
        [rm.Criterion("a", rm.attr("u.tags").isin("x")), rm.Criterion("b", rm.attr("k").eq("p"))]
    )
    frame = pl.DataFrame(
        {"u": [{"tags": ["x", "y"]}, {"tags": []}, None], "k": ["p", "q", None]},
        schema_overrides={"k": pl.Categorical},
    )
    found = index.match_many(frame)
    assert [found.ids(i) for i in range(3)] == [["a", "b"], [], []]
