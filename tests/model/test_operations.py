from __future__ import annotations

import csv
import math
import time
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import InvalidCriterion
from remuda.language.python import attr
from remuda.model.calendars import Extract
from remuda.model.operations import (
    Arithmetic,
    BinaryConversion,
    Calculate,
    DateTime,
    Divide,
    Integral,
    Length,
    Size,
    Substring,
    ToDateTime,
)
from strategies import NOW, operations, values

a = attr("a")


def plus(rhs):
    return Calculate(Arithmetic.ADDITION, rhs)


def times(rhs):
    return Calculate(Arithmetic.MULTIPLICATION, rhs)


def divided(rhs):
    return Divide(Integral.DIVISION, rhs)


def modulo(rhs):
    return Divide(Integral.MODULO, rhs)


RESULTS = {
    # arithmetic
    "decimals add up": (plus(0.2), 0.1, Decimal("0.3")),
    "subtraction": (Calculate(Arithmetic.SUBTRACTION, 0.1), 0.3, Decimal("0.2")),
    "multiplication": (times(3), 0.1, Decimal("0.3")),
    "integers beyond floats": (plus(1), 2**53, 2**53 + 1),
    "integers far beyond floats": (plus(1), 10**400, 10**400 + 1),
    "more digits than are kept": (times(10**1500 + 1), 10**1500 + 1, 10**1500 + 1),
    "too far apart to add exactly": (plus(Decimal("1e-3000")), 1, 1),
    "a huge exponent": (plus(1), Decimal("1e999999"), Decimal("1e999999")),
    "an infinity": (plus(1), math.inf, math.inf),
    "a boolean is no number": (plus(1), True, True),
    "text is no number": (plus(1), "1", "1"),
    "a list passes through": (plus(1), [1], [1]),
    "missing stays missing": (plus(1), None, None),
    # division and remainder
    "division truncates": (divided(3), 10, 3),
    "toward zero": (divided(3), -10, -3),
    "also by a negative": (divided(-3), 10, -3),
    "a float is truncated first": (divided(3), 7.9, 2),
    "a divisor is truncated too": (divided(2.9), 9, 4),
    "the remainder": (modulo(3), 10, 1),
    "has the sign of the dividend": (modulo(3), -10, -1),
    "whatever that of the divisor": (modulo(-3), 10, 1),
    "of a negative float": (modulo(3), -7.9, -1),
    "division by zero passes through": (divided(0), 7.9, 7.9),
    "so does its remainder": (modulo(0), 7, 7),
    "huge integers are exact": (modulo(10), 10**400 + 7, 7),
    "and divided exactly": (divided(3), 3 * 10**60, 10**60),
    "a huge decimal passes through": (divided(3), Decimal("1e99999"), Decimal("1e99999")),
    "an infinity passes through": (modulo(3), -math.inf, -math.inf),
    # 32 bits
    "bits": (BinaryConversion(), 5, "0" * 29 + "101"),
    "negative bits": (BinaryConversion(), -1, "1" * 32),
    "the smallest": (BinaryConversion(), -(2**31), "1" + "0" * 31),
    "33 bits": (BinaryConversion(), 2**31, 2**31),
    "5.0 is no integer of 32 bits": (BinaryConversion(), 5.0, 5.0),
    "nor is a boolean": (BinaryConversion(), True, True),
    # texts and lists
    "length": (Length(), "abc", 3),
    "length counts characters": (Length(), "😀a", 2),
    "a list has no length": (Length(), [1, 2], [1, 2]),
    "size": (Size(), [1, None, 2], 3),
    "a text has no size": (Size(), "abc", "abc"),
    "substring": (Substring(1, 3), "hello", "el"),
    "to the end": (Substring(2), "hello", "llo"),
    "an end beyond the text": (Substring(3, 99), "hello", "lo"),
    "a beginning before it": (Substring(-2, 2), "hello", "he"),
    "both beyond": (Substring(7, 9), "hello", ""),
    "nothing": (Substring(2, 2), "hello", ""),
    "a beginning after the end": (Substring(4, 2), "hello", "hello"),
    "clipped before they are compared": (Substring(9, 7), "hello", ""),
    "of a number": (Substring(0, 1), 55, 55),
    # moments
    "an epoch": (DateTime(Extract.YEAR), 0, 1970),
    "a fraction of a millisecond": (DateTime(Extract.MILLISECOND), 1.9, 1),
    "before the epoch": (DateTime(Extract.MILLISECOND), -1, 999),
    "the first year": (DateTime(Extract.YEAR), -62135596800000, 1),
    "before the first year": (DateTime(Extract.ERA), -62135769600001, "BC"),
    "in it": (DateTime(Extract.ERA), -62135769600000, "AD"),
    "a Julian day": (DateTime(Extract.DAY_OF_MONTH), -12219292800001, 4),
    "the first Gregorian one": (DateTime(Extract.DAY_OF_MONTH), -12219292800000, 15),
    "beyond the calendar": (DateTime(Extract.YEAR), 10**20, 10**20),
    "ten thousand": (DateTime(Extract.YEAR, "Asia/Tokyo"), 253402300799999, 10000),
    "Java's last": (DateTime(Extract.YEAR), 2**63 - 1, 292278994),
    "Java's first": (DateTime(Extract.YEAR), -(2**63), 292269055),
    "beyond Java's": (DateTime(Extract.YEAR), 2**63, 2**63),
    "a zone without an answer": (DateTime(Extract.YEAR, "Africa/Casablanca"), 10**13, 10**13),
    "an offset without one": (DateTime(Extract.DST_OFFSET, "Europe/Paris"), -(10**12), -(10**12)),
    "clocks on which databases differ": (
        DateTime(Extract.HOUR_OF_DAY, "Europe/Stockholm"),
        -902102400000,
        -902102400000,
    ),
    "the same zone later": (DateTime(Extract.HOUR_OF_DAY, "Europe/Stockholm"), -586569600000, 1),
    "WET of 1996": (DateTime(Extract.HOUR, "WET"), 820454400000, 820454400000),
    "WET since": (DateTime(Extract.HOUR, "WET"), 867715200000, 1),
    "Iran in 1977": (DateTime(Extract.ZONE_OFFSET, "Iran"), 233971200000, 233971200000),
    "Iran in 1978": (DateTime(Extract.HOUR, "Asia/Tehran"), 281318400000, 281318400000),
    "Iran in 1980": (DateTime(Extract.ZONE_OFFSET, "Asia/Tehran"), 315532800000, 12_600_000),
    "a week without saving": (
        DateTime(Extract.DST_OFFSET, "America/Cambridge_Bay"),
        973036800000,
        973036800000,
    ),
    "its hour": (DateTime(Extract.HOUR, "America/Cambridge_Bay"), 973036800000, 7),
    "a winter below the standard": (
        DateTime(Extract.ZONE_OFFSET, "Africa/Windhoek"),
        691545600000,
        691545600000,
    ),
    "its noon": (DateTime(Extract.HOUR_OF_DAY, "Africa/Windhoek"), 691581600000, 12),
    "the moon after 2036": (DateTime(Extract.HOUR, "Asia/Gaza"), 2168985600000, 2168985600000),
    "far beyond it": (DateTime(Extract.YEAR), 10**400, 10**400),
    "a timestamp": (DateTime(Extract.HOUR_OF_DAY), datetime(2024, 1, 1, 5, tzinfo=UTC), 5),
    "a naive one is UTC": (DateTime(Extract.HOUR_OF_DAY), datetime(2024, 1, 1, 5), 5),
    "one from elsewhere": (
        DateTime(Extract.HOUR_OF_DAY),
        datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=2))),
        3,
    ),
    "a date": (DateTime(Extract.DAY_OF_YEAR), date(2024, 12, 31), 366),
    "a date begins in UTC": (DateTime(Extract.HOUR_OF_DAY, "Asia/Tokyo"), date(2024, 1, 1), 9),
    "a text is no moment": (DateTime(Extract.YEAR), "2024", "2024"),
    "a boolean is no moment": (DateTime(Extract.YEAR), True, True),
    "a list of moments": (DateTime(Extract.YEAR), [0], [0]),
    "age": (DateTime(Extract.DIFF_WITH_EPOCH), NOW - 5, 5),
    "age of what is to come": (DateTime(Extract.DIFF_WITH_EPOCH), NOW + 5, -5),
    "age of a date": (DateTime(Extract.DIFF_WITH_EPOCH), date(1970, 1, 1), NOW),
}


