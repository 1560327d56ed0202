"""Mustang's seven endpoints, with its bodies and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

import remuda as rm


def predicate(lhs: str, *values: Any, kind: str = "INCLUDED", **more: Any) -> dict[str, Any]:
    return {"type": kind, "lhs": lhs, "detail": {"caveat": "EQUALITY", "values": values}, **more}


A = {
    "form": "DNF",
    "id": "a",
    "conjunctions": [
        {"type": "AND", "predicates": [predicate("$.x", 1), predicate("$.y", 2, kind="EXCLUDED")]}
    ],
}
B = {
    "form": "CNF",
    "id": "b",
    "disjunctions": [{"type": "OR", "predicates": [predicate("$.x", 1, weight=5)]}],
}


@pytest.fixture
def engine() -> rm.Engine:
    engine = rm.Engine(matcher="scan")
    engine.add("main", [rm.Criterion.from_json(one) for one in (A, B)])
    return engine


def post(http: Any, path: str, **body: Any) -> tuple[int, Any]:
    found = http.post(f"/mustang/v1/{path}", json=body)
    return found.status_code, found.json()


def well(data: Any) -> tuple[int, Any]:
    return 200, {"success": True, "data": data, "errorCode": None}


def context(node: Any) -> dict[str, Any]:
    return {"node": node}


def test_search_and_scan_give_ids(http: Any) -> None:
    asked = {"indexName": "main", "requestContext": context({"x": 1})}
    assert post(http, "search", **asked) == well(["a", "b"])
    assert post(http, "search", score=False, **asked) == well(["a", "b"])
    assert post(http, "search", score=True, **asked) == well(["b", "a"])
    assert post(http, "scan/index", **asked) == well(["a", "b"])


def test_scan_gives_the_criteria_that_hold(http: Any) -> None:
    status, found = post(
        http, "scan/criteria", criterias=[A, B], requestContext=context({"x": 1, "y": 2})
    )
    assert status == 200
    assert [rm.Criterion.from_json(one) for one in found["data"]] == [rm.Criterion.from_json(B)]


def debugged(result: bool, kind: str, lhs: str, value: Any, *values: Any) -> dict[str, Any]:
    return {
        "result": result,
        "type": kind,
        "lhs": lhs,
        "lhsValue": value,
        "preOperations": [{"type": "IDENTITY"}],
        "detail": {"caveat": "EQUALITY", "values": list(values)},
    }


def test_debug_tells_the_truth_of_every_predicate(http: Any) -> None:
    event = context({"x": 1, "y": 2})
    predicates = [
        debugged(True, "INCLUDED", "$.x", 1, 1), debugged(False, "EXCLUDED", "$.y", 2, 2),
    ]  # fmt: skip
    inner = {
        "result": False,
        "form": "DNF",
        "id": "a",
        "compositionDebugResults": [
            {"result": False, "type": "AND", "predicateDebugResults": predicates}
        ],
    }
    assert post(http, "debug", criteria=A, requestContext=event) == well(inner)
    both = {
        "form": "UNF", "id": "u", "type": "OR",
        "criterias": [A], "predicates": [predicate("$.z", 3)],
    }  # fmt: skip
    assert post(http, "debug", criteria=both, requestContext=event) == well(
        {
            "result": False,
            "form": "UNF",
            "id": "u",
            "compositionDebugResults": [],
            "type": "OR",
            "predicateDebugResults": [debugged(False, "INCLUDED", "$.z", None, 3)],
            "debugResults": [inner],
        }
    )


def test_export_and_snapshot_are_texts(http: Any, engine: rm.Engine) -> None:
    assert post(http, "index/export", indexName="main") == well(engine.export("main"))
    status, found = post(http, "index/snapshot", indexName="main")
    assert status == 200
    assert json.loads(found["data"])["name"] == "main"


@pytest.mark.parametrize("full", [None, False, True])
def test_ratify_compares(http: Any, full: bool | None) -> None:
    options = {} if full is None else {"fullFledged": full}
    status, found = post(http, "index/ratify", indexName="main", **options)
    result = found["data"]
    assert (status, result["status"], result["anamolyDetails"]) == (200, True, [])
    assert result["fullFledgedRun"] is bool(full)
    assert result["combinations"]["totalCount"] > 0
    assert set(result) == {
        "status", "combinations", "anamolyDetails", "timeTakenMs", "requestedAt",
        "fullFledgedRun", "ratifiedAt",
    }  # fmt: skip


@pytest.mark.parametrize(
    "path", ["search", "scan/index", "index/export", "index/snapshot", "index/ratify"]
)
def test_an_index_that_is_not_there_has_its_code(http: Any, path: str) -> None:
    status, found = post(http, path, indexName="none", requestContext=context({}))
    assert (status, found["success"], found["errorCode"]) == (400, False, "INDEX_NOT_FOUND")


def test_what_mustang_cannot_say_is_not_exported(http: Any, engine: rm.Engine) -> None:
    engine.add("ours", rm.Criterion("t", rm.parse("a LIKE 'x%'")))
    status, found = post(http, "index/export", indexName="ours")
    assert (status, found["errorCode"]) == (400, "INDEX_EXPORT_ERROR")


def test_wrong_bodies_are_refused_as_dropwizard_does(http: Any) -> None:
    status, found = post(http, "search", indexName="main")
    assert (status, list(found)) == (422, ["errors"])
    broken = {**A, "conjunctions": [{"type": "XOR", "predicates": []}]}
    status, found = post(http, "debug", criteria=broken, requestContext=context({}))
    assert status == 422
    assert "conjunctions[0].type" in found["errors"][0]
    headers = {"content-type": "application/json"}
    malformed = http.post("/mustang/v1/search", content=b"{", headers=headers)
    assert (malformed.status_code, malformed.json()["code"]) == (400, 400)
