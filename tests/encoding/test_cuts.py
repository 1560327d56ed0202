"""Cuts in little room are the same cuts: every question has the answer that plain pairs give."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.encoding.cuts import WholeCuts, first_beyond, n_before, n_up_to, packed

_EDGES = [0, 1 << 52, 1 << 53, 1 << 61, 1 << 62, 1 << 63, 1 << 64, 10**30]
_WHOLE = st.integers(-9, 9) | st.builds(
    lambda edge, sign, step: sign * edge + step,
    st.sampled_from(_EDGES), st.sampled_from([-1, 1]), st.integers(-3, 3),
)  # fmt: skip
_NUMBERS = (
    _WHOLE
    | st.builds(lambda whole, part: Decimal(whole) + part, _WHOLE, st.sampled_from(
        [Decimal(0), Decimal("0.5"), Decimal("1e-30"), Decimal("-1e-30")]))
    | st.sampled_from([Decimal("1e999999"), Decimal("-1e999999"), float("inf"), float("-inf")])
)  # fmt: skip
_SIDES = st.sampled_from([0, 1])


def _sorted(pairs: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    return sorted(set(pairs))


@given(st.lists(st.tuples(st.integers(-9, 9) | _WHOLE, _SIDES)).map(_sorted), st.data())
def test_places_are_those_of_plain_pairs(cuts: list[tuple[Any, int]], data: st.DataObject) -> None:
    small = packed(cuts)
    assert list(small) == cuts
    assert len(small) == len(cuts)
    assert small[1:3] == cuts[1:3]
    near = st.sampled_from(cuts) if cuts else st.nothing()
    for cut in data.draw(st.lists(st.tuples(_NUMBERS, _SIDES) | near, max_size=8)):
        assert n_before(small, cut) == bisect_left(cuts, cut)
        assert n_up_to(small, cut) == bisect_right(cuts, cut)


@given(st.lists(st.tuples(_WHOLE, _SIDES)).map(_sorted))
def test_what_lies_beyond_is_the_same(cuts: list[tuple[Any, int]]) -> None:
    for one, plain in zip(first_beyond(packed(cuts)), first_beyond(cuts), strict=True):
        assert one.dtype == plain.dtype
        assert np.array_equal(one, plain)


@pytest.mark.parametrize(
    ("cuts", "small"),
    [
        pytest.param([(3, 0), (3, 1), (7, 0)], True, id="whole numbers"),
        pytest.param([(-(1 << 61) + 1, 0), ((1 << 61) - 1, 1)], True, id="the largest that fit"),
        pytest.param([(1 << 61, 0)], False, id="one too large"),
        pytest.param([(-(1 << 61), 0)], False, id="one too small"),
        pytest.param([(3, 0), (Decimal("3.5"), 0)], False, id="a fraction"),
        pytest.param([(3, 0), (float("inf"), 0)], False, id="infinity"),
        pytest.param([], False, id="none"),
    ],
)
def test_only_whole_numbers_are_packed(cuts: list[tuple[Any, int]], small: bool) -> None:
    assert isinstance(packed(cuts), WholeCuts) is small
    assert list(packed(cuts)) == cuts
