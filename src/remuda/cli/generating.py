"""`remuda generate`: criteria and events drawn from a seed, into files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from remuda.cli.files import FileError
from remuda.language import json
from remuda.language.criterion import Criterion
from remuda.workload import KINDS
from remuda.workload.nested import Nested

_GENERATORS: dict[str, Any] = {**KINDS, "nested": Nested}


def generate(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(sorted(_GENERATORS))}.")],
    criteria: Annotated[Path, typer.Argument(help="Where the criteria go, as JSON lines.")],
    events: Annotated[Path | None, typer.Option(help="Where the events go, as JSON lines.")] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the generator, as name=value; repeatable."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Expressions as text, not JSON.")] = False,
) -> None:
    """Draw a workload of one of the papers' kinds."""
    if kind not in _GENERATORS:
        raise typer.BadParameter(
            f"there is no {kind!r}; there are {', '.join(sorted(_GENERATORS))}"
        )
    generator = _GENERATORS[kind]
    drawn = generator(**_values(generator, parameters or ())).draw()
    expressions = drawn.expressions if kind == "nested" else drawn.expressions()
    named = (Criterion(f"c{i}", one) for i, one in enumerate(expressions))
    n = _write(criteria, (_line(criterion, text) for criterion in named))
    print(f"{criteria}: {n:,} criteria")
    if events is not None:
        n = _write(events, map(json.encode, drawn.event_dicts()))
        print(f"{events}: {n:,} events")


def _line(criterion: Criterion, text: bool) -> bytes:
    if text:
        return json.encode({"id": criterion.id, "expression": criterion.to_text()})
    return json.encode(criterion.to_json())


def _values(generator: Any, given: Any) -> dict[str, Any]:
    """The parameters by name, read as the defaults are."""
    defaults = {one.name: one.default for one in dataclasses.fields(generator)}
    values: dict[str, Any] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        kind = type(defaults.get(name))
        if name not in defaults or kind not in (int, float, bool):
            known = sorted(key for key, one in defaults.items() if type(one) in (int, float, bool))
            raise typer.BadParameter(f"{name!r} cannot be set; there are {', '.join(known)}")
        try:
            values[name] = value.lower() == "true" if kind is bool else kind(value)
        except ValueError:
            raise typer.BadParameter(f"{name} is a {kind.__name__}, not {value!r}") from None
    return values


def _write(path: Path, lines: Any) -> int:
    n = 0
    try:
        with path.open("wb") as file:
            for line in lines:
                file.write(line + b"\n")
                n += 1
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    return n
