"""A panel as a small SVG: its curves over its points, on a logarithmic axis.

Written by hand: matplotlib's are ten times as large, and there are 55 of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

from benchmarks.papers.judging import BEYOND, Rows
from benchmarks.papers.panels import Line, Panel

_WIDTH, _HEIGHT = 560, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 400, 14, 236  # of the area with the curves
_LINE_HEIGHT = 18
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
_AXES = {
    "n_months": "months that criteria and assignments may meet in",
    "exponent": "conjunctions in a criterion",
    "max_cap": "capacity of an l-node",
    "range_size": "width of a range, as a share of the domain",
    "equality_share": "share of equalities",
    "alpha": "exponent of the Zipf distribution",
    "step": "subscriptions exchanged",
    "kind": "",
}
_OTHERS = ("#2ca02c", "#1f77b4", "#d62728", "#ff7f0e")  # of curves with names of their own


def plot(panel: Panel, rows: Rows, unit: str, path: Path) -> None:
    """Write the plot of the panel; the same results give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(_svg(panel, rows, unit)) + "\n", encoding="utf-8")


def _svg(panel: Panel, rows: Rows, unit: str) -> Iterator[str]:
    scale = 1e-6 if panel.metric == "nbytes" else 1.0
    curves = {label: [row[panel.metric] * scale for row in own] for label, own in rows.items()}
    values = [value for curve in curves.values() for value in curve]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="11">'
    )
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
    for power in range(low, high + 1):
        y = _height(10.0**power, low, high)
        yield f'<path d="M{_LEFT} {y}H{_RIGHT}" stroke="#ddd"/>'
        yield _text(_LEFT - 6, y + 4, f"{10.0**power:,.10g}", "end")
    for label, x in zip(panel.labels, _places(panel), strict=True):
        yield _text(x, _BOTTOM + 16, _short(label), "middle")
    yield _text((_LEFT + _RIGHT) // 2, _BOTTOM + 34, _axis(panel), "middle")
    yield f'<text transform="translate(12 {_BOTTOM // 2}) rotate(-90)">{escape(unit)}</text>'
    for i, line in enumerate(panel.lines):
        points = list(zip(_places(panel), curves[line.label], strict=True))
        at = [(x, _height(value, low, high)) for x, value in points]
        yield from _curve(line, i, at)


def _curve(line: Line, i: int, at: list[tuple[int, int]]) -> Iterator[str]:
    """The curve with its points, and its line of the legend."""
    name, _, way = line.algorithm.partition("/")
    colour = _COLOURS[name] if line.label == line.algorithm else _OTHERS[i % len(_OTHERS)]
    dashes = "5 3" if way in ("live", "top", "equality") else "1 3" if name in BEYOND else ""
    style = f'stroke="{colour}" stroke-width="1.5"'
    style += f' stroke-dasharray="{dashes}"' if dashes else ""
    y = _TOP + _LINE_HEIGHT * i + 6
    path = "L".join(f"{x} {height}" for x, height in at)
    yield f'<path d="M{path}" fill="none" {style}/>'
    yield f'<g fill="{colour}">' + "".join(_dot(*one) for one in at) + "</g>"
    yield f'<path d="M{_RIGHT + 12} {y}h22" {style}/>'
    yield _text(_RIGHT + 40, y + 4, line.label, "start")


def _axis(panel: Panel) -> str:
    if panel.x == "cardinality" and "label" in panel.points[0]:
        return "selectivity of a dimension"
    return _AXES.get(panel.x, panel.x.removeprefix("n_").replace("_", " "))


def _dot(x: int, y: int) -> str:
    return f'<circle cx="{x}" cy="{y}" r="2.5"/>'


def _text(x: int, y: int, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _height(value: float, low: int, high: int) -> int:
    """Where a value is on the axis that begins at 10^low and ends at 10^high."""
    share = (math.log10(value) - low) / (high - low)
    return round(_BOTTOM - share * (_BOTTOM - _TOP))


def _places(panel: Panel) -> list[int]:
    """Where the points are, evenly apart."""
    n = len(panel.points)
    return [round(_LEFT + (i + 0.5) * (_RIGHT - _LEFT) / n) for i in range(n)]


def _short(label: str) -> str:
    """A label with k for thousands."""
    return f"{label[:-3]} k" if label.isdigit() and label.endswith("000") else label
