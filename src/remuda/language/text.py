"""The text form: a WHERE clause as Spark users write it, with SQL's three-valued logic.

NOT is pushed to the predicates while reading, where it is strong negation: on a missing attribute
neither a comparison nor its negation holds. `IS`, `<=>`, `exists` and `missing` have two values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotError
from sqlglot.tokenizer_core import Token

from remuda.errors import InvalidCriterion, ParseError
from remuda.language.literals import LITERAL_FUNCTIONS, is_literal, literal, text
from remuda.language.nodes import Refused, arguments, bare, column, function, made
from remuda.language.sql import to_sql
from remuda.language.subjects import SUBJECT_FUNCTIONS, Subject, is_subject, subject
from remuda.language.tokens import DIALECT, tokens
from remuda.language.writing import to_text
from remuda.model.conditions import (
    Absent,
    AnyElement,
    Comparison,
    Condition,
    Contains,
    EveryElement,
    Exists,
    In,
    Like,
    Missing,
    Network,
    NullValue,
    Prefix,
    Range,
    Regex,
    Related,
    Relation,
    SemVer,
    Suffix,
    Version,
)
from remuda.model.expressions import And, Expression, Or, Polarity, Predicate
from remuda.model.stacks import on_any_stack
from remuda.model.values import checked_text

__all__ = ["parse", "to_sql", "to_text"]


def parse(text: str) -> Expression:
    """Read the text form; ParseError, with its column, for anything that is not in it."""
    if not isinstance(text, str):
        raise TypeError(f"an expression is a string, not {text!r}")
    try:
        checked_text(text, "an expression")
        found = tokens(text, _FUNCTIONS)
        return on_any_stack(lambda: _read(_tree(found, text), False))
    except (ParseError, MemoryError):
        raise
    except Refused as refused:
        raise ParseError(refused.reason, text, column(refused.node)) from None
    except InvalidCriterion as error:
        raise ParseError(error.reason, text, 0) from None
    except RecursionError:
        raise ParseError("nested too deeply to be read", text, 0) from None
    except Exception:  # of some texts sqlglot makes trees that lack what a node must have
        raise ParseError("this is no condition", text, 0) from None


def _tree(found: list[Token], text: str) -> exp.Expr:
    try:
        (tree,) = DIALECT.parser().parse_into(exp.Condition, found, text)
    except SqlglotError as error:
        place = (error.errors[0]["line"], error.errors[0]["col"])
        at = next((token for token in found if (token.line, token.col) == place), found[-1])
        raise ParseError(_reason(error, at, text), text, at.start) from None
    if tree is None:
        raise ParseError("a condition is needed", text, 0)
    return tree


def _reason(error: SqlglotError, at: Token, text: str) -> str:
    """What sqlglot found wrong, in words for people who never heard of it."""
    description = str(error.errors[0]["description"])
    if "Unexpected token" in description:
        return f"unexpected {text[at.start : at.end + 1]}"
    if "missing for" in description:
        return f"something is missing next to {text[at.start : at.end + 1]}"
    return description[:1].lower() + description[1:]


def _read(node: exp.Expr, deny: bool) -> Expression:
    """The expression that holds where the node is true; with `deny`, where it is false."""
    while type(node) is exp.Paren or type(node) is exp.Not:
        deny ^= type(node) is exp.Not
        node = node.this
    kind = type(node)
    if kind is exp.And or kind is exp.Or:
        parts = [_read(part, deny) for part in _chain(node)]
        return And(*parts) if (kind is exp.And) != deny else Or(*parts)
    read = _PREDICATES.get(kind) or _PREDICATE_FUNCTIONS.get(function(node))
    if read is not None:
        return read(node, deny)
    return _strong(subject(node), In((True,)), deny)  # a bare column is a Boolean one


def _chain(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of `a AND b AND c`, which sqlglot nests to the left, thousands deep perhaps."""
    kind, right = type(node), []
    while type(node) is kind:
        right.append(node.expression)
        node = node.this
    yield node
    yield from reversed(right)