@pytest.mark.parametrize(("operation", "value", "result"), RESULTS.values(), ids=RESULTS)
def test_results(operation, value, result):
    found = operation.apply(value, NOW)
    assert found == result
    assert isinstance(found, bool) is isinstance(result, bool)


def test_nan_passes_through():
    for operation in (plus(1), divided(2), DateTime(Extract.YEAR), BinaryConversion()):
        assert math.isnan(operation.apply(math.nan, NOW))


LEAP_NOON = 1709210096789  # 2024-02-29T12:34:56.789Z, a Thursday
FIELDS = {
    Extract.ERA: "AD",
    Extract.YEAR: 2024,
    Extract.MONTH: 2,
    Extract.WEEK_OF_YEAR: 9,
    Extract.WEEK_OF_MONTH: 5,
    Extract.DATE: 29,
    Extract.DAY_OF_YEAR: 60,
    Extract.DAY_OF_MONTH: 29,
    Extract.DAY_OF_WEEK: 5,
    Extract.DAY_OF_WEEK_IN_MONTH: 5,
    Extract.AM_PM: "PM",
    Extract.HOUR: 0,
    Extract.HOUR_OF_DAY: 12,
    Extract.MINUTE: 34,
    Extract.SECOND: 56,
    Extract.MILLISECOND: 789,
    Extract.ZONE_OFFSET: 0,
    Extract.DST_OFFSET: 0,
    Extract.DIFF_WITH_EPOCH: NOW - LEAP_NOON,
}


