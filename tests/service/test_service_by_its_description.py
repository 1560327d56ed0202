"""Every endpoint is driven from the OpenAPI document: no fault, no answer outside its schema."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openapi_schemas import drawn_from, faults

import remuda as rm
from asking import Asker
from remuda.service.app import application
from remuda.service.calls import JSON, Service
from remuda.service.limits import Limits
from strategies import count

RULES = [
    rm.Criterion("young", rm.parse("age < 25 AND platform = 'web'"), tags=frozenset({"t1"})),
    rm.Criterion("adult", rm.parse("age >= 18").weight(3.0), payload={"a": [1]}),
    rm.Criterion("odd/name?#%", rm.parse("age >= 60")),
]


def fresh() -> Asker:
    engine = rm.Engine(matcher="scan")
    engine.add("ads", RULES)
    engine.add("other", [])
    return Asker(application(Service(engine, Limits(found=100))))


DOCUMENT: dict[str, Any] = fresh().get("/openapi.json").json()
OPERATIONS = {
    operation["operationId"]: (path, method, operation)
    for path, some in DOCUMENT["paths"].items()
    for method, operation in some.items()
}
NAMES = st.sampled_from(["ads", "other", "none", "young", "odd/name?#%"]) | st.text(
    min_size=1, max_size=8
)


@st.composite
def requests(draw: Any, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """A request that the document allows, or one with some of it spoilt."""
    query = []
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            name = quote(draw(NAMES), safe="")
            path = path.replace("{" + parameter["name"] + "}", name)
        elif draw(st.booleans()):
            value = draw(drawn_from(parameter["schema"], DOCUMENT))
            several = value if isinstance(value, list) else [value]
            query += [(parameter["name"], _text(one)) for one in several if one is not None]
    content, headers = b"", {}
    if "requestBody" in operation:
        kinds = operation["requestBody"]["content"]
        kind = draw(st.sampled_from(sorted(kinds)))
        headers["content-type"] = kind
        if "schema" in kinds[kind]:
            value = draw(drawn_from(kinds[kind]["schema"], DOCUMENT))
            content = json.dumps(value).encode()
        else:
            lines = st.lists(drawn_from({"type": "object", "additionalProperties": {}}, DOCUMENT))
            content = b"\n".join(json.dumps(one).encode() for one in draw(lines))
        if draw(st.integers(0, 9)) == 0:  # cut short
            content = content[: draw(st.integers(0, len(content)))]
    return {"url": path, "params": query, "content": content, "headers": headers}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=count(12, 2_000), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
@pytest.mark.soak
def test_service_keeps_to_its_description(name: str, data: st.DataObject) -> None:
    path, method, operation = OPERATIONS[name]
    http = fresh()
    sent = data.draw(requests(path, operation))
    found = http.request(method, **sent)
    assert found.status_code < 500 or "503" in operation["responses"], found.text
    told = operation["responses"].get(str(found.status_code), operation["responses"]["default"])
    kind = found.headers.get("content-type", "").partition(";")[0]
    if "content" not in told:
        assert found.content == b""
        return
    assert kind in told["content"], (found.status_code, kind)
    schema = told["content"][kind].get("schema")
    if schema is not None:
        assert not faults(found.json(), schema, DOCUMENT)
    assert kind != JSON or schema is not None


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"ids": ["a", 1]}, {"$ref": "#/components/schemas/Ids"}),
        ({}, {"$ref": "#/components/schemas/Ids"}),
        ({"name": "a", "criteria": True}, {"$ref": "#/components/schemas/IndexEntry"}),
        ([1, "a"], {"type": "array", "items": {"anyOf": [{"type": "integer"}]}}),
        ({"status": "gone"}, {"properties": {"status": {"enum": ["done"]}}, "type": "object"}),
        (-1, {"type": "integer", "minimum": 0}),
    ],
)
def test_what_is_outside_a_schema_is_seen(value: Any, schema: Any) -> None:
    assert faults(value, schema, DOCUMENT)