def _strong(subject: Subject, condition: Condition, deny: bool) -> Expression:
    """A predicate that, where the attribute is missing, neither holds nor is denied."""
    polarity = Polarity.STRONGLY_EXCLUDED if deny else Polarity.INCLUDED
    return Predicate(subject.term, condition, polarity)


def _flat(subject: Subject, condition: Condition, deny: bool) -> Expression:
    """A predicate with two values."""
    polarity = Polarity.EXCLUDED if deny else Polarity.INCLUDED
    return Predicate(subject.term, condition, polarity)


def _presence(subject: Subject, present: bool) -> Expression:
    condition = Exists() if present else Missing()
    return Predicate(subject.term, condition)


def _constant(node: exp.Expr, deny: bool) -> Expression:
    return And() if node.this != deny else Or()


# Comparisons

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}


def _comparison(node: exp.Expr, deny: bool) -> Expression:
    left, right, kind = node.this, node.expression, type(node)
    if is_literal(left) and not is_literal(right):
        left, right, kind = right, left, _MIRRORED.get(kind, kind)
    if not is_literal(right):
        raise Refused("a comparison needs a literal on one side", right)
    if function(bare(left)) == "version":
        return _strong(*_version(left, right, kind), deny)
    if function(bare(left)) == "semver":
        return _strong(*_semver(left, right, kind), deny != (kind is exp.NEQ))
    value, about = literal(right), subject(left)
    if kind in _NULL_SAFE:
        deny = deny != _NULL_SAFE[kind]
        if value is None:
            return _presence(about, deny)
        return _flat(about, made(right, In, (value,)), deny)
    if value is None:
        return Or()
    if kind in _EQUALITY:
        return _strong(about, made(right, In, (value,)), deny != _EQUALITY[kind])
    return _strong(about, _bound(kind, value, right), deny)


_EQUALITY: dict[type[exp.Expr], bool] = {exp.EQ: False, exp.NEQ: True}
_NULL_SAFE: dict[type[exp.Expr], bool] = {exp.NullSafeEQ: False, exp.NullSafeNEQ: True}


def _bound(kind: type[exp.Expr], value: Any, node: exp.Expr) -> Range:
    closed = kind in (exp.GTE, exp.LTE)
    if kind in (exp.GT, exp.GTE):
        return made(node, Range, lower=value, lower_closed=closed)
    return made(node, Range, upper=value, upper_closed=closed)


def _version(left: exp.Expr, right: exp.Expr, kind: type[exp.Expr]) -> tuple[Subject, Version]:
    if kind not in _MIRRORED:
        raise Refused("versions are compared with <, <=, > and >= alone", left)
    about = subject(*arguments(bare(left), 1))
    above, strict = kind in (exp.GT, exp.GTE), kind in (exp.GT, exp.LT)
    return about, Version(text(right), above, strict)


_COMPARISONS: dict[type[exp.Expr], Comparison] = {
    exp.EQ: Comparison.EQUAL,
    exp.NEQ: Comparison.EQUAL,
    exp.GT: Comparison.ABOVE,
    exp.GTE: Comparison.AT_LEAST,
    exp.LT: Comparison.BELOW,
    exp.LTE: Comparison.AT_MOST,
}


def _semver(left: exp.Expr, right: exp.Expr, kind: type[exp.Expr]) -> tuple[Subject, SemVer]:
    if kind not in _COMPARISONS:
        raise Refused("a semver() is compared with =, <>, <, <=, > and >=", left)
    about, *options = arguments(bare(left), 1, 3)
    said = [_flag(option, ("parts", "v")) for option in options]
    made_so = made(right, SemVer, text(right), _COMPARISONS[kind], **dict(said))
    return subject(about), made_so


def _flag(node: exp.Expr, known: tuple[str, ...]) -> tuple[str, bool]:
    """An option that is said by its name: `parts => TRUE`."""
    name = str(node.this.name) if type(node) is exp.Kwarg else ""
    if name not in known or type(node.expression) is not exp.Boolean:
        options = " and ".join(f"{one} => TRUE" for one in known)
        raise Refused(f"the options here are {options}", node)
    return name, bool(node.expression.this)


