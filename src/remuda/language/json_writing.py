"""Expressions written in the JSON form, in the flattest of its shapes that keeps the score."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.language.json_values import is_plain, is_simple, plain, typed
from remuda.logic.normal import nnf
from remuda.model import conditions, operations
from remuda.model.attributes import Attribute
from remuda.model.conditions import Condition
from remuda.model.expressions import Expression, Not, Or, Predicate, with_predicates
from remuda.model.terms import Applied, Call, Case, Literal, Term

Json = dict[str, Any]


def criterion(id: str, expression: Expression) -> Json:
    """The whole criterion; the parts of a nested one have ids `<id>_<number>`."""
    return _nested(id, nnf(expression))


def _nested(id: str, expression: Expression) -> Json:
    root: Json = {}
    pending: list[tuple[Json, str, Expression]] = [(root, id, expression)]
    n_parts = 0
    while pending:  # no recursion: expressions may be nested thousands deep
        target, name, node = pending.pop()
        flat = _flat(node)
        if flat is not None:
            form, clauses = flat
            target |= {"form": form, "id": name, **clauses}
            continue
        leaves, nested = _split(node.parts)
        parts: list[Json] = [{} for _ in nested]
        names = [f"{id}_{n_parts + i}" for i in range(len(nested))]
        n_parts += len(nested)
        pending.extend(zip(parts, names, nested, strict=True))
        target |= {"form": "UNF", "id": name, "type": type(node).__name__.upper()}
        target |= {"predicates": [predicate(leaf) for leaf in leaves], "criterias": parts}
    return root


def _flat(node: Expression) -> tuple[str, Json] | None:
    """The form and the clauses of what is a DNF or a CNF as it stands."""
    if isinstance(node, Predicate):
        return _dnf([(node,)])
    if any(isinstance(one, Not) for one in (node, *node.parts)):
        return None
    leaves = _predicates(node.parts)
    if leaves is not None:
        return _cnf([leaves]) if isinstance(node, Or) else _dnf([leaves] if leaves else [])
    clauses = []
    for part in node.parts:
        clause = (part,) if isinstance(part, Predicate) else _predicates(part.parts)
        if clause is None or type(part) is type(node):
            return None
        clauses.append(clause)
    return _dnf(clauses) if isinstance(node, Or) else _cnf(clauses)


def _dnf(clauses: list[tuple[Predicate, ...]]) -> tuple[str, Json]:
    return "DNF", {"conjunctions": [_clause("AND", predicates) for predicates in clauses]}


def _cnf(clauses: list[tuple[Predicate, ...]]) -> tuple[str, Json]:
    return "CNF", {"disjunctions": [_clause("OR", predicates) for predicates in clauses]}


def _clause(type: str, predicates: tuple[Predicate, ...]) -> Json:
    return {"type": type, "predicates": [predicate(one) for one in predicates]}


def _predicates(parts: tuple[Expression, ...]) -> tuple[Predicate, ...] | None:
    """The parts, if they are predicates all."""
    leaves = tuple(part for part in parts if isinstance(part, Predicate))
    return leaves if len(leaves) == len(parts) else None


def _split(parts: tuple[Expression, ...]) -> tuple[list[Predicate], tuple[Expression, ...]]:
    """The predicates before the first nested part, and all parts from it on.

    A UNF is read predicates first, and scores are summed in that order, so a predicate behind a
    nested part becomes a part of its own.
    """
    leaves = []
    for part in parts:
        if not isinstance(part, Predicate):
            break
        leaves.append(part)
    return leaves, parts[len(leaves) :]


def predicate(predicate: Predicate) -> Json:
    """One predicate."""
    try:
        written: Json = {
            "type": predicate.polarity.value,
            **_left_hand_side(predicate.root),
            "detail": _detail(predicate.condition),
            "weight": _weight(predicate.own_weight),
        }
        if predicate.value_weights:
            written["valueWeights"] = [_value_weight(*pair) for pair in predicate.value_weights]
        if predicate.operations:
            written["preOperations"] = [_operation(one) for one in predicate.operations]
    except InvalidCriterion as error:
        raise error.inside(str(predicate.root)) from None
    return written


def _left_hand_side(root: Term) -> Json:
    if isinstance(root, Attribute):
        return {"lhs": _path(root), **_flags(root)}
    return {"lhs": term(root)}


def term(term_: Term) -> str | Json:
    """One term; a path is a string."""
    match term_:
        case Attribute():
            flags = _flags(term_)
            return {"attribute": _path(term_), **flags} if flags else _path(term_)
        case Literal():
            return _literal(term_.value)
        case Call(name, arguments):
            return {"function": name, "arguments": [term(one) for one in arguments]}
        case Applied(operation, inner):
            return {"operation": _operation(operation), "of": term(inner)}
        case Case(branches, otherwise):
            cases = [
                {"when": _asked(one, in_case=True), "then": term(then)} for one, then in branches
            ]
            return {"case": cases, "else": term(otherwise)}


def _path(attribute: Attribute) -> str:
    path = str(attribute)
    return path if path.startswith("$") else f"$.{path}"


def _flags(attribute: Attribute) -> Json:
    flags = {"walk": attribute.walk, "emptyIsPresent": attribute.empty}
    return {name: True for name, said in flags.items() if said}


def _literal(value: Any) -> Json:
    """A literal with its type: 1 and 1.0 are two, and a decimal is no double."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"double": {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")}
    return {"literal": {"decimal": str(value)} if isinstance(value, Decimal) else typed(value)}


