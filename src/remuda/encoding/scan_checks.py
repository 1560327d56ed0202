"""Checks of the tables of a scan that come from a disk: no text leads the scan outside of them.

They are those of `encoding.scanning`, part by part. A chain that the scan follows must end: the
state that is gone on with on failure comes before its own, and the next literal is a shorter one.
"""

from __future__ import annotations

from remuda.arrays import Ints, Longs
from remuda.encoding.scanning import (
    ACTION,
    AT,
    CELL,
    GLOB,
    IN_ORDER,
    LABEL,
    LITERAL,
    ORDER,
    PART,
)
from remuda.jit import kernel

_BYTES = 4  # of a word


@kernel
def tables_hold(words: Ints, bases: Longs, n_spaces: int, n_trials: int) -> bool:
    """Whether all tables are sound, and give spaces and trials that there are."""
    if len(bases) == 0 or bases[0] != 0 or bases[-1] != len(words):
        return False
    for i in range(len(bases) - 1):
        if not 0 <= bases[i] <= bases[i + 1] - len(AT) or bases[i + 1] > len(words):
            return False
        if not _table_holds(words[bases[i] : bases[i + 1]], n_spaces, n_trials):
            return False
    return True


@kernel
def _is_target(target: int, n_spaces: int, n_trials: int) -> bool:
    return target < n_spaces if target >= 0 else ~target < n_trials


@kernel
def _lies_within(at: int, n: int, size: int, table: Ints) -> bool:
    """Whether so many entries of that size lie in the table."""
    return 0 <= at <= len(table) and n >= 0 and n * size <= len(table) - at


@kernel
def _texts_hold(table: Ints, at: int, n: int) -> bool:
    """Whether n texts are there: where each begins among their bytes, and these."""
    if n < 0 or not _lies_within(at, n + 1, 1, table) or table[at] != 0:
        return False
    for i in range(n):
        if table[at + i + 1] < table[at + i]:
            return False
    return table[at + n] <= (len(table) - (at + n + 1)) * _BYTES  # type: ignore[no-any-return]


@kernel
def _table_holds(table: Ints, n_spaces: int, n_trials: int) -> bool:
    n_always, n_orders = table[AT.n_always], table[AT.n_orders]
    n_literals, n_pieces = table[AT.n_literals], table[AT.n_pieces]
    literals, n_actions = table[AT.literals], 0
    if not _lies_within(table[AT.always], n_always, 1, table):
        return False
    for i in range(table[AT.always], table[AT.always] + n_always):
        if not _is_target(table[i], n_spaces, n_trials):
            return False
    if not _orders_hold(table, n_spaces):
        return False
    if n_literals != 0 or table[AT.cased] != 0 or table[AT.folded] != 0:
        if n_literals < 0 or not _lies_within(literals, n_literals + 1, LITERAL, table):
            return False
        n_actions = table[literals + n_literals * LITERAL + 1]
        if not _texts_hold(table, table[AT.pieces], n_pieces):
            return False
        if not _literals_hold(table, literals, n_literals):
            return False
        if not _actions_hold(table, n_actions, n_spaces, n_trials):
            return False
    if table[AT.most] < n_always + n_orders + n_actions or table[AT.most] > len(table):
        return False
    return _automaton_holds(table, table[AT.cased]) and _automaton_holds(  # type: ignore[no-any-return]
        table, table[AT.folded]
    )


@kernel
def _orders_hold(table: Ints, n_spaces: int) -> bool:
    at = table[AT.orders]
    if not _lies_within(at, table[AT.n_orders], ORDER, table):
        return False
    for order in range(at, at + table[AT.n_orders] * ORDER, ORDER):
        first, n_cuts, texts, sides = table[order : order + ORDER]
        if first < 0 or n_cuts < 0 or n_cuts >= n_spaces - first:
            return False
        if not _texts_hold(table, texts, n_cuts) or not _lies_within(sides, n_cuts, 1, table):
            return False
    return True


@kernel
def _literals_hold(table: Ints, literals: int, n_literals: int) -> bool:
    before = 0
    for i in range(n_literals):
        link, begin, end, length = table[literals + i * LITERAL : literals + (i + 1) * LITERAL]
        if link < -1 or link >= n_literals or begin < before or end < begin:
            return False
        if link >= 0 and table[literals + link * LITERAL + 3] >= length:
            return False
        before = end
    return before <= table[literals + n_literals * LITERAL + 1]  # type: ignore[no-any-return]


@kernel
def _actions_hold(table: Ints, n_actions: int, n_spaces: int, n_trials: int) -> bool:
    actions, globs = table[AT.actions], table[AT.globs]
    if not _lies_within(actions, n_actions, ACTION, table):
        return False
    for at in range(actions, actions + n_actions * ACTION, ACTION):
        target = table[at + 1]
        if table[at] == IN_ORDER:
            if target < 0 or not _lies_within(globs, target + 1, GLOB, table):
                return False
            first, last, _, target = table[globs + target * GLOB : globs + (target + 1) * GLOB]
            if not 0 <= first < last <= table[AT.n_pieces]:
                return False
        if not _is_target(target, n_spaces, n_trials):
            return False
    return True


@kernel
def _automaton_holds(table: Ints, at: int) -> bool:
    if at == 0:
        return True
    if not _lies_within(at, len(PART), 1, table):
        return False
    classes, n_classes, cells, rows = table[at : at + len(PART)]
    if n_classes < 1 or not _lies_within(classes, 256, 1, table) or not 0 <= cells <= rows <= at:
        return False
    n_cells, n_rows = (rows - cells) // CELL, (at - rows) // n_classes
    if n_rows < 1:
        return False
    for i in range(classes, classes + 256):
        if not 0 <= table[i] < n_classes:
            return False
    for i in range(n_rows * n_classes):
        word = table[rows + i]
        if i % n_classes == 0:
            if not -1 <= word < table[AT.n_literals]:
                return False
        elif not _is_state(table, word, cells, n_cells, n_rows, n_classes):
            return False
    return _cells_hold(table, cells, n_cells, n_rows, n_classes)  # type: ignore[no-any-return]


@kernel
def _is_row(at: int, n_rows: int, n_classes: int) -> bool:
    """Whether a row begins there."""
    return at % n_classes == 0 and at // n_classes < n_rows


@kernel
def _is_state(
    table: Ints, state: int, cells: int, n_cells: int, n_rows: int, n_classes: int
) -> bool:
    """Whether it is a state without a row, or ~where the row of one that has it begins."""
    if state < 0:
        return _is_row(~state, n_rows, n_classes)  # type: ignore[no-any-return]
    return state < n_cells and table[cells + state * CELL] >= 0


@kernel
def _cells_hold(table: Ints, cells: int, n_cells: int, n_rows: int, n_classes: int) -> bool:
    for state in range(n_cells):
        at = cells + state * CELL
        first, children, failing, literal = table[at : at + CELL]
        if first < 0:
            if not _is_row(~first, n_rows, n_classes):
                return False
        elif first + (children & ((1 << LABEL) - 1)) > n_cells:
            return False
        if failing >= state > 0:
            return False
        if not _is_state(table, failing, cells, n_cells, n_rows, n_classes):
            return False
        if not -1 <= literal < table[AT.n_literals]:
            return False
    return True
