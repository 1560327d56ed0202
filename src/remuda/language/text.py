"""The text form: a WHERE clause as Spark users write it, with SQL's three-valued logic.

NOT is pushed to the predicates while reading, where it is strong negation: on a missing attribute
neither a comparison nor its negation holds. `IS`, `<=>`, `exists` and `missing` have two values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotError
from sqlglot.tokenizer_core import Token

from remuda.errors import InvalidCriterion, ParseError
from remuda.language.literals import LITERAL_FUNCTIONS, is_literal, literal, text
from remuda.language.nodes import Refused, arguments, bare, column, flag, function, made
from remuda.language.sql import to_sql
from remuda.language.terms import TERM_FUNCTIONS, TermReader, as_moment, has_moment, lightened
from remuda.language.tokens import DIALECT, tokens
from remuda.language.writing import to_text
from remuda.model import conditions
from remuda.model.attributes import Attribute
from remuda.model.conditions import Comparison, Condition, In, Relation, SemVer, Version, range_of
from remuda.model.expressions import And, Expression, Or, Polarity, Predicate
from remuda.model.functions import ABOVE, BELOW, EQUAL, FUNCTIONS
from remuda.model.quoted import Moment, Quoted, quoted
from remuda.model.stacks import on_any_stack
from remuda.model.terms import Call, Literal, Term
from remuda.model.values import checked_text

__all__ = ["parse", "to_sql", "to_text"]


def parse(text: str) -> Expression:
    """Read the text form; ParseError, with its column, for anything that is not in it."""
    if not isinstance(text, str):
        raise TypeError(f"an expression is a string, not {text!r}")
    try:
        checked_text(text, "an expression")
        found = tokens(text, FUNCTION_NAMES)
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
    about = _term(node)  # a bare column is a Boolean one
    if isinstance(about, Literal) and not isinstance(about.value, bool | None):
        raise Refused("a condition is needed here, not a literal", node)
    return _strong(about, In((True,)), deny)


def _is_condition(node: exp.Expr) -> bool:
    kind = type(node)
    if kind in (exp.And, exp.Or, exp.Not):
        return True
    is_constant = kind is exp.Boolean or kind is exp.Null
    return (kind in _PREDICATES and not is_constant) or function(node) in _PREDICATE_FUNCTIONS


def _chain(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of `a AND b AND c`, which sqlglot nests to the left, thousands deep perhaps."""
    kind, right = type(node), []
    while type(node) is kind:
        right.append(node.expression)
        node = node.this
    yield node
    yield from reversed(right)


_TERMS = TermReader(_read, _is_condition)
_term = _TERMS.term


def _strong(about: Term, condition: Condition, deny: bool) -> Expression:
    """A predicate that, where the term is missing, neither holds nor is denied."""
    polarity = Polarity.STRONGLY_EXCLUDED if deny else Polarity.INCLUDED
    return Predicate(lightened(about, condition, polarity), condition, polarity)


def _flat(about: Term, condition: Condition, deny: bool) -> Expression:
    """A predicate with two values."""
    polarity = Polarity.EXCLUDED if deny else Polarity.INCLUDED
    return Predicate(lightened(about, condition, polarity), condition, polarity)


def _presence(about: Term, present: bool) -> Expression:
    return Predicate(about, conditions.Exists() if present else conditions.Missing())


def _constant(node: exp.Expr, deny: bool) -> Expression:
    return And() if node.this != deny else Or()


# Comparisons

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}
_ORDERS: dict[type[exp.Expr], tuple[int, ...]] = {
    exp.EQ: (EQUAL,),
    exp.NEQ: (EQUAL,),
    exp.GT: (ABOVE,),
    exp.GTE: (ABOVE, EQUAL),
    exp.LT: (BELOW,),
    exp.LTE: (BELOW, EQUAL),
    exp.NullSafeEQ: (EQUAL,),
    exp.NullSafeNEQ: (EQUAL,),
}
_DENIALS = frozenset({exp.NEQ, exp.NullSafeNEQ})
_NULL_SAFE = frozenset({exp.NullSafeEQ, exp.NullSafeNEQ})
_EQUALITY = frozenset({exp.EQ, exp.NEQ}) | _NULL_SAFE


