"""How names and literals are spelt, alike for our text form and for Spark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot.dialects.spark import Spark

from remuda.model.quoted import Moment, Quoted, quoted
from remuda.model.values import instant, number, tidy

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# for Spark, CURRENT_PATH is a function even where there is a column of that name
_KEYWORDS = frozenset(Spark.Tokenizer.KEYWORDS) | {"CAST", "CURRENT_PATH"}
_MANY_DIGITS = 60
INFINITE = (math.inf, -math.inf)  # math.isinf() fails on numbers too large for a float
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


def exact(value: int | Decimal) -> str:
    """A finite number without loss: its digits, or with an exponent where they are too many."""
    decimal = Decimal(value)
    if abs(decimal.adjusted()) + len(decimal.as_tuple().digits) <= _MANY_DIGITS:
        return f"{decimal:f}"
    return f"{decimal:E}BD"


def double(value: float) -> str:
    """A float as Spark's double."""
    if math.isnan(value):
        return "double('NaN')"
    return f"double('{'-' if value < 0 else ''}Infinity')" if math.isinf(value) else f"{value!r}D"


def operand(value: Any) -> str:
    """A value that the text form compares with, where quotes and DATE say more than one value."""
    if isinstance(value, Quoted):
        return string(value.text)
    if isinstance(value, Moment):
        return moment(value.at)
    plain = tidy(value)
    several = isinstance(plain, date) or (isinstance(plain, str) and quoted(plain) != plain)
    return f"plain({literal(plain)})" if several else literal(value)


def argument(value: Any) -> str:
    """A value that functions are given, to which 1, 1.0 and a decimal of 1 are three."""
    if isinstance(value, float):
        return double(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        return literal(value)
    spelt = str(value)
    return spelt if "." in spelt and "E" not in spelt else f"{spelt}BD"


def literal(value: Any) -> str:
    """A value in our text form, where it stands for itself."""
    if isinstance(value, Mapping):
        parts = (literal(part) for pair in value.items() for part in pair)
        return f"object({', '.join(parts)})"
    if isinstance(value, list | tuple):
        return f"list({', '.join(map(literal, value))})"
    plain = tidy(value)
    return literal(plain) if isinstance(plain, list) else _scalar(plain)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, date):
        return moment(value)
    if value is None:
        return "NULL"
    found = number(value)
    if found is None:
        return double(math.nan)  # within a list, another value that equals nothing
    if isinstance(found, float) or found in INFINITE:
        return double(float(found))
    return exact(found)


def moment(value: date) -> str:
    """A date, or a timestamp in UTC."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{instant(value).replace(tzinfo=None).isoformat(' ')}Z'"
    return f"DATE '{value.isoformat()}'"
