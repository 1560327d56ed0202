"""`remuda match` and `remuda top`: events with the criteria they satisfy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.files import FileError
from remuda.cli.screen import Figures, finish, working
from remuda.cli.spark_session import need_spark

if TYPE_CHECKING:
    from remuda.cli.events import Events
    from remuda.index.question import Question

Explode = Annotated[bool, typer.Option("--explode", help="One row a match; events without any go.")]


@dataclass(frozen=True, slots=True)
class Job:
    """Which index is asked what, where events come from, and where answers go."""

    index: str
    events: str
    output: str
    overwrite: bool
    explode: bool
    asking: options.Asking
    question: Question

    def run(self) -> None:
        self.asking.check(self.output, overwrite=self.overwrite)
        if self.asking.place.local:
            figures = _in_process(self)
        else:
            need_spark(self.events)
            from remuda.cli import spark_jobs

            figures = spark_jobs.answer(self)
        finish(figures)


def match(
    index: options.IndexPath,
    events: options.Events,
    output: options.Output = "-",
    overwrite: options.Overwrite = False,
    explode: Explode = False,
    *,
    asking: options.Asking,
) -> None:
    """Find the criteria that each event satisfies.

    Rows of a table come out with two more columns, matches and index_version. A line of JSON
    comes out as {"event": …, "matches": […], "index_version": …}, with event_error where it is
    not an object. In CSV a list is JSON in its cell.
    """
    Job(index, events, output, overwrite, explode, asking, asking.question()).run()


def top(
    index: options.IndexPath,
    events: options.Events,
    n: Annotated[int, typer.Option("-n", min=0, help="How many of the best.")] = 5,
    weights: Annotated[
        list[str] | None,
        typer.Option("--weight", help="An attribute's weight, as attribute=weight; repeat."),
    ] = None,
    weights_column: Annotated[
        str | None,
        typer.Option(help="The column with the weights of each event, as maps or structs."),
    ] = None,
    by: Annotated[str, typer.Option(help="What comes first: score, or priority.")] = "score",
    per: Annotated[
        str | None,
        typer.Option(help="The best of each group; with advertiser, of each tag advertiser:…"),
    ] = None,
    output: options.Output = "-",
    overwrite: options.Overwrite = False,
    explode: Explode = False,
    *,
    asking: options.Asking,
) -> None:
    """Find the best criteria of each event by score or priority, with their scores.

    What comes out is as with match, and each of the matches is an object with id and score.
    """
    if weights_column and weights:
        raise typer.BadParameter("weights are those of --weight or of --weights-column, not both")
    if by not in ("score", "priority"):
        raise typer.BadParameter(f"--by: the best are by score or by priority, not by {by!r}")
    given = weights_column or options.numbers(weights, "--weight")
    question = asking.question(n, given, by, per)
    Job(index, events, output, overwrite, explode, asking, question).run()


def _in_process(job: Job) -> Figures:
    from remuda.cli.events import read_events
    from remuda.cli.outputs import writing
    from remuda.index.answers import laid_out, listed
    from remuda.index.index import load

    figures, asking = Figures("events", matches=0), job.asking
    index = load(job.index, version=asking.version)
    fields = index.fields() if job.question.weights is None else None
    read = asking.input_format, asking.text or ()
    events = read_events(job.events, *read, figures.reject, fields)
    with (
        working("matching") as progress,
        writing(job.output, asking.format, _schema(events, job)) as sink,
    ):
        portions = figures.counted(events.portions, progress)
        for portion, matches in index.ask(portions, job.question):
            lists = listed(matches.in_order())
            for table in laid_out(
                portion.rows, lists, index.version, matches.errors, explode=job.explode
            ):
                sink.write(table)
            figures.matches = (figures.matches or 0) + len(matches.positions)
    return figures


def _schema(events: Events, job: Job) -> Any:
    """The columns as given, and behind them the answer and the version."""
    import pyarrow as pa

    from remuda.index.answers import MATCHES, SCORED, VERSION

    taken = {MATCHES, VERSION} & set(events.schema.names)
    if taken:
        raise FileError(f"the events have a column {min(taken)} already: rename or drop it")
    one = pa.string() if job.question.n is None else SCORED
    kind = one if job.explode else pa.list_(one)
    added = [pa.field(MATCHES, kind), pa.field(VERSION, pa.string()), *events.added]
    return pa.schema([*events.schema, *added])
