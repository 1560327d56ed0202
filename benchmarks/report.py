"""Results as a table on the screen, as dated JSON, and as plots."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.definitions import HERE, Experiment
from benchmarks.measure import Cost

RESULTS = HERE / "results"


def show(experiment: Experiment, costs: list[Cost]) -> None:
    """One row a matcher and point, with the ratio to the fastest at that point."""
    table = Table(title=f"{experiment.name}: {experiment.question}", title_justify="left")
    for name in (experiment.x or "workload", "matcher"):
        table.add_column(name)
    for name in ("build s", "µs/event", "batch µs", "× best", "events/s", "B/criterion"):
        table.add_column(name, justify="right")
    table.add_column("candidates", justify="right")
    table.add_column("matches", justify="right")
    best = {
        label: min(cost.single_us for cost in costs if cost.label == label)
        for label in {cost.label for cost in costs}
    }
    previous = None
    for cost in costs:
        if previous not in (None, cost.label):
            table.add_section()
        previous = cost.label
        table.add_row(
            cost.label,
            cost.matcher,
            f"{cost.build_s:.2f}",
            _figure(cost.single_us),
            _figure(cost.batch_us),
            _figure(cost.single_us / best[cost.label]),
            f"{cost.events_per_s:,.0f}",
            f"{cost.bytes_per_criterion:.0f}",
            f"{cost.candidates_per_event:,.0f}",
            f"{cost.matches:,}",
        )
    Console(width=max(120, Console().width)).print(table)


def keep(experiment: Experiment, costs: list[Cost]) -> Path:
    """The figures as JSON, with the day and the kind of machine."""
    RESULTS.mkdir(exist_ok=True)
    moment = datetime.now(UTC)
    path = RESULTS / f"{experiment.name}-{moment:%Y-%m-%d}.json"
    content: dict[str, Any] = {
        "experiment": experiment.name,
        "question": experiment.question,
        "date": moment.isoformat(timespec="seconds"),
        "machine": {"processor": platform.machine(), "python": platform.python_version()},
        "points": [point.workload for point in experiment.points],
        "costs": [asdict(cost) for cost in costs],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def plot(experiment: Experiment, costs: list[Cost], path: Path) -> None:
    """µs an event by matcher over the points, single events and batches side by side."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    labels = list(dict.fromkeys(cost.label for cost in costs))
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    for panel, title, field in zip(
        panels, ("one event", "in batches"), ("single_us", "batch_us"), strict=True
    ):
        for matcher in dict.fromkeys(cost.matcher for cost in costs):
            own = {cost.label: getattr(cost, field) for cost in costs if cost.matcher == matcher}
            at = [i for i, label in enumerate(labels) if label in own]
            panel.plot(at, [own[labels[i]] for i in at], marker="o", label=matcher)
        panel.set_xticks(range(len(labels)), labels)
        panel.set_yscale("log")
        panel.set_title(title)
        panel.set_xlabel(experiment.x)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("µs an event")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right")
    figure.suptitle(experiment.question)
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix))
    plt.close(figure)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
