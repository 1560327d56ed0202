"""Which of millions of Boolean expressions are true for an event?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remuda import formats
    from remuda.client.client import AsyncClient, Client
    from remuda.engine.engine import Engine
    from remuda.errors import (
        CriterionNotFound,
        DeviceError,
        DuplicateCriterion,
        ExpansionError,
        IndexExists,
        IndexNotFound,
        InvalidCriterion,
        InvalidRegion,
        NoMustangEquivalent,
        NoSqlEquivalent,
        ParseError,
        RemudaError,
        ServiceError,
        StorageError,
    )
    from remuda.index.index import Index, load
    from remuda.index.matches import Match, Matches
    from remuda.index.nearest import Near
    from remuda.index.region_answers import Undecided
    from remuda.language.criterion import Criterion
    from remuda.language.python import attr, fn, when
    from remuda.language.schemas import Finding, check
    from remuda.language.text import parse
    from remuda.model.explanations import Explanation
    from remuda.model.expressions import And, Expression, Not, Or, Predicate
    from remuda.model.hierarchies import Hierarchy

_ROOMS = {
    "client.client": ("AsyncClient", "Client"),
    "engine.engine": ("Engine",),
    "errors": (
        "CriterionNotFound", "DeviceError", "DuplicateCriterion", "ExpansionError", "IndexExists",
        "IndexNotFound", "InvalidCriterion", "InvalidRegion", "NoMustangEquivalent",
        "NoSqlEquivalent", "ParseError", "RemudaError", "ServiceError", "StorageError",
    ),
    "formats": ("formats",),
    "index.index": ("Index", "load"),
    "index.matches": ("Match", "Matches"),
    "index.nearest": ("Near",),
    "index.region_answers": ("Undecided",),
    "language.criterion": ("Criterion",),
    "language.python": ("attr", "fn", "when"),
    "language.schemas": ("Finding", "check"),
    "language.text": ("parse",),
    "model.explanations": ("Explanation",),
    "model.expressions": ("And", "Expression", "Not", "Or", "Predicate"),
    "model.hierarchies": ("Hierarchy",),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "And",
    "AsyncClient",
    "Client",
    "Criterion",
    "CriterionNotFound",
    "DeviceError",
    "DuplicateCriterion",
    "Engine",
    "ExpansionError",
    "Explanation",
    "Expression",
    "Finding",
    "Hierarchy",
    "Index",
    "IndexExists",
    "IndexNotFound",
    "InvalidCriterion",
    "InvalidRegion",
    "Match",
    "Matches",
    "Near",
    "NoMustangEquivalent",
    "NoSqlEquivalent",
    "Not",
    "Or",
    "ParseError",
    "Predicate",
    "RemudaError",
    "ServiceError",
    "StorageError",
    "Undecided",
    "attr",
    "check",
    "fn",
    "formats",
    "load",
    "parse",
    "when",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line starts without most of them."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'remuda' has no attribute {name!r}")
    room = import_module(f"remuda.{_ROOM_OF[name]}")
    found = room if _ROOM_OF[name] == name else getattr(room, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
