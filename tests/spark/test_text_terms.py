"""Spark itself as the referee of texts with terms: every function, literal and list of a clause.

What Spark refuses to run (overflow, bad casts) is not drawn: there, terms are missing with us.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from remuda.errors import NoSqlEquivalent
from remuda.language.text import parse, to_sql
from remuda.model.functions import FUNCTIONS, buckets, foreign, hashes
from strategies import SEED, count

N_ROWS = 200
N_TEXTS = count(600, 6000)
PER_JOB = 50
CODE_GENERATION = "spark.sql.codegen.factoryMode"
NOT_DRAWN = {
    "as_moment", "compare", "ordering",  # of our own
    "add", "subtract", "multiply", "divide", "div",  # drawn as operators
    "element_at", "tinyint", "smallint", "decimal", "boolean",  # which may fail, or casts
    "add_interval", "second_with_fraction",  # drawn as INTERVAL and EXTRACT
    "now", "current_timestamp", "localtimestamp",  # whose moment is Spark's own
    "curdate", "current_date",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "elapsed",  # drawn as operators
    "map_keys", "map_values", "map_contains_key",  # of maps, which are no columns here
}  # fmt: skip
# One by one, with terms drawn for {w} (whole), {t} (text), {d} (date), {m} (moment)
EXTRAS = (
    "soundex({t}) = 'A100' OR luhn_check(t)", "conv(abs(i), 10, 2) = bin(abs(i))",
    "elt(1, {t}, 'x') = 'a'", "find_in_set({t}, 'x,a,ab') > 1", "format_number({w}, 1) = '2.0'",
    "url_encode({t}) = try_url_decode({t})", "bit_get(i, 1) = getbit(i, 0)", "nanvl(d, 1) > 1",
    "factorial(i) > 1",
    "width_bucket(d, 0, 10, 5) > 2", "decode(t, 'a', 1, 'ab', 2, 3) > 1",
    "get_json_object(concat('{{\"k\": \"', t, '\"}}'), '$.k') = t",
    "json_array_length(concat('[', string(i), ']')) = 1", "size(array_remove(ns, 7)) < size(ns)",
    "array_contains(array_append(tags, t), 'z')", "get(array_prepend(ns, {w}), 0) = 1",
    "size(array_compact(tags)) > 1", "size(array_repeat(t, 2)) = 2",
    "array_contains(sequence(1, 5, 2), i)", "size(flatten(array(ns, ns))) = 4",
    "pmod({w}, 4) = 1", "({w} & 3) > ({w} | 1)", "({w} ^ 1) < 3 OR (~{w}) > 0", "bit_count(i) = 2",
    "ascii({t}) > 96", "octet_length({t}) = bit_length(t) / 8", "levenshtein({t}, {t}) < 2",
    "regexp_count({t}, '[ab]') > 1", "regexp_instr({t}, 'b') = regexp_instr({t}, 'a')",
    "array_position(ns, 7) > 0", "timestampdiff(HOUR, {m}, {m}) > 3",
    "datediff(MONTH, {m}, ts) < 1",
    "unix_date({d}) % 2 = 0", "crc32({t}) % 2 = 0", "sqrt(abs(d)) > 1", "power(i, 2) > 10",
    "pow(2, i) >= 4", "sign(d) = signum(i)", "rint(d) = bround(d, 0)", "bround(m, 1) > 0",
    "months_between({m}, {m}) > 0.5D", "initcap({t}) = {t}", "reverse({t}) < {t}",
    "repeat(t, 2) <> concat(t, t)", "{t} = space(1)", "lpad(t, 3, '*') = '**a'",
    "rpad({t}, 2, {t}) = 'ab'", "translate({t}, 'ab', 'ba') > {t}", "overlay({t}, 'x', 2) = 'axb'",
    "overlay({t} PLACING 'x' FROM 2 FOR 0) LIKE '%xb%'", "substring_index(s, ',', 1) = 'a'",
    "chr(97) = {t} OR char(98) = t", "md5(t) < sha1(t) OR sha(t) > 'a'", "sha2({t}, 256) > 'a'",
    "base64({t}) = 'YQ==' OR hex({t}) = '61'", "regexp_replace({t}, '[ab]', '<$0>') LIKE '<a>%'",
    "regexp_substr({t}, '[a-z]+') = 'ab'", "array_join(tags, ',') = 'b,a'",
    "date_format({m}, 'yyyy-MM') = '2024-02'", "from_unixtime(i) < '1970-01-01 00:00:02'",
    "dayname({d}) IN ('Mon', 'Sun')", "monthname({m}) = 'Jan'", "next_day({d}, 'MON') > {d}",
    "parse_url('https://a.org/x', 'HOST') = concat(t, '.org')", "url_decode(t) = {t}",
    "try_parse_url('https://a.org/x?k=ab', 'QUERY', 'k') = {t}", "date_from_unix_date(i) < {d}",
    "timestampadd(HOUR, i, {m}) > ts", "dateadd(DAY, 3, {d}) > {d}",
    "make_timestamp(2024, abs(i) % 12 + 1, 1, 0, 0, 0) > ts",
    "from_utc_timestamp(ts, 'Asia/Tokyo') > to_utc_timestamp(ts, 'Asia/Tokyo')",
    "startswith({t}, {t})", "NOT endswith({t}, t)", "contains({t}, t)", "{t} LIKE concat(t, '%')",
    "NOT {t} LIKE ('%' || t)", "{t} ILIKE {t}", "like({t}, 'a%') OR ilike({t}, t)",
    "array_contains(tags, {t})", "NOT array_contains(ns, {w})",
    "arrays_overlap(tags, array('a', t))",
    "arrays_overlap(tags, split(s, ','))", "size(array_distinct(ns)) < size(ns)",
    "size(array_intersect(tags, array('a'))) > 0", "size(array_except(tags, array('a'))) > 0",
    "size(array_union(tags, array('z'))) > 2", "get(slice(ns, 1, 1), 0) = 2",
    "get(sort_array(ns), 0) = 1 OR get(array_sort(ns), 1) = 7", "get(split(s, ','), 1) = 'b'",
    "size(regexp_extract_all({t}, '([a-z])', 1)) = 2", "size(reverse(ns)) = 1",
    "round(exp(i), 3) > 1", "round(ln(abs(d) + 1), 3) = round(log(abs(d) + 1), 3)",
    "round(log10(abs(d) + 1) + log2(abs(i) + 1) + log1p(abs(i)), 3) > 2", "round(cbrt(i), 3) > 1",
    "round(hypot(i, d), 3) > 7", "round(degrees(d) + radians(d), 3) > 50",
    "round(sin(d) + cos(d) * tan(i), 3) > 0", "round(asin(d) + acos(d), 3) = 1.571D",
    "round(atan(d) + atan2(i, d), 3) > 1", "pi() > e()", "zeroifnull({w}) = 0",
    "nullifzero({w}) IS NULL", "equal_null({t}, t)", "NOT equal_null({w}, {w})",
    "ts - {m} > INTERVAL 1 HOUR", "{m} - ts BETWEEN INTERVAL -1 DAY AND INTERVAL '1' HOUR",
    "NOT (ts - {d} = INTERVAL 0 SECONDS)", "(ts - {m}) * 2 < INTERVAL '10' DAYS",
    "abs({d} - day) IN (INTERVAL '0' DAY, INTERVAL '1' DAY)", "ts - {m} > {m} - ts",
    "({t}, i) IN (('a', 1), ('ab', 3))", "NOT (t, i) = ('a', {w})", "(t, {w}) <> ('ab', i)",
    "b IS UNKNOWN", "b IS NOT UNKNOWN", "trim(BOTH ' ' FROM {t}) = 'x'",
    "trim(LEADING 'a' FROM {t}) = ltrim('a', t)", "trim('ab', {t}) = rtrim('b', t)",
    "substring({t} FROM 1 FOR 1) = 'a'", "position('b' IN {t}) = 2",
    "get(ns, i) = 3 OR size(ns) = 0",
)  # fmt: skip

VALUES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "i": (pa.int32(), (0, 1, 2, 3, 7, -1, -4, 12)),
    "n": (pa.int64(), (0, 1, 5, -9, 2**40, 10)),
    "d": (pa.float64(), (0.0, 1.0, 0.1, 2.5, -7.25, 1e6)),
    "m": (pa.decimal128(10, 2), tuple(map(Decimal, ("0.00", "0.30", "1.00", "2.50", "-7.25")))),
    "s": (pa.string(), ("", "a", "ab", "Abc", "b", "a,b", " x ", "1", "2.5", "true", "a%b")),
    "t": (pa.string(), ("a", "B", "ab", "zz", "7")),
    "b": (pa.bool_(), (True, False)),
    "day": (pa.date32(), (date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 29))),
    "ts": (
        pa.timestamp("us", "UTC"),
        (
            datetime(2023, 12, 31, 23, 59, 59, tzinfo=UTC),
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(2024, 2, 29, 10, 30, 15, 250_000, tzinfo=UTC),
        ),
    ),
    "tags": (pa.list_(pa.string()), ([], ["a"], ["b", "a"], ["7", "late"])),
    "ns": (pa.list_(pa.int32()), ([], [1], [2, 7], [3, 3, 1])),
    "u": (
        pa.struct({"age": pa.int32(), "name": pa.string()}),
        ({"age": 3, "name": "a"}, {"age": None, "name": "ab"}, {"age": 7, "name": None}),
    ),
    "legs": (
        pa.list_(pa.struct({"airport": pa.string(), "delay": pa.int32()})),
        (
            [],
            [{"airport": "a", "delay": 1}],
            [{"airport": "b", "delay": 7}, {"airport": "a", "delay": 2}],
        ),
    ),
}
SCHEMA = pa.schema({name: kind for name, (kind, _) in VALUES.items()})


RNG = random.Random(SEED)
ROWS: list[dict[str, Any]] = [
    {name: RNG.choice((None, *several)) for name, (_, several) in VALUES.items()}
    for _ in range(N_ROWS)
]


class Drawing:
    """Texts drawn from a seed, with the names of all that was drawn in them."""

    def __init__(self, seed: int) -> None:
        self.rng, self.functions = random.Random(seed), set[str]()

    def one(self, *ways: str | Callable[[], str]) -> str:
        way = self.rng.choice(ways)
        return way if isinstance(way, str) else way()

    def call(self, name: str, *arguments: str) -> str:
        self.functions.add(name)
        return f"{name}({', '.join(arguments)})"

    # Terms, by type; `depth` bounds them

    def whole(self, depth: int) -> str:
        if depth == 0:
            return self.one("i", "n", "u.age", "1", "2", "-3", "size(tags)")
        inner = depth - 1
        text, number, moment = self.text, self.whole, self.moment
        field = self.one(*_FIELDS)
        return self.one(
            lambda: number(0),
            lambda: f"({number(inner)} {self.one('+', '-')} {number(inner)})",
            lambda: f"(i * {self.one('2', '-3', 'i')})",
            lambda: f"-({number(0)})",
            lambda: f"({number(inner)} % {self.one('3', '-2')})",
            lambda: f"({number(inner)} div {self.one('3', '-2')})",
            lambda: self.call(self.one("abs", "negative", "positive"), number(inner)),
            lambda: self.call(self.one("try_add", "try_subtract"), number(0), number(0)),
            lambda: self.call(self.one("try_multiply", "try_mod"), "i", self.one("2", "i")),
            lambda: self.call("mod", number(0), "4"),
            lambda: self.call(self.one("greatest", "least"), number(inner), number(inner), "1"),
            lambda: self.call(
                self.one("length", "len", "char_length", "character_length"), text(inner)
            ),
            lambda: self.call("instr", text(inner), "'b'"),
            lambda: self.call(self.one("locate", "position"), "'b'", text(0), "1"),
            lambda: self.call(field, moment(inner)),
            lambda: f"extract({self.one('YEAR', 'DOW', 'hour')} FROM {moment(inner)})",
            lambda: self.call(self.one("date_diff", "datediff"), self.date(inner), self.date(0)),
            lambda: self.call(self.one("floor", "ceil", "ceiling"), self.one("d", "m")),
            lambda: self.call(
                self.one("size", "cardinality", "array_size"), self.one("ns", "tags")
            ),
            lambda: (
                self.call(self.one("element_at", "try_element_at"), "ns", "1")
                if self.rng.random() < 0
                else self.call("try_element_at", "ns", self.one("1", "-1"))
            ),
            lambda: self.call("get", "ns", "0"),
            lambda: self.call(self.one("array_min", "array_max"), "ns"),
            lambda: self.call(self.one("coalesce", "nvl", "ifnull"), number(inner), "5"),
            lambda: self.call("coalesce", number(inner), number(0), "0"),
            lambda: self.call("nvl2", text(0), number(0), "4"),
            lambda: self.call("nullif", number(inner), "1"),
            lambda: f"if({self.condition(inner)}, {number(inner)}, {number(0)})",
            lambda: f"CASE WHEN {self.condition(inner)} THEN {number(0)} ELSE 3 END",
            lambda: f"CASE {number(0)} WHEN 1 THEN 2 WHEN 2 THEN 7 END",
            lambda: f"TRY_CAST({self.one('s', 't', 'd', 'm', 'b')} AS {self.one('INT', 'BIGINT')})",
            lambda: f"{self.one('d', 'm', 'b')}::{self.one('int', 'bigint')}",
            lambda: self.call(self.one("int", "bigint"), self.one("d", "b", "m")),
            lambda: self.call(self.one("unix_seconds", "unix_millis", "unix_micros"), "ts"),
            lambda: self.call(self.one("unix_timestamp", "to_unix_timestamp"), "ts"),
            lambda: self.call(self.one("dayofyear", "dayofmonth"), moment(inner)),
        )

    def fraction(self, depth: int) -> str:
        return self.one(
            lambda: self.one("d", "2.5D", "0.1D"),
            lambda: f"(d {self.one('+', '-', '*')} {self.one('1', '2.5D', 'd', 'i')})",
            lambda: f"({self.whole(0)} / {self.one('4', '-2', '8')})",
            lambda: self.call("try_divide", self.one("d", "i"), self.one("d", "i")),
            lambda: self.call("round", "d", self.one("0", "1")),
            lambda: self.call("abs", "d"),
            lambda: f"CAST({self.one('i', 'm')} AS DOUBLE)",
            lambda: self.call(self.one("double", "float"), self.one("i", "b")),
            lambda: f"TRY_CAST({self.one('s', 't')} AS DOUBLE)",
        )

    def exact(self, depth: int) -> str:
        return self.one(
            "m",
            lambda: f"(m {self.one('+', '-')} {self.one('1', '0.25', 'i')})",
            lambda: f"(m * {self.one('2', '1.5')})",
            lambda: self.call("round", "m", self.one("0", "1")),
            lambda: f"CAST({self.one('i', 'm')} AS DECIMAL(12, 1))",
            lambda: self.call(self.one("greatest", "least"), "m", "1.00", "i"),
            lambda: "extract(SECOND FROM ts)",
        )

    def text(self, depth: int) -> str:
        if depth == 0:
            return self.one("s", "t", "u.name", "'ab'", "'a,b'")
        inner, text = depth - 1, self.text
        return self.one(
            lambda: self.call(self.one("lower", "upper", "lcase", "ucase"), text(inner)),
            lambda: self.call(self.one("trim", "ltrim", "rtrim", "btrim"), text(inner)),
            lambda: self.call(
                self.one("substring", "substr"), text(inner), self.one("1", "2", "-2"), "2"
            ),
            lambda: self.call(self.one("left", "right"), text(inner), self.one("1", "2")),
            lambda: self.call("concat", text(inner), text(0)),
            lambda: self.call("concat_ws", "'-'", text(0), text(0)),
            lambda: f"({text(inner)} || {text(0)})",
            lambda: self.call("replace", text(inner), "'a'", "'c'"),
            lambda: self.call("split_part", text(inner), "','", self.one("1", "2", "-1")),
            lambda: self.call("regexp_extract", text(inner), "'([a-z]+)'", self.one("0", "1")),
            lambda: self.call(self.one("coalesce", "nvl"), text(inner), "'z'"),
            lambda: self.call("nullif", text(inner), "'a'"),
            lambda: self.call(self.one("greatest", "least"), text(0), text(0)),
            lambda: self.call("try_element_at", "tags", self.one("1", "2")),
            lambda: self.call(self.one("array_min", "array_max"), "tags"),
            lambda: f"CAST({self.one('i', 'n', 'b', 'day', 'm')} AS STRING)",
            lambda: self.call("string", self.one("i", "b", "day")),
            lambda: f"CASE WHEN {self.condition(inner)} THEN {text(0)} WHEN b THEN 'q' END",
        )

    def date(self, depth: int) -> str:
        if depth == 0:
            return self.one("day", "DATE '2024-01-01'")
        inner = depth - 1
        return self.one(
            lambda: self.call(self.one("date_add", "date_sub", "dateadd"), self.date(inner), "7"),
            lambda: f"({self.date(inner)} {self.one('+', '-')} {self.one('7', '31')})",
            lambda: f"({self.date(inner)} + INTERVAL {self.one('7 DAYS', '1 MONTH', '2 YEARS')})",
            lambda: self.call("add_months", self.date(inner), self.one("1", "-2")),
            lambda: self.call("last_day", self.date(inner)),
            lambda: self.call("trunc", self.date(inner), self.one("'MM'", "'year'", "'week'")),
            lambda: self.call(self.one("to_date", "date"), self.moment(inner)),
            lambda: self.call("try_to_date", "'2024-02-29'"),
            lambda: self.call("make_date", "2024", "abs(i) % 12 + 1", "1"),
            lambda: f"CAST({self.moment(inner)} AS DATE)",
            lambda: self.call("coalesce", self.date(inner), "DATE '2024-02-29'"),
        )

    def moment(self, depth: int) -> str:
        if depth == 0:
            return self.one("ts", "day", "TIMESTAMP '2024-01-01 10:00:00'")
        inner = depth - 1
        return self.one(
            lambda: self.call("date_trunc", self.one("'HOUR'", "'month'", "'day'"), self.moment(0)),
            lambda: f"(ts {self.one('+', '-')} INTERVAL {self.one(*_INTERVALS)})",
            lambda: self.call(self.one("to_timestamp", "timestamp"), self.moment(inner)),
            lambda: self.call("try_to_timestamp", "'2024-02-29 10:30:00'"),
            lambda: (
                self.call(
                    self.one("timestamp_seconds", "timestamp_millis", "timestamp_micros"), "n"
                )
                if self.rng.random() < 0
                else self.call("timestamp_seconds", "i")
            ),
            lambda: self.call(self.one("timestamp_millis", "timestamp_micros"), "n"),
            lambda: f"{self.date(inner)}::timestamp",
            lambda: self.date(inner),
        )

    # Conditions

    def extra(self, text: str) -> tuple[str, set[str]]:
        """The text with terms in its places, and the names that it calls."""
        kinds = {"{w}": self.whole, "{t}": self.text, "{d}": self.date, "{m}": self.moment}
        names = set(re.findall(r"(\w+)\(", text))
        for place, draw in kinds.items():
            while place in text:
                text = text.replace(place, draw(self.rng.choice((0, 0, 1))), 1)
        return text, self.functions | names

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return self.one(lambda: self.test(0), "b", "i > 1")
        return self.one(
            *([lambda: self.test(depth)] * 4),
            lambda: f"({self.condition(depth - 1)} AND {self.condition(depth - 1)})",
            lambda: f"({self.condition(depth - 1)} OR {self.condition(depth - 1)})",
            lambda: f"NOT ({self.condition(depth - 1)})",
            lambda: f"({self.condition(depth - 1)}) IS {self.one('TRUE', 'NOT FALSE')}",
            lambda: f"(i > {self.one('1', 'n')}) IS NULL",
            lambda: f"coalesce({self.condition(depth - 1)}, false)",
        )

    def test(self, depth: int) -> str:
        sign = self.one("=", "<>", "<", "<=", ">", ">=", "<=>")
        denial = self.one("", "NOT ")
        text, whole = self.text(depth), self.whole(depth)
        number = self.one(lambda: self.whole(depth), lambda: self.fraction(depth))
        either = self.one(number, lambda: self.exact(depth))
        days, moment = self.date(depth), self.moment(depth)
        quoted_day = self.one("'2024-01-01'", "'2024-2-29'", "'2024'", "' 2023-12-31 '")
        quoted_moment = self.one("'2024-01-01'", "'2024-02-29 10:30'", "'2024-01-01T00:00:00Z'")
        pattern = self.one("'a%'", "'%b'", "'_b%'")
        return self.one(
            f"{either} {sign} {self.one('1', '0', '2.5', '-3', '60 * 2')}",
            f"{number} {sign} {self.whole(0)}",
            f"{whole} {sign} {self.one(chr(39) + '1' + chr(39), chr(39) + ' 7' + chr(39))}",
            f"d {sign} {self.one(chr(39) + '2.5' + chr(39), chr(39) + '1e6' + chr(39))}",
            f"b {self.one('=', '<>', '<=>')} {self.one(*_BOOLEANS)}",
            f"{whole} {denial}IN ('1', '7', '-4')",
            f"{whole} {denial}BETWEEN '0' AND {self.one('5', 'i', chr(39) + '7' + chr(39))}",
            f"{number} {denial}BETWEEN {self.whole(0)} AND {self.whole(0)}",
            f"{whole} {denial}IN (1, 7, {self.whole(0)})",
            f"{text} {sign} {self.one('t', chr(39) + 'ab' + chr(39), chr(39) + '1' + chr(39))}",
            f"{text} {denial}IN ('a', '1', 'AB')",
            f"{text} {denial}{self.one('LIKE', 'ILIKE')} {pattern}",
            f"{text} {denial}LIKE {self.one('ANY', 'ALL')} ({pattern}, '%a%')",
            f"{text} {denial}RLIKE {self.one(*_PATTERNS)}",
            denial + f"{self.one('regexp_like', 'regexp', 'rlike')}({text}, '^a')",
            denial + f"{self.one('startswith', 'endswith', 'contains')}({text}, 'b')",
            f"{days} {sign} {quoted_day}",
            f"{days} {denial}IN ({quoted_day}, '2024-02-29')",
            f"{days} {denial}BETWEEN {quoted_day} AND DATE '2024-03-01'",
            f"{moment} {sign} {quoted_moment}",
            f"{moment} {sign} {self.one('day', 'ts', 'DATE ' + chr(39) + '2024-01-01' + chr(39))}",
            f"{days} {sign} {self.one('ts', _TEN)}",
            f"{self.one(text, whole, days)} IS {denial}NULL",
            denial + self.one(f"isnull({whole})", f"isnotnull({text})"),
            denial + self.one(*_LISTS),
            denial + self.call("isnan", self.fraction(0)),
        )


_FIELDS = (
    "year", "quarter", "month", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear",
    "weekofyear", "hour", "minute", "second",
)  # fmt: skip
_TEN = "TIMESTAMP '2024-01-01 10:00:00'"
_INTERVALS = (
    "1 DAY",
    "'2' HOURS",
    "'1-2' YEAR TO MONTH",
    "'1 02:03:04.5' DAY TO SECOND",
    "90 MINUTES",
)
_BOOLEANS = ("'true'", "'0'", "'Yes'", "' F '", "TRUE")
_PATTERNS = ("'^a.b$'", r"'^\\w+$'", "'(?i)^AB'", r"'\\s'", "'^[a-z&&[^b]]'", r"'^\\p{Alpha}*$'")
_LISTS = (
    "array_contains(tags, 'a')", "array_contains(ns, 7)", "array_contains(legs.airport, 'a')",
    "array_contains(legs.delay, 1)", "tags IS NULL", "ns IS NOT NULL", "size(tags) = 0",
    "size(legs.airport) > 0", "arrays_overlap(ns, array(1, 2))", "array_contains(array(1, 7), i)",
    "legs IS NULL", "u.age IS NULL", "u IS NULL",
)  # fmt: skip


@pytest.fixture(scope="module")
def table(spark):
    spark.conf.set(CODE_GENERATION, "NO_CODEGEN")  # compiling takes longer than evaluating
    frame = spark.createDataFrame(pa.Table.from_pylist(ROWS, SCHEMA)).repartition(1).cache()
    yield frame
    frame.unpersist()
    spark.conf.unset(CODE_GENERATION)


def drawn(seed: int, n: int) -> list[tuple[str, set[str]]]:
    found = [Drawing(seed * 1_000_003 - i).extra(text) for i, text in enumerate(EXTRAS, 1)]
    for i in range(n):
        drawing = Drawing(seed * 1_000_003 + i)
        found.append((drawing.condition(2), drawing.functions))
    return found


def answers(frame, conditions: Sequence[str]) -> list[list[bool]]:
    """For each condition, whether Spark keeps each row."""
    kept: list[list[bool]] = []
    for start in range(0, len(conditions), PER_JOB):
        part = conditions[start : start + PER_JOB]
        found = frame.selectExpr(*(f"({text}) AS c{i}" for i, text in enumerate(part))).toArrow()
        kept += ([value is True for value in column.to_pylist()] for column in found.columns)
    return kept


def test_our_text_means_what_it_means_to_spark(table):
    texts = drawn(SEED, N_TEXTS)
    wrong = []
    for (text, _), kept in zip(texts, answers(table, [text for text, _ in texts]), strict=True):
        read = parse(text)
        rows = [row for row, held in zip(ROWS, kept, strict=True) if read.holds(row) is not held]
        wrong += [(text, rows[0])] if rows else []
    assert wrong == []


def test_what_to_sql_writes_means_the_same_to_spark(table):
    pairs = []
    for text, _ in drawn(SEED + 1, N_TEXTS // 2):
        read = parse(text)
        try:
            pairs.append((to_sql(read), read))
        except NoSqlEquivalent:
            continue
    assert len(pairs) > N_TEXTS // 4
    wrong = []
    for (sql, read), kept in zip(pairs, answers(table, [sql for sql, _ in pairs]), strict=True):
        rows = [row for row, held in zip(ROWS, kept, strict=True) if read.holds(row) is not held]
        wrong += [(sql, rows[0])] if rows else []
    assert wrong == []


def test_every_function_is_drawn():
    names = set().union(*(functions for _, functions in drawn(SEED, N_TEXTS)))
    others = buckets.FUNCTIONS.keys() | foreign.FUNCTIONS.keys() | hashes.FUNCTIONS.keys()
    assert FUNCTIONS.keys() - others - NOT_DRAWN - names == set()
