"""Options that several commands share: one by one, or as the fields of a group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from remuda.index.question import Question

FORMATS = ("jsonl", "csv", "parquet")  # that are written

IndexPath = Annotated[str, typer.Argument(metavar="INDEX", help="The directory of a saved index.")]
Events = Annotated[
    str,
    typer.Argument(
        metavar="EVENTS",
        help="Events: JSON lines, CSV, TSV or Parquet, a file or a directory of them; - reads "
        "standard input. Columns of CSV are typed by what is in them: whole numbers, floats, true "
        "and false, ISO dates and timestamps, else text; an empty cell is missing. In process, "
        "the first megabytes decide.",
    ),
]
Output = Annotated[
    str,
    typer.Option("--output", "-o", help="Where it goes; its suffix is its format. - is stdout."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")]
InputFormat = Annotated[
    str | None,
    typer.Option("--input-format", help="Format of the input: jsonl, csv, tsv or parquet."),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", "--tags", help="Only criteria with this tag; repeat for any of several."),
]
Now = Annotated[
    str | None,
    typer.Option("--now", help="The moment it is: a timestamp (in UTC), or epoch milliseconds."),
]
Version = Annotated[
    str | None, typer.Option("--version", help="A version of the index; the newest by default.")
]
Trees = Annotated[
    list[str] | None,
    typer.Option(
        "--tree",
        help="A tree that criteria name in under(), as name=file: JSON ({child: parent} or pairs), "
        "or CSV, TSV or Parquet with a column of children and one of parents; repeat.",
    ),
]


@dataclass(frozen=True, slots=True)
class Spark:
    """Which Spark does the work."""

    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[*]"
    conf: Annotated[
        list[str] | None, typer.Option("--conf", help="A setting of Spark, as key=value; repeat.")
    ] = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the work is done."""

    local: Annotated[bool, typer.Option("--local", help="In this process, without Spark.")] = False
    spark: Spark = field(default_factory=Spark)


@dataclass(frozen=True, slots=True)
class Workers:
    """How Spark's workers come by the index, and names by their columns."""

    ship: Annotated[
        bool, typer.Option("--ship", help="Send the index with the job: workers need not reach it.")
    ] = False
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", help="Names of columns and fields as Spark reads them.")
    ] = False

    def how(self) -> dict[str, Any]:
        """What functions of `remuda.spark` are told of it."""
        return {"ship": self.ship, "case_sensitive": not self.ignore_case}

    def seen(self, index: str) -> str | None:
        """The index, where workers must see it."""
        return None if self.ship else index


@dataclass(frozen=True, slots=True)
class Asking:
    """What an index is asked about files of events, and where that is done."""

    tags: Tags = None
    now: Now = None
    version: Version = None
    format: Annotated[
        str | None, typer.Option("--format", help=f"Format of the output: {', '.join(FORMATS)}.")
    ] = None
    input_format: InputFormat = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text", help="A column of CSV that is text, whatever it looks like; repeat."
        ),
    ] = None
    place: Place = field(default_factory=Place)
    workers: Workers = field(default_factory=Workers)

    def question(self, *best: Any) -> Question:
        """All that match, or the best of them, with what `Question` has to say of those."""
        from remuda.index.question import Question

        return Question.of(moment(self.now), self.tags or None, *best)

    def check(self, output: str | None, *, overwrite: bool) -> None:
        """Refuse, before anything is done, what could not be read, written or heeded."""
        check_output(output, self.format, overwrite=overwrite)
        check_input_format(self.input_format)
        check_threads()
        of_spark = {"--ship": self.workers.ship, "--ignore-case": self.workers.ignore_case}
        for option, given in of_spark.items():
            if self.place.local and given:
                raise typer.BadParameter(f"{option} is for Spark: leave --local out")


@dataclass(frozen=True, slots=True)
class Rules:
    """What files of criteria are, and where those go that are none."""

    rejects: Annotated[
        str | None, typer.Option("--rejects", help="A file for all rejects, as JSON lines.")
    ] = None
    input_format: InputFormat = None
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Whose rules the files hold: eventbridge, sigma, mongo … (docs/formats.md); a "
            "folder is read with all that is in it.",
        ),
    ] = None

    def kind(self) -> str | None:
        """Rules of another system, or one of our own formats."""
        from remuda.formats import FORMATS

        if self.format is None:
            check_input_format(self.input_format)
            return self.input_format
        if self.input_format is not None:
            raise typer.BadParameter("--format and --input-format: one of them says what files are")
        _check_format(self.format, FORMATS)
        return self.format


def moment(text: str | None) -> datetime | int | None:
    """The moment that `--now` names."""
    from remuda.model.readings import read_timestamp

    if text is None or text.lstrip("-").isdecimal():
        return None if text is None else int(text)
    found = read_timestamp(text)
    if found is None:
        raise typer.BadParameter(f"--now: {text!r} is neither a timestamp nor milliseconds")
    return found


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """What options of the form key=value say."""
    values = {}
    for pair in given or ():
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise typer.BadParameter(f"{option} wants key=value, not {pair!r}")
        values[key] = value
    return values


def numbers(given: Iterable[str] | None, option: str) -> dict[str, float]:
    """The same where the values are numbers."""
    try:
        return {key: float(value) for key, value in pairs(given, option).items()}
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None


def checked_matcher(name: str, *, live: bool = False) -> str:
    """The matcher as indexes name it; refuse one that there is not."""
    from remuda.matchers.contract import Chosen

    try:
        chosen = Chosen.of(name)
        return str(Chosen.of(str(replace(chosen, live=True)) if live else str(chosen)))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def check_threads() -> None:
    """Refuse a REMUDA_THREADS that is no number, before anything is done."""
    from remuda.index.portions import n_threads

    try:
        n_threads(None)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _check_format(name: str | None, known: Iterable[str]) -> None:
    if name is not None and name not in known:
        raise typer.BadParameter(f"there is no format {name!r}; there are {', '.join(known)}")


def check_output(path: str | None, format: str | None, *, overwrite: bool) -> None:
    """Refuse an output that would be in no known format, or in the place of another."""
    from remuda.cli.files import FileError, kind_of

    _check_format(format, FORMATS)
    if path is None or path == "-":
        return
    if kind_of(path, format) not in FORMATS:
        raise FileError(f"{path}: only {', '.join(FORMATS)} are written; --format names one")
    check_replaced(path, overwrite=overwrite)


def check_replaced(path: str, *, overwrite: bool) -> None:
    """Refuse what would take the place of a file or directory that is there."""
    from remuda.cli.files import FileError
    from remuda.index.files import is_local, local

    if not overwrite and is_local(path) and local(path).exists():
        raise FileError(f"{path}: it is there already; --overwrite replaces it")


def check_input_format(name: str | None) -> None:
    """Refuse a format that is not read."""
    from remuda.cli.files import FORMATS as KNOWN

    _check_format(name, KNOWN)
