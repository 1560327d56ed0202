"""The shape of a scalar function: what it takes, what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any


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


def table(functions: Iterable[Function], **aliases: str) -> dict[str, Function]:
    """The functions by their names, and under other names too (`other="name"`)."""
    named = {function.name: function for function in functions}
    return named | {other: named[name] for other, name in aliases.items()}
