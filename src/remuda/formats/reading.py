"""What all formats share: their contract, documents, and the places of errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial, wraps
from importlib import import_module
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from remuda.errors import InvalidCriterion
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute, Digits
from remuda.model.conditions import AnyElement, Condition, In, NullValue, Range
from remuda.model.expressions import (
    MAX_LEVELS,
    MAX_PARTS,
    And,
    Expression,
    Or,
    Predicate,
    checked_size,
)
from remuda.model.functions.foreign import scalar_text
from remuda.model.stacks import on_any_stack
from remuda.model.terms import Call, Literal, Term

T = TypeVar("T")

Readings = Iterator[Criterion | InvalidCriterion]
Rule = tuple[str, str, Any]  # its place in a document, its id, and what it says

ALWAYS, NEVER = And(), Or()
TOO_DEEP = f"it is nested too deeply: {MAX_LEVELS} levels are the most"
TOO_MANY = f"it has too many predicates: {MAX_PARTS} parts are the most"
_NUMERAL = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|Infinity)", re.ASCII)
_OF_OTHER_BASE = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_BITS_OF_DOUBLE = 1024
_JAVASCRIPT_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
_TOO_LARGE = 10**4300  # Python writes no integers of more digits


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its module, the names of its files, and what in them is one document."""

    module: str
    suffixes: tuple[str, ...]
    lines: bool = False  # a file is one document of lines, no JSON

    def files_in(self, home: Path) -> list[str]:
        """The files of rules in a folder and in those beneath it."""
        suffixes = {*self.suffixes, *(f"{one}.gz" for one in self.suffixes)}
        found = (one for one in home.rglob("*") if one.name.endswith(tuple(suffixes)))
        return sorted(str(one) for one in found if one.is_file())

    def name_of(self, file: str) -> str:
        """The id of a rule that has none of its own."""
        name = file.rpartition("/")[2].removesuffix(".gz")
        return next((name.removesuffix(one) for one in self.suffixes if name.endswith(one)), name)

    def read_file(self, data: bytes, name: str) -> Readings:
        """Every rule of a file, as a criterion or as an error; what has no id of its own is `name`.

        A file of JSON is one document, or one a line.
        """
        try:
            documents = [data] if self.lines else json_documents(data)
        except InvalidCriterion as error:
            yield error
            return
        read_each = import_module(self.module).read_each
        for number, document in enumerate(documents, start=1):
            yield from read_each(document, name if len(documents) == 1 else f"{name}:{number}")


def all_of(readings: Readings) -> list[Criterion]:
    """The criteria; where there is an error among them, that is raised."""
    criteria = []
    for one in readings:
        if isinstance(one, InvalidCriterion):
            raise one
        criteria.append(one)
    return criteria


def refusing(read_each: Callable[[Any, str], Readings]) -> Callable[[Any, str], Readings]:
    """The same reader, which gives the error of a document that is none of its format."""

    @wraps(read_each)
    def read(document: Any, id: str) -> Readings:
        try:
            yield from read_each(document, id)
        except InvalidCriterion as error:
            yield error

    return read


def numbered(document: Any, id: str) -> Iterator[Rule]:
    """Every rule of a list under the id and its number, or the only one under the id."""
    if not isinstance(document, list):
        yield "", id, document
        return
    for number, rule in enumerate(document):
        yield f"[{number}]", f"{id}:{number + 1}", rule


def unwrapped(body: str, own_id: str, rule: Rule) -> Rule:
    """What a rule says that is an object with a body, and perhaps with an id of its own."""
    place, name, said = rule
    if not isinstance(said, Mapping) or body not in said:
        return rule
    return f"{place}.{body}" if place else body, id_in(said, own_id, name), said[body]


def id_in(said: Mapping[str, Any], own_id: str, otherwise: str) -> str:
    """The id that a rule has of its own."""
    if said.get(own_id) is None:
        return otherwise
    with at(own_id):
        return scalar(said[own_id], "an id")


def as_it_is(rule: Rule) -> Rule:
    return rule


def each(
    rules: Iterable[Rule],
    make: Callable[[str, Any], Criterion],
    named: Callable[[Rule], Rule] = as_it_is,
) -> Readings:
    """Every rule as it is made, or the error with its id and the place of the rule."""
    return all_of_each(rules, lambda name, rule: [make(name, rule)], named)


