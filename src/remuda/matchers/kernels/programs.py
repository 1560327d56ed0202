"""Programs run: the truth, the score and the want of criteria for an event that is laid out."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Floats, Ints
from remuda.encoding.programs import Programs
from remuda.encoding.table import Predicates
from remuda.jit import bare
from remuda.matchers.kernels.truth import Event, accepts, holds


@bare
def score(
    row: int,
    programs: Programs,
    attribute_weight: Floats,
    stack: Floats,
    predicates: Predicates,
    event: Event,
) -> float:
    """The score of a criterion; NaN where it does not hold.

    Of leaves that an And joins, those behind one that fails are not looked at.
    """
    n, end = 0, programs.starts[row + 1]
    joined = first_of_and = programs.starts[row]  # where leaves that follow end; which of them join
    failed = False
    for step in range(programs.starts[row], end):
        code = programs.codes[step]
        if code >= 0:
            if step >= joined:
                joined, first_of_and = _run_of_leaves(step, end, programs.codes)
                failed = False
            failed &= step > first_of_and
            stack[n] = np.nan
            if not failed and holds(programs.leaf_literal[code], predicates, event):
                points = programs.leaf_weight[code]
                if programs.value_starts[code] < programs.value_starts[code + 1]:
                    points = _points(code, programs, predicates, event)
                stack[n] = points * attribute_weight[programs.leaf_attribute[code]]
            else:
                failed = step >= first_of_and
            n += 1
        else:
            n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
            n -= n_parts
            stack[n] = _largest(stack, n, n_parts) if either else _sum(stack, n, n_parts)
            n += 1
    return float(stack[0])


@bare
def _run_of_leaves(at: int, end: int, codes: Ints) -> tuple[int, int]:
    """Where the leaves from `at` on end, and from where on an And joins them."""
    last = at
    while last < end and codes[last] >= 0:
        last += 1
    if last == end or (-codes[last] - 1) & 1:
        return last, last
    return last, max(at, last - ((-codes[last] - 1) >> 1))


@bare
def truth(row: int, programs: Programs, stack: Ints, predicates: Predicates, event: Event) -> bool:
    """Whether a criterion holds, with no look at parts that can no longer decide.

    A program read from its end has each And and Or before its parts. On the stack are those that
    are not decided yet: the value that would decide each (true an Or, false an And), and how many
    of its parts were not met yet.
    """
    step, n = programs.starts[row + 1], 0
    while True:
        step -= 1
        code = programs.codes[step]
        n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
        if code < 0 and n_parts > 0:
            stack[n], stack[n + 1] = either, n_parts
            n += 2
            continue
        value = 1 - either  # of an And or Or without parts
        if code >= 0:
            value = np.int32(holds(programs.leaf_literal[code], predicates, event))
        n_passed = 0  # parts that are passed over, since what they belong to is decided
        while n > 0:
            stack[n - 1] -= 1
            if value == stack[n - 2]:
                n_passed += stack[n - 1]
            elif stack[n - 1] > 0:
                break
            n -= 2
        if n == 0:
            return bool(value)
        while n_passed > 0:
            step -= 1
            code = programs.codes[step]
            n_passed += ((-code - 1) >> 1) - 1 if code < 0 else -1


NEVER = np.int32(1 << 30)  # predicates that are lacking where nothing would help


@bare
def lacking(row: int, programs: Programs, stack: Ints, predicates: Predicates, event: Event) -> int:
    """How many predicates more must hold for the criterion to hold; 0 where it does."""
    n = 0
    for step in range(programs.starts[row], programs.starts[row + 1]):
        code = programs.codes[step]
        if code >= 0:
            stack[n] = 1 - holds(programs.leaf_literal[code], predicates, event)
        else:
            n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
            n -= n_parts
            joined = NEVER if either else np.int32(0)
            for i in range(n, n + n_parts):
                joined = min(joined, stack[i]) if either else min(joined + stack[i], NEVER)
            stack[n] = joined
        n += 1
    return int(stack[0])


@bare
def _sum(stack: Floats, at: int, n_parts: int) -> float:
    total = 0.0
    for i in range(at, at + n_parts):
        total += stack[i]  # NaN, a part that does not hold, stays NaN
    return total


@bare
def _largest(stack: Floats, at: int, n_parts: int) -> float:
    largest = np.nan
    for i in range(at, at + n_parts):
        if not stack[i] <= largest and not np.isnan(stack[i]):
            largest = stack[i]
    return largest


@bare
def _points(leaf: int, programs: Programs, predicates: Predicates, event: Event) -> float:
    """The largest weight among the values that matched."""
    largest, predicate = np.nan, programs.leaf_literal[leaf]
    dim = predicates.dim[predicate]
    begin, end = predicates.span_starts[predicate], predicates.span_starts[predicate + 1]
    for i in range(event.first[dim], event.last[dim]):
        space = event.spaces[i]
        if accepts(space, begin, end, predicates.span_lo, predicates.span_hi):
            points = programs.leaf_weight[leaf]
            for j in range(programs.value_starts[leaf], programs.value_starts[leaf + 1]):
                if programs.value_space[j] == space:
                    points = programs.value_weight[j]
            if not points <= largest:
                largest = points
    return largest
