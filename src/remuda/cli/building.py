"""`remuda build`: files of criteria into an index on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.files import read_criteria
from remuda.cli.rejects import Sieve, keep_rejects, show_rejects
from remuda.cli.screen import Figures, counted, warn, working
from remuda.cli.spark_session import need_spark
from remuda.cli.trees import read_trees
from remuda.index.stores import store_of

if TYPE_CHECKING:
    from remuda.index.index import Index
    from remuda.language.criterion import Criterion
    from remuda.model.hierarchies import Hierarchy


@dataclass(frozen=True, slots=True)
class Plan:
    """What is built of what, and how."""

    criteria: Sequence[str]
    input_format: str | None
    index: str
    matcher: str
    scalars: Sequence[str]
    strict: bool
    rejects: str | None
    shards: int | None
    allow_shrink: bool
    trees: dict[str, Hierarchy] | None


def build(
    criteria: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines, a JSON array, or CSV, TSV or Parquet with columns id and expression, "
            "perhaps tags, weights, enabled, valid_from, valid_until, payload; - reads standard "
            "input."
        ),
    ],
    index: Annotated[str, typer.Option("--output", "-o", help="The directory of the index.")],
    matcher: options.Matcher = "auto",
    live: options.Live = False,
    scalars: options.Scalars = None,
    trees: options.Trees = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Build nothing where a row is rejected.")
    ] = False,
    allow_shrink: Annotated[
        bool,
        typer.Option("--allow-shrink", help="Build though most criteria of the index go."),
    ] = False,
    rejects: options.Rejects = None,
    input_format: options.InputFormat = None,
    format: options.RuleFormat = None,
    shards: Annotated[
        int | None, typer.Option("--shards", min=1, help="Shards of the index, on Spark.")
    ] = None,
    local: options.Local = False,
    master: options.Master = "local[*]",
    conf: options.Conf = None,
) -> None:
    """Build an index of criteria, or a new version of one that is there.

    The index then has what the files have; of a version before it, only what differs is written.
    Rows that are no criteria are named and left out, and the exit code is 1.
    """
    matcher = options.checked_matcher(matcher, live=live)
    input_format = options.rule_format(format, input_format)
    store_of(index)  # refused now, and not when all criteria were read
    plan = Plan(
        criteria, input_format, index, matcher, tuple(scalars or ()), strict, rejects, shards,
        allow_shrink, read_trees(trees),
    )  # fmt: skip
    if local:
        if shards is not None:
            raise typer.BadParameter("--shards is for Spark: leave --local out")
        figures = _in_process(plan)
    else:
        need_spark(*criteria)
        from remuda.cli import spark_jobs

        figures = spark_jobs.build(plan, master, conf)
    warn(figures)
    if figures.rejects:
        raise typer.Exit(1)


def _in_process(plan: Plan) -> Figures:
    figures, sieve = Figures("criteria"), Sieve()
    with working("reading criteria") as progress:
        rows = counted(read_criteria(plan.criteria, plan.input_format), progress)
        found = list(sieve.good(rows))
    figures.rows, figures.rejects = sieve.n_rows, len(sieve.rejects)
    keep_rejects(sieve.rejects, plan.rejects)
    show_rejects(sieve.rejects, len(sieve.rejects), plan.rejects)
    if sieve.rejects and plan.strict:
        warn("nothing was built: --strict allows no rejects")
    else:
        with working(f"building {plan.index}"):
            said = _built(plan, found)
        print(said)
    return figures


def _built(plan: Plan, criteria: Sequence[Criterion]) -> str:
    """Publish a version with these criteria; what became of them."""
    from remuda.index.index import Index, load
    from remuda.index.storage import check_shrinking
    from remuda.model.attributes import Attribute

    how: dict[str, Any] = {"matcher": plan.matcher, "scalars": plan.scalars}
    how["hierarchies"] = plan.trees
    if store_of(plan.index).exists():
        index = load(plan.index)
        if plan.trees is None:
            how["hierarchies"] = index.hierarchies  # which a build keeps
        if not plan.allow_shrink:
            n_removed = len(set(index.ids()) - {one.id for one in criteria})
            check_shrinking(plan.index, n_removed, len(index))
        same = frozenset(map(Attribute.parse, plan.scalars)) == index.scalars
        if same and index.matcher == plan.matcher and how["hierarchies"] == index.hierarchies:
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
