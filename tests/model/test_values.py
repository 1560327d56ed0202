from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import InvalidCriterion
from remuda.language.python import attr
from remuda.model.conditions import In, Range
from remuda.model.values import Kind, key, number, ordered, tidy
from strategies import predicates, values

a = attr("a")
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
IN_INDIA = timezone(timedelta(hours=5, minutes=30))


class Colour(str, Enum):  # noqa: UP042 (a plain StrEnum prints as its value)
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    y: int


class Tags(list):
    pass


EQUAL = {
    "an integer and a float": (1, 1.0),
    "an integer and a decimal": (1, Decimal("1.00")),
    "a float is its shortest decimal": (0.1, Decimal("0.1")),
    "large floats as well": (1e23, 10**23),
    "minus zero": (0, -0.0),
    "infinities": (math.inf, Decimal("Infinity")),
    "2^53 as a float": (2**53, float(2**53)),
    "NumPy's integers": (1, np.int64(1)),
    "NumPy's floats": (0.5, np.float32(0.5)),
    "NumPy's booleans": (True, np.bool_(True)),
    "NumPy's strings": ("x", np.str_("x")),
    "enumerated strings": ("red", Colour.RED),
    "enumerated integers": (1, Level.LOW),
    "an instant in two zones": (NOON, NOON.astimezone(IN_INDIA)),
    "a naive timestamp is UTC": (NOON, NOON.replace(tzinfo=None)),
    "NumPy's timestamps": (NOON, np.datetime64("2024-02-29T12:00:00", "ns")),
    "NumPy's coarser timestamps": (NOON, np.datetime64("2024-02-29T12", "h")),
    "NumPy's dates": (date(2024, 2, 29), np.datetime64("2024-02-29")),
    "objects, deeply": ({"k": [1, {"l": 2}]}, {"k": [1.0, {"l": Decimal(2)}]}),
    "objects in any order": ({"k": 1, "l": 2}, {"l": 2, "k": 1}),
    "inner tuples": ([1, [2]], (1, (2,))),
}


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_equal(one, other):
    assert key(one) == key(other)
    assert hash(key(one)) == hash(key(other))
    assert In((one,)).accepts(other)
    assert In((other,)).accepts(one)


DIFFERENT = {
    "2^53 and its neighbour": (2**53, 2**53 + 1),
    "the neighbour as a float": (float(2**53), 2**53 + 1),
    "true and 1": (True, 1),
    "false and 0": (False, 0),
    "text and number": ("1", 1),
    "text and truth": ("true", True),
    "upper and lower case": ("a", "A"),
    "composed and decomposed": ("é", "e\u0301"),
    "a float and its binary expansion": (0.1, Decimal(1 / 10)),
    "a sum of floats": (0.3, 0.1 + 0.2),
    "a date and its midnight": (date(2024, 2, 29), datetime(2024, 2, 29)),
    "a microsecond": (NOON, NOON + timedelta(microseconds=1)),
    "lists in another order": ([1, 2], [2, 1]),
    "a list and its element": ([1], 1),
    "an object with more": ({"k": 1}, {"k": 1, "l": 2}),
    "truth inside": ({"k": 1}, {"k": True}),
    "an object and the text of its kind": ({}, "object"),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different(one, other):
    assert key(one) != key(other)
    assert not In((one,)).accepts(other)


NOTHING_EQUALS = {
    "NaN": math.nan,
    "a decimal NaN": Decimal("NaN"),
    "a signalling NaN": Decimal("sNaN"),
    "bytes": b"x",
    "a set": {1},
    "a complex number": 1j,
    "a time span": timedelta(1),
    "an object of no known type": object(),
    "a moment beyond the calendar": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
}


@pytest.mark.parametrize("value", NOTHING_EQUALS.values(), ids=NOTHING_EQUALS)
def test_equals_nothing_and_has_no_order(value):
    assert key(value) != key(value)
    assert ordered(value) is None
    event = {"a": value}
    assert not (a.isin(1, "x") | a.within() | a.prefix("") | a.overlaps(1)).holds(event)
    assert (a.exists() & ~a.eq(1)).holds(event)


@pytest.mark.parametrize("value", [None, *NOTHING_EQUALS.values()], ids=["null", *NOTHING_EQUALS])
def test_what_equals_nothing_is_no_operand(value):
    with pytest.raises(InvalidCriterion):
        a.isin(1, value)


ORDERED = {
    "numbers": ([-math.inf, -1, -0.5, 0, 0.1, Decimal("0.11"), 2**53, 2**53 + 1, math.inf]),
    "strings, by code point": (["", "A", "B", "a", "ab", "b", "é", "日", "😀"]),
    "dates": [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)],
    "timestamps": [datetime(1969, 1, 1), NOON, NOON + timedelta(microseconds=1)],
}


