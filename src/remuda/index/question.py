"""Questions: what is asked about every event."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from remuda.language.criterion import Criterion
from remuda.model.expressions import clock
from remuda.model.weights import Weights, attribute_weights

Now: TypeAlias = datetime | int | None
Tags: TypeAlias = Iterable[str] | None
EventWeights: TypeAlias = Weights | Sequence[Weights] | str
By: TypeAlias = Literal["score", "priority"]


_PLAIN = (None, None, None, "score", None)


class Best(TypedDict, total=False):
    """What is said of the best beside how many: those of `Question`."""

    weights: EventWeights
    by: By
    per: str | None


class Question(NamedTuple):
    """A moment, tags of which a criterion must have one, and how many of the best are wanted.

    `weights` are those of all events, those of each in a list, or the name of the column that has
    them. Plain values: it goes to other processes as it is.
    """

    now: int
    tags: frozenset[str] | None = None
    n: int | None = None  # None: all that match
    weights: EventWeights = None
    by: By = "score"
    per: str | None = None  # the tags `per:…` are groups, of each of which the best are wanted

    @classmethod
    def of(
        cls,
        now: Now = None,
        tags: Tags = None,
        n: int | None = None,
        weights: EventWeights = None,
        by: By = "score",
        per: str | None = None,
    ) -> Question:
        """A question that can be answered; what is wrong with it is said here."""
        if (tags, n, weights, by, per) == _PLAIN:
            return cls(clock(now))
        if isinstance(tags, str):
            raise TypeError(f"tags are a set of strings, such as {{{tags!r}}}")
        if by not in ("score", "priority"):
            raise ValueError(f"the best are by score or by priority, not by {by!r}")
        if per is not None and not isinstance(per, str):
            raise TypeError(f"per is what tags begin with, such as 'advertiser', not {per!r}")
        return cls(
            clock(now),
            None if tags is None else frozenset(tags),
            None if n is None else counted(n),
            _checked(weights),
            by,
            per,
        )

    def admits(self, criterion: Criterion) -> bool:
        """Whether the tags let the criterion through."""
        return self.tags is None or not self.tags.isdisjoint(criterion.tags)

    def groups(self, tags: Iterable[str]) -> list[str | None]:
        """The groups that a criterion with the tags is in; None is that of those without any."""
        mark = f"{self.per}:"
        return [tag[len(mark) :] for tag in sorted(tags) if tag.startswith(mark)] or [None]


def _checked(weights: EventWeights) -> EventWeights:
    """The weights, refused where they are none; those of single events when they are read."""
    if isinstance(weights, Mapping):
        attribute_weights(weights)
        return dict(weights) or None
    if weights is None or isinstance(weights, str):
        return weights
    if isinstance(weights, list | tuple):
        return list(weights)
    raise TypeError(
        "weights are by attribute, such as {'age': 2}, a list of such for each event, "
        f"or the name of a column of them, not {weights!r}"
    )


def counted(n: Any) -> int:
    """How many are wanted, checked."""
    try:
        whole = operator.index(n)
    except TypeError:
        raise TypeError(f"n is how many are wanted, a whole number, not {n!r}") from None
    if whole < 0:
        raise ValueError(f"a top of {n} makes no sense")
    return whole
