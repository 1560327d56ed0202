"""OpIndex: clauses by pivot attribute, their predicates by operator, and counting.

Zhang, Chan and Tan's algorithm (VLDB 2014), as the PS-Tree paper has it for a baseline. On the
first level each clause goes to the partition of its pivot attribute, the one that the fewest
clauses ask for. On the second level the predicates of a partition are clustered by operator and
sorted by operand. An event visits the partitions of the attributes it has, looks up its values
under each operator, and counts: a clause is found when all its predicates were met.

Once encoded, what is left of an operator is the shape of its spans: =, ≥, ≤ or BETWEEN, of which
each has lists of its own. The entries of the first three that a value meets lie side by side; only
those of BETWEEN are compared once more. (All but = in one list, by their first space, are fewer
searches and more comparisons: 0.80 of the time on BEGen's workload. The paper has them apart.) Two
facts are left beside: whether what is met counts for the clause or against it (a predicate that
holds on missing is listed with what it refuses), and whether, of a list of values, any suffices or
all are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import apart, bare, kernel
from remuda.matchers.contract import Features, Hits
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.postings import n_per_row
from remuda.matchers.kernels.search import first_at_least, first_in_steps

AGAINST, ALL = 1, 2  # a manner is the sum of those that are true of it
N_MANNERS = 4
_VETO = np.int32(-(1 << 31))  # the sign: set, not added, and no count makes up for it


class Operands(NamedTuple):
    """One operator: manner m of partition p has the entries from `starts[N_MANNERS * p + m]`.

    They ascend by `keys`: the first space of each span, and of ≤ the last one. `last` has the last
    spaces of BETWEEN, and is empty elsewhere.
    """

    starts: Longs
    keys: Ints
    last: Ints
    clauses: Ints


class Operators(NamedTuple):
    """The operators, and what a one-sided one of a dimension is.

    What texts and numbers share a dimension, x ≤ 5 does not begin with its first space: ≤ are the
    spans that begin where most do, with `lows`, and ≥ those that end where most do, with `highs`.
    """

    equal: Operands  # =, ∈, ≠ and ∉, one entry a value
    at_least: Operands
    at_most: Operands
    between: Operands  # all else
    lows: Ints
    highs: Ints


@dataclass(frozen=True, slots=True)
class OpIndex:
    """Partitions by pivot attribute, the last one for clauses without.

    Clauses are numbered anew, partition by partition: clause i is row `rows[i]` of the table.
    """

    features: ClassVar[Features] = Features(layout=2)

    space_starts: Ints
    dim_of_space: Ints
    operators: Operators
    partition_starts: Ints
    rows: Ints
    sizes: Ints  # how many predicates of each clause count for it

    @classmethod
    def build(cls, table: ClauseTable) -> Self:
        predicates, clauses = table.predicates, table.clauses
        pivots = _pivots(table)
        rows = np.argsort(pivots, kind="stable").astype(np.int32)
        pivots = pivots[rows]
        clauses = take_rows(clauses, rows)
        return cls(
            table.space_starts,
            frozen(table.dim_of_space()),
            frozen(_operators(table, clauses, pivots)),
            frozen(starts_of(np.bincount(pivots, minlength=table.n_dims + 1)).astype(np.int32)),
            frozen(rows),
            frozen(n_per_row(~predicates.on_missing[clauses.items], clauses.starts)),
        )

    def match(self, events: EventBatch) -> Hits:
        starts, rows, candidates = _match(
            events.starts, events.spaces, self.space_starts, self.dim_of_space,
            self.operators, self.partition_starts, self.rows, self.sizes,
            np.zeros(len(self.rows), np.int32), np.zeros(len(self.rows), np.int64),
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    @property
    def nbytes(self) -> int:
        own = (self.space_starts, self.dim_of_space, self.partition_starts, self.rows, self.sizes)
        listed = (array for operands in self.operators[:4] for array in operands)
        return sum(array.nbytes for array in (*own, *listed, *self.operators[4:]))


def _pivots(table: ClauseTable) -> Longs:
    """The rarest dimension that each clause needs, or `n_dims` where it needs none."""
    predicates, (starts, items) = table.predicates, table.clauses
    dims = predicates.dim[items]
    frequency = np.bincount(dims, minlength=table.n_dims)
    rank = np.empty(table.n_dims + 1, np.int64)
    by_frequency = np.argsort(frequency, kind="stable")
    rank[by_frequency] = np.arange(table.n_dims)
    last = table.n_dims
    candidates = np.where(predicates.on_missing[items], last, rank[dims])
    filled = np.diff(starts) > 0
    rarest = np.full(table.n_clauses, last)
    rarest[filled] = np.minimum.reduceat(candidates, starts[:-1][filled])
    pivots: Longs = np.append(by_frequency, last)[rarest]
    return pivots


def _operators(table: ClauseTable, clauses: Ragged, pivots: Longs) -> Operators:
    """All predicates under their partition and operator."""
    predicates, dim_of_space = table.predicates, table.dim_of_space()
    deciding = _deciding_spans(predicates, table.space_starts)
    manner = AGAINST * predicates.on_missing + ALL * (predicates.every != predicates.on_missing)
    owners = np.repeat(np.arange(len(pivots), dtype=np.int32), np.diff(clauses.starts))
    partition = pivots[owners] * N_MANNERS + manner[clauses.items]
    counts = np.diff(deciding.starts)[clauses.items]
    every = Ragged(deciding.starts, np.arange(len(deciding.lo), dtype=np.int32))
    spans = take_rows(every, clauses.items).items
    lo, last = deciding.lo[spans], deciding.hi[spans] - 1
    partition, owners = np.repeat(partition, counts), np.repeat(owners, counts)
    wide = lo < last
    lows, highs = (_usual(one[wide], dim_of_space, table.n_dims) for one in (lo, last))
    dims = dim_of_space[lo]
    up = wide & (last == highs[dims])
    down = wide & ~up & (lo == lows[dims])
    n = (table.n_dims + 1) * N_MANNERS

    def listed(these: Bools, keys: Ints) -> Operands:
        of = partition[these]
        order = np.argsort(of * table.n_spaces + keys[these], kind="stable")
        starts = starts_of(np.bincount(of, minlength=n))
        ends = last[these][order] if these is between else np.empty(0, np.int32)
        return Operands(starts, keys[these][order], ends, owners[these][order])

    between = wide & ~up & ~down
    equal, at_least, at_most = listed(~wide, lo), listed(up, lo), listed(down, last)
    return Operators(equal, at_least, at_most, listed(between, lo), lows, highs)


def _usual(bounds: Ints, dim_of_space: Ints, n_dims: int) -> Ints:
    """The space of each dimension that occurs most often among these, or any."""
    n = np.bincount(bounds, minlength=len(dim_of_space))
    usual = np.empty(n_dims, np.int32)
    order = np.lexsort((n, dim_of_space))
    usual[dim_of_space[order]] = order  # the last one of each dimension stays
    return usual


class _Spans(NamedTuple):
    starts: Longs
    lo: Ints
    hi: Ints


def _deciding_spans(predicates: Predicates, space_starts: Ints) -> _Spans:
    """What each predicate accepts, or what it refuses where it holds on missing."""
    inverted = predicates.on_missing
    counts = np.diff(predicates.span_starts)
    owner = np.repeat(np.arange(len(inverted)), counts)
    starts = starts_of(counts + inverted)
    at = np.arange(len(owner)) - predicates.span_starts[owner] + starts[owner]
    gaps = inverted[owner]
    lo, hi = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    lo[at + gaps] = np.where(gaps, predicates.span_hi, predicates.span_lo)
    hi[at] = np.where(gaps, predicates.span_lo, predicates.span_hi)
    lo[starts[:-1][inverted]] = space_starts[predicates.dim[inverted]] + 1
    hi[starts[1:][inverted] - 1] = space_starts[predicates.dim[inverted] + 1]
    kept = lo < hi
    return _Spans(starts_of(kept)[starts], lo[kept], hi[kept])


class Look(NamedTuple):
    """An event's spaces from `first` to `stop`, all of one dimension; the i-th is looked at now.

    Predicates are of one manner.
    """

    i: int
    first: int
    stop: int
    manner: int


class Met(NamedTuple):
    """The entries from `begin` to `end` with a bound above `below`."""

    clauses: Ints
    bounds: Ints
    begin: int
    end: int
    below: int


class Counting(NamedTuple):
    """What is counted of each clause for one event, and the clauses that were."""

    counts: Ints
    chains: Longs  # one more than the space of the event that met the clause last
    touched: Ints


@kernel
def _match(
    event_starts: Longs,
    spaces: Ints,
    space_starts: Ints,
    dim_of_space: Ints,
    operators: Operators,
    partition_starts: Ints,
    clause_rows: Ints,
    sizes: Ints,
    counts: Ints,
    chains: Longs,
) -> tuple[Longs, Ints, int]:
    n_events, n_dims = len(event_starts) - 1, len(space_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows, touched = np.empty(1024, np.int32), np.empty(len(sizes) + 1, np.int32)
    counting = Counting(counts, chains, touched)
    n, n_candidates = 0, 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        i = begin
        while i <= end:
            pivot = dim_of_space[spaces[i]] if i < end else n_dims
            i = _dim_end(spaces, i, end, space_starts[pivot + 1]) if i < end else end + 1
            n_touched = 0
            for manner in range(N_MANNERS):
                n_touched = _look_up(
                    spaces, begin, end, space_starts, dim_of_space, pivot, manner,
                    operators, counting, n_touched,
                )  # fmt: skip
            if pivot == n_dims:  # nothing need be met: candidates are all but those with a veto
                first, last = partition_starts[n_dims], partition_starts[n_dims + 1]
                rows = grown(rows, n + last - first)
                for clause in range(first, last):
                    rows[n] = clause_rows[clause]
                    n += counts[clause] == 0
                n_candidates += last - first
            else:
                rows = grown(rows, n + n_touched)
                for k in range(n_touched):
                    rows[n] = clause_rows[touched[k]]
                    n += counts[touched[k]] == sizes[touched[k]]
                n_candidates += n_touched
            for k in range(n_touched):
                counts[touched[k]] = 0
        starts[event + 1] = n
    return starts, rows[:n].copy(), n_candidates


@bare
def _dim_end(spaces: Ints, i: int, end: int, beyond: int) -> int:
    """Where the event's spaces on the dimension that ends with `beyond` end."""
    while i < end and spaces[i] < beyond:
        i += 1
    return i


