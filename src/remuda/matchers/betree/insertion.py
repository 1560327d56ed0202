"""Insertion into a BE-Tree: Algorithms 3 to 6 of the paper.

The paper's recursion is a queue here: c_nodes that overflow wait in it, so that work can stop
where a pool is full and go on when it has grown.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Floats, Ints, Longs
from remuda.jit import kernel
from remuda.matchers.betree.pools import (
    ATTR,
    CAP,
    COUNT,
    EMPTY,
    END,
    FIRST,
    LEFT,
    LIMBO,
    MAX,
    MIN,
    N_WORDS,
    NEXT,
    NEXT_C,
    NONE,
    OVERFLOWED,
    P_CHILD,
    P_GAIN,
    P_LOSS,
    P_PARENT,
    P_SIZE,
    PARENT,
    RIGHT,
    ROOT,
    SIZE,
    START,
    THETA,
    Pools,
    above,
    climb,
    depth_of,
    has_room,
    new_c_node,
    new_p_node,
    partitions,
    predicate_on,
    put,
    queue,
    record_of,
    search_p_dir,
)
from remuda.matchers.betree.records import DIM_SHIFT, HI, LO, TAIL, n_words

USED = np.int32(-2)


@kernel
def settle(pools: Pools, space_starts: Ints, max_cap: int, min_size: int) -> bool:
    """Cut all that overflows and insert all that waits; False where a pool must grow first."""
    state = pools.state
    place = np.full(len(space_starts) - 1, NONE, np.int32)
    while has_room(pools):
        if state[OVERFLOWED] != NONE:
            c = state[OVERFLOWED]
            state[OVERFLOWED] = pools.c_nodes[c, NEXT_C]
            _space_clustering(pools, c, place, space_starts, max_cap, min_size)
        elif state[LIMBO] != NONE:
            e = state[LIMBO]
            state[LIMBO] = pools.expressions[e, NEXT]
            _insert_be_tree(pools, e, max_cap)
        else:
            return True
    return False


@kernel
def _insert_be_tree(pools: Pools, e: int, max_cap: int) -> None:
    """Algorithm 3: follow the p_node with the highest score as long as there is one."""
    words, p_nodes = pools.words, pools.p_nodes
    c, depth = ROOT, 0
    while True:
        best, word = NONE, NONE
        i, end = record_of(pools.expressions, e)
        while i < end and pools.c_nodes[c, P_SIZE] > 0:
            if partitions(words, i):  # an attribute used before has no p_node here
                p = search_p_dir(c, words[i] >> DIM_SHIFT, p_nodes, pools.p_heads)
                if p != NONE and (best == NONE or _score(p_nodes, p) > _score(p_nodes, best)):
                    best, word = p, i
            i += n_words(words, i)
        if best == NONE:
            break
        c = _insert_c_dir(
            pools, p_nodes[best, P_CHILD], words[word + LO], words[word + HI], max_cap
        )
        depth += 1
    put(pools, e, c)
    climb(pools, c, np.int64(1), depth)
    queue(pools, c)


@kernel
def _score(p_nodes: Ints, p: int) -> int:
    return p_nodes[p, P_GAIN] - p_nodes[p, P_LOSS]  # type: ignore[no-any-return]


@kernel
def _insert_c_dir(pools: Pools, c: int, lo: int, hi: int, max_cap: int) -> int:
    """Algorithm 4: the smallest bucket that encloses the interval."""
    c_nodes = pools.c_nodes
    while True:
        _widen(c_nodes, c, lo, hi)
        side = NONE if c_nodes[c, LEFT] == NONE else _half(c_nodes, c, lo, hi)
        if side == NONE:
            return c
        c = _child(pools, c, side, max_cap)


@kernel
def _widen(c_nodes: Ints, c: int, lo: int, hi: int) -> None:
    """Make the bucket's minimal interval boundary enclose the interval."""
    c_nodes[c, MIN] = min(c_nodes[c, MIN], lo)
    c_nodes[c, MAX] = max(c_nodes[c, MAX], hi)


@kernel
def _half(c_nodes: Ints, c: int, lo: int, hi: int) -> int:
    """The half of the bucket that encloses the interval, or NONE."""
    middle = (c_nodes[c, START] + c_nodes[c, END]) // 2
    if hi <= middle:
        return LEFT
    return RIGHT if lo >= middle else NONE  # type: ignore[return-value]


@kernel
def _child(pools: Pools, c: int, side: int, max_cap: int) -> int:
    """That half of the bucket, made where it was empty."""
    c_nodes = pools.c_nodes
    if c_nodes[c, side] == EMPTY:
        start, end = c_nodes[c, START], c_nodes[c, END]
        middle = (start + end) // 2
        start, end = (start, middle) if side == LEFT else (middle, end)
        c_nodes[c, side] = new_c_node(pools, c, c_nodes[c, ATTR], start, end, max_cap)
    return c_nodes[c, side]  # type: ignore[no-any-return]