class _Side(NamedTuple):
    """One side of a comparison; a plain one has no readings but itself."""

    term: Term
    is_plain: bool
    node: exp.Expr

    @property
    def operand(self) -> Any:
        """The value to compare with: quoted and typed literals stand for all their readings."""
        assert isinstance(self.term, Literal)
        value = self.term.value
        if self.is_plain:
            return value
        if type(value) is str:
            return quoted(value)
        return Moment(value) if isinstance(value, date) else value


def _side(node: exp.Expr) -> _Side:
    if function(bare(node)) == "array":
        raise Refused("lists are compared by equalset(), subset(), superset(), overlaps()", node)
    return _Side(_term(node), function(bare(node)) == "plain", node)


def _literals(*nodes: exp.Expr) -> list[_Side]:
    """Sides that no event changes."""
    sides = list(map(_side, nodes))
    for one in sides:
        if not isinstance(one.term, Literal):
            raise Refused("a literal is needed here", one.node)
    return sides


def _sides(*nodes: exp.Expr) -> list[_Side]:
    """What is compared; beside an INTERVAL all are spans of time."""
    if any(map(_TERMS.is_span, nodes)):
        return [_Side(_TERMS.span(node), True, node) for node in nodes]
    return list(map(_side, nodes))


def _comparison(node: exp.Expr, deny: bool) -> Expression:
    left, right, kind = node.this, node.expression, type(node)
    if function(bare(right)) in ("version", "semver"):
        left, right, kind = right, left, _MIRRORED.get(kind, kind)
    if function(bare(left)) == "version":
        return _strong(*_version(left, right, kind), deny)
    if function(bare(left)) == "semver":
        return _strong(*_semver(left, right, kind), deny != (kind in _DENIALS))
    if _is_tuple(left) or _is_tuple(right):
        return _of_tuples(left, right, kind, deny)
    return _compared_sides(left, right, kind, deny)


def _compared_sides(
    left: exp.Expr, right: exp.Expr, kind: type[exp.Expr], deny: bool
) -> Expression:
    one, other = _sides(left, right)
    return _compared(one, other, kind, deny)


def _is_tuple(node: exp.Expr) -> bool:
    return type(bare(node)) is exp.Tuple or function(bare(node)) == "struct"


def _of_tuples(left: exp.Expr, right: exp.Expr, kind: type[exp.Expr], deny: bool) -> Expression:
    """Tuples are equal where all their parts are; to Spark a null in them equals a null."""
    pair = [bare(node).expressions if _is_tuple(node) else [] for node in (left, right)]
    if kind not in _EQUALITY or len(pair[0]) != len(pair[1]):
        raise Refused("tuples are compared with =, <> and IN, and with tuples as long", left)
    both = zip(*pair, strict=True)
    equal = And(*(_compared_sides(one, two, exp.NullSafeEQ, False) for one, two in both))
    return ~equal if deny != (kind in _DENIALS) else equal


def _compared(left: _Side, right: _Side, kind: type[exp.Expr], deny: bool) -> Expression:
    constants = isinstance(left.term, Literal), isinstance(right.term, Literal)
    if all(constants):
        if isinstance(left.operand, Quoted) and not isinstance(right.operand, Quoted | str):
            left, right, kind = right, left, _MIRRORED.get(kind, kind)
        return _of_constants(left, right, kind, deny)
    if constants[0]:
        left, right, kind = right, left, _MIRRORED.get(kind, kind)
    if not any(constants):
        return _of_terms(left.term, right.term, kind, deny)
    value = right.operand
    deny = deny != (kind in _DENIALS)
    if kind in _NULL_SAFE:
        if value is None:
            return _presence(left.term, deny)
        condition = made(right.node, In, (value,))
        return _flat(_seen(left, condition), condition, deny)
    return Or() if value is None else _asked(left, _condition(kind, value, right.node), deny)


