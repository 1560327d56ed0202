"""Functions of JSON in text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import LONGEST_TEXT, text
from remuda.model.functions.casts import double_text
from remuda.model.functions.function import Function, table
from remuda.model.values import MAX_LEVELS

_NOTHING = object()
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\['([^']+)'\]")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[^\[\]{}"]+', re.DOTALL)  # all but these


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


class _Object(tuple[tuple[str, Any], ...]):
    """Names and parts as they come; a name may come twice."""


_READER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_Object)


def _document(value: Any) -> Any:
    spelt = text(value)
    if spelt is None or _is_deep(spelt):
        return _NOTHING
    try:
        return _READER.raw_decode(spelt.lstrip(" \t\r\n"))[0]
    except ValueError:
        return _NOTHING


def _is_deep(spelt: str) -> bool:
    if spelt.count("[") + spelt.count("{") <= MAX_LEVELS:
        return False
    depth = 0
    for bracket in _BRACKETS.sub("", spelt):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_LEVELS:
            return True
    return False


def _steps(path: str) -> list[str | int] | None:
    """Names and numbers; None for what is no such path."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    offset = 1
    while offset < len(path):
        match = _STEP.match(path, offset)
        if match is None:
            return None
        steps.append(int(match[2]) if match[2] else match[1] or match[3])
        offset = match.end()
    return steps


def _get_json_object(value: Any, path: Any) -> str | None:
    """What stands at a path: texts as they are, all else as JSON."""
    document, spelt = _document(value), text(path)
    steps = None if spelt is None else _steps(spelt)
    if document is _NOTHING or steps is None:
        return None
    for step in steps:
        document = _at(document, step)
    if document is None and steps:
        return None
    written = document if isinstance(document, str) else _written(document)
    return text(written) if len(written) <= LONGEST_TEXT else None


def _at(document: Any, step: str | int) -> Any:
    if isinstance(step, str):
        parts = document if isinstance(document, _Object) else ()
        return next((part for name, part in parts if name == step), None)
    return document[step] if isinstance(document, list) and step < len(document) else None


def _written(document: Any) -> str:
    if isinstance(document, _Object):
        parts = (f"{_quoted(name)}:{_written(part)}" for name, part in document)
        return f"{{{','.join(parts)}}}"
    if isinstance(document, list):
        return f"[{','.join(map(_written, document))}]"
    if not isinstance(document, float):
        return _quoted(document)
    spelt = double_text(document)
    return spelt if math.isfinite(document) else _quoted(spelt)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_array_length(value: Any) -> int | None:
    document = _document(value)
    return len(document) if isinstance(document, list) else None


def _check_path(arguments: Sequence[Any]) -> None:
    path = arguments[1]
    if isinstance(path, str) and _steps(path) is None:
        raise InvalidCriterion(
            f"{path!r} is no path into JSON: write $, then .name, ['name'] or [number]"
        )


FUNCTIONS = table(
    [
        Function("get_json_object", _get_json_object, 2, 2, check=_check_path),
        Function("json_array_length", _json_array_length, 1, 1),
    ]
)
