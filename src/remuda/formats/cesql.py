"""CloudEvents SQL: `type LIKE 'com.%' AND INT(hop) < 10`.

A document is the text of an expression, an object with `expression` and perhaps `id`, or a list of
such. Where CESQL raises an error (a missing attribute, a cast that cannot be made, a division by
zero), the expression is not true, nor is its negation; what decides before that is not undone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    ALWAYS,
    NEVER,
    RANGES,
    Readings,
    Rule,
    all_of,
    an_object,
    at,
    conjunction,
    decoded,
    disjunction,
    each,
    id_in,
    numbered,
    refusing,
    text_in,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import Condition, Exists, In, Regex, satisfies
from remuda.model.expressions import Expression, Polarity, Predicate
from remuda.model.functions.foreign import cesql_boolean, cesql_integer, cesql_string
from remuda.model.patterns import literal_regex
from remuda.model.terms import Call, Case, Literal, Term

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<number>\d+)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><>|!=|<=|>=|[-+*/%=<>(),]))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED_QUOTE = re.compile(r"\\(['\"])")
_MOST_DIGITS = 100  # of a number; what is beyond 32 bits makes an error, as in any calculation
_LIKE_PART = re.compile(r"\\([%_])|([%_])")


def read(document: Any, *, id: str = "expression") -> list[Criterion]:
    """The criteria of an expression, which gets the id, or of a list of expressions."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """Every expression as a criterion, or as the error that says what is wrong with it."""
    found = decoded(document) if isinstance(document, bytes) else document
    yield from each(numbered(found, id), _criterion, _named)


def _named(rule: Rule) -> Rule:
    place, name, said = rule
    return place, id_in(said, "id", name) if isinstance(said, Mapping) else name, said


def _criterion(name: str, rule: Any) -> Criterion:
    if isinstance(rule, str):
        return Criterion(name, parse(rule))
    text = text_in(an_object(rule, "a rule"), "expression", "a rule")
    with at("expression"):
        return Criterion(name, parse(text))


def parse(text: str) -> Expression:
    """What the text asks; InvalidCriterion has the column where it is not in the language."""
    return _Reader(text, _tokens(text)).whole().yes


# What an expression becomes


class Value(NamedTuple):
    """A value by its term; its kind, where it is known before any event."""

    term: Term
    kind: type | None

    @property
    def truth(self) -> Truth:
        term = self.as_(bool)
        return Truth(_asked(term, In((True,))), _asked(term, In((False,))))

    def as_(self, kind: type) -> Term:
        return self.term if self.kind is kind else _folded(_CASTS[kind], self.term)


class Truth(NamedTuple):
    """Where an expression is true and where it is false; elsewhere it is in error."""

    yes: Expression
    no: Expression

    @property
    def value(self) -> Value:
        if self.yes in (ALWAYS, NEVER) and self.no in (ALWAYS, NEVER):
            known = True if self.yes == ALWAYS else False if self.no == ALWAYS else None
            return Value(Literal(known), bool)
        branches = (self.yes, Literal(True)), (self.no, Literal(False))
        return Value(Case(branches), bool)

    @property
    def denied(self) -> Truth:
        return Truth(self.no, self.yes)


Node = Value | Truth
_CASTS = {bool: "cesql_boolean", int: "cesql_integer", str: "cesql_string"}


def _truth(node: Node) -> Truth:
    return node.truth if isinstance(node, Value) else node


def _value(node: Node) -> Value:
    return node if isinstance(node, Value) else node.value


def _folded(name: str, *terms: Term) -> Term:
    """The function of terms; its value where all of them are literals."""
    made = Call(name, terms)
    literal = all(isinstance(one, Literal) for one in terms)
    return Literal(made.computed({}, 0)) if literal else made


def _asked(term: Term, condition: Condition, *, denied: bool = False) -> Expression:
    if isinstance(term, Literal):
        held = satisfies(condition, term.value, 0)
        return ALWAYS if term.value is not None and held is not denied else NEVER
    return Predicate(term, condition, Polarity.STRONGLY_EXCLUDED if denied else Polarity.INCLUDED)


def _tested(term: Term, condition: Condition) -> Truth:
    return Truth(_asked(term, condition), _asked(term, condition, denied=True))


def _and(first: Truth, second: Truth) -> Truth:
    after = conjunction([first.yes, second.no])
    return Truth(conjunction([first.yes, second.yes]), disjunction([first.no, after]))


def _or(first: Truth, second: Truth) -> Truth:
    return _and(first.denied, second.denied).denied


def _xor(first: Truth, second: Truth) -> Truth:
    differ = [conjunction([first.yes, second.no]), conjunction([first.no, second.yes])]
    same = [conjunction([first.yes, second.yes]), conjunction([first.no, second.no])]
    return Truth(disjunction(differ), disjunction(same))


def _halved(join: Callable[[Truth, Truth], Truth], truths: list[Truth]) -> Truth:
    """All of them joined, half with half: one after the other, each would hold those before it."""
    if len(truths) == 1:
        return truths[0]
    middle = (len(truths) + 1) // 2
    return join(_halved(join, truths[:middle]), _halved(join, truths[middle:]))


def _equal(first: Value, second: Value) -> Truth:
    """The first is cast to the kind of the second."""
    if second.kind is None:
        return Value(_folded("cesql_equal", first.term, second.term), bool).truth
    if not isinstance(second.term, Literal):
        return _tested(_folded("compare", first.as_(second.kind), second.term), In((0,)))
    if second.term.value is None:
        return Truth(NEVER, NEVER)
    if second.kind is str and isinstance(first.term, Attribute):
        return _tested(first.term, In(_spelt(second.term.value)))
    return _tested(first.as_(second.kind), In((second.term.value,)))


def _spelt(text: Any) -> tuple[Any, ...]:
    """The values of any kind whose text this is."""
    others = [one for one in (True, False, cesql_integer(text)) if cesql_string(one) == text]
    return text, *others


def _member(value: Value, options: list[Value]) -> Truth:
    """The value is one of these, each cast to its kind."""
    plain = [one.term.value for one in options if isinstance(one.term, Literal)]
    found = [_equal(one, value) for one in options if not isinstance(one.term, Literal)]
    if plain:
        kinds = [value.kind] if value.kind else [bool, int, str]
        casts = [_PLAIN[kind](one) for one in plain for kind in kinds]
        found.append(_tested(value.term, In(tuple(one for one in casts if one is not None))))
    return Truth(disjunction(one.yes for one in found), conjunction(one.no for one in found))


_PLAIN: Mapping[type, Callable[[Any], Any]] = {
    bool: cesql_boolean,
    int: cesql_integer,
    str: cesql_string,
}


def _like(value: Value, pattern: str) -> Truth:
    parts, start = [], 0
    for match in _LIKE_PART.finditer(pattern):
        parts.append(literal_regex(pattern[start : match.start()]))
        parts.append(literal_regex(match[1]) if match[1] else _WILD[match[2]])
        start = match.end()
    parts.append(literal_regex(pattern[start:]))
    return _tested(value.as_(str), Regex("".join(parts)))


_WILD = {"%": "(?s:.*)", "_": "(?s:.)"}
_ORDERS = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
_SUMS = {"+": "add", "-": "subtract"}
_PRODUCTS = {"*": "multiply", "/": "div", "%": "mod"}


def _ordered(sign: str, first: Value, second: Value) -> Truth:
    left, right = first.as_(int), second.as_(int)
    if not isinstance(right, Literal):
        return _tested(_folded("compare", left, right), In(_ORDERS[sign]))
    return Truth(NEVER, NEVER) if right.value is None else _tested(left, RANGES[sign](right.value))


def _calculated(name: str, *operands: Value) -> Value:
    """A whole number of 32 bits."""
    result = _folded(name, *(one.as_(int) for one in operands))
    return Value(_folded("cesql_integer", result), int)


def _concatenated(parts: list[Value]) -> Value:
    texts = [one.as_(str) for one in parts]
    return Value(_folded("concat", *texts) if texts else Literal(""), str)


def _joined(parts: list[Value]) -> Value:
    separator, *texts = parts
    return _concatenated([one for text in texts for one in (separator, text)][1:])


def _of_texts(name: str, kind: type) -> Callable[[list[Value]], Value]:
    return lambda parts: Value(_folded(name, *(one.as_(str) for one in parts)), kind)


def _of_text(name: str) -> Callable[[list[Value]], Value]:
    """A text of a text and numbers."""
    return lambda parts: Value(
        _folded(name, parts[0].as_(str), *(one.as_(int) for one in parts[1:])), str
    )


def _cast(kind: type) -> Callable[[list[Value]], Value]:
    return lambda parts: Value(parts[0].as_(kind), kind)


def _is(name: str) -> Callable[[list[Value]], Value]:
    return lambda parts: Value(_folded(name, parts[0].term), bool)


@dataclass(frozen=True, slots=True)
class _Function:
    least: int
    most: int | None
    make: Callable[[list[Value]], Value]


_FUNCTIONS: Mapping[str, _Function] = {
    "INT": _Function(1, 1, _cast(int)),
    "BOOL": _Function(1, 1, _cast(bool)),
    "STRING": _Function(1, 1, _cast(str)),
    "IS_INT": _Function(1, 1, _is("cesql_is_integer")),
    "IS_BOOL": _Function(1, 1, _is("cesql_is_boolean")),
    "ABS": _Function(1, 1, lambda parts: _calculated("abs", *parts)),
    "LENGTH": _Function(1, 1, _of_texts("length", int)),
    "CONCAT": _Function(0, None, _concatenated),
    "CONCAT_WS": _Function(1, None, _joined),
    "LOWER": _Function(1, 1, _of_texts("lower", str)),
    "UPPER": _Function(1, 1, _of_texts("upper", str)),
    "TRIM": _Function(1, 1, _of_texts("cesql_trim", str)),
    "LEFT": _Function(2, 2, _of_text("cesql_left")),
    "RIGHT": _Function(2, 2, _of_text("cesql_right")),
    "SUBSTRING": _Function(2, 3, _of_text("cesql_substring")),
}


# The text


class _Token(NamedTuple):
    kind: str  # text, number, word, sign or end
    text: str
    column: int

    def is_(self, *words: str) -> bool:
        return self.kind in ("word", "sign") and self.text.upper() in words


def _tokens(text: str) -> list[_Token]:
    found, start, end = [], 0, len(text.rstrip())
    while start < end:
        match = _TOKEN.match(text, start)
        if match is None:
            rest = text[start:]
            _refuse("this is not in the language", start + len(rest) - len(rest.lstrip()))
        kind = str(match.lastgroup)
        found.append(_Token(kind, match[kind], match.start(kind)))
        start = match.end()
    return [*found, _Token("end", "", len(text))]


def _refuse(reason: str, column: int) -> NoReturn:
    raise InvalidCriterion(reason, f"column {column + 1}")


class _Reader:
    """Reads tokens one after the other; each method is a level of precedence."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text, self.tokens, self.at = text, tokens, 0

    def whole(self) -> Truth:
        found = self._any()
        if self._next.kind != "end":
            _refuse(f"{self._next.text!r} is not expected here", self._next.column)
        return _truth(found)

    @property
    def _next(self) -> _Token:
        return self.tokens[self.at]

    def _take(self, *words: str) -> str | None:
        if not self._next.is_(*words):
            return None
        self.at += 1
        return self.tokens[self.at - 1].text.upper()

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            _refuse(f"{sign} is expected", self._next.column)

    def _any(self) -> Node:
        return self._joined("OR", _or, self._either)

    def _either(self) -> Node:
        return self._joined("XOR", _xor, self._all)

    def _all(self) -> Node:
        return self._joined("AND", _and, self._comparison)

    def _joined(
        self, word: str, join: Callable[[Truth, Truth], Truth], part: Callable[[], Node]
    ) -> Node:
        found = [part()]
        while self._take(word):
            found.append(part())
        return found[0] if len(found) == 1 else _halved(join, [_truth(one) for one in found])

    def _comparison(self) -> Node:
        found = self._sum()
        while sign := self._take("=", "!=", "<>", "<", "<=", ">", ">="):
            first, second = _value(found), _value(self._sum())
            if sign in _ORDERS:
                found = _ordered(sign, first, second)
            else:
                equal = _equal(first, second)
                found = equal if sign == "=" else equal.denied
        return found

    def _sum(self) -> Node:
        return self._calculation(_SUMS, self._product)

    def _product(self) -> Node:
        return self._calculation(_PRODUCTS, self._test)

    def _calculation(self, functions: Mapping[str, str], part: Callable[[], Node]) -> Node:
        found = part()
        while sign := self._take(*functions):
            found = _calculated(functions[sign], _value(found), _value(part()))
        return found

    def _test(self) -> Node:
        """A value, perhaps with LIKE or IN behind it."""
        found = self._unary()
        while True:
            denied = self._next.is_("NOT") and self.tokens[self.at + 1].is_("LIKE", "IN")
            self.at += denied
            if self._take("LIKE"):
                token = self._next
                if token.kind != "text":
                    _refuse("LIKE needs a quoted pattern", token.column)
                self.at += 1
                tested = _like(_value(found), _unquoted(token.text))
            elif self._take("IN"):
                self._need("(")
                tested = _member(_value(found), [_value(one) for one in self._listed(self._any)])
            else:
                return found
            found = tested.denied if denied else tested

    def _unary(self) -> Node:
        if self._take("NOT"):
            return _truth(self._unary()).denied
        if self._take("-"):
            return _calculated("negative", _value(self._unary()))
        if self._take("EXISTS"):
            there = Predicate(self._attribute(), Exists())
            return Truth(there, ~there)
        return self._atom()

    def _atom(self) -> Node:
        token = self._next
        if self._take("("):
            found = self._any()
            self._need(")")
            return found
        if token.kind == "text":
            self.at += 1
            return Value(Literal(_unquoted(token.text)), str)
        if token.kind == "number":
            if len(token.text) > _MOST_DIGITS:
                _refuse("a whole number has 32 bits", token.column)
            self.at += 1
            # the most negative number is written as minus its absolute value
            return Value(Literal(int(token.text)), int)
        if token.is_("TRUE", "FALSE"):
            self.at += 1
            return Truth(ALWAYS, NEVER) if token.is_("TRUE") else Truth(NEVER, ALWAYS)
        if token.kind == "word" and self.tokens[self.at + 1].is_("("):
            return self._call()
        return Value(self._attribute(), None)

    def _attribute(self) -> Attribute:
        token = self._next
        if token.kind != "word" or token.is_(*_KEYWORDS):
            _refuse("an attribute is expected" if token.text else "it ends too early", token.column)
        self.at += 1
        return Attribute((token.text.lower(),))

    def _call(self) -> Value:
        token = self._next
        self.at += 2
        parts = [_value(one) for one in self._listed(self._any)]
        function = _FUNCTIONS.get(token.text.upper())
        n = len(parts)
        if function is None or n < function.least or (function.most or n) < n:
            _refuse(f"there is no function {token.text} of {n} arguments", token.column)
        return function.make(parts)

    def _listed(self, read: Callable[[], Node]) -> list[Node]:
        """What stands between parentheses, the first of which was read."""
        if self._take(")"):
            return []
        found = [read()]
        while self._take(","):
            found.append(read())
        self._need(")")
        return found


_KEYWORDS = ("AND", "OR", "XOR", "NOT", "LIKE", "IN", "EXISTS", "TRUE", "FALSE")


def _unquoted(text: str) -> str:
    return _ESCAPED_QUOTE.sub(r"\1", text[1:-1])
