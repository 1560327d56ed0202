"""Events from Arrow columns are the same as from Python objects."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.encoding import arrow
from remuda.encoding.encoder import Encoder
from remuda.encoding.plan import plan
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.attributes import Attribute
from remuda.model.conditions import Exists
from remuda.model.expressions import Predicate
from remuda.model.functions import FUNCTIONS
from remuda.model.terms import Call
from strategies import NOW, count, expressions_of_terms
from strategies import expressions_of_trees as expressions

COLUMNS = {
    "int": (pa.int64(), [1, 2, None, -1, 2**53 + 1, 0]),
    "small": (pa.int8(), [1, 2, None, -1, 3, 0]),
    "big": (pa.uint64(), [1, 2**63 + 5, None, 2**53, 2**53 + 1, 0]),
    "float": (pa.float64(), [0.1, 2.5, None, float("nan"), float("inf"), 0.30000000000000004]),
    "single": (pa.float32(), [0.5, 2.5, None, float("nan"), float("-inf"), 1.0]),
    "decimal": (pa.decimal128(10, 2), [Decimal("0.30"), Decimal(1), None, Decimal("2.5"), 0, 3]),
    "bool": (pa.bool_(), [True, False, None, True, False, True]),
    "string": (pa.string(), ["a", "ab", None, "", "1.2-rc1", "é"]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "ab", None, "", "a", "b"]),
    "date": (pa.date32(), [date(2024, 2, 29), None, date(1970, 1, 1)] * 2),
    "timestamp": (pa.timestamp("us", "UTC"), [datetime(2024, 2, 29, 12, tzinfo=UTC), None] * 3),
    "naive": (pa.timestamp("ns"), [datetime(1970, 1, 1), None] * 3),
    "numbers": (pa.list_(pa.int64()), [[1], [2, 3], None, [], [None, 1], [3, 2, 2]]),
    "strings": (pa.large_list(pa.string()), [["a"], ["b", "a"], None, [], [None], ["a", "b"]]),
    "struct": (pa.struct({"k": pa.int64()}), [{"k": 1}, {"k": None}, None, {"k": 2}, {"k": 1}, {}]),
    "nested": (pa.list_(pa.list_(pa.int64())), [[[1]], [[1], [2]], None, [], [[]], [None]]),
    "objects": (
        pa.list_(pa.struct({"k": pa.list_(pa.int64())})),
        [[{"k": [1]}, {"k": [2, 3]}], [{"k": None}], None, [], [None], [{"k": []}]],
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        [[("k", 1)], [("k", 2), ("l", 3)], None, [], [("l", 1)], [("k", None)]],
    ),
}


def table_of(columns: dict[str, str]) -> pa.Table:
    """A table whose columns are named as asked; each is one of COLUMNS."""
    return pa.table({n: pa.array(COLUMNS[c][1], COLUMNS[c][0]) for n, c in columns.items()})


def rows_of(table: pa.Table) -> list[dict[str, object]]:
    return table.to_pylist(maps_as_pydicts="lossy")


@pytest.mark.soak
@settings(max_examples=count(150, 10_000))
@given(
    criteria=st.lists(expressions | expressions_of_terms, min_size=1, max_size=5),
    columns=st.fixed_dictionaries(
        {},
        optional={n: st.sampled_from(list(COLUMNS)) for n in ("a", "b", "c", "tags", "items")},
    ),
)
def test_columns_and_objects_give_the_same_spaces(criteria, columns) -> None:
    encoder = Encoder(plan(criteria)[1])
    table = table_of(columns) if columns else pa.table({"z": pa.array([1, 2])})
    by_column = arrow.encode(encoder, table, NOW)
    by_row = encoder.encode(rows_of(table), NOW)
    assert by_column.starts.tolist() == by_row.starts.tolist()
    assert by_column.spaces.tolist() == by_row.spaces.tolist()


def test_computed_columns_keep_spaces_ascending() -> None:
    a, b = attr("a"), attr("b")
    criteria = [b > 1, a + b > 2, a == 1, -a < 0, a.prefix("x"), a < b, a.size() > 1, b.exists()]
    encoder = Encoder(plan(criteria)[1])
    table = pa.table({"a": [1, None, 3, -2], "b": [1.5, 2.0, None, 4.0]})
    found = arrow.encode(encoder, table, NOW)
    assert found.spaces.tolist() == encoder.encode(table.to_pylist(), NOW).spaces.tolist()


@pytest.mark.parametrize(
    "path", ["c.k", "c[0]", "c[-1]", "c.0", "c[*].k", "c[*]", "c[*].k[*]", "c[0].k", "$", "$..k"]
)
@pytest.mark.parametrize("column", COLUMNS)
def test_paths_walk_columns_as_they_walk_objects(path: str, column: str) -> None:
    criteria = [attr(path).exists(), attr(path).isin(1, 2, "a"), attr(path).size() >= 2]
    steps = Attribute.parse(path).steps
    for walk, empty in product((False, True), repeat=2):  # as SQL reads them, and half of it
        term = Attribute(steps, walk, empty)
        criteria += [Predicate(term, Exists()), Predicate(Call("size", (term,)), Exists())]
    encoder = Encoder(plan(criteria)[1])
    table = table_of({"c": column})
    by_column = arrow.encode(encoder, table, NOW)
    by_row = encoder.encode(rows_of(table), NOW)
    assert by_column.starts.tolist() == by_row.starts.tolist()
    assert by_column.spaces.tolist() == by_row.spaces.tolist()


@pytest.mark.parametrize("column", COLUMNS)
def test_functions_of_columns_are_those_of_objects(column: str) -> None:
    """A function that lacks a value is missing; one that lacks all elements of a list is not."""
    terms = [
        Call(name, (replace(Attribute.parse(path), empty=empty),))
        for name, function in FUNCTIONS.items()
        for path, empty in product(("c", "c[0]", "c[*].k"), (False, True))
        if function.least <= 1 and function.most != 0 and not function.clock
    ]
    encoder = Encoder(plan([Predicate(one, Exists()) for one in terms])[1])
    table = table_of({"c": column})
    by_column = arrow.encode(encoder, table, NOW)
    for i, row in enumerate(rows_of(table)):
        assert by_column.one(i).spaces.tolist() == encoder.spaces(row, NOW).tolist(), row


@pytest.mark.parametrize("bound", [math.inf, -math.inf, Decimal("Infinity"), Decimal("-Infinity")])
def test_computed_columns_are_compared_with_infinity(bound: float | Decimal) -> None:
    total = attr("a") + attr("b")
    encoder = Encoder(plan([total < bound, total <= bound, total == bound, total > bound])[1])
    for kind, values in ((pa.int64(), [1, None, -2]), (pa.float64(), [1.5, math.inf, -math.inf])):
        table = pa.table({name: pa.array(values, kind) for name in ("a", "b")})
        by_column = arrow.encode(encoder, table, NOW)
        for i, row in enumerate(rows_of(table)):
            assert by_column.one(i).spaces.tolist() == encoder.spaces(row, NOW).tolist(), row


def test_slices_and_chunks_are_read_where_they_are() -> None:
    encoder = Encoder(plan([attr("a").isin(2, 3), attr("b").subset("a", "b")])[1])
    table = table_of({"a": "numbers", "b": "strings"})
    chunked = pa.concat_tables([table.slice(1, 2), table.slice(3)])
    for part in (table.slice(2, 3), chunked, table.to_batches()[0].slice(1)):
        found = arrow.encode(encoder, part, NOW)
        rows = part.to_pylist()
        assert np.array_equal(found.spaces, encoder.encode(rows, NOW).spaces)


STRANGE = {
    "a timestamp beyond Python's calendar": pa.array([10**18], pa.timestamp("us", "UTC")),
    "a date beyond Python's calendar": pa.array([-800_000], pa.int32()).cast(pa.date32()),
    "a map whose keys are numbers": pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())),
}


@pytest.mark.parametrize("column", STRANGE.values(), ids=list(STRANGE))
@pytest.mark.parametrize("listed", [False, True])
def test_a_strange_value_is_present_and_satisfies_nothing(column, listed) -> None:
    if listed:
        column = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), column)
    exists, early, inside = attr("x").exists(), attr("x") < date(2024, 1, 1), attr("x.k").exists()
    index = Index.build(map(Criterion, "abc", (exists, early, inside)))
    assert index.match_many(pa.table({"x": column})).ids(0) == ["a"]


def test_maps_in_lists_are_objects() -> None:
    column = pa.array([[[("k", 1)]], [[("k", 2)]]], pa.list_(pa.map_(pa.string(), pa.int64())))
    index = Index.build([Criterion("c", attr("x").isin({"k": 1}))])
    assert index.count_many(pa.table({"x": column})).tolist() == [1, 0]
