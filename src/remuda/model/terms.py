"""Terms: what a predicate looks at: an attribute, or a function of terms and literals.

A function of something missing is missing, unless it says otherwise. One that is made for single
values is applied to each element of a list: the same attribute twice in a term is the same
element, and where two attributes are lists, the term is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from remuda.errors import InvalidCriterion
from remuda.model.attributes import Attribute, Known
from remuda.model.conditions import OF_ELEMENTS, OF_LACK, WHOLE, Under
from remuda.model.functions import FUNCTIONS, Function
from remuda.model.operations import Operation
from remuda.model.values import checked, checked_text

MAX_TERM_LEVELS = 100  # of functions in functions


class Truth(Protocol):
    """What a CASE asks: an expression."""

    @property
    def parts(self) -> tuple[Any, ...]: ...

    def truth(self, event: Any, now: int) -> bool: ...


class Facts(NamedTuple):
    """What is known of a term before any event."""

    attributes: tuple[Attribute, ...] = ()
    elements: frozenset[Attribute] = frozenset()  # those of which it sees one element at a time
    strict: bool = True  # whether it is missing wherever one of its attributes is
    reads_clock: bool = False
    tells_lack: bool = False  # whether it tells null from absent
    asks_tree: bool = False  # whether it asks what is beneath a node of a tree
    levels: int = 0
    n_parts: int = 1


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written in the term; None is a missing one."""

    value: Any = field(compare=False)
    same: tuple[type, str] = field(init=False, repr=False)  # 1, 1.0 and TRUE are three literals

    def __post_init__(self) -> None:
        if isinstance(self.value, str):
            checked_text(self.value, "a literal")
        elif self.value is not None:
            object.__setattr__(self, "value", checked(self.value))
        object.__setattr__(self, "same", (type(self.value), repr(self.value)))

    def value_in(self, event: Any, now: int) -> Any:
        return self.value

    computed = value_in

    def __str__(self) -> str:
        return "NULL" if self.value is None else repr(self.value)


