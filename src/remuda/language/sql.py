"""Spark SQL: what Spark itself runs with the same meaning, where it can say it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from remuda.errors import NoSqlEquivalent
from remuda.language.javaregex import java_regex
from remuda.language.phrases import (
    COMPARED,
    TEXTUAL,
    Binding,
    Phrase,
    Wording,
    between,
    join,
    membership,
    plainly,
    sign,
    worded,
    write,
)
from remuda.language.spelling import INFINITE, double, moment, name, string
from remuda.model import conditions, operations
from remuda.model.attributes import Attribute, Element
from remuda.model.calendars import Extract
from remuda.model.conditions import Condition, Relation
from remuda.model.explanations import describe
from remuda.model.expressions import Expression, Predicate
from remuda.model.functions import buckets, casts, foreign
from remuda.model.quoted import Moment, Quoted
from remuda.model.terms import Applied, Call, Case, Term, operations_of, root_of
from remuda.model.terms import Literal as WrittenLiteral
from remuda.model.values import Number, number, tidy

_LONGEST = 38  # digits of Spark's longest decimal
_SPARE = 18  # of these, what arithmetic may add to a bigint
_TOO_LONG = f"Spark's decimals have no more than {_LONGEST} digits"


class _Unsaid(Exception):
    """Spark has no words for it, for this reason."""


class _Type(StrEnum):
    """The types that Spark must not mix; a double is a number, but compares otherwise."""

    NUMBER = "number"
    DOUBLE = "double"
    STRING = "string"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    MOMENT = "date or timestamp"
    ARRAY = "array"
    QUOTED = "quoted"  # whatever the literal can be cast to


_NUMERIC = frozenset({_Type.NUMBER, _Type.DOUBLE})
Literal = tuple[_Type, str]


def to_sql(expression: Expression) -> str:
    """Write the expression for Spark; NoSqlEquivalent, naming the predicate, where it cannot be.

    The meaning is the same on scalar columns whose type is the literal's, with ANSI on and the
    session in UTC.
    """
    return write(expression, _wording)


def _wording(predicate: Predicate) -> Wording:
    try:
        if _is_comparison(predicate.term) and isinstance(predicate.condition, conditions.In):
            return _comparison(predicate.term, predicate.condition)
        path = _term(predicate.root)
        match predicate.condition:
            case conditions.Exists():
                return worded(f"{path} IS NOT NULL", f"{path} IS NULL")
            case conditions.Missing():
                return worded(f"{path} IS NULL", f"{path} IS NOT NULL")
            case conditions.NullValue() if _is_column(predicate.root):
                return worded(f"{path} IS NULL", f"{path} IS NOT NULL")
            case conditions.In(values=()):
                return worded("FALSE", f"{path} IS NOT NULL")
            case condition:
                about, given = _subject(path, predicate.operations)
                empty = isinstance(predicate.root, Attribute) and predicate.root.empty
                wanted, wording = _condition(about, condition, empty)
                _check(given, wanted)
                return wording
    except _Unsaid as unsaid:
        raise NoSqlEquivalent(describe(predicate), str(unsaid)) from None


def _check(given: _Type | None, wanted: _Type) -> None:
    """Refuse what Spark would have to convert; the type of a column is taken on trust."""
    if given is None or given is wanted or wanted is _Type.QUOTED:
        return
    if not {given, wanted} <= _NUMERIC:
        raise _Unsaid(f"Spark would need {wanted} values here, not {given} ones")


# Conditions


def _condition(about: str, condition: Condition, empty: bool) -> tuple[_Type, Wording]:
    match condition:
        case conditions.In(values):
            return _in(about, _literals(values))
        case conditions.Range() | conditions.QuotedRange():
            return _range(about, condition)
        case conditions.Regex(pattern, find, java):
            written = _regex(pattern, find) if java is None else java
            return _Type.STRING, plainly(f"{about} RLIKE {string(written)}")
        case conditions.Like(pattern, escape):
            fits = string(_like(pattern, escape))
            return _Type.STRING, worded(f"{about} LIKE {fits}", f"{about} NOT LIKE {fits}")
        case conditions.Prefix(text) | conditions.Suffix(text) | conditions.Contains(text):
            return _Type.STRING, plainly(f"{TEXTUAL[type(condition)]}({about}, {string(text)})")
        case conditions.Related(relation, values):
            literals = ", ".join(text for _, text in _literals(values))
            found = about if empty else f"nullif({about}, array())"
            return _Type.ARRAY, _related(found, relation, f"array({literals})")
        case conditions.NullValue() | conditions.Absent():
            raise _Unsaid("Spark does not tell null from what is not there")
        case conditions.Network():
            raise _Unsaid("Spark does not know networks")
        case conditions.Under():
            raise _Unsaid("Spark does not know trees")
        case conditions.AnyElement() | conditions.EveryElement():
            raise _Unsaid("what is asked of elements is not written for Spark yet")
        case conditions.Version() | conditions.SemVer():
            raise _Unsaid("Spark does not know the order of versions")
        # which are about the path, without its pre-operations
        case conditions.Exists() | conditions.Missing():
            raise TypeError(f"{condition!r} is said without a subject")


def _in(about: str, literals: Sequence[Literal]) -> tuple[_Type, Wording]:
    """Numbers, doubles and quoted literals apart, for Spark makes one type of a list."""
    apart: dict[_Type, list[str]] = {}
    for kind, text in literals:
        apart.setdefault(_Type.QUOTED if kind is _Type.STRING else kind, []).append(text)
    wanted = _common({kind for kind, _ in literals})
    wordings = [membership(about, texts) for texts in apart.values()]
    if len(wordings) == 1:
        return wanted, wordings[0]
    either = join([wording.asked for wording in wordings], Binding.OR)
    return wanted, plainly(either.text, either.binding)


def _range(about: str, condition: conditions.Bounded) -> tuple[_Type, Wording]:
    bounds = [_literal(bound) for bound in (condition.lower, condition.upper) if bound is not None]
    if not bounds:
        raise _Unsaid("Spark cannot ask whether a value is a number")
    wanted = _common({kind for kind, _ in bounds})
    if len(bounds) == 2 and condition.lower_closed and condition.upper_closed:
        return wanted, between(about, bounds[0][1], bounds[1][1])
    sides = []
    if condition.lower is not None:
        sides.append(Phrase(f"{about} {sign(True, condition.lower_closed)} {bounds[0][1]}"))
    if condition.upper is not None:
        sides.append(Phrase(f"{about} {sign(False, condition.upper_closed)} {bounds[-1][1]}"))
    both = join(sides, Binding.AND)
    return wanted, plainly(both.text, both.binding)


def _related(about: str, relation: Relation, others: str) -> Wording:
    """Null is an element like any other for these functions, as it is for us."""
    beyond, lacking = f"array_except({about}, {others})", f"array_except({others}, {about})"
    match relation:
        case Relation.SUBSET:
            return plainly(f"size({beyond}) = 0")
        case Relation.SUPERSET:
            return plainly(f"size({lacking}) = 0")
        case Relation.EQUALSET:
            return plainly(f"size({beyond}) = 0 AND size({lacking}) = 0", Binding.AND)
        case Relation.OVERLAPS:
            return plainly(f"size(array_intersect({about}, {others})) > 0")


def _regex(pattern: str, find: bool) -> str:
    java = java_regex(pattern)
    if java is None:
        raise _Unsaid("Java, which Spark uses, may read the pattern otherwise than RE2")
    return java if find else rf"\A(?:{java})\z"


def _like(pattern: str, escape: str) -> str:
    """The pattern with Spark's own escape character, and only where Spark allows one."""
    parts, i = [], 0
    while i < len(pattern):
        escaped = pattern[i] == escape
        i += escaped
        literal = pattern[i] == "\\" or (escaped and pattern[i] in "%_")
        parts.append("\\" * literal + pattern[i])
        i += 1
    return "".join(parts)


