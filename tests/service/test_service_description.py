"""The description of the API says what is served: every endpoint, every answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import remuda as rm
from remuda.service.app import ENDPOINTS
from remuda.service.calls import JSON, NDJSON


@pytest.fixture
def document(http: Any) -> dict[str, Any]:
    found = http.get("/openapi.json")
    assert found.status_code == 200
    return dict(found.json())


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for part in node.values():
            yield from references(part)
    elif isinstance(node, list):
        for part in node:
            yield from references(part)


def test_every_endpoint_is_described_once(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    described = {
        (method.upper(), path) for path, some in document["paths"].items() for method in some
    }
    assert {(one.method, one.path) for one in ENDPOINTS} < described
    operations = [one for some in document["paths"].values() for one in some.values()]
    names = [one["operationId"] for one in operations]
    assert len(names) == len(set(names))


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    known = document["components"]["schemas"]
    used = {one.removeprefix("#/components/schemas/") for one in references(document)}
    assert used <= set(known)
    assert {"MatchRequest", "Ids", "Problem", "Reject"} <= used


def test_every_name_in_a_path_is_a_parameter(document: dict[str, Any]) -> None:
    for path, some in document["paths"].items():
        for operation in some.values():
            told = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert told == set(re.findall(r"\{(\w+)\}", path))


BODIES: dict[str, Any] = {
    "match": {"event": {"age": 20}},
    "scan": {"event": {"age": 20}},
    "top": {"event": {"age": 20}, "n": 2},
    "explain": {"event": {"age": 20}, "id": "young"},
    "nearest": {"event": {"age": 20}, "n": 2},
    "possible": {"where": "age < 20", "missing": ["platform"]},
    "undecided": {"event": {"age": 20}, "unknown": ["platform"]},
    "match_many": [{"age": 20}, {}],
    "ratify": {"full": False},
    "similarity": {"criterion": {"expression": "age > 3"}, "n": 1},
    "delete_many": {"ids": []},
    "enable": {"ids": ["adult"]},
    "disable": {"ids": ["adult"]},
    "replace_index": {"new": "other"},
    "load_index": [],
    "put_criterion": {"expression": "a = 1"},
    "put_many": {"id": "line", "expression": "a = 1"},
    "mustang_search": {"indexName": "ads", "requestContext": {"node": {}}},
    "mustang_scan_index": {"indexName": "ads", "requestContext": {"node": {}}},
    "mustang_scan_criteria": {"criterias": [], "requestContext": {"node": {}}},
    "mustang_debug": {
        "criteria": rm.Criterion("d", rm.parse("a = 1")).to_json(), "requestContext": {"node": {}},
    },
    "mustang_export": {"indexName": "plain"},
    "mustang_snapshot": {"indexName": "ads"},
    "mustang_ratify": {"indexName": "ads"},
}  # fmt: skip


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.handle.__name__)
def test_an_answer_is_of_the_type_that_is_told(http: Any, engine: rm.Engine, endpoint: Any) -> None:
    engine.add("other", [])
    engine.add("plain", rm.Criterion("p", rm.attr("a") == 1))
    name = endpoint.handle.__name__
    index = "fresh" if name in {"create_index", "load_index"} else "ads"
    job = http.post("/v1/indexes/ads/ratify", json={}).json()["id"]
    its = job if endpoint.path.startswith("/v1/jobs") else "adult"
    path = endpoint.path.replace("{index}", index).replace("{id}", its)
    kind = JSON if JSON in endpoint.takes else NDJSON
    body = json.dumps(BODIES[name]).encode() if endpoint.takes else b""
    found = http.request(endpoint.method, path, content=body, headers={"content-type": kind})
    assert found.status_code in endpoint.statuses, found.text
    if endpoint.gives:
        assert JSON in found.headers["content-type"]
        msgspec.json.decode(found.content, type=endpoint.gives[JSON])
    else:
        assert found.content == b""
