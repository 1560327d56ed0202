"""How names and literals are spelt, alike for our text form and for Spark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot.dialects.spark import Spark

from remuda.model.values import Number, instant, number, tidy

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = frozenset(Spark.Tokenizer.KEYWORDS) | {"CAST"}
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def name(text: str) -> str:
    """A name as it is where that is safe, otherwise in back-quotes."""
    if _BARE.fullmatch(text) and text.upper() not in _KEYWORDS:
        return text
    return "`" + text.replace("`", "``") + "`"


def string(text: str) -> str:
    """A string in single quotes."""
    # Spark replaces ${...} by a setting, even within quotes
    return "'" + text.translate(_ESCAPES).replace("${", "$\\{") + "'"


def exact(value: Number) -> str:
    """A number without loss, as digits where that is not too long."""
    if isinstance(value, float):
        return f"double('{'-' if value < 0 else ''}Infinity')"
    decimal = Decimal(value)
    if abs(decimal.adjusted()) + len(decimal.as_tuple().digits) <= 60:
        return f"{decimal:f}"
    return f"{decimal:E}BD"


def literal(value: Any) -> str:
    """Any value of a predicate in our text form."""
    if isinstance(value, Mapping):
        parts = (literal(part) for pair in value.items() for part in pair)
        return f"object({', '.join(parts)})"
    if isinstance(value, list | tuple):
        return f"list({', '.join(map(literal, value))})"
    return _scalar(tidy(value))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if value is None:
        return "NULL"
    found = number(value)
    if found is not None:
        return exact(math.inf if found == math.inf else -math.inf if found == -math.inf else found)
    return moment(value) if isinstance(value, date) else "double('NaN')"  # either equals nothing


def moment(value: date) -> str:
    """A date, or a timestamp in UTC."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{instant(value).replace(tzinfo=None).isoformat(' ')}Z'"
    return f"DATE '{value.isoformat()}'"
