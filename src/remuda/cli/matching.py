"""`remuda match` and `remuda top`: events with the criteria they satisfy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.files import FileError
from remuda.cli.screen import Figures, warn, working
from remuda.cli.spark_session import need_spark

if TYPE_CHECKING:
    from remuda.cli.events import Events
    from remuda.index.question import Question

Explode = Annotated[bool, typer.Option("--explode", help="One row a match; events without any go.")]


@dataclass(frozen=True, slots=True)
class Job:
    """Which index is asked what, where events come from, and where answers go."""

    index: str
    version: str | None
    question: Question
    explode: bool
    events: str
    output: str
    input_format: str | None
    format: str | None
    text: Sequence[str]
    overwrite: bool
    spark: dict[str, bool]  # what is said of a job on Spark

    def run(self, local: bool, master: str, conf: Sequence[str] | None) -> None:
        options.check_output(self.output, self.format, overwrite=self.overwrite)
        options.check_input_format(self.input_format)
        options.check_threads()
        if local:
            options.refuse_spark(self.spark)
            figures = _in_process(self)
        else:
            need_spark(self.events)
            from remuda.cli import spark_jobs

            figures = spark_jobs.answer(self, master, conf)
        warn(figures)
        if figures.rejects:
            raise typer.Exit(1)


def match(
    index: options.IndexPath,
    events: options.Events,
    output: options.Output = "-",
    overwrite: options.Overwrite = False,
    explode: Explode = False,
    tags: options.Tags = None,
    now: options.Now = None,
    version: options.Version = None,
    format: options.Format = None,
    input_format: options.InputFormat = None,
    text: options.Text = None,
    local: options.Local = False,
    master: options.Master = "local[*]",
    conf: options.Conf = None,
    ship: options.Ship = False,
    ignore_case: options.IgnoreCase = False,
) -> None:
    """Find the criteria that each event satisfies.

    Rows of a table come out with two more columns, matches and index_version. A line of JSON
    comes out as {"event": …, "matches": […], "index_version": …}, with event_error where it is
    not an object. In CSV a list is JSON in its cell.
    """
    question = _question(now, tags)
    files = events, output, input_format, format, tuple(text or ()), overwrite
    spark = {"ship": ship, "case_sensitive": not ignore_case}
    Job(index, version, question, explode, *files, spark).run(local, master, conf)


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
    tags: options.Tags = None,
    now: options.Now = None,
    version: options.Version = None,
    format: options.Format = None,
    input_format: options.InputFormat = None,
    text: options.Text = None,
    local: options.Local = False,
    master: options.Master = "local[*]",
    conf: options.Conf = None,
    ship: options.Ship = False,
    ignore_case: options.IgnoreCase = False,
) -> None:
    """Find the best criteria of each event by score or priority, with their scores.

    What comes out is as with match, and each of the matches is an object with id and score.
    """
    if weights_column and weights:
        raise typer.BadParameter("weights are those of --weight or of --weights-column, not both")
    if by not in ("score", "priority"):
        raise typer.BadParameter(f"--by: the best are by score or by priority, not by {by!r}")
    given = weights_column or options.numbers(weights, "--weight")
    question = _question(now, tags, n, given, by, per)
    files = events, output, input_format, format, tuple(text or ()), overwrite
    spark = {"ship": ship, "case_sensitive": not ignore_case}
    Job(index, version, question, explode, *files, spark).run(local, master, conf)


def _question(
    now: str | None,
    tags: Sequence[str] | None,
    n: int | None = None,
    weights: Mapping[str, float] | str | None = None,
    by: Any = "score",
    per: str | None = None,
) -> Question:
    from remuda.index.question import Question

    return Question.of(options.moment(now), tags or None, n, weights, by, per)


def _in_process(job: Job) -> Figures:
    from remuda.cli.events import read_events
    from remuda.cli.outputs import writing
    from remuda.index.answers import laid_out, listed
    from remuda.index.index import load

    figures = Figures("events", matches=0)
    index = load(job.index, version=job.version)
    fields = index.fields() if job.question.weights is None else None
    events = read_events(job.events, job.input_format, job.text, figures.reject, fields)
    with (
        working("matching") as progress,
        writing(job.output, job.format, _schema(events, job)) as sink,
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