def _of_constants(left: _Side, right: _Side, kind: type[exp.Expr], deny: bool) -> Expression:
    """A comparison that no event changes: always true, or never."""
    assert isinstance(left.term, Literal)
    value, other = left.term.value, right.operand
    deny = deny != (kind in _DENIALS)
    if value is None or other is None:
        same = value is None and other is None
        return And() if kind in _NULL_SAFE and same != deny else Or()
    return (
        And()
        if conditions.satisfies(_condition(kind, other, right.node), value, 0) != deny
        else Or()
    )


def _of_terms(left: Term, right: Term, kind: type[exp.Expr], deny: bool) -> Expression:
    deny = deny != (kind in _DENIALS)
    order = Call("ordering", (left, right))
    if kind not in _NULL_SAFE:
        return _strong(order, In(_ORDERS[kind]), deny)
    both_missing = And(_presence(left, False), _presence(right, False))
    equal = Or(_strong(order, In((EQUAL,)), False), both_missing)
    return ~equal if deny else equal


def _asked(side: _Side, condition: Condition, deny: bool) -> Expression:
    return _strong(_seen(side, condition), condition, deny)


def _seen(side: _Side, condition: Condition) -> Term:
    """What the condition looks at: texts in ISO form as moments, where it compares with one."""
    return as_moment(side.term) if has_moment(condition) and not side.is_plain else side.term


def _condition(kind: type[exp.Expr], value: Any, node: exp.Expr) -> Condition:
    if kind in _EQUALITY:
        return made(node, In, (value,))
    closed = kind in (exp.GTE, exp.LTE)
    if kind in (exp.GT, exp.GTE):
        return made(node, range_of, value, None, closed)
    return made(node, range_of, None, value, False, closed)


def _version(left: exp.Expr, right: exp.Expr, kind: type[exp.Expr]) -> tuple[Term, Version]:
    if kind not in _MIRRORED:
        raise Refused("versions are compared with <, <=, > and >= alone", left)
    about = _term(*arguments(bare(left), 1))
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


def _semver(left: exp.Expr, right: exp.Expr, kind: type[exp.Expr]) -> tuple[Term, SemVer]:
    if kind not in _COMPARISONS:
        raise Refused("a semver() is compared with =, <>, <, <=, > and >=", left)
    about, *options = arguments(bare(left), 1, 3)
    said = [flag(option, ("parts", "v")) for option in options]
    made_so = made(right, SemVer, text(right), _COMPARISONS[kind], **dict(said))
    return _term(about), made_so


_VERSIONS: dict[str, Callable[[exp.Expr, exp.Expr, type[exp.Expr]], tuple[Term, Condition]]] = {
    "version": _version,
    "semver": _semver,
}


def _between(node: exp.Expr, deny: bool) -> Expression:
    low, high = node.args["low"], node.args["high"]
    versions = _VERSIONS.get(function(bare(node.this)))
    if versions is not None:
        ends = (low, exp.GTE), (high, exp.LTE)
        parts = [_strong(*versions(node.this, end, kind), deny) for end, kind in ends]
        return Or(*parts) if deny else And(*parts)
    about, lower, upper = _sides(node.this, low, high)
    if _is_known(lower) and _is_known(upper) and not isinstance(about.term, Literal):
        condition = made(low, range_of, lower.operand, upper.operand, True, True)
        return _asked(about, condition, deny)
    bounds = [(exp.GTE, lower), (exp.LTE, upper)]
    known = [one for one in bounds if _is_known(one[1]) or not isinstance(one[1].term, Literal)]
    parts = [_compared(about, side, kind, deny) for kind, side in known]
    if deny:
        return Or(*parts)
    return And(*parts) if len(known) == len(bounds) else Or()  # one unknown side is enough


def _is_known(side: _Side) -> bool:
    return isinstance(side.term, Literal) and side.term.value is not None


