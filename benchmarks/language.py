"""How fast criteria are read, and how fast plain evaluation is; one thread."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

import remuda as rm
from benchmarks import clock

_TEXT = "age BETWEEN 18 AND 35 AND country IN ('IN','SG') AND NOT platform = 'ios'"
_EVENT = {"age": 20, "country": "IN", "platform": "android", "spend": 12.5, "tier": 3}


def main() -> None:
    """Measure and print; each figure is the best of several rounds."""
    documents = [json.dumps(_document(i)).encode() for i in range(5_000)]
    texts = [_TEXT.replace("35", str(36 + i)) for i in range(500)]
    conjunction = (
        rm.attr("age").between(18, 35)
        & rm.attr("country").isin("IN", "SG")
        & ~rm.attr("platform").eq("ios")
        & (rm.attr("spend") >= 10)
        & (rm.attr("tier") == 3)
    )
    if not conjunction.holds(_EVENT):
        raise AssertionError("the conjunction must hold, or its first predicate is all we time")
    table = Table("what", "measured", "wanted", title="language, one thread")
    reading = 5_000 / clock.best(lambda: [rm.Criterion.from_json(one) for one in documents])
    table.add_row("Mustang JSON to Criterion", f"{reading:,.0f} a second", "50,000 or more")
    parsing = 500 / clock.best(lambda: [rm.parse(text) for text in texts])
    table.add_row("text to expression", f"{parsing:,.0f} a second", "3,000 or more")
    holding = clock.best(lambda: [conjunction.holds(_EVENT) for _ in range(10_000)]) / 10_000
    table.add_row("holds, five predicates", f"{holding * 1e6:.2f} µs", "under 5 µs")
    Console().print(table)


def _document(i: int) -> dict[str, Any]:
    """A criterion as Mustang's users write it, each a little different."""
    predicates = [
        {"type": "INCLUDED", "lhs": "$.country", "values": ["IN", f"C{i}"], "weight": 2},
        {
            "type": "INCLUDED",
            "lhs": "$.age",
            "detail": {"caveat": "RANGE", "lowerBound": 18, "upperBound": 20 + i},
        },
        {"type": "EXCLUDED", "lhs": "$.platform", "values": ["ios"]},
    ]
    conjunction = {"type": "AND", "predicates": predicates}
    return {"form": "DNF", "id": f"c{i}", "conjunctions": [conjunction]}
