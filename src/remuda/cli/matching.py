"""`remuda match` and `remuda top`: events with the criteria they satisfy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer

from remuda.cli import options
from remuda.cli.screen import Figures, warn, working
from remuda.cli.spark_session import need_spark

Explode = Annotated[bool, typer.Option("--explode", help="One row a match; events without any go.")]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about every event."""

    index: str
    version: str | None = None
    n: int | None = None  # the best, or all that match
    weights: Mapping[str, float] | None = None
    tags: frozenset[str] | None = None
    now: datetime | int | None = None
    explode: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """Where events come from, and where answers go."""

    events: str
    output: str
    input_format: str | None
    format: str | None
    text: Sequence[str]


def match(
    index: options.IndexPath,
    events: options.Events,
    output: options.Output = "-",
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
) -> None:
    """Find the criteria that each event satisfies.

    Rows of a table come out with two more columns, matches and index_version. A line of JSON
    comes out as {"event": …, "matches": […], "index_version": …}, with event_error where it is
    not an object. In CSV a list is JSON in its cell.
    """
    question = Question(index, version, None, None, _set(tags), options.moment(now), explode)
    files = _files(events, output, input_format, format, text)
    _answer(question, files, local, master, conf)


def top(
    index: options.IndexPath,
    events: options.Events,
    n: Annotated[int, typer.Option("-n", min=0, help="How many of the best.")] = 5,
    weights: Annotated[
        list[str] | None,
        typer.Option("--weight", help="An attribute's weight, as attribute=weight; repeat."),
    ] = None,
    output: options.Output = "-",
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
) -> None:
    """Find the best criteria of each event by score, with their scores.

    What comes out is as with match, and each of the matches is an object with id and score.
    """
    by_attribute = options.numbers(weights, "--weight") or None
    moment = options.moment(now)
    question = Question(index, version, n, by_attribute, _set(tags), moment, explode)
    files = _files(events, output, input_format, format, text)
    _answer(question, files, local, master, conf)


def _set(tags: Sequence[str] | None) -> frozenset[str] | None:
    return frozenset(tags) if tags else None


def _files(
    events: str,
    output: str,
    input_format: str | None,
    format: str | None,
    text: Sequence[str] | None,
) -> Files:
    options.check_format(format)
    options.check_input_format(input_format)
    return Files(events, output, input_format, format, tuple(text or ()))


def _answer(
    question: Question, files: Files, local: bool, master: str, conf: Sequence[str] | None
) -> None:
    if local:
        figures = _in_process(question, files)
    else:
        need_spark(files.events)
        from remuda.cli import spark_jobs

        figures = spark_jobs.answer(question, files, master, conf)
    warn(figures)
    if figures.rejects:
        raise typer.Exit(1)


def _in_process(question: Question, files: Files) -> Figures:
    from remuda.cli.answers import answered, schema_of
    from remuda.cli.events import read_events
    from remuda.cli.outputs import writing
    from remuda.index.index import load

    figures = Figures("events", matches=0)
    index = load(question.index, version=question.version)
    source = read_events(files.events, files.input_format, files.text)
    schema = schema_of(source.schema, question)
    with (
        working("matching") as told,
        writing(files.output, files.format, schema) as sink,
    ):
        for portion in source.portions:
            for table, n_matches in answered(index, portion, question):
                sink.write(table)
                figures.matches = (figures.matches or 0) + n_matches
            figures.rows += portion.n_rows
            figures.name(portion.rejects)
            told(f"{figures.rows:,} events, {figures.matches:,} matches")
    return figures