def _in(node: exp.Expr, deny: bool) -> Expression:
    if node.args.keys() - {"this", "expressions"}:
        raise Refused("IN needs its values in parentheses", node)
    if function(bare(node.this)) == "semver":
        parts = [_strong(*_semver(node.this, one, exp.EQ), deny) for one in node.expressions]
        return And(*parts) if deny else Or(*parts)
    if _is_tuple(node.this):
        parts = [_of_tuples(node.this, one, exp.EQ, deny) for one in node.expressions]
        return And(*parts) if deny else Or(*parts)
    about, *sides = _sides(node.this, *node.expressions)
    known = [one for one in sides if _is_known(one)]
    if isinstance(about.term, Literal) and about.term.value is None:
        return Or()  # also where there is nothing that it could be
    if isinstance(about.term, Literal) or not all(isinstance(one.term, Literal) for one in sides):
        parts = [_compared(about, one, exp.EQ, deny) for one in sides]
        return And(*parts) if deny else Or(*parts)
    if deny and len(known) < len(sides):
        return Or()  # the value might be the unknown one
    return _asked(about, made(node, In, tuple(one.operand for one in known)), deny)


# Patterns


def _like(node: exp.Expr, deny: bool, escape: str = "\\") -> Expression:
    negated, quantifier = bool(node.args.get("negate")), type(node.expression)
    if quantifier is exp.Any or quantifier is exp.All:
        inner = bare(node.expression.this)
        patterns = inner.expressions if type(inner) is exp.Tuple else [inner]
        parts = [_liked(node, pattern, deny != negated, escape) for pattern in patterns]
        return Or(*parts) if (quantifier is exp.Any) != deny else And(*parts)
    return _liked(node, node.expression, deny != negated, escape)


def _liked(node: exp.Expr, pattern: exp.Expr, deny: bool, escape: str) -> Expression:
    return _fitted(_term(node.this), pattern, type(node) is exp.ILike, escape, deny)


def _fitted(about: Term, pattern: exp.Expr, folds: bool, escape: str, deny: bool) -> Expression:
    """A text that fits a pattern, which may be a term."""
    spelt = _term(pattern)
    if folds:
        about = Call("lower", (about,))
        spelt = Call("lower", (spelt,)) if not isinstance(spelt, Literal) else spelt
    if not isinstance(spelt, Literal):
        sign = () if escape == "\\" else (Literal(escape),)
        return _true(made(pattern, Call, "like", (about, spelt, *sign)), deny)
    if spelt.value is None:
        return Or()
    fits = _text_of(spelt, pattern)
    return _strong(
        about, made(pattern, conditions.Like, fits.lower() if folds else fits, escape), deny
    )


def _true(about: Term, deny: bool) -> Expression:
    """A term that is true, false or missing."""
    return _strong(about, In((True,)), deny)


def _pattern(node: exp.Expr) -> str:
    """The text that a constant node spells."""
    found = _term(node)
    if not isinstance(found, Literal):
        raise Refused(
            "a regular expression is a constant here; LIKE and contains() take terms", node
        )
    return _text_of(found, node)


def _text_of(found: Literal, node: exp.Expr) -> str:
    if type(found.value) is not str:
        raise Refused("a pattern is a string", node)
    return found.value


def _escape(node: exp.Expr, deny: bool) -> Expression:
    inner = bare(node.this)
    if type(inner) is exp.Not:
        inner, deny = inner.this, not deny
    if type(inner) not in (exp.Like, exp.ILike):
        raise Refused("ESCAPE goes with LIKE alone", node.expression)
    return _like(inner, deny, text(node.expression))


def _found(about: exp.Expr, pattern: exp.Expr, deny: bool) -> Expression:
    if type(bare(pattern)) is exp.Null:
        return Or()
    return _strong(_term(about), made(pattern, conditions.Regex.of_java, _pattern(pattern)), deny)


# IS


def _is(node: exp.Expr, deny: bool) -> Expression:
    tested, wanted = node.this, node.expression
    if type(wanted) is exp.Null:
        if _TERMS.is_term(tested):
            return _presence(_term(tested), deny)
        known = _known(tested)
        return known if deny else ~known
    if type(wanted) is not exp.Boolean:
        raise Refused("IS goes with NULL, TRUE and FALSE", wanted)
    if _TERMS.is_term(tested):
        return _flat(_term(tested), In((wanted.this,)), deny)
    held = _read(tested, not wanted.this)
    return ~held if deny else held


