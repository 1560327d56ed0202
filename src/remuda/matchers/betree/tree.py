"""The BE-Tree: built at once, or grown by insertion and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Self

import numpy as np

from remuda.arrays import Ints, Longs, frozen, ragged, starts_of
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.betree.insertion import settle
from remuda.matchers.betree.matching import match
from remuda.matchers.betree.pools import (
    C_NODES,
    COUNT,
    EXPRESSIONS,
    FIRST,
    FREE_EXPRESSIONS,
    N_WORDS,
    NEEDS,
    NEEDS_TOO,
    NEXT,
    NONE,
    P_NODES,
    PLACE,
    RECORD,
    ROOT,
    ROW,
    SCATTERED,
    SIZE,
    WORDS,
    Pools,
    compact,
    empty_heads,
    empty_pools,
    find_row,
    new_c_node,
    new_expression,
    put,
    queue,
    rehash_p_nodes,
    rehash_rows,
    subtree,
    to_limbo,
)
from remuda.matchers.betree.records import Records, records_of
from remuda.matchers.betree.upkeep import adjust, delete, tidy
from remuda.matchers.contract import Features, Hits, Literal
from remuda.matchers.kernels.growth import thawed
from remuda.matchers.kernels.records import predicates_of

MAX_CAP = 50  # where the paper has 5 to 20: the signatures of an l_node are scanned fast
MIN_SIZE = 6  # where the paper has 3, in proportion
WORTH = 1.5  # times as many candidates as are usual make a new tree worth trying
SAMPLE = 512  # events by which trees are compared
WASTE = 10  # one in so many entries of a pool may be free or scattered
NO_CROWD = np.empty(0, np.int64)
LIMIT = np.iinfo(np.int32).max


@dataclass(slots=True)
class BETree:
    """Expressions under nodes that an event reaches only if it may satisfy them.

    `match` may run in several threads, but not while the tree is being changed.
    """

    features: ClassVar[Features] = Features(
        layout=1, changes=True, parameters=("max_cap", "min_size")
    )

    space_starts: Ints
    dim_of_space: Ints
    pools: Pools
    max_cap: int
    min_size: int
    usual: float = 0.0  # candidates of an event when the tree was last arranged for such
    n_changed: int = 0  # expressions that came or went since then

    def __post_init__(self) -> None:
        if self.max_cap < 1 or self.min_size < 1:
            raise ValueError(
                f"max_cap {self.max_cap} and min_size {self.min_size} must be positive"
            )
        if not self.pools.feedback.flags.writeable:  # read from a file; matching writes to these
            self.pools = self.pools._replace(
                feedback=self.pools.feedback.copy(), presence=self.pools.presence.copy()
            )

    @classmethod
    def build(cls, table: ClauseTable, *, max_cap: int = MAX_CAP, min_size: int = MIN_SIZE) -> Self:
        """All clauses at once (the paper's BE-B): the root is cut by what is known of all."""
        pools = empty_pools([0, 0, 0, 0], np.zeros(table.n_dims + 2, np.int64), NO_CROWD)
        tree = cls(table.space_starts, frozen(table.dim_of_space()), pools, max_cap, min_size)
        records = records_of(table)
        tree._fill(np.arange(table.n_clauses, dtype=np.int32), records)
        return tree

    def _fill(self, rows: Ints, records: Records) -> None:
        """Arrange all expressions, in a tree that has none."""
        self._make_room(len(rows), len(records.words))
        _fill_root(self.pools, rows, *records, self.max_cap)
        self._settle()
        self._compact()

    def match(self, events: EventBatch) -> Hits:
        pools = self.pools
        starts, rows, candidates = match(
            events.starts, events.spaces, self.dim_of_space, len(self.space_starts) - 1,
            *(frozen(pool.view()) for pool in pools[:5]), pools.feedback, pools.presence,
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    def insert(self, row: int, clause: Sequence[Literal]) -> None:
        """Add an expression under a row that is not taken."""
        if not 0 <= row <= LIMIT:
            raise ValueError(f"row {row} is not between 0 and {LIMIT}")
        if self._find(row) != NONE:
            raise ValueError(f"row {row} is taken: delete it before you insert it anew")
        _check(clause)
        predicates = predicates_of(clause, self.space_starts)
        record = records_of(
            ClauseTable(self.space_starts, predicates, ragged([range(len(clause))]))
        )
        self._thaw()
        self._make_room(1, len(record.words))
        e = _append(self.pools, row, record.words, record.needs[0])
        self._settle()
        self.n_changed += 1
        tidy(self.pools, self.pools.expressions[e, PLACE], self.max_cap, self.min_size)
        self._settle()
        self._reclaim()

    def delete(self, row: int) -> None:
        """Remove the expression under the row."""
        e = self._find(row)
        if e == NONE:
            raise KeyError(f"no expression has the row {row}")
        self._thaw()
        self.n_changed += 1
        delete(self.pools, np.int32(e), self.max_cap, self.min_size)
        self._settle()
        self._reclaim()

    def adjust(self, seen: EventBatch | None = None) -> int:
        """Recycle the nodes that events have found useless; how many expressions moved.

        Insertion and deletion do this to the nodes on their way. Where there are none and only
        the events change, call it from time to time. A node that still tells something apart is
        never useless by its rank, though attributes that events no longer have might tell more:
        where events that were `seen` meet many more expressions than they used to, or than they
        would after so many changes, all are reinserted, the paper's second policy.
        """
        self._thaw()
        if seen is not None and len(seen):
            self._attend(seen)
        n_recycled = adjust(self.pools, self.max_cap, self.min_size)
        self._settle()
        self._reclaim()
        return int(n_recycled) + (self._reinsert(seen) if seen is not None and len(seen) else 0)

    def _attend(self, seen: EventBatch) -> None:
        """Let what is expected of events be what these are like."""
        presence = self.pools.presence
        presence[:-2] = np.bincount(self.dim_of_space[seen.spaces], minlength=len(presence) - 2)
        presence[-2] = len(seen)
        # and, behind all spaces, of how many events
        crowd = np.zeros(len(self.dim_of_space) + 2, np.int64)
        np.cumsum(np.bincount(seen.spaces, minlength=len(self.dim_of_space)), out=crowd[1:-1])
        crowd[-1] = len(seen)
        self.pools = self.pools._replace(crowd=crowd)

    def _reinsert(self, seen: EventBatch) -> int:
        """Arrange all expressions anew if the events meet fewer then; how many.

        It is tried where they meet many more than usual, and once as many expressions have come or
        gone as there are: what was usual for others says nothing of these.
        """
        now = self._met(seen)
        if now <= WORTH * self.usual + 1 and self.n_changed < len(self):
            return 0
        self.n_changed = 0
        trees = [self._anew(expected=expected) for expected in (True, False)]
        met = [tree._met(seen) for tree in trees]
        then = min(met)
        self.usual = min(now, then)
        if now <= then:
            return 0
        fresh = trees[met.index(then)].pools
        self.pools = fresh._replace(presence=self.pools.presence, crowd=self.pools.crowd)
        return len(self)

    def _anew(self, *, expected: bool) -> BETree:
        """All expressions arranged for the events that are expected, or by themselves alone."""
        presence = self.pools.presence.copy()
        if not expected:
            presence[:-1] = 0
        crowd = self.pools.crowd if expected else NO_CROWD
        pools = empty_pools([0, 0, 0, 0], presence, crowd)
        fresh = BETree(self.space_starts, self.dim_of_space, pools, self.max_cap, self.min_size)
        fresh._fill(*self._records())
        return fresh

    def _met(self, seen: EventBatch) -> float:
        """How many expressions an event of these meets."""
        return self.match(seen.some(0, min(len(seen), SAMPLE))).candidates / min(len(seen), SAMPLE)

    def _records(self) -> tuple[Ints, Records]:
        """The rows of all expressions, and their records."""
        expressions = self.pools.expressions[_used(self.pools)]
        begins, counts = expressions[:, RECORD].astype(np.int64), expressions[:, N_WORDS]
        starts = starts_of(counts)
        at = np.arange(starts[-1]) + np.repeat(begins - starts[:-1], counts)
        rows, needs = expressions[:, ROW].copy(), expressions[:, [NEEDS, NEEDS_TOO]].copy()
        return rows, Records(starts, self.pools.words[at], needs)

    def __len__(self) -> int:
        return int(self.pools.state[EXPRESSIONS] - self.pools.state[FREE_EXPRESSIONS])

    @property
    def nbytes(self) -> int:
        return sum(pool.nbytes for pool in self.pools) + self.dim_of_space.nbytes

    def _find(self, row: int) -> int:
        """The row's expression, or NONE."""
        expressions, row_heads = self.pools.expressions.view(), self.pools.row_heads.view()
        return int(find_row(row, frozen(expressions), frozen(row_heads)))

    def _settle(self) -> None:
        while not settle(self.pools, self.space_starts, self.max_cap, self.min_size):
            self._make_room()

    def _make_room(self, n_expressions: int = 0, n_words: int = 0) -> None:
        """Grow the pools that are full: for so much, and for a node of each kind."""
        pools, used = self.pools, self.pools.state[:4]
        live = used - pools.state[4:8]
        if used[WORDS] + n_words > LIMIT:
            raise ValueError(f"the records would take more than {LIMIT} words")
        larger = pools._replace(
            words=thawed(pools.words, used[WORDS] + n_words),
            expressions=thawed(pools.expressions, live[EXPRESSIONS] + n_expressions),
            c_nodes=thawed(pools.c_nodes, live[C_NODES] + 2),
            feedback=thawed(pools.feedback, live[C_NODES] + 2),
            p_nodes=thawed(pools.p_nodes, live[P_NODES] + 1),
        )
        if len(larger.p_nodes) > len(pools.p_heads):
            larger = larger._replace(p_heads=empty_heads(len(larger.p_nodes)))
            rehash_p_nodes(pools.p_heads, larger)
        if len(larger.expressions) > len(pools.row_heads):
            larger = larger._replace(row_heads=empty_heads(len(larger.expressions)))
            rehash_rows(pools.row_heads, larger)
        self.pools = larger

    def _reclaim(self) -> None:
        """Compact the pools once a good part of them is free, or lies where it came to lie."""
        used, free = self.pools.state[:4], self.pools.state[4:8]
        limits = 16 + used // WASTE
        if (free > limits).any() or self.pools.state[SCATTERED] > limits[EXPRESSIONS]:
            self._compact()

    def _compact(self) -> None:
        """Write the tree anew, without gaps."""
        live = self.pools.state[:4] - self.pools.state[4:8]
        smaller = empty_pools(live.tolist(), self.pools.presence, self.pools.crowd)
        compact(self.pools, smaller)
        self.pools = smaller

    def _thaw(self) -> None:
        """Make the pools ready to be changed; they may be a file's."""
        if not self.pools.words.flags.writeable:
            self.pools = Pools._make(thawed(pool) for pool in self.pools)


def _check(clause: Sequence[Literal]) -> None:
    """Refuse what is no clause: kernels do not look where they write."""
    dims = [literal.dim for literal in clause]
    if len(set(dims)) < len(dims):
        raise ValueError(f"a dimension occurs twice in the clause: {dims}")
    for literal in clause:
        edges = list(chain.from_iterable(literal.spans))
        if edges != sorted(edges):
            raise ValueError(f"{literal}: its spans do not ascend")


@kernel
def _used(pools: Pools) -> Ints:
    """The numbers of all expressions, node by node."""
    expressions = np.empty(pools.state[EXPRESSIONS], np.int32)
    n = 0
    for c in subtree(pools, ROOT):
        e = pools.c_nodes[c, FIRST]
        while e != NONE:
            expressions[n] = e
            n += 1
            e = pools.expressions[e, NEXT]
    return expressions[:n].copy()


@kernel
def _fill_root(
    pools: Pools, rows: Ints, starts: Longs, words: Ints, needs: Ints, max_cap: int
) -> None:
    """Make the root, and put all records, under their rows, into its l_node."""
    pools.words[: len(words)] = words
    pools.state[WORDS] = len(words)
    new_c_node(pools, NONE, NONE, 0, 0, max_cap)
    for i in range(len(rows)):
        at, length = np.int32(starts[i]), np.int32(starts[i + 1] - starts[i])
        put(pools, new_expression(pools, rows[i], at, length, needs[i]), ROOT)
    pools.c_nodes[ROOT, COUNT] = pools.c_nodes[ROOT, SIZE]
    queue(pools, ROOT)


@kernel
def _append(pools: Pools, row: int, record: Ints, needs: Ints) -> int:
    """A new expression, which waits to be inserted."""
    at = pools.state[WORDS]
    pools.words[at : at + len(record)] = record
    pools.state[WORDS] += len(record)
    e = new_expression(pools, np.int32(row), at, np.int32(len(record)), needs)
    pools.state[SCATTERED] += 1
    to_limbo(pools, e)
    return e  # type: ignore[no-any-return]
