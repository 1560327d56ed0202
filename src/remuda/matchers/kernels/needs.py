"""What clauses need: a bit for each dimension without which they are false, in one word.

The 64 most frequent dimensions have a bit each; rarer ones share them. A clause that needs a bit
which an event lacks is refused without a look at its predicates.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints, Ragged, Words
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import bare, kernel
from remuda.matchers.kernels.verify import Arrived


def bits_of_dims(table: ClauseTable) -> Words:
    """The bit of each dimension."""
    uses = np.bincount(table.predicates.dim[table.clauses.items], minlength=table.n_dims)
    bits = np.empty(table.n_dims, np.uint64)
    bits[np.argsort(-uses)] = np.uint64(1) << (np.arange(table.n_dims) % 64).astype(np.uint64)
    return bits


@bare
def lacking(event: Arrived, dim_of_space: Ints, dim_bits: Words) -> np.uint64:
    """The bits that an event does not have."""
    has = np.uint64(0)
    for i in range(event.begin, event.end):
        has |= dim_bits[dim_of_space[event.spaces[i]]]
    return ~has


@kernel
def needs_of(clauses: Ragged, predicates: Predicates, dim_bits: Words) -> Words:
    """The bits that each clause needs."""
    needs = np.zeros(len(clauses.starts) - 1, np.uint64)
    for clause in range(len(needs)):
        for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
            p = clauses.items[i]
            if not predicates.on_missing[p]:
                needs[clause] |= dim_bits[predicates.dim[p]]
    return needs
