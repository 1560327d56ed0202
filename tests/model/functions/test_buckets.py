"""Buckets: the published vectors of each hash, and what is hashed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import remuda as rm
from remuda.errors import InvalidCriterion, NoSqlEquivalent, ParseError
from remuda.model.functions import FUNCTIONS
from remuda.model.functions.buckets import HASHES

FOX = "The quick brown fox jumps over the lazy dog"
VECTORS: dict[str, tuple[str, str, int]] = {  # SMHasher's, Noll's, of FIPS 180 and of RFC 1321
    "murmur3 of nothing": ("murmur3", "", 0),
    "murmur3 of a word": ("murmur3", "test", 0xBA6BD213),
    "murmur3 of 13 bytes": ("murmur3", "Hello, world!", 0xC0363E43),
    "murmur3 of a sentence": ("murmur3", FOX, 0x2E4FF723),
    "fnv1a of nothing": ("fnv1a", "", 0x811C9DC5),
    "fnv1a of a letter": ("fnv1a", "a", 0xE40C292C),
    "fnv1a of a word": ("fnv1a", "foobar", 0xBF9CF968),
    "sha1 of nothing": ("sha1", "", 0xDA39A3EE5E6B4B0D),
    "sha1 of abc": ("sha1", "abc", 0xA9993E364706816A),
    "sha1 of a sentence": ("sha1", FOX, 0x2FD4E1C67A2D28FC),
    "md5 of nothing": ("md5", "", 0xD41D8CD98F00B204),
    "md5 of abc": ("md5", "abc", 0x900150983CD24FB0),
    "md5 of a message": ("md5", "message digest", 0xF96B697D7CB7938D),
}


@pytest.mark.parametrize(("name", "data", "expected"), VECTORS.values(), ids=VECTORS)
def test_the_published_vectors(name: str, data: str, expected: int) -> None:
    assert HASHES[name](data.encode()) == expected


SPELT: dict[str, tuple[Any, str | None]] = {
    "a text": ("user-1", "user-1"),
    "another script": ("é日", "é日"),
    "an integer": (-5, "-5"),
    "a whole double": (5.0, "5"),
    "zeros at the end": (Decimal("5.50"), "5.5"),
    "a double counts as its shortest decimal": (0.1, "0.1"),
    "no exponent": (1e21, "1" + "0" * 21),
    "a small one": (1e-7, "0.0000001"),
    "no negative zero": (-0.0, "0"),
    "NumPy's": (np.int32(7), "7"),
    "true": (True, "true"),
    "not a number": (float("nan"), None),
    "an infinity": (float("inf"), None),
    "a huge decimal": (Decimal("1e999999"), None),
    "an integer over 64 bits": (2**70, None),
    "an object": ({"a": 1}, None),
    "half of a surrogate pair": ("\ud800", None),
}


@pytest.mark.parametrize("hash", HASHES)
@pytest.mark.parametrize(("value", "spelt"), SPELT.values(), ids=SPELT)
def test_what_is_hashed(value: Any, spelt: str | None, hash: str) -> None:
    expected = None if spelt is None else HASHES[hash](f"exp-1:{spelt}".encode()) % 1000
    assert FUNCTIONS["bucket"].apply(value, 1000, "exp-1", hash) == expected


user = rm.attr("user")
FORMS: dict[str, tuple[rm.Expression, str]] = {
    "all said": (
        user.bucket(100, seed="exp-1", hash="fnv1a") < 5,
        "bucket(user, 100, seed => 'exp-1', hash => 'fnv1a') < 5",
    ),
    "none said": (user.bucket(10) == 3, "bucket(user, 10, seed => '', hash => 'murmur3') = 3"),
    "a seed of the event": (
        rm.fn.bucket(user, 10, rm.attr("exp"), "md5") == 3,
        "bucket(path('$.user'), 10, seed => path('$.exp'), hash => 'md5') = 3",
    ),
}


@pytest.mark.parametrize(("expression", "text"), FORMS.values(), ids=FORMS)
def test_the_forms(expression: rm.Expression, text: str) -> None:
    criterion = rm.Criterion("c", expression)
    assert rm.Criterion.from_json(criterion.to_json()) == criterion
    assert rm.parse(criterion.to_text()) == expression
    events = [{"user": f"u{i}", "exp": i % 3} for i in range(200)]
    expected = [criterion.holds(event) for event in events]
    assert any(expected)
    assert not all(expected)
    assert [rm.parse(text).holds(event) for event in events] == expected
    index = rm.Index.build([criterion])
    assert [bool(index.match(event)) for event in events] == expected
    assert index.match_many(events).counts().tolist() == [int(one) for one in expected]
    with pytest.raises(NoSqlEquivalent):
        criterion.to_sql()


def test_the_options_have_names_places_and_defaults() -> None:
    read = rm.parse("bucket(user, 10, hash => 'md5') = 3")
    assert read == rm.parse("bucket(user, 10, '', 'md5') = 3")
    assert read == rm.parse("bucket(user, 10, hash => 'md5', seed => '') = 3")


REFUSED = {
    "a hash": ("bucket(user, 10, hash => 'crc') = 1", "no hash 'crc'"),
    "an option": ("bucket(user, 10, salt => 'a') = 1", "the options here"),
    "no buckets": ("bucket(user, 0) = 1", "1 or more buckets"),
    "half a bucket": ("bucket(user, 1.5) = 1", "1 or more buckets"),
    "no number": ("bucket(user) = 1", "2 to 4 arguments"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        rm.parse(text)


def test_an_unknown_hash_is_refused_in_python_too() -> None:
    with pytest.raises(InvalidCriterion, match="no hash"):
        user.bucket(10, hash="crc")
