"""Terms of the text form: attributes, Spark's functions and operators, Mustang's operations.

A name reads as Spark reads a column: it walks through lists of objects, and an empty list is a
value. `path('$...')` takes any JSONPath and means what JSON and Python mean by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from remuda.errors import InvalidCriterion
from remuda.language.literals import integer, is_literal, literal, text
from remuda.language.nodes import Refused, arguments, bare, flag, function, made
from remuda.language.tokens import FIELDS
from remuda.model import operations
from remuda.model.attributes import Attribute, Digits, Element, Every, Step
from remuda.model.calendars import Extract
from remuda.model.conditions import Condition, In, QuotedRange, Related
from remuda.model.expressions import Expression, Polarity, tells_empty
from remuda.model.functions import FUNCTIONS
from remuda.model.quoted import Moment
from remuda.model.terms import Applied, Call, Case, Literal, Term, is_constant, value_in
from remuda.model.values import tidy


def attribute_of_path(steps: tuple[Step, ...]) -> Attribute:
    """The attribute that a dotted path names in the text form."""
    walks = any(isinstance(step, str) for step in steps[1:])
    return Attribute(steps, walk=walks, empty=True)


def as_moment(term: Term) -> Term:
    """The term, texts in ISO form being the dates and timestamps that they are."""
    if isinstance(term, Call) and term.name in _GIVE_MOMENTS:
        return term
    return Call("as_moment", (term,))


def has_moment(condition: Condition) -> bool:
    """Whether it compares with a typed date or timestamp."""
    if isinstance(condition, QuotedRange):
        return isinstance(condition.lower, Moment) or isinstance(condition.upper, Moment)
    return isinstance(condition, In | Related) and any(
        isinstance(value, Moment) for value in condition.values
    )


def lightened(term: Term, condition: Condition, polarity: Polarity) -> Term:
    """The term as simply as it means the same: where an empty list decides nothing, it is missing.

    So what comes from a text and what comes from JSON look at one attribute alike.
    """
    if not isinstance(term, Attribute) or not term.empty:
        return term
    return term if tells_empty(condition, polarity) else replace(term, empty=False)


_GIVE_MOMENTS = frozenset({
    "as_moment", "date", "timestamp", "to_date", "to_timestamp", "date_add", "date_sub", "now",
    "date_trunc", "trunc", "current_date", "add_months", "add_interval", "last_day", "make_date",
    "make_timestamp", "timestampadd", "next_day", "from_utc_timestamp", "to_utc_timestamp",
    "date_from_unix_date",
})  # fmt: skip


class TermReader:
    """Reads terms; `condition` reads the conditions that stand in them."""

    def __init__(
        self,
        condition: Callable[[exp.Expr, bool], Expression],
        is_condition: Callable[[exp.Expr], bool],
    ) -> None:
        self._condition, self._is_condition = condition, is_condition

    def is_term(self, node: exp.Expr) -> bool:
        """Whether the node is a value rather than a condition."""
        return not self._is_condition(bare(node))

    def term(self, node: exp.Expr) -> Term:
        """The term that the node spells, folded where it is a constant."""
        node = bare(node)
        if type(node) is exp.Bracket and not _is_path(node):
            return _folded(self._element(node))
        if type(node) in _PATHS:
            return attribute_of_path(_steps(node))
        if is_literal(node):
            return made(node, Literal, literal(node))
        return _folded(self._read(node))

    def _read(self, node: exp.Expr) -> Term:
        name, kind = function(node), type(node)
        if name in _MUSTANG:
            return _MUSTANG[name](self, node)
        if name in _SPECIAL:
            return _SPECIAL[name](self, node)
        if name in FUNCTIONS:
            return self._call(name, node, node.expressions)
        if kind in _OPERATORS:
            return self._operator(node)
        if kind is exp.Neg:
            return self._call("negative", node, [node.this])
        if kind is exp.Cast or kind is exp.TryCast:
            return self._cast(node)
        if kind is exp.Case:
            return self._case(node)
        if kind is exp.BitwiseNot:
            return self._call("bitwise_not", node, [node.this])
        if self._is_condition(node):
            yes, no = self._condition(node, False), self._condition(node, True)
            return Case(((yes, Literal(True)), (no, Literal(False))))
        raise Refused("a value is needed here", node)

    def _call(self, name: str, node: exp.Expr, parts: list[exp.Expr]) -> Term:
        terms = tuple(map(self.term, parts))
        return made(node, Call, name, terms)

    def _element(self, node: exp.Expr) -> Term:
        """What is at a place of a list, or under a name of a map, that are computed."""
        if len(node.expressions) != 1:
            raise Refused("one index or one name goes into the brackets", node)
        if is_literal(node.this):
            raise Refused("a literal has no parts", node.this)
        (at,) = node.expressions
        is_name = is_literal(at) and isinstance(literal(at), str)
        return self._call("element_at" if is_name else "get", node, [node.this, at])

    def _operator(self, node: exp.Expr) -> Term:
        left, right = node.this, node.expression
        if type(node) in _BITWISE:
            for side in (left, right):
                if type(side) in _BITWISE and type(side) is not type(node):
                    raise Refused("parentheses say which of &, ^ and | comes first", side)
        sign = 1 if type(node) is exp.Add else -1 if type(node) is exp.Sub else None
        if function(bare(left)) == "interval" and sign == 1:
            left, right = right, left
        if function(bare(right)) == "interval":
            if sign is None or function(bare(left)) == "interval":
                raise Refused("an INTERVAL is added to a moment, or taken from it", right)
            spans = [Literal(sign * integer(part)) for part in bare(right).expressions]
            return made(node, Call, "add_interval", (self.term(left), *spans))
        return self._call(_OPERATORS[type(node)], node, [left, right])

    def _cast(self, node: exp.Expr) -> Term:
        kind = node.args["to"]
        name = _CASTS.get(kind.this)
        if name is None:
            raise Refused(f"there is no cast to {kind.sql().lower()} here", node)
        sizes = tuple(Literal(int(size.name)) for size in kind.expressions)
        return made(node, Call, name, (self.term(node.this), *sizes))

    def _case(self, node: exp.Expr) -> Term:
        tested = node.args.get("this")
        branches = []
        for branch in node.args["ifs"]:
            asked = branch.this if tested is None else exp.EQ(this=tested, expression=branch.this)
            branches.append((self._condition(asked, False), self.term(branch.args["true"])))
        default = node.args.get("default")
        return Case(tuple(branches), Literal(None) if default is None else self.term(default))

    def _if(self, node: exp.Expr) -> Term:
        asked, *terms = arguments(node, 2, 3)
        then, otherwise = [*map(self.term, terms), Literal(None)][:2]
        return Case(((self._condition(asked, False), then),), otherwise)

    def _date_part(self, node: exp.Expr) -> Term:
        field, moment = arguments(node, 2)
        name = FIELDS.get(text(field).lower())
        if name is None:
            raise Refused(f"there is no field {text(field)!r}", field)
        return self._call(name, node, [moment])

    def _bucket(self, node: exp.Expr) -> Term:
        about, n, *options = arguments(node, 2, 4)
        said: dict[str, Term] = {"seed": Literal(""), "hash": Literal("murmur3")}
        for option, place in zip(options, ("seed", "hash"), strict=False):
            named = type(option) is exp.Kwarg
            name = str(option.this.name) if named else place
            if name not in said:
                raise Refused("the options here are seed => '…' and hash => '…'", option)
            said[name] = self.term(option.expression if named else option)
        return made(node, Call, "bucket", (self.term(about), self.term(n), *said.values()))

    def _path(self, node: exp.Expr) -> Term:
        path, *flags = arguments(node, 1, 3)
        said = dict(flag(one, ("walk", "empty")) for one in flags)
        found = made(path, Attribute.parse, text(path))
        return Attribute(found.steps, said.get("walk", False), said.get("empty", False))

    def _itself(self, node: exp.Expr) -> Term:
        return self.term(*arguments(node, 1))

    def _interval(self, node: exp.Expr) -> Term:
        raise Refused(
            "an INTERVAL is added to a moment, or compared with a difference of two", node
        )

    def _position(self, node: exp.Expr) -> Term:
        """`position(part IN text)`, or as a call like any other."""
        first = node.expressions[0] if node.expressions else node
        if type(first) is exp.In:
            field = first.args.get("field")
            within = first.expressions if field is None else [field]
            return self._call("position", node, [first.this, *within])
        return self._call("position", node, node.expressions)

    def _by_unit(self, node: exp.Expr) -> Term:
        """Spark's functions of moments that may have a unit first: `datediff(HOUR, a, b)`."""
        if len(node.expressions) != 3:
            return self._call(function(node), node, node.expressions)
        unit, *others = node.expressions
        name = text(unit) if is_literal(unit) else str(unit.name)
        terms = (Literal(name.upper()), *map(self.term, others))
        return made(node, Call, _BY_UNIT[function(node)], terms)

    def _trimmed(self, node: exp.Expr) -> Term:
        """What is cut off stands first in Spark's words, and last with us."""
        return self._call(function(node), node, arguments(node, 1, 2)[::-1])

    def _or_zero(self, node: exp.Expr) -> Term:
        (inner,) = arguments(node, 1)
        called = "coalesce" if function(node) == "zeroifnull" else "nullif"
        return made(node, Call, called, (self.term(inner), Literal(0)))

    # Spans of time, in microseconds

    def is_span(self, node: exp.Expr) -> bool:
        """Whether the node is a span of time by its words alone."""
        node = bare(node)
        kind, name = type(node), function(node)
        if kind is exp.Neg or kind is exp.Div:
            return self.is_span(node.this)
        if kind is exp.Mul or kind is exp.Add or kind is exp.Sub:
            sides = [self.is_span(node.this), self.is_span(node.expression)]
            return any(sides) if kind is exp.Mul else all(sides)
        if name in _OF_SPANS:
            return any(map(self.is_span, node.expressions))
        return name == "interval"

    def span(self, node: exp.Expr) -> Term:
        """The span that the node spells: an INTERVAL, or the difference of two moments."""
        node = bare(node)
        kind, name = type(node), function(node)
        if name == "interval":
            months, days, micros = map(integer, node.expressions)
            if months:
                raise Refused("months differ in length: spans of days or less are compared", node)
            return Literal(days * _DAY + micros)
        if kind is exp.Null:
            return Literal(None)
        if kind is exp.Neg:
            return _folded(Call("negative", (self.span(node.this),)))
        if kind is exp.Mul or kind is exp.Div:
            left, right = node.this, node.expression
            if kind is exp.Mul and not self._may_be_span(left):
                left, right = right, left
            return _folded(Call(_OPERATORS[kind], (self.span(left), self.term(right))))
        if kind is exp.Add or kind is exp.Sub:
            sides = [bare(node.this), bare(node.expression)]
            if kind is exp.Add or any(map(self.is_span, sides)) or all(map(_subtracts, sides)):
                return _folded(Call(_OPERATORS[kind], tuple(map(self.span, sides))))
            return made(node, Call, "elapsed", tuple(map(self.term, sides)))
        if name in _OF_SPANS:
            return made(node, Call, name, tuple(map(self.span, node.expressions)))
        raise Refused("an INTERVAL is compared with a difference of moments, such as a - b", node)

    def _may_be_span(self, node: exp.Expr) -> bool:
        return self.is_span(node) or _subtracts(bare(node))

    # Mustang's operations

    def _applied(self, inner: exp.Expr, operation: operations.Operation) -> Term:
        """Beneath these, names mean what they mean in JSON."""
        term = self.term(inner)
        named = isinstance(term, Attribute) and type(bare(inner)) in _PATHS
        return Applied(operation, term.path if named and isinstance(term, Attribute) else term)

    def _calculated(self, node: exp.Expr) -> Term:
        inner, operand = arguments(node, 2)
        if not is_literal(operand):
            sign = _SIGNS[function(node)]
            raise Refused(
                f"{function(node)}() takes a number; between terms, write {sign}", operand
            )
        operator = _ARITHMETIC[function(node)]
        return self._applied(
            inner, made(operand, operations.calculation, operator, literal(operand))
        )

    def _datetime(self, node: exp.Expr) -> Term:
        moment, field, *zone = arguments(node, 2, 3)
        extract = text(field).upper()
        if extract not in Extract.__members__:
            raise Refused(f"there is no field {extract!r}; these are: {', '.join(Extract)}", field)
        names = [text(name) for name in zone]
        return self._applied(moment, made(node, operations.DateTime, Extract(extract), *names))

    def _to_datetime(self, node: exp.Expr) -> Term:
        moment, *pattern = arguments(node, 1, 2)
        return self._applied(moment, made(node, operations.ToDateTime, *map(text, pattern)))

    def _characters(self, node: exp.Expr) -> Term:
        whole, begin, *end = arguments(node, 2, 3)
        return self._applied(whole, operations.Substring(integer(begin), *map(integer, end)))


