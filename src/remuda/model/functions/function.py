"""The shape of a scalar function: what it takes, what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import call
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of plain values; None stands for missing, in and out, and nothing is raised."""

    name: str
    apply: Callable[..., Any]
    least: int  # arguments
    most: int | None  # None: any number
    on_missing: bool = False  # also called where arguments are missing
    whole: bool = False  # a list is given as it is, not element by element
    clock: bool = False  # apply(now, *values), now in milliseconds since 1970
    check: Callable[[Sequence[Any]], None] | None = None
    """InvalidCriterion for literal arguments that can never do; None where one is no literal."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Its name stands for it in a pickle, which has no functions that are made of others."""
        return _named, (self.name,)


def _named(name: str) -> Function:
    from remuda.model.functions import FUNCTIONS

    return FUNCTIONS[name]


def taking(*kinds: Callable[[Any], Any]) -> Callable[[Callable[..., T]], Callable[..., T | None]]:
    """Make a function of arguments of these kinds one of any values: None where one is of another.

    A kind gives the value as the function takes it, or None. What is left out has the function's
    own default.
    """
    first, second, *_ = (*kinds, *kinds)

    def made(function: Callable[..., T]) -> Callable[..., T | None]:
        def of_one(value: Any) -> T | None:
            found = first(value)
            return None if found is None else function(found)

        def of_several(*values: Any) -> T | None:
            if len(values) == 2:  # twice as fast as the way of all
                one, two = first(values[0]), second(values[1])
                return None if one is None or two is None else function(one, two)
            found = [*map(call, kinds, values)]
            return None if None in found else function(*found)

        # chains of functions of one value are asked of every event
        return of_one if len(kinds) == 1 else of_several

    return made


def table(functions: Iterable[Function], **aliases: str) -> dict[str, Function]:
    """The functions by their names, and under other names too (`other="name"`)."""
    named = {function.name: function for function in functions}
    return named | {other: named[name] for other, name in aliases.items()}