def all_of_each(
    rules: Iterable[Rule],
    make: Callable[[str, Any], list[Criterion]],
    named: Callable[[Rule], Rule] = as_it_is,
) -> Readings:
    """All that is made of every rule, or the error with its id and the place of the rule.

    A rule says its own name, and perhaps where what it says begins; an error there is its own.
    """
    for rule in rules:
        place, name, said = rule
        try:
            place, name, said = named(rule)
            yield from on_any_stack(partial(make, name, plain(said)))
        except RecursionError:
            yield InvalidCriterion(TOO_DEEP, place, name or None)
        except InvalidCriterion as error:
            yield error.inside(place, name or None)


@contextmanager
def at(place: str | int) -> Iterator[None]:
    """Errors within are at this name of an object, or at this number of a list."""
    try:
        yield
    except InvalidCriterion as error:
        raise error.inside(f"[{place}]" if isinstance(place, int) else place) from None


def decoded(document: Any) -> Any:
    """The document, of JSON where it is text."""
    if not isinstance(document, str | bytes):
        return document
    try:
        return msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidCriterion(f"the text is not JSON: {error}") from None


def json_documents(data: bytes) -> list[Any]:
    """One document, or one a line."""
    try:
        return [decoded(data)]
    except InvalidCriterion:
        lines = [line for line in data.splitlines() if line.strip()]
        if len(lines) < 2 or not all(line.lstrip().startswith((b"{", b"[")) for line in lines):
            raise
        return lines


def plain(value: Any) -> Any:
    """The value, where JSON could have it: names are strings, and whole numbers can be written."""
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            for name in part:
                a_text(name, "a name in an object")
            parts += part.values()
        elif isinstance(part, list):
            parts += part
        elif type(part) is int and abs(part) >= _TOO_LARGE:
            raise InvalidCriterion("a whole number has 4,300 digits at most")
    return value


def an_object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidCriterion(f"{what} is an object, not {shown(value)}")
    return value


def a_list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidCriterion(f"{what} is a list, not {shown(value)}")
    return value


def a_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidCriterion(f"{what} is a string, not {shown(value)}")
    return value


def scalar(value: Any, what: str) -> str:
    """A text, or a number or a truth value as text."""
    text = scalar_text(value)
    if text is None:
        raise InvalidCriterion(f"{what} is a string or a number, not {shown(value)}")
    return text


def text_in(owner: Mapping[str, Any], name: str, of: str) -> str:
    """The text that an object must have under the name."""
    with at(name):
        if name not in owner:
            raise InvalidCriterion(f"{of}'s {name} is missing")
        return a_text(owner[name], f"{of}'s {name}")


def optional_text_in(owner: Mapping[str, Any], name: str) -> str | None:
    """The text that an object has under the name; None where it is missing, null or empty."""
    with at(name):
        return a_text(owner.get(name) or "", name) or None


def list_in(owner: Mapping[str, Any], name: str) -> list[Any]:
    """The list that an object has under the name; without elements where there is none."""
    with at(name):
        return a_list(owner.get(name) or [], name)


def objects_in(owner: Mapping[str, Any], name: str, what: str) -> list[Mapping[str, Any]]:
    """The objects of a list that an object has under the name."""
    found = []
    for number, one in enumerate(list_in(owner, name)):
        with at(f"{name}[{number}]"):
            found.append(an_object(one, what))
    return found


def among(table: Mapping[str, T], name: Any) -> T | None:
    """What the table has under the name; None where there is none, or where it is no name."""
    return table.get(name) if isinstance(name, str) else None


def steps_of(path: str) -> tuple[str | Digits, ...]:
    """The steps of a path with dots, of which whole numbers are also places in lists."""
    names = path.split(".")
    return tuple(Digits(one) if one.isdecimal() and len(one) <= 18 else one for one in names)


def javascript_number(text: str) -> Decimal | None:
    """What JavaScript's Number makes of a text; None where that is NaN."""
    digits = text.strip(_JAVASCRIPT_SPACE) or "0"
    if _OF_OTHER_BASE.fullmatch(digits):
        whole = int(digits, 0)
        return Decimal(whole if whole.bit_length() <= _BITS_OF_DOUBLE else "Infinity")
    if not _NUMERAL.fullmatch(digits):
        return None
    double = float(digits)  # of what is too large for one, or too small, it keeps no digits
    return Decimal(digits if isfinite(double) and double else double)


def reshaped(shape: Callable[[Any], Any], event: Any) -> Any:
    """The event in its shape; as it is where it is nested too deeply to be looked through."""
    try:
        return on_any_stack(partial(shape, event))
    except RecursionError:
        return event