def _known(node: exp.Expr) -> Expression:
    """Where the condition is true or false, rather than unknown."""
    if any(_asks_unknown(part) for part in node.find_all(exp.Is)):
        raise Refused("IS NULL of a condition cannot be nested", node)  # each would double its size
    return Or(_read(node, False), _read(node, True))


def _asks_unknown(node: exp.Expr) -> bool:
    return type(node.expression) is exp.Null and not _TERMS.is_term(node.this)


# Functions


def _exists(present: bool, node: exp.Expr, deny: bool) -> Expression:
    """With our own words an empty list is missing, as everywhere but in SQL."""
    if present and len(node.expressions) == 2:
        return _quantified(False, node, deny)
    about = _term(*arguments(node, 1))
    if isinstance(about, Attribute):
        about = replace(about, empty=False)
    return _presence(about, present != deny)


def _isnull(present: bool, node: exp.Expr, deny: bool) -> Expression:
    return _presence(_term(*arguments(node, 1)), present != deny)


def _lack(condition: Condition, node: exp.Expr, deny: bool) -> Expression:
    (about,) = arguments(node, 1)
    return made(node, _flat, _term(about), condition, deny)


def _quantified(every: bool, node: exp.Expr, deny: bool) -> Expression:
    """Spark's exists(x, e -> ...) or forall: the denial of one is the other of what is denied."""
    about, asked = _lambda(node, deny)
    condition = conditions.EveryElement if every != deny else conditions.AnyElement
    return made(node, _strong, about, condition(asked), False)


def _of_elements(
    condition: type[conditions.AnyElement | conditions.EveryElement], node: exp.Expr, deny: bool
) -> Expression:
    about, asked = _lambda(node, False)
    return made(node, _strong, about, condition(asked), deny)


def _lambda(node: exp.Expr, deny: bool) -> tuple[Term, Expression]:
    """A list, and what is asked of its elements."""
    about, asked = arguments(node, 2)
    if type(asked) is not exp.Lambda or len(asked.expressions) != 1:
        raise Refused(f"{function(node)}() needs a list and a condition, as e -> e.qty > 2", asked)
    for outside in asked.this.find_all(exp.Column):
        raise Refused("only the element itself is known here", outside)
    return _term(about), _read(asked.this, deny)


def _network(node: exp.Expr, deny: bool) -> Expression:
    if not node.expressions:
        raise Refused("cidr() needs an attribute and networks", node)
    about, *networks = node.expressions
    for one in networks:
        made(one, conditions.Network, (text(one),))  # refuses the one that is none
    return _strong(_term(about), conditions.Network(tuple(map(text, networks))), deny)


def _under(node: exp.Expr, deny: bool) -> Expression:
    about, tree, place = arguments(node, 3)
    condition = made(place, conditions.Under, text(tree), literal(place))
    return _strong(_term(about), condition, deny)


def _textual(condition: Callable[[str], Condition], node: exp.Expr, deny: bool) -> Expression:
    about, operand = arguments(node, 2)
    spelt = _term(operand)
    if isinstance(spelt, Literal) and spelt.value is None:
        return Or()
    if not isinstance(spelt, Literal) and function(node) in FUNCTIONS:
        return _true(Call(function(node), (_term(about), spelt)), deny)
    return _strong(_term(about), made(operand, condition, _pattern(operand)), deny)


def _like_call(folds: bool, node: exp.Expr, deny: bool) -> Expression:
    about, pattern, *escape = arguments(node, 2, 3)
    return _fitted(_term(about), pattern, folds, text(*escape) if escape else "\\", deny)


def _equal_null(node: exp.Expr, deny: bool) -> Expression:
    left, right = arguments(node, 2)
    return _compared_sides(left, right, exp.NullSafeEQ, deny)


def _regexp(node: exp.Expr, deny: bool) -> Expression:
    about, pattern = arguments(node, 2)
    return _found(about, pattern, deny)


def _related(relation: Relation, node: exp.Expr, deny: bool) -> Expression:
    if not node.expressions:
        raise Refused(f"{function(node)}() needs an attribute and values", node)
    about, *values = node.expressions
    return _set(about, relation, values, node, deny)


