"""What our JSON says and Mustang's cannot, or what Mustang would read as something else.

Mustang has no tags and no payloads, no strong negation, no weights of single values, none of our
caveats, no typed values, no order but that of numbers, no time zones. Its weights are integers of
64 bits, 0 being read as 1, and its SUBSTRING needs an end. A whole criterion may be empty there;
clauses, nested parts and sets of values may not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remuda.errors import NoMustangEquivalent

Json = dict[str, Any]

_CAVEATS = frozenset({
    "EQUALITY", "SUBSET", "SUPERSET", "EQUALSET", "RANGE", "REGEX", "VERSIONING",
    "EXISTENCE", "NON_EXISTENCE",
})  # fmt: skip
# the place before and a step: as text, the places of deep nesting would take quadratic memory
_Trail = tuple[()] | tuple["_Trail", str]


def check(criterion: Json) -> None:
    """Raise NoMustangEquivalent at the first place that Mustang does not read as we do."""
    for name in ("tags", "enabled", "validFrom", "validUntil", "payload", "priority"):
        if name in criterion:
            raise NoMustangEquivalent(name, f"a criterion has no {name} there")
    pending: list[tuple[_Trail, Json]] = [((), criterion)]
    while pending:
        trail, node = pending.pop()
        if "lhs" in node:
            for place, reason in _differences(node):
                raise NoMustangEquivalent(_place((trail, place)), reason)
            continue
        parts = [
            ((trail, f"{name}[{i}]"), part)
            for name in ("conjunctions", "disjunctions", "predicates", "criterias")
            for i, part in enumerate(node.get(name, ()))
        ]
        if trail and not parts:
            raise NoMustangEquivalent(_place(trail), "a part that is empty is found wrongly there")
        pending.extend(reversed(parts))


def _place(trail: _Trail) -> str:
    steps = []
    while trail:
        trail, step = trail
        steps.append(step)
    return ".".join(reversed(steps))


def _differences(predicate: Json) -> Iterator[tuple[str, str]]:
    """Where in the predicate Mustang differs, and how."""
    if not isinstance(predicate["lhs"], str):
        yield "lhs", "a predicate is about a path there"
    for flag in ("walk", "emptyIsPresent"):
        if flag in predicate:
            yield flag, f"there is no {flag} there"
    if predicate["type"] == "STRONGLY_EXCLUDED":
        yield "type", "all negation is weak there"
    weight = predicate["weight"]
    if weight == 0:
        yield "weight", "a weight of 0 counts as 1 there"
    if not isinstance(weight, int):
        yield "weight", f"a weight is an integer there, not {weight}"
    if "valueWeights" in predicate:
        yield "valueWeights", "single values have no weights there"
    for name, reason in _detail_differences(predicate["detail"]):
        yield f"detail.{name}", reason
    for i, operation in enumerate(predicate.get("preOperations", ())):
        for name, reason in _operation_differences(operation):
            yield f"preOperations[{i}].{name}", reason


def _detail_differences(detail: Json) -> Iterator[tuple[str, str]]:
    if detail["caveat"] not in _CAVEATS:
        yield "caveat", f"there is no {detail['caveat']} there"
    if "typedValues" in detail:
        yield "typedValues", "a value is one of JSON's there"
    if detail.get("values") == []:
        yield "values", "at least one value is needed there"
    for bound in ("lowerBound", "upperBound"):
        if not isinstance(detail.get(bound, 0), int | float):
            yield bound, "a bound is one of JSON's numbers there"


def _operation_differences(operation: Json) -> Iterator[tuple[str, str]]:
    if "zone" in operation:
        yield "zone", "the time zone is that of the machine there"
    if isinstance(operation.get("rhs"), dict):
        yield "rhs", "an operand is one of JSON's numbers there"
    if operation["type"] == "SUBSTRING" and "endIndex" not in operation:
        yield "endIndex", "a substring without an end is empty there"
