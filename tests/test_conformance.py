"""Cases as data: Mustang's JSON read by us and answered by our rules.

`data/cases.jsonl` is ours. The inputs of Mustang's own test suite live outside the project and
are run where they are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remuda.language.criterion import Criterion
from remuda.language.json_structs import Detail, PreOperation
from remuda.model.conditions import satisfies
from remuda.model.values import key, tidy
from strategies import ALL, NOW

HERE = Path(__file__).parent
OURS = HERE / "data" / "cases.jsonl"
MUSTANGS = HERE.parent.parent / "shared" / "conformance" / "mustang-tests.jsonl"


def rows(path: Path) -> list[Any]:
    if not path.exists() and not ALL:  # it is kept outside the project
        return []
    cases = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [pytest.param(case, id=case["source"]) for case in cases]


@pytest.mark.parametrize("case", [*rows(OURS), *rows(MUSTANGS)])
def test_answers_as_the_case_expects(case: dict[str, Any]) -> None:
    assert ANSWERS[case["kind"]](case) == expected(case)


def test_no_case_of_ours_is_lost() -> None:
    assert len(rows(OURS)) == 1825


def expected(case: dict[str, Any]) -> Any:
    if case["kind"] == "search":
        return sorted(case["expect"])
    return key(case["expect"]) if case["kind"] == "preop" else case["expect"]


def search(case: dict[str, Any]) -> list[str]:
    criteria = map(Criterion.from_json, case["criteria"])
    return sorted(one.id for one in criteria if one.holds(case["event"], now=NOW))


def evaluate(case: dict[str, Any]) -> bool:
    (criterion,) = map(Criterion.from_json, case["criteria"])
    return criterion.holds(case["event"], now=NOW)


def score(case: dict[str, Any]) -> float | None:
    (criterion,) = map(Criterion.from_json, case["criteria"])
    return criterion.score(case["event"], now=NOW)


def detail(case: dict[str, Any]) -> bool:
    return satisfies(msgspec.convert(case["detail"], Detail).condition(), tidy(case["value"]))


def preop(case: dict[str, Any]) -> Any:
    value = tidy(case["input"])
    for written in msgspec.convert(case["preOperations"], list[PreOperation]):
        operation = written.operation()
        value = value if operation is None else operation.apply(value, NOW)
    return key(value)


ANSWERS = {
    "search": search,
    "evaluate": evaluate,
    "score": score,
    "detail": detail,
    "preop": preop,
}
