"""Posting lists in K-partitions, and the lists of one event sorted by their current entries.

The entries of one key are sorted by id, and ids by the size K of their rows, so that the posting
list of a key in a K-index is a run of the key's entries. An entry is `4 * id + mark`. While lists
are merged, each is a head: its current entry and its number in one integer, sorted as the paper
sorts entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Floats, Ints, Longs, Ragged, frozen
from remuda.jit import apart, bare, kernel
from remuda.matchers.kernels.postings import IN, EventKeys
from remuda.matchers.kernels.search import first_in_steps, put

EOL = np.iinfo(np.int64).max  # the head of a list that has ended
SLACK = 1 + 1e-9  # a bound is summed in another order than the score, and may round below it
CANDIDATES, PRUNED, PRUNED_PARTITIONS = range(3)  # what is tallied

_ENTRY = 32  # a head is its entry shifted by this, and the number of the list
_ID = _ENTRY + 2


class PostingLists(NamedTuple):
    """Key k has the runs `key_runs[k]` to `key_runs[k + 1] - 1`, of ascending size K.

    Run r is `entries[run_starts[r] : run_starts[r + 1]]`, in the K-index `run_sizes[r]`; no entry
    in it weighs more than `bounds[r]`, the paper's UB. The last key is Z.
    """

    key_runs: Ints
    run_sizes: Ints
    run_starts: Longs
    entries: Ints
    bounds: Floats
    spares: Floats  # what entries add beside, whatever the attribute of their key


class CurrentLists(NamedTuple):
    """The lists of one event in one K-index, as they are merged.

    `heads` are sorted. List i stands at `entries[positions[i]]` and ends before `ends[i]`; it is
    of the event's key `owners[i]`, and no entry in it scores more than `bounds[i]`, UB × w_S.
    """

    heads: Longs
    positions: Longs
    ends: Longs
    owners: Ints
    bounds: Floats


def partitioned(
    lists: Ragged, sizes: Ints, origins: Ints, weights: Floats, spare: Floats, rest: Floats
) -> PostingLists:
    """The lists of all keys cut into K-partitions, and Z beneath them.

    Id i is of size `sizes[i]`, ascending. `weights` are those of the items that `origins` names;
    without any, all weigh 1. `spare` is what these add beside, and `rest` what a row in Z scores at
    most; 0 where they are empty.
    """
    z = 4 * np.flatnonzero(sizes == 0).astype(np.int32) + IN
    entries = np.concatenate((lists.items, z))
    starts = np.append(lists.starts, len(entries))
    key_runs, run_sizes, run_starts = _cut(starts, entries, sizes)
    bounds = _bounds(run_starts, entries, origins, weights, len(z))
    spares = np.zeros_like(bounds)
    if len(spare):
        spares = _bounds(run_starts, entries, origins, spare, len(z))
    if len(rest) and len(z):
        spares[-1] = max(spares[-1], rest[sizes == 0].max())
    return frozen(PostingLists(key_runs, run_sizes, run_starts, entries, bounds, spares))


@bare
def id_of(head: int) -> int:
    """The row that the current entry of a list belongs to."""
    return head >> _ID


@bare
def mark_of(head: int) -> int:
    """Whether the current entry says ∈, and whether it asks for all spaces."""
    return (head >> _ENTRY) & 3


@bare
def list_of(head: int) -> int:
    """The number of the list."""
    return head & 0xFFFFFFFF


@bare
def begin_event(
    n_keys: int, n_groups: int, event: EventKeys, key_runs: Ints, next_runs: Ints
) -> int:
    """Add Z to the event's keys, a group by itself, and stand at the largest run of each key.

    The number of all their runs is returned.
    """
    event.keys[n_keys], event.groups[n_keys] = len(key_runs) - 2, n_groups
    event.shares[n_keys], event.sizes[n_groups] = 1, 1
    n = 0
    for k in range(n_keys + 1):
        next_runs[k] = key_runs[event.keys[k] + 1] - 1
        n += key_runs[event.keys[k] + 1] - key_runs[event.keys[k]]
    return n


@kernel
def room_for_lists(n: int) -> CurrentLists:
    """Room for n lists, or more."""
    n *= 2
    return CurrentLists(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n, np.int32), np.empty(n),
    )  # fmt: skip


@bare
def get_posting_lists(
    size: int,
    n_keys: int,
    event: EventKeys,
    group_weights: Floats,
    factor: float,
    next_runs: Ints,
    lists: PostingLists,
    current: CurrentLists,
) -> int:
    """Fetch the lists of the event's keys and of Z in one K-index, after those of larger size."""
    n = 0
    for k in range(n_keys + 1):
        run = next_runs[k]
        while run >= lists.key_runs[event.keys[k]] and lists.run_sizes[run] >= size:
            if lists.run_sizes[run] == size:
                position = lists.run_starts[run]
                current.positions[n], current.ends[n] = position, lists.run_starts[run + 1]
                current.owners[n] = k
                current.bounds[n] = lists.bounds[run] * group_weights[event.groups[k]]
                current.bounds[n] += lists.spares[run] * factor
                head = (np.int64(lists.entries[position]) << _ENTRY) | n
                put(head, current.heads, 0, n, None)
                n += 1
            run -= 1
        next_runs[k] = run
    return n