# Literals


def _literals(values: Sequence[Any]) -> list[Literal]:
    """The values spelt, where they are of one type."""
    found = [_literal(value) for value in values]
    _common({kind for kind, _ in found})
    _check_digits([text for kind, text in found if kind is _Type.NUMBER])
    return found


def _common(kinds: set[_Type]) -> _Type:
    """The type of all; quoted literals are of any."""
    typed = kinds - {_Type.QUOTED}
    if len(typed) > 1 and not typed <= _NUMERIC:
        raise _Unsaid(f"its values are of different types: {', '.join(sorted(typed))}")
    return max(typed, default=_Type.QUOTED)


def _literal(value: Any) -> Literal:
    if isinstance(value, Quoted):
        return _Type.QUOTED, string(value.text)
    if isinstance(value, Moment):
        value = value.at
    plain = value if isinstance(value, list | tuple) else tidy(value)
    if isinstance(plain, str):
        return _Type.STRING, string(plain)
    if isinstance(plain, bool):
        return _Type.BOOLEAN, str(plain).upper()
    if isinstance(plain, date):
        kind = _Type.TIMESTAMP if isinstance(plain, datetime) else _Type.DATE
        return kind, moment(plain)
    found = number(plain)
    if found is None:
        raise _Unsaid("Spark does not compare scalars with lists or objects")
    if found in INFINITE or (isinstance(plain, float) and not isinstance(found, int)):
        return _Type.DOUBLE, double(float(found))
    return _Type.NUMBER, _number(found)