def _array_contains(node: exp.Expr, deny: bool) -> Expression:
    about, value = arguments(node, 2)
    if function(bare(about)) == "array":
        return _in(exp.In(this=value, expressions=bare(about).expressions), deny)
    if not isinstance(_term(value), Literal):
        return _true(Call("array_contains", (_term(about), _term(value))), deny)
    return _set(about, Relation.OVERLAPS, [value], node, deny)


def _arrays_overlap(node: exp.Expr, deny: bool) -> Expression:
    about, array = arguments(node, 2)
    if function(bare(about)) == "array":
        about, array = array, about
    if function(bare(array)) != "array" or not all(map(is_literal, bare(array).expressions)):
        return _true(Call("arrays_overlap", (_term(about), _term(array))), deny)
    return _set(about, Relation.OVERLAPS, bare(array).expressions, node, deny)


def _set(
    about: exp.Expr,
    relation: Relation,
    values: Sequence[exp.Expr],
    node: exp.Expr,
    deny: bool,
) -> Expression:
    if relation is not Relation.OVERLAPS:
        operands = tuple(map(literal, values))
        return _strong(_term(about), made(node, conditions.Related, relation, operands), deny)
    sides = _literals(*values)
    if any(not _is_known(one) for one in sides) and function(node).startswith("array"):
        if len(sides) > 1:
            raise Refused("null is no element to look for here", node)
        return Or()
    condition = made(node, conditions.Related, relation, tuple(one.operand for one in sides))
    return _strong(_term(about), condition, deny)


def _within(node: exp.Expr, deny: bool) -> Expression:
    about, low, high, ends = arguments(node, 4)
    if text(ends) not in ("[]", "[)", "(]", "()"):
        raise Refused("the ends of within() are '[]', '[)', '(]' or '()'", ends)
    closed = text(ends)[0] == "[", text(ends)[1] == "]"
    lower, upper = _literals(low, high)
    condition = made(node, range_of, lower.operand, upper.operand, *closed)
    return _asked(_side(about), condition, deny)


def _is_number(node: exp.Expr, deny: bool) -> Expression:
    return _strong(_term(*arguments(node, 1)), conditions.Range(), deny)


Reader = Callable[[exp.Expr, bool], Expression]
_PREDICATES: dict[type[exp.Expr], Reader] = {
    **dict.fromkeys(_ORDERS, _comparison),
    exp.Between: _between,
    exp.Boolean: _constant,
    exp.Escape: _escape,
    exp.ILike: _like,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like,
    exp.Null: lambda *_: Or(),  # neither true nor false
    exp.RegexpLike: lambda node, deny: _found(node.this, node.expression, deny),
}
_PREDICATE_FUNCTIONS: dict[str, Reader] = {
    "any_element": partial(_of_elements, conditions.AnyElement),
    "every_element": partial(_of_elements, conditions.EveryElement),
    "forall": partial(_quantified, True),
    "absent": partial(_lack, conditions.Absent()),
    "array_contains": _array_contains,
    "arrays_overlap": _arrays_overlap,
    "cidr": _network,
    "contains": partial(_textual, conditions.Contains),
    "endswith": partial(_textual, conditions.Suffix),
    "equal_null": _equal_null,
    "exists": partial(_exists, True),
    "ilike": partial(_like_call, True),
    "like": partial(_like_call, False),
    "finds": partial(_textual, partial(conditions.Regex, find=True)),
    "is_number": _is_number,
    "isnotnull": partial(_isnull, True),
    "isnull": partial(_isnull, False),
    "matches": partial(_textual, conditions.Regex),
    "missing": partial(_exists, False),
    "null_value": partial(_lack, conditions.NullValue()),
    "regexp": _regexp,
    "regexp_like": _regexp,
    "rlike": _regexp,
    "startswith": partial(_textual, conditions.Prefix),
    "under": _under,
    "within": _within,
    **{str(relation): partial(_related, relation) for relation in Relation},
}
FUNCTION_NAMES = frozenset(
    {*_PREDICATE_FUNCTIONS, *TERM_FUNCTIONS, *LITERAL_FUNCTIONS, "semver", "struct", "version"}
)
