"""The smallest event that still shows something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

_STEPS = 1_000  # events tried at most


def smallest(event: Any, shows: Callable[[Any], bool], *, steps: int = _STEPS) -> Any:
    """The event without attributes, elements and detail that `shows` does not need.

    `shows` is true of the event; it is asked `steps` times at most.
    """
    left = steps
    shrinks = True
    while shrinks:
        shrinks = False
        for simpler in _simpler(event):
            if left == 0:
                return event
            left -= 1
            if shows(simpler):
                event, shrinks = simpler, True
                break
    return event


def _simpler(value: Any) -> Iterator[Any]:
    """Values that have less in them, the greatest steps first."""
    match value:
        case dict():
            for name in value:
                yield {other: part for other, part in value.items() if other != name}
            for name, part in value.items():
                yield from ({**value, name: less} for less in _simpler(part))
        case list():
            if len(value) > 3:
                yield from (value[: len(value) // 2], value[len(value) // 2 :])
            for i in range(len(value)):
                yield value[:i] + value[i + 1 :]
            yield from (part for part in value[:1] if len(value) == 1 and _is_plain(part))
            for i, part in enumerate(value):
                yield from ([*value[:i], less, *value[i + 1 :]] for less in _simpler(part))
        case str() if len(value) > 1:
            yield from (value[: len(value) // 2], value[len(value) // 2 :], value[1:], value[:-1])
        case float() | Decimal() if -(2**63) < value < 2**63 and value not in (0, 1):
            yield from (0, 1, int(value))
        case int() if not isinstance(value, bool) and value not in (0, 1):
            yield from (0, 1, value // 2 if value > 0 else -value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | Decimal | date)
