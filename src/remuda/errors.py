"""Errors, one root with its leaves.

RemudaError
├── ParseError            the text is not an expression
├── InvalidCriterion      a criterion that cannot be understood
├── InvalidRegion         an expression that is no region of events
├── DuplicateCriterion    the id is taken
├── CriterionNotFound     no criterion has the id
├── IndexNotFound         no index has the name
├── IndexExists           the name is taken
├── ExpansionError        a normal form would be too large
├── NoSqlEquivalent       Spark SQL cannot say it
├── NoMustangEquivalent   Mustang's JSON cannot say it
├── DeviceError           the matcher gpu has no device, or one that is too small
├── StorageError          a saved index is damaged, newer than this code, or cannot be written
└── ServiceError          a service refused a request, or could not be reached
"""

from __future__ import annotations

import math


class RemudaError(Exception):
    """The root of all errors that remuda raises on purpose."""


class ParseError(RemudaError, ValueError):
    """The text is not an expression; `column` is where reading stopped, from 0."""

    def __init__(self, reason: str, text: str, column: int) -> None:
        super().__init__(reason, text, column)  # the arguments as given, so that the error pickles
        self.reason, self.text, self.column = reason, text, column

    def __str__(self) -> str:
        start = self.text.rfind("\n", 0, self.column) + 1
        line = self.text[start:].split("\n", 1)[0]
        left, shown = _window(line, self.column - start)
        return f"{self.reason}\n  {shown}\n  {' ' * (self.column - start - left)}^"


class InvalidCriterion(RemudaError, ValueError):
    """A criterion that cannot be understood: which one, where in it, and why."""

    def __init__(self, reason: str, place: str = "", criterion: str | None = None) -> None:
        super().__init__(reason, place, criterion)
        self.reason, self.place, self.criterion = reason, place, criterion

    def inside(self, place: str, criterion: str | None = None) -> InvalidCriterion:
        """The same error, seen from one level further out."""
        joint = "" if not place or not self.place or self.place.startswith("[") else "."
        return InvalidCriterion(
            self.reason, place + joint + self.place, self.criterion or criterion
        )

    def __str__(self) -> str:
        who = f"criterion {self.criterion!r}" if self.criterion is not None else "criterion"
        where = f" at {self.place}" if self.place else ""
        return f"{who}{where}: {self.reason}"


class InvalidRegion(RemudaError, ValueError):
    """An expression that says of no product of attributes what events may be."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"a region is a conjunction of conditions on plain attributes: {self.reason}"


class DuplicateCriterion(RemudaError, ValueError):
    """The id is taken by another criterion."""

    def __init__(self, criterion: str) -> None:
        super().__init__(criterion)
        self.criterion = criterion

    def __str__(self) -> str:
        return f"criterion {self.criterion!r} is there already; update() replaces it"


class CriterionNotFound(RemudaError, KeyError):
    """No criterion has the id."""

    def __init__(self, criterion: str) -> None:
        super().__init__(criterion)
        self.criterion = criterion

    def __str__(self) -> str:
        return f"there is no criterion {self.criterion!r}"


class IndexNotFound(RemudaError, KeyError):
    """No index has the name."""

    def __init__(self, index: str) -> None:
        super().__init__(index)
        self.index = index

    def __str__(self) -> str:
        return f"there is no index {self.index!r}"


class IndexExists(RemudaError, ValueError):
    """The name is taken by another index."""

    def __init__(self, index: str) -> None:
        super().__init__(index)
        self.index = index

    def __str__(self) -> str:
        return f"there is an index {self.index!r} already"


class ExpansionError(RemudaError, ValueError):
    """A normal form would have `size` clauses, more than `limit`."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size, self.limit = size, limit

    def __str__(self) -> str:
        size = f"{self.size:,}" if self.size < 10**12 else f"about 10^{int(math.log10(self.size))}"
        return f"the normal form would have {size} clauses; the limit is {self.limit:,}"


class NoSqlEquivalent(RemudaError, ValueError):
    """Spark SQL has no way to say `predicate`."""

    def __init__(self, predicate: str, reason: str) -> None:
        super().__init__(predicate, reason)
        self.predicate, self.reason = predicate, reason

    def __str__(self) -> str:
        return f"no Spark SQL for {self.predicate}: {self.reason}"


class NoMustangEquivalent(RemudaError, ValueError):
    """Mustang's JSON has no way to say what stands at `place`."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place, self.reason = place, reason

    def __str__(self) -> str:
        return f"no Mustang equivalent at {self.place}: {self.reason}"


class DeviceError(RemudaError, RuntimeError):
    """The matcher gpu has no device, or one that is too small; `help` says what to do."""

    def __init__(self, reason: str, help: str) -> None:
        super().__init__(reason, help)
        self.reason, self.help = reason, help

    def __str__(self) -> str:
        return f"{self.reason}; {self.help}"


class StorageError(RemudaError, OSError):
    """A saved index is damaged, newer than this code, or cannot be written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class ServiceError(RemudaError):
    """A service refused a request, or could not be reached, which has no status."""

    def __init__(self, status: int | None, reason: str, request: str | None = None) -> None:
        super().__init__(status, reason, request)
        self.status, self.reason, self.request = status, reason, request

    def __str__(self) -> str:
        if self.status is None:
            return f"the service cannot be reached: {self.reason}"
        named = f" (request {self.request})" if self.request else ""
        return f"the service refuses it with {self.status}: {self.reason}{named}"


def _window(line: str, column: int, width: int = 100) -> tuple[int, str]:
    """The part of a long line around `column`, and where it starts."""
    left = max(0, column - width // 2)
    return left, line[left : left + width]
