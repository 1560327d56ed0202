"""DuckDB as a second referee: texts that mean the same to it and to Spark mean that to us, too."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from remuda.language.text import parse
from strategies import SEED, count

N_ROWS = 200
N_TEXTS = count(300, 20_000)
VALUES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "i": (pa.int32(), (0, 1, 2, 3, 7, -1, -4, 12)),
    "n": (pa.int64(), (0, 1, 5, -9, 2**40, 10)),
    "d": (pa.float64(), (0.0, 1.0, 0.5, 2.5, -7.25, 1e6)),
    "m": (pa.decimal128(10, 2), tuple(map(Decimal, ("0.00", "0.30", "1.00", "2.50", "-7.25")))),
    "s": (pa.string(), ("", "a", "ab", "Abc", "b", "a,b", " x ", "1", "a%b", "é", "日本")),
    "t": (pa.string(), ("a", "B", "ab", "zz", "7")),
    "b": (pa.bool_(), (True, False)),
    "day": (pa.date32(), (date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 29))),
    "ts": (
        pa.timestamp("us"),
        (datetime(2023, 12, 31, 23, 59, 59), datetime(2024, 1, 1), datetime(2024, 2, 29, 10, 30)),
    ),
    "u": (
        pa.struct({"age": pa.int32(), "name": pa.string()}),
        ({"age": 3, "name": "a"}, {"age": None, "name": "ab"}, {"age": 7, "name": None}),
    ),
}
SCHEMA = pa.schema({name: kind for name, (kind, _) in VALUES.items()})
RNG = random.Random(SEED)
ROWS: list[dict[str, Any]] = [
    {name: RNG.choice((None, *several)) for name, (_, several) in VALUES.items()}
    for _ in range(N_ROWS)
]
# {w} whole numbers, {f} numbers, {t} texts, {m} moments, {c} conditions; a kind's own are its terms
TERMS: dict[str, tuple[str, ...]] = {
    "w": (
        "i", "n", "u.age", "1", "-3", "({w} + {w})", "({w} - {w})", "(i * 2)", "-({w})", "abs({w})",
        "({w} % 3)", "length({t})", "year({m})", "month({m})", "day({m})", "hour(ts)",
        "quarter({m})",
        "greatest({w}, {w})", "least({w}, 1)", "coalesce({w}, 5)", "nullif({w}, 1)", "ascii(t)",
        "CASE WHEN {c} THEN {w} ELSE 3 END", "CASE {w} WHEN 1 THEN 2 WHEN 2 THEN 7 END",
        "instr({t}, 'b')", "levenshtein(t, 'ab')", "dayofyear({m})", "(i & 3)", "(i | 4)",
    ),
    "f": ("d", "m", "{w}", "({w} / 4)", "(d * 2)", "(m + 1)", "floor(d)", "ceil(d)", "sign(d)"),
    "t": (
        "s", "t", "u.name", "'ab'", "lower({t})", "upper({t})", "trim({t})", "ltrim({t})",
        "substring({t}, 1, 2)", "left({t}, 1)", "right({t}, 1)", "concat_ws('-', t, {t})",
        "({t} || t)", "replace({t}, 'a', 'c')", "coalesce({t}, 'z')", "nullif({t}, 'a')",
        "reverse({t})", "repeat(t, 2)", "lpad(t, 3, '*')", "rpad(t, 3, '*')",
        "translate(t, 'ab', 'x')",
        "CASE WHEN {c} THEN {t} WHEN b THEN 'q' END", "CAST(i AS STRING)", "md5(t)",
        "trim(BOTH 'a' FROM {t})", "substring({t} FROM 2 FOR 1)",
    ),
    "m": ("day", "ts", "DATE '2024-01-01'", "CAST(ts AS DATE)", "last_day(day)"),
}  # fmt: skip
CONDITIONS = (
    "{f} {=} {f}", "{w} {=} 1", "{t} {=} {t}", "{t} {=} 'ab'", "{m} {=} {m}", "b", "b = TRUE",
    "{w} {!}IN (1, 7, {w})", "{t} {!}IN ('a', 'AB', '1')", "{w} {!}BETWEEN {w} AND {w}",
    "{t} {!}LIKE 'a%'", "{t} {!}LIKE '_b%'", "{t} {!}ILIKE 'A%'", "{t} {!}LIKE '%' || t || '%'",
    "{w} IS {!}NULL", "{t} IS {!}NULL", "{w} IS {!}DISTINCT FROM {w}", "{t} IS {!}DISTINCT FROM t",
    "contains({t}, t)", "day {!}BETWEEN DATE '2024-01-01' AND DATE '2024-02-28'",
    "day + INTERVAL 1 MONTH {=} {m}", "ts - INTERVAL 2 HOUR {=} {m}",
    "ts {=} TIMESTAMP '2024-01-01 00:00:00'",
    "ts - TIMESTAMP '2024-01-01 00:00:00' {=} INTERVAL 1 HOUR", "b IS {!}TRUE", "b IS {!}FALSE",
)  # fmt: skip
SIGNS = {"{=}": ("=", "<>", "<", "<=", ">", ">="), "{!}": ("", "NOT ")}


class Drawing:
    """A text drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def condition(self, depth: int) -> str:
        def inner() -> str:
            return self.condition(depth - 1)

        if depth > 0 and self.rng.random() < 0.5:
            return self.rng.choice((f"({inner()} AND {inner()})", f"({inner()} OR {inner()})",
                                    f"NOT ({inner()})", f"({inner()}) IS NOT TRUE"))  # fmt: skip
        return self.filled(self.rng.choice(CONDITIONS), depth)

    def filled(self, text: str, depth: int) -> str:
        while "{" in text:
            at = text.index("{")
            place = text[at : at + 3]
            text = text.replace(place, self.part(place, depth), 1)
        return text

    def part(self, place: str, depth: int) -> str:
        if place in SIGNS:
            return self.rng.choice(SIGNS[place])
        if place == "{c}":
            return self.condition(depth - 1)
        ways = TERMS[place[1]]
        if depth <= 0:
            ways = tuple(way for way in ways if "{" not in way)
        return self.filled(self.rng.choice(ways), depth - 1)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as made:
        made.register("events", pa.Table.from_pylist(ROWS, SCHEMA))
        made.execute("CREATE TABLE rows AS SELECT * FROM events")
        yield made


def test_our_text_means_what_it_means_to_duckdb(connection):
    wrong = []
    for i in range(N_TEXTS):
        text = Drawing(SEED * 1_000_003 + i).condition(2)
        kept = [one for (one,) in connection.execute(f"SELECT ({text}) FROM rows").fetchall()]
        read = parse(text)
        rows = [
            row for row, one in zip(ROWS, kept, strict=True) if read.holds(row) is not (one is True)
        ]
        wrong += [(text, rows[0])] if rows else []
    assert wrong == []
