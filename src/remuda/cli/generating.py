"""`remuda generate`: criteria and events drawn from a seed, into files."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.screen import counted, working
from remuda.cli.spark_session import need_spark

if TYPE_CHECKING:
    from remuda.language.criterion import Criterion

_SETTABLE = (int, float, bool, str)  # types of parameters


def generate(
    kind: Annotated[
        str, typer.Argument(help="begen, ads, qgrams, keywords, vldb, mustang or nested.")
    ],
    criteria: Annotated[str, typer.Argument(help="Where the criteria go, as JSON lines.")],
    events: Annotated[str | None, typer.Option(help="Where the events go, as JSON lines.")] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the generator, as name=value; repeatable."),
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Expressions as text, not JSON; with --local.")
    ] = False,
    overwrite: options.Overwrite = False,
    *,
    place: options.Place,
) -> None:
    """Draw a workload of one of the papers' kinds.

    On Spark it is drawn in chunks, each from a seed of its own, into directories of files.
    """
    from remuda.cli.outputs import write_lines
    from remuda.language.criterion import Criterion
    from remuda.workload import KINDS
    from remuda.workload.nested import Nested

    generators: dict[str, Any] = {**KINDS, "nested": Nested}
    if kind not in generators:
        raise typer.BadParameter(f"there is no {kind!r}; there are {', '.join(sorted(generators))}")
    generator = generators[kind]
    values = _values(generator, parameters or ())
    for path in (criteria, events):
        if path is not None:
            options.check_replaced(path, overwrite=overwrite)
    if not place.local:
        if text:
            raise typer.BadParameter("--text is written in this process: add --local")
        need_spark()
        from remuda.cli import spark_jobs
        from remuda.spark.generating import counts_of

        defaults = _defaults(generator)
        counts = counts_of(defaults).items()
        sizes = {what: values.pop(name, defaults[name]) for what, name in counts}
        drawn = kind, criteria, events, {**sizes, **values}
        spark_jobs.generate(*drawn, overwrite, place.spark)
        return
    drawn = generator(**values).draw()
    expressions = drawn.expressions if kind == "nested" else drawn.expressions()
    named = (Criterion(f"c{i}", one) for i, one in enumerate(expressions))
    with working("drawing") as progress:
        n = write_lines(criteria, counted((_document(one, text) for one in named), progress))
        print(f"{criteria}: {n:,} criteria")
        if events is not None:
            n = write_lines(events, counted(drawn.event_dicts(), progress))
            print(f"{events}: {n:,} events")


def _document(criterion: Criterion, text: bool) -> Any:
    if text:
        return {"id": criterion.id, "expression": criterion.to_text()}
    return criterion.to_json()


def _defaults(generator: Any) -> dict[str, Any]:
    return {one.name: one.default for one in dataclasses.fields(generator)}


def _values(generator: Any, given: Any) -> dict[str, Any]:
    """The parameters by name, read as the defaults are."""
    defaults = _defaults(generator)
    values: dict[str, Any] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        kind = type(defaults.get(name))
        if name not in defaults or kind not in _SETTABLE:
            known = sorted(key for key, one in defaults.items() if type(one) in _SETTABLE)
            raise typer.BadParameter(f"{name!r} cannot be set; there are {', '.join(known)}")
        try:
            values[name] = value.lower() == "true" if kind is bool else kind(value)
        except ValueError:
            raise typer.BadParameter(f"{name} is a {kind.__name__}, not {value!r}") from None
    return values