@kernel
def _move(pools: Pools, e: int, c: int) -> None:
    """Put the expression, which comes from above, into the bucket."""
    i = predicate_on(pools, e, pools.c_nodes[c, ATTR])
    _widen(pools.c_nodes, c, pools.words[i + LO], pools.words[i + HI])
    put(pools, e, c)
    pools.c_nodes[c, COUNT] += 1


@kernel
def _space_clustering(
    pools: Pools, c: int, place: Ints, space_starts: Ints, max_cap: int, min_size: int
) -> None:
    """Algorithm 6: cut the bucket in halves; one that is cut, or atomic, is partitioned."""
    c_nodes = pools.c_nodes
    if c == ROOT or c_nodes[c, LEFT] != NONE or c_nodes[c, END] - c_nodes[c, START] <= 1:
        _space_partitioning(pools, c, place, space_starts, max_cap, min_size)
        return
    e = c_nodes[c, FIRST]
    c_nodes[c, LEFT] = c_nodes[c, RIGHT] = EMPTY
    c_nodes[c, FIRST], c_nodes[c, SIZE] = NONE, 0
    while e != NONE:
        following = pools.expressions[e, NEXT]
        i = predicate_on(pools, e, c_nodes[c, ATTR])
        side = _half(c_nodes, c, pools.words[i + LO], pools.words[i + HI])
        if side == NONE:
            put(pools, e, c)
        else:
            _move(pools, e, _child(pools, c, side, max_cap))
        e = following
    for side in (LEFT, RIGHT):
        if c_nodes[c, side] >= 0:
            queue(pools, c_nodes[c, side])
    queue(pools, c)


