from __future__ import annotations

import time
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import InvalidCriterion
from remuda.language.python import attr
from remuda.model import jsonpaths
from remuda.model.attributes import Attribute

EVENT = {
    "age": 7,
    "user": {"age": 8, "tags": ["x", "y"], "0": "zero", "none": None},
    "tags": ["a", "b", ["c", "d"]],
    "orders": [{"sku": "s1", "n": 1}, {"sku": None}, {"n": 3}, 4],
    "grid": [{"row": [1, 2]}, {"row": [3]}, {"row": 4}, {}],
    "odd name": 1,
    "x.y": 2,
    "it's": 3,
    'say "hi"': 4,
    "": 5,
    "größe": 6,
    "a-b": 7,
    "back\\slash": 8,
    "empty": [],
    "null": None,
    "object": {},
    "nulls": [None],
}

PATHS = {
    # spellings
    "bare": ("age", 7),
    "from the root": ("$.age", 7),
    "nested": ("user.age", 8),
    "nested from the root": ("$.user.age", 8),
    "quoted": ("$['user']['age']", 8),
    "doubly quoted": ('$["user"].age', 8),
    "quoted, bare": ("['user'].age", 8),
    "a dot in front": (".user.age", 8),
    "a space in a name": ("$['odd name']", 1),
    "a space in a bare name": ("odd name", 1),
    "a dot in a name": ("$['x.y']", 2),
    "an apostrophe": ('$["it\'s"]', 3),
    "an escaped apostrophe": (r"$['it\'s']", 3),
    "double quotes": ("$['say \"hi\"']", 4),
    "an empty name": ("$['']", 5),
    "a letter beyond ASCII": ("größe", 6),
    "a hyphen": ("a-b", 7),
    "a backslash": (r"$['back\\slash']", 8),
    "names are case-sensitive": ("Age", None),
    # indexes
    "an index": ("tags[0]", "a"),
    "an index after a dot": ("tags.0", "a"),
    "an index from the end": ("tags[-1]", ["c", "d"]),
    "an index in an inner list": ("tags[2][1]", "d"),
    "an index out of range": ("tags[3]", None),
    "an index out of range, from the end": ("tags[-4]", None),
    "digits name a field of an object": ("user.0", "zero"),
    "an index does not": ("user[0]", None),
    "quoted digits are a name": ("tags['0']", None),
    "a name never walks through a list": ("orders.sku", None),
    "not even of one": ("nulls.x", None),
    "nor through a scalar": ("age.x", None),
    # wildcards
    "every element": ("tags[*]", ["a", "b", ["c", "d"]]),
    "every element's field": ("orders[*].sku", ["s1", None]),
    "a field that none has": ("orders[*].z", None),
    "one level is collected, none flattened": ("grid[*].row", [[1, 2], [3], 4]),
    "two levels": ("grid[*].row[*]", [1, 2, 3]),
    "every value of an object": ("user.*", [8, ["x", "y"], "zero", None]),
    "elements of a scalar": ("age[*]", None),
    # missing
    "absent": ("nope", None),
    "null": ("null", None),
    "an empty list": ("empty", None),
    "an empty object is there": ("object", {}),
    "a list of null is there": ("nulls", [None]),
    # beyond plain paths
    "a filter": ("$.orders[?@.n > 1].n", [3]),
    "a filter in parentheses": ("$.orders[?(@.sku == 's1')].n", [1]),
    "a filter that nothing passes": ("$.orders[?@.n > 9]", None),
    "descendants": ("$..sku", ["s1", None]),
    "a slice": ("$.tags[0:2]", ["a", "b"]),
    "several names": ("$['age','a-b']", [7, 7]),
    "a function": ("$.tags[?length(@) == 2]", [["c", "d"]]),
    "a pattern": ("$.tags[?match(@, '[ab]')]", ["a", "b"]),
    "a pattern that is found": ("$.orders[?search(@.sku, '1')].n", [1]),
    "a pattern that is refused": ("$.tags[?match(@, '(?=a)')]", None),
}


@pytest.mark.parametrize(("path", "value"), PATHS.values(), ids=PATHS)
def test_resolves(path, value):
    assert Attribute.parse(path).resolve(EVENT) == value