def _subtracts(node: exp.Expr) -> bool:
    return type(node) is exp.Sub


def _is_path(node: exp.Expr) -> bool:
    """Whether it leads from a name by names and places that are written there."""
    while type(node) is exp.Bracket or type(node) is exp.Dot:
        if type(node) is exp.Bracket and not all(map(_is_step, node.expressions)):
            return False
        node = bare(node.this)
    return type(node) is exp.Column or type(node) is exp.Identifier


def _is_step(node: exp.Expr) -> bool:
    return type(node) is exp.Star or is_literal(node)


def _folded(term: Term) -> Term:
    """The value of a term that no event can change."""
    if isinstance(term, Literal) or not is_constant(term):
        return term
    try:
        value: Any = value_in(term, {}, 0)
        return Literal(value) if not isinstance(tidy(value), list | dict) else term
    except InvalidCriterion:  # not a number, for one, is no literal
        return term


def _steps(node: exp.Expr) -> tuple[Step, ...]:
    steps: list[Step] = []
    while type(node) is not exp.Column:  # a loop: paths may be long
        if type(node) is exp.Identifier:  # the element that a lambda has a name for
            return tuple(reversed(steps))
        if type(node) is exp.Dot:
            steps.append(_name(node.expression))
        elif type(node) is exp.Bracket:
            steps.append(_key(node))
        else:
            raise Refused("a path begins with a name; path('$...') takes any JSONPath", node)
        node = bare(node.this)
    return (*map(_name, node.parts), *reversed(steps))


