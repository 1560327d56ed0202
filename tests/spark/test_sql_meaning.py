"""Spark itself as the referee: our text means what SQL means, and to_sql says what we mean."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from remuda.language.spelling import literal, string
from remuda.language.text import parse, to_sql
from remuda.model.attributes import Attribute
from remuda.model.calendars import Extract
from remuda.model.conditions import (
    Condition,
    Contains,
    Exists,
    In,
    Like,
    Missing,
    Prefix,
    Range,
    Regex,
    Related,
    Relation,
    Suffix,
)
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate
from remuda.model.operations import (
    Arithmetic,
    Calculate,
    DateTime,
    Divide,
    Integral,
    Length,
    Operation,
    Size,
    Substring,
)
from remuda.model.terms import Applied, applied

N_ROWS = 240
N_EXPRESSIONS = 400
PER_JOB = 50

INTEGERS = (0, 1, 2, 3, 7, -1, -4, 2**31 - 1, -(2**31))
LONGS = (0, 1, 5, -9, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))
DOUBLES = (0.0, -0.0, 1.0, 0.1, 0.30000000000000004, 0.3, 2.5, -1e-7, 1e300, float("inf"))
DECIMALS = tuple(map(Decimal, ("0.00", "0.30", "1.00", "2.50", "-7.25", "99999999.99")))
STRINGS = ("", "a", "ab", "abc", "b", "B", "b\n", "a\nb", "a\rb", "a%b", "a_b", "it's", "\\", "1")
STRINGS += ("é", "日本", "😀a", "a\u2028b", " a", "${spark.app.name}")
DATES = (date(1969, 12, 31), date(1970, 1, 1), date(2023, 12, 31), date(2024, 2, 29))
TIMESTAMPS = (
    datetime(1900, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 30, 15, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 30, 15, 1, tzinfo=UTC),
    datetime(2024, 3, 31, 0, 59, 59, tzinfo=UTC),  # an hour is lost in Berlin
    datetime(2024, 12, 31, 23, 30, tzinfo=UTC),
)
VALUES: dict[str, tuple[Any, ...]] = {
    "i": INTEGERS,
    "l": LONGS,
    "d": DOUBLES,
    "m": DECIMALS,
    "s": STRINGS,
    "b": (True, False),
    "day": DATES,
    "ts": TIMESTAMPS,
}
SCHEMA = pa.schema(
    {
        "i": pa.int32(),
        "l": pa.int64(),
        "d": pa.float64(),
        "m": pa.decimal128(10, 2),
        "s": pa.string(),
        "b": pa.bool_(),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
    }
)


def _rows(values: dict[str, tuple[Any, ...]], rng: random.Random) -> list[dict[str, Any]]:
    return [
        {name: rng.choice((None, *several)) for name, several in values.items()}
        for _ in range(N_ROWS)
    ]


ROWS = _rows(VALUES, random.Random(1))


@pytest.fixture(scope="module")
def table(spark):
    frame = spark.createDataFrame(pa.Table.from_pylist(ROWS, SCHEMA)).repartition(1).cache()
    yield frame
    frame.unpersist()


def rows_kept(frame, conditions: Sequence[str]) -> list[list[bool]]:
    """For each condition, whether Spark keeps each row: 50 conditions to a job."""
    kept: list[list[bool]] = []
    for start in range(0, len(conditions), PER_JOB):
        part = conditions[start : start + PER_JOB]
        answers = frame.selectExpr(*(f"({text}) AS c{i}" for i, text in enumerate(part))).toArrow()
        kept += ([value is True for value in column.to_pylist()] for column in answers.columns)
    return kept


def check(frame, rows: list[dict[str, Any]], pairs: Sequence[tuple[str, Expression]]) -> None:
    answers = rows_kept(frame, [text for text, _ in pairs])
    for (text, expression), kept in zip(pairs, answers, strict=True):
        wrong = [
            row for row, held in zip(rows, kept, strict=True) if expression.holds(row) is not held
        ]
        assert not wrong, f"{text}\nSpark and we disagree on {wrong[0]}"


# Expressions, drawn from a seed


def predicate(rng: random.Random) -> Predicate:
    name = rng.choice(tuple(VALUES))
    operations, values = operated(rng, name)
    kinds: list[Callable[[random.Random, Sequence[Any]], Condition]] = [membership, membership]
    if not isinstance(values[0], bool):
        kinds += [bounds, bounds]
    if isinstance(values[0], str):
        kinds += [pattern, pattern]
    if not operations:
        kinds.append(existence)
    condition = rng.choice(kinds)(rng, values)
    term = applied(Attribute((name,)), operations)
    return Predicate(term, condition, rng.choice(tuple(Polarity)))


def operated(rng: random.Random, name: str) -> tuple[tuple[Operation, ...], Sequence[Any]]:
    """Perhaps a pre-operation, and values to compare the result with."""
    arithmetic = rng.choice(tuple(Arithmetic))
    if rng.random() < 0.6 or name in "db":
        return (), VALUES[name]
    if name in "il":
        divide = Divide(rng.choice(tuple(Integral)), rng.choice((2, 3, -5)))
        calculate = Calculate(arithmetic, rng.choice((1, -3, 1000)))
        return rng.choice(((calculate,), (divide,), (calculate, divide))), (-3, 0, 1, 2, 1000)
    if name == "m":
        return (Calculate(arithmetic, Decimal("2.5")),), (Decimal("2.50"), Decimal("5.0"), 0)
    if name == "s":
        begin = rng.randrange(3)
        cut = Substring(begin, rng.choice((None, begin, begin + 1, begin + 2)))
        return rng.choice((((Length(),), (0, 1, 2, 3)), ((cut,), STRINGS[:8])))
    zone = rng.choice(("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"))
    return (DateTime(rng.choice(FIELDS), zone),), (0, 1, 2, 5, 12, 23, 29, 59, 366, 1969, 2024)


FIELDS = (
    Extract.YEAR,
    Extract.MONTH,
    Extract.DAY_OF_MONTH,
    Extract.DAY_OF_WEEK,
    Extract.DAY_OF_YEAR,
    Extract.HOUR_OF_DAY,
    Extract.MINUTE,
    Extract.SECOND,
)


def membership(rng: random.Random, values: Sequence[Any]) -> In:
    return In(tuple(rng.choices(values, k=rng.choice((0, 1, 1, 2, 3)))))


def bounds(rng: random.Random, values: Sequence[Any]) -> Range:
    lower, upper = rng.choice(values), rng.choice((None, *values))
    lower, upper = rng.choice(((lower, upper), (upper, lower)))
    return Range(lower, upper, rng.random() < 0.5, rng.random() < 0.5)


def pattern(rng: random.Random, values: Sequence[Any]) -> Condition:
    text = rng.choice(STRINGS)
    likes = ("a%", "%b", "_", "%", "a\\%b", "a!_b", "%a%b%", "", "\\\\", "a\\bc", "__")
    regexes = (
        "a",
        "^a",
        "b$",
        "^.$",
        "a.b",
        r"\s",
        r"^\S+$",
        "[ab]+",
        "(a|é)b?",
        r"a\nb",
        r"^\w*$",
    )
    return rng.choice(
        (
            Like(rng.choice(likes), rng.choice("\\!")) if rng.random() < 0.5 else Prefix(text),
            Suffix(text),
            Contains(text),
            Regex(rng.choice(regexes), rng.random() < 0.5),
        )
    )


def existence(rng: random.Random, values: Sequence[Any]) -> Condition:
    return rng.choice((Exists(), Missing()))


def expression(rng: random.Random, depth: int = 3) -> Expression:
    if depth == 0 or rng.random() < 0.3:
        return predicate(rng)
    if rng.random() < 0.25:
        return Not(expression(rng, depth - 1))
    join = rng.choice((And, Or))
    return join(*(expression(rng, depth - 1) for _ in range(rng.randrange(4))))


@pytest.mark.parametrize("seed", range(2))
def test_spark_keeps_with_to_sql_the_rows_for_which_the_expression_holds(table, seed):
    rng = random.Random(seed)
    drawn = [expression(rng) for _ in range(N_EXPRESSIONS // 2)]
    check(table, ROWS, [(to_sql(one), one) for one in drawn])


# Text, drawn from a seed


def clause(rng: random.Random, depth: int = 3, unknown: bool = True) -> str:
    """A WHERE clause; IS NULL of a condition at most once on any way down, as in our language."""
    roll = rng.random()
    if depth == 0 or roll < 0.25:
        return comparison(rng)
    if roll < 0.4:
        return f"NOT ({clause(rng, depth - 1, unknown)})"
    if roll < 0.45:
        return f"NOT {comparison(rng)}"
    if roll < 0.6:
        wanted = rng.choice(("TRUE", "FALSE", "NULL") if unknown else ("TRUE", "FALSE"))
        inner = clause(rng, depth - 1, unknown and wanted != "NULL")
        return f"(({inner}) IS {rng.choice(('', 'NOT '))}{wanted})"
    parts = [clause(rng, depth - 1, unknown) for _ in range(rng.choice((2, 2, 3)))]
    return f"({rng.choice((' AND ', ' OR ')).join(parts)})"


def comparison(rng: random.Random) -> str:
    name = rng.choice(tuple(VALUES))
    negation = rng.choice(("", "NOT "))
    subject, spelt = subjects(rng, name)
    one, other = rng.choice(spelt), rng.choice((*spelt, "NULL"))
    sign = rng.choice(
        ("=", "==", "<>", "!=", "<=>", *(() if name == "b" else ("<", "<=", ">", ">=")))
    )
    forms = [
        f"{subject} {sign} {other}",
        f"{one} {sign} {subject}",
        f"{subject} {negation}IN ({one}, {other}, {rng.choice(spelt)})",
        f"{subject} IS {negation}NULL",
        f"{subject} IS {negation}DISTINCT FROM {other}",
    ]
    if name == "b":
        forms += [
            "b",
            "NOT b",
            "! b",
            f"b IS {negation}TRUE",
            f"b IS {negation}FALSE",
            "TRUE",
            "NULL",
        ]
    else:
        forms.append(f"{subject} {negation}BETWEEN {one} AND {other}")
    if name == "s":
        forms += textual(rng, negation)
    return rng.choice(forms)


def subjects(rng: random.Random, name: str) -> tuple[str, list[str]]:
    """A subject, and literals to compare it with, as a user might spell them."""
    plain = name, [literal(value) for value in VALUES[name]]
    small = ["-3", "0", "1", "2L", "5", "1000"]
    match name:
        case "i":
            return rng.choice((plain, ("i % 3", small), ("i div 2", small), ("(i % 7) + 1", small)))
        case "d":
            return name, ["0", "0.1", "0.3", "2.5D", "1e300", "-1e-7", "1", "0.1BD"]
        case "m":
            return rng.choice(
                (plain, ("m * 2", ["0.6", "5", "2.00"]), ("m - 0.3", ["0.0", "-0.30"]))
            )
        case "s":
            cut = "substring(s, 1, 1)", ["'a'", "'é'", "''", '"b"', "r'\\'"]
            return rng.choice((plain, plain, ("length(s)", small), cut))
        case "day" | "ts":
            fields = ["year", "month", "day", "dayofweek", "dayofyear", "hour", "minute", "second"]
            numbers = ["1", "5", "12", "31", "59", "366", "1969", "2024"]
            return rng.choice((plain, (f"{rng.choice(fields)}({name})", numbers)))
        case _:
            return plain


def textual(rng: random.Random, negation: str) -> list[str]:
    text = string(rng.choice(STRINGS))
    like = rng.choice((r"'a\%b'", "'a%'", "'%b'", "'_'", "'it''s'", "'a!_b' ESCAPE '!'", "NULL"))
    regex = rng.choice(("'a'", "'^a'", "'[ab]+b'", r"'^\\w+'", r"r'\d'", "'(a|é)'", "NULL"))
    functions = [f"{name}(s, {text})" for name in ("startswith", "endswith", "contains")]
    return [f"s {negation}LIKE {like}", f"s {negation}RLIKE {regex}", *functions]


@pytest.mark.parametrize("seed", range(2))
def test_our_text_means_what_it_means_to_spark(table, seed):
    rng = random.Random(seed)
    texts = [clause(rng) for _ in range(N_EXPRESSIONS // 2)]
    check(table, ROWS, [(text, parse(text)) for text in texts])


def test_filter_keeps_what_the_text_asks_for(table):
    text = "NOT (i > 1 AND s LIKE 'a%') OR b IS NOT TRUE"
    kept = table.filter(text).toArrow().num_rows
    assert kept == table.filter(to_sql(parse(text))).toArrow().num_rows
    assert kept == sum(parse(text).holds(row) for row in ROWS)
    assert 0 < kept < N_ROWS


# Beyond scalar columns


def test_sets_and_sizes_of_arrays(spark):
    lists = [None, [], [1], [1, 2], [2, 2, 1], [1, 2, 3], [None], [1, None], [7]]
    rows = [{"x": one} for one in lists]
    schema = pa.schema({"x": pa.list_(pa.int64())})
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema)).coalesce(1)
    conditions = [Related(how, given) for how in Relation for given in ((), (1,), (1, 2), (7, 8))]
    predicates = [Predicate(Attribute(("x",)), condition) for condition in conditions]
    predicates += [
        Predicate(Applied(Size(), Attribute(("x",))), condition)
        for condition in (In((1, 2)), Range(upper=2), Range(lower=1), In((0,)))
    ]
    denied = [one.with_polarity(kind) for one in predicates for kind in Polarity]
    check(frame, rows, [(to_sql(one), one) for one in denied])


def test_fields_and_elements(spark):
    rows = [
        {"user": {"age": 3, "odd name": "a"}, "tags": ["x", "y"]},
        {"user": {"age": None, "odd name": "b"}, "tags": ["y"]},
        {"user": None, "tags": None},
    ]
    user = pa.struct({"age": pa.int32(), "odd name": pa.string()})
    schema = pa.schema({"user": user, "tags": pa.list_(pa.string())})
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema)).coalesce(1)
    texts = (
        "user.age = 3",
        "NOT user.age = 4",
        "(user.age = 3) IS NOT TRUE",
        "user.`odd name` = 'b'",
        "tags[1] = 'y'",
        "NOT tags[1] = 'x'",
        "tags[1] IS NULL",
    )
    check(frame, rows, [(to_sql(parse(text)), parse(text)) for text in texts])


# of the 444 that SELECT * FROM sql_keywords() gives (it takes seconds), those with a risk
KEYWORDS = """all and any anti array as at between binary both by case cast collate column
    create cross current_catalog current_database current_date current_path current_schema
    current_time current_timestamp current_user date date_add decimal declare delete desc
    distinct div drop else end escape except exists extract false fetch filter first for from
    full function group having if ilike in inner insert intersect interval into is join last
    lateral left like limit list lists localtime localtimestamp map minus natural not null
    nulls object of offset on only or order outer over overlaps overlay position primary
    recursive regexp replace right rlike rollup row rows select semi session_user set show
    some struct substr substring system_user table then time timestamp timestampadd to
    trailing transform trim true truncate union unique unknown update user using values
    variable version view when where window with within x year zone"""


def test_keywords_and_any_text_can_name_columns(spark):
    names = [*KEYWORDS.split(), "a.b", "back`tick", "odd name", "日本", "1a", "$x", "a-b"]
    row = dict(zip(names, range(len(names)), strict=True))
    frame = spark.createDataFrame(pa.Table.from_pylist([row]))
    all_of = And(*(Predicate(Attribute((name,)), In((i,))) for name, i in row.items()))
    assert all_of.holds(row)
    assert frame.filter(to_sql(all_of)).count() == 1


def test_strings_reach_spark_as_they_are(spark):
    rng = random.Random(1)
    alphabet = "ab'\"`\\%_\n\r\t\0\b\x1a01uUxé日😀${}"
    texts = ["".join(rng.choices(alphabet, k=rng.randrange(8))) for _ in range(200)]
    found = spark.range(1).selectExpr(*(f"{string(text)} AS c{i}" for i, text in enumerate(texts)))
    assert list(found.collect()[0]) == texts


def test_escapes_in_text_are_those_of_spark(spark):
    spelt = [
        r"'\%\_\d\a\0\012\08\777\u00e9\U0001F600\Z\b\t\n\x41\\\''",
        '"it""s"',
        "'it''s'",
        "''",
        "''''",
        r"r'\d\'",
        r'R"\n"',
    ]
    found = list(spark.range(1).selectExpr(*spelt).collect()[0])
    assert [parse(f"x = {text}").condition.values[0] for text in spelt] == found
