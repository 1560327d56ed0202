"""Questions: what is asked about every event."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.expressions import attribute_weights, clock

Now = datetime | int | None
Weights = Mapping[str, float] | None
Tags = Iterable[str] | None


class Question(NamedTuple):
    """A moment, tags of which a criterion must have one, and how many of the best are wanted.

    Plain values: it goes to other processes as it is.
    """

    now: int
    tags: frozenset[str] | None = None
    n: int | None = None  # None: all that match
    weights: Weights = None

    @classmethod
    def of(
        cls, now: Now = None, tags: Tags = None, n: int | None = None, weights: Weights = None
    ) -> Question:
        """A question that can be answered; what is wrong with it is said here."""
        if isinstance(tags, str):
            raise TypeError(f"tags are a set of strings, such as {{{tags!r}}}")
        asked = cls(
            clock(now),
            None if tags is None else frozenset(tags),
            None if n is None else counted(n),
            dict(weights) if weights else None,
        )
        if weights:
            _ = asked.by_attribute  # which refuses what is no weight
        return asked

    def admits(self, criterion: Criterion) -> bool:
        """Whether the tags let the criterion through."""
        return self.tags is None or not self.tags.isdisjoint(criterion.tags)

    @property
    def by_attribute(self) -> Mapping[Attribute, float]:
        """The weights, by attribute."""
        return attribute_weights(self.weights)


def counted(n: Any) -> int:
    """How many are wanted, checked."""
    try:
        whole = operator.index(n)
    except TypeError:
        raise TypeError(f"n is how many are wanted, a whole number, not {n!r}") from None
    if whole < 0:
        raise ValueError(f"a top of {n} makes no sense")
    return whole
