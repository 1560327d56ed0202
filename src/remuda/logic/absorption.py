"""Parts that other parts make redundant: `a or (a and b)` is `a`, and so is `a and (a or b)`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from itertools import chain

from remuda.logic.implication import implies
from remuda.logic.normal import Junction
from remuda.model.expressions import And, Expression, Or, Predicate

PAIRWISE = 256  # more parts than this are not compared one by one


def absorbed(junction: Junction, parts: Sequence[Expression]) -> list[Expression]:
    """The parts that are needed: an Or drops what implies another, an And what another implies.

    Equal parts, and equal parts of parts, are one object.
    """
    other = Or if junction is And else And
    clauses = [part.parts if isinstance(part, other) else (part,) for part in parts]
    needed = _pairwise if len(parts) <= PAIRWISE else _exact
    return [parts[i] for i in needed(junction, clauses)]


def _pairwise(junction: Junction, clauses: Sequence[Sequence[Expression]]) -> list[int]:
    """Which clauses remain once each was compared with each, predicate by predicate."""
    topics = [frozenset(map(_topic, clause)) for clause in clauses]

    def redundant(i: int, j: int) -> bool:
        """Whether clause i is, given clause j: each part of j has its match in i."""
        return topics[j] <= topics[i] and all(
            any(_follows(junction, mine, yours) for mine in clauses[i]) for yours in clauses[j]
        )

    needed: list[int] = []
    for i in range(len(clauses)):
        if not any(redundant(i, j) for j in needed):
            needed = [j for j in needed if not redundant(j, i)]
            needed.append(i)
    return needed


def _follows(junction: Junction, mine: Expression, yours: Expression) -> bool:
    if mine is yours:
        return True
    if not isinstance(mine, Predicate) or not isinstance(yours, Predicate):
        return False
    return implies(mine, yours) if junction is Or else implies(yours, mine)


def _topic(part: Expression) -> Hashable:
    """What two parts must share so that one can follow from the other."""
    return part.root if isinstance(part, Predicate) else id(part)


def _exact(_: Junction, clauses: Sequence[Sequence[Expression]]) -> list[int]:
    """Which clauses remain without those that hold all parts of another, in near-linear time."""
    members = [frozenset(map(id, clause)) for clause in clauses]
    frequency = Counter(chain.from_iterable(members))
    found_by: dict[int, list[frozenset[int]]] = defaultdict(list)  # their rarest part
    needed = []
    for i in sorted(range(len(members)), key=lambda i: len(members[i])):
        candidates = chain.from_iterable(found_by.get(part, ()) for part in members[i])
        if not any(smaller <= members[i] for smaller in candidates):
            needed.append(i)
            found_by[min(members[i], key=frequency.__getitem__)].append(members[i])
    return sorted(needed)