def _asked(expression: Expression, *, in_case: bool = False) -> Json:
    # what stands for a negation weighs nothing; of elements nothing is weighed
    denials = nnf(expression, in_case=in_case)
    written = _nested("", with_predicates(denials, lambda one: replace(one, own_weight=1.0)))
    del written["id"]
    return written


def _detail(condition: Condition) -> Json:
    match condition:
        case conditions.In(values):
            return {"caveat": "EQUALITY", **_operands(values)}
        case conditions.Related(relation, values):
            return {"caveat": relation.name, **_operands(values)}
        case conditions.Range() | conditions.QuotedRange():
            return {"caveat": "RANGE", **_bounds(condition)}
        case conditions.Regex():
            return {"caveat": "REGEX", "regex": condition.whole_pattern}
        case conditions.Version(base, above, strict):
            check = "ABOVE" if above else "BELOW"
            return {
                "caveat": "VERSIONING",
                "check": check,
                "baseVersion": base,
                "excludeBase": strict,
            }
        case conditions.SemVer(base, operator, parts, v):
            options = {name: True for name, said in (("parts", parts), ("v", v)) if said}
            compared = {"operator": operator.value, "baseVersion": base}
            return {"caveat": "SEMVER", **compared, **options}
        case conditions.Network(networks):
            return {"caveat": "NETWORK", "networks": list(networks)}
        case conditions.Under(tree, node):
            return {"caveat": "UNDER", "hierarchy": tree, "node": node}
        case conditions.AnyElement(expression) | conditions.EveryElement(expression):
            which = "ANY" if isinstance(condition, conditions.AnyElement) else "EVERY"
            return {"caveat": f"{which}_ELEMENT", "expression": _asked(expression)}
        case conditions.Like(pattern, escape):
            return {"caveat": "LIKE", "pattern": pattern, "escape": escape}
        case conditions.Prefix(text) | conditions.Suffix(text) | conditions.Contains(text):
            return {"caveat": type(condition).__name__.upper(), "text": text}
        case (
            conditions.Exists()
            | conditions.Missing()
            | conditions.NullValue()
            | conditions.Absent()
        ):
            return {"caveat": _PRESENCE[type(condition)]}


_PRESENCE: dict[type[Condition], str] = {
    conditions.Exists: "EXISTENCE",
    conditions.Missing: "NON_EXISTENCE",
    conditions.NullValue: "NULL_VALUE",
    conditions.Absent: "ABSENT",
}


def _operands(values: tuple[Any, ...]) -> Json:
    if all(map(is_simple, values)):
        return {"values": list(values)}
    lacking = [typed(value) for value in values if not is_plain(value)]
    found: Json = {"values": [plain(value) for value in values if is_plain(value)]}
    return found | {"typedValues": lacking} if lacking else found


def _bounds(condition: conditions.Bounded) -> Json:
    bounds: Json = {}
    if condition.lower is not None:
        bounds["lowerBound"] = typed(condition.lower)
        bounds["includeLowerBound"] = condition.lower_closed
    if condition.upper is not None:
        bounds["upperBound"] = typed(condition.upper)
        bounds["includeUpperBound"] = condition.upper_closed
    return bounds


def _operation(operation: operations.Operation) -> Json:
    match operation:
        case operations.Calculate(operator, rhs) | operations.Divide(operator, rhs):
            return {"type": operator.value, "rhs": typed(rhs)}
        case operations.BinaryConversion():
            return {"type": "BINARY_CONVERSION"}
        case operations.Length():
            return {"type": "LENGTH"}
        case operations.Size():
            return {"type": "SIZE"}
        case operations.Substring(begin, end):
            bounds = {"beginIndex": begin} | ({} if end is None else {"endIndex": end})
            return {"type": "SUBSTRING", **bounds}
        case operations.DateTime(extract, zone):
            where = {} if zone == "UTC" else {"zone": zone}
            return {"type": "DATETIME", "extract": extract.value, **where}
        case operations.ToDateTime(format):
            how = {} if format is None else {"dateTimeFormat": format}
            return {"type": "TO_DATETIME", **how}


def _value_weight(value: Any, weight: float) -> Json:
    if is_plain(value):
        return {"value": plain(value), "weight": _weight(weight)}
    return {"typedValue": typed(value), "weight": _weight(weight)}


def _weight(weight: float) -> float:
    """An integer where it is one, as Mustang's weights are."""
    if weight == 1.0:
        return 1
    return int(weight) if weight.is_integer() and abs(weight) < 2**53 else weight
