"""The JSON form as it is written: structs that msgspec fills, each of which becomes the model's.

What a struct refuses names its place from that struct on; whatever holds it adds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar
from typing import Literal as Word

from msgspec import UNSET, Struct, UnsetType
from msgspec import field as msgspec_field

from remuda.errors import InvalidCriterion
from remuda.language.json_values import Typed, value_of
from remuda.model import conditions, operations
from remuda.model.attributes import Attribute
from remuda.model.calendars import Extract
from remuda.model.expressions import MAX_LEVELS, And, Expression, Not, Or, Polarity
from remuda.model.expressions import Predicate as ModelPredicate
from remuda.model.terms import Applied, Call, Case, Literal, Term, applied
from remuda.model.values import checked

S = TypeVar("S")
T = TypeVar("T")

_DOUBLE_MIN, _DOUBLE_MAX = 5e-324, 1.7976931348623157e308


class _Strict(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """A struct that refuses properties it does not know: they are likely misspelt."""


class _Detail(_Strict, tag_field="caveat"):
    """What is asked of the value."""


class _Operands(_Detail):
    values: list[Any]
    typed_values: list[Typed] = []


class Equality(_Operands, tag="EQUALITY"):
    def condition(self) -> conditions.Condition:
        return _over(conditions.In, self.values, self.typed_values)


class _Sets(_Operands):
    def condition(self) -> conditions.Condition:
        relation = conditions.Relation[str(self.__struct_config__.tag)]
        return _over(partial(conditions.Related, relation), self.values, self.typed_values)


class Subset(_Sets, tag="SUBSET"):
    pass


class Superset(_Sets, tag="SUPERSET"):
    pass


class Equalset(_Sets, tag="EQUALSET"):
    pass


class Overlaps(_Sets, tag="OVERLAPS"):
    pass


class Range(_Detail, tag="RANGE"):
    lower_bound: int | float | str | Typed | None = None
    upper_bound: int | float | str | Typed | None = None
    include_lower_bound: bool | None = False
    include_upper_bound: bool | None = False
    normalised_view: str | None = None

    def condition(self) -> conditions.Condition:
        lower = _bound(self.lower_bound, "lowerBound")
        upper = _bound(self.upper_bound, "upperBound")
        if self.normalised_view is not None:
            # Mustang's own export: it writes an absent bound as Java's smallest or largest
            # double; everywhere else these are numbers like any other
            lower = None if lower == _DOUBLE_MIN else lower
            upper = None if upper == _DOUBLE_MAX else upper
        return conditions.range_of(
            lower, upper, bool(self.include_lower_bound), bool(self.include_upper_bound)
        )


class Regex(_Detail, tag="REGEX"):
    regex: str

    def condition(self) -> conditions.Condition:
        return _at("regex", conditions.Regex, self.regex)


class Versioning(_Detail, tag="VERSIONING"):
    check: Word["ABOVE", "BELOW"]
    base_version: str
    exclude_base: bool | None = False
    normalised_view: str | None = None

    def condition(self) -> conditions.Condition:
        above, strict = self.check == "ABOVE", bool(self.exclude_base)
        return conditions.Version(self.base_version, above, strict)


class SemVer(_Detail, tag="SEMVER"):
    operator: conditions.Comparison
    base_version: str
    parts: bool = False
    v: bool = False

    def condition(self) -> conditions.Condition:
        options = self.parts, self.v
        return _at("baseVersion", conditions.SemVer, self.base_version, self.operator, *options)


class Network(_Detail, tag="NETWORK"):
    networks: list[str]

    def condition(self) -> conditions.Condition:
        _each(lambda one: conditions.Network((one,)), self.networks, "networks")
        return conditions.Network(tuple(self.networks))


class Under(_Detail, tag="UNDER"):
    hierarchy: str
    node: str | int

    def condition(self) -> conditions.Condition:
        return conditions.Under(self.hierarchy, self.node)


class Like(_Detail, tag="LIKE"):
    pattern: str
    escape: str = "\\"

    def condition(self) -> conditions.Condition:
        _at("escape", conditions.Like, "", self.escape)
        return _at("pattern", conditions.Like, self.pattern, self.escape)


class Prefix(_Detail, tag="PREFIX"):
    text: str

    def condition(self) -> conditions.Condition:
        return conditions.Prefix(self.text)


class Suffix(_Detail, tag="SUFFIX"):
    text: str

    def condition(self) -> conditions.Condition:
        return conditions.Suffix(self.text)


class Contains(_Detail, tag="CONTAINS"):
    text: str

    def condition(self) -> conditions.Condition:
        return conditions.Contains(self.text)


class _OfElements(_Detail):
    expression: Dnf | Cnf | Unf

    def inner(self) -> Expression:
        _at("expression", self.expression.is_part)
        return _at("expression", self.expression.expression)


class AnyElement(_OfElements, tag="ANY_ELEMENT"):
    def condition(self) -> conditions.Condition:
        return conditions.AnyElement(self.inner())


class EveryElement(_OfElements, tag="EVERY_ELEMENT"):
    def condition(self) -> conditions.Condition:
        return conditions.EveryElement(self.inner())


class Existence(_Detail, tag="EXISTENCE"):
    def condition(self) -> conditions.Condition:
        return conditions.Exists()


class NonExistence(_Detail, tag="NON_EXISTENCE"):
    def condition(self) -> conditions.Condition:
        return conditions.Missing()


class NullValue(_Detail, tag="NULL_VALUE"):
    def condition(self) -> conditions.Condition:
        return conditions.NullValue()


class Absent(_Detail, tag="ABSENT"):
    def condition(self) -> conditions.Condition:
        return conditions.Absent()


Detail = (
    Equality | Subset | Superset | Equalset | Overlaps | Range | Regex | Versioning
    | SemVer | Network | Under | Like | Prefix | Suffix | Contains | AnyElement
    | EveryElement | Existence | NonExistence | NullValue | Absent
)  # fmt: skip


class _PreOperation(_Strict, tag_field="type"):
    """What is done to the value before it is looked at."""


class Identity(_PreOperation, tag="IDENTITY"):
    def operation(self) -> None:
        return None


class _Calculation(_PreOperation):
    rhs: int | float | Typed | None = None

    def operation(self) -> operations.Operation:
        name, rhs = str(self.__struct_config__.tag), _at("rhs", value_of, self.rhs) or 0
        integral = name in operations.Integral.__members__
        operator = operations.Integral(name) if integral else operations.Arithmetic(name)
        return _at("rhs", operations.calculation, operator, rhs)


class Addition(_Calculation, tag="ADDITION"):
    pass


class Subtraction(_Calculation, tag="SUBTRACTION"):
    pass


class Multiplication(_Calculation, tag="MULTIPLICATION"):
    pass


class Division(_Calculation, tag="DIVISION"):
    pass


class Modulo(_Calculation, tag="MODULO"):
    pass


class BinaryConversion(_PreOperation, tag="BINARY_CONVERSION"):
    def operation(self) -> operations.Operation:
        return operations.BinaryConversion()


class Length(_PreOperation, tag="LENGTH"):
    def operation(self) -> operations.Operation:
        return operations.Length()


class Size(_PreOperation, tag="SIZE"):
    def operation(self) -> operations.Operation:
        return operations.Size()


class Substring(_PreOperation, tag="SUBSTRING"):
    begin_index: int | None = 0
    end_index: int | None = None

    def operation(self) -> operations.Operation:
        return operations.Substring(self.begin_index or 0, self.end_index)


class DateTime(_PreOperation, tag="DATETIME"):
    extract: Extract
    zone: str = "UTC"

    def operation(self) -> operations.Operation:
        return _at("zone", operations.DateTime, self.extract, self.zone)


class ToDateTime(_PreOperation, tag="TO_DATETIME"):
    date_time_format: str | None = None

    def operation(self) -> operations.Operation:
        return operations.ToDateTime(self.date_time_format)


PreOperation = (
    Identity | Addition | Subtraction | Multiplication | Division | Modulo | BinaryConversion
    | Length | Size | Substring | DateTime | ToDateTime
)  # fmt: skip


class Written(_Strict, kw_only=True):
    """A term: one of an attribute, a literal, a function, an operation on a term, or a case."""

    attribute: str | None = None
    walk: bool = False
    empty_is_present: bool = False
    literal: bool | int | float | str | Typed | UnsetType | None = UNSET
    double: str | None = None  # what JSON has no number for
    function: str | None = None
    arguments: list[str | Written] = []
    operation: PreOperation | None = None
    of: str | Written | None = None
    case: list[Branch] | None = None
    otherwise: str | Written | None = msgspec_field(default=None, name="else")

    def term(self) -> Term:
        given = [self.attribute, self.double, self.function, self.operation, self.case]
        n_given = sum(one is not None for one in given) + (self.literal is not UNSET)
        if n_given != 1:
            raise InvalidCriterion("a term is one of attribute, literal, function, operation, case")
        if self.attribute is not None:
            return _flagged(_at("attribute", Attribute.parse, self.attribute), self)
        if self.function is not None:
            arguments = tuple(_each(term_of, self.arguments, "arguments"))
            made = _known_call if all(map(_is_of_attributes, arguments)) else Call
            return made(self.function, arguments)
        if self.operation is not None:
            return self._applied(self.operation)
        if self.case is not None:
            branches = tuple(_each(lambda one: one.pair(), self.case, "case"))
            return Case(branches, _at("else", _optional, self.otherwise))
        return _at("literal", self._literal)

    def _applied(self, operation: PreOperation) -> Term:
        if self.of is None:
            raise InvalidCriterion("an operation needs a term: `of`")
        inner, made = _at("of", term_of, self.of), _at("operation", operation.operation)
        return inner if made is None else Applied(made, inner)

    def _literal(self) -> Literal:
        if self.double is None:
            return Literal(value_of(self.literal))
        if self.double not in ("NaN", "Infinity", "-Infinity"):
            raise InvalidCriterion("a double is NaN, Infinity or -Infinity; others are literals")
        return Literal(float(self.double))


class Branch(_Strict):
    """What a case gives where its expression holds."""

    when: Dnf | Cnf | Unf
    then: str | Written

    def pair(self) -> tuple[Expression, Term]:
        _at("when", self.when.is_part)
        return _at("when", self.when.expression), _at("then", term_of, self.then)


def term_of(written: str | Written) -> Term:
    return Attribute.parse(written) if isinstance(written, str) else written.term()


def _is_of_attributes(term: Term) -> bool:
    """Whether no literal is in it, so that what equals it is the same: 1 equals true."""
    if isinstance(term, Call):
        return all(map(_is_of_attributes, term.arguments))
    return isinstance(term, Attribute)


@lru_cache(maxsize=4096)
def _known_call(name: str, arguments: tuple[Term, ...]) -> Call:
    """The function of terms, made but once: rules ask thousands of questions of one."""
    return Call(name, arguments)


def _optional(written: str | Written | None) -> Term:
    return Literal(None) if written is None else term_of(written)


def _flagged(attribute: Attribute, written: Written | Predicate) -> Attribute:
    if not written.walk and not written.empty_is_present:
        return attribute
    return Attribute(attribute.steps, written.walk, written.empty_is_present)


class ValueWeight(_Strict):
    """The weight of one value, plain or typed."""

    weight: float
    value: Any = None
    typed_value: Typed | None = None

    def pair(self) -> tuple[Any, float]:
        if self.typed_value is None:
            return self.value, self.weight
        return _at("typedValue", self.typed_value.value), self.weight


class Predicate(_Strict):
    """One test on one attribute; `detail` wins over `values`, `preOperations` over the other."""

    type: Polarity
    lhs: str | Written
    detail: Detail | None = None
    values: list[Any] | None = None
    weight: float | None = None
    pre_operations: list[PreOperation] | None = None
    pre_operation: PreOperation | None = None
    value_weights: list[ValueWeight] = []
    walk: bool = False
    empty_is_present: bool = False

    def expression(self) -> ModelPredicate:
        place = "lhs"
        try:
            term = self._root()
            place = "" if self.detail is None else "detail"
            condition = self._shorthand() if self.detail is None else self.detail.condition()
            place = ""
            chain, pairs = self._operations(), self._value_weights()
            place = "valueWeights" if pairs else "weight"
            weight = 1.0 if self.weight is None else self.weight
            return ModelPredicate(applied(term, chain), condition, self.type, weight, pairs)
        except InvalidCriterion as error:
            raise error.inside(place) from None

    def _root(self) -> Term:
        if isinstance(self.lhs, str):
            return _flagged(Attribute.parse(self.lhs), self)
        if self.walk or self.empty_is_present:
            raise InvalidCriterion("walk and emptyIsPresent are said of the attributes of a term")
        return self.lhs.term()

    def _shorthand(self) -> conditions.Condition:
        if self.values is None:
            raise InvalidCriterion("a predicate needs a detail, or values")
        return _over(conditions.In, self.values)

    def _operations(self) -> tuple[operations.Operation, ...]:
        if self.pre_operations is not None:
            found = _each(lambda one: one.operation(), self.pre_operations, "preOperations")
        elif self.pre_operation is not None:
            found = [_at("preOperation", self.pre_operation.operation)]
        else:
            return ()
        return tuple(operation for operation in found if operation is not None)

    def _value_weights(self) -> tuple[tuple[Any, float], ...]:
        if not self.value_weights:
            return ()
        return tuple(_each(ValueWeight.pair, self.value_weights, "valueWeights"))


class Conjunction(_Strict):
    type: Word["AND"]
    predicates: list[Predicate]

    def expression(self) -> Expression:
        parts = _each(Predicate.expression, self.predicates, "predicates")
        return parts[0] if len(parts) == 1 else And(*parts)


class Disjunction(_Strict):
    type: Word["OR"]
    predicates: list[Predicate]

    def expression(self) -> Expression:
        parts = _each(Predicate.expression, self.predicates, "predicates")
        return parts[0] if len(parts) == 1 else Or(*parts)


class _Form(_Strict, tag_field="form"):
    id: str | None = None
    tags: list[str] = []
    enabled: bool = True
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    payload: Any = None
    priority: float = 0.0

    def is_part(self) -> None:
        """Refuse what only a whole criterion has."""
        whole = {"tags": self.tags, "enabled": not self.enabled}
        whole |= {"validFrom": self.valid_from, "validUntil": self.valid_until}
        whole |= {"payload": self.payload is not None, "priority": self.priority}
        for name, said in whole.items():
            if said:
                raise InvalidCriterion("only the whole criterion has this, not a part of it", name)


class Dnf(_Form, tag="DNF", kw_only=True):
    conjunctions: list[Conjunction]

    def expression(self) -> Expression:
        parts = _each(Conjunction.expression, self.conjunctions, "conjunctions")
        return _joined(Or, parts)


class Cnf(_Form, tag="CNF", kw_only=True):
    disjunctions: list[Disjunction]

    def expression(self) -> Expression:
        return _joined(And, _each(Disjunction.expression, self.disjunctions, "disjunctions"))


class Unf(_Form, tag="UNF", kw_only=True):
    """Any nesting; its written order, in which scores are summed, is predicates, then criterias.

    NOT is ours: not all of its parts hold.
    """

    type: Word["AND", "OR", "NOT"]
    predicates: list[Predicate] | None = None
    criterias: list[Dnf | Cnf | Unf] | None = None

    def expression(self) -> Expression:
        """What it and all inside it say; read level by level, since stacks end sooner."""
        opened = [_Opened(self, self._leaves())]
        try:
            while True:
                form, parts, done = opened[-1]
                nested = form.criterias or ()
                if done < len(nested):
                    inner = nested[done]
                    inner.is_part()
                    if not isinstance(inner, Unf):
                        parts.append(inner.expression())
                    elif len(opened) == MAX_LEVELS:
                        raise RecursionError  # as msgspec does a little later
                    else:
                        opened.append(_Opened(inner, inner._leaves()))
                        continue
                else:
                    opened.pop()
                    whole = _joined(Or if form.type == "OR" else And, parts)
                    if form.type == "NOT":
                        whole = Not(whole)
                    if not opened:
                        return whole
                    opened[-1].parts.append(whole)
                opened[-1] = opened[-1]._replace(done=opened[-1].done + 1)
        except InvalidCriterion as error:
            place = ".".join(f"criterias[{one.done}]" for one in opened)
            raise error.inside(place) from None

    def _leaves(self) -> list[Expression]:
        if self.predicates is None and self.criterias is None:
            raise InvalidCriterion("a UNF needs predicates, or criterias")
        return [*_each(Predicate.expression, self.predicates or (), "predicates")]


class _Opened(NamedTuple):
    """A UNF that is being read: its parts so far, and how many of its criterias are done."""

    form: Unf
    parts: list[Expression]
    done: int = 0


Form = Dnf | Cnf | Unf


def _joined(junction: type[And | Or], parts: list[Expression]) -> Expression:
    """The parts of a form under its junction; one stands for itself, none is always true."""
    if len(parts) == 1:
        return parts[0]
    return junction(*parts) if parts else And()


def _bound(written: int | float | str | Typed | None, place: str) -> Any:
    if type(written) is not Typed:
        return written
    bound = _at(place, written.value)
    _at(place, conditions.range_of, bound, None)  # refuses what has no order
    return bound


def _over(
    condition: Callable[[tuple[Any, ...]], T], values: list[Any], typed: Iterable[Typed] = ()
) -> T:
    """The condition over plain and typed values; where one is refused, which."""
    read = _each(Typed.value, typed, "typedValues") if typed else []
    try:
        return condition((*values, *read))
    except InvalidCriterion:
        _each(checked, values, "values")
        _each(checked, read, "typedValues")
        raise


def _at(place: str, make: Callable[..., T], *arguments: Any) -> T:
    """What is made of the arguments, an error in it being at `place`."""
    try:
        return make(*arguments)
    except InvalidCriterion as error:
        raise error.inside(place) from None


def _each(convert: Callable[[S], T], items: Iterable[S], place: str) -> list[T]:
    """What becomes of every item, an error in one being at `place[i]`."""
    results: list[T] = []
    try:
        results.extend(map(convert, items))
    except InvalidCriterion as error:  # those before it are in the results already
        raise error.inside(f"{place}[{len(results)}]") from None
    return results
