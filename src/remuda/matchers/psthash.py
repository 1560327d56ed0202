"""PSTHash: pairs of access predicates lead to clauses, through a hash table of 2-dim spaces.

A 2-dim predicate space is a leaf of one dimension's PS-Tree and one of another's, the lower
dimension first. A clause with two access predicates is listed in every such space that these
cover; the trees have no other predicates. An event looks up all pairs of its leaves. Clauses with
one access predicate, or with predicates that cover too many pairs, are listed as in PSTBloom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.contract import Hits, Literal
from remuda.matchers.kernels.access import Selectivity, most_selective_first, selectivity
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.hashing import NO_KEY, HashTable, hashed
from remuda.matchers.kernels.lists import Lists
from remuda.matchers.kernels.needs import Words, lacking
from remuda.matchers.kernels.nodes import MOST_MET, each_once, meet, narrow
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.records import (
    REFUSED,
    all_hold,
    arrive,
    bits_hold,
    leave,
)
from remuda.matchers.pstforest import Forest, Trees, access_predicates, has_access

_MOST_PAIRS = 64  # of spaces that two access predicates may cover
_HALF = 32
_ONE = np.uint64(1)


@dataclass(slots=True)
class PairLists:
    """The clauses of each 2-dim predicate space.

    `numbers` has the list of each pair of leaves. What only changes need is made for the first:
    the pair of each list, and the lists that each leaf takes part in.
    """

    numbers: HashTable
    lists: Lists  # of slots, and of what their clauses need
    pairs: Longs | None = None
    of_leaf: Lists | None = None

    @classmethod
    def of(cls, pairs: Longs, slots: Ints, needs: Words) -> PairLists:
        """From pairs of leaves, with a slot in each and what its clause needs."""
        order = np.argsort(pairs, kind="stable")
        pairs, slots = pairs[order], slots[order]
        begins = np.flatnonzero(np.diff(pairs, prepend=NO_KEY))
        numbers = HashTable.of(pairs[begins], np.arange(len(begins), dtype=np.int32))
        return cls(numbers, Lists.of(np.append(begins, len(pairs)), slots, needs[slots]))