@dataclass(frozen=True, slots=True)
class Applied:
    """One of Mustang's operations on a term: it sees the whole value, as the term gives it."""

    operation: Operation
    term: Term
    facts: Facts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        inner = facts_of(self.term)
        clock = inner.reads_clock or self.operation.reads_clock
        _keep(self, inner._replace(elements=frozenset(), reads_clock=clock), inner)

    def value_in(self, event: Any, now: int) -> Any:
        return self.operation.apply(value_in(self.term, event, now), now)

    computed = value_in

    def __str__(self) -> str:
        return f"{type(self.operation).__name__.lower()}({self.term})"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of terms."""

    name: str
    arguments: tuple[Term, ...]
    function: Function = field(init=False, repr=False, compare=False)
    facts: Facts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        function = FUNCTIONS.get(self.name)
        if function is None:
            raise InvalidCriterion(f"there is no function {self.name}")
        least, most, n = function.least, function.most, len(self.arguments)
        if n < least or (most is not None and n > most):
            raise InvalidCriterion(f"{self.name}() takes {_counted(least, most)}, not {n}")
        if function.check is not None:
            literals = [one.value if isinstance(one, Literal) else None for one in self.arguments]
            function.check(literals)
        object.__setattr__(self, "function", function)
        inner = list(map(facts_of, self.arguments))
        joined = _joined(inner)
        facts = joined._replace(
            elements=frozenset() if function.whole else joined.elements,
            strict=not joined.attributes or (joined.strict and not function.on_missing),
            reads_clock=joined.reads_clock or function.clock,
        )
        _keep(self, facts, joined)

    def value_in(self, event: Any, now: int) -> Any:
        return _by_element(self, event, now)

    def computed(self, event: Any, now: int) -> Any:
        """The value where no attribute is a list, or where one element stands for it."""
        function = self.function
        if function.whole:
            whole = event.beyond if isinstance(event, _OneElement) else event
            values = [value_in(argument, whole, now) for argument in self.arguments]
        else:
            values = [computed(argument, event, now) for argument in self.arguments]
        if not function.on_missing and any(value is None for value in values):
            return None
        return function.apply(now, *values) if function.clock else function.apply(*values)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Case:
    """The term of the first branch whose expression holds, or the last one, which may be none."""

    branches: tuple[tuple[Any, Term], ...]  # expressions, each with its term
    otherwise: Term = Literal(None)
    facts: Facts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        terms = [*(term for _, term in self.branches), self.otherwise]
        asked = [_facts_of_expression(expression) for expression, _ in self.branches]
        joined = _joined([*asked, *map(facts_of, terms)])
        _keep(self, joined._replace(strict=not joined.attributes), joined)

    def value_in(self, event: Any, now: int) -> Any:
        return _by_element(self, event, now)

    def computed(self, event: Any, now: int) -> Any:
        for expression, term in self.branches:
            if expression.truth(event, now):
                return computed(term, event, now)
        return computed(self.otherwise, event, now)

    def __str__(self) -> str:
        branches = " ".join(f"WHEN … THEN {term}" for _, term in self.branches)
        return f"CASE {branches} ELSE {self.otherwise} END"


Term = Attribute | Literal | Applied | Call | Case


@dataclass(frozen=True, slots=True)
class _OneElement(Known):
    """An event in which one element stands for the list that an attribute is."""


@dataclass(frozen=True, slots=True)
class Joint:
    """Attributes that are looked at together, since terms are made of them.

    Their raw value is a tuple; where all are needed, it is missing as soon as one is.
    """

    attributes: tuple[Attribute, ...]
    all_needed: bool
    tells_lack: bool = False

    def resolve(self, event: Any) -> tuple[Any, ...] | None:
        values = [attribute.resolve(event) for attribute in self.attributes]
        for i, value in enumerate(values):
            if value is None and self.all_needed:
                return None
            if value is None and self.tells_lack:
                values[i] = self.attributes[i].lack(event)
        return tuple(values)


Origin = Attribute | Joint  # what is looked up in an event, of which terms are made


@lru_cache(maxsize=65536)
def origin_of(term: Term) -> Origin:
    """The attribute that the term needs and has alone, or all of them together."""
    facts = facts_of(term)
    if facts.strict and len(facts.attributes) == 1:
        return facts.attributes[0]
    return Joint(facts.attributes, facts.strict and bool(facts.attributes), facts.tells_lack)


def known(origin: Origin, raw: Any) -> Known:
    """An event in which the origin has this raw value, and which has nothing else."""
    if isinstance(origin, Attribute):
        return Known({origin: raw})
    return Known(dict(zip(origin.attributes, raw, strict=True)))


def facts_of(term: Term) -> Facts:
    if isinstance(term, Attribute):
        return _facts_of_attribute(term)
    return _LITERAL if isinstance(term, Literal) else term.facts


def value_in(term: Term, event: Any, now: int) -> Any:
    """The value of the term in an event; None where it is missing."""
    return term.resolve(event) if isinstance(term, Attribute) else term.value_in(event, now)


def computed(term: Term, event: Any, now: int) -> Any:
    return term.resolve(event) if isinstance(term, Attribute) else term.computed(event, now)


def is_constant(term: Term) -> bool:
    """Whether no event and no moment changes its value."""
    facts = facts_of(term)
    return not facts.attributes and not facts.reads_clock


def attribute_of(term: Term) -> Attribute | None:
    """The path that the term is about; None where there are several, or none."""
    if isinstance(term, Attribute):
        return term.path
    paths = {attribute.path for attribute in facts_of(term).attributes}
    return paths.pop() if len(paths) == 1 else None


def root_of(term: Term) -> Term:
    """The term beneath Mustang's operations, which make no present value missing."""
    while isinstance(term, Applied):
        term = term.term
    return term


def chain_of(term: Term) -> tuple[Function, ...] | None:
    """The functions that are applied to each value of the term's one attribute, first to last.

    None where the term is more than such a chain.
    """
    functions: list[Function] = []
    while isinstance(term, Call):
        function = term.function
        if len(term.arguments) > 1 or function.whole or function.on_missing or function.clock:
            return None
        functions.append(function)
        (term,) = term.arguments or (Literal(None),)
    return tuple(reversed(functions)) if isinstance(term, Attribute) else None


def joined_chains(
    term: Term,
) -> tuple[Function, list[tuple[Attribute, tuple[Function, ...]]]] | None:
    """The function that a term is of chains, and of each chain its attribute and functions.

    None where the term is another one, or looks at more than plain values.
    """
    if not isinstance(term, Call) or term.function.whole or term.function.clock:
        return None
    chains = [(*facts_of(one).attributes[:1], chain_of(one)) for one in term.arguments]
    if term.function.on_missing or any(chain[-1] is None for chain in chains):
        return None
    return term.function, chains  # type: ignore[return-value]


def operations_of(term: Term) -> tuple[Operation, ...]:
    """Mustang's operations on its root, first to last."""
    found: list[Operation] = []
    while isinstance(term, Applied):
        found.append(term.operation)
        term = term.term
    return tuple(reversed(found))


