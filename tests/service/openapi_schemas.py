"""JSON Schema as our description uses it: values drawn from a schema, and held against one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

KEYWORDS = {
    "$ref", "additionalProperties", "anyOf", "default", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "items", "maxItems", "maxLength", "maximum", "minItems", "minLength",
    "minimum", "properties", "required", "title", "type",
}  # fmt: skip

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(0, 70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["web", "age", "age > 3", "2024-05-01T00:00:00Z", "young", "adult"])
)
EVENTS = st.dictionaries(st.sampled_from(["age", "platform", "x"]), SCALARS, max_size=3)
ANYTHING: st.SearchStrategy[Any] = EVENTS | st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def resolved(schema: Document, document: Document) -> Document:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    unknown = schema.keys() - KEYWORDS
    assert not unknown, f"the tests do not know {unknown}"
    return schema


def drawn_from(schema: Document, document: Document) -> st.SearchStrategy[Any]:
    """Values that the schema allows."""
    schema = resolved(schema, document)
    if "anyOf" in schema:
        return st.one_of([drawn_from(one, document) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    low, high = _bounds(schema)
    match schema.get("type"):
        case None:
            return ANYTHING
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(int(low), int(high)) | st.integers(
                max(int(low), 0), min(int(high), 100)
            )
        case "number":
            return st.floats(low, high, allow_nan=False, exclude_min="exclusiveMinimum" in schema)
        case "string":
            few = ["ads", "young", "age > 3", "1700000000000", "2024-05-01"]
            return st.sampled_from(few) | st.text(min_size=schema.get("minLength", 0), max_size=20)
        case "array":
            return st.lists(drawn_from(schema.get("items", {}), document), max_size=3)
        case "object":
            return _objects(schema, document)
    raise AssertionError(schema)


def _bounds(schema: Document) -> tuple[float, float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -(2**53)))
    return low, schema.get("maximum", schema.get("exclusiveMaximum", 2**53))


def _objects(schema: Document, document: Document) -> st.SearchStrategy[Any]:
    known = {name: drawn_from(one, document) for name, one in schema.get("properties", {}).items()}
    required = set(schema.get("required", ()))
    some = st.fixed_dictionaries(
        {name: one for name, one in known.items() if name in required},
        optional={name: one for name, one in known.items() if name not in required},
    )
    more = schema.get("additionalProperties", False)
    if more is False or known:
        return some
    inner = drawn_from(more if isinstance(more, dict) else {}, document)
    names = st.text(max_size=5) | st.sampled_from(["id", "expression", "form", "age"])
    return st.dictionaries(names, inner, max_size=4)


def faults(value: Any, schema: Document, document: Document, at: str = "$") -> list[str]:
    """Why a value is not what the schema says."""
    schema = resolved(schema, document)
    if "anyOf" in schema:
        tried = [faults(value, one, document, at) for one in schema["anyOf"]]
        return [] if any(not one for one in tried) else [f"{at}: none of {len(tried)} fits"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is none of {schema['enum']}"]
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        return [f"{at}: {value!r} is no {kind}"]
    found = []
    if isinstance(value, list):
        for i, one in enumerate(value):
            found += faults(one, schema.get("items", {}), document, f"{at}[{i}]")
    if isinstance(value, dict):
        found += _faults_of_object(value, schema, document, at)
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _bounds(schema)
        if ("minimum" in schema and value < low) or ("maximum" in schema and value > high):
            found.append(f"{at}: {value} is out of bounds")
    return found


def _faults_of_object(value: Document, schema: Document, document: Document, at: str) -> list[str]:
    known = schema.get("properties", {})
    found = [f"{at}: {name} is missing" for name in schema.get("required", ()) if name not in value]
    more = schema.get("additionalProperties", {})
    for name, one in value.items():
        if name in known:
            found += faults(one, known[name], document, f"{at}.{name}")
        elif more is False:
            found.append(f"{at}: {name} is not told")
        elif isinstance(more, dict):
            found += faults(one, more, document, f"{at}.{name}")
    return found


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
    kinds: dict[str, type] = {
        "null": type(None), "boolean": bool, "string": str, "array": list, "object": dict,
    }  # fmt: skip
    return isinstance(value, kinds[kind])
