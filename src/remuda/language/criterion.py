"""Criteria: an id and an expression, and what one can ask of the pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.language import json, text
from remuda.model.explanations import Explanation, explain
from remuda.model.expressions import Expression, clock


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is indexed: an expression under an id, perhaps with tags."""

    id: str
    expression: Expression
    tags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise InvalidCriterion(f"an id is a string that is not empty, not {self.id!r}", "id")
        if not isinstance(self.expression, Expression):
            raise InvalidCriterion(
                f"an expression is needed, not {self.expression!r}; parse() reads text",
                "expression",
                self.id,
            )

    @classmethod
    def from_json(cls, source: Mapping[str, Any] | str | bytes) -> Criterion:
        """Read Mustang's JSON, or ours, which is that and more."""
        return cls(*json.read(source))

    def to_json(self, *, mustang: bool = False) -> dict[str, Any]:
        """Write our JSON; with `mustang`, refuse what Mustang lacks, naming the place."""
        return json.write(self.id, self.expression, self.tags, mustang=mustang)

    def to_text(self) -> str:
        """Write the expression in the text form, which reads back with the same meaning."""
        return text.to_text(self.expression)

    def to_sql(self) -> str:
        """Write the expression as Spark itself runs it, with the same meaning."""
        return text.to_sql(self.expression)

    def holds(self, event: Any, *, now: datetime | int | None = None) -> bool:
        """Whether it is true of the event: the truth that every matcher gives."""
        return self.expression.holds(event, now=now)

    def score(
        self,
        event: Any,
        *,
        weights: Mapping[str, float] | None = None,
        now: datetime | int | None = None,
    ) -> float | None:
        """What it scores on the event, None where it does not hold."""
        return self.expression.score(event, weights=weights, now=now)

    def explain(self, event: Any, *, now: datetime | int | None = None) -> Explanation:
        """Why it holds or does not, predicate by predicate."""
        return explain(self.expression, event, clock(now))