def applied(term: Term, operations: Iterable[Operation]) -> Term:
    """The term after operations, first to last."""
    for operation in operations:
        term = Applied(operation, term)
    return term


def asked_in(term: Term) -> Iterator[Truth]:
    """The expressions that a CASE asks, wherever it stands in the term."""
    match term:
        case Applied(_, inner):
            yield from asked_in(inner)
        case Call(_, arguments):
            for one in arguments:
                yield from asked_in(one)
        case Case(branches, otherwise):
            for expression, one in branches:
                yield expression
                yield from asked_in(one)
            yield from asked_in(otherwise)


_LITERAL = Facts()


@lru_cache(maxsize=65536)
def _facts_of_attribute(attribute: Attribute) -> Facts:
    return Facts((attribute,), frozenset((attribute,)))


def _facts_of_expression(expression: Truth) -> Facts:
    """Of what a CASE asks; what looks at whole lists is given them."""
    found = _leaves(expression)
    joined = _joined([facts_of(leaf.term) for leaf in found])
    whole = {one for leaf in found if type(leaf.condition) in WHOLE for one in _of(leaf.term)}
    lacks = any(type(leaf.condition) in OF_LACK for leaf in found)
    return joined._replace(
        elements=joined.elements - whole,
        tells_lack=joined.tells_lack or lacks,
        asks_tree=joined.asks_tree or any(asks_tree(leaf.condition) for leaf in found),
        n_parts=_n_parts(expression),
    )


def asks_tree(condition: Any) -> bool:
    """Whether it asks what is beneath a node of a tree, be it of elements."""
    if type(condition) in OF_ELEMENTS:
        inner = _leaves(condition.expression)
        return any(asks_tree(one.condition) or facts_of(one.term).asks_tree for one in inner)
    return type(condition) is Under


def _of(term: Term) -> tuple[Attribute, ...]:
    return facts_of(term).attributes


def _leaves(expression: Truth) -> list[Any]:
    """Its predicates; one that stands in several places is there once."""
    found: dict[int, Any] = {}
    pending: list[Any] = [expression]
    while pending:
        node = pending.pop()
        if id(node) not in found:
            found[id(node)] = node
            pending += () if hasattr(node, "term") else node.parts
    return [node for node in found.values() if hasattr(node, "term")]


def _n_parts(expression: Truth) -> int:
    """How many parts the terms of its predicates have, each as often as it stands there."""
    counted: dict[int, int] = {}  # every node once: shared ones may stand there without number
    pending: list[Any] = [expression]
    while pending:
        node = pending[-1]
        parts = () if hasattr(node, "term") else node.parts
        missing = [part for part in parts if id(part) not in counted]
        if missing:
            pending += missing
            continue
        pending.pop()
        of_parts = sum(counted[id(part)] for part in parts)
        counted[id(node)] = facts_of(node.term).n_parts if hasattr(node, "term") else of_parts
    return counted[id(expression)]


def _joined(several: list[Facts]) -> Facts:
    attributes = dict.fromkeys(one for facts in several for one in facts.attributes)
    return Facts(
        tuple(attributes),
        frozenset().union(*(facts.elements for facts in several)),
        all(facts.strict for facts in several),
        any(facts.reads_clock for facts in several),
        any(facts.tells_lack for facts in several),
        any(facts.asks_tree for facts in several),
        max((facts.levels for facts in several), default=0),
        sum(facts.n_parts for facts in several),
    )


def _keep(term: Applied | Call | Case, facts: Facts, inner: Facts) -> None:
    if inner.levels == MAX_TERM_LEVELS:
        raise InvalidCriterion(f"functions are nested too deeply: {MAX_TERM_LEVELS} levels at most")
    facts = facts._replace(levels=inner.levels + 1, n_parts=inner.n_parts + 1)
    object.__setattr__(term, "facts", facts)


def _by_element(term: Call | Case, event: Any, now: int) -> Any:
    lists = [one for one in term.facts.elements if type(one.resolve(event)) is list]
    if not lists:
        return term.computed(event, now)
    facts = term.facts
    if len(lists) > 1 or (facts.strict and any(a.resolve(event) is None for a in facts.attributes)):
        return None
    (attribute,) = lists
    return [
        term.computed(_OneElement({attribute: element}, event), now)
        for element in attribute.resolve(event)
    ]


def _counted(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more arguments"
    return (
        f"{least} argument{'s' * (least != 1)}" if least == most else f"{least} to {most} arguments"
    )
