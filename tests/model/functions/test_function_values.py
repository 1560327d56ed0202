"""The scalar functions, by named rows; tests/spark/test_term_functions.py has Spark as referee."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.errors import InvalidCriterion
from remuda.model.functions import FUNCTIONS
from strategies import count

MOST, LEAST = 2**63 - 1, -(2**63)
D = Decimal


def moment(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


LONG = "a" * 2**23
ROWS: list[tuple[str, str, tuple[Any, ...], Any]] = [
    ("a text of 2^24 characters is one", "concat", (LONG, LONG), LONG + LONG),
    ("a longer one is missing", "concat", (LONG, LONG, "a"), None),
    ("the joint counts", "concat_ws", (",", LONG, LONG), None),
    ("what replaces counts", "replace", (LONG, "a", "bbb"), None),
    ("what repeats counts", "repeat", (LONG, 3), None),
    ("what pads counts", "lpad", ("a", 2**24 + 1), None),
    ("and behind", "rpad", ("a", 2**24 + 1), None),
    ("as do spaces", "space", (2**24 + 1,), None),
    ("what is written over counts", "overlay", (LONG, LONG + "a", 2**23 + 1), None),
    ("what patterns replace counts", "regexp_replace", (LONG, "a", "b" * 1000), None),
    ("joined lists count", "array_join", ([LONG, LONG], ","), None),
    ("distances of long texts are not counted", "levenshtein", (LONG, LONG), None),
    ("a list of 100,000 is one", "array_repeat", (1, 100_000), [1] * 100_000),
    ("a longer one is missing, too", "array_repeat", (1, 100_001), None),
    ("what stands in a repeated list counts", "array_repeat", ([1] * 1000, 100), None),
    ("as does a long list of lists", "flatten", ([[1] * 1000] * 101,), None),
    ("as is a long sequence", "sequence", (0, 100_000), None),
    ("a sequence of all integers", "sequence", (LEAST, MOST), None),
    ("what escapes counts", "url_encode", ("é" * 2**21,), None),
    ("JSON of 100 levels is read", "json_array_length", ("[" * 100 + "]" * 100,), 1),
    ("JSON of 101 levels is missing", "json_array_length", ("[" * 101 + "]" * 101,), None),
    ("however deep", "get_json_object", ("[" * 10**5, "$"), None),
    ("brackets in texts are no levels", "json_array_length", (f'["{"[" * 200}"]',), 1),
    ("nor are those behind a quote", "json_array_length", (f'["\\"{"[" * 200}"]',), 1),
    ("many lists beside each other", "json_array_length", (f"[{'[],' * 500}[]]",), 501),
    ("an integer of 10,000 digits", "get_json_object", ("1" * 10_000, "$"), None),
    ("half of a character", "get_json_object", ('{"a": "\\ud800"}', "$.a"), None),
    ("a path by its column", "get_json_object", ('{"a": 1}', "$.*"), None),
    ("a bucket beyond all integers", "width_bucket", (0.0, -1e308, 1.0, MOST - 1), LEAST),
    ("a bucket that is no number", "width_bucket", (1e308, -1.7e308, 1.7e308, 2), 1),
    ("integers are added", "add", (2, 3), 5),
    ("an integer over 64 bits is missing", "add", (MOST, 1), None),
    ("an integer under 64 bits is missing", "subtract", (LEAST, 1), None),
    ("a product over 64 bits is missing", "multiply", (2**32, 2**31), None),
    ("an operand over 64 bits is none", "add", (2**64, -1), None),
    ("the negative of the least is missing", "negative", (LEAST,), None),
    ("the absolute of the least is missing", "abs", (LEAST,), None),
    ("decimals are added exactly", "add", (D("0.1"), D("0.2")), D("0.3")),
    ("doubles are added as doubles", "add", (0.1, 0.2), 0.30000000000000004),
    ("a double makes decimals doubles", "multiply", (D("0.1"), 3.0), 0.30000000000000004),
    ("a decimal of 38 digits is one", "add", (D("9" * 38), 0), D("9" * 38)),
    ("a decimal of 39 digits is missing", "add", (D("9" * 38), 1), None),
    ("zeros at the end are no digits", "multiply", (D("2." + "0" * 30), D("3." + "0" * 30)), 6),
    ("a decimal product that is inexact in 38 digits", "multiply", (D("1." + "3" * 30),) * 2, None),
    ("an infinite decimal is no number", "add", (D("Infinity"), 1), None),
    ("a huge decimal is no number", "add", (D("1e999999"), 1), None),
    ("a tiny decimal is no number", "add", (D("1e-999999"), 1), None),
    ("there is no decimal -0", "multiply", (D("-1"), D("0.0")), D("0.0")),
    ("booleans are no numbers", "add", (True, 1), None),
    ("texts are no numbers", "add", ("1", 1), None),
    ("numpy's numbers are numbers", "add", (np.int64(2), np.float64(0.5)), 2.5),
    ("a date and days", "add", (date(2024, 2, 28), 2), date(2024, 3, 1)),
    ("days and a date", "add", (2, date(2024, 2, 28)), date(2024, 3, 1)),
    ("a date less days", "subtract", (date(2024, 3, 1), 1), date(2024, 2, 29)),
    ("the text of a date and days", "add", ("2024-02-28", 2), date(2024, 3, 1)),
    ("a year is no text of a date here", "add", ("2024", 2), None),
    ("a timestamp and days", "add", (moment(2024, 1, 1), 1), None),
    (
        "a date less a date, in microseconds",
        "subtract",
        (date(1970, 1, 2), date(1970, 1, 1)),
        86_400_000_000,
    ),
    (
        "a text less a text, both of ISO form",
        "subtract",
        ("1970-01-02", "1970-01-01"),
        86_400_000_000,
    ),
    ("years are no moments here", "subtract", ("2024", "2023"), None),
    ("a day after the calendar", "add", (date(9999, 12, 31), 1), None),
    ("division is of doubles", "divide", (7, 2), 3.5),
    ("division of decimals is too", "divide", (D("1"), D("3")), 1 / 3),
    ("division by zero is missing", "divide", (1, 0), None),
    ("division by -0.0 is missing", "divide", (1.0, -0.0), None),
    ("a remainder has the dividend's sign", "mod", (-7, 3), -1),
    ("whatever the divisor's", "mod", (7, -3), 1),
    ("of doubles too", "mod", (-7.5, 2), -1.5),
    ("the remainder of infinity", "mod", (math.inf, 2), math.nan),
    ("the remainder by infinity", "mod", (5.0, math.inf), 5.0),
    ("the whole part of a quotient", "div", (-7, 2), -3),
    ("of decimals it is an integer", "div", (D("7.5"), 2), 3),
    ("of doubles there is none", "div", (7.5, 2.0), None),
    ("the one quotient that overflows", "div", (LEAST, -1), None),
    ("halves go up", "round", (2.5,), 3.0),
    ("or down below zero", "round", (-2.5,), -3.0),
    ("by the shortest decimal", "round", (1.005, 2), 1.01),
    ("to tens", "round", (25, -1), 30),
    ("to more than it has", "round", (D("1.25"), 9), D("1.25")),
    ("rounded over 64 bits", "round", (MOST, -1), None),
    ("far beyond any digit", "round", (1.5, -(2**31)), 0.0),
    ("so many digits", "round", (1.5, 2**31 - 1), 1.5),
    ("down", "floor", (-0.5,), -1),
    ("up", "ceil", (-0.5,), 0),
    ("an infinity has no floor", "floor", (math.inf,), None),
    ("the floor of a decimal", "floor", (D("-1.5"),), D("-2")),
    ("greatest skips what is missing", "greatest", (None, 1, 3, None), 3),
    ("all missing", "least", (None, None), None),
    ("NaN is the greatest", "greatest", (math.nan, 1.0), math.nan),
    ("and never the least", "least", (math.nan, 1.0), 1.0),
    ("kinds that do not compare", "greatest", (1, "a"), None),
    (
        "dates next to timestamps",
        "greatest",
        (date(2024, 1, 2), moment(2024, 1, 1)),
        moment(2024, 1, 2),
    ),
    ("a text next to a date", "least", (date(2024, 1, 2), "2024-01-01"), date(2024, 1, 1)),
    ("code points order texts", "greatest", ("\uffff", "😀"), "😀"),
    ("is not a number", "isnan", (math.nan,), True),
    ("what is missing is no NaN", "isnan", (None,), False),
    ("a text is no NaN", "isnan", ("NaN",), None),
    ("sharp s", "upper", ("ß",), "SS"),
    ("blanks alone are trimmed", "trim", ("\t a ",), "\t a"),
    ("these characters", "ltrim", ("xyxa", "xy"), "a"),
    ("no characters", "rtrim", ("a ", ""), "a "),
    ("from the first", "substring", ("hello", 1, 2), "he"),
    ("0 is the first as well", "substring", ("hello", 0, 2), "he"),
    ("from the end", "substring", ("hello", -3, 2), "ll"),
    ("from before the start", "substring", ("hello", -7, 3), "h"),
    ("a length below 0", "substring", ("hello", 2, -1), ""),
    ("a position that is no integer", "substring", ("hello", 1.0), None),
    ("a position over 32 bits", "substring", ("hello", 2**31), None),
    ("characters, not bytes", "length", ("😀é",), 2),
    ("a number has no length", "length", (5,), None),
    ("half a surrogate pair is no text", "length", ("\ud800",), None),
    ("to the right", "right", ("hello", 2), "lo"),
    ("nothing to the right", "right", ("hello", 0), ""),
    ("nothing is joined to nothing", "concat", (), ""),
    ("numbers are not joined", "concat", ("a", 1), None),
    ("joined by a dash", "concat_ws", ("-", "a", None, ["b", None, "c"], []), "a-b-c"),
    ("joined by nothing that is there", "concat_ws", (None, "a"), None),
    ("nothing is replaced", "replace", ("abc", "", "x"), "abc"),
    ("the last part", "split_part", ("a,b,c", ",", -1), "c"),
    ("a part beyond", "split_part", ("a,b", ",", 3), ""),
    ("part 0", "split_part", ("a,b", ",", 0), None),
    ("the second group", "regexp_extract", ("x 100-200", r"(\d+)-(\d+)", 2), "200"),
    ("the whole match", "regexp_extract", ("x 100-200", r"(\d+)-(\d+)", 0), "100-200"),
    ("a group that took no part", "regexp_extract", ("a", "(a)|(b)", 2), ""),
    ("a group that is not there", "regexp_extract", ("a", "(a)", 2), None),
    ("no match", "regexp_extract", ("x", "(a)", 2), ""),
    ("an open quote", "regexp_extract", ("a.b", r"\Q.b", 0), ".b"),
    ("a pattern that is refused", "regexp_extract", ("x", "("), None),
    ("where it is", "instr", ("abc", "c"), 3),
    ("where it is not", "locate", ("x", "abc"), 0),
    ("from the third on", "locate", ("b", "abcb", 3), 4),
    ("the first that is there", "coalesce", (None, 0, 1), 0),
    ("unless equal", "nullif", (1, 1.0), None),
    ("a date equals its midnight", "nullif", (date(2024, 1, 1), moment(2024, 1, 1)), None),
    ("and its text", "nullif", ("2024-01-01", date(2024, 1, 1)), None),
    ("NaN equals nothing", "nullif", (math.nan, math.nan), math.nan),
    ("there or not", "nvl2", (0, "there", "not"), "there"),
    ("Sunday is the first", "dayofweek", (date(2024, 3, 3),), 1),
    ("Monday is day 0", "weekday", (date(2024, 3, 4),), 0),
    ("a week of the next year", "weekofyear", (date(2024, 12, 30),), 1),
    ("the date in UTC", "day", (datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))),), 31),
    ("a naive timestamp is UTC", "hour", (datetime(2024, 1, 1, 5),), 5),
    (
        "out of the calendar by its zone",
        "year",
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),),
        None,
    ),
    ("a date has hour 0", "hour", (date(2024, 1, 1),), 0),
    ("a text has fields", "month", ("2024-02-03T10:00:00Z",), 2),
    ("a text that is no date", "month", ("soon",), None),
    ("a number is no date", "year", (2024,), None),
    ("numpy's dates are dates", "year", (np.datetime64("2024-05-06"),), 2024),
    ("cut to the week", "date_trunc", ("WEEK", moment(2024, 2, 29, 5)), moment(2024, 2, 26)),
    ("cut to no unit", "date_trunc", ("decade", moment(2024, 2, 29)), None),
    ("a date cut to the month", "trunc", ("2024-02-29", "mon"), date(2024, 2, 1)),
    ("days between", "date_diff", (moment(2024, 3, 1, 23), date(2024, 2, 28)), 2),
    (
        "the last day stays within the month",
        "add_months",
        (date(2024, 1, 31), 1),
        date(2024, 2, 29),
    ),
    ("a month before the calendar", "add_months", (date(1, 1, 1), -1), None),
    (
        "an interval of days keeps a date",
        "add_interval",
        (date(2024, 1, 1), 0, 7, 0),
        date(2024, 1, 8),
    ),
    (
        "one of hours does not",
        "add_interval",
        (date(2024, 1, 1), 0, 0, 3_600_000_000),
        moment(2024, 1, 1, 1),
    ),
    ("the text of a date is one", "add_interval", ("2024-01-31", 1, 0, 0), date(2024, 2, 29)),
    (
        "so is that of a timestamp",
        "add_interval",
        ("2024-01-01 10:00", 0, 0, -1_000_000),
        moment(2024, 1, 1, 9, 59, 59),
    ),
    ("an interval too long", "add_interval", (date(2024, 1, 1), 0, 10**18, 0), None),
    ("no such date", "make_date", (2023, 2, 29), None),
    ("by a pattern", "to_date", ("29/02/2024", "dd/MM/yyyy"), date(2024, 2, 29)),
    ("a pattern is strict", "to_date", ("30/02/2024", "dd/MM/yyyy"), None),
    ("the afternoon", "to_timestamp", ("5:06 pm", "h:mm a"), moment(1970, 1, 1, 17, 6)),
    (
        "an offset",
        "to_timestamp",
        ("2024-01-01T00:00+02:00", "yyyy-MM-dd'T'HH:mmXXX"),
        moment(2023, 12, 31, 22),
    ),
    ("a pattern that reads nothing", "to_date", ("2024", "YYYY"), None),
    ("milliseconds", "timestamp_millis", (1_500,), moment(1970, 1, 1, 0, 0, 1, 500_000)),
    ("seconds before 1970", "unix_seconds", (moment(1969, 12, 31, 23, 59, 59, 500_000),), -1),
    ("are cut towards it here", "unix_timestamp", (moment(1969, 12, 31, 23, 59, 59, 500_000),), 0),
    (
        "a minute's seconds",
        "second_with_fraction",
        (moment(2024, 1, 1, 0, 0, 12, 500_000),),
        D("12.5"),
    ),
    ("5 as text", "string", (5,), "5"),
    ("5.0 as text", "string", (5.0,), "5.0"),
    ("a large double", "string", (1e7,), "1.0E7"),
    ("a small double", "string", (1.25e-4,), "1.25E-4"),
    ("the smallest double", "string", (5e-324,), "4.9E-324"),
    ("a decimal keeps its zeros", "string", (D("1.50"),), "1.50"),
    ("and is written out", "string", (D("1e-7"),), "0.0000001"),
    ("true", "string", (True,), "true"),
    (
        "a timestamp in UTC",
        "string",
        (moment(2024, 1, 1, 10, 0, 0, 120_000),),
        "2024-01-01 10:00:00.12",
    ),
    ("a list is no text", "string", ([1],), None),
    ("a text as integer", "int", (" +5\t",), 5),
    ("a fraction is no integer's text", "int", ("5.5",), None),
    ("32 bits", "int", ("2147483648",), None),
    ("a long text of digits", "bigint", ("1" * 5000,), None),
    ("after many zeros", "bigint", ("0" * 5000 + "7",), 7),
    ("towards zero", "int", (-5.9,), -5),
    ("NaN is no integer", "bigint", (math.nan,), None),
    ("2^63 as Java has it", "bigint", (2.0**63,), MOST),
    ("true is 1", "tinyint", (True,), 1),
    ("a date is no number", "int", (date(2024, 1, 1),), None),
    ("a text as double", "double", (" 1e3 ",), 1000.0),
    ("underscores are no digits", "double", ("1_0",), None),
    ("Java's hexadecimals", "double", ("0x1p-1",), 0.5),
    ("and their infinities", "double", ("-0x1p99999",), -math.inf),
    ("32 bits of it", "float", (0.1,), 0.10000000149011612),
    ("too large for 32 bits", "float", (1e300,), math.inf),
    ("two digits behind the point", "decimal", ("1.005", 5, 2), D("1.01")),
    ("too many before it", "decimal", (1000, 5, 2), None),
    ("a text far too small", "decimal", ("1e-999999999", 5, 2), D("0.00")),
    ("a text far too large", "decimal", ("1e999999999", 5, 2), None),
    ("yes", "boolean", (" YES ",), True),
    ("on is neither", "boolean", ("on",), None),
    ("a number", "boolean", (0.0,), False),
    ("the date of a text", "date", ("2024-2-3 whatever",), date(2024, 2, 3)),
    (
        "the moment of a text",
        "timestamp",
        ("2024-02-03T10:11:12.5+01:00",),
        moment(2024, 2, 3, 9, 11, 12, 500_000),
    ),
    ("a region", "timestamp", ("2024-07-01 12:00:00 Europe/Berlin",), moment(2024, 7, 1, 10)),
    ("no zone", "timestamp", ("2024-07-01 12:00:00 right/Europe/Berlin",), None),
    ("seconds since 1970", "timestamp", (1.5,), moment(1970, 1, 1, 0, 0, 1, 500_000)),
    ("a boolean is no moment", "timestamp", (True,), None),
    ("an empty list has a size", "size", ([],), 0),
    ("a map has one", "size", ({"a": 1},), 1),
    ("but no array", "array_size", ({"a": 1},), None),
    ("a text has none", "size", ("abc",), None),
    ("from the front", "element_at", ([1, 2, 3], 1), 1),
    ("from the back", "element_at", ([1, 2, 3], -1), 3),
    ("out of range", "element_at", ([1, 2, 3], 4), None),
    ("element 0", "element_at", ([1, 2, 3], 0), None),
    ("by its key", "element_at", ({"a": 1}, "a"), 1),
    ("from 0", "get", ([1, 2, 3], 0), 1),
    ("the least element", "array_min", ([3, None, -1],), -1),
    ("the greatest element", "array_max", (["a", "b"],), "b"),
    ("of no element", "array_max", ([],), None),
    ("of elements that do not compare", "array_max", ([1, "a"],), None),
    ("Murmur3 of a text", "hash", ("Spark",), 228093765),
    ("of an integer, as BIGINT", "hash", (1,), -1712319331),
    ("what is missing is the seed", "hash", (None,), 42),
    ("and changes nothing", "hash", (1, None, "a"), 573093329),
    ("a list is its elements", "hash", ([1, 2],), -1181176833),
    ("xxHash of a text", "xxhash64", ("Spark",), -4294468057691064905),
    ("of a long one", "xxhash64", ("日本語é" * 9,), 4277275718245568731),
    ("-0.0 is 0.0", "xxhash64", (-0.0,), -5252525462095825812),
    ("a decimal has no hash", "hash", (1, D("1.5")), None),
]


@pytest.mark.parametrize(
    ("name", "arguments", "result"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_a_function(name: str, arguments: tuple[Any, ...], result: Any) -> None:
    found = FUNCTIONS[name].apply(*arguments)
    if isinstance(result, float) and math.isnan(result):
        assert isinstance(found, float)
        assert math.isnan(found)
        return
    assert found == result
    assert isinstance(found, bool) == isinstance(result, bool)
    assert isinstance(found, float) == isinstance(result, float)


@pytest.mark.parametrize(
    ("name", "result"),
    [("now", moment(2024, 2, 29, 12, 0, 0, 5000)), ("current_date", date(2024, 2, 29))],
)
def test_the_clock(name: str, result: Any) -> None:
    now = int(moment(2024, 2, 29, 12).timestamp()) * 1000 + 5
    assert FUNCTIONS[name].clock
    assert FUNCTIONS[name].apply(now) == result
    assert FUNCTIONS[name].apply(10**17) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("regexp_extract", (None, "(", None)),
        ("regexp_extract", (None, 5)),
        ("to_date", (None, "YYYY-MM-dd")),
        ("to_timestamp", (None, "bogus")),
        ("date_trunc", ("decade", None)),
        ("trunc", (None, "hour")),
        ("decimal", (None, 39, 0)),
        ("decimal", (None, 5, 6)),
        ("decimal", (None, "5")),
        ("add_interval", (None, 1.5, 0, 0)),
    ],
)
def test_literals_that_can_never_do_are_refused(name: str, arguments: tuple[Any, ...]) -> None:
    check = FUNCTIONS[name].check
    assert check is not None
    with pytest.raises(InvalidCriterion):
        check(arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("regexp_extract", (None, "(a)")),
        ("regexp_extract", (None, None, 1)),
        ("to_date", (None,)),
        ("to_date", (None, "dd/MM/yyyy")),
        ("date_trunc", ("WEEK", None)),
        ("trunc", (None, None)),
        ("decimal", (None,)),
        ("decimal", (None, 38, 38)),
        ("add_interval", (None, 1, 0, -5)),
    ],
)
def test_other_literals_are_not(name: str, arguments: tuple[Any, ...]) -> None:
    check = FUNCTIONS[name].check
    assert check is not None
    check(arguments)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 2**31, MOST, LEAST, 10**5000]),
    st.floats(),
    st.decimals(),
    st.sampled_from([D("1e999999"), D("-1e-999999"), D("sNaN"), D("-0")]),
    st.text(max_size=12),
    st.sampled_from(["2024-02-29", "9999-12-31 23:59:59-18:00", "1e99999", "\ud800", "week"]),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=14))])),
    st.binary(max_size=3),
    st.sampled_from([np.int8(3), np.float32(0.5), np.datetime64("NaT"), np.str_("a"), object()]),
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=2), SCALARS)
)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@settings(max_examples=count(40, 1_000))
@given(data=st.data())
def test_no_value_makes_a_function_raise(name: str, data: st.DataObject) -> None:
    function = FUNCTIONS[name]
    most = function.most if function.most is not None else function.least + 2
    values = data.draw(st.lists(VALUES, min_size=function.least, max_size=most))
    clock = [data.draw(st.integers())] if function.clock else []
    found = function.apply(*clock, *values)
    if type(found) is int:
        assert (
            function.whole
            or LEAST <= found <= MOST
            or name in ("greatest", "least", "nullif", "as_moment")
        )
    if isinstance(found, datetime) and not function.on_missing and not function.whole:
        assert found.tzinfo is UTC
