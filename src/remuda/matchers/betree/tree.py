"""The BE-Tree: built at once, or grown by insertion and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs, frozen, ragged
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.betree.compaction import compact
from remuda.matchers.betree.insertion import settle
from remuda.matchers.betree.matching import match_be_tree
from remuda.matchers.betree.pools import (
    C_FIELDS,
    C_FREE,
    C_NODES,
    CLAUSES,
    COUNT,
    FREE_C_NODES,
    FREE_P_NODES,
    FREE_WORDS,
    LIMBO,
    NONE,
    OVERFLOWED,
    P_FIELDS,
    P_FREE,
    P_NODES,
    ROOT,
    STATE_FIELDS,
    WORDS,
    Pools,
    enter_row,
    find_row,
    new_c_node,
    put,
    queue,
    rehash_p_nodes,
    rehash_rows,
)
from remuda.matchers.betree.records import NEXT, PLACE, ROW, predicates_of, records_of
from remuda.matchers.betree.upkeep import adjust, delete, tick
from remuda.matchers.contract import Hits, Literal

MAX_CAP = 20
MIN_SIZE = 3
WASTE = 10  # the pools are compacted when more than one in so many of their entries are free
LIMIT = np.iinfo(np.int32).max

Pool = TypeVar("Pool", bound=NDArray[Any])


@dataclass(slots=True)
class BETree:
    """Expressions under nodes that an event reaches only if it may satisfy them.

    `match` may run in several threads, but not while the tree is being changed.
    """

    space_starts: Ints
    dim_of_space: Ints
    pools: Pools
    max_cap: int
    min_size: int

    def __post_init__(self) -> None:
        if not self.pools.feedback.flags.writeable:  # read from a file; matching writes to these
            self.pools = self.pools._replace(
                feedback=self.pools.feedback.copy(), presence=self.pools.presence.copy()
            )

    @classmethod
    def build(cls, table: ClauseTable, *, max_cap: int = MAX_CAP, min_size: int = MIN_SIZE) -> Self:
        """All clauses at once (the paper's BE-B): the root is cut by what is known of all."""
        records = records_of(table)
        presence = np.zeros(table.n_dims + 1, np.int64)
        pools = _empty_pools(len(records.items), table.n_clauses, 64, 64, presence)
        tree = cls(table.space_starts, frozen(table.dim_of_space()), pools, max_cap, min_size)
        pools.words[:] = records.items
        _fill_root(pools, records.starts, max_cap)
        tree._settle()
        tree._compact()
        return tree

    def match(self, events: EventBatch) -> Hits:
        pools = self.pools
        starts, rows, candidates = match_be_tree(
            events.starts, events.spaces, self.dim_of_space, len(self.space_starts) - 1,
            *(frozen(pool.view()) for pool in pools[:4]), pools.feedback, pools.presence,
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    def insert(self, row: int, clause: Sequence[Literal]) -> None:
        """Add one expression under a row that is not taken."""
        if not 0 <= row <= LIMIT:
            raise ValueError(f"row {row} is not between 0 and {LIMIT}")
        if find_row(self.pools, row) != NONE:
            raise ValueError(f"row {row} is taken; delete it before it is inserted again")
        _check(clause, self.space_starts)
        self._thaw()
        one = ClauseTable(self.space_starts, predicates_of(clause), ragged([range(len(clause))]))
        words = records_of(one).items
        words[ROW] = row
        self._make_room(len(words))
        record = _append(self.pools, words)
        self._settle()
        tick(self.pools, self.pools.words[record + PLACE], self.max_cap)
        self._settle()

    def delete(self, row: int) -> None:
        """Remove the expression under the row."""
        record = find_row(self.pools, row)
        if record == NONE:
            raise KeyError(f"no expression has row {row}")
        self._thaw()
        tick(self.pools, self.pools.words[record + PLACE], self.max_cap)
        self._settle()
        delete(self.pools, record, self.max_cap, self.min_size)
        self._settle()
        self._reclaim()

    def adjust(self) -> int:
        """Recycle the nodes that events have found useless; how many expressions moved.

        Insertion and deletion do this to the nodes on their way. Where there are none and only
        the events change, call it from time to time.
        """
        self._thaw()
        n_recycled = adjust(self.pools, self.max_cap)
        self._settle()
        self._reclaim()
        return int(n_recycled)

    def __len__(self) -> int:
        return int(self.pools.state[CLAUSES])

    @property
    def nbytes(self) -> int:
        return sum(pool.nbytes for pool in self.pools) + self.dim_of_space.nbytes

    def _settle(self) -> None:
        while not settle(self.pools, self.space_starts, self.max_cap, self.min_size):
            self._make_room()

    def _make_room(self, n_words: int = 0) -> None:
        """Grow the pools that are full."""
        pools, state = self.pools, self.pools.state
        if state[WORDS] + n_words > LIMIT:
            raise ValueError(f"the records would take more than {LIMIT} words")
        c_needed = state[C_NODES] - state[FREE_C_NODES] + 2
        p_needed = state[P_NODES] - state[FREE_P_NODES] + 1
        grown = pools._replace(
            words=_roomier(pools.words, state[WORDS] + n_words),
            c_nodes=_roomier(pools.c_nodes, c_needed),
            feedback=_roomier(pools.feedback, c_needed),
            p_nodes=_roomier(pools.p_nodes, p_needed),
        )
        if len(grown.p_nodes) > len(pools.p_heads):
            grown = grown._replace(p_heads=_heads(len(grown.p_nodes)))
            rehash_p_nodes(pools.p_heads, grown)
        if state[CLAUSES] >= len(pools.row_heads):
            grown = grown._replace(row_heads=_heads(int(state[CLAUSES]) + 1))
            rehash_rows(pools.row_heads, grown)
        self.pools = grown

    def _reclaim(self) -> None:
        """Give back what deletion has freed, once that is a good part."""
        state = self.pools.state
        used = state[[WORDS, C_NODES, P_NODES]]
        free = state[[FREE_WORDS, FREE_C_NODES, FREE_P_NODES]]
        if (free > 64 + used // WASTE).any():
            self._compact()

    def _compact(self) -> None:
        pools, state = self.pools, self.pools.state
        smaller = _empty_pools(
            int(state[WORDS] - state[FREE_WORDS]),
            int(state[CLAUSES]),
            int(state[C_NODES] - state[FREE_C_NODES]),
            int(state[P_NODES] - state[FREE_P_NODES]),
            pools.presence,
        )
        compact(pools, smaller)
        self.pools = smaller

    def _thaw(self) -> None:
        """Own the pools before they are changed; they may be a read-only file."""
        if not self.pools.words.flags.writeable:
            self.pools = Pools(*(np.array(pool) for pool in self.pools))


def _empty_pools(n_words: int, n_rows: int, n_c: int, n_p: int, presence: Longs) -> Pools:
    state = np.zeros(STATE_FIELDS, np.int64)
    state[[C_FREE, P_FREE, OVERFLOWED, LIMBO]] = NONE
    return Pools(
        np.empty(n_words, np.int32),
        np.empty((n_c, C_FIELDS), np.int32),
        np.empty((n_p, P_FIELDS), np.int32),
        _heads(n_p),
        _heads(n_rows),
        np.empty((n_c, 2), np.int64),
        presence,
        state,
    )


def _heads(n: int) -> Ints:
    """An empty hash table for n entries; its length is a power of two."""
    return np.full(1 << max(n - 1, 0).bit_length(), NONE, np.int32)


def _roomier(pool: Pool, needed: int) -> Pool:
    """The pool with room for `needed` entries; an eighth more than it had, where it must grow."""
    if needed <= len(pool):
        return pool
    larger = np.empty((max(needed, len(pool) + len(pool) // 8 + 64), *pool.shape[1:]), pool.dtype)
    larger[: len(pool)] = pool
    return larger


def _check(clause: Sequence[Literal], space_starts: Ints) -> None:
    """Refuse what is no clause over these spaces: kernels do not check where they read."""
    dims = [literal.dim for literal in clause]
    if len(set(dims)) < len(dims):
        raise ValueError(f"a dimension occurs twice in the clause: {dims}")
    for literal in clause:
        if not 0 <= literal.dim < len(space_starts) - 1:
            raise ValueError(f"there is no dimension {literal.dim}")
        edges = [int(space_starts[literal.dim]) + 1, *chain.from_iterable(literal.spans)]
        if edges != sorted(edges) or edges[-1] > space_starts[literal.dim + 1]:
            raise ValueError(f"spans outside dimension {literal.dim} or not ascending: {literal}")


@kernel
def _fill_root(pools: Pools, starts: Longs, max_cap: int) -> None:
    """Put all records into the root's l_node, which may overflow."""
    new_c_node(pools, NONE, NONE, 0, 0, max_cap)
    for i in range(len(starts) - 2, -1, -1):
        enter_row(pools, starts[i])
        put(pools, starts[i], ROOT)
    pools.c_nodes[ROOT, COUNT] = pools.state[CLAUSES] = len(starts) - 1
    pools.state[WORDS] = starts[-1]
    queue(pools, ROOT)


@kernel
def _append(pools: Pools, record: Ints) -> int:
    """Add a record, which waits to be inserted; where it stands."""
    at = pools.state[WORDS]
    pools.words[at : at + len(record)] = record
    pools.state[WORDS] += len(record)
    pools.state[CLAUSES] += 1
    enter_row(pools, at)
    pools.words[at + NEXT] = pools.state[LIMBO]
    pools.state[LIMBO] = at
    return at  # type: ignore[no-any-return]