@pytest.mark.parametrize("extract", Extract)
def test_every_field(extract):
    assert DateTime(extract).apply(LEAP_NOON, NOW) == FIELDS[extract]


WEEKS = {  # with US rules: Sunday first, and one day suffices
    "a year that begins on Monday": (date(2024, 1, 1), 1, 1),
    "its first Saturday": (date(2024, 1, 6), 1, 1),
    "its first Sunday": (date(2024, 1, 7), 2, 2),
    "the last days belong to the next year": (date(2024, 12, 29), 1, 5),
    "the day before does not": (date(2024, 12, 28), 52, 4),
    "a year that ends on Saturday": (date(2022, 12, 31), 53, 5),
    "a year that begins on Sunday": (date(2023, 1, 1), 1, 1),
}


@pytest.mark.parametrize(("day", "of_year", "of_month"), WEEKS.values(), ids=WEEKS)
def test_weeks(day, of_year, of_month):
    assert DateTime(Extract.WEEK_OF_YEAR).apply(day, NOW) == of_year
    assert DateTime(Extract.WEEK_OF_MONTH).apply(day, NOW) == of_month


ZONES = {
    "winter": ("Europe/Berlin", datetime(2024, 1, 1, 12), 13, 3_600_000, 0),
    "summer": ("Europe/Berlin", datetime(2024, 7, 1, 12), 14, 3_600_000, 3_600_000),
    "Irish summer": ("Europe/Dublin", datetime(2024, 7, 1, 12), 13, 0, 3_600_000),
    "Irish winter": ("Europe/Dublin", datetime(2024, 1, 1, 12), 12, 0, 0),
    "Ramadan": ("Africa/Casablanca", datetime(2024, 3, 20, 12), 12, 0, 0),
    "the rest of the year": ("Africa/Casablanca", datetime(2024, 7, 1, 12), 13, 0, 3_600_000),
    "before there were zones": ("Asia/Kolkata", datetime(1850, 1, 1), 5, 19_800_000, 0),
    "half an hour": ("Asia/Kolkata", datetime(2024, 7, 1, 12), 17, 19_800_000, 0),
    "west": ("America/New_York", datetime(2024, 7, 1, 12), 8, -18_000_000, 3_600_000),
}


@pytest.mark.parametrize(("zone", "moment", "hour", "offset", "saving"), ZONES.values(), ids=ZONES)
def test_zones(zone, moment, hour, offset, saving):
    assert DateTime(Extract.HOUR_OF_DAY, zone).apply(moment, NOW) == hour
    assert DateTime(Extract.ZONE_OFFSET, zone).apply(moment, NOW) == offset
    assert DateTime(Extract.DST_OFFSET, zone).apply(moment, NOW) == saving