def _between(node: exp.Expr, deny: bool) -> Expression:
    low, high = node.args["low"], node.args["high"]
    if function(bare(node.this)) == "version":
        bounds: list[tuple[Subject, Condition]] = [
            _version(node.this, low, exp.GTE),
            _version(node.this, high, exp.LTE),
        ]
    elif function(bare(node.this)) == "semver":
        bounds = [_semver(node.this, low, exp.GTE), _semver(node.this, high, exp.LTE)]
    else:
        about, lower, upper = subject(node.this), literal(low), literal(high)
        if lower is not None and upper is not None:
            return _strong(about, made(low, Range, lower, upper, True, True), deny)
        bounds = [
            (about, _bound(kind, value, bound))
            for kind, value, bound in ((exp.GTE, lower, low), (exp.LTE, upper, high))
            if value is not None
        ]
        if not deny:
            return Or()  # one side is unknown, so both together are never true
    parts = [_strong(*bound, deny) for bound in bounds]
    return Or(*parts) if deny else And(*parts)


def _in(node: exp.Expr, deny: bool) -> Expression:
    if node.args.keys() - {"this", "expressions"}:
        raise Refused("IN needs its values in parentheses", node)
    if function(bare(node.this)) == "semver":
        parts = [_strong(*_semver(node.this, one, exp.EQ), deny) for one in node.expressions]
        return And(*parts) if deny else Or(*parts)
    values = [literal(value) for value in node.expressions]
    known = [value for value in values if value is not None]
    if deny and len(known) < len(values):
        return Or()  # the value might be the unknown one
    return _strong(subject(node.this), made(node, In, tuple(known)), deny)


def _like(node: exp.Expr, deny: bool, escape: str = "\\") -> Expression:
    pattern = literal(node.expression)
    if pattern is None:
        return Or()
    condition = made(node.expression, Like, text(node.expression), escape)
    return _strong(subject(node.this), condition, deny != bool(node.args.get("negate")))


def _escape(node: exp.Expr, deny: bool) -> Expression:
    inner = bare(node.this)
    if type(inner) is exp.Not:
        inner, deny = inner.this, not deny
    if type(inner) is not exp.Like:
        raise Refused("ESCAPE goes with LIKE alone", node.expression)
    return _like(inner, deny, text(node.expression))


def _rlike(node: exp.Expr, deny: bool) -> Expression:
    if literal(node.expression) is None:
        return Or()
    condition = made(node.expression, Regex, text(node.expression), find=True)
    return _strong(subject(node.this), condition, deny)


# IS


def _is(node: exp.Expr, deny: bool) -> Expression:
    tested, wanted = node.this, node.expression
    if type(wanted) is exp.Null:
        if is_subject(tested):
            return _presence(subject(tested), deny)
        known = _known(tested)
        return known if deny else ~known
    if type(wanted) is not exp.Boolean:
        raise Refused("IS goes with NULL, TRUE and FALSE", wanted)
    if is_subject(tested):
        return _flat(subject(tested), In((wanted.this,)), deny)
    held = _read(tested, not wanted.this)
    return ~held if deny else held


def _known(node: exp.Expr) -> Expression:
    """Where the condition is true or false, rather than unknown."""
    if any(_asks_unknown(part) for part in node.find_all(exp.Is)):
        raise Refused("IS NULL of a condition cannot be nested", node)  # each would double its size
    return Or(_read(node, False), _read(node, True))


def _asks_unknown(node: exp.Expr) -> bool:
    return type(node.expression) is exp.Null and not is_subject(node.this)


# Functions


def _exists(node: exp.Expr, deny: bool) -> Expression:
    return _presence(subject(*arguments(node, 1)), not deny)


def _missing(node: exp.Expr, deny: bool) -> Expression:
    return _presence(subject(*arguments(node, 1)), deny)


def _lack(condition: Condition, node: exp.Expr, deny: bool) -> Expression:
    return _flat(subject(*arguments(node, 1)), condition, deny)


