"""Columns of every Arrow type give what their rows give as objects, whole, sliced and chunked."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import SHAPES, leaves

from remuda.encoding import arrow
from remuda.encoding.encoder import Encoder
from remuda.encoding.plan import plan
from remuda.language.python import attr
from strategies import NOW, count
from strategies import expressions_of_terms as expressions

PATHS = ("c", "c.k", "c[0]", "c[-1]", "c[*]", "c[*].k", "c.k[0]", "c.k.k", "c[0].k", "$..k")
LEAVES = leaves()


def asked(path: str) -> list[Any]:
    one = attr(path)
    return [
        *(one.exists(), one.isin(1, 2, "a", True), one.isin({"k": 1, "l": 1}, [1, 2], {"k": 1})),
        *(one > 1, one < Decimal("2.6"), one.prefix("a"), one.matches("A|a.*"), one.suffix("b")),
        *(one < date(2024, 2, 1), one >= datetime(2024, 2, 29, 12, tzinfo=UTC)),
        *(
            one < datetime(2024, 1, 1, tzinfo=UTC),
            one.superset(1),
            one.subset(1, 2),
            one.length() > 1,
        ),
        *(one.length() > 1, one.size() >= 2, one.add(1).eq(2), one.datetime("YEAR").eq(1970)),
    ]


ENCODER = Encoder(plan([expression for path in PATHS for expression in asked(path)])[1])


def python(one: Any) -> Any:
    """What Python gets of a scalar; an object that equals nothing where it gets nothing."""
    try:
        return one.as_py(maps_as_pydicts="lossy")
    except Exception:
        return parts_of(one)


def parts_of(one: Any) -> Any:
    """The same piece by piece, where one piece is what Python cannot have."""
    if isinstance(one, pa.StructScalar) and len(set(one)) == len(list(one)):
        return {name: python(one[name]) for name in one}
    if isinstance(one, pa.MapScalar):
        return {python(entry["key"]): python(entry["value"]) for entry in one.values}
    if isinstance(one, pa.ListScalar):
        return [python(part) for part in one.values]
    if isinstance(one, pa.DictionaryScalar):
        return python(one.value)
    if isinstance(one, pa.RunEndEncodedScalar | pa.UnionScalar):
        return python(one.value)
    if isinstance(one, pa.TimestampScalar) and one.type.unit == "ns":
        return datetime.fromtimestamp(one.value // 10**9, UTC).replace(
            microsecond=one.value % 10**9 // 1000
        )
    return object()


def assert_same(column: Any, encoder: Encoder = ENCODER) -> None:
    by_column = arrow.encode(encoder, pa.table({"c": column}), NOW)
    rows = [{"c": python(one)} for one in column]
    by_row = [encoder.spaces(row, NOW).tolist() for row in rows]
    assert [by_column.one(i).spaces.tolist() for i in range(len(rows))] == by_row


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("leaf", LEAVES)
def test_every_type_is_read_as_its_rows(leaf: str, shape: str) -> None:
    column = SHAPES[shape](LEAVES[leaf])
    for part in (column, column.slice(1), column.slice(1, 2), column.slice(0, 0)):
        assert_same(part)
    assert_same(pa.chunked_array([column.slice(2), column.slice(0, 1)]))
    assert_same(pa.chunked_array([], column.type))


@pytest.mark.soak
@settings(max_examples=count(100, 10_000))
@given(
    criteria=st.lists(expressions, min_size=1, max_size=5),
    leaf=st.sampled_from(sorted(LEAVES)),
    shapes=st.lists(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=2),
    cut=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    name=st.sampled_from(("a", "b", "tags", "items", "user")),
)
def test_drawn_types_are_read_as_their_rows(criteria, leaf, shapes, cut, name) -> None:
    column = LEAVES[leaf]
    for shape in shapes:
        if len(column) == 5:
            column = SHAPES[shape](column)
    encoder = Encoder(plan(criteria)[1])
    column = column.slice(*cut)
    by_column = arrow.encode(encoder, pa.table({name: column}), NOW)
    by_row = [encoder.spaces({name: python(one)}, NOW).tolist() for one in column]
    assert [by_column.one(i).spaces.tolist() for i in range(len(column))] == by_row
