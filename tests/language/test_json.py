"""The JSON form: what is read, what is refused and where, and what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import InvalidCriterion, NoMustangEquivalent, ParseError
from remuda.language import json_writing
from remuda.language.criterion import Criterion
from remuda.language.json_form import read_event
from remuda.language.python import attr
from remuda.model.calendars import Extract
from remuda.model.conditions import (
    Condition,
    Contains,
    Exists,
    In,
    Like,
    Missing,
    Prefix,
    Range,
    Regex,
    Related,
    Relation,
    Suffix,
    Version,
)
from remuda.model.expressions import (
    MAX_LEVELS,
    MAX_PARTS,
    And,
    Expression,
    Not,
    Or,
    Polarity,
    Predicate,
)
from remuda.model.operations import (
    Arithmetic,
    BinaryConversion,
    Calculate,
    DateTime,
    Divide,
    Integral,
    Length,
    Operation,
    Size,
    Substring,
    ToDateTime,
)
from remuda.model.terms import Case, Literal
from remuda.model.values import MAX_LEVELS as MAX_VALUE_LEVELS
from strategies import (
    NOW,
    attributes,
    events,
    expressions,
    expressions_of_terms,
    expressions_over,
    scalars,
)

T = TypeVar("T")
Json = dict[str, Any]
A, B, C = (attr(name).eq(1) for name in "abc")
IS_ONE = {"caveat": "EQUALITY", "values": [1]}


def written(name: str, **more: Any) -> Json:
    return {"type": "INCLUDED", "lhs": name, "detail": IS_ONE} | more


def dnf(*predicates: Json, **more: Any) -> Json:
    clause = {"type": "AND", "predicates": list(predicates)}
    return {"form": "DNF", "id": "x", "conjunctions": [clause]} | more


def only(source: Any) -> Predicate:
    """The one predicate of a criterion."""
    node = Criterion.from_json(source).expression
    while node.parts:
        (node,) = node.parts
    assert isinstance(node, Predicate)
    return node


def detail(**written_detail: Any) -> Json:
    return dnf(written("a", detail=written_detail))


def operation(**written_operation: Any) -> Json:
    return dnf(written("a", preOperations=[written_operation]))


# --- reading

DETAILS: dict[str, tuple[Json, Condition]] = {
    "equality": (
        {"caveat": "EQUALITY", "values": ["a", 1, True, {"k": 1}]},
        In(("a", 1, True, {"k": 1})),
    ),
    "no values": ({"caveat": "EQUALITY", "values": []}, In(())),
    "subset": ({"caveat": "SUBSET", "values": [1]}, Related(Relation.SUBSET, (1,))),
    "superset": ({"caveat": "SUPERSET", "values": [1]}, Related(Relation.SUPERSET, (1,))),
    "equalset": ({"caveat": "EQUALSET", "values": [1]}, Related(Relation.EQUALSET, (1,))),
    "overlaps": ({"caveat": "OVERLAPS", "values": [1]}, Related(Relation.OVERLAPS, (1,))),
    "range": (
        {"caveat": "RANGE", "lowerBound": 1, "upperBound": 2.5, "includeLowerBound": True},
        Range(1, 2.5, True, False),
    ),
    "null bounds": ({"caveat": "RANGE", "lowerBound": None, "upperBound": None}, Range()),
    "null for false": ({"caveat": "RANGE", "lowerBound": 1, "includeLowerBound": None}, Range(1)),
    "range of strings": ({"caveat": "RANGE", "lowerBound": "a"}, Range("a")),
    "bounds of an export": (
        {
            "caveat": "RANGE",
            "lowerBound": 4.9e-324,
            "upperBound": 1.7976931348623157e308,
            "includeLowerBound": False,
            "includeUpperBound": False,
            "normalisedView": "4.9E-324#1.7976931348623157E308#false#false",
        },
        Range(),
    ),
    "the same bounds, meant": ({"caveat": "RANGE", "lowerBound": 4.9e-324}, Range(5e-324)),
    "regex": ({"caveat": "REGEX", "regex": "a+"}, Regex("a+")),
    "above": ({"caveat": "VERSIONING", "check": "ABOVE", "baseVersion": "1"}, Version("1", True)),
    "strictly below": (
        {
            "caveat": "VERSIONING",
            "check": "BELOW",
            "baseVersion": "1",
            "excludeBase": True,
            "normalisedView": "BELOW#1#true",
        },
        Version("1", False, True),
    ),
    "existence": ({"caveat": "EXISTENCE"}, Exists()),
    "non-existence": ({"caveat": "NON_EXISTENCE"}, Missing()),
    "like": ({"caveat": "LIKE", "pattern": "a%"}, Like("a%")),
    "like with escape": ({"caveat": "LIKE", "pattern": "a!%", "escape": "!"}, Like("a!%", "!")),
    "prefix": ({"caveat": "PREFIX", "text": "a"}, Prefix("a")),
    "suffix": ({"caveat": "SUFFIX", "text": "a"}, Suffix("a")),
    "contains": ({"caveat": "CONTAINS", "text": "a"}, Contains("a")),
    "date": ({"caveat": "RANGE", "lowerBound": {"date": "2024-02-29"}}, Range(date(2024, 2, 29))),
    "timestamp": (
        {"caveat": "RANGE", "upperBound": {"timestamp": "2024-02-29T12:00:00.000001Z"}},
        Range(None, datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)),
    ),
    "decimal": (
        {"caveat": "RANGE", "lowerBound": {"decimal": "0.12345678901234567890"}},
        Range(Decimal("0.1234567890123456789")),
    ),
    "infinity": ({"caveat": "RANGE", "lowerBound": {"decimal": "-Infinity"}}, Range(float("-inf"))),
    "typed values": (
        {"caveat": "EQUALITY", "values": [1], "typedValues": [{"date": "2024-02-29"}]},
        In((1, date(2024, 2, 29))),
    ),
    "an object that looks typed": (
        {"caveat": "EQUALITY", "values": [{"date": "2024-02-29"}]},
        In(({"date": "2024-02-29"},)),
    ),
    "typed values inside others": (
        {
            "caveat": "SUBSET",
            "values": [],
            "typedValues": [{"list": [None, {"object": {"k": {"date": "2024-02-29"}}}]}],
        },
        Related(Relation.SUBSET, ([None, {"k": date(2024, 2, 29)}],)),
    ),
}


@pytest.mark.parametrize(("source", "condition"), DETAILS.values(), ids=DETAILS)
def test_reads_detail(source: Json, condition: Condition) -> None:
    assert only(detail(**source)).condition == condition
    assert only(json.dumps(detail(**source))).condition == condition


OPERATIONS: dict[str, tuple[Json, tuple[Operation, ...]]] = {
    "identity": ({"type": "IDENTITY"}, ()),
    "addition": ({"type": "ADDITION", "rhs": 0.2}, (Calculate(Arithmetic.ADDITION, 0.2),)),
    "subtraction": ({"type": "SUBTRACTION", "rhs": 3}, (Calculate(Arithmetic.SUBTRACTION, 3),)),
    "nothing to multiply by": (
        {"type": "MULTIPLICATION"},
        (Calculate(Arithmetic.MULTIPLICATION, 0),),
    ),
    "exact decimal": (
        {"type": "ADDITION", "rhs": {"decimal": "1E-30"}},
        (Calculate(Arithmetic.ADDITION, Decimal("1E-30")),),
    ),
    "division truncates": ({"type": "DIVISION", "rhs": 2.5}, (Divide(Integral.DIVISION, 2),)),
    "modulo truncates": ({"type": "MODULO", "rhs": 0.2}, (Divide(Integral.MODULO, 0),)),
    "nothing to divide by": ({"type": "DIVISION"}, (Divide(Integral.DIVISION, 0),)),
    "binary": ({"type": "BINARY_CONVERSION"}, (BinaryConversion(),)),
    "length": ({"type": "LENGTH"}, (Length(),)),
    "size": ({"type": "SIZE"}, (Size(),)),
    "substring": (
        {"type": "SUBSTRING", "beginIndex": 1, "endIndex": 3},
        (Substring(1, 3),),
    ),
    "substring to the end": ({"type": "SUBSTRING", "endIndex": None}, (Substring(0, None),)),
    "datetime": ({"type": "DATETIME", "extract": "YEAR"}, (DateTime(Extract.YEAR),)),
    "datetime in a zone": (
        {"type": "DATETIME", "extract": "HOUR", "zone": "Asia/Kolkata"},
        (DateTime(Extract.HOUR, "Asia/Kolkata"),),
    ),
    "to datetime": (
        {"type": "TO_DATETIME", "dateTimeFormat": "yyyy"},
        (ToDateTime("yyyy"),),
    ),
    "to datetime in ISO": ({"type": "TO_DATETIME"}, (ToDateTime(),)),
}


@pytest.mark.parametrize(("source", "chain"), OPERATIONS.values(), ids=OPERATIONS)
def test_reads_operation(source: Json, chain: tuple[Operation, ...]) -> None:
    assert only(operation(**source)).operations == chain
    assert only(dnf(written("a", preOperation=source))).operations == chain


PREDICATES: dict[str, tuple[Json, Predicate]] = {
    "weight by default": (written("a"), A),
    "null weight": (written("a", weight=None), A),
    "weight of 0": (written("a", weight=0), A.weight(0)),
    "decimal weight": (written("a", weight=2.5), A.weight(2.5)),
    "excluded": (written("a", type="EXCLUDED"), A.with_polarity(Polarity.EXCLUDED)),
    "strongly excluded": (
        written("a", type="STRONGLY_EXCLUDED"),
        A.with_polarity(Polarity.STRONGLY_EXCLUDED),
    ),
    "path": (written("$['a']"), A),
    "shorthand": ({"type": "INCLUDED", "lhs": "a", "values": [1]}, A),
    "detail wins": (written("a", values=[2]), A),
    "null detail": ({"type": "INCLUDED", "lhs": "a", "detail": None, "values": [1]}, A),
    "preOperations win": (
        written("a", preOperations=[{"type": "SIZE"}], preOperation={"type": "LENGTH"}),
        attr("a").size() == 1,
    ),
    "no preOperations win too": (written("a", preOperations=[], preOperation={"type": "SIZE"}), A),
    "null preOperations do not": (
        written("a", preOperations=None, preOperation={"type": "SIZE"}),
        attr("a").size() == 1,
    ),
    "chain": (
        written("a", preOperations=[{"type": "LENGTH"}, {"type": "IDENTITY"}, {"type": "SIZE"}]),
        attr("a").length().size() == 1,
    ),
    "weights of values": (
        written(
            "a",
            detail=IS_ONE | {"typedValues": [{"date": "2024-02-29"}]},
            valueWeights=[
                {"value": 1.0, "weight": 3},
                {"typedValue": {"date": "2024-02-29"}, "weight": 0.5},
            ],
        ),
        attr("a").isin(1, date(2024, 2, 29)).weight({1: 3, date(2024, 2, 29): 0.5}),
    ),
}


@pytest.mark.parametrize(("source", "predicate"), PREDICATES.values(), ids=PREDICATES)
def test_reads_predicate(source: Json, predicate: Predicate) -> None:
    assert only(dnf(source)) == predicate


ALL = {"type": "AND", "predicates": [written("a"), written("b")]}
ANY = {"type": "OR", "predicates": [written("a"), written("b")]}
FORMS: dict[str, tuple[Json, Expression]] = {
    "dnf": ({"form": "DNF", "conjunctions": [ALL, ALL]}, Or(And(A, B), And(A, B))),
    "cnf": ({"form": "CNF", "disjunctions": [ANY, ANY]}, And(Or(A, B), Or(A, B))),
    "unf": (
        {
            "form": "UNF",
            "type": "OR",
            "criterias": [{"form": "CNF", "id": "inner", "disjunctions": [ANY]}],
            "predicates": [written("c")],
        },
        Or(C, Or(A, B)),
    ),
    "unf of predicates": ({"form": "UNF", "type": "AND", "predicates": [written("a")]}, A),
    "dnf of nothing": ({"form": "DNF", "conjunctions": []}, And()),
    "cnf of nothing": ({"form": "CNF", "disjunctions": []}, And()),
    "unf all of nothing": (
        {"form": "UNF", "type": "AND", "criterias": [], "predicates": []},
        And(),
    ),
    "unf any of nothing": ({"form": "UNF", "type": "OR", "criterias": [], "predicates": []}, And()),
    "nothing inside a unf": (
        {"form": "UNF", "type": "OR", "criterias": [{"form": "DNF", "conjunctions": []}]},
        And(),
    ),
    "empty conjunction": (
        {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": []}]},
        And(),
    ),
    "empty disjunction": (
        {"form": "CNF", "disjunctions": [{"type": "OR", "predicates": []}]},
        Or(),
    ),
}


@pytest.mark.parametrize(("source", "expression"), FORMS.values(), ids=FORMS)
def test_reads_form(source: Json, expression: Expression) -> None:
    assert Criterion.from_json(source | {"id": "x"}) == Criterion("x", expression)


def test_reads_mappings_text_and_bytes_alike() -> None:
    source = dnf(written("a", weight=2), tags=["t", "u", "t"])
    expected = Criterion("x", A.weight(2), frozenset({"t", "u"}))
    text = json.dumps(source)
    sources: tuple[Any, ...] = (source, MappingProxyType(source), text, text.encode())
    assert [Criterion.from_json(one) for one in sources] == [expected] * 4


def test_reads_numbers_exactly() -> None:
    text = json.dumps(detail(caveat="EQUALITY", values=[2**53 + 1, 10**40, 0.1]))
    assert only(text).condition == In((2**53 + 1, 10**40, Decimal("0.1")))


# --- refusing

IN_FIRST = "conjunctions[0].predicates[0]"
REFUSED: dict[str, tuple[Any, str | None, str, str]] = {
    "no form": ({"id": "x"}, "x", "", "lacks the property `form`"),
    "unknown form": ({"form": "dnf", "id": "x"}, "x", "form", "one of DNF, CNF, UNF, got 'dnf'"),
    "no id": ({"form": "DNF", "conjunctions": []}, None, "", "lacks the property `id`"),
    "id is no string": ({"form": "DNF", "id": 5, "conjunctions": []}, None, "id", "got `int`"),
    "empty id": ({"form": "DNF", "id": "", "conjunctions": []}, None, "id", "not empty"),
    "no conjunctions": ({"form": "DNF", "id": "x"}, "x", "", "`conjunctions`"),
    "no type of a clause": (
        {"form": "DNF", "id": "x", "conjunctions": [{"predicates": []}]},
        "x",
        "conjunctions[0]",
        "lacks the property `type`",
    ),
    "OR in a DNF": (
        {"form": "DNF", "id": "x", "conjunctions": [ALL, ANY]},
        "x",
        "conjunctions[1].type",
        "expected AND, got 'OR'",
    ),
    "AND in a CNF": (
        {"form": "CNF", "id": "x", "disjunctions": [ALL]},
        "x",
        "disjunctions[0].type",
        "expected OR, got 'AND'",
    ),
    "UNF of no known type": (
        {"form": "UNF", "id": "x", "type": "XOR", "predicates": []},
        "x",
        "type",
        "one of AND, OR, NOT, got 'XOR'",
    ),
    "UNF without parts": ({"form": "UNF", "id": "x", "type": "OR"}, "x", "", "needs predicates"),
    "tags of a part": (
        {
            "form": "UNF",
            "id": "x",
            "type": "OR",
            "criterias": [dnf(written("a")), dnf(written("a"), tags=["t"])],
        },
        "x",
        "criterias[1].tags",
        "only the whole criterion has this",
    ),
    "misspelt property": (
        dnf(written("a", wieght=3)),
        "x",
        IN_FIRST,
        "no such property here: `wieght`",
    ),
    "normalisedView elsewhere": (
        detail(caveat="REGEX", regex="a", normalisedView="a"),
        "x",
        f"{IN_FIRST}.detail",
        "`normalisedView`",
    ),
    "unknown polarity": (
        dnf(written("a", type="included")),
        "x",
        f"{IN_FIRST}.type",
        "one of INCLUDED, EXCLUDED, STRONGLY_EXCLUDED, got 'included'",
    ),
    "no lhs": (dnf({"type": "INCLUDED", "values": []}), "x", IN_FIRST, "`lhs`"),
    "empty lhs": (dnf(written("")), "x", f"{IN_FIRST}.lhs", "needs a path"),
    "lhs is no path": (dnf(written("$.a[?")), "x", f"{IN_FIRST}.lhs", "not a JSONPath"),
    "neither detail nor values": (
        dnf({"type": "INCLUDED", "lhs": "a"}),
        "x",
        IN_FIRST,
        "needs a detail, or values",
    ),
    "null in the shorthand": (
        dnf(written("a"), {"type": "INCLUDED", "lhs": "a", "values": [1, None]}),
        "x",
        "conjunctions[0].predicates[1].values[1]",
        "null",
    ),
    "null in values": (
        detail(caveat="SUBSET", values=[1, 2, None]),
        "x",
        f"{IN_FIRST}.detail.values[2]",
        "null",
    ),
    "no values": (detail(caveat="EQUALITY"), "x", f"{IN_FIRST}.detail", "`values`"),
    "NaN in values": (
        detail(caveat="EQUALITY", values=[1, float("nan")]),
        "x",
        f"{IN_FIRST}.detail.values[1]",
        "NaN",
    ),
    "typed NaN": (
        detail(caveat="EQUALITY", values=[1], typedValues=[{"decimal": "1"}, {"decimal": "NaN"}]),
        "x",
        f"{IN_FIRST}.detail.typedValues[1]",
        "cannot be compared",
    ),
    "two types": (
        detail(caveat="EQUALITY", values=[], typedValues=[{"decimal": "1", "date": "2024-02-29"}]),
        "x",
        f"{IN_FIRST}.detail.typedValues[0]",
        "one of date",
    ),
    "no such date": (
        detail(caveat="RANGE", lowerBound={"date": "2023-02-29"}),
        "x",
        f"{IN_FIRST}.detail.lowerBound.date",
        "date",
    ),
    "bound without order": (
        detail(caveat="RANGE", upperBound={"decimal": "NaN"}),
        "x",
        f"{IN_FIRST}.detail.upperBound",
        "has no order",
    ),
    "boolean bound": (
        detail(caveat="RANGE", lowerBound=True),
        "x",
        f"{IN_FIRST}.detail.lowerBound",
        "got `bool`",
    ),
    "mixed bounds": (
        detail(caveat="RANGE", lowerBound="a", upperBound=1),
        "x",
        f"{IN_FIRST}.detail",
        "different kinds",
    ),
    "bad regex": (detail(caveat="REGEX", regex="(a"), "x", f"{IN_FIRST}.detail.regex", "refused"),
    "bad LIKE": (
        detail(caveat="LIKE", pattern="a\\"),
        "x",
        f"{IN_FIRST}.detail.pattern",
        "escape character",
    ),
    "bad escape": (
        detail(caveat="LIKE", pattern="a", escape="%"),
        "x",
        f"{IN_FIRST}.detail.escape",
        "one character",
    ),
    "unknown check": (
        detail(caveat="VERSIONING", check="EQUAL", baseVersion="1"),
        "x",
        f"{IN_FIRST}.detail.check",
        "one of ABOVE, BELOW",
    ),
    "unknown caveat": (
        detail(caveat="NONE"),
        "x",
        f"{IN_FIRST}.detail.caveat",
        "got 'NONE'",
    ),
    "unknown operation": (
        operation(type="ROUND"),
        "x",
        f"{IN_FIRST}.preOperations[0].type",
        "MODULO",
    ),
    "no extract": (
        operation(type="DATETIME"),
        "x",
        f"{IN_FIRST}.preOperations[0]",
        "`extract`",
    ),
    "unknown extract": (
        operation(type="DATETIME", extract="CENTURY"),
        "x",
        f"{IN_FIRST}.preOperations[0].extract",
        "got 'CENTURY'",
    ),
    "unknown zone": (
        dnf(written("a", preOperation={"type": "DATETIME", "extract": "HOUR", "zone": "Mars"})),
        "x",
        f"{IN_FIRST}.preOperation.zone",
        "no time zone 'Mars'",
    ),
    "infinite rhs": (
        operation(type="ADDITION", rhs={"decimal": "Infinity"}),
        "x",
        f"{IN_FIRST}.preOperations[0].rhs",
        "finite number",
    ),
    "endless rhs": (
        operation(type="MODULO", rhs={"decimal": "1E+999999999"}),
        "x",
        f"{IN_FIRST}.preOperations[0].rhs",
        "finite number",
    ),
    "weight is no number": (dnf(written("a", weight="3")), "x", f"{IN_FIRST}.weight", "got `str`"),
    "weight is not finite": (
        dnf(written("a", weight=float("inf"))),
        "x",
        f"{IN_FIRST}.weight",
        "finite number",
    ),
    "weight of another value": (
        dnf(written("a", valueWeights=[{"value": 2, "weight": 3}])),
        "x",
        f"{IN_FIRST}.valueWeights",
        "none of the values",
    ),
    "weight of two values": (
        dnf(
            written(
                "a",
                valueWeights=[
                    {"value": 1, "weight": 3},
                    {"typedValue": {"decimal": "1", "date": "2024-02-29"}, "weight": 3},
                ],
            )
        ),
        "x",
        f"{IN_FIRST}.valueWeights[1].typedValue",
        "one of date",
    ),
    "deep inside": (
        {
            "form": "UNF",
            "id": "x",
            "type": "AND",
            "predicates": [],
            "criterias": [
                {"form": "DNF", "id": "x1", "conjunctions": []},
                {
                    "form": "CNF",
                    "id": "x2",
                    "disjunctions": [
                        ANY,
                        {
                            "type": "OR",
                            "predicates": [
                                written("a", detail={"caveat": "REGEX", "regex": "*"}),
                            ],
                        },
                    ],
                },
            ],
        },
        "x",
        "criterias[1].disjunctions[1].predicates[0].detail.regex",
        "refused",
    ),
    "array": ([], None, "", "expected `object`, got `array`"),
    "null": (None, None, "", "got `null`"),
    "null text": ("null", None, "", "got `null`"),
    "names are no strings": ({1: 2}, None, "", "`form`"),
    "empty text": ("", None, "", "not JSON: it ends too early, at 0"),
    "cut text": ('{"form": "DNF", "id": "x", "conj', "x", "", "ends too early, at 32"),
    "broken text": ('{"id": "x", "form": DNF}', "x", "", "not JSON: invalid character (byte 20)"),
    "NaN in text": (
        '{"form": "DNF", "id": "x", "conjunctions": NaN}',
        "x",
        "",
        "not JSON: invalid character (byte 43)",
    ),
    "not UTF-8": (b'{"form": "DNF", "id": "\xff", "conjunctions": []}', None, "", "not UTF-8"),
    "broken id": (b'{"id": "\xff", x', None, "", "not"),
}


@pytest.mark.parametrize(("source", "id", "place", "reason"), REFUSED.values(), ids=REFUSED)
def test_refuses(source: Any, id: str | None, place: str, reason: str) -> None:
    with pytest.raises(InvalidCriterion) as caught:
        Criterion.from_json(source)
    assert (caught.value.criterion, caught.value.place) == (id, place)
    assert reason in caught.value.reason


@pytest.mark.parametrize("closed", [True, False])
def test_refuses_what_is_nested_too_deeply(closed: bool) -> None:
    opening = '{"form": "UNF", "id": "deep", "type": "AND", "predicates": [], "criterias": ['
    text = opening * 5000 + (5000 * "]}" if closed else "")
    with pytest.raises(InvalidCriterion, match="'deep': it is nested too deeply"):
        Criterion.from_json(text)


def nested(levels: int) -> Expression:
    """And and Or in turn, so many of them."""
    expression: Expression = A
    for i in range(levels):
        expression = (Or if i % 2 else And)(B, expression)
    return expression


def from_deep(frames: int, call: Callable[[], T]) -> T:
    """What `call` gives when so many calls are open around it."""
    return from_deep(frames - 1, call) if frames else call()


def test_the_deepest_nesting_is_read_and_written_from_any_stack() -> None:
    whole = Criterion("deep", nested(MAX_LEVELS - 1) & attr("c").isin(deep_value(MAX_VALUE_LEVELS)))
    text = whole.document()
    for frames in (0, 300, 700, 900):
        assert from_deep(frames, whole.document) == text
        again = from_deep(frames, lambda: Criterion.from_json(text))
        assert again.document() == text


def deep_value(levels: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _json_of(expression: Expression) -> Json:
    return json_writing.criterion("deep", expression)


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


TOO_DEEP_TEXT = json.dumps(_json_of(nested(MAX_LEVELS + 1)))
TOO_DEEP = {
    "an expression": lambda: Criterion("deep", nested(MAX_LEVELS + 1)),
    "JSON": lambda: Criterion.from_json(_json_of(nested(MAX_LEVELS + 1))),
    "JSON text": lambda: Criterion.from_json(TOO_DEEP_TEXT),
    "a value": lambda: Criterion("deep", attr("c").isin(deep_value(MAX_VALUE_LEVELS + 1))),
    "an endless value": lambda: Criterion("deep", attr("c").isin(_endless())),
}


@pytest.mark.parametrize("make", TOO_DEEP.values(), ids=TOO_DEEP)
@pytest.mark.parametrize("frames", [0, 700])
def test_one_level_more_is_refused_from_any_stack(make: Callable[[], Any], frames: int) -> None:
    with pytest.raises(InvalidCriterion, match=r"levels"):
        from_deep(frames, make)


def test_refuses_too_many_parts() -> None:
    with pytest.raises(InvalidCriterion, match=f"{MAX_PARTS} parts"):
        Criterion("wide", And(*[A] * MAX_PARTS))
    doubled = A
    for _ in range(60):  # the same object twice, sixty times over
        doubled = And(doubled, doubled)
    with pytest.raises(InvalidCriterion, match=f"{MAX_PARTS} parts"):
        Criterion("wide", doubled)


# --- writing

a, b, c = (
    {"type": "INCLUDED", "lhs": f"$.{name}", "detail": IS_ONE, "weight": 1} for name in "abc"
)
not_a = a | {"type": "EXCLUDED"}
SHAPES: dict[str, tuple[Expression, Json]] = {
    "predicate": (A, {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": [a]}]}),
    "and": (A & B, {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": [a, b]}]}),
    "or": (A | B, {"form": "CNF", "disjunctions": [{"type": "OR", "predicates": [a, b]}]}),
    "or of ands": (
        (A & B) | C,
        {
            "form": "DNF",
            "conjunctions": [
                {"type": "AND", "predicates": [a, b]},
                {"type": "AND", "predicates": [c]},
            ],
        },
    ),
    "and of ors": (
        And(A, Or(B, C)),
        {
            "form": "CNF",
            "disjunctions": [
                {"type": "OR", "predicates": [a]},
                {"type": "OR", "predicates": [b, c]},
            ],
        },
    ),
    "true": (And(), {"form": "DNF", "conjunctions": []}),
    "false": (Or(), {"form": "CNF", "disjunctions": [{"type": "OR", "predicates": []}]}),
    "true in an or": (
        Or(And(), A),
        {
            "form": "DNF",
            "conjunctions": [
                {"type": "AND", "predicates": []},
                {"type": "AND", "predicates": [a]},
            ],
        },
    ),
    "not": (Not(A), {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": [not_a]}]}),
    "nested": (
        And(A, Or(B, And(C, Or(A, B)))),
        {
            "form": "UNF",
            "type": "AND",
            "predicates": [a],
            "criterias": [
                {
                    "form": "UNF",
                    "id": "x_0",
                    "type": "OR",
                    "predicates": [b],
                    "criterias": [
                        {
                            "form": "CNF",
                            "id": "x_1",
                            "disjunctions": [
                                {"type": "OR", "predicates": [c]},
                                {"type": "OR", "predicates": [a, b]},
                            ],
                        }
                    ],
                }
            ],
        },
    ),
    "predicate behind a nested part": (
        And(A, And(B, C), C),
        {
            "form": "UNF",
            "type": "AND",
            "predicates": [a],
            "criterias": [
                {
                    "form": "DNF",
                    "id": "x_0",
                    "conjunctions": [{"type": "AND", "predicates": [b, c]}],
                },
                {"form": "DNF", "id": "x_1", "conjunctions": [{"type": "AND", "predicates": [c]}]},
            ],
        },
    ),
}


@pytest.mark.parametrize(("expression", "source"), SHAPES.values(), ids=SHAPES)
def test_writes_shape(expression: Expression, source: Json) -> None:
    assert Criterion("x", expression).to_json() == source | {"id": "x"}


LEAVES: dict[str, tuple[Predicate, Json]] = {
    "path": (attr("user.age").exists(), {"lhs": "$.user.age"}),
    "odd path": (attr("$['odd name'][0]").exists(), {"lhs": "$['odd name'][0]"}),
    "decimal weight": (A.weight(2.5), {"weight": 2.5}),
    "vast weight": (A.weight(1e100), {"weight": 1e100}),
    "absent bounds": (attr("a").within(), {"detail": {"caveat": "RANGE"}}),
    "found anywhere": (
        attr("a").finds("b"),
        {"detail": {"caveat": "REGEX", "regex": "(?s:.*)(?:b)(?s:.*)"}},
    ),
    "found anywhere, quoted to the end": (
        attr("a").finds(r"\Qb."),
        {"detail": {"caveat": "REGEX", "regex": r"(?s:.*)(?:\Qb.\E)(?s:.*)"}},
    ),
    "found anywhere, quoted in part": (
        attr("a").finds(r"\\\Qb.\Ec"),
        {"detail": {"caveat": "REGEX", "regex": r"(?s:.*)(?:\\\Qb.\Ec)(?s:.*)"}},
    ),
    "plain decimals": (
        attr("a").isin(Decimal("0.30"), Decimal(7)),
        {"detail": {"caveat": "EQUALITY", "values": [0.3, 7]}},
    ),
    "typed values": (
        attr("a").isin(
            "x", Decimal("1E-400"), date(2024, 2, 29), datetime(2024, 2, 29), float("inf")
        ),
        {
            "detail": {
                "caveat": "EQUALITY",
                "values": ["x"],
                "typedValues": [
                    {"decimal": "1E-400"},
                    {"date": "2024-02-29"},
                    {"timestamp": "2024-02-29T00:00:00Z"},
                    {"decimal": "Infinity"},
                ],
            }
        },
    ),
    "typed values inside others": (
        attr("a").isin([date(2024, 2, 29), None], {"k": 1}),
        {
            "detail": {
                "caveat": "EQUALITY",
                "values": [{"k": 1}],
                "typedValues": [{"list": [{"date": "2024-02-29"}, None]}],
            }
        },
    ),
    "zoned timestamp": (
        attr("a") < datetime(2024, 2, 29, 2, tzinfo=timezone(timedelta(hours=2))),
        {
            "detail": {
                "caveat": "RANGE",
                "upperBound": {"timestamp": "2024-02-29T00:00:00Z"},
                "includeUpperBound": False,
            }
        },
    ),
    "weights of values": (
        attr("a").isin(1, date(2024, 2, 29)).weight({1: 3, date(2024, 2, 29): 0.5}),
        {
            "valueWeights": [
                {"value": 1, "weight": 3},
                {"typedValue": {"date": "2024-02-29"}, "weight": 0.5},
            ]
        },
    ),
}


@pytest.mark.parametrize(("predicate", "expected"), LEAVES.values(), ids=LEAVES)
def test_writes_predicate(predicate: Predicate, expected: Json) -> None:
    source = Criterion("x", predicate).to_json()
    (found,) = source["conjunctions"][0]["predicates"]
    assert {name: found[name] for name in expected} == expected
    again = only(json.dumps(source))
    assert again.value_weights == predicate.value_weights
    assert (again.attribute, again.own_weight) == (predicate.attribute, predicate.own_weight)


def test_writes_tags_in_order() -> None:
    source = Criterion("x", A, frozenset({"u", "t"})).to_json()
    assert source["tags"] == ["t", "u"]
    assert Criterion.from_json(source).tags == {"t", "u"}


def test_writes_integers_longer_than_any_reader_takes() -> None:
    predicate = attr("a").eq(10**5000)
    assert only(json.dumps(Criterion("x", predicate).to_json())) == predicate


UNWRITABLE: dict[str, Any] = {"name is no string": {1: 2}, "strange type": [b"x"]}


@pytest.mark.parametrize("value", UNWRITABLE.values(), ids=UNWRITABLE)
def test_refuses_to_write_what_json_cannot_say(value: Any) -> None:
    with pytest.raises(InvalidCriterion) as caught:
        Criterion("x", attr("a.b").eq(value)).to_json()
    assert (caught.value.criterion, caught.value.place) == ("x", "a.b")


def test_keeps_the_order_of_sums() -> None:
    huge, small = A.weight(1e16), B.weight(1.0)
    minus = C.weight(-1e16)
    event = {"a": 1, "b": 1, "c": 1}
    for parts in ((huge, And(minus), small), (small, Or(huge), minus), (And(small, huge), minus)):
        criterion = Criterion("x", And(*parts))
        assert Criterion.from_json(criterion.to_json()).score(event) == criterion.score(event)


weighted = st.builds(
    lambda attribute, values, weights, polarity: Predicate(
        attribute,
        In(tuple(values)),
        polarity=polarity,
        value_weights=tuple(zip(In(tuple(values)).values, weights, strict=False)),
    ),
    attributes,
    st.lists(scalars, min_size=1, max_size=3),
    st.lists(st.sampled_from((0.1, 2, -1.5)), min_size=3, max_size=3),
    st.sampled_from(Polarity),
)


@given(
    expression=st.one_of(expressions, expressions_over(weighted), expressions_of_terms),
    event=events,
)
def test_reads_back_with_the_same_truth_and_score(expression: Expression, event: Any) -> None:
    text = json.dumps(Criterion("x", expression).to_json(), allow_nan=False)
    again = Criterion.from_json(text)
    weights = {"a": 0.3, "user.age": -2.0, "tags": 0.1}
    assert again.holds(event, now=NOW) == expression.holds(event, now=NOW)
    assert again.score(event, now=NOW) == expression.score(event, now=NOW)
    assert again.score(event, weights=weights, now=NOW) == expression.score(
        event, weights=weights, now=NOW
    )


@pytest.mark.parametrize("x", [1, 2, [1, 2], [None, 1], [[1], 2], [], None])
def test_a_case_that_denies_a_strong_negation_reads_back(x: Any) -> None:
    """Not as asking whether the list is missing, which would be asked of all of it."""
    denied = Not(Predicate(attr("x").term, In((1,)), Polarity.STRONGLY_EXCLUDED))
    for asked in (denied, denied & attr("y").missing(), Not(And(denied, attr("y").exists()))):
        one = Criterion("one", Predicate(Case(((asked, Literal(1)),), Literal(2)), In((2,))))
        again = Criterion.from_json(json.dumps(one.to_json()))
        assert again.holds({"x": x}) is one.holds({"x": x})


@given(expression=expressions | expressions_of_terms)
def test_what_is_read_is_written_the_same_again(expression: Expression) -> None:
    once = Criterion.from_json(Criterion("x", expression).to_json())
    assert Criterion.from_json(once.to_json()) == once


# --- for Mustang

FOR_MUSTANG: dict[str, tuple[Expression, str]] = {
    "strong negation": (A.strong(), "conjunctions[0].predicates[0].type"),
    "decimal weight": (B & A.weight(0.5), "conjunctions[0].predicates[1].weight"),
    "weight of 0": (A.weight(0), "conjunctions[0].predicates[0].weight"),
    "vast weight": (A.weight(1e30), "conjunctions[0].predicates[0].weight"),
    "weights of values": (A.weight({1: 3}), "conjunctions[0].predicates[0].valueWeights"),
    "like": (attr("a").like("b%"), "conjunctions[0].predicates[0].detail.caveat"),
    "overlaps": (attr("a").overlaps(1), "conjunctions[0].predicates[0].detail.caveat"),
    "date": (attr("a").eq(date(2024, 2, 29)), "conjunctions[0].predicates[0].detail.typedValues"),
    "no values": (attr("a").isin(), "conjunctions[0].predicates[0].detail.values"),
    "range of strings": (attr("a") < "b", "conjunctions[0].predicates[0].detail.upperBound"),
    "range of dates": (
        attr("a") >= date(2024, 2, 29),
        "conjunctions[0].predicates[0].detail.lowerBound",
    ),
    "zone": (
        attr("a").datetime("HOUR", zone="Asia/Kolkata") == 1,
        "conjunctions[0].predicates[0].preOperations[0].zone",
    ),
    "substring to the end": (
        attr("a").length().substring(1) == "b",
        "conjunctions[0].predicates[0].preOperations[1].endIndex",
    ),
    "long decimal": (
        attr("a").add(Decimal("0.1234567890123456789")) == 1,
        "conjunctions[0].predicates[0].preOperations[0].rhs",
    ),
    "empty conjunction": (Or(And(), A), "conjunctions[0]"),
    "empty disjunction": (Or(), "disjunctions[0]"),
    "always true, nested": (And(Or(A, And(B, C)), And()), "criterias[1]"),
    "nested": (
        And(A, Or(B, And(C, Or(A, B.strong())))),
        "criterias[0].criterias[0].disjunctions[1].predicates[1].type",
    ),
}


@pytest.mark.parametrize(("expression", "place"), FOR_MUSTANG.values(), ids=FOR_MUSTANG)
def test_refuses_what_mustang_lacks(expression: Expression, place: str) -> None:
    with pytest.raises(NoMustangEquivalent) as caught:
        Criterion("x", expression).to_json(mustang=True)
    assert caught.value.place == place


def test_refuses_tags_for_mustang() -> None:
    with pytest.raises(NoMustangEquivalent, match="at tags"):
        Criterion("x", A, frozenset({"t"})).to_json(mustang=True)


MUSTANGS: dict[str, set[str]] = {
    "DNF": {"form", "id", "conjunctions"},
    "CNF": {"form", "id", "disjunctions"},
    "UNF": {"form", "id", "type", "criterias", "predicates"},
    "AND": {"type", "predicates"},
    "OR": {"type", "predicates"},
    "INCLUDED": {"type", "lhs", "detail", "weight", "preOperations"},
    "EXCLUDED": {"type", "lhs", "detail", "weight", "preOperations"},
    "EQUALITY": {"caveat", "values"},
    "SUBSET": {"caveat", "values"},
    "SUPERSET": {"caveat", "values"},
    "EQUALSET": {"caveat", "values"},
    "RANGE": {"caveat", "lowerBound", "upperBound", "includeLowerBound", "includeUpperBound"},
    "REGEX": {"caveat", "regex"},
    "VERSIONING": {"caveat", "check", "baseVersion", "excludeBase"},
    "EXISTENCE": {"caveat"},
    "NON_EXISTENCE": {"caveat"},
    "LENGTH": {"type"},
    "SIZE": {"type"},
    "BINARY_CONVERSION": {"type"},
    "ADDITION": {"type", "rhs"},
    "SUBTRACTION": {"type", "rhs"},
    "MULTIPLICATION": {"type", "rhs"},
    "DIVISION": {"type", "rhs"},
    "MODULO": {"type", "rhs"},
    "SUBSTRING": {"type", "beginIndex", "endIndex"},
    "DATETIME": {"type", "extract"},
    "TO_DATETIME": {"type", "dateTimeFormat"},
}


def check_objects(node: Any, *, inside_values: bool = False) -> None:
    """Every object has the properties that Mustang gives to its kind, and no others."""
    if isinstance(node, dict) and not inside_values:
        kind = node.get("form") or node.get("caveat") or node["type"]
        assert set(node) <= MUSTANGS[kind]
        assert type(node.get("weight", 1)) is int
        for name, part in node.items():
            check_objects(part, inside_values=name == "values")
    elif isinstance(node, list):
        for part in node:
            check_objects(part, inside_values=inside_values)


@given(expression=expressions)
def test_gives_mustang_only_what_it_knows(expression: Expression) -> None:
    criterion = Criterion("x", expression)
    try:
        source = criterion.to_json(mustang=True)
    except NoMustangEquivalent:
        return
    check_objects(source)
    assert source == criterion.to_json()


@pytest.mark.parametrize("half", ["\\ud800", "a\\ud800b", "\\udfff", "\\ud800\\u0041"])
def test_half_a_pair_in_an_event_takes_nothing_else_with_it(half: str) -> None:
    text = f'{{"a": "{half}", "b": 1}}'
    assert read_event(text)["b"] == read_event(text.encode())["b"] == 1
    with pytest.raises(ParseError, match="not JSON"):
        read_event(text[:-1])
