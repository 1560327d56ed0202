"""Near misses: criteria that fail by few predicates, and by which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remuda.logic.normal import nnf
from remuda.model.explanations import Explanation, explain
from remuda.model.expressions import And, Expression, Predicate, fold


@dataclass(frozen=True, slots=True)
class Near:
    """A criterion that does not hold, and the fewest predicates that are to blame."""

    id: str
    failures: tuple[Explanation, ...]


def shortfall(expression: Expression, event: Any, now: int) -> tuple[Explanation, ...]:
    """The fewest predicates that would have to hold, for the expression to do so."""

    def visit(
        node: Expression, parts: Sequence[tuple[Explanation, ...] | None]
    ) -> tuple[Explanation, ...] | None:
        """None where nothing would help."""
        if isinstance(node, Predicate):
            explanation = explain(node, event, now)
            return () if explanation.holds else (explanation,)
        if isinstance(node, And):
            helped = [part for part in parts if part is not None]
            if len(helped) < len(parts):
                return None
            return tuple(failure for part in helped for failure in part)
        return min((part for part in parts if part is not None), key=len, default=None)

    return fold(nnf(expression), visit) or ()
