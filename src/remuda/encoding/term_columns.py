"""Functions of terms on whole columns, where NumPy gives exactly what they give value by value.

A column is of integers or doubles; dates are days and timestamps microseconds since 1970. None is
the answer for columns that a function has to look at value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Longs
from remuda.model.attributes import Attribute
from remuda.model.terms import Call, Literal, Term
from remuda.model.values import Kind

Values: TypeAlias = NDArray[Any]  # of int64 or float64
Doubles: TypeAlias = NDArray[np.float64]

_LEAST, _LONG = -(2**63), 2**63
_SHORT = 2**31
DAY = 86_400_000_000  # microseconds
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, which Python's calendar has


@dataclass(frozen=True, slots=True)
class Column:
    """Values, and which of them are there; what stands for a missing one means nothing."""

    values: Values
    valid: Bools
    kind: Kind = Kind.NUMBER

    @property
    def is_double(self) -> bool:
        return self.values.dtype.kind == "f"


def is_columnar(term: Term) -> bool:
    """Whether the term may be had from whole columns."""
    return isinstance(term, Call) and _is_columnar(term)


def evaluated(
    term: Term, column_of: Callable[[Attribute], Column | None], n_rows: int
) -> Column | None:
    """The column of a term; None where it has to be looked at value by value."""
    match term:
        case Attribute():
            return column_of(term)
        case Literal(value) if type(value) is int and -_LONG <= value < _LONG:
            return Column(np.full(n_rows, value, np.int64), np.ones(n_rows, np.bool_))
        case Literal(value) if type(value) is float:
            return Column(np.full(n_rows, value, np.float64), np.ones(n_rows, np.bool_))
        case Call(name, arguments):
            columns = [evaluated(one, column_of, n_rows) for one in arguments]
            for i, one in enumerate(arguments):
                if columns[i] is None and _is_decimal(one) and _any_double(columns):
                    columns[i] = evaluated(Literal(float(one.value)), column_of, n_rows)
            known = [column for column in columns if column is not None]
            return COLUMNS[name](known) if len(known) == len(columns) else None
    return None


def _is_columnar(term: Term) -> bool:
    match term:
        case Attribute() | Literal(int() | float() | Decimal()):
            return True
        case Call(name, arguments):
            return name in COLUMNS and all(map(_is_columnar, arguments))
    return False


def _is_decimal(term: Term) -> TypeGuard[Literal]:
    """A literal such as 1.5, which is a double beside doubles, and exact elsewhere."""
    return isinstance(term, Literal) and isinstance(term.value, Decimal)


def _any_double(columns: Sequence[Column | None]) -> bool:
    return any(column is not None and column.is_double for column in columns)


Columns: TypeAlias = Sequence[Column]
ColumnFunction: TypeAlias = Callable[[Columns], "Column | None"]


def _are_numbers(columns: Columns) -> bool:
    return all(column.kind is Kind.NUMBER for column in columns)


def _both(columns: Columns) -> Bools:
    return columns[0].valid & columns[1].valid


def _doubles(columns: Columns) -> list[Doubles]:
    return [column.values.astype(np.float64, copy=False) for column in columns]


def _arithmetic(
    plain: Callable[[Values, Values], Values], overflows: Callable[[Longs, Longs, Longs], Bools]
) -> ColumnFunction:
    def apply(columns: Columns) -> Column | None:
        if not _are_numbers(columns):
            return None
        with np.errstate(all="ignore"):
            if any(column.is_double for column in columns):
                return Column(plain(*_doubles(columns)), _both(columns))
            one, other = (column.values for column in columns)
            found = plain(one, other)  # modulo 2^64
            return Column(found, _both(columns) & ~overflows(one, other, found))

    return apply


def _sum_overflows(one: Longs, other: Longs, found: Longs) -> Bools:
    """A sum whose sign is that of neither term."""
    return ((one ^ found) & (other ^ found)) < 0


def _difference_overflows(one: Longs, other: Longs, found: Longs) -> Bools:
    return ((one ^ other) & (one ^ found)) < 0


def _product_overflows(one: Longs, other: Longs, found: Longs) -> Bools:
    """A product that does not divide back; small factors need no division."""
    if _magnitude(one) * _magnitude(other) < _LONG:
        return np.zeros(len(found), np.bool_)
    back = found // np.where(other == 0, 1, other)
    overflow: Bools = ((other != 0) & (back != one)) | ((other == -1) & (one == _LEAST))
    return overflow


def _magnitude(values: Longs) -> int:
    return max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0


def _divide(columns: Columns) -> Column | None:
    if not _are_numbers(columns):
        return None
    one, other = _doubles(columns)
    with np.errstate(all="ignore"):
        return Column(one / other, _both(columns) & (other != 0))


def _mod(columns: Columns) -> Column | None:
    if not _are_numbers(columns):
        return None
    one, other = (column.values for column in columns)
    if any(column.is_double for column in columns):
        one, other = _doubles(columns)
    divisible = other != 0
    with np.errstate(all="ignore"):
        found = np.fmod(one, np.where(divisible, other, 1))
    return Column(found, _both(columns) & divisible)


def _div(columns: Columns) -> Column | None:
    if not _are_numbers(columns) or any(column.is_double for column in columns):
        return None
    one, other = (column.values for column in columns)
    overflow = (one == _LEAST) & (other == -1)
    divisible = (other != 0) & ~overflow
    by = np.where(divisible, other, 1)
    quotient = one // by  # towards minus infinity
    quotient += (quotient * by != one) & ((one < 0) != (by < 0))
    return Column(quotient, _both(columns) & divisible)


def _of_number(plain: Callable[[Values], Values]) -> ColumnFunction:
    def apply(columns: Columns) -> Column | None:
        (column,) = columns
        if not _are_numbers(columns):
            return None
        valid = column.valid if column.is_double else column.valid & (column.values != _LEAST)
        return Column(plain(column.values), valid)

    return apply


def _towards(whole: Callable[[Values], Values]) -> ColumnFunction:
    def apply(columns: Columns) -> Column | None:
        (column,) = columns
        if not _are_numbers(columns):
            return None
        if not column.is_double:
            return column
        found = whole(np.where(np.isnan(column.values), 0.0, column.values))
        held = (found >= _LEAST) & (found < _LONG)
        return Column(np.where(held, found, 0.0).astype(np.int64), column.valid & held)

    return apply


def _first(precedes: Callable[[Values, Values], Bools] | None = None) -> ColumnFunction:
    """That which precedes all others, or the first that is there."""

    def apply(columns: Columns) -> Column | None:
        if not _are_alike(columns):
            return None
        return reduce(lambda one, other: _first_of(one, other, precedes), columns)

    return apply


def _are_alike(columns: Columns) -> bool:
    return len({(column.kind, column.is_double) for column in columns}) == 1


def _first_of(
    one: Column, other: Column, precedes: Callable[[Values, Values], Bools] | None
) -> Column:
    """The other where it precedes, or where it is the only one."""
    takes = other.valid & ~one.valid
    if precedes is not None:
        takes |= other.valid & precedes(other.values, one.values)
    return Column(np.where(takes, other.values, one.values), one.valid | other.valid, one.kind)


def _is_greater(one: Values, other: Values) -> Bools:
    """NaN, which no comparison holds for, is the greatest."""
    if one.dtype.kind != "f":
        return one > other
    return (one > other) | (np.isnan(one) & ~np.isnan(other))


# Dates and timestamps


def _days(column: Column) -> Longs | None:
    """The days since 1970; None where the column has neither dates nor timestamps."""
    if column.kind is Kind.DATE:
        return column.values
    return column.values // DAY if column.kind is Kind.TIMESTAMP else None


def _micros(column: Column) -> Longs | None:
    """The microseconds since 1970, of a date those of its midnight; None likewise."""
    if column.kind is Kind.DATE:
        return column.values * DAY
    return column.values if column.kind is Kind.TIMESTAMP else None


def _of_moment(
    since: Callable[[Column], Longs | None], field: Callable[[Longs], Longs]
) -> ColumnFunction:
    def apply(columns: Columns) -> Column | None:
        (column,) = columns
        found = since(column)
        return None if found is None else Column(field(found), column.valid)

    return apply


def _of_day(field: Callable[[Longs], Longs]) -> ColumnFunction:
    return _of_moment(_days, field)


def _of_time(unit: int, most: int | None = None) -> ColumnFunction:
    """The units since 1970, or since so many of them were full."""
    return _of_moment(_micros, lambda at: at // unit if most is None else at // unit % most)


def _year(days: Longs) -> Longs:
    return days.view("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970


def _month(days: Longs) -> Longs:
    return days.view("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1


def _since(days: Longs, unit: str) -> Longs:
    """The days since the first of the year or month."""
    first = days.view("datetime64[D]").astype(unit).astype("datetime64[D]")
    return days - first.astype(np.int64)


def _week_of_year(days: Longs) -> Longs:
    """The week of the year in which its Thursday is."""
    thursday = days - _weekday(days) + 3
    return _since(thursday, "datetime64[Y]") // 7 + 1


def _weekday(days: Longs) -> Longs:
    return (days + 3) % 7  # 1970 began with a Thursday


def _date_diff(columns: Columns) -> Column | None:
    end, start = map(_days, columns)
    if end is None or start is None:
        return None
    return Column(end - start, _both(columns))


def _shifted(sign: int) -> ColumnFunction:
    def apply(columns: Columns) -> Column | None:
        value, shift = columns
        days = _days(value)
        if days is None or shift.kind is not Kind.NUMBER or shift.is_double:
            return None
        short = (shift.values >= -_SHORT) & (shift.values < _SHORT)
        found = days + sign * np.where(short, shift.values, 0)
        within = (found >= FIRST_DAY) & (found <= LAST_DAY)
        return Column(found, _both(columns) & short & within, Kind.DATE)

    return apply


def _or_shifted(plain: ColumnFunction, shift: ColumnFunction, either: bool) -> ColumnFunction:
    """The arithmetic of numbers; a date and a number of days are a date."""

    def apply(columns: Columns) -> Column | None:
        kinds = [column.kind for column in columns]
        if kinds == [Kind.DATE, Kind.NUMBER]:
            return shift(columns)
        if either and kinds == [Kind.NUMBER, Kind.DATE]:
            return shift(columns[::-1])
        return plain(columns)

    return apply


def _compare(columns: Columns) -> Column | None:
    """-1, 0 or 1; NaN, which satisfies nothing, where one is NaN."""
    if not _are_alike(columns):
        return None
    one, other = (column.values for column in columns)
    order: Values = (one > other).astype(np.int64) - (one < other)
    if columns[0].is_double:
        order = np.where(np.isnan(one) | np.isnan(other), np.nan, order)
    return Column(order, _both(columns))


COLUMNS: Mapping[str, ColumnFunction] = {
    "compare": _compare,
    "ordering": _compare,
    "add": _or_shifted(_arithmetic(np.add, _sum_overflows), _shifted(1), either=True),
    "subtract": _or_shifted(
        _arithmetic(np.subtract, _difference_overflows), _shifted(-1), either=False
    ),
    "multiply": _arithmetic(np.multiply, _product_overflows),
    "divide": _divide,
    "mod": _mod,
    "div": _div,
    "negative": _of_number(np.negative),
    "abs": _of_number(np.abs),
    "floor": _towards(np.floor),
    "ceil": _towards(np.ceil),
    "greatest": _first(_is_greater),
    "least": _first(lambda one, other: _is_greater(other, one)),
    "coalesce": _first(),
    "nvl": _first(),
    "year": _of_day(_year),
    "quarter": _of_day(lambda days: (_month(days) + 2) // 3),
    "month": _of_day(_month),
    "day": _of_day(lambda days: _since(days, "datetime64[M]") + 1),
    "dayofweek": _of_day(lambda days: (days + 4) % 7 + 1),
    "weekday": _of_day(_weekday),
    "dayofyear": _of_day(lambda days: _since(days, "datetime64[Y]") + 1),
    "weekofyear": _of_day(_week_of_year),
    "hour": _of_time(3_600_000_000, 24),
    "minute": _of_time(60_000_000, 60),
    "second": _of_time(1_000_000, 60),
    "date_diff": _date_diff,
    "date_add": _shifted(1),
    "date_sub": _shifted(-1),
    "unix_seconds": _of_time(1_000_000),
    "unix_millis": _of_time(1_000),
    "unix_micros": _of_time(1),
}
