"""Criteria and events of every kind, and what plain evaluation says about them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings

from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.model import conditions as on
from remuda.model.attributes import Attribute
from remuda.model.expressions import Predicate
from remuda.model.quoted import Quoted
from strategies import NOW, TREES, events, expressions_of_terms, expressions_of_trees

N_CRITERIA = 448  # seven tails of an index, so that it has seven segments

KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "long": (pa.int64(), [1, 2, None, -1, 2**53 + 1, 0, NOW]),
    "byte": (pa.int8(), [1, 2, None, -1, 3, 0]),
    "double": (pa.float64(), [0.1, 2.5, None, float("nan"), float("inf"), 0.1 + 0.2]),
    "float": (pa.float32(), [0.5, 2.5, None, float("nan"), 1.0]),
    "decimal": (pa.decimal128(20, 2), [Decimal("0.30"), Decimal(1), None, Decimal("2.5")]),
    "boolean": (pa.bool_(), [True, False, None]),
    "string": (pa.string(), ["a", "ab", None, "", "1.2-rc1", "é", "日本", "a%b"]),
    "binary": (pa.binary(), [b"x", b"", None]),
    "date": (pa.date32(), [date(2024, 2, 29), None, date(1970, 1, 1)]),
    "timestamp": (pa.timestamp("us", "UTC"), [datetime(2024, 2, 29, 12, tzinfo=UTC), None]),
    "timestamp_ntz": (pa.timestamp("us"), [datetime(1970, 1, 1), None]),
    "interval": (pa.duration("us"), [timedelta(1), None]),
    "longs": (pa.list_(pa.int64()), [[1], [2, 3], None, [], [None, 1], [3, 2, 2]]),
    "strings": (pa.list_(pa.string()), [["a"], ["b", "a"], None, [], [None]]),
    "lists": (pa.list_(pa.list_(pa.int64())), [[[1]], [[1], [2]], None, [], [[]], [None]]),
    "object": (
        pa.struct({"age": pa.int64(), "k": pa.string()}),
        [{"age": 1}, {"age": None, "k": "a"}, None, {"age": 3, "k": "b"}],
    ),
    "objects": (
        pa.list_(pa.struct({"k": pa.list_(pa.int64())})),
        [[{"k": [1]}, {"k": [2, 3]}], [{"k": None}], None, [], [None], [{"k": []}]],
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        [[("age", 1)], [("k", 2), ("age", 3)], None, [], [("k", None)]],
    ),
}
_ELEMENT = Predicate(Attribute.parse("k"), on.Exists())
EACH: tuple[on.Condition, ...] = (
    *(on.In((1, "a")), on.Range(0), on.QuotedRange(Quoted("1"))),
    *(on.Regex("a.*"), on.Like("a%"), on.Prefix("a"), on.Suffix("b"), on.Contains("b")),
    *(
        on.Version("1.0", above=True),
        on.SemVer("1.2.0", on.Comparison.AT_LEAST),
        on.Network(("10.0.0.0/8",)),
    ),
    *(on.Under("t", "a", TREES["t"]), on.Related(on.Relation.SUBSET, (1, 2, 3))),
    *(on.AnyElement(_ELEMENT), on.EveryElement(_ELEMENT)),
    *(on.Exists(), on.Missing(), on.NullValue(), on.Absent()),
)
COLUMNS = ("a", "b", "c", "user", "tags", "odd name", "items")


def criteria(n: int = N_CRITERIA) -> list[Criterion]:
    """Expressions of every kind under ids that are not in order, some with tags."""
    found: list[Any] = []
    _collect(expressions_of_trees, n // 7, found)
    _collect(expressions_of_terms, n - len(EACH), found)
    found += (Predicate(Attribute.parse("a"), one) for one in EACH)  # not left to luck
    return [
        Criterion(f"c{i * 7919 % 1000:03d}", one, tags=frozenset({"even"} if i % 2 == 0 else ()))
        for i, one in enumerate(found)
    ]


def texts(n: int) -> list[str]:
    """Events of every kind that JSON can say."""
    found: list[Any] = []
    _collect(events, n, found)
    return [json.dumps(_plain(one), allow_nan=False) for one in found]


def table(first: int, n: int) -> pa.Table:
    """Typed columns with gaps, of so many kinds in turn; 0, 4, 10, 12 and 14 show them all."""
    rng = np.random.default_rng(first)
    kinds = (list(KINDS) * 2)[first : first + len(COLUMNS)]
    columns = {}
    for name, kind in zip(COLUMNS, kinds, strict=True):
        of, values = KINDS[kind]
        columns[name] = pa.array([values[i] for i in rng.integers(0, len(values), n)], of)
    return pa.table({"key": np.arange(n), **columns})


def saved(index_of: Sequence[Criterion], home: Path, n_segments: int = 1) -> Path:
    """An index with as many segments."""
    index = Index(hierarchies=TREES)
    for some in np.array_split(np.arange(len(index_of)), n_segments):
        index.add([index_of[i] for i in some.tolist()])
        index.save(home)  # what is saved is a segment
    return home


def rows(source: pa.Table) -> list[dict[str, Any]]:
    return source.to_pylist(maps_as_pydicts="lossy")


def holding(all_of: Sequence[Criterion], event: Any) -> list[str]:
    """The ids of those that hold, sorted."""
    return sorted(one.id for one in all_of if one.holds(event, now=NOW))


def best(all_of: Sequence[Criterion], event: Any, n: int) -> list[tuple[str, float]]:
    """The n best, as Top-N orders them."""
    scored = [(one.id, one.score(event, now=NOW)) for one in all_of]
    held = [(name, score) for name, score in scored if score is not None]
    return sorted(held, key=lambda pair: (-pair[1], pair[0]))[:n]


def _collect(strategy: Any, n: int, found: list[Any]) -> None:
    """Draw until there are n."""

    @settings(
        max_examples=n - len(found),
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(one: Any) -> None:
        found.append(one)

    draw()
    assert len(found) >= n * 0.9
    while len(found) < n:
        found.append(found[len(found) % 7])


def _plain(value: Any) -> Any:
    """What JSON can say of a value."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, Decimal) and value.is_finite():
        value = float(value)
    if isinstance(value, float | Decimal):
        return float(value) if isinstance(value, float) and np.isfinite(value) else None
    return value if value is None or type(value) in (bool, int, str) else str(value)