def _name(node: exp.Expr) -> Step:
    if type(node) is exp.Identifier and node.this:
        return str(node.this)
    if type(node) is exp.Literal and node.this.isdecimal():
        return Digits(node.this)
    raise Refused("a name is needed in a path; back-quotes make one of any text", node)


def _key(node: exp.Expr) -> Step:
    if len(node.expressions) != 1:
        raise Refused("one index, one name or * goes into the brackets of a path", node)
    inner = node.expressions[0]
    if type(inner) is exp.Star:
        return Every()
    key = literal(inner) if is_literal(inner) else None
    if type(key) is int:
        return Element(key)
    if type(key) is str:
        return key
    raise Refused("one index, one name or * goes into the brackets of a path", inner)


def _simple(operation: operations.Operation) -> Callable[[TermReader, exp.Expr], Term]:
    def read(reader: TermReader, node: exp.Expr) -> Term:
        (inner,) = arguments(node, 1)
        return reader._applied(inner, operation)

    return read


TRIMS = ("trim", "ltrim", "rtrim")
_PATHS = frozenset({exp.Column, exp.Dot, exp.Bracket, exp.Identifier})
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "mod",
    exp.IntDiv: "div",
    exp.DPipe: "concat",
    exp.BitwiseAnd: "bitwise_and",
    exp.BitwiseOr: "bitwise_or",
    exp.BitwiseXor: "bitwise_xor",
}
_BITWISE = frozenset({exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor})
_OF_SPANS = frozenset({"abs", "negative", "coalesce", "nvl", "ifnull", "greatest", "least"})
_DAY = 86_400_000_000  # microseconds
_BY_UNIT = {  # the function that is meant where a unit comes first
    **dict.fromkeys(("date_diff", "datediff", "timestampdiff"), "timestampdiff"),
    **dict.fromkeys(("date_add", "dateadd", "timestampadd"), "timestampadd"),
}
_CASTS: dict[object, str] = {
    exp.DType.TEXT: "string",
    exp.DType.VARCHAR: "string",
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "int",
    exp.DType.BIGINT: "bigint",
    exp.DType.FLOAT: "float",
    exp.DType.DOUBLE: "double",
    exp.DType.DECIMAL: "decimal",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
}
_ARITHMETIC: dict[str, operations.Arithmetic | operations.Integral] = {
    "add": operations.Arithmetic.ADDITION,
    "subtract": operations.Arithmetic.SUBTRACTION,
    "multiply": operations.Arithmetic.MULTIPLICATION,
    "divide": operations.Integral.DIVISION,
    "modulo": operations.Integral.MODULO,
}
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/ or div", "modulo": "%"}
_MUSTANG: dict[str, Callable[[TermReader, exp.Expr], Term]] = {
    **dict.fromkeys(_ARITHMETIC, TermReader._calculated),
    "bits": _simple(operations.BinaryConversion()),
    "characters": TermReader._characters,
    "datetime": TermReader._datetime,
    "list_size": _simple(operations.Size()),
    "text_length": _simple(operations.Length()),
    "to_datetime": TermReader._to_datetime,
}
_SPECIAL: dict[str, Callable[[TermReader, exp.Expr], Term]] = {
    "bucket": TermReader._bucket,
    "date_part": TermReader._date_part,
    "datepart": TermReader._date_part,
    "if": TermReader._if,
    "interval": TermReader._interval,
    "path": TermReader._path,
    "plain": TermReader._itself,
    "position": TermReader._position,
    "zeroifnull": TermReader._or_zero,
    **dict.fromkeys(TRIMS, TermReader._trimmed),
    "nullifzero": TermReader._or_zero,
    **dict.fromkeys(_BY_UNIT, TermReader._by_unit),
}
TERM_FUNCTIONS = frozenset({*_MUSTANG, *_SPECIAL, *FUNCTIONS})
OPERATION_NAMES = {operator: name for name, operator in _ARITHMETIC.items()}
