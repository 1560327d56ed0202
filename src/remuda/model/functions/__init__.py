"""The scalar functions of terms, by their lower-case names in Spark.

Their meaning is Spark's with ANSI on, in UTC; where Spark would fail a job, and for kinds of
values that a function is not made for, the result is None, which is missing. `+` is `add`, `-`
is `subtract` and `negative`, `*` is `multiply`, `/` is `divide`, `%` is `mod`, `||` is `concat`,
`&` is `bitwise_and`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remuda.model.functions import (
    arithmetic,
    bits,
    buckets,
    casts,
    choices,
    coding,
    dates,
    digests,
    documents,
    doubles,
    extremes,
    foreign,
    hashes,
    lists,
    rewriting,
    searching,
    spans,
    text,
    urls,
    written_moments,
)
from remuda.model.functions.comparing import ABOVE, BELOW, COMPARING, EQUAL
from remuda.model.functions.function import Function, table

__all__ = ["ABOVE", "BELOW", "EQUAL", "FUNCTIONS", "Function"]

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    table(COMPARING)
    | arithmetic.FUNCTIONS
    | doubles.FUNCTIONS
    | bits.FUNCTIONS
    | extremes.FUNCTIONS
    | text.FUNCTIONS
    | rewriting.FUNCTIONS
    | searching.FUNCTIONS
    | digests.FUNCTIONS
    | coding.FUNCTIONS
    | documents.FUNCTIONS
    | urls.FUNCTIONS
    | choices.FUNCTIONS
    | dates.FUNCTIONS
    | spans.FUNCTIONS
    | written_moments.FUNCTIONS
    | casts.FUNCTIONS
    | lists.FUNCTIONS
    | hashes.FUNCTIONS
    | buckets.FUNCTIONS
    | foreign.FUNCTIONS
)
