"""Functions of other systems, by rows; buckets by values that are published."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from remuda.model.functions import FUNCTIONS
from remuda.model.functions.buckets import murmur3

ROWS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("boxed", ([1, 2],), [[1, 2]]),
    ("boxed", ("a",), "a"),
    ("json_type", ({},), "object"),
    ("json_type", ([],), "array"),
    ("json_type", (True,), "boolean"),
    ("json_type", (1.5,), "number"),
    ("json_type", (float("nan"),), None),
    ("scalar_text", (4688,), "4688"),
    ("scalar_text", (True,), "true"),
    ("scalar_text", ({},), None),
    ("number_in", (" 12.50 ",), Decimal("12.50")),
    ("number_in", ("12 apples",), None),
    ("number_in", ("nan",), None),
    ("number_in", (True,), None),
    ("instant_in", ("1970-01-01T00:00:01.5Z",), 1500),
    ("instant_in", ("1970-01-01T02:00:00+02:00",), 0),
    ("instant_in", ("1970-01-01",), None),
    ("instant_in", ("1970-13-01T00:00:00Z",), None),
    ("instant_in", (5,), 5),
    ("growthbook_number", (True,), 1),
    ("growthbook_number", ("8",), 8),
    ("growthbook_number", ([8],), None),
    ("growthbook_version", ("v1.10.0+build",), "    1-   10-    0-~"),
    ("growthbook_version", ("1.2.3-rc.1",), "    1-    2-    3-rc-    1"),
    ("growthbook_version", (None,), "    0"),
    ("cesql_boolean", ("TRUE",), True),
    ("cesql_boolean", ("yes",), None),
    ("cesql_integer", ("-5",), -5),
    ("cesql_integer", (2**31,), None),
    ("cesql_string", (False,), "false"),
    ("cesql_equal", ("TRUE", True), True),
    ("cesql_equal", (True, "TRUE"), False),
    ("cesql_equal", ("abc", 1), None),
    ("cesql_substring", ("abcdef", 2, 3), "bcd"),
    ("cesql_substring", ("abcdef", -3), "def"),
    ("cesql_substring", ("abcdef", 10), None),
    ("cesql_left", ("abc", -1), None),
    ("cesql_right", ("abc", 2), "bc"),
    ("unleash_bucket", ("123", "gr1", 100, 0), 73),
    ("unleash_bucket", ("999", "groupX", 100, 0), 25),
    ("unleash_bucket", (1, "gr1", 100, 0), None),
    ("launchdarkly_bucket", (None, "key.salt"), 0.0),
]


@pytest.mark.parametrize(("name", "arguments", "result"), ROWS)
def test_functions_give_what_their_system_does(
    name: str, arguments: tuple[Any, ...], result: Any
) -> None:
    found = FUNCTIONS[name].apply(*arguments)
    assert found == result
    assert type(found) is bool or not isinstance(result, bool)


def test_a_bucket_of_launchdarkly_is_where_its_suite_has_it() -> None:
    bucket = FUNCTIONS["launchdarkly_bucket"].apply
    assert int(bucket("user-key", "segment3.salty") * 100_000) == 14950
    assert int(bucket("unmatching-key", "segment3.salty") * 100_000) == 36563


@pytest.mark.parametrize(
    ("data", "seed", "wanted"),
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"", 0xFFFFFFFF, 0x81F16F39),
        (b"test", 0x9747B28C, 0x704B81DC),
        (b"Hello, world!", 0x9747B28C, 0x24884CBA),
        (b"aaa", 0x9747B28C, 0x283E0130),
    ],
)
def test_murmur3_gives_the_published_values(data: bytes, seed: int, wanted: int) -> None:
    assert murmur3(data, seed) == wanted