@pytest.mark.parametrize("ascending", ORDERED.values(), ids=ORDERED)
def test_order(ascending):
    for i, bound in enumerate(ascending):
        for j, value in enumerate(ascending):
            assert Range(lower=bound).accepts(value) is (j > i)
            assert Range(upper=bound).accepts(value) is (j < i)
            assert Range(bound, bound, True, True).accepts(value) is (j == i)


def test_kinds_are_ordered_among_their_own():
    samples = {
        Kind.NUMBER: 1,
        Kind.STRING: "1",
        Kind.DATE: date(2024, 1, 1),
        Kind.TIMESTAMP: datetime(2024, 1, 1),
    }
    for kind, bound in samples.items():
        for other, value in samples.items():
            assert Range(lower=bound, lower_closed=True).accepts(value) is (kind is other)
    assert not Range(lower=0).accepts(True)


def test_bounds_must_have_an_order_and_one_kind():
    for bounds in ((True, None), (1, "x"), (math.nan, None), ([1], None), (date.max, NOON)):
        with pytest.raises(InvalidCriterion):
            Range(*bounds)


MISSING = {
    "null": None,
    "an empty list": [],
    "an empty tuple": (),
    "an empty array": np.array([]),
    "an empty list of another type": Tags(),
}


@pytest.mark.parametrize("value", MISSING.values(), ids=MISSING)
def test_missing(value):
    assert tidy(value) is None
    assert (a.missing() & ~a.eq(1)).holds({"a": value})
    assert not (a.exists() | a.eq(1) | a.eq(1).strong() | a.superset()).holds({"a": value})


LISTS = {
    "a list": [1, "x"],
    "a tuple": (1, "x"),
    "a list of another type": Tags([1, "x"]),
    "an array": np.array([1, "x"], dtype=object),
    "a named tuple": Point(1, "x"),
}


@pytest.mark.parametrize("value", LISTS.values(), ids=LISTS)
def test_lists_are_many_values(value):
    event = {"a": value}
    assert tidy(value) == [1, "x"]
    assert (a.eq(1) & a.eq("x") & a.prefix("x") & (a > 0)).holds(event)
    assert (a.superset("x") & a.subset(1, "x", 3) & a.equalset("x", 1.0)).holds(event)
    assert a.size().eq(2).holds(event)


ELEMENTS = {
    "a null element satisfies nothing": ([None], a.isin(1, "x") | a.within(), False),
    "but is there": ([None], a.exists(), True),
    "and can be left": ([None], ~a.eq(1), True),
    "and is an element of the whole": ([None, 1], a.subset(1), False),
    "it does not disturb the others": ([None, 1], a.eq(1) & a.superset(1), True),
    "no element may satisfy a denial": ([1, 2], ~a.eq(1), False),
    "one inner list": ([[1]], a.eq([1]), True),
    "which is not flattened": ([[1]], a.eq(1), False),
    "a list is not its own element": ([1], a.eq([1]), False),
    "an object": ({"k": 1}, a.eq({"k": 1.0}), True),
    "an object among others": ([3, {"k": 1}], a.eq({"k": 1}), True),
    "an object has no order": ({"k": 1}, a > 0, False),
    "duplicates count once": ([1, 1, 1.0], a.equalset(1), True),
    "a scalar is no list": (1, a.superset(1) | a.subset(1) | a.overlaps(1), False),
    "so it strongly is no subset": (1, a.subset(1).strong(), True),
    "mixed types": (["1", 1, True], a.equalset(1, "1", True), True),
}


@pytest.mark.parametrize(("value", "predicate", "truth"), ELEMENTS.values(), ids=ELEMENTS)
def test_elements(value, predicate, truth):
    assert predicate.holds({"a": value}) is truth


NUMBERS = {
    "a whole float": (2.0, 2, int),
    "a float": (0.1, Decimal("0.1"), Decimal),
    "a large float": (1e300, Decimal("1e300"), Decimal),
    "an infinity": (math.inf, math.inf, float),
    "an integer of any size": (10**400, 10**400, int),
    "a NumPy float": (np.float64(0.1), Decimal("0.1"), Decimal),
}


@pytest.mark.parametrize(("value", "exact", "kind"), NUMBERS.values(), ids=NUMBERS)
def test_exact_numbers(value, exact, kind):
    assert number(value) == exact
    assert type(number(value)) is kind


@pytest.mark.parametrize("value", [True, "1", None, math.nan, [1], {}, np.bool_(True)])
def test_no_numbers(value):
    assert number(value) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_decimal_that_is_written(value):
    assert number(value) == Decimal(repr(value))


@given(predicates, values, st.sampled_from([*NOTHING_EQUALS.values(), 10**400, "\ud800"]))
def test_no_value_breaks_a_predicate(predicate, value, strange):
    for found in (value, strange, [value, strange], {"age": strange, "k": [strange]}):
        event = dict.fromkeys(("a", "b", "c", "user", "tags", "odd name", "items"), found)
        assert predicate.holds(event) in (True, False)
        predicate.score(event)