@kernel
def _space_partitioning(
    pools: Pools, c: int, place: Ints, space_starts: Ints, max_cap: int, min_size: int
) -> None:
    """Algorithm 5: give p_nodes to the highest-ranking attributes until the l_node fits."""
    c_nodes = pools.c_nodes
    _mark_path(pools, c, place, USED)
    members = _l_node(pools, c)
    attrs, starts, holders = _unused_attrs(pools, members, place)
    rank, size = np.zeros(len(attrs)), np.zeros(len(attrs), np.int32)
    for e in members:
        _vote(pools, e, np.int64(1), place, space_starts, rank, size)
    heap, key = np.arange(len(attrs)), rank.copy()
    for j in range(len(heap) // 2 - 1, -1, -1):
        _sift_down(heap, len(heap), j, key, attrs)
    moved = np.zeros(len(members), np.bool_)
    n_left, depth = len(members), depth_of(pools, c)
    n_heap = _raise_highest(heap, len(heap), key, attrs, rank, size, min_size)
    while n_left > c_nodes[c, CAP] and n_heap > 0 and has_room(pools):
        best = heap[0]
        top = _create_p_dir(pools, c, attrs[best], space_starts, max_cap)
        for j in holders[starts[best] : starts[best + 1]]:
            if not moved[j]:
                moved[j] = True
                _move(pools, members[j], top)
                _vote(pools, members[j], np.int64(-1), place, space_starts, rank, size)
        n_left -= c_nodes[top, COUNT]
        _update_partition_score(pools, top, depth)
        queue(pools, top)
        n_heap = _raise_highest(heap, n_heap, key, attrs, rank, size, min_size)
    c_nodes[c, FIRST], c_nodes[c, SIZE] = NONE, 0
    for j in range(len(members)):
        if not moved[j]:
            put(pools, members[j], c)
    for attr in attrs:
        place[attr] = NONE
    _mark_path(pools, c, place, NONE)
    if n_left <= c_nodes[c, CAP] or n_heap == 0:
        _update_cluster_capacity(c_nodes, c, max_cap)
    queue(pools, c)  # to go on, where the pools were full


@kernel
def _mark_path(pools: Pools, c: int, place: Ints, mark: int) -> None:
    """Mark the attributes that lead to `c`: no path uses one twice."""
    while c != ROOT:
        place[pools.c_nodes[c, ATTR]] = mark
        c = above(pools, c)


@kernel
def _l_node(pools: Pools, c: int) -> Ints:
    """The expressions of the c_node's l_node."""
    members = np.empty(pools.c_nodes[c, SIZE], np.int32)
    e = pools.c_nodes[c, FIRST]
    for j in range(len(members)):
        members[j] = e
        e = pools.expressions[e, NEXT]
    return members


@kernel
def _unused_attrs(pools: Pools, members: Ints, place: Ints) -> tuple[Ints, Ints, Ints]:
    """The attributes that may partition, their numbers set in `place`; who has each, ragged."""
    words, expressions = pools.words, pools.expressions
    n_pairs = n_attrs = 0
    for e in members:
        n_pairs += expressions[e, N_WORDS] // TAIL  # or fewer
    attrs, counts = np.empty(n_pairs, np.int32), np.zeros(n_pairs, np.int32)
    for e in members:
        i, end = record_of(expressions, e)
        while i < end:
            attr = words[i] >> DIM_SHIFT
            if partitions(words, i) and place[attr] != USED:
                if place[attr] == NONE:
                    place[attr] = n_attrs
                    attrs[n_attrs] = attr
                    n_attrs += 1
                counts[place[attr]] += 1
            i += n_words(words, i)
    starts = np.zeros(n_attrs + 1, np.int32)
    for k in range(n_attrs):
        starts[k + 1] = starts[k] + counts[k]
    holders, ends = np.empty(starts[n_attrs], np.int32), starts.copy()
    for j in range(len(members)):
        i, end = record_of(expressions, members[j])
        while i < end:
            k = place[words[i] >> DIM_SHIFT]
            if partitions(words, i) and k != USED:
                holders[ends[k]] = j
                ends[k] += 1
            i += n_words(words, i)
    return attrs[:n_attrs], starts, holders


@kernel
def _vote(
    pools: Pools, e: int, sign: int, place: Ints, space_starts: Ints, rank: Floats, size: Ints
) -> None:
    """Add an expression to the ranks of its attributes, or take it away.

    An attribute gains one by each of its expressions, and loses the share of events for which
    that will be a false candidate: together, the mean bucket of a histogram, of events if some
    are known. Before there is feedback no event is expected to have the attribute: the paper's
    optimistic choice.
    """
    words, presence, crowd = pools.words, pools.presence, pools.crowd
    i, end = record_of(pools.expressions, e)
    while i < end:
        attr = words[i] >> DIM_SHIFT
        k = place[attr]
        if partitions(words, i) and k >= 0:
            lo, hi = words[i + LO], words[i + HI]
            if len(crowd) > 0:
                loss = (crowd[hi] - crowd[lo]) / crowd[-1]
            else:
                domain = max(space_starts[attr + 1] - space_starts[attr] - 1, 1)
                loss = presence[attr] / max(presence[-2], 1) * (hi - lo) / domain
            rank[k] += sign * (1.0 - loss)
            size[k] += sign
        i += n_words(words, i)


@kernel
def _raise_highest(
    heap: Longs, n: int, key: Floats, attrs: Ints, rank: Floats, size: Ints, min_size: int
) -> int:
    """Bring the highest-ranking attribute that is worth a p_node to the top; how many are left.

    Ranks only fall: one that is on top with its rank of now has the highest.
    """
    while n > 0:
        best = heap[0]
        if size[best] < min_size or rank[best] <= THETA:
            n -= 1
            heap[0] = heap[n]
        elif key[best] != rank[best]:
            key[best] = rank[best]
        else:
            return n
        _sift_down(heap, n, 0, key, attrs)
    return 0


@kernel
def _sift_down(heap: Longs, n: int, i: int, key: Floats, attrs: Ints) -> None:
    """Restore the heap beneath i: the highest key on top, of equal ones the first attribute."""
    item = heap[i]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _outranks(heap[child + 1], heap[child], key, attrs):
            child += 1
        if not _outranks(heap[child], item, key, attrs):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item


@kernel
def _outranks(a: int, b: int, key: Floats, attrs: Ints) -> bool:
    return key[a] > key[b] or (key[a] == key[b] and attrs[a] < attrs[b])  # type: ignore[no-any-return]


@kernel
def _create_p_dir(pools: Pools, c: int, attr: int, space_starts: Ints, max_cap: int) -> int:
    """A new p_node of `c` for the attribute; its c_directory's top bucket."""
    p = new_p_node(pools, c, attr)
    start, end = space_starts[attr] + 1, space_starts[attr + 1]
    pools.p_nodes[p, P_CHILD] = new_c_node(pools, np.int32(~p), attr, start, end, max_cap)
    return pools.p_nodes[p, P_CHILD]  # type: ignore[no-any-return]


@kernel
def _update_partition_score(pools: Pools, top: int, depth: int) -> None:
    """Tell the new p_node and those above what covering one more predicate gains."""
    n, p = np.int64(pools.c_nodes[top, COUNT]), ~pools.c_nodes[top, PARENT]
    pools.p_nodes[p, P_GAIN] = n * (depth + 1)
    climb(pools, pools.p_nodes[p, P_PARENT], np.int64(0), n)


@kernel
def _update_cluster_capacity(c_nodes: Ints, c: int, max_cap: int) -> None:
    """Extend or contract the l_node to the multiple of max_cap that it needs."""
    size = c_nodes[c, SIZE]
    if size > c_nodes[c, CAP]:  # an eighth more, lest every few insertions try in vain to cut it
        size += size // 8
    c_nodes[c, CAP] = max((size + max_cap - 1) // max_cap, 1) * max_cap