EVENTS = {
    "an array": ([1, {"a": 2}], [("$[0]", 1), ("$[1].a", 2), ("$[-1].a", 2), ("a", None)]),
    "an array of objects": ([{"a": 1}, {"a": 2}], [("$[*].a", [1, 2]), ("$.a", None)]),
    "a tuple": ((1, 2), [("$[1]", 2), ("$[*]", [1, 2])]),
    "a string": ("text", [("$[0]", None), ("a", None), ("$..a", None)]),
    "a number": (5, [("$", 5), ("a", None)]),
    "null": (None, [("$", None), ("a", None), ("$[0]", None), ("$[?@.a]", None)]),
    "arrays of NumPy": (
        {"a": np.array([1, 2]), "b": np.array([]), "c": np.array(3)},
        [("a", [1, 2]), ("a[1]", 2), ("a.0", 1), ("a[*]", [1, 2]), ("b", None), ("c", 3)],
    ),
    "tuples inside": ({"a": (1, 2), "b": ()}, [("a", [1, 2]), ("a[0]", 1), ("b", None)]),
    "decimals that are not numbers": (
        {"a": [{"n": Decimal("NaN")}, {"n": Decimal("sNaN")}, {"n": 3}]},
        [("$.a[?@.n > 1].n", [3]), ("$.a[?@.n != 3 && @.n <= 3]", None)],
    ),
}


@pytest.mark.parametrize(("event", "expected"), EVENTS.values(), ids=EVENTS)
def test_resolves_in_events_of_other_shapes(event, expected):
    for path, value in expected:
        assert Attribute.parse(path).resolve(event) == value, path


def test_equal_paths_are_equal_however_spelt():
    spellings = ("user.age", "$.user.age", "$['user'].age", '["user"]["age"]', ".user.age")
    assert len({Attribute.parse(path) for path in spellings}) == 1
    assert Attribute.parse("tags[0]") != Attribute.parse("tags.0")  # one may be a name


REFUSED = {
    "nothing": "",
    "blank": "  ",
    "a dot at the end": "a.",
    "an open bracket": "a[",
    "an open quote": "a['b",
    "a closing bracket": "a]",
    "two roots": "$$",
    "a name in brackets without quotes": "$.a[b]",
    "a union of queries": "$..a | $..b",
    "an index beyond all lists": f"a[{'9' * 5000}]",
    "no text": 5,
}


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED)
def test_refuses(path):
    with pytest.raises(InvalidCriterion, match="path"):
        Attribute.parse(path)


@pytest.mark.parametrize("path", [path for path, _ in PATHS.values()])
def test_what_is_written_reads_back(path):
    attribute = Attribute.parse(path)
    assert Attribute.parse(str(attribute)) == attribute


@given(st.lists(st.text(max_size=5), min_size=1, max_size=3))
def test_every_name_can_be_written(names):
    event: object = "found"
    for name in reversed(names):
        event = {name: event}
    written = str(Attribute(tuple(names)))
    assert Attribute.parse(written).resolve(event) == "found"


@given(
    st.text(alphabet="$.[]'\"*?@ab01:,()!=<>&|\\- ", max_size=12),
    st.recursive(
        st.one_of(st.none(), st.integers(0, 2), st.sampled_from(["a", "ab"])),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "0"]), inner)
        ),
        max_leaves=8,
    ),
)
def test_any_text_is_a_path_or_refused_and_any_event_is_searched(path, event):
    try:
        attribute = Attribute.parse(path)
    except InvalidCriterion:
        return
    attribute.resolve(event)
    assert Attribute.parse(str(attribute)) == attribute


def test_hostile_patterns_in_paths_answer_at_once():
    predicate = attr("$[?search(@.k, '(a+)+$')]").exists()
    started = time.perf_counter()
    assert not predicate.holds([{"k": "a" * 40 + "b"}])
    assert time.perf_counter() - started < 1


def deep(levels: int) -> dict[str, Any]:
    event: dict[str, Any] = {"text": "x"}
    for _ in range(levels):
        event = {"in": event}
    return event


EVERYWHERE: dict[str, Any] = {
    "nothing": {},
    "a list": [1, "a", [2, ["b"]], {"c": None}],
    "objects in lists": {"a": [{"b": 1}, {"b": [{"c": "d"}]}], "e": {"f": {"g": []}}, "h": "i"},
    "as many as may be": {str(i): "x" for i in range(4_999)},
    "one more": {str(i): "x" for i in range(5_000)},
    "as deep as may be": deep(98),
    "deeper": deep(99),
    "far deeper": deep(300),
    "tuples": {"a": (1, "b"), "c": {"d": (2,)}},
    "moments and decimals": {"a": datetime(2024, 1, 2), "b": [Decimal("1.5")]},
}


@pytest.mark.parametrize("event", EVERYWHERE.values(), ids=EVERYWHERE)
def test_everything_is_found_as_the_query_finds_it(event: Any) -> None:
    assert jsonpaths.follow("$..*", event) == jsonpaths.follow("$..[*]", event)
