"""Hypothesis strategies: events and expressions of every kind, over a small shared vocabulary.

Attributes and values are few, so that predicates and events meet; lists, missing values, nulls
and mixed types are frequent.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import reject
from hypothesis import strategies as st

from remuda.errors import InvalidCriterion
from remuda.model.attributes import Attribute
from remuda.model.calendars import Extract
from remuda.model.conditions import (
    OF_LACK,
    Absent,
    AnyElement,
    Comparison,
    Contains,
    EveryElement,
    Exists,
    In,
    Like,
    Missing,
    Network,
    NullValue,
    Prefix,
    QuotedRange,
    Range,
    Regex,
    Related,
    Relation,
    SemVer,
    Suffix,
    Under,
    Version,
)
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate
from remuda.model.functions import FUNCTIONS
from remuda.model.hierarchies import Hierarchy
from remuda.model.operations import (
    Arithmetic,
    BinaryConversion,
    Calculate,
    DateTime,
    Divide,
    Integral,
    Length,
    Size,
    Substring,
    ToDateTime,
)
from remuda.model.patterns import regex
from remuda.model.quoted import Moment, Quoted
from remuda.model.terms import Applied, Call, Case, Literal, Term, applied

SOAK = os.environ.get("REMUDA_SOAK") == "1"
ALL = os.environ.get("REMUDA_ALL") == "1"  # `./run test all`: what is missing is a failure
SEED = int(os.environ.get("REMUDA_SEED", "0"))  # of what proofs draw without Hypothesis
SHARDS = int(os.environ.get("REMUDA_SHARDS", "1"))  # processes that share a proof


def count(reduced: int, full: int) -> int:
    """How often a long proof is tried: `./run soak` has the full count."""
    return full if SOAK else reduced


NOW = 1_700_000_000_000  # one clock for all tests

PATHS = ("a", "b", "c", "user.age", "$.tags[0]", "$['odd name']", "tags", "items[*].k")
_NUMBERS = (0, 1, 2, 3, -1, 1.0, 0.1, 0.30000000000000004, 2.5, Decimal("0.3"), 2**53, 2**53 + 1)
_INFINITE = (float("inf"), Decimal("-Infinity"))
_STRINGS = ("", "a", "ab", "abc", "b", "B", "1", "1.0", "1.2-rc1", "a%b", "é", "日本", "a\nb", "\\")
_VERSIONS = ("0", "0.0.0-alpha", "v2", "1.foo.1", "1.0.alpha.1", "1-sp", "1" + "-1" * 20)
_DATES = (date(2024, 2, 29), date(1970, 1, 1))
_TIMESTAMPS = (
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(1970, 1, 1),  # naive, so UTC
    datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC),
)
_EPOCHS = (NOW, 1_709_210_096_789)
_FAR_EPOCHS = (-62_135_769_600_001, -12_219_292_800_001, -(10**12), 10**14, 2**63)


def _deep(levels: int) -> list[object]:
    """Lists in lists."""
    value: list[object] = [1]
    for _ in range(levels):
        value = [value]
    return value


_SCALARS = (*_NUMBERS, *_STRINGS, True, False, *_DATES, *_TIMESTAMPS, *_EPOCHS)
_SEMVERS = ("1.0.0-alpha.1", "1.0.0-beta.11", "1.0.0", "1.0.0+b", "v1.0.0", "1-rc", "1.2", "01.0.0")
_ADDRESSES = ("10.0.0.0", "10.0.0.255", "10.0.1.0", "::a00:0", "2001:db8::1%eth0", "10.0.0.0/24")
scalars = st.sampled_from((*_SCALARS, *_VERSIONS, *_SEMVERS, *_ADDRESSES))
json_scalars = st.sampled_from(
    (*(n for n in _NUMBERS if not isinstance(n, Decimal)), *_STRINGS, True, False, *_EPOCHS)
)
_odd = st.sampled_from(
    (
        *(None, float("nan"), float("inf"), {"k": 1}, {"k": 1.0}, {}, [1], [[1]], b"x"),
        *((1, 1), (1, True), _deep(101)),
    )
)
_FOREIGN = (  # what frames and columns have, and JSON does not
    *(pd.NaT, pd.NA, pd.Timestamp("2024-02-29 12:00:00.000000999"), pd.Timestamp(-1)),
    *(
        np.datetime64("2024-02-29T12:00:00.000000001"),
        np.datetime64("NaT", "ns"),
        np.datetime64(1, "ps"),
    ),
    *(np.timedelta64(1, "ns"), np.array([1, 2]), np.array(["1970-01-01"], "datetime64[ns]")),
    *(
        pa.scalar((1, 2, 3), pa.month_day_nano_interval()).as_py(),
        time(1),
        timedelta(1),
        UUID(int=1),
    ),
    *(Decimal("1E-500"), Decimal("-1E+500"), Decimal("sNaN"), date(1, 1, 1), datetime.max),
    *_FAR_EPOCHS,
)


@st.composite
def _foreign(draw: st.DrawFn) -> object:  # a function, whose name is all that Hypothesis prints
    return _FOREIGN[draw(st.integers(0, len(_FOREIGN) - 1))]


event_texts = st.one_of(  # more than criteria may have: halves of surrogate pairs
    st.sampled_from((*_STRINGS, "abc and abc and abc", "a.b", "abcabcabc", "ABC and", "a\ud800")),
    st.lists(st.sampled_from(("abc", "a", " and ", "ABC", "日本", "\udfff")), max_size=4).map(
        "".join
    ),
)
_elements = st.one_of(scalars, scalars, scalars, _odd, _foreign(), event_texts)


@st.composite
def _values(draw: st.DrawFn) -> object:  # by this name, or what names an example would be too long
    return draw(st.one_of(_elements, st.lists(_elements, max_size=4)))


values = _values()
events = st.fixed_dictionaries(
    {},
    optional={
        "a": values,
        "b": values,
        "c": values,
        "user": st.one_of(st.fixed_dictionaries({}, optional={"age": values}), values),
        "tags": values,
        "odd name": values,
        "items": st.lists(
            st.one_of(st.fixed_dictionaries({}, optional={"k": values}), _elements), max_size=3
        ),
    },
)

attributes = st.sampled_from(PATHS).map(Attribute.parse)
_operands = st.lists(st.one_of(scalars, st.sampled_from(({"k": 1}, [1]))), max_size=4).map(tuple)
_QUOTED = (
    "1",
    "0",
    "2.5",
    "2024-02-29",
    "1970-01-01 00:00:00",
    "true",
    "1970",
    " 3",
    "2024-02-29 12",
    "a",
)
_quoted = st.one_of(
    st.sampled_from(_QUOTED).map(Quoted), st.sampled_from((*_DATES, *_TIMESTAMPS)).map(Moment)
)
_quoted_operands = st.lists(st.one_of(_quoted, scalars), max_size=4).map(tuple)


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    numbers = (*_NUMBERS, Decimal("1E-500"), Decimal("0E-500"), Decimal("1E+500"), *_INFINITE)
    kind = draw(st.sampled_from((numbers, _STRINGS, _DATES, _TIMESTAMPS)))
    bound = st.one_of(st.none(), st.sampled_from(kind))
    return Range(draw(bound), draw(bound), draw(st.booleans()), draw(st.booleans()))


@st.composite
def quoted_ranges(draw: st.DrawFn) -> QuotedRange:
    other = draw(
        st.one_of(st.none(), _quoted, st.sampled_from((1, "b", _DATES[0], _TIMESTAMPS[0])))
    )
    bounds = draw(st.permutations((draw(_quoted), other)))
    return QuotedRange(*bounds, draw(st.booleans()), draw(st.booleans()))


def is_pattern(pattern: str) -> bool:
    """Whether RE2 takes the pattern."""
    try:
        return bool(regex(pattern))
    except InvalidCriterion:
        return False


_PATTERNS = ("a.*", ".*", "", "[ab]+", "(a|b)c?", r"\d\.\d", "(?i)B", "^a", "b$")
_LITERALS = (
    "a",
    "abc",
    " and ",
    r"\Qa.b\E",
    "日本",
    "ABC",
    "(?:abc)",
    "abc",
    "[ab]",
    "é",
    "[^a]",
    r"\s-",
    "[b-d]",
)
_BETWEEN = ("", ".*", r"\w+", "(?s:.*)", "|", "?", "{3}", "{2,}", "(?i)", "(?)", r"\Q\E")
shared_patterns = (  # of literals that many share, some of them several times
    st.lists(st.sampled_from((*_LITERALS, *_BETWEEN)), max_size=7).map("".join).filter(is_pattern)
)
_patterns = st.one_of(st.sampled_from((*_PATTERNS, r"\Qa.b")), shared_patterns)


_likes = st.sampled_from(("a%", "%b", "_", "%", "a\\%b", "%a%b%", "", "a_c", "\\\\"))
_texts = st.sampled_from((*_STRINGS, "\ud7ff", "a\U0010ffff"))

_networks = st.sampled_from(
    ("10.0.0.0/8", "10.0.0.0/24", "10.0.1.0", "0.0.0.0/0", "::/0", "2001:db8::/32", "::a00:0/127")
)
conditions = st.one_of(
    _operands.map(In),
    _operands.map(In),
    _quoted_operands.map(In),
    ranges(),
    ranges(),
    quoted_ranges(),
    st.builds(Regex, _patterns, st.booleans()),
    st.builds(
        Version,
        st.sampled_from(("1.0", "1.2", "1.2-rc", "a", *_VERSIONS)),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(
        SemVer,
        st.sampled_from(("1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0+a", "1.2.0", "0.0.0")),
        st.sampled_from(Comparison),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(Network, st.lists(_networks, max_size=3).map(tuple)),
    st.builds(Like, _likes),
    st.builds(Prefix, _texts),
    st.builds(Suffix, _texts),
    st.builds(Contains, _texts),
    st.builds(Related, st.sampled_from(Relation), _operands),
    _quoted_operands.map(lambda values: Related(Relation.OVERLAPS, values)),
    st.just(Exists()),
    st.just(Missing()),
    st.just(NullValue()),
    st.just(Absent()),
)

_ZONES = ("UTC", "Europe/Berlin", "Europe/Dublin", "Africa/Casablanca")
_FORMATS = (None, "yyyy-MM-dd'T'HH:mm:ssXXX", "uuuu-MM-dd HH:mm G VV")
operations = st.one_of(
    st.builds(Calculate, st.sampled_from(Arithmetic), st.sampled_from((0, 1, -3, 0.2, 2.5))),
    st.builds(Divide, st.sampled_from(Integral), st.sampled_from((0, 1, 2, -3, 10))),
    st.just(BinaryConversion()),
    st.just(Length()),
    st.just(Size()),
    st.builds(Substring, st.integers(-1, 3), st.one_of(st.none(), st.integers(-1, 4))),
    st.builds(DateTime, st.sampled_from(Extract), st.sampled_from(_ZONES)),
    st.builds(ToDateTime, st.sampled_from(_FORMATS)),
)
_chains = st.one_of(st.just(()), st.just(()), st.lists(operations, max_size=2).map(tuple))
weights = st.one_of(st.just(1.0), st.sampled_from((0.0, 0.1, 2.0, 3.5, -1.0)))

predicates = st.builds(
    lambda attribute, condition, chain, polarity, weight: Predicate(
        applied(attribute, chain), condition, polarity, weight
    ),
    attributes,
    conditions,
    _chains,
    st.sampled_from(Polarity),
    weights,
)


@st.composite
def _calls(draw: st.DrawFn, arguments: st.SearchStrategy[Term]) -> Term:
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    function = FUNCTIONS[name]
    most = function.least + 2 if function.most is None else function.most
    n = draw(st.integers(function.least, most))
    drawn = tuple(draw(st.lists(arguments, min_size=n, max_size=n)))
    try:
        return Call(name, drawn)
    except InvalidCriterion:  # literals that the function never takes
        reject()


_flagged = st.builds(
    lambda attribute, walk, empty: Attribute(attribute.steps, walk, empty),
    attributes,
    st.booleans(),
    st.booleans(),
)
_of_flagged = st.builds(Predicate, _flagged, conditions, st.sampled_from(Polarity))
_asked_by_case = st.one_of(
    predicates,
    _of_flagged,
    _of_flagged.map(Not),
    st.lists(_of_flagged, max_size=2).map(lambda several: Or(*several)),
)
_literals = st.builds(Literal, st.one_of(st.none(), scalars, st.sampled_from((1, 2, "a"))))
_leaves = st.one_of(_flagged, attributes, _literals)
terms = st.recursive(
    st.one_of(_leaves, _calls(_leaves)),
    lambda inner: st.one_of(
        _calls(inner),
        st.builds(Applied, operations, inner),
        st.builds(
            lambda asked, then, otherwise: Case(((asked, then),), otherwise),
            _asked_by_case,
            inner,
            inner,
        ),
    ),
    max_leaves=4,
)
of_terms = st.builds(
    Predicate,
    terms,
    conditions.filter(lambda one: type(one) not in OF_LACK),
    st.sampled_from(Polarity),
    weights,
)


def expressions_over(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Expressions nested over the given leaves."""
    return st.recursive(
        leaves,
        lambda parts: st.one_of(
            st.lists(parts, max_size=3).map(lambda several: And(*several)),
            st.lists(parts, max_size=3).map(lambda several: Or(*several)),
            parts.map(Not),
        ),
        max_leaves=8,
    )


