"""The planner: each criterion as conjunctions, as disjunctions, or as a filter with a check.

Matchers see only clauses of their kind. A criterion becomes the clauses of a normal form, or is
filtered by clauses of which one must hold (see `encoding.forms`), and its program, which every
criterion has for its score, decides.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from remuda.arrays import Bools, Ragged, frozen, ragged, starts_of
from remuda.encoding.bounds import NO_BOUNDS, Bounds, bounds_of
from remuda.encoding.forms import MAX_CLAUSES, Filter, Form, form_of
from remuda.encoding.programs import Programs, joint
from remuda.encoding.rarity import share_of
from remuda.encoding.spaces import ValueSpaces
from remuda.encoding.table import ClauseTable, CnfTable
from remuda.encoding.vocabulary import PredicatePool, Vocabulary, split, splits
from remuda.logic.normal import Clause, expand, flat, nnf
from remuda.logic.simplify import simplify
from remuda.model.attributes import Attribute
from remuda.model.expressions import And, Expression, Or, Polarity, Predicate, fold
from remuda.model.values import key

MAX_PREDICATES = 1024  # of one clause; one with more is filtered by the first, and checked
_AND, _OR = 0, 1
_YES = 0.25  # the share of events that are thought to pass a pattern, a set or the like
_MOST = 0.99  # the share that is thought to pass what asks for presence alone


@dataclass(frozen=True, slots=True)
class Plan:
    """Criteria in numbers: clauses for matchers, who owns them, and programs."""

    conjunctions: ClauseTable
    owners: Ragged  # of each clause: its criteria, as ~criterion where that has several clauses
    cnf: CnfTable
    cnf_owners: Ragged
    checked: Bools  # criteria whose clauses are only necessary
    programs: Programs
    bounds: Bounds = NO_BOUNDS

    @property
    def n_criteria(self) -> int:
        return len(self.checked)

    def bounded(self) -> Plan:
        """The same with its bounds."""
        return replace(
            self,
            bounds=bounds_of(
                self.programs, self.conjunctions, self.owners, self.cnf_owners, self.checked
            ),
        )


def plan(
    expressions: Iterable[Expression],
    *,
    takes_cnf: bool = False,
    scalars: Collection[Attribute] = (),
) -> tuple[Plan, Vocabulary]:
    """Encode the expressions; criterion i is the i-th of them."""
    planner = _Planner(takes_cnf, scalars)
    with no_collection():
        for expression in expressions:
            planner.add(expression)
        return planner.finish()


@contextmanager
def no_collection() -> Iterator[None]:
    """No search for cycles meanwhile: there are none, and it took two fifths of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(slots=True)
class _Clauses:
    """Distinct clauses of one kind, and who owns each."""

    rows: dict[tuple[int, ...], int] = field(default_factory=dict)
    owners: list[list[int]] = field(default_factory=list)

    def add(self, numbers: tuple[int, ...]) -> int:
        row = self.rows.setdefault(numbers, len(self.owners))
        if row == len(self.owners):
            self.owners.append([])
        return row


