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
from remuda.jit import kernel
from remuda.matchers.kernels.postings import IN

EOL = np.iinfo(np.int64).max  # the head of a list that has ended
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


def partitioned(lists: Ragged, sizes: Ints, origins: Ints, weights: Floats) -> PostingLists:
    """The lists of all keys cut into K-partitions, and Z beneath them.

    Id i is of size `sizes[i]`, ascending. `weights` are those of the items that `origins` names;
    without any, all weigh 1.
    """
    z = 4 * np.flatnonzero(sizes == 0).astype(np.int32) + IN
    entries = np.concatenate((lists.items, z))
    starts = np.append(lists.starts, len(entries))
    key_runs, run_sizes, run_starts = _cut(starts, entries, sizes)
    bounds = _bounds(run_starts, entries, origins, weights, len(z))
    return frozen(PostingLists(key_runs, run_sizes, run_starts, entries, bounds))


@kernel
def get_posting_lists(
    size: int,
    n_keys: int,
    keys: Ints,
    groups: Ints,
    next_runs: Ints,
    key_runs: Ints,
    run_sizes: Ints,
    run_starts: Longs,
    entries: Ints,
    bounds: Floats,
    group_weights: Floats,
    heads: Longs,
    positions: Longs,
    ends: Longs,
    owners: Ints,
    list_bounds: Floats,
) -> int:
    """Fetch the lists of the event's keys in one K-index, larger ones having been fetched before.

    Of each list is noted its owner, the key of the event that it belongs to, and UB × w_S.
    """
    n = 0
    for k in range(n_keys):
        run = next_runs[k]
        while run >= key_runs[keys[k]] and run_sizes[run] >= size:
            if run_sizes[run] == size:
                positions[n], ends[n] = run_starts[run], run_starts[run + 1]
                heads[n] = (np.int64(entries[positions[n]]) << _ENTRY) | n
                owners[n], list_bounds[n] = k, bounds[run] * group_weights[groups[k]]
                n += 1
            run -= 1
        next_runs[k] = run
    sort_by_current_entries(heads, n)
    return n


@kernel
def count_runs(n_keys: int, keys: Ints, key_runs: Ints, next_runs: Ints) -> int:
    """Stand at the largest run of each of the event's keys; return how many runs there are."""
    n = 0
    for k in range(n_keys):
        next_runs[k] = key_runs[keys[k] + 1] - 1
        n += key_runs[keys[k] + 1] - key_runs[keys[k]]
    return n


@kernel
def sort_by_current_entries(heads: Longs, n: int) -> None:
    """Sort the first n heads."""
    for i in range(1, n):
        head, at = heads[i], i
        while at > 0 and heads[at - 1] > head:
            heads[at] = heads[at - 1]
            at -= 1
        heads[at] = head


@kernel
def id_of(head: int) -> int:
    """The row that the current entry of a list belongs to."""
    return head >> _ID


@kernel
def mark_of(head: int) -> int:
    """Whether the current entry says ∈, and whether it asks for all spaces."""
    return (head >> _ENTRY) & 3


@kernel
def list_of(head: int) -> int:
    """The number of the list."""
    return head & 0xFFFFFFFF


@kernel
def skip_to(
    next_id: int, at: int, heads: Longs, n: int, positions: Longs, ends: Longs, entries: Ints
) -> None:
    """Advance the list at `at` to the id or beyond, and move it to where it then belongs."""
    which = list_of(heads[at])
    end = ends[which]
    position = _first_at_least(4 * next_id, positions[which], end, entries)
    positions[which] = position
    head = EOL if position == end else (np.int64(entries[position]) << _ENTRY) | which
    while at + 1 < n and heads[at + 1] < head:
        heads[at] = heads[at + 1]
        at += 1
    heads[at] = head


@kernel
def _first_at_least(target: int, begin: int, end: int, entries: Ints) -> int:
    """Where the first entry of at least `target` is, looked for in ever longer steps."""
    step = 1
    while begin + step < end and entries[begin + step] < target:
        begin += step
        step *= 2
    end = min(end, begin + step)
    while begin < end:
        middle = (begin + end) >> 1
        if entries[middle] < target:
            begin = middle + 1
        else:
            end = middle
    return begin


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
