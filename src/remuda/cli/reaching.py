"""`remuda reach`: how many events each criterion holds for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.files import FileError
from remuda.cli.screen import Figures, finish, show_table, working
from remuda.cli.spark_session import need_spark

_WIDEST = 20


def reach(
    index: options.IndexPath,
    events: options.Events,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="A file with all criteria; - is stdout."),
    ] = None,
    overwrite: options.Overwrite = False,
    n: Annotated[int, typer.Option("-n", min=1, help="How many are shown.")] = _WIDEST,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw them into this picture (PNG, SVG, PDF).")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", help="Count different values of this column too; on Spark."),
    ] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Estimate the users, within some 5 %.")
    ] = False,
    *,
    asking: options.Asking,
) -> None:
    """Count the events that each criterion holds for; show those that reach furthest."""
    asking.check(output, overwrite=overwrite)
    if approximate and user is None:
        raise typer.BadParameter("--approximate is for users: --user names their column")
    tags = frozenset(asking.tags) if asking.tags else None
    how: dict[str, Any] = {"tags": tags, "now": options.moment(asking.now)}
    if plot is not None:
        _need_plots()
        options.check_replaced(str(plot), overwrite=overwrite)
    if asking.place.local:
        if user is not None:
            raise typer.BadParameter("--user is for Spark: leave --local out")
        table, figures = _in_process(index, events, asking, how)
    else:
        need_spark(events)
        from remuda.cli import spark_jobs

        how |= {"user": user, "approximate": approximate}
        table, figures = spark_jobs.reach(index, events, asking, how)
    _show(table, output, asking.format, n)
    if plot is not None:
        draw(table.slice(0, n), plot)
    finish(figures)


def _in_process(
    path: str, events: str, asking: options.Asking, how: dict[str, Any]
) -> tuple[Any, Figures]:
    """A table with id and events, the widest first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from remuda.cli.events import read_events
    from remuda.index.index import load

    figures = Figures("events", matches=0)
    index = load(path, version=asking.version)
    read = asking.input_format, asking.text or ()
    with working("counting") as progress:
        portions = read_events(events, *read, figures.reject, index.fields()).portions
        counts = index.reach(figures.counted(portions, progress), **how)
    figures.matches = int(counts.sum())
    ids, asked = index.ids().array, index.ids(tags=how["tags"]).array
    table = pa.table({"id": ids, "events": counts})
    return widest_first(table.filter(pc.is_in(ids, value_set=asked))), figures


def widest_first(table: Any) -> Any:
    """The table by events, ties by id."""
    return table.sort_by([("events", "descending"), ("id", "ascending")])


def _show(table: Any, output: str | None, format: str | None, n: int) -> None:
    if output is not None:
        from remuda.cli.outputs import writing

        with writing(output, format, table.schema) as sink:
            sink.write(table)
    if output != "-":
        first = table.slice(0, n)
        show_table(
            table.schema.names, zip(*(one.to_pylist() for one in first.columns), strict=True)
        )
        counts = table.column("events").to_numpy()
        print(f"{len(counts):,} criteria, {int((counts == 0).sum()):,} of them reach nobody")


def _need_plots() -> None:
    try:
        import matplotlib as _  # noqa: F401, ICN001
    except ImportError:
        raise FileError("--plot needs matplotlib: pip install 'remuda[plot]'") from None


def draw(table: Any, path: Path) -> None:
    """Bars for the criteria of the table, the first on top."""
    from matplotlib.figure import Figure

    from remuda.cli.outputs import aside

    names = [name if len(name) <= 40 else name[:39] + "…" for name in table["id"].to_pylist()]
    places = range(len(names))
    figure = Figure(figsize=(8, 1.2 + 0.26 * max(len(names), 1)), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(places, table["events"].to_pylist(), color="#4878a8")
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=8)
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("events")
    axes.set_title("The criteria that reach furthest", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    try:
        with aside(str(path)) as file:
            figure.savefig(file, dpi=150, format=path.suffix[1:] or "png")
    except ValueError as error:  # no such format
        raise FileError(f"{path}: {error}") from None