def _number(value: Number) -> str:
    decimal = Decimal(value)
    if abs(decimal.adjusted()) > _LONGEST:
        raise _Unsaid(_TOO_LONG)
    text = f"{decimal:f}"
    _check_digits([text])
    return text


def _check_digits(numbers: Sequence[str]) -> None:
    """Whether one decimal type holds all of them, which is what Spark compares as."""
    parts = [text.lstrip("-").partition(".") for text in numbers]
    before = max((len(part[0].lstrip("0")) for part in parts), default=0)
    after = max((len(part[2]) for part in parts), default=0)
    if before + after > _LONGEST:
        raise _Unsaid(_TOO_LONG)


# Terms


def _is_column(term: Term) -> bool:
    return isinstance(term, Attribute) and len(term.steps) == 1


def _is_comparison(term: Term) -> bool:
    return isinstance(term, Call) and term.name in ("ordering", "compare")


def _comparison(term: Term, condition: conditions.In) -> Wording:
    """The order of two terms as the comparison that asks for it."""
    sign = COMPARED.get(condition.keys)
    if sign is None or not isinstance(term, Call):
        raise _Unsaid("Spark has no order of two values as a value")
    left, right = map(_term, term.arguments)
    return plainly(f"{left} {sign} {right}")


def _term(term: Term) -> str:
    match term:
        case Attribute():
            return _path(term)
        case WrittenLiteral(value):
            return "NULL" if value is None else _literal(value)[1]
        case Applied():
            return _subject(_term(root_of(term)), operations_of(term))[0]
        case Call(called, arguments):
            return _call(called, arguments)
        case Case(branches, otherwise):
            parts = [f"WHEN {to_sql(asked)} THEN {_term(then)}" for asked, then in branches]
            return f"CASE {' '.join(parts)} ELSE {_term(otherwise)} END"


_NOT_SPARKS = buckets.FUNCTIONS.keys() | foreign.FUNCTIONS.keys()


def _call(called: str, arguments: Sequence[Term]) -> str:
    """The call as Spark makes it without failing: what it cannot compute is NULL there, too."""
    if called in _NOT_SPARKS:
        raise _Unsaid(f"Spark has no function {called}")
    if called in _UNSAID:
        raise _Unsaid(f"Spark fails where {called}() has no result, or has no such function")
    if called == "add_interval":
        return _shifted(*arguments)
    texts = list(map(_term, arguments))
    worded = _WORDED.get((called, len(texts)))
    if worded is not None:
        return worded.format(*texts)
    if called in _BY_UNIT:
        return f"{called}({_unit(arguments[0])}, {', '.join(texts[1:])})"
    if called in casts.FUNCTIONS:
        size = f"({', '.join(texts[1:])})" if texts[1:] else ""
        return f"try_cast({texts[0]} AS {called.upper()}{size})"
    return f"{'try_' if called in _TRIED else ''}{called}({', '.join(texts)})"


def _unit(term: Term) -> str:
    if not isinstance(term, WrittenLiteral):
        raise _Unsaid("Spark's units of time are written, not computed")
    return str(term.value).upper()


def _shifted(moment: Term, *spans: Term) -> str:
    text = _term(moment)
    for span, unit in zip(spans, ("MONTH", "DAY", "SECOND"), strict=True):
        amount = span.value if isinstance(span, WrittenLiteral) else None
        if type(amount) is not int:
            raise _Unsaid("Spark's intervals are literals")
        if amount:
            spelt = f"{Decimal(amount).scaleb(-6):f}" if unit == "SECOND" else str(amount)
            text = f"({text} + INTERVAL '{spelt}' {unit})"
    return text


