"""`remuda demo`: the product at work on a made-up day of advertising."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from remuda.index.index import Index
    from remuda.language.criterion import Criterion

_BROKEN = (  # rows that any table of rules has sooner or later
    b'{"id": "campaign-x1", "expression": "user.age BETWEEN 18 AND"}',
    b'{"id": "campaign-x2", "expression": "matches(city, \'(\')"}',
    b'{"id": "campaign-x3", "form": "DNF", "conjunctions": [{"type": "AND"',
)
_WHOLE = 5  # visits that are checked on every campaign
_CHECKED = 1_000_000  # pairs of visits and campaigns that are checked beside those

Step = Callable[[str], AbstractContextManager[Callable[[], float]]]


@dataclass(frozen=True, slots=True)
class Day:
    """What was drawn, and where it lies."""

    home: Path
    campaigns: list[Criterion]
    visits: Any

    @property
    def rules(self) -> str:
        return str(self.home / "campaigns.jsonl")

    @property
    def events(self) -> str:
        return str(self.home / "visits.parquet")

    @property
    def index(self) -> str:
        return str(self.home / "index")


@dataclass(frozen=True, slots=True)
class Answers:
    """What was found: how many matches, events per campaign, and the ids of any visit."""

    n_matches: int
    reach: Any
    ids: Callable[[list[int]], dict[int, set[str]]]


def demo(
    what: Annotated[
        str | None, typer.Argument(help="Rules that others wrote: sigma or adblock.")
    ] = None,
    folder: Annotated[
        str | None, typer.Argument(help="The folder with those rules and events for them.")
    ] = None,
    criteria: Annotated[int, typer.Option(min=1, help="How many campaigns.")] = 200_000,
    events: Annotated[int, typer.Option(min=1, help="How many visits.")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Draws another day.")] = 1,
    spark: Annotated[bool, typer.Option(help="Build and match on a local Spark.")] = True,
) -> None:
    """Draw a day of advertising; find who may see which campaign, and why; check every claim.

    With sigma or adblock and a folder, the same with rules that others wrote.
    """
    if what is not None:
        from remuda.cli.demo_rules import demo_rules

        demo_rules(what, folder)
        return
    import numpy as np

    from remuda.index.first_questions import compiled_ahead
    from remuda.index.index import load

    console = Console(highlight=False)
    step = _stepper(console)
    with tempfile.TemporaryDirectory(prefix="remuda-demo-") as home:
        with step(f"drawing {criteria:,} campaigns and {events:,} visits"):
            day = _drawn(Path(home), np.random.default_rng(seed), criteria, events)
        _show_campaigns(console, day.campaigns)
        with (
            compiled_ahead(day.campaigns[:300], day.visits.slice(0, 100)) as parts,
            step("compiling the kernels (kept for the next time)"),
        ):
            for part in parts:
                part.result()
        answers = (_on_spark if spark and _has_spark(console) else _in_process)(console, step, day)
        index = load(day.index)
        _show_reach(console, answers)
        _show_visit(console, index, day)
        with step("checking a sample against plain evaluation"):
            n_checked = _check(day, answers)
        console.print(f"  {n_checked:,} pairs of a visit and a campaign: all as they should be\n")


def _has_spark(console: Console) -> bool:
    found = find_spec("pyspark") is not None
    if not found:
        console.print("[dim]pyspark is not installed, so all happens in this process[/]")
    return found


def _drawn(home: Path, rng: Any, n_campaigns: int, n_visits: int) -> Day:
    import pyarrow.parquet as pq

    from remuda.cli.demo_data import draw_day
    from remuda.language import json_form

    campaigns, visits = draw_day(rng, n_campaigns, n_visits)
    day = Day(home, campaigns, visits)
    lines = [json_form.encode(campaign.to_json()) for campaign in campaigns]
    Path(day.rules).write_bytes(b"\n".join([*lines, *_BROKEN]) + b"\n")
    pq.write_table(visits, day.events, row_group_size=max(10_000, -(-n_visits // 16)))
    return day


def _on_spark(console: Console, step: Step, day: Day) -> Answers:
    """Read, build, match and count on a local Spark."""
    from remuda.cli.options import Spark
    from remuda.cli.screen import show_table
    from remuda.cli.spark_session import started

    with ExitStack() as stack:
        with step("starting a local Spark"):
            few = Spark(conf=["spark.sql.shuffle.partitions=4"])
            spark = stack.enter_context(started(few))
        from remuda.cli.spark_files import seen_by
        from remuda.spark.building import build_index
        from remuda.spark.criteria import read_criteria
        from remuda.spark.matching import match
        from remuda.spark.reaching import reach

        with step("reading and validating the campaigns"):
            rules = read_criteria(spark, day.rules)
            stack.callback(rules.release)
        console.print(f"  {rules.summary()}")
        bad = rules.bad.orderBy("row").collect()
        show_table(
            ("row", "id", "what is wrong"),
            [(row["row"], row["id"] or "–", row["reason"].split("\n")[0]) for row in bad],
        )
        with step("building the index"):
            built = build_index(rules, day.index, shards=2)
        console.print(f"  {built.added:,} campaigns in {built.shards} shards")
        with step("matching every visit with every campaign") as took:
            visits = spark.read.parquet(day.events)
            seen = seen_by(match(visits, day.index), None)
            path = str(day.home / "matches")
            seen.frame.select("visit", "matches").write.parquet(path)
            n_matches = seen.count("matches")
        _show_rate(console, day, n_matches, took())
        with step("counting whom each campaign reaches"):
            reached = reach(visits, day.index).toArrow()
        kept = _kept(spark, path, _rows(day))
        return Answers(n_matches, reached, lambda rows: {row: kept[row] for row in rows})


def _kept(spark: Any, path: str, rows: list[int]) -> dict[int, set[str]]:
    """The ids that Spark found for some of the visits."""
    wanted = spark.createDataFrame([(row,) for row in rows], "visit bigint")
    found = spark.read.parquet(path).join(wanted, "visit", "left_semi").collect()
    return {row["visit"]: set(row["matches"]) for row in found}


def _in_process(console: Console, step: Step, day: Day) -> Answers:
    """The same without Spark."""
    import numpy as np
    import pyarrow as pa

    from remuda.index.index import Index, load

    with step("building the index and saving it"):
        Index.build(day.campaigns).save(day.index)
        index = load(day.index)
    with step("matching every visit with every campaign") as took:
        found = index.match_many(day.visits)
    n_matches = int(found.offsets[-1])
    _show_rate(console, day, n_matches, took())
    reach = np.bincount(found.positions, minlength=len(index))
    table = pa.table({"id": [one.id for one in day.campaigns], "events": reach})
    return Answers(n_matches, table, lambda rows: {row: set(found.ids(row)) for row in rows})


def _rows(day: Day) -> list[int]:
    """The visits that are checked."""
    import numpy as np

    n_visits = day.visits.num_rows
    n_rows = min(n_visits, max(_WHOLE, 2_000))
    rows: list[int] = np.linspace(0, n_visits - 1, n_rows).astype(int).tolist()
    return rows


def _check(day: Day, answers: Answers) -> int:
    """Hold what was found against plain evaluation: few visits in full, many in part."""
    rows = _rows(day)
    ids = answers.ids(rows)
    every = max(1, len(rows) * len(day.campaigns) // _CHECKED)
    n_checked = 0
    whole = set(rows[:: -(-len(rows) // _WHOLE)])
    for row in rows:
        visit = _visit(day, row)
        some = day.campaigns if row in whole else day.campaigns[row % every :: every]
        n_checked += len(some)
        for campaign in some:
            if campaign.holds(visit) != (campaign.id in ids[row]):
                raise AssertionError(f"visit {row} and {campaign.id} were answered wrongly")
    total = int(answers.reach["events"].to_numpy().sum())
    if total != answers.n_matches:
        raise AssertionError(f"the reach adds up to {total:,}, not to {answers.n_matches:,}")
    return n_checked


def _visit(day: Day, row: int) -> dict[str, Any]:
    found: dict[str, Any] = day.visits.slice(row, 1).to_pylist()[0]
    return found


def _show_campaigns(console: Console, campaigns: list[Criterion]) -> None:
    console.print("\n[bold]Three of the campaigns[/]")
    for campaign in campaigns[:3]:
        console.print(f"  [cyan]{campaign.id}[/]  {campaign.to_text()}", soft_wrap=True)
    console.print()


def _show_rate(console: Console, day: Day, n_matches: int, seconds: float) -> None:
    n_visits = day.visits.num_rows
    console.print(
        f"  {n_matches:,} matches, {n_matches / n_visits:.1f} a visit; "
        f"{n_visits / seconds:,.0f} visits a second"
    )


def _show_reach(console: Console, answers: Answers) -> None:
    from remuda.cli.reaching import widest_first

    ordered = widest_first(answers.reach)
    first = ordered.slice(0, 8).to_pylist()
    widest = max(first[0]["events"], 1)
    console.print("\n[bold]The campaigns that reach furthest[/]")
    table = Table(box=None, show_header=False, padding=(0, 2))
    for row in first:
        bar = "█" * round(30 * row["events"] / widest)
        table.add_row(f"[cyan]{row['id']}[/]", f"[green]{bar}[/]", f"{row['events']:,}")
    console.print(table)
    nobody = int((ordered["events"].to_numpy() == 0).sum())
    console.print(f"  {nobody:,} campaigns reach nobody\n")


def _show_visit(console: Console, index: Index, day: Day) -> None:
    """One visit that sees something: what suits it best, why, and what it narrowly misses."""
    few = day.visits.slice(0, 1_000)
    row = int((index.count_many(few) > 0).argmax())
    visit = _visit(day, row)
    console.print("[bold]One visit[/]")
    console.print(f"  {visit}", style="dim", soft_wrap=True, markup=False)
    best = index.top(visit, 3)
    for place in best:
        console.print(f"  {place.score:4.1f}  [cyan]{place.id}[/]")
    if best:
        console.print(f"\n[bold]Why it sees {best[0].id}[/]")
        _show_tree(console, str(index.explain(visit, best[0].id)))
    console.print("\n[bold]What it narrowly misses[/]")
    for near in index.nearest(visit, 3):
        console.print(f"  [cyan]{near.id}[/]")
        _show_tree(console, "\n".join(map(str, near.failures)), indent="    ")
    console.print()


def _show_tree(console: Console, text: str, indent: str = "  ") -> None:
    for line in text.split("\n"):
        style = "green" if "✓" in line else "red"
        console.print(f"{indent}{line}", style=style, soft_wrap=True, markup=False)


def _stepper(console: Console) -> Step:
    @contextmanager
    def step(what: str) -> Iterator[Callable[[], float]]:
        """Say what is being done, then how long it took."""
        start = time.perf_counter()
        with console.status(f"{what} …"):
            yield lambda: time.perf_counter() - start
        console.print(f"[bold green]✓[/] {what} [dim]{time.perf_counter() - start:.1f} s[/]")

    return step
