"""Kernels take structs: no function has so many arguments that a reader cannot tell them apart."""

from __future__ import annotations

import ast
from pathlib import Path

import remuda

MOST = 14
COMMANDS = "cli"  # a command's arguments are its options, which Typer reads one by one


def _arguments(function: ast.FunctionDef) -> int:
    given = function.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)


def test_no_function_has_more_than_14_arguments() -> None:
    home = Path(remuda.__file__).parent
    found = [
        (path.relative_to(home).as_posix(), node.name, _arguments(node))
        for path in sorted(home.rglob("*.py"))
        if path.relative_to(home).parts[0] != COMMANDS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(found) > 1000  # it did look
    assert [one for one in found if one[2] > MOST] == []