_TRIED = frozenset({  # of these there is a try_add and so on
    "add", "subtract", "multiply", "divide", "mod", "element_at", "to_date", "to_timestamp",
    "make_timestamp", "parse_url", "url_decode",
})  # fmt: skip
_WORDED = {  # what Spark writes in another way than as a call, by the number of arguments
    ("as_moment", 1): "{}",
    ("bitwise_and", 2): "({} & {})",
    ("bitwise_not", 1): "(~{})",
    ("bitwise_or", 2): "({} | {})",
    ("bitwise_xor", 2): "({} ^ {})",
    ("div", 2): "({} div nullif({}, 0))",
    ("elapsed", 2): "(unix_micros(timestamp({})) - unix_micros(timestamp({})))",
    ("like", 2): "({} LIKE {})",
    ("like", 3): "({} LIKE {} ESCAPE {})",
    ("negative", 1): "try_subtract(0, {})",
    ("pmod", 2): "pmod({}, nullif({}, 0))",
    ("second_with_fraction", 1): "extract(SECOND FROM {})",
    **{(name, 2): f"{name}({{1}}, {{0}})" for name in ("trim", "ltrim", "rtrim")},
}
_BY_UNIT = frozenset({"timestampadd", "timestampdiff"})
_UNSAID = frozenset({"compare", "ordering", "make_date", "conv", "elt", "bit_get", "sequence"})

# Mustang's operations


def _path(attribute: Attribute) -> str:
    first, *rest = attribute.steps or (None,)
    if not isinstance(first, str) or not first:
        raise _Unsaid("Spark has no such path")
    text = name(first)
    for step in rest:
        if isinstance(step, str) and step:
            text += f".{name(step)}"
        elif isinstance(step, Element) and step.at >= 0:
            text = f"get({text}, {step.at})"
        else:
            raise _Unsaid("Spark has no such path")
    return text


def _subject(path: str, chain: Sequence[operations.Operation]) -> tuple[str, _Type | None]:
    _check_arithmetic(chain)
    text, given = path, None
    for operation in chain:
        needed, given_next, text = _after(operation, text)
        _check(given, needed)
        given = given_next
    return text, given


def _after(operation: operations.Operation, text: str) -> tuple[_Type, _Type, str]:
    """What type the operation needs, what type it gives, and how it is said of `text`."""
    match operation:
        case operations.Calculate(operator, rhs):
            # as decimals, for Spark's integers overflow and its doubles are inexact
            return _Type.NUMBER, _Type.NUMBER, f"({text} {_SIGNS[operator]} {_operand(rhs)}BD)"
        case operations.Divide(operator, rhs) if rhs:
            return _Type.NUMBER, _Type.NUMBER, f"({text} {_SIGNS[operator]} {_number(rhs)})"
        case operations.Length():
            return _Type.STRING, _Type.NUMBER, f"length({text})"
        case operations.Size():
            return _Type.ARRAY, _Type.NUMBER, f"nullif(size({text}), 0)"  # empty is missing
        case operations.Substring(begin, end) if begin >= 0 and (end is None or end >= begin):
            length = "" if end is None else f", {end - begin}"
            return _Type.STRING, _Type.STRING, f"substring({text}, {begin + 1}{length})"
        case operations.DateTime(extract, zone) if extract in _FUNCTIONS:
            local = text if zone == "UTC" else f"from_utc_timestamp({text}, {string(zone)})"
            return _Type.MOMENT, _Type.NUMBER, f"{_FUNCTIONS[extract]}({local})"
        case (
            operations.Divide()
            | operations.Substring()
            | operations.DateTime()
            | operations.BinaryConversion()
            | operations.ToDateTime()
        ):
            raise _Unsaid(f"Spark has no equal of {type(operation).__name__}")


_SIGNS: dict[operations.Arithmetic | operations.Integral, str] = {
    operations.Arithmetic.ADDITION: "+",
    operations.Arithmetic.SUBTRACTION: "-",
    operations.Arithmetic.MULTIPLICATION: "*",
    operations.Integral.DIVISION: "div",
    operations.Integral.MODULO: "%",
}
_FUNCTIONS = {
    Extract.YEAR: "year",
    Extract.MONTH: "month",
    Extract.DAY_OF_MONTH: "day",
    Extract.DAY_OF_WEEK: "dayofweek",
    Extract.DAY_OF_YEAR: "dayofyear",
    Extract.HOUR_OF_DAY: "hour",
    Extract.MINUTE: "minute",
    Extract.SECOND: "second",
}


def _operand(rhs: Number) -> str:
    kind, text = _literal(rhs)
    if kind is _Type.DOUBLE:
        raise _Unsaid("Spark calculates inexactly with doubles")
    return text


def _check_arithmetic(chain: Sequence[operations.Operation]) -> None:
    digits, whole = 0, True
    for operation in chain:
        if isinstance(operation, operations.Calculate):
            text = _operand(operation.rhs)
            digits += len(text)
            whole &= "." not in text
        elif isinstance(operation, operations.Divide) and not whole:
            raise _Unsaid("Spark divides fractions otherwise")
    if digits > _SPARE:
        raise _Unsaid(_TOO_LONG)