@dataclass(slots=True)
class _Planner:
    takes_cnf: bool
    scalars: Collection[Attribute]
    pool: PredicatePool = field(default_factory=PredicatePool)
    conjunctions: _Clauses = field(default_factory=_Clauses)
    disjunctions: _Clauses = field(default_factory=_Clauses)
    cnf_rows: _Clauses = field(default_factory=_Clauses)
    checked: list[bool] = field(default_factory=list)
    trees: list[tuple[int, Expression]] = field(default_factory=list)  # criteria to be filtered
    codes: list[int] = field(default_factory=list)
    code_counts: list[int] = field(default_factory=list)
    leaves: dict[Hashable, int] = field(default_factory=dict)
    leaf_predicates: list[Predicate] = field(default_factory=list)
    leaf_numbers: list[int] = field(default_factory=list)

    def add(self, expression: Expression) -> None:
        parts = _plain_conjunction(expression)
        if parts is None:
            written = nnf(expression)
            self._write_program(fold(written, _without_splits))
            self._choose_form(self._simplest(written))
        else:
            numbers = [self._leaf(part) for part in parts]
            self.codes.append(joint(len(parts), _AND))
            self.code_counts.append(len(parts) + 1)
            self.checked.append(len(parts) > MAX_PREDICATES)
            self._own(self.conjunctions, self.pool.apart(numbers[:MAX_PREDICATES]))

    def _simplest(self, written: Expression) -> Expression:
        """The expression, flat, in the form with the fewest clauses.

        An Or of conjunctions with weights of single values stays as it is: what absorbs another
        conjunction may score less, and its weights would tell little of the best.
        """
        codes = self.codes[-self.code_counts[-1] :]  # of its program, which is written
        if any(self.leaf_predicates[code].value_weights for code in codes if code >= 0):
            as_written = flat(fold(written, _without_splits))
            if _is_dnf(as_written):
                return as_written
        return flat(fold(simplify(written, scalars=self.scalars), _without_splits))

    def _choose_form(self, expression: Expression) -> None:
        form = form_of(expression, takes_cnf=self.takes_cnf)
        self.checked.append(form is Form.TREE)
        match form:
            case Form.DNF:
                for clause in expand(expression, Or, MAX_CLAUSES):
                    self.checked[-1] |= len(clause) > MAX_PREDICATES
                    self._own(self.conjunctions, self._row_of(clause[:MAX_PREDICATES]))
            case Form.CNF:
                demands = expand(expression, And, MAX_CLAUSES)
                rows = sorted(self.disjunctions.add(self._row_of(clause)) for clause in demands)
                self._own(self.cnf_rows, tuple(rows))
            case Form.TREE:
                for predicate in leaves_of(expression):
                    self.pool.add(predicate)
                self.trees.append((len(self.checked) - 1, expression))

    def _add_filters(self, vocabulary: Vocabulary) -> None:
        """Necessary clauses for the trees, now that it is known how much each predicate accepts."""
        if not self.trees:
            return
        shares, asked = _shares(vocabulary), self._askers()
        for _, tree in self.trees:
            for predicate in leaves_of(tree):
                number = self.pool.add(predicate)
                if shares[number] == _YES:
                    others = max(asked[number] - 1, 0) / len(self.checked)
                    shares[number] = min(share_of(predicate.condition) + others, _YES)
        choice = Filter(lambda predicate: shares[self.pool.add(predicate)])
        for criterion, tree in self.trees:
            for clause in choice.of(tree):
                numbers = sorted(map(self.pool.add, clause), key=shares.__getitem__, reverse=True)
                by_dim = {self.pool.dims[number]: number for number in numbers}
                self._own(self.conjunctions, tuple(sorted(by_dim.values())), criterion)

    def _askers(self) -> list[int]:
        """How many criteria ask for each predicate: literals of many are seldom rare."""
        codes = np.array(self.codes, np.int64)
        numbers = np.array(self.leaf_numbers, np.int64)[codes[codes >= 0]]
        found: list[int] = np.bincount(numbers, minlength=len(self.pool.predicates)).tolist()
        return found

    def _own(self, clauses: _Clauses, row: tuple[int, ...], criterion: int | None = None) -> None:
        owners = clauses.owners[clauses.add(row)]
        criterion = len(self.checked) - 1 if criterion is None else criterion
        if not owners or owners[-1] != criterion:
            owners.append(criterion)

    def _row_of(self, clause: Clause) -> tuple[int, ...]:
        return self.pool.apart([self.pool.add(predicate) for predicate in clause])

    def _write_program(self, expression: Expression) -> None:
        before = len(self.codes)

        def write(node: Expression, parts: Sequence[None]) -> None:
            if isinstance(node, Predicate):
                self._leaf(node)
            else:
                self.codes.append(joint(len(parts), _AND if isinstance(node, And) else _OR))

        fold(expression, write)
        self.code_counts.append(len(self.codes) - before)

    def _leaf(self, predicate: Predicate) -> int:
        number = self.pool.add(predicate)
        asked = predicate.polarity is Polarity.INCLUDED
        leaf_key = number, predicate.own_weight if asked else 0.0, predicate.value_weights
        leaf = self.leaves.setdefault(leaf_key, len(self.leaf_predicates))
        if leaf == len(self.leaf_predicates):
            self.leaf_predicates.append(predicate)
            self.leaf_numbers.append(number)
        self.codes.append(leaf)
        return number

    def finish(self) -> tuple[Plan, Vocabulary]:
        vocabulary = Vocabulary.of(self.pool)
        self._add_filters(vocabulary)
        disjunctions = self._table(vocabulary, self.disjunctions)
        unbounded = Plan(
            self._table(vocabulary, self.conjunctions),
            marked(ragged(self.conjunctions.owners)),
            CnfTable(ragged(self.cnf_rows.rows), disjunctions),
            ragged(self.cnf_rows.owners),
            frozen(np.array(self.checked, np.bool_)),
            self._programs(vocabulary),
        )
        return unbounded.bounded(), vocabulary

    def _table(self, vocabulary: Vocabulary, clauses: _Clauses) -> ClauseTable:
        return ClauseTable(vocabulary.space_starts, vocabulary.predicates, ragged(clauses.rows))

    def _programs(self, vocabulary: Vocabulary) -> Programs:
        position, leaves = vocabulary.weighed, self.leaf_predicates
        values = [
            _value_spaces(vocabulary, number, leaf)
            for number, leaf in zip(self.leaf_numbers, leaves, strict=True)
        ]
        weights = [
            leaf.own_weight if leaf.polarity is Polarity.INCLUDED else 0.0 for leaf in leaves
        ]
        return frozen(
            Programs(
                starts_of(self.code_counts),
                np.array(self.codes, np.int32),
                np.array(self.leaf_numbers, np.int32),
                np.array([position[leaf.attribute] for leaf in leaves], np.int32),
                np.array(weights, np.float64),
                starts_of([len(row) for row in values]).astype(np.int32),
                np.array([space for row in values for space, _ in row], np.int32),
                np.array([weight for row in values for _, weight in row], np.float64),
            )
        )