MINUTES = "yyyy-MM-dd HH:mm "
TEXTS = {  # each as Java's own formatter answers
    "ISO": (None, "2024-02-29T12:34:56Z", "2024-02-29T12:34:56"),
    "ISO without seconds": (None, "2024-02-29T12:34+01:00", "2024-02-29T11:34:00"),
    "fractions are dropped": (None, "2024-02-29T12:34:56.999Z", "2024-02-29T12:34:56"),
    "ISO in small letters": (None, "2024-02-29t12:34:56z", "2024-02-29T12:34:56"),
    "ISO with a short offset": (None, "2024-02-29T12:34:56+01", "2024-02-29T11:34:56"),
    "ISO is strict about days": (None, "2024-02-30T12:00:00Z", None),
    "ISO is strict about midnight": (None, "2024-02-29T24:00:00Z", None),
    "ISO without an offset": (None, "2024-02-29T12:34:56", None),
    "a refused pattern means ISO": ("nonsense{", "2024-02-29T12:34:56Z", "2024-02-29T12:34:56"),
    "a pattern": ("dd/MM/yyyy HH:mm:ss XXX", "29/02/2024 12:00:00 +05:30", "2024-02-29T06:30:00"),
    "short fields": ("yyyy-M-d H:m:s X", "2024-1-2 3:4:5 Z", "2024-01-02T03:04:05"),
    "digits in a row": ("yyyyMMddHHmmX", "202401020304Z", "2024-01-02T03:04:00"),
    "two digits of a year": ("yy-MM-dd HH:mm X", "99-01-02 03:04 Z", "2099-01-02T03:04:00"),
    "the hour alone": ("yyyy-MM-dd HH X", "2024-01-01 05 Z", "2024-01-01T05:00:00"),
    "seconds without minutes": ("yyyy-MM-dd HH:ss X", "2024-01-01 05:07 Z", None),
    "no time": ("yyyy-MM-dd X", "2024-01-01 Z", None),
    "no date": ("HH:mm X", "00:00 Z", None),
    "no zone": ("yyyy-MM-dd HH:mm", "2024-01-01 00:00", None),
    "a day too many is the last one": (MINUTES + "X", "2024-02-30 00:00 Z", "2024-02-29T00:00:00"),
    "in April as well": (MINUTES + "X", "2023-04-31 00:00 Z", "2023-04-30T00:00:00"),
    "no month has 32 days": (MINUTES + "X", "2024-01-32 00:00 Z", None),
    "no year has 13 months": (MINUTES + "X", "2024-13-01 00:00 Z", None),
    "24:00 ends the day": (MINUTES + "X", "2024-02-29 24:00 Z", "2024-03-01T00:00:00"),
    "24:01 is none": (MINUTES + "X", "2024-02-29 24:01 Z", None),
    "an optional part": (MINUTES + "[:ss ]X", "2024-01-01 00:00 Z", "2024-01-01T00:00:00"),
    "an optional part that is there": (
        "yyyy-MM-dd HH:mm[:ss][ X]",
        "2024-01-01 00:00:07 Z",
        "2024-01-01T00:00:07",
    ),
    "either of two": (
        "[yyyy-MM-dd][dd/MM/yyyy] HH:mm X",
        "2024-02-01 00:00 Z",
        "2024-02-01T00:00:00",
    ),
    "or the other": (
        "[yyyy-MM-dd][dd/MM/yyyy] HH:mm X",
        "01/02/2024 00:00 Z",
        "2024-02-01T00:00:00",
    ),
    "midnight is 12 AM": ("yyyy-MM-dd hh:mm a X", "2024-01-01 12:30 AM Z", "2024-01-01T00:30:00"),
    "noon is 12 PM": ("yyyy-MM-dd hh:mm a X", "2024-01-01 12:30 PM Z", "2024-01-01T12:30:00"),
    "13 PM is none": ("yyyy-MM-dd hh:mm a X", "2024-01-01 13:00 PM Z", None),
    "halves must agree": (MINUTES + "a X", "2024-01-01 15:00 AM Z", None),
    "half a day is not told": ("yyyy-MM-dd hh:mm X", "2024-01-01 01:00 Z", None),
    "hours from 1": ("yyyy-MM-dd kk:mm X", "2024-01-01 24:05 Z", "2024-01-01T00:05:00"),
    "hours from 0 to 11": ("yyyy-MM-dd KK:mm a X", "2024-01-01 11:05 PM Z", "2024-01-01T23:05:00"),
    "names": (
        "EEEE, d MMMM yyyy HH:mm X",
        "Thursday, 29 February 2024 12:00 Z",
        "2024-02-29T12:00:00",
    ),
    "short names": (
        "EEE, d MMM yyyy HH:mm:ss Z",
        "Thu, 29 Feb 2024 12:00:00 +0000",
        "2024-02-29T12:00:00",
    ),
    "another weekday": ("EEE, d MMM yyyy HH:mm X", "Wed, 29 Feb 2024 12:00 Z", None),
    "two years": (MINUTES + "X yyyy", "2024-01-01 00:00 Z 2025", None),
    "the same year twice": (MINUTES + "X yyyy", "2024-01-01 00:00 Z 2024", "2024-01-01T00:00:00"),
    "a day of the year": ("yyyy-DDD HH:mm X", "2024-366 00:00 Z", "2024-12-31T00:00:00"),
    "of a shorter year": ("yyyy-DDD HH:mm X", "2023-366 00:00 Z", None),
    "quoted text": ("yyyy-MM-dd'T'HH:mm''X", "2024-01-01T00:00'Z", "2024-01-01T00:00:00"),
    "an offset of 18 hours": (MINUTES + "XXX", "2024-01-01 00:00 -18:00", "2024-01-01T18:00:00"),
    "an offset of 19 hours": (MINUTES + "XXX", "2024-01-01 00:00 +19:00", None),
    "an offset of 75 minutes": (MINUTES + "XXX", "2024-01-01 00:00 +00:75", None),
    "an offset after GMT": (MINUTES + "O", "2024-01-01 00:00 GMT+8", "2023-12-31T16:00:00"),
    "a region": (MINUTES + "VV", "2024-07-01 12:00 Europe/Berlin", "2024-07-01T10:00:00"),
    "an offset for a region": (MINUTES + "VV", "2024-01-01 00:00 +02:00", "2023-12-31T22:00:00"),
    "no such region": (MINUTES + "VV", "2024-01-01 00:00 Nowhere/X", None),
    "an hour that the clocks skip": (
        MINUTES + "VV",
        "2024-03-31 02:30 Europe/Berlin",
        "2024-03-31T01:30:00",
    ),
    "an hour that they repeat": (
        MINUTES + "VV",
        "2024-10-27 02:30 Europe/Berlin",
        "2024-10-27T00:30:00",
    ),
    "a region and an offset": (
        MINUTES + "VV X",
        "2024-10-27 02:30 Europe/Berlin +01",
        "2024-10-27T01:30:00",
    ),
    "a zone by its letters": (MINUTES + "z", "2024-01-01 00:00 PST", "2024-01-01T08:00:00"),
    "the letters name a region": (MINUTES + "z", "2024-07-01 00:00 PST", "2024-07-01T07:00:00"),
    "which are no id": (MINUTES + "VV", "2024-01-01 00:00 PST", None),
    "digits of other scripts": (MINUTES + "X", "２０２４-01-01 00:00 Z", None),
    "a leap second": ("yyyy-MM-dd HH:mm:ss X", "2016-12-31 23:59:60 Z", None),
    "year zero": (MINUTES + "X", "0000-01-01 00:00 Z", None),
    "something else": (None, "yesterday", None),
    "an era": (MINUTES + "G X", "2024-01-01 00:00 AD Z", "2024-01-01T00:00:00"),
    "another than the year's": ("uuuu-MM-dd HH:mm G X", "2024-01-01 00:00 BC Z", None),
    "five digits without a plus": (MINUTES + "X", "12024-01-01 00:00 Z", None),
    "a plus without five digits": (MINUTES + "X", "+2024-01-01 00:00 Z", None),
    "letters for Tokyo": (MINUTES + "z", "2024-01-01 00:00 JST", "2023-12-31T15:00:00"),
    "letters for three places": (MINUTES + "z", "2024-01-01 00:00 IST", None),
    "a pattern that Java refuses, too": ("YYYY{", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00"),
}


@pytest.mark.parametrize(("pattern", "text", "moment"), TEXTS.values(), ids=TEXTS)
def test_moments_from_text(pattern, text, moment):
    found = ToDateTime(pattern).apply(text, NOW)
    if moment is None:
        assert found == text  # what cannot be read passes through
    else:
        assert found == datetime.fromisoformat(moment + "+00:00").timestamp() * 1000


def rows(name: str) -> list[dict[str, str]]:
    """What Java 17 answers, in English, to drawn moments."""
    with (Path(__file__).parent / name).open() as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", rows("java_moments.tsv"), ids=lambda row: row["text"])
def test_text_is_read_as_java_reads_it(row):
    found = ToDateTime(row["pattern"]).apply(row["text"], NOW)
    assert str(found) == (row["text"] if row["milliseconds"] == "-" else row["milliseconds"])


@pytest.mark.parametrize("row", rows("java_calendar.tsv"), ids=lambda row: row["milliseconds"])
def test_fields_are_those_of_javas_calendar(row):
    zone, moment = row.pop("zone"), int(row.pop("milliseconds"))
    found = {name: str(DateTime(Extract(name), zone).apply(moment, NOW)) for name in row}
    assert found == row


UNREAD = ("YYYY-'W'ww-e HH:mm X", "MMMMM d yyyy HH:mm X", "yyyy-QQ-dd HH:mm X", "ppH yyyy X")


@pytest.mark.parametrize("pattern", UNREAD)
def test_refuses_patterns_that_java_reads_and_we_do_not(pattern):
    with pytest.raises(InvalidCriterion, match="not read"):
        ToDateTime(pattern)


def test_hostile_formats_answer_at_once():
    started = time.perf_counter()
    for pattern in ("Hms" * 20 + "X", "[y]" * 30, "[[[[H]]]]" * 30, "'x'" * 200_000):
        text = "1" * 90 + "!"
        assert ToDateTime(pattern).apply(text, NOW) == text
    assert time.perf_counter() - started < 2


def test_only_text_is_read_as_a_moment():
    for value in (5, None, ["2024-02-29T12:34:56Z"], datetime(2024, 1, 1)):
        assert ToDateTime().apply(value, NOW) is value


REFUSED = {
    "text to add": lambda: plus("x"),
    "an infinity to add": lambda: plus(math.inf),
    "a truth to add": lambda: plus(True),
    "nothing to divide by": lambda: divided(None),
    "thousands of digits": lambda: divided(10**3000),
    "an unknown zone": lambda: DateTime(Extract.YEAR, "Nowhere/X"),
    "a path for a zone": lambda: DateTime(Extract.YEAR, "../etc/passwd"),
    "half a character": lambda: Substring(1.5),
    "a text for a position": lambda: Substring(0, "3"),
    "a number for a pattern": lambda: ToDateTime(5),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_refuses(make):
    with pytest.raises(InvalidCriterion):
        make()


def test_operations_are_equal_when_they_do_the_same():
    assert plus(1) == plus(1.0) == plus(Decimal("1.00"))
    assert plus(0.1) == plus(Decimal("0.1"))
    assert plus(0.1) != plus(Decimal(1 / 10))  # equal in Python, not in value
    assert divided(2) == divided(2.7)


def test_chains_run_from_left_to_right():
    assert a.add(1).multiply(2).eq(8).holds({"a": 3})
    assert a.multiply(2).add(1).eq(7).holds({"a": 3})
    moment = a.to_datetime("yyyy-MM-dd HH:mm X").datetime("HOUR_OF_DAY", zone="Asia/Kolkata")
    assert moment.eq(17).holds({"a": "2024-01-01 12:00 Z"})


def test_the_clock_can_be_given():
    predicate = a.datetime("DIFF_WITH_EPOCH").between(0, 1000)
    event = {"a": 1_700_000_000_000}
    assert predicate.holds(event, now=1_700_000_000_500)
    assert not predicate.holds(event, now=1_700_000_002_000)
    assert predicate.holds(event, now=datetime.fromtimestamp(1_700_000_000, UTC))
    assert not predicate.holds(event)  # it is long ago


@given(st.lists(operations, max_size=3), st.one_of(values, st.integers(), st.text(), st.floats()))
def test_no_value_breaks_an_operation_and_none_goes_missing(chain, value):
    found = value
    for operation in chain:
        found = operation.apply(found, NOW)
    assert (found is None) == (value is None)
