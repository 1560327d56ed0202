"""The owners of what one event hits, given where all arrays lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from remuda.arrays import Ints, Longs
from remuda.encoding.table import Predicates
from remuda.jit import kernel
from remuda.matchers.kernels.programs import truth
from remuda.matchers.kernels.truth import Event, lay_out, take_away
from remuda.pointers import pointer

_ONE = np.uint64(1)


class Steps(NamedTuple):
    """Of programs what tells the truth, and no score."""

    starts: Longs
    codes: Ints
    leaf_literal: Ints


@kernel
def own_alone(clauses: Ints, spaces: Ints, where: Longs) -> int:
    """Write the owners of clauses that one event hits, each once, less those that do not hold.

    Where owners are to be checked, their programs decide. A call that hands over so few arrays is
    fast: beside one event's match, two structs of arrays cost more than all that is done here.
    """
    sole = carray(pointer(where[0]), (where[1],), np.int32)
    starts = carray(pointer(where[2]), (where[3],), np.int64)
    owners = carray(pointer(where[4]), (where[5],), np.int32)
    seen = carray(pointer(where[6]), (where[7],), np.uint64)
    out = carray(pointer(where[8]), (where[9],), np.int32)
    n = 0
    for i in range(len(clauses)):
        clause = np.uint64(clauses[i])
        if sole[clause] >= 0:
            out[n] = sole[clause]
            n += 1
            continue
        for j in range(starts[clause], starts[clause + _ONE]):
            owner = owners[j]
            if owner < 0:
                owner = ~owner
                bit = _ONE << np.uint64(owner & 63)
                if seen[owner >> 6] & bit:
                    continue
                seen[owner >> 6] |= bit
            out[n] = owner
            n += 1
    for i in range(n):
        seen[out[i] >> 6] = 0
    if where[11] == 0:
        return n
    return _held(out, n, spaces, where)  # type: ignore[no-any-return]


@kernel
def _held(out: Ints, n: int, spaces: Ints, where: Longs) -> int:
    """Leave those of the n criteria in `out` that need no check, or hold; how many they are."""
    checked = carray(pointer(where[10]), (where[11],), np.bool_)
    dim_of_space = carray(pointer(where[12]), (where[13],), np.int32)
    event = Event(
        spaces,
        carray(pointer(where[14]), (where[15],), np.int64),
        carray(pointer(where[16]), (where[17],), np.int64),
    )
    stack = carray(pointer(where[18]), (where[19],), np.int32)
    predicates = Predicates(
        carray(pointer(where[26]), (where[27],), np.int32),
        carray(pointer(where[28]), (where[29],), np.bool_),
        carray(pointer(where[30]), (where[31],), np.bool_),
        carray(pointer(where[32]), (where[33],), np.int32),
        carray(pointer(where[34]), (where[35],), np.int32),
        carray(pointer(where[36]), (where[37],), np.int32),
    )
    programs = Steps(
        carray(pointer(where[20]), (where[21],), np.int64),
        carray(pointer(where[22]), (where[23],), np.int32),
        carray(pointer(where[24]), (where[25],), np.int32),
    )
    laid_out, n_kept = False, 0
    for i in range(n):
        row = out[i]
        if checked[row]:
            if not laid_out:
                lay_out(event, 0, len(spaces), dim_of_space)
                laid_out = True
            if not truth(row, programs, stack, predicates, event):
                continue
        out[n_kept] = row
        n_kept += 1
    if laid_out:
        take_away(event, 0, len(spaces), dim_of_space)
    return n_kept
