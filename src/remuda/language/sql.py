"""Spark SQL: what Spark itself runs with the same meaning, where it can say it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from remuda.errors import NoSqlEquivalent
from remuda.language.javaregex import java_regex
from remuda.language.phrases import (
    Binding,
    Wording,
    between,
    join,
    membership,
    plainly,
    sign,
    worded,
    write,
)
from remuda.language.spelling import moment, name, string
from remuda.language.subjects import FIELDS
from remuda.model.attributes import Attribute, Index
from remuda.model.calendars import Extract
from remuda.model.conditions import (
    Condition,
    Contains,
    Exists,
    In,
    Like,
    Matches,
    Missing,
    Prefix,
    Range,
    Related,
    Relation,
    Suffix,
)
from remuda.model.explanations import describe
from remuda.model.expressions import Expression, Predicate
from remuda.model.operations import (
    Arithmetic,
    Calculate,
    DateTime,
    Divide,
    Integral,
    Length,
    Operation,
    Size,
    Substring,
)
from remuda.model.values import Number, number, tidy

_LONGEST = 38  # digits of Spark's longest decimal
_SPARE = 18  # of these, what arithmetic may add to a bigint


class _Unsaid(Exception):
    """Spark has no words for it, for this reason."""


class _Type(StrEnum):
    """What Spark must know of a value before it compares it with others."""

    NUMBER = "number"
    DOUBLE = "double"
    STRING = "string"
    BOOLEAN = "boolean"
    MOMENT = "date or timestamp"
    ARRAY = "array"


def to_sql(expression: Expression) -> str:
    """Write the expression for Spark; NoSqlEquivalent, naming the predicate, where it cannot be.

    The meaning is the same on scalar columns whose type is the literal's, with ANSI on and the
    session in UTC.
    """
    return write(expression, _wording)


def _wording(predicate: Predicate) -> Wording:
    try:
        path = _path(predicate.attribute)
        match predicate.condition:
            case Exists():
                return worded(f"{path} IS NOT NULL", f"{path} IS NULL")
            case Missing():
                return worded(f"{path} IS NULL", f"{path} IS NOT NULL")
            case In(values=()):
                return worded("FALSE", f"{path} IS NOT NULL")
            case condition:
                about, kind = _subject(path, predicate.operations)
                ...
    except _Unsaid as unsaid:
        raise NoSqlEquivalent(describe(predicate), str(unsaid)) from None
