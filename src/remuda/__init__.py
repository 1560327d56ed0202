"""Which of millions of Boolean expressions are true for an event?"""

from remuda.engine.engine import Engine
from remuda.errors import (
    CriterionNotFound,
    DuplicateCriterion,
    ExpansionError,
    IndexExists,
    IndexNotFound,
    InvalidCriterion,
    NoMustangEquivalent,
    NoSqlEquivalent,
    ParseError,
    RemudaError,
    StorageError,
)
from remuda.index.index import Index, load
from remuda.index.matches import Match, Matches
from remuda.index.nearest import Near
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.language.text import parse
from remuda.model.explanations import Explanation
from remuda.model.expressions import And, Expression, Not, Or, Predicate

__all__ = [
    "And",
    "Criterion",
    "CriterionNotFound",
    "DuplicateCriterion",
    "Engine",
    "ExpansionError",
    "Explanation",
    "Expression",
    "Index",
    "IndexExists",
    "IndexNotFound",
    "InvalidCriterion",
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
    "StorageError",
    "attr",
    "load",
    "parse",
]
