"""Changes over HTTP are made as the engine makes them, and refused with reasons."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

import remuda as rm
from remuda.service.calls import NDJSON

LINES = {"content-type": NDJSON}


def test_a_criterion_is_put_read_and_deleted(http: Any, engine: rm.Engine) -> None:
    path = f"/v1/indexes/{quote('new/one', safe='')}/criteria/{quote('ü/1', safe='')}"
    body = {"expression": "age = 7"}
    made = http.put(path, json=body)
    assert (made.status_code, made.json()) == (201, {"id": "ü/1", "created": True})
    again = http.put(path, json=rm.Criterion("ü/1", rm.parse("age = 8")).to_json())
    assert (again.status_code, again.json()) == (200, {"id": "ü/1", "created": False})
    assert engine.search("new/one", {"age": 8}) == ["ü/1"]
    assert rm.Criterion.from_json(http.get(path).content) == engine.get("new/one", "ü/1")
    assert http.delete(path).status_code == 204
    gone = http.get(path)
    assert (gone.status_code, gone.json()["error"]) == (404, "CriterionNotFound")


def test_the_place_in_a_criterion_is_named(http: Any) -> None:
    body = {
        "form": "DNF",
        "id": "x",
        "conjunctions": [
            {
                "type": "AND",
                "predicates": [
                    {"type": "INCLUDED", "lhs": "$.a", "detail": {"caveat": "REGEX", "regex": "("}}
                ],
            }
        ],
    }
    found = http.put("/v1/indexes/ads/criteria/x", json=body)
    assert found.status_code == 422
    assert found.headers["content-type"] == "application/problem+json"
    problem = found.json()
    assert problem["type"] == "urn:remuda:problem:invalid-criterion"
    assert problem["criterion"] == "x"
    assert problem["place"] == "conjunctions[0].predicates[0].detail.regex"


@pytest.mark.parametrize(
    "body",
    [
        {"id": "another", "expression": "a = 1"},
        {"id": 7, "expression": "a = 1"},
        {"expression": "a = "},
        {"expression": 7},
        {"expression": "a = 1", "colour": "red"},
        {"form": "XNF"},
        {},
    ],
    ids=str,
)
def test_what_is_no_criterion_is_refused(
    http: Any, engine: rm.Engine, body: dict[str, Any]
) -> None:
    found = http.put("/v1/indexes/ads/criteria/x", json=body)
    assert (found.status_code, found.json()["error"]) == (422, "InvalidCriterion")
    assert "x" not in engine.index("ads")


def lines(*rows: Any) -> bytes:
    texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return "\n".join(texts).encode()


MIXED = lines(
    {"id": "a", "expression": "x = 1"},
    "{",
    {"id": "adult", "expression": "x = 2"},
    {"id": "b", "expression": "x = "},
    {"id": "a", "expression": "x = 3"},
    "",
    rm.Criterion("c", rm.parse("x = 4")).to_json(),
    "\x00",
)


def test_many_are_put_and_the_rejects_named(http: Any, engine: rm.Engine) -> None:
    found = http.post("/v1/indexes/ads/criteria", content=MIXED, headers=LINES).json()
    assert found["accepted"] == 3
    assert [(one["line"], one["id"]) for one in found["rejects"]] == [
        (2, None), (4, "b"), (5, "a"), (8, None),
    ]  # fmt: skip
    assert found["rejects"][1]["place"] == "expression, column 3"
    assert found["rejects"][2]["reason"] == "line 1 has this id"
    assert {one.id for one in engine.index("ads")} == {"young", "adult", "odd/name?#%", "a", "c"}
    assert engine.search("ads", {"x": 2}) == ["adult"]


def test_ids_that_are_taken_are_rejects_where_many_are_added(http: Any, engine: rm.Engine) -> None:
    path = "/v1/indexes/ads/criteria?mode=add"
    found = http.post(path, content=MIXED, headers=LINES).json()
    assert found["accepted"] == 2
    assert [one["line"] for one in found["rejects"]] == [2, 3, 4, 5, 8]
    assert engine.search("ads", {"x": 2}) == []


def test_strictly_all_are_put_or_none(http: Any, engine: rm.Engine) -> None:
    path = "/v1/indexes/ads/criteria?strict=true&mode=add"
    taken = lines({"id": "n", "expression": "x = 1"}, {"id": "adult", "expression": "x = 2"})
    found = http.post(path, content=taken, headers=LINES)
    assert (found.status_code, found.json()["error"]) == (409, "DuplicateCriterion")
    assert found.json()["arguments"] == ["adult"]
    assert len(engine.index("ads")) == 3


def test_nothing_but_rejects_makes_no_index(http: Any, engine: rm.Engine) -> None:
    found = http.post("/v1/indexes/none/criteria", content=b"{", headers=LINES)
    assert found.json()["accepted"] == 0
    assert "none" not in engine


def test_criteria_are_switched_and_deleted_all_or_none(http: Any, engine: rm.Engine) -> None:
    def post(way: str, *ids: str) -> int:
        return http.post(f"/v1/indexes/ads/{way}", json={"ids": ids}).status_code

    assert post("disable", "adult") == 204
    assert engine.search("ads", {"age": 30}) == []
    assert post("enable", "adult") == 204
    assert engine.search("ads", {"age": 30}) == ["adult"]
    for way in ("enable", "disable", "delete"):
        assert post(way, "adult", "nobody") == 404
    assert engine.search("ads", {"age": 30}) == ["adult"]
    assert post("delete", "adult", "young") == 204
    assert len(engine.index("ads")) == 1


def test_indexes_are_made_loaded_replaced_and_dropped(http: Any, engine: rm.Engine) -> None:
    assert http.put("/v1/indexes/empty").status_code == 201
    assert http.put("/v1/indexes/empty").json()["error"] == "IndexExists"
    text = engine.export("ads")
    headers = {"content-type": "application/json"}
    made = http.post("/v1/indexes/copy/load", content=text, headers=headers)
    assert (made.status_code, made.json()) == (201, {"name": "copy", "criteria": 3})
    assert engine.export("copy") == text
    found = http.post("/v1/indexes/ads/replace", json={"new": "empty"})
    assert found.json() == {"name": "ads", "criteria": 0}
    assert http.post("/v1/indexes/ads/replace", json={"new": "empty"}).status_code == 404
    assert http.delete("/v1/indexes/ads").status_code == 204
    assert engine.names() == ["copy"]
