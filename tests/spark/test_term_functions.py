"""Spark itself as the referee: every function of terms gives what Spark gives, value by value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest

from remuda.model.functions import FUNCTIONS, buckets, foreign
from remuda.model.functions.comparing import COMPARING

INFINITY, NAN = float("inf"), float("nan")
MOST, LEAST = 2**63 - 1, -(2**63)
SHARED = "spark.sql.subexpressionElimination.enabled"
NBSP = "\u00a0"


def moment(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


PAIRS: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "l": (
        pa.int64(),
        (None, 0, 1, -1, 2, 3, -7, 10, 25, -25, 2**31, 2**53 + 1, 10**18, MOST, MOST - 1, LEAST),
    ),
    "i": (
        pa.int32(),
        (None, 0, 1, -1, 2, 3, 4, -2, -3, -5, 7, 12, 31, -40, 1000, 2**31 - 1, -(2**31)),
    ),
    "d": (
        pa.float64(),
        (
            None,
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.1,
            0.2,
            2.5,
            -2.5,
            3.0,
            1e-07,
            10000000.0,
            123456.789,
            9.223372036854775e18,
            2.0**63,
            -(2.0**63),
            1e300,
            5e-324,
            NAN,
            INFINITY,
            -INFINITY,
        ),
    ),
    "m": (
        pa.decimal128(12, 3),
        [None]
        + [
            Decimal(one).quantize(Decimal("0.001"))
            for one in (
                "0",
                "1",
                "-1",
                "2.5",
                "-2.5",
                "0.001",
                "-0.005",
                "7.25",
                "-7.25",
                "1.255",
                "999999999.999",
                "-999999999.999",
                "0.3",
                "15",
                "-14.5",
            )
        ],
    ),
    "s": (
        pa.string(),
        (
            None,
            "",
            " ",
            "a",
            "b",
            "ab",
            "abab",
            "abc",
            "A",
            "aXbXc",
            " a b ",
            "é",
            "Éé",
            "日本語",
            "😀a😀",
            "ß",
            "İ",
            "ΑΣ",
            "a,b,,c",
            ",",
            ",,",
            "100-200",
            "0123456789abcdef" * 3 + "xyz",
            "日本語é" * 9,
            "x\ny",
            "\ta\xa0",
        ),
    ),
    "b": (pa.bool_(), (None, True, False)),
    "day": (
        pa.date32(),
        (
            None,
            date(1, 1, 1),
            date(1, 1, 2),
            date(1582, 10, 4),
            date(1582, 10, 15),
            date(1900, 2, 28),
            date(1969, 12, 31),
            date(1970, 1, 1),
            date(2000, 2, 29),
            date(2020, 12, 31),
            date(2021, 1, 3),
            date(2023, 12, 31),
            date(2024, 1, 1),
            date(2024, 1, 31),
            date(2024, 2, 29),
            date(2024, 12, 30),
            date(2024, 12, 31),
            date(9999, 12, 30),
            date(9999, 12, 31),
        ),
    ),
    "ts": (
        pa.timestamp("us", "UTC"),
        (
            None,
            moment(1, 1, 1),
            moment(1, 1, 1, 0, 0, 0, 1),
            moment(1582, 10, 10, 12),
            moment(1969, 12, 31, 23, 59, 59, 999999),
            moment(1969, 12, 31, 23, 59, 58, 500000),
            moment(1970, 1, 1),
            moment(2024, 2, 29, 12, 30, 15, 123456),
            moment(2024, 3, 31, 2),
            moment(2024, 1, 31, 23, 59, 59),
            moment(2024, 12, 31, 23, 30),
            moment(2024, 7, 1),
            moment(9999, 12, 31, 23, 59, 59, 999999),
        ),
    ),
    "ll": (
        pa.list_(pa.int64()),
        (None, [], [1], [None], [3, None, -5], [LEAST, MOST], [7, 7, 8, 9]),
    ),
    "ld": (
        pa.list_(pa.float64()),
        (None, [], [NAN], [1.5, NAN], [0.0, -0.0], [-0.0, 0.0], [INFINITY, -INFINITY, None]),
    ),
    "ls": (pa.list_(pa.string()), (None, [], ["a"], ["b", None, ""], ["é", "z", "日"], [None])),
    "ld8": (pa.list_(pa.date32()), (None, [], [date(2024, 1, 1), None, date(1, 1, 1)])),
}

NUMBERS = (
    "",
    " ",
    "5",
    " 5 ",
    "+5",
    "-5",
    "--5",
    "+",
    "-",
    "005",
    "5.",
    ".5",
    ".",
    "5.5",
    "-0",
    "-0.0",
    "1e3",
    "1E3",
    "1e",
    "1e400",
    "1e-400",
    "1e-50",
    "1e39",
    "9" * 38,
    "9" * 39,
    "0." + "9" * 40,
    "127",
    "128",
    "-128",
    "-129",
    "32767",
    "32768",
    "2147483647",
    "2147483648",
    "-2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "0" * 30 + "7",
    "1d",
    "1f",
    "1D ",
    "1l",
    "0x1p3",
    "0x1.8P-1d",
    "0x10",
    "0x",
    "1_0",
    "1 2",
    "1,5",
    "٥",
    "NaN",
    "nan",
    "-NaN",
    "+nan",
    "NAN",
    "Infinity",
    "-infinity",
    "+INF",
    "inf",
    "infin",
    "\t5\n",
    "\x7f5",
    "\x005",
    f"{NBSP}5",
    "5\u2003",
    "1.005",
    "-1.005",
    "0.5",
    "-0.5",
    "2.5",
    "true",
    "TRUE",
    " t",
    "y",
    "yes",
    "Yes\n",
    "on",
    "1",
    "0",
    "false",
    "f",
    "n",
    "no",
    "off",
)
MOMENTS = (
    "2024",
    "2024-2",
    "2024-02",
    "2024-02-3",
    "2024-2-03",
    "2024-02-03",
    "2024-02-03 ",
    " 2024",
    "2024-02-30",
    "2023-02-29",
    "2024-13-01",
    "2024-00-01",
    "2024-01-00",
    "2024-",
    "2024-02-",
    "20240203",
    "202-02-03",
    "02024-02-03",
    "+2024-02-03",
    "0001-01-01",
    "9999-12-31",
    "24",
    "2024-02-03T",
    "2024-02-03 x",
    "2024-02-03Tx",
    "2024-02-03x",
    "2024-02-003",
    "2024/02/03",
    "2024-02-03 10",
    "2024-02-03 10:",
    "2024-02-03 10:11",
    "2024-02-03T1:1:1",
    "x2024-02-03",
    "2024-02-03 10:11:12",
    "2024-02-03 10:11:12.",
    "2024-02-03 10:11:12.1",
    "2024-02-03  10:11",
    "2024-02-03 10:11:12.123456789",
    "2024-02-03 24:00:00",
    "2024-02-03 10:60:00",
    "2024-02-03 10:11:60",
    "2024-02-03T10:11:12Z",
    "2024-02-03 10:11:12 Z",
    "2024-02-03Z",
    "2024-02-03 10:11Z",
    "2024-02-03 10:11:12.5Z",
    "2024-02-03 10:11:12+01:00",
    "2024-02-03 10:11:12-5",
    "2024-02-03 10:11:12+1:2",
    "2024-02-03 10:11:12+0130",
    "2024-02-03 10:11:12+130",
    "2024-02-03 10:11:12+01:30:10",
    "2024-02-03 10:11:12+18:00",
    "2024-02-03 10:11:12+18:01",
    "2024-02-03 10:11:12+19:00",
    "2024-02-03 10:11:12 UTC",
    "2024-02-03 10:11:12 UTC+1",
    "2024-02-03 10:11:12 GMT-01:00",
    "2024-02-03 10:11:12 UT",
    "2024-02-03 10:11:12 Europe/Berlin",
    "2024-03-31 02:30:00 Europe/Berlin",
    "2024-10-27 02:30:00 Europe/Berlin",
    "2024-02-03 10:11:12 Nowhere/Land",
    "\x7f2024-02-03",
    "2024-02-03 10:11:12 z",
    "2024-02-03 10:11:12.x",
    f"{NBSP}2024-02-03",
    "2024-02-03\n",
    "",
    "12:30",
    "0001-01-01 00:00:00+01:00",
    "9999-12-31 23:59:59-01:00",
    "2024-02-03 10:11:12 +1",
)
FORMATTED = (
    "2024-02-03",
    "03/02/2024",
    "3/2/24",
    "03/02/24",
    "2024-2-3",
    "2024-02-30",
    "20240203",
    "",
    "2024-02-29",
    "2023-02-29",
    "Feb 3, 2024",
    "FEB 3, 2024",
    "February 3, 2024",
    "2024 060",
    "2024 366",
    "2023 366",
    "2024-02-03 10:11:12",
    "2024-02-03 24:11:12",
    "2024-02-03 10:61:12",
    "2024-02-03 10:11:12.1",
    "2024-02-03 10:11:12.123",
    "2024-02-03 10:11:12.1234",
    "2024-02-03T10:11:12Z",
    "2024-02-03T10:11:12+02:00",
    "2024-02-03T10:11:12-0200",
    "2024-02-03T23:11:12-05",
    "10:11",
    "10:11 PM",
    "12:11 am",
    "13:11 PM",
    "0:11 AM",
    "24:11",
    " 2024-02-03",
    "2024-02-03 ",
    "02024-02-03",
    "0000-01-01",
    "2024-00-01",
    "2024-01-00",
    "2024-02-03 Europe/Berlin",
    "2024-02-03 UTC",
    "2024-02-03 GMT+01:00",
    "2024",
    "it's 2024",
    "20240203101112",
    "20240203101112123",
    "9999-12-31",
    "0001-01-01",
)
FORMATS = (
    "yyyy-MM-dd",
    "dd/MM/yyyy",
    "d/M/yy",
    "d/M/y",
    "y-M-d",
    "yyyyMMdd",
    "MMM d, yyyy",
    "yyyy",
    "MMMM d, yyyy",
    "yyyy DDD",
    "yyyy D",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd[ HH:mm:ss]",
    "yyyy-MM-dd HH:mm:ss.SSS",
    "yyyy-MM-dd'T'HH:mm:ssXXX",
    "yyyy-MM-dd'T'HH:mm:ssX",
    "HH:mm",
    "yyyy-MM-dd'T'HH:mm:ssZ",
    "hh:mm a",
    "h:mm a",
    "kk:mm",
    "K:mm a",
    "yyyy-MM-dd VV",
    "yyyy-MM-dd z",
    "yyyy-MM-dd OOOO",
    "'it''s' yyyy",
    "yyyyMMddHHmmss",
    "yyyyMMddHHmmssSSS",
)
DOUBLES = (
    0.0,
    -0.0,
    1.0,
    5.0,
    -1.5,
    0.1,
    1 / 3,
    0.001,
    0.000999,
    9999999.0,
    10000000.0,
    10000000000.0,
    123456789.125,
    1000000000000000.0,
    1e16,
    1e17,
    1e100,
    1e-100,
    1.7976931348623157e308,
    2.2250738585072014e-308,
    5e-324,
    2**31 - 0.5,
    -(2.0**31) - 0.5,
    2.0**31,
    127.9,
    128.0,
    -128.9,
    -129.0,
    2.0**63,
    9.3e18,
    -1e19,
    NAN,
    INFINITY,
    -INFINITY,
    1.005,
    2.675,
    0.5,
    -0.5,
    1.5,
    1e37,
    1e38,
    253402300799.9999,
    1e-05,
    2e23,
)
URLS = (
    "",
    "https://shop.example.com/cart?id=7&utm=x#top",
    "HTTP://User:pw@Example.COM:8080/a/b;c=1?q=a%20b&q=2&empty=&r",
    "ftp://x",
    "https://example.com",
    "http://10.0.0.1/a",
    "http://[::1]:80/a",
    "http://a_b.org/x",
    "mailto:ann@example.com",
    "/just/a/path?k=v",
    "no spaces here",
    "nospaces",
    "http://",
    "http:",
    "file:///etc/hosts",
    "https://example.com/é?ü=ß",
    "https://example.com/a|b",
    "https://example.com/%zz",
    "https://example.com/%C3%A9",
    "https://example.com?x=1?y=2",
    "https://example.com/#",
    "https://example.com:/x",
    "1http://example.com/",
    "//example.com/x",
    "https://example.com./x",
    "https://1.2.3.4.5/x",
    "a+b%20c",
    "100%",
    "?q=1",
    "#ref",
)
DOCUMENTS = (
    "",
    " ",
    "null",
    "true",
    '"text"',
    "12",
    "-0.0",
    "1e3",
    "[]",
    "{}",
    "[1, 2.50, [3]]",
    ' {"a": {"b": "x", "c": [10, {"d": null}]}, "e f": "g"} ',
    '{"a": 1, "a": 2}',
    '{"a": "é\\u00e9\\n\\"q\\"", "b": {"\\u0001": "/\\/"}}',
    '{"a": [1, 2, 3], "b": 12345678901234567890, "c": 0.1e-7}',
    '{"a": {"b": {"c": 1e400}}}',
    '{"a": 1} and more',
    '{"a": 1, "b"',
    '{"a": NaN}',
    "{a: 1}",
    '{"a": 01}',
    '{"a": {"x": true, "y": false, "z": [ ]}}',
    "[[[1]]]",
    '{"": 1}',
)
SINGLES: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "u": (pa.string(), URLS),
    "j": (pa.string(), DOCUMENTS),
    "n": (pa.string(), NUMBERS),
    "t": (pa.string(), MOMENTS),
    "f": (pa.string(), FORMATTED),
    "d": (pa.float64(), DOUBLES),
    "l": PAIRS["l"],
    "m": (
        pa.decimal128(38, 10),
        [
            Decimal(one).quantize(Decimal("1e-10"), context=Context(prec=60))
            for one in (
                "0",
                "1.5",
                "-1.5",
                "0.0000001",
                "127.9",
                "128",
                "9223372036854775808",
                "-9223372036854775808.5",
                "1e27",
                "-0.5",
                "2147483647.9999",
                "253402300800",
            )
        ],
    ),
    "b": PAIRS["b"],
    "day": PAIRS["day"],
    "ts": PAIRS["ts"],
}

Case = tuple[str, str, tuple[Any, ...]]  # a function, Spark's words for it, its arguments


def case(name: str, sql: str, *arguments: Any) -> Case:
    """Arguments that are texts with a dollar are columns, all others stand for themselves."""
    return name, sql, arguments


def binary(name: str, sql: str, *pairs: str) -> Iterator[Case]:
    for pair in pairs:
        one, other = pair.split()
        yield case(name, sql.format(one, other), f"${one}", f"${other}")


def unary(names: str, columns: str) -> Iterator[Case]:
    for name in names.split():
        for column in columns.split():
            yield case(name, f"{name}({column})", f"${column}")


NUMERIC = ("l l2", "l d2", "d l2", "d d2", "m m2", "m l2", "l m2", "m d2", "i m2")

ARITHMETIC = [
    *binary("add", "{} + {}", *NUMERIC, "day i2", "i day2"),
    *binary("subtract", "{} - {}", *NUMERIC, "day i2"),
    *binary("multiply", "{} * {}", *NUMERIC),
    *binary("divide", "{} / {}", "l l2", "l d2", "d d2", "m d2"),
    *binary("mod", "{} % {}", *NUMERIC),
    *binary("div", "{} div {}", "l l2", "m m2", "m l2", "l m2"),
    *unary("negative positive abs floor ceil ceiling", "l d m"),
    *unary("isnan", "d"),
    *(
        case("round", f"round({x}, {n})", f"${x}", n)
        for x in "ldm"
        for n in (-400, -3, -1, 0, 1, 2, 400)
    ),
    case("round", "round(d)", "$d"),
    *binary("greatest", "greatest({}, {})", "l l2", "d d2", "m m2", "l d2", "s s2", "day day2"),
    *binary("least", "least({}, {})", "l l2", "d d2", "m d2", "ts ts2", "day ts2", "b b2"),
    case("greatest", "greatest(l, l2, 5L)", "$l", "$l2", 5),
    *binary("pmod", "pmod({}, {})", "l l2", "d d2", "m m2", "l d2", "i m2"),
    *(case("bround", f"bround({x}, {n})", f"${x}", n) for x in "ldm" for n in (-3, -1, 0, 1, 2)),
    *unary("sign signum sqrt rint degrees radians", "l d m"),
    *binary("bitwise_and", "{} & {}", "l l2", "i i2", "l i2"),
    *binary("bitwise_or", "{} | {}", "l l2", "i l2"),
    *binary("bitwise_xor", "{} ^ {}", "l l2", "i l2"),
    case("bitwise_not", "~l", "$l"),
    case("bitwise_not", "~i", "$i"),
    *unary("bit_count", "l i b"),
    *(case("bit_get", f"bit_get(l, {n})", "$l", n) for n in (-1, 0, 1, 5, 63, 64)),
    *binary("nanvl", "nanvl({}, {})", "d d2"),
    *unary("factorial", "i"),
    *(
        case("width_bucket", f"width_bucket(d, {low}, d2, {n})", "$d", low, "$d2", n)
        for low in (-1.5, 0.0, 3.0, -1.5e308, 1.5e308)
        for n in (-1, 0, 1, 7, MOST)
    ),
]
# The last bit of these is the library's own: Java's is another than C's
NEARLY = [
    *unary("cbrt exp ln log log10 log2 log1p sin cos tan asin acos atan", "d m"),
    *binary("power", "power({}, {})", "d d2", "i i2"),
    *binary("pow", "pow({}, {})", "d i2"),
    *binary("log", "log({}, {})", "d d2", "i d2"),
    *binary("hypot", "hypot({}, {})", "d d2"),
    *binary("atan2", "atan2({}, {})", "d d2"),
    case("pi", "pi()"),
    case("e", "e()"),
]

TEXT = [
    *unary("lower upper length char_length trim ltrim rtrim btrim", "s"),
    *binary("trim", "trim(BOTH {1} FROM {0})", "s s2"),
    *binary("ltrim", "trim(LEADING {1} FROM {0})", "s s2"),
    *binary("rtrim", "trim(TRAILING {1} FROM {0})", "s s2"),
    *binary("btrim", "btrim({}, {})", "s s2"),
    *binary("substring", "substring({}, {})", "s i2", "s l2"),
    *(case("substr", f"substr(s, i, {n})", "$s", "$i", n) for n in (-1, 0, 1, 2, 2**31 - 1)),
    case("substring", "substring(s, i2, i)", "$s", "$i2", "$i"),
    *binary("left", "left({}, {})", "s i2"),
    *binary("right", "right({}, {})", "s i2"),
    *binary("concat", "concat({}, {})", "s s2"),
    case("concat", "s || '-' || s2", "$s", "-", "$s2"),
    case("concat_ws", "concat_ws('-', s, s2)", "-", "$s", "$s2"),
    case("concat_ws", "concat_ws(s, s2, ls, 'x')", "$s", "$s2", "$ls", "x"),
    case("concat_ws", "concat_ws(s)", "$s"),
    *binary("replace", "replace({}, {})", "s s2"),
    case("replace", "replace(s, s2, 'yy')", "$s", "$s2", "yy"),
    *(case("split_part", f"split_part(s, s2, {n})", "$s", "$s2", n) for n in (-3, -1, 0, 1, 2, 9)),
    case("split_part", "split_part(s, ',', i2)", "$s", ",", "$i2"),
    *(
        case("regexp_extract", f"regexp_extract(s, r'{p}', {n})", "$s", p, n)
        for p in ("([a-z])(X)?", r"(\d+)-(\d+)", "", "(^a)|(b)", "é")
        for n in (-1, 0, 1, 2, 3)
    ),
    case("regexp_extract", r"regexp_extract(s, r'(.)b')", "$s", "(.)b"),
    *binary("instr", "instr({}, {})", "s s2"),
    *binary("locate", "locate({}, {})", "s s2"),
    *(case("locate", f"locate(s2, s, {n})", "$s2", "$s", n) for n in (-1, 0, 1, 2, 3, 9)),
    case("position", "position(s2, s, i)", "$s2", "$s", "$i"),
    *unary("initcap reverse ascii octet_length bit_length", "s"),
    *binary("trim", "trim({1}, {0})", "s s2"),
    *unary("md5 sha sha1 crc32 base64 hex url_decode", "s"),
    case("hex", "hex(l)", "$l"),
    *unary("chr char", "l"),
    *(case("sha2", f"sha2(s, {n})", "$s", n) for n in (0, 224, 256, 384, 512, 1)),
    *unary("soundex luhn_check url_encode", "s"),
    *unary("bin", "l i"),
    *(
        case("conv", f"conv(s, {base}, {to})", "$s", base, to)
        for base in (1, 2, 10, 16, 36, 37)
        for to in (-36, -10, 2, 10, 16, 40)
    ),
    *(case("conv", f"conv(l, 10, {to})", "$l", 10, to) for to in (-16, -2, 16, 36)),
    case("elt", "elt(i, s, 'x', s2)", "$i", "$s", "x", "$s2"),
    *binary("find_in_set", "find_in_set({}, {})", "s s2"),
    *(case("find_in_set", f"find_in_set(s, {x!r})", "$s", x) for x in ("", ",", "a,,é,Ab")),
    *(
        case("format_number", f"format_number({x}, {n})", f"${x}", n)
        for x in "lm"
        for n in (-1, 0, 2, 12)
    ),
    *(case("repeat", f"repeat(s, {n})", "$s", n) for n in (-1, 0, 1, 3)),
    *(case("space", f"space({n})", n) for n in (-1, 0, 3)),
    *(case(f"{x}pad", f"{x}pad(s, {n})", "$s", n) for x in "lr" for n in (-1, 0, 2, 7)),
    *(case(f"{x}pad", f"{x}pad(s, {n}, s2)", "$s", n, "$s2") for x in "lr" for n in (1, 4, 9)),
    case("translate", "translate(s, s2, 'xé')", "$s", "$s2", "xé"),
    case("translate", "translate(s, 'abaé', s2)", "$s", "abaé", "$s2"),
    *(case("overlay", f"overlay(s, s2, {n})", "$s", "$s2", n) for n in (-3, -1, 0, 1, 2, 9)),
    *(case("overlay", f"overlay(s, 'x', 2, {n})", "$s", "x", 2, n) for n in (-1, 0, 1, 3)),
    *(
        case("substring_index", f"substring_index(s, {joint!r}, {n})", "$s", joint, n)
        for joint in (",", "ab", "", "b")
        for n in (-3, -2, -1, 0, 1, 2, 3)
    ),
    *binary("startswith", "startswith({}, {})", "s s2"),
    *binary("endswith", "endswith({}, {})", "s s2"),
    *binary("contains", "contains({}, {})", "s s2"),
    *binary("like", "{} LIKE {}", "s s2"),
    *binary("levenshtein", "levenshtein({}, {})", "s s2"),
    case("levenshtein", "levenshtein(s, s2, 2)", "$s", "$s2", 2),
    *(
        case(name, f"{name}(s, r'{p}')", "$s", p)
        for name in ("regexp_count", "regexp_substr", "regexp_instr", "split")
        for p in ("[a-z]", "[a-z]+", ",", "b*", "(a)|(b)", r"\d+", "^a", "c$", "[a-z&&[^b]]", "")
    ),
    *(case("split", f"split(s, '[,b]', {n})", "$s", "[,b]", n) for n in (-1, 0, 1, 2, 3)),
    *(
        case("regexp_extract_all", f"regexp_extract_all(s, r'{p}', {n})", "$s", p, n)
        for p in ("([a-z])(X)?", r"(\d+)", "(é)|(a)")
        for n in (0, 1, 2)
    ),
    *(
        case("regexp_replace", f"regexp_replace(s, r'{p}', r'{new}')", "$s", p, new)
        for p in ("[a-z]", "(a)(b)?", r"\d+", "b*", "^", "c?$", "é|日", r"\s")
        for new in ("", "x", "[$0]", r"\$", "<$1>", r"\\")
    ),
    case("regexp_replace", "regexp_replace(s, 'a', 'y', 2)", "$s", "a", "y", 2),
]
CHOICES = [
    case("coalesce", "coalesce(l, l2, 7L)", "$l", "$l2", 7),
    case("coalesce", "coalesce(ls, array('x'))", "$ls", ["x"]),
    *binary("nvl", "nvl({}, {})", "s s2", "d d2"),
    *binary("ifnull", "ifnull({}, {})", "ts ts2"),
    case(
        "decode",
        "decode(l, l2, 'same', 3L, 'three', 'other')",
        "$l",
        "$l2",
        "same",
        3,
        "three",
        "other",
    ),
    case("decode", "decode(s, s2, 1, null, 2)", "$s", "$s2", 1, None, 2),
    case("nvl2", "nvl2(s, l, l2)", "$s", "$l", "$l2"),
    *binary(
        "nullif", "nullif({}, {})", "l l2", "s s2", "m m2", "m l2", "day day2", "ts day2", "b b2"
    ),
]

LISTS = [
    *unary("size cardinality array_size", "ll ld ls"),
    *unary("array_min array_max", "ll ld ls ld8"),
    *binary("element_at", "element_at({}, {})", "ll i2", "ls i2"),
    *binary("get", "get({}, {})", "ll i2", "ld i2"),
    *unary("reverse array_distinct sort_array array_sort", "ll ls ld8"),
    case("sort_array", "sort_array(ll, false)", "$ll", False),
    case("sort_array", "sort_array(ld, false)", "$ld", False),
    *binary("array_contains", "array_contains({}, {})", "ll l2", "ls s2", "ld d2"),
    *binary("array_position", "array_position({}, {})", "ll l2", "ls s2"),
    *binary("arrays_overlap", "arrays_overlap({}, {})", "ll ll2", "ls ls2"),
    *binary("array_intersect", "array_intersect({}, {})", "ll ll2", "ls ls2"),
    *binary("array_except", "array_except({}, {})", "ll ll2", "ls ls2"),
    *binary("array_union", "array_union({}, {})", "ll ll2", "ls ls2"),
    *binary("array", "array({}, {})", "l l2", "s s2"),
    case("array_join", "array_join(ls, ',')", "$ls", ","),
    case("array_join", "array_join(ls, ',', '-')", "$ls", ",", "-"),
    *(case("slice", f"slice(ll, {n}, 2)", "$ll", n, 2) for n in (-3, -1, 0, 1, 2, 5)),
    case("slice", "slice(ls, 1, i2)", "$ls", 1, "$i2"),
    *binary("array_remove", "array_remove({}, {})", "ll l2", "ls s2"),
    *binary("array_append", "array_append({}, {})", "ll l2", "ls s2"),
    *binary("array_prepend", "array_prepend({}, {})", "ll l2", "ls s2"),
    *unary("array_compact", "ll ls ld"),
    *(case("array_repeat", f"array_repeat(s, {n})", "$s", n) for n in (-1, 0, 3)),
    case("flatten", "flatten(array(array(1L, 2L), array(), array(null)))", [[1, 2], [], [None]]),
    case("flatten", "flatten(array(array(1L), null))", [[1], None]),
    *(case("sequence", f"sequence({a}, {b})", a, b) for a, b in ((1, 3), (3, 1), (2, 2), (-1, 1))),
    *(
        case("sequence", f"sequence({a}, {b}, {by})", a, b, by)
        for a, b, by in ((1, 9, 3), (9, 1, -3), (1, 3, -1), (2, 2, 0), (1, 3, 0), (5, 1, 2))
    ),
    case("map_keys", "map_keys(map('a', 1, 'ab', 2))", {"a": 1, "ab": 2}),
    case("map_values", "map_values(map('a', 1, 'ab', null))", {"a": 1, "ab": None}),
    case("map_contains_key", "map_contains_key(map('a', 1, 'ab', 2), s)", {"a": 1, "ab": 2}, "$s"),
]

HASHES = [
    *unary("hash xxhash64", "l d s b day ts ll ls ld ld8"),
    *binary("hash", "hash({}, {})", "l s2", "d b2"),
    *binary("xxhash64", "xxhash64({}, {})", "l s2", "d b2"),
]

FIELDS = (
    "year quarter month day dayofmonth dayofweek weekday dayofyear weekofyear hour minute second"
)
UNITS = (
    *("year", "yyyy", "yy", "quarter", "month", "mm", "mon", "week", "day", "dd", "hour", "minute"),
    *("second", "millisecond", "microsecond", "WEEK", "decade", ""),
)
INTERVALS = (
    ("7 DAYS", 0, 7, 0),
    ("-7 DAYS", 0, -7, 0),
    ("1 MONTH", 1, 0, 0),
    ("-13 MONTHS", -13, 0, 0),
    ("2 YEARS", 24, 0, 0),
    ("2 HOURS", 0, 0, 7_200_000_000),
    ("-1 SECOND", 0, 0, -1_000_000),
    ("'1 02:03:04.5' DAY TO SECOND", 0, 1, 7_384_500_000),
)
SPANS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH")
SPANS += ("QUARTER", "YEAR")
WRITTEN = (
    *("yyyy-MM-dd", "d/M/yy", "y", "yyy", "yyyyy", "MMM d, yyyy", "MMMM", "LL LLL", "EEE", "EEEE"),
    *("E", "HH:mm:ss", "h:mm a", "hh a", "kk K", "SSS", "S", "SSSSSS", "D", "DDD", "Q", "QQ"),
    *("QQQ", "QQQQ", "G", "yyyy-MM-dd'T'HH:mm:ssXXX", "x", "xxx", "Z", "z", "VV", "O", "'it''s' H"),
    *("yyyy[-MM]", "m s"),
)
DATES = [
    *unary(FIELDS, "day ts"),
    case("second_with_fraction", "extract(SECOND FROM ts)", "$ts"),
    *(
        case("date_trunc", f"date_trunc('{unit}', {x})", unit, f"${x}")
        for unit in UNITS
        for x in ("day", "ts")
    ),
    *(
        case("trunc", f"trunc({x}, '{unit}')", f"${x}", unit)
        for unit in UNITS
        for x in ("day", "ts")
    ),
    *binary("date_add", "date_add({}, {})", "day i2", "ts i2"),
    *binary("date_sub", "date_sub({}, {})", "day i2", "ts i2"),
    *binary("date_diff", "date_diff({}, {})", "day day2", "ts day2", "ts ts2"),
    *binary("datediff", "datediff({}, {})", "day ts2"),
    *binary("add_months", "add_months({}, {})", "day i2", "ts i2"),
    *unary("last_day", "day ts"),
    *(
        case("make_date", f"make_date({year}, i, {number})", year, "$i", number)
        for year in (0, 1, 2023, 2024, 9999)
        for number in (0, 29, 31)
    ),
    case("make_date", "make_date(i, i2, 31)", "$i", "$i2", 31),
    *(
        case("add_interval", f"{x} + INTERVAL {spelt}", f"${x}", *parts)
        for spelt, *parts in INTERVALS
        for x in ("day", "ts")
    ),
    *unary("to_date to_timestamp unix_timestamp", "day ts"),
    *unary("unix_seconds unix_millis unix_micros", "ts"),
    *unary("timestamp_seconds timestamp_millis timestamp_micros", "l"),
    *unary("timestamp_seconds", "d m"),
    *unary("dayname monthname", "day ts"),
    case("unix_date", "unix_date(day)", "$day"),
    case("date_from_unix_date", "date_from_unix_date(i)", "$i"),
    *(
        case("date_format", f'date_format({x}, "{pattern}")', f"${x}", pattern)
        for pattern in WRITTEN
        for x in ("day", "ts")
    ),
    *unary("from_unixtime", "l"),
    case("from_unixtime", "from_unixtime(i, 'yyyy/MM/dd')", "$i", "yyyy/MM/dd"),
    *binary("months_between", "months_between({}, {})", "day day2", "ts ts2", "ts day2"),
    case("months_between", "months_between(ts, ts2, false)", "$ts", "$ts2", False),
    *(
        case("timestampdiff", f"timestampdiff({unit}, {x}, {x}2)", unit, f"${x}", f"${x}2")
        for unit in SPANS
        for x in ("day", "ts")
    ),
    *(
        case("timestampadd", f"timestampadd({unit}, {n}, {x})", unit, n, f"${x}")
        for unit in SPANS
        for x in ("day", "ts")
        for n in (-13, 1)
    ),
    *(
        case("elapsed", f"unix_micros({one}) - unix_micros({other})", f"${one}", f"${other}")
        for one, other in (("ts", "ts2"), ("ts2", "ts"))
    ),
    *(
        case("next_day", f"next_day(day, '{name}')", "$day", name)
        for name in ("Mon", "tu", "SUNDAY", "WED", "x")
    ),
    *(
        case(
            "make_timestamp", f"make_timestamp(2024, i, {d}, 23, 59, {s})", 2024, "$i", d, 23, 59, s
        )
        for d in (0, 29, 31)
        for s in (0, 59, 60, 61)
    ),
    case("make_timestamp", "make_timestamp(i, 1, 1, 0, 0, 1.5)", "$i", 1, 1, 0, 0, Decimal("1.5")),
    *(
        case(name, f"{name}(ts, '{zone}')", "$ts", zone)
        for name in ("from_utc_timestamp", "to_utc_timestamp")
        for zone in ("UTC", "+05:30", "America/New_York", "Europe/Berlin", "Nowhere/Land")
    ),
]

READ = [
    *(
        case("parse_url", f"parse_url(u, '{part}')", "$u", part)
        for part in ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")
    ),
    *(
        case("parse_url", f"parse_url(u, 'QUERY', '{name}')", "$u", "QUERY", name)
        for name in ("id", "q", "empty", "r", "x")
    ),
    case("url_decode", "url_decode(u)", "$u"),
    case("url_encode", "url_encode(u)", "$u"),
    *(
        case("get_json_object", f'get_json_object(j, "{path}")', "$j", path)
        for path in ("$", "$.a", "$.a.b", "$['e f']", "$.a.c[1].d", "$.a.c[0]", "$[0]", "$[1]")
    ),
    *(
        case("get_json_object", f'get_json_object(j, "{path}")', "$j", path)
        for path in ("$[2][0]", "$.b", "$.c", "$.a[2]", "$.a[9]", "$.a.c", "$[0][0]", "a")
    ),
    *unary("json_array_length", "j"),
    *unary(FIELDS, "t"),
    *unary("date timestamp to_date to_timestamp last_day", "t"),
    case("date_trunc", "date_trunc('hour', t)", "hour", "$t"),
    case("trunc", "trunc(t, 'month')", "$t", "month"),
    case("date_add", "date_add(t, 1)", "$t", 1),
    case("date_diff", "date_diff(t, DATE '2024-01-01')", "$t", date(2024, 1, 1)),
    case("unix_timestamp", "unix_timestamp(f)", "$f"),
    *(
        case(name, f'{name}(f, "{pattern}")', "$f", pattern)
        for name in ("to_date", "to_timestamp")
        for pattern in FORMATS
    ),
]

CASTS = [
    *unary("string", "l d m b day ts n"),
    *unary("tinyint smallint int bigint", "l d m b ts n"),
    *unary("double float", "l d m b ts n"),
    *unary("boolean", "l d m b n"),
    *unary("decimal", "l d m b ts n"),
    *(
        case("decimal", f"cast({x} AS DECIMAL({p}, {s}))", f"${x}", p, s)
        for x in ("l", "d", "m", "n", "ts")
        for p, s in ((5, 2), (38, 0), (38, 10), (38, 38), (3, 3), (20, 4))
    ),
    *unary("date", "day ts"),
    *unary("timestamp", "day ts l d m"),
    *(case("format_number", f"format_number(d, {n})", "$d", n) for n in (-1, 0, 1, 2, 12)),
]


def crossed() -> list[dict[str, Any]]:
    """Every value of a column beside every value of each other."""
    n = max(len(values) for _, values in PAIRS.values())
    rows = []
    for i in range(n):
        for j in range(n):
            row = {name: values[i % len(values)] for name, (_, values) in PAIRS.items()}
            row |= {f"{name}2": values[j % len(values)] for name, (_, values) in PAIRS.items()}
            rows.append(row)
    return rows


def stacked() -> list[dict[str, Any]]:
    n = max(len(values) for _, values in SINGLES.values())
    return [
        {name: values[i] if i < len(values) else None for name, (_, values) in SINGLES.items()}
        for i in range(n)
    ]


CROSSED, STACKED = crossed(), stacked()


def made(spark: Any, rows: list[dict[str, Any]], columns: dict[str, Any], twice: bool) -> Any:
    fields = {name: kind for name, (kind, _) in columns.items()}
    if twice:
        fields |= {f"{name}2": kind for name, kind in fields.items()}
    table = pa.Table.from_pylist(rows, pa.schema(fields))
    return spark.createDataFrame(table).repartition(1).cache()


@pytest.fixture(scope="module")
def pairs(spark):
    frame = made(spark, CROSSED, PAIRS, twice=True)
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def singles(spark):
    frame = made(spark, STACKED, SINGLES, twice=False)
    yield frame
    frame.unpersist()


def answers(frame: Any, expressions: Sequence[str]) -> list[list[Any]]:
    """What Spark gives, NULL where it would fail the job."""
    from pyspark.sql.classic.column import Column

    catalyst = frame.sparkSession._jvm.org.apache.spark.sql
    columns = []
    for i, text in enumerate(expressions):
        tree = catalyst.classic.ExpressionUtils.expression(catalyst.functions.expr(text))
        tried = catalyst.catalyst.expressions.TryEval(tree)
        columns.append(Column(catalyst.classic.ExpressionUtils.column(tried)).alias(f"c{i}"))
    conf = frame.sparkSession.conf
    conf.set(SHARED, "false")  # what several expressions have in common is tried by none of them
    try:
        return [spoken(column) for column in frame.select(*columns).toArrow().columns]
    finally:
        conf.unset(SHARED)


def spoken(column: pa.ChunkedArray) -> list[Any]:
    """Python's values; a date beyond Python's years is None, as it is for us."""
    if pa.types.is_date(column.type):
        return [within(date(1970, 1, 1), timedelta(days=1), n) for n in raw(column, pa.int32())]
    if pa.types.is_timestamp(column.type):
        step = timedelta(microseconds=1)
        return [within(moment(1970, 1, 1), step, n) for n in raw(column, pa.int64())]
    return column.to_pylist()


def raw(column: pa.ChunkedArray, kind: pa.DataType) -> list[int | None]:
    return column.cast(kind).to_pylist()


def within(start: Any, step: timedelta, n: int | None) -> Any:
    try:
        return None if n is None else start + step * n
    except OverflowError:
        return None


def ours(name: str, arguments: tuple[Any, ...], row: dict[str, Any]) -> Any:
    function = FUNCTIONS[name]
    values = [
        row[one[1:]] if isinstance(one, str) and one[:1] == "$" and one[1:] in row else one
        for one in arguments
    ]
    if None in values and not function.on_missing:
        return None
    return function.apply(*values)


def near(spark_says: Any, we_say: Any) -> bool:
    """Doubles that differ in their last bits alone."""
    if not isinstance(spark_says, float) or not isinstance(we_say, float):
        return shown(spark_says) == shown(we_say)
    same = shown(spark_says) == shown(we_say)
    return same or abs(spark_says - we_say) <= 4 * math.ulp(max(abs(we_say), 1e-300))


def shown(value: Any) -> Any:
    """What tells values apart: kinds of numbers, and 0.0 from -0.0; decimals by value alone."""
    if isinstance(value, float):
        return "double", "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, list):
        return [shown(one) for one in value]
    return type(value).__name__, value


# What docs/language.md names: Spark's words, what it says and what we say


def wraps(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """Spark lets numbers run over 64 bits in `div`, `pmod`, casts to timestamps; we do not."""
    return we_say is None and ("div" in sql or "pmod" in sql or sql == "timestamp(m)")


def by_type(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """Greatest and least of a number and a missing double: only Spark knows that it is a double."""
    if isinstance(we_say, date):
        return spark_says == datetime(we_say.year, we_say.month, we_say.day, tzinfo=UTC)
    return None in row.values() and spark_says == float(we_say)


def time_alone(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """A time without a date is one of today to Spark, and no timestamp to us."""
    return we_say is None and row == {"t": "12:30"}


def beyond_calendar(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """Timestamps end with the years 1 and 9999 of UTC."""
    return we_say is None and str(row.get("t"))[:4] in ("0001", "9999")


def spelt_by_java(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """Before version 19, Java spells some doubles with more digits than they need."""
    numbers = {float(str(said).replace(",", "")) for said in (spark_says, we_say)}
    return "d" in row and numbers == {row["d"]}


def without_start(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """To look from a missing place on gives 0 in Spark, and is missing with us."""
    return sql.startswith("position(") and row["i"] is None and (spark_says, we_say) == (0, None)


def later_years(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """The calendar ends with 9999, beyond which Spark goes on, and round."""
    return we_say is None and sql == "from_unixtime(l)" and abs(row["l"]) > 2**40


def equals_nan(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """NaN equals NaN in Spark, and nothing with us."""
    return (spark_says, we_say) == (True, False) and math.isnan(row.get("d2") or 0)


def halves(sql: str, row: dict[str, Any], spark_says: Any, we_say: Any) -> bool:
    """A pattern that matches nothing does so between the halves of a character in Java."""
    return "😀" in row.get("s", "") and ("b*" in sql or "''" in sql)


Difference = Callable[[str, dict[str, Any], Any, Any], bool]


def check(
    frame: Any, rows: list[dict[str, Any]], cases: Sequence[Case], differences: Sequence[Difference]
) -> None:
    columns = answers(frame, [sql for _, sql, _ in cases])
    wrong, met = {}, set()
    for (name, sql, arguments), column in zip(cases, columns, strict=True):
        for row, spark_says in zip(rows, column, strict=True):
            we_say = ours(name, arguments, row)
            if shown(we_say) == shown(spark_says):
                continue
            used = {key: row[key] for key in row if f"${key}" in arguments}
            named = next((one for one in differences if one(sql, used, spark_says, we_say)), None)
            if named is None:
                wrong[f"{sql} of {used}: Spark {spark_says!r}, we {we_say!r}"] = None
            met.add(named)
    assert not wrong, f"{len(wrong)} disagreements\n" + "\n".join(list(wrong)[:60])
    assert met == set(differences)


@pytest.mark.parametrize(
    ("cases", "differences"),
    [
        pytest.param(ARITHMETIC, (wraps, by_type), id="arithmetic"),
        pytest.param(TEXT, (without_start, halves), id="text"),
        pytest.param(CHOICES, (), id="choices"),
        pytest.param(LISTS, (equals_nan,), id="lists"),
        pytest.param(DATES, (later_years,), id="dates"),
        pytest.param(HASHES, (), id="hashes"),
    ],
)
def test_a_function_of_two_columns_gives_what_spark_gives(pairs, cases, differences):
    check(pairs, CROSSED, cases, differences)


@pytest.mark.parametrize(
    ("cases", "differences"),
    [
        pytest.param(READ, (time_alone, beyond_calendar), id="read"),
        pytest.param(CASTS, (wraps, spelt_by_java), id="casts"),
    ],
)
def test_a_reading_or_cast_gives_what_spark_gives(singles, cases, differences):
    check(singles, STACKED, cases, differences)


def test_a_function_of_doubles_gives_what_spark_gives_but_for_the_last_bits(pairs):
    wrong = {}
    for (name, sql, arguments), column in zip(
        NEARLY, answers(pairs, [sql for _, sql, _ in NEARLY]), strict=True
    ):
        for row, spark_says in zip(CROSSED, column, strict=True):
            we_say = ours(name, arguments, row)
            if not near(spark_says, we_say):
                used = {key: row[key] for key in row if f"${key}" in arguments}
                wrong[f"{sql} of {used}: Spark {spark_says!r}, we {we_say!r}"] = None
    assert not wrong, f"{len(wrong)} disagreements\n" + "\n".join(list(wrong)[:60])


def test_every_function_is_refereed():
    named = {
        name
        for cases in (ARITHMETIC, TEXT, CHOICES, LISTS, HASHES, DATES, READ, CASTS, NEARLY)
        for name, *_ in cases
    }
    ours = {function.name for function in FUNCTIONS.values() if not function.clock}
    not_sparks = (
        {function.name for function in COMPARING} | {*buckets.FUNCTIONS} | {*foreign.FUNCTIONS}
    )
    assert ours - not_sparks <= {FUNCTIONS[name].name for name in named}
