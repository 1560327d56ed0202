"""Columns of addresses, which a kernel reads, beside addresses that are read one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.encoding import arrow
from remuda.encoding.encoder import Encoder
from remuda.encoding.plan import plan
from remuda.language.python import attr

NETWORKS = ("0.0.0.0/32", "10.0.0.0/8", "10.1.0.0/16", "255.255.255.255/32", "::/128", "fe80::/10")
ENCODER = Encoder(plan([attr("ip").in_network(one) for one in NETWORKS])[1])
TEXTS = [
    *("10.0.0.1", "10.1.255.255", "0.0.0.0", "255.255.255.255", "9.255.255.255", "11.0.0.0"),
    *("", ".", "...", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.5", "10.0.0.1.", "1.2.3.4 "),
    *(" 1.2.3.4", "256.1.1.1", "10.0.0.256", "010.0.0.1", "00.0.0.0", "10.0.0.01", "1000.0.0.1"),
    *("10.0.0.-1", "10.0.0.+1", "1e1.0.0.1", "\uff11.2.3.4", "10.0.0.1\x00", "10.0.0.1/32"),
    *("167772161", "::", "fe80::1", "fe80::1%eth0", "::ffff:10.0.0.1", "10.0.0.1:80"),
    *(":", "1:2", "fe80::1 "),
]  # fmt: skip


def spaces(values: pa.Array | pa.ChunkedArray) -> list[int]:
    return arrow.encode(ENCODER, pa.table({"ip": values}), 0).spaces.tolist()


def one_by_one(texts: list[str | None]) -> list[int]:
    return ENCODER.encode([{"ip": text} for text in texts], 0).spaces.tolist()


@pytest.mark.parametrize("text", TEXTS, ids=map(repr, TEXTS))
def test_a_column_has_what_its_texts_have(text: str) -> None:
    assert spaces(pa.array([text])) == one_by_one([text])


SHAPES = {
    "whole": pa.array,
    "large": lambda texts: pa.array(texts, pa.large_string()),
    "sliced": lambda texts: pa.array(["10.9.9.9", *texts, None])[1 : len(texts) + 1],
    "chunked": lambda texts: pa.chunked_array([texts[:3], texts[3:]]),
    "a dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "views": lambda texts: pa.array(texts, pa.string_view()),
}


@pytest.mark.parametrize("shaped", SHAPES.values(), ids=SHAPES)
def test_a_column_of_any_shape(shaped) -> None:
    texts = [None, *TEXTS, None]
    assert spaces(shaped(texts)) == one_by_one(texts)
    assert spaces(shaped([None, None, None, None])) == []


@given(st.lists(st.tuples(*[st.integers(0, 300)] * 4).map(lambda one: ".".join(map(str, one)))))
def test_columns_of_numbers_and_dots(texts: list[str]) -> None:
    assert spaces(pa.array(texts, pa.string())) == one_by_one(texts)


def test_networks_beside_other_conditions_on_the_same_attribute() -> None:
    criteria = [attr("ip").in_network("10.0.0.0/8"), attr("ip").prefix("10.")]
    encoder = Encoder(plan(criteria)[1])
    found = arrow.encode(encoder, pa.table({"ip": TEXTS}), 0)
    expected = encoder.encode([{"ip": text} for text in TEXTS], 0)
    assert np.array_equal(found.spaces, expected.spaces)
