"""The matcher `gpu` beyond the contract: bounds, lanes, residence, and where there is no device.

All of it runs in Numba's simulator, and on a device where NUMBA_ENABLE_CUDASIM is 0.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from matchers.tables import Case, random_case
from matchers.test_contract import SHAPES, rows_of
from remuda.encoding import arrow
from remuda.encoding.columns import Codes, Numbers
from remuda.errors import DeviceError
from remuda.index.choosing import Wanted
from remuda.index.index import Index, load
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.language.text import parse
from remuda.matchers.gpu import Gpu, device, lanes, layout
from remuda.matchers.gpu.cutting import cut
from strategies import NOW

CASES = Path(__file__).parents[1] / "data" / "cases.jsonl"
_WITHOUT = {"NUMBA_ENABLE_CUDASIM": "0", "CUDA_VISIBLE_DEVICES": "-1"}


@pytest.fixture
def lanes_of_few(monkeypatch) -> None:
    """Lanes that hold little: batches are split by events, by spaces and by rows."""
    monkeypatch.setattr(lanes, "MOST_EVENTS", 5)
    monkeypatch.setattr(lanes, "MOST_SPACES", 20)
    monkeypatch.setattr(lanes, "MOST_ROWS", 8)
    monkeypatch.setattr(lanes, "_FEWEST_ROWS", 8)
    monkeypatch.setattr(lanes, "_lanes", lanes.Lanes())


@pytest.mark.parametrize("shape", ["mixed", "all lists", "many dimensions", "long clauses"])
def test_counts_and_reach_are_those_of_the_matches(shape) -> None:
    case = random_case(1, **SHAPES[shape])
    matcher, expected = Gpu.build(case.table), case.expected()
    weights = np.arange(case.table.n_clauses, dtype=np.int32) % 7
    assert matcher.count(case.events).tolist() == [len(rows) for rows in expected]
    assert matcher.count(case.events, weights).tolist() == [
        int(weights[rows].sum()) for rows in expected
    ]
    assert matcher.reach(case.events).tolist() == _reach(case)


def test_the_one_clause_of_several_criteria_counts_for_each() -> None:
    index = Index.build([Criterion(name, parse("a > 1")) for name in "xyz"], matcher="gpu")
    assert index.count_many([{"a": 2}, {"a": 0}, {"a": 3}]).tolist() == [3, 0, 3]


@pytest.mark.parametrize("shape", ["mixed", "all lists"])
@pytest.mark.usefixtures("lanes_of_few")
def test_a_lane_that_holds_little_gives_the_same(shape) -> None:
    case = random_case(2, **{**SHAPES[shape], "n_events": 25})
    matcher = Gpu.build(case.table)
    for _ in range(2):  # the second time, it is known how many rows an event has
        assert rows_of(matcher.match(case.events)) == case.expected()
    assert matcher.count(case.events).tolist() == [len(rows) for rows in case.expected()]
    assert matcher.reach(case.events).tolist() == _reach(case)


@pytest.mark.usefixtures("lanes_of_few")
def test_one_event_may_match_everything() -> None:
    case = random_case(3, n_clauses=300, max_predicates=1, n_dims=2, negated=1.0)
    rows = rows_of(Gpu.build(case.table).match(case.events))
    assert rows == case.expected()
    assert max(map(len, rows)) > 100


def test_the_first_event_of_all_may_match_nothing(monkeypatch) -> None:
    monkeypatch.setattr(lanes, "_lanes", lanes.Lanes())  # whose buffers are not there yet
    case = random_case(3, n_clauses=0, n_events=1)
    assert rows_of(Gpu.build(case.table).match(case.events)) == case.expected() == [[]]


@pytest.mark.parametrize("few", [False, True], ids=["a lane", "lanes of few"])
def test_the_device_brings_back_what_may_be_among_the_best(few, request) -> None:
    if few:
        request.getfixturevalue("lanes_of_few")
    rng = np.random.default_rng(7)
    weights = rng.random(200).tolist()
    criteria = [
        Criterion(f"c{i:03}", attr("a").eq(i % 4).weight(weight) & (attr("b") > i % 5))
        for i, weight in enumerate(weights)
    ]
    best = max(criteria, key=lambda one: one.score({"a": 1, "b": 9}) or 0.0)
    events = [{"a": i % 4, "b": i % 7} for i in range(12)]
    wanted = Wanted(2, np.arange(len(criteria), dtype=np.int32))
    segments = [
        Segment.build([one.expression for one in criteria], matcher=name)
        for name in ("gpu", "scan")
    ]
    gpu, scan = (one.best(one.encoder.encode(events, NOW), wanted) for one in segments)
    assert gpu.rows.tolist() == scan.rows.tolist()
    assert gpu.scores is not None
    assert gpu.scores.tolist() == scan.scores.tolist()
    matches = len(segments[1].match(segments[1].encoder.encode(events, NOW)).rows)
    assert 4 * gpu.candidates < 3 * matches
    live, plain = (Index.build(criteria, matcher=name) for name in ("gpu", "scan"))
    for index in (live, plain):
        index.remove(best.id)  # whose clause is no longer sure
    for event in events:
        assert live.top(event, 2) == plain.top(event, 2)


def test_every_form_of_a_predicate_occurs() -> None:
    cases = [random_case(seed, **SHAPES["huge domains"]) for seed in range(2)]
    cases += [random_case(seed, **SHAPES["large domains"]) for seed in range(2)]
    forms = set()
    for case in cases:
        for word in layout._predicate_words(case.table).words:
            forms.add((int(word & layout.FORM), bool(word & layout.REFUSES)))
    span, mask, table = int(layout.SPAN), int(layout.MASK), int(layout.TABLE)
    assert forms >= {(span, False), (span, True), (mask, False), (mask, True), (table, False)}


def test_several_threads_ask_at_once() -> None:
    cases = [random_case(seed) for seed in range(4)]
    matchers = [Gpu.build(case.table) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda pair: pair[0].match(pair[1].events), zip(matchers, cases, strict=True))
        )
    assert [rows_of(hits) for hits in found] == [case.expected() for case in cases]


def test_segments_that_do_not_fit_take_turns(monkeypatch) -> None:
    cases = [random_case(seed) for seed in range(3)]
    matchers = [Gpu.build(case.table) for case in cases]
    residents = device._Residents()
    monkeypatch.setattr(device, "_RESIDENTS", residents)
    room = max(one.nbytes for one in matchers) + device._RESERVE
    held = residents._placed
    monkeypatch.setattr(device, "_free", lambda: room - sum(one.nbytes for one in held.values()))
    for i in (0, 1, 2, 2, 0):
        assert rows_of(matchers[i].match(cases[i].events)) == cases[i].expected()
        assert len(held) == 1


def test_a_segment_larger_than_the_device_is_refused(monkeypatch) -> None:
    case = random_case(1)
    monkeypatch.setattr(device, "_free", lambda: 100.0)
    with pytest.raises(
        DeviceError, match=r"takes 0\.0 GB and the device has 0\.0 GB; make smaller"
    ):
        Gpu.build(case.table).match(case.events)


def test_what_is_let_go_leaves_the_device() -> None:
    case = random_case(1)
    before = len(device._RESIDENTS._placed)
    matcher = Gpu.build(case.table)
    matcher.warm()
    assert len(device._RESIDENTS._placed) == before + 1
    del matcher
    assert len(device._RESIDENTS._placed) == before


def test_it_goes_to_other_processes_without_its_device() -> None:
    case = random_case(1)
    matcher = pickle.loads(pickle.dumps(Gpu.build(case.table)))
    assert rows_of(matcher.match(case.events)) == case.expected()


TEXTS = [
    "i8 > 3 and i16 <> 300", "u8 between 1 and 200", "u16 = 65535", "i32 in (-5, 7)", "u32 > 4",
    "i64 >= 9007199254740993", "f32 < 0.1", "f64 between -0.5 and 1e300", "f64 = 7", "s like 'a%'",
    "s in ('abc', 'b') or s is null", "b = true", "d > DATE '2024-01-01'", "i32 is not null",
    "t < TIMESTAMP '2024-01-01 12:00:00'", "m = 1.50", "code rlike '^x' and code <> 'xyz'",
    "version(s) > '1.2'", "nobody = 3", "s > 3", "code in ('xyz', 'y')",
]  # fmt: skip

CUT = [
    *(Criterion(text, parse(text)) for text in TEXTS),
    Criterion("two columns", attr("i8") < attr("i32")),
]


def cut_columns(n: int) -> pa.Table:
    """A column of each kind that a device takes, with nulls, and not from the first bit on."""
    rng = np.random.default_rng(3)
    lacking = rng.random(n) < 0.3

    def drawn(kind, values):
        values = [values[i] for i in rng.integers(0, len(values), n)]
        return pa.array(
            [None if no else one for one, no in zip(values, lacking, strict=True)], kind
        )

    first = dt.datetime(2023, 12, 31)
    columns = {
        "i8": drawn(pa.int8(), [-128, 3, 4]), "u8": drawn(pa.uint8(), [0, 1, 200, 255]),
        "i16": drawn(pa.int16(), [300, -300]), "u16": drawn(pa.uint16(), [0, 65535]),
        "i32": drawn(pa.int32(), [-5, 7, 8]), "u32": drawn(pa.uint32(), [4, 5, 2**32 - 1]),
        "i64": drawn(pa.int64(), [2**53, 2**53 + 1, -(2**63)]),
        "f32": drawn(pa.float32(), [0.1, 0.0625, float("nan")]),
        "f64": drawn(pa.float64(), [-0.5, 7.0, float("inf"), float("nan"), 1e300]),
        "s": drawn(pa.string(), ["abc", "b", "", "1.3", "1.2"]),
        "b": drawn(pa.bool_(), [True, False]),
        "d": drawn(pa.date32(), [first.date(), dt.date(2024, 1, 2)]),
        "t": drawn(pa.timestamp("us"), [first, dt.datetime(2024, 1, 1, 12)]),
        "m": drawn(pa.decimal128(9, 2), [decimal.Decimal("1.50"), decimal.Decimal("1.51")]),
        "code": drawn(pa.string(), ["xyz", "y", "XYZ"]).dictionary_encode(),
    }  # fmt: skip
    return pa.table(columns).slice(3)


def test_the_device_cuts_columns_as_the_encoder_does() -> None:
    segment = Segment.build([one.expression for one in CUT], matcher="gpu")
    table = cut_columns(60)
    columns = arrow.columns(segment.encoder, table, NOW)
    assert columns is not None
    assert len(columns.columns) > table.num_columns  # two together are one more
    assert {type(one) for one in columns.columns} == {Numbers, Codes}
    found, expected = cut(columns), arrow.encode(segment.encoder, table, NOW)
    assert found.starts.tolist() == expected.starts.tolist()
    assert found.spaces.tolist() == expected.spaces.tolist()
    assert len(expected.spaces) > 500


@pytest.mark.parametrize(
    ("text", "column"),
    {
        "a list": ("x = 1", pa.array([[1, 2], None])),
        "an object": ("x.y = 1", pa.array([{"y": [1]}, None])),
        "null told from absent": ("null_value(x)", pa.array([1, None])),
    }.values(),
    ids=["a list", "an object", "null told from absent"],
)
def test_other_columns_are_left_to_the_encoder(text, column) -> None:
    segment = Segment.build([parse(text)], matcher="gpu")
    assert arrow.columns(segment.encoder, pa.table({"x": column}), NOW) is None


def test_an_index_lets_the_device_encode_many_rows(monkeypatch) -> None:
    monkeypatch.setattr("remuda.index.segment._MANY", 20)
    monkeypatch.setattr(arrow, "encode", None)  # nobody may call it
    index = Index.build(CUT, matcher="gpu")
    table = cut_columns(40)
    matches = index.match_many(table, threads=1)
    for i, event in enumerate(table.to_pylist()):
        assert matches.ids(i) == [one.id for one in CUT if one.holds(event)]
    assert index.count_many(table).tolist() == [len(matches.ids(i)) for i in range(len(table))]


CRITERIA = [
    Criterion("young", parse("age < 30"), tags=frozenset({"x"})),
    Criterion("either", parse("age > 60 or city in ('Bern', 'Basel')")),
    Criterion("not-bern", parse("not city = 'Bern'")),
    Criterion("cnf", parse("(age > 18 or city = 'Bern') and (tags = 'a' or tags = 'b')")),
]
EVENTS = [{}, {"age": 25, "city": "Bern"}, {"age": 70, "city": ["Bern", "Basel"], "tags": ["a"]}]
EXPECTED = [[one.id for one in CRITERIA if one.holds(event)] for event in EVENTS]


@pytest.mark.parametrize(("saved", "opened"), [("gpu", None), ("auto", "gpu"), ("gpu", "auto")])
def test_an_index_is_opened_by_another_matcher_than_it_was_saved_with(
    saved, opened, tmp_path
) -> None:
    Index.build(CRITERIA, matcher=saved).save(tmp_path / "index")
    index = load(tmp_path / "index", matcher=opened)
    assert index.matcher == (opened or saved)
    index.warm()
    matches = index.match_many(EVENTS)
    assert [matches.ids(i) for i in range(len(EVENTS))] == EXPECTED
    assert index.match(EVENTS[1], tags={"x"}) == ["young"]
    index.remove("either")
    index.save(tmp_path / "index")
    assert load(tmp_path / "index").match(EVENTS[2]) == [x for x in EXPECTED[2] if x != "either"]


def test_a_matcher_that_is_none_is_refused_when_an_index_is_opened(tmp_path) -> None:
    Index.build(CRITERIA).save(tmp_path / "index")
    with pytest.raises(ValueError, match="there is no matcher 'cpu'"):
        load(tmp_path / "index", matcher="cpu")


def test_the_worked_cases() -> None:
    cases = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    each = 20 if os.environ["NUMBA_ENABLE_CUDASIM"] == "1" else 1  # a device is asked about all
    searches = [case for case in cases if case["kind"] == "search"][::each]
    for case in searches:
        index = Index.build(map(Criterion.from_json, case["criteria"]), matcher="gpu")
        assert sorted(index.match_many([case["event"]], now=NOW).ids(0)) == sorted(case["expect"])
    assert len(searches) > 40


def test_without_a_device_it_says_what_is_missing() -> None:
    said = _said(
        "index = Index.build([Criterion('a', parse('x > 1'))], matcher='gpu')\n"
        "try: index.match({'x': 2})\n"
        "except DeviceError as error: print(error)\n"
    )
    assert "the matcher gpu needs a CUDA device: " in said
    assert "install NVIDIA's driver and remuda[gpu]" in said


def test_nothing_imports_cuda_unless_asked() -> None:
    said = _said(
        "for name in ('auto', 'gpu'):\n"
        "    index = Index.build([Criterion('a', parse('x > 1'))], matcher=name)\n"
        "    if name == 'auto': print(index.match({'x': 2}))\n"
        "print([name for name in sys.modules if name.startswith('numba.cuda')])\n"
    )
    assert said.split("\n")[:2] == ["['a']", "[]"]


def _said(script: str) -> str:
    head = (
        "import sys\nfrom remuda.index.index import Index\n"
        "from remuda.language.criterion import Criterion\n"
        "from remuda.language.text import parse\nfrom remuda.errors import DeviceError\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + script], env={**os.environ, **_WITHOUT}, check=True,
        capture_output=True, text=True,
    ).stdout  # fmt: skip


def _reach(case: Case) -> list[int]:
    found = [row for rows in case.expected() for row in rows]
    return np.bincount(np.array(found, int), minlength=case.table.n_clauses).tolist()
