"""What clauses need: a bit for each dimension without which they are false, in one word.

The 64 most frequent dimensions have a bit each; rarer ones share them. A clause that needs a bit
which an event lacks is refused without a look at its predicates.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import kernel
from remuda.matchers.kernels.growth import Words


def bits_of_dims(table: ClauseTable) -> Words:
    """The bit of each dimension."""
    uses = np.bincount(table.predicates.dim[table.clauses.items], minlength=table.n_dims)
    bits = np.empty(table.n_dims, np.uint64)
    bits[np.argsort(-uses)] = np.uint64(1) << (np.arange(table.n_dims) % 64).astype(np.uint64)
    return bits


def needs_of(clauses: Ragged, predicates: Predicates, dim_bits: Words) -> Words:
    """The bits that each clause needs."""
    return _needs(*clauses, predicates.dim, predicates.on_missing, dim_bits)  # type: ignore[no-any-return]


@kernel
def lacking(spaces: Ints, begin: int, end: int, dim_of_space: Ints, dim_bits: Words) -> np.uint64:
    """The bits that an event does not have."""
    has = np.uint64(0)
    for i in range(begin, end):
        has |= dim_bits[dim_of_space[spaces[i]]]
    return ~has


@kernel
def _needs(starts: Longs, items: Ints, dims: Ints, on_missing: Bools, dim_bits: Words) -> Words:
    needs = np.zeros(len(starts) - 1, np.uint64)
    for clause in range(len(starts) - 1):
        for i in range(starts[clause], starts[clause + 1]):
            if not on_missing[items[i]]:
                needs[clause] |= dim_bits[dims[items[i]]]
    return needs
