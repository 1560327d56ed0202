"""`remuda build`: files of criteria into an index on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.files import read_criteria
from remuda.cli.rejects import Sieve
from remuda.cli.screen import Figures, counted, finish, warn, working
from remuda.cli.spark_session import need_spark
from remuda.cli.trees import read_trees
from remuda.index.stores import store_of

if TYPE_CHECKING:
    from remuda.index.index import Index
    from remuda.language.criterion import Criterion


@dataclass(frozen=True, slots=True)
class Plan:
    """What is built of what, and how."""

    criteria: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines, a JSON array, or CSV, TSV or Parquet with columns id and expression, "
            "perhaps tags, weights, enabled, valid_from, valid_until, payload; - reads standard "
            "input."
        ),
    ]
    index: Annotated[str, typer.Option("--output", "-o", help="The directory of the index.")]
    matcher: Annotated[
        str,
        typer.Option(
            "--matcher",
            help="The algorithm that finds, perhaps as 'betree(max_cap=20, min_size=3)'.",
        ),
    ] = "auto"
    live: Annotated[
        bool, typer.Option("--live", help="One tree that is changed in place, once it is opened.")
    ] = False
    scalars: Annotated[
        list[str] | None,
        typer.Option("--scalars", help="An attribute that is never a list; repeat."),
    ] = None
    trees: options.Trees = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Build nothing where a row is rejected.")
    ] = False
    allow_shrink: Annotated[
        bool,
        typer.Option("--allow-shrink", help="Build though most criteria of the index go."),
    ] = False
    rules: options.Rules = field(default_factory=options.Rules)
    shards: Annotated[
        int | None, typer.Option("--shards", min=1, help="Shards of the index, on Spark.")
    ] = None


def build(*, plan: Plan, place: options.Place) -> None:
    """Build an index of criteria, or a new version of one that is there.

    The index then has what the files have; of a version before it, only what differs is written.
    Rows that are no criteria are named and left out, and the exit code is 1.
    """
    matcher = options.checked_matcher(plan.matcher, live=plan.live)
    plan.rules.kind()  # what is wrong is refused now, and not when all criteria were read
    store_of(plan.index)
    how: dict[str, Any] = {"matcher": matcher, "scalars": tuple(plan.scalars or ())}
    how["hierarchies"] = read_trees(plan.trees)
    if place.local:
        if plan.shards is not None:
            raise typer.BadParameter("--shards is for Spark: leave --local out")
        figures = _in_process(plan, how)
    else:
        need_spark(*plan.criteria)
        from remuda.cli import spark_jobs

        figures = spark_jobs.build(plan, how, place.spark)
    finish(figures)


def _in_process(plan: Plan, how: dict[str, Any]) -> Figures:
    sieve = Sieve(plan.rules.rejects)
    with working("reading criteria") as progress:
        rows = counted(read_criteria(plan.criteria, plan.rules.kind()), progress)
        criteria = list(sieve.good(rows))
    figures = sieve.told()
    if sieve.rejects and plan.strict:
        warn("nothing was built: --strict allows no rejects")
    else:
        with working(f"building {plan.index}"):
            said = _built(plan, how, criteria)
        print(said)
    return figures


def _built(plan: Plan, how: dict[str, Any], criteria: Sequence[Criterion]) -> str:
    """Publish a version with these criteria; what became of them."""
    from remuda.index.index import Index, load
    from remuda.index.storage import check_shrinking
    from remuda.model.attributes import Attribute

    if store_of(plan.index).exists():
        index = load(plan.index)
        if how["hierarchies"] is None:
            how = {**how, "hierarchies": index.hierarchies}  # which a build keeps
        if not plan.allow_shrink:
            n_removed = len(set(index.ids()) - {one.id for one in criteria})
            check_shrinking(plan.index, n_removed, len(index))
        same = frozenset(map(Attribute.parse, how["scalars"])) == index.scalars
        if same and index.matcher == how["matcher"] and how["hierarchies"] == index.hierarchies:
            return _changed(plan.index, index, criteria)
    index = Index.build(criteria, **how)
    return f"{plan.index}, {index.save(plan.index)}: {len(index):,} criteria"


def _changed(path: str, index: Index, criteria: Sequence[Criterion]) -> str:
    """Make the saved index have these criteria; only those that differ are written."""
    from remuda.language import json_form

    before = dict(zip(index.ids(), index.documents(), strict=True))
    after = {criterion.id: criterion for criterion in criteria}
    added = [criterion for name, criterion in after.items() if name not in before]
    changed = [
        criterion
        for name, criterion in after.items()
        if name in before and before[name] != json_form.encode(criterion.to_json())
    ]
    removed = before.keys() - after.keys()
    said = f"{len(added):,} added, {len(changed):,} changed, {len(removed):,} removed"
    kept = f"{len(after) - len(added) - len(changed):,} kept"
    if not added and not changed and not removed:
        return f"{path}, {index.version}: nothing changed, {kept}"
    index.remove(*removed)
    index.update([*changed, *added])
    return f"{path}, {index.save(path)}: {said}, {kept}"