@bare
def _look_up(
    spaces: Ints,
    begin: int,
    end: int,
    space_starts: Ints,
    dim_of_space: Ints,
    pivot: int,
    manner: int,
    operators: Operators,
    counting: Counting,
    n: int,
) -> int:
    """Count the predicates of one manner that the event meets; list the clauses they are of."""
    equal, up, down, between, lows, highs = operators
    at = N_MANNERS * pivot + manner
    equal_at, equal_end = equal.starts[at], equal.starts[at + 1]
    up_at, up_end = up.starts[at], up.starts[at + 1]
    down_at, down_end = down.starts[at], down.starts[at + 1]
    between_at, between_end = between.starts[at], between.starts[at + 1]
    i = begin
    while i < end and (
        equal_at < equal_end or up_at < up_end or down_at < down_end or between_at < between_end
    ):
        dim = dim_of_space[spaces[i]]
        first, stop = i, _dim_end(spaces, i, end, space_starts[dim + 1])
        before, beyond = space_starts[dim], space_starts[dim + 1]
        equal_at = first_at_least(equal.keys, equal_at, equal_end, before)
        up_at = first_at_least(up.keys, up_at, up_end, before)
        down_at = first_at_least(down.keys, down_at, down_end, before)
        between_at = first_at_least(between.keys, between_at, between_end, before)
        while i < stop:
            space = spaces[i]
            look, below = Look(i, first, stop, manner), space - 1
            if equal_at < equal_end and equal.keys[equal_at] <= space:
                equal_at = first_in_steps(equal.keys, equal_at, equal_end, space)
                last = first_in_steps(equal.keys, equal_at, equal_end, space + 1)
                met = Met(equal.clauses, equal.keys, equal_at, last, below)
                n = _meet(met, look, counting, n)
                equal_at = last
            if up_at < up_end and up.keys[up_at] <= space <= highs[dim]:
                last = first_in_steps(up.keys, up_at, up_end, space + 1)
                n = _meet(Met(up.clauses, up.keys, up_at, last, before), look, counting, n)
            if down_at < down_end and down.keys[down_at] < beyond and space >= lows[dim]:
                down_at = first_in_steps(down.keys, down_at, down_end, space)
                last = first_in_steps(down.keys, down_at, down_end, beyond)
                n = _meet(Met(down.clauses, down.keys, down_at, last, below), look, counting, n)
            if between_at < between_end and between.keys[between_at] <= space:
                last = first_in_steps(between.keys, between_at, between_end, space + 1)
                met = Met(between.clauses, between.last, between_at, last, below)
                n = _meet(met, look, counting, n)
            i += 1
    return n