def _of_elements(
    condition: type[AnyElement | EveryElement], node: exp.Expr, deny: bool
) -> Expression:
    about, asked = arguments(node, 2)
    if type(asked) is not exp.Lambda or len(asked.expressions) != 1:
        raise Refused(f"{function(node)}() needs a list and a condition, as e -> e.qty > 2", asked)
    for outside in asked.this.find_all(exp.Column):
        raise Refused("here only the element is known", outside)
    return _strong(subject(about), condition(_read(asked.this, False)), deny)


def _network(node: exp.Expr, deny: bool) -> Expression:
    if not node.expressions:
        raise Refused("cidr() needs an attribute and networks", node)
    about, *networks = node.expressions
    for one in networks:
        made(one, Network, (text(one),))  # refuses the one that is none
    return _strong(subject(about), Network(tuple(map(text, networks))), deny)


def _textual(condition: Callable[[str], Condition], node: exp.Expr, deny: bool) -> Expression:
    about, operand = arguments(node, 2)
    return _strong(subject(about), made(operand, condition, text(operand)), deny)


def _related(relation: Relation, node: exp.Expr, deny: bool) -> Expression:
    if not node.expressions:
        raise Refused(f"{function(node)}() needs an attribute and values", node)
    about, *values = node.expressions
    return _set(about, relation, values, node, deny)


def _array_contains(node: exp.Expr, deny: bool) -> Expression:
    about, value = arguments(node, 2)
    return _set(about, Relation.OVERLAPS, [value], node, deny)


def _arrays_overlap(node: exp.Expr, deny: bool) -> Expression:
    about, array = arguments(node, 2)
    if function(bare(about)) == "array":
        about, array = array, about
    if function(bare(array)) != "array":
        raise Refused("arrays_overlap() needs an attribute and array(...)", array)
    return _set(about, Relation.OVERLAPS, bare(array).expressions, node, deny)


def _set(
    about: exp.Expr, relation: Relation, values: list[exp.Expr], node: exp.Expr, deny: bool
) -> Expression:
    operands = tuple(literal(value) for value in values)
    return _strong(subject(about), made(node, Related, relation, operands), deny)


def _within(node: exp.Expr, deny: bool) -> Expression:
    about, low, high, ends = arguments(node, 4)
    if text(ends) not in ("[]", "[)", "(]", "()"):
        raise Refused("the ends of within() are '[]', '[)', '(]' or '()'", ends)
    closed = text(ends)[0] == "[", text(ends)[1] == "]"
    return _strong(subject(about), made(node, Range, literal(low), literal(high), *closed), deny)


def _is_number(node: exp.Expr, deny: bool) -> Expression:
    return _strong(subject(*arguments(node, 1)), Range(), deny)


Reader = Callable[[exp.Expr, bool], Expression]
_PREDICATES: dict[type[exp.Expr], Reader] = {
    **dict.fromkeys((*_EQUALITY, *_NULL_SAFE, *_MIRRORED), _comparison),
    exp.Between: _between,
    exp.Boolean: _constant,
    exp.Escape: _escape,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like,
    exp.Null: lambda *_: Or(),  # neither true nor false
    exp.RegexpLike: _rlike,
}
_PREDICATE_FUNCTIONS: dict[str, Reader] = {
    "any_element": partial(_of_elements, AnyElement),
    "every_element": partial(_of_elements, EveryElement),
    "absent": partial(_lack, Absent()),
    "array_contains": _array_contains,
    "arrays_overlap": _arrays_overlap,
    "cidr": _network,
    "contains": partial(_textual, Contains),
    "endswith": partial(_textual, Suffix),
    "exists": _exists,
    "is_number": _is_number,
    "matches": partial(_textual, Regex),
    "missing": _missing,
    "null_value": partial(_lack, NullValue()),
    "startswith": partial(_textual, Prefix),
    "within": _within,
    **{str(relation): partial(_related, relation) for relation in Relation},
}
_FUNCTIONS = frozenset(
    {*_PREDICATE_FUNCTIONS, *SUBJECT_FUNCTIONS, *LITERAL_FUNCTIONS, "array", "semver", "version"}
)
