"""The description of the API: OpenAPI 3.1, from the endpoints and their types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from remuda.service.calls import VERSION, Endpoint

_REFERENCE = "#/components/schemas/{name}"
_WORDS = {
    200: "The answer",
    201: "It was made",
    202: "It has begun",
    204: "It is done",
    503: "Not yet",
}


def describe(endpoints: Iterable[Endpoint], *, tokens: bool) -> dict[str, Any]:
    """The OpenAPI document; without tokens, none is asked for."""
    every = list(endpoints)
    types = list(dict.fromkeys(_types(every)))
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for one in every:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, by_type)
        if one.role is not None and tokens:
            paths[one.path][one.method.lower()]["security"] = [{"token": []}]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "remuda",
            "version": VERSION,
            "description": "Which of many Boolean expressions are true for an event?",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(endpoints: Iterable[Endpoint]) -> Iterator[Any]:
    for one in endpoints:
        yield one.refusal[1]
        yield from (kind for kind in one.takes.values() if kind is not bytes)
        yield from (kind for kind in one.gives.values() if kind is not bytes)
        if one.options is not None:
            yield from (field.type for field in msgspec.structs.fields(one.options))


def _operation(endpoint: Endpoint, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "security": [],
        "parameters": [*_in_path(endpoint.path), *_in_query(endpoint, schemas)],
        "responses": {
            str(status): {
                "description": _WORDS[status],
                **({"content": _content(endpoint.gives, schemas)} if endpoint.gives else {}),
            }
            for status in endpoint.statuses
        },
    }
    if endpoint.role is not None:
        operation["x-role"] = endpoint.role.name.lower()
    if endpoint.takes:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.takes, schemas)}
    kind, document = endpoint.refusal
    operation["responses"]["default"] = {
        "description": "Why it was refused",
        "content": {kind: {"schema": schemas[document]}},
    }
    return operation


def _content(types: Mapping[str, Any], schemas: Mapping[Any, Any]) -> dict[str, Any]:
    """The types by content type; lines and Arrow streams have no schema here."""
    return {
        name: {} if kind is bytes else {"schema": schemas[kind]} for name, kind in types.items()
    }


def _in_path(path: str) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", path):
        schema = {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(endpoint: Endpoint, schemas: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    if endpoint.options is not None:
        for field in msgspec.structs.fields(endpoint.options):
            yield {"name": field.encode_name, "in": "query", "schema": schemas[field.type]}
