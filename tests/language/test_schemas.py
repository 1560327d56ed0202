"""Criteria against a schema of events: what they get wrong, and where."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

import remuda as rm
from remuda.errors import InvalidCriterion
from remuda.language.rows import criterion_of
from remuda.language.schemas import schema_of

SCHEMA = pa.schema(
    {
        "age": pa.int32(),
        "country": pa.string(),
        "day": pa.date32(),
        "ts": pa.timestamp("us"),
        "ok": pa.bool_(),
        "tags": pa.list_(pa.string()),
        "user": pa.struct({"age": pa.int32()}),
        "legs": pa.list_(pa.struct({"airport": pa.string()})),
        "odd": pa.duration("us"),
    }
)
FINE = [
    "age > 3 AND country = 'IN'",
    "age = '3'",
    "day > '2024-01-01' OR day > DATE '2024-01-01'",
    "ts > DATE '2024-01-01'",
    "country > DATE '2024-01-01'",
    "array_contains(tags, 'a') AND tags = 'b'",
    "user.age = 3 AND legs.airport = 'SFO' AND legs[0].airport = 'SFO'",
    "ok AND age IS NULL",
    "lower(country) = 'in' AND age + user.age > 3",
    "odd = 3 AND odd.x = 1",
]
WRONG = {
    "^contry = 'IN'": "nearest is 'country'",
    "age > 3 AND ^Age = 3": "case-sensitive, and there is 'age'",
    "^user.agee = 3": "no 'agee' in user; the nearest is 'age'",
    "^nowhere = 3": "no 'nowhere'",
    "lower(^contry) = 'in'": "nearest is 'country'",
    "CASE WHEN ^contry = 'IN' THEN 1 END = 1": "nearest is 'country'",
    "^country = 3": "never true: it compares string with number",
    "^country > 3": "never true",
    "^age = 'old'": "compares number with string",
    "^age > 'old'": "never true",
    "^age LIKE 'a%'": "compares number with string",
    "^age > DATE '2024-01-01'": "compares number with date or timestamp",
    "^day = 3": "compares date with number",
    "array_contains(^country, 'IN')": "asks for a list",
    "array_contains(^tags, 3)": "never true",
    "NOT ^ok = 3": "compares Boolean with number",
}


@pytest.mark.parametrize("text", FINE)
def test_what_can_be_true_is_not_found_fault_with(text):
    assert rm.check([text], SCHEMA) == []


@pytest.mark.parametrize(("marked", "reason"), WRONG.items(), ids=list(WRONG))
def test_finds_what_no_event_can_satisfy_and_where(marked, reason):
    (finding,) = rm.check([marked.replace("^", "")], SCHEMA)
    assert reason in finding.reason
    assert finding.column == marked.index("^")
    assert f"column {finding.column + 1}" in str(finding)


def test_criteria_without_a_text_are_told_by_their_attribute():
    (finding,) = rm.check([rm.Criterion("c", rm.attr("contry") == "IN")], SCHEMA)
    assert (finding.criterion, finding.attribute, finding.column) == ("c", "contry", None)


def test_events_tell_a_schema():
    events = [{"a": 1, "b": None, "c": [{"k": "x"}]}, {"a": "x", "b": date(2024, 1, 1)}, 5]
    known = schema_of(events)
    assert rm.check(["a = 'y' AND a = 2 AND b > '2024' AND c.k = 'z'"], known) == []
    assert [one.column for one in rm.check(["a AND c.q = 1"], known)] == [0, 6]


def test_a_row_that_the_schema_refuses_is_rejected_with_its_column():
    row = {"id": "r", "expression": "age > 3 AND contry = 'IN'"}
    assert criterion_of(row).id == "r"
    with pytest.raises(InvalidCriterion, match="nearest is 'country'") as error:
        criterion_of(row, schema_of(SCHEMA))
    assert (error.value.criterion, error.value.place) == ("r", "expression, column 13")
