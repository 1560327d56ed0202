"""A panel as a small plot: its curves over its points, on a logarithmic axis."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.judging import BEYOND, Rows
from benchmarks.papers.panels import Panel

_COLOURS = {
    "scan": "#7f7f7f",
    "sift": "#8c564b",
    "kindex": "#9467bd",
    "pscan": "#e377c2",
    "gryphon": "#bcbd22",
    "propagation": "#ff7f0e",
    "opindex": "#17becf",
    "betree": "#2ca02c",
    "pst-bloom": "#1f77b4",
    "pst-hash": "#d62728",
    "auto": "#000000",
}


def plot(panel: Panel, rows: Rows, unit: str, path: Path) -> None:
    """Draw the panel; the same results give the same file."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": panel.name, "font.size": 8}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 2.7), layout="constrained")
    at = range(len(panel.points))
    for line in panel.lines:
        name, _, way = line.algorithm.partition("/")
        scaled = 1e-6 if panel.metric == "nbytes" else 1.0
        axes.plot(
            at,
            [row[panel.metric] * scaled for row in rows[line.label]],
            marker="o",
            markersize=3,
            linewidth=1.2,
            color=_COLOURS[name] if line.label == line.algorithm else None,
            linestyle="--" if way == "live" else ":" if name in BEYOND else "-",
            label=line.label,
        )
    axes.set_xticks(at, [_short(label) for label in panel.labels])
    axes.set_yscale("log")
    axes.set_xlabel(panel.x)
    axes.set_ylabel(unit)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def _short(label: str) -> str:
    """A label with k for thousands."""
    return f"{label[:-3]} k" if label.isdigit() and label.endswith("000") else label
