"""Events that change while a live tree looks on: what an event costs before, then and after.

Criteria ask for two attributes of either half of all. Events have the attributes of one half, then
of the other, then of both: where criteria hung well, they hang ill.
"""

from __future__ import annotations

import json
import random
import time
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.report import RESULTS
from remuda.encoding.events import Portion
from remuda.index.index import Index
from remuda.index.living import LivePart
from remuda.index.question import Question
from remuda.language.criterion import Criterion
from remuda.language.python import attr

_CRITERIA, _VALUES, _HALF = 20_000, 10, 10
_STEP, _STEPS = 1_024, 8  # events of a step, steps of a phase
_MATCHERS = ("betree", "pst-bloom", "pst-hash")
_HALVES = [f"a{i}" for i in range(_HALF)], [f"b{i}" for i in range(_HALF)]
_PHASES = {"a": _HALVES[0], "b": _HALVES[1], "a and b": [*_HALVES[0], *_HALVES[1][:2]]}


class Step(NamedTuple):
    """What an event cost in a step: candidates that were looked at, and time."""

    phase: str
    candidates: float
    us: float


def main() -> None:
    """Let events drift under trees that live and one that is built once; print, keep and plot."""
    costs = {f"{name}, live": _costs(name, live=True) for name in _MATCHERS}
    costs |= {f"{name}, built once": _costs(name, live=False) for name in _MATCHERS}
    title = f"{_CRITERIA:,} criteria; candidates and µs an event, {_STEP:,} events a step"
    table = Table("matcher", "phase", title=title)
    for step in range(_STEPS):
        table.add_column(str(step + 1), justify="right")
    for name, steps in costs.items():
        for phase in _PHASES:
            table.add_row(
                name,
                phase,
                *(f"{one.candidates:.0f} {one.us:.0f}" for one in steps if one.phase == phase),
            )
    Console(width=140).print(table)
    _keep(costs)


def _costs(matcher: str, *, live: bool) -> list[Step]:
    rng = random.Random(3)
    index = Index.build(_criteria(rng), matcher=matcher, live=live)
    question, found = Question.of(), []
    for phase, names in _PHASES.items():
        for _ in range(_STEPS):
            events = [{name: rng.randrange(_VALUES) for name in names} for _ in range(_STEP)]
            seconds, n_candidates = [], 0
            for at in range(0, _STEP, 64):
                began = time.perf_counter()
                portion = Portion(events[at : at + 64])
                n_candidates += sum(part.hits(portion, question).candidates for part in index.parts)
                seconds.append(time.perf_counter() - began)
            # the median of the pieces: others work on the machine, too
            us = sorted(seconds)[len(seconds) // 2] / 64 * 1e6
            found.append(Step(phase, n_candidates / _STEP, us))
            for part in index.parts:  # so that the plot tells events, and not a machine's leisure
                if isinstance(part, LivePart):
                    part.living.settle()
    return found


def _criteria(rng: random.Random) -> list[Criterion]:
    found = []
    for i in range(_CRITERIA):
        first, *others = (
            attr(name) == rng.randrange(_VALUES) for half in _HALVES for name in rng.sample(half, 2)
        )
        expression: Any = first
        for other in others:
            expression &= other
        found.append(Criterion(f"c{i}", expression))
    return found


def _keep(costs: dict[str, list[Step]]) -> None:
    moment = datetime.now(UTC)
    path = RESULTS / f"drift-{moment:%Y-%m-%d}.json"
    content = {"date": moment.isoformat(timespec="seconds"), "costs": costs}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 4), sharey=True, layout="constrained")
    for panel, matcher in zip(panels, _MATCHERS, strict=True):
        for kind in ("live", "built once"):
            met = [step.candidates for step in costs[f"{matcher}, {kind}"]]
            panel.plot([_STEP * i for i in range(len(met))], met, marker=".", label=kind)
        for number, phase in enumerate(_PHASES):
            panel.axvline(number * _STEPS * _STEP, color="grey", alpha=0.4)
            panel.text(number * _STEPS * _STEP, panel.get_ylim()[1], f" events have {phase}")
        panel.set_title(matcher)
        panel.set_xlabel("events")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("candidates an event")
    panels[0].legend()
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix))
    plt.close(figure)
