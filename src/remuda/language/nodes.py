"""Nodes of sqlglot's tree: what they call, where they stand, and how they are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sqlglot import exp

from remuda.errors import InvalidCriterion
from remuda.language.tokens import FUNCTION

P = ParamSpec("P")
T = TypeVar("T")


class Refused(Exception):
    """What the node says is beyond the language."""

    def __init__(self, reason: str, node: exp.Expr) -> None:
        super().__init__(reason)
        self.reason, self.node = reason, node


def column(node: exp.Expr) -> int:
    """Where the node begins in the text: sqlglot knows it for names, literals and functions."""
    around: exp.Expr | None = node
    while around is not None:
        starts = [part.meta["start"] for part in around.walk() if "start" in part.meta]
        if starts:
            return int(min(starts))
        around = around.parent  # TRUE, for one, stands nowhere by itself
    return 0


def made(node: exp.Expr, build: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `build` makes; where the model refuses it, the node is to blame."""
    try:
        return build(*args, **kwargs)
    except InvalidCriterion as error:
        raise Refused(error.reason, node) from None


def bare(node: exp.Expr) -> exp.Expr:
    """The node without the parentheses around it."""
    while type(node) is exp.Paren:
        node = node.this
    return node


def function(node: exp.Expr) -> str:
    """The name of the function that is called, or nothing."""
    return node.name.removeprefix(FUNCTION) if type(node) is exp.Anonymous else ""


def flag(node: exp.Expr, known: tuple[str, ...]) -> tuple[str, bool]:
    """An option that is said by its name: `parts => TRUE`."""
    name = str(node.this.name) if type(node) is exp.Kwarg else ""
    if name not in known or type(node.expression) is not exp.Boolean:
        options = " and ".join(f"{one} => TRUE" for one in known)
        raise Refused(f"the options here are {options}", node)
    return name, bool(node.expression.this)


def arguments(node: exp.Expr, least: int, most: int | None = None) -> list[exp.Expr]:
    """The arguments of a function that takes so many."""
    found, most = node.expressions, least if most is None else most
    if not least <= len(found) <= most:
        count = str(least) if least == most else f"{least} to {most}"
        noun = "argument" if count == "1" else "arguments"
        raise Refused(f"{function(node)}() takes {count} {noun}, not {len(found)}", node)
    return found
