"""Explanations: why an expression holds or does not, node by node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from remuda.model import conditions, operations
from remuda.model.attributes import Lack
from remuda.model.conditions import Condition
from remuda.model.expressions import And, Expression, Or, Polarity, Predicate, fold
from remuda.model.quoted import Moment, Quoted
from remuda.model.terms import value_in

_VERBS: dict[type[Condition], str] = {
    conditions.Prefix: "starts with",
    conditions.Suffix: "ends with",
    conditions.Contains: "contains",
    conditions.Exists: "exists",
    conditions.Missing: "missing",
    conditions.NullValue: "null",
    conditions.Absent: "absent",
}
_EMPTY: dict[type[Expression], str] = {And: "always", Or: "never"}
_MANY = 8  # so many values of a long list are shown
_HUGE = 10**4000  # Python writes no longer integers


@dataclass(frozen=True, slots=True)
class Explanation:
    """The truth of one node and of all beneath it; prints as a tree.

    A predicate also has the value that was `seen`, what pre-operations made of it (`after`),
    and what was `wanted`; one that tells null from absent has the `lack` of a missing value.
    """

    holds: bool
    kind: str
    parts: tuple[Explanation, ...] = ()
    attribute: str | None = None
    operations: tuple[str, ...] = ()
    wanted: str | None = None
    missing: bool = False
    lack: str | None = None
    seen: Any = None
    after: Any = None

    def failures(self) -> list[Explanation]:
        """The predicates to blame where it does not hold, first to last."""
        faults, stack = [], [self]
        while stack:
            node = stack.pop()
            if not node.holds and (not node.parts or node.kind == "not"):
                faults.append(node)
            elif not node.holds:
                stack.extend(reversed(node.parts))
        return faults

    def to_dict(self) -> dict[str, Any]:
        """The same as a JSON-able object."""
        root = _fields(self)
        stack = [(self, root)]
        while stack:
            node, found = stack.pop()
            for part in node.parts:
                inner = _fields(part)
                found["parts"].append(inner)
                stack.append((part, inner))
        return root

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def explain(expression: Expression, event: Any, now: int) -> Explanation:
    """The expression as written, with the truth of every node."""

    def visit(node: Expression, parts: Sequence[Explanation]) -> Explanation:
        if isinstance(node, Predicate):
            return _explain_predicate(node, event, now)
        truths = [part.holds for part in parts]
        if isinstance(node, And):
            return Explanation(all(truths), "and", tuple(parts))
        if isinstance(node, Or):
            return Explanation(any(truths), "or", tuple(parts))
        return Explanation(not truths[0], "not", tuple(parts))

    return fold(expression, visit)


def describe(predicate: Predicate) -> str:
    """The predicate in words, for people."""
    return f"{_subject(predicate)} {_wanted(predicate)}"


def _fields(node: Explanation) -> dict[str, Any]:
    """The node as a JSON-able object, its parts still to come."""
    fields: dict[str, Any] = {"holds": node.holds, "kind": node.kind}
    if node.kind == "term":
        return fields | {"wanted": node.wanted}
    if node.attribute is None:
        return fields | {"parts": []}
    fields |= {"attribute": node.attribute, "wanted": node.wanted, "missing": node.missing}
    if node.lack is not None:
        fields["lack"] = node.lack
    fields["seen"] = _jsonable(node.seen)
    if node.operations:
        fields |= {"operations": list(node.operations), "after": _jsonable(node.after)}
    return fields


def _explain_predicate(predicate: Predicate, event: Any, now: int) -> Explanation:
    raw = value_in(predicate.root, event, now)
    seen = predicate.seen(event, now)
    lack = seen if isinstance(seen, Lack) else None
    return Explanation(
        predicate.truth(event, now),
        "predicate",
        attribute=str(predicate.root),
        operations=tuple(map(_operation, predicate.operations)),
        wanted=_wanted(predicate),
        missing=raw is None,
        lack=None if lack is None else lack.value,
        seen=raw,
        after=None if lack else seen,
    )


def _lines(root: Explanation) -> list[str]:
    lines = []
    stack = [(root, "", "")]
    while stack:
        node, first, rest = stack.pop()
        mark = "✓" if node.holds else "✗"
        lines.append(f"{first}{mark} {_headline(node)}")
        branches = [(part, rest + "├── ", rest + "│   ") for part in node.parts[:-1]]
        branches += [(part, rest + "└── ", rest + "    ") for part in node.parts[-1:]]
        stack.extend(reversed(branches))
    return lines


def _headline(node: Explanation) -> str:
    if node.kind == "term":
        return str(node.wanted)
    if node.attribute is None:
        names = {"and": "all of", "or": "any of", "not": "not"}
        empty = {"and": "always true", "or": "never true"}
        return names[node.kind] if node.parts else empty[node.kind]
    saw = f"it is {node.lack or 'missing'}" if node.missing else f"saw {_shown(node.seen)}"
    if node.operations and not node.missing:
        saw += f", after {' and '.join(node.operations)} {_shown(node.after)}"
    return f"{node.attribute} {node.wanted}: {saw}"


def _subject(predicate: Predicate) -> str:
    done = " and ".join(map(_operation, predicate.operations))
    return f"{predicate.root}{f' after {done}' if done else ''}"


def _wanted(predicate: Predicate) -> str:
    words = _condition(predicate.condition)
    match predicate.polarity:
        case Polarity.INCLUDED:
            return words
        case Polarity.EXCLUDED:
            return f"not {words}"
        case Polarity.STRONGLY_EXCLUDED:
            return f"present and not {words}"


def _asked(expression: Expression) -> str:
    """What is asked of elements, in a line."""

    def visit(node: Expression, parts: Sequence[str]) -> str:
        if isinstance(node, Predicate):
            return describe(node)
        if isinstance(node, And | Or):
            joined = (" and " if isinstance(node, And) else " or ").join(parts)
            return f"({joined})" if parts else _EMPTY[type(node)]
        return f"not {parts[0]}"

    return fold(expression, visit)


def _condition(condition: Condition) -> str:
    match condition:
        case conditions.AnyElement(expression) | conditions.EveryElement(expression):
            which = (
                "an element" if isinstance(condition, conditions.AnyElement) else "only elements"
            )
            return f"has {which} where {_asked(expression)}"
        case conditions.In(values):
            return f"= {_shown(values[0])}" if len(values) == 1 else f"in {_several(values)}"
        case conditions.Range() | conditions.QuotedRange():
            return _range(condition)
        case conditions.Regex(pattern, find, java):
            return f"{'finds' if find else 'matches'} {(java or pattern)!r}"
        case conditions.Version(base, above, strict):
            sign = (">" if above else "<") + ("" if strict else "=")
            return f"version {sign} {base}"
        case conditions.SemVer(base, operator, parts, v):
            options = ", ".join(name for name, said in (("parts", parts), ("v", v)) if said)
            return f"semver {operator} {base}{f' ({options})' if options else ''}"
        case conditions.Network(networks):
            return f"in network {_several(networks)}"
        case conditions.Under(tree, node):
            return f"under {_shown(node)} of {tree}"
        case conditions.Like(pattern):
            return f"like {pattern!r}"
        case conditions.Prefix(text) | conditions.Suffix(text) | conditions.Contains(text):
            return f"{_VERBS[type(condition)]} {text!r}"
        case conditions.Related(relation, values):
            return f"{relation} {_several(values)}"
        case (
            conditions.Exists()
            | conditions.Missing()
            | conditions.NullValue()
            | conditions.Absent()
        ):
            return _VERBS[type(condition)]


def _range(condition: conditions.Bounded) -> str:
    lower, upper = condition.lower, condition.upper
    above = f"{'>=' if condition.lower_closed else '>'} {_shown(lower)}"
    below = f"{'<=' if condition.upper_closed else '<'} {_shown(upper)}"
    if lower is None:
        return below if upper is not None else "is a number"
    if upper is None:
        return above
    if condition.lower_closed and condition.upper_closed:
        return f"between {_shown(lower)} and {_shown(upper)}"
    return f"{above} and {below}"


def _operation(operation: operations.Operation) -> str:
    match operation:
        case operations.Calculate(operator, rhs) | operations.Divide(operator, rhs):
            return f"{operator.lower()} {rhs}"
        case operations.BinaryConversion():
            return "binary conversion"
        case operations.Length():
            return "length"
        case operations.Size():
            return "size"
        case operations.Substring(begin, end):
            return f"substring {begin} to {'its end' if end is None else end}"
        case operations.DateTime(extract, zone):
            return f"{extract.lower().replace('_', ' ')}{'' if zone == 'UTC' else f' in {zone}'}"
        case operations.ToDateTime(format):
            return f"date-time {format or 'ISO 8601'}"


def _several(values: Sequence[Any]) -> str:
    shown = [_shown(value) for value in values[:_MANY]]
    if len(values) > _MANY:
        shown.append(f"… {len(values) - _MANY} more")
    return "{" + ", ".join(shown) + "}"


def _shown(value: Any) -> str:
    if isinstance(value, Quoted | Moment):
        return _shown(value.text if isinstance(value, Quoted) else value.at)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    try:
        text = "null" if value is None else repr(value)
    except Exception:  # thousands of digits, or of lists in lists, or a type that has none
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 200 else text[:199] + "…"


def _jsonable(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and -_HUGE < value < _HUGE:
        return value
    try:
        if isinstance(value, list):
            return [_jsonable(part) for part in value]
        if isinstance(value, dict):
            return {str(name): _jsonable(part) for name, part in value.items()}
    except RecursionError:
        pass
    return _shown(value)