def clauses_of(
    expression: Expression,
    share: Callable[[Predicate], float],
    scalars: Collection[Attribute] = (),
) -> tuple[list[Clause], bool]:
    """The conjunctions of one criterion, and whether they are only necessary.

    `share` is that of events which a predicate is thought to let by, in case it matters.
    """
    parts = _plain_conjunction(expression)
    if parts is not None:
        return [parts[:MAX_PREDICATES]], len(parts) > MAX_PREDICATES
    simplest = simplify(nnf(expression), scalars=scalars)
    flattened = flat(fold(simplest, _without_splits))
    if form_of(flattened, takes_cnf=False) is Form.TREE:
        return Filter(share).of(flattened), True
    clauses = expand(flattened, Or, MAX_CLAUSES)
    longest = max((len(clause) for clause in clauses), default=0)
    return [clause[:MAX_PREDICATES] for clause in clauses], longest > MAX_PREDICATES


def marked(owners: Ragged) -> Ragged:
    """The owners with those that own several clauses inverted, and behind the others."""
    several = np.bincount(owners.items)[owners.items] > 1
    marked = np.where(several, ~owners.items, owners.items)
    clauses = np.repeat(np.arange(len(owners.starts) - 1), np.diff(owners.starts))
    return frozen(Ragged(owners.starts, marked[np.lexsort((several, clauses))]))


def _plain_conjunction(expression: Expression) -> tuple[Predicate, ...] | None:
    """The parts of an And of predicates, or the one predicate; None for anything more."""
    parts: tuple[Any, ...] = expression.parts if isinstance(expression, And) else (expression,)
    for part in parts:
        if not isinstance(part, Predicate) or splits(part):
            return None
    return parts


def _without_splits(node: Expression, parts: Sequence[Expression]) -> Expression:
    if isinstance(node, Predicate):
        return split(node) if splits(node) else node
    if all(map(operator.is_, parts, node.parts)):
        return node
    return (And if isinstance(node, And) else Or)(*parts)


def _is_dnf(flattened: Expression) -> bool:
    """Whether it is an Or of conjunctions, no more than are written out."""
    parts = flattened.parts if isinstance(flattened, Or) else (flattened,)
    return len(parts) <= MAX_CLAUSES and all(
        isinstance(leaf, Predicate)
        for part in parts
        for leaf in (part.parts if isinstance(part, And) else (part,))
    )


def leaves_of(expression: Expression) -> list[Predicate]:
    """The predicates of an expression."""
    found: list[Predicate] = []
    fold(expression, lambda node, _: found.append(node) if isinstance(node, Predicate) else None)
    return found


def _shares(vocabulary: Vocabulary) -> list[float]:
    """The share of events that each predicate is thought to let by: that of spaces it accepts."""
    predicates = vocabulary.predicates
    n_present = np.diff(vocabulary.space_starts)[predicates.dim] - 1
    yes_or_no = np.array([one is None for one in vocabulary.spaces], np.bool_)[predicates.dim]
    shares = np.minimum(predicates.n_accepted / n_present, _MOST)
    shares = np.where(yes_or_no, _YES, shares)
    found: list[float] = np.where(predicates.on_missing, 1.0, shares).tolist()
    return found


def _value_spaces(vocabulary: Vocabulary, number: int, leaf: Predicate) -> list[tuple[int, float]]:
    if not leaf.value_weights or leaf.polarity is not Polarity.INCLUDED:
        return []
    dim = int(vocabulary.predicates.dim[number])
    spaces, start = vocabulary.spaces[dim], int(vocabulary.space_starts[dim])
    assert isinstance(spaces, ValueSpaces)
    return [(start + spaces.point(key(value)), weight) for value, weight in leaf.value_weights]