@bare
def next_candidate(
    n_at: int,
    needed: int,
    worst: float,
    n: int,
    current: CurrentLists,
    entries: Ints,
    tally: Longs,
) -> int:
    """Skip the `n_at` first lists past their row, and on to the next that `needed` lists have.

    Rows are passed over where the lists that may have them bound their scores below `worst`. How
    many lists are at the new row is returned: they are the first ones. 0 is the end.
    """
    heads = current.heads
    next_id = id_of(heads[0]) + 1
    while True:
        for at in range(n_at - 1, -1, -1):
            if id_of(heads[at]) < next_id:
                _skip_to(next_id, at, n, heads, current.positions, current.ends, entries)
        if heads[needed - 1] == EOL:
            return 0
        n_up_to = needed
        if worst > -np.inf:
            n_up_to = _enough(needed, worst, n, current)
            if n_up_to == 0:
                tally[PRUNED] += 1
                return 0
            tally[PRUNED] += heads[n_up_to - 1] != heads[needed - 1]
        pivot = id_of(heads[n_up_to - 1])
        if id_of(heads[0]) == pivot:
            tally[CANDIDATES] += 1
            n_at = needed
            while n_at < n and id_of(heads[n_at]) == pivot:
                n_at += 1
            return n_at
        next_id, n_at = pivot, n_up_to - 1  # no row before the pivot has enough lists


@kernel
def bound_of_partition(size: int, n: int, list_bounds: Floats, largest: Floats) -> float:
    """The paper's second upper bound: the sum of the `size` largest."""
    largest[:size] = 0.0
    for i in range(n):
        bound = list_bounds[i]
        for at in range(size):
            if bound > largest[at]:
                largest[at], bound = bound, largest[at]
    return float(largest[:size].sum() * SLACK)


@bare
def _enough(needed: int, worst: float, n: int, current: CurrentLists) -> int:
    """How many of the first lists a row must be in to be of use; 0 where all are too few.

    The paper's first upper bound of a row is the sum over the lists that have it or may have it. It
    is below `worst` for every row before the one at which the last of these lists stands, so that
    all of them are passed over at once.
    """
    bound, at = 0.0, 0
    while at < n and current.heads[at] != EOL:
        bound += current.bounds[list_of(current.heads[at])]
        at += 1
        if at >= needed and bound * SLACK >= worst:
            return at
    return 0


@apart
def _skip_to(
    next_id: int, at: int, n: int, heads: Longs, positions: Longs, ends: Longs, entries: Ints
) -> None:
    """Advance the list at `at`, which is before the id, to it, and move it to where it belongs.

    It stays a call, with its arrays one by one: written out, it made a batch take 1.27 of the time.
    """
    which = list_of(heads[at])
    end = ends[which]
    position = positions[which] + 1
    if position < end and entries[position] < 4 * next_id:
        position = first_in_steps(entries, position, end, 4 * next_id)
    positions[which] = position
    head = EOL if position == end else (np.int64(entries[position]) << _ENTRY) | which
    while at + 1 < n and heads[at + 1] < head:
        heads[at] = heads[at + 1]
        at += 1
    heads[at] = head


@kernel
def _cut(starts: Longs, entries: Ints, sizes: Ints) -> tuple[Ints, Ints, Longs]:
    key_runs = np.zeros(len(starts), np.int32)
    run_sizes, run_starts = np.empty(0, np.int32), np.empty(0, np.int64)
    for filling in (False, True):
        n = 0
        for key in range(len(starts) - 1):
            for i in range(starts[key], starts[key + 1]):
                row = entries[i] >> 2
                # ids that do not ascend: a further list of the same key
                if (
                    i == starts[key]
                    or row <= entries[i - 1] >> 2
                    or sizes[row] != sizes[entries[i - 1] >> 2]
                ):
                    if filling:
                        run_sizes[n], run_starts[n] = sizes[row], i
                    n += 1
            key_runs[key + 1] = n
        if not filling:
            run_sizes, run_starts = np.empty(n, np.int32), np.empty(n + 1, np.int64)
            run_starts[n] = len(entries)
    return key_runs, run_sizes, run_starts


@kernel
def _bounds(run_starts: Longs, entries: Ints, origins: Ints, weights: Floats, n_z: int) -> Floats:
    """The largest weight in each run, whatever its sign: event weights may be negative too."""
    bounds = np.zeros(len(run_starts) - 1)
    for run in range(len(bounds)):
        for i in range(run_starts[run], min(run_starts[run + 1], len(entries) - n_z)):
            if entries[i] & IN:
                bounds[run] = max(bounds[run], abs(weights[origins[i]]) if len(weights) else 1.0)
    return bounds
