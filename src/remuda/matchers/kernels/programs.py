"""Programs run: the truth, the score and the want of criteria for an event that is laid out."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs
from remuda.jit import kernel
from remuda.matchers.kernels.truth import accepts, holds


@kernel
def score(
    begin: int,
    end: int,
    codes: Ints,
    leaf_literal: Ints,
    leaf_attribute: Ints,
    leaf_weight: Floats,
    value_starts: Ints,
    value_space: Ints,
    value_weight: Floats,
    attribute_weight: Floats,
    stack: Floats,
    spaces: Ints,
    first: Longs,
    last: Longs,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> float:
    """The score of the program from `begin` to `end`; NaN where it does not hold."""
    n = 0
    for at in range(begin, end):
        code = codes[at]
        if code >= 0:
            literal = leaf_literal[code]
            stack[n] = np.nan
            if holds(
                literal, spaces, first, last,
                dims, on_missing, every, span_starts, span_lo, span_hi,
            ):  # fmt: skip
                points = leaf_weight[code]
                if value_starts[code] < value_starts[code + 1]:
                    points = _points(
                        code, value_starts, value_space, value_weight, leaf_weight[code],
                        spaces, first[dims[literal]], last[dims[literal]],
                        span_starts[literal], span_starts[literal + 1], span_lo, span_hi,
                    )  # fmt: skip
                stack[n] = points * attribute_weight[leaf_attribute[code]]
            n += 1
        else:
            n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
            n -= n_parts
            stack[n] = _largest(stack, n, n_parts) if either else _sum(stack, n, n_parts)
            n += 1
    return float(stack[0])


NEVER = np.int32(1 << 30)  # predicates that are lacking where nothing would help


@kernel
def lacking(
    begin: int,
    end: int,
    codes: Ints,
    leaf_literal: Ints,
    stack: Ints,
    spaces: Ints,
    first: Longs,
    last: Longs,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> int:
    """How many predicates more must hold for the program to hold; 0 where it does."""
    n = 0
    for at in range(begin, end):
        code = codes[at]
        if code >= 0:
            stack[n] = 1 - holds(
                leaf_literal[code], spaces, first, last,
                dims, on_missing, every, span_starts, span_lo, span_hi,
            )  # fmt: skip
        else:
            n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
            n -= n_parts
            joined = NEVER if either else np.int32(0)
            for i in range(n, n + n_parts):
                joined = min(joined, stack[i]) if either else min(joined + stack[i], NEVER)
            stack[n] = joined
        n += 1
    return int(stack[0])


@kernel
def _sum(stack: Floats, at: int, n_parts: int) -> float:
    total = 0.0
    for i in range(at, at + n_parts):
        total += stack[i]  # NaN, a part that does not hold, stays NaN
    return total


@kernel
def _largest(stack: Floats, at: int, n_parts: int) -> float:
    largest = np.nan
    for i in range(at, at + n_parts):
        if not stack[i] <= largest and not np.isnan(stack[i]):
            largest = stack[i]
    return largest


@kernel
def _points(
    leaf: int,
    value_starts: Ints,
    value_space: Ints,
    value_weight: Floats,
    default: float,
    spaces: Ints,
    first: int,
    last: int,
    span_begin: int,
    span_end: int,
    span_lo: Ints,
    span_hi: Ints,
) -> float:
    """The largest weight among the values that matched."""
    largest = np.nan
    for i in range(first, last):
        if accepts(spaces[i], span_begin, span_end, span_lo, span_hi):
            points = default
            for j in range(value_starts[leaf], value_starts[leaf + 1]):
                if value_space[j] == spaces[i]:
                    points = value_weight[j]
            if not points <= largest:
                largest = points
    return largest