@apart
def _meet(met: Met, look: Look, counting: Counting, n: int) -> int:
    """Count the entries that are met, once for all spaces of the dimension."""
    if look.stop - look.first == 1:
        return _count(met, look.manner, counting, n)  # type: ignore[no-any-return]
    return _count_once(met, look, counting, n)  # type: ignore[no-any-return]


@bare
def _count(met: Met, manner: int, counting: Counting, n: int) -> int:
    """Count the entries that are met, for their clauses or against them."""
    counts = counting.counts
    vote, veto = (0, _VETO) if manner & AGAINST else (1, 0)
    for entry in range(met.begin, met.end):  # no branch: half of the entries are met, at random
        clause = np.uint32(met.clauses[entry])
        above = met.below < met.bounds[entry]
        counting.touched[n] = clause
        n += above and counts[clause] == 0
        counts[clause] = (counts[clause] + above * vote) | (above * veto)
    return n


@bare
def _count_once(met: Met, look: Look, counting: Counting, n: int) -> int:
    """Likewise where the event has several spaces there: any may meet a predicate, or all must."""
    chains = counting.chains
    for entry in range(met.begin, met.end):
        if met.below < met.bounds[entry]:
            clause = met.clauses[entry]
            before = chains[clause]
            chains[clause] = look.i + 1
            if look.manner & ALL:
                if look.i not in (look.first, before):
                    chains[clause] = 0  # some space before this one did not
                counts_now = chains[clause] == look.stop
            else:
                counts_now = not look.first < before <= look.stop
            if counts_now:
                one = Met(met.clauses, met.bounds, entry, entry + 1, met.below)
                n = _count(one, look.manner, counting, n)
    return n
