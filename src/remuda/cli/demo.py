"""`remuda demo`: the product at work on a made-up day of advertising."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import typer
from rich.console import Console
from rich.table import Table

from remuda.index.index import Index, load
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import Expression

_COUNTRIES = ("IN", "SG", "US", "DE", "BR", "JP", "NG", "FR", "GB", "ID")
_PLATFORMS = ("android", "ios", "web", "tv")
_INTERESTS = ("sports", "music", "travel", "food", "games", "books", "cars", "news", "art", "tech")
_CITIES = tuple(f"{country}-{i:02d}" for country in _COUNTRIES for i in range(40))
_CHECKED = 200


def demo(
    criteria: Annotated[int, typer.Option(help="How many campaigns.")] = 20_000,
    events: Annotated[int, typer.Option(help="How many visits.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Draws another day.")] = 1,
    spark: Annotated[bool, typer.Option(help="Match once more on local Spark.")] = True,
) -> None:
    """Draw campaigns and visits, find who may see what, explain, check, save, go to Spark."""
    console = Console(highlight=False)
    rng = np.random.default_rng(seed)
    with _step(console, f"drawing {criteria:,} campaigns and {events:,} visits"):
        campaigns, visits = draw_day(rng, criteria, events)
    console.print("\nThree of the campaigns, as text:")
    for campaign in campaigns[:3]:
        console.print(f"  [dim]{campaign.id}[/]  {campaign.to_text()}", soft_wrap=True)
    console.print()
    with _step(console, "compiling the kernels (kept for the next time)"):
        Index.build(campaigns[:100]).match_many(visits.slice(0, 100))
    with _step(console, "building the index"):
        index = Index.build(campaigns)
    with _step(console, "matching every visit with every campaign") as took:
        found = index.match_many(visits)
    total = int(found.offsets[-1])
    rate, each = events / took(), total / events
    console.print(f"  {total:,} matches, {each:.1f} a visit; {rate:,.0f} visits a second\n")
    _show_best(console, index, visits, int(np.argmax(found.counts() >= 3)))
    _show_reach(console, index, found)
    with _step(console, f"checking {_CHECKED} visits against plain evaluation"):
        _check(campaigns, found, visits)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "index"
        with _step(console, "saving, and opening what was saved"):
            index.save(home)
            again = load(home)
        if int(again.count_many(visits.slice(0, 1000)).sum()) != int(found.offsets[1000]):
            raise AssertionError("the saved index answers otherwise")
        if spark:
            _on_spark(console, home, visits, total)


def draw_day(
    rng: np.random.Generator, n_campaigns: int, n_visits: int
) -> tuple[list[Criterion], pa.Table]:
    """Campaigns and visits of a day of advertising."""
    campaigns = [Criterion(f"campaign-{i:05d}", _campaign(rng)) for i in range(n_campaigns)]
    return campaigns, _visits(rng, n_visits)


def _campaign(rng: np.random.Generator) -> Expression:
    """Who may see it: some of age, place, platform, interests, version; some nested, some not."""
    young = int(rng.integers(15, 60))
    parts: list[Expression] = [attr("user.age").between(young, young + int(rng.integers(2, 15)))]
    if rng.random() < 0.8:
        parts.append(attr("city").isin(*_some(rng, _CITIES, int(rng.integers(1, 6)))))
    else:
        parts.append(attr("country").eq(str(rng.choice(_COUNTRIES))))
    if rng.random() < 0.5:
        parts.append(attr("platform").isin(*_some(rng, _PLATFORMS, 2)))
    if rng.random() < 0.3:
        parts.append(attr("app").version() >= f"{rng.integers(1, 6)}.{rng.integers(0, 10)}")
    if rng.random() < 0.4:
        wanted = attr("interests").isin(*_some(rng, _INTERESTS, 2))
        parts.append(wanted | (attr("spend") >= int(rng.integers(50, 500))))
    if rng.random() < 0.2:
        parts.append(~attr("platform").eq(str(rng.choice(_PLATFORMS))))
    if rng.random() < 0.1:
        parts.append(attr("user.id").modulo(10) == int(rng.integers(0, 10)))
    whole = parts[0].with_weight(float(rng.integers(1, 6)))  # type: ignore[attr-defined]
    for part in parts[1:]:
        whole = whole & part
    return whole  # type: ignore[no-any-return]


def _some(rng: np.random.Generator, words: tuple[str, ...], n: int) -> list[str]:
    return [words[i] for i in rng.permutation(len(words))[:n].tolist()]


def _visits(rng: np.random.Generator, n: int) -> pa.Table:
    """Visitors with gaps: some attributes are null, interests are lists."""
    ages = pa.array(rng.integers(13, 80, n), mask=rng.random(n) < 0.05)
    user = pa.StructArray.from_arrays([ages, pa.array(np.arange(n))], ["age", "id"])
    city = rng.integers(0, len(_CITIES), n)
    cities = pa.array(np.array(_CITIES, object)[city], pa.string())
    countries = pa.array(np.array(_COUNTRIES, object)[city // 40], pa.string())
    counts = rng.integers(0, 4, n)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    likes = np.array(_INTERESTS, object)[rng.integers(0, len(_INTERESTS), counts.sum())]
    versions = np.array([f"{a}.{b}" for a in range(1, 6) for b in range(10)], object)
    return pa.table(
        {
            "user": user,
            "city": cities,
            "country": countries,
            "platform": pa.array(np.array(_PLATFORMS, object)[rng.integers(0, 4, n)], pa.string()),
            "app": pa.array(
                versions[rng.integers(0, 50, n)], pa.string(), mask=rng.random(n) < 0.3
            ),
            "spend": pa.array(np.round(rng.exponential(80, n), 2), mask=rng.random(n) < 0.2),
            "interests": pa.ListArray.from_arrays(offsets, pa.array(likes, pa.string())),
        }
    )


def _show_best(console: Console, index: Index, visits: pa.Table, row: int) -> None:
    visit = visits.slice(row, 1).to_pylist()[0]
    console.print(f"One visit: [dim]{visit}[/]", soft_wrap=True)
    best = index.top(visit, 3)
    for place in best:
        console.print(f"  {place.score:4.1f}  {place.id}")
    held = set(index.match(visit))
    near = next(one for one in index if one.id not in held and _nearly(one, visit))
    console.print(f"\nWhy it does not see {near.id}:")
    for line in str(near.explain(visit)).split("\n"):
        mark = "green" if "✓" in line else "red"
        console.print(f"  [{mark}]{line}[/]", soft_wrap=True)
    console.print()


def _nearly(criterion: Criterion, visit: Any) -> bool:
    explanation = criterion.explain(visit)
    return len(explanation.parts) > 3 and len(explanation.failures()) == 1


def _show_reach(console: Console, index: Index, found: Any) -> None:
    reach = np.bincount(found.positions, minlength=len(index))
    table = Table("campaign", "visits", title="Widest reach", title_justify="left")
    for position in np.argsort(-reach, kind="stable")[:5].tolist():
        table.add_row(found.names[position], f"{reach[position]:,}")
    console.print(table)
    console.print(f"  {int((reach == 0).sum()):,} campaigns reach nobody\n")


def _check(campaigns: list[Criterion], found: Any, visits: pa.Table) -> None:
    rows = np.linspace(0, visits.num_rows - 1, _CHECKED).astype(int).tolist()
    for row in rows:
        visit = visits.slice(row, 1).to_pylist()[0]
        expected = [campaign.id for campaign in campaigns if campaign.holds(visit)]
        if found.ids(row) != expected:
            raise AssertionError(f"visit {row} was answered wrongly")


def _on_spark(console: Console, home: Path, visits: pa.Table, total: int) -> None:
    try:
        from remuda.spark.matching import match
        from remuda.spark.session import session
    except ImportError:
        console.print("[dim]pyspark is not installed: no Spark today[/]")
        return
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "visits.parquet")
        pa.parquet.write_table(visits, path, row_group_size=20_000)
        with _step(console, "starting a local Spark"):
            spark = session()
        with _step(console, "matching every visit on Spark"):
            matched = match(spark.read.parquet(path), home, explode=True).count()
        spark.stop()
    if matched != total:
        raise AssertionError(f"Spark found {matched:,} matches, not {total:,}")
    console.print(f"  {matched:,} matches there, the same as here")


@contextmanager
def _step(console: Console, what: str) -> Iterator[Any]:
    """Say what is being done, then how long it took."""
    start = time.perf_counter()
    with console.status(f"{what} …"):
        yield lambda: time.perf_counter() - start
    console.print(f"[bold]{what}[/]: {time.perf_counter() - start:.1f} s")
