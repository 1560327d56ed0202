"""Criteria: an id and an expression, and what one can ask of the pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import isfinite, nan
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.language import json_form
from remuda.model.binding import bound
from remuda.model.calendars import microseconds
from remuda.model.explanations import Explanation, explain
from remuda.model.expressions import Expression, checked_size, clock
from remuda.model.hierarchies import Hierarchies
from remuda.model.stacks import on_any_stack
from remuda.model.values import checked_text, instant
from remuda.model.weights import Weights

FOREVER = -(2**63), 2**63 - 1  # in microseconds since 1970
NEVER = 0, 0


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is indexed: an expression under an id, perhaps with tags, a payload and a priority.

    Its payload is any JSON, kept and given back and never looked at. The criterion holds only while
    it is enabled, from `valid_from` on and before `valid_until`; a moment without a zone is in UTC.
    The best by priority are those whose priority is higher.
    """

    id: str
    expression: Expression
    tags: frozenset[str] = frozenset()
    enabled: bool = True
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    payload: Any = field(default=None, repr=False, hash=False)
    priority: float = 0.0
    n_parts: int = field(init=False, repr=False, compare=False)  # of the expression

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise InvalidCriterion(f"an id is a string that is not empty, not {self.id!r}", "id")
        try:
            checked_text(self.id, "an id")
        except InvalidCriterion as error:
            raise error.inside("id") from None
        if not isinstance(self.expression, Expression):
            raise InvalidCriterion(
                f"an expression is needed, not {self.expression!r}; parse() reads text",
                "expression",
                self.id,
            )
        try:
            object.__setattr__(self, "n_parts", checked_size(self.expression))
        except InvalidCriterion as error:
            raise error.inside("expression", self.id) from None
        if self.tags or not isinstance(self.tags, frozenset):
            object.__setattr__(self, "tags", self._checked_tags())
        for name in ("valid_from", "valid_until"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._checked_moment(name))
        if type(self.priority) is not float or not isfinite(self.priority):
            object.__setattr__(self, "priority", self._checked_priority())
        if self.payload is not None:
            try:
                json_form.check_payload(self.payload)
            except InvalidCriterion as error:
                raise error.inside("payload", self.id) from None

    def _checked_tags(self) -> frozenset[str]:
        if isinstance(self.tags, str) or not all(isinstance(tag, str) for tag in self.tags):
            raise InvalidCriterion(f"tags are a set of strings, not {self.tags!r}", "tags", self.id)
        for tag in self.tags:
            try:
                checked_text(tag, "a tag")
            except InvalidCriterion as error:
                raise error.inside("tags", self.id) from None
        return frozenset(self.tags)

    def _checked_moment(self, name: str) -> datetime:
        moment = getattr(self, name)
        try:
            return instant(moment)
        except (AttributeError, OverflowError, TypeError, ValueError):
            reason = f"a datetime is needed, not {moment!r}"
            raise InvalidCriterion(reason, name, self.id) from None

    def _checked_priority(self) -> float:
        priority: Any = self.priority
        try:
            number = nan if isinstance(priority, str | bool) else float(priority)
        except (TypeError, ValueError, OverflowError):
            number = nan
        if not isfinite(number):
            reason = f"a priority is a finite number, not {priority!r}"
            raise InvalidCriterion(reason, "priority", self.id)
        return number

    @property
    def term(self) -> tuple[int, int]:
        """When it can hold: from and until, in microseconds since 1970."""
        if not self.enabled:
            return NEVER
        first, last = FOREVER
        if self.valid_from is not None:
            first = microseconds(self.valid_from)
        if self.valid_until is not None:
            last = microseconds(self.valid_until)
        return first, last

    def in_force(self, now: datetime | int | None = None) -> bool:
        """Whether it is enabled, and valid at the moment."""
        if self.enabled and self.valid_from is None and self.valid_until is None:
            return True
        first, last = self.term
        return first <= clock(now) * 1000 < last

    @classmethod
    def from_json(cls, source: Mapping[str, Any] | str | bytes) -> Criterion:
        """Read Mustang's JSON, or ours, which is that and more."""
        return cls(*json_form.read(source))

    def to_json(self, *, mustang: bool = False) -> dict[str, Any]:
        """Write our JSON; with `mustang`, refuse what Mustang lacks, naming the place."""
        head: dict[str, Any] = {"tags": sorted(self.tags)} if self.tags else {}
        if not self.enabled:
            head["enabled"] = False
        for name, moment in (("validFrom", self.valid_from), ("validUntil", self.valid_until)):
            if moment is not None:
                head[name] = moment.isoformat().replace("+00:00", "Z")
        if self.payload is not None:
            head["payload"] = self.payload
        if self.priority:
            whole = self.priority.is_integer() and abs(self.priority) < 1 << 53
            head["priority"] = int(self.priority) if whole else self.priority
        return on_any_stack(
            lambda: json_form.write(self.id, self.expression, head, mustang=mustang)
        )

    def document(self) -> bytes:
        """The JSON text, which can always be read back."""
        return on_any_stack(lambda: json_form.encode(self.to_json()))

    def to_text(self) -> str:
        """Write the expression in the text form, which reads back with the same meaning."""
        from remuda.language.writing import to_text

        return to_text(self.expression)

    def to_sql(self) -> str:
        """Write the expression as Spark itself runs it, with the same meaning."""
        from remuda.language.sql import to_sql

        return to_sql(self.expression)

    def bound(self, hierarchies: Hierarchies | None) -> Criterion:
        """The same, what names trees bound to these; InvalidCriterion where one or a node lacks."""
        if not hierarchies:
            return self
        try:
            expression = bound(self.expression, hierarchies)
        except InvalidCriterion as error:
            raise error.inside("expression", self.id) from None
        return self if expression is self.expression else replace(self, expression=expression)

    def holds(
        self,
        event: Any,
        *,
        now: datetime | int | None = None,
        hierarchies: Hierarchies | None = None,
    ) -> bool:
        """Whether it is true of the event: the truth that every matcher gives.

        `hierarchies` are the trees that it names; a criterion of an index knows them.
        """
        moment, expression = clock(now), self.bound(hierarchies).expression
        return self.in_force(moment) and expression.holds(event, now=moment)

    def score(
        self,
        event: Any,
        *,
        weights: Weights = None,
        now: datetime | int | None = None,
        hierarchies: Hierarchies | None = None,
    ) -> float | None:
        """What it scores on the event, None where it does not hold."""
        moment = clock(now)
        if not self.in_force(moment):
            return None
        return self.bound(hierarchies).expression.score(event, weights=weights, now=moment)

    def explain(
        self,
        event: Any,
        *,
        now: datetime | int | None = None,
        hierarchies: Hierarchies | None = None,
    ) -> Explanation:
        """Why it holds or does not, predicate by predicate."""
        moment = clock(now)
        explanation = explain(self.bound(hierarchies).expression, event, moment)
        if self.in_force(moment):
            return explanation
        return Explanation(
            False, "and", (Explanation(False, "term", wanted=self._why()), explanation)
        )

    def _why(self) -> str:
        """When it is in force, in words."""
        if not self.enabled:
            return "it is switched off"
        bounds = ("from", self.valid_from), ("until", self.valid_until)
        return "it is valid " + " ".join(f"{word} {at.isoformat()}" for word, at in bounds if at)