def shown(value: Any) -> str:
    """A value as an error names it, cut where it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        text = f"a {type(value).__name__} that is too large to show"
    return text if len(text) <= 60 else f"{text[:57]}…"


def call(name: str, *arguments: Any) -> Call:
    """A function of terms and plain values."""
    terms = (one if isinstance(one, Term) else Literal(one) for one in arguments)
    return Call(name, tuple(terms))


def is_(term: Term, condition: Condition) -> Predicate:
    return Predicate(term, condition)


def is_true(term: Term) -> Predicate:
    return Predicate(term, In((True,)))


def unless_refused(term: Term, make: Callable[..., Condition], *operands: Any) -> Expression:
    """What is asked with these operands; never true where they are no pattern, version …"""
    try:
        return Predicate(term, make(*operands))
    except InvalidCriterion:
        return NEVER


RANGES: Mapping[str, Callable[[Any], Range]] = {
    "<": lambda bound: Range(upper=bound),
    "<=": lambda bound: Range(upper=bound, upper_closed=True),
    ">": lambda bound: Range(lower=bound),
    ">=": lambda bound: Range(lower=bound, lower_closed=True),
}


def boxed(attribute: Attribute) -> Call:
    """The value as one, though it be a list: equality is then that of the whole list."""
    return call("boxed", attribute)


def flagged(pattern: str, flags: str) -> str:
    """The pattern with these flags of RE2's."""
    return f"(?{flags}:{pattern})" if flags else pattern


def has_null(attribute: Attribute) -> Expression:
    """The value is null, or an element of it is."""
    null = NullValue()
    element = is_(attribute, AnyElement(is_(Attribute(()), null)))
    return Or(is_(attribute, null), element)


def conjunction(parts: Iterable[Expression]) -> Expression:
    """All of them, without what is always true and without nesting; NEVER where one never is."""
    return _joined(And, parts, NEVER)


def disjunction(parts: Iterable[Expression]) -> Expression:
    """Any of them, without what is never true and without nesting; ALWAYS where one always is."""
    return _joined(Or, parts, ALWAYS)


def denial(part: Expression) -> Expression:
    """The weak negation."""
    if part in (ALWAYS, NEVER):
        return NEVER if part == ALWAYS else ALWAYS
    return ~part


def _joined(
    junction: type[And | Or], parts: Iterable[Expression], decisive: Expression
) -> Expression:
    kept: list[Expression] = []
    for part in parts:
        if part == decisive:
            return decisive
        kept += part.parts if isinstance(part, junction) else (part,)
        if len(kept) > MAX_PARTS:  # parts that are shared may stand there without number
            raise InvalidCriterion(TOO_MANY)
    return kept[0] if len(kept) == 1 else junction(*kept)


def first_of(steps: Sequence[tuple[Expression, Expression]], otherwise: Expression) -> Expression:
    """What the first step asks that applies; `otherwise` where none does."""
    for certain, reversed_run in groupby(reversed(steps), _certain):
        run = list(reversed_run)[::-1]
        if certain == ALWAYS:
            otherwise = disjunction([*(applies for applies, _ in run), otherwise])
        elif certain == NEVER:
            otherwise = conjunction([*(denial(applies) for applies, _ in run), otherwise])
        else:
            for applies, then in reversed(run):
                after = conjunction([denial(applies), otherwise])
                otherwise = disjunction([conjunction([applies, then]), after])
    return otherwise


def _certain(step: tuple[Expression, Expression]) -> Expression | None:
    return step[1] if step[1] in (ALWAYS, NEVER) else None


def bounded(parts: Iterable[Expression]) -> list[Expression]:
    """All of them; InvalidCriterion as soon as they are more than one criterion may have."""
    found, n = [], 0
    for part in parts:
        n += checked_size(part)
        if n > MAX_PARTS:
            raise InvalidCriterion(TOO_MANY)
        found.append(part)
    return found


@dataclass(frozen=True, slots=True)
class Shared:
    """What rules of a document name again and again, read once."""

    known: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, name: Hashable, read: Callable[[], T]) -> T:
        """What is read under the name, or the error why it cannot be."""
        if name not in self.known:
            try:
                self.known[name] = read()
            except InvalidCriterion as error:
                # without its trace, which holds all that was being read
                self.known[name] = error.inside("")
        found: T | InvalidCriterion = self.known[name]
        if isinstance(found, InvalidCriterion):
            raise found.inside("")
        return found

    def expression(self, name: Hashable, read: Callable[[], Expression]) -> Expression:
        """The same of an expression, which is counted once, too."""
        return self.once(name, lambda: bounded([read()])[0])