expressions = expressions_over(predicates)


def _asked_of(
    lists: st.SearchStrategy[Attribute], inner: st.SearchStrategy[Expression], *more: object
) -> st.SearchStrategy[Predicate]:
    """Predicates on the elements of lists."""
    asked = st.one_of(st.builds(AnyElement, inner), st.builds(EveryElement, inner))
    return st.builds(Predicate, lists, asked, st.sampled_from(Polarity), *more)


_of_element = st.builds(
    Predicate,
    st.sampled_from(("k", "k", "$", "n")).map(Attribute.parse),
    conditions,
    st.sampled_from(Polarity),
)
_inner = expressions_over(
    st.one_of(_of_element, _of_element, _asked_of(st.just(Attribute.parse("k")), _of_element))
)
_lists = st.sampled_from(("items", "items", "tags", "a")).map(Attribute.parse)
_flagged_lists = st.one_of(_lists, _lists.map(lambda one: Attribute(one.steps, empty=True)))
_of_elements = _asked_of(_flagged_lists, _inner, weights)


@st.composite
def of_any_kind(draw: st.DrawFn) -> Predicate:  # a function, for the sake of its short name
    return draw(st.one_of(predicates, of_terms, _of_elements))


expressions_of_terms = expressions_over(of_any_kind())

# of letters and numbers that events have; for indexes that have the trees, which not all do
TREES = {"t": Hierarchy.of({"ab": "a", "abc": "ab", "b": "a", 1: "b", 2: 1, 3: 1, "B": 0})}
_under = st.sampled_from(TREES["t"].order).map(lambda node: Under("t", node, TREES["t"]))
_of_trees = st.builds(Predicate, st.one_of(attributes, terms), _under, st.sampled_from(Polarity))
_of_nodes = st.builds(Predicate, st.just(Attribute.parse("k")), _under, st.sampled_from(Polarity))
_of_branches = st.builds(
    lambda asked, then: Predicate(Case(((asked, then),)), In((1, "a"))), _of_trees, _leaves
)
expressions_of_trees = expressions_over(
    st.one_of(
        of_any_kind(),
        _of_trees,
        _of_branches,
        _asked_of(_flagged_lists, expressions_over(_of_nodes)),
    )
)
