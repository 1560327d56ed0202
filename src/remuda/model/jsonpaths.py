"""JSONPath, the language of RFC 9535, within a bound on the nodes that one path looks at.

Of `$..*..*..*..*` a small event has millions of nodes. The bound counts nodes, not time, so that
a path is missing for the same events everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from jsonpath import JSONPathEnvironment, JSONPathMatch
from jsonpath.exceptions import JSONPathError
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.parse import Parser
from jsonpath.segments import JSONPathChildSegment, JSONPathRecursiveDescentSegment, JSONPathSegment
from jsonpath.stream import TokenStream

from remuda.errors import InvalidCriterion
from remuda.model.patterns import finds, matches_whole
from remuda.model.stacks import on_any_stack

MAX_VISITS = 10_000  # nodes, and children of nodes, that a path looks at in one event
MAX_LEVELS = 100  # of an event, beneath a node whose descendants are asked for
EVERYTHING = "$..*"  # the path of all that stands anywhere in an event
_LEAVES = frozenset({str, int, float, bool, type(None), Decimal, datetime, date})
_STRANGE = object()


def check(text: str) -> None:
    """ValueError with the reason where the text is no JSONPath."""
    try:
        _compiled(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except JSONPathError as error:
        raise ValueError(str(error).split("\n", 1)[0]) from None


def follow(text: str, event: Any) -> Any:
    """The list of what the path finds; None where it is missing, or would look at too much."""
    if not isinstance(event, dict | list):
        return None
    try:
        return on_any_stack(lambda: _found(text, event))
    except (JSONPathError, RecursionError, TypeError, ValueError):
        return None  # a strange event never breaks a search


def _found(text: str, event: Any) -> Any:
    found = _everything(event) if text == EVERYTHING else _STRANGE
    return _queried(text, event) if found is _STRANGE else found


def _queried(text: str, event: Any) -> Any:
    _VISITS.left = MAX_VISITS
    return _compiled(text).findall(event)


def _everything(event: Any) -> Any:
    """What `$..*` finds in a plain event, at the same price; _STRANGE where it is not plain.

    It is asked of every event that Sigma's keywords are sought in, and takes a hundredth of the
    time so.
    """
    descendants: list[Any] = []
    pending, left = [(event, 1)], MAX_VISITS
    while pending:
        node, level = pending.pop()
        kind = type(node)
        if kind is not dict and kind is not list:
            return _STRANGE
        children = list(node.values()) if kind is dict else node
        kinds = list(map(type, children))
        plain = _LEAVES.issuperset(kinds)
        inner = [] if plain else [one for one in children if type(one) not in _LEAVES]
        n_texts = kinds.count(str)  # looked into, in vain
        left -= 1 + len(children) + n_texts
        if left < 0 or (level >= MAX_LEVELS and (inner or n_texts)):
            return None
        descendants += children
        pending += [(one, level + 1) for one in reversed(inner)]
    return descendants


@lru_cache(maxsize=4096)
def _compiled(text: str) -> Any:
    return on_any_stack(lambda: _JSONPATH.compile(text))


class _Visits(threading.local):
    """What the path that is being followed may still look at."""

    left = 0

    def spend(self, node: JSONPathMatch, n_selectors: int) -> None:
        self.left -= 1 + n_selectors * len(_children(node.obj))
        if self.left < 0:
            raise JSONPathError(f"the path looks at more than {MAX_VISITS} nodes")


_VISITS = _Visits()


class _Children(JSONPathChildSegment):
    """Children, each at a price."""

    def resolve(self, nodes: Iterable[JSONPathMatch]) -> Iterable[JSONPathMatch]:
        for node in nodes:
            _VISITS.spend(node, len(self.selectors))
            for selector in self.selectors:
                yield from selector.resolve(node)


class _Descendants(JSONPathRecursiveDescentSegment):
    """Descendants, each at a price, and without recursion."""

    def resolve(self, nodes: Iterable[JSONPathMatch]) -> Iterable[JSONPathMatch]:
        for root in nodes:
            pending = [(root, 1)]
            while pending:
                node, level = pending.pop()
                if level > MAX_LEVELS:
                    raise JSONPathError(f"the event has more than {MAX_LEVELS} levels")
                _VISITS.spend(node, len(self.selectors))
                for selector in self.selectors:
                    yield from selector.resolve(node)
                inner = [
                    (node.new_child(value, name), level + 1)
                    for name, value in _named_children(node.obj)
                    if isinstance(value, Mapping | Sequence)
                ]
                pending += reversed(inner)


def _children(value: object) -> Mapping[Any, Any] | Sequence[Any]:
    return value if isinstance(value, Mapping | Sequence) and not isinstance(value, str) else ()


def _named_children(value: object) -> Iterable[tuple[Any, Any]]:
    children = _children(value)
    return children.items() if isinstance(children, Mapping) else enumerate(children)


class _Parser(Parser):
    """Queries, those inside filters too, of segments that count what they look at."""

    def parse_query(self, stream: TokenStream) -> Iterable[JSONPathSegment]:
        for segment in super().parse_query(stream):
            child = isinstance(segment, JSONPathChildSegment)
            yield (_Children if child else _Descendants)(
                env=segment.env, token=segment.token, selectors=segment.selectors
            )


class _Regex(FilterFunction):
    """The functions `match` and `search` of RFC 9535, in linear time."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012
    return_type = ExpressionType.LOGICAL

    def __init__(self, accepts: Callable[[str, str], bool]) -> None:
        self.accepts = accepts

    def __call__(self, value: object, pattern: object) -> bool:
        try:
            return (
                isinstance(value, str) and isinstance(pattern, str) and self.accepts(pattern, value)
            )
        except InvalidCriterion:
            return False


class _Environment(JSONPathEnvironment):
    parser_class = _Parser

    def compare(self, left: object, operator: str, right: object) -> bool:
        try:
            return super().compare(left, operator, right)
        except ArithmeticError:  # a decimal that is not a number equals and orders with nothing
            return operator == "!="


_JSONPATH = _Environment(strict=True)
_JSONPATH.function_extensions |= {"match": _Regex(matches_whole), "search": _Regex(finds)}
